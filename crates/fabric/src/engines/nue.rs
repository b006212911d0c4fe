//! Routing on the dependency graph within any number of lanes.
//!
//! Every lane keeps the graph of link dependencies of what it carries, free of cycles at all times. It begins with those of up*/down*
//! over a breadth-first spanning tree, so that tree paths never close a cycle. A destination is searched from its router outward: a
//! router joins by its lightest link to one that is reached, if the dependency of that link on the next is known or closes no
//! cycle. Routers that cannot join are tried again as others are reached; if some are left at the end, what the destination
//! added is taken out and it takes the tree. Destinations are dealt to lanes in turn, router by router.

use super::{
    hops::home,
    job::{Job, NO_PORT, Ports},
};
use crate::{
    graph::{Fabric, Peer},
    routing::layers::{Added, Order},
    subnet::NONE,
};
use base::{
    index::{Column, LinkId, PortId, RouterId},
    param::Problem,
};
use std::collections::{BinaryHeap, VecDeque};

/// A spanning tree: the port toward the root of every router, and its depth.
struct Tree {
    parent: Column<RouterId, Option<(PortId, RouterId)>>,
    depth: Column<RouterId, u32>,
}

impl Tree {
    fn new(fabric: &Fabric) -> Self {
        let routers = fabric.routers() as usize;
        let mut tree = Self { parent: Column::filled(routers, None), depth: Column::filled(routers, NONE) };
        for root in fabric.ends().into_iter().chain(RouterId::first(fabric.routers())) {
            if tree.depth[root] != NONE {
                continue;
            }
            tree.depth[root] = 0;
            let mut queue = VecDeque::from([root]);
            while let Some(router) = queue.pop_front() {
                for (port, peer) in fabric.neighbours(router) {
                    if tree.depth[peer] == NONE {
                        tree.depth[peer] = tree.depth[router] + 1;
                        let Peer::Router { port: back, .. } =
                            fabric.port(fabric.port_index(router, port)).peer
                        else {
                            continue;
                        };
                        tree.parent[peer] = Some((back, router));
                        queue.push_back(peer);
                    }
                }
            }
        }
        tree
    }

    /// Directed links of the tree that enter a router and those that leave it, as port indices.
    fn links(&self, fabric: &Fabric, router: RouterId) -> Vec<(LinkId, LinkId)> {
        let mut both = Vec::new();
        for (port, peer) in fabric.neighbours(router) {
            let Peer::Router { port: back, .. } = fabric.port(fabric.port_index(router, port)).peer else {
                continue;
            };
            let up = self.parent[router] == Some((port, peer));
            let down = self.parent[peer] == Some((back, router));
            if up || down {
                both.push((fabric.port_index(peer, back), fabric.port_index(router, port)));
            }
        }
        both
    }

    /// Allows all turns of tree paths.
    fn allow(&self, fabric: &Fabric, order: &mut Order<'_>) {
        for router in RouterId::first(fabric.routers()) {
            let links = self.links(fabric, router);
            for (i, &(into, _)) in links.iter().enumerate() {
                for (_, &(_, out)) in links.iter().enumerate().filter(|(j, _)| *j != i) {
                    let added = order.add(into, out);
                    debug_assert!(!matches!(added, Added::Cycle(_)), "turns on a tree close no cycle");
                }
            }
        }
    }

    /// Ports of all routers toward a router, along the tree.
    fn toward(&self, fabric: &Fabric, target: RouterId) -> Vec<u16> {
        let mut next = vec![NO_PORT; fabric.routers() as usize];
        // Routers above the target go down, all others up.
        for (router, parent) in self.parent.iter() {
            next[router.index()] = parent.map_or(NO_PORT, |(port, _)| port.number() as u16);
        }
        let mut at = target;
        while let Some((port, parent)) = self.parent[at] {
            if let Peer::Router { port: back, .. } = fabric.port(fabric.port_index(at, port)).peer {
                next[parent.index()] = back.number() as u16;
            }
            at = parent;
        }
        next[target.index()] = NO_PORT;
        next
    }
}

/// Destinations one by one.
pub(super) fn route(job: &Job<'_>) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let routers = fabric.routers() as usize;
    let tree = Tree::new(fabric);
    let lanes = usize::from(job.options.lanes.clamp(1, 16));
    let mut orders: Vec<Order<'_>> = (0..lanes).map(|_| Order::new(fabric)).collect();
    orders.iter_mut().for_each(|order| tree.allow(fabric, order));
    let mut next = job.blank();
    let mut level = vec![0; next.len()];
    let mut load = Column::filled(fabric.ports().len(), 0u64);
    let mut hosts = Column::filled(routers, 0u64);
    fabric.attachments().iter().for_each(|&(router, _)| hosts[router] += 1);
    let mut lane = 0;
    let mut last = None;
    for &host in &job.order {
        let target = fabric.router_at(host);
        if last != Some(target) {
            (last, lane) = (Some(target), (lane + 1) % lanes);
        }
        for plane in 0..job.planes {
            let found = search(fabric, target, &mut orders[lane], &load)
                .unwrap_or_else(|| tree.toward(fabric, target));
            let row = job.row(host, plane);
            level[row.clone()].fill(lane as u8);
            next[row.clone()].copy_from_slice(&found);
            count(fabric, target, &found, &hosts, &mut load);
        }
        home(job, host, &mut next);
    }
    Ok(Ports { next, level: Some(level), map: None })
}

/// Ports of all routers toward a router by free dependencies; none if some that could reach it do not.
fn search(
    fabric: &Fabric,
    target: RouterId,
    order: &mut Order<'_>,
    load: &Column<LinkId, u64>,
) -> Option<Vec<u16>> {
    let routers = fabric.routers() as usize;
    let mut next = vec![NO_PORT; routers];
    let mut weight = Column::filled(routers, u64::MAX);
    weight[target] = 0;
    // A hop outweighs any load.
    let hop = 1 + load.cells().iter().copied().max().unwrap_or(0) * 2;
    let mut added = Vec::new();
    let mut heap = BinaryHeap::new();
    let push = |heap: &mut BinaryHeap<_>, router: RouterId, so_far: u64| {
        for (port, peer) in fabric.neighbours(router) {
            let Peer::Router { port: back, .. } = fabric.port(fabric.port_index(router, port)).peer else {
                continue;
            };
            let through = load[fabric.port_index(peer, back)];
            heap.push(std::cmp::Reverse((so_far + hop + through, peer, back, router)));
        }
    };
    push(&mut heap, target, 0);
    let mut reached = 1;
    while let Some(std::cmp::Reverse((so_far, router, port, behind))) = heap.pop() {
        if weight[router] != u64::MAX {
            continue;
        }
        let link = fabric.port_index(router, port);
        if behind != target {
            let onward = fabric.port_index(behind, PortId::new(next[behind.index()].into()));
            match order.add(link, onward) {
                Added::Cycle(_) => continue,
                Added::New => added.push((link, onward)),
                Added::Known => {}
            }
        }
        weight[router] = so_far;
        next[router.index()] = port.number() as u16;
        reached += 1;
        push(&mut heap, router, so_far);
    }
    let there = |r: &RouterId| fabric.neighbours(*r).next().is_some();
    let linked = RouterId::first(fabric.routers()).filter(|r| there(r) || *r == target).count();
    if reached < linked {
        added.into_iter().for_each(|(from, to)| order.remove(from, to));
        return None;
    }
    Some(next)
}

/// Adds the pairs of a destination to the loads of their links.
fn count(
    fabric: &Fabric,
    target: RouterId,
    next: &[u16],
    hosts: &Column<RouterId, u64>,
    load: &mut Column<LinkId, u64>,
) {
    for (router, &n) in hosts.iter().filter(|(_, n)| **n > 0) {
        let mut at = router;
        for _ in 0..next.len() {
            let port = next[at.index()];
            if at == target || port == NO_PORT {
                break;
            }
            let port = PortId::new(port.into());
            load[fabric.port_index(at, port)] += n;
            at = fabric.next_router(at, port).unwrap_or(target);
        }
    }
}
