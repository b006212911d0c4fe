//! The machine on the engine: an alarm per host for its next step; messages to other partitions.
//!
//! Uncoupled hosts act on each other by messages that take time, so each runs by itself: at its alarm it does what is due, and goes on as long as nothing unknown can reach it.
//! Coupled hosts share one order: at each instant all alarms only note who is due, then one handler takes the steps of all by
//! time and stamp, those in the past first.

use super::machine::{Machine, Message, Record};
use crate::rank::window::Stamp;
use base::time::{NEVER, Ps};
use engine::{
    domain::{Domain, Effects},
    key::Class,
    state::{Journal, NIL},
};
use std::cmp::Reverse;

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
        let (core, nic) = (token * self.cx.cpus, token * self.cx.nics);
        match stage {
            0 => {
                self.hosts.prefetch(token);
                self.cores.prefetch(core);
                self.nics.prefetch(nic);
                self.lanes.prefetch(core * self.cx.nics);
                self.matching.prefetch(token);
            }
            1 => {
                let (core, lane) = (self.cores.get(core), self.lanes.get(core * self.cx.nics));
                self.messages.prefetch(self.hosts.get(token).inbox);
                for head in [core.calcs.head, core.recvs.head, lane.sends.head] {
                    if head != NIL {
                        self.window.prefetch(head);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Machine {
    /// Sees to it that a host is woken at `at`, if it is not woken earlier.
    fn set_alarm(&mut self, host: u32, at: Ps, fx: &mut impl Effects<Self>) {
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
            self.step(host, next, fx);
            while let Some(other) = self.touched.pop() {
                if other != host
                    && let Some(next) = self.next(other)
                {
                    self.set_alarm(other, next.time, fx);
                }
            }
        }
    }

    /// Notes that a coupled host is due now.
    fn note(&mut self, host: u32, fx: &mut impl Effects<Self>) {
        let cell = self.cell.edit(0);
        let first = cell.due == NIL;
        self.hosts.edit(host).due = if first { host } else { cell.due };
        cell.due = host;
        if first {
            cell.instants = cell.instants.wrapping_add(1);
            let identity = u64::MAX << 32 | u64::from(cell.instants);
            fx.wake(fx.now(), Class::Ordinary, identity, self.count());
        }
    }

    /// Takes all steps of coupled hosts up to now, in one order.
    fn instant(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        let mut host = std::mem::replace(&mut self.cell.edit(0).due, NIL);
        while host != NIL {
            let next = std::mem::replace(&mut self.hosts.edit(host).due, NIL);
            self.touched.push(host);
            // The first one noted leads to itself.
            host = if next == host { NIL } else { next };
        }
        self.look(now, fx);
        while let Some(Reverse((time, stamp, host))) = self.instant.pop() {
            // Whoever changes what a host does next makes a new entry: an old one is void.
            if let Some(next) = self.next(host).filter(|n| (n.time, n.stamp) == (time, stamp)) {
                self.step(host, next, fx);
                self.touched.push(host);
                self.look(now, fx);
            }
        }
    }

    /// Makes entries for what touched hosts do next: in this instant's heap if it is due, else an alarm.
    fn look(&mut self, now: Ps, fx: &mut impl Effects<Self>) {
        while let Some(host) = self.touched.pop() {
            match self.next(host) {
                Some(next) if next.time <= now => self.instant.push(Reverse((next.time, next.stamp, host))),
                Some(next) => self.set_alarm(host, next.time, fx),
                None => {}
            }
        }
    }
}
