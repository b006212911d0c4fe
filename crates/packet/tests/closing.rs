//! Closing a run: parts can be sent, and their merging gives what the run gives.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use engine::{
    director::Pauses,
    executor::{Executor, Options, Threads},
    kept::{put, take},
};
use model::setup::{Scheduling, Until};
use packet::{
    Setup,
    close::{Asked, Ending, Part},
    finish, host,
    hybrid::conductor::Conductor,
    network::Network,
    observe::Observer,
    router::window::WindowRouter,
    sample::Sampler,
    samples, simulate,
};
use std::sync::Arc;

const US: u64 = 1_000_000;
const END: u64 = 30 * US;

/// A part as another process would get it.
fn sent(part: &Part) -> Part {
    let mut bytes = Vec::new();
    put(part, &mut bytes);
    let mut rest = bytes.as_slice();
    let part = take(&mut rest).unwrap();
    assert!(rest.is_empty());
    part
}

/// Summary and tables, reported in words, of a run in so many partitions whose parts go through `carry`.
fn run(setup: &Setup, partitions: u32, carry: impl Fn(&Part) -> Part) -> String {
    let net = Arc::new(Network::new(setup, partitions));
    let part = |p| {
        let observer = Observer::new(Arc::clone(&net), setup.warmup, END, setup.measure, setup.check);
        (host::inhabited::<WindowRouter>(&net, p), observer)
    };
    let options = Options { tie_seed: setup.ties, wheel_shift: 10 };
    let mut executor = Executor::with_threads((0..partitions).map(part), options, Threads::ONE);
    let sampler = Sampler::new(END.div_ceil(64), END, setup.warmup, setup.measure.per_port, false);
    let mut director = Conductor::new(sampler, None, &net, END).unwrap();
    let stop = executor.run_directed(END, &mut director, Pauses::NONE, |_, _| true);
    let asked = Asked { now: executor.now(), books: true, waits: true };
    let mut parts = executor.partitions.into_iter().map(|p| carry(&Part::of(p, asked)));
    let mut whole = parts.next().unwrap();
    parts.for_each(|p| whole.merge(p));
    let ended =
        carry(&whole).decide(setup, &net, director, Ending { now: asked.now, stop, end: END }).unwrap();
    let (summary, tables) = finish::finish(setup, &net, ended).unwrap();
    format!("{summary:?} {tables:?}")
}

fn setups() -> Vec<Setup> {
    let mut open = samples::dragonfly(72, "minimal", "poisson", 0.9);
    (open.measure.packets, open.measure.messages, open.measure.pairs) = (true, true, true);
    open.measure.window = 3 * US;
    open.warmup = 2 * US;
    let mut answers = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
    let (bandwidth, terminals) = (answers.links[0].bandwidth, answers.fabric.terminals());
    let job = (terminals, 1024, bandwidth);
    answers.jobs[0].work = samples::traffic("ping-pong", &[], "constant", 0.5, job, 1);
    for setup in [&mut open, &mut answers] {
        setup.check = true;
        setup.until = Until::Time(END);
        setup.scheduling = Scheduling::Sequential { partitions: 3 };
    }
    vec![open, answers]
}

#[test]
fn parts_that_were_sent_close_the_run_alike() {
    for setup in setups() {
        let kept = run(&setup, 3, Part::clone);
        assert_eq!(run(&setup, 3, sent), kept);
        let finished = simulate(&setup, &mut |_| true).unwrap();
        assert!(finished.summary.packets.unwrap().delivered > 100);
    }
}
