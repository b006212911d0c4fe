//! Dimension-order routing of meshes, tori and the `HyperX` family.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    legs::{At, Leg, grid::GridLeg, hyperx::HyperxLeg},
};
use crate::{graph::Fabric, routing::entry::RoutingEntry};
use base::{
    index::{ChannelId, PortId, RouterId},
    param::{Kind, Param, Problem, Unread, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "dimension-order",
        summary: "mesh, torus, HyperX, flattened butterfly, hypercube: correct dimension 0 first, then 1, and so on",
        doc: "Each dimension is corrected in turn, dimension 0 first. On a HyperX, flattened butterfly or hypercube one \
              link does it (among parallel cables one is drawn at random) and one VC is enough. On a mesh or torus \
              packets take the shorter direction. Where both directions of a ring are equally long, packets go up if the sum of the destination's coordinates is even and down \
              if it is odd (`tie` draws instead). On a torus each ring has a dateline at the link between its last and its first router: \
              packets start a dimension on VC 0 and use VC 1 from the link that crosses the dateline to the end of \
              that dimension (`partition` has another rule), so two VCs are needed; a mesh needs one. Packets leave on VC 0. `dateline = false` \
              drops the second VC: a ring of five or more routers then is a cycle of channels, which the deadlock check \
              refuses. A network with failed links is refused.",
        source: "Dally, Towles: Principles and Practices of Interconnection Networks, 2004, sections 8.4.2 and 14.2.3; \
                 Dally, Seitz: Deadlock-Free Message Routing in Multiprocessor Interconnection Networks, IEEE TC \
                 1987; hypercube: e-cube routing, Sullivan, Bashkow, ISCA 1977; `tie`: BookSim 2, routefunc.cpp (dor_next_torus)",
        params: &[
            Param {
                name: "dateline",
                kind: Kind::Bool,
                default: Some("true"),
                doc: "break the cycles of a torus' rings with a second VC; no effect elsewhere",
            },
            Param {
                name: "partition",
                kind: Kind::Choice(&["link", "packet", BUBBLE]),
                default: Some("link"),
                doc: "who uses a torus' second VC: packets from the link on that crosses the dateline, or, as in BookSim, for a whole dimension those that \
                      cross it somewhere in it, which loads both evenly; `bubble`: nobody, and one VC is enough, for routers with `flow_control = \"bubble\"` of [router]; no effect elsewhere",
            },
            Param {
                name: "tie",
                kind: Kind::Choice(&["destination", "random"]),
                default: Some("destination"),
                doc: "direction of packets whose destination is exactly half a ring of even size away. `destination`: it decides, so that a pair has one path and packets keep their order. \
                      `random`: drawn by each packet where it enters the ring, as in BookSim, so that traffic between such pairs loads both directions. No effect where there are no such rings",
            },
        ],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// What `partition` is for routers that keep bubbles.
const BUBBLE: &str = "bubble";

/// Keys about rings.
const RINGS: &[&str] = &["dateline", "partition", "tie"];

fn build(fabric: Arc<Fabric>, values: &Values) -> Result<Box<dyn Routing>, Vec<Problem>> {
    super::intact(&ROUTING.about, &fabric)?;
    if let Some(leg) = HyperxLeg::new(&fabric) {
        return Ok(Box::new(OneLink { fabric, leg }));
    }
    let Some(leg) = GridLeg::new(&fabric) else {
        let known = ["mesh", "torus", "hyperx", "flattened-butterfly", "hypercube"];
        return Err(super::unsuited(&ROUTING.about, fabric.topology(), &known));
    };
    let partition = values.text("partition");
    let bubbles = partition == BUBBLE && leg.wraps();
    let leg = if values.bool("dateline") && !bubbles { leg } else { leg.without_dateline() };
    let leg = if partition == "packet" { leg.by_packet() } else { leg };
    let draws = values.text("tie") == "random" && leg.has_ties();
    Ok(Box::new(DimensionOrder { fabric, leg, bubbles, draws }))
}

/// Dimension order along lines and rings.
struct DimensionOrder {
    fabric: Arc<Fabric>,
    leg: GridLeg,
    /// Routers keep a bubble in each ring.
    bubbles: bool,
    /// Packets draw the direction where both are equally long: a pair then has several paths.
    draws: bool,
}

impl DimensionOrder {
    /// The next hop, where `up` says whether a packet to a router goes up that could as well go down.
    #[inline]
    fn decide(&self, hop: &Hop, up: impl FnOnce(RouterId) -> bool) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        // A terminal's port belongs to no dimension, so the first router needs no special case.
        let at = At { router: hop.router, in_port: hop.in_port, vc: hop.vc, begun: true };
        let (port, vc) = self.leg.next_by(&at, to, || up(to)).unwrap_or((ejection, ChannelId::FIRST));
        Choice { port, vc, state: 0 }
    }
}

impl Routing for DimensionOrder {
    fn vcs(&self) -> u8 {
        self.leg.vcs()
    }

    #[inline]
    fn route(&self, hop: &mut Hop, _: &mut dyn Congestion) -> Choice {
        // Drawn where the ring is entered: one link on, one way is the shorter one.
        if self.draws {
            let mut random = hop.random;
            return self.decide(hop, |_| random.below(2) == 1);
        }
        self.decide(hop, |to| self.leg.up_by_destination(to))
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        if !self.draws {
            return out.push(self.decide(hop, |to| self.leg.up_by_destination(to)));
        }
        let (up, down) = (self.decide(hop, |_| true), self.decide(hop, |_| false));
        out.push(up);
        if down != up {
            out.push(down);
        }
    }

    fn facts(&self) -> Facts {
        let rings = self.bubbles.then(|| self.leg.ports());
        Facts { stateful: false, terminals_alike: true, rings, ..Facts::OBLIVIOUS }
    }

    fn unread(&self) -> Vec<Unread> {
        if self.fabric.topology() == "mesh" {
            return Unread::all("routing", RINGS, "a mesh has no rings");
        }
        let mut unread = if self.bubbles {
            Unread::all("routing", &["dateline"], "bubbles take the place of a dateline")
        } else if self.leg.vcs() == 1 {
            Unread::all("routing", &["partition"], "without a dateline there is no second VC")
        } else {
            Vec::new()
        };
        if !self.leg.has_ties() {
            unread.extend(Unread::all(
                "routing",
                &["tie"],
                "in rings of odd size one way is always the shorter one",
            ));
        }
        unread
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

/// Dimension order where every dimension takes one link.
struct OneLink {
    fabric: Arc<Fabric>,
    leg: HyperxLeg,
}

impl OneLink {
    /// The first of the ports to take, and how many parallel ones there are.
    #[inline]
    fn ports(&self, hop: &Hop) -> (PortId, u32) {
        let (to, ejection) = self.fabric.attached(hop.destination);
        self.leg.next(hop.router, to).unwrap_or((ejection, 1))
    }
}

impl Routing for OneLink {
    fn vcs(&self) -> u8 {
        1
    }

    #[inline]
    fn route(&self, hop: &mut Hop, _: &mut dyn Congestion) -> Choice {
        let (first, cables) = self.ports(hop);
        let cable = if cables > 1 { hop.random.below(u64::from(cables)) as u32 } else { 0 };
        Choice { port: first.plus(cable), vc: ChannelId::FIRST, state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let (first, cables) = self.ports(hop);
        out.extend((0..cables).map(|i| Choice { port: first.plus(i), vc: ChannelId::FIRST, state: 0 }));
    }

    fn facts(&self) -> Facts {
        Facts { stateful: false, terminals_alike: true, ..Facts::OBLIVIOUS }
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::all("routing", RINGS, "one link corrects a dimension: there are no rings")
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        registry::{Constant, values},
        routing::testing,
    };
    use base::index::TerminalId;

    /// Ports and VCs from one router's first terminal to another's.
    fn path(
        fabric: &Fabric,
        routing: &dyn Routing,
        source: TerminalId,
        destination: TerminalId,
    ) -> Vec<(u32, u8)> {
        drawn(fabric, routing, source, destination, 0)
    }

    /// The same of a packet that draws at every hop, as in a network.
    fn drawn(
        fabric: &Fabric,
        routing: &dyn Routing,
        source: TerminalId,
        destination: TerminalId,
        seed: u64,
    ) -> Vec<(u32, u8)> {
        let mut hop = testing::hop(fabric, source.number(), destination.number(), seed);
        let mut path = Vec::new();
        loop {
            hop.random = hop.random.at((path.len() as u64) << 16);
            let choice = routing.route(&mut hop, &mut testing::Never);
            path.push((choice.port.number(), choice.vc.number()));
            match fabric.ports_of(hop.router)[choice.port.index()].peer {
                Peer::Router { router, port } => {
                    (hop.router, hop.in_port, hop.vc) = (router, port, choice.vc)
                }
                _ => return path,
            }
        }
    }

    fn bind(fabric: &Arc<Fabric>) -> Box<dyn Routing> {
        build(fabric.clone(), &values(ROUTING.about.params, &[])).unwrap()
    }

    #[test]
    fn dimensions_are_corrected_in_order() {
        let fabric = testing::grid(false, &[4, 3]);
        let routing = bind(&fabric);
        assert_eq!(routing.vcs(), 1);
        assert_eq!(
            path(&fabric, routing.as_ref(), TerminalId::new(0), TerminalId::new(11)),
            [(1, 0), (1, 0), (1, 0), (3, 0), (3, 0), (4, 0)]
        );
        assert_eq!(
            path(&fabric, routing.as_ref(), TerminalId::new(11), TerminalId::new(5)),
            [(0, 0), (0, 0), (2, 0), (4, 0)]
        );
    }

    #[test]
    fn the_second_channel_begins_at_the_dateline_and_ends_with_the_dimension() {
        let fabric = testing::grid(true, &[8, 8]);
        let routing = bind(&fabric);
        assert_eq!(routing.vcs(), 2);
        // From (6, 1) to (1, 3): up across the dateline of dimension 0, then plainly up dimension 1.
        let expected = [(1, 0), (1, 1), (1, 1), (3, 0), (3, 0), (4, 0)];
        assert_eq!(
            path(&fabric, routing.as_ref(), TerminalId::new(8 + 6), TerminalId::new(3 * 8 + 1)),
            expected
        );
        // From (1, 0) to (7, 7): down across both.
        assert_eq!(
            path(&fabric, routing.as_ref(), TerminalId::new(1), TerminalId::new(63)),
            [(0, 0), (0, 1), (2, 1), (4, 0)]
        );
    }

    /// BookSim's partition: 1 for all of a dimension that crosses, 0 for one that does not, and no cycle.
    #[test]
    fn a_packet_that_will_cross_takes_the_second_channel_at_once() {
        let fabric = testing::grid(true, &[8, 8]);
        let given = [("partition", Constant::Text("packet"))];
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &given)).unwrap();
        assert_eq!(routing.vcs(), 2);
        let of = |from, to| path(&fabric, routing.as_ref(), TerminalId::new(from), TerminalId::new(to));
        // From (6, 1) to (1, 3), and from (1, 0) to (7, 7).
        assert_eq!(of(8 + 6, 3 * 8 + 1), [(1, 1), (1, 1), (1, 1), (3, 0), (3, 0), (4, 0)]);
        assert_eq!(of(1, 63), [(0, 1), (0, 1), (2, 1), (4, 0)]);
        assert_eq!(of(0, 3), [(1, 0), (1, 0), (1, 0), (4, 0)]);
        assert!(crate::deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
    }

    /// One channel, whose rings are cycles but for the bubbles that routers keep in them.
    #[test]
    fn bubbles_take_the_place_of_the_second_channel() {
        for dims in [&[8][..], &[4, 5], &[3, 1, 4], &[2, 6, 5]] {
            let fabric = testing::grid(true, dims);
            let given = [("partition", Constant::Text("bubble"))];
            let routing = build(fabric.clone(), &values(ROUTING.about.params, &given)).unwrap();
            assert_eq!((routing.vcs(), routing.facts().rings), (1, Some(2 * dims.len() as u32)));
            assert!(crate::deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free(), "{dims:?}");
            let mesh = testing::grid(false, dims);
            let routing = build(mesh, &values(ROUTING.about.params, &given)).unwrap();
            assert_eq!(routing.facts().rings, None, "a mesh has no rings");
        }
        let fabric = testing::grid(true, &[8]);
        let plain = [("dateline", Constant::Bool(false))];
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &plain)).unwrap();
        assert!(!crate::deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
    }

    #[test]
    fn a_hyperx_takes_one_link_per_dimension() {
        let sample = [("dims", Constant::Ints(&[4, 3])), ("cables", Constant::Ints(&[2, 1]))];
        let fabric = testing::build("hyperx", &sample);
        let routing = bind(&fabric);
        assert_eq!(routing.vcs(), 1);
        // From (0, 0) to (3, 2): two cables to each of three others, then one to each of two.
        let next_ports: base::sorted::SortedSet<_> = (0..20)
            .map(|seed| testing::path(&fabric, routing.as_ref(), 0, 11, seed))
            .map(|path| path.into_iter().map(|(router, port, _)| (router, port)).collect::<Vec<_>>())
            .collect();
        assert_eq!(
            next_ports.into_iter().collect::<Vec<_>>(),
            [[(0, 4), (3, 7), (11, 8)], [(0, 5), (3, 7), (11, 8)]]
        );
    }

    #[test]
    fn failed_links_are_refused() {
        let mut fabric = (*testing::grid(false, &[4, 3])).clone();
        testing::fail(&mut fabric, 0, 1);
        let problems = build(Arc::new(fabric), &values(ROUTING.about.params, &[])).err().unwrap();
        assert_eq!(problems[0].message, "`dimension-order` cannot avoid the 1 failed links");
    }

    /// Of packets with half a ring before them half go each way, in each dimension anew; all others go as they did.
    #[test]
    fn drawn_ties_load_both_directions_alike() {
        let fabric = testing::grid(true, &[8, 6]);
        let given = [("tie", Constant::Text("random"))];
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &given)).unwrap();
        assert!(routing.facts().oblivious && !routing.facts().stateful);
        assert!(crate::deadlock::check(&fabric, routing.as_ref(), u64::MAX).is_free());
        let ports = |routing: &dyn Routing, to, seed| -> Vec<u32> {
            let (from, to) = (TerminalId::new(0), TerminalId::new(to));
            drawn(&fabric, routing, from, to, seed).into_iter().map(|step| step.0).collect()
        };
        // To (4, 3): four links along the first ring, three along the second, each up or down.
        let mut counts = [[0u32; 2]; 2];
        for seed in 0..4_000 {
            let path = ports(routing.as_ref(), 3 * 8 + 4, seed);
            let (first, second) = (path[0], path[4] - 2);
            assert_eq!(
                path,
                [[first; 4].as_slice(), &[second + 2; 3], &[4]].concat(),
                "no packet turns back"
            );
            counts[first as usize][second as usize] += 1;
        }
        // A quarter each: 1,000, within five standard deviations of 27.
        assert!(counts.iter().flatten().all(|n| n.abs_diff(1_000) < 137), "{counts:?}");
        let plain = bind(&fabric);
        for to in (0..48).filter(|to| to % 8 != 4 && to / 8 != 3) {
            for seed in 0..8 {
                assert_eq!(ports(routing.as_ref(), to, seed), ports(plain.as_ref(), to, 0), "{to}");
            }
        }
    }

    /// Who draws nothing is told: rings of odd size, meshes and single links have no ties.
    #[test]
    fn a_tie_needs_a_ring_of_even_size() {
        let given = [("tie", Constant::Text("random"))];
        for (fabric, unread) in [
            (testing::grid(true, &[5, 3]), true),
            (testing::grid(true, &[5, 4]), false),
            (testing::grid(false, &[4, 4]), true),
        ] {
            let routing = build(fabric, &values(ROUTING.about.params, &given)).unwrap();
            assert_eq!(routing.unread().iter().any(|u| u.key == "tie"), unread);
        }
    }

    #[test]
    fn ties_go_up_to_even_and_down_to_odd_destinations() {
        let fabric = testing::grid(true, &[4, 4]);
        let routing = bind(&fabric);
        for (source, destination) in [(0, 2), (1, 3), (2, 0), (4, 6), (5, 7)] {
            let even = (destination % 4 + destination / 4) % 2 == 0;
            let ports: Vec<u32> =
                path(&fabric, routing.as_ref(), TerminalId::new(source), TerminalId::new(destination))
                    .iter()
                    .map(|c| c.0)
                    .collect();
            let direction = u32::from(even);
            assert_eq!(ports, [direction, direction, 4], "{source} -> {destination}");
        }
    }
}
