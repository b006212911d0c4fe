//! `[adapter]`: what network adapters do with packets that arrive.

use base::{
    param::{Kind, Param, Problem, Values},
    rate::Bandwidth,
    registry::About,
    time::{NS, Ps},
};

/// Documentation and keys of the section.
pub const ABOUT: About = About {
    name: "adapter",
    summary: "injection queues, end-to-end windows, packets put back into order",
    doc: "Routings with several paths let packets of a pair of terminals overtake each other. With this section model `packet` counts them. With `resequencing` the destination's adapter \
          holds what came too early until what is missing is there, so that packets are handed on as their source sent them, pair by pair. It takes packets off the link at once, so a held packet holds no \
          buffer of the network and blocks nobody. The network is the same with and without: what differs is when packets are delivered, which is never sooner. Their time in the adapter is part of their latency \
          (`resequencing` among its parts). Where `buffer` is full, the adapter gives up waiting, as the reordering buffers of 802.11 and of multilink PPP do: of the pair whose packet found no room the first held packets are handed on \
          without the missing ones, and the missing ones at once when they come; each such gap is counted and the run flagged `out-of-order`. The summary's block `adapter` counts packets overtaken and held, how long, and the largest buffer. \
          With several planes each has an adapter, and order is that of a plane. Message numbers in tables are those of the pair. `queues`, `injection_rate` and `window` say how packets leave their source; acknowledgements for `window` take no bandwidth and are not lost. Not modelled: packets that are discarded for want of room, time of the adapter's own.",
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
        Param {
            name: "queues",
            kind: Kind::Choice(&["one", "destination", "modulo"]),
            default: Some("one"),
            doc: "Queues in which messages wait at their source: `one` in the order of messages, one for each `destination`, or `queue_count` of them, destinations dealt out by their numbers. \
                  Several send packets in turn; in one queue a message that may not go on stops all behind it.",
        },
        Param {
            name: "queue_count",
            kind: Kind::Int { min: 1, max: 65_536 },
            default: Some("4"),
            doc: "Queues of a terminal with `queues = \"modulo\"`.",
        },
        Param {
            name: "queue_messages",
            kind: Kind::Int { min: 1, max: 65_536 },
            default: Some("64"),
            doc: "Most messages in all queues of a terminal; later ones wait outside, in order, also for free queues. Without effect on one queue.",
        },
        Param {
            name: "schedule",
            kind: Kind::Choice(&["round-robin", "oldest"]),
            default: Some("round-robin"),
            doc: "Which of several queues sends the next packet: in turn, or that whose first message was created first.",
        },
        Param {
            name: "injection_rate",
            kind: Kind::Bandwidth,
            default: Some(""),
            doc: "Most that an adapter hands to its link, in payload per second; left out: what the link takes.",
        },
        Param {
            name: "window",
            kind: Kind::Bytes,
            default: Some("0 B"),
            doc: "End-to-end flow control: payload that may be under way from a terminal to a destination, handed over and not known to be taken; one packet may always be. 0 B: no bound.",
        },
        Param {
            name: "ack_delay",
            kind: Kind::Time,
            default: Some("1 us"),
            doc: "From a packet's being handed on at its destination until its source knows: the path back, and both adapters. It takes no bandwidth.",
        },
    ],
};

/// Why the section does not stand beside `[resilience]`.
pub const TRANSPORT: &str =
    "a transport over links that lose packets numbers them itself: adapters do not put them in order";

/// Why queues, rate and window do not stand beside `[congestion_control]`.
pub const CONTROL: &str = "congestion control queues messages by destination itself, and paces them";

/// Queues of a terminal's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// All in one.
    One,
    /// One for each destination.
    Destination,
    /// So many, by the destination's number.
    Modulo(u32),
}

/// How packets leave their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Injection {
    /// In which queues messages wait.
    pub queues: Queues,
    /// Most messages in them, at a time.
    pub messages: u32,
    /// The queue with the oldest message is served first, in place of all in turn.
    pub oldest: bool,
    /// Most payload per second that leaves a terminal.
    pub rate: Option<Bandwidth>,
    /// Most payload under way to a destination; 0 without bound.
    pub window: u64,
    /// From a packet's being taken until its source knows.
    pub ack_delay: Ps,
}

impl Injection {
    /// Of checked values; none if packets leave as they come.
    fn from_values(values: &Values) -> Option<Self> {
        let queues = match values.text("queues").as_str() {
            "destination" => Queues::Destination,
            "modulo" => Queues::Modulo(values.u32("queue_count")),
            _ => Queues::One,
        };
        let rate = values.0.get("injection_rate").map(|_| values.bandwidth("injection_rate"));
        let window = values.int("window");
        // A single queue takes its messages over one by one.
        let messages = if queues == Queues::One { 1 } else { values.u32("queue_messages") };
        let oldest = values.text("schedule") == "oldest";
        let some = queues != Queues::One || rate.is_some() || window > 0;
        some.then(|| Self { queues, messages, oldest, rate, window, ack_delay: values.time("ack_delay") })
    }
}

/// Adapters of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Packets are put back into order.
    pub resequencing: bool,
    /// Payload that a terminal holds at most; `u64::MAX` without bound.
    pub buffer: u64,
    /// How packets leave their source, if not as they come.
    pub injection: Option<Injection>,
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
        // It is the lookahead between partitions, too: with none they could not run side by side.
        if !(NS..=1_000_000_000 * NS).contains(&values.time("ack_delay")) {
            return Err(vec![Problem::new("ack_delay", "a source knows 1 ns to 1 s later")]);
        }
        let buffer = if buffer == 0 { u64::MAX } else { buffer };
        let (resequencing, injection) = (values.bool("resequencing"), Injection::from_values(values));
        Ok(Self { resequencing, buffer, injection, leaks: false })
    }
}
