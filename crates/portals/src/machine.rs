//! Time of interfaces: what happens between a command of one process and an event of another.
//!
//! A message is a *flight*: its payload is fetched, it crosses the network, is received in order, and is answered by another flight. Engines, bus and
//! reliability are those of [`crate::nic`]; `send` is its way out, `receive` its way in, `reliable` what happens when it is lost. Everything is due at a time; ties are in the order in which they became due, so a run is one
//! sequence. A flight that is sent again is the same flight, so it is served once whatever is lost.

use crate::{
    core::{
        call::Call,
        message::Message,
        process::{Out, Process},
        types::{Code, Count, Event, Limits, Memory, PID_ANY},
    },
    net::Net,
    nic::{Params, size},
};
use base::{
    rng::{Purpose, Stream},
    time::Ps,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, VecDeque},
};

mod receive;
mod reliable;
mod send;

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
    /// Messages served for each rank.
    pub served: Vec<u64>,
    due: BinaryHeap<Reverse<(Ps, u64, Due)>>,
    counter: u64,
    nics: Vec<Nic>,
    net: Box<dyn Net>,
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
    pub fn new(net: Box<dyn Net>, params: Params, ranks: u32, limits: &Limits) -> Result<Self, String> {
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
            served: vec![0; ranks as usize],
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

    /// A rank asks something of its interface, which does what follows from it: a handle or number, if the call has one.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ask(&mut self, rank: u32, call: &Call, memory: &mut dyn Memory) -> Result<u32, Code> {
        let answer = match call {
            Call::NiInit { options, pid, desired } => {
                self.ni_init(rank, *options, *pid, desired.as_ref()).map(|(handle, _)| handle)
            }
            other => other.ask(&mut self.processes[rank as usize], memory),
        };
        self.processes[rank as usize].show_counts();
        self.flush(rank);
        answer
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
            if net.is_some_and(|n| n <= time) {
                let mut arrived = std::mem::take(&mut self.arrived);
                let until = due.unwrap_or(self.end()).min(self.end() - 1);
                let reached = self.net.advance(until, &mut arrived);
                if !arrived.is_empty() {
                    self.now = self.now.max(reached);
                }
                for flight in arrived.drain(..) {
                    self.arrive(flight, memory);
                }
                self.arrived = arrived;
                continue;
            }
            self.now = self.now.max(time);
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
}
