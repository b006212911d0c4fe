//! What runs are compiled to: every router architecture in every mode, and the same results in all of them.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use model::{Finished, run::Watch, setup::Scheduling, setup::Until};
use packet::{
    Setup,
    network::is_plain,
    router::registry::{Compiled, ROUTERS, RouterEntry, named},
    samples,
};

const US: u64 = 1_000_000;

fn run(compiled: &Compiled, setup: &Setup) -> Finished {
    (compiled.run)(setup, Watch::new(&mut |_, _| true)).unwrap()
}

fn setup(router: usize, partitions: u32, algorithm: &str) -> Setup {
    let mut setup = samples::dragonfly(72, algorithm, "poisson", 0.6);
    setup.packet.router = ROUTERS[router].architecture();
    setup.packet.vcs = 16;
    setup.packet.route_per = packet::config::RoutePer::Packet;
    setup.until = Until::Time(20 * US);
    setup.check = true;
    setup.measure.packets = true;
    setup.scheduling = Scheduling::Sequential { partitions };
    setup
}

/// Each of them is code of its own, and time of every build, and each architecture has one more that is driven from outside. Who adds an architecture
/// adds four networks, or three of one that nobody runs for its speed; a mode more would be one for each architecture.
#[test]
fn instances_are_listed() {
    let runs = ROUTERS.iter().flat_map(|r| [r.plain, r.full, r.undo].map(|c| (r.about.name, c.mode)));
    let listed = [
        ("window", "plain"),
        ("window", "full"),
        ("window", "undo"),
        ("input-queued", "plain"),
        ("input-queued", "full"),
        ("input-queued", "undo"),
        ("output-queued", "full"),
        ("output-queued", "full"),
        ("output-queued", "undo"),
        ("combined", "plain"),
        ("combined", "full"),
        ("combined", "undo"),
    ];
    assert_eq!(runs.collect::<Vec<_>>(), listed);
}

#[test]
fn a_plain_run_is_the_full_run() {
    for (n, router) in ROUTERS.iter().enumerate() {
        for (partitions, algorithm) in [(1, "minimal"), (3, "minimal"), (1, "progressive-adaptive")] {
            let setup = setup(n, partitions, algorithm);
            assert!(is_plain(&setup));
            let [plain, full, undo] = [router.plain, router.full, router.undo].map(|c| run(&c, &setup));
            let reported = |f: &Finished| {
                let mut summary = f.summary.clone();
                summary.performance = None;
                format!("{summary:?} {:?}", f.tables)
            };
            let what = format!("{} in {partitions}, {algorithm}", router.about.name);
            assert!(plain.summary.packets.unwrap().delivered > 100, "{what}");
            assert_eq!(reported(&plain), reported(&full), "{what}");
            assert_eq!(reported(&plain), reported(&undo), "{what}");
        }
    }
}

/// Nothing is silently left out: a setup that needs a feature is refused by the plain run, and never given to it.
#[test]
#[should_panic(expected = "what plain runs lack")]
fn a_plain_run_takes_no_features() {
    let mut setup = setup(0, 1, "minimal");
    let (bandwidth, terminals) = (setup.links[0].bandwidth, setup.fabric.terminals());
    setup.jobs[0].work = samples::traffic("ping-pong", &[], "constant", 0.5, (terminals, 1024, bandwidth), 1);
    assert!(!is_plain(&setup));
    run(&ROUTERS[0].plain, &setup);
}

/// A constant list would be made anew in each crate that names it, such as this one, and every architecture be compiled there once more.
#[test]
fn architectures_are_compiled_in_one_crate() {
    for here in ROUTERS {
        let there: &dyn std::any::Any = named(here.about.name).entry;
        let there: &RouterEntry = there.downcast_ref().unwrap();
        assert!(std::ptr::eq(here, there), "{} is there twice", here.about.name);
    }
}
