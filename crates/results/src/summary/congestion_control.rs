//! What congestion control did, and what jobs got.

use base::time::Ps;
use serde::{Deserialize, Serialize};

/// What congestion control did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CongestionControl {
    /// Name of the scheme.
    pub scheme: String,
    /// Marks that routers put on packets, whole run; a packet may be marked by several.
    pub marked: u64,
    /// Notifications that destinations sent, whole run.
    pub notifications: u64,
    /// One entry per job.
    pub jobs: Vec<ControlledJob>,
}

/// What a job got. Times and bytes count after the warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ControlledJob {
    /// Its name in the experiment.
    pub name: String,
    /// Packets delivered, whole run.
    pub packets: u64,
    /// Payload delivered, in bytes.
    pub bytes: u64,
    /// That payload per second of the measured time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted_bytes_per_s: Option<f64>,
    /// Mean time of a packet from its hand-over to its delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_mean_ps: Option<f64>,
    /// Longest of these times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_max_ps: Option<Ps>,
    /// Mean time of a message from its creation to its last byte; it includes the time that its flow was held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_latency_mean_ps: Option<f64>,
    /// Longest of these times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_latency_max_ps: Option<Ps>,
    /// Notifications that its sources received, whole run.
    pub notifications: u64,
    /// Mean rate of its flows that were held back, over all samples, as a fraction of a terminal's link; absent if none ever was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_rate_mean: Option<f64>,
    /// Lowest rate of one of its flows in a sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_rate_min: Option<f64>,
}
