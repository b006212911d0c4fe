//! The host of rank programs against a naive simulator of one node: cores, kernels, memory and the protocol, to the picosecond.
//!
//! All ranks live on one terminal, so nothing reaches the network, and any carrier does.
//!
//! More cases: `CASES=1000000 SEED=2 cargo test --profile checked -p netloom-loggops --test all naive_simulator`; those of one-sided calls too.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::{
    index::TerminalId,
    rate::Bandwidth,
    rng::{Purpose, Stream},
    time::NEVER,
};
use engine::{
    director::Pauses,
    domain::Observer,
    executor::{Executor, Options},
};
use loggops::{
    DelayConfig,
    carrier::{DelayCarrier, Record},
    run::{delays, plain},
};
use model::setup::JobSetup;
use ranks::{
    hosted::Hosted,
    node::{Kernel, Memory, Node},
    programs::Programs,
    roster::{Roster, Rules},
};
use std::{collections::BTreeMap, sync::Arc};
use workload::{
    program::{
        After, Op,
        list::{List, Rank, calc, recv, send},
    },
    registry::Work,
};

use crate::twice::number;

const US: u64 = 1_000_000;

/// What a naive simulator of one node knows of a rank's operation.
#[derive(Clone, Copy, Debug)]
enum Do {
    Compute(u64),
    Send(usize, u64),
    Receive(usize, u64),
}

/// Happenings of the naive simulator.
#[derive(Clone, Copy, Debug)]
enum Happens {
    /// The core is done with its slice of a rank's operation.
    Slice(usize),
    /// A message from a rank to a rank: an eager one or a request, a grant, data; its bytes, or its place among those of its pair.
    Comes(&'static str, usize, usize, u64),
}

/// A message or request: whether it asks, its bytes, and whether it has come.
type First = (bool, u64, bool);

/// A second simulator of ranks that all live on one node: lists that are searched, nothing shared with the first.
struct Naive {
    node: Node,
    eager: u64,
    control: u64,
    overhead: u64,
    ops: Vec<Vec<Do>>,
    ends: Vec<Vec<u64>>,
    agenda: Vec<(u64, Happens)>,
    /// By core: ranks with the time that they still need; the first is in hand.
    cores: BTreeMap<usize, Vec<(usize, u64)>>,
    channels: Vec<u64>,
    /// All messages and requests of a pair, in the order of sending.
    sent: BTreeMap<(usize, usize), Vec<First>>,
    /// How many of them were taken.
    taken: BTreeMap<(usize, usize), usize>,
    now: u64,
}

impl Naive {
    fn core(&self, rank: usize) -> usize {
        rank % self.node.cores.map_or(usize::MAX, |c| c as usize)
    }

    fn slice(&self, left: u64) -> u64 {
        match self.node.kernel {
            Kernel::TimeSlices(quantum) => left.min(quantum),
            Kernel::RunToCompletion => left,
        }
    }

    fn compute(&mut self, rank: usize, time: u64) {
        let core = self.core(rank);
        let queue = self.cores.entry(core).or_default();
        queue.push((rank, time));
        if queue.len() == 1 {
            let at = self.now + self.slice(time);
            self.agenda.push((at, Happens::Slice(core)));
        }
    }

    fn copy(&mut self, kind: &'static str, from: usize, to: usize, size: u64, bytes: u64) {
        let rate = self.node.memory.bandwidth.map_or(0, |b| (1_000_000_000_000.0 / b.bytes_per_s()) as u64);
        let channel = (0..self.channels.len()).min_by_key(|&c| self.channels[c]).unwrap();
        let over = self.channels[channel].max(self.now) + size * rate;
        self.channels[channel] = over;
        self.agenda.push((over + self.node.memory.latency, Happens::Comes(kind, from, to, bytes)));
    }

    /// Operation in hand of a rank.
    fn current(&self, rank: usize) -> Option<Do> {
        self.ops[rank].get(self.ends[rank].len()).copied()
    }

    fn finish(&mut self, rank: usize) {
        self.ends[rank].push(self.now);
        match self.current(rank) {
            Some(Do::Compute(time)) => self.compute(rank, time),
            Some(Do::Send(..)) => self.compute(rank, self.overhead),
            Some(Do::Receive(..)) => self.try_match(rank),
            None => {}
        }
    }

    fn try_match(&mut self, rank: usize) {
        let Some(Do::Receive(from, _)) = self.current(rank) else { return };
        let pair = (from, rank);
        let next = self.taken.get(&pair).copied().unwrap_or(0);
        let known = self.sent.get(&pair).and_then(|all| all.get(next)).filter(|message| message.2);
        let Some(&(asks, bytes, _)) = known else { return };
        self.taken.insert(pair, next + 1);
        if asks {
            self.copy("grant", rank, from, self.control, bytes);
        } else {
            self.compute(rank, self.overhead);
        }
    }

    /// A rank's turn on its core is over and all of its time is had.
    fn served(&mut self, rank: usize) {
        let Some(Do::Send(to, bytes)) = self.current(rank) else { return self.finish(rank) };
        let asks = bytes > self.eager;
        let all = self.sent.entry((rank, to)).or_default();
        all.push((asks, bytes, false));
        let place = all.len() as u64 - 1;
        self.copy("first", rank, to, if asks { self.control } else { bytes }, place);
        if !asks {
            self.finish(rank);
        }
    }

    fn happen(&mut self, what: Happens) {
        match what {
            Happens::Slice(core) => {
                let (rank, left) = self.cores.get_mut(&core).unwrap().remove(0);
                let rest = left - self.slice(left);
                if rest > 0 {
                    self.cores.get_mut(&core).unwrap().push((rank, rest));
                }
                if let Some(&(_, time)) = self.cores[&core].first() {
                    self.agenda.push((self.now + self.slice(time), Happens::Slice(core)));
                }
                if rest == 0 {
                    self.served(rank);
                }
            }
            Happens::Comes("grant", to, from, bytes) => {
                self.copy("data", from, to, bytes, bytes);
                self.finish(from);
            }
            Happens::Comes("data", _, to, _) => self.compute(to, self.overhead),
            Happens::Comes(_, from, to, place) => {
                self.sent.get_mut(&(from, to)).unwrap()[place as usize].2 = true;
                // A receive that has its message, or was granted, takes no second one.
                if !self.busy_receiving(to) {
                    self.try_match(to);
                }
            }
        }
    }

    /// True if the receive in hand has its message, or was granted.
    fn busy_receiving(&self, rank: usize) -> bool {
        let Some(Do::Receive(from, _)) = self.current(rank) else { return true };
        let on_core = self.cores.values().flatten().any(|c| c.0 == rank);
        let under_way = self.agenda.iter().any(|(_, h)| match *h {
            Happens::Comes("grant", to, f, _) | Happens::Comes("data", f, to, _) => (f, to) == (from, rank),
            _ => false,
        });
        on_core || under_way
    }

    /// Ends of all operations, by rank; none if two things happen at one time, whose order is the engine's to say.
    fn run(mut self) -> Option<Vec<Vec<u64>>> {
        for rank in 0..self.ops.len() {
            match self.current(rank) {
                Some(Do::Compute(time)) => self.compute(rank, time),
                Some(Do::Send(..)) => panic!("ranks begin with something else"),
                _ => {}
            }
        }
        while !self.agenda.is_empty() {
            let next = (0..self.agenda.len()).min_by_key(|&i| self.agenda[i].0).unwrap();
            let (at, what) = self.agenda.remove(next);
            if self.agenda.iter().any(|other| other.0 == at) {
                return None;
            }
            self.now = at;
            self.happen(what);
        }
        Some(self.ends)
    }
}

/// Ranks of one node that compute and send to each other in an order without a deadlock. No two times are alike but by chance; rank 0 begins alone.
fn random(ranks: usize, messages: usize, draw: &mut Stream) -> Vec<Vec<Do>> {
    let mut ops = vec![Vec::new(); ranks];
    let time = |draw: &mut Stream| 1 + draw.below(20 * US);
    let bytes = |draw: &mut Stream| 1 + draw.below(3000);
    for to in 1..ranks {
        let (time, bytes) = (time(draw), bytes(draw));
        ops[0].push(Do::Compute(time));
        ops[0].push(Do::Send(to, bytes));
        ops[to].push(Do::Receive(0, bytes));
    }
    for _ in 0..messages {
        let from = draw.below(ranks as u64) as usize;
        let to = (from + 1 + draw.below(ranks as u64 - 1) as usize) % ranks;
        let bytes = bytes(draw);
        ops[from].push(Do::Send(to, bytes));
        ops[to].push(Do::Receive(from, bytes));
        let who = draw.below(ranks as u64) as usize;
        let time = time(draw);
        ops[who].push(Do::Compute(time));
    }
    ops
}

fn listed(ops: &[Do]) -> Rank {
    let op = |d: &Do| match *d {
        Do::Compute(time) => calc(time),
        Do::Send(to, bytes) => send(to as u32, bytes, 0),
        Do::Receive(from, bytes) => recv(from as u32, bytes, 0),
    };
    let mut rank = Rank::default();
    for op in ops.iter().map(op) {
        rank.push(Op { after: After::Finish, ..op });
    }
    rank
}

/// Ends of operations, by place on the terminal and number.
#[derive(Default)]
struct Ends(BTreeMap<(u16, u32), u64>);

impl Observer<Record> for Ends {
    fn commit(&mut self, record: &Record) {
        if let Record::Operation(f) = record {
            assert_eq!(self.0.insert((f.slot, f.number), f.time), None, "an operation ends once");
        }
    }
}

/// Ends of all operations of ranks on one terminal, by the host of rank programs.
fn hosted(ops: &[Vec<Do>], rules: Rules, node: Node) -> Vec<u64> {
    let job = JobSetup {
        name: "job".to_owned(),
        work: Work::Program(Arc::new(List::new(ops.iter().map(|o| listed(o)).collect()))),
        placement: vec![TerminalId::new(0); ops.len()],
        message: None,
        start: 0,
        compute_ppb: JobSetup::COMPUTE_AS_IS,
    };
    let roster = Arc::new(Roster::new(&[job], rules, Some(node)));
    let config = DelayConfig::loggops();
    let network = plain(Arc::new(List::new(Vec::new())), config.clone());
    let carrier = DelayCarrier::new(config, delays(&network).unwrap().into(), 1);
    let host = Programs::new(Arc::clone(&roster), roster.places());
    let options = Options { tie_seed: 1, wheel_shift: 10 };
    let mut executor = Executor::new([(Hosted { carrier, host }, Ends::default())], options);
    executor.run_directed(NEVER, &mut (), Pauses::NONE, |_, ()| true);
    let part = executor.partitions.pop().unwrap();
    assert!(!part.domain.host.is_busy(), "all operations are done");
    part.observer.0.into_values().collect()
}

/// Four thousand nodes; as many as one likes with `CASES` and `SEED`.
#[test]
fn a_naive_simulator_of_a_node_agrees() {
    let (seed, cases) = (number("SEED", 1), number("CASES", 4000));
    let (mut compared, mut rendezvous) = (0u64, 0);
    for case in 0..cases {
        let mut draw = Stream::new(seed, Purpose::Test, case);
        let ranks = 2 + draw.below(7) as usize;
        let ops = random(ranks, 25, &mut draw);
        let cores = (draw.below(3) > 0).then(|| 1 + draw.below(5) as u32);
        let kernel = match draw.below(2) {
            1 if cores.is_some() => Kernel::TimeSlices(1 + draw.below(9 * US)),
            _ => Kernel::RunToCompletion,
        };
        let (latency, channels) = (1 + draw.below(US), 1 + draw.below(3) as u32);
        let memory = Memory { latency, bandwidth: Bandwidth::new(4_000_000_000, 1), channels };
        let node = Node { cores, kernel, memory };
        let (eager, control, overhead) = (draw.below(4000), 1 + draw.below(100), 1 + draw.below(300_000));
        let sends = ops.iter().flatten().filter(|o| matches!(o, Do::Send(_, bytes) if *bytes > eager));
        let asking = sends.count();
        let found = hosted(&ops, Rules { eager, control, overhead, meets: false, direct: None }, node);
        let naive = Naive {
            node,
            eager,
            control,
            overhead,
            ends: vec![Vec::new(); ranks],
            agenda: Vec::new(),
            cores: BTreeMap::new(),
            channels: vec![0; channels as usize],
            sent: BTreeMap::new(),
            taken: BTreeMap::new(),
            now: 0,
            ops,
        };
        let Some(ends) = naive.run() else { continue };
        let expected: Vec<u64> = ends.into_iter().flatten().collect();
        (compared, rendezvous) = (compared + 1, rendezvous + asking);
        assert_eq!(
            found, expected,
            "case {case}: {node:?}, eager {eager}, control {control}, overhead {overhead}"
        );
    }
    assert!(
        compared > cases / 2 && rendezvous as u64 > 2 * cases,
        "{compared} cases, {rendezvous} messages ask first"
    );
}
