//! Keys of `[model]` for programs that these programs make no use of.

use base::{
    index::RankId,
    param::{Unread, Value},
    units::print_bytes,
};
use model::Parts;
use workload::program::{Batch, Kind, Program, mpi::Mode};

/// Operations that are read at most, of all programs.
const OPERATIONS: u64 = 1 << 19;

/// Value of `eager` where a file does not give it, on the models that share [`EAGER`](crate::params::EAGER).
#[must_use]
pub fn usual() -> u64 {
    match crate::params::EAGER.default_value() {
        Some(Value::Int(bytes)) => bytes,
        other => unreachable!("a threshold has a default in bytes, not {other:?}"),
    }
}

/// `eager` if there are programs and every standard send of them goes at once with it and, by the `usual` threshold, without it; nothing if a program is too long to be
/// read. `below`: a message of just that size does not go at once.
#[must_use]
pub fn threshold(parts: &Parts<'_>, below: bool, usual: u64) -> Vec<Unread> {
    let section = parts.written.model;
    let Some(&Value::Int(eager)) = section.get("eager").filter(|_| section.places.contains_key("eager"))
    else {
        return Vec::new();
    };
    if parts.jobs.iter().all(|job| job.work.program().is_none()) {
        return Vec::new();
    }
    let mut budget = OPERATIONS;
    let mut largest = None;
    for program in parts.jobs.iter().filter_map(|job| job.work.program()) {
        match largest_standard(&**program, &mut budget) {
            Some(one) => largest = largest.max(one),
            None => return Vec::new(),
        }
    }
    let least = eager.min(usual);
    let why = match largest {
        None => "no program sends a message that could wait".to_owned(),
        Some(bytes) if bytes < least || (bytes == least && !below) => {
            format!(
                "the largest message of the programs has {}, so none asks without it either",
                print_bytes(bytes)
            )
        }
        Some(_) => return Vec::new(),
    };
    Unread::all("model", &["eager"], why)
}

/// Bytes of the largest standard send, if there is one; nothing where more would be read than `budget` has left.
fn largest_standard(program: &dyn Program, budget: &mut u64) -> Option<Option<u64>> {
    let (mut largest, mut batch) = (None, Batch::default());
    for rank in RankId::first(program.ranks()) {
        let mut cursor = program.open(rank);
        loop {
            batch.clear();
            // What is damaged is reported by the run.
            if cursor.fill(&mut batch).is_err() || batch.ops.is_empty() {
                break;
            }
            *budget = budget.checked_sub(batch.ops.len() as u64)?;
            let sends = batch.ops.iter().filter(|op| op.kind == Kind::Send && op.mode == Mode::Standard);
            largest = largest.max(sends.map(|op| op.amount).max());
        }
    }
    Some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::program::list::{List, Rank, recv, send};

    #[test]
    fn long_programs_are_not_judged() {
        let (mut from, mut to) = (Rank::default(), Rank::default());
        [send(1, 250, 0), send(1, 40, 0)].into_iter().for_each(|op| _ = from.push(op));
        [recv(0, 250, 0), recv(0, 40, 0)].into_iter().for_each(|op| _ = to.push(op));
        let program = List::new(vec![from, to]);
        assert_eq!(largest_standard(&program, &mut 4), Some(Some(250)));
        assert_eq!(largest_standard(&program, &mut 3), None);
        assert_eq!(largest_standard(&List::new(vec![Rank::default()]), &mut 0), Some(None));
    }
}
