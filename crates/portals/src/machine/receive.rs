//! The way in: a message has crossed the network, waits for its turn and for a receive engine, and is served.

use super::{Due, Flight, Happening, Machine, NONE};
use crate::{
    core::{
        message::{Message, Request},
        types::{AckReq, Fail, Memory},
    },
    nic::{Outage, Params},
};
use base::{index::RankId, time::Ps};

impl Machine {
    /// A message has crossed the network, or is lost at its end.
    pub(super) fn arrive(&mut self, flight: u32, memory: &mut dyn Memory) {
        let answers = self.answers(flight);
        let &Flight { ends, holds_engine, reliable, copies, .. } = &self.flights[flight as usize];
        debug_assert!(copies > 0, "what arrives was on the network");
        if holds_engine {
            self.engine_free(ends.0, answers);
        }
        if ends.0 != ends.1 && self.is_lost(flight) {
            self.counts.lost += 1;
            if reliable || answers {
                self.flights[flight as usize].copies -= 1;
                return self.forget(flight);
            }
            // Those behind it must not wait for it.
            self.flights[flight as usize].lost = true;
        }
        self.admit(flight, memory);
    }

    /// True if a message is lost, by chance, because the network has no path for it, or because the link of one of its ends was out of order while it was on the network.
    fn is_lost(&mut self, flight: u32) -> bool {
        if self.params.loss > 0.0 {
            self.counter += 1;
            if self.loss.at(self.counter).unit_open() < self.params.loss {
                return true;
            }
        }
        let (f, now) = (&self.flights[flight as usize], self.now);
        debug_assert!(f.launched <= now, "a message arrives after it was sent");
        if f.cut {
            return true;
        }
        let meets =
            |o: &Outage| (o.node == f.ends.0 || o.node == f.ends.1) && o.from <= now && f.launched < o.until;
        self.params.outages.iter().any(meets)
    }

    /// A message waits for its turn among those of its pair, then for a receive engine.
    pub(super) fn admit(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        if f.served {
            return self.again(flight);
        }
        if let Some((pair, order)) = f.order
            && order > self.order[pair as usize].1
        {
            if let Some(old) = self.held.insert((pair, order), flight) {
                debug_assert_eq!(old, flight, "a place in the order belongs to one message");
                self.flights[flight as usize].copies -= 1;
            }
            return;
        }
        self.enter(flight, memory);
    }

    pub(super) fn enter(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &mut self.flights[flight as usize];
        if f.served {
            return self.again(flight);
        }
        f.served = true;
        let (pair, node) = (f.order, f.ends.1);
        let time =
            if f.low_level { 0 } else { receiving(self.of(node), &self.flights[flight as usize].message) };
        if let Some((pair, order)) = pair {
            if let Some(books) = &mut self.books {
                books.enters(pair, order);
            }
            self.pass_on(pair, order);
        }
        if self.flights[flight as usize].lost {
            let f = &mut self.flights[flight as usize];
            f.copies -= 1;
            f.over = true;
            if let Some(books) = self.books.as_mut().filter(|_| !f.low_level) {
                books.given_up(f.serial);
            }
            // Its data have left their memory all the same.
            if f.message.request.is_request() {
                self.sent(flight, Fail::Ok, memory);
            }
            return self.forget(flight);
        }
        if let Some((pair, _)) = pair {
            let (begun, served) = &mut self.received[pair as usize];
            let before = std::mem::replace(begun, *begun + 1);
            // A get needs no engine, and must not pass the puts of its pair that are in one or wait for one.
            if time == 0 && *served < before {
                self.behind.insert((pair, before), flight);
                return;
            }
        }
        if time == 0 {
            return self.serve_in_order(flight, memory);
        }
        let (answers, engines) = (self.answers(flight), self.of(node).rx_engines);
        let rx = &mut self.nics[node].rx[usize::from(answers)];
        debug_assert!(rx.1 <= engines, "no more engines are busy than there are");
        if rx.1 < engines {
            rx.1 += 1;
            self.at(self.now + time, Due::Received(flight));
        } else {
            rx.0.push_back(flight);
        }
    }

    /// A receive engine is done with a message.
    pub(super) fn received(&mut self, flight: u32, memory: &mut dyn Memory) {
        let (node, answers) = (self.flights[flight as usize].ends.1, self.answers(flight));
        let rx = &mut self.nics[node].rx[usize::from(answers)];
        if let Some(next) = rx.0.pop_front() {
            let time = receiving(self.of(node), &self.flights[next as usize].message);
            self.at(self.now + time, Due::Received(next));
        } else {
            debug_assert!(rx.1 > 0, "the engine was busy");
            rx.1 -= 1;
        }
        self.serve_in_order(flight, memory);
    }

    /// Serves a message, and those of its pair that waited for it alone. Ordered messages that need an engine all need it equally long, so they leave
    /// the engines of a node in the order in which they entered.
    fn serve_in_order(&mut self, flight: u32, memory: &mut dyn Memory) {
        let pair = self.flights[flight as usize].order.map(|(pair, _)| pair);
        self.serve(flight, memory);
        let Some(pair) = pair else { return };
        loop {
            let (begun, served) = &mut self.received[pair as usize];
            *served += 1;
            debug_assert!(*served <= *begun, "no more is served than was received");
            if self.behind.is_empty() {
                return;
            }
            let Some(next) = self.behind.remove(&(pair, *served)) else { return };
            self.serve(next, memory);
        }
    }

    /// The target, or the initiator of what is answered, takes a message.
    pub(super) fn serve(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        debug_assert!(f.served, "a message is served in its turn");
        debug_assert!(f.copies > 0, "a message that is served has arrived");
        let (answers, answered, low_level, reliable) = (f.answers, f.answered, f.low_level, f.reliable);
        let unacknowledged = !reliable && f.message.request.is_request();
        if answers != NONE && self.flights[answers as usize].serial == answered {
            self.acknowledged(answers, memory);
        }
        if low_level {
            self.flights[flight as usize].over = true;
            self.flights[flight as usize].copies -= 1;
            return self.forget(flight);
        }
        let to = self.flights[flight as usize]
            .to
            .or_else(|| self.rank_of(self.flights[flight as usize].message.target));
        if let Some(books) = &mut self.books {
            let f = &self.flights[flight as usize];
            books.served(f.serial, &f.message, f.from, to);
        }
        // The message is lent to the process: nothing else looks at it meanwhile.
        let spare = self.spare.take().unwrap_or_default();
        let message = std::mem::replace(&mut self.flights[flight as usize].message, spare);
        debug_assert_eq!(self.serving.0, NONE, "one message is served at a time");
        self.serving = (flight, false);
        match to {
            Some(to) => {
                memory.of(to);
                self.processes[to].receive(&message, memory);
                self.flush(to);
                self.served[to] += 1;
                if self.watched[to] {
                    self.happened.push_back(Happening::Rank(to));
                }
            }
            None => self.undeliverable(&message, self.flights[flight as usize].from),
        }
        let (_, answered) = std::mem::replace(&mut self.serving, (NONE, false));
        let f = &mut self.flights[flight as usize];
        let (spare, from) = (std::mem::replace(&mut f.message, message), f.from);
        f.copies -= 1;
        f.over = !f.open;
        self.keep(to.unwrap_or(from), spare);
        if unacknowledged {
            self.sent(flight, Fail::Ok, memory);
        }
        if reliable && !answered {
            self.low_level(flight);
        }
        self.forget(flight);
    }

    /// A message without a target is answered in its name.
    pub(super) fn undeliverable(&mut self, m: &Message, from: RankId) {
        let fetches = matches!(m.request, Request::Get | Request::FetchAtomic | Request::Swap);
        if !m.request.is_request() || (m.ack == AckReq::None && !fetches) {
            return;
        }
        let answer = Message {
            request: if fetches { Request::Reply } else { Request::Ack },
            ni: m.ni,
            target: m.source,
            pending: m.pending,
            ack: m.ack,
            fail: Fail::Undeliverable,
            ..Message::default()
        };
        self.post(from, Box::new(answer));
    }
}

/// Time of a receive engine for a message.
fn receiving(p: &Params, m: &Message) -> Ps {
    match m.request {
        Request::Reply => p.first_packet_time(m.payload()),
        Request::Get | Request::Ack => 0,
        _ => p.put_time,
    }
}
