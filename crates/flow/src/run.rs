//! Runs a setup of the flow model from start to results.

use super::{
    config::FlowConfig,
    finish::{self, Ended},
    machine::Machine,
    observe::Observer,
};
use base::{hash::mix64, time::Ps};
use engine::{
    director::Pauses,
    executor::{Executor, Options, Stop},
};
use fabric::{graph::Fabric, platform::Platform, routing::Routing};
use model::{
    failure::Failure,
    performance::{Clock, Done},
    run::{Finished, Progress},
    setup::{Change, JobSetup, LinkParams, Measure, Scheduling, Until},
};
use ranks::{
    hosted::Hosted,
    programs::Programs,
    roster::{Begun, Place, Roster, Rules},
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
    /// The jobs.
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
    /// What parts of the network take, if that is asked; not of a platform.
    pub energy: Option<model::energy::Energy>,
}

/// What does not change during a run.
pub struct Context {
    /// See [`FlowSetup::fabric`].
    pub fabric: Arc<Fabric>,
    /// See [`FlowSetup::routing`].
    pub routing: Option<Arc<dyn Routing>>,
    /// See [`FlowSetup::change`].
    pub change: Option<Change>,
    /// See [`FlowSetup::links`].
    pub links: Vec<LinkParams>,
    /// See [`FlowSetup::jobs`].
    pub jobs: Vec<JobSetup>,
    /// See [`FlowSetup::config`].
    pub config: FlowConfig,
    /// Job and rank of each terminal; [`u32::MAX`] for none.
    pub rank: Vec<(u32, u32)>,
    /// The ranks of programs.
    pub roster: Arc<Roster>,
    /// See [`FlowSetup::seed`].
    pub seed: u64,
    /// Nothing happens at or after this time.
    pub end: Ps,
    /// See [`FlowSetup::warmup`].
    pub warmup: Ps,
    /// See [`FlowSetup::measure`].
    pub measure: Measure,
}

impl Context {
    /// The platform, if the network is one.
    #[must_use]
    pub fn platform(&self) -> Option<&Platform> {
        self.fabric.shape::<Platform>()
    }
}

/// Events between two calls of the progress function.
const BUDGET: u64 = 1 << 16;

/// Most windows of a series.
const MAX_WINDOWS: u64 = 1_000_000;

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
        return refuse("a platform tells itself how bandwidths change: it takes no [faults]".into());
    }
    let left = setup.change.as_ref().map_or(&setup.fabric, |change| &change.fabric);
    let mut rank = vec![(u32::MAX, u32::MAX); setup.fabric.terminals() as usize];
    for (n, job) in setup.jobs.iter().enumerate() {
        for (r, &terminal) in job.placement.iter().enumerate() {
            if left.is_cut_off(terminal) {
                let name = &job.name;
                return refuse(format!("failures cut terminal {terminal} off, which job {name} uses"));
            }
            rank[terminal as usize] = (n as u32, r as u32);
        }
    }
    let FlowConfig { eager, control, overhead, .. } = setup.config;
    let rules = Rules { eager, control, overhead, calc: Begun::InHand };
    Ok(Context {
        roster: Arc::new(Roster::new(&setup.jobs, rules)),
        fabric: Arc::clone(&setup.fabric),
        routing: setup.routing.clone(),
        change: setup.change.clone(),
        links: setup.links.clone(),
        jobs: setup.jobs.clone(),
        config: setup.config.clone(),
        rank,
        seed: setup.seed,
        end,
        warmup: setup.warmup,
        measure: setup.measure,
    })
}

/// Simulates. `progress` is called from time to time; it stops the run by returning false.
///
/// # Errors
/// A setup that cannot be simulated, a message without a way, a program that turns out to be damaged, or a stop by `progress`.
pub fn simulate(setup: &FlowSetup, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
    let clock = Clock::start(Scheduling::Sequential { partitions: 1 });
    let cx = Arc::new(context(setup)?);
    let part = (domain(&cx), Observer::new(Arc::clone(&cx)));
    let options = Options { tie_seed: mix64(setup.seed ^ 0x7469_6573), wheel_shift: wheel_shift(&cx) };
    let mut executor = Executor::new([part], options);
    let stop = executor.direct(cx.end, &mut (), Pauses::after(BUDGET), |e, ()| {
        let sound = e.partitions[0].domain.host.damage().is_none();
        sound
            && progress(Progress {
                now: e.now(),
                end: cx.end,
                events: e.events(),
                chunk_hops: 0,
                partitions: 1,
            })
    });
    let damaged = executor.partitions[0].domain.host.damage().is_some();
    if stop == Stop::Budget && !damaged {
        return Err(Failure::Stopped(executor.now()));
    }
    let performance = clock.stop(Done {
        events: executor.events(),
        chunk_hops: None,
        partitions: executor.partitions.len() as u32,
        threads: executor.threads(),
        windows: Some(executor.windows()),
    });
    let part = executor.partitions.pop().expect("there is one partition");
    let Hosted { carrier: machine, host } = part.domain;
    if let Some(lost) = machine.lost {
        return Err(Failure::Setup(no_way(&cx, lost.source, lost.destination)));
    }
    if let Some((Place { job, rank, .. }, message)) = host.damage() {
        let name = &cx.jobs[job as usize].name;
        return Err(Failure::Setup(format!("job `{name}`, rank {rank}: {message}")));
    }
    let dry = stop == Stop::Dry && !machine.cut;
    let ended = Ended { machine, host, observer: part.observer, dry };
    let (mut summary, tables) = finish::finish(setup, &cx, ended);
    summary.performance = Some(performance);
    Ok(Finished { summary, tables })
}

/// The network before anything has happened, with the ranks of programs that live on it.
#[must_use]
pub fn domain(cx: &Arc<Context>) -> Hosted<Machine, Programs> {
    let place = |(&(job, rank), terminal)| Place { job, rank, terminal };
    let host = Programs::new(Arc::clone(&cx.roster), cx.rank.iter().zip(0u32..).map(place));
    Hosted { carrier: Machine::new(Arc::clone(cx)), host }
}

fn no_way(cx: &Context, source: u32, destination: u32) -> String {
    match cx.platform() {
        Some(platform) => {
            let (a, b) = (platform.host(source), platform.host(destination));
            let cross = if cx.config.rules.cross > 0.0 {
                " (acknowledgements need the way back: see `cross_traffic`)"
            } else {
                ""
            };
            format!("the platform has no route from `{a}` to `{b}`{cross}")
        }
        None => format!("the routing finds no way from terminal {source} to terminal {destination}"),
    }
}

/// Wheel slots of about a latency over the number of terminals.
fn wheel_shift(cx: &Context) -> u32 {
    let latency = cx.links.iter().map(|l| l.latency).min().unwrap_or(1_000_000);
    (latency / u64::from(cx.fabric.terminals().max(1))).max(1).ilog2().clamp(7, 20)
}
