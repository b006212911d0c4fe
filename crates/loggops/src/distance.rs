//! Delays of messages that are linear in links and bytes.

pub use super::delays::Delays;

use super::config::DelayConfig;
use base::{index::TerminalId, time::Ps};
use fabric::metrics::Hops;

/// Latency, a time per link on a shortest path, and a time per byte.
pub struct Linear {
    latency: Ps,
    hop_latency: Ps,
    byte_time: Ps,
    hops: Hops,
}

impl Linear {
    /// Delays of a configuration over these distances.
    #[must_use]
    pub fn new(config: &DelayConfig, hops: Hops) -> Self {
        let DelayConfig { latency, hop_latency, byte_time, .. } = *config;
        Self { latency, hop_latency, byte_time, hops }
    }
}

impl Delays for Linear {
    #[inline]
    fn delay(&self, from: TerminalId, to: TerminalId, bytes: u64) -> Ps {
        let hops = if self.hop_latency == 0 { 0 } else { self.hops.between(from, to) };
        self.latency + self.hop_latency * u64::from(hops) + self.byte_time * bytes
    }

    fn least(&self) -> Ps {
        self.latency
    }

    fn hops(&self, from: TerminalId, to: TerminalId) -> u32 {
        self.hops.between(from, to)
    }
}
