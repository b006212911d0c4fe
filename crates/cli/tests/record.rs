//! `netloom record`: a real MPI program, recorded and replayed. Without `mpicc` and `mpirun` this is skipped, and says so.

use crate::{common::netloom, trace_formats::runs};
use serde_json::Value as Json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// True if MPI's compiler and launcher are here.
fn has_mpi() -> bool {
    let runs = |program: &str| {
        Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success())
    };
    let missing: Vec<&str> = ["mpicc", "mpirun"].into_iter().filter(|program| !runs(program)).collect();
    if !missing.is_empty() {
        eprintln!("SKIPPED: {} missing: nothing is recorded", missing.join(" and "));
    }
    missing.is_empty()
}

fn compiled(folder: &Path, name: &str) -> String {
    let program = folder.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces").join(name).with_extension("c");
    let status = Command::new("mpicc").args(["-O1", "-o"]).arg(&program).arg(source).status();
    assert!(status.expect("mpicc runs").success());
    program.display().to_string()
}

/// The start of a job of four ranks, also for root and on few processors.
const START: [&str; 8] = [
    "env",
    "OMPI_ALLOW_RUN_AS_ROOT=1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
    "OMPI_MCA_rmaps_base_oversubscribe=1",
    // The other component for windows crashes on some machines, recorded or not.
    "OMPI_MCA_osc=pt2pt",
    "mpirun",
    "-n",
    "4",
];

fn json(arguments: &[&str]) -> Json {
    let run = netloom(&[arguments, &["--format", "json"]].concat());
    assert_eq!(run.status, 0, "{arguments:?}: {}", run.err);
    serde_json::from_str(&run.out).expect("one JSON value")
}

struct Built {
    folder: tempfile::TempDir,
    program: String,
    library: String,
}

fn built() -> Option<Built> {
    if !has_mpi() {
        return None;
    }
    let folder = tempfile::tempdir().expect("a directory");
    let to = folder.path().join("library").display().to_string();
    let run = netloom(&["record", "build", &to]);
    assert_eq!(run.status, 0, "{}", run.err);
    let library = run.out.trim().to_owned();
    assert!(library.ends_with("libnetloom-record.so") && PathBuf::from(&library).is_file());
    Some(Built { program: compiled(folder.path(), "recorded"), library, folder })
}

impl Built {
    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn record(&self, out: &str, more: &[&str]) -> crate::common::Run {
        let asked = ["record", "--out", out, "--library", &self.library, "--"];
        netloom(&[&asked[..], &START, &[self.program.as_str()], more].concat())
    }
}

#[test]
fn a_recorded_program_replays_with_all_its_messages() {
    let Some(built) = built() else { return };
    let file = built.path("app.ranks");
    let run = built.record(&file, &[]);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(run.out.starts_with(&format!("{file}: 4 ranks, ")), "{}", run.out);
    assert!(!Path::new(&built.path("app.ranks.record")).exists());

    let info = json(&["trace", "info", &file, "--expand", "openmpi"]);
    assert_eq!((&info["format"], &info["ranks"]), (&"ranks".into(), &4.into()));
    assert_eq!(info["not_used"], Json::Array(Vec::new()));
    // A ring, 20 messages to the right, three starts, an exchange, twelve to neighbours of the grid, one that is probed.
    assert_eq!(info["messages"]["count"], 4 + 4 * 20 + 4 * 3 + 4 + 12 + 1);
    // Three of the ranks slept for a millisecond.
    assert!(info["compute_ps"]["max"].as_u64().expect("a time") > 1_000_000_000, "{info}");
    for summary in runs(built.folder.path(), &file, "") {
        assert_eq!(summary["verdict"]["state"], "ok", "{summary}");
        let counts = &summary["messages"];
        assert_eq!(counts["injected"], counts["delivered"]);
        assert_eq!(counts["delivered"], info["expanded"]["messages"]["count"]);
    }
}

/// Of each rank of a recording, what it sends: the receiver and the bytes.
fn sends(recorded: &str) -> BTreeMap<usize, Vec<String>> {
    let (mut all, mut rank) = (BTreeMap::<usize, Vec<String>>::new(), 0);
    for line in recorded.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["rank", number, "{"] => rank = number.parse().expect("a number"),
            ["isend" | "ssend" | "sendrecv", bytes, "B", "to", to, ..] => {
                all.entry(rank).or_default().push(format!("{to} {bytes}"));
            }
            _ => {}
        }
    }
    all
}

/// Random programs say themselves what they send and call; the recording has the same by rank, and a replay delivers it. More: `CASES=50 SEED=9`.
#[test]
fn random_programs_are_recorded_as_they_say() {
    let Some(mut built) = built() else { return };
    built.program = compiled(built.folder.path(), "drawn");
    let number =
        |name: &str, default: u64| std::env::var(name).map_or(default, |n| n.parse().expect("a number"));
    let (seed, cases) = (number("SEED", 0), number("CASES", 3));
    for case in seed..seed + cases {
        let [file, said] = ["ranks", "said"].map(|end| built.path(&format!("drawn-{case}.{end}")));
        let run = built.record(&file, &[&case.to_string(), "25", &said]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "case {case}: {}", run.out);
        let said = (0..4).map(|rank| fs::read_to_string(format!("{said}-{rank}")).expect("each rank writes"));
        let said: Vec<Vec<String>> = said.map(|text| text.lines().map(str::to_owned).collect()).collect();
        let lines = |start: &str| said.iter().flatten().filter(|l| l.starts_with(start)).count() as u64;
        let info = json(&["trace", "info", &file]);
        assert_eq!(info["messages"]["count"], lines("sent "), "case {case}: {info}");
        for call in ["barrier", "allreduce", "bcast", "alltoall"] {
            let recorded = info["collectives"][call]["count"].as_u64().unwrap_or(0);
            assert_eq!(recorded, lines(&format!("called {call}")), "case {case}: {call}");
        }
        let sends = sends(&fs::read_to_string(&file).expect("it is there"));
        for (rank, said) in said.iter().enumerate() {
            let of = said.iter().filter_map(|line| line.strip_prefix("sent "));
            assert_eq!(
                sends.get(&rank).map_or(&[][..], Vec::as_slice),
                of.collect::<Vec<_>>(),
                "case {case}: rank {rank}"
            );
        }
        for summary in runs(built.folder.path(), &file, "") {
            assert_eq!(summary["verdict"]["state"], "ok", "case {case}: {summary}");
            assert_eq!(summary["messages"]["injected"], summary["messages"]["delivered"]);
        }
    }
}

#[test]
fn windows_are_recorded_and_replayed() {
    let Some(built) = built() else { return };
    let file = built.path("app.ranks");
    let run = built.record(&file, &["windows"]);
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    let info = json(&["trace", "info", &file, "--expand", "openmpi"]);
    assert_eq!(info["not_used"], Json::Array(Vec::new()));
    let text = fs::read_to_string(&file).expect("it is text");
    for (line, times) in [
        ("win_create world as w0", 4),
        ("win_create c1 as w1", 4),
        (" win w0", 4 * 5),
        ("put 40 B to null win w0", 4),
        ("win_post w1 group [", 4),
        ("win_wait w1", 4),
        ("accumulate 16 B to ", 4),
        ("win_lock w0 0 exclusive", 4),
        ("compare_and_swap 8 B to 0 win w0", 4),
        ("get 32 B from ", 4),
        ("win_unlock_all w1", 4),
        ("win_free w0", 4),
    ] {
        assert_eq!(text.matches(line).count(), times, "{line}: {text}");
    }
    // What rank 0 does with its own window, and its lock that goes from hand to hand, need no network.
    let own = 5 * 2 + 5;
    for summary in runs(built.folder.path(), &file, "") {
        assert_eq!(summary["verdict"]["state"], "ok", "{summary}");
        let counts = &summary["messages"];
        assert_eq!(counts["injected"], counts["delivered"]);
        let all = info["expanded"]["messages"]["count"].as_u64().expect("a number");
        let delivered = counts["delivered"].as_u64().expect("a number");
        assert!(delivered == all || delivered + own == all, "{delivered} of {all}");
    }
}

/// What has no words in the format is counted, and a run says that it is a part.
#[test]
fn what_cannot_be_recorded_is_reported() {
    let Some(built) = built() else { return };
    let file = built.path("app.ranks.gz");
    let run = built.record(&file, &["with", "copy"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert!(run.err.contains("note: 4 calls of MPI_Comm_idup are not in it"), "{}", run.err);
    assert!(fs::read(&file).expect("it is there").starts_with(&[0x1f, 0x8b]));
    let info = json(&["trace", "info", &file]);
    assert!(info["not_used"].to_string().contains("4 calls of MPI_Comm_idup were not recorded"), "{info}");
    for summary in runs(built.folder.path(), &file, "") {
        assert_eq!(summary["verdict"]["state"], "incomplete", "{summary}");
        assert!(summary["verdict"].to_string().contains("input-dropped"), "{summary}");
    }
}

#[test]
fn a_recording_that_fails_leaves_nothing() {
    let Some(built) = built() else { return };
    let file = built.path("none.ranks");
    let with =
        |more: &[&str]| netloom(&[&["record", "--out", &file, "--library", &built.library], more].concat());
    for (run, status, reported) in [
        (with(&["--", "true"]), 12, "no rank was recorded"),
        (with(&["--", "false"]), 12, "`false` failed"),
        (with(&["--", "no-such-program"]), 4, "cannot run `no-such-program`"),
        (with(&[]), 2, "required"),
        (netloom(&["record", "--", "true"]), 2, "--out"),
        (
            netloom(&["record", "--out", &file, "--library", "none", "--", "true"]),
            4,
            "there is no library `none`",
        ),
    ] {
        assert_eq!((run.status, run.out.as_str()), (status, ""), "{}", run.err);
        assert!(run.err.contains(reported), "{}", run.err);
        assert!(!Path::new(&file).exists() && !Path::new(&built.path("none.ranks.record")).exists());
    }
    fs::write(&file, "mine").expect("it can be written");
    assert_eq!(with(&["--", "true"]).status, 7);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), "mine");
}

/// Fortran's calls reach MPI by its bindings: each of them records what it calls, once.
#[test]
fn programs_in_fortran_are_recorded() {
    let has =
        Command::new("mpifort").arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    if !has {
        eprintln!("SKIPPED: mpifort is missing: no program in Fortran is recorded");
        return;
    }
    let Some(built) = built() else { return };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces/recorded.F90");
    let mut texts = Vec::new();
    for binding in 1..=3 {
        let program = built.path(&format!("fortran-{binding}"));
        let binding = format!("-DBINDING={binding}");
        let status = Command::new("mpifort").args(["-O1", &binding, "-o", &program]).arg(&source).status();
        assert!(status.expect("mpifort runs").success());
        let file = format!("{program}.ranks");
        let asked = ["record", "--out", &file, "--library", &built.library, "--"];
        let run = netloom(&[&asked[..], &START, &[program.as_str()]].concat());
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{binding}: {}", run.out);
        let text = fs::read_to_string(&file).expect("it is text");
        let calls: Vec<&str> = text.lines().filter(|line| !line.starts_with("  compute ")).collect();
        texts.push(calls.join("\n"));
        let info = json(&["trace", "info", &file]);
        // Three rounds, a persistent one and an exchange of four ranks.
        assert_eq!((&info["messages"]["count"], &info["matching"]), (&(4 * 5).into(), &"exact".into()));
        assert_eq!(info["not_used"], Json::Array(Vec::new()));
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:?}");
    for line in [
        "irecv 800 B from 3 tag 1 as r0",
        "send_init 28 B to 1 tag 9 as r",
        "sendrecv 20 B to 1 tag 4 recv 20 B from 3 tag 4",
        "allreduce 80 B",
        "bcast 40 B root 0 comm c1",
    ] {
        assert!(texts[0].contains(line), "{line}: {}", texts[0]);
    }
}

/// A program that is recorded twice, by EZTrace and here, has the same messages and collectives of every rank in the same order.
#[test]
fn eztrace_sees_the_same_messages() {
    if Command::new("eztrace").arg("-h").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        eprintln!("SKIPPED: eztrace is missing: there is no other recording to compare with");
        return;
    }
    let Some(built) = built() else { return };
    let program = built.path("exchanged");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces/exchanged.c");
    let status = Command::new("mpicc").args(["-O1", "-o", &program]).arg(source).status();
    assert!(status.expect("mpicc runs").success());
    let (file, folder) = (built.path("ours.ranks"), built.path("theirs"));
    let asked = ["record", "--out", &file, "--library", &built.library, "--"];
    let run = netloom(&[&asked[..], &START, &[program.as_str()]].concat());
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    let [environment, start @ ..] = &START[..] else { panic!("a command") };
    let eztrace = ["eztrace", "-t", "openmpi", "-o", &folder, &program];
    let run = Command::new(environment).args(start).args(eztrace).output().expect("it runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let anchor = format!("{folder}/exchanged_trace/eztrace_log.otf2");
    let theirs = built.path("theirs.ranks");
    let run = netloom(&["trace", "convert", &anchor, &theirs]);
    assert_eq!(run.status, 0, "{}", run.err);
    let calls = |file: &str| {
        let text = fs::read_to_string(file).expect("it is text");
        let kept = text.lines().map(|line| line.split(" as r").next().unwrap_or("").trim());
        let moves = |line: &&str| {
            ["send", "isend", "recv", "allreduce", "bcast", "barrier", "rank "]
                .iter()
                .any(|word| line.starts_with(word))
        };
        kept.filter(moves).map(str::to_owned).collect::<Vec<_>>()
    };
    let (ours, theirs) = (calls(&file), calls(&theirs));
    assert_eq!(ours, theirs);
    // Five rounds of four ranks: a send and a receive in the ring, one between neighbours, two collectives; a barrier. And the heads of the ranks.
    assert_eq!(ours.len(), 4 * (5 * 6 + 1) + 4, "{ours:?}");
}
