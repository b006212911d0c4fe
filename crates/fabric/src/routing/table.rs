//! Next-hop tables: for each destination router, the ports by which every router may pass a packet on.
//!
//! A table has *planes*: independent sets of routes, such as several predetermined routes per pair of routers or the
//! phases of a route. An entry is a list of ports; following any of them at every router must lead to the destination.
//! Tables are kept per destination router, never per pair of terminals.

use crate::{graph::Fabric, metrics::distances, topology::Sizes};
use base::{
    index::{Column, PortId, RouterId, TerminalId},
    param::Problem,
};

/// Most entries (planes x destination routers x routers) and most listed ports of a table.
pub const MAX_ENTRIES: u64 = 1 << 31;
/// No such entry.
pub(crate) const NONE: u32 = u32::MAX;

/// Bytes of a table of so many planes, if an entry has one port: more have more.
pub(crate) fn bytes(fabric: &Fabric, planes: u32) -> u64 {
    of(planes, fabric.ends().len() as u64, fabric.routers().into())
}

/// The same for an intact network of these sizes, or less.
pub(crate) fn least(sizes: &Sizes, planes: u32) -> u64 {
    of(planes, sizes.ends, sizes.routers)
}

fn of(planes: u32, ends: u64, routers: u64) -> u64 {
    let row = u64::from(planes).saturating_mul(routers).saturating_mul(2 * size_of::<u32>() as u64);
    row.saturating_mul(ends)
}

/// Ports by plane, destination router and router.
pub(crate) struct Table {
    /// Routers with terminals, in order: the destinations.
    pub(crate) ends: Vec<RouterId>,
    /// Index in `ends` of each router, or [`NONE`].
    end_of: Column<RouterId, u32>,
    routers: usize,
    /// Row (plane * ends + end) * routers + router begins here in `ports` and ends where the next begins.
    begin: Vec<u32>,
    ports: Vec<PortId>,
}

impl Table {
    /// An empty table for `planes` planes; fill it with [`Table::push`], row by row. Refuses more than
    /// [`MAX_ENTRIES`]: an entry takes four bytes and four more for each port in it.
    pub(crate) fn new(fabric: &Fabric, planes: u32) -> Result<Self, Vec<Problem>> {
        let ends = fabric.ends();
        let entries = u64::from(planes) * ends.len() as u64 * u64::from(fabric.routers());
        if entries >= MAX_ENTRIES {
            return Err(too_large(entries));
        }
        let mut end_of = Column::filled(fabric.routers() as usize, NONE);
        for (i, &router) in ends.iter().enumerate() {
            end_of[router] = i as u32;
        }
        let mut begin = Vec::with_capacity(entries as usize + 1);
        begin.push(0);
        Ok(Self { ends, end_of, routers: fabric.routers() as usize, begin, ports: Vec::new() })
    }

    /// Appends the next row.
    pub(crate) fn push(&mut self, ports: &[PortId]) -> Result<(), Vec<Problem>> {
        self.ports.extend_from_slice(ports);
        if self.ports.len() as u64 >= MAX_ENTRIES {
            return Err(too_large(self.ports.len() as u64));
        }
        self.begin.push(self.ports.len() as u32);
        Ok(())
    }

    /// Number of the destination router, for [`Table::ports`]. It must have terminals.
    #[inline]
    pub(crate) fn end(&self, router: RouterId) -> u32 {
        self.end_of[router]
    }

    /// The ports of `router` toward destination router number `end`.
    #[inline]
    pub(crate) fn ports(&self, plane: u32, end: u32, router: RouterId) -> &[PortId] {
        let row = self.row(plane, end, router);
        &self.ports[self.begin[row] as usize..self.begin[row + 1] as usize]
    }

    /// Place of the first port of an entry among all ports, in the order in which they were pushed.
    #[inline]
    pub(crate) fn first(&self, plane: u32, end: u32, router: RouterId) -> usize {
        self.begin[self.row(plane, end, router)] as usize
    }

    #[inline]
    fn row(&self, plane: u32, end: u32, router: RouterId) -> usize {
        (plane as usize * self.ends.len() + end as usize) * self.routers + router.index()
    }

    /// Number of planes that are filled.
    pub(crate) fn planes(&self) -> u32 {
        ((self.begin.len() - 1) / (self.ends.len() * self.routers).max(1)) as u32
    }
}

fn too_large(entries: u64) -> Vec<Problem> {
    vec![
        Problem::new("algorithm", format!("the routing table would have {entries} entries or more")).help(
            format!("at most {MAX_ENTRIES} fit; choose a routing that knows this topology's structure"),
        ),
    ]
}

/// Refuses a fabric in which some terminals cannot reach each other, naming the first pairs. Those known to be cut off do
/// not count.
pub(crate) fn connected(fabric: &Fabric) -> Result<(), Vec<Problem>> {
    const REPORTED: usize = 3;
    let Some(first) = fabric.reachable().next() else { return Ok(()) };
    let distance = distances(fabric, fabric.router_at(first));
    let lost: Vec<TerminalId> =
        fabric.reachable().filter(|&t| distance[fabric.router_at(t)] == u32::MAX).collect();
    if lost.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = lost.iter().take(REPORTED).map(ToString::to_string).collect();
    let message = format!(
        "no path between terminal {first} and terminal{} {}{}: {} of {} terminals are cut off from it",
        if names.len() == 1 { "" } else { "s" },
        names.join(", "),
        if lost.len() > REPORTED { ", .." } else { "" },
        lost.len(),
        fabric.terminals(),
    );
    Err(vec![Problem::new("algorithm", message).help("let fewer links fail")])
}
