//! Direct and indirect routing of hierarchical direct networks.

use super::{
    legs::hierarchical::HierarchicalLeg,
    select::{SELECT, Select},
    two_legs::{self, Rule},
};
use crate::{
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
};
use base::{
    param::{Kind, Param, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "hierarchical-direct",
        summary: "hierarchical direct network: one rack-to-rack link, or two by way of some other racks",
        doc: "The direct way: to a nearest switch with a level-3 link to the right rack (on the own board if one has it), over \
              that link, and to the destination; within a rack over one level-2 link between the two boards; level-1 \
              links before and behind where needed, so up to seven links in all. With `indirect = k` a packet to another rack \
              may also go by way of one of the k racks whose numbers follow the source's (counted around, the \
              destination's skipped): directly to that rack, and directly on from the switch where it arrives. \
              The first router chooses among the 1 + k routes by `select`; `least-queue` and `most-credits` look at its \
              ports on each and leave the direct one only for a better one. Among parallel links of a route a packet \
              takes one by a random seed of its own. Virtual channels: 4, or 8 with indirect routes: in the \
              first rack 0 up to the board that has the link and 1 on it, in the last rack 2 up to the last board and 3 on \
              it; 4 more on the last leg of indirect paths. A network with failed links is refused.",
        source: "Denzel, Li, Walker, Jin: A Framework for End-to-end Simulation of High-performance Computing Systems, \
                 SIMUTools 2008, sections 3.1 and 3.3 (figure 8); there the choice is static (in equal parts) or adaptive",
        params: &[
            Param {
                name: "indirect",
                kind: Kind::Int { min: 0, max: 1 << 20 },
                default: Some("0"),
                doc: "other racks by which packets may go; at most all are used",
            },
            SELECT,
        ],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

fn build(fabric: Arc<Fabric>, values: &Values) -> Bound {
    super::intact(&ROUTING.about, &fabric)?;
    let leg = HierarchicalLeg::new(&fabric)
        .ok_or_else(|| super::unsuited(&ROUTING.about, fabric.topology(), &["hierarchical"]))?;
    let rule =
        Rule::Among { others: values.u32("indirect"), select: Select::from_values(values, SELECT.name) };
    two_legs::bind(fabric, leg, rule, true, u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        graph::Peer,
        registry::{Constant, values},
        routing::{Routing, testing},
    };
    use base::{
        index::RouterId,
        rng::{Purpose, Stream},
        sorted::SortedMap,
    };

    /// Five racks of 4 boards of 4 switches, one link per pair at each level.
    fn fabric() -> Arc<Fabric> {
        let sample = [
            ("racks", Constant::Int(5)),
            ("boards_per_rack", Constant::Int(4)),
            ("switches_per_board", Constant::Int(4)),
        ];
        testing::build("hierarchical", &sample)
    }

    fn bind(fabric: &Arc<Fabric>, indirect: u64, select: &'static str) -> Box<dyn Routing> {
        let sample = [("indirect", Constant::Int(indirect)), ("select", Constant::Text(select))];
        build(fabric.clone(), &values(ROUTING.about.params, &sample)).unwrap()
    }

    /// Levels of the links on a way.
    fn levels(fabric: &Fabric, path: &[(u32, u32, u8)]) -> Vec<u8> {
        let links = &path[..path.len() - 1];
        links
            .iter()
            .map(|&(router, port, _)| fabric.ports_of(RouterId::new(router))[port as usize].class)
            .collect()
    }

    #[test]
    fn direct_paths_climb_and_descend_the_levels() {
        let fabric = fabric();
        let routing = bind(&fabric, 0, "random");
        assert_eq!(routing.vcs(), 4);
        let mut longest = 0;
        for (s, d) in testing::pairs(&fabric) {
            let path = testing::path(&fabric, routing.as_ref(), s, d, 7);
            let levels = levels(&fabric, &path);
            let count = |level| levels.iter().filter(|&&l| l == level).count();
            assert_eq!(count(3), usize::from(s / 16 != d / 16), "{s} -> {d}: {levels:?}");
            assert!(count(2) <= 1 + count(3), "{levels:?}");
            let full = [1, 2, 1, 3, 1, 2, 1];
            let mut rest = full.iter();
            let inside: &[u8] = if s / 16 == d / 16 { &full[..3] } else { &full };
            assert!(
                levels.iter().all(|l| rest.any(|f| f == l)) && levels.len() <= inside.len(),
                "{levels:?}"
            );
            longest = longest.max(levels.len());
        }
        assert!(longest >= 5, "{longest}");
    }

    #[test]
    fn indirect_racks_share_the_traffic_in_equal_parts() {
        let fabric = fabric();
        for (indirect, via) in [(1, vec![1]), (2, vec![1, 3]), (3, vec![1, 3, 4]), (9, vec![1, 3, 4])] {
            let routing = bind(&fabric, indirect, "random");
            assert_eq!(routing.vcs(), 8);
            let mut counts = SortedMap::new();
            // From rack 0 to rack 2.
            for seed in 0..4000 {
                let path = testing::path(&fabric, routing.as_ref(), 0, 32, seed);
                let mut racks: Vec<u32> = path.iter().map(|step| step.0 / 16).collect();
                racks.dedup();
                *counts.entry(if racks.len() == 3 { racks[1] } else { 0 }).or_insert(0) += 1;
            }
            let mut expected = vec![0];
            expected.extend(&via);
            assert_eq!(counts.keys().copied().collect::<Vec<u32>>(), expected);
            let share = 4000 / expected.len();
            assert!(counts.values().all(|&n| n * 10 > share * 9 && n * 10 < share * 11), "{counts:?}");
        }
    }

    /// Racks by which packets of these random streams go from terminal `from` to `to`, counted; the source's for the direct way.
    fn racks(
        fabric: &Arc<Fabric>,
        select: &'static str,
        (from, to): (u32, u32),
        packets: u64,
    ) -> SortedMap<u32, u64> {
        let routing = bind(fabric, 3, select);
        let mut counts = SortedMap::new();
        for number in 0..packets {
            let mut hop = testing::hop(fabric, from, to, 1);
            hop.random = Stream::new(1, Purpose::Route, number);
            let rack = loop {
                let choice = routing.route(&mut hop, &mut testing::Backlogs(SortedMap::new()));
                let Peer::Router { router, port } = fabric.ports_of(hop.router)[choice.port.index()].peer
                else {
                    panic!("the destination is in another rack");
                };
                (hop.router, hop.in_port, hop.vc, hop.state) = (router, port, choice.vc, choice.state);
                hop.visited += 1;
                let rack = router.number() / 16;
                if rack != from / 16 {
                    break if rack == to / 16 { from / 16 } else { rack };
                }
            };
            *counts.entry(rack).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn every_static_choice_has_its_distribution() {
        let fabric = fabric();
        // In turn: exactly equal parts. Drawn: equal parts but for chance (six deviations of 30).
        let turns = racks(&fabric, "round-robin", (0, 32), 400);
        assert_eq!(turns, SortedMap::from([(0, 100), (1, 100), (3, 100), (4, 100)]));
        let drawn = racks(&fabric, "random", (0, 32), 4800);
        assert!(drawn.len() == 4 && drawn.values().all(|n| n.abs_diff(1200) < 180), "{drawn:?}");
        // By pair: one way for each, equal parts over all pairs of the two racks.
        let mut pairs = SortedMap::new();
        for (from, to) in (0..16).flat_map(|from| (32..48).map(move |to| (from, to))) {
            let one = racks(&fabric, "static", (from, to), 8);
            assert_eq!(one.len(), 1, "{from} -> {to}: {one:?}");
            *pairs.entry(one.into_keys().next()).or_insert(0u64) += 1;
        }
        assert!(pairs.len() == 4 && pairs.values().all(|n| n.abs_diff(64) < 42), "{pairs:?}");
    }

    #[test]
    fn adaptive_paths_are_direct_until_that_port_is_busier() {
        let fabric = fabric();
        let routing = bind(&fabric, 3, "least-queue");
        let port = |busy: &[(u32, u64)]| {
            let mut congestion = testing::Backlogs(busy.iter().copied().collect());
            routing.route(&mut testing::hop(&fabric, 0, 32, 1), &mut congestion).port
        };
        let direct = port(&[]);
        assert_ne!(port(&[(direct.number(), 64)]), direct);
        let all: Vec<(u32, u64)> = (0..20).map(|p| (p, 64)).collect();
        assert_eq!(port(&all), direct, "none is better");
    }
}
