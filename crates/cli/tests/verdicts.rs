//! What runs are worth, on every model: for each verdict a case and a near miss, of sources without end, sources that end, and programs.

use crate::common::netloom;
use serde_json::Value as Json;
use std::{fs, path::Path};

/// Sources on a dragonfly of 72 nodes. Each case changes some keys.
const SOURCES: &str = r#"
[experiment]
duration = "60 us"
[fabric]
topology = "dragonfly"
groups = 9
routers_per_group = 4
terminals_per_router = 2
global_ports_per_router = 2
link.terminal = { bandwidth = "2 GiB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "32 KiB" }
link.local = { bandwidth = "2 GiB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "16 KiB" }
link.global = { bandwidth = "2 GiB/s", latency = "30 ns", credit_delay = "4 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "minimal"
[[job]]
workload = "uniform"
message = "1024 B"
load = 0.1
LINES
[model]
kind = "packet"
packet = "1024 B"
chunk = "64 B"
"#;

/// A program on a switch.
const PROGRAM: &str = r#"
[experiment]
LINES
[fabric]
topology = "single-switch"
terminals = 4
link.terminal = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "minimal"
[[job]]
workload = "trace"
file = "program.ranks"
[model]
kind = "packet"
packet = "1024 B"
chunk = "64 B"
"#;

struct Case {
    /// What it shows.
    name: &'static str,
    /// Lines put into the file, and keys that are changed.
    lines: &'static str,
    set: &'static [&'static str],
    state: &'static str,
    /// Flags that it has, and must not have.
    has: &'static [&'static str],
    lacks: &'static [&'static str],
}

/// Runs cases, all of them before one fails.
fn judge(directory: &Path, text: &str, cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let path = directory.join("case.toml").display().to_string();
        fs::write(&path, text.replace("LINES", case.lines)).expect("written");
        let set = case.set.iter().flat_map(|change| ["--set", change]);
        let arguments: Vec<&str> =
            ["run", path.as_str(), "--format", "json", "--check"].into_iter().chain(set).collect();
        let run = netloom(&arguments);
        let Ok(summary) = serde_json::from_str::<Json>(&run.out) else {
            wrong.push(format!("{}: {}", case.name, run.err));
            continue;
        };
        let verdict = &summary["verdict"];
        let flagged =
            |flag: &&str| verdict["flags"].as_array().is_some_and(|flags| flags.iter().any(|f| f == *flag));
        let sound = verdict["state"] == case.state
            && case.has.iter().all(&flagged)
            && !case.lacks.iter().any(flagged);
        if !sound {
            wrong.push(format!("{}: {verdict} {}", case.name, summary["throughput"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn case(name: &'static str, set: &'static [&'static str], state: &'static str) -> Case {
    Case { name, lines: "", set, state, has: &[], lacks: &[] }
}

/// Ends with its workload, of so many messages per rank.
const FINITE: &str = "experiment.until=workload-done";

/// Packets bypass the network for half of the time.
const HYBRID: &[&str] = &[
    "model.kind=hybrid",
    "hybrid.director=times",
    "hybrid.switch=[\"100 us\", \"300 us\"]",
    "hybrid.window=50 us",
    "experiment.duration=400 us",
];

/// A window that is longer than the run.
const HYBRID_IDLE: &[&str] = &["model.kind=hybrid", "hybrid.director=automatic", "hybrid.window=100 us"];

/// Messages of 2^50 bytes on links of 10^15 bytes per second.
const HUGE: &[&str] = &[
    "model.kind=flow",
    "job.0.message=1024 TiB",
    "job.0.load=0.5",
    "fabric.link.terminal.bandwidth=1000000 GB/s",
    "fabric.link.local.bandwidth=1000000 GB/s",
    "fabric.link.global.bandwidth=1000000 GB/s",
    "experiment.duration=1000 s",
];

/// A quarter of them.
const LESS: &[&str] = &[HUGE[0], HUGE[1], HUGE[2], HUGE[3], HUGE[4], HUGE[5], "experiment.duration=250 s"];

/// The first of two jobs sends a few messages, of a pattern or of one with levels.
const ENDS: &[&str] = &["job.0.count=4", "job.1.start=0 s", "job.1.load=0.1"];
const LEVELS: &[&str] = &[ENDS[0], ENDS[1], ENDS[2], "job.0.workload=bisect"];

/// The same where four nodes share a global link.
const HYBRID_FULL: &[&str] =
    &[HYBRID[0], HYBRID[1], HYBRID[2], HYBRID[3], HYBRID[4], "job.0.workload=bisection", "job.0.load=0.9"];

/// Half of the terminals, and a job on the others that begins in the second half.
const LATE: &str = r#"ranks = 36
[[job]]
workload = "uniform"
message = "1024 B"
load = 0.4
start = "45 us"
ranks = 36
"#;

#[test]
fn sources_without_end() {
    const SLOW: &str = "model.router_delay=10 us";
    const SLOW_FLOWS: &[&str] = &[
        "model.kind=flow",
        "job.0.arrival=poisson",
        "job.0.load=0.95",
        "job.0.message=16 KiB",
        "experiment.duration=20 us",
    ];
    const LONG: &[&str] =
        &["job.0.arrival=poisson", "job.0.message=16 KiB", "experiment.duration=2 ms", "experiment.seed=6"];
    const THREE_BURSTS: &[&str] =
        &["model.kind=flow", "job.0.workload=all-to-all", "job.0.load=0.3", "experiment.duration=330 us"];
    const TEN_BURSTS: &[&str] =
        &["model.kind=flow", "job.0.workload=all-to-all", "job.0.load=0.3", "experiment.duration=1100 us"];
    const LITTLE: &str = "job.0.load=0.01";
    const LONGER: &[&str] =
        &["job.0.arrival=poisson", "job.0.message=64 KiB", "experiment.duration=2 ms", "experiment.seed=3"];
    let directory = tempfile::tempdir().expect("a directory");
    judge(
        directory.path(),
        SOURCES,
        &[
            Case {
                lacks: &["saturated", "still-filling", "sources-ended", "too-few-samples"],
                ..case("packet: little load", &[], "ok")
            },
            Case { has: &["sources-ended"], ..case("packet: ten messages each", &["job.0.count=10"], "ok") },
            Case {
                has: &["too-few-samples"],
                lacks: &["sources-ended"],
                ..case("flow: a few messages", &["model.kind=flow", "experiment.duration=2 us", LITTLE], "ok")
            },
            case("packet: too much load", &["job.0.workload=bisection", "job.0.load=0.9"], "saturated"),
            Case {
                lacks: &["saturated"],
                // A few packets are no steady state either.
                ..case(
                    "packet: short, 1 %",
                    &["job.0.load=0.01", "experiment.duration=4 us"],
                    "not-stationary",
                )
            },
            Case {
                has: &["still-filling"],
                lacks: &["saturated"],
                ..case("packet: filling", &[SLOW, "experiment.duration=36 us"], "not-stationary")
            },
            Case {
                lacks: &["still-filling", "saturated"],
                ..case("packet: filled", &[SLOW, "experiment.duration=1 ms"], "ok")
            },
            Case {
                has: &["outside-validated-range"],
                ..case(
                    "input-queued: too much load",
                    &["model.router=input-queued", "job.0.workload=bisection", "job.0.load=0.9"],
                    "saturated",
                )
            },
            Case {
                lacks: &["outside-validated-range"],
                ..case("input-queued: little load", &["model.router=input-queued"], "ok")
            },
            Case {
                lacks: &["single-path", "saturated", "no-credits"],
                ..case("flow: little load", &["model.kind=flow"], "ok")
            },
            Case {
                has: &["no-credits"],
                ..case("flow: small buffers", &["model.kind=flow", "fabric.link.local.vc_buffer=256 B"], "ok")
            },
            // Ups and downs of messages of many packets are chance: for each size the seed with the most.
            Case { lacks: &["still-filling", "saturated"], ..case("packet: long messages", LONG, "ok") },
            Case { lacks: &["still-filling", "saturated"], ..case("packet: longer messages", LONGER, "ok") },
            case(
                "packet: too many longer messages",
                &[
                    "job.0.workload=bisection",
                    "job.0.message=64 KiB",
                    "job.0.load=0.9",
                    "experiment.duration=2 ms",
                ],
                "saturated",
            ),
            Case {
                has: &["still-filling"],
                lacks: &["saturated"],
                ..case("flow: a few slow messages", SLOW_FLOWS, "not-stationary")
            },
            // A burst begins every 113 us and is over 38 us later.
            Case { has: &["too-few-samples"], ..case("flow: three bursts", THREE_BURSTS, "ok") },
            Case { lacks: &["too-few-samples"], ..case("flow: ten bursts", TEN_BURSTS, "ok") },
            case(
                "flow: too much, and a warm-up that ends late",
                &[
                    "model.kind=flow",
                    "job.0.workload=bisection",
                    "job.0.load=0.9",
                    "experiment.warmup=290 us",
                    "experiment.duration=300 us",
                ],
                "saturated",
            ),
            Case {
                lacks: &["still-filling", "saturated"],
                ..case(
                    "flow: a warm-up that ends late",
                    &[
                        "model.kind=flow",
                        "job.0.load=0.8",
                        "experiment.warmup=390 us",
                        "experiment.duration=400 us",
                    ],
                    "ok",
                )
            },
            Case {
                lacks: &["still-filling", "saturated"],
                has: &["sources-ended"],
                ..case(
                    "flow: a few messages in a rush, and then nothing",
                    &["model.kind=flow", "job.0.load=5.0", "job.0.count=10", "experiment.duration=200 us"],
                    "ok",
                )
            },
            case(
                "flow: more than terminals' links carry",
                &["model.kind=flow", "job.0.load=1.1", "experiment.duration=20 us"],
                "saturated",
            ),
            Case {
                has: &["still-filling"],
                lacks: &["saturated"],
                ..case(
                    "flow: filling",
                    &["model.kind=flow", "job.0.load=0.8", "experiment.duration=40 us"],
                    "not-stationary",
                )
            },
            Case {
                lacks: &["still-filling", "saturated"],
                ..case(
                    "flow: filled",
                    &["model.kind=flow", "job.0.load=0.8", "experiment.duration=400 us"],
                    "ok",
                )
            },
            Case {
                lines: LATE,
                lacks: &["still-filling", "saturated"],
                ..case("packet: a job that begins late", &["job.0.load=0.01"], "ok")
            },
            Case {
                lines: LATE,
                lacks: &["still-filling", "saturated"],
                ..case("flow: a job that begins late", &["model.kind=flow", "job.0.load=0.01"], "ok")
            },
            Case {
                lines: LATE,
                ..case(
                    "packet: a late job that is too much",
                    &["job.1.workload=bisection", "job.1.load=0.9"],
                    "saturated",
                )
            },
            Case {
                lines: LATE,
                ..case(
                    "flow: a late job that is too much",
                    &[
                        "model.kind=flow",
                        "job.1.workload=bisection",
                        "job.1.load=0.9",
                        "experiment.duration=150 us",
                    ],
                    "saturated",
                )
            },
            Case {
                lacks: &["still-filling"],
                ..case(
                    "flow: too much load",
                    &[
                        "model.kind=flow",
                        "job.0.workload=bisection",
                        "job.0.load=0.9",
                        "experiment.duration=300 us",
                    ],
                    "saturated",
                )
            },
            Case { has: &["clipped-sums"], ..case("flow: more than 2^64 bytes", HUGE, "ok") },
            Case { lacks: &["clipped-sums"], ..case("flow: fewer than 2^64 bytes", LESS, "ok") },
            Case { lines: LATE, has: &["sources-ended"], ..case("one of two jobs ends", ENDS, "ok") },
            Case { lines: LATE, has: &["sources-ended"], ..case("one of two ends, by levels", LEVELS, "ok") },
            Case { lines: LATE, lacks: &["sources-ended"], ..case("neither of two jobs ends", &[], "ok") },
            Case {
                has: &["divided-by-load"],
                lacks: &["single-path"],
                ..case(
                    "flow: a routing that chooses by load",
                    &["model.kind=flow", "routing.algorithm=ugal-l"],
                    "ok",
                )
            },
            Case {
                has: &["divided-evenly"],
                lacks: &["single-path"],
                ..case(
                    "flow: a routing that spreads",
                    &["model.kind=flow", "routing.algorithm=valiant"],
                    "ok",
                )
            },
            Case {
                has: &["saturated", "outside-validated-range"],
                ..case("hybrid: its estimate is no bound beyond saturation", HYBRID_FULL, "saturated")
            },
            Case {
                lacks: &["outside-validated-range", "never-predicted"],
                ..case("hybrid: little load", HYBRID, "ok")
            },
            Case { has: &["never-predicted"], ..case("hybrid: a window that never ends", HYBRID_IDLE, "ok") },
            Case {
                has: &["single-path"],
                ..case("congestion: spreads", &["model.kind=congestion", "routing.algorithm=valiant"], "ok")
            },
            Case {
                lacks: &["single-path"],
                ..case("congestion: one path", &["model.kind=congestion"], "ok")
            },
        ],
    );
}

#[test]
fn sources_that_end() {
    const UNTIL: &str = "count = 300";
    const MUCH: &[&str] = &[FINITE, "job.0.workload=bisection", "job.0.load=5.0"];
    const MUCH_OF_FLOW: &[&str] = &["model.kind=flow", "job.0.workload=bisection", "job.0.load=5.0"];
    let directory = tempfile::tempdir().expect("a directory");
    let text = SOURCES.replace("duration = \"60 us\"", "until = \"workload-done\"");
    let cases = [
        Case { lacks: &["saturated"], ..case("packet: little load", &[FINITE], "ok") },
        case("packet: 500 %", MUCH, "saturated"),
        case("packet: the limit comes first", &[FINITE, "experiment.limit=20 us"], "incomplete"),
        case("packet: the limit does not come", &[FINITE, "experiment.limit=1 s"], "ok"),
        case("flow: 500 %", MUCH_OF_FLOW, "saturated"),
        Case { lacks: &["saturated"], ..case("flow: little load", &["model.kind=flow"], "ok") },
        case("flow: the limit comes first", &["model.kind=flow", "experiment.limit=20 us"], "incomplete"),
    ];
    let cases: Vec<Case> = cases.into_iter().map(|c| Case { lines: UNTIL, ..c }).collect();
    judge(directory.path(), &text, &cases);
}

/// Judges a program on every model with time.
fn judge_program(program: &str, lines: &'static str, (state, has, lacks): Wanted) {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("program.ranks"), program).expect("written");
    let models: [(&'static str, &'static [&'static str]); 5] = [
        ("packet", &["model.kind=packet"]),
        ("packet, three partitions", &["engine.partitions=3"]),
        ("flow", &["model.kind=flow"]),
        ("delay", &["model.kind=delay"]),
        ("pure delays", &["model.kind=delay", "model.cost=pure"]),
    ];
    let cases = models.map(|(name, set)| Case { name, lines, set, state, has, lacks });
    judge(directory.path(), PROGRAM, &cases);
}

type Wanted = (&'static str, &'static [&'static str], &'static [&'static str]);

const DONE: &str = "until = \"workload-done\"";

#[test]
fn programs_that_the_end_cuts() {
    let program =
        "ranks 2\nrank 0 {\n compute 5 us\n send 64 B to 1 tag 1\n}\nrank 1 { recv 64 B from 0 tag 1 }\n";
    judge_program(
        program,
        DONE,
        ("ok", &[], &["unreceived-messages", "truncated-messages", "input-dropped"]),
    );
    judge_program(
        program,
        "until = \"workload-done\"\nlimit = \"4 us\"",
        ("incomplete", &["incomplete"], &["deadlock"]),
    );
    // A run that was to end then is whole; that ranks post more than links carry until then saturates nothing.
    let cut = ("ok", &["unfinished-programs"] as &[_], &["incomplete", "saturated", "deadlock"] as &[_]);
    judge_program(program, "duration = \"4 us\"", cut);
    let much = "ranks 2\nrank 0 { repeat 20 as i {\n isend 1 MiB to 1 tag i\n irecv 1 MiB from 1 tag i\n waitall\n} }\n\
                rank 1 { repeat 20 as i {\n isend 1 MiB to 0 tag i\n irecv 1 MiB from 0 tag i\n waitall\n} }\n";
    judge_program(much, "duration = \"300 us\"", cut);
    judge_program(much, "duration = \"3 ms\"", ("ok", &[], &["unfinished-programs", "sources-ended"]));
    let stuck = "ranks 2\nrank 0 { recv 64 B from 1 tag 1 }\nrank 1 { recv 64 B from 0 tag 1 }\n";
    judge_program(stuck, DONE, ("deadlock", &["deadlock"], &["incomplete"]));
    let left = "ranks 2\nrank 0 { send 64 B to 1 tag 1 }\nrank 1 { compute 1 us }\n";
    judge_program(left, DONE, ("incomplete", &["unreceived-messages"], &["truncated-messages", "deadlock"]));
}

/// The second receive has less room than its message; a receive with more room than needed is none of them.
#[test]
fn messages_longer_than_their_receives() {
    let program = |room: &str| {
        format!(
            "ranks 2\nrank 0 {{\n send 1 KiB to 1 tag 1\n send 4 KiB to 1 tag 1\n}}\nrank 1 {{\n recv 2 KiB from 0 tag 1\n recv {room} \
             from 0 tag 1\n}}\n"
        )
    };
    judge_program(&program("1 KiB"), DONE, ("ok", &["truncated-messages"], &[]));
    judge_program(&program("4 KiB"), DONE, ("ok", &[], &["truncated-messages"]));
    // Whose receive is posted first, and whose message is asked for first.
    let late = program("1 KiB").replace("rank 0 {", "rank 0 {\n compute 10 us");
    judge_program(&late, DONE, ("ok", &["truncated-messages"], &[]));
    let long = program("1 KiB").replace("send 4 KiB", "send 1 MiB");
    judge_program(&long, DONE, ("ok", &["truncated-messages"], &[]));
}

/// A trace may not say how long what it received was: such a receive takes what comes, as much as that is.
#[test]
fn receives_of_unknown_size() {
    let receives = "0 recv 1 2 -1\n0 recv 1 2 -1\n";
    let program = format!("0 init\n{receives}1 init\n1 send 0 2 8\n1 send 0 2 8\n");
    judge_program(&program, DONE, ("ok", &[], &["truncated-messages"]));
    // Announced messages, and receives that are posted late.
    let long = program
        .replace("send 0 2 8", "send 0 2 1000000")
        .replace(receives, &format!("0 sleep 1e-5\n{receives}"));
    judge_program(&long, DONE, ("ok", &[], &["truncated-messages"]));
    // So does the most room that a program can ask for, four times of which are more than a number holds.
    let room =
        "ranks 2\nrank 0 { repeat 5 { recv 4194304 TiB from 1 } }\nrank 1 { repeat 5 { send 8 B to 0 } }\n";
    judge_program(room, DONE, ("ok", &[], &["truncated-messages"]));
}

#[test]
fn ranks_that_call_different_collectives() {
    let program = |last: &str| {
        format!(
            "ranks 4\nall {{\n barrier\n allreduce 8 B\n}}\nrank 0-2 {{ bcast 8 B root 0 }}\nrank 3 {{ {last} }}\n"
        )
    };
    const FLAG: &[&str] = &["mismatched-collectives"];
    judge_program(&program("bcast 8 B root 0"), DONE, ("ok", &[], FLAG));
    judge_program(&program("bcast 16 B root 0"), DONE, ("incomplete", FLAG, &[]));
    // Rank 0 before rank 1: each sends what the other takes.
    let swapped = "ranks 2\nrank 0 {\n barrier\n allreduce 8 B\n}\nrank 1 {\n allreduce 8 B\n barrier\n}\n";
    judge_program(swapped, DONE, ("incomplete", FLAG, &[]));
}

/// A message that is only slow is not starved, and a workload that is over lacks no samples.
#[test]
fn single_messages_of_flow() {
    let directory = tempfile::tempdir().expect("a directory");
    let cases: [(&str, &str, Case); 3] = [
        ("0 0 3 1000", "one message", case("over", &[], "ok")),
        ("0 0 3 1 100", "a hundred bytes per second", case("slow", &[], "ok")),
        ("0 0 3 1 1e-9", "for thirty years", case("too slow", &[], "incomplete")),
    ];
    for (line, name, case) in cases {
        fs::write(directory.path().join("pairs.txt"), line).expect("written");
        let text = PROGRAM
            .replace(
                "workload = \"trace\"\nfile = \"program.ranks\"",
                "workload = \"pairs\"\nfile = \"pairs.txt\"",
            )
            .replace("kind = \"packet\"", "kind = \"flow\"");
        let lacks: &[&str] = if case.state == "ok" { &["starved", "too-few-samples"] } else { &["starved"] };
        let case = Case { name, lines: DONE, lacks, ..case };
        judge(directory.path(), &text, &[case]);
    }
}
