//! `netloom compare --models`: one experiment on every model, what they say of it, and how far they are apart; `--alone`: its jobs together and alone.

use crate::common::{Run, netloom};
use serde_json::Value as Json;
use std::{fs, path::Path};

/// A message of 64 KiB between neighbours of a ring, and nothing else: chunks of 256 B over four links of 12.5 GB/s.
const IDLE: &str = r#"
[experiment]
name = "idle"
until = "workload-done"
[fabric]
topology = "torus"
dims = [5]
link.terminal = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
link.local = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "dimension-order"
[[job]]
workload = "trace"
file = "program.ranks"
[model]
kind = "packet"
packet = "2 KiB"
chunk = "256 B"
router_delay = "40 ns"
eager = "1 MiB"
"#;

const PROGRAM: &str = "ranks 5\nrank 0 {\n  send 64 KiB to 2\n}\nrank 2 {\n  recv 64 KiB from 0\n}\n";

struct Place(tempfile::TempDir);

impl Place {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("a.toml"), text).expect("written");
        fs::write(directory.path().join("program.ranks"), PROGRAM).expect("written");
        Self(directory)
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("text").to_owned()
    }

    fn compare(&self, more: &[&str]) -> Run {
        netloom(&[&["compare", "--models", &self.path("a.toml")][..], more].concat())
    }

    /// As one object; with these overrides.
    fn object(&self, set: &[&str]) -> Json {
        let sets: Vec<&str> = set.iter().flat_map(|s| ["--set", s]).collect();
        let run = self.compare(&[&["--format", "json"], &sets[..]].concat());
        assert_eq!(run.status, 0, "{set:?}: {}", run.err);
        serde_json::from_str(&run.out).expect("one JSON object")
    }
}

fn model<'a>(object: &'a Json, name: &str) -> &'a Json {
    let models = object["models"].as_array().expect("a list");
    models.iter().find(|m| m["model"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// The text without what differs between runs: the columns behind the last error.
fn masked(text: &str) -> String {
    let mut lines = text.lines().map(str::to_owned).collect::<Vec<_>>();
    let end = lines[2].rfind("error").map(|at| at + "error".len()).expect("a column");
    assert!(lines[2][end..].trim_start().starts_with("time"), "{text}");
    let table = lines.iter_mut().skip(2).take_while(|line| !line.is_empty());
    table.for_each(|line| line.truncate(end));
    lines.join("\n")
}

#[test]
fn the_text_says_what_differs_and_why() {
    let set = ["--set", "job.0.load=1.0", "--set", "experiment.duration=20 us"];
    let run = netloom(&[&["compare", "--models", "tests/good.toml"][..], &set].concat());
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    insta::assert_snapshot!("models-traffic", masked(&run.out));
    let run = Place::new(IDLE).compare(&[]);
    assert_eq!(run.status, 0, "{}", run.err);
    insta::assert_snapshot!("models-program", masked(&run.out));
}

/// Both latencies and pace are the same machine's. What is left is that packets are handed on by chunks: a link sends a chunk when all of it is there, so
/// a message is later by a chunk's time for every link but the first.
#[test]
fn a_message_alone_takes_the_same_time_on_every_model() {
    let object = Place::new(IDLE).object(&[]);
    let makespan =
        |name: &str| model(&object, name)["value"]["jobs.job-0.makespan_ps"].as_f64().expect("a time");
    let (links, chunk, byte) = (4.0, 256.0, 80.0);
    let closed = links * 20_000.0 + 3.0 * 40_000.0 + 65_536.0 * byte + (links - 1.0) * chunk * byte;
    assert!((makespan("packet") - closed).abs() <= 1.0, "{} {closed}", makespan("packet"));
    assert!((makespan("hybrid") - makespan("packet")).abs() < 0.5);
    for name in ["flow", "delay"] {
        let off = (makespan(name) - closed).abs();
        assert!(off <= (links - 1.0) * chunk * byte + 1.0, "{name}: {off}");
        let error = model(&object, name)["error"]["jobs.job-0.makespan_ps"].as_f64().expect("an error");
        assert!((error * makespan("packet") - (makespan(name) - makespan("packet"))).abs() < 1.0, "{name}");
    }
}

/// A latency of the file that its network contradicts: the delay model alone is off, by what was planted, and says why.
#[test]
fn a_planted_disagreement_shows() {
    let place = Place::new(IDLE);
    let (sound, planted) = (place.object(&[]), place.object(&["model.latency=10 us"]));
    let error = |object: &Json, name: &str| {
        model(object, name)["error"]["jobs.job-0.makespan_ps"].as_f64().expect("an error")
    };
    assert!(error(&sound, "delay").abs() < 0.02 && error(&planted, "delay") > 1.0);
    assert!((error(&sound, "flow") - error(&planted, "flow")).abs() < 1e-12);
    let reason = model(&planted, "delay")["reason"].as_str().expect("a text");
    assert!(reason.contains("`latency` is 10 us, and paths of [fabric] take"), "{reason}");
}

#[test]
fn every_model_has_an_object_and_its_run_can_be_repeated() {
    let place = Place::new(IDLE);
    let object = place.object(&[]);
    assert_eq!((&object["schema"], &object["reference"]), (&"netloom-models-1".into(), &"packet".into()));
    let models = object["models"].as_array().expect("a list");
    let names: Vec<&str> = models.iter().filter_map(|m| m["model"].as_str()).collect();
    let mut known: Vec<&str> = netloom::Registry::standard().models.iter().map(|m| m.about.name).collect();
    known.sort_unstable();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!((names[0], sorted), ("packet", known));
    let congestion = model(&object, "congestion");
    assert_eq!((&congestion["carried"], &congestion["state"]), (&false.into(), &Json::Null));
    assert!(congestion["reason"].as_str().is_some_and(|r| r.contains("rank program")), "{congestion}");
    for name in ["packet", "hybrid", "flow", "delay"] {
        let of = model(&object, name);
        assert!(
            of["carried"] == true && of["performance"]["wall_s"].is_f64() && of["faster"].is_f64(),
            "{of}"
        );
        let file = place.path("a.toml");
        let set: Vec<&str> = of["set"].as_array().expect("a list").iter().filter_map(Json::as_str).collect();
        let sets: Vec<&str> = set.iter().flat_map(|s| ["--set", s]).collect();
        let run = netloom(&[&["run", &file, "--format", "json"], &sets[..]].concat());
        let summary: Json = serde_json::from_str(&run.out).expect("one JSON object");
        assert_eq!(summary["fingerprint"], of["summary"]["fingerprint"], "{name}: {set:?}");
    }
}

#[test]
fn who_cannot_carry_it_says_why() {
    // A program on no network: one model has no use for one.
    let run = netloom(&["compare", "--models", "../../examples/sweep3d-loggops.toml"]);
    assert_eq!((run.status, run.err.as_str()), (3, ""));
    assert!(run.out.starts_with("sweep3d-loggops: 1 of 5 models carries it"), "{}", run.out);
    assert_eq!(run.out.matches("Not carried: the section [fabric] is missing").count(), 4, "{}", run.out);
    // A file that its own model refuses, and no two others carry, is a wrong file.
    let run = Place::new(IDLE).compare(&["--set", "model.rooter=window"]);
    assert_eq!((run.status, run.out.as_str()), (3, ""));
    assert!(run.err.contains("did you mean `router`?"), "{}", run.err);
}

#[test]
fn a_series_is_refused_by_name() {
    let run = Place::new(&format!("{IDLE}[[sweep.axis]]\npath = \"model.chunk\"\nvalues = [\"64 B\"]\n"))
        .compare(&[]);
    assert_eq!((run.status, run.out.as_str()), (3, ""));
    assert!(
        run.err.contains("this file describes a series of runs") && run.err.contains("--set sweep="),
        "{}",
        run.err
    );
}

#[test]
fn table_and_figure_are_written() {
    let place = Place::new(IDLE);
    let out = place.path("made/here");
    let run = place.compare(&["--out", &out]);
    assert_eq!(run.status, 0, "{}", run.err);
    let read = |name: &str| fs::read(Path::new(&out).join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let csv = String::from_utf8(read("models.csv")).expect("text");
    let head = "model,state,flags,jobs.job-0.makespan_ps,error.jobs.job-0.makespan_ps,";
    assert!(csv.starts_with(head) && csv.lines().count() == 6, "{csv}");
    assert!(csv.lines().last().is_some_and(|l| l.starts_with("congestion,not-carried,")), "{csv}");
    let svg = String::from_utf8(read("models.svg")).expect("text");
    assert!(["packet", "flow", "delay", "makespan"].iter().all(|word| svg.contains(word)));
    assert!(read("models.pdf").starts_with(b"%PDF"));
    let page = String::from_utf8(read("report.html")).expect("text");
    // The rows that the terminal shows, the figure, the reasons, and a command for each model that ran.
    let rows: Vec<&str> = run.out.lines().skip(2).take(6).collect();
    for row in rows {
        let cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty() && *cell != "-");
        cells.for_each(|cell| assert!(page.contains(&format!(">{cell}<")), "{cell}: {row}"));
    }
    let sections: Vec<&str> =
        page.split("<section id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(sections, ["models", "reasons", "numbers", "latency", "made"]);
    assert!(page.contains("id=\"errors\"") && page.contains("Not carried: "), "{page}");
    assert_eq!(page.matches("<pre class=\"command\">netloom run ").count(), 4);
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("http://www.w3.org/2000/svg").count()
    );
    #[cfg(feature = "parquet")]
    assert!(read("models.parquet").starts_with(b"PAR1"));
    // A figure that is somebody's stays, and what was found is shown all the same.
    fs::write(Path::new(&out).join("models.svg"), "mine").expect("written");
    let shown = place.compare(&["--out", &out]);
    assert!(shown.status == 7 && shown.out.starts_with("idle: "), "{}{}", shown.out, shown.err);
    assert_eq!(read("models.svg"), b"mine");
    fs::remove_file(Path::new(&out).join("models.svg")).expect("removed");
    replaced_if_ours(&|| place.compare(&["--out", &out]), &out, "models.csv", "report.html");
}

/// What a command wrote into a directory it replaces; without the file that says so it refuses before it runs.
fn replaced_if_ours(again: &dyn Fn() -> Run, out: &str, table: &str, known_by: &str) {
    let at = |name: &str| Path::new(out).join(name);
    let whole = fs::read(at(table)).expect("a table");
    fs::write(at(table), "half").expect("written");
    let run = again();
    assert_eq!(run.status, 0, "{}", run.err);
    // Times of processors differ.
    assert_eq!(fs::read(at(table)).expect("a table")[..20], whole[..20]);
    for name in [known_by, table] {
        fs::write(at(name), "mine").expect("written");
    }
    let run = again();
    assert_eq!((run.status, run.out.as_str()), (7, ""), "{}", run.err);
    assert!(run.err.contains("does not say that netloom made it"), "{}", run.err);
    assert_eq!(fs::read_to_string(at(table)).expect("a file"), "mine");
}

#[test]
fn two_runs_or_one_experiment() {
    for arguments in [
        &["compare", "a"][..],
        &["compare", "a", "b", "--models", "c"],
        &["compare", "a", "b", "--out", "d"],
        &["compare", "a", "b", "--alone", "c"],
        &["compare", "--alone", "c", "--tolerance", "0.1"],
    ] {
        assert_eq!(netloom(arguments).status, 2, "{arguments:?}");
    }
}

/// Two copies of a program on neighbours, together and alone: text, object and files say the same.
#[test]
fn jobs_together_and_alone() {
    let place = Place::new(&IDLE.replace("workload = \"trace\"\nfile = \"program.ranks\"", JOBS));
    let file = place.path("a.toml");
    let text = netloom(&["compare", "--alone", &file, "--threads", "2"]);
    assert_eq!(text.status, 0, "{}", text.err);
    assert!(
        text.out.starts_with("idle: 2 jobs on model packet, together (ok) and each alone in its place"),
        "{}",
        text.out
    );
    assert!(text.out.contains("part-0  ok") && text.out.contains("part-1  ok"), "{}", text.out);
    let out = place.path("out");
    let json = netloom(&["compare", "--alone", &file, "--format", "json", "--out", &out]);
    let object: Json = serde_json::from_str(&json.out).expect("one JSON object");
    assert_eq!(object["schema"], "netloom-interference-1");
    let jobs = object["jobs"].as_array().expect("a list");
    for job in jobs {
        let [together, alone] =
            ["together", "alone"].map(|run| job[run]["makespan_ps"].as_f64().expect("a time"));
        assert_eq!(job["slow_down"].as_f64(), Some(together / alone));
        assert_eq!((&job["by"], job["ranks"].as_u64()), (&Json::from("makespan_ps"), Some(2)));
    }
    let written = fs::read_to_string(Path::new(&out).join("interference.json")).expect("a file");
    assert_eq!(
        serde_json::from_str::<Json>(&written).expect("JSON")["jobs"].as_array().map(Vec::len),
        Some(2)
    );
    let table = fs::read_to_string(Path::new(&out).join("interference.csv")).expect("a file");
    assert!(
        table.starts_with("job,ranks,state_alone,by,slow_down,together.makespan_ps,alone.makespan_ps"),
        "{table}"
    );
    assert_eq!(table.lines().count(), 3, "{table}");
    let again = || netloom(&["compare", "--alone", &file, "--out", &out]);
    replaced_if_ours(&again, &out, "interference.csv", "interference.json");
    let one = netloom(&["compare", "--alone", &file, "--set", "job.0.copies=1"]);
    assert!(one.status == 3 && one.err.contains("jobs slow each other down, and"), "{}", one.err);
    let both = netloom(&["compare", "--alone", &file, "--models", &file]);
    assert_eq!(both.status, 2, "{}", both.err);
}

const JOBS: &str = "workload = \"ring\"\nranks = 2\ncopies = 2\nname = \"part\"";

/// Computing of 100 us, interrupted for 1 us after every 10 us of it: ten interruptions fall into it wherever a rank begins. On every model.
#[test]
fn noise_lengthens_what_is_computed() {
    let place = Place::new(IDLE);
    fs::write(place.path("program.ranks"), "ranks 5\nall {\n  compute 100 us\n}\n").expect("written");
    fs::write(place.path("noise.csv"), "# begin length\n10us, 1us\n").expect("written");
    let makespan = |model: &str, set: &[&str]| {
        let kind = format!("model.kind={model}");
        let file = place.path("a.toml");
        let mut arguments = vec!["run", &file, "--format", "json", "--set", &kind];
        arguments.extend(set.iter().flat_map(|s| ["--set", s]));
        let run = netloom(&arguments);
        assert_eq!(run.status, 0, "{model} {set:?}: {}", run.err);
        let summary: Json = serde_json::from_str(&run.out).expect("one JSON object");
        summary["jobs"][0]["makespan_ps"].as_u64().expect("a time")
    };
    for model in ["packet", "delay", "flow"] {
        let us = 1_000_000;
        assert_eq!(makespan(model, &[]), 100 * us, "{model}");
        // Paths of overrides are seen from the working directory.
        let file = &format!("job.0.noise_file={}", place.path("noise.csv"));
        assert_eq!(makespan(model, &[file]), 110 * us, "{model}");
        // The job's own factor comes first: four interruptions fall into 40 us.
        assert_eq!(makespan(model, &[file, "job.0.compute=0.4"]), 44 * us, "{model}");
        let jitter = makespan(model, &["job.0.noise=0.1"]);
        assert!((90 * us..=110 * us).contains(&jitter) && jitter != 100 * us, "{model}: {jitter}");
        assert_eq!(jitter, makespan("packet", &["job.0.noise=0.1"]), "{model}");
        assert_ne!(jitter, makespan(model, &["job.0.noise=0.1", "experiment.seed=2"]), "{model}");
    }
}
