//! The machine on the engine: an alarm per host for its next step; messages to other partitions.
//!
//! Uncoupled hosts act on each other by messages that take time, so each runs by itself: at its alarm it does what is due, and goes on as long as nothing unknown can reach it.
//! Coupled hosts share one order: at each instant all alarms only note who is due and for what, then one handler takes the steps of all by
//! time and stamp, those in the past first. It knows the order ahead, so it touches early what later steps need.

use super::machine::{Entry, Machine, Message, Next, Record, What};
use crate::rank::window::Stamp;
use base::time::{NEVER, Ps};
use engine::{
    domain::{Domain, Effects},
    key::Class,
    state::{Journal, NIL},
};

/// How many entries ahead of its turn each stage of [`Machine::prepare`] is called.
const AHEAD: [usize; 5] = [20, 16, 12, 8, 4];

impl Domain for Machine {
    type Message = Message;
    type Record = Record;

    fn start(&mut self, fx: &mut impl Effects<Self>) {
        for host in 0..self.count() {
            let start = self.cx.starts[self.cx.places[(self.first + host) as usize].job as usize];
            let mut freed = std::mem::take(&mut self.freed);
            self.window.refill(host, start, &mut freed);
            self.freed = freed;
            self.create(start, Stamp::default(), fx);
            if let Some(next) = self.next(host) {
                self.set_alarm(host, next.time, fx);
            }
        }
    }

    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        let now = fx.now();
        if token == self.count() {
            return self.instant(now, fx);
        }
        let host = *self.hosts.get(token);
        if host.alarm != now {
            return;
        }
        let h = self.hosts.edit(token);
        h.alarm = h.spare;
        h.spare = NEVER;
        if self.cx.coupled { self.note(token, fx) } else { self.run(token, now, fx) }
    }

    fn receive(&mut self, message: &Message, fx: &mut impl Effects<Self>) {
        let host = message.to - self.first;
        self.take_in(host, *message);
        self.set_alarm(host, fx.now(), fx);
    }

    fn tables(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.all_tables(visit);
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

impl Machine {
    /// Sees to it that a host is woken at `at`, if it is not woken earlier.
    pub(super) fn set_alarm(&mut self, host: u32, at: Ps, fx: &mut impl Effects<Self>) {
        let first = self.first;
        if at >= self.hosts.get(host).alarm {
            return;
        }
        if at >= self.cx.end {
            self.cell.edit(0).cut = true;
            return;
        }
        let h = self.hosts.edit(host);
        h.spare = h.alarm.min(h.spare);
        h.alarm = at;
        h.alarms = h.alarms.wrapping_add(1);
        let identity = u64::from(first + host) << 32 | u64::from(h.alarms);
        fx.wake(at, Class::Ordinary, identity, host);
    }

    /// Takes the steps of an uncoupled host that are due, and those that nothing unknown can precede.
    fn run(&mut self, host: u32, now: Ps, fx: &mut impl Effects<Self>) {
        let until = (now + self.cx.ahead.max(1)).min(self.cx.end);
        while let Some(next) = self.next(host) {
            if next.time >= until {
                return self.set_alarm(host, next.time, fx);
            }
            self.step(host, &next, fx);
        }
    }

    /// Finds out what a coupled host does next: an entry if it is due, else an alarm.
    fn look(&mut self, host: u32, now: Ps, fx: &mut impl Effects<Self>) -> Option<Entry> {
        let looks = &mut self.hosts.edit(host).looks;
        *looks = looks.wrapping_add(1);
        let looks = *looks;
        let Next { time, stamp, what, row } = self.next(host)?;
        let entry = Entry { time, created: stamp.created, host, looks, row, what };
        if time <= now {
            return Some(entry);
        }
        self.set_alarm(host, time, fx);
        None
    }

    /// Notes what a coupled host does that may be due now.
    fn note(&mut self, host: u32, fx: &mut impl Effects<Self>) {
        let Some(entry) = self.look(host, fx.now(), fx) else { return };
        let cell = self.cell.edit(0);
        *self.due.edit(cell.due) = entry;
        cell.due += 1;
        if cell.due == 1 {
            cell.instants = cell.instants.wrapping_add(1);
            let identity = u64::MAX << 32 | u64::from(cell.instants);
            fx.wake(fx.now(), Class::Ordinary, identity, self.hosts.len());
        }
    }

    /// Takes all steps of coupled hosts up to now, in one order: what was noted, sorted, and what these steps make due, in a heap.
    fn instant(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        let count = std::mem::replace(&mut self.cell.edit(0).due, 0);
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.extend_from_slice(&self.due.rows()[..count as usize]);
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        for (n, &entry) in sorted.iter().enumerate() {
            for (stage, ahead) in AHEAD.into_iter().enumerate() {
                if let Some(later) = sorted.get(n + ahead) {
                    self.prepare(stage, later);
                }
            }
            while let Some(&first) = self.instant.peek().filter(|&&first| first > entry) {
                self.instant.pop();
                self.turn(first, now, fx);
            }
            self.turn(entry, now, fx);
        }
        while let Some(first) = self.instant.pop() {
            self.turn(first, now, fx);
        }
        sorted.clear();
        self.sorted = sorted;
    }

    /// Takes a step, unless what the host does next was found out anew since.
    fn turn(&mut self, entry: Entry, now: Ps, fx: &mut impl Effects<Self>) {
        let Entry { time, created, host, looks, row, what } = entry;
        if self.hosts.get(host).looks != looks {
            return;
        }
        self.step(host, &Next { time, stamp: Stamp { created, creator: 0, who: 0 }, what, row }, fx);
        self.touched.push(host);
        while let Some(host) = self.touched.pop() {
            if let Some(entry) = self.look(host, now, fx) {
                self.instant.push(entry);
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
            (2.., What::Arrival | What::Ready { .. }) => self.prepare_receive(stage - 2, host),
            _ => {}
        }
    }

    /// Touches the host to which a send goes.
    #[inline]
    fn prepare_send(&self, host: u32, row: u32) {
        if row != NIL {
            let here = self.cx.places[(self.first + host) as usize];
            let to = self.cx.bases[here.job as usize] + self.window.get(row).op.peer;
            self.hosts.prefetch(to.wrapping_sub(self.first));
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
