//! Slow-downs of messages in the summary.

use serde::{Deserialize, Serialize};

/// How many times longer messages took than each would have taken alone on the idle network: completion time over that time. Present where it is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowDown {
    /// Mean over messages, each counted once.
    pub mean: f64,
    /// Median, within 0.1 %.
    pub p50: f64,
    /// 95th percentile, within 0.1 %.
    pub p95: f64,
    /// 99th percentile, within 0.1 %.
    pub p99: f64,
    /// Largest, exact to a millionth.
    pub max: f64,
    /// Number of messages.
    pub count: u64,
    /// By job and range of sizes, ascending: tenths of the job's distribution, else powers of two.
    pub by_size: Vec<SizeSlowDown>,
}

/// Slow-downs of a job's messages of a range of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeSlowDown {
    /// Name of the job.
    pub job: String,
    /// Smallest size of the range in bytes.
    pub from_bytes: u64,
    /// Largest size of the range in bytes.
    pub to_bytes: u64,
    /// Number of messages.
    pub count: u64,
    /// Mean over messages, each counted once.
    pub mean: f64,
    /// Median, within 0.1 %.
    pub p50: f64,
    /// 95th percentile, within 0.1 %.
    pub p95: f64,
    /// 99th percentile, within 0.1 %.
    pub p99: f64,
    /// Largest, exact to a millionth.
    pub max: f64,
}
