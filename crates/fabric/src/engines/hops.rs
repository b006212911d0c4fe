//! Shortest ways: minhop, dor, random; and the ways to switches themselves.

use super::{Job, NO_PORT, Ports};
use crate::{
    graph::Fabric,
    metrics::distances,
    subnet::{NONE, Subnet, Tables},
};
use base::{
    param::Problem,
    rng::{Purpose, Stream},
};

/// Ports of a router that begin a shortest way, each with the router behind it.
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

/// The least loaded of the shortest, for every plane another if there is one.
pub(super) fn minhop(job: &Job<'_>) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let mut next = job.blank();
    // By plane: each spreads its destinations evenly on its own.
    let links = fabric.ports.len();
    let mut load = vec![0u32; links * job.planes as usize];
    let at = |plane: u32, router, port| plane as usize * links + fabric.port_index(router, port) as usize;
    let mut used = Vec::new();
    job.each(|host, distance| {
        for router in 0..fabric.routers() {
            used.clear();
            for plane in 0..job.planes {
                let row = job.row(host, plane);
                let port = if router == fabric.router_at(host) {
                    Some(fabric.attach[host as usize].1)
                } else {
                    let key =
                        |port: u32| (used.contains(&port), load[fabric.port_index(router, port) as usize]);
                    shortest(fabric, router, distance).map(|(p, _)| p).min_by_key(|&p| key(p))
                };
                if let Some(port) = port {
                    next[row][router as usize] = port as u16;
                    load[at(plane, router, port)] += 1;
                    used.push(port);
                }
            }
        }
    });
    Ok(Ports { next, level: None, map: None })
}

/// The lowest port on a shortest way; among parallel cables to the same router the least loaded.
pub(super) fn dor(job: &Job<'_>) -> Result<Ports, Problem> {
    lowest(job, true)
}

/// The lowest port on a shortest way, spread over parallel cables or not.
pub(super) fn lowest(job: &Job<'_>, spread: bool) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let mut next = job.blank();
    let mut cables: Vec<u32> = Vec::new();
    let mut load = vec![0u32; fabric.ports.len()];
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

/// The last port of a host's ways.
pub(super) fn home(job: &Job<'_>, host: u32, next: &mut [u16]) {
    let (router, port) = job.fabric.attach[host as usize];
    for plane in 0..job.planes {
        next[job.row(host, plane)][router as usize] = port as u16;
    }
}

/// Any port on a shortest way.
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

/// Ways to switches: those of their first host, which pass through them; else shortest by the lowest port.
pub(super) fn to_switches(subnet: &Subnet, fabric: &Fabric, tables: &mut Tables, edge: &[Vec<u32>]) {
    let width = subnet.switches.len();
    let mut first = vec![NONE; width];
    for (host, &(router, _)) in fabric.attach.iter().enumerate().rev() {
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
