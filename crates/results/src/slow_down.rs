//! Slow-downs of messages by size: how many times longer each took than it would have taken alone.
//!
//! Literature reports flow completion times (FCT) so: the time from a message's creation to its last byte, over the same for the message alone on the idle
//! network. What that is says the model. Quotients are kept in millionths, in the histograms of latencies, so that partitions merge in any order.

use crate::{
    histogram::LatencyHistogram,
    summary::{SizeSlowDown, SlowDown},
    table::{Cell, Column, Table},
};
use base::time::Ps;
use serde::{Deserialize, Serialize};

/// A slow-down of 1, as histograms hold it.
const ONE: u64 = 1_000_000;

/// Slow-downs of all jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowDowns {
    jobs: Vec<OfJob>,
}

/// Slow-downs of a job's messages by range of sizes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct OfJob {
    /// Largest size of each range; empty for powers of two.
    ends: Vec<u64>,
    /// By range. Of powers of two the first is of messages without bytes, the n-th of those from `2^(n-1)` bytes on.
    ranges: Vec<LatencyHistogram>,
}

impl OfJob {
    fn range_of(&self, bytes: u64) -> usize {
        match self.ends.len() {
            0 => (u64::BITS - bytes.leading_zeros()) as usize,
            ranges => self.ends.partition_point(|&end| end < bytes).min(ranges - 1),
        }
    }

    /// Smallest and largest size of a range.
    fn bounds_of(&self, range: usize) -> (u64, u64) {
        match self.ends.get(range) {
            Some(&end) => (if range == 0 { 0 } else { self.ends[range - 1] + 1 }, end),
            None if range == 0 => (0, 0),
            None => (1 << (range - 1), u64::MAX >> (u64::BITS as usize - range)),
        }
    }
}

impl SlowDowns {
    /// None yet. Of each job the ends of its ranges of sizes, ascending; empty for powers of two.
    #[must_use]
    pub fn new(ends: impl IntoIterator<Item = Vec<u64>>) -> Self {
        Self { jobs: ends.into_iter().map(|ends| OfJob { ends, ranges: Vec::new() }).collect() }
    }

    /// Adds a message of a job that took `latency`, and alone would have taken `alone`. One that takes no time alone has no slow-down.
    pub fn record(&mut self, job: usize, bytes: u64, latency: Ps, alone: Ps) {
        let Some(job) = self.jobs.get_mut(job).filter(|_| alone > 0) else { return };
        let (range, alone) = (job.range_of(bytes), u128::from(alone));
        if range >= job.ranges.len() {
            job.ranges.resize_with(range + 1, LatencyHistogram::new);
        }
        let quotient = (u128::from(latency) * u128::from(ONE) + alone / 2) / alone;
        job.ranges[range].record(u64::try_from(quotient).unwrap_or(u64::MAX));
    }

    /// Adds what another partition counted.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.jobs.iter_mut().zip(&other.jobs) {
            if mine.ranges.len() < theirs.ranges.len() {
                mine.ranges.resize_with(theirs.ranges.len(), LatencyHistogram::new);
            }
            mine.ranges.iter_mut().zip(&theirs.ranges).for_each(|(a, b)| a.merge(b));
        }
    }

    /// The block of the summary, with the names of the jobs; `None` if no message arrived.
    #[must_use]
    pub fn block<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Option<SlowDown> {
        let (mut all, mut by_size) = (LatencyHistogram::new(), Vec::new());
        for (job, name) in self.jobs.iter().zip(names) {
            for (range, histogram) in job.ranges.iter().enumerate() {
                let Some([mean, p50, p95, p99, max]) = spread(histogram) else { continue };
                let (from_bytes, to_bytes) = job.bounds_of(range);
                let (job, count) = (name.to_owned(), histogram.moments().count);
                by_size.push(SizeSlowDown { job, from_bytes, to_bytes, count, mean, p50, p95, p99, max });
                all.merge(histogram);
            }
        }
        let [mean, p50, p95, p99, max] = spread(&all)?;
        Some(SlowDown { mean, p50, p95, p99, max, count: all.moments().count, by_size })
    }
}

/// Mean, median, 95th and 99th percentile, and maximum of slow-downs; `None` of no message.
fn spread(histogram: &LatencyHistogram) -> Option<[f64; 5]> {
    let of = histogram.latency()?;
    let times = |millionths: u64| millionths as f64 / ONE as f64;
    Some([of.mean / ONE as f64, times(of.p50), times(of.p95), times(of.p99), times(of.max)])
}

/// The table `slow_down`: a row for each job and range of sizes with messages.
#[must_use]
pub fn table(block: &SlowDown) -> Table {
    let mut table = Table::new("slow_down")
        .with("job", Column::text())
        .with("from_bytes", Column::u64s())
        .with("to_bytes", Column::u64s())
        .with("count", Column::u64s())
        .with("mean", Column::f64s())
        .with("p50", Column::f64s())
        .with("p95", Column::f64s())
        .with("p99", Column::f64s())
        .with("max", Column::f64s());
    for SizeSlowDown { job, from_bytes, to_bytes, count, mean, p50, p95, p99, max } in &block.by_size {
        let mut row = vec![Cell::Text(job)];
        row.extend([from_bytes, to_bytes, count].map(|n| Cell::U64(*n)));
        row.extend([mean, p50, p95, p99, max].map(|x| Cell::F64(*x)));
        table.push(&row);
    }
    table
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "these numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_size_and_job() {
        let mut one = SlowDowns::new([vec![10, 100], Vec::new()]);
        let mut two = one.clone();
        one.record(0, 0, 30, 10);
        one.record(0, 10, 10, 10);
        two.record(0, 11, 25, 10);
        two.record(0, 1000, 15, 10);
        one.record(1, 4096, 40, 20);
        two.record(1, 0, 7, 7);
        two.record(1, 5, 7, 0);
        one.merge(&two);
        let block = one.block(["a", "b"]).unwrap();
        let rows: Vec<_> =
            block.by_size.iter().map(|r| (r.job.as_str(), r.from_bytes, r.to_bytes, r.count)).collect();
        assert_eq!(rows, [("a", 0, 10, 2), ("a", 11, 100, 2), ("b", 0, 0, 1), ("b", 4096, 8191, 1)]);
        let means: Vec<f64> = block.by_size.iter().map(|r| r.mean).collect();
        assert_eq!(means, [2.0, 2.0, 1.0, 2.0]);
        assert_eq!((block.count, block.max), (6, 3.0));
        assert!((1.5..1.5015).contains(&block.p50), "{}", block.p50);
        assert_eq!(table(&block).u64_column("count").unwrap().to_vec(), [2, 2, 1, 1]);
    }

    #[test]
    fn a_slow_down_of_one_is_one_exactly_and_long_ones_fit() {
        let mut all = SlowDowns::new([Vec::new()]);
        all.record(0, u64::MAX, 123_456_789_013, 123_456_789_013);
        let block = all.block(["job"]).unwrap();
        assert_eq!([block.mean, block.p50, block.p99, block.max], [1.0; 4]);
        assert_eq!((block.by_size[0].from_bytes, block.by_size[0].to_bytes), (1 << 63, u64::MAX));
        all.record(0, 1, Ps::MAX, 1);
        assert_eq!(all.block(["job"]).unwrap().max, u64::MAX as f64 / 1e6);
        assert_eq!(SlowDowns::new([Vec::new()]).block(["job"]), None);
    }
}
