//! The `[model]` section with `kind = "packet"`: documentation, keys, and what they mean.

use super::{
    config::{Arbiter, PacketConfig, RoutePer},
    pipeline::{Context, Pipeline},
    router::registry::{self, RouterEntry},
    sections::ROUTER_CHOICE,
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::{NS, Ps},
};

/// Routers that take section `[router]`, which tells their insides.
pub const TAKES_SECTION: [&str; 3] = ["input-queued", "output-queued", "combined"];

/// Most that a host's latency varies by.
const MOST_JITTER: Ps = 1_000_000_000 * NS;

/// Documentation and keys of the model.
pub const ABOUT: About = About {
    name: "packet",
    summary: "Chunk by chunk through buffers, virtual channels and credits",
    doc: "Terminals cut messages into packets and packets into chunks; chunks queue in routers, hold buffers, return credits and \
          contend for links. Every chunk is simulated; nothing is averaged. Short packets: a packet smaller than a chunk takes the \
          time of its own bytes (at least one), a longer packet's last chunk takes the time of a full one; buffers always \
          count full chunks. Links lose packets where `[resilience]` says so; sources slow down where `[congestion_control]` says so. Not modelled: retries by links, end-to-end flow control by credits. Ranks of programs have processors that are FIFO servers; the memory behind them is not modelled.",
    source: "Terminals: CODES dragonfly-dally. Routers: `netloom explain window` and the others.",
    params: &[
        Param {
            name: ROUTER_CHOICE.key,
            kind: Kind::Choice(&registry::NAMES),
            default: Some(ROUTER_CHOICE.default),
            doc: "Router architecture: how routers move chunks (`netloom list routers`).",
        },
        Param {
            name: "packet",
            kind: Kind::Bytes,
            default: Some("1024 B"),
            doc: "Largest payload of a packet; a message is cut into packets of this size and a rest.",
        },
        Param {
            name: "chunk",
            kind: Kind::Bytes,
            default: Some("64 B"),
            doc: "Unit of buffers and switching (a flit, or as large as the packet for virtual cut-through of whole packets).",
        },
        Param {
            name: "vcs",
            kind: Kind::Int { min: 1, max: 16 },
            default: Some("4"),
            doc: "Virtual channels per link; at least what the routing needs. More are shared out evenly among the routing's VCs, as classes, by `input-queued`; behind `window` and `output-queued` they carry nothing.",
        },
        Param {
            name: "router_delay",
            kind: Kind::Time,
            default: Some("100 ns"),
            doc: "Pipeline delay of a router, added to every hop; it delays, it does not limit the rate.",
        },
        Param {
            name: "route_per",
            kind: Kind::Choice(&["chunk", "packet"]),
            default: Some("packet"),
            doc: "What is routed as one: all chunks of a packet the path of the first, or every chunk by itself, as in CODES. By chunk, an adaptive \
                  routing sees the earlier chunks of the same packet as backlog, so that packets of several chunks detour in an idle network. `input-queued` routers \
                  always route whole packets, whatever is said here: a VC belongs to a packet from head to tail.",
        },
        Param {
            name: "adapter_delay",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Time from a message's creation to its first packet at the terminal; part of message latency only.",
        },
        Param {
            name: "adapter_jitter",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Random part of `adapter_delay`: each message takes two draws more, each uniform from 0 up to this time (seeded; on average it is added once). CODES' host latency is \
                  `adapter_delay = \"11.01 ns\"` with \"0.5 ns\" here. Messages of a terminal keep their order: to shuffle bursts as CODES' draws do, see `order` of workload `all-to-all`.",
        },
        Param {
            name: "arbiter",
            kind: Kind::Choice(&["round-robin", "fixed"]),
            default: Some("round-robin"),
            doc: "How an `input-queued` router chooses among requests for a VC or for the switch (iSLIP, one iteration). `fixed` always \
                  serves the lowest port and VC first and can starve others. Other routers have no use for it.",
        },
        Param {
            name: "info_delay",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Routers publish their queues at multiples of this time, and routings that read other routers' queues (ugal-g) see each \
                  publication one such time later. 0 s: the shortest latency of a link between routers. Other routings have no use for it.",
        },
        ranks::params::EAGER,
        ranks::params::CONTROL,
        ranks::params::OVERHEAD,
    ],
};

/// Documentation of the model `hybrid`: the packet model's parameters.
pub const HYBRID: About = About {
    name: "hybrid",
    summary: "Packet by packet, replaced by a predictor while the network is steady",
    doc: "The model `packet` with its parameters; [hybrid] says when packets bypass the network, for how long they are under way then, and \
          what becomes of the network meanwhile. Workloads, ranks and statistics go on as before; sources that the network held back keep \
          the pace that it allowed them. Links that fail during the run are refused: a predictor knows only what it saw.",
    source: "Cruz-Camacho et al.: Hybrid PDES Simulation of HPC Networks Using Zombie Packets, ACM TOMACS 2024",
    params: ABOUT.params,
};

impl PacketConfig {
    /// The same with the values of section `[router]`.
    ///
    /// # Errors
    /// A router that has no such section, or values that make no sense together.
    pub fn inside(self, values: &Values) -> Result<Self, Vec<Problem>> {
        let name = self.router.name;
        if !TAKES_SECTION.contains(&name) {
            let message = format!("router \"{name}\" has nothing that this section could set");
            let help = format!(
                "set `router` of [model] to one of {}, or remove the section",
                TAKES_SECTION.join(", ")
            );
            return Err(vec![Problem::new("vc_allocator", message).help(help)]);
        }
        if self.arbiter != Arbiter::RoundRobin {
            let message = "`arbiter` of [model] and this section do not go together".to_owned();
            return Err(vec![
                Problem::new("arbiter", message).help("say it here, and leave it out of [model]"),
            ]);
        }
        let context = Context { chunks: self.packet.div_ceil(self.chunk), chunk: self.chunk, vcs: self.vcs };
        let pipeline = Some(Pipeline::from_values(name, values, context)?);
        Ok(Self { router: registry::clocked(self.router), pipeline, ..self })
    }

    /// Reads checked values.
    ///
    /// # Errors
    /// Sizes that do not fit each other.
    pub fn from_values(router: &'static RouterEntry, values: &Values) -> Result<Self, Vec<Problem>> {
        let (packet, chunk) = (values.int("packet"), values.int("chunk"));
        let mut problems = Vec::new();
        if packet == 0 || packet > 1 << 20 {
            problems.push(Problem::new("packet", "a packet holds 1 B to 1 MiB"));
        }
        if chunk == 0 {
            problems.push(Problem::new("chunk", "a chunk holds at least one byte"));
        } else if chunk > packet {
            problems.push(
                Problem::new("chunk", format!("a chunk of {chunk} B is larger than a packet of {packet} B"))
                    .help("make the chunk as large as the packet for whole-packet switching"),
            );
        } else if packet.div_ceil(chunk) > 2048 {
            problems.push(Problem::new("chunk", "a packet would have more than 2,048 chunks"));
        }
        if values.time("adapter_jitter") > MOST_JITTER {
            problems.push(Problem::new("adapter_jitter", "a host's latency varies by 1 s at most"));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            router: router.architecture(),
            packet: packet as u32,
            chunk: chunk as u32,
            vcs: values.u32("vcs") as u8,
            router_delay: values.time("router_delay"),
            route_per: if values.text("route_per") == "chunk" { RoutePer::Chunk } else { RoutePer::Packet },
            adapter_delay: values.time("adapter_delay"),
            adapter_jitter: values.time("adapter_jitter"),
            arbiter: if values.text("arbiter") == "fixed" { Arbiter::Fixed } else { Arbiter::RoundRobin },
            info_delay: values.time("info_delay"),
            pipeline: None,
            eager: values.int("eager"),
            control: values.int("control"),
            overhead: values.time("overhead"),
        })
    }
}
