//! Paths over ranks: updn, dnup, ftree, d-mod-k. Each router has a rank; links lead up, down or level.

use super::{
    hops::{Balance, home},
    job::{Job, Ports},
    roots::{ranks, roots},
};
use crate::{
    graph::{Fabric, Peer},
    subnet::NONE,
};
use base::param::Problem;
use std::collections::VecDeque;

/// Which links lead down: from (rank, number) to greater ones; `level`: links between equal ranks count as down both ways.
struct Down {
    rank: Vec<u32>,
    level: bool,
}

impl Down {
    fn leads(&self, from: u32, to: u32) -> bool {
        let (a, b) = (self.rank[from as usize], self.rank[to as usize]);
        if self.level { a <= b } else { (a, from) < (b, to) }
    }
}

/// Paths that go up only before they go down, as short as that allows, by the least loaded port.
fn up_down(job: &Job<'_>, down: &Down) -> Ports {
    let fabric = job.fabric;
    let routers = fabric.routers() as usize;
    let mut next = job.blank();
    let mut balance = Balance::new(fabric);
    let (mut candidates, mut earlier) = (Vec::new(), Vec::new());
    for plane in 0..job.planes {
        let (mut known, mut by_down, mut by_any) = (NONE, vec![NONE; routers], vec![NONE; routers]);
        for &host in &job.order {
            let target = fabric.router_at(host);
            if known != target {
                known = target;
                (by_down, by_any) = lengths(fabric, down, target);
            }
            for router in (0..routers as u32).filter(|&r| r != target) {
                let here = router as usize;
                let on_way = |&(_, peer): &(u32, u32)| {
                    if by_down[here] != NONE {
                        down.leads(router, peer)
                            && by_down[peer as usize] != NONE
                            && by_down[peer as usize] + 1 == by_down[here]
                    } else {
                        !down.leads(router, peer)
                            && by_any[peer as usize] != NONE
                            && by_any[peer as usize] + 1 == by_any[here]
                    }
                };
                candidates.clear();
                candidates.extend(fabric.neighbours(router).filter(on_way));
                earlier.clear();
                earlier.extend((0..plane).map(|p| next[job.row(host, p)][here]));
                if let Some(port) = balance.choose(fabric, router, &candidates, &earlier) {
                    next[job.row(host, plane)][here] = port;
                }
            }
        }
    }
    job.order.iter().for_each(|&host| home(job, host, &mut next));
    Ports { next, level: None, map: None }
}

/// Lengths of paths to a router: down alone, and up before down (where there is a path down it is taken).
fn lengths(fabric: &Fabric, down: &Down, target: u32) -> (Vec<u32>, Vec<u32>) {
    let mut by_down = vec![NONE; fabric.routers() as usize];
    by_down[target as usize] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(router) = queue.pop_front() {
        for (_, peer) in fabric.neighbours(router) {
            if by_down[peer as usize] == NONE && down.leads(peer, router) {
                by_down[peer as usize] = by_down[router as usize] + 1;
                queue.push_back(peer);
            }
        }
    }
    // Lengths grow by one; routers with paths down begin at theirs.
    let mut by_any = by_down.clone();
    let mut start: Vec<u32> = (0..fabric.routers()).filter(|&r| by_any[r as usize] != NONE).collect();
    start.sort_by_key(|&r| by_any[r as usize]);
    let mut starts = start.into_iter().peekable();
    let mut ring: VecDeque<u32> = VecDeque::new();
    loop {
        let waiting = ring.front().map_or(NONE, |&r| by_any[r as usize]);
        let begin = starts.next_if(|&r| by_down[r as usize] <= waiting);
        let Some(router) = begin.or_else(|| ring.pop_front()) else { break };
        for (_, peer) in fabric.neighbours(router) {
            if by_any[peer as usize] == NONE && !down.leads(peer, router) {
                by_any[peer as usize] = by_any[router as usize] + 1;
                ring.push_back(peer);
            }
        }
    }
    (by_down, by_any)
}

/// Up*/down* from the roots.
pub(super) fn updn(job: &Job<'_>) -> Result<Ports, Problem> {
    if let Some(root) = job.options.roots.iter().find(|&&r| r >= job.fabric.routers()) {
        return Err(Job::unsuited("updn", format!("there is no router {root} to be a root")));
    }
    let from =
        |job: &Job<'_>, roots: &[u32]| up_down(job, &Down { rank: ranks(job.fabric, roots), level: false });
    Ok(from(job, &roots(job, from)))
}

/// The same with ranks counted from the hosts, the top being far from them.
pub(super) fn dnup(job: &Job<'_>) -> Result<Ports, Problem> {
    let rank = ranks(job.fabric, &job.fabric.ends());
    let rank = rank.into_iter().map(|r| if r == NONE { 0 } else { NONE - 1 - r }).collect();
    Ok(up_down(job, &Down { rank, level: true }))
}

/// A tree of levels: routers with hosts at level 0, links between neighbouring levels only.
struct Levels {
    level: Vec<u32>,
    /// By router: upward ports, each with the router behind it, in the order of ports.
    up: Vec<Vec<(u32, u32)>>,
}

impl Levels {
    fn of(job: &Job<'_>, name: &str) -> Result<Self, Problem> {
        let fabric = job.fabric;
        let level = ranks(fabric, &fabric.ends());
        let mut up = vec![Vec::new(); fabric.routers() as usize];
        for router in 0..fabric.routers() {
            for (port, peer) in fabric.neighbours(router) {
                let (a, b) = (level[router as usize], level[peer as usize]);
                if a == b || a == NONE {
                    let why = format!(
                        "it is no tree of levels, routers {router} and {peer} are linked at level {a}"
                    );
                    return Err(Job::unsuited(name, why));
                }
                if b > a {
                    up[router as usize].push((port, peer));
                }
            }
        }
        Ok(Self { level, up })
    }

    /// The way down to a host: one router of each level, with its port down in `chain`; counts it.
    fn chain(&self, fabric: &Fabric, host: u32, load: &mut [u32], chain: &mut [u32]) {
        let mut router = fabric.router_at(host);
        loop {
            let ups = &self.up[router as usize];
            // The other end of an upward cable.
            let down = |port: u32| match fabric.port(fabric.port_index(router, port)).peer {
                Peer::Router { router, port } => (port, fabric.port_index(router, port) as usize),
                _ => (NONE, 0),
            };
            let behind =
                |peer: u32| -> u32 { ups.iter().filter(|u| u.1 == peer).map(|u| load[down(u.0).1]).sum() };
            let best = ups.iter().min_by_key(|&&(port, peer)| (behind(peer), load[down(port).1]));
            let Some(&(port, peer)) = best else { return };
            let (port, at) = down(port);
            load[at] += 1;
            chain[peer as usize] = port;
            router = peer;
        }
    }

    /// Down-going entries of a host: from its router up, `choose` picks for every router on the way one upward cable, by which the
    /// router above comes down. Then all routers without an entry climb as `climb` says.
    fn fill(
        &self,
        job: &Job<'_>,
        host: u32,
        plane: u32,
        next: &mut [u16],
        mut climb: impl FnMut(u32, &[(u32, u32)]) -> usize,
    ) -> bool {
        let fabric = job.fabric;
        let target = fabric.router_at(host);
        let row = job.row(host, plane);
        let entries = &mut next[row];
        // Routers above the target, level by level; each was reached by cables that lead down toward it.
        let mut reached = vec![false; entries.len()];
        reached[target as usize] = true;
        let mut front = vec![target];
        while let Some(&first) = front.first() {
            let mut above: Vec<u32> = Vec::new();
            for &router in &front {
                above.extend(self.up[router as usize].iter().map(|&(_, peer)| peer));
            }
            above.sort_unstable();
            above.dedup();
            above.retain(|&r| !reached[r as usize]);
            for &router in &above {
                let downs: Vec<(u32, u32)> = fabric
                    .neighbours(router)
                    .filter(|&(_, peer)| {
                        reached[peer as usize] && self.level[peer as usize] < self.level[router as usize]
                    })
                    .collect();
                let at = climb(router, &downs);
                entries[router as usize] = downs[at].0 as u16;
            }
            above.iter().for_each(|&r| reached[r as usize] = true);
            debug_assert!(self.level[first as usize] < NONE);
            front = above;
        }
        let mut order: Vec<u32> = (0..fabric.routers()).filter(|&r| !reached[r as usize]).collect();
        order.sort_by_key(|&r| std::cmp::Reverse(self.level[r as usize]));
        let mut complete = true;
        for router in order {
            let ups: Vec<(u32, u32)> = self.up[router as usize]
                .iter()
                .copied()
                .filter(|&(_, peer)| reached[peer as usize])
                .collect();
            if ups.is_empty() {
                complete &= !fabric.ends().contains(&router);
                continue;
            }
            let at = climb(router, &ups);
            entries[router as usize] = ups[at].0 as u16;
            reached[router as usize] = true;
        }
        complete
    }
}

/// Every destination its own way: from its router up, the cable that carries fewest destinations down, first by the router
/// above, then by cable; everybody else climbs to these routers where they can, by the upward cable that is least loaded.
pub(super) fn ftree(job: &Job<'_>) -> Result<Ports, Problem> {
    let (fabric, levels) = (job.fabric, Levels::of(job, "ftree")?);
    let mut next = job.blank();
    let mut load = vec![0u32; fabric.ports().len()];
    for &host in &job.order {
        for plane in 0..job.planes {
            let mut chain = vec![NONE; fabric.routers() as usize];
            levels.chain(fabric, host, &mut load, &mut chain);
            let mut preferred: Vec<bool> = chain.iter().map(|&port| port != NONE).collect();
            let least = |router: u32, ports: &[(u32, u32)]| {
                if let Some(at) = ports.iter().position(|&(port, _)| port == chain[router as usize]) {
                    return at;
                }
                let key = |i: &usize| {
                    let (port, peer) = ports[*i];
                    (!preferred[peer as usize], load[fabric.port_index(router, port) as usize], *i)
                };
                let at = (0..ports.len()).min_by_key(key).unwrap_or(0);
                let (port, peer) = ports[at];
                if levels.level[peer as usize] > levels.level[router as usize] {
                    load[fabric.port_index(router, port) as usize] += 1;
                    preferred[router as usize] = preferred[peer as usize];
                }
                at
            };
            if !levels.fill(job, host, plane, &mut next, least) {
                return Err(Job::unsuited(
                    "ftree",
                    format!("some routers have no way up toward terminal {host}"),
                ));
            }
        }
        home(job, host, &mut next);
    }
    Ok(Ports { next, level: None, map: None })
}

/// By digits of the destination's number: `(d / product of ports below) mod ports`.
pub(super) fn dmodk(job: &Job<'_>) -> Result<Ports, Problem> {
    let (fabric, levels) = (job.fabric, Levels::of(job, "d-mod-k")?);
    let mut next = job.blank();
    // Divisor of each router: product of the numbers of upward ports of the routers below, along first ports.
    let mut divisor = vec![1u64; fabric.routers() as usize];
    let mut order: Vec<u32> = (0..fabric.routers()).collect();
    order.sort_by_key(|&r| levels.level[r as usize]);
    for &router in &order {
        for &(_, peer) in &levels.up[router as usize] {
            divisor[peer as usize] = divisor[router as usize] * levels.up[router as usize].len() as u64;
        }
    }
    for &host in &job.order {
        for plane in 0..job.planes {
            let number = u64::from(host) + u64::from(plane);
            let digit = |router: u32, ports: &[(u32, u32)]| {
                let up = levels.level[ports[0].1 as usize] > levels.level[router as usize];
                // A cable down is chosen as the cable up of the level below.
                let d = if up { divisor[router as usize] } else { divisor[ports[0].1 as usize] };
                let width = if up { ports.len() } else { levels.up[ports[0].1 as usize].len().max(1) } as u64;
                let q = number / d.max(1) % width;
                if up { q as usize } else { (q / (width / ports.len() as u64).max(1)) as usize % ports.len() }
            };
            if !levels.fill(job, host, plane, &mut next, digit) {
                return Err(Job::unsuited(
                    "d-mod-k",
                    format!("some routers have no way up toward terminal {host}"),
                ));
            }
        }
        home(job, host, &mut next);
    }
    Ok(Ports { next, level: None, map: None })
}
