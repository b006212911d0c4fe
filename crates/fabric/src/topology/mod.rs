//! Topologies: each builds a [`Fabric`] from its parameters and leaves its geometry in [`Fabric::shape`].

pub mod arrangement;
pub mod cray_dragonfly;
pub mod dragonfly;
pub mod dragonfly_plus;
pub mod entry;
pub mod flattened_butterfly;
pub mod galois;
pub mod graph;
pub mod grid;
pub mod haec_box;
pub mod hierarchical;
pub mod hypercube;
pub mod hyperx;
pub mod imported;
pub mod jellyfish;
pub mod parking_lot;
pub mod platform;
pub mod slim_fly;
pub mod switch;
#[cfg(test)]
mod testing;
pub mod tree;
pub mod xgft;

use crate::graph::{Fabric, Parts, Peer, Port};
use base::{
    index::{Column, LinkId, PortId, RouterId, TerminalId},
    param::Problem,
};
use std::{any::Any, sync::Arc};

/// Largest number of directed links (router ports plus injection links): they are named by 31 bits.
pub const MAX_LINKS: u64 = 1 << 31;

/// How large a fabric is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Number of routers in the network.
    pub routers: u64,
    /// Number of terminals in the network.
    pub terminals: u64,
    /// Ports of all routers, those with nothing plugged in included.
    pub ports: u64,
    /// Routers with terminals; 0 where a file says it, which is read by then.
    pub ends: u64,
}

impl Sizes {
    /// Sizes computed with checked arithmetic (`None`: overflow); `key` is what the user should look at.
    ///
    /// # Errors
    /// If they overflow, or there are more links than [`MAX_LINKS`].
    pub fn within_limits(sizes: Option<Self>, key: &str) -> Result<Self, Vec<Problem>> {
        match sizes {
            Some(s) if s.ports.saturating_add(s.terminals) <= MAX_LINKS => Ok(s),
            _ => Err(vec![
                Problem::new(key, format!("the network would have more than {MAX_LINKS} links"))
                    .help("choose smaller parameters"),
            ]),
        }
    }
}

/// A fabric under construction: all ports exist and nothing is plugged in. Takes plain numbers, since topologies compute them.
pub struct Wiring {
    port_base: Column<RouterId, LinkId>,
    ports: Column<LinkId, Port>,
    attach: Column<TerminalId, (RouterId, PortId)>,
}

impl Wiring {
    /// Routers with the given numbers of ports, those of terminals included.
    pub fn new(degrees: impl IntoIterator<Item = u32>) -> Self {
        let mut total = LinkId::new(0);
        let mut port_base = Column::filled(1, total);
        for degree in degrees {
            total = total.plus(degree);
            port_base.push(total);
        }
        let ports = Column::filled(total.index(), Port { class: 0, peer: Peer::None });
        Self { port_base, ports, attach: Column::default() }
    }

    /// Plugs a cable of `class`, a position in the list of classes, into two ports: `(router, port)` each.
    ///
    /// # Panics
    /// If there is no such router or port.
    pub fn link(&mut self, class: u8, a: (u32, u32), b: (u32, u32)) {
        for ((router, port), (peer, peer_port)) in [(a, b), (b, a)] {
            let peer = Peer::Router { router: RouterId::new(peer), port: PortId::new(peer_port) };
            self.set(router, port, Port { class, peer });
        }
    }

    /// Gives a port its class and leaves it unplugged.
    ///
    /// # Panics
    /// If there is no such router or port.
    pub fn unplugged(&mut self, class: u8, router: u32, port: u32) {
        self.set(router, port, Port { class, peer: Peer::None });
    }

    /// Connects the next terminal; terminals are numbered in the order of the calls.
    ///
    /// # Panics
    /// If there is no such router or port.
    pub fn terminal(&mut self, router: u32, port: u32) {
        let terminal = self.attach.push((RouterId::new(router), PortId::new(port)));
        self.set(router, port, Port { class: 0, peer: Peer::Terminal(terminal) });
    }

    fn set(&mut self, router: u32, port: u32, to: Port) {
        let slot = &mut self.ports[self.port_base[RouterId::new(router)].plus(port)];
        debug_assert!(slot.peer == Peer::None || *slot == to, "router {router} port {port} is taken");
        *slot = to;
    }

    /// The finished fabric. `shape` is what routings for this topology alone ask for ([`Fabric::shape`]).
    #[must_use]
    pub fn finish<S: Any + Send + Sync>(
        self,
        topology: &'static str,
        classes: &'static [&'static str],
        shape: S,
    ) -> Fabric {
        Fabric::from(Parts {
            topology,
            classes: classes.to_vec(),
            port_base: self.port_base,
            ports: self.ports,
            attach: self.attach,
            shape: Arc::new(shape),
            failed: vec![0],
            cut_off: Vec::new(),
        })
    }
}
