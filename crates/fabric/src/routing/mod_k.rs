//! Oblivious, deterministic routings of fat trees: ports by the digits of a terminal's number.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    fat_tree::{Climb, Ports},
};
use crate::{graph::Fabric, routing::entry::RoutingEntry};
use base::index::ChannelId;
use base::{param::Problem, registry::About};
use std::sync::Arc;

const SOURCE: &str = "Zahavi: Fat-Tree Routing and Node Ordering Providing Contention Free Traffic for MPI Global \
                      Collectives, JPDC 2012 (d-mod-k); Rodriguez et al.: Oblivious Routing Schemes in Extended \
                      Generalized Fat Tree Networks, CLUSTER 2009 (both)";

/// Ports by the destination's number.
pub const DESTINATION: RoutingEntry = RoutingEntry {
    about: About {
        name: "d-mod-k",
        summary: "fat trees: up by the digits of the destination's number, one tree per destination",
        doc: "At a router of level l (leaves are level 1) with w parents and p cables to each, a packet to terminal d that \
              must climb takes upward port number q = d / (w_1 .. w_l) mod (w p): parent q mod w, cable q / w. Going \
              down it takes the cable that packets to d take up on that level. All packets to a terminal meet on one \
              tree and keep their order; on a full tree shift permutations collide nowhere. One virtual channel. A network with failed links is refused.",
        source: SOURCE,
        params: &[],
    },
    build: |fabric, _| build(fabric, false),
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// Ports by the source's number.
pub const BY_SOURCE: RoutingEntry = RoutingEntry {
    about: About {
        name: "s-mod-k",
        summary: "fat trees: up by the digits of the source's number, one tree per source",
        doc: "As `d-mod-k`, with the number of the sending terminal in place of the destination's: all packets of a \
              terminal climb one tree, and what climbs from the terminals of one leaf is spread evenly whatever the \
              destinations. One virtual channel. A network with failed links is refused.",
        source: SOURCE,
        params: &[],
    },
    build: |fabric, _| build(fabric, true),
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

struct ModK {
    climb: Climb,
    by_source: bool,
}

fn build(fabric: Arc<Fabric>, by_source: bool) -> Result<Box<dyn Routing>, Vec<Problem>> {
    let about = if by_source { &BY_SOURCE.about } else { &DESTINATION.about };
    Ok(Box::new(ModK { climb: Climb::new(fabric, about)?, by_source }))
}

impl ModK {
    #[inline]
    fn decide(&self, hop: &Hop) -> Choice {
        let Ports { first, count, level, up } = self.climb.ports(hop);
        if count == 1 {
            return Choice { port: first, vc: ChannelId::FIRST, state: 0 };
        }
        let number = if self.by_source { hop.source } else { hop.destination };
        let shape = &self.climb.shape;
        // Links below level l + 1 are those at l: up from level l, down from level l + 1.
        let l = if up { level } else { level - 1 } as usize;
        let (parents, cables) = (shape.parents[l], shape.cables[l]);
        let q = number.number() / shape.words[l] % (parents * cables);
        let cable = q / parents;
        let port = if up { first.plus(q % parents * cables + cable) } else { first.plus(cable) };
        Choice { port, vc: ChannelId::FIRST, state: 0 }
    }
}

impl Routing for ModK {
    fn vcs(&self) -> u8 {
        1
    }

    #[inline]
    fn route(&self, hop: &mut Hop, _: &mut dyn Congestion) -> Choice {
        self.decide(hop)
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        out.push(self.decide(hop));
    }

    fn facts(&self) -> Facts {
        Facts { stateful: false, ..Facts::OBLIVIOUS }
    }

    fn memory(&self, hop: &Hop) -> u64 {
        if self.by_source { u64::from(hop.source) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{registry::Constant, routing::testing};
    use base::sorted::{SortedMap, SortedSet};

    fn tree() -> Arc<Fabric> {
        testing::build("fat-tree", &[("k", Constant::Int(4)), ("levels", Constant::Int(3))])
    }

    #[test]
    fn destination_digits_give_every_destination_its_own_top_link() {
        let fabric = tree();
        let routing = build(fabric.clone(), false).unwrap();
        // All sources in other halves reach a destination through one top router; each top router serves k of them.
        let mut served = SortedMap::new();
        for destination in 0..64 {
            let tops: SortedSet<u32> = (0..64)
                .filter(|s| s / 16 != destination / 16)
                .map(|s| testing::path(&fabric, routing.as_ref(), s, destination, 0)[2].0)
                .collect();
            assert_eq!(tops.len(), 1, "destination {destination}");
            *served.entry(tops.into_iter().next()).or_insert(0) += 1;
        }
        assert_eq!(served.len(), 16);
        assert!(served.values().all(|&n| n == 4), "{served:?}");
    }

    /// Packets on each link when every terminal s sends to terminal (s + shift) mod n.
    fn loads(fabric: &Fabric, routing: &dyn Routing, shift: u32) -> SortedMap<(u32, u32), u32> {
        let n = fabric.terminals();
        let mut loads = SortedMap::new();
        for s in 0..n {
            for (router, port, _) in testing::path(fabric, routing, s, (s + shift) % n, 0) {
                *loads.entry((router, port)).or_insert(0) += 1;
            }
        }
        loads
    }

    #[test]
    fn shift_permutations_do_not_collide_on_full_trees() {
        let half_top = [
            ("children", Constant::Ints(&[4, 4, 4])),
            ("parents", Constant::Ints(&[1, 4, 2])),
            ("cables", Constant::Ints(&[1, 1, 2])),
        ];
        for fabric in [tree(), testing::build("xgft", &half_top)] {
            for by_source in [false, true] {
                let routing = build(fabric.clone(), by_source).unwrap();
                for shift in 0..64 {
                    let loads = loads(&fabric, routing.as_ref(), shift);
                    assert!(loads.values().all(|&n| n == 1), "{} {by_source} {shift}", fabric.topology());
                }
            }
        }
    }

    #[test]
    fn a_source_climbs_one_tree() {
        let fabric = tree();
        let routing = build(fabric.clone(), true).unwrap();
        for source in [0, 5, 63] {
            let tops: SortedSet<u32> = (0..64)
                .filter(|d| d / 16 != source / 16)
                .map(|d| testing::path(&fabric, routing.as_ref(), source, d, 0)[2].0)
                .collect();
            assert_eq!(tops.len(), 1, "source {source}");
        }
    }
}
