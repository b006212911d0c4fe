//! Multicast by tree through clocked and output-queued routers: every member receives every message once over buffers of a packet, times are those of packets alone, links carry the
//! union of paths, one answer for every scheduler and in pieces, undo, refusals.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::{
    common::{
        long,
        pipelines::{arbiters, options},
        spread::{in_pieces, reported},
        undone,
    },
    multicast::{CHUNK, NETWORKS, Sent, delivers_once, follows_the_union_of_the_paths, run, setup, table},
};
use base::{
    index::RankId,
    param::Value,
    sorted::SortedMap,
    threads::{Optimism, Threads},
    time::Ps,
};
use model::{
    Finished,
    setup::{Scheduling, Until},
};
use packet::{
    Setup,
    pipeline::{FlowControl, Pipeline, Ratio, Sharing},
    router::{
        allocator::ALLOCATORS,
        registry::{clocked, named},
    },
    samples, simulate,
};
use results::summary::State;
use workload::traffic::Message;

const US: Ps = 1_000_000;
const NS: Ps = 1_000;

/// Routers by name, with the rules of a section `[router]` if they have one.
type Kind = (String, &'static str, Option<Pipeline>);

fn through(setup: &mut Setup, (_, router, rules): &Kind) {
    setup.packet.router = if rules.is_some() { clocked(named(router)) } else { named(router) };
    setup.packet.pipeline = *rules;
}

/// Routers that copy: ideal ones, and clocked ones of each name, in both switching modes, with every allocator, arbiter and option.
fn kinds() -> Vec<Kind> {
    let plain = Pipeline::DEFAULT;
    let queued = Pipeline { output_queue: Some(5), speedup: Ratio(200), ..plain };
    let outputs = Pipeline { output_queue: Some(5), unlimited_switch: true, ..plain };
    let shared = Sharing::Shared(Ratio(50));
    let mut all = vec![
        ("ideal".to_owned(), "output-queued", None),
        ("without a section".to_owned(), "combined", None),
        ("outputs".to_owned(), "output-queued", Some(outputs)),
        ("queues".to_owned(), "combined", Some(queued)),
    ];
    for (n, entry) in ALLOCATORS.iter().enumerate() {
        let flow_control = [FlowControl::Wormhole, FlowControl::CutThrough][n % 2];
        let rules = Pipeline { vc_allocator: Some(n), switch_allocator: n, flow_control, ..plain };
        all.push((entry.about.name.to_owned(), "input-queued", Some(rules)));
    }
    all.extend(arbiters().into_iter().map(|(name, rules)| (name, "input-queued", Some(rules))));
    // In turns, of which the last shares buffers: wormhole switching could not.
    let switched = |(n, (name, rules)): (usize, (&str, Pipeline))| {
        let flow_control = [FlowControl::Wormhole, FlowControl::CutThrough][n % 2];
        (name.to_owned(), "input-queued", Some(Pipeline { flow_control, ..rules }))
    };
    all.extend(options().into_iter().enumerate().map(switched));
    let more = [
        ("shared outputs", Pipeline { output_sharing: shared, ..queued }),
        ("hold", Pipeline { hold_switch: true, ..queued }),
        ("whole", Pipeline { flow_control: FlowControl::CutThrough, ..queued }),
    ];
    all.extend(more.map(|(name, rules)| (name.to_owned(), "combined", Some(rules))));
    all
}

/// Everybody has more to say to its group than links carry, in messages of two packets and a half or of single chunks, over buffers that hold one packet or little more.
fn busy(n: usize, kind: &Kind, count: u64) -> (Setup, Sent, String) {
    let (topology, dims, routing) = NETWORKS[n % NETWORKS.len()];
    let (group, bytes) = ([0, 5, 7][n / 2 % 3], [10, 10, 4, 1][n / 3 % 4] * CHUNK);
    let sent = Sent { copies: "routers", senders: "all", group, count, bytes, load: 2.0 };
    let buffer = 4 + [0, 1, 3][n % 3];
    let mut setup = setup(topology, dims, routing, sent, buffer);
    // Channels of a class more than one, in turns.
    setup.packet.vcs = (setup.packet.vcs * (1 + (n / 2 % 2) as u8)).min(16);
    through(&mut setup, kind);
    (setup, sent, format!("{}, {} on {topology}, {routing}, groups of {group}, {bytes} B", kind.0, kind.1))
}

#[test]
fn every_member_receives_every_message_once_through_every_router() {
    for (n, kind) in kinds().iter().enumerate() {
        for k in 0..if long() { NETWORKS.len() } else { 2 } {
            let (setup, sent, what) = busy(n + 3 * k, kind, 2);
            delivers_once(&setup, sent.group, 2 * sent.bytes.div_ceil(4 * CHUNK), &what);
        }
    }
}

#[test]
fn links_carry_what_the_union_of_the_paths_says_through_every_router() {
    for kind in kinds().iter().take(6) {
        follows_the_union_of_the_paths(|setup| through(setup, kind));
    }
}

/// From creation to arrival, by destination.
fn times(finished: &Finished) -> SortedMap<u32, u64> {
    let packets = table(finished, "packets");
    let column = |name| packets.u64_column(name).unwrap();
    let took = column("delivered_ps").iter().zip(column("message_created_ps")).map(|(d, c)| d - c);
    packets.u32_column("destination").unwrap().iter().copied().zip(took).collect()
}

/// In an idle network every copy takes as long as a packet that is alone on its path, however many chunks it has and whatever routers there are.
#[test]
fn times_of_copies_are_those_of_packets_alone_through_every_router() {
    for (n, kind) in kinds().iter().enumerate() {
        for &(topology, dims, routing) in [&NETWORKS[0], &NETWORKS[3]] {
            let bytes = [1, 4][n % 2] * CHUNK;
            let sent = Sent { copies: "routers", senders: "first", group: 0, count: 1, bytes, load: 0.001 };
            let mut setup = setup(topology, dims, routing, sent, 16);
            setup.packet.vcs *= 2;
            through(&mut setup, kind);
            let copies = run(&setup);
            let created = table(&copies, "packets").u64_column("message_created_ps").unwrap()[0];
            let ranks = u64::from(setup.fabric.terminals());
            // A packet to each, long after the one before.
            let work = samples::open_loop(move |rank, index, _| {
                let time = created + index * 100 * US;
                let destination = RankId::new(1 + index as u32);
                (rank.number() == 0 && index + 1 < ranks).then_some(Message { time, destination, bytes })
            });
            setup.jobs[0].work = work;
            let alone = run(&setup);
            assert_eq!(times(&copies).len() as u64, ranks - 1);
            assert_eq!(times(&copies), times(&alone), "{}, {} on {topology}, {bytes} B", kind.0, kind.1);
        }
    }
}

#[test]
fn one_answer_for_every_scheduler_and_in_pieces() {
    let threads = Threads { count: 2, ..Threads::ONE };
    let optimism = Optimism { stumble: 50, ..Optimism::default() };
    for (n, kind) in kinds().iter().enumerate() {
        let (mut setup, _, what) = busy(n + 2, kind, 2);
        setup.measure.window = US;
        let one = run(&setup);
        let limit = one.summary.simulated_ps;
        let schedulers = [
            Scheduling::Sequential { partitions: 5 },
            Scheduling::Sequential { partitions: 64 },
            Scheduling::Conservative { partitions: Some(3), threads },
            Scheduling::Optimistic { partitions: Some(3), threads, optimism },
        ];
        // One of them in turns.
        for scheduling in schedulers.into_iter().enumerate().filter(|(k, _)| long() || *k == n % 4) {
            setup.scheduling = scheduling.1;
            assert_eq!(reported(&run(&setup)), reported(&one), "{what} by {scheduling:?}");
        }
        if long() || n % 3 == 0 {
            assert_eq!(reported(&in_pieces(setup, 3, limit)), reported(&one), "{what} in pieces");
        }
    }
}

#[test]
fn every_handler_that_copies_can_be_undone() {
    for (n, kind) in kinds().iter().enumerate().step_by(if long() { 1 } else { 5 }) {
        let (mut setup, ..) = busy(n, kind, 40);
        setup.until = Until::Time(2 * US);
        undone(&setup, 2 * US);
    }
}

/// Rings of one channel, whose dependencies have a cycle: copies that wait for each other around it are found, with what stands behind them.
#[test]
fn deadlocks_of_copies_are_found() {
    let one = [("partition", Value::Text("bubble".to_owned()))];
    let sent = Sent { copies: "routers", senders: "all", group: 0, count: 20, bytes: 4 * CHUNK, load: 2.0 };
    for kind in kinds().iter().filter(|kind| kind.2.is_some()).take(4) {
        let mut setup = setup("torus", &[("dims", &[8, 3])], "dimension-order", sent, 4);
        setup.routing = samples::routing(&setup.fabric, "dimension-order", &one);
        setup.packet.vcs = 1;
        through(&mut setup, kind);
        let verdict = simulate(&setup, &mut |_| true).expect("a valid setup").summary.verdict;
        assert_eq!(verdict.state, State::Deadlock, "{}, {}: {verdict:?}", kind.0, kind.1);
    }
}

/// A state that is taken up again and saved at once is the same bytes.
#[test]
fn what_is_saved_is_what_was_taken_up() {
    for kind in kinds().iter().take(5) {
        let (setup, ..) = busy(1, kind, 2);
        let saved = |resume: Option<&[u8]>| {
            let mut states = Vec::new();
            let mut stop = |_: model::Progress, save: &mut dyn FnMut() -> Vec<u8>| {
                states.push(save());
                resume.is_some() || states.len() < 2
            };
            let watch = model::run::Watch { every: 200 * NS, resume, ..model::run::Watch::new(&mut stop) };
            let _ = packet::run::watch(&setup, watch);
            states
        };
        let whole = saved(None);
        assert_eq!(whole.len(), 2, "a run of several pieces");
        let again = saved(Some(&whole[0]));
        assert!(again.first() == Some(&whole[1]), "{} {}", kind.0, kind.1);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let plain = Pipeline::DEFAULT;
    let whole = Pipeline { flow_control: FlowControl::CutThrough, ..plain };
    let shared = Sharing::Shared(Ratio::ONE);
    for (rules, buffer, why) in [
        (Pipeline { virtual_output_queues: true, ..whole }, 8, "stands in no queue for one"),
        (Pipeline { flow_control: FlowControl::Bubble, ..plain }, 8, "where a bubble was"),
        (Pipeline { input_sharing: shared, ..plain }, 8, "keep no room for a packet"),
        (plain, 3, "must fit into every buffer"),
    ] {
        let sent =
            Sent { copies: "routers", senders: "all", group: 0, count: 1, bytes: 4 * CHUNK, load: 1.0 };
        let mut setup = setup("mesh", &[("dims", &[4, 3])], "dimension-order", sent, buffer);
        through(&mut setup, &(String::new(), "input-queued", Some(rules)));
        let refused = simulate(&setup, &mut |_| true).err().expect("it is refused").to_string();
        assert!(refused.contains(why), "{refused}");
        // Of a chunk a packet fits into any buffer.
        setup.packet.packet = CHUNK as u32;
        let single = !rules.virtual_output_queues && rules.flow_control != FlowControl::Bubble;
        assert_eq!(simulate(&setup, &mut |_| true).is_ok(), single, "{why}");
    }
}
