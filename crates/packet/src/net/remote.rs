//! Chunks that cross from one partition to another: each takes what its packet's row needs with it.

use super::{Net, Router, Static};
use crate::{
    effects::{Fx, Travel, Wire},
    event::Name,
    places::{LocalPort, Upstream},
    rows::{Chunk, Flight, Packet},
};
use engine::{domain::Lane, key::Class};

impl<R: Router> Net<R> {
    /// A chunk that another partition sent arrives now.
    pub fn chunk_from_afar(&mut self, cx: &Static, t: &Travel, fx: &mut impl Fx) {
        let chunks = t.packet_chunks();
        let packet = match self.known.get(t.id.key(), Self::part(cx, t.destination)) {
            Some(p) => p,
            None => {
                let p = self.packets.take(Packet {
                    id: t.id,
                    created: t.created,
                    start: t.start,
                    message_created: t.message_created,
                    destination: t.destination,
                    bytes: t.bytes,
                    message: t.message,
                    message_packets: t.message_packets,
                    chunks,
                    ..Packet::NONE
                });
                self.known.set(t.id.key(), Self::part(cx, t.destination), p);
                p
            }
        };
        let row = self.packets.edit(packet);
        debug_assert!(row.id == t.id && t.index < chunks, "a packet is known by its id");
        row.here += 1;
        debug_assert!(row.here + row.delivered <= row.chunks, "every chunk comes in once");
        row.signs.set(t.signs());
        // What a packet gathers on its way travels with its last chunk alone.
        if t.index + 1 == chunks {
            (row.serialisation, row.wire, row.hops) = (t.serialisation, t.wire, t.hops);
        }
        let c = self
            .chunks
            .take(Chunk::new(packet, t.index, t.index + 1 == chunks).with_visited(u16::from(t.visited)));
        self.notes.set(c, t.state);
        // Messages name links, which both partitions know; here the link is a line that comes in.
        let inbound = cx.net.crossings[t.link.index()].inbound;
        let line = cx.local.inbound[inbound as usize];
        R::arrive(self, cx, c, &line, Upstream::afar(inbound), t.vc, fx);
    }

    /// A chunk leaves for partition `to`; `flight` says when it will arrive there.
    pub fn send_afar(&mut self, cx: &Static, u: LocalPort, to: u32, flight: &Flight, fx: &mut impl Fx) {
        let c = flight.chunk;
        debug_assert_ne!(to, cx.local.partition, "what stays here is put on a link");
        let chunk = *self.chunks.get(c);
        let packet = *self.packets.get(chunk.packet);
        debug_assert!(packet.here > 0, "what leaves was here");
        let link = Self::line(cx, u).link;
        let travel = Travel {
            id: packet.id,
            created: packet.created,
            start: packet.start,
            message_created: packet.message_created,
            destination: packet.destination,
            bytes: packet.bytes,
            message: packet.message,
            message_packets: packet.message_packets,
            serialisation: packet.serialisation,
            wire: packet.wire,
            state: self.notes.get(c),
            link,
            chunks: packet.chunks | packet.signs.travelling(),
            index: chunk.index(),
            visited: chunk.visited() as u8,
            hops: packet.hops,
            vc: flight.vc,
        };
        let lane = Lane::Network;
        let name = Name::Arrival.of(link.number(), flight.number);
        fx.send(to, lane, flight.time, Class::Ordinary, name, Wire::Chunk(travel));
        self.chunks.give(c);
        self.packets.edit(chunk.packet).here -= 1;
        self.forget_if_gone(cx, chunk.packet);
    }
}
