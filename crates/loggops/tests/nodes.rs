//! Nodes of several ranks on the delay model: closed forms of cores and memory, undo, and what is refused.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::programs::random;
use base::{
    index::TerminalId,
    rate::Bandwidth,
    rng::{Purpose, Stream},
    time::NEVER,
};
use engine::undo_check;
use loggops::{
    DelayConfig, DelayFinished, DelaySetup,
    domain::DelayDomain,
    observe::{Measure, Observer},
    run::{context, plain, simulate},
};
use model::setup::JobSetup;
use proptest::prelude::*;
use ranks::{
    node::{Kernel, Memory, Node},
    roster::GlobalRank,
};
use results::summary::{CriticalPath, Sent, State};
use std::{collections::VecDeque, sync::Arc};
use workload::program::{
    After, Op,
    list::{List, Rank, calc, recv, send},
};

const US: u64 = 1_000_000;

/// L, o, g, G of LogGOPSim's first parameter set, in picoseconds.
const L: u64 = 2_500_000;
const O: u64 = 1_500_000;

/// Memory of 4 GB/s: a byte takes 250 ps.
fn node(cores: Option<u32>) -> Node {
    let memory = Memory { latency: 80_000, bandwidth: Bandwidth::new(4_000_000_000, 1), channels: 1 };
    Node { cores, kernel: Kernel::RunToCompletion, memory }
}

/// A rank that does these one after another.
fn chain(ops: &[Op]) -> Rank {
    let mut rank = Rank::default();
    for &op in ops {
        rank.push(Op { after: After::Finish, ..op });
    }
    rank
}

/// These ranks, so many on a terminal.
fn setup(ranks: Vec<Rank>, each: u32, config: DelayConfig, node: Node) -> DelaySetup {
    let count = ranks.len() as u32;
    let mut setup = plain(Arc::new(List::new(ranks)), config);
    setup.jobs[0].placement = (0..count).map(|r| TerminalId::new(r / each)).collect();
    setup.check = true;
    setup.node = Some(node);
    setup
}

fn run(setup: &DelaySetup) -> DelayFinished {
    let done = simulate(setup, &mut |_| true).unwrap();
    assert_eq!(done.summary.verdict.state, State::Ok, "{:?}", done.summary.verdict);
    done
}

fn makespan(setup: &DelaySetup) -> u64 {
    run(setup).summary.jobs[0].makespan_ps.unwrap()
}

#[test]
fn tasks_on_one_core_are_serialised() {
    let times = [3 * US, 5 * US, 11 * US, 2 * US];
    let ranks = || times.map(|t| chain(&[calc(t)])).to_vec();
    for config in [DelayConfig::loggops(), DelayConfig::pure(US, 0, 0)] {
        for (cores, expected) in [(None, 11), (Some(1), 21), (Some(2), 14), (Some(4), 11), (Some(9), 11)] {
            assert_eq!(makespan(&setup(ranks(), 4, config.clone(), node(cores))), expected * US, "{cores:?}");
        }
        let mut two = setup(ranks(), 2, config, node(Some(1)));
        assert_eq!(makespan(&two), 13 * US);
        two.jobs[0].compute_ppb = 0;
        assert_eq!(makespan(&two), 0);
    }
}

#[test]
fn messages_within_a_node_go_through_memory() {
    let copy = |bytes: u64| 80_000 + 250 * bytes;
    let pair = |bytes| vec![chain(&[send(1, bytes, 7)]), chain(&[recv(0, bytes, 7)])];
    for (bytes, cores) in [(0, None), (1, Some(1)), (4096, Some(1)), (4096, Some(2))] {
        let within = setup(pair(bytes), 2, DelayConfig::loggops(), node(cores));
        assert_eq!(makespan(&within), O + copy(bytes) + O, "{bytes} bytes");
        let nodes = run(&within).summary.nodes.unwrap();
        assert_eq!((nodes.within, nodes.leaving), (Sent { messages: 1, bytes }, Sent::default()));
        // Apart they are as without nodes.
        let mut apart = setup(pair(bytes), 1, DelayConfig::loggops(), node(cores));
        assert_eq!(makespan(&apart), O + L + O + bytes.saturating_sub(1) * 6000, "{bytes} bytes apart");
        assert_eq!(run(&apart).summary.nodes.unwrap().leaving.messages, 1);
        let with = makespan(&apart);
        apart.node = None;
        assert_eq!(makespan(&apart), with);
    }
    // Three copies of 1 us each take turns in memory, and no interface holds them up.
    let mut ranks = vec![chain(&[send(3, 4000, 0)]); 3];
    ranks.push(chain(&[recv(0, 4000, 0), recv(1, 4000, 0), recv(2, 4000, 0)]));
    for (channels, expected) in [(1, 3 * US), (2, 2 * US), (3, US)] {
        let mut node = node(None);
        node.memory.channels = channels;
        let pure = setup(ranks.clone(), 4, DelayConfig::pure(L, 0, 0), node);
        assert_eq!(makespan(&pure), expected + 80_000, "{channels} channels");
    }
}

/// A ring over all ranks, two on a node: every second message of the longest chain stays within a node.
#[test]
fn without_computing_time_the_messages_remain() {
    let (n, steps) = (8, 10);
    let rank = |r: u32| {
        let step = [calc(7 * US), send((r + 1) % n, 64, 0), recv((r + n - 1) % n, 64, 0)];
        chain(&step.repeat(steps as usize))
    };
    let mut ring = setup((0..n).map(rank).collect(), 2, DelayConfig::pure(US, 0, 0), node(Some(1)));
    assert!(makespan(&ring) > steps * 14 * US, "two ranks of 7 us a step share each core");
    ring.jobs[0].compute_ppb = 0;
    assert_eq!(makespan(&ring), steps / 2 * (US + 80_000 + 250 * 64));
    let path = path(ring);
    assert_eq!((path.transfer_ps, path.messages), (steps / 2 * (US + 80_000 + 250 * 64), steps));
}

/// The critical path of a run; its parts follow each other without a gap and add up.
fn path(mut setup: DelaySetup) -> CriticalPath {
    setup.measure.operations = true;
    let done = run(&setup);
    let table = done.tables.iter().find(|t| t.name() == "critical_path").unwrap();
    let (starts, ends) = (table.u64_column("start_ps").unwrap(), table.u64_column("end_ps").unwrap());
    assert!(starts[1..].iter().eq(&ends[..ends.len() - 1]), "each part begins where the one before ended");
    let makespan = done.summary.jobs[0].makespan_ps;
    assert_eq!((starts[0], Some(*ends.last().unwrap())), (setup.jobs[0].start, makespan));
    let path = done.summary.jobs[0].critical_path.unwrap();
    let all = path.compute_ps + path.overhead_ps + path.transfer_ps + path.wait_ps;
    assert_eq!(Some(all), makespan, "parts add up");
    path
}

/// The last of three ranks of a core waits for what the others compute.
#[test]
fn the_path_leads_through_other_ranks_of_a_core() {
    let ranks = || vec![chain(&[calc(3 * US)]), chain(&[calc(5 * US)]), chain(&[calc(2 * US)])];
    for config in [DelayConfig::loggops(), DelayConfig::pure(US, 0, 0)] {
        for (cores, time, through) in [(Some(1), 10, 3), (Some(2), 5, 1), (None, 5, 1)] {
            let path = path(setup(ranks(), 3, config.clone(), node(cores)));
            assert_eq!((path.compute_ps, path.ranks), (time * US, through), "{cores:?}");
        }
    }
}

/// Nothing is left over that is called waiting, where interfaces have no gap to wait for. Without time for computations the path is communication alone.
#[test]
fn every_instant_of_random_programs_has_its_cause() {
    let mut found = 0;
    for seed in 0..150 {
        let eager = if seed % 2 == 0 { u64::MAX } else { 60_000 };
        let loggops = DelayConfig { gap: 0, byte_gap: 0, eager, ..DelayConfig::loggops() };
        for config in [loggops, DelayConfig::pure(700_000, 0, 50)] {
            for (cores, quantum) in
                [(None, None), (Some(1), None), (Some(2), None), (Some(2), Some(3 * US / 2))]
            {
                let kernel = quantum.map_or(Kernel::RunToCompletion, Kernel::TimeSlices);
                let mut setup = setup(random(seed, 0), 3, config.clone(), Node { kernel, ..node(cores) });
                for compute in [JobSetup::COMPUTE_AS_IS, 0] {
                    setup.jobs[0].compute_ppb = compute;
                    let done = simulate(&setup, &mut |_| true).unwrap();
                    if done.summary.verdict.state != State::Ok || done.summary.jobs[0].makespan_ps == Some(0)
                    {
                        continue;
                    }
                    let path = path(setup.clone());
                    assert_eq!(path.wait_ps, 0, "seed {seed}, {cores:?}, {quantum:?}, {config:?}: {path:?}");
                    assert!(compute > 0 || path.compute_ps == 0);
                    found += 1;
                }
            }
        }
    }
    assert!(found > 500, "{found} programs came to their end");
}

/// Ranks of a core that compute for these times, in turns of a quantum: ends by a naive list.
fn turns(quantum: u64, times: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let mut ends = vec![Vec::new(); times.len()];
    let mut waiting: VecDeque<(usize, u64)> = (0..).zip(times).map(|(r, t)| (r, t[0])).collect();
    let mut now = 0;
    while let Some((rank, left)) = waiting.pop_front() {
        now += left.min(quantum);
        if left > quantum {
            waiting.push_back((rank, left - quantum));
            continue;
        }
        ends[rank].push(now);
        if let Some(&next) = times[rank].get(ends[rank].len()) {
            waiting.push_back((rank, next));
        }
    }
    ends
}

#[test]
fn slices_give_ranks_of_a_core_their_turns() {
    let times = [3 * US, 5 * US, 11 * US, 2 * US];
    let ranks = || times.map(|t| chain(&[calc(t)])).to_vec();
    let sliced = |quantum, cores| Node { kernel: Kernel::TimeSlices(quantum), ..node(cores) };
    for (cores, expected) in [(None, 11), (Some(1), 21), (Some(2), 14), (Some(4), 11)] {
        assert_eq!(
            makespan(&setup(ranks(), 4, DelayConfig::loggops(), sliced(US / 2, cores))),
            expected * US
        );
    }
    // Of one core: 2 us are over after four turns of 1 us and four more, not after all that came before.
    let mut draw = Stream::new(7, Purpose::Test, 0);
    for _ in 0..60 {
        let ranks = 1 + draw.below(5) as usize;
        let times: Vec<Vec<u64>> =
            (0..ranks).map(|_| (0..1 + draw.below(4)).map(|_| 1 + draw.below(9 * US)).collect()).collect();
        let quantum = 1 + draw.below(4 * US);
        let program = times.iter().map(|t| chain(&t.iter().map(|&t| calc(t)).collect::<Vec<_>>())).collect();
        let costs = if draw.below(2) == 0 { DelayConfig::loggops() } else { DelayConfig::pure(US, 0, 0) };
        let mut setup = setup(program, ranks as u32, costs, sliced(quantum, Some(1)));
        setup.measure.operations = true;
        let done = run(&setup);
        let operations = done.tables.iter().find(|t| t.name() == "operations").unwrap();
        let found = operations.u64_column("end_ps").unwrap();
        assert_eq!(*found, turns(quantum, &times).concat(), "{times:?}, {quantum}");
        let table = done.tables.iter().find(|t| t.name() == "ranks").unwrap();
        let compute: Vec<u64> = times.iter().map(|t| t.iter().sum()).collect();
        assert_eq!(*table.u64_column("compute_ps").unwrap(), compute, "as much as without slices");
    }
}

#[test]
fn what_cannot_be_carried_is_refused() {
    let refused = |setup: &DelaySetup| simulate(setup, &mut |_| true).err().unwrap().to_string();
    let ranks = || vec![chain(&[calc(US)]); 3];
    let several = vec![chain(&[calc(US), Op { cpu: 1, ..calc(US) }]); 2];
    let text = refused(&setup(several, 2, DelayConfig::loggops(), node(Some(2))));
    assert!(text.contains("a program has several"), "{text}");
    let mut apart = setup(ranks(), 1, DelayConfig::loggops(), node(Some(1)));
    apart.jobs[0].placement = [0, 1, 0].map(TerminalId::new).to_vec();
    let text = refused(&apart);
    assert!(text.contains("terminal 0 has ranks that do not follow each other"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every event can be undone, alone and many at a time.
    #[test]
    fn every_event_can_be_undone(seed in any::<u64>(), kind in 0..4u32, pure in any::<bool>(), cores in 1..4u32, sliced in any::<bool>()) {
        let config = if pure { DelayConfig::pure(700_000, 0, 50) } else { DelayConfig::loggops() };
        let kernel = if sliced { Kernel::TimeSlices(1_300_000) } else { Kernel::RunToCompletion };
        // Programs of the last two kinds use several processors a rank.
        let setup = setup(random(seed, kind), 3, config, Node { kernel, ..node((kind < 2).then_some(cores)) });
        let expected = simulate(&setup, &mut |_| true).unwrap().summary;
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
