//! Runs a setup from start to results.

use crate::{
    failure::Failure,
    packet::{
        check,
        finish::{self, Ended},
        host,
        network::Network,
        observe::Observer,
        routes::Routes,
        rows::Chunk,
        sample::{self, Sampler},
        state::PacketDomain,
    },
    setup::{Scheduling, Setup, Until},
};
use base::{
    hash::mix64,
    time::{NEVER, Ps},
};
use engine::executor::{Executor, Options, Stop};
use results::{
    summary::{Performance, Summary},
    table::Table,
};
use std::{sync::Arc, time::Instant};

/// Where a run stands.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Virtual time reached.
    pub now: Ps,
    /// Virtual time of the end; the limit if the workload decides.
    pub end: Ps,
    /// Events so far.
    pub events: u64,
    /// Chunk-hops so far.
    pub chunk_hops: u64,
}

/// What a run leaves.
pub struct Finished {
    /// The summary; its `experiment` block is left to the caller.
    pub summary: Summary,
    /// Tidy tables.
    pub tables: Vec<Table>,
}

/// Most windows of a series.
const MAX_WINDOWS: u64 = 1_000_000;

/// Events between two calls of the progress function.
const BUDGET: u64 = 1 << 18;

/// Simulates. `progress` is called every quarter of a million events or so; it stops the run by returning false.
///
/// # Errors
/// A setup that cannot be simulated, a stop by `progress`, or a broken invariant.
pub fn simulate(setup: &Setup, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
    let Scheduling::Sequential { partitions } = setup.scheduling;
    // A routing that reads every router's queues makes the network one cell.
    let most = if Routes::new(setup).needs_published() { 1 } else { setup.fabric.routers_per_plane().max(1) };
    let partitions = partitions.clamp(1, most);
    let begun = (Instant::now(), cpu_time());
    let net = Arc::new(Network::new(setup, partitions));
    refuse(setup, &net)?;
    let (end, until_done) = match setup.until {
        Until::Time(end) => (end, false),
        Until::WorkloadDone { limit } => (limit, true),
    };
    let part = |p| {
        let observer = Observer::new(Arc::clone(&net), setup.warmup, end, setup.measure, setup.check);
        (PacketDomain::new(Arc::clone(&net), p), observer)
    };
    let options = Options { tie_seed: mix64(setup.seed ^ 0x7469_6573), wheel_shift: wheel_shift(&net) };
    let mut executor = Executor::new((0..partitions).map(part), options);
    let period = if setup.measure.window > 0 { setup.measure.window } else { end.div_ceil(64) };
    let mut director = Sampler::new(period, end, setup.warmup, setup.measure.per_port, until_done);
    let stop = executor.direct(end, &mut director, BUDGET, |e| {
        progress(Progress {
            now: e.now(),
            end,
            events: e.events(),
            chunk_hops: e.partitions.iter().map(|p| p.observer.chunk_hops).sum(),
        })
    });
    if stop == Stop::Budget {
        return Err(Failure::Stopped(executor.now()));
    }
    let performance = measured(&executor, begun);
    let ended = close(setup, executor, director, stop, end)?;
    let (mut summary, tables) = finish::finish(setup, &net, ended)?;
    summary.performance = Some(performance);
    Ok(Finished { summary, tables })
}

/// Takes the settled partitions apart; runs the final checks.
fn close(
    setup: &Setup,
    executor: Executor<PacketDomain, Observer>,
    director: Sampler,
    stop: Stop,
    end: Ps,
) -> Result<Ended, Failure> {
    let now = executor.now();
    let dry = stop == Stop::Dry || director.stuck;
    let pending: Vec<_> = executor.partitions.iter().map(|p| p.agenda.pending()).collect();
    let (mut domains, mut observer) = (Vec::new(), None::<Observer>);
    let mut last = Vec::new();
    for part in executor.partitions {
        last.push(sample::take(&part.domain, &part.observer, now, false));
        domains.push(part.domain);
        match &mut observer {
            None => observer = Some(part.observer),
            Some(o) => o.merge(part.observer),
        }
    }
    let observer = observer.expect("there is at least one partition");
    let refs: Vec<&PacketDomain> = domains.iter().collect();
    if setup.check {
        check::credits(&refs, &pending, now)?;
    }
    let fingerprint = finish::state_hash(&refs, &pending);
    let hosts: Vec<_> = refs.iter().map(|d| (&*d.cx.local, &d.state.host)).collect();
    if let Some(damage) = host::damage(&refs[0].cx.net, &hosts) {
        return Err(Failure::Setup(damage));
    }
    let waiting = if dry { host::waiting(&refs[0].cx.net, &hosts) } else { Vec::new() };
    let deadlock = if dry || end < NEVER { crate::packet::verdict::deadlock(&refs) } else { Vec::new() };
    Ok(Ended {
        now,
        dry,
        last: finish::total(last),
        sent: finish::sent_by_link(&refs),
        samples: director.samples,
        half: director.half,
        observer,
        fingerprint,
        deadlock,
        waiting,
        unreceived: host::unreceived(&hosts),
    })
}

/// Refuses, before a run, what the rules of the model exclude.
///
/// # Errors
/// [`Failure::Setup`] with the reason.
pub fn validate(setup: &Setup) -> Result<(), Failure> {
    refuse(setup, &Network::new(setup, 1))
}

fn refuse(setup: &Setup, net: &Network) -> Result<(), Failure> {
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
    let widest =
        (0..setup.fabric.routers()).map(|r| setup.fabric.ports_of(r).len() as u32).max().unwrap_or(0);
    if widest * u32::from(setup.packet.vcs) > Chunk::MAX_ORIGINS {
        return Err(Failure::Setup(format!(
            "a router has {widest} ports with {} virtual channels each; the model takes {} in all",
            setup.packet.vcs,
            Chunk::MAX_ORIGINS
        )));
    }
    if setup.packet.vcs < setup.vcs_needed() {
        return Err(Failure::Setup(format!("the routing needs {} virtual channels", setup.vcs_needed())));
    }
    let left = setup.change.as_ref().map_or(&setup.fabric, |change| &change.fabric);
    let usable = left.usable_nodes();
    for job in &setup.jobs {
        if let Some(node) = job.placement.iter().find(|n| usable.binary_search(n).is_err()) {
            return Err(Failure::Setup(format!(
                "failures cut terminal {node} off, which job {} uses",
                job.name
            )));
        }
    }
    Ok(())
}

/// Wheel slots of which each holds a few events at saturation: the mean time between chunk arrivals, a power of two.
fn wheel_shift(net: &Network) -> u32 {
    let chunk = net.timings.iter().map(|t| t.chunk.whole).min().unwrap_or(1);
    let between = chunk / u64::from(net.fabric.terminals().max(1)) / 2;
    between.max(1).ilog2().clamp(7, 20)
}

fn measured(executor: &Executor<PacketDomain, Observer>, begun: (Instant, Option<f64>)) -> Performance {
    let wall_s = begun.0.elapsed().as_secs_f64();
    let cpu_s = begun.1.and_then(|before| cpu_time().map(|now| now - before));
    let time = cpu_s.filter(|&t| t > 0.0).unwrap_or(wall_s).max(1e-9);
    let events = executor.events();
    let chunk_hops: u64 = executor.partitions.iter().map(|p| p.observer.chunk_hops).sum();
    Performance {
        wall_s,
        cpu_s,
        events,
        events_per_s: events as f64 / time,
        chunk_hops: Some(chunk_hops),
        chunk_hops_per_s: Some(chunk_hops as f64 / time),
        peak_rss_bytes: peak_rss(),
        scheduler: "sequential".to_owned(),
        partitions: executor.partitions.len() as u32,
        threads: 1,
        ranks: 1,
    }
}

/// Processor time of this thread group's main thread in seconds, where the system tells.
pub(crate) fn cpu_time() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<u64>().ok()? as f64 / 1e9)
}

/// Largest resident memory of this process so far, where the system tells.
pub(crate) fn peak_rss() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}
