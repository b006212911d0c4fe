//! Means by pair with the spread of latencies around them: percentiles survive.
//!
//! A packet takes a mean times a factor. Factors are a distribution, cut into equal shares; which share follows from the packet's number by a
//! Weyl sequence, which visits all shares evenly: mean and distribution are met with the least number of packets, and nothing is drawn at random.
//!
//! A pair that was seen often enough takes its own mean. Its factors are what packets were of the mean of their pair before them, over all pairs at
//! one distance; where these are few, the latencies at that distance, narrowed to the variance within pairs. Any other pair takes the mean of
//! its distance times how the packets of its source compare with others as far away. Its factors are the latencies at that distance,
//! narrowed to what sources leave unexplained: one packet's latency says next to nothing about its pair, so that of a large machine,
//! where few pairs are seen twice in a window, the whole distribution is kept.

use super::{Predictor, PredictorEntry, Recipe};
use crate::hybrid::learn::{Learned, Seen, Shape, TRUSTED};
use base::{hash::mix64, registry::About, time::Ps};
use results::histogram::LatencyHistogram;
use std::sync::Arc;

/// The predictor `quantile`.
pub const ENTRY: PredictorEntry = PredictorEntry {
    about: About {
        name: "quantile",
        summary: "the mean of each pair with the distribution of latencies around it",
        doc: "The distribution of latency over its pair's mean, of all pairs at one distance, in 1,024 equal shares, is laid around the mean of each \
              pair. A pair that was seen less than eight times takes the mean of its distance, scaled as its source's packets compare with \
              others, and the distribution of latencies at that distance. Packets of a source visit the shares evenly, by a Weyl sequence \
              of their numbers. So mean and percentiles of predicted packets are those of the window. Correlation between neighbouring \
              packets is not modelled.",
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
        let means: Vec<f64> = learned.classes.iter().map(|c| c.moments().mean().unwrap_or(0.0)).collect();
        let class = |(source, destination)| shape.routers(source, destination) as usize - 1;
        let mut rows = vec![Row { pairs: Vec::new(), scale: 1.0 }; shape.terminals as usize];
        let mut sources = vec![(Seen::default(), 0.0); shape.terminals as usize];
        for (&pair, seen) in &learned.pairs {
            let (all, expected) = &mut sources[pair.0 as usize];
            all.merge(*seen);
            *expected += means[class(pair)] * seen.count as f64;
            if seen.count >= TRUSTED {
                rows[pair.0 as usize].pairs.push((pair.1, seen.mean().unwrap_or(0)));
            }
        }
        for (row, (all, expected)) in rows.iter_mut().zip(sources) {
            if all.count >= TRUSTED && expected > 0.0 {
                row.scale = all.sum as f64 / expected;
            }
        }
        let mut apart = vec![Apart::default(); means.len()];
        for (&pair, seen) in &learned.pairs {
            apart[class(pair)].add(*seen, means[class(pair)], rows[pair.0 as usize].scale);
        }
        let classes = learned.classes.iter().zip(&learned.ratios).zip(apart);
        let classes =
            classes.map(|((latencies, ratios), apart)| Class::new(latencies, ratios, apart)).collect();
        let all = learned.total().mean().unwrap_or(0) as f64;
        Arc::new(Spread { rows, classes, all, shape: Arc::clone(shape) })
    }
}

/// How far the pairs at one distance are from each other.
#[derive(Clone, Default)]
struct Apart {
    /// Pairs.
    pairs: f64,
    /// Squares of how far the means of pairs are from the mean of all, summed over packets.
    own: f64,
    /// The same of means by source.
    source: f64,
}

impl Apart {
    fn add(&mut self, seen: Seen, mean: f64, scale: f64) {
        let count = seen.count as f64;
        self.pairs += 1.0;
        self.own += count * (seen.sum as f64 / count - mean).powi(2);
        self.source += count * (mean * scale - mean).powi(2);
    }
}

/// Pairs at one distance.
struct Class {
    /// Mean latency.
    mean: f64,
    /// Factors on the mean of a pair that was seen often enough.
    known: Vec<u64>,
    /// Factors on the mean of a source.
    rare: Vec<u64>,
}

impl Class {
    fn new(latencies: &LatencyHistogram, ratios: &LatencyHistogram, apart: Apart) -> Self {
        let moments = latencies.moments();
        let count = moments.count as f64;
        let total = moments.variance().unwrap_or(0.0) * count;
        let left = |squares: f64| if total > 0.0 { (1.0 - squares / total).max(0.0) } else { 0.0 };
        let known = match ratios.moments().count {
            ENOUGH.. => shares(ratios, 1.0),
            // A pair's own packets made its mean: one degree of freedom less for each pair.
            _ => {
                shares(latencies, (left(apart.own) * count / (count - apart.pairs).max(1.0)).min(1.0).sqrt())
            }
        };
        Self {
            mean: moments.mean().unwrap_or(0.0),
            known,
            rare: shares(latencies, left(apart.source).sqrt()),
        }
    }
}

/// Factors on a mean; they average to one.
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

/// Pairs of one source.
#[derive(Clone)]
struct Row {
    /// Destinations that were seen often enough, ascending, and their means.
    pairs: Vec<(u32, Ps)>,
    /// Mean latency of the source's packets over that of all packets as far away.
    scale: f64,
}

impl Row {
    /// Mean of a pair that was seen often enough.
    fn mean(&self, source: u32, destination: u32) -> Option<Ps> {
        // Its place, if all others were seen as well.
        let guess = destination as usize - usize::from(destination > source);
        match self.pairs.get(guess) {
            Some(&(found, mean)) if found == destination => Some(mean),
            _ => self.pairs.binary_search_by_key(&destination, |p| p.0).ok().map(|at| self.pairs[at].1),
        }
    }
}

struct Spread {
    rows: Vec<Row>,
    classes: Vec<Class>,
    /// Mean of all packets.
    all: f64,
    shape: Arc<Shape>,
}

impl Predictor for Spread {
    fn latency(&self, source: u32, destination: u32, number: u32) -> Ps {
        let row = &self.rows[source as usize];
        let class =
            self.classes.get(self.shape.routers(source, destination) as usize - 1).filter(|c| c.mean > 0.0);
        let (mean, factors) = match (class, row.mean(source, destination)) {
            (Some(class), Some(mean)) => (mean, &class.known),
            (Some(class), None) => ((class.mean * row.scale).round() as Ps, &class.rare),
            (None, _) => {
                return ((self.all * row.scale).round() as Ps).max(self.shape.floor(source, destination));
            }
        };
        // 2^32 over the golden ratio: the most even of all such sequences.
        let turn = number.wrapping_mul(0x9e37_79b9).wrapping_add(mix64(u64::from(source)) as u32);
        let latency = (u128::from(mean) * u128::from(factors[(turn >> (32 - SHARES)) as usize])) >> UNIT;
        (latency as Ps).max(self.shape.floor(source, destination))
    }
}
