//! Several rails per node: closed forms, one answer for every partitioning, failures of one plane, programs in order across rails.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::{
    index::{PortId, RouterId, TerminalId},
    param::Value,
};
use fabric::metrics::Hops;
use fabric::{
    faults::{Faults, degrade},
    graph::Fabric,
    planes,
    registry::{ROUTINGS, values},
    routing::Routing,
};
use model::{
    samples::int,
    setup::{Measure, Rail, Scheduling, Until},
};
use packet::router::{input_queued::InputQueued, registry::named, window::WindowRouter};
use packet::{
    Setup, config::RoutePer, network::Network, observe::Observer, samples, simulate, state::PacketDomain,
};
use results::{
    summary::{State, Summary},
    table::Column,
};
use std::sync::Arc;
use workload::{
    program::{
        After, Op,
        list::{List, Rank, recv, send},
    },
    registry::Work,
};

const US: u64 = 1_000_000;
const POLICIES: [Rail; 3] = [Rail::RoundRobin, Rail::ByPair, Rail::Random];

fn run(setup: &Setup, partitions: u32) -> Summary {
    let mut setup = setup.clone();
    setup.scheduling = Scheduling::Sequential { partitions };
    simulate(&setup, &mut |_| true).unwrap().summary
}

fn bound(fabric: &Arc<Fabric>, routing: &str) -> Arc<dyn Routing> {
    let entry = base::registry::find(ROUTINGS, routing).unwrap();
    Arc::from(planes::bind(fabric, |f| (entry.build)(f, &values(entry.about.params, &[]))).unwrap())
}

/// A machine with `rails` planes; uniform traffic of this load over all rails of a node.
fn machine(topology: &str, given: &[(&str, Value)], routing: &str, rails: u32, load: f64) -> Setup {
    let one = samples::topology(topology, given);
    let fabric = Arc::new(planes::stack(&one, rails));
    let routing = bound(&fabric, routing);
    let class = |c: u64| samples::link(2_147_483_647, 7_001 + 9_000 * c, 3_725, 4 << 10);
    let links: Vec<_> = (0..fabric.classes().len() as u64).map(class).collect();
    let all = links[0].bandwidth.times(u64::from(rails)).unwrap();
    let traffic = samples::traffic("uniform", &[], "poisson", load, (fabric.nodes(), 1024, all), 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, 1024);
    setup.until = Until::Time(100 * US);
    setup.check = true;
    setup
}

fn dragonfly(routing: &str, rails: u32, load: f64) -> Setup {
    let given = [
        ("groups", int(5)),
        ("routers_per_group", int(4)),
        ("terminals_per_router", int(2)),
        ("global_ports_per_router", int(1)),
    ];
    machine("dragonfly", &given, routing, rails, load)
}

fn switch(rails: u32, load: f64) -> Setup {
    machine("single-switch", &[("terminals", int(4))], "minimal", rails, load)
}

/// Without contention a packet takes as long on any number of rails, whichever is chosen: the closed form of one switch.
#[test]
fn latency_without_contention_does_not_change() {
    let one = run(&switch(1, 1e-3), 1).latency_ps.unwrap();
    for policy in POLICIES {
        let mut setup = switch(3, 1e-3 / 3.0);
        setup.rail = policy;
        let latency = run(&setup, 1).latency_ps.unwrap();
        assert_eq!(latency.min, one.min, "{policy:?}");
    }
    let byte = 1e12 / 2_147_483_647.0;
    let expected = 2 * 7_001 + 100_000 + ((1024 + 64) as f64 * byte).round() as u64;
    assert!(one.min.abs_diff(expected) <= 2, "{} against {expected}", one.min);
}

/// One sender, one receiver, more than the links take: k rails carry k times the bytes.
#[test]
fn rails_multiply_what_a_saturated_link_carries() {
    let carried = |rails: u32, policy: Rail| {
        let mut setup = machine("single-switch", &[("terminals", int(2))], "minimal", rails, 1.5);
        setup.rail = policy;
        setup.until = Until::Time(400 * US);
        let summary = run(&setup, 1);
        assert_eq!(summary.verdict.state, State::Saturated);
        let accepted = summary.throughput.unwrap();
        (accepted.accepted_bytes_per_s, accepted.accepted_fraction)
    };
    let (one, fraction) = carried(1, Rail::RoundRobin);
    assert!(fraction > 0.98, "{fraction}");
    for (rails, policy) in [(2, Rail::RoundRobin), (3, Rail::RoundRobin), (2, Rail::Random)] {
        let (all, fraction) = carried(rails, policy);
        let ratio = all / one / f64::from(rails);
        assert!((ratio - 1.0).abs() < 0.01 && fraction > 0.97, "{rails} {policy:?}: {ratio}, {fraction}");
    }
    // Two nodes are two pairs, each of which keeps to one rail.
    let (pair, _) = carried(2, Rail::ByPair);
    assert!((pair / one - 1.0).abs() < 0.01, "{}", pair / one);
}

/// Below saturation every rail of every node carries the same share, and everything offered is accepted.
#[test]
fn rails_share_the_load() {
    let mut setup = dragonfly("minimal", 4, 0.3);
    setup.measure = Measure { packets: true, ..Measure::default() };
    setup.until = Until::Time(1_000 * US);
    let done = simulate(&setup, &mut |_| true).unwrap();
    let throughput = done.summary.throughput.unwrap();
    let offered = throughput.offered_fraction.unwrap();
    assert!((offered - 0.3).abs() < 1e-3, "{offered}");
    assert!((throughput.accepted_fraction - 0.3).abs() < 0.01, "{}", throughput.accepted_fraction);
    let packets = done.tables.iter().find(|t| t.name() == "packets").unwrap();
    let column = |name: &str| match packets.column(name) {
        Some(Column::U32(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    };
    let (rails, sources) = (column("rail"), column("source"));
    assert!(sources.iter().all(|&s| s < 40), "sources are nodes");
    let mut counts = [0usize; 4];
    rails.iter().for_each(|&r| counts[r as usize] += 1);
    let even = rails.len() / 4;
    assert!(counts.iter().all(|c| c.abs_diff(even) < even / 50), "{counts:?}");
}

/// One answer over 1, 2 and 64 partitions, which always split a plane and never a node; handlers can be undone.
#[test]
fn one_answer_for_every_partitioning() {
    let cases =
        [("minimal", Rail::RoundRobin), ("progressive-adaptive", Rail::Random), ("ugal-g", Rail::ByPair)];
    for (routing, policy) in cases {
        for router in [named("window"), named("input-queued")] {
            let mut setup = dragonfly(routing, 2, 0.8);
            setup.rail = policy;
            setup.packet.router = router;
            setup.packet.route_per = RoutePer::Packet;
            setup.until = Until::Time(20 * US);
            let one = run(&setup, 1);
            assert!(one.packets.as_ref().unwrap().delivered > 1_000);
            for partitions in [2, 64] {
                let other = run(&setup, partitions);
                assert_eq!(
                    other.fingerprint, one.fingerprint,
                    "{routing} {policy:?}, {partitions} partitions"
                );
            }
            let net = Arc::new(Network::new(&setup, 1));
            let mut observer = Observer::new(Arc::clone(&net), 0, 3 * US, setup.measure, true);
            let (_, events) = match router.name {
                "window" => {
                    let domain = PacketDomain::<WindowRouter>::new(net, 0);
                    let (_, events) = engine::undo_check::run_with_undo(domain, &mut observer, 1, 3 * US);
                    ((), events)
                }
                _ => {
                    let domain = PacketDomain::<InputQueued>::new(net, 0);
                    let (_, events) = engine::undo_check::run_with_undo(domain, &mut observer, 1, 3 * US);
                    ((), events)
                }
            };
            assert!(events > 1000, "{events} events");
        }
    }
}

/// A stack of one is the network itself.
#[test]
fn one_rail_is_no_rail() {
    let stacked = dragonfly("minimal", 1, 0.7);
    let mut plain = stacked.clone();
    for policy in POLICIES {
        plain.rail = policy;
        assert_eq!(run(&plain, 1).fingerprint, run(&stacked, 1).fingerprint);
    }
    let mut two = dragonfly("minimal", 2, 0.7);
    let fingerprints: Vec<_> = POLICIES
        .iter()
        .map(|&policy| {
            two.rail = policy;
            run(&two, 1).fingerprint
        })
        .collect();
    assert!(fingerprints[0] != fingerprints[1] && fingerprints[1] != fingerprints[2]);
}

/// A fixed partner by pair leaves the other rails idle for ever: they read on without end, but not without time.
#[test]
fn an_idle_rail_costs_little() {
    let mut setup = switch(2, 0.4);
    setup.rail = Rail::ByPair;
    let all = setup.links[0].bandwidth.times(2).unwrap();
    let count = [("count", int(2_000))];
    setup.jobs[0].work = samples::traffic("random-permutation", &count, "constant", 0.4, (4, 1024, all), 1);
    setup.until = Until::WorkloadDone { limit: 1_000_000 * US };
    let one = run(&setup, 1);
    assert_eq!(one.messages.as_ref().unwrap().delivered, 4 * 2_000);
    assert_eq!(run(&setup, 64).fingerprint, one.fingerprint);
}

/// A router that fails in one plane, from the start or during the run: its nodes use the other plane, and nothing is lost.
#[test]
fn a_failed_router_leaves_the_other_plane() {
    for at in [0, 10 * US] {
        for policy in POLICIES {
            let mut setup = dragonfly("up-down", 2, 0.2);
            setup.rail = policy;
            let whole = Arc::clone(&setup.fabric);
            let faults =
                Faults { routers: vec![RouterId::new(whole.routers_per_plane() + 3)], ..Faults::default() };
            let left = Arc::new(degrade(&whole, &faults).unwrap().fabric);
            assert_eq!(left.usable_nodes().len() as u32, whole.nodes());
            if at == 0 {
                setup.routing = bound(&left, "up-down");
                setup.fabric = Arc::clone(&left);
            } else {
                let detour = planes::bind(&left, fabric::routing::up_down::detour).unwrap();
                let routing = bound(&left, "up-down");
                setup.change = Some(model::setup::Change {
                    at,
                    fabric: Arc::clone(&left),
                    routing,
                    detour: Arc::from(detour),
                });
                setup.packet.vcs = setup.vcs_needed();
            }
            let all = setup.links[0].bandwidth.times(2).unwrap();
            let job = (whole.nodes(), 1024, all);
            setup.jobs[0].work = samples::traffic("uniform", &[("count", int(50))], "poisson", 0.2, job, 1);
            setup.until = Until::WorkloadDone { limit: 100_000 * US };
            let one = run(&setup, 1);
            assert_eq!(one.messages.as_ref().unwrap().delivered, 50 * u64::from(whole.nodes()), "{policy:?}");
            for partitions in [2, 64] {
                assert_eq!(run(&setup, partitions).fingerprint, one.fingerprint, "{policy:?} {partitions}");
            }
            // Nothing goes through the failed router.
            setup.measure.packets = true;
            let lost: Vec<TerminalId> =
                TerminalId::first(whole.nodes()).filter(|&n| left.rails_of(n) == 1).collect();
            assert_eq!(lost.len(), 2);
            let done = simulate(&setup, &mut |_| true).unwrap();
            let table = done.tables.iter().find(|t| t.name() == "packets").unwrap();
            let column = |name: &str| match table.column(name) {
                Some(Column::U32(values)) => values.clone(),
                other => panic!("{name}: {other:?}"),
            };
            let (sources, destinations, rails) = (column("source"), column("destination"), column("rail"));
            for i in 0..rails.len() {
                if lost.contains(&TerminalId::new(sources[i]))
                    || lost.contains(&TerminalId::new(destinations[i]))
                {
                    assert_eq!(rails[i], 0);
                }
            }
        }
    }
}

/// Small messages overtake large ones on the other rail; receives still match in the order of sending.
#[test]
fn programs_match_in_order_across_rails() {
    let pairs = 20u32;
    let mut ranks = vec![Rank::default(); 2 * pairs as usize];
    for r in 0..pairs {
        for n in 0..12u64 {
            // Large and small in turn, all with one tag; the receive of each knows its size.
            let bytes = if n % 2 == 0 { 20_000 } else { 8 + n };
            let after = |op: Op| Op { after: After::Finish, ..op };
            ranks[r as usize].push(send(2 * pairs - 1 - r, bytes, 7));
            ranks[(2 * pairs - 1 - r) as usize].push(after(recv(r, bytes, 7)));
        }
    }
    for policy in POLICIES {
        for eager in [65_536, 100] {
            let mut setup = dragonfly("minimal", 2, 0.5);
            setup.rail = policy;
            setup.packet.eager = eager;
            setup.measure.operations = true;
            setup.jobs[0].message = None;
            setup.jobs[0].work = Work::Program(Arc::new(List::new(ranks.clone())));
            setup.until = Until::WorkloadDone { limit: 100_000 * US };
            let done = simulate(&setup, &mut |_| true).unwrap();
            assert_eq!(done.summary.verdict.state, State::Ok, "{policy:?}: {:?}", done.summary.verdict);
            for partitions in [2, 64] {
                assert_eq!(run(&setup, partitions).fingerprint, done.summary.fingerprint);
            }
            // Operations of a receiver end in their order.
            let table = done.tables.iter().find(|t| t.name() == "operations").unwrap();
            let (Some(Column::U32(rank)), Some(Column::U64(end))) =
                (table.column("rank"), table.column("end_ps"))
            else {
                panic!("no operations")
            };
            let receives = rank.iter().zip(end).filter(|(r, _)| **r >= pairs);
            let receives: Vec<_> = receives.collect();
            assert_eq!(receives.len(), 12 * pairs as usize);
            assert!(receives.windows(2).all(|w| w[0].0 != w[1].0 || w[0].1 <= w[1].1));
        }
    }
}

/// A rank's row adds up what all rails of its node did, wherever the rank is placed.
#[test]
fn ranks_count_all_rails() {
    let ranks = 40u32;
    let program = || {
        let mut all = vec![Rank::default(); ranks as usize];
        for r in 0..ranks {
            for n in 1..6u32 {
                all[r as usize].push(send((r + n) % ranks, 3_000 + u64::from(n), n));
                all[r as usize].push(recv((r + ranks - n) % ranks, 3_000 + u64::from(n), n));
            }
        }
        Arc::new(List::new(all))
    };
    let run = |rails: u32| {
        let mut setup = dragonfly("minimal", rails, 0.5);
        setup.measure.messages = true;
        setup.jobs[0].message = None;
        setup.jobs[0].work = Work::Program(program());
        setup.jobs[0].placement = (0..ranks).map(|r| TerminalId::new(r * 7 % ranks)).collect();
        setup.until = Until::WorkloadDone { limit: 100_000 * US };
        let done = simulate(&setup, &mut |_| true).unwrap();
        let column = |table: &str, name: &str| match done
            .tables
            .iter()
            .find(|t| t.name() == table)
            .and_then(|t| t.column(name))
        {
            Some(Column::U64(values)) => values.clone(),
            other => panic!("{table}.{name}: {other:?}"),
        };
        let counts = ["operations", "messages_sent", "bytes_sent", "messages_received"];
        let latencies: u64 = column("messages", "latency_ps").iter().sum();
        assert_eq!(column("ranks", "transfer_ps").iter().sum::<u64>(), latencies, "{rails} rails");
        counts.map(|name| column("ranks", name))
    };
    let one = run(1);
    assert_eq!(one[0], vec![10; ranks as usize]);
    assert_eq!(run(2), one);
}

/// Distances of the delay model are those of one plane, failures or not as long as some plane is whole.
#[test]
fn the_delay_model_sees_one_plane() {
    let one = samples::topology("torus", &[("dims", Value::Ints(vec![4, 4]))]);
    let two = planes::stack(&one, 2);
    let whole = Hops::of(&one).unwrap();
    let faults = Faults { link_fraction: 0.2, routers: vec![RouterId::new(5)], seed: 3, ..Faults::default() };
    let single = planes::stack(&one, 1);
    let broken = degrade(&single, &faults).unwrap().fabric;
    let half =
        degrade(&two, &Faults { links: vec![(RouterId::new(0), PortId::new(0))], ..Faults::default() })
            .unwrap()
            .fabric;
    let (stacked, half) = (Hops::of(&two).unwrap(), Hops::of(&half).unwrap());
    let mut longer = 0;
    let left = Hops::of(&broken).unwrap();
    for a in TerminalId::first(one.terminals()) {
        for b in TerminalId::first(one.terminals()) {
            assert_eq!(stacked.between(a, b), whole.between(a, b));
            assert_eq!(half.between(a, b), whole.between(a, b), "the other plane is whole");
            longer += u32::from(left.between(a, b) > whole.between(a, b));
        }
    }
    assert!(longer > 0, "failures lengthen paths on a torus too");
}
