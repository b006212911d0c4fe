//! Window routers: acceptance, service, credits. The rules are numbered in `PACKET.md`.

use super::{
    config::{RoutePer, RouterKind},
    network::{End, Line},
    rows::Flight,
    state::{Fx, Record, State, Static},
};
use base::time::{NEVER, Ps};
use engine::state::NIL;
use fabric::routing::{Choice, Congestion, Hop};

/// What an adaptive routing sees of the router it is asked at.
struct View<'a, F> {
    state: &'a mut State,
    cx: &'a Static,
    base: u32,
    /// The asking routing's virtual channel 0.
    first_vc: u8,
    fx: &'a mut F,
}

impl<F: Fx> Congestion for View<'_, F> {
    fn backlog(&mut self, port: u32) -> u64 {
        // A clocked router's event comes a picosecond after the instant that its decisions belong to.
        let late = Ps::from(self.cx.net.config.router == RouterKind::InputQueued);
        let (u, now) = (self.base + port, self.fx.now() - late);
        if let End::Terminal { .. } = State::line(self.cx, u).end {
            self.state.touch(self.cx, u, now, self.fx);
        }
        if self.state.ports.get(u).blocked == 0 {
            self.state.drain_credits(u, now);
        }
        u64::from(self.state.ports.get(u).backlog) * u64::from(self.cx.net.config.chunk)
    }

    fn credits(&mut self, port: u32, vc: u8) -> u64 {
        self.backlog(port);
        let u = self.base + port;
        let capacity = self.cx.net.timings[State::line(self.cx, u).timing as usize].capacity;
        let v = self.state.vcs_per_port(u) + u32::from(self.first_vc + vc);
        let used = self.state.vcs.get(v).occupancy;
        u64::from(capacity.saturating_sub(used)) * u64::from(self.cx.net.config.chunk)
    }

    fn published(&mut self, link: u32) -> u64 {
        // One partition: local ports are numbered as the fabric's.
        u64::from(self.state.published.seen(link)) * u64::from(self.cx.net.config.chunk)
    }
}

/// Shown to routings that never look.
struct Blind;

impl Congestion for Blind {
    fn backlog(&mut self, _: u32) -> u64 {
        0
    }
}

impl State {
    /// Asks the routing where a chunk at a router goes next.
    #[inline]
    pub(super) fn decide(&mut self, cx: &Static, c: u32, line: &Line, vc: u8, fx: &mut impl Fx) -> Choice {
        let End::Router { router, base, in_port, .. } = line.end else { unreachable!("only routers route") };
        self.wake_publisher(cx, fx);
        let chunk = self.chunks.get(c);
        let packet = self.packets.get(chunk.packet);
        let (id, visited) = (packet.id, chunk.visited());
        let follow = cx.net.config.route_per == RoutePer::Packet;
        let index = if follow { 0 } else { chunk.index() };
        let mut hop = Hop {
            router,
            in_port,
            vc,
            visited,
            source: (id >> 32) as u32,
            destination: packet.destination,
            state: self.notes.get(c),
            random: cx.net.route_stream.owned_by(id).at(u64::from(index) << 32 | u64::from(visited) << 16),
        };
        let (many, first, last) = (packet.chunks > 1, chunk.index() == 0, chunk.is_last());
        let way = cx.net.routes.way(packet.start, vc);
        // Clocked routers ask for heads only; diverted chunks all go one way.
        let clocked = cx.net.config.router == RouterKind::InputQueued;
        let trail = follow && many && !clocked && !way.diverted && !way.oblivious;
        let choice = if trail && !first {
            let known = if last {
                self.trails.remove(id, u32::from(visited))
            } else {
                self.trails.get(id, u32::from(visited))
            };
            known.expect("the first chunk went before")
        } else {
            let choice = way.route(&mut hop, &mut View { state: self, cx, base, first_vc: way.first_vc, fx });
            if trail {
                self.trails.set(id, u32::from(visited), choice);
            }
            choice
        };
        if !cx.net.routes.change() {
            return choice;
        }
        let link = cx.net.fabric.port_index(router, choice.port);
        match cx.net.routes.divert(fx.now() - Ps::from(clocked), router, link) {
            // As if it began here.
            Some(around) => around.route(&mut Hop { vc: 0, visited: 0, state: 0, ..hop }, &mut Blind),
            None => choice,
        }
    }

    /// Touches the output that the chunk of a flight on link `u` will take, if that can be told ahead.
    #[inline]
    pub(super) fn prefetch_output(&self, cx: &Static, u: u32, flight: u32) {
        let End::Router { router, base, in_port, .. } = Self::line(cx, u).end else { return };
        // Clocked routers know classes of channels, and are not worth it.
        let clocked = cx.net.config.router == RouterKind::InputQueued;
        if !cx.net.routes.oblivious() || (clocked && cx.net.routes.change()) {
            return;
        }
        let flight = self.flights.get(flight);
        let chunk = self.chunks.get(flight.chunk);
        let packet = self.packets.get(chunk.packet);
        let mut hop = Hop {
            router,
            in_port,
            vc: flight.vc,
            visited: chunk.visited(),
            source: (packet.id >> 32) as u32,
            destination: packet.destination,
            state: self.notes.get(flight.chunk),
            random: cx.net.route_stream,
        };
        let choice = cx.net.routes.way(packet.start, flight.vc).route(&mut hop, &mut Blind);
        self.ports.prefetch(base + choice.port);
        self.vcs.prefetch(self.vcs_per_port(base + choice.port));
    }

    /// Rule 1: a chunk arrived at a router; route it, then accept or queue it.
    pub(super) fn pass_on(
        &mut self,
        cx: &Static,
        c: u32,
        line: &Line,
        from: u32,
        from_vc: u8,
        fx: &mut impl Fx,
    ) {
        let now = fx.now();
        let choice = self.decide(cx, c, line, from_vc, fx);
        let End::Router { base, in_port, .. } = line.end else { unreachable!("only routers pass on") };
        let u = base + choice.port;
        self.notes.set(c, choice.state);
        self.chunks.edit(c).visit();
        let out = Self::line(cx, u);
        if self.ports.get(u).waiting != 0 {
            self.catch_up(cx, u, now, fx);
        }
        if let End::Terminal { .. } = out.end {
            self.eject(cx, u, now, fx);
        }
        let port = self.ports.edit(u);
        port.backlog += 1;
        let free = port.blocked >> choice.vc & 1 == 0;
        if port.blocked == 0 && port.first_credit >> 4 <= now {
            self.drain_credits(u, now);
        }
        let timing = &cx.net.timings[out.timing as usize];
        let v = self.vcs_per_port(u) + u32::from(choice.vc);
        if free && self.vcs.get(v).occupancy < timing.capacity {
            self.accept(cx, c, u, choice.vc, fx);
            self.return_credit(cx, from, from_vc, now, fx);
        } else {
            self.chunks.edit(c).set_origin(in_port * self.width + u32::from(from_vc));
            self.queued.edit(v).push(&mut self.chunks, c);
            self.ports.edit(u).blocked |= 1 << choice.vc;
            self.set_credit(cx, u, fx);
            if self.ports.get(u).due == NEVER {
                self.set_due(cx, u, fx);
            }
        }
    }

    /// A chunk gets buffer at a port, at the present instant; the caller releases the one it held.
    #[inline]
    fn accept(&mut self, cx: &Static, c: u32, u: u32, vc: u8, fx: &mut impl Fx) {
        let now = fx.now();
        let chunk = self.chunks.get(c);
        let (id, index) = (self.packets.get(chunk.packet).id, chunk.index());
        fx.record(Record::Accepted {
            time: now + fx.suspended(),
            link: Self::line(cx, u).link,
            vc,
            id,
            index,
        });
        let v = self.vcs_per_port(u) + u32::from(vc);
        let row = self.vcs.edit(v);
        row.occupancy += 1;
        row.pending.push(&mut self.chunks, c);
        let port = self.ports.edit(u);
        if cx.net.ripens && matches!(Self::line(cx, u).end, End::Terminal { .. }) {
            let packet = self.packets.edit(self.chunks.get(c).packet);
            packet.accepted += 1;
            port.ripe = port.ripe.saturating_add(u8::from(packet.accepted == packet.chunks));
        }
        if port.waiting == 0 {
            port.since = now;
        }
        port.waiting |= 1 << vc;
        if port.due == NEVER {
            self.set_due(cx, u, fx);
        }
    }

    /// The upstream port and VC that a chunk queued at port `u` came from.
    #[inline]
    pub fn origin(&self, cx: &Static, u: u32, origin: u32) -> (u32, u8) {
        let input = Self::line(cx, u).own_base + origin / self.width;
        (cx.local.upstream[input as usize], (origin % self.width) as u8)
    }

    /// Rule 2: a credit that a blocked port waits for is there.
    pub(super) fn credit_event(&mut self, cx: &Static, u: u32, fx: &mut impl Fx) {
        let now = fx.now();
        self.ports.edit(u).credit_set = false;
        self.touch(cx, u, now, fx);
        while let Some(vc) = self.next_credit(u, now) {
            let v = self.vcs_per_port(u) + vc;
            let Some(first) = self.queued.edit(v).pop(&self.chunks) else { continue };
            if self.queued.get(v).is_empty() {
                self.ports.edit(u).blocked &= !(1 << vc);
            }
            let origin = self.chunks.get(first).origin();
            self.accept(cx, first, u, vc as u8, fx);
            let (from, from_vc) = self.origin(cx, u, origin);
            self.return_credit(cx, from, from_vc, now, fx);
        }
        self.set_credit(cx, u, fx);
    }

    /// Rule 3: all services of a router's port that start before `t`.
    #[inline]
    pub(super) fn catch_up(&mut self, cx: &Static, u: u32, t: Ps, fx: &mut impl Fx) {
        if self.ports.get(u).waiting == 0 {
            return;
        }
        let line = Self::line(cx, u);
        let timing = &cx.net.timings[line.timing as usize];
        let first_vc = self.vcs_per_port(u);
        loop {
            let port = self.ports.get(u);
            let start = port.clock.rounded(timing.denominator).max(port.since);
            if start >= t {
                return;
            }
            let port = self.ports.edit(u);
            let vc = after(port.waiting, port.last_vc);
            port.last_vc = vc;
            let row = self.vcs.edit(first_vc + u32::from(vc));
            let c = row.pending.pop(&self.chunks).expect("a waiting VC has something pending");
            if row.pending.is_empty() {
                port.waiting &= !(1 << vc);
            } else {
                self.chunks.prefetch(row.pending.head);
            }
            let more = port.waiting != 0;
            self.put_on_link(cx, c, u, vc, start, fx);
            if !more {
                return;
            }
        }
    }

    /// A chunk starts onto a link at `start`.
    #[inline]
    pub(super) fn put_on_link(&mut self, cx: &Static, c: u32, u: u32, vc: u8, start: Ps, fx: &mut impl Fx) {
        let line = Self::line(cx, u);
        let timing = &cx.net.timings[line.timing as usize];
        let chunk = self.chunks.get(c);
        let mut span = timing.chunk;
        if !cx.net.uniform {
            let bytes = self.packets.get(chunk.packet).bytes.clamp(1, cx.net.config.chunk);
            span = timing.span(bytes, cx.net.config.chunk);
            *self.carried.edit(u) += u64::from(bytes);
            if cx.net.sleep_after > 0 {
                let idle = start.saturating_sub(self.ports.get(u).clock.rounded(timing.denominator));
                end_rest(self.rests.edit(u), idle, cx.net.sleep_after);
            }
        }
        if chunk.is_last() {
            let packet = self.packets.edit(chunk.packet);
            packet.serialisation =
                packet.serialisation.saturating_add((span.whole >> cx.net.part_shift) as u32);
            packet.wire = packet.wire.saturating_add((timing.latency >> cx.net.part_shift) as u32);
            packet.hops += u16::from(u < cx.local.router_ports());
        }
        let port = self.ports.edit(u);
        let time = port.clock.advance(start, span, timing.denominator) + timing.delay;
        let number = port.sent;
        port.sent = number.wrapping_add(1);
        let flight = Flight { time, chunk: c, number, next: NIL, vc };
        if let End::Remote { partition } = line.end {
            self.send_afar(cx, u, partition, &flight, fx);
        } else {
            let flight = self.flights.take(flight);
            port.flight.push(&mut self.flights, flight);
        }
    }

    /// A port toward another partition sends what started.
    pub(super) fn tick(&mut self, cx: &Static, u: u32, fx: &mut impl Fx) {
        if self.ports.get(u).due == fx.now() {
            self.touch(cx, u, fx.now(), fx);
            self.set_due(cx, u, fx);
        }
    }
}

/// A link was idle for so long: it slept if that is longer than `after`.
fn end_rest(rest: &mut (Ps, u32), idle: Ps, after: Ps) {
    if idle > after {
        *rest = (rest.0 + idle - after, rest.1 + 1);
    }
}

/// Round robin: the first of `waiting` after `last`, else the first of all.
#[inline]
pub(super) fn after(waiting: u16, last: u8) -> u8 {
    let later = u32::from(waiting) & !((2u32 << last) - 1);
    let mask = if later != 0 { later } else { u32::from(waiting) };
    mask.trailing_zeros() as u8
}

#[cfg(test)]
mod tests {
    use super::after;

    #[test]
    fn round_robin_goes_around() {
        assert_eq!(after(0b1011, 15), 0);
        assert_eq!(after(0b1011, 0), 1);
        assert_eq!(after(0b1011, 1), 3);
        assert_eq!(after(0b1011, 3), 0);
        assert_eq!(after(0b1000, 3), 3);
        assert_eq!(after(0x8000, 15), 15);
    }
}
