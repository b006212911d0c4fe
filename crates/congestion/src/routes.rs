//! Which directed links a message crosses.

use base::{
    hash::mix64,
    index::{ChannelId, LinkId, PortId, RouterId, TerminalId},
    rng::{Purpose, Stream},
};
use fabric::{
    graph::{Fabric, Peer},
    routing::{Congestion, Hop, Routing},
    subnet::{Lost, Subnet, Tables},
};

/// A path through the network for every message: oblivious, so a function of the message alone.
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

    /// Appends the links of up to [`BLOCK`] messages between hosts, one message after the other, and to `ends` where each one's links end; message
    /// i draws as `draw + i`. Messages that do not arrive have no links; returns how many they are.
    fn paths(&self, messages: &[(u32, u32)], draw: u64, out: &mut Vec<u32>, ends: &mut Vec<u32>) -> u64 {
        let mut lost = 0;
        for (i, &(from, to)) in (0u64..).zip(messages) {
            let begin = out.len();
            if self.path(from, to, draw.wrapping_add(i), out).is_err() {
                out.truncate(begin);
                lost += 1;
            }
            ends.push(out.len() as u32);
        }
        lost
    }
}

/// Messages that are routed at once.
pub const BLOCK: usize = 64;

/// Which of a destination's local identifiers (LMC) a message uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Multipath {
    /// The first of each host (plane 0), for all messages.
    First,
    /// One at random, by message.
    Random,
}

/// Routes by the forwarding tables of a subnet.
pub struct TableRoutes<'a> {
    /// Hosts, switches and the directed edges between them.
    pub subnet: &'a Subnet,
    /// Edge on which each switch passes on a message, by local identifier of its destination.
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
        self.tables.carry(self.subnet, from, row, out)
    }
}

/// Routes by a routing of a fabric. Links are named as in [`Fabric::port_index`], then one injection link for each terminal.
pub struct FabricRoutes<'a> {
    /// The network on which all of it runs.
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
    fn backlog(&mut self, _port: PortId) -> u64 {
        0
    }
}

impl FabricRoutes<'_> {
    /// True if the routing spreads: of some pairs, the path depends on what a message draws.
    #[must_use]
    pub fn spreads(&self) -> bool {
        const PAIRS: u32 = 64;
        let hosts = self.hosts();
        let (step, turn) = (hosts.div_ceil(PAIRS).max(1), hosts / 2 + 1);
        let path = |from: u32, draw: u64| {
            let mut links = Vec::new();
            // Who has no way is counted elsewhere.
            self.path(from, (from + turn) % hosts, draw, &mut links).ok().map(|()| links)
        };
        (0..hosts).step_by(step as usize).any(|from| (1..4).any(|draw| path(from, draw) != path(from, 0)))
    }

    /// The next hop of a message: the port's index, and where the message then is; itself if it has arrived.
    #[inline]
    fn decide(&self, at: &mut Walker) -> LinkId {
        let Walker { router, in_port, vc, state, visited, source, destination, draw, .. } = *at;
        // Hops draw from places of their own.
        let random = Stream::new(self.seed, Purpose::Route, draw).at(u64::from(visited) << 8);
        let mut hop = Hop { router, in_port, vc, visited, source, destination, state, random };
        let choice = self.routing.route(&mut hop, &mut Idle);
        (at.vc, at.state) = (choice.vc, choice.state);
        self.fabric.port_index(router, choice.port)
    }

    /// Crosses a link: true if the message has arrived.
    #[inline]
    fn cross(&self, at: &mut Walker, index: LinkId) -> Result<bool, Lost> {
        match self.fabric.port(index).peer {
            Peer::Terminal(t) if t == at.destination => return Ok(true),
            Peer::Router { router, port } if at.visited < MOST_HOPS => {
                (at.router, at.in_port) = (router, port);
                at.visited += 1;
            }
            Peer::Router { .. } => return Err(Lost::Loop(at.router.number())),
            _ => return Err(Lost::NoRoute(at.router.number())),
        }
        Ok(false)
    }

    fn start(&self, source: TerminalId, destination: TerminalId, draw: u64) -> Walker {
        let (router, in_port) = self.fabric.attached(source);
        Walker {
            router,
            in_port,
            vc: ChannelId::FIRST,
            state: 0,
            visited: 0,
            source,
            destination,
            draw,
            links: 1,
            lost: false,
        }
    }
}

/// A message on its way.
#[derive(Clone, Copy)]
struct Walker {
    router: RouterId,
    in_port: PortId,
    vc: ChannelId,
    state: u32,
    visited: u16,
    source: TerminalId,
    destination: TerminalId,
    draw: u64,
    /// Links so far.
    links: u32,
    lost: bool,
}

impl Routes for FabricRoutes<'_> {
    fn hosts(&self) -> u32 {
        self.fabric.terminals()
    }

    fn edges(&self) -> u32 {
        self.fabric.router_ports() + self.fabric.terminals()
    }

    fn path(&self, from: u32, to: u32, draw: u64, out: &mut Vec<u32>) -> Result<(), Lost> {
        if from == to {
            return Ok(());
        }
        let (from, to) = (TerminalId::new(from), TerminalId::new(to));
        out.push(self.fabric.injection(from).number());
        let mut at = self.start(from, to, draw);
        loop {
            let index = self.decide(&mut at);
            out.push(index.number());
            if self.cross(&mut at, index)? {
                debug_assert!(
                    usize::from(at.visited) < out.len(),
                    "there is a link before and behind each router"
                );
                return Ok(());
            }
        }
    }

    /// All messages go hop by hop together: a large network's ports lie in slow memory, and many look-ups at a time hide its delay.
    fn paths(&self, messages: &[(u32, u32)], draw: u64, out: &mut Vec<u32>, ends: &mut Vec<u32>) -> u64 {
        debug_assert!(messages.len() <= BLOCK, "so many messages go together at most");
        let mut walkers: Vec<Walker> = (0u64..)
            .zip(messages)
            .map(|(i, &(from, to))| {
                self.start(TerminalId::new(from), TerminalId::new(to), draw.wrapping_add(i))
            })
            .collect();
        let mut active: Vec<u8> = Vec::with_capacity(BLOCK);
        let mut rows: Vec<[LinkId; BLOCK]> = Vec::with_capacity(16);
        let mut injection = [LinkId::default(); BLOCK];
        for (i, at) in walkers.iter_mut().enumerate() {
            injection[i] = self.fabric.injection(at.source);
            if at.source == at.destination {
                at.links = 0;
            } else {
                active.push(i as u8);
            }
        }
        rows.push(injection);
        while !active.is_empty() {
            let mut row = [LinkId::default(); BLOCK];
            for &i in &active {
                row[usize::from(i)] = self.decide(&mut walkers[usize::from(i)]);
            }
            active.retain(|&i| {
                let at = &mut walkers[usize::from(i)];
                at.links += 1;
                match self.cross(at, row[usize::from(i)]) {
                    Ok(arrived) => !arrived,
                    Err(_) => {
                        (at.links, at.lost) = (0, true);
                        false
                    }
                }
            });
            rows.push(row);
        }
        for (i, at) in walkers.iter().enumerate() {
            out.extend(rows[..at.links as usize].iter().map(|row| row[i].number()));
            ends.push(out.len() as u32);
        }
        walkers.iter().filter(|at| at.lost).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fabric::faults::{Faults, degrade};
    use model::samples::{int, routing, topology};

    /// Many at once go the paths of each alone: messages to oneself, random choices and hosts without a path included.
    #[test]
    fn messages_together_go_as_each_alone() {
        let whole = topology("fat-tree", &[("k", int(3)), ("levels", int(3))]);
        let cut = Faults { routers: vec![whole.router_at(TerminalId::new(5))], ..Faults::default() };
        let left = std::sync::Arc::new(degrade(&whole, &cut).expect("a tree bears it").fabric);
        for (fabric, name) in [(&whole, "d-mod-k"), (&whole, "valiant"), (&left, "shortest-path")] {
            let routing = routing(fabric, name, &[]);
            let routes = FabricRoutes { fabric, routing: routing.as_ref(), seed: 7 };
            let messages: Vec<(u32, u32)> = (0..27u32)
                .flat_map(|a| [(a, a), (a, (a * 5 + 3) % 27)])
                .filter(|&(a, b)| {
                    !fabric.is_cut_off(TerminalId::new(a)) && !fabric.is_cut_off(TerminalId::new(b))
                })
                .collect();
            let (mut links, mut ends, mut alone, mut each) = (vec![9], Vec::new(), vec![9], Vec::new());
            let lost = routes.paths(&messages, 40, &mut links, &mut ends);
            for (i, &(from, to)) in (40..).zip(&messages) {
                routes.path(from, to, i, &mut alone).expect("it arrives");
                each.push(alone.len() as u32);
            }
            assert_eq!((lost, links, ends), (0, alone, each), "{name}");
        }
    }
}
