//! From an experiment file to a setup that may run.

use crate::{
    assemble, deadlocks, ends,
    error::{Error, ErrorKind},
    experiment::{
        self, resolved,
        sections::{Experiment, SchedulerKind},
    },
    faults,
    input::{Input, read_experiment},
    machine::{self, Machine},
    memory::{fits, limit_in_bytes, within},
    network,
    networks::Networks,
    options::RunOptions,
    parts,
    registry::Registry,
    saver::Intervals,
    schedule,
    watcher::{Phases, Watcher},
};
use base::{
    diag::{Diagnostic, Diagnostics},
    time::Ps,
    world::World,
};
use fabric::deadlock::Report;
use model::{ModelEntry, Run, memory::Prediction, setup::Scheduling};
use serde_json::Value as Json;

/// A setup that may run, and what is known about it.
pub struct Prepared {
    /// Name and text of the file.
    pub file: (String, String),
    /// The resolved experiment.
    pub experiment: Json,
    /// What will run.
    pub run: Box<dyn Run>,
    /// The registered model that made `run`.
    pub model: &'static ModelEntry,
    /// Outcome of the deadlock check; none if the model has no buffers to wait for.
    pub routing: Option<Report>,
    /// Memory that the run will need at most.
    pub memory: Prediction,
    /// Tables are asked for whose rows are beside that: how many there will be is not known beforehand.
    pub has_unknown_rows: bool,
    /// The scheduler that the experiment asks for; the run may have no use for it.
    pub scheduler: SchedulerKind,
    /// The schedulers among which the simulator chooses; none if the experiment names one.
    pub candidates: Vec<Scheduling>,
    /// When the run is saved.
    pub intervals: Intervals,
    /// Length of a window, where as many as a series holds may end the run before its limit.
    pub last_window: Option<Ps>,
    /// Where the experiment came from.
    pub input: Input,
    /// What was asked for.
    pub options: RunOptions,
    /// The processes of the run.
    pub world: World,
    /// It is a machine for Portals programs, without jobs: ranks on each node.
    pub machine: Option<u32>,
}

impl Prepared {
    /// What a user is to know of a run before it begins, a line each: what its check for deadlocks left open, and what fails in its network.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let open =
            self.routing.as_ref().filter(|report| matches!(report, Report::Free { exhaustive: false, .. }));
        let open = open.map(|report| format!("note: routing: {report}"));
        let faults = faults::text(&*self.run).map(|faults| format!("note: faults: {faults}"));
        open.into_iter().chain(faults).collect()
    }
}

/// Reads, resolves, assembles and checks an experiment.
///
/// # Errors
/// If the file cannot be read, the experiment has mistakes, or it needs more memory than it may use.
pub fn prepare(
    registry: &Registry,
    input: &Input,
    options: &RunOptions,
    watcher: &dyn Watcher,
) -> Result<Prepared, Error> {
    prepare_text(registry, input, read_experiment(&input.file)?, options, watcher)
}

/// The same with the text of the file at hand.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_text(
    registry: &Registry,
    input: &Input,
    text: String,
    options: &RunOptions,
    watcher: &dyn Watcher,
) -> Result<Prepared, Error> {
    let name = input.file.display().to_string();
    let mut diagnostics = Diagnostics::default();
    let resolved = experiment::read(registry, &name, &text, &input.set, &mut diagnostics);
    let Some(experiment) = resolved else { return Err(Error::Experiment(Box::new(diagnostics))) };
    no_series(&experiment, &name, &diagnostics)?;
    if experiment.plots {
        watcher.remark("note: [[plot]] draws points of a [sweep]; for a single run it does nothing");
    }
    prepare_resolved(&experiment, NamedFile { name, text, input }, options, None, watcher, diagnostics)
}

/// Goes on unless whoever watches leaves.
fn stay(watcher: &dyn Watcher) -> Result<(), Error> {
    if watcher.leaves() {
        return Err(Error::new(ErrorKind::Interrupted, "interrupted before the simulation began"));
    }
    Ok(())
}

/// Refuses a file that describes a series of runs: which of its points is meant?
pub(crate) fn no_series(experiment: &Experiment, name: &str, diagnostics: &Diagnostics) -> Result<(), Error> {
    let Some(place) = experiment.series else { return Ok(()) };
    let mut only = Diagnostics::default();
    only.sources.clone_from(&diagnostics.sources);
    let diagnostic = Diagnostic::new(place, "this file describes a series of runs, not one").label("a sweep");
    let sweep = format!("`netloom sweep {name} --out DIR` runs all points of it");
    only.push(
        diagnostic
            .help(sweep)
            .help("`--set sweep=` takes the section out, for the run that the rest describes"),
    );
    Err(Error::Experiment(Box::new(only)))
}

/// A file of an experiment, as it was read.
pub struct NamedFile<'a> {
    /// How diagnostics call it.
    pub name: String,
    /// The text of the experiment file.
    pub text: String,
    /// Where it came from, and what was set beside it.
    pub input: &'a Input,
}

/// The same with the experiment read, and networks that it may share with others.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_resolved(
    experiment: &Experiment,
    file: NamedFile<'_>,
    options: &RunOptions,
    networks: Option<&Networks>,
    watcher: &dyn Watcher,
    mut diagnostics: Diagnostics,
) -> Result<Prepared, Error> {
    let NamedFile { name, text, input } = file;
    let phases = Phases(watcher);
    let portals = experiment.portals.as_ref().filter(|_| experiment.jobs.is_empty());
    if portals.is_some() && !options.machine && diagnostics.is_empty() {
        let message = format!("`{name}` describes a machine for Portals programs: it has no [[job]]");
        let help = format!("netloom portals run -n 2 --fabric {name} PROGRAM");
        return Err(Error::new(ErrorKind::Experiment, message).with_help(help));
    }
    let limit = limit_in_bytes(options.memory);
    let room = |what: &str, bytes| stay(watcher).and_then(|()| fits(what, bytes, limit));
    let (intervals, unread) = schedule::read(experiment, options, &mut diagnostics);
    unread.iter().for_each(|note| watcher.remark(&format!("note: {note}")));
    // Runs that share networks share the process: what it has says nothing of one of them.
    let run = match networks {
        None => within(limit, || assemble::assemble(experiment, options, &phases, &room, &mut diagnostics))?,
        Some(networks) => {
            assemble::assemble_shared(experiment, options, networks, &phases, &room, &mut diagnostics)?
        }
    };
    let (Some(run), Some(model)) = (run, &experiment.model) else {
        return Err(Error::Experiment(Box::new(diagnostics)));
    };
    diagnostics.notes.iter().for_each(|note| watcher.remark(&format!("note: {note}")));
    let machine = portals.and_then(|p| machine::build(experiment, p, &*run, None, &mut diagnostics));
    if portals.is_none() {
        run.validate().map_err(|e| Error::new(ErrorKind::Experiment, e.to_string()))?;
    }
    let memory = network::predicted(experiment, &*run);
    room("the run", memory.bytes)?;
    let has_unknown_rows = parts::has_unknown_rows(experiment, options, run.jobs());
    phases.begin("looking for deadlocks");
    let routing = deadlocks::check_deadlock(experiment, &*run, &mut diagnostics);
    if !diagnostics.is_empty() {
        return Err(Error::Experiment(Box::new(diagnostics)));
    }
    if options.page && !model.entry.saved {
        let name = model.entry.about.name;
        watcher.remark(&format!(
            "note: runs of model \"{name}\" cannot be saved: a signal before its results are written ends this one without them"
        ));
    }
    deadlocks::note(routing.as_ref()).iter().for_each(|note| watcher.remark(note));
    Ok(Prepared {
        file: (name, text),
        experiment: resolved::with_parameters(resolved::json(experiment), run.parameters()),
        run,
        model: model.entry,
        routing,
        memory,
        has_unknown_rows,
        scheduler: experiment.scheduler.kind,
        candidates: schedule::candidates(experiment, options),
        intervals,
        last_window: ends::last_window(experiment),
        input: input.clone(),
        options: *options,
        world: World::ALONE,
        machine: machine.map(|(_, params)| params.ranks_per_node),
    })
}

/// Network and parameters of the machine that an experiment file describes, for so many ranks.
///
/// # Errors
/// If the file cannot be read, has mistakes, or names a model that does not carry Portals programs.
pub fn machine_of(
    registry: &Registry,
    input: &Input,
    ranks: u32,
    options: &RunOptions,
    watcher: &dyn Watcher,
) -> Result<Machine, Error> {
    machine_of_text(registry, input, &read_experiment(&input.file)?, ranks, options, watcher)
}

/// The same with the text of the file at hand.
///
/// # Errors
/// As [`machine_of`].
pub fn machine_of_text(
    registry: &Registry,
    input: &Input,
    text: &str,
    ranks: u32,
    options: &RunOptions,
    watcher: &dyn Watcher,
) -> Result<Machine, Error> {
    let name = input.file.display().to_string();
    let phases = Phases(watcher);
    let mut diagnostics = Diagnostics::default();
    let refused = |diagnostics| Error::Experiment(Box::new(diagnostics));
    let Some(experiment) = experiment::read(registry, &name, text, &input.set, &mut diagnostics) else {
        return Err(refused(diagnostics));
    };
    no_series(&experiment, &name, &diagnostics)?;
    let limit = limit_in_bytes(options.memory);
    let room = |what: &str, bytes| fits(what, bytes, limit);
    let build = || assemble::assemble(&experiment, options, &phases, &room, &mut diagnostics);
    let run = within(limit, build)?;
    let (Some(run), true) = (run, diagnostics.is_empty()) else { return Err(refused(diagnostics)) };
    let Some(section) = &experiment.portals else {
        let help = "add [portals]; its keys have defaults, those of BXI";
        let message =
            format!("`{name}` has no section [portals]: it describes no machine for Portals programs");
        return Err(Error::new(ErrorKind::Experiment, message).with_help(help));
    };
    fits("the machine", network::predicted(&experiment, &*run).bytes, limit)?;
    let warnings = run.parameters().iter().filter_map(|p| p.warning.as_ref());
    warnings.for_each(|warning| watcher.remark(&format!("warning: {warning}")));
    deadlocks::check_deadlock(&experiment, &*run, &mut diagnostics);
    machine::build(&experiment, section, &*run, Some(ranks), &mut diagnostics)
        .ok_or_else(|| refused(diagnostics))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{options::MemoryLimit, watcher::Silent};

    #[test]
    fn a_machine_that_does_not_fit_is_refused() {
        let text = include_str!("../../../studies/portals4-bxi/quito.toml");
        let input = Input { file: "machine.toml".into(), set: Vec::new() };
        let with = |bytes| {
            let options = RunOptions { memory: Some(MemoryLimit::Bytes(bytes)), ..RunOptions::default() };
            machine_of_text(&Registry::standard(), &input, text, 2, &options, &Silent)
        };
        assert!(with(1 << 32).is_ok());
        let refused = with(1000).err().expect("a thousand bytes hold no machine");
        assert_eq!(refused.kind(), ErrorKind::Limit, "{refused}");
    }
}
