//! A router architecture of one's own: ideal output queues, the longest of which goes first.
//!
//! It is what `output-queued` is, but for the order in which an output serves its virtual channels. It has a key of its own in `[model]`. Handlers are functions over the network
//! of a partition, `Net`, which has links, credits and statistics; the architecture says only what waits where and what starts when. All
//! that changes stands in tables of mode `M`, so that it can be saved, run in parallel and, in mode `Undo`, taken back.

use netloom::{
    base::{
        hash::Fingerprint,
        index::{ChannelId, LinkId},
        param::{Kind, Param},
        registry::About,
        time::{NEVER, Ps},
    },
    engine::state::{
        Journal,
        mode::{Mode, Undo},
    },
    packet::{
        config::{Injects, Rules},
        effects::{Fx, Record},
        event::RouterAlarm,
        local::Local,
        net::{Channel, Net, Router, Static},
        network::{End, Line, Network},
        places::{LocalPort, Upstream},
        pools::{ChunkRow, List},
        router::registry::RouterEntry,
    },
};
use std::{cmp::Reverse, marker::PhantomData};

/// What `[model] router` can name, with one line.
pub static LONGEST_FIRST: RouterEntry = RouterEntry::of::<LongestFirst>();

/// It keeps everything that changes in the shared rows.
#[derive(Clone, PartialEq)]
struct LongestFirst<M: Mode = Undo> {
    /// Chunks of a virtual channel that count.
    counted: usize,
    mode: PhantomData<M>,
}

impl<M: Mode> Router for LongestFirst<M> {
    type Mode = M;
    type In<N: Mode> = LongestFirst<N>;
    const ABOUT: About = About {
        name: "longest-first",
        summary: "Ideal output queues; an output serves the longest",
        doc: "As `output-queued`, but an output sends from the virtual channel in which most chunks wait, of equals from the first.",
        source: "this example",
        params: &[Param {
            name: "counted",
            kind: Kind::Int { min: 1, max: u32::MAX as u64 },
            default: Some("4294967295"),
            doc: "Chunks of a virtual channel that count: longer queues are as long as this. With 1 the first channel always goes first.",
        }],
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
    /// VCs with something waiting, a bit each.
    type Port = u16;
    /// Chunks that wait for the link.
    type Vc = List<ChunkRow>;

    fn new(network: &Network, _: &Local) -> Self {
        Self { counted: network.values.int("counted") as usize, mode: PhantomData }
    }

    fn visit_journals(&mut self, _: &mut dyn FnMut(&mut dyn Journal)) {}

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
        let choice = n.decide(cx, c, line, vc, fx);
        let u = base.plus(choice.port.number());
        n.touch(cx, u, now, fx);
        n.notes.set(c, choice.state);
        let chunk = n.chunks.edit(c);
        chunk.visit();
        let (packet, index) = (chunk.packet, chunk.index());
        let (id, link) = (n.packets.get(packet).id, Net::<Self>::line(cx, u).link);
        fx.record(Record::Accepted {
            time: now + Net::<Self>::suspended(fx),
            link,
            vc: choice.vc,
            id,
            index,
        });
        let v = n.vc_row(u, choice.vc);
        n.vcs.edit(v).own.push(&mut n.chunks, c);
        let port = n.ports.edit(u);
        port.backlog += 1;
        // What could start before now has started: the others of this port lacked room, and this chunk is new.
        port.since = now;
        port.own |= choice.vc.bit();
        n.return_credit(cx, from, vc, now, fx);
        // It may start before what was expected to be next.
        n.set_due(cx, u, fx);
    }

    fn credit(n: &mut Net<Self>, cx: &Static, u: LocalPort, _: bool, fx: &mut impl Fx) {
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
            let ready = Self::with_room(n, cx, u);
            let waiting = |vc: &ChannelId| {
                let own = n.vcs.get(n.vc_row(u, *vc)).own;
                (own.iter(&n.chunks).take(n.router.counted).count(), Reverse(*vc))
            };
            let with_room = n.vcs_of(u).map(|(vc, _)| vc).filter(|vc| ready & vc.bit() != 0);
            let Some(vc) = with_room.max_by_key(waiting) else { continue };
            let v = n.vc_row(u, vc);
            let row = n.vcs.edit(v);
            let c = row.own.pop(&n.chunks).expect("a waiting VC has something");
            // The buffer behind the link is taken here, not at acceptance: queues at outputs own none.
            row.occupancy += 1;
            if row.own.is_empty() {
                n.ports.edit(u).own &= !vc.bit();
            }
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
        if Self::with_room(n, cx, u) != 0 {
            return start;
        }
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

    fn chunks(n: &Net<Self>, _: &Static, u: LocalPort, visit: &mut dyn FnMut(ChunkRow)) {
        for (_, v) in n.vcs_of(u) {
            n.vcs.get(v).own.iter(&n.chunks).for_each(&mut *visit);
        }
    }

    fn bufferless(n: &Net<Self>, u: LocalPort) -> u32 {
        n.vcs_of(u).map(|(_, v)| n.vcs.get(v).own.iter(&n.chunks).count() as u32).sum()
    }

    /// Nobody waits while holding a buffer.
    fn waiting(_: &Net<Self>, _: &Static, _: LocalPort, _: &mut dyn FnMut(Channel, u32, &[Channel])) {}

    fn hash(n: &Net<Self>, cx: &Static, u: LocalPort, sum: &mut Fingerprint) {
        let link = u64::from(Net::<Self>::line(cx, u).link);
        for (vc, v) in n.vcs_of(u) {
            let list = n.vcs.get(v).own;
            n.hash_list(9 << 40 | u64::from(vc) << 32 | link, list, sum);
        }
    }
}

impl<M: Mode> LongestFirst<M> {
    /// VCs with something waiting and room behind the link, as far as credits were counted, a bit each.
    fn with_room(n: &Net<Self>, cx: &Static, u: LocalPort) -> u16 {
        let capacity = cx.net.timings[Net::<Self>::line(cx, u).timing as usize].capacity;
        let waiting = n.ports.get(u).own;
        let room =
            n.vcs_of(u).filter(|(vc, v)| waiting & vc.bit() != 0 && n.vcs.get(*v).occupancy < capacity);
        room.fold(0, |ready, (vc, _)| ready | vc.bit())
    }
}
