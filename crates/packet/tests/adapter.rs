//! Adapters: packets overtaken are counted, re-sequencing hands them on when it should and says what that takes, one answer for every partitioning, scheduler and checkpoint, and planted faults.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::{
    long,
    spread::{in_pieces, reported},
    undone,
};
use base::{index::TerminalId, param::Value, sorted::SortedMap, time::Ps};
use model::{
    Failure, Finished,
    samples::int,
    setup::{Scheduling, Until},
};
use packet::{
    Setup,
    adapter::config::{Adapter, Injection, Queues},
    config::RoutePer,
    router::registry::{ROUTERS, named},
    samples, simulate,
};
use results::{
    summary::{Resequencing, State},
    table::Column,
};
use std::sync::Arc;
use workload::{
    program::{
        After, Op,
        list::{List, Rank, calc, recv, send},
    },
    registry::Work,
};

const US: u64 = 1_000_000;
/// Messages of each rank where all routers run.
const COUNT: u64 = 12;

fn adapter(resequencing: bool, buffer: u64) -> Option<Adapter> {
    Some(Adapter { resequencing, buffer, injection: None, leaks: false })
}

/// Messages of three packets on a dragonfly where packets take detours, and overtake each other by that.
fn crossing(router: &str, count: u64) -> Setup {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.6);
    setup.packet.router = named(router);
    setup.packet.vcs = 8;
    setup.packet.route_per = RoutePer::Packet;
    setup.jobs[0].message = Some(2500);
    let given = [("count", int(count))];
    let job = (72, 2500, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("bisection", &given, "poisson", 0.6, job, 1);
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
type Packets = SortedMap<(u64, u64), SortedMap<u64, Seen>>;

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
    handed_on: SortedMap<(u64, u64), Vec<Ps>>,
    overtaken: u64,
    held: u64,
    waited: u128,
    longest: Ps,
    most: (u64, u64),
}

fn book(without: &Packets) -> Book {
    let mut book =
        Book { handed_on: SortedMap::new(), overtaken: 0, held: 0, waited: 0, longest: 0, most: (0, 0) };
    // By destination: what enters its buffer at an instant, and what leaves.
    let mut changes: SortedMap<u64, Vec<(Ps, i64, i64)>> = SortedMap::new();
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
            let mut setup = crossing(router.about.name, COUNT);
            setup.packet.route_per = per;
            setup.adapter = adapter(false, u64::MAX);
            let without = done(&setup);
            setup.adapter = adapter(true, u64::MAX);
            let with = done(&setup);
            let (before, after) = (packets(&without), packets(&with));
            let book = book(&before);
            let name = router.about.name;
            assert!(book.held > 20, "{name}: {} packets wait", book.held);
            for (pair, handed_on) in &book.handed_on {
                let seen: Vec<Ps> = after[pair].values().map(|p| p.delivered).collect();
                assert_eq!(&seen, handed_on, "{name} {pair:?}");
                let created = |all: &Packets| all[pair].values().map(|p| p.created).collect::<Vec<_>>();
                assert_eq!(created(&before), created(&after));
            }
            let block = took(&with);
            let count: usize = before.values().map(SortedMap::len).sum();
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
            let part = |f: &Finished| f.summary.latency_parts_ps.unwrap().resequencing;
            assert!((part(&with) - part(&without) - (b.mean - a.mean)).abs() < 1e-3);
        }
    }
}

/// Where there is one path nobody overtakes, and nothing is held; the section alone changes no time.
#[test]
fn one_path_keeps_the_order() {
    let mut setup = crossing("window", 40);
    setup.routing = samples::routing(&setup.fabric, "minimal", &[]);
    let links = &mut setup.links;
    links.iter_mut().for_each(|link| link.vc_buffer = 2048);
    // Two global links lead from some groups to others, by which packets could overtake each other.
    let dims = base::param::Value::Ints(vec![3, 3]);
    setup.fabric = samples::topology("mesh", &[("dims", dims), ("terminals_per_router", int(8))]);
    setup.routing = samples::routing(&setup.fabric, "dimension-order", &[]);
    setup.links.truncate(setup.fabric.classes().len());
    let job = (72, 2500, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("uniform", &[("count", int(40))], "poisson", 0.3, job, 1);
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
    let mut setup = crossing("window", 40);
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

#[test]
fn one_answer_however_it_is_spread() {
    for (n, router) in ROUTERS.iter().enumerate() {
        let mut setup = crossing(router.about.name, COUNT);
        setup.packet.adapter_jitter = 20_000;
        setup.adapter = adapter(true, if n == 0 { 2048 } else { u64::MAX });
        let one = done(&setup);
        assert!(took(&one).held > 20);
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
        let mut setup = crossing(router.about.name, COUNT);
        setup.adapter = adapter(n % 2 == 0, if n == 0 { 2048 } else { u64::MAX });
        undone(&setup, if long() { 6 * US } else { 3 * US });
    }
}

/// An adapter that hands a packet on before its turn is found.
#[test]
fn packets_out_of_turn_are_found() {
    let mut setup = crossing("window", 40);
    setup.adapter = adapter(true, u64::MAX);
    setup.adapter.as_mut().unwrap().leaks = true;
    let fault = simulate(&setup, &mut |_| true).map(|_| ()).unwrap_err();
    assert!(matches!(fault, Failure::Invariant(ref what) if what.contains("sent later")), "{fault}");
}

/// Acknowledgements that get lost are found, also where no window ever closes.
#[test]
fn lost_acknowledgements_are_found() {
    let mut setup = injected(crossing("window", 200), Injection { window: 1 << 40, ..injection() });
    done(&setup);
    setup.adapter.as_mut().unwrap().leaks = true;
    let fault = simulate(&setup, &mut |_| true).map(|_| ()).unwrap_err();
    assert!(matches!(fault, Failure::Invariant(ref what) if what.contains("were sent")), "{fault}");
}

/// Random times of hosts do not change the order of a terminal's messages, nor take one over in the past: ranks that answer each other, queues of all kinds.
#[test]
fn jitter_keeps_the_order_in_queues() {
    for (n, queues) in [Queues::Destination, Queues::Modulo(5), Queues::One].into_iter().enumerate() {
        for oldest in [false, true] {
            let mut setup = injected(crossing("window", 0), Injection { queues, oldest, ..injection() });
            setup.packet.adapter_jitter = [200_000, 5 * US, 20_000][n];
            let sends: Vec<_> = (0..60).map(|k| (1 + k * 7 % 71, 64 + u64::from(k) % 3 * 2500)).collect();
            let setup = at_once(&setup, &sends);
            let one = done(&setup);
            assert_eq!(one.summary.verdict.state, State::Ok);
            let mut many = setup.clone();
            many.scheduling = Scheduling::Sequential { partitions: 7 };
            assert_eq!(reported(&done(&many)), reported(&one), "{queues:?}");
            let mut answers = setup.clone();
            let ping = samples::traffic(
                "ping-pong",
                &[("count", int(20))],
                "poisson",
                0.5,
                (72, 2500, setup.links[0].bandwidth),
                1,
            );
            (answers.jobs[0].work, answers.jobs[0].message) = (ping, Some(2500));
            assert_eq!(done(&answers).summary.messages.unwrap().in_flight, 0);
        }
    }
}

/// Congestion control takes turns among messages too: order is kept, and its queues are its own.
#[test]
fn congestion_control_and_order_go_together() {
    let mut setup = samples::controlled(crossing("window", 40), "none", &[]);
    setup.packet.adapter_jitter = 200_000;
    setup.adapter = adapter(true, u64::MAX);
    assert!(took(&done(&setup)).held > 50);
    setup.adapter.as_mut().unwrap().injection = Some(injection());
    let fault = simulate(&setup, &mut |_| true).map(|_| ()).unwrap_err();
    assert!(fault.to_string().contains("congestion control"), "{fault}");
}

/// Ranks of programs get their messages in order, alike in any partitioning: all ranks but the first send to the first, and it to all.
#[test]
fn ranks_of_programs_wait_for_the_order() {
    let n = 72u32;
    let mut ranks = vec![Rank::default(); n as usize];
    for _ in 0..if long() { 2 } else { 1 } {
        for other in 1..n {
            ranks[0].ops.push(recv(other, 3000, 0));
            ranks[other as usize].ops.push(send(0, 3000, 0));
            ranks[0].ops.push(Op { after: After::Start, ..send(other, 2700, 0) });
            ranks[other as usize].ops.push(Op { after: After::Start, ..recv(0, 2700, 0) });
        }
    }
    for router in ROUTERS {
        let mut setup = crossing(router.about.name, COUNT);
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

/// Terminals at one router; packets are one chunk of 1,000 B, 100 ns on a link of 10 GB/s.
fn switch(terminals: u64) -> Setup {
    let fabric = samples::topology("single-switch", &[("terminals", int(terminals))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(10_000_000_000, 20_000, 20_000, 64_000); fabric.classes().len()];
    let job = (terminals as u32, 1000, links[0].bandwidth);
    let work = samples::traffic("uniform", &[], "constant", 0.1, job, 1);
    let mut setup = samples::setup(fabric, routing, links, work, 1000);
    (setup.packet.packet, setup.packet.chunk) = (1000, 1000);
    setup.packet.route_per = RoutePer::Packet;
    setup.until = Until::WorkloadDone { limit: 1 << 50 };
    setup.check = true;
    setup.measure.packets = true;
    setup
}

/// Time of a packet on a link, and of one alone from terminal to terminal: twice that and the wire, once the router.
const PACKET: Ps = 100_000;
const ALONE: Ps = 2 * (PACKET + 20_000) + 100_000;

fn injection() -> Injection {
    let queues = Queues::Destination;
    Injection { queues, messages: 64, oldest: false, rate: None, window: 0, ack_delay: US }
}

fn injected(mut setup: Setup, injection: Injection) -> Setup {
    setup.adapter = adapter(false, u64::MAX);
    setup.adapter.as_mut().unwrap().injection = Some(injection);
    setup
}

/// The first rank starts all these sends at once, in this order: destination and bytes.
fn at_once(setup: &Setup, sends: &[(u32, u64)]) -> Setup {
    let mut setup = setup.clone();
    let mut ranks = vec![Rank::default(); setup.fabric.terminals() as usize];
    for &(to, bytes) in sends {
        ranks[0].ops.push(Op { after: After::Start, ..send(to, bytes, 0) });
        ranks[to as usize].ops.push(recv(0, bytes, 0));
    }
    setup.jobs[0].work = Work::Program(Arc::new(List::new(ranks)));
    setup.jobs[0].message = None;
    setup
}

/// When packets to a terminal were handed over.
fn handed_over(finished: &Finished, to: u64) -> Vec<Ps> {
    packets(finished).get(&(0, to)).map(|all| all.values().map(|p| p.created).collect()).unwrap_or_default()
}

/// Two packets to one destination, whose window is one, and one to another: in one queue that waits for a way and an acknowledgement of the first two, in a queue of its own for a packet's time alone.
#[test]
fn a_full_window_stops_one_queue_and_not_the_others() {
    let round = ALONE + US;
    let sends = [(1, 1000), (1, 1000), (1, 1000), (2, 1000)];
    let base = at_once(&switch(3), &sends);
    for (queues, to_second) in [
        (Queues::One, 2 * round + PACKET),
        (Queues::Destination, PACKET),
        (Queues::Modulo(1), 2 * round + PACKET),
        (Queues::Modulo(2), PACKET),
    ] {
        let run = done(&injected(base.clone(), Injection { queues, window: 1000, ..injection() }));
        assert_eq!(handed_over(&run, 1), [0, round, 2 * round], "{queues:?}");
        assert_eq!(handed_over(&run, 2), [to_second], "{queues:?}");
    }
    // Without a window packets follow each other; in queues by destination in turn.
    let run = done(&injected(base.clone(), injection()));
    assert_eq!((handed_over(&run, 1), handed_over(&run, 2)), (vec![0, 2 * PACKET, 3 * PACKET], vec![PACKET]));
    let plain = done(&base);
    assert_eq!(
        (handed_over(&plain, 1), handed_over(&plain, 2)),
        (vec![0, PACKET, 2 * PACKET], vec![3 * PACKET])
    );
    // The oldest first: all are of one instant, and the flow that was served goes behind the others.
    let run = done(&injected(base, Injection { oldest: true, ..injection() }));
    assert_eq!(handed_over(&run, 2), [PACKET]);
}

/// Queues take turns packet by packet, or the oldest message goes first.
#[test]
fn queues_take_turns_or_the_oldest_goes_first() {
    let mut setup = at_once(&switch(3), &[(1, 3000), (2, 2000)]);
    let run = done(&injected(setup.clone(), injection()));
    assert_eq!(handed_over(&run, 1), [0, 2 * PACKET, 4 * PACKET]);
    assert_eq!(handed_over(&run, 2), [PACKET, 3 * PACKET]);
    // Two messages of different age to each.
    let mut ranks = vec![Rank::default(); 3];
    // The second is a nanosecond younger.
    let later = Op { after: After::Finish, ..send(2, 2000, 0) };
    ranks[0].ops.extend([send(1, 3000, 0), calc(1_000), later]);
    ranks[1].ops.push(recv(0, 3000, 0));
    ranks[2].ops.push(recv(0, 2000, 0));
    setup.jobs[0].work = Work::Program(Arc::new(List::new(ranks)));
    let run = done(&injected(setup.clone(), Injection { oldest: true, ..injection() }));
    assert_eq!(handed_over(&run, 1), [0, PACKET, 2 * PACKET]);
    let turns = done(&injected(setup, injection()));
    // It joins behind the first, which has sent a packet by then.
    assert_eq!(handed_over(&turns, 1), [0, PACKET, 3 * PACKET]);
    assert_eq!(handed_over(&turns, 2), [2 * PACKET, 4 * PACKET]);
}

/// A pair alone carries a window each round trip, and a rate is kept exactly.
#[test]
fn windows_and_rates_bound_throughput() {
    let many = [(1, 40_000)];
    let base = at_once(&switch(2), &many);
    for window in [1, 2, 5] {
        let injection = Injection { window: 1000 * window, ..injection() };
        let run = done(&injected(base.clone(), injection));
        let all = handed_over(&run, 1);
        let expected: Vec<Ps> = (0..40).map(|n| n / window * (ALONE + US) + n % window * PACKET).collect();
        assert_eq!(all, expected, "window {window}");
    }
    let rate = base::rate::Bandwidth::new(4_000_000_000, 1);
    let run = done(&injected(base.clone(), Injection { rate, ..injection() }));
    assert_eq!(handed_over(&run, 1), (0..40).map(|n| n * 250_000).collect::<Vec<Ps>>());
    // A window smaller than a packet lets one through at a time; a large one is not felt.
    let run = done(&injected(base.clone(), Injection { window: 1, ..injection() }));
    assert_eq!(handed_over(&run, 1)[39], 39 * (ALONE + US));
    let (free, plain) =
        (done(&injected(base.clone(), Injection { window: 1 << 30, ..injection() })), done(&base));
    assert_eq!(handed_over(&free, 1), handed_over(&plain, 1));
}

/// One queue without window and rate changes no time of any packet; nor does the number of messages that a terminal queues. Random traffic, and programs
/// whose ranks all send to all at once.
#[test]
fn one_queue_is_as_none() {
    let (count, vector) = if long() { (40, 9 * 1024) } else { (8, 2 * 1024) };
    let mut traffic = crossing("window", count);
    traffic.packet.adapter_jitter = 50_000;
    let mut programs = traffic.clone();
    let given = [("operation", Value::Text("alltoall".into())), ("vector", int(vector))];
    let job = (72, 2500, programs.links[0].bandwidth);
    programs.jobs[0].work = samples::traffic("collective", &given, "poisson", 0.6, job, 1);
    programs.jobs[0].message = None;
    for setup in [traffic, programs] {
        let plain = done(&setup);
        let queues = Queues::One;
        let one = done(&injected(setup, Injection { queues, messages: 1, window: 1 << 40, ..injection() }));
        assert_eq!(plain.summary.latency_ps, one.summary.latency_ps);
        assert_eq!(plain.summary.message_latency_ps, one.summary.message_latency_ps);
        assert_eq!(plain.summary.simulated_ps, one.summary.simulated_ps);
    }
}

/// With all of it at once, one answer for any partitioning, scheduler and checkpoint; packets of a pair come in the order of their messages though queues take turns, and a buffer of a window for each source never gives a gap up.
#[test]
fn queues_windows_and_order_go_together() {
    for (n, router) in ROUTERS.iter().enumerate() {
        let mut setup = crossing(router.about.name, COUNT);
        let job = (72, 2500, setup.links[0].bandwidth);
        let given = [("count", int(COUNT))];
        setup.jobs[0].work = samples::traffic("uniform", &given, "poisson", 0.6, job, 1);
        let queues = [Queues::Destination, Queues::Modulo(5), Queues::One][n % 3];
        let rate = base::rate::Bandwidth::new(1_900_000_000, 1).filter(|_| n % 2 == 0);
        let injection =
            Injection { queues, messages: 6, oldest: n % 2 == 1, rate, window: 4096, ack_delay: 300_000 };
        let mut setup = injected(setup, injection);
        setup.packet.adapter_jitter = 200_000;
        let given = setup.adapter.as_mut().unwrap();
        (given.resequencing, given.buffer) = (true, 72 * 4096);
        let one = done(&setup);
        let block = took(&one);
        assert!(block.held > 0 && block.gaps_given_up == 0, "{}: {block:?}", router.about.name);
        assert_eq!(one.summary.messages.unwrap().in_flight, 0);
        for seen in packets(&one).values() {
            let delivered: Vec<Ps> = seen.values().map(|p| p.delivered).collect();
            assert!(delivered.is_sorted(), "{}", router.about.name);
        }
        let mut many = setup.clone();
        many.scheduling = Scheduling::Sequential { partitions: [36, 3, 7][n % 3] };
        assert_eq!(reported(&done(&many)), reported(&one), "{}", router.about.name);
        undone(&setup, if long() { 6 * US } else { 3 * US });
        let simulated = one.summary.simulated_ps;
        assert_eq!(
            reported(&in_pieces(setup, 4, simulated)),
            reported(&one),
            "{} in pieces",
            router.about.name
        );
    }
}
