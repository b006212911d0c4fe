//! What sources offered and what arrived, as fractions of what terminals' links carry.

use crate::setup::JobSetup;
use base::{index::RankId, time::Ps};
use results::summary::Throughput;
use std::ops::Range;

/// Throughput of `bytes` delivered in the `measured` time; each node that ranks live on has `rails` links of `rate` bytes per second. A job offers its
/// load from its start on. `None` for no time.
#[must_use]
pub fn throughput(
    jobs: &[JobSetup],
    rate: f64,
    rails: u32,
    bytes: u64,
    measured: &Range<Ps>,
) -> Option<Throughput> {
    if measured.is_empty() {
        return None;
    }
    let length = (measured.end - measured.start) as f64;
    let span = length / 1e12;
    let nodes: usize = jobs.iter().map(JobSetup::nodes).sum();
    let peak = rate * nodes as f64 * f64::from(rails);
    debug_assert!(rate > 0.0 && rails > 0, "terminals have links that carry something");
    let accepted = bytes as f64 / span;
    let offered: Option<f64> = jobs
        .iter()
        .map(|j| {
            let share = measured.end.saturating_sub(j.start.max(measured.start)) as f64 / length;
            let rate = j.work.traffic().and_then(|t| t.offered_bytes_per_s())?;
            Some(rate * share * j.placement.len() as f64)
        })
        .sum();
    Some(Throughput {
        offered_fraction: offered.map(|o| o / peak),
        accepted_fraction: accepted / peak,
        accepted_bytes_per_s: accepted,
    })
}

/// What a verdict says of sources that end before the run does: its flag, and the fact. Only runs that end at a time have loads to be met.
pub const SOURCES_ENDED: (&str, &str) = (
    "sources-ended",
    "all messages were there before the run ended: what is offered is the load while sources send, what is accepted the mean of the whole run",
);

/// The same of some jobs, whose traffic ended after a number of messages: `there` are those that arrived, by job.
#[must_use]
pub fn jobs_ended(jobs: &[JobSetup], there: impl Iterator<Item = u64>) -> Option<String> {
    let ended = |(job, there): (&JobSetup, u64)| {
        let all = job.work.traffic()?.total(job.placement.len() as u32)?;
        (all > 0 && there == all).then_some(format!("`{}`", job.name))
    };
    let ended: Vec<String> = jobs.iter().zip(there).filter_map(ended).collect();
    let what = "what is offered is the load while it sends, what is accepted the mean of the whole run";
    (!ended.is_empty())
        .then(|| format!("all messages of {} were there before the run ended: {what}", ended.join(", ")))
}

/// What a verdict says where more arrived than sources without end offer in the mean: of each of them the measured time holds too few messages.
/// Answers are sent beyond what is offered.
#[must_use]
pub fn beyond_offered(jobs: &[JobSetup], throughput: Option<&Throughput>) -> Option<String> {
    let (accepted, offered) = throughput.and_then(|t| Some((t.accepted_fraction, t.offered_fraction?)))?;
    let answers = jobs.iter().any(|job| job.work.traffic().is_none_or(|traffic| traffic.closed_loop()));
    let (accepted, offered) = (accepted * 100.0, offered * 100.0);
    (accepted > BEYOND * offered && !answers).then(|| {
        format!("{accepted:.1} % arrived and {offered:.1} % are offered: each source sent too few messages to have its load")
    })
}

/// Part of what is offered above which an excess is not rounding.
const BEYOND: f64 = 1.1;

/// From when on a run that is measured from `warmup` to `end` can be steady: the start of the last of its jobs, if any starts later. A start in the last
/// sixteenth leaves too little, and does not count.
#[must_use]
pub fn steady_from(starts: impl IntoIterator<Item = Ps>, warmup: Ps, end: Ps) -> Ps {
    let latest = end - end.saturating_sub(warmup) / 16;
    let from = starts.into_iter().filter(|&start| start <= latest).fold(warmup, Ps::max);
    debug_assert!(from >= warmup, "nothing is measured during the warm-up");
    from
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_steady_begins_with_the_last_job() {
        assert_eq!(steady_from([], 10, 170), 10);
        assert_eq!(steady_from([0, 5], 10, 170), 10);
        assert_eq!(steady_from([0, 90, 40], 10, 170), 90);
        // The last sixteenth of 160 begins at 160.
        assert_eq!(steady_from([160], 10, 170), 160);
        assert_eq!(steady_from([161, 40], 10, 170), 40);
        assert_eq!(steady_from([500], 10, 170), 10);
    }
}
