//! What a user can name: workloads, arrivals and placements. Adding one is one file and one line here.

use crate::{
    arrival::{self, Arrival, ArrivalContext},
    levels::workload as levels,
    pattern,
    placement::{self, PlacementContext},
    program::{Program, file, generate, lower},
    traffic::Traffic,
};
use base::{
    param::{Problem, Values},
    rate::Bandwidth,
    registry::{About, Registered},
};
use std::sync::Arc;

/// What was built, or all that is wrong with the parameters.
pub type Built<T> = Result<T, Vec<Problem>>;

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

/// An arrival process that a job can name.
pub struct ArrivalEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Builds it from checked parameters.
    pub build: fn(&ArrivalContext, &Values) -> Built<Arc<dyn Arrival>>,
}

/// A placement of ranks on terminals that a job can name.
pub struct PlacementEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Builds the terminal of each rank from checked parameters.
    pub build: fn(&PlacementContext<'_>, &Values) -> Built<Vec<u32>>,
}

/// The entry of a generator of rank programs.
macro_rules! generated {
    ($name:ident) => {
        WorkloadEntry {
            about: generate::$name::ABOUT,
            build: |context, values| generate::work(generate::$name::build, context, values),
            takes: Takes::Program,
        }
    };
}

/// The entry of a pattern with levels.
macro_rules! levelled {
    ($index:literal) => {
        WorkloadEntry {
            about: levels::PLAIN[$index],
            build: |context, values| levels::plain($index, context, values),
            takes: Takes::Arrivals,
        }
    };
}

/// All workloads.
pub const WORKLOADS: &[WorkloadEntry] = &[
    WorkloadEntry { about: pattern::uniform::ABOUT, build: pattern::uniform::build, takes: Takes::Arrivals },
    WorkloadEntry {
        about: pattern::bisection::ABOUT,
        build: pattern::bisection::build,
        takes: Takes::Arrivals,
    },
    WorkloadEntry {
        about: pattern::random_permutation::ABOUT,
        build: pattern::random_permutation::build,
        takes: Takes::Arrivals,
    },
    WorkloadEntry {
        about: pattern::all_to_all::ABOUT,
        build: pattern::all_to_all::build,
        takes: Takes::Arrivals,
    },
    WorkloadEntry {
        about: pattern::ping_pong::ABOUT,
        build: pattern::ping_pong::build,
        takes: Takes::Message,
    },
    levelled!(0),
    levelled!(1),
    levelled!(2),
    levelled!(3),
    levelled!(4),
    levelled!(5),
    levelled!(6),
    levelled!(7),
    levelled!(8),
    levelled!(9),
    levelled!(10),
    WorkloadEntry { about: levels::NEIGHBOUR, build: levels::neighbour, takes: Takes::Arrivals },
    WorkloadEntry { about: levels::ANY, build: levels::any, takes: Takes::Arrivals },
    WorkloadEntry { about: pattern::pairs::ABOUT, build: pattern::pairs::build, takes: Takes::Nothing },
    WorkloadEntry { about: file::ABOUT, build: file::build, takes: Takes::Program },
    generated!(lu),
    generated!(bt),
    generated!(stencil),
    generated!(jacobi3d),
    generated!(milc),
    generated!(sweep),
    generated!(fft),
    generated!(gups),
    generated!(conjugate_gradient),
    generated!(training),
    generated!(pipeline),
    generated!(ring),
    generated!(collective),
];

/// All arrival processes.
pub const ARRIVALS: &[ArrivalEntry] = &[
    ArrivalEntry { about: arrival::constant::ABOUT, build: arrival::constant::build },
    ArrivalEntry { about: arrival::bernoulli::ABOUT, build: arrival::bernoulli::build },
    ArrivalEntry { about: arrival::poisson::ABOUT, build: arrival::poisson::build },
];

/// All placements.
pub const PLACEMENTS: &[PlacementEntry] = &[
    PlacementEntry { about: placement::linear::ABOUT, build: placement::linear::build },
    PlacementEntry { about: placement::random::ABOUT, build: placement::random::build },
    PlacementEntry { about: placement::xyz::ABOUT, build: placement::xyz::build },
    PlacementEntry { about: placement::round_robin::ABOUT, build: placement::round_robin::build },
    PlacementEntry { about: placement::by_group::ABOUT, build: placement::by_group::build },
    PlacementEntry { about: placement::breadth_first::ABOUT, build: placement::breadth_first::build },
    PlacementEntry { about: placement::min_manhattan::ABOUT, build: placement::min_manhattan::build },
    PlacementEntry { about: placement::least_hops::ABOUT, build: placement::least_hops::build },
    PlacementEntry { about: placement::explicit::ABOUT, build: placement::explicit::build },
];

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
    /// The process, from [`ARRIVALS`].
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

impl Registered for WorkloadEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

impl Registered for ArrivalEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

impl Registered for PlacementEntry {
    fn about(&self) -> &About {
        &self.about
    }
}
