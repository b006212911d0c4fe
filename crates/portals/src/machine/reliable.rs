//! End-to-end reliability: low-level acknowledgements, timers, sending again, giving up; and when a flight is forgotten.
//!
//! A reliable flight is open from its first transmission until it is acknowledged: by its answer, or by a low-level acknowledgement where there is none or
//! where it arrives again. All time-outs of a node are alike, so its timers are one queue.
//!
//! # Why nothing waits for ever
//!
//! A node has `entries` for open requests and as many for open answers. What waits for what:
//!
//! 1. Low-level acknowledgements and what is sent again wait for an engine alone: they overtake what waits for an entry. An engine is freed when its message
//!    has arrived or is lost, or when its payload has crossed the bus, which needs nothing else. So each of them goes onto the network in the end.
//! 2. An answer waits for one of its node's entries for answers. Those are held by answers under way. Each of these is acknowledged at low level where it
//!    arrives, which by 1 goes out whatever else waits there; if either is lost its timer rings, and by 1 it is sent again or given up after `retries`. So
//!    every entry for an answer is freed in the end, and every answer gets one.
//! 3. A request waits for an entry for requests. Those are held by requests that wait for their answer, which by 2 goes out, or for a low-level
//!    acknowledgement, which by 1 does; or they are given up. So every entry for a request is freed in the end.
//!
//! Each step needs only those before it, for one entry as for many. Messages that are held back for their turn hold no engine and no entry where they wait, and
//! what they wait for was sent before them from the same queue. `machine::tests` tries it with one to eight entries and losses.

use super::{Due, Flight, Machine, NONE, Timer};
use crate::core::{
    message::{Message, Request},
    types::{Fail, Memory},
};
use base::index::TerminalId;

/// Bytes of a payload for which a message that is over keeps room.
const KEPT: usize = 256;

impl Machine {
    /// A message arrived a second time: its acknowledgement may have been lost.
    pub(super) fn again(&mut self, flight: u32) {
        debug_assert!(self.flights[flight as usize].copies > 0, "what arrives was on the network");
        self.flights[flight as usize].copies -= 1;
        if self.flights[flight as usize].open {
            self.low_level(flight);
        }
        self.forget(flight);
    }

    /// Sends a low-level acknowledgement of a message.
    pub(super) fn low_level(&mut self, flight: u32) {
        // Nobody reads its message: any will do.
        let message = self.spare.take().unwrap_or_default();
        let &Flight { from, ends, serial, reliable, .. } = &self.flights[flight as usize];
        debug_assert!(reliable, "others are not acknowledged");
        let ack = Flight::new(message, from, ends.1, ends.0);
        let ack = self.take(Flight { answers: flight, answered: serial, low_level: true, ..ack });
        // The message must be there when it is acknowledged.
        self.flights[flight as usize].copies += 1;
        self.queue(ack);
    }

    /// A message is known to have arrived.
    pub(super) fn acknowledged(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &mut self.flights[flight as usize];
        if std::mem::take(&mut f.open) {
            f.over = true;
            let (node, request) = (f.ends.0, f.message.request);
            let exit = &mut self.nics[node].tx[usize::from(!request.is_request())];
            debug_assert!(exit.open > 0, "what is acknowledged was open");
            exit.open -= 1;
            if request.is_request() && request != Request::Get {
                self.sent(flight, Fail::Ok, memory);
            }
            self.start(node, false);
            self.start(node, true);
            self.forget(flight);
        }
    }

    /// Frees a flight that nobody needs.
    pub(super) fn forget(&mut self, flight: u32) {
        let f = &mut self.flights[flight as usize];
        let low = f.low_level.then_some(f.answers);
        if f.copies > 0 || (f.open && !f.low_level) {
            return;
        }
        debug_assert!(f.copies == 0, "no copy of it is under way");
        if f.low_level || f.over || !f.reliable {
            // Room for a small payload is used again.
            if f.message.data.capacity() <= KEPT {
                f.message.data.clear();
            } else {
                f.message.data = Vec::new();
            }
            f.over = true;
            f.answers = NONE;
            self.free.push(flight);
        }
        if let Some(of) = low {
            self.flights[of as usize].copies -= 1;
            self.forget(of);
        }
    }

    /// Sets a timer; those before it that nobody needs any more are forgotten.
    pub(super) fn set_timer(&mut self, node: TerminalId, timer: Timer) {
        while self.nics[node].timers.front().is_some_and(|&t| !self.is_valid(t)) {
            self.nics[node].timers.pop_front();
        }
        let nic = &mut self.nics[node];
        let last = nic.timers.back();
        debug_assert!(last.is_none_or(|t| t.deadline <= timer.deadline), "time-outs of a node are alike");
        nic.timers.push_back(timer);
        if !std::mem::replace(&mut nic.armed, true) {
            self.at(timer.deadline, Due::Timeout(node));
        }
    }

    /// True if a timer's flight still waits for the acknowledgement of that attempt.
    fn is_valid(&self, timer: Timer) -> bool {
        let f = &self.flights[timer.flight as usize];
        f.open && (f.serial, f.attempts) == (timer.serial, timer.attempt)
    }

    /// True if something would still happen at interfaces or on the network, but after the end of time.
    #[must_use]
    pub fn is_cut_off(&mut self) -> bool {
        let rings = |nic: &super::Nic| nic.timers.iter().any(|&timer| self.is_valid(timer));
        debug_assert!(self.now < self.end, "time goes on to its end at most");
        let rings = self.nics.cells().iter().any(rings);
        rings || !self.happened.is_empty() || self.due.has_more() || self.net.next().is_some()
    }

    /// A timer of a node rings.
    pub(super) fn timeout(&mut self, node: TerminalId, memory: &mut dyn Memory) {
        debug_assert!(self.nics[node].armed, "a timer that rings was set");
        self.nics[node].armed = false;
        while let Some(&timer) = self.nics[node].timers.front() {
            let Timer { deadline, flight, attempt, .. } = timer;
            let valid = self.is_valid(timer);
            if valid && deadline > self.now {
                if !std::mem::replace(&mut self.nics[node].armed, true) {
                    self.at(deadline, Due::Timeout(node));
                }
                return;
            }
            self.nics[node].timers.pop_front();
            if !valid {
                continue;
            }
            if attempt > self.of(node).retries {
                self.give_up(flight, memory);
            } else {
                self.counts.sent_again += 1;
                self.flights[flight as usize].copies += 1;
                self.queue(flight);
            }
        }
    }

    /// A message is sent no more: its initiator is informed.
    fn give_up(&mut self, flight: u32, memory: &mut dyn Memory) {
        self.counts.given_up += 1;
        let f = &mut self.flights[flight as usize];
        debug_assert!(f.open, "what was acknowledged is not given up");
        debug_assert!(f.reliable, "nobody waits for news of others");
        f.open = false;
        f.over = true;
        f.served = true;
        let (node, from, message, order) = (f.ends.0, f.from, f.message.clone(), f.order);
        let serial = self.flights[flight as usize].serial;
        if let Some(books) = &mut self.books {
            books.given_up(serial);
        }
        self.nics[node].tx[usize::from(!message.request.is_request())].open -= 1;
        if let Some((pair, order)) = order {
            if self.held.remove(&(pair, order)).is_some() {
                self.flights[flight as usize].copies -= 1;
            }
            let turn = self.order[pair as usize].1;
            if turn == order {
                self.pass_on(pair, order);
            } else if order > turn {
                self.skipped.insert((pair, order));
            }
        }
        if message.request.is_request() {
            let fetches = matches!(message.request, Request::Get | Request::FetchAtomic | Request::Swap);
            memory.of(from);
            self.processes[from].sent(message.ni, message.pending, Fail::Undeliverable, memory);
            let answer = Message {
                request: if fetches { Request::Reply } else { Request::Ack },
                ni: message.ni,
                pending: message.pending,
                ack: message.ack,
                fail: Fail::Undeliverable,
                ..Message::default()
            };
            self.processes[from].receive(&answer, memory);
            self.flush(from);
        }
        self.forget(flight);
        self.start(node, false);
        self.start(node, true);
    }
}
