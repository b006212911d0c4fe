//! Rank programs done a second time, from the rules alone: one heap of everything by time and order of creation, lists that are searched, no rows
//! that are used again. It shares nothing with what it checks but the program and the parameters.
//!
//! The order is LogGOPSim's, with its sort of simultaneous operations made stable. What finds its resources taken is put back for the time at which
//! they are free, in its old place among equals.

mod fault;

pub use fault::{FAULTS, Fault};

use base::index::RankId;
use loggops::{Cost, DelayConfig, Ties};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};
use workload::program::{ANY_RANK, ANY_TAG, After, Batch, Edge, Kind, Op, Program, mpi::Mode};

/// A job: its program, its start, the factor on its computations in billionths.
pub struct Job<'a> {
    pub program: &'a dyn Program,
    pub start: u64,
    pub compute_ppb: u64,
    /// Batches are part of the meaning: nothing of one is executable before the last operation of the one before has started. Of a graph
    /// they are not: they must change nothing.
    pub stream: bool,
}

/// What came out: by rank of all jobs its makespan, and start and end of each operation that was over.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub makespans: Vec<u64>,
    pub operations: BTreeMap<(usize, usize), (u64, u64)>,
}

type Stamp = (u64, u64, u64);
type OpAt = (usize, usize);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Op(OpAt),
    Message(usize),
}

struct Node {
    op: Op,
    waits: usize,
    ready: u64,
    executable: bool,
    /// Its batch is not read yet; something that it waits for is over nevertheless.
    unread: bool,
    met: bool,
    /// What its start and its end free, in order.
    starts: Vec<usize>,
    ends: Vec<usize>,
    /// What can be read once it has started, in order.
    reads: Vec<usize>,
}

#[derive(Default)]
struct Rank {
    job: usize,
    first: usize,
    nodes: Vec<Node>,
    cpu: Vec<u64>,
    send: Vec<u64>,
    receive: Vec<u64>,
    created: u64,
    last: u64,
    posted: Vec<(usize, bool)>,
    arrived: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Message {
    from: OpAt,
    to: usize,
    waits: bool,
}

struct State<'a> {
    config: &'a DelayConfig,
    fault: Option<Fault>,
    coupled: bool,
    jobs: &'a [Job<'a>],
    ranks: Vec<Rank>,
    heap: BinaryHeap<Reverse<(u64, Stamp, Item)>>,
    messages: Vec<Message>,
    latest: BTreeMap<(usize, usize), u64>,
    freed: Vec<OpAt>,
    created: u64,
    outcome: Outcome,
}

/// Simulates these jobs.
pub fn simulate(jobs: &[Job<'_>], config: &DelayConfig, fault: Option<Fault>) -> Outcome {
    let most = |of: fn(&dyn Program) -> u8| jobs.iter().map(|j| of(j.program)).max().unwrap_or(1).max(1);
    let (cpus, nics) = (most(|p| p.cpus()), most(|p| p.nics()));
    let mut s = State {
        config,
        fault,
        coupled: false,
        jobs,
        ranks: Vec::new(),
        heap: BinaryHeap::new(),
        messages: Vec::new(),
        latest: BTreeMap::new(),
        freed: Vec::new(),
        created: 0,
        outcome: Outcome::default(),
    };
    for (job, j) in jobs.iter().enumerate() {
        let first = s.ranks.len();
        let start = if fault == Some(Fault::OneStart) { 0 } else { j.start };
        for rank in 0..j.program.ranks() {
            let nodes = read(j, rank, fault);
            let clocks = |n: u8| vec![start; usize::from(n)];
            let (cpu, send, receive) = (clocks(cpus), clocks(nics), clocks(nics));
            s.ranks.push(Rank { job, first, nodes, cpu, send, receive, last: start, ..Rank::default() });
        }
    }
    let ops = || s.ranks.iter().flat_map(|r| &r.nodes).map(|n| &n.op);
    // What programs say of themselves beforehand: sizes, and whether a send is synchronous.
    let large = |op: &Op| op.amount > config.eager || op.mode == Mode::Synchronous;
    let waits = config.eager < u64::MAX && ops().any(|op| op.kind == Kind::Send && large(op));
    s.coupled = config.cost == Cost::LogGops && (waits || cpus > 1 || config.ties == Ties::Queue);
    for rank in 0..s.ranks.len() {
        let nodes = 0..s.ranks[rank].nodes.len();
        s.freed.extend(
            nodes
                .filter(|&n| s.ranks[rank].nodes[n].waits == 0 && !s.ranks[rank].nodes[n].unread)
                .map(|n| (rank, n)),
        );
        s.freed.iter().for_each(|&(r, n)| s.ranks[r].nodes[n].executable = true);
        let start = s.ranks[rank].cpu[0];
        s.create(start, 0);
    }
    while let Some(Reverse((time, stamp, item))) = s.heap.pop() {
        let free = s.free_at(item);
        if free > time {
            let stamp = if fault == Some(Fault::BlockedLoseTheirPlace) { (u64::MAX, 0, 0) } else { stamp };
            s.heap.push(Reverse((free, stamp, item)));
            continue;
        }
        match item {
            Item::Op(at) => s.take_up(at, time, stamp),
            Item::Message(message) => s.arrive(message, time),
        }
        s.create(time, stamp.0);
    }
    let span = |r: &Rank| {
        let last = if config.cost == Cost::Pure { r.last } else { 0 };
        r.cpu.iter().copied().max().unwrap_or(0).max(last) - jobs[r.job].start.min(r.cpu[0])
    };
    s.outcome.makespans = s.ranks.iter().map(span).collect();
    s.outcome
}

/// All operations of a rank with what they free.
fn read(job: &Job<'_>, rank: u32, fault: Option<Fault>) -> Vec<Node> {
    let (mut cursor, mut batch) = (job.program.open(RankId::new(rank)), Batch::default());
    let (mut nodes, mut edges, mut bounds) = (Vec::<Node>::new(), Vec::<Edge>::new(), Vec::new());
    loop {
        batch.clear();
        cursor.fill(&mut batch).expect("programs of the tests are sound");
        if batch.ops.is_empty() {
            break;
        }
        let first = nodes.len();
        bounds.push(first);
        let none = || (Vec::new(), Vec::new(), Vec::new());
        nodes.extend(batch.ops.iter().map(|&op| {
            let (starts, ends, reads) = none();
            Node { op, waits: 0, ready: 0, executable: false, unread: false, met: false, starts, ends, reads }
        }));
        if fault == Some(Fault::ReversedBatches) {
            edges.extend(batch.edges.iter().filter(|e| e.before >= first as u64));
            edges.extend(batch.edges.iter().rev().filter(|e| e.before < first as u64));
        } else {
            edges.append(&mut batch.edges);
        }
    }
    for e in &edges {
        nodes[e.after as usize].waits += 1;
        let before = &mut nodes[e.before as usize];
        if e.on_start { &mut before.starts } else { &mut before.ends }.push(e.after as usize);
    }
    for n in 1..nodes.len() {
        match nodes[n].op.after {
            After::Nothing => continue,
            After::Start => nodes[n - 1].starts.push(n),
            After::Finish => nodes[n - 1].ends.push(n),
        }
        nodes[n].waits += 1;
    }
    bounds.push(nodes.len());
    if job.stream {
        for b in bounds.windows(2).skip(1) {
            let (first, end) = (b[0], b[1]);
            // The operation behind another one comes after what else that one frees.
            let heir = usize::from(nodes[first].op.after != After::Nothing);
            nodes[first - 1].reads = (first + heir..end).chain(first..first + heir).collect();
            nodes[first..end].iter_mut().for_each(|n| n.unread = true);
        }
    }
    nodes
}

fn is_eager(op: &Op, config: &DelayConfig, fault: Option<Fault>) -> bool {
    match op.mode {
        Mode::Standard if fault == Some(Fault::EagerBelow) => op.amount < config.eager,
        Mode::Standard => op.amount <= config.eager,
        Mode::Synchronous => {
            config.cost == Cost::Pure
                || config.eager == u64::MAX
                || (fault == Some(Fault::SynchronousIsEager) && op.amount <= config.eager)
        }
        Mode::Buffered => true,
    }
}

impl State<'_> {
    fn op(&self, (rank, n): OpAt) -> Op {
        self.ranks[rank].nodes[n].op
    }

    /// When the resources of something are free.
    fn free_at(&self, item: Item) -> u64 {
        match item {
            Item::Op(at) => {
                let (op, r) = (self.op(at), &self.ranks[at.0]);
                match op.kind {
                    Kind::Send => r.cpu[usize::from(op.cpu)].max(r.send[usize::from(op.nic)]),
                    Kind::Calc => r.cpu[usize::from(op.cpu)],
                    _ => 0,
                }
            }
            Item::Message(_) if self.config.cost == Cost::Pure => 0,
            Item::Message(m) => {
                let (m, op) = (self.messages[m], self.op(self.messages[m].from));
                let r = &self.ranks[m.to];
                r.cpu[self.taker(&op)].max(self.clock(m.to, &op))
            }
        }
    }

    /// The processor that takes a message in.
    fn taker(&self, op: &Op) -> usize {
        if self.fault == Some(Fault::FirstProcessor) { 0 } else { usize::from(op.cpu) }
    }

    /// The clock for receiving.
    fn clock(&self, rank: usize, op: &Op) -> u64 {
        let r = &self.ranks[rank];
        let sides = if self.fault == Some(Fault::HalfDuplex) { &r.send } else { &r.receive };
        sides[usize::from(op.nic)]
    }

    /// (s - 1) times a price, and nothing of an empty message.
    fn bytes(&self, op: &Op, each: u64) -> u64 {
        let first = u64::from(self.fault != Some(Fault::FirstByteCosts));
        op.amount.saturating_sub(first) * each
    }

    fn stamp(&mut self, rank: usize, now: u64, creator: u64) -> Stamp {
        if self.coupled {
            self.created += 1;
            return (self.created, 0, 0);
        }
        let r = &mut self.ranks[rank];
        r.created += 1;
        let creator = if self.fault == Some(Fault::CreatorsForgotten) { 0 } else { creator };
        (now, creator, (rank as u64) << 32 | r.created)
    }

    fn take_up(&mut self, at: OpAt, now: u64, stamp: Stamp) {
        let (rank, n) = at;
        let op = self.op(at);
        let (c, i) = (usize::from(op.cpu), usize::from(op.nic));
        self.start(at, now);
        match op.kind {
            Kind::Send => {
                let k = self.config;
                let to = self.ranks[rank].first + op.peer.index();
                let busy = k.overhead + self.bytes(&op, k.byte_overhead);
                let gap = k.gap + self.bytes(&op, k.byte_gap);
                self.ranks[rank].cpu[c] = now + busy;
                self.ranks[rank].send[i] = now + gap;
                let mut arrival = now + k.overhead + k.latency + k.byte_time * op.amount;
                if k.cost == Cost::Pure && k.byte_time > 0 && self.fault != Some(Fault::Overtaking) {
                    let latest = self.latest.entry((rank, to)).or_default();
                    arrival = arrival.max(*latest);
                    *latest = arrival;
                }
                let eager = is_eager(&op, k, self.fault);
                let stamp = self.stamp(rank, now, stamp.0);
                self.heap.push(Reverse((arrival, stamp, Item::Message(self.messages.len()))));
                self.messages.push(Message { from: at, to, waits: !eager });
                if eager {
                    self.finish(at, now, now + busy);
                }
            }
            Kind::Recv => match self.waiting(rank, &op) {
                Some(place) => {
                    let m = self.messages[self.ranks[rank].arrived.remove(place)];
                    self.finish(at, now, now);
                    self.release(m, (c, i), now);
                }
                None => self.ranks[rank].posted.push((n, false)),
            },
            Kind::Probe => match self.waiting(rank, &op) {
                Some(place) => {
                    if self.fault == Some(Fault::ProbesTake) {
                        self.ranks[rank].arrived.remove(place);
                    }
                    self.finish(at, now, now);
                }
                None => self.ranks[rank].posted.push((n, true)),
            },
            _ => {
                let factor = u128::from(self.jobs[self.ranks[rank].job].compute_ppb);
                let time = (u128::from(op.amount) * factor + 500_000_000) / 1_000_000_000;
                self.ranks[rank].cpu[c] = now + time as u64;
                self.finish(at, now, now + time as u64);
            }
        }
    }

    fn fits(&self, receive: &Op, message: usize) -> bool {
        let m = self.messages[message];
        let (send, from) = (self.op(m.from), m.from.0 - self.ranks[m.to].first);
        let mixed = self.fault == Some(Fault::ContextsMix) && receive.tag == ANY_TAG;
        (receive.context == send.context || mixed)
            && (receive.peer == ANY_RANK || receive.peer.index() == from)
            && (receive.tag == ANY_TAG || receive.tag == send.tag)
    }

    /// The message that a receive takes, among those that wait.
    fn waiting(&self, rank: usize, op: &Op) -> Option<usize> {
        let mut all = self.ranks[rank].arrived.iter();
        match self.fault {
            Some(Fault::NewestMessage) => all.rposition(|&m| self.fits(op, m)),
            _ => all.position(|&m| self.fits(op, m)),
        }
    }

    fn arrive(&mut self, message: usize, now: u64) {
        let m = self.messages[message];
        let op = self.op(m.from);
        let (c, i) = (self.taker(&op), usize::from(op.nic));
        let (k, mut end) = (self.config, now);
        if k.cost == Cost::LogGops {
            end = now + k.overhead + self.bytes(&op, k.byte_overhead.max(k.byte_gap));
            let until = now + k.gap + self.bytes(&op, k.byte_gap);
            let r = &mut self.ranks[m.to];
            r.cpu[c] = end;
            let half = self.fault == Some(Fault::HalfDuplex);
            (if half { &mut r.send } else { &mut r.receive })[i] = until;
        }
        if self.fault == Some(Fault::FreeReceives) {
            end = now;
        }
        let posted = &self.ranks[m.to].posted;
        let fit = |&(n, probe): &(usize, bool)| !probe && self.fits(&self.op((m.to, n)), message);
        let definite = |&(n, _): &(usize, bool)| {
            let op = self.op((m.to, n));
            op.peer != ANY_RANK && op.tag != ANY_TAG
        };
        let found = match self.fault {
            Some(Fault::LastPosted) => posted.iter().rposition(fit),
            Some(Fault::DefiniteFirst) => {
                posted.iter().position(|p| fit(p) && definite(p)).or_else(|| posted.iter().position(fit))
            }
            _ => posted.iter().position(fit),
        };
        if let Some(place) = found {
            let (n, _) = self.ranks[m.to].posted.remove(place);
            self.release(m, (usize::from(op.cpu), i), now);
            return self.finish((m.to, n), now, end);
        }
        let rank = &self.ranks[m.to];
        let asks = |&&(n, probe): &&(usize, bool)| probe && self.fits(&self.op((m.to, n)), message);
        let probes: Vec<usize> = rank.posted.iter().filter(asks).map(|p| p.0).collect();
        let taken = self.fault == Some(Fault::ProbesTake) && !probes.is_empty();
        let rank = &mut self.ranks[m.to];
        rank.posted.retain(|p| !p.1 || !probes.contains(&p.0));
        if !taken {
            rank.arrived.push(message);
        }
        probes.into_iter().for_each(|n| self.finish((m.to, n), now, end));
    }

    /// The receiver has matched a message: if its sender waits for that, the send is over, and its clocks are not behind.
    fn release(&mut self, m: Message, (c, i): (usize, usize), now: u64) {
        if m.waits {
            let r = &mut self.ranks[m.from.0];
            r.cpu[c] = r.cpu[c].max(now);
            if self.fault != Some(Fault::SenderKeepsItsInterface) {
                r.send[i] = r.send[i].max(now);
            }
            self.finish(m.from, now, now);
        }
    }

    fn start(&mut self, (rank, n): OpAt, now: u64) {
        for next in std::mem::take(&mut self.ranks[rank].nodes[n].starts) {
            self.free((rank, next), now);
        }
        for next in std::mem::take(&mut self.ranks[rank].nodes[n].reads) {
            let any = self.fault != Some(Fault::AnyIsAll);
            let node = &mut self.ranks[rank].nodes[next];
            node.unread = false;
            node.ready = node.ready.max(now);
            if node.waits == 0 || (node.op.kind == Kind::JoinAny && node.met && any) {
                node.executable = true;
                self.freed.push((rank, next));
            }
        }
    }

    fn finish(&mut self, (rank, n): OpAt, start: u64, end: u64) {
        self.outcome.operations.insert((rank, n), (start, end));
        let r = &mut self.ranks[rank];
        r.last = r.last.max(end);
        for next in std::mem::take(&mut r.nodes[n].ends) {
            self.free((rank, next), end);
        }
    }

    fn free(&mut self, (rank, n): OpAt, at: u64) {
        let node = &mut self.ranks[rank].nodes[n];
        node.waits -= 1;
        if node.executable {
            return;
        }
        // Of what was over when it is read, a join of any takes the earliest.
        let any = node.op.kind == Kind::JoinAny;
        node.ready = if node.unread && any && node.met { node.ready.min(at) } else { node.ready.max(at) };
        node.met = true;
        if !node.unread && (node.waits == 0 || any) {
            node.executable = true;
            self.freed.push((rank, n));
        }
    }

    /// Joins are over; all else that was freed goes to the heap: rank by rank, sends, then receives, then computations.
    fn create(&mut self, now: u64, creator: u64) {
        let mut at = 0;
        while let Some(&next) = self.freed.get(at) {
            if matches!(self.op(next).kind, Kind::Join | Kind::JoinAny) {
                let end = self.ranks[next.0].nodes[next.1].ready.max(now);
                self.start(next, end);
                self.finish(next, end, end);
            }
            at += 1;
        }
        let mut freed = std::mem::take(&mut self.freed);
        freed.retain(|&o| !matches!(self.op(o).kind, Kind::Join | Kind::JoinAny));
        let kind = |o: OpAt| match self.op(o).kind {
            Kind::Send if self.fault == Some(Fault::ReceivesFirst) => 2,
            Kind::Send => 0,
            Kind::Recv | Kind::Probe => 1,
            _ => 3,
        };
        freed.sort_by_key(|&o| (o.0, kind(o)));
        for (rank, n) in freed {
            let stamp = self.stamp(rank, now, creator);
            let op = self.op((rank, n));
            let r = &mut self.ranks[rank];
            let cpu = &mut r.cpu[usize::from(op.cpu)];
            if self.config.cost == Cost::Pure {
                *cpu = now.max(*cpu);
            }
            let send = if op.kind == Kind::Send { r.send[usize::from(op.nic)] } else { 0 };
            self.heap.push(Reverse(((*cpu).max(send), stamp, Item::Op((rank, n)))));
        }
    }
}
