//! Several ranks on a terminal: closed forms of cores and memory, one answer for every scheduler, undo. A naive simulator of a node stands in `loggops`.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::{
    piece_over_ranks,
    programs::{chain, in_order},
    undone,
};
use base::{
    index::TerminalId,
    rate::Bandwidth,
    threads::{Optimism, Threads},
};
use model::{
    failure::Failure,
    samples::int,
    setup::{Scheduling, Until},
};
use packet::{Setup, config::RoutePer, samples, simulate};
use ranks::node::{Kernel, Memory, Node};
use results::{
    summary::{Sent, State, Summary},
    table::{Column, Table},
};
use std::sync::Arc;
use workload::{
    program::list::{List, Rank, calc, recv, send},
    registry::Work,
};

const US: u64 = 1_000_000;
/// Links of 1 GB/s: a byte takes 1000 ps, a chunk of 64 B 64,000 ps.
const CHUNK: u64 = 64_000;
/// Way of a one-chunk message through one switch: twice a chunk and a wire, once the router.
const PATH_TIME: u64 = 2 * (CHUNK + 10_000) + 100_000;

/// Memory of 4 GB/s: a byte takes 250 ps.
fn memory(channels: u32) -> Memory {
    Memory { latency: 80_000, bandwidth: Bandwidth::new(4_000_000_000, 1), channels }
}

fn node(cores: Option<u32>, memory: Memory) -> Node {
    Node { cores, kernel: Kernel::RunToCompletion, memory }
}

/// These ranks on a switch, so many on a terminal.
fn switch(ranks: Vec<Rank>, each: u32, node: Node) -> Setup {
    let count = ranks.len() as u32;
    let fabric =
        samples::topology("single-switch", &[("terminals", int(u64::from(count.div_ceil(each)).max(2)))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(1_000_000_000, 10_000, 5_000, 1 << 16)];
    let work = Work::Program(Arc::new(List::new(ranks)));
    let mut setup = samples::setup(fabric, routing, links, work, 0);
    setup.jobs[0].placement = (0..count).map(|r| TerminalId::new(r / each)).collect();
    programmed(setup, node)
}

fn programmed(mut setup: Setup, node: Node) -> Setup {
    setup.jobs[0].message = None;
    setup.until = Until::WorkloadDone { limit: 1_000_000 * US };
    setup.check = true;
    setup.node = Some(node);
    setup
}

fn run(setup: &Setup) -> Summary {
    let summary = simulate(setup, &mut |_| true).unwrap().summary;
    assert_eq!(summary.verdict.state, State::Ok, "{:?}", summary.verdict);
    summary
}

fn makespan(setup: &Setup) -> u64 {
    run(setup).jobs[0].makespan_ps.unwrap()
}

fn table(setup: &Setup, name: &str) -> Table {
    let done = simulate(setup, &mut |_| true).unwrap();
    done.tables.into_iter().find(|t| t.name() == name).unwrap()
}

#[test]
fn tasks_on_one_core_are_serialised() {
    let times = [3 * US, 5 * US, 11 * US, 2 * US];
    let ranks = || times.map(|t| chain(&[calc(t)])).to_vec();
    for (cores, expected) in [(None, 11), (Some(1), 21), (Some(4), 11), (Some(9), 11)] {
        assert_eq!(makespan(&switch(ranks(), 4, node(cores, memory(1)))), expected * US, "{cores:?}");
    }
    // Ranks 0 and 2 share core 0, ranks 1 and 3 core 1.
    assert_eq!(makespan(&switch(ranks(), 4, node(Some(2), memory(1)))), 14 * US);
    // Two nodes of one core.
    assert_eq!(makespan(&switch(ranks(), 2, node(Some(1), memory(1)))), 13 * US);
    // Each is served to its end, and the ranks begin in some order: the ends are sums of those before.
    let mut setup = switch(ranks(), 4, node(Some(1), memory(1)));
    setup.measure.operations = true;
    let operations = table(&setup, "operations");
    let mut ends: Vec<(u64, u64)> =
        operations.u64_column("end_ps").unwrap().iter().copied().zip(times).collect();
    ends.sort_unstable();
    let mut sum = 0;
    for (end, time) in ends {
        sum += time;
        assert_eq!(end, sum);
    }
    // Infinitely fast ones take no time, however many share a core.
    setup.jobs[0].compute_ppb = 0;
    assert_eq!(makespan(&setup), 0);
}

#[test]
fn time_slices_go_round() {
    // Two of 4 us and one of 1 us, slices of 1 us: whoever begins, the short one is over by its first turn and the others end in the last two.
    let ranks = vec![chain(&[calc(4 * US)]), chain(&[calc(US)]), chain(&[calc(4 * US)])];
    let mut sliced = node(Some(1), memory(1));
    sliced.kernel = Kernel::TimeSlices(US);
    let mut setup = switch(ranks, 3, sliced);
    setup.measure.operations = true;
    let ends = table(&setup, "operations").u64_column("end_ps").unwrap().to_vec();
    assert!(ends[1] <= 3 * US && ends[1].is_multiple_of(US), "{ends:?}");
    let mut long = [ends[0], ends[2]];
    long.sort_unstable();
    assert_eq!(long, [8 * US, 9 * US]);
    // A slice that is longer than all of it changes nothing; alone on a core nobody notices slices.
    for (quantum, cores, expected) in [(20 * US, 1, 9), (US, 3, 4), (7 * US / 3, 3, 4)] {
        let node = Node { cores: Some(cores), kernel: Kernel::TimeSlices(quantum), memory: memory(1) };
        assert_eq!(makespan(&Setup { node: Some(node), ..setup.clone() }), expected * US, "{quantum}");
    }
}

#[test]
fn messages_within_a_node_never_enter_the_network() {
    let copy = |bytes: u64| 80_000 + 250 * bytes;
    for (bytes, expected) in
        [(0, copy(0)), (64, copy(64)), (65_536, copy(65_536)), (65_537, 2 * copy(16) + copy(65_537))]
    {
        let ranks = vec![chain(&[send(1, bytes, 7)]), chain(&[recv(0, bytes, 7)])];
        let setup = switch(ranks, 2, node(None, memory(1)));
        let summary = run(&setup);
        assert_eq!(summary.jobs[0].makespan_ps, Some(expected), "{bytes} bytes");
        assert_eq!(summary.performance.unwrap().chunk_hops, Some(0));
        assert_eq!((summary.packets.unwrap().injected, summary.messages.unwrap().injected), (0, 0));
        let nodes = summary.nodes.unwrap();
        assert_eq!((nodes.within, nodes.leaving), (Sent { messages: 1, bytes }, Sent::default()));
    }
    // The same two on terminals of their own.
    let ranks = || vec![chain(&[send(1, 64, 7)]), chain(&[recv(0, 64, 7)])];
    let apart = run(&switch(ranks(), 1, node(None, memory(1))));
    assert_eq!(apart.jobs[0].makespan_ps, Some(PATH_TIME));
    assert_eq!(apart.nodes.unwrap().leaving, Sent { messages: 1, bytes: 64 });
    // A memory that takes no time, and none.
    let free = Memory { latency: 0, bandwidth: None, channels: 1 };
    let mut setup = switch(ranks(), 2, node(None, free));
    assert_eq!(makespan(&setup), 0);
    setup.node = None;
    assert_eq!(makespan(&setup), 0);
}

#[test]
fn copies_wait_for_channels_and_messages_for_the_interface_in_order() {
    // Three ranks send 4,000 B, 1 us of copying each, to the fourth at once.
    let ranks = || {
        let mut all = vec![chain(&[send(3, 4000, 0)]); 3];
        all.push(chain(&[recv(0, 4000, 0), recv(1, 4000, 0), recv(2, 4000, 0)]));
        all
    };
    for (channels, waves) in [(1, 3), (2, 2), (3, 1), (8, 1)] {
        assert_eq!(
            makespan(&switch(ranks(), 4, node(None, memory(channels)))),
            waves * US + 80_000,
            "{channels}"
        );
    }
    // Two ranks of a node send to two of another: the second message follows the first on the link.
    let ranks = vec![
        chain(&[send(2, 64, 0)]),
        chain(&[send(3, 64, 0)]),
        chain(&[recv(0, 64, 0)]),
        chain(&[recv(1, 64, 0)]),
    ];
    assert_eq!(makespan(&switch(ranks, 2, node(None, memory(1)))), PATH_TIME + CHUNK);
}

/// A ring over all ranks, two on a node: with infinitely fast processors the run takes what the longest chain of its messages takes, every second of which
/// stays within a node.
#[test]
fn without_computing_time_the_messages_remain() {
    let (n, steps) = (8, 10);
    let rank = |r: u32| {
        let step = [calc(7 * US), send((r + 1) % n, 64, 0), recv((r + n - 1) % n, 64, 0)];
        chain(&step.repeat(steps as usize))
    };
    let mut setup = switch((0..n).map(rank).collect(), 2, node(Some(1), memory(1)));
    assert!(makespan(&setup) > steps * 14 * US, "two ranks of 7 us a step share each core");
    setup.jobs[0].compute_ppb = 0;
    let copy = 80_000 + 250 * 64;
    assert_eq!(makespan(&setup), steps / 2 * (PATH_TIME + copy));
}

/// The 72-node dragonfly, every chunk routed by itself, three ranks on a terminal: on two cores, in slices.
fn dragonfly() -> Setup {
    let ranks = 60;
    let work = Work::Program(Arc::new(List::new(in_order((ranks, 900), 9, |draw| 1 + draw.below(20 * US)))));
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
    setup.packet.route_per = RoutePer::Chunk;
    setup.packet.eager = 1000;
    setup.packet.overhead = 20_000;
    setup.jobs[0].placement = (0..ranks).map(|r| TerminalId::new(r / 3 * 5 % 72)).collect();
    setup.jobs[0].work = work;
    programmed(setup, Node { cores: Some(2), kernel: Kernel::TimeSlices(3 * US), memory: memory(2) })
}

#[test]
fn one_answer_for_every_scheduler() {
    let mut setup = dragonfly();
    setup.measure.operations = true;
    let answer = |scheduling: Scheduling| {
        let done = simulate(&Setup { scheduling, ..setup.clone() }, &mut |_| true).unwrap();
        let ranks = done.tables.iter().find(|t| t.name() == "ranks").unwrap().clone();
        let operations = done.tables.into_iter().find(|t| t.name() == "operations").unwrap();
        (done.summary.without_performance(), ranks, operations)
    };
    let one = answer(Scheduling::Sequential { partitions: 1 });
    assert_eq!(one.0.verdict.state, State::Ok, "{:?}", one.0.verdict);
    let nodes = one.0.nodes.unwrap();
    assert!(nodes.within.messages > 10 && nodes.leaving.messages > 100, "{nodes:?}");
    let within = |name| match one.1.column(name) {
        Some(Column::U64(values)) => values.iter().sum::<u64>(),
        _ => panic!("no column {name}"),
    };
    assert_eq!(
        (within("messages_within"), within("bytes_within")),
        (nodes.within.messages, nodes.within.bytes)
    );
    assert!(one.1.column("transfer_ps").is_none(), "a network knows times under way by terminal alone");
    let threads = Threads { count: 2, ..Threads::ONE };
    for scheduling in [
        Scheduling::Sequential { partitions: 5 },
        Scheduling::Conservative { partitions: Some(7), threads },
        Scheduling::Optimistic { partitions: Some(4), threads, optimism: Optimism::default() },
    ] {
        assert!(answer(scheduling) == one, "{scheduling:?}");
    }
}

/// Saved in every pause and taken up again by another scheduler over another number of ranks.
#[test]
fn a_run_goes_on_from_its_pieces() {
    let mut setup = dragonfly();
    let whole = run(&setup);
    let (mut state, mut pieces) = (None::<Vec<u8>>, 0);
    loop {
        let threads = Threads { count: 1 + pieces % 2, ..Threads::ONE };
        let partitions = Some(6);
        setup.scheduling = match pieces % 2 {
            0 => Scheduling::Optimistic { partitions, threads, optimism: Optimism::default() },
            _ => Scheduling::Conservative { partitions, threads },
        };
        let every = whole.simulated_ps / 5;
        let (done, saved) = piece_over_ranks(&setup, 1 + pieces % 3, (every, state.as_deref()));
        if !matches!(done, Err(Failure::Stopped(_))) {
            assert_eq!(done.unwrap().summary.without_performance(), whole.without_performance());
            break;
        }
        (state, pieces) = (saved, pieces + 1);
    }
    assert!(pieces > 2, "{pieces} pieces");
}

#[test]
fn every_handler_of_nodes_can_be_undone() {
    undone(&dragonfly(), 200 * US);
}

#[test]
fn terminals_are_shared_by_neighbours_of_one_job() {
    let ranks = vec![chain(&[calc(US)]); 3];
    let mut setup = switch(ranks, 1, node(None, memory(1)));
    setup.jobs[0].placement = [0, 1, 0].map(TerminalId::new).to_vec();
    let failure = simulate(&setup, &mut |_| true).err().unwrap().to_string();
    assert!(failure.contains("terminal 0 has ranks that do not follow each other"), "{failure}");
}
