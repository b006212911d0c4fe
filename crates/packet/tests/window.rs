//! The packet model with window routers: closed forms, one answer for every partitioning, planted faults, undo.

use crate::common::long;
use base::{
    index::{PortId, RankId, TerminalId},
    rate::Bandwidth,
};
use model::{
    samples::int,
    setup::{Measure, Scheduling, Until},
};
use packet::router::window::WindowRouter;
use packet::{
    Setup, config::RoutePer, network::Network, observe::Observer, samples, simulate, state::PacketDomain,
};
use results::summary::{State, Summary};
use std::sync::Arc;
use workload::{registry::Work, traffic::Message};

const US: u64 = 1_000_000;

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).expect("a valid setup").summary
}

fn in_partitions(setup: &Setup, partitions: u32) -> (Summary, Vec<results::table::Table>) {
    let mut setup = setup.clone();
    setup.scheduling = Scheduling::Sequential { partitions };
    let done = simulate(&setup, &mut |_| true).expect("a valid setup");
    (done.summary.without_performance(), done.tables)
}

/// CODES' 72-node values: 506.639 + 159.605 R ns, within a picosecond per link crossed.
#[test]
fn zero_load_follows_the_closed_form_of_codes() {
    let mut setup = samples::dragonfly(72, "minimal", "poisson", 0.001);
    setup.until = Until::Time(60_000 * US);
    setup.check = true;
    let summary = run(&setup);
    let rows = &summary.latency_by_hops;
    assert_eq!(rows.iter().map(|r| r.hops).collect::<Vec<_>>(), [1, 2, 3, 4]);
    for row in rows {
        let expected = 506_639 + 159_605 * u64::from(row.hops);
        assert!(
            row.min_ps.abs_diff(expected) <= u64::from(row.hops) + 1,
            "{} hops: {} ps",
            row.hops,
            row.min_ps
        );
    }
}

#[test]
fn one_chunk_packets_follow_the_closed_form() {
    let mut setup = samples::dragonfly(72, "minimal", "poisson", 0.001);
    setup.packet.packet = 64;
    setup.jobs[0].message = Some(64);
    let bandwidth = setup.links[0].bandwidth;
    setup.jobs[0].work = samples::traffic("uniform", &[], "poisson", 0.001, (72, 64, bandwidth), 1);
    setup.until = Until::Time(6_000 * US);
    for row in run(&setup).latency_by_hops {
        let expected = 59_605 + 159_605 * u64::from(row.hops);
        assert!(
            row.min_ps.abs_diff(expected) <= u64::from(row.hops) + 1,
            "{} hops: {} ps",
            row.hops,
            row.min_ps
        );
    }
}

/// With parameters that divide evenly the closed form holds exactly.
#[test]
fn even_parameters_give_the_exact_closed_form() {
    let mut setup = samples::dragonfly(72, "minimal", "poisson", 0.001);
    setup.links = [(64, 20), (32, 30), (16, 700)]
        .map(|(gbytes, ns)| samples::link(gbytes * 1_000_000_000, ns * 1000, 5_000, 32 << 10))
        .to_vec();
    setup.packet.router_delay = 50_000;
    let bandwidth = setup.links[0].bandwidth;
    setup.jobs[0].work = samples::traffic("uniform", &[], "poisson", 0.001, (72, 1024, bandwidth), 1);
    setup.until = Until::Time(6_000 * US);
    // t = 1, 2, 4 ns; terminal link first, then per router t + 50 ns + latency, then 15 chunks at the slowest link.
    let (terminal, local, global) =
        (1_000 + 50_000 + 20_000, 2_000 + 50_000 + 30_000, 4_000 + 50_000 + 700_000);
    let first = 1_000 + 20_000;
    let two = (first + local + terminal + 15 * 2_000).min(first + global + terminal + 15 * 4_000);
    let three = first + local + global + terminal + 15 * 4_000;
    let expected = [first + terminal + 15 * 1_000, two, three, three + local];
    let rows = run(&setup).latency_by_hops;
    assert_eq!(rows.iter().map(|r| r.min_ps).collect::<Vec<_>>(), expected);
}

/// The parts of latency sum to it, and at zero load nothing waits.
#[test]
fn parts_sum_to_the_whole() {
    for load in [0.001, 0.9] {
        let mut setup = samples::dragonfly(72, "minimal", "poisson", load);
        setup.until = Until::Time(if load < 0.01 { 2_000 * US } else { 300 * US });
        let summary = run(&setup);
        let (parts, mean) = (summary.latency_parts_ps.unwrap().to_array(), summary.latency_ps.unwrap().mean);
        assert!((parts.iter().sum::<f64>() - mean).abs() < 1.0, "{parts:?} against {mean}");
        if load < 0.01 {
            assert!(parts[2] < 0.02 * mean, "{parts:?}");
        }
    }
}

/// Also on links so slow that a chunk takes milliseconds, nothing waits at zero load.
#[test]
fn parts_are_reported_on_slow_links() {
    let fabric = samples::topology("single-switch", &[("terminals", int(4))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(1_000_000, 1_000, 5_000, 1 << 20)];
    let traffic = samples::traffic(
        "bisection",
        &[("count", int(1))],
        "constant",
        0.5,
        (4, 8192, links[0].bandwidth),
        1,
    );
    let mut setup = samples::setup(fabric, routing, links, traffic, 8192);
    (setup.packet.packet, setup.packet.chunk) = (8192, 8192);
    setup.until = Until::Time(50_000 * US);
    let summary = run(&setup);
    let (parts, mean) = (summary.latency_parts_ps.unwrap(), summary.latency_ps.unwrap().mean);
    assert!((mean - 16_384_000_000.0 - 102_000.0).abs() < 1.0, "{mean}");
    assert!((parts.serialisation - 16_384_000_000.0).abs() < 20_000.0, "{parts:?}");
    assert!(parts.hop_queue < 20_000.0, "{parts:?}");
}

/// Utilisation is the share of time that a link is busy, also with packets far below a chunk.
#[test]
fn utilisation_counts_the_time_of_short_packets() {
    let fabric = samples::topology("single-switch", &[("terminals", int(4))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(1_000_000_000, 1_000, 5_000, 1 << 20)];
    let traffic = samples::traffic("bisection", &[], "constant", 0.25, (4, 1, links[0].bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, 1);
    setup.until = Until::Time(100 * US);
    let used = run(&setup).links.unwrap();
    assert!((used.mean_utilisation - 0.25).abs() < 0.01 && used.max_utilisation <= 1.0, "{used:?}");
}

/// A short measured part after a long warm-up does not multiply the samples, and absurd series are refused.
#[test]
fn series_are_bounded() {
    let mut setup = samples::dragonfly(72, "minimal", "constant", 0.1);
    setup.until = Until::Time(20 * US);
    setup.warmup = 20 * US - 1_000;
    let tables = simulate(&setup, &mut |_| true).unwrap().tables;
    let series = tables.iter().find(|t| t.name() == "series").unwrap();
    assert!(series.rows() <= 4 * 64, "{} rows", series.rows());
    setup.measure.window = 1;
    assert!(matches!(packet::validate(&setup), Err(model::Failure::Setup(why)) if why.contains("windows")));
}

/// Packets of a message are counted in 32 bits: one more was a message of none.
#[test]
fn a_message_of_too_many_packets_is_refused() {
    let setup = |bytes: u64| {
        let mut setup = crate::hybrid::dragonfly(0.5, 256);
        setup.jobs[0].message = Some(bytes);
        setup
    };
    let most = (1 << 30) * u64::from(setup(256).packet.packet);
    assert!(packet::validate(&setup(most)).is_ok());
    let refused = packet::validate(&setup(most + 1));
    assert!(matches!(refused, Err(model::Failure::Setup(why)) if why.contains("2^30 packets")));
}

fn variety() -> Vec<(&'static str, Setup)> {
    let mut all = Vec::new();
    for (name, algorithm, arrival, load) in [
        ("minimal saturated", "minimal", "constant", 1.0),
        ("adaptive saturated", "progressive-adaptive", "constant", 1.0),
        ("minimal low", "minimal", "bernoulli", 0.2),
    ] {
        let mut setup = samples::dragonfly(72, algorithm, arrival, load);
        setup.until = Until::Time(if long() { 60 * US } else { 25 * US });
        setup.check = true;
        setup.measure = Measure {
            window: 7 * US,
            loads: false,
            per_port: true,
            packets: true,
            messages: true,
            slow_down: false,
            pairs: true,
            operations: false,
            engine: false,
        };
        all.push((name, setup.clone()));
        setup.packet.route_per = RoutePer::Packet;
        all.push((name, setup));
    }
    // Small buffers: much blocking. Mixed sizes: the next arrival is not known ahead.
    let mut tight = all[2].1.clone();
    for link in &mut tight.links {
        link.vc_buffer = 256;
    }
    all.push(("tight", tight.clone()));
    let bandwidth = tight.links[0].bandwidth;
    tight.jobs[0].work = samples::traffic("uniform", &[], "poisson", 0.8, (72, 1060, bandwidth), 1);
    tight.jobs[0].message = Some(1060);
    all.push(("mixed sizes", tight));
    let mut pong = all[0].1.clone();
    pong.jobs[0].work = samples::traffic(
        "ping-pong",
        &[("count", int(if long() { 20 } else { 6 }))],
        "constant",
        1.0,
        (72, 5000, bandwidth),
        1,
    );
    pong.jobs[0].message = Some(5000);
    pong.until = Until::WorkloadDone { limit: 10_000 * US };
    all.push(("ping-pong", pong));
    all
}

#[test]
fn one_answer_for_every_partitioning() {
    for (n, (name, setup)) in variety().into_iter().enumerate() {
        let (one, tables) = in_partitions(&setup, 1);
        assert!(one.packets.unwrap().delivered > 500, "{name}: {:?}", one.packets);
        let some = [2, 5, 36];
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
        setup.until = Until::Time(3 * US);
        setup.measure = Measure::default();
        let net = Arc::new(Network::new(&setup, 1));
        let mut observer = Observer::new(Arc::clone(&net), 0, 3 * US, setup.measure, true);
        let domain = PacketDomain::<WindowRouter>::new(Arc::clone(&net), 0);
        let (_, events) = engine::undo_check::run_with_undo(domain, &mut observer, 1, 3 * US);
        assert!(events > 1000, "{name}: {events} events");
        let mut plain = Observer::new(Arc::clone(&net), 0, US, setup.measure, true);
        engine::undo_check::run_with_undo(
            PacketDomain::<WindowRouter>::new(Arc::clone(&net), 0),
            &mut plain,
            1,
            US,
        );
        let mut again = Observer::new(Arc::clone(&net), 0, US, setup.measure, true);
        let domain = PacketDomain::<WindowRouter>::new(Arc::clone(&net), 0);
        engine::undo_check::run_with_rollbacks(domain, &mut again, 1, US, 40, 5);
        assert_eq!(again.sums.fingerprint, plain.sums.fingerprint, "{name}: a rollback left a trace");
    }
}

/// One chunk a picosecond late, swapped ties, another path: each changes the fingerprint.
#[test]
fn planted_faults_change_the_fingerprint() {
    let mut setup = samples::dragonfly(72, "minimal", "constant", 0.5);
    setup.until = Until::Time(40 * US);
    let plain = run(&setup).fingerprint;
    let mut late = setup.clone();
    late.links[2].latency += 1;
    assert_ne!(run(&late).fingerprint, plain, "a picosecond");
    let mut ties = setup.clone();
    ties.seed = 2;
    assert_ne!(run(&ties).fingerprint, plain, "ties in another order");
    let mut path = setup.clone();
    path.routing = Arc::new(Detour(Arc::clone(&setup.routing)));
    assert_ne!(run(&path).fingerprint, plain, "one path");
    assert_eq!(run(&setup).fingerprint, plain);
}

/// Sends the first chunk of terminal 0's first packet another way at its first router, then as before.
struct Detour(Arc<dyn fabric::routing::Routing>);

impl fabric::routing::Routing for Detour {
    fn vcs(&self) -> u8 {
        4
    }
    fn route(
        &self,
        hop: &mut fabric::routing::Hop,
        congestion: &mut dyn fabric::routing::Congestion,
    ) -> fabric::routing::Choice {
        let mut choice = self.0.route(hop, congestion);
        if hop.source == TerminalId::new(0)
            && hop.visited == 0
            && hop.random == base::rng::Stream::new(1, base::rng::Purpose::Route, 0)
        {
            // Local ports come first: port 0 leads to router 1, from where the routing finds its way.
            choice.port = PortId::new(u32::from(choice.port == PortId::new(0)));
        }
        choice
    }
    fn options(&self, hop: &fabric::routing::Hop, out: &mut Vec<fabric::routing::Choice>) {
        self.0.options(hop, out);
    }

    fn facts(&self) -> fabric::routing::Facts {
        fabric::routing::Facts::OBLIVIOUS
    }
}

/// Beyond saturation the sources' backlog takes no memory, and the verdict says so; a little below it does not.
#[test]
fn saturation_is_reported_and_a_near_miss_is_not() {
    let mut setup = samples::dragonfly(72, "minimal", "poisson", 1.0);
    setup.jobs[0].work =
        samples::traffic("bisection", &[], "poisson", 0.4, (72, 1024, setup.links[0].bandwidth), 1);
    setup.until = Until::Time(2_000 * US);
    let over = run(&setup);
    assert_eq!(over.verdict.state, State::Saturated, "{:?}", over.verdict);
    assert!(
        (over.throughput.unwrap().accepted_fraction - 0.25).abs() < 0.01,
        "four nodes share a global link"
    );
    setup.jobs[0].work =
        samples::traffic("bisection", &[], "poisson", 0.2, (72, 1024, setup.links[0].bandwidth), 1);
    assert_eq!(run(&setup).verdict.state, State::Ok);
}

/// A ring without datelines deadlocks, and the verdict names the cycle; with datelines the same traffic flows.
#[test]
fn deadlock_names_its_cycle_and_a_near_miss_flows() {
    let ring = |dateline: bool, partitions| {
        let dims = base::param::Value::Ints(vec![8]);
        let fabric = samples::topology("torus", &[("dims", dims), ("terminals_per_router", int(1))]);
        let flag = base::param::Value::Bool(dateline);
        let routing = samples::routing(&fabric, "dimension-order", &[("dateline", flag)]);
        let links = vec![samples::link(2 << 30, 29_802, 3_725, 256); 2];
        let traffic = samples::traffic("bisection", &[], "constant", 1.0, (8, 1024, links[0].bandwidth), 1);
        let mut setup = samples::setup(fabric, routing, links, traffic, 1024);
        setup.check = true;
        setup.until = Until::Time(200 * US);
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

/// M/D/1: Poisson arrivals from many sources at one link of a single switch; Pollaczek-Khinchine.
#[test]
fn queueing_delay_on_one_link_is_that_of_m_d_1() {
    for load in [0.3, 0.6, 0.8] {
        let n = 64;
        let fabric = samples::topology("single-switch", &[("terminals", int(n))]);
        let routing = samples::routing(&fabric, "minimal", &[]);
        // Sources' links are so fast that they neither queue nor space packets out: all waiting is at the output.
        let links = vec![samples::link(1_000_000_000, 10_000, 5_000, 1 << 20)];
        let traffic = to_one(load, n, links[0].bandwidth);
        let mut setup = samples::setup(fabric, routing, links, traffic, 1000);
        setup.packet.packet = 1000;
        setup.packet.chunk = 1000;
        setup.warmup = 2_000 * US;
        setup.until = Until::Time(400_000 * US);
        let summary = run(&setup);
        let service = 1_000_000.0;
        // The switch's own output is the server; arrivals are thinned by 64 sources, each far from busy.
        let expected = load / (2.0 * (1.0 - load)) * service;
        let waited = summary.latency_parts_ps.unwrap().hop_queue;
        let width = summary.confidence.unwrap().mean_half_width_ps;
        // A finite number of sources that cannot send two at once waits a little less: 1/64 of the load.
        let slack = width + 1.5 * expected * load / 64.0;
        assert!(
            (waited - expected).abs() < slack,
            "load {load}: waited {waited}, expected {expected} +- {slack}"
        );
    }
}

/// Each of `n - 1` sources sends to rank 0 at `load / (n - 1)` of the link, Poisson.
fn to_one(load: f64, n: u64, link: Bandwidth) -> Work {
    samples::open_loop(move |rank, index, previous| {
        let mut random = base::rng::Stream::new(9, base::rng::Purpose::Arrival, u64::from(rank)).at(index);
        let mean = link.time_rounded(1000)? as f64 * (n - 1) as f64 / load;
        let gap = -random.unit_open().ln() * mean;
        let (time, destination) = (previous + gap as u64, RankId::new(0));
        (rank.number() > 0).then_some(Message { time, destination, bytes: 1000 })
    })
}
