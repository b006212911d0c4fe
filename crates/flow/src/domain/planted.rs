//! Faults planted in the state of the model's domain, one at a time: `--check` finds all of them. Those of flows in time are planted in `sharing`.

use super::{FlowDomain, Message};
use crate::{FlowConfig, FlowSetup, check, context::context, observe::Observer, rules::Rules, run::domain};
use base::{
    index::TerminalId,
    time::{NEVER, Ps},
};
use engine::executor::{Executor, Options};
use fabric::{graph::Fabric, routing::Routing};
use model::setup::LinkParams;
use packet::samples;
use ranks::{hosted::Hosted, programs::Programs};
use std::sync::Arc;
use workload::registry::Work;

const TERMINALS: u32 = 8;

pub(super) type Run = Executor<Hosted<FlowDomain, Programs>, Observer>;

/// A switch on which everybody sends at random, most of the time to terminals that others send to as well.
fn run() -> Run {
    let fabric = samples::topology("single-switch", &[("terminals", samples::int(TERMINALS.into()))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    on(fabric, routing)
}

/// The same on a dragonfly whose routers choose ways by load.
fn divided() -> Run {
    let sizes = [
        ("groups", 3),
        ("routers_per_group", 2),
        ("terminals_per_router", 2),
        ("global_ports_per_router", 1),
    ];
    let fabric = samples::topology("dragonfly", &sizes.map(|(name, n)| (name, samples::int(n))));
    let routing = samples::routing(&fabric, "ugal-l", &[]);
    on(fabric, routing)
}

fn on(fabric: Arc<Fabric>, routing: Arc<dyn Routing>) -> Run {
    let job = (fabric.terminals(), 20_000, link().bandwidth);
    let work = samples::traffic("uniform", &[("count", samples::int(40))], "poisson", 0.8, job, 3);
    started(fabric, routing, work, FlowConfig::new(Rules::plain()), true)
}

/// A link of 1 GB/s and 1 us.
pub(super) fn link() -> LinkParams {
    samples::link(1_000_000_000, 1_000_000, 2, 1024)
}

/// A run of one job on all terminals, before its first event.
pub(super) fn started(
    fabric: Arc<Fabric>,
    routing: Arc<dyn Routing>,
    work: Work,
    config: FlowConfig,
    check: bool,
) -> Run {
    let setup = FlowSetup { check, ..crate::samples::setup(&fabric, Some(routing), work, config) };
    let cx = Arc::new(context(&setup).expect("the setup is sound"));
    let part = (domain(&cx), Observer::new(cx));
    Executor::new([part], Options { tie_seed: 1, wheel_shift: 12 })
}

fn faults(run: &Run, dry: bool) -> Vec<String> {
    let part = &run.partitions[0];
    check::faults(&part.domain.carrier, &part.observer, dry)
}

/// A message that is under way.
fn message(d: &mut FlowDomain) -> &mut Message {
    let row = (0..d.messages.len() as u32).find(|row| !d.free.contains(row)).expect("some are under way");
    &mut d.messages[row as usize]
}

fn next(terminal: TerminalId) -> TerminalId {
    TerminalId::new((terminal.number() + 1) % TERMINALS)
}

type Fault = (&'static str, fn(&mut FlowDomain));

const FAULTS: &[Fault] = &[
    ("a message is lost", |d| {
        let row = (0..d.messages.len() as u32).find(|row| !d.free.contains(row)).expect("some are under way");
        d.free.push(row);
    }),
    ("a message that is over is under way", |d| {
        d.free.pop().expect("some are over");
    }),
    ("a message loses a byte", |d| message(d).bytes -= 1),
    ("a message gains a byte", |d| message(d).bytes += 1),
    ("a message loses all bytes", |d| message(d).bytes = 0),
    ("a message is for another terminal", |d| message(d).destination = next(message(d).destination)),
    ("a message is from another terminal", |d| message(d).source = next(message(d).source)),
    ("a message takes another's number", |d| message(d).number += 1),
    ("a message was sent sooner", |d| message(d).created -= 1),
    ("a message was sent later", |d| message(d).created += 1),
    ("two messages change places", |d| {
        let mut rows = (0..d.messages.len()).filter(|&row| !d.free.contains(&(row as u32)));
        let (a, b) = (rows.next().expect("some are under way"), rows.next().expect("some are under way"));
        d.messages[b].bytes += 7;
        d.messages.swap(a, b);
    }),
    ("a terminal's count goes back", |d| d.numbers[0] -= 1),
    ("a terminal's count goes ahead", |d| d.numbers[0] += 1),
    ("a source leaves a message out", |d| d.sources[1].index += 1),
    ("a source sends a message again", |d| d.sources[1].index -= 1),
    ("flows are not woken", |d| d.alarm = 1),
];

/// A message under way that its routing divided, and its row.
fn whose(d: &FlowDomain) -> (u32, Message) {
    let (row, _) = d.turns.rows().next().expect("some are divided");
    (row, d.messages[row as usize])
}

/// The route of another message under way.
fn another(d: &FlowDomain, route: u32) -> u32 {
    let mut routes = d.turns.rows().map(|(tag, _)| d.messages[tag as usize].route);
    routes.find(|&other| other != route).expect("there are others")
}

/// Faults of messages that are divided by load.
const LOADS: &[Fault] = &[
    ("a link counts a packet too many", |d| d.network.count_falsely(7, 1)),
    ("a link counts a packet too few", |d| {
        let link = d.network.counted().expect("it is counted").iter().position(|&n| n > 0);
        d.network.count_falsely(link.expect("some link is used"), -1);
    }),
    ("a message that is divided is not counted", |d| {
        let route = whose(d).1.route;
        d.network.count(&d.sharing, route, false);
    }),
    ("a message that is divided is counted twice", |d| {
        let route = whose(d).1.route;
        d.network.count(&d.sharing, route, true);
    }),
    ("a message does not hear of its new route", |d| {
        let (row, message) = whose(d);
        let other = another(d, message.route);
        d.messages[row as usize].route = other;
    }),
    ("another message has its turn", |d| {
        let (row, _) = whose(d);
        d.turns.exchange(row);
    }),
    ("a message has its turn when it is over", |d| {
        let (row, _) = whose(d);
        let over = d.free.last().copied().expect("some are over");
        d.turns.copy(row, over);
    }),
    ("a flow leaves its route without a word", |d| {
        let (row, message) = whose(d);
        let flow = d.turns.rows().find(|r| r.0 == row).expect("it is there").1.flow;
        let other = another(d, message.route);
        d.sharing.plant_route(flow, other);
    }),
];

#[test]
fn planted_faults_are_found() {
    found(run, FAULTS);
}

#[test]
fn planted_faults_of_divided_messages_are_found() {
    found(divided, LOADS);
    found(divided, FAULTS);
    // Messages were asked again: what is left of them is less than their bytes.
    let mut run = divided();
    run.run_until(MIDDLE, u64::MAX);
    let mut moved = 0;
    for at in (0..400).map(|n| MIDDLE + n * 1_000_000) {
        run.run_until(at, u64::MAX);
        let d = &run.partitions[0].domain.carrier;
        moved += d.sharing.flows_under_way().filter(|f| f.work < 20_000.0).count();
    }
    assert!(moved > 0, "nobody was divided anew");
}

/// When faults are planted.
const MIDDLE: Ps = 300_000_000;

/// A sound run has no faults, and each that is planted is found, at once or at the end.
fn found(run: fn() -> Run, all: &[Fault]) {
    let mut sound = run();
    for at in (0..100u64).map(|n| n * 20_000_000) {
        sound.run_until(at, u64::MAX);
        assert_eq!(faults(&sound, false), Vec::<String>::new(), "at {at} ps");
    }
    sound.run_until(NEVER, u64::MAX);
    assert_eq!(faults(&sound, true), Vec::<String>::new());
    let missed: Vec<&str> = all
        .iter()
        .filter(|(_, plant)| {
            let mut run = run();
            run.run_until(MIDDLE, u64::MAX);
            let domain = &mut run.partitions[0].domain.carrier;
            assert!(domain.under_way().len() > 2 && !domain.free.is_empty());
            plant(domain);
            faults(&run, false).is_empty() && {
                run.run_until(NEVER, u64::MAX);
                faults(&run, true).is_empty()
            }
        })
        .map(|(name, _)| *name)
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}
