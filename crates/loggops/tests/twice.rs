//! Rank programs on the delay model against a second implementation, which has nothing but the rules: thousands of random cases, and wrong rules
//! that must be found.
//!
//! More cases: `CASES=1000000 SEED=1 cargo test --profile checked -p netloom-loggops --test all the_model`.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::cases::{Case, CaseJob, Pieces};
use crate::programs::{binomial, dissemination, random, ring, stencil, wavefront};
use crate::reference::{FAULTS, Fault, Job, Outcome};
use base::rng::{Purpose, Stream};
use loggops::{
    DelayConfig, DelaySetup,
    observe::Measure,
    run::{plain, simulate},
};
use proptest::prelude::*;
use results::table::Column;
use std::sync::Arc;
use workload::program::{
    After, Kind, Op, Program,
    goal::{Losses, read_text, write_text},
    input::Input,
    list::{List, Rank, calc, recv, send},
};

/// What the delay model makes of a case.
fn run(case: &Case) -> Outcome {
    outcome(&case.setup())
}

/// Of a run that is checked: nothing is found in a sound one.
fn outcome(setup: &DelaySetup) -> Outcome {
    let setup = &DelaySetup { check: true, ..setup.clone() };
    let finished = simulate(setup, &mut |_| true).unwrap();
    let column = |table: &str, name: &str| {
        let table = finished.tables.iter().find(|t| t.name() == table);
        match table.and_then(|t| t.column(name)) {
            Some(Column::U64(column)) => column.clone(),
            Some(Column::U32(column)) => column.iter().map(|&n| n.into()).collect(),
            _ => Vec::new(),
        }
    };
    let (ranks, numbers) = (column("operations", "rank"), column("operations", "operation"));
    let (starts, ends) = (column("operations", "start_ps"), column("operations", "end_ps"));
    let names = finished.tables.iter().find(|t| t.name() == "operations").and_then(|t| t.column("job"));
    let first = |name: &str| -> usize {
        let before = setup.jobs.iter().take_while(|j| j.name != name);
        before.map(|j| j.program.ranks() as usize).sum()
    };
    let jobs: Vec<usize> = match names {
        Some(Column::Text(names)) => {
            let bases: Vec<usize> = names.words().iter().map(|n| first(n)).collect();
            names.codes().iter().map(|&code| bases[code as usize]).collect()
        }
        _ => Vec::new(),
    };
    let rows =
        (0..ranks.len()).map(|i| ((jobs[i] + ranks[i] as usize, numbers[i] as usize), (starts[i], ends[i])));
    Outcome { makespans: column("ranks", "makespan_ps"), operations: rows.collect() }
}

/// What the rules say of it.
fn rules(case: &Case, fault: Option<Fault>) -> Outcome {
    let job = |j| {
        let &CaseJob { ref program, start, compute_ppb, stream } = j;
        Job { program: &**program, start, compute_ppb, stream }
    };
    let jobs: Vec<Job<'_>> = case.jobs.iter().map(job).collect();
    crate::reference::simulate(&jobs, &case.config, fault)
}

/// Where two outcomes part.
fn difference(model: &Outcome, rules: &Outcome) -> Option<String> {
    let mut keys: Vec<_> = model.operations.keys().chain(rules.operations.keys()).collect();
    keys.sort_unstable();
    let at = |o: &Outcome, key| o.operations.get(key).copied();
    let differ = keys.into_iter().filter(|k| at(model, k) != at(rules, k));
    // What comes first is the cause.
    let first = differ.min_by_key(|k| at(model, k).min(at(rules, k)).map(|t| t.0));
    if let Some(key) = first {
        return Some(format!("operation {key:?}: {:?}, by the rules {:?}", at(model, key), at(rules, key)));
    }
    let (a, b) = (&model.makespans, &rules.makespans);
    (a != b).then(|| format!("makespans {a:?}, by the rules {b:?}"))
}

/// Six thousand cases; as many as one likes with `CASES` and `SEED`.
#[test]
fn the_model_does_what_the_rules_say() {
    let (seed, cases) = (number("SEED", 0), number("CASES", 6000));
    for seed in seed..seed + cases {
        let case = Case::new(seed);
        let (model, rules) = (run(&case), rules(&case, None));
        if let Some(difference) = difference(&model, &rules) {
            show(&case, &model, &rules);
            panic!("case {seed}: {difference}");
        }
    }
}

/// Graphs in memory go without the engine: by the rules, and with every table, sum and fingerprint that they have on it.
#[test]
fn graphs_do_what_the_rules_say() {
    let (seed, cases) = (number("SEED", 0), number("CASES", 600));
    for seed in seed..seed + cases {
        let case = Case::plain(seed);
        let graphs = case.graphs();
        let (model, rules) = (outcome(&graphs), rules(&case, None));
        if let Some(difference) = difference(&model, &rules) {
            show(&case, &model, &rules);
            panic!("case {seed}: {difference}");
        }
        let all = |setup: &DelaySetup| {
            let setup = &DelaySetup { limit: setup.limit, ..setup.clone() };
            let mut f = simulate(setup, &mut |_| true).unwrap();
            f.summary.performance = None;
            let tables: Vec<String> = f.tables.iter().map(|t| format!("{t:?}")).collect();
            (format!("{:?}", f.summary), tables, format!("{:?}", f.stuck), f.operations)
        };
        let most = model.makespans.iter().copied().max().unwrap_or(0);
        for limit in [u64::MAX, most / 2] {
            for (messages, pairs, window) in [(false, false, 0), (true, true, 1000)] {
                let measure = Measure { messages, pairs, window, operations: true };
                let [a, b] =
                    [graphs.clone(), case.read_graphs()].map(|s| all(&DelaySetup { limit, measure, ..s }));
                assert_eq!(a.0, b.0, "case {seed}, until {limit}");
                assert_eq!(a.1, b.1, "case {seed}, until {limit}");
                assert_eq!(a.3, b.3, "case {seed}, until {limit}");
                // What is left of a run that was cut off is said of what was read, which is all or some.
                assert!(limit < u64::MAX || a.2 == b.2, "case {seed}: {} {}", a.2, b.2);
            }
        }
    }
}

/// Each wrong rule gives another result in one of the cases.
#[test]
fn wrong_rules_are_found() {
    for fault in FAULTS {
        let found = (0..6000).find(|&seed| {
            let case = Case::new(seed);
            rules(&case, None) != rules(&case, Some(fault))
        });
        assert!(found.is_some(), "{fault:?} is not found");
    }
}

/// What waits for the eighth operation of its rank, behind which the graph is cut, goes in the order of its edges.
#[test]
fn sends_leave_in_order_behind_a_cut() {
    let mut a = Rank::default();
    for n in 0..8 {
        let op = a.push(calc(1_000));
        if n > 0 {
            a.requires(op, n - 1);
        }
    }
    for tag in 0..20 {
        let op = a.push(send(1, 8, tag));
        a.requires(op, 7);
    }
    let mut b = Rank::default();
    for tag in 0..20 {
        b.push(recv(0, 8, tag));
    }
    let setup = plain(Arc::new(List::new(vec![a, b])), DelayConfig::loggops());
    let measure = Measure { operations: true, ..Measure::default() };
    let ends = outcome(&DelaySetup { measure, ..setup }).operations;
    let starts: Vec<u64> = (8..28).map(|n| ends[&(0, n)].0).collect();
    assert!(starts.is_sorted(), "{starts:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Larger programs: tens of operations by rank, messages of all kinds.
    #[test]
    fn larger_programs_agree(seed in any::<u64>(), set in 0..3usize, kind in 0..4u32) {
        let sets = [[2500, 1500, 1000, 6, 0, 65_535], [5000, 1200, 3000, 3, 1, 1024], [1000, 0, 0, 1, 0, 65_535]];
        agree(random(seed, kind), &sets[set])?;
    }
}

#[test]
fn whole_applications_agree() {
    let set = [2500, 1500, 1000, 6, 0, 65_535];
    for ranks in
        [wavefront(7, 64, 12), stencil(4, 2000, 5), ring(9, 8, 30), dissemination(64, 1024), binomial(37, 1)]
    {
        agree(ranks, &set).unwrap();
    }
}

/// The model and the rules agree on a graph.
fn agree(
    ranks: Vec<Rank>,
    [latency, overhead, gap, byte_gap, byte_overhead, eager]: &[u64; 6],
) -> Result<(), TestCaseError> {
    let ps = |ns: &u64| ns * 1000;
    let config = DelayConfig {
        latency: ps(latency),
        overhead: ps(overhead),
        gap: ps(gap),
        byte_gap: ps(byte_gap),
        byte_overhead: ps(byte_overhead),
        eager: *eager,
        ..DelayConfig::loggops()
    };
    let several = ranks.iter().flat_map(|rank| &rank.ops).any(|op| op.cpu > 0);
    // The rules are LogGOPSim's, which a list does not follow on several processors.
    let program: Arc<dyn Program> =
        if several { Arc::new(Pieces::whole(ranks)) } else { Arc::new(List::new(ranks)) };
    let job = Job { program: &*program, start: 0, compute_ppb: 1_000_000_000, stream: false };
    let rules = crate::reference::simulate(&[job], &config, None);
    let setup = plain(program, config);
    let measure = Measure { operations: true, ..Measure::default() };
    let model = outcome(&DelaySetup { measure, ..setup });
    prop_assert_eq!(difference(&model, &rules), None);
    Ok(())
}

/// Every operation of a case, what the model made of it, and where the rules say otherwise.
fn show(case: &Case, model: &Outcome, rules: &Outcome) {
    eprintln!("{:?}, {} partitions", case.config, case.partitions);
    let mut host = 0;
    for job in &case.jobs {
        eprintln!("job from {}, stream: {}", job.start, job.stream);
        for (rank, ends) in job.program.all() {
            eprintln!("rank {host}, batches end at {ends:?}");
            for (n, op) in rank.ops.iter().enumerate() {
                let edges: Vec<_> = rank.edges.iter().filter(|e| e.after == n as u64).collect();
                let (a, b) = (model.operations.get(&(host, n)), rules.operations.get(&(host, n)));
                let reported = if a == b { String::new() } else { format!(", by the rules {b:?}") };
                eprintln!("  {n}: {op:?} {edges:?}: {a:?}{reported}");
            }
            host += 1;
        }
    }
}

/// A number that the environment has, or this one.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |n| n.parse().unwrap())
}

/// A program whose operations follow each other takes the same time as its own graph in GOAL, though that has no joins.
#[test]
fn a_program_written_as_goal_takes_the_same_time() {
    let mut compared = 0;
    for seed in 0..6000 {
        let case = Case::new(seed);
        let ([job], mut text) = (&case.jobs[..], Vec::new()) else { continue };
        let follow = |rank: &Rank| rank.ops.iter().skip(1).all(|op| op.after != After::Nothing);
        let said = write_text(&*job.program, 1, &mut text).unwrap() == Losses::default();
        if !said || !job.program.all().iter().all(|(rank, _)| follow(rank)) {
            continue;
        }
        let graph = read_text(&Input::bytes("x.goal", &text), 1).unwrap();
        let time = |program| outcome(&plain(program, case.config.clone())).makespans;
        assert_eq!(time(Arc::clone(&job.program) as _), time(Arc::new(graph) as _), "case {seed}");
        compared += 1;
    }
    assert!(compared > 300, "{compared}");
}

/// On several processors an operation waits for the ends of those that it needs, whichever processor has them, and a processor does one thing at a time. Read
/// in batches of any size it is the same.
#[test]
fn operations_of_several_processors_wait_for_those_that_they_need() {
    for (seed, kind) in (0..400).flat_map(|seed| [(seed, 2), (seed, 3)]) {
        let ranks = random(seed, kind);
        let run = |program: List| {
            let mut setup = plain(Arc::new(program), DelayConfig::loggops());
            setup.measure = Measure { operations: true, ..setup.measure };
            outcome(&setup)
        };
        let whole = run(List::new(ranks.clone()));
        for (r, rank) in ranks.iter().enumerate() {
            for edge in &rank.edges {
                let of = |number: u64| whole.operations.get(&(r, number as usize)).copied();
                let (Some(before), Some(after)) = (of(edge.before), of(edge.after)) else { continue };
                // Sends and receives show when their partners were there, not when they were taken up.
                let from = match (edge.on_start, rank.ops[edge.before as usize].kind) {
                    (true, Kind::Calc) => before.0,
                    (true, _) => 0,
                    (false, _) => before.1,
                };
                let is_busy = rank.ops[edge.after as usize].kind != Kind::Recv;
                assert!(
                    after.1 >= from && (after.0 >= from || !is_busy),
                    "seed {seed}, {kind}: operation {} of rank {r} starts at {} before {from}: {:?} {:?}",
                    edge.after,
                    after.0,
                    rank.ops[edge.before as usize],
                    rank.ops[edge.after as usize]
                );
            }
            let mut busy: Vec<(u8, u64, u64)> = (0..rank.ops.len())
                .filter(|&n| rank.ops[n].kind == Kind::Calc)
                .filter_map(|n| {
                    whole.operations.get(&(r, n)).map(|&(start, end)| (rank.ops[n].cpu, start, end))
                })
                .collect();
            busy.sort_unstable();
            let apart = busy.windows(2).all(|w| w[0].0 != w[1].0 || w[0].2 <= w[1].1);
            assert!(apart, "seed {seed}, {kind}: a processor of rank {r} does two things at once");
        }
    }
}

/// Computations alone, beside a schedule that is made step by step: of what is executable a processor takes what became so first.
#[test]
fn computations_of_several_processors_are_scheduled_as_they_become_executable() {
    let mut compared = 0;
    for seed in 0..300 {
        let mut stream = Stream::new(seed, Purpose::Test, 5);
        let count = 1 + stream.below(30);
        let mut rank = Rank::default();
        for number in 0..count {
            let amount = 1 + stream.below(1 << 40);
            rank.push(Op { cpu: stream.below(3) as u8, ..calc(amount) });
            for _ in 0..stream.below(3).min(number) {
                rank.requires(number, stream.below(number));
            }
        }
        let (mut ends, mut free, mut instants) = (vec![None; count as usize], [0; 3], Vec::new());
        while ends.contains(&None) {
            let ready = |number: u64| {
                let needed = rank.edges.iter().filter(|e| e.after == number);
                needed
                    .map(|e| ends[e.before as usize])
                    .try_fold(0, |last, end: Option<u64>| Some(end?.max(last)))
            };
            let open = (0..count).filter(|&n| ends[n as usize].is_none());
            let next = open.filter_map(|n| {
                let (ready, cpu) = (ready(n)?, rank.ops[n as usize].cpu as usize);
                Some((free[cpu].max(ready), ready, n, cpu))
            });
            let (start, ready, number, cpu) = next.min().unwrap();
            instants.push((cpu, ready));
            free[cpu] = start + rank.ops[number as usize].amount;
            ends[number as usize] = Some(free[cpu]);
        }
        // Which of two that became executable at one instant goes first is not said here.
        instants.sort_unstable();
        if instants.windows(2).any(|w| w[0] == w[1] && w[0].1 > 0) {
            continue;
        }
        compared += 1;
        let run = outcome(&plain(Arc::new(List::new(vec![rank])), DelayConfig::loggops()));
        assert_eq!(run.makespans, [ends.iter().flatten().copied().max().unwrap()], "seed {seed}");
    }
    assert!(compared > 100, "{compared}");
}
