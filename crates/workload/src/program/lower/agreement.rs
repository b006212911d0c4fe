//! Whether all ranks of a communicator call the same collectives, with the same roots and sizes, as MPI demands.
//!
//! Each rank adds up what it calls on a communicator into one number; at the end of its calls, or of the communicator, it leaves that here. Ranks
//! whose numbers differ have called different collectives: two of them are read once more to say where they part ([`super::mismatch`]). What a call sends by
//! rank, and blocks of neighbours, may differ and are not compared.

use crate::program::mpi::{Collective, CollectiveKind, CommRank};
use base::{hash::mix64, index::RankId, sorted::SortedMap};
use std::{
    collections::VecDeque,
    fmt,
    sync::{Mutex, PoisonError},
};

/// Calls that make communicators or are for windows: named after the collectives in [`crate::program::Program::collectives`].
pub(super) const MAKERS: [&str; 6] =
    ["MPI_Comm_dup", "MPI_Comm_split", "MPI_Comm_create", "MPI_Win_create", "MPI_Win_fence", "MPI_Win_free"];

/// What ranks must agree on in a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreed {
    /// Its number among the collectives, and behind them the [`MAKERS`].
    kind: u16,
    root: CommRank,
    bytes: u64,
    /// Where it is called, which ranks need not agree on.
    pub(super) position: u32,
}

impl Agreed {
    /// `maker` is the number among the [`MAKERS`], if it is one.
    pub(super) fn new(call: &Collective, maker: Option<u16>, position: u32) -> Self {
        use CollectiveKind::{Alltoallw, NeighborAllgather, NeighborAlltoall};
        let uneven = matches!(call.kind, Alltoallw | NeighborAllgather | NeighborAlltoall);
        let bytes = if call.counts.is_some() || uneven || maker.is_some() { 0 } else { call.bytes };
        let kind = maker.map_or(call.kind as u16, |maker| CollectiveKind::ALL.len() as u16 + maker);
        Self { kind, root: call.root, bytes, position }
    }

    /// Adds itself to what was called before.
    pub(super) fn after(&self, calls: u64) -> u64 {
        let kind = 1 + u64::from(self.kind);
        mix64(mix64(calls ^ (kind << 32 | u64::from(self.root))).wrapping_add(self.bytes))
    }

    pub(super) fn agrees(&self, other: &Self) -> bool {
        Self { position: 0, ..*self } == Self { position: 0, ..*other }
    }
}

impl fmt::Display for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = usize::from(self.kind);
        let Some(kind) = CollectiveKind::ALL.get(number) else {
            return f.write_str(MAKERS[number - CollectiveKind::ALL.len()]);
        };
        write!(f, "{} with root {} and {} B", kind.name(), self.root, self.bytes)
    }
}

/// What ranks called in all.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    /// By communicator: the least rank of all that called the same. One entry each where ranks agree.
    called: Mutex<SortedMap<u32, SortedMap<u64, RankId>>>,
}

impl Agreement {
    /// A rank has called this on a communicator, in all.
    pub(super) fn called(&self, comm: u32, rank: RankId, calls: u64) {
        let mut called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        let least = called.entry(comm).or_default().entry(calls).or_insert(rank);
        *least = rank.min(*least);
    }

    /// All that was called, three words each: for a process that read other ranks.
    pub(super) fn noted(&self) -> Vec<u64> {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        let words = |(&comm, groups): (&u32, &SortedMap<u64, RankId>)| {
            groups
                .iter()
                .flat_map(move |(&calls, &rank)| [comm.into(), calls, rank.into()])
                .collect::<Vec<_>>()
        };
        called.iter().flat_map(words).collect()
    }

    /// Adds what [`Self::noted`] gave, here or elsewhere.
    pub(super) fn note(&self, words: &[u64]) {
        for three in words.chunks_exact(3) {
            self.called(three[0] as u32, RankId::new(three[2] as u32), three[1]);
        }
    }

    /// The same behind other words, which [`Self::note_behind`] gives back.
    pub(super) fn noted_behind(&self, words: Vec<u64>) -> Vec<u64> {
        std::iter::once(words.len() as u64).chain(words).chain(self.noted()).collect()
    }

    /// Adds what [`Self::noted_behind`] gave; the words before it are left.
    pub(super) fn note_behind<'a>(&self, noted: &'a [u64]) -> &'a [u64] {
        let Some((&words, rest)) = noted.split_first() else { return &[] };
        let Some((words, called)) = rest.split_at_checked(words as usize) else { return &[] };
        self.note(called);
        words
    }

    /// Two ranks that do not agree, with their communicator, if there are such.
    pub(super) fn parted(&self) -> Option<(u32, [RankId; 2])> {
        let called = self.called.lock().unwrap_or_else(PoisonError::into_inner);
        let (&comm, groups) = called.iter().find(|(_, groups)| groups.len() > 1)?;
        let mut least: Vec<RankId> = groups.values().copied().collect();
        least.sort_unstable();
        Some((comm, [least[0], least[1]]))
    }
}

/// Calls of a rank on one communicator that were read and not compared.
pub(super) struct Watched {
    pub(super) comm: u32,
    pub(super) calls: VecDeque<Agreed>,
}
