//! Any bytes are read as a program of MPI calls or refused with mistakes; what is read can be run.
//!
//! `cargo +nightly fuzz run ranks fuzz/corpus/ranks examples/programs`

#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::program::{input::Input, mpi::Script, ranks};

/// Calls of a rank that are run: loops may be long.
const CALLS: usize = 1_000;

fuzz_target!(|bytes: &[u8]| {
    match ranks::read(&Input::bytes("fuzz.ranks", bytes)) {
        Err(problems) => assert!(!problems.is_empty()),
        Ok(script) => {
            for rank in 0..script.ranks().min(3) {
                let mut calls = script.open(rank);
                let mut text = String::new();
                for _ in 0..CALLS {
                    match calls.next() {
                        Ok(Some((call, position))) => {
                            ranks::call(&mut text, &call);
                            assert!(script.describe(rank, position).starts_with("fuzz.ranks:"));
                        }
                        Ok(None) | Err(_) => break,
                    }
                }
            }
        }
    }
});
