//! Deaths and refusals at every call that changes a file: whatever goes wrong, what a user does next gives the bytes of the undisturbed run.
//!
//! `kills/faults.c` is put before the unmodified program (LD_PRELOAD) and lets the n-th such call go wrong. A case is a scenario, a call, and what
//! goes wrong there; cases are drawn by seed. The quick form draws 120; `NETLOOM_KILLS=1000 NETLOOM_SHARD=1/2` draws a thousand and runs
//! half of them.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first surprise, and says what it left out"
)]

#[path = "common/timeless.rs"]
mod timeless;

use base::rng::{Purpose, Stream};
use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::Instant,
};
use timeless::timeless;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What goes wrong, by `FAULTS_KIND`, and whether the command must succeed nevertheless.
const KINDS: [(&str, bool); 7] = [
    ("kill", false),
    ("half", false),
    ("full", false),
    ("io", false),
    ("interrupted", true),
    ("short", true),
    ("asked", false),
];

/// A command that writes a directory, and what is done after it was disturbed.
struct Scenario {
    name: &'static str,
    /// Arguments but for the output directory.
    command: &'static [&'static str],
    /// The same command goes on with what is there; others are finished by `resume`, or begun anew.
    goes_on: bool,
}

const SCENARIOS: [Scenario; 6] = [
    Scenario {
        name: "packets, saved on the way",
        command: &[
            "run",
            "examples/dragonfly-72.toml",
            "--set=experiment.duration=40 us",
            "--set=output.pairs=true",
            "--set=output.window=10 us",
            "--set=engine.checkpoint=10 us",
        ],
        goes_on: false,
    },
    Scenario {
        name: "rank programs and their time lines",
        command: &["run", "examples/sweep3d-loggops.toml", "--set=output.operations=true"],
        goes_on: false,
    },
    Scenario {
        name: "a network replaced by a predictor, saved on the way",
        command: &[
            "run",
            "examples/hybrid-72.toml",
            "--set=experiment.duration=60 us",
            "--set=hybrid.switch=[\"20 us\", \"40 us\"]",
            "--set=hybrid.window=10 us",
            "--set=engine.checkpoint=10 us",
        ],
        goes_on: false,
    },
    Scenario { name: "static congestion", command: &["run", "examples/congestion-16.toml"], goes_on: false },
    Scenario { name: "flows", command: &["run", "examples/flow-fat-tree.toml"], goes_on: false },
    Scenario {
        name: "a sweep",
        command: &[
            "sweep",
            "examples/load-latency.toml",
            "--threads=1",
            "--set=experiment.duration=2 us",
            "--set=experiment.warmup=0 s",
            "--set=sweep.axis.0.values=[\"minimal\", \"ugal-l\"]",
            "--set=sweep.axis.1.values=[\"uniform\"]",
            "--set=sweep.axis.2.count=2",
        ],
        goes_on: true,
    },
];

/// A place for a scenario: `work` is where files go wrong, `tmp` is another disk.
struct Place {
    root: tempfile::TempDir,
    library: PathBuf,
}

impl Place {
    fn new(library: &Path) -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        fs::create_dir(root.path().join("tmp")).unwrap();
        Self { root, library: library.to_owned() }
    }

    fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    fn out(&self) -> PathBuf {
        self.work().join("run")
    }

    fn log(&self) -> PathBuf {
        self.root.path().join("log")
    }

    fn netloom<S: AsRef<std::ffi::OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
        command
            .args(arguments)
            .current_dir(Path::new(ROOT).join("../.."))
            .env("TMPDIR", self.root.path().join("tmp"));
        command
    }

    fn start(&self, scenario: &Scenario) -> Command {
        let mut command = self.netloom(scenario.command);
        command.arg("--out").arg(self.out());
        command
    }

    /// Runs a command whose `at`-th call goes wrong; calls are counted from 1, and with 0 nothing goes wrong.
    fn disturbed(&self, mut command: Command, at: usize, kind: &str) -> Output {
        let _ = fs::remove_file(self.log());
        command
            .env("LD_PRELOAD", &self.library)
            .env("FAULTS_UNDER", self.work())
            .env("FAULTS_LOG", self.log());
        command.env("FAULTS_AT", at.to_string()).env("FAULTS_KIND", kind).output().unwrap()
    }

    fn calls(&self) -> Vec<String> {
        fs::read_to_string(self.log()).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// What a user does next; `said` is what the disturbed command printed.
    fn go_on(&self, scenario: &Scenario, said: &str) -> Command {
        let kept = said.split("`netloom resume ").nth(1).and_then(|rest| rest.split('`').next());
        let checkpoint = self.out().with_extension("checkpoint");
        match kept {
            Some(kept) => self.netloom(&["resume", kept]),
            None if !scenario.goes_on && checkpoint.exists() && !self.out().exists() => {
                self.netloom(&[Path::new("resume"), &checkpoint])
            }
            None => self.start(scenario),
        }
    }
}

/// All files below a directory but what tells times: the manifest, the cost of a run, and the page that shows both.
fn results(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(directory.parent().unwrap()).unwrap().to_string_lossy().into_owned();
            let bytes = fs::read(&path).unwrap();
            let bytes = match path.file_name().unwrap().to_str().unwrap() {
                "manifest.json" | "report.html" => Vec::new(),
                name if name.ends_with(".json") => timeless(&bytes),
                _ => bytes,
            };
            all.push((name, bytes));
        }
    }
    all.sort();
    assert!(all.len() > 2, "{} holds results", directory.display());
    all
}

/// The program's library of faults; none without a C compiler.
fn library(directory: &Path) -> Option<PathBuf> {
    let made = directory.join("faults.so");
    let source = Path::new(ROOT).join("tests/kills/faults.c");
    let status = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .arg(&made)
        .arg(source)
        .arg("-ldl")
        .status();
    status.is_ok_and(|s| s.success()).then_some(made)
}

/// How many cases are drawn, and which share of them is run here: shard `i` of `n`.
fn asked() -> (usize, usize, usize) {
    let number = std::env::var("NETLOOM_KILLS").map_or(120, |n| n.parse().unwrap());
    let shard = std::env::var("NETLOOM_SHARD").unwrap_or_else(|_| "1/1".into());
    let (i, n) = shard.split_once('/').unwrap();
    (number, i.parse().unwrap(), n.parse().unwrap())
}

/// Disturbs a scenario, then what a user does next, a second time; then lets it be. What is there at the end is the reference.
fn case(
    library: &Path,
    scenario: &Scenario,
    reference: &[(String, Vec<u8>)],
    calls: usize,
    random: &mut Stream,
) {
    let place = Place::new(library);
    let (kind, succeeds) = KINDS[random.below(KINDS.len() as u64) as usize];
    let at = 1 + random.below(calls as u64) as usize;
    let output = place.disturbed(place.start(scenario), at, kind);
    let story = |output: &Output| {
        let call = place.calls().get(at - 1).cloned().unwrap_or_default();
        format!(
            "{}, call {at} ({call}), {kind}: {} {}",
            scenario.name,
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )
    };
    let mut text = story(&output);
    if succeeds {
        assert!(output.status.success(), "{text}");
    } else if kind == "asked" {
        // Before a run is under way a signal ends it at once.
        let (code, signal) = (output.status.code(), output.status.signal());
        assert!(matches!(code, Some(0 | 8)) || signal == Some(15), "{text}");
        let kept = text.contains("saved to") || text.contains("kept in") || text.contains("goes on");
        assert!(code != Some(8) || kept, "{text}");
    } else if !matches!(output.status.code(), Some(0 | 7)) {
        assert_eq!(output.status.signal(), Some(9), "a refusal of the disk has exit status 7: {text}");
    }
    let mut said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut over = output.status.success();
    // Now and then what follows is disturbed as well, in the same way or another.
    if !over && random.below(3) == 0 {
        let again = 1 + random.below(calls as u64) as usize;
        let kind = KINDS[random.below(KINDS.len() as u64) as usize].0;
        let output = place.disturbed(place.go_on(scenario, &said), again, kind);
        let heard = String::from_utf8_lossy(&output.stderr).into_owned();
        text += &format!("\nthen {kind} at call {again}: {} {heard}", output.status);
        over = output.status.success();
        // What was kept before lies where it was, unless this says of another place.
        if heard.contains("`netloom resume ") {
            said = heard;
        }
    }
    for _ in 0..3 {
        if over || (place.out().exists() && !scenario.goes_on) {
            break;
        }
        let output = place.go_on(scenario, &said).output().unwrap();
        text += &format!("\nthen undisturbed: {} {}", output.status, String::from_utf8_lossy(&output.stderr));
        over = output.status.success();
        said.clear();
    }
    assert!(place.out().exists(), "nothing is there: {text}");
    let found = results(&place.out());
    let names = |of: &[(String, Vec<u8>)]| of.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&found), names(reference), "other files: {text}");
    for (found, reference) in found.iter().zip(reference) {
        assert!(found == reference, "{} differs: {text}", found.0);
    }
    leaves_nothing(&place, &text);
}

/// Beside the results there is nothing that `netloom clean` does not know and remove.
fn leaves_nothing(place: &Place, text: &str) {
    let output = place.netloom(&[Path::new("clean"), &place.work()]).output().unwrap();
    assert!(output.status.success(), "{text}\nclean: {}", String::from_utf8_lossy(&output.stderr));
    let names = fs::read_dir(place.work()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let others: Vec<String> = names.filter(|name| name != "run" && name != "run.checkpoint").collect();
    assert!(others.is_empty(), "{others:?} are left: {text}");
}

/// Whoever is asked to leave while results are written keeps them, and makes the files later.
#[test]
fn a_signal_is_heeded_while_results_are_written() {
    let made = tempfile::tempdir().unwrap();
    let Some(library) = library(made.path()) else {
        println!("SKIPPED: there is no C compiler, so no call of the system takes its time");
        return;
    };
    let scenario = &SCENARIOS[1];
    let place = Place::new(&library);
    assert!(place.disturbed(place.start(scenario), 0, "").status.success());
    let reference = results(&place.out());
    let written: Vec<usize> =
        (1..).zip(place.calls()).filter(|(_, call)| call.contains(".partial-")).map(|(n, _)| n).collect();
    assert!(written.len() > 8, "{written:?}");
    for at in written.iter().skip(2).step_by(written.len() / 4) {
        let place = Place::new(&library);
        let begun = Instant::now();
        let output = place.disturbed(place.start(scenario), *at, "asked");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(8), "call {at}: {text}");
        assert!(text.contains("they are kept in") && text.contains("netloom resume"), "{text}");
        assert!(begun.elapsed().as_secs() < 60 && !place.out().exists());
        let resumed = place.netloom(&[Path::new("resume"), &place.out()]).output().unwrap();
        assert!(resumed.status.success(), "{}", String::from_utf8_lossy(&resumed.stderr));
        assert!(results(&place.out()) == reference, "call {at}");
        leaves_nothing(&place, &text);
        assert!(!place.out().with_extension("checkpoint").exists());
    }
}

#[test]
fn whatever_goes_wrong_nothing_is_lost() {
    let made = tempfile::tempdir().unwrap();
    let Some(library) = library(made.path()) else {
        println!("SKIPPED: there is no C compiler, so no call of the system goes wrong");
        return;
    };
    let references: Vec<_> = SCENARIOS
        .iter()
        .map(|scenario| {
            let place = Place::new(&library);
            let output = place.disturbed(place.start(scenario), 0, "");
            assert!(
                output.status.success(),
                "{}: {}",
                scenario.name,
                String::from_utf8_lossy(&output.stderr)
            );
            let calls = place.calls().len();
            assert!(calls > 10, "{}: {calls} calls were seen", scenario.name);
            (results(&place.out()), calls)
        })
        .collect();
    let (number, shard, shards) = asked();
    for n in (0..number).filter(|n| n % shards == shard - 1) {
        let mut random = Stream::new(n as u64, Purpose::Test, 25);
        let which = n % SCENARIOS.len();
        let (reference, calls) = &references[which];
        case(&library, &SCENARIOS[which], reference, *calls, &mut random);
    }
}
