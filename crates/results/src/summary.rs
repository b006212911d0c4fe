//! The summary of a run: the contract that scripts read as `summary.json` or `--format json`.
//!
//! Keys are stable and appear in the order of the fields. Blocks that do not apply are absent. Times are picoseconds:
//! integers for extremes and percentiles, floats for means. Everything but [`Performance`] is the same, byte for byte,
//! for every scheduler, thread and partition count.

use base::{hash::Fingerprint, time::Ps, visible};
use serde::{Deserialize, Serialize};

mod adapter;
mod congestion;
mod congestion_control;
mod estimated_error;
mod hybrid;
mod performance;
mod programs;
mod slow_down;

pub use adapter::{Adapter, Resequencing};
pub use congestion::{Congestion, Counted};
pub use congestion_control::{CongestionControl, ControlledJob};
pub use estimated_error::EstimatedError;
pub use hybrid::{Hybrid, Phase, Zombies};
pub use performance::{Chosen, Performance, Speculation, Trial};
pub use programs::{CriticalPath, Nodes, Sent};
pub use slow_down::{SizeSlowDown, SlowDown};

/// Value of [`Summary::schema`].
pub const SCHEMA: &str = "netloom-summary-1";

/// All that a run says about itself in short.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Version of this format: [`SCHEMA`].
    pub schema: String,
    /// Fingerprint of everything that happened, 32 hexadecimal digits.
    pub fingerprint: String,
    /// Whether the numbers can be trusted.
    pub verdict: Verdict,
    /// The resolved experiment without `[engine]`.
    pub experiment: serde_json::Value,
    /// Virtual time that was simulated.
    pub simulated_ps: Ps,
    /// Packets; absent in models without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<Counts>,
    /// Messages; absent in models without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Counts>,
    /// Payload bytes of delivered packets.
    pub bytes_delivered: u64,
    /// Latency of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ps: Option<Latency>,
    /// Latency of messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_latency_ps: Option<Latency>,
    /// Completion times of messages over those alone on the idle network; present where they are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_down: Option<SlowDown>,
    /// Where packets spent their time; the parts sum to the mean of [`Summary::latency_ps`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_parts_ps: Option<LatencyParts>,
    /// Mean number of routers that packets visited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops_mean: Option<f64>,
    /// Latency by number of routers visited, ascending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_by_hops: Vec<HopLatency>,
    /// Offered and accepted traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Confidence of the mean packet latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// One entry per job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Job>,
    /// What ranks sent within their nodes and out of them; absent where each terminal has one rank and no `[node]` is described.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// One entry per service class; absent without classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub service_classes: Vec<ServiceClass>,
    /// Use of links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<Links>,
    /// Bytes in the network's buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers: Option<Buffers>,
    /// Static congestion; present for that model alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Congestion>,
    /// What a hybrid run did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<Hybrid>,
    /// What links lost, and what the protocol did about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resilience: Option<Resilience>,
    /// What congestion control did, and what jobs got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<CongestionControl>,
    /// Order of packets at their destinations; absent without `[adapter]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Adapter>,
    /// Energy of the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// How far the run is from a dearer model; present if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_error: Option<EstimatedError>,
    /// Speed and memory of the simulator: the only block that differs between runs of one experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub performance: Option<Performance>,
}

impl Summary {
    /// A summary with no optional block.
    #[must_use]
    pub fn new(fingerprint: Fingerprint, verdict: Verdict, experiment: serde_json::Value) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            fingerprint: fingerprint.to_string(),
            verdict,
            experiment,
            simulated_ps: 0,
            packets: None,
            messages: None,
            bytes_delivered: 0,
            latency_ps: None,
            message_latency_ps: None,
            slow_down: None,
            latency_parts_ps: None,
            hops_mean: None,
            latency_by_hops: Vec::new(),
            throughput: None,
            confidence: None,
            jobs: Vec::new(),
            nodes: None,
            service_classes: Vec::new(),
            links: None,
            buffers: None,
            congestion: None,
            hybrid: None,
            resilience: None,
            congestion_control: None,
            adapter: None,
            energy: None,
            estimated_error: None,
            performance: None,
        }
    }

    /// The same without what may differ between two runs of one experiment.
    #[must_use]
    pub fn without_performance(&self) -> Self {
        let mut same = Self { performance: None, ..self.clone() };
        same.hybrid.iter_mut().flat_map(|h| &mut h.phases).for_each(|p| (p.wall_s, p.cpu_s) = (0.0, None));
        same
    }

    /// Indented JSON that ends with a newline; names act on no terminal that shows it.
    #[must_use]
    pub fn to_json(&self) -> String {
        let json = serde_json::to_string_pretty(self).expect("all keys are strings") + "\n";
        visible::screen(&json).into_owned()
    }

    /// Reads what [`Summary::to_json`] wrote.
    ///
    /// # Errors
    /// Those of the JSON reader: the text is no JSON, or lacks a field that every summary has.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

/// Outcome of a run and the flags that travel with its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The gravest thing that was found.
    pub state: State,
    /// All that were found, in the order of [`State`] and beyond it, such as `too-few-samples`.
    pub flags: Vec<String>,
    /// Facts behind the verdict, a line each: the channels of a deadlock, the starved source. Absent if none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detail: Vec<String>,
}

impl Verdict {
    /// Nothing found: numbers can be trusted.
    #[must_use]
    pub fn ok() -> Self {
        Self { state: State::Ok, flags: Vec::new(), detail: Vec::new() }
    }

    /// Adds a finding: its name becomes a flag, and the state if it is graver than the present one.
    pub fn find(&mut self, state: State, detail: impl IntoIterator<Item = String>) {
        self.state = self.state.max(state);
        self.flag(state.name());
        self.detail.extend(detail);
    }

    /// Adds a flag that does not change the state, once.
    pub fn flag(&mut self, flag: &str) {
        debug_assert!(crate::flags::is_known(flag), "`{flag}` has no line in flags.rs");
        if !self.flags.iter().any(|f| f == flag) {
            self.flags.push(flag.to_owned());
        }
    }
}

/// Outcome of a run, from harmless to grave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The run did what was asked, and its means describe a steady state.
    Ok,
    /// The mean latency drifts: the run is too short or the warm-up missing.
    NotStationary,
    /// Sources offer more than the network accepts: latency depends on the length of the run.
    Saturated,
    /// The run was ended by a limit before the workload was done, some of the workload's file was not simulated, or its programs do not fit together: messages that nobody
    /// receives, collectives that differ.
    Incomplete,
    /// A source or packet waits without bound while others pass.
    Starved,
    /// Packets wait for each other in a cycle.
    Deadlock,
}

impl State {
    /// Its name in `summary.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::NotStationary => "not-stationary",
            Self::Saturated => "saturated",
            Self::Incomplete => "incomplete",
            Self::Starved => "starved",
            Self::Deadlock => "deadlock",
        }
    }
}

/// Things that enter and leave; `injected = delivered + in_flight`, and with `[resilience]` what links lost besides: `delivered` is what arrived, then also
/// acknowledgements, duplicates and what was tampered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Handed to the network.
    pub injected: u64,
    /// Arrived whole at their destination.
    pub delivered: u64,
    /// Neither at the end of the run.
    pub in_flight: u64,
}

/// Distribution of a latency in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Smallest sample, exact.
    pub min: Ps,
    /// Mean, exact but for its last bits.
    pub mean: f64,
    /// Median, within 0.1 %.
    pub p50: Ps,
    /// 95th percentile, within 0.1 %.
    pub p95: Ps,
    /// 99th percentile, within 0.1 %.
    pub p99: Ps,
    /// Largest sample, exact.
    pub max: Ps,
    /// Number of samples.
    pub count: u64,
}

/// Mean time of packets in each part of their way, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyParts {
    /// Waiting at the source before the first chunk moves.
    pub source_queue: f64,
    /// In the terminals' adapters.
    pub adapter: f64,
    /// Waiting in routers for links, credits and allocators.
    pub hop_queue: f64,
    /// On the way from first to last byte.
    pub serialisation: f64,
    /// Fixed delay of routers.
    pub router: f64,
    /// Propagation on links.
    pub wire: f64,
    /// Waiting at the destination for earlier or missing chunks.
    pub resequencing: f64,
}

impl LatencyParts {
    /// Number of parts.
    pub const COUNT: usize = 7;

    /// Names of the parts, in order.
    pub const NAMES: [&'static str; Self::COUNT] =
        ["source queue", "adapter", "hop queue", "serialisation", "router", "wire", "resequencing"];

    /// Means from exact sums over `count` packets, in the order of the fields; `None` without packets.
    #[must_use]
    pub fn from_sums(sums: [u128; Self::COUNT], count: u64) -> Option<Self> {
        let [source_queue, adapter, hop_queue, serialisation, router, wire, resequencing] =
            sums.map(|s| s as f64 / count as f64);
        let parts = Self { source_queue, adapter, hop_queue, serialisation, router, wire, resequencing };
        (count > 0).then_some(parts)
    }

    /// The parts in the order of the fields.
    #[must_use]
    pub fn to_array(&self) -> [f64; Self::COUNT] {
        let Self { source_queue, adapter, hop_queue, serialisation, router, wire, resequencing } = *self;
        [source_queue, adapter, hop_queue, serialisation, router, wire, resequencing]
    }
}

/// Latency of the packets that visited a number of routers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopLatency {
    /// Number of routers that its packets visited.
    pub hops: u32,
    /// Number of packets.
    pub count: u64,
    /// Smallest latency of these packets, in picoseconds.
    pub min_ps: Ps,
    /// Mean latency of these packets, in picoseconds.
    pub mean_ps: f64,
}

/// Traffic offered to and accepted by the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Offered, as a fraction of the bandwidth of all used terminal links over the measured time, by each job from its start on; absent in closed loops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_fraction: Option<f64>,
    /// Delivered, as the same fraction.
    pub accepted_fraction: f64,
    /// Delivered payload of all terminals together.
    pub accepted_bytes_per_s: f64,
}

/// What became of the packets of a service class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceClass {
    /// Name of the class, as the experiment gives it.
    pub name: String,
    /// Latency of its packets; absent if none arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ps: Option<Latency>,
    /// Offered and accepted, as fractions of its jobs' terminal links; absent if it has no jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
}

/// How far the mean packet latency can be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confidence {
    /// Half width of the interval around the mean.
    pub mean_half_width_ps: f64,
    /// Chance that the interval holds the true mean.
    pub level: f64,
    /// Number of batches behind it.
    pub batches: u32,
    /// How it was computed: `batch-means`.
    pub method: String,
}

impl From<crate::batch::MeanInterval> for Confidence {
    fn from(i: crate::batch::MeanInterval) -> Self {
        Self {
            mean_half_width_ps: i.half_width,
            level: 0.95,
            batches: i.batches,
            method: "batch-means".to_owned(),
        }
    }
}

/// A job's outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its name, as users write and read it.
    pub name: String,
    /// Number of ranks.
    pub ranks: u32,
    /// Messages that its ranks created and received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Counts>,
    /// Time from its start to its last operation; absent for endless jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub makespan_ps: Option<Ps>,
    /// Fraction of its ranks' time spent computing; absent without compute operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_fraction: Option<f64>,
    /// Where the time of its critical path goes; present where operations of a program that ended are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
}

/// Use of directed links after the warm-up, as fractions of time that they were busy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Links {
    /// Mean over all links.
    pub mean_utilisation: f64,
    /// Of the busiest link.
    pub max_utilisation: f64,
    /// By link class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<LinkClass>,
}

/// Use of the links of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkClass {
    /// Name of the class.
    pub class: String,
    /// Number of directed links.
    pub links: u64,
    /// Mean over them.
    pub mean_utilisation: f64,
    /// Of the busiest of them.
    pub max_utilisation: f64,
}

/// Bytes in all buffers of routers together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Buffers {
    /// Mean over time.
    pub mean_bytes: f64,
    /// Most at any time that was sampled.
    pub max_bytes: u64,
}

/// What the network took, over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// All of it, in joules: routers, interfaces and links.
    pub total_j: f64,
    /// Energy of the routers, in joules.
    pub routers_j: f64,
    /// Interfaces of terminals.
    pub nics_j: f64,
    /// Energy of the links, in joules.
    pub links_j: f64,
    /// Mean power in watts.
    pub mean_w: f64,
    /// All of it by message delivered; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_message_j: Option<f64>,
    /// What bits on links took, by message delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bits_per_message_j: Option<f64>,
    /// All of it by bit of payload delivered, in picojoules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_payload_bit_pj: Option<f64>,
    /// By link class.
    pub links: Vec<LinkEnergy>,
}

/// Energy of the links of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkEnergy {
    /// Name of the class.
    pub class: String,
    /// Links counted once for each direction.
    pub links: u64,
    /// Bits that were put on them.
    pub bits: f64,
    /// Joules of these bits.
    pub bits_j: f64,
    /// Joules of being awake.
    pub awake_j: f64,
    /// Joules of sleeping.
    pub asleep_j: f64,
    /// Joules of waking.
    pub waking_j: f64,
    /// Share of the time that they slept.
    pub asleep_share: f64,
    /// How often they woke.
    pub wakings: u64,
    /// Links that carried nothing; absent if the model does not know each link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused: Option<u64>,
    /// Joules of these, awake and asleep; parts of the numbers above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_j: Option<f64>,
}

/// What links lost, and what the protocol over them did about it. Counts are of packets, over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resilience {
    /// `dor`, `pnc` or `ncd`.
    pub protocol: String,
    /// Handed over by terminals.
    pub sent: SentPackets,
    /// Lost on links.
    pub lost: ByPurpose,
    /// The same by link class; those without any are left out.
    pub lost_by_class: Counted,
    /// Changed on their way, and discarded by their destination.
    pub tampered: ByPurpose,
    /// Data that arrived and brought nothing new.
    pub duplicates: u64,
    /// Data packets sent for each that was needed; absent if none was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmissions_mean: Option<f64>,
    /// Payload that arrived for the first time, per second of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_bytes_per_s: Option<f64>,
    /// That payload as a fraction of all bytes of data packets sent, heads and repetitions included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiency: Option<f64>,
}

/// Packets handed over by terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentPackets {
    /// Data, for the first time: as many as messages need.
    pub first: u64,
    /// Data beyond that, to make up for what will be lost.
    pub redundant: u64,
    /// Data sent again.
    pub retransmitted: u64,
    /// Acknowledgements among the packets.
    pub acknowledgements: u64,
}

/// Packets by what they carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByPurpose {
    /// Packets that carry data.
    pub data: u64,
    /// Acknowledgements among the packets.
    pub acknowledgements: u64,
}

#[cfg(test)]
pub(crate) mod tests;
