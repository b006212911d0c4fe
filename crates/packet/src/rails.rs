//! Rails: which plane of the network a message takes ([`fabric::planes`]).
//!
//! The choice is a pure function of the two nodes and of the message's number at its source, so that both ends and every
//! partition agree without messages to each other. Every terminal of a node reads the node's one sequence of messages and
//! takes those that are its own: what waits for one rail does not keep another from sending, and no queue is
//! needed between the node and its rails. A node's terminals, and with them the same router of every plane, are in one partition.
//!
//! Not modelled: a message striped over several rails, a choice by the rails' load.

use crate::setup::Setup;
use base::{
    hash::mix64,
    index::{Column, TerminalId},
};
use model::setup::Rail;

/// The choice among rails of a run.
#[derive(Clone, Debug)]
pub struct Rails {
    planes: u32,
    policy: Rail,
    seed: u64,
    /// By node, planes in which it is not cut off; empty if none is.
    usable: Column<TerminalId, u16>,
}

impl Rails {
    /// That of a setup. A plane that a failure during the run will cut a node off from is not used by it from the beginning.
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let left = setup.change.as_ref().map_or(&setup.fabric, |change| &change.fabric);
        let whole = left.cut_off().is_empty();
        let usable = if whole {
            Column::default()
        } else {
            TerminalId::first(left.nodes()).map(|n| left.rails_of(n)).collect()
        };
        Self { planes: left.planes(), policy: setup.rail, seed: mix64(setup.seed ^ 0x7261_696c), usable }
    }

    /// True if there is a choice.
    #[inline]
    #[must_use]
    pub fn several(&self) -> bool {
        self.planes > 1
    }

    /// Plane of message `number` of node `source` for node `destination`.
    #[inline]
    #[must_use]
    pub fn choose(&self, source: TerminalId, destination: TerminalId, number: u64) -> u32 {
        if self.planes == 1 {
            return 0;
        }
        let pair = u64::from(source) << 32 | u64::from(destination);
        let draw = match self.policy {
            Rail::RoundRobin => number,
            Rail::ByPair => mix64(pair),
            Rail::Random => mix64(self.seed ^ mix64(pair ^ mix64(number))),
        };
        if self.usable.is_empty() {
            return (draw % u64::from(self.planes)) as u32;
        }
        let mut common = self.usable[source] & self.usable[destination];
        // Nodes without a plane in common carry no ranks together.
        let skip = draw.checked_rem(u64::from(common.count_ones())).unwrap_or(0);
        for _ in 0..skip {
            common &= common - 1;
        }
        debug_assert!(common.trailing_zeros() < self.planes || common == 0, "a rail is one of the planes");
        common.trailing_zeros().min(self.planes - 1)
    }
}
