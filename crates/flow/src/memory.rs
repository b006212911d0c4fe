//! Predicts the memory of a run.

use crate::context::FlowSetup;
use model::memory::Prediction;
use ranks::memory;

/// Predicts the memory of a run of flows: routes of all pairs that are used, flows, ranks. How many flows there are at a time is not known
/// beforehand; a hundred for each rank are taken, or the model's bound, and 256 partners for each rank.
#[must_use]
pub fn predict(setup: &FlowSetup) -> Prediction {
    /// A route with its links, and what is known of its pair.
    const ROUTE: u64 = 320;
    /// A flow, its message, its place in a bundle and in the solver.
    const FLOW: u64 = 512;
    let ranks: u64 = setup.jobs.iter().map(|j| j.placement.len() as u64).sum();
    let links = setup.fabric.ports().len() as u64 + u64::from(setup.fabric.terminals());
    let flows = setup.config.max_flows.min(ranks.saturating_mul(100));
    let mut parts = memory::predict(&setup.jobs, memory::Kept::Rows).parts;
    parts.push(("links", links.saturating_mul(256)));
    parts.push(("routes", ranks.saturating_mul(ranks.min(256)).saturating_mul(ROUTE)));
    parts.push(("flows", flows.saturating_mul(FLOW)));
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}
