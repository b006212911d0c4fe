//! Shortest paths: minhop, dor, random; and the paths to switches themselves.

use super::job::{Job, NO_PORT, Ports};
use crate::{
    graph::Fabric,
    metrics::distances,
    subnet::{NONE, Subnet, Tables},
};
use base::{
    param::Problem,
    rng::{Purpose, Stream},
};

/// Ports of a router that begin a shortest path, each with the router behind it.
pub(super) fn shortest<'a>(
    fabric: &'a Fabric,
    router: u32,
    distance: &'a [u32],
) -> impl Iterator<Item = (u32, u32)> + 'a {
    let here = distance[router as usize];
    fabric
        .neighbours(router)
        .filter(move |&(_, peer)| distance[peer as usize] != NONE && distance[peer as usize] + 1 == here)
}

/// Destinations on each port so far, and the choice among ports.
pub(super) struct Balance {
    load: Vec<u32>,
}

impl Balance {
    pub(super) fn new(fabric: &Fabric) -> Self {
        Self { load: vec![0; fabric.ports().len()] }
    }

    /// The port with fewest destinations, the first of equals; counts it. `earlier` are the ports of the destination's identifiers before: the
    /// first candidate is then the one behind the last of them, and one that leads to a router that none of them leads to is preferred, then, of equal ports, one
    /// whose router has fewest of them (OpenSM's rule for LMC).
    pub(super) fn choose(
        &mut self,
        fabric: &Fabric,
        router: u32,
        candidates: &[(u32, u32)],
        earlier: &[u16],
    ) -> Option<u16> {
        let behind = |port: u16| fabric.next_router(router, port.into());
        let begin = earlier.last().map_or(0, |&last| candidates.partition_point(|c| c.0 <= u32::from(last)));
        let (mut best, mut other) = ((u32::MAX, None), (u32::MAX, None));
        let mut fewest = u32::MAX;
        for &(port, peer) in candidates[begin..].iter().chain(&candidates[..begin]) {
            let load = self.load[fabric.port_index(router, port) as usize];
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
        self.load[fabric.port_index(router, port) as usize] += 1;
        Some(port as u16)
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
            for router in (0..fabric.routers()).filter(|&r| r != fabric.router_at(host)) {
                candidates.clear();
                candidates.extend(shortest(fabric, router, distance));
                earlier.clear();
                earlier.extend((0..plane).map(|p| next[job.row(host, p)][router as usize]));
                if let Some(port) = balance.choose(fabric, router, &candidates, &earlier) {
                    next[job.row(host, plane)][router as usize] = port;
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
    let mut cables: Vec<u32> = Vec::new();
    let mut load = vec![0u32; fabric.ports().len()];
    job.each(|host, distance| {
        for router in 0..fabric.routers() {
            let Some((port, peer)) = shortest(fabric, router, distance).next() else { continue };
            cables.clear();
            cables.extend(fabric.neighbours(router).filter(|&(_, p)| p == peer).map(|(port, _)| port));
            for plane in 0..job.planes {
                let least =
                    cables.iter().copied().min_by_key(|&p| load[fabric.port_index(router, p) as usize]);
                let port = least.filter(|_| spread).unwrap_or(port);
                load[fabric.port_index(router, port) as usize] += 1;
                next[job.row(host, plane)][router as usize] = port as u16;
            }
        }
        home(job, host, &mut next);
    });
    Ok(Ports { next, level: None, map: None })
}

/// The last port of a host's paths.
pub(super) fn home(job: &Job<'_>, host: u32, next: &mut [u16]) {
    let (router, port) = job.fabric.attached(host);
    for plane in 0..job.planes {
        next[job.row(host, plane)][router as usize] = port as u16;
    }
}

/// Any port on a shortest path.
pub(super) fn random(job: &Job<'_>) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let mut next = job.blank();
    let mut ports = Vec::new();
    job.each(|host, distance| {
        let mut draw = Stream::new(job.options.seed, Purpose::Route, u64::from(host));
        for router in 0..fabric.routers() {
            ports.clear();
            ports.extend(shortest(fabric, router, distance).map(|(p, _)| p));
            for plane in 0..job.planes {
                if !ports.is_empty() {
                    next[job.row(host, plane)][router as usize] =
                        ports[draw.below(ports.len() as u64) as usize] as u16;
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
        first[router as usize] = host as u32;
    }
    for switch in 0..width as u32 {
        let row = tables.switch_row(subnet, switch) as usize * width;
        if first[switch as usize] != NONE {
            let from = tables.row(first[switch as usize], 0) as usize * width;
            tables.next.copy_within(from..from + width, row);
            tables.next[row + switch as usize] = NONE;
            continue;
        }
        let distance = distances(fabric, switch);
        for router in (0..width as u32).filter(|&r| r != switch) {
            if let Some((port, _)) = shortest(fabric, router, &distance).next() {
                debug_assert!(port as u16 != NO_PORT);
                tables.next[row + router as usize] = edge[router as usize][port as usize];
            }
        }
    }
}
