//! Heads that ask for several outputs at once: minimal adaptive routing with escape channels under every scheduler, in every clocked architecture, saturated and to the end.

use crate::common::long;
use base::{
    param::Value,
    threads::{Optimism, Threads},
};
use model::{
    samples::int,
    setup::{Scheduling, Until},
};
use packet::{
    Setup,
    pipeline::{FlowControl, Pipeline, Ratio},
    router::{
        allocator::ALLOCATORS,
        registry::{clocked, named},
    },
    samples, simulate,
};
use results::summary::{State, Summary};

const US: u64 = 1_000_000;
const NS: u64 = 1_000;

fn rules() -> Vec<(&'static str, Pipeline)> {
    let plain = Pipeline::DEFAULT;
    let (whole, queued) = (FlowControl::CutThrough, Some(6));
    let mut all = vec![
        ("input-queued", Pipeline { vcs_per_class: None, flow_control: whole, ..plain }),
        ("input-queued", Pipeline { wait_for_tail_credit: true, ..plain }),
        ("input-queued", Pipeline { hold_switch: true, routing: 2, vc_allocation: 2, ..plain }),
        ("combined", Pipeline { output_queue: queued, speedup: Ratio(200), ..plain }),
        ("output-queued", Pipeline { output_queue: queued, unlimited_switch: true, ..plain }),
    ];
    let each = (0..ALLOCATORS.len())
        .map(|n| ("input-queued", Pipeline { vc_allocator: Some(n), switch_allocator: n, ..plain }));
    all.extend(each);
    all
}

fn setup(n: usize, (router, rules): (&str, Pipeline), (workload, arrival, load): (&str, &str, f64)) -> Setup {
    let (topology, dims) =
        [("mesh", vec![4, 3]), ("torus", vec![4, 4]), ("torus", vec![3, 2, 3])][n % 3].clone();
    let fabric = samples::topology(topology, &[("dims", Value::Ints(dims))]);
    let escape = [("deadlock", Value::Text("escape".to_owned()))];
    let routing = samples::routing(&fabric, "minimal-adaptive", &escape);
    let links = vec![samples::link(64_000_000_000, 3 * NS, 4 * NS, 64 * 6); 2];
    let bandwidth = links[0].bandwidth;
    let given: &[(&str, Value)] = if workload == "all-to-all" { &[("bursts", int(1))] } else { &[] };
    let chunks = [5, 1, 3][n / 3 % 3];
    let (ranks, bytes) = (fabric.terminals(), 64 * chunks);
    let traffic = samples::traffic(workload, given, arrival, load, (ranks, bytes, bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, bytes);
    setup.packet.router = clocked(named(router));
    setup.packet.packet = bytes as u32;
    // One escape channel at least, the others adaptive: as BookSim divides them.
    setup.packet.vcs = 6;
    let mut counts = [0; 16];
    counts[..setup.routing.vcs() as usize].copy_from_slice(if topology == "mesh" {
        &[1, 5]
    } else {
        &[1, 1, 4]
    });
    setup.packet.pipeline = Some(Pipeline { vcs_per_class: Some(counts), ..rules });
    setup.packet.router_delay = 2 * NS;
    setup.check = true;
    setup
}

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).expect("a valid setup").summary
}

#[test]
fn everything_arrives_without_deadlock() {
    for (n, rules) in rules().into_iter().enumerate() {
        let mut setup = setup(n, rules, ("all-to-all", "constant", 1.0));
        setup.until = Until::WorkloadDone { limit: 1_000 * US };
        let summary = run(&setup);
        let ranks = u64::from(setup.fabric.terminals());
        assert_eq!(summary.packets.expect("packets").delivered, ranks * (ranks - 1), "{n} {rules:?}");
        assert_eq!(summary.verdict.state, State::Ok, "{n} {rules:?}: {:?}", summary.verdict);
    }
}

#[test]
fn one_answer_for_every_scheduler() {
    let threads = Threads { count: 2, ..Threads::ONE };
    let optimism = Optimism { stumble: 50, ..Optimism::default() };
    for (n, rules) in rules().into_iter().enumerate() {
        let mut setup = setup(n, rules, ("uniform", "poisson", if n % 2 == 0 { 0.9 } else { 0.3 }));
        setup.until = Until::Time(2 * US);
        let one = run(&setup).without_performance();
        assert_ne!(one.verdict.state, State::Deadlock, "{n} {rules:?}");
        let partitions = Some(2);
        let both = [
            Scheduling::Sequential { partitions: 3 },
            if n % 2 == 0 {
                Scheduling::Optimistic { partitions, threads, optimism }
            } else {
                Scheduling::Conservative { partitions, threads }
            },
        ];
        // Without `NETLOOM_LONG=1` one of both, in turns.
        for (_, scheduling) in both.into_iter().enumerate().filter(|(k, _)| long() || *k == n / 2 % 2) {
            setup.scheduling = scheduling;
            let many = run(&setup).without_performance();
            assert_eq!(many.to_json(), one.to_json(), "{n} {rules:?} {scheduling:?}");
        }
    }
    crate::common::undone(&setup(1, rules()[1], ("uniform", "poisson", 0.7)), 500 * NS);
}

/// BookSim 2, `min_adapt` with 4 virtual channels of 8 flits on `mesh` k = 5, uniform, 0.5 flits a cycle.
const BOOKSIM: [(&str, f64); 4] = [
    ("separable-input-first", 21.93),
    ("separable-output-first", 21.81),
    ("wavefront", 22.15),
    // It does not look at an input's order.
    ("islip", 42.24),
];

/// Mean latency in cycles of BookSim's `min_adapt` on a mesh of 5 x 5 at half load.
fn half_loaded(vc_allocator: usize) -> f64 {
    let fabric = samples::topology("mesh", &[("dims", Value::Ints(vec![5, 5]))]);
    let given = [("deadlock", "escape"), ("outputs", "first")];
    let given = given.map(|(key, word)| (key, Value::Text(word.to_owned())));
    let routing = samples::routing(&fabric, "minimal-adaptive", &given);
    let links = vec![samples::link(64_000_000_000, 0, 4 * NS, 64 * 8); 2];
    let size = (25, 64, links[0].bandwidth);
    let to_self = [("to_self", Value::Bool(true))];
    let traffic = samples::traffic("uniform", &to_self, "bernoulli", 0.5, size, 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, 64);
    setup.packet.router = clocked(named("input-queued"));
    (setup.packet.packet, setup.packet.vcs) = (64, 4);
    (setup.packet.router_delay, setup.packet.adapter_delay) = (2 * NS, NS);
    let mut counts = [0; 16];
    counts[..2].copy_from_slice(&[1, 3]);
    let rules =
        Pipeline { vc_allocator: Some(vc_allocator), vcs_per_class: Some(counts), ..Pipeline::DEFAULT };
    setup.packet.pipeline = Some(rules);
    setup.warmup = 2 * US;
    setup.until = Until::Time(42 * US);
    run(&setup).message_latency_ps.expect("messages arrive").mean / 1e3
}

/// An input that has a choice takes an adaptive channel: whoever is in the only escape channel stays there.
#[test]
fn escape_channels_come_last_where_an_input_ranks() {
    for (name, booksim) in BOOKSIM {
        let n = ALLOCATORS.iter().position(|entry| entry.about.name == name).expect("registered");
        let found = half_loaded(n);
        assert!((found / booksim - 1.0).abs() < 0.03, "{name}: {found} beside {booksim}");
    }
}
