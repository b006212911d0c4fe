//! Predictors of packet latencies. One file each; the slice [`PREDICTORS`] is what a user can name.

pub mod external;
pub mod fitted;
pub mod mean;
pub mod quantile;
mod registry;

pub use registry::PREDICTORS;

use super::learn::{Learned, Shape};
use base::{
    index::{Column, TerminalId},
    param::{Problem, Values},
    registry::{About, Registered},
    time::Ps,
};
use std::sync::Arc;

/// How much longer, or shorter, than its predictor says a packet is under way, in ps.
pub type Wait = i64;

/// Says how long packets are under way. A pure function of what it was made from.
pub trait Predictor: Send + Sync {
    /// Latency of packet `number` of terminal `source` to terminal `destination`; at least [`Shape::floor`].
    fn latency(&self, source: TerminalId, destination: TerminalId, number: u32) -> Ps;

    /// What [`Predictor::latency`] says of a source's packets by destination, if nothing else counts and it is at hand.
    fn of_source(&self, _source: TerminalId) -> Option<&[Ps]> {
        None
    }
}

/// Makes predictors from what was learned.
pub trait Recipe: Send + Sync {
    /// A predictor. What it says depends on its arguments only.
    fn train(&self, learned: &Learned, shape: &Arc<Shape>) -> Arc<dyn Predictor>;
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

/// Most pairs of a dense table.
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
    pub fn means(learned: &Learned, shape: &Shape) -> Self {
        let all = learned.total().mean();
        let classes: Vec<Option<Ps>> = learned
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
        if u64::from(shape.terminals) * u64::from(shape.terminals) > DENSE {
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
            let class = || classes.get(shape.routers(s, d) as usize - 1).copied().flatten();
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

/// True if a table of all pairs is small enough.
pub(crate) fn fits(shape: &Shape) -> bool {
    u64::from(shape.terminals) * u64::from(shape.terminals) <= DENSE
}

#[cfg(test)]
mod tests;
