//! What tests of topologies share.

use crate::graph::{Fabric, Peer};
use base::index::RouterId;

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

/// Routers at the other ends of a router's cables, in the order of ports, all by plain numbers.
pub(crate) fn peers(fabric: &Fabric, router: u32) -> Vec<u32> {
    let peer = |peer| match peer {
        Peer::Router { router, .. } => Some(router.number()),
        _ => None,
    };
    fabric.ports_of(RouterId::new(router)).iter().filter_map(|p| peer(p.peer)).collect()
}

/// True if no two routers are linked twice and none to itself.
pub(crate) fn simple(fabric: &Fabric) -> bool {
    RouterId::first(fabric.routers()).all(|router| {
        let mut peers = peers(fabric, router.number());
        peers.push(router.number());
        peers.sort_unstable();
        peers.windows(2).all(|w| w[0] != w[1])
    })
}
