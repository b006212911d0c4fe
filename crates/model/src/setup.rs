//! Everything a network model needs to run, resolved: no names left to look up, no files left to read.

use base::{
    index::TerminalId,
    rate::Bandwidth,
    threads::{Optimism, Threads},
    time::Ps,
    units::print_time,
};
use fabric::{graph::Fabric, routing::Routing};
use std::sync::Arc;
use workload::{program::Program, registry::Work};

/// Longer than any run, which ends before 2^59 ps: times are cut here, so that sums do not overflow.
pub const LONGEST: Ps = 1 << 60;

/// Parameters of one link class. Both directions of a cable are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkParams {
    /// Rate of serialisation.
    pub bandwidth: Bandwidth,
    /// Time on the wire.
    pub latency: Ps,
    /// Time from a buffer's release downstream to the credit's use upstream; at least 2 ps.
    pub credit_delay: Ps,
    /// Bytes of buffer per virtual channel.
    pub vc_buffer: u64,
}

/// Which rail of its node a message takes, if the network has several planes ([`fabric::planes`]). Whatever is chosen, a message stays
/// on it, and planes in which failures cut one of its ends off are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rail {
    /// One after another, counted over all messages of the node.
    #[default]
    RoundRobin,
    /// All messages of a pair of nodes the same one, by a hash of the pair.
    ByPair,
    /// A seeded random one for each message.
    Random,
}

impl Rail {
    /// Names, in the order of the variants.
    pub const NAMES: &[&str] = &["round-robin", "by-pair", "random"];

    /// The one of a name among [`Rail::NAMES`].
    #[must_use]
    pub fn named(name: &str) -> Self {
        debug_assert!(Self::NAMES.contains(&name), "other names were refused");
        match name {
            "by-pair" => Self::ByPair,
            "random" => Self::Random,
            _ => Self::RoundRobin,
        }
    }
}

/// One job: what its ranks do and the nodes they live on.
#[derive(Clone)]
pub struct JobSetup {
    /// Name shown in results.
    pub name: String,
    /// What its ranks do.
    pub work: Work,
    /// Node of each rank, which is its terminal in the first plane. Ranks of a program that share a node follow each other; jobs share none.
    pub placement: Vec<TerminalId>,
    /// Size of all its messages, if they are alike.
    pub message: Option<u64>,
    /// Added to every message's time.
    pub start: Ps,
    /// Factor on the time of every computation of a program, in billionths.
    pub compute_ppb: u64,
}

impl JobSetup {
    /// Computations as long as the program says.
    pub const COMPUTE_AS_IS: u64 = 1_000_000_000;

    /// The job in its place, with nothing to do.
    #[must_use]
    pub fn idle(self) -> Self {
        Self { work: self.work.idle(), ..self }
    }

    /// Number of nodes that its ranks live on.
    #[must_use]
    pub fn nodes(&self) -> usize {
        usize::from(!self.placement.is_empty()) + self.placement.windows(2).filter(|w| w[0] != w[1]).count()
    }

    /// What tables say of the job.
    #[must_use]
    pub fn described(&self) -> JobOf<'_> {
        JobOf { name: &self.name, program: self.work.program().map(|p| &**p), start: self.start }
    }

    /// Time of a computation of `amount` under a factor in billionths, rounded once.
    #[inline]
    #[must_use]
    pub fn computing(amount: Ps, compute_ppb: u64) -> Ps {
        if compute_ppb == Self::COMPUTE_AS_IS {
            return amount.min(LONGEST);
        }
        let wide = u128::from(amount) * u128::from(compute_ppb) + u128::from(Self::COMPUTE_AS_IS / 2);
        u64::try_from(wide / u128::from(Self::COMPUTE_AS_IS)).unwrap_or(LONGEST).min(LONGEST)
    }
}

/// What the tables of a run need to know of a job.
pub struct JobOf<'a> {
    /// Its name, as users write and read it.
    pub name: &'a str,
    /// What it runs; nothing for a job that is traffic.
    pub program: Option<&'a dyn Program>,
    /// When it starts.
    pub start: Ps,
}

impl JobOf<'_> {
    /// Name of a collective of the job's program.
    #[must_use]
    pub fn collective(&self, index: u16) -> &str {
        let names = self.program.map_or(&[][..], |p| p.collectives());
        names.get(usize::from(index).wrapping_sub(1)).map_or("unnamed", String::as_str)
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At this virtual time; happenings at the time itself no longer count.
    Time(Ps),
    /// When every job has sent and received all it will; `limit` ends it as a failure.
    WorkloadDone {
        /// Virtual time after which the run is given up.
        limit: Ps,
    },
}

/// Which scheduler commits the events, and over how many partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// One thread; partitions only if asked, run round robin in windows (for tests of partitioning).
    Sequential {
        /// Number of partitions, at least 1.
        partitions: u32,
    },
    /// Threads side by side, none further ahead than lookahead allows.
    Conservative {
        /// Number of partitions; one per thread if left out.
        partitions: Option<u32>,
        /// Threads among which the run is divided.
        threads: Threads,
    },
    /// Threads side by side, ahead of what is certain; what turns out to be premature is taken back.
    Optimistic {
        /// Number of partitions; [`AHEAD_PER_THREAD`] per thread if left out.
        partitions: Option<u32>,
        /// Threads among which the run is divided.
        threads: Threads,
        /// How far ahead.
        optimism: Optimism,
    },
}

/// Partitions of a thread that runs ahead, if nobody says how many: what is taken back is the past of a partition, so small ones waste less, and
/// large ones cost less.
pub const AHEAD_PER_THREAD: u32 = 4;

impl Scheduling {
    /// Number of partitions asked for, at least 1.
    #[must_use]
    pub fn partitions(&self) -> u32 {
        match *self {
            Self::Sequential { partitions } => partitions.max(1),
            Self::Conservative { partitions, threads } => partitions.unwrap_or(threads.count).max(1),
            Self::Optimistic { partitions, threads, .. } => {
                partitions.unwrap_or(threads.count * AHEAD_PER_THREAD).max(1)
            }
        }
    }

    /// Threads asked for.
    #[must_use]
    pub fn threads(&self) -> Threads {
        match *self {
            Self::Sequential { .. } => Threads::ONE,
            Self::Conservative { threads, .. } | Self::Optimistic { threads, .. } => threads,
        }
    }

    /// How far partitions may run ahead, if they do.
    #[must_use]
    pub fn optimism(&self) -> Option<Optimism> {
        match *self {
            Self::Optimistic { optimism, .. } => Some(optimism),
            _ => None,
        }
    }

    /// Name, as `[engine] scheduler` has it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sequential { .. } => "sequential",
            Self::Conservative { .. } => "conservative",
            Self::Optimistic { .. } => "optimistic",
        }
    }
}

/// Most windows of the series of a run.
pub const MAX_WINDOWS: u64 = 1_000_000;

/// How facts of a verdict say that the limit ended the run.
pub const LIMIT_FIRST: &str = "the limit came first";

/// Why a run ended before its workload, with the limit: nobody need have written one.
#[must_use]
pub fn limit_first(limit: Ps) -> String {
    format!("{LIMIT_FIRST} ({})", print_time(limit))
}

/// What a verdict says of programs that the end of the run cut.
#[must_use]
pub fn unfinished(ranks: u64) -> String {
    format!("the run ended first: {}", ranks_left(ranks))
}

/// So many ranks are not done.
#[must_use]
pub fn ranks_left(ranks: u64) -> String {
    if ranks == 1 {
        "1 rank has operations left".to_owned()
    } else {
        format!("{ranks} ranks have operations left")
    }
}

/// What to measure beyond the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Measure {
    /// Length of a statistics window for the series; 0 for none.
    pub window: Ps,
    /// Buffer occupancy of every port, not only the total.
    pub per_port: bool,
    /// What links carried over time, where the model samples it; results do not depend on it.
    pub loads: bool,
    /// A row per delivered packet.
    pub packets: bool,
    /// A row per delivered message.
    pub messages: bool,
    /// Completion times of messages of patterns over those alone, where the model can tell; see `results::slow_down`.
    pub slow_down: bool,
    /// A row per pair of source and destination terminal.
    pub pairs: bool,
    /// A row per operation of a rank program.
    pub operations: bool,
    /// What the engine did, a row per tick: the one table that no two runs have alike.
    pub engine: bool,
}

/// Links and routers that fail during a run.
#[derive(Clone)]
pub struct Change {
    /// Virtual time at which it happens.
    pub at: Ps,
    /// The network that is left, numbered as the whole one.
    pub fabric: Arc<Fabric>,
    /// The routing on it.
    pub routing: Arc<dyn Routing>,
    /// The way around the failures for packets that follow the routing from before: from any router, on one virtual channel.
    pub detour: Arc<dyn Routing>,
}
