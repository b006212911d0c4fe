//! OTF2 archives that are made here: what their replay costs, against programs that do the same.

use crate::common::netloom;
use base::rng::{Purpose, Stream};
use otf2::{
    Comm, Definitions, EventKind, Group, GroupType, Location, LocationGroup, Region, Writer, paradigm,
};
use serde_json::Value as Json;
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

const RANKS: u64 = 8;
/// Regions of the archives, in the order of their numbers.
const REGIONS: [&str; 4] = ["MPI_Sendrecv", "MPI_Allreduce", "MPI_Comm_split", "MPI_Comm_dup"];

/// Makespan and messages of a run with these lines of a model; with `out` its simulated trace is written there.
fn run(folder: &Path, file: &Path, model: &str, out: Option<&str>) -> (Json, Json) {
    let experiment = format!(
        "[experiment]\nname = \"trace\"\nuntil = \"workload-done\"\n[[job]]\nworkload = \"trace\"\nfile = \"{}\"\n{model}\n\
         [output]\noperations = true\nreport = false\n",
        file.display()
    );
    let toml = folder.join("run.toml");
    fs::write(&toml, experiment).expect("it can be written");
    let out = out.map(|out| folder.join(out).display().to_string());
    let mut arguments = vec!["run", toml.to_str().expect("a path"), "--format", "json"];
    arguments.extend(out.iter().flat_map(|out| ["--out", out]));
    let run = netloom(&arguments);
    assert_eq!(run.status, 0, "{}: {} {}", file.display(), run.err, run.out);
    let summary: Json = serde_json::from_str(&run.out).expect("one JSON value");
    assert_eq!(summary["verdict"]["state"], "ok", "{}: {summary}", file.display());
    (summary["jobs"][0]["makespan_ps"].clone(), summary["messages"]["delivered"].clone())
}

/// The same on a network without contention.
fn cost(folder: &Path, file: &Path) -> (Json, Json) {
    run(folder, file, "[model]\nkind = \"delay\"\ncost = \"loggops\"", None)
}

/// Writes an archive: its communicators by number beside the world's (0), and each rank's events with their nanoseconds.
fn archive(
    folder: &Path,
    name: &str,
    comms: &[(u32, Vec<u64>)],
    events: impl Fn(u32) -> Vec<EventKind>,
) -> PathBuf {
    let folder = folder.join(name);
    let writer = Writer::create(&folder, "test").expect("it can be written");
    let mut d = Definitions::default();
    d.string("");
    for (number, name) in (0..).zip(REGIONS) {
        let name = d.string(name);
        d.regions.insert(number, Region { name, paradigm: paradigm::MPI, role: 1 });
    }
    for rank in 0..RANKS {
        let mut location = writer.location(rank).expect("a location");
        let mut time = 0;
        for event in events(rank as u32) {
            // A microsecond of computation between calls; a call's own time is dropped, and so is what was before the first event.
            time += if matches!(event, EventKind::Enter { .. }) { 1_000 } else { 10 };
            location.write(time, &event, &[]).expect("an event");
        }
        let events = location.finish().expect("a location");
        d.location_groups.insert(rank as u32, LocationGroup { name: 0, kind: 1, parent: None });
        d.locations.insert(rank, Location { name: 0, kind: 1, events, group: rank as u32 });
    }
    let group =
        |kind, members: &[u64]| Group { name: 0, kind, paradigm: paradigm::MPI, members: members.to_vec() };
    let world: Vec<u64> = (0..RANKS).collect();
    d.groups.insert(0, group(GroupType::Locations, &world));
    d.groups.insert(1, group(GroupType::Ranks, &world));
    d.comms.insert(0, Comm { name: 0, group: 1 });
    for (comm, members) in comms {
        d.groups.insert(comm + 10, group(GroupType::Ranks, members));
        d.comms.insert(*comm, Comm { name: 0, group: comm + 10 });
    }
    writer.finish(&d).expect("it can be written");
    folder.join("traces.otf2")
}

/// An exchange of each pair of neighbours by ranks of a communicator, five times.
fn pairs(of: impl Fn(u32) -> (u32, u32)) -> impl Fn(u32) -> Vec<EventKind> {
    move |rank| {
        let (comm, peer) = of(rank);
        let once = [
            EventKind::Enter { region: 0 },
            EventKind::Send { receiver: peer, comm, tag: 3, bytes: 5_000 },
            EventKind::Recv { sender: peer, comm, tag: 3, bytes: 5_000 },
            EventKind::Leave { region: 0 },
        ];
        once.repeat(5)
    }
}

fn collective(region: u32, operation: u8, comm: u32, bytes: u64) -> Vec<EventKind> {
    let end = EventKind::CollectiveEnd { operation, comm, root: u32::MAX, sent: bytes, received: bytes };
    vec![EventKind::Enter { region }, EventKind::CollectiveBegin, end, EventKind::Leave { region }]
}

/// What an archive only defines costs nothing: pairs take the same time whether they speak as ranks of the world or of communicators of their own, and
/// whatever else is defined.
#[test]
fn communicators_of_an_archive_cost_nothing() {
    let folder = tempfile::tempdir().expect("a directory");
    let of_pairs: Vec<(u32, Vec<u64>)> = (0..4).map(|p| (p as u32 + 1, vec![2 * p, 2 * p + 1])).collect();
    let mut unused = of_pairs.clone();
    unused.extend([
        (7, vec![6, 0, 3]),
        (8, (0..RANKS).collect()),
        (9, (0..RANKS).rev().collect()),
        (10, vec![5]),
    ]);
    let world = |rank| (0, rank ^ 1);
    let plain = cost(folder.path(), &archive(folder.path(), "plain", &[], pairs(world)));
    for (name, comms, of) in [
        ("unused", &unused, Box::new(world) as Box<dyn Fn(u32) -> (u32, u32)>),
        ("own", &of_pairs, Box::new(|rank| (rank / 2 + 1, (rank % 2) ^ 1))),
        ("reversed", &unused, Box::new(|rank: u32| (9, 7 - (rank ^ 1)))),
        ("copy", &unused, Box::new(|rank: u32| (8, rank ^ 1))),
    ] {
        let file = archive(folder.path(), name, comms, pairs(of));
        assert_eq!(cost(folder.path(), &file), plain, "{name}");
        // As a program of ranks, too.
        let program = folder.path().join(format!("{name}.ranks"));
        let run = netloom(&["trace", "convert", &file.display().to_string(), &program.display().to_string()]);
        assert_eq!(run.status, 0, "{}", run.err);
        assert_eq!(cost(folder.path(), &program), plain, "{name}");
        // And twice the ranks take no longer.
        let twice = folder.path().join(format!("{name}-twice.ranks"));
        let (from, to) = (file.display().to_string(), twice.display().to_string());
        let run = netloom(&["trace", "convert", &from, &to, "--ranks", "16"]);
        assert_eq!(run.status, 0, "{}", run.err);
        let (makespan, messages) = cost(folder.path(), &twice);
        assert_eq!(
            (makespan, messages.as_u64()),
            (plain.0.clone(), plain.1.as_u64().map(|n| 2 * n)),
            "{name}"
        );
    }
}

/// Two communicators of all ranks are two: messages of one do not meet receives of the other.
#[test]
fn a_copy_of_the_world_has_messages_of_its_own() {
    let folder = tempfile::tempdir().expect("a directory");
    let copy = [(4, (0..RANKS).collect())];
    let events = |rank: u32| {
        let send = |comm, bytes, request| EventKind::Isend { receiver: 1, comm, tag: 0, bytes, request };
        let recv = |comm, bytes| EventKind::Recv { sender: 0, comm, tag: 0, bytes };
        match rank {
            // The small one leaves first and is received last.
            0 => vec![
                EventKind::Enter { region: 0 },
                send(0, 1, 1),
                send(4, 1 << 20, 2),
                EventKind::IsendComplete { request: 1 },
                EventKind::IsendComplete { request: 2 },
                EventKind::Leave { region: 0 },
            ],
            1 => vec![
                EventKind::Enter { region: 0 },
                recv(4, 1 << 20),
                recv(0, 1),
                EventKind::Leave { region: 0 },
            ],
            _ => Vec::new(),
        }
    };
    let file = archive(folder.path(), "copy", &copy, events);
    let program = folder.path().join("same.ranks");
    let text = "ranks 8\nrank 0 {\n isend 1 B to 1 tag 1\n isend 1 MiB to 1 tag 2\n waitall\n}\n\
                rank 1 {\n recv 1 MiB from 0 tag 2\n recv 1 B from 0 tag 1\n}\n";
    fs::write(&program, text).expect("it can be written");
    assert_eq!(cost(folder.path(), &file), cost(folder.path(), &program));
}

/// The recorded call that makes a communicator costs what it costs a program.
#[test]
fn a_recorded_creation_costs_what_a_program_s_does() {
    let folder = tempfile::tempdir().expect("a directory");
    let comms = [(1, vec![0, 2, 4, 6]), (2, vec![1, 3, 5, 7]), (3, (0..RANKS).collect())];
    let events = |rank: u32| {
        let parts = collective(2, 17, 0, 0);
        let copy = collective(3, 17, 0, 0);
        let sums = [1 + rank % 2, 3].map(|comm| collective(1, 11, comm, 64));
        [parts, copy].into_iter().chain(sums).flatten().collect()
    };
    let file = archive(folder.path(), "made", &comms, events);
    let program = folder.path().join("same.ranks");
    let text = "ranks 8\nall {\n split world color rank % 2 as half\n compute 1 us\n dup world as copy\n compute 1 us\n \
                allreduce 64 B comm half\n compute 1 us\n allreduce 64 B comm copy\n}\n";
    fs::write(&program, text).expect("it can be written");
    assert_eq!(cost(folder.path(), &file), cost(folder.path(), &program));
}

/// A program of four ranks that cannot deadlock, whatever the protocol: requests that are waited for later, blocking calls, collectives, messages that are received in
/// another order than they were sent. With `beside` collectives go on beside other calls.
fn random(seed: u64, beside: bool) -> String {
    const SIZE: usize = 4;
    let mut draw = Stream::new(seed, Purpose::Test, 0);
    let mut ranks = vec![String::new(); SIZE];
    let mut open = vec![Vec::<String>::new(); SIZE];
    for step in 0..24 {
        let kind = draw.below(if beside { 9 } else { 8 });
        let bytes = [8, 1_000, 60_000, 300_000][draw.below(4) as usize];
        let by = 1 + draw.below(SIZE as u64 - 1) as usize;
        for rank in 0..SIZE {
            let (to, from) = ((rank + by) % SIZE, (rank + SIZE - by) % SIZE);
            let mut line = |text: String| writeln!(ranks[rank], "  {text}").expect("a text takes it");
            let open = &mut open[rank];
            match kind {
                0 | 1 => {
                    let mut lines = [
                        format!("isend {bytes} B to {to} tag {step} as s{step}"),
                        format!("irecv {bytes} B from {from} tag {step} as r{step}"),
                    ];
                    lines.rotate_left(draw.below(2) as usize);
                    lines.into_iter().for_each(&mut line);
                    open.extend([format!("s{step}"), format!("r{step}")]);
                }
                2 if !open.is_empty() => {
                    let which = draw.below(open.len() as u64) as usize;
                    line(format!("wait {}", open.swap_remove(which)));
                }
                3 if !open.is_empty() => line(format!("waitall {}", std::mem::take(open).join(" "))),
                2..4 => line(format!("compute {} ns", 1 + draw.below(40_000))),
                4 => line(format!("compute {} ns", 1 + draw.below(90_000))),
                5 => line(format!(
                    "sendrecv {bytes} B to {to} tag {step} recv {bytes} B from {from} tag {step}"
                )),
                6 if bytes > 1_000 => line(format!("allreduce {bytes} B")),
                6 => line(format!("bcast {bytes} B root {by}")),
                7 => {
                    for (tag, bytes) in [(step, bytes), (step + 100, 64)] {
                        line(format!("isend {bytes} B to {to} tag {tag} as s{tag}"));
                        open.push(format!("s{tag}"));
                    }
                    for (tag, bytes) in [(step + 100, 64), (step, bytes)] {
                        line(format!("irecv {bytes} B from {from} tag {tag} as r{tag}"));
                        line(format!("wait r{tag}"));
                    }
                }
                _ => {
                    line(format!("iallreduce {bytes} B as a{step}"));
                    open.push(format!("a{step}"));
                }
            }
        }
    }
    let mut text = format!("ranks {SIZE}\n");
    for (rank, (calls, open)) in ranks.iter().zip(open).enumerate() {
        let rest = if open.is_empty() { String::new() } else { format!("  waitall {}\n", open.join(" ")) };
        write!(text, "rank {rank} {{\n{calls}{rest}}}\n").expect("a text takes it");
    }
    text
}

/// A run's trace is replayed: by the same model in the same time, and where sends wait for their receives it does not stop.
#[test]
fn simulated_traces_are_replayed() {
    let folder = tempfile::tempdir().expect("a directory");
    let delay = |eager| format!("[model]\nkind = \"delay\"\ncost = \"loggops\"\neager = \"{eager} B\"");
    let flow = |eager| format!("{NETWORK}[model]\nkind = \"flow\"\neager = \"{eager} B\"");
    for seed in 0..12 {
        let file = folder.path().join(format!("{seed}.ranks"));
        fs::write(&file, random(seed, seed % 3 == 2)).expect("it can be written");
        for (name, models) in [
            ("delay", [delay(50_000), delay(1), delay(1 << 30)]),
            ("flow", [flow(50_000), flow(1), flow(1 << 30)]),
        ] {
            for (number, model) in models.iter().enumerate() {
                let out = format!("{name}-{seed}-{number}");
                let ran = run(folder.path(), &file, model, Some(&out));
                let trace = folder.path().join(&out).join("otf2/traces.otf2");
                // Collectives that go on beside other calls lose their freedom in a trace: only where sends wait as they did is it sure to end.
                let replays = models.iter().enumerate().filter(|&(other, _)| seed % 3 < 2 || other == number);
                for (other, replay) in replays {
                    let again = run(folder.path(), &trace, replay, None);
                    // On `flow` messages that ask and grant are counted, which depends on the limit.
                    if other == number || name == "delay" {
                        assert_eq!(again.1, ran.1, "{out} by {other}");
                    }
                    if other == number && seed % 3 < 2 {
                        let times = [&again.0, &ran.0].map(|ps| ps.as_f64().expect("a number"));
                        let off = (times[0] / times[1] - 1.0).abs();
                        // On `flow` a computation is drawn from when it could begin, with what its core did first.
                        let most = if name == "delay" { 0.0 } else { 0.02 };
                        assert!(off <= most, "{out}: {times:?}, {off}");
                    }
                }
            }
        }
    }
}

/// How sends complete is in the trace: synchronous ones wait for their receives again, and buffered ones do not.
#[test]
fn simulated_traces_say_how_sends_complete() {
    let folder = tempfile::tempdir().expect("a directory");
    let model = "[model]\nkind = \"delay\"\ncost = \"loggops\"\neager = \"64 KiB\"";
    let late = "rank 1 {\n compute 10 us\n recv 8 B from 0\n recv 8 B from 0 tag 1\n}\n";
    let wait = |call: &str| if call.starts_with('i') { " as a\n wait a" } else { "" };
    for call in ["send", "ssend", "issend", "bsend", "ibsend"] {
        let waits = wait(call);
        let one = format!("ranks 2\nrank 0 {{\n {call} 8 B to 1{waits}\n send 8 B to 1 tag 1\n}}\n{late}");
        // Larger than `eager`: standard sends would wait for each other.
        let both = format!("ranks 2\nall {{\n {call} 1 MiB to 1-rank{waits}\n recv 1 MiB from 1-rank\n}}\n");
        for (name, text) in [("one", one), ("both", both)] {
            if name == "both" && !call.contains("bsend") {
                continue;
            }
            let file = folder.path().join(format!("{name}-{call}.ranks"));
            fs::write(&file, text).expect("it can be written");
            let out = format!("{name}-{call}");
            let ran = run(folder.path(), &file, model, Some(&out));
            let trace = folder.path().join(&out).join("otf2/traces.otf2");
            assert_eq!(run(folder.path(), &trace, model, None), ran, "{out}");
        }
    }
}

const NETWORK: &str = r#"[fabric]
topology = "fat-tree"
k = 4
levels = 2
link.terminal = { bandwidth = "12.5 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "16 KiB" }
link.tree = { bandwidth = "12.5 GB/s", latency = "30 ns", credit_delay = "30 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "d-mod-k"
"#;
