//! The second look of `--check` at interfaces: every message is served once, in its turn, as it was posted; and all that is under way is where it should be.
//!
//! [`Books`] hear what is posted, put on the network and served, and know flights by their serials alone. [`Machine::faults`] finds every copy of every
//! flight (queues, engines, the network, turns, what is due) and compares with what flights, engines and pairs say of themselves.

use super::{
    Due, Exit, Flight, Machine, NONE,
    agenda::Item,
    books::{Books, digest},
};
use base::sorted::{SortedMap, SortedSet};
use std::cmp::Reverse;

/// Most faults that are kept.
const MOST: usize = 16;

/// What is due, by what it is for.
#[derive(Default)]
struct Dues {
    /// Copies of flights: where they are does not matter.
    copies: SortedMap<u32, u32>,
    /// Copies in the hands of an engine that sends: fetched, and not yet at their end.
    in_hand: SortedMap<u32, u32>,
    /// By node and engine.
    engines: SortedMap<(u32, bool), u32>,
    receiving: SortedMap<(u32, bool), u32>,
    controls: SortedMap<u32, usize>,
    alarms: SortedSet<u32>,
}

impl Machine {
    /// What is wrong, by the books and in the state as a whole; nothing unless [`Params::check`](crate::nic::Params::check) asks for it. Between two calls of [`Machine::next`].
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let Some(books) = &self.books else { return Vec::new() };
        let mut faults = books.faults.clone();
        let dues = self.dues();
        self.copies(books, &dues, &mut faults);
        self.flights_and_books(books, &mut faults);
        self.interfaces(books, &dues, &mut faults);
        self.pairs(&mut faults);
        self.receptions(&mut faults);
        faults.truncate(MOST);
        faults
    }

    fn dues(&self) -> Dues {
        let mut dues = Dues::default();
        for Reverse(Item { due, .. }) in self.due.items() {
            match *due {
                Due::Launch(f) | Due::Arrive(f) => {
                    *dues.copies.entry(f).or_default() += 1;
                    *dues.in_hand.entry(f).or_default() += 1;
                }
                Due::Admit(f) => *dues.copies.entry(f).or_default() += 1,
                Due::Received(f) => {
                    *dues.copies.entry(f).or_default() += 1;
                    let node = self.flights.get(f as usize).map_or(0, |f| f.ends.1.number());
                    let answers = self.flights.get(f as usize).is_some() && self.answers(f);
                    *dues.receiving.entry((node, answers)).or_default() += 1;
                }
                Due::EngineFree(node, answers) => {
                    *dues.engines.entry((node.number(), answers)).or_default() += 1;
                }
                Due::Control(node) => *dues.controls.entry(node.number()).or_default() += 1,
                Due::Timeout(node) => dues.alarms.extend([node.number()]),
                Due::Wake(_) => {}
            }
        }
        dues
    }

    /// Every copy of a flight is somewhere, and nothing is a copy of none.
    fn copies(&self, books: &Books, dues: &Dues, faults: &mut Vec<String>) {
        let mut found = dues.copies.clone();
        let mut add = |flight: u32, copies: u32| *found.entry(flight).or_default() += copies;
        for nic in self.nics.cells() {
            nic.tx.iter().flat_map(Exit::waiting).for_each(|flight| add(flight, 1));
            nic.rx.iter().flat_map(|(queue, _)| queue).for_each(|&flight| add(flight, 1));
        }
        self.held.values().chain(self.behind.values()).for_each(|&flight| add(flight, 1));
        let on_network = (0..).zip(&books.on_network).filter(|(_, copies)| **copies > 0);
        on_network.for_each(|(flight, &copies)| add(flight, copies));
        let free: SortedSet<u32> = self.free.iter().copied().collect();
        if free.len() != self.free.len() {
            faults.push("a flight's place is free twice".to_owned());
        }
        let in_use = || (0u32..).zip(&self.flights).filter(|(place, _)| !free.contains(place));
        // Who is acknowledged must be there when the acknowledgement is.
        in_use().filter(|(_, f)| f.low_level).for_each(|(_, f)| add(f.answers, 1));
        for (place, f) in in_use() {
            let copies = found.remove(&place).unwrap_or(0);
            if copies != f.copies {
                faults.push(format!("flight {place} counts {} copies, {copies} are there", f.copies));
            }
            if copies == 0 && !f.open && !f.low_level {
                faults.push(format!("flight {place} is kept and nobody needs it"));
            }
        }
        if let Some(flight) = found.keys().next() {
            faults.push(format!("a copy of flight {flight} is there, and no such flight"));
        }
    }

    /// What is posted and not served is a flight, as it was posted; what is served is in no books.
    fn flights_and_books(&self, books: &Books, faults: &mut Vec<String>) {
        let free: SortedSet<u32> = self.free.iter().copied().collect();
        let mut left = books.posted.all();
        for (place, f) in (0u32..).zip(&self.flights).filter(|(p, f)| !free.contains(p) && !f.low_level) {
            match left.remove(&f.serial) {
                Some(p) => {
                    let same = p.digest == digest(&f.message) && (p.from, p.to) == (f.from, f.to);
                    if !same || p.order != f.order {
                        faults.push(format!("flight {place} is not what was posted"));
                    }
                }
                // It entered its engine: served from then on, and in the books until the engine is done.
                None if f.served || f.over => {}
                None => faults.push(format!("flight {place} was never posted, or was served before")),
            }
            if f.ends.0 != self.node(f.from) || f.to.is_some_and(|to| self.node(to) != f.ends.1) {
                faults.push(format!("flight {place} leaves or reaches another node than its ranks'"));
            }
        }
        if let Some(serial) = left.keys().next() {
            faults.push(format!("message {serial} was neither served nor given up, and is nowhere"));
        }
    }

    /// Engines, entries, timers and what crosses the bus, by node.
    fn interfaces(&self, books: &Books, dues: &Dues, faults: &mut Vec<String>) {
        let free: SortedSet<u32> = self.free.iter().copied().collect();
        let mut held: SortedMap<(u32, bool), u32> = SortedMap::new();
        let mut open: SortedMap<(u32, bool), u32> = SortedMap::new();
        for (place, f) in (0u32..).zip(&self.flights).filter(|(place, _)| !free.contains(place)) {
            let node = f.ends.0.number();
            if f.holds_engine {
                let of = |map: &SortedMap<u32, u32>| map.get(&place).copied().unwrap_or(0);
                *held.entry((node, self.answers(place))).or_default() +=
                    of(&dues.in_hand) + books.on_network.get(place as usize).copied().unwrap_or(0);
            }
            if f.open && !f.low_level {
                *open.entry((node, self.answers(place))).or_default() += 1;
                self.news(place, f, faults);
            }
        }
        for (node, nic) in self.nics.iter() {
            let n = node.number();
            for answers in [false, true] {
                let count = |of: &SortedMap<(u32, bool), u32>| of.get(&(n, answers)).copied().unwrap_or(0);
                let (exit, receives) = (&nic.tx[usize::from(answers)], nic.rx[usize::from(answers)].1);
                if exit.busy != count(&held) + count(&dues.engines) {
                    faults.push(format!("node {n} counts {} engines that send", exit.busy));
                }
                if exit.open != count(&open) {
                    faults.push(format!("node {n} counts {} open messages", exit.open));
                }
                if receives != count(&dues.receiving) {
                    faults.push(format!("node {n} counts {receives} engines that receive"));
                }
            }
            if nic.controls.len() != dues.controls.get(&n).copied().unwrap_or(0) {
                faults
                    .push(format!("{} things cross the bus of node {n}, others are due", nic.controls.len()));
            }
            if nic.armed != dues.alarms.contains(&n) || (!nic.armed && !nic.timers.is_empty()) {
                faults.push(format!("the timers of node {n} are not those that are set"));
            }
        }
    }

    /// A message that waits for an acknowledgement will be sent, or has a timer.
    fn news(&self, place: u32, f: &Flight, faults: &mut Vec<String>) {
        let waits = self.nics[f.ends.0].tx.iter().flat_map(Exit::waiting).any(|flight| flight == place);
        let due = self.due.items().any(|item| item.0.due == Due::Launch(place));
        let timers = &self.nics[f.ends.0].timers;
        let timed = timers.iter().any(|t| (t.flight, t.serial, t.attempt) == (place, f.serial, f.attempts));
        if !(waits || due || timed) {
            faults.push(format!("flight {place} waits for an acknowledgement without a timer"));
        }
        if f.answers != NONE && f.answers as usize >= self.flights.len() {
            faults.push(format!("flight {place} answers none"));
        }
    }

    /// What is being received, by pair: in an engine, waiting for one, or behind those.
    fn receptions(&self, faults: &mut Vec<String>) {
        let turn = |flight: u32| self.flights.get(flight as usize).and_then(|f| f.order);
        let in_engines = self.due.items().filter_map(|Reverse(item)| match item.due {
            Due::Received(flight) => Some(flight),
            _ => None,
        });
        let waiting =
            self.nics.cells().iter().flat_map(|nic| nic.rx.iter()).flat_map(|rx| rx.0.iter().copied());
        let all = in_engines.chain(waiting).chain(self.behind.values().copied());
        let there: SortedSet<(u32, u64)> = all.filter_map(turn).collect();
        for (pair, &(begun, served)) in (0u32..).zip(&self.received) {
            let count = there.range((pair, 0)..=(pair, u64::MAX)).count() as u64;
            if served + count != begun {
                faults.push(format!("pair {pair}: {begun} began, {served} are served, {count} are received"));
            }
        }
        for (&(pair, before), &flight) in &self.behind {
            let earlier = turn(flight).map_or(0, |own| there.range((pair, 0)..own).count() as u64);
            let served = self.received.get(pair as usize).map_or(0, |r| r.1);
            if earlier == 0 || served + earlier != before {
                faults.push(format!(
                    "flight {flight} waits for {before} of pair {pair}, not for {earlier} more"
                ));
            }
        }
    }

    /// Turns of pairs: no more is served than was sent, and who waits for a turn has one to come.
    fn pairs(&self, faults: &mut Vec<String>) {
        for (pair, &(sent, served)) in self.order.iter().enumerate() {
            if served > sent {
                faults.push(format!("pair {pair} has served {served} of {sent} messages"));
            }
        }
        let turn = |pair: u32| self.order.get(pair as usize).copied().unwrap_or_default();
        for (&(pair, order), &flight) in &self.held {
            let own = self.flights.get(flight as usize).is_some_and(|f| f.order == Some((pair, order)));
            if order <= turn(pair).1 || order >= turn(pair).0 || !own {
                faults.push(format!("flight {flight} waits for turn {order} of pair {pair}"));
            }
        }
        // The next turn is of a message that is under way, or nothing is.
        let free: SortedSet<u32> = self.free.iter().copied().collect();
        let mut turns: SortedSet<(u32, u64)> = self.skipped.clone();
        let unserved = (0u32..).zip(&self.flights).filter(|(place, f)| !free.contains(place) && !f.served);
        turns.extend(unserved.filter_map(|(_, f)| f.order));
        if let Some((pair, order)) = turns.iter().find(|t| t.1 < turn(t.0).1) {
            faults.push(format!("turn {order} of pair {pair} is over, and its message was not served"));
        }
        for (pair, &(sent, served)) in (0u32..).zip(&self.order) {
            if let Some(order) = (served..sent).find(|&order| !turns.contains(&(pair, order))) {
                faults.push(format!("turn {order} of pair {pair} is nobody's"));
            }
        }
    }
}
