//! Adaptive routing of the `HyperX` family: in each dimension straight, or by one detour when that looks cheaper.

use super::{Choice, Congestion, Facts, Hop, Routing};
use crate::{
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
    topology::hyperx::HyperxShape,
};
use base::{
    index::{ChannelId, PortId, RouterId},
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "dimension-adaptive",
        summary: "HyperX, flattened butterfly, hypercube: minimal, with at most one detour in each dimension",
        doc: "A port along a dimension that is not yet right leads either to the right coordinate or, as a detour, to \
              another one; a dimension has at most one detour per packet. At every router each such port is weighed: \
              backlog in bytes times the number of links from there to the destination, itself included. The cheapest wins, \
              a straight one if equal, drawn at random among equals. `order = \"any\"`: all dimensions that are not right \
              compete (as in DAL and OmniWAR); the virtual channel is the number of links crossed so far, so 2 n are needed \
              for n dimensions larger than 1. `order = \"ascending\"`: only the lowest of them competes (as in \
              DimWAR); a detour uses virtual channel 0, a straight link 1, so 2 are needed. DAL's own escape channels are \
              not modelled: a packet here waits for the port it was given. A network with failed links is refused. Reads: \
              the outputs of the router that it is asked at, without delay: bytes that wait for them or hold buffer behind \
              them, until their credits are back. With `route_per = \"chunk\"` the earlier chunks of the same packet count, \
              so that packets of several chunks detour in an idle network.",
        source: "Ahn, Binkert, Davis, McLaren, Schreiber: HyperX, SC 2009, section 3.3 (DAL); McDonald et al.: Practical \
                 and Efficient Incremental Adaptive Routing for HyperX Networks, SC 2019 (DimWAR, OmniWAR)",
        params: &[Param {
            name: "order",
            kind: Kind::Choice(&["any", "ascending"]),
            default: Some("any"),
            doc: "which of the dimensions that are not right compete: all, or the lowest only",
        }],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// Most virtual channels.
const MOST: usize = 16;

struct DimensionAdaptive {
    fabric: Arc<Fabric>,
    shape: HyperxShape,
    /// True for `order = "any"`.
    any: bool,
    vcs: u8,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Bound {
    super::intact(&ROUTING.about, &fabric)?;
    let Some(shape) = fabric.shape::<HyperxShape>().cloned() else {
        let known = ["hyperx", "flattened-butterfly", "hypercube"];
        return Err(super::unsuited(&ROUTING.about, fabric.topology(), &known));
    };
    let any = values.text("order") == "any";
    // A dimension of two routers has no detour.
    let needed: usize =
        shape.dims.iter().map(|&n| if n > 2 { 2 } else { usize::from(n > 1) }).sum::<usize>().max(1);
    if any && needed > MOST {
        let message = format!("`order = \"any\"` would need {needed} virtual channels, more than {MOST}");
        return Err(vec![Problem::new("order", message).help("\"ascending\" needs 2")]);
    }
    Ok(Box::new(DimensionAdaptive { fabric, shape, any, vcs: if any { needed as u8 } else { 2 } }))
}

impl DimensionAdaptive {
    /// Calls `visit` with each choice and the number of links from its router to the destination, itself included;
    /// straight ones first.
    fn each(&self, hop: &Hop, to: RouterId, mut visit: impl FnMut(Choice, u64)) {
        let (shape, here, to) = (&self.shape, hop.router.number(), to.number());
        let left = u64::from(shape.distance(here, to));
        let wrong = |&d: &usize| shape.coordinate(here, d) != shape.coordinate(to, d);
        let competing = if self.any { usize::MAX } else { 1 };
        let dimensions = || (0..shape.dims.len()).filter(wrong).take(competing);
        let ports = |d: usize, x: u32| {
            let first = shape.port(d, shape.coordinate(here, d), x);
            (first..first + shape.cables[d]).map(PortId::new)
        };
        let vc = |straight: bool| if self.any { hop.visited as u8 } else { u8::from(straight) };
        for d in dimensions() {
            for port in ports(d, shape.coordinate(to, d)) {
                visit(Choice { port, vc: ChannelId::new(vc(true)), state: self.state(hop, None) }, left);
            }
        }
        for d in dimensions().filter(|&d| !self.made_detour(hop, d)) {
            let (from, there) = (shape.coordinate(here, d), shape.coordinate(to, d));
            for x in (0..shape.dims[d]).filter(|&x| x != from && x != there) {
                for port in ports(d, x) {
                    visit(
                        Choice { port, vc: ChannelId::new(vc(false)), state: self.state(hop, Some(d)) },
                        left + 1,
                    );
                }
            }
        }
    }

    /// Whether the packet has made its detour in a dimension. In ascending order that can only be its last link.
    fn made_detour(&self, hop: &Hop, d: usize) -> bool {
        if self.any {
            return hop.state >> d & 1 != 0;
        }
        hop.visited > 0
            && hop.vc == ChannelId::FIRST
            && (self.shape.first[d]..self.shape.first[d + 1]).contains(&hop.in_port.number())
    }

    /// Dimensions with a detour, as bits.
    fn state(&self, hop: &Hop, detour: Option<usize>) -> u32 {
        if self.any { hop.state | detour.map_or(0, |d| 1 << d) } else { 0 }
    }
}

impl Routing for DimensionAdaptive {
    fn vcs(&self) -> u8 {
        self.vcs
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        let mut best = Choice { port: ejection, vc: ChannelId::FIRST, state: 0 };
        if to == hop.router {
            return best;
        }
        let (mut least, mut links, mut equals) = (u64::MAX, u64::MAX, 0);
        let mut random = hop.random;
        self.each(hop, to, |choice, left| {
            // No detour can be cheaper than an idle straight port: do not ask.
            if left > links && least == 0 {
                return;
            }
            let score = congestion.backlog(choice.port).saturating_mul(left);
            if (score, left) < (least, links) {
                (best, least, links, equals) = (choice, score, left, 1);
            } else if (score, left) == (least, links) {
                equals += 1;
                if random.below(equals) == 0 {
                    best = choice;
                }
            }
        });
        hop.random = random;
        best
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let (to, ejection) = self.fabric.attached(hop.destination);
        if to == hop.router {
            out.push(Choice { port: ejection, vc: ChannelId::FIRST, state: 0 });
        } else {
            self.each(hop, to, |choice, _| out.push(choice));
        }
    }

    fn facts(&self) -> Facts {
        Facts { stateful: self.any, terminals_alike: true, ..Facts::ADAPTIVE }
    }

    fn memory(&self, hop: &Hop) -> u64 {
        // The channel of the last link gives the number of links; before the first one there is none.
        u64::from(hop.visited > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deadlock,
        registry::{Constant, values},
        routing::testing::{self, Backlogs},
    };
    use base::sorted::{SortedMap, SortedSet};

    fn bind(fabric: &Arc<Fabric>, order: &'static str) -> Bound {
        build(fabric.clone(), &values(ROUTING.about.params, &[("order", Constant::Text(order))]))
    }

    fn hyperx(dims: &'static [u64]) -> Arc<Fabric> {
        testing::build("hyperx", &[("dims", Constant::Ints(dims))])
    }

    #[test]
    fn channels_are_as_many_as_stated_and_free_of_deadlock() {
        let cases: [(&'static [u64], u8); 4] = [(&[4, 3], 4), (&[3, 1, 3, 2], 5), (&[2, 2, 2], 3), (&[5], 2)];
        for (dims, any) in cases {
            let fabric = hyperx(dims);
            for (order, vcs) in [("any", any), ("ascending", 2)] {
                let routing = bind(&fabric, order).unwrap();
                assert_eq!(routing.vcs(), vcs, "{dims:?} {order}");
                let report = deadlock::check(&fabric, routing.as_ref(), u64::MAX);
                assert!(report.is_free(), "{dims:?} {order}: {report}");
            }
        }
        assert_eq!(bind(&hyperx(&[3; 9]), "any").err().unwrap()[0].key, "order");
    }

    /// On a 4 x 4 grid from router 0 to router 5: ports 0 to 2 lead along dimension 0, ports 3 to 5 along dimension 1, the
    /// first of each straight.
    fn ports(order: &'static str, busy: &[(u32, u64)]) -> SortedSet<u32> {
        let fabric = hyperx(&[4, 4]);
        let routing = bind(&fabric, order).unwrap();
        let mut congestion = Backlogs(busy.iter().copied().collect::<SortedMap<_, _>>());
        (0..100)
            .map(|seed| routing.route(&mut testing::hop(&fabric, 0, 5, seed), &mut congestion).port.number())
            .collect()
    }

    #[test]
    fn detours_are_taken_when_they_cost_less() {
        assert_eq!(ports("any", &[]), SortedSet::from([0, 3]));
        assert_eq!(ports("any", &[(0, 64)]), SortedSet::from([3]));
        assert_eq!(ports("any", &[(0, 64), (3, 64)]), SortedSet::from([1, 2, 4, 5]));
        assert_eq!(ports("ascending", &[]), SortedSet::from([0]));
        assert_eq!(ports("ascending", &[(0, 64)]), SortedSet::from([1, 2]));
        // Straight there are two links left, by a detour three.
        assert_eq!(ports("ascending", &[(0, 60), (1, 40), (2, 40)]), SortedSet::from([0]));
        assert_eq!(ports("ascending", &[(0, 63), (1, 41), (2, 40)]), SortedSet::from([2]));
    }

    #[test]
    fn a_dimension_has_one_detour() {
        let fabric = hyperx(&[4, 4]);
        for order in ["any", "ascending"] {
            let routing = bind(&fabric, order).unwrap();
            // Only straight ports are busy: every detour that is allowed is taken.
            let mut longest = 0;
            for seed in 0..50 {
                let mut hop = testing::hop(&fabric, 0, 15, seed);
                while hop.router != RouterId::new(15) {
                    let shape = fabric.shape::<HyperxShape>().unwrap();
                    let straight = (0..2).filter_map(|d| {
                        let (from, to) = (shape.coordinate(hop.router.number(), d), shape.coordinate(15, d));
                        (from != to).then(|| (shape.port(d, from, to), 1 << 20))
                    });
                    let mut busy = Backlogs(straight.collect());
                    let choice = routing.route(&mut hop, &mut busy);
                    let crate::graph::Peer::Router { router, port } =
                        fabric.ports_of(hop.router)[choice.port.index()].peer
                    else {
                        panic!("left early")
                    };
                    (hop.router, hop.in_port, hop.vc, hop.state) = (router, port, choice.vc, choice.state);
                    hop.visited += 1;
                }
                longest = longest.max(hop.visited);
            }
            assert_eq!(longest, 4, "{order}");
        }
    }
}
