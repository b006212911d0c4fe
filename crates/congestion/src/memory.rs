//! Predicts the memory of a run.

use crate::setup::CongestionSetup;
use fabric::graph::Port;
use model::memory::{FIXED, Prediction};

/// Predicts the memory of static congestion: the graph once, counters, ways and sums of links for each thread.
#[must_use]
pub fn predict(setup: &CongestionSetup) -> Prediction {
    let links = setup.fabric.ports().len() as u64 + u64::from(setup.fabric.terminals());
    let ranks: u64 = setup.jobs.iter().map(|j| j.placement.len() as u64).sum();
    let threads = u64::from(crate::setup::threads());
    let runs = setup.statics.iter().map(|s| u64::from(s.runs)).max().unwrap_or(1);
    let mut parts = vec![
        ("graph", links * 2 * size_of::<Port>() as u64),
        ("counters", threads * links * 12),
        ("paths", threads * ranks * 2 * 64),
        ("mappings", runs * 64),
        ("fixed", FIXED),
    ];
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}
