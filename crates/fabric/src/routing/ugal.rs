//! UGAL, universal globally-adaptive load-balanced routing: minimal or Valiant, packet by packet, whichever looks cheaper.

use super::two_legs::{self, INTERMEDIATE, MAX_VCS, Rule};
use crate::graph::Fabric;
use crate::routing::entry::{Bound, RoutingEntry};
use base::{
    param::{Kind, Param, Values},
    registry::About,
};
use std::sync::Arc;

const SOURCE: &str = "Singh: Load-Balanced Routing in Interconnection Networks, PhD thesis, Stanford 2005, chapter 5; Kim, \
                      Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008, section 4";

const PARAMS: &[Param] = &[
    INTERMEDIATE,
    Param {
        name: "threshold",
        kind: Kind::Bytes,
        default: Some("0 B"),
        doc: "how much more the minimal path may cost (bytes times links for `ugal-l`, bytes for `ugal-g`)",
    },
    Param {
        name: "candidates",
        kind: Kind::Int { min: 1, max: 64 },
        default: Some("1"),
        doc: "intermediate routers that are drawn and compared",
    },
    MAX_VCS,
];

/// With the queues of the first router.
pub const LOCAL: RoutingEntry = RoutingEntry {
    about: About {
        name: "ugal-l",
        summary: "any topology: minimal or Valiant, by the first router's queues times path lengths",
        doc: "The first router compares the minimal path with paths over drawn intermediate routers: backlog (bytes over all \
              virtual channels) of the path's first port times the number of links. The minimal path is taken if it \
              costs at most `threshold` more than the others, else the cheapest of them; then the packet keeps to it. \
              Minimal paths, intermediate routers and virtual channels as for `valiant`; a packet that goes straight \
              uses the channels of the last leg. If links failed, paths are those of tables of all shortest paths. Reads: the \
              outputs of the first router, without delay: bytes that wait for them or hold buffer behind them, until \
              their credits are back. With `route_per = \"chunk\"` the earlier chunks of the same packet count, so that \
              packets of several chunks detour in an idle network.",
        source: SOURCE,
        params: PARAMS,
    },
    build: |fabric, values| build(fabric, values, false),
    bytes: two_legs::bytes,
    least: super::no_least_bytes,
};

/// With queues of all routers on the way.
pub const GLOBAL: RoutingEntry = RoutingEntry {
    about: About {
        name: "ugal-g",
        summary: "any topology: minimal or Valiant, by the queues of all routers along the path",
        doc: "As `ugal-l`, but a way costs the sum of the backlogs of all its links. Reads: the first router's outputs as they are, the \
              others' as they last published them: one to two times `[model] info_delay` old. The packet's own chunks count as for \
              `ugal-l`. In the literature UGAL-G is \
              the ideal that knows all queues at once. Every packet takes exactly the links that were summed up. If \
              links failed, paths are those of tables of all shortest paths.",
        source: SOURCE,
        params: PARAMS,
    },
    build: |fabric, values| build(fabric, values, true),
    bytes: two_legs::bytes,
    least: super::no_least_bytes,
};

fn build(fabric: Arc<Fabric>, values: &Values, global: bool) -> Bound {
    let (threshold, candidates) = (values.int("threshold"), values.u32("candidates"));
    two_legs::build(fabric, values, Rule::Ugal { threshold, candidates, global })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        registry::{Constant, values},
        routing::{Choice, Congestion, Routing, testing},
    };
    use base::{
        index::{LinkId, PortId, RouterId},
        sorted::SortedMap,
    };

    fn bind(entry: &RoutingEntry, fabric: &Arc<Fabric>, sample: &[(&str, Constant)]) -> Box<dyn Routing> {
        (entry.build)(fabric.clone(), &values(entry.about.params, sample)).unwrap()
    }

    /// Backlogs of the asking router by port and of all links by number.
    struct Queues {
        here: SortedMap<PortId, u64>,
        everywhere: SortedMap<LinkId, u64>,
    }

    impl Congestion for Queues {
        fn backlog(&mut self, port: PortId) -> u64 {
            self.here.get(&port).copied().unwrap_or(0)
        }

        fn published(&mut self, link: LinkId) -> u64 {
            self.everywhere.get(&link).copied().unwrap_or(0)
        }
    }

    /// A ring of eight, from 0 to 1: straight up is one link, and over router 4..7 a packet first goes down.
    fn first(routing: &dyn Routing, fabric: &Fabric, seed: u64, queues: &mut Queues) -> Choice {
        routing.route(&mut testing::hop(fabric, 0, 1, seed), queues)
    }

    #[test]
    fn queues_are_weighed_by_lengths() {
        let ring = testing::grid(true, &[8]);
        let routing = bind(&LOCAL, &ring, &[]);
        assert!(!routing.facts().oblivious && !routing.facts().needs_published);
        let (down, up) = (PortId::new(0), PortId::new(1));
        let goes_down = |up_bytes, down_bytes| {
            let mut queues = Queues {
                here: SortedMap::from([(up, up_bytes), (down, down_bytes)]),
                everywhere: SortedMap::new(),
            };
            (0..400).filter(|&seed| first(routing.as_ref(), &ring, seed, &mut queues).port == down).count()
        };
        assert_eq!(goes_down(0, 0), 0, "an idle network is crossed minimally");
        assert!(goes_down(64, 0) > 100, "an idle detour beats a busy way");
        // Over router 7 the detour has 3 links; the others that begin downward have more.
        assert_eq!(goes_down(64, 22), 0);
        assert!(goes_down(64, 21) > 0);
    }

    #[test]
    fn a_threshold_favours_the_minimal_path() {
        let ring = testing::grid(true, &[8]);
        let routing = bind(&LOCAL, &ring, &[("threshold", Constant::Int(64))]);
        let mut queues =
            Queues { here: SortedMap::from([(PortId::new(1), 64)]), everywhere: SortedMap::new() };
        assert!(
            (0..100).all(|seed| first(routing.as_ref(), &ring, seed, &mut queues).port == PortId::new(1))
        );
    }

    #[test]
    fn remote_queues_count_for_ugal_g_only() {
        // From 0 to 3 on a ring of eight: straight over 1 and 2.
        let ring = testing::grid(true, &[8]);
        let everywhere = SortedMap::from([(ring.port_index(RouterId::new(2), PortId::new(1)), 1 << 20)]);
        for (entry, diverts) in [(&LOCAL, false), (&GLOBAL, true)] {
            let routing = bind(entry, &ring, &[("candidates", Constant::Int(8))]);
            assert_eq!(routing.facts().needs_published, diverts);
            let mut queues =
                Queues { here: SortedMap::from([(PortId::new(1), 1)]), everywhere: everywhere.clone() };
            if !diverts {
                queues.here.clear();
            }
            let down = (0..100)
                .filter(|&seed| {
                    routing.route(&mut testing::hop(&ring, 0, 3, seed), &mut queues).port == PortId::new(0)
                })
                .count();
            assert_eq!(down > 90, diverts, "{}: {down}", entry.about.name);
        }
    }

    #[test]
    fn a_packet_takes_the_links_that_were_summed_up() {
        // Two cables per pair: the cheaper of a packet's paths is idle all along.
        let sample = [("dims", Constant::Ints(&[4, 4])), ("cables", Constant::Ints(&[2, 2]))];
        let fabric = testing::build("hyperx", &sample);
        let routing = bind(&GLOBAL, &fabric, &[("candidates", Constant::Int(64))]);
        let busy: SortedMap<LinkId, u64> =
            LinkId::first(fabric.router_ports()).filter(|p| p.number() % 3 == 0).map(|p| (p, 1000)).collect();
        let mut mean = 0;
        for seed in 0..200 {
            let mut hop = testing::hop(&fabric, 0, 15, seed);
            let mut cost = 0;
            loop {
                let here = PortId::first(fabric.ports_of(hop.router).len() as u32)
                    .filter_map(|port| Some((port, *busy.get(&fabric.port_index(hop.router, port))?)))
                    .collect();
                let choice = routing.route(&mut hop, &mut Queues { here, everywhere: busy.clone() });
                let link = fabric.port_index(hop.router, choice.port);
                let Peer::Router { router, port } = fabric.port(link).peer else { break };
                cost += busy.get(&link).copied().unwrap_or(0);
                (hop.router, hop.in_port, hop.vc, hop.state) = (router, port, choice.vc, choice.state);
                hop.visited += 1;
            }
            mean += cost;
        }
        assert_eq!(mean, 0, "some idle way was among the candidates of every packet");
    }
}
