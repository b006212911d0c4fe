//! Who sends to whom, and how a message asks for its ways.

use base::index::TerminalId;

/// Two terminals of which one sends to the other.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// The one that sends.
    pub source: TerminalId,
    /// The one that receives.
    pub destination: TerminalId,
    /// Row of their route: what [`Network::pair`](crate::network::Network::pair) gives.
    pub row: u32,
}

/// A message, as a routing that chooses by load is asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Names it among all messages.
    pub identity: u64,
    /// Packets that are asked: see [`packets`](crate::by_load::packets).
    pub packets: u32,
}
