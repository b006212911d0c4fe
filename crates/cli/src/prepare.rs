//! From the file on the command line to a setup that may run: what `run`, `check` and `study` have in common.

use crate::any::AnySetup;
use crate::{
    args::{Input, MemoryLimit},
    assemble,
    commands::portals::machine,
    console::Console,
    deadlocks,
    exit::Exit,
    experiment::{self, resolved},
    failure::Failure,
    keeper::Intervals,
    network, schedule,
    stages::Stages,
};
use base::{diag::Diagnostics, units::print_bytes};
use fabric::deadlock::Report;
use model::memory::Prediction;
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
    /// When the run is saved.
    pub intervals: Intervals,
    /// Threads asked for.
    pub threads: u32,
    /// It is a machine for Portals programs, without jobs: ranks on each node.
    pub machine: Option<u32>,
}

/// What the command line asks of a run beside the experiment.
#[derive(Clone, Copy, Debug)]
pub struct Wishes {
    /// Threads.
    pub threads: u32,
    /// Partitions, whatever the experiment says.
    pub partitions: Option<u32>,
    /// Memory that may be used; left out: what the machine has.
    pub memory: Option<MemoryLimit>,
    /// Run the checkers.
    pub checkers: bool,
    /// A machine for Portals programs, without jobs, will do.
    pub machine: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { threads: 1, partitions: None, memory: None, checkers: false, machine: false }
    }
}

/// Reads, resolves, assembles and checks an experiment.
///
/// # Errors
/// If the file cannot be read, the experiment has mistakes, or it needs more memory than it may use.
pub fn prepare(input: &Input, wishes: &Wishes, console: &Console<'_>) -> Result<Prepared, Failure> {
    prepare_text(input, read_file(&input.file)?, wishes, console.err_terminal)
}

/// The same with the text of the file at hand; stages of long work are told if somebody `watches`.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_text(
    input: &Input,
    text: String,
    wishes: &Wishes,
    watches: bool,
) -> Result<Prepared, Failure> {
    let stages = Stages::new(watches);
    let name = input.file.display().to_string();
    let mut diagnostics = Diagnostics::default();
    let resolved = experiment::read(&name, &text, &input.set, &mut diagnostics);
    let Some(experiment) = resolved else { return Err(Failure::Experiment(Box::new(diagnostics))) };
    let portals = experiment.portals.as_ref().filter(|_| experiment.jobs.is_empty());
    if portals.is_some() && !wishes.machine && diagnostics.is_empty() {
        let message = format!("`{name}` describes a machine for Portals programs: it has no [[job]]");
        let help = format!("netloom portals run -n 2 --fabric {name} PROGRAM");
        return Err(Failure::new(Exit::Experiment, message).with_help(help));
    }
    let limit = limit_in_bytes(wishes.memory);
    if let Some(bytes) = experiment.fabric.as_ref().and_then(network::fabric_bytes) {
        fits("the fabric alone", bytes, limit)?;
    }
    let room = |what: &str, bytes| fits(what, bytes, limit);
    let intervals = schedule::intervals(&experiment, &mut diagnostics);
    let Some(setup) = assemble::assemble(&experiment, wishes, (&stages, &room), &mut diagnostics)? else {
        return Err(Failure::Experiment(Box::new(diagnostics)));
    };
    let machine = portals.and_then(|p| machine::build((&experiment, p), &setup, None, &mut diagnostics));
    if portals.is_none() {
        setup.validate().map_err(|e| Failure::new(Exit::Experiment, e.to_string()))?;
    }
    let memory = setup.memory();
    fits("the run", memory.bytes, limit)?;
    stages.tell("looking for deadlocks");
    let routing = deadlocks::check_deadlock(&experiment, &setup, &mut diagnostics);
    if !diagnostics.is_empty() {
        return Err(Failure::Experiment(Box::new(diagnostics)));
    }
    Ok(Prepared {
        file: (name, text),
        experiment: resolved::json(&experiment),
        setup,
        routing,
        memory,
        intervals,
        threads: wishes.threads,
        machine: machine.map(|(_, params)| params.ranks_per_node),
    })
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
            let help =
                "choose something smaller; `netloom run` takes --memory-limit SIZE or --memory-limit none";
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
