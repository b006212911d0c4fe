//! State of one partition and its events: which handler an alarm or message goes to.
//!
//! The rules are in `PACKET.md`; handlers also in `window.rs`, `terminal.rs` and `input_queued.rs`.

use super::{
    config::RouterKind,
    input_queued::Clocked,
    map::Map,
    network::{End, Line, Local, Network},
    rows::{Chunk, Credit, Cutting, Flight, NO_CREDIT, Packet, Port, Post, Terminal, Vc},
};
use base::time::{NEVER, Ps};
use engine::{
    domain::{Domain, Effects},
    key::Class,
    state::{Fifo, Journal, NIL, Pool, Table},
};
use std::sync::Arc;

/// What is observed. Times are virtual.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Record {
    /// A packet was handed to its terminal.
    Created {
        /// When.
        time: Ps,
        /// See [`Packet::id`].
        id: u64,
        /// Payload.
        bytes: u32,
    },
    /// A chunk was accepted at a router's output.
    Accepted {
        /// When.
        time: Ps,
        /// Directed link that it will take.
        link: u32,
        /// Virtual channel.
        vc: u8,
        /// Its packet.
        id: u64,
        /// Place in the packet.
        index: u16,
    },
    /// A packet is complete at its destination.
    Delivered {
        /// When.
        time: Ps,
        /// The packet at that moment.
        packet: Packet,
    },
    /// A message is complete at its destination.
    Message {
        /// When.
        time: Ps,
        /// When it was created.
        created: Ps,
        /// Source terminal.
        source: u32,
        /// Destination terminal.
        destination: u32,
        /// Source's number of it.
        number: u32,
    },
}

/// What travels between partitions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wire {
    /// A chunk with what its packet's row needs.
    Chunk(Travel),
    /// A credit for a link of the receiver.
    Credit {
        /// The link.
        link: u32,
        /// Its virtual channel.
        vc: u8,
    },
}

/// A chunk on its way to another partition; the fields mean what they mean in [`Packet`] and [`Chunk`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "same names as the rows")]
pub struct Travel {
    pub id: u64,
    pub created: Ps,
    pub start: Ps,
    pub message_created: Ps,
    pub destination: u32,
    pub bytes: u32,
    pub message: u32,
    pub message_packets: u32,
    pub serialisation: u32,
    pub wire: u32,
    pub state: u32,
    pub link: u32,
    pub chunks: u16,
    pub index: u16,
    pub hops: u16,
    pub visited: u8,
    pub vc: u8,
}

/// What handlers read: the network and this partition's share.
#[derive(Clone)]
pub struct Static {
    /// Shared by all partitions.
    pub net: Arc<Network>,
    /// This partition's.
    pub local: Arc<Local>,
}

/// Everything that changes.
#[derive(Clone, PartialEq)]
pub struct State {
    /// Upstream ports: routers' outputs, then terminals' outputs.
    pub ports: Table<Port>,
    /// VCs, by port and VC.
    pub vcs: Table<Vc>,
    /// Chunks that arrived when the window was full, by port and VC.
    pub queued: Table<Fifo>,
    /// VCs per port.
    pub width: u32,
    /// Chunks.
    pub chunks: Pool<Chunk>,
    /// Chunks on links.
    pub flights: Pool<Flight>,
    /// Routing's memory by chunk; empty if the routing has none.
    pub notes: Notes,
    /// Packets.
    pub packets: Pool<Packet>,
    /// Credits behind the first of their port.
    pub credits: Pool<Credit>,
    /// Lists of such credits, by port.
    pub more_credits: Table<Fifo>,
    /// Terminals.
    pub terminals: Table<Terminal>,
    /// Posted messages.
    pub posts: Pool<Post>,
    /// Rows of packets that may meet chunks of theirs again, by id (several partitions only).
    pub known: Map<u32>,
    /// Packets still missing of messages with several, by source and message number.
    pub open: Map<u32>,
    /// Messages delivered by destination and source terminal (workloads that answer only).
    pub received: Map<u32>,
    /// Decisions that later chunks follow, by packet and hop (adaptive routing per packet only).
    pub trails: Map<fabric::routing::Choice>,
    /// Credits sent to other partitions, by inbound line: names them uniquely.
    pub returned: Table<u32>,
    /// Clocked routers.
    pub clocked: Clocked,
}

/// Routing's memory of chunks, kept beside them since most routings have none.
#[derive(Clone)]
pub struct Notes {
    rows: Table<u32>,
    used: bool,
}

impl Notes {
    fn new(used: bool) -> Self {
        Self { rows: Table::from(Vec::new()), used }
    }

    /// What the routing noted of a chunk.
    #[inline]
    #[must_use]
    pub fn get(&self, c: u32) -> u32 {
        if self.used { self.rows.rows().get(c as usize).copied().unwrap_or(0) } else { 0 }
    }

    /// Notes something of a chunk.
    #[inline]
    pub fn set(&mut self, c: u32, note: u32) {
        if self.used {
            while self.rows.len() <= c as usize {
                self.rows.grow(0);
            }
            *self.rows.edit(c) = note;
        }
    }
}

/// Rows that only one has belong to chunks that the other does not know.
impl PartialEq for Notes {
    fn eq(&self, other: &Self) -> bool {
        self.rows.rows().iter().zip(other.rows.rows()).all(|(a, b)| a == b)
    }
}

/// The packet model as the engine sees it.
#[derive(Clone)]
pub struct PacketDomain {
    /// What handlers read.
    pub cx: Static,
    /// What they change.
    pub state: State,
}

impl PartialEq for PacketDomain {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

const PULL: u32 = 0;
const CREDIT: u32 = 1;
const TICK: u32 = 2;
const CYCLE: u32 = 3;
const INDEX: u32 = (1 << 29) - 1;

/// Marks an upstream port that lives in another partition, in arguments named `from`.
pub const REMOTE: u32 = 1 << 31;

/// Shorthand: effects of this model.
pub trait Fx: Effects<PacketDomain> {}
impl<T: Effects<PacketDomain>> Fx for T {}

impl PacketDomain {
    /// Partition `partition` before anything happened.
    #[must_use]
    pub fn new(net: Arc<Network>, partition: u32) -> Self {
        let local = Arc::new(Local::new(&net, partition));
        let port = Port {
            clock: Default::default(),
            since: 0,
            due: NEVER,
            flight: Fifo::default(),
            first_credit: NO_CREDIT,
            sent: 0,
            backlog: 0,
            waiting: 0,
            blocked: 0,
            last_vc: 15,
            credit_set: false,
            more_credits: false,
        };
        let terminal = Terminal {
            request: 0,
            cutting: Cutting::default(),
            upcoming: NEVER,
            upcoming_destination: 0,
            upcoming_bytes: 0,
            index: 0,
            posts: Fifo::default(),
            queue: Fifo::default(),
            sent: 0,
            queued: 0,
            packets: 0,
            messages: 0,
            received: 0,
        };
        let lines = local.lines.len();
        let state = State {
            ports: Table::new(lines, port),
            vcs: Table::new(lines * usize::from(net.config.vcs), Vc::default()),
            queued: Table::new(lines * usize::from(net.config.vcs), Fifo::default()),
            width: u32::from(net.config.vcs),
            chunks: Pool::default(),
            flights: Pool::default(),
            notes: Notes::new(net.routing.stateful()),
            packets: Pool::default(),
            credits: Pool::default(),
            more_credits: Table::new(lines, Fifo::default()),
            terminals: Table::new(local.terminals.len(), terminal),
            posts: Pool::default(),
            known: Map::default(),
            open: Map::default(),
            received: Map::default(),
            trails: Map::default(),
            returned: Table::new(local.inbound.len(), 0),
            clocked: Clocked::new(&net, &local),
        };
        Self { cx: Static { net, local }, state }
    }
}

impl Domain for PacketDomain {
    type Message = Wire;
    type Record = Record;

    fn start(&mut self, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        for i in 0..cx.local.terminals.len() as u32 {
            state.read_ahead(cx, i, 0);
            state.set_due(cx, cx.local.router_ports() + i, fx);
        }
    }

    #[inline]
    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        let index = token & INDEX;
        match token >> 29 {
            PULL => state.pull(cx, index, fx),
            CREDIT => state.credit_event(cx, index, fx),
            TICK => state.tick(cx, index, fx),
            CYCLE => state.cycle(cx, index, fx),
            _ => unreachable!("tokens have two bits of kind"),
        }
    }

    fn receive(&mut self, message: &Wire, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        match message {
            Wire::Chunk(travel) => state.chunk_from_afar(cx, travel, fx),
            Wire::Credit { link, vc } => {
                let u = cx.local.upstream_index(&cx.net, *link);
                state.credit_from_afar(cx, u, *vc, fx);
            }
        }
    }

    fn settle(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        for u in 0..cx.local.lines.len() as u32 {
            state.touch(cx, u, now, fx);
            state.drain_credits(u, now.saturating_sub(1));
        }
        state.settle_arrivals(cx, now);
    }

    fn tables(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        let s = &mut self.state;
        visit(&mut s.ports);
        visit(&mut s.vcs);
        visit(&mut s.queued);
        visit(&mut s.chunks);
        visit(&mut s.flights);
        visit(&mut s.notes.rows);
        visit(&mut s.packets);
        visit(&mut s.credits);
        visit(&mut s.more_credits);
        visit(&mut s.terminals);
        visit(&mut s.posts);
        visit(&mut s.returned);
        s.known.tables(visit);
        s.open.tables(visit);
        s.received.tables(visit);
        s.trails.tables(visit);
        s.clocked.tables(visit);
    }

    fn large(&self) -> bool {
        self.state.ports.len() > 1000
    }

    #[inline]
    fn prefetch(&self, stage: usize, token: u32) {
        let (u, state) = (token & INDEX, &self.state);
        if token >> 29 != PULL {
            return;
        }
        let first = || state.ports.get(u).flight.head;
        match stage {
            0 => state.ports.prefetch(u),
            1 if first() != NIL => state.chunks.prefetch(state.flights.get(first()).chunk),
            2 if first() != NIL => {
                state.packets.prefetch(state.chunks.get(state.flights.get(first()).chunk).packet);
            }
            3 if first() != NIL => state.prefetch_output(&self.cx, u, first()),
            _ => {}
        }
    }

    fn lookahead(&self, to: u32) -> Option<Ps> {
        self.cx.local.lookahead[to as usize]
    }
}

/// Names an alarm: kind, then its object, so that no two pending at one instant are the same.
pub(super) fn identity(kind: u64, link: u32, number: u32) -> u64 {
    kind << 61 | u64::from(link) << 32 | u64::from(number)
}

impl State {
    /// Timing of a line.
    #[inline]
    pub(super) fn line(cx: &Static, u: u32) -> &Line {
        &cx.local.lines[u as usize]
    }

    /// The first chunk on a line arrives (or a stale alarm rings).
    #[inline]
    fn pull(&mut self, cx: &Static, u: u32, fx: &mut impl Fx) {
        let now = fx.now();
        if self.ports.get(u).due != now {
            return;
        }
        let line = Self::line(cx, u);
        match line.end {
            End::Router { .. } => {
                if u >= cx.local.router_ports() {
                    self.catch_up_terminal(cx, u, now, fx);
                } else if self.ports.get(u).waiting != 0 {
                    self.catch_up(cx, u, now, fx);
                }
                let first = self.ports.get(u).flight.head;
                if first != NIL && self.flights.get(first).time == now {
                    let Flight { chunk, vc, next, .. } = *self.flights.get(first);
                    self.flights.give(first);
                    let port = self.ports.edit(u);
                    port.flight.head = next;
                    if next != NIL {
                        let Flight { time: due, number, .. } = *self.flights.get(next);
                        port.due = due;
                        fx.wake(due, Class::Ordinary, identity(0, line.link, number), PULL << 29 | u);
                    } else {
                        self.set_due(cx, u, fx);
                    }
                    self.arrive(cx, chunk, line, u, vc, fx);
                } else {
                    self.set_due(cx, u, fx);
                }
            }
            End::Terminal { .. } => {
                self.catch_up(cx, u, now, fx);
                self.eject(cx, u, now + 1, fx);
                self.set_due(cx, u, fx);
            }
            End::Remote { .. } => {}
        }
    }

    /// A chunk reaches a router over `line`, in a buffer that upstream port `from` accounts for.
    #[inline]
    pub(super) fn arrive(&mut self, cx: &Static, c: u32, line: &Line, from: u32, vc: u8, fx: &mut impl Fx) {
        match cx.net.config.router {
            RouterKind::Window => self.pass_on(cx, c, line, from, vc, fx),
            RouterKind::InputQueued => self.buffer(cx, c, line, from, vc, fx),
        }
    }

    /// Brings one port to instant `t`.
    #[inline]
    pub(super) fn touch(&mut self, cx: &Static, u: u32, t: Ps, fx: &mut impl Fx) {
        if u >= cx.local.router_ports() {
            self.catch_up_terminal(cx, u, t, fx);
        } else {
            self.catch_up(cx, u, t, fx);
            if let End::Terminal { .. } = Self::line(cx, u).end {
                self.eject(cx, u, t, fx);
            }
        }
    }

    /// Sets the next pull or tick of a line, after it was touched.
    #[inline]
    pub(super) fn set_due(&mut self, cx: &Static, u: u32, fx: &mut impl Fx) {
        let line = Self::line(cx, u);
        let timing = &cx.net.timings[line.timing as usize];
        let port = self.ports.get(u);
        let waits = port.flight.head == NIL;
        // A terminal's plan may be overtaken by an answer that its rank sends meanwhile. Were it named like the arrival it
        // expects, its alarm could ring at the instant of a later chunk's arrival, in the wrong place of the order.
        let plan = waits && cx.net.reacts && u >= cx.local.router_ports();
        let tick = plan || matches!(line.end, End::Remote { .. });
        let (due, number) = if !waits {
            let first = self.flights.get(port.flight.head);
            (first.time, first.number)
        } else {
            let start = if u >= cx.local.router_ports() {
                self.next_start(cx, u)
            } else if port.waiting != 0 {
                port.clock.rounded(timing.denominator).max(port.since)
            } else {
                NEVER
            };
            let span = if tick { 1 } else { timing.shortest + timing.delay };
            (start.saturating_add(span), port.sent)
        };
        let lazy = !cx.net.reacts && port.blocked == 0 && matches!(line.end, End::Terminal { .. });
        let due = if lazy { NEVER } else { due };
        if due != port.due {
            self.ports.edit(u).due = due;
            if due != NEVER {
                let (kind, token) = if tick { (3, TICK) } else { (0, PULL) };
                let name = identity(kind, line.link, if tick { 0 } else { number });
                fx.wake(due, Class::Ordinary, name, token << 29 | u);
            }
        }
    }

    /// Sets the alarm for the next credit of a blocked port.
    pub(super) fn set_credit(&mut self, cx: &Static, u: u32, fx: &mut impl Fx) {
        let port = self.ports.get(u);
        let Some(at) = port.next_release() else { return };
        if port.blocked == 0 || port.credit_set {
            return;
        }
        self.ports.edit(u).credit_set = true;
        fx.wake(at, Class::Early, identity(2, Self::line(cx, u).link, 0), CREDIT << 29 | u);
    }

    /// Alarm of a clocked router: early, so that it sees no arrival of its own instant, a picosecond after its decisions.
    pub(super) fn set_cycle(router: u32, local: u32, at: Ps, fx: &mut impl Fx) {
        fx.wake(at, Class::Early, identity(4, router, 0), CYCLE << 29 | local);
    }

    /// Releases the buffer that a chunk held on `from`'s link at instant `at`.
    #[inline]
    pub(super) fn return_credit(&mut self, cx: &Static, from: u32, vc: u8, at: Ps, fx: &mut impl Fx) {
        if from & REMOTE != 0 {
            let inbound = from & !REMOTE;
            let line = &cx.local.inbound[inbound as usize];
            let release = at + cx.net.timings[line.timing as usize].credit_delay;
            let count = self.returned.edit(inbound);
            *count = count.wrapping_add(1);
            let name = identity(5, line.link, *count);
            let message = Wire::Credit { link: line.link, vc };
            let to = cx.local.inbound_from[inbound as usize];
            fx.send(to, engine::domain::Lane::Network, release, Class::Early, name, message);
            return;
        }
        let release = at + cx.net.timings[Self::line(cx, from).timing as usize].credit_delay;
        let port = self.ports.get(from);
        // A terminal's credits must stay dated: they decide when its next chunk starts.
        let counts = from < cx.local.router_ports() && port.blocked == 0;
        if counts && port.first_credit != NO_CREDIT && fx.now() == at {
            self.drain_credits(from, at);
        }
        self.add_credit(from, Port::credit(release, vc));
        self.after_credit(cx, from, fx);
    }

    /// Appends a credit to a port's.
    #[inline]
    fn add_credit(&mut self, u: u32, code: u64) {
        let port = self.ports.edit(u);
        if port.first_credit == NO_CREDIT {
            port.first_credit = code;
        } else {
            port.more_credits = true;
            let credit = self.credits.take(Credit { code, next: NIL });
            self.more_credits.edit(u).push(&mut self.credits, credit);
        }
    }

    /// The credits on their way to a port, as [`Port::credit`]s.
    pub fn credits_of(&self, u: u32) -> impl Iterator<Item = u64> {
        let first = self.ports.get(u).first_credit;
        let more = self.more_credits.get(u).iter(&self.credits).map(|c| self.credits.get(c).code);
        (first != NO_CREDIT).then_some(first).into_iter().chain(more)
    }

    /// Somebody may wait for the credit that `u` just got.
    #[inline]
    fn after_credit(&mut self, cx: &Static, u: u32, fx: &mut impl Fx) {
        if u >= cx.local.router_ports() {
            if self.ports.get(u).due == NEVER {
                self.set_due(cx, u, fx);
            }
        } else if cx.net.config.router == RouterKind::InputQueued {
            self.credit_for_router(cx, u, fx);
        } else if self.ports.get(u).blocked != 0 {
            self.set_credit(cx, u, fx);
        }
    }

    /// Uses the credits released up to `t` of a port that nothing is queued at: counting only.
    #[inline]
    pub(super) fn drain_credits(&mut self, u: u32, t: Ps) {
        while self.next_credit(u, t).is_some() {}
    }

    /// Uses the first credit if it was released by `t`; returns its VC.
    #[inline]
    pub(super) fn next_credit(&mut self, u: u32, t: Ps) -> Option<u32> {
        let port = self.ports.get(u);
        // The mark for no credit reads as a release after all time.
        if port.first_credit >> 4 > t {
            return None;
        }
        let vc = (port.first_credit & 15) as u32;
        let port = self.ports.edit(u);
        port.backlog -= 1;
        port.first_credit = NO_CREDIT;
        if port.more_credits {
            self.refill_credit(u);
        }
        let v = self.vcs_per_port(u) + vc;
        self.vcs.edit(v).occupancy -= 1;
        Some(vc)
    }

    /// Moves a port's next credit to the first place.
    fn refill_credit(&mut self, u: u32) {
        let list = self.more_credits.edit(u);
        if let Some(next) = list.pop(&self.credits) {
            let port = self.ports.edit(u);
            port.first_credit = self.credits.get(next).code;
            port.more_credits = !list.is_empty();
            self.credits.give(next);
        }
    }

    /// First VC row of a port.
    #[inline]
    pub fn vcs_per_port(&self, u: u32) -> u32 {
        u * self.width
    }

    /// A credit that another partition sent, due now.
    fn credit_from_afar(&mut self, cx: &Static, u: u32, vc: u8, fx: &mut impl Fx) {
        let now = fx.now();
        self.add_credit(u, Port::credit(now, vc));
        if u < cx.local.router_ports() && self.ports.get(u).blocked != 0 {
            self.credit_event(cx, u, fx);
        } else {
            self.after_credit(cx, u, fx);
        }
    }

    /// A chunk that another partition sent arrives now.
    fn chunk_from_afar(&mut self, cx: &Static, t: &Travel, fx: &mut impl Fx) {
        let packet = match self.known.get(t.id, 0) {
            Some(p) => p,
            None => {
                let p = self.packets.take(Packet {
                    id: t.id,
                    created: t.created,
                    start: t.start,
                    message_created: t.message_created,
                    last_arrival: 0,
                    destination: t.destination,
                    bytes: t.bytes,
                    message: t.message,
                    message_packets: t.message_packets,
                    serialisation: 0,
                    wire: 0,
                    next: NIL,
                    chunks: t.chunks,
                    delivered: 0,
                    here: 0,
                    hops: 0,
                    disordered: false,
                });
                self.known.set(t.id, 0, p);
                p
            }
        };
        let row = self.packets.edit(packet);
        row.here += 1;
        if t.index + 1 == t.chunks {
            (row.serialisation, row.wire, row.hops) = (t.serialisation, t.wire, t.hops);
        }
        let c = self
            .chunks
            .take(Chunk::new(packet, t.index, t.index + 1 == t.chunks).with_visited(u16::from(t.visited)));
        self.notes.set(c, t.state);
        let inbound = cx.local.inbound_index(t.link);
        let line = cx.local.inbound[inbound as usize];
        self.arrive(cx, c, &line, REMOTE | inbound, t.vc, fx);
    }

    /// A chunk leaves for partition `to`; `flight` tells when it will arrive there.
    pub(super) fn send_afar(&mut self, cx: &Static, u: u32, to: u32, flight: &Flight, fx: &mut impl Fx) {
        let c = flight.chunk;
        let chunk = *self.chunks.get(c);
        let packet = *self.packets.get(chunk.packet);
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
            chunks: packet.chunks,
            index: chunk.index(),
            visited: chunk.visited() as u8,
            hops: packet.hops,
            vc: flight.vc,
        };
        let lane = engine::domain::Lane::Network;
        let name = identity(0, link, flight.number);
        fx.send(to, lane, flight.time, Class::Ordinary, name, Wire::Chunk(travel));
        self.chunks.give(c);
        self.packets.edit(chunk.packet).here -= 1;
        self.forget_if_gone(cx, chunk.packet);
    }

    /// Frees a packet's row when no chunk of it is here and none was delivered here that others must join.
    pub(super) fn forget_if_gone(&mut self, cx: &Static, p: u32) {
        let row = self.packets.get(p);
        if row.here == 0 && (row.delivered == 0 || row.delivered == row.chunks) {
            if cx.net.partitions > 1 {
                self.known.remove(row.id, 0);
            }
            self.packets.give(p);
        }
    }
}
