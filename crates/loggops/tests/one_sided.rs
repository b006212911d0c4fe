//! One-sided calls on the delay model against a naive simulator of windows: agents that answer what arrives and locks that are queued, where the
//! model has chains of operations that were read beforehand. Random programs, to the picosecond; faults of the simulator that must be found.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::twice::number;
use crate::windows::{Fault, Naive, Program, program};
use base::index::RankId;
use loggops::{
    DelayConfig,
    observe::Measure,
    run::{plain, simulate},
};
use results::{summary::State, table::Column};
use std::sync::Arc;
use workload::program::{
    Damage,
    collective::{Chooser, TABLES},
    lower::{Options, lower},
    mpi::{Call, Calls, Script},
};

const LATENCY: u64 = 1_000_003;
const BYTE: u64 = 101;

struct Listed(Vec<Vec<Call>>);

struct Reader(std::vec::IntoIter<Call>, u32);

impl Script for Listed {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }
    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(Reader(self.0[rank.index()].clone().into_iter(), 0))
    }
    fn describe(&self, rank: RankId, position: u32) -> String {
        format!("call {position} of rank {rank}")
    }
}

impl Calls for Reader {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        self.1 += 1;
        Ok(self.0.next().map(|call| (call, self.1)))
    }
}

/// By rank, when each of its computations ended on the delay model.
fn modelled(calls: Vec<Vec<Call>>) -> Vec<Vec<u64>> {
    let options = Options { chooser: Chooser::new(&TABLES[0]), reduce_ps_per_byte: 0 };
    let ranks = calls.len();
    let lowered = lower(Arc::new(Listed(calls)), options).unwrap();
    let mut setup = plain(lowered, DelayConfig::pure(LATENCY, 0, BYTE));
    setup.check = true;
    setup.measure = Measure { operations: true, ..Measure::default() };
    let done = simulate(&setup, &mut |_| true).unwrap();
    assert_eq!(done.summary.verdict.state, State::Ok, "{:?}", done.summary.verdict);
    let table = done.tables.iter().find(|t| t.name() == "operations").unwrap();
    let Some(Column::U32(rank)) = table.column("rank") else { panic!("ranks are numbers") };
    let Some(Column::Text(kind)) = table.column("kind") else { panic!("kinds are words") };
    let Some(Column::U64(end)) = table.column("end_ps") else { panic!("times are numbers") };
    let mut ends = vec![Vec::new(); ranks];
    for (row, &code) in kind.codes().iter().enumerate() {
        if kind.words()[code as usize] == "calc" {
            ends[rank[row] as usize].push(end[row]);
        }
    }
    ends.iter_mut().for_each(|ends| ends.sort_unstable());
    ends
}

/// What the rules say, unless they leave something open: what comes first of two things at one instant.
fn naive(program: &Program, fault: Option<Fault>) -> Option<Vec<Vec<u64>>> {
    let [ends, turned] = [0, 1].map(|order| Naive::new(program, LATENCY, BYTE, fault, order).run());
    (ends == turned).then_some(ends)
}

/// True if the rules allow what the model says: three things at one instant have more orders than the two that [`naive`] tries.
fn some_order(program: &Program, model: &[Vec<u64>]) -> bool {
    let draws = (1..1000u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    draws.into_iter().any(|order| Naive::new(program, LATENCY, BYTE, None, order).run() == model)
}

/// The first computation that ends at another time, and the calls of its rank up to it.
fn difference(program: &Program, model: &[Vec<u64>], rules: &[Vec<u64>]) -> Option<String> {
    let differ = |rank: usize| (0..model[rank].len()).find(|&n| model[rank].get(n) != rules[rank].get(n));
    let first = (0..model.len()).filter_map(|rank| differ(rank).map(|n| (rank, n)));
    let (rank, n) =
        first.min_by_key(|&(rank, n)| model[rank][n].min(rules[rank].get(n).copied().unwrap_or(0)))?;
    let mut computed = 0;
    let calls = program.calls[rank].iter().take_while(|call| {
        computed += usize::from(matches!(call, Call::Compute(_)));
        computed <= n
    });
    let calls: Vec<String> = calls.map(|call| format!("{call:?}")).collect();
    let (a, b) = (model[rank][n], rules[rank].get(n));
    Some(format!("rank {rank}, computation {n} ends at {a}, by the rules at {b:?}:\n{}", calls.join("\n")))
}

/// Four thousand programs; as many as one likes with `CASES` and `SEED`.
#[test]
fn random_programs_end_as_a_naive_simulator_says() {
    let (seed, cases) = (number("SEED", 0), number("CASES", 4000));
    let mut compared = 0u64;
    for seed in seed..seed + cases {
        let program = program(seed);
        let Some(rules) = naive(&program, None) else { continue };
        let model = modelled(program.calls.clone());
        compared += 1;
        match difference(&program, &model, &rules) {
            Some(difference) if !some_order(&program, &model) => panic!("seed {seed}: {difference}"),
            _ => {}
        }
    }
    assert!(compared >= cases / 4, "{compared} programs were compared");
}

/// Each fault changes the time of some computation in one of the programs.
#[test]
fn faults_are_found() {
    for fault in Fault::ALL {
        let found = (0..800).any(|seed| {
            let program = program(seed);
            let right = naive(&program, None);
            right.is_some_and(|right| naive(&program, Some(fault)).is_some_and(|wrong| wrong != right))
        });
        assert!(found, "{fault:?} is not found");
    }
}
