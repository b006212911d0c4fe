//! Clocked routers with buffers at their inputs: each cycle VC allocation, then switch allocation.
//!
//! A cycle is the chunk time of the fastest link. The decisions of the cycle at instant s see everything that arrived, and
//! every credit released, up to s; they are taken by an early event at s + 1 ps. A head chunk is routed once, when it comes to the
//! front of its buffer, and asks for a VC of its class at the output; a VC belongs to one packet from head to tail, and
//! the packet's other chunks follow. From the next cycle on they ask for the switch. Both allocators are iSLIP with one
//! iteration: outputs grant, inputs accept, round robin, and a pointer moves only when its grant is accepted. A
//! chunk that wins leaves its buffer: its credit is released at s + credit delay, and it starts onto the link at s. A VC that a
//! tail gives back can be allocated in the next cycle.
//!
//! One pass over the inputs takes what arrived on links of the same partition, routes, and lets requests compete one by one, so
//! that a cycle costs what there is to do and no event is needed per chunk. Routers of a partition that moved something share
//! the event of the next cycle; the others sleep until something can move.
//!
//! Source: Dally and Towles, chapters 16 (router) and 19 (allocation); McKeown, The iSLIP scheduling algorithm, 1999;
//! BookSim 2 `iq_router`. Not modelled: speculation, look-ahead routing, crossbar speed-up, hold-switch allocation.

mod cycle;

use super::clock::{Clocked, CycleClock, Stage};
use crate::{
    config::{Injects, Rules},
    congestion_control::marks::Queue,
    effects::Fx,
    event::RouterAlarm,
    net::{Channel, Net, Router, Static, channels},
    network::{End, Line, Network},
};
use crate::{
    local::Local,
    places::{LocalPort, Upstream, VcRow},
    pools::{ChunkRow, List},
};
use base::{
    hash::Fingerprint,
    index::{ChannelId, Column, LinkId},
    registry::About,
    time::{NEVER, Ps},
};
use engine::state::{
    Journal, NIL, Table,
    mode::{Mode, Undo},
};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct InputVc {
    fifo: List<ChunkRow>,
    /// Output port (local) of the packet in front.
    out: LocalPort,
    /// Routing's memory for the packet.
    state: u32,
    /// Class of VCs while routed, VC once active.
    vc: ChannelId,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Input {
    /// When the first chunk on its way here arrives, `NEVER` if none is (links of other partitions and terminals: always).
    arrival: Ps,
    /// Output that last took a chunk from here.
    last_output: LocalPort,
    /// VCs with a head to route, a bit each.
    idle: u16,
    /// VCs that ask for a VC of an output.
    routed: u16,
    /// VCs with a chunk that may ask for the switch.
    active: u16,
    /// VC that last sent a chunk.
    last_vc: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Output {
    /// Input port served last by the switch.
    last_input: LocalPort,
    /// Input VC served last by VC allocation.
    last_request: VcRow,
    /// VCs that belong to a packet.
    taken: u16,
    /// VCs allocated in the present round of their class.
    used: u16,
}

/// Best request for an output so far, and what the output allows.
#[derive(Clone, Copy)]
struct Bid {
    turn: u64,
    input: LocalPort,
    v: VcRow,
    /// Chunks that a buffer behind the link holds, 0 while the link is busy; `NIL` until somebody asks.
    room: u32,
}
const NO_BID: Bid = Bid { turn: u64::MAX, input: NOBODY, v: VcRow::NONE, room: NIL };

/// The grant that an input accepts so far.
#[derive(Clone, Copy)]
struct Accepted {
    turn: u32,
    v: VcRow,
}
const NOTHING: Accepted = Accepted { turn: 0, v: VcRow::NONE };

/// Requests of one cycle; nothing is left between events.
#[derive(Clone, Default)]
struct Work {
    /// Best request for the switch, by output of the router.
    bids: Vec<Bid>,
    /// Outputs that were asked for.
    outputs: Vec<LocalPort>,
    /// Grant that an input accepts, by input of the router.
    accepted: Vec<Accepted>,
    /// Inputs with a grant.
    inputs: Vec<LocalPort>,
    /// Heads that ask for a VC: input, VC row.
    heads: Vec<(LocalPort, VcRow)>,
}

impl Work {
    /// For routers with so many ports at most.
    fn new(widest: usize) -> Self {
        Self { bids: vec![NO_BID; widest], accepted: vec![NOTHING; widest], ..Self::default() }
    }
}

/// State of clocked routers.
#[derive(Clone)]
pub struct InputQueued<M: Mode = Undo> {
    clock: CycleClock<M>,
    inputs: Table<Input, M, LocalPort>,
    outputs: Table<Output, M, LocalPort>,
    vcs: Table<InputVc, M, VcRow>,
    /// VCs of a class.
    each: u8,
    /// VCs of class 0 and distance to the next class, by output port.
    classes: Column<LocalPort, (u16, u8)>,
    /// Taken out while a cycle runs.
    work: Option<Box<Work>>,
    /// Most ports of a router.
    widest: usize,
}

/// Nobody yet: in place of a port that an arbiter served last.
const NOBODY: LocalPort = LocalPort::new(NIL);

impl<M: Mode> PartialEq for InputQueued<M> {
    fn eq(&self, other: &Self) -> bool {
        self.clock == other.clock
            && self.inputs == other.inputs
            && self.outputs == other.outputs
            && self.vcs == other.vcs
    }
}

impl<M: Mode> InputQueued<M> {
    /// The packets in front of an input's VCs, each with its VC.
    fn fronts(&self, input: LocalPort, vcs: u8) -> impl Iterator<Item = (ChannelId, &InputVc)> {
        VcRow::first_of(input, vcs).each(vcs).map(|(vc, v)| (vc, self.vcs.get(v)))
    }

    /// Those that belong to no packet.
    fn free_vcs(&self, out: LocalPort, class: u8) -> u16 {
        self.group(out, class) & !self.outputs.get(out).taken
    }

    /// VCs that a packet may get, a bit each: those of its class, toward a terminal (where no cycle can close) all.
    fn group(&self, out: LocalPort, class: u8) -> u16 {
        debug_assert!((class * self.classes[out].1) < 16, "an output has 16 VCs at most");
        // Toward a terminal the stride is 0: the same mask, all channels, for every class.
        let (mask, stride) = self.classes[out];
        mask << (class * stride)
    }

    /// A chunk comes to the end of a buffer.
    #[inline]
    fn append(
        &mut self,
        input: LocalPort,
        vc: ChannelId,
        row: VcRow,
        push: impl FnOnce(&mut List<ChunkRow>),
    ) {
        let row = self.vcs.edit(row);
        if row.fifo.is_empty() {
            let port = self.inputs.edit(input);
            // Only the front of a buffer asks: what comes behind others changes no set.
            match row.stage {
                Stage::Idle => port.idle |= vc.bit(),
                Stage::Active => port.active |= vc.bit(),
                Stage::Routed => unreachable!("a packet that asks for a VC is in its buffer"),
            }
        }
        push(&mut row.fifo);
        self.clock.routers.edit(self.clock.owner[input]).held += 1;
    }
}

impl<M: Mode> Router for InputQueued<M> {
    type Mode = M;
    type In<N: Mode> = InputQueued<N>;
    const ABOUT: About = About {
        name: "input-queued",
        summary: "Buffers at the inputs, VC and switch allocation every cycle",
        doc: "Buffers at the inputs, VC and switch allocation every cycle (iSLIP, one iteration), wormhole switching; a cycle is the time of a \
              chunk on the fastest link. A head chunk takes one cycle between the two allocations, and then `router_delay`. A VC belongs to a \
              packet from head to tail, so whole packets are routed. `arbiter` chooses among requests. Not modelled: speculation, look-ahead \
              routing, crossbar speed-up, hold-switch allocation.",
        source: "Dally and Towles, Principles and Practices of Interconnection Networks, chapters 16 to 19; McKeown, The iSLIP scheduling \
                 algorithm, 1999; BookSim 2.",
        params: &[],
    };
    // A cycle's alarm comes a picosecond after its decisions.
    const RULES: Rules = Rules {
        lag: 1,
        heads_only: true,
        keeps_order: true,
        injects: Injects::WithRoom,
        ripens: false,
        buffered: true,
        compared_unsaturated: true,
    };
    const QUEUES: bool = true;
    type Port = ();
    type Vc = ();

    fn new(net: &Network, local: &Local) -> Self {
        let (ports, routers) = (local.router_ports() as usize, local.routers.len());
        let each = net.config.vcs / net.routes.vcs().max(1);
        debug_assert!(each > 0, "every class has a virtual channel");
        let mask = |vcs: u8| u16::MAX >> (16 - vcs.min(16));
        let classes = local.lines.cells()[..ports].iter().map(|line| match line.end {
            End::Terminal { .. } => (mask(net.config.vcs), 0),
            _ => (mask(each), each),
        });
        let span = |r: usize| local.base[r].number()..local.base[r + 1].number();
        let widest = (0..routers).map(|r| span(r).len()).max().unwrap_or(0);
        let input = Input { arrival: NEVER, last_output: NOBODY, idle: 0, routed: 0, active: 0, last_vc: 15 };
        let vc = InputVc {
            fifo: List::default(),
            out: NOBODY,
            state: 0,
            vc: ChannelId::FIRST,
            stage: Stage::Idle,
        };
        Self {
            clock: CycleClock::new(local),
            inputs: Table::new(ports, input),
            outputs: Table::new(
                ports,
                Output { last_input: NOBODY, last_request: VcRow::NONE, taken: 0, used: 0 },
            ),
            vcs: Table::new(ports * usize::from(net.config.vcs), vc),
            each,
            classes: classes.collect(),
            work: Some(Box::new(Work::new(widest))),
            widest,
        }
    }

    fn abandon(&mut self) {
        // A cycle that ended in a panic took it along.
        self.work = Some(Box::new(Work::new(self.widest)));
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.clock.routers);
        visit(&mut self.inputs);
        visit(&mut self.outputs);
        visit(&mut self.vcs);
        visit(&mut self.clock.awake);
        visit(&mut self.clock.together);
    }

    fn bytes(ports: u64, vcs: u64) -> u64 {
        let each = size_of::<Input>() + size_of::<Output>() + 8;
        ports * (each as u64 + vcs * size_of::<InputVc>() as u64)
    }

    /// It goes to its buffer and the router wakes. Chunks of routers in the same partition are taken in a cycle instead.
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
        let End::Router { base, in_port, local, .. } = line.end else { unreachable!("only routers buffer") };
        debug_assert_eq!(
            cx.local.upstream[base.plus(in_port.number())],
            from,
            "an input has one upstream port"
        );
        Self::buffer(n, c, base.plus(in_port.number()), vc);
        n.wake_router(cx, local, fx.now(), fx);
    }

    /// The router must look when the first credit holds.
    fn credit(n: &mut Net<Self>, cx: &Static, u: LocalPort, _: bool, fx: &mut impl Fx) {
        // An empty router has nothing to send: it wakes with its next arrival and sees the credit then.
        let local = n.router.clock.owner[u];
        if n.held_by(local) > 0 {
            n.wake_at_release(cx, u, fx);
        }
    }

    /// A cycle: a router's own, or that of all that stayed awake.
    fn alarm(n: &mut Net<Self>, cx: &Static, alarm: RouterAlarm, fx: &mut impl Fx) {
        n.ring(cx, alarm, fx);
    }

    #[inline]
    fn advance(_: &mut Net<Self>, _: &Static, _: LocalPort, _: Ps, _: &mut impl Fx) {}

    #[inline]
    fn next_start(_: &Net<Self>, _: &Static, _: LocalPort) -> Ps {
        NEVER
    }

    #[inline]
    fn pressed(_: &Net<Self>, _: LocalPort) -> bool {
        false
    }

    #[inline]
    fn waits(_: &Net<Self>, _: LocalPort) -> bool {
        false
    }

    fn settle(n: &mut Net<Self>, cx: &Static, now: Ps) {
        n.settle_arrivals(cx, now);
    }

    fn held(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(LinkId, ChannelId, ChunkRow)) {
        if cx.local.is_routers(u) {
            for (vc, front) in n.router.fronts(u, cx.net.config.vcs) {
                front.fifo.iter(&n.chunks).for_each(|c| visit(n.input_link(cx, u), vc, c));
            }
        }
    }

    fn waiting(n: &Net<Self>, cx: &Static, u: LocalPort, visit: &mut dyn FnMut(Channel, u32, &[Channel])) {
        let room = |out: LocalPort, vc: ChannelId| {
            let timing = &cx.net.timings[Net::<Self>::line(cx, out).timing as usize];
            n.vcs.get(n.vc_row(out, vc)).occupancy < timing.capacity
        };
        for (vc, front) in n.router.fronts(u, cx.net.config.vcs).filter(|f| !f.1.fifo.is_empty()) {
            // What it waits for; nothing if it will move by itself.
            let group = match front.stage {
                Stage::Routed if n.router.free_vcs(front.out, front.vc.number()) == 0 => {
                    n.router.group(front.out, front.vc.number())
                }
                Stage::Active if !room(front.out, front.vc) => front.vc.bit(),
                _ => 0,
            };
            let out = if front.stage == Stage::Idle { u } else { front.out };
            let link = Net::<Self>::line(cx, out).link;
            let to: Vec<Channel> = channels::each(group).map(|v| (link, v)).collect();
            visit((n.input_link(cx, u), vc), front.fifo.iter(&n.chunks).count() as u32, &to);
        }
    }

    fn queue(n: &Net<Self>, cx: &Static, u: LocalPort, vc: ChannelId, most: u32) -> Queue {
        let local = n.router.clock.owner[u] as usize;
        let inputs = cx.local.base[local].number()..cx.local.base[local + 1].number();
        // What stands behind a front waits for the same output, as far as the router knows. The chunk that leaves still stands in front of its own.
        let fronts = inputs.flat_map(|input| n.router.fronts(LocalPort::new(input), cx.net.config.vcs));
        let here = fronts.filter(|(_, front)| front.stage != Stage::Idle && front.out == u);
        let chunks = here.flat_map(|(_, front)| front.fifo.iter(&n.chunks)).skip(1).take(most as usize);
        let capacity = cx.net.timings[Net::<Self>::line(cx, u).timing as usize].capacity;
        let credits = n.vcs.get(n.vc_row(u, vc)).occupancy + 1 < capacity;
        Queue { chunks: chunks.count() as u32, credits }
    }

    fn hash(n: &Net<Self>, cx: &Static, u: LocalPort, sum: &mut Fingerprint) {
        if !cx.local.is_routers(u) {
            return;
        }
        let link = u64::from(Net::<Self>::line(cx, u).link);
        for (vc, front) in n.router.fronts(u, cx.net.config.vcs) {
            let out = match front.stage {
                Stage::Idle => 0,
                _ => u64::from(Net::<Self>::line(cx, front.out).link),
            };
            for (place, c) in front.fifo.iter(&n.chunks).enumerate() {
                let c = n.chunks.get(c);
                sum.add(
                    11 << 40 | u64::from(vc) << 32 | link,
                    out << 8 | u64::from(front.vc),
                    n.packets.get(c.packet).id.key(),
                    (place as u64) << 16 | u64::from(c.index()),
                );
            }
        }
    }
}
