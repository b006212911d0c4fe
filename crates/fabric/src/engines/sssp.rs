//! Shortest paths that avoid loaded links: SSSP.
//!
//! Links begin with a weight so great that no longer path can be lighter; so a path is shortest first and light second. After each
//! destination every link's weight grows by the sources that cross it: every identifier of every host, and every router, which is a source too
//! (its management port). Of equal paths the one counts that a search from the destination with a heap of four children finds first:
//! the order of OpenSM, so that tables are its tables.

use super::{
    hops::home,
    job::{Job, Ports},
};
use crate::graph::{Fabric, Peer};
use base::{
    index::{Column, LinkId, RouterId},
    param::Problem,
};

/// Host by host.
pub(super) fn sssp(job: &Job<'_>) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let mut next = job.blank();
    let mut sources = Column::filled(fabric.routers() as usize, 1u64);
    for &(router, _) in fabric.attachments() {
        sources[router] += u64::from(job.planes);
    }
    let all: u64 = sources.cells().iter().sum();
    let mut search = Search::new(fabric, &job.routers, all.saturating_mul(all));
    let mut through = sources.clone();
    for &host in &job.order {
        for plane in 0..job.planes {
            search.run(fabric.router_at(host));
            let row = job.row(host, plane);
            through.clone_from(&sources);
            // The farthest first: what is behind a router passes it.
            for &router in search.found.iter().rev() {
                let Some(hop) = search.hops[router] else { continue };
                next[row.clone()][router.index()] = hop.port;
                search.weight[hop.link] += through[router];
                through[hop.peer] += through[router];
            }
        }
        home(job, host, &mut next);
    }
    Ok(Ports { next, level: None, map: None })
}

/// The link from a router toward one that is nearer to the destination.
#[derive(Clone, Copy)]
struct Hop {
    /// Index of the router's port.
    link: LinkId,
    port: u16,
    /// The router behind it.
    peer: RouterId,
}

/// Searches from a destination outward.
struct Search {
    /// By router: links of its neighbours toward it, in the order of its own ports, each with the neighbour.
    into: Column<RouterId, Vec<(RouterId, Hop)>>,
    /// By index of port.
    weight: Column<LinkId, u64>,
    hops: Column<RouterId, Option<Hop>>,
    /// Routers in the order in which they were found, the destination's first.
    found: Vec<RouterId>,
    heap: Heap,
    /// Heap with everything at infinity.
    blank: Heap,
    /// A vertex of the heap for each router.
    vertex: Column<RouterId, u32>,
    routers: Vec<RouterId>,
}

impl Search {
    fn new(fabric: &Fabric, routers: &[RouterId], weight: u64) -> Self {
        let into = |router: RouterId| {
            let ports = fabric.ports_of(router).iter();
            let link = |peer: Peer| match peer {
                Peer::Router { router: from, port } => {
                    let hop =
                        Hop { link: fabric.port_index(from, port), port: port.number() as u16, peer: router };
                    Some((from, hop))
                }
                _ => None,
            };
            ports.filter_map(|p| link(p.peer)).filter(|(from, _)| *from != router).collect()
        };
        let mut vertex = Column::filled(routers.len(), 0);
        (0..).zip(routers).for_each(|(v, &router)| vertex[router] = v);
        // One vertex more: the destination itself, which leads to its router.
        let blank = Heap::new(routers.len() as u32 + 1);
        Self {
            into: RouterId::first(fabric.routers()).map(into).collect(),
            weight: Column::filled(fabric.ports().len(), weight),
            hops: Column::filled(routers.len(), None),
            found: Vec::with_capacity(routers.len()),
            heap: blank.clone(),
            blank,
            vertex,
            routers: routers.to_vec(),
        }
    }

    /// Finds the lightest path of every router that has one.
    fn run(&mut self, target: RouterId) {
        self.heap.clone_from(&self.blank);
        self.hops.cells_mut().fill(None);
        self.found.clear();
        let destination = self.routers.len() as u32;
        self.heap.lower(destination, 0);
        self.heap.pop();
        self.heap.lower(self.vertex[target], 1);
        while let Some((distance, vertex)) = self.heap.pop() {
            if distance == u64::MAX {
                break;
            }
            let router = self.routers[vertex as usize];
            self.found.push(router);
            for &(from, hop) in &self.into[router] {
                let sum = distance.saturating_add(self.weight[hop.link]);
                if self.heap.lower(self.vertex[from], sum) {
                    self.hops[from] = Some(hop);
                }
            }
        }
    }
}

/// Children of a slot of the heap.
const CHILDREN: usize = 4;
/// Of a vertex that was taken out.
const GONE: u32 = u32::MAX;

/// A heap whose order among equals is OpenSM's: of equal children the last goes up.
#[derive(Clone)]
struct Heap {
    slots: Vec<(u64, u32)>,
    place: Vec<u32>,
}

impl Heap {
    fn new(vertices: u32) -> Self {
        Self { slots: (0..vertices).map(|v| (u64::MAX, v)).collect(), place: (0..vertices).collect() }
    }

    fn put(&mut self, at: usize, slot: (u64, u32)) {
        self.slots[at] = slot;
        self.place[slot.1 as usize] = at as u32;
    }

    /// Gives a vertex a lower key, if it is lower and the vertex is there.
    fn lower(&mut self, vertex: u32, key: u64) -> bool {
        let place = self.place[vertex as usize];
        if place == GONE || key >= self.slots[place as usize].0 {
            return false;
        }
        let mut at = place as usize;
        while at > 0 {
            let parent = (at - 1) / CHILDREN;
            if key >= self.slots[parent].0 {
                break;
            }
            self.put(at, self.slots[parent]);
            at = parent;
        }
        self.put(at, (key, vertex));
        true
    }

    /// Takes out the vertex with the least key.
    fn pop(&mut self) -> Option<(u64, u32)> {
        let last = self.slots.pop()?;
        let root = *self.slots.first().unwrap_or(&last);
        self.place[root.1 as usize] = GONE;
        if self.slots.is_empty() {
            return Some(root);
        }
        let mut at = 0;
        loop {
            let first = at * CHILDREN + 1;
            let children = first..(first + CHILDREN).min(self.slots.len());
            let Some(least) = children.rev().min_by_key(|&c| self.slots[c].0) else { break };
            if last.0 <= self.slots[least].0 {
                break;
            }
            self.put(at, self.slots[least]);
            at = least;
        }
        self.put(at, last);
        Some(root)
    }
}
