//! Links of any rate carry what they can behind every router: a clock loses nothing where chunks take no whole number of its cycles.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::{index::LinkId, param::Value};
use model::setup::{Measure, Until};
use packet::{
    Setup,
    pipeline::Pipeline,
    router::registry::{ROUTERS, clocked, named},
    samples, simulate,
};
use proptest::prelude::*;
use results::table::Table;

const NS: u64 = 1_000;
const US: u64 = 1_000_000;

/// What two terminals, each behind a router of its own, carry to each other in parts of what their links carry. Rates in MB/s.
fn carried(router: &str, rules: Option<Pipeline>, terminal: u64, local: u64) -> f64 {
    let fabric = samples::topology("mesh", &[("dims", Value::Ints(vec![2]))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let links =
        [terminal, local].map(|rate| samples::link(rate * 1_000_000, 2 * NS, 2 * NS, 64 * 1024)).to_vec();
    let traffic = samples::traffic(
        "bisection",
        &[],
        "constant",
        1.0,
        (fabric.terminals(), 1024, links[0].bandwidth),
        1,
    );
    let mut setup = samples::setup(fabric, routing, links, traffic, 1024);
    setup.packet.router = named(router);
    if rules.is_some() {
        setup.packet.router = clocked(named(router));
        setup.packet.pipeline = rules;
    }
    setup.packet.packet = 1024;
    setup.packet.vcs = 4;
    setup.packet.router_delay = 5 * NS;
    setup.warmup = 5 * US;
    setup.until = Until::Time(15 * US);
    setup.measure = Measure { window: 400 * NS, loads: true, ..Measure::default() };
    let done = simulate(&setup, &mut |_| true).unwrap();
    never_above(&setup, done.tables.iter().find(|t| t.name() == "loads").unwrap());
    done.summary.throughput.unwrap().accepted_fraction
}

/// In no interval a link carries more than its bandwidth, though chunks lie across their borders.
fn never_above(setup: &Setup, loads: &Table) {
    let [from, until, bytes] = ["time_ps", "until_ps", "bytes"].map(|name| loads.u64_column(name).unwrap());
    let links = loads.u32_column("link").unwrap();
    assert!(links.len() > 100, "intervals are short");
    for (row, &link) in links.iter().enumerate() {
        let rate = setup.links[usize::from(setup.fabric.class_of_link(LinkId::new(link)))].bandwidth;
        let most = rate.bytes_per_s() * (until[row] - from[row]) as f64 / 1e12;
        // Of the chunk that is on a link at the end all counts, and of those that an output has in turn behind it.
        let last = if until[row] == 15 * US { 4096.0 } else { 2.0 };
        assert!(bytes[row] as f64 <= most + last, "link {link}: {} of {most} bytes", bytes[row]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The slower of two links is busy all the time, whatever the other one's rate is.
    #[test]
    fn the_slowest_link_is_kept_busy(terminal in 5_000_u64..50_000, ratio in 200_u64..2_000, buffer in 0_u32..3) {
        let local = terminal * ratio / 1_000;
        let full = (local as f64 / terminal as f64).min(1.0);
        for entry in ROUTERS {
            let name = entry.about.name;
            let of = Pipeline::of(name);
            let all = if of.output_queue.is_some() { u32::MAX } else { buffer };
            // Plain routers, and the same with rules of their own.
            for rules in [None, Some(Pipeline { output_buffer: all, ..of })] {
                if rules.is_some() && name == "window" {
                    continue;
                }
                let found = carried(name, rules, terminal, local);
                // Of a packet that is under way at the beginning or the end all counts, or nothing.
                let packets = 2.0 * 1024.0 / (terminal as f64 * 10.0);
                prop_assert!(
                    (found - full).abs() < 0.01 * full + packets,
                    "{name} {rules:?}, {terminal} beside {local} MB/s: {found} of {full}"
                );
            }
        }
    }
}
