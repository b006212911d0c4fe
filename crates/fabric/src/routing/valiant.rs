//! Valiant's routing: every packet goes over a random intermediate router.

use super::{
    select::{SELECT, Select},
    two_legs::{self, INTERMEDIATE, MAX_VCS, Rule},
};
use crate::routing::entry::RoutingEntry;
use base::registry::About;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "valiant",
        summary: "any topology: minimally to a random intermediate router, then minimally to the destination",
        doc: "An intermediate router is drawn evenly for each decision from all routers with terminals; if it is the \
              source's or the destination's, the path is minimal. Any traffic then loads the network like uniform random \
              traffic, at up to twice the distance. Minimal paths are local, global, local on a dragonfly; leaf, \
              spine, global, spine, leaf on a dragonfly+; row, column, global, row, column with two-dimensional groups; direct (see `hierarchical-direct`) on a hierarchical network; dimension order on the HyperX family, meshes and tori (with \
              datelines); and by tables of all shortest paths on any other graph, or if links failed. Among equally \
              good ports `select` chooses, `random` by a seed of the packet. Packets between terminals of one router stay \
              there. Virtual channels: twice as many as the minimal path needs: 4 on dragonflies, dragonfly+ and tori, 2 \
              on meshes and HyperX, 8 on hierarchical networks; tables take layers or count hops, whichever needs fewer.",
        source: "Valiant: A Scheme for Fast Parallel Communication, SIAM J. Comput. 1982; on dragonflies by group: Kim, \
                 Dally, Scott, Abts, ISCA 2008, section 4 (VAL)",
        params: &[INTERMEDIATE, SELECT, MAX_VCS],
    },
    build: |fabric, values| {
        let select = Select::from_values(values, SELECT.name);
        two_legs::build(fabric, values, Rule::Valiant { select })
    },
    bytes: two_legs::bytes,
    least: super::no_least_bytes,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        deadlock,
        graph::Fabric,
        registry::{Constant, values},
        routing::{Routing, testing},
    };
    use base::{param::Problem, sorted::SortedMap};
    use std::sync::Arc;

    fn bind(fabric: &Arc<Fabric>, sample: &[(&str, Constant)]) -> Result<Box<dyn Routing>, Vec<Problem>> {
        (ROUTING.build)(fabric.clone(), &values(ROUTING.about.params, sample))
    }

    const BY_GROUP: (&str, Constant) = ("intermediate", Constant::Text("group"));

    #[test]
    fn groups_are_crossed_evenly() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let routing = bind(&fabric, &[BY_GROUP]).unwrap();
        // From group 0 to group 8: the groups of the routers on the way.
        let mut visited = SortedMap::new();
        for seed in 0..7000 {
            let path = testing::path(&fabric, routing.as_ref(), 0, 71, seed);
            let mut groups: Vec<u32> = path.iter().map(|step| step.0 / 4).collect();
            groups.dedup();
            assert_eq!((groups.len(), groups[0], groups[2]), (3, 0, 8), "{path:?}");
            assert!(path.len() <= 6 + 1, "local, global, local, global, local: {path:?}");
            *visited.entry(groups[1]).or_insert(0) += 1;
        }
        assert_eq!(visited.keys().copied().collect::<Vec<u32>>(), (1..8).collect::<Vec<_>>());
        assert!(visited.values().all(|n| (880..1120).contains(n)), "{visited:?}");
    }

    #[test]
    fn intermediate_routers_are_even_on_a_torus() {
        let fabric = testing::grid(true, &[4, 4]);
        let routing = bind(&fabric, &[]).unwrap();
        assert_eq!(routing.vcs(), 4);
        let mut total = 0;
        for seed in 0..4000 {
            let path = testing::path(&fabric, routing.as_ref(), 0, 1, seed);
            assert!(path[..path.len() - 1].is_sorted_by_key(|step| step.2 / 2), "{path:?}");
            total += path.len() - 1;
        }
        // Two legs of mean length 2 each: to an even router, and from it.
        assert!((15_500..16_500).contains(&total), "{total}");
    }

    #[test]
    fn any_graph_will_do_also_with_failed_links() {
        let tree = testing::build("fat-tree", &[("k", Constant::Int(3)), ("levels", Constant::Int(2))]);
        assert!(bind(&tree, &[]).is_ok());
        let mut torus = (*testing::grid(true, &[4, 3])).clone();
        testing::fail(&mut torus, 0, 1);
        let torus = Arc::new(torus);
        let routing = bind(&torus, &[]).unwrap();
        assert!(deadlock::check(&torus, routing.as_ref(), u64::MAX).is_free());
        for (s, d) in testing::pairs(&torus) {
            testing::path(&torus, routing.as_ref(), s, d, 3);
        }
        let problem = &bind(&torus, &[BY_GROUP]).err().unwrap()[0];
        assert_eq!(problem.key, "intermediate");
    }
}
