//! Many messages that are divided over many links: what a run costs is bounded, and so is what that takes from its results.

use super::{
    FlowDomain,
    planted::{link, started},
};
use crate::{FlowConfig, config::Wide, rules::Rules};
use base::time::{NEVER, Ps};
use packet::samples;

/// Everybody sends to everybody, in bursts that begin one after another and overlap, over a Slim Fly by Valiant's routing: entries of lists that
/// the solver looks at, solutions, and when the last message is there.
fn all_to_all(wide: Wide) -> (u64, u64, Ps) {
    let sizes = [("q", 4), ("terminals_per_router", 2)].map(|(name, n)| (name, samples::int(n)));
    let fabric = samples::topology("slim-fly", &sizes);
    let routing = samples::routing(&fabric, "valiant", &[]);
    let job = (fabric.terminals(), 20_000, link().bandwidth);
    let work = samples::traffic("all-to-all", &[("bursts", samples::int(1))], "poisson", 4.0, job, 3);
    let config = FlowConfig { wide: Some(wide), ..FlowConfig::new(Rules::plain()) };
    let mut run = started(fabric, routing, work, config, false);
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
