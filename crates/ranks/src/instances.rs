//! Collective calls one by one: when the first rank began, when the last one was done, and who waited.
//!
//! A call is named by its job, its communicator (which its matching context names) and its place among the collective calls of that communicator (which is the
//! tag of its messages). A rank's part lasts from the first of its operations that could begin to the end of its last; it waits for what
//! of that its processor neither computes nor handles messages.

use base::{index::RankId, time::Ps};
use model::setup::JobOf;
use results::table::{Cell, Column, Table};
use workload::program::Op;

/// An operation of a collective call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The job, by its number in the experiment.
    pub job: u32,
    /// The rank within its job.
    pub rank: RankId,
    /// 1 + index of the collective.
    pub collective: u16,
    /// Names the collective call within the job, see [`of`].
    pub instance: u64,
    /// When it could begin.
    pub start: Ps,
    /// When it was over.
    pub end: Ps,
    /// Time that the processor spent in it.
    pub busy: Ps,
}

/// Names the collective call that an operation belongs to, within its job; 0 if it belongs to none.
#[inline]
#[must_use]
pub fn of(op: &Op) -> u64 {
    if op.collective == 0 { 0 } else { u64::from(op.context) << 32 | u64::from(op.tag) }
}

/// A rank's part in a call.
#[derive(Clone, Copy, Debug)]
struct Part {
    rank: RankId,
    start: Ps,
    end: Ps,
    wait: Ps,
}

/// The tables `collective_calls` (one row per call) and `collective_ranks` (one row per call and rank); none without collectives.
#[must_use]
pub fn tables(mut steps: Vec<Step>, jobs: &[JobOf<'_>]) -> Vec<Table> {
    if steps.is_empty() {
        return Vec::new();
    }
    steps.sort_unstable_by_key(|s| (s.job, s.instance, s.collective, s.rank));
    let (mut calls, mut ranks) = (calls(), ranks());
    for call in steps.chunk_by(|a, b| (a.job, a.instance, a.collective) == (b.job, b.instance, b.collective))
    {
        let parts: Vec<Part> = call.chunk_by(|a, b| a.rank == b.rank).map(part).collect();
        let (job, instance) = (&jobs[call[0].job as usize], call[0].instance);
        let name = [
            Cell::Text(job.name),
            Cell::Text(job.collective(call[0].collective)),
            // Contexts of collectives are odd; 0 is the communicator of all ranks.
            Cell::U32((instance >> 33) as u32),
            Cell::U32(instance as u32),
        ];
        let of = |f: fn(&Part) -> Ps| parts.iter().map(f);
        let (first, last) = (of(|p| p.start).min().unwrap_or(0), of(|p| p.end).max().unwrap_or(0));
        let mut row = name.to_vec();
        row.extend([
            Cell::U32(parts.len() as u32),
            Cell::U64(first),
            Cell::U64(of(|p| p.start).max().unwrap_or(0)),
            Cell::U64(of(|p| p.end).min().unwrap_or(0)),
            Cell::U64(last),
            Cell::U64(last - first),
            Cell::U64(of(|p| p.wait).sum()),
            Cell::U64(of(|p| p.wait).max().unwrap_or(0)),
        ]);
        calls.push(&row);
        for p in parts {
            let mut row = name.to_vec();
            row.extend([Cell::U32(p.rank.number()), Cell::U64(p.start), Cell::U64(p.end), Cell::U64(p.wait)]);
            ranks.push(&row);
        }
    }
    vec![calls, ranks]
}

fn part(steps: &[Step]) -> Part {
    let start = steps.iter().map(|s| s.start).min().unwrap_or(0);
    let end = steps.iter().map(|s| s.end).max().unwrap_or(0);
    debug_assert!(start <= end, "a rank's part in a call ends after it began");
    let busy: Ps = steps.iter().map(|s| s.busy).sum();
    Part { rank: steps[0].rank, start, end, wait: (end - start).saturating_sub(busy) }
}

fn named(name: &str) -> Table {
    Table::new(name)
        .with("job", Column::text())
        .with("collective", Column::text())
        .with("communicator", Column::u32s())
        .with("call", Column::u32s())
}

fn calls() -> Table {
    named("collective_calls")
        .with("ranks", Column::u32s())
        .with("first_start_ps", Column::u64s())
        .with("last_start_ps", Column::u64s())
        .with("first_end_ps", Column::u64s())
        .with("last_end_ps", Column::u64s())
        .with("time_ps", Column::u64s())
        .with("wait_ps", Column::u64s())
        .with("longest_wait_ps", Column::u64s())
}

fn ranks() -> Table {
    named("collective_ranks")
        .with("rank", Column::u32s())
        .with("start_ps", Column::u64s())
        .with("end_ps", Column::u64s())
        .with("wait_ps", Column::u64s())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks in two calls of the world's first collective; the second one of rank 1 waits.
    #[test]
    fn a_call_lasts_from_the_first_to_the_last() {
        let jobs = [JobOf { name: "job", program: None, start: 0 }];
        let step = |rank, call, start, end, busy| Step {
            job: 0,
            rank: RankId::new(rank),
            collective: 1,
            instance: (1u64 << 32) | call,
            start,
            end,
            busy,
        };
        let steps = vec![
            step(1, 1, 30, 90, 5),
            step(0, 0, 10, 20, 4),
            step(1, 0, 12, 25, 13),
            step(0, 0, 15, 40, 6),
            step(0, 1, 50, 60, 10),
        ];
        let tables = tables(steps, &jobs);
        let column = |table: usize, name: &str| match tables[table].column(name) {
            Some(Column::U64(values)) => values.clone(),
            Some(Column::U32(values)) => values.iter().map(|&v| v.into()).collect(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(column(0, "call"), [0, 1]);
        assert_eq!(column(0, "communicator"), [0, 0]);
        assert_eq!(column(0, "ranks"), [2, 2]);
        assert_eq!(column(0, "first_start_ps"), [10, 30]);
        assert_eq!(column(0, "last_start_ps"), [12, 50]);
        assert_eq!(column(0, "first_end_ps"), [25, 60]);
        assert_eq!(column(0, "last_end_ps"), [40, 90]);
        assert_eq!(column(0, "time_ps"), [30, 60]);
        assert_eq!(column(0, "wait_ps"), [20, 55]);
        assert_eq!(column(0, "longest_wait_ps"), [20, 55]);
        assert_eq!(column(1, "wait_ps"), [20, 0, 0, 55]);
        assert!(super::tables(Vec::new(), &jobs).is_empty());
    }
}
