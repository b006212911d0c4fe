//! Multicasts at inputs: what routers that copy do not go with, and what a step notes of copies.

use crate::{
    config::PacketConfig,
    pipeline::{FlowControl, Pipeline, Sharing},
};

/// A copy that crosses the switch together with one that was granted, if that leaves.
#[derive(Clone, Copy)]
pub(super) struct Along {
    /// Where it waits.
    pub unit: u32,
    /// Column of the switch that it asks for.
    pub column: u32,
    /// Number of its input in the router.
    pub input: u32,
    /// Unit of the copy that was granted.
    pub granted: u32,
    /// Place in the packet of the chunk whose copies they are.
    pub index: u16,
}

/// Why clocked routers with these parameters do not copy, and the way out: see [`Router::no_copies`](crate::net::Router::no_copies).
pub(super) fn no_copies(config: &PacketConfig, buffer: u64) -> Option<(String, &'static str)> {
    let rules = config.pipeline.unwrap_or(Pipeline::of(config.router.name));
    let chunks = config.packet.div_ceil(config.chunk);
    let shared = rules.input_sharing != Sharing::Private && rules.flow_control == FlowControl::Wormhole;
    let all = [
        (
            rules.virtual_output_queues,
            "a packet for several outputs stands in no queue for one",
            "set `virtual_output_queues` to false",
        ),
        (
            rules.flow_control == FlowControl::Bubble,
            "what waits for its last copy stands where a bubble was",
            "choose another `flow_control`",
        ),
        // A branch waits for the packet's next chunks, which must have room whatever the other branches wait for.
        (
            chunks > 1 && shared,
            "channels that share buffers keep no room for a packet in wormhole switching",
            "set `flow_control = \"virtual-cut-through\"`",
        ),
        (
            buffer / u64::from(config.chunk) < u64::from(chunks),
            "a packet that is copied must fit into every buffer: its copies do not wait for each other",
            "enlarge `vc_buffer`, or make `packet` smaller",
        ),
    ];
    all.into_iter().find(|(is, ..)| *is).map(|(_, why, help)| (why.to_owned(), help))
}
