//! Ideal output-queued routers: infinite speed-up, queues at the outputs alone.
//!
//! A chunk crosses the router the moment it arrives: its input buffer is free at once, and it waits at its output until the link is free
//! and the buffer behind the link has room. Queues at outputs have no bound: no router can do better, and none can be built. Outputs
//! serve VCs round robin, passing over those without room. Starts are put off until the output is touched, as window routers do.
//!
//! Source: Dally and Towles, chapter 17 (output queueing as the ideal); Karol, Hluchyj, Morgan, Input Versus Output Queueing on a
//! Space-Division Packet Switch, IEEE Transactions on Communications 1987. Not modelled: bounds of queues, memory bandwidth.

use crate::{
    config::{Injects, PacketConfig, Rules},
    congestion_control::marks::Queue,
    effects::{Fx, Record},
    event::RouterAlarm,
    net::{Channel, Net, Router, Static, channels},
    network::{End, Line, Network},
};
use crate::{
    local::Local,
    places::{LocalPort, Upstream},
    pools::{ChunkRow, List},
};
use base::{
    hash::Fingerprint,
    index::{ChannelId, LinkId},
    registry::About,
    time::{NEVER, Ps},
};
use engine::state::{
    Journal,
    mode::{Mode, Undo},
};
use fabric::routing::Choice;
use std::marker::PhantomData;

/// Output-queued routers keep everything in the shared rows.
#[derive(Clone, PartialEq)]
pub struct OutputQueued<M: Mode = Undo>(PhantomData<M>);

impl<M: Mode> Router for OutputQueued<M> {
    type Mode = M;
    type In<N: Mode> = OutputQueued<N>;
    const ABOUT: About = About {
        name: "output-queued",
        summary: "Ideal: every chunk is at its output the moment it arrives",
        doc: "Infinite speed-up and queues without bound at the outputs: a chunk frees its input buffer the moment it arrives and waits only \
              for its link and for buffer behind it. No router does better; the difference to others is what their buffers and allocators cost. \
              Outputs serve VCs round robin. Queues of a saturated network grow as long as the run lasts: predicted memory counts all that terminals can send \
              in the time of the run, and no more than buffers where the workload ends it. Not modelled: bounds of queues, memory bandwidth.",
        source: "Karol, Hluchyj, Morgan, Input Versus Output Queueing on a Space-Division Packet Switch, 1987; Dally and Towles, chapter 17.",
        params: &[],
    };
    const RULES: Rules = Rules {
        lag: 0,
        heads_only: false,
        keeps_order: false,
        injects: Injects::First,
        ripens: false,
        buffered: false,
        compared_unsaturated: false,
    };
    const QUEUES: bool = true;
    /// VCs with something waiting, a bit each.
    type Port = u16;
    /// Chunks that wait for the link.
    type Vc = List<ChunkRow>;

    fn new(_: &Network, _: &Local) -> Self {
        Self(PhantomData)
    }

    fn visit_journals(&mut self, _: &mut dyn FnMut(&mut dyn Journal)) {}

    fn no_copies(_: &PacketConfig, _: u64) -> Option<(String, &'static str)> {
        None
    }

    fn bytes(_: u64, _: u64) -> u64 {
        0
    }

    fn arrive(
        n: &mut Net<Self>,
        cx: &Static,
        c: ChunkRow,
        line: &Line,
        from: Upstream,
        vc: ChannelId,
        fx: &mut impl Fx,
    ) {
        let now = fx.now();
        if Net::<Self>::is_lossy(cx) && n.discard_lost(cx, c, line.timing, line.link, now, fx) {
            return n.return_credit(cx, from, vc, now, fx);
        }
        let End::Router { base, .. } = line.end else { unreachable!("only routers queue") };
        // Copies own no buffer, so that of the chunk is free at once.
        if let Some(branches) = n.branches(cx, c) {
            for branch in branches {
                let (copy, u) = (n.copy(cx, c, branch), base.plus(branch.choice.port.number()));
                n.join_queue(cx, copy, u, branch.choice, fx);
                n.set_due(cx, u, fx);
            }
            n.end_copied(cx, c);
            return n.return_credit(cx, from, vc, now, fx);
        }
        let choice = n.decide(cx, c, line, vc, fx);
        let u = base.plus(choice.port.number());
        n.join_queue(cx, c, u, choice, fx);
        n.return_credit(cx, from, vc, now, fx);
        // It may start before what was expected to be next.
        n.set_due(cx, u, fx);
    }

    fn credit(n: &mut Net<Self>, cx: &Static, u: LocalPort, _: bool, fx: &mut impl Fx) {
        // A credit may let something start earlier than planned, or at all.
        Self::count(n, cx, u, fx.now(), fx);
        n.set_due(cx, u, fx);
    }

    fn alarm(_: &mut Net<Self>, _: &Static, _: RouterAlarm, _: &mut impl Fx) {
        unreachable!("it sets none");
    }

    fn advance(n: &mut Net<Self>, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        while n.ports.get(u).own != 0 {
            let start = Self::next_start(n, cx, u);
            if start >= t {
                return;
            }
            // Counted as of the start: later credits must not decide an earlier service.
            n.drain_credits(u, start);
            // The credit may have been another VC's.
            let ready = n.with_room(cx, u);
            if ready == 0 {
                continue;
            }
            let port = n.ports.edit(u);
            let vc = channels::after(ready, port.last_vc);
            port.last_vc = vc;
            let v = n.vc_row(u, vc);
            let row = n.vcs.edit(v);
            let c = row.own.pop(&n.chunks).expect("a waiting VC has something");
            debug_assert!(
                row.occupancy < cx.net.timings[Net::<Self>::line(cx, u).timing as usize].capacity,
                "a buffer is not overfilled"
            );
            // The buffer behind the link is taken here, not at acceptance: queues at outputs own none.
            row.occupancy += 1;
            if row.own.is_empty() {
                n.ports.edit(u).own &= !vc.bit();
            }
            n.mark(cx, c, u, vc);
            n.put_on_link(cx, c, u, vc, start, fx);
        }
    }

    fn next_start(n: &Net<Self>, cx: &Static, u: LocalPort) -> Ps {
        let port = n.ports.get(u);
        if port.own == 0 {
            return NEVER;
        }
        let timing = &cx.net.timings[Net::<Self>::line(cx, u).timing as usize];
        let start = port.clock.rounded(timing.denominator).max(port.since);
        if n.with_room(cx, u) != 0 {
            return start;
        }
        // Without room the next credit decides; it may be another VC's, and then this is asked again.
        port.next_release().map_or(NEVER, |release| start.max(release))
    }

    fn pressed(n: &Net<Self>, u: LocalPort) -> bool {
        n.ports.get(u).own != 0
    }

    /// Starts before `t` must not see credits that came after them.
    fn count(n: &mut Net<Self>, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        Self::advance(n, cx, u, t, fx);
        n.drain_credits(u, t);
        let port = n.ports.get(u);
        if port.own != 0 && port.since < t {
            n.ports.edit(u).since = t;
        }
    }

    fn waits(n: &Net<Self>, u: LocalPort) -> bool {
        n.ports.get(u).own != 0
    }

    fn settle(_: &mut Net<Self>, _: &Static, _: Ps) {}

    /// What waits at an output owns no buffer.
    fn held(_: &Net<Self>, _: &Static, _: LocalPort, _: &mut dyn FnMut(LinkId, ChannelId, ChunkRow)) {}

    fn chunks(n: &Net<Self>, _cx: &Static, u: LocalPort, visit: &mut dyn FnMut(ChunkRow)) {
        for (_, v) in n.vcs_of(u) {
            n.vcs.get(v).own.iter(&n.chunks).for_each(&mut *visit);
        }
    }

    fn bufferless(n: &Net<Self>, u: LocalPort) -> u32 {
        n.vcs_of(u).map(|(_, v)| n.vcs.get(v).own.iter(&n.chunks).count() as u32).sum()
    }

    /// Nobody waits while holding a buffer.
    fn waiting(_: &Net<Self>, _: &Static, _: LocalPort, _: &mut dyn FnMut(Channel, u32, &[Channel])) {}

    fn queue(n: &Net<Self>, cx: &Static, u: LocalPort, vc: ChannelId, most: u32) -> Queue {
        // Credits were counted as of the start of the chunk that leaves, which has its buffer already.
        let lists = n.vcs_of(u).flat_map(|(_, v)| n.vcs.get(v).own.iter(&n.chunks));
        let capacity = cx.net.timings[Net::<Self>::line(cx, u).timing as usize].capacity;
        let credits = n.vcs.get(n.vc_row(u, vc)).occupancy < capacity;
        Queue { chunks: lists.take(most as usize).count() as u32, credits }
    }

    fn hash(n: &Net<Self>, cx: &Static, u: LocalPort, sum: &mut Fingerprint) {
        let link = u64::from(Net::<Self>::line(cx, u).link);
        for (vc, v) in n.vcs_of(u) {
            let list = n.vcs.get(v).own;
            n.hash_list(9 << 40 | u64::from(vc) << 32 | link, list, sum);
        }
    }
}

impl<M: Mode> Net<OutputQueued<M>> {
    /// A chunk that is here now joins the queue of output `u`.
    fn join_queue(&mut self, cx: &Static, c: ChunkRow, u: LocalPort, choice: Choice, fx: &mut impl Fx) {
        let now = fx.now();
        // Starts before now come first: this chunk is not among those that they choose from.
        self.touch(cx, u, now, fx);
        self.notes.set(c, choice.state);
        let chunk = self.chunks.edit(c);
        chunk.visit();
        let (packet, index) = (chunk.packet, chunk.index());
        let (id, link) = (self.packets.get(packet).id, Self::line(cx, u).link);
        fx.record(Record::Accepted { time: now + Self::suspended(fx), link, vc: choice.vc, id, index });
        let v = self.vc_row(u, choice.vc);
        self.vcs.edit(v).own.push(&mut self.chunks, c);
        let port = self.ports.edit(u);
        port.backlog += 1;
        // What could start before now has started: the others of this port lacked room, and this chunk is new.
        debug_assert!(port.since <= now, "times never go back");
        port.since = now;
        port.own |= choice.vc.bit();
    }

    /// VCs with something waiting and room behind the link, as far as credits were counted.
    fn with_room(&self, cx: &Static, u: LocalPort) -> u16 {
        let capacity = cx.net.timings[Self::line(cx, u).timing as usize].capacity;
        debug_assert!(capacity > 0, "a buffer holds a chunk");
        let mut ready = 0;
        for vc in channels::each(self.ports.get(u).own) {
            if self.vcs.get(self.vc_row(u, vc)).occupancy < capacity {
                ready |= vc.bit();
            }
        }
        ready
    }
}
