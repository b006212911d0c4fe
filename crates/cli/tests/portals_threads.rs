//! Threads of a rank wait for each other in simulated time, whatever they wait at.

#![allow(clippy::expect_used, clippy::print_stderr, reason = "tests")]

use crate::program::{compile, compile_with};
use std::process::Command;

/// Atomics that wait, semaphores, latches, barriers, futures, and words of memory by the system's own call.
#[test]
fn words_of_memory_are_waited_for_in_simulated_time() {
    let source = "crates/cli/tests/portals/futexes.cpp";
    let Some(program) = compile_with("c++", &["-std=c++20", "-O1"], source) else { return };
    let first = program.good(2, &["--summary"], &[]);
    assert_eq!(first.matches("woken\n").count(), 2, "{first}");
    assert_eq!(program.good(2, &["--summary"], &[]), first, "runs are alike");
    let out = program.run(2, &[], &["never"]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(5) && text.contains("rank 1 waits in futex"), "{text}");
}

/// Loops, sections, tasks, regions and locks of OpenMP are those of each thread of each rank, though all share the library.
#[test]
fn openmp_is_that_of_each_thread_of_each_rank() {
    if !has_openmp() {
        return;
    }
    let source = "crates/cli/tests/portals/openmp.c";
    let Some(program) = compile_with("cc", &["-fopenmp", "-O1"], source) else { return };
    let first = program.good(3, &["--summary"], &[]);
    assert_eq!(first.matches("shared\n").count(), 3, "{first}");
    assert_eq!(program.good(3, &["--summary"], &[]), first, "runs are alike");
    let out = program.run(2, &[], &["never"]);
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(5) && text.contains("rank 1 waits in omp_set_lock"), "{text}");
}

/// The compiler alone says whether it has OpenMP.
fn has_openmp() -> bool {
    let mut compiler = Command::new("cc");
    compiler.args(["-fopenmp", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", "/dev/null"]);
    let has = compiler.status().is_ok_and(|s| s.success());
    if !has {
        eprintln!("skipped: cc has no OpenMP");
    }
    has
}

#[test]
fn threads_of_c11_are_simulated() {
    let Some(program) = compile("crates/cli/tests/portals/c11.c") else { return };
    assert_eq!(program.good(2, &[], &[]), "joined\njoined\n");
}

#[test]
fn timers_of_posix_expire_in_simulated_time() {
    let Some(program) = compile("crates/cli/tests/portals/timers.c") else { return };
    assert_eq!(program.good(2, &[], &[]), "expired\nexpired\n");
}

#[test]
fn statics_of_functions_are_begun_once_by_threads() {
    let Some(program) = compile_with("c++", &["-O1"], "crates/cli/tests/portals/statics.cpp") else { return };
    assert_eq!(program.good(2, &[], &[]), "begun\nbegun\n");
}
