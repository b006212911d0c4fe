//! Ways of a routing, written and read back: the same run; an edited line moves one pair.

use crate::common::netloom;
use serde_json::Value as Json;
use std::fs;

fn summary(arguments: &[&str]) -> Json {
    let run = netloom(&[arguments, &["--format", "json"]].concat());
    assert_eq!(run.status, 0, "{}", run.err);
    serde_json::from_str(&run.out).expect("one object")
}

#[test]
fn written_paths_give_the_same_run() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    for (file, form, routing) in [
        ("mesh-8x8", "source-routes", "source-routes"),
        ("mesh-8x8", "table", "table"),
        ("dragonfly-72", "source-routes", "source-routes"),
    ] {
        let (file, out) = (format!("../../examples/{file}.toml"), path(&format!("{file}.{form}")));
        let written = netloom(&["fabric", "route", &file, "--to", form, "--out", &out]);
        assert_eq!(written.status, 0, "{}", written.err);
        let short =
            ["run", file.as_str(), "--set", "experiment.duration=6 us", "--set", "experiment.warmup=1 us"];
        let chosen = format!("routing={{ algorithm = \"{routing}\", file = \"{out}\" }}");
        let (before, after) = (summary(&short), summary(&[&short[..], &["--set", &chosen]].concat()));
        assert_eq!(before["fingerprint"], after["fingerprint"], "{file} {form}");
    }
}

#[test]
fn an_edited_line_moves_one_pair() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (file, out) = ("../../examples/mesh-8x8.toml", path("ways"));
    assert_eq!(netloom(&["fabric", "route", file, "--to", "source-routes", "--out", &out]).status, 0);
    let text = fs::read_to_string(&out).expect("written");
    // From one corner to its neighbour across: dimension 1 first, on the same virtual channel.
    let edited = text.replace("\n0 9 1/0 3/0\n", "\n0 9 3/0 1/0\n");
    assert_ne!(edited, text);
    fs::write(&out, edited).expect("written");
    let chosen = format!("routing={{ algorithm = \"source-routes\", file = \"{out}\" }}");
    let short = ["run", file, "--set", "experiment.duration=6 us", "--set", "experiment.warmup=1 us"];
    let (before, after) = (summary(&short), summary(&[&short[..], &["--set", &chosen]].concat()));
    assert_ne!(before["fingerprint"], after["fingerprint"]);
    // Both ways are equally long: latency without contention stays.
    assert_eq!(before["latency_ps"]["min"], after["latency_ps"]["min"]);
    let refused = netloom(&["fabric", "route", file, "--to", "lfts"]);
    assert_eq!(refused.status, 2, "{}", refused.err);
    let drawn = ["fabric", "route", file, "--to", "table", "--set", "routing.algorithm=minimal-adaptive"];
    assert!(netloom(&drawn).err.contains("goes by queues"));
}
