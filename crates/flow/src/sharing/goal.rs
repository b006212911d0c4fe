//! Ends of flows and of their latencies, in the order in which they come, and rates of their own from the least.

use crate::fine_time::FineTime;
use std::cmp::Ordering;

/// When a flow of a bundle is over, on the bundle's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) clock: f64,
    pub(super) order: u64,
    pub(super) flow: u32,
}

impl Ord for Goal {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.clock.total_cmp(&other.clock).then(self.order.cmp(&other.order))
    }
}

impl PartialOrd for Goal {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Goal {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Goal {}

/// A flow in its latency. They end it in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Latent {
    pub(super) until: FineTime,
    /// Count of flows begun before it.
    pub(super) order: u64,
    pub(super) flow: u32,
}

/// The most that a flow of a pool may take by itself. Rates are not negative, so that their bits are ordered as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Own {
    bits: u64,
    pub(super) order: u64,
    pub(super) flow: u32,
}

impl Own {
    /// Of a flow with a rate in bytes per second and a count of flows begun before it.
    pub(super) fn new(rate: f64, order: u64, flow: u32) -> Self {
        debug_assert!(rate >= 0.0, "a rate is not negative");
        Self { bits: rate.to_bits(), order, flow }
    }

    /// The most that its flow may take, in bytes per second.
    pub(super) fn rate(self) -> f64 {
        f64::from_bits(self.bits)
    }
}
