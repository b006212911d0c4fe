//! Shortest paths in the graph, weighted by link class, and all next hops that lie on them.

use crate::graph::Fabric;
use base::index::{Column, PortId, RouterId};

/// Distance of a router that has no path.
pub const UNREACHABLE: u32 = u32::MAX;

/// The links between the routers of a fabric, with their lengths: what searches for one router after another read.
pub struct Steps {
    /// First step of each router, and one past the last of all.
    begin: Vec<u32>,
    steps: Vec<Step>,
    /// One more than the greatest length.
    span: usize,
}

/// A link by which a router is left.
struct Step {
    port: PortId,
    to: RouterId,
    length: u32,
}

/// Distances of all routers from one, and what a search for them needs. It is used again for the next one.
pub struct Distances {
    /// By router; [`UNREACHABLE`] if it has no path.
    pub of: Column<RouterId, u32>,
    /// Routers at a distance, modulo the number of buckets.
    buckets: Vec<Vec<RouterId>>,
    /// The bucket that is being emptied.
    bucket: Vec<RouterId>,
}

impl Steps {
    /// The links of a fabric. `weights` has one positive length per link class (those of terminals' links do not count).
    #[must_use]
    pub fn new(fabric: &Fabric, weights: &[u32]) -> Self {
        let (mut begin, mut steps) = (vec![0], Vec::new());
        for router in RouterId::first(fabric.routers()) {
            let ports = fabric.ports_of(router);
            let length = |port: PortId| weights[usize::from(ports[port.index()].class)];
            steps.extend(fabric.neighbours(router).map(|(port, to)| Step { port, to, length: length(port) }));
            begin.push(steps.len() as u32);
        }
        Self { begin, steps, span: weights.iter().max().map_or(1, |&w| w as usize) + 1 }
    }

    /// Room for distances.
    #[must_use]
    pub fn distances(&self) -> Distances {
        let of = Column::filled(self.begin.len() - 1, UNREACHABLE);
        Distances { of, buckets: vec![Vec::new(); self.span], bucket: Vec::new() }
    }

    fn from(&self, router: RouterId) -> &[Step] {
        &self.steps[self.begin[router.index()] as usize..self.begin[router.index() + 1] as usize]
    }

    /// Distances from all routers to the router `to`: the least sum of the lengths of the links on a way. Dijkstra's algorithm with a ring of
    /// buckets (Dial 1969): time grows with links plus the greatest distance.
    pub fn distances_to(&self, to: RouterId, distances: &mut Distances) {
        let Distances { of, buckets, bucket } = distances;
        of.cells_mut().fill(UNREACHABLE);
        of[to] = 0;
        if self.span == 2 {
            return self.count_links(to, of, bucket);
        }
        buckets[0].push(to);
        let (mut now, mut waiting) = (0u32, 1usize);
        while waiting > 0 {
            std::mem::swap(bucket, &mut buckets[now as usize % self.span]);
            for router in bucket.drain(..) {
                waiting -= 1;
                if of[router] != now {
                    continue;
                }
                for step in self.from(router) {
                    let reached = now + step.length;
                    if reached < of[step.to] {
                        of[step.to] = reached;
                        buckets[reached as usize % self.span].push(step.to);
                        waiting += 1;
                    }
                }
            }
            now += 1;
        }
    }

    /// The same where each length is 1, breadth first; `seen` is empty before and after.
    fn count_links(&self, to: RouterId, of: &mut Column<RouterId, u32>, seen: &mut Vec<RouterId>) {
        seen.push(to);
        let mut head = 0;
        while let Some(&router) = seen.get(head) {
            head += 1;
            let reached = of[router] + 1;
            for step in self.from(router) {
                if of[step.to] == UNREACHABLE {
                    of[step.to] = reached;
                    seen.push(step.to);
                }
            }
        }
        seen.clear();
    }

    /// Appends the ports of `router` that begin a shortest path, given [`Steps::distances_to`] its end.
    pub fn next_ports(&self, router: RouterId, distances: &Distances, out: &mut Vec<PortId>) {
        let here = distances.of[router];
        if here == 0 || here == UNREACHABLE {
            return;
        }
        for step in self.from(router) {
            if distances.of[step.to].checked_add(step.length) == Some(here) {
                out.push(step.port);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metrics::distances, routing::testing};

    #[test]
    fn unit_weights_count_links() {
        for fabric in [testing::grid(true, &[5, 4]), testing::dragonfly([9, 4, 2, 2])] {
            let steps = Steps::new(&fabric, &vec![1; fabric.classes().len()]);
            let mut found = steps.distances();
            for to in RouterId::first(fabric.routers()) {
                steps.distances_to(to, &mut found);
                assert_eq!(found.of, distances(&fabric, to));
            }
        }
    }

    #[test]
    fn weights_turn_the_path() {
        // With dear global links two local hops and one global link beat two global ones.
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let (from, to) = (0, 8 * 4 + 3);
        let found = |weights: &[u32]| {
            let steps = Steps::new(&fabric, weights);
            let mut found = steps.distances();
            steps.distances_to(RouterId::new(to), &mut found);
            (steps, found)
        };
        let plain = found(&[1, 1, 1]).1.of[RouterId::new(from)];
        let (steps, distances) = found(&[1, 1, 10]);
        let (distance, dear) = (&distances.of, distances.of[RouterId::new(from)]);
        assert!(plain <= 3 && (10..=12).contains(&dear), "{plain} {dear}");
        for router in RouterId::first(fabric.routers()) {
            let mut ports = Vec::new();
            steps.next_ports(router, &distances, &mut ports);
            assert_eq!(ports.is_empty(), router == RouterId::new(to));
            for port in ports {
                let class = fabric.ports_of(router)[port.index()].class;
                let step = if class == 2 { 10 } else { 1 };
                let peer = fabric.next_router(router, port).unwrap();
                assert_eq!(distance[peer] + step, distance[router]);
            }
        }
    }
}
