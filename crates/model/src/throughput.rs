//! What sources offered and what arrived, as fractions of what terminals' links carry.

use crate::setup::JobSetup;
use base::{index::RankId, time::Ps};
use results::summary::Throughput;

/// Throughput of `bytes` delivered in `span`; each node that ranks live on has `rails` links of `rate` bytes per second. `None` for no time.
#[must_use]
pub fn throughput(
    jobs: &[JobSetup],
    rate: f64,
    rails: u32,
    bytes: u64,
    span: Option<Ps>,
) -> Option<Throughput> {
    let span = span.filter(|&s| s > 0)? as f64 / 1e12;
    let nodes: usize = jobs.iter().map(JobSetup::nodes).sum();
    let peak = rate * nodes as f64 * f64::from(rails);
    debug_assert!(rate > 0.0 && rails > 0, "terminals have links that carry something");
    let accepted = bytes as f64 / span;
    let offered: Option<f64> = jobs
        .iter()
        .map(|j| j.work.traffic().and_then(|t| t.offered_bytes_per_s()).map(|b| b * j.placement.len() as f64))
        .sum();
    Some(Throughput {
        offered_fraction: offered.map(|o| o / peak),
        accepted_fraction: accepted / peak,
        accepted_bytes_per_s: accepted,
    })
}

/// Most messages that a rank is asked for in search of the end of its first burst.
const LONGEST_BURST: u64 = 1 << 16;

/// Messages that a source creates at one instant: the most of all jobs, each judged by the first burst of its first rank; at least 1.
#[must_use]
pub fn burst(jobs: &[JobSetup]) -> u64 {
    let traffic = jobs.iter().filter_map(|j| j.work.traffic());
    let each = traffic.map(|t| {
        let Some(first) = t.message(RankId::new(0), 0, 0) else { return 1 };
        let along =
            |index: &u64| t.message(RankId::new(0), *index, first.time).is_some_and(|m| m.time == first.time);
        1 + (1..LONGEST_BURST).take_while(along).count() as u64
    });
    each.max().unwrap_or(1)
}
