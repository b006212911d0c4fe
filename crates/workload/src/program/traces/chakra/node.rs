//! Nodes of both forms, and an order in which they can be done.

use crate::program::traces::words::{bytes, computation};
use base::sorted::{SortedMap, SortedSet};
use std::{cmp::Reverse, collections::BinaryHeap};

/// A node, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    pub(super) id: u64,
    /// Chakra's number of its type.
    pub(super) kind: u64,
    /// Nodes whose data it needs, by id; after [`order`] by place.
    pub(super) after: Vec<u64>,
    /// How many control dependencies it has on other nodes than those.
    pub(super) control: u64,
    /// Recorded time in microseconds.
    pub(super) micros: u64,
    /// Operations that it does.
    pub(super) operations: u64,
    /// Done by the host's processor.
    pub(super) host: bool,
    /// What a communication node moves.
    pub(super) comm: Option<Box<Comm>>,
    /// Process groups that it lists, with their ranks. A list without ranks leaves it to those who name the group. `None` if the list cannot be read.
    pub(super) groups: Option<Vec<(String, Vec<u32>)>>,
}

/// Attributes of communication.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Comm {
    /// Chakra's number of the collective.
    pub(super) collective: Option<u64>,
    pub(super) bytes: Option<u64>,
    pub(super) source: Option<u32>,
    pub(super) destination: Option<u32>,
    pub(super) tag: u32,
    pub(super) root: u32,
    pub(super) group: Option<String>,
}

/// How many of the control dependencies are none of data.
pub(super) fn control(control: &[u64], data: &[u64]) -> u64 {
    let data: SortedSet<u64> = data.iter().copied().collect();
    let others: SortedSet<u64> = control.iter().copied().filter(|id| !data.contains(id)).collect();
    others.len() as u64
}

impl Node {
    /// Refuses sizes and times beyond what there can be. `speed` is in operations a second.
    pub(super) fn check(&self, speed: f64) -> Result<(), String> {
        let moved = self.comm.as_ref().and_then(|comm| comm.bytes).unwrap_or(0);
        let by_operations = self.operations as f64 / speed;
        let seconds = if self.micros > 0 { self.micros as f64 / 1e6 } else { by_operations };
        bytes(moved, 1).and_then(|_| computation(seconds)).map(|_| ())
    }
}

pub(super) const METADATA: u64 = 1;
pub(super) const MEM_LOAD: u64 = 2;
pub(super) const MEM_STORE: u64 = 3;
pub(super) const COMP: u64 = 4;
pub(super) const SEND: u64 = 5;
pub(super) const RECV: u64 = 6;
pub(super) const COLLECTIVE: u64 = 7;

/// Chakra's number of a collective by a node's name, for traces without the attribute. Longer names come first.
pub(super) fn collective_of(name: &str) -> Option<u64> {
    let name: String = name.to_ascii_lowercase().chars().filter(|c| *c != '_').collect();
    let known = [
        ("allreduce", 0),
        ("reducescatter", 7),
        ("allgather", 2),
        ("alltoall", 6),
        ("broadcast", 5),
        ("barrier", 9),
        ("gather", 3),
        ("scatter", 4),
        ("reduce", 1),
    ];
    known.into_iter().find(|(part, _)| name.contains(part)).map(|(_, number)| number)
}

/// Process groups that a node of PyTorch lists as objects. The list stands in another list, or in Python's quotes, as versions of PyTorch write it.
pub(super) fn groups_of(values: &str) -> Option<Vec<(String, Vec<u32>)>> {
    #[derive(serde::Deserialize)]
    struct Announced {
        pg_name: String,
        #[serde(default)]
        ranks: Vec<u32>,
    }
    let list = values.get(values.find("[{")?..values.rfind("}]")? + 2)?;
    let all: Vec<Announced> = serde_json::from_str(list).ok()?;
    Some(all.into_iter().map(|group| (group.pg_name, group.ranks)).collect())
}

/// Places of nodes in an order in which none waits for a later one: of those that could come next, the one with the least id. Dependencies become
/// places in this order; `missing` is called for those on nodes that there are not.
pub(super) fn order(nodes: &mut [Node], mut missing: impl FnMut()) -> Result<Vec<u32>, String> {
    let mut places = SortedMap::new();
    for (place, node) in nodes.iter().enumerate() {
        if places.insert(node.id, place).is_some() {
            return Err(format!("there are two nodes {}", node.id));
        }
    }
    let mut waiting = vec![0u32; nodes.len()];
    let mut freed: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    for (place, node) in nodes.iter_mut().enumerate() {
        node.after.sort_unstable();
        node.after.dedup();
        node.after.retain(|id| {
            let known = places.contains_key(id);
            if !known {
                missing();
            }
            known
        });
        waiting[place] = node.after.len() as u32;
        node.after.iter().for_each(|id| freed[places[id]].push(place as u32));
    }
    let ready = nodes.iter().enumerate().filter(|&(place, _)| waiting[place] == 0);
    let mut ready: BinaryHeap<Reverse<(u64, u32)>> =
        ready.map(|(place, n)| Reverse((n.id, place as u32))).collect();
    let (mut order, mut done) = (Vec::with_capacity(nodes.len()), vec![0u64; nodes.len()]);
    while let Some(Reverse((_, place))) = ready.pop() {
        done[place as usize] = order.len() as u64;
        order.push(place);
        for &next in &freed[place as usize] {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                ready.push(Reverse((nodes[next as usize].id, next)));
            }
        }
    }
    if let Some(place) = waiting.iter().position(|&n| n > 0) {
        return Err(format!("node {} waits for itself, by way of others", nodes[place].id));
    }
    for node in nodes.iter_mut() {
        node.after.iter_mut().for_each(|id| *id = done[places[id]]);
    }
    Ok(order)
}
