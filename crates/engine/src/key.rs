//! The total order of events.

use base::{
    hash::mix64,
    time::{NEVER, Ps},
};
use serde::{Deserialize, Serialize};

/// Position of an event in the total order: (time, generation, mix, identity).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// Instant on the event's lane.
    pub time: Ps,
    /// Generation in the upper half, the seeded hash of the identity in the lower half.
    rank: u64,
    /// Given by the model; two events pending at one instant and generation never share it.
    pub identity: u64,
}

/// When, among the events of one instant, an event is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Before all ordinary events of its instant: information that holds from that instant on. Must lie in the future.
    Early,
    /// After its parent if at the same instant, in unbiased order otherwise.
    Ordinary,
}

impl Key {
    /// A key with an explicit generation.
    #[inline]
    #[must_use]
    pub fn new(time: Ps, generation: u32, identity: u64, tie_seed: u64) -> Self {
        // Half of the hash is enough: where it is equal, the identity decides.
        let mix = mix64(identity ^ tie_seed) & 0xffff_ffff;
        Self { time, rank: u64::from(generation) << 32 | mix, identity }
    }

    /// The least key of an instant: where director ticks stand.
    #[must_use]
    pub fn floor(time: Ps) -> Self {
        Self { time, rank: 0, identity: 0 }
    }

    /// Number of zero-delay ancestors at this instant, plus one; 0 for early events.
    #[inline]
    #[must_use]
    pub fn generation(&self) -> u32 {
        (self.rank >> 32) as u32
    }

    /// The order itself, in few instructions.
    #[inline]
    pub(crate) fn order(&self, other: &Self) -> std::cmp::Ordering {
        // Time and rank compared at once: one branch where the derived order has two.
        let wide = |k: &Self| u128::from(k.time) << 64 | u128::from(k.rank);
        wide(self).cmp(&wide(other)).then_with(|| self.identity.cmp(&other.identity))
    }

    /// Bits of a [`Key::summary`].
    pub(crate) const SUMMARY_BITS: u32 = 52;

    /// The key in 52 bits, among keys of one slot of `2^shift` picoseconds and of generations below 255: where two differ, they stand
    /// in the order of their keys; where they are equal, the keys must be asked.
    #[inline]
    pub(crate) fn summary(&self, shift: u32) -> u64 {
        debug_assert!(shift <= 20, "24 bits are left for the mix, so that few summaries are equal");
        let time = self.time & ((1 << shift) - 1);
        let generation = u64::from(self.generation().min(u32::from(u8::MAX)));
        // As much of the mix as there is room for, its upper bits first.
        let room = Self::SUMMARY_BITS - 8 - shift;
        let mix = (self.rank << 32) >> (64 - room);
        time << (8 + room) | generation << room | mix
    }

    /// The key as it travels between processes.
    pub(crate) fn to_words(self) -> [u64; 3] {
        [self.time, self.rank, self.identity]
    }

    /// The key that was made words of.
    pub(crate) fn from_words([time, rank, identity]: [u64; 3]) -> Self {
        Self { time, rank, identity }
    }

    /// The same place in the order of another instant.
    #[must_use]
    pub(crate) fn at(self, time: Ps) -> Self {
        Self { time, ..self }
    }

    /// The same key read on a clock that is `offset` ahead.
    #[inline]
    #[must_use]
    pub fn shifted(self, offset: Ps) -> Self {
        Self { time: self.time.saturating_add(offset), ..self }
    }

    /// Key of a child scheduled from an event at `self` for `time`.
    ///
    /// # Panics
    /// If the child would not follow its parent in the order: a fault of the model.
    #[inline]
    #[must_use]
    pub fn child(&self, time: Ps, class: Class, identity: u64, tie_seed: u64) -> Self {
        assert!(time < NEVER, "the end of time is no instant for an event");
        let generation = match class {
            Class::Early => {
                assert!(time > self.time, "an early event must lie in the future");
                0
            }
            Class::Ordinary => {
                assert!(time >= self.time, "an event cannot be scheduled in the past");
                if time == self.time { self.generation() + 1 } else { 1 }
            }
        };
        Self::new(time, generation, identity, tie_seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_follow_parents_and_early_precedes() {
        let parent = Key::new(10, 1, 7, 0);
        let now = parent.child(10, Class::Ordinary, 3, 0);
        assert!(now > parent);
        assert!(now.child(10, Class::Ordinary, 3, 0) > now);
        assert!(parent.child(11, Class::Early, u64::MAX, 0) < parent.child(11, Class::Ordinary, 0, 0));
        assert!(Key::floor(11) <= parent.child(11, Class::Early, 0, 0));
    }

    #[test]
    fn summaries_stand_in_the_order_of_keys() {
        for shift in [0, 1, 7, 19, 20] {
            let key = |n: u64| {
                let time = (77 << shift) + ((n * 7) & ((1 << shift) - 1));
                Key::new(time, (n % 255) as u32, n.wrapping_mul(0x9e37_79b9_7f4a_7c15), 5)
            };
            let keys: Vec<Key> = (0..600).map(key).collect();
            for pair in keys.iter().flat_map(|a| keys.iter().map(move |b| (a, b))) {
                let (a, b) = (pair.0.summary(shift), pair.1.summary(shift));
                assert!(a >> Key::SUMMARY_BITS == 0);
                assert!(a == b || (a < b) == (pair.0 < pair.1), "{shift}: {pair:?}");
            }
        }
    }

    #[test]
    fn ties_are_unbiased() {
        let mut low_first = 0;
        for seed in 0..1000 {
            low_first += u32::from(Key::new(0, 1, 1, seed) < Key::new(0, 1, 2, seed));
        }
        assert!((430..=570).contains(&low_first), "{low_first}");
    }

    #[test]
    #[should_panic(expected = "past")]
    fn the_past_is_refused() {
        let _ = Key::new(10, 1, 7, 0).child(9, Class::Ordinary, 1, 0);
    }
}
