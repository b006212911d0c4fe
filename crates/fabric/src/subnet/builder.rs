//! A subnet under construction, and the checks that every source of subnets shares.

use super::parts::{Edge, Kind, NONE, Node, Speed, Subnet};
use base::{
    mistakes::Mistakes,
    param::{Excerpt, Problem},
};

/// Nodes and links as a reader finds them.
#[derive(Clone, Debug, Default)]
pub struct SubnetBuilder {
    /// Nodes in the order of the file.
    pub nodes: Vec<Node>,
    /// Directed links in the order of the file.
    pub edges: Vec<Edge>,
    /// Keep the order of `edges`, and `nodes` as the order of hosts; otherwise edges are numbered by ports and hosts by name.
    pub ordered: bool,
    /// End ports that carry no ranks; they become [`Subnet::left_out`].
    pub left_out: Vec<Node>,
    /// What the reader skipped, a line each; they become [`Subnet::notes`].
    pub notes: Vec<String>,
    /// The file says LIDs, be they 0: nodes without one are then reported.
    pub tells_lids: bool,
}

/// A problem with a file as a whole.
pub(crate) fn whole(file: &str, message: impl Into<String>) -> Problem {
    Problem::new("file", message).at(Excerpt { file: file.to_owned(), ..Excerpt::default() })
}

impl SubnetBuilder {
    /// Adds both directions of a cable.
    pub fn cable(&mut self, (a, a_port): (u32, u32), (b, b_port): (u32, u32), speed: Speed) {
        let first = self.edges.len() as u32;
        let edge = |from, port, to, to_port, reverse| Edge { from, port, to, to_port, reverse, speed };
        self.edges.push(edge(a, a_port, b, b_port, first + 1));
        self.edges.push(edge(b, b_port, a, a_port, first));
    }

    /// The subnet. Ports must be within each node's number and used once; readers see to that.
    ///
    /// # Errors
    /// Two nodes with one GUID, no host at all, or more links than can be numbered.
    pub fn finish(self, file: &str) -> Result<Subnet, Vec<Problem>> {
        let Self { nodes, mut edges, ordered, left_out, mut notes, tells_lids } = self;
        if edges.len() as u64 >= u64::from(NONE) {
            return Err(vec![whole(file, "there are too many links")]);
        }
        check_guids(&nodes, file)?;
        notes.extend(shared_lids(&nodes));
        notes.extend(without_lid(&nodes, &left_out, tells_lids));
        let all = 0..nodes.len() as u32;
        let (switches, mut hosts): (Vec<u32>, Vec<u32>) =
            all.partition(|&n| nodes[n as usize].kind == Kind::Switch);
        if hosts.is_empty() {
            return Err(vec![whole(file, "there is no host in it")]);
        }
        if !ordered {
            sort_hosts(&nodes, &mut hosts);
        }
        let mut place = vec![0; nodes.len()];
        for (i, &n) in (0u32..).zip(&hosts).chain((0u32..).zip(&switches)) {
            place[n as usize] = i;
        }
        if !ordered {
            number_by_ports(&nodes, &place, &mut edges);
        }
        let mut out: Vec<u32> = (0..edges.len() as u32).collect();
        out.sort_by_key(|&e| (edges[e as usize].from, edges[e as usize].port));
        let mut out_begin = vec![0u32; nodes.len() + 1];
        for edge in &edges {
            out_begin[edge.from as usize + 1] += 1;
        }
        for i in 0..nodes.len() {
            out_begin[i + 1] += out_begin[i];
        }
        Ok(Subnet {
            nodes,
            edges,
            hosts,
            switches,
            place,
            out_begin,
            out,
            tables: None,
            lanes: None,
            left_out,
            as_listed: false,
            notes,
        })
    }
}

/// Refuses two end ports or switches with one GUID.
fn check_guids(nodes: &[Node], file: &str) -> Result<(), Vec<Problem>> {
    let key = |n: &Node| (n.guid, n.port);
    let mut sorted: Vec<&Node> = nodes.iter().filter(|n| n.guid != 0).collect();
    sorted.sort_by_key(|n| key(n));
    let twice = sorted.windows(2).filter(|w| key(w[0]) == key(w[1]));
    let mut problems = Mistakes::default();
    problems.extend(twice.map(|w| {
        let message =
            format!("GUID {:#018x} belongs to two nodes: {} and {}", w[0].guid, w[0].name, w[1].name);
        whole(file, message).help("a GUID names one adapter or switch of the world")
    }));
    problems.done(|others| whole(file, others.message).count(others.count))
}

/// Local identifiers that two nodes claim, in one line: tables by LID then say nothing sure about either.
fn shared_lids(nodes: &[Node]) -> Option<String> {
    let mut spans: Vec<(u32, u32, &Node)> = nodes
        .iter()
        .filter(|n| n.lid != 0)
        .map(|n| (n.lid, n.lid.saturating_add(1 << n.lmc.min(7)), n))
        .collect();
    spans.sort_by_key(|(first, end, _)| (*first, *end));
    let mut shared = spans.windows(2).filter(|w| w[0].1 > w[1].0);
    let first = shared.next()?;
    let (lid, one, other) = (first[1].0, &first[0].2.name, &first[1].2.name);
    let more = match shared.count() {
        0 => String::new(),
        n => format!(", and {n} more such pairs"),
    };
    Some(format!("local identifier {lid} belongs to two nodes: {one} and {other}{more}"))
}

/// Nodes without a local identifier, in a file that says them or has some, in one line.
fn without_lid(nodes: &[Node], left_out: &[Node], tells: bool) -> Option<String> {
    let mut without = nodes.iter().filter(|n| n.lid == 0);
    let first = without.next().filter(|_| tells || nodes.iter().chain(left_out).any(|n| n.lid != 0))?;
    let count = 1 + without.count();
    Some(format!(
        "{count} nodes have local identifier 0, the first {}: free ones stand in where tables are written",
        first.name
    ))
}

/// By name if that distinguishes them, else by GUID.
fn sort_hosts(nodes: &[Node], hosts: &mut [u32]) {
    let node = |h: &u32| &nodes[*h as usize];
    hosts.sort_by(|a, b| node(a).name.cmp(&node(b).name));
    if hosts.windows(2).any(|w| node(&w[0]).name == node(&w[1]).name) {
        hosts.sort_by_key(|h| (node(h).port_guid, node(h).guid, node(h).port));
    }
}

/// Numbers edges switch by switch and port by port, then host by host.
fn number_by_ports(nodes: &[Node], place: &[u32], edges: &mut Vec<Edge>) {
    let mut order: Vec<u32> = (0..edges.len() as u32).collect();
    order.sort_by_key(|&e| {
        let edge = edges[e as usize];
        let host = nodes[edge.from as usize].kind == Kind::Host;
        (host, place[edge.from as usize], edge.port)
    });
    let mut renumbered = vec![NONE; edges.len()];
    for (new, &old) in (0u32..).zip(&order) {
        renumbered[old as usize] = new;
    }
    let moved = order.iter().map(|&old| {
        let edge = edges[old as usize];
        let reverse = if edge.reverse == NONE { NONE } else { renumbered[edge.reverse as usize] };
        Edge { reverse, ..edge }
    });
    *edges = moved.collect();
}
