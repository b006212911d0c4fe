//! Predicts the memory of rank programs.

use model::{memory::Prediction, setup::JobSetup};

/// Predicts the memory of a run of rank programs without a network: all operations of programs that come as graphs, a few batches per
/// rank of those that stream.
#[must_use]
pub fn predict(jobs: &[JobSetup]) -> Prediction {
    /// Operations of a rank that streams, in memory at a time.
    const STREAMED: u64 = 256;
    let (mut ranks, mut operations) = (0u64, 0u64);
    for program in jobs.iter().filter_map(|j| j.work.program()) {
        let count = u64::from(program.ranks());
        ranks += count;
        operations = operations.saturating_add(program.total().unwrap_or(count * STREAMED));
    }
    let row = (size_of::<crate::operations::Row>() + 2 * 8) as u64;
    let mut parts =
        vec![("operations", operations.saturating_mul(2 * row)), ("ranks", ranks * 512), ("fixed", 24 << 20)];
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}
