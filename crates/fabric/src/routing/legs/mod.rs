//! Legs: minimal paths between two routers, the building blocks of routes over an intermediate router.
//!
//! A leg has virtual channels of its own, free of deadlock by themselves. A route of several legs gives each its own
//! set, in ascending order, so it is free of deadlock as a whole.

pub(crate) mod cray_dragonfly;
pub(crate) mod dragonfly;
pub(crate) mod dragonfly_plus;
pub(crate) mod grid;
pub(crate) mod hierarchical;
pub(crate) mod hyperx;
pub(crate) mod table;

use crate::graph::{Fabric, Peer};
use base::{
    hash::mix64,
    index::{ChannelId, PortId, RouterId},
};

/// Where a packet on a leg is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) router: RouterId,
    /// Port through which it came in.
    pub(crate) in_port: PortId,
    /// Channel, among those of the leg, on which it came in; meaningless unless `begun`.
    pub(crate) vc: ChannelId,
    /// False at the first router of the leg.
    pub(crate) begun: bool,
}

impl At {
    /// The beginning of a leg.
    pub(crate) fn start(router: RouterId, in_port: PortId) -> Self {
        Self { router, in_port, vc: ChannelId::FIRST, begun: false }
    }
}

/// The equally good ports of one step, and their channel among those of the leg.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextPorts<'a> {
    pub(crate) ports: PortSet<'a>,
    pub(crate) vc: ChannelId,
}

/// One or more ports.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PortSet<'a> {
    /// The first, and how many follow each other.
    Range(PortId, u32),
    /// Exactly these ports.
    List(&'a [PortId]),
}

impl PortSet<'_> {
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::Range(_, count) => *count,
            Self::List(ports) => ports.len() as u32,
        }
    }

    pub(crate) fn get(&self, i: u32) -> PortId {
        match self {
            Self::Range(first, _) => first.plus(i),
            Self::List(ports) => ports[i as usize],
        }
    }

    /// The port that a packet with this seed takes at this router: always the same, so that its whole path can be known
    /// beforehand.
    #[inline]
    pub(crate) fn pick(&self, router: RouterId, seed: impl FnOnce() -> u64) -> PortId {
        match self.len() {
            1 => self.get(0),
            n => self.get((mix64(seed() ^ mix64(u64::from(router))) % u64::from(n)) as u32),
        }
    }
}

/// Minimal paths on one fabric.
pub(crate) trait Leg: Send + Sync {
    /// Virtual channels that a leg needs.
    fn vcs(&self) -> u8;

    /// The ports of a router toward router `to`, which is another one and has terminals. The first router of a leg has
    /// terminals too, unless areas allow others.
    fn next_ports(&self, at: &At, to: RouterId) -> NextPorts<'_>;

    /// Number of the area (a group of a dragonfly) that a router is in; by itself one, if there are no areas.
    fn area(&self, router: RouterId) -> u32 {
        router.number()
    }

    /// Number of areas, and whether an area is more than one router: then a leg may begin at any router.
    fn areas(&self) -> Option<u32> {
        None
    }

    /// A router with terminals in an area.
    fn member(&self, area: u32) -> RouterId {
        RouterId::new(area)
    }
}

/// Follows a leg from `at` as a packet with this seed would, until it is at router `to` or, if `by_area`, in its area.
/// Calls `link` with each router and port on the way; returns where it ends.
pub(crate) fn follow<L: Leg>(
    leg: &L,
    fabric: &Fabric,
    mut at: At,
    to: RouterId,
    by_area: bool,
    seed: u64,
    mut link: impl FnMut(RouterId, PortId),
) -> At {
    while at.router != to && !(by_area && leg.area(at.router) == leg.area(to)) {
        let next_ports = leg.next_ports(&at, to);
        let port = next_ports.ports.pick(at.router, || seed);
        link(at.router, port);
        match fabric.port(fabric.port_index(at.router, port)).peer {
            Peer::Router { router, port } => {
                at = At { router, in_port: port, vc: next_ports.vc, begun: true }
            }
            _ => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{metrics::distances, registry::Constant, routing::testing};
    use std::sync::Arc;

    /// Every leg between routers with terminals has `expected` links for any seed.
    fn lengths<L: Leg>(fabric: &Arc<Fabric>, leg: &L, expected: impl Fn(RouterId, RouterId, u32) -> bool) {
        for from in fabric.ends() {
            let distance = distances(fabric, from);
            for to in fabric.ends() {
                for seed in 0..4 {
                    let mut links = 0;
                    let end =
                        follow(leg, fabric, At::start(from, PortId::new(0)), to, false, seed, |_, _| {
                            links += 1
                        });
                    assert_eq!(end.router, to);
                    let least = distance[to];
                    assert!(expected(from, to, links) && links >= least, "{from} -> {to}: {links}, {least}");
                }
            }
        }
    }

    #[test]
    fn legs_are_minimal() {
        for fabric in [testing::grid(true, &[5, 4]), testing::grid(false, &[4, 3])] {
            let leg = grid::GridLeg::new(&fabric).unwrap();
            let span = |from, to| distances(&fabric, from)[to];
            lengths(&fabric, &leg, |from, to, links| links == span(from, to));
        }
        let sample = [("dims", Constant::Ints(&[4, 3])), ("cables", Constant::Ints(&[2, 1]))];
        let fabric = testing::build("hyperx", &sample);
        let leg = hyperx::HyperxLeg::new(&fabric).unwrap();
        lengths(&fabric, &leg, |from, to, links| links == leg.shape.distance(from.number(), to.number()));
        for sizes in [[9, 4, 2, 2], [4, 3, 2, 3]] {
            let fabric = testing::dragonfly(sizes);
            let leg = dragonfly::DragonflyLeg::new(&fabric).unwrap();
            lengths(&fabric, &leg, |from, to, links| {
                links <= if leg.area(from) == leg.area(to) { 1 } else { 3 }
            });
        }
        let fabric = testing::dragonfly_plus([5, 2, 2, 2, 2]);
        let leg = dragonfly_plus::DragonflyPlusLeg::new(&fabric).unwrap();
        lengths(&fabric, &leg, |from, to, links| {
            links
                == if from == to {
                    0
                } else if leg.area(from) == leg.area(to) {
                    2
                } else {
                    3
                }
        });
    }

    #[test]
    fn two_dimensional_groups_take_two_links_at_most() {
        let sample = [
            ("groups", Constant::Int(4)),
            ("rows", Constant::Int(2)),
            ("columns", Constant::Int(3)),
            ("terminals_per_router", Constant::Int(1)),
            ("global_ports_per_router", Constant::Int(2)),
            ("row_cables", Constant::Int(2)),
        ];
        let fabric = testing::build("cray-dragonfly", &sample);
        let leg = cray_dragonfly::CrayDragonflyLeg::new(&fabric).unwrap();
        lengths(&fabric, &leg, |from, to, links| {
            let grid = u32::from(from.number() / 3 % 2 != to.number() / 3 % 2)
                + u32::from(from.number() % 3 != to.number() % 3);
            if leg.area(from) == leg.area(to) { links == grid } else { (1..=5).contains(&links) }
        });
        for (from, to) in
            fabric.ends().into_iter().flat_map(|a| fabric.ends().into_iter().map(move |b| (a, b)))
        {
            let mut classes = Vec::new();
            let link = |router, port: PortId| classes.push(fabric.ports_of(router)[port.index()].class);
            follow(&leg, &fabric, At::start(from, PortId::new(0)), to, false, 1, link);
            let mut shape = [1, 2, 3, 1, 2].iter();
            assert!(classes.iter().all(|c| shape.any(|s| s == c)), "{from} -> {to}: {classes:?}");
        }
    }

    #[test]
    fn a_leg_to_an_area_ends_at_its_edge() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let leg = dragonfly::DragonflyLeg::new(&fabric).unwrap();
        for to in 4..36 {
            let end = follow(
                &leg,
                &fabric,
                At::start(RouterId::new(0), PortId::new(0)),
                RouterId::new(to),
                true,
                1,
                |_, _| {},
            );
            assert_eq!(leg.area(end.router), leg.area(RouterId::new(to)));
            assert_eq!(fabric.ports_of(end.router)[end.in_port.index()].class, 2, "over a global link");
        }
    }
}
