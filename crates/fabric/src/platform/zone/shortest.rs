//! The fewest links from one place of a zone to another over the routes that are listed in it, and of several paths the one that SimGrid takes.
//!
//! Places are points or zones, edges the listed routes; a route costs as many as it has links. A Floyd zone fills its table
//! once, going through its places in order; a Dijkstra zone searches each time, the nearest place first, of several the one of the lowest rank: where it stands in the file.

use base::sorted::{SortedMap, SortedSet};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Most places of a Floyd zone: its table takes time in the cube of their number.
pub const MOST_PLACES: usize = 1024;

/// No place, or no path.
const NONE: u32 = u32::MAX;

/// By place, which of equal paths is taken. A place without a rank has that of its number, after those with one.
pub type Ranks = SortedMap<u32, u32>;

/// What decides among places of equal cost.
fn rank(ranks: &Ranks, place: u32) -> (u32, u32) {
    (ranks.get(&place).copied().unwrap_or(u32::MAX), place)
}

/// A path as the pairs of places that routes are listed for.
pub type Hops = Vec<(u32, u32)>;

/// Paths between all places, by Floyd and Warshall.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// All of them, by rank.
    places: Vec<u32>,
    /// By place, where it is among them.
    at: SortedMap<u32, usize>,
    /// By source and destination (both as indices of [`Table::places`]), the last place but one of the path.
    before: Vec<u32>,
}

impl Table {
    /// Of routes by their ends, each with its number of links; of [`MOST_PLACES`] places at most.
    #[must_use]
    pub fn new(routes: &SortedMap<(u32, u32), usize>, ranks: &Ranks) -> Self {
        let mut places: Vec<u32> =
            routes.keys().flat_map(|&(a, b)| [a, b]).collect::<SortedSet<_>>().into_iter().collect();
        places.sort_by_key(|&place| rank(ranks, place));
        let n = places.len();
        debug_assert!(n <= MOST_PLACES, "{n} places");
        let known: SortedMap<u32, usize> = places.iter().copied().zip(0..).collect();
        let at = |place: u32| known[&place];
        let (mut cost, mut before) = (vec![NONE; n * n], vec![NONE; n * n]);
        for (&(a, b), &links) in routes {
            let (a, b) = (at(a), at(b));
            (cost[a * n + b], before[a * n + b]) = (links as u32, a as u32);
        }
        for c in 0..n {
            for a in 0..n {
                let first = cost[a * n + c];
                if first == NONE {
                    continue;
                }
                for b in 0..n {
                    let second = cost[c * n + b];
                    // Only what is shorter replaces a path: of equals the one through the earliest places stays.
                    if second != NONE && first + second < cost[a * n + b] {
                        (cost[a * n + b], before[a * n + b]) = (first + second, before[c * n + b]);
                    }
                }
            }
        }
        Self { places, at: known, before }
    }

    /// The path between two different places, if there is one.
    #[must_use]
    pub fn path(&self, from: u32, to: u32) -> Option<Hops> {
        let (source, mut here) = (*self.at.get(&from)?, *self.at.get(&to)?);
        let mut hops = Vec::new();
        while here != source {
            let before = self.before[source * self.places.len() + here];
            if before == NONE {
                return None;
            }
            hops.push((self.places[before as usize], self.places[here]));
            here = before as usize;
        }
        debug_assert!(hops.len() < self.places.len(), "a path meets no place twice");
        hops.reverse();
        Some(hops)
    }
}

/// The path between two different places by Dijkstra's algorithm, if there is one; `links` says how many links a listed route has.
#[must_use]
pub fn search<T>(
    routes: &SortedMap<(u32, u32), T>,
    links: impl Fn(&T) -> usize,
    ranks: &Ranks,
    from: u32,
    to: u32,
) -> Option<Hops> {
    let mut known: SortedMap<u32, (usize, u32)> = SortedMap::from([(from, (0, from))]);
    let mut open = BinaryHeap::from([Reverse((0, rank(ranks, from)))]);
    while let Some(Reverse((cost, (_, here)))) = open.pop() {
        // Nothing that is farther makes a path shorter. Of a place that was reached sooner another entry was looked at.
        if here == to {
            break;
        }
        if cost > known[&here].0 {
            continue;
        }
        for (&(_, next), route) in routes.range((here, 0)..=(here, u32::MAX)) {
            let cost = cost + links(route);
            if known.get(&next).is_none_or(|&(least, _)| cost < least) {
                known.insert(next, (cost, here));
                open.push(Reverse((cost, rank(ranks, next))));
            }
        }
    }
    let mut hops = Vec::new();
    let mut here = to;
    while here != from {
        let before = known.get(&here)?.1;
        hops.push((before, here));
        here = before;
    }
    hops.reverse();
    Some(hops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    /// Both find paths as short as the shortest of all, found by relaxing every route as often as there are places.
    #[test]
    fn no_path_is_shorter() {
        for seed in 0..200 {
            let mut random = Stream::new(seed, Purpose::Test, 7);
            let places = 2 + random.below(9) as u32;
            let mut routes = SortedMap::new();
            for _ in 0..random.below(30) {
                let (a, b) = (random.below(u64::from(places)) as u32, random.below(u64::from(places)) as u32);
                if a != b {
                    routes.insert((a * 3, b * 3), 1 + random.below(4) as usize);
                }
            }
            let ranks = (0..places).map(|n| (n * 3, places - n)).collect();
            let table = Table::new(&routes, &ranks);
            for (from, to) in (0..places).flat_map(|a| (0..places).map(move |b| (a * 3, b * 3))) {
                if from == to {
                    continue;
                }
                let mut least = SortedMap::from([(from, 0)]);
                for _ in 0..places {
                    for (&(a, b), links) in &routes {
                        if let Some(cost) = least.get(&a).map(|cost| cost + links) {
                            let known = least.entry(b).or_insert(cost);
                            *known = cost.min(*known);
                        }
                    }
                }
                for path in [table.path(from, to), search(&routes, |&links| links, &ranks, from, to)] {
                    let cost = path.as_ref().map(|hops| hops.iter().map(|hop| routes[hop]).sum::<usize>());
                    assert_eq!(cost, least.get(&to).copied(), "seed {seed}, {from} to {to}: {path:?}");
                    let ends = path.as_ref().map(|hops| (hops[0].0, hops[hops.len() - 1].1));
                    assert!(ends.is_none_or(|ends| ends == (from, to)), "seed {seed}: {path:?}");
                }
            }
        }
    }
}
