//! The numbers of a summary by name: what is compared between two runs, and the columns of a table of many.

use crate::summary::Summary;
use serde_json::Value as Json;

/// Blocks without numbers of the simulated system, and histograms, which are tables of their own.
const LEFT_OUT: [&str; 8] = [
    "schema",
    "fingerprint",
    "verdict",
    "experiment",
    "performance",
    "latency_by_hops",
    "phases",
    "max_cong_per_level",
];

/// Every number of a summary with its name: its path in `summary.json`, keys joined by dots; entries of lists stand under their own
/// name (`jobs.job-0.makespan_ps`, `links.global.mean_utilisation`). Cost of the simulation is not among them: all of it is the same for
/// every scheduler.
#[must_use]
pub fn numbers(summary: &Summary) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    if let Ok(Json::Object(object)) = serde_json::to_value(summary) {
        for (key, value) in &object {
            collect(key, key, value, &mut all);
        }
    }
    all
}

fn collect(path: &str, key: &str, value: &Json, all: &mut Vec<(String, f64)>) {
    if LEFT_OUT.contains(&key) || key.contains("hist") || key == "edge_cong_sum" {
        return;
    }
    match value {
        Json::Number(number) => all.extend(number.as_f64().map(|x| (path.to_owned(), x))),
        Json::Object(object) => {
            for (key, value) in object {
                collect(&format!("{path}.{key}"), key, value, all);
            }
        }
        Json::Array(items) => {
            // Classes of links stand beside the numbers of all links.
            let above = path.strip_suffix(".classes").unwrap_or(path);
            for item in items {
                if let Some(name) = item["name"].as_str().or_else(|| item["class"].as_str()) {
                    collect(&format!("{above}.{name}"), "", item, all);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::full;

    #[test]
    fn names_are_paths_and_none_is_twice() {
        let mut summary = full();
        summary.jobs[0].makespan_ps = Some(7);
        let all = numbers(&summary);
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        let mut once = names.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{names:?}");
        for name in
            ["simulated_ps", "latency_ps.mean", "throughput.accepted_fraction", "links.max_utilisation"]
        {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        assert!(names.iter().any(|n| n.starts_with("jobs.") && n.ends_with(".makespan_ps")), "{names:?}");
        assert!(names.iter().all(|n| !n.starts_with("performance") && !n.contains("wall_s")), "{names:?}");
    }
}
