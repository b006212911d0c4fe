//! What all measures start from: who is next to whom, how far routers are, where terminals are.

use crate::graph::{Fabric, Peer};
use base::index::{Column, RouterId};

/// Terminals on each router; those cut off by failures do not count.
pub(super) fn weights(fabric: &Fabric) -> Column<RouterId, u32> {
    let mut weights = Column::filled(fabric.routers() as usize, 0);
    for terminal in fabric.reachable() {
        weights[fabric.router_at(terminal)] += 1;
    }
    weights
}

/// Routers that have terminals, ascending.
pub(super) fn ends(fabric: &Fabric) -> Vec<RouterId> {
    let weights = weights(fabric);
    RouterId::first(fabric.routers()).filter(|&r| weights[r] > 0).collect()
}

/// Routers at the other ends of a router's cables; parallel cables repeat them.
pub(super) fn neighbours(fabric: &Fabric, router: RouterId) -> impl Iterator<Item = RouterId> + '_ {
    fabric.ports_of(router).iter().filter_map(|port| match port.peer {
        Peer::Router { router, .. } => Some(router),
        _ => None,
    })
}

/// Fewest links from a router to every router (breadth first); `u32::MAX` where there is no path.
#[must_use]
pub fn distances(fabric: &Fabric, from: RouterId) -> Column<RouterId, u32> {
    let mut distance = Column::filled(fabric.routers() as usize, u32::MAX);
    distance[from] = 0;
    let mut queue = vec![from];
    let mut next = 0;
    while let Some(&router) = queue.get(next) {
        next += 1;
        for peer in neighbours(fabric, router) {
            if distance[peer] == u32::MAX {
                distance[peer] = distance[router] + 1;
                queue.push(peer);
            }
        }
    }
    distance
}

/// The numbers 0..n in an order that spreads any first part of it over all of them.
pub(super) fn spread(n: usize) -> impl Iterator<Item = usize> {
    let common = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    // Steps of about the golden section, coprime to n.
    let golden = (n as u64 * 618 / 1000).max(1) as usize;
    let step = (golden..).find(|&step| common(step, n) == 1).unwrap_or(1);
    (0..n).map(move |i| (i as u64 * step as u64 % n as u64) as usize)
}
