//! Programs written as SimGrid's traces take the times that they had.

use crate::{
    common::netloom,
    trace_formats::{runs, unpacked},
};
use serde_json::Value as Json;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

const PROGRAM: &str = "ranks 8
all {
  split world color rank % 2 as h
  repeat 5 as step {
    compute (1 + rank) us
    irecv 64 KiB from (rank + 7) % size tag step as a
    isend 64 KiB to (rank + 1) % size tag step as b
    compute 10 us
    waitall a b
    sendrecv 1 KiB to (rank / 2 + 1) % 4 tag 7 comm h recv 1 KiB from (rank / 2 + 3) % 4 tag 7 comm h
    allreduce 4 KiB comm h
    alltoallv sends [8 B x 8] receives [8 B x 8]
  }
  gather 1 KiB root 3
  free_comm h
}
";

fn convert(arguments: &[&str]) -> String {
    let run = netloom(&[&["trace", "convert"], arguments].concat());
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    run.err
}

/// Makespans on every model; all that was sent arrived.
fn makespans(folder: &Path, file: &str) -> Vec<Json> {
    let summary = |summary: Json| {
        assert_eq!(summary["verdict"]["state"], "ok", "{file}: {summary}");
        assert_eq!(summary["messages"]["injected"], summary["messages"]["delivered"]);
        Json::from(vec![summary["messages"]["delivered"].clone(), summary["jobs"][0]["makespan_ps"].clone()])
    };
    runs(folder, file, "").into_iter().map(summary).collect()
}

#[test]
fn traces_for_simgrid_take_the_same_time() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("p.ranks"), PROGRAM).expect("it can be written");
    let before = makespans(folder.path(), &path("p.ranks"));
    let notes = convert(&[&path("p.ranks"), &path("one.txt"), "--to", "simgrid-ti"]);
    assert_eq!(notes, "note: 40 collectives on communicators or among neighbours became their messages\n");
    convert(&[&path("p.ranks"), &path("packed.txt.gz"), "--to", "simgrid-ti"]);
    convert(&[&path("p.ranks"), &path("list.txt"), "--to", "simgrid-ti", "--per-rank"]);
    let list = fs::read_to_string(path("list.txt")).expect("it is there");
    assert!(list.starts_with("list-0.txt\nlist-1.txt\n") && list.lines().count() == 8, "{list}");
    for file in ["one.txt", "packed.txt.gz", "list.txt"] {
        assert_eq!(before, makespans(folder.path(), &path(file)), "{file}");
    }
    // What is read back is written in the same bytes.
    convert(&[&path("one.txt"), &path("again.txt"), "--to", "simgrid-ti"]);
    assert_eq!(fs::read(path("one.txt")).expect("one"), fs::read(path("again.txt")).expect("two"));
    let again =
        netloom(&["trace", "convert", &path("p.ranks"), &path("list.txt"), "--to=simgrid-ti", "--per-rank"]);
    assert_eq!(again.status, 7, "{}", again.err);
    for (arguments, reported) in [
        (["tests/traces/small.goal", "x.txt", "--to=simgrid-ti"], "cannot be written as MPI calls"),
        (["tests/traces/small.ranks", "x.goal", "--per-rank"], "leave `--per-rank` out"),
        (
            ["tests/traces/small.ranks", "x.txt", "--to=dumpi"],
            "there are goal, goal-binary, ranks, simgrid-ti, otf2, paraver",
        ),
    ] {
        let run = netloom(&[&["trace", "convert"][..], &arguments].concat());
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.err.contains(reported), "{}", run.err);
    }
    simgrid_replays(folder.path(), "list.txt");
}

/// SimGrid itself replays what was written, if it is here.
fn simgrid_replays(folder: &Path, list: &str) {
    let found = Command::new("smpirun").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() {
        eprintln!("SKIPPED: smpirun is missing: SimGrid does not replay what was written");
        return;
    }
    let platform = "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\">\n\
                    <cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" bw=\"9GBps\" lat=\"1us\"/>\n</platform>\n";
    fs::write(folder.join("platform.xml"), platform).expect("it can be written");
    let hosts: String = (0..8).map(|n| format!("h{n}\n")).collect();
    fs::write(folder.join("hosts"), hosts).expect("it can be written");
    let replay = Command::new("smpirun")
        .current_dir(folder)
        .args(["-np", "8", "-platform", "platform.xml", "-hostfile", "hosts", "-replay", list])
        .output()
        .expect("smpirun runs");
    assert!(replay.status.success(), "{}", String::from_utf8_lossy(&replay.stderr));
}

/// Traces of other tools become SimGrid's, with the same messages and times.
#[test]
fn traces_of_other_tools_become_simgrids() {
    for (packed, file) in [
        ("atlahs-liballprof-sweep3d-2x2.tar.gz", "liballprof-samples/sweep3d-2x2/pmpi-trace-rank-1.txt"),
        ("sst-dumpi-testtraces.tar.gz", "traces/testtrace.meta"),
    ] {
        let Some(folder) = unpacked(packed) else { continue };
        let path = |name: &str| folder.path().join(name).display().to_string();
        convert(&[&path(file), &path("ti.txt"), "--to", "simgrid-ti"]);
        assert_eq!(
            makespans(folder.path(), &path(file)),
            makespans(folder.path(), &path("ti.txt")),
            "{file}"
        );
    }
}
