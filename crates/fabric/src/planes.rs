//! Planes: copies of a network side by side, to each of which every node has a link of its own (a *rail*).
//!
//! [`stack`] makes k planes of one fabric. A *node* is what has one terminal in each of them. Numbers are shifted: with R routers,
//! P router ports and N terminals in a plane, router r of plane p is router `p R + r`, its ports follow those of the planes
//! before, and node n's terminal in plane p is terminal `p N + n`. So node n is also the number of its first terminal, and a
//! fabric with one plane is numbered as ever. No link leads from plane to plane: a packet stays on the rail on which
//! it was sent.
//!
//! A routing knows one plane: [`bind`] binds it to each ([`plane`] takes one out again) and shifts numbers back and forth.
//! Planes of which nothing failed are alike and share one. Links and routers fail in the stacked network by its numbers
//! ([`crate::faults`]).
//!
//! Not modelled: nodes whose links lead to several routers of one plane (each terminal has one link), planes that differ in
//! topology or links. Source: planes as sub-networks, Dally & Towles: Principles and Practices of Interconnection Networks, 2004;
//! rails, Coll et al.: Using Multirail Networks in High-Performance Clusters, CLUSTER 2001.

use crate::{
    graph::{Fabric, Parts, Peer, Port},
    routing::{Choice, Congestion, Facts, Hop, Routing, entry::Bound},
};
use base::{
    index::{ChannelId, LinkId, PortId, RouterId, TerminalId},
    param::Unread,
};
use std::sync::Arc;

/// Most planes of a network.
pub const MAX_PLANES: u32 = 16;

impl Fabric {
    /// Number of planes.
    #[inline]
    #[must_use]
    pub fn planes(&self) -> u32 {
        self.parts().failed.len() as u32
    }

    /// Number of nodes: terminals of a plane.
    #[inline]
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.terminals() / self.planes()
    }

    /// Routers of a plane.
    #[inline]
    #[must_use]
    pub fn routers_per_plane(&self) -> u32 {
        self.routers() / self.planes()
    }

    /// Plane of a terminal.
    #[inline]
    #[must_use]
    pub fn plane_of(&self, terminal: TerminalId) -> u32 {
        if self.planes() == 1 { 0 } else { terminal.number() / self.nodes() }
    }

    /// Node of a terminal, as the number of the node's first terminal.
    #[inline]
    #[must_use]
    pub fn node_of(&self, terminal: TerminalId) -> TerminalId {
        if self.planes() == 1 { terminal } else { TerminalId::new(terminal.number() % self.nodes()) }
    }

    /// Plane of a router.
    #[inline]
    #[must_use]
    pub fn plane_of_router(&self, router: RouterId) -> u32 {
        if self.planes() == 1 { 0 } else { router.number() / self.routers_per_plane() }
    }

    /// Terminal of a node in a plane.
    #[inline]
    #[must_use]
    pub fn terminal_in(&self, node: TerminalId, plane: u32) -> TerminalId {
        if plane == 0 { node } else { node.plus(plane * self.nodes()) }
    }

    /// Planes in which a node's terminal is not cut off, a bit each.
    #[must_use]
    pub fn rails_of(&self, node: TerminalId) -> u16 {
        let on = |plane: &u32| !self.is_cut_off(self.terminal_in(node, *plane));
        (0..self.planes()).filter(on).fold(0, |mask, plane| mask | 1 << plane)
    }

    /// Nodes that ranks may live on, ascending: any two of them have a plane in common in which neither is cut off. Nodes with more
    /// planes left come first, then those with lower numbers; a node that shares no plane with one before it is left out.
    #[must_use]
    pub fn usable_nodes(&self) -> Vec<TerminalId> {
        if self.cut_off().is_empty() {
            return TerminalId::first(self.nodes()).collect();
        }
        let mut nodes: Vec<(TerminalId, u16)> =
            TerminalId::first(self.nodes()).map(|n| (n, self.rails_of(n))).collect();
        nodes.sort_by_key(|&(n, rails)| (self.planes() - rails.count_ones(), n));
        let mut kinds: Vec<u16> = Vec::new();
        let mut usable = Vec::new();
        for (node, rails) in nodes {
            if rails != 0 && kinds.iter().all(|k| k & rails != 0) {
                usable.push(node);
                if !kinds.contains(&rails) {
                    kinds.push(rails);
                }
            }
        }
        usable.sort_unstable();
        usable
    }
}

/// `count` planes like this one, which must be a single one and whole.
///
/// # Panics
/// If `count` is 0 or more than [`MAX_PLANES`], or the fabric has several planes or failures.
#[must_use]
pub fn stack(fabric: &Fabric, count: u32) -> Fabric {
    assert!((1..=MAX_PLANES).contains(&count), "1 to {MAX_PLANES} planes");
    assert!(fabric.planes() == 1 && fabric.intact(), "a whole plane");
    let mut stacked = fabric.parts().clone();
    let (ports, terminals) = (fabric.router_ports(), fabric.terminals());
    for plane in 1..count {
        let routers = plane * fabric.routers();
        for base in &fabric.parts().port_base.cells()[1..] {
            stacked.port_base.push(base.plus(plane * ports));
        }
        for &(router, port) in fabric.attachments() {
            stacked.attach.push((router.plus(routers), port));
        }
        let peer = |peer| match peer {
            Peer::Router { router, port } => Peer::Router { router: router.plus(routers), port },
            Peer::Terminal(t) => Peer::Terminal(t.plus(plane * terminals)),
            Peer::None => Peer::None,
        };
        for port in fabric.ports() {
            stacked.ports.push(Port { peer: peer(port.peer), ..*port });
        }
    }
    stacked.failed = vec![0; count as usize];
    stacked.into()
}

/// One plane of a fabric by itself, numbered from 0.
///
/// # Panics
/// If there is no such plane.
#[must_use]
pub fn plane(fabric: &Fabric, plane: u32) -> Fabric {
    let (nodes, routers) = (fabric.nodes(), fabric.routers_per_plane());
    let (first, behind) = (plane * routers, (plane + 1) * routers);
    let start = fabric.first_port(RouterId::new(first));
    let whole = fabric.parts();
    let inner_router = |router: RouterId| RouterId::new(router.number() - first);
    let inner_terminal = |terminal: TerminalId| TerminalId::new(terminal.number() - plane * nodes);
    let peer = |peer| match peer {
        Peer::Router { router, port } => Peer::Router { router: inner_router(router), port },
        Peer::Terminal(t) => Peer::Terminal(inner_terminal(t)),
        Peer::None => Peer::None,
    };
    let own = |t: &&TerminalId| fabric.plane_of(**t) == plane;
    Fabric::from(Parts {
        topology: whole.topology,
        classes: whole.classes.clone(),
        port_base: whole.port_base.cells()[first as usize..=behind as usize]
            .iter()
            .map(|base| LinkId::new(base.number() - start.number()))
            .collect(),
        ports: fabric.ports()[start.index()..fabric.first_port(RouterId::new(behind)).index()]
            .iter()
            .map(|p| Port { peer: peer(p.peer), ..*p })
            .collect(),
        attach: fabric.attachments()[(plane * nodes) as usize..((plane + 1) * nodes) as usize]
            .iter()
            .map(|&(router, port)| (inner_router(router), port))
            .collect(),
        shape: Arc::clone(&whole.shape),
        failed: vec![whole.failed[plane as usize]],
        cut_off: whole.cut_off.iter().filter(own).map(|&t| inner_terminal(t)).collect(),
    })
}

/// The network as those see it who place nodes: its first plane, in which the nodes that no rank may live on
/// ([`Fabric::usable_nodes`]) are cut off.
#[must_use]
pub fn nodes(fabric: &Arc<Fabric>) -> Arc<Fabric> {
    if fabric.planes() == 1 {
        return Arc::clone(fabric);
    }
    let usable = fabric.usable_nodes();
    let mut first = plane(fabric, 0);
    first.set_cut_off(
        TerminalId::first(fabric.nodes()).filter(|n| usable.binary_search(n).is_err()).collect(),
    );
    Arc::new(first)
}

/// Binds a routing to every plane: one for all if nothing failed, else one for each.
///
/// # Errors
/// What `build` refuses, of the first plane that it refuses.
pub fn bind(fabric: &Arc<Fabric>, build: impl Fn(Arc<Fabric>) -> Bound) -> Bound {
    if fabric.planes() == 1 {
        return build(Arc::clone(fabric));
    }
    let different = if fabric.intact() { 1 } else { fabric.planes() };
    let routings =
        (0..different).map(|p| build(Arc::new(plane(fabric, p)))).collect::<Result<Vec<_>, _>>()?;
    Ok(Box::new(Stacked {
        routings,
        routers: fabric.routers_per_plane(),
        nodes: fabric.nodes(),
        ports: fabric.router_ports() / fabric.planes(),
    }))
}

/// A routing of each plane.
struct Stacked {
    /// By plane, or one for all.
    routings: Vec<Box<dyn Routing>>,
    /// Routers of a plane.
    routers: u32,
    /// Terminals of a plane.
    nodes: u32,
    /// Router ports of a plane.
    ports: u32,
}

impl Stacked {
    /// The plane of a hop, its routing, and the hop as the plane numbers it.
    #[inline]
    fn within(&self, hop: &Hop) -> (u32, &dyn Routing, Hop) {
        let plane = hop.router.number() / self.routers;
        let routing = self.routings.get(plane as usize).unwrap_or(&self.routings[0]);
        let inner = Hop {
            router: RouterId::new(hop.router.number() - plane * self.routers),
            source: TerminalId::new(hop.source.number() % self.nodes),
            destination: TerminalId::new(hop.destination.number() % self.nodes),
            ..*hop
        };
        (plane, routing.as_ref(), inner)
    }
}

impl Routing for Stacked {
    fn vcs(&self) -> u8 {
        self.routings.iter().map(|r| r.vcs()).max().unwrap_or(1)
    }

    #[inline]
    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let (plane, routing, mut inner) = self.within(hop);
        let choice = routing.route(&mut inner, &mut Shifted { congestion, ports: plane * self.ports });
        hop.random = inner.random;
        choice
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let (_, routing, inner) = self.within(hop);
        routing.options(&inner, out);
    }

    fn facts(&self) -> Facts {
        self.routings.iter().map(|r| r.facts()).reduce(Facts::either).unwrap_or(Facts::ADAPTIVE)
    }

    fn unread(&self) -> Vec<Unread> {
        // Planes are alike, but for failures, which change no key's meaning.
        self.routings.first().map_or_else(Vec::new, |r| r.unread())
    }

    fn memory(&self, hop: &Hop) -> u64 {
        let (_, routing, inner) = self.within(hop);
        routing.memory(&inner)
    }
}

/// A view of a network with planes for a routing that knows one.
struct Shifted<'a> {
    congestion: &'a mut dyn Congestion,
    /// Router ports of the planes before.
    ports: u32,
}

impl Congestion for Shifted<'_> {
    #[inline]
    fn backlog(&mut self, port: PortId) -> u64 {
        self.congestion.backlog(port)
    }

    #[inline]
    fn credits(&mut self, port: PortId, vc: ChannelId) -> u64 {
        self.congestion.credits(port, vc)
    }

    #[inline]
    fn published(&mut self, link: LinkId) -> u64 {
        self.congestion.published(link.plus(self.ports))
    }
}

#[cfg(test)]
mod tests;
