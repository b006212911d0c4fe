//! Scripts made of others: a part of a program between two of its collectives ([`part`]), and more ranks than were recorded ([`copies`]).
//!
//! Both read the calls of another script and give some of them, changed. Nothing is kept of a rank but its communicators and requests.

mod clock;
pub mod copies;
pub mod part;
mod tally;
#[cfg(test)]
mod tests;

use super::{
    Damage,
    lower::comms::Communicators,
    mpi::{Call, Comm, CommRank, PROC_NULL, WORLD},
};
use base::{index::RankId, sorted::SortedMap};
use std::sync::Arc;

/// A communicator that a rank knows.
#[derive(Clone, Copy, Debug)]
struct One {
    /// Its number among those of the job.
    id: u32,
    /// It has all ranks of the job, in whatever order.
    of_all: bool,
}

/// The communicators of a rank by the numbers that its script gives them, as its calls go by.
struct Known {
    comms: Arc<Communicators>,
    rank: RankId,
    /// Calls so far that make one.
    made: usize,
    by_handle: SortedMap<Comm, One>,
}

impl Known {
    fn new(comms: &Arc<Communicators>, rank: RankId) -> Self {
        let world = One { id: 0, of_all: true };
        Self { comms: Arc::clone(comms), rank, made: 0, by_handle: SortedMap::from([(WORLD, world)]) }
    }

    /// A call goes by.
    fn see(&mut self, call: &Call) {
        match *call {
            Call::CommDup { new, .. }
            | Call::CommSplit { new, .. }
            | Call::CommCreate { new, .. }
            | Call::CommDefine { new, .. } => {
                match self.made() {
                    Some((one, _)) => self.by_handle.insert(new, one),
                    None => self.by_handle.remove(&new),
                };
                self.made += 1;
            }
            Call::CommFree(comm) => drop(self.by_handle.remove(&comm)),
            _ => {}
        }
    }

    /// What the next call that makes a communicator gives this rank, and the rank's number in it; nothing if it is not in it.
    fn made(&self) -> Option<(One, CommRank)> {
        let (id, me) = self.comms.made(self.rank, self.made).flatten()?;
        let of_all = self.comms.members(id).is_none_or(|members| members.len() == self.comms.ranks());
        Some((One { id, of_all }, me))
    }

    /// A communicator by the script's number.
    fn get(&self, comm: Comm) -> Result<One, String> {
        self.by_handle.get(&comm).copied().ok_or_else(|| format!("communicator {comm} is not known here"))
    }

    /// Rank of the job that a peer of a communicator is; nothing for the null process.
    fn peer(&self, id: u32, peer: CommRank) -> Result<Option<RankId>, String> {
        if peer == PROC_NULL {
            return Ok(None);
        }
        match self.comms.members(id) {
            None => Ok(Some(peer.of_world())),
            Some(members) => match members.get(peer.index()) {
                Some(&rank) => Ok(Some(rank)),
                None => Err(format!("rank {peer} is not in a communicator of {} ranks", members.len())),
            },
        }
    }
}

/// The message of a damage, with the place of the call.
fn at(script: &dyn super::mpi::Script, rank: RankId, position: u32, message: &str) -> Damage {
    Damage(format!("{}: rank {rank}: {message}", script.describe(rank, position)))
}
