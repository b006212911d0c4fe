//! From the file on the command line to a setup that may run: what `run`, `check` and `study` have in common.

use crate::{
    args::{Input, MemoryLimit},
    assemble,
    exit::Exit,
    experiment::{self, resolved},
    failure::Failure,
};
use base::{diag::Diagnostics, units::print_bytes};
use fabric::deadlock::Report;
use model::{AnySetup, memory::Prediction};
use serde_json::Value as Json;
use std::{fs::File, io::Read, path::Path};

/// Largest experiment file.
const MAX_FILE: u64 = 16 << 20;

/// Largest file of scenarios.
pub const MAX_FILE_OF_SCENARIOS: u64 = 4 << 30;

/// A setup that may run, and what is known about it.
pub struct Prepared {
    /// Name and text of the file.
    pub file: (String, String),
    /// The resolved experiment.
    pub experiment: Json,
    /// What will run.
    pub setup: AnySetup,
    /// Outcome of the deadlock check; none if the model has no buffers to wait for.
    pub routing: Option<Report>,
    /// Memory that the run will need at most.
    pub memory: Prediction,
}

/// Reads, resolves, assembles and checks an experiment.
///
/// # Errors
/// If the file cannot be read, the experiment has mistakes, or it needs more memory than `limit` (left out: than the
/// machine has).
pub fn prepare(input: &Input, limit: Option<MemoryLimit>, checkers: bool) -> Result<Prepared, Failure> {
    let text = read_file(&input.file)?;
    let name = input.file.display().to_string();
    let mut diagnostics = Diagnostics::default();
    let resolved = experiment::read(&name, &text, &input.set, &mut diagnostics);
    let Some(experiment) = resolved else { return Err(Failure::Experiment(Box::new(diagnostics))) };
    let limit = limit_in_bytes(limit);
    if let Some(bytes) = experiment.fabric.as_ref().and_then(assemble::fabric_bytes) {
        fits("the fabric alone", bytes, limit)?;
    }
    let Some(setup) = assemble::assemble(&experiment, checkers, &mut diagnostics) else {
        return Err(Failure::Experiment(Box::new(diagnostics)));
    };
    setup.validate().map_err(|e| Failure::new(Exit::Experiment, e.to_string()))?;
    let memory = setup.memory();
    fits("the run", memory.bytes, limit)?;
    let routing = assemble::check_deadlock(&experiment, &setup, &mut diagnostics);
    if !diagnostics.is_empty() {
        return Err(Failure::Experiment(Box::new(diagnostics)));
    }
    Ok(Prepared { file: (name, text), experiment: resolved::json(&experiment), setup, routing, memory })
}

/// Reads an input file as text.
///
/// # Errors
/// If it is missing, unreadable, too large or not UTF-8.
pub fn read_file(path: &Path) -> Result<String, Failure> {
    read_file_of(path, MAX_FILE)
}

/// The same with another size at most.
///
/// # Errors
/// As [`read_file`].
pub fn read_file_of(path: &Path, most: u64) -> Result<String, Failure> {
    let unreadable = |e| Failure::new(Exit::Input, format!("cannot read `{}`: {e}", path.display()));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > most {
        let message = format!("`{}` is larger than {}", path.display(), print_bytes(most));
        return Err(Failure::new(Exit::Input, message).with_help("experiment files are small; is this one?"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
        let message =
            format!("`{}` is not UTF-8 text: byte {at}, on line {line}, begins no character", path.display());
        Failure::new(Exit::Input, message)
    })
}

/// The limit in bytes; `None` if there is none or the machine does not tell.
#[must_use]
pub fn limit_in_bytes(limit: Option<MemoryLimit>) -> Option<u64> {
    match limit {
        Some(MemoryLimit::None) => None,
        Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
        None => available_memory(),
    }
}

/// Refuses what needs more memory than may be used.
///
/// # Errors
/// If it needs more.
pub fn fits(what: &str, bytes: u64, limit: Option<u64>) -> Result<(), Failure> {
    match limit {
        Some(limit) if bytes > limit => {
            let (needs, has) = (rounded(bytes), rounded(limit));
            let message = format!("{what} may need {needs} of memory, but only {has} may be used");
            let help = "simulate less, or raise the limit: --memory-limit SIZE or --memory-limit none";
            Err(Failure::new(Exit::Limit, message).with_help(help))
        }
        _ => Ok(()),
    }
}

/// Bytes with one decimal, for people.
#[must_use]
pub fn rounded(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes >> shift > 0 {
            let tenths = (u128::from(bytes) * 10 + (1 << (shift - 1))) >> shift;
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// Memory that this machine can give without swapping; `None` where it does not say.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
