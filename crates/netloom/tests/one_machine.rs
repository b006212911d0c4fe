//! One file on two models: on a quiet network, costs that follow from [fabric] give the times of the packet model.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use netloom::{Experiment, Silent};
use results::summary::Summary;
use std::{fs, path::PathBuf};

const SWITCH: &str = r#"
[fabric]
topology = "single-switch"
terminals = 16
link.terminal = { bandwidth = "12.5 GB/s", latency = "50 ns", credit_delay = "50 ns", vc_buffer = "64 KiB" }
[routing]
algorithm = "minimal"
"#;

/// Its links between routers are slower than those of terminals.
const TORUS: &str = r#"
[fabric]
topology = "torus"
dims = [4, 4]
link.terminal = { bandwidth = "25 GB/s", latency = "20 ns", credit_delay = "20 ns", vc_buffer = "64 KiB" }
link.local = { bandwidth = "10 GB/s", latency = "80 ns", credit_delay = "80 ns", vc_buffer = "64 KiB" }
[routing]
algorithm = "dimension-order"
"#;

const DRAGONFLY: &str = r#"
[fabric]
topology = "dragonfly"
groups = 5
routers_per_group = 4
terminals_per_router = 1
global_ports_per_router = 1
link.terminal = { bandwidth = "11.1 GB/s", latency = "10 ns", credit_delay = "10 ns", vc_buffer = "64 KiB" }
link.local = { bandwidth = "12.5 GB/s", latency = "30 ns", credit_delay = "30 ns", vc_buffer = "64 KiB" }
link.global = { bandwidth = "5 GB/s", latency = "300 ns", credit_delay = "300 ns", vc_buffer = "64 KiB" }
[routing]
algorithm = "minimal"
"#;

/// Two ranks take turns; others do nothing.
fn turns(bytes: &str, to: u32) -> String {
    format!(
        "rank 0 {{ repeat 10 as i {{ send {bytes} to {to} tag 1\nrecv {bytes} from {to} tag 2 }} }}\n\
         rank {to} {{ repeat 10 as i {{ recv {bytes} from 0 tag 1\nsend {bytes} to 0 tag 2 }} }}"
    )
}

/// Every rank sends to its right neighbour and receives from its left one.
fn ring(bytes: &str, compute: &str) -> String {
    format!(
        "all {{ repeat 8 as i {{ irecv {bytes} from (rank - 1) % size tag i\nisend {bytes} to (rank + 1) % size tag i\n\
         compute {compute}\nwaitall }} }}"
    )
}

/// A token goes round.
fn token(bytes: &str) -> String {
    format!(
        "rank 0 {{ send {bytes} to 1 tag 1\nrecv {bytes} from size - 1 tag 1 }}\n\
         all {{ repeat (rank + size - 1) / size {{ recv {bytes} from rank - 1 tag 1\nsend {bytes} to (rank + 1) % size tag 1 }} }}"
    )
}

fn halo(bytes: &str) -> String {
    format!(
        "all {{ repeat 5 as i {{\nirecv {bytes} from (rank - 1) % size tag i\nirecv {bytes} from (rank + 1) % size tag i\n\
         isend {bytes} to (rank + 1) % size tag i\nisend {bytes} to (rank - 1) % size tag i\nwaitall\ncompute 2 us }} }}"
    )
}

fn call(text: &str) -> String {
    format!("all {{ repeat 3 as i {{ {text}\ncompute 1 us }} }}")
}

fn programs() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("ping-pong of a byte", SWITCH, turns("1 B", 1)),
        ("ping-pong of 64 B", SWITCH, turns("64 B", 15)),
        ("ping-pong of 1 KiB", SWITCH, turns("1 KiB", 3)),
        ("ping-pong of 16 KiB", SWITCH, turns("16 KiB", 3)),
        ("ping-pong of 256 KiB, which ask first", SWITCH, turns("256 KiB", 3)),
        ("ping-pong of a byte, far", TORUS, turns("1 B", 10)),
        ("ping-pong of 8 KiB over slower links", TORUS, turns("8 KiB", 10)),
        ("ping-pong of 100 B between groups", DRAGONFLY, turns("100 B", 13)),
        ("ping-pong of 128 KiB between groups", DRAGONFLY, turns("128 KiB", 13)),
        ("token of 4 KiB", SWITCH, token("4 KiB")),
        ("token of 8 B", DRAGONFLY, token("8 B")),
        ("ring of 2 KiB", SWITCH, ring("2 KiB", "500 ns")),
        ("ring of 64 B", DRAGONFLY, ring("64 B", "3 us")),
        ("ring of 100 KiB", SWITCH, ring("100 KiB", "0 s")),
        ("halo of 4 KiB", SWITCH, halo("4 KiB")),
        ("halo of 512 B", SWITCH, halo("512 B")),
        ("broadcast of 1 KiB", SWITCH, call("bcast 1 KiB root 0")),
        ("all-reduce of 8 B", SWITCH, call("allreduce 8 B")),
        ("all-reduce of 64 KiB", SWITCH, call("allreduce 64 KiB")),
        ("all-gather of 2 KiB", SWITCH, call("allgather 2 KiB")),
        ("barrier", TORUS, call("barrier")),
        ("reduction of 4 KiB", SWITCH, call("reduce 4 KiB root 0")),
    ]
}

fn experiment(name: &str, fabric: &str, program: &str, kind: &str) -> Experiment {
    let ranks = if fabric.contains("groups") { 20 } else { 16 };
    let file = format!("{}-{kind}.ranks", name.replace([' ', ','], "-"));
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
    fs::write(&file, format!("ranks {ranks}\n{program}\n")).unwrap();
    let file = file.display();
    Experiment::from_text(format!(
        "experiment = {{ until = \"workload-done\" }}\n{fabric}\n[[job]]\nworkload = \"trace\"\nfile = \"{file}\"\n\
         [model]\nkind = \"{kind}\"\nroute_per = \"packet\"\n"
    ))
}

fn makespan(name: &str, fabric: &str, program: &str, kind: &str) -> u64 {
    let finished = experiment(name, fabric, program, kind).run();
    let summary = finished.unwrap_or_else(|e| panic!("{name}: {e}")).summary;
    assert!(
        summary.verdict.flags.is_empty() || summary.verdict.flags == ["ok"],
        "{name}: {:?}",
        summary.verdict
    );
    summary.jobs[0].makespan_ps.unwrap()
}

#[test]
fn quiet_programs_take_the_time_of_the_packet_model() {
    let mut far = Vec::new();
    for (name, fabric, program) in programs() {
        let [packet, delay] = ["packet", "delay"].map(|kind| makespan(name, fabric, &program, kind));
        let ratio = delay as f64 / packet as f64;
        println!("{name:40} packet {packet:>12} delay {delay:>12} ratio {ratio:.3}");
        if !(0.75..=1.25).contains(&ratio) {
            far.push(format!("{name}: {packet} ps on packets, {delay} ps by delays"));
        }
    }
    assert!(far.is_empty(), "{far:#?}");
}

/// Buffers that credits do not free in time: a message waits for them on both models, and no other is in its way.
#[test]
fn a_message_waits_for_credits_on_both_models() {
    let programs = [
        turns("1 MiB", 10),
        turns("20 KiB", 10),
        turns("100 B", 10),
        ring("60 KiB", "1 us"),
        token("200 KiB"),
    ];
    for (buffer, latency) in [("1 KiB", "80 ns"), ("2 KiB", "700 ns"), ("16 KiB", "2 us"), ("512 B", "1 us")]
    {
        for (n, program) in programs.iter().enumerate() {
            let [packet, delay, flow] = ["packet", "delay", "flow"].map(|kind| {
                let name = format!("credits {buffer} {n}");
                let mut run = experiment(&name, TORUS, program, kind);
                for class in ["terminal", "local"] {
                    for (key, value) in
                        [("latency", latency), ("credit_delay", latency), ("vc_buffer", buffer)]
                    {
                        run = run.set(&format!("fabric.link.{class}.{key}"), value);
                    }
                }
                run.run().unwrap_or_else(|e| panic!("{name}: {e}")).summary
            });
            let flagged = |s: &Summary| s.verdict.flags.iter().any(|f| f == "no-credits");
            assert_eq!([&packet, &delay, &flow].map(flagged), [false, true, true], "{buffer} {n}");
            let ratio = delay.simulated_ps as f64 / packet.simulated_ps as f64;
            println!("{buffer:7} {n}: {:>10} {ratio:.3}", packet.simulated_ps);
            assert!((0.75..=1.25).contains(&ratio), "{buffer}, program {n}: delay takes {ratio} of packet");
        }
    }
}

#[test]
fn what_was_derived_is_reported_and_reads_back_the_same() {
    let with = |key: &str, value: &str| {
        let experiment = experiment("read back", TORUS, &turns("8 KiB", 10), "delay").set(key, value);
        let prepared = experiment.prepare(&Silent).unwrap();
        let summary = experiment.run().unwrap().summary;
        (prepared, summary)
    };
    let (prepared, summary) = with("model.router_delay", "50 ns");
    let model = &prepared.experiment["model"];
    assert!(model.get("latency").is_none(), "its value is no number of the file: {model}");
    assert_eq!(model["derived"]["gap"]["value"], "0 ps");
    assert_eq!(model["derived"]["byte_gap"]["value"], "100 ps");
    assert!(model["derived"]["latency"]["from"].as_str().unwrap().contains("[fabric]"));
    // Two terminals' links, one to four others, a router more; and a byte on all links but the slowest.
    let latency = &model["derived"]["latency"];
    assert_eq!(latency["least"], "220.08 ns");
    assert_eq!(latency["most"], "610.38 ns");
    assert_eq!(summary.experiment["model"], *model);
    let mut again = prepared.experiment.clone();
    again["engine"]["partitions"] = 1.into();
    let text = toml_of(&again);
    let same = Experiment::from_text(&text).run().unwrap_or_else(|e| panic!("{e}\n{text}")).summary;
    assert_eq!(same.fingerprint, summary.fingerprint);
    let (_, other) = with("fabric.link.local.bandwidth", "5 GB/s");
    assert_ne!(other.fingerprint, summary.fingerprint, "bandwidth matters");
}

/// An experiment as TOML, in inline tables.
fn toml_of(value: &serde_json::Value) -> String {
    fn one(value: &serde_json::Value) -> String {
        match value {
            serde_json::Value::Object(all) => {
                let all: Vec<String> = all.iter().map(|(k, v)| format!("{k} = {}", one(v))).collect();
                format!("{{ {} }}", all.join(", "))
            }
            serde_json::Value::Array(all) => {
                format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(", "))
            }
            other => other.to_string(),
        }
    }
    let sections = value.as_object().unwrap().iter();
    sections.map(|(name, section)| format!("{name} = {}\n", one(section))).collect()
}

#[test]
fn a_file_against_its_network_is_flagged_and_keeps_its_values() {
    let far = |key: &str, value: &str| {
        let summary =
            experiment("against", SWITCH, &turns("8 KiB", 3), "delay").set(key, value).run().unwrap().summary;
        summary.verdict
    };
    for (key, value, word) in [("latency", "2500 ns", "latency"), ("byte_gap", "6 ns", "byte_gap")] {
        let verdict = far(&format!("model.{key}"), value);
        assert!(verdict.flags.iter().any(|f| f == "contradicts-fabric"), "{verdict:?}");
        assert!(verdict.detail.iter().any(|d| d.contains(word)), "{verdict:?}");
    }
    // A time per link counts too, with the latency that the file leaves at its default or sets.
    for (latency, hop, against) in
        [("2500 ns", "1 ns", true), ("50 us", "1 ns", true), ("150 ns", "180 ns", false)]
    {
        let run = experiment("hops", TORUS, &turns("8 KiB", 3), "delay").set("model.latency", latency);
        let verdict = run.set("model.hop_latency", hop).run().unwrap().summary.verdict;
        assert_eq!(
            verdict.flags.iter().any(|f| f == "contradicts-fabric"),
            against,
            "{latency} {hop}: {verdict:?}"
        );
    }
    for (key, value) in [("latency", "220 ns"), ("byte_gap", "90 ps"), ("overhead", "1 us")] {
        assert!(far(&format!("model.{key}"), value).detail.is_empty(), "{key}");
    }
}

#[test]
fn defaults_left_out_are_those_of_the_packet_model() {
    for (key, text) in [("router_delay", loggops::derived::ROUTER_DELAY), ("chunk", loggops::derived::CHUNK)]
    {
        let param = packet::section::ABOUT.params.iter().find(|p| p.name == key).unwrap();
        assert_eq!(param.default, Some(text), "{key}");
    }
}
