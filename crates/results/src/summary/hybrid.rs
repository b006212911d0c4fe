//! What a hybrid run says of its phases and of the packets it left in the network.

use base::time::Ps;
use serde::{Deserialize, Serialize};

/// What a hybrid run did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hybrid {
    /// Stretches of the run, in order.
    pub phases: Vec<Phase>,
    /// Switches between modes.
    pub switches: u64,
    /// Packets that were predicted while they were in the network, or copied into it.
    pub zombies: Zombies,
    /// Mean over returns of |mean predicted latency of the stay - mean latency of the network after it|, as a fraction of the latter; absent
    /// without a return, or where either delivered nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predictor_error: Option<f64>,
    /// Share of the simulated time in which packets bypassed the network; absent in results of versions that did not store it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_share: Option<f64>,
    /// By how much the mean latency of the run may be off because of its predictions, as a fraction of it, at 95 %; absent if nothing was predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_estimate: Option<f64>,
}

/// A stretch of a hybrid run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// `high-fidelity` or `surrogate`.
    pub mode: String,
    /// When it began.
    pub start_ps: Ps,
    /// When it ended.
    pub end_ps: Ps,
    /// Elapsed seconds that it took to simulate: differs between runs, like [`Performance`](super::Performance).
    pub wall_s: f64,
    /// Processor seconds that it took in a run of one thread, where the system says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Packets delivered in it.
    pub packets: u64,
}

impl Phase {
    /// Mode of a phase in which packets bypass the network.
    pub const SURROGATE: &'static str = "surrogate";
    /// Mode of one in which they do not.
    pub const HIGH_FIDELITY: &'static str = "high-fidelity";

    /// True if packets bypass the network in it.
    #[must_use]
    pub fn is_surrogate(&self) -> bool {
        self.mode == Self::SURROGATE
    }
}

/// Zombies; `created = discarded + in_network`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zombies {
    /// Made at switches, or copied into the network before a return.
    pub created: u64,
    /// Arrived and discarded.
    pub discarded: u64,
    /// In the network at the end.
    pub in_network: u64,
}
