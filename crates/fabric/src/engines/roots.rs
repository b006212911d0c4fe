//! Where up*/down* begins: candidates for the top of a network, and how evenly each would load the links.

use super::job::{Job, NO_PORT, Ports};
use crate::{
    graph::{Fabric, Peer},
    metrics::distances,
    subnet::NONE,
};
use std::collections::VecDeque;

/// Destinations by which candidates are compared.
const SAMPLE: usize = 512;

/// Distances of all routers from the nearest of some.
pub(super) fn ranks(fabric: &Fabric, from: &[u32]) -> Vec<u32> {
    let mut rank = vec![NONE; fabric.routers() as usize];
    let mut queue: VecDeque<u32> = from.iter().copied().collect();
    from.iter().for_each(|&r| rank[r as usize] = 0);
    while let Some(router) = queue.pop_front() {
        for (_, peer) in fabric.neighbours(router) {
            if rank[peer as usize] == NONE {
                rank[peer as usize] = rank[router as usize] + 1;
                queue.push_back(peer);
            }
        }
    }
    rank
}

/// The roots that a user names, or of the candidates those whose routes load the links most evenly.
pub(super) fn roots(job: &Job<'_>, route: impl Fn(&Job<'_>, &[u32]) -> Ports) -> Vec<u32> {
    if !job.options.roots.is_empty() {
        return job.options.roots.clone();
    }
    let mut candidates = candidates(job.fabric);
    if candidates.len() == 1 {
        return candidates.swap_remove(0);
    }
    let step = job.order.len().div_ceil(SAMPLE).max(1);
    let order: Vec<u32> = job.order.iter().copied().step_by(step).collect();
    let sample =
        Job { fabric: job.fabric, options: job.options, planes: 1, routers: job.routers.clone(), order };
    // Of equal ones the first.
    let best = candidates.iter().min_by_key(|roots| contention(&sample, &route(&sample, roots)));
    best.cloned().unwrap_or_default()
}

/// Sets that may be the top: routers farthest from hosts; those nearly all hosts are equally far from (OpenSM's rule), the nearest of
/// them; those without hosts; those with few. If there is none of these, the router nearest to all hosts. No set twice.
fn candidates(fabric: &Fabric) -> Vec<Vec<u32>> {
    let ends = fabric.ends();
    let hosts = hosts(fabric);
    let all = || 0..fabric.routers();
    let rank = ranks(fabric, &ends);
    let most = rank.iter().copied().filter(|&r| r != NONE).max().unwrap_or(0);
    let mut sets: Vec<Vec<u32>> = Vec::new();
    if most > 0 {
        sets.push(all().filter(|&r| rank[r as usize] == most).collect());
    }
    sets.push(equally_far(fabric, &hosts));
    sets.push(all().filter(|&r| hosts[r as usize] == 0 && rank[r as usize] != NONE).collect());
    let mean = hosts.iter().sum::<u64>() / ends.len().max(1) as u64;
    sets.push(all().filter(|&r| 4 * hosts[r as usize] < mean && rank[r as usize] != NONE).collect());
    let mut once: Vec<Vec<u32>> = Vec::new();
    for set in sets {
        if !set.is_empty() && !once.contains(&set) {
            once.push(set);
        }
    }
    if once.is_empty() {
        let sum = |r: u32| {
            let d = distances(fabric, r);
            ends.iter().map(|&e| u64::from(d[e as usize])).sum::<u64>()
        };
        once.push(all().min_by_key(|&r| sum(r)).into_iter().collect());
    }
    once
}

/// Hosts of each router that are not cut off.
fn hosts(fabric: &Fabric) -> Vec<u64> {
    let mut hosts = vec![0; fabric.routers() as usize];
    fabric.reachable().for_each(|t| hosts[fabric.router_at(t) as usize] += 1);
    hosts
}

/// Routers from which more than nine tenths of the hosts are equally far and no other distance has a twentieth of them; the nearest.
fn equally_far(fabric: &Fabric, hosts: &[u64]) -> Vec<u32> {
    let total: u64 = hosts.iter().sum();
    let distance = |router: u32| {
        let far = distances(fabric, router);
        let mut bars: Vec<u64> = Vec::new();
        for (&d, &n) in far.iter().zip(hosts).filter(|(d, _)| **d != NONE) {
            bars.resize(bars.len().max(d as usize + 1), 0);
            bars[d as usize] += n;
        }
        let at = bars.iter().position(|&n| 10 * n > 9 * total)?;
        (bars.iter().filter(|&&n| 20 * n > total).count() == 1).then_some(at)
    };
    let all: Vec<(u32, usize)> = (0..fabric.routers()).filter_map(|r| Some((r, distance(r)?))).collect();
    let least = all.iter().map(|(_, d)| *d).min();
    all.into_iter().filter(|(_, d)| Some(*d) == least).map(|(r, _)| r).collect()
}

/// Sum over links of the square of the pairs that cross them, pairs without a way counting as if they crossed all.
fn contention(job: &Job<'_>, ports: &Ports) -> u128 {
    let fabric = job.fabric;
    let (hosts, ends) = (hosts(fabric), fabric.ends());
    let mut load = vec![0u64; fabric.ports().len()];
    let mut lost = 0u64;
    for &host in &job.order {
        let (row, target) = (job.row(host, 0), fabric.router_at(host));
        let next = &ports.next[row];
        for &source in &ends {
            let mut at = source;
            while at != target {
                let port = next[at as usize];
                if port == NO_PORT {
                    lost += hosts[source as usize];
                    break;
                }
                let index = fabric.port_index(at, u32::from(port));
                load[index as usize] += hosts[source as usize];
                let Peer::Router { router, .. } = fabric.port(index).peer else { break };
                at = router;
            }
        }
    }
    let square = |n: u64| u128::from(n) * u128::from(n);
    load.iter().map(|&n| square(n + lost)).sum()
}
