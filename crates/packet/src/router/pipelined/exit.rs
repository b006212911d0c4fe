//! From the switch to the link: at once, or through queues at the output.

use super::{Pipelined, cycle::Step};
use crate::pipeline::{FlowControl, Ratio, Sharing};
use crate::{
    congestion_control::marks::Queue,
    effects::{Fx, Record},
    net::{Channel, Net, Static, channels},
    network::End,
    router::clock::Stage,
    rows::{channel_of, release_of},
};
use crate::{places::LocalPort, pools::ChunkRow};
use base::{
    hash::Fingerprint,
    index::ChannelId,
    time::{NEVER, Ps},
};
use engine::state::mode::Mode;

/// Whether `n` chunks more fit beside `own` ones, if `least` are always allowed and the others come out of a pool of which `used` are taken.
fn fits_shared(threshold: u32, own: u32, n: u32, least: u32, pool: u32, used: u32) -> bool {
    debug_assert!(n > 0, "somebody asks for room");
    // If the last one fits, the ones before it do.
    let last = own + n - 1;
    if last < least {
        return true;
    }
    let (extra, before) = (last - least, own.saturating_sub(least));
    // Dynamic threshold: a queue takes no more beyond its own than a share of what would be left free.
    let free = u64::from(pool).saturating_sub(u64::from(used - before + extra));
    free > 0 && u64::from(extra) * u64::from(Ratio::PARTS) < u64::from(threshold) * free
}

impl<M: Mode> Net<Pipelined<M>> {
    /// Chunks that every VC may have in shared buffers.
    fn least(&self, cx: &Static) -> u32 {
        match self.router.rules.flow_control {
            FlowControl::Wormhole => 1,
            FlowControl::CutThrough | FlowControl::Bubble => {
                cx.net.config.packet.div_ceil(cx.net.config.chunk)
            }
        }
    }

    /// Whether `n` chunks more may go to VC `vc` of an output: buffers behind the link, or its queue. The link is not asked.
    pub(super) fn fits(&self, cx: &Static, out: LocalPort, vc: ChannelId, n: u32) -> bool {
        let v = self.vc_row(out, vc);
        let line = Self::line(cx, out);
        if let Some(most) = self.router.rules.output_queue {
            let own = *self.router.lengths.get(v);
            let Sharing::Shared(threshold) = self.router.rules.output_sharing else { return own + n <= most };
            let least = self.least(cx);
            // Counted anew each time: routers have few outputs, and few share buffers.
            let shape = &self.router.shapes[self.router.clock.owner[out] as usize];
            let queues = shape.ports * u32::from(self.width);
            let begin = self.first_vc(line.own_base);
            let lengths = (0..queues).map(|k| *self.router.lengths.get(begin.plus(k)));
            let used = lengths.map(|length| length.saturating_sub(least)).sum();
            return fits_shared(threshold.0, own, n, least, queues * (most - least), used);
        }
        let capacity = cx.net.timings[line.timing as usize].capacity;
        let own = self.vcs.get(v).occupancy;
        match (self.router.rules.input_sharing, line.end) {
            (Sharing::Private, _) | (_, End::Terminal { .. }) => own + n <= capacity,
            (Sharing::Shared(threshold), _) => {
                self.fits_behind(cx, out, vc, n, threshold, |v| self.vcs.get(self.vc_row(out, v)).occupancy)
            }
        }
    }

    /// The same of shared buffers behind a link, of which each VC has taken so many.
    fn fits_behind(
        &self,
        cx: &Static,
        out: LocalPort,
        vc: ChannelId,
        n: u32,
        Ratio(threshold): Ratio,
        taken: impl Fn(ChannelId) -> u32,
    ) -> bool {
        let capacity = cx.net.timings[Self::line(cx, out).timing as usize].capacity;
        let least = self.least(cx).min(capacity);
        let used = self.vcs_of(out).map(|(other, _)| taken(other).saturating_sub(least)).sum();
        let own = taken(vc);
        fits_shared(threshold, own, n, least, u32::from(self.width) * (capacity - least), used)
    }

    /// Buffers behind a link that a VC has taken, at `s`. Where queues stand at outputs, credits are counted with the next start, so that some may be back already.
    pub(super) fn taken_behind(&self, out: LocalPort, vc: ChannelId, s: Ps) -> u32 {
        let back = self.credits_of(out).filter(|&code| channel_of(code) == vc && release_of(code) <= s);
        self.vcs.get(self.vc_row(out, vc)).occupancy - back.count() as u32
    }

    /// Whether an output takes a chunk at `s` that came in by `vc`, whatever VC it goes out by: its link is free, or its buffer has room.
    pub(super) fn is_open(&self, cx: &Static, out: LocalPort, vc: ChannelId, s: Ps) -> bool {
        if M::FEATURES && s < self.opens(cx, vc, out) {
            return false;
        }
        let buffer = self.router.rules.output_buffer;
        if buffer == u32::MAX {
            return true;
        }
        let timing = &cx.net.timings[Self::line(cx, out).timing as usize];
        let ahead = self.ports.get(out).clock.rounded(timing.denominator).saturating_sub(s);
        // One is on its way onto the link, the others wait: counted in full chunks. What gets free within the cycle is free: a chunk
        // waits for it in the output's register. What crosses in a cycle's last step starts a cycle later anyway.
        ahead < cx.net.cycle + self.router.early || (ahead - 1) / timing.chunk.whole.max(1) < Ps::from(buffer)
    }

    /// Brings an output's books to instant `s`.
    pub(super) fn prepare(&mut self, cx: &Static, out: LocalPort, s: Ps, fx: &mut impl Fx) {
        if self.router.rules.output_queue.is_some() {
            // What starts at `s` has started, whoever looked before.
            self.touch(cx, out, s + 1, fx);
            if self.ports.get(out).own == 0 {
                self.drain_credits(out, s);
            }
            return;
        }
        if let End::Terminal { .. } = Self::line(cx, out).end {
            self.eject(cx, out, s, fx);
        }
        self.drain_credits(out, s);
    }

    /// The chunk in front of a unit crosses the switch: it goes to its output, and its buffer is free.
    pub(super) fn leave(&mut self, cx: &Static, step: Step, input: LocalPort, unit: u32, fx: &mut impl Fx) {
        let Step { s, wait, .. } = step;
        let rules = self.router.rules;
        let shape = self.router.shapes[self.router.clock.owner[input] as usize];
        let in_vc = shape.channel(unit - self.router.first_unit(input));
        let front = self.router.units.get(unit);
        self.mark(cx, front.fifo.head, front.out, front.vc);
        let row = self.router.units.edit(unit);
        debug_assert!(row.stage == Stage::Active, "what leaves has a virtual channel");
        let c = row.fifo.pop(&self.chunks).expect("a request has a chunk");
        let (out, vc, state, empty) = (row.out, row.vc, row.state, row.fifo.is_empty());
        // A pipelined switch allocation delays the chunk and the next one of its unit, not others.
        let begin = s + Ps::from(rules.switch_allocation - 1) * cx.net.cycle;
        row.ready = begin + 1;
        let chunk = self.chunks.edit(c);
        chunk.visit();
        chunk.set_origin(0);
        let (packet, index, last) = (chunk.packet, chunk.index(), chunk.is_last());
        // An empty unit gives its crossing up: it cannot know when the next chunk comes.
        row.held = rules.hold_switch && !last && !empty;
        if last {
            row.stage = Stage::Idle;
            debug_assert!(
                *self.router.taken.get(out) & vc.bit() != 0,
                "a tail gives back what its head took"
            );
            *self.router.taken.edit(out) &= !vc.bit();
        }
        if empty {
            self.router.set_busy(input, unit, false);
        }
        self.notes.set(c, state);
        debug_assert!(self.held_by(self.router.clock.owner[input]) > 0, "what leaves was held");
        self.router.clock.routers.edit(self.router.clock.owner[input]).held -= 1;
        let line = Self::line(cx, out);
        let id = self.packets.get(packet).id;
        fx.record(Record::Accepted { time: s + Self::suspended(fx), link: line.link, vc, id, index });
        let o = self.vc_row(out, vc);
        self.ports.edit(out).backlog += 1;
        if rules.output_queue.is_some() {
            self.queue_at_output(cx, c, out, vc, s, fx);
        } else {
            debug_assert!(self.fits(cx, out, vc, 1), "what crosses the switch has room");
            self.vcs.edit(o).occupancy += 1;
            self.serve(cx, out, vc, c, s);
            self.put_on_link(cx, c, out, vc, begin + wait, fx);
            self.announce(cx, out, fx);
        }
        if self.frees_buffer(cx, input, unit, index, begin + 1) {
            self.return_credit(cx, cx.local.upstream[input], in_vc, begin, fx);
        }
    }

    /// The next router takes a chunk off the link in a cycle of its own: an alarm of the router instead of one of the chunk.
    fn announce(&mut self, cx: &Static, out: LocalPort, fx: &mut impl Fx) {
        match Self::line(cx, out).end {
            End::Router { base, in_port, local, .. } => {
                let at = self.flights.get(self.ports.get(out).flight.tail).time;
                let next = self.router.inputs.edit(base.plus(in_port.number()));
                next.arrival = next.arrival.min(at);
                self.wake_router(cx, local, at, fx);
            }
            End::Terminal { .. } => self.set_due(cx, out, fx),
            End::Remote { .. } => {}
        }
    }

    /// A chunk joins the queue of its VC at an output, where it may start at `s`.
    fn queue_at_output(
        &mut self,
        cx: &Static,
        c: ChunkRow,
        out: LocalPort,
        vc: ChannelId,
        s: Ps,
        fx: &mut impl Fx,
    ) {
        let v = self.vc_row(out, vc);
        self.vcs.edit(v).own.push(&mut self.chunks, c);
        *self.router.lengths.edit(v) += 1;
        let port = self.ports.edit(out);
        // What could start at `s` has started: others that wait lack room, and this one is new.
        port.since = if port.own == 0 { s } else { port.since.max(s) };
        port.own |= vc.bit();
        self.set_due(cx, out, fx);
    }

    /// Starts what an output's queues start before `t`.
    pub(super) fn advance_queue(&mut self, cx: &Static, u: LocalPort, t: Ps, fx: &mut impl Fx) {
        while self.ports.get(u).own != 0 {
            let start = self.next_start_of_queue(cx, u);
            if start >= t {
                return;
            }
            // Counted as of the start: later credits must not decide an earlier service.
            self.drain_credits(u, start);
            // The credit may have been another VC's.
            let Some(vc) = self.served_first(cx, u, self.with_room(cx, u), start) else { continue };
            self.ports.edit(u).last_vc = vc;
            let v = self.vc_row(u, vc);
            let row = self.vcs.edit(v);
            let c = row.own.pop(&self.chunks).expect("a waiting VC has something");
            // The buffer behind the link is taken here: queues at outputs own none.
            row.occupancy += 1;
            if row.own.is_empty() {
                self.ports.edit(u).own &= !vc.bit();
            }
            debug_assert!(*self.router.lengths.get(v) > 0, "what leaves a queue was counted");
            *self.router.lengths.edit(v) -= 1;
            self.serve(cx, u, vc, c, start);
            self.put_on_link(cx, c, u, vc, start, fx);
        }
    }

    /// When an output's queues start something next, as far as is known.
    pub(super) fn next_start_of_queue(&self, cx: &Static, u: LocalPort) -> Ps {
        let port = self.ports.get(u);
        if port.own == 0 {
            return NEVER;
        }
        let timing = &cx.net.timings[Self::line(cx, u).timing as usize];
        let start = port.clock.rounded(timing.denominator).max(port.since);
        self.start_by_class(cx, u, self.with_room(cx, u), start)
    }

    /// VCs with something waiting at an output and room behind the link, as far as credits were counted.
    fn with_room(&self, cx: &Static, u: LocalPort) -> u16 {
        let line = Self::line(cx, u);
        let capacity = cx.net.timings[line.timing as usize].capacity;
        let mut ready = 0;
        for vc in channels::each(self.ports.get(u).own) {
            let own = self.vcs.get(self.vc_row(u, vc)).occupancy;
            let room = match (self.router.rules.input_sharing, line.end) {
                (Sharing::Private, _) | (_, End::Terminal { .. }) => own < capacity,
                (Sharing::Shared(threshold), _) => {
                    self.fits_behind(cx, u, vc, 1, threshold, |v| self.vcs.get(self.vc_row(u, v)).occupancy)
                }
            };
            ready |= if room { vc.bit() } else { 0 };
        }
        ready
    }

    /// Visits what waits at an input, with the unit that it is in, none if it is still to be sorted, and the VC that it came in by: see
    /// [`Router::chunks`](crate::net::Router::chunks).
    pub(super) fn visit_held(
        &self,
        cx: &Static,
        u: LocalPort,
        visit: &mut dyn FnMut(Option<u32>, ChannelId, ChunkRow),
    ) {
        if !cx.local.is_routers(u) {
            return;
        }
        let (first, shape) =
            (self.router.first_unit(u), &self.router.shapes[self.router.clock.owner[u] as usize]);
        for unit in self.router.busy_units(u) {
            let vc = shape.channel(unit - first);
            self.router.units.get(unit).fifo.iter(&self.chunks).for_each(|c| visit(Some(unit), vc, c));
        }
        if self.router.rules.virtual_output_queues {
            for (vc, v) in self.vcs_of(u) {
                let entry = self.router.entries.get(v);
                entry.fifo.iter(&self.chunks).for_each(|c| visit(None, vc, c));
            }
        }
    }

    /// Visits who waits for whom: see [`Router::waiting`](crate::net::Router::waiting).
    pub(super) fn visit_waiting(
        &self,
        cx: &Static,
        u: LocalPort,
        visit: &mut dyn FnMut(Channel, u32, &[Channel]),
    ) {
        let (first, shape) =
            (self.router.first_unit(u), &self.router.shapes[self.router.clock.owner[u] as usize]);
        for unit in self.router.busy_units(u) {
            // Chunks that are still to be sorted wait for nobody: the next cycle takes them.
            let row = self.router.units.get(unit);
            let shown = self.stands_for_buffers(cx, u, unit);
            let chunks = if shown { row.fifo.iter(&self.chunks).count() as u32 } else { 0 };
            let line = Self::line(cx, if row.stage == Stage::Idle { u } else { row.out });
            if row.stage == Stage::Idle && self.is_behind_copies(cx, u, unit) {
                // It waits for what the copies before it wait for.
                visit((self.input_link(cx, u), shape.channel(unit - first)), chunks, &[]);
                continue;
            }
            // What it waits for; nothing if it will move by itself: then its chunks do not count.
            if row.stage == Stage::Routed && Self::asks_for_all(cx) {
                let (vc, to) = (shape.channel(unit - first), self.waits_for(cx, u, unit));
                visit((self.input_link(cx, u), vc), if to.is_empty() { 0 } else { chunks }, &to);
                continue;
            }
            let group = match row.stage {
                Stage::Routed => {
                    let group = self.router.group(line, row.vc.number());
                    if self.free_vcs(cx, row, group, NEVER) == 0 { group } else { 0 }
                }
                Stage::Active if !self.fits(cx, row.out, row.vc, 1) => row.vc.bit(),
                _ => 0,
            };
            let to: Vec<Channel> = channels::each(group).map(|v| (line.link, v)).collect();
            let vc = shape.channel(unit - first);
            visit((self.input_link(cx, u), vc), if group == 0 { 0 } else { chunks }, &to);
        }
    }

    /// What waits for an output in the cycle in which a chunk crosses to it: see [`Router::queue`](crate::net::Router::queue).
    pub(super) fn queue_of(&self, cx: &Static, u: LocalPort, vc: ChannelId, most: u32) -> Queue {
        let local = self.router.clock.owner[u];
        let first = Self::line(cx, u).own_base;
        let inputs = (0..self.router.shapes[local as usize].ports).map(|n| first.plus(n));
        let units = inputs.flat_map(|input| self.router.busy_units(input)).map(|n| self.router.units.get(n));
        let at_inputs = units
            // A head that asks for all its outputs has none yet.
            .filter(|row| row.stage == Stage::Active || row.stage != Stage::Idle && !Self::asks_for_all(cx))
            .filter(|row| row.out == u)
            .flat_map(|row| row.fifo.iter(&self.chunks));
        // The chunk that crosses still stands at its input.
        let at_output = self.vcs_of(u).flat_map(|(_, v)| self.vcs.get(v).own.iter(&self.chunks));
        let chunks = at_output.chain(at_inputs).skip(1).take(most as usize).count() as u32;
        let now = self.router.clock.routers.get(local).due.saturating_sub(1);
        let capacity = cx.net.timings[Self::line(cx, u).timing as usize].capacity;
        // What waits at the output for the same buffers takes them first.
        let queued =
            self.router.rules.output_queue.map_or(0, |_| *self.router.lengths.get(self.vc_row(u, vc)));
        let own = self.taken_behind(u, vc, now) + queued;
        // Room for the chunk that crosses, and one more.
        let credits = match (self.router.rules.input_sharing, Self::line(cx, u).end) {
            (Sharing::Private, _) | (_, End::Terminal { .. }) => own + 2 <= capacity,
            (Sharing::Shared(threshold), _) => {
                let taken = |other| if other == vc { own } else { self.taken_behind(u, other, now) };
                self.fits_behind(cx, u, vc, 2, threshold, taken)
            }
        };
        Queue { chunks, credits }
    }

    /// What is wrong with a queue: see [`Router::fault`](crate::net::Router::fault).
    pub(super) fn queue_fault(&self, u: LocalPort, vc: ChannelId) -> Option<String> {
        let most = self.router.rules.output_queue?;
        let v = self.vc_row(u, vc);
        let (counted, there) =
            (*self.router.lengths.get(v), self.vcs.get(v).own.iter(&self.chunks).count() as u32);
        if counted != there {
            return Some(format!("counts {counted} chunks at its output, {there} are there"));
        }
        let private = self.router.rules.output_sharing == Sharing::Private;
        (private && there > most).then(|| format!("holds {there} chunks at its output, its queue {most}"))
    }

    /// Adds what waits: see [`Router::hash`](crate::net::Router::hash).
    pub(super) fn hash_held(&self, cx: &Static, u: LocalPort, sum: &mut Fingerprint) {
        if !cx.local.is_routers(u) {
            return;
        }
        let link = u64::from(Self::line(cx, u).link);
        let first = self.router.first_unit(u);
        for unit in self.router.busy_units(u) {
            let row = self.router.units.get(unit);
            let out = match row.stage {
                Stage::Idle => 0,
                _ => u64::from(Self::line(cx, row.out).link),
            };
            for (place, c) in row.fifo.iter(&self.chunks).enumerate() {
                let c = self.chunks.get(c);
                sum.add(
                    12 << 40 | link,
                    out << 20 | u64::from(unit - first) << 4 | u64::from(row.vc),
                    self.packets.get(c.packet).id.key(),
                    (place as u64) << 16 | u64::from(c.index()),
                );
            }
        }
        for (vc, v) in self.vcs_of(u) {
            let list = self.vcs.get(v).own;
            self.hash_list(13 << 40 | u64::from(vc) << 32 | link, list, sum);
            if self.router.rules.virtual_output_queues {
                let entry = self.router.entries.get(v);
                self.hash_list(14 << 40 | u64::from(vc) << 32 | link, entry.fifo, sum);
            }
        }
    }
}
