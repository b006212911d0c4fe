//! Where up*/down* begins: candidates for the top of a network, and how evenly each would load the links.

use super::job::{Job, NO_PORT, Ports};
use crate::{
    graph::{Fabric, Peer},
    metrics::distances,
    subnet::NONE,
};
use base::index::{Column, PortId, RouterId, TerminalId};
use std::collections::VecDeque;

/// Destinations by which candidates are compared.
const SAMPLE: usize = 512;

/// Single roots that are compared.
const SINGLE: usize = 16;

/// Distances of all routers from the nearest of some.
pub(super) fn ranks(fabric: &Fabric, from: &[RouterId]) -> Column<RouterId, u32> {
    let mut rank = Column::filled(fabric.routers() as usize, NONE);
    let mut queue: VecDeque<RouterId> = from.iter().copied().collect();
    from.iter().for_each(|&r| rank[r] = 0);
    while let Some(router) = queue.pop_front() {
        for (_, peer) in fabric.neighbours(router) {
            if rank[peer] == NONE {
                rank[peer] = rank[router] + 1;
                queue.push_back(peer);
            }
        }
    }
    rank
}

/// The roots that a user names, or of the candidates that connect all hosts that are connected those whose routes load the links most
/// evenly. `unconnected` counts the pairs of hosts that roots leave without a path. If none of the sets connects all, single roots
/// are the candidates: they do.
pub(super) fn roots(
    job: &Job<'_>,
    route: impl Fn(&Job<'_>, &[RouterId]) -> Ports,
    unconnected: impl Fn(&[RouterId]) -> u64,
) -> Vec<RouterId> {
    if !job.options.roots.is_empty() {
        return job.options.roots.clone();
    }
    let parts = parts(job.fabric);
    let apart = apart(job.fabric, &parts);
    let sets = by_contention(job, candidates(job.fabric), &route);
    let connecting = sets.into_iter().find(|set| unconnected(set) == apart);
    connecting.unwrap_or_else(|| {
        let mut single = by_contention(job, single(job.fabric, &parts), &route);
        debug_assert!(unconnected(&single[0]) == apart, "one root in each part connects all of it");
        single.swap_remove(0)
    })
}

/// The candidates, those first whose routes load the links most evenly; of equal ones the first stays first.
fn by_contention(
    job: &Job<'_>,
    mut candidates: Vec<Vec<RouterId>>,
    route: impl Fn(&Job<'_>, &[RouterId]) -> Ports,
) -> Vec<Vec<RouterId>> {
    if candidates.len() == 1 {
        return candidates;
    }
    let step = job.order.len().div_ceil(SAMPLE).max(1);
    let order: Vec<TerminalId> = job.order.iter().copied().step_by(step).collect();
    let sample =
        Job { fabric: job.fabric, options: job.options, planes: 1, routers: job.routers.clone(), order };
    candidates.sort_by_cached_key(|roots| contention(&sample, &route(&sample, roots)));
    candidates
}

/// Routers that are connected with each other and have hosts, part by part.
fn parts(fabric: &Fabric) -> Vec<Vec<RouterId>> {
    let mut seen = Column::filled(fabric.routers() as usize, false);
    let mut parts = Vec::new();
    for end in fabric.ends() {
        if !seen[end] {
            let far = ranks(fabric, &[end]);
            let part: Vec<RouterId> = RouterId::first(fabric.routers()).filter(|&r| far[r] != NONE).collect();
            part.iter().for_each(|&r| seen[r] = true);
            parts.push(part);
        }
    }
    parts
}

/// Ordered pairs of hosts that are in different parts.
fn apart(fabric: &Fabric, parts: &[Vec<RouterId>]) -> u64 {
    let hosts = hosts(fabric);
    let all: u64 = hosts.cells().iter().sum();
    let of = |part: &Vec<RouterId>| part.iter().map(|&r| hosts[r]).sum::<u64>();
    parts.iter().map(of).map(|n| n * (all - n)).sum()
}

/// Single routers, one in each part: those with the least distance to all its hosts, the k-th of each part together.
fn single(fabric: &Fabric, parts: &[Vec<RouterId>]) -> Vec<Vec<RouterId>> {
    let hosts = hosts(fabric);
    let sum = |r: RouterId| -> u64 {
        let far = distances(fabric, r);
        let near = far.cells().iter().zip(hosts.cells()).filter(|(d, _)| **d != NONE);
        near.map(|(&d, &n)| u64::from(d) * n).sum()
    };
    let nearest = |part: &Vec<RouterId>| {
        let mut part = part.clone();
        part.sort_by_cached_key(|&r| sum(r));
        part
    };
    let nearest: Vec<Vec<RouterId>> = parts.iter().map(nearest).collect();
    let most = nearest.iter().map(Vec::len).max().unwrap_or(0).min(SINGLE);
    (0..most).map(|k| nearest.iter().map(|part| part[k.min(part.len() - 1)]).collect()).collect()
}

/// Sets that may be the top: routers farthest from hosts; those nearly all hosts are equally far from (OpenSM's rule), the nearest of
/// them; those without hosts; those with few. If there is none of these, the router nearest to all hosts. No set twice.
fn candidates(fabric: &Fabric) -> Vec<Vec<RouterId>> {
    let ends = fabric.ends();
    let hosts = hosts(fabric);
    let all = || RouterId::first(fabric.routers());
    let rank = ranks(fabric, &ends);
    let most = rank.cells().iter().copied().filter(|&r| r != NONE).max().unwrap_or(0);
    let mut sets: Vec<Vec<RouterId>> = Vec::new();
    if most > 0 {
        sets.push(all().filter(|&r| rank[r] == most).collect());
    }
    sets.push(equally_far(fabric, &hosts));
    sets.push(all().filter(|&r| hosts[r] == 0 && rank[r] != NONE).collect());
    let mean = hosts.cells().iter().sum::<u64>() / ends.len().max(1) as u64;
    sets.push(all().filter(|&r| 4 * hosts[r] < mean && rank[r] != NONE).collect());
    let mut once: Vec<Vec<RouterId>> = Vec::new();
    for set in sets {
        if !set.is_empty() && !once.contains(&set) {
            once.push(set);
        }
    }
    if once.is_empty() {
        let sum = |r: RouterId| {
            let d = distances(fabric, r);
            ends.iter().map(|&e| u64::from(d[e])).sum::<u64>()
        };
        once.push(all().min_by_key(|&r| sum(r)).into_iter().collect());
    }
    once
}

/// Hosts of each router that are not cut off.
pub(super) fn hosts(fabric: &Fabric) -> Column<RouterId, u64> {
    let mut hosts = Column::filled(fabric.routers() as usize, 0);
    fabric.reachable().for_each(|t| hosts[fabric.router_at(t)] += 1);
    hosts
}

/// Routers from which more than nine tenths of the hosts are equally far and no other distance has a twentieth of them; the nearest.
fn equally_far(fabric: &Fabric, hosts: &Column<RouterId, u64>) -> Vec<RouterId> {
    let total: u64 = hosts.cells().iter().sum();
    let distance = |router: RouterId| {
        let far = distances(fabric, router);
        let mut bars: Vec<u64> = Vec::new();
        for (&d, &n) in far.cells().iter().zip(hosts.cells()).filter(|(d, _)| **d != NONE) {
            bars.resize(bars.len().max(d as usize + 1), 0);
            bars[d as usize] += n;
        }
        let at = bars.iter().position(|&n| 10 * n > 9 * total)?;
        (bars.iter().filter(|&&n| 20 * n > total).count() == 1).then_some(at)
    };
    let all: Vec<(RouterId, usize)> =
        RouterId::first(fabric.routers()).filter_map(|r| Some((r, distance(r)?))).collect();
    let least = all.iter().map(|(_, d)| *d).min();
    all.into_iter().filter(|(_, d)| Some(*d) == least).map(|(r, _)| r).collect()
}

/// Sum over links of the square of the pairs that cross them, pairs without a path counting as if they crossed all.
fn contention(job: &Job<'_>, ports: &Ports) -> u128 {
    let fabric = job.fabric;
    let (hosts, ends) = (hosts(fabric), fabric.ends());
    let mut load = Column::filled(fabric.ports().len(), 0u64);
    let mut lost = 0u64;
    for &host in &job.order {
        let (row, target) = (job.row(host, 0), fabric.router_at(host));
        let next = &ports.next[row];
        for &source in &ends {
            let mut at = source;
            while at != target {
                let port = next[at.index()];
                if port == NO_PORT {
                    lost += hosts[source];
                    break;
                }
                let index = fabric.port_index(at, PortId::new(port.into()));
                load[index] += hosts[source];
                let Peer::Router { router, .. } = fabric.port(index).peer else { break };
                at = router;
            }
        }
    }
    let square = |n: u64| u128::from(n) * u128::from(n);
    load.cells().iter().map(|&n| square(n + lost)).sum()
}
