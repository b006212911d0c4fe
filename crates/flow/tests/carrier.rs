//! The flow model as a carrier keeps the contract.

use base::time::Ps;
use flow::{FlowConfig, FlowSetup, context::context, domain::FlowDomain, rules::Rules};
use model::{
    samples::int,
    setup::{Measure, Until},
};
use packet::samples;
use ranks::kit::{self, Plan, Planned};
use std::sync::Arc;

const US: Ps = 1_000_000;

#[test]
fn flows_keep_the_contract() {
    let fabric = samples::topology("fat-tree", &[("k", int(4)), ("levels", int(2))]);
    let setup = |end| FlowSetup {
        routing: Some(samples::routing(&fabric, "d-mod-k", &[])),
        change: None,
        links: vec![samples::link(1_000_000_000, US, 2, 1024); fabric.classes().len()],
        fabric: Arc::clone(&fabric),
        jobs: Vec::new(),
        config: FlowConfig::new(Rules::plain()),
        seed: 1,
        until: Until::Time(end),
        warmup: 0,
        measure: Measure::default(),
        check: true,
        energy: None,
        node: None,
    };
    // Two links at least, and a byte takes a nanosecond.
    let least = |m: &Planned| 2 * US + m.bytes * 1000;
    for (end, whole) in [(1 << 50, true), (100 * US, false)] {
        let messages = kit::random(fabric.terminals(), 600, 20_000, 160 * US, 3);
        let plan = Plan { messages, end, whole, ordered: false, least };
        let domain = || vec![FlowDomain::new(Arc::new(context(&setup(end)).expect("a valid setup")))];
        kit::check(domain, |_| 0, plan);
    }
}
