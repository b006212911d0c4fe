//! Failures of the library as exceptions of Python, with the text that the program prints.

use netloom::{
    Error, ErrorKind,
    base::{
        diag::{Diagnostic, SHOWN},
        mistakes::more_errors,
    },
    render::{self, Position},
};
use pyo3::prelude::*;

/// Module of the exceptions.
const MODULE: &str = "netloom.errors";

/// A mistake as Python has it: source, line, column (all empty if it has no place), message, ways to mend it.
type Mistake = (Option<String>, Option<usize>, Option<usize>, String, Vec<String>);

/// What stands for the mistakes that are counted only.
fn others(count: usize) -> Mistake {
    (None, None, None, more_errors(count), Vec::new())
}

/// The class of a failure.
fn class(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Internal => "InternalError",
        ErrorKind::Usage => "UsageError",
        ErrorKind::Experiment => "ExperimentError",
        ErrorKind::Input => "InputError",
        ErrorKind::Limit => "LimitError",
        ErrorKind::Output => "OutputError",
        ErrorKind::Violated => "ViolatedError",
        // No function of the package can fail so: there are neither launchers nor Portals programs, and an interruption is the exception that caused it.
        ErrorKind::Deadlock | ErrorKind::Interrupted | ErrorKind::Program | ErrorKind::Launcher => "Error",
    }
}

/// The exception of a failure.
pub fn raise(py: Python<'_>, error: &Error) -> PyErr {
    let text = render::failure(error, false);
    let exception = py
        .import(MODULE)
        .and_then(|module| module.getattr(class(error.kind())))
        .and_then(|class| class.call1((text.trim_end(), mistakes(error))));
    exception.map_or_else(|broken| broken, PyErr::from_value)
}

/// The first mistakes, [`SHOWN`] at most, without those that only count others; then the number of all others, as one that has no place.
fn mistakes(error: &Error) -> Vec<Mistake> {
    let Error::Experiment(all) = error else { return Vec::new() };
    let shown: Vec<&Diagnostic> =
        all.sorted().into_iter().filter(|mistake| mistake.count == 1).take(SHOWN).collect();
    let left = all.len() - shown.len();
    let listed = shown.into_iter().map(|mistake| {
        let (message, help) = (mistake.message.clone(), mistake.help.clone());
        match render::position(all, mistake) {
            Some(Position { source, line, column }) => {
                (Some(source.name.clone()), Some(line), Some(column), message, help)
            }
            None => (None, None, None, message, help),
        }
    });
    listed.chain((left > 0).then(|| others(left))).collect()
}
