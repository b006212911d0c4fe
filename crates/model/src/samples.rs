//! Ready-made setups for tests, benchmarks and programs that embed the model.

use crate::{
    hybrid::{HybridSetup, direct::DIRECTORS, predict::PREDICTORS},
    packet::{
        PacketConfig,
        config::{Arbiter, RoutePer, RouterKind},
    },
    setup::{JobSetup, LinkParams, Measure, Rail, Scheduling, Setup, Until},
};
use base::{
    param::{Param, Value, Values},
    rate::Bandwidth,
    registry::{Registered, find},
    time::Ps,
};
use fabric::{
    graph::Fabric,
    registry::{ROUTINGS, TOPOLOGIES},
    routing::Routing,
};
use std::sync::Arc;
use workload::registry::{ARRIVALS, ArrivalChoice, JobContext, Takes, WORKLOADS, Work};

/// A value for a strategy's parameters.
#[must_use]
pub fn int(value: u64) -> Value {
    Value::Int(value)
}

/// Declared defaults, overridden by `given`.
///
/// # Panics
/// If a name is not registered, or a mandatory key is not given.
fn values(entry: &impl Registered, given: &[(&str, Value)]) -> Values {
    complete(entry.about().params.iter(), given)
}

fn complete<'a>(params: impl Iterator<Item = &'a Param>, given: &[(&str, Value)]) -> Values {
    Values::complete(params, |name| given.iter().find(|(key, _)| *key == name).map(|(_, v)| v.clone()))
}

/// A registered topology built from parameters.
///
/// # Panics
/// If it is refused.
#[must_use]
pub fn topology(name: &str, given: &[(&str, Value)]) -> Arc<Fabric> {
    let entry = find(TOPOLOGIES, name).expect("a registered topology");
    Arc::new((entry.build)(&values(entry, given)).unwrap_or_else(|p| panic!("{p:?}")))
}

/// A registered routing bound to a fabric.
///
/// # Panics
/// If it is refused.
#[must_use]
pub fn routing(fabric: &Arc<Fabric>, name: &str, given: &[(&str, Value)]) -> Arc<dyn Routing> {
    let entry = find(ROUTINGS, name).expect("a registered routing");
    Arc::from((entry.build)(Arc::clone(fabric), &values(entry, given)).unwrap_or_else(|p| panic!("{p:?}")))
}

/// A registered workload over `ranks` ranks.
///
/// # Panics
/// If it is refused.
#[must_use]
pub fn traffic(
    name: &str,
    given: &[(&str, Value)],
    (arrival, load): (&str, f64),
    (ranks, message, bandwidth): (u32, u64, Bandwidth),
    seed: u64,
) -> Work {
    let entry = find(WORKLOADS, name).expect("a registered workload");
    let arrivals = find(ARRIVALS, arrival).expect("a registered arrival");
    let choice = ArrivalChoice { entry: arrivals, values: values(arrivals, &[]), load, bandwidth };
    let arrival = (entry.takes == Takes::Arrivals).then_some(choice);
    let context =
        JobContext { ranks, asked: true, seed, job: 0, message, arrival, lowering: Default::default() };
    (entry.build)(&context, &values(entry, given)).unwrap_or_else(|p| panic!("{p:?}"))
}

/// A link class.
///
/// # Panics
/// If the rate is zero.
#[must_use]
pub fn link(bytes_per_s: u64, latency: Ps, credit_delay: Ps, vc_buffer: u64) -> LinkParams {
    let bandwidth = Bandwidth::new(bytes_per_s, 1).expect("a positive rate");
    LinkParams { bandwidth, latency, credit_delay, vc_buffer }
}

/// One job on all terminals, CODES' router parameters, 100 us.
#[must_use]
pub fn setup(
    fabric: Arc<Fabric>,
    routing: Arc<dyn Routing>,
    links: Vec<LinkParams>,
    work: Work,
    message: u64,
) -> Setup {
    let placement = (0..fabric.nodes()).collect();
    let job = JobSetup {
        name: "job-0".into(),
        work,
        placement,
        message: Some(message),
        start: 0,
        compute_ppb: JobSetup::COMPUTE_AS_IS,
        statics: crate::setup::Statics::default(),
    };
    let packet = PacketConfig {
        router: RouterKind::Window,
        packet: 1024,
        chunk: 64,
        vcs: routing.vcs(),
        router_delay: 100_000,
        route_per: RoutePer::Chunk,
        adapter_delay: 0,
        arbiter: Arbiter::RoundRobin,
        info_delay: 0,
        eager: 65_536,
        control: 16,
        overhead: 0,
    };
    Setup {
        fabric,
        routing,
        rail: Rail::default(),
        change: None,
        links,
        jobs: vec![job],
        packet,
        seed: 1,
        ties: 0,
        until: Until::Time(100_000_000),
        warmup: 0,
        scheduling: Scheduling::Sequential { partitions: 1 },
        check: false,
        measure: Measure::default(),
        resilience: None,
        energy: None,
        hybrid: None,
    }
}

/// The dragonflies of Table 2 of the hybrid-simulation paper with CODES' defaults: 72, 1,056 or 8,448 nodes; uniform traffic.
///
/// # Panics
/// For another number of nodes.
#[must_use]
pub fn dragonfly(nodes: u32, algorithm: &str, (arrival, load): (&str, f64)) -> Setup {
    let (groups, routers, terminals, global, local, wide) = match nodes {
        72 => (9, 4, 2, 2, 2 << 30, 2 << 30),
        1056 => (33, 8, 4, 4, 5_637_144_576, 5_046_586_573),
        8448 => (33, 32, 8, 4, 5_637_144_576, 5_046_586_573),
        other => panic!("no dragonfly of {other} nodes is published"),
    };
    let fabric = topology(
        "dragonfly",
        &[
            ("groups", int(groups)),
            ("routers_per_group", int(routers)),
            ("terminals_per_router", int(terminals)),
            ("global_ports_per_router", int(global)),
        ],
    );
    let routing = routing(&fabric, algorithm, &[]);
    // CODES: latency = time of a chunk, credit delay = time of 8 bytes on a local link.
    let chunk = |rate: u64| 64_000_000_000_000 / rate;
    let credit = 8_000_000_000_000 / local;
    let links = vec![
        link(local, chunk(local), credit, 32 << 10),
        link(local, chunk(local), credit, 16 << 10),
        link(wide, chunk(wide), credit, 16 << 10),
    ];
    let bandwidth = links[0].bandwidth;
    let traffic = traffic("uniform", &[], (arrival, load), (nodes, 1024, bandwidth), 1);
    let mut setup = setup(fabric, routing, links, traffic, 1024);
    setup.packet.vcs = 4;
    setup
}

/// The 8 x 8 grids of BookSim 2's public curves: a `mesh` (8 VCs) or `torus` (4 VCs) of clocked routers, buffers of 8 chunks per
/// VC, dimension-order routing, uniform traffic of one-chunk packets, Bernoulli arrival.
///
/// A cycle is 1 ns, the time of a chunk. BookSim's router takes a head flit that arrives at cycle t through VC allocation (t),
/// switch allocation (t + 1) and the switch (t + 2), and its link takes it one cycle further: here the cycle between the two
/// allocations is the router's own, switch allocation and switch are `router_delay`, and the link's cycle is serialisation, so
/// that the mesh's wires have no latency and the torus', twice as long, one cycle. A credit leaves with the flit, crosses the
/// link, is latched and processed for two cycles: it can be used four cycles after, five on the torus.
#[must_use]
pub fn booksim_grid(topology: &str, load: f64) -> Setup {
    let torus = topology == "torus";
    let fabric = self::topology(topology, &[("dims", Value::Ints(vec![8, 8]))]);
    let routing = routing(&fabric, "dimension-order", &[]);
    let wire = if torus { 1_000 } else { 0 };
    let links = vec![link(64_000_000_000, 0, 4_000, 512), link(64_000_000_000, wire, 4_000 + wire, 512)];
    let traffic = traffic("uniform", &[], ("bernoulli", load), (64, 64, links[0].bandwidth), 1);
    let mut setup = setup(fabric, routing, links, traffic, 64);
    setup.packet.router = RouterKind::InputQueued;
    setup.packet.route_per = RoutePer::Packet;
    setup.packet.packet = 64;
    setup.packet.vcs = if torus { 4 } else { 8 };
    setup.packet.router_delay = 2_000;
    setup
}

/// Makes a run hybrid: a registered predictor and director with these parameters, those of `[hybrid]` among them.
///
/// # Panics
/// If the predictor is refused.
#[must_use]
pub fn hybrid(mut setup: Setup, predictor: &str, director: &str, given: &[(&str, Value)]) -> Setup {
    let predictor = find(PREDICTORS, predictor).expect("a registered predictor");
    let director = find(DIRECTORS, director).expect("a registered director");
    let abouts = [&crate::hybrid::ABOUT, predictor.about(), director.about()];
    let values = complete(abouts.iter().flat_map(|a| a.params), given);
    let recipe = (predictor.build)(&values).unwrap_or_else(|p| panic!("{p:?}"));
    setup.hybrid = Some(HybridSetup::from_values(recipe, director, &values));
    setup
}
