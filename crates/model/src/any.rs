//! One setup for every model: what the command line builds, checks and runs without knowing which model it is.

use crate::{
    delay::{self, DelayJob, DelaySetup},
    failure::Failure,
    flow::{self, FlowSetup},
    memory::{self, Prediction},
    run::{self, Finished, Progress},
    setup::{Change, JobSetup, Measure, Setup},
};
use fabric::{graph::Fabric, routing::Routing};

/// A resolved run of any model.
pub enum AnySetup {
    /// See [`crate::packet`].
    Packet(Setup),
    /// See [`crate::delay`].
    Delay(DelayRun),
    /// See [`crate::flow`].
    Flow(FlowSetup),
}

/// A run of the delay model, with what is told about it beforehand.
pub struct DelayRun {
    setup: DelaySetup,
    jobs: Vec<JobSetup>,
    measure: Measure,
}

impl DelayRun {
    /// A run of these jobs; [`DelaySetup::jobs`] and [`DelaySetup::measure`] are made from them.
    ///
    /// # Errors
    /// The index of the first job that is no rank program.
    pub fn new(mut setup: DelaySetup, jobs: Vec<JobSetup>, measure: Measure) -> Result<Self, usize> {
        setup.jobs.clear();
        for (index, job) in jobs.iter().enumerate() {
            setup.jobs.push(DelayJob {
                name: job.name.clone(),
                program: job.work.program().cloned().ok_or(index)?,
                start: job.start,
                placement: job.placement.clone(),
                compute_ppb: job.compute_ppb,
            });
        }
        setup.measure = delay::observe::Measure { pairs: measure.pairs, operations: measure.operations };
        Ok(Self { setup, jobs, measure })
    }
}

impl AnySetup {
    /// Simulates; see [`run::simulate`].
    ///
    /// # Errors
    /// A setup that cannot be simulated, a stop by `progress`, or a broken invariant.
    pub fn simulate(&self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
        match self {
            Self::Packet(setup) => run::simulate(setup, progress),
            Self::Delay(run) => {
                let done = delay::simulate(&run.setup, progress)?;
                Ok(Finished { summary: done.summary, tables: done.tables })
            }
            Self::Flow(setup) => flow::simulate(setup, progress),
        }
    }

    /// Refuses, before a run, what the rules of the model exclude.
    ///
    /// # Errors
    /// [`Failure::Setup`] with the reason.
    pub fn validate(&self) -> Result<(), Failure> {
        match self {
            Self::Packet(setup) => run::validate(setup),
            Self::Delay(run) => delay::run::context(&run.setup).map(drop),
            Self::Flow(setup) => flow::run::context(setup).map(drop),
        }
    }

    /// Memory that the run may need.
    #[must_use]
    pub fn memory(&self) -> Prediction {
        match self {
            Self::Packet(setup) => memory::predict(setup),
            Self::Delay(run) => memory::predict_ranks(&run.jobs),
            Self::Flow(setup) => memory::predict_flows(setup),
        }
    }

    /// The network, if the experiment has one.
    #[must_use]
    pub fn fabric(&self) -> Option<&Fabric> {
        match self {
            Self::Packet(setup) => Some(&setup.fabric),
            Self::Delay(run) => run.setup.fabric.as_deref(),
            Self::Flow(setup) => Some(&setup.fabric),
        }
    }

    /// The routing whose deadlock freedom matters to the model.
    #[must_use]
    pub fn routing(&self) -> Option<&dyn Routing> {
        match self {
            Self::Packet(setup) => Some(setup.routing.as_ref()),
            Self::Delay(_) | Self::Flow(_) => None,
        }
    }

    /// What fails while the run is under way.
    #[must_use]
    pub fn change(&self) -> Option<&Change> {
        match self {
            Self::Packet(setup) => setup.change.as_ref(),
            Self::Delay(_) => None,
            Self::Flow(setup) => setup.change.as_ref(),
        }
    }

    /// The jobs.
    #[must_use]
    pub fn jobs(&self) -> &[JobSetup] {
        match self {
            Self::Packet(setup) => &setup.jobs,
            Self::Delay(run) => &run.jobs,
            Self::Flow(setup) => &setup.jobs,
        }
    }

    /// What is measured beyond the summary.
    #[must_use]
    pub fn measure(&self) -> Measure {
        match self {
            Self::Packet(setup) => setup.measure,
            Self::Delay(run) => run.measure,
            Self::Flow(setup) => setup.measure,
        }
    }

    /// Seed of the run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        match self {
            Self::Packet(setup) => setup.seed,
            Self::Delay(run) => run.setup.seed,
            Self::Flow(setup) => setup.seed,
        }
    }
}
