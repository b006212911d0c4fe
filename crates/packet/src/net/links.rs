//! Links: chunks put on them, lost on them, and taken off them toward terminals.

use super::{Complete, Net, Router, Static};
use crate::{
    effects::{Fx, Record},
    event::Name,
    network::{End, Line, Timing},
    rows::{Flight, Signs},
    transport::word::{How, Word},
};
use crate::{
    places::{LocalPort, Upstream},
    pools::{ChunkRow, FlightRow, PacketRow, RowNumber},
};
use base::{
    index::{ChannelId, LinkId},
    time::Ps,
};

/// An upstream port with what describes its link: looked up once where a handler asks several times.
#[derive(Clone, Copy)]
pub struct Output<'a> {
    /// The port itself, by local number.
    pub port: LocalPort,
    /// What is known of its link.
    pub line: &'a Line,
    /// How long things take there.
    pub timing: &'a Timing,
}

impl<'a> Output<'a> {
    /// That of a port.
    #[inline]
    #[must_use]
    pub fn of(cx: &'a Static, port: LocalPort) -> Self {
        let line = &cx.local.lines[port];
        Self { port, line, timing: &cx.net.timings[usize::from(line.timing)] }
    }
}

impl<R: Router> Net<R> {
    /// A chunk starts onto a link at `start`.
    #[inline]
    pub fn put_on_link(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        u: LocalPort,
        vc: ChannelId,
        start: Ps,
        fx: &mut impl Fx,
    ) {
        self.put_on(cx, c, Output::of(cx, u), vc, start, fx);
    }

    /// The same for who has looked the link up.
    #[inline]
    pub fn put_on(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        out: Output<'_>,
        vc: ChannelId,
        mut start: Ps,
        fx: &mut impl Fx,
    ) {
        let Output { port: u, line, timing } = out;
        let chunk = self.chunks.get(c);
        let mut span = timing.chunk;
        if !cx.net.uniform {
            let bytes = self.packets.get(chunk.packet).bytes.clamp(1, cx.net.config.chunk);
            span = timing.span(bytes, cx.net.config.chunk);
            let carried = self.carried.edit(u);
            let first = *carried == 0;
            *carried += u64::from(bytes);
            if let Some(sleep) = &cx.net.sleep {
                let idle = start.saturating_sub(self.ports.get(u).clock.rounded(timing.denominator));
                // Alarms for arrivals are set for the earliest instant, and set anew if nothing is there: so a start may move.
                if self.rests.edit(u).end(idle, first, sleep) {
                    start += sleep.wait;
                }
            }
        }
        if chunk.is_last() {
            let packet = self.packets.edit(chunk.packet);
            packet.serialisation =
                packet.serialisation.saturating_add((span.whole >> cx.net.part_shift) as u32);
            packet.wire = packet.wire.saturating_add((timing.latency >> cx.net.part_shift) as u32);
            packet.hops += u16::from(cx.local.is_routers(u));
        }
        let port = self.ports.edit(u);
        let time = port.clock.advance(start, span, timing.denominator) + timing.delay;
        debug_assert!(time > start, "nothing arrives when it starts");
        // Chunks on a link are distinguished by their number: ties of arrivals hang on it in every partitioning alike.
        let number = port.sent;
        port.sent = number.wrapping_add(1);
        let flight = Flight { time, chunk: c, number, next: FlightRow::NIL, vc };
        if let End::Remote { partition } = line.end {
            self.send_afar(cx, u, partition, &flight, fx);
        } else {
            let flight = self.flights.take(flight);
            debug_assert!(
                port.flight.is_empty() || self.flights.get(port.flight.tail).time <= time,
                "chunks of a link arrive in the order in which they were put on it"
            );
            port.flight.append(&mut self.flights, flight);
        }
    }

    /// True if the present alarm is not that of the chunk which arrives now, which rings at this instant too. Who expected a chunk at an instant, and saw it
    /// come earlier, left an alarm behind: it would take a later chunk out of its turn among all that happens now.
    #[inline]
    pub fn rings_for_another(&self, line: &Line, u: LocalPort, fx: &impl Fx) -> bool {
        let now = fx.now();
        let mut first = self.ports.get(u).flight.head;
        // What a terminal need not look at as it arrives is still there.
        while !first.is_nil() && self.flights.get(first).time < now {
            first = self.flights.get(first).next;
        }
        if first.is_nil() {
            return false;
        }
        let flight = self.flights.get(first);
        flight.time == now && Name::Arrival.of(line.link.number(), flight.number) != fx.identity()
    }

    /// Takes the first chunk off a link in whose partition both ends are, and says when the next one arrives.
    #[inline]
    pub fn take_flight(&mut self, u: LocalPort) -> (Flight, Option<Ps>) {
        let first = self.ports.get(u).flight.head;
        debug_assert!(!first.is_nil(), "only a link with a chunk on it is taken from");
        let flight = self.flights.take_out(first);
        self.ports.edit(u).flight.head = flight.next;
        (flight, (!flight.next.is_nil()).then(|| self.flights.get(flight.next).time))
    }

    /// Chunks that reached the terminal behind port `u` before `t`: each returns its credit; what they complete is left for the edge.
    #[inline]
    pub fn eject(&mut self, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        loop {
            let first = self.ports.get(u).flight.head;
            if first.is_nil() || self.flights.get(first).time >= t {
                return;
            }
            let flight = self.flights.take_out(first);
            self.ports.edit(u).flight.head = flight.next;
            self.deliver(cx, &flight, u, fx);
        }
    }

    fn deliver(&mut self, cx: &Static, flight: &Flight, u: LocalPort, fx: &mut impl Fx) {
        if Self::is_lossy(cx) {
            let line = Self::line(cx, u);
            if self.discard_lost(cx, flight.chunk, line.timing, line.link, flight.time, fx) {
                return self.return_credit(cx, Upstream::here(u), flight.vc, flight.time, fx);
            }
        }
        // A terminal takes out what arrives at once: the buffer before it is free when the chunk is there.
        let chunk = self.chunks.take_out(flight.chunk);
        self.return_credit(cx, Upstream::here(u), flight.vc, flight.time, fx);
        let packet = self.packets.edit(chunk.packet);
        debug_assert!(packet.here > 0 && packet.delivered < packet.chunks, "every chunk arrives once");
        packet.here -= 1;
        // Chunks that keep their order are delivered as they are numbered.
        packet.disordered |= chunk.index() != packet.delivered;
        packet.delivered += 1;
        if chunk.is_last() {
            packet.last_arrival = flight.time;
        }
        if packet.delivered == packet.chunks {
            debug_assert!(
                chunk.is_last() || packet.disordered,
                "in order, the last chunk completes a packet"
            );
            // Copied: its row is given back before the edge takes it up.
            let packet = *packet;
            self.forget_if_gone(cx, chunk.packet);
            let ripe = self.ports.get(u).ripe;
            if Self::ripens(cx) && ripe > 0 && ripe < u8::MAX {
                self.ports.edit(u).ripe = ripe - 1;
            }
            self.complete.push(Complete { packet, port: u, time: flight.time });
        }
    }

    /// True if the chunk was lost on the link that it came over: it is gone then, and the caller frees its buffer.
    pub fn discard_lost(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        timing: u8,
        link: LinkId,
        time: Ps,
        fx: &mut impl Fx,
    ) -> bool {
        let Some(losses) = &cx.net.losses else { return false };
        let chunk = *self.chunks.get(c);
        let packet = self.packets.get(chunk.packet);
        let (id, bytes, ack) = (packet.id, packet.bytes, Word(packet.message_packets).is_ack());
        debug_assert!(packet.here > 0, "a packet counts its chunks");
        if losses.lossy && losses.loses(timing, link, id, bytes.max(1)) {
            self.chunks.give(c);
            self.packets.edit(chunk.packet).here -= 1;
            // All chunks of a packet share its fate on a link: it is decided once, with the last.
            if chunk.is_last() {
                let class = if timing == cx.net.injection() { 0 } else { timing };
                fx.record(Record::Ended { time, id, ack, how: How::Lost { class } });
            }
            self.forget_if_gone(cx, chunk.packet);
            return true;
        }
        if chunk.index() == 0 && losses.tampering && losses.tampers(timing, link, id) {
            self.packets.edit(chunk.packet).signs.set(Signs::TAMPERED);
        }
        false
    }

    /// Frees a packet's row when no chunk of it is here and none was delivered here that others must join.
    pub fn forget_if_gone(&mut self, cx: &Static, p: PacketRow) {
        let row = self.packets.get(p);
        debug_assert!(
            row.here + row.delivered <= row.chunks,
            "a packet has no more chunks than it was cut into"
        );
        if row.here == 0 && (row.delivered == 0 || row.delivered == row.chunks) {
            if Self::knows(cx) {
                self.known.remove(row.id.key(), Self::part(cx, row.destination));
            }
            self.packets.give(p);
        }
    }
}
