//! How long ranks wait, and what becomes of those that do so at the end: polls of memory, time-outs, limits, text in buffers, full stacks.

#![allow(clippy::expect_used, clippy::print_stderr, reason = "tests")]

use crate::program::{Compiled, compile, compile_by, netloom};
use std::path::Path;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What they had not flushed is shown, and how the run ended is the status.
#[test]
fn text_of_ranks_that_never_end_goes_out() {
    let Some(program) = compile_by("c++", "sandia", "crates/cli/tests/portals/unfinished.cpp") else {
        return;
    };
    for (how, code, reported) in [
        ("fail", 12, "rank 1 exited with status 7"),
        ("limit", 6, "rank 0 was still running"),
        ("deadlock", 5, "rank 1 waits in pause"),
    ] {
        let out = program.run(2, &["--label", "--set", "experiment.limit=2 s"], &[how]);
        let (shown, error) = (text(&out.stdout), text(&out.stderr));
        assert!(out.status.code() == Some(code) && error.contains(reported), "{how}: {out:?}");
        for rank in 0..2 {
            let line = format!("[{rank}] part of rank {rank}, and its stream\n");
            assert!(shown.contains(&line), "{how}: {line:?} is not in {shown}");
        }
    }
}

fn seen(program: &Compiled, shape: &[&str]) -> String {
    program.good(2, &["--summary"], shape)
}

/// What was read before a message came may be looked at only one or two rounds later: whenever the loop was interrupted, the message is seen, and as early in every run.
#[test]
fn a_copy_of_memory_is_looked_at_once_more_after_it_changed() {
    let Some(program) = compile("crates/cli/tests/portals/looks.c") else { return };
    let first = seen(&program, &["copy"]);
    for _ in 0..15 {
        assert_eq!(seen(&program, &["copy"]), first, "runs are alike");
    }
    assert_eq!(seen(&program, &["frame"]), first, "who looks at one word sees it as early");
}

/// Loops that go through many words are polls, too, though a timer hardly ever finds them in the same place, or finds them in the C library.
#[test]
fn loops_over_much_memory_are_polls() {
    let Some(program) = compile("crates/cli/tests/portals/looks.c") else { return };
    let first = seen(&program, &["scan", "8"]);
    for shape in [["scan", "1024"], ["sum", "1024"], ["library", "1024"]] {
        assert_eq!(seen(&program, &shape), first, "{shape:?}");
    }
}

/// Neither the touch of each page that compilers add nor its absence lets a large frame reach another rank's stack.
#[test]
fn a_frame_larger_than_the_stack_ends_its_own_rank() {
    let Some(program) = compile("crates/cli/tests/portals/large.c") else { return };
    let ends = |options: &[&str]| {
        let out = program.run(4, options, &[]);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(12), "{error}");
        assert!(error.contains("rank 2 was ended by SIGSEGV") && !error.contains("rank 1 was"), "{error}");
        assert_eq!(text(&out.stdout), "own\n".repeat(3), "{error}");
    };
    let build = |arguments: &[&str]| {
        let source = Path::new(crate::program::ROOT).join("crates/cli/tests/portals/large.c");
        let mut command = netloom();
        command.args(["portals", "cc"]).args(arguments).arg(source).arg("-o").arg(&program.path);
        assert!(command.status().expect("it runs").success(), "{arguments:?}");
    };
    ends(&[]);
    build(&["-fno-stack-clash-protection"]);
    ends(&[]);
    build(&["-fno-stack-clash-protection", "-DBYTES=1100000"]);
    ends(&["--stack", "1 MiB"]);
    // As large as Linux gives: what runs there runs here.
    assert_eq!(program.good(4, &[], &[]), "own\n".repeat(4));
}

/// A wait for something until a time, and one for what is still on its way, are ended by the limit; one for what never comes is a deadlock. A replay says the same.
#[test]
fn one_wait_longer_than_the_limit_is_no_deadlock() {
    let Some(program) = compile("crates/cli/tests/portals/late.c") else { return };
    let record = program.fabric.with_file_name("late.nlp").display().to_string();
    let timed = ["sleep", "poll", "condition", "queue", "counter"].map(|how| (how, "10 s", 6));
    for (how, limit, code) in timed.into_iter().chain([("message", "300 us", 6), ("never", "300 us", 5)]) {
        let limit = format!("experiment.limit={limit}");
        let out = program.run(2, &["--set", &limit, "--force", "--record", &record], &[how]);
        assert_eq!(out.status.code(), Some(code), "{how}: {}", text(&out.stderr));
        let mut command = netloom();
        command.args(["portals", "replay", &record, "--set", &limit, "--fabric"]).arg(&program.fabric);
        let replayed = command.output().expect("it runs");
        assert_eq!(replayed.status.code(), Some(code), "{how}, replayed: {}", text(&replayed.stderr));
    }
}

#[test]
fn mutexes_know_their_thread_and_times_that_are_none_are_refused() {
    let Some(program) = compile("crates/cli/tests/portals/mutexes.c") else { return };
    assert_eq!(program.good(2, &["--set", "experiment.limit=5 s"], &[]), "as in POSIX\n".repeat(2));
}

/// Messages may be sent again though none was lost: acknowledgements that come late.
#[test]
fn a_summary_counts_what_was_sent_again_though_nothing_was_lost() {
    let Some(program) = compile("examples/portals/rate.c") else { return };
    let hasty = ["--summary", "--set", "portals.reliability=true", "--set", "portals.timeout=\"1 us\""];
    let options = [&hasty[..], &["--set", "portals.retries=1000"]].concat();
    let shown = text(&program.run(2, &options, &["put", "65536", "20", "8"]).stderr);
    assert!(shown.contains("0 lost, ") && !shown.contains(" 0 sent again"), "{shown}");
}

/// What no interface ends is kept as the time that it took, also where a signal ended the wait or the rank. What a record cannot say is refused.
#[test]
fn waits_that_end_by_time_are_replayed() {
    let Some(program) = compile("crates/cli/tests/portals/timed.c") else { return };
    let record = program.fabric.with_file_name("timed.nlp").display().to_string();
    let options = ["--force", "--record", &record];
    let all = ["select", "poll", "condition", "semaphore", "lock", "signal", "pause", "sleep", "ended"];
    for how in all {
        let out = program.run(2, &options, &[how]);
        let code = if how == "ended" { 12 } else { 0 };
        assert_eq!(out.status.code(), Some(code), "{how}: {}", text(&out.stderr));
        let mut command = netloom();
        command.args(["portals", "replay", &record, "--ranks", "--fabric"]).arg(&program.fabric);
        let replayed = command.output().expect("it runs");
        let shown = text(&replayed.stdout);
        assert!(replayed.status.success(), "{how}: {}", text(&replayed.stderr));
        assert!(shown.contains("2 of 2 ranks end at the same picosecond"), "{how}: {shown}");
        assert!(!shown.contains("never"), "{how}: {shown}");
    }
    let out = program.run(2, &options, &["handler"]);
    let error = text(&out.stderr);
    let refused = "calls its interface or waits in a handler";
    assert!(out.status.code() == Some(7) && error.contains(refused), "{error}");
}
