//! When a port toward a terminal whose rank answers is looked at next: for what may complete a packet, and for nothing before it.
//!
//! The answer to a packet may be sent at the instant of its last arrival, so that is an event. Chunks before it are not: whoever looks at the port later takes them first. As long as the
//! completing chunk waits for the link, its arrival is not known, but a bound of it: what goes before it in its own virtual channel takes its time. There the port is looked at again. A packet that becomes complete at this router (`ripe`) may go before, so it makes a new plan.

use super::{Net, Router, Static};
use crate::{
    effects::Fx,
    event::{Alarm, Name},
    network::Timing,
    places::LocalPort,
    pools::{ChunkRow, List, RowNumber},
};
use base::time::{NEVER, Ps};
use engine::key::Class;

/// Chunks of a virtual channel that are looked at.
const MOST_LOOKED: usize = 64;

impl<R: Router> Net<R> {
    /// Whether a chunk on its way to a terminal may be the one that completes its packet: the last one, or any if they come in disorder.
    #[inline]
    fn may_complete(&self, c: ChunkRow) -> bool {
        let chunk = self.chunks.get(c);
        let packet = self.packets.get(chunk.packet);
        packet.accepted == packet.chunks && (chunk.is_last() || packet.disordered)
    }

    /// Least time from a start of a port to the start of a chunk that may complete a packet, if such a one is found in these lists of its virtual channels.
    pub fn before_complete(
        &self,
        cx: &Static,
        timing: &Timing,
        lists: impl Iterator<Item = List<ChunkRow>>,
    ) -> Option<Ps> {
        let mut least = None;
        for list in lists {
            let mut ahead = 0;
            for c in list.iter(&self.chunks).take(MOST_LOOKED) {
                if least.is_some_and(|least| ahead >= least) {
                    break;
                }
                if self.may_complete(c) {
                    least = Some(ahead);
                    break;
                }
                ahead += self.least_time(cx, timing, c);
            }
        }
        least
    }

    /// Time of a chunk on a link, rounded down: packets of several chunks have full ones, the last included.
    fn least_time(&self, cx: &Static, timing: &Timing, c: ChunkRow) -> Ps {
        let packet = self.packets.get(self.chunks.get(c).packet);
        let chunk = cx.net.config.chunk;
        if packet.chunks > 1 {
            timing.chunk.whole
        } else {
            timing.span(packet.bytes.clamp(1, chunk), chunk).whole
        }
    }

    /// Sets the next pull or tick of a port toward a terminal at which nobody waits for credits; its next chunk starts at `start` if its link is empty.
    pub fn plan_ripe(
        &mut self,
        cx: &Static,
        u: LocalPort,
        start: impl FnOnce(&Self) -> Ps,
        fx: &mut impl Fx,
    ) {
        debug_assert!(!R::pressed(self, u), "whoever waits for credits waits for every arrival");
        let line = Self::line(cx, u);
        let timing = &cx.net.timings[line.timing as usize];
        let port = self.ports.get(u);
        let span = timing.shortest + timing.delay;
        // What arrives at this instant completes nothing: else it would have been due.
        let mut first = port.flight.head;
        while !first.is_nil() && self.flights.get(first).time <= fx.now() {
            first = self.flights.get(first).next;
        }
        let arrival = |time, number| (time, Name::Arrival.of(line.link.number(), number), Alarm::Pull(u));
        // Every arrival counts where something arrives at this very instant, or packets are too many to be counted.
        let counts_all = first != port.flight.head || port.ripe == u8::MAX;
        let mut completing = if counts_all { first } else { port.flight.head };
        while !counts_all && !completing.is_nil() && !self.may_complete(self.flights.get(completing).chunk) {
            completing = self.flights.get(completing).next;
        }
        let (due, name, alarm) = if port.ripe == 0 {
            arrival(NEVER, 0)
        } else if !completing.is_nil() {
            let flight = self.flights.get(completing);
            arrival(flight.time, flight.number)
        } else {
            let ahead = if counts_all { None } else { R::before_complete(self, cx, u) };
            let begin = start(self);
            let least = begin.saturating_add(span + ahead.unwrap_or(0));
            match ahead {
                // A picosecond before what may be an arrival: that is an event of its own name.
                Some(ahead) if least != NEVER && least > fx.now() + 1 && (ahead > 0 || !first.is_nil()) => {
                    (least - 1, Name::Tick.of(line.link.number(), port.sent), Alarm::Tick(u))
                }
                _ if !first.is_nil() => {
                    let flight = self.flights.get(first);
                    arrival(flight.time, flight.number)
                }
                _ => arrival(begin.saturating_add(span), port.sent),
            }
        };
        debug_assert!(due >= fx.now(), "alarms lie ahead");
        if due != self.ports.get(u).due {
            self.ports.edit(u).due = due;
            if due != NEVER {
                fx.wake(due, Class::Ordinary, name, alarm.token());
            }
        }
    }
}
