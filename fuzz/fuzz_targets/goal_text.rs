//! Any bytes are read as GOAL text or refused with mistakes; what is read is written and read again as the same program.
//!
//! `cargo +nightly fuzz run goal_text fuzz/corpus/goal_text examples/programs`

#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::program::{goal, input::Input};

fuzz_target!(|bytes: &[u8]| {
    match goal::read_text(&Input::bytes("fuzz.goal", bytes), 1) {
        Err(problems) => assert!(!problems.is_empty()),
        Ok(graph) => {
            let mut text = Vec::new();
            goal::write_text(&graph, 1, &mut text).expect("memory takes it");
            let again = goal::read_text(&Input::bytes("again.goal", &text), 1).expect("what is written can be read");
            for (a, b) in graph.parts().iter().zip(again.parts()) {
                assert_eq!((a.ops.len(), &a.edges), (b.ops.len(), &b.edges));
            }
        }
    }
});
