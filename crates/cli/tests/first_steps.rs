//! What somebody meets who follows the documents for the first time: nothing is left out, ignored or looked for elsewhere without a word.

use crate::common::{Run, netloom};
use serde_json::Value as Json;
use std::{collections::BTreeSet, fs, path::Path, process::Command};

/// A starting file in a directory of its own, and what is called how there.
fn start(kind: &str) -> (tempfile::TempDir, impl Fn(&str) -> String) {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().to_owned();
    let path = move |name: &str| home.join(name).display().to_string();
    let run = netloom(&["init", kind, "--out", &path("")]);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{kind}");
    (directory, path)
}

fn good(arguments: &[&str]) -> Run {
    let run = netloom(arguments);
    assert_eq!(run.status, 0, "{arguments:?}: {}{}", run.out, run.err);
    run
}

/// A cluster's own tables are followed, or a note says who computes others.
#[test]
fn tables_that_nobody_follows_are_named() {
    let (_directory, path) = start("cluster");
    let (file, tables) = (path("experiment.toml"), format!("fabric.tables={}", path("tables.lfts")));
    let dump = path("cluster.ibnetdiscover");
    good(&["fabric", "route", &dump, "--engine", "dor", "--to", "lfts", "--out", &path("tables.lfts")]);
    let with = |more: &[&str]| {
        let set = more.iter().flat_map(|set| ["--set", *set]);
        let all = ["run", &file, "--set", "experiment.duration=12 us", "--format", "json"];
        good(&all.into_iter().chain(set).collect::<Vec<_>>())
    };
    let noted = |run: &Run| run.err.contains("`tables` of [fabric] has no effect: ");
    let fingerprint = |run: &Run| {
        let all: Json = serde_json::from_str(&run.out).expect("one JSON object");
        all["fingerprint"].as_str().expect("text").to_owned()
    };
    let (engine, both) = (with(&[]), with(&[&tables]));
    assert!(!noted(&engine) && noted(&both), "{}", both.err);
    assert!(both.err.contains("`engine = \"ftree\"` of [routing] computes other tables"), "{}", both.err);
    assert_eq!(fingerprint(&engine), fingerprint(&both));
    let followed = with(&[&tables, "routing.engine="]);
    assert!(!noted(&followed), "{}", followed.err);
    assert_ne!(fingerprint(&followed), fingerprint(&both), "these tables are not those of the engine");
    let other = with(&[&tables, "routing.engine=", "routing.algorithm=up-down"]);
    assert!(noted(&other) && other.err.contains("\"up-down\" finds paths of its own"), "{}", other.err);
    let none = with(&["routing.engine=", "routing.algorithm=up-down"]);
    assert!(!noted(&none), "{}", none.err);
}

/// Points beyond the ends of a figure are counted, by curve.
#[test]
fn points_that_a_figure_leaves_out_are_named() {
    let (_directory, path) = start("routings");
    let sweep = |out: &str, more: &[&str]| {
        let (file, out) = (path("experiment.toml"), path(out));
        let short = ["experiment.duration=30 us", "sweep.axis.0.values=[\"minimal\", \"ugal-l\"]"];
        let set = short.iter().chain(&["sweep.axis.1.count=2"]).chain(more).flat_map(|set| ["--set", *set]);
        let all = ["sweep", &file, "--out", &out].into_iter().chain(set).collect::<Vec<_>>();
        netloom(&all)
    };
    let plot = |of: &str| good(&["plot", &path(of), "--out", &path("figures")]).err;
    assert_eq!(sweep("mean", &["job.0.workload=bad-dragon"]).status, 0);
    let noted = plot("mean");
    let line = "note: figure latency: not drawn, above `y_max = \"3 us\"`: 2 of 2 points of minimal, 1 of 2 points of ugal-l\n";
    assert_eq!(noted, line);
    assert_eq!(sweep("all", &["plot.0.y_max=1 s", "plot.0.x_min=\"0.5\"", "plot.1.x_max=\"0.5\""]).status, 0);
    let noted = plot("all");
    let lines = [
        "note: figure latency: not drawn, below `x_min = \"0.5\"`: 1 of 2 points of minimal, 1 of 2 points of ugal-l",
        "note: figure accepted: not drawn, above `x_max = \"0.5\"`: 1 of 2 points of minimal, 1 of 2 points of ugal-l",
    ];
    assert_eq!(noted.lines().collect::<Vec<_>>(), lines);
    // An end in a unit that the axis does not have.
    for (set, refused) in [
        (
            "plot.0.y=throughput.accepted_fraction",
            "`y_max`: `3 us` is a time, and `throughput.accepted_fraction` is a plain number",
        ),
        ("plot.0.y_max=3 KiB", "`y_max`: `3 KiB` is a number of bytes, and `latency_ps.mean` is a time"),
        ("plot.0.x_max=3 us", "`x_max`: `3 us` is a time, and `load` is a plain number"),
    ] {
        let run = sweep("refused", &[set]);
        assert!(run.status == 3 && run.err.contains(refused), "{set}: {}", run.err);
    }
}

/// Where a file was looked for, and what a file is that is no experiment.
#[test]
fn files_in_the_wrong_place_are_recognised() {
    let (_directory, path) = start("trace");
    let file = path("experiment.toml");
    let here = std::env::current_dir().expect("a directory").display().to_string();
    let run = netloom(&["run", &file, "--set", "job.0.file=nowhere.ranks"]);
    let relative = format!("relative to the working directory, {here}; one in the file to the file");
    assert!(run.status == 4 && run.err.contains(&relative), "{} {}", run.status, run.err);
    let text = fs::read_to_string(&file).expect("the file").replace("program.ranks", "nowhere.ranks");
    fs::write(&file, text).expect("written");
    let run = netloom(&["run", &file]);
    let looked = Path::new(&file).with_file_name("nowhere.ranks").display().to_string();
    assert!(run.err.contains(&looked) && !run.err.contains("working directory"), "{}", run.err);
    for command in ["run", "check"] {
        let run = netloom(&[command, &path("program.ranks")]);
        let named = run.err.contains("is a program of ranks (format ranks), no experiment");
        assert!(run.status == 4 && named && run.err.contains("netloom init trace"), "{}", run.err);
    }
    fs::write(path("trace.bin"), 4223_u64.to_le_bytes()).expect("written");
    let run = netloom(&["run", &path("trace.bin")]);
    assert!(run.err.contains("(format goal-binary)"), "{}", run.err);
    let archive = path("ranks.tar");
    let folder = Path::new(&archive).parent().expect("a folder");
    let made = Command::new("tar").args(["-cf", &archive, "-C"]).arg(folder).arg("program.ranks").status();
    assert!(made.expect("tar runs").success());
    let run = netloom(&["run", &archive]);
    let named = run.err.contains("is an archive of tar, no experiment");
    assert!(run.status == 4 && named && run.err.contains("netloom init trace"), "{}", run.err);
}

/// A run that ends within two bursts of its traffic says so; one with more does not.
#[test]
fn runs_of_few_bursts_are_named() {
    let (_directory, path) = start("cluster");
    // 15 messages of 4 KiB at half of 25 GB/s: 4.9152 us each.
    let of = |duration: &str| {
        let (file, duration) = (path("experiment.toml"), format!("experiment.duration={duration}"));
        let set = ["job.0.workload=all-to-all", "job.0.arrival=constant", "experiment.warmup=0 s", &duration];
        let set = set.into_iter().flat_map(|set| ["--set", set]);
        good(&["run", &file].into_iter().chain(set).collect::<Vec<_>>()).err
    };
    let short = of("9 us");
    assert!(short.contains("a burst of 15 messages, 60 KiB in all, takes 4.915 us at this load"), "{short}");
    let long = of("10 us");
    assert!(!long.contains("burst"), "{long}");
}

/// The hottest link comes first, with names and ports by which its cable is found: every end once.
#[test]
fn the_hottest_cable_is_found() {
    let tree = "../fabric/tests/data/tree.dot";
    for metric in ["get_cable_cong", "edge_forwarding_index"] {
        let all = ["congestion", tree, "-p", "bruck", "--mapping", "identity", "-m", metric];
        let text = good(&all).out;
        let json: Json =
            serde_json::from_str(&good(&[&all[..], &["--format", "json"]].concat()).out).expect("JSON");
        let counts = json["edges"].as_object().or_else(|| json["congestion"]["edge_cong_sum"].as_object());
        let counts = counts.expect("links");
        let lines: Vec<&str> = text.lines().filter(|line| line.contains(" -> ")).collect();
        assert_eq!(lines.len(), counts.len(), "{text}");
        let (mut last, mut leaves) = (u64::MAX, BTreeSet::new());
        for line in lines {
            let (label, rest) = line.split_once(": ").expect("a label");
            let (count, ends) = rest.split_once("  ").expect("a count");
            let (from, to) = ends.split_once(" -> ").expect("two ends");
            let count: u64 = count.parse().expect("a number");
            assert_eq!(counts[label], count, "{line}");
            assert!(count <= last && leaves.insert(from.to_owned()), "{text}");
            let (a, b) = label.split_once(':').expect("a number").1.split_once("->").expect("names");
            let port = |end: &str, name: &str| {
                let rest = end.strip_prefix(name).and_then(|rest| rest.strip_prefix(" port "));
                rest.is_some_and(|port| port.parse::<u32>().is_ok())
            };
            assert!(port(from, a) && port(to, b), "{line}");
            last = count;
        }
    }
    let run = netloom(&["congestion", tree, "--pattern", "all-to-all"]);
    assert!(run.status == 2 && run.err.contains("--metric edge_forwarding_index"), "{}", run.err);
}

/// Table `link_congestion` has the names, GUIDs and ports that `topology` of a run with time has of the same link.
#[test]
fn counted_links_are_those_of_the_topology() {
    let (_directory, path) = start("cluster");
    let set =
        ["model={ kind = \"congestion\" }", "job.0.workload=bisect", "job.0.load=0.5", "output.csv=true"];
    let set = set.into_iter().flat_map(|set| ["--set", set]).map(str::to_owned);
    let all = ["run", &path("experiment.toml"), "--out", &path("out")].map(str::to_owned);
    let all: Vec<String> = all.into_iter().chain(set).collect();
    good(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let short = ["--set", "experiment.duration=11 us", "--set", "output.csv=true"];
    good(&[&["run", &path("experiment.toml"), "--out", &path("packet")], &short[..]].concat());
    let rows = |name: &str| -> Vec<Vec<String>> {
        let text = fs::read_to_string(path(&format!("{name}.csv"))).expect("a table");
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let (topology, counted) = (rows("packet/topology"), rows("out/link_congestion"));
    let column = |name: &str| topology[0].iter().position(|c| c == name).expect("a column");
    let named = counted[0].iter().skip(2).map(|name| column(name)).collect::<Vec<_>>();
    assert!(named.len() == 6 && counted.len() > 8, "{counted:?}");
    for row in &counted[1..] {
        let number = row[0].split(':').next().expect("a number");
        let link = topology.iter().find(|link| link[column("link")] == number).expect("the link");
        assert_eq!(row[2..].iter().collect::<Vec<_>>(), named.iter().map(|&c| &link[c]).collect::<Vec<_>>());
        assert!(!row[2].is_empty() && row[4] != "0", "{row:?}");
    }
}

/// Keys and flags are explained by their names too, with or without their section.
#[test]
fn keys_and_flags_are_explained() {
    for (name, part) in [
        ("load", "load (key of section job) = number from"),
        ("job.load", "load (key of section job)"),
        ("job.0.load", "load (key of section job)"),
        ("saturated", "saturated (verdict of a run)\n  sources offer more"),
        ("input-dropped", "(verdict of a run)"),
        ("model.vcs", "vcs (key of model packet)"),
        ("job.vcs", ""),
    ] {
        let run = netloom(&["explain", name]);
        assert_eq!(run.status == 0, !part.is_empty(), "{name}: {}", run.err);
        assert!(run.out.contains(part), "{name}: {}", run.out);
    }
    let all: Json = serde_json::from_str(&good(&["explain", "load", "--format", "json"]).out).expect("JSON");
    let entries = all["entries"].as_array().expect("entries");
    assert!(entries.iter().any(|entry| entry["of"] == "job" && entry["kind"] == "key"), "{all}");
}
