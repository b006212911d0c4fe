//! A comparison of models for programs.

use super::{
    outcome::{ModelComparison, Row},
    reasons::reasons,
};
use serde_json::{Map, Value as Json, json};

/// Value of `schema`.
pub const SCHEMA: &str = "netloom-models-1";

impl ModelComparison {
    /// All of it as one JSON object.
    #[must_use]
    pub fn object(&self) -> Json {
        let mut run = 0;
        let models: Vec<Json> = self
            .rows
            .iter()
            .map(|row| {
                let number = row.outcome.is_ok().then_some(run);
                run += usize::from(row.outcome.is_ok());
                self.model(row, number)
            })
            .collect();
        let reference = self.carried().next().map(|(row, _)| row.name());
        json!({
            "schema": SCHEMA, "file": self.input.file.display().to_string(), "set": self.input.set,
            "reference": reference, "models": models,
        })
    }

    fn model(&self, row: &Row, run: Option<usize>) -> Json {
        let by_name = |of: &dyn Fn(usize) -> Option<f64>| -> Map<String, Json> {
            let all = self.measures.iter().enumerate();
            all.filter_map(|(n, (measure, _))| Some((measure.name.clone(), json!(of(n)?)))).collect()
        };
        let variant = &row.variant;
        let mut object = json!({"model": row.name(), "carried": run.is_some()});
        match (&row.outcome, run) {
            (Ok(ran), Some(run)) => {
                let verdict = &ran.summary.verdict;
                object["state"] = json!(verdict.state.name());
                object["flags"] = json!(verdict.flags);
                object["reason"] = json!(reasons(self, run).join(" "));
                object["value"] = Json::Object(by_name(&|n| self.measures[n].1[run]));
                object["error"] = Json::Object(by_name(&|n| self.error(run, n)));
                object["faster"] = json!(self.faster(run));
                object["performance"] = json!(ran.summary.performance);
                object["summary"] = json!(ran.summary);
            }
            (Err(reason), _) => {
                object["state"] = Json::Null;
                object["flags"] = json!([]);
                object["reason"] = json!(reason);
                object["value"] = json!({});
                object["error"] = json!({});
            }
            (Ok(_), None) => {}
        }
        object["set"] = json!(variant.set);
        object["left_out"] = json!(variant.left_out);
        object
    }
}
