//! Multicast by tree: every member receives every message once, links carry what the union of the paths says, times are closed forms, one answer for every scheduler, undo,
//! planted faults, refusals.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::checkers::books_and_packets;
use base::{
    index::{ChannelId, LinkId},
    param::Value,
    sorted::SortedMap,
    threads::{Optimism, Threads},
};
use engine::executor::{Executor, Options};
use model::{
    Finished,
    samples::int,
    setup::{Scheduling, Until},
};
use packet::{
    Setup,
    effects::Record,
    net::Router,
    network::Network,
    pools::RowNumber,
    router::{registry::named, window::WindowRouter},
    samples, simulate,
    state::PacketDomain,
};
use results::{summary::State, table::Table};
use std::sync::Arc;

const US: u64 = 1_000_000;
const NS: u64 = 1_000;
pub const CHUNK: u64 = 64;

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

/// Who copies, who sends, and how many messages of how many bytes to groups of so many ranks.
#[derive(Clone, Copy)]
pub struct Sent {
    pub copies: &'static str,
    pub senders: &'static str,
    pub group: u64,
    pub count: u64,
    pub bytes: u64,
    pub load: f64,
}

pub type Given = &'static [(&'static str, &'static [u64])];

pub fn setup(topology: &str, dims: Given, routing: &str, sent: Sent, chunks: u64) -> Setup {
    let values: Vec<(&str, Value)> = dims
        .iter()
        .map(|&(key, all)| (key, if let [one] = *all { int(one) } else { Value::Ints(all.to_vec()) }))
        .collect();
    let fabric = samples::topology(topology, &values);
    let routing = samples::routing(&fabric, routing, &[]);
    let links = vec![samples::link(64_000_000_000, 3 * NS, 4 * NS, chunks * CHUNK); fabric.classes().len()];
    let bandwidth = links[0].bandwidth;
    let given = [
        ("replication", text(sent.copies)),
        ("senders", text(sent.senders)),
        ("group", int(sent.group)),
        ("bursts", int(sent.count)),
    ];
    let job = (fabric.terminals(), sent.bytes, bandwidth);
    let work = samples::traffic("multicast", &given, "constant", sent.load, job, 1);
    let mut setup = samples::setup(fabric, routing, links, work, sent.bytes);
    setup.packet.packet = 4 * CHUNK as u32;
    setup.packet.vcs = setup.routing.vcs();
    setup.packet.router_delay = 2 * NS;
    setup.until = Until::WorkloadDone { limit: 100_000 * US };
    setup.check = true;
    setup.measure.pairs = true;
    setup.measure.packets = true;
    setup
}

pub fn run(setup: &Setup) -> Finished {
    let finished = simulate(setup, &mut |_| true).expect("a valid setup");
    let verdict = &finished.summary.verdict;
    assert!(matches!(verdict.state, State::Ok | State::Saturated), "{verdict:?}");
    finished
}

pub fn table<'a>(finished: &'a Finished, name: &str) -> &'a Table {
    finished.tables.iter().find(|t| t.name() == name).expect("it was asked for")
}

/// Chunks by link.
pub fn chunks(finished: &Finished) -> SortedMap<u32, u32> {
    let links = table(finished, "links");
    let of = |name| links.u32_column(name).unwrap().to_vec();
    of("link").into_iter().zip(of("chunks")).collect()
}

pub const DRAGONFLY: Given = &[
    ("groups", &[5]),
    ("routers_per_group", &[2]),
    ("terminals_per_router", &[2]),
    ("global_ports_per_router", &[2]),
];

/// Networks with their routings: rings, draws, detours, links that several share.
pub const NETWORKS: &[(&str, Given, &str)] = &[
    ("mesh", &[("dims", &[4, 3])], "dimension-order"),
    ("torus", &[("dims", &[5, 4])], "dimension-order"),
    ("torus", &[("dims", &[4, 4])], "valiant"),
    ("hyperx", &[("dims", &[3, 4])], "dimension-order"),
    ("dragonfly", DRAGONFLY, "minimal"),
    ("dragonfly", DRAGONFLY, "valiant"),
];

/// Every member receives each message of its group, in `packets` packets of each sender: once, and nobody else does.
pub fn delivers_once(setup: &Setup, group: u64, packets: u64, what: &str) {
    let ranks = u64::from(setup.fabric.terminals());
    let finished = run(setup);
    let group = if group == 0 { ranks } else { group };
    let members = |rank: u64| group.min(ranks - rank / group * group) - 1;
    let wanted: u64 = (0..ranks).map(members).sum();
    let counts = finished.summary.packets.as_ref().expect("packets");
    assert_eq!((counts.injected, counts.delivered), (wanted * packets, wanted * packets), "{what}");
    let pairs = table(&finished, "pairs");
    let (from, to) = (pairs.u32_column("source").unwrap(), pairs.u32_column("destination").unwrap());
    let each = pairs.u64_column("packets").unwrap();
    assert_eq!(each.len() as u64, wanted, "{what}");
    for ((&from, &to), &count) in from.iter().zip(to).zip(each) {
        let (from, to) = (u64::from(from), u64::from(to));
        assert!(count == packets && from != to && from / group == to / group, "{what}: {from} to {to}");
    }
}

/// Everybody sends to all of its group over buffers of one and of two chunks, more than links carry, in messages of two packets and a half: every member receives each once.
#[test]
fn every_member_receives_every_message_once() {
    for (n, &(topology, dims, routing)) in NETWORKS.iter().enumerate() {
        for (group, buffer) in [(0, 1), (5, 2)] {
            let sent =
                Sent { copies: "routers", senders: "all", group, count: 2, bytes: 10 * CHUNK, load: 2.0 };
            let setup = setup(topology, dims, routing, sent, buffer);
            delivers_once(&setup, group, 6, &format!("{n}: {topology}, {routing}, groups of {group}"));
        }
    }
}

/// What sources repeat crosses every link as often as members lie behind it; what routers copy crosses each of these links once. `through` chooses routers.
pub fn follows_the_union_of_the_paths(through: impl Fn(&mut Setup)) {
    for &(topology, dims, routing) in NETWORKS.iter().filter(|(.., routing)| *routing != "valiant") {
        let of = |copies, count| {
            let sent = Sent { copies, senders: "first", group: 0, count, bytes: 3 * CHUNK, load: 0.001 };
            let mut setup = setup(topology, dims, routing, sent, 16);
            through(&mut setup);
            chunks(&run(&setup))
        };
        let (trees, single) = (of("routers", 4), of("source", 1));
        // Draws of a routing are taken once for a tree, for each packet else.
        let draws = topology == "dragonfly" || topology == "torus";
        for (link, &repeated) in &single {
            let carried = trees[link];
            assert!(carried == 0 || carried == 4 * 3, "{topology}: link {link} carried {carried}");
            assert!(
                draws || (carried > 0) == (repeated > 0),
                "{topology}: link {link}: {carried}, {repeated}"
            );
        }
        let sum = |all: &SortedMap<u32, u32>| all.values().sum::<u32>();
        assert!(sum(&trees) < 4 * sum(&single), "{topology}: a tree shares links");
    }
}

#[test]
fn links_carry_what_the_union_of_the_paths_says() {
    follows_the_union_of_the_paths(|_| ());
}

/// On a line: the time of a copy is that of a packet alone. Repeated by the source, packet n waits for those before it on the one link that all take.
#[test]
fn times_of_copies_are_those_of_packets_alone() {
    let (ranks, chunks) = (6u64, 3u64);
    let (s, l, r) = (NS, 3 * NS, 2 * NS);
    for copies in ["routers", "source"] {
        let sent = Sent { copies, senders: "first", group: 0, count: 1, bytes: chunks * CHUNK, load: 0.001 };
        let finished = run(&setup("mesh", &[("dims", &[6, 1])], "dimension-order", sent, 16));
        let packets = table(&finished, "packets");
        let (to, took) =
            (packets.u32_column("destination").unwrap(), packets.u64_column("latency_ps").unwrap());
        let created = packets.u64_column("message_created_ps").unwrap();
        let delivered = packets.u64_column("delivered_ps").unwrap();
        assert_eq!(to.len() as u64, ranks - 1);
        for (n, &to) in to.iter().enumerate() {
            let hops = u64::from(to);
            let alone = (s + l) + (hops + 1) * (r + s + l) + (chunks - 1) * s;
            let before = if copies == "source" { (hops - 1) * chunks * s } else { 0 };
            assert_eq!(delivered[n] - created[n], alone + before, "{copies}: to {to}, {} ps", took[n]);
        }
    }
}

fn busy() -> Setup {
    let sent = Sent { copies: "routers", senders: "all", group: 6, count: 3, bytes: 6 * CHUNK, load: 2.0 };
    setup("torus", &[("dims", &[4, 3])], "dimension-order", sent, 2)
}

#[test]
fn one_answer_for_every_scheduler() {
    let threads = Threads { count: 2, ..Threads::ONE };
    let partitions = Some(3);
    let optimism = Optimism { stumble: 50, ..Optimism::default() };
    let mut setup = busy();
    let one = run(&setup).summary.without_performance();
    for scheduling in [
        Scheduling::Sequential { partitions: 5 },
        Scheduling::Conservative { partitions, threads },
        Scheduling::Optimistic { partitions, threads, optimism },
    ] {
        setup.scheduling = scheduling;
        assert_eq!(run(&setup).summary.without_performance().to_json(), one.to_json(), "{scheduling:?}");
    }
    let mut setup = busy();
    setup.until = Until::Time(US);
    crate::common::undone(&setup, 400 * NS);
}

type Run = Executor<PacketDomain<WindowRouter>, Vec<Record>>;

/// A network in which copies wait for room, some of them with a buffer in common.
fn waiting() -> (Run, Vec<(LinkId, ChannelId)>) {
    let setup = busy();
    let net = Arc::new(Network::new(&setup, 1));
    let parts = [(PacketDomain::new(net, 0), Vec::new())];
    let mut run = Executor::new(parts, Options { tie_seed: 1, wheel_shift: 8 });
    run.run_until(150 * NS, u64::MAX);
    run.settle();
    let domain = &run.partitions[0].domain;
    let mut held = Vec::new();
    for (u, _) in domain.cx.local.lines.iter() {
        WindowRouter::held(&domain.state.net, &domain.cx, u, &mut |link, vc, _| held.push((link, vc)));
    }
    (run, held)
}

/// Copies that share a buffer and no longer know it, and a copy that is made twice, are found by the books.
#[test]
fn planted_faults_are_found() {
    let (run, held) = waiting();
    assert_eq!(books_and_packets(&run), Vec::<String>::new(), "{} buffers are held", held.len());
    let shared = |run: &Run| {
        let net = &run.partitions[0].domain.state.net;
        let rows = net.router.queued.rows().iter().flat_map(|list| list.iter(&net.chunks));
        rows.filter(|&c| net.router.shared.get(c) > 0).collect::<Vec<_>>()
    };
    let (mut parted, _) = waiting();
    let all = shared(&parted);
    assert!(all.len() >= 2, "copies share buffers: {}", all.len());
    let net = &mut parted.partitions[0].domain.state.net;
    all.iter().for_each(|&c| net.router.shared.set(c, 0));
    assert!(books_and_packets(&parted).iter().any(|fault| !fault.is_empty()), "a buffer counts twice");
    let (mut lost, _) = waiting();
    let net = &mut lost.partitions[0].domain.state.net;
    let (row, _) =
        net.router.queued.rows().iter().enumerate().find(|(_, l)| !l.is_empty()).expect("some wait");
    let row = packet::places::VcRow::new(row as u32);
    let gone = net.router.queued.edit(row).pop(&net.chunks).expect("it waits");
    assert!(!gone.is_nil() && !books_and_packets(&lost).is_empty(), "a copy is lost");
}

#[test]
fn what_cannot_carry_trees_refuses_them() {
    let refused = |setup: &Setup| simulate(setup, &mut |_| true).err().expect("it is refused").to_string();
    let mut other = busy();
    other.packet.router = named("input-queued");
    assert!(refused(&other).contains("router \"input-queued\" copies none"));
    let sent = Sent { copies: "routers", senders: "all", group: 6, count: 3, bytes: 6 * CHUNK, load: 1.0 };
    let looks = setup("dragonfly", DRAGONFLY, "ugal-l", sent, 2);
    assert!(refused(&looks).contains("looks at queues"));
}
