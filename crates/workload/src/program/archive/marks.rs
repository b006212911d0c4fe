//! Regions of the user's functions, and markers, as marks of a rank. Their places in a computation are kept, since the computation stays one.

use crate::program::mpi::{Mark, MarkKind};
use base::sorted::SortedMap;
use std::sync::Arc;

/// Marks that wait for the call, or the computation, that follows them.
#[derive(Default)]
pub(super) struct Marks {
    waiting: Vec<Mark>,
    /// Names of regions that were met, so that each is kept once.
    names: SortedMap<u32, Arc<str>>,
}

impl Marks {
    /// A region of this name is entered or left, so far into the present computation.
    pub(super) fn met(&mut self, region: u32, name: &str, kind: MarkKind, into: u64) {
        let name = Arc::clone(self.names.entry(region).or_insert_with(|| name.into()));
        self.waiting.push(Mark { name, number: None, kind, into });
    }

    /// Somebody has noted this, so far into the present computation.
    pub(super) fn noted(&mut self, text: &str, into: u64) {
        self.waiting.push(Mark { name: text.into(), number: None, kind: MarkKind::Instant, into });
    }

    /// Hands over those that wait.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Mark> + '_ {
        self.waiting.drain(..)
    }
}
