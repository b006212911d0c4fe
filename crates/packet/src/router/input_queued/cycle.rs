//! A cycle: arrivals, heads, VC allocation, switch allocation.

use super::{Accepted, Bid, Input, InputQueued, InputVc, NO_BID, NOBODY, NOTHING, Work};
use crate::{
    config::Arbiter,
    effects::{Fx, Record},
    net::{Net, Static, channels},
    network::{End, Line},
    router::clock::{Clocked, CycleClock, Stage},
};
use crate::{
    places::{LocalPort, Side, VcRow},
    pools::{ChunkRow, List, RowNumber},
};
use base::{
    index::{ChannelId, LinkId, PortId},
    time::{NEVER, Ps},
};
use engine::state::{NIL, mode::Mode};
use std::ops::Range;

/// Place of a requester in an arbiter's turn: the one after `last` comes first, the others follow in a circle.
fn turn(cx: &Static, last: u32, request: u32) -> u32 {
    // Wrapping: the numbers at or before the last served come out large, so they follow in their order, and nobody needs the size of the circle.
    match cx.net.config.arbiter {
        Arbiter::RoundRobin => request.wrapping_sub(last.wrapping_add(1)),
        Arbiter::Fixed => request,
    }
}

impl<M: Mode> Clocked for InputQueued<M> {
    #[inline]
    fn clock(&self) -> &CycleClock<M> {
        &self.clock
    }

    #[inline]
    fn clock_mut(&mut self) -> &mut CycleClock<M> {
        &mut self.clock
    }

    #[inline]
    fn arrival(&self, input: LocalPort) -> Ps {
        self.inputs.get(input).arrival
    }

    #[inline]
    fn set_arrival(&mut self, input: LocalPort, at: Ps) {
        self.inputs.edit(input).arrival = at;
    }

    #[inline]
    fn buffer(n: &mut Net<Self>, chunk: ChunkRow, input: LocalPort, vc: ChannelId) {
        let (row, chunks) = (n.vc_row(input, vc), &mut n.chunks);
        n.router.append(input, vc, row, |fifo| fifo.push(chunks, chunk));
    }

    fn cycle(n: &mut Net<Self>, cx: &Static, local: u32, fx: &mut impl Fx) {
        n.cycle_one(cx, local, fx);
    }
}

impl<M: Mode> Net<InputQueued<M>> {
    /// One cycle of a router.
    fn cycle_one(&mut self, cx: &Static, local: u32, fx: &mut impl Fx) {
        let now = fx.now();
        debug_assert!((now - 1).is_multiple_of(cx.net.cycle), "a cycle is a picosecond after its boundary");
        let s = now - 1;
        let ports = cx.local.base[local as usize].number()..cx.local.base[local as usize + 1].number();
        let base = cx.local.base[local as usize];
        let mut work = self.router.work.take().expect("no cycle runs within another");
        debug_assert!(
            work.outputs.is_empty() && work.inputs.is_empty() && work.heads.is_empty(),
            "nothing is left of another cycle"
        );
        let mut next = NEVER;
        for input in ports.clone().map(LocalPort::new) {
            if self.router.inputs.get(input).arrival <= s {
                self.take_arrivals(cx, input, s);
            }
            let row = *self.router.inputs.get(input);
            next = next.min(row.arrival);
            let mut routed = row.routed;
            if row.idle != 0 {
                routed |= self.route_heads(cx, local, input, row.idle, fx);
            }
            if row.active != 0 {
                self.ask_for_switch(cx, base, input, row, &mut work, fx);
            }
            // Heads routed just now ask at once: routing costs no cycle of its own here.
            if routed != 0 {
                self.ask_for_vcs(input, routed, &mut work);
            }
        }
        // The switch was asked for before VCs are given: a head waits a cycle between the two.
        let mut moved = self.allocate_vcs(cx, &mut work);
        moved |= self.allocate_switch(cx, base, s, &mut work, fx);
        self.router.work = Some(work);
        // Who moved something may move again; who did not looks at what it waits for, and sleeps till then.
        let held = self.held_by(local) > 0;
        if held && moved {
            return self.stay_awake(local, now + cx.net.cycle, fx);
        }
        if held {
            next = next.min(self.next_chance(cx, ports, s));
        }
        self.sleep(cx, local, next, fx);
    }

    /// Asks the routing for the head chunks that came to the front of their buffers; returns the VCs that have one.
    fn route_heads(
        &mut self,
        cx: &Static,
        local: u32,
        input: LocalPort,
        mut idle: u16,
        fx: &mut impl Fx,
    ) -> u16 {
        let (router, base) = (cx.local.routers[local as usize], cx.local.base[local as usize]);
        let end = End::Router { router, base, in_port: PortId::new(input.number() - base.number()), local };
        let line = Line { link: LinkId::new(NIL), timing: 0, own_base: base, end };
        let from = cx.local.upstream[input];
        let terminal = matches!(from.side(), Side::Here(port) if !cx.local.is_routers(port));
        if Self::is_lossy(cx) {
            idle = self.discard_fronts(cx, local, input, idle, fx);
        }
        let port = self.router.inputs.edit(input);
        port.routed |= idle;
        port.idle = 0;
        for vc in channels::each(idle) {
            let v = self.vc_row(input, vc);
            // Terminals inject into any VC, which says nothing of a class.
            let class = if terminal { 0 } else { vc.number() / self.router.each };
            let choice = self.decide(cx, self.router.vcs.get(v).fifo.head, &line, ChannelId::new(class), fx);
            let row = self.router.vcs.edit(v);
            debug_assert!(row.stage == Stage::Idle, "a head is routed once");
            row.stage = Stage::Routed;
            row.out = base.plus(choice.port.number());
            row.vc = choice.vc;
            row.state = choice.state;
        }
        idle
    }

    /// Discards what stands lost in front of an input's idle VCs; returns those that have something left.
    fn discard_fronts(
        &mut self,
        cx: &Static,
        local: u32,
        input: LocalPort,
        idle: u16,
        fx: &mut impl Fx,
    ) -> u16 {
        let from = cx.local.upstream[input];
        let (link, s) = (cx.local.link_of(from), fx.now() - 1);
        let class = cx.local.line_from(from).timing;
        let mut left = idle;
        for vc in channels::each(idle) {
            let v = self.vc_row(input, vc);
            loop {
                let front = self.router.vcs.get(v).fifo;
                if front.is_empty() {
                    left &= !vc.bit();
                    break;
                }
                // A lost chunk's row is free when its successor is asked for.
                let next = self.chunks.get(front.head).next;
                if !self.discard_lost(cx, front.head, class, link, s, fx) {
                    break;
                }
                let fifo = &mut self.router.vcs.edit(v).fifo;
                *fifo = if next.is_nil() { List::default() } else { List { head: next, ..*fifo } };
                debug_assert!(self.router.clock.routers.get(local).held > 0, "what was lost was held");
                self.router.clock.routers.edit(local).held -= 1;
                self.return_credit(cx, from, vc, s, fx);
            }
        }
        left
    }

    /// Heads of an input ask for VCs, in ascending order over the cycle.
    #[inline]
    fn ask_for_vcs(&mut self, input: LocalPort, routed: u16, work: &mut Work) {
        for vc in channels::each(routed) {
            let v = self.vc_row(input, vc);
            let row = self.router.vcs.get(v);
            if self.router.free_vcs(row.out, row.vc.number()) != 0 {
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
                let last = self.router.outputs.get(self.router.vcs.get(v).out).last_request;
                if last == VcRow::NONE || v > last {
                    moved |= self.allocate_vc(input, v);
                }
            }
        }
        for (input, v) in work.heads.drain(..) {
            if self.router.vcs.get(v).stage == Stage::Routed {
                moved |= self.allocate_vc(input, v);
            }
        }
        moved
    }

    /// Gives a head the next free VC of its class, if there is one.
    #[inline]
    fn allocate_vc(&mut self, input: LocalPort, v: VcRow) -> bool {
        let first = self.first_vc(input);
        let clocked = &mut self.router;
        let row = *clocked.vcs.get(v);
        let free = clocked.free_vcs(row.out, row.vc.number());
        if free == 0 {
            return false;
        }
        let group = clocked.group(row.out, row.vc.number());
        debug_assert!(row.stage == Stage::Routed, "only a routed head asks for a VC");
        // VCs take turns: one is given again when all others of its class were.
        let output = clocked.outputs.edit(row.out);
        if free & !output.used == 0 {
            output.used &= !group;
        }
        let vc = ChannelId::new((free & !output.used).trailing_zeros() as u8);
        debug_assert!(output.taken & vc.bit() == 0, "a virtual channel belongs to one packet");
        output.taken |= vc.bit();
        output.used |= vc.bit();
        // The pointer moves with a grant alone, as those of iSLIP do.
        output.last_request = v;
        let row = clocked.vcs.edit(v);
        row.vc = vc;
        row.stage = Stage::Active;
        let bit = v.channel(first).bit();
        let port = clocked.inputs.edit(input);
        port.routed &= !bit;
        port.active |= bit;
        true
    }

    /// The chunks of an input ask for their outputs; each output keeps the one whose turn comes first.
    fn ask_for_switch(
        &mut self,
        cx: &Static,
        base: LocalPort,
        input: LocalPort,
        Input { active, last_vc, .. }: Input,
        work: &mut Work,
        fx: &mut impl Fx,
    ) {
        let s = fx.now() - 1;
        for vc in channels::each(active) {
            let v = self.vc_row(input, vc);
            let &InputVc { out, vc: out_vc, .. } = self.router.vcs.get(v);
            let bid = &mut work.bids[(out.number() - base.number()) as usize];
            // Asked once per output and cycle: all who compete see the same credits.
            if bid.room == NIL {
                bid.room = self.room(cx, out, s, fx);
                work.outputs.push(out);
            }
            if self.vcs.get(self.vc_row(out, out_vc)).occupancy >= bid.room {
                continue;
            }
            let first = turn(cx, self.router.outputs.get(out).last_input.number(), input.number());
            let second = turn(cx, last_vc.into(), vc.number().into()) & 15;
            // Among inputs by the output's pointer; within an input its VCs take turns.
            let turn = u64::from(first) << 4 | u64::from(second);
            if turn < bid.turn {
                *bid = Bid { turn, input, v, room: bid.room };
            }
        }
    }

    /// Chunks that a buffer behind an output holds, 0 if the link is busy in all of the cycle at `s`. Uses the credits released by then.
    fn room(&mut self, cx: &Static, out: LocalPort, s: Ps, fx: &mut impl Fx) -> u32 {
        let timing = &cx.net.timings[Self::line(cx, out).timing as usize];
        // A link that gets free within the cycle is asked for: what wins waits at the output for it. Else a link whose chunks take
        // no whole number of cycles would lose the rest of the last one.
        if self.ports.get(out).clock.rounded(timing.denominator) >= s + cx.net.cycle {
            return 0;
        }
        if let End::Terminal { .. } = Self::line(cx, out).end {
            // Terminals return credits when somebody looks: chunks that arrived before count as taken out.
            self.eject(cx, out, s, fx);
        }
        self.drain_credits(out, s);
        timing.capacity
    }

    /// Switch allocation: outputs granted, inputs accept one grant each, and the chunks leave. True if one did.
    fn allocate_switch(
        &mut self,
        cx: &Static,
        base: LocalPort,
        s: Ps,
        work: &mut Work,
        fx: &mut impl Fx,
    ) -> bool {
        for out in work.outputs.drain(..) {
            let bid = std::mem::replace(&mut work.bids[(out.number() - base.number()) as usize], NO_BID);
            if bid.v == VcRow::NONE {
                continue;
            }
            let turn = turn(cx, self.router.inputs.get(bid.input).last_output.number(), out.number());
            let accepted = &mut work.accepted[(bid.input.number() - base.number()) as usize];
            debug_assert!(bid.input != NOBODY, "a bid has somebody behind it");
            // Of several grants an input accepts the one whose turn comes first; the others lapse until the next cycle.
            if accepted.v == VcRow::NONE {
                work.inputs.push(bid.input);
                *accepted = Accepted { turn, v: bid.v };
            } else if turn < accepted.turn {
                *accepted = Accepted { turn, v: bid.v };
            }
        }
        let moved = !work.inputs.is_empty();
        for input in work.inputs.drain(..) {
            let accepted = &mut work.accepted[(input.number() - base.number()) as usize];
            let v = std::mem::replace(accepted, NOTHING).v;
            self.leave(cx, input, v, s, fx);
        }
        moved
    }

    /// The chunk in front of input VC `v` crosses the switch and starts onto its link.
    fn leave(&mut self, cx: &Static, input: LocalPort, v: VcRow, s: Ps, fx: &mut impl Fx) {
        let in_vc = v.channel(self.first_vc(input));
        let front = self.router.vcs.get(v);
        self.mark(cx, front.fifo.head, front.out, front.vc);
        let row = self.router.vcs.edit(v);
        debug_assert!(row.stage == Stage::Active, "what leaves has a virtual channel");
        let c = row.fifo.pop(&self.chunks).expect("a request has a chunk");
        let (out, vc, empty) = (row.out, row.vc, row.fifo.is_empty());
        self.notes.set(c, row.state);
        let chunk = self.chunks.edit(c);
        chunk.visit();
        let (packet, index, last) = (chunk.packet, chunk.index(), chunk.is_last());
        let port = self.router.inputs.edit(input);
        port.last_vc = in_vc.number();
        port.last_output = out;
        // An empty buffer asks for nothing; the packet keeps its VC, and its next chunk asks again when it arrives.
        if last || empty {
            port.active &= !in_vc.bit();
        }
        let output = self.router.outputs.edit(out);
        output.last_input = input;
        if last {
            row.stage = Stage::Idle;
            port.idle |= if empty { 0 } else { in_vc.bit() };
            output.taken &= !vc.bit();
        }
        let local = self.router.clock.owner[input];
        debug_assert!(self.router.clock.routers.get(local).held > 0, "what leaves was held");
        self.router.clock.routers.edit(local).held -= 1;
        let line = Self::line(cx, out);
        let id = self.packets.get(packet).id;
        fx.record(Record::Accepted { time: s + Self::suspended(fx), link: line.link, vc, id, index });
        let o = self.vc_row(out, vc);
        self.vcs.edit(o).occupancy += 1;
        debug_assert!(
            self.vcs.get(o).occupancy <= cx.net.timings[line.timing as usize].capacity,
            "a buffer is not overfilled"
        );
        self.ports.edit(out).backlog += 1;
        self.put_on_link(cx, c, out, vc, s, fx);
        match line.end {
            End::Router { base, in_port, local, .. } => {
                let at = self.flights.get(self.ports.get(out).flight.tail).time;
                // The next router takes it off the link in a cycle of its own: an alarm of the router instead of one of the chunk.
                let next = self.router.inputs.edit(base.plus(in_port.number()));
                next.arrival = next.arrival.min(at);
                self.wake_router(cx, local, at, fx);
            }
            End::Terminal { .. } => self.set_due(cx, out, fx),
            End::Remote { .. } => {}
        }
        self.return_credit(cx, cx.local.upstream[input], in_vc, s, fx);
    }

    /// When nothing moved at `s`: the next instant at which something could without an arrival.
    fn next_chance(&self, cx: &Static, ports: Range<u32>, s: Ps) -> Ps {
        let mut next = NEVER;
        for input in ports.map(LocalPort::new) {
            for vc in channels::each(self.router.inputs.get(input).active) {
                let out = self.router.vcs.get(self.vc_row(input, vc)).out;
                let (port, line) = (self.ports.get(out), Self::line(cx, out));
                let timing = &cx.net.timings[line.timing as usize];
                // While the link is busy nothing else matters; in the cycle in which it gets free only a credit can help.
                let free = port.clock.rounded(timing.denominator).saturating_sub(cx.net.cycle - 1);
                let mut chance = if free > s { free } else { port.next_release().unwrap_or(NEVER) };
                if let (NEVER, End::Terminal { .. }, Some(first)) =
                    (chance, line.end, Some(port.flight.head).filter(|first| !first.is_nil()))
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
