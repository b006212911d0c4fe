//! `netloom fabric`: measures and exports, with and without faults, from whole experiments and from bare fabrics.

use crate::common::netloom;
use insta::assert_snapshot;
use serde_json::Value as Json;

const BARE: &str = "tests/fabric-only.toml";
const GOOD: &str = "tests/good.toml";

fn out(arguments: &[&str]) -> String {
    let run = netloom(arguments);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{arguments:?}");
    run.out
}

fn json(arguments: &[&str]) -> Json {
    serde_json::from_str(&out(arguments)).expect("one JSON object")
}

#[test]
fn metrics_of_a_bare_fabric_and_of_an_experiment() {
    assert_snapshot!("metrics-bare", out(&["fabric", "metrics", BARE]));
    assert_snapshot!("metrics-experiment", out(&["fabric", "metrics", GOOD]));
}

/// A 3 x 2 mesh by hand: 7 cables, diameter 3, 15 pairs of routers with a mean distance of 25/15 each way.
#[test]
fn metrics_as_json_agree_with_pencil_and_paper() {
    let m = json(&["fabric", "metrics", BARE, "--format", "json"]);
    assert_eq!((&m["routers"], &m["cables"]["local"]), (&Json::from(6), &Json::from(7)));
    assert_eq!(m["distances"]["diameter"], 3);
    let mean = m["distances"]["mean"].as_f64().expect("a number");
    assert!((mean - 25.0 / 15.0).abs() < 1e-12, "{mean}");
    assert_eq!(m["bisection"]["cables_at_most"], 3);
    assert!(m.get("faults").is_none());
}

#[test]
fn faults_count_as_failed() {
    let set = ["fabric", "metrics", BARE, "--set", "faults.routers=[5]", "--format", "json"];
    let m = json(&set);
    assert_eq!(m["faults"]["terminals_cut_off"], serde_json::json!([5]));
    assert_eq!((&m["faults"]["links"], &m["cables"]["local"]), (&Json::from(2), &Json::from(5)));
    assert_snapshot!("metrics-faults", out(&set[..5]));
}

#[test]
fn exports_in_every_form() {
    for form in ["dot", "json", "edge-list"] {
        assert_snapshot!(format!("export-{form}"), out(&["fabric", "export", BARE, "--to", form]));
    }
}

#[test]
fn an_exported_file_is_not_replaced_unless_asked_and_reads_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("network.json");
    let path = path.to_str().expect("text");
    let export = ["fabric", "export", GOOD, "--to", "json", "--out", path];
    assert_eq!(out(&export), "");
    let again = netloom(&export);
    assert_eq!(again.status, 7);
    assert!(again.err.contains("--force"), "{}", again.err);
    assert_eq!(out(&[&export[..], &["--force"]].concat()), "");
    let bare = dir.path().join("bare.toml");
    std::fs::write(&bare, "[fabric]\ntopology = \"graph\"\nfile = \"network.json\"\n").expect("a file");
    let bare = bare.to_str().expect("text");
    let (before, after) = (
        json(&["fabric", "metrics", GOOD, "--format", "json"]),
        json(&["fabric", "metrics", bare, "--format", "json"]),
    );
    assert_eq!(before["distances"], after["distances"]);
    assert_eq!((&before["terminals"], &before["routers"]), (&after["terminals"], &after["routers"]));
}

#[test]
fn mistakes_in_the_fabric_are_reported_and_others_are_not() {
    let run = netloom(&["fabric", "metrics", "tests/bad/unknown-key.toml"]);
    assert_eq!((run.status, run.out.as_str()), (3, ""));
    assert!(run.err.contains("did you mean `groups`?"), "{}", run.err);
    let run = netloom(&["fabric", "metrics", "tests/bad/unknown-workload.toml"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let run = netloom(&["fabric", "metrics", BARE, "--set", "faults.links=[\"0:9\"]"]);
    assert_eq!(run.status, 3);
    assert!(run.err.contains("router 0 has no port 9"), "{}", run.err);
}

/// Planes are measured once if they are alike and each by itself if not; forms that hold one network need to know which.
#[test]
fn rails_are_reported_and_exported() {
    let rails = ["fabric", "metrics", BARE, "--set", "fabric.rails=3"];
    assert_snapshot!("metrics-rails", out(&rails));
    let m = json(&[&rails[..], &["--format", "json"]].concat());
    assert_eq!((&m["rails"], &m["nodes"], &m["alike"]), (&3.into(), &6.into(), &true.into()));
    assert_eq!(m["planes"].as_array().map(Vec::len), Some(1));
    // Router 8 is router 2 of the second plane.
    let m = json(&[&rails[..], &["--set", "faults.routers=[8]", "--format", "json"]].concat());
    let cut = |p: usize| m["planes"][p]["faults"]["terminals_cut_off"].clone();
    assert_eq!((cut(0), cut(1), cut(2)), (Json::Null, serde_json::json!([2]), Json::Null));
    let export = ["fabric", "export", BARE, "--set", "fabric.rails=2", "--to"];
    assert_snapshot!("export-rails-dot", out(&[&export[..], &["dot"]].concat()));
    let one = out(&["fabric", "export", BARE, "--to", "json"]);
    assert_eq!(out(&[&export[..], &["json", "--plane", "1"]].concat()), one);
    assert_eq!(netloom(&[&export[..], &["json"]].concat()).status, 2);
    assert_eq!(netloom(&[&export[..], &["json", "--plane", "2"]].concat()).status, 2);
}

/// What would take hours or more memory than there is, is refused before it is built, with the reason.
#[test]
fn too_large_networks_are_refused_before_they_are_built() {
    let huge = ["fabric", "metrics", BARE, "--set", "fabric.dims=[8192, 4096]"];
    let run = netloom(&huge);
    assert_eq!((run.status, run.out.as_str()), (6, ""));
    assert!(run.err.contains("router ports: measuring it would take hours"), "{}", run.err);
}
