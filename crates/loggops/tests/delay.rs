//! The delay model against closed forms, and against itself: partitions, batches, undo. Against a second
//! implementation: `twice.rs`.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::programs::{alltoall, binomial, chains, dissemination, random, ring, stencil, wavefront};
use base::{
    index::{RankId, TerminalId},
    time::NEVER,
};
use engine::undo_check;
use fabric::registry::{TOPOLOGIES, values};
use loggops::{
    DelayConfig, DelayFinished, DelayJob, DelaySetup, Ties,
    alone::Alone,
    domain::DelayDomain,
    engineless::Engineless,
    observe::{Measure, Observer},
    run::{context, plain, simulate},
};
use model::{Failure, setup::Scheduling};
use proptest::prelude::*;
use ranks::roster::GlobalRank;
use results::{summary::State, table::Column};
use std::sync::Arc;
use workload::program::{
    ANY_SOURCE, After, Kind, Op,
    list::{List, Rank, calc, recv, send},
};

/// LogGOPSim's parameter sets of the tests, in nanoseconds: L, o, g, G, O, and S.
const SETS: [[u64; 6]; 3] =
    [[2500, 1500, 1000, 6, 0, 65_535], [5000, 1200, 3000, 3, 1, 1024], [1000, 0, 0, 1, 0, 65_535]];

fn config(p: &[u64; 6]) -> DelayConfig {
    DelayConfig {
        latency: p[0] * 1000,
        overhead: p[1] * 1000,
        gap: p[2] * 1000,
        byte_gap: p[3] * 1000,
        byte_overhead: p[4] * 1000,
        eager: p[5],
        ..DelayConfig::loggops()
    }
}

/// Of a run that is checked: nothing is found in a sound one.
fn run(setup: &DelaySetup) -> DelayFinished {
    simulate(&DelaySetup { check: true, ..setup.clone() }, &mut |_| true).unwrap()
}

/// Makespans by rank in nanoseconds, if the run came to its end.
fn makespans(finished: &DelayFinished) -> Option<Vec<u64>> {
    let table = finished.tables.iter().find(|t| t.name() == "ranks").unwrap();
    let Some(Column::U64(ends)) = table.column("makespan_ps") else { panic!("makespans are integers") };
    finished.stuck.is_done().then(|| ends.iter().map(|e| e / 1000).collect())
}

fn longest(ranks: Vec<Rank>, p: &[u64; 6]) -> u64 {
    let finished = run(&plain(Arc::new(List::new(ranks)), config(p)));
    *makespans(&finished).unwrap().iter().max().unwrap()
}

/// Facts: k rounds of L + 2 o + (s-1) max(G, O) each, where nothing blocks.
#[test]
fn trees_and_dissemination_have_closed_forms() {
    for p in &SETS {
        let round = |bytes: u64| p[0] + 2 * p[1] + (bytes - 1) * p[3].max(p[4]);
        for (k, ranks) in [(1, 2), (4, 16), (10, 1024)] {
            for bytes in [1, 8] {
                assert_eq!(
                    longest(dissemination(ranks, bytes), p),
                    k * round(bytes),
                    "{p:?} {ranks} {bytes}"
                );
            }
            assert_eq!(longest(binomial(ranks, 1), p), k * round(1));
        }
    }
    assert_eq!(longest(binomial(1024, 1), &SETS[0]), 55_000);
    assert_eq!(longest(dissemination(1024, 1024), &SETS[0]), 116_380);
}

/// What the program LogGOPSim says of small cases.
#[test]
fn small_cases_agree_with_loggopsim() {
    for (name, ranks, set, expected) in crate::programs::known() {
        assert_eq!(longest(ranks, &SETS[set]), expected, "{name}, set {set}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Partitions, seeds of ties and batches change nothing.
    #[test]
    fn one_answer(seed in any::<u64>(), set in 0..3usize, kind in 0..4u32, pure in any::<bool>()) {
        let program: Arc<List> = Arc::new(List::new(random(seed, kind)));
        let free = DelayConfig { ties: Ties::Causes, ..config(&SETS[set]) };
        let costs = if pure { DelayConfig::pure(700_000, 0, 50) } else { free };
        let base = plain(program, costs);
        let first = run(&base);
        for (partitions, seed) in [(2, 1), (64, 1), (1, 2), (3, 9)] {
            let other = run(&DelaySetup { scheduling: Scheduling::Sequential { partitions }, seed, ..base.clone() });
            prop_assert_eq!(&first.summary.without_performance(), &other.summary.without_performance());
            prop_assert_eq!(&first.tables, &other.tables);
            prop_assert_eq!(&first.stuck, &other.stuck);
        }
    }

    /// Ranks that run ahead, in one partition or several, do what they do by time. A join for any of several makes them go by time. With a time per byte
    /// short messages would overtake long ones.
    #[test]
    fn running_ahead_changes_nothing(seed in any::<u64>(), batch in 1..20usize, limit in 0..3u64, partitions in 1..4u32, byte in 0..2u64) {
        let once = |kind, partitions| {
            let program = List::new(chains(seed, kind)).in_batches(batch);
            let setup = plain(Arc::new(program), DelayConfig::pure(700_000, 0, byte * 900));
            let limit = if limit == 0 { NEVER } else { limit * 4_000_000 };
            run(&DelaySetup { scheduling: Scheduling::Sequential { partitions }, limit, measure: Measure { messages: true, pairs: true, operations: true, window: 700_000 }, ..setup })
        };
        let (ahead, timed) = (once(Kind::Join, partitions), once(Kind::JoinAny, 1));
        prop_assert_eq!(&ahead.tables, &timed.tables);
        prop_assert_eq!(&ahead.summary.without_performance(), &timed.summary.without_performance());
        prop_assert_eq!(&ahead.stuck, &timed.stuck);
        prop_assert!(limit > 0 || ahead.stuck.is_done());
    }

    /// The critical path has no gap and is as long as the makespan; its messages take what messages take.
    #[test]
    fn the_critical_path_is_the_makespan(seed in any::<u64>(), set in 0..3usize, kind in 0..4u32, costs in 0..3u32) {
        let program = if costs == 2 { chains(seed, Kind::Join) } else { random(seed, kind) };
        let free = DelayConfig { ties: Ties::Causes, ..config(&SETS[set]) };
        let costs = [config(&SETS[set]), free, DelayConfig::pure(700_000, 0, 0)][costs as usize].clone();
        let setup = plain(Arc::new(List::new(program)), costs.clone());
        let finished = run(&DelaySetup { measure: Measure { operations: true, ..Measure::default() }, ..setup });
        let (Some(makespan), true) = (finished.summary.jobs[0].makespan_ps, finished.stuck.is_done()) else {
            return Ok(());
        };
        let Some(path) = finished.summary.jobs[0].critical_path else {
            prop_assert_eq!(makespan, 0);
            return Ok(());
        };
        prop_assert_eq!(path.compute_ps + path.overhead_ps + path.transfer_ps + path.wait_ps, makespan);
        prop_assert_eq!(path.transfer_ps, path.messages * (costs.overhead + costs.latency));
        let table = finished.tables.iter().find(|t| t.name() == "critical_path").unwrap();
        let (Some(Column::U64(starts)), Some(Column::U64(ends))) = (table.column("start_ps"), table.column("end_ps"))
        else { panic!("times are integers") };
        prop_assert_eq!((starts[0], ends[ends.len() - 1]), (0, makespan));
        prop_assert_eq!(&starts[1..], &ends[..ends.len() - 1]);
    }

    /// Every event can be undone, alone and many at a time.
    #[test]
    fn every_event_can_be_undone(seed in any::<u64>(), set in 0..3usize, kind in 0..4u32, costs in 0..4u32) {
        let free = DelayConfig { ties: Ties::Causes, ..config(&SETS[set]) };
        let chained = costs == 3;
        let pure = DelayConfig::pure(700_000, 0, if chained { 0 } else { 50 });
        let costs = [pure.clone(), free, config(&SETS[set]), pure][costs as usize].clone();
        let program = if chained { chains(seed, [Kind::Join, Kind::JoinAny][set % 2]) } else { random(seed, kind) };
        let setup = plain(Arc::new(List::new(program).in_batches(7)), costs);
        let expected = run(&setup).summary;
        let cx = Arc::new(context(&setup).unwrap());
        let fresh = || {
            let ranks = GlobalRank::new(0)..GlobalRank::new(cx.places.len() as u32);
            (DelayDomain::new(Arc::clone(&cx), 0), Observer::new(Arc::clone(&cx), ranks, Measure::default(), true))
        };
        let (domain, mut observer) = fresh();
        let (_, events) = undo_check::run_with_undo(domain, &mut observer, 5, NEVER);
        prop_assert!(events > 0);
        let (domain, mut rolled) = fresh();
        undo_check::run_with_rollbacks(domain, &mut rolled, 5, NEVER, 12, seed);
        prop_assert_eq!(observer.fingerprint, rolled.fingerprint);
        prop_assert_eq!(&observer.ranks, &rolled.ranks);
        prop_assert_eq!(expected.messages.unwrap().delivered, observer.ranks.iter().map(|r| r.received).sum::<u64>());
    }
}

#[test]
fn batches_give_what_a_graph_gives_where_order_is_program_order() {
    for p in &SETS {
        let ranks = wavefront(6, 64, 9);
        let whole = plain(Arc::new(List::new(ranks.clone())), config(p));
        let first = makespans(&run(&whole)).unwrap();
        for batch in [1, 2, 5, 1000] {
            let cut = plain(Arc::new(List::new(ranks.clone()).in_batches(batch)), config(p));
            assert_eq!(makespans(&run(&cut)).unwrap(), first, "batches of {batch}");
        }
    }
}

/// A chain of blocking messages over a torus takes the sum of its delays; computations come on top.
#[test]
fn pure_delays_add_up() {
    let torus = TOPOLOGIES.iter().find(|t| t.about.name == "torus").unwrap();
    let fabric = Arc::new((torus.build)(&values(torus.about.params, torus.small[0])).unwrap());
    let n = fabric.terminals();
    let ranks: Vec<Rank> = (0..n)
        .map(|r| {
            let mut rank = Rank::default();
            if r > 0 {
                rank.push(recv(r - 1, 100, 0));
            }
            rank.push(Op { after: After::Finish, ..calc(1_000) });
            if r + 1 < n {
                rank.push(Op { after: After::Finish, ..send(r + 1, 100, 0) });
            }
            rank
        })
        .collect();
    let mut setup = plain(Arc::new(List::new(ranks)), DelayConfig::pure(500, 30, 2));
    setup.jobs[0].placement = TerminalId::first(n).collect();
    setup.fabric = Some(Arc::clone(&fabric));
    let hops: u64 = (1..n)
        .map(|r| {
            u64::from(
                fabric::metrics::distances(&fabric, fabric.router_at(TerminalId::new(r - 1)))
                    [fabric.router_at(TerminalId::new(r))],
            )
        })
        .sum();
    let expected = u64::from(n) * 1_000 + u64::from(n - 1) * (500 + 200) + hops * 30;
    assert_eq!(run(&setup).summary.jobs[0].makespan_ps, Some(expected));
    setup.jobs[0].compute_ppb = 0;
    assert_eq!(run(&setup).summary.jobs[0].makespan_ps, Some(expected - u64::from(n) * 1_000));
}

/// A ping-pong with computations: all that it does lies on its path.
#[test]
fn the_path_of_a_chain_is_all_of_it() {
    for p in &SETS {
        let mut ranks = vec![Rank::default(); 2];
        for (r, first) in [(0, true), (1, false)] {
            let mut chain = |op: Op| ranks[r].push(Op { after: After::Finish, ..op });
            chain(calc(if first { 7_000 } else { 0 }));
            let (to, from) = (send(1 - r as u32, 9, 0), recv(1 - r as u32, 9, 0));
            let ops = if first { [to, from] } else { [from, to] };
            for op in ops {
                chain(op);
            }
        }
        let setup = plain(Arc::new(List::new(ranks)), config(p));
        let finished =
            run(&DelaySetup { measure: Measure { operations: true, ..Measure::default() }, ..setup });
        let path = finished.summary.jobs[0].critical_path.unwrap();
        let take = p[1] + 8 * p[3].max(p[4]);
        assert_eq!((path.messages, path.ranks, path.compute_ps, path.wait_ps), (2, 2, 7_000, 0));
        assert_eq!((path.overhead_ps, path.transfer_ps), (2_000 * take, 2_000 * (p[0] + p[1])));
    }
}

/// A message to another partition that arrives beyond the end is still known to the checkers.
#[test]
fn messages_between_partitions_may_arrive_beyond_the_end() {
    let mut ranks = vec![Rank::default(); 2];
    ranks[0].push(send(1, 8, 0));
    ranks[1].push(recv(0, 8, 0));
    let free = DelayConfig { ties: Ties::Causes, ..config(&SETS[0]) };
    let setup = plain(Arc::new(List::new(ranks)), free);
    for partitions in [1, 2] {
        let scheduling = Scheduling::Sequential { partitions };
        let finished = run(&DelaySetup { scheduling, limit: 2_000_000, ..setup.clone() });
        assert!(!finished.stuck.is_done());
    }
}

/// A rank that only receives ends when the message is there, though receiving takes no processor.
#[test]
fn a_last_message_counts_with_pure_delays() {
    for after in [After::Nothing, After::Finish] {
        let mut ranks = vec![Rank::default(); 2];
        ranks[0].push(calc(1_000));
        ranks[0].push(Op { after: After::Finish, ..send(1, 8, 0) });
        ranks[1].push(calc(200));
        ranks[1].push(Op { after, ..recv(0, 8, 0) });
        let finished = run(&plain(Arc::new(List::new(ranks)), DelayConfig::pure(500, 0, 0)));
        assert_eq!(finished.summary.jobs[0].makespan_ps, Some(1_500));
    }
}

#[test]
fn jobs_start_at_their_times_and_do_not_meet() {
    let program: Arc<List> = Arc::new(List::new(ring(8, 64, 5)));
    let alone = run(&plain(Arc::clone(&program) as _, config(&SETS[0])));
    let mut both = plain(Arc::clone(&program) as _, config(&SETS[0]));
    both.jobs.push(DelayJob {
        name: "late".into(),
        program,
        start: 7_000_000,
        placement: Vec::new(),
        compute_ppb: 1_000_000_000,
    });
    let both = run(&both);
    for job in &both.summary.jobs {
        assert_eq!(job.makespan_ps, alone.summary.jobs[0].makespan_ps);
    }
}

/// One receive that waits for its message, one that comes too late for it: times from the send until the message was there, and until its receive
/// was over. Ranks that run ahead and those that do not measure the same.
#[test]
fn times_of_messages_show_waiting() {
    for chained in [true, false] {
        let mut ranks = vec![Rank::default(); 2];
        let mut chain = |rank: usize, ops: Vec<Op>| {
            let numbers: Vec<u64> = ops.into_iter().map(|op| ranks[rank].push(op)).collect();
            numbers.windows(2).for_each(|pair| ranks[rank].requires(pair[1], pair[0]));
        };
        chain(0, vec![calc(100), send(1, 8, 0), send(1, 16, 1), send(1, 8, 0)]);
        chain(1, vec![recv(0, 8, 0), calc(5_000), recv(0, 16, 1), recv(0, 8, 0)]);
        if !chained {
            // An operation beside the others.
            ranks[0].push(calc(1));
        }
        let mut setup = plain(Arc::new(List::new(ranks)), DelayConfig::pure(700, 0, 0));
        setup.measure = Measure { messages: true, ..Measure::default() };
        let finished = run(&setup);
        let table = finished.tables.iter().find(|t| t.name() == "message_times").unwrap();
        let column = |name: &str| match table.column(name) {
            Some(Column::U64(column)) => column.clone(),
            _ => panic!("{name}"),
        };
        // Sent at 100, there at 800; the computation ends at 5,800.
        assert_eq!((column("bytes"), column("messages")), (vec![8, 16], vec![2, 1]));
        assert_eq!(column("transfer_ps"), [700, 700]);
        assert_eq!(column("received_ps"), [(700 + 5_700) / 2, 5_700]);
        assert_eq!(column("longest_ps"), [5_700, 5_700]);
    }
}

#[test]
fn what_cannot_end_is_diagnosed() {
    let mut ranks = vec![Rank::default(); 3];
    for (r, from) in [(0, 1), (1, 0)] {
        let first = ranks[r].push(recv(from, 8, 5));
        let next = ranks[r].push(send(from, 8, 5));
        ranks[r].requires(next, first);
    }
    ranks[2].push(send(0, 8, 77));
    let finished = run(&plain(Arc::new(List::new(ranks)), config(&SETS[0])));
    let (stuck, verdict) = (&finished.stuck, &finished.summary.verdict);
    assert_eq!(verdict.state, State::Deadlock);
    assert_eq!((stuck.ranks, stuck.waiting, stuck.unreceived, stuck.cyclic), (2, 2, 1, 0));
    assert_eq!(stuck.cycle, [(0, RankId::new(0)), (0, RankId::new(1))]);
    assert_eq!(
        stuck.first_waiting[0].to_string(),
        "rank 0 waits for a message from rank 1, tag 5 (operation 0)"
    );
    assert!(
        verdict.detail.iter().any(|l| l == "rank 0 never received 8 B from rank 2, tag 77"),
        "{verdict:?}"
    );
    assert_eq!(finished.summary.jobs[0].makespan_ps, None);
}

/// Messages of a pair are taken in the order in which they were sent, whatever their sizes, by a receive from anybody too: a short one is there together with the
/// long one before it.
#[test]
fn a_short_message_does_not_overtake() {
    for source in [0, ANY_SOURCE] {
        let mut ranks = vec![Rank::default(); 2];
        for bytes in [1_000, 1] {
            ranks[0].push(Op { after: After::Start, ..send(1, bytes, 0) });
            ranks[1].push(Op { after: After::Start, ..recv(source, 1_000, 0) });
        }
        for rank in &mut ranks {
            rank.ops[0].after = After::Nothing;
        }
        let mut setup = plain(Arc::new(List::new(ranks)), DelayConfig::pure(700_000, 0, 10));
        setup.measure.operations = true;
        for partitions in [1, 2] {
            let scheduling = Scheduling::Sequential { partitions };
            let finished = run(&DelaySetup { scheduling, ..setup.clone() });
            let table = finished.tables.iter().find(|t| t.name() == "operations").unwrap();
            let (Some(Column::U64(ends)), Some(Column::U64(bytes))) =
                (table.column("end_ps"), table.column("bytes"))
            else {
                panic!("times are integers")
            };
            assert_eq!(
                (&ends[2..], &bytes[2..]),
                (&[710_000; 2][..], &[1_000, 1][..]),
                "{source} {partitions}"
            );
        }
    }
}

/// The time of a short message counts that it was held back behind a long one, without the engine, in partitions, and if its rank does not run ahead.
#[test]
fn times_of_messages_show_that_one_was_held_back() {
    for source in [0, ANY_SOURCE] {
        let mut ranks = vec![Rank::default(); 2];
        for bytes in [1_000, 1] {
            let after = if bytes == 1 { After::Finish } else { After::Nothing };
            ranks[0].push(Op { after, ..send(1, bytes, 0) });
            ranks[1].push(Op { after, ..recv(source, 1_000, 0) });
        }
        let mut setup = plain(Arc::new(List::new(ranks)), DelayConfig::pure(1_000, 0, 1_000_000));
        setup.measure = Measure { messages: true, ..Measure::default() };
        for partitions in [1, 2] {
            let scheduling = Scheduling::Sequential { partitions };
            let finished = run(&DelaySetup { scheduling, ..setup.clone() });
            let table = finished.tables.iter().find(|t| t.name() == "message_times").unwrap();
            for name in ["transfer_ps", "received_ps", "longest_ps"] {
                let expected = Column::U64(vec![1_000_001_000; 2]);
                assert_eq!(table.column(name), Some(&expected), "{source} {partitions} {name}");
            }
        }
    }
}

/// Ranks that all run ahead need no engine; their state can be stored in any pause and taken up again.
#[test]
fn a_run_without_the_engine_can_be_resumed() {
    let mut ranks = wavefront(12, 64, 40);
    for rank in &mut ranks {
        rank.edges.clear();
        rank.ops.iter_mut().skip(1).for_each(|op| op.after = After::Finish);
    }
    let program: Arc<List> = Arc::new(List::new(ranks).in_batches(7));
    let setup = plain(program, DelayConfig::pure(700_000, 0, 3));
    let whole = run(&setup);
    let cx = Arc::new(context(&setup).unwrap());
    let fresh = || {
        let ranks = GlobalRank::new(0)..GlobalRank::new(cx.places.len() as u32);
        let observer = Observer::new(Arc::clone(&cx), ranks, Measure::default(), true);
        Engineless::new(Arc::clone(&cx), observer)
    };
    let mut engineless = fresh();
    let mut pauses = 0;
    while engineless.go_on(50) {
        let mut state = Vec::new();
        engineless.save(&mut state);
        engineless = fresh();
        let mut left = &state[..];
        engineless.load(&mut left).unwrap();
        assert!(left.is_empty());
        pauses += 1;
    }
    assert!(pauses > 3 && engineless.stuck().is_done());
    assert_eq!(engineless.observer.operations(), whole.operations);
    let expected = whole.tables.iter().find(|t| t.name() == "ranks").unwrap();
    assert_eq!(expected.column("makespan_ps"), Some(&Column::U64(engineless.makespans())));
    let received: Vec<u64> = engineless.observer.ranks.iter().map(|r| r.received).collect();
    assert_eq!(expected.column("messages_received"), Some(&Column::U64(received)));
    assert!(fresh().load(&mut &[1u8, 2, 3][..]).is_err());
}

#[test]
fn a_limit_ends_a_run_and_is_reported() {
    let free = DelayConfig { ties: Ties::Causes, ..config(&SETS[0]) };
    let mut setup = plain(Arc::new(List::new(ring(8, 64, 50))), free);
    let whole = run(&setup).summary;
    setup.limit = whole.simulated_ps / 2;
    let cut = run(&setup).summary;
    assert_eq!(cut.verdict.state, State::Incomplete);
    assert!(cut.messages.unwrap().injected < whole.messages.unwrap().injected);
    for partitions in [2, 8] {
        let other =
            run(&DelaySetup { scheduling: Scheduling::Sequential { partitions }, ..setup.clone() }).summary;
        assert_eq!(other.without_performance(), cut.without_performance());
    }
    let stopped = simulate(&DelaySetup { limit: NEVER, ..setup }, &mut |_| false);
    assert!(!matches!(stopped, Err(Failure::Setup(_))));
}

/// What is begun in time and over after the limit is not done, and neither is what lasts longer than all times.
#[test]
fn what_is_over_after_the_limit_is_reported() {
    let mut ranks = vec![Rank::default(); 2];
    ranks[0].push(send(1, 1_001, 0));
    ranks[1].push(recv(0, 1_001, 0));
    let mut setup = plain(Arc::new(List::new(ranks.clone())), config(&SETS[0]));
    let end = run(&setup).summary.jobs[0].makespan_ps.unwrap();
    assert_eq!(end, 1_000 * (2_500 + 2 * 1_500 + 6_000));
    for (limit, state) in
        [(end, State::Ok), (end - 1, State::Incomplete), (end - 6_000_000, State::Incomplete)]
    {
        setup.limit = limit;
        let summary = run(&setup).summary;
        assert_eq!(summary.verdict.state, state, "{limit}");
        assert_eq!(summary.jobs[0].makespan_ps.is_some(), state == State::Ok);
    }
    // 6 us and 6 ms for each of 10^12 bytes.
    for byte_gap in [6_000_000, 6_000_000_000] {
        let mut ranks = ranks.clone();
        ranks[0].ops[0].amount = 1_000_000_000_000;
        let config = DelayConfig { byte_gap, ..config(&SETS[0]) };
        let summary = run(&plain(Arc::new(List::new(ranks)), config)).summary;
        assert_eq!((summary.verdict.state, summary.jobs[0].makespan_ps), (State::Incomplete, None));
    }
}

/// A join takes the time of the last that it waits for, a join of any that of the first; neither takes a processor.
#[test]
fn joins_wait_and_cost_nothing() {
    let join = |kind| Op { kind, ..calc(0) };
    let program = |kind| {
        let mut a = Rank::default();
        let (x, y) = (a.push(recv(1, 1, 0)), a.push(recv(2, 1, 0)));
        let j = a.push(join(kind));
        a.requires(j, x);
        a.requires(j, y);
        let s = a.push(send(3, 1, 0));
        a.requires(s, j);
        let mut ranks = vec![a, Rank::default(), Rank::default(), Rank::default()];
        ranks[1].push(send(0, 1, 0));
        let c = ranks[2].push(calc(10_000_000));
        let s = ranks[2].push(send(0, 1, 0));
        ranks[2].requires(s, c);
        ranks[3].push(recv(0, 1, 0));
        ranks
    };
    let hop = SETS[0][0] + 2 * SETS[0][1];
    assert_eq!(longest(program(Kind::Join), &SETS[0]), 10_000 + 2 * hop);
    let finished = run(&plain(Arc::new(List::new(program(Kind::JoinAny))), config(&SETS[0])));
    assert_eq!(makespans(&finished).unwrap()[3], 2 * hop);
}

#[test]
fn a_probe_sees_a_message_and_leaves_it() {
    let mut ranks = vec![Rank::default(); 2];
    let c = ranks[0].push(calc(5_000_000));
    let s = ranks[0].push(send(1, 1, 3));
    ranks[0].requires(s, c);
    let p = ranks[1].push(Op { kind: Kind::Probe, ..recv(0, 1, 3) });
    let r = ranks[1].push(recv(0, 1, 3));
    ranks[1].requires(r, p);
    assert_eq!(longest(ranks, &SETS[0]), 5_000 + 2_500 + 3_000);
}

#[test]
fn all_ranks_to_all_and_neighbours_come_to_their_end() {
    for p in &SETS {
        for ranks in [alltoall(40, 100), stencil(5, 2000, 4)] {
            let setup = plain(Arc::new(List::new(ranks)), config(p));
            let finished = run(&setup);
            assert!(finished.stuck.is_done() && finished.stuck.unreceived == 0);
            let counts = finished.summary.messages.unwrap();
            assert_eq!(counts.injected, counts.delivered);
        }
    }
}
