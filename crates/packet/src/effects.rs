//! What handlers of the packet model may do besides changing state: set alarms, send, and report what is observed.

use super::{
    hybrid::predicted::Predicted,
    rows::{Packet, Signs},
    transport::word::{How, Sort},
};
use crate::identity::PacketId;
use base::{
    index::{ChannelId, LinkId, TerminalId},
    time::Ps,
};
use engine::domain::Actions;
use ranks::{
    carrier::Ahead,
    finished::{Finished, Met},
};
use serde::{Deserialize, Serialize};
use workload::program::Kind;

/// What is observed. Times are virtual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A packet was handed to its terminal.
    Created {
        /// Virtual time at which it happens.
        time: Ps,
        /// Names it in the whole network, see [`Packet::id`].
        id: PacketId,
        /// Its payload in bytes, without headers.
        bytes: u32,
        /// Terminal that it is for.
        destination: TerminalId,
        /// Packets of its message.
        packets: u32,
    },
    /// A chunk was accepted at a router's output.
    Accepted {
        /// Virtual time at which it happens.
        time: Ps,
        /// Directed link that it will take.
        link: LinkId,
        /// Virtual channel of the link, counted from 0.
        vc: ChannelId,
        /// [`Packet::id`] of the packet that it is a part of.
        id: PacketId,
        /// Place in the packet.
        index: u16,
    },
    /// The message that the packet of the next [`Record::Delivered`] is a part of.
    Of {
        /// When it was created.
        created: Ps,
        /// Source's number of it; with a transport that of the pair.
        number: u32,
        /// Packets of it; with a transport a word.
        packets: u32,
        /// Terminal that it arrived at.
        terminal: TerminalId,
    },
    /// A packet is complete at its destination. Fields mean what they mean in [`Packet`], at that moment.
    #[expect(missing_docs, reason = "same names as the row")]
    Delivered {
        /// Virtual time at which it happens.
        time: Ps,
        id: PacketId,
        created: Ps,
        start: Ps,
        last_arrival: Ps,
        destination: TerminalId,
        bytes: u32,
        serialisation: u32,
        wire: u32,
        hops: u16,
        chunks: u16,
        delivered: u16,
        disordered: bool,
    },
    /// What the packet that was just created is for (runs with a transport only).
    Sent {
        /// What it is for: the first sending, redundancy, a repetition or an acknowledgement.
        sort: Sort,
        /// Payload and head.
        bytes: u32,
    },
    /// A packet ended without being delivered as data (runs with a transport only).
    Ended {
        /// Virtual time at which it happens.
        time: Ps,
        /// Names it, see [`Packet::id`]; 0 with [`How::TooLong`], which is no packet.
        id: PacketId,
        /// It was an acknowledgement.
        ack: bool,
        /// What became of it instead.
        how: How,
    },
    /// A source was notified that packets to a destination met congestion.
    Notified {
        /// Virtual time at which it happens.
        time: Ps,
        /// Terminal that is notified.
        source: TerminalId,
        /// Terminal that the packets were for.
        destination: TerminalId,
        /// Rate of the flow from then on, in millionths of the terminal's link.
        rate: u32,
        /// What the scheme counts besides, see [`Gauge::level`](crate::congestion_control::scheme::Gauge::level).
        level: u32,
    },
    /// A packet is complete after one of its pair that was sent later (runs with `[adapter]` only).
    Overtaken {
        /// When it was handed over.
        created: Ps,
    },
    /// An adapter holds a packet that came too early.
    Held {
        /// When it was handed over.
        created: Ps,
        /// Packets that the adapter holds, this one included.
        packets: u32,
        /// Payload of these packets, in bytes.
        bytes: u64,
    },
    /// A packet that was held is handed on.
    Released {
        /// When it was handed over.
        created: Ps,
        /// How long it was held.
        waited: Ps,
    },
    /// An adapter without room goes on without a missing packet.
    Gap {
        /// When the packet was handed over that found no room.
        created: Ps,
    },
    /// Packets of a message were handed over past the network as one.
    Bypassed {
        /// Virtual time at which it happens.
        time: Ps,
        /// Of the first, see [`Packet::id`].
        id: PacketId,
        /// Payload of all.
        bytes: u64,
        /// How many of them there are.
        packets: u32,
        /// Terminal that they are for.
        destination: TerminalId,
    },
    /// A packet, or message, that was predicted is complete at its destination.
    Predicted {
        /// Virtual time at which it happens.
        time: Ps,
        /// What arrived; it may stand for several packets of its message.
        packet: Predicted,
    },
    /// A predicted packet that is a message of its own, which nobody answers, is complete at its destination.
    Alone {
        /// Virtual time at which it happens.
        time: Ps,
        /// What arrived: one packet, which is its whole message.
        packet: Predicted,
    },
    /// [`Record::Created`] and [`Record::Alone`] of one packet, of at most 2^32 bytes, reported together.
    Through {
        /// When it is complete.
        time: Ps,
        /// What was handed over and arrived.
        packet: Predicted,
    },
    /// An operation of a host is finished. Fields mean what they mean in [`Finished`].
    #[expect(missing_docs, reason = "same names as in Finished")]
    Operation {
        time: Ps,
        ready: Ps,
        bytes: u64,
        busy: Ps,
        sent: Ps,
        instance: u64,
        terminal: TerminalId,
        number: u32,
        slot: u16,
        collective: u16,
        within: bool,
        asked: bool,
        kind: Kind,
    },
    /// A receive of a host has its message.
    Met(Met),
    /// A message is complete at its destination.
    Message {
        /// Virtual time at which it happens.
        time: Ps,
        /// When it was created.
        created: Ps,
        /// Number of the terminal that it comes from.
        source: TerminalId,
        /// Number of the terminal that it is for.
        destination: TerminalId,
        /// Source's number of it.
        number: u32,
    },
}

/// Records are copied once per happening, and kept where they may be taken back: a cache line at most.
const _: () = assert!(size_of::<Record>() <= 64, "a record is a cache line at most");

impl Record {
    /// The packet that is complete, if the record reports one, and when: a row with what the record says, nothing else.
    #[inline]
    #[must_use]
    pub fn delivered(&self) -> Option<(Ps, Packet)> {
        let &Self::Delivered {
            time,
            id,
            created,
            start,
            last_arrival,
            destination,
            bytes,
            serialisation,
            wire,
            hops,
            chunks,
            delivered,
            disordered,
        } = self
        else {
            return None;
        };
        let row = Packet {
            id,
            created,
            start,
            last_arrival,
            destination,
            bytes,
            serialisation,
            wire,
            hops,
            chunks,
            delivered,
            disordered,
            ..Packet::NONE
        };
        Some((time, row))
    }

    /// The operation that is finished, if the record reports one.
    #[must_use]
    pub fn finished(&self) -> Option<Finished> {
        let &Self::Operation {
            time,
            ready,
            bytes,
            busy,
            sent,
            instance,
            terminal,
            number,
            slot,
            collective,
            within,
            asked,
            kind,
        } = self
        else {
            return None;
        };
        Some(Finished {
            terminal,
            slot,
            within,
            asked,
            number,
            ready,
            time,
            bytes,
            busy,
            sent,
            kind,
            collective,
            instance,
        })
    }
}

impl From<Finished> for Record {
    fn from(f: Finished) -> Self {
        let Finished { terminal, slot, within, asked, number, ready, time, bytes, .. } = f;
        let Finished { busy, sent, kind, collective, instance, .. } = f;
        Self::Operation {
            time,
            ready,
            bytes,
            busy,
            sent,
            instance,
            terminal,
            number,
            slot,
            collective,
            within,
            asked,
            kind,
        }
    }
}

impl From<Met> for Record {
    fn from(met: Met) -> Self {
        Self::Met(met)
    }
}

/// Reports that a packet is complete at a terminal: first what it is a part of.
pub fn record_delivered(p: &Packet, terminal: TerminalId, time: Ps, fx: &mut impl Fx) {
    let (created, number, packets) = (p.message_created, p.message, p.message_packets);
    fx.record(Record::Of { created, number, packets, terminal });
    fx.record(Record::Delivered {
        time,
        id: p.id,
        created: p.created,
        start: p.start,
        last_arrival: p.last_arrival,
        destination: p.destination,
        bytes: p.bytes,
        serialisation: p.serialisation,
        wire: p.wire,
        hops: p.hops,
        chunks: p.chunks,
        delivered: p.delivered,
        disordered: p.disordered,
    });
}

impl Travel {
    /// Chunks of its packet: 2,048 at most, so that four bits above are free for [`Travel::signs`].
    #[must_use]
    pub fn packet_chunks(&self) -> u16 {
        self.chunks & 0xfff
    }

    /// What routers and links left on its packet.
    #[must_use]
    pub fn signs(&self) -> Signs {
        Signs::of_travelling(self.chunks)
    }
}

/// What travels between partitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Wire {
    /// A chunk with what its packet's row needs.
    Chunk(Travel),
    /// What a host sent ahead with a message that is on its way.
    Ahead {
        /// Terminal that sent it.
        source: TerminalId,
        /// Terminal that it goes to.
        destination: TerminalId,
        /// Its number there.
        number: u32,
        /// What the host sent.
        ahead: Ahead,
    },
    /// An acknowledgement beside the network.
    Ack {
        /// Terminal that informs it.
        from: TerminalId,
        /// Terminal that is informed.
        to: TerminalId,
        /// Message of the pair.
        number: u32,
        /// What came, see [`Word`](super::transport::word::Word).
        word: u32,
        /// Packets received so far, and the number of the one that is answered.
        stamp: u64,
    },
    /// A packet, or message, that bypassed the network arrives.
    Predicted(Predicted),
    /// A destination saw a mark on a packet.
    Notice {
        /// Terminal that sent the packet.
        source: TerminalId,
        /// Terminal that it arrived at.
        destination: TerminalId,
    },
    /// A destination has taken a packet.
    Taken {
        /// Terminal that sent it.
        source: TerminalId,
        /// Terminal that it was for.
        destination: TerminalId,
        /// Payload of the packet, in bytes.
        bytes: u32,
    },
    /// A credit for a link of the receiver.
    Credit {
        /// Directed link of the receiver on which a buffer is free again.
        link: LinkId,
        /// Its virtual channel.
        vc: ChannelId,
    },
}

/// A chunk on its way to another partition; the fields mean what they mean in [`Packet`] and [`Chunk`](crate::rows::Chunk).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "same names as the rows")]
pub struct Travel {
    pub id: PacketId,
    pub created: Ps,
    pub start: Ps,
    pub message_created: Ps,
    pub destination: TerminalId,
    pub bytes: u32,
    pub message: u32,
    pub message_packets: u32,
    pub serialisation: u32,
    pub wire: u32,
    pub state: u32,
    pub link: LinkId,
    pub chunks: u16,
    pub index: u16,
    pub hops: u16,
    pub visited: u8,
    pub vc: ChannelId,
}

/// Shorthand: what handlers of this model may do. It names no domain, so that what lies below the domain need not know it.
pub trait Fx: Actions<Message = Wire, Record = Record> {}
impl<T: Actions<Message = Wire, Record = Record>> Fx for T {}
