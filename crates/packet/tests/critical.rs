//! The critical path of rank programs on the packet model: closed forms, and causes for every instant of random programs.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::programs::{chain, in_order};
use base::index::TerminalId;
use model::{
    Finished,
    samples::int,
    setup::{Scheduling, Until},
};
use packet::{Setup, config::RoutePer, samples, simulate};
use ranks::node::{Kernel, Memory, Node};
use results::summary::{CriticalPath, State};
use std::sync::Arc;
use workload::{
    program::{
        Kind,
        list::{List, Rank, calc, recv, send},
    },
    registry::Work,
};

const US: u64 = 1_000_000;
/// Links of 1 GB/s: a chunk takes 64,000 ps. Way of a one-chunk message through one switch.
const PATH_TIME: u64 = 2 * (64_000 + 10_000) + 100_000;
const OVERHEAD: u64 = 300_000;

fn asked(mut setup: Setup, ranks: Vec<Rank>) -> Setup {
    setup.jobs[0].message = None;
    setup.jobs[0].placement = (0..ranks.len() as u32).map(TerminalId::new).collect();
    setup.jobs[0].work = Work::Program(Arc::new(List::new(ranks)));
    setup.until = Until::WorkloadDone { limit: 1_000_000 * US };
    setup.measure.operations = true;
    setup
}

fn switch(ranks: Vec<Rank>) -> Setup {
    let fabric = samples::topology("single-switch", &[("terminals", int(ranks.len() as u64))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(1_000_000_000, 10_000, 5_000, 1 << 16)];
    let work = Work::Program(Arc::new(List::new(ranks.clone())));
    asked(samples::setup(fabric, routing, links, work, 0), ranks)
}

/// Runs it; the path's parts follow each other without a gap up to the makespan.
fn path(setup: &Setup) -> (CriticalPath, u64, Finished) {
    let done = simulate(setup, &mut |_| true).expect("a valid setup");
    assert_eq!(done.summary.verdict.state, State::Ok, "{:?}", done.summary.verdict);
    let table = done.tables.iter().find(|t| t.name() == "critical_path").unwrap();
    let (starts, ends) = (table.u64_column("start_ps").unwrap(), table.u64_column("end_ps").unwrap());
    assert_eq!(starts[0], setup.jobs[0].start);
    assert!(starts[1..].iter().eq(&ends[..ends.len() - 1]), "each part begins where the one before ended");
    let makespan = done.summary.jobs[0].makespan_ps.unwrap();
    let path = done.summary.jobs[0].critical_path.unwrap();
    let all = path.compute_ps + path.overhead_ps + path.transfer_ps + path.wait_ps;
    assert_eq!((all, starts[0] + makespan), (makespan, *ends.last().unwrap()), "parts add up");
    (path, makespan, done)
}

/// Whoever comes later is on the path, with its computation.
#[test]
fn the_later_of_sender_and_receiver_is_on_the_path() {
    for (sender, receiver) in [(5 * US, 2 * US), (2 * US, 9 * US)] {
        for eager in [u64::MAX, 100] {
            let ranks =
                vec![chain(&[calc(sender), send(1, 128, 7)]), chain(&[calc(receiver), recv(0, 128, 7)])];
            let mut setup = switch(ranks);
            setup.packet.eager = eager;
            let (path, makespan, _) = path(&setup);
            let late = sender.max(receiver);
            assert_eq!((path.compute_ps, path.wait_ps), (late, 0), "{sender} {receiver} {eager}");
            assert_eq!(path.transfer_ps, makespan - late);
            let ranks = if eager > 100 && sender > receiver { 1 } else { path.ranks };
            assert_eq!(path.ranks, ranks);
        }
    }
}

/// A ring of messages with overhead: each step is a send's and a receive's processor time and the way between.
#[test]
fn a_ring_is_all_on_the_path() {
    let n = 5u32;
    let rank = |r: u32| {
        let (to, from) = ((r + 1) % n, (r + n - 1) % n);
        let pass = [send(to, 64, 0), recv(from, 64, 0)];
        if r == 0 { chain(&pass) } else { chain(&[pass[1], pass[0]]) }
    };
    let mut setup = switch((0..n).map(rank).collect());
    setup.packet.overhead = OVERHEAD;
    let (path, makespan, done) = path(&setup);
    assert_eq!(makespan, u64::from(n) * (PATH_TIME + 2 * OVERHEAD));
    let steps = u64::from(n);
    // The send's processor time is part of its transfer.
    assert_eq!((path.overhead_ps, path.transfer_ps), (steps * OVERHEAD, steps * (PATH_TIME + OVERHEAD)));
    assert_eq!((path.messages, path.ranks), (steps, n));
    let transfers = done.tables.iter().find(|t| t.name() == "transfers").unwrap();
    assert_eq!(transfers.u64_column("transfer_ps").unwrap(), vec![PATH_TIME + OVERHEAD; n as usize]);
}

/// Every instant of a path has a cause: nothing is left over that is called waiting. Each rank for itself, and three that share two cores.
#[test]
fn every_instant_of_random_programs_has_its_cause() {
    let memory = Memory { latency: 80_000, bandwidth: None, channels: 1 };
    for seed in 0..40 {
        for cores in [None, Some(2)] {
            let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
            setup.packet.route_per = RoutePer::Chunk;
            setup.packet.eager = [1000, u64::MAX, 0][seed as usize % 3];
            setup.packet.overhead = [0, 20_000][seed as usize % 2];
            let mut setup =
                asked(setup, in_order((24, 300), seed, |draw| draw.below(3) * draw.below(2 * US)));
            setup.jobs[0].start = US;
            if cores.is_some() {
                setup.jobs[0].placement = (0..24).map(|r| TerminalId::new(r / 3 * 5 % 72)).collect();
                setup.node = Some(Node { cores, kernel: Kernel::RunToCompletion, memory });
            }
            let (path, makespan, done) = path(&setup);
            assert_eq!(path.wait_ps, 0, "seed {seed}, {cores:?}: {path:?}");
            setup.scheduling = Scheduling::Sequential { partitions: 5 };
            let again = simulate(&setup, &mut |_| true).expect("a valid setup");
            let of = |f: &Finished| f.tables.iter().find(|t| t.name() == "critical_path").unwrap().clone();
            assert_eq!((of(&again), again.summary.jobs[0].makespan_ps), (of(&done), Some(makespan)));
            // With infinitely fast processors the run is as long as the critical path of its communication.
            if seed % 4 == 1 {
                setup.jobs[0].compute_ppb = 0;
                let (path, _, _) = self::path(&setup);
                assert_eq!((path.compute_ps, path.wait_ps), (0, 0), "seed {seed}, {cores:?}: {path:?}");
            }
        }
    }
}

/// Ports toward terminals are looked at when a packet may be complete. Beside it the naive rule, that every arrival is an event: the same results from more events, for
/// packets of one chunk and of many, short ones among them, that come in order or in disorder, in full windows and in empty ones.
#[test]
fn looking_only_for_what_is_complete_changes_nothing() {
    let (mut events, mut every) = (0, 0);
    for seed in 0..24 {
        let sizes = [3000, 100, 20_000][seed as usize % 3];
        let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
        setup.packet.route_per = [RoutePer::Chunk, RoutePer::Packet][seed as usize / 3 % 2];
        setup.packet.packet = [1024, 64, 4096][seed as usize / 6 % 3];
        if seed % 4 == 3 {
            // Windows of a few chunks: chunks queue at routers, and others wait for them.
            setup.links.iter_mut().for_each(|link| link.vc_buffer = 64 * 3);
        }
        let ranks = in_order((24, 200), seed, |draw| draw.below(2) * draw.below(US / 4));
        let mut setup = asked(setup, ranks.into_iter().map(|rank| sized(rank, sizes)).collect());
        setup.jobs[0].placement = (0..24).map(|r| TerminalId::new(r * 5 % 72)).collect();
        let one = simulate(&setup, &mut |_| true).expect("a valid setup").summary;
        assert_eq!(one.verdict.state, State::Ok, "{:?}", one.verdict);
        setup.packet.router.rules.ripens = false;
        let all = simulate(&setup, &mut |_| true).expect("a valid setup").summary;
        assert_eq!(one.without_performance().to_json(), all.without_performance().to_json(), "seed {seed}");
        events += one.performance.expect("it was measured").events;
        every += all.performance.expect("it was measured").events;
    }
    assert!(events < every, "{events} events in place of {every}");
}

/// The same rank with messages of up to so many bytes, in place of 3000.
fn sized(mut rank: Rank, most: u64) -> Rank {
    let messages = rank.ops.iter_mut().filter(|op| op.kind != Kind::Calc);
    messages.for_each(|op| op.amount = op.amount * most / 3000);
    rank
}
