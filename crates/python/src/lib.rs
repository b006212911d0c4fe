//! The compiled part of the Python package `netloom`: experiments are run, resumed and swept; Python has them as texts and tables.
//!
//! The journey: a call from Python (`calls`) -> a thread of its own that simulates (`work`) while the caller's waits, hears signals and reports
//! progress (`attend`) -> what came of it (`finished`), or an exception with the text that the program prints (`failure`). Everything that
//! needs no simulator is written in Python, in the folder `netloom`.

// What the macros of PyO3 make holds some; nothing that stands here does.
#![allow(unsafe_code)]

mod attend;
mod calls;
mod failure;
mod finished;
mod program;
mod work;

/// The module `netloom._netloom`.
#[pyo3::pymodule(gil_used = false)]
mod _netloom {
    #[pymodule_export]
    use crate::{
        calls::{resume, run, shown, sweep},
        finished::Done,
    };

    /// Version and revision of the build.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const build: &str = crate::program::PROGRAM.build;

    /// Version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const version: &str = crate::program::PROGRAM.version;
}
