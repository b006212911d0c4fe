//! Routing engines: forwarding tables for any fabric, as a subnet manager computes them.
//!
//! An engine fills one port per (destination, router): the path to a destination depends on where a message is, not on where it came
//! from. Deadlock-free engines that need it also put every pair of routers on a lane; the lane is the service level, and every switch maps
//! it to itself (torus: by dimension). What an engine claims, [`Engine::free`], is checked by [`crate::verify`] in tests.
//!
//! Engines work on a [`Fabric`]; [`route`] takes a subnet's and gives tables back to it, with paths to switches added. Hosts are
//! taken switch by switch, switches with more hosts first, and by port: the order of OpenSM, on which balancing depends. Switches with equally
//! many come in the order of their GUIDs read backwards, byte by byte, as OpenSM's table has them.

mod hops;
mod job;
mod layered;
mod nue;
mod roots;
mod sssp;
mod torus;
mod trees;

use crate::{
    graph::{Fabric, Peer},
    subnet::{Lanes, MAX_ENTRIES, NONE, Subnet, Tables},
};
use base::{
    index::{RouterId, TerminalId},
    param::Problem,
    registry::{About, Registered},
};
pub use job::Options;
use job::{Job, NO_PORT, Ports};
use std::sync::Arc;

/// A routing engine.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Name and documentation.
    pub about: About,
    /// Paths are free of credit loops on (link, lane), on every fabric that it routes.
    pub free: bool,
    /// Paths are those of `route` backwards: they depend on the source, and tables of destinations cannot hold them.
    pub by_source: bool,
    route: fn(&Job<'_>) -> Result<Ports, Problem>,
}

impl Registered for Engine {
    fn about(&self) -> &About {
        &self.about
    }
}

const OPENSM: &str = "OpenSM, doc/current-routing.txt";

/// What is known of an engine.
const fn about(name: &'static str, summary: &'static str, doc: &'static str, source: &'static str) -> About {
    About { name, summary, doc, source, params: &[] }
}

/// All routing engines that come with Netloom.
pub const ENGINES: &[Engine] = &[
    Engine {
        about: about(
            "minhop",
            "shortest paths, evenly over ports",
            "At every router the port on a shortest path that carries fewest destinations so far, the lowest of equals. Several identifiers of a host take different routers, then different ports, where they can. Can deadlock on anything but trees.",
            OPENSM,
        ),
        free: false,
        by_source: false,
        route: hops::minhop,
    },
    Engine {
        about: about(
            "updn",
            "up*/down*: no link up after a link down",
            "Routers are ranked by distance from the roots. A router that has a path down takes it, the others go up toward the nearest that has; of equal ports the one with fewest destinations. Unlike OpenSM's, a message never goes up again: free of deadlock on any fabric. Roots: as given; else of the routers farthest from hosts, those from which nearly all hosts are equally far, and those with no or few hosts the set that connects all hosts and loads the links most evenly; if none connects all, a single router near all hosts.",
            OPENSM,
        ),
        free: true,
        by_source: false,
        route: trees::updn,
    },
    Engine {
        about: about(
            "dnup",
            "as updn, ranked from the hosts",
            "Routers are ranked by distance from the nearest host, links between equal ranks count as level: for fabrics with hosts near the roots. Hosts that no such path connects take a path with more turns. Can deadlock where level links or turns close circles.",
            OPENSM,
        ),
        free: false,
        by_source: false,
        route: trees::dnup,
    },
    Engine {
        about: about(
            "ftree",
            "fat trees: every destination its own way down",
            "For every host in order the path up from its router is chosen at each level by the links down that carry fewest destinations; all others climb to it. On full trees shifts collide nowhere. Refuses what is no tree of levels.",
            "Zahavi, Johnson, Kerbyson, Lang: Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns, CCPE 2010; OpenSM",
        ),
        free: true,
        by_source: false,
        route: trees::ftree,
    },
    Engine {
        about: about(
            "d-mod-k",
            "fat trees: up by the digits of the destination's number",
            "At the l-th router of the path up, upward port number (d / ports passed) mod ports. Refuses what is no tree of levels.",
            "Zahavi: Fat-Tree Routing and Node Ordering, JPDC 2012",
        ),
        free: true,
        by_source: false,
        route: trees::dmodk,
    },
    Engine {
        about: about(
            "s-mod-k",
            "fat trees: up by the digits of the source's number",
            "The paths of d-mod-k backwards: what s sends to d goes the path that d-mod-k takes from d to s. Tables of destinations cannot hold it; static congestion can.",
            "Rodriguez et al.: Oblivious Routing Schemes in Extended Generalized Fat Tree Networks, CLUSTER 2009",
        ),
        free: true,
        by_source: true,
        route: trees::dmodk,
    },
    Engine {
        about: about(
            "dor",
            "dimension order: the lowest port on a shortest way",
            "Among parallel cables to the same router the least loaded. On meshes and tori whose ports are cabled in the order of dimensions this is dimension-order routing. Can deadlock on tori.",
            OPENSM,
        ),
        free: false,
        by_source: false,
        route: hops::dor,
    },
    Engine {
        about: about(
            "torus",
            "dimension order on tori, two lanes by datelines",
            "Ports of one number must lead in one direction at every router, so that the dimensions can be read off. The shorter direction in each dimension; a message that crosses the dateline of a dimension uses lane 1 there. Service level bit d says so.",
            "Dally, Seitz: Deadlock-Free Message Routing in Multiprocessor Interconnection Networks, IEEE TC 1987; OpenSM, torus-2QoS",
        ),
        free: true,
        by_source: false,
        route: torus::route,
    },
    Engine {
        about: about(
            "lash",
            "shortest paths, pairs of routers spread over lanes",
            "The lowest port on a shortest way, the same for all hosts of a router. Pairs go to the lowest lane that stays free of cycles.",
            "Skeie, Lysne, Theiss: Layered Shortest Path (LASH) Routing in Irregular System Area Networks, CAC 2002",
        ),
        free: true,
        by_source: false,
        route: layered::lash,
    },
    Engine {
        about: about(
            "sssp",
            "shortest paths, balanced over the whole fabric",
            "Host by host, each path avoids the links that carry most sources so far; never longer than shortest. Routers count as sources too, and of equal paths the first found counts, as in OpenSM: tables are the same. Can deadlock.",
            "Hoefler, Schneider, Lumsdaine: Optimized Routing for Large-Scale InfiniBand Networks, HotI 2009",
        ),
        free: false,
        by_source: false,
        route: sssp::sssp,
    },
    Engine {
        about: about(
            "dfsssp",
            "sssp on lanes without cycles",
            "The paths of sssp; pairs go to the lowest lane that stays free of cycles.",
            "Domke, Hoefler, Nagel: Deadlock-Free Oblivious Routing for Arbitrary Topologies, IPDPS 2011",
        ),
        free: true,
        by_source: false,
        route: layered::dfsssp,
    },
    Engine {
        about: about(
            "nue",
            "free of deadlock within any number of lanes",
            "Destinations are dealt to the lanes. Each is routed by links whose dependencies close no cycle with those before, avoiding loaded ones; where that leads nowhere, along a spanning tree whose dependencies are always kept free. Paths may be longer than shortest.",
            "Domke, Hoefler, Matsuoka: Routing on the Dependency Graph, HPDC 2016",
        ),
        free: true,
        by_source: false,
        route: nue::route,
    },
    Engine {
        about: about(
            "random",
            "shortest paths, a random port at each router",
            "Drawn once for every destination and router, by the seed. Can deadlock.",
            "the usual baseline",
        ),
        free: false,
        by_source: false,
        route: hops::random,
    },
];

/// Computes tables for a subnet. Hosts that cannot reach each other have no paths.
///
/// # Errors
/// If the subnet is no fabric, the engine does not suit it, or lanes do not suffice.
pub fn route(subnet: &Subnet, engine: &Engine, options: &Options) -> Result<Subnet, Vec<Problem>> {
    let fabric = Arc::new(subnet.fabric()?);
    let planes = 1u32 << options.lmc.min(7);
    let rows = u64::from(fabric.terminals()) * u64::from(planes) + u64::from(fabric.routers());
    if rows * u64::from(fabric.routers()) >= MAX_ENTRIES {
        let message = format!("tables of {rows} destinations at {} switches are too large", fabric.routers());
        return Err(vec![
            Problem::new("engine", message)
                .help("closed-form routings need no tables: use an experiment file"),
        ]);
    }
    let mut routers: Vec<RouterId> = RouterId::first(fabric.routers()).collect();
    routers.sort_by_key(|&r| subnet.nodes[subnet.switches[r.index()] as usize].guid.swap_bytes());
    let terminals = |&router: &RouterId| -> Vec<TerminalId> {
        let terminal = |p: &crate::graph::Port| match p.peer {
            Peer::Terminal(t) => Some(t),
            _ => None,
        };
        fabric.ports_of(router).iter().filter_map(terminal).collect()
    };
    let mut by_router: Vec<Vec<TerminalId>> = routers.iter().map(terminals).collect();
    by_router.sort_by_key(|hosts| std::cmp::Reverse(hosts.len()));
    let job = Job { fabric: &fabric, options, planes, routers, order: by_router.concat() };
    let ports = (engine.route)(&job).map_err(|p| vec![p])?;
    if ports.level.is_some() && !Lanes::fit(subnet, planes) {
        let message = format!("service levels of all pairs of {} hosts are too many", fabric.terminals());
        return Err(vec![Problem::new("engine", message)]);
    }
    let mut routed = subnet.bare();
    let mut tables = Tables::new(subnet, planes, true);
    let routers = subnet.switches.len();
    let mut edge = vec![Vec::new(); routers];
    for (list, &switch) in edge.iter_mut().zip(&subnet.switches) {
        *list = (1..=subnet.nodes[switch as usize].ports)
            .map(|p| subnet.edge_at(switch, p).unwrap_or(NONE))
            .collect();
    }
    for (slot, (i, &port)) in tables.next.iter_mut().zip(ports.next.iter().enumerate()) {
        if port != NO_PORT {
            *slot = edge[i % routers][usize::from(port)];
        }
    }
    hops::to_switches(subnet, &fabric, &mut tables, &edge);
    routed.lanes = lanes(subnet, &fabric, ports.level, ports.map, planes);
    routed.tables = Some(tables);
    Ok(routed)
}

/// The same tables with every pair of switches on the lowest lane that stays free of cycles.
///
/// # Errors
/// If the subnet is no fabric or has no tables, or more than `lanes` lanes were needed.
pub fn relayer(subnet: Subnet, lanes: u8) -> Result<Subnet, Vec<Problem>> {
    let fabric = Arc::new(subnet.fabric()?);
    let Some(tables) = &subnet.tables else {
        return Err(vec![Problem::new("engine", "there are no tables to be put on lanes")]);
    };
    let options = Options { lanes, ..Options::default() };
    let job = Job {
        fabric: &fabric,
        options: &options,
        planes: tables.planes,
        routers: Vec::new(),
        order: Vec::new(),
    };
    let hosts = job.blank().len();
    let port =
        |&edge: &u32| if edge == NONE { NO_PORT } else { (subnet.edges[edge as usize].port - 1) as u16 };
    let next = tables.next[..hosts].iter().map(port).collect();
    let ports =
        layered::layer(&job, Ports { next, level: None, map: None }, "layers").map_err(|p| vec![p])?;
    let lanes = self::lanes(&subnet, &fabric, ports.level, None, tables.planes);
    let mut layered = subnet;
    layered.lanes = lanes;
    Ok(layered)
}

fn lanes(
    subnet: &Subnet,
    fabric: &Fabric,
    level: Option<Vec<u8>>,
    map: Option<Vec<Vec<[u8; 16]>>>,
    planes: u32,
) -> Option<Lanes> {
    let level = level?;
    let mut lanes = Lanes::new(subnet, planes);
    let (hosts, routers) = (subnet.hosts.len(), fabric.routers() as usize);
    for row in 0..hosts * planes as usize {
        for host in 0..hosts {
            lanes.sl[row * hosts + host] = level[row * routers + fabric.attachments()[host].0.index()];
        }
    }
    lanes.map = map.unwrap_or(lanes.map);
    Some(lanes)
}

#[cfg(test)]
mod tests;
