//! Any bytes are read as a GOAL binary or refused; what is read is written and read again as the same program.
//!
//! `cargo +nightly fuzz run goal_binary`

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use workload::program::{goal, input::Input};

fuzz_target!(|bytes: &[u8]| {
    match goal::read_binary(&Input::bytes("fuzz.bin", bytes), 1) {
        Err(problems) => assert!(!problems.is_empty()),
        Ok(graph) => {
            let mut out = Cursor::new(Vec::new());
            goal::write_binary(&graph, 1, &mut out).expect("memory takes it");
            let again = goal::read_binary(&Input::bytes("again.bin", out.get_ref()), 1);
            assert_eq!(graph.parts(), again.expect("what is written can be read").parts());
        }
    }
});
