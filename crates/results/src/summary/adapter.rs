//! What network adapters saw, and did about it.

use base::time::Ps;
use serde::{Deserialize, Serialize};

/// Order of packets at their destinations. Packets count that were created after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// Packets that arrived after one of the same pair of terminals that was sent later.
    pub overtaken: u64,
    /// The same as a share of the packets that arrived, those among them that are still held included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overtaken_fraction: Option<f64>,
    /// What re-sequencing took; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resequencing: Option<Resequencing>,
}

/// What it takes to hand packets on in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resequencing {
    /// Packets that were held because an earlier one was missing.
    pub held: u64,
    /// The same as a share of the packets that arrived, those among them that are still held included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_fraction: Option<f64>,
    /// Mean time that a held packet waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_mean_ps: Option<f64>,
    /// Longest of these times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_max_ps: Option<Ps>,
    /// Mean time added to a delivered packet, held or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_mean_ps: Option<f64>,
    /// Most packets that one adapter held at a time.
    pub buffer_max_packets: u64,
    /// Most payload that one adapter held at a time, in bytes.
    pub buffer_max_bytes: u64,
    /// How often an adapter with a full buffer went on without a missing packet.
    pub gaps_given_up: u64,
}
