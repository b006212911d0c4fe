//! Messages that are longer than the receive that takes them: MPI calls that an error, so numbers of such a run describe no sound program.

use base::index::RankId;
use serde::{Deserialize, Serialize};

/// How many there were, and the first by receiving rank and number of the receive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncated {
    /// Messages that were too long for their receives.
    pub messages: u64,
    /// The first; meaningless if there is none.
    pub first: Cut,
}

/// One of them. The order is that of receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cut {
    /// Number of the job that both ranks belong to.
    pub job: u32,
    /// Rank that received it, as the job counts.
    pub to: RankId,
    /// Number of its receive.
    pub number: u32,
    /// Rank that sent it, as the job counts.
    pub from: RankId,
    /// Bytes of the message.
    pub bytes: u64,
    /// Bytes that the receive has room for.
    pub room: u64,
}

impl Truncated {
    /// A receive took a message; it counts if it has too little room.
    #[inline]
    pub fn add(&mut self, cut: Cut) {
        if cut.bytes > cut.room {
            self.merge(Self { messages: 1, first: cut });
        }
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        self.first = match (self.messages, other.messages) {
            (_, 0) => self.first,
            (0, _) => other.first,
            _ => self.first.min(other.first),
        };
        self.messages += other.messages;
    }

    /// A line for people, if there were any.
    #[must_use]
    pub fn line(&self) -> Option<String> {
        let Cut { to, from, bytes, room, .. } = self.first;
        let first = format!("rank {to} took {bytes} B from rank {from} into a receive of {room} B");
        match self.messages {
            0 => None,
            1 => Some(format!("a message is longer than its receive: {first}")),
            n => Some(format!("{n} messages are longer than their receives, the first: {first}")),
        }
    }
}
