//! The package as the program that runs: its version, and the revision of its sources.

use netloom::output::Program;

/// As it is reported in results.
pub const PROGRAM: Program = Program {
    build: match env!("NETLOOM_REVISION").as_bytes() {
        [] => env!("CARGO_PKG_VERSION"),
        _ => concat!(env!("CARGO_PKG_VERSION"), " (", env!("NETLOOM_REVISION"), ")"),
    },
    version: env!("CARGO_PKG_VERSION"),
    revision: env!("NETLOOM_REVISION"),
};
