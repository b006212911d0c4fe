//! How far a mean can be trusted: batch means over time, and a test of stationarity.
//!
//! Latencies of neighbouring packets are correlated, so their spread says little about the error of their mean. Sums over
//! long windows of time are nearly independent. [`Batches`] keeps at most 64 such windows whatever the length of a run.

use base::time::Ps;
use serde::{Deserialize, Serialize};

/// Largest number of windows kept.
const CELLS: usize = 64;

/// Fewest batches from which anything is concluded.
pub const MIN_BATCHES: usize = 8;

/// Fewest samples of a run that ends at a time: fewer are chance, however they lie.
pub const MIN_SAMPLES: u64 = 4 * MIN_BATCHES as u64;

/// Relative drift of the mean below which a run counts as stationary, whatever the statistics say.
pub const DRIFT_TOLERANCE: f64 = 0.02;

/// Half width of a confidence interval, as a fraction of the mean, above which a mean says little.
pub const WIDE: f64 = 0.2;

/// Relative step of the mean below which a run counts as stationary. Batches that are not independent wander by less.
pub const STEP: f64 = 0.1;

/// Count and sum of the samples of a window of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Number of samples.
    pub count: u64,
    /// Their sum in picoseconds.
    pub sum: u128,
}

impl Batch {
    fn merge(&mut self, other: Batch) {
        self.count += other.count;
        self.sum += other.sum;
    }
}

/// Samples summed by window of time. When a run outgrows its windows, neighbours merge and windows double, so memory is
/// bounded; window bounds are powers of two, so partitions merge exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batches {
    shift: u32,
    #[serde(with = "serde_big_array::BigArray")]
    cells: [Batch; CELLS],
}

impl Default for Batches {
    fn default() -> Self {
        Self { shift: 0, cells: [Batch::default(); CELLS] }
    }
}

impl Batches {
    /// Adds a sample that was taken at `time` (since the end of the warm-up).
    #[inline]
    pub fn record(&mut self, time: Ps, value: Ps) {
        while time >> self.shift >= CELLS as u64 {
            self.widen();
        }
        self.cells[(time >> self.shift) as usize].merge(Batch { count: 1, sum: u128::from(value) });
    }

    /// Adds what another partition counted.
    pub fn merge(&mut self, other: &Self) {
        while self.shift < other.shift {
            self.widen();
        }
        for (i, &cell) in other.cells.iter().enumerate() {
            self.cells[i >> (self.shift - other.shift)].merge(cell);
        }
    }

    /// The batches up to the last sample: pairs of windows, at most 32.
    #[must_use]
    pub fn batches(&self) -> Vec<Batch> {
        let used = self.cells.iter().rposition(|c| c.count > 0).map_or(0, |last| last + 1);
        let pair = |p: &[Batch]| p.iter().fold(Batch::default(), |mut sum, &c| (sum.merge(c), sum).1);
        self.cells[..used].chunks(2).map(pair).collect()
    }

    fn widen(&mut self) {
        for i in 0..CELLS {
            let (low, high) = (2 * i, 2 * i + 1);
            let mut cell = Batch::default();
            if high < CELLS {
                cell = self.cells[low];
                cell.merge(self.cells[high]);
            }
            self.cells[i] = cell;
        }
        self.shift += 1;
    }
}

/// A mean and the half width of its 95 % confidence interval, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanInterval {
    /// Mean of all samples.
    pub mean: f64,
    /// Half width of the interval.
    pub half_width: f64,
    /// Number of batches it stands on.
    pub batches: u32,
}

/// Confidence of the mean of all samples by the method of batch means, as a ratio of sums: batches may differ in count,
/// empty ones are evidence too. `None` below [`MIN_BATCHES`] batches or without samples.
///
/// With mean m = S / C and residuals r_i = s_i - m c_i of k batches, the variance of m is k / (k - 1) * sum r_i^2 / C^2
/// (Law, *Simulation Modeling and Analysis*, 9.5.3 and 4.4.2); Student's t with k - 1 degrees of freedom gives the width.
#[must_use]
pub fn confidence(batches: &[Batch]) -> Option<MeanInterval> {
    let k = batches.len();
    if k < MIN_BATCHES {
        return None;
    }
    let (mean, variance) = mean_and_variance(batches)?;
    Some(MeanInterval { mean, half_width: student_t(k - 1) * variance.sqrt(), batches: k as u32 })
}

/// Whether a mean drifts over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stationarity {
    /// No drift beyond [`DRIFT_TOLERANCE`] or beyond chance.
    Stationary,
    /// The second half's mean differs from the first's.
    Drifting {
        /// (second - first) / mean of all.
        relative: f64,
    },
    /// From some batch on the mean is another one.
    Shifting {
        /// (mean after it - mean before it) / mean of all.
        relative: f64,
        /// Share of the batches before it.
        after: f64,
    },
    /// Fewer than [`MIN_BATCHES`] batches, or a half without samples.
    TooFew,
}

/// Compares the means of the two halves of a run (the idea of Geweke's diagnostic, 1992), then looks for a single step (`step`).
///
/// They differ if their distance exceeds both three standard errors, estimated by batch means in each half, and
/// [`DRIFT_TOLERANCE`] of the mean. A start-up transient that a warm-up should have cut off shows as drift.
#[must_use]
pub fn stationarity(batches: &[Batch]) -> Stationarity {
    let (first, second) = batches.split_at(batches.len() / 2);
    let (Some((a, va)), Some((b, vb)), Some((all, _))) =
        (mean_and_variance(first), mean_and_variance(second), mean_and_variance(batches))
    else {
        return Stationarity::TooFew;
    };
    if batches.len() < MIN_BATCHES {
        return Stationarity::TooFew;
    }
    let distance = (b - a).abs();
    if distance > 3.0 * (va + vb).sqrt() && distance > DRIFT_TOLERANCE * all {
        return Stationarity::Drifting { relative: (b - a) / all };
    }
    step(batches, all).unwrap_or(Stationarity::Stationary)
}

/// Looks for a step of more than [`STEP`] of the mean, wherever it is: a late one shows in neither half, since it scatters the second one.
///
/// Cumulated sums of residuals (Page, *Continuous inspection schemes*, 1954) are a random walk that returns to zero; where they are furthest from it a step is
/// likeliest. They are compared with three times what independent batches of their spread reach. The spread is that of neighbours (von Neumann, 1941),
/// which a step hardly changes. Of k batches a step in the first or last (1 - sqrt(1 - 8.5 / k)) / 2 of a run is not seen: of 32 in 7 %.
fn step(batches: &[Batch], mean: f64) -> Option<Stationarity> {
    let residuals: Vec<f64> = batches.iter().map(|b| b.sum as f64 - mean * b.count as f64).collect();
    let squares: f64 = residuals.windows(2).map(|p| (p[1] - p[0]).powi(2)).sum();
    let k = residuals.len() as f64;
    let spread = (squares / (2.0 * (k - 1.0))).sqrt();
    let mut walk = 0.0;
    let (mut furthest, mut at) = (0.0, 0);
    for (n, r) in residuals[..residuals.len() - 1].iter().enumerate() {
        walk += r;
        if f64::abs(walk) > furthest {
            (furthest, at) = (f64::abs(walk), n + 1);
        }
    }
    let (before, after) = batches.split_at(at);
    let (Some(before), Some(after)) = (mean_of(before), mean_of(after)) else { return None };
    let relative = (after - before) / mean;
    let found = furthest > 3.0 * spread * k.sqrt() && relative.abs() > STEP;
    found.then_some(Stationarity::Shifting { relative, after: at as f64 / k })
}

fn mean_of(batches: &[Batch]) -> Option<f64> {
    let count = batches.iter().map(|b| b.count).sum::<u64>();
    (count > 0).then(|| batches.iter().map(|b| b.sum).sum::<u128>() as f64 / count as f64)
}

/// Mean of all samples and the variance of that mean; `None` without samples or with fewer than two batches.
fn mean_and_variance(batches: &[Batch]) -> Option<(f64, f64)> {
    let count = batches.iter().map(|b| b.count).sum::<u64>() as f64;
    let k = batches.len() as f64;
    if count < 1.0 || k < 2.0 {
        return None;
    }
    let mean = batches.iter().map(|b| b.sum).sum::<u128>() as f64 / count;
    let squares: f64 = batches.iter().map(|b| (b.sum as f64 - mean * b.count as f64).powi(2)).sum();
    Some((mean, k / (k - 1.0) * squares / (count * count)))
}

/// Two-sided 95 % quantile of Student's t: a table to 30 degrees of freedom, then the Cornish-Fisher expansion.
#[must_use]
pub fn student_t(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    if let Some(&t) = TABLE.get(degrees.max(1) - 1) {
        return t;
    }
    let (z, n) = (1.959_964_f64, degrees as f64);
    z + (z.powi(3) + z) / (4.0 * n) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};
    use proptest::prelude::*;

    fn equal(values: &[u128]) -> Vec<Batch> {
        values.iter().map(|&v| Batch { count: 10, sum: 10 * v }).collect()
    }

    /// Noise of the given size around `level(i)`.
    fn noisy(seed: u64, k: usize, noise: u64, mut level: impl FnMut(usize) -> u64) -> Vec<Batch> {
        let mut stream = Stream::new(seed, Purpose::Test, 0);
        (0..k).map(|i| Batch { count: 1, sum: u128::from(level(i) + stream.below(noise + 1)) }).collect()
    }

    /// A step is seen wherever it is but at the very ends, noise and slow waves are none.
    #[test]
    fn steps_are_found_wherever_they_are() {
        for at in 3..30 {
            for (low, high) in [(100, 1000), (1000, 100), (1000, 1300)] {
                let batches = noisy(at as u64, 32, 60, |i| if i < at { low } else { high });
                match stationarity(&batches) {
                    Stationarity::Shifting { after, .. } => {
                        assert!((after * 32.0 - at as f64).abs() < 2.0, "{at}: {after}");
                    }
                    found => assert!(
                        matches!(found, Stationarity::Drifting { .. }),
                        "{at}, {low} to {high}: {found:?}"
                    ),
                }
            }
        }
        let mut found = 0;
        for seed in 0..2_000 {
            // Neighbours have something in common, as those of a network have that is nearly full.
            let mut wave = 0.0;
            let mut noise = Stream::new(seed, Purpose::Test, 1);
            let batches = noisy(seed, 32, 1, |_| {
                wave = 0.3 * wave + noise.below(600) as f64;
                1000 + wave as u64
            });
            found += usize::from(matches!(stationarity(&batches), Stationarity::Shifting { .. }));
        }
        assert!(found < 20, "{found} of 2,000");
    }

    #[test]
    fn closed_form_of_eight_batches() {
        let i = confidence(&equal(&[1, 3, 1, 3, 1, 3, 1, 3])).unwrap();
        // Sample variance 8/7, so the mean's is 1/7.
        assert!((i.mean - 2.0).abs() < 1e-12 && i.batches == 8);
        assert!((i.half_width - 2.365 / 7f64.sqrt()).abs() < 1e-9);
        assert!(confidence(&equal(&[1; 7])).is_none());
        assert!(confidence(&[Batch::default(); 8]).is_none());
    }

    #[test]
    fn t_runs_on_smoothly_from_table_to_expansion() {
        assert!((student_t(31) - 2.0395).abs() < 1e-3);
        assert!((student_t(120) - 1.9799).abs() < 1e-3);
        assert!((student_t(1) - 12.706).abs() < 1e-9);
    }

    /// The 95 % interval covers the true mean in about 95 % of 1000 experiments (five standard deviations: 3.5 %).
    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let covers = |seed| {
            let i = confidence(&noisy(seed, 20, 1000, |_| 5000)).unwrap();
            (i.mean - 5500.0).abs() <= i.half_width
        };
        let hits = (0..1000).filter(|&seed| covers(seed)).count();
        assert!((915..=985).contains(&hits), "{hits}");
    }

    #[test]
    fn drift_is_distinguished_from_noise() {
        let flagged = |seed, level: &dyn Fn(usize) -> u64| {
            matches!(stationarity(&noisy(seed, 32, 1000, level)), Stationarity::Drifting { .. })
        };
        let false_alarms = (0..500).filter(|&s| flagged(s, &|_| 5000)).count();
        assert!(false_alarms <= 10, "{false_alarms}");
        let missed = (0..500).filter(|&s| !flagged(s, &|i| 5000 + 100 * i as u64)).count();
        assert_eq!(missed, 0);
    }

    #[test]
    fn a_certain_but_tiny_drift_is_tolerated() {
        let step = |high| equal(&[[10_000; 8], [high; 8]].concat());
        assert_eq!(stationarity(&step(10_150)), Stationarity::Stationary);
        let Stationarity::Drifting { relative } = stationarity(&step(11_000)) else { panic!() };
        assert!((relative - 1000.0 / 10_500.0).abs() < 1e-12);
        assert_eq!(stationarity(&equal(&[1, 2, 3])), Stationarity::TooFew);
        assert_eq!(stationarity(&[]), Stationarity::TooFew);
    }

    #[test]
    fn windows_double_and_keep_every_sample() {
        let mut b = Batches::default();
        for t in 0..100_000 {
            b.record(t, 7);
        }
        let batches = b.batches();
        // 100,000 ps need windows of 2^11 ps; 49 of them make 25 pairs, the last one partial.
        assert_eq!(batches.len(), 25);
        assert!(batches[..24].iter().all(|b| b.count == 4096 && b.sum == 7 * 4096));
        assert_eq!(batches.iter().map(|b| b.count).sum::<u64>(), 100_000);
        b.record(Ps::MAX, 1);
        assert_eq!(b.batches().iter().map(|b| b.count).sum::<u64>(), 100_001);
    }

    proptest! {
        #[test]
        fn merging_equals_recording_all(
            samples in proptest::collection::vec((0u64..1 << 50, 0u64..1 << 40), 0..100), cut in 0usize..100,
        ) {
            let fill = |s: &[(u64, u64)]| {
                let mut b = Batches::default();
                s.iter().for_each(|&(t, v)| b.record(t, v));
                b
            };
            let (a, b) = samples.split_at(cut.min(samples.len()));
            let (mut ab, mut ba) = (fill(a), fill(b));
            ab.merge(&fill(b));
            ba.merge(&fill(a));
            prop_assert_eq!(&ab, &fill(&samples));
            prop_assert_eq!(&ba, &ab);
        }
    }
}
