//! What a run of the flow model is given, and what of it does not change while it runs.

use super::config::FlowConfig;
use base::{
    index::{Column, RankId, TerminalId},
    time::Ps,
};
use fabric::{graph::Fabric, platform::Platform, routing::Routing};
use model::{
    failure::Failure,
    setup::{Change, JobSetup, LinkParams, MAX_WINDOWS, Measure, Until},
};
use ranks::{
    node::Node,
    roster::{Roster, Rules},
};
use std::sync::Arc;

/// A run of the flow model, resolved.
#[derive(Clone)]
pub struct FlowSetup {
    /// The network; a platform brings its own links and routes.
    pub fabric: Arc<Fabric>,
    /// Its routing; a platform needs none.
    pub routing: Option<Arc<dyn Routing>>,
    /// What fails while the run is under way.
    pub change: Option<Change>,
    /// Parameters by link class; a platform needs none.
    pub links: Vec<LinkParams>,
    /// The jobs, in the order of the experiment.
    pub jobs: Vec<JobSetup>,
    /// Parameters of the model.
    pub config: FlowConfig,
    /// Seed of every random stream.
    pub seed: u64,
    /// End of the run.
    pub until: Until,
    /// Messages created before it do not count.
    pub warmup: Ps,
    /// Tables and series.
    pub measure: Measure,
    /// Check that every message arrives once.
    pub check: bool,
    /// What parts of the network take, if that is asked; not of a platform.
    pub energy: Option<model::energy::Energy>,
    /// What nodes are, if that is described.
    pub node: Option<Node>,
}

/// What does not change during a run.
pub struct Context {
    /// The network, or a platform with routes of its own: see [`FlowSetup::fabric`].
    pub fabric: Arc<Fabric>,
    /// Asked for the route of each message; none with a platform: see [`FlowSetup::routing`].
    pub routing: Option<Arc<dyn Routing>>,
    /// What fails while the run is under way, if anything: see [`FlowSetup::change`].
    pub change: Option<Change>,
    /// Bandwidth and latency by link class; a platform needs none: see [`FlowSetup::links`].
    pub links: Vec<LinkParams>,
    /// The jobs, in the order of the experiment: see [`FlowSetup::jobs`].
    pub jobs: Vec<JobSetup>,
    /// Parameters from `[model]`: see [`FlowSetup::config`].
    pub config: FlowConfig,
    /// Job and first rank of each terminal; [`u32::MAX`] for none.
    pub rank: Column<TerminalId, (u32, RankId)>,
    /// The ranks of programs.
    pub roster: Arc<Roster>,
    /// Seed of every random stream: see [`FlowSetup::seed`].
    pub seed: u64,
    /// Nothing happens at or after this time.
    pub end: Ps,
    /// It ends then, whatever the workload does.
    pub open: bool,
    /// Virtual time before which messages that are created do not count: see [`FlowSetup::warmup`].
    pub warmup: Ps,
    /// Tables and series that are asked for: see [`FlowSetup::measure`].
    pub measure: Measure,
    /// Messages are checked, see [`FlowSetup::check`].
    pub check: bool,
}

impl Context {
    /// What so many bytes take at least from a terminal to any, itself included: no message is faster than its terminal's link. A platform's may be of any speed.
    #[must_use]
    pub fn least_time(&self, bytes: u64) -> Ps {
        let link = self.links.first().filter(|_| self.platform().is_none());
        let Some(link) = link else { return 0 };
        let rate = link.bandwidth.bytes_per_s() * self.config.rules.factors(bytes).0.max(1.0);
        debug_assert!(rate > 0.0, "a link of a fabric has a bandwidth");
        // Rates are rounded, and so is the time of arrival.
        (bytes as f64 / rate * 0.999_999e12) as Ps
    }

    /// The platform, if the network is one.
    #[must_use]
    pub fn platform(&self) -> Option<&Platform> {
        self.fabric.shape::<Platform>()
    }
}

/// Resolves what does not change.
///
/// # Errors
/// [`Failure::Setup`] with the reason for what cannot be run.
pub fn context(setup: &FlowSetup) -> Result<Context, Failure> {
    let (Until::Time(end) | Until::WorkloadDone { limit: end }) = setup.until;
    let refuse = |text: String| Err(Failure::Setup(text));
    if end >= 1 << 59 {
        return refuse("virtual time ends at 2^59 ps, about 6.7 days".into());
    }
    if let (Until::Time(end), window @ 1..) = (setup.until, setup.measure.window)
        && end / window > MAX_WINDOWS
    {
        return refuse(format!("the series would have {} windows; a million is the most", end / window));
    }
    let platform = setup.fabric.shape::<Platform>();
    if platform.is_none() && setup.routing.is_none() {
        return refuse("model \"flow\" needs a [routing] on this topology".into());
    }
    if platform.is_none() && setup.links.len() < setup.fabric.classes().len() {
        return refuse("model \"flow\" needs the parameters of all link classes".into());
    }
    if let (Some(_), Some(_)) = (platform, &setup.change) {
        return refuse("a platform says itself how bandwidths change: it takes no [faults]".into());
    }
    Roster::check(&setup.jobs).map_err(Failure::Setup)?;
    let left = setup.change.as_ref().map_or(&setup.fabric, |change| &change.fabric);
    let mut rank = Column::filled(setup.fabric.terminals() as usize, (u32::MAX, RankId::new(u32::MAX)));
    for (n, job) in setup.jobs.iter().enumerate() {
        for (r, &terminal) in job.placement.iter().enumerate() {
            if left.is_cut_off(terminal) {
                let name = &job.name;
                return refuse(format!("failures cut terminal {terminal} off, which job {name} uses"));
            }
            if rank[terminal].0 == u32::MAX {
                rank[terminal] = (n as u32, RankId::from_index(r));
            }
        }
    }
    let FlowConfig { eager, control, overhead, direct, .. } = setup.config;
    let rules = Rules { eager, control, overhead, meets: setup.measure.operations, direct };
    Ok(Context {
        roster: Arc::new(Roster::new(&setup.jobs, rules, setup.node)),
        fabric: Arc::clone(&setup.fabric),
        routing: setup.routing.clone(),
        change: setup.change.clone(),
        links: setup.links.clone(),
        jobs: setup.jobs.clone(),
        config: setup.config.clone(),
        rank,
        seed: setup.seed,
        end,
        open: matches!(setup.until, Until::Time(_)),
        warmup: setup.warmup,
        measure: setup.measure,
        check: setup.check,
    })
}
