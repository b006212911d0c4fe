//! Checkpoints: a run that is killed, asked to leave or saved on the way gives the bytes of the uninterrupted one.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::timeless::timeless;
use base::rng::{Purpose, Stream};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dragonfly-72.toml");

fn netloom(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The example with tables, saved every so often.
fn run(out: &Path, duration: &str, more: &[&str]) -> Command {
    let duration = format!("experiment.duration={duration}");
    let mut command = netloom(&["run", EXAMPLE, "--set", &duration, "--set", "output.pairs=true"]);
    command
        .args(["--set", "output.window=50 us", "--set", "output.slow_down=true"])
        .args(["--set", "engine.checkpoint=10 us", "--out"])
        .arg(out)
        .args(more);
    command
}

pub fn checkpoint(out: &Path) -> PathBuf {
    out.with_extension("checkpoint")
}

/// Everything in an output directory but the manifest, which says wall times; the summary without what the run cost.
pub fn results(out: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    gather(out, &mut all);
    all.sort();
    let tables = all.iter().filter(|(name, _)| name.ends_with(".parquet")).count();
    assert!(
        tables > 1 && all.iter().any(|(name, _)| name == "summary.json"),
        "a summary and tables are there"
    );
    all
}

fn gather(dir: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = match name.as_str() {
            "manifest.json" => continue,
            "summary.json" => {
                let bytes = fs::read(&path).unwrap();
                assert!(
                    String::from_utf8_lossy(&bytes).contains("\"performance\""),
                    "a run says what it cost"
                );
                timeless(&bytes)
            }
            _ if path.is_dir() => {
                gather(&path, all);
                continue;
            }
            _ => fs::read(&path).unwrap(),
        };
        all.push((name, bytes));
    }
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

pub fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "waited in vain for {what}");
        sleep(Duration::from_millis(2));
    }
}

/// Waits until a process heeds signals: SIGINT last. That SIGUSR1 is caught says nothing, since it ends no process.
fn heeds(child: &Child) {
    let status = format!("/proc/{}/status", child.id());
    until("a handler of SIGINT", || {
        let text = fs::read_to_string(&status).unwrap();
        let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() >> 1 & 1 == 1
    });
}

/// A study that is asked to leave saves the run that it is at, and goes on with it.
#[test]
fn studies_leave_and_go_on() {
    let root = tempfile::tempdir().unwrap();
    let study = root.path().join("studies/small");
    fs::create_dir_all(&study).unwrap();
    let text = fs::read_to_string(EXAMPLE).unwrap();
    let hybrid = "[hybrid]\ndirector = \"times\"\nswitch = [\"0.15 ms\", \"0.25 ms\"]\nwindow = \"0.1 ms\"\n[output]\nwindow = \"50 us\"\n";
    fs::write(study.join("a.toml"), format!("{text}\n{hybrid}")).unwrap();
    let published = "[study]\ntitle = \"Small\"\npaper = \"none\"\nform = \"hybrid\"\n[[row]]\nname = \"a\"\nexperiment = \"a.toml\"\nseeds = 2\n\
        set = ['experiment.duration=0.3 ms', 'model.kind=hybrid']\nwhy = \"a test\"\npublished = { \"floor.mape_percent\" = 0.0 }\n";
    fs::write(study.join("published.toml"), published).unwrap();
    let mut tables = Vec::new();
    for threads in ["1", "3"] {
        let out = root.path().join(threads);
        let start = || {
            let mut command =
                netloom(&["study", "small", "--format", "json", "--threads", threads, "--studies"]);
            command.arg(root.path().join("studies")).arg("--out").arg(&out);
            command
        };
        let saved = || -> Vec<PathBuf> {
            let files = fs::read_dir(out.join("runs")).into_iter().flatten();
            files
                .map(|f| f.unwrap().path())
                .filter(|p| p.extension().is_some_and(|e| e == "checkpoint"))
                .collect()
        };
        let child = start().spawn().unwrap();
        heeds(&child);
        until("a directory for runs", || out.join("runs").exists());
        signal(&child, "TERM");
        let left = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&left.stderr);
        assert_eq!(left.status.code(), Some(8), "{text}");
        assert!((1..=threads.parse().unwrap()).contains(&saved().len()), "{text}");
        assert!(text.contains("interrupted") && text.contains("the same command goes on"), "{text}");
        let output = start().output().unwrap();
        done(&output);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("anew") && saved().is_empty());
        assert_eq!(fs::read_dir(out.join("runs")).unwrap().count(), 10, "five runs of two seeds");
        let table: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = table["rows"].as_array().unwrap();
        let errors = rows.iter().filter(|r| r["key"].as_str().unwrap().contains("mape"));
        tables.push(errors.cloned().collect::<Vec<_>>());
        // What is reported of a run is computed from what is kept under its name.
        plant(&out.join("runs"));
        let output = start().output().unwrap();
        let columns = String::from_utf8_lossy(&output.stderr);
        assert!(columns.contains("row a: 8 of its runs were kept by another revision"), "{columns}");
        let table: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for (mode, percent) in PLANTED {
            for seed in [1, 2] {
                let key = format!("{mode}.mape_percent, seed {seed}");
                let row = table["rows"].as_array().unwrap().iter().find(|r| r["key"] == key).expect(&key);
                assert!((row["ours"].as_f64().unwrap() - percent * f64::from(seed)).abs() < 1e-9, "{row}");
            }
        }
    }
    assert_eq!(tables[0], tables[1]);
    assert_eq!(tables[0].len(), 3 * 4, "means and two seeds");
    let refused =
        netloom(&["study", "orcs", "--threads", "2", "--studies", "../../studies"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("runs one experiment at a time"));
}

/// How far runs are put from high fidelity, in percent with the first seed and twice as much with the second.
const PLANTED: [(&str, f64); 4] = [("floor", 1.0), ("lite", 2.0), ("zombies", 3.0), ("reheat", 4.0)];

/// Puts runs of a study as far from high fidelity, as if another revision had run them.
fn plant(runs: &Path) {
    for seed in [1, 2] {
        let read = |mode: &str| {
            let name = format!("a-seed-{seed}-{mode}-");
            let mut files = fs::read_dir(runs).unwrap().map(|f| f.unwrap().path());
            let file =
                files.find(|f| f.file_name().unwrap().to_str().unwrap().starts_with(&name)).expect(&name);
            let run: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            (file, run)
        };
        let (_, plain) = read("high-fidelity");
        for (mode, percent) in PLANTED {
            let (file, mut run) = read(mode);
            run["windows"] = plain["windows"].clone();
            run["revision"] = "another".into();
            for window in run["windows"].as_object_mut().unwrap().values_mut() {
                let sum = window[1].as_f64().unwrap();
                window[1] = (sum * (1.0 + percent * f64::from(seed) / 100.0)).into();
            }
            fs::write(file, serde_json::to_vec(&run).unwrap()).unwrap();
        }
    }
}

/// A run that was killed after its results were stored and before its checkpoint went away has ended.
#[test]
fn a_run_that_had_ended_is_not_run_again() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("run");
    let mut child = run(&out, "200 us", &[]).spawn().unwrap();
    until("a checkpoint", || checkpoint(&out).exists());
    let kept = root.path().join("kept");
    fs::copy(checkpoint(&out), &kept).unwrap();
    assert!(child.wait().unwrap().success());
    let before = results(&out);
    fs::copy(&kept, checkpoint(&out)).unwrap();
    let output = netloom(&["resume", "--format", "json"]).arg(&out).output().unwrap();
    done(&output);
    assert_eq!(output.stdout, fs::read(out.join("summary.json")).unwrap());
    assert!(String::from_utf8_lossy(&output.stderr).contains("had ended"));
    assert_eq!(results(&out), before);
    assert!(!checkpoint(&out).exists());
    // Results of another run are not taken for its own.
    done(&run(&out, "100 us", &["--force"]).output().unwrap());
    fs::copy(&kept, checkpoint(&out)).unwrap();
    assert_eq!(netloom(&["resume"]).arg(&out).output().unwrap().status.code(), Some(7));
}

/// A checkpoint that cannot be written (here: a file may not grow) does not harm the one before, from which the run goes on.
#[test]
fn a_full_disk_loses_nothing() {
    let root = tempfile::tempdir().unwrap();
    let (whole, out) = (root.path().join("whole"), root.path().join("run"));
    done(&run(&whole, "1 ms", &[]).output().unwrap());
    let mut child = run(&out, "1 ms", &[]).spawn().unwrap();
    until("a checkpoint", || checkpoint(&out).exists());
    signal(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(8));
    let before = fs::read(checkpoint(&out)).unwrap();
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" resume \"$1\"";
    let output =
        Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_netloom")]).arg(&out).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(7), "{text}");
    assert!(text.contains("checkpoint") && text.contains("too large"), "{text}");
    assert!(fs::read(checkpoint(&out)).unwrap() == before, "the checkpoint before is whole");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "nothing half written is left");
    done(&netloom(&["resume"]).arg(&out).output().unwrap());
    assert_eq!(results(&out), results(&whole));
}

/// Fifty kills at random moments, some while a checkpoint is written; threads change from one resumption to the next.
#[test]
fn killed_runs_go_on_to_the_same_results() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    done(&run(&whole, "300 us", &[]).output().unwrap());
    let mut random = Stream::new(50, Purpose::Test, 0);
    let (mut kills, mut ends) = (0, 0);
    while kills < 50 || ends == 0 {
        let out = root.path().join(format!("run-{ends}"));
        let threads = ["1", "2", "3"][random.below(3) as usize];
        let mut command = if checkpoint(&out).exists() {
            let mut resume = netloom(&["resume", "--threads", threads]);
            resume.arg(&out);
            resume
        } else {
            let partitions = ["engine.partitions=1", "engine.partitions=5"][ends % 2];
            let scheduler = "engine.scheduler=conservative";
            run(&out, "300 us", &["--set", partitions, "--set", scheduler, "--threads", threads])
        };
        let mut child = command.spawn().unwrap();
        if kills < 50 {
            sleep(Duration::from_millis(5 + random.below(300)));
            // One that has ended by itself cannot be killed.
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                kills += 1;
            }
        }
        let output = child.wait_with_output().unwrap();
        // A run may be killed when all is done and before it ends.
        let killed_late = output.status.code().is_none() && out.exists() && !checkpoint(&out).exists();
        if output.status.success() || killed_late {
            assert_eq!(results(&out), results(&whole), "{kills} kills");
            assert!(!checkpoint(&out).exists(), "a finished run has no use for its checkpoint");
            ends += 1;
        } else {
            assert_eq!(output.status.code(), None, "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// SIGUSR1 saves and goes on; SIGTERM saves and leaves with status 8.
#[test]
fn signals_save_and_leave() {
    let root = tempfile::tempdir().unwrap();
    let (whole, out) = (root.path().join("whole"), root.path().join("run"));
    done(&run(&whole, "1 ms", &[]).output().unwrap());
    let mut child = run(&out, "1 ms", &["--set", "engine.checkpoint=0 s"]).spawn().unwrap();
    heeds(&child);
    assert!(!checkpoint(&out).exists(), "nobody asked yet");
    // Whether the run is set up still or under way.
    signal(&child, "USR1");
    until("SIGUSR1's checkpoint", || checkpoint(&out).exists());
    assert!(child.try_wait().unwrap().is_none(), "the run goes on");
    signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(8), "{text}");
    assert!(text.contains("saved to") && text.contains("netloom resume"), "{text}");
    assert!(!out.exists(), "there are no results yet");
    // A new run does not lose what was saved.
    let output = run(&out, "1 ms", &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert!(String::from_utf8_lossy(&output.stderr).contains("unfinished run left its checkpoint"));
    done(&netloom(&["resume"]).arg(&out).output().unwrap());
    assert_eq!(results(&out), results(&whole));
}

/// Rank programs on the delay model are saved too.
#[test]
fn the_delay_model_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/halo-64.toml");
    let run = |out: &Path, every: &str| {
        let every = format!("engine.checkpoint={every}");
        let mut command = netloom(&["run", example, "--set", "model.kind=delay", "--set", &every, "--set"]);
        command.arg("output.operations=true").arg("--out").arg(out);
        command
    };
    let (whole, out) = (root.path().join("whole"), root.path().join("run"));
    done(&run(&whole, "0 s").output().unwrap());
    let mut child = run(&out, "20 us").spawn().unwrap();
    until("a checkpoint", || checkpoint(&out).exists() || out.exists());
    let _ = child.kill();
    child.wait().unwrap();
    if !out.exists() {
        done(&netloom(&["resume"]).arg(&out).output().unwrap());
    }
    assert_eq!(results(&out), results(&whole));
}

#[test]
fn changed_inputs_and_missing_checkpoints_are_reported() {
    let root = tempfile::tempdir().unwrap();
    let output = netloom(&["resume"]).arg(root.path().join("nothing")).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no checkpoint"));
}
