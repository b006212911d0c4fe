//! Shortest paths on any graph, by tables made beforehand.
//!
//! Two kinds of table: *all* paths (every port on a shortest path, one plane), for decisions hop by hop; or
//! *predetermined* routes (one port per entry, a plane for each), for static choices and for source routing. Either gets
//! virtual channels by layers (see `layers`) or by counting hops.

use super::{
    Choice, Congestion, Facts, Hop, Routing,
    layers::{self, Layers, Refused},
    select::{self, SELECT, Select},
    table::{self, Table},
};
use crate::{graph::Fabric, paths::Steps, routing::entry::RoutingEntry};
use base::{
    index::{ChannelId, Column, PortId, RouterId},
    param::{Kind, Param, Problem, Unread, Values},
    registry::About,
};
use std::sync::Arc;

/// Most virtual channels of any routing of ours.
const MAX_VCS: u64 = 16;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "shortest-path",
        summary: "any topology: shortest paths by tables, deadlock-free by layers or hop counts",
        doc: "Distances add up the `weights` of link classes (each 1 if none are given). `decide = \"hop-by-hop\"`: each \
              router chooses among all its ports on shortest paths. `decide = \"source\"`: the first router chooses \
              among `routes` predetermined paths, and the packet keeps to it; adaptive choices then look at the first \
              router's ports only. With `select = \"static\"` both are the same: every pair of terminals has one of \
              the predetermined paths. Those are laid out, destination by destination, over the ports that carry the \
              fewest so far. `deadlock = \"layers\"`: all routes between two routers use one virtual channel, the \
              lowest that stays free of cycles. `deadlock = \"hops\"`: the virtual channel is the number of links \
              crossed so far. `auto` takes what needs fewer channels, layers if equal. When `max_vcs` do not suffice, \
              the cycle is reported. Failed links are avoided; terminals that cannot reach each other are refused. Memory: \
              at least 8 bytes per router with terminals, router and predetermined path; at most 2^31 entries.",
        source: "Denzel et al.: A Framework for End-to-End Simulation of High-performance Computing Systems, \
                 SIMUTools 2008, section 2.4; layers: Skeie, Lysne, Theiss: LASH, IPDPS 2002, and Domke, Hoefler, \
                 Nagel: Deadlock-Free Oblivious Routing for Arbitrary Topologies, IPDPS 2011; hop counts: Guenther, \
                 IEEE Trans. Comm. 1981",
        params: &[
            SELECT,
            Param {
                name: "decide",
                kind: Kind::Choice(&["hop-by-hop", "source"]),
                default: Some("hop-by-hop"),
                doc: "who chooses: each router its next port, or the first router the whole path",
            },
            Param {
                name: "routes",
                kind: Kind::Int { min: 1, max: 64 },
                default: Some("4"),
                doc: "predetermined paths per pair of routers, for `decide = \"source\"` and `select = \"static\"`; \
                      no effect on the other choices",
            },
            Param {
                name: "weights",
                kind: Kind::Ints { min: 1, max: 1000 },
                default: Some("[]"),
                doc: "length of a link of each class, in the order of the topology's link classes without `terminal`; \
                      none: each is 1",
            },
            DEADLOCK,
            MAX_VCS_PARAM,
        ],
    },
    build,
    bytes: |fabric, values| table::bytes(fabric, routes(values).max(1)),
    least: |sizes, values| table::least(sizes, routes(values).max(1)),
};

/// The `deadlock` key of routings by tables.
pub(crate) const DEADLOCK: Param = Param {
    name: "deadlock",
    kind: Kind::Choice(&["auto", "layers", "hops"]),
    default: Some("auto"),
    doc: "how virtual channels prevent deadlock: by layers of routes, by counting hops, or whichever needs fewer; on networks so \
          large that layers take long to find (2^32 steps), `auto` counts hops",
};

/// The `max_vcs` key of routings by tables.
pub(crate) const MAX_VCS_PARAM: Param = Param {
    name: "max_vcs",
    kind: Kind::Int { min: 1, max: MAX_VCS },
    default: Some("16"),
    doc: "virtual channels that the routing may use at most",
};

/// Virtual channels of routes by table.
pub(crate) enum Channels {
    /// Fixed for each pair of routers.
    Layers(Layers),
    /// The number of links crossed so far, with this many in all.
    Hops(u8),
}

impl Channels {
    /// How many are used.
    pub(crate) fn count(&self) -> u8 {
        match self {
            Self::Layers(layers) => layers.count,
            Self::Hops(count) => *count,
        }
    }

    /// The channel of the next link of a path of `plane` between the routers number `source` and `end` of the table;
    /// `vc` is that of the last link, if there was one: from then on `source` does not matter.
    #[inline]
    pub(crate) fn next(&self, vc: Option<ChannelId>, plane: u32, source: u32, end: u32) -> ChannelId {
        match (self, vc) {
            (Self::Layers(layers), None) => layers.of(plane, source, end),
            (Self::Layers(_), Some(vc)) => vc,
            (Self::Hops(_), None) => ChannelId::FIRST,
            (Self::Hops(_), Some(vc)) => vc.plus(1),
        }
    }
}

struct ShortestPath {
    fabric: Arc<Fabric>,
    table: Table,
    channels: Channels,
    select: Select,
    /// Predetermined paths; 0 if the table holds all paths.
    routes: u32,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Result<Box<dyn Routing>, Vec<Problem>> {
    let weights = weights(&fabric, values)?;
    let select = Select::from_values(values, SELECT.name);
    let routes = routes(values);
    let table = shortest(&fabric, &weights, routes)?;
    let most = values.u32("max_vcs") as u8;
    let channels = channels(&fabric, &table, &values.text("deadlock"), most, "max_vcs")?;
    Ok(Box::new(ShortestPath { fabric, table, channels, select, routes }))
}

/// Predetermined paths of a pair; 0 if all paths are kept.
fn routes(values: &Values) -> u32 {
    let fixed =
        Select::from_values(values, SELECT.name) == Select::Static || values.text("decide") == "source";
    if fixed { values.u32("routes") } else { 0 }
}

/// Weights by link class, the terminal class first.
fn weights(fabric: &Fabric, values: &Values) -> Result<Vec<u32>, Vec<Problem>> {
    let given = values.ints("weights");
    let classes = &fabric.classes()[1..];
    if given.is_empty() {
        return Ok(vec![1; fabric.classes().len()]);
    }
    if given.len() != classes.len() {
        let message = format!("{} weights for {} link classes", given.len(), classes.len());
        let names = if classes.is_empty() { "none".to_owned() } else { classes.join(", ") };
        return Err(vec![
            Problem::new("weights", message)
                .help(format!("link classes between routers of `{}`: {names}", fabric.topology())),
        ]);
    }
    Ok(std::iter::once(1).chain(given.iter().map(|&w| w as u32)).collect())
}

/// The table of all shortest paths (`routes` = 0) or of that many predetermined ones.
pub(crate) fn shortest(fabric: &Fabric, weights: &[u32], routes: u32) -> Result<Table, Vec<Problem>> {
    table::connected(fabric)?;
    let mut table = Table::new(fabric, routes.max(1))?;
    let ends = table.ends.clone();
    let mut load = Column::filled(fabric.ports().len(), 0u32);
    let (mut ports, steps) = (Vec::new(), Steps::new(fabric, weights));
    let mut distances = steps.distances();
    for plane in 0..routes.max(1) {
        for (i, &to) in ends.iter().enumerate() {
            steps.distances_to(to, &mut distances);
            for router in RouterId::first(fabric.routers()) {
                ports.clear();
                steps.next_ports(router, &distances, &mut ports);
                if routes > 0 && !ports.is_empty() {
                    let taken = |port: PortId| {
                        (0..plane).filter(|&p| table.ports(p, i as u32, router) == [port]).count()
                    };
                    let least = |&port: &PortId| (taken(port), load[fabric.port_index(router, port)], port);
                    let port = ports.iter().copied().min_by_key(least).unwrap_or(ports[0]);
                    load[fabric.port_index(router, port)] += 1;
                    ports = vec![port];
                }
                table.push(&ports)?;
            }
        }
    }
    Ok(table)
}

/// Links looked at in search of layers before `auto` counts hops, where that is possible: half a minute or so.
const LOOKS: u64 = 1 << 32;

/// Virtual channels for a table, at most `most`; `key` is what a user should look at when they do not suffice.
pub(crate) fn channels(
    fabric: &Fabric,
    table: &Table,
    deadlock: &str,
    most: u8,
    key: &str,
) -> Result<Channels, Vec<Problem>> {
    let hops = longest(fabric, table, if deadlock == "hops" { u32::MAX } else { most.into() }).max(1);
    let by_hops = deadlock != "layers" && hops <= u32::from(most);
    if by_hops && deadlock == "hops" {
        return Ok(Channels::Hops(hops as u8));
    }
    if deadlock == "hops" {
        let message =
            format!("the longest path has {hops} links, more than {most} virtual channels can count");
        return Err(vec![Problem::new(key, message)]);
    }
    let budget = if by_hops { LOOKS } else { u64::MAX };
    match layers::assign(fabric, table, if by_hops { hops as u8 } else { most }, budget) {
        Ok(layers) => Ok(Channels::Layers(layers)),
        Err(_) if by_hops => Ok(Channels::Hops(hops as u8)),
        Err(Refused { pair: (from, to), cycle }) => {
            let cycle: Vec<String> = cycle.iter().map(ToString::to_string).collect();
            let message = format!(
                "{most} virtual channels do not suffice: the paths from router {from} to router {to} would close the \
                 cycle {}",
                cycle.join(" -> ")
            );
            let hops = longest(fabric, table, u32::MAX);
            let help = format!("allow more, or route up-down; counting hops would need {hops}");
            Err(vec![Problem::new(key, message).help(help)])
        }
    }
}

/// Links on the longest path of a table; of one that is longer than `enough`, if there is such.
fn longest(fabric: &Fabric, table: &Table, enough: u32) -> u32 {
    let mut greatest = 0;
    let mut depth = Column::filled(fabric.routers() as usize, u32::MAX);
    let mut path = Vec::new();
    for row in 0..table.planes() * table.ends.len() as u32 {
        let (plane, end) = (row / table.ends.len() as u32, row % table.ends.len() as u32);
        depth.cells_mut().fill(u32::MAX);
        for &from in &table.ends {
            if depth[from] == u32::MAX {
                path.push(from);
                deepen(fabric, &mut path, &mut depth, |router| table.ports(plane, end, router));
            }
            greatest = greatest.max(depth[from]);
        }
        if greatest > enough {
            break;
        }
    }
    greatest
}

/// Links on the longest paths from the router of a path and those behind it, by depth-first search without recursion.
fn deepen<'a>(
    fabric: &Fabric,
    path: &mut Vec<RouterId>,
    depth: &mut Column<RouterId, u32>,
    ports: impl Fn(RouterId) -> &'a [PortId],
) {
    while let Some(&router) = path.last() {
        let before = path.len();
        let mut deepest = 0;
        for next in ports(router).iter().filter_map(|&p| fabric.next_router(router, p)) {
            match depth[next] {
                u32::MAX => path.push(next),
                known => deepest = deepest.max(known + 1),
            }
        }
        if path.len() == before {
            depth[router] = deepest;
            path.pop();
        }
    }
}

impl ShortestPath {
    /// Plane of a packet at its first router.
    fn plane(&self, hop: &mut Hop, end: u32, congestion: &mut dyn Congestion) -> u32 {
        match (self.select, self.routes) {
            (_, 0 | 1) => 0,
            (Select::Static, n) => (select::pair(hop) % u64::from(n)) as u32,
            (Select::Random, n) => hop.random.below(u64::from(n)) as u32,
            (Select::RoundRobin, n) => select::turn(hop, u64::from(n)) as u32,
            (Select::LeastQueue | Select::MostCredits, n) => {
                let vc = self.vc(hop, 0, end);
                let router = hop.router;
                self.select.choose(n, |p| (self.table.ports(p, end, router)[0], vc), hop, congestion)
            }
        }
    }

    /// Virtual channel of the next link.
    #[inline]
    fn vc(&self, hop: &Hop, plane: u32, end: u32) -> ChannelId {
        match hop.visited {
            0 => self.channels.next(None, plane, self.table.end(hop.router), end),
            _ => self.channels.next(Some(hop.vc), plane, 0, end),
        }
    }

    /// The plane that a packet carries.
    #[inline]
    fn kept(&self, hop: &Hop) -> u32 {
        if self.routes > 1 { hop.state } else { 0 }
    }

    /// The port out of the network, at the destination's router.
    #[inline]
    fn ejection(&self, hop: &Hop) -> Option<Choice> {
        let (router, port) = self.fabric.attached(hop.destination);
        (router == hop.router).then_some(Choice { port, vc: ChannelId::FIRST, state: 0 })
    }
}

impl Routing for ShortestPath {
    fn vcs(&self) -> u8 {
        self.channels.count()
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        if let Some(choice) = self.ejection(hop) {
            return choice;
        }
        let end = self.table.end(self.fabric.router_at(hop.destination));
        let plane = if hop.visited == 0 { self.plane(hop, end, congestion) } else { self.kept(hop) };
        let vc = self.vc(hop, plane, end);
        let ports = self.table.ports(plane, end, hop.router);
        Choice { port: self.select.port(ports, vc, hop, congestion), vc, state: plane }
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        if let Some(choice) = self.ejection(hop) {
            out.push(choice);
            return;
        }
        let end = self.table.end(self.fabric.router_at(hop.destination));
        let planes = match (hop.visited, self.select) {
            (0, Select::Static) => {
                let plane = (select::pair(hop) % u64::from(self.routes)) as u32;
                plane..plane + 1
            }
            (0, _) => 0..self.routes.max(1),
            _ => self.kept(hop)..self.kept(hop) + 1,
        };
        for plane in planes {
            let vc = self.vc(hop, plane, end);
            let ports = self.table.ports(plane, end, hop.router);
            out.extend(ports.iter().map(|&port| Choice { port, vc, state: plane }));
        }
    }

    fn unread(&self) -> Vec<Unread> {
        if self.routes > 0 {
            return Vec::new();
        }
        let why = "only `decide = \"source\"` and `select = \"static\"` have predetermined paths";
        Unread::all("routing", &["routes"], why)
    }

    fn facts(&self) -> Facts {
        Facts {
            stateful: self.routes > 1,
            oblivious: self.select.oblivious(),
            terminals_alike: self.select != Select::Static || self.routes == 1,
            ..Facts::ADAPTIVE
        }
    }

    fn memory(&self, hop: &Hop) -> u64 {
        // Later on, state and VC determine all; at the first router the pair does if the choice is static.
        match self.select {
            Select::Static if hop.visited == 0 => select::pair(hop) % u64::from(self.routes),
            _ => 0,
        }
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

    const STATIC: (&str, Constant) = ("select", Constant::Text("static"));
    const SOURCE: (&str, Constant) = ("decide", Constant::Text("source"));

    #[test]
    fn source_and_hop_by_hop_routing_by_one_table_are_the_same() {
        for fabric in [testing::grid(true, &[4, 5]), testing::dragonfly([9, 4, 2, 2])] {
            let at_source = bind(&fabric, &[STATIC, SOURCE]).unwrap();
            let by_hops = bind(&fabric, &[STATIC]).unwrap();
            let single = [SOURCE, ("routes", Constant::Int(1))];
            let (one, drawn) = (bind(&fabric, &single).unwrap(), bind(&fabric, &[SOURCE]).unwrap());
            let mut differ = 0;
            for (s, d) in testing::pairs(&fabric) {
                let path = |routing: &dyn Routing, seed| testing::path(&fabric, routing, s, d, seed);
                assert_eq!(path(at_source.as_ref(), 1), path(by_hops.as_ref(), 2), "{s} -> {d}");
                assert_eq!(path(one.as_ref(), 1), path(one.as_ref(), 2), "{s} -> {d}");
                differ +=
                    usize::from((2..9).any(|seed| path(drawn.as_ref(), 1) != path(drawn.as_ref(), seed)));
            }
            assert!(differ > 0, "source routing draws among several paths");
        }
    }

    #[test]
    fn a_source_route_chosen_by_number_follows_its_own_plane() {
        let fabric = testing::grid(false, &[3, 3]);
        let routing = bind(&fabric, &[SOURCE, ("routes", Constant::Int(2))]).unwrap();
        let mut options = Vec::new();
        routing.options(&testing::hop(&fabric, 0, 8, 0), &mut options);
        let (a, b) = (options[0], options[1]);
        assert_eq!(options.len(), 2);
        assert_ne!(a.port, b.port, "the second path begins elsewhere");
        assert_eq!((a.state, b.state), (0, 1));
    }

    #[test]
    fn a_mesh_needs_few_layers_and_a_ring_more_than_one() {
        let mesh = testing::grid(false, &[5]);
        assert_eq!(bind(&mesh, &[]).unwrap().vcs(), 1);
        let ring = testing::grid(true, &[5]);
        assert_eq!(bind(&ring, &[("deadlock", Constant::Text("layers"))]).unwrap().vcs(), 2);
        assert_eq!(bind(&ring, &[("deadlock", Constant::Text("hops"))]).unwrap().vcs(), 2);
        let problem = &bind(&ring, &[("max_vcs", Constant::Int(1))]).err().unwrap()[0];
        assert_eq!(problem.key, "max_vcs");
        assert_eq!(problem.message.matches(" -> ").count(), 4, "{}", problem.message);
    }

    #[test]
    fn larger_networks_stay_free_of_deadlock() {
        for fabric in [testing::grid(true, &[8, 8]), testing::dragonfly([9, 4, 2, 2])] {
            for deadlock in ["layers", "hops"] {
                let routing = bind(&fabric, &[("deadlock", Constant::Text(deadlock))]).unwrap();
                let report = deadlock::check(&fabric, routing.as_ref(), u64::MAX);
                assert!(report.is_free(), "{} {deadlock}: {report}", fabric.topology());
            }
        }
    }

    #[test]
    fn weights_need_one_entry_per_class() {
        let fabric = testing::dragonfly([9, 4, 2, 2]);
        let problem = &bind(&fabric, &[("weights", Constant::Ints(&[1]))]).err().unwrap()[0];
        assert_eq!(problem.key, "weights");
        assert!(problem.help.as_ref().unwrap().contains("local, global"));
        assert!(bind(&fabric, &[("weights", Constant::Ints(&[1, 3]))]).is_ok());
    }

    #[test]
    fn failed_links_are_avoided_and_lost_pairs_refused() {
        let mut ring = (*testing::grid(true, &[5])).clone();
        testing::fail(&mut ring, 0, 1);
        let ring = Arc::new(ring);
        let routing = bind(&ring, &[]).unwrap();
        assert_eq!(testing::path(&ring, routing.as_ref(), 0, 1, 0).len(), 5);
        let mut cut = (*ring).clone();
        testing::fail(&mut cut, 2, 1);
        let problem = &bind(&Arc::new(cut), &[]).err().unwrap()[0];
        assert!(
            problem.message.starts_with("no path between terminal 0 and terminals 1, 2: 2 of 5"),
            "{}",
            problem.message
        );
    }
}
