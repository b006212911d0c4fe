//! Verification of forwarding tables: does every message arrive, by how long a way, how even are the cables' loads, and can
//! messages wait for each other in a circle?
//!
//! *Reach*: every pair of hosts and every local identifier is followed. *Loops* are paths that come back to a switch. A path is
//! *minimal* if no way over the switches is shorter. The *load* of a directed link is the number of ordered pairs of hosts that cross
//! it, a pair counted once for each identifier of its receiver: the edge forwarding index. *Credit loops*: a channel is a lane of a link between switches; channel b follows
//! channel a if some pair's message crosses both one after the other. A cycle of channels can deadlock (Dally, Seitz 1987).
//! Without service levels all messages use one lane. Where files give levels of some paths, those are judged by themselves; a second
//! look gives the others level 0, as messages without path records have it.

mod cycle;

use crate::subnet::{Lost, NONE, Subnet, Tables, UNKNOWN};
pub use cycle::Channel;
use cycle::Dependencies;
use std::collections::VecDeque;

/// Examples of lost pairs that are kept.
const EXAMPLES: usize = 10;

/// A pair of hosts whose message does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostPair {
    /// Index of the sender in [`Subnet::hosts`].
    pub source: u32,
    /// Index of the receiver in [`Subnet::hosts`].
    pub destination: u32,
    /// Why it does not arrive, and where that shows.
    pub why: Lost,
}

/// What verification finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Ordered pairs of different hosts, times local identifiers.
    pub pairs: u64,
    /// Pairs whose message finds no way, ends at another host or is dropped.
    pub unreached: u64,
    /// Pairs whose message goes round in a circle.
    pub loops: u64,
    /// Some of the lost: the first that were found.
    pub lost: Vec<LostPair>,
    /// Arriving pairs by links of their way, host links included.
    pub lengths: Vec<u64>,
    /// Arriving pairs on a shortest path.
    pub minimal: u64,
    /// Loads of directed links between switches.
    pub load: Load,
    /// Load of every directed link, those of hosts too: pairs, times local identifiers.
    pub loads: Vec<u64>,
    /// Lanes in use, 1 if none are known.
    pub lanes: u8,
    /// Paths without a service level, although lanes or other levels are given.
    pub unknown: u64,
    /// Channels that wait for each other, by paths whose service level is known, if there are such.
    pub cycle: Option<Vec<Channel>>,
    /// Channels that wait for each other once paths without a service level use level 0, if only that closes a cycle.
    pub cycle_at_level_0: Option<Vec<Channel>>,
}

/// Statistics over directed links between switches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Number of links that were looked at.
    pub links: u64,
    /// Links that no pair uses.
    pub unused: u64,
    /// Least load of a link; 0 if there is none between switches.
    pub min: u64,
    /// Greatest load of a link; 0 if there is none between switches.
    pub max: u64,
    /// Mean load, over unused links too.
    pub mean: f64,
    /// Standard deviation of the loads, over all links (divided by their number).
    pub sigma: f64,
}

impl Report {
    /// True if every message arrives and none can wait in a circle, whatever is not given.
    #[must_use]
    pub fn sound(&self) -> bool {
        self.unreached == 0 && self.loops == 0 && self.any_cycle().is_none()
    }

    /// The cycle that was found, of known levels or with level 0 for the others.
    #[must_use]
    pub fn any_cycle(&self) -> Option<&[Channel]> {
        self.cycle.as_deref().or(self.cycle_at_level_0.as_deref())
    }

    /// Mean number of links of a way.
    #[must_use]
    pub fn mean_length(&self) -> f64 {
        let count: u64 = self.lengths.iter().sum();
        let sum: u64 = (0u64..).zip(&self.lengths).map(|(length, n)| length * n).sum();
        sum as f64 / count.max(1) as f64
    }
}

/// Follows all paths of the tables.
#[must_use]
pub fn verify(subnet: &Subnet, tables: &Tables) -> Report {
    let mut walk = Walk::new(subnet, tables);
    let mut distances = Distances { subnet, of: NONE, by: Vec::new() };
    for target in 0..subnet.hosts.len() as u32 {
        for plane in 0..tables.planes {
            walk.row(target, plane, &mut distances);
        }
    }
    walk.report.load = load(subnet, &walk.report.loads);
    walk.report.cycle = walk.known.cycle();
    if let (None, Some(mut all)) = (&walk.report.cycle, walk.at_level_0) {
        all.merge(&walk.known);
        walk.report.cycle_at_level_0 = all.cycle();
    }
    walk.report
}

fn load(subnet: &Subnet, loads: &[u64]) -> Load {
    let between =
        subnet.edges.iter().zip(loads).filter(|(e, _)| !subnet.is_host(e.from) && !subnet.is_host(e.to));
    let all: Vec<u64> = between.map(|(_, &load)| load).collect();
    let n = all.len().max(1) as f64;
    let mean = all.iter().sum::<u64>() as f64 / n;
    let variance = all.iter().map(|&l| (l as f64 - mean).powi(2)).sum::<f64>() / n;
    Load {
        links: all.len() as u64,
        unused: all.iter().filter(|&&l| l == 0).count() as u64,
        min: all.iter().copied().min().unwrap_or(0),
        max: all.iter().copied().max().unwrap_or(0),
        mean,
        sigma: variance.sqrt(),
    }
}

/// Shortest paths to one node, kept for the rows of one switch.
struct Distances<'a> {
    subnet: &'a Subnet,
    of: u32,
    by: Vec<u32>,
}

impl Distances<'_> {
    /// Links from every switch to the node (a switch), over switches.
    fn to(&mut self, node: u32) -> &[u32] {
        if self.of != node {
            self.of = node;
            self.by = distances(self.subnet, node);
        }
        &self.by
    }
}

/// Links from every node to a switch, over switches; [`NONE`] if there is no path.
#[must_use]
pub fn distances(subnet: &Subnet, to: u32) -> Vec<u32> {
    let mut by = vec![NONE; subnet.nodes.len()];
    by[to as usize] = 0;
    let mut queue = VecDeque::from([to]);
    while let Some(node) = queue.pop_front() {
        for &out in subnet.out(node) {
            // The way back of a cable leads here; links without one are followed by nobody.
            let edge = subnet.edges[out as usize];
            if edge.reverse == NONE || subnet.is_host(edge.to) || by[edge.to as usize] != NONE {
                continue;
            }
            by[edge.to as usize] = by[node as usize] + 1;
            queue.push_back(edge.to);
        }
    }
    by
}

struct Walk<'a> {
    subnet: &'a Subnet,
    tables: &'a Tables,
    report: Report,
    /// What paths of known levels cross.
    known: Dependencies<'a>,
    /// What paths without a level cross at level 0, if there are such.
    at_level_0: Option<Dependencies<'a>>,
    path: Vec<u32>,
    /// By edge: service levels (bits; 16 for none) with which it was entered in this row.
    seen: Vec<u32>,
    touched: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(subnet: &'a Subnet, tables: &'a Tables) -> Self {
        let report = Report {
            pairs: 0,
            unreached: 0,
            loops: 0,
            lost: Vec::new(),
            lengths: Vec::new(),
            minimal: 0,
            load: Load::default(),
            loads: vec![0; subnet.edges.len()],
            lanes: 1,
            unknown: 0,
            cycle: None,
            cycle_at_level_0: None,
        };
        let (known, seen) = (Dependencies::new(subnet), vec![0; subnet.edges.len()]);
        Self { subnet, tables, report, known, at_level_0: None, path: Vec::new(), seen, touched: Vec::new() }
    }

    /// All ways to one local identifier of a host.
    fn row(&mut self, target: u32, plane: u32, distances: &mut Distances<'_>) {
        let (subnet, row) = (self.subnet, self.tables.row(target, plane));
        let home = subnet.home(target).map(|(switch, _)| switch);
        for source in (0..subnet.hosts.len() as u32).filter(|&s| s != target) {
            self.report.pairs += 1;
            self.path.clear();
            if let Err(lost) = self.tables.carry(subnet, source, row, &mut self.path) {
                match lost {
                    Lost::NoRoute(_) | Lost::Stray(_) | Lost::Dropped(_) => self.report.unreached += 1,
                    Lost::Loop(_) => self.report.loops += 1,
                }
                if self.report.lost.len() < EXAMPLES {
                    self.report.lost.push(LostPair { source, destination: target, why: lost });
                }
                continue;
            }
            let length = self.path.len();
            if self.report.lengths.len() <= length {
                self.report.lengths.resize(length + 1, 0);
            }
            self.report.lengths[length] += 1;
            self.path.iter().for_each(|&e| self.report.loads[e as usize] += 1);
            if let (Some(home), Some((from, _))) = (home, subnet.home(source)) {
                let best = distances.to(home)[from as usize];
                self.report.minimal += u64::from(best != NONE && length as u32 == best + 2);
            }
            self.depend(row, source);
        }
        for edge in self.touched.drain(..) {
            self.seen[edge as usize] = 0;
        }
    }

    /// Notes which channels the present path crosses one after the other.
    fn depend(&mut self, row: u32, source: u32) {
        let subnet = self.subnet;
        let level = subnet.lanes.as_ref().map_or(0, |lanes| lanes.sl(subnet, row, source));
        let (sl, bit, dependencies) = if level == UNKNOWN {
            self.report.unknown += 1;
            (0, 1 << 16, self.at_level_0.get_or_insert_with(|| Dependencies::new(subnet)))
        } else {
            (level, 1 << (level & 15), &mut self.known)
        };
        let mut before = None;
        for pair in self.path.windows(2) {
            let (into, out) = (subnet.edges[pair[0] as usize], subnet.edges[pair[1] as usize]);
            if subnet.is_host(out.to) {
                break;
            }
            let lane = match &subnet.lanes {
                None => 0,
                Some(lanes) => lanes.lane(subnet, subnet.place(out.from), into.to_port, out.port, sl),
            };
            self.report.lanes = self.report.lanes.max(lane + 1);
            let channel = Channel { edge: pair[1], lane };
            if let Some(before) = before {
                dependencies.add(before, channel);
            }
            before = Some(channel);
            // From here on a way that came by the same link with the same level is the same.
            let seen = &mut self.seen[pair[0] as usize];
            if *seen == 0 {
                self.touched.push(pair[0]);
            }
            if *seen & bit != 0 {
                break;
            }
            *seen |= bit;
        }
    }
}

#[cfg(test)]
mod tests;
