//! Interference for programs.

use super::{
    outcome::{Interference, Row},
    taken::Taken,
};
use serde_json::{Value as Json, json};

/// Value of `schema`.
pub const SCHEMA: &str = "netloom-interference-1";

impl Interference {
    /// All of it as one JSON object.
    #[must_use]
    pub fn object(&self) -> Json {
        json!({
            "schema": SCHEMA, "file": self.input.file.display().to_string(), "set": self.input.set,
            "model": self.model, "jobs": self.rows.iter().map(job).collect::<Vec<_>>(), "summary": self.together,
        })
    }
}

fn job(row: &Row) -> Json {
    let mut alone = taken(&row.alone);
    alone["summary"] = json!(row.summary);
    json!({
        "name": row.name, "ranks": row.ranks,
        "slow_down": row.slow_down.map(|(_, ratio)| ratio), "by": row.slow_down.map(|(by, _)| by.name()),
        "together": taken(&row.together), "alone": alone,
    })
}

fn taken(taken: &Taken) -> Json {
    json!({
        "makespan_ps": taken.makespan_ps,
        "messages": taken.latency.map(|l| l.messages),
        "latency_mean_ps": taken.latency.map(|l| l.mean_ps),
        "latency_p99_ps": taken.latency.map(|l| l.p99_ps),
        "messages_per_s": taken.messages_per_s,
        "bytes_per_s": taken.bytes_per_s,
    })
}
