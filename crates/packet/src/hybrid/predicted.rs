//! A packet or message that bypasses the network.

use crate::{identity::PacketId, rows::Packet};
use base::{index::TerminalId, time::Ps};
use serde::{Deserialize, Serialize};

/// A packet, or message, that was handed over past the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// See [`Packet::id`]; of several packets the first.
    pub id: PacketId,
    /// When it was handed over.
    pub created: Ps,
    /// When its message was created.
    pub message_created: Ps,
    /// Its payload in bytes, without headers.
    pub bytes: u64,
    /// Number of the terminal that it is for.
    pub destination: TerminalId,
    /// Source's number of its message.
    pub message: u32,
    /// Packets of its message.
    pub message_packets: u32,
    /// Packets that it stands for.
    pub packets: u32,
}

impl Predicted {
    /// Of a row.
    #[must_use]
    pub fn of(p: &Packet) -> Self {
        Self {
            id: p.id,
            created: p.created,
            message_created: p.message_created,
            bytes: u64::from(p.bytes),
            destination: p.destination,
            message: p.message,
            message_packets: p.message_packets,
            packets: 1,
        }
    }

    /// Number of the terminal that it comes from.
    #[must_use]
    pub fn source(&self) -> TerminalId {
        self.id.source()
    }
}
