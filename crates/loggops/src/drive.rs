//! The machine on the engine: an alarm per host for its next step; messages to other partitions.
//!
//! In one partition, what each host does next stands in a calendar, and one event for each of its slots takes the steps that are due. Coupled
//! hosts share one order: all steps by time and stamp, those in the past first. Uncoupled hosts act on each other by messages that take at least as
//! long as a slot, so one host after the other does all that it has to do in the slot. Either way the order of the slot's hosts is known
//! ahead, so that what later steps need is touched early. In several partitions each host has an alarm. Hosts that nothing can stop but a message
//! that is not there run ahead ([`super::run_ahead`]).

use super::{
    calendar::Put,
    domain::{DelayDomain, Message, Next, Record},
    entry::{Entry, What},
};
use base::time::{NEVER, Ps};
use engine::{
    domain::{Domain, Effects},
    key::Class,
    state::{Journal, NIL},
};
use ranks::{matching::Label, operations::Stamp};

/// How many entries ahead of its turn each stage of [`DelayDomain::prepare`] is called.
const AHEAD: [usize; 5] = [20, 16, 12, 8, 4];

impl Domain for DelayDomain {
    type Message = Message;
    type Record = Record;

    fn start(&mut self, fx: &mut impl Effects<Self>) {
        for host in 0..self.count() {
            let start = self.cx.starts[self.cx.place(self.rank(host)).job as usize];
            let mut freed = std::mem::take(&mut self.freed);
            self.window.refill(host, start, &mut freed);
            self.freed = freed;
            if !self.runs_ahead(host) {
                self.create(start, Stamp::default(), fx);
            }
            if self.runs_ahead(host) {
                self.begin(host, start, fx);
            } else if self.cx.filed {
                self.file(host, fx);
            } else if let Some(next) = self.next(host) {
                self.set_alarm(host, next.time, fx);
            }
        }
    }

    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        let now = fx.now();
        if token == self.count() {
            return self.slot(now, fx);
        }
        if self.cx.filed && !self.runs_ahead(token) {
            // Only what it does next counts, not what it would have done.
            if self.hosts.get(token).alarm < self.calendar.slot_end(now) {
                self.file(token, fx);
            }
            return;
        }
        let host = *self.hosts.get(token);
        if host.alarm != now {
            return;
        }
        let h = self.hosts.edit(token);
        h.alarm = h.spare;
        h.spare = NEVER;
        if self.runs_ahead(token) {
            self.running_ahead.push_back(token);
        } else {
            self.run(token, now, fx);
        }
        self.run_ahead(now, fx);
    }

    fn receive(&mut self, message: &Message, fx: &mut impl Effects<Self>) {
        let host = self.row(message.to);
        debug_assert!(host < self.count(), "a message is delivered to the partition of its receiver");
        self.take_in(host, *message);
        self.set_alarm(host, fx.now(), fx);
    }

    fn abandon(&mut self) {
        self.freed.clear();
        self.answered.clear();
        self.met.clear();
        self.touched.clear();
        self.running_ahead.clear();
        self.instant.clear();
        self.due.clear();
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.visit_all_journals(visit);
    }

    fn lookahead(&self, _to: u32) -> Option<Ps> {
        Some(self.cx.lookahead())
    }

    fn large(&self) -> bool {
        self.count() >= 2048
    }

    #[inline]
    fn prefetch(&self, stage: usize, token: u32) {
        if token >= self.count() {
            return;
        }
        match stage {
            0 => {
                self.hosts.prefetch(token);
                self.matching.prefetch(token);
            }
            1 => {
                let (core, lane) = (self.hosts.core(token, 0), self.hosts.lane(token, 0, 0));
                for message in [self.hosts.get(token).inbox, lane.ready] {
                    self.messages.prefetch(message);
                    self.messages.prefetch_end(message);
                }
                for head in [core.calcs.head, core.recvs.head, lane.sends.head] {
                    self.window.prefetch(head);
                }
                self.matching.prefetch_oldest(token);
            }
            2 => {
                self.prepare_send(token, self.hosts.lane(token, 0, 0).sends.head);
                self.prepare_receive(0, token);
            }
            3 => self.prepare_receive(1, token),
            _ => {}
        }
    }
}

impl DelayDomain {
    /// Sees to it that a host is woken at `at`, if it is not woken earlier.
    pub(super) fn set_alarm(&mut self, host: u32, at: Ps, fx: &mut impl Effects<Self>) {
        let rank = self.rank(host);
        if at >= self.hosts.get(host).alarm {
            return;
        }
        if at >= self.cx.end {
            self.cell.edit(0).cut = true;
            return;
        }
        let h = self.hosts.edit(host);
        h.spare = h.alarm.min(h.spare);
        debug_assert!(at < h.alarm && at >= fx.now(), "an alarm is moved forward, and not into the past");
        h.alarm = at;
        h.alarms = h.alarms.wrapping_add(1);
        let identity = u64::from(rank.number()) << 32 | u64::from(h.alarms);
        fx.wake(at, Class::Ordinary, identity, host);
    }

    /// Takes the steps of a host that are due.
    fn run(&mut self, host: u32, now: Ps, fx: &mut impl Effects<Self>) {
        while let Some(next) = self.next(host) {
            if next.time > now {
                return self.set_alarm(host, next.time, fx);
            }
            self.step(host, &next, fx);
        }
    }

    /// Finds out what a host does next; what it was found to do before is void.
    fn look(&mut self, host: u32) -> Option<Entry> {
        let next = self.next(host);
        self.note(host, next)
    }

    fn note(&mut self, host: u32, next: Option<Next>) -> Option<Entry> {
        let h = self.hosts.edit(host);
        h.looks = h.looks.wrapping_add(1);
        h.alarm = next.map_or(NEVER, |n| n.time);
        let looks = h.looks;
        let Next { time, stamp, what, row } = next?;
        debug_assert!(row != NIL, "what comes next has a row");
        if time >= self.cx.end {
            self.cell.edit(0).cut = true;
            return None;
        }
        Some(Entry { time, created: stamp.created, host, looks, row, what })
    }

    /// Finds out what a host does next and puts it into the calendar.
    fn file(&mut self, host: u32, fx: &mut impl Effects<Self>) {
        debug_assert!(
            self.cx.filed && !self.runs_ahead(host),
            "only what hosts do one after another stands in the calendar"
        );
        if let Some(entry) = self.look(host) {
            self.put(entry, fx);
        }
    }

    fn put(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        match self.calendar.put(entry, fx.now()) {
            Put::Filed => {}
            Put::First(at) => {
                let slots = &mut self.cell.edit(0).slots;
                *slots = slots.wrapping_add(1);
                let identity = u64::MAX << 32 | u64::from(*slots);
                fx.wake(at, Class::Ordinary, identity, self.hosts.len());
            }
            Put::Far(at) => {
                let identity = u64::from(entry.host) << 32 | u64::from(entry.looks);
                fx.wake(at, Class::Early, identity, entry.host);
            }
        }
    }

    /// Takes all steps of a slot of the calendar.
    fn slot(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        let mut due = std::mem::take(&mut self.due);
        debug_assert!(
            due.is_empty() && self.instant.is_empty(),
            "a slot is done with at the end of its event"
        );
        self.calendar.take(now, |e| self.hosts.get(e.host).looks == e.looks, &mut due);
        let end = self.calendar.slot_end(now);
        if self.cx.coupled {
            due.sort_unstable_by(|a, b| b.cmp(a));
        } else {
            due.sort_unstable_by_key(|e| e.host);
        }
        // Few hosts stay in the caches.
        let prepares = self.large();
        for (n, &entry) in due.iter().enumerate() {
            for (stage, ahead) in AHEAD.into_iter().enumerate().filter(|_| prepares) {
                if let Some(later) = due.get(n + ahead) {
                    self.prepare(stage, later);
                }
            }
            if !self.cx.coupled {
                self.sweep(entry, end, fx);
                continue;
            }
            // What these steps make due is in a heap.
            while let Some(&first) = self.instant.peek().filter(|&&first| first > entry) {
                self.instant.pop();
                self.turn(first, end, fx);
            }
            self.turn(entry, end, fx);
        }
        while let Some(first) = self.instant.pop() {
            self.turn(first, end, fx);
        }
        due.clear();
        self.due = due;
    }

    /// An uncoupled host does all that it has to do before `end`.
    fn sweep(&mut self, entry: Entry, end: Ps, fx: &mut impl Effects<Self>) {
        let end = end.min(self.cx.end);
        debug_assert!(
            !self.cx.coupled && entry.time < end,
            "an uncoupled host has something to do in its slot"
        );
        let Entry { time, created, host, what, row, .. } = entry;
        let mut next = Next { time, stamp: Stamp { created, creator: 0, who: 0 }, what, row };
        loop {
            self.step(host, &next, fx);
            while let Some(host) = self.touched.pop() {
                self.file(host, fx);
            }
            match self.next(host) {
                Some(n) if n.time < end => next = n,
                later => return self.note(host, later).map_or((), |entry| self.put(entry, fx)),
            }
        }
    }

    /// Takes a step, unless what the host does next was found out anew since.
    fn turn(&mut self, entry: Entry, end: Ps, fx: &mut impl Effects<Self>) {
        let Entry { time, created, host, looks, row, what } = entry;
        if self.hosts.get(host).looks != looks {
            return;
        }
        debug_assert!(self.cx.coupled && time < end, "what is due lies in the slot");
        self.step(host, &Next { time, stamp: Stamp { created, creator: 0, who: 0 }, what, row }, fx);
        self.touched.push(host);
        while let Some(host) = self.touched.pop() {
            match self.look(host) {
                Some(entry) if entry.time < end => self.instant.push(entry),
                Some(entry) => self.put(entry, fx),
                None => {}
            }
        }
    }

    /// Touches what a later entry's turn will need: its row, the host, what is matched there, and what that frees; or where a message goes.
    #[inline]
    fn prepare(&self, stage: usize, entry: &Entry) {
        let Entry { host, row, what, .. } = *entry;
        match (stage, what) {
            (0, _) => {
                self.hosts.prefetch(host);
                self.matching.prefetch(host);
                if matches!(what, What::Arrival | What::Ready { .. }) {
                    self.messages.prefetch(row);
                    self.messages.prefetch_end(row);
                } else {
                    self.window.prefetch(row);
                }
            }
            (1, What::Send { .. }) => self.prepare_send(host, row),
            (1, What::Recv { .. } | What::Arrival | What::Ready { .. }) => {
                self.matching.prefetch_oldest(host)
            }
            (3, What::Send { .. } | What::Calc { .. }) => self.window.prefetch_edge(row),
            (4, What::Send { .. } | What::Calc { .. }) => self.window.prefetch_freed(row),
            (2.., What::Arrival | What::Ready { .. }) => {
                self.prepare_receive(stage - 2, host);
                let &Message { context, from, tag, .. } = self.messages.get(row);
                let label = Label { rank: host, context, source: from, tag };
                self.matching.prefetch_label(&label, stage > 2);
            }
            _ => {}
        }
    }

    /// Touches the host to which a send goes.
    #[inline]
    fn prepare_send(&self, host: u32, row: u32) {
        if row != NIL {
            let here = self.cx.place(self.rank(host));
            let to = self.cx.host(here.job, self.window.get(row).op.peer);
            self.hosts.prefetch(self.row(to));
        }
    }

    /// Touches the receive that a message will probably take.
    #[inline]
    fn prepare_receive(&self, stage: usize, host: u32) {
        if let Some(row) = self.matching.first_posted(host) {
            match stage {
                0 => self.window.prefetch(row),
                1 => self.window.prefetch_edge(row),
                _ => self.window.prefetch_freed(row),
            }
        }
    }
}
