//! Faults planted in the state of the model's domain, one at a time: `--check` finds all of them. Those of flows in time are planted in `sharing`.

use super::{FlowDomain, Message};
use crate::{FlowConfig, FlowSetup, check, context::context, observe::Observer, rules::Rules, run::domain};
use base::{
    index::TerminalId,
    time::{NEVER, Ps},
};
use engine::executor::{Executor, Options};
use model::setup::{JobSetup, Measure, Until};
use packet::samples;
use ranks::{hosted::Hosted, programs::Programs};
use std::sync::Arc;

const TERMINALS: u32 = 8;

type Run = Executor<Hosted<FlowDomain, Programs>, Observer>;

/// A switch on which everybody sends at random, most of the time to terminals that others send to as well.
fn run() -> Run {
    let fabric = samples::topology("single-switch", &[("terminals", samples::int(TERMINALS.into()))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let link = samples::link(1_000_000_000, 1_000_000, 2, 1024);
    let job = (TERMINALS, 20_000, link.bandwidth);
    let work = samples::traffic("uniform", &[("count", samples::int(40))], ("poisson", 0.8), job, 3);
    let setup = FlowSetup {
        fabric: Arc::clone(&fabric),
        routing: Some(routing),
        change: None,
        links: vec![link; fabric.classes().len()],
        jobs: vec![JobSetup {
            name: "job".to_owned(),
            work,
            placement: fabric.reachable().collect(),
            message: None,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        }],
        config: FlowConfig::new(Rules::plain()),
        seed: 1,
        until: Until::WorkloadDone { limit: 1 << 58 },
        warmup: 0,
        measure: Measure::default(),
        check: true,
        energy: None,
        node: None,
    };
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

#[test]
fn planted_faults_are_found() {
    let mut sound = run();
    for at in (0..100u64).map(|n| n * 20_000_000) {
        sound.run_until(at, u64::MAX);
        assert_eq!(faults(&sound, false), Vec::<String>::new(), "at {at} ps");
    }
    sound.run_until(NEVER, u64::MAX);
    assert_eq!(faults(&sound, true), Vec::<String>::new());
    let middle: Ps = 300_000_000;
    let missed: Vec<&str> = FAULTS
        .iter()
        .filter(|(_, plant)| {
            let mut run = run();
            run.run_until(middle, u64::MAX);
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
