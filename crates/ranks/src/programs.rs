//! The host of rank programs: ranks on the terminals of any network that carries messages.
//!
//! Operations come from a [`OperationWindow`], receives and messages meet in a [`Matching`]; all of a rank lives in the partition of its terminal.
//! Processors are FIFO servers: a computation takes its time, a send or receive takes `overhead`; what takes no time does not wait for a
//! processor.
//!
//! **Protocols.** Up to `eager` bytes a message is sent at once and its send is over. Beyond, a request of `control` bytes goes first; when
//! a receive takes it, a grant of the same size comes back, the send is over, and the data follow; they end the receive. Messages of a pair are
//! matched in the order in which they were sent, even if the network or another rail overtakes: early ones are parked. With [`Rules::direct`] nothing
//! asks: sends and receives meet at once, as in SimGrid's SMPI, and the message begins then.
//!
//! [`Rules::direct`]: super::roster::Rules::direct
//!
//! Cost: per message one look-up at either end and a constant number of table rows, per rendezvous two entries more; an event per
//! computation and per overhead, and per message through a node's memory that takes time. Not modelled: copies of unexpected messages, and memory for them.

mod direct;
mod within;

use super::{
    carrier::{Alarm, Delivery, Posting, Ring},
    cpu::Cpu,
    envelope::{Envelope, Role},
    finished::{Finished, Met},
    hosted::{Host, HostEffects},
    incoming::Incoming,
    matching::{Label, Matching},
    memories::Memories,
    operations::{OperationWindow, Row, turn},
    roster::{GlobalRank, Place, Resident, Residents, Roster, Server},
    stuck::{self, Queued, RankState, Standing, Stuck},
    truncated::{Cut, Truncated},
};
use base::{
    index::{RankId, TerminalId},
    time::Ps,
    units::MAX_BYTES,
};
use engine::state::{Journal, NIL, Pool, Table, map::Map};
use std::sync::Arc;
use workload::program::{Kind, Op};

/// The ranks of a partition. Empty where no job runs a program.
#[derive(Clone)]
pub struct Programs {
    roster: Arc<Roster>,
    residents: Arc<Residents>,
    window: OperationWindow,
    matching: Matching,
    cpus: Table<Cpu>,
    memories: Memories,
    /// What is left of operations that were begun and have not had all their time, by row; of kernels with time slices.
    left: Map<Ps>,
    /// When sends asked their receivers, by row, if messages are reported as they meet.
    requested: Map<Ps>,
    incoming: Pool<Incoming>,
    /// Messages and requests sent, by pair of ranks.
    sent: Map<u32>,
    /// Messages and requests matched, by pair of ranks.
    matched: Map<u32>,
    /// Those that came too early, by pair and sequence.
    parked: Map<u32>,
    /// Rows of sends and receives that a grant or data will name, by local rank and number.
    named: Map<u32>,
    /// Messages that are longer than their receives; one row.
    truncated: Table<Truncated>,
    /// The present instant, as long as an event is handled.
    now: Ps,
    /// Operations that have become executable and are not yet taken up. Empty between events.
    freed: Vec<u32>,
    answered: Vec<u32>,
    there: Vec<Delivery>,
}

impl PartialEq for Programs {
    fn eq(&self, other: &Self) -> bool {
        self.window == other.window
            && self.matching == other.matching
            && self.cpus == other.cpus
            && self.memories == other.memories
            && self.left == other.left
            && self.requested == other.requested
            && self.incoming == other.incoming
            && self.sent == other.sent
            && self.matched == other.matched
            && self.parked == other.parked
            && self.named == other.named
            && self.truncated == other.truncated
    }
}

/// An operation that a rank has read and not finished, for hashes of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// Terminal of the rank.
    pub terminal: TerminalId,
    /// Number within the rank.
    pub number: u32,
    /// It was taken up.
    pub started: bool,
    /// Nothing keeps it from being taken up.
    pub executable: bool,
    /// Number of starts and ends that it still waits for.
    pub waits: u32,
}

fn pair(from: GlobalRank, to: GlobalRank) -> u64 {
    u64::from(from) << 32 | u64::from(to)
}

impl Programs {
    /// The ranks of program jobs among those who live in a partition.
    #[must_use]
    pub fn new(roster: Arc<Roster>, places: impl IntoIterator<Item = Place>) -> Self {
        let residents = Residents::new(&roster, places);
        let program = |p: &Place| roster.program(p.job).map(|program| (Arc::clone(program), p.rank));
        let window = OperationWindow::new(residents.all().iter().filter_map(|r| program(&r.place)));
        Self {
            window,
            matching: Matching::new(residents.all().len() as u32),
            cpus: Table::new(residents.cpus().len(), Cpu::idle()),
            memories: Memories::new(residents.channels().len()),
            left: Map::default(),
            requested: Map::default(),
            residents: Arc::new(residents),
            roster,
            incoming: Pool::default(),
            sent: Map::default(),
            matched: Map::default(),
            parked: Map::default(),
            named: Map::default(),
            truncated: Table::new(1, Truncated::default()),
            now: 0,
            freed: Vec::new(),
            answered: Vec::new(),
            there: Vec::new(),
        }
    }

    /// True if a rank has operations that are not finished, or may have.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.window.open() > 0 || (0..self.residents.all().len() as u32).any(|r| !self.window.is_over(r))
    }

    /// Operations that are read and not finished.
    pub fn open(&self) -> impl Iterator<Item = Open> {
        (0u32..).zip(self.residents.all()).flat_map(|(rank, r)| {
            let rows = self.window.of_rank(rank).map(|row| self.window.get(row));
            rows.filter(|row| !row.is_finished()).map(|row| Open {
                terminal: r.place.terminal,
                number: row.number,
                started: row.is_started(),
                executable: row.is_executable(),
                waits: row.waits(),
            })
        })
    }

    /// The first program source that turned out to be damaged while it was read: its rank stopped there, so the run means nothing.
    #[must_use]
    pub fn damage(&self) -> Option<(Place, &str)> {
        let (rank, message) = self.window.damage()?;
        Some((self.residents.get(rank).place, message))
    }

    /// Where its ranks stand.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let mut standing = Standing::default();
        standing.truncated = *self.truncated.get(0);
        for (local, r) in (0u32..).zip(self.residents.all()) {
            let message = |row: u32| {
                let Incoming { label, bytes, sequence, .. } = *self.incoming.get(row);
                Queued { from: label.source, bytes, sequence }
            };
            let Place { job, rank, .. } = r.place;
            let state = RankState::of(&self.window, &self.matching, local, job, rank, message);
            let mut waiting = vec![None; state.waiting.len()];
            for row in self.window.of_rank(local).map(|row| self.window.get(row)) {
                if let Ok(place) = state.waiting.binary_search(&row.number) {
                    waiting[place] = Some(row.op);
                }
            }
            standing.add(state, waiting.into_iter().flatten().collect());
        }
        standing
    }

    /// Takes up what has become executable, and what that frees.
    fn take_up_freed(&mut self, fx: &mut dyn HostEffects) {
        let order = |host: &mut Self, from: usize| {
            let window = &host.window;
            host.freed[from..].sort_by_key(|&row| turn(window.get(row).op.kind));
        };
        order(self, 0);
        let mut at = 0;
        while at < self.freed.len() {
            let (row, from) = (self.freed[at], self.freed.len());
            self.take_up(row, fx);
            order(self, from);
            at += 1;
        }
        self.freed.clear();
    }

    fn take_up(&mut self, row: u32, fx: &mut dyn HostEffects) {
        let Row { op, rank, .. } = *self.window.get(row);
        let label = Label { rank, context: op.context, source: op.peer, tag: op.tag };
        match op.kind {
            Kind::Calc | Kind::Send if self.span(row) > 0 => self.enqueue(row, fx),
            Kind::Send => {
                self.started(row);
                self.transmit(row, fx);
            }
            Kind::Recv => {
                self.started(row);
                if let Some(incoming) = self.matching.receive(label, row) {
                    self.take_message(row, incoming, fx);
                }
            }
            Kind::Probe => {
                self.started(row);
                if self.matching.probe(label, row) {
                    self.finish(row, fx);
                }
            }
            Kind::Calc | Kind::Join | Kind::JoinAny => {
                self.started(row);
                self.finish(row, fx);
            }
        }
    }

    /// Time that an operation takes of a processor.
    fn span(&self, row: u32) -> Ps {
        let Row { op, rank, .. } = *self.window.get(row);
        if op.kind != Kind::Calc {
            return self.roster.rules.overhead;
        }
        self.roster.computing(self.residents.get(rank).place.job, op.amount)
    }

    fn started(&mut self, row: u32) {
        self.window.start(row, self.now, &mut self.freed);
    }

    fn finish(&mut self, row: u32, fx: &mut dyn HostEffects) {
        let Row { op, rank, number, ready, .. } = *self.window.get(row);
        let span = self.span(row);
        let (time, &Resident { place, seat, .. }) = (self.now, self.residents.get(rank));
        let ready = match op.kind {
            Kind::Calc if self.quantum().is_none() => time - span,
            _ => ready.clamp(self.roster.start(place.job).min(time), time),
        };
        debug_assert!(ready <= time, "an operation ends after it could begin");
        let describes = self.roster.describes_nodes() && op.kind == Kind::Send;
        let within = describes && self.roster.terminal(place.job, op.peer) == place.terminal;
        let finished = Finished::new(&op, place.terminal, seat, number, ready, time, span);
        let rules = &self.roster.rules;
        let asked = op.kind == Kind::Send && (rules.direct.is_some() || !rules.leaves(op.mode, op.amount));
        let sent = if asked { self.requested.remove(u64::from(row), 0) } else { None }.unwrap_or(time);
        fx.record(Finished { within, asked, sent, ..finished });
        self.window.finish(row, time, &mut self.freed);
    }

    /// An operation waits for its processor, or takes it.
    fn enqueue(&mut self, row: u32, fx: &mut dyn HostEffects) {
        let Row { op, rank, .. } = *self.window.get(row);
        debug_assert!(turn(op.kind) < 2 || op.kind == Kind::Calc, "a join needs no processor");
        let cpu = self.residents.get(rank).processor(op.cpu);
        if self.cpus.get(cpu).running == NIL {
            return self.begin(cpu, row, fx);
        }
        let mut queue = self.cpus.get(cpu).queue;
        queue.push(self.window.rows(), row);
        self.cpus.edit(cpu).queue = queue;
    }

    /// Longest time that a processor has an operation in hand, if its kernel knows slices.
    fn quantum(&self) -> Option<Ps> {
        self.roster.node.and_then(|node| node.quantum())
    }

    /// A processor takes an operation in hand, from its beginning or where it was left.
    fn begin(&mut self, cpu: u32, row: u32, fx: &mut dyn HostEffects) {
        let mut span = self.span(row);
        let mut fresh = true;
        if let Some(quantum) = self.quantum() {
            if let Some(left) = self.left.remove(u64::from(row), 0) {
                (span, fresh) = (left, false);
            }
            if span > quantum {
                self.left.set(u64::from(row), 0, span - quantum);
                span = quantum;
            }
        }
        let free = self.now.saturating_add(span);
        let state = self.cpus.edit(cpu);
        debug_assert_eq!(state.running, NIL, "a processor has one operation in hand");
        (state.free, state.running) = (free, row);
        let Server { terminal, number: processor } = self.residents.cpus()[cpu as usize];
        fx.alarm(Alarm { at: free, terminal, processor, ring: Ring::Done, number: cpu });
        if fresh && self.window.get(row).op.kind != Kind::Recv {
            self.started(row);
        }
    }

    /// A processor is done with what it has in hand, for now or altogether.
    fn done(&mut self, cpu: u32, fx: &mut dyn HostEffects) {
        let Cpu { free, running, mut queue } = *self.cpus.get(cpu);
        debug_assert!(running != NIL && free == self.now, "a processor's alarm rings when it is done");
        let unfinished = self.quantum().is_some() && self.left.get(u64::from(running), 0).is_some();
        if unfinished {
            queue.push(self.window.rows(), running);
        }
        let next = queue.pop(self.window.pool());
        *self.cpus.edit(cpu) = Cpu { free, running: NIL, queue };
        if let Some(next) = next {
            self.begin(cpu, next, fx);
        }
        match self.window.get(running).op.kind {
            _ if unfinished => {}
            Kind::Send => self.transmit(running, fx),
            _ => self.finish(running, fx),
        }
    }

    /// A message, or what goes before it, has come.
    fn comes(&mut self, delivery: &Delivery, fx: &mut dyn HostEffects) {
        let envelope = Envelope::from(delivery.ahead);
        match envelope.role {
            Role::Eager | Role::Request => self.in_turn(&envelope, fx),
            Role::Grant => self.granted(&envelope, delivery, fx),
            Role::Data => {
                let rank = self.residents.local(envelope.to);
                let row = self.named(rank, envelope.receive);
                self.ends_send(&envelope, fx);
                self.received(row, envelope.from, envelope.send, envelope.late, fx);
            }
        }
    }

    /// A send's message, or its request, goes to the network.
    fn transmit(&mut self, row: u32, fx: &mut dyn HostEffects) {
        let Row { op, rank, number: send, .. } = *self.window.get(row);
        debug_assert_eq!(op.kind, Kind::Send, "only sends have messages");
        let &Resident { place, number: from, .. } = self.residents.get(rank);
        let to = self.roster.number(place.job, op.peer);
        let destination = self.roster.terminal(place.job, op.peer);
        let mut sequence = 0;
        self.sent.update(pair(from, to), 0, 0, |sent| {
            sequence = *sent;
            *sent = sent.wrapping_add(1);
        });
        let eager = self.roster.rules.leaves(op.mode, op.amount);
        let direct = self.roster.rules.direct.is_some();
        let role = if eager && !direct { Role::Eager } else { Role::Request };
        let (context, tag, bytes) = (op.context, op.tag, op.amount);
        let envelope =
            Envelope { role, context, tag, bytes, sequence, from, to, send, receive: NIL, late: false };
        if !eager {
            self.named.set(u64::from(rank), send, row);
            if self.roster.rules.meets {
                self.requested.set(u64::from(row), 0, self.now);
            }
        }
        if direct {
            if eager {
                self.finish(row, fx);
            }
            return self.in_turn(&envelope, fx);
        }
        let (bytes, control) = if eager { (bytes, false) } else { (self.roster.rules.control, true) };
        if destination == place.terminal {
            if eager {
                self.finish(row, fx);
            }
            return self.copy(rank, bytes, envelope, fx);
        }
        fx.post(Posting { source: place.terminal, destination, bytes, control, ahead: envelope.into() });
        if eager {
            self.finish(row, fx);
        }
    }

    /// The row of an operation that a message names.
    fn named(&mut self, rank: u32, number: u32) -> u32 {
        let row = self.named.remove(u64::from(rank), number);
        row.expect("a grant or data name an operation that waits for them")
    }

    /// Matches a message, and those that waited for it, in the order of sending.
    fn in_turn(&mut self, envelope: &Envelope, fx: &mut dyn HostEffects) {
        debug_assert!(matches!(envelope.role, Role::Eager | Role::Request), "grants and data match nothing");
        let key = pair(envelope.from, envelope.to);
        let incoming = self.arrived(envelope);
        let mut due = false;
        self.matched.update(key, 0, 0, |matched| {
            due = *matched == envelope.sequence;
            debug_assert!(envelope.sequence.wrapping_sub(*matched) < 1 << 31, "a message is matched once");
            *matched = matched.wrapping_add(u32::from(due));
        });
        if !due {
            self.parked.set(key, envelope.sequence, incoming);
            return;
        }
        self.admit(incoming, fx);
        let mut turn = envelope.sequence.wrapping_add(1);
        while !self.parked.is_empty()
            && let Some(parked) = self.parked.remove(key, turn)
        {
            self.admit(parked, fx);
            turn = turn.wrapping_add(1);
            self.matched.update(key, 0, 0, |matched| *matched = turn);
        }
    }

    /// A row for a message that has come.
    fn arrived(&mut self, envelope: &Envelope) -> u32 {
        let &Envelope { role, context, tag, bytes, sequence, from, to, send, .. } = envelope;
        let rank = self.residents.local(to);
        let source = self.roster.rank(self.residents.get(rank).place.job, from);
        let label = Label { rank, context, source, tag };
        let asks = role == Role::Request;
        self.incoming.take(Incoming { label, bytes, sequence, from, send, asks, next: NIL })
    }

    /// A message may be matched: a receive takes it, or it waits and answers probes.
    fn admit(&mut self, incoming: u32, fx: &mut dyn HostEffects) {
        let label = self.incoming.get(incoming).label;
        if let Some(row) = self.matching.arrive(label, incoming) {
            self.take_message(row, incoming, fx);
            return;
        }
        let mut answered = std::mem::take(&mut self.answered);
        self.matching.answer(&label, &mut answered);
        for probe in answered.drain(..) {
            self.finish(probe, fx);
        }
        self.answered = answered;
    }

    /// A receive takes a message or request.
    fn take_message(&mut self, row: u32, incoming: u32, fx: &mut dyn HostEffects) {
        let Incoming { label, bytes, sequence, from, send, asks, .. } = *self.incoming.get(incoming);
        debug_assert_eq!(self.window.get(row).op.kind, Kind::Recv, "receives take messages");
        debug_assert_eq!(self.window.get(row).rank, label.rank, "of their own rank");
        self.incoming.give(incoming);
        if bytes > self.window.get(row).op.amount {
            self.truncates(row, label.source, bytes);
        }
        // What has room for all that there can be does not say how much it gets: the message does.
        if self.window.get(row).op.amount >= MAX_BYTES {
            self.window.rows().edit(row).op.amount = bytes;
        }
        if !asks {
            return self.received(row, from, send, self.window.get(row).ready == self.now, fx);
        }
        let Row { rank, number: receive, .. } = *self.window.get(row);
        let &Resident { place, number: to, .. } = self.residents.get(rank);
        let sender = self.roster.terminal(place.job, label.source);
        let Label { context, tag, .. } = label;
        let role = Role::Grant;
        let late = self.window.get(row).ready == self.now;
        let grant = Envelope { role, context, tag, bytes, sequence, from, to, send, receive, late };
        self.named.set(u64::from(rank), receive, row);
        if let Some(header) = self.roster.rules.direct {
            return self.meet(sender, place.terminal, header, &grant, fx);
        }
        let bytes = self.roster.rules.control;
        if sender == place.terminal {
            return self.copy(rank, bytes, grant, fx);
        }
        let (source, ahead) = (place.terminal, grant.into());
        fx.post(Posting { source, destination: sender, bytes, control: true, ahead });
    }

    /// A receive has too little room for the message that it takes.
    #[cold]
    fn truncates(&mut self, row: u32, from: RankId, bytes: u64) {
        let Row { op, rank, number, .. } = *self.window.get(row);
        let Place { job, rank: to, .. } = self.residents.get(rank).place;
        self.truncated.edit(0).add(Cut { job, to, number, from, bytes, room: op.amount });
    }

    /// A receive allows a message that was announced: it goes, and its send is over.
    fn granted(&mut self, envelope: &Envelope, delivery: &Delivery, fx: &mut dyn HostEffects) {
        let rank = self.residents.local(envelope.from);
        let row = self.named(rank, envelope.send);
        debug_assert_eq!(self.window.get(row).op.kind, Kind::Send, "a grant names a send");
        let data = Envelope { role: Role::Data, ..*envelope };
        let source = self.residents.get(rank).place.terminal;
        if delivery.source == source {
            self.finish(row, fx);
            return self.copy(rank, envelope.bytes, data, fx);
        }
        let (destination, bytes) = (delivery.source, envelope.bytes);
        fx.post(Posting { source, destination, bytes, control: false, ahead: data.into() });
        self.finish(row, fx);
    }

    /// A receive has all its bytes.
    fn received(&mut self, row: u32, from: GlobalRank, send: u32, late: bool, fx: &mut dyn HostEffects) {
        let Row { op, rank, number: receive, .. } = *self.window.get(row);
        debug_assert_eq!(op.kind, Kind::Recv, "data name a receive");
        if self.roster.rules.meets {
            fx.met(Met { at: self.now, to: self.residents.get(rank).number, receive, from, send, late });
        }
        if self.roster.rules.overhead == 0 {
            return self.finish(row, fx);
        }
        self.enqueue(row, fx);
    }
}

impl Host for Programs {
    /// Sets the alarms at which ranks begin.
    fn start(&mut self, fx: &mut dyn HostEffects) {
        let cpus = self.residents.cpus().len() as u32;
        for (rank, r) in (0u32..).zip(self.residents.all()) {
            fx.alarm(Alarm {
                at: self.roster.start(r.place.job).max(fx.now()),
                terminal: r.place.terminal,
                processor: r.slot,
                ring: Ring::Begin,
                number: cpus + rank,
            });
        }
    }

    /// A rank begins, a processor is done with something, or memory is. Numbers of alarms are those of processors, then ranks, then channels.
    fn alarm(&mut self, number: u32, fx: &mut dyn HostEffects) {
        self.now = fx.now();
        let (cpus, ranks) = (self.residents.cpus().len() as u32, self.residents.all().len() as u32);
        if number < cpus {
            self.done(number, fx);
        } else if number - cpus < ranks {
            self.window.refill(number - cpus, self.now, &mut self.freed);
        } else {
            self.copied(number - cpus - ranks, fx);
        }
        self.take_up_freed(fx);
    }

    fn delivered(&mut self, delivery: &Delivery, fx: &mut dyn HostEffects) {
        debug_assert!(self.freed.is_empty(), "an event begins when the one before is done");
        self.now = fx.now();
        self.comes(delivery, fx);
        self.take_up_freed(fx);
    }

    fn abandon(&mut self) {
        self.freed.clear();
        self.answered.clear();
        self.there.clear();
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.window.visit_journals(visit);
        self.matching.visit_journals(visit);
        visit(&mut self.cpus);
        self.memories.visit_journals(visit);
        self.left.visit_journals(visit);
        self.requested.visit_journals(visit);
        visit(&mut self.incoming);
        self.sent.visit_journals(visit);
        self.matched.visit_journals(visit);
        self.parked.visit_journals(visit);
        self.named.visit_journals(visit);
        visit(&mut self.truncated);
    }
}

/// Why ranks cannot go on, and what nobody received: for a run in which nothing is pending any more, from where all its ranks stand.
#[must_use]
pub fn stuck(roster: &Roster, standing: Standing) -> Stuck {
    standing.stuck(&|job: u32, rank: RankId, op: &Op| {
        roster.program(job).map_or_else(String::new, |p| stuck::place(&**p, rank, op))
    })
}
