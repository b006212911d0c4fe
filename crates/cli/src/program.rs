//! The program that runs: its version, and the revision of its sources.

use netloom::output::Program;

/// Version and revision of this build.
pub const VERSION: &str = match env!("NETLOOM_REVISION").as_bytes() {
    [] => env!("CARGO_PKG_VERSION"),
    _ => concat!(env!("CARGO_PKG_VERSION"), " (", env!("NETLOOM_REVISION"), ")"),
};

/// As it is reported in results.
pub const PROGRAM: Program =
    Program { build: VERSION, version: env!("CARGO_PKG_VERSION"), revision: env!("NETLOOM_REVISION") };
