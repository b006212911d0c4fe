//! Repetitions that are all the same, counted instead of run one by one.
//!
//! A repetition whose calls ask for no variable of their loop, and that leaves requests, communicators and windows as it found them, is made
//! again by each one after it. The second stands then for all that are left.

use super::expression::bit;
use std::cell::Cell;

/// Repetitions after which a loop that has not come back to where it was is run as it is.
const TRIES: u32 = 4;

/// A loop that is open.
struct Fold<K> {
    /// What the present repetition found.
    found: K,
    /// Calls before it.
    calls: u64,
    /// Repetitions that the present one stands for.
    times: u64,
    /// Repetitions that may still turn out to be as the one before.
    tries: u32,
}

/// Open loops from the outermost, and the calls that were handed over.
pub(super) struct Folds<K> {
    open: Vec<Fold<K>>,
    calls: u64,
}

impl<K> Default for Folds<K> {
    fn default() -> Self {
        Self { open: Vec::new(), calls: 0 }
    }
}

impl<K: PartialEq> Folds<K> {
    /// A loop begins.
    pub(super) fn open(&mut self, asked: &Cell<u64>, found: K) {
        asked.set(asked.get() & !bit(self.open.len()));
        self.open.push(Fold { found, calls: self.calls, times: 1, tries: TRIES });
    }

    /// True if the repetitions that are left may be as the one that ended.
    pub(super) fn looks(&self) -> bool {
        // One without calls is a mistake if there are many of its kind: that is found by running them.
        self.open.last().is_some_and(|fold| fold.tries > 0 && fold.calls < self.calls)
    }

    /// True if the `left` repetitions are as the one that ended: the next stands for all of them.
    pub(super) fn repeats(&mut self, asked: &Cell<u64>, kept: K, left: u64) -> bool {
        let depth = self.open.len() - 1;
        let fold = &mut self.open[depth];
        debug_assert!(fold.times == 1, "what stands for others is the last");
        let varies = asked.get() & bit(depth) != 0;
        let same = !varies && fold.found == kept;
        fold.tries = if varies { 0 } else { fold.tries - 1 };
        (fold.found, fold.calls) = (kept, self.calls);
        if same {
            fold.times = left;
        }
        same
    }

    /// The innermost loop ends.
    pub(super) fn close(&mut self) {
        self.open.pop();
    }

    /// A call was handed over: how often it is made.
    pub(super) fn called(&mut self) -> u64 {
        self.calls += 1;
        self.open.iter().fold(1, |times, fold| times.saturating_mul(fold.times))
    }
}
