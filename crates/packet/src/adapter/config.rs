//! `[adapter]`: what network adapters do with packets that arrive.

use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
};

/// Documentation and keys of the section.
pub const ABOUT: About = About {
    name: "adapter",
    summary: "packets that overtake others are counted, and put back into order",
    doc: "Routings with several paths let packets of a pair of terminals overtake each other. With this section model `packet` counts them, and with `resequencing` the destination's adapter \
          holds what came too early until what is missing is there, so that packets are handed on as their source sent them, pair by pair. It takes packets off the link at once, so a held packet holds no \
          buffer of the network and blocks nobody. The network is the same with and without: what differs is when packets are delivered, which is never sooner. Their time in the adapter is part of their latency \
          (`resequencing` among its parts). Where `buffer` is full, the adapter gives up waiting, as the reordering buffers of 802.11 and of multilink PPP do: of the pair whose packet found no room the first held packets are handed on \
          without the missing ones, and the missing ones at once when they come; each such gap is counted and the run flagged `out-of-order`. The summary's block `adapter` tells packets overtaken and held, how long, and the largest buffer. \
          With several planes each has an adapter, and order is that of a plane. Message numbers in tables are those of the pair. Not modelled: credits for the buffer between ends, packets that are discarded for want of room, time of the adapter's own.",
    source: "Denzel et al., SC'08 (MARS), 2.3.2; giving up: IEEE 802.11-2020, 10.25.6, and RFC 1990, 4.1",
    params: &[
        Param {
            name: "resequencing",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "Packets of a pair of terminals are handed on in the order in which the source handed them over; otherwise they are only counted.",
        },
        Param {
            name: "buffer",
            kind: Kind::Bytes,
            default: Some("0 B"),
            doc: "Payload that the adapter of a terminal holds at most, of all sources together; 0 B: as much as it takes.",
        },
    ],
};

/// Why the section does not stand beside `[resilience]`.
pub const TRANSPORT: &str =
    "a transport over links that lose packets numbers them itself: adapters do not put them in order";

/// Why re-sequencing does not stand beside `[congestion_control]`.
pub const CONTROL: &str =
    "with congestion control packets of several messages leave in turn: adapters do not know which is next";

/// Adapters of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Packets are put back into order.
    pub resequencing: bool,
    /// Payload that a terminal holds at most; `u64::MAX` without bound.
    pub buffer: u64,
    /// A planted fault, false but in tests of the checkers: before some packets that are to be held, a gap is given up although there is room.
    pub leaks: bool,
}

impl Adapter {
    /// Reads checked values of packets of at most so many bytes.
    ///
    /// # Errors
    /// A buffer that holds no packet.
    pub fn from_values(values: &Values, packet: u32) -> Result<Self, Vec<Problem>> {
        let buffer = values.int("buffer");
        if (1..u64::from(packet)).contains(&buffer) {
            let message = format!("a packet of {packet} B does not fit into the adapter's buffer");
            return Err(vec![Problem::new("buffer", message).help("enlarge it; 0 B is without bound")]);
        }
        let buffer = if buffer == 0 { u64::MAX } else { buffer };
        Ok(Self { resequencing: values.bool("resequencing"), buffer, leaks: false })
    }
}
