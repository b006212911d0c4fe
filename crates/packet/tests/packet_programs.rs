//! Rank programs on the packet model: closed forms, MPI's order, one answer for every partitioning, undo, stuck programs.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::{programs::chain, undone};
use base::{
    index::{RankId, TerminalId},
    rng::{Purpose, Stream},
};
use loggops::DelayConfig;
use model::{
    samples::int,
    setup::{Scheduling, Until},
};
use packet::{Setup, config::RoutePer, samples, simulate};
use results::{
    summary::{State, Summary},
    table::Column,
};
use std::sync::Arc;
use workload::{
    program::{
        ANY_SOURCE, ANY_TAG, After, Batch, Cursor, Damage, Kind, Op, Program,
        collective::Chooser,
        input::Input,
        list::{List, Rank, calc, recv, send},
        lower::{Options, lower},
        mpi::Mode,
        ranks,
    },
    registry::Work,
};

const US: u64 = 1_000_000;
/// Links of 1 GB/s: a byte takes 1000 ps, a chunk 64,000 ps.
const CHUNK: u64 = 64_000;
/// Way of a one-chunk message through one switch: twice a chunk and a wire, once the router.
const PATH_TIME: u64 = 2 * (CHUNK + 10_000) + 100_000;

fn switch(ranks: Vec<Rank>) -> Setup {
    let n = ranks.len() as u64;
    let fabric = samples::topology("single-switch", &[("terminals", int(n))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(1_000_000_000, 10_000, 5_000, 1 << 16)];
    programmed(samples::setup(fabric, routing, links, program(ranks), 0))
}

/// The 72-node dragonfly, every chunk routed by itself: messages overtake each other.
fn dragonfly(ranks: Vec<Rank>) -> Setup {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
    setup.packet.route_per = RoutePer::Chunk;
    setup.jobs[0].placement = (0..ranks.len() as u32).map(|r| TerminalId::new(r * 5 % 72)).collect();
    setup.jobs[0].work = program(ranks);
    programmed(setup)
}

fn programmed(mut setup: Setup) -> Setup {
    setup.jobs[0].message = None;
    setup.until = Until::WorkloadDone { limit: 1_000_000 * US };
    setup.check = true;
    setup
}

fn program(ranks: Vec<Rank>) -> Work {
    Work::Program(Arc::new(List::new(ranks)))
}

fn run(setup: &Setup) -> Summary {
    let done = simulate(setup, &mut |_| true).expect("a valid setup").summary;
    for partitions in [2, 5, 64] {
        let mut other = setup.clone();
        other.scheduling = Scheduling::Sequential { partitions };
        let other = simulate(&other, &mut |_| true).expect("a valid setup").summary;
        assert_eq!(other.without_performance(), done.without_performance(), "{partitions} partitions");
    }
    done
}

fn makespan(setup: &Setup) -> u64 {
    let summary = run(setup);
    assert_eq!(summary.verdict.state, State::Ok, "{:?}", summary.verdict);
    summary.jobs[0].makespan_ps.unwrap()
}

#[test]
fn one_message_takes_the_time_of_its_chunks() {
    for (bytes, expected) in [
        (64, PATH_TIME),
        (0, PATH_TIME - 2 * 63 * 1000),
        (20, PATH_TIME - 2 * 44 * 1000),
        (1024, PATH_TIME + 15 * CHUNK),
        // Two packets: the second follows without a gap.
        (2048, PATH_TIME + 31 * CHUNK),
    ] {
        let setup = switch(vec![chain(&[send(1, bytes, 7)]), chain(&[recv(0, bytes, 7)])]);
        assert_eq!(makespan(&setup), expected, "{bytes} bytes");
    }
}

#[test]
fn a_large_message_asks_first() {
    let mut setup = switch(vec![chain(&[send(1, 128, 7)]), chain(&[calc(5 * US), recv(0, 128, 7)])]);
    setup.packet.eager = 127;
    setup.packet.control = 64;
    // The request waits for the receive; then grant and data.
    assert_eq!(makespan(&setup), 5 * US + PATH_TIME + PATH_TIME + CHUNK);
    setup.jobs[0].compute_ppb = 0;
    assert_eq!(makespan(&setup), 3 * PATH_TIME + CHUNK);
}

/// Two ranks send each other a long message, one later than the other. Whichever asks first, grants do not wait until the other direction's bytes are through.
#[test]
fn grants_do_not_wait_for_the_data_of_their_own_rank() {
    let bytes = 1 << 20;
    let data = PATH_TIME + (bytes / 64 - 1) * CHUNK;
    for late in [0, PATH_TIME / 2, PATH_TIME, 2 * PATH_TIME, 3 * PATH_TIME, 20 * PATH_TIME] {
        let rank = |other: u32, late: u64| {
            let mut rank = chain(&[calc(late), recv(other, bytes, 7)]);
            rank.push(Op { after: After::Start, ..send(other, bytes, 7) });
            rank
        };
        for eager in [u64::MAX, 127] {
            let mut setup = switch(vec![rank(1, 0), rank(0, late)]);
            setup.packet.eager = eager;
            setup.packet.control = 64;
            let over = makespan(&setup) - late - data;
            // What the link holds already goes first: at either end a buffer, a packet, and the grant itself.
            let held = 2 * ((1 << 16) + 1024 + 64) * 1000;
            assert!(over <= 2 * PATH_TIME + held, "{late} {eager}: {over} ps more");
        }
    }
}

#[test]
fn processors_serve_in_order_and_charge_their_overhead() {
    // Two computations and a send share one processor; another takes a computation at once.
    let mut rank = Rank::default();
    rank.push(calc(US));
    rank.push(calc(2 * US));
    rank.push(Op { cpu: 1, ..calc(7 * US) });
    let first = rank.push(Op { after: After::Nothing, ..calc(3 * US) });
    let late = rank.push(send(1, 64, 0));
    rank.requires(late, first);
    let mut setup = switch(vec![rank, chain(&[recv(0, 64, 0)])]);
    setup.packet.overhead = 500_000;
    assert_eq!(makespan(&setup), 6 * US + 500_000 + PATH_TIME + 500_000);
    let summary = run(&setup);
    let share = 13.0 * US as f64 / (2.0 * summary.jobs[0].makespan_ps.unwrap() as f64);
    assert!((summary.jobs[0].compute_fraction.unwrap() - share).abs() < 1e-12);
}

#[test]
fn a_ring_takes_a_path_per_step() {
    let n = 6;
    let steps = 5;
    let rank = |r: u32| {
        let mut ops = Vec::new();
        for _ in 0..steps {
            ops.push(send((r + 1) % n, 64, 0));
            ops.push(recv((r + n - 1) % n, 64, 0));
        }
        chain(&ops)
    };
    assert_eq!(makespan(&switch((0..n).map(rank).collect())), steps * PATH_TIME);
}

#[test]
fn joins_probes_and_messages_to_oneself() {
    let mut first = Rank::default();
    let a = first.push(send(1, 64, 1));
    let b = first.push(calc(3 * US));
    let join = first.push(Op { kind: Kind::Join, ..calc(0) });
    first.requires(join, a);
    first.requires(join, b);
    let own = first.push(Op { after: After::Finish, ..send(0, 1 << 30, 2) });
    let back = first.push(recv(0, 1 << 30, 2));
    first.follows(back, own);
    let any = first.push(Op { kind: Kind::JoinAny, ..calc(0) });
    let never = first.push(recv(1, 64, 3));
    first.requires(any, never);
    first.requires(any, back);
    let last = first.push(send(1, 64, 4));
    first.requires(last, any);
    let probe = Op { kind: Kind::Probe, ..recv(ANY_SOURCE, 0, ANY_TAG) };
    let second = chain(&[probe, recv(0, 64, 1), recv(0, 64, 4), send(0, 64, 3)]);
    assert_eq!(makespan(&switch(vec![first, second])), 3 * US + 2 * PATH_TIME);
}

/// Collectives of one-chunk messages on one switch, with infinitely fast processors: closed forms, the same on both models. On the delay
/// model a message takes PATH_TIME, and a sender's next one follows after the time of a chunk on its link.
#[test]
fn collectives_take_their_closed_forms_on_both_models() {
    let n = 8;
    let cases = [
        ("allreduce 64 B", "allreduce", "recursive-doubling", 3 * PATH_TIME),
        ("allgather 64 B", "allgather", "ring", 7 * PATH_TIME),
        // The root's last child hears after two earlier sends, all others no later.
        ("bcast 64 B root 0", "bcast", "binomial", 3 * PATH_TIME),
        ("bcast 64 B root 0", "bcast", "linear", PATH_TIME + 6 * CHUNK),
        ("alltoall 64 B", "alltoall", "pairwise", 7 * PATH_TIME),
        ("alltoall 64 B", "alltoall", "linear", PATH_TIME + 6 * CHUNK),
        ("barrier", "barrier", "dissemination", 3 * (PATH_TIME - 2 * 63 * 1000)),
    ];
    for (call, key, algorithm, expected) in cases {
        let text = format!("ranks {n}\nall {{\n compute 3 us\n {call}\n}}\n");
        let script = ranks::read(&Input::bytes("case", text.as_bytes())).unwrap();
        let chooser = Chooser::read("simple", [(key, algorithm)]).unwrap();
        let program = lower(Arc::new(script), Options { chooser, reduce_ps_per_byte: 0 }).unwrap();
        let mut setup = switch((0..n).map(|_| Rank::default()).collect());
        setup.jobs[0].work = Work::Program(Arc::clone(&program));
        setup.jobs[0].compute_ppb = 0;
        assert_eq!(makespan(&setup), expected, "{call} by {algorithm} on the packet model");
        let (empty, gap) = (call == "barrier", if call == "barrier" { 1000 } else { CHUNK });
        let costs = DelayConfig {
            latency: if empty { PATH_TIME - 2 * 63 * 1000 } else { PATH_TIME },
            overhead: 0,
            gap,
            byte_gap: 0,
            eager: u64::MAX,
            ..DelayConfig::loggops()
        };
        let mut other = loggops::run::plain(program, costs);
        other.jobs[0].compute_ppb = 0;
        let done = loggops::simulate(&other, &mut |_| true).unwrap();
        assert_eq!(
            done.summary.jobs[0].makespan_ps,
            Some(expected),
            "{call} by {algorithm} on the delay model"
        );
        // The call is all that the program does: it takes as long on both models.
        setup.measure.operations = true;
        other.measure.operations = true;
        let packet = simulate(&setup, &mut |_| true).unwrap();
        let delay = loggops::simulate(&other, &mut |_| true).unwrap();
        for tables in [&packet.tables, &delay.tables] {
            let calls = tables.iter().find(|t| t.name() == "collective_calls").unwrap();
            assert_eq!(calls.column("time_ps"), Some(&Column::U64(vec![expected])), "{call} by {algorithm}");
            assert_eq!(calls.column("ranks"), Some(&Column::U32(vec![n])), "{call} by {algorithm}");
            let parts = tables.iter().find(|t| t.name() == "collective_ranks").unwrap();
            let Some(Column::U64(ends)) = parts.column("end_ps") else { panic!("ends are integers") };
            assert_eq!((ends.len(), ends.iter().max()), (n as usize, Some(&expected)));
        }
    }
}

/// Rows of operations are used again while joins end one after another: a loop of non-blocking collectives, the same on both models.
#[test]
fn non_blocking_collectives_in_a_loop_send_what_they_should() {
    for (n, body, messages) in [
        (3, "iallreduce 8 B\n waitall", 4 * 60),
        (3, "iallreduce 8 B\n iallreduce 8 B\n waitall", 8 * 60),
        (3, "ibcast 8 B as q\n wait q", 2 * 60),
        (7, "ibarrier\n waitall", 12 * 60),
    ] {
        let text = format!("ranks {n}\nall {{ repeat 60 {{\n {body}\n}} }}\n");
        let script = ranks::read(&Input::bytes("case", text.as_bytes())).unwrap();
        let program = lower(Arc::new(script), Options::default()).unwrap();
        let mut setup = switch((0..n).map(|_| Rank::default()).collect());
        setup.jobs[0].work = Work::Program(Arc::clone(&program));
        let packet = simulate(&setup, &mut |_| true).unwrap().summary;
        for costs in [DelayConfig::loggops(), DelayConfig::pure(PATH_TIME, 0, 0)] {
            let done =
                loggops::simulate(&loggops::run::plain(Arc::clone(&program), costs), &mut |_| true).unwrap();
            assert_eq!(done.summary.verdict.state, State::Ok, "{body}: {:?}", done.summary.verdict);
            let counts = done.summary.messages.unwrap();
            assert_eq!((counts.injected, counts.delivered), (messages, messages), "{body}");
        }
        assert_eq!(packet.messages.unwrap().delivered, messages, "{body}");
    }
}

/// Random pairs, sizes, tags and wildcards; every message has its receive.
fn random(ranks: u32, messages: u32, seed: u64) -> Vec<Rank> {
    let mut random = Stream::new(seed, Purpose::Test, 0);
    let mut all = vec![Rank::default(); ranks as usize];
    for n in 0..messages {
        let from = random.below(u64::from(ranks)) as u32;
        let to = random.below(u64::from(ranks)) as u32;
        let bytes = [0, 40, 700, 3000][random.below(4) as usize];
        let tag = n % 2;
        let wild = random.below(4) == 0;
        all[from as usize].push(Op { after: After::Start, ..send(to, bytes, tag) });
        let source = if wild { ANY_SOURCE } else { from };
        // Only starts are waited for where a rank may have to send first.
        all[to as usize].push(Op { after: After::Start, ..recv(source, bytes, tag) });
        if random.below(3) == 0 {
            all[from as usize].push(Op { after: After::Start, ..calc(random.below(US)) });
        }
    }
    all
}

#[test]
fn random_programs_end_alike_however_they_are_spread() {
    for seed in 0..3 {
        let mut setup = dragonfly(random(40, 600, seed));
        setup.packet.eager = 1000;
        let summary = run(&setup);
        // Wildcards may take what another receive needs, but nothing is lost in the network.
        let counts = summary.messages.unwrap();
        assert!(counts.delivered > 500 && counts.in_flight == 0, "{counts:?}");
    }
}

/// Large messages with tags of their own go to receives of any tag, small ones right behind them to receives of their tag: a small one that
/// overtook would be taken by the wrong receive and missed by its own.
#[test]
fn programs_that_a_limit_ends_stand_alike_however_they_are_spread() {
    let mut setup = dragonfly(random(16, 200, 5));
    for limit in [US, 3 * US, 9 * US] {
        setup.until = Until::WorkloadDone { limit };
        let summary = run(&setup);
        assert_eq!((summary.verdict.state, summary.simulated_ps), (State::Incomplete, limit));
    }
}

#[test]
fn messages_of_a_pair_match_in_the_order_of_sending() {
    let n = 200;
    let sends: Vec<Op> = (0..n).map(|k| send(1, if k % 2 == 0 { 4096 } else { 1 }, k)).collect();
    let receives: Vec<Op> = (0..n).map(|k| recv(0, 0, if k % 2 == 0 { ANY_TAG } else { k })).collect();
    let setup = dragonfly(vec![chain(&sends), chain(&receives)]);
    let summary = run(&setup);
    assert_eq!(summary.verdict.state, State::Ok, "{:?}", summary.verdict);
    assert_eq!(summary.messages.unwrap().delivered, u64::from(n));
}

#[test]
fn operations_are_rows_with_their_times() {
    let mut setup = switch(vec![chain(&[calc(US), send(1, 64, 7)]), chain(&[recv(0, 64, 7)])]);
    setup.measure.operations = true;
    let done = simulate(&setup, &mut |_| true).unwrap();
    let table = done.tables.iter().find(|t| t.name() == "operations").unwrap();
    let times = |name| match table.column(name) {
        Some(Column::U64(column)) => column.clone(),
        _ => panic!("{name} is no column of integers"),
    };
    assert_eq!(times("start_ps"), [0, US, 0]);
    assert_eq!(times("end_ps"), [US, US, US + PATH_TIME]);
    assert_eq!(times("bytes"), [0, 64, 64]);
    let table = done.tables.iter().find(|t| t.name() == "ranks").unwrap();
    let sums = |name| match table.column(name) {
        Some(Column::U64(column)) => column.clone(),
        _ => panic!("{name} is no column of integers"),
    };
    assert_eq!(sums("makespan_ps"), [US, US + PATH_TIME]);
    assert_eq!((sums("compute_ps"), sums("overhead_ps")), (vec![US, 0], vec![0, 0]));
    assert_eq!((sums("transfer_ps"), sums("wait_ps")), (vec![PATH_TIME, 0], vec![0, US + PATH_TIME]));
    assert_eq!((sums("messages_sent"), sums("messages_received")), (vec![1, 0], vec![0, 1]));
}

/// A program of two ranks; the second batch of rank 0 cannot be read.
struct Broken;

impl Program for Broken {
    fn ranks(&self) -> u32 {
        2
    }
    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        Box::new(Half { begun: false, breaks: rank == RankId::new(0) })
    }
    fn describe(&self, _: RankId, origin: u32) -> String {
        origin.to_string()
    }
}

struct Half {
    begun: bool,
    breaks: bool,
}

impl Cursor for Half {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        if !std::mem::replace(&mut self.begun, true) {
            batch.ops.push(calc(US));
            return Ok(());
        }
        if !self.breaks {
            return Ok(());
        }
        Err(Damage("case:4: the file ends here".to_owned()))
    }
}

/// A source that is found damaged during the run ends it as a failure, not as a shorter program.
#[test]
fn a_damaged_source_is_no_result() {
    let mut setup = switch(vec![Rank::default(), Rank::default()]);
    setup.jobs[0].work = Work::Program(Arc::new(Broken));
    let Err(failure) = simulate(&setup, &mut |_| true) else { panic!("a damaged program has no result") };
    assert!(failure.to_string().contains("rank 0: case:4: the file ends here"), "{failure}");
}

#[test]
fn a_message_that_nobody_takes_is_reported() {
    let summary = run(&switch(vec![chain(&[send(1, 64, 7)]), chain(&[calc(US)])]));
    assert_eq!(
        (summary.verdict.state, summary.verdict.flags.as_slice()),
        (State::Ok, &["unreceived-messages".to_owned(), "too-few-samples".to_owned()][..])
    );
    assert_eq!(summary.verdict.detail[0], "1 message was never received");
}

#[test]
fn a_synchronous_send_to_oneself_waits_for_its_receive() {
    let own = Op { mode: Mode::Synchronous, ..send(0, 64, 1) };
    assert_eq!(run(&switch(vec![chain(&[own, recv(0, 64, 1)])])).verdict.state, State::Deadlock);
    let mut rank = Rank::default();
    rank.push(own);
    rank.push(recv(0, 64, 1));
    assert_eq!(makespan(&switch(vec![rank])), 0);
}

#[test]
fn who_waits_for_what_is_reported() {
    let setup = switch(vec![
        chain(&[recv(1, 64, 3), send(1, 64, 4)]),
        chain(&[recv(0, 64, 4), send(0, 64, 3)]),
        chain(&[recv(ANY_SOURCE, 64, ANY_TAG)]),
    ]);
    let summary = run(&setup);
    assert_eq!(summary.verdict.state, State::Deadlock);
    let detail = &summary.verdict.detail;
    assert_eq!(detail[0], "3 ranks cannot go on; 3 operations wait for other ranks");
    assert_eq!(detail[1], "ranks wait for each other in a circle: 0 -> 1");
    assert_eq!(detail[2], "rank 0 waits for a message from rank 1, tag 3 (operation 0)");
    assert_eq!(detail[3], "rank 1 waits for a message from rank 0, tag 4 (operation 0)");
    assert_eq!(detail[4], "rank 2 waits for a message from any rank (operation 0)");
}

#[test]
fn every_handler_can_be_undone() {
    let mut setup = dragonfly(random(30, 400, 9));
    setup.packet.eager = 1000;
    setup.packet.overhead = 20_000;
    undone(&setup, 200 * US);
}
