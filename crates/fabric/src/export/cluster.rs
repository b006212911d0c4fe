//! Subnets written as the files that [`crate::import`] reads: DOT with routes, `.net`, ibnetdiscover's form, table dumps, lanes.

use crate::subnet::{Edge, Exit, Kind, NONE, Node, Subnet, Tables, UNKNOWN};
use base::{sorted::SortedSet, visible};
use std::io::{self, Write};

/// DOT with the tables as edge comments: ORCS's input. A host's edge that takes everything has `*`.
///
/// # Errors
/// If writing fails.
pub fn dot(subnet: &Subnet, out: &mut impl Write) -> io::Result<()> {
    dot_with(subnet, out, &|_| String::new())
}

/// As [`dot`], with more attributes for each edge (`, name = "value"`).
///
/// # Errors
/// If writing fails.
pub fn dot_with(subnet: &Subnet, out: &mut impl Write, more: &dyn Fn(u32) -> String) -> io::Result<()> {
    let names = subnet.unique_names();
    let by_edge = subnet.tables.as_ref().map(|tables| by_edge(subnet, tables));
    writeln!(out, "digraph network {{")?;
    for (e, edge) in (0u32..).zip(&subnet.edges) {
        let (from, to) = (&names[edge.from as usize], &names[edge.to as usize]);
        write!(out, "  \"{from}\" -> \"{to}\" [ comment = \"")?;
        let star = match &subnet.tables {
            Some(t) if subnet.is_host(edge.from) => {
                matches!(t.exits[subnet.place(edge.from) as usize], Exit::One(only) if only == e)
            }
            _ => subnet.is_host(edge.from),
        };
        if star {
            write!(out, "*")?;
        } else if let Some((begin, hosts)) = &by_edge {
            let list = &hosts[begin[e as usize] as usize..begin[e as usize + 1] as usize];
            for (i, &host) in list.iter().enumerate() {
                let comma = if i == 0 { "" } else { "," };
                write!(out, "{comma}{}", names[subnet.hosts[host as usize] as usize])?;
            }
        }
        writeln!(out, "\"{} ];", more(e))?;
    }
    // Nodes without a cable are in no line yet.
    let mut cabled = vec![false; subnet.nodes.len()];
    subnet.edges.iter().for_each(|e| [e.from, e.to].iter().for_each(|&n| cabled[n as usize] = true));
    for (name, _) in names.iter().zip(cabled).filter(|(_, cabled)| !cabled) {
        writeln!(out, "  \"{name}\";")?;
    }
    writeln!(out, "}}")
}

/// Destination hosts of each edge, first local identifiers: where each edge's begin, and the hosts.
fn by_edge(subnet: &Subnet, tables: &Tables) -> (Vec<u32>, Vec<u32>) {
    let hosts = subnet.hosts.len() as u32;
    let entries = |host: u32| {
        let row = tables.row(host, 0) as usize * subnet.switches.len();
        let listed = tables.exits.iter().filter_map(move |exit| match exit {
            Exit::Listed(edges) => edges.get(host as usize).copied(),
            _ => None,
        });
        tables.next[row..row + subnet.switches.len()].iter().copied().chain(listed).filter(|&e| e != NONE)
    };
    let mut begin = vec![0u32; subnet.edges.len() + 1];
    for host in 0..hosts {
        entries(host).for_each(|e| begin[e as usize + 1] += 1);
    }
    for i in 1..begin.len() {
        begin[i] += begin[i - 1];
    }
    let mut at = begin.clone();
    let mut list = vec![0; begin.last().map_or(0, |&n| n as usize)];
    for host in 0..hosts {
        for e in entries(host) {
            list[at[e as usize] as usize] = host;
            at[e as usize] += 1;
        }
    }
    (begin, list)
}

/// Nodes by adapter: the first end port of each, and all switches, hosts first.
fn records(subnet: &Subnet) -> Vec<u32> {
    let node = |n: &u32| &subnet.nodes[*n as usize];
    let mut hosts = subnet.hosts.clone();
    let mut seen = base::sorted::SortedSet::new();
    hosts.retain(|n| node(n).guid == 0 || seen.insert(node(n).guid));
    hosts.iter().chain(&subnet.switches).copied().collect()
}

/// Edges of all end ports of a record.
fn ports(subnet: &Subnet, record: u32) -> Vec<Edge> {
    let node = &subnet.nodes[record as usize];
    let alike = |n: &&u32| {
        **n == record
            || node.kind == Kind::Host && node.guid != 0 && subnet.nodes[**n as usize].guid == node.guid
    };
    let of: Vec<u32> = if node.kind == Kind::Host && node.ports > 1 {
        subnet.hosts.iter().filter(alike).copied().collect()
    } else {
        vec![record]
    };
    let mut edges: Vec<Edge> = of
        .iter()
        .flat_map(|&n| {
            // A host made from DOT numbers its edges; an end port has its adapter's number.
            let own = subnet.nodes[n as usize].port.max(1);
            subnet.out(n).iter().map(move |&e| (n, own, subnet.edges[e as usize]))
        })
        .map(|(n, own, edge)| {
            if subnet.is_host(n) && node.ports > 1 { Edge { port: own.max(edge.port), ..edge } } else { edge }
        })
        .collect();
    edges.sort_by_key(|e| e.port);
    edges
}

/// Names of adapters and switches as [`net`] writes them, by node: one for all end ports of an adapter.
#[must_use]
pub fn record_names(subnet: &Subnet) -> Vec<String> {
    let mut names = subnet.unique_names();
    let mut first = base::sorted::SortedMap::new();
    for &host in &subnet.hosts {
        let node = &subnet.nodes[host as usize];
        if node.guid != 0 {
            let name = first.entry(node.guid).or_insert_with(|| names[host as usize].clone()).clone();
            names[host as usize] = name;
        }
    }
    names
}

/// Refuses networks with a cable that only one direction of is there, as DOT can have them: the forms of [`net`] and [`ibnetdiscover`] have none.
///
/// # Errors
/// The first such cable, in words.
pub fn two_way(subnet: &Subnet) -> Result<(), String> {
    let Some(edge) = subnet.edges.iter().position(|e| e.reverse == NONE) else { return Ok(()) };
    let label = subnet.edge_label(edge as u32, &subnet.unique_names());
    Err(format!("edge {label} has no other direction, and cables in this form have both"))
}

/// Writes a subnet as ibsim's `.net`: a record per adapter or switch, a line per cabled port.
///
/// # Errors
/// If writing fails.
pub fn net(subnet: &Subnet, out: &mut impl Write) -> io::Result<()> {
    let names = record_names(subnet);
    for record in records(subnet) {
        let node = &subnet.nodes[record as usize];
        let word = if node.kind == Kind::Host { "Hca" } else { "Switch" };
        writeln!(out, "{word}\t{} \"{}\"", node.ports, names[record as usize])?;
        for edge in ports(subnet, record) {
            let width =
                if edge.speed.width == 4 { String::new() } else { format!(" w={}", edge.speed.width) };
            writeln!(
                out,
                "[{}]\t\"{}\"[{}]{width}",
                edge.port,
                names[edge.to as usize],
                edge.to_port.max(1)
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The name of a node between quotation marks on a line that goes on: it ends neither.
fn quoted(node: &Node) -> String {
    visible::name(&node.name).replace('"', "'")
}

fn guid_name(node: &Node) -> String {
    format!("{}-{:016x}", if node.kind == Kind::Host { 'H' } else { 'S' }, node.guid)
}

/// The form of ibnetdiscover's output. Nodes must have GUIDs: [`Subnet::identified`].
///
/// # Errors
/// If writing fails.
pub fn ibnetdiscover(subnet: &Subnet, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "#\n# Topology file\n#")?;
    for record in records(subnet).into_iter().rev() {
        let node = &subnet.nodes[record as usize];
        let host = node.kind == Kind::Host;
        writeln!(out, "\nvendid=0x0\ndevid=0x0\nsysimgguid=0x{:x}", node.guid)?;
        if host {
            writeln!(
                out,
                "caguid=0x{:x}\nCa\t{} \"{}\"\t\t# \"{}\"",
                node.guid,
                node.ports,
                guid_name(node),
                quoted(node)
            )?;
        } else {
            let guid = node.guid;
            writeln!(out, "switchguid=0x{guid:x}({guid:x})")?;
            let (name, own, lid) = (guid_name(node), quoted(node), node.lid);
            writeln!(
                out,
                "Switch\t{} \"{name}\"\t\t# \"{own}\" base port 0 lid {lid} lmc {}",
                node.ports, node.lmc
            )?;
        }
        for edge in ports(subnet, record) {
            let (from, to) = (&subnet.nodes[edge.from as usize], &subnet.nodes[edge.to as usize]);
            let own = if host { format!("({:x})", from.port_guid) } else { String::new() };
            let other = if to.kind == Kind::Host { format!("({:x})", to.port_guid) } else { String::new() };
            let reported = if host { format!("lid {} lmc {} ", from.lid, from.lmc) } else { String::new() };
            writeln!(
                out,
                "[{}]{own}\t\"{}\"[{}]{other}\t\t# {reported}\"{}\" lid {} {}",
                edge.port,
                guid_name(to),
                edge.to_port.max(1),
                quoted(to),
                to.lid,
                edge.speed
            )?;
        }
    }
    Ok(())
}

/// The form of `opensm-lfts.dump`. Nodes must have GUIDs and LIDs: [`Subnet::identified`].
///
/// # Errors
/// If writing fails.
pub fn lfts(subnet: &Subnet, tables: &Tables, out: &mut impl Write) -> io::Result<()> {
    let mut lids: Vec<(u32, u32)> = Vec::new();
    for (n, node) in (0u32..).zip(&subnet.nodes) {
        let planes = if node.kind == Kind::Host { tables.planes } else { 1 };
        lids.extend((0..planes).map(|plane| (node.lid + plane, n)));
    }
    lids.sort_unstable();
    let most = lids.last().map_or(0, |l| l.0);
    let mut line = String::new();
    for (s, &switch) in (0u32..).zip(&subnet.switches) {
        let here = &subnet.nodes[switch as usize];
        writeln!(
            out,
            "Unicast lids [0-{most}] of switch Lid {} guid 0x{:016x} ('{}'):",
            here.lid,
            here.guid,
            quoted(here)
        )?;
        let mut count = 0;
        for &(lid, n) in &lids {
            let node = &subnet.nodes[n as usize];
            let edge = match node.kind {
                Kind::Host => tables.entry(subnet, tables.row(subnet.place(n), lid - node.lid), s),
                Kind::Switch if n == switch || !tables.to_switches => NONE,
                Kind::Switch => tables.entry(subnet, tables.switch_row(subnet, subnet.place(n)), s),
            };
            let port = if n == switch {
                0
            } else if edge == NONE {
                continue;
            } else {
                subnet.edges[edge as usize].port
            };
            let kind = if node.kind == Kind::Host { "Channel Adapter" } else { "Switch" };
            line.clear();
            use std::fmt::Write as _;
            let _ = writeln!(
                line,
                "0x{lid:04x} {port:03} # {kind} portguid 0x{:016x}: '{}'",
                node.port_guid,
                quoted(node)
            );
            out.write_all(line.as_bytes())?;
            count += 1;
        }
        writeln!(out, "{count} lids dumped")?;
    }
    Ok(())
}

/// Service levels of all known paths: `slid dlid sl`, from every local identifier of a host to every one of another.
///
/// # Errors
/// If writing fails.
pub fn path_sl(subnet: &Subnet, out: &mut impl Write) -> io::Result<()> {
    let (Some(lanes), Some(tables)) = (&subnet.lanes, &subnet.tables) else { return Ok(()) };
    writeln!(out, "# slid dlid sl")?;
    for (source, &from) in (0u32..).zip(&subnet.hosts) {
        for (target, &to) in (0u32..).zip(&subnet.hosts).filter(|(t, _)| *t != source) {
            for (own, plane) in (0..tables.planes).flat_map(|own| (0..tables.planes).map(move |p| (own, p))) {
                let sl = lanes.sl(subnet, tables.row(target, plane), source);
                if sl != UNKNOWN {
                    let lid = |node: u32| subnet.nodes[node as usize].lid;
                    writeln!(out, "{} {} {sl:#x}", lid(from) + own, lid(to) + plane)?;
                }
            }
        }
    }
    Ok(())
}

/// The form of `opensm-sl2vl.dump`, switches alone; switches that map every level to the lane of its number are left out.
///
/// # Errors
/// If writing fails.
pub fn sl2vl(subnet: &Subnet, out: &mut impl Write) -> io::Result<()> {
    let Some(lanes) = &subnet.lanes else { return Ok(()) };
    for (s, &switch) in subnet.switches.iter().enumerate().filter(|(s, _)| !lanes.map[*s].is_empty()) {
        let node = &subnet.nodes[switch as usize];
        writeln!(out, "Switch 0x{:016x}, base LID {}, \"{}\"", node.guid, node.lid, quoted(node))?;
        writeln!(out, "#in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15")?;
        writeln!(out, "#--------------------------------------------------------")?;
        let ports = node.ports + 1;
        for output in 1..ports {
            for input in 0..ports {
                let row = lanes.map[s][(input * ports + output) as usize];
                let row: Vec<String> = row.iter().map(|lane| format!("{lane:<2}")).collect();
                writeln!(out, "{input:<3} {output:<3} : {}", row.join(" "))?;
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

impl Subnet {
    /// The same with a GUID and an LID for every node that has none or shares that of an earlier one. LIDs that are there stay, unless
    /// hosts have fewer of them than the tables have planes: then all are numbered anew, those of a host aligned to its number of them.
    ///
    /// # Errors
    /// If there are more than the 49,151 unicast LIDs.
    pub fn identified(&self) -> Result<Self, String> {
        let mut subnet = self.clone();
        let planes = self.tables.as_ref().map_or(1, |t| t.planes);
        let far = self.hosts.len() > 1 << 19;
        let taken: SortedSet<u64> = self.nodes.iter().flat_map(|n| [n.guid, n.port_guid]).collect();
        for (n, node) in subnet.nodes.iter_mut().enumerate() {
            let place = u64::from(self.place[n]);
            let mut guid = match node.kind {
                Kind::Host => 0x10_0000 + 2 * place,
                Kind::Switch => place + if far { 0x1_0000_0000 } else { 0x20_0000 },
            };
            if node.guid == 0 {
                // A file may give some nodes the very numbers that others would get here.
                while taken.contains(&guid) || taken.contains(&(guid + 1)) {
                    guid += 0x100_0000_0000;
                }
                node.guid = guid;
                node.port_guid = guid + u64::from(node.kind == Kind::Host);
            }
        }
        let lmc = planes.next_power_of_two().trailing_zeros() as u8;
        if subnet.nodes.iter().any(|n| n.kind == Kind::Host && n.lid != 0 && n.lmc < lmc) {
            subnet.nodes.iter_mut().for_each(|node| node.lid = 0);
        }
        subnet.drop_shared_lids();
        subnet.give_lids(lmc)?;
        Ok(subnet)
    }

    /// Takes the LID from nodes that share it with one before: in the order of LIDs, then of nodes.
    fn drop_shared_lids(&mut self) {
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(|&n| self.nodes[n].lid != 0).collect();
        order.sort_by_key(|&n| (self.nodes[n].lid, n));
        let mut free = 0;
        for n in order {
            let node = &mut self.nodes[n];
            if node.lid < free {
                node.lid = 0;
            } else {
                free = node.lid.saturating_add(1 << node.lmc.min(7));
            }
        }
    }

    /// LIDs for nodes that have none: the first free ones in the order of nodes.
    fn give_lids(&mut self, lmc: u8) -> Result<(), String> {
        let span = |n: &Node| u64::from(n.lid)..u64::from(n.lid) + (1 << n.lmc.min(7));
        let mut taken: Vec<_> =
            self.nodes.iter().chain(&self.left_out).filter(|n| n.lid != 0).map(span).collect();
        taken.sort_unstable_by_key(|span| span.start);
        let (mut taken, mut next) = (taken.into_iter().peekable(), 1u64);
        for node in self.nodes.iter_mut().filter(|n| n.lid == 0) {
            node.lmc = if node.kind == Kind::Host { lmc } else { 0 };
            let count = 1u64 << node.lmc;
            next = next.next_multiple_of(count);
            while let Some(other) = taken.next_if(|other| other.start < next + count) {
                next = next.max(other.end).next_multiple_of(count);
            }
            node.lid = u32::try_from(next).unwrap_or(u32::MAX);
            next += count;
        }
        if next > 0xc000 {
            return Err(format!("this network needs {} LIDs, and InfiniBand has 49,151", next - 1));
        }
        Ok(())
    }
}
