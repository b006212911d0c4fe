//! Simulations from the outside: results, output directories, studies.

use crate::common::netloom;
use serde_json::Value as Json;
use std::{fs, path::Path};

const GOOD: &str = "tests/good.toml";

/// The summary of a run without its `performance` block.
fn summary(arguments: &[&str]) -> Json {
    let all: Vec<&str> = ["run", GOOD, "--format", "json"].iter().chain(arguments).copied().collect();
    let run = netloom(&all);
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    let mut object: Json = serde_json::from_str(&run.out).expect("one JSON object");
    let performance = object.as_object_mut().expect("an object").shift_remove("performance");
    assert!(performance.is_some_and(|p| p["threads"] == 1));
    object
}

#[test]
fn a_run_prints_one_object_and_is_repeatable() {
    let first = summary(&["--check"]);
    assert_eq!(first, summary(&["--check"]));
    assert_eq!(first["schema"], "netloom-summary-1");
    assert_eq!(first["simulated_ps"], 1_000_000);
    assert_eq!(first["experiment"]["experiment"]["name"], "good");
    let packets = &first["packets"];
    let count = |key: &str| packets[key].as_u64().expect("a count");
    assert!(count("injected") > 0);
    assert_eq!(count("injected"), count("delivered") + count("in_flight"));
}

#[test]
fn partitions_do_not_change_the_result() {
    let of = |n: &str| summary(&["--set", &format!("engine.partitions={n}")]);
    let one = of("1");
    assert_eq!(one, of("2"));
    assert_eq!(one, of("64"));
}

/// 72 terminals hand each other too little between two meetings of threads. An experiment that asks for two partitions has them.
#[test]
fn small_networks_keep_to_one_thread() {
    let used = |set: &[&str]| {
        let given =
            ["run", GOOD, "--set", "engine.scheduler=conservative", "--threads", "2", "--format", "json"];
        let run = netloom(&[&given[..], set].concat());
        assert_eq!(run.status, 0, "{set:?}: {}", run.err);
        let object: Json = serde_json::from_str(&run.out).expect("one JSON object");
        let of = |key: &str| object["performance"][key].as_u64().expect("a count");
        (of("partitions"), of("threads"), object["fingerprint"].clone(), run.err)
    };
    let (partitions, threads, one, note) = used(&[]);
    assert_eq!((partitions, threads), (1, 1), "{note}");
    assert!(note.contains("note: 2 threads were asked for and 1 used: "), "{note}");
    for set in ["engine.spare=false", "engine.partitions=2"] {
        let (partitions, _, other, _) = used(&["--set", set]);
        assert_eq!((partitions, &other), (2, &one), "{set}");
    }
}

/// Who used fewer threads than were asked for says why: there are no more partitions, or the system refuses threads.
#[cfg(unix)]
#[test]
fn notes_say_why_there_are_fewer_threads() {
    let given = ["run", GOOD, "--threads", "64", "--format", "json", "--set"];
    let set = ["engine.scheduler=conservative", "--set", "engine.spare=false"];
    let used = |limit: &str| {
        let script = format!("{limit} exec \"$0\" \"$@\"");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_netloom")]).args(given).args(set);
        let output = command.output().expect("it starts");
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{note}");
        let object: Json = serde_json::from_slice(&output.stdout).expect("one JSON object");
        (object["performance"]["threads"].as_u64(), object["fingerprint"].clone(), note)
    };
    let (all, one, free) = used("");
    assert_eq!(all, Some(36), "{free}");
    assert!(free.contains("36 used: the run has 36 partition(s)"), "{free}");
    let (some, other, limited) = used("ulimit -v 700000;");
    assert!(some < all && one == other, "{limited}");
    assert!(limited.contains("used: the system lets this process have no more"), "{limited}");
}

#[test]
fn every_part_of_an_experiment_changes_it() {
    // Small buffers, so that credits matter.
    let base = [
        "--set",
        "job.0.load=1.0",
        "--set",
        "fabric.link.local.vc_buffer=128 B",
        "--set",
        "experiment.duration=2 us",
    ];
    let fingerprint =
        |change: &str| summary(&[&base[..], &["--set", change]].concat())["fingerprint"].clone();
    let plain = fingerprint("experiment.seed=1");
    for change in [
        "experiment.seed=2",
        "experiment.duration=3 us",
        "fabric.link.local.latency=31 ns",
        "fabric.link.global.bandwidth=3 GiB/s",
        "fabric.link.local.credit_delay=5 ns",
        "fabric.arrangement=absolute",
        "routing.algorithm=progressive-adaptive",
        "job.0.load=0.6",
        "job.0.message=512 B",
        "job.0.arrival=poisson",
        "job.0.placement=random",
        "job.0.ranks=70",
        "job.0.start=10 ns",
        "job.0.draw=codes",
        "model.chunk=128 B",
        "model.router=input-queued",
        "model.router_delay=90 ns",
        "model.adapter_delay=10 ns",
        "model.adapter_jitter=0.5 ns",
    ] {
        assert_ne!(plain, fingerprint(change), "{change}");
    }
    let adaptive = ["--set", "routing.algorithm=progressive-adaptive", "--set"];
    let per = |what: &str| summary(&[&adaptive[..], &[what]].concat())["fingerprint"].clone();
    assert_ne!(per("model.route_per=chunk"), per("model.route_per=packet"));
    for no_change in ["experiment.name=other", "output.packets=true", "output.window=100 ns"] {
        assert_eq!(plain, fingerprint(no_change), "{no_change}");
    }
}

#[test]
fn the_text_leads_with_the_verdict() {
    let run = netloom(&["run", GOOD]);
    assert_eq!(run.status, 0);
    assert!(run.out.starts_with("verdict "), "{}", run.out);
    assert!(run.out.contains("\nfingerprint "));
    assert_eq!(run.err, "");
    let run = netloom(&["run", GOOD, "--set", "output.packets=true"]);
    assert!(run.err.contains("only with --out"), "{}", run.err);
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

#[test]
fn an_output_directory_is_complete_and_not_overwritten() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("a/run");
    let arguments = ["run", GOOD, "--format", "json", "--set", "output.packets=true", "--out", text(&dir)];
    let run = netloom(&arguments);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(fs::read_to_string(dir.join("summary.json")).expect("a summary"), run.out);
    let manifest = fs::read_to_string(dir.join("manifest.json")).expect("a manifest");
    let manifest: Json = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["inputs"][0]["path"], GOOD);
    assert_eq!(manifest["seed"], 1);
    assert!(manifest["started"].as_str().is_some_and(|t| t.contains('T') && t.ends_with('Z')));
    assert!(dir.join("packets.parquet").is_file());

    // A run long enough to be noticed: the refusal comes before it.
    let long = [&arguments[..], &["--set", "experiment.duration=1000 s"]].concat();
    let again = netloom(&long);
    assert_eq!((again.status, again.out.as_str()), (7, ""));
    assert!(again.err.contains("exists already") && again.err.contains("--force"), "{}", again.err);
    let forced = netloom(&[&arguments[..], &["--force"]].concat());
    assert_eq!(forced.status, 0, "{}", forced.err);
}

#[test]
fn an_impossible_output_directory_is_reported_before_the_run() {
    for dir in ["Cargo.toml/run", "Cargo.toml", "/"] {
        let run = netloom(&["run", GOOD, "--set", "experiment.duration=1000 s", "--out", dir]);
        assert_eq!((run.status, run.out.as_str()), (7, ""), "{dir}: {}", run.err);
    }
    let run = netloom(&["run", GOOD, "--set", "experiment.duration=1000 s", "--out", "src", "--force"]);
    assert_eq!(run.status, 7, "{}", run.err);
    assert!(Path::new("src/lib.rs").exists());
}

#[test]
fn what_does_not_fit_in_memory_is_refused_unless_allowed() {
    let run = netloom(&["run", GOOD, "--memory-limit", "1 KiB"]);
    assert_eq!((run.status, run.out.as_str()), (6, ""));
    assert!(run.err.contains("--memory-limit none"), "{}", run.err);
    assert_eq!(netloom(&["run", GOOD, "--memory-limit", "none"]).status, 0);
    let large = ["--set", "fabric.groups=100", "--set", "fabric.routers_per_group=4000"];
    let run = netloom(&[&["run", GOOD, "--memory-limit", "1 GiB"], &large[..]].concat());
    assert_eq!(run.status, 6, "{}", run.err);
    assert!(run.err.contains("the fabric alone"), "{}", run.err);
}

#[test]
fn an_unfinished_workload_ends_by_the_limit() {
    let shorter = "experiment.limit=1 us";
    let run = netloom(&["run", "../../examples/ping-pong.toml", "--format", "json", "--set", shorter]);
    assert_eq!(run.status, 6, "{}", run.err);
    let summary: Json = serde_json::from_str(&run.out).expect("a result all the same");
    assert_eq!(summary["verdict"]["state"], "incomplete");
}

#[test]
fn a_study_shows_published_numbers_beside_ours() {
    let root = tempfile::tempdir().expect("a directory");
    let dir = root.path().join("small");
    fs::create_dir(&dir).expect("made");
    fs::copy(GOOD, dir.join("good.toml")).expect("copied");
    let published = r#"
[study]
title = "A small study"
paper = "nowhere"
smoke = ["experiment.duration=900 ns"]
[[row]]
name = "half load"
experiment = "good.toml"
set = ["job.0.load=0.5"]
published = { "throughput.offered_fraction" = 0.5, "latency_by_hops.0.hops" = 1, "no.such.key" = 3 }
why = "because"
"#;
    fs::write(dir.join("published.toml"), published).expect("written");
    let studies = ["--studies", text(root.path())];
    assert_eq!(netloom(&[&["study"], &studies[..]].concat()).out, "small\n");
    let run = netloom(&[&["study", "small"], &studies[..]].concat());
    assert_eq!(run.status, 0, "{}", run.err);
    let line = run.out.lines().find(|l| l.contains("offered_fraction")).expect("a line");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words, ["half", "load", "throughput.offered_fraction", "0.5", "0.5", "because"]);
    assert!(run.out.lines().any(|l| l.contains("no.such.key") && l.contains("absent")), "{}", run.out);
    let run = netloom(&[&["study", "small", "--smoke", "--format", "json"], &studies[..]].concat());
    let object: Json = serde_json::from_str(&run.out).expect("one object");
    let rows = object["rows"].as_array().expect("rows");
    let hops = rows.iter().find(|r| r["key"] == "latency_by_hops.0.hops").expect("a row");
    assert_eq!(hops["ours"], 1.0);

    let run = netloom(&[&["study", "small", "--smoke", "--row", "half"], &studies[..]].concat());
    assert!(run.status == 0 && run.out.contains("half load"), "{}", run.err);
    // What the user sets comes after what the row sets.
    let changed = ["--smoke", "--row", "half", "--set", "job.0.load=0.25"];
    let run = netloom(&[&["study", "small"], &changed[..], &studies[..]].concat());
    let line = run.out.lines().find(|l| l.contains("offered_fraction")).expect("a line");
    assert!(line.contains(" 0.25  because"), "{line}");
    let run = netloom(&[&["study", "small"], &changed[3..], &studies[..]].concat());
    assert!(run.status == 2 && run.err.contains("--row <TEXT>"), "{}", run.err);
    let run = netloom(&[&["study", "small", "--row", "half laod"], &studies[..]].concat());
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("no row of the study has `half laod`"), "{}", run.err);
    assert!(run.err.contains("rows are such as `half load`"), "{}", run.err);

    fs::write(dir.join("published.toml"), "[study]\n").expect("written");
    let run = netloom(&[&["study", "small"], &studies[..]].concat());
    assert_eq!((run.status, run.out.as_str()), (3, ""));
    assert!(run.err.contains("lacks `title`"), "{}", run.err);
    let run = netloom(&[&["study", "smal"], &studies[..]].concat());
    assert!(run.status == 2 && run.err.contains("did you mean `small`?"), "{}", run.err);
}

/// `-` is standard input, for `check` too, which needs the text twice.
#[test]
fn an_experiment_is_read_from_standard_input() {
    let text = std::fs::read("tests/good.toml").expect("tests/good.toml");
    for command in ["run", "check"] {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_netloom"))
            .args([command, "-", "--set", "experiment.duration=2 us"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("it starts");
        std::io::Write::write_all(&mut process.stdin.take().expect("piped"), &text).expect("it reads");
        let output = process.wait_with_output().expect("it ends");
        let out = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success() && out.contains("verdict"), "{command}: {out}");
    }
}
