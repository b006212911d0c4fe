//! The network as a graph: routers, terminals, ports and links. It has no clock and no rates.
//!
//! Every router has ports `0..degree`. A port is one end of a bidirectional cable: its *output* is one directed link
//! and its *input* the other. A directed link is therefore named by the output port that feeds it: router ports come
//! first (`port_base[router] + port`), then one injection link per terminal port.

use base::index::{Column, LinkId, PortId, RouterId, TerminalId};
use std::{any::Any, sync::Arc};

/// What is at the other end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A router's port.
    Router {
        /// Router that the other end belongs to.
        router: RouterId,
        /// The port of it that is meant.
        port: PortId,
    },
    /// A terminal: it has one cable, so no port is named.
    Terminal(TerminalId),
    /// Nothing is plugged in (meshes have such ports at their edges).
    None,
}

/// A router's port: what class of link it has and who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Index in [`Fabric::classes`].
    pub class: u8,
    /// The other end.
    pub peer: Peer,
}

/// A network: graph plus what its topology knows about itself. Who reads it asks; only what builds networks knows how they are kept.
///
/// Routers, ports, links and terminals are numbered, each kind by a type of its own:
///
/// ```
/// use base::index::{RouterId, TerminalId};
/// use fabric::registry::{TOPOLOGIES, values};
///
/// let switch = TOPOLOGIES.iter().find(|t| t.about.name == "single-switch").unwrap();
/// let fabric = (switch.build)(&values(switch.about.params, switch.small[0])).unwrap();
/// let (router, port) = fabric.attached(TerminalId::new(0));
/// assert_eq!(router, RouterId::new(0));
/// assert_eq!(fabric.router_of(fabric.port_index(router, port)), router);
/// ```
///
/// A terminal's number where a router's is asked does not compile:
///
/// ```compile_fail,E0308
/// # use base::index::TerminalId;
/// # fn of(fabric: &fabric::graph::Fabric) {
/// fabric.ports_of(TerminalId::new(1));
/// # }
/// ```
#[derive(Clone)]
pub struct Fabric {
    parts: Parts,
}

/// What a network consists of, for those who build one or make another of it: [`Fabric::parts`], [`Fabric::from`].
#[derive(Clone)]
pub(crate) struct Parts {
    /// Registered name, which [`Fabric::topology`] gives.
    pub(crate) topology: &'static str,
    /// Names of link classes, by [`Port::class`]; see [`Fabric::classes`].
    pub(crate) classes: Vec<&'static str>,
    /// First global port index of each router, and one past the last: length `routers + 1`.
    pub(crate) port_base: Column<RouterId, LinkId>,
    /// All router ports, router by router.
    pub(crate) ports: Column<LinkId, Port>,
    /// Router and port of each terminal.
    pub(crate) attach: Column<TerminalId, (RouterId, PortId)>,
    /// Geometry for routings of this topology; see [`Fabric::shape`].
    pub(crate) shape: Arc<dyn Any + Send + Sync>,
    /// Links between routers that failed, by plane: its length is the number of planes, 1 unless [`crate::planes`] made more.
    /// Failed links' ports have [`Peer::None`], and [`Fabric::shape`] still has them.
    pub(crate) failed: Vec<u32>,
    /// Terminals that lost their network, as [`Fabric::cut_off`] gives them.
    pub(crate) cut_off: Vec<TerminalId>,
}

impl From<Parts> for Fabric {
    fn from(parts: Parts) -> Self {
        let (ports, base) = (parts.ports.len(), &parts.port_base);
        assert!(
            base.cells().last().is_some_and(|end| end.index() == ports),
            "every port belongs to a router"
        );
        Self { parts }
    }
}

impl Fabric {
    /// How it is kept.
    #[inline]
    pub(crate) fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Topology's registered name.
    #[inline]
    #[must_use]
    pub fn topology(&self) -> &'static str {
        self.parts.topology
    }

    /// Names of link classes, the terminal class first: `["terminal", "local", "global"]`.
    #[inline]
    #[must_use]
    pub fn classes(&self) -> &[&'static str] {
        &self.parts.classes
    }

    /// All router ports, router by router: in the order of global port indices.
    #[inline]
    #[must_use]
    pub fn ports(&self) -> &[Port] {
        self.parts.ports.cells()
    }

    /// The router port whose output a directed link is: its number is the port's global index.
    #[inline]
    #[must_use]
    pub fn port(&self, link: LinkId) -> Port {
        self.parts.ports[link]
    }

    /// Number of router ports, which is also the number of the first injection link.
    #[inline]
    #[must_use]
    pub fn router_ports(&self) -> u32 {
        self.parts.ports.len() as u32
    }

    /// Global index of a router's first port; for [`Fabric::routers`] one past the last port.
    #[inline]
    #[must_use]
    pub fn first_port(&self, router: RouterId) -> LinkId {
        self.parts.port_base[router]
    }

    /// Router and port of a terminal.
    #[inline]
    #[must_use]
    pub fn attached(&self, terminal: TerminalId) -> (RouterId, PortId) {
        self.parts.attach[terminal]
    }

    /// Router and port of every terminal, in order.
    #[inline]
    #[must_use]
    pub fn attachments(&self) -> &[(RouterId, PortId)] {
        self.parts.attach.cells()
    }

    /// Terminals that failures cut off from most of their plane, ascending: no routing finds a way to them; see
    /// [`crate::faults`].
    #[inline]
    #[must_use]
    pub fn cut_off(&self) -> &[TerminalId] {
        &self.parts.cut_off
    }

    /// The same network with another geometry.
    #[must_use]
    pub fn with_shape(self, shape: impl Any + Send + Sync) -> Self {
        Self { parts: Parts { shape: Arc::new(shape), ..self.parts } }
    }

    /// Says which terminals are cut off.
    pub(crate) fn set_cut_off(&mut self, terminals: Vec<TerminalId>) {
        self.parts.cut_off = terminals;
    }

    /// True if nothing failed. Only then may a routing trust [`Fabric::shape`]; others find their paths in the graph.
    #[must_use]
    pub fn intact(&self) -> bool {
        self.failed_links() == 0 && self.parts.cut_off.is_empty()
    }

    /// Links between routers that failed.
    #[must_use]
    pub fn failed_links(&self) -> u32 {
        self.parts.failed.iter().sum()
    }

    /// True if failures cut this terminal off.
    #[must_use]
    pub fn is_cut_off(&self, terminal: TerminalId) -> bool {
        self.parts.cut_off.binary_search(&terminal).is_ok()
    }

    /// Terminals that are not cut off, ascending.
    pub fn reachable(&self) -> impl Iterator<Item = TerminalId> + '_ {
        TerminalId::first(self.terminals()).filter(|&t| !self.is_cut_off(t))
    }

    /// Router at the other end of a router's port, if there is one.
    #[inline]
    #[must_use]
    pub fn next_router(&self, router: RouterId, port: PortId) -> Option<RouterId> {
        match self.parts.ports[self.port_index(router, port)].peer {
            Peer::Router { router, .. } => Some(router),
            _ => None,
        }
    }

    /// Ports of a router that lead to routers, each with the router behind it.
    pub fn neighbours(&self, router: RouterId) -> impl Iterator<Item = (PortId, RouterId)> + '_ {
        self.ports_of(router).iter().enumerate().filter_map(|(port, p)| match p.peer {
            Peer::Router { router, .. } => Some((PortId::new(port as u32), router)),
            _ => None,
        })
    }

    /// Routers with terminals that are not cut off, in order.
    #[must_use]
    pub fn ends(&self) -> Vec<RouterId> {
        let mut ends: Vec<RouterId> = self.reachable().map(|t| self.router_at(t)).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// Number of routers.
    #[inline]
    #[must_use]
    pub fn routers(&self) -> u32 {
        (self.parts.port_base.len() - 1) as u32
    }

    /// Number of terminals.
    #[inline]
    #[must_use]
    pub fn terminals(&self) -> u32 {
        self.parts.attach.len() as u32
    }

    /// Global index of a router's port; names the directed link that it feeds.
    #[inline]
    #[must_use]
    pub fn port_index(&self, router: RouterId, port: PortId) -> LinkId {
        self.parts.port_base[router].plus(port.number())
    }

    /// Ports of a router.
    #[inline]
    #[must_use]
    pub fn ports_of(&self, router: RouterId) -> &[Port] {
        let base = &self.parts.port_base;
        &self.ports()[base[router].index()..base[router.plus(1)].index()]
    }

    /// Router that a directed link leaves.
    #[must_use]
    pub fn router_of(&self, link: LinkId) -> RouterId {
        RouterId::from_index(self.parts.port_base.cells().partition_point(|&b| b <= link) - 1)
    }

    /// Router of a terminal.
    #[inline]
    #[must_use]
    pub fn router_at(&self, terminal: TerminalId) -> RouterId {
        self.parts.attach[terminal].0
    }

    /// The topology's own geometry, if it is of type `T`.
    #[must_use]
    pub fn shape<T: Any>(&self) -> Option<&T> {
        self.parts.shape.downcast_ref()
    }
}
