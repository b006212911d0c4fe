//! Service levels and virtual lanes: a message carries its service level (SL) from end to end; at every switch SL, input port
//! and output port give the virtual lane (VL) of the link behind.

use super::parts::{Lanes, Subnet, UNKNOWN};

/// Most pairs of hosts, times identifiers, whose service levels are kept: a byte each.
const MAX_PATHS: u64 = 1 << 32;
/// The lane of subnet management; in a map it says that messages are dropped.
const MANAGEMENT: u8 = 15;
/// Most ports of a switch with a map of its own: 16 bytes for each two ports.
pub const MAX_MAPPED: u32 = 255;

impl Lanes {
    /// True if levels of all pairs of hosts fit in memory.
    #[must_use]
    pub fn fit(subnet: &Subnet, planes: u32) -> bool {
        let hosts = subnet.hosts.len() as u64;
        hosts * hosts * u64::from(planes) <= MAX_PATHS
    }

    /// No path known, every SL its own lane.
    #[must_use]
    pub fn new(subnet: &Subnet, planes: u32) -> Self {
        let hosts = subnet.hosts.len();
        Self {
            sl: vec![UNKNOWN; hosts * planes as usize * hosts],
            map: vec![Vec::new(); subnet.switches.len()],
        }
    }

    /// Service level of a path.
    #[inline]
    #[must_use]
    pub fn sl(&self, subnet: &Subnet, row: u32, source: u32) -> u8 {
        self.sl[row as usize * subnet.hosts.len() + source as usize]
    }

    /// Service level that messages of a path carry: 0 where none is given, as traffic without path records has it.
    #[inline]
    #[must_use]
    pub fn level(&self, subnet: &Subnet, row: u32, source: u32) -> u8 {
        match self.sl(subnet, row, source) {
            UNKNOWN => 0,
            sl => sl,
        }
    }

    /// Paths between different hosts for which no service level is given.
    #[must_use]
    pub fn without_level(&self, subnet: &Subnet) -> u64 {
        let hosts = subnet.hosts.len().max(1);
        let rows = self.sl.chunks(hosts);
        let planes = (rows.len() / hosts).max(1);
        let in_row = |(row, levels): (usize, &[u8])| {
            let others = levels.iter().enumerate().filter(|(source, _)| *source != row / planes);
            others.filter(|(_, sl)| **sl == UNKNOWN).count() as u64
        };
        rows.enumerate().map(in_row).sum()
    }

    /// Sets the service level of a path.
    pub fn set(&mut self, subnet: &Subnet, row: u32, source: u32, sl: u8) {
        self.sl[row as usize * subnet.hosts.len() + source as usize] = sl;
    }

    /// Lane behind an output port of a switch (by its index), for messages that came in by a port.
    #[inline]
    #[must_use]
    pub fn lane(&self, subnet: &Subnet, switch: u32, input: u32, output: u32, sl: u8) -> u8 {
        let map = &self.map[switch as usize];
        let ports = subnet.nodes[subnet.switches[switch as usize] as usize].ports + 1;
        match map.get((input * ports + output) as usize) {
            Some(lanes) => lanes[usize::from(sl & 15)],
            None => sl,
        }
    }

    /// The switch that drops messages of a level on a path, if one does: its map gives them lane 15. Where switches map every level to the
    /// lane of its number, all sixteen carry data, as other fabrics than InfiniBand have them.
    #[inline]
    #[must_use]
    pub fn dropped(&self, subnet: &Subnet, path: &[u32], sl: u8) -> Option<u32> {
        let drops = |pair: &[u32]| {
            let (into, out) = (subnet.edges[pair[0] as usize], subnet.edges[pair[1] as usize]);
            let switch = subnet.place(out.from);
            let mapped = !subnet.is_host(out.from) && !self.map[switch as usize].is_empty();
            let lane = || self.lane(subnet, switch, into.to_port, out.port, sl);
            (mapped && lane() == MANAGEMENT).then_some(out.from)
        };
        path.windows(2).find_map(drops)
    }

    /// Number of service levels or lanes in use, at least 1.
    #[must_use]
    pub fn count(&self) -> u8 {
        let sl = self.sl.iter().copied().filter(|&s| s != UNKNOWN).max().unwrap_or(0);
        let mapped = self
            .map
            .iter()
            .flatten()
            .flat_map(|lanes| lanes.iter().copied())
            .filter(|&l| l < MANAGEMENT)
            .max();
        1 + if self.map.iter().all(Vec::is_empty) { sl } else { mapped.unwrap_or(0) }
    }
}
