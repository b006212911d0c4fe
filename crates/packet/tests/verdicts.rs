//! What runs are worth: for each verdict a case and a near miss, of runs that end at a time, with their workload, or with programs.

use base::{hash::mix64, index::RankId, param::Value};
use model::setup::Until;
use packet::{Setup, samples, simulate};
use results::summary::{State, Summary, Verdict};
use std::sync::Arc;
use workload::{
    program::list::{List, Rank, calc, recv, send},
    registry::Work,
    traffic::Message,
};

const US: u64 = 1_000_000;

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}")).summary
}

fn has(verdict: &Verdict, flag: &str) -> bool {
    verdict.flags.iter().any(|f| f == flag)
}

/// 72 nodes whose routers take 10 us: a packet takes about 30.
fn slow(load: f64, end: u64) -> Setup {
    let mut setup = samples::dragonfly(72, "minimal", "poisson", load);
    setup.packet.router_delay = 10 * US;
    setup.until = Until::Time(end);
    setup
}

#[test]
fn a_run_whose_first_packets_are_under_way_is_filling_not_saturated() {
    for end in [36, 48, 60] {
        let verdict = run(&slow(0.05, end * US)).verdict;
        assert_eq!(verdict.state, State::NotStationary, "{end} us: {verdict:?}");
        assert!(!has(&verdict, "saturated"), "{end} us: {verdict:?}");
        // Later what is under way grows no more, but the mean still drifts.
        assert!(has(&verdict, "still-filling") || end > 36, "{end} us: {verdict:?}");
    }
    let verdict = run(&slow(0.05, 1_000 * US)).verdict;
    assert!(!has(&verdict, "still-filling") && !has(&verdict, "saturated"), "{verdict:?}");
}

/// A job offers its load while it runs: from three quarters on, of a quarter of the time; of two thirds after the warm-up.
#[test]
fn a_job_offers_nothing_before_it_starts() {
    let offered = |start, warmup| {
        let mut setup = samples::dragonfly(72, "minimal", "poisson", 0.08);
        setup.until = Until::Time(40 * US);
        (setup.jobs[0].start, setup.warmup) = (start * US, warmup * US);
        run(&setup).throughput.and_then(|t| t.offered_fraction).expect("traffic with a load")
    };
    for (start, warmup, expected) in [(0, 0, 0.08), (30, 0, 0.02), (20, 10, 0.16 / 3.0), (5, 10, 0.08)] {
        let offered = offered(start, warmup);
        assert!((offered - expected).abs() < 1e-9, "{start} us, {warmup} us: {offered}");
    }
}

/// Four nodes share a global link: more than a quarter is too much.
fn finite(load: f64, count: u64) -> Setup {
    let mut setup = samples::dragonfly(72, "minimal", "poisson", load);
    let rate = setup.links[0].bandwidth;
    let count = [("count", Value::Int(count))];
    setup.jobs[0].work = samples::traffic("bisection", &count, "poisson", load, (72, 1024, rate), 1);
    setup.until = Until::WorkloadDone { limit: 1_000_000 * US };
    setup
}

#[test]
fn a_finite_run_that_was_offered_too_much_is_saturated() {
    for (load, count, state) in [
        (0.4, 1000, State::Saturated),
        (5.0, 1000, State::Saturated),
        (0.2, 1000, State::Ok),
        // The last source is late by chance, and a burst of a few is no load.
        (0.2, 20, State::Ok),
        (5.0, 3, State::Ok),
    ] {
        let summary = run(&finite(load, count));
        assert_eq!(
            summary.verdict.state, state,
            "{load} {count}: {:?} {:?}",
            summary.verdict, summary.throughput
        );
    }
}

#[test]
fn a_limit_that_comes_first_is_reported() {
    let mut setup = finite(0.2, 100);
    let whole = run(&setup);
    assert_eq!(whole.verdict.state, State::Ok);
    setup.until = Until::WorkloadDone { limit: whole.simulated_ps / 2 };
    assert_eq!(run(&setup).verdict.state, State::Incomplete);
    setup.until = Until::WorkloadDone { limit: whole.simulated_ps * 2 };
    assert_eq!(run(&setup).verdict.state, State::Ok);
}

/// A program in a run that ends at a time, before it or behind it.
#[test]
fn programs_that_the_end_cuts_are_reported() {
    let fabric = samples::topology("single-switch", &[("terminals", samples::int(2))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(1_000_000_000, 10_000, 5_000, 1 << 16)];
    let (mut first, mut second) = (Rank::default(), Rank::default());
    first.push(calc(5 * US));
    first.push(send(1, 64, 1));
    second.push(recv(0, 64, 1));
    let work = Work::Program(Arc::new(List::new(vec![first, second])));
    let mut setup = samples::setup(fabric, routing, links, work, 0);
    setup.jobs[0].message = None;
    for (end, cut) in [(4, true), (100, false)] {
        setup.until = Until::Time(end * US);
        let verdict = run(&setup).verdict;
        assert_eq!(has(&verdict, "unfinished-programs"), cut, "{end} us: {verdict:?}");
        assert_ne!(verdict.state, State::Deadlock, "{end} us: {verdict:?}");
    }
}

/// Two terminals of a switch, for so many microseconds: one sends the other a packet in each, and the number of a packet says whether it is a large one.
fn sizes(large: fn(u64) -> bool, end: u64) -> Verdict {
    let fabric = samples::topology("single-switch", &[("terminals", samples::int(2))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(1_000_000_000, 10_000, 5_000, 1 << 16)];
    let work = samples::open_loop(move |rank, index, _| {
        let bytes = if large(index) { 512 } else { 8 };
        let message = Message { time: index * US, destination: RankId::new(1), bytes };
        (rank.number() == 0).then_some(message)
    });
    let mut setup = samples::setup(fabric, routing, links, work, 0);
    setup.jobs[0].message = None;
    setup.until = Until::Time(end * US);
    run(&setup).verdict
}

/// Late or early, a step of the mean is found; where there is none, none is.
#[test]
fn a_step_of_latency_is_not_stationary() {
    let steps: [fn(u64) -> bool; 4] = [|n| n > 100, |n| n > 500, |n| n > 900, |n| n < 900];
    for (number, step) in steps.into_iter().enumerate() {
        assert_eq!(sizes(step, 1_024).state, State::NotStationary, "{number}");
    }
    for same in [(|_| false) as fn(u64) -> bool, |_| true, |n| n % 2 == 0] {
        let verdict = sizes(same, 1_024);
        assert!(verdict.flags.is_empty(), "{verdict:?}");
    }
}

/// Of a few packets of two sizes the mean says little, of many it does.
#[test]
fn a_mean_with_a_wide_interval_is_flagged() {
    let by_lot = |n: u64| mix64(n).is_multiple_of(4);
    for (end, wide) in [(32, true), (4_096, false)] {
        let verdict = sizes(by_lot, end);
        assert_eq!(has(&verdict, "too-few-samples"), wide, "{end} us: {verdict:?}");
    }
}
