//! Runs a setup of the flow model from start to results.

use super::{
    check,
    context::{Context, FlowSetup, context},
    domain::FlowDomain,
    ended::Ended,
    finish,
    observe::Observer,
};
use base::{hash::mix64, index::TerminalId};
use engine::{
    director::Pauses,
    executor::{Executor, Options, Stop},
};
use model::{
    failure::Failure,
    performance::{Clock, Done},
    run::{Finished, Progress},
    setup::Scheduling,
};
use ranks::{hosted::Hosted, programs::Programs, roster::Place};
use std::sync::Arc;

/// Events between two calls of the progress function.
const BUDGET: u64 = 1 << 16;

/// Simulates. `progress` is called from time to time; it stops the run by returning false.
///
/// # Errors
/// A setup that cannot be simulated, a message without a path, a program that turns out to be damaged, or a stop by `progress`.
pub fn simulate(setup: &FlowSetup, progress: &mut dyn FnMut(Progress) -> bool) -> Result<Finished, Failure> {
    let clock = Clock::start(Scheduling::Sequential { partitions: 1 });
    let cx = Arc::new(context(setup)?);
    let mut executor = executor(&cx);
    let stop = executor.run_directed(cx.end, &mut (), Pauses::after(BUDGET), |e, ()| {
        let sound = e.partitions[0].domain.host.damage().is_none();
        sound
            && progress(Progress {
                now: e.now(),
                end: cx.end,
                events: e.events(),
                partitions: 1,
                ..Progress::default()
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
        threads: executor.threads_used(),
        speculation: None,
        windows: Some(executor.windows()),
    });
    debug_assert_eq!(executor.partitions.len(), 1, "all links are shared in one partition");
    let part = executor.partitions.pop().expect("there is one partition");
    let Hosted { carrier: domain, host } = part.domain;
    if let Some(lost) = domain.lost {
        return Err(Failure::Setup(no_path(&cx, lost.source, lost.destination)));
    }
    if let Some((Place { job, rank, .. }, message)) = host.damage() {
        let name = &cx.jobs[job as usize].name;
        return Err(Failure::Setup(format!("job `{name}`, rank {rank}: {message}")));
    }
    let dry = stop == Stop::Dry && !domain.cut;
    let observer = part.observer;
    check::faults(&domain, &observer, dry)
        .into_iter()
        .next()
        .map_or(Ok(()), |f| Err(Failure::Invariant(f)))?;
    let ended = Ended { domain, host, observer, dry };
    let (mut summary, tables) = finish::finish(setup, &cx, ended);
    summary.performance = Some(performance);
    Ok(Finished { summary, tables })
}

fn executor(cx: &Arc<Context>) -> Executor<Hosted<FlowDomain, Programs>, Observer> {
    let part = (domain(cx), Observer::new(Arc::clone(cx)));
    let options = Options { tie_seed: mix64(cx.seed ^ 0x7469_6573), wheel_shift: wheel_shift(cx) };
    Executor::new([part], options)
}

/// Plays a run and counts the entries of lists that its solver looks at: what most of its processor time goes to, the same on every machine.
///
/// # Errors
/// A setup that cannot be simulated.
pub fn visits(setup: &FlowSetup) -> Result<u64, Failure> {
    let cx = Arc::new(context(setup)?);
    let mut executor = executor(&cx);
    executor.run_directed(cx.end, &mut (), Pauses::after(BUDGET), |_, ()| true);
    Ok(executor.partitions[0].domain.carrier.sharing.visits())
}

/// The network before anything has happened, with the ranks of programs that live on it.
#[must_use]
pub fn domain(cx: &Arc<Context>) -> Hosted<FlowDomain, Programs> {
    let host = Programs::new(Arc::clone(&cx.roster), cx.roster.places());
    Hosted { carrier: FlowDomain::new(Arc::clone(cx)), host }
}

fn no_path(cx: &Context, source: TerminalId, destination: TerminalId) -> String {
    match cx.platform() {
        Some(platform) => {
            let (a, b) = (platform.host(source), platform.host(destination));
            let cross = if cx.config.rules.cross > 0.0 {
                " (acknowledgements need the other direction: see `cross_traffic`)"
            } else {
                ""
            };
            format!("the platform has no route from `{a}` to `{b}`{cross}")
        }
        None => format!("the routing finds no path from terminal {source} to terminal {destination}"),
    }
}

/// Wheel slots of about a latency over the number of terminals.
fn wheel_shift(cx: &Context) -> u32 {
    let latency = cx.links.iter().map(|l| l.latency).min().unwrap_or(1_000_000);
    (latency / u64::from(cx.fabric.terminals().max(1))).max(1).ilog2().clamp(7, 20)
}
