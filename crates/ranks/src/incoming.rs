//! What has come to a rank and is not taken yet: a row of the host's pool.

use super::{matching::Label, roster::GlobalRank};
use engine::state::Linked;
use serde::{Deserialize, Serialize};

/// A message or request that waits for a receive, or for earlier ones of its pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Incoming {
    pub label: Label,
    pub bytes: u64,
    pub sequence: u32,
    /// Global rank of the sender.
    pub from: GlobalRank,
    /// Number of the send.
    pub send: u32,
    /// It asks; the message itself is yet to come.
    pub asks: bool,
    pub next: u32,
}

impl Linked for Incoming {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}
