//! Ready-made setups for tests, benchmarks and programs that embed the model.

pub mod pipelined;

use crate::{
    PacketConfig,
    config::{Arbiter, RoutePer},
    congestion_control::{self, CongestionControl, registry::SCHEMES, scheme::Context},
    hybrid::{HybridSetup, directors::DIRECTORS, predict::PREDICTORS},
    router::registry,
    setup::Setup,
};
use base::{
    index::TerminalId,
    param::Value,
    registry::{Registered, find},
};
use fabric::{graph::Fabric, routing::Routing};
pub use model::samples::{complete, int, link, open_loop, routing, topology, traffic, try_traffic};
use model::setup::{JobSetup, LinkParams, Measure, Rail, Scheduling, Until};
use std::sync::Arc;
use workload::registry::Work;

/// One job on all terminals, CODES' router parameters, 100 us.
#[must_use]
pub fn setup(
    fabric: Arc<Fabric>,
    routing: Arc<dyn Routing>,
    links: Vec<LinkParams>,
    work: Work,
    message: u64,
) -> Setup {
    let placement = TerminalId::first(fabric.nodes()).collect();
    let job = JobSetup {
        name: "job-0".into(),
        work,
        placement,
        message: Some(message),
        start: 0,
        compute_ppb: JobSetup::COMPUTE_AS_IS,
    };
    let packet = PacketConfig {
        router: registry::named("window"),
        packet: 1024,
        chunk: 64,
        vcs: routing.vcs(),
        router_delay: 100_000,
        route_per: RoutePer::Chunk,
        adapter_delay: 0,
        adapter_jitter: 0,
        arbiter: Arbiter::RoundRobin,
        info_delay: 0,
        pipeline: None,
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
        values: Arc::default(),
        seed: 1,
        ties: 0,
        until: Until::Time(100_000_000),
        warmup: 0,
        scheduling: Scheduling::Sequential { partitions: 1 },
        check: false,
        measure: Measure::default(),
        resilience: None,
        control: None,
        adapter: None,
        energy: None,
        node: None,
        services: None,
        hybrid: None,
    }
}

/// The dragonflies of Table 2 of the hybrid-simulation paper with CODES' defaults: 72, 1,056 or 8,448 nodes; uniform traffic.
///
/// # Panics
/// For another number of nodes.
#[must_use]
pub fn dragonfly(nodes: u32, algorithm: &str, arrival: &str, load: f64) -> Setup {
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
    let traffic = traffic("uniform", &[], arrival, load, (nodes, 1024, bandwidth), 1);
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
    let fabric = model::samples::topology(topology, &[("dims", Value::Ints(vec![8, 8]))]);
    let routing = routing(&fabric, "dimension-order", &[]);
    let wire = if torus { 1_000 } else { 0 };
    let links = vec![link(64_000_000_000, 0, 4_000, 512), link(64_000_000_000, wire, 4_000 + wire, 512)];
    let traffic = traffic("uniform", &[], "bernoulli", load, (64, 64, links[0].bandwidth), 1);
    let mut setup = setup(fabric, routing, links, traffic, 64);
    setup.packet.router = registry::named("input-queued");
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

/// Makes a run one with congestion control: a registered scheme with these parameters, those of `[congestion_control]` among them.
///
/// # Panics
/// If the scheme is refused.
#[must_use]
pub fn controlled(mut setup: Setup, scheme: &str, given: &[(&str, Value)]) -> Setup {
    let entry = find(SCHEMES, scheme).expect("a registered scheme");
    let abouts = [&congestion_control::config::ABOUT, entry.about()];
    let values = complete(abouts.iter().flat_map(|a| a.params), given);
    let rate = setup.links[0].bandwidth.bytes_per_s().round() as u64;
    let control = CongestionControl::from_values(entry, &values, Context { rate });
    setup.control = Some(control.unwrap_or_else(|p| panic!("{p:?}")));
    setup
}
