//! The packet model as a carrier keeps the contract, in one partition and in several.

use base::{index::TerminalId, time::Ps};
use packet::{network::Network, router::window::WindowRouter, samples, state::PacketDomain};
use ranks::kit::{self, Plan, Planned};
use std::sync::Arc;
use workload::{
    program::list::{List, Rank},
    registry::Work,
};

const US: Ps = 1_000_000;

#[test]
fn packets_keep_the_contract() {
    let mut setup = samples::dragonfly(72, "progressive-adaptive", "constant", 0.5);
    // Somebody lives on every terminal: here the kit's host instead of these ranks.
    let terminals = setup.fabric.terminals();
    setup.jobs[0].work = Work::Program(Arc::new(List::new(vec![Rank::default(); terminals as usize])));
    setup.jobs[0].placement = TerminalId::first(terminals).collect();
    let wire = setup.links[0].latency;
    let bandwidth = setup.links[0].bandwidth;
    let least =
        |m: &Planned| 2 * wire + setup.packet.router_delay + bandwidth.time_rounded(m.bytes).expect("short");
    for partitions in [1, 3] {
        let net = Arc::new(Network::new(&setup, partitions));
        for (end, whole) in [(1 << 50, true), (60 * US, false)] {
            let messages = kit::random(terminals, 1500, 5000, 100 * US, 7);
            let plan = Plan { messages, end, whole, ordered: false, least };
            let domains =
                || (0..partitions).map(|p| PacketDomain::<WindowRouter>::new(Arc::clone(&net), p)).collect();
            let home = |t| net.owner[net.fabric.router_at(t)] as usize;
            kit::check(domains, home, plan);
        }
    }
}
