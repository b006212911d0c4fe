//! Completion times of the reference file, where it is at hand.

use super::*;
use std::path::Path;

/// Worst relative error of a set of times.
fn worst(ours: &[f64], theirs: &[f64]) -> f64 {
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs() / b).fold(0.0, f64::max)
}

#[test]
fn completion_times_are_those_of_simgrid() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/flow/simgrid-scenarios.json");
    let path = std::env::var_os("NETLOOM_FLOW_SCENARIOS").map_or(path, Into::into);
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED: no {}: set NETLOOM_FLOW_SCENARIOS to a file of scenarios", path.display());
        return;
    };
    for scenario in read(&text).unwrap() {
        for (name, theirs) in &scenario.completion {
            let rules = rules(name).unwrap();
            let tolerance = if rules.cross > 0.0 { 5e-4 } else { 1e-9 };
            let error = worst(&scenario.run(rules), theirs);
            eprintln!("{} {name}: {error:e}", scenario.name);
            assert!(error <= tolerance, "{} {name}: {error:e}", scenario.name);
        }
    }
}
