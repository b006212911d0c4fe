//! Checkers of messages, for models that simulate nothing smaller: each arrives exactly once, where it was sent to, with its bytes, and not too early.

use base::sorted::SortedMap;
use serde::{Deserialize, Serialize};

/// What is known of a message at both its ends, and must be the same there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Seen {
    /// Who sent it, as the model counts.
    pub from: u32,
    /// Who received it, or is to.
    pub to: u32,
    /// The sender's number of it; 0 where the receiver does not know it.
    pub number: u32,
    /// Payload, without what interfaces add.
    pub bytes: u64,
    /// A time that both ends know, or 0.
    pub time: u64,
}

/// Most faults that are kept.
const MOST: usize = 16;

impl Seen {
    /// Where it stands in a table of so many slots, a power of two of at least 2: one multiplication spreads what tells messages apart over the upper bits.
    #[inline]
    fn slot(&self, slots: usize) -> usize {
        debug_assert!(slots.is_power_of_two() && slots > 1, "the upper bits name a slot");
        let sent = u64::from(self.from) << 32 | u64::from(self.number);
        let rest = (u64::from(self.to) << 20) ^ self.bytes.rotate_left(24) ^ self.time.rotate_left(40);
        ((sent ^ rest).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - slots.trailing_zeros())) as usize
    }
}

/// Messages that were sent and have not arrived, in one partition or in several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "Listed", into = "Listed")]
pub struct Messages {
    /// Sent minus arrived; a slot with 0 is free. Each message is looked up twice, so this is a table by hash with at most a quarter of its slots in use: a message
    /// stands in the first free slot from its hash on, so those between are never free.
    open: Vec<(Seen, i64)>,
    entries: usize,
    faults: Vec<String>,
}

/// What a checkpoint keeps: the open ones in order. Whatever a file says, the table is built anew, so that it has free slots.
#[derive(Serialize, Deserialize)]
struct Listed {
    open: Vec<(Seen, i64)>,
    faults: Vec<String>,
}

impl From<Messages> for Listed {
    fn from(messages: Messages) -> Self {
        Self { open: messages.sorted().into_iter().collect(), faults: messages.faults }
    }
}

impl From<Listed> for Messages {
    fn from(Listed { open, faults }: Listed) -> Self {
        let mut messages = Self { faults, ..Self::default() };
        open.into_iter().filter(|&(_, by)| by != 0).for_each(|(message, by)| messages.add(message, by));
        messages
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.sorted() == other.sorted() && self.faults == other.faults
    }
}

impl Messages {
    /// All that are open, in no order.
    fn used(&self) -> impl Iterator<Item = (Seen, i64)> {
        self.open.iter().copied().filter(|&(_, by)| by != 0)
    }

    /// All that are open, in order: a table keeps them in that of their history.
    fn sorted(&self) -> SortedMap<Seen, i64> {
        self.used().collect()
    }

    fn add(&mut self, message: Seen, by: i64) {
        if self.entries * 4 >= self.open.len() {
            self.grow();
        }
        let first = message.slot(self.open.len());
        self.add_from(first, message, by);
    }

    /// Adds what may stand at `at` or behind it.
    #[inline(never)]
    fn add_from(&mut self, mut at: usize, message: Seen, by: i64) {
        debug_assert!(self.entries < self.open.len(), "a search ends at a free slot");
        debug_assert_ne!(by, 0, "a balance of nothing marks a free slot");
        let mask = self.open.len() - 1;
        loop {
            let (seen, balance) = &mut self.open[at];
            if *balance == 0 {
                (*seen, *balance) = (message, by);
                self.entries += 1;
                return;
            }
            if *seen == message {
                *balance = balance.saturating_add(by);
                if *balance == 0 {
                    self.entries -= 1;
                    self.close(at);
                }
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Twice as many slots.
    #[cold]
    fn grow(&mut self) {
        let slots = (2 * self.open.len()).max(64);
        let before = std::mem::replace(&mut self.open, vec![(Seen::default(), 0); slots]);
        let entries = std::mem::take(&mut self.entries);
        before.into_iter().filter(|&(_, by)| by != 0).for_each(|(message, by)| self.add(message, by));
        debug_assert_eq!(self.entries, entries, "a larger table holds the same messages");
    }

    /// A slot has become free: what stands behind it, and may stand here, moves up, so that it is found.
    #[inline]
    fn close(&mut self, mut free: usize) {
        debug_assert_eq!(self.open[free].1, 0, "only a free slot is closed up");
        let mask = self.open.len() - 1;
        let mut at = free;
        loop {
            at = (at + 1) & mask;
            if self.open[at].1 == 0 {
                return;
            }
            let first = self.open[at].0.slot(self.open.len());
            // How far it is from its first slot, and from the free one.
            if at.wrapping_sub(first) & mask >= at.wrapping_sub(free) & mask {
                self.open.swap(free, at);
                free = at;
            }
        }
    }

    /// A message was sent.
    #[inline]
    pub fn sent(&mut self, message: Seen) {
        if self.entries * 4 >= self.open.len() {
            self.grow();
        }
        // Most find their first slot free.
        let first = message.slot(self.open.len());
        match &mut self.open[first] {
            (seen, balance @ 0) => {
                (*seen, *balance) = (message, 1);
                self.entries += 1;
            }
            _ => self.add_from(first, message, 1),
        }
    }

    /// A message arrived at `at`, which may not be before `earliest`.
    #[inline]
    pub fn arrived(&mut self, message: Seen, at: u64, earliest: u64) {
        // Most stand in their first slot, and nothing behind it.
        let slots = self.open.len();
        let first = if slots == 0 { 0 } else { message.slot(slots) };
        let behind = (first + 1) & slots.wrapping_sub(1);
        match self.open.get(first) {
            Some((seen, 1)) if *seen == message && self.open[behind].1 == 0 => {
                self.open[first].1 = 0;
                self.entries -= 1;
            }
            _ => self.add(message, -1),
        }
        self.not_before(&message, at, earliest);
    }

    /// Something happened to a message at `at`, which may not be before `earliest`.
    #[inline]
    pub fn not_before(&mut self, message: &Seen, at: u64, earliest: u64) {
        if at < earliest && self.faults.len() < MOST {
            let Seen { from, to, bytes, .. } = message;
            self.faults
                .push(format!("{bytes} B from {from} to {to} arrive at {at} ps, before {earliest} ps"));
        }
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        for (message, by) in other.used() {
            self.add(message, by);
        }
        self.faults.extend(other.faults);
    }

    /// What is wrong at the end, once all partitions' are there. `left` are the messages that were found under way or waiting, by what they are but
    /// for the time; `None` if they were not looked for.
    #[must_use]
    pub fn verdict(mut self, left: Option<&[Seen]>) -> Vec<String> {
        let mut expected: SortedMap<Seen, i64> = SortedMap::new();
        for (message, by) in self.sorted() {
            let Seen { from, to, bytes, .. } = message;
            if by < 0 {
                let what = format!("{bytes} B from {from} to {to} arrived {} times more than sent so", -by);
                self.faults.push(what);
            }
            *expected.entry(Seen { time: 0, ..message }).or_default() += by;
        }
        for message in left.unwrap_or_default() {
            *expected.entry(Seen { time: 0, ..*message }).or_default() -= 1;
        }
        for (Seen { from, to, bytes, .. }, by) in expected.into_iter().filter(|_| left.is_some()) {
            match by {
                0 => {}
                1.. => {
                    self.faults.push(format!("{by} messages of {bytes} B from {from} to {to} are nowhere"))
                }
                _ => self.faults.push(format!("{} messages of {bytes} B from {from} to {to} too many", -by)),
            }
        }
        self.faults.truncate(MOST);
        self.faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    /// The table against a plain map, with few hashes in use so that slots are contended, and many.
    #[test]
    fn the_table_is_a_map() {
        for seed in 0..40 {
            let mut draw = Stream::new(seed, Purpose::Test, 0);
            let (mut table, mut naive) = (Messages::default(), SortedMap::new());
            let kinds = 1 + draw.below(300);
            for _ in 0..2_000 {
                let number = draw.below(kinds) as u32;
                let message = Seen { from: number % 7, to: 1, number, bytes: 8, time: 0 };
                let by = if draw.below(2) == 0 { 1 } else { -1 };
                match by {
                    1 => table.sent(message),
                    _ => table.arrived(message, 0, 0),
                }
                let balance = naive.entry(message).or_insert(0);
                *balance += by;
                if *balance == 0 {
                    naive.remove(&message);
                }
            }
            // As a checkpoint has it, and comes back.
            let listed = Listed::from(table.clone());
            assert!(listed.open.iter().map(|o| o.0).eq(naive.keys().copied()), "seed {seed}");
            assert_eq!(Messages::from(listed), table, "seed {seed}");
            assert_eq!(table.sorted(), naive, "seed {seed}");
            assert_eq!(table.entries, naive.len(), "seed {seed}");
        }
    }

    /// A sound history of `n` messages, of which the last two wait.
    fn history(n: u32) -> (Vec<(bool, Seen)>, Vec<Seen>) {
        let message =
            |k: u32| Seen { from: k % 3, to: 3 + k % 2, number: k, bytes: 100 + u64::from(k / 2), time: 7 };
        let sent = (0..n).map(|k| (true, message(k)));
        let arrived = (0..n - 2).map(|k| (false, message(k)));
        (sent.chain(arrived).collect(), vec![message(n - 2), message(n - 1)])
    }

    fn judge(history: &[(bool, Seen)], left: &[Seen]) -> Vec<String> {
        // As two partitions would.
        let mut parts = [Messages::default(), Messages::default()];
        for (sent, message) in history {
            match sent {
                true => parts[message.from as usize % 2].sent(*message),
                false => parts[message.to as usize % 2].arrived(*message, 20, 20),
            }
        }
        let [mut all, other] = parts;
        all.merge(other);
        all.verdict(Some(left))
    }

    /// Every single change of a sound history shows.
    #[test]
    fn every_fault_of_a_history_is_found() {
        type Fault = (&'static str, fn(&mut Vec<(bool, Seen)>, &mut Vec<Seen>));
        let (sound, left) = history(12);
        assert_eq!(judge(&sound, &left), Vec::<String>::new());
        let faults: [Fault; 20] = [
            ("an arrival is lost", |h, _| _ = h.remove(15)),
            ("the last arrival is lost", |h, _| _ = h.pop()),
            ("a sending is lost", |h, _| _ = h.remove(3)),
            ("a message is delivered twice", |h, _| h.push(h[15])),
            ("a message is sent twice", |h, _| h.insert(3, h[3])),
            ("an arrival is another's", |h, _| h[15] = h[16]),
            ("it arrives elsewhere", |h, _| h[15].1.to += 1),
            ("it comes from elsewhere", |h, _| h[15].1.from += 1),
            ("it loses a byte", |h, _| h[15].1.bytes -= 1),
            ("it gains a byte", |h, _| h[15].1.bytes += 1),
            ("it loses all bytes", |h, _| h[15].1.bytes = 0),
            ("it takes another number", |h, _| h[15].1.number += 100),
            ("it changes its time", |h, _| h[15].1.time += 1),
            ("it is sent elsewhere", |h, _| h[3].1.to += 1),
            ("it is sent with more", |h, _| h[3].1.bytes += 1),
            ("one arrives that nobody sent", |h, _| h.push((false, Seen { from: 9, ..h[15].1 }))),
            ("a message that waits vanishes", |_, left| _ = left.pop()),
            ("a message waits twice", |_, left| left.push(left[0])),
            ("a message that waits arrived, too", |h, left| h.push((false, left[0]))),
            ("a message that waits changed", |_, left| left[0].bytes += 1),
        ];
        for (name, plant) in faults {
            let (mut history, mut left) = history(12);
            plant(&mut history, &mut left);
            assert!(!judge(&history, &left).is_empty(), "{name}");
        }
        let mut early = Messages::default();
        early.sent(left[0]);
        early.arrived(left[0], 19, 20);
        assert_eq!(early.verdict(None).len(), 1, "too early");
    }
}
