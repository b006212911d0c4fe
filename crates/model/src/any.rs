//! One setup for every model: what the command line builds, checks and runs without knowing which model it is.

use crate::{
    failure::Failure,
    memory::{self, Prediction},
    run::{self, Finished, Progress},
    setup::{Change, JobSetup, Measure, Setup},
};
use fabric::{graph::Fabric, routing::Routing};

/// A resolved run of any model.
pub enum AnySetup {
    /// See [`crate::packet`].
    Packet(Setup),
}

impl AnySetup {
    /// Simulates; see [`run::simulate`].
    ///
    /// # Errors
    /// A setup that cannot be simulated, a stop by `progress`, or a broken invariant.
    pub fn simulate(&self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
        match self {
            Self::Packet(setup) => run::simulate(setup, progress),
        }
    }

    /// Refuses, before a run, what the rules of the model exclude.
    ///
    /// # Errors
    /// [`Failure::Setup`] with the reason.
    pub fn validate(&self) -> Result<(), Failure> {
        match self {
            Self::Packet(setup) => run::validate(setup),
        }
    }

    /// Memory that the run may need.
    #[must_use]
    pub fn memory(&self) -> Prediction {
        match self {
            Self::Packet(setup) => memory::predict(setup),
        }
    }

    /// The network, if the experiment has one.
    #[must_use]
    pub fn fabric(&self) -> Option<&Fabric> {
        match self {
            Self::Packet(setup) => Some(&setup.fabric),
        }
    }

    /// The routing whose deadlock freedom matters to the model.
    #[must_use]
    pub fn routing(&self) -> Option<&dyn Routing> {
        match self {
            Self::Packet(setup) => Some(setup.routing.as_ref()),
        }
    }

    /// What fails while the run is under way.
    #[must_use]
    pub fn change(&self) -> Option<&Change> {
        match self {
            Self::Packet(setup) => setup.change.as_ref(),
        }
    }

    /// The jobs.
    #[must_use]
    pub fn jobs(&self) -> &[JobSetup] {
        match self {
            Self::Packet(setup) => &setup.jobs,
        }
    }

    /// What is measured beyond the summary.
    #[must_use]
    pub fn measure(&self) -> Measure {
        match self {
            Self::Packet(setup) => setup.measure,
        }
    }

    /// Seed of the run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        match self {
            Self::Packet(setup) => setup.seed,
        }
    }
}
