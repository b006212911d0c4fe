//! Hybrid simulation: the packet model, replaced for a while by a predictor. State, rules and invariants are in `HYBRID.md`.

pub mod conductor;
mod cost;
pub mod directors;
pub mod drift;
pub mod estimate;
pub mod learn;
pub mod predict;
pub mod predicted;
pub mod queues;
pub mod size;
pub mod sketch;

use base::{
    param::{Kind, Param, Problem, Values},
    registry::{About, Registered},
    time::Ps,
};
use directors::Strategy;
use predict::Recipe;
use std::sync::Arc;
use workload::interval::Interval;

/// What becomes of the network while packets bypass it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It stands still; what is in it is delivered by prediction and goes on as zombies.
    Zombies,
    /// It runs on and empties.
    Lite,
    /// It empties, and is filled with ghosts of predicted packets before the return.
    Reheat,
}

impl Treatment {
    /// Names, in the order of the variants.
    pub const NAMES: &[&str] = &["zombies", "lite", "reheat"];

    /// The one of a name; the default for an unknown one.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name {
            "lite" => Self::Lite,
            "reheat" => Self::Reheat,
            _ => Self::Zombies,
        }
    }
}

/// What is predicted as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// One prediction for each packet.
    Packet,
    /// One prediction for each message.
    Message,
}

/// A hybrid run, resolved.
#[derive(Clone)]
pub struct HybridSetup {
    /// How predictors are made.
    pub recipe: Arc<dyn Recipe>,
    /// When to switch.
    pub director: &'static DirectorEntry,
    /// Its parameters, and those of `[hybrid]`.
    pub values: Values,
    /// What becomes of the network.
    pub treatment: Treatment,
    /// What is predicted.
    pub level: Level,
    /// Packets delivered in this span before the switch are learned from.
    pub window: Ps,
    /// Length of the re-heating.
    pub reheat: Ps,
    /// Stays in a suspended network last whole periods of the traffic.
    pub in_phase: bool,
    /// Destinations' queues go on growing in a stay.
    pub queues: bool,
    /// A planted fault: zombies are delivered like other packets. False but to see that tests find it.
    pub deliver_zombies: bool,
}

impl HybridSetup {
    /// Reads checked values.
    #[must_use]
    pub fn from_values(recipe: Arc<dyn Recipe>, director: &'static DirectorEntry, values: &Values) -> Self {
        Self {
            recipe,
            director,
            treatment: Treatment::named(&values.text("treatment")),
            level: if values.text("level") == "message" { Level::Message } else { Level::Packet },
            window: values.time("window"),
            reheat: values.time("reheat"),
            in_phase: values.bool("in_phase"),
            queues: values.bool("queues"),
            values: values.clone(),
            deliver_zombies: false,
        }
    }
}

/// The run that a director is made for.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// When it ends, at the latest.
    pub end: Ps,
    /// Longest period of its traffic, if any has one.
    pub period: Option<Interval>,
    /// Terminals of its machine.
    pub terminals: u32,
    /// How long a full packet takes on a terminal's link; 0 if that is not known.
    pub packet: Ps,
}

impl Frame {
    /// The longest stay of at most `stay` after which a suspended network wakes in phase with its sources.
    #[must_use]
    pub fn in_phase(&self, setup: &HybridSetup, stay: Ps) -> Option<Ps> {
        let wanted = setup.in_phase && setup.treatment == Treatment::Zombies;
        self.period.filter(|_| wanted).map(|p| p.fit(stay)).filter(|&whole| whole > 0)
    }
}

/// A director that a user can name.
pub struct DirectorEntry {
    /// Name, documentation, parameters.
    pub about: About,
    /// It looks at sketches of what is handed over.
    pub sketches: bool,
    /// Makes it for a run.
    pub build: fn(&HybridSetup, &Frame) -> Built,
}

/// A director, or why there is none.
pub type Built = Result<Box<dyn Strategy>, Vec<Problem>>;

impl Registered for DirectorEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

/// `[hybrid]`, beside what predictor and director take.
pub const ABOUT: About = About {
    name: "hybrid",
    summary: "when and how a predictor replaces the network",
    doc: "For model \"hybrid\", which may do without: then it switches by itself. Other models leave the section alone. `predictor` and `director` name entries of `netloom list`, whose \
          parameters stand beside them. A packet that is predicted is delivered once, by prediction: what is left of it in a suspended network goes \
          on as a zombie, which loads links and buffers and is discarded at its destination, unseen by workload and statistics. \
          Latency by hops and the parts of latency are of packets that the network delivered only.",
    source: "Cruz-Camacho et al., section 3",
    params: &[
        Param {
            name: "treatment",
            kind: Kind::Choice(Treatment::NAMES),
            default: Some("zombies"),
            doc: "What becomes of the network: it is suspended and wakes with its packets as zombies (the paper's hybrid), it runs on and \
                  empties (hybrid-lite), or it empties and copies of predicted packets fill it again before the return.",
        },
        Param {
            name: "reheat",
            kind: Kind::Time,
            default: Some("50 us"),
            doc: "Treatment `reheat`: how long before the return copies of predicted packets enter the network.",
        },
        Param {
            name: "in_phase",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "Treatment `zombies`, traffic with constant arrival: a stay lasts whole periods of the traffic (of the longest, where jobs differ), so \
                  that the network wakes in the phase of its sources in which it was suspended. Director `times` enters up to a period later than \
                  the file says, `automatic` ends its longest stay up to a period earlier. Stays shorter than a period are left as they are.",
        },
        Param {
            name: "queues",
            kind: Kind::Bool,
            default: Some("true"),
            doc: "Destinations' links carry what they can: a fluid queue at each of them, fed by what is handed over, goes on in a stay. Predicted latencies follow it, \
                  and with treatment `zombies` the network wakes with as many packets more as queues have grown by. Without effect where no \
                  terminal's link is full.",
        },
        Param {
            name: "level",
            kind: Kind::Choice(&["packet", "message"]),
            default: Some("packet"),
            doc: "What bypasses the network as one: each packet, or each message. A message takes as long as its last packet; its packets count, but \
                  have no latencies of their own.",
        },
        Param {
            name: "window",
            kind: Kind::Time,
            default: Some("1 ms"),
            doc: "Predictors learn from packets that are delivered in this span before the switch, since the last return at most.",
        },
    ],
};
