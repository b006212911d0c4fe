//! One file on two models: interfaces that messages hold, ranks that share a terminal, and routings that take other paths than the shortest.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use model::Finished;
use netloom::{Experiment, RunOptions};
use results::{summary::Summary, table::Column};
use std::{fs, path::PathBuf};

/// Links between groups have a tenth of the others' bandwidth.
fn dragonfly(buffer: &str, algorithm: &str) -> String {
    format!(
        "[fabric]\ntopology = \"dragonfly\"\ngroups = 9\nrouters_per_group = 4\nterminals_per_router = 2\nglobal_ports_per_router = 2\n\
         link.terminal = {{ bandwidth = \"12.5 GB/s\", latency = \"20 ns\", credit_delay = \"20 ns\", vc_buffer = \"{buffer}\" }}\n\
         link.local = {{ bandwidth = \"12.5 GB/s\", latency = \"20 ns\", credit_delay = \"20 ns\", vc_buffer = \"{buffer}\" }}\n\
         link.global = {{ bandwidth = \"1.25 GB/s\", latency = \"200 ns\", credit_delay = \"200 ns\", vc_buffer = \"{buffer}\" }}\n\
         [routing]\nalgorithm = \"{algorithm}\"\n"
    )
}

const SWITCH: &str = "[fabric]\ntopology = \"single-switch\"\nterminals = 8\n\
    link.terminal = { bandwidth = \"12.5 GB/s\", latency = \"50 ns\", credit_delay = \"50 ns\", vc_buffer = \"64 KiB\" }\n\
    [routing]\nalgorithm = \"minimal\"\n";

/// A rank sends to one of each of eight other groups.
fn scattered(bytes: &str) -> String {
    let sends: String = (1..9).map(|group| format!("isend {bytes} to {} tag 1\n", 8 * group)).collect();
    let recv = |group: u32| format!("rank {} {{ recv {bytes} from 0 tag 1 }}\n", 8 * group);
    format!("ranks 72\nrank 0 {{\n{sends}waitall }}\n{}", (1..9).map(recv).collect::<String>())
}

fn run(name: &str, sections: &str, program: &str, job: &str, kind: &str) -> Summary {
    finished(name, sections, program, job, kind).summary
}

/// A run under its checkers.
fn finished(name: &str, sections: &str, program: &str, job: &str, kind: &str) -> Finished {
    let file = format!("{}-{kind}.ranks", name.replace([' ', ','], "-"));
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(file);
    fs::write(&file, program).unwrap();
    let file = file.display();
    let text = format!(
        "experiment = {{ until = \"workload-done\" }}\n{sections}\n[[job]]\nworkload = \"trace\"\nfile = \"{file}\"\n{job}\n\
         [model]\nkind = \"{kind}\"\nroute_per = \"packet\"\n"
    );
    let options = RunOptions { checkers: true, ..RunOptions::default() };
    let finished = Experiment::from_text(text).options(options).run();
    finished.unwrap_or_else(|e| panic!("{name} on {kind}: {e}"))
}

fn has(summary: &Summary, flag: &str) -> bool {
    summary.verdict.flags.iter().any(|f| f == flag)
}

/// A sender goes on at its own pace until the buffers before a slower link are full, then at that link's.
#[test]
fn a_slower_link_holds_the_sender_for_what_buffers_do_not_take() {
    let cases = [
        ("4 KiB", "16 KiB", 1.01),
        ("16 KiB", "16 KiB", 1.01),
        ("64 KiB", "256 KiB", 1.01),
        ("64 KiB", "16 KiB", 1.25),
        ("1 MiB", "16 KiB", 1.05),
        ("1 MiB", "256 KiB", 1.25),
    ];
    for (bytes, buffer, most) in cases {
        let name = format!("scattered {bytes} {buffer}");
        let network = dragonfly(buffer, "minimal");
        let [packet, delay] =
            ["packet", "delay"].map(|kind| run(&name, &network, &scattered(bytes), "", kind).simulated_ps);
        let ratio = delay as f64 / packet as f64;
        println!("{name:32} packet {packet:>11} delay {delay:>11} ratio {ratio:.3}");
        assert!((0.99..=most).contains(&ratio), "{name}: delay takes {ratio} of packet");
    }
}

/// Ranks of one terminal send through its memory, or in no time; messages that ask first do so there, too.
#[test]
fn messages_within_a_terminal_take_the_time_of_the_packet_model() {
    let turns = |bytes: &str, to: u32| {
        format!(
            "ranks 16\nrank 0 {{ repeat 10 as i {{ compute 100 ns\nsend {bytes} to {to} tag 1\nrecv {bytes} from {to} tag 2 }} }}\n\
             rank {to} {{ repeat 10 as i {{ recv {bytes} from 0 tag 1\nsend {bytes} to 0 tag 2 }} }}"
        )
    };
    let own = "ranks 16\nall { repeat 10 as i { irecv 2 KiB from rank tag 1\nisend 2 KiB to rank tag 1\nwaitall\ncompute 1 us } }";
    let node = "[node]\nmemory_latency = \"5 us\"\nmemory_bandwidth = \"20 GB/s\"";
    let programs = [
        ("beside", turns("2 KiB", 1)),
        ("beside, large", turns("256 KiB", 1)),
        ("elsewhere", turns("2 KiB", 2)),
        ("own", own.to_owned()),
    ];
    for (which, node) in [("none", ""), ("described", node)] {
        for (name, program) in &programs {
            let name = format!("{name} node {which}");
            let sections = format!("{SWITCH}{node}");
            let [packet, delay] = ["packet", "delay"].map(|kind| {
                run(&name, &sections, program, "ranks_per_terminal = 2", kind).jobs[0].makespan_ps.unwrap()
            });
            let ratio = delay as f64 / packet as f64;
            println!("{name:32} packet {packet:>11} delay {delay:>11} ratio {ratio:.3}");
            assert!((0.9..=1.1).contains(&ratio), "{name}: {packet} ps on packets, {delay} ps by delays");
        }
    }
}

/// Times of messages say so, too: those of one's own take none, those to another terminal do; an interface is not held by the first.
#[test]
fn times_of_messages_within_a_terminal_are_none() {
    let program = |to: u32| {
        format!(
            "ranks 2\nrank 0 {{ isend 64 KiB to {to} tag 1\nisend 64 KiB to {to} tag 2 }}\n\
             rank {to} {{ irecv 64 KiB from 0 tag 1\nirecv 64 KiB from 0 tag 2\nwaitall }}"
        )
    };
    for (to, none) in [(0, true), (1, false)] {
        let sections = format!("{SWITCH}[output]\nmessages = true\n");
        let done = finished(&format!("times to {to}"), &sections, &program(to), "", "delay");
        let table = done.tables.iter().find(|t| t.name() == "message_times").unwrap();
        for column in ["transfer_ps", "received_ps", "longest_ps"] {
            let Some(Column::U64(times)) = table.column(column) else { panic!("{column} has times") };
            assert!(
                !times.is_empty() && times.iter().all(|&time| (time == 0) == none),
                "{to} {column}: {times:?}"
            );
        }
    }
}

/// Delays follow shortest paths; the verdict says where the routing does not, and where its packets go several ways.
#[test]
fn delays_say_where_the_routing_takes_other_paths() {
    let flags = |network: &str| {
        let delay = run("routings", network, &scattered("4 KiB"), "", "delay");
        (has(&delay, "shortest-paths"), has(&delay, "single-path"), delay.verdict)
    };
    let tree = |up: &str, algorithm: &str| {
        format!(
            "[fabric]\ntopology = \"xgft\"\nchildren = [9, 8]\nparents = [1, 4]\n\
             link.terminal = {{ bandwidth = \"10 GB/s\", latency = \"20 ns\", credit_delay = \"20 ns\", vc_buffer = \"64 KiB\" }}\n\
             link.level-2 = {{ bandwidth = \"{up}\", latency = \"20 ns\", credit_delay = \"20 ns\", vc_buffer = \"64 KiB\" }}\n\
             [routing]\nalgorithm = \"{algorithm}\"\n"
        )
    };
    let cases = [
        ("minimal", dragonfly("64 KiB", "minimal"), false, false),
        ("valiant", dragonfly("64 KiB", "valiant"), true, true),
        ("a tree that spreads", tree("2 GB/s", "nearest-common-ancestor"), false, true),
        ("whose links up are no slower", tree("10 GB/s", "nearest-common-ancestor"), false, false),
        ("a tree that does not", tree("2 GB/s", "d-mod-k"), false, false),
    ];
    for (name, network, longer, spreads) in cases {
        let (a, b, verdict) = flags(&network);
        assert_eq!((a, b), (longer, spreads), "{name}: {verdict:?}");
    }
}
