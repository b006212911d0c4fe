//! One step of one host. The rules are those of `step.rs` of the crate, for hosts of one processor and one interface on which everything has a place.

use super::{
    Compact,
    order::Order,
    queue::{Entry, NOBODY},
    state::{Message, Next, Node, OVER, STARTED, What},
};
use crate::domain::{Act, Arrival, Cut, Ended, Received, Record, Sending};
use base::{index::RankId, time::Ps};
use engine::{
    domain::Observer as Observe,
    state::{NIL, heap},
};
use model::setup::JobSetup;
use ranks::{matching::Label, operations::turn, roster::GlobalRank};
use workload::program::{Kind, Step};

/// An operation that is over, by its place.
struct Done {
    host: u32,
    op: u32,
    act: Act,
    start: Ps,
    end: Ps,
    posted: Ps,
    peer: u32,
    bytes: u64,
}

impl<S: Order> Compact<'_, S> {
    /// What a host does next but for messages that are to come.
    #[inline]
    pub(super) fn next(&self, host: u32) -> Option<Next<S>> {
        let s = &self.state;
        let h = &s.hosts[host as usize];
        let mut best: Option<Next<S>> = None;
        let mut offer = |time: Ps, stamp: S, what: What| {
            if best.is_none_or(|b| (time, stamp) < (b.time, b.stamp)) {
                best = Some(Next { time, stamp, what });
            }
        };
        if h.calcs.head != NIL {
            offer(h.free, s.nodes.get(h.calcs.head).stamp, What::Calc);
        }
        if h.sends.head != NIL {
            offer(h.free.max(h.send), s.nodes.get(h.sends.head).stamp, What::Send);
        }
        if h.ready != NIL {
            offer(h.free.max(h.receive), s.messages.get(h.ready).stamp, What::Ready);
        }
        if h.awake > 0 && h.recvs.head != NIL {
            let node = s.nodes.get(h.recvs.head);
            offer(node.ready, node.stamp, What::Recv);
        }
        best
    }

    /// Does what [`Compact::next`] found.
    #[inline]
    pub(super) fn step(&mut self, host: u32, next: &Next<S>) {
        let Next { time: now, stamp, what } = *next;
        self.state.steps += 1;
        self.post_until(host, (now, stamp));
        let s = &mut self.state;
        let h = &mut s.hosts[host as usize];
        match what {
            What::Calc => {
                let node = h.calcs.pop(&s.nodes);
                self.calculate(host, node.unwrap_or(NIL), now);
            }
            What::Send => {
                let node = h.sends.pop(&s.nodes);
                self.send(host, node.unwrap_or(NIL), now, stamp);
            }
            What::Recv => self.post(host, now),
            What::Ready => {
                let row = h.ready;
                h.ready = heap::pop(&mut s.messages, row, |a, b| a.stamp < b.stamp);
                let message = *s.messages.get(row);
                s.messages.give(row);
                self.arrive(&message, now);
            }
        }
        self.create(now, stamp);
    }

    /// A message is there. False if it waits for its processor and changes nothing of what its host does next.
    #[inline]
    pub(super) fn comes(&mut self, entry: &Entry<S>) -> bool {
        let &Entry { time: arrival, stamp, host, .. } = entry;
        let message = Message::of(entry);
        let h = &mut self.state.hosts[host as usize];
        if arrival < h.free.max(h.receive) {
            let row = self.state.messages.take(message);
            let root = heap::push(&mut self.state.messages, h.ready, row, |a, b| a.stamp < b.stamp);
            h.ready = root;
            // Only the first of those that wait counts, and only if nothing else comes before it.
            return root == row && self.next(host).is_some_and(|n| n.what == What::Ready);
        }
        self.state.steps += 1;
        self.post_until(host, (arrival, stamp));
        self.arrive(&message, arrival);
        self.create(arrival, stamp);
        true
    }

    /// Posts the receives of a host that come before `until`: no message waits for them and their start frees nothing, or they would have had a turn of their own.
    #[inline]
    pub(super) fn post_until(&mut self, host: u32, until: (Ps, S)) {
        loop {
            let s = &mut self.state;
            let h = &mut s.hosts[host as usize];
            let row = h.recvs.head;
            if row == NIL {
                return;
            }
            let &Node { stamp, ready, op, .. } = s.nodes.get(row);
            if (ready, stamp) >= until {
                return;
            }
            h.recvs.pop(&s.nodes);
            let step = self.tables.step(host, op);
            let label = Label { rank: host, context: 0, source: step.peer, tag: step.tag };
            let met = s.matching.receive(label, row);
            assert!(met.is_none(), "a receive for which a message waits has a turn of its own");
            s.waits[op as usize] = STARTED;
        }
    }

    fn calculate(&mut self, host: u32, row: u32, now: Ps) {
        let op = self.state.nodes.get(row).op;
        self.state.nodes.give(row);
        let step = self.tables.step(host, op);
        let time = JobSetup::computing(step.amount, self.cx.compute_ppb[self.tables.job(host)]);
        debug_assert!(
            now >= self.state.hosts[host as usize].free,
            "a computation starts on a free processor"
        );
        self.state.hosts[host as usize].free = now + time;
        self.starts(host, op, step);
        self.over(&Done {
            host,
            op,
            act: Act::Calc,
            start: now,
            end: now + time,
            posted: now,
            peer: 0,
            bytes: 0,
        });
    }

    fn send(&mut self, host: u32, row: u32, now: Ps, creator: S) {
        let &Node { op, ready, .. } = self.state.nodes.get(row);
        let (step, number) = (self.tables.step(host, op), op - self.tables.first(host));
        let (bytes, tag, peer) = (step.amount, step.tag, step.peer);
        let (to, from) = self.tables.peer(host, peer);
        let (busy, gap) = self.cx.config.sending(bytes);
        let delay = match self.latency {
            Some(latency) => latency,
            None => {
                let at = |host: u32| self.cx.place(GlobalRank::new(host)).terminal;
                self.cx.delays.delay(at(host), at(to), bytes)
            }
        };
        let arrival = now + self.cx.config.overhead + delay;
        let eager = bytes <= self.cx.config.eager;
        let h = &mut self.state.hosts[host as usize];
        (h.free, h.send) = (now + busy, now + gap);
        let stamp = S::created(&mut self.state.created, host, &mut h.created, now, creator);
        self.starts(host, op, step);
        self.observer.commit(&Record::Sending(Sending {
            host: GlobalRank::new(host),
            number,
            to: GlobalRank::new(to),
            bytes,
            start: now,
            end: now + busy,
            arrival,
            collective: 0,
        }));
        if eager {
            self.state.nodes.give(row);
            let posted = ready.min(now);
            self.over(&Done {
                host,
                op,
                act: Act::Send,
                start: now,
                end: now + busy,
                posted,
                peer: to,
                bytes,
            });
        }
        if arrival >= self.cx.end {
            self.state.cut = true;
            return;
        }
        let send = if eager { NIL } else { row };
        debug_assert!(from != NOBODY && arrival > now, "a message is from somebody and takes time");
        self.queue.put(Entry { time: arrival, stamp, bytes, host: to, from, tag, number, send });
    }

    /// Posts the first receive of a host.
    fn post(&mut self, host: u32, now: Ps) {
        let s = &mut self.state;
        let row = s.hosts[host as usize].recvs.pop(&s.nodes).unwrap_or(NIL);
        let op = s.nodes.get(row).op;
        let step = self.tables.step(host, op);
        let label = Label { rank: host, context: 0, source: step.peer, tag: step.tag };
        self.state.hosts[host as usize].awake -= u32::from(step.early);
        self.starts(host, op, step);
        if let Some(message) = self.state.matching.receive(label, row) {
            let m = *self.state.messages.get(message);
            self.state.messages.give(message);
            self.state.hosts[host as usize].awake -= 1;
            self.received(host, row, now, now, &m);
            self.release(&m, now);
        }
    }

    fn arrive(&mut self, m: &Message<S>, now: Ps) {
        let (busy, gap) = self.cx.config.receiving(m.bytes);
        let (host, end) = (m.host, now + busy);
        let h = &mut self.state.hosts[host as usize];
        (h.free, h.receive) = (end, now + gap);
        let from = self.tables.from(host, m.from);
        self.observer.commit(&Record::Arrival(Arrival {
            host: GlobalRank::new(host),
            from: GlobalRank::new(from),
            number: m.number,
            bytes: m.bytes,
            start: now,
            end,
        }));
        let label = Label { rank: host, context: 0, source: RankId::new(m.from), tag: m.tag };
        let waiting = self.state.messages.take(*m);
        match self.state.matching.arrive(label, waiting) {
            Some(receive) => {
                self.state.messages.give(waiting);
                self.release(m, now);
                self.received(host, receive, now, end, m);
            }
            None => self.state.hosts[host as usize].awake += 1,
        }
    }

    /// A receive has its message.
    fn received(&mut self, host: u32, row: u32, start: Ps, end: Ps, m: &Message<S>) {
        let &Node { ready, op, .. } = self.state.nodes.get(row);
        self.state.nodes.give(row);
        let (step, number) = (self.tables.step(host, op), op - self.tables.first(host));
        let (room, posted) = (step.amount, ready.min(start));
        let (to, from) = (GlobalRank::new(host), GlobalRank::new(self.tables.from(host, m.from)));
        let (bytes, arrival, send) = (m.bytes, m.arrival, m.number);
        debug_assert!(end >= arrival, "a receive is not over before its message is there");
        if bytes > room {
            self.observer.commit(&Record::Truncated(Cut { host: to, number, from, bytes, room }));
        }
        if self.cx.receipts {
            let receipt = Received { host: to, number, from, send, bytes, posted, arrival, end, held: 0 };
            self.observer.commit(&Record::Received(receipt));
        }
        self.over(&Done { host, op, act: Act::Recv, start, end, posted, peer: from.number(), bytes });
    }

    /// Ends the send of a message that waited for its receiver; the sender's clocks move to this instant.
    #[inline]
    fn release(&mut self, m: &Message<S>, now: Ps) {
        if m.send == NIL {
            return;
        }
        let host = self.tables.from(m.host, m.from);
        let &Node { ready, op, .. } = self.state.nodes.get(m.send);
        self.state.nodes.give(m.send);
        let h = &mut self.state.hosts[host as usize];
        (h.free, h.send) = (h.free.max(now), h.send.max(now));
        let (peer, bytes, posted) = (m.host, m.bytes, ready.min(now));
        self.over(&Done { host, op, act: Act::Send, start: now, end: now, posted, peer, bytes });
        self.released = host;
    }

    /// An operation is taken up: what needed no more than that is freed.
    #[inline]
    fn starts(&mut self, host: u32, op: u32, step: &Step) {
        self.state.waits[op as usize] = STARTED;
        if step.early {
            self.frees(host, op, true);
        }
    }

    /// Ends an operation.
    #[inline]
    fn over(&mut self, done: &Done) {
        let &Done { host, op, act, start, end, posted, peer, bytes } = done;
        self.observer.commit(&Record::Ended(Ended {
            host: GlobalRank::new(host),
            number: op - self.tables.first(host),
            act,
            start,
            end,
            peer: GlobalRank::new(peer),
            bytes,
            posted,
            collective: 0,
            instance: 0,
        }));
        debug_assert!(self.state.waits[op as usize] == STARTED, "what ends was taken up, and ends once");
        self.state.waits[op as usize] = OVER;
        self.frees(host, op, false);
    }

    /// Takes what an operation frees off its list, by its start or by its end.
    #[inline]
    fn frees(&mut self, host: u32, op: u32, on_start: bool) {
        let first = self.tables.first(host);
        for f in self.tables.freed(host, op).iter().filter(|f| f.on_start() == on_start) {
            let to = first + f.number();
            let waits = &mut self.state.waits[to as usize];
            debug_assert!((1..STARTED).contains(waits), "an edge is taken off once");
            *waits -= 1;
            if *waits == 0 {
                self.freed.push((host, to));
            }
        }
    }

    /// Queues the operations that have become executable: host by host, sends first.
    #[inline]
    pub(super) fn create(&mut self, now: Ps, creator: S) {
        if self.freed.is_empty() {
            return;
        }
        let mut freed = std::mem::take(&mut self.freed);
        if freed.len() > 1 {
            freed.sort_by_key(|&(host, op)| (host, turn(self.tables.step(host, op).kind)));
        }
        for (host, op) in freed.drain(..) {
            let step = self.tables.step(host, op);
            let s = &mut self.state;
            let h = &mut s.hosts[host as usize];
            let stamp = S::created(&mut s.created, host, &mut h.created, now, creator);
            let row = s.nodes.take(Node { stamp, ready: h.free, op, next: NIL });
            match step.kind {
                Kind::Send => h.sends.push(&mut s.nodes, row),
                Kind::Recv => {
                    h.recvs.push(&mut s.nodes, row);
                    h.awake += u32::from(step.early);
                }
                _ => h.calcs.push(&mut s.nodes, row),
            }
        }
        self.freed = freed;
    }
}
