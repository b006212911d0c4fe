//! Ranks on terminals: rank programs run through the packet network.
//!
//! Each terminal of a program job hosts one rank. Its operations come from a [`Window`], its receives and messages meet in a
//! [`Matching`]; both live in the partition of the terminal. Processors are FIFO servers: a computation takes its time, a send or
//! receive takes `overhead`; what takes no time does not wait for a processor.
//!
//! **Envelopes.** The network carries bytes, not tags. When a rank posts a message, its envelope goes ahead to the partition of the
//! destination: at once within a partition, else as an event that arrives after the least time that any message needs, so always before the message itself.
//! Terminal and number of the message name it there until its last packet arrives.
//!
//! **Protocols.** Up to `eager` bytes a message is sent at once and its send is over. Beyond, a request of `control` bytes goes first; when
//! a receive takes it, a grant of the same size comes back, the send is over, and the data follow; they end the receive. Messages of a pair are
//! matched in the order in which they were sent, even if the network or another rail overtakes: early ones are parked. A rank lives on the
//! first terminal of its node; what its other terminals receive is handed to it.
//!
//! Cost: per message one entry in a map and a constant number of table rows; an event per computation and per overhead. Not modelled: copies of
//! unexpected messages, memory for them, and messages of a rank to itself, which take no time.

use super::{
    effects::{Fx, Record, Wire},
    event::{Alarm, Name},
    net::{Router, Static},
    network::{Local, Network},
    state::State,
};
use base::time::Ps;
use engine::state::map::Map;
use engine::{
    key::Class,
    state::{Journal, Linked, NIL, Pool, Table},
};
use ranks::{
    cpu::{Cpu, is_eager},
    envelope::{Envelope, Role},
    matching::{Label, Matching},
    stuck::{self, RankState, Stuck},
    tally::Finished,
    window::{Row, Window, turn},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use workload::program::{Kind, Op};

/// A message or request that waits for a receive, or for earlier ones of its pair.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Incoming {
    envelope: Envelope,
    /// Terminal that it comes from.
    source: u32,
    next: u32,
}

impl Linked for Incoming {
    fn next(&self) -> u32 {
        self.next
    }
    fn set_next(&mut self, next: u32) {
        self.next = next;
    }
}

/// The ranks of a partition. Empty where no job runs a program.
#[derive(Clone)]
pub struct Host {
    /// Rank here of each local terminal, [`NIL`] for none.
    rank_of: Arc<Vec<u32>>,
    /// Local terminal of each rank here.
    terminal_of: Arc<Vec<u32>>,
    /// First processor of each rank here, and their number.
    first_cpu: Arc<Vec<u32>>,
    /// Rank of each processor.
    owner: Arc<Vec<u32>>,
    /// Operations.
    pub window: Window,
    /// Receives and messages.
    pub matching: Matching,
    cpus: Table<Cpu>,
    incoming: Pool<Incoming>,
    envelopes: Map<Envelope>,
    /// Messages and requests sent, by pair of terminals.
    sent: Map<u32>,
    /// Messages and requests matched, by pair of terminals.
    matched: Map<u32>,
    /// Those that came too early, by pair and sequence.
    parked: Map<u32>,
    /// Operations that have become executable and are not yet taken up. Empty between events.
    freed: Vec<u32>,
    answered: Vec<u32>,
}

impl PartialEq for Host {
    fn eq(&self, other: &Self) -> bool {
        self.window == other.window
            && self.matching == other.matching
            && self.cpus == other.cpus
            && self.incoming == other.incoming
            && self.envelopes == other.envelopes
            && self.sent == other.sent
            && self.matched == other.matched
            && self.parked == other.parked
    }
}

impl Host {
    /// The ranks of program jobs that live on a partition's terminals.
    #[must_use]
    pub fn new(net: &Network, local: &Local) -> Self {
        let mut rank_of = vec![NIL; local.terminals.len()];
        let (mut terminal_of, mut programs) = (Vec::new(), Vec::new());
        let (mut first_cpu, mut owner) = (vec![0], Vec::new());
        for (i, &terminal) in local.terminals.iter().enumerate() {
            // A rank lives on its node's first terminal; what comes on other rails is handed to it.
            if net.fabric.plane_of(terminal) > 0 {
                break;
            }
            let (job, rank) = net.rank[terminal as usize];
            let Some(program) = net.work.get(job as usize).and_then(|w| w.program()) else { continue };
            let here = terminal_of.len() as u32;
            rank_of[i] = here;
            terminal_of.push(i as u32);
            owner.extend(std::iter::repeat_n(here, usize::from(program.cpus().max(1))));
            first_cpu.push(owner.len() as u32);
            programs.push((Arc::clone(program), rank));
        }
        let ranks = programs.len();
        Self {
            rank_of: Arc::new(rank_of),
            terminal_of: Arc::new(terminal_of),
            first_cpu: Arc::new(first_cpu),
            cpus: Table::new(owner.len(), Cpu::idle()),
            owner: Arc::new(owner),
            window: Window::new(programs),
            matching: Matching::new(ranks as u32),
            incoming: Pool::default(),
            envelopes: Map::default(),
            sent: Map::default(),
            matched: Map::default(),
            parked: Map::default(),
            freed: Vec::new(),
            answered: Vec::new(),
        }
    }

    /// Ranks here: number and local terminal.
    pub fn ranks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.terminal_of.iter().enumerate().map(|(r, &i)| (r as u32, i))
    }

    /// True if a rank has operations that are not finished, or may have.
    #[must_use]
    pub fn is_busy(&self, rank: u32) -> bool {
        !self.window.is_over(rank) || self.window.of_rank(rank).any(|r| !self.window.get(r).is_finished())
    }

    /// Shows every table to the engine.
    pub fn tables(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.window.tables(visit);
        self.matching.tables(visit);
        visit(&mut self.cpus);
        visit(&mut self.incoming);
        self.envelopes.tables(visit);
        self.sent.tables(visit);
        self.matched.tables(visit);
        self.parked.tables(visit);
    }
}

fn pair(source: u32, destination: u32) -> u64 {
    u64::from(source) << 32 | u64::from(destination)
}

impl<R: Router> State<R> {
    /// Sets the alarms at which ranks begin.
    pub(super) fn start_ranks(&mut self, cx: &Static, fx: &mut impl Fx) {
        for (rank, i) in self.host.ranks() {
            let terminal = cx.local.terminals[i as usize];
            let (job, _) = cx.net.rank[terminal as usize];
            let cpu = self.host.first_cpu[rank as usize];
            let begin = cx.net.start[job as usize].max(fx.instant());
            fx.wake_on(
                cx.net.lane,
                begin,
                Class::Ordinary,
                Name::Rank.of(terminal, u32::MAX),
                Alarm::Rank(cpu).token(),
            );
        }
    }

    /// A rank begins, or one of its processors is done with something.
    pub(super) fn rank_alarm(&mut self, cx: &Static, cpu: u32, fx: &mut impl Fx) {
        let (now, rank) = (fx.instant(), self.host.owner[cpu as usize]);
        if self.host.window.read(rank) == 0 && !self.host.window.is_over(rank) {
            self.host.window.refill(rank, now, &mut self.host.freed);
        } else {
            let Cpu { free, running, mut queue } = *self.host.cpus.get(cpu);
            debug_assert!(running != NIL && free == now, "a processor's alarm rings when it is done");
            let next = queue.pop(self.host.window.rows());
            *self.host.cpus.edit(cpu) = Cpu { free, running: NIL, queue };
            if let Some(next) = next {
                self.begin(cx, cpu, next, fx);
            }
            match self.host.window.get(running).op.kind {
                Kind::Send => self.transmit(cx, running, fx),
                _ => self.finish(cx, running, fx),
            }
        }
        self.take_up_freed(cx, fx);
    }

    /// Takes up what has become executable, and what that frees.
    fn take_up_freed(&mut self, cx: &Static, fx: &mut impl Fx) {
        let order = |host: &mut Host, from: usize| {
            let window = &host.window;
            host.freed[from..].sort_by_key(|&row| turn(window.get(row).op.kind));
        };
        order(&mut self.host, 0);
        let mut at = 0;
        while at < self.host.freed.len() {
            let (row, from) = (self.host.freed[at], self.host.freed.len());
            self.take_up(cx, row, fx);
            order(&mut self.host, from);
            at += 1;
        }
        self.host.freed.clear();
    }

    fn take_up(&mut self, cx: &Static, row: u32, fx: &mut impl Fx) {
        let Row { op, rank, .. } = *self.host.window.get(row);
        match op.kind {
            Kind::Calc | Kind::Send if self.span(cx, row) > 0 => {
                let cpu = self.host.first_cpu[rank as usize] + u32::from(op.cpu);
                self.enqueue(cx, cpu, row, fx);
            }
            Kind::Send => {
                self.started(row, fx);
                self.transmit(cx, row, fx);
            }
            Kind::Recv => {
                self.started(row, fx);
                let label = Label { rank, context: op.context, source: op.peer, tag: op.tag };
                if let Some(incoming) = self.host.matching.receive(label, row) {
                    self.take_message(cx, row, incoming, fx);
                }
            }
            Kind::Probe => {
                self.started(row, fx);
                let label = Label { rank, context: op.context, source: op.peer, tag: op.tag };
                if self.host.matching.probe(label, row) {
                    self.finish(cx, row, fx);
                }
            }
            Kind::Calc | Kind::Join | Kind::JoinAny => {
                self.started(row, fx);
                self.finish(cx, row, fx);
            }
        }
    }

    /// Time that an operation takes of a processor.
    fn span(&self, cx: &Static, row: u32) -> Ps {
        let Row { op, rank, .. } = *self.host.window.get(row);
        if op.kind != Kind::Calc {
            return cx.net.config.overhead;
        }
        let (job, _) = cx.net.rank[self.terminal_of(cx, rank) as usize];
        cx.net.computing(job, op.amount)
    }

    fn terminal_of(&self, cx: &Static, rank: u32) -> u32 {
        cx.local.terminals[self.host.terminal_of[rank as usize] as usize]
    }

    fn started(&mut self, row: u32, fx: &mut impl Fx) {
        self.host.window.start(row, fx.instant(), &mut self.host.freed);
    }

    fn finish(&mut self, cx: &Static, row: u32, fx: &mut impl Fx) {
        let Row { op, rank, number, ready, .. } = *self.host.window.get(row);
        let busy = (self.span(cx, row), cx.net.config.overhead);
        let (time, terminal) = (fx.instant(), self.terminal_of(cx, rank));
        let ready = ready.clamp(cx.net.start_of(terminal), time);
        fx.record(Record::Operation(Finished::new(&op, (terminal, number), (ready, time), busy)));
        self.host.window.finish(row, fx.instant(), &mut self.host.freed);
    }

    fn enqueue(&mut self, cx: &Static, cpu: u32, row: u32, fx: &mut impl Fx) {
        if self.host.cpus.get(cpu).running == NIL {
            return self.begin(cx, cpu, row, fx);
        }
        let mut queue = self.host.cpus.get(cpu).queue;
        queue.push(self.host.window.rows(), row);
        self.host.cpus.edit(cpu).queue = queue;
    }

    /// A processor takes an operation in hand.
    fn begin(&mut self, cx: &Static, cpu: u32, row: u32, fx: &mut impl Fx) {
        let free = fx.instant() + self.span(cx, row);
        let queue = self.host.cpus.get(cpu).queue;
        *self.host.cpus.edit(cpu) = Cpu { free, running: row, queue };
        let rank = self.host.owner[cpu as usize];
        let which = cpu - self.host.first_cpu[rank as usize];
        let name = Name::Rank.of(self.terminal_of(cx, rank), which);
        fx.wake_on(cx.net.lane, free, Class::Ordinary, name, Alarm::Rank(cpu).token());
        if self.host.window.get(row).op.kind != Kind::Recv {
            self.started(row, fx);
        }
    }

    /// A send's message, or its request, goes to the network.
    fn transmit(&mut self, cx: &Static, row: u32, fx: &mut impl Fx) {
        let Row { op, rank, .. } = *self.host.window.get(row);
        let source = self.terminal_of(cx, rank);
        let (job, _) = cx.net.rank[source as usize];
        let destination = cx.net.placement[job as usize][op.peer as usize];
        let key = pair(source, destination);
        let sequence = self.host.sent.get(key, 0).unwrap_or(0);
        self.host.sent.set(key, 0, sequence.wrapping_add(1));
        let (context, tag) = (op.context, op.tag);
        let bytes = op.amount;
        let envelope = Envelope { role: Role::Eager, context, tag, sequence, to: NIL, from: row, bytes };
        if destination == source {
            // Within the rank: no bytes travel, but who may go on when is as with others.
            let eager = is_eager(op.mode, op.amount, cx.net.config.eager);
            let role = if eager { Role::Eager } else { Role::Request };
            if eager {
                self.finish(cx, row, fx);
            }
            self.in_turn(cx, source, source, Envelope { role, ..envelope }, fx);
        } else if is_eager(op.mode, op.amount, cx.net.config.eager) {
            self.dispatch(cx, rank, destination, op.amount, envelope, fx);
            self.finish(cx, row, fx);
        } else {
            let envelope = Envelope { role: Role::Request, ..envelope };
            self.dispatch(cx, rank, destination, cx.net.config.control, envelope, fx);
        }
    }

    /// Posts a message and sends its envelope ahead.
    fn dispatch(
        &mut self,
        cx: &Static,
        rank: u32,
        destination: u32,
        bytes: u64,
        envelope: Envelope,
        fx: &mut impl Fx,
    ) {
        let posting = self.posting(cx, self.host.terminal_of[rank as usize], destination);
        let (source, number, to_terminal) = (posting.source, posting.number, posting.destination);
        let to = cx.net.owner[cx.net.fabric.router_at(destination) as usize];
        if to == cx.local.partition {
            self.host.envelopes.set(pair(source, to_terminal), number, envelope);
        } else {
            let at = fx.instant() + cx.net.message_time;
            let wire = Wire::Envelope { source, destination: to_terminal, number, envelope };
            // The terminal's own count: with a transport the number is the pair's.
            let count = self.terminals.get(posting.local).posted.wrapping_sub(1);
            fx.send(to, cx.net.lane, at, Class::Ordinary, Name::Envelope.of(source, count), wire);
        }
        self.post(cx, posting, bytes, fx);
    }

    /// The envelope of a message from another partition.
    pub(super) fn envelope_from_afar(
        &mut self,
        (source, destination): (u32, u32),
        number: u32,
        envelope: Envelope,
    ) {
        self.host.envelopes.set(pair(source, destination), number, envelope);
    }

    /// A message from terminal `source` is complete at terminal `destination`, whose node hosts a rank.
    pub(super) fn rank_message(
        &mut self,
        cx: &Static,
        source: u32,
        destination: u32,
        number: u32,
        fx: &mut impl Fx,
    ) {
        let envelope = self
            .host
            .envelopes
            .remove(pair(source, destination), number)
            .expect("envelopes go ahead of their messages");
        let (source, destination) = (cx.net.fabric.node_of(source), cx.net.fabric.node_of(destination));
        match envelope.role {
            Role::Eager | Role::Request => self.in_turn(cx, source, destination, envelope, fx),
            Role::Grant => {
                let Row { op, rank, .. } = *self.host.window.get(envelope.to);
                let data = Envelope { role: Role::Data, to: envelope.from, from: NIL, ..envelope };
                self.dispatch(cx, rank, source, op.amount, data, fx);
                self.finish(cx, envelope.to, fx);
            }
            Role::Data => self.received(cx, envelope.to, fx),
        }
        self.take_up_freed(cx, fx);
    }

    /// Matches a message, and those that waited for it, in the order of sending.
    fn in_turn(&mut self, cx: &Static, source: u32, destination: u32, envelope: Envelope, fx: &mut impl Fx) {
        let key = pair(source, destination);
        let mut incoming = self.host.incoming.take(Incoming { envelope, source, next: NIL });
        let mut turn = self.host.matched.get(key, 0).unwrap_or(0);
        if envelope.sequence != turn {
            self.host.parked.set(key, envelope.sequence, incoming);
            return;
        }
        loop {
            self.admit(cx, destination, incoming, fx);
            turn = turn.wrapping_add(1);
            match self.host.parked.remove(key, turn) {
                Some(parked) => incoming = parked,
                None => break,
            }
        }
        self.host.matched.set(key, 0, turn);
    }

    fn admit(&mut self, cx: &Static, destination: u32, incoming: u32, fx: &mut impl Fx) {
        let Incoming { envelope, source, .. } = *self.host.incoming.get(incoming);
        let i = cx.local.terminals.binary_search(&destination).expect("the message reached its partition");
        let (_, from) = cx.net.rank[source as usize];
        let rank = self.host.rank_of[i];
        let label = Label { rank, context: envelope.context, source: from, tag: envelope.tag };
        if let Some(row) = self.host.matching.arrive(label, incoming) {
            self.take_message(cx, row, incoming, fx);
            return;
        }
        let mut answered = std::mem::take(&mut self.host.answered);
        self.host.matching.answer(&label, &mut answered);
        for probe in answered.drain(..) {
            self.finish(cx, probe, fx);
        }
        self.host.answered = answered;
    }

    /// A receive takes a message or request.
    fn take_message(&mut self, cx: &Static, row: u32, incoming: u32, fx: &mut impl Fx) {
        let Incoming { envelope, source, .. } = *self.host.incoming.get(incoming);
        self.host.incoming.give(incoming);
        if envelope.role == Role::Eager {
            self.received(cx, row, fx);
        } else {
            let rank = self.host.window.get(row).rank;
            if source == self.terminal_of(cx, rank) {
                self.finish(cx, envelope.from, fx);
                return self.received(cx, row, fx);
            }
            let grant = Envelope { role: Role::Grant, to: envelope.from, from: row, ..envelope };
            self.dispatch(cx, rank, source, cx.net.config.control, grant, fx);
        }
    }

    /// A receive has all its bytes.
    fn received(&mut self, cx: &Static, row: u32, fx: &mut impl Fx) {
        if cx.net.config.overhead == 0 {
            return self.finish(cx, row, fx);
        }
        let Row { op, rank, .. } = *self.host.window.get(row);
        let cpu = self.host.first_cpu[rank as usize] + u32::from(op.cpu);
        self.enqueue(cx, cpu, row, fx);
    }
}

/// The first program source that turned out to be damaged while it was read: its rank stopped there, so the run means nothing.
#[must_use]
pub fn damage(net: &Network, hosts: &[(&Local, &Host)]) -> Option<String> {
    hosts.iter().find_map(|(local, host)| {
        let (rank, message) = host.window.damage.as_ref()?;
        let (job, rank) = net.rank[local.terminals[host.terminal_of[*rank as usize] as usize] as usize];
        Some(format!("job number {job}, rank {rank}: {message}"))
    })
}

/// Why ranks cannot go on, and what nobody received: for a run in which nothing is pending any more.
#[must_use]
pub fn stuck(net: &Network, hosts: &[(&Local, &Host)]) -> Stuck {
    let mut ranks = Vec::new();
    for (n, (local, host)) in hosts.iter().enumerate() {
        for (rank, i) in host.ranks() {
            let place = net.rank[local.terminals[i as usize] as usize];
            ranks.push((state(net, host, place, rank), (n, rank)));
        }
    }
    ranks.sort_unstable_by_key(|(r, _)| (r.job, r.rank));
    let (states, homes): (Vec<RankState>, Vec<(usize, u32)>) = ranks.into_iter().unzip();
    let op = |i: usize, number: u32| {
        let (n, rank) = homes[i];
        let window = &hosts[n].1.window;
        window.of_rank(rank).map(|r| window.get(r)).find(|r| r.number == number).map(|r| r.op)
    };
    let describe = |job: u32, rank: u32, op: &Op| {
        let program = net.work[job as usize].program();
        program.map_or_else(String::new, |p| stuck::place(&**p, rank, op))
    };
    Stuck::of(&states, &op, &describe)
}

fn state(net: &Network, host: &Host, place: (u32, u32), rank: u32) -> RankState {
    let message = |row: u32| {
        let Incoming { envelope, source, .. } = *host.incoming.get(row);
        (envelope, net.rank[source as usize].1)
    };
    RankState::of(&host.window, &host.matching, rank, place, message)
}
