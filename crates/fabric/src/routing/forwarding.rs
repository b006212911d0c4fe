//! Routing by forwarding tables: those of an imported cluster, or those that a routing engine computes for any topology.

use super::{Choice, Congestion, Facts, Hop, Routing, intact};
use crate::{
    engines::{self, ENGINES, Options},
    graph::Fabric,
    routing::entry::{Bound, RoutingEntry},
    subnet::{Lost, NONE, Subnet},
    topology::imported::{ImportedShape, TABLES, network},
};
use base::{
    index::{ChannelId, PortId},
    param::{Kind, Param, Problem, Unread, Values},
    registry::{About, find, nearest},
};
use std::sync::Arc;

/// The registered routing.
pub const ROUTING: RoutingEntry = RoutingEntry {
    about: About {
        name: "forwarding",
        summary: "any topology: forwarding tables of a cluster's files or of a routing engine",
        doc: "Each router has one port per destination, as InfiniBand's linear forwarding tables. `engine = \"auto\"`: the tables of topology \
              `imported`; if its files have none, and on other topologies, those of `updn`. Any other word names an engine \
              (`netloom list engines`). A host's first local identifier is used. Engines compute their tables on what \
              failed links leave; files must fit it. `deadlock = \"given\"`: virtual channels are the lanes that \
              files or engine give (service level and map), or one if they give none; paths for which files give no level use level 0. Whether that is free of deadlock is checked \
              before a run. `layers`: pairs of routers are put on the lowest lanes that stay free of cycles, whatever was given. \
              Memory: four bytes per router and terminal, with lanes one more per pair of terminals.",
        source: "InfiniBand Architecture Specification, volume 1, 14.2.5 (linear forwarding tables), 7.6.6 (service level to lane); \
                 OpenSM, doc/current-routing.txt",
        params: &[
            Param {
                name: "engine",
                kind: Kind::Text,
                default: Some("auto"),
                doc: "`auto`, or the engine that computes the tables",
            },
            Param {
                name: "deadlock",
                kind: Kind::Choice(&["given", "layers"]),
                default: Some("given"),
                doc: "whose lanes: of files or engine, or assigned by layers",
            },
            Param {
                name: "max_vcs",
                kind: Kind::Int { min: 1, max: 16 },
                default: Some("8"),
                doc: "lanes that engines and layers may use at most",
            },
        ],
    },
    build,
    bytes: |fabric, _| {
        let (routers, terminals) = (u64::from(fabric.routers()), u64::from(fabric.terminals()));
        routers * terminals * 4 + terminals * terminals
    },
    least: super::no_least_bytes,
};

struct Forwarding {
    subnet: Arc<Subnet>,
    /// Port by host and router.
    next: Vec<u16>,
    /// Host by terminal; [`NONE`] for those that are cut off.
    host: Vec<u32>,
    fabric: Arc<Fabric>,
    vcs: u8,
    unread: Vec<Unread>,
}

fn build(fabric: Arc<Fabric>, values: &Values) -> Bound {
    let subnet = tables(&fabric, values)?;
    let tables = subnet.tables.as_ref().expect("files or an engine gave tables");
    let mut host = vec![NONE; fabric.terminals() as usize];
    for (h, terminal) in (0u32..).zip(fabric.reachable()) {
        host[terminal.index()] = h;
    }
    let routers = fabric.routers() as usize;
    let mut next = Vec::with_capacity(subnet.hosts.len() * routers);
    for h in 0..subnet.hosts.len() as u32 {
        let row = tables.row(h, 0) as usize * routers;
        let port =
            |&edge: &u32| if edge == NONE { u16::MAX } else { (subnet.edges[edge as usize].port - 1) as u16 };
        next.extend(tables.next[row..row + routers].iter().map(port));
    }
    let vcs = vcs(&subnet)?;
    let unread = unread(values);
    Ok(Box::new(Forwarding { next, host, vcs, subnet: Arc::new(subnet), fabric, unread }))
}

/// True if this is the routing that goes by the tables and lanes of a cluster's files, if they have some.
#[must_use]
pub fn follows_files(entry: &RoutingEntry, values: &Values) -> bool {
    entry.about.name == ROUTING.about.name
        && values.text("engine") == "auto"
        && values.text("deadlock") == "given"
}

/// Files of a cluster that these values leave aside.
fn unread(values: &Values) -> Vec<Unread> {
    let engine = values.text("engine");
    if engine != "auto" {
        let why = format!(
            "`engine = \"{engine}\"` of [routing] computes other tables: leave it out to follow these"
        );
        return Unread::all("fabric", &TABLES, why);
    }
    let layers = values.text("deadlock") == "layers";
    let why = "`deadlock = \"layers\"` of [routing] assigns other lanes";
    if layers { Unread::all("fabric", &TABLES[1..], why) } else { Vec::new() }
}

/// The subnet with the tables and lanes that are asked for.
fn tables(fabric: &Arc<Fabric>, values: &Values) -> Result<Subnet, Vec<Problem>> {
    let name = values.text("engine");
    let options = Options { lanes: values.u32("max_vcs") as u8, ..Options::default() };
    let imported = fabric.shape::<ImportedShape>().map(|shape| &shape.subnet).filter(|s| s.tables.is_some());
    let subnet = match imported {
        Some(subnet) if name == "auto" => {
            let help = "`engine = \"updn\"`, or another, computes tables around them; or give the tables of what is left";
            intact(&ROUTING.about, fabric)
                .map_err(|problems| problems.into_iter().map(|p| p.help(help)).collect::<Vec<_>>())?;
            Subnet::clone(subnet)
        }
        _ => {
            let name = if name == "auto" { "updn" } else { name.as_str() };
            let Some(engine) = find(ENGINES, name).filter(|e| !e.by_source) else {
                let near = nearest(name, ENGINES.iter().filter(|e| !e.by_source).map(|e| e.about.name));
                let problem =
                    Problem::new("engine", format!("there is no engine `{name}` with tables by destination"));
                let help = near.first().map_or_else(
                    || "see `netloom list engines`".to_owned(),
                    |n| format!("did you mean `{n}`?"),
                );
                return Err(vec![problem.help(help)]);
            };
            engines::route(&network(fabric), engine, &options)?
        }
    };
    if values.text("deadlock") == "layers" { engines::relayer(subnet, options.lanes) } else { Ok(subnet) }
}

/// Lanes in use; refuses tables with holes.
fn vcs(subnet: &Subnet) -> Result<u8, Vec<Problem>> {
    let tables = subnet.tables.as_ref().expect("there are tables");
    let hosts = subnet.hosts.len() as u32;
    let mut path = Vec::new();
    let mut most = 0;
    for target in 0..hosts {
        let row = tables.row(target, 0);
        for source in (0..hosts).filter(|&s| s != target) {
            path.clear();
            let name = |h: u32| subnet.label(subnet.hosts[h as usize]);
            if let Err(lost) = tables.carry(subnet, source, row, &mut path) {
                let what = if matches!(lost, Lost::Dropped(_)) { "lanes carry" } else { "tables lead" };
                let message = format!("the {what} no message from {} to {}", name(source), name(target));
                return Err(vec![
                    Problem::new("algorithm", message).help("`netloom fabric verify` says more"),
                ]);
            }
            let Some(lanes) = &subnet.lanes else { continue };
            let sl = lanes.level(subnet, row, source);
            for pair in path.windows(2) {
                let (into, out) = (subnet.edges[pair[0] as usize], subnet.edges[pair[1] as usize]);
                if !subnet.is_host(out.from) && !subnet.is_host(out.to) {
                    most = most.max(lanes.lane(subnet, subnet.place(out.from), into.to_port, out.port, sl));
                }
            }
        }
    }
    Ok(most + 1)
}

impl Forwarding {
    #[inline]
    fn decide(&self, hop: &Hop) -> Choice {
        let host = self.host[hop.destination.index()];
        let port = self.next[host as usize * self.fabric.routers() as usize + hop.router.index()];
        let port = u32::from(port);
        let vc = match &self.subnet.lanes {
            Some(lanes) if hop.router != self.fabric.router_at(hop.destination) => {
                let row = host * self.subnet.tables.as_ref().map_or(1, |t| t.planes);
                let sl = lanes.level(&self.subnet, row, self.host[hop.source.index()]);
                lanes.lane(&self.subnet, hop.router.number(), hop.in_port.number() + 1, port + 1, sl)
            }
            _ => 0,
        };
        Choice { port: PortId::new(port), vc: ChannelId::new(vc), state: 0 }
    }
}

impl Routing for Forwarding {
    fn vcs(&self) -> u8 {
        self.vcs
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

    fn unread(&self) -> Vec<Unread> {
        self.unread.clone()
    }

    fn memory(&self, hop: &Hop) -> u64 {
        let Some(lanes) = &self.subnet.lanes else { return 0 };
        let row = self.host[hop.destination.index()] * self.subnet.tables.as_ref().map_or(1, |t| t.planes);
        u64::from(lanes.level(&self.subnet, row, self.host[hop.source.index()]))
    }
}
