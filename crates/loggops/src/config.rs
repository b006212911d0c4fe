//! Parameters of the delay model: the `[model]` section with `kind = "delay"`.

use super::resilient::{self, Resilient};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};

/// What messages cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Overhead and gap at both ends (LogGOPS).
    LogGops,
    /// Nothing at the ends: a message is there after its delay, and ranks compute meanwhile.
    Pure,
}

/// Order of what happens at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// As created, counted over all ranks: LogGOPSim's order. All ranks are one cell.
    Queue,
    /// As created by time, then by the creator's creation, then by rank: known without a count, so ranks can be partitioned.
    Causes,
}

/// Parameters of the delay model.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayConfig {
    /// What messages cost at their ends.
    pub cost: Cost,
    /// L: latency of every message.
    pub latency: Ps,
    /// Added to the latency for every link between routers.
    pub hop_latency: Ps,
    /// Pure delay: time per byte, added to the latency.
    pub byte_time: Ps,
    /// o: processor time of a send or receive.
    pub overhead: Ps,
    /// O: processor time of every byte but the first.
    pub byte_overhead: Ps,
    /// g: network interface time of a send or receive.
    pub gap: Ps,
    /// G: network interface time of every byte but the first.
    pub byte_gap: Ps,
    /// S: a message with more bytes waits for its receiver (rendezvous).
    pub eager: u64,
    /// Order of what happens at the same time.
    pub ties: Ties,
    /// Messages are sent by a resilient protocol: its delays take the place of latency, hops and bytes (with [`Cost::Pure`]).
    pub resilient: Option<Resilient>,
}

/// Longer than any run: costs are cut here, so that sums of times do not overflow.
pub(crate) use model::setup::LONGEST;

/// Documentation and keys of the model.
pub const ABOUT: About = About {
    name: "delay",
    summary: "Rank programs with LogGOPS costs, with pure delays of hops and bytes, or with those of resilient protocols",
    doc: "Every operation of every rank is simulated; the network has no queues: a message is there after a delay. With `cost = \
          \"loggops\"` a send holds the processor for o + (s-1) O and the interface for g + (s-1) G, arrives o + L later, and holds the \
          receiver's processor for o + (s-1) max(O, G) and its interface for g + (s-1) G, posted or not; s is the size in bytes, \
          and (s-1) is 0 for an empty message. Larger messages than `eager` are sent by rendezvous: the send ends when \
          a receive has matched, which the sender knows at once. A receive costs nothing itself. Among operations that \
          wait for the same processor and interface the one that became executable first goes first. With several processors an operation of a \
          GOAL file may start in the past, as it does there: the clock of its own processor alone counts (flag `starts-in-past`). A rank's makespan is its last processor time. With `cost = \"pure\"` messages cost the ranks nothing; with \"resilient\" neither, and each takes the mean time of a protocol with acknowledgements \
          over its number of links. Such a run has one partition; of a program that probes or receives from anybody, messages are matched as they arrive. \
          Where [fabric] gives the costs, messages within a terminal take no time but that of [node]. A link that is slower than the sender's holds its interface once \
          the buffers before that link are full. Not modelled: contention in the network, operating-system noise, other paths than shortest ones (flags `shortest-paths` and \
          `single-path`).",
    source: "Hoefler, Schneider, Lumsdaine: LogGOPSim, Simulating Large-Scale Applications in the LogGOPS Model, LSAP 2010; agrees \
             with the program LogGOPSim, with its sort of simultaneous operations made stable. Resilient protocols: HAEC-SIM, section 4",
    params: &ALL,
};

const LOGGOPS: [Param; 13] = [
    Param {
        name: "cost",
        kind: Kind::Choice(&["loggops", "loggp", "pure", "resilient"]),
        default: Some("loggops"),
        doc: "What messages cost. `loggops`: all parameters. `loggp`: without O and without rendezvous (both keys have no effect). \
                  `pure`: only latency, hops and bytes; processors and interfaces are free (o, g, G, O and `eager` have no effect). `resilient`: as \
                  `pure`, but a message takes the mean time of a protocol over links that lose packets, by hops and size (keys from \
                  `protocol` on; `latency`, `hop_latency` and `byte_time` have no effect either).",
    },
    Param {
        name: "latency",
        kind: Kind::Time,
        default: Some("2500 ns"),
        doc: "L, the latency of every message. If neither it nor `hop_latency` is in the file and [fabric] has links, it is that of each pair's \
                  shortest path.",
    },
    Param {
        name: "hop_latency",
        kind: Kind::Time,
        default: Some("0 s"),
        doc: "Added to the latency for every link between routers on a shortest path from source to destination.",
    },
    Param {
        name: "byte_time",
        kind: Kind::Time,
        default: Some("0 s"),
        doc: "Added to the latency for every byte, with `cost = \"pure\"`. If neither it nor `latency` nor `hop_latency` is in the file and [fabric] has links, it is that of the slowest link of a path.",
    },
    Param {
        name: "overhead",
        kind: Kind::Time,
        default: Some("1500 ns"),
        doc: "o, processor time of a send, and of a message at its receiver. If it is not in the file and [fabric] has links, it is 0 s, as of model \"packet\".",
    },
    Param {
        name: "byte_overhead",
        kind: Kind::Time,
        default: Some("0 s"),
        doc: "O, processor time of every byte but the first.",
    },
    Param {
        name: "gap",
        kind: Kind::Time,
        default: Some("1000 ns"),
        doc: "g, interface time of a message at either end. If it is not in the file and [fabric] has links, it is 0 s.",
    },
    Param {
        name: "byte_gap",
        kind: Kind::Time,
        default: Some("6 ns"),
        doc: "G, interface time of every byte but the first. If it is not in the file and [fabric] has links, it is that of the slowest link on the path.",
    },
    Param {
        name: "eager",
        kind: Kind::Bytes,
        default: Some("65535 B"),
        doc: "S, size of the largest message that is sent without waiting for its receiver. A program with larger messages, or with messages of \
                  unknown size, runs in one partition, because the end of a rendezvous takes no time.",
    },
    Param {
        name: "ties",
        kind: Kind::Choice(&["queue", "causes"]),
        default: Some("queue"),
        doc: "Order of what happens at the same time and wants the same processor. `queue`: as it was created, counted over all ranks, \
                  exactly as LogGOPSim; all ranks run in one partition. `causes`: by time of creation, then the creator's, then rank; ranks can be \
                  partitioned. The two differ only where two things were created at the same instant. `pure` costs always use `causes`.",
    },
    Param {
        name: "router_delay",
        kind: Kind::Time,
        default: Some(""),
        doc: "Time in a router, for a latency that [fabric] gives; 100 ns if left out, as of model \"packet\".",
    },
    Param {
        name: "chunk",
        kind: Kind::Bytes,
        default: Some(""),
        doc: "Bytes that a router takes in before it sends them on, for a latency that [fabric] gives; 64 B if left out, as of model \"packet\".",
    },
    Param {
        name: ranks::params::CONTROL.name,
        kind: Kind::Bytes,
        default: Some(""),
        doc: "Bytes of a request or grant of a message beyond `eager`, for a latency that [fabric] gives; 16 B if left out.",
    },
];

const ALL: [Param; LOGGOPS.len() + resilient::PARAMS.len()] = {
    let mut all = [LOGGOPS[0]; LOGGOPS.len() + resilient::PARAMS.len()];
    let mut n = 0;
    while n < all.len() {
        all[n] = if n < LOGGOPS.len() { LOGGOPS[n] } else { resilient::PARAMS[n - LOGGOPS.len()] };
        n += 1;
    }
    all
};

impl DelayConfig {
    /// LogGOPS with LogGOPSim's defaults.
    #[must_use]
    pub fn loggops() -> Self {
        Self {
            cost: Cost::LogGops,
            latency: 2_500_000,
            hop_latency: 0,
            byte_time: 0,
            overhead: 1_500_000,
            byte_overhead: 0,
            gap: 1_000_000,
            byte_gap: 6_000,
            eager: 65_535,
            ties: Ties::Queue,
            resilient: None,
        }
    }

    /// Pure delay by latency, hops and bytes: ranks and interfaces take no time, and no message asks first.
    #[must_use]
    pub fn pure(latency: Ps, hop_latency: Ps, byte_time: Ps) -> Self {
        let ends = Self { overhead: 0, byte_overhead: 0, gap: 0, byte_gap: 0, ..Self::loggops() };
        Self {
            cost: Cost::Pure,
            latency,
            hop_latency,
            byte_time,
            eager: u64::MAX,
            ties: Ties::Causes,
            ..ends
        }
    }

    /// Messages by a resilient protocol, which cost their ranks nothing else.
    #[must_use]
    pub fn resilient(resilient: Resilient) -> Self {
        let injection = resilient.parameters.injection;
        Self { resilient: Some(resilient), ..Self::pure(injection, 0, 0) }
    }

    /// Reads checked values.
    ///
    /// # Errors
    /// Parameters with which messages would take no time.
    pub fn from_values(values: &Values) -> Result<Self, Vec<Problem>> {
        let all = Self {
            cost: Cost::LogGops,
            latency: values.time("latency"),
            hop_latency: values.time("hop_latency"),
            byte_time: 0,
            overhead: values.time("overhead"),
            byte_overhead: values.time("byte_overhead"),
            gap: values.time("gap"),
            byte_gap: values.time("byte_gap"),
            eager: values.int("eager"),
            ties: if values.text("ties") == "queue" { Ties::Queue } else { Ties::Causes },
            resilient: None,
        };
        if values.text("cost") != "resilient" {
            resilient::unread(values)?;
        }
        let config = match values.text("cost").as_str() {
            "loggops" => all,
            "loggp" => Self { byte_overhead: 0, eager: u64::MAX, ..all },
            "resilient" => {
                let resilient = Resilient::from_values(values)?;
                Self::resilient(resilient)
            }
            _ => Self::pure(all.latency, all.hop_latency, values.time("byte_time")),
        };
        if config.overhead + config.latency == 0 {
            let problem = Problem::new("latency", "a message must take time");
            return Err(vec![problem.help("make `latency` or `overhead` at least 1 ps")]);
        }
        Ok(config)
    }

    /// Processor and interface time of sending `bytes`.
    #[inline]
    pub(crate) fn sending(&self, bytes: u64) -> (Ps, Ps) {
        let rest = bytes.saturating_sub(1);
        (cost(self.overhead, rest, self.byte_overhead), cost(self.gap, rest, self.byte_gap))
    }

    /// What a message of `bytes` takes at an interface that is modelled elsewhere, which pays for its own processing: until the interface
    /// is free again (g and G), and until the last byte has passed (G alone).
    #[must_use]
    pub fn passing(&self, bytes: u64) -> (Ps, Ps) {
        let rest = bytes.saturating_sub(1);
        (cost(self.gap, rest, self.byte_gap), cost(0, rest, self.byte_gap))
    }

    /// Processor and interface time of receiving `bytes`.
    #[inline]
    pub(crate) fn receiving(&self, bytes: u64) -> (Ps, Ps) {
        let rest = bytes.saturating_sub(1);
        let byte = self.byte_overhead.max(self.byte_gap);
        (cost(self.overhead, rest, byte), cost(self.gap, rest, self.byte_gap))
    }
}

/// A cost with its share per byte; what is longer than any run is as long as [`LONGEST`].
#[inline]
fn cost(fixed: Ps, bytes: u64, each: Ps) -> Ps {
    fixed.saturating_add(bytes.saturating_mul(each)).min(LONGEST)
}
