//! Measures of the graph: distances and diameter. They count links between routers; terminals' links do not count.

use crate::graph::{Fabric, Peer};

/// Fewest links from a router to every router (breadth first); `u32::MAX` where there is no way.
#[must_use]
pub fn distances(fabric: &Fabric, from: u32) -> Vec<u32> {
    let mut distance = vec![u32::MAX; fabric.routers() as usize];
    distance[from as usize] = 0;
    let mut queue = vec![from];
    let mut next = 0;
    while let Some(&router) = queue.get(next) {
        next += 1;
        for port in fabric.ports_of(router) {
            if let Peer::Router { router: peer, .. } = port.peer
                && distance[peer as usize] == u32::MAX
            {
                distance[peer as usize] = distance[router as usize] + 1;
                queue.push(peer);
            }
        }
    }
    distance
}

/// Greatest distance between two routers that have terminals; `None` if some pair has no way. It takes time
/// proportional to routers times links.
#[must_use]
pub fn diameter(fabric: &Fabric) -> Option<u32> {
    let mut ends: Vec<u32> = fabric.attach.iter().map(|&(router, _)| router).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut greatest = 0;
    for &from in &ends {
        let distance = distances(fabric, from);
        for &to in &ends {
            greatest = greatest.max(distance[to as usize]);
        }
    }
    (greatest != u32::MAX).then_some(greatest)
}
