//! What every model offers: a run that is built, and can be judged, watched and saved without knowing which model it is.

use crate::{
    failure::Failure,
    memory::Prediction,
    messages::MessageNetwork,
    run::{Finished, Progress, Watch},
    setup::{Change, JobSetup, Measure, Scheduling},
};
use fabric::{graph::Fabric, routing::Routing};

/// A cost that a model goes by, and where it is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its key in `[model]`.
    pub key: &'static str,
    /// Least, mean and greatest over pairs of nodes, with units; the same text thrice where it is one value.
    pub values: [String; 3],
    /// Where it is from, in words.
    pub from: String,
    /// It follows from other sections, so the file leaves it out.
    pub derived: bool,
    /// Why it cannot be right, if another section says otherwise.
    pub warning: Option<String>,
}

/// A run of some model, resolved. One call of a method per run: nothing here is asked per event.
pub trait Run: Send + Sync {
    /// Simulates, watched. A model that cannot be saved gives an empty state and begins anew.
    ///
    /// # Errors
    /// A setup that cannot be simulated, a stop, a damaged state, or a broken invariant.
    fn watch(&self, watch: Watch<'_>) -> Result<Finished, Failure>;

    /// Refuses, before a run, what the rules of the model exclude.
    ///
    /// # Errors
    /// [`Failure::Setup`] with the reason.
    fn validate(&self) -> Result<(), Failure>;

    /// Partitions that the run would have under a scheduler: one for a model that is one cell.
    fn partitions(&self, _scheduling: Scheduling) -> u32 {
        1
    }

    /// Most processes that the run can be spread over, as it is scheduled.
    fn most_ranks(&self) -> u32 {
        1
    }

    /// Memory that the run may need.
    fn memory(&self) -> Prediction;

    /// What it goes by that the file may leave out; nothing for a model whose parameters are all in the file.
    fn parameters(&self) -> &[Parameter] {
        &[]
    }

    /// The jobs, in the order of the experiment.
    fn jobs(&self) -> &[JobSetup];

    /// Seed of the run.
    fn seed(&self) -> u64;

    /// Simulates; `progress` stops the run by returning false.
    ///
    /// # Errors
    /// As [`Run::watch`].
    fn simulate(&self, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
        self.watch(Watch::new(&mut |at, _| progress(at)))
    }

    /// Chooses the scheduler; nothing for a model that has none.
    fn schedule(&mut self, _scheduling: Scheduling) {}

    /// Chooses another order of simultaneous events with the same random streams, 0 for the usual one; nothing for a model that has one order.
    fn reorder(&mut self, _ties: u64) {}

    /// The network, if there is one.
    fn fabric(&self) -> Option<&Fabric> {
        None
    }

    /// The routing, if the model has buffers for which its packets could wait in a circle.
    fn routing(&self) -> Option<&dyn Routing> {
        None
    }

    /// What fails while the run is under way.
    fn change(&self) -> Option<&Change> {
        None
    }

    /// What is measured beyond the summary.
    fn measure(&self) -> Measure {
        Measure::default()
    }

    /// The network without the jobs, for messages of Portals programs.
    ///
    /// # Errors
    /// What the model refuses; by default everything.
    fn message_network(&self) -> Result<Box<dyn MessageNetwork>, Failure> {
        Err(Failure::Setup("this model carries no messages of Portals programs".to_owned()))
    }

    /// True if [`Run::message_network`] knows one rail alone, whatever the network has.
    fn messages_take_one_rail(&self) -> bool {
        false
    }
}
