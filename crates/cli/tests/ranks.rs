//! Runs over MPI ranks, with the launcher of the machine: one answer for every number of ranks, and nothing left by a run that dies.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::resume::{checkpoint, results, until};
use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
};

/// MPI's launcher, as root in a container and on fewer processors than there are copies, too.
fn launcher() -> Command {
    let mut command = Command::new("mpirun");
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What runs so many copies.
fn launched(ranks: u32, arguments: &[&str]) -> Command {
    let mut command = launcher();
    command.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_netloom")]).args(arguments);
    command
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}: {}", output.status, text(&output));
    text(&output)
}

fn example(name: &str) -> String {
    format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Arguments of a run of an example.
fn run<'a>(file: &'a str, set: &[&'a str], out: &'a Path) -> Vec<&'a str> {
    let mut arguments = vec!["run", file, "--check", "--out", out.to_str().unwrap()];
    let tables = ["output.packets=true", "output.messages=true", "output.pairs=true"];
    set.iter().chain(&tables).for_each(|&value| arguments.extend(["--set", value]));
    arguments
}

/// Open and closed loops, a hybrid, and programs of ranks; ranks, threads and schedulers: the bytes of the run in one process.
#[test]
fn one_answer_over_ranks() {
    let root = tempfile::tempdir().unwrap();
    let hybrid =
        ["experiment.duration=\"60 us\"", "hybrid.switch=[\"20 us\", \"40 us\"]", "hybrid.window=\"10 us\""];
    let adaptive = ["experiment.duration=\"20 us\""];
    for (name, set) in [
        ("dragonfly-72-par", &adaptive[..]),
        ("hybrid-72", &hybrid),
        ("halo-64", &[]),
        ("congestion-16", &["job.0.runs=301"]),
    ] {
        let file = example(name);
        let one = root.path().join(name);
        done(Command::new(env!("CARGO_BIN_EXE_netloom")).args(run(&file, set, &one)));
        let spreads = [
            (2, &["--threads", "2", "--set", "engine.scheduler=optimistic"][..]),
            (4, &["--threads", "1"]),
            (2, &["--threads", "1"]),
        ];
        let long = std::env::var_os("NETLOOM_LONG").is_some();
        for (ranks, more) in spreads.into_iter().take(if long { 3 } else { 2 }) {
            let out = root.path().join(format!("{name}-{ranks}-{}", more.len()));
            let printed = done(launched(ranks, &run(&file, set, &out)).args(more));
            let summary = fs::read_to_string(out.join("summary.json")).unwrap();
            assert!(summary.contains(&format!("\"ranks\": {ranks}")), "{name}: {summary}");
            assert_eq!(printed.matches("fingerprint").count(), 1, "one rank prints: {printed}");
            assert!(results(&out) == results(&one), "{name} over {ranks} ranks, {more:?}");
        }
    }
}

/// Points of a sweep are shared out to ranks: the tables of one process, and nothing is run twice.
#[test]
fn a_sweep_over_ranks_leaves_the_same_tables() {
    let root = tempfile::tempdir().unwrap();
    let file = example("load-latency");
    let [one, two] = ["one", "two"].map(|name| root.path().join(name));
    let sweep = |out: &Path| {
        let sets = ["experiment.duration=\"2 us\"", "experiment.warmup=\"0 s\""].map(|set| ["--set", set]);
        let fixed = ["sweep", &file, "--threads", "1", "--out", out.to_str().unwrap()];
        fixed.into_iter().chain(sets.into_iter().flatten()).map(str::to_owned).collect::<Vec<_>>()
    };
    done(Command::new(env!("CARGO_BIN_EXE_netloom")).args(sweep(&one)));
    let arguments = sweep(&two);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let printed = done(&mut launched(2, &arguments));
    assert!(!printed.contains(" 0 run now") && printed.contains("run now"), "{printed}");
    let table = |out: &Path| fs::read(out.join("points.csv")).unwrap();
    assert!(table(&one) == table(&two));
    let again = done(&mut launched(2, &arguments));
    assert!(again.contains(" 0 run now"), "{again}");
}

/// Numbers of the processes that a process started.
fn children(of: u32) -> Vec<u32> {
    let path = format!("/proc/{of}/task/{of}/children");
    fs::read_to_string(path).unwrap_or_default().split_whitespace().map(|n| n.parse().unwrap()).collect()
}

/// One of three ranks is killed when a checkpoint is there: all end, and no results are left. Two ranks go on with it.
#[test]
fn a_run_that_lost_a_rank_goes_on_over_others() {
    let root = tempfile::tempdir().unwrap();
    let file = example("dragonfly-72");
    let set = ["experiment.duration=\"0.2 ms\"", "engine.checkpoint=\"10 us\"", "output.window=\"50 us\""];
    let (whole, broken) = (root.path().join("whole"), root.path().join("broken"));
    done(Command::new(env!("CARGO_BIN_EXE_netloom")).args(run(&file, &set, &whole)));
    let running = launched(3, &run(&file, &set, &broken)).spawn().unwrap();
    until("a checkpoint", || checkpoint(&broken).exists() || running_ended(running.id()));
    let victim = children(running.id())[1];
    assert!(Command::new("kill").args(["-9", &victim.to_string()]).status().unwrap().success());
    let ended = running.wait_with_output().unwrap();
    assert!(!ended.status.success() && text(&ended).contains("signal 9"), "{}", text(&ended));
    assert!(!broken.exists(), "no results of a run that died");
    let mut command = launched(2, &["resume", broken.to_str().unwrap()]);
    let printed = done(&mut command);
    assert_eq!(printed.matches("fingerprint").count(), 1, "{printed}");
    assert!(results(&broken) == results(&whole));
    assert!(!checkpoint(&broken).exists());
}

fn running_ended(id: u32) -> bool {
    !Path::new(&format!("/proc/{id}")).exists()
}

/// Mistakes are said once, and what cannot run over ranks is refused.
#[test]
fn refusals_are_said_once() {
    let root = tempfile::tempdir().unwrap();
    let bad = root.path().join("bad.toml");
    fs::write(&bad, "[experiment]\nduratoin = \"1 us\"\n").unwrap();
    let flow = example("flow-fat-tree");
    let small = example("dragonfly-72");
    for (arguments, status, said, times) in [
        (vec!["run", bad.to_str().unwrap()], 3, "has no key `duratoin`", 1),
        (vec!["run", &flow], 3, "runs in one process, and 2 MPI ranks were started", 1),
        (
            vec!["run", &small, "--set", "engine.partitions=1"],
            3,
            "2 ranks were started, and the run has 1 partition",
            1,
        ),
        (vec!["resume", root.path().to_str().unwrap()], 4, "there is no checkpoint", 1),
        (vec!["run", "-"], 4, "standard input reaches the first rank alone", 1),
        (vec!["congestion", &small], 9, "this command runs in one", 2),
        (vec!["study", "zombie-packets", "--smoke"], 9, "a study runs in one", 2),
    ] {
        let output = launched(2, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output));
        assert_eq!(text(&output).matches(said).count(), times, "{arguments:?}: {}", text(&output));
    }
}

/// Under a launcher whose MPI is another one, a process believes to be alone: it says so, instead of being one of several copies.
#[test]
fn another_mpi_than_the_launchers_is_refused() {
    let file = example("dragonfly-72");
    let output = Command::new(env!("CARGO_BIN_EXE_netloom"))
        .args(["run", &file])
        .env("PMI_SIZE", "2")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(9), "{}", text(&output));
    assert!(text(&output).contains("PMI_SIZE=2"), "{}", text(&output));
}

/// The same experiment beside another program of ranks: a file that differs between hosts.
#[test]
fn ranks_that_read_different_files_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let experiment = fs::read_to_string(example("halo-64")).unwrap();
    let program =
        fs::read_to_string(format!("{}/../../examples/programs/halo-64.ranks", env!("CARGO_MANIFEST_DIR")))
            .unwrap();
    for (host, more) in [("a", ""), ("b", "# another one\n")] {
        let programs = root.path().join(host).join("programs");
        fs::create_dir_all(&programs).unwrap();
        fs::write(root.path().join(host).join("halo.toml"), &experiment).unwrap();
        fs::write(programs.join("halo-64.ranks"), format!("{program}{more}")).unwrap();
    }
    let wd = |host: &str| root.path().join(host).to_str().unwrap().to_owned();
    let netloom = [env!("CARGO_BIN_EXE_netloom"), "run", "halo.toml"];
    let mut command = launcher();
    command.args(["-n", "1", "--wdir", &wd("a")]).args(netloom);
    command.args([":", "-n", "1", "--wdir", &wd("b")]).args(netloom);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(9), "{}", text(&output));
    let said = "rank 1 has read another `programs/halo-64.ranks` than rank 0";
    assert_eq!(text(&output).matches(said).count(), 1, "{}", text(&output));
}

/// Whichever rank is asked to leave, all save and leave.
#[test]
fn a_signal_to_one_rank_saves_all() {
    let root = tempfile::tempdir().unwrap();
    let file = example("dragonfly-72");
    let set = ["experiment.duration=\"0.4 ms\"", "engine.checkpoint=\"10 us\""];
    let (whole, out) = (root.path().join("whole"), root.path().join("run"));
    done(Command::new(env!("CARGO_BIN_EXE_netloom")).args(run(&file, &set, &whole)));
    let running = launched(3, &run(&file, &set, &out)).spawn().unwrap();
    until("a checkpoint", || checkpoint(&out).exists() || running_ended(running.id()));
    let asked = children(running.id())[2];
    assert!(Command::new("kill").args(["-TERM", &asked.to_string()]).status().unwrap().success());
    let ended = running.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(8), "{}", text(&ended));
    assert!(checkpoint(&out).exists() && !out.exists());
    done(&mut launched(2, &["resume", out.to_str().unwrap()]));
    assert!(results(&out) == results(&whole));
}
