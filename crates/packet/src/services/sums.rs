//! What is measured by service class.

use results::histogram::LatencyHistogram;
use serde::{Deserialize, Serialize};

/// Sums of a class.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServiceSums {
    /// Latencies of its packets that were created after the warm-up.
    pub latency: LatencyHistogram,
    /// Payload delivered after the warm-up.
    pub bytes: u64,
}

impl ServiceSums {
    /// Nothing measured yet.
    #[must_use]
    pub fn new() -> Self {
        Self { latency: LatencyHistogram::new(), bytes: 0 }
    }

    /// Adds what another partition measured.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.bytes += other.bytes;
    }
}

impl Default for ServiceSums {
    fn default() -> Self {
        Self::new()
    }
}
