//! What table dumps have in common: entries by local identifier (LID), gathered and then bound to nodes.

use super::lines::Lines;
use crate::subnet::{Kind, MAX_ENTRIES, NONE, Node, Subnet, Tables};
use base::{
    param::Problem,
    sorted::{SortedMap, SortedSet},
};

/// Largest unicast LID.
const MOST: u32 = 0xbfff;
/// The LID that a file gives a port; 0 for none, and where all bits are set: ports that no subnet manager has seen.
///
/// # Errors
/// What no subnet manager gives a port.
pub(super) fn of_port(lid: u32) -> Result<u32, String> {
    match lid {
        0xffff => Ok(0),
        lid if lid > MOST => Err(no_lid(lid.into())),
        lid => Ok(lid),
    }
}

fn no_lid(lid: u64) -> String {
    format!("a unicast LID is from 1 to {MOST:#x}, not {lid}")
}

/// Port of a LID that a switch has no path to.
const NO_PORT: u32 = 255;

/// Which link a switch takes toward a local identifier.
struct Entry {
    /// Index among the switches.
    switch: u32,
    lid: u32,
    /// Index of the link, checked to leave the switch; [`NONE`] for no path.
    edge: u32,
}

/// Entries of all switches as they are read.
pub(super) struct Entries {
    /// Node by GUID, of its port or itself.
    by_guid: SortedMap<u64, u32>,
    /// Port GUID by LID, where the dump says; 0 else.
    guid_of: Vec<u64>,
    entries: Vec<Entry>,
    /// Line of the first entry of each LID.
    line_of: Vec<u32>,
    switch: Option<u32>,
    /// Port GUIDs and LIDs of nodes that are left out: what tables say of them is skipped.
    left_out: SortedSet<(bool, u64)>,
}

/// LID and LMC offset by LID: node and plane, [`NONE`] if nobody has it.
pub(super) struct LidMap(Vec<(u32, u32)>);

impl LidMap {
    /// From the nodes of a subnet.
    pub(super) fn new(subnet: &Subnet) -> Self {
        let mut map = vec![(NONE, 0); MOST as usize + 1];
        for (n, node) in (0u32..).zip(&subnet.nodes).filter(|(_, node)| node.lid != 0) {
            for plane in 0..1 << node.lmc {
                if let Some(slot) = map.get_mut(node.lid.saturating_add(plane) as usize) {
                    *slot = (n, plane);
                }
            }
        }
        Self(map)
    }

    pub(super) fn get(&self, lid: u64) -> Option<(u32, u32)> {
        self.0.get(usize::try_from(lid).ok()?).copied().filter(|(n, _)| *n != NONE)
    }
}

const GUID: bool = true;
const LID: bool = false;

/// What tables may call a node by.
fn names(node: &Node) -> impl Iterator<Item = (bool, u64)> + use<> {
    let lids = (node.lid != 0).then(|| u64::from(node.lid)..u64::from(node.lid) + (1 << node.lmc.min(7)));
    let guids = [node.guid, node.port_guid].into_iter().filter(|g| *g != 0);
    guids.map(|g| (GUID, g)).chain(lids.into_iter().flatten().map(|lid| (LID, lid)))
}

/// Local identifiers of nodes that are left out.
pub(super) fn left_out(subnet: &Subnet) -> SortedSet<u64> {
    subnet.left_out.iter().flat_map(names).filter(|(kind, _)| *kind == LID).map(|(_, lid)| lid).collect()
}

impl Entries {
    pub(super) fn new(subnet: &Subnet) -> Self {
        let nodes = (0u32..).zip(&subnet.nodes);
        let guids =
            nodes.flat_map(|(n, node)| [(node.guid, n), (node.port_guid, n)]).filter(|(g, _)| *g != 0);
        Self {
            by_guid: guids.collect(),
            guid_of: vec![0; MOST as usize + 1],
            entries: Vec::new(),
            line_of: vec![0; MOST as usize + 1],
            switch: None,
            left_out: subnet.left_out.iter().flat_map(names).collect(),
        }
    }

    /// The entries that follow are of the switch with this GUID.
    pub(super) fn head(&mut self, subnet: &Subnet, guid: u64) -> Result<(), String> {
        let node = self.by_guid.get(&guid).copied().filter(|&n| !subnet.is_host(n));
        self.switch = node;
        if node.is_some() {
            return Ok(());
        }
        Err(format!("no switch of the network has GUID {guid:#018x}"))
    }

    /// An entry of the present switch; `guid` is 0 if the line does not say whose the LID is.
    pub(super) fn entry(
        &mut self,
        subnet: &Subnet,
        lid: u64,
        port: Option<u64>,
        guid: u64,
        line: u64,
    ) -> Result<(), String> {
        // An unknown switch was reported at its head.
        let Some(node) = self.switch else { return Ok(()) };
        let lid = u32::try_from(lid).ok().filter(|l| (1..=MOST).contains(l)).ok_or_else(|| no_lid(lid))?;
        let left_out = if guid == 0 { (LID, u64::from(lid)) } else { (GUID, guid) };
        if self.left_out.contains(&left_out) {
            return Ok(());
        }
        let known = &mut self.guid_of[lid as usize];
        if guid != 0 && *known != 0 && *known != guid {
            return Err(format!(
                "LID {lid} belonged to port GUID {known:#018x} before, here to {guid:#018x}"
            ));
        }
        if guid != 0 && *known == 0 && !self.by_guid.contains_key(&guid) {
            return Err(format!(
                "LID {lid} belongs to port GUID {guid:#018x}, which the network does not have"
            ));
        }
        *known = if guid == 0 { *known } else { guid };
        if self.line_of[lid as usize] == 0 {
            self.line_of[lid as usize] = u32::try_from(line).unwrap_or(u32::MAX);
        }
        let port = match port {
            None => return Ok(()),
            Some(port) if port == u64::from(NO_PORT) => return Ok(()),
            Some(port) => port,
        };
        let ports = subnet.nodes[node as usize].ports;
        let port = u32::try_from(port).ok().filter(|&p| p <= ports);
        let port = port.ok_or_else(|| format!("switch {} has ports 1 to {ports}", subnet.label(node)))?;
        if port == 0 {
            let own = self.guid_of[lid as usize];
            let here = &subnet.nodes[node as usize];
            if own != 0 && own != here.port_guid && own != here.guid {
                return Err(format!("port 0 is the switch itself, and LID {lid} is not its own"));
            }
            return Ok(());
        }
        let edge = subnet.edge_at(node, port);
        let edge =
            edge.ok_or_else(|| format!("nothing is plugged into port {port} of {}", subnet.label(node)))?;
        self.entries.push(Entry { switch: subnet.place(node), lid, edge });
        Ok(())
    }

    /// The tables, once all is read.
    pub(super) fn build(self, mut subnet: Subnet, lines: &mut Lines) -> Result<Subnet, Vec<Problem>> {
        self.give_lids(&mut subnet, lines);
        lines.done()?;
        self.infer_lmc(&mut subnet);
        let skipped = left_out(&subnet);
        let map = LidMap::new(&subnet);
        let planes = subnet.hosts.iter().map(|&h| 1u32 << subnet.nodes[h as usize].lmc).max().unwrap_or(1);
        let rows = subnet.hosts.len() as u64 * u64::from(planes) + subnet.switches.len() as u64;
        if rows * subnet.switches.len() as u64 >= MAX_ENTRIES {
            lines.whole("the forwarding tables are too large");
            lines.done()?;
        }
        let mut tables = Tables::new(&subnet, planes, true);
        for &Entry { switch, lid, edge } in &self.entries {
            let line = self.line_of[lid as usize];
            let Some((node, plane)) = map.get(u64::from(lid)) else {
                if skipped.contains(&u64::from(lid)) {
                    continue;
                }
                lines.at(line.into(), "", format!("nobody in the network has LID {lid}"));
                continue;
            };
            let place = subnet.place(node);
            let row = if subnet.is_host(node) {
                tables.row(place, plane)
            } else {
                tables.switch_row(&subnet, place)
            };
            let old = tables.entry(&subnet, row, switch);
            if old != NONE && old != edge {
                let at = subnet.label(subnet.switches[switch as usize]);
                lines.at(line.into(), "", format!("LID {lid} leaves {at} by two ports"));
            }
            tables.set(&subnet, row, switch, edge);
            if lines.enough() {
                break;
            }
        }
        lines.done()?;
        fill_planes(&subnet, &mut tables);
        subnet.tables = Some(tables);
        Ok(subnet)
    }

    /// The LMC of end ports from the tables, if neither they nor the network's file say it: the least with which all LIDs that are in the
    /// tables are an end port's, from its base LID, a multiple of 2^LMC, to that many less one behind it.
    fn infer_lmc(&self, subnet: &mut Subnet) {
        let map = LidMap::new(subnet);
        let skipped = left_out(subnet);
        let known = |lid: u32| map.get(lid.into()).is_some() || skipped.contains(&lid.into());
        let strange: SortedSet<u32> = self.entries.iter().map(|e| e.lid).filter(|&lid| !known(lid)).collect();
        let ends = |n: &&Node| n.kind == Kind::Host && n.lid != 0;
        let all = || subnet.nodes.iter().chain(&subnet.left_out);
        if strange.is_empty() || all().filter(ends).any(|n| n.lmc > 0) {
            return;
        }
        let bases: SortedSet<u32> = all().filter(ends).map(|n| n.lid).collect();
        let fits = |&lmc: &u8| {
            let base = |lid: u32| lid >> lmc << lmc;
            let apart = all().filter(|n| !ends(n)).all(|n| !bases.contains(&base(n.lid)));
            apart
                && bases.iter().all(|&lid| base(lid) == lid)
                && strange.iter().all(|&lid| bases.contains(&base(lid)))
        };
        let Some(lmc) = (1..=7).find(fits) else { return };
        for node in subnet.nodes.iter_mut().chain(&mut subnet.left_out).filter(|n| n.kind == Kind::Host) {
            node.lmc = lmc;
        }
        subnet.notes.push(format!(
            "the network's file does not say how many local identifiers hosts have: {} each, as the tables have them",
            1u32 << lmc
        ));
    }

    /// LIDs of nodes from the dump, which says whose they are and so counts more than the network's file; all hosts must have one.
    fn give_lids(&self, subnet: &mut Subnet, lines: &mut Lines) {
        let mut moved = Moved::default();
        let mut spans: SortedMap<u32, (u32, u32)> = SortedMap::new();
        for (lid, guid) in (0u32..).zip(&self.guid_of).filter(|(_, g)| **g != 0) {
            if let Some(&node) = self.by_guid.get(guid) {
                let span = spans.entry(node).or_insert((lid, lid));
                span.1 = lid;
            }
        }
        for (&node, &(first, last)) in &spans {
            let count = last - first + 1;
            let n = &mut subnet.nodes[node as usize];
            if n.lid != 0 && !(n.lid <= first && last < n.lid.saturating_add((1 << n.lmc).max(count))) {
                moved.count(n, first);
                (n.lid, n.lmc) = (first, 0);
            }
            if count > 128 {
                lines.at(
                    self.line_of[first as usize].into(),
                    "",
                    format!("{} would have {count} LIDs", n.name),
                );
                continue;
            }
            n.lmc = n.lmc.max(count.next_power_of_two().trailing_zeros() as u8);
            n.lid = if n.lid == 0 { first } else { n.lid };
        }
        // Whom the dump does not name cannot keep what it gives to another.
        for (n, node) in (0u32..).zip(&mut subnet.nodes).filter(|(n, _)| !spans.contains_key(n)) {
            let owner = self.guid_of.get(node.lid as usize).and_then(|guid| self.by_guid.get(guid));
            if owner.is_some_and(|&owner| owner != n) {
                moved.count(node, 0);
                node.lid = 0;
            }
        }
        subnet.notes.extend(moved.note());
        for &host in &subnet.hosts {
            if subnet.nodes[host as usize].lid == 0 {
                let label = subnet.label(host);
                lines.whole(format!("host {label} has no LID, here or in the network's file"));
            }
        }
    }
}

/// Nodes that tables know by another LID than the network's file.
#[derive(Default)]
struct Moved {
    nodes: u32,
    first: String,
}

impl Moved {
    fn count(&mut self, node: &Node, here: u32) {
        if self.nodes == 0 {
            self.first = format!("{}, {} by the network's file and {here} here", node.name, node.lid);
        }
        self.nodes += 1;
    }

    fn note(&self) -> Option<String> {
        let Self { nodes, first } = self;
        (*nodes > 0).then(|| {
            format!(
                "{nodes} nodes have other local identifiers in the tables, which count: the first {first}"
            )
        })
    }
}

/// Rows of LIDs that a host with fewer of them lacks are like its first.
fn fill_planes(subnet: &Subnet, tables: &mut Tables) {
    let width = subnet.switches.len();
    for (host, &node) in subnet.hosts.iter().enumerate() {
        for plane in 1 << subnet.nodes[node as usize].lmc..tables.planes as usize {
            let base = host * tables.planes as usize * width;
            tables.next.copy_within(base..base + width, base + plane * width);
        }
    }
}
