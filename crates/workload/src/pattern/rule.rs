//! What a pattern is at its core: a rule for destinations.

use base::index::RankId;

/// A rule that names the destination of every message of every rank.
pub(crate) trait Destinations: Send + Sync {
    /// Destination of the `index`-th message of `rank`, which is not [`Destinations::silent`]: a pure function, `rank` itself only
    /// if [`Destinations::to_itself`] says so.
    fn destination(&self, rank: RankId, index: u64) -> RankId;

    /// True if a rank sends nothing.
    #[inline]
    fn silent(&self, _rank: RankId) -> bool {
        false
    }

    /// A rank that sends to itself, if there is one.
    fn to_itself(&self) -> Option<RankId> {
        None
    }

    /// Destinations of the messages of `rank` from the `index`-th on.
    fn destinations(&self, rank: RankId, index: u64) -> [RankId; TOGETHER] {
        std::array::from_fn(|i| self.destination(rank, index.wrapping_add(i as u64)))
    }
}

/// Destinations that are worth drawing together.
pub(crate) const TOGETHER: usize = 8;

/// A number of messages or bursts, where 0 stands for no end.
pub(crate) fn endless_if_zero(count: u64) -> u64 {
    if count == 0 { u64::MAX } else { count }
}
