//! One setup for every model: what the command line builds, checks and runs without knowing which model it is.

use crate::models::ModelKind;
use congestion::setup::CongestionSetup;
use fabric::{graph::Fabric, routing::Routing};
use flow::FlowSetup;
use loggops::{DelayJob, DelaySetup};
use model::{
    failure::Failure,
    memory::Prediction,
    run::{Finished, Progress, Watch},
    setup::{Change, JobSetup, Measure, Scheduling},
};
use packet::{run, setup::Setup};
use portals::net::{self, Net};

/// A resolved run of any model.
pub enum AnySetup {
    /// See [`packet`], and [`packet::hybrid`] if [`Setup::hybrid`] is there.
    Packet(Setup),
    /// See [`loggops`].
    Delay(DelayRun),
    /// See [`congestion`].
    Congestion(CongestionSetup),
    /// See [`flow`].
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
        setup.measure = loggops::observe::Measure {
            messages: measure.messages,
            pairs: measure.pairs,
            operations: measure.operations,
        };
        Ok(Self { setup, jobs, measure })
    }

    /// What the model gets.
    #[must_use]
    pub fn setup(&self) -> &DelaySetup {
        &self.setup
    }
}

impl AnySetup {
    /// Simulates; see [`run::simulate`].
    ///
    /// # Errors
    /// A setup that cannot be simulated, a stop by `progress`, or a broken invariant.
    pub fn simulate(&self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
        self.watch(Watch { pause: &mut |at, _| progress(at), every: 0, resume: None })
    }

    /// Which of the models.
    #[must_use]
    pub fn kind(&self) -> ModelKind {
        match self {
            Self::Packet(setup) if setup.hybrid.is_some() => ModelKind::Hybrid,
            Self::Packet(_) => ModelKind::Packet,
            Self::Delay(_) => ModelKind::Delay,
            Self::Congestion(_) => ModelKind::Congestion,
            Self::Flow(_) => ModelKind::Flow,
        }
    }

    /// Simulates, watched; see [`run::watch`]. A model that is not kept ([`ModelKind::is_kept`]) has no state to give and begins anew.
    ///
    /// # Errors
    /// A setup that cannot be simulated, a stop, a damaged state, or a broken invariant.
    pub fn watch(&self, watch: Watch<'_>) -> Result<Finished, Failure> {
        match self {
            Self::Packet(setup) => run::watch(setup, watch),
            Self::Delay(run) => {
                let done = loggops::run::watch(&run.setup, watch)?;
                Ok(Finished { summary: done.summary, tables: done.tables })
            }
            Self::Congestion(setup) => setup.simulate(&mut |at| (watch.pause)(at, &mut Vec::new)),
            Self::Flow(setup) => flow::simulate(setup, &mut |at| (watch.pause)(at, &mut Vec::new)),
        }
    }

    /// What carries the messages of Portals programs on this network.
    ///
    /// # Errors
    /// What its model refuses, and models that have no messages under way.
    pub fn net(&self) -> Result<Box<dyn Net>, Failure> {
        match self {
            Self::Flow(setup) => Ok(Box::new(net::flow::Flow::new(setup)?)),
            Self::Delay(run) => Ok(Box::new(net::delay::Delay::new(run.setup())?)),
            Self::Packet(setup) => Ok(Box::new(net::packet::Packet::new(setup)?)),
            Self::Congestion(_) => {
                let why = "model \"congestion\" has no time: Portals programs run on \"flow\", \"packet\" and \"delay\"";
                Err(Failure::Setup(why.into()))
            }
        }
    }

    /// Chooses the scheduler.
    pub fn schedule(&mut self, scheduling: Scheduling) {
        match self {
            Self::Packet(setup) => setup.scheduling = scheduling,
            Self::Delay(run) => run.setup.scheduling = scheduling,
            // Mappings are shared out to threads in any order; one solver is one cell.
            Self::Congestion(_) | Self::Flow(_) => {}
        }
    }

    /// Refuses, before a run, what the rules of the model exclude.
    ///
    /// # Errors
    /// [`Failure::Setup`] with the reason.
    pub fn validate(&self) -> Result<(), Failure> {
        match self {
            Self::Packet(setup) => run::validate(setup),
            Self::Delay(run) => loggops::run::context(&run.setup).map(drop),
            Self::Congestion(setup) => setup.validate(),
            Self::Flow(setup) => flow::run::context(setup).map(drop),
        }
    }

    /// Memory that the run may need.
    #[must_use]
    pub fn memory(&self) -> Prediction {
        match self {
            Self::Packet(setup) => packet::memory::predict(setup),
            Self::Delay(run) => ranks::memory::predict(&run.jobs),
            Self::Congestion(setup) => congestion::memory::predict(setup),
            Self::Flow(setup) => flow::memory::predict(setup),
        }
    }

    /// The network, if the experiment has one.
    #[must_use]
    pub fn fabric(&self) -> Option<&Fabric> {
        match self {
            Self::Packet(setup) => Some(&setup.fabric),
            Self::Delay(run) => run.setup.fabric.as_deref(),
            Self::Congestion(setup) => Some(&setup.fabric),
            Self::Flow(setup) => Some(&setup.fabric),
        }
    }

    /// The routing whose deadlock freedom matters to the model.
    #[must_use]
    pub fn routing(&self) -> Option<&dyn Routing> {
        match self {
            Self::Packet(setup) => Some(setup.routing.as_ref()),
            Self::Delay(_) | Self::Congestion(_) | Self::Flow(_) => None,
        }
    }

    /// What fails while the run is under way.
    #[must_use]
    pub fn change(&self) -> Option<&Change> {
        match self {
            Self::Packet(setup) => setup.change.as_ref(),
            Self::Delay(_) | Self::Congestion(_) => None,
            Self::Flow(setup) => setup.change.as_ref(),
        }
    }

    /// The jobs.
    #[must_use]
    pub fn jobs(&self) -> &[JobSetup] {
        match self {
            Self::Packet(setup) => &setup.jobs,
            Self::Delay(run) => &run.jobs,
            Self::Congestion(setup) => &setup.jobs,
            Self::Flow(setup) => &setup.jobs,
        }
    }

    /// What is measured beyond the summary.
    #[must_use]
    pub fn measure(&self) -> Measure {
        match self {
            Self::Packet(setup) => setup.measure,
            Self::Delay(run) => run.measure,
            Self::Congestion(_) => Measure::default(),
            Self::Flow(setup) => setup.measure,
        }
    }

    /// Seed of the run.
    #[must_use]
    pub fn seed(&self) -> u64 {
        match self {
            Self::Packet(setup) => setup.seed,
            Self::Delay(run) => run.setup.seed,
            Self::Congestion(setup) => setup.seed,
            Self::Flow(setup) => setup.seed,
        }
    }
}
