//! Terminals under congestion control: messages taken over, packets handed over in turn, notifications sent and received.

use super::{
    config::CongestionControl,
    scheme::{Gauge, Sent},
};
use crate::{
    effects::{Fx, Record, Wire},
    event::Name,
    net::{Router, Static},
    places::Ends,
    rows::Cutting,
    state::State,
};
use base::{
    index::TerminalId,
    time::{NEVER, Ps},
};
use engine::key::Class;

impl Static {
    /// The section; only asked where it is there.
    fn control(&self) -> &CongestionControl {
        self.net.control.as_ref().expect("only runs with [congestion_control] get here")
    }

    /// The flow that a message to `destination` is of: with a shared pace all of a terminal are one, which goes by its own number.
    pub(crate) fn queue_of(&self, source: TerminalId, destination: TerminalId) -> TerminalId {
        match (&self.net.control, self.net.outlet()) {
            (Some(control), _) if control.scheme.is_shared() => source,
            (None, Some(injection)) => injection.queue(source, destination),
            _ => destination,
        }
    }

    /// Messages set numbers of packets aside, so that those of one have consecutive numbers though several leave in turn.
    fn numbers_ahead(&self) -> bool {
        self.net.adapter.is_some()
    }

    /// Most messages that a terminal takes over.
    fn most_messages(&self) -> u32 {
        match &self.net.control {
            Some(control) => control.messages,
            None => self.net.outlet().map_or(1, |injection| injection.messages),
        }
    }
}

impl<R: Router> State<R> {
    /// When the terminal's next message is taken over; `NEVER` if there is none, or as many as may be are there.
    fn next_message(&self, cx: &Static, i: u32) -> Ps {
        if self.control.sources.get(i).open >= cx.most_messages() {
            return NEVER;
        }
        let (created, read_on) = self.offered(self.terminals.get(i));
        // Messages keep their order, however short the next one's random time is.
        let taken = self.control.sources.get(i).taken;
        created.saturating_add(if read_on { 0 } else { self.adapter_time(cx, i) }).max(taken)
    }

    /// Instant of the next thing that a terminal does by itself: it takes a message over, or hands a packet over.
    pub(crate) fn next_paced(&self, cx: &Static, i: u32) -> Ps {
        let source = self.control.sources.get(i);
        let ready = source.ready.max(source.free).max(self.terminals.get(i).request);
        self.next_message(cx, i).min(ready)
    }

    /// Does what was to come next, at its instant.
    pub(crate) fn hand_over_paced(&mut self, cx: &Static, i: u32, time: Ps, fx: &mut impl Fx) {
        let source = cx.local.terminals[i as usize];
        if self.next_message(cx, i) <= time {
            if self.begin_message(cx, i) {
                self.queue_message(cx, i, time);
            }
            return;
        }
        let injection = cx.net.outlet();
        let oldest = injection.is_some_and(|injection| injection.oldest);
        let (flow, message, first) = self.control.turn(i, time, oldest).expect("a flow is ready");
        let bytes = message.left.min(u64::from(cx.net.config.packet)) as u32;
        let left = self.cut_of(cx, i, message, first, time, fx);
        let own = cx.net.pace_of(bytes);
        let sent = Sent { bytes, own, at: time };
        let scheme = cx.net.control.as_ref().map(|control| &control.scheme);
        // Without a scheme only the link paces.
        let pause = scheme.map_or(0, |scheme| scheme.sent(self.control.pace(flow), sent));
        self.control.served(i, flow, left, time.saturating_add(pause));
        if let Some(injection) = injection {
            self.leaves(cx, i, flow, message.destination, sent, injection);
        }
        // What is again as it was at first need not be remembered, unless it still pauses: a flow at a smallest index above 0 always does.
        let idle = pause <= own && self.control.is_idle(flow);
        if idle && scheme.is_none_or(|scheme| scheme.is_recovered(self.control.pace(flow), time)) {
            self.control.forget(source, flow);
        }
    }

    /// The message that a terminal just began joins its queue.
    fn queue_message(&mut self, cx: &Static, i: u32, time: Ps) {
        let source = cx.local.terminals[i as usize];
        let numbered = cx.numbers_ahead();
        let row = self.terminals.edit(i);
        let message = row.cutting;
        row.cutting.active = false;
        let first = row.packets;
        if numbered {
            row.packets = first.wrapping_add(message.packets);
        }
        let flow = self.control.flow(source, cx.queue_of(source, message.destination));
        let idle = self.control.is_idle(flow);
        self.control.take_over(i, flow, message, first, time);
        if cx.net.adapter_delay.varies() {
            self.control.sources.edit(i).taken = time;
        }
        if idle && self.is_stopped(cx, source, &message) {
            self.control.stop(i, flow);
        }
    }

    /// Hands over the next packet of a queued message; what is left of that.
    fn cut_of(
        &mut self,
        cx: &Static,
        i: u32,
        message: Cutting,
        first: u32,
        time: Ps,
        fx: &mut impl Fx,
    ) -> Cutting {
        let row = self.terminals.edit(i);
        row.cutting = message;
        let numbers = row.packets;
        if cx.numbers_ahead() {
            // The terminal's count is ahead: each packet has the number that its message set aside.
            row.packets = first.wrapping_add(message.packets - cx.net.packets_of(message.left));
        }
        self.cut_packet(cx, i, time, fx);
        let row = self.terminals.edit(i);
        if cx.numbers_ahead() {
            row.packets = numbers;
        }
        let left = row.cutting;
        row.cutting.active = false;
        left
    }

    /// A marked packet is complete at its destination: its source is notified, if its scheme does so now.
    ///
    /// `i` is the number of the destination in this partition.
    pub(crate) fn inform(&mut self, cx: &Static, i: u32, ends: Ends, time: Ps, fx: &mut impl Fx) {
        let Ends { source, destination } = ends;
        debug_assert_eq!(time, fx.now(), "who answers sees arrivals when they are");
        let control = cx.control();
        let interval = control.scheme.interval();
        if interval > 0 {
            if self.control.informed(source, destination).is_some_and(|last| time < last + interval) {
                return;
            }
            self.control.inform(source, destination, time);
        }
        debug_assert_eq!(cx.local.terminals[i as usize], destination, "it arrived in its partition");
        let row = self.control.sources.edit(i);
        row.sent = row.sent.wrapping_add(1);
        let count = row.sent;
        if control.forgets && count.is_multiple_of(100) {
            return;
        }
        let name = Name::Notice.of(destination.number(), count);
        let partition = cx.net.owner[cx.net.fabric.router_at(source)];
        let wire = Wire::Notice { source, destination };
        fx.send(partition, cx.net.lane, time + control.delay, Class::Ordinary, name, wire);
    }

    /// A source hears that packets to a destination met congestion.
    pub(crate) fn notified(&mut self, cx: &Static, ends: Ends, fx: &mut impl Fx) {
        let Ends { source, destination } = ends;
        let (now, scheme) = (fx.now(), &cx.control().scheme);
        let i = cx.local.terminals.binary_search(&source).expect("it reached the source's partition") as u32;
        let u = cx.local.port_of(i);
        // What was handed over before now went at the pace of then.
        self.catch_up_terminal(cx, u, now, fx);
        self.control.sources.edit(i).received += 1;
        let flow = self.control.flow(source, cx.queue_of(source, destination));
        let pace = self.control.pace(flow);
        scheme.notified(pace, now);
        let Gauge { rate, level } = scheme.gauge(pace, now);
        fx.record(Record::Notified { time: now, source, destination, rate, level });
        self.set_due(cx, u, fx);
    }
}
