//! One partition's share of the network: its routers and terminals, and the lines that leave their ports.

use super::{
    network::{End, Line, Network},
    places::{LocalPort, Side, Upstream},
    transport::config::Ack,
};
use base::{
    index::{Column, LinkId, PortId, RouterId, TerminalId},
    time::Ps,
};
use fabric::graph::Peer;

/// One partition's share: which routers and terminals are its own, and its lines.
pub struct Local {
    /// Number of this partition.
    pub partition: u32,
    /// Numbers of the routers here, ascending.
    pub routers: Vec<RouterId>,
    /// First local port of each router, and the number of router ports.
    pub base: Vec<LocalPort>,
    /// The first local port that is a terminal's, as the last of `base`: asked several times per chunk-hop.
    end: LocalPort,
    /// Numbers of the terminals here, ascending.
    pub terminals: Vec<TerminalId>,
    /// Lines by local upstream port: routers' outputs, then terminals' outputs.
    pub lines: Column<LocalPort, Line>,
    /// Lines that come from other partitions, by link.
    pub inbound: Vec<Line>,
    /// Partition of each inbound line's upstream end.
    pub inbound_from: Vec<u32>,
    /// Upstream port of each local router port's input: nothing where nothing feeds it.
    pub upstream: Column<LocalPort, Upstream>,
    /// Shortest time to a message for each partition, none for those never sent to.
    pub lookahead: Vec<Option<Ps>>,
}

impl Local {
    /// The share of `partition`.
    #[must_use]
    pub fn new(net: &Network, partition: u32) -> Self {
        let fabric = &*net.fabric;
        assert!(partition < net.partitions, "a network has so many partitions");
        let routers: Vec<RouterId> =
            RouterId::first(fabric.routers()).filter(|&r| net.owner[r] == partition).collect();
        let mut base = vec![LocalPort::new(0)];
        for &r in &routers {
            base.push(base[base.len() - 1].plus(fabric.ports_of(r).len() as u32));
        }
        let mine = |t: &TerminalId| net.owner[fabric.router_at(*t)] == partition;
        let terminals: Vec<TerminalId> = TerminalId::first(fabric.terminals()).filter(mine).collect();
        let mut local = Self {
            partition,
            routers,
            end: base[base.len() - 1],
            base,
            terminals,
            lines: Column::default(),
            inbound: Vec::new(),
            inbound_from: Vec::new(),
            upstream: Column::default(),
            lookahead: vec![None; net.partitions as usize],
        };
        for i in 0..local.routers.len() {
            let router = local.routers[i];
            for port in PortId::first(fabric.ports_of(router).len() as u32) {
                let line = local.line(net, fabric.port_index(router, port));
                local.lines.push(Line { own_base: local.base[i], ..line });
            }
        }
        for i in 0..local.terminals.len() {
            let line = local.line(net, fabric.injection(local.terminals[i]));
            local.lines.push(line);
        }
        debug_assert_eq!(
            local.lines.len(),
            local.router_ports() as usize + local.terminals.len(),
            "a line leaves every port"
        );
        local.find_inbound(net);
        local.find_upstream();
        local.find_lookahead(net);
        local
    }

    /// Local number of a terminal's like in another plane.
    #[inline]
    #[must_use]
    pub fn on_plane(&self, net: &Network, local: u32, plane: u32) -> u32 {
        debug_assert!(plane < net.fabric.planes(), "a fabric has so many planes");
        let each = self.terminals.len() as u32 / net.fabric.planes();
        plane * each + local % each
    }

    /// The line that an upstream port feeds.
    #[must_use]
    pub fn line_from(&self, from: Upstream) -> &Line {
        debug_assert!(from != Upstream::NONE, "nothing comes in where nothing feeds");
        match from.side() {
            Side::Here(port) => &self.lines[port],
            Side::Afar(inbound) => &self.inbound[inbound as usize],
        }
    }

    /// Link that an upstream port feeds.
    #[must_use]
    pub fn link_of(&self, from: Upstream) -> LinkId {
        self.line_from(from).link
    }

    /// Local number of the router that owns a local port.
    #[must_use]
    pub fn router_of(&self, port: LocalPort) -> u32 {
        self.base.partition_point(|&b| b <= port) as u32 - 1
    }

    /// Number of local router ports; terminals' ports follow.
    #[inline]
    #[must_use]
    pub fn router_ports(&self) -> u32 {
        self.end.number()
    }

    /// True of routers' ports, false of terminals'.
    #[inline]
    #[must_use]
    pub fn is_routers(&self, port: LocalPort) -> bool {
        port < self.end
    }

    /// Output of a terminal, by its local number.
    #[inline]
    #[must_use]
    pub fn port_of(&self, terminal: u32) -> LocalPort {
        debug_assert!((terminal as usize) < self.terminals.len(), "the terminal lives here");
        self.end.plus(terminal)
    }

    /// Local number of the terminal whose output a port is.
    #[inline]
    #[must_use]
    pub fn terminal_of(&self, port: LocalPort) -> u32 {
        debug_assert!(!self.is_routers(port), "routers' ports come first");
        port.number() - self.router_ports()
    }

    /// All ports, ascending.
    pub fn ports(&self) -> impl Iterator<Item = LocalPort> + use<> {
        LocalPort::first(self.lines.len() as u32)
    }

    /// Ports of routers, ascending.
    pub fn ports_of_routers(&self) -> impl Iterator<Item = LocalPort> + use<> {
        LocalPort::first(self.router_ports())
    }

    fn line(&self, net: &Network, link: LinkId) -> Line {
        let fabric = &*net.fabric;
        let (timing, peer) = match fabric.injected_by(link) {
            None => {
                let port = fabric.port(link);
                (port.class, port.peer)
            }
            Some(terminal) => {
                let (router, port) = fabric.attached(terminal);
                (net.injection(), Peer::Router { router, port })
            }
        };
        Line { link, timing, own_base: LocalPort::new(0), end: self.end(net, peer) }
    }

    fn end(&self, net: &Network, peer: Peer) -> End {
        match peer {
            Peer::Router { router, port } => {
                let owner = net.owner[router];
                if owner != self.partition {
                    return End::Remote { partition: owner };
                }
                let local = self.routers.binary_search(&router).expect("an own router");
                End::Router { router, base: self.base[local], in_port: port, local: local as u32 }
            }
            Peer::Terminal(terminal) => {
                let owner = net.owner[net.fabric.router_at(terminal)];
                if owner != self.partition {
                    return End::Remote { partition: owner };
                }
                let local = self.terminals.binary_search(&terminal).expect("an own terminal");
                End::Terminal { terminal, local: local as u32 }
            }
            // Nothing is ever routed there; the end is never read.
            Peer::None => End::Remote { partition: self.partition },
        }
    }

    fn find_inbound(&mut self, net: &Network) {
        for (link, port) in (0..).map(LinkId::new).zip(net.fabric.ports()) {
            let Peer::Router { router, .. } = port.peer else { continue };
            let from = net.upstream_owner(link);
            if net.owner[router] == self.partition && from != self.partition {
                let line = self.line(net, link);
                self.inbound.push(line);
                self.inbound_from.push(from);
            }
        }
    }

    fn find_upstream(&mut self) {
        let mut upstream = Column::filled(self.router_ports() as usize, Upstream::NONE);
        let own = self.lines.iter().map(|(port, line)| (line, Upstream::here(port)));
        let foreign = (0u32..).zip(&self.inbound).map(|(i, line)| (line, Upstream::afar(i)));
        for (line, from) in own.chain(foreign) {
            if let End::Router { base, in_port, .. } = line.end {
                debug_assert_eq!(
                    upstream[base.plus(in_port.number())],
                    Upstream::NONE,
                    "an input has one upstream port"
                );
                upstream[base.plus(in_port.number())] = from;
            }
        }
        self.upstream = upstream;
    }

    fn find_lookahead(&mut self, net: &Network) {
        let mut least = |to: u32, time: Ps| {
            let entry = &mut self.lookahead[to as usize];
            *entry = Some(entry.map_or(time, |t| t.min(time)));
        };
        for line in self.lines.cells() {
            if let (End::Remote { partition }, timing) = (line.end, &net.timings[line.timing as usize])
                && partition != self.partition
            {
                // A tick comes one picosecond after the start of a service, or later by the slack.
                least(partition, (timing.shortest + timing.delay).saturating_sub(1 + timing.slack));
            }
        }
        for (line, &from) in self.inbound.iter().zip(&self.inbound_from) {
            // Credits are dated by decisions, alarms may come later.
            let late = net.config.router.rules.lag;
            debug_assert!(
                net.timings[line.timing as usize].credit_delay > late,
                "credits take longer than decisions"
            );
            least(from, net.timings[line.timing as usize].credit_delay - late);
        }
        if let Some(Ack::OutOfBand(delay)) = net.resilience.as_ref().map(|r| r.ack) {
            (0..net.partitions).filter(|&to| to != self.partition).for_each(|to| least(to, delay));
        }
        if let Some(injection) = net.outlet().filter(|injection| injection.window > 0) {
            let others = (0..net.partitions).filter(|&to| to != self.partition);
            others.for_each(|to| least(to, injection.ack_delay));
        }
        if let Some(control) = &net.control {
            (0..net.partitions).filter(|&to| to != self.partition).for_each(|to| least(to, control.delay));
        }
        if net.message_time > 0 {
            (0..net.partitions).filter(|&to| to != self.partition).for_each(|to| least(to, net.message_time));
        }
    }
}
