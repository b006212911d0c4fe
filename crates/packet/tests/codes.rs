//! Against CODES' dragonfly-dally, 72 nodes, uniform traffic at constant intervals, 1 ms: numbers measured with CODES.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::index::ChannelId;
use base::param::Value;
use fabric::routing::{Choice, Congestion, Facts, Hop, Routing};
use model::setup::Until;
use packet::{Setup, samples, simulate};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

const MS: u64 = 1_000_000_000;

fn setup(algorithm: &str, load: f64) -> Setup {
    let mut setup = samples::dragonfly(72, algorithm, "constant", load);
    let draw = [("draw", Value::Text("codes".to_owned()))];
    let job = (72, 1024, setup.links[0].bandwidth);
    setup.jobs[0].work = samples::traffic("uniform", &draw, "constant", load, job, 1);
    setup.until = Until::Time(MS);
    setup
}

/// Mean packet latency of minimal routing. Seeds move the mean by one per cent at 80 % load.
#[test]
fn mean_latency_of_minimal_routing() {
    for (load, codes) in [(0.1, 1556.8), (0.4, 1672.3), (0.6, 2125.0), (0.8, 3397.6)] {
        let summary = simulate(&setup("minimal", load), &mut |_| true).unwrap().summary;
        let mean = summary.latency_ps.unwrap().mean / 1e3;
        assert!((mean / codes - 1.0).abs() < 0.03, "load {load}: {mean} ns, CODES {codes} ns");
    }
}

/// Counts chunks at their first router and those that enter a group that is neither their source's nor their destination's.
struct Count {
    inner: Arc<dyn Routing>,
    all: AtomicU64,
    around: AtomicU64,
}

impl Routing for Count {
    fn vcs(&self) -> u8 {
        self.inner.vcs()
    }

    fn route(&self, hop: &mut Hop, congestion: &mut dyn Congestion) -> Choice {
        let (first, from) = (hop.visited == 0, hop.vc);
        let choice = self.inner.route(hop, congestion);
        self.all.fetch_add(u64::from(first), Relaxed);
        // VC 2 belongs to intermediate groups; 0 and 1 to the source group.
        self.around.fetch_add(u64::from(choice.vc == ChannelId::new(2) && from < ChannelId::new(2)), Relaxed);
        choice
    }

    fn options(&self, hop: &Hop, out: &mut Vec<Choice>) {
        self.inner.options(hop, out);
    }

    fn facts(&self) -> Facts {
        Facts { oblivious: self.inner.facts().oblivious, ..Facts::ADAPTIVE }
    }
}

/// Share of chunks that go around: CODES finds 39 % at 10 % load and 13 % at full load.
///
/// At full load the queues fill and the share falls with the length of the run (17 % in 0.1 ms, 11 % in 1 ms); how long
/// CODES was run is not recorded. Half a millisecond is in the middle.
#[test]
fn share_of_detours_of_adaptive_routing() {
    for (load, end, codes) in [(0.1, MS, 0.39), (1.0, MS / 2, 0.13)] {
        let mut setup = setup("progressive-adaptive", load);
        setup.until = Until::Time(end);
        let counted = Arc::new(Count {
            inner: Arc::clone(&setup.routing),
            all: AtomicU64::new(0),
            around: AtomicU64::new(0),
        });
        setup.routing = Arc::clone(&counted) as Arc<dyn Routing>;
        simulate(&setup, &mut |_| true).unwrap();
        let share = counted.around.load(Relaxed) as f64 / counted.all.load(Relaxed) as f64;
        assert!((share - codes).abs() < 0.015, "load {load}: {share}, CODES {codes}");
    }
}

/// All-to-all in bursts: CODES' first draw of the host's latency shuffles each burst, which `order = "random"` does here; the rest of it is `adapter_jitter`. At 20 % load the network is empty
/// before the next burst. At full load it never is: the mean grows with the run (8.8 us after 1 ms, 9.7 us after 3 ms) and how long CODES was run is not recorded; half a millisecond is taken, as above.
#[test]
fn mean_latency_of_all_to_all() {
    for (load, end, codes) in [(0.2, MS, 4_679.0), (1.0, MS / 2, 8_042.0)] {
        let mut setup = samples::dragonfly(72, "minimal", "constant", load);
        let order = [("order", Value::Text("random".to_owned()))];
        let job = (72, 1024, setup.links[0].bandwidth);
        setup.jobs[0].work = samples::traffic("all-to-all", &order, "constant", load, job, 1);
        (setup.packet.adapter_delay, setup.packet.adapter_jitter) = (11_010, 500);
        setup.until = Until::Time(end);
        let summary = simulate(&setup, &mut |_| true).unwrap().summary;
        let mean = summary.latency_ps.unwrap().mean / 1e3;
        assert!((mean / codes - 1.0).abs() < 0.03, "load {load}: {mean} ns, CODES {codes} ns");
        let (message, packet) = (summary.message_latency_ps.unwrap(), summary.latency_ps.unwrap());
        // A message's latency has the adapter's before the wait for its turn.
        assert!(message.min >= packet.min + 11_010, "{} {}", message.min, packet.min);
    }
}
