//! Nodes of several ranks: cores that they share, and the memory between them (`[node]`).
//!
//! Ranks that share a core have one clock: whoever's moves, the others' follow, and what these do next is found out anew. A message within a node costs its
//! ranks `overhead` and bytes as any other; no interface takes part, and between the two it is copied by the node's memory in place of L, hops, g and G.
//! All hosts are coupled then: one partition, and one order of all steps, in which memory takes messages.

use crate::delays::Delays;
use base::{index::TerminalId, time::Ps};
use ranks::node::{Memory, Node};

/// Where hosts live together.
pub struct Nodes {
    /// What their node is.
    pub node: Node,
    /// Of each host: the first one of its terminal, how many live there, and the terminal's place among those in use.
    homes: Vec<(u32, u32, u32)>,
    /// Terminals in use.
    terminals: u32,
}

impl Nodes {
    /// Nodes of hosts with these jobs and terminals.
    ///
    /// # Errors
    /// What the model cannot carry, or hosts of a terminal that do not follow each other.
    pub fn of(node: Node, places: &[(u32, TerminalId)], cpus: u32) -> Result<Self, String> {
        if node.cores.is_some() && cpus > 1 {
            return Err(
                "model \"delay\" shares cores among ranks of one processor each: a program has several"
                    .to_owned(),
            );
        }
        let mut homes: Vec<(u32, u32, u32)> = Vec::with_capacity(places.len());
        let (mut known, mut terminals) = (base::sorted::SortedSet::<TerminalId>::new(), 0);
        for ranks in places.chunk_by(|a, b| a == b) {
            let terminal = ranks[0].1;
            if !known.insert(terminal) {
                return Err(format!(
                    "terminal {terminal} has ranks that do not follow each other in one program"
                ));
            }
            let home = (homes.len() as u32, ranks.len() as u32, terminals);
            homes.extend(std::iter::repeat_n(home, ranks.len()));
            terminals += 1;
        }
        Ok(Self { node, homes, terminals })
    }

    /// Channels of all memories.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.terminals as usize * self.node.memory.channels as usize
    }

    /// What the request and the grant of a message take, if it asks first. They wait for no channel: whatever is copied meanwhile does not wait for
    /// a message that is not there yet.
    pub(super) fn asking(&self, delays: &dyn Delays, bytes: u64) -> Ps {
        let memory = &self.node.memory;
        delays.asks(bytes).map_or(0, |control| 2 * (memory.copying(control) + memory.latency))
    }

    /// Shortest time of a message within a node.
    pub(super) fn least(&self, delays: &dyn Delays, bytes: u64) -> Ps {
        self.asking(delays, bytes) + self.node.memory.copying(bytes) + self.node.memory.latency
    }

    /// The node's memory, and the first of its channels.
    pub(super) fn memory(&self, host: u32) -> (Memory, u32) {
        let memory = self.node.memory;
        (memory, self.homes[host as usize].2 * memory.channels)
    }

    /// Hosts that have the same core.
    pub(super) fn peers(&self, host: u32) -> impl Iterator<Item = u32> + use<> {
        let (first, count, _) = self.homes[host as usize];
        let cores = self.node.cores.unwrap_or(count).min(count).max(1);
        let own = (host - first) % cores;
        (own..count).step_by(cores as usize).map(move |seat| first + seat)
    }
}
