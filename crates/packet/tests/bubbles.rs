//! Bubbles in the rings of a torus: no deadlock with one virtual channel, where plain cut-through has one; nobody waits where nobody is in the way.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::programs::chain;
use base::{
    index::TerminalId,
    param::{Value, Values},
    threads::{Optimism, Threads},
};
use model::{
    samples::int,
    setup::{Scheduling, Until},
};
use packet::{
    Setup,
    pipeline::{ABOUT, Context, FlowControl, Pipeline, Ratio},
    router::{
        allocator::ALLOCATORS,
        arbiter::Arbiter,
        registry::{clocked, named},
    },
    samples, simulate,
};
use results::summary::{State, Summary};
use std::sync::Arc;
use workload::{
    program::list::{List, Rank, recv, send},
    registry::Work,
};

const US: u64 = 1_000_000;
const NS: u64 = 1_000;
/// Chunks of a packet, and bytes.
const CHUNKS: u32 = 3;
const BYTES: u64 = 64 * CHUNKS as u64;

fn rules() -> Vec<(&'static str, Pipeline)> {
    let plain = Pipeline { flow_control: FlowControl::Bubble, ..Pipeline::DEFAULT };
    let queued = Some(2 * CHUNKS);
    let mut all = vec![
        ("input-queued", Pipeline { vc_allocator: None, ..plain }),
        ("input-queued", Pipeline { arbiter: Arbiter::Age, ..plain }),
        ("input-queued", Pipeline { virtual_output_queues: true, routing: 1, ..plain }),
        ("input-queued", Pipeline { hold_switch: true, routing: 2, vc_allocation: 2, ..plain }),
        ("combined", Pipeline { output_queue: queued, speedup: Ratio(200), ..plain }),
        ("output-queued", Pipeline { output_queue: queued, unlimited_switch: true, ..plain }),
    ];
    all.extend(
        (0..ALLOCATORS.len())
            .map(|n| ("input-queued", Pipeline { vc_allocator: Some(n), switch_allocator: n, ..plain })),
    );
    all
}

/// A torus whose buffers hold two packets, which is the least.
fn torus(dims: &[u64], partition: &str, (router, rules): (&str, Pipeline)) -> Setup {
    let fabric = samples::topology("torus", &[("dims", Value::Ints(dims.to_vec()))]);
    let given = [("partition", Value::Text(partition.to_owned()))];
    let routing = samples::routing(&fabric, "dimension-order", &given);
    let links = vec![samples::link(64_000_000_000, 3 * NS, 4 * NS, 2 * BYTES); 2];
    let bandwidth = links[0].bandwidth;
    let ranks = fabric.terminals();
    let traffic =
        samples::traffic("all-to-all", &[("bursts", int(2))], "constant", 1.0, (ranks, BYTES, bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, BYTES);
    setup.packet.router = clocked(named(router));
    setup.packet.packet = BYTES as u32;
    setup.packet.vcs = setup.routing.vcs();
    setup.packet.pipeline = Some(rules);
    setup.packet.router_delay = 2 * NS;
    setup.until = Until::WorkloadDone { limit: 1_000 * US };
    setup.check = true;
    setup
}

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).expect("a valid setup").summary
}

/// Everybody sends to everybody at full load over the smallest buffers.
#[test]
fn rings_with_bubbles_never_fill() {
    for (n, (router, rules)) in rules().into_iter().enumerate() {
        let dims = [&[6][..], &[5, 4], &[3, 2, 4]][n % 3];
        let setup = torus(dims, "bubble", (router, rules));
        let (summary, ranks) = (run(&setup), u64::from(setup.fabric.terminals()));
        assert_eq!(
            summary.packets.expect("packets").delivered,
            2 * ranks * (ranks - 1),
            "{router} {rules:?}"
        );
        assert_eq!(summary.verdict.state, State::Ok, "{router} {rules:?}: {:?}", summary.verdict);
    }
    // What is refused by name: a channel that waits for the credit of its last packet's tail holds one packet, whatever its buffer.
    let rules =
        Pipeline { wait_for_tail_credit: true, flow_control: FlowControl::Bubble, ..Pipeline::DEFAULT };
    let stuck = run(&torus(&[5, 4], "bubble", ("input-queued", rules)));
    assert!(stuck.packets.expect("packets").delivered < 2 * 20 * 19);
}

/// A ring of eight on which everybody sends three links on, more than its links carry: buffers fill with packets that all want to go on.
fn tornado(flow_control: FlowControl, (router, rules): (&str, Pipeline)) -> Summary {
    let mut setup = torus(&[8], "bubble", (router, Pipeline { flow_control, ..rules }));
    let bytes = (8, BYTES, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("tornado", &[("count", int(40))], "constant", 2.0, bytes, 1);
    run(&setup)
}

/// The rule off by one packet is plain cut-through: the same buffers, routing and traffic, and it stops, with every link of the ring named.
#[test]
fn without_bubbles_the_same_ring_stops() {
    let mut stopped = 0;
    for (router, rules) in rules() {
        let kept = tornado(FlowControl::Bubble, (router, rules));
        assert_eq!(kept.packets.expect("packets").delivered, 8 * 40, "{router} {rules:?}");
        assert_ne!(kept.verdict.state, State::Deadlock, "{router} {rules:?}: {:?}", kept.verdict);
        let stuck = tornado(FlowControl::CutThrough, (router, rules));
        let what = format!("{router} {rules:?}: {:?}", stuck.verdict);
        if stuck.packets.expect("packets").delivered < 8 * 40 {
            assert_eq!(stuck.verdict.state, State::Deadlock, "{what}");
            assert_eq!(stuck.verdict.detail[0].matches(" -> ").count(), 7, "{what}");
            stopped += 1;
        } else {
            // Who sorts packets by output lets those at their end out of the way.
            assert!(rules.virtual_output_queues || router != "input-queued", "{what}");
        }
    }
    assert!(stopped >= 6, "{stopped} rings stopped");
}

/// Ranks of a ring that each send a packet three links on, at once: nobody is in the way of another, so the run takes as long as one packet alone, and as long as with a
/// second virtual channel and plain cut-through.
#[test]
fn bubbles_cost_nothing_where_nobody_waits() {
    let ranks = 7u32;
    let all = |senders: u32| -> Vec<Rank> {
        let from = |r: u32| (r + ranks - 3) % ranks;
        let one = |r: u32| match (r < senders, from(r) < senders) {
            (true, true) => chain(&[send((r + 3) % ranks, BYTES, 0), recv(from(r), BYTES, 0)]),
            (true, false) => chain(&[send((r + 3) % ranks, BYTES, 0)]),
            (false, true) => chain(&[recv(from(r), BYTES, 0)]),
            _ => Rank::default(),
        };
        (0..ranks).map(one).collect()
    };
    let makespan = |senders, partition, rules| {
        let mut setup = torus(&[7], partition, rules);
        setup.jobs[0].message = None;
        setup.jobs[0].placement = (0..ranks).map(TerminalId::new).collect();
        setup.jobs[0].work = Work::Program(Arc::new(List::new(all(senders))));
        run(&setup).jobs[0].makespan_ps.unwrap()
    };
    for (router, rules) in rules() {
        let whole = Pipeline { flow_control: FlowControl::CutThrough, ..rules };
        let alone = makespan(1, "link", (router, whole));
        assert_eq!(makespan(1, "bubble", (router, rules)), alone, "{router} {rules:?}");
        assert_eq!(makespan(ranks, "bubble", (router, rules)), alone, "{router} {rules:?}");
    }
}

#[test]
fn what_leaves_no_bubble_is_refused_by_name() {
    let context = Context { chunks: CHUNKS, chunk: 64, vcs: 1 };
    let shared = || Value::Text("shared".to_owned());
    for (router, key, value) in [
        ("input-queued", "input_buffers", shared()),
        ("combined", "output_buffers", shared()),
        ("input-queued", "wait_for_tail_credit", Value::Bool(true)),
        ("input-queued", "vcs_per_class", Value::Ints(vec![1])),
        ("combined", "output_buffer", int(2 * BYTES - 64)),
    ] {
        let given = |flow_control: &str| {
            let flow_control = Value::Text(flow_control.to_owned());
            let all = |k: &str| match k {
                "flow_control" => Some(flow_control.clone()),
                _ => Some(value.clone()).filter(|_| k == key),
            };
            Pipeline::from_values(router, &Values::complete(ABOUT.params, all), context)
        };
        assert_eq!(given("bubble").unwrap_err()[0].key, key);
        given("virtual-cut-through").expect("it is bubbles that it does not go with");
    }
}

#[test]
fn one_answer_for_every_scheduler() {
    let threads = Threads { count: 2, ..Threads::ONE };
    let partitions = Some(2);
    let optimism = Optimism { stumble: 50, ..Optimism::default() };
    for (n, rules) in rules().into_iter().enumerate().step_by(2) {
        let mut setup = torus(&[4, 3], "bubble", rules);
        let one = run(&setup).without_performance();
        for scheduling in [
            Scheduling::Sequential { partitions: 3 },
            if n % 4 == 0 {
                Scheduling::Optimistic { partitions, threads, optimism }
            } else {
                Scheduling::Conservative { partitions, threads }
            },
        ] {
            setup.scheduling = scheduling;
            assert_eq!(
                run(&setup).without_performance().to_json(),
                one.to_json(),
                "{rules:?} {scheduling:?}"
            );
        }
    }
    let mut setup = torus(&[3, 3], "bubble", rules()[1]);
    setup.until = Until::Time(US);
    crate::common::undone(&setup, 300 * NS);
}
