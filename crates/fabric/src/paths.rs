//! Shortest paths in the graph, weighted by link class, and all next hops that lie on them.

use crate::graph::Fabric;
use base::index::{Column, PortId, RouterId};

/// Distance of a router that has no path.
pub const UNREACHABLE: u32 = u32::MAX;

/// Distances from all routers to the router `to`: the least sum of the weights of the links on a way. `weights` has one
/// positive entry per link class (those of terminals' links do not count). Dijkstra's algorithm with a ring of buckets
/// (Dial 1969): time grows with links plus the greatest distance.
#[must_use]
pub fn distances_to(fabric: &Fabric, to: RouterId, weights: &[u32]) -> Column<RouterId, u32> {
    let span = weights.iter().max().map_or(1, |&w| w as usize) + 1;
    let mut buckets: Vec<Vec<RouterId>> = vec![Vec::new(); span];
    let mut distance = Column::filled(fabric.routers() as usize, UNREACHABLE);
    distance[to] = 0;
    buckets[0].push(to);
    let (mut now, mut waiting) = (0usize, 1usize);
    while waiting > 0 {
        for router in std::mem::take(&mut buckets[now % span]) {
            waiting -= 1;
            if distance[router] as usize != now {
                continue;
            }
            for (port, peer) in fabric.neighbours(router) {
                let class = fabric.ports_of(router)[port.index()].class;
                let reached = now as u32 + weights[usize::from(class)];
                if reached < distance[peer] {
                    distance[peer] = reached;
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
pub fn next_ports(
    fabric: &Fabric,
    router: RouterId,
    distance: &Column<RouterId, u32>,
    weights: &[u32],
    out: &mut Vec<PortId>,
) {
    let here = distance[router];
    if here == 0 || here == UNREACHABLE {
        return;
    }
    out.extend(
        fabric
            .neighbours(router)
            .filter(|&(port, peer)| {
                let class = fabric.ports_of(router)[port.index()].class;
                distance[peer].checked_add(weights[usize::from(class)]) == Some(here)
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
            for to in RouterId::first(fabric.routers()) {
                assert_eq!(distances_to(&fabric, to, &weights), distances(&fabric, to));
            }
        }
    }

    #[test]
    fn weights_turn_the_path() {
        // With dear global links two local hops and one global link beat two global ones.
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let (from, to) = (0, 8 * 4 + 3);
        let plain = distances_to(&fabric, RouterId::new(to), &[1, 1, 1])[RouterId::new(from)];
        let dear = distances_to(&fabric, RouterId::new(to), &[1, 1, 10])[RouterId::new(from)];
        assert!(plain <= 3 && (10..=12).contains(&dear), "{plain} {dear}");
        for router in RouterId::first(fabric.routers()) {
            let distance = distances_to(&fabric, RouterId::new(to), &[1, 1, 10]);
            let mut ports = Vec::new();
            next_ports(&fabric, router, &distance, &[1, 1, 10], &mut ports);
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
