//! The network of a partition: links, buffers, credits and routers; what lies around it ([`State`](super::state::State)) is the edge.
//!
//! [`Net`] holds what every router architecture shares; an architecture ([`Router`]) brings rules, its part of the shared rows, and
//! state of its own. State, messages, invariants and cost are in `ROUTER.md`.

pub mod channels;
mod copies;
mod credits;
mod decide;
mod links;
mod mark;
mod notes;
mod publish;
pub mod published;
mod remote;
mod ripe;

use super::{
    config::{PacketConfig, Rules},
    congestion_control::marks::{Marks, Queue},
    effects::Fx,
    event::{Alarm, Name, RouterAlarm},
    network::{End, Line, Network},
    rows::{Chunk, Credit, Flight, Packet, Port, Rest, Vc},
};
use crate::{
    hybrid::predict::{Predictors, Wait},
    setup::Setup,
};
use crate::{
    local::Local,
    places::{LocalPort, Upstream, VcRow},
    pools::{ChunkRow, CreditRow, List, PacketRow, RowNumber, Rows},
};
use base::{
    hash::Fingerprint,
    index::{ChannelId, LinkId},
    registry::About,
    time::{NEVER, Ps},
};
use engine::{
    key::Class,
    state::{Journal, Row, Table, map::Map, mode::Mode},
};
pub use links::Output;
use model::failure::Failure;
pub use notes::Notes;
use published::Published;
use std::sync::Arc;

/// What handlers read: the network and this partition's share.
#[derive(Clone)]
pub struct Static {
    /// Shared by all partitions.
    pub net: Arc<Network>,
    /// What lies in this partition: its routers, terminals and lines.
    pub local: Arc<Local>,
    /// Who predicts, from the first switch on. Changes at director ticks alone.
    pub predictor: Option<Arc<Predictors>>,
    /// By destination, what is added to its predictions; may be empty. Changes likewise.
    pub waits: Arc<Vec<Wait>>,
    /// See [`Queues::slowness`](crate::hybrid::queues::Queues::slowness). Changes likewise.
    pub slowness: u64,
    /// The next tick that asks what was delivered: deliveries before it may be reported at once. Changes likewise.
    pub asked: Ps,
}

/// A buffer of the network: directed link and virtual channel.
pub type Channel = (LinkId, ChannelId);

/// A router architecture: what its routers do with chunks between their links.
///
/// Handlers are functions over the whole [`Net`] of a partition, of which the architecture's own state is a part. They may use all
/// that `Net` offers: what [`Net::put_on_link`] starts arrives downstream by itself ([`Net::set_due`] sets the alarm), or is taken by the
/// architecture where its routers look at their links in their own time ([`Net::take_flight`]).
pub trait Router: Clone + PartialEq + Send + Sized + 'static {
    /// What a run with this type pays for: its tables, and those of the shared network, are of this mode.
    type Mode: Mode;
    /// The same architecture in another mode: runs are compiled for each, see [`RouterEntry`](crate::router::registry::RouterEntry).
    type In<M: Mode>: Router<Mode = M>;
    /// Name and documentation.
    const ABOUT: About;
    /// Facts that the rest of the model goes by.
    const RULES: Rules;
    /// It says what waits for its outputs ([`Router::queue`]) and calls [`Net::mark`] for each chunk that leaves; without, congestion control is refused.
    const QUEUES: bool = false;
    /// A credit that nobody waits for ([`Router::pressed`]) does nothing but count ([`Router::credit`] need not hear of it).
    const COUNTS: bool = false;
    /// Its part of a port's row: at most four bytes.
    type Port: Row + Default + Send;
    /// Its part of a virtual channel's row: at most eight bytes.
    type Vc: Row + Default + Send;

    /// State of its own, of all routers of a partition, before anything happened.
    fn new(net: &Network, local: &Local) -> Self;

    /// Its share of [`engine::domain::Domain::abandon`]: what it took out during an event is back.
    fn abandon(&mut self) {}

    /// Shows its tables, always in the same order.
    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal));

    /// Refuses, before a run, what it excludes.
    ///
    /// # Errors
    /// [`Failure::Setup`] with the reason.
    fn refuse(_setup: &Setup) -> Result<(), Failure> {
        Ok(())
    }

    /// Why it does not copy chunks of multicasts ([`Net::branches`]) with these parameters, where the smallest buffer of a virtual channel holds so many bytes; and the way out.
    fn no_copies(config: &PacketConfig, _buffer: u64) -> Option<(String, &'static str)> {
        let why = format!("router \"{}\" copies none", config.router.name);
        Some((why, "choose router \"window\", or \"input-queued\" or \"combined\" with a section [router]"))
    }

    /// Bytes of its own state for so many ports and virtual channels of each.
    fn bytes(ports: u64, vcs: u64) -> u64;

    /// Bytes beyond these, of what only some setups make it keep.
    fn more_bytes(_setup: &Setup) -> u64 {
        0
    }

    /// Chunk `c` reaches a router over `line`, in a buffer that upstream port `from` accounts for until [`Net::return_credit`].
    fn arrive(
        n: &mut Net<Self>,
        cx: &Static,
        c: ChunkRow,
        line: &Line,
        from: Upstream,
        vc: ChannelId,
        fx: &mut impl Fx,
    );

    /// A credit for output `u` is among its dated ones; from another partition it holds `now`, else later.
    fn credit(n: &mut Net<Self>, cx: &Static, u: LocalPort, now: bool, fx: &mut impl Fx);

    /// An alarm that it set rings.
    fn alarm(n: &mut Net<Self>, cx: &Static, alarm: RouterAlarm, fx: &mut impl Fx);

    /// Starts what output `u` starts before `t`, if that was put off.
    fn advance(n: &mut Net<Self>, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx);

    /// When output `u`, whose link is empty, will start something of what waits; `NEVER` if that is not known.
    fn next_start(n: &Net<Self>, cx: &Static, u: LocalPort) -> Ps;

    /// Somebody waits for credits of output `u`: they are events then, or decide when something starts, and nobody else may count them.
    fn pressed(n: &Net<Self>, u: LocalPort) -> bool;

    /// Counts the credits of output `u` released up to `t`, so that its books are those of this instant.
    #[inline]
    fn count(n: &mut Net<Self>, _cx: &Static, u: LocalPort, t: Ps, _fx: &mut impl Fx) {
        if !Self::pressed(n, u) {
            n.drain_credits(u, t);
        }
    }

    /// Least time from a start of output `u` to that of a chunk that may complete a packet, if it finds one; for architectures that count [`Port::ripe`].
    fn before_complete(_n: &Net<Self>, _cx: &Static, _u: LocalPort) -> Option<Ps> {
        None
    }

    /// Something waits at output `u` for its link.
    fn waits(n: &Net<Self>, u: LocalPort) -> bool;

    /// Does what was put off and belongs before `now`, so that it is never seen from outside. Outputs are advanced already.
    fn settle(n: &mut Net<Self>, cx: &Static, now: Ps);

    /// Visits what it holds at port `u` (inputs and outputs of a router have the same numbers): the buffer that chunks account for, its VC
    /// and the list.
    fn held(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(LinkId, ChannelId, ChunkRow));

    /// Visits the chunks that are at port `u` of a router and on no link.
    fn chunks(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(ChunkRow)) {
        Self::held(n, cx, u, &mut |_, _, chunk| visit(chunk));
    }

    /// Chunks that are at output `u` and own no buffer behind its link.
    fn bufferless(_n: &Net<Self>, _u: LocalPort) -> u32 {
        // Where nothing leaves its input before it has a buffer, occupancy is all of the backlog.
        0
    }

    /// Visits who waits for whom at port `u`: a buffer, so many of its chunks, and the buffers of which one would do.
    fn waiting(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(Channel, u32, &[Channel]));

    /// Chunks for which a buffer behind a terminal's link must have room before a packet starts onto it.
    #[inline]
    fn packet_room(_n: &Net<Self>, _cx: &Static) -> u32 {
        1
    }

    /// Chunks that one virtual channel of port `u` may hold behind the link, where `capacity` is its own.
    fn bound(_n: &Net<Self>, _cx: &Static, _u: LocalPort, capacity: u32) -> u32 {
        capacity
    }

    /// What waits for output `u` behind a chunk that leaves for it on virtual channel `vc`, counted up to `most` chunks: see [`Router::QUEUES`].
    fn queue(_n: &Net<Self>, _cx: &Static, _u: LocalPort, _vc: ChannelId, _most: u32) -> Queue {
        Queue::default()
    }

    /// What contradicts its rules at virtual channel `vc` of port `u`, of whose buffers `room` are free.
    fn fault(_n: &Net<Self>, _u: LocalPort, _vc: ChannelId, _room: u32) -> Option<String> {
        None
    }

    /// Adds what it holds at port `u` to the final state.
    fn hash(n: &Net<Self>, cx: &Static, u: LocalPort, sum: &mut Fingerprint);
}

/// A packet that is complete at its destination, for the edge to take up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Complete {
    /// The row as it was.
    pub packet: Packet,
    /// Port behind which its terminal is.
    pub port: LocalPort,
    /// When, on the network's clock.
    pub time: Ps,
}

/// What changes in the network of a partition.
#[derive(Clone)]
pub struct Net<R: Router> {
    /// Upstream ports: routers' outputs, then terminals' outputs.
    pub ports: Table<Port<R::Port>, R::Mode, LocalPort>,
    /// VCs, by port and VC.
    pub vcs: Table<Vc<R::Vc>, R::Mode, VcRow>,
    /// Bytes of the chunks that each port sent, if they are not all of one size.
    pub carried: Table<u64, R::Mode, LocalPort>,
    /// How long each port's link slept until it last sent, and how often it woke, if links sleep.
    pub rests: Table<Rest, R::Mode, LocalPort>,
    /// VCs per port.
    pub width: u8,
    /// Chunks between their terminals, in this partition.
    pub chunks: Rows<Chunk, R::Mode>,
    /// Chunks on links.
    pub flights: Rows<Flight, R::Mode>,
    /// Routing's memory by chunk; empty if the routing has none.
    pub notes: Notes<R::Mode>,
    /// Packets that have chunks here.
    pub packets: Rows<Packet, R::Mode>,
    /// Credits behind the first of their port.
    pub credits: Rows<Credit, R::Mode>,
    /// Lists of such credits, by port.
    pub more_credits: Table<List<CreditRow>, R::Mode, LocalPort>,
    /// Rows of packets that may meet chunks of theirs again, by id (several partitions only).
    pub known: Map<PacketRow, R::Mode>,
    /// Decisions that later chunks follow, by packet and hop (adaptive routing per packet only).
    pub trails: Map<fabric::routing::Choice, R::Mode>,
    /// Credits sent to other partitions, by inbound line: names them uniquely.
    pub returned: Table<u32, R::Mode>,
    /// Queues as published.
    pub published: Published<R::Mode>,
    /// Packets that outputs marked, if any may.
    pub marks: Marks<R::Mode>,
    /// What the architecture keeps beside the rows.
    pub router: R,
    /// Packets that are complete. Empty between events.
    pub complete: Vec<Complete>,
    /// Terminals' ports that got a credit while they knew no next start. Empty between events.
    pub credited: Vec<LocalPort>,
}

/// What changes; lists of the present event are no state.
impl<R: Router> PartialEq for Net<R> {
    fn eq(&self, other: &Self) -> bool {
        self.ports == other.ports
            && self.vcs == other.vcs
            && self.carried == other.carried
            && self.rests == other.rests
            && self.chunks == other.chunks
            && self.flights == other.flights
            && self.notes == other.notes
            && self.packets == other.packets
            && self.credits == other.credits
            && self.more_credits == other.more_credits
            && self.known == other.known
            && self.trails == other.trails
            && self.returned == other.returned
            && self.published == other.published
            && self.marks == other.marks
            && self.router == other.router
    }
}

/// Which features a run has. Tests of them go through these, so that a plain run has none in its handlers: see
/// [`is_plain`](super::network::is_plain).
impl<R: Router> Net<R> {
    /// The run's mode has the features that plain runs lack.
    pub const FULL: bool = R::Mode::FEATURES;

    /// Somebody answers what is delivered.
    #[inline]
    pub fn reacts(cx: &Static) -> bool {
        debug_assert!(Self::FULL || !cx.net.reacts, "nobody answers in a plain run");
        Self::FULL && cx.net.reacts
    }

    /// Only what may complete a packet is an event at terminals.
    #[inline]
    pub fn ripens(cx: &Static) -> bool {
        Self::FULL && cx.net.ripens
    }

    /// Links lose packets, or somebody changes them, and a transport makes up for it.
    #[inline]
    pub fn is_lossy(cx: &Static) -> bool {
        debug_assert!(Self::FULL || cx.net.resilience.is_none(), "nothing is lost in a plain run");
        Self::FULL && cx.net.resilience.is_some()
    }

    /// Packets are marked, or flows paced.
    #[inline]
    pub fn is_controlled(cx: &Static) -> bool {
        debug_assert!(Self::FULL || cx.net.control.is_none(), "nothing is marked in a plain run");
        Self::FULL && cx.net.control.is_some()
    }

    /// Adapters look at the order of packets.
    #[inline]
    pub fn is_adapted(cx: &Static) -> bool {
        debug_assert!(
            Self::FULL || cx.net.adapter.is_none(),
            "nobody looks at the order of packets in a plain run"
        );
        Self::FULL && cx.net.adapter.is_some()
    }

    /// Adapters put packets back into order: messages have the pair's numbers.
    #[inline]
    pub fn resequences(cx: &Static) -> bool {
        Self::FULL && cx.net.adapter.is_some_and(|adapter| adapter.resequencing)
    }

    /// Messages wait in queues of their terminals, whose packets leave in turn.
    #[inline]
    pub fn is_queued(cx: &Static) -> bool {
        Self::is_controlled(cx) || Self::is_adapted(cx) && cx.net.outlet().is_some()
    }

    /// Jobs have virtual channels by class.
    #[inline]
    pub fn has_services(cx: &Static) -> bool {
        debug_assert!(Self::FULL || cx.net.services.is_none(), "a plain run has no service classes");
        Self::FULL && cx.net.services.is_some()
    }

    /// Predictors may take the network's place.
    #[inline]
    pub fn is_hybrid(cx: &Static) -> bool {
        debug_assert!(Self::FULL || cx.net.hybrid.is_none(), "nothing is predicted in a plain run");
        Self::FULL && cx.net.hybrid.is_some()
    }

    /// Virtual time minus the network's.
    #[inline]
    pub fn suspended(fx: &impl Fx) -> Ps {
        debug_assert!(Self::FULL || fx.suspended() == 0, "the network of a plain run is never suspended");
        if Self::FULL { fx.suspended() } else { 0 }
    }
}

impl<R: Router> Net<R> {
    /// The network of a partition before anything happened.
    #[must_use]
    pub fn new(net: &Network, local: &Local) -> Self {
        const {
            assert!(size_of::<Port<R::Port>>() == 64, "a port is a cache line");
            assert!(size_of::<Vc<R::Vc>>() == 16, "four virtual channels are a cache line");
        }
        assert!((1..=16).contains(&net.config.vcs), "a set of virtual channels has 16 bits");
        let lines = local.lines.len();
        let vcs = lines * usize::from(net.config.vcs);
        let pages = if net.info_period > 0 { local.router_ports() as usize } else { 0 };
        let marking = net.control.as_ref().is_some_and(|control| control.scheme.is_marking());
        let outputs = if marking { local.router_ports() as usize } else { 0 };
        Self {
            ports: Table::new(lines, Port::default()),
            vcs: Table::new(vcs, Vc::default()),
            carried: Table::new(if net.uniform { 0 } else { lines }, 0),
            rests: Table::new(if net.sleep.is_some() { lines } else { 0 }, Rest::default()),
            width: net.config.vcs,
            chunks: Rows::default(),
            flights: Rows::default(),
            notes: Notes::new(net.routes.stateful()),
            packets: Rows::default(),
            credits: Rows::default(),
            more_credits: Table::new(lines, List::default()),
            known: Map::default(),
            trails: Map::default(),
            returned: Table::new(local.inbound.len(), 0),
            published: Published::new(pages),
            marks: Marks::new(outputs),
            router: R::new(net, local),
            complete: Vec::new(),
            credited: Vec::new(),
        }
    }

    /// Shows every table to the engine.
    pub fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        debug_assert!(self.complete.is_empty() && self.credited.is_empty(), "nothing is left between events");
        visit(&mut self.ports);
        visit(&mut self.vcs);
        visit(&mut self.carried);
        visit(&mut self.rests);
        visit(self.chunks.journal());
        visit(self.flights.journal());
        visit(self.notes.journal());
        visit(self.packets.journal());
        visit(self.credits.journal());
        visit(&mut self.more_credits);
        visit(&mut self.returned);
        visit(&mut self.published.pages);
        visit(&mut self.published.next);
        self.marks.visit_journals(visit);
        self.known.visit_journals(visit);
        self.trails.visit_journals(visit);
        self.router.visit_journals(visit);
    }

    /// The line of a port.
    #[inline]
    pub fn line(cx: &Static, u: LocalPort) -> &Line {
        &cx.local.lines[u]
    }

    /// First VC row of a port.
    #[inline]
    pub fn first_vc(&self, u: LocalPort) -> VcRow {
        VcRow::first_of(u, self.width)
    }

    /// Row of a VC of a port.
    #[inline]
    pub fn vc_row(&self, u: LocalPort, vc: ChannelId) -> VcRow {
        VcRow::of(u, self.width, vc)
    }

    /// VCs of a port and their rows, ascending.
    #[inline]
    pub fn vcs_of(&self, u: LocalPort) -> impl DoubleEndedIterator<Item = (ChannelId, VcRow)> + use<R> {
        self.first_vc(u).each(self.width)
    }

    /// Chunks that own buffer of a port's link, over all its VCs.
    #[must_use]
    pub fn occupancy(&self, u: LocalPort) -> u32 {
        self.vcs_of(u).map(|(_, v)| self.vcs.get(v).occupancy).sum()
    }

    /// The first chunk on a link to a router arrives, if that is now. False if nothing is set for what comes after it.
    #[inline]
    pub fn pull(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) -> bool {
        let first = self.ports.get(u).flight.head;
        if first.is_nil() || self.flights.get(first).time != fx.now() {
            return false;
        }
        let line = Self::line(cx, u);
        let Flight { chunk, vc, next, .. } = self.flights.take_out(first);
        let port = self.ports.edit(u);
        port.flight.head = next;
        // Set before the chunk is passed on: that returns a credit to this very port, which may ask what is set.
        if !next.is_nil() {
            let Flight { time: due, number, .. } = *self.flights.get(next);
            debug_assert!(
                due >= fx.now(),
                "chunks of a link arrive in the order in which they were put on it"
            );
            port.due = due;
            fx.wake(
                due,
                Class::Ordinary,
                Name::Arrival.of(line.link.number(), number),
                Alarm::Pull(u).token(),
            );
        }
        R::arrive(self, cx, chunk, line, Upstream::here(u), vc, fx);
        !next.is_nil()
    }

    /// Brings a router's output to instant `t`.
    #[inline]
    pub fn touch(&mut self, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        R::advance(self, cx, u, t, fx);
        if let End::Terminal { .. } = Self::line(cx, u).end {
            self.eject(cx, u, t, fx);
        }
    }

    /// Sets the next pull or tick of a router's output, after it was touched.
    #[inline]
    pub fn set_due(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) {
        debug_assert!(cx.local.is_routers(u), "a terminal plans its own port");
        self.plan(cx, u, |n| R::next_start(n, cx, u), fx);
    }

    /// Sets the next pull or tick of a port that starts its next chunk at `start` if its link is empty.
    #[inline]
    pub fn plan(&mut self, cx: &Static, u: LocalPort, start: impl FnOnce(&Self) -> Ps, fx: &mut impl Fx) {
        let line = Self::line(cx, u);
        let timing = &cx.net.timings[line.timing as usize];
        let out = matches!(line.end, End::Terminal { .. });
        let pressed = R::pressed(self, u);
        if Self::ripens(cx) && !pressed && out {
            return self.plan_ripe(cx, u, start, fx);
        }
        let port = self.ports.get(u);
        let first = port.flight.head;
        let waits = first.is_nil();
        // A terminal's plan may be overtaken by an answer that its rank sends meanwhile. Were it named like the arrival it
        // expects, its alarm could ring at the instant of a later chunk's arrival, in the wrong place of the order.
        let plan = waits && Self::reacts(cx) && !cx.local.is_routers(u);
        let remote = matches!(line.end, End::Remote { .. });
        let tick = plan || remote;
        let (due, number) = if !waits {
            let first = self.flights.get(first);
            (first.time, first.number)
        } else {
            let span = match (remote, plan) {
                (true, _) => 1 + timing.slack,
                (_, true) => 1,
                _ => timing.shortest + timing.delay,
            };
            (start(self).saturating_add(span), port.sent)
        };
        // Chunks that nobody waits for need no event on their way out: whoever looks at the port later takes them first.
        let due = if !Self::reacts(cx) && !pressed && out { NEVER } else { due };
        debug_assert!(due >= fx.now() || due == port.due, "alarms lie ahead");
        // An alarm that was set for another instant rings in vain: `due` says which one counts.
        if due != port.due {
            self.ports.edit(u).due = due;
            if due != NEVER {
                let (name, alarm) = if tick {
                    (Name::Tick.of(line.link.number(), 0), Alarm::Tick(u))
                } else {
                    (Name::Arrival.of(line.link.number(), number), Alarm::Pull(u))
                };
                fx.wake(due, Class::Ordinary, name, alarm.token());
            }
        }
    }

    /// Touches what the pull of port `u` will read, the nearer the later the stage.
    #[inline]
    pub fn prefetch(&self, cx: &Static, stage: usize, u: LocalPort) {
        let first = || self.ports.get(u).flight.head;
        match stage {
            0 => self.ports.prefetch(u),
            1 if !first().is_nil() => self.chunks.prefetch(self.flights.get(first()).chunk),
            2 if !first().is_nil() => {
                self.packets.prefetch(self.chunks.get(self.flights.get(first()).chunk).packet);
            }
            3 if !first().is_nil() => self.prefetch_output(cx, u, first()),
            _ => {}
        }
    }

    /// Adds a list of chunks to the final state, under the name of its place.
    pub fn hash_list(&self, place: u64, list: List<ChunkRow>, sum: &mut Fingerprint) {
        for (n, c) in list.iter(&self.chunks).enumerate() {
            let c = self.chunks.get(c);
            sum.add(place, n as u64, self.packets.get(c.packet).id.key(), u64::from(c.index()));
        }
    }
}
