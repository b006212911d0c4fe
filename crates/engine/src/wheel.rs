//! The pending-event set: a timing wheel of pooled lists, with a heap for what lies beyond its horizon.
//!
//! A slot covers `2^shift` picoseconds. The slot in service is a small sorted vector; other slots are unsorted lists, sorted
//! when their turn comes. A bitmap finds the next slot that holds something. See BENCHMARKS.md for the comparison with a
//! binary heap.
//!
//! Where half a million events are due in one slot, what each of them adds to it would move all that are left. So an event that would
//! move many goes to a heap beside the vector instead.

use crate::{key::Key, state::ends::ending};
use base::time::{NEVER, Ps};
use std::{cmp::Reverse, collections::BinaryHeap};

/// A pending event: its key and what the owner needs to handle it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Position in the order.
    pub key: Key,
    /// Meaning belongs to the owner.
    pub token: u32,
}

/// Events are copied from list to list and sorted: they stay within a cache line.
const _: () = assert!(size_of::<Entry>() <= 64, "an event is a cache line at most");

const NIL: u32 = u32::MAX;
const SLOTS: u64 = 4096;

/// A slot is sorted as words of 64 bits, which is several times cheaper than comparing keys: a summary of the key, then the place in the
/// slot's list. So many bits are the place.
const PLACE_BITS: u32 = 64 - Key::SUMMARY_BITS;
const PLACES: u64 = (1 << PLACE_BITS) - 1;
/// log2 of the longest slot whose times leave room in a summary for the rest of the key.
const LONGEST: u32 = 20;

/// An entry in a slot's list. Its link takes the place that an [`Entry`] leaves unused: both are 32 bytes.
#[derive(Clone, Copy)]
struct Node {
    key: Key,
    token: u32,
    next: u32,
}
const _: () = assert!(size_of::<Node>() == 32, "two nodes share a cache line");

impl Node {
    #[inline]
    fn entry(&self) -> Entry {
        Entry { key: self.key, token: self.token }
    }
}

/// Entries of the slot in service that a new one may move to take its place among them.
const MOVED: usize = 64;

/// Timing wheel; see the module's text.
pub struct Wheel {
    shift: u32,
    /// Entries of the slot in service, latest first. When there are none, new ones go to the slot's list, to be sorted together.
    current: Vec<Entry>,
    /// Entries of the slot in service that came when many others were before them.
    late: BinaryHeap<Reverse<Entry>>,
    /// While a slot is sorted: a word for each of its entries, and their nodes.
    words: Vec<u64>,
    members: Vec<u32>,
    /// Absolute number of the slot in service.
    position: u64,
    // Arrays, so that looking a slot up needs no check of its number.
    heads: Box<[u32; SLOTS as usize]>,
    occupied: Box<[u64; SLOTS as usize / 64]>,
    nodes: Vec<Node>,
    free: u32,
    /// All that is pending, wherever it is.
    pending: usize,
    far: BinaryHeap<Reverse<Entry>>,
}

impl Wheel {
    /// log2 of a slot in picoseconds.
    #[must_use]
    pub fn shift(&self) -> u32 {
        self.shift
    }

    /// A wheel whose slots cover `2^shift` picoseconds. A slot should hold a handful of events.
    #[must_use]
    pub fn new(shift: u32) -> Self {
        assert!(shift < 64, "a slot is shorter than all of time");
        Self {
            shift,
            current: Vec::new(),
            late: BinaryHeap::new(),
            words: Vec::new(),
            members: Vec::new(),
            position: 0,
            heads: Box::new([NIL; SLOTS as usize]),
            occupied: Box::new([0; SLOTS as usize / 64]),
            nodes: Vec::new(),
            free: NIL,
            pending: 0,
            far: BinaryHeap::new(),
        }
    }

    /// Number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pending
    }

    /// True if nothing is pending.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        debug_assert!(entry.key.time < NEVER, "the end of time is no instant for an event");
        self.pending += 1;
        self.file(entry);
    }

    /// Puts an entry that is counted where it belongs.
    #[inline(always)]
    fn file(&mut self, entry: Entry) {
        let slot = entry.key.time >> self.shift;
        // One comparison for both ends: most are due in one of the slots ahead.
        if slot.wrapping_sub(self.position + 1) < SLOTS - 1 {
            self.push_slot(slot, entry);
        } else {
            self.file_apart(slot, entry);
        }
    }

    /// Files what is due in the slot in service, before it, or beyond the horizon.
    #[inline(never)]
    fn file_apart(&mut self, slot: u64, entry: Entry) {
        if slot < self.position {
            self.rewind(slot);
        }
        // The slot in service stays sorted while it is being taken from; an empty one is filled like any other and sorted when asked for.
        if slot == self.position && self.serves() {
            let at = self.current.partition_point(|e| *e > entry);
            if self.current.len() - at > MOVED {
                self.late.push(Reverse(entry));
            } else {
                self.current.insert(at, entry);
            }
        } else if slot - self.position < SLOTS {
            self.push_slot(slot, entry);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    /// Takes an earlier slot into service: somebody peeked far ahead, then an earlier event came.
    #[cold]
    #[inline(never)]
    fn rewind(&mut self, slot: u64) {
        debug_assert!(slot < self.position, "only an earlier slot is gone back to");
        let ahead = (self.position - slot).min(SLOTS);
        // `take_slot` sorts into `current`: what is served there waits aside meanwhile.
        let served = std::mem::take(&mut self.current);
        // Lists that the new position could no longer distinguish from nearer ones go to the heap.
        for beyond in self.position + SLOTS - ahead..self.position + SLOTS {
            if self.occupied[(beyond % SLOTS) as usize / 64] >> (beyond % 64) & 1 == 1 {
                self.take_slot(beyond);
            }
        }
        let moved = std::mem::replace(&mut self.current, served);
        self.far.extend(moved.into_iter().map(Reverse));
        self.position = slot;
        // These belong to a later slot now, or are the first of the new one.
        let late = std::mem::take(&mut self.late).into_iter().map(|late| late.0);
        for entry in std::mem::take(&mut self.current).into_iter().chain(late) {
            self.file(entry);
        }
    }

    #[inline(always)]
    fn push_slot(&mut self, slot: u64, entry: Entry) {
        debug_assert!(slot >= self.position && slot - self.position < SLOTS, "a list stands for one slot");
        let index = (slot % SLOTS) as usize;
        let new = Node { key: entry.key, token: entry.token, next: self.heads[index] };
        // Nodes that were given back come first: they are warm.
        let mut node = self.free;
        if let Some(free) = self.nodes.get_mut(node as usize) {
            self.free = free.next;
            *free = new;
        } else {
            node = self.grow(new);
        }
        self.heads[index] = node;
        self.occupied[index / 64] |= 1 << (index % 64);
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, node: Node) -> u32 {
        debug_assert!(self.free == NIL, "nodes that were given back come first");
        assert!(self.nodes.len() < NIL as usize, "fewer than 2^32 events are pending");
        self.nodes.push(node);
        (self.nodes.len() - 1) as u32
    }

    /// True if the slot in service holds something.
    #[inline]
    fn serves(&self) -> bool {
        !self.current.is_empty() || !self.late.is_empty()
    }

    /// The earliest event, without removing it.
    #[inline]
    pub fn peek(&mut self) -> Option<Entry> {
        if !self.serves() && !self.advance() {
            return None;
        }
        if self.late_is_first() { self.late.peek().map(|late| late.0) } else { self.current.last().copied() }
    }

    /// True if the earliest event of the slot in service is none of the sorted ones.
    #[inline]
    fn late_is_first(&self) -> bool {
        let Some(Reverse(late)) = self.late.peek() else { return false };
        self.current.last().is_none_or(|sorted| late < sorted)
    }

    /// Removes the event that [`Wheel::peek`] showed.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry> {
        self.pop_before(NEVER)
    }

    /// Removes the earliest event if it is due before `bound`.
    #[inline(always)]
    pub fn pop_before(&mut self, bound: Ps) -> Option<Entry> {
        if !self.late.is_empty() {
            let next = self.pop_late(bound)?;
            return Some(next);
        }
        if self.current.is_empty() && !self.advance() {
            return None;
        }
        let next = *self.current.last()?;
        if next.key.time >= bound {
            return None;
        }
        self.current.pop();
        self.pending -= 1;
        Some(next)
    }

    /// The same while some came late.
    #[cold]
    #[inline(never)]
    fn pop_late(&mut self, bound: Ps) -> Option<Entry> {
        let next = if self.late_is_first() {
            self.late.peek().filter(|late| late.0.key.time < bound)?;
            self.late.pop().map(|late| late.0)
        } else {
            self.current.pop_if(|e| e.key.time < bound)
        };
        self.pending -= usize::from(next.is_some());
        next
    }

    /// The event that will be `ahead` places after the next one, if it is already sorted: for prefetching.
    #[inline]
    #[must_use]
    pub fn ahead(&self, ahead: usize) -> Option<u32> {
        self.current.len().checked_sub(1 + ahead).map(|i| self.current[i].token)
    }

    /// Everything pending, in no particular order.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let lists = self.heads.iter().flat_map(|&head| {
            let rows = std::iter::successors((head != NIL).then_some(head), |&n| {
                Some(self.nodes[n as usize].next).filter(|&n| n != NIL)
            });
            ending(rows, self.nodes.len())
        });
        let slots = lists.map(|n| self.nodes[n as usize].entry());
        let heaps = self.late.iter().chain(&self.far).map(|e| e.0);
        self.current.iter().copied().chain(slots).chain(heaps)
    }

    /// Holds these and nothing else. Lists are linked one way, so taking one out of the middle is filing all anew.
    pub(crate) fn refill(&mut self, all: Vec<Entry>) {
        let position = self.position;
        *self = Self::new(self.shift);
        self.position = position;
        for entry in all {
            self.push(entry);
        }
    }

    /// Time of the earliest event, [`NEVER`] if there is none.
    #[inline]
    pub fn next_time(&mut self) -> Ps {
        self.peek().map_or(NEVER, |e| e.key.time)
    }

    /// Moves on to the next slot that holds something; false if nothing is pending.
    #[cold]
    #[inline(never)]
    fn advance(&mut self) -> bool {
        debug_assert!(!self.serves(), "the slot in service is served first");
        // What is pending and not far is in the slots, since none is in service.
        let near = if self.pending > self.far.len() { self.next_occupied() } else { u64::MAX };
        let far = self.far.peek().map_or(u64::MAX, |e| e.0.key.time >> self.shift);
        let slot = near.min(far);
        if slot == u64::MAX {
            return false;
        }
        self.position = slot;
        // The horizon has moved on with the position: what it reaches now leaves the heap, each event once in its life.
        while let Some(Reverse(e)) = self.far.peek() {
            let s = e.key.time >> self.shift;
            if s - slot >= SLOTS {
                break;
            }
            if let Some(Reverse(entry)) = self.far.pop() {
                self.push_slot(s, entry);
            }
        }
        self.take_slot(slot);
        true
    }

    /// Sorts the slot's list into `current`.
    fn take_slot(&mut self, slot: u64) {
        let index = (slot % SLOTS) as usize;
        let first = std::mem::replace(&mut self.heads[index], NIL);
        self.occupied[index / 64] &= !(1 << (index % 64));
        // Taken out meanwhile, so that their lengths stay in registers.
        let (mut words, mut members) = (std::mem::take(&mut self.words), std::mem::take(&mut self.members));
        words.clear();
        members.clear();
        let (shift, mut latest, mut node) = (self.shift.min(LONGEST), 0, first);
        while let Some(Node { key, next, .. }) = self.nodes.get(node as usize) {
            latest = latest.max(key.generation());
            words.push(key.summary(shift) << PLACE_BITS | members.len() as u64 & PLACES);
            members.push(node);
            node = *next;
        }
        // The whole list is given back at once. Nodes keep their entries until they are taken again: not before this slot is sorted.
        if let Some(&last) = members.last() {
            self.nodes[last as usize].next = std::mem::replace(&mut self.free, first);
        }
        // True as long as the words alone determine the order; if they do not, keys are compared, which is always right.
        let mut reported = self.shift <= LONGEST && latest < u32::from(u8::MAX);
        if members.len() <= PLACES as usize {
            words.sort_unstable();
            let mut before = u64::MAX;
            self.current.extend(words.iter().rev().map(|word| {
                // Two entries whose words differ in their places alone may stand in either order.
                reported &= word >> PLACE_BITS != before;
                before = word >> PLACE_BITS;
                self.nodes[members[(word & PLACES) as usize] as usize].entry()
            }));
        } else {
            reported = false;
            self.current.extend(members.iter().map(|&node| self.nodes[node as usize].entry()));
        }
        if !reported {
            self.current.sort_unstable_by(|a, b| b.key.order(&a.key).then_with(|| b.token.cmp(&a.token)));
        }
        (self.words, self.members) = (words, members);
    }

    /// Absolute number of the next slot from the position on that is not empty. At least one must exist.
    fn next_occupied(&self) -> u64 {
        let start = self.position;
        let first = (start % SLOTS) as usize;
        let words = self.occupied.len();
        for step in 0..=words {
            let word = (first / 64 + step) % words;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= !0 << (first % 64);
            } else if step == words {
                bits &= !(!0 << (first % 64));
            }
            if bits != 0 {
                let index = word as u64 * 64 + u64::from(bits.trailing_zeros());
                return start + (index + SLOTS - start % SLOTS) % SLOTS;
            }
        }
        unreachable!("the wheel counts an entry that no slot holds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    /// The wheel gives what a sorted list would give, over near, far and equal times.
    #[test]
    fn agrees_with_a_heap() {
        for shift in [0, 3, 8, 20] {
            let mut random = Stream::new(5, Purpose::Test, u64::from(shift));
            let (mut wheel, mut heap) = (Wheel::new(shift), BinaryHeap::new());
            let mut now = 0;
            for step in 0..20_000u64 {
                if heap.is_empty() || random.below(2) == 0 {
                    let span = [1, 50, 5_000, 5_000_000, 1 << 40][random.below(5) as usize];
                    let key = Key::new(now + random.below(span), random.below(3) as u32 + 1, step, 9);
                    let entry = Entry { key, token: step as u32 };
                    // Ties at the present instant may only follow what was popped.
                    if heap.is_empty() || key.time > now {
                        wheel.push(entry);
                        heap.push(Reverse(entry));
                    }
                } else {
                    let Reverse(expected) = heap.pop().unwrap();
                    assert_eq!(wheel.pop(), Some(expected));
                    now = expected.key.time;
                }
                assert_eq!(wheel.len(), heap.len());
            }
        }
    }

    /// Peeking at a far event does not slow down, nor reorder, the nearer ones that come after.
    #[test]
    fn peeks_far_then_fills_in() {
        let mut random = Stream::new(6, Purpose::Test, 0);
        let (mut wheel, mut heap) = (Wheel::new(2), BinaryHeap::new());
        for round in 0..300u64 {
            for step in 0..random.below(20) {
                let time = 300_000 - round * 1000 + random.below(40_000);
                let entry = Entry { key: Key::new(time, 1, round << 32 | step, 9), token: 0 };
                wheel.push(entry);
                heap.push(Reverse(entry));
                assert_eq!(wheel.peek(), heap.peek().map(|e| e.0));
            }
        }
        while let Some(Reverse(expected)) = heap.pop() {
            assert_eq!(wheel.pop(), Some(expected));
        }
        assert!(wheel.is_empty());
    }

    /// Half of all events are due in one slot, and each that is served adds one to it: the order is that of keys, and what is added moves few.
    #[test]
    fn a_crowded_slot_is_served_in_order_and_moves_little() {
        let mut random = Stream::new(8, Purpose::Test, 0);
        let (mut wheel, mut heap) = (Wheel::new(20), BinaryHeap::new());
        let mut served = 0u64;
        for n in 0..5_000 {
            let entry = Entry { key: Key::new(random.below(1 << 22), 1, n, 9), token: 0 };
            wheel.push(entry);
            heap.push(Reverse(entry));
        }
        while let Some(Reverse(expected)) = heap.pop() {
            assert_eq!(wheel.peek(), Some(expected));
            assert_eq!(wheel.pop_before(expected.key.time), None);
            assert_eq!(wheel.pop_before(expected.key.time + 1), Some(expected));
            served += 1;
            if served <= 5_000 {
                let reach = 1 << random.below(24);
                let time = expected.key.time + 1 + random.below(reach);
                let entry = Entry { key: Key::new(time, 1, 5_000 + served, 9), token: 0 };
                let sorted = wheel.current.clone();
                wheel.push(entry);
                let at = wheel.current.iter().zip(&sorted).take_while(|(new, old)| new == old).count();
                assert!(wheel.current.len() - at <= MOVED + 1, "{} entries moved", wheel.current.len() - at);
                heap.push(Reverse(entry));
            }
            if served.is_multiple_of(1_000) {
                let mut all: Vec<Entry> = wheel.entries().collect();
                all.sort_unstable();
                assert_eq!((wheel.len(), all.first()), (heap.len(), heap.peek().map(|e| &e.0)));
                // Somebody goes back to an earlier slot, or all is filed anew.
                if served.is_multiple_of(2_000) {
                    wheel.refill(all);
                } else if let Some(slot) = wheel.position.checked_sub(1) {
                    wheel.rewind(slot);
                }
            }
        }
        assert!(wheel.is_empty() && served == 10_000);
    }

    /// Keys that words cannot tell apart, and slots that words cannot describe, come in the order of keys all the same: so say random
    /// slots of one instant, of a few or of many, with generations on both sides of what a word holds, compared in full.
    #[test]
    fn what_words_do_not_order_is_compared() {
        let mut random = Stream::new(7, Purpose::Test, 0);
        let few = (0..400).map(|n| (n % 24, 1 + n % 90));
        for (shift, count) in few.chain([(4, 40), (8, 6_000), (30, 300)]) {
            let mut wheel = Wheel::new(shift);
            let mut all = Vec::new();
            let times = [1, 16, 4 << shift][random.below(3) as usize];
            let latest = [1, 3, 5][random.below(3) as usize];
            let names = [1, 50, u64::MAX][random.below(3) as usize];
            for n in 0..count {
                // Late generations, and alarms that were set twice under one key.
                let generation = [1, 254, 255, 256, 1_000_000][random.below(latest) as usize];
                let key = Key::new(random.below(times), generation, random.below(names), 9);
                all.push(Entry { key, token: n });
            }
            all.iter().for_each(|&e| wheel.push(e));
            all.sort_unstable();
            let found: Vec<Entry> = std::iter::from_fn(|| wheel.pop()).collect();
            assert_eq!(found, all, "slots of 2^{shift} ps");
        }
    }

    /// From each place in a word of the bitmap the one event within the horizon is found, the last slot before the present one included, and the one beyond it.
    #[test]
    fn a_single_event_is_found_wherever_it_is() {
        for start in (0..130).chain(SLOTS - 70..SLOTS + 70) {
            for ahead in
                [1, 2, 63, 64, 65, 2048, SLOTS - 65, SLOTS - 64, SLOTS - 63, SLOTS - 1, SLOTS, SLOTS + 1]
            {
                let mut wheel = Wheel::new(0);
                for time in [start, start + ahead] {
                    wheel.push(Entry { key: Key::new(time, 1, 0, 0), token: 0 });
                    assert_eq!(wheel.pop().map(|e| e.key.time), Some(time), "{ahead} after {start}");
                }
                // Both ends of the horizon at once: the nearer first.
                for time in [start + 2 * ahead, start + ahead + 1] {
                    wheel.push(Entry { key: Key::new(time, 1, 0, 0), token: 0 });
                }
                let next = [(); 2].map(|()| wheel.pop().map_or(0, |e| e.key.time));
                assert_eq!(
                    next,
                    [start + ahead + 1, start + (2 * ahead).max(ahead + 1)],
                    "{ahead} after {start}"
                );
            }
        }
    }

    #[test]
    fn jumps_over_long_gaps() {
        let mut wheel = Wheel::new(0);
        for time in [1, 4096, 4097, 10_000_000_000, NEVER - 1] {
            wheel.push(Entry { key: Key::new(time, 1, 0, 0), token: 0 });
        }
        for time in [1, 4096, 4097, 10_000_000_000, NEVER - 1] {
            assert_eq!(wheel.pop().unwrap().key.time, time);
        }
        assert!(wheel.pop().is_none());
    }
}
