//! Routing on fat trees: up to a nearest common ancestor, then down.

use super::{Choice, Congestion, Hop, Routing};
use crate::{graph::Fabric, registry::RoutingEntry, topology::tree::TreeShape};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "nearest-common-ancestor",
        summary: "fat tree: up to a nearest common ancestor, then down the only way",
        doc: "A packet climbs until the router is an ancestor of the destination, then descends on the only path. \
              `up = \"random\"` draws each upward port evenly; `up = \"destination\"` takes at level l the port given \
              by digit l of the destination terminal's number in base k (d-mod-k), so that all packets to a terminal \
              share one tree and keep their order. One virtual channel: no packet climbs after it has descended, so no \
              cycle of links can form.",
        source: "Petrini, Vanneschi: k-ary n-trees, IPPS 1997, section 3; destination digits: Zahavi: D-Mod-K Routing \
                 Providing Non-Blocking Traffic for Shift Permutations on Real Life Fat Trees, CCIT report 776, 2010; \
                 `random` as `nca` of BookSim 2",
        params: &[Param {
            name: "up",
            kind: Kind::Choice(&["random", "destination"]),
            default: Some("random"),
            doc: "how the upward port is chosen",
        }],
    },
    build,
};

struct NearestCommonAncestor {
    fabric: Arc<Fabric>,
    arity: u32,
    width: u32,
    random: bool,
    /// Level and word of each router.
    place: Vec<(u32, u32)>,
    /// `prefix[l * width + w]` = w / k^l: equal for two words if they differ only below digit l.
    prefix: Vec<u32>,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Result<Box<dyn Routing>, Vec<Problem>> {
    let Some(&TreeShape { arity, levels, width }) = fabric.shape::<TreeShape>() else {
        return Err(super::unsuited(&ROUTING.about, fabric.topology, &["fat-tree"]));
    };
    let place = (0..levels).flat_map(|level| (0..width).map(move |word| (level, word))).collect();
    let mut prefix: Vec<u32> = (0..width).collect();
    for i in 0..((levels - 1) * width) as usize {
        prefix.push(prefix[i] / arity);
    }
    let random = values.text("up") == "random";
    Ok(Box::new(NearestCommonAncestor { fabric, arity, width, random, place, prefix }))
}

/// Where a packet may go next.
enum Way {
    /// Only here.
    Port(u32),
    /// Any upward port; the destination's digit prefers this one.
    Up(u32),
}

impl NearestCommonAncestor {
    #[inline]
    fn prefix(&self, level: u32, word: u32) -> u32 {
        self.prefix[(level * self.width + word) as usize]
    }

    #[inline]
    fn way(&self, hop: &Hop) -> Way {
        let (leaf, ejection) = self.fabric.attach[hop.destination as usize];
        let (level, word) = self.place[hop.router as usize];
        let above = self.prefix(level, leaf);
        if above == self.prefix(level, word) {
            if level == 0 {
                return Way::Port(ejection);
            }
            return Way::Port(self.prefix(level - 1, leaf) - self.arity * above);
        }
        // Digit l of the terminal's number: digit 0 is its port at the leaf, digit l > 0 is digit l - 1 of the leaf.
        Way::Up(if level == 0 { ejection } else { self.prefix(level - 1, leaf) - self.arity * above })
    }
}

impl Routing for NearestCommonAncestor {
    fn vcs(&self) -> u8 {
        1
    }

    #[inline]
    fn route(&self, hop: &mut Hop, _: &mut dyn Congestion) -> Choice {
        let port = match self.way(hop) {
            Way::Port(port) => port,
            Way::Up(_) if self.random && self.arity > 1 => {
                self.arity + hop.random.below(u64::from(self.arity)) as u32
            }
            Way::Up(digit) => self.arity + digit,
        };
        Choice { port, vc: 0, state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let choice = |port| Choice { port, vc: 0, state: 0 };
        match self.way(hop) {
            Way::Port(port) => out.push(choice(port)),
            Way::Up(_) if self.random => out.extend((self.arity..2 * self.arity).map(choice)),
            Way::Up(digit) => out.push(choice(self.arity + digit)),
        }
    }

    fn stateful(&self) -> bool {
        false
    }

    fn oblivious(&self) -> bool {
        true
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }

    fn terminals_alike(&self) -> bool {
        self.random
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
    use std::collections::{BTreeMap, BTreeSet};

    /// The routers of a way.
    fn way(fabric: &Fabric, routing: &dyn Routing, source: u32, destination: u32, seed: u64) -> Vec<u32> {
        let mut hop = testing::hop(fabric, source, destination, seed);
        let mut way = vec![hop.router];
        loop {
            let choice = routing.route(&mut hop, &mut testing::Never);
            match fabric.ports_of(hop.router)[choice.port as usize].peer {
                Peer::Router { router, port } => (hop.router, hop.in_port) = (router, port),
                _ => return way,
            }
            way.push(hop.router);
        }
    }

    fn bind(k: u64, levels: u64, up: &'static str) -> (Arc<Fabric>, Box<dyn Routing>) {
        let fabric =
            testing::build("fat-tree", &[("k", Constant::Int(k)), ("levels", Constant::Int(levels))]);
        let routing =
            build(fabric.clone(), &values(ROUTING.about.params, &[("up", Constant::Text(up))])).unwrap();
        (fabric, routing)
    }

    #[test]
    fn destination_digits_give_every_destination_its_own_top_link() {
        let (fabric, routing) = bind(4, 3, "destination");
        // All sources in other halves reach a destination through one top router; each top router serves k of them.
        let mut served = BTreeMap::new();
        for destination in 0..64 {
            let tops: BTreeSet<u32> = (0..64)
                .filter(|s| s / 16 != destination / 16)
                .map(|s| way(&fabric, routing.as_ref(), s, destination, 0)[2])
                .collect();
            assert_eq!(tops.len(), 1, "destination {destination}");
            *served.entry(tops.into_iter().next()).or_insert(0) += 1;
        }
        assert_eq!(served.len(), 16);
        assert!(served.values().all(|&n| n == 4), "{served:?}");
    }

    #[test]
    fn random_ways_use_all_common_ancestors_evenly() {
        let (fabric, routing) = bind(3, 3, "random");
        let mut tops = BTreeMap::new();
        for seed in 0..9000 {
            let way = way(&fabric, routing.as_ref(), 0, 26, seed);
            assert_eq!(way.len(), 5);
            *tops.entry(way[2]).or_insert(0) += 1;
        }
        assert_eq!(tops.len(), 9);
        assert!(tops.values().all(|&n| (850..1150).contains(&n)), "{tops:?}");
    }
}
