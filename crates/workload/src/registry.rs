//! What a user can name: workloads, arrivals and placements. Adding one is one file and one line here.

use crate::{
    arrival::{self, Arrival, ArrivalContext},
    pattern,
    placement::{self, PlacementContext},
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

/// A traffic pattern that a job can name.
pub struct WorkloadEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// Builds it from checked parameters.
    pub build: fn(&JobContext, &Values) -> Built<Arc<dyn Traffic>>,
    /// True if it takes `load` and `arrival` (open loop); [`JobContext::arrival`] must then be given.
    pub arrivals: bool,
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

/// All traffic patterns.
pub const WORKLOADS: &[WorkloadEntry] = &[
    WorkloadEntry { about: pattern::uniform::ABOUT, build: pattern::uniform::build, arrivals: true },
    WorkloadEntry { about: pattern::bisection::ABOUT, build: pattern::bisection::build, arrivals: true },
    WorkloadEntry {
        about: pattern::random_permutation::ABOUT,
        build: pattern::random_permutation::build,
        arrivals: true,
    },
    WorkloadEntry { about: pattern::all_to_all::ABOUT, build: pattern::all_to_all::build, arrivals: true },
    WorkloadEntry { about: pattern::ping_pong::ABOUT, build: pattern::ping_pong::build, arrivals: false },
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
];

/// What every workload is built from, beside its own parameters.
#[derive(Clone)]
pub struct JobContext {
    /// Number of ranks.
    pub ranks: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Index of the job: jobs have different random streams.
    pub job: u32,
    /// Bytes of a message.
    pub message: u64,
    /// When messages are created; `None` for closed-loop workloads.
    pub arrival: Option<ArrivalChoice>,
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
