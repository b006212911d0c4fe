//! Parameters of the packet model, as it reads them.

use super::pipeline::Pipeline;
use base::time::Ps;
use model::section::Listed;
use std::fmt;

/// What the model goes by of a router architecture without asking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long after the instant of its decisions its alarms come: 0, or 1 ps if decisions see everything of their instant.
    pub lag: Ps,
    /// It routes the first chunk of a packet, and the others follow by themselves.
    pub heads_only: bool,
    /// Chunks of a packet arrive in order, whatever the routing.
    pub keeps_order: bool,
    /// Which virtual channel terminals use.
    pub injects: Injects,
    /// It counts packets that are wholly at their last router ([`Port::ripe`](super::rows::Port::ripe)).
    pub ripens: bool,
    /// Whatever waits in it holds a buffer, so buffers bound what a network holds.
    pub buffered: bool,
    /// It was compared with its source below saturation alone: what it accepts beyond may be too little.
    pub compared_unsaturated: bool,
}

/// Virtual channels that terminals send on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injects {
    /// The first one alone.
    First,
    /// Each packet takes the next one with room.
    WithRoom,
}

/// A router architecture that was chosen: see [`ROUTERS`](super::router::registry::ROUTERS).
#[derive(Clone, Copy)]
pub struct Architecture {
    /// The name that it was chosen by.
    pub name: &'static str,
    /// What the model goes by without asking the entry.
    pub rules: Rules,
    /// The entry that simulates it, a [`RouterEntry`](super::router::registry::RouterEntry): parameters know no more of it than that.
    pub entry: &'static dyn Listed,
}

impl PartialEq for Architecture {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.rules) == (other.name, other.rules)
    }
}

impl Eq for Architecture {}

impl fmt::Debug for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Architecture")
            .field("name", &self.name)
            .field("rules", &self.rules)
            .finish_non_exhaustive()
    }
}

/// How a router chooses among requests for one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// The one after the last served.
    RoundRobin,
    /// Always the lowest number: cheap hardware, unfair; can starve.
    Fixed,
}

/// What is routed as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutePer {
    /// Every chunk decides for itself; chunks of a packet may take different paths (CODES).
    Chunk,
    /// The first chunk decides; the others follow.
    Packet,
}

/// Parameters of the packet model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketConfig {
    /// Architecture of all routers, which `[model]` chooses.
    pub router: Architecture,
    /// Largest payload of a packet in bytes.
    pub packet: u32,
    /// Bytes of a chunk, the unit of buffers and switching.
    pub chunk: u32,
    /// Virtual channels per link.
    pub vcs: u8,
    /// Pipeline delay of a router, added to every hop.
    pub router_delay: Ps,
    /// Unit of routing.
    pub route_per: RoutePer,
    /// From a message's creation to its first packet at the terminal.
    pub adapter_delay: Ps,
    /// Each message takes two random times below this beside; 0 for none.
    pub adapter_jitter: Ps,
    /// Arbiter of `input-queued` routers.
    pub arbiter: Arbiter,
    /// Rules of pipelined routers; none where section `[router]` is missing.
    pub pipeline: Option<Pipeline>,
    /// Period of published queues; 0: the shortest latency of a link between routers.
    pub info_delay: Ps,
    /// Programs: largest message that is sent without asking.
    pub eager: u64,
    /// Programs: bytes of a request or grant.
    pub control: u64,
    /// Programs: time that a processor takes for each send and each receive.
    pub overhead: Ps,
}
