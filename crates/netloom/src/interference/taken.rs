//! What a job took in a run.

use crate::compare_models::measures;
use base::{index::TerminalId, sorted::SortedMap, time::Ps};
use model::{Finished, setup::JobSetup};
use results::{summary::Job, table::Table};

/// Flag of runs that ended while programs had operations left.
const UNFINISHED: &str = "unfinished-programs";

/// Latency of the messages of a job that were created after the warm-up and arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobLatency {
    /// Number of messages.
    pub messages: u64,
    /// Mean, in picoseconds.
    pub mean_ps: f64,
    /// 99th percentile: the smallest latency that 99 of 100 messages do not exceed. Exact.
    pub p99_ps: Ps,
}

impl JobLatency {
    /// Of so many latencies; none of none.
    #[must_use]
    pub fn of(mut latencies: Vec<Ps>) -> Option<Self> {
        latencies.sort_unstable();
        let rank = (latencies.len() * 99).div_ceil(100);
        let p99_ps = *latencies.get(rank.checked_sub(1)?)?;
        let sum: u128 = latencies.iter().map(|&l| u128::from(l)).sum();
        let messages = latencies.len() as u64;
        Some(Self { messages, mean_ps: sum as f64 / messages as f64, p99_ps })
    }
}

/// What a job took in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Taken {
    /// Time from its start to its last operation; none for jobs without an end, for programs if the end of the run cut one, and in a run that is not finished.
    pub makespan_ps: Option<Ps>,
    /// Latency of its messages; none for programs, and where the model keeps no messages.
    pub latency: Option<JobLatency>,
    /// Messages that arrived, per second of its makespan, or from its start to the end of the run: warm-up included.
    pub messages_per_s: Option<f64>,
    /// The same in bytes of payload, if its messages are of one size.
    pub bytes_per_s: Option<f64>,
}

/// What each job took, in the order of the experiment.
#[must_use]
pub fn taken(finished: &Finished, jobs: &[JobSetup]) -> Vec<Taken> {
    let mut latencies = by_job(&finished.tables, jobs);
    let each = jobs.iter().zip(&finished.summary.jobs).enumerate();
    // Which of several programs the end of the run cut is not told.
    let cut = finished.summary.verdict.flags.iter().any(|flag| flag == UNFINISHED);
    let whole = measures::finished(&finished.summary);
    each.map(|(n, (setup, job))| {
        let makespan_ps = job.makespan_ps.filter(|_| whole && (!cut || setup.work.program().is_none()));
        let span = makespan_ps.unwrap_or(finished.summary.simulated_ps.saturating_sub(setup.start));
        let per_s = delivered_per_s(job, span);
        let traffic = setup.work.traffic().filter(|traffic| !traffic.closed_loop());
        let bytes = traffic.and(setup.message);
        Taken {
            makespan_ps,
            latency: JobLatency::of(std::mem::take(&mut latencies[n])),
            messages_per_s: per_s,
            bytes_per_s: per_s.zip(bytes).map(|(per_s, bytes)| per_s * bytes as f64),
        }
    })
    .collect()
}

fn delivered_per_s(job: &Job, span: Ps) -> Option<f64> {
    let delivered = job.messages?.delivered;
    (span > 0).then(|| delivered as f64 / (span as f64 * 1e-12))
}

/// Latencies in the table of messages by the job of the source; of traffic alone, since programs send requests and grants of their own.
fn by_job(tables: &[Table], jobs: &[JobSetup]) -> Vec<Vec<Ps>> {
    let mut found = vec![Vec::new(); jobs.len()];
    let Some(table) = tables.iter().find(|t| t.name() == "messages") else { return found };
    let (Some(sources), Some(latencies)) = (table.u32_column("source"), table.u64_column("latency_ps"))
    else {
        return found;
    };
    let mut job_of: SortedMap<TerminalId, usize> = SortedMap::new();
    for (n, job) in jobs.iter().enumerate().filter(|(_, job)| job.work.traffic().is_some()) {
        job_of.extend(job.placement.iter().map(|&terminal| (terminal, n)));
    }
    for (&source, &latency) in sources.iter().zip(latencies) {
        if let Some(&job) = job_of.get(&TerminalId::new(source)) {
            found[job].push(latency);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        assert_eq!(JobLatency::of(Vec::new()), None);
        let one = JobLatency::of(vec![7]).expect("a message");
        assert_eq!((one.messages, one.mean_ps, one.p99_ps), (1, 7.0, 7));
        let of = |n: u64| JobLatency::of((1..=n).rev().collect()).expect("messages");
        assert_eq!((of(100).p99_ps, of(100).mean_ps), (99, 50.5));
        assert_eq!((of(101).p99_ps, of(200).p99_ps), (100, 198));
    }
}
