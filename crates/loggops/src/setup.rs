//! What a run of the delay model is made from.

use super::{config::DelayConfig, derived::Derived, observe::Measure};
use base::{index::TerminalId, time::Ps};
use fabric::graph::Fabric;
use model::{energy::Energy, setup::Scheduling};
use ranks::node::Node;
use std::sync::Arc;
use workload::program::Program;

/// One job: a program and where its ranks live.
#[derive(Clone)]
pub struct DelayJob {
    /// Name shown in results.
    pub name: String,
    /// What its ranks do.
    pub program: Arc<dyn Program>,
    /// When its ranks start.
    pub start: Ps,
    /// Terminal of each rank; without a fabric it has no meaning and may be empty.
    pub placement: Vec<TerminalId>,
    /// Factor on the time of every computation, in billionths.
    pub compute_ppb: u64,
}

impl DelayJob {
    /// True if several of its ranks live on a terminal.
    #[must_use]
    pub fn shares(&self) -> bool {
        self.placement.windows(2).any(|w| w[0] == w[1])
    }
}

/// A run of the delay model, resolved.
#[derive(Clone)]
pub struct DelaySetup {
    /// The jobs, in the order of the experiment.
    pub jobs: Vec<DelayJob>,
    /// What messages and operations cost, from `[model]`.
    pub config: DelayConfig,
    /// The network whose distances count, if any.
    pub fabric: Option<Arc<Fabric>>,
    /// What the network gave of the parameters, if anything.
    pub derived: Option<Arc<Derived>>,
    /// Seed of the order of simultaneous events; results do not depend on it.
    pub seed: u64,
    /// Scheduler; programs that must be one cell run in one partition, and so in one thread, whatever is said here.
    pub scheduling: Scheduling,
    /// Virtual time at which the run is given up; [`NEVER`](base::time::NEVER) for none. What happens at the time itself no longer counts.
    pub limit: Ps,
    /// The run was to end then, so that programs that are not over are no failure.
    pub timed: bool,
    /// Tables on demand.
    pub measure: Measure,
    /// Check that every message arrives once.
    pub check: bool,
    /// What parts of the network take; with a resilient protocol on a fabric.
    pub energy: Option<Energy>,
    /// What nodes are, if that is described.
    pub node: Option<Node>,
}
