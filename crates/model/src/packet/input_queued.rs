//! Clocked routers with buffers at their inputs: each cycle VC allocation, then switch allocation.
//!
//! A cycle is the chunk time of the fastest link. The decisions of the cycle at instant s see everything that arrived, and
//! every credit released, up to s; they are taken by an event at s + 1 ps. A head chunk asks for a VC of its class at
//! the output that the routing names; a VC belongs to one packet from head to tail. From the next cycle on the packet's chunks
//! ask for the switch: each input port proposes one VC, each output port takes one input, both round robin with pointers
//! that move on a grant (separable, input first, one iteration). A chunk that wins leaves its buffer: its credit is released at
//! s + credit delay, and it starts onto the link at s. A router sleeps while nothing can move.
//!
//! Source: Dally and Towles, chapters 16 (router) and 19 (allocation); BookSim 2 `iq_router`. Not modelled: speculation,
//! look-ahead routing, crossbar speed-up, hold-switch allocation.

use super::{
    config::Arbiter,
    network::{End, Line, Local, Network},
    state::{Fx, Record, State, Static},
};
use base::time::{NEVER, Ps};
use engine::state::{Fifo, Journal, NIL, Table};

/// What the packet at the front of an input VC has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Nothing: its head was not routed.
    Idle,
    /// A route; it asks for a VC of its class.
    Routed,
    /// A VC; its chunks ask for the switch.
    Active,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct InputVc {
    fifo: Fifo,
    /// Output port (local) of the packet in front.
    out: u32,
    /// Class of VCs while routed, VC once active.
    vc: u8,
    stage: Stage,
    /// Routing's memory for the packet.
    state: u32,
    /// First cycle in which it may ask for the switch.
    ready: Ps,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Input {
    /// VCs that hold a chunk.
    busy: u16,
    /// VC proposed last with success.
    last_vc: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Output {
    /// VCs that belong to a packet.
    taken: u16,
    /// Input port served last by the switch.
    last_input: u32,
    /// Input VC served last by VC allocation.
    last_request: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Router {
    /// Next cycle set, `NEVER` while it sleeps.
    due: Ps,
    /// Chunks in its buffers.
    held: u32,
}

/// State of clocked routers; empty for other kinds.
#[derive(Clone)]
pub struct Clocked {
    routers: Table<Router>,
    inputs: Table<Input>,
    outputs: Table<Output>,
    vcs: Table<InputVc>,
    /// Requests of one cycle; empty between events.
    requests: Vec<(u32, u32)>,
}

impl PartialEq for Clocked {
    fn eq(&self, other: &Self) -> bool {
        self.routers == other.routers
            && self.inputs == other.inputs
            && self.outputs == other.outputs
            && self.vcs == other.vcs
    }
}

impl Clocked {
    /// Idle routers of a partition.
    #[must_use]
    pub fn new(net: &Network, local: &Local) -> Self {
        let used = net.config.router == super::config::RouterKind::InputQueued;
        let ports = if used { local.router_ports() as usize } else { 0 };
        let routers = if used { local.routers.len() } else { 0 };
        let vc = InputVc { fifo: Fifo::default(), out: NIL, vc: 0, stage: Stage::Idle, state: 0, ready: 0 };
        Self {
            routers: Table::new(routers, Router { due: NEVER, held: 0 }),
            inputs: Table::new(ports, Input { busy: 0, last_vc: 15 }),
            outputs: Table::new(ports, Output { taken: 0, last_input: NIL, last_request: NIL }),
            vcs: Table::new(ports * usize::from(net.config.vcs), vc),
            requests: Vec::new(),
        }
    }

    /// Shows the tables inside.
    pub fn tables(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.routers);
        visit(&mut self.inputs);
        visit(&mut self.outputs);
        visit(&mut self.vcs);
    }

    /// The buffer of an input VC, and what its front packet has got: its stage, output port (local) and VC or class.
    #[must_use]
    pub fn front(&self, port: u32, vc: u8, vcs: u8) -> Option<(Fifo, Stage, u32, u8)> {
        let row = port as usize * usize::from(vcs) + usize::from(vc);
        let v = (row < self.vcs.len()).then(|| self.vcs.get(row as u32))?;
        (!v.fifo.is_empty()).then_some((
            v.fifo,
            v.stage,
            if v.stage == Stage::Idle { port } else { v.out },
            v.vc,
        ))
    }

    /// Chunks buffered at an input VC (local input port).
    #[must_use]
    pub fn buffered(&self, port: u32, vc: u8, vcs: u8) -> Option<Fifo> {
        let row = port as usize * usize::from(vcs) + usize::from(vc);
        (row < self.vcs.len()).then(|| self.vcs.get(row as u32).fifo)
    }
}

impl State {
    /// A chunk arrives at a clocked router: it goes to its buffer and the router wakes.
    pub(super) fn buffer(&mut self, cx: &Static, c: u32, line: &Line, from: u32, vc: u8, fx: &mut impl Fx) {
        let End::Router { base, in_port, local, router } = line.end else {
            unreachable!("only routers buffer")
        };
        let input = base + in_port;
        debug_assert_eq!(cx.local.upstream[input as usize], from, "an input has one upstream port");
        let v = input * u32::from(cx.net.config.vcs) + u32::from(vc);
        self.clocked.vcs.edit(v).fifo.push(&mut self.chunks, c);
        self.clocked.inputs.edit(input).busy |= 1 << vc;
        self.clocked.routers.edit(local).held += 1;
        let now = fx.now();
        self.wake_router(cx, router, local, now, fx);
    }

    /// Makes sure that a router's cycle runs at the first boundary at or after `at`.
    fn wake_router(&mut self, cx: &Static, router: u32, local: u32, at: Ps, fx: &mut impl Fx) {
        let due = at.div_ceil(cx.net.cycle) * cx.net.cycle + 1;
        if due < self.clocked.routers.get(local).due {
            self.clocked.routers.edit(local).due = due;
            Self::set_cycle(router, local, due, fx);
        }
    }

    /// A credit for port `u` of a clocked router is on its way: the router must look when the first one holds.
    pub(super) fn credit_for_router(&mut self, cx: &Static, u: u32, fx: &mut impl Fx) {
        let local = cx.local.router_of(u);
        if self.clocked.routers.get(local).held > 0 {
            let release = self.ports.get(u).next_release().unwrap_or(0).max(fx.now());
            self.wake_router(cx, cx.local.routers[local as usize], local, release, fx);
        }
    }

    /// One cycle of a router.
    pub(super) fn cycle(&mut self, cx: &Static, local: u32, fx: &mut impl Fx) {
        let now = fx.now();
        if self.clocked.routers.get(local).due != now {
            return;
        }
        self.clocked.routers.edit(local).due = NEVER;
        let s = now - 1;
        let ports = cx.local.base[local as usize]..cx.local.base[local as usize + 1];
        self.route_heads(cx, local, ports.clone(), fx);
        let mut moved = self.allocate_vcs(cx, ports.clone(), s);
        moved |= self.allocate_switch(cx, local, ports.clone(), s, fx);
        if self.clocked.routers.get(local).held == 0 {
            return;
        }
        let next = if moved { s + cx.net.cycle } else { self.next_chance(cx, ports, s) };
        if next != NEVER {
            self.wake_router(cx, cx.local.routers[local as usize], local, next, fx);
        }
    }

    /// Asks the routing for every head chunk that came to the front of its buffer.
    fn route_heads(&mut self, cx: &Static, local: u32, ports: std::ops::Range<u32>, fx: &mut impl Fx) {
        let vcs = u32::from(cx.net.config.vcs);
        for input in ports.clone() {
            let mut busy = self.clocked.inputs.get(input).busy;
            while busy != 0 {
                let vc = busy.trailing_zeros();
                busy &= busy - 1;
                let row = *self.clocked.vcs.get(input * vcs + vc);
                if row.stage != Stage::Idle {
                    continue;
                }
                let end = End::Router {
                    router: cx.local.routers[local as usize],
                    base: ports.start,
                    in_port: input - ports.start,
                    local,
                };
                let line = Line { link: NIL, timing: 0, own_base: ports.start, end };
                let choice = self.decide(cx, row.fifo.head, &line, vc as u8, fx);
                let row = self.clocked.vcs.edit(input * vcs + vc);
                row.stage = Stage::Routed;
                row.out = ports.start + choice.port;
                row.vc = choice.vc;
                row.state = choice.state;
            }
        }
    }

    /// VC allocation; true if a packet got a VC.
    fn allocate_vcs(&mut self, cx: &Static, ports: std::ops::Range<u32>, s: Ps) -> bool {
        let vcs = u32::from(cx.net.config.vcs);
        let mut requests = std::mem::take(&mut self.clocked.requests);
        for input in ports.clone() {
            let mut busy = self.clocked.inputs.get(input).busy;
            while busy != 0 {
                let vc = busy.trailing_zeros();
                busy &= busy - 1;
                let row = self.clocked.vcs.get(input * vcs + vc);
                if row.stage == Stage::Routed {
                    requests.push((row.out, input * vcs + vc));
                }
            }
        }
        // Requests of one output together, in the order of its arbiter.
        requests.sort_unstable_by_key(|&(out, request)| {
            (out, self.turn(cx, self.clocked.outputs.get(out).last_request, request))
        });
        let mut moved = false;
        for &(out, request) in &requests {
            let class = self.clocked.vcs.get(request).vc;
            let group = cx.net.vc_group(class);
            let free = group & !self.clocked.outputs.get(out).taken;
            if free == 0 {
                continue;
            }
            let output = self.clocked.outputs.edit(out);
            let vc = free.trailing_zeros() as u8;
            output.taken |= 1 << vc;
            output.last_request = request;
            let row = self.clocked.vcs.edit(request);
            row.vc = vc;
            row.stage = Stage::Active;
            row.ready = s + cx.net.cycle;
            moved = true;
        }
        requests.clear();
        self.clocked.requests = requests;
        moved
    }

    /// Place of a requester in an arbiter's turn: after the one served last comes first.
    fn turn(&self, cx: &Static, last: u32, request: u32) -> u32 {
        match cx.net.config.arbiter {
            Arbiter::RoundRobin if last != NIL => request.wrapping_sub(last + 1),
            _ => request,
        }
    }

    /// Switch allocation: inputs propose, outputs choose, winners leave. True if one did.
    fn allocate_switch(
        &mut self,
        cx: &Static,
        local: u32,
        ports: std::ops::Range<u32>,
        s: Ps,
        fx: &mut impl Fx,
    ) -> bool {
        let mut requests = std::mem::take(&mut self.clocked.requests);
        for input in ports {
            if let Some((out, v)) = self.proposal(cx, input, s) {
                requests.push((out, v));
            }
        }
        let vcs = u32::from(cx.net.config.vcs);
        requests.sort_unstable_by_key(|&(out, v)| {
            (out, self.turn(cx, self.clocked.outputs.get(out).last_input, v / vcs))
        });
        let mut served = NIL;
        for &(out, v) in &requests {
            if out != served {
                served = out;
                self.leave(cx, local, v, s, fx);
            }
        }
        requests.clear();
        self.clocked.requests = requests;
        served != NIL
    }

    /// The input's VC whose turn it is among those that could send at `s`, with its output.
    fn proposal(&mut self, cx: &Static, input: u32, s: Ps) -> Option<(u32, u32)> {
        let vcs = u32::from(cx.net.config.vcs);
        let row = *self.clocked.inputs.get(input);
        let mut ready = 0u16;
        let mut busy = row.busy;
        while busy != 0 {
            let vc = busy.trailing_zeros();
            busy &= busy - 1;
            let v = *self.clocked.vcs.get(input * vcs + vc);
            if v.stage == Stage::Active && v.ready <= s && self.can_send(cx, v.out, v.vc, s) {
                ready |= 1 << vc;
            }
        }
        if ready == 0 {
            return None;
        }
        let last = if cx.net.config.arbiter == Arbiter::Fixed { 15 } else { row.last_vc };
        let v = input * vcs + u32::from(super::window::after(ready, last));
        Some((self.clocked.vcs.get(v).out, v))
    }

    /// True if the link is free and the buffer behind it has room at `s`.
    fn can_send(&mut self, cx: &Static, out: u32, vc: u8, s: Ps) -> bool {
        self.drain_credits(out, s);
        let timing = &cx.net.timings[Self::line(cx, out).timing as usize];
        let row = self.vcs_per_port(out) + u32::from(vc);
        self.ports.get(out).clock.rounded(timing.denominator) <= s
            && self.vcs.get(row).occupancy < timing.capacity
    }

    /// The chunk in front of input VC `v` crosses the switch and starts onto its link.
    fn leave(&mut self, cx: &Static, local: u32, v: u32, s: Ps, fx: &mut impl Fx) {
        let vcs = u32::from(cx.net.config.vcs);
        let (input, in_vc) = (v / vcs, (v % vcs) as u8);
        let row = self.clocked.vcs.edit(v);
        let c = row.fifo.pop(&self.chunks).expect("a proposal has a chunk");
        let (out, vc, state, empty) = (row.out, row.vc, row.state, row.fifo.is_empty());
        self.notes.set(c, state);
        let chunk = self.chunks.edit(c);
        chunk.visit();
        let (packet, index, last) = (chunk.packet, chunk.index(), chunk.is_last());
        if last {
            row.stage = Stage::Idle;
            self.clocked.outputs.edit(out).taken &= !(1 << vc);
        }
        let input_row = self.clocked.inputs.edit(input);
        input_row.last_vc = in_vc;
        if empty {
            input_row.busy &= !(1 << in_vc);
        }
        self.clocked.outputs.edit(out).last_input = input;
        self.clocked.routers.edit(local).held -= 1;
        self.touch(cx, out, s, fx);
        let line = *Self::line(cx, out);
        let id = self.packets.get(packet).id;
        fx.record(Record::Accepted { time: s + fx.suspended(), link: line.link, vc, id, index });
        let o = self.vcs_per_port(out) + u32::from(vc);
        self.vcs.edit(o).occupancy += 1;
        self.ports.edit(out).backlog += 1;
        self.put_on_link(cx, c, out, vc, s, fx);
        if !matches!(line.end, End::Remote { .. }) {
            self.set_due(cx, out, fx);
        }
        self.return_credit(cx, cx.local.upstream[input as usize], in_vc, s, fx);
    }

    /// When nothing moved at `s`: the next instant at which something could without an arrival from outside.
    fn next_chance(&self, cx: &Static, ports: std::ops::Range<u32>, s: Ps) -> Ps {
        let mut next = NEVER;
        let vcs = u32::from(cx.net.config.vcs);
        for input in ports {
            let mut busy = self.clocked.inputs.get(input).busy;
            while busy != 0 {
                let vc = busy.trailing_zeros();
                busy &= busy - 1;
                let row = self.clocked.vcs.get(input * vcs + vc);
                if row.stage != Stage::Active {
                    continue;
                }
                let port = self.ports.get(row.out);
                let timing = &cx.net.timings[Self::line(cx, row.out).timing as usize];
                let at = row.ready.max(port.clock.rounded(timing.denominator));
                if at > s {
                    next = next.min(at);
                }
                next = next.min(port.next_release().unwrap_or(NEVER));
            }
        }
        next
    }
}
