//! What changes at constant volume is noticed, and what is of another size takes another time.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::hybrid::dragonfly;
use base::{index::RankId, param::Value, time::Ps};
use model::{
    samples::int,
    setup::{JobSetup, Scheduling, Until},
};
use packet::{
    Setup,
    hybrid::directors::{DirectorEntry, automatic},
    samples, simulate,
};
use results::summary::Summary;
use std::{ops::Range, sync::Arc};
use workload::{
    registry::Work,
    traffic::{Message, Traffic},
};

const US: Ps = 1_000_000;

/// When traffic changes.
const CHANGE: Ps = 200 * US;

/// A director that counts packets and looks at nothing else.
static VOLUME_ONLY: DirectorEntry = DirectorEntry { sketches: false, ..automatic::ENTRY };

/// Whom ranks send to.
#[derive(Clone, Copy)]
enum Partner {
    /// All as far from them.
    Far(u32),
    /// The same, and each time one further.
    Further,
    /// All to one, and each time to the next one.
    One,
}

/// While it sends, every rank sends a packet each microsecond.
struct Steady {
    partner: Partner,
    ranks: u32,
    bytes: u64,
    span: Range<Ps>,
}

/// One after the other.
struct InTurn([Steady; 2]);

impl Traffic for InTurn {
    fn message(&self, rank: RankId, _: u64, previous: Ps) -> Option<Message> {
        let next = |steady: &Steady| {
            let time = previous.max(steady.span.start) + US;
            let round = (time / US) as u32;
            let to = match steady.partner {
                Partner::Far(by) => rank.number() + by,
                Partner::Further => rank.number() + 1 + round % (steady.ranks - 1),
                Partner::One if round % steady.ranks == rank.number() => round + 1,
                Partner::One => round,
            };
            let destination = RankId::new(to % steady.ranks);
            steady.span.contains(&time).then_some(Message { time, destination, bytes: steady.bytes })
        };
        self.0.iter().find_map(next)
    }
    fn reply(&self, _: RankId, _: RankId, _: u64) -> Option<(RankId, u64)> {
        None
    }
    fn closed_loop(&self) -> bool {
        false
    }
    fn largest(&self) -> Option<u64> {
        self.0.iter().map(|s| s.bytes).max()
    }
    fn offered_bytes_per_s(&self) -> Option<f64> {
        None
    }
}

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).unwrap_or_else(|e| panic!("{e}")).summary.without_performance()
}

fn automatic(setup: Setup, predictor: &str, window: Ps) -> Setup {
    let given = [("window", Value::Time(window)), ("min_stay", Value::Time(10 * US))];
    samples::hybrid(setup, predictor, "automatic", &given)
}

/// When a run of these jobs, each of as many of the 40 nodes, first returns to the network.
fn first_return(jobs: Vec<[Steady; 2]>, director: Option<&'static DirectorEntry>) -> Ps {
    let mut setup = dragonfly(0.5, 256);
    let mut nodes = std::mem::take(&mut setup.jobs[0].placement);
    let (job, count) = (setup.jobs.remove(0), jobs.len());
    for (n, steady) in jobs.into_iter().enumerate() {
        let rest = nodes.split_off(40 / count);
        let placement = std::mem::replace(&mut nodes, rest);
        let work = Work::Traffic(Arc::new(InTurn(steady)));
        setup.jobs.push(JobSetup { name: n.to_string(), work, message: None, placement, ..job.clone() });
    }
    setup.until = Until::Time(2 * CHANGE);
    let mut setup = automatic(setup, "mean", 80 * US);
    if let (Some(hybrid), Some(director)) = (&mut setup.hybrid, director) {
        hybrid.director = director;
    }
    let one = run(&setup);
    let cut = run(&Setup { scheduling: Scheduling::Sequential { partitions: 7 }, ..setup });
    assert_eq!(one.to_json(), cut.to_json(), "one answer");
    let phases = one.hybrid.unwrap().phases;
    phases.iter().find(|p| p.mode == "surrogate").unwrap_or_else(|| panic!("{phases:?}")).end_ps
}

fn before(partner: u32, ranks: u32, bytes: u64) -> Steady {
    Steady { partner: Partner::Far(partner), ranks, bytes, span: 0..CHANGE }
}

fn after(partner: u32, ranks: u32, bytes: u64) -> Steady {
    Steady { partner: Partner::Far(partner), ranks, bytes, span: CHANGE..Ps::MAX }
}

fn never() -> Steady {
    Steady { partner: Partner::Far(1), ranks: 2, bytes: 1, span: 0..0 }
}

/// Returns soon after the change; a director that only counts packets sleeps to the end.
fn is_noticed(jobs: impl Fn() -> Vec<[Steady; 2]>) {
    let noticed = first_return(jobs(), None);
    // Periods of 5 us: that of the change, and two that are unusual.
    assert!(noticed > CHANGE && noticed <= CHANGE + 20 * US, "{noticed}");
    assert_eq!(first_return(jobs(), Some(&VOLUME_ONLY)), 2 * CHANGE, "a planted fault");
}

#[test]
fn a_permutation_that_is_redrawn_is_noticed() {
    is_noticed(|| vec![[before(7, 40, 256), after(11, 40, 256)]]);
}

#[test]
fn messages_of_another_size_are_noticed() {
    is_noticed(|| vec![[before(7, 40, 256), after(7, 40, 64)]]);
}

#[test]
fn a_second_job_that_takes_over_is_noticed() {
    is_noticed(|| vec![[before(7, 20, 256), never()], [never(), after(7, 20, 256)]]);
}

/// The same pairs, sizes and volume: everybody sent to another rank, then all send to one.
#[test]
fn senders_that_meet_are_noticed() {
    is_noticed(|| {
        let further = Steady { partner: Partner::Further, ..before(0, 40, 256) };
        vec![[further, Steady { partner: Partner::One, ..after(0, 40, 256) }]]
    });
}

/// The director looks sixteen times a window: no more often than packets take on a terminal's link.
#[test]
fn windows_of_less_than_sixteen_packets_are_refused() {
    let setup = dragonfly(0.5, 256);
    let packet = setup.links[0].bandwidth.time_rounded(256).unwrap();
    let mut short = automatic(setup.clone(), "mean", 16 * packet - 1);
    short.until = Until::Time(US);
    let refused = simulate(&short, &mut |_| true).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("every sixteenth of the window"), "{refused}");
    let mut long = automatic(setup, "mean", 16 * packet + 16);
    long.until = Until::Time(US);
    run(&long);
}

/// Steady traffic is not left early because of what is looked at: stays last as long as they may.
#[test]
fn steady_traffic_stays() {
    for (workload, arrival, load) in
        [("uniform", "poisson", 0.5), ("all-to-all", "constant", 0.3), ("random-permutation", "poisson", 0.2)]
    {
        let mut setup = dragonfly(load, 256);
        let job = (40, 256, setup.links[0].bandwidth);
        setup.jobs[0].work = samples::traffic(workload, &[], arrival, load, job, 3);
        setup.until = Until::Time(1000 * US);
        let hybrid = run(&automatic(setup, "mean", 80 * US)).hybrid.unwrap();
        assert!(hybrid.switches == 1, "{workload}: {:?}", hybrid.phases);
    }
}

/// A program of 64 ranks on a torus, with its keys.
fn program(name: &str, given: &[(&'static str, Value)]) -> Setup {
    let fabric = samples::topology("torus", &[("dims", Value::Ints(vec![4, 4, 4]))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let link = samples::link(12_500_000_000, 20_000, 20_000, 16 << 10);
    let work = samples::traffic(name, given, "constant", 0.5, (64, 0, link.bandwidth), 1);
    let mut setup = samples::setup(fabric, routing, vec![link; 2], work, 0);
    setup.jobs[0].message = None;
    (setup.packet.packet, setup.packet.chunk, setup.packet.router_delay) = (2048, 256, 40_000);
    (setup.packet.vcs, setup.packet.overhead) = (4, 200_000);
    setup.until = Until::WorkloadDone { limit: 1_000_000 * US };
    setup
}

/// How far from high fidelity the run time is with a predictor; some of its packets are predicted.
fn off(setup: &Setup, plain: &Summary, predictor: &str, window: Ps, least: f64) -> f64 {
    let one = run(&automatic(setup.clone(), predictor, window));
    let phases = one.hybrid.unwrap().phases;
    let count = |mode: &str| phases.iter().filter(|p| p.mode == mode).map(|p| p.packets).sum::<u64>() as f64;
    let (predicted, other) = (count("surrogate"), count("high-fidelity"));
    assert!(predicted > least * (predicted + other), "{predictor}: {phases:?}");
    one.simulated_ps as f64 / plain.simulated_ps as f64 - 1.0
}

/// Reductions of 8 B are not as long under way as the halos between them.
#[test]
fn programs_take_as_long_as_in_high_fidelity() {
    let given = [("iterations", int(60)), ("face_bytes", int(16 << 10))];
    for (name, most) in [("conjugate-gradient", 0.03), ("stencil", 0.03)] {
        let setup = program(name, &given);
        let plain = run(&setup);
        for predictor in ["mean", "quantile"] {
            let off = off(&setup, &plain, predictor, 200 * US, 0.5);
            assert!(off.abs() < most, "{name}, {predictor}: {off}");
        }
    }
}

/// Predictor `quantile` is no worse than `mean` for programs, by more than 0.2 % of the run time.
#[test]
fn quantiles_are_no_worse_for_programs() {
    let halo = || vec![("iterations", int(60)), ("face_bytes", int(16 << 10))];
    let points = |side| ("points", Value::Ints(vec![side; 3]));
    for (name, given, window) in [
        ("conjugate-gradient", halo(), 200 * US),
        ("stencil", halo(), 200 * US),
        ("ring", vec![("iterations", int(200)), ("hop_bytes", int(16 << 10))], 100 * US),
        ("sweep", vec![("iterations", int(4)), points(128)], 100 * US),
        ("fft", vec![("iterations", int(20)), points(64)], 60 * US),
    ] {
        let setup = program(name, &given);
        let plain = run(&setup);
        let [mean, quantile] = ["mean", "quantile"].map(|p| off(&setup, &plain, p, window, 0.3).abs());
        assert!(quantile <= mean + 0.002, "{name}: {quantile}, with the mean {mean}");
    }
}
