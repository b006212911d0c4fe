//! Buffers that presets give to links: enough for one stream on one virtual channel, and no more than that.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::param::Value;
use model::setup::Until;
use packet::{
    pipeline::{
        FlowControl, Pipeline,
        presets::{Loop, PRESETS},
    },
    router::registry::{clocked, named},
    samples, simulate,
};

const NS: u64 = 1_000;
const US: u64 = 1_000_000;
const CHUNKS: u64 = 4;
const ROUTER: u64 = 2 * NS;

/// What one virtual channel of a link that takes long carries of full load, with buffers of so many packets.
fn carried(preset: usize, packets: u64, wire: u64) -> f64 {
    let preset = &PRESETS[preset];
    let fabric = samples::topology("mesh", &[("dims", Value::Ints(vec![2]))]);
    let routing = samples::routing(&fabric, "dimension-order", &[]);
    let near = samples::link(64_000_000_000, NS, 4 * NS, 64 * CHUNKS * 64);
    let far = samples::link(64_000_000_000, wire, wire, 64 * CHUNKS * packets);
    let packet = 64 * CHUNKS;
    let bytes = (fabric.terminals(), packet, near.bandwidth);
    let traffic = samples::traffic("bisection", &[], "constant", 1.0, bytes, 1);
    let mut setup = samples::setup(fabric, routing, vec![near, far], traffic, packet);
    setup.packet.router = clocked(named(preset.router));
    setup.packet.packet = packet as u32;
    setup.packet.vcs = 1;
    setup.packet.router_delay = ROUTER;
    let (rules, whole) = (Pipeline::of(preset.router), FlowControl::CutThrough);
    let output_queue = rules.output_queue.map(|_| 2 * CHUNKS as u32);
    let own = Pipeline { flow_control: whole, vc_allocator: None, virtual_output_queues: true, ..rules };
    setup.packet.pipeline = Some(Pipeline { output_queue, ..own });
    setup.warmup = 10 * US;
    setup.until = Until::Time(40 * US);
    simulate(&setup, &mut |_| true).unwrap().summary.throughput.unwrap().accepted_fraction
}

#[test]
fn a_stream_on_one_channel_keeps_its_link_busy() {
    for (n, preset) in PRESETS.iter().enumerate() {
        for wire in [5 * NS, 100 * NS] {
            let bandwidth = samples::link(64_000_000_000, 0, 0, 1).bandwidth;
            let bytes = preset.buffer(Loop { bandwidth, delays: 2 * wire + ROUTER, packet: 64 * CHUNKS });
            let packets = bytes / (64 * CHUNKS);
            let full = carried(n, packets, wire);
            assert!(full > 0.97, "{}: {full} with {packets} packets over {wire} ps", preset.about.name);
        }
        // A third of what is on its way carries about a third.
        let part = carried(n, 18, 100 * NS);
        assert!((0.25..0.45).contains(&part), "{}: {part}", preset.about.name);
    }
}
