//! Numbers that a script gives to what its calls speak of.

use base::{index::RankId, numbers};

/// A request, as its script numbers it.
pub type Request = u32;
/// A communicator, as its script numbers it; [`WORLD`] exists from the start.
pub type Comm = u32;
/// The communicator of all ranks of the job.
pub const WORLD: Comm = 0;

numbers! {
    /// A rank of a communicator, counted within it: what calls speak of. Where it stands in the job is another number, a [`RankId`], which
    /// the communicator's members tell.
    CommRank(u32);
}

impl CommRank {
    /// The number that a rank of the job has in [`WORLD`]: the same.
    #[inline]
    #[must_use]
    pub const fn in_world(rank: RankId) -> Self {
        Self::new(rank.number())
    }

    /// The rank of the job that has this number in [`WORLD`].
    #[inline]
    #[must_use]
    pub const fn of_world(self) -> RankId {
        RankId::new(self.number())
    }
}

/// The null process: transfers with it finish at once and move nothing.
pub const PROC_NULL: CommRank = CommRank::new(u32::MAX - 1);
/// Any rank of the communicator, as a receive's peer.
pub const ANY_PEER: CommRank = CommRank::new(u32::MAX);

/// A window of memory that the ranks of a communicator open to each other, as its script numbers it.
pub type Window = u32;
