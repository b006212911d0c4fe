//! How long a run may take that its workload ends, as far as its sources say it before it begins.

use super::some;
use base::{index::RankId, time::Ps};
use model::setup::{JobSetup, Until};
use workload::{
    program::{Batch, Kind, Program},
    registry::Work,
    traffic::{Message, Traffic},
};

/// Operations or messages that are read of a rank.
const READ: u64 = 1 << 16;

/// Windows of a run's series, for a prediction of what is kept of them; `bytes_per_s` is what a rank's link carries.
///
/// A guess where the workload ends the run: each rank is taken to compute and send, one after the other, and to wait for others as long again. More windows come where ranks wait
/// for long, where answers say how long it takes, and where ranks are too long to be read ([`super::sent::is_unknown`]).
#[must_use]
pub fn windows(jobs: &[JobSetup], until: Until, window: Ps, bytes_per_s: f64) -> u64 {
    /// So many come in any case, unless the limit is before them.
    const LEAST: u64 = 64;
    match until {
        Until::Time(end) => end / window + 1,
        Until::WorkloadDone { limit } => {
            let end = jobs.iter().map(|job| of_job(job, limit, bytes_per_s)).max().unwrap_or(0);
            (end.saturating_mul(2).min(limit) / window + 1).max(LEAST.min(limit / window + 1))
        }
    }
}

/// When a job is over at the earliest.
fn of_job(job: &JobSetup, limit: Ps, bytes_per_s: f64) -> Ps {
    let ranks = job.placement.len() as u32;
    let of_rank = |rank: RankId| match &job.work {
        Work::Program(program) => of_script(&**program, rank, bytes_per_s, job.compute_ppb),
        Work::Traffic(traffic) if traffic.closed_loop() => 0,
        Work::Traffic(traffic) => of_source(&**traffic, rank, limit.saturating_sub(job.start), bytes_per_s),
    };
    let longest = some::asked(ranks, super::sent::FEW).map(of_rank).max().unwrap_or(0);
    job.start.saturating_add(longest)
}

/// Time in which a rank computes and its link carries what it sends.
fn of_script(program: &dyn Program, rank: RankId, bytes_per_s: f64, compute_ppb: u64) -> Ps {
    let (mut cursor, mut batch) = (program.open(rank), Batch::default());
    let (mut computes, mut bytes, mut read) = (0.0, 0.0, 0);
    // What is damaged is told by the run.
    while read < READ && cursor.fill(&mut batch).is_ok() && !batch.ops.is_empty() {
        read += batch.ops.len() as u64;
        for op in &batch.ops {
            match op.kind {
                Kind::Calc => computes += op.amount as f64,
                Kind::Send => bytes += op.amount as f64,
                _ => {}
            }
        }
        batch.clear();
    }
    let scaled = computes * (compute_ppb as f64 / JobSetup::COMPUTE_AS_IS as f64);
    (scaled / f64::from(program.cpus().max(1)) + bytes / bytes_per_s * 1e12) as Ps
}

/// Time of a source's last message, or in which its link carries all of them.
fn of_source(traffic: &dyn Traffic, rank: RankId, limit: Ps, bytes_per_s: f64) -> Ps {
    let (mut read, mut last, mut bytes) = (0, 0, 0.0);
    let mut block = [Message::default(); 64];
    while read < READ {
        let count = traffic.messages(rank, read, last, &mut block);
        let mut taken = 0;
        for message in block[..count].iter().take_while(|m| m.time <= limit) {
            (last, bytes, taken) = (message.time, bytes + message.bytes as f64, taken + 1);
        }
        read += taken as u64;
        if taken < block.len() {
            break;
        }
    }
    last.max((bytes / bytes_per_s * 1e12) as Ps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::index::TerminalId;
    use model::samples::open_loop;
    use std::sync::Arc;
    use workload::program::list::{List, Rank, calc, send};

    fn job(work: Work, start: Ps) -> JobSetup {
        let placement = (0..2).map(TerminalId::new).collect();
        let (name, compute_ppb) = ("job".to_owned(), JobSetup::COMPUTE_AS_IS);
        JobSetup { name, work, placement, message: None, start, compute_ppb }
    }

    /// A program computes for a microsecond and sends as long; a source sends each 100 ns, ten times, more than its link carries.
    #[test]
    fn ends_are_those_of_the_longest_job() {
        let mut rank = Rank::default();
        [calc(1_000_000), send(1, 1000, 0)].into_iter().for_each(|op| _ = rank.push(op));
        let program = job(Work::Program(Arc::new(List::new(vec![rank, Rank::default()]))), 3_000_000);
        let source = open_loop(|_, index, _| {
            let (time, destination) = (100_000 * (index + 1), RankId::new(1));
            (index < 10).then_some(Message { time, destination, bytes: 500 })
        });
        let source = job(source, 0);
        let of = |jobs: &[JobSetup], until| windows(jobs, until, 1000, 1e9);
        let done = |limit| Until::WorkloadDone { limit };
        assert_eq!(of(&[], Until::Time(5000)), 6);
        assert_eq!((of(&[], done(1 << 40)), of(&[], done(5000))), (64, 6));
        let jobs = [program, source];
        // 3 us to the start and 1 + 1; ten messages take 5 us. Twice as long with what others are waited for.
        assert_eq!(of(&jobs[..1], done(1 << 40)), 10_001);
        assert_eq!(of(&jobs[1..], done(1 << 40)), 10_001);
        assert_eq!(of(&jobs, done(7_000_000)), 7001);
    }
}
