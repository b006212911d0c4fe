//! Flows of terminals: messages by destination, whose turn it is, and from when on.

use super::scheme::Pace;
use crate::{
    places::pair,
    pools::{List, RowNumber, Rows, pooled, row_numbers},
    rows::Cutting,
};
use base::{
    hash::Fingerprint,
    index::TerminalId,
    time::{NEVER, Ps},
};
use engine::state::{Journal, Table, map::Map, mode::Mode};
use serde::{Deserialize, Serialize};

row_numbers! {
    /// A row of the flows of a partition's terminals.
    FlowRow;
    /// A row of the messages that terminals have taken over.
    ParcelRow;
}

/// Sending side of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// Flows with messages, the one whose turn comes first in front.
    pub flows: List<FlowRow>,
    /// From when on one of them may hand a packet over; `NEVER` without any.
    pub ready: Ps,
    /// Messages taken over and not wholly handed over.
    pub open: u32,
    /// Notifications sent to others: names them.
    pub sent: u32,
    /// Notifications received from others.
    pub received: u32,
    /// When the next packet may leave, where a rate is given.
    pub free: Ps,
    /// When the last message was taken over, where hosts take random times: the next one is not taken over before.
    pub taken: Ps,
}

/// Messages to one destination, or all of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// How fast it sends, as its scheme keeps it.
    pub pace: Pace,
    /// From when on its next packet may be handed over.
    pub next_at: Ps,
    /// Its messages, in order.
    pub messages: List<ParcelRow>,
    /// What it is a flow to: its place in the map.
    pub destination: TerminalId,
    next: FlowRow,
}

/// A message that is taken over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// What is left of it.
    pub cutting: Cutting,
    /// The terminal's number of its first packet, if packets of a message have consecutive ones.
    first: u32,
    next: ParcelRow,
}

pooled! {
    Flow: FlowRow;
    Parcel: ParcelRow;
}

/// The flows of a partition. Empty where messages leave as they come.
#[derive(Clone, PartialEq)]
pub struct Sources<M: Mode> {
    /// By local terminal.
    pub sources: Table<Source, M>,
    flows: Rows<Flow, M>,
    parcels: Rows<Parcel, M>,
    /// Flows by pair of terminals.
    by_pair: Map<FlowRow, M>,
    /// By pair: when a notification was last sent, of schemes that ask.
    informed: Map<Ps, M>,
    /// By pair: payload handed over and not known to be taken, with end-to-end flow control.
    under_way: Map<u64, M>,
}

impl<M: Mode> Sources<M> {
    /// Of so many terminals; of none without the section.
    #[must_use]
    pub fn new(terminals: usize) -> Self {
        let source =
            Source { flows: List::default(), ready: NEVER, open: 0, sent: 0, received: 0, free: 0, taken: 0 };
        Self {
            sources: Table::new(terminals, source),
            flows: Rows::default(),
            parcels: Rows::default(),
            by_pair: Map::default(),
            informed: Map::default(),
            under_way: Map::default(),
        }
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.sources);
        visit(self.flows.journal());
        visit(self.parcels.journal());
        self.by_pair.visit_journals(visit);
        self.informed.visit_journals(visit);
        self.under_way.visit_journals(visit);
    }

    /// The flow from a terminal to another, made if there is none.
    pub fn flow(&mut self, source: TerminalId, destination: TerminalId) -> FlowRow {
        let key = pair(source, destination);
        if let Some(flow) = self.by_pair.get(key, 0) {
            return flow;
        }
        let flow = self.flows.take(Flow {
            pace: Pace::default(),
            next_at: 0,
            messages: List::default(),
            destination,
            next: FlowRow::NIL,
        });
        self.by_pair.set(key, 0, flow);
        flow
    }

    /// The pace of a flow, to change it.
    pub fn pace(&mut self, flow: FlowRow) -> &mut Pace {
        &mut self.flows.edit(flow).pace
    }

    /// A message joins a flow of local terminal `i` at an instant; `first` is the number of its first packet, where that is known.
    pub fn take_over(&mut self, i: u32, flow: FlowRow, cutting: Cutting, first: u32, at: Ps) {
        let parcel = self.parcels.take(Parcel { cutting, first, next: ParcelRow::NIL });
        let idle = self.flows.get(flow).messages.is_empty();
        let row = self.flows.edit(flow);
        row.messages.push(&mut self.parcels, parcel);
        let source = self.sources.edit(i);
        source.open += 1;
        // A flow that was idle may have been free for long: nothing leaves before it is there.
        if idle {
            row.next_at = row.next_at.max(at);
            source.ready = source.ready.min(row.next_at);
            source.flows.push(&mut self.flows, flow);
        }
    }

    /// The flow of local terminal `i` whose turn it is at an instant, its first message, and the number of that one's first packet: the first in the
    /// list, or that with the `oldest` message.
    #[must_use]
    pub fn turn(&self, i: u32, at: Ps, oldest: bool) -> Option<(FlowRow, Cutting, u32)> {
        let flows = self.sources.get(i).flows;
        let mut ready = flows.iter(&self.flows).filter(|&f| self.flows.get(f).next_at <= at);
        // Of messages created at one instant the first in the list.
        let flow = if oldest { ready.min_by_key(|&f| self.first(f).cutting.created) } else { ready.next() }?;
        let Parcel { cutting, first, .. } = *self.first(flow);
        Some((flow, cutting, first))
    }

    fn first(&self, flow: FlowRow) -> &Parcel {
        self.parcels.get(self.flows.get(flow).messages.head)
    }

    /// Payload of a pair that was handed over and is not known to be taken.
    #[must_use]
    pub fn under_way(&self, source: TerminalId, destination: TerminalId) -> u64 {
        self.under_way.get(pair(source, destination), 0).unwrap_or(0)
    }

    /// A packet was handed over.
    pub fn leaves(&mut self, source: TerminalId, destination: TerminalId, bytes: u32) {
        let sum = self.under_way(source, destination) + u64::from(bytes);
        self.under_way.set(pair(source, destination), 0, sum);
    }

    /// A packet is known to be taken.
    pub fn arrived(&mut self, source: TerminalId, destination: TerminalId, bytes: u32) {
        match self.under_way(source, destination).checked_sub(u64::from(bytes)) {
            None => panic!("what arrives was sent"),
            Some(0) => drop(self.under_way.remove(pair(source, destination), 0)),
            Some(left) => self.under_way.set(pair(source, destination), 0, left),
        }
    }

    /// The flow to `queue`, if its first message is stopped; and that message.
    #[must_use]
    pub fn stopped(&self, source: TerminalId, queue: TerminalId) -> Option<(FlowRow, Cutting)> {
        let flow = self.by_pair.get(pair(source, queue), 0)?;
        let row = self.flows.get(flow);
        (!row.messages.is_empty() && row.next_at == NEVER).then(|| (flow, self.first(flow).cutting))
    }

    /// The first message of the flow.
    #[must_use]
    pub fn front(&self, flow: FlowRow) -> Option<Cutting> {
        (!self.is_idle(flow)).then(|| self.first(flow).cutting)
    }

    /// A flow of local terminal `i` sends nothing until it goes on.
    pub fn stop(&mut self, i: u32, flow: FlowRow) {
        self.flows.edit(flow).next_at = NEVER;
        self.find_ready(i);
    }

    /// A flow that was stopped may send from an instant on.
    pub fn go_on(&mut self, i: u32, flow: FlowRow, at: Ps) {
        self.flows.edit(flow).next_at = at;
        self.find_ready(i);
    }

    fn find_ready(&mut self, i: u32) {
        let flows = self.sources.get(i).flows;
        let ready = flows.iter(&self.flows).map(|f| self.flows.get(f).next_at).min();
        self.sources.edit(i).ready = ready.unwrap_or(NEVER);
    }

    /// A packet of a flow of local terminal `i` was handed over: what is left of its message, and from when on the next may be. The flow goes behind
    /// the others; one without messages leaves the list.
    pub fn served(&mut self, i: u32, flow: FlowRow, left: Cutting, next_at: Ps) {
        let row = self.flows.edit(flow);
        row.next_at = next_at;
        if left.active {
            self.parcels.edit(row.messages.head).cutting = left;
        } else {
            let done = row.messages.pop(&self.parcels).expect("a flow in the list has a message");
            self.parcels.give(done);
            self.sources.edit(i).open -= 1;
        }
        let goes_on = !self.flows.get(flow).messages.is_empty();
        self.unlink(i, flow);
        if goes_on {
            self.sources.edit(i).flows.push(&mut self.flows, flow);
        }
        self.find_ready(i);
    }

    /// Takes a flow out of a terminal's list.
    fn unlink(&mut self, i: u32, flow: FlowRow) {
        let list = self.sources.get(i).flows;
        let next = self.flows.next(flow);
        let before = list.iter(&self.flows).take_while(|&f| f != flow).last();
        let list = &mut self.sources.edit(i).flows;
        match before {
            // Lists are linked one way: the row before is found from the front.
            Some(before) => {
                self.flows.edit(before).next = next;
                if next.is_nil() {
                    list.tail = before;
                }
            }
            None => list.head = next,
        }
    }

    /// Forgets a flow that has no messages.
    pub fn forget(&mut self, source: TerminalId, flow: FlowRow) {
        let row = self.flows.get(flow);
        debug_assert!(row.messages.is_empty(), "nothing of a flow that is forgotten is left");
        self.by_pair.remove(pair(source, row.destination), 0);
        self.flows.give(flow);
    }

    /// True if the flow has nothing to send.
    #[must_use]
    pub fn is_idle(&self, flow: FlowRow) -> bool {
        self.flows.get(flow).messages.is_empty()
    }

    /// When a notification was last sent between two terminals.
    #[must_use]
    pub fn informed(&self, source: TerminalId, destination: TerminalId) -> Option<Ps> {
        self.informed.get(pair(source, destination), 0)
    }

    /// One is sent now.
    pub fn inform(&mut self, source: TerminalId, destination: TerminalId, at: Ps) {
        self.informed.set(pair(source, destination), 0, at);
    }

    /// When the oldest message that local terminal `i` has taken over was created; `NEVER` without any.
    #[must_use]
    pub fn oldest(&self, i: u32) -> Ps {
        let Some(source) = self.sources.rows().get(i as usize) else { return NEVER };
        source.flows.iter(&self.flows).map(|f| self.first(f).cutting.created).min().unwrap_or(NEVER)
    }

    /// Visits every flow with its source; in an order that depends on the past.
    pub fn each(&self, mut visit: impl FnMut(TerminalId, &Flow)) {
        self.by_pair.each(|key, _, &f| visit(TerminalId::new((key >> 32) as u32), self.flows.get(f)));
    }

    /// What contradicts itself at the terminals of a partition, in their order.
    #[must_use]
    pub fn faults(&self, terminals: &[TerminalId]) -> Vec<String> {
        let mut faults = Vec::new();
        for (terminal, source) in terminals.iter().zip(self.sources.rows()) {
            let flows = || source.flows.iter(&self.flows).map(|f| self.flows.get(f));
            let messages: usize = flows().map(|f| f.messages.iter(&self.parcels).count()).sum();
            if messages != source.open as usize {
                faults.push(format!(
                    "terminal {terminal} counts {} messages, its flows have {messages}",
                    source.open
                ));
            }
            let ready = flows().map(|f| f.next_at).min().unwrap_or(NEVER);
            if ready != source.ready {
                faults.push(format!(
                    "terminal {terminal} waits until {} ps, its flows {ready} ps",
                    source.ready
                ));
            }
        }
        if self.by_pair.len() != self.flows.in_use() {
            let (named, there) = (self.by_pair.len(), self.flows.in_use());
            faults.push(format!("{named} flows are named, {there} are there"));
        }
        faults
    }

    /// Adds all to the final state, named by terminals.
    pub fn hash(&self, terminals: &[TerminalId], sum: &mut Fingerprint) {
        for (&terminal, source) in terminals.iter().zip(self.sources.rows()) {
            let place = 30 << 32 | u64::from(terminal);
            let notices = u64::from(source.sent) << 32 | u64::from(source.received);
            sum.add(place, source.ready, notices, source.free);
            if source.taken > 0 {
                sum.add(43 << 32 | u64::from(terminal), source.taken, 0, 0);
            }
            for (turn, f) in source.flows.iter(&self.flows).enumerate() {
                let flow = self.flows.get(f);
                for (n, p) in flow.messages.iter(&self.parcels).enumerate() {
                    let cutting = self.parcels.get(p).cutting;
                    let at = (turn as u64) << 32 | n as u64;
                    sum.add(31 << 32 | u64::from(terminal), at, cutting.left, u64::from(cutting.number));
                }
            }
        }
        // Maps are visited in an order that depends on the past; the fingerprint is a sum.
        self.by_pair.each(|key, _, &f| {
            let Flow { pace: Pace([a, b, c, d, e, f, g]), next_at, .. } = *self.flows.get(f);
            sum.add(32 << 32, key, a, b);
            sum.add(33 << 32, key, c, d);
            sum.add(34 << 32, key, e, f);
            sum.add(35 << 32, key, g, next_at);
        });
        self.informed.each(|key, _, &at| sum.add(36 << 32, key, at, 0));
        self.under_way.each(|key, _, &bytes| sum.add(42 << 32, key, bytes, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::state::mode::Full;

    fn message(bytes: u64) -> Cutting {
        Cutting { left: bytes, active: true, ..Cutting::default() }
    }

    /// Flows that may send take turns, one that pauses is passed over, and what is left is always found again.
    #[test]
    fn flows_take_turns() {
        let mut all = Sources::<Full>::new(1);
        let to = |n| TerminalId::new(n);
        for n in [5, 6, 7, 5] {
            let flow = all.flow(to(0), to(n));
            all.take_over(0, flow, message(2), 0, 10);
        }
        let whose = |all: &Sources<Full>, at| {
            all.turn(0, at, false).map(|(f, ..)| all.flows.get(f).destination.number())
        };
        assert_eq!((whose(&all, 9), whose(&all, 10), all.sources.get(0).ready), (None, Some(5), 10));
        let mut order = Vec::new();
        for at in 10..18 {
            let Some((flow, mut left, _)) = all.turn(0, at, false) else {
                order.push(0);
                continue;
            };
            left.left -= 1;
            left.active = left.left > 0;
            order.push(all.flows.get(flow).destination.number());
            // The second flow pauses for four instants after a packet.
            let pause = if all.flows.get(flow).destination == to(6) { 4 } else { 1 };
            all.served(0, flow, left, at + pause);
            assert_eq!(all.faults(&[to(0)]), [""; 0]);
        }
        assert_eq!(order, [5, 6, 7, 5, 7, 6, 5, 5]);
        assert_eq!((all.sources.get(0).open, all.sources.get(0).ready), (0, NEVER));
        let flow = all.flow(to(0), to(5));
        all.forget(to(0), flow);
        assert_eq!((all.by_pair.len(), all.flows.in_use(), all.parcels.in_use()), (2, 2, 0));
    }
}
