//! Means by pair with the spread of latencies around them: percentiles survive.
//!
//! While packets are delivered, each is divided by the mean of its pair so far; these ratios of all pairs at one distance give a distribution, cut
//! into equal shares. A packet takes the mean of its pair times the ratio of a share. Which share follows from its number by a Weyl sequence,
//! which visits all shares evenly: mean and distribution are met with the least number of packets, and nothing is drawn at random. Where
//! too few packets gave ratios, the distribution of latencies themselves stands in, narrowed by how far the pairs differ: by the square root of
//! (variance within pairs / variance of all).

use super::{Grid, Predictor, PredictorEntry, Recipe};
use crate::hybrid::learn::{Learned, Shape};
use base::{hash::mix64, registry::About, time::Ps};
use results::histogram::LatencyHistogram;
use std::sync::Arc;

/// The predictor `quantile`.
pub const ENTRY: PredictorEntry = PredictorEntry {
    about: About {
        name: "quantile",
        summary: "the mean of each pair with the distribution of latencies around it",
        doc: "The distribution of latency over its pair's mean, of all pairs at one distance, in 1,024 equal shares, is laid around the mean of each \
              pair. Packets of a source visit the shares evenly, by a Weyl sequence of their numbers. So mean and percentiles of \
              predicted packets are those of the window. Correlation between neighbouring packets is not modelled.",
        source: "",
        params: &[],
    },
    build: |_| Ok(Arc::new(Quantile)),
};

/// Shares of a distribution, as a power of two.
const SHARES: u32 = 10;

/// Unit of factors, as a power of two.
const UNIT: u32 = 20;

/// Fewest packets whose ratios are a distribution.
const ENOUGH: u64 = 1000;

struct Quantile;

impl Recipe for Quantile {
    fn train(&self, learned: &Learned, shape: &Arc<Shape>) -> Arc<dyn Predictor> {
        let mut between = vec![0.0; learned.classes.len()];
        for (&(source, destination), seen) in &learned.pairs {
            let class = shape.routers(source, destination) as usize - 1;
            let mean = learned.classes[class].moments().mean().unwrap_or(0.0);
            let own = seen.sum as f64 / seen.count as f64;
            between[class] += seen.count as f64 * (own - mean) * (own - mean);
        }
        let factors = learned.classes.iter().zip(&learned.ratios).zip(between);
        let factors = factors.map(|((latency, ratio), between)| match ratio.moments().count {
            ENOUGH.. => shares(ratio, 1.0),
            _ => shares(latency, narrowed(latency, between)),
        });
        let means = Grid::means(learned, shape);
        Arc::new(Spread { means, factors: factors.collect(), shape: Arc::clone(shape) })
    }
}

/// What is left of a distribution's width if its pairs' means stand apart by `between`.
fn narrowed(histogram: &LatencyHistogram, between: f64) -> f64 {
    let moments = histogram.moments();
    let total = moments.variance().unwrap_or(0.0) * moments.count as f64;
    if total > 0.0 { (1.0 - between / total).max(0.0).sqrt() } else { 0.0 }
}

/// Factors on a pair's mean; they average to one.
fn shares(histogram: &LatencyHistogram, width: f64) -> Vec<u64> {
    if histogram.moments().count == 0 {
        return Vec::new();
    }
    let count = 1u32 << SHARES;
    let value = |i: u32| histogram.quantile((f64::from(i) + 0.5) / f64::from(count)) as f64;
    let values: Vec<f64> = (0..count).map(value).collect();
    let middle = (values.iter().sum::<f64>() / f64::from(count)).max(1.0);
    let one = f64::from(1u32 << UNIT);
    values.iter().map(|v| ((1.0 + width * (v - middle) / middle).max(0.0) * one).round() as u64).collect()
}

struct Spread {
    means: Grid,
    factors: Vec<Vec<u64>>,
    shape: Arc<Shape>,
}

impl Predictor for Spread {
    fn latency(&self, source: u32, destination: u32, number: u32) -> Ps {
        let mean = self.means.get(source, destination);
        let class = self.shape.routers(source, destination) as usize - 1;
        let Some(factors) = self.factors.get(class).filter(|f| !f.is_empty()) else { return mean };
        // 2^32 over the golden ratio: the most even of all such sequences.
        let turn = number.wrapping_mul(0x9e37_79b9).wrapping_add(mix64(u64::from(source)) as u32);
        let factor = factors[(turn >> (32 - SHARES)) as usize];
        let latency = (u128::from(mean) * u128::from(factor)) >> UNIT;
        (latency as Ps).max(self.shape.floor(source, destination))
    }
}
