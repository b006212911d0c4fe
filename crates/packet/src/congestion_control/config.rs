//! `[congestion_control]`: what all schemes share.

use super::scheme::{Built, Context, Scheme, SchemeEntry};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::{NS, Ps},
};
use std::sync::Arc;

/// Documentation and keys of the section.
pub const ABOUT: About = About {
    name: "congestion_control",
    summary: "routers mark packets, destinations notify sources, sources send slower",
    doc: "With this section terminals of model `packet` queue their messages by destination and hand packets over in turn, each flow at a pace that `scheme` \
          (`netloom list congestion-controls`) decides. Routers mark packets behind which many wait, the destination of a marked packet notifies its source `notification_delay` later, and that slows the flow. \
          Notifications take no bandwidth and are not lost: InfiniBand carries them in acknowledgements or small packets, RoCE in small packets of the highest priority. A message's latency \
          includes the time that its flow was held back, a packet's begins when it is handed over. The summary counts marks and notifications, and bytes and latencies by job; tables `marks` \
          (by link) and `injection` (rates by job over time). Works with every router, workload and scheduler. Not modelled: notifications in the network, \
          priority flow control (links have credits), time to change a rate.",
    source: "schemes: `netloom explain infiniband`, `netloom explain dcqcn`",
    params: &[
        Param {
            name: "notification_delay",
            kind: Kind::Time,
            default: Some("1 us"),
            doc: "Time from the arrival of a marked packet to its source's being notified: the path back, and both adapters.",
        },
        Param {
            name: "messages",
            kind: Kind::Int { min: 1, max: 65_536 },
            default: Some("64"),
            doc: "Most messages of a terminal that are queued by destination at a time; later ones wait at their source, in order, also for free destinations.",
        },
    ],
};

/// Congestion control of a run.
#[derive(Clone, Debug)]
pub struct CongestionControl {
    /// Name of the scheme.
    pub name: &'static str,
    /// What it decides.
    pub scheme: Arc<dyn Scheme>,
    /// From the arrival of a marked packet to the notification of its source.
    pub delay: Ps,
    /// Most messages that a terminal has taken over and not wholly handed over.
    pub messages: u32,
    /// A planted fault, false but in tests of the checkers: every hundredth notification of a terminal is forgotten by its sender.
    pub forgets: bool,
}

impl CongestionControl {
    /// Reads checked values, those of the scheme among them.
    ///
    /// # Errors
    /// Values that do not go together.
    pub fn from_values(entry: &SchemeEntry, values: &Values, context: Context) -> Result<Self, Vec<Problem>> {
        let delay = values.time("notification_delay");
        let mut problems = Vec::new();
        // It is the lookahead between partitions, too: with none they could not run side by side.
        if !(NS..=1_000_000_000 * NS).contains(&delay) {
            problems.push(Problem::new("notification_delay", "a notification takes 1 ns to 1 s"));
        }
        let built: Built = (entry.build)(values, context);
        let scheme = match built {
            Ok(scheme) if problems.is_empty() => scheme,
            Ok(_) => return Err(problems),
            Err(more) => return Err(problems.into_iter().chain(more).collect()),
        };
        Ok(Self { name: entry.about.name, scheme, delay, messages: values.u32("messages"), forgets: false })
    }
}
