//! What a trace holds that becomes no call: counted by kind and rank, whoever reads the ranks, and however often.

use base::{index::RankId, sorted::SortedMap};
use std::sync::{Mutex, PoisonError};

/// Counts of all ranks that were read so far.
#[derive(Debug, Default)]
pub(super) struct Notes(Mutex<SortedMap<(u64, RankId), u64>>);

/// Counts of one reading of one rank.
#[derive(Debug)]
pub(super) struct RankNotes {
    rank: RankId,
    met: SortedMap<u64, u64>,
}

impl Notes {
    /// Kinds with how often each was met at all ranks.
    pub(super) fn totals(&self) -> SortedMap<u64, u64> {
        let mut totals = SortedMap::new();
        for (&(kind, _), &count) in &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            *totals.entry(kind).or_insert(0) += count;
        }
        totals
    }

    /// Everything in words of 64 bits, three each: for a process that reads other ranks.
    pub(super) fn words(&self) -> Vec<u64> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().flat_map(|(&(kind, rank), &count)| [kind, rank.into(), count]).collect()
    }

    /// Adds what [`Self::words`] gave, here or elsewhere. A rank that was read twice counts once.
    pub(super) fn add(&self, words: &[u64]) {
        for three in words.chunks_exact(3) {
            self.set(three[0], RankId::new(three[1] as u32), three[2]);
        }
    }

    fn set(&self, kind: u64, rank: RankId, count: u64) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let most = all.entry((kind, rank)).or_default();
        *most = count.max(*most);
    }
}

impl RankNotes {
    pub(super) fn new(rank: RankId) -> Self {
        Self { rank, met: SortedMap::new() }
    }

    /// Something of this kind was met. It is handed over at once: a run may end before the rank does.
    #[cold]
    pub(super) fn met(&mut self, kind: u64, notes: &Notes) {
        self.met_times(kind, 1, notes);
    }

    /// The same for so many.
    pub(super) fn met_times(&mut self, kind: u64, times: u64, notes: &Notes) {
        if times > 0 {
            let count = self.met.entry(kind).or_default();
            *count += times;
            notes.set(kind, self.rank, *count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_is_read_twice_counts_once() {
        let notes = Notes::default();
        for rank in [0, 1, 1] {
            let mut met = RankNotes::new(RankId::new(rank));
            met.met(7, &notes);
            met.met(7, &notes);
        }
        let other = Notes::default();
        other.add(&notes.words());
        other.add(&notes.words());
        assert_eq!((notes.totals(), other.totals()), (SortedMap::from([(7, 4)]), SortedMap::from([(7, 4)])));
    }
}
