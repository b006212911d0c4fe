//! Distances and numbers of shortest paths, breadth first.
//!
//! Distances run 64 searches at once: bit i of a word per router says whether the i-th search has come by. A step ORs words
//! along the links of the routers that were newly reached.

use super::reach::{ends, neighbours, spread, weights};
use crate::graph::{Fabric, Peer};
use base::index::{Column, RouterId};

/// Distances between terminals in links between routers, over ordered pairs of different terminals; two terminals of one
/// router are 0 apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// Greatest distance; `None` if some pair has no path. A lower bound unless all sources were taken.
    pub diameter: Option<u32>,
    /// Mean distance over the pairs that have a path; 0 if there is no pair.
    pub mean: f64,
    /// Pairs at each distance from 0.
    pub histogram: Vec<u64>,
    /// Routers with terminals that were taken as sources.
    pub sources: u32,
    /// Routers with terminals.
    pub routers: u32,
}

/// Searches from all routers that have terminals, or from as many as `budget` looks at links allow, spread evenly over
/// them.
#[must_use]
pub fn all_distances(fabric: &Fabric, budget: u64) -> Distances {
    let (weights, ends) = (weights(fabric), ends(fabric));
    let graph = Graph::new(fabric);
    let batches: Vec<&[RouterId]> = ends.chunks(64).collect();
    let mut waves = Waves::new(fabric.routers() as usize);
    let (mut histogram, mut sources) = (Vec::new(), 0);
    let mut reaches_all = true;
    for batch in spread(batches.len()) {
        if waves.looks >= budget && sources > 0 {
            break;
        }
        sources += batches[batch].len() as u32;
        waves.run(&graph, batches[batch], &weights, &mut histogram);
        let all = u64::MAX >> (64 - batches[batch].len());
        reaches_all &= ends.iter().all(|&r| waves.seen[r] == all);
    }
    let pairs: u64 = histogram.iter().sum();
    let steps: u128 = histogram.iter().enumerate().map(|(d, &n)| d as u128 * u128::from(n)).sum();
    Distances {
        // A terminal alone is 0 from itself.
        diameter: reaches_all.then(|| (histogram.len() as u32).saturating_sub(1)),
        mean: if pairs == 0 { 0.0 } else { steps as f64 / pairs as f64 },
        histogram,
        sources,
        routers: ends.len() as u32,
    }
}

/// Neighbours of all routers, without repetition.
struct Graph {
    begin: Vec<usize>,
    to: Vec<RouterId>,
}

impl Graph {
    fn new(fabric: &Fabric) -> Self {
        let (mut begin, mut to) = (vec![0], Vec::new());
        for router in RouterId::first(fabric.routers()) {
            let first = to.len();
            to.extend(neighbours(fabric, router));
            to[first..].sort_unstable();
            let mut end = first;
            for i in first..to.len() {
                if i == first || to[i] != to[i - 1] {
                    to[end] = to[i];
                    end += 1;
                }
            }
            to.truncate(end);
            begin.push(end);
        }
        Self { begin, to }
    }

    fn near(&self, router: RouterId) -> &[RouterId] {
        &self.to[self.begin[router.index()]..self.begin[router.index() + 1]]
    }
}

/// 64 searches at once.
struct Waves {
    seen: Column<RouterId, u64>,
    front: Column<RouterId, u64>,
    next: Column<RouterId, u64>,
    looks: u64,
}

impl Waves {
    fn new(routers: usize) -> Self {
        let blank = Column::filled(routers, 0);
        Self { seen: blank.clone(), front: blank.clone(), next: blank, looks: 0 }
    }

    /// Searches from up to 64 routers and adds the pairs of terminals at each distance.
    fn run(
        &mut self,
        graph: &Graph,
        sources: &[RouterId],
        weights: &Column<RouterId, u32>,
        histogram: &mut Vec<u64>,
    ) {
        self.seen.cells_mut().fill(0);
        let weight = Weights::new(sources, weights);
        let mut active = Vec::new();
        for (bit, &source) in sources.iter().enumerate() {
            self.front[source] = 1 << bit;
            self.seen[source] = 1 << bit;
            active.push(source);
        }
        // Terminals of the same router, but not a terminal and itself.
        let own = |&r: &RouterId| u64::from(weights[r]) * u64::from(weights[r] - 1);
        count(histogram, 0, sources.iter().map(own).sum());
        let (mut reached, mut distance) = (Vec::new(), 0);
        while !active.is_empty() {
            distance += 1;
            for router in active.drain(..) {
                let mask = std::mem::take(&mut self.front[router]);
                let near = graph.near(router);
                self.looks += near.len() as u64;
                for &peer in near {
                    if self.next[peer] == 0 {
                        reached.push(peer);
                    }
                    self.next[peer] |= mask;
                }
            }
            let mut pairs = 0;
            for router in reached.drain(..) {
                let new = std::mem::take(&mut self.next[router]) & !self.seen[router];
                if new != 0 {
                    self.seen[router] |= new;
                    self.front[router] = new;
                    active.push(router);
                    pairs += weight.of(new) * u64::from(weights[router]);
                }
            }
            if pairs > 0 {
                count(histogram, distance, pairs);
            }
        }
    }
}

fn count(histogram: &mut Vec<u64>, distance: usize, pairs: u64) {
    if histogram.len() <= distance {
        histogram.resize(distance + 1, 0);
    }
    histogram[distance] += pairs;
}

/// Terminals of the sources of a batch.
struct Weights {
    /// That of all, if they are alike.
    same: Option<u64>,
    each: Vec<u64>,
}

impl Weights {
    fn new(sources: &[RouterId], weights: &Column<RouterId, u32>) -> Self {
        let each: Vec<u64> = sources.iter().map(|&r| weights[r].into()).collect();
        let same = each.iter().all(|w| *w == each[0]).then_some(each[0]);
        Self { same, each }
    }

    /// Of the sources in a mask together.
    fn of(&self, mask: u64) -> u64 {
        match self.same {
            Some(weight) => u64::from(mask.count_ones()) * weight,
            None => self.each.iter().enumerate().map(|(bit, w)| (mask >> bit & 1) * w).sum(),
        }
    }
}

/// How many shortest paths lead from router to router. Paths that differ in a parallel cable only are different paths.
#[derive(Clone, Debug, PartialEq)]
pub struct ShortestPaths {
    /// Mean over the ordered pairs of different routers with terminals that were looked at.
    pub mean: f64,
    /// Fewest over these pairs; 0 if some have no path.
    pub least: f64,
    /// Sources that were taken, of all routers with terminals.
    pub sources: u32,
}

/// Counts the shortest paths from all routers that have terminals, or from as many as `budget` looks at links allow; `None`
/// if fewer than two routers have terminals. Counts above 2^53 are rounded.
#[must_use]
pub fn shortest_paths(fabric: &Fabric, budget: u64) -> Option<ShortestPaths> {
    let ends = ends(fabric);
    if ends.len() < 2 {
        return None;
    }
    let routers = fabric.routers() as usize;
    let per_source = fabric.ports().iter().filter(|p| matches!(p.peer, Peer::Router { .. })).count() as u64;
    let most = (budget / per_source.max(1)).clamp(1, ends.len() as u64) as usize;
    let (mut sum, mut least) = (0.0, f64::INFINITY);
    let (mut distance, mut paths) = (Column::filled(routers, u32::MAX), Column::filled(routers, 0.0));
    for source in spread(ends.len()).take(most).map(|i| ends[i]) {
        distance.cells_mut().fill(u32::MAX);
        paths.cells_mut().fill(0.0);
        (distance[source], paths[source]) = (0, 1.0);
        let mut queue = vec![source];
        let mut next = 0;
        while let Some(&router) = queue.get(next) {
            next += 1;
            let (d, n) = (distance[router] + 1, paths[router]);
            for peer in neighbours(fabric, router) {
                if distance[peer] == u32::MAX {
                    distance[peer] = d;
                    queue.push(peer);
                }
                if distance[peer] == d {
                    paths[peer] += n;
                }
            }
        }
        for &end in ends.iter().filter(|&&end| end != source) {
            sum += paths[end];
            least = least.min(paths[end]);
        }
    }
    let mean = sum / (most * (ends.len() - 1)) as f64;
    Some(ShortestPaths { mean, least, sources: most as u32 })
}
