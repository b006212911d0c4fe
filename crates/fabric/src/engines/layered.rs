//! Lanes for tables: every pair of routers on the lowest lane that stays free of cycles (see `routing::layers`).

use super::{
    hops::lowest,
    job::{Job, NO_PORT, Ports},
    sssp::sssp,
};
use crate::routing::{layers, table::Table};
use base::{
    index::{PortId, TerminalId},
    param::Problem,
};

/// SSSP on lanes.
pub(super) fn dfsssp(job: &Job<'_>) -> Result<Ports, Problem> {
    let ports = sssp(job)?;
    layer(job, ports, "dfsssp")
}

/// The lowest ports on lanes.
pub(super) fn lash(job: &Job<'_>) -> Result<Ports, Problem> {
    let ports = lowest(job, false)?;
    layer(job, ports, "lash")
}

/// Adds levels to tables. Destinations of one router with the same paths are layered once.
pub(super) fn layer(job: &Job<'_>, mut ports: Ports, name: &str) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let routers = fabric.routers() as usize;
    let ends = fabric.ends();
    // Distinct rows of each router with hosts; a plane of the layered table holds one of every router.
    let mut distinct: Vec<Vec<usize>> = vec![Vec::new(); ends.len()];
    let rows = (fabric.terminals() * job.planes) as usize;
    let mut place: Vec<(usize, usize)> = vec![(0, 0); rows];
    let row = |r: usize| &ports.next[r * routers..(r + 1) * routers];
    for (r, slot) in place.iter_mut().enumerate() {
        let router = fabric.router_at(TerminalId::new(r as u32 / job.planes));
        let Ok(end) = ends.binary_search(&router) else { continue };
        let alike = |&other: &usize| {
            row(r).iter().zip(row(other)).enumerate().all(|(i, (a, b))| a == b || i == router.index())
        };
        let known = distinct[end].iter().position(alike);
        *slot = (known.unwrap_or(distinct[end].len()), end);
        if known.is_none() {
            distinct[end].push(r);
        }
    }
    let planes = distinct.iter().map(Vec::len).max().unwrap_or(0);
    let refuse = |problems: Vec<Problem>| {
        problems.into_iter().next().unwrap_or_else(|| Job::unsuited(name, "it is too large"))
    };
    let mut table = Table::new(fabric, planes as u32).map_err(refuse)?;
    for plane in 0..planes {
        for (end, &home) in ends.iter().enumerate() {
            for router in 0..routers {
                let port = distinct[end].get(plane).map_or(NO_PORT, |&r| row(r)[router]);
                let list = [PortId::new(port.into())];
                let none = port == NO_PORT || router == home.index();
                table.push(if none { &[] } else { &list }).map_err(refuse)?;
            }
        }
    }
    let found = layers::assign(fabric, &table, job.options.lanes, u64::MAX).map_err(|refused| {
        let message = format!(
            "{} lanes do not suffice: the paths from router {} to router {} fit in none",
            job.options.lanes, refused.pair.0, refused.pair.1
        );
        Job::unsuited(name, message).help("allow more with --lanes (16 at most), or use nue, which needs one")
    })?;
    let mut level = vec![0; rows * routers];
    for (r, &(plane, end)) in place.iter().enumerate() {
        for (source, &router) in ends.iter().enumerate() {
            level[r * routers + router.index()] = found.of(plane as u32, source as u32, end as u32).number();
        }
    }
    ports.level = Some(level);
    Ok(ports)
}
