//! Traces that other tools recorded, replayed on every model that runs programs. The data is not part of the sources: `NETLOOM_DATA` says where
//! it is, and what is missing is named.

use crate::common::netloom;
use serde_json::Value as Json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn json(arguments: &[&str]) -> Json {
    let run = netloom(&[arguments, &["--format", "json"]].concat());
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    serde_json::from_str(&run.out).expect("one JSON value")
}

/// Unpacks an archive of the data, if it is there.
pub fn unpacked(packed: &str) -> Option<tempfile::TempDir> {
    let data = std::env::var_os("NETLOOM_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let file = data.join("traces").join(packed);
    if !file.exists() {
        eprintln!("SKIPPED: {} is missing", file.display());
        return None;
    }
    let folder = tempfile::tempdir().expect("a directory");
    let status = Command::new("tar").arg("xzf").arg(&file).arg("-C").arg(folder.path()).status();
    assert!(status.expect("tar runs").success());
    Some(folder)
}

const MODELS: [&str; 3] = [
    "kind = \"delay\"\ncost = \"loggops\"",
    "kind = \"packet\"\npacket = \"64 KiB\"\nchunk = \"64 KiB\"\neager = \"1 GiB\"",
    "kind = \"flow\"\neager = \"1 GiB\"",
];

/// Replays a trace on every model: each sends what the calls become, all of it arrives, and the verdict is "ok".
fn replays(folder: &Path, file: &str, more: &str) -> Json {
    let path = folder.join(file).display().to_string();
    let info = json(&["trace", "info", &path, "--expand", "openmpi"]);
    assert_eq!(info["not_used"], Json::Array(Vec::new()), "{file}");
    for (model, summary) in MODELS.iter().zip(runs(folder, &path, more)) {
        assert_eq!(summary["verdict"]["state"], "ok", "{file} {model}: {summary}");
        assert_eq!(summary["jobs"][0]["ranks"], info["ranks"]);
        let counts = &summary["messages"];
        assert_eq!(counts["injected"], counts["delivered"]);
        assert_eq!(counts["delivered"], info["expanded"]["messages"]["count"], "{file} {model}");
    }
    info
}

/// Runs a trace on every model.
pub fn runs(folder: &Path, path: &str, more: &str) -> Vec<Json> {
    let run = |model: &&str| {
        let experiment = format!(
            "[experiment]\nname = \"trace\"\nseed = 1\nuntil = \"workload-done\"\n\
             [fabric]\ntopology = \"mesh\"\ndims = [4, 4, 2]\nterminals_per_router = 1\n\
             link.terminal = {{ bandwidth = \"9 GB/s\", latency = \"100 ns\", credit_delay = \"100 ns\", vc_buffer = \"256 KiB\" }}\n\
             link.local = {{ bandwidth = \"9 GB/s\", latency = \"1 us\", credit_delay = \"1 us\", vc_buffer = \"256 KiB\" }}\n\
             [routing]\nalgorithm = \"dimension-order\"\n\
             [[job]]\nworkload = \"trace\"\nfile = \"{path}\"\nplacement = \"linear\"\n{more}\n[model]\n{model}\n"
        );
        let file = folder.join("run.toml");
        fs::write(&file, experiment).expect("it can be written");
        let run = netloom(&["run", &file.display().to_string(), "--format", "json"]);
        serde_json::from_str(&run.out).unwrap_or_else(|e| panic!("{e}: {}", run.err))
    };
    MODELS.iter().map(run).collect()
}

/// Calls of collectives.
fn calls(info: &Json) -> u64 {
    let all = info["collectives"].as_object().expect("an object");
    all.values().map(|c| c["count"].as_u64().unwrap_or(0)).sum()
}

#[test]
fn traces_of_simgrid_replay() {
    let Some(folder) = unpacked("simgrid-ti-replay.tar.gz") else { return };
    // File, ranks, messages between two ranks, their bytes, calls of collectives.
    for (file, ranks, messages, bytes, collectives) in [
        ("replay/split_traces", 2, 3, 3_000_000, 0),
        ("replay/actions_allgatherv.txt", 4, 0, 0, 4),
        ("replay/actions_allreduce.txt", 3, 0, 0, 3),
        ("replay/actions_alltoall.txt", 3, 0, 0, 3),
        ("replay/actions_alltoallv.txt", 3, 0, 0, 3),
        ("replay/actions_barrier.txt", 3, 1, 10_000_000, 3),
        ("replay/actions_bcast.txt", 3, 0, 0, 9),
        ("replay/actions_bcast_reduce_datatypes.txt", 3, 0, 0, 9),
        ("replay/actions_gather.txt", 4, 0, 0, 4),
        ("replay/actions_reducescatter.txt", 4, 0, 0, 4),
        ("replay/actions_waitall.txt", 3, 3, 8_000, 0),
        ("replay/actions_with_isend.txt", 3, 3, 3_000_000, 0),
        ("replay_multiple/smpi_replay.txt", 32, 0, 0, 1248),
    ] {
        let info = replays(folder.path(), file, "speed = 1e9");
        assert_eq!((&info["format"], &info["ranks"]), (&"simgrid-ti".into(), &ranks.into()), "{file}");
        assert_eq!(
            (&info["messages"]["count"], &info["messages"]["bytes"]),
            (&messages.into(), &bytes.into())
        );
        assert_eq!(info["matching"], "exact", "{file}");
        assert_eq!(calls(&info), collectives, "{file}");
    }
}

#[test]
fn traces_of_liballprof_replay() {
    let Some(folder) = unpacked("atlahs-liballprof-sweep3d-2x2.tar.gz") else { return };
    let sweep = "liballprof-samples/sweep3d-2x2/pmpi-trace-rank-1.txt";
    // What schedgen made of the same trace has 6,052 sends: 5,760 are the program's, the rest those of its collectives.
    for (file, messages, collectives) in
        [(sweep, 5760, 16 + 12 + 128), ("liballprof-samples/bcast/trace_bcast-0.dat", 0, 20)]
    {
        let info = replays(folder.path(), file, "");
        assert_eq!((&info["format"], &info["ranks"]), (&"liballprof".into(), &4.into()), "{file}");
        assert_eq!(info["messages"]["count"], messages);
        assert_eq!(info["matching"], "exact", "{file}");
        assert_eq!(calls(&info), collectives, "{file}");
    }
}

#[test]
fn traces_of_dumpi_replay() {
    let Some(folder) = unpacked("sst-dumpi-testtraces.tar.gz") else { return };
    for file in ["traces/testtrace.meta", "traces/testtrace-0002.bin"] {
        let info = replays(folder.path(), file, "");
        assert_eq!((&info["format"], &info["ranks"]), (&"dumpi".into(), &4.into()), "{file}");
        assert_eq!((&info["messages"]["count"], &info["messages"]["bytes"]), (&4.into(), &16.into()));
        assert_eq!((&info["matching"], calls(&info)), (&"exact".into(), 8));
    }
}

/// The recorded job had eight ranks, of which there is one, and its collectives have no sizes: that is said, and their times are kept.
#[test]
fn traces_of_chakra_replay() {
    let Some(folder) = unpacked("chakra-json_trace.tar.gz") else { return };
    let path = folder.path().join("jsonData/chakra.0.json").display().to_string();
    let info = json(&["trace", "info", &path]);
    assert_eq!((&info["format"], &info["ranks"]), (&"chakra-json".into(), &1.into()));
    assert_eq!((&info["operations"]["calc"], &info["matching"]), (&3664.into(), &"exact".into()));
    let dropped = info["not_used"][0].as_str().expect("a line");
    assert!(dropped.starts_with("7 communication nodes do not say what they move"), "{info}");
    for (model, summary) in MODELS.iter().zip(runs(folder.path(), &path, "")) {
        assert_eq!(summary["verdict"]["state"], "incomplete", "{model}");
        assert!(summary["verdict"].to_string().contains("input-dropped"), "{summary}");
        // Times that were recorded are kept: three processors share them.
        let least = info["compute_ps"]["max"].as_u64().map(|ps| ps / 3);
        assert!(summary["jobs"][0]["makespan_ps"].as_u64() >= least, "{model}: {summary}");
    }
}
