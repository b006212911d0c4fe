//! Many messages that are divided over many links: what a run costs is bounded, and so is what that takes from its results.

use super::FlowDomain;
use crate::{
    FlowConfig, FlowSetup, config::Wide, context::context, observe::Observer, rules::Rules, run::domain,
};
use base::time::{NEVER, Ps};
use engine::executor::{Executor, Options};
use model::setup::{JobSetup, Measure, Until};
use packet::samples;
use std::sync::Arc;

/// Everybody sends to everybody, in bursts that begin one after another and overlap, over a Slim Fly by Valiant's routing: entries of lists that
/// the solver looks at, solutions, and when the last message is there.
fn all_to_all(wide: Wide) -> (u64, u64, Ps) {
    let sizes = [("q", 4), ("terminals_per_router", 2)].map(|(name, n)| (name, samples::int(n)));
    let fabric = samples::topology("slim-fly", &sizes);
    let routing = samples::routing(&fabric, "valiant", &[]);
    let link = samples::link(1_000_000_000, 1_000_000, 2, 1024);
    let job = (fabric.terminals(), 20_000, link.bandwidth);
    let work = samples::traffic("all-to-all", &[("bursts", samples::int(1))], ("poisson", 4.0), job, 3);
    let setup = FlowSetup {
        fabric: Arc::clone(&fabric),
        routing: Some(routing),
        change: None,
        links: vec![link; fabric.classes().len()],
        jobs: vec![JobSetup {
            name: "job".to_owned(),
            work,
            placement: fabric.reachable().collect(),
            message: None,
            start: 0,
            compute_ppb: JobSetup::COMPUTE_AS_IS,
        }],
        config: FlowConfig { wide: Some(wide), ..FlowConfig::new(Rules::plain()) },
        seed: 1,
        until: Until::WorkloadDone { limit: 1 << 58 },
        warmup: 0,
        measure: Measure::default(),
        check: false,
        energy: None,
        node: None,
    };
    let cx = Arc::new(context(&setup).expect("the setup is sound"));
    let part = (domain(&cx), Observer::new(cx));
    let mut run = Executor::new([part], Options { tie_seed: 1, wheel_shift: 12 });
    run.run_until(NEVER, u64::MAX);
    let at = run.now();
    let FlowDomain { sharing, .. } = &run.partitions[0].domain.carrier;
    assert_eq!(sharing.active(), 0);
    (sharing.visits(), sharing.delays().solutions, at)
}

/// An exact run finds shares at each of thousands of instants, and each time those of all messages on all of their links.
#[test]
fn many_divided_messages_cost_no_solution_each() {
    let within = |links| all_to_all(Wide { accuracy: 0.01, links });
    // Few links are not many.
    let (exact, all, end) = within(u64::MAX);
    let (visits, solutions, near) = within(10_000);
    assert!(visits * 4 < exact && solutions * 4 < all, "{visits} of {exact}, {solutions} of {all}");
    assert!(near.abs_diff(end) <= end / 100, "{near} {end}");
}
