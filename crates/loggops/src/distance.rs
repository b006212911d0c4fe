//! How long a message is under way between two ranks' terminals.

use super::config::DelayConfig;
use base::time::Ps;
use fabric::metrics::Hops;

/// Time of a message in the network: from the end of the sender's overhead o to its arrival.
pub trait Delays: Send + Sync {
    /// Delay of `bytes` from one place to another.
    fn delay(&self, from: u32, to: u32, bytes: u64) -> Ps;

    /// No delay is shorter.
    fn least(&self) -> Ps;

    /// Links between two places, as far as they count.
    fn hops(&self, from: u32, to: u32) -> u32;
}

/// Latency, a time per link on a shortest way, and a time per byte.
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
    fn delay(&self, from: u32, to: u32, bytes: u64) -> Ps {
        let hops = if self.hop_latency == 0 { 0 } else { self.hops.between(from, to) };
        self.latency + self.hop_latency * u64::from(hops) + self.byte_time * bytes
    }

    fn least(&self) -> Ps {
        self.latency
    }

    fn hops(&self, from: u32, to: u32) -> u32 {
        self.hops.between(from, to)
    }
}
