//! Memory of a run: no allocation per event once warm, and none per packet that waits beyond saturation.

use allocation_counter::{AllocationInfo, measure};
use fabric::routing::{Choice, Congestion, Facts, Hop, Routing};
use model::setup::Until;
use packet::{
    Setup, memory::predict, network::Network, observe::Observer, router::registry::ROUTERS, samples, simulate,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

const US: u64 = 1_000_000;

/// Events and allocations of a run of `us` microseconds.
fn run(setup: &Setup, us: u64) -> (u64, AllocationInfo) {
    let mut setup = setup.clone();
    setup.until = Until::Time(us * US);
    let mut events = 0;
    let allocations = measure(|| {
        let finished = simulate(&setup, &mut |_| true).expect("a valid setup");
        events = finished.summary.performance.expect("every run is measured").events;
    });
    (events, allocations)
}

/// A run twice as long handles far more events and allocates hardly more: tables, slabs and histograms have grown.
#[test]
fn no_allocation_per_event_once_warm() {
    for algorithm in ["minimal", "progressive-adaptive"] {
        let setup = samples::dragonfly(72, algorithm, "constant", 0.5);
        let (few, short) = run(&setup, 200);
        let (many, long) = run(&setup, 400);
        let (events, allocations) = (many - few, long.count_total.saturating_sub(short.count_total));
        assert!(events > 100_000, "{algorithm}: {events} more events");
        assert!(allocations < events / 1000, "{algorithm}: {allocations} allocations for {events} events");
    }
}

/// At twice what a global link can carry, backlog grows with time and memory does not.
#[test]
fn memory_is_bounded_beyond_saturation() {
    let mut setup = samples::dragonfly(72, "minimal", "constant", 1.0);
    let bandwidth = setup.links[0].bandwidth;
    setup.jobs[0].work = samples::traffic("bisection", &[], "constant", 1.0, (72, 1024, bandwidth), 1);
    let (_, short) = run(&setup, 400);
    let (_, long) = run(&setup, 1600);
    assert!(long.bytes_max < short.bytes_max * 11 / 10, "{} bytes, then {}", short.bytes_max, long.bytes_max);
}

/// What a saturated run allocates is below what was predicted, with every router: where queues have no bound, longer runs are
/// predicted to need more.
#[test]
fn memory_is_at_most_what_was_predicted() {
    for router in ROUTERS {
        let mut setup = samples::dragonfly(72, "minimal", "constant", 1.0);
        let bandwidth = setup.links[0].bandwidth;
        setup.jobs[0].work = samples::traffic("bisection", &[], "constant", 1.0, (72, 1024, bandwidth), 1);
        setup.packet.router = router.architecture();
        setup.until = Until::Time(1600 * US);
        let predicted = predict(&setup).bytes;
        let (_, used) = run(&setup, 1600);
        assert!(
            used.bytes_max <= predicted,
            "{}: {} bytes, {predicted} predicted",
            router.about.name,
            used.bytes_max
        );
    }
}

/// What a partition's observer takes before anything happened hangs on the kind of run, not on the size of the network: a partition of a
/// large network pays for what it meets.
#[test]
fn observers_follow_what_they_meet() {
    let bytes = |nodes: u32, partitions: u32| {
        let setup = samples::dragonfly(nodes, "minimal", "constant", 1.0);
        let net = Arc::new(Network::new(&setup, partitions));
        let new = || Observer::new(Arc::clone(&net), 0, 100 * US, setup.measure, false);
        measure(|| drop(new())).bytes_total
    };
    let small = bytes(72, 1);
    assert_eq!((bytes(1056, 1), bytes(1056, 8)), (small, small));
    assert!(small < 1 << 16, "{small} bytes");
}

/// A routing is asked at most once per chunk-hop: the one virtual call that the hot path makes.
#[test]
fn a_routing_is_asked_at_most_once_per_chunk_hop() {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
    setup.until = Until::Time(50 * US);
    let asked = Arc::new(AtomicU64::new(0));
    setup.routing = Arc::new(Counted(setup.routing.clone(), asked.clone()));
    let summary = simulate(&setup, &mut |_| true).expect("a valid setup").summary;
    let hops = summary.performance.and_then(|p| p.chunk_hops).expect("counted");
    let asked = asked.load(Ordering::Relaxed);
    // Chunks that were routed and still wait for a buffer at the end are no hops yet.
    assert!(asked > hops / 2 && asked <= hops + hops / 10, "asked {asked} times for {hops} chunk-hops");
}

/// A routing that counts how often it is asked.
struct Counted(Arc<dyn Routing>, Arc<AtomicU64>);

impl Routing for Counted {
    fn vcs(&self) -> u8 {
        self.0.vcs()
    }
    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.route(hop, congestion)
    }
    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        self.0.options(hop, out);
    }

    fn facts(&self) -> Facts {
        Facts { oblivious: self.0.facts().oblivious, ..Facts::ADAPTIVE }
    }
}
