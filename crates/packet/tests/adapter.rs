//! Adapters: packets overtaken are counted, re-sequencing hands them on when it should and says what that takes, one answer for every partitioning, scheduler and checkpoint, and planted faults.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::{piece_over_ranks, undone};
use base::{index::TerminalId, threads::Optimism, time::Ps};
use engine::executor::Threads;
use model::{
    Failure, Finished,
    samples::int,
    setup::{Scheduling, Until},
};
use packet::{
    Setup,
    adapter::config::Adapter,
    config::RoutePer,
    router::registry::{ROUTERS, named},
    samples, simulate,
};
use results::{
    summary::{Resequencing, State},
    table::Column,
};
use std::{collections::BTreeMap, sync::Arc};
use workload::{
    program::{
        After, Op,
        list::{List, Rank, recv, send},
    },
    registry::Work,
};

const US: u64 = 1_000_000;

fn adapter(resequencing: bool, buffer: u64) -> Option<Adapter> {
    Some(Adapter { resequencing, buffer, leaks: false })
}

/// Messages of three packets on a dragonfly where packets take detours, and overtake each other by that.
fn crossing(router: &str) -> Setup {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", ("constant", 0.6));
    setup.packet.router = named(router);
    setup.packet.vcs = 8;
    setup.packet.route_per = RoutePer::Packet;
    setup.jobs[0].message = Some(2500);
    let given = [("count", int(40))];
    let job = (72, 2500, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("bisection", &given, ("poisson", 0.6), job, 1);
    setup.until = Until::WorkloadDone { limit: 1 << 50 };
    setup.check = true;
    setup.measure.packets = true;
    setup
}

fn done(setup: &Setup) -> Finished {
    simulate(setup, &mut |_| true).unwrap()
}

/// A packet of the table.
#[derive(Clone, Copy, Debug)]
struct Seen {
    created: Ps,
    delivered: Ps,
    bytes: u64,
}

/// By source and destination, then by the source's number of the packet.
type Packets = BTreeMap<(u64, u64), BTreeMap<u64, Seen>>;

fn packets(finished: &Finished) -> Packets {
    let table = finished.tables.iter().find(|t| t.name() == "packets").unwrap();
    let of = |column: &str| match table.column(column) {
        Some(Column::U64(values)) => values.clone(),
        Some(Column::U32(values)) => values.iter().map(|&v| v.into()).collect(),
        other => panic!("{column}: {other:?}"),
    };
    let [source, destination, number, created, delivered, bytes] =
        ["source", "destination", "number", "created_ps", "delivered_ps", "bytes"].map(of);
    let mut all = Packets::new();
    for n in 0..source.len() {
        let seen = Seen { created: created[n], delivered: delivered[n], bytes: bytes[n] };
        all.entry((source[n], destination[n])).or_default().insert(number[n], seen);
    }
    all
}

/// Re-sequencing by the book: from when each packet is there without it, when each is handed on, how many were overtaken, and what it takes.
struct Book {
    handed_on: BTreeMap<(u64, u64), Vec<Ps>>,
    overtaken: u64,
    held: u64,
    waited: u128,
    longest: Ps,
    most: (u64, u64),
}

fn book(without: &Packets) -> Book {
    let mut book =
        Book { handed_on: BTreeMap::new(), overtaken: 0, held: 0, waited: 0, longest: 0, most: (0, 0) };
    // By destination: what enters its buffer at an instant, and what leaves.
    let mut changes: BTreeMap<u64, Vec<(Ps, i64, i64)>> = BTreeMap::new();
    for (&pair, packets) in without {
        let seen: Vec<Seen> = packets.values().copied().collect();
        for (n, packet) in seen.iter().enumerate() {
            let on = seen[..=n].iter().map(|p| p.delivered).max().unwrap();
            book.handed_on.entry(pair).or_default().push(on);
            book.overtaken += u64::from(seen[n + 1..].iter().any(|p| p.delivered < packet.delivered));
            let waited = on - packet.delivered;
            if waited > 0 {
                book.held += 1;
                book.waited += u128::from(waited);
                book.longest = book.longest.max(waited);
                let bytes = packet.bytes as i64;
                let at = changes.entry(pair.1).or_default();
                at.extend([(packet.delivered, 1, bytes), (on, -1, -bytes)]);
            }
        }
    }
    for mut all in changes.into_values() {
        // Arrivals at a terminal have instants of their own: who closes a gap is not held, and only then others leave.
        all.sort_unstable();
        let mut room = (0, 0);
        for (_, packets, bytes) in all {
            room = (room.0 + packets, room.1 + bytes);
            book.most = (book.most.0.max(room.0 as u64), book.most.1.max(room.1 as u64));
        }
    }
    book
}

fn took(finished: &Finished) -> Resequencing {
    finished.summary.adapter.clone().unwrap().resequencing.unwrap()
}

/// With every router and way of routing: each packet is handed on when the last of those sent before it is there, never sooner than without; counts, times and the largest buffer
/// are those of a second computation from the run without.
#[test]
fn packets_are_handed_on_as_they_were_sent() {
    for router in ROUTERS {
        for per in [RoutePer::Packet, RoutePer::Chunk] {
            let mut setup = crossing(router.about.name);
            setup.packet.route_per = per;
            setup.adapter = adapter(false, u64::MAX);
            let without = done(&setup);
            setup.adapter = adapter(true, u64::MAX);
            let with = done(&setup);
            let (before, after) = (packets(&without), packets(&with));
            let book = book(&before);
            let name = router.about.name;
            assert!(book.held > 50, "{name}: {} packets wait", book.held);
            for (pair, handed_on) in &book.handed_on {
                let seen: Vec<Ps> = after[pair].values().map(|p| p.delivered).collect();
                assert_eq!(&seen, handed_on, "{name} {pair:?}");
                let created = |all: &Packets| all[pair].values().map(|p| p.created).collect::<Vec<_>>();
                assert_eq!(created(&before), created(&after));
            }
            let block = took(&with);
            let count: usize = before.values().map(BTreeMap::len).sum();
            assert_eq!((block.held, block.gaps_given_up), (book.held, 0));
            assert_eq!((block.buffer_max_packets, block.buffer_max_bytes), book.most, "{name}");
            assert_eq!(block.held_max_ps, Some(book.longest));
            assert_eq!(block.held_mean_ps, Some(book.waited as f64 / book.held as f64));
            assert_eq!(block.added_mean_ps, Some(book.waited as f64 / count as f64));
            for run in [&without, &with] {
                assert_eq!(run.summary.adapter.as_ref().unwrap().overtaken, book.overtaken, "{name}");
            }
            let (a, b) = (without.summary.latency_ps.unwrap(), with.summary.latency_ps.unwrap());
            assert!((b.mean - a.mean - book.waited as f64 / count as f64).abs() < 1e-3);
            let part = |f: &Finished| f.summary.latency_parts_ps.clone().unwrap().resequencing;
            assert!((part(&with) - part(&without) - (b.mean - a.mean)).abs() < 1e-3);
        }
    }
}

/// Where there is one path nobody overtakes, and nothing is held; the section alone changes no time.
#[test]
fn one_path_keeps_the_order() {
    let mut setup = crossing("window");
    setup.routing = samples::routing(&setup.fabric, "minimal", &[]);
    let links = &mut setup.links;
    links.iter_mut().for_each(|link| link.vc_buffer = 2048);
    // Two global links lead from some groups to others, by which packets could overtake each other.
    let dims = base::param::Value::Ints(vec![3, 3]);
    setup.fabric = samples::topology("mesh", &[("dims", dims), ("terminals_per_router", int(8))]);
    setup.routing = samples::routing(&setup.fabric, "dimension-order", &[]);
    setup.links.truncate(setup.fabric.classes().len());
    let job = (72, 2500, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("uniform", &[("count", int(40))], ("poisson", 0.3), job, 1);
    let plain = done(&setup);
    setup.adapter = adapter(true, u64::MAX);
    let with = done(&setup);
    assert_eq!(with.summary.adapter.as_ref().unwrap().overtaken, 0);
    assert_eq!((took(&with).held, took(&with).buffer_max_packets), (0, 0));
    let times = |f: &Finished| (f.summary.latency_ps, f.summary.message_latency_ps, f.summary.simulated_ps);
    assert_eq!(times(&plain), times(&with));
    assert!(plain.summary.adapter.is_none());
}

/// A buffer of a few packets is never exceeded; what it cannot hold is handed on out of order, and told. All packets arrive, and none sooner than without re-sequencing or later than
/// with all the room it takes.
#[test]
fn a_full_buffer_goes_on_without_what_is_missing() {
    let mut setup = crossing("window");
    setup.adapter = adapter(false, u64::MAX);
    let without = packets(&done(&setup));
    setup.adapter = adapter(true, u64::MAX);
    let full = done(&setup);
    let need = took(&full).buffer_max_bytes;
    assert!(need > 4 * 1024, "{need}");
    let full = packets(&full);
    let mut gaps = Vec::new();
    for buffer in [1024, 2048, need - 1, need] {
        setup.adapter = adapter(true, buffer);
        let run = done(&setup);
        let block = took(&run);
        assert!(block.buffer_max_bytes <= buffer, "{buffer}: {block:?}");
        assert_eq!(run.summary.messages.unwrap().in_flight, 0);
        let flagged = run.summary.verdict.flags.iter().any(|f| f == "out-of-order");
        assert_eq!(flagged, block.gaps_given_up > 0);
        let some = packets(&run);
        for (pair, packets) in &some {
            for (number, p) in packets {
                let (least, most) = (without[pair][number].delivered, full[pair][number].delivered);
                assert!((least..=most).contains(&p.delivered), "{buffer} {pair:?} {number}");
            }
        }
        gaps.push(block.gaps_given_up);
    }
    assert!(gaps[0] > gaps[1] && gaps[1] > 0 && gaps[2] > 0 && gaps[3] == 0, "{gaps:?}");
}

fn reported(finished: &Finished) -> String {
    let mut summary = finished.summary.clone();
    summary.performance = None;
    format!("{} {:?}", summary.to_json(), finished.tables)
}

/// In pieces, each over another number of ranks and by another scheduler than the one before.
fn in_pieces(mut setup: Setup, partitions: u32, simulated: u64) -> Finished {
    let mut state: Option<Vec<u8>> = None;
    for piece in 1.. {
        let threads = Threads { count: 1 + piece % 3, ..Threads::ONE };
        let optimism = Optimism { stumble: 50, ..Optimism::default() };
        let partitions = Some(partitions);
        setup.scheduling = match piece % 2 {
            0 => Scheduling::Optimistic { partitions, threads, optimism },
            _ => Scheduling::Conservative { partitions, threads },
        };
        let ranks = 1 + piece % 3;
        let (done, saved) = piece_over_ranks(&setup, ranks, (simulated / 4, state.as_deref()));
        if !matches!(done, Err(Failure::Stopped(_))) {
            return done.unwrap();
        }
        state = saved;
    }
    unreachable!("a run ends")
}

#[test]
fn one_answer_however_it_is_spread() {
    for (n, router) in ROUTERS.iter().enumerate() {
        let mut setup = crossing(router.about.name);
        setup.packet.adapter_jitter = 20_000;
        setup.adapter = adapter(true, if n == 0 { 2048 } else { u64::MAX });
        let one = done(&setup);
        assert!(took(&one).held > 50);
        let mut many = setup.clone();
        many.scheduling = Scheduling::Sequential { partitions: [3, 7, 36][n % 3] };
        assert_eq!(reported(&done(&many)), reported(&one), "{}", router.about.name);
        let simulated = one.summary.simulated_ps;
        assert_eq!(
            reported(&in_pieces(setup, 4, simulated)),
            reported(&one),
            "{} in pieces",
            router.about.name
        );
    }
}

#[test]
fn every_handler_can_be_undone() {
    for (n, router) in ROUTERS.iter().enumerate() {
        let mut setup = crossing(router.about.name);
        setup.adapter = adapter(n % 2 == 0, if n == 0 { 2048 } else { u64::MAX });
        undone(&setup, 30 * US);
    }
}

/// An adapter that hands a packet on before its turn is found.
#[test]
fn packets_out_of_turn_are_found() {
    let mut setup = crossing("window");
    setup.adapter = adapter(true, u64::MAX);
    setup.adapter.as_mut().unwrap().leaks = true;
    let fault = simulate(&setup, &mut |_| true).map(|_| ()).unwrap_err();
    assert!(matches!(fault, Failure::Invariant(ref what) if what.contains("sent later")), "{fault}");
}

#[test]
fn combinations_that_cannot_be_are_refused() {
    let mut setup = samples::controlled(crossing("window"), "none", &[]);
    setup.adapter = adapter(false, u64::MAX);
    assert!(done(&setup).summary.adapter.unwrap().overtaken > 0);
    setup.adapter = adapter(true, u64::MAX);
    let fault = simulate(&setup, &mut |_| true).map(|_| ()).unwrap_err();
    assert!(fault.to_string().contains("congestion control"), "{fault}");
}

/// Ranks of programs get their messages in order, alike in any partitioning: all ranks but the first send to the first, and it to all.
#[test]
fn ranks_of_programs_wait_for_the_order() {
    let n = 72u32;
    let mut ranks = vec![Rank::default(); n as usize];
    for _ in 0..2 {
        for other in 1..n {
            ranks[0].ops.push(recv(other, 3000, 0));
            ranks[other as usize].ops.push(send(0, 3000, 0));
            ranks[0].ops.push(Op { after: After::Start, ..send(other, 2700, 0) });
            ranks[other as usize].ops.push(Op { after: After::Start, ..recv(0, 2700, 0) });
        }
    }
    for router in ROUTERS {
        let mut setup = crossing(router.about.name);
        setup.jobs[0].work = Work::Program(Arc::new(List::new(ranks.clone())));
        setup.jobs[0].message = None;
        setup.jobs[0].placement = TerminalId::first(n).collect();
        setup.adapter = adapter(true, u64::MAX);
        let one = done(&setup);
        assert_eq!(one.summary.messages.unwrap().in_flight, 0);
        assert_ne!(one.summary.verdict.state, State::Deadlock);
        assert!(one.summary.adapter.as_ref().unwrap().overtaken > 0, "{}", router.about.name);
        assert_eq!(
            reported(&in_pieces(setup, 5, one.summary.simulated_ps)),
            reported(&one),
            "{}",
            router.about.name
        );
    }
}
