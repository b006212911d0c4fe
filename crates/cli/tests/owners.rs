//! One run owns an output directory; nothing foreign is replaced; results that cannot be written where they were wanted are kept.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::common::netloom;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dragonfly-72.toml");

fn run(out: &Path, duration: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    command.args(["run", EXAMPLE, "--set", &format!("experiment.duration={duration}"), "--out"]).arg(out);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn names(dir: &Path) -> Vec<String> {
    let name = |e: std::io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(name).collect();
    names.sort();
    names
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(2), "waited in vain for {what}");
        sleep(Duration::from_millis(5));
    }
}

fn failed(output: &Output, status: i32, words: &str) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert!(text.contains(words), "{text}");
    text
}

#[test]
fn two_runs_cannot_write_one_directory() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("run");
    let mut first = run(&out, "1 s").spawn().unwrap();
    until("the claim", || root.path().join(".run.lock").exists());
    let begun = Instant::now();
    failed(&run(&out, "1 s").output().unwrap(), 7, "is being written by another netloom (process ");
    assert!(begun.elapsed() < Duration::from_secs(60), "it is refused before it simulates");
    // Killed: its lock is nobody's, whoever comes next takes it over.
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(run(&out, "1 us").output().unwrap().status.code(), Some(0));
    assert_eq!(names(root.path()), ["run"]);
}

/// Whatever fills a directory or writes a file that was named is alone with it.
#[test]
fn two_commands_cannot_write_one_name() {
    let root = tempfile::tempdir().unwrap();
    let name = root.path().join("name");
    let lock = fs::File::create(root.path().join(".name.lock")).unwrap();
    lock.lock().unwrap();
    let trace = root.path().join("two.ranks");
    fs::write(&trace, "ranks 2\nrank 0 {\nsend 8 B to 1\n}\nrank 1 {\nrecv 8 B from 0\n}\n").unwrap();
    let trace = trace.to_str().unwrap();
    let commands: [&[&str]; 7] = [
        &["man", "--out"],
        &["reference", "--out"],
        &["record", "build"],
        &["portals", "sdk"],
        &["fabric", "export", EXAMPLE, "--to", "dot", "--out"],
        &["trace", "convert", trace, "--to", "goal"],
        &["run", EXAMPLE, "--set", "experiment.duration=1 us", "--out"],
    ];
    for command in commands {
        let mut process = Command::new(env!("CARGO_BIN_EXE_netloom"));
        failed(&process.args(command).arg(&name).output().unwrap(), 7, "is being written by another netloom");
        assert_eq!(names(root.path()), [".name.lock", "two.ranks"], "{command:?}");
    }
    drop(lock);
    for command in ["man", "reference"] {
        let made = Command::new(env!("CARGO_BIN_EXE_netloom")).args([command, "--out"]).arg(&name).output();
        assert_eq!(made.unwrap().status.code(), Some(0), "{command}");
        assert_eq!(names(root.path()), ["name", "two.ranks"], "{command} leaves no lock");
    }
}

/// Somebody's file, or a link to it, that has the name of a run's checkpoint.
#[test]
fn force_replaces_no_foreign_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let (out, foreign) = (root.path().join("run"), root.path().join("run.checkpoint"));
    let words = "was not written by netloom, and stands where a checkpoint belongs";
    fs::write(&foreign, "precious").unwrap();
    failed(&run(&out, "1 us").arg("--force").output().unwrap(), 7, words);
    fs::rename(&foreign, root.path().join("mine")).unwrap();
    std::os::unix::fs::symlink("mine", &foreign).unwrap();
    failed(&run(&out, "1 us").arg("--force").output().unwrap(), 7, words);
    assert_eq!(fs::read_to_string(root.path().join("mine")).unwrap(), "precious");
    assert_eq!(names(root.path()), ["mine", "run.checkpoint"]);
}

/// What has no end or no writer is no file of ours.
#[test]
fn fifos_and_devices_are_no_results() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let fifo = |name: &str| {
        let _ = fs::remove_file(path(name));
        assert!(Command::new("mkfifo").arg(path(name)).status().unwrap().success());
        path(name).display().to_string()
    };
    let (out, other) = (path("out").display().to_string(), path("run").display().to_string());
    let refused = |arguments: &[&str], status: u8, words: &str| {
        let ended = netloom(arguments);
        assert_eq!(ended.status, status, "{arguments:?}: {}", ended.err);
        assert!(ended.err.contains(words), "{arguments:?}: {}", ended.err);
    };
    let made = fifo("run.checkpoint");
    refused(&["resume", &other], 4, "it is a FIFO");
    refused(&["compare", &made, &made], 4, "it is a FIFO");
    refused(&["compare", "/dev/zero", "/dev/zero"], 4, "it is not a regular file");
    let replay = ["portals", "replay", "--fabric", "../../examples/portals/two-nodes.toml"];
    refused(&[&replay[..], &[&made]].concat(), 4, "it is a FIFO");
    refused(&[&replay[..], &["/dev/zero"]].concat(), 4, "is no record");
    // Results of which one file after the other is none.
    assert_eq!(run(Path::new(&out), "1 us").output().unwrap().status.code(), Some(0));
    for (name, words) in [
        ("links.parquet", "it is a FIFO"),
        ("manifest.json", "it is not a regular file"),
        ("summary.json", "it is not a regular file"),
    ] {
        if words.contains("FIFO") {
            fifo(&format!("out/{name}"));
        } else {
            fs::remove_file(path("out").join(name)).unwrap();
            std::os::unix::fs::symlink("/dev/zero", path("out").join(name)).unwrap();
        }
        refused(&["report", &out, "--force"], 4, words);
    }
}

/// A limit on the size of files is a disk that is full.
#[test]
fn a_limit_on_files_is_a_full_disk() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("run");
    let limited = format!(
        "ulimit -f 20; exec {} run {EXAMPLE} --set 'experiment.duration=20 us' --out {}",
        env!("CARGO_BIN_EXE_netloom"),
        out.display()
    );
    let limited = Command::new("sh").args(["-c", &limited]).env("TMPDIR", root.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&limited.stdout).contains("fingerprint"), "the summary is printed");
    failed(&limited, 7, "too large");
}

/// A signal to save is none to die of where nothing is saved: this run never heeds any.
#[test]
fn a_signal_to_save_ends_no_run() {
    let mut run = Command::new(env!("CARGO_BIN_EXE_netloom"))
        .args(["run", EXAMPLE, "--set", "experiment.duration=2 ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = run.id().to_string();
    // It is caught from the first instant on, but that a program has to be loaded.
    until("a handler of SIGUSR1", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        caught.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() >> 9 & 1 == 1)
    });
    assert!(Command::new("kill").args(["-USR1", &pid]).status().unwrap().success());
    assert_eq!(run.wait().unwrap().code(), Some(0));
}

#[test]
fn force_replaces_no_foreign_directory() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("web");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("manifest.json"), r#"{"name": "an application", "version": "1"}"#).unwrap();
    fs::write(out.join("index.html"), "words").unwrap();
    failed(&run(&out, "1 us").arg("--force").output().unwrap(), 7, "is not an output directory of netloom");
    assert_eq!(names(&out), ["index.html", "manifest.json"]);
}

#[test]
fn a_name_that_cannot_be_written_is_refused_at_once() {
    let root = tempfile::tempdir().unwrap();
    // Too long with what the hidden directory adds to it.
    let out = root.path().join("a").join("x".repeat(250));
    failed(&run(&out, "1 s").output().unwrap(), 7, "too long");
    assert!(names(root.path()).is_empty());
}

/// The folder goes away during the run, and a file takes its place: the summary is printed, the results are kept, and put in place later.
#[test]
fn results_without_a_place_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let (folder, temporary) = (root.path().join("folder"), root.path().join("tmp"));
    fs::create_dir(&temporary).unwrap();
    fs::create_dir(&folder).unwrap();
    let out = folder.join("run");
    let child = run(&out, "3 ms").env("TMPDIR", &temporary).spawn().unwrap();
    until("the claim", || folder.join(".run.lock").exists());
    // It has found out that it may write, and simulates for some seconds.
    sleep(Duration::from_secs(1));
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let ended = child.wait_with_output().unwrap();
    failed(&ended, 7, "the results are whole in");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("fingerprint"), "the summary is printed");
    let kept: Vec<PathBuf> = names(&temporary).iter().map(|name| temporary.join(name)).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let resume = || Command::new(env!("CARGO_BIN_EXE_netloom")).arg("resume").arg(&kept[0]).output().unwrap();
    failed(&resume(), 7, "folder");
    fs::remove_file(&folder).unwrap();
    assert_eq!(resume().status.code(), Some(0));
    assert!(names(&temporary).is_empty());
    assert_eq!(names(&folder), ["run"]);
    assert!(names(&out).contains(&"summary.json".to_owned()));
    assert!(!names(&out).contains(&"unplaced.json".to_owned()));
}

/// The same for the state of a run that is asked to leave: its checkpoint is kept where temporary files go, and goes on from there.
#[test]
fn checkpoints_without_a_place_are_kept() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let (disk, folder, temporary) = (path("disk"), path("folder"), path("tmp"));
    fs::create_dir(&temporary).unwrap();
    fs::create_dir(&disk).unwrap();
    symlink(&disk, &folder).unwrap();
    let every = ["--set", "engine.checkpoint=10 us"];
    let child = run(&folder.join("run"), "1 ms").args(every).env("TMPDIR", &temporary).spawn().unwrap();
    until("a checkpoint", || disk.join("run.checkpoint").exists());
    // In one step a file stands where the folder was.
    fs::write(path("block"), "in the way").unwrap();
    fs::rename(path("block"), &folder).unwrap();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    failed(&child.wait_with_output().unwrap(), 7, "it is kept as");
    let kept: Vec<PathBuf> = names(&temporary).iter().map(|name| temporary.join(name)).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    fs::remove_file(&folder).unwrap();
    symlink(&disk, &folder).unwrap();
    fs::rename(&kept[0], disk.join("run.checkpoint")).unwrap();
    let resumed = Command::new(env!("CARGO_BIN_EXE_netloom")).arg("resume").arg(folder.join("run")).output();
    assert_eq!(resumed.unwrap().status.code(), Some(0));
    assert_eq!(run(&path("whole"), "1 ms").args(every).output().unwrap().status.code(), Some(0));
    assert_eq!(crate::resume::results(&disk.join("run")), crate::resume::results(&path("whole")));
}

/// The number in the names is of no process: Linux counts to 4,194,304.
#[test]
fn what_killed_runs_left_is_tidied() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().to_str().unwrap();
    for dir in [".a.partial-4194305-0", ".thesis.partial-4194305-0", "b"] {
        fs::create_dir(root.path().join(dir)).unwrap();
    }
    fs::write(root.path().join(".a.partial-4194305-0/links.parquet"), "half").unwrap();
    fs::write(root.path().join(".thesis.partial-4194305-0/chapter.tex"), "words").unwrap();
    fs::write(root.path().join("b.checkpoint.partial-4194305"), "netloom checkpoint 1\n").unwrap();
    let tidied = netloom(&["clean", folder, "--format", "json"]);
    assert_eq!(tidied.status, 0, "{}", tidied.err);
    let done: serde_json::Value = serde_json::from_str(&tidied.out).unwrap();
    assert_eq!(done["done"].as_array().unwrap().len(), 2, "{done}");
    assert_eq!(names(root.path()), [".thesis.partial-4194305-0", "b"]);
    assert_eq!(netloom(&["clean", folder]).out, "nothing to tidy\n");
}

/// While packets bypass the network there is hardly an event: a request to leave is heeded all the same.
#[test]
fn a_surrogate_phase_heeds_signals() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("run");
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hybrid-72.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_netloom"));
    command.args(["run", example, "--set", "experiment.duration=9 s", "--set", "hybrid.window=50 us"]);
    command.args(["--set", r#"hybrid.switch=["100 us", "8 s"]"#, "--out"]).arg(&out);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // Well inside the first stay, which takes minutes.
    sleep(Duration::from_secs(4));
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let begun = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(8));
    // Generous: what is tested is that it is no matter of minutes.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    assert!(root.path().join("run.checkpoint").exists());
}

/// A signal where nothing can be saved ends the process, and what it had put on disk goes with it: while the network is built, and in a model whose
/// runs cannot be saved.
#[test]
fn an_early_signal_leaves_nothing_behind() {
    let root = tempfile::tempdir().unwrap();
    let link = "{bandwidth='1 GB/s',latency='1 ns',credit_delay='1 ns',vc_buffer='1 KiB'}";
    let mesh = format!(
        "fabric={{topology='mesh',dims=[900,900],terminals_per_router=1,link={{terminal={link},local={link}}}}}"
    );
    let mesh = ["--set", &mesh, "--set", "routing.algorithm=dimension-order"];
    let flow = ["--set", "model.kind=flow"];
    for (more, signal) in [(&mesh[..], "-TERM"), (&mesh, "-INT"), (&flow, "-TERM")] {
        let mut child = run(&root.path().join("made/run"), "100 s").args(more).spawn().unwrap();
        until("the claim", || root.path().join("made/.run.lock").exists());
        sleep(Duration::from_millis(300));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!((status.code(), names(root.path()).len()), (None, 0), "{signal} {more:?}");
    }
}
