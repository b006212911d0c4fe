//! Measures of the graph: distances, bisection, diversity of paths, cost. They count links between routers; terminals'
//! links do not count towards distances and cuts.
//!
//! [`measure`] takes all of them. What would take too long on a large network is sampled, and the result says how much of
//! it was looked at. The same fabric always gives the same numbers.

mod bisection;
mod disjoint;
mod hops;
mod reach;
mod waves;

use crate::graph::{Fabric, Peer};
use base::index::RouterId;
pub use bisection::{Bisection, bisection};
pub use disjoint::{Disjoint, disjoint_paths};
pub use hops::Hops;
pub use reach::distances;
pub use waves::{Distances, ShortestPaths, all_distances, shortest_paths};

/// Links looked at before distances are judged from a sample of sources: about two seconds.
const DISTANCE_BUDGET: u64 = 1 << 30;
/// Likewise for counts of shortest paths.
const COUNT_BUDGET: u64 = 1 << 26;
/// Likewise for disjoint paths.
const DISJOINT_BUDGET: u64 = 1 << 26;

/// What a network is worth and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Metrics {
    /// Number of routers in the network.
    pub routers: u32,
    /// Number of terminals in the network.
    pub terminals: u32,
    /// Most ports of a router, those without a cable included.
    pub radix: u32,
    /// Number of ports and how many routers have so many, ascending: the switches to buy.
    pub switches: Vec<(u32, u32)>,
    /// Ports without a cable.
    pub unplugged: u64,
    /// Cables by link class, the terminals' own first.
    pub cables: Vec<(&'static str, u64)>,
    /// Distances between terminals.
    pub distances: Distances,
    /// Fewest cables found between two halves of the terminals; `None` if one router has them all.
    pub bisection: Option<Bisection>,
    /// How many shortest paths there are; `None` if one router has all terminals.
    pub shortest: Option<ShortestPaths>,
    /// How many ways there are that share no cable; `None` if one router has all terminals.
    pub disjoint: Option<Disjoint>,
}

/// Measures everything. A network of a thousand routers takes a fraction of a second, one of a million about a minute.
#[must_use]
pub fn measure(fabric: &Fabric) -> Metrics {
    measure_with_progress(fabric, &mut |_| {})
}

/// The same; calls `phase` with what is looked at next.
#[must_use]
pub fn measure_with_progress(fabric: &Fabric, phase: &mut dyn FnMut(&str)) -> Metrics {
    let counts = cables(fabric);
    phase("distances");
    let distances = all_distances(fabric, DISTANCE_BUDGET);
    phase("bisection");
    let bisection = bisection(fabric);
    phase("numbers of shortest paths");
    let shortest = shortest_paths(fabric, COUNT_BUDGET);
    phase("disjoint paths");
    let disjoint = disjoint_paths(fabric, DISJOINT_BUDGET);
    let mut degrees: Vec<u32> =
        RouterId::first(fabric.routers()).map(|r| fabric.ports_of(r).len() as u32).collect();
    degrees.sort_unstable();
    let kinds = degrees.chunk_by(|a, b| a == b).map(|kind| (kind[0], kind.len() as u32));
    Metrics {
        routers: fabric.routers(),
        terminals: fabric.terminals(),
        radix: degrees.last().copied().unwrap_or(0),
        switches: kinds.collect(),
        unplugged: fabric.ports().iter().filter(|p| p.peer == Peer::None).count() as u64,
        cables: fabric.classes().iter().copied().zip(counts).collect(),
        distances,
        bisection,
        shortest,
        disjoint,
    }
}

/// Cables by link class.
fn cables(fabric: &Fabric) -> Vec<u64> {
    let mut ends = vec![0; fabric.classes().len()];
    for port in fabric.ports() {
        ends[usize::from(port.class)] += match port.peer {
            Peer::Router { .. } => 1,
            Peer::Terminal(_) => 2,
            Peer::None => 0,
        };
    }
    ends.into_iter().map(|n| n / 2).collect()
}

/// Greatest distance between two routers that have terminals; `None` if some pair has no path. Exact however large the
/// network is: the time grows with routers times links.
#[must_use]
pub fn diameter(fabric: &Fabric) -> Option<u32> {
    all_distances(fabric, u64::MAX).diameter
}

#[cfg(test)]
mod tests;
