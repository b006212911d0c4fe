//! How far a run is from a model that sees more, as a sample of its messages tells.

use serde::{Deserialize, Serialize};

/// How far the run's times are from those of a dearer model on which a part of its messages was played. Errors are relative to that model: positive where
/// this run took longer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EstimatedError {
    /// Name of the model on which the sample was played.
    pub against: String,
    /// Spans of time whose messages were played; 0 if the whole run was.
    pub windows: u32,
    /// Part of the run's bytes that was played: 1 for the whole.
    pub share: f64,
    /// Messages, or parts of them, that both models played.
    pub messages: u64,
    /// Error of the makespan; of windows: of what they took one after another. Absent where a run ends at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub makespan: Option<f64>,
    /// Mean error of the completion times of messages, with its sign.
    pub completion_mean: f64,
    /// Mean of the same without signs.
    pub completion_mean_absolute: f64,
    /// Median of the same without signs.
    pub completion_p50_absolute: f64,
    /// 95th percentile of the same without signs.
    pub completion_p95_absolute: f64,
}
