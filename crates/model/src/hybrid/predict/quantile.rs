//! Means by pair with the spread of the distribution: percentiles survive.
//!
//! The latencies of all pairs at one distance give a distribution, cut into equal shares. A packet takes the mean of its pair times a share's value
//! over the distribution's mean. Pairs differ among themselves already, so the spread around the pairs' means is narrowed to what is left: by the
//! square root of (variance within pairs / variance of all). Which share a packet takes follows from its number by a Weyl sequence, which visits
//! all shares evenly: mean and distribution are met with the least number of packets, and nothing is drawn at random.

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
        doc: "The distribution of all pairs at one distance, in 1,024 equal shares, is laid around the mean of each pair, narrowed by how far \
              pairs differ themselves. Packets of a source visit the shares evenly, by a Weyl sequence of their numbers. So mean and percentiles of \
              predicted packets are those of the window.",
        source: "",
        params: &[],
    },
    build: |_| Ok(Arc::new(Quantile)),
};

/// Shares of a distribution, as a power of two.
const SHARES: u32 = 10;

/// Unit of factors, as a power of two.
const UNIT: u32 = 20;

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
        let factors = learned.classes.iter().zip(between).map(|(h, between)| shares(h, between));
        Arc::new(Spread {
            means: Grid::means(learned, shape),
            factors: factors.collect(),
            shape: Arc::clone(shape),
        })
    }
}

/// Factors on a pair's mean; they average to one.
fn shares(histogram: &LatencyHistogram, between: f64) -> Vec<u64> {
    let moments = histogram.moments();
    let (Some(mean), Some(variance)) = (moments.mean(), moments.variance()) else { return Vec::new() };
    let total = variance * moments.count as f64;
    let narrow = if total > 0.0 { (1.0 - between / total).max(0.0).sqrt() } else { 0.0 };
    let count = 1u32 << SHARES;
    let value = |i: u32| histogram.quantile((f64::from(i) + 0.5) / f64::from(count)) as f64;
    let values: Vec<f64> = (0..count).map(value).collect();
    let middle = values.iter().sum::<f64>() / f64::from(count);
    let one = f64::from(1u32 << UNIT);
    values.iter().map(|v| ((1.0 + narrow * (v - middle) / mean).max(0.0) * one).round() as u64).collect()
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
