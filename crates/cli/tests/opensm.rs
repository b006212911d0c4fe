//! Our engines beside the distribution's OpenSM, run on ibsim: the same tables where that is said, elsewhere ways as short and
//! loads no higher. Without the programs (Debian: opensm, ibsim-utils) these tests say so and pass.

use crate::common::netloom;
use base::rng::{Purpose, Stream};
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

/// Random fabrics of a few switches, each with all engines whose tables are OpenSM's: four, or as many as one likes with `CASES`, from `SEED` on.
#[test]
fn engines_agree_with_opensm_on_random_fabrics() {
    if !installed() {
        return;
    }
    let number =
        |name: &str, default: u64| std::env::var(name).map_or(default, |n| n.parse().expect("a number"));
    let (first, cases) = (number("SEED", 1), number("CASES", 4));
    let directory = tempfile::tempdir().expect("a directory");
    for seed in first..first + cases {
        let mut dice = Stream::new(seed, Purpose::Test, 0);
        let degree = 2 + dice.below(2);
        // Cables have two ends.
        let routers = 2 * (2 + dice.below(5));
        let terminals = 1 + dice.below(3);
        let file = directory.path().join(format!("{seed}.toml")).display().to_string();
        let text = format!(
            "[fabric]\ntopology = \"jellyfish\"\nrouters = {routers}\ndegree = {degree}\nterminals_per_router = {terminals}\nseed = {seed}\n"
        );
        fs::write(&file, &text).expect("written");
        for engine in ["minhop", "dnup", "dor", "lash", "sssp", "dfsssp"] {
            let result = compare(&file, engine);
            assert_eq!(
                result["same_entries"], result["entries"],
                "{engine} on fabric {seed}: {result}\n{text}"
            );
        }
    }
}

#[test]
fn what_opensm_refuses_is_reported_at_once() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("torus.toml").display().to_string();
    fs::write(&file, "[fabric]\ntopology = \"torus\"\ndims = [3, 3]\n").expect("written");
    let begun = std::time::Instant::now();
    for (engine, part) in [("ftree", "cannot build lid matrices"), ("torus-2QoS", "--opensm-conf")] {
        let run = netloom(&["fabric", "opensm", &file, "--engine", engine]);
        assert_eq!(run.status, 3, "{}", run.err);
        assert!(run.err.contains("cannot route this network") && run.err.contains(part), "{}", run.err);
    }
    assert!(begun.elapsed().as_secs() < 60, "long before the time-out of 120 s");
}

/// OpenSM runs at the first host with a cable at port 1, and where there is none that is reported at once.
#[test]
fn a_host_whose_first_port_is_down_is_passed_over() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("two.net").display().to_string();
    let net = "Switch 4 \"S0\"\n[1] \"H0\"[2]\n[2] \"H1\"[1]\nHca 2 \"H0\"\n[2] \"S0\"[1]\nHca 2 \"H1\"\n[1] \"S0\"[2]\n";
    fs::write(&file, net).expect("written");
    let run = netloom(&["fabric", "opensm", &file, "--timeout", "30"]);
    assert!(run.status == 0 && run.out.contains("unreached 0"), "{} {}", run.out, run.err);
    fs::write(&file, net.replace("H1\"[1]", "H1\"[2]").replace("[1] \"S0\"[2]", "[2] \"S0\"[2]"))
        .expect("written");
    let run = netloom(&["fabric", "opensm", &file, "--timeout", "30"]);
    assert!(
        run.status == 3 && run.err.contains("no host has a cable at port 1"),
        "{} {}",
        run.status,
        run.err
    );
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

/// Tables are read back beside the network's own file, GUIDs and all; torus-2QoS takes its file, with GUIDs of that network.
#[test]
fn tables_of_opensm_are_those_of_the_network() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("torus.toml"), "[fabric]\ntopology = \"torus\"\ndims = [4, 4, 4]\n").expect("written");
    let run = netloom(&["fabric", "import", &path("torus.toml"), "--to", "ibnetdiscover"]);
    // Other GUIDs than the simulator gives.
    let text = run.out.replace("0x2000", "0x777000").replace("S-00000000002000", "S-00000000777000");
    fs::write(path("net"), text.replace("(2000", "(777000")).expect("written");
    // Routers of a torus are numbered along the first dimension first.
    let guid = |x: u32, y: u32, z: u32| format!("0x777000{:02x}", x + 4 * y + 16 * z);
    let (mut conf, origin) = ("torus 4 4 4\n".to_owned(), guid(0, 0, 0));
    for (name, to) in [
        ("xp", guid(1, 0, 0)),
        ("xm", guid(3, 0, 0)),
        ("yp", guid(0, 1, 0)),
        ("ym", guid(0, 3, 0)),
        ("zp", guid(0, 0, 1)),
        ("zm", guid(0, 0, 3)),
    ] {
        conf += &format!("{name}_link {origin} {to}\n");
    }
    fs::write(path("conf"), conf).expect("written");
    let arguments = ["fabric", "opensm", &path("net"), "--to", "lfts", "--engine"];
    for more in [vec!["minhop"], vec!["torus-2QoS", "--opensm-conf", &path("conf")]] {
        let all: Vec<&str> = arguments.iter().copied().chain(more).collect();
        let run = netloom(&all);
        assert_eq!(run.status, 0, "{}", run.err);
        fs::write(path("lfts"), run.out).expect("written");
        let run = netloom(&["fabric", "verify", &path("net"), "--tables", &path("lfts"), "--format", "json"]);
        let report: Json = serde_json::from_str(&run.out).expect(&run.err);
        assert_eq!((&report["unreached"], &report["pairs"]), (&Json::from(0), &Json::from(64 * 63)));
    }
}

/// Whatever signal ends the command, its children end with it and its directory goes.
#[cfg(unix)]
#[test]
fn signals_leave_nothing_behind() {
    if !installed() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("tree.toml").display().to_string();
    fs::write(&file, "[fabric]\ntopology = \"xgft\"\nchildren = [12, 24]\nparents = [1, 12]\n")
        .expect("written");
    for signal in ["-INT", "-TERM", "-HUP"] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_netloom"))
            .args(["fabric", "opensm", &file])
            .env("TMPDIR", directory.path())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("started");
        let scratch = |()| {
            let all = fs::read_dir(directory.path()).expect("the directory").flatten();
            all.map(|e| e.path()).find(|p| p.is_dir())
        };
        let begun = std::time::Instant::now();
        while scratch(()).is_none_or(|path| !path.join("opensm.log").is_file()) {
            assert!(
                begun.elapsed().as_secs() < 60 && child.try_wait().expect("a child").is_none(),
                "it starts"
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let pid = child.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let sent = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
        assert!(sent.expect("kill is there").success());
        assert_eq!(child.wait().expect("a child").code(), Some(6), "{signal}");
        assert_eq!(scratch(()), None, "{signal}");
        for child in children.split_whitespace() {
            assert!(!std::path::Path::new(&format!("/proc/{child}")).exists(), "{signal}: {child} lives on");
        }
    }
}
