//! What hosts of a node do with what they share: a core's clock and slices, the channels of its memory.

use super::{domain::DelayDomain, slices::FIRST};
use base::time::Ps;

impl DelayDomain {
    /// True if the message of a send stays within the node.
    #[inline]
    pub(super) fn keeps(&self, host: u32, row: u32) -> bool {
        self.cx.keeps_own && {
            let from = self.rank(host);
            let to = self.cx.host(self.cx.place(from).job, self.window.get(row).op.peer);
            self.cx.within(from, to)
        }
    }

    /// When a message that the node's memory is given at `at` is there; with its request and grant, if it asks first.
    pub(super) fn copied(&mut self, host: u32, at: Ps, bytes: u64) -> Ps {
        let Some(nodes) = &self.cx.nodes else { return at };
        let (memory, first) = nodes.memory(host);
        let channel =
            (first..first + memory.channels).min_by_key(|&c| *self.channels.get(c)).unwrap_or(first);
        let mut free = *self.channels.get(channel);
        let there = memory.copied(at, &mut free, bytes);
        *self.channels.edit(channel) = free;
        there + nodes.asking(&*self.cx.delays, bytes)
    }

    /// After a step of a host: those that share its core have its clock.
    pub(super) fn share_core(&mut self, host: u32) {
        let Some(nodes) = self.cx.nodes.as_ref().filter(|n| n.node.cores.is_some()) else { return };
        let free = self.hosts.core(host, 0).free;
        for peer in nodes.peers(host) {
            if self.hosts.core(peer, 0).free < free {
                self.hosts.edit_core(peer, 0).free = free;
                self.touched.push(peer);
            }
        }
    }

    /// The slice in hand is over: its computation goes behind those that wait.
    pub(super) fn slice_over(&mut self, host: u32, row: u32, now: Ps) {
        debug_assert!(self.hosts.core(host, 0).free == now, "a core has one thing in hand");
        self.slices.over(host);
        self.queue(row, now, FIRST);
    }
}
