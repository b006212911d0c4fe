//! Real C programs through `netloom portals cc` and `netloom portals run`. Without a C compiler these tests say so and pass.

#![allow(clippy::expect_used, clippy::print_stderr, reason = "tests")]

use crate::program::{Compiled, compile, compile_as, compile_text, netloom};
use std::{
    fs,
    process::{Command, Output},
};

#[test]
fn data_move_on_every_kind_of_interface() {
    let Some(program) = compile("crates/cli/tests/portals/movement.c") else { return };
    for ranks in [1, 2, 5] {
        let text = program.good(ranks, &[], &[]);
        assert_eq!(text.matches("all moved").count(), ranks as usize);
    }
    assert_eq!(program.good(8, &["--set", "portals.ranks_per_node=4"], &[]).matches("all moved").count(), 8);
}

/// Started by itself a program says how it is started; so does one of C++, and one that is linked from objects.
#[test]
fn a_program_started_by_itself_says_how_it_is_started() {
    let Some(program) = compile("crates/cli/tests/portals/movement.c") else { return };
    let alone = |path: &std::path::Path| {
        let out = Command::new(path).output().expect("it starts");
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(2) && text.contains("netloom portals run -n 2"), "{out:?}");
    };
    alone(&program.path);
    let (source, object) = (program.path.with_extension("c"), program.path.with_extension("o"));
    fs::write(&source, "int main(void) { return 0; }\n").expect("written");
    let cc = |arguments: &[&std::ffi::OsStr]| {
        let status = netloom().args(["portals", "cc", "-Wall", "-Werror"]).args(arguments).status();
        assert!(status.expect("it runs").success(), "{arguments:?}");
    };
    cc(&["-c".as_ref(), source.as_ref(), "-o".as_ref(), object.as_ref()]);
    cc(&[object.as_ref(), "-o".as_ref(), program.path.as_ref()]);
    alone(&program.path);
    program.good(2, &[], &[]);
}

#[test]
fn wrong_use_returns_its_code() {
    let Some(program) = compile("crates/cli/tests/portals/codes.c") else { return };
    program.good(1, &[], &[]);
    program.good(2, &[], &[]);
    let Some(program) = compile("crates/cli/tests/portals/table.c") else { return };
    let text = program.good(1, &[], &[]);
    assert!(text.contains(" rows, 0 wrong"), "{text}");
}

#[test]
fn every_atomic_operation_on_every_datatype() {
    let Some(program) = compile("crates/cli/tests/portals/atomics.c") else { return };
    assert_eq!(program.good(1, &[], &[]), "458 cases\n");
    assert_eq!(program.good(3, &["--set", "portals.reliability=true"], &[]), "458 cases\n");
}

#[test]
fn computing_takes_no_time_or_that_of_this_machine_or_a_fixed_one() {
    let Some(program) = compile("crates/cli/tests/portals/compute.c") else { return };
    let reported = |options: &[&str]| {
        let text = program.good(1, options, &[]);
        let numbers: Vec<u64> = text.split_whitespace().filter_map(|w| w.parse().ok()).collect();
        (numbers[0], numbers[1])
    };
    assert_eq!(reported(&[]), (0, 0));
    assert_eq!(reported(&["--set", "portals.call_time=25 ns"]), (25, 25_000));
    let (computed, _) = reported(&["--set", "portals.cpu_factor=10.0"]);
    assert!(computed > 1000, "three million steps took {computed} ns");
    let ignored = ["--set", "portals.cpu_factor=10.0", "--set", "portals.cpu_threshold=1000 s"];
    assert_eq!(reported(&ignored), (0, 0));
}

/// Compiled without optimisation a loop keeps its counter in memory, so registers alone look as if it did nothing but look at memory.
#[test]
fn a_loop_that_counts_in_memory_is_no_poll() {
    let Some(program) = compile("crates/cli/tests/portals/compute.c") else { return };
    assert_eq!(program.good(1, &[], &["40"]).trim(), "0 0");
}

#[test]
fn the_other_dialect_is_understood() {
    let Some(program) = compile_as("bull", "crates/cli/tests/portals/bull.c") else { return };
    for ranks in [1, 2, 5] {
        let text = program.good(ranks, &[], &[]);
        assert_eq!(text.matches("dialect is understood").count(), ranks as usize);
    }
    // In C++ nothing may be narrowed.
    if Command::new("c++").arg("--version").output().is_err() {
        return;
    }
    let source = program.path.with_extension("cpp");
    let text = "#include <portals4.h>\nint main() { ptl_uid_t uid{PTL_UID_ANY}; return uid == PTL_UID_ANY ? 0 : 1; }\n";
    fs::write(&source, text).expect("written");
    let mut command = netloom();
    command.env("CC", "c++").args(["portals", "cc", "--dialect", "bull"]).arg(&source);
    assert!(command.arg("-o").arg(&program.path).status().expect("it runs").success());
    program.good(1, &[], &[]);
}

/// Rank 0 adds one a hundred times at rank 1, from 200 us on; how often that went well there and here.
fn cut(program: &Compiled, options: &[&str]) -> (u32, u32, u32) {
    let text = program.good(2, options, &["100"]);
    let number = |before: &str| {
        let word = text.split(before).next().and_then(|t| t.trim_end().rsplit([' ', '\n']).next());
        word.and_then(|w| w.parse().ok()).expect("a number")
    };
    let sum = text.rsplit("sum ").next().and_then(|w| w.trim().parse().ok()).expect("a number");
    (number(" good"), number(" undeliverable"), sum)
}

#[test]
fn links_that_fail_lose_messages_which_are_sent_again_or_given_up() {
    let Some(program) = compile("crates/cli/tests/portals/cut.c") else { return };
    let reliable = ["--set", "portals.reliability=true", "--set", "portals.timeout=20 us"];
    let with = |outage: &'static str| [&reliable[..], &["--set", outage]].concat();
    assert_eq!(cut(&program, &[]), (100, 0, 100));
    // For a while: all arrive, none twice.
    let while_ = "portals.outages=[\"1 at 300 us for 50 us\"]";
    assert_eq!(cut(&program, &with(while_)), (100, 0, 100));
    // For good: what could not be sent is reported, and the last may have been done though nobody could say so.
    let (good, failed, sum) = cut(&program, &with("portals.outages=[\"1 at 300 us\"]"));
    assert!(good > 10 && failed > 10 && good + failed == 100 && (sum == good || sum == good + 1));
    // Without reliability the program waits for ever.
    let out = program.run(2, &["--set", while_], &["100"]);
    assert_eq!(out.status.code(), Some(5));
    // Reliability of the sender alone: the target's answers are lost for good, the sums are not.
    let text = std::fs::read_to_string(&program.fabric).expect("the machine");
    let own = "[[portals.node]]\nnodes = \"0\"\nreliability = true\ntimeout = \"20 us\"\n";
    std::fs::write(&program.fabric, format!("{text}\n{own}")).expect("written");
    assert_eq!(cut(&program, &[]), (100, 0, 100));
    for (wrong, reported) in [("[\"9 at 5\"]", "is no outage"), ("[\"64 at 1 us\"]", "there is no node 64")] {
        let out = program.run(2, &["--set", &format!("portals.outages={wrong}")], &["1"]);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(3) && text.contains(reported), "{text}");
    }
}

#[test]
fn unexpected_messages_headers_and_flow_control() {
    let Some(program) = compile("crates/cli/tests/portals/unexpected.c") else { return };
    program.good(2, &[], &[]);
    program.good(4, &["--set", "portals.bus=false"], &[]);
}

#[test]
fn limits_lists_full_queues_and_interrupted_waits_at_every_loss_rate() {
    let Some(program) = compile("crates/cli/tests/portals/conformance.c") else { return };
    program.good(2, &["--check"], &[]);
    let reliable = ["--check", "--set", "portals.reliability=true", "--set", "portals.timeout=\"20 us\""];
    for loss in ["0.0", "0.03", "0.2"] {
        let loss = format!("portals.loss={loss}");
        program.good(2, &[&reliable[..], &["--set", "portals.retries=50", "--set", &loss]].concat(), &[]);
    }
}

#[test]
fn order_holds_and_nothing_is_lost_or_doubled_when_the_network_loses() {
    let Some(program) = compile("crates/cli/tests/portals/order.c") else { return };
    program.good(4, &[], &[]);
    let reliable = ["--summary", "--set", "portals.reliability=true", "--set", "portals.timeout=\"100 us\""];
    let lossy = [&reliable[..], &["--set", "portals.retries=100", "--set", "portals.loss=0.05"]].concat();
    let out = program.run(3, &lossy, &[]);
    let reported = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        out.status.success() && reported.contains(" lost, ") && reported.contains(" 0 given up"),
        "{reported}"
    );
    assert_eq!(String::from_utf8_lossy(&program.run(3, &lossy, &[]).stderr), reported, "losses are seeded");
    // Nobody answers: what is given up is reported to the program.
    let hopeless = [&reliable[..], &["--set", "portals.retries=1", "--set", "portals.loss=1.0"]].concat();
    let out = program.run(2, &hopeless, &[]);
    assert_eq!(out.status.code(), Some(12), "{}", String::from_utf8_lossy(&out.stderr));
}

/// What is under way for an interface that is closed finds nothing in the next one; and who sleeps longer than virtual time lasts meets its end.
#[test]
fn a_late_answer_finds_nothing_in_a_new_interface() {
    let Some(program) = compile("crates/cli/tests/portals/reopened.c") else { return };
    assert_eq!(program.good(2, &[], &[]), "own\n");
    let out = program.run(1, &[], &["sleep"]);
    assert_eq!(out.status.code(), Some(6), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn memory_that_is_polled_changes() {
    let Some(program) = compile("crates/cli/tests/portals/polling.c") else { return };
    assert_eq!(program.good(2, &[], &[]), "seen\n");
    let reported = |out: &Output| String::from_utf8_lossy(&out.stderr).into_owned();
    let (one, other) = (program.run(2, &["--summary"], &[]), program.run(2, &["--summary"], &[]));
    assert_eq!(reported(&one), reported(&other), "when the timer rings does not matter");
    // Nobody writes: a deadlock, not an endless run.
    let out = program.run(1, &[], &[]);
    assert!(
        out.status.code() == Some(5) && reported(&out).contains("a loop that polls memory"),
        "{}",
        reported(&out)
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
fn a_rank_that_fails_is_reported_with_its_status() {
    let Some(program) = compile("crates/cli/tests/portals/failing.c") else { return };
    for (how, code, reported) in [
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
        assert!(out.status.code() == Some(code) && text.contains(reported), "{how}: {text}");
    }
}

/// A library that counts its calls, and a program whose ranks call it: alone each counts to its own calls, together to those of all.
#[test]
fn libraries_are_shared_unless_they_are_named_private() {
    let Some(program) = compile("crates/cli/tests/portals/codes.c") else { return };
    let directory = program.fabric.parent().expect("it lies somewhere");
    let make = |source: &str, text: &str, arguments: &[&str]| {
        std::fs::write(directory.join(source), text).expect("written");
        let mut command = netloom();
        let out = command.args(["portals", "cc", source]).args(arguments).current_dir(directory).output();
        let out = out.expect("it runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    };
    let library = "#include <unistd.h>\nint calls; int call(void) { usleep(7); return ++calls; }\n";
    make("count.c", library, &["-o", "libcounts.so"]);
    let main = "#include <pmi.h>\n#include <stdio.h>\n#include <sys/time.h>\nint call(void);\nint main(void) { struct timeval t; call(); \
                gettimeofday(&t, 0); printf(\"%d %ld\\n\", call(), (long)t.tv_usec); return 0; }\n";
    make("calls.c", main, &["-o", "calls", "-L.", "-lcounts", "-Wl,-rpath,."]);
    let run = |options: &[&str]| {
        let mut command = netloom();
        command.args(["portals", "run", "-n", "3", "--fabric"]).arg(&program.fabric).args(options);
        let out = command.arg("./calls").current_dir(directory).output().expect("it runs");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    // Its clocks are simulated too: `usleep` in the library takes 7 us.
    assert_eq!(run(&["--private", "libcounts.so"]), "2 7\n".repeat(3));
    assert!(run(&[]).contains("6 "));
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
        let reported = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(4) && reported.contains(expected), "{reported}");
    };
    refused("int helper(void) { return 0; }", "it has no `main`");
    refused("int nowhere(void); int main(void) { return nowhere(); }", "nobody defines nowhere");
    let out = program.run(100, &[], &[]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("need 100 terminals, and the fabric has 64"));
}

/// In front of the compiler's own arguments `-v` is an option of ours too.
#[test]
fn the_compiler_hears_that_all_is_to_be_shown() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("a directory");
    let compiler = directory.path().join("cc");
    std::fs::write(&compiler, "#!/bin/sh\necho \"$@\"\n").expect("written");
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    for (arguments, hears) in [(&["-v", "a.c"][..], true), (&["a.c", "-v"], true), (&["a.c"], false)] {
        let out = netloom().env("CC", &compiler).args(["portals", "cc"]).args(arguments).output();
        let out = out.expect("it runs");
        let shown = String::from_utf8_lossy(&out.stdout);
        assert_eq!(shown.split_whitespace().any(|word| word == "-v"), hears, "{arguments:?}: {shown}");
    }
}

/// What a library calls is looked for before anything runs, whether ranks share it or each has a copy.
#[test]
fn what_libraries_lack_is_refused_by_name() {
    let main =
        "int call(void); int helper(void) { return 7; } int main(void) { return call() == 7 ? 0 : 1; }\n";
    for (library, private, reported) in [
        ("int helper(void); int call(void) { return helper(); }", true, ""),
        ("int helper(void); int call(void) { return helper(); }", false, ""),
        ("int nowhere(void); int call(void) { return nowhere(); }", true, "nobody defines nowhere"),
        (
            "int nowhere(void); int call(void) { return nowhere(); }",
            false,
            "nobody defines nowhere (for libcalls.so)",
        ),
        ("#include <portals4.h>\nint call(void) { return PtlInit() + 7; }", true, ""),
        ("#include <portals4.h>\nint call(void) { return PtlInit() + 7; }", false, "needs a copy: --private"),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let make = |text: &str, arguments: &[&str]| {
            fs::write(directory.path().join("source.c"), text).expect("written");
            let mut command = netloom();
            command.args(["portals", "cc", "source.c"]).args(arguments).current_dir(&directory);
            assert!(command.status().expect("it runs").success());
        };
        let Some(program) = compile("crates/cli/tests/portals/codes.c") else { return };
        make(library, &["-o", "libcalls.so"]);
        make(main, &["-o", "calls", "-L.", "-lcalls", "-Wl,-rpath,."]);
        let mut command = netloom();
        command.args(["portals", "run", "-n", "2", "--fabric"]).arg(&program.fabric);
        command.args(if private { &["--private", "libcalls.so"][..] } else { &[] });
        let out = command.arg("./calls").current_dir(&directory).output().expect("it runs");
        let text = String::from_utf8_lossy(&out.stderr);
        let code = if reported.is_empty() { 0 } else { 4 };
        assert!(
            out.status.code() == Some(code) && text.contains(reported),
            "{library} {private}: {:?} {text}",
            out.status
        );
    }
}

/// A program that only looks ends as a deadlock if nothing can come any more; one that counts its looks or reads a clock goes on.
#[test]
fn polling_for_nothing_is_a_deadlock() {
    let Some(program) = compile("crates/cli/tests/portals/vain.c") else { return };
    let lost = ["--set", "portals.loss=1.0"];
    for (how, reported) in [
        ("queue", "rank 1 looks again and again by PtlEQGet, without success"),
        ("poll", "rank 0 looks again and again by PtlCTPoll, without success"),
        ("get", "rank 1 looks again and again by PtlCTGet, without success"),
        ("sync", "rank 0 looks again and again by PtlAtomicSync, without success"),
        ("wait", "rank 1 waits in PtlCTWait"),
    ] {
        let out = program.run(2, &lost, &[how]);
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.code() == Some(5) && text.contains(reported), "{how}: {text}");
    }
    assert_eq!(program.good(2, &[], &["poll"]), "soon\n");
    assert_eq!(program.good(2, &[], &["count", "300000"]), "soon\n");
    assert_eq!(program.good(2, &lost, &["clock"]), "late\n");
}

#[test]
fn records_come_whole_or_not_at_all() {
    let Some(program) = compile("crates/cli/tests/portals/failing.c") else { return };
    let record = program.path.with_extension("record");
    let name = record.display().to_string();
    let options = ["--record", name.as_str()];
    let reported = |out: &Output| String::from_utf8_lossy(&out.stderr).into_owned();
    let left = || {
        let all = fs::read_dir(program.path.parent().expect("it lies somewhere")).expect("a directory");
        all.filter(|e| e.as_ref().is_ok_and(|e| e.path().extension().is_some_and(|e| e == "part"))).count()
    };
    // Of a run that fails there is a record as well.
    assert_eq!(program.run(2, &options, &["exit"]).status.code(), Some(12));
    let whole = fs::read(&record).expect("it is there");
    let out = program.run(2, &options, &["exit"]);
    assert!(out.status.code() == Some(7) && reported(&out).contains("exists already"), "{}", reported(&out));
    assert_eq!(program.run(2, &[options[0], options[1], "--force"], &["exit"]).status.code(), Some(12));
    assert_eq!(fs::read(&record).expect("it is there"), whole);
    // What cannot be loaded leaves it alone.
    fs::write(&program.path, "no program").expect("written");
    assert_eq!(program.run(2, &[options[0], options[1], "--force"], &[]).status.code(), Some(4));
    assert_eq!((fs::read(&record).expect("it is there"), left()), (whole, 0));
    fs::remove_file(&record).expect("removed");
    // Why there is no record is reported, and how the program ended is the status.
    let threads = "#include <pthread.h>\n#include <stdlib.h>\nstatic void *none(void *p) { return p; }\n\
                   int main(int n, char **v) { pthread_t t; pthread_create(&t, 0, none, 0); pthread_join(t, 0); return atoi(v[1]); }\n";
    let Some(threads) = compile_text(threads) else { return };
    for (status, code) in [("0", 7), ("3", 12)] {
        let out = threads.run(1, &options, &[status]);
        assert!(
            out.status.code() == Some(code) && reported(&out).contains("there is no record"),
            "{}",
            reported(&out)
        );
        assert!(!record.exists() && left() == 0);
    }
}

#[test]
fn how_a_run_ended_as_json() {
    let Some(program) = compile("crates/cli/tests/portals/failing.c") else { return };
    let object = |how: &str, code: i32| {
        let out = program.run(2, &["--format", "json"], &[how]);
        assert_eq!(out.status.code(), Some(code), "{how}");
        serde_json::from_slice::<serde_json::Value>(&out.stdout).expect("one object")
    };
    let exit = object("exit", 12);
    assert_eq!((&exit["state"], &exit["ranks"][1]["status"]), (&"failed".into(), &7.into()));
    let null = object("null", 12);
    assert_eq!((&null["ranks"][1]["signal"], &null["ranks"][1]["address"]), (&11.into(), &8.into()));
    let deadlock = object("deadlock", 5);
    assert_eq!((&deadlock["state"], &deadlock["ranks"][1]["state"]), (&"deadlock".into(), &"waiting".into()));
    assert!(deadlock["simulated_ps"].is_u64() && deadlock["waiting"][0].as_str().is_some());
}

/// Copies of a program are gone while it runs, so that nothing stays behind if it is killed.
#[test]
fn a_run_keeps_no_files() {
    let looks = "#include <glob.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(void) { char name[64], self[20]; glob_t found;\n\
                 int n = readlink(\"/proc/self\", self, 20);\n\
                 snprintf(name, sizeof name, \"/dev/shm/netloom-ranks-%.*s-*\", n, self);\n\
                 return glob(name, 0, NULL, &found) == GLOB_NOMATCH ? 0 : 1; }\n";
    let Some(program) = compile_text(looks) else { return };
    program.good(3, &[], &[]);
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
        (&["--set", "portals.quick_acks=true"], "1", "", 2.7665),
        (&["--set", "portals.commands=false"], "1", "", 2.2571),
        (&["--set", "portals.bus=false"], "64", "", 2.2631),
    ] {
        let arguments: Vec<&str> =
            ["put", bytes, "1000", "1", kind].into_iter().filter(|a| !a.is_empty()).collect();
        let ours = rate(&program, options, &arguments);
        assert!((ours / theirs - 1.0).abs() < 0.001, "{options:?}: {ours} us, theirs {theirs} us");
    }
}

/// Payloads that are not copied take their time all the same; nodes have their own precision.
#[test]
fn what_is_left_out_and_where_is_the_users_choice() {
    let Some(program) = compile("examples/portals/rate.c") else { return };
    for (what, window, theirs) in [("put", "1", 400.018), ("put", "16", 397.036)] {
        let options = ["--set", "portals.copy_most=0 B"];
        let ours = rate(&program, &options, &[what, "4194304", "1000", window]);
        assert!(
            (ours / theirs - 1.0).abs() < 0.005,
            "{what}, {window} in flight: {ours} us, theirs {theirs} us"
        );
    }
    let text = std::fs::read_to_string(&program.fabric).expect("the machine");
    for (node, us) in [("0", 2.2571), ("1", 2.7715), ("0-1", 2.2571)] {
        let own = format!("[[portals.node]]\nnodes = \"{node}\"\ncommands = false\n");
        std::fs::write(&program.fabric, format!("{text}\n{own}")).expect("written");
        let ours = rate(&program, &[], &["put", "1", "1000", "1"]);
        assert!((ours / us - 1.0).abs() < 0.001, "node {node}: {ours} us, not {us} us");
    }
    let refused = |own: &str, reported: &str| {
        std::fs::write(&program.fabric, format!("{text}\n[[portals.node]]\n{own}")).expect("written");
        let out = program.run(2, &[], &["put", "1", "1", "1"]);
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.code() == Some(3) && text.contains(reported), "{text}");
    };
    refused("nodes = \"64\"", "there is no node 64");
    refused("nodes = \"a\"", "is no list of nodes");
    refused("commands = false", "lacks `nodes`");
    refused("nodes = \"0\"\nloss = 0.5", "loss");
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
