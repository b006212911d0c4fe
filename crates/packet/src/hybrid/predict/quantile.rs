//! Means by pair with the spread of latencies around them: percentiles survive.
//!
//! A packet takes a mean times a factor. Factors are a distribution, cut into equal shares; which share follows from the packet's number by a
//! Weyl sequence, which visits all shares evenly: mean and distribution are met with the least number of packets, and nothing is drawn at random.
//!
//! A pair that was seen often enough takes its own mean. Its factors are what packets were of the mean of their pair before them, over all pairs at
//! one distance; where these are few, the latencies at that distance, narrowed to the variance within pairs. A pair that was never seen takes the
//! mean of its source's packets at its distance, with the latencies at that distance narrowed to what sources leave unexplained: of a
//! large machine, where few pairs are seen twice in a window, the whole distribution is kept. Between the two a pair's own mean counts by its
//! credibility, n / (n + variance within pairs / variance between pairs of a source) with n packets (Buehlmann, ASTIN Bulletin 4, 1967); that of a
//! source's packets at a distance likewise.

use super::{Predictor, PredictorEntry, Recipe};
use crate::hybrid::learn::{Learned, Seen, Shape, TRUSTED};
use base::{hash::mix64, index::TerminalId, registry::About, time::Ps};
use results::histogram::LatencyHistogram;
use std::sync::Arc;

/// The predictor `quantile`.
pub const ENTRY: PredictorEntry = PredictorEntry {
    about: About {
        name: "quantile",
        summary: "the mean of each pair with the distribution of latencies around it",
        doc: "The distribution of latency over its pair's mean, of all pairs at one distance, in 1,024 equal shares, is laid around the mean of each \
              pair. A pair that was never seen takes the mean of its source's packets at that distance and the distribution there, less what \
              sources explain; a pair that was seen less than eight times is between the two, by how much pairs differ. Packets of a \
              source visit the shares evenly, by a Weyl sequence of their numbers. So mean and percentiles of predicted packets are those of \
              the window. A distance that was not seen takes the mean of the source. Each class of message sizes, a power of two, has its own. In programs \
              the last packet of a message takes the mean. Correlation between neighbouring packets is not \
              modelled.",
        source: "credibility: Buehlmann, ASTIN Bulletin 4, 1967",
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
    fn train(&self, learned: &Learned, shape: &Arc<Shape>, _: usize) -> Arc<dyn Predictor> {
        let class =
            |(source, destination): (TerminalId, TerminalId)| shape.routers(source, destination) as usize - 1;
        let count = learned.classes.len();
        let mut sources = vec![Seen::default(); count * shape.terminals as usize];
        let mut pairs: Vec<Groups> = learned.classes.iter().map(Groups::new).collect();
        for (&pair, seen) in &learned.pairs {
            sources[pair.0.index() * count + class(pair)].merge(*seen);
            pairs[class(pair)].add(*seen);
        }
        let mut groups: Vec<Groups> = learned.classes.iter().map(Groups::new).collect();
        sources.iter().enumerate().filter(|s| s.1.count > 0).for_each(|(n, s)| groups[n % count].add(*s));
        let splits: Vec<Split> = groups.iter().map(Groups::split).collect();
        let all = learned.total().mean().unwrap_or(0);
        let row = |of: usize| Row::new(&sources[of * count..][..count], &groups, &splits, all);
        let mut rows: Vec<Row> = (0..shape.terminals as usize).map(row).collect();
        let explained = |class: usize| {
            let of = |row: usize| {
                (&sources[row * count + class], rows[row].means[class] as f64 - groups[class].mean)
            };
            (0..rows.len()).map(of).map(|(seen, off)| seen.count as f64 * off * off).sum::<f64>()
        };
        let classes = pairs.iter().zip(learned.classes.iter().zip(&learned.ratios)).enumerate();
        let classes: Vec<Class> = classes
            .map(|(n, (pairs, (latencies, ratios)))| Class::new(latencies, ratios, pairs, explained(n)))
            .collect();
        for (&pair, seen) in &learned.pairs {
            let (row, class) = (&mut rows[pair.0.index()], class(pair));
            row.pairs.push(classes[class].pair(pair.1, *seen, row.means[class]));
        }
        Arc::new(Spread { rows, classes, shape: Arc::clone(shape) })
    }
}

/// Packets at one distance, in groups.
struct Groups {
    /// Mean of all.
    mean: f64,
    /// Number of packets that were seen.
    count: f64,
    /// Squares of how far packets are from the mean, added up.
    total: f64,
    groups: f64,
    /// The same of the means of groups, for each of their packets.
    apart: f64,
}

impl Groups {
    fn new(latencies: &LatencyHistogram) -> Self {
        let moments = latencies.moments();
        let count = moments.count as f64;
        let total = moments.variance().unwrap_or(0.0) * count;
        Self { mean: moments.mean().unwrap_or(0.0), count, total, groups: 0.0, apart: 0.0 }
    }

    fn add(&mut self, group: Seen) {
        debug_assert!(group.count > 0, "a group has packets");
        let count = group.count as f64;
        self.groups += 1.0;
        self.apart += count * (group.sum as f64 / count - self.mean).powi(2);
    }

    fn split(&self) -> Split {
        // A group's packets made its mean: one degree of freedom less for each. If each has one packet, nothing tells them apart.
        let spare = self.count - self.groups;
        let known = spare > 0.0 && self.total > 0.0;
        let within = if known { (self.total - self.apart) / spare * self.count / self.total } else { 1.0 };
        let within = within.clamp(0.0, 1.0);
        Split { within, between: 1.0 - within }
    }
}

/// Shares of a variance: within groups, and between them.
struct Split {
    within: f64,
    between: f64,
}

impl Split {
    /// How much of a group's mean is its own if it has so many packets.
    fn credibility(&self, count: f64) -> f64 {
        let own = count * self.between;
        if own > 0.0 { own / (own + self.within) } else { 0.0 }
    }
}

/// Packets of a pair from which on its own mean is all that counts.
const KNOWN: usize = TRUSTED as usize;

/// Pairs at one distance.
struct Class {
    /// Within pairs, and between the pairs of a source.
    split: Split,
    /// Factors on the mean of a pair by how often it was seen; may be empty.
    factors: [Vec<u64>; KNOWN + 1],
}

impl Class {
    /// `explained`: squares of how far the means of sources are from the mean, for each packet.
    fn new(latencies: &LatencyHistogram, ratios: &LatencyHistogram, pairs: &Groups, explained: f64) -> Self {
        let Split { within, .. } = pairs.split();
        let left = if pairs.total > 0.0 { 1.0 - explained / pairs.total } else { 0.0 };
        let split = Split { within, between: (left - within).max(0.0) };
        let width = |n: usize| split.within + split.between * (1.0 - split.credibility(n as f64));
        let values = shares(latencies);
        let mut all: [Vec<u64>; KNOWN + 1] = std::array::from_fn(|n| factors(&values, width(n).sqrt()));
        all[KNOWN] = match ratios.moments().count {
            ENOUGH.. => factors(&shares(ratios), 1.0),
            _ => factors(&values, within.sqrt()),
        };
        Self { split, factors: all }
    }

    /// A pair of a source with this mean.
    fn pair(&self, destination: TerminalId, seen: Seen, source: Ps) -> Pair {
        let own = seen.mean().unwrap_or(source);
        let known = usize::try_from(seen.count).map_or(KNOWN, |n| n.min(KNOWN));
        let weight = if known == KNOWN { 1.0 } else { self.split.credibility(seen.count as f64) };
        Pair { destination, seen: known as u32, mean: between(source, own, weight) }
    }
}

/// `weight` of the way from one time to another.
fn between(from: Ps, to: Ps, weight: f64) -> Ps {
    debug_assert!((0.0..=1.0).contains(&weight), "a weight is a share");
    if weight < 1.0 { (from as f64 + weight * (to as f64 - from as f64)).round() as Ps } else { to }
}

/// The middles of equal shares of a distribution, ascending; none without packets.
fn shares(histogram: &LatencyHistogram) -> Vec<f64> {
    if histogram.moments().count == 0 {
        return Vec::new();
    }
    let count = 1u32 << SHARES;
    let middles = (0..count).map(|i| (f64::from(i) + 0.5) / f64::from(count));
    histogram.quantiles(middles).map(|value| value as f64).collect()
}

/// Factors on a mean, which average to one: these values, narrowed to `width` of their spread.
fn factors(values: &[f64], width: f64) -> Vec<u64> {
    let middle = (values.iter().sum::<f64>() / values.len().max(1) as f64).max(1.0);
    let one = f64::from(1u32 << UNIT);
    values.iter().map(|v| ((1.0 + width * (v - middle) / middle).max(0.0) * one).round() as u64).collect()
}

/// A pair that was seen.
#[derive(Clone, Copy)]
struct Pair {
    destination: TerminalId,
    /// How often, [`KNOWN`] at most.
    seen: u32,
    mean: Ps,
}

/// Packets of one source.
struct Row {
    /// Pairs of this source that were seen, by destination, ascending.
    pairs: Vec<Pair>,
    /// Means by distance.
    means: Vec<Ps>,
    /// Mean at other distances.
    other: Ps,
}

impl Row {
    /// By what was `seen` of the source at each distance; `all` is the mean of all.
    fn new(seen: &[Seen], groups: &[Groups], splits: &[Split], all: Ps) -> Self {
        let mut total = Seen::default();
        seen.iter().for_each(|&more| total.merge(more));
        let mean = |((seen, group), split): ((&Seen, &Groups), &Split)| {
            let mean = group.mean.round() as Ps;
            between(mean, seen.mean().unwrap_or(mean), split.credibility(seen.count as f64))
        };
        let means = seen.iter().zip(groups).zip(splits).map(mean).collect();
        let other = if total.count >= TRUSTED { total.mean() } else { None };
        Self { pairs: Vec::new(), means, other: other.unwrap_or(all) }
    }

    /// A pair, if it was seen.
    fn pair(&self, source: TerminalId, destination: TerminalId) -> Option<&Pair> {
        // Its place, if all others were seen as well.
        let guess = destination.index() - usize::from(destination > source);
        match self.pairs.get(guess) {
            Some(pair) if pair.destination == destination => Some(pair),
            _ => self
                .pairs
                .binary_search_by_key(&destination, |p| p.destination)
                .ok()
                .map(|at| &self.pairs[at]),
        }
    }
}

struct Spread {
    rows: Vec<Row>,
    classes: Vec<Class>,
    shape: Arc<Shape>,
}

impl Predictor for Spread {
    fn latency(&self, source: TerminalId, destination: TerminalId, number: Option<u32>) -> Ps {
        let row = &self.rows[source.index()];
        let class = self.shape.routers(source, destination) as usize - 1;
        let (mean, seen) = match row.pair(source, destination) {
            Some(pair) => (pair.mean, pair.seen),
            None => (row.means.get(class).copied().unwrap_or(0), 0),
        };
        // 2^32 over the golden ratio: the most even of all such sequences.
        let turn =
            |number: u32| number.wrapping_mul(0x9e37_79b9).wrapping_add(mix64(u64::from(source)) as u32);
        let factors = self.classes.get(class).map(|c| &c.factors[seen as usize]);
        let latency = match (number, factors) {
            (None, Some(factors)) if !factors.is_empty() => mean,
            (Some(number), Some(factors)) if !factors.is_empty() => {
                let factor = factors[(turn(number) >> (32 - SHARES)) as usize];
                ((u128::from(mean) * u128::from(factor)) >> UNIT) as Ps
            }
            // Nothing was seen at this distance.
            _ => row.other,
        };
        latency.max(self.shape.floor(source, destination))
    }
}
