//! The delay model as a carrier: the contract, and rank programs on it against closed forms and against the model's own drive.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::programs::{alltoall, binomial, dissemination, ring, stencil, wavefront};
use base::{
    index::{RankId, TerminalId},
    time::{NEVER, Ps},
};
use engine::{
    director::Pauses,
    domain::Observer,
    executor::{Executor, Options},
    undo_check,
};
use loggops::{
    DelayConfig,
    carrier::{DelayCarrier, Record},
    run::{delays, plain, simulate},
};
use model::setup::JobSetup;
use ranks::{
    hosted::Hosted,
    kit::{self, Plan, Planned},
    programs::Programs,
    roster::{Place, Roster, Rules},
};
use results::table::Column;
use std::sync::Arc;
use workload::{
    program::list::{List, Rank},
    registry::Work,
};

const NS: Ps = 1000;

/// A network of so many terminals, all alike.
fn carrier(config: &DelayConfig, terminals: u32) -> DelayCarrier {
    let network = plain(Arc::new(List::new(Vec::new())), config.clone());
    DelayCarrier::new(config.clone(), delays(&network).unwrap().into(), terminals)
}

#[test]
fn interfaces_and_delays_keep_the_contract() {
    let config = DelayConfig::loggops();
    let messages = kit::random(7, 400, 3000, 200_000 * NS, 1);
    let least = |m: &Planned| 2500 * NS + m.bytes.saturating_sub(1) * 6 * NS;
    for (end, whole) in [(NEVER, true), (150_000 * NS, false)] {
        let plan = Plan { messages: messages.clone(), end, whole, ordered: true, least };
        kit::check(|| vec![carrier(&config, 7)], |_| 0, plan);
    }
    let config = DelayConfig::pure(300 * NS, 0, 10);
    let least = |m: &Planned| 300 * NS + m.bytes * 10;
    let plan = Plan { messages, end: NEVER, whole: true, ordered: false, least };
    let seen = kit::run(vec![carrier(&config, 7)], |_| 0, &plan);
    let exact = |s: &kit::Seen| {
        let m = plan.messages[s.delivery.ahead.0[0] as usize];
        s.at == m.at + least(&m)
    };
    assert!(seen.iter().all(exact), "without interfaces every message takes its delay");
    kit::check(|| vec![carrier(&config, 7)], |_| 0, plan);
}

/// The end of each rank's last operation.
#[derive(Default)]
struct Ends(Vec<Ps>);

impl Observer<Record> for Ends {
    fn commit(&mut self, record: &Record) {
        if let Record::Operation(f) = record {
            let rank = f.terminal.index();
            self.0.resize(self.0.len().max(rank + 1), 0);
            self.0[rank] = self.0[rank].max(f.time);
        }
    }
}

/// A program's ranks on the network of a configuration; those of `shared` lie on one terminal in twos.
fn hosted(ranks: Vec<Rank>, config: &DelayConfig, shared: bool) -> Hosted<DelayCarrier, Programs> {
    let terminal = |rank: u32| if shared { rank / 2 } else { rank };
    let all = 0..ranks.len() as u32;
    let job = JobSetup {
        name: "job".to_owned(),
        work: Work::Program(Arc::new(List::new(ranks))),
        placement: all.clone().map(|rank| TerminalId::new(terminal(rank))).collect(),
        message: None,
        start: 0,
        compute_ppb: JobSetup::COMPUTE_AS_IS,
    };
    let DelayConfig { eager, overhead, .. } = *config;
    let rules = Rules { eager, control: 0, overhead, meets: false, direct: None };
    let roster = Arc::new(Roster::new(&[job], rules, None));
    let places = all.clone().map(|rank| Place {
        job: 0,
        rank: RankId::new(rank),
        terminal: TerminalId::new(terminal(rank)),
    });
    Hosted { host: Programs::new(roster, places), carrier: carrier(config, all.end) }
}

fn ends(ranks: Vec<Rank>, config: &DelayConfig) -> Vec<Ps> {
    let options = Options { tie_seed: 1, wheel_shift: 10 };
    let mut executor = Executor::new([(hosted(ranks, config, false), Ends::default())], options);
    executor.run_directed(NEVER, &mut (), Pauses::NONE, |_, ()| true);
    let part = executor.partitions.pop().unwrap();
    assert!(!part.domain.host.is_busy(), "all operations are done");
    part.observer.0
}

fn drive(ranks: Vec<Rank>, config: &DelayConfig) -> Vec<Ps> {
    let finished = simulate(&plain(Arc::new(List::new(ranks)), config.clone()), &mut |_| true).unwrap();
    let table = finished.tables.iter().find(|t| t.name() == "ranks").unwrap();
    let Some(Column::U64(ends)) = table.column("makespan_ps") else { panic!("makespans are integers") };
    ends.clone()
}

/// With pure delays processors and interfaces do not meet, so host and drive agree rank by rank.
#[test]
fn pure_delays_are_those_of_the_drive() {
    let config = DelayConfig::pure(700 * NS, 0, 3);
    let programs: [Vec<Rank>; 6] = [
        dissemination(13, 100),
        binomial(16, 4000),
        alltoall(9, 64),
        ring(8, 100, 5),
        stencil(4, 1000, 3),
        wavefront(5, 512, 3),
    ];
    for (n, ranks) in programs.into_iter().enumerate() {
        assert_eq!(ends(ranks.clone(), &config), drive(ranks, &config), "program {n}");
    }
}

/// k rounds of L + 2 o + (s-1) G each, where nothing blocks.
#[test]
fn trees_and_dissemination_have_closed_forms() {
    let config = DelayConfig { byte_overhead: 0, ..DelayConfig::loggops() };
    let round = |bytes: u64| (2500 + 2 * 1500 + (bytes - 1) * 6) * NS;
    for (k, ranks) in [(1, 2), (4, 16), (6, 64)] {
        for bytes in [1, 8, 1000] {
            let last = |ranks: Vec<Rank>| ends(ranks, &config).into_iter().max();
            assert_eq!(last(dissemination(ranks, bytes)), Some(k * round(bytes)), "{ranks} {bytes}");
        }
        assert_eq!(ends(binomial(ranks, 1), &config).into_iter().max(), Some(k * round(1)));
    }
}

/// Every handler of host and carrier can be undone; also where two ranks share a terminal, whose messages to each other take no time.
#[test]
fn every_handler_can_be_undone() {
    let config = DelayConfig { eager: 500, ..DelayConfig::loggops() };
    for shared in [false, true] {
        let (mut plain, mut again) = (Ends::default(), Ends::default());
        let domain = || hosted(stencil(4, 1000, 2), &config, shared);
        let (done, events) = undo_check::run_with_undo(domain(), &mut plain, 1, NEVER);
        assert!(events > 200 && !done.host.is_busy(), "{events} events");
        undo_check::run_with_rollbacks(domain(), &mut again, 1, NEVER, 20, 5);
        assert_eq!(again.0, plain.0, "a rollback left a trace");
    }
}
