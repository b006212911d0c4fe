//! Predicts the memory of rank programs.

pub mod ends;
pub mod open;
pub mod sent;
mod some;

use crate::operations::Row;
use model::{memory::Prediction, setup::JobSetup};
use open::Open;
use sent::Cut;
use workload::program::{Op, Program, Step};

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

/// Predicts the memory of a run of rank programs without a network: all operations of programs that come as graphs; of those that stream, what ranks have open at a time.
#[must_use]
pub fn predict(jobs: &[JobSetup], kept: Kept) -> Prediction {
    /// A message that waits for its receive, in a list that doubles as it grows.
    const MESSAGE: u64 = 40;
    let open = |job: &JobSetup| {
        let streams = job.work.program().filter(|program| program.total().is_none());
        streams.map_or_else(Open::default, |program| open::open(&**program, Cut::WHOLE))
    };
    let open: Vec<Open> = jobs.iter().map(open).collect();
    let mut parts = parts(jobs, kept, &|job| open[job].operations);
    let messages = open.iter().fold(0u64, |sum, open| sum.saturating_add(open.messages));
    parts.push(("messages", messages.saturating_mul(MESSAGE)));
    parts.retain(|part| part.1 > 0);
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// The same as parts of the prediction of a model that has more, and knows how many operations a job has open at a time. Empty without programs.
#[must_use]
pub fn parts(jobs: &[JobSetup], kept: Kept, open: &dyn Fn(usize) -> u64) -> Vec<(&'static str, u64)> {
    let (mut ranks, mut operations) = (0u64, 0u64);
    for (job, program) in jobs.iter().enumerate().filter_map(|(n, job)| Some((n, job.work.program()?))) {
        ranks += u64::from(program.ranks());
        operations = operations.saturating_add(program.total().unwrap_or_else(|| open(job)));
    }
    if ranks == 0 {
        return Vec::new();
    }
    vec![("operations", operations.saturating_mul(kept.bytes())), ("ranks", ranks * RANK)]
}

/// Bytes of a rank: its place, queues, the cursor of its program.
pub const RANK: u64 = 1 << 10;

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
