//! Data movements: what is asked for, and what is still to be reported of them.

use super::{
    message::Request,
    types::{AckReq, ProcessId, Slot},
};
use serde::{Deserialize, Serialize};

/// A data movement: `PtlPut`, `PtlGet`, `PtlAtomic`, `PtlFetchAtomic`, `PtlSwap`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Op {
    /// What it is.
    pub request: Request,
    /// Descriptor of the data that are sent, with the offset in it; not for gets.
    pub put: (u32, u64),
    /// Descriptor where data come back, with the offset in it; only for gets, fetching atomics and swaps.
    pub get: (u32, u64),
    /// Bytes that are asked for; the target may move fewer.
    pub length: u64,
    /// Acknowledgement that the target is asked for.
    pub ack: AckReq,
    /// Rank, or node and process.
    pub target: ProcessId,
    /// Portal table entry at the target.
    pub pt: u32,
    /// Bits to be matched.
    pub match_bits: u64,
    /// Offset at the target.
    pub remote_offset: u64,
    /// For events here.
    pub user_ptr: u64,
    /// For the event there.
    pub hdr_data: u64,
    /// Operation and datatype of an atomic.
    pub operation: (u8, u8),
    /// Operand of a swap.
    pub operand: [u8; 32],
}

impl Op {
    /// True if data are sent with it.
    #[must_use]
    pub fn sends(&self) -> bool {
        self.request != Request::Get
    }

    /// True if data come back.
    #[must_use]
    pub fn fetches(&self) -> bool {
        matches!(self.request, Request::Get | Request::FetchAtomic | Request::Swap)
    }
}

/// An operation of which not all events are reported.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Descriptor of the data that were sent.
    pub put: Option<Slot>,
    /// Descriptor where data come back, likewise.
    pub get: Option<Slot>,
    /// Offset in it.
    pub get_offset: u64,
    /// For events here.
    pub user_ptr: u64,
    /// Bytes that were asked for, which the SEND event reports.
    pub length: u64,
    /// The SEND event is still to come.
    pub unsent: bool,
    /// An answer is still to come.
    pub unanswered: bool,
}
