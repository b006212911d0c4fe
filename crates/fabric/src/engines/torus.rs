//! Tori: dimension order by the shorter direction, two lanes by datelines.
//!
//! Dimensions are read off the cabling: if port p leads, at every router, to the router that a fixed permutation names, then the
//! permutation is a step along one dimension, and the port with the inverse permutation is the step back. Cycles of a step are
//! the rings. Routers get coordinates by walking from router 0. The dateline of a dimension lies between its last coordinate
//! and 0: a message that will cross it has bit d of its service level set, and runs on lane 1 in that dimension, others on
//! lane 0; so no ring of a lane is closed.

use super::{
    hops::home,
    job::{Job, Ports},
};
use crate::{
    graph::Fabric,
    subnet::{MAX_MAPPED, NONE},
};
use base::{
    index::{Column, PortId, RouterId},
    param::Problem,
};

/// Most dimensions: bits of a service level.
const MOST: usize = 4;

/// A dimension: ports forward and back, routers on a ring.
#[derive(Clone, Copy, Debug)]
struct Dimension {
    forward: PortId,
    back: PortId,
    size: u32,
}

/// A torus as its cabling shows it.
struct Torus {
    dimensions: Vec<Dimension>,
    /// Coordinates by router, one after the other.
    at: Vec<u32>,
}

impl Torus {
    fn of(fabric: &Fabric) -> Result<Self, String> {
        let routers = fabric.routers();
        let step =
            |port: PortId| -> Option<Column<RouterId, RouterId>> {
                RouterId::first(routers)
                    .map(|r| {
                        if port.index() < fabric.ports_of(r).len() {
                            fabric.next_router(r, port)
                        } else {
                            None
                        }
                    })
                    .collect()
            };
        let ports = RouterId::first(routers).map(|r| fabric.ports_of(r).len() as u32).min().unwrap_or(0);
        let steps: Vec<(PortId, Column<RouterId, RouterId>)> =
            PortId::first(ports).filter_map(|p| step(p).map(|s| (p, s))).collect();
        let mut used = vec![false; ports as usize];
        let mut dimensions = Vec::new();
        for (i, (forward, a)) in steps.iter().enumerate() {
            if std::mem::replace(&mut used[forward.index()], true) {
                continue;
            }
            let inverse = |b: &Column<RouterId, RouterId>| a.iter().all(|(r, &next)| b[next] == r);
            let other = steps[i + 1..].iter().find(|(p, b)| !used[p.index()] && inverse(b));
            let back = match other {
                Some((p, _)) => *p,
                // A ring of two by one cable is its own reverse.
                None if inverse(a) => *forward,
                None => return Err(format!("port {} leads nowhere back by one port", forward.plus(1))),
            };
            used[back.index()] = true;
            let mut size = 1;
            let start = RouterId::new(0);
            let mut r = a[start];
            while r != start {
                (size, r) = (size + 1, a[r]);
                if size > routers {
                    return Err(format!("port {} does not go round in a ring", forward.plus(1)));
                }
            }
            dimensions.push(Dimension { forward: *forward, back, size });
        }
        let product: u64 = dimensions.iter().map(|d| u64::from(d.size)).product();
        if dimensions.is_empty() || dimensions.len() > MOST || product != u64::from(routers) {
            return Err(format!("ports do not lead in one direction each, in 1 to {MOST} dimensions"));
        }
        let cabled =
            fabric.ports().iter().filter(|p| matches!(p.peer, crate::graph::Peer::Router { .. })).count();
        let of_rings: usize = dimensions.iter().map(|d| if d.back == d.forward { 1 } else { 2 }).sum();
        if cabled != of_rings * routers as usize {
            return Err("some cables belong to no ring".to_owned());
        }
        Self { dimensions, at: Vec::new() }.place(fabric)
    }

    /// Walks from router 0.
    fn place(mut self, fabric: &Fabric) -> Result<Self, String> {
        let n = self.dimensions.len();
        self.at = vec![NONE; fabric.routers() as usize * n];
        let mut walk = vec![(RouterId::new(0), vec![0u32; n])];
        while let Some((router, at)) = walk.pop() {
            let slot = &mut self.at[router.index() * n..(router.index() + 1) * n];
            if slot[0] != NONE {
                if slot != at.as_slice() {
                    return Err(format!("router {router} has two places on the rings"));
                }
                continue;
            }
            slot.copy_from_slice(&at);
            for (d, dimension) in self.dimensions.iter().enumerate() {
                let mut next = at.clone();
                next[d] = (next[d] + 1) % dimension.size;
                if let Some(peer) = fabric.next_router(router, dimension.forward) {
                    walk.push((peer, next));
                }
            }
        }
        Ok(self)
    }

    fn coordinate(&self, router: RouterId, d: usize) -> u32 {
        self.at[router.index() * self.dimensions.len() + d]
    }

    /// Steps forward (or, if false, back) along a dimension, and whether they cross the dateline; none if at the place already. Of
    /// two equal directions the one that crosses no dateline.
    fn direction(&self, d: usize, from: RouterId, to: RouterId) -> Option<(bool, bool)> {
        let size = self.dimensions[d].size;
        let (a, b) = (self.coordinate(from, d), self.coordinate(to, d));
        let ahead = (b + size - a) % size;
        if ahead == 0 {
            return None;
        }
        let forward = ahead * 2 < size || ahead * 2 == size && b > a;
        Some((forward, if forward { b < a } else { b > a }))
    }
}

/// Dimension order with datelines.
pub(super) fn route(job: &Job<'_>) -> Result<Ports, Problem> {
    let fabric = job.fabric;
    let torus = Torus::of(fabric).map_err(|why| Job::unsuited("torus", why))?;
    let routers = fabric.routers();
    if RouterId::first(routers).any(|r| fabric.ports_of(r).len() > MAX_MAPPED as usize) {
        return Err(Job::unsuited(
            "torus",
            format!("a switch with lanes by dimension has at most {MAX_MAPPED} ports"),
        ));
    }
    let mut next = job.blank();
    let mut level = vec![0; next.len()];
    for &host in &job.order {
        let target = fabric.router_at(host);
        for plane in 0..job.planes {
            let row = job.row(host, plane);
            for router in RouterId::first(routers) {
                let directions = (0..torus.dimensions.len()).map(|d| (d, torus.direction(d, router, target)));
                let mut bits = 0;
                let mut port = None;
                for (d, (forward, crosses)) in directions.filter_map(|(d, direction)| Some((d, direction?))) {
                    bits |= u8::from(crosses) << d;
                    let dimension = torus.dimensions[d];
                    port = port.or(Some(if forward { dimension.forward } else { dimension.back }));
                }
                let at = row.start + router.index();
                level[at] = bits;
                next[at] = port.map_or(next[at], |p| p.number() as u16);
            }
        }
        home(job, host, &mut next);
    }
    Ok(Ports { next, level: Some(level), map: Some(map(fabric, &torus)) })
}

/// Lane 1 on links of the dimensions whose bit is set.
fn map(fabric: &Fabric, torus: &Torus) -> Vec<Vec<[u8; 16]>> {
    let of = |port: PortId| torus.dimensions.iter().position(|d| d.forward == port || d.back == port);
    let switch = |router: RouterId| {
        let ports = fabric.ports_of(router).len() as u32 + 1;
        let row = |output: u32| -> [u8; 16] {
            let bit = output.checked_sub(1).map(PortId::new).and_then(of);
            std::array::from_fn(|sl| bit.map_or(0, |d| (sl as u8 >> d) & 1))
        };
        (0..ports).flat_map(|_| (0..ports).map(row)).collect()
    };
    RouterId::first(fabric.routers()).map(switch).collect()
}
