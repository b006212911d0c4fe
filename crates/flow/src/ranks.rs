//! Ranks of programs on terminals: operations, processors, matching. The rules are those of ranks on `packet`.
//!
//! Processors are FIFO servers: a computation takes its time, a send or receive takes `overhead`; what takes no time does not wait for a
//! processor. Up to `eager` bytes a message is sent at once and its send is over. Beyond, a request of `control` bytes goes first; when
//! a receive takes it, a grant of the same size comes back, the send is over, and the data follow. Messages of a pair are matched in
//! the order in which they were sent, even if a later one is whole first: early ones are parked.
//!
//! Not modelled: copies of unexpected messages, memory for them, and messages of a rank to itself, which take no time.

use super::{
    machine::{KIND_SHIFT, Machine, Message, RANK, Record},
    run::Context,
};
use base::time::Ps;
use engine::state::map::Map;
use engine::{domain::Effects, key::Class, state::NIL};
use model::setup::JobSetup;
use ranks::{
    cpu::{Cpu, is_eager},
    envelope::{Envelope, Role},
    matching::{Label, Matching},
    stuck::{self, RankState, Stuck},
    tally::Finished,
    window::{Row, Window, turn},
};
use std::sync::Arc;
use workload::program::{Kind, Op};

/// All ranks of programs.
pub struct Ranks {
    /// Rank here of each terminal, [`NIL`] for none.
    rank_of: Vec<u32>,
    /// Terminal of each rank here.
    terminal_of: Vec<u32>,
    first_cpu: Vec<u32>,
    /// Rank of each processor.
    owner: Vec<u32>,
    /// Operations.
    pub window: Window,
    /// Receives and messages.
    pub matching: Matching,
    cpus: Vec<Cpu>,
    /// Messages and requests that wait for a receive or for earlier ones of their pair: envelope and source terminal.
    incoming: Vec<(Envelope, u32)>,
    free: Vec<u32>,
    /// Messages and requests sent, and matched, by pair as the network numbers them.
    order: Vec<(u32, u32)>,
    /// Those that came too early, by pair and sequence.
    parked: Map<u32>,
    freed: Vec<u32>,
    answered: Vec<u32>,
}

impl Ranks {
    /// The ranks of a run's program jobs.
    #[must_use]
    pub fn new(cx: &Context) -> Self {
        let mut rank_of = vec![NIL; cx.rank.len()];
        let (mut terminal_of, mut programs) = (Vec::new(), Vec::new());
        let (mut first_cpu, mut owner) = (vec![0], Vec::new());
        for (terminal, &(job, rank)) in cx.rank.iter().enumerate() {
            let Some(program) = cx.jobs.get(job as usize).and_then(|j| j.work.program()) else { continue };
            let here = terminal_of.len() as u32;
            rank_of[terminal] = here;
            terminal_of.push(terminal as u32);
            owner.extend(std::iter::repeat_n(here, usize::from(program.cpus().max(1))));
            first_cpu.push(owner.len() as u32);
            programs.push((Arc::clone(program), rank));
        }
        Self {
            matching: Matching::new(programs.len() as u32),
            window: Window::new(programs),
            cpus: vec![Cpu::idle(); owner.len()],
            rank_of,
            terminal_of,
            first_cpu,
            owner,
            incoming: Vec::new(),
            free: Vec::new(),
            order: Vec::new(),
            parked: Map::default(),
            freed: Vec::new(),
            answered: Vec::new(),
        }
    }

    /// Ranks here and their terminals.
    pub fn all(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.terminal_of.iter().enumerate().map(|(r, &t)| (r as u32, t))
    }

    /// Messages and requests sent, and matched, of a pair.
    fn order_of(&mut self, pair: u32) -> &mut (u32, u32) {
        if self.order.len() <= pair as usize {
            self.order.resize(pair as usize + 1, (0, 0));
        }
        &mut self.order[pair as usize]
    }

    fn take(&mut self, envelope: Envelope, source: u32) -> u32 {
        match self.free.pop() {
            Some(row) => {
                self.incoming[row as usize] = (envelope, source);
                row
            }
            None => {
                self.incoming.push((envelope, source));
                (self.incoming.len() - 1) as u32
            }
        }
    }
}

impl Machine {
    /// Sets the alarms at which ranks begin.
    pub(super) fn start_ranks(&mut self, fx: &mut impl Effects<Self>) {
        for (rank, terminal) in self.ranks.all() {
            let (job, _) = self.cx.rank[terminal as usize];
            let cpu = self.ranks.first_cpu[rank as usize];
            let begin = self.cx.jobs[job as usize].start;
            fx.wake(begin, Class::Ordinary, 1 << 63 | u64::from(terminal) << 8, RANK << KIND_SHIFT | cpu);
        }
    }

    /// A rank begins, or one of its processors is done with something.
    pub(super) fn rank_alarm(&mut self, cpu: u32, fx: &mut impl Effects<Self>) {
        let (now, rank) = (fx.now(), self.ranks.owner[cpu as usize]);
        if self.ranks.window.read(rank) == 0 && !self.ranks.window.is_over(rank) {
            self.ranks.window.refill(rank, now, &mut self.ranks.freed);
        } else {
            let Cpu { free, running, mut queue } = self.ranks.cpus[cpu as usize];
            debug_assert!(running != NIL && free == now, "a processor's alarm rings when it is done");
            let next = queue.pop(self.ranks.window.pool());
            self.ranks.cpus[cpu as usize] = Cpu { free, running: NIL, queue };
            if let Some(next) = next {
                self.begin(cpu, next, fx);
            }
            match self.ranks.window.get(running).op.kind {
                Kind::Send => self.transmit(running, fx),
                _ => self.finish_operation(running, fx),
            }
        }
        self.take_up_freed(fx);
    }

    /// Takes up what has become executable, and what that frees.
    fn take_up_freed(&mut self, fx: &mut impl Effects<Self>) {
        let order = |ranks: &mut Ranks, from: usize| {
            let window = &ranks.window;
            ranks.freed[from..].sort_by_key(|&row| turn(window.get(row).op.kind));
        };
        order(&mut self.ranks, 0);
        let mut at = 0;
        while at < self.ranks.freed.len() {
            let (row, from) = (self.ranks.freed[at], self.ranks.freed.len());
            self.take_up(row, fx);
            order(&mut self.ranks, from);
            at += 1;
        }
        self.ranks.freed.clear();
    }

    fn take_up(&mut self, row: u32, fx: &mut impl Effects<Self>) {
        let Row { op, rank, .. } = *self.ranks.window.get(row);
        let label = Label { rank, context: op.context, source: op.peer, tag: op.tag };
        match op.kind {
            Kind::Calc | Kind::Send if self.span(row) > 0 => {
                let cpu = self.ranks.first_cpu[rank as usize] + u32::from(op.cpu);
                self.enqueue(cpu, row, fx);
            }
            Kind::Send => {
                self.started(row, fx);
                self.transmit(row, fx);
            }
            Kind::Recv => {
                self.started(row, fx);
                if let Some(incoming) = self.ranks.matching.receive(label, row) {
                    self.take_message(row, incoming, fx);
                }
            }
            Kind::Probe => {
                self.started(row, fx);
                if self.ranks.matching.probe(label, row) {
                    self.finish_operation(row, fx);
                }
            }
            Kind::Calc | Kind::Join | Kind::JoinAny => {
                self.started(row, fx);
                self.finish_operation(row, fx);
            }
        }
    }

    /// Time that an operation takes of a processor.
    fn span(&self, row: u32) -> Ps {
        let Row { op, rank, .. } = *self.ranks.window.get(row);
        if op.kind != Kind::Calc {
            return self.cx.config.overhead;
        }
        let (job, _) = self.cx.rank[self.ranks.terminal_of[rank as usize] as usize];
        JobSetup::computing(op.amount, self.cx.jobs[job as usize].compute_ppb)
    }

    fn started(&mut self, row: u32, fx: &mut impl Effects<Self>) {
        self.ranks.window.start(row, fx.now(), &mut self.ranks.freed);
    }

    fn finish_operation(&mut self, row: u32, fx: &mut impl Effects<Self>) {
        let Row { op, rank, number, ready, .. } = *self.ranks.window.get(row);
        let (time, terminal) = (fx.now(), self.ranks.terminal_of[rank as usize]);
        let busy = (self.span(row), self.cx.config.overhead);
        let (job, _) = self.cx.rank[terminal as usize];
        let ready = ready.clamp(self.cx.jobs[job as usize].start.min(time), time);
        let ready = if op.kind == Kind::Calc { time - busy.0 } else { ready };
        fx.record(Record::Operation(Finished::new(&op, (terminal, number), (ready, time), busy)));
        self.ranks.window.finish(row, time, &mut self.ranks.freed);
    }

    fn enqueue(&mut self, cpu: u32, row: u32, fx: &mut impl Effects<Self>) {
        if self.ranks.cpus[cpu as usize].running == NIL {
            return self.begin(cpu, row, fx);
        }
        let mut queue = self.ranks.cpus[cpu as usize].queue;
        queue.push(self.ranks.window.rows(), row);
        self.ranks.cpus[cpu as usize].queue = queue;
    }

    /// A processor takes an operation in hand.
    fn begin(&mut self, cpu: u32, row: u32, fx: &mut impl Effects<Self>) {
        let free = fx.now().saturating_add(self.span(row));
        let state = &mut self.ranks.cpus[cpu as usize];
        (state.free, state.running) = (free, row);
        let rank = self.ranks.owner[cpu as usize];
        let which = u64::from(cpu - self.ranks.first_cpu[rank as usize]);
        let terminal = u64::from(self.ranks.terminal_of[rank as usize]);
        if free < self.cx.end {
            fx.wake(free, Class::Ordinary, 1 << 63 | terminal << 8 | which, RANK << KIND_SHIFT | cpu);
        } else {
            self.cut = true;
        }
        if self.ranks.window.get(row).op.kind != Kind::Recv {
            self.started(row, fx);
        }
    }

    /// A send's message, or its request, goes to the network.
    fn transmit(&mut self, row: u32, fx: &mut impl Effects<Self>) {
        let Row { op, rank, .. } = *self.ranks.window.get(row);
        let source = self.ranks.terminal_of[rank as usize];
        let (job, _) = self.cx.rank[source as usize];
        let destination = self.cx.jobs[job as usize].placement[op.peer as usize];
        let pair = self.network.pair(source, destination);
        let sent = &mut self.ranks.order_of(pair).0;
        let sequence = *sent;
        *sent = sequence.wrapping_add(1);
        let eager = is_eager(op.mode, op.amount, self.cx.config.eager);
        let role = if eager { Role::Eager } else { Role::Request };
        let (context, tag, bytes) = (op.context, op.tag, op.amount);
        let envelope = Envelope { role, context, tag, sequence, to: NIL, from: row, bytes };
        if destination == source {
            // Within the rank: no bytes travel, but who may go on when is as with others.
            if eager {
                self.finish_operation(row, fx);
            }
            self.in_turn((source, source, pair), envelope, fx);
            return;
        }
        let bytes = if eager { op.amount } else { self.cx.config.control };
        self.post((source, destination, pair), bytes, None, Some(envelope), fx);
        if eager {
            self.finish_operation(row, fx);
        }
    }

    /// A message is complete at a terminal that hosts a rank.
    pub(super) fn rank_message(
        &mut self,
        message: &Message,
        envelope: Envelope,
        fx: &mut impl Effects<Self>,
    ) {
        let Message { source, destination, pair, .. } = *message;
        match envelope.role {
            Role::Eager | Role::Request => self.in_turn((source, destination, pair), envelope, fx),
            Role::Grant => {
                let bytes = self.ranks.window.get(envelope.to).op.amount;
                let data = Envelope { role: Role::Data, to: envelope.from, from: NIL, ..envelope };
                let back = self.network.pair(destination, source);
                self.post((destination, source, back), bytes, None, Some(data), fx);
                self.finish_operation(envelope.to, fx);
            }
            Role::Data => self.received(envelope.to, fx),
        }
        self.take_up_freed(fx);
    }

    /// Matches a message, and those that waited for it, in the order of sending.
    fn in_turn(
        &mut self,
        (source, destination, pair): (u32, u32, u32),
        envelope: Envelope,
        fx: &mut impl Effects<Self>,
    ) {
        let key = u64::from(pair);
        let mut incoming = self.ranks.take(envelope, source);
        let mut turn = self.ranks.order_of(pair).1;
        if envelope.sequence != turn {
            self.ranks.parked.set(key, envelope.sequence, incoming);
            return;
        }
        loop {
            self.admit(destination, incoming, fx);
            turn = turn.wrapping_add(1);
            if self.ranks.parked.is_empty() {
                break;
            }
            match self.ranks.parked.remove(key, turn) {
                Some(parked) => incoming = parked,
                None => break,
            }
        }
        self.ranks.order_of(pair).1 = turn;
    }

    fn admit(&mut self, destination: u32, incoming: u32, fx: &mut impl Effects<Self>) {
        let (envelope, source) = self.ranks.incoming[incoming as usize];
        let (_, from) = self.cx.rank[source as usize];
        let rank = self.ranks.rank_of[destination as usize];
        let label = Label { rank, context: envelope.context, source: from, tag: envelope.tag };
        if let Some(row) = self.ranks.matching.arrive(label, incoming) {
            self.take_message(row, incoming, fx);
            return;
        }
        let mut answered = std::mem::take(&mut self.ranks.answered);
        self.ranks.matching.answer(&label, &mut answered);
        for probe in answered.drain(..) {
            self.finish_operation(probe, fx);
        }
        self.ranks.answered = answered;
    }

    /// A receive takes a message or request.
    fn take_message(&mut self, row: u32, incoming: u32, fx: &mut impl Effects<Self>) {
        let (envelope, source) = self.ranks.incoming[incoming as usize];
        self.ranks.free.push(incoming);
        if envelope.role == Role::Eager {
            return self.received(row, fx);
        }
        let here = self.ranks.terminal_of[self.ranks.window.get(row).rank as usize];
        if source == here {
            self.finish_operation(envelope.from, fx);
            return self.received(row, fx);
        }
        let grant = Envelope { role: Role::Grant, to: envelope.from, from: row, ..envelope };
        let back = self.network.pair(here, source);
        self.post((here, source, back), self.cx.config.control, None, Some(grant), fx);
    }

    /// A receive has all its bytes.
    fn received(&mut self, row: u32, fx: &mut impl Effects<Self>) {
        if self.cx.config.overhead == 0 {
            return self.finish_operation(row, fx);
        }
        let Row { op, rank, .. } = *self.ranks.window.get(row);
        let cpu = self.ranks.first_cpu[rank as usize] + u32::from(op.cpu);
        self.enqueue(cpu, row, fx);
    }
}

/// Why ranks cannot go on, and what nobody received: for a run in which nothing is pending any more.
#[must_use]
pub fn stuck(cx: &Context, ranks: &Ranks) -> Stuck {
    let mut all: Vec<(RankState, u32)> =
        ranks.all().map(|(rank, terminal)| (state(cx, ranks, rank, terminal), rank)).collect();
    all.sort_unstable_by_key(|(r, _)| (r.job, r.rank));
    let (states, rows): (Vec<RankState>, Vec<u32>) = all.into_iter().unzip();
    let op = |i: usize, number: u32| {
        let mut all = ranks.window.of_rank(rows[i]).map(|r| ranks.window.get(r));
        all.find(|r| r.number == number).map(|r| r.op)
    };
    let describe = |job: u32, rank: u32, op: &Op| {
        let program = cx.jobs[job as usize].work.program();
        program.map_or_else(String::new, |p| stuck::place(&**p, rank, op))
    };
    Stuck::of(&states, &op, &describe)
}

fn state(cx: &Context, ranks: &Ranks, rank: u32, terminal: u32) -> RankState {
    let message = |row: u32| {
        let (envelope, source) = ranks.incoming[row as usize];
        (envelope, cx.rank[source as usize].1)
    };
    RankState::of(&ranks.window, &ranks.matching, rank, cx.rank[terminal as usize], message)
}
