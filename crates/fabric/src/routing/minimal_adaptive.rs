//! Minimal, fully adaptive routing of meshes and tori, by virtual networks.
//!
//! A *virtual network* fixes the direction of every dimension but the last, so a cycle of its channels could only run
//! along the last dimension, where no packet turns back. A packet stays in the network of its directions. On a torus each
//! link across a ring's edge leads to the next *level* of channels, of which there is one more than dimensions. The
//! channel dependency graph has no cycle at all: a packet may wait for the very port it chose, without an escape.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    minimal_escape::MinimalEscape,
    select::{SELECT, Select},
};
use crate::{
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
    topology::grid::GridShape,
};
use base::{
    index::{ChannelId, Column, PortId, RouterId},
    param::{Kind, Param, Problem, Unread, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "minimal-adaptive",
        summary: "mesh and torus: any shortest path, chosen hop by hop, by virtual networks",
        doc: "At every router `select` chooses among the dimensions that are not yet right; in each the packet goes the \
              shorter way, and where both directions of a ring are equally long, up if the sum of the destination's \
              coordinates is even. By default deadlock is prevented by virtual networks, \
              because a packet waits for the port it was given. A virtual network fixes the directions of all dimensions but \
              the last one larger than 1: 2^(n-1) for n such dimensions. On a torus each is doubled for every ring \
              edge that a packet may cross: n + 1 levels. So a 2-D mesh needs 2 virtual channels, a 3-D mesh 4, a 2-D \
              torus 6, a 3-D torus 16; more than 16 are refused (`shortest-path` with `deadlock = \"hops\"` is the \
              alternative). With `deadlock = \"escape\"` a head asks for the adaptive channels of all shortest paths at once and for an escape channel \
              in dimension order, where a packet stays once it is there (Duato; BookSim's min_adapt): 2 classes of virtual channels on a mesh, the first one for escape, 3 on a torus, whose rings \
              have datelines for packets, as `partition = \"packet\"` of dimension-order. Clocked routers with section [router] can do that; there a head takes whichever output it gets, whatever `select` says. A network with failed links is refused. Reads, where `select` looks at queues: the outputs of the \
              router that it is asked at, without delay; with `route_per = \"chunk\"` the earlier chunks of the same packet \
              count.",
        source: "Linder, Harden: An Adaptive and Fault Tolerant Wormhole Routing Strategy for k-ary n-cubes, IEEE Trans. \
                 Computers 1991; Dally, Towles: Principles and Practices of Interconnection Networks, 2004, chapter 10; `escape`: \
                 Duato: A New Theory of Deadlock-Free Adaptive Routing in Wormhole Networks, IEEE TPDS 1993; BookSim 2, routefunc.cpp (min_adapt_mesh)",
        params: &[
            Param { default: Some("least-queue"), ..SELECT },
            Param {
                name: "deadlock",
                kind: Kind::Choice(&["virtual-networks", "escape"]),
                default: Some("virtual-networks"),
                doc: "what keeps packets from waiting for each other: a channel for every set of directions, or escape channels",
            },
            Param {
                name: "outputs",
                kind: Kind::Choice(&["all", "first"]),
                default: Some("all"),
                doc: "with escape channels: whose adaptive channels a head asks for, of all shortest paths or of the one along the lowest dimension. The latter is what BookSim 2's min_adapt \
                      comes to: its set of outputs keeps one of each priority",
            },
        ],
    },
    build,
    bytes: super::no_table_bytes,
    least: super::no_least_bytes,
};

/// Most virtual channels.
const MOST: u32 = 16;

struct MinimalAdaptive {
    fabric: Arc<Fabric>,
    shape: GridShape,
    select: Select,
    /// Dimensions that decide the virtual network: those larger than 1 but the last.
    signed: Vec<usize>,
    /// Number of virtual networks: two to the power of the length of `signed`.
    networks: u8,
    /// Levels of channels.
    levels: u8,
    /// Coordinates of all routers, router by router.
    coordinates: Vec<u32>,
    /// Whether the sum of a router's coordinates is even.
    even: Column<RouterId, bool>,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Bound {
    super::intact(&ROUTING.about, &fabric)?;
    let shape = fabric
        .shape::<GridShape>()
        .cloned()
        .ok_or_else(|| super::unsuited(&ROUTING.about, fabric.topology(), &["mesh", "torus"]))?;
    let select = Select::from_values(values, SELECT.name);
    if values.text("deadlock") == "escape" {
        let outputs = if values.text("outputs") == "first" { 1 } else { usize::MAX };
        let escape =
            MinimalEscape::new(fabric, select, outputs).expect("it has the shape of a mesh or torus");
        return Ok(Box::new(escape));
    }
    let mut signed: Vec<usize> = (0..shape.dims.len()).filter(|&d| shape.dims[d] > 1).collect();
    let n = signed.len() as u32;
    signed.pop();
    let networks = 1u32.checked_shl(signed.len() as u32).unwrap_or(u32::MAX);
    let levels = if shape.wraps { n + 1 } else { 1 };
    if networks.saturating_mul(levels) > MOST {
        let message = format!(
            "`{}` would need {} virtual channels in {n} dimensions, more than {MOST}",
            ROUTING.about.name,
            networks.saturating_mul(levels)
        );
        let help = "shortest-path with `deadlock = \"hops\"` needs as many as the diameter";
        return Err(vec![Problem::new("algorithm", message).help(help)]);
    }
    let coordinates: Vec<Vec<u32>> =
        RouterId::first(fabric.routers()).map(|router| shape.coordinates(router.number())).collect();
    let even = coordinates.iter().map(|x| x.iter().sum::<u32>() % 2 == 0).collect();
    Ok(Box::new(MinimalAdaptive {
        select,
        signed,
        networks: networks as u8,
        levels: levels as u8,
        coordinates: coordinates.concat(),
        even,
        shape,
        fabric,
    }))
}

/// Ports and channels that a packet may take: at most one per dimension.
#[derive(Default)]
struct Steps {
    list: [(PortId, ChannelId); 32],
    count: u32,
}

impl MinimalAdaptive {
    /// Whether a packet goes up from coordinate `from` to `to_x` of dimension `d`, on its way to router `to`.
    fn up(&self, d: usize, from: u32, to_x: u32, to: RouterId) -> bool {
        if !self.shape.wraps {
            return to_x > from;
        }
        let size = self.shape.dims[d];
        let ahead = if to_x > from { to_x - from } else { to_x + size - from };
        2 * ahead < size || (2 * ahead == size && self.even[to])
    }

    fn steps(&self, hop: &Hop, to: RouterId) -> Steps {
        let n = self.shape.dims.len();
        let row = |router: RouterId| &self.coordinates[router.index() * n..][..n];
        let (here, there) = (row(hop.router), row(to));
        let (level, network) = if hop.visited > 0 {
            (hop.vc.number() / self.networks, hop.vc.number() % self.networks)
        } else {
            let ups = self.signed.iter().map(|&d| here[d] != there[d] && self.up(d, here[d], there[d], to));
            (0, ups.enumerate().map(|(bit, up)| u8::from(up) << bit).sum())
        };
        let mut steps = Steps::default();
        for d in (0..n).filter(|&d| here[d] != there[d]) {
            let up = self.up(d, here[d], there[d], to);
            let crosses = self.shape.wraps && here[d] == if up { self.shape.dims[d] - 1 } else { 0 };
            let vc = (level + u8::from(crosses)) * self.networks + network;
            steps.list[steps.count as usize] =
                (PortId::new(2 * d as u32 + u32::from(up)), ChannelId::new(vc));
            steps.count += 1;
        }
        steps
    }
}

impl Routing for MinimalAdaptive {
    fn vcs(&self) -> u8 {
        self.networks * self.levels
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let (to, ejection) = self.fabric.attached(hop.destination);
        if to == hop.router {
            return Choice { port: ejection, vc: ChannelId::FIRST, state: 0 };
        }
        let steps = self.steps(hop, to);
        let list = &steps.list[..steps.count as usize];
        let chosen = self.select.choose(steps.count, |i| list[i as usize], hop, congestion);
        let (port, vc) = list[chosen as usize];
        Choice { port, vc, state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let (to, ejection) = self.fabric.attached(hop.destination);
        if to == hop.router {
            out.push(Choice { port: ejection, vc: ChannelId::FIRST, state: 0 });
            return;
        }
        let steps = self.steps(hop, to);
        let list = &steps.list[..steps.count as usize];
        out.extend(list.iter().map(|&(port, vc)| Choice { port, vc, state: 0 }));
    }

    fn facts(&self) -> Facts {
        self.select.facts()
    }

    fn unread(&self) -> Vec<Unread> {
        Unread::all("routing", &["outputs"], "without escape channels a head asks for one output")
    }

    fn memory(&self, _: &Hop) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{deadlock, metrics::distances, registry::values, routing::testing};
    use base::sorted::{SortedMap, SortedSet};

    fn bind(fabric: &Arc<Fabric>) -> Bound {
        build(fabric.clone(), &values(ROUTING.about.params, &[]))
    }

    #[test]
    fn channels_are_as_many_as_stated_and_free_of_deadlock() {
        let cases: [(bool, &'static [u64], u8); 7] = [
            (false, &[6], 1),
            (false, &[4, 5], 2),
            (false, &[3, 1, 3, 3], 4),
            (true, &[5], 2),
            (true, &[5, 4], 6),
            (true, &[2, 4], 6),
            (true, &[4, 3, 3], 16),
        ];
        for (wraps, dims, vcs) in cases {
            let fabric = testing::grid(wraps, dims);
            let routing = bind(&fabric).unwrap();
            assert_eq!(routing.vcs(), vcs, "{dims:?}");
            let report = deadlock::check(&fabric, routing.as_ref(), u64::MAX);
            assert!(report.is_free(), "{dims:?}: {report}");
        }
        let problem = &bind(&testing::grid(true, &[3, 3, 3, 3])).err().unwrap()[0];
        assert!(problem.message.contains("40 virtual channels"), "{}", problem.message);
    }

    #[test]
    fn all_shortest_paths_of_a_mesh_may_be_taken() {
        let fabric = testing::grid(false, &[3, 4]);
        let routing = bind(&fabric).unwrap();
        // From one corner to the other: 5 links, 2 of them along dimension 0, so 10 paths.
        let next_ports: SortedSet<Vec<PortId>> = (0..2000)
            .map(|seed| {
                let mut hop = testing::hop(&fabric, 0, 11, seed);
                let mut path = Vec::new();
                while hop.router != RouterId::new(11) {
                    let choice = routing.route(&mut hop, &mut testing::Backlogs(SortedMap::new()));
                    path.push(choice.port);
                    hop.router = fabric.next_router(hop.router, choice.port).unwrap();
                    (hop.visited, hop.vc) = (hop.visited + 1, choice.vc);
                }
                path
            })
            .collect();
        assert_eq!(next_ports.len(), 10);
    }

    #[test]
    fn the_busier_dimension_is_left_for_later() {
        let fabric = testing::grid(true, &[5, 5]);
        let routing = bind(&fabric).unwrap();
        for (busy, free) in [(1, 3), (3, 1)] {
            let mut congestion = testing::Backlogs(SortedMap::from([(busy, 64)]));
            let choice = routing.route(&mut testing::hop(&fabric, 0, 12, 1), &mut congestion);
            assert_eq!(choice.port, PortId::new(free));
        }
        for (s, d) in testing::pairs(&fabric) {
            let links = testing::path(&fabric, routing.as_ref(), s, d, 1).len() as u32 - 1;
            assert_eq!(links, distances(&fabric, RouterId::new(s))[RouterId::new(d)]);
        }
    }
}
