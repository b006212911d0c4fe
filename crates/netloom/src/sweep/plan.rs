//! What a sweep will run, checked before the first point does.

use super::points::{Chain, Point, chains};
use crate::{
    error::{Error, ErrorKind},
    experiment::{
        self,
        keys::Choices,
        sections::Experiment,
        series::{self, Series},
        sweep::MAX_POINTS,
    },
    input::{Input, read_experiment},
    networks::Networks,
    options::RunOptions,
    prepare::{NamedFile, Prepared, prepare_resolved},
    registry::Registry,
    unread,
    watcher::Watcher,
};
use base::{
    diag::{Diagnostic, Diagnostics},
    sorted::{SortedMap, SortedSet},
    visible,
};
use std::sync::{Mutex, PoisonError};

/// A sweep whose points are all valid experiments, as far as that can be seen without building their networks.
pub struct Plan {
    /// The file's axes.
    pub series: Series,
    /// Points in the order in which they are numbered.
    pub chains: Vec<Chain>,
    /// The first points on each network with each model.
    firsts: Vec<Point>,
    /// Name and text of the file.
    pub file: (String, String),
    /// Where it came from.
    pub input: Input,
    choices: Choices,
    sources: Diagnostics,
}

/// What is known of a plan before its points run.
pub struct Checked {
    /// The first point.
    pub first: Prepared,
    /// Different networks, as seen by models.
    pub networks: usize,
    /// Memory that the largest of their first points will need at most.
    pub bytes: u64,
}

/// Reads a file with `[sweep]` and all its points.
///
/// # Errors
/// If it cannot be read, has no `[sweep]`, or any point has mistakes: all of them at once.
pub fn plan(registry: &Registry, input: &Input) -> Result<Plan, Error> {
    plan_of(registry, input, read_experiment(&input.file)?)
}

/// The same with the text of the file at hand.
///
/// # Errors
/// As [`plan`].
pub fn plan_of(registry: &Registry, input: &Input, text: String) -> Result<Plan, Error> {
    let name = input.file.display().to_string();
    let mut diagnostics = Diagnostics::default();
    if let Some(plan) = plan_text(registry, input, text.clone())? {
        return Ok(plan);
    }
    experiment::read(registry, &name, &text, &input.set, &mut diagnostics);
    Err(if diagnostics.is_empty() {
        let message = format!("`{}` has no [sweep]", input.file.display());
        let help = "add [[sweep.axis]] with `path` and `values`; `netloom explain sweep.axis` shows its keys";
        Error::new(ErrorKind::Experiment, message).with_help(help)
    } else {
        Error::Experiment(Box::new(diagnostics))
    })
}

/// The same, for a file that need not describe a sweep; `None` if it has no `[sweep]`.
///
/// # Errors
/// Those of [`plan`].
pub fn plan_text(registry: &Registry, input: &Input, text: String) -> Result<Option<Plan>, Error> {
    let name = input.file.display().to_string();
    let mut diagnostics = Diagnostics::default();
    let series = series::read(&name, &text, &input.set, &mut diagnostics);
    let refused = |diagnostics| Err(Error::Experiment(Box::new(diagnostics)));
    let Some(series) = series else { return Ok(None) };
    if !series.sound {
        return refused(diagnostics);
    }
    let Some(chains) = chains(&series.sweep, series.seed()) else {
        let message = format!("the sweep has more than {MAX_POINTS} points");
        diagnostics.push(Diagnostic::new(series.home, message).help("give its axes fewer values"));
        return refused(diagnostics);
    };
    if chains.is_empty() {
        diagnostics
            .push(Diagnostic::new(series.home, "every point of the sweep is left out by a [[sweep.skip]]"));
        return refused(diagnostics);
    }
    let mut sources = Diagnostics::default();
    sources.sources.clone_from(&diagnostics.sources);
    let mut plan = Plan {
        series,
        chains,
        firsts: Vec::new(),
        file: (name, text),
        input: input.clone(),
        choices: Choices::of(registry),
        sources,
    };
    // Each is read once: there may be a hundred thousand.
    let (mut known, mut firsts) = (SortedSet::new(), Vec::new());
    for point in plan.chains.iter().flat_map(|chain| &chain.points) {
        let (experiment, found) = plan.read(point);
        found.sorted().into_iter().for_each(|mistake| diagnostics.push(mistake.clone()));
        let model = experiment.model.as_ref().map_or("", |model| model.entry.about.name);
        if diagnostics.is_empty() && known.insert((Networks::key(&experiment), model)) {
            firsts.push(point.clone());
        }
    }
    plan.firsts = firsts;
    if diagnostics.is_empty() { Ok(Some(plan)) } else { refused(diagnostics) }
}

/// Hears all points of a sweep. Keys without effect are remarked if that is so at every point: an axis may need them at some.
struct Common<'a> {
    watcher: &'a dyn Watcher,
    /// Such notes, and at how many points each was heard.
    notes: Mutex<SortedMap<String, usize>>,
}

impl Common<'_> {
    fn report(&self, points: usize) {
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().filter(|(_, heard)| **heard == points).for_each(|(note, _)| self.watcher.remark(note));
    }
}

impl Watcher for Common<'_> {
    fn phase(&self, what: &str) {
        self.watcher.phase(what);
    }

    fn remark(&self, text: &str) {
        if !text.contains(unread::NO_EFFECT) {
            return self.watcher.remark(text);
        }
        *self.notes.lock().unwrap_or_else(PoisonError::into_inner).entry(text.to_owned()).or_default() += 1;
    }

    fn ended(&self) {
        self.watcher.ended();
    }
}

impl Plan {
    /// The experiment of a point, and what is wrong with it.
    pub(super) fn read(&self, point: &Point) -> (Experiment, Diagnostics) {
        let mut diagnostics = self.sources.clone();
        let seed = (point.seed != self.series.seed()).then_some(point.seed);
        let experiment = self.series.at(&self.choices, &point.values(), seed, &mut diagnostics);
        (experiment, diagnostics)
    }

    /// Names of the axes.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.series.sweep.axes.iter().map(|axis| axis.name.as_str()).collect()
    }

    /// Number of points that are known before the first runs.
    #[must_use]
    pub fn points(&self) -> usize {
        self.chains.iter().map(|chain| chain.points.len()).sum()
    }

    /// The file, for a point of it.
    pub(super) fn named_file(&self) -> NamedFile<'_> {
        let (name, text) = self.file.clone();
        NamedFile { name, text, input: &self.input }
    }

    /// Assembles the first point on each of its networks, and checks it as if it were to run.
    ///
    /// # Errors
    /// The first that cannot run; which one it is, is remarked.
    pub fn check(&self, options: &RunOptions, watcher: &dyn Watcher) -> Result<Checked, Error> {
        let (mut first, mut bytes) = (None, 0);
        let common = Common { watcher, notes: Mutex::default() };
        for point in &self.firsts {
            let (experiment, mistakes) = self.read(point);
            let prepared = prepare_resolved(&experiment, self.named_file(), options, None, &common, mistakes);
            let prepared = prepared.inspect_err(|_| {
                watcher.remark(&format!("at the point {}", point.named(&self.names())));
            })?;
            bytes = prepared.memory.bytes.max(bytes);
            first = first.or(Some(prepared));
        }
        common.report(self.firsts.len());
        let first = first.expect("a plan has a point");
        Ok(Checked { first, networks: self.firsts.len(), bytes })
    }

    /// A line on what it will run: `100 points: 5 algorithm x 2 traffic x 10 load`.
    #[must_use]
    pub fn line(&self) -> String {
        let sweep = &self.series.sweep;
        let mut parts: Vec<String> =
            sweep.axes.iter().map(|axis| format!("{} {}", axis.levels.len(), axis.name)).collect();
        if sweep.repetitions > 1 {
            parts.push(format!("{} seeds", sweep.repetitions));
        }
        let climbed = sweep.axes.iter().find(|axis| axis.search.is_some());
        let until = climbed.map_or(String::new(), |axis| format!("; `{}` until saturated", axis.name));
        let all = self.points();
        let line = format!("{all} point{}: {}{until}", if all == 1 { "" } else { "s" }, parts.join(" x "));
        visible::name(&line).into_owned()
    }
}
