//! Cycles: arrivals, steps, sleep.

use super::{Pipelined, Work};
use crate::pipeline::Sharing;
use crate::{
    effects::Fx,
    net::{Net, Static, channels},
    network::{End, Line},
    router::clock::{Clocked, CycleClock, Stage},
};
use crate::{
    places::{LocalPort, Side},
    pools::{ChunkRow, List, RowNumber},
};
use base::{
    index::{ChannelId, LinkId, PortId},
    time::{NEVER, Ps},
};
use engine::state::{NIL, mode::Mode};
use std::ops::Range;

/// A step of a router's cycle.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Router's local number.
    pub local: u32,
    /// Its first port.
    pub base: LocalPort,
    /// The instant whose state decides.
    pub s: Ps,
    /// Whoever is ready by then asks: all steps but a cycle's first come after its first.
    pub until: Ps,
    /// What a grant waits before its chunk starts onto the link: nothing in all steps but a cycle's last.
    pub wait: Ps,
    /// Number of the step, ascending.
    pub number: u64,
    /// Ways from an input into the switch, and from it to an output.
    pub lanes: (u32, u32),
}

/// A queue at an input.
#[derive(Clone, Copy)]
pub(super) struct Queue {
    pub input: LocalPort,
    /// Virtual channel of the input that its chunks came in by.
    pub vc: ChannelId,
    /// Its row in the table of units.
    pub unit: u32,
}

impl Step {
    /// Number of a port in the step's router.
    #[inline]
    pub(super) fn port(&self, port: LocalPort) -> u32 {
        debug_assert!(port >= self.base, "a step is of one router");
        port.number() - self.base.number()
    }
}

impl<M: Mode> Clocked for Pipelined<M> {
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

    fn buffer(n: &mut Net<Self>, chunk: ChunkRow, input: LocalPort, vc: ChannelId) {
        if n.router.rules.virtual_output_queues {
            let row = n.vc_row(input, vc);
            let chunks = &mut n.chunks;
            n.router.entries.edit(row).fifo.push(chunks, chunk);
            n.router.inputs.edit(input).entering |= vc.bit();
        } else {
            let unit = n.router.entry(input, vc);
            let chunks = &mut n.chunks;
            n.router.append(input, unit, |fifo| fifo.push(chunks, chunk));
        }
        n.router.clock.routers.edit(n.router.clock.owner[input]).held += 1;
    }

    fn cycle(n: &mut Net<Self>, cx: &Static, local: u32, fx: &mut impl Fx) {
        n.cycle_one(cx, local, fx);
    }
}

impl<M: Mode> Net<Pipelined<M>> {
    /// One cycle of a router.
    fn cycle_one(&mut self, cx: &Static, local: u32, fx: &mut impl Fx) {
        let now = fx.now();
        debug_assert!((now - 1).is_multiple_of(cx.net.cycle), "a cycle is a picosecond after its boundary");
        let s = now - 1;
        let base = cx.local.base[local as usize];
        let ports = base.number()..cx.local.base[local as usize + 1].number();
        let mut work = self.router.work.take().expect("no cycle runs within another");
        work.prepared.fill(false);
        debug_assert!(work.tail.is_empty() && work.sends.is_empty(), "nothing is left of another cycle");
        let mut next = NEVER;
        for input in ports.clone().map(LocalPort::new) {
            if self.router.inputs.get(input).arrival <= s {
                self.take_arrivals(cx, input, s);
            }
            let row = *self.router.inputs.get(input);
            next = next.min(row.arrival);
            if row.entering != 0 {
                self.sort_arrivals(cx, local, input, row.entering, fx);
            }
        }
        let asked = self.steps(cx, local, base, s, &mut work, fx);
        self.router.work = Some(work);
        // Who asked for something may move again; who did not looks at what it waits for, and sleeps till then.
        let held = self.held_by(local) > 0;
        if held && asked {
            return self.stay_awake(local, now + cx.net.cycle, fx);
        }
        if held {
            next = next.min(self.next_chance(cx, ports, s));
        }
        self.sleep(cx, local, next, fx);
    }

    /// The steps of a cycle; true if anybody asked for anything.
    fn steps(
        &mut self,
        cx: &Static,
        local: u32,
        base: LocalPort,
        s: Ps,
        work: &mut Work,
        fx: &mut impl Fx,
    ) -> bool {
        let rules = self.router.rules;
        let (cycle, first) = (s / cx.net.cycle, rules.first_step(s, cx.net.cycle));
        let mut asked = false;
        let steps = rules.speedup.at(cycle);
        for k in 0..steps {
            let number = first + u64::from(k);
            // Ways by the number of the step: with a fraction, more and fewer in turn.
            let lanes = (rules.input_speedup.at(number), rules.output_speedup.at(number));
            // Who became ready in the first step has a picosecond more in its date, and so asks from the second on.
            let until = s + Ps::from(k.min(1));
            // What nobody asked for in one step, nobody asks for in the next one of this cycle.
            let wait = if k + 1 == steps { self.router.early } else { 0 };
            if !self.step(cx, Step { local, base, s, until, wait, number, lanes }, work, fx) {
                break;
            }
            asked = true;
        }
        asked
    }

    /// Puts what arrived into the queues of its outputs: heads are routed now, the others follow.
    fn sort_arrivals(&mut self, cx: &Static, local: u32, input: LocalPort, entering: u16, fx: &mut impl Fx) {
        self.router.inputs.edit(input).entering = 0;
        for vc in channels::each(entering) {
            let row = self.vc_row(input, vc);
            while let Some(c) = self.router.entries.edit(row).fifo.pop(&self.chunks) {
                if self.chunks.get(c).index() == 0 {
                    if self.is_lost(cx, local, input, vc, c, fx) {
                        continue;
                    }
                    let choice = self.ask_routing(cx, local, input, vc, c, fx);
                    // What the routing said is kept where the chunk is, until the head comes to the front of its queue.
                    self.router.entries.edit(row).queue = choice.port.number();
                    self.notes.set(c, choice.state);
                    let class = choice.vc.plus(self.router.offset(vc));
                    self.chunks.edit(c).set_origin(u32::from(class.number()));
                } else if self.is_lost(cx, local, input, vc, c, fx) {
                    continue;
                }
                // The packet's other chunks follow its head: in one buffer packets do not mix.
                let queue = self.router.entries.get(row).queue;
                let queues = self.router.shapes[local as usize].queues;
                debug_assert!(queue < queues, "a router has so many outputs");
                let unit = self.router.first_unit(input) + u32::from(vc.number()) * queues + queue;
                let chunks = &mut self.chunks;
                self.router.append(input, unit, |fifo| fifo.push(chunks, c));
            }
        }
    }

    /// True if a chunk was lost on the link that it came over: it is gone then, and its buffer free.
    pub(super) fn is_lost(
        &mut self,
        cx: &Static,
        local: u32,
        input: LocalPort,
        vc: ChannelId,
        c: ChunkRow,
        fx: &mut impl Fx,
    ) -> bool {
        if !Self::is_lossy(cx) {
            return false;
        }
        let from = cx.local.upstream[input];
        let (link, class, s) = (cx.local.link_of(from), cx.local.line_from(from).timing, fx.now() - 1);
        if !self.discard_lost(cx, c, class, link, s, fx) {
            return false;
        }
        debug_assert!(self.router.clock.routers.get(local).held > 0, "what was lost was held");
        self.router.clock.routers.edit(local).held -= 1;
        // Buffers get free in the order of their cycles, as those of chunks that cross the switch do: credits do not overtake each other.
        let begin = s + Ps::from(self.router.rules.switch_allocation - 1) * cx.net.cycle;
        self.return_credit(cx, from, vc, begin, fx);
        true
    }

    /// Asks the routing for a head chunk that came in at an input's VC.
    pub(super) fn ask_routing(
        &mut self,
        cx: &Static,
        local: u32,
        input: LocalPort,
        vc: ChannelId,
        c: ChunkRow,
        fx: &mut impl Fx,
    ) -> fabric::routing::Choice {
        let (line, class) = self.question(cx, local, input, vc);
        self.decide(cx, c, &line, class, fx)
    }

    /// Where the routing is asked for what came in at an input's VC: a line that ends there, and the VC's class.
    #[inline]
    pub(super) fn question(
        &self,
        cx: &Static,
        local: u32,
        input: LocalPort,
        vc: ChannelId,
    ) -> (Line, ChannelId) {
        let (router, base) = (cx.local.routers[local as usize], cx.local.base[local as usize]);
        let end = End::Router { router, base, in_port: PortId::new(input.number() - base.number()), local };
        let line = Line { link: LinkId::new(NIL), timing: 0, own_base: base, end };
        // Terminals inject into any VC, which says nothing of a class.
        let terminal =
            matches!(cx.local.upstream[input].side(), Side::Here(port) if !cx.local.is_routers(port));
        let class = if terminal { 0 } else { self.router.class_of[usize::from(vc.number())] };
        (line, ChannelId::new(class))
    }

    /// When nobody asked for anything at `s`: the next instant at which somebody could without an arrival.
    fn next_chance(&self, cx: &Static, ports: Range<u32>, s: Ps) -> Ps {
        let mut next = NEVER;
        for input in ports.map(LocalPort::new) {
            for unit in self.router.busy_units(input) {
                let row = self.router.units.get(unit);
                if row.stage == Stage::Idle && self.is_behind_copies(cx, input, unit) {
                    continue;
                }
                debug_assert!(row.stage != Stage::Idle || row.ready > s, "a head in front was routed");
                let chance = match row.ready > s {
                    true => row.ready,
                    false if row.stage == Stage::Routed && Self::asks_for_all(cx) => {
                        self.next_room_of_any(cx, input, unit, s)
                    }
                    false => self.next_room(cx, row.out, s),
                };
                next = next.min(chance);
                if M::FEATURES && self.router.shares.is_some() {
                    // A cap ends by itself; if it was not the cap, the look is in vain.
                    let opens = self.opens(cx, self.router.channel_of(input, unit), row.out);
                    next = next.min(if opens > s { opens } else { NEVER });
                }
            }
        }
        next
    }

    /// The next instant after `s` at which more may fit into an output, as far as it is known.
    pub(super) fn next_room(&self, cx: &Static, out: LocalPort, s: Ps) -> Ps {
        let (port, line) = (self.ports.get(out), Self::line(cx, out));
        let timing = &cx.net.timings[line.timing as usize];
        let mut release = port.next_release().unwrap_or(NEVER);
        if let (End::Terminal { .. }, true) = (line.end, !port.flight.is_empty()) {
            // The terminal takes chunks lazily: the credit is not on its way yet.
            release = release.min(self.flights.get(port.flight.head).time + timing.credit_delay);
        }
        if self.router.rules.output_queue.is_some() {
            let tail = if self.router.rules.wait_for_tail_credit { release } else { NEVER };
            let shared = self.router.rules.output_sharing != Sharing::Private;
            let ports = self.router.shapes[self.router.clock.owner[out] as usize].ports;
            let base = Self::line(cx, out).own_base;
            // In shared memory a start at any output makes room.
            let others =
                (0..if shared { ports } else { 0 }).map(|n| self.next_start_of_queue(cx, base.plus(n)));
            let start = others.fold(self.next_start_of_queue(cx, out), Ps::min);
            // What could start now did not help, or there would have been a request: the next look is later.
            return start.min(tail).max(s + 1);
        }
        let free = port.clock.rounded(timing.denominator);
        // The output takes a chunk again when all but so many have started.
        let held = Ps::from(self.router.rules.output_buffer).saturating_mul(timing.chunk.whole);
        let fits = free.saturating_sub(held.max(cx.net.cycle + self.router.early - 1));
        let chance = if fits > s { fits } else { NEVER };
        chance.min(release)
    }

    /// Discards what stands lost in front of a queue; true if something is left.
    pub(super) fn discard_front(&mut self, cx: &Static, local: u32, at: Queue, fx: &mut impl Fx) -> bool {
        if !Self::is_lossy(cx) || self.router.rules.virtual_output_queues {
            return true;
        }
        loop {
            let front = self.router.units.get(at.unit).fifo;
            if front.is_empty() {
                self.router.set_busy(at.input, at.unit, false);
                return false;
            }
            // A lost chunk's row is free when its successor is asked for.
            let next = self.chunks.get(front.head).next;
            if !self.is_lost(cx, local, at.input, at.vc, front.head, fx) {
                return true;
            }
            let fifo = &mut self.router.units.edit(at.unit).fifo;
            *fifo = if next.is_nil() { List::default() } else { List { head: next, ..*fifo } };
        }
    }
}
