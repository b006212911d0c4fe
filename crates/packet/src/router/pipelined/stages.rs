//! A step: requests of all that wait at inputs, VC allocation, switch allocation.

use super::{
    Pipelined, Unit, Work,
    cycle::{Queue, Step},
};
use crate::places::LocalPort;
use crate::{
    effects::Fx,
    net::{Net, Static, channels},
    pipeline::{Sharing, Speculation},
    router::{
        allocator::{ALLOCATORS, Request},
        arbiter::Arbiter,
        clock::Stage,
    },
};
use base::index::ChannelId;
use base::time::Ps;
use engine::state::mode::Mode;

impl<M: Mode> Net<Pipelined<M>> {
    /// One step of a router; true if anybody asked for anything, or may in the next step though nothing happens.
    pub(super) fn step(&mut self, cx: &Static, step: Step, work: &mut Work, fx: &mut impl Fx) -> bool {
        work.vcs.requests.clear();
        work.switch.requests.clear();
        let hold = self.router.rules.hold_switch;
        if Self::copies_packets(cx) {
            self.fan_out(cx, step);
        }
        // A crossing that is given up was in others' way: they did not ask, and may in the next step.
        let given_up = hold && self.keep_crossings(cx, step, work, fx);
        let ports = self.router.shapes[step.local as usize].ports;
        // All requests are gathered before anything is granted: what this step gives, it cannot build on.
        for input in 0..ports {
            self.ask(cx, step, input, work, fx);
        }
        let requests = !work.vcs.requests.is_empty() || !work.switch.requests.is_empty();
        let asked = requests || !work.sends.is_empty() || given_up;
        // VCs first: a speculative grant of the switch counts only if its head got one in this very step.
        self.give_vcs(cx, step, work);
        if self.router.rules.unlimited_switch {
            self.give_all(cx, step, work, fx);
        } else {
            self.give_switch(cx, step, work, fx);
        }
        if hold {
            work.rows.fill(false);
            work.columns.fill(false);
            for n in 0..work.sends.len() {
                let (input, unit) = work.sends[n];
                self.leave_if_it_may(cx, step, step.port(input), unit, fx);
            }
            work.sends.clear();
        }
        asked
    }

    /// Row and column of the switch for a queue and an output.
    fn crossing(step: Step, from: Queue, out: LocalPort) -> (u32, u32) {
        debug_assert!(step.lanes.0 > 0 && step.lanes.1 > 0, "every step has paths through the switch");
        let (input, vc, out) = (step.port(from.input), u32::from(from.vc.number()), step.port(out));
        (input * step.lanes.0 + vc % step.lanes.0, out * step.lanes.1 + input % step.lanes.1)
    }

    /// Packets that hold a way through the switch keep it if they have something to send, and give it up else: nobody else uses it in this step. True if
    /// any was given up.
    fn keep_crossings(&mut self, cx: &Static, step: Step, work: &mut Work, fx: &mut impl Fx) -> bool {
        let mut given_up = false;
        let shape = self.router.shapes[step.local as usize];
        for n in 0..shape.ports {
            let input = step.base.plus(n);
            let first = self.router.first_unit(input);
            let (word, words) = self.router.bits[input];
            for w in 0..words {
                let mut busy = *self.router.busy.get(word + w);
                while busy != 0 {
                    let unit = first + w * 64 + busy.trailing_zeros();
                    busy &= busy - 1;
                    let row = *self.router.units.get(unit);
                    if !row.held {
                        continue;
                    }
                    self.prepare_once(cx, step, row.out, work, fx);
                    let at = Queue { input, vc: shape.channel(unit - first), unit };
                    let (r, c) = Self::crossing(step, at, row.out);
                    work.rows[r as usize] = true;
                    work.columns[c as usize] = true;
                    // Whoever has nothing to send loses its crossing, which stays empty in this step, as it does in BookSim.
                    let open = row.ready <= step.until && self.is_open(cx, row.out, at.vc, step.s);
                    if open && self.fits(cx, row.out, row.vc, 1) {
                        work.sends.push((input, unit));
                    } else {
                        self.router.units.edit(unit).held = false;
                        given_up = true;
                    }
                }
            }
        }
        given_up
    }

    pub(super) fn prepare_once(
        &mut self,
        cx: &Static,
        step: Step,
        out: LocalPort,
        work: &mut Work,
        fx: &mut impl Fx,
    ) {
        if work.prepared[step.port(out) as usize] {
            return;
        }
        if self.router.rules.output_sharing == Sharing::Private {
            work.prepared[step.port(out) as usize] = true;
            return self.prepare(cx, out, step.s, fx);
        }
        // What one queue may take hangs on the others.
        for n in 0..self.router.shapes[step.local as usize].ports {
            work.prepared[n as usize] = true;
            self.prepare(cx, step.base.plus(n), step.s, fx);
        }
    }

    /// Whatever waits at an input asks for what it needs next.
    fn ask(&mut self, cx: &Static, step: Step, n: u32, work: &mut Work, fx: &mut impl Fx) {
        let input = step.base.plus(n);
        let (word, words) = self.router.bits[input];
        let shape = self.router.shapes[step.local as usize];
        let first = self.router.first_unit(input);
        for w in 0..words {
            let mut busy = *self.router.busy.get(word + w);
            while busy != 0 {
                let place = w * 64 + busy.trailing_zeros();
                busy &= busy - 1;
                let unit = first + place;
                let at = Queue { input, vc: shape.channel(place), unit };
                if self.router.units.get(unit).ready > step.until {
                    continue;
                }
                if self.router.units.get(unit).stage == Stage::Idle && !self.route_front(cx, step, at, fx) {
                    continue;
                }
                // Who keeps its crossing sends by it already.
                let row = *self.router.units.get(unit);
                if row.ready > step.until || work.sends.iter().any(|s| s.1 == unit) {
                    continue;
                }
                if row.stage == Stage::Routed && Self::asks_for_all(cx) {
                    self.ask_for_any_vc(cx, step, at, &row, work, fx);
                    continue;
                }
                self.prepare_once(cx, step, row.out, work, fx);
                if row.stage == Stage::Routed {
                    self.ask_for_vc(cx, step, at, &row, work);
                } else if self.is_open(cx, row.out, at.vc, step.s) && self.fits(cx, row.out, row.vc, 1) {
                    self.ask_for_switch(step, at, &row, 0, work);
                }
            }
        }
        // Nobody competes where the switch has room for all.
        if self.router.rules.unlimited_switch {
            work.switch.requests.extend(work.tail.drain(..).map(|t| t.0));
            return;
        }
        // Of one input's chunks for the same way, the one whose turn it is; copies of one channel have one turn, so the first of them.
        let place = |r: &Request| if M::FEATURES { r.label } else { 0 };
        work.tail.sort_unstable_by_key(|(r, turn)| (r.row, r.column, r.level, *turn, place(r)));
        for k in 0..work.tail.len() {
            let request = work.tail[k].0;
            let before = k.checked_sub(1).map(|b| (work.tail[b].0.row, work.tail[b].0.column));
            if before != Some((request.row, request.column)) {
                work.switch.requests.push(request);
            }
        }
        work.tail.clear();
    }

    /// Routes the head in front of a queue; false if nothing is left there.
    fn route_front(&mut self, cx: &Static, step: Step, at: Queue, fx: &mut impl Fx) -> bool {
        if !self.discard_front(cx, step.local, at, fx) || self.is_behind_copies(cx, at.input, at.unit) {
            return false;
        }
        let head = self.router.units.get(at.unit).fifo.head;
        let (out, class, state) = if self.router.rules.virtual_output_queues {
            let shape = &self.router.shapes[step.local as usize];
            let queue = (at.unit - shape.unit) % shape.queues;
            (
                step.base.plus(queue),
                ChannelId::new(self.chunks.get(head).origin() as u8),
                self.notes.get(head),
            )
        } else {
            let choice = self.ask_routing(cx, step.local, at.input, at.vc, head, fx);
            (step.base.plus(choice.port.number()), choice.vc.plus(self.router.offset(at.vc)), choice.state)
        };
        let enters = self.router.enters_ring(step.port(at.input), step.port(out));
        let ready = self.routed_at(cx, step);
        let row = self.router.units.edit(at.unit);
        debug_assert!(row.stage == Stage::Idle, "a head is routed once");
        row.stage = Stage::Routed;
        (row.out, row.vc, row.state) = (out, class, state);
        row.enters = enters;
        row.ready = ready;
        true
    }

    /// From when on a head asks that is routed in this step.
    #[inline]
    pub(super) fn routed_at(&self, cx: &Static, step: Step) -> Ps {
        // Routing of no cycles lets the head ask in this very step; else a picosecond keeps it out of the first step of the cycle in which routing ends.
        let cycles = self.router.rules.routing;
        if cycles == 0 { step.s } else { step.s + Ps::from(cycles - 1) * cx.net.cycle + 1 }
    }

    /// VCs of a group that a packet may get at `s`.
    pub(super) fn free_vcs(&self, cx: &Static, row: &Unit, group: u16, s: Ps) -> u16 {
        debug_assert!(!row.fifo.is_empty(), "a packet asks");
        let mut free = group & !*self.router.taken.get(row.out);
        let (wait, whole) =
            (self.router.rules.wait_for_tail_credit, self.router.rules.flow_control.is_whole());
        // The usual case looks at nothing but the bits.
        if !wait && !whole {
            return free;
        }
        let chunks = u32::from(self.packets.get(self.chunks.get(row.fifo.head).packet).chunks);
        // Packets are equally long where bubbles are kept.
        let chunks = if row.enters { 2 * chunks } else { chunks };
        for vc in channels::each(group) {
            let v = self.vc_row(row.out, vc);
            let waits = wait && (!self.vcs.get(v).own.is_empty() || self.taken_behind(row.out, vc, s) > 0);
            if waits || (whole && !self.fits(cx, row.out, vc, chunks)) {
                free &= !vc.bit();
            }
        }
        free
    }

    /// When the message of the packet in front of a unit was created, if anybody asks.
    pub(super) fn age(&self, row: &Unit) -> u64 {
        match self.router.rules.arbiter {
            Arbiter::Age => self.packets.get(self.chunks.get(row.fifo.head).packet).message_created,
            _ => 0,
        }
    }

    fn ask_for_vc(&mut self, cx: &Static, step: Step, at: Queue, row: &Unit, work: &mut Work) {
        let vcs = cx.net.config.vcs;
        let group = self.router.group(Self::line(cx, row.out), row.vc.number());
        let free = self.free_vcs(cx, row, group, step.s);
        if free == 0 {
            return;
        }
        let shape = self.router.shapes[step.local as usize];
        let out = step.port(row.out);
        let age = self.age(row);
        let piggyback = self.router.rules.vc_allocator.is_none();
        let mut room = false;
        for v in channels::each(free) {
            // A head that may go at once needs a channel with a buffer for it, not only a free one.
            let early = piggyback || self.router.rules.speculation != Speculation::Off;
            room |= early && self.fits(cx, row.out, v, 1);
            if piggyback {
                continue;
            }
            work.vcs.requests.push(Request {
                row: at.unit - shape.unit,
                column: out * u32::from(vcs) + u32::from(v.number()),
                level: 0,
                age,
                label: at.unit,
                memory: 0,
            });
        }
        if room && self.is_open(cx, row.out, at.vc, step.s) {
            let level = u8::from(self.router.rules.speculation == Speculation::Yielding);
            // Of one input's chunks for one output, those with a channel come first.
            self.ask_for_switch(step, at, row, level | 0x80, work);
        }
    }

    fn ask_for_switch(&self, step: Step, at: Queue, unit: &Unit, level: u8, work: &mut Work) {
        let (row, column) = Self::crossing(step, at, unit.out);
        if work.rows[row as usize] || work.columns[column as usize] {
            return;
        }
        let most = self.router.rules.input_speedup.most();
        let vc = u32::from(at.vc.number());
        let memory = self.router.memory(at.vc);
        let lane = at.input.number() * most + vc % step.lanes.0;
        let first = *self.router.turns.get(self.router.turn(lane, memory));
        // In a circle of 16, whatever the number of VCs: only the order counts. Heads that speculate come behind.
        let turn = if vc >= first { vc - first } else { vc + 16 - first };
        let turn = turn + if level & 0x80 != 0 { 64 } else { 0 };
        // Service classes first, within one those that speculate last.
        let level = (level & 1) + 2 * self.router.precedence(at.vc, unit.out);
        let request = Request { row, column, level, age: self.age(unit), label: at.unit, memory };
        work.tail.push((request, turn));
    }

    /// VC allocation: who is granted one may ask for the switch from the next step on.
    fn give_vcs(&mut self, cx: &Static, step: Step, work: &mut Work) {
        if work.vcs.requests.is_empty() {
            return;
        }
        let rules = self.router.rules;
        let shape = self.router.shapes[step.local as usize];
        let frame = shape.vc_frame(&rules, cx.net.config.vcs, step.number);
        let words = &self.router.words.rows()[shape.word as usize..shape.switch_word as usize];
        let Some(allocator) = rules.vc_allocator else { return };
        work.vcs.allocate(ALLOCATORS[allocator].allocate, &frame, words);
        for &(word, value) in &work.vcs.changes {
            *self.router.words.edit(shape.word + word as u32) = value;
        }
        // Never in the step of the grant.
        let ready = step.s + Ps::from(rules.vc_allocation - 1) * cx.net.cycle + 1;
        for &n in &work.vcs.grants {
            let Request { column, label, .. } = work.vcs.requests[n as usize];
            let vc = ChannelId::new((column % u32::from(cx.net.config.vcs)) as u8);
            let row = self.router.units.edit(label);
            debug_assert!(row.stage == Stage::Routed, "only a routed head asks for a VC");
            (row.stage, row.vc, row.ready) = (Stage::Active, vc, ready);
            if Self::asks_for_all(cx) {
                // Only now is it known by which output it leaves.
                row.out = step.base.plus(column / u32::from(cx.net.config.vcs));
            }
            debug_assert!(
                *self.router.taken.get(row.out) & vc.bit() == 0,
                "a virtual channel belongs to one packet"
            );
            *self.router.taken.edit(row.out) |= vc.bit();
        }
    }

    /// Switch allocation, and what it grants leaves.
    fn give_switch(&mut self, cx: &Static, step: Step, work: &mut Work, fx: &mut impl Fx) {
        if work.switch.requests.is_empty() {
            return;
        }
        let rules = self.router.rules;
        let shape = self.router.shapes[step.local as usize];
        let frame = shape.switch_frame(&rules, self.router.memories(), step.number);
        let words = &self.router.words.rows()[shape.switch_word as usize..][..frame.words()];
        work.switch.allocate(ALLOCATORS[rules.switch_allocator].allocate, &frame, words);
        for &(word, value) in &work.switch.changes {
            *self.router.words.edit(shape.switch_word + word as u32) = value;
        }
        if Self::copies_packets(cx) {
            self.find_siblings(step, work);
        }
        for k in 0..work.switch.grants.len() {
            let Request { row, label: unit, .. } = work.switch.requests[work.switch.grants[k] as usize];
            let input = row / step.lanes.0;
            let channel = shape.channel(unit - shape.unit - input * shape.each);
            let vc = u32::from(channel.number());
            let most = rules.input_speedup.most();
            debug_assert!(input < shape.ports, "a router has so many inputs");
            let lane = (step.base.number() + input) * most + row % step.lanes.0;
            let turn = self.router.turn(lane, self.router.memory(channel));
            // The turn moves on with every grant, used or not.
            let next = vc + step.lanes.0;
            let vcs = u32::from(cx.net.config.vcs);
            *self.router.turns.edit(turn) = if next >= vcs { next % vcs } else { next };
            self.leave_if_it_may(cx, step, input, unit, fx);
        }
        if Self::copies_packets(cx) {
            self.take_along(cx, step, work, fx);
        }
    }

    /// A grant is lost if its head got no VC, or if others took the room meanwhile.
    pub(super) fn leave_if_it_may(
        &mut self,
        cx: &Static,
        step: Step,
        input: u32,
        unit: u32,
        fx: &mut impl Fx,
    ) {
        // Others of this step may have taken the link, the channel or the room since the request.
        let (port, out) = (step.base.plus(input), self.router.units.get(unit).out);
        let vc = if M::FEATURES { self.router.channel_of(port, unit) } else { ChannelId::FIRST };
        if !self.is_open(cx, out, vc, step.s) {
            return;
        }
        if self.router.rules.vc_allocator.is_none() && self.router.units.get(unit).stage == Stage::Routed {
            self.pick_vc(cx, unit, step.s);
        }
        let row = *self.router.units.get(unit);
        if row.stage == Stage::Active && self.fits(cx, row.out, row.vc, 1) {
            self.leave(cx, step, step.base.plus(input), unit, fx);
        }
    }

    /// A head that has the switch takes the next free VC with room, if one is left.
    fn pick_vc(&mut self, cx: &Static, unit: u32, s: Ps) {
        let row = *self.router.units.get(unit);
        let group = self.router.group(Self::line(cx, row.out), row.vc.number());
        let free = self.free_vcs(cx, &row, group, s);
        let with_room = channels::each(free).filter(|&vc| self.fits(cx, row.out, vc, 1));
        // Channels of an output take turns, whoever asks: else the lowest one would get nearly all packets.
        let ready = with_room.fold(0u16, |set, vc| set | vc.bit());
        if ready != 0 {
            let vc = channels::after(ready, *self.router.picked.get(row.out));
            *self.router.picked.edit(row.out) = vc;
            *self.router.taken.edit(row.out) |= vc.bit();
            let row = self.router.units.edit(unit);
            (row.stage, row.vc) = (Stage::Active, vc);
        }
    }

    /// Everything that finds room at its output crosses the switch; inputs begin in turn.
    fn give_all(&mut self, cx: &Static, step: Step, work: &mut Work, fx: &mut impl Fx) {
        let shape = self.router.shapes[step.local as usize];
        let count = work.switch.requests.len();
        for k in 0..count {
            // Who begins changes with every step, so that full outputs favour nobody.
            let n = (k + (step.number % count as u64) as usize) % count;
            let Request { label: unit, .. } = work.switch.requests[n];
            let input = (unit - shape.unit) / shape.each;
            self.leave_if_it_may(cx, step, input, unit, fx);
        }
    }
}
