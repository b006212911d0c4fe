//! Ranks that run ahead: with pure delays, and operations that follow each other.
//!
//! Such a rank does one thing after another, and what it receives is named by source and tag. So what it does next cannot change by
//! a message that is not there yet: it runs until it waits for one (Kahn: The semantics of a simple language for parallel programming,
//! IFIP 1974). Messages of one pair arrive in the order in which they are sent, so they are matched when they are sent; a receive is over at its
//! posting or the arrival, whichever is later. Neither a queue of messages nor an event is needed for that. Ranks take turns, so
//! that none runs far ahead of those that receive its messages.
//!
//! Which programs are of this kind, they say themselves ([`Program::chained`](workload::program::Program::chained)).

use super::{
    domain::{Act, Arrival, DelayDomain, Done, Message, Next, Partner, Record},
    entry::What,
};
use base::time::Ps;
use engine::{domain::Effects, state::NIL};
use model::setup::JobSetup;
use ranks::{matching::Label, operations::Stamp};
use workload::program::Kind;

/// How far a rank runs beyond its event, in lookaheads, and by how many operations in one turn: both bound the messages that wait.
const FAR: Ps = 64;
const TURN: u32 = 12;

impl DelayDomain {
    /// True if a host runs ahead.
    #[inline]
    pub(super) fn runs_ahead(&self, host: u32) -> bool {
        self.cx.runs_ahead[self.rank(host).index()]
    }

    /// A host that runs ahead starts.
    pub(super) fn begin(&mut self, host: u32, start: Ps, fx: &mut impl Effects<Self>) {
        if let Some(first) = self.only(start, fx) {
            self.park(host, first, start, start);
            self.set_alarm(host, start, fx);
        }
    }

    /// Lets the hosts run ahead that can, and all that get messages from them, and so on.
    pub(super) fn run_ahead(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        // Within a lookahead nobody elsewhere can be reached; far beyond it messages would pile up before their receivers have had a turn.
        let until = now.saturating_add(self.cx.lookahead().saturating_mul(FAR)).min(self.cx.end);
        debug_assert!(self.freed.is_empty(), "what the event freed was taken up");
        while let Some(host) = self.running_ahead.pop_front() {
            while self.hosts.get(host).inbox != NIL {
                let row = self.leave_inbox(host);
                let message = *self.messages.get(row);
                self.messages.give(row);
                self.meet(host, message, fx);
            }
            self.follow(host, until, fx);
        }
    }

    /// A host does what it can, until it waits for a message or its turn is over.
    fn follow(&mut self, host: u32, until: Ps, fx: &mut impl Effects<Self>) {
        let Some(mut row) = self.hosts.edit_core(host, 0).recvs.pop(self.window.pool()) else { return };
        let r = self.window.get(row);
        let (mut now, mut made) = (r.ready, r.stamp.created);
        for _ in 0..TURN {
            if now >= until {
                self.park(host, row, now, made);
                return self.set_alarm(host, now, fx);
            }
            let creator = Stamp { created: made, ..Stamp::default() };
            (now, made) = self.act(host, row, now, creator, fx);
            let Some(next) = self.only(made, fx) else { return };
            row = next;
            now = now.max(self.window.get(row).ready);
        }
        self.park(host, row, now, made);
        self.running_ahead.push_back(host);
    }

    /// Keeps a host's next operation for later.
    fn park(&mut self, host: u32, row: u32, now: Ps, made: Ps) {
        debug_assert!(
            self.hosts.core(host, 0).recvs.is_empty(),
            "a host that runs ahead has one operation at a time"
        );
        let r = self.window.rows().edit(row);
        r.ready = now;
        // Parked in the host's own list of receives, which a host that runs ahead does not use: it has one operation at a time.
        r.stamp.created = made;
        self.hosts.edit_core(host, 0).recvs.push(self.window.rows(), row);
    }

    /// Does an operation at `now`. Returns when the host goes on, and when what follows was created.
    fn act(&mut self, host: u32, row: u32, now: Ps, creator: Stamp, fx: &mut impl Effects<Self>) -> (Ps, Ps) {
        let op = self.window.get(row).op;
        debug_assert!(now >= self.hosts.core(host, 0).free, "a processor does one thing after another");
        self.hosts.edit_core(host, 0).free = now;
        // When it last did something; nothing else needs this clock here.
        self.hosts.edit_nic(host, 0).send = now;
        match op.kind {
            Kind::Calc => {
                let job = self.cx.place(self.rank(host)).job;
                let end = now + JobSetup::computing(op.amount, self.cx.compute_ppb[job as usize]);
                self.hosts.edit_core(host, 0).free = end;
                self.window.start(row, now, &mut self.freed);
                self.done(row, Done { act: Act::Calc, start: now, end }, Partner::NONE, fx);
                (end, now)
            }
            Kind::Send => {
                let what = What::Send { cpu: 0, nic: 0 };
                self.send(host, row, &Next { time: now, stamp: creator, what, row }, fx);
                (now, now)
            }
            _ => {
                self.window.start(row, now, &mut self.freed);
                // What only waits for the receive to be posted goes on at once; else the host goes on at the arrival.
                let goes_on = !self.freed.is_empty();
                let label = Label { rank: host, context: op.context, source: op.peer, tag: op.tag };
                self.window.rows().edit(row).ready = now;
                let Some(message) = self.matching.receive(label, row) else { return (now, now) };
                let m = *self.messages.get(message);
                self.messages.give(message);
                let at = now.max(m.arrival);
                self.received(row, at, at, &m, fx);
                if goes_on { (now, now) } else { (at, at) }
            }
        }
    }

    /// The one operation that was freed at `at`, once joins are over.
    fn only(&mut self, at: Ps, fx: &mut impl Effects<Self>) -> Option<u32> {
        let mut next = None;
        while let Some(row) = self.freed.pop() {
            let r = self.window.get(row);
            if r.op.kind == Kind::Join {
                let end = r.ready.max(at);
                self.window.start(row, end, &mut self.freed);
                self.done(row, Done { act: Act::Join, start: end, end }, Partner::NONE, fx);
            } else {
                debug_assert!(next.is_none(), "operations of a chain follow each other");
                next = Some(row);
            }
        }
        next
    }

    /// Matches a message that will be at a host that runs ahead.
    pub(super) fn meet(&mut self, host: u32, message: Message, fx: &mut impl Effects<Self>) {
        debug_assert!(self.row(message.to) == host && self.runs_ahead(host), "it goes to this host");
        if message.arrival >= self.cx.end {
            self.cell.edit(0).cut = true;
            return;
        }
        let Message { arrival, context, from, tag, bytes, number, .. } = message;
        let peer = self.source(&message);
        fx.record(Record::Arrival(Arrival {
            host: self.rank(host),
            from: peer,
            number,
            bytes,
            start: arrival,
            end: arrival,
        }));
        let row = self.messages.take(message);
        let Some(receive) = self.matching.arrive(Label { rank: host, context, source: from, tag }, row)
        else {
            return;
        };
        self.messages.give(row);
        // What the sender has freed is not the receiver's.
        std::mem::swap(&mut self.freed, &mut self.met);
        let at = self.window.get(receive).ready.max(message.arrival);
        self.received(receive, at, at, &message, fx);
        let made = at.max(self.hosts.nic(host, 0).send);
        if let Some(next) = self.only(made, fx) {
            let now = made.max(self.hosts.core(host, 0).free).max(self.window.get(next).ready);
            self.park(host, next, now, made);
            self.running_ahead.push_back(host);
        }
        std::mem::swap(&mut self.freed, &mut self.met);
    }
}
