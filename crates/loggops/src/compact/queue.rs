//! What is to come, by time and stamp: a ring of slots of time, each a list that is sorted when its turn comes.
//!
//! What falls due in the slot at hand goes through a heap. What lies beyond the ring's round stands in a list for each later round and is spread
//! over the slots when that begins. So an entry is written two or three times and compared with its neighbours in time alone.

use super::order::Order;
use base::{sorted::SortedMap, time::Ps};
use serde::{Deserialize, Serialize};
use std::{cmp::Ordering, collections::BinaryHeap};

/// log2 of the number of slots.
const ROUND: u32 = 12;
const SLOTS: usize = 1 << ROUND;

/// Empty lists whose memory is kept for other slots.
const SPARE: usize = 64;

/// Stands for the sender of what is no message.
pub(super) const NOBODY: u32 = u32::MAX;

/// A message that comes, or what a host does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry<S> {
    pub time: Ps,
    pub stamp: S,
    /// Payload of the message.
    pub bytes: u64,
    /// The host that it comes to, or that does something.
    pub host: u32,
    /// Sending rank, as the job counts; [`NOBODY`] if this is no message.
    pub from: u32,
    pub tag: u32,
    /// The sender's number of the send; of what a host does, the host's looks when this was found: void if there were more since.
    pub number: u32,
    /// The sender's node of the send, if it waits for the receiver.
    pub send: u32,
}

impl<S: Order> Entry<S> {
    #[inline]
    pub fn key(&self) -> (Ps, S) {
        (self.time, self.stamp)
    }
}

/// The earliest is the greatest, as the library's heap wants it.
impl<S: Order> Ord for Entry<S> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<S: Order> PartialOrd for Entry<S> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Entries by time and stamp.
pub(super) struct Queue<S> {
    /// A slot covers `2^shift` picoseconds.
    shift: u32,
    /// The first slot that was not opened yet, counted from time 0.
    next: u64,
    /// The slots of the round in which `next` lies.
    ring: Vec<Vec<Entry<S>>>,
    /// A bit for each slot of the ring that holds something.
    used: [u64; SLOTS / 64],
    /// What lies in later rounds, and the first of these.
    later: SortedMap<u64, Vec<Entry<S>>>,
    round: u64,
    spare: Vec<Vec<Entry<S>>>,
    /// What fell due in slots that were opened.
    due: BinaryHeap<Entry<S>>,
}

impl<S: Order> Queue<S> {
    pub fn new(shift: u32) -> Self {
        debug_assert!(shift < u64::BITS, "a slot is shorter than all time");
        Self {
            shift,
            next: 0,
            ring: vec![Vec::new(); SLOTS],
            used: [0; SLOTS / 64],
            later: SortedMap::new(),
            round: u64::MAX,
            spare: Vec::new(),
            due: BinaryHeap::new(),
        }
    }

    #[inline]
    pub fn put(&mut self, entry: Entry<S>) {
        let slot = entry.time >> self.shift;
        if slot < self.next {
            self.due.push(entry);
        } else if slot >> ROUND == self.next >> ROUND {
            self.put_in_ring(slot, entry);
        } else {
            self.round = self.round.min(slot >> ROUND);
            self.later.entry(slot >> ROUND).or_default().push(entry);
        }
    }

    #[inline]
    fn put_in_ring(&mut self, slot: u64, entry: Entry<S>) {
        let at = slot as usize % SLOTS;
        let list = &mut self.ring[at];
        if list.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *list = spare;
        }
        list.push(entry);
        self.used[at / 64] |= 1 << (at % 64);
    }

    /// Opens the next slot that holds something; its entries in order, which go back to [`Queue::close`].
    pub fn open(&mut self) -> Option<Vec<Entry<S>>> {
        debug_assert!(self.due.is_empty(), "a slot is done with before the next one is opened");
        loop {
            if self.round <= self.next >> ROUND {
                self.begin_round();
            }
            if let Some(at) = self.first_used(self.next as usize % SLOTS) {
                self.used[at / 64] &= !(1 << (at % 64));
                self.next = (self.next >> ROUND << ROUND) + at as u64 + 1;
                let mut list = std::mem::take(&mut self.ring[at]);
                list.sort_unstable_by_key(Entry::key);
                return Some(list);
            }
            if self.round == u64::MAX {
                return None;
            }
            self.next = self.round << ROUND;
        }
    }

    /// Spreads what lies in the round at hand over its slots.
    #[cold]
    fn begin_round(&mut self) {
        let due = self.next >> ROUND;
        while self.later.first_key_value().is_some_and(|(&round, _)| round <= due) {
            for entry in self.later.pop_first().into_iter().flat_map(|(_, entries)| entries) {
                debug_assert!(entry.time >> self.shift >= self.next, "nothing is put where it was opened");
                self.put_in_ring(entry.time >> self.shift, entry);
            }
        }
        self.round = self.later.first_key_value().map_or(u64::MAX, |(&round, _)| round);
    }

    fn first_used(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.used[word] & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.used.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Takes back the list of a slot that is done with.
    pub fn close(&mut self, mut list: Vec<Entry<S>>) {
        debug_assert!(self.due.is_empty(), "what fell due in the slot is done with");
        if self.spare.len() < SPARE {
            list.clear();
            self.spare.push(list);
        }
    }

    /// The first of what fell due in the slot at hand.
    #[inline]
    pub fn first(&self) -> Option<&Entry<S>> {
        self.due.peek()
    }

    /// Takes it off.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry<S>> {
        self.due.pop()
    }

    /// Time at which the next slot begins: nothing before is left.
    pub fn now(&self) -> Ps {
        self.next << self.shift
    }

    /// All entries, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry<S>> {
        self.ring.iter().chain(self.later.values()).flatten().chain(&self.due)
    }

    /// The first slot that was not opened, for a saved state.
    pub fn opened(&self) -> u64 {
        self.next
    }

    /// An empty queue of which all slots before this one were opened.
    pub fn reopened(shift: u32, opened: u64) -> Self {
        Self { next: opened, ..Self::new(shift) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{
        rng::{Purpose, Stream},
        sorted::SortedSet,
    };

    /// Entries come out by time and stamp, whenever they were put in, as from a sorted set.
    #[test]
    fn agrees_with_a_sorted_set() {
        for seed in 0..24 {
            let mut draw = Stream::new(seed, Purpose::Test, 3);
            let (mut queue, mut naive) = (Queue::<u64>::new([0, 4, 9][seed as usize % 3]), SortedSet::new());
            let spans = [3, 300, 70_000, 1 << 27];
            let mut stamp = 0;
            let mut put = |queue: &mut Queue<u64>, naive: &mut SortedSet<(Ps, u64)>, now: Ps| {
                for _ in 0..draw.below(4) {
                    stamp += 1;
                    let span = spans[draw.below(4) as usize];
                    let time = now + draw.below(span);
                    let entry = Entry { time, stamp, bytes: 0, host: 0, from: 0, tag: 0, number: 0, send: 0 };
                    queue.put(entry);
                    naive.insert((time, stamp));
                }
            };
            put(&mut queue, &mut naive, 0);
            let mut left = 2_000;
            while let Some(list) = queue.open() {
                let mut n = 0;
                loop {
                    let entry = match (list.get(n), queue.first()) {
                        (Some(a), Some(b)) if b.key() < a.key() => queue.pop().unwrap(),
                        (Some(&a), _) => {
                            n += 1;
                            a
                        }
                        (None, Some(_)) => queue.pop().unwrap(),
                        (None, None) => break,
                    };
                    assert_eq!(naive.pop_first(), Some(entry.key()), "seed {seed}");
                    if left > 0 {
                        left -= 1;
                        put(&mut queue, &mut naive, entry.time);
                    }
                }
                queue.close(list);
                assert!(left % 64 > 0 || queue.entries().count() == naive.len(), "seed {seed}");
            }
            assert!(naive.is_empty(), "seed {seed}");
        }
    }
}
