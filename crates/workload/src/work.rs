//! What a job's ranks do, and how it is built: the entry of a workload and what it is given.

use crate::{
    arrival::{Arrival, ArrivalContext, ArrivalEntry},
    placement::groups,
    program::{Program, lower},
    traffic::Traffic,
};
pub use base::param::Built;
use base::{
    param::{Problem, Value, Values},
    rate::Bandwidth,
    registry::{About, Registered},
    sorted::SortedMap,
};
use fabric::graph::Fabric;
use std::sync::Arc;

/// A workload that a job can name.
pub struct WorkloadEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Builds it from checked parameters.
    pub build: fn(&JobContext, &Values) -> Built<Work>,
    /// Which of the keys that several workloads share it takes.
    pub takes: Takes,
}

/// What a job's ranks do.
#[derive(Clone)]
pub enum Work {
    /// Messages by rule: a synthetic pattern.
    Traffic(Arc<dyn Traffic>),
    /// Operations with dependencies: a trace or a generated program.
    Program(Arc<dyn Program>),
}

/// Which keys of a job a workload takes besides its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// `message`, `load` and `arrival`: open-loop traffic; [`JobContext::arrival`] must be given.
    Arrivals,
    /// These, and what a pattern can be mixed with: see [`mixed`](crate::pattern::mixed).
    Pattern,
    /// `message` alone: closed-loop traffic.
    Message,
    /// `load` and `arrival`, if they are there: a list of messages.
    List,
    /// `compute`: a rank program. It says itself how many ranks it has, unless it is asked for a number.
    Program,
}

impl Takes {
    /// True for open-loop traffic, which has a load and an arrival process.
    #[must_use]
    pub fn arrivals(self) -> bool {
        matches!(self, Self::Arrivals | Self::Pattern)
    }
}

impl Work {
    /// Number of ranks, where the workload determines it.
    #[must_use]
    pub fn ranks(&self) -> Option<u32> {
        match self {
            Self::Traffic(_) => None,
            Self::Program(program) => Some(program.ranks()),
        }
    }

    /// The traffic, if it is any.
    #[must_use]
    pub fn into_traffic(self) -> Option<Arc<dyn Traffic>> {
        match self {
            Self::Traffic(traffic) => Some(traffic),
            Self::Program(_) => None,
        }
    }

    /// The traffic, if it is any.
    #[must_use]
    pub fn traffic(&self) -> Option<&Arc<dyn Traffic>> {
        match self {
            Self::Traffic(traffic) => Some(traffic),
            Self::Program(_) => None,
        }
    }

    /// Ranges by which results tell its messages apart by size: see [`Traffic::size_ranges`].
    #[must_use]
    pub fn size_ranges(&self) -> Vec<u64> {
        self.traffic().map_or_else(Vec::new, |traffic| traffic.size_ranges())
    }

    /// The program, if it is any.
    #[must_use]
    pub fn program(&self) -> Option<&Arc<dyn Program>> {
        match self {
            Self::Traffic(_) => None,
            Self::Program(program) => Some(program),
        }
    }
}

impl Registered for WorkloadEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

/// What every workload is built from, beside its own parameters.
#[derive(Clone)]
pub struct JobContext {
    /// Number of ranks: what the job asks for, or else the number of free terminals.
    pub ranks: u32,
    /// True if the job asks for that number; a program that knows its own must then agree or refuse.
    pub asked: bool,
    /// Seed of the run.
    pub seed: u64,
    /// Index of the job: jobs have different random streams.
    pub job: u32,
    /// Bytes of a message; 0 for programs.
    pub message: u64,
    /// When messages are created; `None` for closed-loop workloads and programs.
    pub arrival: Option<ArrivalChoice>,
    /// How MPI calls become operations, for programs made of calls.
    pub lowering: lower::Options,
    /// What the network lends to patterns that follow its shape.
    pub shape: Shape,
    /// Ranks by the names of their hosts, where the network has names and the workload asks for them.
    pub names: Arc<SortedMap<String, u32>>,
}

/// Numbers of neighbouring terminals in a network, where they are the same everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Terminals of a group: of what stays connected without the links of the topmost class.
    pub group: Option<u32>,
    /// Terminals of a router that has any.
    pub leaf: Option<u32>,
}

impl Shape {
    /// The shape of a network whose groups and routers hold their terminals in a row, and equally many each.
    #[must_use]
    pub fn of(fabric: &Fabric) -> Self {
        let even = |over: &str| {
            let values = Values::default().with(groups::OVER.name, Value::Text(over.to_owned()));
            let members = groups::terminals(fabric, &values);
            let size = members.first()?.len();
            let mut numbers = members.iter().flatten().map(|t| t.number());
            let row = (0..fabric.terminals()).all(|n| numbers.next() == Some(n));
            let alike = row && members.len() > 1 && members.iter().all(|m| m.len() == size);
            u32::try_from(size).ok().filter(|_| alike)
        };
        Self { group: even("groups"), leaf: even("routers") }
    }
}

/// A load and the arrival process that offers it.
#[derive(Clone)]
pub struct ArrivalChoice {
    /// The process, from [`ARRIVALS`](crate::registry::ARRIVALS).
    pub entry: &'static ArrivalEntry,
    /// Its checked parameters.
    pub values: Values,
    /// Offered load as a fraction of `bandwidth`, rounded to multiples of 10^-9.
    pub load: f64,
    /// Bandwidth of the terminal link.
    pub bandwidth: Bandwidth,
}

impl JobContext {
    /// Builds the arrival process for arrivals that bring `bytes` in so many, and returns the offered load in bytes per second.
    ///
    /// # Errors
    /// Whatever the process refuses; a missing load.
    pub(crate) fn arrivals(&self, bytes: u64, per: u64) -> Built<(Arc<dyn Arrival>, f64)> {
        let Some(choice) = &self.arrival else {
            return Err(vec![Problem::new("load", "this workload needs a load").help("add `load = 0.5`")]);
        };
        let (seed, job, load, bandwidth) = (self.seed, self.job, choice.load, choice.bandwidth);
        let context = ArrivalContext { seed, job, load, bandwidth, bytes, per };
        Ok(((choice.entry.build)(&context, &choice.values)?, load * bandwidth.bytes_per_s()))
    }

    /// Refuses jobs in which nobody has a partner.
    pub(crate) fn need_two_ranks(&self) -> Built<()> {
        if self.ranks >= 2 {
            return Ok(());
        }
        let message = format!("a pattern needs at least 2 ranks, this job has {}", self.ranks);
        Err(vec![Problem::new("ranks", message)])
    }
}
