//! Time of interfaces: what happens between a command of one process and an event of another.
//!
//! A message is a *flight*: its payload is fetched, it crosses the network, is received in order, and is answered by another flight. Engines, bus and
//! reliability are those of [`crate::nic`]; `send` is its way out, `receive` its way in, `reliable` what happens when it is lost. Everything is due at a time; ties are in the order in which they became due, so a run is one
//! sequence. A flight that is sent again is the same flight, so it is served once whatever is lost.

use crate::{
    core::{
        call::Call,
        message::Message,
        operation::Op,
        process::{Out, Process},
        types::{Code, Count, Event, Limits, Memory, PID_ANY, ProcessId, Slot, md},
    },
    nic::Params,
};
use base::{
    index::{Column, RankId, TerminalId},
    rng::{Purpose, Stream},
    sorted::{SortedMap, SortedSet},
    time::Ps,
};
use model::messages::MessageNetwork;
use std::{cmp::Reverse, collections::VecDeque};

mod agenda;
mod books;
mod bus;
mod check;
#[cfg(test)]
mod planted;
mod receive;
mod reliable;
mod send;
#[cfg(test)]
mod tests;

use agenda::{Agenda, Due, Item};

/// Place of no flight: in `answers` of what answers none, and in `serving` while nothing is served.
const NONE: u32 = u32::MAX;

/// A message under way.
#[derive(Clone, Debug)]
struct Flight {
    message: Box<Message>,
    /// Rank that sent it.
    from: RankId,
    /// Rank that it is for; `None` if there was none when it was sent.
    to: Option<RankId>,
    /// Nodes that it leaves and reaches.
    ends: (TerminalId, TerminalId),
    /// The flight that it answers; its low-level acknowledgement has no message worth reading.
    answers: u32,
    /// Serial of that flight: its place may have been used again.
    answered: u64,
    low_level: bool,
    /// Its pair, and its place among the ordered messages of that.
    order: Option<(u32, u64)>,
    /// Copies that are queued or on the network.
    copies: u32,
    /// Times it was sent.
    attempts: u32,
    /// Names it among all flights: its place is used again.
    serial: u64,
    /// When it went onto the network, the last time.
    launched: Ps,
    /// When the bus has brought all of its payload, the last time.
    fetched: Ps,
    /// It waits for an acknowledgement.
    open: bool,
    /// The target has served it.
    served: bool,
    /// It was lost for good.
    lost: bool,
    /// The network had no way for it, the last time.
    cut: bool,
    reliable: bool,
    /// Its engine is busy until it has arrived.
    holds_engine: bool,
    /// Nobody may need it any more once it has no copies.
    over: bool,
}

impl Flight {
    /// A message of a rank between two nodes, with a copy to be sent.
    fn new(message: Box<Message>, from: RankId, source: TerminalId, destination: TerminalId) -> Self {
        Self {
            message,
            from,
            to: None,
            ends: (source, destination),
            answers: NONE,
            answered: 0,
            low_level: false,
            order: None,
            copies: 1,
            attempts: 0,
            serial: 0,
            launched: 0,
            fetched: 0,
            open: false,
            served: false,
            lost: false,
            cut: false,
            reliable: false,
            holds_engine: false,
            over: false,
        }
    }
}

/// What reaches the processor over the bus.
#[derive(Clone, Copy, Debug)]
enum Control {
    /// An event for a queue.
    Event { rank: RankId, ni: usize, queue: Slot, event: Event },
    /// What a counter shows.
    Count { rank: RankId, ni: usize, counter: Slot, value: Count, epoch: u32 },
}

/// The interface of a node.
#[derive(Clone, Debug, Default)]
struct Nic {
    /// The ways out of requests and of answers.
    tx: [Exit; 2],
    rx: [(VecDeque<u32>, u32); 2],
    /// When the bus has fetched all payloads so far.
    fetched: Ps,
    /// Payloads that the bus takes into memory one after another: when the first of them may have come, and bytes.
    written: (Ps, u64),
    controls: VecDeque<Control>,
    /// Flights that have waited for an engine so far.
    queued: u64,
    /// In the order in which they ring.
    timers: VecDeque<Timer>,
    /// One of them will ring.
    armed: bool,
}

/// What waits for an engine of a kind, by number of arrival and flight, and what is in use.
#[derive(Clone, Debug, Default)]
struct Exit {
    /// Flights that need an entry of the reliability first.
    fresh: VecDeque<(u64, u32)>,
    /// Those that do not: sent again, low-level acknowledgements, without reliability.
    free: VecDeque<(u64, u32)>,
    /// Engines in use.
    busy: u32,
    /// Entries in use.
    open: u32,
}

impl Exit {
    /// What goes out next: the older one of the two heads, unless it needs an entry and there is none.
    fn next(&mut self, entries: u32) -> Option<u32> {
        let fresh = self.fresh.front().filter(|_| self.open < entries);
        let first = match (fresh, self.free.front()) {
            (Some(fresh), Some(free)) if fresh.0 < free.0 => self.fresh.pop_front(),
            (_, Some(_)) => self.free.pop_front(),
            (Some(_), None) => self.fresh.pop_front(),
            (None, None) => None,
        };
        first.map(|(_, flight)| flight)
    }

    /// True if no flight waits.
    fn is_empty(&self) -> bool {
        self.fresh.is_empty() && self.free.is_empty()
    }

    /// All flights that wait.
    fn waiting(&self) -> impl Iterator<Item = u32> {
        self.fresh.iter().chain(&self.free).map(|&(_, flight)| flight)
    }
}

/// A timer of a reliable flight.
#[derive(Clone, Copy, Debug)]
struct Timer {
    /// When it rings.
    deadline: Ps,
    flight: u32,
    /// Which flight it was for: its place is used again.
    serial: u64,
    /// Times that the flight had been sent when it was set.
    attempt: u32,
}

/// Something that the program's side has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A rank may find what it waits for.
    Rank(RankId),
    /// What [`Machine::wake_at`] was given.
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
    /// Virtual time since the start of the run.
    pub now: Ps,
    /// Processes by rank.
    pub processes: Column<RankId, Process>,
    /// Parameters of nodes without their own, and what all have in common.
    pub params: Params,
    /// For each node 0, or one more than the place of its own parameters.
    kind: Column<TerminalId, u16>,
    /// What was counted.
    pub counts: Counts,
    /// Messages served for each rank.
    pub served: Column<RankId, u64>,
    due: Agenda,
    counter: u64,
    nics: Column<TerminalId, Nic>,
    net: Box<dyn MessageNetwork>,
    /// When the network ends.
    end: Ps,
    flights: Vec<Flight>,
    free: Vec<u32>,
    /// Pairs of ranks that have sent something, and the last one of each sender.
    pairs: SortedMap<(RankId, RankId), u32>,
    last: Column<RankId, Option<(RankId, u32)>>,
    /// Messages sent and served, by pair.
    order: Vec<(u64, u64)>,
    held: SortedMap<(u32, u64), u32>,
    /// Ordered messages that have begun to be received and that have been served, by pair.
    received: Vec<(u64, u64)>,
    /// Messages that need no time in an engine and wait for those of their pair before them which do; by pair, and how many began before.
    behind: SortedMap<(u32, u64), u32>,
    /// Places in an order whose message was given up before its turn.
    skipped: SortedSet<(u32, u64)>,
    /// Pid and rank of processes with interfaces, by node.
    ids: Column<TerminalId, Vec<(u32, RankId)>>,
    loss: Stream,
    arrived: Vec<u32>,
    /// The flight whose arrival is being served, and whether it was answered.
    serving: (u32, bool),
    happened: VecDeque<Happening>,
    /// Ranks that look at their memory.
    watched: Column<RankId, bool>,
    /// Stands in for a message that is lent, or that nobody reads.
    spare: Option<Box<Message>>,
    /// What was posted and served, where that is checked.
    books: Option<Box<books::Books>>,
}

impl Machine {
    /// So many ranks on a network, in the order of its terminals.
    ///
    /// # Errors
    /// If there are too few terminals.
    pub fn new(
        net: Box<dyn MessageNetwork>,
        params: Params,
        ranks: u32,
        limits: &Limits,
    ) -> Result<Self, String> {
        debug_assert!(params.ranks_per_node > 0, "a node has a rank");
        let nodes = ranks.div_ceil(params.ranks_per_node);
        if nodes > net.terminals() {
            let (have, per) = (net.terminals(), params.ranks_per_node);
            return Err(format!(
                "{ranks} ranks, {per} per node, need {nodes} terminals, and the fabric has {have}"
            ));
        }
        let process = |rank: RankId| {
            let (rank, per_node) = (rank.number(), params.ranks_per_node);
            // Pids of a node begin at 100; nodes are numbered from 1, so that neither is mistaken for a rank.
            Process::new(rank / per_node + 1, 100 + rank % per_node, 1000, *limits)
        };
        let mut machine = Self {
            now: 0,
            processes: RankId::first(ranks).map(process).collect(),
            kind: Column::filled(nodes as usize, 0),
            counts: Counts::default(),
            served: Column::filled(ranks as usize, 0),
            due: Agenda::default(),
            counter: 0,
            nics: Column::filled(nodes as usize, Nic::default()),
            loss: Stream::new(net.seed(), Purpose::Route, 1 << 40),
            end: net.end(),
            net,
            flights: Vec::new(),
            free: Vec::new(),
            pairs: SortedMap::new(),
            last: Column::filled(ranks as usize, None),
            order: Vec::new(),
            held: SortedMap::new(),
            received: Vec::new(),
            behind: SortedMap::new(),
            skipped: SortedSet::new(),
            ids: Column::filled(nodes as usize, Vec::new()),
            arrived: Vec::new(),
            serving: (NONE, false),
            happened: VecDeque::new(),
            watched: Column::filled(ranks as usize, false),
            spare: None,
            books: None,
            params,
        };
        for (n, (nodes, _)) in (1..).zip(&machine.params.own) {
            for &node in nodes {
                if let Some(kind) = machine.kind.cells_mut().get_mut(node.index()) {
                    *kind = n;
                }
            }
        }
        for rank in RankId::first(ranks) {
            machine.processes[rank].copy_most = machine.of_rank(rank).copy_most;
        }
        if machine.params.check {
            machine.books = Some(Box::default());
        }
        Ok(machine)
    }

    /// Parameters of a node.
    #[must_use]
    pub fn of(&self, node: TerminalId) -> &Params {
        match self.kind[node] {
            0 => &self.params,
            n => &self.params.own[usize::from(n) - 1].1,
        }
    }

    /// Parameters of a rank's node.
    #[must_use]
    pub fn of_rank(&self, rank: RankId) -> &Params {
        self.of(self.node(rank))
    }

    /// Node of a rank.
    #[must_use]
    pub fn node(&self, rank: RankId) -> TerminalId {
        TerminalId::new(rank.number() / self.params.ranks_per_node)
    }

    /// Nothing happens at or after this time.
    #[must_use]
    pub fn end(&self) -> Ps {
        self.end
    }

    fn at(&mut self, time: Ps, due: Due) {
        debug_assert!(time >= self.now, "nothing becomes due in the past");
        self.counter += 1;
        self.due.push(Reverse(Item { time, age: self.counter, due }));
    }

    /// Something for [`Machine::next`] at a time.
    pub fn wake_at(&mut self, time: Ps, what: u64) {
        self.at(time, Due::Wake(what));
    }

    /// From now on reports all that is served at a rank's interface, since it may have changed its memory.
    pub fn watch(&mut self, rank: RankId) {
        self.watched[rank] = true;
    }

    /// Lets time pass if nothing happens before `until`.
    pub fn skip_to(&mut self, until: Ps) -> bool {
        debug_assert!(until >= self.now, "time does not go back");
        let idle = self.happened.is_empty()
            && self.due.peek().is_none_or(|d| d.0.time > until)
            && self.net.next().is_none_or(|n| n > until)
            && until < self.end();
        if idle {
            self.now = until;
        }
        idle
    }

    /// True if nothing is due but what [`Machine::wake_at`] was given: only programs can make more happen.
    #[must_use]
    pub fn is_idle(&mut self) -> bool {
        self.happened.is_empty() && self.due.only_wakes() && self.net.next().is_none()
    }

    /// Opens an interface for a rank.
    ///
    /// # Errors
    /// As `PtlNIInit`.
    pub fn ni_init(
        &mut self,
        rank: RankId,
        options: u32,
        pid: u32,
        desired: Option<&Limits>,
    ) -> Result<(u32, Limits), Code> {
        let node = self.node(rank);
        let ids = &mut self.ids[node];
        let taken = |pid| ids.iter().any(|&(p, r)| p == pid && r != rank);
        let opened = self.processes[rank].ni_init(options, pid, desired, taken)?;
        let pid = self.processes[rank].id.pid;
        if pid != PID_ANY
            && let Err(place) = ids.binary_search(&(pid, rank))
        {
            ids.insert(place, (pid, rank));
            debug_assert!(ids.is_sorted(), "processes are found by bisection");
        }
        Ok(opened)
    }

    /// Time in which a rank's processor writes the payload of an operation itself: small ones of volatile descriptors that do not travel in the command.
    #[must_use]
    pub fn written_time(&mut self, rank: RankId, op: &Op) -> Ps {
        let options = if op.sends() { self.processes[rank].md_options(op.put.0) } else { 0 };
        let (p, volatile) = (self.of_rank(rank), options & md::VOLATILE != 0);
        if volatile && op.length > p.inline && op.length <= p.pio { p.pio_time } else { 0 }
    }

    /// Time of a look that found nothing, with how many there were in a row: it takes longer the more there were, up to a hundred.
    #[must_use]
    pub fn miss_time(&self, rank: RankId, misses: &mut u32) -> Ps {
        *misses = (*misses + 1).min(100);
        self.of_rank(rank).poll_time * u64::from(*misses)
    }

    /// A rank asks something of its interface, which does what follows from it: a handle or number, if the call has one.
    ///
    /// # Errors
    /// As the interface says.
    pub fn ask(&mut self, rank: RankId, call: &Call, memory: &mut dyn Memory) -> Result<u32, Code> {
        memory.of(rank);
        let answer = match call {
            Call::NiInit { options, pid, desired } => {
                self.ni_init(rank, *options, *pid, desired.as_ref()).map(|(handle, _)| handle)
            }
            other => other.ask(&mut self.processes[rank], memory),
        };
        self.processes[rank].show_counts();
        self.flush(rank);
        answer
    }

    /// Random numbers of a rank's host.
    #[must_use]
    pub fn chance(&self, rank: RankId, number: u64) -> Stream {
        Stream::new(self.net.seed(), Purpose::Route, 1 << 41 | u64::from(rank)).at(number)
    }

    /// Rank of a process that has opened an interface.
    fn rank_of(&self, id: ProcessId) -> Option<RankId> {
        let ids = self.ids.get(TerminalId::new(id.nid.wrapping_sub(1)))?;
        let place = ids.binary_search_by_key(&id.pid, |p| p.0).ok()?;
        Some(ids[place].1)
    }

    /// Number of a pair of ranks, counted from 0 as they first send.
    fn pair(&mut self, from: RankId, to: RankId) -> u32 {
        if let Some((last, pair)) = self.last[from]
            && last == to
        {
            return pair;
        }
        let new = self.order.len() as u32;
        debug_assert_eq!(self.order.len(), self.pairs.len(), "every pair has an order");
        debug_assert_eq!(self.order.len(), self.received.len(), "pairs are counted at both ends");
        let pair = *self.pairs.entry((from, to)).or_insert(new);
        if pair == new {
            self.order.push((0, 0));
            self.received.push((0, 0));
        }
        self.last[from] = Some((to, pair));
        pair
    }

    /// Does what happens until something concerns a program; `None` if nothing more will happen.
    pub fn next(&mut self, memory: &mut dyn Memory) -> Option<Happening> {
        loop {
            if let Some(happened) = self.happened.pop_front() {
                return Some(happened);
            }
            let due = self.due.peek().map(|d| d.0.time);
            let net = self.net.next();
            let by_network = net.is_some_and(|net| due.is_none_or(|due| net <= due));
            let time = if by_network { net } else { due }?;
            if time >= self.end() {
                return None;
            }
            if by_network {
                let mut arrived = std::mem::take(&mut self.arrived);
                let until = due.unwrap_or(self.end()).min(self.end() - 1);
                let reached = self.net.advance(until, &mut arrived);
                debug_assert!(reached <= until, "the network goes no further than it is asked to");
                if !arrived.is_empty() {
                    self.now = self.now.max(reached);
                }
                for flight in arrived.drain(..) {
                    if let Some(books) = &mut self.books {
                        books.crosses(flight, true);
                    }
                    self.reaches(flight, memory);
                }
                self.arrived = arrived;
                continue;
            }
            debug_assert!(time >= self.now, "what is due is not past");
            self.now = self.now.max(time);
            if let Some(Reverse(Item { due, .. })) = self.due.pop() {
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
    #[inline]
    pub fn flush(&mut self, rank: RankId) {
        // Most of what is served asks for nothing.
        if !self.processes[rank].out.is_empty() {
            self.do_asked(rank);
        }
    }

    fn do_asked(&mut self, rank: RankId) {
        let node = self.node(rank);
        while let Some(out) = self.processes[rank].out.pop_front() {
            match out {
                Out::Send(message) => self.post(rank, message),
                Out::Event { ni, queue, event } => {
                    self.queue_control(node, Control::Event { rank, ni, queue, event })
                }
                Out::Count { ni, counter, value, epoch } => {
                    self.queue_control(node, Control::Count { rank, ni, counter, value, epoch });
                }
            }
        }
    }

    /// A place in the order of a pair is over: the flight with the next may enter, if it is there.
    fn pass_on(&mut self, pair: u32, mut order: u64) {
        debug_assert_eq!(self.order[pair as usize].1, order, "turns of a pair are passed on in order");
        order += 1;
        while !self.skipped.is_empty() && self.skipped.remove(&(pair, order)) {
            order += 1;
        }
        self.order[pair as usize].1 = order;
        debug_assert!(order <= self.order[pair as usize].0, "no more is served than was sent");
        if !self.held.is_empty()
            && let Some(next) = self.held.remove(&(pair, order))
        {
            self.at(self.now, Due::Admit(next));
        }
    }

    /// A message that nobody reads any more is kept for the next one: the rank's, or one that is lent.
    fn keep(&mut self, rank: RankId, message: Box<Message>) {
        let spare = &mut self.processes[rank].spare;
        let place = if spare.is_none() { spare } else { &mut self.spare };
        if place.is_none() {
            *place = Some(message);
        }
    }

    fn take(&mut self, mut flight: Flight) -> u32 {
        self.counter += 1;
        let from = flight.from;
        flight.serial = self.counter;
        debug_assert!(flight.copies == 1 && !flight.over, "a flight begins as one copy");
        if let Some(place) = self.free.pop() {
            let old = std::mem::replace(&mut self.flights[place as usize], flight);
            debug_assert!(old.over && old.copies == 0, "a place is free when its flight is over");
            self.keep(from, old.message);
            return place;
        }
        self.flights.push(flight);
        (self.flights.len() - 1) as u32
    }
}
