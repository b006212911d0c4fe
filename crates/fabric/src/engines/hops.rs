//! Shortest paths: minhop, dor, random; and the paths to switches themselves.

use super::job::{Job, NO_PORT, Ports};
use crate::{
    graph::Fabric,
    metrics::distances,
    subnet::{NONE, Subnet, Tables},
};
use base::{
    index::{Column, LinkId, PortId, RouterId, TerminalId},
    param::Problem,
    rng::{Purpose, Stream},
};

/// Ports of a router that begin a shortest path, each with the router behind it.
pub(super) fn shortest<'a>(
    fabric: &'a Fabric,
    router: RouterId,
    distance: &'a Column<RouterId, u32>,
) -> impl Iterator<Item = (PortId, RouterId)> + 'a {
    let here = distance[router];
    fabric.neighbours(router).filter(move |&(_, peer)| distance[peer] != NONE && distance[peer] + 1 == here)
}

/// Destinations on each port so far, and the choice among ports.
pub(super) struct Balance {
    load: Column<LinkId, u32>,
}

impl Balance {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self { load: Column::filled(fabric.ports().len(), 0) }
    }

    /// The port with fewest destinations, the first of equals; counts it. `earlier` are the ports of the destination's identifiers before: the
    /// first candidate is then the one behind the last of them, and one that leads to a router that none of them leads to is preferred, then, of equal ports, one
    /// whose router has fewest of them (OpenSM's rule for LMC).
    pub(super) fn choose(
        &mut self,
        fabric: &Fabric,
        router: RouterId,
        candidates: &[(PortId, RouterId)],
        earlier: &[u16],
    ) -> Option<u16> {
        let behind = |port: u16| fabric.next_router(router, PortId::new(port.into()));
        let begin =
            earlier.last().map_or(0, |&last| candidates.partition_point(|c| c.0.number() <= last.into()));
        let (mut best, mut other) = ((u32::MAX, None), (u32::MAX, None));
        let mut fewest = u32::MAX;
        for &(port, peer) in candidates[begin..].iter().chain(&candidates[..begin]) {
            let load = self.load[fabric.port_index(router, port)];
            let used = earlier.iter().filter(|&&e| behind(e) == Some(peer)).count() as u32;
            if used == 0 && load < other.0 {
                other = (load, Some(port));
                fewest = 0;
            }
            if load < best.0 {
                best = (load, Some(port));
                fewest = if used > 0 { fewest.min(used) } else { fewest };
            } else if used > 0 && load == best.0 && used < fewest {
                fewest = used;
                best.1 = Some(port);
            }
        }
        let port = other.1.or(best.1)?;
        self.load[fabric.port_index(router, port)] += 1;
        Some(port.number() as u16)
    }
}

/// The least loaded of the shortest; all first identifiers, then all second ones.
pub(super) fn minhop(job: &Job<'_>) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let mut next = job.blank();
    let mut balance = Balance::new(fabric);
    let (mut candidates, mut earlier) = (Vec::new(), Vec::new());
    for plane in 0..job.planes {
        job.each(|host, distance| {
            for router in RouterId::first(fabric.routers()).filter(|&r| r != fabric.router_at(host)) {
                candidates.clear();
                candidates.extend(shortest(fabric, router, distance));
                earlier.clear();
                earlier.extend((0..plane).map(|p| next[job.row(host, p)][router.index()]));
                if let Some(port) = balance.choose(fabric, router, &candidates, &earlier) {
                    next[job.row(host, plane)][router.index()] = port;
                }
            }
        });
    }
    job.order.iter().for_each(|&host| home(job, host, &mut next));
    Ok(Ports { next, level: None, map: None })
}

/// The lowest port on a shortest path; among parallel cables to the same router the least loaded.
pub(super) fn dor(job: &Job<'_>) -> Result<Ports, Problem> {
    lowest(job, true)
}

/// The lowest port on a shortest path, spread over parallel cables or not.
pub(super) fn lowest(job: &Job<'_>, spread: bool) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let mut next = job.blank();
    let mut cables: Vec<PortId> = Vec::new();
    let mut load = Column::filled(fabric.ports().len(), 0u32);
    job.each(|host, distance| {
        for router in RouterId::first(fabric.routers()) {
            let Some((port, peer)) = shortest(fabric, router, distance).next() else { continue };
            cables.clear();
            cables.extend(fabric.neighbours(router).filter(|&(_, p)| p == peer).map(|(port, _)| port));
            for plane in 0..job.planes {
                let least = cables.iter().copied().min_by_key(|&p| load[fabric.port_index(router, p)]);
                let port = least.filter(|_| spread).unwrap_or(port);
                load[fabric.port_index(router, port)] += 1;
                next[job.row(host, plane)][router.index()] = port.number() as u16;
            }
        }
        home(job, host, &mut next);
    });
    Ok(Ports { next, level: None, map: None })
}

/// The last port of a host's paths.
pub(super) fn home(job: &Job<'_>, host: TerminalId, next: &mut [u16]) {
    let (router, port) = job.fabric.attached(host);
    for plane in 0..job.planes {
        next[job.row(host, plane)][router.index()] = port.number() as u16;
    }
}

/// Any port on a shortest path.
pub(super) fn random(job: &Job<'_>) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let mut next = job.blank();
    let mut ports = Vec::new();
    job.each(|host, distance| {
        let mut draw = Stream::new(job.options.seed, Purpose::Route, u64::from(host));
        for router in RouterId::first(fabric.routers()) {
            ports.clear();
            ports.extend(shortest(fabric, router, distance).map(|(p, _)| p));
            for plane in 0..job.planes {
                if !ports.is_empty() {
                    next[job.row(host, plane)][router.index()] =
                        ports[draw.below(ports.len() as u64) as usize].number() as u16;
                }
            }
        }
        home(job, host, &mut next);
    });
    Ok(Ports { next, level: None, map: None })
}

/// Paths to switches: those of their first host, which pass through them; else shortest by the lowest port.
pub(super) fn to_switches(subnet: &Subnet, fabric: &Fabric, tables: &mut Tables, edge: &[Vec<u32>]) {
    let width = subnet.switches.len();
    let mut first = vec![NONE; width];
    for (host, &(router, _)) in fabric.attachments().iter().enumerate().rev() {
        first[router.index()] = host as u32;
    }
    for switch in 0..width as u32 {
        let row = tables.switch_row(subnet, switch) as usize * width;
        if first[switch as usize] != NONE {
            let from = tables.row(first[switch as usize], 0) as usize * width;
            tables.next.copy_within(from..from + width, row);
            tables.next[row + switch as usize] = NONE;
            continue;
        }
        let distance = distances(fabric, RouterId::new(switch));
        for router in RouterId::first(width as u32).filter(|r| r.number() != switch) {
            if let Some((port, _)) = shortest(fabric, router, &distance).next() {
                debug_assert!(port.number() as u16 != NO_PORT);
                tables.next[row + router.index()] = edge[router.index()][port.index()];
            }
        }
    }
}
