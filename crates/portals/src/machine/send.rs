//! The way out: a message joins the queue of its engine, its payload is fetched, and it goes onto the network.

use super::{Due, Flight, Machine, NONE};
use crate::{
    core::{
        message::{Message, Request},
        types::{Fail, Memory, md},
    },
    net,
    nic::size,
};
use base::time::{NS, Ps};

impl Machine {
    /// A message of a rank joins the queue of its engine.
    pub(super) fn post(&mut self, rank: u32, message: Box<Message>) {
        let request = message.request.is_request();
        let to = self.by_id.get(&(message.target.nid, message.target.pid)).copied();
        let source = self.node(rank);
        let unreliable = request && message.md_options & md::UNRELIABLE != 0;
        let reliable = self.params.reliability && !unreliable;
        let free = unreliable || message.md_options & md::UNORDERED != 0;
        let order = to.filter(|_| request && !free).map(|to| {
            let sent = &mut self.order.entry((rank, to)).or_default().0;
            *sent += 1;
            *sent - 1
        });
        if !request {
            self.serving.1 = true;
        }
        let answers = if request { NONE } else { self.serving.0 };
        let flight = self.take(Flight {
            ends: (source, to.map_or(source, |to| self.node(to))),
            message,
            from: rank,
            answers,
            answered: self.flights.get(answers as usize).map_or(0, |f| f.serial),
            low_level: false,
            order,
            copies: 1,
            attempts: 0,
            serial: 0,
            open: false,
            served: false,
            lost: false,
            reliable,
            holds_engine: false,
            over: false,
        });
        self.queue(flight);
    }

    pub(super) fn answers(&self, flight: u32) -> bool {
        let f = &self.flights[flight as usize];
        f.low_level || !f.message.request.is_request()
    }

    pub(super) fn queue(&mut self, flight: u32) {
        let (node, answers) = (self.flights[flight as usize].ends.0, self.answers(flight));
        self.nics[node as usize].tx[usize::from(answers)].0.push_back(flight);
        self.start(node, answers);
    }

    /// Idle engines take what waits, as far as entries of the reliability allow.
    pub(super) fn start(&mut self, node: u32, answers: bool) {
        loop {
            let nic = &mut self.nics[node as usize];
            let (queue, busy) = &mut nic.tx[usize::from(answers)];
            let Some(&flight) = queue.front() else { return };
            let f = &mut self.flights[flight as usize];
            let entry = f.reliable && !f.open && !f.low_level;
            if *busy >= self.params.tx_engines || (entry && nic.open >= self.params.entries) {
                return;
            }
            queue.pop_front();
            *busy += 1;
            nic.open += u32::from(entry);
            f.open |= entry;
            f.attempts += 1;
            self.transmit(flight, node, answers);
        }
    }

    /// An engine takes a message in hand: its payload is fetched if it must be, then it goes onto the network.
    pub(super) fn transmit(&mut self, flight: u32, node: u32, answers: bool) {
        let p = &self.params;
        let f = &self.flights[flight as usize];
        let m = &*f.message;
        let bytes = m.data.len() as u64;
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
            let first = asked + p.first_packet_time(bytes);
            // One fetch after another; the latency of the bus overlaps with the one before.
            let begun = self.nics[node as usize].fetched.max(asked);
            let ended = begun + (bytes as f64 * p.bus_per_byte).round() as Ps;
            let free = ended + p.bus_latency;
            self.nics[node as usize].fetched = ended;
            self.at(free, Due::EngineFree(node, answers));
            self.at(first, Due::Launch(flight));
            self.flights[flight as usize].holds_engine = false;
        } else {
            self.flights[flight as usize].holds_engine = true;
            self.at(start, Due::Launch(flight));
        }
    }

    pub(super) fn engine_free(&mut self, node: u32, answers: bool) {
        self.nics[node as usize].tx[usize::from(answers)].1 -= 1;
        self.start(node, answers);
    }

    /// A message goes onto the network.
    pub(super) fn launch(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        let m = &*f.message;
        let bytes = match m.request {
            _ if f.low_level => size::ACK,
            Request::Get => size::GET,
            Request::Ack => size::ACK,
            _ => m.data.len() as u64,
        };
        let (ends, small) = (f.ends, m.data.len() as u64 <= self.params.buffered);
        let first = f.attempts == 1 && !f.low_level && m.request.is_request() && m.request != Request::Get;
        self.counts.messages += 1;
        self.counts.bytes += bytes;
        if self.params.reliability && f.reliable && f.open {
            let (deadline, attempt) = (self.now + self.params.timeout, (f.serial, f.attempts));
            self.set_timer(ends.0, (deadline, flight, attempt));
        }
        if first && small {
            self.sent(flight, Fail::Ok, memory);
        }
        if ends.0 == ends.1 {
            // Within the node: 1 ns and 99 GB/s.
            let time = self.now + NS + bytes * 1000 / 99;
            self.at(time, Due::Arrive(flight));
        } else {
            let network = u8::from(self.answers(flight));
            if !self.net.send(self.now, ends, net::Message { network, bytes, tag: flight }) {
                self.at(self.now, Due::Arrive(flight));
            }
        }
    }

    /// The data of a put have left its memory.
    pub(super) fn sent(&mut self, flight: u32, fail: Fail, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        let (from, ni, pending) = (f.from, f.message.ni, f.message.pending);
        self.processes[from as usize].sent(ni, pending, fail, memory);
        self.flush(from);
    }
}

/// Interfaces are numbered physical or not, matching or not: see [`Process::ni_init`].
fn ni_without_matching(index: usize) -> bool {
    index & 1 == 1
}
