//! The block of static congestion, which has no time in it.

use serde::{Deserialize, Serialize};

/// Static congestion: messages per directed link when all messages of a level are sent at once. A message's *congestion* is the
/// highest count on its way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Congestion {
    /// The pattern; those of several jobs joined by ` + `.
    pub pattern: String,
    /// Ranks of all jobs together.
    pub ranks: u32,
    /// Mappings of ranks to hosts.
    pub runs: u32,
    /// Levels that sent something.
    pub levels: u32,
    /// Messages over all levels and mappings.
    pub messages: u64,
    /// Messages without a path; they count nowhere else.
    pub unreachable: u64,
    /// Sum over levels of the highest congestion: an integer for one mapping, the mean over several.
    pub sum_max_cong: serde_json::Number,
    /// Mappings by that sum.
    pub hist_sum_max_cong: Counted,
    /// Highest congestion of each level over all mappings.
    pub max_cong_per_level: Vec<u32>,
    /// Messages by congestion.
    pub hist_max_cong: Counted,
    /// Fraction of the peak bandwidth over all messages: the mean of 1 / congestion; absent without messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_fraction: Option<f64>,
    /// Mean over mappings of their fraction: the effective bisection bandwidth, for `bisect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_bandwidth: Option<f64>,
    /// Half the width of its 95 % confidence interval; absent below 30 mappings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_bandwidth_half_width: Option<f64>,
    /// Mappings by their fraction, in twenty bins by lower edge; empty bins are left out.
    pub hist_acc_band: Counted,
    /// Longest chain of dependent messages by the rule of ORCS 2.0: mean over mappings. Absent if not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dep_max_delay_orcs2: Option<serde_json::Number>,
    /// The same over all dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dep_max_delay_all_deps: Option<serde_json::Number>,
    /// Mappings by delay, by the rule of ORCS 2.0.
    #[serde(default, skip_serializing_if = "Counted::is_empty")]
    pub hist_dep_max_delay: Counted,
    /// Mappings by delay over all dependencies.
    #[serde(default, skip_serializing_if = "Counted::is_empty")]
    pub hist_dep_max_delay_all_deps: Counted,
    /// Directed links of the network.
    pub edges: u32,
    /// Directed links that any message used. This and what follows is absent if not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges_used: Option<u32>,
    /// Sum of congestion over all links, levels and mappings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_cong_sum_total: Option<u64>,
    /// The greatest of the links' sums.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edge_cong_sum_max: Option<u64>,
    /// Used links by their sum.
    #[serde(default, skip_serializing_if = "Counted::is_empty")]
    pub edge_cong_hist: Counted,
    /// Sum of congestion of each used link, by `NUMBER:FROM->TO`.
    #[serde(default, skip_serializing_if = "Counted::is_empty")]
    pub edge_cong_sum: Counted,
}

/// Counts by key, in a given order: an object in JSON.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted(pub Vec<(String, u64)>);

impl Counted {
    /// True if there is nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Counted {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, count)| (key, count)))
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = serde_json::Map::<String, serde_json::Value>::deserialize(deserializer)?;
        let count = |(key, value): (String, serde_json::Value)| {
            value.as_u64().map(|n| (key, n)).ok_or_else(|| serde::de::Error::custom("a count is an integer"))
        };
        map.into_iter().map(count).collect::<Result<_, _>>().map(Self)
    }
}
