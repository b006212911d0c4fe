//! What a program sees hangs neither on when this machine's timer finds it polling memory, nor on what a virtual machine says of the steps that follow.

#![allow(clippy::expect_used, reason = "tests")]

use crate::program::{Compiled, compile};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

/// True once a process catches the timer's signal: before, it would end it.
fn catches(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).expect("a child has a status");
    let caught = status.lines().find_map(|l| l.strip_prefix("SigCgt:")).expect("with its signals");
    u64::from_str_radix(caught.trim(), 16).expect("a number") >> 13 & 1 == 1
}

/// Runs a program while the timer's signal comes at random instants, up to so many microseconds apart.
fn ringing(program: &Compiled, shape: &[&str], most: u32, seed: u32) -> String {
    let mut command = program.command(2, &["--summary"], shape);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let pid = Pid::from_child(&child);
    let (mut state, begin) = (seed, Instant::now());
    while child.try_wait().expect("a child can be asked").is_none() {
        if !catches(&child) {
            thread::sleep(Duration::from_micros(100));
            continue;
        }
        if begin.elapsed() > Duration::from_secs(120) {
            child.kill().expect("it is ours");
        }
        // It may have ended meanwhile: until it is asked again its number stays its own.
        let _ = kill_process(pid, Signal::ALARM);
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let until = Instant::now() + Duration::from_micros(u64::from(state >> 8) % u64::from(most));
        while Instant::now() < until {}
    }
    let out = child.wait_with_output().expect("it ended");
    assert!(out.status.success(), "{shape:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// The signal comes in the handler of steps, in our own code before and after a wait, and in the C library. A loop that has waited is still known for the same
/// loop: were it taken for a new one, other threads would look at memory once more, and ranks at the same instant would come in another order.
/// A loop over words that all change at once sees the same one first.
#[test]
fn runs_are_alike_whenever_the_timer_rings() {
    let shapes: [(&str, &[&[&str]]); 4] = [
        ("memory", &[&[]]),
        ("looks", &[&["copy"], &["scan", "1024"], &["library", "1024"]]),
        ("polls", &[&[]]),
        ("words", &[&[]]),
    ];
    for (source, shapes) in shapes {
        let Some(program) = compile(&format!("crates/cli/tests/portals/{source}.c")) else { return };
        for shape in shapes {
            let quiet = program.good(2, &["--summary"], shape);
            for (seed, most) in [(1, 60), (2, 200), (3, 1000)] {
                assert_eq!(ringing(&program, shape, most, seed), quiet, "{source} {shape:?}, {most} us");
            }
        }
    }
}

/// The kernel reports a step for which the processor gives no reason as it reports `int1`: no breakpoint of the program.
#[test]
fn a_step_without_a_reason_is_a_step() {
    let Some(program) = compile("crates/cli/tests/portals/lost.c") else { return };
    let seen = program.good(2, &[], &[]);
    assert!(seen.starts_with("seen at "), "{seen}");
    assert_eq!(program.good(2, &[], &[]), seen, "runs are alike");
    let out = program.run(2, &[], &["int1"]);
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(12) && error.contains("rank 0 was ended by SIGTRAP"), "{error}");
}
