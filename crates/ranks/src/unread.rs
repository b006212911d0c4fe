//! Keys for programs that these programs make no use of: of `[model]`, of `[node]`, and of their own jobs.

use crate::node;
use base::{
    index::RankId,
    param::{Unread, Value},
    units::print_bytes,
};
use model::{Parts, section::Section, setup::JobSetup};
use workload::program::{Batch, Kind, mpi::Mode};

/// Operations that are read at most, of all programs.
const OPERATIONS: u64 = 1 << 19;

/// Keys of a job for what it computes.
const COMPUTING: [&str; 3] = ["compute", "noise", "noise_file"];

/// Keys of `[node]` for messages that stay within a terminal.
const MEMORY: [&str; 3] = ["memory_latency", "memory_bandwidth", "memory_channels"];

/// Value of `eager` where a file does not give it, on the models that share [`EAGER`](crate::params::EAGER).
#[must_use]
pub fn usual() -> u64 {
    match crate::params::EAGER.default_value() {
        Some(Value::Int(bytes)) => bytes,
        other => unreachable!("a threshold has a default in bytes, not {other:?}"),
    }
}

/// What the operations of programs have need of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Needs {
    /// Bytes of the largest send that may go at once or ask.
    largest: Option<u64>,
    /// Some send waits for its receiver whatever its size.
    waits: bool,
    /// Some message stays within its terminal.
    stays: bool,
    /// Some computation takes time.
    computes: bool,
}

/// Keys that programs have no use for, if there are programs; nothing if one is too long to be read. `eager` if every standard send of them goes at
/// once with it and, by the `usual` threshold, without it; `control` if none asks; `memory_latency` and others of `[node]` if no message stays within
/// a terminal; `compute` and noise of jobs that compute nothing. `below`: a message of just the threshold does not go at once.
#[must_use]
pub fn of(parts: &Parts<'_>, below: bool, usual: u64) -> Vec<Unread> {
    let section = parts.written.model;
    let any = |section: &Section, keys: &[&str]| keys.iter().any(|key| section.places.contains_key(*key));
    let asked = any(section, &["eager", "control"])
        || parts.written.jobs.iter().any(|job| any(job, &COMPUTING))
        || parts.written.own(node::ABOUT.name).is_some_and(|own| any(&own.section, &MEMORY));
    let programs = parts.jobs.iter().any(|job| job.work.program().is_some());
    if !asked || !programs {
        return Vec::new();
    }
    let mut budget = OPERATIONS;
    let (mut all, mut together) = (Vec::new(), Needs::default());
    for (n, job) in parts.jobs.iter().enumerate().filter(|(_, job)| job.work.program().is_some()) {
        let Some(needs) = needs(job, &mut budget) else { return Vec::new() };
        let written = |key: &&'static str| parts.written.jobs[n].places.contains_key(*key);
        if !needs.computes {
            let keys: Vec<_> = COMPUTING.into_iter().filter(written).collect();
            all.extend(Unread::all("job", &keys, "the program computes nothing"));
        }
        together.largest = together.largest.max(needs.largest);
        together.waits |= needs.waits;
        together.stays |= needs.stays;
    }
    let eager = match section.get("eager").filter(|_| section.places.contains_key("eager")) {
        Some(&Value::Int(eager)) => Some(eager),
        _ => None,
    };
    let goes = |bytes: u64, threshold: u64| bytes < threshold || (bytes == threshold && !below);
    match (eager, together.largest) {
        (Some(_), None) => {
            all.extend(Unread::all("model", &["eager"], "no program sends a message that could wait"));
        }
        (Some(eager), Some(bytes)) if goes(bytes, eager.min(usual)) => {
            let bytes = print_bytes(bytes);
            let why =
                format!("the largest message of the programs has {bytes}, so none asks without it either");
            all.extend(Unread::all("model", &["eager"], why));
        }
        _ => {}
    }
    if !together.waits && together.largest.is_none_or(|bytes| goes(bytes, eager.unwrap_or(usual))) {
        all.extend(Unread::all("model", &["control"], "no message of the programs asks first"));
    }
    if !together.stays {
        let why = "no message of the programs stays within a terminal";
        all.extend(Unread::all(node::ABOUT.name, &MEMORY, why));
    }
    all
}

/// What a job's operations need; nothing where more would be read than `budget` has left.
fn needs(job: &JobSetup, budget: &mut u64) -> Option<Needs> {
    let Some(program) = job.work.program() else { return Some(Needs::default()) };
    let (mut needs, mut batch) = (Needs::default(), Batch::default());
    // Without a network each rank has a place of its own.
    let home = |rank: RankId| job.placement.get(rank.index());
    for rank in RankId::first(program.ranks()) {
        let mut cursor = program.open(rank);
        loop {
            batch.clear();
            // What is damaged is reported by the run.
            if cursor.fill(&mut batch).is_err() || batch.ops.is_empty() {
                break;
            }
            *budget = budget.checked_sub(batch.ops.len() as u64)?;
            for op in &batch.ops {
                match op.kind {
                    Kind::Calc => needs.computes |= op.amount > 0,
                    Kind::Send => {
                        needs.stays |=
                            op.peer == rank || (home(rank).is_some() && home(rank) == home(op.peer));
                        match op.mode {
                            Mode::Standard => needs.largest = needs.largest.max(Some(op.amount)),
                            Mode::Synchronous => needs.waits = true,
                            Mode::Buffered => {}
                        }
                    }
                    Kind::Recv | Kind::Probe | Kind::Join | Kind::JoinAny => {}
                }
            }
        }
    }
    Some(needs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use workload::{
        program::list::{List, Rank, calc, recv, send},
        work::Work,
    };

    fn job(ranks: Vec<Rank>, placement: &[u32]) -> JobSetup {
        JobSetup {
            name: "job".to_owned(),
            work: Work::Program(Arc::new(List::new(ranks))),
            placement: placement.iter().map(|&t| base::index::TerminalId::new(t)).collect(),
            message: None,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        }
    }

    #[test]
    fn operations_say_what_a_program_needs() {
        let (mut from, mut to) = (Rank::default(), Rank::default());
        [send(1, 250, 0), send(1, 40, 0)].into_iter().for_each(|op| _ = from.push(op));
        [recv(0, 250, 0), recv(0, 40, 0)].into_iter().for_each(|op| _ = to.push(op));
        let both = vec![from, to];
        let sends = Needs { largest: Some(250), ..Needs::default() };
        assert_eq!(needs(&job(both.clone(), &[0, 1]), &mut 4), Some(sends));
        assert_eq!(needs(&job(both.clone(), &[]), &mut 4), Some(sends), "without a network");
        assert_eq!(needs(&job(both.clone(), &[7, 7]), &mut 4), Some(Needs { stays: true, ..sends }));
        assert_eq!(needs(&job(both, &[0, 1]), &mut 3), None, "longer than what may be read");
        assert_eq!(needs(&job(vec![Rank::default()], &[0]), &mut 0), Some(Needs::default()));
        for (time, computes) in [(0, false), (1, true)] {
            let mut rank = Rank::default();
            rank.push(calc(time));
            assert_eq!(needs(&job(vec![rank], &[0]), &mut 1).map(|n| n.computes), Some(computes));
        }
    }
}
