//! Ranks of the machine's MPI part: together, or because one leaves the others behind. This program starts itself under the launcher.

#![cfg(all(unix, feature = "link"))]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at the first surprise, and a rank speaks"
)]

use mpi::Session;
use std::process::{Command, Output, Stdio};

/// Names what a process that the launcher started does.
const PART: &str = "NETLOOM_TEST_PART";

fn launched(part: &str) -> Output {
    Command::new("mpirun")
        .args(["-n", "3"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_rank", "--nocapture", "--test-threads", "1"])
        .env(PART, part)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// What each process under the launcher does; by itself nothing.
#[test]
fn a_rank() {
    let Ok(part) = std::env::var(PART) else { return };
    let session = Session::join().unwrap();
    let (world, last) = (&session.world, session.world.rank() == 2);
    for round in 1..200 {
        // Of different lengths, none at all among them.
        let mine = vec![round; (round as usize + world.rank() as usize) % 3 * 1000];
        let all = world.all(&mine);
        assert!((0..3).all(|rank| all[rank].len() == (round as usize + rank) % 3 * 1000));
    }
    if last && part == "panics" {
        panic!("rank 2 met a bug");
    }
    if part != "together" && !last {
        // Works on until it is ended: far longer than that takes.
        (0..u32::MAX).for_each(|_| drop(world.all(&[1])));
    }
    let (status, why) = if last { (7, "the disk is full") } else { (0, "") };
    assert_eq!(session.leave(status, why, |why| eprintln!("said: {why}")), 7);
}

#[test]
fn ranks_part_together() {
    let output = launched("together");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output).matches("said: rank 2: the disk is full").count(), 1, "{}", said(&output));
}

/// The one that leaves says why, once, and ends the others with its status.
#[test]
fn nobody_waits_for_a_rank_that_leaves() {
    let output = launched("leaves");
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    assert_eq!(said(&output).matches("said: rank 2: the disk is full").count(), 1, "{}", said(&output));
}

#[test]
fn nobody_waits_for_a_rank_that_panics() {
    let output = launched("panics");
    assert!(!output.status.success() && said(&output).contains("rank 2 met a bug"), "{}", said(&output));
}
