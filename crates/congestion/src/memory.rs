//! Predicts the memory of a run.

use crate::setup::CongestionSetup;
use fabric::graph::Port;
use model::{entry::Known, memory::Prediction, setup::JobSetup};

/// Predicts the memory of static congestion: the graph once, counters, ways and sums of links for each thread.
#[must_use]
pub fn predict(setup: &CongestionSetup) -> Prediction {
    let links = setup.fabric.ports().len() as u64 + u64::from(setup.fabric.terminals());
    let runs = setup.statics.iter().map(|s| u64::from(s.runs)).max().unwrap_or(1);
    let mut parts = parts(links, &setup.jobs).to_vec();
    parts.extend([("mappings", runs * 64)]);
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// What is certain before the network is built.
#[must_use]
pub fn least(known: &Known<'_>) -> u64 {
    let links = known.sizes.ports.saturating_add(known.sizes.terminals);
    parts(links, known.jobs).iter().fold(0, |sum, p| sum.saturating_add(p.1))
}

/// Parts for so many links.
fn parts(links: u64, jobs: &[JobSetup]) -> [(&'static str, u64); 3] {
    let ranks: u64 = jobs.iter().map(|j| j.placement.len() as u64).sum();
    let threads = u64::from(crate::setup::threads());
    [
        ("graph", links.saturating_mul(2 * size_of::<Port>() as u64)),
        ("counters", links.saturating_mul(threads * 12)),
        ("paths", ranks.saturating_mul(threads * 2 * 64)),
    ]
}
