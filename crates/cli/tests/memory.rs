//! Memory that is predicted against memory that runs take: each run in a process of its own, written results included, its peak as the system counted it.

use crate::common::netloom;
use netloom::{Registry, swarm::Swarm};
use serde_json::Value as Json;
use std::{env, fs, process::Command};

/// Names the process that runs one experiment: its arguments, a line each.
const RUN: &str = "NETLOOM_TEST_RUN";

/// What a run was predicted to need and what it took, in bytes.
struct Measured {
    name: String,
    predicted: u64,
    taken: u64,
    parts: Json,
}

impl Measured {
    fn part(&self, part: &str) -> u64 {
        self.parts[part].as_u64().unwrap_or_else(|| panic!("{part} is not in {}", self.parts))
    }

    /// What is wrong with the prediction if it was so much lower: it is below what was taken, or more than three times as much.
    fn fault(&self, lower: u64) -> Option<String> {
        let Self { name, taken, parts, .. } = self;
        let predicted = self.predicted - lower;
        let sound = predicted >= *taken && predicted <= 3 * taken;
        (!sound).then(|| format!("{name}: {predicted} predicted, {taken} taken: {parts}"))
    }
}

/// Predicts and runs an experiment; `None` if it does not end within so many seconds.
fn measured(name: &str, file: &str, set: &[&str], seconds: u32) -> Option<Measured> {
    let settings: Vec<&str> = set.iter().flat_map(|s| ["--set", s]).collect();
    let checked = netloom(&[&["check", file, "--format", "json"][..], &settings].concat());
    assert_eq!(checked.status, 0, "{name}: {}", checked.err);
    let json: Json = serde_json::from_str(&checked.out).expect("an object");
    let out = tempfile::tempdir().expect("a directory");
    let results = out.path().join("results");
    let arguments = [&["run", file, "--out", results.to_str().expect("a path in UTF-8")][..], &settings];
    let mut run = Command::new("timeout");
    run.args(["-s", "KILL", &seconds.to_string()]).arg(env::current_exe().expect("a test program"));
    run.args(["--exact", "memory::one_run", "--nocapture"]).env(RUN, arguments.concat().join("\n"));
    let run = run.output().expect("runs");
    let printed = String::from_utf8_lossy(&run.stdout).into_owned();
    let peak = printed.lines().find_map(|line| line.split_once("peak ")).map(|(_, n)| n.trim().parse());
    let taken = match peak {
        Some(bytes) => bytes.expect("a number"),
        None if run.status.code().is_none_or(|code| code == 137) => return None,
        None => panic!("{name}: {printed}{}", String::from_utf8_lossy(&run.stderr)),
    };
    let memory = &json["memory"];
    let predicted = memory["bytes"].as_u64().expect("a prediction");
    Some(Measured { name: name.to_owned(), predicted, taken, parts: memory["parts"].clone() })
}

/// The run of a process that [`measured`] starts; nothing otherwise.
#[test]
fn one_run() {
    let Ok(arguments) = env::var(RUN) else { return };
    let run = netloom(&arguments.lines().collect::<Vec<_>>());
    assert!(matches!(run.status, 0 | 6), "{}", run.err);
    println!("peak {}", model::performance::peak_rss().expect("the system says"));
}

/// The same experiment on model `flow`, with its tables; none where that refuses it.
fn on_flow(text: &str, file: &str) -> Option<()> {
    let (network, rest) = text.split_once("\n[model]").expect("a model");
    let tables = rest.split_once("\n[output]").map_or("", |(_, tables)| tables);
    fs::write(file, format!("{network}\n[model]\nkind = \"flow\"\n\n[output]{tables}\n")).expect("writes");
    (netloom(&["check", file]).status == 0).then_some(())
}

/// Experiments of a swarm, of all models that it draws, every fourth on `flow`: eight, or 200 and large examples with `NETLOOM_LONG=1`. Of Portals none is drawn.
#[test]
fn a_prediction_is_at_least_what_is_taken_and_at_most_three_times_as_much() {
    /// Examples, and how long they are simulated.
    const LARGE: [(&str, &str); 3] = [
        ("dragonfly-1056", "experiment.duration=60 us"),
        ("dragonfly-8448", "experiment.duration=10 us"),
        ("gups-65536", "experiment.duration=1 us"),
    ];
    let long = env::var_os("NETLOOM_LONG").is_some();
    let swarm = Swarm { registry: Registry::standard(), seed: 24, ..Swarm::default() };
    let folder = tempfile::tempdir().expect("a directory");
    let (mut faults, mut ended, mut late, mut refused, mut most) = (Vec::new(), 0, 0, 0, 0.0f64);
    let mut judge = |measured: Option<Measured>| {
        let Some(measured) = measured else { return late += 1 };
        ended += 1;
        most = most.max(measured.predicted as f64 / measured.taken as f64);
        faults.extend(measured.fault(0));
    };
    let draws = if long { 200 } else { 8 };
    for number in 0..draws {
        let (text, _) = swarm.drawn(number).expect("an experiment");
        let file = folder.path().join(format!("swarm-{number}.toml"));
        let path = file.to_str().expect("a path in UTF-8");
        if number % 4 != 3 {
            fs::write(&file, text).expect("writes");
        } else if on_flow(&text, path).is_none() {
            refused += 1;
            continue;
        }
        judge(measured(&format!("swarm {number}"), path, &[], 30));
    }
    for (name, duration) in LARGE.iter().filter(|_| long) {
        let file = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        judge(measured(name, &file, &[duration], 600));
    }
    println!("{ended} ended, {late} did not in time, {refused} refused on flow; at most {most:.2} times");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(
        late <= if long { 3 } else { 1 } && ended * 4 >= draws * 3,
        "{ended} ended of {draws}, {late} did not in time"
    );
}

/// Rows that answers, windows or long ranks decide are beside the prediction, and it says so. What a long program sends within a time is predicted, though no buffer bounds it.
#[test]
fn what_nobody_foresees_is_said() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/dragonfly-72.toml");
    let check = |set: &[&str], format: &str| {
        let settings: Vec<&str> = set.iter().flat_map(|s| ["--set", s]).collect();
        let run = netloom(&[&["check", example, "--format", format][..], &settings].concat());
        assert_eq!(run.status, 0, "{set:?}: {}", run.err);
        run.out
    };
    let json = |set: &[&str]| serde_json::from_str::<Json>(&check(set, "json")).expect("an object");
    let answers = ["job.0.workload=ping-pong", "job.0.load=", "job.0.arrival=", "job.0.count=3"];
    let listed = [&answers[..], &["output.messages=true"]].concat();
    let windows =
        ["experiment.duration=", "experiment.until=workload-done", "job.0.count=9", "output.window=1 us"];
    for (set, unknown) in [
        (&listed[..], true),
        (&answers, false),
        (&["output.messages=true"], false),
        (&windows, true),
        (&windows[..3], false),
    ] {
        assert_eq!(json(set)["memory"]["unknown_rows"], unknown, "{set:?}");
        assert_eq!(
            check(set, "text").contains("and tables of as many rows as will come"),
            unknown,
            "{set:?}"
        );
    }
    let program = |iterations: &str| {
        let set = ["job.0.workload=stencil", "job.0.load=", "job.0.arrival=", "job.0.message=", iterations];
        let json = json(&[&set[..], &["model.router=output-queued"]].concat());
        json["memory"]["bytes"].as_u64().expect("a prediction")
    };
    let (short, long) = (program("job.0.iterations=100"), program("job.0.iterations=2000"));
    assert!(long >= short, "{long} of a long program, {short} of its beginning");
    // Nobody reads a rank of it to its end. It is not taken to fill buffers either, before its network is built or after.
    let roomy = ["job.0.iterations=10000000", "fabric.link.terminal.vc_buffer=8 MiB", "model.router=window"];
    let set = ["job.0.workload=stencil", "job.0.load=", "job.0.arrival=", "job.0.message="];
    let roomy = json(&[&set[..], &roomy].concat());
    let bytes = roomy["memory"]["bytes"].as_u64().expect("a prediction");
    assert!(bytes < 2 * short, "{bytes} of a program without end, {short} of its beginning");
}

/// Clocked routers of 15 ports with eight virtual channels each.
const CLOCKED: &str = r#"
[experiment]
duration = "2 us"
[fabric]
topology = "dragonfly"
groups = 33
routers_per_group = 8
terminals_per_router = 4
global_ports_per_router = 4
link.terminal = { bandwidth = "5 GB/s", latency = "5 ns", credit_delay = "10 ns", vc_buffer = "1 KiB" }
link.local = { bandwidth = "5 GB/s", latency = "10 ns", credit_delay = "15 ns", vc_buffer = "1 KiB" }
link.global = { bandwidth = "5 GB/s", latency = "100 ns", credit_delay = "105 ns", vc_buffer = "1 KiB" }
[routing]
algorithm = "minimal"
[[job]]
workload = "uniform"
message = "64 B"
load = 0.01
[model]
kind = "packet"
router = "input-queued"
packet = "64 B"
chunk = "64 B"
vcs = 8
[router]
vc_allocator = "separable-input-first"
"#;

/// Broadcasts of all terminals of a mesh, which routers copy: most copies wait, in queues without bound or behind those in front.
#[test]
fn copies_of_multicasts_are_predicted() {
    const COPIED: &str = r#"
[experiment]
duration = "10 us"
[fabric]
topology = "mesh"
dims = [16, 16]
link.terminal = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "1 KiB" }
link.local = { bandwidth = "12.5 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "1 KiB" }
[routing]
algorithm = "dimension-order"
[[job]]
workload = "multicast"
message = "1 KiB"
load = 2.0
replication = "routers"
bursts = 20
[model]
kind = "packet"
packet = "1 KiB"
chunk = "64 B"
vcs = 4
"#;
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("experiment.toml");
    fs::write(&file, COPIED).expect("writes");
    for router in ["combined", "output-queued"] {
        let set = format!("model.router={router}");
        let measured = measured(router, file.to_str().expect("a path"), &[&set], 100).expect("ends");
        let Measured { predicted, taken, .. } = measured;
        assert!(predicted >= taken, "{router}: {predicted} predicted, {taken} taken: {}", measured.parts);
        if router == "output-queued" {
            // What is known of the messages alone is too little.
            let members = 16 * 16 - 1;
            let copies = measured.part("chunks") + measured.part("packets");
            assert!(predicted - copies + copies / members < taken, "{taken} taken of {}", measured.parts);
        }
    }
}

/// Runs of which one part takes most, on three models. A bound that is halved is found.
#[test]
fn a_bound_that_is_halved_is_found() {
    /// Fifteen terminals send to one, whose link carries a fifteenth: all the rest waits in large buffers.
    const WAITS: &str = r#"
[experiment]
duration = "60 us"
[fabric]
topology = "single-switch"
terminals = 16
link.terminal = { bandwidth = "25 GB/s", latency = "15 ns", credit_delay = "15 ns", vc_buffer = "16 MiB" }
[routing]
algorithm = "minimal"
[[job]]
workload = "incast"
message = "64 B"
load = 1.0
[model]
kind = "packet"
packet = "64 B"
chunk = "64 B"
vcs = 1
router_delay = "10 ns"
"#;
    /// Ranks exchange with their neighbours, and each operation is written.
    const PROGRAM: &str = r#"
[experiment]
until = "workload-done"
limit = "1 s"
[fabric]
topology = "single-switch"
terminals = 64
link.terminal = { bandwidth = "25 GB/s", latency = "15 ns", credit_delay = "15 ns", vc_buffer = "16 KiB" }
[routing]
algorithm = "minimal"
[[job]]
workload = "stencil"
ranks = 64
dims = [4, 4, 4]
iterations = 120
[model]
kind = "delay"
[output]
operations = true
"#;
    let folder = tempfile::tempdir().expect("a directory");
    let matrices = ["router.arbiter=matrix"];
    let uniform = [
        "job.0.workload=uniform",
        "job.0.load=0.9",
        "fabric.link.terminal.vc_buffer=16 KiB",
        "output.packets=true",
        "output.messages=true",
    ];
    let series = ["job.0.workload=uniform", "experiment.duration=2 ms", "output.window=100 ns"];
    let of_links = [&series[..], &["model.kind=flow", "job.0.message=64 KiB", "job.0.load=0.9"]].concat();
    let sizes = ["model.packet=4 KiB", "model.chunk=4 KiB", "job.0.message=4 KiB", "job.0.load=0.98"];
    let of_ports = [&series[..], &sizes, &["output.per_port=true"]].concat();
    let past = [
        "model.kind=hybrid",
        "hybrid.director=times",
        "hybrid.switch=[\"20 us\", \"40 us\"]",
        "hybrid.window=5 us",
        "fabric.link.terminal.vc_buffer=256 KiB",
    ];
    // Each rank posts all its messages at once, and waits for them in the end.
    let all_to_all = [
        "fabric.terminals=384",
        "job.0.ranks=384",
        "job.0.workload=collective",
        "job.0.operation=alltoall",
        "job.0.vector=8 KiB",
        "job.0.iterations=1",
        "job.0.dims=",
        "output.operations=false",
    ];
    let of_flows = [&all_to_all[..], &["model.kind=flow"]].concat();
    let burst = [
        "fabric.terminals=384",
        "job.0.workload=all-to-all",
        "job.0.message=8 KiB",
        "model.kind=flow",
        "model.packet=",
        "model.chunk=",
        "model.vcs=",
        "model.router_delay=",
    ];
    // All send to few, whose links carry a small part of it.
    let hot = [
        "fabric.terminals=384",
        "job.0.workload=hot-spot",
        "job.0.hot=[0]",
        "experiment.duration=10 us",
        "model.kind=flow",
        "model.packet=",
        "model.chunk=",
        "model.vcs=",
        "model.router_delay=",
    ];
    // Where a part is a little too large, such as matrices of which some rows stay untouched, all of it is taken away.
    let cases: [(&str, &str, &[&str], &str, u64); 12] = [
        ("what waits", WAITS, &[], "packets", 2),
        ("tables of packets", WAITS, &uniform, "rows of tables", 2),
        ("delay", PROGRAM, &[], "tables of operations", 2),
        ("flow", PROGRAM, &["model.kind=flow"], "tables of operations", 2),
        ("matrices of arbiters", CLOCKED, &matrices, "queues of routers", 1),
        ("hybrid", WAITS, &past, "packets past the network", 1),
        ("series of links", WAITS, &of_links, "series", 2),
        ("series of ports", WAITS, &of_ports, "series", 1),
        ("operations at a time", PROGRAM, &all_to_all, "operations", 1),
        ("flows of programs", PROGRAM, &of_flows, "flows", 1),
        ("flows of bursts", WAITS, &burst, "flows", 1),
        ("flows that pile up", WAITS, &hot, "flows", 1),
    ];
    let file = folder.path().join("experiment.toml");
    let path = file.to_str().expect("a path in UTF-8");
    for (name, text, set, part, share) in cases {
        fs::write(&file, text).expect("writes");
        let measured = measured(name, path, set, 100).expect("ends");
        assert_eq!(measured.fault(0), None);
        let less = measured.part(part) / share;
        assert!(measured.fault(less).is_some(), "{name}: {} taken of {}", measured.taken, measured.parts);
    }
}
