//! The model against a naive simulator of the same rules: every acceptance and delivery, to the picosecond.

use crate::common::{FABRICS, Link, Seen, Sketch, naive::Naive, sketch};
use base::{
    hash::mix64,
    index::{PortId, RouterId},
    time::Ps,
};
use engine::executor::{Executor, Options};
use fabric::routing::{Choice, Congestion, Facts, Hop, Routing};
use packet::router::window::WindowRouter;
use packet::{
    Setup, finish,
    network::Network,
    state::{PacketDomain, Record},
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, RngSeed, TestCaseError},
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

const TIE_SEED: u64 = 77;

/// What a record says that the naive simulator says too.
fn seen(record: &Record) -> Option<Seen> {
    let seen = match *record {
        Record::Created { time, id, bytes, .. } => {
            Seen::Created { time, id: id.key(), bytes: u64::from(bytes) }
        }
        Record::Accepted { time, link, vc, id, index } => {
            Seen::Accepted { time, link: link.number(), vc, id: id.key(), index: u64::from(index) }
        }
        Record::Delivered { time, id, start, last_arrival, hops, disordered, .. } => {
            Seen::Delivered { time, id: id.key(), start, last_arrival, hops, disordered }
        }
        // No happening: it goes with the packet that is delivered.
        Record::Of { .. } => return None,
        Record::Message { time, created, source, destination, number } => Seen::Message {
            time,
            created,
            source: source.number(),
            destination: destination.number(),
            number,
        },
        Record::Sent { .. }
        | Record::Ended { .. }
        | Record::Notified { .. }
        | Record::Overtaken { .. }
        | Record::Held { .. }
        | Record::Released { .. }
        | Record::Gap { .. }
        | Record::Operation { .. }
        | Record::Met(_)
        | Record::Bypassed { .. }
        | Record::Predicted { .. }
        | Record::Alone { .. }
        | Record::Through { .. } => {
            unreachable!("patterns in high fidelity")
        }
    };
    Some(seen)
}

/// Occupancy by link and VC of settled partitions.
fn occupancy(domains: &[&PacketDomain<WindowRouter>], links: usize) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new(); links];
    for d in domains {
        for (u, line) in d.cx.local.lines.iter() {
            all[line.link.index()] =
                d.state.net.vcs_of(u).map(|(_, v)| u64::from(d.state.net.vcs.get(v).occupancy)).collect();
        }
    }
    all
}

/// What is left in the pools when nothing is in the network: nothing.
fn leftovers(d: &PacketDomain<WindowRouter>) -> [u32; 6] {
    let (s, n) = (&d.state, &d.state.net);
    [n.chunks.in_use(), n.packets.in_use(), s.posts.in_use(), n.known.len(), s.open.len(), n.trails.len()]
}

/// Runs both, stopping at `stops` on the way, and compares. Returns the number of happenings.
fn compare(
    setup: &Setup,
    (partitions, wheel_shift): (u32, u32),
    stops: &[Ps],
) -> Result<usize, TestCaseError> {
    let partitions = partitions.min(setup.fabric.routers());
    let net = Arc::new(Network::new(setup, partitions));
    let parts = (0..partitions).map(|p| (PacketDomain::<WindowRouter>::new(Arc::clone(&net), p), Vec::new()));
    let mut executor = Executor::new(parts, Options { tie_seed: TIE_SEED, wheel_shift });
    let mut naive = Naive::new(setup, TIE_SEED);
    let links = setup.fabric.ports().len() + setup.fabric.terminals() as usize;
    for &stop in stops.iter().chain([&LIMIT]) {
        executor.run_until(stop, u64::MAX);
        executor.settle();
        let idle = naive.run(stop);
        let domains: Vec<&PacketDomain<WindowRouter>> =
            executor.partitions.iter().map(|p| &p.domain).collect();
        let found = occupancy(&domains, links);
        let expected = naive.occupancy();
        for link in 0..links {
            prop_assert_eq!(&found[link], &expected[link], "occupancy of link {} at {}", link, stop);
        }
        let sent: Vec<u32> = finish::sent_by_link(&domains).into_values().map(|c| c.chunks).collect();
        prop_assert_eq!(sent, naive.sent(), "chunks sent by link before {}", stop);
        let happened: usize =
            executor.partitions.iter().map(|p| p.observer.iter().filter_map(seen).count()).sum();
        prop_assert_eq!(happened, naive.seen.len(), "happenings before {}", stop);
        if idle {
            for d in domains {
                prop_assert_eq!(leftovers(d), [0; 6], "rows in use after the end");
            }
        }
    }
    let mut found: Vec<Seen> =
        executor.partitions.iter().flat_map(|p| p.observer.iter().filter_map(seen)).collect();
    let mut expected = naive.seen;
    found.sort_unstable_by_key(|s| (time(s), *s));
    expected.sort_unstable_by_key(|s| (time(s), *s));
    for (n, (f, e)) in found.iter().zip(&expected).enumerate() {
        prop_assert_eq!(f, e, "happening {} in {} partitions", n, partitions);
    }
    prop_assert_eq!(found.len(), expected.len(), "in {} partitions", partitions);
    Ok(found.len())
}

fn time(s: &Seen) -> Ps {
    match *s {
        Seen::Created { time, .. }
        | Seen::Accepted { time, .. }
        | Seen::Delivered { time, .. }
        | Seen::Message { time, .. } => time,
    }
}

const LIMIT: Ps = 1 << 40;

fn config(cases: u32) -> Config {
    Config {
        cases,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(20),
        failure_persistence: None,
        max_shrink_iters: 400,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config(500))]

    /// Any experiment, whole.
    #[test]
    fn any_experiment_is_the_naive_one(sketch in sketch(), engine in (1u32..=9, 0u32..24)) {
        compare(&sketch.setup(12), engine, &[])?;
    }

    /// Any experiment, looked at on the way: settling changes nothing, and nothing of an instant is settled at that
    /// instant. The instants are those of happenings, or a picosecond later.
    #[test]
    fn looking_on_the_way_changes_nothing(
        sketch in sketch(),
        engine in (1u32..=9, 0u32..24),
        places in prop::collection::vec(any::<u32>(), 1..12),
    ) {
        let setup = sketch.setup(8);
        let mut rehearsal = Naive::new(&setup, TIE_SEED);
        rehearsal.run(LIMIT);
        let mut stops: Vec<Ps> = places
            .into_iter()
            .map(|place| {
                let happening = &rehearsal.seen[place as usize / 4 % rehearsal.seen.len()];
                match *happening {
                    Seen::Delivered { start, .. } if place & 1 == 0 => start,
                    _ => time(happening) + u64::from(place >> 1 & 1),
                }
            })
            .filter(|&stop| stop > 0)
            .collect();
        stops.sort_unstable();
        compare(&setup, engine, &stops)?;
    }
}

proptest! {
    #![proptest_config(config(60))]

    /// Every event of any experiment, handled, undone and handled again, gives the records of a plain run.
    #[test]
    fn every_handler_can_be_undone(sketch in sketch()) {
        let setup = sketch.setup(5);
        let net = Arc::new(Network::new(&setup, 1));
        let domain = || PacketDomain::<WindowRouter>::new(Arc::clone(&net), 0);
        let options = Options { tie_seed: TIE_SEED, wheel_shift: 8 };
        let mut plain = Executor::new([(domain(), Vec::new())], options);
        plain.run_until(LIMIT, u64::MAX);
        let mut undone = Vec::new();
        let (end, _) = engine::undo_check::run_with_undo(domain(), &mut undone, TIE_SEED, LIMIT);
        prop_assert!(undone == plain.partitions[0].observer, "other records after undo");
        prop_assert!(end == plain.partitions[0].domain, "another state after undo");
    }
}

/// All sources in phase on links that are alike: the most ties there can be.
fn lockstep(fabric: usize, routing: usize, link: Link) -> Sketch {
    Sketch {
        fabric,
        routing,
        links: [Link { buffer: (2 * link.buffer.0, 0), ..link }, link, link],
        chunk: 64,
        packet: (4, 0),
        sizes: vec![256],
        load: 1.4,
        in_phase: true,
        replies: 0,
        more_vcs: 0,
        delays: (100_000, 0),
        per_packet: false,
        second_job: None,
        idle: 0,
        seed: 5,
    }
}

fn agreed(sketch: &Sketch, count: u64) -> usize {
    let of = |partitions| {
        let done = compare(&sketch.setup(count), (partitions, 9), &[]);
        done.unwrap_or_else(|e| panic!("{sketch:?} in {partitions}: {e}"))
    };
    of(1) + of(3)
}

/// Answers are sent at the very instants of messages that wait for their time.
#[test]
fn answers_and_messages_of_one_instant_are_the_naive_ones() {
    let link = Link { rate: (64_000_000_000, 1), latency: 997, credit: 1_000, buffer: (4, 0) };
    for fabric in 0..FABRICS.len() {
        for load in [0.25, 0.5] {
            let sketch = lockstep(fabric, 0, link);
            agreed(&Sketch { sizes: vec![64], load, replies: 9, delays: (1_000, 0), ..sketch }, 40);
        }
    }
}

/// Asks for the backlog of every port of the router, and adds up what it was given.
struct Nosy {
    inner: Arc<dyn Routing>,
    ports: Vec<u32>,
    reported: AtomicU64,
}

impl Routing for Nosy {
    fn vcs(&self) -> u8 {
        self.inner.vcs()
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let mut random = hop.random;
        let name = mix64(random.next_u64() ^ u64::from(hop.router) << 40);
        for port in 0..self.ports[hop.router.index()] {
            let backlog = congestion.backlog(PortId::new(port));
            self.reported.fetch_xor(mix64(name ^ u64::from(port) << 50 ^ backlog), Relaxed);
        }
        self.inner.route(hop, congestion)
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        self.inner.options(hop, out);
    }

    fn facts(&self) -> Facts {
        Facts::ADAPTIVE
    }
}

proptest! {
    #![proptest_config(config(150))]

    /// An adaptive routing is given the same backlogs: given once by the model and once by the naive simulator, they cancel.
    #[test]
    fn backlogs_are_the_naive_ones(sketch in sketch(), partitions in 1u32..=4) {
        let mut setup = sketch.setup(10);
        let ports = RouterId::first(setup.fabric.routers()).map(|r| setup.fabric.ports_of(r).len() as u32).collect();
        let nosy = Arc::new(Nosy { inner: Arc::clone(&setup.routing), ports, reported: AtomicU64::new(0) });
        setup.routing = Arc::clone(&nosy) as Arc<dyn Routing>;
        compare(&setup, (partitions, 9), &[])?;
        prop_assert_eq!(nosy.reported.load(Relaxed), 0, "other backlogs");
    }
}

/// Every small fabric and routing in lockstep beyond saturation with buffers of one to four chunks: the most blocking there
/// can be.
#[test]
fn saturated_networks_in_lockstep_are_the_naive_ones() {
    let mut happenings = 0;
    for fabric in 0..FABRICS.len() {
        for routing in 0..2 {
            for (buffer, per_packet) in [(1, false), (2, true), (4, false)] {
                let link = Link { rate: (2 << 30, 1), latency: 29_802, credit: 3_725, buffer: (buffer, 0) };
                happenings += agreed(&Sketch { per_packet, ..lockstep(fabric, routing, link) }, 30);
            }
        }
    }
    assert!(happenings > 300_000, "{happenings}");
}
