//! Hybrid runs: one answer however they are run, nothing delivered twice or never, and zombies that are all accounted for.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::{Sketch, long, piece_over_ranks, programs::in_order, sketch, spread::crowd};
use base::{index::TerminalId, param::Value, time::Ps};
use engine::{
    domain::{Domain, Effects},
    executor::Threads,
    state::Journal,
    undo_check::run_with_undo,
};
use model::{
    Failure,
    samples::int,
    setup::{JobSetup, Measure, Scheduling, Until},
};
use packet::router::{registry::named, window::WindowRouter};
use packet::{
    Setup,
    config::PacketConfig,
    hybrid::{
        predict::{Predictor, Predictors},
        size::SizeClass,
    },
    network::Network,
    samples, simulate,
    state::{PacketDomain, Record, Wire},
    surrogate::Switch,
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, RngSeed, TestCaseError},
};
use results::summary::{State, Summary};
use std::sync::Arc;
use workload::{program::list::List, registry::Work};

const US: Ps = 1_000_000;
const TREATMENTS: [&str; 3] = ["zombies", "lite", "reheat"];

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

/// Switches at these times, in picoseconds.
fn switched(setup: Setup, treatment: &str, level: &str, predictor: &str, times: &[Ps]) -> Setup {
    let times = times.iter().map(|t| format!("{t} ps")).collect();
    let given = [
        ("switch", Value::Texts(times)),
        ("treatment", text(treatment)),
        ("level", text(level)),
        ("window", Value::Time(10 * US)),
        ("reheat", Value::Time(3 * US)),
    ];
    samples::hybrid(setup, predictor, "times", &given)
}

/// A small dragonfly under uniform load; messages of so many bytes in packets of 256.
pub(crate) fn dragonfly(load: f64, message: u64) -> Setup {
    let fabric = samples::topology(
        "dragonfly",
        &[
            ("groups", int(5)),
            ("routers_per_group", int(4)),
            ("terminals_per_router", int(2)),
            ("global_ports_per_router", int(2)),
        ],
    );
    let routing = samples::routing(&fabric, "progressive-adaptive", &[]);
    let link = samples::link(2 << 30, 29_802, 3_725, 2048);
    let job = (40, message, link.bandwidth);
    let traffic = samples::traffic("uniform", &[], "poisson", load, job, 3);
    let mut setup = samples::setup(fabric, routing, vec![link; 3], traffic, message);
    setup.packet.packet = 256;
    setup.check = true;
    setup.until = Until::Time(60 * US);
    setup.measure =
        Measure { window: 5 * US, packets: true, messages: true, pairs: true, ..Measure::default() };
    setup
}

fn ping_pong(count: u64) -> Setup {
    let mut setup = dragonfly(0.5, 600);
    let job = (40, 600, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("ping-pong", &[("count", int(count))], "constant", 0.5, job, 3);
    setup.until = Until::WorkloadDone { limit: 100_000 * US };
    setup
}

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}")).summary.without_performance()
}

/// Saved in every pause and taken up again with another number of threads and ranks.
fn in_pieces(mut setup: Setup) -> Summary {
    let threads = Threads { count: 2, ..Threads::ONE };
    setup.scheduling = Scheduling::Conservative { partitions: Some(4), threads };
    let mut state: Option<Vec<u8>> = None;
    // No whole number of windows, and some ten pieces of what ends at a time.
    let every = if let Until::Time(end) = setup.until { 7 * US + end / 20 } else { 7 * US };
    for round in 0.. {
        let (ranks, count) = crowd(round);
        if let Scheduling::Conservative { threads, .. } = &mut setup.scheduling {
            threads.count = count;
        }
        let (done, saved) = piece_over_ranks(&setup, ranks, (every, state.as_deref()));
        match done {
            Err(Failure::Stopped(_)) => {}
            done => return done.unwrap_or_else(|e| panic!("{e}")).summary.without_performance(),
        }
        assert!(saved.is_some() && round < 10_000);
        state = saved;
    }
    unreachable!("a run ends")
}

/// The same answer in one partition, several, all routers apart, two threads, and in pieces.
fn one_answer(setup: &Setup, name: &str) -> Summary {
    let one = run(setup);
    let threads = Threads { count: 2, ..Threads::ONE };
    let spread = [
        Scheduling::Conservative { partitions: Some(4), threads },
        Scheduling::Sequential { partitions: 64 },
        Scheduling::Sequential { partitions: 2 },
    ];
    for scheduling in spread.into_iter().take(if long() { 3 } else { 1 }) {
        let other = run(&Setup { scheduling, ..setup.clone() });
        assert_eq!(other.to_json(), one.to_json(), "{name}: {scheduling:?}");
    }
    assert_eq!(in_pieces(setup.clone()).to_json(), one.to_json(), "{name} in pieces");
    let hybrid = one.hybrid.as_ref().unwrap();
    let zombies = hybrid.zombies;
    assert_eq!(zombies.created, zombies.discarded + zombies.in_network, "{name}");
    one
}

#[test]
fn one_answer_of_open_loops() {
    for (n, treatment) in TREATMENTS.into_iter().enumerate() {
        // Each treatment on one of them, in turns; all on all with `NETLOOM_LONG=1`.
        for (k, (message, level)) in
            [(256, "packet"), (600, "packet"), (600, "message")].into_iter().enumerate()
        {
            if !long() && k != n {
                continue;
            }
            let predictor = ["mean", "quantile", "fitted"][(n + message as usize) % 3];
            let times = [15 * US, 30 * US, 41 * US, 55 * US];
            let mut setup = switched(dragonfly(0.7, message), treatment, level, predictor, &times);
            if n == 1 {
                setup.packet.router = named("input-queued");
            }
            let name = format!("{treatment}, {message} B, {level}");
            let one = one_answer(&setup, &name);
            let hybrid = one.hybrid.unwrap();
            assert_eq!((hybrid.switches, hybrid.phases.len()), (4, 5), "{name}");
            assert_eq!(hybrid.zombies.created > 0, treatment != "lite", "{name}: {:?}", hybrid.zombies);
            assert!(hybrid.phases.iter().all(|p| p.packets > 0), "{name}: {:?}", hybrid.phases);
        }
    }
}

/// A run that ends in the surrogate, beyond saturation, with a second job that starts in it.
#[test]
fn one_answer_of_backlogs_and_late_jobs() {
    for treatment in TREATMENTS {
        let mut setup = dragonfly(1.0, 256);
        let mut late: JobSetup = setup.jobs[0].clone();
        (late.start, late.name) = (25 * US, "late".into());
        late.placement = setup.jobs[0].placement.split_off(30);
        setup.jobs.push(late);
        let job = (30, 256, setup.links[0].bandwidth);
        setup.jobs[0].work = samples::traffic("uniform", &[], "constant", 1.0, job, 3);
        let job = (10, 256, setup.links[0].bandwidth);
        setup.jobs[1].work = samples::traffic("uniform", &[], "constant", 1.0, job, 4);
        one_answer(&switched(setup, treatment, "packet", "mean", &[20 * US]), treatment);
    }
}

#[test]
fn one_answer_of_closed_loops_and_programs() {
    for treatment in TREATMENTS {
        let times = [9 * US, 14 * US, 20 * US, 26 * US];
        let one = one_answer(
            &switched(ping_pong(if long() { 30 } else { 18 }), treatment, "packet", "mean", &times),
            treatment,
        );
        assert_eq!(one.verdict.state, State::Ok, "{treatment}: {:?}", one.verdict);
        if !long() && treatment != "zombies" {
            continue;
        }
        let dims = [("dims", Value::Ints(vec![8, 5])), ("iterations", int(4))];
        let mut setup = ping_pong(1);
        setup.jobs[0].work =
            samples::traffic("stencil", &dims, "constant", 0.5, (40, 600, setup.links[0].bandwidth), 3);
        setup.jobs[0].message = None;
        let plain = run(&setup);
        let one = one_answer(&switched(setup, treatment, "message", "mean", &[2 * US, 9 * US]), treatment);
        assert_eq!(one.messages, plain.messages, "{treatment}");
    }
}

/// Ranks that compute and send up to 3,000 B to each other, of which all beyond 200 B ask: requests, grants and data of some meet a switch.
#[test]
fn one_answer_of_programs_that_ask() {
    for (n, treatment) in TREATMENTS.into_iter().enumerate() {
        for (k, level) in ["packet", "message"].into_iter().enumerate() {
            if !long() && k != n % 2 {
                continue;
            }
            let mut setup = ping_pong(1);
            let ranks = in_order((40, 400), 7 + n as u64, |draw| draw.below(2 * US));
            (setup.jobs[0].work, setup.jobs[0].message) = (Work::Program(Arc::new(List::new(ranks))), None);
            setup.packet.eager = 200;
            let plain = run(&setup);
            let packets = |one: &Summary| one.packets.as_ref().unwrap().delivered;
            let packet = PacketConfig { eager: 3000, ..setup.packet };
            let eager = packets(&run(&Setup { packet, ..setup.clone() }));
            // A request and a grant of one packet each for a message that asks.
            assert!(packets(&plain) > eager + 2 * 300, "{} beside {eager}", packets(&plain));
            let times = [10 * US, 40 * US, 60 * US, 90 * US];
            let name = format!("{treatment}, {level}");
            let one = one_answer(&switched(setup, treatment, level, "mean", &times), &name);
            assert_eq!(one.verdict.state, State::Ok, "{name}: {:?}", one.verdict);
            assert_eq!((one.messages, one.packets), (plain.messages, plain.packets), "{name}");
            assert_eq!(one.bytes_delivered, plain.bytes_delivered, "{name}");
            let phases = one.hybrid.unwrap().phases;
            assert!(phases.len() == 5 && phases.iter().all(|p| p.packets > 100), "{name}: {phases:?}");
        }
    }
}

/// The paper's validation: ping-pong ends with the same numbers of packets and messages.
#[test]
fn ping_pong_counts_as_in_high_fidelity() {
    let plain = run(&ping_pong(40));
    for treatment in TREATMENTS {
        for level in ["packet", "message"] {
            let one = run(&switched(ping_pong(40), treatment, level, "mean", &[12 * US, 25 * US, 31 * US]));
            assert_eq!((one.packets, one.messages), (plain.packets, plain.messages), "{treatment}");
            assert_eq!(one.bytes_delivered, plain.bytes_delivered);
        }
    }
}

/// Where every packet of a pair has one latency, prediction is exact; where the stay is a whole number of periods, the network wakes in step with its
/// sources. Nothing differs from high fidelity.
#[test]
fn a_steady_network_is_predicted_exactly() {
    let fabric = samples::topology("single-switch", &[("terminals", int(8))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let link = samples::link(1_000_000_000, 10_000, 5_000, 1 << 16);
    // 1,000 B take 1 us and come every 10 us.
    let traffic = samples::traffic("bisection", &[], "constant", 0.1, (8, 1000, link.bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, vec![link], traffic, 1000);
    (setup.packet.packet, setup.packet.chunk) = (1000, 100);
    setup.until = Until::Time(400 * US);
    setup.check = true;
    let plain = run(&setup);
    for treatment in TREATMENTS {
        // In the middle of the packets' way.
        let times = [100 * US + 600_000, 300 * US + 600_000];
        let one = run(&switched(setup.clone(), treatment, "packet", "mean", &times));
        assert_eq!(one.latency_ps, plain.latency_ps, "{treatment}");
        assert_eq!((one.packets, one.messages), (plain.packets, plain.messages), "{treatment}");
        let hybrid = one.hybrid.unwrap();
        assert!(hybrid.predictor_error.unwrap() < 1e-9, "{treatment}");
        // Re-heating copies what is handed over at 300 us.
        let zombies = if treatment == "lite" { 0 } else { 8 };
        assert_eq!(hybrid.zombies.created, zombies, "{treatment}");
    }
}

/// Bursts that fill the links: a network that wakes in another phase than its sources keeps what it held beside what they send, for good. Stays of whole
/// periods wake in phase, without being asked for by their times.
/// Predictions of a pair, of a class of pairs, from a queue that is shorter than usual: none is shorter than an empty network takes.
#[test]
fn no_prediction_beats_an_empty_network() {
    let least = |setup: &Setup| run(setup).latency_ps.unwrap().min;
    let alone = least(&dragonfly(0.01, 256));
    for (load, predictor) in
        [(0.5, "quantile"), (0.7, "quantile"), (0.7, "mean"), (1.0, "mean"), (1.0, "fitted")]
    {
        for treatment in TREATMENTS {
            let setup = switched(dragonfly(load, 256), treatment, "packet", predictor, &[20 * US, 40 * US]);
            let found = least(&setup);
            // Rounded down on each of three links.
            assert!(found + 3 >= alone, "{load} {predictor} {treatment}: {found} of {alone}");
        }
    }
}

#[test]
fn bursts_wake_in_phase() {
    let mut setup = dragonfly(1.0, 256);
    let job = (40, 256, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("all-to-all", &[], "constant", 1.0, job, 3);
    setup.until = Until::Time(160 * US);
    setup.warmup = 100 * US;
    let period = setup.jobs[0].work.traffic().and_then(|t| t.period()).unwrap();
    let plain = run(&setup).latency_ps.unwrap();
    // 39 messages of 256 B at 2 GiB/s: a stay of 15 and a half periods.
    let (back, beat) = (100 * US, period.times(1).unwrap());
    assert_eq!(beat, 4_649_162);
    let enter = back - 15 * beat - beat / 2;
    let of = |treatment: &str, in_phase: bool| {
        let mut one = switched(setup.clone(), treatment, "packet", "mean", &[enter, back]);
        one.hybrid.as_mut().unwrap().in_phase = in_phase;
        let one = run(&one);
        let phases = one.hybrid.unwrap().phases;
        (
            (one.latency_ps.unwrap().mean - plain.mean).abs() / plain.mean,
            (phases[1].start_ps, phases[1].end_ps),
        )
    };
    let (off, times) = of("zombies", false);
    assert_eq!(times, (enter, back));
    let (on, times) = of("zombies", true);
    assert_eq!(times, (back - period.times(15).unwrap(), back));
    assert!(off > 0.05, "{off}: half a burst too much");
    // Adaptive routes take other ways than they would have.
    assert!(on < 0.02 && on < off / 3.0, "{on} beside {off}");
    // A network that runs on is in no phase.
    assert_eq!(of("lite", true).1, (enter, back));
}

/// A saturated source goes on at the rate that the network allowed it.
#[test]
fn back_pressured_sources_keep_their_pace() {
    let mut setup = samples::dragonfly(72, "minimal", "constant", 0.9);
    let job = (72, 1024, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("bisection", &[], "constant", 0.9, job, 1);
    setup.until = Until::Time(2_000 * US);
    let of = |summary: Summary| {
        let (throughput, links) = (summary.throughput.unwrap(), summary.links.unwrap());
        [throughput.accepted_fraction, links.mean_utilisation]
    };
    let plain = of(run(&setup));
    assert!(plain[0] < 0.5, "four nodes share a global link: {plain:?}");
    for treatment in TREATMENTS {
        let times = [700 * US, 1_700 * US];
        let one = switched(setup.clone(), treatment, "packet", "mean", &times);
        let hybrid = of(run(&one));
        // A network that empties delivers what it held and takes as much again. Links carry nothing while packets bypass them: their use is that
        // of the other time, and what a network carries as it empties counts within that.
        let most = if treatment == "zombies" { [0.03, 0.03] } else { [0.1, 0.15] };
        for ((hybrid, plain), most) in hybrid.iter().zip(plain).zip(most) {
            assert!((hybrid - plain).abs() < most * plain, "{treatment}: {hybrid} beside {plain}");
        }
    }
}

/// At full load destinations' queues grow with the messages that happen to be sent, in a stay as outside: predictions and a network that follow
/// them are nearer to high fidelity, in the stay and after it, than those that remember what was.
#[test]
fn queues_go_on_growing_in_a_stay() {
    let mut setup = samples::dragonfly(72, "minimal", "constant", 1.0);
    (setup.until, setup.measure) = (Until::Time(450 * US), Measure::default());
    let (enter, back) = (100 * US, 350 * US);
    let of = |queues: bool| {
        let mut one = switched(setup.clone(), "zombies", "packet", "mean", &[enter, back]);
        let hybrid = one.hybrid.as_mut().unwrap();
        (hybrid.queues, hybrid.window) = (queues, 50 * US);
        one
    };
    let mean = |setup: &Setup, warmup: Ps| run(&Setup { warmup, ..setup.clone() }).latency_ps.unwrap().mean;
    for (what, warmup) in [("stay", enter), ("return", back)] {
        let [plain, on, off] = [mean(&setup, warmup), mean(&of(true), warmup), mean(&of(false), warmup)];
        let (on, off) = ((on - plain).abs() / plain, (off - plain).abs() / plain);
        assert!(on < off / 2.0 && off > 0.1, "{what}: {on} with queues, {off} without");
    }
}

/// What is kept of single packets, messages and pairs, and the checkers, change no sum and no window of a run.
#[test]
fn rows_and_checks_change_no_sums() {
    for (workload, load) in [("uniform", 0.9), ("all-to-all", 0.5)] {
        let mut setup = dragonfly(load, 256);
        let job = (40, 256, setup.links[0].bandwidth);
        setup.jobs[0].work = samples::traffic(workload, &[], "constant", load, job, 3);
        setup.warmup = 25 * US;
        let single = switched(setup, "zombies", "packet", "mean", &[20 * US, 50 * US]);
        let mut sums = single.clone();
        sums.check = false;
        sums.measure = Measure { window: single.measure.window, ..Measure::default() };
        let [(one, series), (other, others)] = [&single, &sums].map(|setup| {
            let done = simulate(setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
            let series = done.tables.into_iter().find(|t| t.name() == "series").unwrap();
            (done.summary.without_performance().to_json(), series)
        });
        assert_eq!(one, other, "{workload}");
        assert_eq!(series, others, "{workload}");
    }
}

/// Queues, what a network lacks at the return and sources that slow down are the same however a run is cut.
#[test]
fn one_answer_of_queues() {
    let mut setup = dragonfly(1.0, 256);
    let job = (40, 256, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("uniform", &[], "constant", 1.0, job, 3);
    setup.until = Until::Time(150 * US);
    let with = |level: &str, queues: bool| {
        let mut one = switched(setup.clone(), "zombies", level, "mean", &[50 * US, 110 * US]);
        one.hybrid.as_mut().unwrap().queues = queues;
        one
    };
    let zombies = |summary: &Summary| summary.hybrid.as_ref().unwrap().zombies.created;
    for level in ["packet", "message"] {
        let one = one_answer(&with(level, true), level);
        assert!(zombies(&one) > zombies(&run(&with(level, false))), "{level}: ghosts enter at the return");
    }
}

#[test]
fn zombies_that_are_delivered_are_found() {
    let mut setup = switched(dragonfly(0.7, 256), "zombies", "packet", "mean", &[15 * US, 30 * US]);
    run(&setup);
    if let Some(hybrid) = &mut setup.hybrid {
        hybrid.deliver_zombies = true;
    }
    let failure = simulate(&setup, &mut |_| true).err().expect("packets are delivered twice");
    assert!(matches!(failure, Failure::Invariant(_)), "{failure}");
}

/// Enters by itself once the network is steady, and leaves when a second job begins.
#[test]
fn the_automatic_director_enters_and_leaves() {
    let mut setup = dragonfly(0.3, 256);
    setup.until = Until::Time(300 * US);
    let mut late = setup.jobs[0].clone();
    (late.start, late.name) = (150 * US, "burst".into());
    late.placement = setup.jobs[0].placement.split_off(20);
    setup.jobs.push(late);
    for (job, load) in [(0, 0.3), (1, 0.6)] {
        let shape = (20, 256, setup.links[0].bandwidth);
        setup.jobs[job].work = samples::traffic("uniform", &[], "poisson", load, shape, 3 + job as u64);
    }
    for (n, treatment) in TREATMENTS.into_iter().enumerate() {
        let given = [
            ("treatment", text(treatment)),
            ("window", Value::Time(32 * US)),
            ("reheat", Value::Time(4 * US)),
            ("min_stay", Value::Time(4 * US)),
        ];
        let hybrid = samples::hybrid(setup.clone(), "quantile", "automatic", &given);
        // Other tests spread every treatment; here one is enough.
        let one = if n == 0 { one_answer(&hybrid, treatment) } else { run(&hybrid) };
        let one = one.hybrid.unwrap();
        let back = one.phases.iter().find(|p| p.mode == "high-fidelity" && p.start_ps > 0).unwrap();
        assert!(one.phases[1].start_ps < 150 * US, "{treatment}: {:?}", one.phases);
        assert!((150 * US..180 * US).contains(&back.start_ps), "{treatment}: {:?}", one.phases);
        assert!(one.switches >= 3, "{treatment}: in again once the burst is steady: {:?}", one.phases);
    }
}

/// Percentiles survive a predictor that keeps the distribution, and are lost by one that does not.
#[test]
fn percentiles_survive_quantiles() {
    let mut setup = dragonfly(0.5, 256);
    setup.until = Until::Time(800 * US);
    let plain = run(&setup).latency_ps.unwrap();
    let of = |predictor: &str| {
        let times = [100 * US, 790 * US];
        let mut setup = switched(setup.clone(), "zombies", "packet", predictor, &times);
        setup.hybrid.as_mut().unwrap().window = 100 * US;
        run(&setup).latency_ps.unwrap()
    };
    let (quantile, mean) = (of("quantile"), of("mean"));
    let off = |a: Ps, b: Ps| (a as f64 - b as f64).abs() / b as f64;
    assert!(off(quantile.p99, plain.p99) < 0.05, "{quantile:?} beside {plain:?}");
    assert!(off(quantile.p50, plain.p50) < 0.05, "{quantile:?} beside {plain:?}");
    assert!((quantile.mean - plain.mean).abs() < 0.05 * plain.mean, "{quantile:?} beside {plain:?}");
    assert!(off(mean.p99, plain.p99) > 0.1, "{mean:?} beside {plain:?}");
}

/// Every packet takes as long.
struct Constant;

impl Predictor for Constant {
    fn latency(&self, _: TerminalId, _: TerminalId, _: Option<u32>) -> Ps {
        US
    }
}

/// The packet model with packets that bypass the network from the start.
#[derive(Clone, PartialEq)]
struct Bypassed(PacketDomain<WindowRouter>, bool);

impl Domain for Bypassed {
    type Message = Wire;
    type Record = Record;
    fn start(&mut self, fx: &mut impl Effects<Self>) {
        self.0.start(fx);
        let predictor = Arc::new(Predictors::new(vec![(SizeClass::default(), Arc::new(Constant))]));
        self.0.enter(&Switch { predictor: &predictor, flying: &[] }, false, fx);
        if self.1 {
            self.0.reheat(fx);
        }
    }
    fn wake(&mut self, token: u32, fx: &mut impl Effects<Self>) {
        self.0.wake(token, fx);
    }
    fn receive(&mut self, message: &Wire, fx: &mut impl Effects<Self>) {
        self.0.receive(message, fx);
    }
    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.0.visit_journals(visit);
    }
    fn lookahead(&self, to: u32) -> Option<Ps> {
        self.0.lookahead(to)
    }
}

/// What the surrogate does can be undone, event by event, with and without copies in the network.
#[test]
fn the_surrogates_handlers_can_be_undone() {
    for reheated in [false, true] {
        for level in ["packet", "message"] {
            let setup = switched(ping_pong(20), "reheat", level, "mean", &[US]);
            let net = Arc::new(Network::new(&setup, 1));
            let mut records: Vec<Record> = Vec::new();
            let domain = Bypassed(PacketDomain::new(net, 0), reheated);
            let (domain, events) = run_with_undo(domain, &mut records, 5, 12 * US);
            let arrived = records.iter().filter(|r| matches!(r, Record::Predicted { .. })).count();
            assert!(events > 200 && arrived > 100, "{events} events, {arrived} packets");
            assert_eq!(domain.0.state.surrogate.phase().discarded > 0, reheated, "{level}");
        }
    }
}

fn anywhere() -> impl Strategy<Value = (Sketch, bool, usize, bool, Vec<Ps>)> {
    let times = prop::collection::vec(1u64..3 * US, 1..7);
    (sketch(), any::<bool>(), 0..3usize, any::<bool>(), times)
}

proptest! {
    #![proptest_config(Config {
        cases: 60,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(10),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..Config::default()
    })]

    /// Any fabric, routing, pattern, closed or open, switched at any times: every message arrives once, whatever delivers it, and every zombie
    /// is accounted for. The checkers look at packets, credits and zombies of each run.
    #[test]
    fn nothing_is_lost_or_twice((sketch, clocked, treatment, message, gaps) in anywhere()) {
        let mut setup = sketch.setup(6);
        if clocked {
            setup.packet.router = named("input-queued");
        }
        let plain = simulate(&setup, &mut |_| true).map_err(|e| TestCaseError::fail(e.to_string()))?.summary;
        let mut at = 0;
        let times: Vec<Ps> = gaps.iter().map(|gap| { at += gap + 1; at }).collect();
        let level = if message { "message" } else { "packet" };
        let hybrid = switched(setup, TREATMENTS[treatment], level, "mean", &times);
        let mut first = None;
        for partitions in [1, 3] {
            let run = Setup { scheduling: Scheduling::Sequential { partitions }, ..hybrid.clone() };
            let one = simulate(&run, &mut |_| true).map_err(|e| TestCaseError::fail(e.to_string()))?.summary;
            let one = one.without_performance();
            prop_assert!(one.verdict.state < State::Incomplete, "{:?}", one.verdict);
            prop_assert_eq!(one.messages, plain.messages);
            prop_assert_eq!(one.packets, plain.packets);
            prop_assert_eq!(one.bytes_delivered, plain.bytes_delivered);
            let json = one.to_json();
            prop_assert_eq!(first.get_or_insert_with(|| json.clone()), &json);
        }
    }
}
