//! Shortest paths in the graph, weighted by link class, and all next hops that lie on them.

use crate::graph::Fabric;

/// Distance of a router that has no path.
pub const UNREACHABLE: u32 = u32::MAX;

/// Distances from all routers to the router `to`: the least sum of the weights of the links on a way. `weights` has one
/// positive entry per link class (those of terminals' links do not count). Dijkstra's algorithm with a ring of buckets
/// (Dial 1969): time grows with links plus the greatest distance.
#[must_use]
pub fn distances_to(fabric: &Fabric, to: u32, weights: &[u32]) -> Vec<u32> {
    let span = weights.iter().max().map_or(1, |&w| w as usize) + 1;
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); span];
    let mut distance = vec![UNREACHABLE; fabric.routers() as usize];
    distance[to as usize] = 0;
    buckets[0].push(to);
    let (mut now, mut waiting) = (0usize, 1usize);
    while waiting > 0 {
        for router in std::mem::take(&mut buckets[now % span]) {
            waiting -= 1;
            if distance[router as usize] as usize != now {
                continue;
            }
            for (port, peer) in fabric.neighbours(router) {
                let class = fabric.ports_of(router)[port as usize].class;
                let reached = now as u32 + weights[usize::from(class)];
                if reached < distance[peer as usize] {
                    distance[peer as usize] = reached;
                    buckets[reached as usize % span].push(peer);
                    waiting += 1;
                }
            }
        }
        now += 1;
    }
    distance
}

/// Appends the ports of `router` that begin a shortest path, given [`distances_to`] its end.
pub fn next_ports(fabric: &Fabric, router: u32, distance: &[u32], weights: &[u32], out: &mut Vec<u32>) {
    let here = distance[router as usize];
    if here == 0 || here == UNREACHABLE {
        return;
    }
    out.extend(
        fabric
            .neighbours(router)
            .filter(|&(port, peer)| {
                let class = fabric.ports_of(router)[port as usize].class;
                distance[peer as usize].checked_add(weights[usize::from(class)]) == Some(here)
            })
            .map(|(port, _)| port),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metrics::distances, routing::testing};

    #[test]
    fn unit_weights_count_links() {
        for fabric in [testing::grid(true, &[5, 4]), testing::dragonfly([9, 4, 2, 2])] {
            let weights = vec![1; fabric.classes().len()];
            for to in 0..fabric.routers() {
                assert_eq!(distances_to(&fabric, to, &weights), distances(&fabric, to));
            }
        }
    }

    #[test]
    fn weights_turn_the_path() {
        // With dear global links two local hops and one global link beat two global ones.
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let (from, to) = (0, 8 * 4 + 3);
        let plain = distances_to(&fabric, to, &[1, 1, 1])[from];
        let dear = distances_to(&fabric, to, &[1, 1, 10])[from];
        assert!(plain <= 3 && (10..=12).contains(&dear), "{plain} {dear}");
        for router in 0..fabric.routers() {
            let distance = distances_to(&fabric, to, &[1, 1, 10]);
            let mut ports = Vec::new();
            next_ports(&fabric, router, &distance, &[1, 1, 10], &mut ports);
            assert_eq!(ports.is_empty(), router == to);
            for port in ports {
                let class = fabric.ports_of(router)[port as usize].class;
                let step = if class == 2 { 10 } else { 1 };
                let peer = fabric.next_router(router, port).unwrap();
                assert_eq!(distance[peer as usize] + step, distance[router as usize]);
            }
        }
    }
}
