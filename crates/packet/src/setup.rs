//! A run of the packet model, resolved: no names left to look up, no files left to read.

use crate::{
    adapter::config::Adapter, config::PacketConfig, congestion_control::CongestionControl,
    hybrid::HybridSetup, services::classes::Services, transport::config::Resilience,
};
use base::{param::Values, time::Ps};
use fabric::{graph::Fabric, routing::Routing};
use model::{
    energy::Energy,
    setup::{Change, JobSetup, LinkParams, Measure, Rail, Scheduling, Until},
};
use ranks::node::Node;
use std::sync::Arc;

/// A run, resolved.
#[derive(Clone)]
pub struct Setup {
    /// The network on which all of it runs.
    pub fabric: Arc<Fabric>,
    /// The routing that packets follow through it.
    pub routing: Arc<dyn Routing>,
    /// Which rail messages take, if there are several.
    pub rail: Rail,
    /// What fails while the run is under way; no job may use a terminal that it cuts off.
    pub change: Option<Change>,
    /// Parameters by link class, in the order of [`Fabric::classes`].
    pub links: Vec<LinkParams>,
    /// The jobs, in the order of the experiment.
    pub jobs: Vec<JobSetup>,
    /// Parameters of the packet model.
    pub packet: PacketConfig,
    /// Keys of `[model]`, those of the router architecture among them.
    pub values: Arc<Values>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Chooses another order of simultaneous events with the same random streams; 0 for the usual one.
    pub ties: u64,
    /// End of the run.
    pub until: Until,
    /// Excluded from statistics: packets created before it do not count.
    pub warmup: Ps,
    /// How the partitions are run: scheduler and threads.
    pub scheduling: Scheduling,
    /// Run the checkers (exactly-once delivery, credits, buffers, order).
    pub check: bool,
    /// Tables and series.
    pub measure: Measure,
    /// Losses on links and the transport over them.
    pub resilience: Option<Resilience>,
    /// Which packets are marked, and what sources do about it.
    pub control: Option<CongestionControl>,
    /// What adapters do with packets that arrive.
    pub adapter: Option<Adapter>,
    /// What parts of the network take.
    pub energy: Option<Energy>,
    /// Classes of jobs with virtual channels of their own.
    pub services: Option<Services>,
    /// When a predictor replaces the network.
    pub hybrid: Option<HybridSetup>,
    /// What nodes are, if that is described.
    pub node: Option<Node>,
}

impl Setup {
    /// Virtual channels that the routings need together.
    #[must_use]
    pub fn vcs_needed(&self) -> u8 {
        let after = self.change.as_ref().map_or(0, |c| c.routing.vcs() + c.detour.vcs());
        self.routing.vcs() + after
    }
}
