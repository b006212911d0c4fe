//! Where every packet is that was handed over and has not arrived: counted from terminals' queues, links, routers' buffers and messages
//! between partitions, whatever the books say.

use crate::{
    check::Pending,
    effects::Wire,
    net::{Net, Router},
    state::PacketDomain,
};
use engine::agenda::Due;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What was found of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Found {
    /// Chunks: those under way and those that arrived.
    chunks: u32,
    /// Chunks that it has.
    of: u32,
    /// It is under way past the network, where chunks do not count.
    whole: bool,
}

/// The packets that a partition holds, or several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Census {
    found: BTreeMap<u64, Found>,
    /// Chunks go away by themselves here: links lose packets, or packets are taken out of the network.
    leaks: bool,
}

impl Census {
    /// Of one partition, settled, with what is pending in it.
    #[must_use]
    pub fn of<R: Router>(domain: &PacketDomain<R>, pending: &Pending) -> Self {
        let (net, cx) = (&domain.state.net, &domain.cx);
        let leaks = cx.net.hybrid.is_some() || cx.net.resilience.is_some();
        let mut census = Self { found: BTreeMap::new(), leaks };
        let mut rows = BTreeSet::new();
        let mut under_way = |net: &Net<R>, chunk: u32| {
            let packet = net.chunks.get(chunk).packet;
            rows.insert(packet);
            let row = net.packets.get(packet);
            census.add(row.id, 1, u32::from(row.chunks));
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
                let chunks = u32::from(row.chunks);
                census.add(row.id, chunks - sent, chunks);
                sent = 0;
            }
        }
        // Where there are several partitions all rows are known by name, else those that lack chunks have some under way.
        net.known.each(|_, _, &packet| {
            rows.insert(packet);
        });
        for packet in rows {
            let row = net.packets.get(packet);
            census.add(row.id, u32::from(row.delivered), u32::from(row.chunks));
        }
        census.find_pending(pending);
        for (_, p) in domain.state.surrogate.held() {
            census.find_whole(p.id, p.packets);
        }
        census
    }

    fn find_pending(&mut self, pending: &Pending) {
        for (_, _, due) in pending {
            match due {
                Due::Message(Wire::Chunk(t)) => self.add(t.id, 1, u32::from(t.packet_chunks())),
                Due::Message(Wire::Predicted(p)) => self.find_whole(p.id, p.packets),
                Due::Wake(_) | Due::Message(Wire::Credit { .. } | Wire::Ahead { .. } | Wire::Ack { .. }) => {}
            }
        }
    }

    fn add(&mut self, id: u64, chunks: u32, of: u32) {
        let entry = self.found.entry(id).or_default();
        entry.chunks += chunks;
        entry.of = of;
    }

    fn find_whole(&mut self, first: u64, packets: u32) {
        for id in first..first + u64::from(packets) {
            self.found.entry(id).or_default().whole = true;
        }
    }

    /// Adds another partition's.
    pub fn merge(&mut self, other: Self) {
        for (id, found) in other.found {
            let entry = self.found.entry(id).or_default();
            entry.chunks += found.chunks;
            entry.of = entry.of.max(found.of);
            entry.whole |= found.whole;
        }
        self.leaks |= other.leaks;
    }

    /// What is wrong with a packet that was handed over and has not arrived.
    #[must_use]
    pub fn fault(&self, id: u64) -> Option<String> {
        match self.found.get(&id) {
            None => {
                Some(format!("packet {id:x} is neither delivered nor in any queue or buffer or on a link"))
            }
            Some(found) if found.chunks == found.of || found.whole || self.leaks => None,
            Some(found) => {
                Some(format!("of packet {id:x} {} of {} chunks are there", found.chunks, found.of))
            }
        }
    }
}
