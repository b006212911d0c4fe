//! Parameters of a node's interface: the host bus, transmit and receive engines, paths of a payload, reliability.

use base::{
    index::TerminalId,
    param::{Kind, Param, Problem, Values},
    rate::Bandwidth,
    registry::About,
    time::{NS, Ps, rounded},
    units::parse_time,
};

/// Bytes of what is not payload.
pub mod size {
    /// A command on the bus.
    pub const COMMAND: u64 = 64;
    /// An event on the bus.
    pub const EVENT: u64 = 96;
    /// A request for a payload in memory, on the bus.
    pub const DMA_REQUEST: u64 = 64;
    /// A get on the network.
    pub const GET: u64 = 64;
    /// An acknowledgement on the network.
    pub const ACK: u64 = 32;
}

/// Documentation and keys of `[portals]`.
pub const ABOUT: About = About {
    name: "portals",
    summary: "interfaces and hosts on which Portals programs run",
    doc: "With this section an experiment describes a machine for `netloom portals run`; it needs no [[job]]. The defaults are those of BXI as S4BXI has \
          them. A call that commands the interface takes `bus_latency` and 64 B at `bus_bandwidth`. Payloads up to `inline` B travel in the command; \
          up to `pio` B from a volatile descriptor are written by the processor, which takes `pio_time`; others are fetched: a request \
          of 64 B over the bus, then `first_packet` (and from 512 B on `packet` more, below that the payload's own time), after which the network \
          transfer begins; the engine is busy until the payload has crossed the bus, where fetches of a node queue. Otherwise an engine is busy until its message \
          has arrived. Events (96 B) and counters reach the processor over the bus, and do not wait for the payload's path into memory. Matching is \
          in the order of sending between two processes, whatever overtakes on the network, except for unordered descriptors. \
          Tables [[portals.node]] give some nodes values of their own for all keys but `ranks_per_node`, `barrier_time`, `loss` and `outages`: \
          `nodes = \"0-3, 7\"`, then the keys. Those of the sender hold for what it sends, those of the receiver for what it receives.",
    source: "Emmanuel, Moy, Henrio, Pichon: Simulation of the Portals 4 protocol, HPCS 2020, section III; constants of S4BXI 4.2.0",
    params: &[
        Param {
            name: "ranks_per_node",
            kind: Kind::Int { min: 1, max: 512 },
            default: Some("1"),
            doc: "Ranks on a terminal; they are placed in order.",
        },
        Param {
            name: "bus_latency",
            kind: Kind::Time,
            default: Some("250 ns"),
            doc: "Latency of the bus between processor and interface.",
        },
        Param {
            name: "bus_bandwidth",
            kind: Kind::Bandwidth,
            default: Some("11.1 GB/s"),
            doc: "Bandwidth of the bus in each direction.",
        },
        Param {
            name: "bus",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "False: the bus takes no time at all.",
        },
        Param {
            name: "commands",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "False: commands and events cross the bus at once, payloads do not.",
        },
        Param {
            name: "tx_engines",
            kind: Kind::Int { min: 1, max: 1024 },
            default: Some("1"),
            doc: "Transmit engines for requests, and as many for answers.",
        },
        Param {
            name: "rx_engines",
            kind: Kind::Int { min: 1, max: 1024 },
            default: Some("1"),
            doc: "Receive engines for requests, and as many for answers.",
        },
        Param {
            name: "inline",
            kind: Kind::Bytes,
            default: Some("8 B"),
            doc: "Largest payload in a command; 8 B more on interfaces without matching.",
        },
        Param {
            name: "pio",
            kind: Kind::Bytes,
            default: Some("408 B"),
            doc: "Largest payload that the processor writes; 8 B more without matching.",
        },
        Param {
            name: "pio_time",
            kind: Kind::Time,
            default: Some("200 ns"),
            doc: "Time that it takes the processor.",
        },
        Param {
            name: "buffered",
            kind: Kind::Bytes,
            default: Some("64 B"),
            doc: "Largest put whose SEND event comes when it leaves; others have it when it has arrived.",
        },
        Param {
            name: "first_packet",
            kind: Kind::Time,
            default: Some("200 ns"),
            doc: "From the request of a payload to its first packet.",
        },
        Param {
            name: "packet",
            kind: Kind::Time,
            default: Some("32.508 ns"),
            doc: "Time of a packet of 512 B on the bus.",
        },
        Param {
            name: "message_time",
            kind: Kind::Time,
            default: Some("2 ns"),
            doc: "Processing of any message sent.",
        },
        Param {
            name: "put_time",
            kind: Kind::Time,
            default: Some("50 ns"),
            doc: "Processing of a put that arrives.",
        },
        Param {
            name: "get_time",
            kind: Kind::Time,
            default: Some("250 ns"),
            doc: "Processing of a get before it is sent.",
        },
        Param {
            name: "ack_time",
            kind: Kind::Time,
            default: Some("200 ns"),
            doc: "Processing of an acknowledgement before it is sent.",
        },
        Param {
            name: "empty_time",
            kind: Kind::Time,
            default: Some("300 ns"),
            doc: "Processing of an answer without payload before it is sent.",
        },
        Param {
            name: "quick_acks",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "Acknowledgements take their processing and the latency of the network, but no engine and (but for a byte) no bandwidth. Without reliability.",
        },
        Param {
            name: "copy_most",
            kind: Kind::Bytes,
            default: Some("64 MiB"),
            doc: "Bytes of a payload of a put or get that are really copied; what is longer arrives without the rest of its contents, in the same time. 64 MiB are all.",
        },
        Param {
            name: "poll_time",
            kind: Kind::Time,
            default: Some("10 ns"),
            doc: "Time of a look that finds nothing; it grows with each in a row, to 100 times.",
        },
        Param {
            name: "barrier_time",
            kind: Kind::Time,
            default: Some("100 us"),
            doc: "Time of a barrier of the start-up service (PMI), which runs over another network.",
        },
        Param {
            name: "call_time",
            kind: Kind::Time,
            default: Some("0 ns"),
            doc: "Time of the processor for any call.",
        },
        Param {
            name: "host_jitter",
            kind: Kind::Time,
            default: Some("0 ns"),
            doc: "Time of the processor for any call beside `call_time`: each call a random one up to this (seeded), so that ranks which do the same do not stay in step.",
        },
        Param {
            name: "cpu_factor",
            kind: Kind::Real { min: 0.0, max: 1e6 },
            default: Some("0.0"),
            doc: "Processor time that a program takes on this machine between calls, times this, passes in simulation; 0: computing takes no time. Any other value makes runs differ.",
        },
        Param {
            name: "cpu_threshold",
            kind: Kind::Time,
            default: Some("0 s"),
            doc: "Spans of computing on this machine below it take no time.",
        },
        Param {
            name: "reliability",
            kind: Kind::Bool,
            default: Some("false"),
            doc: "End-to-end reliability: acknowledgements, time-outs, retransmission.",
        },
        Param {
            name: "entries",
            kind: Kind::Int { min: 1, max: 1 << 20 },
            default: Some("8192"),
            doc: "Requests of a node that may wait for their acknowledgement, and as many answers.",
        },
        Param {
            name: "timeout",
            kind: Kind::Time,
            default: Some("10 s"),
            doc: "After which a message is sent again.",
        },
        Param {
            name: "retries",
            kind: Kind::Int { min: 0, max: 1000 },
            default: Some("5"),
            doc: "Times that a message is sent again before it is given up as undeliverable.",
        },
        Param {
            name: "loss",
            kind: Kind::Real { min: 0.0, max: 1.0 },
            default: Some("0.0"),
            doc: "Part of all messages on the network that is lost (seeded).",
        },
        Param {
            name: "outages",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Links of nodes that fail: \"3 at 5 us\" for good, \"3 at 5 us for 2 ms\" for a while. What is on the network to or from the node meanwhile is lost.",
        },
    ],
};

/// Keys that no node has for itself.
pub const GLOBAL: &[&str] = &["ranks_per_node", "barrier_time", "loss", "outages"];

/// The key that names the nodes of a table [[portals.node]].
pub const NODES: Param = Param {
    name: "nodes",
    kind: Kind::Text,
    default: None,
    doc: "Nodes that have the values of this table: \"0-3, 7\".",
};

/// The link of a node is out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// Number of the node; what is on the network to or from it meanwhile is lost.
    pub node: TerminalId,
    /// When the outage begins, itself included.
    pub from: Ps,
    /// When it is over, itself excluded; `Ps::MAX` if it never is.
    pub until: Ps,
}

/// Reads `"3 at 5 us"` and `"3 at 5 us for 2 ms"`.
///
/// # Errors
/// All texts that say nothing, and nodes at or beyond `most`.
pub fn outages(texts: &[String], most: u32) -> Result<Vec<Outage>, Vec<Problem>> {
    let one = |text: &str| -> Option<Outage> {
        let (node, rest) = text.split_once(" at ")?;
        let (from, span) = rest.split_once(" for ").map_or((rest, None), |(from, span)| (from, Some(span)));
        let (node, from) = (TerminalId::new(node.trim().parse().ok()?), parse_time(from.trim()).ok()?);
        let until = match span {
            Some(span) => from.saturating_add(parse_time(span.trim()).ok()?),
            None => Ps::MAX,
        };
        Some(Outage { node, from, until })
    };
    let (mut all, mut problems) = (Vec::new(), Vec::new());
    for text in texts {
        match one(text) {
            Some(Outage { node, .. }) if node.number() >= most => {
                let message = format!("{text:?}: there is no node {node}, the machine has {most}");
                problems.push(Problem::new("outages", message));
            }
            Some(outage) => all.push(outage),
            None => {
                let help =
                    "write \"NODE at TIME\" or \"NODE at TIME for TIME\", such as \"3 at 5 us for 2 ms\"";
                problems.push(Problem::new("outages", format!("{text:?} is no outage")).help(help));
            }
        }
    }
    if problems.is_empty() { Ok(all) } else { Err(problems) }
}

/// Reads a list of numbers and ranges such as `"0-3, 7"`.
///
/// # Errors
/// What is no such list, and nodes at or beyond `most`.
pub fn nodes(text: &str, most: u32) -> Result<Vec<TerminalId>, Problem> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
            (Ok(first), Ok(last)) if first <= last && last < most => {
                all.extend((first..=last).map(TerminalId::new))
            }
            (Ok(_), Ok(last)) if last >= most => {
                let message = format!("there is no node {last}: the machine has {most}");
                return Err(Problem::new("nodes", message));
            }
            _ => {
                let message = format!("{text:?} is no list of nodes");
                return Err(Problem::new("nodes", message).help("write numbers and ranges: \"0-3, 7\""));
            }
        }
    }
    Ok(all)
}

/// Parameters of a node.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "documented in ABOUT")]
pub struct Params {
    pub ranks_per_node: u32,
    pub bus_latency: Ps,
    /// Picoseconds per byte.
    pub bus_per_byte: f64,
    pub bus: bool,
    pub commands: bool,
    pub tx_engines: u32,
    pub rx_engines: u32,
    pub inline: u64,
    pub pio: u64,
    pub pio_time: Ps,
    pub buffered: u64,
    pub first_packet: Ps,
    pub packet: Ps,
    pub message_time: Ps,
    pub put_time: Ps,
    pub get_time: Ps,
    pub ack_time: Ps,
    pub empty_time: Ps,
    pub quick_acks: bool,
    pub copy_most: u64,
    pub poll_time: Ps,
    pub barrier_time: Ps,
    pub call_time: Ps,
    pub host_jitter: Ps,
    pub cpu_factor: f64,
    pub cpu_threshold: Ps,
    pub reliability: bool,
    pub entries: u32,
    pub timeout: Ps,
    pub retries: u32,
    pub loss: f64,
    /// Links of nodes that fail.
    pub outages: Vec<Outage>,
    /// Nodes with parameters of their own.
    pub own: Vec<(Vec<TerminalId>, Params)>,
    /// The run is checked: see [`Machine::faults`](crate::machine::Machine::faults).
    pub check: bool,
}

/// Picoseconds of bytes at a bandwidth, rounded.
fn per_byte(bandwidth: Bandwidth) -> f64 {
    debug_assert!(bandwidth.bytes_per_s() > 0.0, "a bus carries something");
    1e12 / bandwidth.bytes_per_s()
}

impl Params {
    /// Reads checked values; outages and nodes of their own have readers of their own.
    #[must_use]
    pub fn from_values(v: &Values) -> Self {
        let int = |key: &str| u32::try_from(v.int(key)).unwrap_or(u32::MAX);
        Self {
            ranks_per_node: int("ranks_per_node"),
            bus_latency: v.time("bus_latency"),
            bus_per_byte: per_byte(v.bandwidth("bus_bandwidth")),
            bus: v.bool("bus"),
            commands: v.bool("commands"),
            tx_engines: int("tx_engines"),
            rx_engines: int("rx_engines"),
            inline: v.int("inline"),
            pio: v.int("pio"),
            pio_time: v.time("pio_time"),
            buffered: v.int("buffered"),
            first_packet: v.time("first_packet"),
            packet: v.time("packet"),
            message_time: v.time("message_time"),
            put_time: v.time("put_time"),
            get_time: v.time("get_time"),
            ack_time: v.time("ack_time"),
            empty_time: v.time("empty_time"),
            quick_acks: v.bool("quick_acks"),
            copy_most: v.int("copy_most"),
            poll_time: v.time("poll_time"),
            barrier_time: v.time("barrier_time"),
            call_time: v.time("call_time"),
            host_jitter: v.time("host_jitter"),
            cpu_factor: v.real("cpu_factor"),
            cpu_threshold: v.time("cpu_threshold"),
            reliability: v.bool("reliability"),
            entries: int("entries"),
            timeout: v.time("timeout"),
            retries: int("retries"),
            loss: v.real("loss"),
            outages: Vec::new(),
            own: Vec::new(),
            check: false,
        }
    }

    /// Time of bytes over the bus.
    #[must_use]
    pub fn bus_time(&self, bytes: u64) -> Ps {
        debug_assert!(self.bus_per_byte >= 0.0, "bytes take time, and give none");
        if self.bus { self.bus_latency + rounded(bytes as f64 * self.bus_per_byte) } else { 0 }
    }

    /// Time of a command or an event over the bus.
    #[must_use]
    pub fn control_time(&self, bytes: u64) -> Ps {
        if self.commands { self.bus_time(bytes) } else { 0 }
    }

    /// From the request of a payload to its first packet on the network.
    #[must_use]
    pub fn first_packet_time(&self, bytes: u64) -> Ps {
        if !self.bus {
            return 0;
        }
        let own = bytes.min(512) * self.packet / 512;
        self.first_packet + own
    }
}

impl Default for Params {
    /// Those of BXI.
    fn default() -> Self {
        Self {
            ranks_per_node: 1,
            bus_latency: 250 * NS,
            bus_per_byte: 1e12 / 11.1e9,
            bus: true,
            commands: true,
            tx_engines: 1,
            rx_engines: 1,
            inline: 8,
            pio: 408,
            pio_time: 200 * NS,
            buffered: 64,
            first_packet: 200 * NS,
            packet: 32_508,
            message_time: 2 * NS,
            put_time: 50 * NS,
            get_time: 250 * NS,
            ack_time: 200 * NS,
            empty_time: 300 * NS,
            quick_acks: false,
            copy_most: 64 << 20,
            poll_time: 10 * NS,
            barrier_time: 100_000 * NS,
            call_time: 0,
            host_jitter: 0,
            cpu_factor: 0.0,
            cpu_threshold: 0,
            reliability: false,
            entries: 8192,
            timeout: 10_000_000_000_000,
            retries: 5,
            loss: 0.0,
            outages: Vec::new(),
            own: Vec::new(),
            check: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::time::{MS, US};

    #[test]
    fn outages_and_lists_of_nodes_are_read() {
        let texts = ["3 at 5 us for 2 ms".to_owned(), "0 at 1 us".to_owned()];
        let read = outages(&texts, 4).expect("they are right");
        assert_eq!(read[0], Outage { node: TerminalId::new(3), from: 5 * US, until: 5 * US + 2 * MS });
        assert_eq!(read[1], Outage { node: TerminalId::new(0), from: US, until: Ps::MAX });
        let wrong = ["3 at 5", "at 5 us", "4 at 5 us", "1 at 5 us for ever"].map(str::to_owned);
        assert_eq!(outages(&wrong, 4).expect_err("all are wrong").len(), 4);
        assert_eq!(nodes("0-2, 7", 8).expect("a list"), [0, 1, 2, 7].map(TerminalId::new));
        for wrong in ["", "3-1", "8", "1;2"] {
            assert!(nodes(wrong, 8).is_err(), "{wrong:?}");
        }
    }
}
