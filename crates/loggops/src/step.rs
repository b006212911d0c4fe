//! One step of one host: the operation or message that is first by time and stamp.
//!
//! What waits for the same processor and interface is in one queue by stamp, so only heads are looked at: a head's time is when
//! its resources are free. This gives the order of a queue into which whatever is blocked is put back for the time at which its
//! resources are free, without putting anything back.

use super::{
    config::Cost,
    domain::{
        Act, Arrival, Cut, DelayDomain, Done, Ended, Message, Next, Partner, Received, Record, Sending,
    },
    entry::What,
    slices::Sliced,
};
use base::time::Ps;
use engine::state::heap;
use engine::{
    domain::{Effects, Lane as Clock},
    key::Class,
    state::NIL,
};
use model::setup::JobSetup;
use ranks::{
    instances,
    matching::Label,
    operations::{Stamp, turn},
    roster::GlobalRank,
};
use workload::program::{Kind, mpi::Mode};

/// The first by time and stamp of what is offered.
#[derive(Default)]
struct First {
    next: Option<Next>,
}

impl First {
    #[inline]
    fn offer(&mut self, time: Ps, stamp: Stamp, what: What, row: u32) {
        if self.next.is_none_or(|first| (time, stamp) < (first.time, first.stamp)) {
            self.next = Some(Next { time, stamp, what, row });
        }
    }
}

fn by_arrival(a: &Message, b: &Message) -> bool {
    (a.arrival, a.stamp) < (b.arrival, b.stamp)
}

fn by_stamp(a: &Message, b: &Message) -> bool {
    a.stamp < b.stamp
}

impl DelayDomain {
    /// What happens next at a host.
    pub(super) fn next(&mut self, host: u32) -> Option<Next> {
        self.admit(host);
        let mut first = First::default();
        if self.cx.cpus > 1 || self.cx.nics > 1 {
            self.offer_all(host, &mut first);
        } else {
            self.offer_core::<false>(host, 0, &mut first);
            self.offer_lane::<false>(host, 0, 0, &mut first);
        }
        if let Some((time, stamp, row)) = self.slices.next(host) {
            first.offer(time, stamp, What::Slice, row);
        }
        let inbox = self.hosts.get(host).inbox;
        if inbox != NIL {
            let message = self.messages.get(inbox);
            first.offer(message.arrival, message.stamp, What::Arrival, inbox);
        }
        first.next
    }

    /// What waits for a processor alone. Of several it may become executable later than its processor is free.
    #[inline(always)]
    fn offer_core<const SEVERAL: bool>(&self, host: u32, cpu: u8, first: &mut First) {
        let core = self.hosts.core(host, cpu);
        if !core.calcs.is_empty() {
            let row = core.calcs.head;
            let r = self.window.get(row);
            let ready = if SEVERAL { r.ready } else { 0 };
            first.offer(core.free.max(ready), r.stamp, What::Calc { cpu }, row);
        }
        if !core.recvs.is_empty() {
            let row = core.recvs.head;
            let r = self.window.get(row);
            first.offer(r.ready, r.stamp, What::Recv { cpu }, row);
        }
    }

    /// What waits for a processor and an interface.
    #[inline(always)]
    fn offer_lane<const SEVERAL: bool>(&self, host: u32, cpu: u8, nic: u8, first: &mut First) {
        let (lane, clock) = (self.hosts.lane(host, cpu, nic), self.hosts.nic(host, nic));
        let free = self.hosts.core(host, cpu).free;
        if !lane.sends.is_empty() {
            let row = lane.sends.head;
            let send = if self.keeps(host, row) { 0 } else { clock.send };
            let r = self.window.get(row);
            let ready = if SEVERAL { r.ready } else { 0 };
            first.offer(free.max(send).max(ready), r.stamp, What::Send { cpu, nic }, row);
        }
        if lane.ready != NIL {
            let &Message { stamp, landed, .. } = self.messages.get(lane.ready);
            let receive = if self.cx.landing || landed { 0 } else { clock.receive };
            first.offer(free.max(receive), stamp, What::Ready { cpu, nic }, lane.ready);
        }
    }

    /// What waits for any of several processors and interfaces. Most hosts have one, so this is no loop that they go through.
    #[cold]
    fn offer_all(&self, host: u32, first: &mut First) {
        for cpu in 0..self.cx.cpus as u8 {
            self.offer_core::<true>(host, cpu, first);
            for nic in 0..self.cx.nics as u8 {
                self.offer_lane::<true>(host, cpu, nic, first);
            }
        }
    }

    /// When a host's resources for a message are free.
    #[inline]
    pub(super) fn available(&self, host: u32, &Message { cpu, nic, landed, .. }: &Message) -> Ps {
        if self.cx.config.cost == Cost::Pure {
            return 0;
        }
        if landed {
            return self.hosts.core(host, cpu).free;
        }
        if self.cx.landing {
            return 0;
        }
        self.hosts.core(host, cpu).free.max(self.hosts.nic(host, nic).receive)
    }

    /// Lets messages that arrive before their resources are free wait for these.
    fn admit(&mut self, host: u32) {
        loop {
            let inbox = self.hosts.get(host).inbox;
            if inbox == NIL {
                return;
            }
            let message = self.messages.get(inbox);
            let &Message { arrival, cpu, nic, .. } = message;
            if arrival >= self.available(host, message) {
                return;
            }
            self.leave_inbox(host);
            let lane = self.hosts.edit_lane(host, cpu, nic);
            lane.ready = heap::push(&mut self.messages, lane.ready, inbox, by_stamp);
        }
    }

    pub(super) fn leave_inbox(&mut self, host: u32) -> u32 {
        let head = self.hosts.get(host).inbox;
        debug_assert!(head != NIL, "a message that leaves the inbox is there");
        self.hosts.edit(host).inbox = heap::pop(&mut self.messages, head, by_arrival);
        head
    }

    /// Does what [`DelayDomain::next`] found.
    pub(super) fn step(&mut self, host: u32, next: &Next, fx: &mut impl Effects<Self>) {
        debug_assert!(next.row != NIL, "something is to be done");
        match next.what {
            What::Calc { cpu } => {
                let row = pop(&mut self.hosts.edit_core(host, cpu).calcs, &self.window);
                self.calculate(host, row, next.time, fx);
            }
            What::Recv { cpu } => {
                let row = pop(&mut self.hosts.edit_core(host, cpu).recvs, &self.window);
                self.post(host, row, next.time, fx);
            }
            What::Send { cpu, nic } => {
                let lane = self.hosts.edit_lane(host, cpu, nic);
                let row = pop(&mut lane.sends, &self.window);
                self.send(host, row, next, fx);
            }
            What::Ready { cpu, nic } => {
                let lane = self.hosts.edit_lane(host, cpu, nic);
                let message = lane.ready;
                lane.ready = heap::pop(&mut self.messages, message, by_stamp);
                self.arrive(host, message, next.time, fx);
            }
            What::Slice => self.slice_over(host, next.row, next.time),
            What::Arrival => {
                let message = self.leave_inbox(host);
                if self.cx.landing && !self.messages.get(message).landed {
                    self.land(host, message);
                } else {
                    self.arrive(host, message, next.time, fx);
                }
            }
        }
        if !self.freed.is_empty() {
            self.create(next.time, next.stamp, fx);
        }
        if self.cx.nodes.is_some() {
            self.share_core(host);
        }
    }

    fn calculate(&mut self, host: u32, row: u32, now: Ps, fx: &mut impl Effects<Self>) {
        let op = self.window.get(row).op;
        let job = self.cx.place(self.rank(host)).job;
        debug_assert!(now >= self.hosts.core(host, op.cpu).free, "a computation starts on a free processor");
        let time = JobSetup::computing(op.amount, self.cx.compute_ppb[job as usize]);
        let slice = self.slices.take(host, row, now, time);
        self.hosts.edit_core(host, op.cpu).free = slice.end;
        if slice.begun == now {
            self.window.start(row, now, &mut self.freed);
        }
        if self.slices.are_used() && self.cx.receipts {
            let (host, number) = (self.rank(host), self.window.get(row).number);
            fx.record(Record::Sliced(Sliced { host, number, start: now, end: slice.end }));
        }
        if slice.is_last {
            if self.slices.are_used() {
                self.window.rows().edit(row).ready = slice.begun;
            }
            self.done(
                row,
                Done { act: Act::Calc, start: slice.end - time, end: slice.end },
                Partner::NONE,
                fx,
            );
        }
    }

    /// Ends an operation.
    #[inline]
    pub(super) fn done(&mut self, row: u32, done: Done, with: Partner, fx: &mut impl Effects<Self>) {
        let (Done { act, start, end }, Partner { peer, bytes }) = (done, with);
        debug_assert!(start <= end, "nothing ends before it begins");
        let r = self.window.get(row);
        let posted = match act {
            Act::Send | Act::Recv | Act::Probe => r.ready.min(start),
            Act::Calc if self.slices.are_used() => r.ready,
            Act::Calc | Act::Join => start,
        };
        fx.record(Record::Ended(Ended {
            host: self.rank(r.rank),
            number: r.number,
            act,
            start,
            end,
            peer,
            bytes,
            posted,
            collective: r.op.collective,
            instance: instances::of(&r.op),
        }));
        self.window.finish(row, end, &mut self.freed);
    }

    /// Ends a receive of this message.
    pub(super) fn received(
        &mut self,
        row: u32,
        start: Ps,
        end: Ps,
        message: &Message,
        fx: &mut impl Effects<Self>,
    ) {
        let (from, bytes) = (self.source(message), message.bytes);
        // Of several processors each has a clock of its own: what one does may lie before what another one did to cause it.
        debug_assert!(
            self.cx.cpus > 1 || end >= message.arrival,
            "a receive is not over before its message is there"
        );
        let r = self.window.get(row);
        let (to, number, room, posted) = (self.rank(r.rank), r.number, r.op.amount, r.ready.min(start));
        if bytes > room {
            fx.record(Record::Truncated(Cut { host: to, number, from, bytes, room }));
        }
        if self.cx.receipts {
            let held = if self.cx.holds { self.held(from, message) } else { 0 };
            let (arrival, send) = (message.arrival, message.number);
            let receipt = Received { host: to, number, from, send, bytes, posted, arrival, end, held };
            fx.record(Record::Received(receipt));
        }
        self.done(row, Done { act: Act::Recv, start, end }, Partner { peer: from, bytes }, fx);
    }

    /// How long a message was held back behind an earlier one of its pair.
    fn held(&self, from: GlobalRank, message: &Message) -> Ps {
        let at = |rank: GlobalRank| self.cx.place(rank).terminal;
        let delay = self.cx.delays.delay(at(from), at(message.to), message.bytes);
        // Where messages are held back, hosts are not coupled: the stamp says when it was sent.
        message.arrival.saturating_sub(message.stamp.created + self.cx.config.overhead + delay)
    }

    pub(super) fn send(&mut self, host: u32, row: u32, next: &Next, fx: &mut impl Effects<Self>) {
        let (now, cx) = (next.time, &self.cx);
        let r = self.window.get(row);
        let (op, number) = (r.op, r.number);
        let (busy, gap) = cx.config.sending(op.amount);
        let here = *cx.place(self.rank(host));
        let to = cx.host(here.job, op.peer);
        let there = cx.place(to).terminal;
        let gap = gap + if cx.landing { cx.delays.held(here.terminal, there, op.amount) } else { 0 };
        let ready = now + cx.config.overhead;
        let stays = cx.stays(self.rank(host), to);
        let mut arrival = match stays {
            true => self.copied(host, ready, op.amount),
            false => ready + cx.delays.delay(here.terminal, there, op.amount),
        };
        let cx = &self.cx;
        if cx.overtaking || (cx.config.resilient.is_some() && !self.runs_ahead(host)) {
            let pair = u64::from(self.rank(host).number()) << 32 | u64::from(to.number());
            arrival = arrival.max(self.latest.get(pair, 0).unwrap_or(0));
            self.latest.set(pair, 0, arrival);
        }
        let cx = &self.cx;
        debug_assert!(arrival >= now, "a message takes no negative time");
        let eager = match op.mode {
            Mode::Standard => op.amount <= cx.config.eager,
            Mode::Synchronous => cx.config.cost == Cost::Pure || cx.config.eager == u64::MAX,
            Mode::Buffered => true,
        };
        self.hosts.edit_core(host, op.cpu).free = now + busy;
        if !stays {
            self.hosts.edit_nic(host, op.nic).send = now + gap;
        }
        self.window.start(row, now, &mut self.freed);
        let stamp = self.stamp(host, now, next.stamp);
        let message = Message {
            arrival,
            stamp,
            bytes: op.amount,
            to,
            from: here.rank,
            tag: op.tag,
            context: op.context,
            send: if eager { NIL } else { row },
            number,
            cpu: op.cpu,
            nic: op.nic,
            landed: stays,
            next: NIL,
            child: NIL,
        };
        fx.record(Record::Sending(Sending {
            host: self.rank(host),
            number,
            to,
            bytes: op.amount,
            start: now,
            end: now + busy,
            arrival,
            collective: op.collective,
        }));
        if eager {
            self.done(
                row,
                Done { act: Act::Send, start: now, end: now + busy },
                Partner { peer: to, bytes: op.amount },
                fx,
            );
        }
        self.deliver(host, message, fx);
    }

    /// Hands a message over: to a host here at once, to another partition by event.
    pub(super) fn deliver(&mut self, from: u32, message: Message, fx: &mut impl Effects<Self>) {
        let local = self.row(message.to);
        debug_assert!(
            message.arrival >= message.stamp.created || self.cx.coupled,
            "a message arrives after it was sent"
        );
        if local >= self.count() {
            let part = self.cx.partition_of(message.to);
            let identity = message.stamp.who;
            fx.send(part, Clock::Network, message.arrival, Class::Early, identity, message);
            return;
        }
        if self.runs_ahead(local) {
            return self.meet(local, message, fx);
        }
        let arrival = message.arrival;
        self.take_in(local, message);
        if local == from {
            // What it does next is found out after this step.
            return;
        }
        if !self.cx.filed {
            self.set_alarm(local, arrival.max(self.available(local, &message)), fx);
            return;
        }
        // A message that is there at the very time of what the host does next may have been created before that, where stamps are times.
        let until = self.hosts.get(local).alarm;
        if arrival < until || (arrival == until && !self.cx.coupled) {
            // Even if it must wait then: it must not stand before what does not.
            self.touched.push(local);
        }
    }

    /// Puts a message into a host's inbox.
    pub(super) fn take_in(&mut self, host: u32, message: Message) {
        debug_assert!(self.row(message.to) == host, "a message goes into the inbox of its receiver");
        let row = self.messages.take(message);
        self.put_in(host, row);
    }

    fn put_in(&mut self, host: u32, row: u32) {
        let inbox = self.hosts.get(host).inbox;
        self.hosts.edit(host).inbox = heap::push(&mut self.messages, inbox, row, by_arrival);
    }

    fn post(&mut self, host: u32, row: u32, now: Ps, fx: &mut impl Effects<Self>) {
        let op = self.window.get(row).op;
        self.window.start(row, now, &mut self.freed);
        let label = Label { rank: host, context: op.context, source: op.peer, tag: op.tag };
        if op.kind == Kind::Probe {
            if self.matching.probe(label, row) {
                self.done(row, Done { act: Act::Probe, start: now, end: now }, Partner::NONE, fx);
            }
        } else if let Some(message) = self.matching.receive(label, row) {
            let m = *self.messages.get(message);
            self.messages.give(message);
            self.received(row, now, now, &m, fx);
            self.release(&m, op.cpu, op.nic, now, fx);
        }
    }

    /// Who sent a message.
    pub(super) fn source(&self, m: &Message) -> GlobalRank {
        self.cx.host(self.cx.place(m.to).job, m.from)
    }

    /// The first byte of a message is there: its interface takes it in once it is free, and it goes back to the inbox until the last byte is in.
    fn land(&mut self, host: u32, row: u32) {
        debug_assert!(
            self.cx.landing && !self.messages.get(row).landed,
            "an interface takes a message in once"
        );
        let m = self.messages.get(row);
        let (arrival, nic) = (m.arrival, m.nic);
        let time = self.cx.landing(self.source(m), m.to, m.bytes);
        let clock = self.hosts.edit_nic(host, nic);
        let last = arrival.max(clock.receive) + time;
        clock.receive = last + self.cx.config.gap;
        let m = self.messages.edit(row);
        (m.arrival, m.landed, m.next, m.child) = (last, true, NIL, NIL);
        self.put_in(host, row);
    }

    fn arrive(&mut self, host: u32, row: u32, now: Ps, fx: &mut impl Effects<Self>) {
        let m = *self.messages.get(row);
        let (busy, gap) = self.cx.config.receiving(m.bytes);
        let mut end = now;
        if self.cx.config.cost == Cost::LogGops {
            end += busy;
            if self.cx.landing || m.landed {
                end = now + self.cx.config.sending(m.bytes).0;
            } else {
                self.hosts.edit_nic(host, m.nic).receive = now + gap;
            }
            self.hosts.edit_core(host, m.cpu).free = end;
        }
        let peer = self.source(&m);
        fx.record(Record::Arrival(Arrival {
            host: self.rank(host),
            from: peer,
            number: m.number,
            bytes: m.bytes,
            start: now,
            end,
        }));
        let label = Label { rank: host, context: m.context, source: m.from, tag: m.tag };
        if let Some(receive) = self.matching.arrive(label, row) {
            self.messages.give(row);
            self.release(&m, m.cpu, m.nic, now, fx);
            self.received(receive, now, end, &m, fx);
            return;
        }
        let mut answered = std::mem::take(&mut self.answered);
        self.matching.answer(&label, &mut answered);
        for probe in answered.drain(..) {
            self.done(probe, Done { act: Act::Probe, start: now, end }, Partner { peer, bytes: m.bytes }, fx);
        }
        self.answered = answered;
    }

    /// Ends the send of a message that waited for its receiver; the sender's clocks move to this instant.
    fn release(&mut self, m: &Message, cpu: u8, nic: u8, now: Ps, fx: &mut impl Effects<Self>) {
        if m.send == NIL {
            return;
        }
        let sender = self.row(self.source(m));
        debug_assert!(
            self.cx.coupled && sender < self.count(),
            "who waits for a receiver is in the same partition"
        );
        let core = self.hosts.edit_core(sender, cpu);
        core.free = core.free.max(now);
        let clock = self.hosts.edit_nic(sender, nic);
        clock.send = clock.send.max(now);
        self.done(
            m.send,
            Done { act: Act::Send, start: now, end: now },
            Partner { peer: m.to, bytes: m.bytes },
            fx,
        );
        self.touched.push(sender);
    }

    /// Queues the operations that have become executable: rank by rank, sends first. Joins are over at once.
    pub(super) fn create(&mut self, now: Ps, creator: Stamp, fx: &mut impl Effects<Self>) {
        let mut at = 0;
        while at < self.freed.len() {
            let row = self.freed[at];
            let r = self.window.get(row);
            if matches!(r.op.kind, Kind::Join | Kind::JoinAny) {
                let end = r.ready.max(now);
                self.window.start(row, end, &mut self.freed);
                self.done(row, Done { act: Act::Join, start: end, end }, Partner::NONE, fx);
                // It is over, and its row may be another operation's by now.
                self.freed[at] = NIL;
            }
            at += 1;
        }
        let mut freed = std::mem::take(&mut self.freed);
        freed.retain(|&row| row != NIL);
        if freed.len() > 1 {
            freed.sort_by_key(|&row| (self.window.get(row).rank, turn(self.window.get(row).op.kind)));
        }
        for &row in &freed {
            self.queue(row, now, creator);
        }
        freed.clear();
        self.freed = freed;
    }

    pub(super) fn queue(&mut self, row: u32, now: Ps, creator: Stamp) {
        let r = self.window.get(row);
        let (op, host) = (r.op, r.rank);
        if matches!(op.kind, Kind::Join | Kind::JoinAny) {
            return;
        }
        let stamp = self.stamp(host, now, creator);
        let ordered = self.cx.cpus > 1 && self.cx.ordered[self.cx.place(self.rank(host)).job as usize];
        let core = self.hosts.edit_core(host, op.cpu);
        debug_assert!(
            u32::from(op.cpu) < self.cx.cpus && u32::from(op.nic) < self.cx.nics,
            "a host has the processor and the interface"
        );
        if self.cx.config.cost == Cost::Pure && !ordered {
            core.free = core.free.max(now);
        }
        let free = core.free;
        let r = self.window.rows().edit(row);
        r.stamp = stamp;
        r.ready = match ordered {
            true if matches!(op.kind, Kind::Recv | Kind::Probe) => free.max(r.ready).max(now),
            true => r.ready.max(now),
            false => free,
        };
        let rows = self.window.rows();
        if ordered {
            return self.queue_ordered(host, row, op);
        }
        match op.kind {
            Kind::Calc => self.hosts.edit_core(host, op.cpu).calcs.push(rows, row),
            Kind::Recv | Kind::Probe => self.hosts.edit_core(host, op.cpu).recvs.push(rows, row),
            Kind::Send => self.hosts.edit_lane(host, op.cpu, op.nic).sends.push(rows, row),
            Kind::Join | Kind::JoinAny => {}
        }
    }

    /// The stamp of something that a host creates now.
    pub(super) fn stamp(&mut self, host: u32, now: Ps, creator: Stamp) -> Stamp {
        if self.cx.coupled {
            let cell = self.cell.edit(0);
            cell.created += 1;
            return Stamp { created: cell.created, creator: 0, who: 0 };
        }
        let first = self.first;
        let count = &mut self.hosts.edit(host).created;
        *count += 1;
        let who = u64::from(first.number() + host) << 32 | u64::from(*count);
        Stamp { created: now, creator: creator.created, who }
    }
}

fn pop(fifo: &mut engine::state::Fifo, window: &ranks::operations::OperationWindow) -> u32 {
    fifo.pop(window.pool()).expect("a head was seen")
}
