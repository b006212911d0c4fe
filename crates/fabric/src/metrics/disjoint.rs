//! Paths between two routers that share no cable: a maximum flow with one unit per cable (Menger's theorem).

use super::reach::{ends, spread};
use crate::graph::{Fabric, Peer};
use base::index::{Column, LinkId, RouterId};

/// Pairs of routers looked at, at most.
const PAIRS: usize = 64;

/// Numbers of paths that share no cable, which is also the number of cables whose loss separates the pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Disjoint {
    /// Fewest over the pairs that were looked at.
    pub least: u32,
    /// Mean over them.
    pub mean: f64,
    /// Pairs of routers that were looked at.
    pub pairs: u32,
}

/// Counts for up to 64 pairs of routers with terminals, spread over the network (all pairs of a small one), as long as
/// `budget` looks at links allow; `None` if fewer than two routers have terminals.
#[must_use]
pub fn disjoint_paths(fabric: &Fabric, budget: u64) -> Option<Disjoint> {
    let ends = ends(fabric);
    let n = ends.len() as u64;
    if n < 2 {
        return None;
    }
    let all = usize::try_from(n * (n - 1) / 2).ok()?;
    let mut flow = MaxFlow::new(fabric);
    let (mut least, mut sum, mut pairs) = (u32::MAX, 0u64, 0);
    for (a, b) in spread(all).take(PAIRS).map(|i| pair(i as u64)) {
        if flow.looks >= budget && pairs > 0 {
            break;
        }
        let paths = flow.between(fabric, ends[a as usize], ends[b as usize]);
        least = least.min(paths);
        sum += u64::from(paths);
        pairs += 1;
    }
    Some(Disjoint { least, mean: sum as f64 / f64::from(pairs), pairs })
}

/// The i-th pair (a, b), a > b, of (1, 0), (2, 0), (2, 1), (3, 0)..
fn pair(i: u64) -> (u64, u64) {
    let mut a = (8 * i + 1).isqrt().div_ceil(2);
    while a * (a - 1) / 2 > i {
        a -= 1;
    }
    (a, i - a * (a - 1) / 2)
}

/// Of a router that no search has reached.
const UNREACHED: LinkId = LinkId::new(u32::MAX);

struct MaxFlow {
    /// Net flow out of each router port: -1, 0 or 1; the other end has the opposite.
    out: Column<LinkId, i8>,
    /// Port through which a search first reached each router.
    by: Column<RouterId, LinkId>,
    looks: u64,
}

impl MaxFlow {
    fn new(fabric: &Fabric) -> Self {
        Self {
            out: Column::filled(fabric.ports().len(), 0),
            by: Column::filled(fabric.routers() as usize, UNREACHED),
            looks: 0,
        }
    }

    /// Maximum flow from one router to another, one shortest augmenting path after another.
    fn between(&mut self, fabric: &Fabric, from: RouterId, to: RouterId) -> u32 {
        self.out.cells_mut().fill(0);
        let mut paths = 0;
        while self.search(fabric, from, to) {
            paths += 1;
            let mut router = to;
            while router != from {
                let back = self.by[router];
                self.out[back] -= 1;
                let Peer::Router { router: peer, port } = fabric.port(back).peer else { break };
                self.out[fabric.port_index(peer, port)] += 1;
                router = peer;
            }
        }
        paths
    }

    /// Finds a way along cables with room; `by` then holds the port by which each router of it was entered.
    fn search(&mut self, fabric: &Fabric, from: RouterId, to: RouterId) -> bool {
        self.by.cells_mut().fill(UNREACHED);
        let mut queue = vec![from];
        let mut next = 0;
        while let Some(&router) = queue.get(next) {
            next += 1;
            let first = fabric.first_port(router);
            for (i, port) in (0..).zip(fabric.ports_of(router)) {
                self.looks += 1;
                let Peer::Router { router: peer, port } = port.peer else { continue };
                if self.out[first.plus(i)] < 1 && peer != from && self.by[peer] == UNREACHED {
                    self.by[peer] = fabric.port_index(peer, port);
                    if peer == to {
                        return true;
                    }
                    queue.push(peer);
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::pair;

    #[test]
    fn pairs_are_counted_without_gap() {
        let listed: Vec<_> = (1..40).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        assert!((0..listed.len()).all(|i| pair(i as u64) == listed[i]));
    }
}
