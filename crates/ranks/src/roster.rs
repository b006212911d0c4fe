//! Who lives where: the ranks of a run's programs and their terminals, in tables that all partitions share or that each has for its own.
//!
//! Ranks are numbered over all jobs, in the order of jobs: *global* numbers, which travel. Each partition numbers those who live in it again, in the same
//! order: *local* numbers, which do not. Where a rank lives is looked up, never computed, so several may share a terminal.

use base::{
    index::{RankId, TerminalId},
    numbers,
    time::Ps,
};
use model::setup::JobSetup;
use std::sync::Arc;
use workload::program::Program;

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
    /// When a computation counts as begun.
    pub calc: Begun,
}

/// When a computation counts as begun, for whoever measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// When nothing keeps it from being taken up.
    Executable,
    /// When its processor takes it in hand.
    InHand,
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
    pub fn new(jobs: &[JobSetup], rules: Rules) -> Self {
        let mut first = GlobalRank::new(0);
        let job = |j: &JobSetup| {
            let program = j.work.program().cloned();
            // Traffic keeps its placement elsewhere.
            let placement = if program.is_some() { j.placement.clone() } else { Vec::new() };
            let job = Job { program, placement, first, start: j.start, compute_ppb: j.compute_ppb };
            first = first.plus(j.placement.len() as u32);
            job
        };
        Self { jobs: jobs.iter().map(job).collect(), rules }
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
    /// First of its processors among those of the partition.
    pub cpu: u32,
    /// First of its processors among those of its terminal.
    pub slot: u32,
}

/// Those who live in a partition, by global number, and their processors.
pub struct Residents {
    ranks: Vec<Resident>,
    /// Local rank of each processor.
    owner: Vec<u32>,
}

impl Residents {
    /// Those of `places` whose jobs are programs.
    #[must_use]
    pub fn new(roster: &Roster, places: impl IntoIterator<Item = Place>) -> Self {
        let known = |place: Place| {
            roster.program(place.job)?;
            Some(Resident { place, number: roster.number(place.job, place.rank), cpu: 0, slot: 0 })
        };
        let mut ranks: Vec<Resident> = places.into_iter().filter_map(known).collect();
        ranks.sort_unstable_by_key(|r| r.number);
        let mut owner = Vec::new();
        let mut taken = std::collections::BTreeMap::<TerminalId, u32>::new();
        for (here, r) in (0u32..).zip(&mut ranks) {
            let cpus = roster.program(r.place.job).map_or(1, |p| u32::from(p.cpus().max(1)));
            let slots = taken.entry(r.place.terminal).or_default();
            (r.cpu, r.slot) = (owner.len() as u32, *slots);
            *slots += cpus;
            owner.extend(std::iter::repeat_n(here, cpus as usize));
        }
        Self { ranks, owner }
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

    /// Number of processors.
    #[must_use]
    pub fn cpus(&self) -> usize {
        self.owner.len()
    }

    /// Whose a processor is.
    #[inline]
    #[must_use]
    pub fn owner(&self, cpu: u32) -> u32 {
        self.owner[cpu as usize]
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
