//! What routers' outputs count of the packets that they mark.

use crate::places::LocalPort;
use engine::state::{Journal, Table, mode::Mode};
use serde::{Deserialize, Serialize};

/// Counts of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Packets that could have been marked since the last one was.
    pub passed: u32,
    /// Packets marked so far.
    pub marked: u32,
}

/// What waits for an output when the head of a packet leaves for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Chunks behind the one that leaves, over all virtual channels, counted as far as was asked.
    pub chunks: u32,
    /// Another chunk could follow at once on the packet's virtual channel.
    pub credits: bool,
}

/// Counts by output. Empty if nothing is marked.
#[derive(Clone, PartialEq)]
pub struct Marks<M: Mode> {
    /// By port of routers.
    pub counts: Table<Counts, M, LocalPort>,
}

impl<M: Mode> Marks<M> {
    /// Of so many ports.
    #[must_use]
    pub fn new(ports: usize) -> Self {
        Self { counts: Table::new(ports, Counts::default()) }
    }

    /// Shows the table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.counts);
    }
}
