//! Time of interfaces: what happens between a command of one process and an event of another.
//!
//! A message is a *flight*: its payload is fetched, it crosses the network, is received in order, and is answered by another flight. Engines, bus and
//! reliability are those of [`crate::nic`]. Everything is due at a time; ties are in the order in which they became due, so a run is one
//! sequence. A flight that is sent again is the same flight, so it is served once whatever is lost.

use crate::{
    core::{
        message::{Message, Request},
        process::{Out, Process},
        types::{AckReq, Code, Count, Event, Fail, Limits, Memory, PID_ANY, md},
    },
    net::Net,
    nic::{Params, size},
};
use base::{
    rng::{Purpose, Stream},
    time::{NS, Ps},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
};

mod reliable;

/// No flight.
const NONE: u32 = u32::MAX;

/// A message under way.
#[derive(Clone, Debug)]
struct Flight {
    message: Box<Message>,
    /// Rank that sent it.
    from: u32,
    ends: (u32, u32),
    /// The flight that it answers; its low-level acknowledgement has no message worth reading.
    answers: u32,
    /// Its serial.
    answered: u64,
    low_level: bool,
    /// Place among the ordered messages of its pair.
    order: Option<u64>,
    /// Copies that are queued or on the network.
    copies: u32,
    /// Times it was sent.
    attempts: u32,
    /// Names it among all flights: its place is used again.
    serial: u64,
    /// It waits for an acknowledgement.
    open: bool,
    /// The target has served it.
    served: bool,
    /// It was lost for good.
    lost: bool,
    reliable: bool,
    /// Its engine is busy until it has arrived.
    holds_engine: bool,
    /// Nobody may need it any more once it has no copies.
    over: bool,
}

/// What becomes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Launch(u32),
    Arrive(u32),
    /// Its turn has come.
    Admit(u32),
    EngineFree(u32, bool),
    Received(u32),
    Control(u32),
    Timeout(u32),
    /// Of the program: see [`Happening`].
    Wake(u64),
}

/// What reaches the processor over the bus.
#[derive(Clone, Copy, Debug)]
enum Control {
    Event(u32, usize, (u16, u16), Event),
    Count(u32, usize, (u16, u16), Count, u32),
}

/// The interface of a node.
#[derive(Clone, Debug, Default)]
struct Nic {
    /// Requests and answers: what waits for an engine, engines in use.
    tx: [(VecDeque<u32>, u32); 2],
    rx: [(VecDeque<u32>, u32); 2],
    /// When the bus has fetched all payloads so far.
    fetched: Ps,
    controls: VecDeque<Control>,
    open: u32,
    /// In the order in which they ring.
    timers: VecDeque<Timer>,
    /// One of them will ring.
    armed: bool,
}

/// When it rings, for which flight, and its serial and attempt.
type Timer = (Ps, u32, (u64, u32));

/// Something that the program's side has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A rank may find what it waits for.
    Rank(u32),
    /// What [`Machine::wake_at`] was told.
    Wake(u64),
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "names say it")]
pub struct Counts {
    pub messages: u64,
    pub bytes: u64,
    pub lost: u64,
    pub sent_again: u64,
    pub given_up: u64,
}

/// All nodes and the network.
pub struct Machine {
    /// Now.
    pub now: Ps,
    /// Processes by rank.
    pub processes: Vec<Process>,
    /// Parameters.
    pub params: Params,
    /// What was counted.
    pub counts: Counts,
    due: BinaryHeap<Reverse<(Ps, u64, Due)>>,
    counter: u64,
    nics: Vec<Nic>,
    net: Net,
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// Messages sent and served, by pair of ranks.
    order: BTreeMap<(u32, u32), (u64, u64)>,
    held: BTreeMap<(u32, u32, u64), u32>,
    by_id: BTreeMap<(u32, u32), u32>,
    loss: Stream,
    arrived: Vec<u32>,
    /// The flight whose arrival is being served, and whether it was answered.
    serving: (u32, bool),
    happened: VecDeque<Happening>,
    /// Ranks that look at their memory.
    watched: Vec<bool>,
    /// Empty, but for its room.
    buffer: Vec<Out>,
    /// Stands in for a message that is lent.
    spare: Option<Box<Message>>,
}

impl Machine {
    /// So many ranks on a network, in the order of its terminals.
    ///
    /// # Errors
    /// If there are too few terminals.
    pub fn new(net: Net, params: Params, ranks: u32, limits: &Limits) -> Result<Self, String> {
        let nodes = ranks.div_ceil(params.ranks_per_node);
        if nodes > net.terminals() {
            let (have, per) = (net.terminals(), params.ranks_per_node);
            return Err(format!(
                "{ranks} ranks, {per} per node, need {nodes} terminals, and the fabric has {have}"
            ));
        }
        let process = |rank: u32| {
            // Pids of a node begin at 100; nodes are numbered from 1, so that neither is mistaken for a rank.
            Process::new(rank / params.ranks_per_node + 1, 100 + rank % params.ranks_per_node, 1000, *limits)
        };
        Ok(Self {
            now: 0,
            processes: (0..ranks).map(process).collect(),
            counts: Counts::default(),
            due: BinaryHeap::new(),
            counter: 0,
            nics: vec![Nic::default(); nodes as usize],
            loss: Stream::new(net.seed(), Purpose::Route, 1 << 40),
            net,
            flights: Vec::new(),
            free: Vec::new(),
            order: BTreeMap::new(),
            held: BTreeMap::new(),
            by_id: BTreeMap::new(),
            arrived: Vec::new(),
            serving: (NONE, false),
            happened: VecDeque::new(),
            watched: vec![false; ranks as usize],
            buffer: Vec::new(),
            spare: None,
            params,
        })
    }

    /// Node of a rank.
    #[must_use]
    pub fn node(&self, rank: u32) -> u32 {
        rank / self.params.ranks_per_node
    }

    /// Nothing happens at or after this time.
    #[must_use]
    pub fn end(&self) -> Ps {
        self.net.end()
    }

    fn at(&mut self, time: Ps, due: Due) {
        self.counter += 1;
        self.due.push(Reverse((time, self.counter, due)));
    }

    /// Tells [`Machine::next`] something at a time.
    pub fn wake_at(&mut self, time: Ps, what: u64) {
        self.at(time, Due::Wake(what));
    }

    /// From now on tells of all that is served at a rank's interface, since it may have changed its memory.
    pub fn watch(&mut self, rank: u32) {
        self.watched[rank as usize] = true;
    }

    /// Lets time pass if nothing happens before `until`.
    pub fn skip_to(&mut self, until: Ps) -> bool {
        let idle = self.happened.is_empty()
            && self.due.peek().is_none_or(|d| d.0.0 > until)
            && self.net.next().is_none_or(|n| n > until)
            && until < self.end();
        if idle {
            self.now = until;
        }
        idle
    }

    /// Opens an interface for a rank.
    ///
    /// # Errors
    /// As `PtlNIInit`.
    pub fn ni_init(
        &mut self,
        rank: u32,
        options: u32,
        pid: u32,
        desired: Option<&Limits>,
    ) -> Result<(u32, Limits), Code> {
        let nid = self.processes[rank as usize].id.nid;
        let by_id = &self.by_id;
        let taken = |pid| by_id.get(&(nid, pid)).is_some_and(|&r| r != rank);
        let opened = self.processes[rank as usize].ni_init(options, pid, desired, taken)?;
        let id = self.processes[rank as usize].id;
        if id.pid != PID_ANY {
            self.by_id.insert((id.nid, id.pid), rank);
        }
        Ok(opened)
    }

    /// Does what happens until something concerns a program; `None` if nothing more will happen.
    pub fn next(&mut self, memory: &mut dyn Memory) -> Option<Happening> {
        loop {
            if let Some(happened) = self.happened.pop_front() {
                return Some(happened);
            }
            let due = self.due.peek().map(|d| d.0.0);
            let net = self.net.next();
            let time = due.into_iter().chain(net).min()?;
            if time >= self.end() {
                return None;
            }
            self.now = self.now.max(time);
            if net.is_some_and(|n| n <= time) {
                let mut arrived = std::mem::take(&mut self.arrived);
                self.net.step(time, &mut arrived);
                for flight in arrived.drain(..) {
                    self.arrive(flight, memory);
                }
                self.arrived = arrived;
                continue;
            }
            if let Some(Reverse((_, _, due))) = self.due.pop() {
                match due {
                    Due::Launch(flight) => self.launch(flight, memory),
                    Due::Arrive(flight) => self.arrive(flight, memory),
                    Due::Admit(flight) => self.admit(flight, memory),
                    Due::EngineFree(node, answers) => self.engine_free(node, answers),
                    Due::Received(flight) => self.received(flight, memory),
                    Due::Control(node) => self.control(node),
                    Due::Timeout(node) => self.timeout(node, memory),
                    Due::Wake(what) => self.happened.push_back(Happening::Wake(what)),
                }
            }
        }
    }

    /// Does what a rank's calls have asked of its interface.
    pub fn flush(&mut self, rank: u32) {
        let node = self.node(rank);
        let mut out = std::mem::take(&mut self.buffer);
        while !self.processes[rank as usize].out.is_empty() {
            std::mem::swap(&mut self.processes[rank as usize].out, &mut out);
            for out in out.drain(..) {
                match out {
                    Out::Send(message) => self.post(rank, message),
                    Out::Event { ni, queue, event } => {
                        self.tell(node, Control::Event(rank, ni, queue, event))
                    }
                    Out::Count { ni, counter, value, epoch } => {
                        self.tell(node, Control::Count(rank, ni, counter, value, epoch));
                    }
                }
            }
        }
        self.buffer = out;
    }

    /// Events and counters cross the bus in their order.
    fn tell(&mut self, node: u32, control: Control) {
        self.nics[node as usize].controls.push_back(control);
        let at = self.now + self.params.control_time(size::EVENT);
        self.at(at, Due::Control(node));
    }

    fn control(&mut self, node: u32) {
        let Some(control) = self.nics[node as usize].controls.pop_front() else { return };
        let rank = match control {
            Control::Event(rank, ni, queue, event) => {
                self.processes[rank as usize].deliver(ni, queue, event);
                rank
            }
            Control::Count(rank, ni, counter, value, epoch) => {
                self.processes[rank as usize].show(ni, counter, value, epoch);
                rank
            }
        };
        self.happened.push_back(Happening::Rank(rank));
    }

    fn take(&mut self, mut flight: Flight) -> u32 {
        self.counter += 1;
        flight.serial = self.counter;
        if let Some(place) = self.free.pop() {
            self.flights[place as usize] = flight;
            return place;
        }
        self.flights.push(flight);
        (self.flights.len() - 1) as u32
    }

    /// A message of a rank joins the queue of its engine.
    fn post(&mut self, rank: u32, message: Box<Message>) {
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

    fn answers(&self, flight: u32) -> bool {
        let f = &self.flights[flight as usize];
        f.low_level || !f.message.request.is_request()
    }

    fn queue(&mut self, flight: u32) {
        let (node, answers) = (self.flights[flight as usize].ends.0, self.answers(flight));
        self.nics[node as usize].tx[usize::from(answers)].0.push_back(flight);
        self.start(node, answers);
    }

    /// Idle engines take what waits, as far as entries of the reliability allow.
    fn start(&mut self, node: u32, answers: bool) {
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
    fn transmit(&mut self, flight: u32, node: u32, answers: bool) {
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

    fn engine_free(&mut self, node: u32, answers: bool) {
        self.nics[node as usize].tx[usize::from(answers)].1 -= 1;
        self.start(node, answers);
    }

    /// A message goes onto the network.
    fn launch(&mut self, flight: u32, memory: &mut dyn Memory) {
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
        } else if !self.net.send(self.now, ends, bytes, flight) {
            self.at(self.now, Due::Arrive(flight));
        }
    }

    /// The data of a put have left its memory.
    fn sent(&mut self, flight: u32, fail: Fail, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        let (from, ni, pending) = (f.from, f.message.ni, f.message.pending);
        self.processes[from as usize].sent(ni, pending, fail, memory);
        self.flush(from);
    }

    /// A message has crossed the network, or is lost at its end.
    fn arrive(&mut self, flight: u32, memory: &mut dyn Memory) {
        let answers = self.answers(flight);
        let &Flight { ends, holds_engine, reliable, .. } = &self.flights[flight as usize];
        if holds_engine {
            self.engine_free(ends.0, answers);
        }
        if self.params.loss > 0.0 && ends.0 != ends.1 {
            self.counter += 1;
            if self.loss.at(self.counter).unit_open() < self.params.loss {
                self.counts.lost += 1;
                if reliable || answers {
                    self.flights[flight as usize].copies -= 1;
                    return self.forget(flight);
                }
                // Those behind it must not wait for it.
                self.flights[flight as usize].lost = true;
            }
        }
        self.admit(flight, memory);
    }

    /// A message waits for its turn among those of its pair, then for a receive engine.
    fn admit(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        if f.served {
            return self.again(flight);
        }
        if let Some(order) = f.order {
            let to = self.by_id.get(&(f.message.target.nid, f.message.target.pid)).copied().unwrap_or(f.from);
            let turn = self.order.get(&(f.from, to)).map_or(0, |o| o.1);
            if order > turn {
                if let Some(old) = self.held.insert((f.from, to, order), flight) {
                    debug_assert_eq!(old, flight, "a place in the order belongs to one message");
                    self.flights[flight as usize].copies -= 1;
                }
                return;
            }
        }
        self.enter(flight, memory);
    }

    fn enter(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &mut self.flights[flight as usize];
        if f.served {
            return self.again(flight);
        }
        f.served = true;
        let p = &self.params;
        let time = match f.message.request {
            _ if f.low_level => 0,
            Request::Reply => p.first_packet_time(f.message.data.len() as u64),
            Request::Get | Request::Ack => 0,
            _ => p.put_time,
        };
        if let (Some(order), from) = (f.order, f.from) {
            let to = self.by_id.get(&(f.message.target.nid, f.message.target.pid)).copied().unwrap_or(from);
            self.order.entry((from, to)).or_default().1 = order + 1;
            if let Some(next) = self.held.remove(&(from, to, order + 1)) {
                self.at(self.now, Due::Admit(next));
            }
        }
        if self.flights[flight as usize].lost {
            let f = &mut self.flights[flight as usize];
            f.copies -= 1;
            f.over = true;
            return self.forget(flight);
        }
        if time == 0 {
            return self.serve(flight, memory);
        }
        let (node, answers) = (self.flights[flight as usize].ends.1, self.answers(flight));
        let rx = &mut self.nics[node as usize].rx[usize::from(answers)];
        if rx.1 < self.params.rx_engines {
            rx.1 += 1;
            self.at(self.now + time, Due::Received(flight));
        } else {
            rx.0.push_back(flight);
        }
    }

    /// A receive engine is done with a message.
    fn received(&mut self, flight: u32, memory: &mut dyn Memory) {
        let (node, answers) = (self.flights[flight as usize].ends.1, self.answers(flight));
        let rx = &mut self.nics[node as usize].rx[usize::from(answers)];
        if let Some(next) = rx.0.pop_front() {
            let m = &self.flights[next as usize].message;
            let reply = m.request == Request::Reply;
            let time =
                if reply { self.params.first_packet_time(m.data.len() as u64) } else { self.params.put_time };
            self.at(self.now + time, Due::Received(next));
        } else {
            rx.1 -= 1;
        }
        self.serve(flight, memory);
    }

    /// The target, or the initiator of what is answered, takes a message.
    fn serve(&mut self, flight: u32, memory: &mut dyn Memory) {
        let f = &self.flights[flight as usize];
        let (answers, answered, low_level, reliable) = (f.answers, f.answered, f.low_level, f.reliable);
        let unacknowledged = !self.params.reliability && f.message.request.is_request();
        if answers != NONE && self.flights[answers as usize].serial == answered {
            self.acknowledged(answers, memory);
        }
        if low_level {
            self.flights[flight as usize].over = true;
            self.flights[flight as usize].copies -= 1;
            return self.forget(flight);
        }
        // The message is lent to the process: nothing else looks at it meanwhile.
        let spare = self.spare.take().unwrap_or_default();
        let message = std::mem::replace(&mut self.flights[flight as usize].message, spare);
        let to = self.by_id.get(&(message.target.nid, message.target.pid)).copied();
        self.serving = (flight, false);
        match to {
            Some(to) => {
                self.processes[to as usize].receive(&message, memory);
                self.flush(to);
                if self.watched[to as usize] {
                    self.happened.push_back(Happening::Rank(to));
                }
            }
            None => self.undeliverable(&message, self.flights[flight as usize].from),
        }
        let (_, answered) = std::mem::replace(&mut self.serving, (NONE, false));
        let f = &mut self.flights[flight as usize];
        let spare = std::mem::replace(&mut f.message, message);
        f.copies -= 1;
        f.over = !f.open;
        self.spare = Some(spare);
        if unacknowledged {
            self.sent(flight, Fail::Ok, memory);
        }
        if reliable && !answered {
            self.low_level(flight);
        }
        self.forget(flight);
    }

    /// A message without a target is answered in its name.
    fn undeliverable(&mut self, m: &Message, from: u32) {
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

/// Interfaces are numbered physical or not, matching or not: see [`Process::ni_init`].
fn ni_without_matching(index: usize) -> bool {
    index & 1 == 1
}
