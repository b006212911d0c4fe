//! What tests of topologies share.

use crate::graph::{Fabric, Peer};

/// Cables by class: the terminals' own first, then those between routers.
pub(crate) fn links(fabric: &Fabric) -> Vec<u64> {
    let mut ends = vec![0; fabric.classes().len()];
    for port in fabric.ports() {
        match port.peer {
            Peer::Router { .. } => ends[usize::from(port.class)] += 1,
            Peer::Terminal(_) => ends[usize::from(port.class)] += 2,
            Peer::None => {}
        }
    }
    assert!(ends.iter().all(|n| n % 2 == 0), "{ends:?}");
    ends.iter().map(|n| n / 2).collect()
}

/// Routers at the other ends of a router's cables, in the order of ports.
pub(crate) fn peers(fabric: &Fabric, router: u32) -> Vec<u32> {
    let peer = |peer| match peer {
        Peer::Router { router, .. } => Some(router),
        _ => None,
    };
    fabric.ports_of(router).iter().filter_map(|p| peer(p.peer)).collect()
}

/// True if no two routers are linked twice and none to itself.
pub(crate) fn simple(fabric: &Fabric) -> bool {
    (0..fabric.routers()).all(|router| {
        let mut peers = peers(fabric, router);
        peers.push(router);
        peers.sort_unstable();
        peers.windows(2).all(|w| w[0] != w[1])
    })
}
