//! The flow model as a whole: closed forms on fabrics, every topology with every routing, programs, failures.

mod common;

use base::{
    index::{RouterId, TerminalId},
    rate::Bandwidth,
    registry::Registered,
    time::Ps,
};
use common::US;
use fabric::{
    faults::{Faults, degrade},
    graph::Fabric,
    registry::{ROUTINGS, TOPOLOGIES, values},
    routing::Routing,
};
use flow::{FlowConfig, FlowSetup, rules::Rules, simulate};
use model::{
    samples::int,
    setup::{Change, Until},
};
use packet::samples;
use results::{
    summary::{State, Summary},
    table::{Column, Table},
};
use std::sync::Arc;
use workload::registry::Work;

/// Flows of equal weight on the given routing.
fn setup(fabric: &Arc<Fabric>, routing: Arc<dyn Routing>, work: Work) -> FlowSetup {
    common::setup(fabric, Some(routing), work, FlowConfig::new(Rules::plain()))
}

fn list(messages: &[(Ps, u32, u32, u64)]) -> Work {
    common::list(messages.to_vec())
}

fn run(setup: &FlowSetup) -> (Summary, Vec<Table>) {
    let done = simulate(setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
    (done.summary.without_performance(), done.tables)
}

/// Latencies by source.
fn latencies(tables: &[Table]) -> Vec<(u32, Ps)> {
    let table = tables.iter().find(|t| t.name() == "messages").expect("asked for");
    let (Some(Column::U32(sources)), Some(Column::U64(times))) =
        (table.column("source"), table.column("latency_ps"))
    else {
        panic!("columns have these types")
    };
    let mut all: Vec<(u32, Ps)> = sources.iter().copied().zip(times.iter().copied()).collect();
    all.sort_unstable();
    all
}

fn fat_tree(k: u64) -> (Arc<Fabric>, Arc<dyn Routing>) {
    let fabric = samples::topology("fat-tree", &[("k", int(k)), ("levels", int(2))]);
    let routing = samples::routing(&fabric, "d-mod-k", &[]);
    (fabric, routing)
}

#[test]
fn one_message_takes_its_latency_and_its_bytes() {
    let (fabric, routing) = fat_tree(4);
    let mut setup = setup(&fabric, routing, list(&[(5 * US, 0, 15, 1_000_000)]));
    setup.config.router_delay = 90_000;
    let (summary, tables) = run(&setup);
    // Four links, three routers, 1 ms.
    assert_eq!(latencies(&tables), [(0, 4 * US + 3 * 90_000 + 1000 * US)]);
    assert_eq!(summary.simulated_ps, 1009 * US + 270_000);
    assert_eq!((summary.bytes_delivered, summary.hops_mean), (1_000_000, Some(3.0)));
}

/// With d-mod-k a shift meets nobody: everybody has all of its links.
#[test]
fn permutations_on_a_full_bisection_fat_tree_are_free_of_contention() {
    let (fabric, routing) = fat_tree(8);
    for shift in [1, 8, 13, 63] {
        let messages: Vec<_> = (0..64).map(|s| (0, s, (s + shift) % 64, 2_000_000)).collect();
        let (_, tables) = run(&setup(&fabric, Arc::clone(&routing), list(&messages)));
        for (source, latency) in latencies(&tables) {
            let links = if source / 8 == (source + shift) % 64 / 8 { 2 } else { 4 };
            assert_eq!(latency, links * US + 2000 * US, "shift {shift}, source {source}");
        }
    }
}

#[test]
fn an_incast_shares_the_last_link() {
    let fabric = samples::topology("single-switch", &[("terminals", int(16))]);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let messages: Vec<_> = (1..16).map(|s| (0, s, 0, 1_000_000)).collect();
    let (summary, tables) = run(&setup(&fabric, routing, list(&messages)));
    assert!(latencies(&tables).iter().all(|l| l.1 == 2 * US + 15_000 * US));
    let links = summary.links.expect("links were used");
    assert!((links.max_utilisation - 15_000.0 / 15_002.0).abs() < 1e-12);
}

/// 1 MB at 1 GB/s, at a quarter from 504 us on, standing still from 1504 us to 2504 us.
#[test]
fn bandwidths_change_on_any_fabric() {
    let (fabric, routing) = fat_tree(4);
    let mut setup = setup(&fabric, routing, list(&[(0, 0, 15, 1_000_000)]));
    let texts = ["tree at 504 us = 250 MB/s", "0:0 at 1504 us = 0", "0:0 at 2504 us = 1 GB/s"];
    let texts: Vec<String> = texts.iter().map(|t| (*t).to_owned()).collect();
    setup.config.changes = flow::changes::read(&texts, &fabric).unwrap_or_default();
    let (_, tables) = run(&setup);
    // 500 kB, 250 kB, nothing, 250 kB.
    assert_eq!(latencies(&tables), [(0, (4 + 500 + 1000 + 1000 + 1000) * US)]);
}

#[test]
fn ping_pong_answers_at_once() {
    let fabric = samples::topology("single-switch", &[("terminals", int(2))]);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let bandwidth = Bandwidth::new(1_000_000_000, 1).expect("positive");
    let given = [("count", int(10)), ("partners", base::param::Value::Text("fixed".to_owned()))];
    let work = samples::traffic("ping-pong", &given, "constant", 1.0, (2, 500, bandwidth), 1);
    let (summary, _) = run(&setup(&fabric, Arc::clone(&routing), work));
    assert_eq!(summary.jobs[0].makespan_ps, Some(20 * (2 * US + 500_000)));
    // Both ping at once over cables with two directions: twice the messages in the same time.
    let work = samples::traffic("ping-pong", &given[..1], "constant", 1.0, (2, 500, bandwidth), 1);
    let (summary, _) = run(&setup(&fabric, routing, work));
    assert_eq!(summary.jobs[0].makespan_ps, Some(20 * (2 * US + 500_000)));
    assert_eq!(summary.messages.map(|m| m.delivered), Some(40));
}

/// Half-duplex cables: opposite flows share.
#[test]
fn half_duplex_directions_share_a_cable() {
    let fabric = samples::topology("single-switch", &[("terminals", int(2))]);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let mut setup = setup(&fabric, routing, list(&[(0, 0, 1, 1_000_000), (0, 1, 0, 1_000_000)]));
    assert_eq!(latencies(&run(&setup).1), [(0, 1002 * US), (1, 1002 * US)]);
    setup.config.half_duplex = true;
    assert_eq!(latencies(&run(&setup).1), [(0, 2002 * US), (1, 2002 * US)]);
}

/// A routing for every topology, every topology for a routing: all messages arrive, twice alike.
#[test]
fn every_routing_that_finds_a_path_carries_flows() {
    let mut pairs = 0;
    for topology in TOPOLOGIES {
        for sample in topology.small {
            let built = (topology.build)(&values(topology.about.params, sample));
            let fabric = Arc::new(built.unwrap_or_else(|p| panic!("{p:?}")));
            let terminals: Vec<TerminalId> = fabric.reachable().collect();
            let n = terminals.len() as u32;
            let messages: Vec<_> = (0..n)
                .flat_map(|s| [(0, s, (s + 1) % n, 1000), (US, s, (s + n / 2) % n, 70_000)])
                .filter(|m| m.1 != m.2)
                .collect();
            for entry in ROUTINGS.iter().filter(|r| r.about().params.iter().all(|p| p.default.is_some())) {
                let Ok(routing) = (entry.build)(Arc::clone(&fabric), &values(entry.about.params, &[])) else {
                    continue;
                };
                let name = format!("{} {}", topology.about.name, entry.about.name);
                let setup = setup(&fabric, Arc::from(routing), list(&messages));
                let (first, tables) = run(&setup);
                assert_eq!(first.verdict.state, State::Ok, "{name}: {:?}", first.verdict);
                assert_eq!(first.messages.expect("counted").delivered, messages.len() as u64, "{name}");
                let (second, again) = run(&setup);
                assert!(first == second && tables == again, "{name}: two runs differ");
                pairs += 1;
            }
        }
    }
    assert!(pairs > 60, "{pairs}");
}

/// A program's large message asks first: request, grant, data.
#[test]
fn rendezvous_takes_three_messages() {
    let fabric = samples::topology("single-switch", &[("terminals", int(2))]);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let bandwidth = Bandwidth::new(1_000_000_000, 1).expect("positive");
    let given = [
        ("operation", base::param::Value::Text("bcast".to_owned())),
        ("vector", int(100_000)),
        ("iterations", int(1)),
    ];
    let work = samples::traffic("collective", &given, "constant", 1.0, (2, 0, bandwidth), 1);
    let mut setup = setup(&fabric, routing, work);
    setup.config.eager = 100_000;
    let eager = run(&setup).0;
    assert_eq!(eager.jobs[0].makespan_ps, Some(2 * US + 100 * US));
    setup.config.eager = 99_999;
    let asked = run(&setup).0;
    assert_eq!(asked.jobs[0].makespan_ps, Some(6 * US + 32_000 + 100 * US));
    assert_eq!(asked.messages.expect("counted").delivered, 3);
}

/// A ring of routers loses the link that a message is on: it goes the other way round with what is left.
#[test]
fn a_flow_on_a_failed_link_takes_another_path() {
    let fabric = samples::topology("torus", &[("dims", base::param::Value::Ints(vec![5]))]);
    let bind = |f: &Arc<Fabric>| samples::routing(f, "shortest-path", &[]);
    let port = fabric.neighbours(RouterId::new(0)).find(|(_, r)| *r == RouterId::new(1)).expect("a ring").0;
    let faults = Faults { links: vec![(RouterId::new(0), port)], ..Faults::default() };
    let left = Arc::new(degrade(&fabric, &faults).expect("a ring bears it").fabric);
    let mut setup = setup(&fabric, bind(&fabric), list(&[(0, 0, 1, 4_000_000)]));
    // Up, one link, down: 3 us; it fails when 1 ms of sharing is over.
    let change = |at| Change { at, fabric: Arc::clone(&left), routing: bind(&left), detour: bind(&left) };
    setup.change = Some(change(1003 * US));
    assert_eq!(latencies(&run(&setup).1), [(0, 1003 * US + 6 * US + 3000 * US)]);
    setup.change = Some(change(5000 * US));
    assert_eq!(latencies(&run(&setup).1), [(0, 4003 * US)]);
}

#[test]
fn too_many_flows_end_the_run_by_name() {
    let fabric = samples::topology("single-switch", &[("terminals", int(4))]);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let messages: Vec<_> = (0..100).map(|n| (n, 1, 0, 1_000_000)).collect();
    let mut setup = setup(&fabric, routing, list(&messages));
    setup.config.max_flows = 50;
    // Whether the workload decides the end or a time does: nothing is simulated beyond the message that was too many, nor reported.
    for until in [setup.until, Until::Time(20_000 * US)] {
        setup.until = until;
        let summary = run(&setup).0;
        assert_eq!(summary.verdict.state, State::Incomplete);
        assert!(summary.verdict.flags.iter().any(|f| f == "saturated"), "{:?}", summary.verdict);
        assert!(summary.simulated_ps < US, "{until:?}: {}", summary.simulated_ps);
    }
}

#[test]
fn use_of_links_is_reported_by_window() {
    let fabric = samples::topology("single-switch", &[("terminals", int(2))]);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let mut setup = setup(&fabric, routing, list(&[(0, 0, 1, 1_000_000)]));
    setup.measure.window = 100 * US;
    let tables = run(&setup).1;
    let series = tables.iter().find(|t| t.name() == "series").expect("always there");
    let (Some(Column::U64(times)), Some(Column::F64(values)), Some(Column::Text(what))) =
        (series.column("time_ps"), series.column("value"), series.column("quantity"))
    else {
        panic!("columns have these types")
    };
    let used: f64 = what.iter().zip(values).filter(|(w, _)| *w == "link_utilisation").map(|(_, v)| v).sum();
    // Two links for 1 ms: ten windows' worth each.
    assert!((used - 20.0).abs() < 1e-6, "{used}");
    assert_eq!(times.iter().max(), Some(&(1000 * US)));
}

/// A routing that draws finds a way per message, and gives it back: random ways spread what d-mod-k would pile up.
#[test]
fn random_paths_are_found_per_message() {
    let (fabric, fixed) = fat_tree(4);
    let random = samples::routing(&fabric, "valiant", &[]);
    let messages: Vec<_> =
        (0..50).flat_map(|n| (0..16).map(move |s| (n * 10 * US, s, (s + 4) % 16, 1000))).collect();
    let of = |routing: &Arc<dyn Routing>| run(&setup(&fabric, Arc::clone(routing), list(&messages))).0;
    let (straight, drawn) = (of(&fixed), of(&random));
    assert_eq!(drawn.messages.expect("counted").delivered, 800);
    assert_ne!(straight.fingerprint, drawn.fingerprint);
    assert_eq!(of(&random), drawn);
}

/// Uniform traffic of 10 kB messages on eight terminals of one switch.
fn uniform(load: f64, count: u64, until: Until) -> FlowSetup {
    let fabric = samples::topology("single-switch", &[("terminals", int(8))]);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let count = [("count", base::param::Value::Int(count))];
    let rate = Bandwidth::new(1_000_000_000, 1).expect("a rate");
    let work = samples::traffic("uniform", &count, "poisson", load, (8, 10_000, rate), 1);
    FlowSetup { until, ..setup(&fabric, routing, work) }
}

#[test]
fn links_that_cannot_keep_up_are_reported_and_a_near_miss_is_not() {
    let (open, done) = (Until::Time(4_000 * US), Until::WorkloadDone { limit: 1 << 58 });
    for (load, count, until, state) in [
        (3.0, 0, open, State::Saturated),
        (0.5, 0, open, State::Ok),
        (3.0, 400, done, State::Saturated),
        (0.5, 400, done, State::Ok),
        (3.0, 2, done, State::Ok),
    ] {
        let summary = run(&uniform(load, count, until)).0;
        let verdict = &summary.verdict;
        assert_eq!(verdict.state, state, "{load} {count}: {verdict:?} {:?}", summary.throughput);
    }
}

#[test]
fn a_message_on_one_path_of_many_is_reported() {
    let fabric = samples::dragonfly(72, "minimal", "constant", 0.5).fabric;
    for (routing, divided, flagged) in [
        ("minimal", true, false),
        ("valiant", true, false),
        ("valiant", false, true),
        ("ugal-l", true, false),
        ("ugal-l", false, true),
    ] {
        let routing = samples::routing(&fabric, routing, &[]);
        let mut setup = setup(&fabric, routing, list(&[(0, 0, 60, 1_000_000)]));
        setup.config.divided = divided;
        let verdict = run(&setup).0.verdict;
        assert_eq!(verdict.flags.iter().any(|f| f == "single-path"), flagged, "{verdict:?}");
        assert_eq!(verdict.state, State::Ok);
    }
}

/// How many messages would be divided over too many links is reported.
#[test]
fn messages_on_too_wide_routes_take_one_path_and_are_counted() {
    let fabric = samples::dragonfly(72, "minimal", "constant", 0.5).fabric;
    let messages: Vec<_> = (0..5).map(|n| (0, n, 60 + n % 2, 1_000_000)).collect();
    for (max_links, wide) in [(50, true), (4096, false)] {
        let routing = samples::routing(&fabric, "valiant", &[]);
        let mut setup = setup(&fabric, routing, list(&messages));
        setup.config.max_links = max_links;
        let verdict = run(&setup).0.verdict;
        let flagged = |flag: &str| verdict.flags.iter().any(|f| f == flag);
        assert_eq!((flagged("single-path"), flagged("divided-evenly")), (wide, !wide), "{verdict:?}");
        let reported = verdict.detail.iter().any(|d| d.contains("5 messages") && d.contains("50 links"));
        assert_eq!(reported, wide, "{verdict:?}");
    }
}

#[test]
fn an_accuracy_is_reported_as_it_was_written() {
    let (fabric, routing) = fat_tree(4);
    let mut setup = setup(&fabric, routing, list(&[(0, 0, 5, 1_000_000), (0, 1, 5, 1_000_000)]));
    for (accuracy, text) in [(0.07, "\"7 %\""), (0.003, "\"0.3 %\""), (0.29, "\"29 %\"")] {
        setup.config.accuracy = accuracy;
        let detail = run(&setup).0.verdict.detail;
        assert!(detail.iter().any(|d| d.contains(text)), "{detail:?}");
    }
}

/// Flows of one leaf climb by all its ports at once, whoever is beside them; by one port each they would meet.
#[test]
fn a_message_flows_over_all_ancestors() {
    let fabric = samples::topology("fat-tree", &[("k", int(4)), ("levels", int(2))]);
    let messages: Vec<_> = (0..4).map(|n| (0, n, 12 + (n + 1) % 4, 1_000_000)).collect();
    let mut least = 0;
    for (up, how) in [("random", "divided-evenly"), ("least-queue", "divided-by-load")] {
        let up = [("up", base::param::Value::Text(up.to_owned()))];
        let routing = samples::routing(&fabric, "nearest-common-ancestor", &up);
        let summary = run(&setup(&fabric, routing, list(&messages))).0;
        assert!(summary.verdict.flags.iter().any(|f| f == how));
        assert_eq!(summary.latency_by_hops.len(), 1);
        // All get a whole link, which is what four of them need.
        let makespan = summary.jobs[0].makespan_ps.unwrap_or(0);
        assert!(least == 0 || least == makespan, "{least} {makespan}");
        least = makespan;
    }
    // A host link alone would take as long.
    let routing = samples::routing(&fabric, "nearest-common-ancestor", &[]);
    let alone = run(&setup(&fabric, routing, list(&messages[..1]))).0;
    assert_eq!(alone.jobs[0].makespan_ps, Some(least));
}

/// Messages at random times between random terminals: sizes of one packet to hundreds.
fn random_list(terminals: u32, seed: u64) -> Vec<(Ps, u32, u32, u64)> {
    let mut random = base::rng::Stream::new(seed, base::rng::Purpose::Test, 31);
    let mut below = |n: u32| random.below(u64::from(n)) as u32;
    let mut at = vec![0; terminals as usize];
    let messages = (0..300).map(|_| {
        let from = below(terminals);
        let to = (from + 1 + below(terminals - 1)) % terminals;
        at[from as usize] += u64::from(below(60)) * US;
        (at[from as usize], from, to, 1 + (1 << below(19)) + u64::from(below(1000)))
    });
    messages.collect()
}

/// Adaptive routings under failing links, acknowledgements, half duplex, windows and late shares: the run's own check holds (each message arrives once and not
/// before its terminal's link lets it), shares stay within capacities, and a second run is the same.
#[test]
fn messages_that_are_divided_by_load_arrive_once_and_not_too_early() {
    let dragonfly = samples::dragonfly(72, "minimal", "constant", 0.5).fabric;
    let torus = samples::topology("torus", &[("dims", base::param::Value::Ints(vec![4, 4]))]);
    let tree = samples::topology("fat-tree", &[("k", int(4)), ("levels", int(3))]);
    let least = [("up", base::param::Value::Text("least-queue".to_owned()))];
    let cases = [
        (&dragonfly, samples::routing(&dragonfly, "progressive-adaptive", &[])),
        (&dragonfly, samples::routing(&dragonfly, "ugal-l", &[])),
        (&dragonfly, samples::routing(&dragonfly, "ugal-g", &[])),
        (&torus, samples::routing(&torus, "minimal-adaptive", &[])),
        (&tree, samples::routing(&tree, "nearest-common-ancestor", &least)),
    ];
    let mut seed = 0;
    for (fabric, routing) in cases {
        for (accuracy, rules, half_duplex) in
            [(0.0, Rules::plain(), false), (0.2, Rules::plain(), false), (0.0, Rules::lv08(), true)]
        {
            seed += 1;
            let messages = random_list(fabric.terminals(), seed);
            let mut setup = setup(fabric, Arc::clone(&routing), list(&messages));
            setup.config.rules = rules;
            (setup.config.accuracy, setup.config.half_duplex) = (accuracy, half_duplex);
            let (summary, _) = run(&setup);
            let delivered = summary.messages.expect("messages were sent").delivered;
            assert_eq!(delivered, messages.len() as u64, "seed {seed}");
            let flags = &summary.verdict.flags;
            assert!(flags.iter().any(|f| f == "divided-by-load"), "seed {seed}: {flags:?}");
            assert!(
                flags.iter().all(|f| f != "single-path" && f != "divided-evenly"),
                "seed {seed}: {flags:?}"
            );
            setup.measure.window = 7 * US;
            assert_eq!(
                run(&setup).0.fingerprint,
                summary.fingerprint,
                "seed {seed}: windows change something"
            );
        }
    }
}

/// A whole group sends to the next, over one cable: by load most of it goes other ways, and its time comes near that of Valiant's even spread.
#[test]
fn divisions_follow_the_load() {
    let fabric = samples::dragonfly(72, "minimal", "constant", 0.5).fabric;
    let messages: Vec<_> = (0..8).map(|n| (0, n, 8 + n, 1_000_000)).collect();
    let makespan = |routing: &str, divided: bool| {
        let routing = samples::routing(&fabric, routing, &[]);
        let mut setup = setup(&fabric, routing, list(&messages));
        setup.config.divided = divided;
        run(&setup).0.jobs[0].makespan_ps.unwrap_or(0)
    };
    let [minimal, valiant] = ["minimal", "valiant"].map(|routing| makespan(routing, true));
    for routing in ["ugal-l", "ugal-g", "progressive-adaptive"] {
        let by_load = makespan(routing, true);
        assert!(by_load < minimal / 2 && by_load < 3 * valiant, "{routing}: {by_load} {minimal} {valiant}");
    }
    // Beside nobody no packet has a reason to leave the shortest way, but for the packets before it.
    let alone = [(0, 0, 8, 1_000_000)];
    let routing = samples::routing(&fabric, "progressive-adaptive", &[]);
    let summary = run(&setup(&fabric, routing, list(&alone))).0;
    let makespan = summary.jobs[0].makespan_ps.unwrap_or(0);
    assert!((1000 * US..1010 * US).contains(&makespan), "{makespan}");
}

/// A message of one packet takes one way, as the routing has it.
#[test]
fn one_packet_is_not_divided() {
    let fabric = samples::topology("fat-tree", &[("k", int(4)), ("levels", int(2))]);
    let up = [("up", base::param::Value::Text("least-queue".to_owned()))];
    let routing = samples::routing(&fabric, "nearest-common-ancestor", &up);
    let messages: Vec<_> = (0..4).map(|n| (0, n, 12 + n, 2000)).collect();
    let (summary, tables) = run(&setup(&fabric, routing, list(&messages)));
    // Four of a leaf at once, each on a port of its own: latency and bytes alone.
    assert!(latencies(&tables).iter().all(|l| l.1 == 4 * US + 2 * US), "{:?}", latencies(&tables));
    assert_eq!(summary.latency_by_hops.len(), 1);
}
