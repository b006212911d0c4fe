//! Packets that bypass the network. Rules and invariants are in `hybrid/HYBRID.md`.

use super::{
    network::Network,
    rows::{Packet, Terminal},
    state::{Fx, KIND_SHIFT, PacketDomain, Record, State, Static, Wire, identity},
};
use crate::hybrid::{Level, predict::Predictor};
use base::time::{NEVER, Ps};
use engine::{
    agenda::Agenda,
    domain::Lane,
    key::Class,
    state::{Journal, NIL, Table},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Alarm of a terminal that hands over past the network.
pub(super) const BYPASS: u32 = 6;

/// Who delivers what is handed over now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// The network.
    Fidelity,
    /// Prediction.
    Surrogate,
    /// Prediction; copies fill the network.
    Reheat,
}

/// Where the run stands: one row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Who delivers.
    pub mode: Mode,
    /// The network's clock stands still.
    pub suspended: bool,
    /// Virtual time minus the network's, while it runs.
    pub offset: Ps,
    /// Intervals of [`Surrogate::ghosts`] in use.
    pub ghosts: u32,
    /// Rows of [`Surrogate::held`] in use.
    pub held: u32,
    /// Copies put into the network here.
    pub copied: u64,
    /// Zombies discarded here.
    pub discarded: u64,
}

/// How fast a terminal hands over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// Last hand-over.
    last: Ps,
    /// Not before this instant.
    next: Ps,
    /// Alarm that is set, 0 for none.
    due: Ps,
    /// Sum of the times between hand-overs of which the second waited.
    sum: u64,
    /// Remainder of the last division of it.
    rest: u32,
    /// Their number.
    count: u32,
}

/// A packet, or message, that was handed over past the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// See [`Packet::id`]; of several packets the first.
    pub id: u64,
    /// When it was handed over.
    pub created: Ps,
    /// When its message was created.
    pub message_created: Ps,
    /// Payload.
    pub bytes: u64,
    /// Destination terminal.
    pub destination: u32,
    /// Source's number of its message.
    pub message: u32,
    /// Packets of its message.
    pub message_packets: u32,
    /// Packets that it stands for.
    pub packets: u32,
}

/// State of the surrogate.
#[derive(Clone, PartialEq)]
pub struct Surrogate {
    /// One row.
    pub phase: Table<Phase>,
    /// By terminal; empty unless the run is hybrid.
    pub paces: Table<Pace>,
    /// Intervals of network time in which zombies were created, ascending.
    pub ghosts: Table<(Ps, Ps)>,
    /// Packets that are not due yet, where deliveries are no events.
    pub held: Table<(Ps, Predicted)>,
}

impl Surrogate {
    /// In high fidelity.
    #[must_use]
    pub fn new(net: &Network, terminals: usize) -> Self {
        let phase = Phase {
            mode: Mode::Fidelity,
            suspended: false,
            offset: 0,
            ghosts: 0,
            held: 0,
            copied: 0,
            discarded: 0,
        };
        Self {
            phase: Table::new(1, phase),
            paces: Table::new(if net.hybrid.is_some() { terminals } else { 0 }, Pace::default()),
            ghosts: Table::from(Vec::new()),
            held: Table::from(Vec::new()),
        }
    }

    /// Shows the tables inside.
    pub fn tables(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.phase);
        visit(&mut self.paces);
        visit(&mut self.ghosts);
        visit(&mut self.held);
    }

    /// Where the run stands.
    #[inline]
    #[must_use]
    pub fn phase(&self) -> &Phase {
        self.phase.get(0)
    }

    /// True for packets that were created at an instant of network time that makes them zombies.
    #[inline]
    #[must_use]
    pub fn is_zombie(&self, created: Ps) -> bool {
        let used = self.phase().ghosts as usize;
        if used == 0 {
            return false;
        }
        let rows = &self.ghosts.rows()[..used];
        let after = rows.partition_point(|g| g.0 <= created);
        after > 0 && created < rows[after - 1].1
    }

    /// Packets that are not due yet.
    #[must_use]
    pub fn held(&self) -> &[(Ps, Predicted)] {
        &self.held.rows()[..self.phase().held as usize]
    }

    /// Adds an interval of zombies.
    fn add_ghosts(&mut self, interval: (Ps, Ps)) {
        let used = self.phase().ghosts;
        if (used as usize) < self.ghosts.len() {
            *self.ghosts.edit(used) = interval;
        } else {
            self.ghosts.grow(interval);
        }
        self.phase.edit(0).ghosts = used + 1;
    }

    /// Puts a packet aside.
    fn hold(&mut self, due: Ps, packet: Predicted) {
        let used = self.phase().held;
        if (used as usize) < self.held.len() {
            *self.held.edit(used) = (due, packet);
        } else {
            self.held.grow((due, packet));
        }
        self.phase.edit(0).held = used + 1;
    }
}

impl Pace {
    /// High fidelity hands over at `now`; the packet has been there since `ready`.
    #[inline]
    pub fn learn(&mut self, now: Ps, ready: Ps) {
        if ready <= self.last && self.last > 0 {
            self.sum += now - self.last;
            self.count += 1;
        }
        self.last = now;
    }

    /// Time to the next hand-over: the mean, or `free` of a source that never waited.
    #[inline]
    fn step(&mut self, free: Ps) -> Ps {
        if self.count == 0 {
            return free;
        }
        let (total, count) = (self.sum + u64::from(self.rest), u64::from(self.count));
        self.rest = (total % count) as u32;
        total / count
    }
}

/// What a partition is told to do at a switch.
pub struct Switch<'a> {
    /// New predictor.
    pub predictor: &'a Arc<dyn Predictor>,
    /// Packets in a network that is suspended, by id; those that are zombies already left out.
    pub flying: &'a [Predicted],
}

impl PacketDomain {
    /// Packets bypass the network from now on. A network that is suspended is so already.
    pub fn enter(&mut self, switch: &Switch<'_>, suspended: bool, fx: &mut impl Fx) {
        self.cx.predictor = Some(Arc::clone(switch.predictor));
        let Self { cx, state } = self;
        let now = fx.instant();
        let phase = state.surrogate.phase.edit(0);
        (phase.mode, phase.suspended) = (Mode::Surrogate, suspended);
        if suspended {
            let frozen = now - phase.offset;
            phase.ghosts = 0;
            state.surrogate.add_ghosts((0, frozen));
        }
        for packet in switch.flying {
            let to = cx.net.owner[cx.net.fabric.router_at(packet.destination) as usize];
            if to == cx.local.partition {
                let due = (packet.created + state.latency(cx, packet)).max(now);
                state.deliver_later(cx, *packet, due, fx);
            }
        }
        for i in 0..cx.local.terminals.len() as u32 {
            let request = state.terminals.get(i).request;
            let free = if request == NEVER { None } else { Some(request + fx.suspended()) };
            let pace = state.surrogate.paces.edit(i);
            let next = match free {
                Some(free) if pace.count == 0 => free,
                _ => pace.last + pace.step(cx.net.packet_pace),
            };
            pace.next = next.max(now);
            pace.due = 0;
            if !cx.net.is_direct() {
                state.set_bypass(cx, i, fx);
            }
        }
    }

    /// The pace of sources is learned anew from now on: what was before is no part of the window.
    pub fn learn_anew(&mut self) {
        let paces = &mut self.state.surrogate.paces;
        for i in 0..paces.len() as u32 {
            let pace = paces.edit(i);
            (pace.sum, pace.count) = (0, 0);
        }
    }

    /// Copies of what is predicted fill the network from now on.
    pub fn reheat(&mut self, fx: &mut impl Fx) {
        let Self { cx, state } = self;
        state.surrogate.phase.edit(0).mode = Mode::Reheat;
        state.surrogate.add_ghosts((fx.now(), NEVER));
        state.release_held(cx, fx);
        for i in 0..cx.local.terminals.len() as u32 {
            state.set_bypass(cx, i, fx);
        }
    }

    /// The network, running again, delivers from now on.
    pub fn back(&mut self, fx: &mut impl Fx) {
        let Self { cx, state } = self;
        let now = fx.now();
        let phase = state.surrogate.phase.edit(0);
        let heated = phase.mode == Mode::Reheat;
        (phase.mode, phase.suspended, phase.offset) = (Mode::Fidelity, false, fx.suspended());
        let last = phase.ghosts.wrapping_sub(1);
        if heated {
            state.surrogate.ghosts.edit(last).1 = now;
        }
        state.release_held(cx, fx);
        for i in 0..cx.local.terminals.len() as u32 {
            let pace = *state.surrogate.paces.get(i);
            *state.surrogate.paces.edit(i) = Pace { last: pace.last, ..Pace::default() };
            let buffer = cx.net.injection_buffer;
            let row = state.terminals.edit(i);
            let full = u64::from(row.queued) * u64::from(cx.net.config.chunk) >= buffer;
            let next = pace.next.saturating_sub(fx.suspended()).max(now);
            row.request = if full {
                NEVER
            } else if row.request == NEVER {
                next
            } else {
                row.request.max(next)
            };
            state.set_due(cx, cx.local.router_ports() + i, fx);
        }
    }

    /// The packets that have a chunk here or on its way to here and are no zombies; some partitions may tell of the same one.
    #[must_use]
    pub fn flying(&self, agenda: &Agenda<Wire>) -> Vec<Predicted> {
        let mut flying = Vec::new();
        let surrogate = &self.state.surrogate;
        let offset = surrogate.phase().offset;
        self.each_packet(agenda, |created, packet| {
            if !surrogate.is_zombie(created) {
                flying.push(Predicted { created: created + offset, ..packet });
            }
        });
        flying
    }

    /// Ids of the zombies that have a chunk here or on its way to here.
    #[must_use]
    pub fn zombies(&self, agenda: &Agenda<Wire>) -> Vec<u64> {
        let mut zombies = Vec::new();
        if self.state.surrogate.phase().ghosts > 0 {
            self.each_packet(agenda, |created, packet| {
                if self.state.surrogate.is_zombie(created) {
                    zombies.push(packet.id);
                }
            });
        }
        zombies.sort_unstable();
        zombies.dedup();
        zombies
    }

    /// Visits the packet of every chunk here and on its way to here; a packet may be visited often.
    fn each_packet(&self, agenda: &Agenda<Wire>, mut visit: impl FnMut(Ps, Predicted)) {
        let (state, cx) = (&self.state, &self.cx);
        let mut last = NIL;
        let mut row = |p: u32| {
            // Neighbours in a list are mostly of one packet.
            if p != last {
                last = p;
                let packet = state.packets.get(p);
                visit(packet.created, Predicted::of(packet));
            }
        };
        let packet_of = |c: u32| state.chunks.get(c).packet;
        for u in 0..cx.local.lines.len() as u32 {
            let flight = state.ports.get(u).flight;
            flight.iter(&state.flights).for_each(|f| row(packet_of(state.flights.get(f).chunk)));
            for vc in 0..cx.net.config.vcs {
                let v = state.vcs_per_port(u) + u32::from(vc);
                let buffered = state.clocked.buffered(u, vc, cx.net.config.vcs).unwrap_or_default();
                for list in [state.vcs.get(v).pending, *state.queued.get(v), buffered] {
                    list.iter(&state.chunks).for_each(|c| row(packet_of(c)));
                }
            }
        }
        for i in 0..cx.local.terminals.len() as u32 {
            state.terminals.get(i).queue.iter(&state.packets).for_each(&mut row);
        }
        for message in agenda.messages() {
            if let Wire::Chunk(t) = message {
                let packet = Predicted {
                    id: t.id,
                    created: t.created,
                    message_created: t.message_created,
                    bytes: u64::from(t.bytes),
                    destination: t.destination,
                    message: t.message,
                    message_packets: t.message_packets,
                    packets: 1,
                };
                visit(t.created, packet);
            }
        }
    }
}

impl Predicted {
    /// Of a row.
    #[must_use]
    pub fn of(p: &Packet) -> Self {
        Self {
            id: p.id,
            created: p.created,
            message_created: p.message_created,
            bytes: u64::from(p.bytes),
            destination: p.destination,
            message: p.message,
            message_packets: p.message_packets,
            packets: 1,
        }
    }

    /// Source terminal.
    #[must_use]
    pub fn source(&self) -> u32 {
        (self.id >> 32) as u32
    }
}

impl State {
    #[inline]
    fn latency(&self, cx: &Static, packet: &Predicted) -> Ps {
        let predictor = cx.predictor.as_ref().expect("a surrogate has its predictor");
        predictor.latency(packet.source(), packet.destination, packet.id as u32)
    }

    /// Oldest thing that a terminal could hand over: when it was created; and whether it is only to be read on.
    #[inline]
    pub(super) fn offered(&self, row: &Terminal) -> (Ps, bool) {
        if row.cutting.active {
            return (row.cutting.created, false);
        }
        let posted = if row.posts.head == NIL { NEVER } else { self.posts.get(row.posts.head).time };
        (posted.min(row.upcoming), row.elsewhere && row.upcoming < posted)
    }

    /// Next hand-over of a terminal past the network.
    #[inline]
    fn next_bypass(&self, cx: &Static, i: u32) -> Ps {
        let (created, read_on) = self.offered(self.terminals.get(i));
        if read_on {
            return created;
        }
        created.saturating_add(cx.net.config.adapter_delay).max(self.surrogate.paces.get(i).next)
    }

    /// Sets a terminal's alarm.
    pub(super) fn set_bypass(&mut self, cx: &Static, i: u32, fx: &mut impl Fx) {
        let due = self.next_bypass(cx, i);
        if due == NEVER {
            return;
        }
        // Instant 0 stands for no alarm; no run begins in the surrogate.
        let due = due.max(fx.instant()).max(1);
        if self.surrogate.paces.get(i).due != due {
            self.surrogate.paces.edit(i).due = due;
            let name = identity(0, cx.local.terminals[i as usize], 0);
            fx.wake_on(Lane::Steady, due, Class::Ordinary, name, BYPASS << KIND_SHIFT | i);
        }
    }

    /// A terminal's alarm rings.
    pub(super) fn bypass_alarm(&mut self, cx: &Static, i: u32, fx: &mut impl Fx) {
        let now = fx.instant();
        if self.surrogate.paces.get(i).due != now || self.surrogate.phase().mode == Mode::Fidelity {
            return;
        }
        self.surrogate.paces.edit(i).due = 0;
        self.bypass_until(cx, i, now + 1, fx);
        self.set_bypass(cx, i, fx);
    }

    /// All hand-overs of a terminal past the network before `t`.
    fn bypass_until(&mut self, cx: &Static, i: u32, t: Ps, fx: &mut impl Fx) {
        loop {
            let at = self.next_bypass(cx, i);
            if at >= t {
                return;
            }
            self.bypass(cx, i, at, t, fx);
        }
    }

    /// What is handed over and delivered before `t` without events.
    pub(super) fn settle_surrogate(&mut self, cx: &Static, t: Ps, fx: &mut impl Fx) {
        if self.surrogate.phase().mode != Mode::Surrogate || !cx.net.is_direct() {
            return;
        }
        let mut at = 0;
        while at < self.surrogate.phase().held {
            let (due, packet) = *self.surrogate.held.get(at);
            if due < t {
                let last = self.surrogate.phase().held - 1;
                *self.surrogate.held.edit(at) = *self.surrogate.held.get(last);
                self.surrogate.phase.edit(0).held = last;
                record(&packet, due, fx);
            } else {
                at += 1;
            }
        }
        for i in 0..cx.local.terminals.len() as u32 {
            self.bypass_until(cx, i, t, fx);
        }
    }

    /// Hands the next packet, or message, over at `at`; everything before `settled` is being done.
    fn bypass(&mut self, cx: &Static, i: u32, at: Ps, settled: Ps, fx: &mut impl Fx) {
        let begun = !self.terminals.get(i).cutting.active;
        if begun && !self.begin_message(cx, i) {
            return;
        }
        let most = cx.net.config.packet;
        let row = self.terminals.edit(i);
        let cutting = row.cutting;
        let whole = begun && cx.net.hybrid.as_ref().is_some_and(|h| h.level == Level::Message);
        let packets = if whole { cutting.packets } else { 1 };
        let bytes = if whole { cutting.left } else { cutting.left.min(u64::from(most)) };
        let number = row.packets;
        row.cutting.left -= bytes;
        row.cutting.active = row.cutting.left > 0;
        row.packets = number.wrapping_add(packets);
        let pace = self.surrogate.paces.edit(i);
        let mut last = at;
        for _ in 1..packets {
            last += pace.step(cx.net.packet_pace);
        }
        let rest = bytes - u64::from(packets - 1) * u64::from(most);
        let free = if rest == u64::from(most) { cx.net.packet_pace } else { cx.net.pace_of(rest as u32) };
        (pace.last, pace.next) = (last, last + pace.step(free));
        let packet = Predicted {
            id: u64::from(cx.local.terminals[i as usize]) << 32 | u64::from(number),
            created: at,
            message_created: cutting.created,
            bytes,
            destination: cutting.destination,
            message: cutting.number,
            message_packets: cutting.packets,
            packets,
        };
        if packets == 1 {
            fx.record(Record::Created { time: at, id: packet.id, bytes: bytes as u32 });
        } else {
            fx.record(Record::Bypassed { time: at, id: packet.id, bytes, packets });
        }
        let due = last + self.latency(cx, &packet);
        if self.surrogate.phase().mode == Mode::Reheat {
            self.deliver_later(cx, packet, due, fx);
            self.copy(cx, i, &packet, fx);
        } else if !cx.net.is_direct() {
            self.deliver_later(cx, packet, due, fx);
        } else if due < settled {
            record(&packet, due, fx);
        } else {
            self.surrogate.hold(due, packet);
        }
    }

    /// Makes events of the deliveries that are held.
    fn release_held(&mut self, cx: &Static, fx: &mut impl Fx) {
        let held: Vec<(Ps, Predicted)> = self.surrogate.held().to_vec();
        self.surrogate.phase.edit(0).held = 0;
        for (due, packet) in held {
            self.deliver_later(cx, packet, due, fx);
        }
    }

    /// Plans a delivery: an event of the destination's partition, or of this one if nobody answers.
    fn deliver_later(&mut self, cx: &Static, packet: Predicted, due: Ps, fx: &mut impl Fx) {
        let to = if cx.net.is_direct() {
            cx.local.partition
        } else {
            cx.net.owner[cx.net.fabric.router_at(packet.destination) as usize]
        };
        let name = identity(1, packet.source(), packet.id as u32);
        fx.send(to, Lane::Steady, due, Class::Ordinary, name, Wire::Predicted(packet));
    }

    /// Puts copies of a predicted packet into the network, as far as the terminal's queue has room.
    fn copy(&mut self, cx: &Static, i: u32, packet: &Predicted, fx: &mut impl Fx) {
        let (config, u) = (&cx.net.config, cx.local.router_ports() + i);
        // Whether there is room must not depend on what is put off.
        self.catch_up_terminal(cx, u, fx.now(), fx);
        let mut left = packet.bytes;
        for n in 0..packet.packets {
            let bytes = left.min(u64::from(config.packet)) as u32;
            left -= u64::from(bytes);
            let row = self.terminals.get(i);
            if u64::from(row.queued) * u64::from(config.chunk) >= cx.net.injection_buffer {
                break;
            }
            let part = Predicted { id: packet.id + u64::from(n), ..*packet };
            self.enqueue_packet(cx, i, &part, bytes, fx.now());
            self.surrogate.phase.edit(0).copied += 1;
        }
        self.set_due(cx, u, fx);
    }

    /// Puts a packet at the end of a terminal's queue, at `created` of network time.
    pub(super) fn enqueue_packet(&mut self, cx: &Static, i: u32, p: &Predicted, bytes: u32, created: Ps) {
        let chunks = bytes.div_ceil(cx.net.config.chunk).max(1);
        let packet = self.packets.take(Packet {
            accepted: 0,
            id: p.id,
            created,
            start: 0,
            message_created: p.message_created,
            last_arrival: 0,
            destination: p.destination,
            bytes,
            message: p.message,
            message_packets: p.message_packets,
            serialisation: 0,
            wire: 0,
            next: NIL,
            chunks: chunks as u16,
            delivered: 0,
            here: chunks as u16,
            hops: 0,
            disordered: false,
            tampered: false,
        });
        let row = self.terminals.edit(i);
        row.queued += chunks;
        row.queue.push(&mut self.packets, packet);
        if cx.net.partitions > 1 {
            self.known.set(p.id, 0, packet);
        }
    }

    /// A predicted packet or message arrives.
    pub(super) fn arrive_predicted(&mut self, cx: &Static, packet: &Predicted, fx: &mut impl Fx) {
        let now = fx.instant();
        if cx.net.is_direct() {
            return record(packet, now, fx);
        }
        fx.record(Record::Predicted { time: now, packet: *packet });
        let whole = packet.packets == packet.message_packets;
        self.packet_done(cx, packet, whole, now, fx);
    }
}

/// Delivers a packet that is a message of its own and that nobody answers.
#[inline]
fn record(packet: &Predicted, time: Ps, fx: &mut impl Fx) {
    fx.record(Record::Predicted { time, packet: *packet });
    fx.record(Record::Message {
        time,
        created: packet.message_created,
        source: packet.source(),
        destination: packet.destination,
        number: packet.message,
    });
}
