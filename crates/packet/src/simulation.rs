//! Runs a setup from start to results.

use crate::{
    adapter::config::{CONTROL, TRANSPORT},
    alone,
    close::{self, Asked, Ending, Part},
    counters::Counters,
    event, finish, host,
    hybrid::conductor::Conductor,
    loads::Loads,
    multicast::limits,
    net::Router,
    network::{Network, is_plain},
    observe::Observer,
    one_way,
    partitions::partitions,
    rows::Chunk,
    sample::Sampler,
    setup::Setup,
    state::Inhabited,
    transport::{MOST_TIMERS, config::Resilience},
};
use base::{
    hash::mix64,
    index::RouterId,
    param::Values,
    time::{NEVER, Ps},
    units::print_time,
    world::World,
};
use engine::{
    checkpoint::{state_of, take_up},
    director::Pauses,
    executor::{Executor, Options, Stop},
    kept::{put, take},
    over::Over,
    state::mode::Mode,
    warp::quietly,
};
use fabric::topology::Sizes;
use model::{
    Finished, Progress, Watch,
    failure::Failure,
    performance::{Clock, Done},
    setup::{MAX_WINDOWS, Measure, Until},
};
use ranks::roster::Roster;
use results::summary::Summary;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};
use workload::work::Work;

/// Most packets of a message: each has a number in 32 bits, of which transport uses two.
const MAX_PACKETS: u64 = 1 << 30;

/// Events between two calls of the progress function.
const BUDGET: u64 = 1 << 18;

/// Simulates with routers of one architecture, in one mode: results do not say which.
pub(crate) fn watch<R: Router>(setup: &Setup, watch: Watch<'_>) -> Result<Finished, Failure> {
    assert!(R::Mode::FEATURES || is_plain(setup), "the setup asks for what plain runs lack");
    let partitions = partitions(setup, setup.scheduling);
    let clock = Clock::start(setup.scheduling);
    let net = Arc::new(Network::new(setup, partitions).measured(setup));
    R::refuse(setup)?;
    if setup.control.is_some() && !R::QUEUES {
        let name = setup.packet.router.name;
        return Err(Failure::Setup(format!(
            "router \"{name}\" does not say what waits for its outputs: no congestion control"
        )));
    }
    let no_copies = R::no_copies(&setup.packet, limits::smallest_buffer(&setup.links));
    if let Some(why) = limits::refusal(setup, no_copies) {
        return Err(Failure::Setup(why));
    }
    refuse(setup, &net)?;
    let world = watch.world;
    if partitions < world.ranks() {
        return Err(too_many_ranks(&world, partitions));
    }
    let over = Over { world: world.clone(), partitions };
    let (end, until_done) = match setup.until {
        Until::Time(end) => (end, false),
        Until::WorkloadDone { limit } => (limit, true),
    };
    let measure = Measure { slow_down: alone::is_measured(setup), ..setup.measure };
    let ordered = setup.check && one_way::keeps_order(setup);
    let part = |p| {
        let observer = Observer::new(Arc::clone(&net), setup.warmup, end, measure, setup.check);
        let observer = observer.in_turn(ordered);
        (host::inhabited::<R>(&net, p), observer)
    };
    let options =
        Options { tie_seed: mix64(setup.seed ^ 0x7469_6573) ^ setup.ties, wheel_shift: wheel_shift(&net) };
    let threads = setup.scheduling.threads();
    let parts = over.mine().map(part);
    // A constant decides, so that each mode has the code of one scheduler. Journals are there to run ahead.
    let mut executor = if R::Mode::JOURNALS {
        let optimism = setup.scheduling.optimism().unwrap_or_default();
        Executor::optimistic_over(over, parts, options, threads, optimism)
    } else {
        assert!(setup.scheduling.optimism().is_none(), "only tables with journals can be taken back");
        Executor::over(over, parts, options, threads)
    };
    let period = if setup.measure.window > 0 { setup.measure.window } else { end.div_ceil(64) };
    let loads = setup.measure.loads.then(|| Loads::new(u64::from(net.fabric.links()))).flatten();
    let sampler =
        Sampler::new(period, end, net.steady_from(setup.warmup, end), setup.measure.per_port, until_done)
            .with_loads(loads);
    let mut director = Conductor::new(sampler, setup.hybrid.as_ref(), &net, end)?;
    director.counters = setup.measure.engine.then(Counters::default);
    if let Some(state) = watch.resume {
        let taken = take_up(state, &mut executor, &mut director);
        // A list that no run leaves may be a ring: it is found here, and keeps no handler busy. All ranks hear of it.
        let ends = || executor.partitions.iter().for_each(close::walk);
        let damaged = taken.is_err() || quietly(|| catch_unwind(AssertUnwindSafe(ends))).is_err();
        if world.most(damaged.into()) > 0 {
            return Err(Failure::Damaged);
        }
        director.attach(executor.now(), executor.partitions.iter_mut().map(|p| &mut p.domain.carrier));
    }
    let groups = u64::from(executor.threads()) * u64::from(world.ranks());
    let pauses = Pauses { budget: BUDGET * groups, every: watch.every };
    let lookahead = executor.lookahead();
    let stop = executor.run_directed(end, &mut director, pauses, |e, d| {
        let [events, chunk_hops] = world.sums([e.events(), chunk_hops(e)]);
        let (windows, rehearsal) = (e.windows(), e.rehearsal());
        let at =
            Progress { now: e.now(), end, events, chunk_hops, partitions, windows, lookahead, rehearsal };
        (watch.pause)(at, &mut || state_of(e, d))
    });
    if stop == Stop::Budget {
        return Err(Failure::Stopped(executor.now()));
    }
    let done = Done {
        events: executor.events(),
        chunk_hops: Some(chunk_hops(&executor)),
        partitions: executor.partitions.len() as u32,
        threads: executor.threads_used(),
        windows: Some(executor.windows()),
        speculation: executor.speculation(),
    };
    let performance = clock.stop_over(done, &world);
    let counters = director.counters.take().map(|counters| counters.of_all(&world)).transpose()?;
    let (whole, ending) = merged(executor, stop, end, director.sampler.stuck, setup.check);
    let conclude = |whole: Part, ending: Ending| {
        let ended = whole.decide(setup, &net, director, ending)?;
        let (mut summary, tables) = finish::finish(setup, &net, ended)?;
        summary.performance = Some(performance);
        Ok(Finished { summary, tables: tables.into_iter().chain(counters).collect() })
    };
    of_first(&world, whole, ending, Box::new(conclude))
}

/// Chunks times routers visited, in the partitions of this process.
fn chunk_hops<R: Router>(executor: &Executor<Inhabited<R>, Observer>) -> u64 {
    executor.partitions.iter().map(|p| p.observer.sums.chunk_hops).sum()
}

fn too_many_ranks(world: &World, partitions: u32) -> Failure {
    let ranks = world.ranks();
    Failure::Setup(format!(
        "{ranks} ranks were started, and the run has {partitions} partition(s), of which no two ranks share one: start fewer ranks, or \
         raise `partitions` of [engine] if the network has as many routers"
    ))
}

/// What the partitions of this process, which are settled, leave together.
fn merged<R: Router>(
    executor: Executor<Inhabited<R>, Observer>,
    stop: Stop,
    end: Ps,
    stuck: bool,
    books: bool,
) -> (Part, Ending) {
    let now = executor.now();
    let waits = end < NEVER || stop == Stop::Dry || stuck;
    let asked = Asked { now, books, waits };
    let mut parts = executor.partitions.into_iter().map(|p| Part::of(p, asked));
    let mut whole = parts.next().expect("there is at least one partition");
    parts.for_each(|part| whole.merge(part));
    (whole, Ending { now, stop, end })
}

/// Has the first rank conclude from what all ranks leave; the others get its summary, without tables.
fn of_first(
    world: &World,
    mut whole: Part,
    ending: Ending,
    conclude: Box<dyn FnOnce(Part, Ending) -> Result<Finished, Failure> + '_>,
) -> Result<Finished, Failure> {
    if world.is_alone() {
        return conclude(whole, ending);
    }
    let mut bytes = Vec::new();
    put(&whole, &mut bytes);
    let mut finished = None;
    for part in world.gather(bytes).iter().skip(1) {
        whole.merge(take(&mut part.as_slice()).map_err(|_| Failure::Damaged)?);
    }
    // A summary leaves out what does not apply, which only a text with names can.
    let mut known = Vec::new();
    if world.is_first() {
        let concluded = conclude(whole, ending);
        put(&concluded.as_ref().map(|f| f.summary.to_json()).map_err(Failure::clone), &mut known);
        finished = Some(concluded);
    }
    let known = world.from_first(known);
    if let Some(finished) = finished {
        return finished;
    }
    let summary: Result<String, Failure> = take(&mut known.as_slice()).map_err(|_| Failure::Damaged)?;
    let summary = Summary::from_json(&summary?).map_err(|_| Failure::Damaged)?;
    Ok(Finished { summary, tables: Vec::new() })
}

/// Why a router with so many ports is none of this model.
fn too_wide(ports: u64, vcs: u64) -> Option<String> {
    let most = Chunk::MAX_ORIGINS;
    (ports.saturating_mul(vcs) > most.into()).then(|| {
        format!("a router has {ports} ports with {vcs} virtual channels each; the model takes {most} in all")
    })
}

/// Why no network of these sizes can be simulated: the widest router has as many ports as all have in the mean, or more.
pub(crate) fn unfit(values: &Values, sizes: &Sizes) -> Option<String> {
    too_wide(sizes.ports.div_ceil(sizes.routers.max(1)), values.int("vcs"))
}

/// What the rules of the model exclude, whatever the routers.
///
/// # Errors
/// [`Failure::Setup`] with the reason.
pub(crate) fn refuse(setup: &Setup, net: &Arc<Network>) -> Result<(), Failure> {
    let terminals = u64::from(setup.fabric.terminals());
    event::refuse(u64::from(net.fabric.links()), terminals, setup.resilience.is_some())?;
    let (Until::Time(end) | Until::WorkloadDone { limit: end }) = setup.until;
    if end >= 1 << 59 {
        return Err(Failure::Setup("virtual time ends at 2^59 ps, about 6.7 days".into()));
    }
    if let (Until::Time(end), window @ 1..) = (setup.until, setup.measure.window)
        && end / window > MAX_WINDOWS
    {
        return Err(Failure::Setup(format!(
            "the series would have {} windows; a window of {} or more keeps it below a million",
            end / window,
            base::units::print_time(end.div_ceil(MAX_WINDOWS))
        )));
    }
    if let Some(hybrid) = &setup.hybrid {
        if hybrid.window == 0 {
            return Err(Failure::Setup("[hybrid]: predictors learn nothing in a `window` of 0 s".into()));
        }
        if setup.change.is_some() {
            let why = "a hybrid run knows no links that fail while it is under way: predictors know only what they saw";
            return Err(Failure::Setup(why.into()));
        }
        if net.hybrid.is_none() {
            return Err(Failure::Setup("the network has too many routers for a table of distances".into()));
        }
        let sampler = Sampler::new(0, end, 0, false, false);
        Conductor::new(sampler, Some(hybrid), net, end)?;
    }
    if let Some(resilience) = &setup.resilience {
        refuse_resilience(setup, net, resilience)?;
    }
    if setup.services.is_some() && (setup.packet.pipeline.is_none() || setup.hybrid.is_some()) {
        let why = "service classes need a router whose insides are given, and no hybrid run";
        return Err(Failure::Setup(why.into()));
    }
    if let Some(adapter) = &setup.adapter {
        if setup.resilience.is_some() {
            return Err(Failure::Setup(TRANSPORT.into()));
        }
        if setup.hybrid.is_some() {
            let why = "what a predictor delivers meets no adapter: no [adapter] in hybrid runs";
            return Err(Failure::Setup(why.into()));
        }
        if adapter.injection.is_some() && setup.control.is_some() {
            return Err(Failure::Setup(CONTROL.into()));
        }
    }
    if setup.control.is_some() {
        let why = "congestion control does not go together with links that lose packets or with a hybrid run";
        if setup.resilience.is_some() || setup.hybrid.is_some() {
            return Err(Failure::Setup(why.into()));
        }
    }
    for timing in &net.timings {
        if timing.shortest == 0 {
            return Err(Failure::Setup("the shortest chunk takes less than a picosecond on a link: use larger chunks or slower links".into()));
        }
        if timing.credit_delay < 2 || timing.shortest + timing.delay < 3 {
            return Err(Failure::Setup(
                "a link's credit delay must be at least 2 ps, and a hop must take 3 ps or more".into(),
            ));
        }
        if timing.capacity == 0 {
            return Err(Failure::Setup("a virtual channel's buffer does not hold one chunk".into()));
        }
    }
    let widest = RouterId::first(setup.fabric.routers())
        .map(|r| setup.fabric.ports_of(r).len() as u32)
        .max()
        .unwrap_or(0);
    if let Some(why) = too_wide(widest.into(), setup.packet.vcs.into()) {
        return Err(Failure::Setup(why));
    }
    if setup.packet.vcs < setup.vcs_needed() {
        return Err(Failure::Setup(format!("the routing needs {} virtual channels", setup.vcs_needed())));
    }
    Roster::check(&setup.jobs).map_err(Failure::Setup)?;
    let left = setup.change.as_ref().map_or(&setup.fabric, |change| &change.fabric);
    let usable = left.usable_nodes();
    for job in &setup.jobs {
        let largest = match &job.work {
            Work::Traffic(traffic) => traffic.largest().or(job.message),
            Work::Program(program) => program.largest_message(),
        };
        let most = MAX_PACKETS * u64::from(setup.packet.packet);
        if let Some(bytes) = largest.filter(|&bytes| bytes > most) {
            let why = "a message has 2^30 packets at most";
            return Err(Failure::Setup(format!("job {} sends {bytes} B at once: {why}, {most} B", job.name)));
        }
        if let Some(node) = job.placement.iter().find(|n| usable.binary_search(n).is_err()) {
            return Err(Failure::Setup(format!(
                "failures cut terminal {node} off, which job {} uses",
                job.name
            )));
        }
    }
    Ok(())
}

fn refuse_resilience(setup: &Setup, net: &Network, resilience: &Resilience) -> Result<(), Failure> {
    if setup.hybrid.is_some() {
        return Err(Failure::Setup(
            "a hybrid run knows no links that lose packets: predictors know only what arrived".into(),
        ));
    }
    if setup.change.is_some() {
        let why = "links that fail while the run is under way and links that lose packets do not go together: chunks of one packet \
                   would take two paths";
        return Err(Failure::Setup(why.into()));
    }
    let timers =
        u64::from(net.fabric.terminals()) * u64::from(resilience.messages) * u64::from(resilience.window);
    if timers >= MOST_TIMERS {
        return Err(Failure::Setup(format!(
            "terminals x `messages` x `window` are {timers} timers; fewer than {MOST_TIMERS} can run"
        )));
    }
    let own = &net.timings[usize::from(net.injection())];
    let shortest = own.chunk.whole + own.delay + 2;
    if resilience.timeout <= shortest {
        let (given, least) = (print_time(resilience.timeout), print_time(shortest));
        return Err(Failure::Setup(format!(
            "a `timeout` of {given} ends before a chunk has crossed its first link: more than {least} are needed"
        )));
    }
    Ok(())
}

/// Wheel slots of which each holds a few events at saturation: the mean time between chunk arrivals, a power of two.
pub(crate) fn wheel_shift(net: &Network) -> u32 {
    let chunk = net.timings.iter().map(|t| t.chunk.whole).min().unwrap_or(1);
    let between = chunk / u64::from(net.fabric.terminals().max(1)) / 2;
    between.max(1).ilog2().clamp(7, 20)
}
