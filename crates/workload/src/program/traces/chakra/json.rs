//! The JSON form: an object with a list `workload_graph`, whose nodes have their attributes as keys.

use super::node::{COLLECTIVE, Comm, METADATA, Node, RECV, SEND, collective_of, control, groups_of};
use crate::program::{Damage, place::Place, traces::files};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    workload_graph: Vec<Written>,
}

/// A node as it is written. Keys that do not matter are passed over.
#[derive(Deserialize)]
struct Written {
    #[serde(rename = "Id")]
    id: u64,
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "NodeType")]
    kind: u64,
    #[serde(default)]
    data_deps: Vec<u64>,
    #[serde(default)]
    ctrl_deps: Vec<u64>,
    #[serde(default)]
    runtime: u64,
    #[serde(default)]
    num_ops: u64,
    #[serde(default)]
    is_cpu_op: bool,
    comm_type: Option<u64>,
    comm_size: Option<u64>,
    comm_src: Option<u32>,
    comm_dst: Option<u32>,
    #[serde(default)]
    comm_tag: u32,
    #[serde(default)]
    root: u32,
    pg_name: Option<String>,
    #[serde(default)]
    inputs: String,
}

/// Reads the file of a rank.
pub(super) fn read(file: &Place) -> Result<Vec<Node>, Damage> {
    let damage = |e: &dyn std::fmt::Display| Damage(format!("{file}: {e}"));
    let reader = files::open(file).map_err(|e| damage(&e))?;
    let read: File = serde_json::from_reader(reader).map_err(|e| damage(&e))?;
    Ok(read.workload_graph.into_iter().map(node).collect())
}

fn node(n: Written) -> Node {
    let communicates = matches!(n.kind, SEND | RECV | COLLECTIVE);
    let comm = || Comm {
        collective: n.comm_type.or_else(|| collective_of(&n.name)),
        bytes: n.comm_size,
        source: n.comm_src,
        destination: n.comm_dst,
        tag: n.comm_tag,
        root: n.root,
        group: n.pg_name.filter(|name| !name.is_empty()),
    };
    let tells = n.kind == METADATA && n.name.contains("process_group:init");
    Node {
        id: n.id,
        kind: n.kind,
        control: control(&n.ctrl_deps, &n.data_deps),
        after: n.data_deps,
        micros: n.runtime,
        operations: n.num_ops,
        host: n.is_cpu_op,
        comm: communicates.then(|| Box::new(comm())),
        groups: if tells { groups_of(&n.inputs) } else { Some(Vec::new()) },
    }
}
