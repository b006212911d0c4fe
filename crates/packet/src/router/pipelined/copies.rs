//! Multicasts at inputs: copies of the packet in front, and what they hold together. See `MULTICAST.md`.
//!
//! Behind the queue of a virtual channel of an input (its *entry*) stand as many queues as its router ever makes copies of one packet. When a packet for several terminals is in
//! front of its entry, each of its chunks is copied into one queue for each branch, and the copies hold the chunk's buffer together until the last of them has crossed the
//! switch. What comes behind the packet waits until then, as in any first-in first-out buffer. So these queues have copies of one packet at a time, and each lacks
//! only first chunks of what the longest has: all that is to be known is read off their fronts, and nothing is kept.

use super::{Pipelined, Work, branches::Along, cycle::Step};
use crate::{
    effects::Fx,
    net::{Net, Static},
    places::LocalPort,
    router::clock::Stage,
};
use base::{index::ChannelId, time::Ps};
use engine::state::mode::Mode;
use std::ops::Range;

impl<M: Mode> Pipelined<M> {
    /// The queue in which chunks that come in by a virtual channel of an input arrive, where outputs have none of their own there.
    #[inline]
    pub(super) fn entry(&self, input: LocalPort, vc: ChannelId) -> u32 {
        let queues = if M::FEATURES { self.shapes[self.clock.owner[input] as usize].queues } else { 1 };
        self.first_unit(input) + u32::from(vc.number()) * queues
    }

    /// The entry of a unit's virtual channel.
    pub(super) fn entry_of(&self, input: LocalPort, unit: u32) -> u32 {
        let queues = self.shapes[self.clock.owner[input] as usize].queues;
        unit - (unit - self.first_unit(input)) % queues
    }

    /// The queues of copies behind an entry.
    pub(super) fn copies(&self, input: LocalPort, entry: u32) -> Range<u32> {
        entry + 1..entry + self.shapes[self.clock.owner[input] as usize].queues
    }

    /// Copies of the packet that was last in front of an entry are still there.
    fn has_copies(&self, input: LocalPort, entry: u32) -> bool {
        self.copies(input, entry).any(|unit| !self.units.get(unit).fifo.is_empty())
    }
}

impl<M: Mode> Net<Pipelined<M>> {
    /// Packets may be copied.
    #[inline]
    pub(super) fn copies_packets(cx: &Static) -> bool {
        Self::trees(cx).is_some()
    }

    /// Place in its packet of the chunk in front of a unit.
    fn index_in_front(&self, unit: u32) -> Option<u16> {
        let front = self.router.units.get(unit).fifo;
        (!front.is_empty()).then(|| self.chunks.get(front.head).index())
    }

    /// Chunks of multicasts that are in front of their inputs are copied.
    pub(super) fn fan_out(&mut self, cx: &Static, step: Step) {
        let shape = self.router.shapes[step.local as usize];
        if shape.queues == 1 {
            return;
        }
        for n in 0..shape.ports {
            let input = step.base.plus(n);
            for vc in 0..self.width {
                let entry = self.router.entry(input, ChannelId::new(vc));
                while self.fan_out_front(cx, step, input, entry) {}
            }
        }
    }

    /// Copies the chunk in front of an entry, if that is one of a multicast and may be; true if it was.
    fn fan_out_front(&mut self, cx: &Static, step: Step, input: LocalPort, entry: u32) -> bool {
        let row = self.router.units.get(entry);
        let Some(index) = self.index_in_front(entry) else { return false };
        let (c, mut fifo) = (row.fifo.head, row.fifo);
        let Some(branches) = self.branches(cx, c) else { return false };
        // The others follow their head; it waits for copies of the packet before.
        if index == 0 && (row.ready > step.until || self.router.has_copies(input, entry)) {
            return false;
        }
        debug_assert!(row.stage == Stage::Idle, "what is copied asks for nothing itself");
        debug_assert!(branches.len() <= self.router.copies(input, entry).len(), "each copy has a queue");
        fifo.pop(&self.chunks);
        self.router.units.edit(entry).fifo = fifo;
        if fifo.is_empty() {
            self.router.set_busy(input, entry, false);
        }
        for (unit, branch) in self.router.copies(input, entry).zip(branches) {
            let copy = self.copy(cx, c, branch);
            let chunks = &mut self.chunks;
            self.router.append(input, unit, |fifo| fifo.push(chunks, copy));
            if index == 0 {
                let (out, ready) = (step.base.plus(branch.choice.port.number()), self.routed_at(cx, step));
                let row = self.router.units.edit(unit);
                debug_assert!(row.stage == Stage::Idle, "copies of one packet at a time");
                row.stage = Stage::Routed;
                (row.out, row.vc, row.state) = (out, branch.choice.vc, branch.choice.state);
                (row.enters, row.ready) = (false, ready);
            }
        }
        self.router.clock.routers.edit(step.local).held += branches.len() as u32 - 1;
        self.end_copied(cx, c);
        true
    }

    /// What stands in front of an entry waits for copies of the packet before it.
    pub(super) fn is_behind_copies(&self, cx: &Static, input: LocalPort, unit: u32) -> bool {
        Self::copies_packets(cx)
            && self.router.entry_of(input, unit) == unit
            && self.router.has_copies(input, unit)
    }

    /// A chunk, number `index` of its packet, has left a unit, which asks again from `ready` on: whether its buffer is free, that is, whether no other copy of it waits.
    #[inline]
    pub(super) fn frees_buffer(
        &mut self,
        cx: &Static,
        input: LocalPort,
        unit: u32,
        index: u16,
        ready: Ps,
    ) -> bool {
        if !Self::copies_packets(cx) {
            return true;
        }
        let entry = self.router.entry_of(input, unit);
        if entry == unit {
            return true;
        }
        // The packet behind is in front when the last copy has left.
        self.router.units.edit(entry).ready = ready;
        let mut others = self.router.copies(input, entry);
        others.all(|other| self.index_in_front(other).is_none_or(|front| front > index))
    }

    /// A unit shows the buffers of what is in it: of copies the longest queue does, which has one of each chunk.
    pub(super) fn stands_for_buffers(&self, cx: &Static, input: LocalPort, unit: u32) -> bool {
        if !Self::copies_packets(cx) || self.router.entry_of(input, unit) == unit {
            return true;
        }
        let copies = self.router.copies(input, self.router.entry_of(input, unit));
        let first = copies.filter_map(|other| self.index_in_front(other).map(|front| (front, other))).min();
        first.is_some_and(|(_, first)| first == unit)
    }

    /// Notes which copies of chunks that are granted ask for outputs that nobody was granted: what an input reads once may cross to all of them. Of several that ask for one output
    /// the first is noted.
    pub(super) fn find_siblings(&self, step: Step, work: &mut Work) {
        let shape = self.router.shapes[step.local as usize];
        let place = |unit: u32| (unit - shape.unit) % shape.queues;
        let Work { switch, along, .. } = work;
        let requests = &switch.requests;
        along.clear();
        for granted in switch.grants.iter().map(|&n| requests[n as usize]) {
            let entry = granted.label - place(granted.label);
            let Some(index) = self.index_in_front(granted.label).filter(|_| granted.label != entry) else {
                continue;
            };
            let copies = entry + 1..entry + shape.queues;
            for other in requests.iter().filter(|r| r.row == granted.row && copies.contains(&r.label)) {
                let mut columns = switch.grants.iter().map(|&n| requests[n as usize].column);
                let free = columns.all(|column| column != other.column)
                    && along.iter().all(|before| before.column != other.column);
                if free && self.index_in_front(other.label) == Some(index) {
                    let (unit, column, input) = (other.label, other.column, other.row / step.lanes.0);
                    along.push(Along { unit, column, input, granted: granted.label, index });
                }
            }
        }
    }

    /// Copies that were noted leave, where those that were granted did.
    pub(super) fn take_along(&mut self, cx: &Static, step: Step, work: &mut Work, fx: &mut impl Fx) {
        for n in 0..work.along.len() {
            let Along { unit, input, granted, index, .. } = work.along[n];
            if self.index_in_front(granted) != Some(index) {
                self.leave_if_it_may(cx, step, input, unit, fx);
            }
        }
    }
}
