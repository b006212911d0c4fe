//! What a file in DOT says, before it is a network.

use crate::subnet::Names;
use base::sorted::SortedSet;

/// In a list of routes: `*`, which stands for any destination.
pub(super) const ANY: u32 = u32::MAX;

/// What the file says.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) names: Names,
    /// Numbers (among `names`) of the nodes, in the order of their appearance; comments may name others.
    pub(super) nodes: Vec<u32>,
    /// By name: is it a node?
    pub(super) is_node: Vec<bool>,
    pub(super) edges: Vec<(u32, u32)>,
    /// Destinations of each edge: where its list ends in `routes`.
    pub(super) ends: Vec<u64>,
    /// Numbers among `names`, or [`ANY`].
    pub(super) routes: Vec<u32>,
    /// Edges, times their destinations, that stand for more than their bytes, and destinations of defaults.
    pub(super) products: u64,
    /// Without parallel edges.
    pub(super) strict: bool,
    /// Edges that must not come again, by ends and key.
    pub(super) single: SortedSet<(u32, u32, Option<u32>)>,
}

impl Graph {
    /// Refuses an edge that Graphviz would make one with an earlier one: which comment counts then is for the file's author to say.
    pub(super) fn count(&mut self, a: u32, b: u32, key: Option<u32>) -> Result<(), String> {
        if (self.strict || key.is_some()) && !self.single.insert((a, b, key.filter(|_| !self.strict))) {
            return Err(
                "this edge is there already, and `strict` or an equal key makes one of both: write it once"
                    .to_owned(),
            );
        }
        Ok(())
    }

    pub(super) fn name(&mut self, name: &str) -> u32 {
        let number = self.names.number(name);
        if self.is_node.len() <= number as usize {
            self.is_node.resize(number as usize + 1, false);
        }
        number
    }

    pub(super) fn node(&mut self, name: &str) -> u32 {
        let number = self.name(name);
        if !std::mem::replace(&mut self.is_node[number as usize], true) {
            self.nodes.push(number);
        }
        number
    }
}
