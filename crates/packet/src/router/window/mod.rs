//! Window routers (CODES): acceptance, service, credits. The rules are numbered in `PACKET.md`.
//!
//! One window per output port and VC covers the local queue, the wire and what waits downstream. A chunk is routed when it arrives and accepted
//! if the window has room; else it queues and keeps the buffer that it came in, until a credit that is an event then.
//! Services are lazy: an output is caught up when it is touched.

use crate::{
    config::{Injects, PacketConfig, Rules},
    congestion_control::marks::Queue,
    effects::{Fx, Record},
    event::{Alarm, Name, RouterAlarm},
    net::{Channel, Net, Notes, Output, Router, Static, channels},
    network::{End, Line, Network},
};
use crate::{
    local::Local,
    places::{LocalPort, Upstream, VcRow},
    pools::{ChunkRow, List, RowNumber},
    rows::release_of,
};
use base::{
    hash::Fingerprint,
    index::{ChannelId, LinkId},
    registry::About,
    time::{NEVER, Ps},
};
use engine::{
    key::Class,
    state::{
        Journal, Table,
        ends::ending,
        mode::{Mode, Undo},
    },
};
use serde::{Deserialize, Serialize};

/// State of window routers beside the shared rows.
#[derive(Clone, PartialEq)]
pub struct WindowRouter<M: Mode = Undo> {
    /// Chunks that arrived when the window was full, by port and VC.
    pub queued: Table<List<ChunkRow>, M, VcRow>,
    /// Copies of one chunk that queue hold one buffer together: each names another of them as a ring, by its row and one more; 0 of a chunk that holds its buffer
    /// alone.
    pub shared: Notes<M>,
}

/// Its part of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lists {
    /// VCs with something pending, a bit each.
    pub waiting: u16,
    /// VCs with something queued, a bit each.
    pub blocked: u16,
}

impl<M: Mode> Router for WindowRouter<M> {
    type Mode = M;
    type In<N: Mode> = WindowRouter<N>;
    const ABOUT: About = About {
        name: "window",
        summary: "One window of buffer per output and VC",
        doc: "One window of buffer per output port and VC covers the local queue, the wire and what waits downstream. A chunk is routed \
              when it arrives and queues at its output; it keeps the buffer that it came in until the window of its output has room. Outputs \
              serve VCs round robin, chunk by chunk.",
        source: "CODES dragonfly-dally.",
        params: &[],
    };
    const RULES: Rules = Rules {
        lag: 0,
        heads_only: false,
        keeps_order: false,
        injects: Injects::First,
        ripens: true,
        buffered: true,
        compared_unsaturated: false,
    };
    const QUEUES: bool = true;
    const COUNTS: bool = true;
    type Port = Lists;
    /// Chunks that own buffer and wait for the link.
    type Vc = List<ChunkRow>;

    fn new(net: &Network, local: &Local) -> Self {
        Self {
            queued: Table::new(local.lines.len() * usize::from(net.config.vcs), List::default()),
            shared: Notes::new(net.trees.is_some()),
        }
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.queued);
        visit(self.shared.journal());
    }

    fn no_copies(_: &PacketConfig, _: u64) -> Option<(String, &'static str)> {
        None
    }

    fn bytes(ports: u64, vcs: u64) -> u64 {
        ports * vcs * size_of::<List<ChunkRow>>() as u64
    }

    #[inline]
    fn arrive(
        n: &mut Net<Self>,
        cx: &Static,
        c: ChunkRow,
        line: &Line,
        from: Upstream,
        vc: ChannelId,
        fx: &mut impl Fx,
    ) {
        if Net::<Self>::is_lossy(cx) && n.discard_lost(cx, c, line.timing, line.link, fx.now(), fx) {
            return n.return_credit(cx, from, vc, fx.now(), fx);
        }
        if n.branches(cx, c).is_some() {
            return n.fan_out(cx, c, line, from, vc, fx);
        }
        n.pass_on(cx, c, line, from, vc, fx);
    }

    #[inline]
    fn credit(n: &mut Net<Self>, cx: &Static, u: LocalPort, now: bool, fx: &mut impl Fx) {
        if n.ports.get(u).own.blocked != 0 {
            if now {
                n.credit_event(cx, u, fx);
            } else {
                n.set_credit(cx, u, fx);
            }
        }
    }

    fn alarm(n: &mut Net<Self>, cx: &Static, alarm: RouterAlarm, fx: &mut impl Fx) {
        let RouterAlarm::Output(u) = alarm else { unreachable!("windows belong to outputs") };
        n.credit_event(cx, u, fx);
    }

    /// Rule 3: all services of a router's port that start before `t`.
    #[inline]
    fn advance(n: &mut Net<Self>, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        if n.lags(u, t) {
            n.catch_up(cx, u, t, fx);
        }
    }

    #[inline]
    fn next_start(n: &Net<Self>, cx: &Static, u: LocalPort) -> Ps {
        // What only queues has no buffer: a credit comes before its start, and plans it.
        let port = n.ports.get(u);
        if port.own.waiting == 0 {
            return NEVER;
        }
        let timing = &cx.net.timings[Net::<Self>::line(cx, u).timing as usize];
        port.clock.rounded(timing.denominator).max(port.since)
    }

    #[inline]
    fn pressed(n: &Net<Self>, u: LocalPort) -> bool {
        n.ports.get(u).own.blocked != 0
    }

    fn before_complete(n: &Net<Self>, cx: &Static, u: LocalPort) -> Option<Ps> {
        let timing = &cx.net.timings[Net::<Self>::line(cx, u).timing as usize];
        let waiting = channels::each(n.ports.get(u).own.waiting);
        n.before_complete(cx, timing, waiting.map(|vc| n.vcs.get(n.vc_row(u, vc)).own))
    }

    #[inline]
    fn waits(n: &Net<Self>, u: LocalPort) -> bool {
        n.ports.get(u).own.waiting != 0
    }

    fn settle(_: &mut Net<Self>, _: &Static, _: Ps) {}

    fn held(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(LinkId, ChannelId, ChunkRow)) {
        let link = Net::<Self>::line(cx, u).link;
        for (vc, v) in n.vcs_of(u) {
            n.vcs.get(v).own.iter(&n.chunks).for_each(|c| visit(link, vc, c));
            for c in n.router.queued.get(v).iter(&n.chunks).filter(|&c| n.router.stands_for_buffer(c)) {
                let (from, vc) = n.origin(cx, u, n.chunks.get(c).origin());
                visit(cx.local.link_of(from), vc, c);
            }
        }
    }

    fn chunks(n: &Net<Self>, _: &Static, u: LocalPort, visit: &mut dyn FnMut(ChunkRow)) {
        for (_, v) in n.vcs_of(u) {
            n.vcs.get(v).own.iter(&n.chunks).for_each(&mut *visit);
            n.router.queued.get(v).iter(&n.chunks).for_each(&mut *visit);
        }
    }

    fn bufferless(n: &Net<Self>, u: LocalPort) -> u32 {
        n.vcs_of(u).map(|(_, v)| n.router.queued.get(v).iter(&n.chunks).count() as u32).sum()
    }

    fn waiting(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(Channel, u32, &[Channel])) {
        let link = Net::<Self>::line(cx, u).link;
        for (vc, v) in n.vcs_of(u) {
            for c in n.router.queued.get(v).iter(&n.chunks) {
                let (from, from_vc) = n.origin(cx, u, n.chunks.get(c).origin());
                let chunks = u32::from(n.router.stands_for_buffer(c));
                visit((cx.local.link_of(from), from_vc), chunks, &[(link, vc)]);
            }
        }
    }

    /// A window is full when nothing more has a buffer, so credits show as something else that has one and waits for the link.
    fn queue(n: &Net<Self>, _: &Static, u: LocalPort, vc: ChannelId, most: u32) -> Queue {
        // Services are done in order before whatever joins later: both lists are those of the start, whenever this is asked.
        let mut chunks = 0;
        for (_, v) in n.vcs_of(u) {
            for list in [n.vcs.get(v).own, *n.router.queued.get(v)] {
                chunks += list.iter(&n.chunks).take((most - chunks) as usize).count() as u32;
            }
        }
        Queue { chunks, credits: !n.vcs.get(n.vc_row(u, vc)).own.is_empty() }
    }

    fn fault(n: &Net<Self>, u: LocalPort, vc: ChannelId, room: u32) -> Option<String> {
        let queued = n.router.queued.get(n.vc_row(u, vc));
        (room > 0 && !queued.is_empty()).then(|| format!("has room for {room} chunks while others queue"))
    }

    fn hash(n: &Net<Self>, cx: &Static, u: LocalPort, sum: &mut Fingerprint) {
        let link = u64::from(Net::<Self>::line(cx, u).link);
        for (vc, v) in n.vcs_of(u) {
            for (kind, list) in [(9u64, n.vcs.get(v).own), (10, *n.router.queued.get(v))] {
                n.hash_list(kind << 40 | u64::from(vc) << 32 | link, list, sum);
            }
        }
    }
}

impl<M: Mode> WindowRouter<M> {
    /// The chunks that hold a buffer together with `c`, from itself on.
    fn ring(shared: &Notes<M>, c: ChunkRow) -> impl Iterator<Item = ChunkRow> {
        let next = move |&at: &ChunkRow| {
            let next = shared.get(at).checked_sub(1).map(ChunkRow::new)?;
            (next != c).then_some(next)
        };
        ending(std::iter::successors(Some(c), next), shared.made())
    }

    /// One of the chunks that hold a buffer together is told for all of them.
    fn stands_for_buffer(&self, c: ChunkRow) -> bool {
        Self::ring(&self.shared, c).all(|other| other >= c)
    }
}

impl<M: Mode> Net<WindowRouter<M>> {
    /// Sets the alarm for the next credit of a blocked port.
    fn set_credit(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) {
        let port = self.ports.get(u);
        let Some(at) = port.next_release() else { return };
        if port.own.blocked == 0 || port.alarm_set {
            return;
        }
        self.ports.edit(u).alarm_set = true;
        let name = Name::Output.of(Self::line(cx, u).link.number(), 0);
        fx.wake(at, Class::Early, name, Alarm::Router(RouterAlarm::Output(u)).token());
    }

    /// Rule 1: a chunk arrived at a router; route it, then accept or queue it.
    fn pass_on(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        line: &Line,
        from: Upstream,
        from_vc: ChannelId,
        fx: &mut impl Fx,
    ) {
        let now = fx.now();
        let choice = self.decide(cx, c, line, from_vc, fx);
        let End::Router { base, in_port, .. } = line.end else { unreachable!("only routers pass on") };
        let u = base.plus(choice.port.number());
        self.notes.set(c, choice.state);
        self.chunks.edit(c).visit();
        debug_assert!(self.packets.get(self.chunks.get(c).packet).here > 0, "what arrives is here");
        let out = Output::of(cx, u);
        if self.ready(cx, out, choice.vc, fx) {
            self.accept(cx, c, out, choice.vc, fx);
            self.return_credit(cx, from, from_vc, now, fx);
        } else {
            // It keeps the buffer that it came in: whom to give it back to is noted in the chunk's spare bits.
            let origin = VcRow::of(LocalPort::new(in_port.number()), self.width, from_vc);
            self.enqueue(cx, c, u, choice.vc, origin, fx);
        }
    }

    /// Brings output `u` to the present instant for a chunk that arrives for it, which counts as backlog from now on: whether the window has room for it.
    #[inline(always)]
    fn ready(&mut self, cx: &Static, out: Output<'_>, vc: ChannelId, fx: &mut impl Fx) -> bool {
        let Output { port: u, line, timing } = out;
        let now = fx.now();
        // Services that start before now come first: this chunk is not among those that they choose from.
        if self.lags(u, now) {
            self.catch_up(cx, u, now, fx);
        }
        if let End::Terminal { .. } = line.end {
            self.eject(cx, u, now, fx);
        }
        let port = self.ports.edit(u);
        port.backlog += 1;
        // Who queues goes first: a chunk may not pass those that wait for the same window, even if a credit has just come.
        let free = port.own.blocked & vc.bit() == 0;
        // While somebody queues, credits are events: each goes to the chunk whose turn it is.
        if port.own.blocked == 0 && release_of(port.first_credit) <= now {
            self.drain_credits(u, now);
        }
        free && self.vcs.get(self.vc_row(u, vc)).occupancy < timing.capacity
    }

    /// A chunk for which there is no room queues, and keeps the buffer that it came in.
    #[inline(always)]
    fn enqueue(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        u: LocalPort,
        vc: ChannelId,
        origin: VcRow,
        fx: &mut impl Fx,
    ) {
        self.chunks.edit(c).set_origin(origin.number());
        let v = self.vc_row(u, vc);
        self.router.queued.edit(v).push(&mut self.chunks, c);
        let port = self.ports.edit(u);
        let pressed = port.own.blocked != 0;
        port.own.blocked |= vc.bit();
        self.set_credit(cx, u, fx);
        // Arrivals at a terminal were no events as long as nobody waited for their credits; now somebody does. What arrives at this very instant was not
        // planned for either, even if later chunks were.
        let first = !pressed && matches!(Self::line(cx, u).end, End::Terminal { .. });
        if first || self.ports.get(u).due == NEVER {
            self.set_due(cx, u, fx);
        }
    }

    /// A chunk of a multicast arrived at a router: each of its copies is accepted or queued on its own. The buffer that it came in is free when the last one has another.
    fn fan_out(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        line: &Line,
        from: Upstream,
        from_vc: ChannelId,
        fx: &mut impl Fx,
    ) {
        let End::Router { base, in_port, .. } = line.end else { unreachable!("only routers copy") };
        let origin = VcRow::of(LocalPort::new(in_port.number()), self.width, from_vc);
        let (mut first, mut last) = (ChunkRow::NIL, ChunkRow::NIL);
        for branch in self.branches(cx, c).unwrap_or_default() {
            let (u, vc) = (base.plus(branch.choice.port.number()), branch.choice.vc);
            let copy = self.copy(cx, c, branch);
            self.chunks.edit(copy).visit();
            let out = Output::of(cx, u);
            if self.ready(cx, out, vc, fx) {
                self.accept(cx, copy, out, vc, fx);
                continue;
            }
            // Nobody looks at these rows before the event ends, so the ring may be open meanwhile.
            self.router.shared.set(copy, 0);
            if first.is_nil() {
                first = copy;
            } else {
                self.router.shared.set(last, copy.number() + 1);
                self.router.shared.set(copy, first.number() + 1);
            }
            last = copy;
            self.enqueue(cx, copy, u, vc, origin, fx);
        }
        self.end_copied(cx, c);
        if first.is_nil() {
            self.return_credit(cx, from, from_vc, fx.now(), fx);
        }
    }

    /// A chunk that queued has a buffer of its own now: whether that frees the one that it came in.
    #[inline]
    fn leaves_buffer(&mut self, c: ChunkRow) -> bool {
        let shared = &mut self.router.shared;
        let Some(after) = shared.get(c).checked_sub(1).map(ChunkRow::new) else { return true };
        let before = WindowRouter::<M>::ring(shared, c).last().expect("a ring has members");
        // The last of a ring holds the buffer alone, as any chunk does.
        shared.set(c, 0);
        shared.set(before, if before == after { 0 } else { after.number() + 1 });
        false
    }

    /// A chunk gets buffer at a port, at the present instant; the caller releases the one it held.
    #[inline(always)]
    fn accept(&mut self, cx: &Static, c: ChunkRow, out: Output<'_>, vc: ChannelId, fx: &mut impl Fx) {
        let (Output { port: u, line, timing }, now) = (out, fx.now());
        let chunk = self.chunks.edit(c);
        chunk.next = ChunkRow::NIL;
        let (id, index) = (self.packets.get(chunk.packet).id, chunk.index());
        fx.record(Record::Accepted { time: now + Self::suspended(fx), link: line.link, vc, id, index });
        let row = self.vcs.edit(VcRow::of(u, self.width, vc));
        debug_assert!(row.occupancy < timing.capacity, "a window is not overfilled");
        row.occupancy += 1;
        row.own.append(&mut self.chunks, c);
        let port = self.ports.edit(u);
        let mut ripened = false;
        if Self::ripens(cx) && matches!(line.end, End::Terminal { .. }) {
            let packet = self.packets.edit(self.chunks.get(c).packet);
            packet.accepted += 1;
            ripened = packet.accepted == packet.chunks;
            port.ripe = port.ripe.saturating_add(u8::from(ripened));
        }
        // Services are lazy: a port that was empty could not have started anything before now, whatever its clock says.
        if port.own.waiting == 0 {
            port.since = now;
        }
        port.own.waiting |= vc.bit();
        // What was planned for others may come too late for a packet that can be completed only now. What is due at this instant makes a new plan itself.
        if port.due == NEVER || (ripened && port.due != now) {
            self.set_due(cx, u, fx);
        }
    }

    /// The upstream port and VC that a chunk queued at port `u` came from.
    #[inline]
    fn origin(&self, cx: &Static, u: LocalPort, origin: u32) -> (Upstream, ChannelId) {
        // Inputs and outputs of a router have the same numbers.
        let (port, vc) = VcRow::new(origin).parts(self.width);
        (cx.local.upstream[Self::line(cx, u).own_base.plus(port.number())], vc)
    }

    /// Rule 2: a credit that a blocked port waits for is there.
    fn credit_event(&mut self, cx: &Static, u: LocalPort, fx: &mut impl Fx) {
        let now = fx.now();
        self.ports.edit(u).alarm_set = false;
        // Services and deliveries before now come first: deliveries return credits to this port.
        self.touch(cx, u, now, fx);
        while let Some(vc) = self.next_credit(u, now) {
            let v = self.vc_row(u, vc);
            debug_assert!(
                (self.ports.get(u).own.blocked & vc.bit() == 0) == self.router.queued.get(v).is_empty(),
                "a bit says where chunks queue"
            );
            let Some(first) = self.router.queued.edit(v).pop(&self.chunks) else { continue };
            if self.router.queued.get(v).is_empty() {
                self.ports.edit(u).own.blocked &= !vc.bit();
            }
            let origin = self.chunks.get(first).origin();
            self.accept(cx, first, Output::of(cx, u), vc, fx);
            // It holds two buffers for this instant: the new one, and the one that it came in, which it gives back now.
            if !Self::FULL || self.leaves_buffer(first) {
                let (from, from_vc) = self.origin(cx, u, origin);
                self.return_credit(cx, from, from_vc, now, fx);
            }
        }
        self.set_credit(cx, u, fx);
    }

    /// Something may have started at a port before `t`: asked before [`Self::catch_up`] is called, since mostly nothing has.
    #[inline]
    fn lags(&self, u: LocalPort, t: Ps) -> bool {
        let port = self.ports.get(u);
        // The clock without its fraction, which is no later than the rounded one.
        port.own.waiting != 0 && port.clock.parts().0 < t && port.since < t
    }

    /// Serves a port at which something is pending until the next service starts at `t` or later.
    #[inline]
    fn catch_up(&mut self, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        let (out, first_vc) = (Output::of(cx, u), self.first_vc(u));
        loop {
            let port = self.ports.get(u);
            let start = port.clock.rounded(out.timing.denominator).max(port.since);
            // A service at `t` itself is not done yet: what is accepted at that instant may still go first in the round.
            if start >= t {
                return;
            }
            let port = self.ports.edit(u);
            debug_assert!(port.own.waiting != 0, "who has nothing waiting is not caught up");
            let vc = channels::after(port.own.waiting, port.last_vc);
            port.last_vc = vc;
            let row = self.vcs.edit(first_vc.at(vc));
            let c = row.own.pop(&self.chunks).expect("a waiting VC has something pending");
            debug_assert!(row.occupancy > 0, "what waits for the link has buffer behind it");
            if row.own.is_empty() {
                port.own.waiting &= !vc.bit();
            } else {
                self.chunks.prefetch(row.own.head);
            }
            let more = port.own.waiting != 0;
            self.mark(cx, c, u, vc);
            self.put_on(cx, c, out, vc, start, fx);
            if !more {
                return;
            }
        }
    }
}

#[cfg(test)]
mod order;
#[cfg(test)]
mod tests;
