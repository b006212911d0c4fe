//! What a run cost: the one block of a summary that differs between machines and schedulers.

use serde::{Deserialize, Serialize};

/// Cost of the simulation itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    /// Elapsed seconds of the run.
    pub wall_s: f64,
    /// Processor seconds, user and system, of all ranks; absent where the platform does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_s: Option<f64>,
    /// Events that count: those taken back are not among them.
    pub events: u64,
    /// Events per second: of processor time with one thread, of elapsed time with several threads or ranks.
    pub events_per_s: f64,
    /// Chunks times routers visited; absent in models without chunks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_hops: Option<u64>,
    /// Chunk-hops per second, as `events_per_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_hops_per_s: Option<f64>,
    /// Largest resident memory, of the rank that has most; absent where the platform does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_rss_bytes: Option<u64>,
    /// Name of the scheduler that ran it: `sequential`, `conservative`, `optimistic`; `data-parallel` for static congestion.
    pub scheduler: String,
    /// Partitions of the network.
    #[serde(default)]
    pub partitions: u32,
    /// Threads used in each rank.
    pub threads: u32,
    /// Windows after which threads and ranks met; absent with one of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<u64>,
    /// What running ahead came to; absent if the scheduler does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speculation: Option<Speculation>,
    /// MPI ranks used.
    pub ranks: u32,
    /// Why this scheduler; absent unless the simulator chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Chosen>,
}

/// How the simulator chose its scheduler.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// The reason, in words.
    pub why: String,
    /// What was measured, a trial for each scheduler; empty if there was no choice.
    pub trials: Vec<Trial>,
}

/// A scheduler on trial: the first events of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Name of the scheduler.
    pub scheduler: String,
    /// Partitions of the network.
    pub partitions: u32,
    /// Shortest time between partitions, in picoseconds; absent with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lookahead_ps: Option<u64>,
    /// Events between two meetings of threads or ranks; absent with one of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events_per_window: Option<f64>,
    /// Events that were measured, after as many that were not.
    pub events: u64,
    /// Elapsed seconds that they took.
    pub wall_s: f64,
    /// Virtual time that they covered, in picoseconds.
    pub virtual_ps: u64,
}

/// What an optimistic scheduler did ahead of what was certain.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speculation {
    /// Share of the events handled that count.
    pub efficiency: f64,
    /// How often a partition went back.
    pub rollbacks: u64,
    /// Events that were taken back.
    pub rolled_back: u64,
    /// Handlers that failed in states that never were, and were taken back.
    #[serde(default)]
    pub failures: u64,
    /// Most bytes that a thread kept to take events back.
    pub peak_history_bytes: u64,
}
