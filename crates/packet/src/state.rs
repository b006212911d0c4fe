//! State of one partition and its events: which handler an alarm or message goes to.
//!
//! The rules are in `PACKET.md`; handlers also in `window.rs`, `terminal.rs` and `input_queued.rs`.

use super::{
    config::RouterKind,
    event::{Alarm, Name, RouterAlarm},
    host::Host,
    input_queued::Clocked,
    network::{End, Line, Local, Network},
    publish::Published,
    rows::{Chunk, Credit, Cutting, Flight, NO_CREDIT, Packet, Port, Post, Terminal, Vc},
    surrogate::{Mode, Predicted, Surrogate},
    transport::{How, Sort, Transport},
};
use crate::hybrid::{
    predict::{Predictor, Wait},
    queues::SLOWNESS,
};
use base::time::{NEVER, Ps};
use engine::state::map::Map;
use engine::{
    domain::{Domain, Effects, Lane},
    key::Class,
    state::{Fifo, Journal, NIL, Pool, Table},
};
use ranks::envelope::Envelope;
use ranks::tally::Finished;
use serde::{Deserialize, Serialize};
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
        /// Terminal that it is for.
        destination: u32,
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
    /// What the packet that was just created is for (runs with a transport only).
    Sent {
        /// What for.
        sort: Sort,
        /// Payload and head.
        bytes: u32,
    },
    /// A packet ended without being delivered as data (runs with a transport only).
    Ended {
        /// When.
        time: Ps,
        /// See [`Packet::id`].
        id: u64,
        /// It was an acknowledgement.
        ack: bool,
        /// How.
        how: How,
    },
    /// Packets of a message were handed over past the network as one.
    Bypassed {
        /// When.
        time: Ps,
        /// Of the first, see [`Packet::id`].
        id: u64,
        /// Payload of all.
        bytes: u64,
        /// How many.
        packets: u32,
        /// Terminal that they are for.
        destination: u32,
    },
    /// A packet, or message, that was predicted is complete at its destination.
    Predicted {
        /// When.
        time: Ps,
        /// What arrived.
        packet: Predicted,
    },
    /// A predicted packet that is a message of its own, which nobody answers, is complete at its destination.
    Alone {
        /// When.
        time: Ps,
        /// What arrived.
        packet: Predicted,
    },
    /// [`Record::Created`] and [`Record::Alone`] of one packet, of at most 2^32 bytes, told together.
    Through {
        /// When it is complete.
        time: Ps,
        /// What was handed over and arrived.
        packet: Predicted,
    },
    /// An operation of a rank is finished.
    Operation(Finished),
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Wire {
    /// A chunk with what its packet's row needs.
    Chunk(Travel),
    /// What the destination's rank must know of a message that is on its way.
    Envelope {
        /// Terminal that sent it.
        source: u32,
        /// Terminal that it goes to.
        destination: u32,
        /// Its number there.
        number: u32,
        /// What it is about.
        envelope: Envelope,
    },
    /// An acknowledgement beside the network.
    Ack {
        /// Terminal that tells.
        from: u32,
        /// Terminal that is told.
        to: u32,
        /// Message of the pair.
        number: u32,
        /// What came, see [`Word`](super::transport::Word).
        word: u32,
        /// Packets received so far, and the number of the one that is answered.
        stamp: u64,
    },
    /// A packet, or message, that bypassed the network arrives.
    Predicted(Predicted),
    /// A credit for a link of the receiver.
    Credit {
        /// The link.
        link: u32,
        /// Its virtual channel.
        vc: u8,
    },
}

/// A chunk on its way to another partition; the fields mean what they mean in [`Packet`] and [`Chunk`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Who predicts, from the first switch on. Changes at director ticks alone.
    pub predictor: Option<Arc<dyn Predictor>>,
    /// By destination, what is added to its predictions; may be empty. Changes likewise.
    pub waits: Arc<Vec<Wait>>,
    /// See [`Queues::slowness`](crate::hybrid::queues::Queues::slowness). Changes likewise.
    pub slowness: u64,
    /// The next tick that asks what was delivered: deliveries before it may be told at once. Changes likewise.
    pub asked: Ps,
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
    /// Bytes of the chunks that each port sent, if they are not all of one size.
    pub carried: Table<u64>,
    /// How long each port's link slept until it last sent, and how often it woke, if links sleep.
    pub rests: Table<(Ps, u32)>,
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
    /// Queues as published.
    pub published: Published,
    /// Ranks of programs.
    pub host: Host,
    /// What bypasses the network.
    pub surrogate: Surrogate,
    /// What makes up for losses.
    pub transport: Transport,
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
            ripe: 0,
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
            elsewhere: false,
            index: 0,
            posts: Fifo::default(),
            queue: Fifo::default(),
            sent: 0,
            queued: 0,
            packets: 0,
            messages: 0,
            posted: 0,
            received: 0,
        };
        let lines = local.lines.len();
        let host = Host::new(&net, &local);
        let state = State {
            host,
            surrogate: Surrogate::new(&net, local.terminals.len()),
            transport: Transport::new(if net.resilience.is_some() { local.terminals.len() } else { 0 }),
            ports: Table::new(lines, port),
            vcs: Table::new(lines * usize::from(net.config.vcs), Vc::default()),
            queued: Table::new(lines * usize::from(net.config.vcs), Fifo::default()),
            carried: Table::new(if net.uniform { 0 } else { lines }, 0),
            rests: Table::new(if net.sleep_after > 0 { lines } else { 0 }, (0, 0)),
            width: u32::from(net.config.vcs),
            chunks: Pool::default(),
            flights: Pool::default(),
            notes: Notes::new(net.routes.stateful()),
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
            published: Published::new(if net.info_period > 0 { local.router_ports() as usize } else { 0 }),
        };
        Self {
            cx: Static {
                net,
                local,
                predictor: None,
                waits: Arc::default(),
                slowness: 1 << SLOWNESS,
                asked: 0,
            },
            state,
        }
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
        for i in 0..state.transport.senders.len() as u32 {
            state.offer(cx, i, fx);
        }
        state.start_ranks(cx, fx);
    }

    #[inline]
    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        let alarm = Alarm::of(token);
        let steady = matches!(alarm, Alarm::Rank(_) | Alarm::Bypass(_) | Alarm::Offer(_) | Alarm::Timer(_));
        if steady && !state.surrogate.phase().suspended {
            fx.turn(Lane::Network);
        }
        match alarm {
            Alarm::Pull(port) => state.pull(cx, port, fx),
            Alarm::Tick(port) => state.tick(cx, port, fx),
            Alarm::Router(RouterAlarm::Output(port)) => state.credit_event(cx, port, fx),
            Alarm::Router(alarm) => state.cycle(cx, alarm, fx),
            Alarm::Publish => state.publish(cx, fx),
            Alarm::Rank(cpu) => state.rank_alarm(cx, cpu, fx),
            Alarm::Bypass(terminal) => state.bypass_alarm(cx, terminal, fx),
            Alarm::Offer(terminal) => state.offer_alarm(cx, terminal, fx),
            Alarm::Timer(timer) => state.timer_ends(cx, timer, fx),
        }
    }

    fn receive(&mut self, message: &Wire, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        match message {
            Wire::Chunk(travel) => state.chunk_from_afar(cx, travel, fx),
            Wire::Envelope { source, destination, number, envelope } => {
                state.envelope_from_afar((*source, *destination), *number, *envelope);
            }
            Wire::Predicted(packet) => {
                if !state.surrogate.phase().suspended {
                    fx.turn(Lane::Network);
                }
                state.arrive_predicted(cx, packet, fx);
            }
            Wire::Ack { from, to, number, word, stamp } => {
                state.ack_from_afar(cx, (*from, *to), *number, (*word, *stamp), fx);
            }
            Wire::Credit { link, vc } => {
                let u = cx.net.crossings[*link as usize].upstream;
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
        state.settle_surrogate(cx, now + fx.suspended(), fx);
    }

    fn settle_steady(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        self.state.settle_surrogate(&self.cx, now, fx);
    }

    fn tables(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        let s = &mut self.state;
        visit(&mut s.ports);
        visit(&mut s.vcs);
        visit(&mut s.queued);
        visit(&mut s.carried);
        visit(&mut s.rests);
        visit(&mut s.chunks);
        visit(&mut s.flights);
        visit(&mut s.notes.rows);
        visit(&mut s.packets);
        visit(&mut s.credits);
        visit(&mut s.more_credits);
        visit(&mut s.terminals);
        visit(&mut s.posts);
        visit(&mut s.returned);
        visit(&mut s.published.pages);
        visit(&mut s.published.next);
        s.host.tables(visit);
        s.surrogate.tables(visit);
        s.transport.tables(visit);
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
        let Some(u) = Alarm::pull(token) else { return };
        let state = &self.state;
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
        let own = self.cx.local.lookahead[to as usize];
        let phase = self.state.surrogate.phase();
        if phase.mode == Mode::Fidelity {
            return own;
        }
        let past = self.cx.net.bypass_time();
        if phase.suspended { Some(past) } else { Some(own.map_or(past, |own| own.min(past))) }
    }
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
                        let name = Name::Arrival.of(line.link, number);
                        fx.wake(due, Class::Ordinary, name, Alarm::Pull(u).token());
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
            RouterKind::Window => {
                if cx.net.losses.is_some() && self.discard_lost(cx, c, (line.timing, line.link), fx.now(), fx)
                {
                    return self.return_credit(cx, from, vc, fx.now(), fx);
                }
                self.pass_on(cx, c, line, from, vc, fx);
            }
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
        let mut first = port.flight.head;
        if cx.net.ripens && port.blocked == 0 && matches!(line.end, End::Terminal { .. }) {
            // What arrives at this instant completes nothing: else it would have been due. But its credit may be waited for.
            while first != NIL && self.flights.get(first).time <= fx.now() {
                first = self.flights.get(first).next;
            }
        }
        let waits = first == NIL;
        // A terminal's plan may be overtaken by an answer that its rank sends meanwhile. Were it named like the arrival it
        // expects, its alarm could ring at the instant of a later chunk's arrival, in the wrong place of the order.
        let plan = waits && cx.net.reacts && u >= cx.local.router_ports();
        let remote = matches!(line.end, End::Remote { .. });
        let tick = plan || remote;
        let (due, number) = if !waits {
            let first = self.flights.get(first);
            (first.time, first.number)
        } else {
            let start = if u >= cx.local.router_ports() {
                self.next_start(cx, u)
            } else if port.waiting != 0 {
                port.clock.rounded(timing.denominator).max(port.since)
            } else {
                NEVER
            };
            let span = match (remote, plan) {
                (true, _) => 1 + timing.slack,
                (_, true) => 1,
                _ => timing.shortest + timing.delay,
            };
            (start.saturating_add(span), port.sent)
        };
        let idle = !cx.net.reacts || (port.ripe == 0 && cx.net.ripens);
        let lazy = idle && port.blocked == 0 && matches!(line.end, End::Terminal { .. });
        let due = if lazy { NEVER } else { due };
        if due != port.due {
            self.ports.edit(u).due = due;
            if due != NEVER {
                let (name, alarm) = if tick {
                    (Name::Tick.of(line.link, 0), Alarm::Tick(u))
                } else {
                    (Name::Arrival.of(line.link, number), Alarm::Pull(u))
                };
                fx.wake(due, Class::Ordinary, name, alarm.token());
            }
        }
    }

    /// First VC row of a port.
    #[inline]
    pub fn vcs_per_port(&self, u: u32) -> u32 {
        u * self.width
    }
}
