//! Where every packet is that was handed over and has not arrived: counted from terminals' queues, links, routers' buffers and messages
//! between partitions, whatever the books say.

use crate::{
    check::Pending,
    effects::Wire,
    identity::PacketId,
    net::{Net, Router, Static},
    pools::ChunkRow,
    rows::{Chunk, Packet},
    state::PacketDomain,
};
use base::index::TerminalId;
use engine::agenda::Due;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What was found of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Found {
    /// Chunks: those under way and those that arrived.
    chunks: u32,
    /// Chunks that it has.
    of: u32,
    /// Places in the packet of those under way, added up.
    places: u32,
    /// Chunks that arrived, if in order.
    arrived: u32,
    /// Some arrived out of order, so that it is not known which.
    disordered: bool,
    /// Payload and destination.
    bytes: u32,
    destination: TerminalId,
    /// It is under way past the network, where chunks do not count.
    whole: bool,
}

/// The packets that a partition holds, or several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Census {
    found: BTreeMap<PacketId, Found>,
    /// Chunks go away by themselves here: links lose packets, or packets are taken out of the network.
    leaks: bool,
    /// What contradicts itself.
    faults: Vec<String>,
}

/// What a row stands for: a packet, or one for each member of a multicast that it is still to reach.
fn parts(cx: &Static, row: &Packet) -> Vec<Packet> {
    let members = cx.net.trees.as_ref().and_then(|trees| trees.members(row.destination));
    let Some(members) = members else { return vec![*row] };
    let part =
        |(n, &destination): (usize, &TerminalId)| Packet { id: row.id.plus(n as u32), destination, ..*row };
    members.iter().enumerate().map(part).collect()
}

impl Census {
    /// Of one partition, settled, with what is pending in it.
    #[must_use]
    pub fn of<R: Router>(domain: &PacketDomain<R>, pending: &Pending) -> Self {
        let (net, cx) = (&domain.state.net, &domain.cx);
        let leaks = cx.net.hybrid.is_some() || cx.net.resilience.is_some();
        let mut census = Self { leaks, ..Self::default() };
        // Rows of packets that may have chunks which arrived, with the chunks that are here.
        let mut rows = BTreeMap::new();
        let mut under_way = |net: &Net<R>, chunk: ChunkRow| {
            let chunk = net.chunks.get(chunk);
            *rows.entry(chunk.packet).or_insert(0u32) += 1;
            for row in parts(cx, net.packets.get(chunk.packet)) {
                census.under_way(&row, chunk);
            }
        };
        for (u, _) in cx.local.lines.iter() {
            for flight in net.ports.get(u).flight.iter(&net.flights) {
                under_way(net, net.flights.get(flight).chunk);
            }
            R::chunks(net, cx, u, &mut |chunk| under_way(net, chunk));
        }
        for i in 0..cx.local.terminals.len() as u32 {
            let terminal = domain.state.terminals.get(i);
            let mut sent = u32::from(terminal.sent);
            for packet in terminal.queue.iter(&net.packets) {
                let row = net.packets.get(packet);
                // All that were sent may have arrived while the next one waits for a credit.
                *rows.entry(packet).or_default() += u32::from(row.chunks).saturating_sub(sent);
                parts(cx, row).iter().for_each(|row| census.waits(row, sent));
                sent = 0;
            }
        }
        // Where there are several partitions all rows are known by name; else who lacks chunks has some in a queue, a buffer or on a link.
        net.known.each(|_, _, &packet| {
            rows.entry(packet).or_default();
        });
        for (packet, here) in rows {
            parts(cx, net.packets.get(packet)).iter().for_each(|row| census.arrived(row, here));
        }
        census.find_pending(cx, pending);
        for (_, p) in domain.state.surrogate.held() {
            census.find_whole(p.id, p.packets);
        }
        domain.state.adapters.each(|held| census.find_whole(held.packet.id, 1));
        census.faults.extend(domain.state.adapters.faults(&cx.local.terminals));
        census
    }

    /// A chunk is in a buffer or on a link.
    fn under_way(&mut self, row: &Packet, chunk: &Chunk) {
        let index = u32::from(chunk.index());
        if chunk.is_last() != (index + 1 == u32::from(row.chunks)) {
            self.faults.push(format!("chunk {index} of packet {} is taken for another", row.id));
        }
        self.add(row, 1, index);
    }

    /// Chunks of a packet from number `sent` on are in its terminal.
    fn waits(&mut self, row: &Packet, sent: u32) {
        let chunks = u32::from(row.chunks);
        if sent > chunks {
            self.faults.push(format!("{sent} of {chunks} chunks of packet {} were sent", row.id));
        }
        self.add(row, chunks.saturating_sub(sent), (sent..chunks).sum());
    }

    /// Chunks of a packet arrived in this partition, and so many others are in it.
    fn arrived(&mut self, row: &Packet, here: u32) {
        let found = self.add(row, u32::from(row.delivered), 0);
        found.arrived += u32::from(row.delivered);
        found.disordered |= row.disordered;
        if here != u32::from(row.here) {
            self.faults.push(format!("packet {} counts {} chunks, {here} are there", row.id, row.here));
        }
    }

    fn add(&mut self, row: &Packet, chunks: u32, places: u32) -> &mut Found {
        let entry = self.found.entry(row.id).or_default();
        entry.chunks += chunks;
        entry.places += places;
        (entry.of, entry.bytes, entry.destination) = (u32::from(row.chunks), row.bytes, row.destination);
        entry
    }

    fn find_pending(&mut self, cx: &Static, pending: &Pending) {
        for (_, _, due) in pending {
            match due {
                Due::Message(Wire::Chunk(t)) => {
                    let (id, bytes, destination) = (t.id, t.bytes, t.destination);
                    let row = Packet { id, bytes, destination, chunks: t.packet_chunks(), ..Packet::NONE };
                    for row in parts(cx, &row) {
                        self.add(&row, 1, u32::from(t.index));
                    }
                }
                Due::Message(Wire::Predicted(p)) => self.find_whole(p.id, p.packets),
                Due::Wake(_)
                | Due::Message(
                    Wire::Credit { .. }
                    | Wire::Ahead { .. }
                    | Wire::Ack { .. }
                    | Wire::Notice { .. }
                    | Wire::Taken { .. },
                ) => {}
            }
        }
    }

    fn find_whole(&mut self, first: PacketId, packets: u32) {
        for id in (0..packets).map(|n| first.plus(n)) {
            self.found.entry(id).or_default().whole = true;
        }
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        for (id, found) in other.found {
            let entry = self.found.entry(id).or_insert(Found { chunks: 0, places: 0, arrived: 0, ..found });
            if (entry.bytes, entry.destination, entry.of) != (found.bytes, found.destination, found.of) {
                self.faults.push(format!("packet {id} is not the same in two partitions"));
            }
            entry.chunks += found.chunks;
            entry.places += found.places;
            entry.arrived += found.arrived;
            entry.disordered |= found.disordered;
            entry.whole |= found.whole;
        }
        self.leaks |= other.leaks;
        self.faults.extend(other.faults);
    }

    /// What is wrong with a packet that was handed over and has not arrived; `content` says what it was handed over with, if that is known.
    fn fault(&self, id: PacketId, content: Option<(u32, TerminalId)>) -> Option<String> {
        let Some(found) = self.found.get(&id) else {
            return Some(format!("packet {id} is neither delivered nor in any queue or buffer or on a link"));
        };
        if found.whole || self.leaks {
            return None;
        }
        let Found { chunks, of, places, arrived, disordered, bytes, destination, .. } = *found;
        // Those that arrived in order are the first ones.
        let all = |n: u32| n * n.saturating_sub(1) / 2;
        if chunks != of {
            Some(format!("of packet {id} {chunks} of {of} chunks are there"))
        } else if !disordered && places != all(of) - all(arrived) {
            Some(format!("of packet {id} a chunk is there twice and another is not"))
        } else if content.is_some_and(|content| content != (bytes, destination)) {
            Some(format!("packet {id} has another payload or destination than when it was handed over"))
        } else {
            None
        }
    }

    /// What is wrong with packets of which these were handed over and have not arrived, each with payload and destination if they are known.
    #[must_use]
    pub fn faults(&self, open: &BTreeMap<PacketId, Option<(u32, TerminalId)>>) -> Vec<String> {
        let mut faults = if self.leaks { Vec::new() } else { self.faults.clone() };
        faults.extend(open.iter().filter_map(|(&id, &content)| self.fault(id, content)));
        let strange = self.found.keys().filter(|id| !self.leaks && !open.contains_key(id));
        faults
            .extend(strange.map(|id| format!("packet {id} is in the network, but is not expected anywhere")));
        faults
    }
}
