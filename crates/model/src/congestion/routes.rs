//! Which directed links a message crosses.

use base::{
    hash::mix64,
    rng::{Purpose, Stream},
};
use fabric::{
    graph::{Fabric, Peer},
    routing::{Congestion, Hop, Routing},
    subnet::{Lost, Subnet, Tables},
};

/// A way through the network for every message: oblivious, so a function of the message alone.
pub trait Routes: Sync {
    /// Hosts, the ends of messages.
    fn hosts(&self) -> u32;

    /// Directed links, numbered from 0.
    fn edges(&self) -> u32;

    /// Appends the links of a message. `draw` tells messages apart where a routing chooses at random, and local identifiers of a
    /// destination where it has several.
    ///
    /// # Errors
    /// If the message does not arrive.
    fn path(&self, from: u32, to: u32, draw: u64, out: &mut Vec<u32>) -> Result<(), Lost>;
}

/// Which of a destination's local identifiers (LMC) a message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multipath {
    /// The first.
    First,
    /// One at random, by message.
    Random,
}

/// Routes by the forwarding tables of a subnet.
pub struct TableRoutes<'a> {
    /// The subnet.
    pub subnet: &'a Subnet,
    /// Its tables.
    pub tables: &'a Tables,
    /// Choice among several local identifiers.
    pub multipath: Multipath,
}

impl Routes for TableRoutes<'_> {
    fn hosts(&self) -> u32 {
        self.subnet.hosts.len() as u32
    }

    fn edges(&self) -> u32 {
        self.subnet.edges.len() as u32
    }

    #[inline]
    fn path(&self, from: u32, to: u32, draw: u64, out: &mut Vec<u32>) -> Result<(), Lost> {
        let plane = match self.multipath {
            Multipath::First => 0,
            Multipath::Random => (mix64(draw) % u64::from(self.tables.planes)) as u32,
        };
        let row = self.tables.row(to, plane);
        self.tables.walk(self.subnet, self.subnet.hosts[from as usize], row, out)
    }
}

/// Routes by a routing of a fabric. Links are named as in [`Fabric::port_index`], then one injection link for each terminal.
pub struct FabricRoutes<'a> {
    /// The network.
    pub fabric: &'a Fabric,
    /// An oblivious routing on it.
    pub routing: &'a dyn Routing,
    /// Seed of random choices.
    pub seed: u64,
}

/// Most routers that a message may visit.
const MOST_HOPS: u16 = 4_096;

/// A network without traffic: an oblivious routing does not look at it.
struct Idle;

impl Congestion for Idle {
    fn backlog(&mut self, _port: u32) -> u64 {
        0
    }
}

impl Routes for FabricRoutes<'_> {
    fn hosts(&self) -> u32 {
        self.fabric.terminals()
    }

    fn edges(&self) -> u32 {
        self.fabric.ports.len() as u32 + self.fabric.terminals()
    }

    #[inline]
    fn path(&self, from: u32, to: u32, draw: u64, out: &mut Vec<u32>) -> Result<(), Lost> {
        let fabric = self.fabric;
        if from == to {
            return Ok(());
        }
        let (mut router, mut in_port) = fabric.attach[from as usize];
        out.push(fabric.ports.len() as u32 + from);
        let random = Stream::new(self.seed, Purpose::Route, draw);
        let (mut vc, mut state, mut visited) = (0, 0, 0u16);
        loop {
            // Hops draw from places of their own.
            let random = random.at(u64::from(visited) << 8);
            let mut hop = Hop { router, in_port, vc, visited, source: from, destination: to, state, random };
            let choice = self.routing.route(&mut hop, &mut Idle);
            let index = fabric.port_index(router, choice.port);
            out.push(index);
            match fabric.ports[index as usize].peer {
                Peer::Terminal(t) if t == to => return Ok(()),
                Peer::Router { router: next, port } if visited < MOST_HOPS => {
                    (router, in_port, vc, state) = (next, port, choice.vc, choice.state);
                    visited += 1;
                }
                Peer::Router { .. } => return Err(Lost::Loop(router)),
                _ => return Err(Lost::NoWay(router)),
            }
        }
    }
}
