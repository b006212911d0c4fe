//! Oblivious routings of meshes that vary the order of dimensions or the point where they turn: O1TURN and ROMM.

use super::{Choice, Congestion, Facts, Hop, Routing};
use crate::{
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
    topology::grid::GridShape,
};
use base::{
    index::{ChannelId, PortId, RouterId},
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered O1TURN.
pub const O1TURN: RoutingEntry = RoutingEntry {
    about: About {
        name: "o1turn",
        summary: "mesh: dimensions in ascending or in descending order, drawn for each packet (XY-YX)",
        doc: "At its first router a packet draws one of two orders: dimension 0 first, or the last dimension first. Each order has a virtual channel of its \
              own, so there is no cycle and two are needed. `order = \"least-queue\"` takes the order whose first output of the first router holds less \
              (BookSim's adaptive_xy_yx); where both are equal, or both orders begin alike, it draws. Reads: these two \
              outputs, without delay. A network with failed links is refused.",
        source: "Seo, Ali, Lim, Rafique, Thottethodi: Near-Optimal Worst-Case Throughput Routing for Two-Dimensional Mesh Networks, ISCA 2005; BookSim 2, \
                 routefunc.cpp (xy_yx, adaptive_xy_yx)",
        params: &[Param {
            name: "order",
            kind: Kind::Choice(&["random", "least-queue"]),
            default: Some("random"),
            doc: "how a packet chooses its order",
        }],
    },
    build: |fabric, values| {
        let grid = Grid::new(&O1TURN.about, &fabric)?;
        let adaptive = values.text("order") == "least-queue";
        Ok(Box::new(O1Turn { fabric, grid, adaptive }))
    },
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// The registered ROMM.
pub const ROMM: RoutingEntry = RoutingEntry {
    about: About {
        name: "romm",
        summary: "mesh: over a random router between source and destination, dimension order both times",
        doc: "At its first router a packet draws a router evenly from the smallest box that holds source and destination. It goes there in dimension order on VC 0, and on to the \
              destination in dimension order on VC 1: two phases, so all paths are shortest. Two VCs are needed. A network with failed links is refused.",
        source: "Nesson, Johnsson: ROMM Routing on Mesh and Torus Networks, SPAA 1995; BookSim 2, routefunc.cpp (romm)",
        params: &[],
    },
    build: romm,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// A mesh, computed.
struct Grid {
    shape: GridShape,
    /// Difference of router numbers along each dimension.
    units: Vec<u32>,
}

impl Grid {
    fn new(about: &About, fabric: &Fabric) -> Result<Self, Vec<Problem>> {
        super::intact(about, fabric)?;
        let shape = fabric.shape::<GridShape>().filter(|shape| !shape.wraps).cloned();
        let shape = shape.ok_or_else(|| super::unsuited(about, fabric.topology(), &["mesh"]))?;
        let mut next = 1;
        let unit = |n: &u32| {
            let unit = next;
            next *= n;
            unit
        };
        let units = shape.dims.iter().map(unit).collect();
        Ok(Self { shape, units })
    }

    /// Coordinates of two routers in a dimension.
    #[inline]
    fn both(&self, d: usize, from: RouterId, to: RouterId) -> (u32, u32) {
        let x = |router: RouterId| router.number() / self.units[d] % self.shape.dims[d];
        (x(from), x(to))
    }

    /// The port along a dimension, if that is not yet right.
    #[inline]
    fn along(&self, d: usize, from: RouterId, to: RouterId) -> Option<PortId> {
        let (from, to) = self.both(d, from, to);
        (from != to).then(|| PortId::new(2 * d as u32 + u32::from(to > from)))
    }

    /// The next port in ascending or descending order of dimensions; none if the packet is there.
    #[inline]
    fn next(&self, from: RouterId, to: RouterId, descending: bool) -> Option<PortId> {
        let n = self.units.len();
        (0..n).find_map(|i| self.along(if descending { n - 1 - i } else { i }, from, to))
    }
}

struct O1Turn {
    fabric: Arc<Fabric>,
    grid: Grid,
    adaptive: bool,
}

impl O1Turn {
    /// One link in an order, which the state holds plus one.
    #[inline]
    fn choice(&self, hop: &Hop, order: u32) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        let port = self.grid.next(hop.router, to, order == 1);
        Choice {
            port: port.unwrap_or(ejection),
            vc: if port.is_some() { ChannelId::new(order as u8) } else { ChannelId::FIRST },
            state: order + 1,
        }
    }
}

impl Routing for O1Turn {
    fn vcs(&self) -> u8 {
        2
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        if hop.state > 0 {
            return self.choice(hop, hop.state - 1);
        }
        let (up, down) = (self.choice(hop, 0), self.choice(hop, 1));
        if self.adaptive && up.port != down.port {
            let (a, b) = (congestion.backlog(up.port), congestion.backlog(down.port));
            if a != b {
                return if a < b { up } else { down };
            }
        }
        if hop.random.below(2) == 0 { up } else { down }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        match hop.state {
            0 => out.extend([self.choice(hop, 0), self.choice(hop, 1)]),
            state => out.push(self.choice(hop, state - 1)),
        }
    }

    fn facts(&self) -> Facts {
        Facts { oblivious: !self.adaptive, terminals_alike: true, ..Facts::ADAPTIVE }
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

/// State: the packet is on its way to its destination.
const LAST: u32 = u32::MAX;

struct Romm {
    fabric: Arc<Fabric>,
    grid: Grid,
}

fn romm(fabric: Arc<Fabric>, _: &Values) -> Bound {
    let grid = Grid::new(&ROMM.about, &fabric)?;
    Ok(Box::new(Romm { fabric, grid }))
}

impl Romm {
    /// One link toward a router that was drawn, or from there on.
    #[inline]
    fn over(&self, hop: &Hop, middle: RouterId) -> Choice {
        match self.grid.next(hop.router, middle, false) {
            Some(port) => Choice { port, vc: ChannelId::FIRST, state: middle.number() + 1 },
            None => self.last(hop),
        }
    }

    #[inline]
    fn last(&self, hop: &Hop) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        match self.grid.next(hop.router, to, false) {
            Some(port) => Choice { port, vc: ChannelId::new(1), state: LAST },
            None => Choice { port: ejection, vc: ChannelId::FIRST, state: LAST },
        }
    }

    /// The router of the box that a choice of steps in each dimension stands for.
    fn middle(&self, hop: &Hop, mut steps: impl FnMut(u32) -> u32) -> RouterId {
        let (to, _) = self.fabric.attached(hop.destination);
        let place = |d: usize| {
            let (from, to) = self.grid.both(d, hop.router, to);
            (from.min(to) + steps(from.abs_diff(to) + 1)) * self.grid.units[d]
        };
        RouterId::new((0..self.grid.units.len()).map(place).sum())
    }
}

impl Routing for Romm {
    fn vcs(&self) -> u8 {
        2
    }

    fn route(&self, hop: &mut Hop, _: &mut dyn Congestion) -> Choice {
        match hop.state {
            0 => {
                let mut random = hop.random;
                let middle = self.middle(hop, |sides| random.below(u64::from(sides)) as u32);
                self.over(hop, middle)
            }
            LAST => self.last(hop),
            state => self.over(hop, RouterId::new(state - 1)),
        }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        match hop.state {
            0 => {
                let (to, _) = self.fabric.attached(hop.destination);
                let sides = (0..self.grid.units.len()).map(|d| {
                    let (from, to) = self.grid.both(d, hop.router, to);
                    from.abs_diff(to) + 1
                });
                for n in 0..sides.product() {
                    let mut rest: u32 = n;
                    let middle = self.middle(hop, |side| {
                        let step = rest % side;
                        rest /= side;
                        step
                    });
                    out.push(self.over(hop, middle));
                }
            }
            LAST => out.push(self.last(hop)),
            state => out.push(self.over(hop, RouterId::new(state - 1))),
        }
    }

    fn facts(&self) -> Facts {
        Facts { terminals_alike: true, ..Facts::OBLIVIOUS }
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deadlock,
        registry::{Constant, values},
        routing::testing,
    };
    use base::sorted::SortedMap;

    fn bind(entry: &RoutingEntry, fabric: &Arc<Fabric>, sample: &[(&str, Constant)]) -> Box<dyn Routing> {
        (entry.build)(fabric.clone(), &values(entry.about.params, sample)).unwrap()
    }

    /// Routers on the way, and their VCs.
    fn paths(
        routing: &dyn Routing,
        fabric: &Fabric,
        (from, to): (u32, u32),
    ) -> SortedMap<Vec<(u32, u8)>, u32> {
        let mut all = SortedMap::new();
        for seed in 0..4000 {
            let path = testing::path(fabric, routing, from, to, seed);
            *all.entry(path.iter().map(|step| (step.0, step.2)).collect()).or_insert(0) += 1;
        }
        all
    }

    #[test]
    fn two_orders_are_drawn_evenly() {
        let fabric = testing::grid(false, &[3, 3]);
        let routing = bind(&O1TURN, &fabric, &[]);
        let drawn = paths(routing.as_ref(), &fabric, (0, 8));
        let expected =
            [vec![(0, 0), (1, 0), (2, 0), (5, 0), (8, 0)], vec![(0, 1), (3, 1), (6, 1), (7, 1), (8, 0)]];
        assert_eq!(drawn.keys().cloned().collect::<Vec<_>>(), expected);
        assert!(drawn.values().all(|n| (1850..2150).contains(n)), "{drawn:?}");
        assert!(deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
    }

    #[test]
    fn the_shorter_queue_decides_the_order() {
        let fabric = testing::grid(false, &[3, 3]);
        let routing = bind(&O1TURN, &fabric, &[("order", Constant::Text("least-queue"))]);
        for (busy, vc) in [(1, 1), (3, 0)] {
            let mut hop = testing::hop(&fabric, 0, 8, 7);
            let mut queues = testing::Backlogs(SortedMap::from([(busy, 64)]));
            assert_eq!(routing.route(&mut hop, &mut queues).vc, ChannelId::new(vc));
        }
        assert!(!routing.facts().oblivious);
    }

    /// From (0, 0) to (1, 1) over any of four routers: half of the packets go over router 1, whose drawing router 3, the destination, joins.
    #[test]
    fn the_box_is_drawn_evenly_and_paths_are_shortest() {
        let fabric = testing::grid(false, &[3, 3]);
        let routing = bind(&ROMM, &fabric, &[]);
        let drawn = paths(routing.as_ref(), &fabric, (0, 4));
        // Over 0: all on VC 1. Over 1: VC 0, then 1. Over 4: all on VC 0. Over 3: the other way.
        let expected = [
            vec![(0, 0), (1, 0), (4, 0)],
            vec![(0, 0), (1, 1), (4, 0)],
            vec![(0, 0), (3, 1), (4, 0)],
            vec![(0, 1), (1, 1), (4, 0)],
        ];
        assert_eq!(drawn.keys().cloned().collect::<Vec<_>>(), expected);
        assert!(drawn.values().all(|n| (880..1120).contains(n)), "{drawn:?}");
        for (s, d) in testing::pairs(&fabric) {
            let path = testing::path(&fabric, routing.as_ref(), s, d, 11);
            let (from, to) = ((s % 3, s / 3), (d % 3, d / 3));
            assert_eq!(path.len() as u32, 1 + from.0.abs_diff(to.0) + from.1.abs_diff(to.1));
        }
        assert!(deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
    }

    #[test]
    fn other_networks_are_refused() {
        for entry in [&O1TURN, &ROMM] {
            let torus = testing::grid(true, &[4, 4]);
            let problem = (entry.build)(torus, &values(entry.about.params, &[])).err().unwrap();
            assert_eq!(problem[0].key, "algorithm");
            let mut broken = (*testing::grid(false, &[4, 3])).clone();
            testing::fail(&mut broken, 0, 1);
            assert!((entry.build)(Arc::new(broken), &values(entry.about.params, &[])).is_err());
        }
    }
}
