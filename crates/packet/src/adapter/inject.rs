//! Injection: queues of a terminal's messages, how fast packets leave them, and how much may be under way to a destination.
//!
//! The queues are the flows of congestion control ([`Sources`](crate::congestion_control::sources::Sources)), without marks and paces. With a `window`
//! a queue whose first message is for a destination to which as much is under way stops, until the destination has taken a packet and that is known.

use super::config::{Injection, Queues};
use crate::{
    congestion_control::{scheme::Sent, sources::FlowRow},
    effects::{Fx, Wire},
    event::Name,
    net::{Router, Static},
    places::Ends,
    rows::{Cutting, Packet},
    state::State,
};
use base::{
    index::TerminalId,
    time::{NEVER, Ps},
};
use engine::key::Class;

impl Injection {
    /// The queue that messages of a terminal to a destination are in, by a number that stands for a terminal's in the map of flows.
    #[must_use]
    pub fn queue(&self, source: TerminalId, destination: TerminalId) -> TerminalId {
        match self.queues {
            Queues::One => source,
            Queues::Destination => destination,
            Queues::Modulo(count) => TerminalId::new(destination.number() % count),
        }
    }

    /// Payload of the next packet of a message.
    fn next_bytes(message: &Cutting, packet: u32) -> u64 {
        message.left.min(u64::from(packet))
    }
}

impl<R: Router> State<R> {
    /// True if the next packet of a message must wait for others to its destination.
    pub(crate) fn is_stopped(&self, cx: &Static, source: TerminalId, message: &Cutting) -> bool {
        let Some(injection) = cx.net.outlet().filter(|injection| injection.window > 0) else {
            return false;
        };
        let under_way = self.control.under_way(source, message.destination);
        // One packet may always be under way, however small the window.
        under_way > 0 && under_way + Injection::next_bytes(message, cx.net.config.packet) > injection.window
    }

    /// A packet of a flow was handed over: what is under way to its destination, what its terminal's rate allows, and whether the queue goes on.
    pub(crate) fn leaves(
        &mut self,
        cx: &Static,
        i: u32,
        flow: FlowRow,
        destination: TerminalId,
        packet: Sent,
        injection: &Injection,
    ) {
        let source = cx.local.terminals[i as usize];
        if let Some(rate) = injection.rate {
            let pause = rate.time_rounded(u64::from(packet.bytes)).unwrap_or(NEVER);
            self.control.sources.edit(i).free = packet.at.saturating_add(pause);
        }
        if injection.window == 0 {
            return;
        }
        self.control.leaves(source, destination, packet.bytes);
        if let Some(next) = self.control.front(flow)
            && self.is_stopped(cx, source, &next)
        {
            self.control.stop(i, flow);
        }
    }

    /// A packet is handed on: its source is to know.
    pub(crate) fn report_taken(&mut self, cx: &Static, i: u32, packet: &Packet, time: Ps, fx: &mut impl Fx) {
        let Some(injection) = cx.net.outlet().filter(|injection| injection.window > 0) else { return };
        debug_assert_eq!(time, fx.now(), "who answers sees arrivals when they are");
        let row = self.control.sources.edit(i);
        row.sent = row.sent.wrapping_add(1);
        if cx.net.adapter.is_some_and(|adapter| adapter.leaks) && row.sent.is_multiple_of(100) {
            return;
        }
        let (source, destination, bytes) = (packet.source(), packet.destination, packet.bytes);
        let name = Name::Notice.of(destination.number(), row.sent);
        let partition = cx.net.owner[cx.net.fabric.router_at(source)];
        let wire = Wire::Taken { source, destination, bytes };
        fx.send(partition, cx.net.lane, time + injection.ack_delay, Class::Ordinary, name, wire);
    }

    /// A source hears that a destination has taken a packet.
    pub(crate) fn taken(&mut self, cx: &Static, ends: Ends, bytes: u32, fx: &mut impl Fx) {
        let Ends { source, destination } = ends;
        let i = cx.local.terminals.binary_search(&source).expect("it reached the source's partition") as u32;
        let u = cx.local.port_of(i);
        // What was handed over before now did not know of it.
        self.catch_up_terminal(cx, u, fx.now(), fx);
        self.control.sources.edit(i).received += 1;
        self.control.arrived(source, destination, bytes);
        let queue = cx.queue_of(source, destination);
        if let Some((flow, first)) = self.control.stopped(source, queue)
            && !self.is_stopped(cx, source, &first)
        {
            self.control.go_on(i, flow, fx.now());
        }
        self.set_due(cx, u, fx);
    }
}
