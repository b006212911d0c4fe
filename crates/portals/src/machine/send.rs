//! The exit out: a message joins the queue of its engine, its payload is fetched, and it goes onto the network.

use super::{Due, Flight, Machine, NONE, Timer, books::Posted};
use crate::{
    core::{
        message::{Message, Request},
        types::{Fail, Memory, md},
    },
    nic::size,
};
use base::{
    index::{RankId, TerminalId},
    time::{NS, rounded},
};
use model::messages;

impl Machine {
    /// A message of a rank joins the queue of its engine.
    pub(super) fn post(&mut self, rank: RankId, message: Box<Message>) {
        let request = message.request.is_request();
        let to = self.rank_of(message.target);
        let source = self.node(rank);
        let unreliable = request && message.md_options & md::UNRELIABLE != 0;
        let reliable = self.of(source).reliability && !unreliable;
        let free = unreliable || message.md_options & md::UNORDERED != 0;
        let order = to.filter(|_| request && !free).map(|to| {
            let pair = self.pair(rank, to);
            let sent = &mut self.order[pair as usize].0;
            *sent += 1;
            (pair, *sent - 1)
        });
        debug_assert!(request || self.serving.0 != NONE, "an answer is sent while its request is served");
        if !request {
            self.serving.1 = true;
        }
        let answers = if request { NONE } else { self.serving.0 };
        let destination = to.map_or(source, |to| self.node(to));
        let flight = self.take(Flight {
            to,
            answers,
            answered: self.flights.get(answers as usize).map_or(0, |f| f.serial),
            order,
            reliable,
            ..Flight::new(message, rank, source, destination)
        });
        debug_assert!(request || order.is_none(), "answers have no turn");
        if let Some(books) = &mut self.books {
            let f = &self.flights[flight as usize];
            books.posts(f.serial, &f.message, Posted { digest: 0, from: rank, to, order });
        }
        let quick = self.of(source).quick_acks && !reliable;
        if quick && self.flights[flight as usize].message.request == Request::Ack {
            let at = self.now + self.of(source).ack_time;
            self.flights[flight as usize].attempts = 1;
            return self.at(at, Due::Launch(flight));
        }
        self.queue(flight);
    }

    pub(super) fn answers(&self, flight: u32) -> bool {
        let f = &self.flights[flight as usize];
        f.low_level || !f.message.request.is_request()
    }

    pub(super) fn queue(&mut self, flight: u32) {
        let (f, answers) = (&self.flights[flight as usize], self.answers(flight));
        let (node, waits) = (f.ends.0, f.reliable && !f.open && !f.low_level);
        let nic = &mut self.nics[node];
        nic.queued += 1;
        let exit = &mut nic.tx[usize::from(answers)];
        if waits { &mut exit.fresh } else { &mut exit.free }.push_back((nic.queued, flight));
        self.start(node, answers);
    }

    /// Idle engines take what waits, as far as entries of the reliability allow.
    pub(super) fn start(&mut self, node: TerminalId, answers: bool) {
        while !self.nics[node].tx[usize::from(answers)].is_empty() {
            let (engines, entries) = (self.of(node).tx_engines, self.of(node).entries);
            debug_assert!(engines > 0 && entries > 0, "what waits is sent in the end");
            let exit = &mut self.nics[node].tx[usize::from(answers)];
            if exit.busy >= engines {
                return;
            }
            let Some(flight) = exit.next(entries) else { return };
            let f = &mut self.flights[flight as usize];
            if f.reliable && !f.low_level && !f.open {
                if f.attempts > 0 {
                    // Acknowledged, or given up, while it waited to be sent again.
                    f.copies -= 1;
                    self.forget(flight);
                    continue;
                }
                f.open = true;
                exit.open += 1;
                debug_assert!(exit.open <= entries, "no more is open than there are entries");
            }
            exit.busy += 1;
            f.attempts += 1;
            self.transmit(flight, node, answers);
        }
    }

    /// An engine takes a message in hand: its payload is fetched if it must be, then it goes onto the network.
    pub(super) fn transmit(&mut self, flight: u32, node: TerminalId, answers: bool) {
        let p = self.of(node);
        let f = &self.flights[flight as usize];
        let m = &*f.message;
        let bytes = if f.low_level { 0 } else { m.payload() };
        debug_assert!(f.copies > 0, "what is sent is a copy that waited");
        debug_assert!(f.reliable || f.low_level || f.attempts == 1, "only what is reliable is sent again");
        let without = if ni_without_matching(m.ni) { 8 } else { 0 };
        let again = f.attempts > 1 && bytes > p.buffered;
        let volatile = m.md_options & md::VOLATILE != 0 && bytes <= p.pio + without;
        let (fetch, before) = match m.request {
            _ if f.low_level => (false, 0),
            Request::Ack => (false, p.ack_time),
            Request::Get => (false, p.get_time),
            Request::Reply => (bytes > 0, if bytes > 0 { 0 } else { p.empty_time }),
            _ => (again || (bytes > p.inline + without && !volatile), 0),
        };
        let start = self.now + before + p.message_time;
        if fetch && p.bus {
            let asked = start + p.bus_time(size::DMA_REQUEST);
            let (first, per_byte) = (asked + p.first_packet_time(bytes), p.bus_per_byte);
            // One fetch after another; the latency of the bus overlaps with the one before.
            let begun = self.nics[node].fetched.max(asked);
            let ended = begun + rounded(bytes as f64 * per_byte);
            let free = ended + p.bus_latency;
            self.nics[node].fetched = ended;
            self.at(free, Due::EngineFree(node, answers));
            self.at(first, Due::Launch(flight));
            let f = &mut self.flights[flight as usize];
            f.holds_engine = false;
            // The first packet has a time of its own.
            f.fetched = begun + (first - asked) + rounded(bytes.saturating_sub(512) as f64 * per_byte);
        } else {
            self.flights[flight as usize].fetched = 0;
            self.flights[flight as usize].holds_engine = true;
            self.at(start, Due::Launch(flight));
        }
    }

    pub(super) fn engine_free(&mut self, node: TerminalId, answers: bool) {
        let exit = &mut self.nics[node].tx[usize::from(answers)];
        debug_assert!(exit.busy > 0, "the engine was busy");
        exit.busy -= 1;
        self.start(node, answers);
    }

    /// A message goes onto the network.
    pub(super) fn launch(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        let m = &*f.message;
        let p = self.of(f.ends.0);
        let bytes = match m.request {
            _ if f.low_level => size::ACK,
            Request::Get => size::GET,
            Request::Ack if p.quick_acks && !f.reliable => 1,
            Request::Ack => size::ACK,
            _ => m.payload(),
        };
        debug_assert!(f.attempts > 0, "an engine took it in hand");
        let (ends, small, timeout) = (f.ends, m.payload() <= p.buffered, p.timeout);
        let first = f.attempts == 1 && !f.low_level && m.request.is_request() && m.request != Request::Get;
        self.counts.messages += 1;
        self.counts.bytes += bytes;
        if f.reliable && f.open {
            let (serial, attempt) = (f.serial, f.attempts);
            self.set_timer(ends.0, Timer { deadline: self.now + timeout, flight, serial, attempt });
        }
        debug_assert!(self.flights[flight as usize].launched <= self.now, "a message is sent again later");
        self.flights[flight as usize].launched = self.now;
        if first && small {
            self.sent(flight, Fail::Ok, memory);
        }
        if ends.0 == ends.1 {
            // Within the node: 1 ns and 99 GB/s.
            let time = self.in_memory(flight, self.now + NS + bytes * 1000 / 99);
            self.at(time, Due::Arrive(flight));
        } else {
            let network = u8::from(self.answers(flight));
            let message = messages::Message { network, bytes, tag: flight };
            let cut = !self.net.send(self.now, ends.0, ends.1, message);
            self.flights[flight as usize].cut = cut;
            if cut {
                self.at(self.now, Due::Arrive(flight));
            } else if let Some(books) = &mut self.books {
                books.crosses(flight, false);
            }
        }
    }

    /// The data of a put have left its memory.
    pub(super) fn sent(&mut self, flight: u32, fail: Fail, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        let (from, ni, pending) = (f.from, f.message.ni, f.message.pending);
        memory.of(from);
        self.processes[from].sent(ni, pending, fail, memory);
        self.flush(from);
    }
}

/// Interfaces are numbered physical or not, matching or not: see [`Process::ni_init`].
fn ni_without_matching(index: usize) -> bool {
    index & 1 == 1
}
