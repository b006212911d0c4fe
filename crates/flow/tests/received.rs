//! What arrives in the measured time: parts of messages too, whenever they began.

mod common;

use base::{
    index::RouterId,
    rng::{Purpose, Stream},
    time::Ps,
};
use common::US;
use fabric::{
    faults::{Faults, degrade},
    graph::Fabric,
    routing::Routing,
};
use flow::{FlowConfig, FlowSetup, rules::Rules, simulate};
use model::{
    samples::int,
    setup::{Change, Until},
};
use packet::samples;
use results::summary::Summary;
use std::sync::Arc;

/// Equal shares, and routers without delay.
fn setup(fabric: &Arc<Fabric>, routing: Arc<dyn Routing>, messages: Vec<(Ps, u32, u32, u64)>) -> FlowSetup {
    let config = FlowConfig { router_delay: 0, ..FlowConfig::new(Rules::plain()) };
    common::setup(fabric, Some(routing), common::list(messages), config)
}

/// Bytes that arrive between two moments of the same run.
fn between(setup: &mut FlowSetup, from: Ps, to: Ps) -> f64 {
    (setup.warmup, setup.until) = (from, Until::Time(to));
    let summary: Summary = simulate(setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}")).summary;
    let accepted = summary.throughput.map_or(0.0, |t| t.accepted_bytes_per_s);
    accepted * (to - from) as f64 * 1e-12
}

/// One message on a ring whose link fails: 1 us of latency for each of three links, 1 ms of bytes, 6 us of latency on the way round, the rest.
#[test]
fn a_part_of_a_message_counts_when_it_arrives() {
    let fabric = samples::topology("torus", &[("dims", base::param::Value::Ints(vec![5]))]);
    let bind = |f: &Arc<Fabric>| samples::routing(f, "shortest-path", &[]);
    let port = fabric.neighbours(RouterId::new(0)).find(|(_, r)| *r == RouterId::new(1)).expect("a ring").0;
    let faults = Faults { links: vec![(RouterId::new(0), port)], ..Faults::default() };
    let left = Arc::new(degrade(&fabric, &faults).expect("a ring bears it").fabric);
    let mut setup = setup(&fabric, bind(&fabric), vec![(0, 0, 1, 4_000_000)]);
    setup.change =
        Some(Change { at: 1003 * US, fabric: Arc::clone(&left), routing: bind(&left), detour: bind(&left) });
    for (from, to, kilobytes) in [
        (0, 3, 0),
        (0, 1003, 1000),
        (500, 2000, 503 + 991),
        (1004, 1008, 0),
        (1005, 1010, 1),
        (3000, 6000, 1009),
        (4009, 6000, 0),
    ] {
        let found = between(&mut setup, from * US, to * US);
        assert!((found - 1000.0 * f64::from(kilobytes)).abs() < 2.0, "{from} to {to} us: {found}");
    }
}

/// Before and after any moment arrives what arrives in all, whatever is under way then.
#[test]
fn what_arrives_before_and_after_a_warm_up_is_all() {
    let dragonfly = samples::dragonfly(72, "minimal", "constant", 0.5).fabric;
    let switch = samples::topology("single-switch", &[("terminals", int(6))]);
    let tree = samples::topology("fat-tree", &[("k", int(4)), ("levels", int(3))]);
    let up = |how: &str| [("up", base::param::Value::Text(how.to_owned()))];
    let cases = [
        (&dragonfly, samples::routing(&dragonfly, "ugal-l", &[])),
        (&switch, samples::routing(&switch, "shortest-path", &[])),
        (&tree, samples::routing(&tree, "nearest-common-ancestor", &up("random"))),
        (&tree, samples::routing(&tree, "nearest-common-ancestor", &up("least-queue"))),
    ];
    let presets = [Rules::plain(), Rules::lv08(), Rules::smpi()];
    for seed in 0..24 {
        let mut random = Stream::new(seed, Purpose::Test, 36);
        let (fabric, routing) = &cases[seed as usize % cases.len()];
        let terminals = u64::from(fabric.terminals());
        let mut messages: Vec<_> = (0..200)
            .map(|_| {
                let (from, to) = (random.below(terminals), random.below(terminals));
                (random.below(400) * US, from as u32, to as u32, 1 + random.below(300_000))
            })
            .collect();
        messages.sort_unstable();
        let mut setup = setup(fabric, Arc::clone(routing), messages);
        setup.config.rules = presets[seed as usize % presets.len()].clone();
        setup.config.accuracy = [0.0, 0.2][random.below(2) as usize];
        let end = 500 * US + random.below(300 * US);
        let warmup = 1 + random.below(end - 1);
        let (before, after) = (between(&mut setup, 0, warmup), between(&mut setup, warmup, end));
        let all = between(&mut setup, 0, end);
        assert!((before + after - all).abs() < 3.0, "seed {seed}: {before} + {after}, {all} in all");
        assert!(after > 0.0, "seed {seed}: links are busy");
    }
}

/// Links that are full all the time carry what they can, however late the measurement begins.
#[test]
fn full_links_accept_all_that_they_carry() {
    let fabric = samples::topology("single-switch", &[("terminals", int(2))]);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let messages = (0..2000).flat_map(|n| [(n * US, 0, 1, 5000), (n * US, 1, 0, 5000)]).collect();
    let mut setup = setup(&fabric, routing, messages);
    for warmup in [10, 500, 1990, 1999] {
        let found = between(&mut setup, warmup * US, 2000 * US);
        let carried = 2.0 * (2000 - warmup) as f64 * 1e3;
        assert!((found - carried).abs() <= 2.0, "{found} of {carried}");
    }
}
