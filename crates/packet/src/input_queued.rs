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

use super::{
    config::{Arbiter, RouterKind},
    event::{Alarm, Name, RouterAlarm},
    network::{End, Line, Local, Network},
    rows::Flight,
    state::{Fx, REMOTE, Record, State, Static},
};
use base::time::{NEVER, Ps};
use engine::{
    key::Class,
    state::{Fifo, Journal, NIL, Table},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What the packet at the front of an input VC has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Nothing: its head was not routed.
    Idle,
    /// A route; it asks for a VC of its class.
    Routed,
    /// A VC; its chunks ask for the switch.
    Active,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct InputVc {
    fifo: Fifo,
    /// Output port (local) of the packet in front.
    out: u32,
    /// Routing's memory for the packet.
    state: u32,
    /// Class of VCs while routed, VC once active.
    vc: u8,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Input {
    /// When the first chunk on its way here arrives, `NEVER` if none is (links of other partitions and terminals: always).
    arrival: Ps,
    /// Output that last took a chunk from here.
    last_output: u32,
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
    last_input: u32,
    /// Input VC served last by VC allocation.
    last_request: u32,
    /// VCs that belong to a packet.
    taken: u16,
    /// VCs allocated in the present round of their class.
    used: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Router {
    /// Next cycle set (plus 1 ps), `NEVER` while it sleeps; the present instant during a cycle.
    due: Ps,
    /// Chunks in its buffers.
    held: u32,
}

/// Best request for an output so far, and what the output allows.
#[derive(Clone, Copy)]
struct Bid {
    turn: u64,
    input: u32,
    v: u32,
    /// Chunks that a buffer behind the link holds, 0 while the link is busy; `NIL` until somebody asks.
    room: u32,
}
const NO_BID: Bid = Bid { turn: u64::MAX, input: NIL, v: NIL, room: NIL };

/// Requests of one cycle; nothing is left between events.
#[derive(Clone, Default)]
struct Work {
    /// Best request for the switch, by output of the router.
    bids: Vec<Bid>,
    /// Outputs that were asked for.
    outputs: Vec<u32>,
    /// Grant that an input accepts (turn, VC row), by input of the router.
    accepted: Vec<(u32, u32)>,
    /// Inputs with a grant.
    inputs: Vec<u32>,
    /// Heads that ask for a VC: input, VC row.
    heads: Vec<(u32, u32)>,
}

/// State of clocked routers; empty for other kinds.
#[derive(Clone)]
pub struct Clocked {
    routers: Table<Router>,
    inputs: Table<Input>,
    outputs: Table<Output>,
    vcs: Table<InputVc>,
    /// Routers that run again in the next cycle, a bit each.
    awake: Table<u64>,
    /// When that is (plus 1 ps), in one row.
    together: Table<Ps>,
    /// Local number of the router, by port.
    owner: Vec<u32>,
    /// VCs of a class.
    each: u8,
    /// VCs of class 0 and distance to the next class, by output port.
    classes: Vec<(u16, u8)>,
    /// Taken out while a cycle runs.
    work: Option<Box<Work>>,
}

impl PartialEq for Clocked {
    fn eq(&self, other: &Self) -> bool {
        self.routers == other.routers
            && self.inputs == other.inputs
            && self.outputs == other.outputs
            && self.vcs == other.vcs
            && self.awake == other.awake
            && self.together == other.together
    }
}

impl Clocked {
    /// Idle routers of a partition.
    #[must_use]
    pub fn new(net: &Network, local: &Local) -> Self {
        let used = net.config.router == RouterKind::InputQueued;
        let ports = if used { local.router_ports() as usize } else { 0 };
        let routers = if used { local.routers.len() } else { 0 };
        let each = net.config.vcs / net.routes.vcs().max(1);
        let mask = |vcs: u8| u16::MAX >> (16 - vcs.min(16));
        let classes = local.lines[..ports].iter().map(|line| match line.end {
            End::Terminal { .. } => (mask(net.config.vcs), 0),
            _ => (mask(each), each),
        });
        let span = |r: usize| local.base[r]..local.base[r + 1];
        let widest = (0..routers).map(|r| span(r).len()).max().unwrap_or(0);
        let input = Input { arrival: NEVER, last_output: NIL, idle: 0, routed: 0, active: 0, last_vc: 15 };
        let vc = InputVc { fifo: Fifo::default(), out: NIL, state: 0, vc: 0, stage: Stage::Idle };
        Self {
            routers: Table::new(routers, Router { due: NEVER, held: 0 }),
            inputs: Table::new(ports, input),
            outputs: Table::new(ports, Output { last_input: NIL, last_request: NIL, taken: 0, used: 0 }),
            vcs: Table::new(ports * usize::from(net.config.vcs), vc),
            awake: Table::new(routers.div_ceil(64), 0),
            together: Table::new(1, NEVER),
            owner: (0..routers).flat_map(|r| span(r).map(move |_| r as u32)).collect(),
            each,
            classes: classes.collect(),
            work: Some(Box::new(Work {
                bids: vec![NO_BID; widest],
                accepted: vec![(0, NIL); widest],
                ..Work::default()
            })),
        }
    }

    /// Shows the tables inside.
    pub fn tables(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.routers);
        visit(&mut self.inputs);
        visit(&mut self.outputs);
        visit(&mut self.vcs);
        visit(&mut self.awake);
        visit(&mut self.together);
    }

    /// The buffer of an input VC, and what its front packet has got: its stage, output port (local) and VC or class.
    #[must_use]
    pub fn front(&self, port: u32, vc: u8, vcs: u8) -> Option<(Fifo, Stage, u32, u8)> {
        let row = port as usize * usize::from(vcs) + usize::from(vc);
        let v = (row < self.vcs.len()).then(|| self.vcs.get(row as u32))?;
        let out = if v.stage == Stage::Idle { port } else { v.out };
        (!v.fifo.is_empty()).then_some((v.fifo, v.stage, out, v.vc))
    }

    /// Chunks buffered at an input VC (local input port).
    #[must_use]
    pub fn buffered(&self, port: u32, vc: u8, vcs: u8) -> Option<Fifo> {
        let row = port as usize * usize::from(vcs) + usize::from(vc);
        (row < self.vcs.len()).then(|| self.vcs.get(row as u32).fifo)
    }

    /// Those that belong to no packet.
    #[must_use]
    pub fn free_vcs(&self, out: u32, class: u8) -> u16 {
        self.group(out, class) & !self.outputs.get(out).taken
    }

    /// VCs that a packet may get, a bit each: those of its class, toward a terminal (where no cycle can close) all.
    #[must_use]
    pub fn group(&self, out: u32, class: u8) -> u16 {
        let (mask, stride) = self.classes[out as usize];
        mask << (class * stride)
    }

    /// A chunk comes to the end of a buffer.
    #[inline]
    fn append(&mut self, input: u32, vc: u8, vcs: u32, push: impl FnOnce(&mut Fifo)) {
        let row = self.vcs.edit(input * vcs + u32::from(vc));
        if row.fifo.is_empty() {
            let port = self.inputs.edit(input);
            match row.stage {
                Stage::Idle => port.idle |= 1 << vc,
                Stage::Active => port.active |= 1 << vc,
                Stage::Routed => unreachable!("a packet that asks for a VC is in its buffer"),
            }
        }
        push(&mut row.fifo);
        self.routers.edit(self.owner[input as usize]).held += 1;
    }
}

/// Place of a requester in an arbiter's turn: the one after `last` comes first, the others follow in a circle.
fn turn(cx: &Static, last: u32, request: u32) -> u32 {
    match cx.net.config.arbiter {
        Arbiter::RoundRobin => request.wrapping_sub(last.wrapping_add(1)),
        Arbiter::Fixed => request,
    }
}

impl State {
    /// A chunk arrives at a clocked router from a terminal or another partition: it goes to its buffer and the router wakes.
    pub(super) fn buffer(&mut self, cx: &Static, c: u32, line: &Line, from: u32, vc: u8, fx: &mut impl Fx) {
        let End::Router { base, in_port, local, .. } = line.end else { unreachable!("only routers buffer") };
        debug_assert_eq!(
            cx.local.upstream[(base + in_port) as usize],
            from,
            "an input has one upstream port"
        );
        self.put_in_buffer(cx, c, base + in_port, vc);
        self.wake_router(cx, local, fx.now(), fx);
    }

    #[inline]
    fn put_in_buffer(&mut self, cx: &Static, c: u32, input: u32, vc: u8) {
        let chunks = &mut self.chunks;
        self.clocked.append(input, vc, u32::from(cx.net.config.vcs), |fifo| fifo.push(chunks, c));
    }

    /// Takes the chunks that came over a link of this partition up to `t`.
    fn take_arrivals(&mut self, cx: &Static, input: u32, t: Ps) {
        let from = cx.local.upstream[input as usize];
        let mut arrival = self.clocked.inputs.get(input).arrival;
        while arrival <= t {
            let first = self.ports.get(from).flight.head;
            let Flight { chunk, vc, next, .. } = *self.flights.get(first);
            self.flights.give(first);
            self.ports.edit(from).flight.head = next;
            arrival = if next == NIL { NEVER } else { self.flights.get(next).time };
            self.put_in_buffer(cx, chunk, input, vc);
        }
        self.clocked.inputs.edit(input).arrival = arrival;
    }

    /// Takes everything that arrived before `now`, so that nobody sees that it was put off.
    pub(super) fn settle_arrivals(&mut self, cx: &Static, now: Ps) {
        for input in 0..self.clocked.inputs.len() as u32 {
            if self.clocked.inputs.get(input).arrival < now {
                self.take_arrivals(cx, input, now - 1);
            }
        }
    }

    /// Makes sure that a router's cycle runs at the first boundary at or after `at`.
    #[inline]
    fn wake_router(&mut self, cx: &Static, local: u32, at: Ps, fx: &mut impl Fx) {
        let set = self.clocked.routers.get(local).due;
        // Within its own cycle a router's `due` is the present instant: it looks around before it goes to sleep.
        if set <= at {
            return;
        }
        let due = at.div_ceil(cx.net.cycle) * cx.net.cycle + 1;
        if due < set {
            self.clocked.routers.edit(local).due = due;
            let name = Name::Router.of(cx.local.routers[local as usize], 0);
            Self::set_cycle(name, RouterAlarm::Router(local), due, fx);
        }
    }

    /// A credit for port `u` of a clocked router is on its way: the router must look when the first one holds.
    pub(super) fn credit_for_router(&mut self, cx: &Static, u: u32, fx: &mut impl Fx) {
        let local = self.clocked.owner[u as usize];
        if self.clocked.routers.get(local).held > 0 {
            let release = self.ports.get(u).next_release().unwrap_or(0).max(fx.now());
            self.wake_router(cx, local, release, fx);
        }
    }

    /// The next cycle of a router that has just moved something: one event for all of the partition.
    fn stay_awake(&mut self, local: u32, due: Ps, fx: &mut impl Fx) {
        self.clocked.routers.edit(local).due = due;
        *self.clocked.awake.edit(local / 64) |= 1 << (local % 64);
        if *self.clocked.together.get(0) != due {
            *self.clocked.together.edit(0) = due;
            Self::set_cycle(Name::Routers.only(), RouterAlarm::All, due, fx);
        }
    }

    /// One cycle of all routers that stayed awake.
    fn cycle_all(&mut self, cx: &Static, fx: &mut impl Fx) {
        for word in 0..self.clocked.awake.len() as u32 {
            let mut awake = std::mem::take(self.clocked.awake.edit(word));
            while awake != 0 {
                let local = word * 64 + awake.trailing_zeros();
                awake &= awake - 1;
                let due = self.clocked.routers.get(local).due;
                if due == fx.now() {
                    self.cycle_one(cx, local, fx);
                } else if due == fx.now() + cx.net.cycle {
                    // A stale alarm of its own came first.
                    self.stay_awake(local, due, fx);
                }
            }
        }
    }

    /// A cycle's alarm: a router's own, or that of all that stayed awake.
    pub(super) fn cycle(&mut self, cx: &Static, alarm: RouterAlarm, fx: &mut impl Fx) {
        match alarm {
            RouterAlarm::All => self.cycle_all(cx, fx),
            RouterAlarm::Router(local) if self.clocked.routers.get(local).due == fx.now() => {
                self.cycle_one(cx, local, fx);
            }
            RouterAlarm::Router(_) => {}
            RouterAlarm::Output(_) => unreachable!("clocked routers look at all their outputs"),
        }
    }

    /// Sets a cycle: early, so that it sees no arrival of its own instant, a picosecond after its decisions.
    fn set_cycle(name: u64, alarm: RouterAlarm, at: Ps, fx: &mut impl Fx) {
        fx.wake(at, Class::Early, name, Alarm::Router(alarm).token());
    }

    /// One cycle of a router.
    fn cycle_one(&mut self, cx: &Static, local: u32, fx: &mut impl Fx) {
        let now = fx.now();
        let s = now - 1;
        let ports = cx.local.base[local as usize]..cx.local.base[local as usize + 1];
        let mut work = self.clocked.work.take().expect("no cycle runs within another");
        let mut next = NEVER;
        for input in ports.clone() {
            if self.clocked.inputs.get(input).arrival <= s {
                self.take_arrivals(cx, input, s);
            }
            let row = *self.clocked.inputs.get(input);
            next = next.min(row.arrival);
            let mut routed = row.routed;
            if row.idle != 0 {
                routed |= self.route_heads(cx, local, input, row.idle, fx);
            }
            if row.active != 0 {
                self.ask_for_switch(cx, ports.start, (input, row), s, &mut work, fx);
            }
            if routed != 0 {
                self.ask_for_vcs(cx, input, routed, &mut work);
            }
        }
        let mut moved = self.allocate_vcs(cx, &mut work);
        moved |= self.allocate_switch(cx, ports.start, s, &mut work, fx);
        self.clocked.work = Some(work);
        let held = self.clocked.routers.get(local).held > 0;
        if held && moved {
            return self.stay_awake(local, now + cx.net.cycle, fx);
        }
        if held {
            next = next.min(self.next_chance(cx, ports, s));
        }
        self.clocked.routers.edit(local).due = NEVER;
        if next != NEVER {
            self.wake_router(cx, local, next, fx);
        }
    }

    /// Asks the routing for the head chunks that came to the front of their buffers; returns the VCs that have one.
    fn route_heads(&mut self, cx: &Static, local: u32, input: u32, mut idle: u16, fx: &mut impl Fx) -> u16 {
        let (router, base) = (cx.local.routers[local as usize], cx.local.base[local as usize]);
        let end = End::Router { router, base, in_port: input - base, local };
        let line = Line { link: NIL, timing: 0, own_base: base, end };
        let from = cx.local.upstream[input as usize];
        let terminal = from & REMOTE == 0 && from >= cx.local.router_ports();
        if cx.net.losses.is_some() {
            idle = self.discard_fronts(cx, local, input, idle, fx);
        }
        let port = self.clocked.inputs.edit(input);
        port.routed |= idle;
        port.idle = 0;
        let routed = idle;
        while idle != 0 {
            let vc = idle.trailing_zeros();
            idle &= idle - 1;
            let v = input * u32::from(cx.net.config.vcs) + vc;
            let class = if terminal { 0 } else { vc as u8 / self.clocked.each };
            let choice = self.decide(cx, self.clocked.vcs.get(v).fifo.head, &line, class, fx);
            let row = self.clocked.vcs.edit(v);
            row.stage = Stage::Routed;
            row.out = base + choice.port;
            row.vc = choice.vc;
            row.state = choice.state;
        }
        routed
    }

    /// Discards what stands lost in front of an input's idle VCs; returns those that have something left.
    fn discard_fronts(&mut self, cx: &Static, local: u32, input: u32, idle: u16, fx: &mut impl Fx) -> u16 {
        let from = cx.local.upstream[input as usize];
        let (link, s) = (cx.local.link_of(from), fx.now() - 1);
        let class = match from & REMOTE {
            0 => Self::line(cx, from).timing,
            _ => cx.local.inbound[(from & !REMOTE) as usize].timing,
        };
        let (mut left, mut rest) = (idle, idle);
        while rest != 0 {
            let vc = rest.trailing_zeros();
            rest &= rest - 1;
            let v = input * u32::from(cx.net.config.vcs) + vc;
            loop {
                let front = self.clocked.vcs.get(v).fifo;
                if front.is_empty() {
                    left &= !(1 << vc);
                    break;
                }
                // A lost chunk's row is free when its successor is asked for.
                let next = self.chunks.get(front.head).next;
                if !self.discard_lost(cx, front.head, (class, link), s, fx) {
                    break;
                }
                let fifo = &mut self.clocked.vcs.edit(v).fifo;
                *fifo = if next == NIL { Fifo::default() } else { Fifo { head: next, ..*fifo } };
                self.clocked.routers.edit(local).held -= 1;
                self.return_credit(cx, from, vc as u8, s, fx);
            }
        }
        left
    }

    /// Heads of an input ask for VCs, in ascending order over the cycle.
    #[inline]
    fn ask_for_vcs(&mut self, cx: &Static, input: u32, mut routed: u16, work: &mut Work) {
        while routed != 0 {
            let v = input * u32::from(cx.net.config.vcs) + routed.trailing_zeros();
            routed &= routed - 1;
            let row = self.clocked.vcs.get(v);
            if self.clocked.free_vcs(row.out, row.vc) != 0 {
                work.heads.push((input, v));
            }
        }
    }

    /// VC allocation: the free VCs of an output go to heads in the order of its arbiter; true if a packet got one.
    ///
    /// Heads stand in ascending order: first those after the one that the output served last, then the others.
    fn allocate_vcs(&mut self, cx: &Static, work: &mut Work) -> bool {
        let mut moved = false;
        if cx.net.config.arbiter == Arbiter::RoundRobin {
            for &(input, v) in &work.heads {
                let last = self.clocked.outputs.get(self.clocked.vcs.get(v).out).last_request;
                if last == NIL || v > last {
                    moved |= self.allocate_vc(cx, input, v);
                }
            }
        }
        for (input, v) in work.heads.drain(..) {
            if self.clocked.vcs.get(v).stage == Stage::Routed {
                moved |= self.allocate_vc(cx, input, v);
            }
        }
        moved
    }

    /// Gives a head the next free VC of its class, if there is one.
    #[inline]
    fn allocate_vc(&mut self, cx: &Static, input: u32, v: u32) -> bool {
        let clocked = &mut self.clocked;
        let row = *clocked.vcs.get(v);
        let free = clocked.free_vcs(row.out, row.vc);
        if free == 0 {
            return false;
        }
        let group = clocked.group(row.out, row.vc);
        let output = clocked.outputs.edit(row.out);
        if free & !output.used == 0 {
            output.used &= !group;
        }
        let vc = (free & !output.used).trailing_zeros() as u8;
        output.taken |= 1 << vc;
        output.used |= 1 << vc;
        output.last_request = v;
        let row = clocked.vcs.edit(v);
        row.vc = vc;
        row.stage = Stage::Active;
        let bit = 1 << (v - input * u32::from(cx.net.config.vcs));
        let port = clocked.inputs.edit(input);
        port.routed &= !bit;
        port.active |= bit;
        true
    }

    /// The chunks of an input ask for their outputs; each output keeps the one whose turn comes first.
    fn ask_for_switch(
        &mut self,
        cx: &Static,
        base: u32,
        (input, row): (u32, Input),
        s: Ps,
        work: &mut Work,
        fx: &mut impl Fx,
    ) {
        let mut active = row.active;
        while active != 0 {
            let vc = active.trailing_zeros();
            active &= active - 1;
            let v = input * u32::from(cx.net.config.vcs) + vc;
            let &InputVc { out, vc: out_vc, .. } = self.clocked.vcs.get(v);
            let bid = &mut work.bids[(out - base) as usize];
            if bid.room == NIL {
                bid.room = self.room(cx, out, s, fx);
                work.outputs.push(out);
            }
            if self.vcs.get(self.vcs_per_port(out) + u32::from(out_vc)).occupancy >= bid.room {
                continue;
            }
            let first = turn(cx, self.clocked.outputs.get(out).last_input, input);
            let second = turn(cx, u32::from(row.last_vc), vc) & 15;
            let turn = u64::from(first) << 4 | u64::from(second);
            if turn < bid.turn {
                *bid = Bid { turn, input, v, room: bid.room };
            }
        }
    }

    /// Chunks that a buffer behind an output holds, 0 if the link is busy at `s`. Uses the credits released by then.
    fn room(&mut self, cx: &Static, out: u32, s: Ps, fx: &mut impl Fx) -> u32 {
        let timing = &cx.net.timings[Self::line(cx, out).timing as usize];
        if self.ports.get(out).clock.rounded(timing.denominator) > s {
            return 0;
        }
        if let End::Terminal { .. } = Self::line(cx, out).end {
            self.eject(cx, out, s, fx);
        }
        self.drain_credits(out, s);
        timing.capacity
    }

    /// Switch allocation: outputs granted, inputs accept one grant each, and the chunks leave. True if one did.
    fn allocate_switch(&mut self, cx: &Static, base: u32, s: Ps, work: &mut Work, fx: &mut impl Fx) -> bool {
        for out in work.outputs.drain(..) {
            let bid = std::mem::replace(&mut work.bids[(out - base) as usize], NO_BID);
            if bid.v == NIL {
                continue;
            }
            let turn = turn(cx, self.clocked.inputs.get(bid.input).last_output, out);
            let accepted = &mut work.accepted[(bid.input - base) as usize];
            if accepted.1 == NIL {
                work.inputs.push(bid.input);
                *accepted = (turn, bid.v);
            } else if turn < accepted.0 {
                *accepted = (turn, bid.v);
            }
        }
        let moved = !work.inputs.is_empty();
        for input in work.inputs.drain(..) {
            let (_, v) = std::mem::replace(&mut work.accepted[(input - base) as usize], (0, NIL));
            self.leave(cx, input, v, s, fx);
        }
        moved
    }

    /// The chunk in front of input VC `v` crosses the switch and starts onto its link.
    fn leave(&mut self, cx: &Static, input: u32, v: u32, s: Ps, fx: &mut impl Fx) {
        let in_vc = (v - input * u32::from(cx.net.config.vcs)) as u8;
        let row = self.clocked.vcs.edit(v);
        let c = row.fifo.pop(&self.chunks).expect("a request has a chunk");
        let (out, vc, empty) = (row.out, row.vc, row.fifo.is_empty());
        self.notes.set(c, row.state);
        let chunk = self.chunks.edit(c);
        chunk.visit();
        let (packet, index, last) = (chunk.packet, chunk.index(), chunk.is_last());
        let port = self.clocked.inputs.edit(input);
        port.last_vc = in_vc;
        port.last_output = out;
        if last || empty {
            port.active &= !(1 << in_vc);
        }
        let output = self.clocked.outputs.edit(out);
        output.last_input = input;
        if last {
            row.stage = Stage::Idle;
            port.idle |= u16::from(!empty) << in_vc;
            output.taken &= !(1 << vc);
        }
        let local = self.clocked.owner[input as usize];
        self.clocked.routers.edit(local).held -= 1;
        let line = Self::line(cx, out);
        let id = self.packets.get(packet).id;
        fx.record(Record::Accepted { time: s + fx.suspended(), link: line.link, vc, id, index });
        let o = self.vcs_per_port(out) + u32::from(vc);
        self.vcs.edit(o).occupancy += 1;
        self.ports.edit(out).backlog += 1;
        self.put_on_link(cx, c, out, vc, s, fx);
        match line.end {
            End::Router { base, in_port, local, .. } => {
                let at = self.flights.get(self.ports.get(out).flight.tail).time;
                let next = self.clocked.inputs.edit(base + in_port);
                next.arrival = next.arrival.min(at);
                self.wake_router(cx, local, at, fx);
            }
            End::Terminal { .. } => self.set_due(cx, out, fx),
            End::Remote { .. } => {}
        }
        self.return_credit(cx, cx.local.upstream[input as usize], in_vc, s, fx);
    }

    /// When nothing moved at `s`: the next instant at which something could without an arrival.
    fn next_chance(&self, cx: &Static, ports: Range<u32>, s: Ps) -> Ps {
        let mut next = NEVER;
        for input in ports {
            let mut active = self.clocked.inputs.get(input).active;
            while active != 0 {
                let v = input * u32::from(cx.net.config.vcs) + active.trailing_zeros();
                active &= active - 1;
                let out = self.clocked.vcs.get(v).out;
                let (port, line) = (self.ports.get(out), Self::line(cx, out));
                let timing = &cx.net.timings[line.timing as usize];
                let free = port.clock.rounded(timing.denominator);
                let mut chance = if free > s { free } else { port.next_release().unwrap_or(NEVER) };
                if let (NEVER, End::Terminal { .. }, Some(first)) =
                    (chance, line.end, (port.flight.head != NIL).then_some(port.flight.head))
                {
                    // The terminal takes chunks lazily: the credit is not on its way yet.
                    chance = self.flights.get(first).time + timing.credit_delay;
                }
                next = next.min(chance);
            }
        }
        next
    }
}
