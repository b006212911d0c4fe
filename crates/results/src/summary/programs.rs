//! What is reported of rank programs.

use base::time::Ps;
use serde::{Deserialize, Serialize};

/// The critical path of a job: the chain of operations and messages that its makespan is the sum of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// Time in computations, in picoseconds.
    pub compute_ps: Ps,
    /// Processor time of sends and receives that is not part of a transfer.
    pub overhead_ps: Ps,
    /// Messages, from the start of the send to the arrival.
    pub transfer_ps: Ps,
    /// Waiting for network interfaces.
    pub wait_ps: Ps,
    /// Number of messages.
    pub messages: u64,
    /// Number of ranks.
    pub ranks: u32,
}

/// Messages that were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Number of them.
    pub messages: u64,
    /// Their payload in bytes.
    pub bytes: u64,
}

/// Messages of ranks by whether they leave their node, as far as their sends are over. Requests and grants of rendezvous do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nodes {
    /// Between ranks of a node, through its memory; those of a rank to itself among them.
    pub within: Sent,
    /// Through the network.
    pub leaving: Sent,
}
