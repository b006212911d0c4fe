//! Completion times of SimGrid's reference file, where it is at hand.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use base::index::TerminalId;
use fabric::platform::Link;
use flow::{
    scenarios::{read, rules},
    sharing::Policy,
};
use serde_json::Value as Json;
use std::path::Path;

/// Worst relative error of a set of times.
fn worst(ours: &[f64], theirs: &[f64]) -> f64 {
    ours.iter().zip(theirs).map(|(a, b)| (a - b).abs() / b).fold(0.0, f64::max)
}

/// The reference file, if it is there.
fn reference() -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/flow/simgrid-scenarios.json");
    let path = std::env::var_os("NETLOOM_FLOW_SCENARIOS").map_or(path, Into::into);
    let text = std::fs::read_to_string(&path).ok();
    if text.is_none() {
        eprintln!("SKIPPED: no {}: set NETLOOM_FLOW_SCENARIOS to a file of scenarios", path.display());
    }
    text
}

#[test]
fn completion_times_are_those_of_simgrid() {
    let Some(text) = reference() else { return };
    for scenario in read(&text).unwrap() {
        for (name, theirs) in &scenario.completion {
            let rules = rules(name).unwrap();
            let tolerance = if rules.cross > 0.0 { 5e-4 } else { 1e-9 };
            let error = worst(&scenario.run(rules), theirs);
            assert!(error <= tolerance, "{} {name}: {error:e}", scenario.name);
        }
    }
}

/// The same flows on platforms made from the clusters that the scenarios were made of: our routes must meet the same links.
#[test]
fn clusters_have_the_routes_of_simgrid() {
    let Some(text) = reference() else { return };
    let json: Json = serde_json::from_str(&text).unwrap();
    let mut clusters = 0;
    for scenario in read(&text).unwrap() {
        let Some(cluster) = json["scenarios"][&scenario.name]["cluster"].as_str() else { continue };
        let xml = format!(
            "<platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><cluster {cluster}/></zone></platform>"
        );
        let platform = fabric::topology::platform::parse(&xml, false).unwrap();
        let host = |name: &str| platform.hosts.iter().position(|h| h == name).unwrap() as u32;
        let mut ours = scenario.clone();
        let links = platform.links.iter();
        let policy = |p| if p == fabric::platform::Policy::Shared { Policy::Shared } else { Policy::FatPipe };
        ours.links = links
            .map(|l| Link {
                name: l.name.clone(),
                bandwidth: l.bandwidth,
                latency: l.latency,
                policy: policy(l.policy),
            })
            .collect();
        ours.reverse.clear();
        for flow in &mut ours.flows {
            let (a, b) = (host(&flow.source), host(&flow.destination));
            flow.route = platform.route(TerminalId::new(a), TerminalId::new(b)).unwrap();
            let ends = (flow.destination.clone(), flow.source.clone());
            ours.reverse.insert(ends, platform.route(TerminalId::new(b), TerminalId::new(a)).unwrap());
        }
        for (name, theirs) in &scenario.completion {
            let rules = rules(name).unwrap();
            let tolerance = if rules.cross > 0.0 { 5e-4 } else { 1e-9 };
            let error = worst(&ours.run(rules), theirs);
            assert!(error <= tolerance, "{} {name}: {error:e}", scenario.name);
        }
        clusters += 1;
    }
    assert!(clusters >= 3, "the file has a star, a fat tree and a torus");
}
