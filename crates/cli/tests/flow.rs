//! The flow model from the outside: scenarios, platforms, two runs side by side.

use crate::common::netloom;
use serde_json::Value as Json;
use std::fs;

#[test]
fn scenarios_give_their_times_and_say_if_not() {
    let good = netloom(&["flow", "scenarios", "tests/scenarios.json", "--format", "json"]);
    assert_eq!(good.status, 0, "{} {}", good.out, good.err);
    let json: Json = serde_json::from_str(&good.out).expect("one object");
    assert_eq!(json["experiments"].as_array().map(Vec::len), Some(5));

    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let text = fs::read_to_string("tests/scenarios.json").expect("the file");
    fs::write(path("wrong.json"), text.replace("0.1275", "0.12751")).expect("written");
    let wrong = netloom(&["flow", "scenarios", &path("wrong.json"), "--out", &path("kept")]);
    assert_eq!(wrong.status, 10, "{}", wrong.err);
    assert!(wrong.out.contains("BEYOND"), "{}", wrong.out);
    // What is kept runs as any experiment.
    let run = netloom(&["run", &path("kept/two_flows/plain.toml"), "--format", "json"]);
    assert_eq!(run.status, 0, "{}", run.err);
    let summary: Json = serde_json::from_str(&run.out).expect("one object");
    assert_eq!(summary["jobs"][0]["makespan_ps"], 40_001_000_000u64);

    fs::write(path("bad.json"), text.replace("FATPIPE", "WIFI")).expect("written");
    let bad = netloom(&["flow", "scenarios", &path("bad.json")]);
    assert_eq!(bad.status, 4);
    assert!(bad.err.contains("WIFI"), "{}", bad.err);
}

#[test]
fn compare_puts_two_models_side_by_side() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let store = |name: &str, more: &[&str]| {
        let (out, file) = (path(name), "../../examples/flow-fat-tree.toml");
        let run = netloom(&[&["run", file, "--out", &out], more].concat());
        assert_eq!(run.status, 0, "{}", run.err);
        out
    };
    let flow = store("flow", &[]);
    let again = store("again", &[]);
    let slower = store("slower", &["--set", "fabric.link.tree.latency=60 ns"]);
    let same = netloom(&["compare", &flow, &again]);
    assert_eq!(same.status, 0, "{}", same.out);
    assert!(same.out.contains("same fingerprint"), "{}", same.out);
    let other = netloom(&["compare", &flow, &slower, "--format", "json"]);
    assert_eq!(other.status, 10, "{}", other.out);
    let json: Json = serde_json::from_str(&other.out).expect("one object");
    assert_eq!(json["messages"]["matched"], 7680);
    assert!(json["messages"]["mean_signed"].as_f64().is_some_and(|m| m > 0.0));
    assert_eq!(netloom(&["compare", &flow, &slower, "--tolerance", "10"]).status, 0);
    let strict = ["compare", &flow, &slower, "--tolerance", "10", "--tolerance-of", "jobs=0"];
    assert_eq!(netloom(&strict).status, 10);
    assert_eq!(netloom(&["compare", &flow, &path("nothing")]).status, 4);
    assert_eq!(netloom(&["compare", &flow, &slower, "--tolerance", "-1"]).status, 2);
}

/// An experiment on a platform with one change to its text.
fn on_platform(from: &str, to: &str) -> crate::common::Run {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    for name in ["flow-platform.toml", "platforms/two-clusters.xml", "platforms/two-clusters.pairs"] {
        let text = fs::read_to_string(format!("../../examples/{name}")).expect("an example");
        let target = path(name);
        fs::create_dir_all(target.parent().expect("a file lies somewhere")).expect("made");
        fs::write(target, text.replace(from, to)).expect("written");
    }
    netloom(&["run", &path("flow-platform.toml").display().to_string()])
}

#[test]
fn bad_platforms_and_messages_are_reported_with_their_lines() {
    assert_eq!(on_platform("", "").status, 0);
    for (from, to, status, reported) in [
        ("version=\"4.1\"", "version=\"9\"", 4, "versions 4 and 4.1"),
        ("1.25GBps", "-1.25GBps", 4, "above zero"),
        ("id=\"between\" direction", "id=\"betwen\" direction", 4, "there is no link"),
        (
            "<zoneRoute src=\"left\" dst=\"right\"",
            "<zoneRoute symmetrical=\"NO\" src=\"left\" dst=\"right\"",
            3,
            "no route from `r0` to `l1`",
        ),
        ("11      0 ", "12      0 ", 4, "there is no rank 12"),
        ("kind = \"flow\"", "kind = \"packet\"", 3, "cannot follow the routes of a platform"),
        ("two-clusters.xml", "three-clusters.xml", 4, "cannot be read"),
        ("bb_lat=", "bb_latt=", 4, "did you mean `bb_lat`?"),
    ] {
        let run = on_platform(from, to);
        assert_eq!(run.status, status, "{from}: {}", run.err);
        assert!(run.err.contains(reported), "{from}: {}", run.err);
    }
}

/// A platform has no routers: nothing is measured or written that is not there.
#[test]
fn platforms_are_not_taken_for_a_router() {
    for command in [&["metrics"][..], &["export", "--to", "dot"]] {
        let run = netloom(&[&["fabric"], command, &["../../examples/flow-platform.toml"]].concat());
        assert_eq!(run.status, 3, "{}", run.out);
        assert!(run.err.contains("it has no routers and cables to measure or write"), "{}", run.err);
    }
}
