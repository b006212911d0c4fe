//! What mappings add up to: the metrics of ORCS and more, in integers that merge in any order.

/// Bins of the bandwidth histogram, each a twentieth wide; the last one holds full bandwidth (ORCS: `hist_acc_band`).
pub const BINS: usize = 20;

/// One mapping's numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// Messages of all levels, those that did not arrive included.
    pub messages: u64,
    /// Messages that did not arrive; they count nowhere else.
    pub unreachable: u64,
    /// Messages by congestion.
    pub weights: Vec<u64>,
    /// Sum over levels of the highest congestion.
    pub sum_max: u64,
    /// Highest congestion of each level.
    pub level_max: Vec<u32>,
    /// Longest chain of dependent messages: by ORCS 2.0, and over all dependencies.
    pub delays: [u64; 2],
    /// Sum of congestion of each link; empty if not asked for.
    pub edges: Vec<u64>,
}

impl Run {
    #[inline]
    pub(super) fn histogram(&mut self, weight: u32) {
        debug_assert!(weight > 0, "a message on a link counts itself");
        let at = weight as usize;
        if self.weights.len() <= at {
            self.weights.resize(at + 1, 0);
        }
        self.weights[at] += 1;
    }

    pub(super) fn level(&mut self, most: u32) {
        self.sum_max += u64::from(most);
        self.level_max.push(most);
    }

    /// Ready for another mapping; the links' sums go on.
    pub(super) fn next(&mut self) {
        let (weights, level_max, edges) = (
            std::mem::take(&mut self.weights),
            std::mem::take(&mut self.level_max),
            std::mem::take(&mut self.edges),
        );
        *self = Self { weights, level_max, edges, ..Self::default() };
        self.weights.fill(0);
        self.level_max.clear();
    }
}

/// Fraction of the peak bandwidth that messages of these congestions get in the mean: sum(count / congestion) / count.
/// `None` without messages.
#[must_use]
pub fn bandwidth(weights: &[u64]) -> Option<f64> {
    let (mut count, mut sum) = (0u64, 0.0);
    for (weight, &n) in weights.iter().enumerate().skip(1) {
        count += n;
        sum += n as f64 / weight as f64;
    }
    debug_assert!(sum <= count as f64, "no message gets more than the whole link");
    (count > 0).then(|| sum / count as f64)
}

/// Bin of a bandwidth fraction. Edges are i / 20 of a value just above one, as the program sets them.
#[must_use]
pub fn bin(fraction: f64) -> usize {
    debug_assert!(fraction >= 0.0, "mappings without messages have no bin");
    let edge = |i: usize| i as f64 / BINS as f64 * 1.000_000_000_000_001;
    (1..BINS).rev().find(|&i| fraction >= edge(i)).unwrap_or(0)
}

/// What all mappings together show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Totals {
    /// Messages of all mappings, those that did not arrive included.
    pub messages: u64,
    /// Messages that did not arrive.
    pub unreachable: u64,
    /// Messages by congestion.
    pub weights: Vec<u64>,
    /// Highest congestion of each level over all mappings.
    pub level_max: Vec<u32>,
    /// Sum of congestion of each link; empty if not asked for.
    pub edges: Vec<u64>,
    /// By mapping: its sum over levels of the highest congestion.
    pub sum_max: Vec<u64>,
    /// By mapping: its bandwidth fraction; negative without messages.
    pub fractions: Vec<f64>,
    /// By mapping: its delays; empty if not asked for.
    pub delays: Vec<[u64; 2]>,
}

/// Integers of some mappings, which merge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Part {
    messages: u64,
    unreachable: u64,
    weights: Vec<u64>,
    level_max: Vec<u32>,
    runs: Vec<Mapping>,
}

/// What is kept of each mapping.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mapping {
    /// Number of the mapping, from 0.
    number: u32,
    /// As in [`Run::sum_max`].
    sum_max: u64,
    /// Its bandwidth fraction; negative without messages.
    fraction: f64,
    /// As in [`Run::delays`].
    delays: [u64; 2],
}

impl Part {
    /// Adds a mapping.
    pub(super) fn add(&mut self, index: u32, run: &Run) {
        self.messages += run.messages;
        self.unreachable += run.unreachable;
        add(&mut self.weights, &run.weights);
        highest(&mut self.level_max, &run.level_max);
        debug_assert!(run.unreachable <= run.messages, "what does not arrive was sent");
        let &Run { sum_max, delays, .. } = run;
        let fraction = bandwidth(&run.weights).unwrap_or(-1.0);
        self.runs.push(Mapping { number: index, sum_max, fraction, delays });
    }

    /// Its words, for another process: counts, lengths, then what has them.
    pub(super) fn write(&self, to: &mut Vec<u64>) {
        let lengths = [self.weights.len(), self.level_max.len(), self.runs.len()];
        to.extend([self.messages, self.unreachable]);
        to.extend(lengths.map(|n| n as u64));
        to.extend(&self.weights);
        to.extend(self.level_max.iter().map(|&most| u64::from(most)));
        for &Mapping { number, sum_max, fraction, delays } in &self.runs {
            to.extend([number.into(), sum_max, fraction.to_bits(), delays[0], delays[1]]);
        }
    }

    /// What [`Part::write`] wrote; takes its words off `from`.
    ///
    /// # Panics
    /// If the words end before it does.
    pub(super) fn read(from: &mut &[u64]) -> Self {
        let mut take = |n: u64| {
            let (words, rest) = from.split_at(n as usize);
            *from = rest;
            words
        };
        let [messages, unreachable, weights, levels, runs] = take(5) else { unreachable!("five words") };
        let (weights, levels) = (take(*weights).to_vec(), take(*levels));
        let mapping = |words: &[u64]| Mapping {
            number: words[0] as u32,
            sum_max: words[1],
            fraction: f64::from_bits(words[2]),
            delays: [words[3], words[4]],
        };
        Self {
            messages: *messages,
            unreachable: *unreachable,
            weights,
            level_max: levels.iter().map(|&most| most as u32).collect(),
            runs: take(*runs * 5).chunks(5).map(mapping).collect(),
        }
    }
}

pub(super) fn add(to: &mut Vec<u64>, from: &[u64]) {
    if to.len() < from.len() {
        to.resize(from.len(), 0);
    }
    to.iter_mut().zip(from).for_each(|(a, b)| *a += b);
}

fn highest(to: &mut Vec<u32>, from: &[u32]) {
    if to.len() < from.len() {
        to.resize(from.len(), 0);
    }
    to.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

impl Totals {
    /// Merges the parts of all threads; sums of links come beside.
    pub(super) fn of(parts: Vec<Part>, edges: Vec<u64>) -> Self {
        let mut totals = Self { edges, ..Self::default() };
        let mut runs = Vec::new();
        for part in parts {
            totals.messages += part.messages;
            totals.unreachable += part.unreachable;
            add(&mut totals.weights, &part.weights);
            highest(&mut totals.level_max, &part.level_max);
            runs.extend(part.runs);
        }
        runs.sort_unstable_by_key(|r| r.number);
        debug_assert!(runs.is_sorted_by(|a, b| a.number < b.number), "each mapping is counted once");
        for Mapping { sum_max, fraction, delays, .. } in runs {
            totals.sum_max.push(sum_max);
            totals.fractions.push(fraction);
            totals.delays.push(delays);
        }
        while totals.weights.last() == Some(&0) {
            totals.weights.pop();
        }
        totals
    }

    /// Fraction of the peak bandwidth over all messages of all mappings (`hist_max_cong`); `None` without messages.
    #[must_use]
    pub fn bandwidth(&self) -> Option<f64> {
        bandwidth(&self.weights)
    }

    /// Mappings by bandwidth bin (`hist_acc_band`).
    #[must_use]
    pub fn bins(&self) -> [u64; BINS] {
        let mut bins = [0; BINS];
        self.fractions.iter().filter(|f| **f >= 0.0).for_each(|&f| bins[bin(f)] += 1);
        bins
    }

    /// Mean of the mappings' bandwidth fractions (effective bisection bandwidth, for `bisect`) and half the width of its 95 %
    /// confidence interval by the normal law; no interval below 30 mappings.
    #[must_use]
    pub fn effective(&self) -> Option<(f64, Option<f64>)> {
        let all: Vec<f64> = self.fractions.iter().copied().filter(|f| *f >= 0.0).collect();
        let n = all.len() as f64;
        if all.is_empty() {
            return None;
        }
        let mean = all.iter().sum::<f64>() / n;
        let variance = all.iter().map(|f| (f - mean) * (f - mean)).sum::<f64>() / (n - 1.0);
        Some((mean, (all.len() >= 30).then(|| 1.96 * (variance / n).sqrt())))
    }
}

/// Counts of equal values, ascending.
#[must_use]
pub fn histogram(values: impl IntoIterator<Item = u64>) -> Vec<(u64, u64)> {
    let mut counts = base::sorted::SortedMap::new();
    values.into_iter().for_each(|v| *counts.entry(v).or_insert(0) += 1);
    counts.into_iter().collect()
}

/// A finished study: its numbers and what they are about.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The pattern's text; several jobs are joined by ` + `.
    pub pattern: String,
    /// Ranks over all jobs.
    pub ranks: u32,
    /// Number of mappings of ranks that are counted.
    pub runs: u32,
    /// Directed links of the network.
    pub edges: u32,
    /// Sums over all mappings, and what is kept of each.
    pub totals: Totals,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_of_the_program() {
        assert_eq!(
            [bin(1.0), bin(0.95), bin(0.949_999), bin(0.875), bin(0.0), bin(0.5)],
            [19, 18, 18, 17, 0, 9]
        );
    }

    #[test]
    fn bandwidth_is_the_mean_of_parts() {
        assert_eq!(bandwidth(&[0, 6, 2]), Some(0.875));
        assert_eq!(bandwidth(&[9]), None);
    }
}
