//! Routing on fat trees: up to a nearest common ancestor, then down.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    fat_tree::{Climb, Ports},
    select::{SELECT, Select},
};
use crate::{graph::Fabric, routing::entry::RoutingEntry};
use base::{
    index::ChannelId,
    param::{Param, Problem, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "nearest-common-ancestor",
        summary: "fat trees: up to a nearest common ancestor by any port, then down the only way",
        doc: "A packet climbs until the router is an ancestor of the destination, then descends on the only path. `up` \
              chooses each port up, and among parallel cables downwards. Ports chosen by the destination's or \
              the source's number are the routings `d-mod-k` and `s-mod-k`. One virtual channel: no packet climbs after \
              it has descended, so no cycle of links can form. A network with failed links is refused.",
        source: "Petrini, Vanneschi: k-ary n-trees, IPPS 1997, section 3; `random` as `nca` of BookSim 2; adaptive: Denzel \
                 et al., SIMUTools 2008, section 2.4",
        params: &[Param { name: "up", ..SELECT }],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

struct NearestCommonAncestor {
    climb: Climb,
    up: Select,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Result<Box<dyn Routing>, Vec<Problem>> {
    let climb = Climb::new(fabric, &ROUTING.about)?;
    Ok(Box::new(NearestCommonAncestor { climb, up: Select::from_values(values, "up") }))
}

impl Routing for NearestCommonAncestor {
    fn vcs(&self) -> u8 {
        1
    }

    #[inline]
    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let Ports { first, count, .. } = self.climb.ports(hop);
        let port = first.plus(self.up.choose(count, |i| (first.plus(i), ChannelId::FIRST), hop, congestion));
        Choice { port, vc: ChannelId::FIRST, state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let Ports { first, count, .. } = self.climb.ports(hop);
        out.extend((0..count).map(|i| Choice { port: first.plus(i), vc: ChannelId::FIRST, state: 0 }));
    }

    fn facts(&self) -> Facts {
        Facts { stateful: false, oblivious: self.up.oblivious(), terminals_alike: true, ..Facts::ADAPTIVE }
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        registry::{Constant, values},
        routing::testing,
    };
    use base::{index::PortId, sorted::SortedMap};

    fn bind(k: u64, levels: u64) -> (Arc<Fabric>, Box<dyn Routing>) {
        let fabric =
            testing::build("fat-tree", &[("k", Constant::Int(k)), ("levels", Constant::Int(levels))]);
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &[])).unwrap();
        (fabric, routing)
    }

    #[test]
    fn random_paths_use_all_common_ancestors_evenly() {
        let (fabric, routing) = bind(3, 3);
        let mut tops = SortedMap::new();
        for seed in 0..9000 {
            let path = testing::path(&fabric, routing.as_ref(), 0, 26, seed);
            assert_eq!(path.len(), 5);
            *tops.entry(path[2].0).or_insert(0) += 1;
        }
        assert_eq!(tops.len(), 9);
        assert!(tops.values().all(|&n| (850..1150).contains(&n)), "{tops:?}");
    }

    #[test]
    fn an_adaptive_climb_avoids_the_busy_port() {
        let sample = [
            ("children", Constant::Ints(&[4, 8])),
            ("parents", Constant::Ints(&[1, 2])),
            ("cables", Constant::Ints(&[1, 2])),
        ];
        let fabric = testing::build("xgft", &sample);
        let up = [("up", Constant::Text("least-queue"))];
        let routing = build(fabric.clone(), &values(ROUTING.about.params, &up)).unwrap();
        // A leaf has 4 terminals, then two cables to each of two tops.
        let mut busy = testing::Backlogs(SortedMap::from([(4, 64), (5, 64), (7, 64)]));
        for seed in 0..10 {
            let choice = routing.route(&mut testing::hop(&fabric, 0, 31, seed), &mut busy);
            assert_eq!(choice.port, PortId::new(6));
        }
    }
}
