//! Random small experiments: a [`Sketch`] is drawn by proptest and turned into a setup.

#![allow(dead_code, reason = "not every test file needs all of it")]

pub mod naive;
pub mod pipelines;
pub mod programs;
pub mod spread;

use base::{
    hash::mix64,
    index::{ChannelId, RankId, TerminalId},
    param::Value,
    rate::Bandwidth,
    rng::{Purpose, Stream},
    time::Ps,
    world::World,
};
use fabric::registry::{ROUTINGS, values};
use model::{
    Failure, Finished, Progress,
    run::Watch,
    samples::int,
    setup::{JobSetup, LinkParams, Measure, Rail, Scheduling, Until},
};
use packet::net::Router;
use packet::router::{
    input_queued::InputQueued, output_queued::OutputQueued, pipelined::Pipelined, registry::named,
    window::WindowRouter,
};
use packet::{
    PacketConfig, Setup,
    config::{Arbiter, RoutePer},
    host::inhabited,
    network::Network,
    observe::Observer,
    run::watch,
    samples,
};
use proptest::prelude::*;
use std::sync::Arc;
use workload::{
    registry::Work,
    traffic::{Message, Traffic},
};

/// Whether the long form of a test is asked for: `NETLOOM_LONG=1`.
pub fn long() -> bool {
    std::env::var_os("NETLOOM_LONG").is_some()
}

/// A link class in plain numbers.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Bytes per second, numerator and denominator.
    pub rate: (u64, u64),
    /// Latency of the wire, ps.
    pub latency: Ps,
    /// Delay of a credit on its way back, ps.
    pub credit: Ps,
    /// Buffer per VC, chunks, and bytes beyond a whole number of chunks.
    pub buffer: (u64, u64),
}

/// Everything that makes a random experiment.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// Which of [`FABRICS`].
    pub fabric: usize,
    /// Which of the routings that bind to it.
    pub routing: usize,
    /// By class, the last one repeated.
    pub links: [Link; 3],
    /// Chunk in bytes.
    pub chunk: u32,
    /// Packet, in chunks and bytes beyond.
    pub packet: (u32, u32),
    /// Sizes of messages in bytes; each message draws one.
    pub sizes: Vec<u64>,
    /// Share of the terminal links' rate that is offered.
    pub load: f64,
    /// Sources start in phase and at even gaps, or at random.
    pub in_phase: bool,
    /// Share of messages that are answered, in 16ths.
    pub replies: u64,
    /// Virtual channels beyond what the routing needs.
    pub more_vcs: u8,
    /// Router delay, adapter delay.
    pub delays: (Ps, Ps),
    /// Chunks of a packet follow the first.
    pub per_packet: bool,
    /// Jobs (1 or 2) and start of the second one.
    pub second_job: Option<Ps>,
    /// Terminals left out.
    pub idle: u32,
    /// Seed of everything.
    pub seed: u64,
}

/// A happening, as the model and the naive simulator both report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Seen {
    Created { time: Ps, id: u64, bytes: u64 },
    Accepted { time: Ps, link: u32, vc: ChannelId, id: u64, index: u64 },
    Delivered { time: Ps, id: u64, start: Ps, last_arrival: Ps, hops: u16, disordered: bool },
    Message { time: Ps, created: Ps, source: u32, destination: u32, number: u32 },
}

type Given = &'static [(&'static str, u64)];

/// Small fabrics: one router; a diameter of one, two and three; parallel ways; rings.
pub const FABRICS: &[(&str, Given, &[u64])] = &[
    ("single-switch", &[("terminals", 2)], &[]),
    ("single-switch", &[("terminals", 6)], &[]),
    (
        "dragonfly",
        &[
            ("groups", 2),
            ("routers_per_group", 2),
            ("terminals_per_router", 2),
            ("global_ports_per_router", 1),
        ],
        &[],
    ),
    (
        "dragonfly",
        &[
            ("groups", 3),
            ("routers_per_group", 2),
            ("terminals_per_router", 2),
            ("global_ports_per_router", 1),
        ],
        &[],
    ),
    (
        "dragonfly",
        &[
            ("groups", 5),
            ("routers_per_group", 4),
            ("terminals_per_router", 1),
            ("global_ports_per_router", 2),
        ],
        &[],
    ),
    (
        "dragonfly",
        &[
            ("groups", 4),
            ("routers_per_group", 3),
            ("terminals_per_router", 2),
            ("global_ports_per_router", 2),
        ],
        &[],
    ),
    ("mesh", &[("terminals_per_router", 1)], &[3, 3]),
    ("torus", &[("terminals_per_router", 1)], &[5]),
    ("torus", &[("terminals_per_router", 2)], &[3, 3]),
    ("fat-tree", &[("k", 2), ("levels", 3)], &[]),
    ("fat-tree", &[("k", 3), ("levels", 2)], &[]),
];

fn link() -> impl Strategy<Value = Link> {
    let rate = prop_oneof![
        (1u64..=64).prop_map(|g| (g * 1_000_000_000, 1)),
        Just((2u64 << 30, 1)),
        Just((999_999_999_989, 997)),
        (1_000_000_000u64..20_000_000_000, 1u64..20),
    ];
    let latency = prop_oneof![Just(1u64), 3u64..100, 1_000u64..60_000, Just(29_802)];
    let credit = prop_oneof![Just(2u64), 3u64..50, 1_000u64..10_000, 50_000u64..300_000];
    let buffer = (prop_oneof![Just(1u64), 2u64..5, 8u64..40], 0u64..3);
    (rate, latency, credit, buffer).prop_map(|(rate, latency, credit, buffer)| Link {
        rate,
        latency,
        credit,
        buffer,
    })
}

/// Draws any small experiment.
pub fn sketch() -> impl Strategy<Value = Sketch> {
    let shape = (
        0..FABRICS.len(),
        0usize..4,
        [link(), link(), link()],
        prop_oneof![Just(64u32), 1u32..=256],
        (1u32..=6, 0u32..64),
    );
    let sizes = prop_oneof![
        Just(vec![0]),
        Just(vec![1]),
        Just(vec![64]),
        prop::collection::vec(prop_oneof![Just(0u64), Just(1), 1u64..100, 100u64..3_000], 1..4),
    ];
    let traffic =
        (sizes, prop_oneof![0.05f64..0.5, 0.7f64..1.6], any::<bool>(), prop_oneof![Just(0u64), 1u64..12]);
    let rest = (
        0u8..3,
        (prop_oneof![Just(0u64), Just(1), Just(50_000)], prop_oneof![Just(0u64), 1u64..20_000]),
        any::<bool>(),
        prop::option::of(0u64..500_000),
        0u32..3,
        any::<u64>(),
    );
    (shape, traffic, rest).prop_map(|(shape, traffic, rest)| Sketch {
        fabric: shape.0,
        routing: shape.1,
        links: shape.2,
        chunk: shape.3,
        packet: shape.4,
        sizes: traffic.0,
        load: traffic.1,
        in_phase: traffic.2,
        replies: traffic.3,
        more_vcs: rest.0,
        delays: rest.1,
        per_packet: rest.2,
        second_job: rest.3,
        idle: rest.4,
        seed: rest.5,
    })
}

/// Messages of drawn sizes to drawn partners, some of them answered.
pub struct Mixed {
    /// Message sizes in bytes, drawn from.
    pub sizes: Vec<u64>,
    /// Ranks of the job.
    pub ranks: u32,
    /// Mean time between messages.
    pub gap: Ps,
    /// Gaps do not vary.
    pub in_phase: bool,
    /// Share of messages that are answered, in 16ths.
    pub replies: u64,
    /// Messages of each rank, answers not counted.
    pub count: u64,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl Mixed {
    fn size(&self, draw: u64) -> u64 {
        self.sizes[(draw % self.sizes.len() as u64) as usize]
    }
}

impl Traffic for Mixed {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        if index >= self.count {
            return None;
        }
        let mut random = Stream::new(self.seed, Purpose::Test, u64::from(rank)).at(4 * index);
        let other = random.below(u64::from(self.ranks) - 1) as u32;
        let size = self.size(random.next_u64());
        let gap = match (self.in_phase, index) {
            (true, 0) => 0,
            (true, _) => self.gap,
            (false, _) => random.below(2 * self.gap + 1),
        };
        Some(Message {
            time: previous + gap,
            destination: RankId::new(other + u32::from(other >= rank.number())),
            bytes: size,
        })
    }

    /// Depends on the pair alone: an answer is answered with the same chance, so that chains die out.
    fn reply(&self, rank: RankId, source: RankId, index: u64) -> Option<(RankId, u64)> {
        let draw = mix64(self.seed ^ u64::from(rank) << 40 ^ u64::from(source) << 20 ^ index);
        (draw % 16 < self.replies).then(|| (source, self.size(draw >> 8)))
    }

    fn closed_loop(&self) -> bool {
        self.replies > 0
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        None
    }
}

impl Sketch {
    /// The experiment; each rank sends `count` messages, and the run ends by itself.
    pub fn setup(&self, count: u64) -> Setup {
        let (topology, given, dims) = FABRICS[self.fabric];
        let mut params: Vec<(&str, Value)> = given.iter().map(|&(k, v)| (k, int(v))).collect();
        if !dims.is_empty() {
            params.push(("dims", Value::Ints(dims.to_vec())));
        }
        let fabric = samples::topology(topology, &params);
        let bind = |e: &fabric::registry::RoutingEntry| {
            let free = e.about.params.iter().all(|p| p.default.is_some());
            free.then(|| (e.build)(Arc::clone(&fabric), &values(e.about.params, &[])).ok()).flatten()
        };
        let mut routings: Vec<_> = ROUTINGS.iter().filter_map(bind).collect();
        let routing: Arc<dyn fabric::routing::Routing> =
            Arc::from(routings.swap_remove(self.routing % routings.len()));
        let link = |l: &Link| LinkParams {
            bandwidth: Bandwidth::new(l.rate.0, l.rate.1).expect("a positive rate"),
            latency: l.latency + 3,
            credit_delay: l.credit,
            vc_buffer: l.buffer.0 * u64::from(self.chunk) + l.buffer.1.min(u64::from(self.chunk) - 1),
        };
        let links: Vec<LinkParams> = self.links[..fabric.classes().len()].iter().map(link).collect();
        let packet = PacketConfig {
            router: named("window"),
            packet: self.packet.0 * self.chunk + self.packet.1 % self.chunk,
            chunk: self.chunk,
            vcs: routing.vcs() + self.more_vcs,
            router_delay: self.delays.0,
            route_per: if self.per_packet { RoutePer::Packet } else { RoutePer::Chunk },
            adapter_delay: self.delays.1,
            // Hosts vary in a third of the cases.
            adapter_jitter: if self.seed.is_multiple_of(3) { self.delays.1 } else { 0 },
            arbiter: Arbiter::RoundRobin,
            info_delay: 0,
            pipeline: None,
            eager: 65_536,
            control: 16,
            overhead: 0,
        };
        Setup {
            jobs: self.jobs(&fabric, &links, count),
            fabric,
            routing,
            rail: Rail::default(),
            change: None,
            links,
            packet,
            values: Arc::default(),
            seed: self.seed,
            ties: 0,
            until: Until::WorkloadDone { limit: 1 << 45 },
            warmup: 0,
            scheduling: Scheduling::Sequential { partitions: 1 },
            check: true,
            resilience: None,
            control: None,
            adapter: None,
            energy: None,
            node: None,
            services: None,
            hybrid: None,
            measure: Measure {
                window: 1 << 20,
                loads: false,
                per_port: true,
                packets: true,
                messages: true,
                slow_down: false,
                pairs: true,
                operations: false,
                engine: false,
            },
        }
    }

    /// One or two jobs on shuffled terminals.
    fn jobs(&self, fabric: &fabric::graph::Fabric, links: &[LinkParams], count: u64) -> Vec<JobSetup> {
        let mut terminals: Vec<u32> = (0..fabric.terminals()).collect();
        Stream::new(self.seed, Purpose::Placement, 0).shuffle(&mut terminals);
        let used = terminals.len().saturating_sub(self.idle as usize).max(2);
        terminals.truncate(used);
        let second = self.second_job.filter(|_| used >= 4);
        let split = if second.is_some() { used / 2 } else { used };
        let mean = self.sizes.iter().sum::<u64>() / self.sizes.len() as u64;
        let time =
            links[0].bandwidth.time_rounded(mean.max(u64::from(self.chunk).min(16))).expect("a short time");
        let message = if self.sizes.len() == 1 { Some(self.sizes[0]) } else { None };
        let shares = [(&terminals[..split], 0), (&terminals[split..], second.unwrap_or(0))];
        let job = |(n, (placement, start)): (usize, (&[u32], Ps))| JobSetup {
            name: format!("job-{n}"),
            work: Work::Traffic(Arc::new(Mixed {
                sizes: self.sizes.clone(),
                ranks: placement.len() as u32,
                gap: (time as f64 / self.load) as Ps,
                in_phase: self.in_phase,
                replies: self.replies,
                count,
                seed: self.seed + n as u64,
            })),
            placement: placement.iter().copied().map(TerminalId::new).collect(),
            message,
            start,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        };
        shares.into_iter().filter(|(p, _)| !p.is_empty()).enumerate().map(job).collect()
    }
}

/// Runs a setup until `end` with every handler undone and done again, then with rollbacks: neither leaves a trace.
pub fn undone(setup: &Setup, end: Ps) {
    match setup.packet.router.name {
        _ if setup.packet.pipeline.is_some() => undone_with::<Pipelined>(setup, end),
        "combined" => undone_with::<Pipelined>(setup, end),
        "window" => undone_with::<WindowRouter>(setup, end),
        "input-queued" => undone_with::<InputQueued>(setup, end),
        "output-queued" => undone_with::<OutputQueued>(setup, end),
        other => panic!("teach this test about `{other}`"),
    }
}

fn undone_with<R: Router>(setup: &Setup, end: Ps) {
    let net = Arc::new(Network::new(setup, 1));
    let observer = || Observer::new(Arc::clone(&net), 0, end, setup.measure, true);
    let (mut plain, mut again) = (observer(), observer());
    let domain = || inhabited::<R>(&net, 0);
    let (_, events) = engine::undo_check::run_with_undo(domain(), &mut plain, 1, end);
    assert!(events > 1000, "{events} events");
    engine::undo_check::run_with_rollbacks(domain(), &mut again, 1, end, 40, 5);
    assert_eq!(again.sums.fingerprint, plain.sums.fingerprint, "a rollback left a trace");
}

/// Runs until the next pause, from a state if there is one, over so many ranks that are threads of this process; gives what the first rank gave,
/// and the state if it stopped. All ranks have the same summary.
pub fn piece_over_ranks(
    setup: &Setup,
    ranks: u32,
    (every, resume): (Ps, Option<&[u8]>),
) -> (Result<Finished, Failure>, Option<Vec<u8>>) {
    let rank = |world: World| {
        let mut saved = None;
        let mut stop = |_: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
            saved = Some(save());
            false
        };
        let done = watch(setup, Watch { every, resume, world, ..Watch::new(&mut stop) });
        (done, saved)
    };
    let mut worlds = World::of_threads(ranks);
    std::thread::scope(|scope| {
        let rank = &rank;
        let others: Vec<_> = worlds.drain(1..).map(|world| scope.spawn(move || rank(world))).collect();
        let first = rank(worlds.remove(0));
        for other in others {
            let (other, _) = other.join().expect("no rank fails");
            let known = |done: &Result<Finished, Failure>| {
                done.as_ref().map(|f| f.summary.to_json()).map_err(ToString::to_string)
            };
            assert_eq!(known(&other), known(&first.0));
        }
        first
    })
}
