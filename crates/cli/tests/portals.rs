//! Real C programs through `netloom portals cc` and `netloom portals run`. Without a C compiler these tests say so and pass.

#![allow(clippy::expect_used, clippy::print_stderr, reason = "tests")]

#[path = "portals/program.rs"]
mod program;

use program::{Compiled, compile, netloom};
use std::process::Output;

#[test]
fn data_move_on_every_kind_of_interface() {
    let Some(program) = compile("crates/cli/tests/portals/movement.c") else { return };
    for ranks in [1, 2, 5] {
        let text = program.good(ranks, &[], &[]);
        assert_eq!(text.matches("all moved").count(), ranks as usize);
    }
    assert_eq!(program.good(8, &["--set", "portals.ranks_per_node=4"], &[]).matches("all moved").count(), 8);
}

#[test]
fn wrong_use_returns_its_code() {
    let Some(program) = compile("crates/cli/tests/portals/codes.c") else { return };
    program.good(1, &[], &[]);
    program.good(2, &[], &[]);
}

#[test]
fn unexpected_messages_headers_and_flow_control() {
    let Some(program) = compile("crates/cli/tests/portals/unexpected.c") else { return };
    program.good(2, &[], &[]);
    program.good(4, &["--set", "portals.bus=false"], &[]);
}

#[test]
fn order_holds_and_nothing_is_lost_or_doubled_when_the_network_loses() {
    let Some(program) = compile("crates/cli/tests/portals/order.c") else { return };
    program.good(4, &[], &[]);
    let reliable = ["--summary", "--set", "portals.reliability=true", "--set", "portals.timeout=\"100 us\""];
    let lossy = [&reliable[..], &["--set", "portals.retries=100", "--set", "portals.loss=0.05"]].concat();
    let out = program.run(3, &lossy, &[]);
    let told = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success() && told.contains(" lost, ") && told.contains(" 0 given up"), "{told}");
    assert_eq!(String::from_utf8_lossy(&program.run(3, &lossy, &[]).stderr), told, "losses are seeded");
    // Nobody answers: what is given up is told to the program.
    let hopeless = [&reliable[..], &["--set", "portals.retries=1", "--set", "portals.loss=1.0"]].concat();
    let out = program.run(2, &hopeless, &[]);
    assert_eq!(out.status.code(), Some(12), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn memory_that_is_polled_changes() {
    let Some(program) = compile("crates/cli/tests/portals/polling.c") else { return };
    assert_eq!(program.good(2, &[], &[]), "seen\n");
    let told = |out: &Output| String::from_utf8_lossy(&out.stderr).into_owned();
    let (one, other) = (program.run(2, &["--summary"], &[]), program.run(2, &["--summary"], &[]));
    assert_eq!(told(&one), told(&other), "when the timer rings does not matter");
    // Nobody writes: a deadlock, not an endless run.
    let out = program.run(1, &[], &[]);
    assert!(
        out.status.code() == Some(5) && told(&out).contains("a loop that polls memory"),
        "{}",
        told(&out)
    );
}

#[test]
fn clocks_threads_streams() {
    let Some(program) = compile("crates/cli/tests/portals/system.c") else { return };
    let text = program.good(2, &["--label"], &["one", "--two"]);
    for rank in 0..2 {
        let line = format!("[{rank}] no newline at the end of rank {rank}rank {rank} says goodbye\n");
        assert!(text.contains(&line), "{text}");
    }
}

#[test]
fn a_rank_that_fails_is_told_with_its_status() {
    let Some(program) = compile("crates/cli/tests/portals/failing.c") else { return };
    for (how, code, told) in [
        ("exit", 12, "rank 1 exited with status 7"),
        ("return", 12, "rank 1 exited with status 9"),
        ("abort", 12, "rank 1 was ended by SIGABRT"),
        ("assert", 12, "assertion `zero == 1` failed"),
        ("divide", 12, "rank 1 was ended by SIGFPE"),
        ("null", 12, "rank 1 was ended by SIGSEGV (a wrong address, or its stack is full) at 0x8"),
        ("stack", 12, "rank 1 was ended by SIGSEGV"),
        ("alarm", 12, "rank 1 was ended by SIGALRM"),
        ("deadlock", 5, "rank 1 waits in PtlCTWait: counter 0x40000000 to reach 5"),
    ] {
        let out = program.run(2, &[], &[how]);
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(code) && text.contains(told), "{how}: {text}");
    }
}

#[test]
fn what_cannot_be_loaded_is_refused_by_name() {
    let Some(program) = compile("crates/cli/tests/portals/codes.c") else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let refused = |text: &str, expected: &str| {
        let source = directory.path().join("wrong.c");
        std::fs::write(&source, text).expect("written");
        let path = directory.path().join("wrong");
        let out = netloom()
            .args(["portals", "cc", "-w"])
            .arg(&source)
            .arg("-o")
            .arg(&path)
            .output()
            .expect("it runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let mut command = netloom();
        let out = command
            .args(["portals", "run", "--fabric"])
            .arg(&program.fabric)
            .arg(&path)
            .output()
            .expect("it runs");
        let told = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(4) && told.contains(expected), "{told}");
    };
    refused("int helper(void) { return 0; }", "it has no `main`");
    refused("int nowhere(void); int main(void) { return nowhere(); }", "nobody defines nowhere");
    let out = program.run(100, &[], &[]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("need 100 terminals, and the fabric has 64"));
}

/// Microseconds per operation that `rate` prints.
fn rate(program: &Compiled, options: &[&str], arguments: &[&str]) -> f64 {
    let text = program.good(2, options, arguments);
    let word = text.split(" us each").next().and_then(|t| t.rsplit(' ').next());
    word.and_then(|w| w.parse().ok()).expect("a number")
}

/// Simulated microseconds that S4BXI 4.2.0 gives for 10,000 operations on this platform.
#[test]
fn puts_and_gets_take_what_the_published_simulator_says() {
    let Some(program) = compile("examples/portals/rate.c") else { return };
    for (bytes, put, put16, get, get16) in [
        ("1", 2.7715, 1.2052, 3.4305, 1.2583),
        ("64", 3.2373, 1.2052, 3.4444, 1.2583),
        ("512", 3.3081, 1.2052, 3.5437, 1.2583),
        ("4096", 3.6472, 1.2083, 3.8869, 1.2583),
        ("65536", 9.4591, 6.4184, 9.7015, 6.4122),
        ("1048576", 102.449, 99.264, 102.692, 99.266),
    ] {
        for (what, window, theirs) in
            [("put", "1", put), ("put", "16", put16), ("get", "1", get), ("get", "16", get16)]
        {
            // So many that filling and draining the window counts as little as there.
            let count = if bytes.len() > 4 { "1000" } else { "10000" };
            let ours = rate(&program, &[], &[what, bytes, count, window]);
            let off: f64 = ours / theirs - 1.0;
            assert!(
                off.abs() < 0.005,
                "{what} of {bytes} B, {window} in flight: {ours} us, theirs {theirs} us"
            );
        }
    }
    for (options, bytes, kind, theirs) in [
        ([].as_slice(), "64", "volatile", 2.9775),
        (&["--set", "portals.commands=false"], "1", "", 2.2571),
        (&["--set", "portals.bus=false"], "64", "", 2.2631),
    ] {
        let arguments: Vec<&str> =
            ["put", bytes, "1000", "1", kind].into_iter().filter(|a| !a.is_empty()).collect();
        let ours = rate(&program, options, &arguments);
        assert!((ours / theirs - 1.0).abs() < 0.001, "{options:?}: {ours} us, theirs {theirs} us");
    }
}

/// A barrier by triggered puts takes ceil(log2 P) rounds of which each after the first is a message and nothing of the processor.
#[test]
fn triggered_collectives_take_a_round_for_each_doubling() {
    let Some(program) = compile("examples/portals/collectives.c") else { return };
    let time = |ranks: u32| {
        let text = program.good(ranks, &[], &["barrier", "100"]);
        let word = text.split(" us each").next().and_then(|t| t.rsplit(' ').next());
        word.and_then(|w| w.parse::<f64>().ok()).expect("a number")
    };
    let (two, four, eight, sixteen) = (time(2), time(4), time(8), time(16));
    let steps = [four - two, eight - four, sixteen - eight];
    assert!(steps.iter().all(|s| (s - steps[0]).abs() < 0.3 && *s > 0.9), "{two} {steps:?}");
    for (what, ranks) in
        [("broadcast", 2), ("broadcast", 7), ("allreduce", 2), ("allreduce", 13), ("allreduce", 64)]
    {
        program.good(ranks, &[], &[what, "5"]);
    }
}
