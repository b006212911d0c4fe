//! Calls as all traces have them.

use crate::program::mpi::{Call, Collective, CollectiveKind, Comm, CommRank, Request, WORLD};
use std::sync::Arc;

/// What the name of a communicator stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// A communicator, as the script counts.
    Made(Comm),
    /// One with the caller alone.
    Alone,
    /// One whose making was not seen.
    Unknown,
}

impl Found {
    /// The number that a script gives it; transfers of a rank with itself are on the one of all ranks.
    pub(super) fn number(self) -> Comm {
        match self {
            Self::Made(number) => number,
            Self::Alone | Self::Unknown => WORLD,
        }
    }
}

/// A collective call, as far as most have the same parts.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) kind: CollectiveKind,
    pub(super) comm: Comm,
    pub(super) root: u32,
    pub(super) bytes: u64,
    pub(super) counts: Option<Arc<[u64]>>,
    pub(super) request: Option<Request>,
}

impl Shape {
    /// One without a root, counts and a request.
    pub(super) fn new(kind: CollectiveKind, comm: Comm, bytes: u64) -> Self {
        Self { kind, comm, root: 0, bytes, counts: None, request: None }
    }

    pub(super) fn root(mut self, root: u32) -> Self {
        self.root = root;
        self
    }

    pub(super) fn counts(mut self, counts: impl Into<Arc<[u64]>>) -> Self {
        self.counts = Some(counts.into());
        self
    }

    pub(super) fn call(self) -> Call {
        Call::Collective(Collective {
            kind: self.kind,
            comm: self.comm,
            root: CommRank::new(self.root),
            bytes: self.bytes,
            counts: self.counts,
            neighbours: None,
            request: self.request,
            algorithm: None,
        })
    }
}

/// Bytes by rank where a rank knows its own alone: MPI gives all of them to the root, and gatherv and scatterv go directly between each rank and the root.
pub(super) fn own_count(size: u32, me: u32, bytes: u64) -> Vec<u64> {
    let mut counts = vec![0; size as usize];
    if let Some(own) = counts.get_mut(me as usize) {
        *own = bytes;
    }
    counts
}
