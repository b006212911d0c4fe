//! Ideal output-queued routers: closed forms, and window routers whose buffers never fill.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::rate::Bandwidth;
use model::{samples::int, setup::Until};
use packet::{Setup, router::registry::named, samples, simulate};
use results::summary::Summary;

const US: u64 = 1_000_000;

fn run(setup: &Setup) -> Summary {
    simulate(setup, &mut |_| true).unwrap().summary
}

/// Terminals on one switch, slots of a nanosecond, packets of one chunk; a slot's arrivals are drawn by themselves.
fn switch(terminals: u64, load: f64, router: &str) -> Setup {
    let fabric = model::samples::topology("single-switch", &[("terminals", int(terminals))]);
    let routing = model::samples::routing(&fabric, "minimal", &[]);
    let links = vec![model::samples::link(64_000_000_000, 0, 4_000, 1 << 20)];
    let job = (terminals as u32, 64, Bandwidth::new(64_000_000_000, 1).unwrap());
    let traffic = model::samples::traffic("uniform", &[], "bernoulli", load, job, 1);
    let mut setup = samples::setup(fabric, routing, links, traffic, 64);
    setup.packet.router = named(router);
    setup.packet.packet = 64;
    setup.packet.vcs = 1;
    setup.packet.router_delay = 2_000;
    setup.warmup = 2 * US;
    setup.until = Until::Time(60 * US);
    setup.check = true;
    setup
}

/// Karol, Hluchyj and Morgan, 1987: with N inputs and load p a packet waits (N - 1) / N x p / (2 (1 - p)) slots at its output. Nobody
/// sends to itself, so an output hears all terminals but its own.
#[test]
fn waiting_at_outputs_is_that_of_theory() {
    for (terminals, load) in [(8, 0.5), (16, 0.8)] {
        let empty = run(&switch(terminals, 0.001, "output-queued")).latency_ps.unwrap().min as f64;
        let mean = run(&switch(terminals, load, "output-queued")).latency_ps.unwrap().mean;
        let inputs = (terminals - 1) as f64;
        let expected = (inputs - 1.0) / inputs * load / (2.0 * (1.0 - load));
        let waits = (mean - empty) / 1000.0;
        assert!(
            (waits / expected - 1.0).abs() < 0.05,
            "{terminals} at {load}: {waits} slots, not {expected}"
        );
    }
}

/// An output is busy whenever there is something for it: full load passes, where inputs with queues block each other.
#[test]
fn nothing_is_lost_to_blocking() {
    let share = |router: &str| {
        let summary = run(&switch(16, 0.95, router));
        let counts = summary.packets.unwrap();
        counts.delivered as f64 / counts.injected as f64
    };
    assert!(share("output-queued") > 0.999, "{}", share("output-queued"));
    assert!(share("input-queued") < 0.9, "one VC per input blocks at its head: {}", share("input-queued"));
}

/// Window routers whose windows never fill do the same at the same time.
#[test]
fn windows_that_never_fill_are_ideal() {
    for per_packet in [false, true] {
        let mut setup = samples::dragonfly(72, "minimal", "poisson", 0.5);
        setup.links.iter_mut().for_each(|l| l.vc_buffer = 1 << 30);
        setup.until = Until::Time(30 * US);
        setup.packet.packet = if per_packet { 1024 } else { 512 };
        let window = run(&setup);
        setup.packet.router = named("output-queued");
        let ideal = run(&setup);
        assert!(ideal.packets.as_ref().unwrap().delivered > 1_000);
        assert_eq!(ideal.fingerprint, window.fingerprint);
    }
}

/// With small buffers the ideal is never slower, and its books balance in any number of partitions.
#[test]
fn small_buffers_hold_back_links_alone() {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.9);
    setup.links.iter_mut().for_each(|l| l.vc_buffer = 192);
    setup.check = true;
    setup.until = Until::Time(20 * US);
    let window = run(&setup);
    setup.packet.router = named("output-queued");
    let ideal = run(&setup);
    let delivered = |s: &Summary| s.packets.as_ref().unwrap().delivered;
    assert!(delivered(&ideal) >= delivered(&window), "{} and {}", delivered(&ideal), delivered(&window));
    for partitions in [2, 36] {
        setup.scheduling = model::setup::Scheduling::Sequential { partitions };
        assert_eq!(run(&setup).fingerprint, ideal.fingerprint, "{partitions} partitions");
    }
}

#[test]
fn every_handler_can_be_undone() {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.9);
    setup.links.iter_mut().for_each(|l| l.vc_buffer = 192);
    setup.packet.router = named("output-queued");
    crate::common::undone(&setup, 3 * US);
}
