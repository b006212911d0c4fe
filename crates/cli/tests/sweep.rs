//! Series of runs: points, what is kept of them, tables, saturation, and what is refused.

use crate::common::{Run, netloom};
use serde_json::Value as Json;
use std::{fs, path::Path};

/// A switch of four terminals, two loads and two sizes of messages.
const FILE: &str = r#"
experiment = { duration = "20 us" }
routing = { algorithm = "shortest-path" }
job = [{ workload = "uniform", message = "512 B", load = 0.3 }]
model = { kind = "packet", packet = "512 B", chunk = "64 B" }
[fabric]
topology = "single-switch"
terminals = 4
link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "8 KiB" }
[[sweep.axis]]
path = "job.0.message"
values = ["256 B", "512 B"]
[[sweep.axis]]
path = "job.0.load"
from = 0.2
to = 0.6
count = 3
"#;

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("a.toml"), text).expect("written");
        Self { directory }
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("text").to_owned()
    }

    fn sweep(&self, out: &str, more: &[&str]) -> Run {
        let (file, out) = (self.path("a.toml"), self.path(out));
        netloom(&[&["sweep", &file, "--out", &out][..], more].concat())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
}

/// Columns of a table as text, by name.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines();
    let at = lines.next().and_then(|head| head.split(',').position(|n| n == name));
    let at = at.unwrap_or_else(|| panic!("no column {name}: {csv}"));
    lines.map(|line| line.split(',').nth(at).expect("a field").to_owned()).collect()
}

/// Two sweeps that write one directory would write each other's tables; shards share it.
#[test]
fn a_whole_sweep_owns_its_directory() {
    let place = Place::new(FILE);
    let claim = results::claim::Claim::take(std::path::Path::new(&place.path("out"))).expect("it is free");
    let second = place.sweep("out", &[]);
    assert_eq!(second.status, 7, "{}", second.err);
    assert!(second.err.contains("wait for it to end, or choose another --out"), "{}", second.err);
    assert_eq!(place.sweep("out", &["--shard", "1/2"]).status, 0);
    drop(claim);
    assert_eq!(place.sweep("out", &[]).status, 0);
}

#[test]
fn a_sweep_is_one_tidy_table_and_is_not_run_twice() {
    let place = Place::new(FILE);
    let first = place.sweep("out", &["--threads", "2"]);
    assert_eq!((first.status, first.err.as_str()), (0, ""), "{}", first.out);
    assert!(first.out.contains("6 points: 2 message x 3 load") && first.out.contains("6 run now, 0 kept"));
    let table = place.read("out/points.csv");
    assert_eq!(column(&table, "message_bytes"), ["256", "256", "256", "512", "512", "512"]);
    assert_eq!(column(&table, "load"), ["0.2", "0.4", "0.6", "0.2", "0.4", "0.6"]);
    assert_eq!(column(&table, "seed"), ["1"; 6]);
    let again = place.sweep("out", &[]);
    assert!(again.out.contains("0 run now, 6 kept"), "{}", again.out);
    assert_eq!(place.read("out/points.csv"), table);
    // Another number of threads, and shards that meet in a directory, leave the same bytes.
    place.sweep("alone", &["--threads", "1"]);
    let half = place.sweep("shards", &["--shard", "1/2"]);
    assert!(half.out.contains("missing     3") && !Path::new(&place.path("shards/points.csv")).exists());
    place.sweep("shards", &["--shard", "2/2"]);
    let mut files = vec!["points.csv", "sweep.json"];
    if cfg!(feature = "parquet") {
        files.push("points.parquet");
    }
    for file in files {
        let bytes = |out: &str| fs::read(place.path(&format!("{out}/{file}"))).expect(file);
        assert!(bytes("alone") == bytes("out") && bytes("shards") == bytes("out"), "{file}");
    }
    // A point is what a run of its values is.
    let set = ["--set", "sweep=", "--set", "job.0.load=0.4", "--format", "json"];
    let run = netloom(&[&["run", &place.path("a.toml")][..], &set].concat());
    let summary: Json = serde_json::from_str(&run.out).expect("JSON");
    let mean = summary["latency_ps"]["mean"].as_f64().expect("a number");
    assert_eq!(column(&table, "latency_ps.mean")[4], format!("{mean:?}"));
}

#[test]
fn kept_points_are_run_again_if_asked_and_when_they_change() {
    let place = Place::new(FILE);
    let done = |run: Run| run.out.lines().find(|l| l.starts_with("done")).expect("a line").to_owned();
    place.sweep("out", &[]);
    assert_eq!(done(place.sweep("out", &["--again", "ok"])), "done        6 run now, 0 kept from before");
    let id = column(&place.read("out/points.csv"), "id").remove(2);
    assert!(done(place.sweep("out", &["--again", &id])).contains("1 run now, 5 kept"));
    assert!(done(place.sweep("out", &["--set", "sweep.axis.1.count=5"])).contains("4 run now, 6 kept"));
    assert!(done(place.sweep("out", &["--set", "model.vcs=2"])).contains("6 run now, 0 kept"));
    // What was damaged is run again.
    fs::write(place.path(&format!("out/points/{id}.json")), "{").expect("written");
    assert!(done(place.sweep("out", &[])).contains("1 run now, 5 kept"));
}

/// Told once, not for each point, and only where something is left out.
#[test]
fn tables_that_are_not_kept_are_named() {
    let place = Place::new(&format!("output = {{ messages = true }}\n{FILE}"));
    let run = place.sweep("out", &["--threads", "2"]);
    assert_eq!((run.status, run.err.matches("a sweep keeps summaries alone").count()), (0, 1), "{}", run.err);
}

#[test]
fn repetitions_conditions_and_zipped_values() {
    let text =
        FILE.to_owned() + "[[sweep.skip]]\nmessage = \"512 B\"\nload = \"> 0.3\"\n[sweep]\nrepetitions = 2\n";
    let place = Place::new(&text.replace("[[sweep.axis]]\npath = \"job.0.message\"\nvalues = [\"256 B\", \"512 B\"]",
        "[[sweep.axis]]\nname = \"message\"\npaths = [\"job.0.message\", \"model.chunk\"]\nvalues = [[\"256 B\", \"64 B\"], [\"512 B\", \"128 B\"]]"));
    let run = place.sweep("out", &[]);
    assert_eq!(run.status, 0, "{}", run.err);
    let table = place.read("out/points.csv");
    let points: Vec<_> = column(&table, "message_bytes").into_iter().zip(column(&table, "load")).collect();
    let points: Vec<String> = points.into_iter().map(|(a, b)| format!("{a} {b}")).collect();
    assert_eq!(points.join(", "), "256 0.2, 256 0.2, 256 0.4, 256 0.4, 256 0.6, 256 0.6, 512 0.2, 512 0.2");
    assert_eq!(column(&table, "seed").join(""), "12121212");
    let record: Json =
        serde_json::from_str(&place.read(&format!("out/points/{}.json", column(&table, "id")[7])))
            .expect("JSON");
    let experiment = &record["summary"]["experiment"];
    assert_eq!(
        (&experiment["model"]["chunk"], &experiment["experiment"]["seed"]),
        (&"128 B".into(), &2.into())
    );
}

/// Where the load is the whole bandwidth of a link that two flows share, saturation begins at a half.
#[test]
fn saturation_is_found_by_halves() {
    let (link, local) = (FILE.find("link.terminal").expect("a link"), FILE.find("[[sweep").expect("an axis"));
    let links = FILE[link..local].to_owned() + &FILE[link..local].replace("link.terminal", "link.local");
    let mesh = FILE
        .replace(&FILE[link..local], &links)
        .replace("\"single-switch\"\nterminals = 4", "\"mesh\"\ndims = [2]\nterminals_per_router = 2")
        .replace("\"uniform\"", "\"bisection\", arrival = \"bernoulli\"")
        .replace("20 us", "200 us")
        .replace("to = 0.6", "to = 1.0\nuntil = \"saturated\"\ntolerance = 0.05");
    let place = Place::new(&mesh);
    let run = place.sweep("out", &["--set", "sweep.axis.0="]);
    assert_eq!(run.status, 0, "{}{}", run.err, run.out);
    let table = place.read("out/saturation.csv");
    let number = |name: &str| column(&table, name)[0].parse::<f64>().expect("a number");
    let (carried, saturated) = (number("carried.load"), number("saturated.load"));
    assert!(carried < saturated && saturated - carried <= 0.05 * saturated, "{table}");
    assert!((0.4..=0.55).contains(&carried), "{table}");
    let loads = column(&place.read("out/points.csv"), "load");
    assert!(
        loads.is_sorted() && !loads.contains(&"1.0".to_owned()),
        "beyond saturation nothing is run: {loads:?}"
    );
}

#[test]
fn points_that_cannot_run_are_listed() {
    let place =
        Place::new(&(FILE.to_owned() + "[[sweep.axis]]\npath = \"fabric.terminals\"\nvalues = [4, 1]\n"));
    let run = place.sweep("out", &[]);
    assert_eq!(run.status, 3, "{}", run.out);
    assert!(run.out.contains("6 failed") && run.out.contains("terminals=1 seed=1: "), "{}", run.out);
    assert_eq!(column(&place.read("out/points.csv"), "state").iter().filter(|s| *s == "failed").count(), 6);
    assert!(place.sweep("out", &[]).out.contains("0 run now, 12 kept"));
    assert!(place.sweep("out", &["--again", "failed"]).out.contains("6 run now, 6 kept"));
}

#[test]
fn a_sweep_is_checked_and_no_run() {
    let place = Place::new(FILE);
    let check = netloom(&["check", &place.path("a.toml")]);
    assert!(
        check.out.starts_with("sweep       6 points: 2 message x 3 load; on 1 networks"),
        "{}",
        check.out
    );
    for command in [&["run"][..], &["portals", "replay", "x", "--fabric"]] {
        let run = netloom(&[command, &[&place.path("a.toml")]].concat());
        if command[0] == "run" || cfg!(feature = "portals") {
            assert_eq!(run.status, if command[0] == "run" { 3 } else { run.status });
        }
    }
    let run = netloom(&["run", &place.path("a.toml")]);
    assert!(run.err.contains("this file describes a series of runs"), "{}", run.err);
    assert_eq!(netloom(&["run", &place.path("a.toml"), "--set", "sweep="]).status, 0);
    // A point that has no end, or no writer.
    assert_eq!(place.sweep("kept", &[]).status, 0);
    let point = fs::read_dir(place.path("kept/points"))
        .expect("points")
        .next()
        .expect("a point")
        .expect("read")
        .path();
    for (make, of) in [("mkfifo", None), ("ln", Some("/dev/zero"))] {
        fs::remove_file(&point).expect("removed");
        let made = std::process::Command::new(make)
            .args(of.map(|of| ["-s", of]).into_iter().flatten())
            .arg(&point)
            .status();
        assert!(made.expect("made").success());
        let run = netloom(&["plot", &place.path("kept"), "--out", &place.path("figures")]);
        assert!(run.status != 0 && run.err.contains("cannot be read"), "{}", run.err);
    }
    // No sweep, a directory of others, a file in the way.
    fs::write(place.path("plain.toml"), FILE.split("[[sweep").next().expect("text")).expect("written");
    let run = netloom(&["sweep", &place.path("plain.toml"), "--out", &place.path("out")]);
    assert!(run.status == 3 && run.err.contains("has no [sweep]"), "{}", run.err);
    fs::create_dir(place.path("full")).and_then(|()| fs::write(place.path("full/x"), "")).expect("written");
    for out in ["full", "a.toml"] {
        let run = place.sweep(out, &[]);
        assert!(run.status == 7 && run.out.is_empty(), "{out}: {}", run.err);
    }
}

const PLOT: &str = "
[sweep]
repetitions = 3
[[plot]]
name = \"latency\"
x = \"load\"
y = \"latency_ps.mean\"
y_min = \"0 us\"
series = [\"message\"]
[[plot]]
x = \"throughput.accepted_fraction\"
y = \"latency_ps.p99\"
panels = \"message\"
y_scale = \"logarithmic\"
width = \"column\"
";

#[test]
fn figures_are_drawn_from_a_sweep() {
    let place = Place::new(&(FILE.to_owned() + PLOT));
    assert_eq!(place.sweep("out", &[]).status, 0);
    let plot = |out: &str| netloom(&["plot", &place.path("out"), "--out", &place.path(out)]);
    let run = plot("a");
    assert_eq!((run.status, run.err.as_str(), run.out.lines().count()), (0, "", 4), "{}", run.out);
    let svg = place.read("a/latency.svg");
    for words in [">load<", ">packet latency, mean (ns)<", ">256 B<", ">512 B<"] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    // Three points of two curves have bars of three strokes.
    assert_eq!(svg.matches("stroke-width=\"0.7\"").count(), 18);
    let other = place.read("a/figure-2.svg");
    assert!(
        other.contains("width=\"252pt\"") && other.contains(">throughput, accepted (fraction of bandwidth)<")
    );
    // The same bytes each time, and with other figures of another file.
    plot("b");
    for name in ["latency.svg", "latency.pdf", "figure-2.svg", "figure-2.pdf"] {
        let bytes = |out: &str| fs::read(place.path(&format!("{out}/{name}"))).expect(name);
        assert!(bytes("a") == bytes("b"), "{name}");
    }
    assert!(fs::read(place.path("a/latency.pdf")).expect("a PDF").starts_with(b"%PDF-"));
    fs::write(place.path("b.toml"), FILE.to_owned() + &PLOT.replace("\"latency\"", "\"again\""))
        .expect("written");
    let arguments = ["plot", &place.path("out"), "--out", &place.path("c"), "--file", &place.path("b.toml")];
    assert_eq!(netloom(&arguments).status, 0);
    assert_eq!(place.read("c/again.svg"), svg);
}

#[test]
fn figures_that_show_nothing_are_refused() {
    let place = Place::new(FILE);
    assert_eq!(place.sweep("out", &[]).status, 0);
    let plot = |text: &str| {
        fs::write(place.path("b.toml"), FILE.to_owned() + text).expect("written");
        let (dir, out, file) = (place.path("out"), place.path("figures"), place.path("b.toml"));
        netloom(&["plot", &dir, "--out", &out, "--file", &file])
    };
    for (text, reported) in [
        ("", "has no [[plot]]"),
        ("[[plot]]\nx = \"load\"\ny = \"latency_ps.mean\"\n", "axis `message` has no place in this figure"),
        (
            "[[plot]]\nx = \"load\"\ny = \"latency_ps.mean\"\nseries = [\"mesage\"]\n",
            "did you mean `message`?",
        ),
        (
            "[[plot]]\nx = \"load\"\ny = \"latency_ps.meen\"\nseries = [\"message\"]\n",
            "did you mean `latency_ps.mean`?",
        ),
        (
            "[[plot]]\nx = \"load\"\ny = \"hops_mean\"\nonly = { message = \"256 B\" }\nstates = [\"deadlock\"]\n",
            "no point fits",
        ),
        (
            "[[plot]]\nx = \"load\"\ny = \"hops_mean\"\nseries = [\"message\"]\ny_max = \"high\"\n",
            "neither number nor quantity",
        ),
        ("[[sweep.axis]]\npath = \"model.vcs\"\nvalues = [1, 2]\n", "are not those of"),
    ] {
        let run = plot(text);
        assert!(run.status == 3 && run.err.contains(reported), "{text}: {} {}", run.status, run.err);
    }
    let run = netloom(&["plot", &place.path("nowhere"), "--out", &place.path("figures")]);
    assert!(run.status == 4 && run.err.contains("is no directory of a finished sweep"), "{}", run.err);
    // A run draws nothing, and says so.
    fs::write(place.path("b.toml"), FILE.to_owned() + "[[plot]]\nx = \"load\"\ny = \"hops_mean\"\n")
        .expect("written");
    let run = netloom(&["run", &place.path("b.toml"), "--set", "sweep="]);
    assert!(run.status == 0 && run.err.contains("note: [[plot]] draws points"), "{}", run.err);
}
