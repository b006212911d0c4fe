//! Paths between two routers that share no cable: a maximum flow with one unit per cable (Menger's theorem; Dinic 1970).

use super::reach::{ends, spread};
use crate::graph::Fabric;
use base::index::RouterId;

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
        let paths = flow.between(ends[a as usize], ends[b as usize]);
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
const UNREACHED: u32 = u32::MAX;

/// Dinic's algorithm: all paths of one length at a time. Parallel cables are one edge with as much room.
struct MaxFlow {
    /// Edges of each router begin here and end where the next one's begin: one to each router near it, ascending.
    first: Vec<u32>,
    to: Vec<u32>,
    /// Cables of each edge.
    cables: Vec<u32>,
    /// The edge the other way.
    back: Vec<u32>,
    /// Cables of each edge that carry no path its way, and twice as many if they carry one the other way.
    room: Vec<u32>,
    /// Edges from the start to each router.
    level: Vec<u32>,
    /// The edge of each router that is tried next.
    tried: Vec<u32>,
    looks: u64,
}

impl MaxFlow {
    fn new(fabric: &Fabric) -> Self {
        let (mut first, mut to, mut cables) = (vec![0], Vec::new(), Vec::new());
        for router in RouterId::first(fabric.routers()) {
            let mut near: Vec<u32> = fabric.neighbours(router).map(|(_, peer)| peer.number()).collect();
            near.sort_unstable();
            for same in near.chunk_by(|a, b| a == b).filter(|same| same[0] != router.number()) {
                to.push(same[0]);
                cables.push(same.len() as u32);
            }
            first.push(to.len() as u32);
        }
        let edges = |router: u32| first[router as usize] as usize..first[router as usize + 1] as usize;
        let way_back = |from: u32, at: u32| {
            let found = to[edges(at)].binary_search(&from);
            first[at as usize] + found.expect("a cable has two ends") as u32
        };
        let back =
            (0..fabric.routers()).flat_map(|router| to[edges(router)].iter().map(move |&at| (router, at)));
        let back = back.map(|(router, at)| way_back(router, at)).collect();
        let routers = fabric.routers() as usize;
        let (level, tried) = (vec![UNREACHED; routers], vec![0; routers]);
        Self { back, room: cables.clone(), first, to, cables, level, tried, looks: 0 }
    }

    /// Maximum flow from one router to another.
    fn between(&mut self, from: RouterId, to: RouterId) -> u32 {
        self.room.copy_from_slice(&self.cables);
        let mut paths = 0;
        while self.search(from.number(), to.number()) {
            self.tried.copy_from_slice(&self.first[..self.level.len()]);
            while let Some(more) = self.path(from.number(), to.number()) {
                paths += more;
            }
        }
        paths
    }

    /// Finds the distance of each router over edges with room; false if the end is not reached.
    fn search(&mut self, from: u32, to: u32) -> bool {
        self.level.fill(UNREACHED);
        self.level[from as usize] = 0;
        let (mut queue, mut next) = (vec![from], 0);
        while let Some(&router) = queue.get(next) {
            next += 1;
            for edge in self.first[router as usize]..self.first[router as usize + 1] {
                self.looks += 1;
                let peer = self.to[edge as usize];
                if self.room[edge as usize] > 0 && self.level[peer as usize] == UNREACHED {
                    self.level[peer as usize] = self.level[router as usize] + 1;
                    queue.push(peer);
                }
            }
        }
        self.level[to as usize] != UNREACHED
    }

    /// Takes the next path of those that [`MaxFlow::search`] found, over as many cables as it has; none if there is no other.
    fn path(&mut self, from: u32, to: u32) -> Option<u32> {
        let (mut edges, mut at): (Vec<u32>, u32) = (Vec::new(), from);
        while at != to {
            let edge = self.tried[at as usize];
            self.looks += 1;
            if edge == self.first[at as usize + 1] {
                // A dead end: back, and never here again.
                let edge = edges.pop()?;
                at = self.to[self.back[edge as usize] as usize];
                self.tried[at as usize] += 1;
                continue;
            }
            let peer = self.to[edge as usize];
            if self.room[edge as usize] > 0 && self.level[peer as usize] == self.level[at as usize] + 1 {
                edges.push(edge);
                at = peer;
            } else {
                self.tried[at as usize] += 1;
            }
        }
        let cables = edges.iter().map(|&edge| self.room[edge as usize]).min()?;
        for edge in edges {
            self.room[edge as usize] -= cables;
            self.room[self.back[edge as usize] as usize] += cables;
        }
        Some(cables)
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
