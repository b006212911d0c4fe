//! A cluster from its files: see [`crate::import`].

use super::Sizes;
use crate::{
    graph::Fabric,
    import,
    subnet::{Keep, Subnet},
    topology::entry::{Constant, Topology},
};
use base::{
    param::{Kind, Param, Problem, Value, Values},
    registry::About,
};
use std::sync::Arc;

const fn more(name: &'static str, doc: &'static str) -> Param {
    Param { name, kind: Kind::File, default: Some(""), doc }
}

/// Keys that name files, and which nodes take part.
const KEYS: [Param; 5] = [
    Param {
        name: "file",
        kind: Kind::File,
        default: None,
        doc: "nodes and cables: DOT, .net, ibnetdiscover (also -p), iblinkinfo, ibdiagnet2.db_csv or opensm-subnet.lst",
    },
    more("tables", "forwarding tables: opensm-lfts.dump, dump_fts or .fdbs; DOT has its own"),
    more("lanes", "lanes of service levels at switches: opensm-sl2vl.dump"),
    more("levels", "service levels of paths: `slid dlid sl` lines"),
    Param {
        name: "nodes",
        kind: Kind::Text,
        default: Some("hosts"),
        doc: "which end ports are terminals: `hosts`, `storage` (by its name), `aggregation` (SHARP), `routers`, several between commas, or `all`; others are left out with their cables",
    },
];

/// Keys of files with tables and their lanes, which routing `forwarding` alone follows.
pub const TABLES: [&str; 3] = ["tables", "lanes", "levels"];

/// The registered cluster.
pub const TOPOLOGY: Topology = Topology {
    about: About {
        name: "imported",
        summary: "a cluster from its files: ibnetdiscover, .net, DOT, with its forwarding tables",
        doc: "Switches are routers in the order of the file, port p being router port p - 1; hosts are terminals in the order of their \
              names, or of GUIDs if names are not unique. An adapter with several cables is several terminals. Files may be \
              packed by gzip. Tables are followed by routing `forwarding`; other routings find paths of their own. All cables \
              between switches are of class `link`: widths and rates in the files are reported by `netloom fabric import` and not taken \
              over.",
        source: "OpenSM, infiniband-diags, ibsim; ORCS, TR-675, section 2.1",
        params: &KEYS,
    },
    classes: crate::subnet::CLASSES,
    required: 2,
    sizes: |values| read(values).map(|subnet| sizes(&subnet)),
    build: |values| {
        let subnet = read(values)?;
        let fabric = subnet.fabric()?;
        Ok(fabric.with_shape(ImportedShape { subnet: Arc::new(subnet) }))
    },
    small: &[&[("file", Constant::Text(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/tree.dot")))]],
};

/// What a cluster's files say.
#[derive(Clone, Debug)]
pub struct ImportedShape {
    /// Names, GUIDs, tables and lanes.
    pub subnet: Arc<Subnet>,
}

/// The network of a fabric with names and GUIDs: those of its files if it was imported, as far as failures leave it, else its
/// image ([`Subnet::from_fabric`]). Tables are there only of a whole imported network.
#[must_use]
pub fn network(fabric: &Fabric) -> Subnet {
    let own = fabric.shape::<ImportedShape>().filter(|_| fabric.planes() == 1).map(|shape| &shape.subnet);
    let Some(subnet) = own else { return Subnet::from_fabric(fabric) };
    if fabric.intact() {
        return Subnet::clone(subnet);
    }
    subnet.left(fabric, &|t| fabric.is_cut_off(t)).unwrap_or_else(|_| Subnet::from_fabric(fabric))
}

fn sizes(subnet: &Subnet) -> Sizes {
    let ports = subnet.switches.iter().map(|&s| u64::from(subnet.nodes[s as usize].ports)).sum();
    Sizes { routers: subnet.switches.len() as u64, terminals: subnet.hosts.len() as u64, ports, ends: 0 }
}

fn read(values: &Values) -> Result<Subnet, Vec<Problem>> {
    let path = |param: &Param| match values.0.get(param.name) {
        Some(Value::Text(path)) if !path.is_empty() => Some(path.clone()),
        _ => None,
    };
    let paths: Vec<String> = KEYS.iter().filter(|key| key.kind == Kind::File).filter_map(path).collect();
    let keep = match values.0.get("nodes") {
        Some(Value::Text(kinds)) => Keep::parse(kinds).map_err(|e| vec![Problem::new("nodes", e)])?,
        _ => Keep::default(),
    };
    import::load_keeping(&paths, keep)
}
