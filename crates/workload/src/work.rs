//! What a job's ranks do, and how it is built: the entry of a workload and what it is given.

use crate::{
    arrival::{Arrival, ArrivalContext, ArrivalEntry},
    program::{Program, lower},
    traffic::Traffic,
};
pub use base::param::Built;
use base::{
    param::{Problem, Values},
    rate::Bandwidth,
    registry::{About, Registered},
};
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
    /// `message` alone: closed-loop traffic.
    Message,
    /// None of them: messages one by one.
    Nothing,
    /// `compute`: a rank program. It says itself how many ranks it has, unless it is asked for a number.
    Program,
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
    /// Builds the arrival process for arrivals of `bytes` each, and returns the offered load in bytes per second.
    ///
    /// # Errors
    /// Whatever the process refuses; a missing load.
    pub(crate) fn arrivals(&self, bytes: u64) -> Built<(Arc<dyn Arrival>, f64)> {
        let Some(choice) = &self.arrival else {
            return Err(vec![Problem::new("load", "this workload needs a load").help("add `load = 0.5`")]);
        };
        let (seed, job, load, bandwidth) = (self.seed, self.job, choice.load, choice.bandwidth);
        let context = ArrivalContext { seed, job, load, bandwidth, bytes };
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
