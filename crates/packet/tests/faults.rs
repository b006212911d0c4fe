//! Links and routers that fail during a run: nothing is lost, nothing new takes a failed link, one answer for every
//! partitioning, and nothing changes before the failure.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::{
    index::{ChannelId, LinkId, TerminalId},
    param::Value,
    time::{NEVER, Ps},
};
use engine::executor::{Executor, Options};
use fabric::{
    deadlock,
    faults::{Degraded, Faults, degrade},
    graph::Fabric,
    routing::up_down,
};
use model::{
    samples::int,
    setup::{Change, Measure, Scheduling, Until},
};
use packet::{
    Setup,
    config::RoutePer,
    network::Network,
    observe::Observer,
    samples, simulate,
    state::{PacketDomain, Record},
};
use packet::{
    config::Architecture,
    net::Router,
    router::{input_queued::InputQueued, registry::named, window::WindowRouter},
};
use std::sync::Arc;

const US: u64 = 1_000_000;

/// When the links fail.
const AT: Ps = 2 * US;

struct Machine {
    name: &'static str,
    fabric: Arc<Fabric>,
    routing: &'static str,
    given: Vec<(&'static str, Value)>,
    router: Architecture,
    per: RoutePer,
    load: f64,
}

fn torus() -> Arc<Fabric> {
    samples::topology("torus", &[("dims", Value::Ints(vec![4, 4])), ("terminals_per_router", int(2))])
}

fn dragonfly() -> Arc<Fabric> {
    let given = [
        ("groups", int(9)),
        ("routers_per_group", int(4)),
        ("terminals_per_router", int(2)),
        ("global_ports_per_router", int(2)),
    ];
    samples::topology("dragonfly", &given)
}

fn tree() -> Arc<Fabric> {
    samples::topology("fat-tree", &[("k", int(4)), ("levels", int(3))])
}

fn machines() -> Vec<Machine> {
    let adaptive = || vec![("select", Value::Text("least-queue".into()))];
    let new = |name, fabric, routing, given, (router, per), load| Machine {
        name,
        fabric,
        routing,
        given,
        router,
        per,
        load,
    };
    let (window, clocked) = (named("window"), named("input-queued"));
    let (chunk, packet) = (RoutePer::Chunk, RoutePer::Packet);
    vec![
        new("torus", torus(), "shortest-path", vec![], (window, chunk), 0.9),
        new("dragonfly", dragonfly(), "up-down", vec![], (window, packet), 0.6),
        new("tree", tree(), "shortest-path", adaptive(), (window, packet), 0.9),
        new("tree by chunk", tree(), "up-down", adaptive(), (window, chunk), 0.5),
        new("clocked torus", torus(), "shortest-path", vec![], (clocked, packet), 0.7),
        new("clocked tree", tree(), "up-down", adaptive(), (clocked, packet), 0.9),
    ]
}

fn faults(links: f64, routers: f64) -> Faults {
    Faults { link_fraction: links, router_fraction: routers, seed: 5, ..Faults::default() }
}

impl Machine {
    /// Every rank sends `count` messages of two packets and a bit; the faults strike at `at`.
    fn setup(&self, faults: &Faults, at: Ps, load: f64, count: u64) -> (Setup, Degraded) {
        let degraded = degrade(&self.fabric, faults).unwrap();
        let left = Arc::new(degraded.fabric.clone());
        let routing = samples::routing(&self.fabric, self.routing, &self.given);
        let links = self.fabric.classes().iter().map(|_| samples::link(10_000_000_000, 20_000, 9_000, 2048));
        let links: Vec<_> = links.collect();
        let placement: Vec<TerminalId> = left.reachable().collect();
        let size = (placement.len() as u32, 600, links[0].bandwidth);
        let work = samples::traffic("uniform", &[("count", int(count))], "bernoulli", load, size, 1);
        let mut setup = samples::setup(Arc::clone(&self.fabric), routing, links, work, 600);
        setup.jobs[0].placement = placement;
        setup.change = Some(Change {
            at,
            routing: samples::routing(&left, self.routing, &self.given),
            detour: Arc::from(up_down::detour(Arc::clone(&left)).unwrap()),
            fabric: left,
        });
        (setup.packet.packet, setup.packet.route_per, setup.packet.router) = (256, self.per, self.router);
        setup.packet.router_delay = 30_000;
        setup.packet.vcs = setup.vcs_needed();
        setup.until = Until::WorkloadDone { limit: 1_000_000 * US };
        setup.check = true;
        (setup, degraded)
    }
}

fn records(setup: &Setup, until: Ps) -> Vec<Record> {
    match setup.packet.router.name {
        "window" => records_of::<WindowRouter>(setup, until),
        _ => records_of::<InputQueued>(setup, until),
    }
}

fn records_of<R: Router>(setup: &Setup, until: Ps) -> Vec<Record> {
    let net = Arc::new(Network::new(setup, 1));
    let parts = [(PacketDomain::<R>::new(net, 0), Vec::new())];
    let mut executor = Executor::new(parts, Options { tie_seed: 1, wheel_shift: 12 });
    executor.run_until(until, u64::MAX);
    executor.settle();
    executor.partitions.remove(0).observer
}

fn acceptances(records: &[Record]) -> impl Iterator<Item = (Ps, LinkId, ChannelId)> + '_ {
    records.iter().filter_map(|r| match *r {
        Record::Accepted { time, link, vc, .. } => Some((time, link, vc)),
        _ => None,
    })
}

fn fails(setup: &Setup, link: LinkId) -> bool {
    let after = &setup.change.as_ref().unwrap().fabric;
    setup.fabric.ports().get(link.index()).is_some_and(|p| p.peer != after.port(link).peer)
}

#[test]
fn everything_arrives_and_every_partitioning_agrees() {
    for machine in machines() {
        let (mut setup, _) = machine.setup(&faults(0.1, 0.06), AT, machine.load, 60);
        setup.measure = Measure {
            window: US,
            per_port: true,
            packets: true,
            messages: true,
            pairs: true,
            ..Measure::default()
        };
        let run = |partitions| {
            let mut setup = setup.clone();
            setup.scheduling = Scheduling::Sequential { partitions };
            let done = simulate(&setup, &mut |_| true).unwrap_or_else(|e| panic!("{}: {e}", machine.name));
            (done.summary.without_performance(), done.tables)
        };
        let (one, tables) = run(1);
        let packets = one.packets.unwrap();
        assert_eq!((packets.injected, packets.in_flight), (packets.delivered, 0), "{}", machine.name);
        assert!(one.simulated_ps > AT + US && packets.delivered > 1000, "{}: {packets:?}", machine.name);
        for partitions in [2, 64] {
            let (many, others) = run(partitions);
            assert_eq!(many.to_json(), one.to_json(), "{} in {partitions} partitions", machine.name);
            assert!(others == tables, "{} in {partitions} partitions: tables differ", machine.name);
        }
    }
}

#[test]
fn each_of_the_three_routings_is_free_of_deadlock() {
    for machine in machines() {
        let (setup, _) = machine.setup(&faults(0.1, 0.06), AT, 0.1, 1);
        let change = setup.change.as_ref().unwrap();
        let free = |fabric: &Fabric, routing: &dyn fabric::routing::Routing| {
            deadlock::check(fabric, routing, u64::MAX).is_free()
        };
        assert!(free(&setup.fabric, setup.routing.as_ref()), "{}", machine.name);
        assert!(free(&change.fabric, change.routing.as_ref()), "{}", machine.name);
        assert!(free(&change.fabric, change.detour.as_ref()), "{}", machine.name);
    }
}

/// With buffers that nothing has to wait for, the last chunk on a failed link was accepted before it failed; clocked routers take
/// some cycles from routing to the link. Virtual channels say who went which way.
#[test]
fn nothing_is_routed_to_a_failed_link() {
    for machine in machines() {
        let (mut setup, degraded) = machine.setup(&faults(0.15, 0.0), AT, 0.15, 40);
        assert!(degraded.fabric.cut_off().is_empty(), "{}: choose another seed", machine.name);
        setup.links.iter_mut().for_each(|l| l.vc_buffer = 1 << 16);
        let records = records(&setup, 1 << 40);
        let first_after = setup.routing.vcs();
        let detour = setup.packet.vcs - 1;
        let mut on_failing = 0;
        let (mut diverted, mut after) = (0, 0);
        for (time, link, vc) in acceptances(&records) {
            let between = setup.fabric.ports().get(link.index()).is_some_and(|p| p.class > 0);
            if fails(&setup, link) {
                on_failing += 1;
                // A packet has four chunks of 6.4 ns; it may wait for two others.
                let grace = if machine.router == named("window") { 0 } else { 3 * 4 * 6_400 };
                assert!(time < AT + grace, "{}: link {link} at {time}", machine.name);
                assert!(vc < ChannelId::new(first_after), "{}: link {link}, VC {vc}", machine.name);
            }
            if between && vc >= ChannelId::new(first_after) {
                assert!(time >= AT, "{}: VC {vc} at {time}", machine.name);
                if vc == ChannelId::new(detour) {
                    diverted += 1;
                } else {
                    after += 1;
                }
            }
        }
        assert!(on_failing > 50 && after > 500, "{}: {on_failing}, {after}", machine.name);
        assert!(diverted > 0, "{}: nothing had to be diverted", machine.name);
    }
}

#[test]
fn nothing_is_different_before_the_failure() {
    for machine in machines() {
        let (mut with, _) = machine.setup(&faults(0.1, 0.06), AT, machine.load, 1000);
        with.until = Until::Time(AT);
        let mut without = with.clone();
        if machine.router == named("window") {
            without.change = None;
        } else {
            // The virtual channels of clocked routers are shared out among the routings from the beginning.
            without.change.as_mut().unwrap().at = NEVER;
        }
        let run = |setup: &Setup| simulate(setup, &mut |_| true).unwrap().summary.fingerprint;
        assert_eq!(run(&with), run(&without), "{}", machine.name);
        let flags = simulate(&with, &mut |_| true).unwrap().summary.verdict.flags;
        assert!(flags.contains(&"no-failure".to_owned()), "{}: {flags:?}", machine.name);
        with.until = Until::Time(2 * AT);
        without.until = with.until;
        assert_ne!(run(&with), run(&without), "{}: nothing happened", machine.name);
    }
}

#[test]
fn a_terminal_that_will_be_cut_off_carries_no_rank() {
    let machine = &machines()[0];
    let (mut setup, degraded) = machine.setup(&faults(0.0, 0.1), AT, 0.5, 4);
    assert_eq!(degraded.fabric.cut_off().len(), 4);
    assert!(packet::validate(&setup).is_ok());
    setup.jobs[0].placement[0] = degraded.fabric.cut_off()[0];
    assert!(
        matches!(packet::validate(&setup), Err(model::Failure::Setup(why)) if why.contains("cut terminal"))
    );
}

fn events_undone<R: Router>(net: Arc<Network>, observer: &mut Observer, end: Ps) -> u64 {
    engine::undo_check::run_with_undo(PacketDomain::<R>::new(net, 0), observer, 1, end).1
}

#[test]
fn every_handler_can_be_undone() {
    for machine in machines() {
        let (mut setup, _) = machine.setup(&faults(0.1, 0.06), US, machine.load, 1000);
        setup.until = Until::Time(2 * US);
        let net = Arc::new(Network::new(&setup, 1));
        let mut observer = Observer::new(Arc::clone(&net), 0, 2 * US, setup.measure, true);
        let events = match setup.packet.router.name {
            "window" => events_undone::<WindowRouter>(net, &mut observer, 2 * US),
            _ => events_undone::<InputQueued>(net, &mut observer, 2 * US),
        };
        assert!(events > 500, "{}: {events} events", machine.name);
    }
}
