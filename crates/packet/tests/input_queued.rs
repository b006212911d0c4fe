//! The packet model with clocked input-queued routers: closed forms, one answer for every partitioning, undo, verdicts, and
//! the public curves of BookSim 2.

use crate::common::long;
use base::{index::RankId, param::Value};
use model::{
    samples::int,
    setup::{Measure, Scheduling, Until},
};
use packet::router::{input_queued::InputQueued, registry::named};
use packet::{
    Setup,
    config::{Arbiter, RoutePer},
    network::Network,
    observe::Observer,
    samples, simulate,
    state::PacketDomain,
};
use results::summary::{State, Summary};
use std::sync::Arc;
use workload::traffic::Message;

const US: u64 = 1_000_000;
const NS: u64 = 1_000;

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).expect("a valid setup").summary
}

fn in_partitions(setup: &Setup, partitions: u32) -> (Summary, Vec<results::table::Table>) {
    let mut setup = setup.clone();
    setup.scheduling = Scheduling::Sequential { partitions };
    let done = simulate(&setup, &mut |_| true).expect("a valid setup");
    (done.summary.without_performance(), done.tables)
}

/// Clocked routers on a topology: 1 ns cycles, packets of `chunks` chunks, `vcs` VCs of `buffer` chunks.
fn clocked(
    (topology, params): (&str, &[(&str, Value)]),
    (algorithm, options): (&str, &[(&str, Value)]),
    (chunks, vcs, buffer): (u32, u8, u64),
    (workload, arrival, load): (&str, &str, f64),
) -> Setup {
    let fabric = samples::topology(topology, params);
    let routing = samples::routing(&fabric, algorithm, options);
    let classes = fabric.classes().len();
    let links = vec![samples::link(64_000_000_000, 3 * NS, 4 * NS, 64 * buffer); classes];
    let (bytes, bandwidth) = (u64::from(chunks) * 64, links[0].bandwidth);
    let given: &[(&str, Value)] = if workload == "all-to-all" { &[("bursts", int(1))] } else { &[] };
    let ranks = fabric.terminals();
    let traffic = samples::traffic(workload, given, arrival, load, (ranks, bytes, bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, bytes);
    setup.packet.router = named("input-queued");
    setup.packet.packet = bytes as u32;
    setup.packet.vcs = vcs;
    setup.packet.router_delay = 5 * NS;
    setup.check = true;
    setup
}

fn dims(sizes: &[u64]) -> Vec<(&'static str, Value)> {
    vec![("dims", Value::Ints(sizes.to_vec()))]
}

/// Contention-free: a chunk onto the terminal's link; per router to the next cycle, one cycle, its delay, a chunk and the
/// wire; and the chunks that follow the first, one per cycle.
fn closed_form(setup: &Setup, routers: u32) -> u64 {
    let cycle = NS;
    let mut at = cycle + setup.links[0].latency;
    for r in 0..routers {
        let wire = if r + 1 == routers { setup.links[0].latency } else { setup.links[1].latency };
        at = at.div_ceil(cycle) * cycle + cycle + setup.packet.router_delay + cycle + wire;
    }
    at + u64::from(setup.packet.packet / setup.packet.chunk - 1) * cycle
}

#[test]
fn zero_load_follows_the_closed_form() {
    let single = [("terminals", int(6))];
    for (latency, delay) in [(3 * NS, 5 * NS), (0, 0), (1_300, 5_555), (NS, 7)] {
        for chunks in [1, 16] {
            let size = (chunks, 4, 32);
            let light = ("uniform", "bernoulli", 0.001);
            let mut mesh = clocked(("mesh", &dims(&[4, 3])), ("dimension-order", &[]), size, light);
            let mut switch = clocked(("single-switch", &single), ("minimal", &[]), size, light);
            for (setup, most) in [(&mut mesh, 6), (&mut switch, 1)] {
                setup.links.iter_mut().for_each(|l| l.latency = latency);
                setup.packet.router_delay = delay;
                setup.until = Until::Time(1_000 * US);
                let rows = run(setup).latency_by_hops;
                let expected: Vec<(u32, u64)> = if most == 1 {
                    vec![(1, closed_form(setup, 1))]
                } else {
                    (2..=most).map(|r| (r, closed_form(setup, r))).collect()
                };
                let found: Vec<(u32, u64)> = rows.iter().map(|r| (r.hops, r.min_ps)).collect();
                assert_eq!(found, expected, "latency {latency}, delay {delay}, {chunks} chunks");
            }
        }
    }
}

type Machine = (&'static str, Vec<(&'static str, Value)>, &'static str);

/// Topologies with their routings.
fn machines() -> Vec<Machine> {
    let dragonfly = || {
        vec![
            ("groups", int(9)),
            ("routers_per_group", int(4)),
            ("terminals_per_router", int(2)),
            ("global_ports_per_router", int(2)),
        ]
    };
    vec![
        ("mesh", dims(&[4, 4]), "dimension-order"),
        ("torus", dims(&[5, 4]), "dimension-order"),
        ("fat-tree", vec![("k", int(4)), ("levels", int(3))], "nearest-common-ancestor"),
        ("dragonfly", dragonfly(), "minimal"),
        ("dragonfly", dragonfly(), "progressive-adaptive"),
    ]
}

fn variety() -> Vec<(String, Setup)> {
    let mut all = Vec::new();
    for (topology, params, algorithm) in machines() {
        for (chunks, buffer, arrival, load) in [
            (1, 8, "bernoulli", 0.2),
            (5, 4, "bernoulli", 0.9),
            (5, 1, "poisson", 0.3),
            (3, 8, "constant", 1.0),
        ] {
            let size = (chunks, 8, buffer);
            let mut setup = clocked((topology, &params), (algorithm, &[]), size, ("uniform", arrival, load));
            setup.until = Until::Time(if long() { 4 * US } else { 3 * US / 2 });
            setup.measure = Measure {
                window: 700 * NS,
                loads: false,
                per_port: true,
                packets: true,
                messages: true,
                slow_down: false,
                pairs: true,
                operations: false,
                engine: false,
            };
            setup.packet.route_per = if chunks == 5 { RoutePer::Packet } else { RoutePer::Chunk };
            all.push((
                format!("{topology} {algorithm} {chunks} chunks, buffer {buffer}, {arrival} {load}"),
                setup,
            ));
        }
    }
    // Arrivals and credits a picosecond after a cycle's decisions: at the instant of its event, which must not see them.
    for mut setup in [all[17].1.clone(), all[1].1.clone()] {
        for link in &mut setup.links {
            link.latency += 1;
            link.credit_delay += 1;
        }
        all.push(("a picosecond late".to_owned(), setup));
    }
    // Nothing on the cycle's grid, links of different speeds, a rest of a message in a short packet.
    let mut odd = all[13].1.clone();
    odd.links[0] = samples::link(2 << 30, 29_802, 3_725, 1024);
    odd.links[1] = samples::link(5_637_144_576, 11_353, 1_419, 512);
    odd.links[2] = samples::link(5_046_586_573, 12_681, 1_419, 512);
    let traffic = ("uniform", "poisson", 0.7);
    odd.jobs[0].work =
        samples::traffic(traffic.0, &[], traffic.1, traffic.2, (72, 1060, odd.links[0].bandwidth), 1);
    odd.jobs[0].message = Some(1060);
    odd.until = Until::Time(if long() { 40 * US } else { 12 * US });
    all.push(("odd".to_owned(), odd.clone()));
    odd.jobs[0].work = samples::traffic(
        "ping-pong",
        &[("count", int(if long() { 20 } else { 5 }))],
        "constant",
        1.0,
        (72, 5000, odd.links[0].bandwidth),
        1,
    );
    odd.jobs[0].message = Some(5000);
    odd.until = Until::WorkloadDone { limit: 10_000 * US };
    all.push(("ping-pong".to_owned(), odd));
    all
}

#[test]
fn one_answer_for_every_partitioning() {
    for (n, (name, setup)) in variety().into_iter().enumerate() {
        let (one, tables) = in_partitions(&setup, 1);
        assert!(one.packets.unwrap().delivered > 60, "{name}: {:?}", one.packets);
        let some = [2, 5, u32::MAX];
        for partitions in some.into_iter().filter(|p| long() || *p == some[n % 3]) {
            let (many, others) = in_partitions(&setup, partitions);
            assert_eq!(many.fingerprint, one.fingerprint, "{name} in {partitions} partitions");
            assert_eq!(many.to_json(), one.to_json(), "{name} in {partitions} partitions");
            assert!(others == tables, "{name} in {partitions} partitions: tables differ");
        }
    }
}

#[test]
fn every_handler_can_be_undone() {
    for (name, mut setup) in variety() {
        let end = if setup.links[0].latency > 10 * NS { 4 * US } else { 300 * NS };
        setup.measure = Measure::default();
        {
            let net = Arc::new(Network::new(&setup, 1));
            let mut observer = Observer::new(Arc::clone(&net), 0, end, setup.measure, true);
            let domain = PacketDomain::<InputQueued>::new(Arc::clone(&net), 0);
            let (_, events) = engine::undo_check::run_with_undo(domain, &mut observer, 1, end);
            assert!(events > 100, "{name}: {events} events");
        }
    }
}

/// Chunks of a packet keep to one path and one VC per link, whatever the unit of routing is said to be.
#[test]
fn route_per_chunk_changes_nothing() {
    for (name, mut setup) in variety().into_iter().filter(|(n, _)| n.contains("5 chunks")) {
        let packet = run(&setup);
        setup.packet.route_per = RoutePer::Chunk;
        assert_eq!(run(&setup).fingerprint, packet.fingerprint, "{name}");
    }
}

#[test]
fn all_to_all_is_delivered() {
    for (topology, params, algorithm) in machines() {
        for (chunks, buffer) in [(1, 2), (7, 2), (7, 16)] {
            let traffic = ("all-to-all", "constant", 1.0);
            let mut setup = clocked((topology, &params), (algorithm, &[]), (chunks, 8, buffer), traffic);
            setup.until = Until::WorkloadDone { limit: 1_000 * US };
            let summary = run(&setup);
            let n = u64::from(setup.fabric.terminals());
            let counts = summary.packets.unwrap();
            assert_eq!((counts.delivered, counts.in_flight), (n * (n - 1), 0), "{topology}");
            assert_eq!(summary.verdict.state, State::Ok, "{topology}: {:?}", summary.verdict);
        }
    }
}

/// A ring without datelines deadlocks, and the verdict names the cycle; with datelines the same traffic flows.
#[test]
fn deadlock_names_its_cycle_and_a_near_miss_flows() {
    let ring = |dateline: bool, partitions| {
        let options = [("dateline", Value::Bool(dateline))];
        let traffic = ("bisection", "constant", 1.0);
        let mut setup = clocked(
            ("torus", &dims(&[8])),
            ("dimension-order", &options),
            (16, 1 + u8::from(dateline), 4),
            traffic,
        );
        setup.until = Until::Time(50 * US);
        setup.scheduling = Scheduling::Sequential { partitions };
        run(&setup)
    };
    for partitions in [1, 4] {
        let stuck = ring(false, partitions);
        assert_eq!(stuck.verdict.state, State::Deadlock, "{:?}", stuck.verdict);
        assert!(stuck.verdict.detail[0].contains("router"), "{:?}", stuck.verdict.detail);
        let flows = ring(true, partitions);
        assert_ne!(flows.verdict.state, State::Deadlock, "{:?}", flows.verdict);
        assert!(flows.packets.unwrap().delivered > 10 * stuck.packets.unwrap().delivered);
    }
}

/// Everybody sends to the last router of a row. Where a terminal's chunks meet those that come along the row, `fixed` always
/// serves the row first (lower port) and the first terminal takes all; round robin lets everybody through.
#[test]
fn fixed_priority_starves_and_round_robin_does_not() {
    let row = |arbiter| {
        let mut setup = clocked(
            ("mesh", &dims(&[6])),
            ("dimension-order", &[]),
            (16, 1, 32),
            ("uniform", "constant", 1.0),
        );
        let last = RankId::new(5);
        setup.jobs[0].work = samples::open_loop(move |rank, index, _| {
            (rank != last).then_some(Message { time: index * 16 * NS, destination: last, bytes: 1024 })
        });
        setup.packet.arbiter = arbiter;
        setup.until = Until::Time(400 * US);
        run(&setup)
    };
    let unfair = row(Arbiter::Fixed);
    assert_eq!(unfair.verdict.state, State::Starved, "{:?}", unfair.verdict);
    assert!(unfair.verdict.detail.iter().any(|d| d.contains("terminal 4")), "{:?}", unfair.verdict.detail);
    let fair = row(Arbiter::RoundRobin);
    assert_eq!(fair.verdict.state, State::Saturated, "{:?}", fair.verdict);
}

/// Mean latency in cycles as BookSim counts it, and the verdict, at BookSim's load per node.
///
/// BookSim's uniform traffic includes the source itself: of its 64 packets one turns round in its own router and the others
/// load the network as 63/64 of the load among others do. A packet to oneself takes 6 cycles at any of these loads
/// but for a chance meeting (4 in the router, 2 around it). BookSim also latches a flit for one cycle at the source.
fn booksim(topology: &str, load: f64, cycles: u64) -> (f64, State) {
    let mut setup = samples::booksim_grid(topology, load * 63.0 / 64.0);
    setup.packet.adapter_delay = NS;
    setup.warmup = 4 * US;
    setup.until = Until::Time(setup.warmup + cycles * NS);
    let summary = run(&setup);
    let others = summary.message_latency_ps.expect("messages arrive").mean / 1e3;
    ((63.0 * others + 6.0) / 64.0, summary.verdict.state)
}

/// BookSim 2's public curve of the mesh: within 1 % up to a load of 0.2, where routers hardly interact, and within 2 to 6 % on the
/// bend, where small differences of arbitration count most.
///
/// Measured: below 0.3 % up to 0.2, then our latency is the lower one by 1.1 % (0.3, 0.35), 1.8 % (0.38) and 3.3 % (0.4). One
/// known difference goes that way: VC allocation here gives every free VC that somebody asks for, while BookSim's single
/// iteration can leave some; how much of the gap it makes was not measured.
#[test]
fn the_mesh_follows_booksim() {
    for (load, expected, tolerance) in [
        (0.05, 27.0, 0.01),
        (0.1, 27.2, 0.01),
        (0.2, 27.8, 0.01),
        (0.3, 29.4, 0.02),
        (0.35, 31.2, 0.03),
        (0.38, 34.0, 0.04),
        (0.4, 38.5, 0.06),
    ] {
        if !long() && [0.1, 0.35].contains(&load) {
            continue;
        }
        let (latency, state) = booksim("mesh", load, 16_000);
        let off = latency / expected - 1.0;
        assert!(
            off.abs() < tolerance,
            "load {load}: {latency} cycles, {expected} expected: {:.1} %",
            off * 100.0
        );
        assert_ne!(state, State::Saturated, "load {load}");
    }
    // BookSim saturates between 0.42 and 0.44.
    assert_ne!(booksim("mesh", 0.415, 16_000).1, State::Saturated);
    assert_eq!(booksim("mesh", 0.45, 16_000).1, State::Saturated);
}

/// BookSim 2's torus: within 1 % at a load of 0.05 and 2 % at 0.5 (ours is the lower one by 1 %, as on the mesh).
///
/// BookSim saturates a little above 0.60, this routing at about 0.57: its packets start on the first VC class and pass to the
/// second where they cross the dateline, while BookSim's start on the second if they will cross and fall to the first there.
/// With that rule the same routers carry 0.58 at 33.4 cycles plus one (BookSim: 34.8) and saturate at 0.60.
#[test]
fn the_torus_follows_booksim() {
    for (load, expected, tolerance) in [(0.05, 26.0, 0.01), (0.5, 30.0, 0.02)] {
        let (latency, _) = booksim("torus", load, 16_000);
        let off = latency / expected - 1.0;
        assert!(off.abs() < tolerance, "load {load}: {latency} cycles: {:.1} %", off * 100.0);
    }
    assert_ne!(booksim("torus", 0.55, 16_000).1, State::Saturated);
    assert_eq!(booksim("torus", 0.65, 16_000).1, State::Saturated);
}
