//! What ranks report: operations that are over and, on demand, which message each receive took.

use super::{instances, roster::GlobalRank};
use base::{index::TerminalId, time::Ps};
use serde::{Deserialize, Serialize};
use workload::program::{Kind, Op};

/// An operation that a rank finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finished {
    /// Terminal of the rank.
    pub terminal: TerminalId,
    /// Its place among the ranks of its terminal.
    pub slot: u16,
    /// A send whose receiver lives on the same terminal.
    pub within: bool,
    /// A send that asked its receiver first, and so waited for its receive.
    pub asked: bool,
    /// Its number in the rank.
    pub number: u32,
    /// When it became executable.
    pub ready: Ps,
    /// When it was finished.
    pub time: Ps,
    /// Bytes of its message; 0 if it has none.
    pub bytes: u64,
    /// Processor time of a computation, a send or a receive.
    pub busy: Ps,
    /// When the message of a send, or the request for it, went to the network; `time` of all else, and unless messages are reported as they meet.
    pub sent: Ps,
    /// What it is.
    pub kind: Kind,
    /// 1 + index of its collective, or 0.
    pub collective: u16,
    /// Which call of its communicator, see [`instances::of`].
    pub instance: u64,
}

impl Finished {
    /// An operation of a rank, by its terminal and its place there, that is over at `time`. Computations, sends and receives cost the processor `span`.
    /// It is no message within a terminal and asked nobody.
    #[must_use]
    pub fn new(op: &Op, terminal: TerminalId, slot: u16, number: u32, ready: Ps, time: Ps, span: Ps) -> Self {
        let message = matches!(op.kind, Kind::Send | Kind::Recv);
        Self {
            terminal,
            slot,
            within: false,
            asked: false,
            number,
            ready,
            time,
            bytes: if message { op.amount } else { 0 },
            busy: if op.kind == Kind::Calc || message { span } else { 0 },
            sent: time,
            kind: op.kind,
            collective: op.collective,
            instance: instances::of(op),
        }
    }

    /// Processor time of a computation.
    #[must_use]
    pub fn compute(&self) -> Ps {
        if self.kind == Kind::Calc { self.busy } else { 0 }
    }
}

/// A receive has all bytes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Met {
    /// Rank that receives.
    pub to: GlobalRank,
    /// When the message and its receive had both come.
    pub at: Ps,
    /// Number of the receive.
    pub receive: u32,
    /// Rank that sent.
    pub from: GlobalRank,
    /// Number of the send.
    pub send: u32,
    /// The message, or the request for it, was there before its receive.
    pub late: bool,
}
