//! Every registered topology with every routing that binds to it and every registered workload: one answer for every
//! partitioning with the checkers on, and finite workloads deliver all they send. New entries are covered by being
//! registered.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::{long, piece_over_ranks, spread::crowd};
use base::threads::{Optimism, Threads};
use base::{hash::mix64, param::Value, registry::Registered};
use fabric::{
    graph::Fabric,
    registry::{ROUTINGS, TOPOLOGIES, values},
    routing::Routing,
};
use model::{
    Failure, Finished,
    setup::{LinkParams, Measure, Scheduling, Until},
};
use packet::{Setup, config::RoutePer, routes::Routes, samples, simulate};
use packet::{
    config::Architecture,
    router::registry::{ROUTERS, named},
};
use results::{
    summary::{State, Summary},
    table::Table,
};
use std::sync::Arc;
use workload::registry::{ARRIVALS, Takes, WORKLOADS};

const US: u64 = 1_000_000;

type Machine = (String, Arc<Fabric>, Arc<dyn Routing>);

/// The machines that a router is run on, with their numbers: `window` on each with much blocking or with little; of the others, which differ from it
/// in what happens inside a router, each takes its turn on half of them. With `NETLOOM_LONG=1` all on all.
fn machines_of(router: Architecture, tight: bool) -> impl Iterator<Item = (usize, Machine)> {
    let others = ROUTERS.iter().filter(|r| r.architecture() != named("window"));
    let turn = others.clone().position(|r| r.architecture() == router);
    let (of, long) = (others.count(), long());
    machines().into_iter().enumerate().filter(move |(n, _)| {
        let draw = mix64(*n as u64) as usize;
        let half = tight == draw.is_multiple_of(2);
        long || half && turn.is_none_or(|turn| draw / 2 % of == turn)
    })
}

/// All small fabrics of at least two terminals with every routing that binds to them, by name.
fn machines() -> Vec<Machine> {
    let mut all = Vec::new();
    for topology in TOPOLOGIES {
        for sample in topology.small {
            let fabric = Arc::new((topology.build)(&values(topology.about.params, sample)).unwrap());
            let mut bound = 0;
            // A routing that must be given something, such as a file of tables, has tests of its own.
            for routing in ROUTINGS.iter().filter(|r| r.about.params.iter().all(|p| p.default.is_some())) {
                let Ok(built) = (routing.build)(Arc::clone(&fabric), &values(routing.about.params, &[]))
                else {
                    continue;
                };
                bound += 1;
                if fabric.terminals() > 1 {
                    let name = format!("{} on {} {sample:?}", routing.about.name, topology.about.name);
                    all.push((name, Arc::clone(&fabric), Arc::from(built)));
                }
            }
            assert!(bound > 0, "nothing routes on {} {sample:?}", topology.about.name);
        }
    }
    all
}

/// Rates that divide nothing evenly, a few chunks of buffer, credits faster than the wire for one class and slower for another.
fn links(fabric: &Fabric, chunks: u64) -> Vec<LinkParams> {
    let of = |class: u64| {
        samples::link(
            2_147_483_647 + 611_953 * class,
            7_001 + 20_000 * class,
            3_725 + 30_000 * class,
            64 * chunks,
        )
    };
    (0..fabric.classes().len() as u64).map(of).collect()
}

/// A workload by name, with its arrival process.
#[derive(Clone, Copy)]
struct Sent {
    workload: &'static str,
    arrival: &'static str,
    /// Its parameter that ends it.
    ends: &'static str,
}

fn workloads() -> Vec<Sent> {
    let mut all = Vec::new();
    for entry in WORKLOADS.iter().filter(|e| e.takes.arrivals() || e.takes == Takes::Message) {
        // A matrix is read from a file and has tests of its own.
        if entry.about.params.iter().any(|p| p.default.is_none()) {
            continue;
        }
        let ends = entry.about().params.iter().map(|p| p.name).find(|n| ["count", "bursts"].contains(n));
        let ends =
            ends.unwrap_or_else(|| panic!("`{}` cannot be ended: teach this test how", entry.about.name));
        let arrivals = if entry.takes.arrivals() { ARRIVALS } else { &ARRIVALS[..1] };
        let of = |a: &workload::registry::ArrivalEntry| Sent {
            workload: entry.about.name,
            arrival: a.about.name,
            ends,
        };
        all.extend(arrivals.iter().map(of));
    }
    all
}

/// Messages of three packets, the last one ragged; `tight` buffers hold three chunks.
fn setup(
    fabric: &Arc<Fabric>,
    routing: &Arc<dyn Routing>,
    sent: Sent,
    ending: Option<u64>,
    tight: bool,
) -> Setup {
    let links = links(fabric, if tight { 3 } else { 24 });
    let message = 600;
    let load = match sent.arrival {
        // Half of its slots are off.
        "on-off" => 0.4,
        _ if tight => 0.9,
        _ => 0.4,
    };
    let count = ending.map(|n| (sent.ends, Value::Int(n)));
    let job = (fabric.terminals(), message, links[0].bandwidth);
    let traffic = samples::try_traffic(sent.workload, count.as_slice(), sent.arrival, load, job, 3);
    // Not every pattern exists for every number of ranks.
    let traffic = traffic.unwrap_or_else(|_| {
        samples::traffic(
            "bisection",
            &[("count", Value::Int(ending.unwrap_or(0)))],
            sent.arrival,
            load,
            job,
            3,
        )
    });
    let mut setup = samples::setup(Arc::clone(fabric), Arc::clone(routing), links, traffic, message);
    setup.packet.packet = 256;
    setup.packet.router_delay = 10_000;
    setup.packet.route_per = if tight { RoutePer::Packet } else { RoutePer::Chunk };
    setup.check = true;
    setup.measure = Measure {
        window: US,
        per_port: true,
        loads: true,
        packets: true,
        messages: true,
        slow_down: true,
        pairs: true,
        operations: false,
        engine: false,
    };
    setup
}

/// Runs in so many partitions: in one thread, or `pieces`: in two, stopped twice or so, saved and taken up again by a run with another number
/// of threads and ranks and another scheduler.
fn run(setup: &Setup, partitions: u32, pieces: bool, name: &str) -> (Summary, Vec<Table>) {
    let mut setup = setup.clone();
    let threads = Threads { count: 2, ..Threads::ONE };
    setup.scheduling = match pieces {
        true => Scheduling::Conservative { partitions: Some(partitions), threads },
        false => Scheduling::Sequential { partitions },
    };
    let done = if pieces { in_pieces(setup) } else { simulate(&setup, &mut |_| true) };
    let done = done.unwrap_or_else(|e| panic!("{name}: {e}"));
    (done.summary.without_performance(), done.tables)
}

fn in_pieces(mut setup: Setup) -> Result<Finished, Failure> {
    let (Until::Time(end) | Until::WorkloadDone { limit: end }) = setup.until;
    let every = if matches!(setup.until, Until::Time(_)) { end / 3 + 1 } else { 100 * US };
    let mut state: Option<Vec<u8>> = None;
    for piece in 1.. {
        // Each piece over another number of ranks: one, two or three. A routing that reads all queues makes the network one partition.
        let most = if Routes::new(&setup).needs_published() { 1 } else { setup.scheduling.partitions() };
        let (ranks, count) = crowd(piece);
        let ranks = ranks.min(most);
        let (done, saved) = piece_over_ranks(&setup, ranks, (every, state.as_deref()));
        if !matches!(done, Err(Failure::Stopped(_))) {
            return done;
        }
        state = saved;
        let partitions = Some(setup.scheduling.partitions());
        let threads = Threads { count, ..Threads::ONE };
        let optimism = Optimism { stumble: 50, ..Optimism::default() };
        setup.scheduling = match setup.scheduling {
            Scheduling::Conservative { .. } => Scheduling::Optimistic { partitions, threads, optimism },
            _ => Scheduling::Conservative { partitions, threads },
        };
    }
    unreachable!("a run ends")
}

/// Runs in one partition, in `some` and in pieces, and in as many as there may be, if asked; and compares.
fn same(setup: &Setup, some: Option<u32>, most: bool, name: &str) -> Summary {
    let routers = setup.fabric.routers();
    let (one, tables) = run(setup, 1, false, name);
    let pieces = some.filter(|_| routers > 1).map(|some| (some.min(routers), true));
    for (n, pieces) in pieces.into_iter().chain(most.then_some((routers, false))) {
        let (many, others) = run(setup, n, pieces, name);
        assert_eq!(many.fingerprint, one.fingerprint, "{name} in {n} partitions");
        assert_eq!(many.to_json(), one.to_json(), "{name} in {n} partitions");
        assert!(others == tables, "{name} in {n} partitions: tables differ");
    }
    one
}

/// A time after which about 200 chunks could be injected: every machine counts, and not how long it runs. With `NETLOOM_LONG=1` about
/// 3,500 through `window`; the others differ from it in what happens inside a router and not in the network around.
fn while_of(fabric: &Fabric, router: Architecture) -> u64 {
    let long = long() && router == named("window");
    let (span, least) = if long { (120 * US, 5 * US) } else { (8 * US, 2 * US) };
    (span / u64::from(fabric.terminals())).clamp(least, 100 * US)
}

/// The workload that machine number `n` runs, in turns that differ from test to test, so that every workload meets many machines and
/// every machine some workloads.
fn turn(n: usize, tight: bool, router: Architecture) -> Sent {
    let all = workloads();
    let place = ROUTERS.iter().position(|r| r.architecture() == router).unwrap();
    let test = usize::from(tight) + 2 * place;
    all[(n + test * all.len() / 4) % all.len()]
}

fn every_partitioning(tight: bool, router: Architecture) {
    for (n, (machine, fabric, routing)) in machines_of(router, tight) {
        let sent = turn(n, tight, router);
        let name = format!("{}, {} arrival, {machine}, tight: {tight}", sent.workload, sent.arrival);
        let mut setup = setup(&fabric, &routing, sent, None, tight);
        setup.packet.router = router;
        setup.until = Until::Time(while_of(&fabric, router));
        // In pieces and in many partitions; without `NETLOOM_LONG=1` one of both, in turns.
        let (pieces, apart) = (long() || n % 2 == 0, long() || n % 2 == 1);
        let one = same(&setup, pieces.then_some(5), apart, &name);
        let counts = one.packets.unwrap();
        assert_eq!(counts.injected, counts.delivered + counts.in_flight, "{name}");
        // A rank that sends alone may be off all the while.
        // A single sender may be off for all of so short a run.
        let silent = sent.arrival == "on-off" && counts.injected == 0;
        assert!(counts.delivered > 0 || silent, "{name}: {counts:?}");
        assert_ne!(one.verdict.state, State::Deadlock, "{name}: {:?}", one.verdict.detail);
    }
}

#[test]
fn one_answer_with_much_blocking() {
    every_partitioning(true, named("window"));
}

#[test]
fn one_answer_with_little_blocking() {
    every_partitioning(false, named("window"));
}

#[test]
fn one_answer_of_every_other_router() {
    assert!(machines().len() > 100, "each router has many machines");
    for router in ROUTERS.iter().filter(|r| r.architecture() != named("window")) {
        every_partitioning(true, router.architecture());
    }
}

/// How many messages a finite workload sends in all.
fn expected(sent: Sent, ranks: u64, n: u64) -> Option<u64> {
    match sent.workload {
        "uniform" | "bisection" | "random-permutation" => Some(ranks * n),
        "all-to-all" => Some(ranks * (ranks - 1) * n),
        "ping-pong" => Some(ranks * 2 * n),
        _ => None,
    }
}

fn finite(tight: bool, router: Architecture) {
    for (n, (machine, fabric, routing)) in machines_of(router, tight) {
        // A saturating permutation on every machine, and its turn of the others.
        let permutation =
            workloads().into_iter().filter(|s| (s.workload, s.arrival) == ("random-permutation", "constant"));
        let both = permutation.chain([turn(n, tight, router)]).enumerate();
        // Without `NETLOOM_LONG=1` one of both, in turns.
        for (_, sent) in both.filter(|(k, _)| long() || n % 2 == k % 2) {
            let name = format!("{}, {} arrival, {machine}, tight: {tight}", sent.workload, sent.arrival);
            // As above: fewer messages where many terminals send.
            let n = match sent.workload {
                "all-to-all" => 1,
                _ if long() => 4,
                _ if fabric.terminals() > 16 => 1,
                _ => 3,
            };
            let mut setup = setup(&fabric, &routing, sent, Some(n), tight);
            setup.packet.router = router;
            setup.until = Until::WorkloadDone { limit: 100_000 * US };
            setup.measure.window = 0;
            let one = same(&setup, Some(2), false, &name);
            let (packets, messages) = (one.packets.unwrap(), one.messages.unwrap());
            assert_eq!(packets.injected, packets.delivered, "{name}");
            assert_eq!(messages.injected, messages.delivered, "{name}");
            assert_eq!((packets.in_flight, messages.in_flight), (0, 0), "{name}");
            assert_eq!(packets.delivered, 3 * messages.delivered, "{name}");
            assert_eq!(one.bytes_delivered, 600 * messages.delivered, "{name}");
            if let Some(all) = expected(sent, u64::from(fabric.terminals()), n) {
                assert_eq!(messages.delivered, all, "{name}");
            }
            assert!(messages.delivered > 0, "{name}");
            assert!(
                !matches!(one.verdict.state, State::Deadlock | State::Incomplete),
                "{name}: {:?}",
                one.verdict
            );
        }
    }
}

#[test]
fn finite_workloads_deliver_all_with_much_blocking() {
    finite(true, named("window"));
}

#[test]
fn finite_workloads_deliver_all_with_little_blocking() {
    finite(false, named("window"));
}

#[test]
fn finite_workloads_deliver_all_through_every_other_router() {
    for router in ROUTERS.iter().filter(|r| r.architecture() != named("window")) {
        finite(true, router.architecture());
    }
}
