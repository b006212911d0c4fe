//! What tests of routings share.

use super::{Congestion, Hop, Routing};
use crate::{
    graph::{Fabric, Peer},
    registry::{Constant, TOPOLOGIES, values},
};
use base::{
    index::{ChannelId, PortId, RouterId, TerminalId},
    registry::find,
    rng::{Purpose, Stream},
    sorted::SortedMap,
};
use std::sync::Arc;

/// Panics when asked.
pub(crate) struct Never;

impl Congestion for Never {
    fn backlog(&mut self, port: PortId) -> u64 {
        panic!("asked for the backlog of port {port}")
    }
}

/// Backlog by port; others are idle.
pub(crate) struct Backlogs(pub(super) SortedMap<u32, u64>);

impl Congestion for Backlogs {
    fn backlog(&mut self, port: PortId) -> u64 {
        self.0.get(&port.number()).copied().unwrap_or(0)
    }
}

pub(crate) fn build(topology: &str, sample: &[(&str, Constant)]) -> Arc<Fabric> {
    let entry = find(TOPOLOGIES, topology).expect("registered");
    Arc::new((entry.build)(&values(entry.about.params, sample)).expect("possible"))
}

pub(crate) fn dragonfly([g, a, p, h]: [u64; 4]) -> Arc<Fabric> {
    let sample = [
        ("groups", Constant::Int(g)),
        ("routers_per_group", Constant::Int(a)),
        ("terminals_per_router", Constant::Int(p)),
        ("global_ports_per_router", Constant::Int(h)),
    ];
    build("dragonfly", &sample)
}

/// Groups, leaves and spines of each, terminals per leaf, global ports per spine.
pub(crate) fn dragonfly_plus([g, l, s, p, h]: [u64; 5]) -> Arc<Fabric> {
    let sample = [
        ("groups", Constant::Int(g)),
        ("leaves_per_group", Constant::Int(l)),
        ("spines_per_group", Constant::Int(s)),
        ("terminals_per_leaf", Constant::Int(p)),
        ("global_ports_per_spine", Constant::Int(h)),
    ];
    build("dragonfly-plus", &sample)
}

pub(crate) fn grid(wraps: bool, dims: &'static [u64]) -> Arc<Fabric> {
    build(if wraps { "torus" } else { "mesh" }, &[("dims", Constant::Ints(dims))])
}

/// A packet at its first router; terminals by their plain numbers.
pub(crate) fn hop(fabric: &Fabric, source: u32, destination: u32, seed: u64) -> Hop {
    let (source, destination) = (TerminalId::new(source), TerminalId::new(destination));
    let (router, in_port) = fabric.attached(source);
    let random = Stream::new(seed, Purpose::Route, 0);
    Hop { router, in_port, vc: ChannelId::FIRST, visited: 0, source, destination, state: 0, random }
}

/// All pairs of terminals.
pub(crate) fn pairs(fabric: &Fabric) -> impl Iterator<Item = (u32, u32)> + use<> {
    let n = fabric.terminals();
    (0..n).flat_map(move |s| (0..n).map(move |d| (s, d)))
}

/// Routers, ports and VCs of a packet's path without congestion, the ejection last.
pub(crate) fn path(
    fabric: &Fabric,
    routing: &dyn Routing,
    source: u32,
    destination: u32,
    seed: u64,
) -> Vec<(u32, u32, u8)> {
    let mut hop = hop(fabric, source, destination, seed);
    let mut path = Vec::new();
    loop {
        let choice = routing.route(&mut hop, &mut Backlogs(SortedMap::new()));
        path.push((hop.router.number(), choice.port.number(), choice.vc.number()));
        assert!(path.len() < 1000, "{source} -> {destination} never ends");
        match fabric.ports_of(hop.router)[choice.port.index()].peer {
            Peer::Router { router, port } => {
                (hop.router, hop.in_port, hop.vc, hop.state) = (router, port, choice.vc, choice.state);
                hop.visited += 1;
            }
            peer => {
                assert_eq!(peer, Peer::Terminal(TerminalId::new(destination)));
                return path;
            }
        }
    }
}

/// Pulls the cable out of a router's port.
pub(crate) fn fail(fabric: &mut Fabric, router: u32, port: u32) {
    let at = fabric.port_index(RouterId::new(router), PortId::new(port));
    let mut parts = fabric.parts().clone();
    let Peer::Router { router, port } = parts.ports[at].peer else { panic!("no link between routers") };
    let there = fabric.port_index(router, port);
    (parts.ports[at].peer, parts.ports[there].peer) = (Peer::None, Peer::None);
    parts.failed[0] += 1;
    *fabric = parts.into();
}
