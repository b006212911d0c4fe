//! Who lives where: the ranks of a run's programs and their terminals, in tables that all partitions share or that each has for its own.
//!
//! Ranks are numbered over all jobs, in the order of jobs: *global* numbers, which travel. Each partition numbers those who live in it again, in the same
//! order: *local* numbers, which do not. Where a rank lives is looked up, never computed, so several may share a terminal.

use super::node::Node;
use base::{
    index::{RankId, TerminalId},
    numbers,
    time::Ps,
};
use model::setup::JobSetup;
use std::sync::Arc;
use workload::program::{Program, mpi::Mode};

numbers! {
    /// A rank of a run, counted over all jobs in their order: what travels between partitions. A job's own ranks begin at 0 again
    /// ([`RankId`]); [`Roster::number`] and [`Roster::rank`] lead from one to the other, and nothing else does.
    ///
    /// ```
    /// # use ranks::roster::GlobalRank;
    /// fn travels(to: GlobalRank) {}
    /// travels(GlobalRank::new(3));
    /// ```
    ///
    /// A rank of a job is none:
    ///
    /// ```compile_fail,E0308
    /// # use ranks::roster::GlobalRank;
    /// fn travels(to: GlobalRank) {}
    /// travels(base::index::RankId::new(3));
    /// ```
    GlobalRank(u32);
}

/// How messages of ranks are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Largest message that is sent without asking.
    pub eager: u64,
    /// Bytes of a request or grant.
    pub control: u64,
    /// Time that a processor takes for each send and each receive.
    pub overhead: Ps,
    /// It is reported which message each receive took.
    pub meets: bool,
    /// Set where nothing asks: a message begins when its send and its receive are both there, with so many bytes in front of its own. Below `eager` bytes its send is over
    /// at once, otherwise when the message has arrived. For models of one partition.
    pub direct: Option<u64>,
}

impl Rules {
    /// True if a send is over when its message, or what announces that, is on its way.
    #[inline]
    #[must_use]
    pub fn leaves(&self, mode: Mode, bytes: u64) -> bool {
        match mode {
            Mode::Standard if self.direct.is_some() => bytes < self.eager,
            Mode::Standard => bytes <= self.eager,
            Mode::Synchronous => false,
            Mode::Buffered => true,
        }
    }
}

/// What ranks need to know of a job.
#[derive(Clone)]
struct Job {
    program: Option<Arc<dyn Program>>,
    /// Terminal of each rank.
    placement: Vec<TerminalId>,
    /// Its first rank.
    first: GlobalRank,
    start: Ps,
    compute_ppb: u64,
}

/// What all partitions know of a run's ranks.
pub struct Roster {
    jobs: Vec<Job>,
    /// How they send.
    pub rules: Rules,
    /// What their nodes are, if that is described.
    pub node: Option<Node>,
    shares: bool,
}

/// Where a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The job, by its number in the experiment.
    pub job: u32,
    /// Rank in the job.
    pub rank: RankId,
    /// The terminal, by its number in the network.
    pub terminal: TerminalId,
}

impl Roster {
    /// The ranks of these jobs; those of traffic are counted, though nobody asks for them.
    #[must_use]
    pub fn new(jobs: &[JobSetup], rules: Rules, node: Option<Node>) -> Self {
        let shares = jobs.iter().any(|j| j.work.program().is_some() && j.nodes() < j.placement.len());
        let mut first = GlobalRank::new(0);
        let job = |j: &JobSetup| {
            let program = j.work.program().cloned();
            // Traffic keeps its placement elsewhere.
            let placement = if program.is_some() { j.placement.clone() } else { Vec::new() };
            let job = Job { program, placement, first, start: j.start, compute_ppb: j.compute_ppb };
            first = first.plus(j.placement.len() as u32);
            job
        };
        Self { jobs: jobs.iter().map(job).collect(), rules, node, shares }
    }

    /// Refuses what tables of terminals cannot say: terminals that jobs share, or ranks that do not follow each other.
    ///
    /// # Errors
    /// The terminal, in words.
    pub fn check(jobs: &[JobSetup]) -> Result<(), String> {
        let mut all: Vec<(TerminalId, usize, usize)> = Vec::new();
        for (n, job) in jobs.iter().enumerate() {
            all.extend(job.placement.iter().enumerate().map(|(rank, &terminal)| (terminal, n, rank)));
        }
        all.sort_unstable();
        let apart = |w: &&[(TerminalId, usize, usize)]| {
            let [(at, job, rank), (other, next_job, next)] = [w[0], w[1]];
            at == other && (job != next_job || rank + 1 != next || jobs[job].work.program().is_none())
        };
        all.windows(2).find(apart).map_or(Ok(()), |w| {
            Err(format!("terminal {} has ranks that do not follow each other in one program", w[0].0))
        })
    }

    /// True if some terminal has several ranks.
    #[inline]
    #[must_use]
    pub fn shares(&self) -> bool {
        self.shares
    }

    /// True if it is of interest which messages leave their nodes.
    #[inline]
    #[must_use]
    pub fn describes_nodes(&self) -> bool {
        self.shares || self.node.is_some()
    }

    /// Number of jobs, those of traffic included.
    #[must_use]
    pub fn jobs(&self) -> u32 {
        self.jobs.len() as u32
    }

    /// Number of ranks of a job that is a program.
    #[must_use]
    pub fn ranks(&self, job: u32) -> u32 {
        self.jobs[job as usize].placement.len() as u32
    }

    /// Where all ranks of programs live, in order.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        (0u32..).zip(&self.jobs).flat_map(|(job, j)| {
            let place = move |(rank, &terminal)| Place { job, rank: RankId::new(rank), terminal };
            (0u32..).zip(&j.placement).map(place)
        })
    }

    /// The program of a job, if it is one.
    #[must_use]
    pub fn program(&self, job: u32) -> Option<&Arc<dyn Program>> {
        self.jobs.get(job as usize)?.program.as_ref()
    }

    /// Global number of a job's rank.
    #[inline]
    #[must_use]
    pub fn number(&self, job: u32, rank: RankId) -> GlobalRank {
        let own = &self.jobs[job as usize];
        let known = own.program.is_none() || rank.index() < own.placement.len();
        debug_assert!(known, "rank {rank} is one of its job's");
        own.first.plus(rank.number())
    }

    /// Rank in the job of a global number.
    #[inline]
    #[must_use]
    pub fn rank(&self, job: u32, number: GlobalRank) -> RankId {
        debug_assert!(
            number >= self.jobs[job as usize].first,
            "rank {number} is of this job, not of one before"
        );
        RankId::new(number.number() - self.jobs[job as usize].first.number())
    }

    /// Job of a global number, and rank there.
    #[must_use]
    pub fn job_of(&self, number: GlobalRank) -> (u32, RankId) {
        let behind = self.jobs.partition_point(|j| j.first <= number);
        debug_assert!(behind > 0, "ranks are numbered from the first job's on");
        let job = behind.saturating_sub(1) as u32;
        (job, self.rank(job, number))
    }

    /// Terminal of a rank.
    #[inline]
    #[must_use]
    pub fn terminal(&self, job: u32, rank: RankId) -> TerminalId {
        self.jobs[job as usize].placement[rank.index()]
    }

    /// When a job begins.
    #[must_use]
    pub fn start(&self, job: u32) -> Ps {
        self.jobs[job as usize].start
    }

    /// Time of a computation of a job.
    #[inline]
    #[must_use]
    pub fn computing(&self, job: u32, amount: Ps) -> Ps {
        JobSetup::computing(amount, self.jobs[job as usize].compute_ppb)
    }
}

/// One who lives in a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Its job, its rank there and its terminal.
    pub place: Place,
    /// Number among all ranks of the run.
    pub number: GlobalRank,
    /// First of the processors that it may use among those of the partition, and how many there are.
    pub cpu: u32,
    /// How many processors it may use.
    pub cpus: u32,
    /// Which of them its own first one is.
    pub bound: u32,
    /// First of its processors among all that ranks of its terminal have.
    pub slot: u32,
    /// Its place among the ranks of its terminal.
    pub seat: u16,
    /// First channel of its node's memory among those of the partition.
    pub channel: u32,
}

impl Resident {
    /// The processor that serves what a rank's operation asks of processor `cpu`.
    #[inline]
    #[must_use]
    pub fn processor(&self, cpu: u8) -> u32 {
        debug_assert!(self.bound < self.cpus, "a rank is bound to one of the processors that it may use");
        let wanted = self.bound + u32::from(cpu);
        self.cpu + if wanted < self.cpus { wanted } else { wanted % self.cpus }
    }
}

/// Something of a node that has alarms: a processor, or a channel of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Server {
    /// The terminal of the node.
    pub terminal: TerminalId,
    /// Its number among those of the terminal.
    pub number: u32,
}

/// Those who live in a partition, by global number, their processors and the channels of their memories.
pub struct Residents {
    ranks: Vec<Resident>,
    cpus: Vec<Server>,
    channels: Vec<Server>,
}

/// What ranks of a terminal were given so far.
#[derive(Clone, Copy, Default)]
struct Taken {
    ranks: u32,
    slots: u32,
    /// First shared processor, and first channel of the memory.
    first: (u32, u32),
}

impl Residents {
    /// Those of `places` whose jobs are programs.
    #[must_use]
    pub fn new(roster: &Roster, places: impl IntoIterator<Item = Place>) -> Self {
        let known = |place: Place| {
            roster.program(place.job)?;
            let number = roster.number(place.job, place.rank);
            Some(Resident { place, number, cpu: 0, cpus: 0, bound: 0, slot: 0, seat: 0, channel: 0 })
        };
        let mut ranks: Vec<Resident> = places.into_iter().filter_map(known).collect();
        ranks.sort_unstable_by_key(|r| r.number);
        debug_assert!(ranks.is_sorted_by(|a, b| a.number < b.number), "a rank lives in one place");
        let memory = roster.node.map(|n| n.memory).filter(|m| !m.is_free());
        let (mut cpus, mut channels) = (Vec::new(), Vec::new());
        let mut taken = base::sorted::SortedMap::<TerminalId, Taken>::new();
        for r in &mut ranks {
            let own = roster.program(r.place.job).map_or(1, |p| u32::from(p.cpus().max(1)));
            let cores = roster.node.and_then(|n| n.cores);
            let terminal = r.place.terminal;
            let servers = |from, count| (from..from + count).map(move |number| Server { terminal, number });
            let taken = taken.entry(terminal).or_insert_with(|| {
                let first = (cpus.len() as u32, channels.len() as u32);
                cpus.extend(servers(0, cores.unwrap_or(0)));
                channels.extend(servers(0, memory.map_or(0, |m| m.channels)));
                Taken { first, ..Taken::default() }
            });
            (r.cpu, r.cpus, r.bound) = match cores {
                Some(cores) => (taken.first.0, cores, taken.ranks % cores),
                None => (cpus.len() as u32, own, 0),
            };
            if cores.is_none() {
                cpus.extend(servers(taken.slots, own));
            }
            (r.slot, r.channel) = (taken.slots, taken.first.1);
            r.seat = taken.ranks as u16;
            taken.slots += own;
            taken.ranks += 1;
        }
        // Channels are numbered on after all that is a processor there, so that their alarms have names of their own.
        for server in &mut channels {
            let slots = taken.get(&server.terminal).map_or(0, |t| t.slots);
            server.number += slots.max(roster.node.and_then(|n| n.cores).unwrap_or(0));
        }
        Self { ranks, cpus, channels }
    }

    /// All, by local number.
    #[must_use]
    pub fn all(&self) -> &[Resident] {
        &self.ranks
    }

    /// One of them.
    #[inline]
    #[must_use]
    pub fn get(&self, rank: u32) -> &Resident {
        &self.ranks[rank as usize]
    }

    /// All processors of these nodes.
    #[must_use]
    pub fn cpus(&self) -> &[Server] {
        &self.cpus
    }

    /// All channels of their memories.
    #[must_use]
    pub fn channels(&self) -> &[Server] {
        &self.channels
    }

    /// Local number of a rank that lives here.
    ///
    /// # Panics
    /// If it lives elsewhere.
    #[inline]
    #[must_use]
    pub fn local(&self, number: GlobalRank) -> u32 {
        // In a run of one partition whose jobs are all programs, numbers are places.
        if self.ranks.get(number.index()).is_some_and(|r| r.number == number) {
            return number.number();
        }
        let found = self.ranks.binary_search_by_key(&number, |r| r.number);
        found.expect("a message reached its rank's partition") as u32
    }
}
