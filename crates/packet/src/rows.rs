//! Rows of the packet model's state. Sizes are asserted: they are the memory budget.

use crate::{
    identity::PacketId,
    pools::{ChunkRow, CreditRow, FlightRow, List, PacketRow, PostRow, RowNumber, pooled},
};
use base::{
    index::{ChannelId, PortId, TerminalId},
    rate::Clock,
    time::{NEVER, Ps},
};
use fabric::routing::Choice;
use model::energy::Sleep;
use serde::{Deserialize, Serialize};

pooled! {
    Chunk: ChunkRow;
    Flight: FlightRow;
    Packet: PacketRow;
    Credit: CreditRow;
    Post: PostRow;
}

/// Upstream end of a directed link: a router's or a terminal's output. `P` is the architecture's part.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[repr(C, align(64))]
pub struct Port<P> {
    /// When it is free again.
    pub clock: Clock,
    /// Since when something waits (architectures that put starts off); meaningless while nothing does.
    pub since: Ps,
    /// When its next pull or tick is due, `NEVER` if none is set.
    pub due: Ps,
    /// Chunks on the link, by arrival: a list of [`Flight`]s.
    pub flight: List<FlightRow>,
    /// First credit that was released for a future instant: its release and VC, see [`credit`].
    pub first_credit: u64,
    /// Chunks put on the link so far; wraps.
    pub sent: u32,
    /// Chunks that hold or want buffer here: occupancy plus queued, over all VCs.
    pub backlog: u32,
    /// What the router architecture keeps for the port.
    pub own: P,
    /// VC served last.
    pub last_vc: ChannelId,
    /// An alarm of the architecture is set for it.
    pub alarm_set: bool,
    /// Further credits are in the port's list.
    pub more_credits: bool,
    /// Toward a terminal whose rank answers: packets that are here with all their chunks, so that an arrival may complete one. At 255 it
    /// stays: then every arrival counts.
    pub ripe: u8,
}

impl<P: Default> Default for Port<P> {
    fn default() -> Self {
        Self {
            clock: Clock::default(),
            since: 0,
            due: NEVER,
            flight: List::default(),
            first_credit: NO_CREDIT,
            sent: 0,
            backlog: 0,
            own: P::default(),
            last_vc: ChannelId::new(15),
            alarm_set: false,
            more_credits: false,
            ripe: 0,
        }
    }
}

/// No credit in [`Port::first_credit`].
pub const NO_CREDIT: u64 = u64::MAX;

/// Packs a credit; releases lie below 2^60 ps.
#[inline]
#[must_use]
pub fn credit(release: Ps, vc: ChannelId) -> u64 {
    debug_assert!(release < 1 << 60 && vc.number() < 16, "a credit's release and channel have their bits");
    release << 4 | u64::from(vc)
}

/// When a packed credit is released; [`NO_CREDIT`] reads as after all time.
#[inline]
#[must_use]
pub const fn release_of(code: u64) -> Ps {
    code >> 4
}

/// The virtual channel of a packed credit.
#[inline]
#[must_use]
pub const fn channel_of(code: u64) -> ChannelId {
    ChannelId::new((code & 15) as u8)
}

impl<P> Port<P> {
    /// Release of the first credit, `None` if there is none.
    #[inline]
    #[must_use]
    pub fn next_release(&self) -> Option<Ps> {
        (self.first_credit != NO_CREDIT).then_some(release_of(self.first_credit))
    }
}

/// A virtual channel of a port; the four of a router that follows CODES share one cache line. `V` is the architecture's part.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[repr(C, align(16))]
pub struct Vc<V> {
    /// What the router architecture keeps for the virtual channel.
    pub own: V,
    /// Chunks that own buffer: waiting for the link, in flight, or waiting downstream, until their credit is used.
    pub occupancy: u32,
}

/// A chunk between its terminals.
///
/// Most of a saturated network's memory is chunks that wait, so what is known from the list that a chunk is in (its VC),
/// or is needed on links only ([`Flight`]), is not stored here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// Row, in this partition, of the packet that it is a part of.
    pub packet: PacketRow,
    /// Next chunk of the same list.
    pub next: ChunkRow,
    /// From bit 0: index (11), last of its packet (1), routers visited (8), origin (12).
    bits: u32,
}
const _: () = assert!(size_of::<Chunk>() == 12);

impl Chunk {
    /// Most chunks of a packet.
    pub const MAX_INDEX: u32 = 1 << 11;
    /// Most pairs of port and VC of a router.
    pub const MAX_ORIGINS: u32 = 1 << 12;

    /// A chunk that has visited no router.
    #[inline]
    #[must_use]
    pub fn new(packet: PacketRow, index: u16, last: bool) -> Self {
        debug_assert!(u32::from(index) < Self::MAX_INDEX, "a place in a packet has 11 bits");
        Self { packet, next: ChunkRow::NIL, bits: u32::from(index) | u32::from(last) << 11 }
    }

    /// Place in the packet.
    #[inline]
    #[must_use]
    pub fn index(&self) -> u16 {
        (self.bits & 0x7ff) as u16
    }

    /// True for the last chunk of its packet.
    #[inline]
    #[must_use]
    pub fn is_last(&self) -> bool {
        self.bits & 0x800 != 0
    }

    /// Routers visited, the present one included once it is routed; stays at 255.
    #[inline]
    #[must_use]
    pub fn visited(&self) -> u16 {
        (self.bits >> 12 & 0xff) as u16
    }

    /// Counts one more router.
    #[inline]
    pub fn visit(&mut self) {
        if self.bits & 0xff000 != 0xff000 {
            self.bits += 0x1000;
        }
    }

    /// The same with a number of routers visited.
    #[must_use]
    pub fn with_visited(mut self, visited: u16) -> Self {
        debug_assert!(self.visited() == 0, "visits are set of a new chunk");
        self.bits |= u32::from(visited.min(255)) << 12;
        self
    }

    /// While queued: input port and VC of the buffer that it still holds, as port * VCs + VC.
    #[inline]
    #[must_use]
    pub fn origin(&self) -> u32 {
        self.bits >> 20
    }

    /// Sets the origin.
    #[inline]
    pub fn set_origin(&mut self, origin: u32) {
        debug_assert!(origin < Self::MAX_ORIGINS, "larger routers are refused");
        self.bits = self.bits & 0xfffff | origin << 20;
    }
}

/// A chunk on a link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flight {
    /// Arrival at the end of the link.
    pub time: Ps,
    /// The chunk, by its row.
    pub chunk: ChunkRow,
    /// Its number on the link.
    pub number: u32,
    /// Next on the link.
    pub next: FlightRow,
    /// Virtual channel of the link, counted from 0.
    pub vc: ChannelId,
}

/// What routers and links left on a packet, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signs(u8);

impl Signs {
    /// Nothing happened to it.
    pub const NONE: Self = Self(0);
    /// Somebody changed it, which its destination will find out.
    pub const TAMPERED: Self = Self(1);
    /// A router found congestion behind it.
    pub const MARKED: Self = Self(2);
    /// With re-sequencing: the first packet of its message.
    pub const FIRST: Self = Self(4);
    /// With re-sequencing: the last packet of its message.
    pub const LAST: Self = Self(8);

    /// True if all of `other` are there.
    #[inline]
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Adds those of `other`.
    #[inline]
    pub fn set(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// As four bits of a number, from bit 12 on: how they travel beside a number of chunks.
    #[inline]
    #[must_use]
    pub const fn travelling(self) -> u16 {
        (self.0 as u16) << 12
    }

    /// Those of such a number.
    #[inline]
    #[must_use]
    pub const fn of_travelling(number: u16) -> Self {
        Self((number >> 12) as u8)
    }
}

/// A packet that has chunks in this partition or was partly delivered in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[repr(C, align(16))]
pub struct Packet {
    /// Names it in the whole network.
    pub id: PacketId,
    /// Number of the terminal that it is for.
    pub destination: TerminalId,
    /// Its payload in bytes, without headers.
    pub bytes: u32,
    /// When it was handed to the terminal.
    pub created: Ps,
    /// When its first chunk started onto the terminal's link.
    pub start: Ps,
    /// When its message was created.
    pub message_created: Ps,
    /// When its last chunk arrived.
    pub last_arrival: Ps,
    /// Source's number of its message.
    pub message: u32,
    /// Packets of its message.
    pub message_packets: u32,
    /// Serialisation of the last chunk over all its links so far, in units of [`part_shift`](super::network::Network::part_shift).
    pub serialisation: u32,
    /// Time of the last chunk on wires so far, in the same unit.
    pub wire: u32,
    /// Next packet of the same list.
    pub next: PacketRow,
    /// How many chunks it is cut into.
    pub chunks: u16,
    /// Chunks of it that the terminal has.
    pub delivered: u16,
    /// Chunks of it in this partition (not yet sent ones included at the source).
    pub here: u16,
    /// Routers that its last chunk visited.
    pub hops: u16,
    /// A chunk arrived before an earlier one.
    pub disordered: bool,
    /// What routers and links left on it.
    pub signs: Signs,
    /// Chunks that have buffer on the way to the terminal, delivered ones included, where ranks answer (see [`Port::ripe`]).
    pub accepted: u16,
    /// Where its chunks go from the first routers that they visit, as far as one of them was there: see [`Network::follows`](super::network::Network::follows).
    pub answers: [Answer; 8],
}
const _: () = assert!(size_of::<Packet>() == 96);

/// A routing's answer that later chunks of the packet follow, or none yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer(u16);

impl Answer {
    /// Nobody was there yet: no port has this number and this channel, as ports times channels are bounded by [`Chunk::MAX_ORIGINS`].
    pub const NONE: Self = Self(u16::MAX);

    /// That of an answer without state.
    #[inline]
    #[must_use]
    pub fn of(choice: Choice) -> Self {
        debug_assert!(choice.state == 0 && choice.vc.number() < 16, "only what has no state is followed");
        debug_assert!(choice.port.number() < Chunk::MAX_ORIGINS, "larger routers are refused");
        Self((choice.port.number() as u16) << 4 | u16::from(choice.vc.number()))
    }

    /// The answer, if there was one.
    #[inline]
    #[must_use]
    pub fn choice(self) -> Option<Choice> {
        let (port, vc) = (PortId::new(u32::from(self.0 >> 4)), ChannelId::new((self.0 & 15) as u8));
        (self != Self::NONE).then_some(Choice { port, vc, state: 0 })
    }
}

impl Packet {
    /// Terminal that sends it.
    #[inline]
    #[must_use]
    pub const fn source(&self) -> TerminalId {
        self.id.source()
    }

    /// Where its chunks go from a router before which they visited so many, if one of them was there.
    #[inline]
    #[must_use]
    pub fn answer(&self, visited: usize) -> Option<Choice> {
        self.answers.get(visited).and_then(|answer| answer.choice())
    }

    /// Nothing of a packet: what a row is filled from.
    pub const NONE: Self = Self {
        id: PacketId::NONE,
        destination: TerminalId::new(0),
        bytes: 0,
        created: 0,
        start: 0,
        message_created: 0,
        last_arrival: 0,
        message: 0,
        message_packets: 0,
        serialisation: 0,
        wire: 0,
        next: PacketRow::NIL,
        chunks: 0,
        delivered: 0,
        here: 0,
        hops: 0,
        disordered: false,
        signs: Signs::NONE,
        accepted: 0,
        answers: [Answer::NONE; 8],
    };
}

/// How a link slept until it last sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rest {
    /// How long, all rests together.
    pub asleep: Ps,
    /// How often it woke.
    pub wakings: u32,
}

impl Rest {
    /// A link takes a chunk after being idle for so long, the `first` of the run or a later one. True if it slept, and wakes.
    pub fn end(&mut self, idle: Ps, first: bool, sleep: &Sleep) -> bool {
        let from_start = first && sleep.from_start;
        let slept = from_start || idle > sleep.after;
        if slept {
            self.asleep += self.last(idle, first, sleep);
            self.wakings += 1;
        }
        slept
    }

    /// How much of an idle time a link sleeps; `unused`: it carried nothing before.
    #[must_use]
    pub fn last(&self, idle: Ps, unused: bool, sleep: &Sleep) -> Ps {
        if unused && sleep.from_start { idle } else { idle.saturating_sub(sleep.after) }
    }
}

/// A credit on its way to its port, behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Credit {
    /// Release and VC, see [`credit`].
    pub code: u64,
    /// Next credit of the port.
    pub next: CreditRow,
}

/// A message that a workload posted in answer to another (closed loop).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Post {
    /// Virtual time at which it happens.
    pub time: Ps,
    /// Its payload in bytes, without headers, and marks above: [`Post::REPLY`], [`Post::NAMED`] and [`Post::CONTROL`].
    pub bytes: u64,
    /// Number of the terminal that it is for.
    pub destination: TerminalId,
    /// Its number, if it is [`Post::NAMED`].
    pub number: u32,
    /// Next post of the terminal.
    pub next: PostRow,
}

impl Post {
    /// A bit of [`Post::bytes`], above all payloads: the reply to a request.
    pub const REPLY: u64 = 1 << 63;
    /// Another: others know its number already, since messages of its terminal may pass each other.
    pub const NAMED: u64 = 1 << 62;
    /// Another: of one packet, it goes ahead of what its terminal has still to hand over.
    pub const CONTROL: u64 = 1 << 61;

    /// Its payload in bytes.
    #[must_use]
    pub fn payload(&self) -> u64 {
        self.bytes & !(Self::REPLY | Self::NAMED | Self::CONTROL)
    }
}

/// A bit of the number of a message, in all its packets: it is the reply to a request.
pub const REPLY_NUMBER: u32 = 1 << 31;

/// The message that a terminal is cutting into packets, or will when its time comes.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Cutting {
    /// When it was created.
    pub created: Ps,
    /// Bytes not yet handed over.
    pub left: u64,
    /// Number of the terminal that it is for.
    pub destination: TerminalId,
    /// Source's number of it.
    pub number: u32,
    /// Packets it makes.
    pub packets: u32,
    /// There is one.
    pub active: bool,
}

/// Network side of a terminal; its output port is a [`Port`] like any other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terminal {
    /// From when on the next packet may be handed over; `NEVER` while the queue is full.
    pub request: Ps,
    /// Message in hand.
    pub cutting: Cutting,
    /// Next open-loop message, read ahead; `NEVER` time if there is none.
    pub upcoming: Ps,
    /// Its destination terminal.
    pub upcoming_destination: TerminalId,
    /// How many bytes it has, headers included.
    pub upcoming_bytes: u64,
    /// It belongs to another rail of the node, and so did all since the last one of this: at its time it is only read on.
    pub elsewhere: bool,
    /// Index of the message after it in the job's traffic.
    pub index: u64,
    /// Messages posted here in answer to others, until they are taken in hand.
    pub posts: List<PostRow>,
    /// Those of hosts that go ahead of all these.
    pub controls: List<PostRow>,
    /// Packets handed over, the first one perhaps partly sent.
    pub queue: List<PacketRow>,
    /// Chunks of the first packet that were sent.
    pub sent: u16,
    /// Chunks handed over and not sent.
    pub queued: u32,
    /// Packets handed over so far.
    pub packets: u32,
    /// Messages begun so far.
    pub messages: u32,
    /// Messages posted here so far.
    pub posted: u32,
    /// Messages delivered here so far.
    pub received: u32,
}
