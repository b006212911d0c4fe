//! Service classes: closed forms on one link, victims of a hot spot, one answer for every scheduler, undo, and what is refused.

use crate::common::long;
use base::{
    index::TerminalId,
    param::{Value, Values},
    threads::{Optimism, Threads},
};
use model::{
    samples::int,
    setup::{JobSetup, Scheduling, Until},
};
use packet::{
    Setup,
    pipeline::{FlowControl, Pipeline, Ratio, Speculation},
    router::registry::{clocked, named},
    samples,
    services::classes::{ABOUT, Order, Services},
    simulate,
};
use results::{
    summary::{ServiceClass, Summary},
    table::Column,
};
use workload::registry::Work;

const US: u64 = 1_000_000;
const NS: u64 = 1_000;

fn services(order: Order, caps: [u32; 2]) -> Services {
    let names = vec!["urgent".to_owned(), "rest".to_owned()];
    Services { names, vcs: vec![4, 4], order, caps: caps.to_vec(), of_job: vec![0, 1] }
}

fn job(name: &str, work: Work, nodes: &[u32], message: u64) -> JobSetup {
    JobSetup {
        name: name.to_owned(),
        work,
        placement: nodes.iter().map(|&n| TerminalId::new(n)).collect(),
        message: Some(message),
        start: 0,
        compute_ppb: JobSetup::COMPUTE_AS_IS,
    }
}

/// Two routers of five nodes and the link between them, over which job 0 sends packets of a chunk from one node to another, job 1 packets of five chunks from four
/// nodes to four others, both in both directions.
fn lane((router, rules): (&str, Pipeline), classes: Services, loads: [f64; 2]) -> Setup {
    let size = [("routers", int(2)), ("terminals_per_router", int(5))];
    let fabric = samples::topology("parking-lot", &size);
    let routing = samples::routing(&fabric, "shortest-path", &[]);
    let links = vec![
        samples::link(64_000_000_000, 3 * NS, 4 * NS, 64 * 64),
        samples::link(64_000_000_000, 9 * NS, 10 * NS, 64 * 64),
    ];
    let bandwidth = links[0].bandwidth;
    let traffic = |arrival, load, ranks, bytes| {
        samples::traffic("bisection", &[], arrival, load, (ranks, bytes, bandwidth), 1)
    };
    let few = traffic("poisson", loads[0], 2, 64);
    let many = traffic("constant", loads[1], 8, 320);
    let mut setup = samples::setup(fabric, routing, links, few.clone(), 64);
    setup.jobs = vec![job("few", few, &[0, 5], 64), job("many", many, &[1, 2, 3, 4, 6, 7, 8, 9], 320)];
    setup.packet.router = clocked(named(router));
    setup.packet.packet = 320;
    setup.packet.vcs = 8;
    setup.packet.router_delay = 2 * NS;
    setup.packet.pipeline = Some(rules);
    setup.services = Some(classes);
    setup.check = true;
    setup.warmup = 10 * US;
    setup.until = Until::Time(if long() { 70 * US } else { 40 * US });
    setup
}

const PLAIN: Pipeline = Pipeline { output_buffer: 1, ..Pipeline::DEFAULT };

fn routers() -> Vec<(&'static str, Pipeline)> {
    let whole = FlowControl::CutThrough;
    let queued = Pipeline { output_queue: Some(6), speedup: Ratio(200), ..Pipeline::DEFAULT };
    vec![
        ("input-queued", PLAIN),
        ("input-queued", Pipeline { speculation: Speculation::Yielding, ..PLAIN }),
        ("input-queued", Pipeline { speculation: Speculation::Equal, switch_allocator: 1, ..PLAIN }),
        ("input-queued", Pipeline { virtual_output_queues: true, flow_control: whole, ..PLAIN }),
        ("input-queued", Pipeline { vc_allocator: None, ..PLAIN }),
        ("combined", queued),
        ("combined", Pipeline { virtual_output_queues: true, flow_control: whole, ..queued }),
        ("output-queued", Pipeline { output_queue: Some(6), unlimited_switch: true, ..Pipeline::DEFAULT }),
    ]
}

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).expect("a valid setup").summary
}

fn accepted(class: &ServiceClass) -> f64 {
    class.throughput.expect("the class has a job").accepted_fraction
}

/// Shares of the link between the routers: of one node's traffic, and of four nodes'.
fn shares(setup: &Setup) -> (f64, f64) {
    let classes = run(setup).service_classes;
    (accepted(&classes[0]), 4.0 * accepted(&classes[1]))
}

#[test]
fn strict_priority_leaves_the_first_class_its_latency_without_load() {
    for (router, rules) in routers() {
        let latency = |load| {
            let setup = lane((router, rules), services(Order::Strict, [100, 100]), [0.2, load]);
            let classes = run(&setup).service_classes;
            if load > 0.9 {
                let rest = 4.0 * accepted(&classes[1]);
                assert!((rest - 0.8).abs() < 0.01, "{router}: the rest of the link is {rest}");
            }
            classes[0].latency_ps.expect("packets arrive")
        };
        let (alone, among) = (latency(1e-6), latency(1.0));
        let late = among.mean - alone.mean;
        // A cell that is on the link ends; where the switch decides for the link, it does so as the link gets free.
        let most = if router == "input-queued" { 1e-9 } else { 1e3 };
        assert!((0.0..=most).contains(&late), "{router} {rules:?}: {late} ps later");
        assert!(among.min <= alone.min + most as u64, "{router}: {} {}", among.min, alone.min);
        assert!(among.max <= alone.max + most as u64, "{router}: {} {}", among.max, alone.max);
    }
}

#[test]
fn weights_share_a_saturated_link() {
    for (n, (router, rules)) in routers().into_iter().enumerate() {
        let all = [[3, 1], [1, 1], [2, 5]];
        for weights in all.into_iter().filter(|w| long() || *w == all[n % 3]) {
            let order = Order::Weighted(weights.to_vec());
            let (few, many) = shares(&lane((router, rules), services(order, [100, 100]), [1.0, 1.0]));
            let sum = f64::from(weights[0] + weights[1]);
            let due = (f64::from(weights[0]) / sum, f64::from(weights[1]) / sum);
            assert!((few / due.0 - 1.0).abs() < 0.01, "{router} {weights:?}: {few}");
            assert!((many / due.1 - 1.0).abs() < 0.01, "{router} {weights:?}: {many}");
        }
        // What one class leaves goes to the other.
        let order = Order::Weighted(vec![3, 1]);
        let (few, many) = shares(&lane((router, rules), services(order, [100, 100]), [0.3, 1.0]));
        assert!((few - 0.3).abs() < 0.01 && (many - 0.7).abs() < 0.01, "{router}: {few} {many}");
    }
}

#[test]
fn caps_are_kept_and_reached() {
    for (n, (router, rules)) in routers().into_iter().enumerate() {
        for (order, caps) in [
            (Order::Strict, [25, 100]),
            (Order::Turns, [100, 25]),
            (Order::Strict, [33, 40]),
            (Order::Weighted(vec![1, 1]), [70, 10]),
        ]
        .into_iter()
        .enumerate()
        .filter(|(case, _)| long() || (case + n).is_multiple_of(2))
        .map(|(_, case)| case)
        {
            let (few, many) = shares(&lane((router, rules), services(order, caps), [1.0, 1.0]));
            for (share, cap) in [(few, caps[0]), (many, caps[1])].into_iter().filter(|(_, cap)| *cap < 100) {
                let cap = f64::from(cap) / 100.0;
                assert!((share / cap - 1.0).abs() < 0.01, "{router} {caps:?}: {few} {many}");
            }
        }
    }
}

/// Sources and channels of a class take turns among themselves, whatever other classes do in between.
#[test]
fn nobody_starves_within_a_class() {
    for (n, (router, rules)) in routers().into_iter().enumerate() {
        let orders = [Order::Strict, Order::Weighted(vec![1, 1]), Order::Weighted(vec![4, 4])];
        for order in
            orders.into_iter().enumerate().filter(|(k, _)| long() || *k == n % 3).map(|(_, order)| order)
        {
            let mut setup = lane((router, rules), services(order, [50, 100]), [1.0, 1.0]);
            setup.measure.pairs = true;
            let done = simulate(&setup, &mut |_| true).expect("a valid setup");
            let pairs = done.tables.iter().find(|t| t.name() == "pairs").expect("it was asked for");
            let (Some(Column::U32(sources)), Some(Column::U64(packets))) =
                (pairs.column("source"), pairs.column("packets"))
            else {
                panic!("the table has sources and packets")
            };
            let many = sources.iter().zip(packets).filter(|(source, _)| ![0, 5].contains(*source));
            let counts: Vec<f64> = many.map(|(_, &packets)| packets as f64).collect();
            let (least, most) = counts.iter().fold((f64::MAX, 0.0f64), |(l, m), &n| (l.min(n), m.max(n)));
            assert_eq!(counts.len(), 8, "{router}");
            assert!(least > 0.9 * most, "{router} {rules:?}: {counts:?}");
        }
    }
}

/// A mesh with two nodes per router: those of job 0 all send to one node, those of job 1 to each other.
fn hot(of_job: [u8; 2], vcs: [u8; 2]) -> Setup {
    let size = [("dims", Value::Ints(vec![4, 4])), ("terminals_per_router", int(2))];
    let fabric = samples::topology("mesh", &size);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let links = vec![samples::link(64_000_000_000, 3 * NS, 4 * NS, 64 * 8); 2];
    let bandwidth = links[0].bandwidth;
    let spot = [("hot", Value::Ints(vec![5]))];
    let hot = samples::traffic("hot-spot", &spot, "bernoulli", 0.5, (16, 64, bandwidth), 1);
    let victims = samples::traffic("uniform", &[], "bernoulli", 0.15, (16, 64, bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, hot.clone(), 64);
    let (even, odd): (Vec<u32>, Vec<u32>) = (0..32).partition(|n| n % 2 == 0);
    setup.jobs = vec![job("hot", hot, &even, 64), job("victims", victims, &odd, 64)];
    setup.packet.router = clocked(named("input-queued"));
    setup.packet.packet = 64;
    setup.packet.vcs = 4;
    setup.packet.router_delay = 2 * NS;
    setup.packet.pipeline = Some(PLAIN);
    let caps = [100, 100];
    setup.services =
        Some(Services { of_job: of_job.to_vec(), vcs: vcs.to_vec(), ..services(Order::Turns, caps) });
    setup.warmup = 10 * US;
    setup.until = Until::Time(40 * US);
    setup
}

#[test]
fn victims_of_a_hot_spot_keep_their_load_in_a_class_of_their_own() {
    let kept = |setup: &Setup| {
        let summary = run(setup);
        let table = summary.jobs.iter().find(|j| j.name == "victims").expect("it ran");
        let counts = table.messages.expect("they were counted");
        // A source that cannot keep up begins its messages late, so they are compared with what it should send.
        counts.delivered as f64 / (16.0 * 0.15 * 40_000.0)
    };
    let (apart, together) = (kept(&hot([0, 1], [2, 2])), kept(&hot([1, 1], [1, 3])));
    assert!(apart > 0.95, "victims keep {apart} in a class of their own");
    assert!(together < 0.9, "victims keep {together} among the others");
}

#[test]
fn one_answer_for_every_scheduler() {
    let threads = Threads { count: 2, ..Threads::ONE };
    let optimism = Optimism { stumble: 50, ..Optimism::default() };
    let partitions = Some(2);
    let orders = [Order::Strict, Order::Weighted(vec![3, 1]), Order::Turns];
    for (n, (router, rules)) in routers().into_iter().enumerate() {
        let order = orders[n % 3].clone();
        let mut setup = lane((router, rules), services(order, [40, 100 - 30 * (n as u32 % 2)]), [0.6, 0.9]);
        setup.warmup = 0;
        setup.until = Until::Time(5 * US);
        let one = run(&setup).without_performance().to_json();
        let all = [
            Scheduling::Sequential { partitions: 2 },
            Scheduling::Conservative { partitions, threads },
            Scheduling::Optimistic { partitions, threads, optimism },
        ];
        // Without `NETLOOM_LONG=1` one of them, in turns.
        for (_, scheduling) in all.into_iter().enumerate().filter(|(k, _)| long() || *k == n % 3) {
            setup.scheduling = scheduling;
            assert_eq!(run(&setup).without_performance().to_json(), one, "{router} {rules:?} {scheduling:?}");
        }
        setup.scheduling = Scheduling::Sequential { partitions: 1 };
        crate::common::undone(&setup, 500 * NS);
    }
}

fn read(given: &[(&str, Value)]) -> Result<Services, Vec<base::param::Problem>> {
    let names = Value::Texts(vec!["a".to_owned(), "b".to_owned()]);
    let value = |key: &str| match given.iter().find(|(k, _)| *k == key) {
        Some((_, value)) => Some(value.clone()),
        None => (key == "classes").then(|| names.clone()),
    };
    Services::from_values(&Values::complete(ABOUT.params, value), 4)
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let text = |t: &str| Value::Text(t.to_owned());
    let texts = |all: &[&str]| Value::Texts(all.iter().map(|&t| t.to_owned()).collect());
    for (given, key) in [
        (vec![("classes", texts(&["a"]))], "classes"),
        (vec![("classes", texts(&["a", "a"]))], "classes"),
        (vec![("vcs", Value::Ints(vec![1, 2]))], "vcs"),
        (vec![("vcs", Value::Ints(vec![1, 2, 1]))], "vcs"),
        (vec![("order", text("weighted"))], "order"),
        (vec![("weights", Value::Ints(vec![1, 2]))], "weights"),
        (vec![("order", text("weighted")), ("weights", Value::Ints(vec![1]))], "weights"),
        (vec![("caps", Value::Ints(vec![50]))], "caps"),
    ] {
        let problems = read(&given).expect_err(key);
        assert_eq!(problems[0].key, key, "{given:?}");
    }
    let both = read(&[("vcs", Value::Ints(vec![1, 3]))]).expect("it makes sense");
    assert_eq!((both.set(0), both.set(1)), (0b0001, 0b1110));
    let of_vcs: Vec<u8> = (0..4).map(|vc| both.of_vc(vc)).collect();
    assert_eq!(of_vcs, [0, 1, 1, 1]);
}
