//! Portals programs on every model that carries them, and runs replayed without their program. Without a C compiler these tests say so and pass.

#![allow(clippy::expect_used, clippy::print_stderr, reason = "tests")]

use crate::program::{Compiled, compile, netloom};
use std::{fs, path::Path, process::Output};

/// A switch with links of 10 GB/s and 500 ns, and parameters with which the three models give the same for a single message but for what is reported in the tests.
const SWITCH: &str = r#"
[experiment]
name = "switch"
until = "workload-done"
limit = "1000 s"
[fabric]
topology = "single-switch"
terminals = 64
link.terminal = { bandwidth = "10 GB/s", latency = "500 ns", credit_delay = "500 ns", vc_buffer = "64 KiB" }
[routing]
algorithm = "minimal"
[model]
kind = "flow"
latency = "1 us"
gap = "0 ns"
byte_gap = "100 ps"
router_delay = "0 ns"
[portals]
"#;

const KINDS: [&str; 3] = ["flow", "packet", "delay"];

impl Compiled {
    fn machine(&self, text: &str) {
        fs::write(&self.fabric, text).expect("written");
    }

    fn on(&self, kind: &str, ranks: u32, arguments: &[&str]) -> String {
        self.good(ranks, &["--set", &format!("model.kind=\"{kind}\"")], arguments)
    }

    /// What a replay prints, with the exit status.
    fn replay(&self, record: &Path, options: &[&str]) -> Output {
        let mut command = netloom();
        command.args(["portals", "replay"]).arg(record).arg("--fabric").arg(&self.fabric);
        command.args(options).output().expect("it runs")
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The number before a word.
fn before(text: &str, word: &str) -> f64 {
    let head = text.split(word).next().and_then(|t| t.trim_end().rsplit(' ').next());
    head.and_then(|w| w.parse().ok()).unwrap_or_else(|| panic!("no number before `{word}`: {text}"))
}

/// A put that is waited for crosses the network with its data, and its acknowledgement of 32 B crosses it back. Delays count the bytes behind the
/// first; packets are stored once, in the switch: a chunk of the data and the acknowledgement.
#[test]
fn a_single_put_takes_the_same_on_every_model() {
    let Some(program) = compile("examples/portals/rate.c") else { return };
    program.machine(SWITCH);
    // Programs read their clocks in microseconds.
    for (bytes, count, chunk) in
        [("1", "10000", 1.0), ("64", "10000", 64.0), ("1024", "2000", 64.0), ("65536", "100", 64.0)]
    {
        let arguments = ["put", bytes, count, "1"];
        let [flow, packet, delay] = KINDS.map(|kind| before(&program.on(kind, 2, &arguments), " us each"));
        let byte = 100e-6;
        let clock = 2.5 / count.parse::<f64>().expect("a number");
        let close = |a: f64, b: f64| (a - b).abs() < clock;
        assert!(close(flow - delay, 2.0 * byte), "{bytes} B: flow {flow}, delay {delay}");
        assert!(close(packet - flow, (chunk + 32.0) * byte), "{bytes} B: packet {packet}, flow {flow}");
    }
}

/// The file leaves the delays to the network, and contradicts it: puts beyond the programs' `eager` ask nobody, and the contradiction is printed.
#[test]
fn puts_of_any_size_ask_nobody_and_a_contradiction_is_printed() {
    let Some(program) = compile("examples/portals/rate.c") else { return };
    program.machine(&SWITCH.replace("latency = \"1 us\"\n", ""));
    let [small, large] = ["65536", "131072"].map(|bytes| {
        let each = program.on("delay", 2, &["put", bytes, "100", "1"]);
        before(&each, " us each")
    });
    // 65,536 B more at 10 GB/s, and as long again over the bus (15.75 GB/s) for what is not hidden behind the link.
    assert!((6.5..7.0).contains(&(large - small)), "{small} {large}");
    program.machine(SWITCH);
    let options = ["--set", "model.kind=\"delay\"", "--set", "model.latency=\"50 us\""];
    let run = program.run(2, &options, &["put", "1", "1", "1"]);
    let errors = text(&run.stderr);
    assert!(errors.contains("warning: `latency` is 50 us, and paths of [fabric] take"), "{errors}");
}

/// Where links are faster than the bus a put takes as long as the bus does, however fast they are; where they are slower, as long as they do.
#[test]
fn no_put_is_faster_than_the_bus() {
    let Some(program) = compile("examples/portals/rate.c") else { return };
    let each = |rate: &str, bytes: u64, kind: &str| {
        let link = SWITCH.replace("bandwidth = \"10 GB/s\"", &format!("bandwidth = \"{rate}\""));
        program.machine(&link.replace("byte_gap = \"100 ps\"\n", ""));
        let run = ["put", &bytes.to_string(), "10", "1"];
        before(&program.on(kind, 2, &run), " us each")
    };
    for kind in KINDS {
        let more = |rate: &str| each(rate, 2 << 20, kind) - each(rate, 1 << 20, kind);
        // 1 MiB more at 11.1 GB/s, and at 5 GB/s.
        let (fast, faster, slow) = (more("100 GB/s"), more("400 GB/s"), more("5 GB/s"));
        let bus = (1 << 20) as f64 / 11.1e3;
        assert!(
            (fast - bus).abs() < 0.02 * bus && (faster - fast).abs() < 0.01 * bus,
            "{kind}: {fast} {faster} of {bus}"
        );
        assert!((slow - (1 << 20) as f64 / 5e3).abs() < 0.02 * slow, "{kind}: {slow}");
    }
}

/// Two pairs over one link between two routers: flow and packet share it, delay knows no such thing.
#[test]
fn contention_is_what_a_model_makes_of_it() {
    let Some(program) = compile("crates/cli/tests/portals/pairs.c") else { return };
    let line = SWITCH.replace(
        "topology = \"single-switch\"\nterminals = 64",
        "topology = \"mesh\"\ndims = [2]\nterminals_per_router = 2",
    );
    let local = line.replace("[routing]", "link.local = { bandwidth = \"10 GB/s\", latency = \"500 ns\", credit_delay = \"500 ns\", vc_buffer = \"64 KiB\" }\n[routing]");
    program.machine(&local.replace("algorithm = \"minimal\"", "algorithm = \"dimension-order\""));
    let last = |kind: &str| {
        let all = program.on(kind, 4, &["1000000"]);
        all.lines().map(|l| before(l, " us")).fold(0.0, f64::max)
    };
    let [flow, packet, delay] = KINDS.map(last);
    assert!((100.0..110.0).contains(&delay), "{delay}");
    assert!((200.0..215.0).contains(&flow) && (200.0..215.0).contains(&packet), "{flow} {packet}");
}

#[test]
fn programs_run_alike_on_every_model() {
    for (source, ranks, arguments) in [
        ("crates/cli/tests/portals/movement.c", 3, [].as_slice()),
        ("crates/cli/tests/portals/codes.c", 2, &[]),
        ("crates/cli/tests/portals/unexpected.c", 4, &[]),
        ("crates/cli/tests/portals/order.c", 4, &[]),
        ("crates/cli/tests/portals/polling.c", 2, &[]),
        ("crates/cli/tests/portals/polls.c", 3, &[]),
        ("crates/cli/tests/portals/system.c", 2, &["one", "--two"]),
        ("examples/portals/collectives.c", 13, &["allreduce", "5"]),
    ] {
        let Some(program) = compile(source) else { return };
        program.machine(SWITCH);
        let flow = program.on("flow", ranks, arguments);
        for kind in ["packet", "delay"] {
            let other = program.on(kind, ranks, arguments);
            // Times that a program prints differ.
            assert_eq!(flow.lines().count(), other.lines().count(), "{source} on {kind}: {other}");
        }
    }
    let Some(program) = compile("crates/cli/tests/portals/order.c") else { return };
    program.machine(SWITCH);
    let lossy = [
        "portals.reliability=true",
        "portals.timeout=\"100 us\"",
        "portals.retries=100",
        "portals.loss=0.05",
    ];
    for kind in ["packet", "delay"] {
        let kind = format!("model.kind=\"{kind}\"");
        let options: Vec<&str> = std::iter::once("--summary")
            .chain(lossy.iter().chain([&kind.as_str()]).flat_map(|s| ["--set", s]))
            .collect();
        let reported = text(&program.run(3, &options, &[]).stderr);
        assert!(reported.contains(" lost, ") && reported.contains(" 0 given up"), "{kind}: {reported}");
    }
    for (sets, reported) in [
        (["model.kind=\"congestion\"", "portals.pio_time=\"1 ns\""], "model \"congestion\" has no time"),
        (["model.kind=\"hybrid\"", "portals.pio_time=\"1 ns\""], "predictors know only workloads"),
        (["model.kind=\"packet\"", "fabric.rails=2"], "one rail"),
    ] {
        let options: Vec<&str> = sets.iter().flat_map(|s| ["--set", s]).collect();
        let out = program.run(2, &options, &[]);
        let text = text(&out.stderr);
        assert!(
            out.status.code() == Some(3) && text.contains(reported) && text.contains("--> "),
            "{sets:?}: {text}"
        );
    }
    program.machine(&format!("{SWITCH}[faults]\nat = \"5 us\"\nlink_fraction = 0.1\n"));
    let failing = text(&program.run(2, &[], &[]).stderr);
    assert!(failing.contains("links do not fail while") && failing.contains("at = \"5 us\""), "{failing}");
}

/// Without a network the model `delay` has a node for each rank, as far as `outages` and nodes of their own go.
#[test]
fn delays_without_a_network_have_as_many_nodes_as_ranks() {
    let Some(program) = compile("crates/cli/tests/portals/order.c") else { return };
    let (head, rest) = SWITCH.split_once("[fabric]").expect("it has one");
    let model = rest.split_once("[model]").expect("it has one").1.replace("\"flow\"", "\"delay\"");
    let own = "outages = [\"3 at 900 s\"]\n[[portals.node]]\nnodes = \"1-3\"\ncommands = false\n";
    program.machine(&format!("{head}[model]{model}{own}"));
    program.good(4, &[], &[]);
    let out = program.run(3, &[], &[]);
    let reported = text(&out.stderr);
    assert!(
        out.status.code() == Some(3) && reported.contains("there is no node 3: the machine has 3"),
        "{reported}"
    );
    assert!(reported.contains("there is no node 3, the machine has 3"), "{reported}");
}

#[test]
fn a_machine_can_be_checked() {
    let check = |text: &str, options: &[&str]| {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(&file, text).expect("written");
        netloom().arg("check").arg(file.path()).args(options).output().expect("it runs")
    };
    let out = check(SWITCH, &[]);
    assert!(
        out.status.success() && text(&out.stdout).contains("Portals programs can run"),
        "{}",
        text(&out.stderr)
    );
    let out = check(SWITCH, &["--format", "json", "--set", "portals.ranks_per_node=2"]);
    let object: serde_json::Value = serde_json::from_slice(&out.stdout).expect("one object");
    assert_eq!((&object["valid"], &object["portals"]["ranks_per_node"]), (&true.into(), &2.into()));
    let out = check(SWITCH, &["--set", "portals.outages=[\"64 at 1 us\"]"]);
    assert!(out.status.code() == Some(3) && text(&out.stderr).contains("there is no node 64"));
}

/// A small message of s bytes between interfaces takes h = 2 ns + 1 us + s / 10 GB/s + 50 ns. Each doubling of the ranks adds one to the barrier and the
/// broadcast, and two to the all-reduce: up the tree and down.
#[test]
fn triggered_collectives_take_a_message_for_each_doubling() {
    let Some(program) = compile("examples/portals/collectives.c") else { return };
    program.machine(SWITCH);
    for (what, messages, message) in
        [("barrier", 1.0, 1.052), ("broadcast", 1.0, 1.0528), ("allreduce", 2.0, 1.0528)]
    {
        let time = |ranks: u32| {
            let out = program.good(ranks, &["--set", "portals.barrier_time=\"0 s\""], &[what, "500"]);
            before(&out, " us each")
        };
        let times = [4, 8, 16, 32, 64].map(time);
        for pair in times.windows(2) {
            let more = pair[1] - pair[0];
            assert!((more - messages * message).abs() < 0.006, "{what}: {times:?}");
        }
    }
}

/// A record replayed on its own machine ends to the picosecond when the run did; on another one it ends as the program does there.
#[test]
fn a_replay_is_the_run_without_its_program() {
    for (source, ranks, arguments) in [
        ("crates/cli/tests/portals/movement.c", 5, [].as_slice()),
        ("crates/cli/tests/portals/unexpected.c", 4, &[]),
        ("crates/cli/tests/portals/order.c", 4, &[]),
        ("crates/cli/tests/portals/polls.c", 3, &[]),
        ("crates/cli/tests/portals/codes.c", 2, &[]),
        ("examples/portals/collectives.c", 16, &["allreduce", "10"]),
        ("examples/portals/rate.c", 2, &["get", "3000", "200", "4"]),
    ] {
        let Some(program) = compile(source) else { return };
        program.machine(SWITCH);
        let record = program.path.with_extension("record");
        let name = record.display().to_string();
        for kind in KINDS {
            let set = format!("model.kind=\"{kind}\"");
            program.good(ranks, &["--record", &name, "--force", "--set", &set], arguments);
            let all = format!("{ranks} of {ranks} ranks end at the same picosecond");
            let here = program.replay(&record, &["--set", &set]);
            assert!(
                here.status.success() && text(&here.stdout).contains(&all),
                "{source} on {kind}: {}{}",
                text(&here.stdout),
                text(&here.stderr)
            );
            // A planted fault: an acknowledgement takes a picosecond more.
            let later =
                program.replay(&record, &["--set", &set, "--set", "portals.message_time=\"2001 ps\""]);
            assert!(later.status.success() && !text(&later.stdout).contains(&all), "{}", text(&later.stdout));
        }
    }
}

#[test]
fn a_replay_on_another_machine_ends_as_the_program_does_there() {
    let Some(program) = compile("examples/portals/collectives.c") else { return };
    program.machine(SWITCH);
    let record = program.path.with_extension("record");
    let name = record.display().to_string();
    program.good(8, &["--record", &name], &["allreduce", "10"]);
    for set in ["model.kind=\"packet\"", "model.kind=\"delay\"", "portals.bus_latency=\"400 ns\""] {
        let out = program.run(8, &["--summary", "--set", set], &["allreduce", "10"]);
        let reported = text(&out.stderr);
        let replayed = text(&program.replay(&record, &["--set", set]).stdout);
        let time = reported.split("simulated ").nth(1).and_then(|t| t.split(':').next()).expect("a time");
        assert!(replayed.contains(&format!("replayed {time}: ")), "{set}: {reported}{replayed}");
        assert!(replayed.contains("0 of 8 ranks"), "{set}: {replayed}");
    }
}

/// What is looked for in a replay may never come there; and refused looks take the time of a call there, too.
#[test]
fn replays_of_looks() {
    let Some(program) = compile("crates/cli/tests/portals/vain.c") else { return };
    program.machine(SWITCH);
    let record = program.path.with_extension("record");
    let name = record.display().to_string();
    for how in ["poll", "get"] {
        program.good(2, &["--record", &name, "--force"], &[how]);
        for kind in KINDS {
            let set = format!("model.kind=\"{kind}\"");
            let out = program.replay(&record, &["--set", &set, "--set", "portals.loss=1.0"]);
            let reported = text(&out.stderr);
            let all = (0..2)
                .all(|r| reported.contains(&format!("rank {r} looks again and again, without success")));
            assert!(out.status.code() == Some(5) && all, "{how}: {reported}");
        }
    }
    // A deadlock on record is one again.
    assert_eq!(
        program.run(2, &["--record", &name, "--force", "--set", "portals.loss=1.0"], &["poll"]).status.code(),
        Some(5)
    );
    let out = program.replay(&record, &["--set", "portals.loss=1.0"]);
    assert_eq!(out.status.code(), Some(5), "{}", text(&out.stderr));
    let Some(program) = compile("crates/cli/tests/portals/polls.c") else { return };
    program.machine(SWITCH);
    let call = ["--set", "portals.call_time=25 ns"];
    program.good(3, &["--record", &name, "--force", call[0], call[1]], &[]);
    let out = program.replay(&record, &[call[0], call[1], "--format", "json", "--ranks"]);
    let object: serde_json::Value = serde_json::from_slice(&out.stdout).expect("one object");
    assert_eq!((&object["state"], &object["ranks_as_recorded"]), (&"done".into(), &3.into()), "{object}");
    assert_eq!(object["ends"][2]["recorded_ps"], object["ends"][2]["replayed_ps"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("this system has it");
    let mut command = netloom();
    command.args(["portals", "replay"]).arg(&record).arg("--fabric").arg(&program.fabric).stdout(full);
    assert_eq!(command.output().expect("it runs").status.code(), Some(7));
}

#[test]
fn damaged_records_are_refused_in_words() {
    let Some(program) = compile("crates/cli/tests/portals/order.c") else { return };
    program.machine(SWITCH);
    let record = program.path.with_extension("record");
    let name = record.display().to_string();
    program.good(3, &["--record", &name], &[]);
    let whole = fs::read(&record).expect("it is there");
    let refused = |bytes: &[u8], reported: &str| {
        fs::write(&record, bytes).expect("written");
        let out = program.replay(&record, &[]);
        assert!(
            out.status.code() == Some(4) && text(&out.stderr).contains(reported),
            "{reported}: {}",
            text(&out.stderr)
        );
    };
    refused(b"something else", "it is no record");
    refused(&whole[..whole.len() / 2], "it ends too early");
    let flip = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    refused(&flip(40), "the block at byte 8, of rank");
    refused(&flip(whole.len() - 60), "its trailer at byte");
    fs::write(&record, &whole).expect("written");
    let other = program.replay(&record, &["--set", "portals.ranks_per_node=3"]);
    assert!(text(&other.stderr).contains("recorded with 1 ranks per node"), "{}", text(&other.stderr));
    let Some(threads) = compile("crates/cli/tests/portals/system.c") else { return };
    let out = threads.run(2, &["--record", &name, "--force"], &["one", "--two"]);
    assert!(text(&out.stderr).contains("has several threads"), "{}", text(&out.stderr));
}
