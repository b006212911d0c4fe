//! Where every packet is that was handed over and has not arrived: counted from terminals' queues, links, routers' buffers and messages
//! between partitions, whatever the books say.

use crate::{
    check::Pending,
    effects::Wire,
    hybrid::predicted::Predicted,
    identity::PacketId,
    net::{Net, Router, Static},
    pools::ChunkRow,
    rows::{Chunk, Packet},
    state::PacketDomain,
    surrogate::{Mode, Phase, Surrogate},
};
use base::{index::TerminalId, sorted::SortedMap, time::Ps};
use engine::{agenda::Due, state::mode::Mode as Journalled};
use serde::{Deserialize, Serialize};

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
    /// It is under way past the network, where chunks do not count, or held by an adapter: payload and destination.
    whole: Option<(u32, TerminalId)>,
    /// What is in the network was there when the network was suspended, or is a copy: it was, or will be, delivered by prediction.
    zombie: bool,
}

/// The packets that a partition holds, or several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Census {
    found: SortedMap<PacketId, Found>,
    /// Links lose packets: their first chunks may be gone.
    lossy: bool,
    /// Where network and prediction stand, of hybrid runs: the same in all partitions.
    phase: Option<(Mode, bool, Ps)>,
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
        let surrogate = &domain.state.surrogate;
        let Phase { mode, suspended, offset, .. } = *surrogate.phase();
        let mut census = Self {
            lossy: cx.net.resilience.is_some(),
            phase: cx.net.hybrid.is_some().then_some((mode, suspended, offset)),
            ..Self::default()
        };
        // Rows of packets that may have chunks which arrived, with the chunks that are here.
        let mut rows = SortedMap::new();
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
            let row = net.packets.get(packet);
            let zombie = surrogate.is_zombie(row.created);
            parts(cx, row).iter().for_each(|row| census.arrived(row, here).zombie |= zombie);
        }
        census.find_pending(cx, pending, surrogate);
        for (_, p) in surrogate.held() {
            census.find_whole(p);
        }
        census.faults.extend(surrogate.faults());
        domain.state.adapters.each(|held| census.find_whole(&Predicted::of(&held.packet)));
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
    fn arrived(&mut self, row: &Packet, here: u32) -> &mut Found {
        if here != u32::from(row.here) {
            self.faults.push(format!("packet {} counts {} chunks, {here} are there", row.id, row.here));
        }
        let found = self.add(row, u32::from(row.delivered), 0);
        found.arrived += u32::from(row.delivered);
        found.disordered |= row.disordered;
        found
    }

    fn add(&mut self, row: &Packet, chunks: u32, places: u32) -> &mut Found {
        let entry = self.found.entry(row.id).or_default();
        entry.chunks += chunks;
        entry.places += places;
        (entry.of, entry.bytes, entry.destination) = (u32::from(row.chunks), row.bytes, row.destination);
        entry
    }

    fn find_pending<M: Journalled>(&mut self, cx: &Static, pending: &Pending, surrogate: &Surrogate<M>) {
        for (_, _, due) in pending {
            match due {
                Due::Message(Wire::Chunk(t)) => {
                    let (id, bytes, destination) = (t.id, t.bytes, t.destination);
                    let row = Packet { id, bytes, destination, chunks: t.packet_chunks(), ..Packet::NONE };
                    let zombie = surrogate.is_zombie(t.created);
                    for row in parts(cx, &row) {
                        self.add(&row, 1, u32::from(t.index)).zombie |= zombie;
                    }
                }
                Due::Message(Wire::Predicted(p)) => self.find_whole(p),
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

    /// What is under way past the network as a whole, planned once.
    fn find_whole(&mut self, p: &Predicted) {
        for n in 0..p.packets {
            let id = p.id.plus(n);
            // Of several packets the first stands for what all carry, as in the ledger.
            let content = if n == 0 { (p.bytes as u32, p.destination) } else { (0, TerminalId::default()) };
            let entry = self.found.entry(id).or_default();
            if entry.whole.replace(content).is_some() {
                self.faults.push(format!("packet {id} is to be delivered twice"));
            }
        }
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        for (id, found) in other.found {
            let alone = Found { chunks: 0, places: 0, arrived: 0, whole: None, ..found };
            let entry = self.found.entry(id).or_insert(alone);
            // What is known of it past the network alone has no chunks.
            if entry.of == 0 {
                (entry.bytes, entry.destination, entry.of) = (found.bytes, found.destination, found.of);
            }
            let (mine, theirs) =
                ((entry.bytes, entry.destination, entry.of), (found.bytes, found.destination, found.of));
            if found.of > 0 && mine != theirs {
                self.faults.push(format!("packet {id} is not the same in two partitions"));
            }
            entry.chunks += found.chunks;
            entry.places += found.places;
            entry.arrived += found.arrived;
            entry.disordered |= found.disordered;
            entry.zombie |= found.zombie;
            if found.whole.is_some() && entry.whole.replace(found.whole.unwrap_or_default()).is_some() {
                self.faults.push(format!("packet {id} is to be delivered twice"));
            }
        }
        if self.phase != other.phase {
            self.faults
                .push("partitions do not agree whether prediction delivers, and since when".to_owned());
        }
        self.lossy |= other.lossy;
        self.faults.extend(other.faults);
    }

    /// What is wrong with a packet that was handed over and has not arrived; `content` says what it was handed over with, if that is known.
    fn fault(&self, id: PacketId, content: Option<(u32, TerminalId)>) -> Option<String> {
        let Some(found) = self.found.get(&id) else {
            return Some(format!("packet {id} is neither delivered nor in any queue or buffer or on a link"));
        };
        if let Some(planned) = found.whole {
            let differs = content.is_some_and(|content| content != planned);
            return differs.then(|| format!("packet {id} is predicted with another payload or destination"));
        }
        let Found { chunks, of, places, arrived, disordered, bytes, destination, zombie, .. } = *found;
        if zombie {
            return Some(format!("packet {id} is a zombie, and nobody is to deliver it"));
        }
        // Those that arrived in order are the first ones. Where links lose packets, so are those that are gone; none is, once one arrived.
        let all = |n: u32| n * n.saturating_sub(1) / 2;
        let first = if self.lossy && arrived == 0 { of.saturating_sub(chunks) } else { arrived };
        if chunks != of && (!self.lossy || arrived > 0 || chunks > of) {
            Some(format!("of packet {id} {chunks} of {of} chunks are there"))
        } else if !disordered && places != all(of) - all(first) {
            Some(format!("of packet {id} a chunk is there twice and another is not"))
        } else if content.is_some_and(|content| content != (bytes, destination)) {
            Some(format!("packet {id} has another payload or destination than when it was handed over"))
        } else {
            None
        }
    }

    /// What is wrong with packets of which these were handed over and have not arrived, each with payload and destination if they are known.
    #[must_use]
    pub fn faults(&self, open: &SortedMap<PacketId, Option<(u32, TerminalId)>>) -> Vec<String> {
        let mut faults = self.faults.clone();
        faults.extend(open.iter().filter_map(|(&id, &content)| self.fault(id, content)));
        let strange = self.found.iter().filter(|(id, found)| !open.contains_key(id) && !found.zombie);
        let strange = strange.map(|(id, _)| id);
        faults
            .extend(strange.map(|id| format!("packet {id} is in the network, but is not expected anywhere")));
        faults
    }
}
