//! Latency statistics: exact count, extremes, sum and sum of squares, and percentiles to three digits.

use crate::{
    summary::{HopLatency, Latency},
    table::{Cell, Column, Table},
};
use base::time::Ps;
use serde::{Deserialize, Serialize};

/// Exact moments of a set of times, in picoseconds. The smallest accumulator; merges in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample; [`Ps::MAX`] while there is none.
    pub min: Ps,
    /// Largest sample; 0 while there is none.
    pub max: Ps,
    /// Sum of the samples.
    pub sum: u128,
    /// Sum of their squares; saturates at 2^128.
    pub squares: u128,
}

impl Default for Moments {
    fn default() -> Self {
        Self { count: 0, min: Ps::MAX, max: 0, sum: 0, squares: 0 }
    }
}

impl Moments {
    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, ps: Ps) {
        self.count += 1;
        self.min = self.min.min(ps);
        self.max = self.max.max(ps);
        self.sum += u128::from(ps);
        self.squares = self.squares.saturating_add(u128::from(ps) * u128::from(ps));
    }

    /// Adds what another partition counted.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.squares = self.squares.saturating_add(other.squares);
    }

    /// Mean in picoseconds; `None` without samples.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Variance (divided by count) in square picoseconds; `None` without samples.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        let n = u128::from(self.count);
        // n * squares - sum^2 is exact if it fits; else the two terms are close only to a float's precision.
        let spread = match (n.checked_mul(self.squares), self.sum.checked_mul(self.sum)) {
            (Some(a), Some(b)) => (a - b) as f64,
            _ => (n as f64 * self.squares as f64 - self.sum as f64 * self.sum as f64).max(0.0),
        };
        (n > 0).then(|| spread / n as f64 / n as f64)
    }

    /// The entry of the summary for packets that visited `hops` routers; `None` without samples.
    #[must_use]
    pub fn by_hops(&self, hops: u32) -> Option<HopLatency> {
        let mean_ps = self.mean()?;
        Some(HopLatency { hops, count: self.count, min_ps: self.min, mean_ps })
    }
}

/// A histogram of times: [`Moments`] plus percentiles with a relative error below 0.1 %.
///
/// Integer counts in the cells of an HDR histogram of three digits make the result of a merge independent of its order: a cell for each of the
/// first 2,048 ps, then 1,024 per doubling. A sample is counted once per packet of every model, so finding its cell takes a handful of
/// instructions. Memory grows with the logarithm of the largest sample: 160 KB for 1 ms.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "Counted", from = "Counted")]
pub struct LatencyHistogram {
    moments: Moments,
    /// By cell, up to that of the largest sample.
    counts: Vec<u64>,
}

/// Cells of a doubling, as a power of two.
const HALF: u32 = 10;

/// Cell of a time.
#[inline]
fn cell_of(ps: Ps) -> usize {
    let shift = (u64::BITS - 1 - HALF) - (ps | 1 << HALF).leading_zeros();
    ((shift as usize) << HALF) + (ps >> shift) as usize
}

/// Smallest and largest time of a cell.
fn bounds_of(cell: usize) -> (Ps, Ps) {
    let shift = (cell >> HALF).saturating_sub(1);
    let low = ((cell - (shift << HALF)) as Ps) << shift;
    (low, low + ((1 << shift) - 1))
}

/// A histogram as it is stored: moments, and how many samples are in the cell of each of these times.
#[derive(Serialize, Deserialize)]
struct Counted {
    moments: Moments,
    counts: Vec<(Ps, u64)>,
}

impl From<LatencyHistogram> for Counted {
    fn from(h: LatencyHistogram) -> Self {
        let used = h.counts.iter().enumerate().filter(|c| *c.1 > 0);
        Self { moments: h.moments, counts: used.map(|(cell, &count)| (bounds_of(cell).0, count)).collect() }
    }
}

impl From<Counted> for LatencyHistogram {
    fn from(counted: Counted) -> Self {
        let mut h = Self { moments: counted.moments, counts: Vec::new() };
        counted.counts.into_iter().for_each(|(value, count)| h.count(cell_of(value), count));
        h
    }
}

impl LatencyHistogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[inline]
    fn count(&mut self, cell: usize, samples: u64) {
        match self.counts.get_mut(cell) {
            Some(count) => *count += samples,
            None => self.widen(cell, samples),
        }
    }

    #[cold]
    fn widen(&mut self, cell: usize, samples: u64) {
        self.counts.resize(cell + 1, 0);
        self.counts[cell] = samples;
    }

    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, ps: Ps) {
        self.moments.record(ps);
        self.count(cell_of(ps), 1);
    }

    /// Adds what another partition counted.
    pub fn merge(&mut self, other: &Self) {
        self.moments.merge(&other.moments);
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Cells that hold samples, ascending.
    pub fn cells(&self) -> impl Iterator<Item = HistogramCell> + '_ {
        let used = self.counts.iter().enumerate().filter(|c| *c.1 > 0);
        used.map(|(cell, &count)| {
            let (low, high) = bounds_of(cell);
            HistogramCell { low, high, count }
        })
    }

    /// The exact part.
    #[must_use]
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The smallest time that at least the fraction `quantile` of the samples do not exceed, rounded up by less than
    /// 0.1 % and never beyond the largest sample; 0 without samples.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Ps {
        self.quantiles([quantile]).next().expect("one was asked for")
    }

    /// As [`LatencyHistogram::quantile`] for each of these fractions, which must ascend: all of them in one walk through the cells.
    pub fn quantiles(&self, ascending: impl IntoIterator<Item = f64>) -> impl Iterator<Item = Ps> {
        let Moments { count, min, max, .. } = self.moments;
        // The samples of the cells up to this one are what was seen.
        let (mut cell, mut seen) = (0, self.counts.first().copied().unwrap_or(0));
        let mut before = 0;
        ascending.into_iter().map(move |quantile| {
            if count == 0 {
                return 0;
            }
            let wanted = ((quantile * count as f64).ceil() as u64).max(1);
            assert!(before <= wanted, "fractions ascend");
            before = wanted;
            while seen < wanted && cell + 1 < self.counts.len() {
                cell += 1;
                seen += self.counts[cell];
            }
            bounds_of(cell).1.clamp(min, max)
        })
    }

    /// The block of the summary; `None` without samples.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        let Moments { count, min, max, .. } = self.moments;
        let mean = self.moments.mean()?;
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|q| self.quantile(q));
        Some(Latency { min, mean, p50, p95, p99, max, count })
    }
}

/// A cell of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistogramCell {
    /// Smallest time that it holds.
    pub low: Ps,
    /// Largest time that it holds.
    pub high: Ps,
    /// Samples in it.
    pub count: u64,
}

/// The table `latencies`: how many packets or messages took how long, by cell of their histograms.
#[must_use]
pub fn table(of: &[(&str, &LatencyHistogram)]) -> Table {
    let mut table = Table::new("latencies")
        .with("of", Column::text())
        .with("from_ps", Column::u64s())
        .with("to_ps", Column::u64s())
        .with("count", Column::u64s());
    for (name, histogram) in of {
        for HistogramCell { low, high, count } in histogram.cells() {
            table.push(&[Cell::Text(name), Cell::U64(low), Cell::U64(high), Cell::U64(count)]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram(samples: &[Ps]) -> LatencyHistogram {
        let mut h = LatencyHistogram::new();
        samples.iter().for_each(|&s| h.record(s));
        h
    }

    #[test]
    fn a_stored_histogram_goes_on() {
        let mut h = histogram(&(1..=1000).map(|i| i * i * 977).collect::<Vec<_>>());
        let mut stored: LatencyHistogram = serde_json::from_str(&serde_json::to_string(&h).unwrap()).unwrap();
        assert_eq!(stored.latency(), h.latency());
        for other in [&mut h, &mut stored] {
            other.record(123);
            other.record(1 << 50);
        }
        assert_eq!(stored.latency(), h.latency());
        assert_eq!(stored.quantile(0.123), h.quantile(0.123));
    }

    #[test]
    fn known_values() {
        let h = histogram(&(1..=1000).map(|i| i * 1000).collect::<Vec<_>>());
        let l = h.latency().unwrap();
        assert_eq!((l.min, l.max, l.count), (1000, 1_000_000, 1000));
        let Some(Column::U64(counts)) = table(&[("packet", &h)]).column("count").cloned() else { panic!() };
        assert_eq!(counts.iter().sum::<u64>(), 1000);
        assert!((l.mean - 500_500.0).abs() < 1e-9);
        for (got, exact) in [(l.p50, 500_000.0), (l.p95, 950_000.0), (l.p99, 990_000.0)] {
            assert!(got as f64 >= exact && (got as f64) < exact * 1.001, "{got} {exact}");
        }
        // Variance of 1..=n is (n^2 - 1) / 12.
        assert!((h.moments().variance().unwrap() / 1e6 - 999_999.0 / 12.0).abs() < 1e-6);
    }

    #[test]
    fn no_samples_give_no_block() {
        let h = LatencyHistogram::new();
        assert!(h.latency().is_none() && h.moments().mean().is_none() && h.moments().variance().is_none());
        assert_eq!(h.quantile(0.5), 0);
    }

    #[test]
    fn one_sample_is_every_percentile_exactly() {
        for ps in [0, 1, 665_537, 123_456_789_012, Ps::MAX] {
            let l = histogram(&[ps]).latency().unwrap();
            assert_eq!([l.min, l.p50, l.p95, l.p99, l.max], [ps; 5]);
        }
    }

    #[test]
    fn squares_of_huge_times_saturate() {
        let h = histogram(&[Ps::MAX, Ps::MAX]);
        assert_eq!(h.moments().squares, u128::MAX);
        assert!(h.moments().variance().unwrap() >= 0.0);
    }

    proptest! {
        #[test]
        fn merging_in_any_order_equals_recording_all(
            samples in proptest::collection::vec(0u64..1 << 40, 0..200), cut in 0usize..200,
        ) {
            let (a, b) = samples.split_at(cut.min(samples.len()));
            let all = histogram(&samples);
            let (mut ab, mut ba) = (histogram(a), histogram(b));
            ab.merge(&histogram(b));
            ba.merge(&histogram(a));
            prop_assert_eq!(&ab, &all);
            prop_assert_eq!(&ba, &all);
            prop_assert_eq!(ab.latency(), all.latency());
        }

        /// Cells and percentiles are those of the HDR histogram, whose last cell of all ends one early.
        #[test]
        fn an_hdr_histogram_says_the_same(
            samples in proptest::collection::vec((0u32..=64, 0..u64::MAX / 2), 1..200), q in 0.0f64..=1.0,
        ) {
            let samples: Vec<Ps> = samples.into_iter().map(|(bits, x)| x.checked_shr(bits).unwrap_or(0)).collect();
            let h = histogram(&samples);
            let mut hdr = hdrhistogram::Histogram::<u64>::new(3).unwrap();
            for &s in &samples {
                hdr.record(s).unwrap();
                let (low, high) = bounds_of(cell_of(s));
                prop_assert_eq!((low, high), (hdr.lowest_equivalent(s), hdr.highest_equivalent(s)));
            }
            for q in [q, 0.5, 0.95, 0.99, 1.0] {
                if q > 0.0 {
                    let said = hdr.value_at_quantile(q).clamp(h.moments.min, h.moments.max);
                    prop_assert_eq!(h.quantile(q), said);
                }
            }
        }

        #[test]
        fn quantiles_of_one_walk_are_those_of_many(
            samples in proptest::collection::vec(0u64..1 << 45, 0..300), mut fractions in proptest::collection::vec(0.0f64..1.0, 0..40),
        ) {
            let h = histogram(&samples);
            fractions.sort_unstable_by(f64::total_cmp);
            let alone: Vec<Ps> = fractions.iter().map(|&q| h.quantile(q)).collect();
            prop_assert_eq!(h.quantiles(fractions).collect::<Vec<_>>(), alone);
        }

        #[test]
        fn quantiles_are_within_a_thousandth(
            mut samples in proptest::collection::vec(0u64..1 << 45, 1..300), q in 0.01f64..1.0,
        ) {
            let got = histogram(&samples).quantile(q) as f64;
            samples.sort_unstable();
            let exact = samples[((q * samples.len() as f64).ceil() as usize).max(1) - 1] as f64;
            prop_assert!(got >= exact && got <= exact * 1.001 + 1.0, "{got} {exact}");
        }
    }
}
