//! Any text is read as an experiment or refused with diagnostics that can be drawn; it never panics. A file whose
//! first line begins with `#--set ` also carries an override.
//!
//! `cargo +nightly fuzz run experiment fuzz/corpus/experiment examples crates/cli/tests/bad`

#![no_main]

use base::diag::Diagnostics;
use libfuzzer_sys::fuzz_target;
use netloom::{Registry, experiment};
use netloom::render;

fuzz_target!(|text: &str| {
    let first = text.lines().next().and_then(|line| line.strip_prefix("#--set "));
    let options: Vec<String> = first.into_iter().map(str::to_owned).collect();
    let mut diagnostics = Diagnostics::default();
    let resolved = experiment::read(&Registry::standard(), "fuzz.toml", text, &options, &mut diagnostics);
    if !diagnostics.is_empty() {
        assert!(render::render(&diagnostics, false).contains("error: "));
    }
    match resolved {
        Some(resolved) => drop(experiment::resolved::json(&resolved).to_string()),
        None => assert!(!diagnostics.is_empty()),
    }
});
