//! Experiments that others published of clocked routers: BookSim 2's latency curves, and switches of 32 ports.

use crate::{
    Setup,
    pipeline::{Pipeline, Ratio, Speculation},
    router::{allocator, registry},
    samples, simulate,
};
use base::{
    hash::mix64,
    index::{ChannelId, LinkId, RankId},
    param::Value,
    time::Ps,
};
use fabric::{
    graph::Fabric,
    routing::{Choice, Congestion, Facts, Hop, Routing},
};
use model::{samples::int, setup::Until};
use results::summary::State;
use std::sync::Arc;
use workload::{registry::Work, traffic::Message};

const NS: Ps = 1_000;

/// A point of a curve: load in flits per node and cycle, mean latency of packets in cycles.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// As BookSim means it, its source's packets to itself among them.
    pub load: f64,
    /// As BookSim reports it.
    pub latency: f64,
}

const fn point(load: f64, latency: f64) -> Point {
    Point { load, latency }
}

/// A curve of BookSim 2 for packets of one flit and uniform traffic: its revision of 2017-06-27, routing delay 0, VC and switch allocation 1 cycle each, credit delay 2.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    /// What it is called here.
    pub name: &'static str,
    /// Nodes, and cycles of a packet to oneself.
    nodes: (u32, f64),
    /// Latency of a dragonfly's local and global links, of others' links (in cycles).
    links: (Ps, Ps),
    /// VCs, and flits of each.
    vcs: (u8, u64),
    rules: Pipeline,
    /// Load at which BookSim saturates.
    pub saturation: f64,
    /// What BookSim found.
    pub points: &'static [Point],
}

/// Place of an allocator in the list.
const fn place(name: &str) -> usize {
    let mut n = 0;
    while n < allocator::NAMES.len() {
        let (a, b) = (allocator::NAMES[n].as_bytes(), name.as_bytes());
        let mut k = 0;
        while a.len() == b.len() && k < a.len() && a[k] == b[k] {
            k += 1;
        }
        if a.len() == b.len() && k == a.len() {
            return n;
        }
        n += 1;
    }
    panic!("no such allocator")
}

const INPUT_FIRST: Pipeline = Pipeline {
    vc_allocator: Some(place("separable-input-first")),
    switch_allocator: place("separable-input-first"),
    ..Pipeline::DEFAULT
};

/// The curves that follow from parameters alone.
pub const CURVES: &[Curve] = &[
    Curve {
        name: "mesh",
        nodes: (64, 6.0),
        links: (1, 1),
        vcs: (8, 8),
        rules: Pipeline::DEFAULT,
        saturation: 0.43,
        points: &[
            point(0.05, 26.99),
            point(0.2, 27.81),
            point(0.3, 29.21),
            point(0.35, 31.29),
            point(0.38, 34.05),
            point(0.4, 38.45),
            point(0.41, 43.92),
        ],
    },
    Curve {
        name: "mesh-speculative",
        nodes: (64, 5.0),
        links: (1, 1),
        vcs: (8, 8),
        rules: Pipeline { speculation: Speculation::Equal, ..Pipeline::DEFAULT },
        saturation: 0.43,
        points: &[
            point(0.05, 20.82),
            point(0.2, 21.72),
            point(0.3, 23.27),
            point(0.35, 25.36),
            point(0.38, 28.85),
            point(0.4, 34.42),
        ],
    },
    Curve {
        name: "dragonfly",
        nodes: (72, 5.0),
        links: (10, 100),
        vcs: (2, 256),
        rules: Pipeline { speedup: Ratio(2 * Ratio::PARTS), ejection_any: false, ..INPUT_FIRST },
        saturation: 0.84,
        points: &[
            point(0.05, 112.55),
            point(0.2, 112.90),
            point(0.4, 113.64),
            point(0.6, 115.40),
            point(0.7, 117.46),
            point(0.8, 125.53),
            point(0.84, 152.53),
        ],
    },
    Curve {
        name: "fat-tree",
        nodes: (64, 6.0),
        links: (1, 1),
        vcs: (4, 16),
        rules: Pipeline { hold_switch: true, ..INPUT_FIRST },
        saturation: 0.73,
        points: &[
            point(0.05, 19.54),
            point(0.2, 19.99),
            point(0.4, 21.38),
            point(0.6, 27.51),
            point(0.7, 58.93),
        ],
    },
];

/// What was found at a point.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Mean latency in cycles as BookSim counts it.
    pub latency: f64,
    /// Accepted load, packets to oneself included.
    pub accepted: f64,
    /// Verdict of the run.
    pub state: State,
}

/// The network of a curve at a load, without the packets that sources send to themselves.
///
/// # Panics
/// For a curve that is not listed.
#[must_use]
pub fn setup(curve: &Curve, load: f64) -> Setup {
    let dims = |n| vec![("dims", Value::Ints(vec![n, n]))];
    let (fabric, routing) = match curve.name {
        "mesh" | "mesh-speculative" => {
            let fabric = samples::topology("mesh", &dims(8));
            let routing = samples::routing(&fabric, "dimension-order", &[]);
            (fabric, routing)
        }
        "dragonfly" => {
            let given = [
                ("groups", int(9)),
                ("routers_per_group", int(4)),
                ("terminals_per_router", int(2)),
                ("global_ports_per_router", int(2)),
            ];
            let fabric = samples::topology("dragonfly", &given);
            let inner = samples::routing(&fabric, "minimal", &[]);
            let routing: Arc<dyn Routing> = Arc::new(Dateline { inner, fabric: Arc::clone(&fabric) });
            (fabric, routing)
        }
        "fat-tree" => {
            let fabric = samples::topology("fat-tree", &[("k", int(4)), ("levels", int(3))]);
            let routing = samples::routing(&fabric, "nearest-common-ancestor", &[]);
            (fabric, routing)
        }
        other => panic!("no curve `{other}`"),
    };
    // A chunk takes a cycle on its link, which is one of the link's latency.
    let link =
        |cycles: Ps| samples::link(64_000_000_000, (cycles - 1) * NS, (cycles + 3) * NS, 64 * curve.vcs.1);
    let links: Vec<_> =
        [1, curve.links.0, curve.links.1].into_iter().take(fabric.classes().len()).map(link).collect();
    let ranks = curve.nodes.0;
    let others = load * f64::from(ranks - 1) / f64::from(ranks);
    let traffic = samples::traffic("uniform", &[], "bernoulli", others, (ranks, 64, links[0].bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, 64);
    setup.packet.router = registry::clocked(registry::named("input-queued"));
    setup.packet.packet = 64;
    setup.packet.vcs = curve.vcs.0;
    // The switch, and the cycle in which a channel latches.
    setup.packet.router_delay = 2 * NS;
    setup.packet.adapter_delay = NS;
    setup.packet.pipeline = Some(curve.rules);
    setup
}

/// Simulates a point for so many cycles after a warm-up.
///
/// # Panics
/// If the setup is refused.
#[must_use]
pub fn measure(curve: &Curve, load: f64, cycles: u64) -> Found {
    let mut setup = setup(curve, load);
    setup.warmup = 4_000 * NS;
    setup.until = Until::Time(setup.warmup + cycles * NS);
    let summary = simulate(&setup, &mut |_| true).expect("a valid setup").summary;
    let (nodes, to_itself) = (f64::from(curve.nodes.0), curve.nodes.1);
    let mean = summary.message_latency_ps.expect("messages arrive").mean / 1e3;
    let accepted = summary.throughput.expect("traffic is measured").accepted_fraction;
    Found {
        latency: ((nodes - 1.0) * mean + to_itself) / nodes,
        accepted: accepted * nodes / (nodes - 1.0),
        state: summary.verdict.state,
    }
}

/// BookSim's minimal routing of dragonflies: the registered one's paths with two virtual channels, the second from the global link on.
struct Dateline {
    inner: Arc<dyn Routing>,
    fabric: Arc<Fabric>,
}

impl Dateline {
    fn channel(&self, hop: &Hop, choice: Choice) -> Choice {
        let link: LinkId = self.fabric.port_index(hop.router, choice.port);
        let port = self.fabric.port(link);
        let group = |terminal| self.fabric.router_at(terminal).number() / 4;
        let (from, to) = (group(hop.source), group(hop.destination));
        let local = from == to || (hop.router.number() / 4 == from && port.class < 2);
        Choice { vc: ChannelId::new(u8::from(!local)), ..choice }
    }
}

impl Routing for Dateline {
    fn vcs(&self) -> u8 {
        2
    }
    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        // The registered one goes by routers visited: the number of local links crossed in the source's group.
        let vc = std::mem::replace(&mut hop.vc, ChannelId::new(hop.visited.min(1) as u8));
        let choice = self.inner.route(hop, congestion);
        hop.vc = vc;
        self.channel(hop, choice)
    }
    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        let mut inner = Vec::new();
        self.inner.options(hop, &mut inner);
        out.extend(inner.into_iter().map(|choice| self.channel(hop, choice)));
    }
    fn facts(&self) -> Facts {
        self.inner.facts()
    }
}

/// Every rank sends a chunk in every cycle, to anybody with the same chance, itself included.
fn everywhere(ranks: u32, seed: u64) -> Work {
    samples::open_loop(move |rank, index, _| {
        let lot = mix64(mix64(seed ^ index).wrapping_add(u64::from(rank)));
        let destination = RankId::new(((u128::from(lot) * u128::from(ranks)) >> 64) as u32);
        Some(Message { time: index * NS, destination, bytes: 64 })
    })
}

/// A switch of 32 ports that is saturated by uniform traffic of cells of one chunk.
#[must_use]
pub fn switch(router: &str, rules: Pipeline) -> Setup {
    let fabric = samples::topology("single-switch", &[("terminals", int(32))]);
    let routing = samples::routing(&fabric, "minimal", &[]);
    let links = vec![samples::link(64_000_000_000, 0, 4 * NS, 64 << 16)];
    let traffic = everywhere(32, 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, 64);
    setup.packet.router = registry::clocked(registry::named(router));
    setup.packet.packet = 64;
    setup.packet.vcs = 1;
    setup.packet.router_delay = 2 * NS;
    setup.packet.pipeline = Some(rules);
    setup
}

/// Accepted load of saturated 32-port switches: one queue per input, virtual output queues with iSLIP, combined queueing, queues at outputs alone.
#[must_use]
pub fn switches() -> Vec<(&'static str, &'static str, Pipeline)> {
    let cells = Pipeline { vc_allocator: None, ..Pipeline::DEFAULT };
    let voq = Pipeline { virtual_output_queues: true, ..cells };
    let deep = Some(4096);
    vec![
        ("one queue per input", "input-queued", cells),
        ("virtual output queues, iSLIP", "input-queued", voq),
        ("virtual output queues, iSLIP with 2 iterations", "input-queued", Pipeline { iterations: 2, ..voq }),
        (
            "virtual output queues, wavefront",
            "input-queued",
            Pipeline { switch_allocator: place("wavefront"), ..voq },
        ),
        ("virtual output queues, PIM", "input-queued", Pipeline { switch_allocator: place("pim"), ..voq }),
        (
            "one queue per input, speed-up 2",
            "combined",
            Pipeline { output_queue: deep, speedup: Ratio(200), ..cells },
        ),
        (
            "queues at outputs",
            "output-queued",
            Pipeline { output_queue: deep, unlimited_switch: true, ..cells },
        ),
    ]
}

/// Their accepted load after so many cycles.
///
/// # Panics
/// If a setup is refused.
#[must_use]
pub fn switch_32(cycles: u64) -> Vec<(&'static str, f64)> {
    let accepted = |(name, router, rules)| {
        let mut setup = switch(router, rules);
        // Queues of a saturated switch fill slowly, and until they have, some outputs find nothing to send.
        setup.warmup = 4 * cycles * NS;
        setup.until = Until::Time(setup.warmup + cycles * NS);
        let summary = simulate(&setup, &mut |_| true).expect("a valid setup").summary;
        (name, summary.throughput.expect("traffic is measured").accepted_fraction)
    };
    switches().into_iter().map(accepted).collect()
}
