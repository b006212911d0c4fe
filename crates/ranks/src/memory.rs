//! Predicts the memory of rank programs.

use crate::operations::Row;
use base::index::RankId;
use model::{memory::Prediction, setup::JobSetup};
use workload::program::{Batch, Kind, Op, Program};

/// How a model keeps operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// As rows of a window ([`crate::operations`]): two batches of a rank, with edges, and messages that wait.
    Rows,
    /// As they were read: one batch of a rank, each operation after the one before.
    Batch,
}

impl Kept {
    /// Bytes of an operation that counts once per two batches. Pools double as they grow, but what is not touched takes no memory.
    fn bytes(self) -> u64 {
        match self {
            Self::Rows => size_of::<Row>() as u64 + 2 * 8 + 48,
            Self::Batch => size_of::<Op>() as u64 + 16,
        }
    }
}

/// Predicts the memory of a run of rank programs without a network: all operations of programs that come as graphs; of those that stream, what the first
/// batches of some ranks say.
#[must_use]
pub fn predict(jobs: &[JobSetup], kept: Kept) -> Prediction {
    let mut parts = parts(jobs, kept);
    parts.push(("fixed", 24 << 20));
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// The same as parts of the prediction of a model that has more. Empty without programs.
#[must_use]
pub fn parts(jobs: &[JobSetup], kept: Kept) -> Vec<(&'static str, u64)> {
    /// A rank: its place, queues, the cursor of its program.
    const RANK: u64 = 1 << 10;
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

/// Ranks of a program that are asked.
const ASKED: u32 = 8;

fn asked(program: &dyn Program) -> impl Iterator<Item = RankId> {
    let (ranks, asked) = (program.ranks(), ASKED.min(program.ranks()));
    let number = move |n: u32| u64::from(n) * u64::from(ranks) / u64::from(asked);
    (0..asked).map(move |n| RankId::new(number(n) as u32))
}

/// Messages that a rank of these jobs sends and receives in all, up to `most`; of traffic `most`. Sampled: the largest number that some ranks have.
#[must_use]
pub fn messages_of_a_rank(jobs: &[JobSetup], most: u64) -> u64 {
    let of_rank = |program: &dyn Program, rank| {
        let (mut cursor, mut batch, mut messages) = (program.open(rank), Batch::default(), 0);
        while messages < most {
            batch.clear();
            // What is damaged is told by the run.
            if cursor.fill(&mut batch).is_err() || batch.ops.is_empty() {
                break;
            }
            messages +=
                batch.ops.iter().filter(|op| matches!(op.kind, Kind::Send | Kind::Recv)).count() as u64;
        }
        messages.min(most)
    };
    let of_job = |job: &JobSetup| {
        let program = job.work.program()?;
        asked(&**program).map(|rank| of_rank(&**program, rank)).max()
    };
    jobs.iter().map(|job| of_job(job).unwrap_or(most)).max().unwrap_or(most)
}

/// Operations of a rank that streams, in memory at a time: two batches, as rows go back when the next one is read. Sampled, since only its cursor knows.
fn at_a_time(program: &dyn Program) -> u64 {
    /// Batches that each of them reads.
    const BATCHES: u32 = 8;
    /// Operations that are never exceeded by much, whatever the sample says.
    const LEAST: u64 = 16;
    let most = asked(program).map(|rank| {
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
