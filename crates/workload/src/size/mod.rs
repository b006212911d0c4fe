//! Sizes of messages drawn from a distribution: a cumulative curve through points, straight between them.
//!
//! Literature gives such curves as tables of bytes and shares. Shares are kept in billionths, so a draw is an integer and the mean an exact ratio.

mod data_mining;
mod file;
mod hadoop;
pub mod registry;
mod web_search;

pub use file::read;

use base::{
    registry::{About, Registered},
    rng::Stream,
};
use std::sync::Arc;

/// Shares of a curve are in units of one in so many.
pub const WHOLE: u64 = 1_000_000_000;

/// Steps of a draw within one unit of a share.
const FINE: u64 = 1 << 20;

/// A distribution of sizes that a job can name.
pub struct SizeEntry {
    /// Name, documentation and source.
    pub about: About,
    /// Its points: bytes, and how many of [`WHOLE`] messages have so many at most.
    pub points: &'static [(u64, u64)],
}

impl Registered for SizeEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

impl SizeEntry {
    /// Its curve through all points.
    #[must_use]
    pub fn curve(&self) -> SizeCurve {
        SizeCurve::new(self.points.to_vec())
    }
}

/// A cumulative distribution of sizes in bytes: straight between its points, which ascend in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeCurve(Arc<[(u64, u64)]>);

impl SizeCurve {
    /// Through points that ascend, of which the last has all of [`WHOLE`]. What the first has beyond nothing is messages of just its size.
    ///
    /// # Panics
    /// If there is no point, points descend, or the last one has not all: readers of files refuse that.
    #[must_use]
    pub fn new(mut points: Vec<(u64, u64)>) -> Self {
        assert!(points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1), "points ascend");
        assert_eq!(points.last().map(|p| p.1), Some(WHOLE), "the last point has all messages");
        if points[0].1 > 0 {
            points.insert(0, (points[0].0, 0));
        }
        Self(points.into())
    }

    /// The points, the first of which has no share.
    #[must_use]
    pub fn points(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Bytes of so many messages, on the average: the exact mean of the curve, as a ratio in lowest terms. `None` if it does not fit 64 bits.
    #[must_use]
    pub fn mean(&self) -> Option<(u64, u64)> {
        // A straight piece from a to b has the mean (a + b) / 2.
        let piece =
            |w: &[(u64, u64)]| u128::from(w[1].1 - w[0].1) * (u128::from(w[0].0) + u128::from(w[1].0));
        let (above, below) = (self.0.windows(2).map(piece).sum::<u128>(), 2 * u128::from(WHOLE));
        let common = gcd(above, below);
        Some((u64::try_from(above / common).ok()?, u64::try_from(below / common).ok()?))
    }

    /// A size, by one draw: to the nearest byte, and at least one.
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        self.at(stream.below(WHOLE * FINE))
    }

    /// The size below which lie so many of `WHOLE * FINE` messages.
    fn at(&self, drawn: u64) -> u64 {
        let next = self.0.partition_point(|&(_, share)| share * FINE <= drawn).min(self.0.len() - 1);
        let ((from, below), (to, share)) = (self.0[next - 1], self.0[next]);
        let (part, all) = (u128::from(drawn - below * FINE), u128::from((share - below) * FINE));
        let more = (2 * u128::from(to - from) * part + all) / (2 * all);
        (from + more as u64).max(1)
    }

    /// The largest size.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.0[self.0.len() - 1].0.max(1)
    }

    /// Ends of its tenths: a tenth of all messages is no larger than the first, and so on; equal ones once, the largest size last.
    #[must_use]
    pub fn deciles(&self) -> Vec<u64> {
        let mut ends: Vec<u64> = (1..10).map(|n| self.at(WHOLE / 10 * n * FINE)).collect();
        ends.push(self.largest());
        ends.dedup();
        ends
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::{registry::SIZE_DISTRIBUTIONS, *};
    use base::rng::Purpose;

    /// Share of messages of at most so many bytes.
    fn share(curve: &SizeCurve, bytes: f64) -> f64 {
        let points = curve.points();
        let next = points.partition_point(|p| (p.0 as f64) <= bytes);
        match points.get(next) {
            None => 1.0,
            Some(_) if next == 0 => 0.0,
            Some(&(to, all)) => {
                let (from, below) = points[next - 1];
                let part = (bytes - from as f64) / (to - from) as f64;
                (below as f64 + part * (all - below) as f64) / WHOLE as f64
            }
        }
    }

    fn draws(curve: &SizeCurve, seed: u64, count: u64) -> Vec<u64> {
        let stream = Stream::new(seed, Purpose::Mix, 0);
        (0..count).map(|n| curve.draw(&mut stream.at(4 * n))).collect()
    }

    /// Kolmogorov and Smirnov: the greatest distance of the sampled curve from the given one, below its bound of one in a thousand.
    #[test]
    fn draws_follow_the_curve() {
        for entry in SIZE_DISTRIBUTIONS {
            let (curve, count) = (entry.curve(), 100_000);
            let mut drawn = draws(&curve, 7, count);
            drawn.sort_unstable();
            let mut worst: f64 = 0.0;
            for (n, &bytes) in drawn.iter().enumerate() {
                if drawn.get(n + 1) != Some(&bytes) {
                    // Sizes are rounded: those of this byte lie up to half a byte beyond.
                    let expected = share(&curve, bytes as f64 + 0.5);
                    worst = worst.max(((n + 1) as f64 / count as f64 - expected).abs());
                }
            }
            assert!(worst < 1.95 / (count as f64).sqrt(), "{}: {worst}", entry.about.name);
        }
    }

    /// The mean of many draws is the exact one, within four of its standard errors.
    #[test]
    fn draws_have_the_exact_mean() {
        for entry in SIZE_DISTRIBUTIONS {
            let (curve, count) = (entry.curve(), 400_000);
            let drawn = draws(&curve, 11, count);
            let mean = drawn.iter().sum::<u64>() as f64 / count as f64;
            let squares = drawn.iter().map(|&b| (b as f64 - mean).powi(2)).sum::<f64>();
            let error = squares.sqrt() / count as f64;
            let (above, below) = curve.mean().unwrap();
            let exact = above as f64 / below as f64;
            assert!((mean - exact).abs() < 4.0 * error, "{}: {mean} for {exact}", entry.about.name);
        }
    }

    /// What documents say of a distribution is what it is.
    #[test]
    fn documents_have_the_mean_and_all_points() {
        for SizeEntry { about, points } in SIZE_DISTRIBUTIONS {
            let (above, below) = SizeCurve::new(points.to_vec()).mean().unwrap();
            let mean = format!("mean of {} B", (above as f64 / below as f64).round());
            assert!(about.doc.contains(&mean), "{}: {mean}", about.name);
            for &(bytes, share) in *points {
                let point = format!("{bytes} {}", share as f64 * 100.0 / WHOLE as f64);
                assert!(about.doc.contains(&point), "{}: {point}", about.name);
            }
        }
    }

    #[test]
    fn points_are_met_and_lines_between_them() {
        let curve =
            SizeCurve::new(vec![(100, WHOLE / 4), (300, WHOLE / 2), (300, WHOLE / 4 * 3), (1000, WHOLE)]);
        let at = |quarter: u64, of: u64| curve.at(WHOLE / of * quarter * FINE);
        assert_eq!([at(0, 8), at(1, 8), at(3, 8), at(4, 8), at(5, 8)], [100, 100, 200, 300, 300]);
        assert_eq!((at(7, 8), curve.at(WHOLE * FINE - 1), curve.largest()), (650, 1000, 1000));
        // A quarter each: 100, 200 in the mean, 300, 650 in the mean.
        assert_eq!(curve.mean(), Some((625, 2)));
        let single = SizeCurve::new(vec![(64, WHOLE)]);
        assert_eq!((single.at(0), single.at(WHOLE * FINE - 1), single.mean()), (64, 64, Some((64, 1))));
        assert_eq!((single.deciles(), curve.deciles()[..3].to_vec()), (vec![64], vec![100, 140, 220]));
    }
}
