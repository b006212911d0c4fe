//! `[resilience]`: chances of losses, and the transport that makes up for them.

use crate::losses::Chance;
use base::{
    param::{Kind, Param, Problem, Values, class_values},
    registry::About,
    time::{NS, Ps},
};
use resilience::Protocol;

/// How a receiver reports to the sender what came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// By packets of so many bytes.
    Packet(u32),
    /// Beside the network, so long after the packet; never lost.
    OutOfBand(Ps),
}

/// Losses and transport of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Resilience {
    /// `Dor`, `Pnc` or `Ncd`.
    pub protocol: Protocol,
    /// By link class, the terminals' first.
    pub chances: Vec<Chance>,
    /// Packets of a window or generation, 1 to 32.
    pub window: u32,
    /// Time after which a packet that is not acknowledged is sent again.
    pub timeout: Ps,
    /// Each timer that ends doubles the next.
    pub backoff: bool,
    /// How packets are acknowledged.
    pub ack: Ack,
    /// Bytes of a packet that are no payload.
    pub head: u32,
    /// Most messages of a terminal under way.
    pub messages: u32,
    /// A planted fault, for tests of the checkers: duplicates count as if they were new.
    pub count_duplicates: bool,
}

/// Greatest probability of a loss.
pub const MOST: f64 = 0.999_999;

const PROBABILITY: Kind = Kind::Real { min: 0.0, max: MOST };

/// Documentation and keys of the section.
pub const ABOUT: About = About {
    name: "resilience",
    summary: "links that lose packets, and the protocol that makes up for it",
    doc: "With this section links of model `packet` lose packets, and terminals send by a protocol under which every message arrives once. A packet \
          that is lost occupies its link and the buffer behind it and is discarded there; credits are not lost. One that is changed travels to its destination, is \
          verified and discarded. `loss`, `bit_errors` and `tamper` hold for links between routers; the lists by class hold for the \
          classes that they name, `terminal` included, whose links lose nothing otherwise. The three protocols are those of HAEC-SIM, from end \
          to end: see `netloom explain delay` and docs/resilience.md. All packets are routed whole, as with `route_per = \"packet\"`. Latency and \
          payload count the first arrival of each packet; messages are numbered by pair of terminals. Not modelled: retries by single links, \
          signatures' processing (`adapter_delay` and `router_delay` stand for it), recoding in routers, links that fail during the run.",
    source: "Pfennig, Feldhoff, Ciorba, Franz, Reiher, Bielert, Ilsche, Nagel: HAEC-SIM, 2016; back-off: RFC 6298",
    params: &[
        Param {
            name: "protocol",
            kind: Kind::Choice(&["dor", "pnc", "ncd"]),
            default: Some("dor"),
            doc: "How messages are sent: windows with acknowledgements, random combinations in rounds, or these with as many more as will be lost.",
        },
        Param {
            name: "loss",
            kind: PROBABILITY,
            default: Some("0.0"),
            doc: "Probability that a link between routers loses a packet.",
        },
        Param {
            name: "bit_errors",
            kind: PROBABILITY,
            default: Some("0.0"),
            doc: "Bit-error rate of links between routers: a packet of n bytes is lost with 1 - (1 - BER)^(8 n), beside `loss`.",
        },
        Param {
            name: "tamper",
            kind: PROBABILITY,
            default: Some("0.0"),
            doc: "Probability that a packet is changed on a link between routers.",
        },
        Param {
            name: "class_loss",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Loss of link classes in place of `loss`, such as `[\"global=0.01\", \"terminal=0.001\"]`.",
        },
        Param {
            name: "class_bit_errors",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Bit-error rates of link classes, likewise.",
        },
        Param {
            name: "class_tamper",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Tampering on link classes, likewise.",
        },
        Param {
            name: "window",
            kind: Kind::Int { min: 1, max: 32 },
            default: Some("5"),
            doc: "Packets of a window or generation: the next one follows when all of it is acknowledged.",
        },
        Param {
            name: "timeout",
            kind: Kind::Time,
            default: Some("50 us"),
            doc: "Time from a packet's start onto the terminal's link after which it is sent again; choose it longer than a round trip under load.",
        },
        Param {
            name: "backoff",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "Each timer that ends doubles the next ones of its message, up to 64 times, until something new is acknowledged.",
        },
        Param {
            name: "ack",
            kind: Kind::Choice(&["packet", "out-of-band"]),
            default: Some("packet"),
            doc: "Acknowledgements are packets that contend and may be lost, or reach the sender after `ack_delay`, always.",
        },
        Param {
            name: "ack_size",
            kind: Kind::Bytes,
            default: Some("41 B"),
            doc: "Bytes of an acknowledgement that is a packet.",
        },
        Param {
            name: "ack_delay",
            kind: Kind::Time,
            default: Some("1 us"),
            doc: "Time that an out-of-band acknowledgement takes.",
        },
        Param {
            name: "head",
            kind: Kind::Bytes,
            default: Some("0 B"),
            doc: "Bytes of each packet that carry no payload (identifiers, signature); 37 B for dor and 36 B + `window` for coding, in HAEC-SIM.",
        },
        Param {
            name: "messages",
            kind: Kind::Int { min: 1, max: 4096 },
            default: Some("16"),
            doc: "Most messages of a terminal that are under way at a time; later ones wait at their source.",
        },
    ],
};

/// A probability of a class.
type Field = fn(&mut Chance) -> &mut f64;

impl Resilience {
    /// Reads checked values; `classes` are the network's, `packet` the bytes of a packet.
    ///
    /// # Errors
    /// Values that do not go together.
    pub fn from_values(values: &Values, classes: &[&str], packet: u32) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let common = Chance {
            loss: values.real("loss"),
            bit_errors: values.real("bit_errors"),
            tamper: values.real("tamper"),
        };
        // A value for all classes first; what is given for a class by name replaces it.
        let mut chances = vec![common; classes.len()];
        if let Some(terminal) = chances.first_mut() {
            // The first class are the links of terminals: they lose nothing unless they are named.
            *terminal = Chance::default();
        }
        let fields: [(&str, Field); 3] = [
            ("class_loss", |c| &mut c.loss),
            ("class_bit_errors", |c| &mut c.bit_errors),
            ("class_tamper", |c| &mut c.tamper),
        ];
        for (key, field) in fields {
            match class_values(key, &values.texts(key), classes, MOST) {
                Ok(all) => all.into_iter().for_each(|(class, p)| *field(&mut chances[class]) = p),
                Err(problem) => problems.push(problem),
            }
        }
        let (head, ack_size) = (values.int("head"), values.int("ack_size"));
        // All that does not go together is gathered: a user mends it in one go.
        if head >= u64::from(packet) {
            let message =
                format!("a packet of {packet} B has no room for a payload beside a head of {head} B");
            problems.push(Problem::new("head", message));
        }
        let in_band = values.text("ack") == "packet";
        if in_band && (ack_size == 0 || ack_size > u64::from(packet)) {
            let message = format!(
                "`ack_size` is {ack_size} B; an acknowledgement has 1 B to {packet} B, the size of a packet"
            );
            problems.push(Problem::new("ack_size", message));
        }
        // It is the lookahead between partitions, too: with none they could not run side by side.
        if !in_band && values.time("ack_delay") < NS {
            problems.push(Problem::new("ack_delay", "an acknowledgement takes 1 ns or more"));
        }
        let times: &[&str] = if in_band { &["timeout"] } else { &["timeout", "ack_delay"] };
        for &key in times {
            if values.time(key) > 1_000_000_000 * NS {
                problems.push(Problem::new(key, format!("`{key}` is longer than 1 s")));
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            protocol: Protocol::of(&values.text("protocol")).unwrap_or(Protocol::Dor),
            chances,
            window: values.u32("window"),
            timeout: values.time("timeout"),
            backoff: values.bool("backoff"),
            ack: if in_band {
                Ack::Packet(ack_size as u32)
            } else {
                Ack::OutOfBand(values.time("ack_delay"))
            },
            head: head as u32,
            messages: values.u32("messages"),
            count_duplicates: false,
        })
    }
}
