//! Between subnets and fabrics: switches are routers and port p is router port p - 1; hosts are terminals, in the same order.

use super::{
    builder::SubnetBuilder,
    parts::{Edge, Kind, NONE, Node, Speed, Subnet},
    role::Role,
};
use crate::{
    faults::{Degraded, Faults, degrade},
    graph::{Fabric, Peer},
    topology::Wiring,
};
use base::{
    index::{Column, PortId, RouterId, TerminalId},
    mistakes::Mistakes,
    param::Problem,
};

/// Link classes of a fabric made from a subnet.
pub(crate) const CLASSES: &[&str] = &["terminal", "link"];

impl Subnet {
    /// The image of a fabric, without tables. Terminals that failures cut off are left out. Names are `H00000` and `S00000`, GUIDs
    /// those that ibsim gives.
    ///
    /// # Panics
    /// Never: a fabric has at least one terminal that is not cut off, and its GUIDs are ours.
    #[must_use]
    pub fn from_fabric(fabric: &Fabric) -> Self {
        let routers = fabric.routers();
        let width = (fabric.terminals().max(routers)).to_string().len().max(5);
        let mut builder = SubnetBuilder { ordered: true, ..SubnetBuilder::default() };
        let apart = if fabric.terminals() > 1 << 19 { 0x1_0000_0000 } else { 0x20_0000 };
        for r in RouterId::first(routers) {
            let guid = apart + u64::from(r);
            builder.nodes.push(Node {
                name: format!("S{r:0width$}"),
                guid,
                port_guid: guid,
                kind: Kind::Switch,
                role: Role::Host,
                ports: fabric.ports_of(r).len() as u32,
                port: 0,
                lid: 0,
                lmc: 0,
            });
        }
        let mut node_of = vec![NONE; fabric.terminals() as usize];
        for t in fabric.reachable() {
            let guid = 0x10_0000 + 2 * u64::from(t);
            node_of[t.index()] = builder.nodes.len() as u32;
            builder.nodes.push(Node {
                name: format!("H{t:0width$}"),
                guid,
                port_guid: guid + 1,
                kind: Kind::Host,
                role: Role::Host,
                ports: 1,
                port: 1,
                lid: 0,
                lmc: 0,
            });
        }
        plug(fabric, &node_of, &mut builder);
        builder.finish("").expect("a fabric has terminals, and their GUIDs differ")
    }

    /// The fabric that this is the image of.
    ///
    /// # Errors
    /// If a host has not exactly one cable, to a switch, or a link has no path back.
    pub fn fabric(&self) -> Result<Fabric, Vec<Problem>> {
        let mut problems = Mistakes::default();
        for &host in &self.hosts {
            let out = self.out(host);
            if out.len() != 1 || self.is_host(self.edges[out[0] as usize].to) {
                let message = format!(
                    "host {} has {} links; a terminal has one, to a switch",
                    self.label(host),
                    out.len()
                );
                problems.push(Problem::new("file", message));
            }
        }
        for edge in self.edges.iter().filter(|e| e.reverse == NONE) {
            let message = format!(
                "the link from {} to {} has no link back",
                self.label(edge.from),
                self.label(edge.to)
            );
            problems.push(Problem::new("file", message).help("cables carry both directions"));
        }
        problems.done(|others| Problem::new("file", others.message).count(others.count))?;
        let mut wiring = Wiring::new(self.switches.iter().map(|&s| self.nodes[s as usize].ports));
        for (router, &switch) in (0u32..).zip(&self.switches) {
            for port in 1..=self.nodes[switch as usize].ports {
                let Some(edge) = self.edge_at(switch, port).map(|e| self.edges[e as usize]) else {
                    wiring.unplugged(1, router, port - 1);
                    continue;
                };
                if !self.is_host(edge.to) && (switch, port) < (edge.to, edge.to_port) {
                    wiring.link(1, (router, port - 1), (self.place(edge.to), edge.to_port - 1));
                }
            }
        }
        for &host in &self.hosts {
            let edge = self.edges[self.out(host)[0] as usize];
            wiring.terminal(self.place(edge.to), edge.to_port - 1);
        }
        Ok(wiring.finish("imported", CLASSES, ()))
    }

    /// What is left after failures, without tables and without the hosts of failed switches; numbered anew. Where the network falls apart,
    /// the hosts of all its parts are there.
    ///
    /// # Errors
    /// If this is no fabric, or a failure names what does not exist, or nothing is left.
    pub fn degraded(&self, faults: &Faults) -> Result<(Self, Degraded), Vec<Problem>> {
        let degraded = degrade(&self.fabric()?, faults)?;
        let lost = |t: TerminalId| degraded.routers.contains(&degraded.fabric.router_at(t));
        Ok((self.left(&degraded.fabric, &lost)?, degraded))
    }

    /// What a fabric still has of this network, of which it is a part after failures, without tables and without hosts that are `lost`;
    /// numbered anew.
    ///
    /// # Errors
    /// If nothing is left.
    pub(crate) fn left(
        &self,
        fabric: &Fabric,
        lost: &dyn Fn(TerminalId) -> bool,
    ) -> Result<Self, Vec<Problem>> {
        debug_assert!(fabric.terminals() as usize == self.hosts.len(), "the fabric is of this network");
        let failed = |node: u32, port: u32| {
            let at = fabric.port_index(RouterId::new(self.place(node)), PortId::new(port - 1));
            fabric.port(at).peer == Peer::None
        };
        let gone = |node: u32| self.is_host(node) && lost(TerminalId::new(self.place(node)));
        let mut builder =
            SubnetBuilder { ordered: true, left_out: self.left_out.clone(), ..SubnetBuilder::default() };
        let mut number = vec![NONE; self.nodes.len()];
        for node in (0..self.nodes.len() as u32).filter(|&n| !gone(n)) {
            number[node as usize] = builder.nodes.len() as u32;
            builder.nodes.push(self.nodes[node as usize].clone());
        }
        let mut kept = Vec::new();
        for (e, edge) in (0u32..).zip(&self.edges).filter(|(e, edge)| *e < edge.reverse) {
            let between = !self.is_host(edge.from) && !self.is_host(edge.to);
            if gone(edge.from) || gone(edge.to) || between && failed(edge.from, edge.port) {
                continue;
            }
            kept.push(e);
        }
        for e in kept {
            let edge = self.edges[e as usize];
            let ends = [edge.from, edge.to].map(|n| number[n as usize]);
            builder.cable((ends[0], edge.port), (ends[1], edge.to_port), edge.speed);
        }
        builder.ordered = false;
        let hosts: Vec<u32> = self.hosts.iter().map(|&h| number[h as usize]).filter(|&n| n != NONE).collect();
        let left = builder.finish("").map(|left| left.with_hosts(hosts))?;
        Ok(Self { as_listed: self.as_listed, ..left })
    }

    /// Puts the hosts in the order of their names.
    pub(crate) fn sort_by_name(&mut self) {
        let mut hosts = std::mem::take(&mut self.hosts);
        hosts.sort_by(|&a, &b| self.nodes[a as usize].name.cmp(&self.nodes[b as usize].name));
        for (i, &host) in (0u32..).zip(&hosts) {
            self.place[host as usize] = i;
        }
        self.hosts = hosts;
    }

    /// The same with another order of hosts.
    fn with_hosts(mut self, hosts: Vec<u32>) -> Self {
        for (i, &host) in (0u32..).zip(&hosts) {
            self.place[host as usize] = i;
        }
        Self { hosts, ..self }
    }
}

/// Draws the cables of a fabric: switches' edges port by port, then those of hosts.
fn plug(fabric: &Fabric, node_of: &[u32], builder: &mut SubnetBuilder) {
    let mut edge_of = Column::filled(fabric.ports().len(), NONE);
    let speed = Speed::USUAL;
    for router in RouterId::first(fabric.routers()) {
        for (port, p) in (0..).map(PortId::new).zip(fabric.ports_of(router)) {
            let (to, to_port) = match p.peer {
                Peer::Router { router, port } => (router.number(), port.number() + 1),
                Peer::Terminal(t) if node_of[t.index()] != NONE => (node_of[t.index()], 1),
                _ => continue,
            };
            edge_of[fabric.port_index(router, port)] = builder.edges.len() as u32;
            let edge =
                Edge { from: router.number(), port: port.number() + 1, to, to_port, reverse: NONE, speed };
            builder.edges.push(edge);
        }
    }
    for (link, &edge) in edge_of.iter() {
        if let Peer::Router { router, port } = fabric.port(link).peer {
            builder.edges[edge as usize].reverse = edge_of[fabric.port_index(router, port)];
        }
    }
    for t in fabric.reachable() {
        let (router, port) = fabric.attached(t);
        let back = edge_of[fabric.port_index(router, port)];
        builder.edges[back as usize].reverse = builder.edges.len() as u32;
        let from = node_of[t.index()];
        builder.edges.push(Edge {
            from,
            port: 1,
            to: router.number(),
            to_port: port.number() + 1,
            reverse: back,
            speed,
        });
    }
}
