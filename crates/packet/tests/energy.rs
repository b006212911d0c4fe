//! Energy of runs: closed forms, and one answer for every partitioning.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::{index::TerminalId, param::Value};
use flow::{FlowConfig, FlowSetup, rules::Rules};
use loggops::DelayConfig;
use model::{
    energy::{Energy, LinkEnergy},
    samples::int,
    setup::{Measure, Scheduling, Until},
};
use packet::{
    Setup,
    losses::Chance,
    samples, simulate,
    transport::config::{Ack, Resilience},
};
use resilience::Protocol;
use results::summary::Summary;
use std::sync::Arc;
use workload::program::{
    collective::Chooser,
    input::Input,
    lower::{Options, lower},
    ranks,
};

const NS: u64 = 1_000;

/// Two ranks `hops` links apart, `count` messages of 1,024 B from each to the other, far apart in time, on links of 10 GB/s.
fn line(hops: u64, count: u64) -> Setup {
    let dims = Value::Ints(vec![hops + 1]);
    let fabric = samples::topology("mesh", &[("dims", dims), ("terminals_per_router", int(1))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let links = vec![samples::link(10_000_000_000, 20_000, 10_000, 1 << 15); fabric.classes().len()];
    let job = (2, 1024, links[0].bandwidth);
    let traffic = samples::traffic("uniform", &[("count", int(count))], "constant", 0.002, job, 3);
    let mut setup = samples::setup(fabric, routing, links, traffic, 1024);
    setup.jobs[0].placement = vec![TerminalId::new(0), TerminalId::new(hops as u32)];
    setup.until = Until::WorkloadDone { limit: 1 << 58 };
    setup
}

fn energy(classes: usize) -> Energy {
    let links = vec![LinkEnergy { bit_pj: 10.0, power_w: 0.5 }; classes];
    Energy {
        links,
        router_w: 2.0,
        nic_w: 3.0,
        sleep_after: 0,
        sleep_share: 0.1,
        wake_time: 4480 * NS,
        start_asleep: false,
        packets_wait: false,
    }
}

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).unwrap().summary
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}");
}

#[test]
fn every_part_takes_what_its_closed_form_says() {
    let (hops, count) = (3, 5);
    let mut setup = line(hops, count);
    setup.energy = Some(energy(setup.fabric.classes().len()));
    let summary = run(&setup);
    let e = summary.energy.unwrap();
    let seconds = summary.simulated_ps as f64 / 1e12;
    near(e.routers_j, 4.0 * 2.0 * seconds);
    near(e.nics_j, 4.0 * 3.0 * seconds);
    // Terminals' links both ways, and 2 * 3 between routers.
    near(e.links.iter().map(|l| l.links as f64).sum(), 8.0 + 6.0);
    let bits = (2 * count * 1024 * 8) as f64;
    near(e.links[0].bits, 2.0 * bits);
    near(e.links[1..].iter().map(|l| l.bits).sum(), hops as f64 * bits);
    near(e.bits_per_message_j.unwrap(), (hops + 2) as f64 * 1024.0 * 8.0 * 10e-12);
    near(e.links_j, 14.0 * 0.5 * seconds + (hops + 2) as f64 * bits * 10e-12);
    near(e.total_j, e.routers_j + e.nics_j + e.links_j);
    near(e.mean_w * seconds, e.total_j);
    assert!(e.links.iter().all(|l| l.asleep_j == 0.0 && l.wakings == 0));
}

/// Flows use their bytes on every link of their way; what is static is the same.
#[test]
fn flows_take_what_their_closed_form_says() {
    let (hops, count) = (3, 5);
    let packet = line(hops, count);
    for half_duplex in [false, true] {
        let config = FlowConfig { half_duplex, ..FlowConfig::new(Rules::plain()) };
        let setup = FlowSetup {
            fabric: Arc::clone(&packet.fabric),
            routing: Some(Arc::clone(&packet.routing)),
            change: None,
            links: packet.links.clone(),
            jobs: packet.jobs.clone(),
            config,
            seed: 1,
            until: packet.until,
            warmup: 0,
            measure: Measure::default(),
            check: true,
            energy: Some(energy(packet.fabric.classes().len())),
            node: None,
        };
        let summary = flow::simulate(&setup, &mut |_| true).unwrap().summary;
        let (e, seconds) = (summary.energy.unwrap(), summary.simulated_ps as f64 / 1e12);
        let bits = (2 * count * 1024 * 8) as f64;
        near(e.routers_j + e.nics_j, 4.0 * (2.0 + 3.0) * seconds);
        near(e.links[0].bits, 2.0 * bits);
        near(e.links[1..].iter().map(|l| l.bits).sum(), hops as f64 * bits);
        near(e.links_j, 14.0 * 0.5 * seconds + (hops + 2) as f64 * bits * 10e-12);
    }
}

/// Bits are counted, not derived from times: chunks of 8.9 ps are no shorter on links than 8 B.
#[test]
fn short_times_lose_no_bits() {
    let mut setup = line(1, 20);
    setup.links.iter_mut().for_each(|l| *l = samples::link(900_000_000_000, 20_000, 10_000, 1 << 15));
    let job = (2, 64, setup.links[0].bandwidth);
    let count = [("count", int(20))];
    setup.jobs[0].work = samples::traffic("uniform", &count, "constant", 0.002, job, 3);
    (setup.packet.packet, setup.packet.chunk) = (64, 8);
    setup.energy = Some(energy(setup.fabric.classes().len()));
    let e = run(&setup).energy.unwrap();
    near(e.links.iter().map(|l| l.bits).sum(), (2 * 20 * 64 * 8 * 3) as f64);
}

#[test]
fn idle_links_sleep() {
    let after = NS;
    let mut setup = line(3, 5);
    setup.energy = Some(Energy { sleep_after: after, ..energy(setup.fabric.classes().len()) });
    let plain = run(&line(3, 5));
    let summary = run(&setup);
    assert_eq!(summary.fingerprint, plain.fingerprint, "sleeping is accounting only");
    let e = summary.energy.unwrap();
    let seconds = summary.simulated_ps as f64 / 1e12;
    for link in &e.links {
        let all = link.links as f64 * seconds;
        let busy = link.bits / 8.0 / 10e9;
        // Every rest is longer than `after`, each ends by a waking or with the run.
        let asleep = all - busy - (link.wakings + link.links) as f64 * after as f64 / 1e12;
        near(link.asleep_share * all, asleep);
        near(link.asleep_j, 0.1 * 0.5 * asleep);
        near(link.awake_j, 0.5 * (all - asleep));
        near(link.waking_j, link.wakings as f64 * 4.48e-6 * 0.5);
    }
    // Each message wakes each of its links; the first may start with the run.
    let wakings: u64 = e.links.iter().map(|l| l.wakings).sum();
    assert!((2 * 5 * 5 - 2..=2 * 5 * 5).contains(&wakings), "{wakings}");
}

/// A packet that is lost somewhere takes what the links took that it crossed.
#[test]
fn what_is_sent_again_counts() {
    let (hops, loss) = (4, 0.1f64);
    let mut setup = line(hops, 3000);
    let classes = setup.fabric.classes().len();
    let mut chances = vec![Chance { loss, ..Chance::default() }; classes];
    chances[0] = Chance::default();
    setup.energy = Some(energy(classes));
    setup.resilience = Some(Resilience {
        protocol: Protocol::Dor,
        chances,
        window: 5,
        timeout: 50_000 * NS,
        backoff: true,
        ack: Ack::OutOfBand(1000 * NS),
        head: 0,
        messages: 4,
        count_duplicates: false,
    });
    let e = run(&setup).energy.unwrap();
    let delivery = (1.0 - loss).powi(hops as i32);
    let packet = 6000.0 * 1024.0 * 8.0;
    // Injection: all transmissions; ejection: those that arrive; between routers: until they are lost.
    let (own, between) = (packet / delivery + packet, packet / delivery * (1.0 - delivery) / loss);
    assert!((e.links[0].bits / own - 1.0).abs() < 0.02, "{} {own}", e.links[0].bits);
    let bits: f64 = e.links[1..].iter().map(|l| l.bits).sum();
    assert!((bits / between - 1.0).abs() < 0.02, "{bits} {between}");
}

/// An all-reduce by a ring over neighbours: every message crosses one link, and a packet is sent until it and its acknowledgement come through.
#[test]
fn expected_bits_of_resilient_messages() {
    let (n, vector) = (8u64, 65_536u64);
    let dims = Value::Ints(vec![n]);
    let fabric = samples::topology("torus", &[("dims", dims), ("terminals_per_router", int(1))]);
    for loss in [0.0, 0.1f64] {
        let values = base::param::Values::complete(loggops::config::ABOUT.params, |_| None);
        let values = values
            .with("cost", Value::Text("resilient".into()))
            .with("loss", Value::Real(loss))
            .with("samples", Value::Int(20_000));
        let text = format!("ranks {n}\nall {{\n allreduce {vector} B\n}}\n");
        let script = ranks::read(&Input::bytes("case", text.as_bytes())).unwrap();
        let chooser = Chooser::read("simple", [("allreduce", "ring")]).unwrap();
        let program = lower(Arc::new(script), Options { chooser, reduce_ps_per_byte: 0 }).unwrap();
        let mut setup = loggops::run::plain(program, DelayConfig::from_values(&values).unwrap());
        setup.fabric = Some(Arc::clone(&fabric));
        setup.jobs[0].placement = TerminalId::first(n as u32).collect();
        setup.energy = Some(energy(1));
        let summary = loggops::simulate(&setup, &mut |_| true).unwrap().summary;
        let e = summary.energy.unwrap();
        let packets = (2 * (n - 1) * n * (vector / n).div_ceil(1463)) as f64;
        let alive = 1.0 - loss;
        let expected = packets * 8.0 * (1500.0 / (alive * alive) + 41.0 / alive);
        assert!((e.links[0].bits / expected - 1.0).abs() < if loss > 0.0 { 0.01 } else { 1e-12 });
        assert_eq!(e.links[0].links, 2 * n);
        near(e.routers_j, n as f64 * 2.0 * summary.simulated_ps as f64 / 1e12);
    }
}

#[test]
fn one_answer_however_it_is_spread() {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "poisson", 0.3);
    setup.until = Until::Time(30_000 * NS);
    setup.energy = Some(Energy { sleep_after: 50 * NS, ..energy(setup.fabric.classes().len()) });
    let one = run(&setup);
    let asleep = one.energy.as_ref().unwrap().links.iter().map(|l| l.asleep_share).sum::<f64>();
    assert!(asleep > 0.3, "{asleep}");
    let waiting = Energy { start_asleep: true, packets_wait: true, ..setup.energy.clone().unwrap() };
    for energy in [setup.energy.clone(), Some(waiting)] {
        (setup.energy, setup.scheduling) = (energy, Scheduling::Sequential { partitions: 1 });
        let one = run(&setup);
        for partitions in [2, 5, 36] {
            setup.scheduling = Scheduling::Sequential { partitions };
            assert_eq!(run(&setup).without_performance().to_json(), one.without_performance().to_json());
        }
    }
}

/// Of two neighbours in a line of four routers the links of the other two are idle: they sleep from the start to the end.
#[test]
fn unused_links_sleep_all_the_time() {
    let mut setup = line(3, 5);
    setup.jobs[0].placement = [0, 1].map(TerminalId::new).to_vec();
    let plain = run(&setup);
    setup.energy = Some(Energy { start_asleep: true, ..energy(setup.fabric.classes().len()) });
    let summary = run(&setup);
    assert_eq!(summary.fingerprint, plain.fingerprint, "sleeping is accounting only");
    let (e, seconds) = (summary.energy.unwrap(), summary.simulated_ps as f64 / 1e12);
    // Links of terminals 2 and 3, and between routers 1, 2 and 3; each in two directions.
    assert_eq!(e.links.iter().map(|l| l.unused.unwrap()).collect::<Vec<_>>(), [4, 4]);
    for link in &e.links {
        near(link.unused_j.unwrap(), 4.0 * 0.1 * 0.5 * seconds);
    }
    // The others wake once, and never sleep again.
    assert_eq!(e.links.iter().map(|l| l.wakings).sum::<u64>(), 14 - 8);
}

/// What finds links asleep waits for each of them in turn.
#[test]
fn packets_wait_for_links_that_wake() {
    let (hops, count, wake) = (3, 4, 4480 * NS);
    let base = run(&line(hops, count)).message_latency_ps.unwrap();
    assert_eq!(base.min, base.max, "messages are alone");
    let mut setup = line(hops, count);
    let asleep = Energy { start_asleep: true, packets_wait: true, ..energy(setup.fabric.classes().len()) };
    setup.energy = Some(asleep.clone());
    setup.check = true;
    let once = run(&setup);
    let (latency, waits) = (once.message_latency_ps.unwrap(), (hops + 2) * wake);
    assert_eq!(
        (latency.min, latency.max),
        (base.min, base.max + waits),
        "the first message wakes them for good"
    );
    near(latency.mean, base.mean + waits as f64 / count as f64);
    setup.energy = Some(Energy { sleep_after: NS, ..asleep });
    let always = run(&setup);
    let latency = always.message_latency_ps.unwrap();
    assert_eq!(
        (latency.min, latency.max),
        (base.min + waits, base.max + waits),
        "each message wakes them anew"
    );
    let (e, seconds) = (always.energy.unwrap(), always.simulated_ps as f64 / 1e12);
    for link in &e.links {
        // Every instant is of one kind: asleep, waking or awake.
        let (all, asleep) = (link.links as f64 * seconds, link.asleep_share * link.links as f64 * seconds);
        near(link.awake_j + link.waking_j, 0.5 * (all - asleep));
    }
    assert_eq!(e.links.iter().map(|l| l.wakings).sum::<u64>(), 2 * count * (hops + 2));
}
