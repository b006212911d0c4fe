//! Paths over ranks: updn, dnup, ftree, d-mod-k. Each router has a rank; links lead up, down or level.

use super::{
    hops::{Balance, home},
    job::{Job, Ports},
    roots::{hosts, ranks, roots},
};
use crate::{
    graph::{Fabric, Peer},
    subnet::NONE,
};
use base::{
    index::{Column, LinkId, PortId, RouterId, TerminalId},
    param::Problem,
};
use std::collections::VecDeque;

/// Which links lead down: from (rank, number) to greater ones; `level`: links between equal ranks count as down in both directions.
struct Down {
    rank: Column<RouterId, u32>,
    level: bool,
}

impl Down {
    fn leads(&self, from: RouterId, to: RouterId) -> bool {
        let (a, b) = (self.rank[from], self.rank[to]);
        if self.level { a <= b } else { (a, from) < (b, to) }
    }
}

/// Paths that go up only before they go down, as short as that allows, by the least loaded port.
fn up_down(job: &Job<'_>, down: &Down) -> Ports {
    let fabric = job.fabric;
    let mut next = job.blank();
    let mut balance = Balance::new(fabric);
    let (mut candidates, mut earlier) = (Vec::new(), Vec::new());
    for plane in 0..job.planes {
        let mut known = None;
        let mut far = Lengths::default();
        for &host in &job.order {
            let target = fabric.router_at(host);
            if known != Some(target) {
                known = Some(target);
                far = lengths(fabric, down, target);
            }
            for router in RouterId::first(fabric.routers()).filter(|&r| r != target) {
                let on_way = |&(_, peer): &(PortId, RouterId)| far.leads(down, router, peer);
                candidates.clear();
                candidates.extend(fabric.neighbours(router).filter(on_way));
                earlier.clear();
                earlier.extend((0..plane).map(|p| next[job.row(host, p)][router.index()]));
                if let Some(port) = balance.choose(fabric, router, &candidates, &earlier) {
                    next[job.row(host, plane)][router.index()] = port;
                }
            }
        }
    }
    job.order.iter().for_each(|&host| home(job, host, &mut next));
    Ports { next, level: None, map: None }
}

/// Lengths of paths to a router; [`NONE`] where there is none.
#[derive(Default)]
struct Lengths {
    /// Down alone; where there is such a path it is taken.
    by_down: Column<RouterId, u32>,
    /// Up before down.
    by_any: Column<RouterId, u32>,
    /// Over any links to a router that has one of these; empty if such paths are not taken.
    by_turns: Column<RouterId, u32>,
}

impl Lengths {
    /// True if a peer is the next on a path of a router.
    fn leads(&self, down: &Down, router: RouterId, peer: RouterId) -> bool {
        let next = |by: &Column<RouterId, u32>| by[peer] != NONE && by[peer] + 1 == by[router];
        if self.by_down[router] != NONE {
            down.leads(router, peer) && next(&self.by_down)
        } else if self.by_any[router] != NONE {
            !down.leads(router, peer) && next(&self.by_any)
        } else {
            !self.by_turns.is_empty() && next(&self.by_turns)
        }
    }
}

/// Lengths of all paths to a router.
fn lengths(fabric: &Fabric, down: &Down, target: RouterId) -> Lengths {
    let mut by_down = Column::filled(fabric.routers() as usize, NONE);
    by_down[target] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(router) = queue.pop_front() {
        for (_, peer) in fabric.neighbours(router) {
            if by_down[peer] == NONE && down.leads(peer, router) {
                by_down[peer] = by_down[router] + 1;
                queue.push_back(peer);
            }
        }
    }
    let by_any = longer(fabric, &by_down, |from, to| !down.leads(from, to));
    let by_turns = if down.level { longer(fabric, &by_any, |_, _| true) } else { Column::default() };
    Lengths { by_down, by_any, by_turns }
}

/// Lengths of paths over links that suit, to routers whose length is known. Lengths grow by one; those that are known begin at theirs.
fn longer(
    fabric: &Fabric,
    known: &Column<RouterId, u32>,
    suits: impl Fn(RouterId, RouterId) -> bool,
) -> Column<RouterId, u32> {
    let mut by = known.clone();
    let mut start: Vec<RouterId> = RouterId::first(fabric.routers()).filter(|&r| by[r] != NONE).collect();
    start.sort_by_key(|&r| by[r]);
    let mut starts = start.into_iter().peekable();
    let mut ring: VecDeque<RouterId> = VecDeque::new();
    loop {
        let waiting = ring.front().map_or(NONE, |&r| by[r]);
        let begin = starts.next_if(|&r| known[r] <= waiting);
        let Some(router) = begin.or_else(|| ring.pop_front()) else { break };
        for (_, peer) in fabric.neighbours(router) {
            if by[peer] == NONE && suits(peer, router) {
                by[peer] = by[router] + 1;
                ring.push_back(peer);
            }
        }
    }
    by
}

/// Ordered pairs of hosts between which no path goes up before it goes down.
fn unconnected(job: &Job<'_>, down: &Down) -> u64 {
    let fabric = job.fabric;
    let hosts = hosts(fabric);
    let ends = fabric.ends();
    let to = |&target: &RouterId| -> u64 {
        let far = lengths(fabric, down, target);
        let without = ends.iter().filter(|&&source| far.by_any[source] == NONE);
        hosts[target] * without.map(|&source| hosts[source]).sum::<u64>()
    };
    ends.iter().map(to).sum()
}

/// Up*/down* from the roots.
pub(super) fn updn(job: &Job<'_>) -> Result<Ports, Problem> {
    if let Some(root) = job.options.roots.iter().find(|r| r.number() >= job.fabric.routers()) {
        return Err(Job::unsuited("updn", format!("there is no router {root} to be a root")));
    }
    let below = |roots: &[RouterId]| Down { rank: ranks(job.fabric, roots), level: false };
    let route = |job: &Job<'_>, roots: &[RouterId]| up_down(job, &below(roots));
    let chosen = roots(job, route, |roots| unconnected(job, &below(roots)));
    Ok(up_down(job, &below(&chosen)))
}

/// The same with ranks counted from the hosts, the top being far from them. Hosts that no such path connects take one with turns.
pub(super) fn dnup(job: &Job<'_>) -> Result<Ports, Problem> {
    let rank = ranks(job.fabric, &job.fabric.ends());
    let rank = rank.cells().iter().map(|&r| if r == NONE { 0 } else { NONE - 1 - r }).collect();
    Ok(up_down(job, &Down { rank, level: true }))
}

/// A tree of levels: routers with hosts at level 0, links between neighbouring levels only.
struct Levels {
    level: Column<RouterId, u32>,
    /// By router: upward ports, each with the router behind it, in the order of ports.
    up: Column<RouterId, Vec<(PortId, RouterId)>>,
}

impl Levels {
    fn of(job: &Job<'_>, name: &str) -> Result<Self, Problem> {
        let fabric = job.fabric;
        let level = ranks(fabric, &fabric.ends());
        let mut up = Column::filled(fabric.routers() as usize, Vec::new());
        for router in RouterId::first(fabric.routers()) {
            for (port, peer) in fabric.neighbours(router) {
                let (a, b) = (level[router], level[peer]);
                if a == b || a == NONE {
                    let why = format!(
                        "it is no tree of levels, routers {router} and {peer} are linked at level {a}"
                    );
                    return Err(Job::unsuited(name, why));
                }
                if b > a {
                    up[router].push((port, peer));
                }
            }
        }
        Ok(Self { level, up })
    }

    /// The path down to a host: one router of each level, with its port down in `chain`; counts it.
    fn chain(
        &self,
        fabric: &Fabric,
        host: TerminalId,
        load: &mut Column<LinkId, u32>,
        chain: &mut Column<RouterId, Option<PortId>>,
    ) {
        let mut router = fabric.router_at(host);
        loop {
            let ups = &self.up[router];
            // The other end of an upward cable.
            let down = |port: PortId| match fabric.port(fabric.port_index(router, port)).peer {
                Peer::Router { router, port } => (Some(port), fabric.port_index(router, port)),
                _ => (None, LinkId::new(0)),
            };
            let behind = |peer: RouterId| -> u32 {
                ups.iter().filter(|u| u.1 == peer).map(|u| load[down(u.0).1]).sum()
            };
            let best = ups.iter().min_by_key(|&&(port, peer)| (behind(peer), load[down(port).1]));
            let Some(&(port, peer)) = best else { return };
            let (port, at) = down(port);
            load[at] += 1;
            chain[peer] = port;
            router = peer;
        }
    }

    /// Down-going entries of a host: from its router up, `choose` picks for every router on the path one upward cable, by which the
    /// router above comes down. Then all routers without an entry climb as `climb` says.
    fn fill(
        &self,
        job: &Job<'_>,
        host: TerminalId,
        plane: u32,
        next: &mut [u16],
        mut climb: impl FnMut(RouterId, &[(PortId, RouterId)]) -> usize,
    ) -> bool {
        let fabric = job.fabric;
        let target = fabric.router_at(host);
        let row = job.row(host, plane);
        let entries = &mut next[row];
        // Routers above the target, level by level; each was reached by cables that lead down toward it.
        let mut reached = Column::filled(entries.len(), false);
        reached[target] = true;
        let mut front = vec![target];
        while let Some(&first) = front.first() {
            let mut above: Vec<RouterId> = Vec::new();
            for &router in &front {
                above.extend(self.up[router].iter().map(|&(_, peer)| peer));
            }
            above.sort_unstable();
            above.dedup();
            above.retain(|&r| !reached[r]);
            for &router in &above {
                let downs: Vec<(PortId, RouterId)> = fabric
                    .neighbours(router)
                    .filter(|&(_, peer)| reached[peer] && self.level[peer] < self.level[router])
                    .collect();
                let at = climb(router, &downs);
                entries[router.index()] = downs[at].0.number() as u16;
            }
            above.iter().for_each(|&r| reached[r] = true);
            debug_assert!(self.level[first] < NONE);
            front = above;
        }
        let mut order: Vec<RouterId> = RouterId::first(fabric.routers()).filter(|&r| !reached[r]).collect();
        order.sort_by_key(|&r| std::cmp::Reverse(self.level[r]));
        let mut complete = true;
        for router in order {
            let ups: Vec<(PortId, RouterId)> =
                self.up[router].iter().copied().filter(|&(_, peer)| reached[peer]).collect();
            if ups.is_empty() {
                complete &= !fabric.ends().contains(&router);
                continue;
            }
            let at = climb(router, &ups);
            entries[router.index()] = ups[at].0.number() as u16;
            reached[router] = true;
        }
        complete
    }
}

/// Every destination its own path: from its router up, the cable that carries fewest destinations down, first by the router
/// above, then by cable; everybody else climbs to these routers where they can, by the upward cable that is least loaded.
pub(super) fn ftree(job: &Job<'_>) -> Result<Ports, Problem> {
    let (fabric, levels) = (job.fabric, Levels::of(job, "ftree")?);
    let mut next = job.blank();
    let mut load = Column::filled(fabric.ports().len(), 0u32);
    for &host in &job.order {
        for plane in 0..job.planes {
            let mut chain = Column::filled(fabric.routers() as usize, None);
            levels.chain(fabric, host, &mut load, &mut chain);
            let mut preferred: Column<RouterId, bool> = chain.cells().iter().map(Option::is_some).collect();
            let least = |router: RouterId, ports: &[(PortId, RouterId)]| {
                if let Some(at) = ports.iter().position(|&(port, _)| Some(port) == chain[router]) {
                    return at;
                }
                let key = |i: &usize| {
                    let (port, peer) = ports[*i];
                    (!preferred[peer], load[fabric.port_index(router, port)], *i)
                };
                let at = (0..ports.len()).min_by_key(key).unwrap_or(0);
                let (port, peer) = ports[at];
                if levels.level[peer] > levels.level[router] {
                    load[fabric.port_index(router, port)] += 1;
                    preferred[router] = preferred[peer];
                }
                at
            };
            if !levels.fill(job, host, plane, &mut next, least) {
                return Err(Job::unsuited(
                    "ftree",
                    format!("some routers have no path up toward terminal {host}"),
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
    let mut divisor = Column::filled(fabric.routers() as usize, 1u64);
    let mut order: Vec<RouterId> = RouterId::first(fabric.routers()).collect();
    order.sort_by_key(|&r| levels.level[r]);
    for &router in &order {
        for &(_, peer) in &levels.up[router] {
            divisor[peer] = divisor[router] * levels.up[router].len() as u64;
        }
    }
    for &host in &job.order {
        for plane in 0..job.planes {
            let number = u64::from(host) + u64::from(plane);
            let digit = |router: RouterId, ports: &[(PortId, RouterId)]| {
                let up = levels.level[ports[0].1] > levels.level[router];
                // A cable down is chosen as the cable up of the level below.
                let d = if up { divisor[router] } else { divisor[ports[0].1] };
                let width = if up { ports.len() } else { levels.up[ports[0].1].len().max(1) } as u64;
                let q = number / d.max(1) % width;
                if up { q as usize } else { (q / (width / ports.len() as u64).max(1)) as usize % ports.len() }
            };
            if !levels.fill(job, host, plane, &mut next, digit) {
                return Err(Job::unsuited(
                    "d-mod-k",
                    format!("some routers have no path up toward terminal {host}"),
                ));
            }
        }
        home(job, host, &mut next);
    }
    Ok(Ports { next, level: None, map: None })
}
