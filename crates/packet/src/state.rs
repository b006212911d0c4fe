//! State of one partition and its events: which handler an alarm or message goes to.
//!
//! The rules are in `PACKET.md`; the network's handlers are in `net` and `router`, those of the edge in `terminal.rs`, `host.rs`,
//! `surrogate` and `transport`.

use super::{
    adapter::order::Adapters,
    congestion_control::sources::Sources,
    event::Alarm,
    net::{Net, Router},
    network::{End, Network},
    posted::Posted,
    rows::{Cutting, Post, Terminal},
    surrogate::{Mode, Surrogate},
    transport::{AckNews, MessageWith, TimerRow, Transport, Word},
};
pub use super::{
    effects::{Fx, Record, Travel, Wire},
    net::Static,
};
use crate::hybrid::queues::SLOWNESS;
use crate::{
    local::Local,
    places::{Ends, LocalPort},
    pools::{List, Rows},
};
use base::{
    index::TerminalId,
    time::{NEVER, Ps},
};
use engine::{
    domain::{Domain, Effects, Lane},
    state::{Journal, Table, map::Map},
};
use ranks::{hosted::Hosted, programs::Programs};
use std::sync::Arc;

/// Everything that changes: the network, and the edge that lies around it.
#[derive(Clone, PartialEq)]
pub struct State<R: Router> {
    /// Links, buffers and routers.
    pub net: Net<R>,
    /// Terminals of this partition, by local number.
    pub terminals: Table<Terminal, R::Mode>,
    /// Messages posted in answer to others, in the lists of their terminals.
    pub posts: Rows<Post, R::Mode>,
    /// Packets still missing of messages with several, by source and message number.
    pub open: Map<u32, R::Mode>,
    /// Messages delivered by destination and source terminal (workloads that answer only).
    pub received: Map<u32, R::Mode>,
    /// What hosts sent ahead, and messages for them.
    pub posted: Posted<R::Mode>,
    /// What bypasses the network.
    pub surrogate: Surrogate<R::Mode>,
    /// What makes up for losses.
    pub transport: Transport<R::Mode>,
    /// Messages by destination, and how fast each may leave.
    pub control: Sources<R::Mode>,
    /// Order of packets by pair, and what adapters hold.
    pub adapters: Adapters<R::Mode>,
}

/// The packet model as the engine sees it.
#[derive(Clone)]
pub struct PacketDomain<R: Router> {
    /// What handlers read.
    pub cx: Static,
    /// What they change.
    pub state: State<R>,
}

impl<R: Router> PartialEq for PacketDomain<R> {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state
    }
}

/// The packet network with the ranks of programs that live on its terminals.
pub type Inhabited<R> = Hosted<PacketDomain<R>, Programs>;

impl<R: Router> PacketDomain<R> {
    /// Partition `partition` before anything happened.
    #[must_use]
    pub fn new(net: Arc<Network>, partition: u32) -> Self {
        let local = Arc::new(Local::new(&net, partition));
        let terminal = Terminal {
            request: 0,
            cutting: Cutting::default(),
            upcoming: NEVER,
            upcoming_destination: TerminalId::new(0),
            upcoming_bytes: 0,
            elsewhere: false,
            index: 0,
            posts: List::default(),
            controls: List::default(),
            queue: List::default(),
            sent: 0,
            queued: 0,
            packets: 0,
            messages: 0,
            posted: 0,
            received: 0,
        };
        let state = State {
            posted: Posted::default(),
            surrogate: Surrogate::new(&net, local.terminals.len()),
            transport: Transport::new(if net.resilience.is_some() { local.terminals.len() } else { 0 }),
            control: Sources::new(if net.control.is_some() || net.outlet().is_some() {
                local.terminals.len()
            } else {
                0
            }),
            adapters: Adapters::new(if net.adapter.is_some() { local.terminals.len() } else { 0 }),
            net: Net::new(&net, &local),
            terminals: Table::new(local.terminals.len(), terminal),
            posts: Rows::default(),
            open: Map::default(),
            received: Map::default(),
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

impl<R: Router> Domain for PacketDomain<R> {
    type Message = Wire;
    type Record = Record;

    fn start(&mut self, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        for i in 0..cx.local.terminals.len() as u32 {
            state.read_ahead(cx, i, 0);
            state.set_due(cx, cx.local.port_of(i), fx);
        }
        for i in 0..state.transport.senders.len() as u32 {
            state.offer(cx, i, fx);
        }
        state.take_up_network(cx, fx);
    }

    #[inline]
    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        // Nearly all alarms are pulls.
        if let Some(port) = Alarm::pull(token) {
            state.pull(cx, port, fx);
            return state.take_up_network(cx, fx);
        }
        let alarm = Alarm::of(token);
        if Net::<R>::FULL {
            let steady =
                matches!(alarm, Alarm::Rank(_) | Alarm::Bypass(_) | Alarm::Offer(_) | Alarm::Timer(_));
            if steady && !state.surrogate.phase().suspended {
                fx.turn(Lane::Network);
            }
        }
        match alarm {
            Alarm::Pull(port) => state.pull(cx, port, fx),
            Alarm::Tick(port) => state.tick(cx, port, fx),
            Alarm::Router(alarm) => R::alarm(&mut state.net, cx, alarm, fx),
            Alarm::Publish => state.publish(cx, fx),
            Alarm::Rank(_) => unreachable!("hosts take theirs"),
            _ if !Net::<R>::FULL => unreachable!("features that a plain run lacks set no alarms"),
            Alarm::Bypass(terminal) => state.bypass_alarm(cx, terminal, fx),
            Alarm::Offer(terminal) => state.offer_alarm(cx, terminal, fx),
            Alarm::Timer(timer) => state.timer_ends(cx, TimerRow::new(timer), fx),
        }
        state.take_up_network(cx, fx);
    }

    fn receive(&mut self, message: &Wire, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        match message {
            Wire::Chunk(travel) => state.net.chunk_from_afar(cx, travel, fx),
            Wire::Credit { link, vc } => {
                let u = cx.net.crossings[link.index()].upstream;
                state.net.credit_from_afar(cx, u, *vc, fx);
            }
            _ if !Net::<R>::FULL => unreachable!("features that a plain run lacks send nothing"),
            Wire::Ahead { source, destination, number, ahead } => {
                let ends = Ends { source: *source, destination: *destination };
                state.posted.ahead(ends, *number, *ahead);
            }
            Wire::Predicted(packet) => {
                if !state.surrogate.phase().suspended {
                    fx.turn(Lane::Network);
                }
                state.arrive_predicted(cx, packet, fx);
            }
            Wire::Ack { from, to, number, word, stamp } => {
                let about = MessageWith { peer: *from, number: *number };
                let news = AckNews { word: Word(*word), stamp: *stamp };
                state.ack_from_afar(cx, *to, about, news, fx);
            }
            Wire::Taken { source, destination, bytes } => {
                state.taken(cx, Ends { source: *source, destination: *destination }, *bytes, fx);
            }
            Wire::Notice { source, destination } => {
                state.notified(cx, Ends { source: *source, destination: *destination }, fx);
            }
        }
        state.take_up_network(cx, fx);
    }

    fn settle(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        let Self { cx, state } = self;
        state.settle_network(cx, now, fx);
        if Net::<R>::FULL {
            state.settle_surrogate(cx, now + fx.suspended(), fx);
        }
    }

    fn settle_steady(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        if Net::<R>::FULL {
            self.state.settle_surrogate(&self.cx, now, fx);
        }
    }

    fn puts_off(&self) -> bool {
        Net::<R>::FULL && self.cx.net.runs_by_tick() && self.state.surrogate.phase().mode == Mode::Surrogate
    }

    fn abandon(&mut self) {
        self.state.net.complete.clear();
        self.state.net.credited.clear();
        self.state.net.router.abandon();
        self.state.posted.abandon();
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        let s = &mut self.state;
        s.net.visit_journals(visit);
        visit(&mut s.terminals);
        visit(s.posts.journal());
        s.posted.visit_journals(visit);
        s.surrogate.visit_journals(visit);
        s.transport.visit_journals(visit);
        s.control.visit_journals(visit);
        s.adapters.visit_journals(visit);
        s.open.visit_journals(visit);
        s.received.visit_journals(visit);
    }

    fn large(&self) -> bool {
        self.state.net.ports.len() > 1000
    }

    #[inline]
    fn prefetch(&self, stage: usize, token: u32) {
        if let Some(u) = Alarm::pull(token) {
            self.state.net.prefetch(&self.cx, stage, u);
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

impl<R: Router> State<R> {
    /// The first chunk on a line arrives (or a stale alarm rings).
    #[inline]
    fn pull(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) {
        let now = fx.now();
        debug_assert!(self.net.ports.get(u).due >= now, "a port misses no alarm that counts");
        if self.net.ports.get(u).due != now {
            return;
        }
        let line = &cx.local.lines[u];
        if !cx.local.is_routers(u) {
            self.catch_up_terminal(cx, u, now, fx);
        } else {
            R::advance(&mut self.net, cx, u, now, fx);
        }
        if self.net.rings_for_another(line, u, fx) {
            return;
        }
        if let End::Terminal { .. } = line.end {
            self.net.eject(cx, u, now + 1, fx);
            return self.net.set_due(cx, u, fx);
        }
        if !self.net.pull(cx, u, fx) {
            self.set_due(cx, u, fx);
        }
    }

    /// A port sends what started to another partition, or a terminal does what it planned.
    fn tick(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) {
        debug_assert!(self.net.ports.get(u).due >= fx.now(), "a port misses no alarm that counts");
        if self.net.ports.get(u).due == fx.now() {
            self.touch(cx, u, fx.now(), fx);
            self.set_due(cx, u, fx);
        }
    }

    /// Brings one port to instant `t`.
    #[inline]
    pub(super) fn touch(&mut self, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        if !cx.local.is_routers(u) {
            self.catch_up_terminal(cx, u, t, fx);
        } else {
            self.net.touch(cx, u, t, fx);
        }
    }

    /// Sets the next pull or tick of a line, after it was touched.
    #[inline]
    pub(super) fn set_due(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) {
        if cx.local.is_routers(u) {
            return self.net.set_due(cx, u, fx);
        }
        let waits = self.net.ports.get(u).flight.is_empty();
        let start = if waits { self.next_start(cx, u) } else { NEVER };
        self.net.plan(cx, u, |_| start, fx);
    }

    /// Does what the network put off and belongs before `now`.
    pub(super) fn settle_network(&mut self, cx: &Static, now: Ps, fx: &mut impl Fx) {
        for u in cx.local.ports() {
            self.touch(cx, u, now, fx);
            self.net.drain_credits(u, now.saturating_sub(1));
            self.take_up_network(cx, fx);
        }
        debug_assert!(now <= fx.now(), "nothing is done before its time");
        R::settle(&mut self.net, cx, now);
        self.take_up_network(cx, fx);
    }

    /// Publishes how long queues are, for remote routers.
    fn publish(&mut self, cx: &Static, fx: &mut impl Fx) {
        self.settle_network(cx, fx.now(), fx);
        self.net.turn_pages(cx, fx);
    }
}
