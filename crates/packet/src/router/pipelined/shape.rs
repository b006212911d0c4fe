//! Where a router's rows are, and its allocators' shapes.

use crate::{pipeline::Pipeline, router::allocator::Frame};
use base::index::ChannelId;

/// Where a router's rows are, and its allocators' shapes.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Its first unit.
    pub(super) unit: u32,
    /// Units of an input.
    pub(super) each: u32,
    /// Queues of an input VC: one, and one for each copy of a packet; or one for each output.
    pub(super) queues: u32,
    /// Its first word of VC allocation.
    pub(super) word: u32,
    /// The same of switch allocation.
    pub(super) switch_word: u32,
    pub(super) ports: u32,
    /// For lots: the router's.
    pub(super) name: u64,
}

impl Shape {
    /// Of a router with so many ports, whose rows are the first.
    pub(super) fn of(ports: u32, queues: u32, vcs: u8) -> Self {
        debug_assert!(queues > 0, "a channel of an input has a queue");
        Self { unit: 0, each: u32::from(vcs) * queues, queues, word: 0, switch_word: 0, ports, name: 0 }
    }

    /// Words that its arbiters take, of VC allocation and of switch allocation.
    pub(super) fn words(&self, rules: &Pipeline, vcs: u8, memories: u32) -> [u32; 2] {
        let frames = [self.vc_frame(rules, vcs, 0), self.switch_frame(rules, memories, 0)];
        frames.map(|frame| frame.words() as u32)
    }

    /// Virtual channel of a unit, by its place among those of its input.
    #[inline]
    pub(super) fn channel(&self, place: u32) -> ChannelId {
        debug_assert!(place < self.each, "an input has so many queues");
        ChannelId::new((place / self.queues) as u8)
    }

    pub(super) fn vc_frame(&self, rules: &Pipeline, vcs: u8, step: u64) -> Frame {
        Frame {
            // Service classes never ask for the same virtual channel.
            memories: 1,
            rows: self.ports * self.each,
            columns: self.ports * u32::from(vcs),
            row_group: self.each,
            column_group: u32::from(vcs),
            arbiter: rules.arbiter,
            iterations: rules.iterations,
            name: self.name,
            step,
        }
    }

    pub(super) fn switch_frame(&self, rules: &Pipeline, memories: u32, step: u64) -> Frame {
        let (rows, columns) =
            (self.ports * rules.input_speedup.most(), self.ports * rules.output_speedup.most());
        Frame {
            rows,
            columns,
            memories,
            // Groups of a tree of arbiters are about as many as their members.
            row_group: rows.isqrt().max(1),
            column_group: columns.isqrt().max(1),
            arbiter: rules.arbiter,
            iterations: rules.iterations,
            // Another name than that of VC allocation: lots of the two are drawn apart.
            name: !self.name,
            step,
        }
    }
}
