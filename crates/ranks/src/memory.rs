//! Predicts the memory of rank programs.

pub mod ends;
pub mod sent;

use crate::operations::Row;
use base::index::RankId;
use model::{memory::Prediction, setup::JobSetup};
use workload::program::{Batch, Kind, Op, Program, Step};

/// How a model keeps operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// As rows of a window ([`crate::operations`]): two batches of a rank, with edges, and messages that wait.
    Rows,
    /// As they were read: one batch of a rank, each operation after the one before.
    Batch,
    /// As steps of a graph that is walked where it lies, with what can be taken up or waits besides.
    Graph,
}

impl Kept {
    /// Bytes of an operation that counts once per two batches. Pools double as they grow, but what is not touched takes no memory.
    fn bytes(self) -> u64 {
        match self {
            Self::Rows => size_of::<Row>() as u64 + 2 * 8 + 48,
            Self::Batch => size_of::<Op>() as u64 + 16,
            Self::Graph => size_of::<Step>() as u64 + 3 * 4 + 64,
        }
    }
}

/// Predicts the memory of a run of rank programs without a network: all operations of programs that come as graphs; of those that stream, what the first
/// batches of some ranks say.
#[must_use]
pub fn predict(jobs: &[JobSetup], kept: Kept) -> Prediction {
    let mut parts = parts(jobs, kept);
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// The same as parts of the prediction of a model that has more. Empty without programs.
#[must_use]
pub fn parts(jobs: &[JobSetup], kept: Kept) -> Vec<(&'static str, u64)> {
    let (mut ranks, mut operations) = (0u64, 0u64);
    for program in jobs.iter().filter_map(|j| j.work.program()) {
        let count = u64::from(program.ranks());
        ranks += count;
        let total = program.total().unwrap_or_else(|| count.saturating_mul(at_a_time(&**program)));
        operations = operations.saturating_add(total);
    }
    if ranks == 0 {
        return Vec::new();
    }
    vec![("operations", operations.saturating_mul(kept.bytes())), ("ranks", ranks * RANK)]
}

/// Bytes of a rank: its place, queues, the cursor of its program.
const RANK: u64 = 1 << 10;

/// What all predictions for these jobs have: their ranks, and operations of programs that come as graphs.
#[must_use]
pub fn least(jobs: &[JobSetup]) -> u64 {
    let each = [Kept::Rows, Kept::Batch, Kept::Graph].map(Kept::bytes).into_iter().min().unwrap_or(0);
    let of_program = |program: &dyn Program| {
        let operations = program.total().unwrap_or(0).saturating_mul(each);
        (u64::from(program.ranks()) * RANK).saturating_add(operations)
    };
    let programs = jobs.iter().filter_map(|j| j.work.program());
    programs.map(|program| of_program(&**program)).fold(0, u64::saturating_add)
}

/// Messages that a rank of these jobs sends and receives in all, up to `most`; of traffic, and of programs that are not read to their end soon, `most`.
/// Sampled: the largest number that any of some ranks has.
#[must_use]
pub fn messages_of_a_rank(jobs: &[JobSetup], most: u64) -> u64 {
    let of_job = |job: &JobSetup| {
        let program = job.work.program()?;
        asked(program.ranks(), ASKED).map(|rank| messages(&**program, rank, most)).max()
    };
    jobs.iter().map(|job| of_job(job).unwrap_or(most)).max().unwrap_or(most)
}

/// So many ranks are read to their end; more would take longer than they tell.
const ASKED: u32 = 64;

/// So many ranks that stand for all: the first, and others in steps that have nothing in common with a grid of ranks. All, if there are few.
fn asked(ranks: u32, most: u32) -> impl Iterator<Item = RankId> {
    /// 2^32 times the golden ratio's fraction.
    const STEP: u32 = 0x9e37_79b9;
    let place = move |n: u32| match ranks > most {
        true => ((u64::from(n.wrapping_mul(STEP)) * u64::from(ranks)) >> 32) as u32,
        false => n,
    };
    (0..most.min(ranks)).map(move |n| RankId::new(place(n)))
}

fn messages(program: &dyn Program, rank: RankId, most: u64) -> u64 {
    /// Operations that are read: a rank may compute for long and send nothing.
    const READ: usize = 1 << 12;
    let (mut cursor, mut batch) = (program.open(rank), Batch::default());
    let (mut read, mut messages) = (0, 0);
    while messages < most && read < READ {
        batch.clear();
        // What is damaged is told by the run.
        if cursor.fill(&mut batch).is_err() || batch.ops.is_empty() {
            return messages;
        }
        read += batch.ops.len();
        messages += batch.ops.iter().filter(|op| matches!(op.kind, Kind::Send | Kind::Recv)).count() as u64;
    }
    most
}

/// Operations of a rank that streams, in memory at a time: two batches, as rows go back when the next one is read. Sampled, since only its cursor knows.
fn at_a_time(program: &dyn Program) -> u64 {
    /// Ranks that are asked.
    const RANKS: u32 = 16;
    /// Batches that each of them reads.
    const BATCHES: u32 = 8;
    /// Operations that are never exceeded by much, whatever the sample says.
    const LEAST: u64 = 16;
    let most = asked(program.ranks(), RANKS).map(|rank| {
        let (mut cursor, mut batch) = (program.open(rank), Batch::default());
        let (mut before, mut most) = (0, 0);
        for _ in 0..BATCHES {
            batch.clear();
            // What is damaged is told by the run.
            if cursor.fill(&mut batch).is_err() || batch.ops.is_empty() {
                break;
            }
            let now = batch.ops.len() as u64;
            most = most.max(before + now);
            before = now;
        }
        most
    });
    most.max().unwrap_or(0).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::index::TerminalId;
    use std::sync::Arc;
    use workload::{
        program::list::{List, Rank, calc, send},
        registry::Work,
    };

    fn most(ranks: u32, ops: impl Fn(u32) -> (u32, Op)) -> u64 {
        let rank = |r: u32| {
            let (mut rank, (count, op)) = (Rank::default(), ops(r));
            for _ in 0..count {
                rank.push(op);
            }
            rank
        };
        let work = Work::Program(Arc::new(List::new((0..ranks).map(rank).collect())));
        let placement = (0..ranks).map(TerminalId::new).collect();
        let (name, start, compute_ppb) = ("job".to_owned(), 0, JobSetup::COMPUTE_AS_IS);
        messages_of_a_rank(&[JobSetup { name, work, placement, message: None, start, compute_ppb }], 100)
    }

    /// Only every eighth rank sends, and not the first: a sample in steps of a power of two would miss all. Ranks that compute for long are not read to their end.
    #[test]
    fn the_sample_meets_those_that_send() {
        for first in 0..8 {
            let sends = |r: u32| if r % 8 == first { (30, send(0, 8, 0)) } else { (1, calc(5)) };
            assert_eq!(most(4096, sends), 30, "ranks from {first} on");
        }
        assert_eq!(most(3, |_| (2, calc(5))), 0);
        assert_eq!(most(2, |_| (5000, calc(5))), 100);
        assert_eq!(most(2, |_| (500, send(0, 8, 0))), 100);
    }

    /// Ranks on the edge of a grid have fewer neighbours than those within, and ranks in steps of a row are all on an edge.
    #[test]
    fn the_sample_meets_the_inside_of_a_grid() {
        let side = 64;
        let column = |r: u32| r % side;
        let inside = |r: u32| (1..side - 1).contains(&column(r)) && (side..side * (side - 1)).contains(&r);
        let ranks = (0..side * side).map(|r| {
            let mut rank = Rank::default();
            (0..if inside(r) { 400 } else { 300 }).for_each(|_| {
                rank.push(send(0, 8, 0));
            });
            rank
        });
        assert_eq!(at_a_time(&List::new(ranks.collect())), 400);
    }
}
