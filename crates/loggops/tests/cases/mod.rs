//! Random rank programs with random parameters, each from a number.

use base::{
    index::RankId,
    rng::{Purpose, Stream},
};
use loggops::{Cost, DelayConfig, DelayJob, DelaySetup, Ties, run::plain};
use model::setup::Scheduling;
use std::sync::Arc;
use workload::program::{
    ANY_SOURCE, ANY_TAG, After, Batch, Cursor, Damage, Kind, Op, Program, chained,
    graph::{Graph, Link, Part, Positions},
    list::{Rank, calc, recv, send},
    mpi::Mode,
};

/// A program in memory whose ranks come in batches of any sizes.
pub struct Pieces {
    ranks: Arc<Vec<(Rank, Vec<usize>)>>,
}

struct Reader {
    ranks: Arc<Vec<(Rank, Vec<usize>)>>,
    rank: usize,
    next: usize,
}

impl Cursor for Reader {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        let (rank, ends) = &self.ranks[self.rank];
        let Some(&end) = ends.get(self.next) else { return Ok(()) };
        let first = self.next.checked_sub(1).map_or(0, |n| ends[n]);
        self.next += 1;
        batch.ops.extend_from_slice(&rank.ops[first..end]);
        let here = |n: u64| (first as u64..end as u64).contains(&n);
        batch.edges.extend(rank.edges.iter().filter(|e| here(e.after)));
        Ok(())
    }
}

impl Pieces {
    /// Ranks that come in one batch each.
    pub fn whole(ranks: Vec<Rank>) -> Self {
        let one = |rank: Rank| {
            let end = rank.ops.len();
            (rank, vec![end])
        };
        Self { ranks: Arc::new(ranks.into_iter().map(one).collect()) }
    }

    /// All ranks, each with the ends of its batches.
    pub fn all(&self) -> &[(Rank, Vec<usize>)] {
        &self.ranks
    }

    /// The same as a graph: what follows the operation before it is freed by that one last.
    fn graph_of_it(&self) -> Graph {
        let part = |(rank, _): &(Rank, Vec<usize>)| {
            let edges = rank.edges.iter().map(|e| Link::new(e.before as u32, e.after as u32, e.on_start));
            let follows = (0u32..).zip(&rank.ops).filter(|(n, op)| *n > 0 && op.after != After::Nothing);
            let heirs = follows.map(|(n, op)| Link::new(n - 1, n, op.after == After::Start));
            let ops = rank.ops.iter().map(|op| Op { after: After::Nothing, ..*op }).collect();
            Part { ops, edges: edges.chain(heirs).collect() }
        };
        Graph::new("x", Positions::Operations, self.ranks.iter().map(part).collect())
    }

    fn ops(&self) -> impl Iterator<Item = &Op> {
        self.ranks.iter().flat_map(|r| &r.0.ops)
    }
}

impl Program for Pieces {
    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }
    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        Box::new(Reader { ranks: Arc::clone(&self.ranks), rank: rank.index(), next: 0 })
    }
    fn cpus(&self) -> u8 {
        self.ops().map(|op| op.cpu + 1).max().unwrap_or(1)
    }
    fn starts_in_past(&self) -> bool {
        true
    }
    fn nics(&self) -> u8 {
        self.ops().map(|op| op.nic + 1).max().unwrap_or(1)
    }
    fn describe(&self, _rank: RankId, origin: u32) -> String {
        format!("operation {origin}")
    }
    fn largest_message(&self) -> Option<u64> {
        let sends = || self.ops().filter(|op| op.kind == Kind::Send);
        sends().all(|op| op.mode != Mode::Synchronous).then(|| sends().map(|op| op.amount).max().unwrap_or(0))
    }
    fn chained(&self) -> bool {
        self.ranks.iter().all(|r| chained(&r.0.ops, true))
    }
}

/// A program that can only be read.
struct Read(Arc<dyn Program>);

impl Program for Read {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }
    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        self.0.open(rank)
    }
    fn describe(&self, rank: RankId, origin: u32) -> String {
        self.0.describe(rank, origin)
    }
    fn largest_message(&self) -> Option<u64> {
        self.0.largest_message()
    }
    fn total(&self) -> Option<u64> {
        self.0.total()
    }
}

/// How the operations of a program hang together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// Each waits for the one before, as the operations of MPI calls do; batches of any sizes.
    Chain,
    /// A graph, cut behind operations on which all later ones depend.
    Gates,
    /// A graph in one piece, its edges in any order.
    Whole,
    /// Anything, in batches of any sizes.
    Stream,
}

/// A job of a case.
pub struct CaseJob {
    pub program: Arc<Pieces>,
    pub start: u64,
    pub compute_ppb: u64,
    /// Batches are part of its meaning.
    pub stream: bool,
}

/// A program, its parameters and where its ranks run.
pub struct Case {
    pub jobs: Vec<CaseJob>,
    pub config: DelayConfig,
    pub partitions: u32,
}

impl Case {
    /// The case with this number.
    pub fn new(seed: u64) -> Self {
        let mut r = Draw(Stream::new(seed, Purpose::Test, 77));
        let unit = r.pick(&[1, 1000]);
        let config = r.config(unit);
        let jobs = (0..r.pick(&[1, 1, 1, 2])).map(|_| r.job(&config, unit)).collect();
        Self { jobs, config, partitions: r.pick(&[1, 1, 2, 5]) as u32 }
    }

    /// The case with this number among those that GOAL has words for, one processor and one interface a rank: sends, receives and computations as graphs.
    pub fn plain(seed: u64) -> Self {
        let mut r = Draw(Stream::new(seed, Purpose::Test, 78));
        let unit = r.pick(&[1, 1000]);
        let config = loop {
            let config = r.config(unit);
            if config.cost == Cost::LogGops {
                break config;
            }
        };
        let jobs = (0..r.pick(&[1, 1, 1, 2])).map(|_| r.graph(&config, unit)).collect();
        Self { jobs, config, partitions: 1 }
    }

    /// The same run with programs as the graphs that they are.
    pub fn graphs(&self) -> DelaySetup {
        let mut setup = self.setup();
        for (job, case) in setup.jobs.iter_mut().zip(&self.jobs) {
            job.program = Arc::new(case.program.graph_of_it());
        }
        setup
    }

    /// The same with graphs that nobody knows for such: they are read rank by rank.
    pub fn read_graphs(&self) -> DelaySetup {
        let mut setup = self.graphs();
        for job in &mut setup.jobs {
            job.program = Arc::new(Read(Arc::clone(&job.program)));
        }
        setup
    }

    /// The same as a run.
    pub fn setup(&self) -> DelaySetup {
        let job = |(n, j): (usize, &CaseJob)| DelayJob {
            name: format!("job{n}"),
            program: Arc::clone(&j.program) as _,
            start: j.start,
            placement: Vec::new(),
            compute_ppb: j.compute_ppb,
        };
        let jobs = self.jobs.iter().enumerate().map(job).collect();
        let scheduling = Scheduling::Sequential { partitions: self.partitions };
        let one = plain(Arc::clone(&self.jobs[0].program) as _, self.config.clone());
        let mut setup = DelaySetup { jobs, scheduling, ..one };
        setup.measure.operations = true;
        setup.check = true;
        setup
    }
}

struct Draw(Stream);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick(&mut self, of: &[u64]) -> u64 {
        of[self.below(of.len() as u64) as usize]
    }

    /// Small round numbers make ties, and zeros are where rules are forgotten.
    fn config(&mut self, unit: u64) -> DelayConfig {
        let latency = self.pick(&[1, 2, 5, 2500]) * unit;
        if self.once_in(5) {
            return DelayConfig::pure(latency, 0, self.pick(&[0, 0, 1, 50]));
        }
        DelayConfig {
            latency,
            overhead: self.pick(&[0, 1, 2, 1500]) * unit,
            gap: self.pick(&[0, 1, 3, 1000]) * unit,
            byte_gap: self.pick(&[0, 1, 6]) * unit,
            byte_overhead: self.pick(&[0, 0, 1]) * unit,
            eager: self.pick(&[1, 8, 1024, 65_535, u64::MAX]),
            ties: if self.once_in(3) { Ties::Causes } else { Ties::Queue },
            ..DelayConfig::loggops()
        }
    }

    fn job(&mut self, config: &DelayConfig, unit: u64) -> CaseJob {
        let cpus = if self.once_in(3) { 1 + self.below(3) } else { 1 };
        let style = [Style::Chain, Style::Gates, Style::Whole, Style::Stream][self.below(4) as usize];
        let mut maker = Maker {
            style,
            unit,
            wild: self.once_in(2),
            probes: self.once_in(3),
            // Nothing has both: GOAL knows no joins, calls of MPI one processor. Over which clock a join would end nobody says.
            joins: cpus == 1 && self.once_in(2),
            modes: self.once_in(4),
            contexts: 1 + self.below(2),
            cpus,
            nics: if self.once_in(3) { 1 + self.below(3) } else { 1 },
            edges: self.below(3),
            sizes: [0, 1, 2, config.eager.min(1 << 20), config.eager.min(1 << 20) + 1, 500],
            ranks: vec![(Rank::default(), Vec::new()); 1 + self.below(7) as usize],
            gates: Vec::new(),
            r: self,
        };
        maker.make();
        let ranks = std::mem::take(&mut maker.ranks);
        self.job_of(ranks, matches!(style, Style::Chain | Style::Stream), unit)
    }

    fn graph(&mut self, config: &DelayConfig, unit: u64) -> CaseJob {
        let style = if self.once_in(2) { Style::Gates } else { Style::Whole };
        let mut maker = Maker {
            style,
            unit,
            wild: self.once_in(2),
            probes: false,
            joins: false,
            modes: false,
            contexts: 1,
            cpus: 1,
            nics: 1,
            edges: self.below(3),
            sizes: [0, 1, 2, config.eager.min(1 << 20), config.eager.min(1 << 20) + 1, 500],
            ranks: vec![(Rank::default(), Vec::new()); 1 + self.below(7) as usize],
            gates: Vec::new(),
            r: self,
        };
        maker.make();
        let ranks = std::mem::take(&mut maker.ranks);
        self.job_of(ranks, false, unit)
    }

    fn job_of(&mut self, ranks: Vec<(Rank, Vec<usize>)>, stream: bool, unit: u64) -> CaseJob {
        let start = self.pick(&[0, 0, 1, 700]) * unit;
        let compute_ppb = self.pick(&[1_000_000_000, 1_000_000_000, 0, 1_500_000_000]);
        CaseJob { program: Arc::new(Pieces { ranks: Arc::new(ranks) }), start, compute_ppb, stream }
    }
}

/// Makes the ranks of a program. Messages are made one after another, their two ends at a time, so that whatever waits only for earlier operations
/// can come to its end.
struct Maker<'a> {
    r: &'a mut Draw,
    style: Style,
    unit: u64,
    wild: bool,
    probes: bool,
    joins: bool,
    modes: bool,
    contexts: u64,
    cpus: u64,
    nics: u64,
    edges: u64,
    sizes: [u64; 6],
    ranks: Vec<(Rank, Vec<usize>)>,
    gates: Vec<u64>,
}

impl Maker<'_> {
    fn make(&mut self) {
        let p = self.ranks.len() as u64;
        self.gates = vec![0; p as usize];
        for _ in 0..3 + self.r.below(40) {
            let (a, b) = (self.r.below(p), self.r.below(p));
            if a == b && !self.r.once_in(8) {
                let amount = [0, 1, 2, 1500, self.r.below(3000)][self.r.below(5) as usize] * self.unit;
                self.push(a, calc(amount));
            } else {
                self.message(a, b);
            }
            if self.joins && self.r.once_in(4) {
                let kind = if self.r.once_in(2) { Kind::Join } else { Kind::JoinAny };
                self.push(a, Op { kind, ..calc(0) });
            }
        }
        for n in 0..self.ranks.len() {
            self.cut(n);
        }
    }

    fn message(&mut self, a: u64, b: u64) {
        let (bytes, tag) = (self.r.pick(&self.sizes), self.r.below(3) as u32);
        let context = self.r.below(self.contexts) as u32;
        let mode = if self.modes {
            [Mode::Standard, Mode::Synchronous, Mode::Buffered][self.r.below(3) as usize]
        } else {
            Mode::Standard
        };
        let from = if self.wild && self.r.once_in(3) { ANY_SOURCE } else { a as u32 };
        let wanted = if self.wild && self.r.once_in(3) { ANY_TAG } else { tag };
        let receive = Op { context, ..recv(from, bytes, wanted) };
        let sent = Op { context, mode, ..send(b as u32, bytes, tag) };
        let receive_first = a == b || self.r.once_in(3);
        if !receive_first {
            self.push(a, sent);
        }
        if self.probes && self.r.once_in(3) {
            self.push(b, Op { kind: Kind::Probe, ..receive });
        }
        self.push(b, receive);
        if receive_first {
            self.push(a, sent);
        }
    }

    fn push(&mut self, rank: u64, op: Op) {
        let (cpu, nic) = (self.r.below(self.cpus) as u8, self.r.below(self.nics) as u8);
        let mut op = Op { cpu, nic, ..op };
        let number = self.ranks[rank as usize].0.ops.len() as u64;
        let any = op.kind == Kind::JoinAny;
        if number > 0 {
            let linked = match self.style {
                Style::Chain if any => false,
                Style::Chain => true,
                Style::Gates => false,
                Style::Whole | Style::Stream => self.r.once_in(3),
            };
            if linked {
                op.after = if self.r.once_in(2) { After::Start } else { After::Finish };
            }
        }
        let number = self.ranks[rank as usize].0.push(op);
        if number == 0 {
            return;
        }
        let gate = self.gates[rank as usize];
        if self.style == Style::Gates {
            self.edge(rank, number, gate);
        }
        let least = if self.style == Style::Gates && any { gate } else { 0 };
        let more = if matches!(op.kind, Kind::Join | Kind::JoinAny) { 3 } else { self.edges };
        for _ in 0..self.r.below(more + 1) {
            self.edge(rank, number, least);
        }
        if self.style == Style::Gates && self.r.once_in(4) {
            // All that follow depend on it from now on, by those behind it.
            self.gates[rank as usize] = number;
            if self.r.once_in(2) {
                self.ranks[rank as usize].1.push(number as usize + 1);
            }
        }
    }

    /// An edge from an operation at or behind `least`.
    fn edge(&mut self, rank: u64, after: u64, least: u64) {
        let near = least.max(after.saturating_sub(3));
        let from = if self.r.once_in(2) { near } else { least };
        let before = from + self.r.below(after - from);
        let rank = &mut self.ranks[rank as usize].0;
        if self.r.once_in(3) { rank.follows(after, before) } else { rank.requires(after, before) }
    }

    /// Sizes of batches, and the order of edges where it may be any.
    fn cut(&mut self, rank: usize) {
        let ops = self.ranks[rank].0.ops.len();
        let mut ends = std::mem::take(&mut self.ranks[rank].1);
        if matches!(self.style, Style::Chain | Style::Stream) {
            let most = self.r.pick(&[1, 2, 9, 100]);
            let mut end = 0;
            while end < ops {
                end += 1 + self.r.below(most) as usize;
                ends.push(end.min(ops));
            }
        } else if ends.last() != Some(&ops) && ops > 0 {
            ends.push(ops);
        }
        if matches!(self.style, Style::Whole | Style::Stream) && self.r.once_in(2) {
            let edges = &mut self.ranks[rank].0.edges;
            for n in (1..edges.len()).rev() {
                edges.swap(n, self.r.below(n as u64 + 1) as usize);
            }
        }
        self.ranks[rank].1 = ends;
    }
}
