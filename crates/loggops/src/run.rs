//! Runs a setup of the delay model from start to results.

use super::{
    alone::{self, damaged},
    claims, compact,
    config::{Cost, DelayConfig, LONGEST, Ties},
    distance::{Delays, Linear},
    domain::{Context, DelayDomain, Place},
    engineless::Engineless,
    finish::{self, DelayFinished, Ended},
    nodes::Nodes,
    observe::{Measure, Observer},
    resilient::ResilientDelays,
    setup::{DelayJob, DelaySetup},
    stuck,
};
use base::{
    hash::mix64,
    index::{RankId, TerminalId},
    time::NEVER,
};
use engine::checkpoint::{state_of, take_up};
use engine::{
    agenda::Due,
    director::Pauses,
    executor::{Executor, Options, Stop},
};
use fabric::metrics::Hops;
use model::{
    failure::Failure,
    performance::{Clock, Done},
    run::{Progress, Watch},
    setup::{JobSetup, Scheduling},
};
use ranks::{memory::Kept, roster::GlobalRank};
use std::sync::Arc;
use workload::program::Program;

/// Events between two calls of the progress function; an event may be the steps of many ranks.
const BUDGET: u64 = 1 << 10;

/// Simulates. `progress` is called every thousand events or so; it stops the run by returning false.
///
/// # Errors
/// A setup that cannot be simulated, a program that turns out to be damaged, or a stop by `progress`.
pub fn simulate(
    setup: &DelaySetup,
    progress: &mut dyn FnMut(Progress) -> bool,
) -> Result<DelayFinished, Failure> {
    watch(setup, Watch::new(&mut |at, _| progress(at)))
}

/// Simulates; whoever watches is asked at every pause, and may save or stop the run.
///
/// # Errors
/// As [`simulate`], or a damaged state.
pub fn watch(setup: &DelaySetup, watch: Watch<'_>) -> Result<DelayFinished, Failure> {
    let clock = Clock::start(setup.scheduling);
    let cx = Arc::new(context(setup)?);
    if cx.all_run_ahead() {
        let run = Engineless::new(Arc::clone(&cx), whole(setup, &cx));
        return alone::run(setup, &cx, run, &clock, watch);
    }
    if let Some(tables) = compact::fits(&cx) {
        return compact::run(setup, &cx, tables, whole(setup, &cx), &clock, watch);
    }
    let parts = (0..cx.partitions()).map(|part| {
        let ranks = cx.bounds[part as usize]..cx.bounds[part as usize + 1];
        (
            DelayDomain::new(Arc::clone(&cx), part),
            Observer::new(Arc::clone(&cx), ranks, setup.measure, setup.check),
        )
    });
    let options = Options { tie_seed: mix64(setup.seed ^ 0x7469_6573), wheel_shift: cx.slot_shift };
    let threads = setup.scheduling.threads();
    let mut executor = match setup.scheduling.optimism() {
        Some(optimism) => Executor::optimistic(parts, options, threads, optimism),
        None => Executor::with_threads(parts, options, threads),
    };
    let damage = |e: &Executor<DelayDomain, Observer>| {
        e.partitions.iter().find_map(|p| {
            let (rank, message) = p.domain.window().damage()?;
            Some((p.domain.rank(rank), message.to_owned()))
        })
    };
    if let Some(state) = watch.resume {
        take_up(state, &mut executor, &mut ()).map_err(|_| Failure::Damaged)?;
    }
    // A pause takes back what is not certain: it must be rare beside the rounds.
    let budget = setup.scheduling.optimism().map_or(BUDGET, |o| BUDGET.max(16 * o.batch as u64));
    let pauses = Pauses { budget: budget * u64::from(executor.threads()), every: watch.every };
    let lookahead = executor.lookahead();
    let stop = executor.run_directed(setup.limit, &mut (), pauses, |e, ()| {
        let partitions = e.partitions.len() as u32;
        let (windows, rehearsal) = (e.windows(), e.rehearsal());
        let (now, end, events) = (e.now(), setup.limit, e.events());
        let at =
            Progress { now, end, events, partitions, windows, lookahead, rehearsal, ..Progress::default() };
        damage(e).is_none() && (watch.pause)(at, &mut || state_of(e, &()))
    });
    if let Some((rank, message)) = damage(&executor) {
        return Err(damaged(setup, *cx.place(rank), &message));
    }
    if stop == Stop::Budget {
        return Err(Failure::Stopped(executor.now()));
    }
    let performance = clock.stop(Done {
        events: executor.events(),
        chunk_hops: None,
        partitions: executor.partitions.len() as u32,
        threads: executor.threads_used(),
        windows: Some(executor.windows()),
        speculation: executor.speculation(),
    });
    let dry = stop == Stop::Dry && executor.partitions.iter().all(|p| !p.domain.was_cut());
    let (mut machines, mut beyond, mut observer) = (Vec::new(), Vec::new(), None::<Observer>);
    for part in executor.partitions {
        if setup.check {
            // Messages from another partition that arrive beyond the end, so that nobody has taken them in.
            beyond.extend(part.agenda.pending().into_iter().filter_map(|(_, _, due)| match due {
                Due::Message(message) => Some(message),
                Due::Wake(_) => None,
            }));
        }
        machines.push(part.domain);
        match &mut observer {
            None => observer = Some(part.observer),
            Some(o) => o.merge(part.observer),
        }
    }
    let observer = observer.expect("there is at least one partition");
    let operations = observer.operations();
    let refs: Vec<&DelayDomain> = machines.iter().collect();
    let stuck = stuck::of(&refs);
    let makespans = refs.iter().flat_map(|m| (0..m.count()).map(|h| m.makespan(h))).collect();
    finish::check(&observer, || claims::of(&refs, &beyond, dry))?;
    let ended = Ended { stuck, makespans, observer, dry };
    let (mut summary, tables, stuck) = finish::finish(setup, &cx, ended);
    summary.performance = Some(performance);
    Ok(DelayFinished { summary, tables, stuck, operations })
}

/// What measures all ranks together.
fn whole(setup: &DelaySetup, cx: &Arc<Context>) -> Observer {
    let ranks = GlobalRank::new(0)..GlobalRank::from_index(cx.places.len());
    Observer::new(Arc::clone(cx), ranks, setup.measure, setup.check)
}

/// How ranks keep their operations, for a prediction of memory: those that all run ahead in one partition keep a batch each, graphs in one partition are
/// walked where they lie.
#[must_use]
pub fn kept(setup: &DelaySetup) -> Kept {
    let alone = |p: &Arc<dyn Program>| p.chained() && p.cpus() <= 1 && p.nics() <= 1;
    let free = setup.node.is_none()
        && setup.config.cost == Cost::Pure
        && setup.jobs.iter().all(|j| alone(&j.program));
    let graph = |p: &Arc<dyn Program>| p.slices().is_some() && p.cpus() <= 1 && p.nics() <= 1;
    let walked = setup.node.is_none()
        && setup.derived.is_none()
        && setup.config.resilient.is_none()
        && setup.config.cost == Cost::LogGops
        && setup.jobs.iter().all(|j| graph(&j.program));
    let one = setup.scheduling.partitions() == 1;
    match setup.config.ties {
        _ if free && one => Kept::Batch,
        ties if walked && (one || ties == Ties::Queue) => Kept::Graph,
        _ => Kept::Rows,
    }
}

/// Resolves what does not change during the run.
///
/// # Errors
/// [`Failure::Setup`] with the reason.
pub fn context(setup: &DelaySetup) -> Result<Context, Failure> {
    let refuse = |text: String| Err(Failure::Setup(text));
    if setup.jobs.is_empty() {
        return refuse("there is no job".into());
    }
    if (1 << 59..NEVER).contains(&setup.limit) {
        return refuse("virtual time ends at 2^59 ps, about 6.7 days".into());
    }
    let config = setup.config.clone();
    let delays = delays(setup)?;
    let (places, bases) = places(setup)?;
    let jobs = || setup.jobs.iter().map(|j| &j.program);
    let cpus = u32::from(jobs().map(|p| p.cpus()).max().unwrap_or(1).max(1));
    let nics = u32::from(jobs().map(|p| p.nics()).max().unwrap_or(1).max(1));
    let rendezvous =
        jobs().any(|p| p.largest_message().is_none_or(|l| l > config.eager)) && config.eager < u64::MAX;
    let at: Vec<(u32, TerminalId)> = places.iter().map(|p| (p.job, p.terminal)).collect();
    let nodes = setup.node.map(|node| Nodes::of(node, &at, cpus)).transpose().map_err(Failure::Setup)?;
    let queued = rendezvous || cpus > 1 || config.ties == Ties::Queue;
    let by_size = setup.derived.as_ref().is_some_and(|d| d.by_size());
    let keeps_own = nodes.is_some() || (by_size && config.cost == Cost::LogGops);
    // Ranks of a node act on each other at once.
    let shared = keeps_own && setup.jobs.iter().any(DelayJob::shares);
    let coupled = nodes.is_some() || shared || (config.cost == Cost::LogGops && queued);
    let hosts = places.len() as u32;
    // Messages of different sizes overtake each other, and ranks that run ahead match them as they are sent: in one partition alone.
    let parts = if coupled || config.resilient.is_some() {
        1
    } else {
        setup.scheduling.partitions().min(hosts.max(1))
    };
    let bound = |p: u32| GlobalRank::new((u64::from(hosts) * u64::from(p) / u64::from(parts)) as u32);
    let bounds = (0..=parts).map(bound).collect();
    let free = config.cost == Cost::Pure && cpus == 1 && nics == 1 && nodes.is_none();
    let chained: Vec<bool> = jobs().map(|p| free && p.chained()).collect();
    let runs_ahead = places.iter().map(|p| chained[p.job as usize]).collect();
    // Larger messages are longer under way, or ask first.
    let slow = config.cost == Cost::Pure && config.byte_time > 0;
    let overtaking = slow || nodes.is_some() || by_size;
    let mut cx = Context {
        delays,
        programs: jobs().map(Arc::clone).collect(),
        starts: setup.jobs.iter().map(|j| j.start).collect(),
        compute_ppb: setup.jobs.iter().map(|j| j.compute_ppb).collect(),
        bases,
        keeps_own,
        describes_nodes: nodes.is_some() || setup.jobs.iter().any(DelayJob::shares),
        nodes,
        places,
        bounds,
        cpus,
        nics,
        ordered: jobs().map(|p| p.cpus() > 1 && !p.starts_in_past()).collect(),
        coupled,
        receipts: setup.measure.messages || setup.measure.operations || setup.check,
        holds: setup.measure.messages && (slow || config.resilient.is_some()),
        overtaking,
        landing: setup.derived.is_some() && config.cost == Cost::LogGops,
        filed: parts == 1,
        runs_ahead,
        slot_shift: 7,
        // Beyond, sums of times could overflow.
        end: setup.limit.min(LONGEST),
        energy: setup.energy.is_some(),
        config,
    };
    if cx.lookahead() == 0 {
        return refuse("a message must take time: `latency` or `overhead` must be at least 1 ps".into());
    }
    cx.slot_shift = slot_shift(&cx);
    Ok(cx)
}

/// All hosts, and the first of each job.
fn places(setup: &DelaySetup) -> Result<(Vec<Place>, Vec<GlobalRank>), Failure> {
    let refuse = |text: String| Err(Failure::Setup(text));
    let (mut places, mut bases) = (Vec::new(), vec![GlobalRank::new(0)]);
    for (n, job) in setup.jobs.iter().enumerate() {
        let ranks = job.program.ranks();
        if setup.fabric.is_some() && job.placement.len() != ranks as usize {
            return refuse(format!(
                "job `{}` has {ranks} ranks and {} places",
                job.name,
                job.placement.len()
            ));
        }
        let base = places.len() as u32;
        let place = |rank| Place {
            job: n as u32,
            rank: RankId::new(rank),
            terminal: job.placement.get(rank as usize).copied().unwrap_or(TerminalId::new(base + rank)),
        };
        places.extend((0..ranks).map(place));
        bases.push(GlobalRank::from_index(places.len()));
    }
    if let Some(fabric) = &setup.fabric
        && places.iter().any(|p| p.terminal.number() >= fabric.nodes())
    {
        return refuse("a rank is placed on a terminal that the network does not have".into());
    }
    Ok((places, bases))
}

/// How long messages are under way; the jobs are left alone.
///
/// # Errors
/// [`Failure::Setup`] if distances are asked for and there is no topology, or one too large.
pub fn delays(setup: &DelaySetup) -> Result<Box<dyn Delays>, Failure> {
    let refuse = |text: &str| Err(Failure::Setup(text.into()));
    if let Some(derived) = &setup.derived {
        return Ok(Box::new(Arc::clone(&derived.delays)));
    }
    let config = &setup.config;
    let hops = match &setup.fabric {
        Some(fabric) if config.hop_latency > 0 || config.resilient.is_some() => {
            Hops::of(fabric).map_err(Failure::Setup)?
        }
        Some(_) => Hops::Flat,
        None if config.resilient.is_some() => return refuse("`cost = \"resilient\"` needs a topology"),
        None if config.hop_latency > 0 => return refuse("`hop_latency` needs a topology"),
        None => Hops::Flat,
    };
    match &config.resilient {
        Some(resilient) => Ok(Box::new(
            ResilientDelays::new(resilient, hops, setup.fabric.as_deref()).map_err(Failure::Setup)?,
        )),
        None => Ok(Box::new(Linear::new(config, hops))),
    }
}

/// In the calendar a slot of uncoupled hosts is as long as may be. Else the slots hold several times of a message, so that what follows from an
/// event is mostly in reach.
fn slot_shift(cx: &Context) -> u32 {
    let lookahead = cx.lookahead();
    match (cx.filed, cx.coupled) {
        (true, false) => lookahead.ilog2(),
        (true, true) => (lookahead / 32).max(1).ilog2().clamp(7, 24),
        _ => (lookahead / 512).max(1).ilog2().clamp(7, 20),
    }
}

/// A setup without limit or fabric, one partition: for tests and programs that vary a little.
#[must_use]
pub fn plain(program: Arc<dyn Program>, config: DelayConfig) -> DelaySetup {
    let job = DelayJob {
        name: "job".to_owned(),
        program,
        start: 0,
        placement: Vec::new(),
        compute_ppb: JobSetup::COMPUTE_AS_IS,
    };
    DelaySetup {
        jobs: vec![job],
        config,
        fabric: None,
        derived: None,
        seed: 1,
        scheduling: Scheduling::Sequential { partitions: 1 },
        limit: NEVER,
        timed: false,
        measure: Measure::default(),
        check: false,
        energy: None,
        node: None,
    }
}
