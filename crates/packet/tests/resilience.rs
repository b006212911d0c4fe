//! Links that lose packets and the transport over them: closed forms, every message once, one answer for every partitioning, undo, planted faults.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::undone;
use base::{
    index::TerminalId,
    param::{Value, Values},
    rng::{Purpose, Stream},
};
use engine::executor::Threads;
use fabric::{
    graph::Fabric,
    planes,
    registry::{ROUTINGS, values},
};
use loggops::DelayConfig;
use model::{
    Failure, Finished, Progress,
    run::Watch,
    samples::int,
    setup::{Rail, Scheduling, Until},
};
use packet::{
    Setup,
    run::watch,
    samples, simulate,
    transport::config::{ABOUT, Ack, Resilience},
};
use packet::{config::Architecture, losses::Chance, router::registry::named};
use resilience::{Parameters, Protocol, means::Means};
use results::summary::{State, Summary};
use std::sync::Arc;
use workload::{
    program::{
        After, Op,
        collective::Chooser,
        input::Input,
        list::{List, Rank, recv, send},
        lower::{Options, lower},
        ranks,
    },
    registry::Work,
};

const US: u64 = 1_000_000;
/// Messages of each rank of the dragonfly.
const COUNT: u64 = 3;

pub fn lossy(loss: f64, classes: usize) -> Resilience {
    let mut chances = vec![Chance { loss, ..Chance::default() }; classes];
    chances[0] = Chance::default();
    Resilience {
        protocol: Protocol::Dor,
        chances,
        window: 5,
        timeout: 50 * US,
        backoff: true,
        ack: Ack::Packet(41),
        head: 0,
        messages: 4,
        count_duplicates: false,
    }
}

/// Two ranks `hops` links apart on a line of routers, each sending `count` messages of `bytes` to the other, far apart in time.
fn line(hops: u64, count: u64, bytes: u64) -> Setup {
    let dims = Value::Ints(vec![hops + 1]);
    let fabric = samples::topology("mesh", &[("dims", dims), ("terminals_per_router", int(1))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let links = vec![samples::link(10_000_000_000, 20_000, 10_000, 1 << 15); fabric.classes().len()];
    let job = (2, bytes, links[0].bandwidth);
    // So rare that nothing of one message meets the next.
    let load = 0.002 * (bytes as f64 / 1500.0).min(1.0);
    let traffic = samples::traffic("uniform", &[("count", int(count))], "constant", load, job, 3);
    let mut setup = samples::setup(fabric, routing, links, traffic, bytes);
    setup.jobs[0].placement = vec![TerminalId::new(0), TerminalId::new(hops as u32)];
    setup.until = Until::WorkloadDone { limit: 1 << 58 };
    setup.check = true;
    setup
}

fn with(mut setup: Setup, change: impl FnOnce(&mut Resilience)) -> Setup {
    let mut resilience = lossy(0.0, setup.fabric.classes().len());
    change(&mut resilience);
    setup.resilience = Some(resilience);
    setup
}

fn set(r: &mut Resilience, change: impl Fn(&mut Chance)) {
    r.chances[1..].iter_mut().for_each(change);
}

fn done(setup: &Setup) -> Summary {
    let summary = simulate(setup, &mut |_| true).unwrap().summary;
    let ok = summary.verdict.state == State::Ok || matches!(setup.until, Until::Time(_));
    assert!(ok, "{:?}", summary.verdict);
    summary
}

#[test]
fn without_losses_messages_take_their_time_without_the_protocol() {
    for (hops, bytes) in [(1, 1), (1, 5 * 1024), (4, 3000), (3, 64)] {
        let plain = done(&line(hops, 40, bytes)).message_latency_ps.unwrap();
        for ack in [Ack::Packet(41), Ack::OutOfBand(US)] {
            // Both ranks send at the same time: acknowledgements of one's packets would queue between the other's.
            if bytes > 1024 && matches!(ack, Ack::Packet(_)) {
                continue;
            }
            for protocol in Protocol::PAPER {
                let run = done(&with(line(hops, 40, bytes), |r| (r.ack, r.protocol) = (ack, protocol)));
                let ours = run.message_latency_ps.unwrap();
                let resilience = run.resilience.unwrap();
                // Combinations may be worthless, and are as long as the longest packet of their generation.
                if protocol == Protocol::Dor {
                    assert_eq!((ours.mean, ours.max, ours.count), (plain.mean, plain.max, 80));
                    let sent = resilience.sent;
                    assert_eq!((sent.retransmitted, resilience.duplicates), (0, 0));
                    assert_eq!(sent.first, 80 * bytes.div_ceil(1024).max(1));
                }
                assert_eq!(run.messages.unwrap().delivered, 80);
                assert_eq!(resilience.lost.data + resilience.lost.acknowledgements, 0);
            }
        }
    }
}

/// Data packets sent for each that was needed, and by how many standard errors it is off the mean of a geometric distribution.
fn transmissions(setup: &Setup, delivery: f64) -> (Summary, f64) {
    let run = done(setup);
    let r = run.resilience.clone().unwrap();
    let deviation = ((1.0 - delivery) / delivery.powi(2) / r.sent.first as f64).sqrt();
    let off = (r.transmissions_mean.unwrap() - 1.0 / delivery) / deviation;
    (run, off)
}

#[test]
fn the_mean_number_of_transmissions_is_that_of_the_path() {
    for (hops, loss) in [(1, 0.3), (3, 0.1), (6, 0.05)] {
        let path = (1.0f64 - loss).powi(hops as i32);
        // Acknowledgements beside the network: a packet that arrives is never sent again.
        let setup = with(line(hops, 2000, 1500), |r| {
            set(r, |c| c.loss = loss);
            r.ack = Ack::OutOfBand(US);
        });
        let (run, off) = transmissions(&setup, path);
        let r = run.resilience.unwrap();
        assert!(off.abs() < 4.0, "{hops} hops, loss {loss}: {off} standard errors");
        assert_eq!((r.duplicates, r.sent.first, r.lost.acknowledgements), (0, 8000, 0));
        assert_eq!(r.lost.data, r.sent.retransmitted);
        // As packets they are lost on the same links: both must come through.
        let setup = with(line(hops, 2000, 1500), |r| set(r, |c| c.loss = loss));
        let (run, off) = transmissions(&setup, path * path);
        let r = run.resilience.unwrap();
        assert!(off.abs() < 4.0, "{hops} hops, loss {loss}, both ways: {off} standard errors");
        assert_eq!(r.lost.data + r.lost.acknowledgements, r.sent.retransmitted);
        assert!(r.duplicates > 0 && r.duplicates <= r.lost.acknowledgements);
        assert_eq!(run.bytes_delivered, 4000 * 1500);
    }
}

#[test]
fn bit_errors_and_tampering_have_their_probability() {
    let ber: f64 = 2e-5;
    let setup = with(line(2, 3000, 1000), |r| {
        set(r, |c| c.bit_errors = ber);
        r.ack = Ack::OutOfBand(US);
    });
    let (_, off) = transmissions(&setup, (1.0 - ber).powi(2 * 8 * 1000));
    assert!(off.abs() < 4.0, "bit errors: {off} standard errors");
    let setup = with(line(2, 3000, 1000), |r| {
        set(r, |c| c.tamper = 0.1);
        r.ack = Ack::OutOfBand(US);
    });
    let (run, off) = transmissions(&setup, 0.81);
    let r = run.resilience.unwrap();
    assert!(off.abs() < 4.0, "tampering: {off} standard errors");
    assert_eq!((r.lost.data, r.tampered.data), (0, r.sent.retransmitted));
}

#[test]
fn generations_of_one_are_windows_with_worthless_packets() {
    let loss = 0.2;
    let setup = with(line(2, 3000, 1000), |r| {
        set(r, |c| c.loss = loss);
        (r.protocol, r.window, r.ack) = (Protocol::Pnc, 1, Ack::OutOfBand(US));
    });
    let (run, off) = transmissions(&setup, (1.0 - loss).powi(2) * 255.0 / 256.0);
    assert!(off.abs() < 4.0, "{off} standard errors");
    let r = run.resilience.unwrap();
    assert_eq!(r.sent.retransmitted, r.lost.data + r.duplicates);
}

/// With redundancy fewer messages need a second round.
#[test]
fn redundancy_saves_rounds() {
    let of = |protocol| {
        let setup = with(line(3, 2000, 5000), |r| {
            set(r, |c| c.loss = 0.1);
            (r.protocol, r.ack) = (protocol, Ack::OutOfBand(US));
        });
        let run = done(&setup);
        (run.message_latency_ps.unwrap().mean, run.resilience.unwrap().sent)
    };
    let (pnc, rounds) = of(Protocol::Pnc);
    let (ncd, redundant) = of(Protocol::Ncd);
    assert!(ncd < 0.8 * pnc, "{ncd} {pnc}");
    assert_eq!(rounds.redundant, 0);
    assert_eq!(
        redundant.first, rounds.first,
        "what is missing is sent for the first time once, whatever comes beside it"
    );
    assert!(redundant.redundant > 0 && redundant.retransmitted < rounds.retransmitted);
}

/// A short timer sends packets again that are merely slow. Each counts once all the same; if it does not, the ledger says.
#[test]
fn duplicates_that_count_are_found() {
    for protocol in Protocol::PAPER {
        let setup = |count| {
            with(line(3, 200, 5000), |r| {
                set(r, |c| c.loss = 0.05);
                (r.protocol, r.timeout, r.count_duplicates) = (protocol, US, count);
            })
        };
        let run = done(&setup(false));
        let r = run.resilience.unwrap();
        assert!(r.duplicates > 50, "{protocol:?}: {} duplicates", r.duplicates);
        // Combinations are as long as the longest packet of their generation.
        assert_eq!(run.bytes_delivered, 400 * if protocol.codes() { 5 * 1024 } else { 5000 });
        let fault = simulate(&setup(true), &mut |_| true).map(|_| ()).unwrap_err();
        assert!(matches!(fault, Failure::Invariant(ref what) if what.contains("counted")), "{fault}");
    }
}

/// The 72-node dragonfly under load, with losses by class and tampering.
fn dragonfly(protocol: Protocol, ack: Ack, router: Architecture) -> Setup {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
    let job = (72, 3000, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("uniform", &[("count", int(COUNT))], "poisson", 0.6, job, 3);
    setup.jobs[0].message = Some(3000);
    setup.packet.router = router;
    setup.until = Until::WorkloadDone { limit: 1 << 50 };
    setup.check = true;
    for link in &mut setup.links {
        link.vc_buffer = 1024;
    }
    with(setup, |r| {
        (r.protocol, r.ack, r.timeout, r.messages, r.head) = (protocol, ack, 20 * US, 3, 37);
        r.chances[0].loss = 0.005;
        r.chances[1] = Chance { loss: 0.01, bit_errors: 1e-6, tamper: 0.01 };
        r.chances[2].loss = 0.05;
    })
}

/// Runs in so many partitions and threads, stopped on the way if several: saved, and taken up by another number of threads.
fn spread(setup: &Setup, partitions: u32, threads: u32) -> Summary {
    let mut setup = setup.clone();
    setup.scheduling = Scheduling::Sequential { partitions };
    if threads == 1 {
        return done(&setup).without_performance();
    }
    let mut state: Option<Vec<u8>> = None;
    for round in 0.. {
        let threads = Threads { count: if round % 2 == 0 { threads } else { 2 }, ..Threads::ONE };
        setup.scheduling = Scheduling::Conservative { partitions: Some(partitions), threads };
        let mut saved = None;
        let mut stop = |_: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
            saved = Some(save());
            false
        };
        let finished: Result<Finished, Failure> =
            watch(&setup, Watch { every: 60 * US, resume: state.as_deref(), ..Watch::new(&mut stop) });
        match finished {
            Err(Failure::Stopped(_)) => state = saved,
            other => return other.unwrap().summary.without_performance(),
        }
    }
    unreachable!("a run ends")
}

#[test]
fn one_answer_however_it_is_spread() {
    let packet = Ack::Packet(41);
    for (protocol, ack, router, spreads) in [
        (Protocol::Dor, packet, named("window"), [(2, 2), (64, 1)]),
        (Protocol::Dor, Ack::OutOfBand(US), named("input-queued"), [(5, 1), (36, 1)]),
        (Protocol::Pnc, Ack::OutOfBand(US / 2), named("window"), [(2, 1), (5, 5)]),
        (Protocol::Ncd, packet, named("input-queued"), [(2, 2), (3, 1)]),
    ] {
        let setup = dragonfly(protocol, ack, router);
        let one = spread(&setup, 1, 1);
        let r = one.resilience.as_ref().unwrap();
        assert_eq!(one.messages.unwrap().delivered, 72 * COUNT);
        assert!(one.bytes_delivered >= 72 * COUNT * 3000);
        assert!(r.lost.data > 10 && r.tampered.data > 3 && r.sent.retransmitted > 10, "{r:?}");
        assert_eq!(r.lost_by_class.0.len(), 3, "{r:?}");
        for (partitions, threads) in spreads {
            let many = spread(&setup, partitions, threads);
            assert_eq!(many.to_json(), one.to_json(), "{protocol:?} {router:?} in {partitions} partitions");
        }
    }
}

/// Buffers, credits and packets balance in the middle of it, too.
#[test]
fn books_balance_at_any_time() {
    for router in [named("window"), named("input-queued")] {
        let mut setup = dragonfly(Protocol::Dor, Ack::Packet(41), router);
        for time in [3 * US, 11 * US + 1] {
            setup.until = Until::Time(time);
            let (one, many) = (spread(&setup, 1, 1), spread(&setup, 3, 1));
            assert_eq!(many.to_json(), one.to_json());
            assert!(one.packets.unwrap().in_flight > 0);
        }
    }
}

/// Broadcasts and all-reduces whose messages each take the mean of their protocol: sums over the steps of the algorithm, on a ring of routers.
#[test]
fn collectives_over_resilient_messages_take_their_closed_forms() {
    let (n, vector) = (16u32, 65_536);
    let dims = Value::Ints(vec![u64::from(n)]);
    let fabric = samples::topology("torus", &[("dims", dims), ("terminals_per_router", int(1))]);
    for protocol in Protocol::PAPER {
        for loss in [0.0, 0.02] {
            let parameters = Parameters { loss, ..Parameters::table2(protocol) };
            let means = Means::new(&parameters, n / 2, 200, 1).unwrap();
            let values = base::param::Values::complete(loggops::config::ABOUT.params, |_| None);
            let values = values
                .with("cost", Value::Text("resilient".into()))
                .with("protocol", Value::Text(protocol.name().into()))
                .with("loss", Value::Real(loss))
                .with("samples", Value::Int(200));
            let doubling = (0..4).map(|k| means.delay(1 << k, vector)).sum::<u64>();
            let ring = 2 * u64::from(n - 1) * means.delay(1, vector / u64::from(n));
            for (call, algorithm, expected) in [
                ("allreduce 65536 B", "ring", ring),
                ("allreduce 65536 B", "recursive-doubling", doubling),
                ("bcast 65536 B root 0", "binomial", doubling),
            ] {
                let text = format!("ranks {n}\nall {{\n {call}\n}}\n");
                let script = ranks::read(&Input::bytes("case", text.as_bytes())).unwrap();
                let key = call.split(' ').next().unwrap();
                let chooser = Chooser::read("simple", [(key, algorithm)]).unwrap();
                let program = lower(Arc::new(script), Options { chooser, reduce_ps_per_byte: 0 }).unwrap();
                let config = DelayConfig::from_values(&values).unwrap();
                let mut setup = loggops::run::plain(program, config);
                setup.fabric = Some(Arc::clone(&fabric));
                setup.jobs[0].placement = TerminalId::first(n).collect();
                let done = loggops::simulate(&setup, &mut |_| true).unwrap();
                let ours = done.summary.jobs[0].makespan_ps;
                assert_eq!(ours, Some(expected), "{call} by {algorithm}, {protocol:?}, loss {loss}");
            }
        }
    }
}

fn random(ranks: u32, messages: u32, seed: u64) -> Vec<Rank> {
    let mut random = Stream::new(seed, Purpose::Test, 0);
    let mut all = vec![Rank::default(); ranks as usize];
    for _ in 0..messages {
        let (from, to) = (random.below(u64::from(ranks)) as u32, random.below(u64::from(ranks)) as u32);
        let bytes = [0, 40, 700, 9000][random.below(4) as usize];
        all[from as usize].push(Op { after: After::Start, ..send(to, bytes, 0) });
        all[to as usize].push(Op { after: After::Start, ..recv(from, bytes, 0) });
    }
    all
}

fn program(messages: u32) -> Setup {
    let mut setup = dragonfly(Protocol::Dor, Ack::Packet(41), named("window"));
    setup.jobs[0].placement = (0..40).map(|r| TerminalId::new(r * 5 % 72)).collect();
    setup.jobs[0].work = Work::Program(Arc::new(List::new(random(40, messages, 4))));
    setup.jobs[0].message = None;
    setup.packet.eager = 1000;
    setup
}

#[test]
fn programs_get_every_message_once() {
    let setup = program(250);
    let one = spread(&setup, 1, 1);
    assert!(one.resilience.as_ref().unwrap().lost.data > 5);
    for (partitions, threads) in [(2, 2), (36, 1)] {
        assert_eq!(spread(&setup, partitions, threads).to_json(), one.to_json());
    }
}

/// Two planes: open-loop traffic and a program, each rail with its own losses; messages of a pair match in order all the same.
#[test]
fn rails_lose_and_repeat_each_for_itself() {
    let dims = Value::Ints(vec![3, 3]);
    let one = samples::topology("torus", &[("dims", dims), ("terminals_per_router", int(2))]);
    let fabric = Arc::new(planes::stack(&one, 2));
    let entry = base::registry::find(ROUTINGS, "dimension-order").unwrap();
    let bind = |f: Arc<Fabric>| (entry.build)(f, &values(entry.about.params, &[]));
    let routing = Arc::from(planes::bind(&fabric, bind).unwrap());
    let links = vec![samples::link(2_147_483_647, 17_001, 3_725, 2048); fabric.classes().len()];
    let job = (18, 3000, links[0].bandwidth);
    let traffic = samples::traffic("uniform", &[("count", int(6))], "poisson", 0.5, job, 3);
    let mut setup = samples::setup(fabric, routing, links, traffic, 3000);
    setup.until = Until::WorkloadDone { limit: 1 << 50 };
    setup.check = true;
    setup.rail = Rail::Random;
    let setup = with(setup, |r| {
        r.timeout = 30 * US;
        set(r, |c| c.loss = 0.03);
    });
    let mut program = setup.clone();
    program.jobs[0].work = Work::Program(Arc::new(List::new(random(18, 120, 4))));
    program.jobs[0].message = None;
    program.packet.eager = 1000;
    for setup in [setup, program] {
        let one = spread(&setup, 1, 1);
        assert!(one.resilience.as_ref().unwrap().lost.data > 3);
        assert_eq!(spread(&setup, 5, 1).to_json(), one.to_json());
    }
}

#[test]
fn every_handler_can_be_undone() {
    for setup in [program(60), dragonfly(Protocol::Ncd, Ack::OutOfBand(US), named("input-queued"))] {
        undone(&setup, 8 * US);
    }
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |setup: &Setup| packet::run::validate(setup).unwrap_err().to_string();
    assert!(refused(&with(line(1, 1, 1), |r| r.timeout = 1000)).contains("timeout"));
    let hybrid = samples::hybrid(with(line(1, 1, 1), |_| {}), "mean", "automatic", &[]);
    assert!(refused(&hybrid).contains("hybrid"));
}

/// A head leaves a byte at least for the payload; an acknowledgement is as long as a packet at most.
#[test]
fn what_does_not_fit_a_packet_is_refused_by_name() {
    let read = |key: &'static str, bytes: u64| {
        let given = |name: &str| match name {
            "timeout" => Some(Value::Time(US)),
            name => (name == key).then_some(Value::Int(bytes)),
        };
        let values = Values::complete(ABOUT.params, given);
        let read = Resilience::from_values(&values, &["terminal", "local"], 256);
        read.err().map_or(Vec::new(), |problems| problems.into_iter().map(|p| p.key).collect())
    };
    for (key, least, most) in [("head", 0, 255), ("ack_size", 1, 256)] {
        assert_eq!([read(key, least), read(key, most)], [Vec::<String>::new(), Vec::new()], "{key}");
        assert_eq!(read(key, most + 1), [key], "{key}");
    }
    assert_eq!(read("ack_size", 0), ["ack_size"]);
}
