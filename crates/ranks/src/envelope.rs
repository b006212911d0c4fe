//! What travels beside the bytes of a rank's message, on every model that carries messages through a network.

use serde::{Deserialize, Serialize};

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// A whole message.
    Eager,
    /// Announces a message that is larger than `eager`.
    Request,
    /// Allows it.
    Grant,
    /// The message itself.
    Data,
}

/// What the receiving rank must know of a message beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// What it is for.
    pub role: Role,
    /// Matching context of the send.
    pub context: u32,
    /// Its tag.
    pub tag: u32,
    /// Bytes of the message itself.
    pub bytes: u64,
    /// Position among the eager messages and requests of its pair of terminals.
    pub sequence: u32,
    /// Row of the operation that it is for, at the receiver (grants, data).
    pub to: u32,
    /// Row of the operation that sent it, at the sender (requests, grants).
    pub from: u32,
}
