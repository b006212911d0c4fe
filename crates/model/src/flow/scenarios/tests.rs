//! Completion times of the reference file, where it is at hand.

use super::*;
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
            flow.route = platform.route(a, b).unwrap();
            let ends = (flow.destination.clone(), flow.source.clone());
            ours.reverse.insert(ends, platform.route(b, a).unwrap());
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

/// Two links, one of them a fat pipe, by name and by index; a rate, an event, a way back that is not the mirror.
#[test]
fn all_parts_of_the_format_are_read() {
    let text = r#"{"scenarios": [{"name": "s", "links": [["a", 1e9, 1e-6, "SHARED"], ["b", 2e9, 0, "FATPIPE"]],
        "flows": [[0, "x", "y", 1000, ["a", 1]], [1e-3, "y", "x", 2000, [0], 5e8], [0, "x", "z", 0, ["b"], null]],
        "reverse_routes": [["y", "x", [1]]], "bandwidth_events": [[0.5, "a", 1e8]], "completion": {"maxmin": [1, 2, 3]}}]}"#;
    let s = read(text).unwrap().remove(0);
    assert_eq!(s.links[1].policy, Policy::FatPipe);
    assert_eq!(s.flows[0].route, [0, 1]);
    assert_eq!((s.flows[0].rate, s.flows[1].rate, s.flows[2].rate), (None, Some(5e8), None));
    assert_eq!(
        (s.back(&s.flows[0]), s.back(&s.flows[1]), s.back(&s.flows[2])),
        (vec![1], vec![0, 1], vec![1])
    );
    assert_eq!(s.events, [(0.5, 0, 1e8)]);
    for (bad, why) in [
        ("{}", "no `scenarios`"),
        (r#"{"scenarios": {"s": {"links": [["a", -1, 0, "SHARED"]]}}}"#, "bandwidth"),
        (r#"{"scenarios": {"s": {"links": [["a", 1, 0, "WIFI"]]}}}"#, "WIFI"),
        (r#"{"scenarios": {"s": {"links": [], "flows": [[0, "a", "b", 1, [3]]]}}}"#, "link 3"),
    ] {
        let told = read(bad).unwrap_err();
        assert!(told.contains(why), "{told}");
    }
}

/// A scenario of our own: three flows on a half-duplex link, worked out by hand.
#[test]
fn a_small_scenario_has_the_times_worked_out_by_hand() {
    let text = r#"{"scenarios": {"s": {"links": [["a", 1e9, 1e-6, "SHARED"]],
        "flows": [[0, "x", "y", 10000000, [0]], [0.004, "y", "x", 10000000, [0]], [0.005, "x", "y", 2000000, [0]]]}}}"#;
    let s = read(text).unwrap().remove(0);
    // Alone for 4 ms, two for 1 ms, three until the short one has its 2 MB, two, one.
    let times = s.run(Rules::plain());
    for (ours, exact) in times.iter().zip([0.018_001, 0.022_001, 0.011_001]) {
        assert!((ours - exact).abs() < 1e-12, "{times:?}");
    }
}
