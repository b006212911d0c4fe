//! Up*/down* routing: any graph, one virtual channel.
//!
//! All routers are put in one order, beginning with a root, in which each has a neighbour before it. A link leads *up*
//! if it leads to a router earlier in the order. A path is legal if it never goes up after it went down: then no cycle of
//! links can form, and over the root every router reaches every other. Packets take shortest legal paths.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    select::{SELECT, Select},
    table::{self, Table},
};
use crate::{
    graph::Fabric,
    metrics::distances,
    routing::entry::{Bound, RoutingEntry},
};
use base::{
    index::{ChannelId, Column, LinkId, PortId, RouterId},
    param::{Kind, Param, Problem, Value, Values},
    registry::About,
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "up-down",
        summary: "any topology: up*/down* over a spanning tree, free of deadlock with one virtual channel",
        doc: "Routers are numbered by a walk from the root: breadth first (`tree = \"bfs\"`) or depth first (`dfs`). A \
              link leads up if it leads to a lower number. A packet takes no link up after a link down; among all \
              such paths it takes a shortest, so routes may be longer than the graph's distance, and links near the \
              root carry more than others. At each router `select` chooses among all ports on shortest legal paths; \
              the choice depends only on whether the packet came down already. `root = \"centre\"` is the \
              router with the smallest sum of distances to all routers that have terminals (the lowest number if equal). \
              Failed links are avoided; terminals that cannot reach each other are refused. Memory: at \
              least 16 bytes per pair of a router with terminals and a router; at most 2^31 entries.",
        source: "Schroeder et al.: Autonet: A High-speed, Self-configuring Local Area Network Using Point-to-point \
                 Links, IEEE JSAC 1991; depth-first trees: Sancho, Robles, Duato: A New Methodology to Compute \
                 Deadlock-Free Routing Tables for Irregular Networks, CANPC 2000",
        params: &[
            SELECT,
            Param {
                name: "tree",
                kind: Kind::Choice(&["bfs", "dfs"]),
                default: Some("bfs"),
                doc: "walk that numbers the routers: breadth first or depth first",
            },
            Param {
                name: "root",
                kind: Kind::Text,
                default: Some("centre"),
                doc: "`centre`, or the number of a router in quotes",
            },
        ],
    },
    build,
    bytes: |fabric, _| table::bytes(fabric, 2),
    least: |sizes, _| table::least(sizes, 2),
};

/// Planes of the table: where up is still allowed, and where it is not.
const ANY: u32 = 0;
const DOWN: u32 = 1;

struct UpDown {
    fabric: Arc<Fabric>,
    table: Table,
    select: Select,
    /// By global port index: whether a packet that came in there came down.
    came_down: Column<LinkId, bool>,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Result<Box<dyn Routing>, Vec<Problem>> {
    table::connected(&fabric)?;
    let root = root(&fabric, &values.text("root"))?;
    reaches(&fabric, root)?;
    let rank =
        if values.text("tree") == "bfs" { breadth_first(&fabric, root) } else { depth_first(&fabric, root) };
    let table = legal(&fabric, &rank)?;
    let mut came_down = Column::filled(fabric.ports().len(), false);
    for router in RouterId::first(fabric.routers()) {
        for (port, peer) in fabric.neighbours(router) {
            came_down[fabric.port_index(router, port)] = rank[peer] < rank[router];
        }
    }
    Ok(Box::new(UpDown { fabric, table, select: Select::from_values(values, SELECT.name), came_down }))
}

/// A path around failures: up*/down* from any router to any terminal that is not cut off, one port per router and
/// destination, on one virtual channel and without state. Ask as at the first router ([`Hop::visited`] 0) where it
/// begins.
///
/// # Errors
/// If terminals that are not cut off cannot reach each other, or the table would be too large.
pub fn detour(fabric: Arc<Fabric>) -> Bound {
    let values = Values::default()
        .with(SELECT.name, Value::Text("static".to_owned()))
        .with("tree", Value::Text("bfs".to_owned()))
        .with("root", Value::Text("centre".to_owned()));
    build(fabric, &values)
}

/// The root that the user named, or the centre.
fn root(fabric: &Fabric, text: &str) -> Result<RouterId, Vec<Problem>> {
    if text != "centre" {
        return match text.parse() {
            Ok(root) if root < fabric.routers() => Ok(RouterId::new(root)),
            _ => Err(vec![
                Problem::new("root", format!("{text:?} is no router"))
                    .help(format!("`centre`, or \"0\" to \"{}\"", fabric.routers() - 1)),
            ]),
        };
    }
    let mut sums = vec![0u64; fabric.routers() as usize];
    for end in fabric.ends() {
        for (sum, distance) in sums.iter_mut().zip(distances(fabric, end).cells()) {
            *sum += u64::from(*distance);
        }
    }
    Ok(RouterId::first(fabric.routers()).min_by_key(|&r| (sums[r.index()], r)).unwrap_or_default())
}

/// Refuses a root without a path to the terminals, as a failed router has none.
fn reaches(fabric: &Fabric, root: RouterId) -> Result<(), Vec<Problem>> {
    let distance = distances(fabric, root);
    match fabric.ends().iter().find(|&&end| distance[end] == u32::MAX) {
        None => Ok(()),
        Some(end) => {
            let message = format!("router {root} has no path to router {end}: it cannot be the root");
            Err(vec![Problem::new("root", message).help("`centre` finds one that can")])
        }
    }
}

/// Number of each router in a breadth-first walk; routers that it cannot reach come last.
fn breadth_first(fabric: &Fabric, root: RouterId) -> Column<RouterId, u32> {
    let distance = distances(fabric, root);
    let mut order: Vec<RouterId> = RouterId::first(fabric.routers()).collect();
    order.sort_by_key(|&r| (distance[r], r));
    ranks(&order)
}

/// Number of each router in a depth-first walk that takes the unvisited neighbour on the lowest port; routers that it
/// cannot reach come last.
fn depth_first(fabric: &Fabric, root: RouterId) -> Column<RouterId, u32> {
    let mut seen = Column::filled(fabric.routers() as usize, false);
    let mut order = Vec::new();
    for start in std::iter::once(root).chain(RouterId::first(fabric.routers())) {
        let mut path = Vec::new();
        let mut next = (!seen[start]).then_some(start);
        loop {
            if let Some(router) = next {
                seen[router] = true;
                order.push(router);
                path.push(router);
            }
            let Some(&router) = path.last() else { break };
            next = fabric.neighbours(router).map(|(_, peer)| peer).find(|&peer| !seen[peer]);
            if next.is_none() {
                path.pop();
            }
        }
    }
    ranks(&order)
}

fn ranks(order: &[RouterId]) -> Column<RouterId, u32> {
    let mut rank = Column::filled(order.len(), 0);
    for (i, &router) in order.iter().enumerate() {
        rank[router] = i as u32;
    }
    rank
}

/// Lengths of the shortest legal paths to one router.
struct Lengths {
    /// Of ways that only go down; `u32::MAX` if there is none.
    down: Column<RouterId, u32>,
    /// Of all legal paths, those that first go up included; `u32::MAX` if there is none.
    any: Column<RouterId, u32>,
}

fn lengths(fabric: &Fabric, rank: &Column<RouterId, u32>, order: &[RouterId], to: RouterId) -> Lengths {
    let mut down = Column::filled(rank.len(), u32::MAX);
    down[to] = 0;
    let mut queue = vec![to];
    let mut head = 0;
    while let Some(&router) = queue.get(head) {
        head += 1;
        for (_, peer) in fabric.neighbours(router) {
            if rank[peer] < rank[router] && down[peer] == u32::MAX {
                down[peer] = down[router] + 1;
                queue.push(peer);
            }
        }
    }
    let mut any = down.clone();
    // Paths up lead to routers earlier in the order, whose lengths are known by then.
    for &router in order {
        for (_, peer) in fabric.neighbours(router).filter(|&(_, p)| rank[p] < rank[router]) {
            any[router] = any[router].min(any[peer].saturating_add(1));
        }
    }
    Lengths { down, any }
}

/// The table of all shortest legal paths.
fn legal(fabric: &Fabric, rank: &Column<RouterId, u32>) -> Result<Table, Vec<Problem>> {
    let mut table = Table::new(fabric, 2)?;
    let mut order: Vec<RouterId> = RouterId::first(fabric.routers()).collect();
    order.sort_unstable_by_key(|&r| rank[r]);
    let mut ports = Vec::new();
    for plane in [ANY, DOWN] {
        for to in table.ends.clone() {
            let Lengths { down, any } = lengths(fabric, rank, &order, to);
            for router in RouterId::first(fabric.routers()) {
                let here = if plane == ANY { any[router] } else { down[router] };
                let fits = |peer: RouterId| {
                    let is_down = rank[peer] > rank[router];
                    let there = if is_down { down[peer] } else { any[peer] };
                    (is_down || plane == ANY) && there.checked_add(1) == Some(here)
                };
                ports.clear();
                if router != to && here != u32::MAX {
                    ports.extend(fabric.neighbours(router).filter(|&(_, p)| fits(p)).map(|(port, _)| port));
                }
                table.push(&ports)?;
            }
        }
    }
    Ok(table)
}

/// Where a packet may go next.
enum NextPort<'a> {
    Out(PortId),
    Ports(&'a [PortId]),
}

impl UpDown {
    #[inline]
    fn path(&self, hop: &Hop) -> NextPort<'_> {
        let (router, port) = self.fabric.attached(hop.destination);
        if router == hop.router {
            return NextPort::Out(port);
        }
        // A packet may begin anywhere: where it came in does not matter at its first router.
        let came_in = self.fabric.port_index(hop.router, hop.in_port);
        let came_down = hop.visited > 0 && self.came_down[came_in];
        let plane = if came_down { DOWN } else { ANY };
        NextPort::Ports(self.table.ports(plane, self.table.end(router), hop.router))
    }
}

impl Routing for UpDown {
    fn vcs(&self) -> u8 {
        1
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let port = match self.path(hop) {
            NextPort::Out(port) => port,
            NextPort::Ports(ports) => self.select.port(ports, ChannelId::FIRST, hop, congestion),
        };
        Choice { port, vc: ChannelId::FIRST, state: 0 }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let choice = |port| Choice { port, vc: ChannelId::FIRST, state: 0 };
        match self.path(hop) {
            NextPort::Out(port) => out.push(choice(port)),
            NextPort::Ports(ports) => out.extend(ports.iter().copied().map(choice)),
        }
    }

    fn facts(&self) -> Facts {
        self.select.facts()
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

    fn bind(fabric: &Arc<Fabric>, sample: &[(&str, Constant)]) -> Result<Box<dyn Routing>, Vec<Problem>> {
        build(fabric.clone(), &values(ROUTING.about.params, sample))
    }

    #[test]
    fn a_ring_is_cut_opposite_to_its_root() {
        // With root 0 the order is 0, 1, 4, 2, 3: links 1-2, 4-3 lead down, 2-3 is level by number (2 before 3).
        let ring = testing::grid(true, &[5]);
        let routing = bind(&ring, &[("root", Constant::Text("0"))]).unwrap();
        let routers = |s, d| -> Vec<u32> {
            testing::path(&ring, routing.as_ref(), s, d, 0).iter().map(|step| step.0).collect()
        };
        assert_eq!(routers(1, 3), [1, 2, 3]);
        assert_eq!(routers(2, 4), [2, 1, 0, 4], "over router 3 it would go up after it went down");
        assert_eq!(routers(3, 1), [3, 2, 1]);
    }

    #[test]
    fn a_tree_rooted_at_its_top_is_routed_minimally() {
        let tree = testing::build("fat-tree", &[("k", Constant::Int(3)), ("levels", Constant::Int(2))]);
        let top = bind(&tree, &[("root", Constant::Text("3"))]).unwrap();
        for (s, d) in testing::pairs(&tree) {
            let expected = if s / 3 == d / 3 { 1 } else { 3 };
            assert_eq!(testing::path(&tree, top.as_ref(), s, d, 1).len(), expected, "{s} -> {d}");
        }
    }

    #[test]
    fn every_root_and_tree_is_free_of_deadlock_also_with_failed_links() {
        let mut torus = (*testing::grid(true, &[4, 3])).clone();
        for (router, port) in [(0, 1), (5, 3), (7, 0)] {
            testing::fail(&mut torus, router, port);
        }
        let torus = Arc::new(torus);
        for root in ["0", "3", "6", "11", "centre"] {
            for tree in ["bfs", "dfs"] {
                let sample = [("root", Constant::Text(root)), ("tree", Constant::Text(tree))];
                let routing = bind(&torus, &sample).unwrap();
                let report = deadlock::check(&torus, routing.as_ref(), u64::MAX);
                assert!(report.is_free(), "{root} {tree}: {report}");
                for (s, d) in testing::pairs(&torus) {
                    testing::path(&torus, routing.as_ref(), s, d, 3);
                }
            }
        }
    }

    #[test]
    fn a_root_must_be_a_router() {
        let ring = testing::grid(true, &[5]);
        for root in ["5", "center", "-1"] {
            let root: &'static str = root;
            let problem = &bind(&ring, &[("root", Constant::Text(root))]).err().unwrap()[0];
            assert_eq!(problem.key, "root");
        }
    }
}
