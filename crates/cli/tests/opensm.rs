//! Our engines beside the distribution's OpenSM, run on ibsim: the same tables where that is said, elsewhere ways as short and
//! loads no higher. Without the programs (Debian: opensm, ibsim-utils) these tests say so and pass.

use crate::common::netloom;
use serde_json::Value as Json;
use std::fs;

fn installed() -> bool {
    let there = |program: &str| {
        std::env::var_os("PATH").is_some_and(|path| {
            std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
        })
    };
    let all = there("opensm") && there("ibsim");
    if !all {
        eprintln!("SKIPPED: opensm or ibsim is not installed");
    }
    all
}

/// Fabrics of ours, and the engines whose tables are OpenSM's.
const FABRICS: &[(&str, &str, &[&str], &[&str])] = &[
    (
        "tree",
        "topology = \"xgft\"\nchildren = [4, 6]\nparents = [1, 2]\ncables = [1, 2]\n",
        &["minhop", "updn", "dnup", "ftree", "dor", "lash", "sssp", "dfsssp"],
        &["nue"],
    ),
    (
        "torus",
        "topology = \"torus\"\ndims = [3, 4]\nterminals_per_router = 2\n",
        &["minhop", "dnup", "dor", "lash", "sssp", "dfsssp"],
        &["nue"],
    ),
    (
        "random",
        "topology = \"jellyfish\"\nrouters = 20\ndegree = 4\nterminals_per_router = 2\n",
        &["minhop", "dnup", "dor", "lash", "sssp", "dfsssp"],
        &["nue"],
    ),
];

fn compare(file: &str, engine: &str) -> Json {
    let run = netloom(&["fabric", "opensm", file, "--engine", engine, "--timeout", "60", "--format", "json"]);
    assert_eq!(run.status, 0, "{engine}: {}", run.err);
    serde_json::from_str(&run.out).expect("one JSON object")
}

#[test]
fn engines_agree_with_opensm() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text, identical, others) in FABRICS {
        let file = directory.path().join(format!("{name}.toml")).display().to_string();
        fs::write(&file, format!("[fabric]\n{text}")).expect("written");
        for engine in *identical {
            let result = compare(&file, engine);
            assert_eq!(result["same_entries"], result["entries"], "{engine} on {name}: {result}");
        }
        for engine in *others {
            let result = compare(&file, engine);
            let (ours, theirs) = (&result["netloom"], &result["opensm"]);
            let number = |of: &Json, key: &str| of[key].as_f64().expect("a number");
            assert_eq!(
                (&ours["unreached"], &theirs["unreached"]),
                (&Json::from(0), &Json::from(0)),
                "{engine} on {name}"
            );
            assert!(
                number(ours, "mean_length") <= number(theirs, "mean_length") + 1e-9,
                "{engine} on {name}: {result}"
            );
            // Balance is not the goal of a single link: within a tenth.
            assert!(
                number(ours, "max_load") <= number(theirs, "max_load") * 1.1,
                "{engine} on {name}: {result}"
            );
        }
    }
}

#[test]
fn what_opensm_cannot_route_ends_in_time() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("torus.toml").display().to_string();
    fs::write(&file, "[fabric]\ntopology = \"torus\"\ndims = [3, 3]\n").expect("written");
    let run = netloom(&["fabric", "opensm", &file, "--engine", "ftree", "--timeout", "3"]);
    assert_eq!(run.status, 6, "{}", run.err);
    assert!(run.err.contains("did not end in 3 s"), "{}", run.err);
}

/// OpenSM keeps LIDs from run to run; here in the run's own directory, so that runs side by side, or in turn, do not disturb each other.
#[test]
fn what_opensm_remembers_is_the_runs_own() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("torus.toml");
    fs::write(&file, "[fabric]\ntopology = \"torus\"\ndims = [3, 3]\n").expect("written");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_netloom"));
    command.args(["fabric", "opensm"]).arg(&file).args(["--engine", "minhop", "--timeout", "60"]);
    // With this as its cache OpenSM ends at once.
    let run = command.env("OSM_CACHE_DIR", "/dev/null/none").output().expect("it runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
