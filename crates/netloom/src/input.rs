//! Experiment files as they are named, and files as they are read.

use crate::error::{Error, ErrorKind};
use base::{input::open, units::print_bytes, visible::name};
use std::{
    io::Read,
    path::{Path, PathBuf},
};
use workload::program::{file::Format, input as programs};

/// Largest experiment file.
const MAX_FILE: u64 = 2 << 20;

/// Largest file of scenarios.
pub const MAX_FILE_OF_SCENARIOS: u64 = 4 << 30;

/// An experiment file and what overrides it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Experiment file (TOML).
    pub file: PathBuf,
    /// Overrides, each as `job.0.load=0.5`.
    pub set: Vec<String>,
}

/// Reads an experiment file; `-` is standard input, which can be read once.
///
/// # Errors
/// As [`read_file`], and if it is a program of ranks, which an experiment names.
pub fn read_experiment(path: &Path) -> Result<String, Error> {
    if path != Path::new("-") && path.extension().is_none_or(|e| e != "toml") {
        let head = programs::Input::file(path).head(1 << 16).unwrap_or_default();
        let format = Format::by(&head).map(|f| format!("a program of ranks (format {})", f.name()));
        if let Some(what) =
            format.or_else(|| Format::is_archive(&head).then(|| "an archive of tar".to_owned()))
        {
            let shown = path.display().to_string();
            let file = name(&shown);
            let message = format!("`{file}` is {what}, no experiment");
            let help = format!(
                "an experiment names it as `file` of a job: `netloom init trace`, then `netloom run \
                                trace/experiment.toml --set job.0.file={file}`"
            );
            return Err(Error::new(ErrorKind::Input, message).with_help(help));
        }
    }
    read_file(path)
}

/// Reads an input file as text; `-` is standard input, which can be read once.
///
/// # Errors
/// If it is missing, unreadable, too large or not UTF-8.
pub fn read_file(path: &Path) -> Result<String, Error> {
    read_file_of(path, MAX_FILE)
}

/// The same with another size at most.
///
/// # Errors
/// As [`read_file`].
pub fn read_file_of(path: &Path, most: u64) -> Result<String, Error> {
    let unreadable =
        |e| Error::new(ErrorKind::Input, format!("cannot read `{}`: {e}", name(&path.display().to_string())));
    let mut bytes = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(most + 1).read_to_end(&mut bytes)
    } else {
        open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
    };
    read.map_err(unreadable)?;
    if bytes.len() as u64 > most {
        let message = format!("`{}` is larger than {}", path.display(), print_bytes(most));
        return Err(
            Error::new(ErrorKind::Input, message).with_help("experiment files are small; is this one?")
        );
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
        let message =
            format!("`{}` is not UTF-8 text: byte {at}, on line {line}, begins no character", path.display());
        Error::new(ErrorKind::Input, message)
    })
}
