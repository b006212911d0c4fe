//! Congestion control: marks where the rules say, rates that settle where they must, victims that keep their throughput, one answer for every partitioning, scheduler and
//! checkpoint, and planted faults.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::{
    long,
    spread::{in_pieces, reported},
    undone,
};
use base::{index::TerminalId, param::Value};
use model::{
    Failure, Finished,
    samples::int,
    setup::{JobSetup, Scheduling, Until},
};
use packet::{
    Setup,
    config::RoutePer,
    router::registry::{ROUTERS, named},
    samples, simulate,
};
use results::{
    summary::{ControlledJob, Summary},
    table::{Column, Table},
};
use std::sync::Arc;
use workload::{
    program::{
        After, Op,
        list::{List, Rank, recv, send},
    },
    registry::Work,
};

const US: u64 = 1_000_000;
/// Messages of each rank of the dragonfly.
const COUNT: u64 = 12;
/// Bytes per second of the links.
const RATE: u64 = 10_000_000_000;

fn text(value: &str) -> Value {
    Value::Text(value.into())
}

/// Terminals at one router; packets are one chunk of 1,000 B.
fn switch(terminals: u64, router: &str, buffer: u64) -> Setup {
    let fabric = samples::topology("single-switch", &[("terminals", int(terminals))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(RATE, 20_000, 20_000, buffer); fabric.classes().len()];
    let job = (terminals as u32, 1000, links[0].bandwidth);
    let work = samples::traffic("uniform", &[], "constant", 0.1, job, 1);
    let mut setup = samples::setup(fabric, routing, links, work, 1000);
    setup.packet.router = named(router);
    (setup.packet.packet, setup.packet.chunk) = (1000, 1000);
    setup.packet.route_per = RoutePer::Packet;
    setup.check = true;
    setup
}

/// A job of these terminals with a pattern at a load, in place of the setup's or beside them.
fn job(
    setup: &Setup,
    name: &str,
    terminals: &[u32],
    pattern: (&str, &[(&str, Value)]),
    load: f64,
) -> JobSetup {
    let message = setup.jobs[0].message.unwrap();
    let traffic = (terminals.len() as u32, message, setup.links[0].bandwidth);
    JobSetup {
        name: name.into(),
        work: samples::traffic(pattern.0, pattern.1, "constant", load, traffic, 1),
        placement: terminals.iter().copied().map(TerminalId::new).collect(),
        ..setup.jobs[0].clone()
    }
}

/// All of `terminals` send to the first, itself through its router.
fn to_first(setup: &Setup, name: &str, terminals: &[u32], load: f64) -> JobSetup {
    job(
        setup,
        name,
        terminals,
        ("hot-spot", &[("hot", Value::Ints(vec![0])), ("to_self", Value::Bool(true))]),
        load,
    )
}

fn done(setup: &Setup) -> Finished {
    simulate(setup, &mut |_| true).unwrap()
}

fn marks(finished: &Finished) -> u64 {
    finished.summary.congestion_control.as_ref().unwrap().marked
}

fn of<'a>(summary: &'a Summary, name: &str) -> &'a ControlledJob {
    summary.congestion_control.as_ref().unwrap().jobs.iter().find(|j| j.name == name).unwrap()
}

fn u64s(table: &Table, column: &str) -> Vec<u64> {
    match table.column(column) {
        Some(Column::U64(values)) => values.clone(),
        Some(Column::U32(values)) => values.iter().map(|&v| v.into()).collect(),
        other => panic!("{column}: {other:?}"),
    }
}

fn table<'a>(finished: &'a Finished, name: &str) -> &'a Table {
    finished.tables.iter().find(|t| t.name() == name).unwrap()
}

/// Two terminals send `n` packets each at once to a third. When the k-th packet leaves, two per slot have come and one has left: behind it wait k, and
/// once all have come 2n - k. With the threshold at T packets those with more are marked: n - T of the first half, n - T - 1 of the second.
#[test]
fn marks_begin_exactly_at_the_threshold() {
    let n = 12;
    for router in ["window", "output-queued"] {
        for (weight, mask) in
            [(15, true), (13, false), (9, true), (6, false), (5, true), (4, true), (0, true)]
        {
            let mut setup = switch(3, router, 16_000);
            let pairs = [("hot", Value::Ints(vec![0])), ("count", int(n))];
            setup.jobs = vec![job(&setup, "all", &[0, 1, 2], ("hot-spot", &pairs), 10.0)];
            // The hot rank sends to the others, which nobody else does.
            setup.until = Until::WorkloadDone { limit: 1 << 50 };
            let mask = text(if mask { "terminals" } else { "none" });
            let given = [
                ("threshold", int(weight)),
                ("victim_mask", mask),
                ("notification_delay", Value::Time(900 * US)),
                ("marking_rate", int(0)),
            ];
            let finished = done(&samples::controlled(setup, "infiniband", &given));
            let threshold = 16 - weight;
            let expected = if weight == 0 { 0 } else { (2 * n).saturating_sub(2 * threshold + 1) };
            assert_eq!(marks(&finished), expected, "{router}, weight {weight}");
            let summary = &finished.summary;
            assert_eq!(summary.congestion_control.as_ref().unwrap().notifications, expected);
            assert_eq!(u64s(table(&finished, "marks"), "packets").iter().sum::<u64>(), expected);
        }
    }
}

/// A pair over a link of half the terminals' rate.
fn half(router: &str, scheme: &str, given: &[(&str, Value)]) -> Setup {
    let dims = Value::Ints(vec![2]);
    let fabric = samples::topology("mesh", &[("dims", dims), ("terminals_per_router", int(1))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let mut links = vec![samples::link(RATE, 20_000, 20_000, 64_000); fabric.classes().len()];
    links[1] = samples::link(RATE / 2, 20_000, 20_000, 64_000);
    let work = samples::traffic("nearest-neighbour", &[], "constant", 1.0, (2, 1000, links[0].bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, work, 1000);
    setup.packet.router = named(router);
    (setup.packet.packet, setup.packet.chunk) = (1000, 1000);
    setup.packet.route_per = RoutePer::Packet;
    setup.check = true;
    setup.until = Until::Time(8_000 * US);
    setup.warmup = 2_000 * US;
    setup.measure.window = 50 * US;
    samples::controlled(setup, scheme, given)
}

/// With a table whose entry i is i/8 of a packet, index i sends at 8/(8 + i) of the link: the link's half is index 8. Below it the queue grows until it is marked, above it the queue
/// falls until the timer lowers the index: the mean lies within a step of the half, and the link is hardly ever idle. How far single samples swing depends
/// on how much a router holds before a mark is seen at the source, and has no closed form.
#[test]
fn injection_settles_at_the_rate_of_the_link() {
    let table = Value::Ints((0..128).collect());
    for router in ROUTERS {
        let given = [
            ("cct", table.clone()),
            ("cct_shift", int(3)),
            ("ccti_timer", Value::Time(20 * US)),
            ("threshold", int(12)),
            ("marking_rate", int(20)),
            ("notification_delay", Value::Time(US / 10)),
        ];
        let finished = done(&half(router.about.name, "infiniband", &given));
        let summary = &finished.summary;
        let job = of(summary, "job-0");
        let name = router.about.name;
        assert!(job.notifications > 100, "{name}: {job:?}");
        // Two senders, one in each direction.
        let used = job.accepted_bytes_per_s.unwrap() / RATE as f64;
        assert!((0.95..=1.0).contains(&used), "{name}: {used}");
        let injection = table_after(&finished, "injection", 2_000 * US);
        let mean = injection.iter().sum::<f64>() / injection.len() as f64;
        assert!((8.0 / 17.0..=8.0 / 15.0).contains(&mean), "{name}: {mean}");
    }
}

/// Column `rate_mean` of rows from an instant on.
fn table_after(finished: &Finished, name: &str, from: u64) -> Vec<f64> {
    let table = table(finished, name);
    let Some(Column::F64(rates)) = table.column("rate_mean") else { panic!("rates") };
    u64s(table, "time_ps").iter().zip(rates).filter(|(t, _)| **t >= from).map(|(_, r)| *r).collect()
}

/// DCQCN on the same pair, with recovery by timers alone: it never rests, but on average it sends what the link takes.
#[test]
fn dcqcn_uses_the_link() {
    let given = [("kmin", int(5_000)), ("kmax", int(50_000)), ("pmax", Value::Real(0.1))];
    let finished = done(&half("window", "dcqcn", &given));
    let job = of(&finished.summary, "job-0");
    let used = job.accepted_bytes_per_s.unwrap() / RATE as f64;
    assert!((0.85..=1.0).contains(&used), "{used}");
    assert!(job.notifications > 20 && job.held_rate_mean.unwrap() > 0.35, "{job:?}");
}

/// A smallest index above 0 slows all flows from the start: after each packet a pause of as many times the packet's time as its entry says. It
/// holds between messages too, however few a terminal has at a time.
#[test]
fn a_smallest_index_slows_single_messages() {
    for messages in [1, 4] {
        let mut setup = switch(2, "window", 64_000);
        setup.jobs = vec![job(&setup, "pair", &[0, 1], ("nearest-neighbour", &[]), 1.0)];
        (setup.until, setup.warmup) = (Until::Time(1_000 * US), 100 * US);
        let table = Value::Ints((0..128).collect());
        let given = [("cct", table), ("ccti_min", int(3)), ("messages", int(messages))];
        let finished = done(&samples::controlled(setup, "infiniband", &given));
        let used = of(&finished.summary, "pair").accepted_bytes_per_s.unwrap() / RATE as f64;
        // Two sources, each at a fourth of its link.
        assert!((0.499..0.501).contains(&used), "{messages}: {used}");
    }
}

/// Without marks a single stream of messages takes the time that it takes without the section: flows change nothing but the order among destinations.
#[test]
fn a_flow_of_its_own_costs_no_time() {
    for router in ROUTERS {
        let mut plain = switch(4, router.about.name, 16_000);
        plain.jobs =
            vec![job(&plain, "ring", &[0, 1, 2, 3], ("nearest-neighbour", &[("count", int(50))]), 0.9)];
        plain.until = Until::WorkloadDone { limit: 1 << 50 };
        plain.packet.adapter_delay = 12_345;
        plain.measure.packets = true;
        let controlled = samples::controlled(plain.clone(), "none", &[]);
        let (without, with) = (done(&plain), done(&controlled));
        let rows = |f: &Finished| {
            [u64s(table(f, "packets"), "created_ps"), u64s(table(f, "packets"), "delivered_ps")]
        };
        assert_eq!(rows(&without), rows(&with), "{}", router.about.name);
        assert_eq!(without.summary.message_latency_ps, with.summary.message_latency_ps);
        assert_eq!(marks(&with), 0);
        assert!(without.summary.congestion_control.is_none());
    }
}

/// Two leaves: six terminals of the first send to one of the second, which sends to itself, too, so that its link is filled seven times; a seventh sends to another one there, and has the link between
/// the leaves in common with them.
fn tree(router: &str, scheme: &str, given: &[(&str, Value)]) -> Setup {
    let dims = Value::Ints(vec![2]);
    let fabric = samples::topology("mesh", &[("dims", dims), ("terminals_per_router", int(8))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let mut links = vec![samples::link(RATE, 20_000, 20_000, 32_000); fabric.classes().len()];
    links[1] = samples::link(2 * RATE, 20_000, 20_000, 32_000);
    let work = samples::traffic("uniform", &[], "constant", 0.1, (16, 1000, links[0].bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, work, 1000);
    setup.packet.router = named(router);
    (setup.packet.packet, setup.packet.chunk) = (1000, 500);
    setup.packet.vcs = 4;
    setup.packet.route_per = RoutePer::Packet;
    setup.check = true;
    setup.until = Until::Time(3_000 * US);
    setup.warmup = 1_500 * US;
    // Ranks 0 and 1: the sink and the victims' ends, which send the other way, where all is free.
    let culprits = to_first(&setup, "culprits", &[8, 0, 1, 2, 3, 4, 5], 1.0);
    let victims = job(&setup, "victims", &[6, 9], ("nearest-neighbour", &[]), 0.6);
    setup.jobs = vec![culprits, victims];
    samples::controlled(setup, scheme, given)
}

#[test]
fn victims_keep_their_throughput() {
    let fast = [("ccti_timer", Value::Time(10 * US)), ("marking_rate", int(3))];
    for router in ROUTERS {
        let name = router.about.name;
        let rates = |scheme: &str, given: &[(&str, Value)]| {
            let finished = done(&tree(name, scheme, given));
            let share = |job| of(&finished.summary, job).accepted_bytes_per_s.unwrap() / RATE as f64;
            let notified = ["victims", "culprits"].map(|job| of(&finished.summary, job).notifications);
            (share("victims"), share("culprits"), notified)
        };
        let (without, congested, none) = rates("none", &[]);
        let (with, controlled, notified) = rates("infiniband", &fast);
        assert_eq!(none, [0, 0]);
        // Two victims, of which the one on the way back is free: 1.2 in all; what the first burst kept back may come besides.
        assert!(with > 1.1 && without < 0.85, "{name}: {with} with, {without} without");
        // The hot spot stays busy, and the victims hear less: only the first burst fills the link that they share.
        assert!(congested > 0.97 && controlled > 0.88, "{name}: {congested} and {controlled}");
        assert!(notified[1] > 100 && notified[0] * 4 < notified[1], "{name}: {notified:?}");
    }
}

/// A dragonfly with a hot spot and others: several packets a message, adaptive routes, tight buffers.
fn hot(router: &str, scheme: &str, given: &[(&str, Value)]) -> Setup {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
    setup.packet.router = named(router);
    setup.packet.vcs = 8;
    setup.packet.route_per = RoutePer::Packet;
    setup.links.iter_mut().for_each(|link| link.vc_buffer = 4096);
    setup.jobs[0].message = Some(2500);
    let some: Vec<u32> = (0..36).map(|n| 2 * n).collect();
    let others: Vec<u32> = (0..36).map(|n| 2 * n + 1).collect();
    let hot_spot = [("hot", Value::Ints(vec![0, 5])), ("share", Value::Real(0.7)), ("count", int(COUNT))];
    let hot = job(&setup, "hot", &some, ("hot-spot", &hot_spot), 0.9);
    let near = job(&setup, "near", &others, ("uniform", &[("count", int(COUNT))]), 0.3);
    setup.jobs = vec![hot, near];
    setup.until = Until::WorkloadDone { limit: 1 << 50 };
    setup.check = true;
    setup.measure.window = 20 * US;
    samples::controlled(setup, scheme, given)
}

fn schemes() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    let infiniband = vec![
        ("ccti_timer", Value::Time(7 * US)),
        ("marking_rate", int(1)),
        ("notification_delay", Value::Time(700_000)),
    ];
    let shared =
        vec![("per", text("service-level")), ("ccti_timer", Value::Time(3 * US)), ("messages", int(3))];
    let dcqcn = vec![
        ("kmin", int(256)),
        ("kmax", int(4_000)),
        ("pmax", Value::Real(0.5)),
        ("notification_interval", Value::Time(5 * US)),
        ("increase_timer", Value::Time(6 * US)),
        ("increase_bytes", int(20_000)),
    ];
    vec![
        ("infiniband", infiniband),
        ("infiniband", shared),
        ("dcqcn", dcqcn),
        ("none", vec![("messages", int(2))]),
    ]
}

#[test]
fn one_answer_however_it_is_spread() {
    for (n, router) in ROUTERS.iter().enumerate() {
        // A scheme for each router, so that all are run.
        for (scheme, given) in schemes().into_iter().cycle().skip(n).take(1) {
            let setup = hot(router.about.name, scheme, &given);
            let one = done(&setup);
            let block = one.summary.congestion_control.clone().unwrap();
            assert_eq!(one.summary.messages.unwrap().delivered, 72 * COUNT);
            assert!(
                scheme == "none" || block.notifications > 50,
                "{} {scheme}: {block:?}",
                router.about.name
            );
            // In many partitions and in pieces; without `NETLOOM_LONG=1` every router in one of both.
            if long() || n % 2 == 0 {
                let partitions = [3, 7, 36][n % 3];
                let mut many = setup.clone();
                many.scheduling = Scheduling::Sequential { partitions };
                assert_eq!(
                    reported(&done(&many)),
                    reported(&one),
                    "{} {scheme} {partitions}",
                    router.about.name
                );
            }
            if !long() && n % 2 == 0 {
                continue;
            }
            let simulated = one.summary.simulated_ps;
            assert_eq!(
                reported(&in_pieces(setup, 4, simulated)),
                reported(&one),
                "{} {scheme} in pieces",
                router.about.name
            );
        }
    }
}

#[test]
fn every_handler_can_be_undone() {
    for (n, router) in ROUTERS.iter().enumerate() {
        // All schemes on the first router, one each on the others.
        for (scheme, given) in schemes().into_iter().cycle().skip(n).take(if n == 0 { 3 } else { 1 }) {
            undone(&hot(router.about.name, scheme, &given), if long() { 5 * US } else { 2 * US });
        }
    }
}

/// A notification that its sender forgets is missed; so the books of notifications are looked at.
#[test]
fn forgotten_notifications_are_found() {
    let mut setup = hot("window", "infiniband", &schemes()[0].1);
    assert!(simulate(&setup, &mut |_| true).is_ok());
    setup.control.as_mut().unwrap().forgets = true;
    let fault = simulate(&setup, &mut |_| true).map(|_| ()).unwrap_err();
    assert!(matches!(fault, Failure::Invariant(ref what) if what.contains("notifications")), "{fault}");
}

/// What does not go together is refused, however the setup was made.
#[test]
fn combinations_that_cannot_be_are_refused() {
    let mut setup = hot("window", "none", &[]);
    setup.resilience = Some(packet::transport::config::Resilience {
        protocol: resilience::Protocol::Dor,
        chances: vec![packet::losses::Chance::default(); 3],
        window: 5,
        timeout: 50 * US,
        backoff: true,
        ack: packet::transport::config::Ack::Packet(41),
        head: 0,
        messages: 4,
        count_duplicates: false,
    });
    let fault = simulate(&setup, &mut |_| true).map(|_| ()).unwrap_err();
    assert!(fault.to_string().contains("congestion control"), "{fault}");
}

/// Programs of ranks run over it, alike in any partitioning: all ranks but the first send to the first, and it to all.
#[test]
fn ranks_of_programs_are_paced_too() {
    let (n, count) = (72u32, if long() { 2 } else { 1 });
    let mut ranks = vec![Rank::default(); n as usize];
    for _ in 0..count {
        for other in 1..n {
            ranks[0].ops.push(recv(other, 3000, 0));
            ranks[other as usize].ops.push(send(0, 3000, 0));
            ranks[0].ops.push(Op { after: After::Start, ..send(other, 700, 0) });
            ranks[other as usize].ops.push(Op { after: After::Start, ..recv(0, 700, 0) });
        }
    }
    for router in ROUTERS {
        let mut setup = hot(router.about.name, "infiniband", &schemes()[0].1);
        setup.jobs.truncate(1);
        setup.jobs[0].work = Work::Program(Arc::new(List::new(ranks.clone())));
        setup.jobs[0].message = None;
        setup.jobs[0].placement = TerminalId::first(n).collect();
        setup.measure.window = 100 * US;
        let one = done(&setup);
        let block = one.summary.congestion_control.clone().unwrap();
        assert_eq!(one.summary.messages.unwrap().in_flight, 0);
        assert!(block.notifications > 5, "{}: {block:?}", router.about.name);
        assert_eq!(
            reported(&in_pieces(setup, 5, one.summary.simulated_ps)),
            reported(&one),
            "{}",
            router.about.name
        );
    }
}
