//! What interfaces send each other.

use super::types::{AckReq, Fail, List, ProcessId, Slot};
use serde::{Deserialize, Serialize};

/// Kinds of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "operations of the interface")]
pub enum Request {
    #[default]
    Put,
    Get,
    Atomic,
    FetchAtomic,
    Swap,
    /// Acknowledgement of a put or an atomic operation.
    Ack,
    /// Data of a get or a fetching operation.
    Reply,
}

impl Request {
    /// True for what a target answers, false for the answers.
    #[must_use]
    pub fn is_request(self) -> bool {
        !matches!(self, Self::Ack | Self::Reply)
    }
}

impl Message {
    /// Becomes as a new one. The room for its data stays.
    pub fn clear(&mut self) {
        let mut data = std::mem::take(&mut self.data);
        data.clear();
        *self = Self { data, ..Self::default() };
    }

    /// Bytes of its payload, of which not all need be in `data`.
    #[must_use]
    pub fn payload(&self) -> u64 {
        debug_assert!(self.data.len() as u64 <= self.length, "no more is copied than is sent");
        match self.request {
            Request::Get | Request::Ack => 0,
            Request::Reply if self.fail != Fail::Ok => 0,
            _ => self.length,
        }
    }
}

/// A message between interfaces: a request, or the answer to one.
#[derive(Clone, Debug, Default)]
pub struct Message {
    /// What it is.
    pub request: Request,
    /// Interface, the same at both ends.
    pub ni: usize,
    /// Process that sends it.
    pub source: ProcessId,
    /// Its rank in the map of a logical interface, as programs see it.
    pub source_rank: u32,
    /// Process it is for.
    pub target: ProcessId,
    /// User that sends it.
    pub uid: u32,
    /// Portal table entry at the target.
    pub pt: u32,
    /// Bits to be matched.
    pub match_bits: u64,
    /// Offset at the target; in answers the one that was used.
    pub remote_offset: u64,
    /// Data for the target's event.
    pub hdr_data: u64,
    /// Bytes asked for; in answers those that moved.
    pub length: u64,
    /// Acknowledgement wanted; in an acknowledgement its kind.
    pub ack: AckReq,
    /// Operation and datatype of an atomic.
    pub operation: (u8, u8),
    /// Operand of a swap.
    pub operand: [u8; 32],
    /// Payload: as much of it as is copied.
    pub data: Vec<u8>,
    /// Where the initiator's [`super::operation::Pending`] is.
    pub pending: Slot,
    /// How it fared; in answers.
    pub fail: Fail,
    /// List of the entry that took it; in answers.
    pub list: List,
    /// Options of the memory descriptor that it came from; in requests.
    pub md_options: u32,
}
