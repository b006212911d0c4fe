//! Predictors of packet latencies. One file each; the slice [`PREDICTORS`] is what a user can name.

pub mod external;
pub mod fitted;
pub mod mean;
pub mod quantile;
mod registry;

pub use registry::PREDICTORS;

use super::{
    learn::{BySize, Learned, Shape},
    size::SizeClass,
};
use base::{
    index::{Column, TerminalId},
    param::{Problem, Values},
    registry::{About, Registered},
    time::Ps,
};
use std::sync::Arc;

/// How much longer, or shorter, than its predictor says a packet is under way, in ps.
pub type Wait = i64;

/// Says how long packets of one class of sizes are under way. A pure function of what it was made from.
pub trait Predictor: Send + Sync {
    /// Latency of packet `number` of terminal `source` to terminal `destination`, or without a number the mean of all of them; at least
    /// [`Shape::floor`].
    fn latency(&self, source: TerminalId, destination: TerminalId, number: Option<u32>) -> Ps;

    /// What [`Predictor::latency`] says of a source's packets by destination, if nothing else counts and it is at hand.
    fn of_source(&self, _source: TerminalId) -> Option<&[Ps]> {
        None
    }
}

/// Makes predictors from what was learned.
pub trait Recipe: Send + Sync {
    /// A predictor, one of so many `classes` that share memory. What it says depends on its arguments only.
    fn train(&self, learned: &Learned, shape: &Arc<Shape>, classes: usize) -> Arc<dyn Predictor>;
}

/// Predictors of messages of all sizes: one for each class that was seen. Other classes take that of the nearest, of two as near the smaller's.
pub struct Predictors {
    /// Ascending, never empty.
    of: Vec<(SizeClass, Arc<dyn Predictor>)>,
    /// By class, which of them.
    nearest: [u8; SizeClass::COUNT],
}

impl Predictors {
    /// One for each class that was learned; of nothing at all one that knows nothing.
    #[must_use]
    pub fn train(recipe: &dyn Recipe, learned: &BySize, shape: &Arc<Shape>) -> Self {
        let seen = learned.classes();
        // One that knows nothing still says what an empty network takes.
        if seen.is_empty() {
            return Self::new(vec![(SizeClass::default(), recipe.train(&Learned::default(), shape, 1))]);
        }
        let train = |(size, of): &(SizeClass, Learned)| (*size, recipe.train(of, shape, seen.len()));
        Self::new(seen.iter().map(train).collect())
    }

    /// Of these, ascending, at least one.
    #[must_use]
    pub fn new(of: Vec<(SizeClass, Arc<dyn Predictor>)>) -> Self {
        // Of two as near the first, which is the smaller, is found: a prediction that is too short is mended by what its bytes take on a link.
        let nearest = std::array::from_fn(|class| {
            let near = of.iter().enumerate().min_by_key(|(_, (size, _))| size.number().abs_diff(class));
            near.map_or(0, |(at, _)| at as u8)
        });
        Self { of, nearest }
    }

    fn at(&self, size: SizeClass) -> &(SizeClass, Arc<dyn Predictor>) {
        &self.of[usize::from(self.nearest[size.number()])]
    }

    /// True if the class was seen.
    #[inline]
    #[must_use]
    pub fn knows(&self, size: SizeClass) -> bool {
        self.at(size).0 == size
    }

    /// What [`Predictor::latency`] of the class, or of the nearest, says.
    #[inline]
    #[must_use]
    pub fn latency(
        &self,
        size: SizeClass,
        source: TerminalId,
        destination: TerminalId,
        number: Option<u32>,
    ) -> Ps {
        self.at(size).1.latency(source, destination, number)
    }

    /// See [`Predictor::of_source`]; none of a class that was not seen.
    #[must_use]
    pub fn of_source(&self, size: SizeClass, source: TerminalId) -> Option<&[Ps]> {
        let (seen, predictor) = self.at(size);
        if *seen == size { predictor.of_source(source) } else { None }
    }
}

/// A predictor that a user can name.
pub struct PredictorEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Makes its recipe; files that parameters name are read here.
    pub build: fn(&Values) -> Built,
}

/// A recipe, or why there is none.
pub type Built = Result<Arc<dyn Recipe>, Vec<Problem>>;

impl Registered for PredictorEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

/// Most pairs of all dense tables.
const DENSE: u64 = 1 << 24;

/// A latency for each pair: a table where it is small enough.
pub(crate) enum Grid {
    /// By source and destination.
    Dense(u32, Vec<Ps>),
    /// Pairs that were seen, by source; others by source.
    Sparse(Vec<Sparse>),
}

/// Latencies of one source.
pub(crate) struct Sparse {
    /// Destinations that were seen, ascending.
    pairs: Vec<(TerminalId, Ps)>,
    /// Of any other.
    other: Ps,
}

impl Grid {
    /// Means of the pairs that were seen; where there is none, of the source, of the distance, of all; without any packet, the least
    /// possible.
    pub fn means(learned: &Learned, shape: &Shape, classes: usize) -> Self {
        let all = learned.total().mean();
        let distances: Vec<Option<Ps>> = learned
            .classes
            .iter()
            .map(|h| {
                let m = h.moments();
                super::learn::Seen { count: m.count, sum: m.sum }.mean()
            })
            .collect();
        let mut sources = Column::filled(shape.terminals as usize, super::learn::Seen::default());
        for (&(source, _), &seen) in &learned.pairs {
            sources[source].merge(seen);
        }
        // Large machines: only pairs that were seen have an entry, found by bisection; the means of sources stand for the others.
        if !fits(shape, classes) {
            let other = |s: TerminalId| sources[s].mean().or(all).unwrap_or_else(|| shape.floor(s, s));
            let mut rows: Vec<Sparse> = TerminalId::first(shape.terminals)
                .map(|s| Sparse { pairs: Vec::new(), other: other(s) })
                .collect();
            for (&(source, destination), seen) in &learned.pairs {
                // The map is sorted by source and destination, so each row comes out ascending.
                rows[source.index()].pairs.extend(seen.mean().map(|mean| (destination, mean)));
            }
            return Self::Sparse(rows);
        }
        Self::dense(shape, |s, d| {
            let pair = learned.pairs.get(&(s, d)).and_then(super::learn::Seen::mean);
            let class = || distances.get(shape.routers(s, d) as usize - 1).copied().flatten();
            // From the most to the least particular: what is known of the pair itself counts before what is known of its like.
            pair.or_else(|| sources[s].mean()).or_else(class).or(all).unwrap_or(0)
        })
    }

    /// A table of `latency`, nowhere below the least possible.
    pub fn dense(shape: &Shape, latency: impl Fn(TerminalId, TerminalId) -> Ps) -> Self {
        let all = TerminalId::first(shape.terminals);
        let pairs = all.clone().flat_map(|s| all.clone().map(move |d| (s, d)));
        Self::Dense(shape.terminals, pairs.map(|(s, d)| latency(s, d).max(shape.floor(s, d))).collect())
    }

    /// Latencies of a source by destination, where they are a table.
    pub fn of_source(&self, source: TerminalId) -> Option<&[Ps]> {
        match self {
            Self::Dense(nodes, table) => table.chunks_exact(*nodes as usize).nth(source.index()),
            Self::Sparse(_) => None,
        }
    }

    /// Latency of a pair.
    #[inline]
    pub fn get(&self, source: TerminalId, destination: TerminalId) -> Ps {
        match self {
            Self::Dense(nodes, table) => table[source.index() * *nodes as usize + destination.index()],
            Self::Sparse(rows) => {
                let row = &rows[source.index()];
                let found = row.pairs.binary_search_by_key(&destination, |p| p.0);
                found.map_or(row.other, |at| row.pairs[at].1)
            }
        }
    }
}

/// True if so many tables of all pairs are small enough.
pub(crate) fn fits(shape: &Shape, classes: usize) -> bool {
    let pairs = u64::from(shape.terminals) * u64::from(shape.terminals);
    pairs.saturating_mul(classes as u64) <= DENSE
}

#[cfg(test)]
mod tests;
