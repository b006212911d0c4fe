//! Any bytes are read as the file of a rank of a trace (SimGrid, liballprof, DUMPI, Chakra), or refused; what is read can be counted, or is damaged with a message.
//!
//! `cargo +nightly fuzz run traces fuzz/corpus/traces`, with files of traces in the folder

#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::program::{Damage, census::Census, file::Content, input::Input, traces::Scale};

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("netloom-fuzz-{}", std::process::id()));
    std::fs::write(&path, bytes).expect("it can be written");
    match Content::read(&Input::file(&path), Scale::DEFAULT) {
        Err(problems) => assert!(!problems.is_empty()),
        Ok((_, content)) => {
            if let Err(Damage(message)) = Census::of(&content) {
                assert!(!message.is_empty());
            }
        }
    }
});
