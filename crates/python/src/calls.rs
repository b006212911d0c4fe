//! What Python calls. The functions that users see stand in the folder `netloom`; these take what those have checked.

use crate::{
    attend::{Board, attend},
    failure,
    finished::Done,
    work::{self, Asked, Source},
};
use netloom::{
    Error, ErrorKind, MemoryLimit,
    base::units::UnitError,
    results::{
        summary::Summary,
        text::{Style, render},
    },
};
use pyo3::prelude::*;
use std::path::PathBuf;

/// What is asked, as Python has it: file or text, overrides, output directory, whether it may be replaced, threads, checkers, memory limit.
type Words =
    (Option<PathBuf>, Option<String>, Vec<String>, Option<PathBuf>, bool, Option<i64>, bool, Option<String>);

/// A point that could not be run: its id, its values in a line, why.
type Failed = (String, String, String);

/// Runs an experiment.
#[pyfunction]
pub fn run(py: Python<'_>, words: Words, heard: Option<Bound<'_, PyAny>>) -> PyResult<Done> {
    let asked = asked(py, words)?;
    attend(py, heard.as_ref(), move |board: &Board| work::run(&asked, board))
        .map(|(left, notes)| Done::new(left, notes))
}

/// Goes on with a run that left a checkpoint, to results in its directory; gives what was remarked.
#[pyfunction]
pub fn resume(
    py: Python<'_>,
    out: PathBuf,
    threads: Option<i64>,
    memory: Option<String>,
    heard: Option<Bound<'_, PyAny>>,
) -> PyResult<Vec<String>> {
    let read = counted(threads).and_then(|threads| Ok((threads, limit(memory)?)));
    let (threads, memory) = read.map_err(|error| failure::raise(py, &error))?;
    let work = move |board: &Board| work::resume(&out, threads, memory, board);
    attend(py, heard.as_ref(), work).map(|((), notes)| notes)
}

/// Sweeps an experiment into a directory; gives the points that failed, and what was remarked.
#[pyfunction]
pub fn sweep(
    py: Python<'_>,
    words: Words,
    again: Vec<String>,
    heard: Option<Bound<'_, PyAny>>,
) -> PyResult<(Vec<Failed>, Vec<String>)> {
    let asked = asked(py, words)?;
    attend(py, heard.as_ref(), move |board: &Board| work::sweep(&asked, &again, board))
}

/// A summary that was stored, as the program prints it.
#[pyfunction]
pub fn shown(py: Python<'_>, summary: &str) -> PyResult<String> {
    let read: Result<Summary, _> = serde_json::from_str(summary);
    let summary = read.map_err(|e| {
        failure::raise(py, &Error::new(ErrorKind::Input, format!("this is no summary of a run: {e}")))
    })?;
    Ok(render(&summary, Style::Plain))
}

fn asked(py: Python<'_>, words: Words) -> PyResult<Asked> {
    let (file, text, set, out, force, threads, checkers, memory) = words;
    let source = match (file, text) {
        (Some(file), None) => Ok(Source::File(file)),
        (None, Some(text)) => Ok(Source::Text(text)),
        _ => Err(Error::new(ErrorKind::Usage, "an experiment is a file or a text")),
    };
    let whole = source.and_then(|source| {
        Ok(Asked { source, set, out, force, threads: counted(threads)?, checkers, memory: limit(memory)? })
    });
    whole.map_err(|error| failure::raise(py, &error))
}

fn counted(threads: Option<i64>) -> Result<Option<u32>, Error> {
    let fits = |n: i64| u32::try_from(n).ok().filter(|n| (1..=1024).contains(n));
    let wrong = |n| Error::new(ErrorKind::Usage, format!("`threads` is {n}, but 1 to 1024 are possible"));
    threads.map(|n| fits(n).ok_or_else(|| wrong(n))).transpose()
}

fn limit(memory: Option<String>) -> Result<Option<MemoryLimit>, Error> {
    let wrong = |e: UnitError| {
        let error = Error::new(ErrorKind::Usage, format!("`memory_limit`: {}", e.message));
        e.help.into_iter().fold(error, Error::with_help)
    };
    memory.map(|text| text.parse()).transpose().map_err(wrong)
}
