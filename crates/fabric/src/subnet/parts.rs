//! What a subnet consists of: nodes, edges, tables, lanes, and what can be asked of the graph.

use super::role::Role;
use base::{
    sorted::{SortedMap, SortedSet},
    visible,
};

/// No edge, node or host.
pub const NONE: u32 = u32::MAX;
/// Most ports of a switch that a file may claim; InfiniBand has at most 254, other fabrics more.
pub const MAX_PORTS: u64 = 65_534;
/// Most entries of a set of tables: destinations times switches. InfiniBand's 49,151 identifiers at 10,000 switches fit.
pub const MAX_ENTRIES: u64 = 1 << 29;

/// The service level of a path for which none was given.
pub const UNKNOWN: u8 = u8::MAX;

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An end port of an adapter.
    Host,
    /// A switch: it forwards, and no rank lives on it.
    Switch,
}

/// A host or a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name or description as the file has it; need not be unique.
    pub name: String,
    /// Identifies the adapter or switch; 0 if the file knows none.
    pub guid: u64,
    /// Identifies the end port (for a switch its port 0); 0 if the file knows none.
    pub port_guid: u64,
    /// What it is.
    pub kind: Kind,
    /// What an end port is for; of no meaning for switches.
    pub role: Role,
    /// Ports of the adapter or switch, with or without a cable.
    pub ports: u32,
    /// Number of the end port at its adapter, from 1; 0 for switches.
    pub port: u32,
    /// Base local identifier; 0 if unknown.
    pub lid: u32,
    /// Logarithm of the number of local identifiers (LID mask control).
    pub lmc: u8,
}

/// A directed link: from an output port to an input port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Node that it leaves.
    pub from: u32,
    /// Port that it leaves through, from 1.
    pub port: u32,
    /// Node that it enters.
    pub to: u32,
    /// Port that it enters, from 1; 0 if there is no path back.
    pub to_port: u32,
    /// The other direction of the cable; [`NONE`] if a DOT file has none.
    pub reverse: u32,
    /// Width and signalling rate.
    pub speed: Speed,
}

/// Width and signalling rate of a cable, such as 4xQDR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed {
    /// Number of physical lanes, such as 4.
    pub width: u8,
    /// Index in [`Speed::RATES`].
    pub rate: u8,
}

impl Speed {
    /// Names of signalling rates and their data rate per lane in Mbit/s, coding taken off.
    pub const RATES: [(&'static str, u32); 9] = [
        ("SDR", 2_000),
        ("DDR", 4_000),
        ("QDR", 8_000),
        ("FDR10", 10_000),
        ("FDR", 13_636),
        ("EDR", 25_000),
        ("HDR", 50_000),
        ("NDR", 100_000),
        ("XDR", 200_000),
    ];

    /// Four lanes at single data rate: what a file means that says nothing.
    pub const USUAL: Self = Self { width: 4, rate: 0 };

    /// Reads width and rate as in `4xQDR`; `None` for an unknown rate or more than 12 lanes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (width, rate) = text.split_once('x')?;
        let rate = Self::RATES.iter().position(|(name, _)| *name == rate)?;
        Some(Self { width: width.parse().ok().filter(|w| (1..=12).contains(w))?, rate: rate as u8 })
    }

    /// Data rate in Mbit/s.
    #[must_use]
    pub fn mbit(self) -> u32 {
        u32::from(self.width) * Self::RATES[usize::from(self.rate)].1
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.width, Self::RATES[usize::from(self.rate)].0)
    }
}

/// How the switches of a subnet forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Local identifiers per host: 2^LMC.
    pub planes: u32,
    /// Rows for switches follow those of hosts.
    pub to_switches: bool,
    /// Edge by row and switch; [`NONE`] where a switch knows no path.
    pub next: Vec<u32>,
    /// How each host sends.
    pub exits: Vec<Exit>,
}

/// How a host sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything by one edge.
    One(u32),
    /// By an edge for each host as the destination ([`NONE`]: no path).
    Listed(Vec<u32>),
    /// Not at all.
    None,
}

/// Service levels of paths and how switches map them to lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// SL by destination row (of hosts) and source host: `row * hosts + source`; [`UNKNOWN`] where not given.
    pub sl: Vec<u8>,
    /// By switch: lanes of (input port, output port), `input * (ports + 1) + output`, input 0 for messages of the switch
    /// itself. Empty where a switch maps every SL to the lane of the same number.
    pub map: Vec<Vec<[u8; 16]>>,
}

/// Hosts, switches and cables, and how the switches forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// Hosts and switches in the order of the file.
    pub nodes: Vec<Node>,
    /// Directed links. A cable is two of them; a DOT file may have one alone.
    pub edges: Vec<Edge>,
    /// Nodes that are hosts, in the order of ranks.
    pub hosts: Vec<u32>,
    /// Nodes that are switches, in the order of the file.
    pub switches: Vec<u32>,
    /// Index of each node in `hosts` or `switches`.
    pub(crate) place: Vec<u32>,
    /// First in `out` of each node, and one past the last.
    pub(super) out_begin: Vec<u32>,
    /// Edges by the node that they leave, in the order of ports.
    pub(super) out: Vec<u32>,
    /// How switches forward, if the files say.
    pub tables: Option<Tables>,
    /// Service levels and virtual lanes, if the files say.
    pub lanes: Option<Lanes>,
    /// End ports that are left out with their cables since they are none of hosts: storage, aggregation nodes, routers to other subnets.
    pub left_out: Vec<Node>,
    /// The order of nodes is that in which a DOT file names them first.
    pub as_listed: bool,
    /// What readers left out, skipped or could not judge: a line each.
    pub notes: Vec<String>,
}

impl Subnet {
    /// Edges that leave a node, in the order of ports.
    #[must_use]
    pub fn out(&self, node: u32) -> &[u32] {
        let at = node as usize;
        &self.out[self.out_begin[at] as usize..self.out_begin[at + 1] as usize]
    }

    /// Index of a node among the hosts or the switches, whichever it is.
    #[must_use]
    pub fn place(&self, node: u32) -> u32 {
        self.place[node as usize]
    }

    /// What a node is.
    #[must_use]
    pub fn is_host(&self, node: u32) -> bool {
        self.nodes[node as usize].kind == Kind::Host
    }

    /// The edge that leaves a node through a port.
    #[must_use]
    pub fn edge_at(&self, node: u32, port: u32) -> Option<u32> {
        let out = self.out(node);
        let at = out.partition_point(|&e| self.edges[e as usize].port < port);
        out.get(at).copied().filter(|&e| self.edges[e as usize].port == port)
    }

    /// Name for messages: the node's name, with its GUID if the name is not unique.
    #[must_use]
    pub fn label(&self, node: u32) -> String {
        let n = &self.nodes[node as usize];
        if n.guid == 0 { n.name.clone() } else { format!("{} ({:#x})", n.name, n.port_guid.max(n.guid)) }
    }

    /// Names that are unique and distinguish hosts (`H..`) from switches, as DOT and `.net` files need them: the nodes' own if they
    /// do, else `H` or `S` and the GUID.
    #[must_use]
    pub fn unique_names(&self) -> Vec<String> {
        let own = self.nodes.iter().all(|n| {
            n.name.starts_with('H') == (n.kind == Kind::Host)
                && !n.name.is_empty()
                && !n.name.contains(['"', '\\', ',', '*'])
                && !n.name.contains(|c: char| c.is_whitespace() || visible::acts(c))
        });
        let mut sorted: Vec<&str> = self.nodes.iter().map(|n| n.name.as_str()).collect();
        sorted.sort_unstable();
        if own && sorted.windows(2).all(|w| w[0] != w[1]) {
            return self.nodes.iter().map(|n| n.name.clone()).collect();
        }
        let name = |(i, n): (usize, &Node)| {
            let letter = if n.kind == Kind::Host { 'H' } else { 'S' };
            match n.port_guid.max(n.guid) {
                0 => format!("{letter}{:05}", self.place[i]),
                guid => format!("{letter}{guid:016x}"),
            }
        };
        let mut names: Vec<String> = self.nodes.iter().enumerate().map(name).collect();
        // The GUID of a node may be that of another one's port.
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| names[a].cmp(&names[b]).then(a.cmp(&b)));
        let again: Vec<usize> =
            order.windows(2).filter(|w| names[w[0]] == names[w[1]]).map(|w| w[1]).collect();
        again.into_iter().for_each(|n| names[n] += &format!("-{n}"));
        names
    }

    /// Names an edge: `12:L0000->T0000`.
    #[must_use]
    pub fn edge_label(&self, edge: u32, names: &[String]) -> String {
        let Edge { from, to, .. } = self.edges[edge as usize];
        format!("{edge}:{}->{}", names[from as usize], names[to as usize])
    }

    /// The switch of a host and the edge to it: its only edge.
    #[must_use]
    pub fn home(&self, host: u32) -> Option<(u32, u32)> {
        let edge = *self.out(self.hosts[host as usize]).first()?;
        Some((self.edges[edge as usize].to, edge))
    }

    /// Hosts that the first one cannot reach over any links.
    #[must_use]
    pub fn apart(&self) -> Vec<u32> {
        let mut seen = vec![false; self.nodes.len()];
        let mut todo = vec![self.hosts[0]];
        while let Some(node) = todo.pop() {
            if !std::mem::replace(&mut seen[node as usize], true) {
                todo.extend(self.out(node).iter().map(|&e| self.edges[e as usize].to));
            }
        }
        (0u32..).zip(&self.hosts).filter(|(_, node)| !seen[**node as usize]).map(|(host, _)| host).collect()
    }

    /// How many nodes of each role there are, as names and numbers of adapters: those that take part, and those that were left out.
    #[must_use]
    pub fn roles(&self) -> Vec<(&'static str, usize, usize)> {
        let count = |nodes: &mut dyn Iterator<Item = &Node>, role: Role| {
            let of_role = nodes.filter(|n| n.role == role);
            let ends: SortedSet<(u64, u64)> =
                (0u64..).zip(of_role).map(|(i, n)| if n.guid == 0 { (0, i) } else { (n.guid, 0) }).collect();
            ends.len()
        };
        let row = |(role, name): (Role, &'static str)| {
            let hosts = &mut self.hosts.iter().map(|&h| &self.nodes[h as usize]);
            (name, count(hosts, role), count(&mut self.left_out.iter(), role))
        };
        Role::ALL.into_iter().map(row).collect()
    }

    /// Cables between switches that are slower than most of them, by one of their edges, with the usual speed: often a
    /// cable or connector that is damaged.
    #[must_use]
    pub fn slow(&self) -> Vec<(u32, Speed)> {
        let between = |e: &Edge| !self.is_host(e.from) && !self.is_host(e.to);
        let cables: Vec<u32> = (0u32..)
            .zip(&self.edges)
            .filter(|(i, e)| between(e) && *i < e.reverse && e.reverse != NONE)
            .map(|(i, _)| i)
            .collect();
        let speed = |&c: &u32| self.edges[c as usize].speed;
        let mut counts: SortedMap<Speed, u32> = SortedMap::new();
        cables.iter().for_each(|c| *counts.entry(speed(c)).or_default() += 1);
        let usual = counts.iter().max_by_key(|(s, n)| (**n, s.mbit())).map(|(s, _)| *s);
        let Some(usual) = usual else { return Vec::new() };
        cables.into_iter().filter(|c| speed(c).mbit() < usual.mbit()).map(|c| (c, usual)).collect()
    }

    /// The same subnet without tables and lanes.
    #[must_use]
    pub fn bare(&self) -> Self {
        Self { tables: None, lanes: None, ..self.clone() }
    }
}
