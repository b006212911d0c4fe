//! What a sweep will run, checked before the first point does.

use super::points::{Chain, Point, chains};
use crate::{
    error::{Error, ErrorKind},
    experiment::{
        self,
        keys::Choices,
        sections::Experiment,
        series::{self, Series, Walk},
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
    plan.firsts = plan.first_points(&mut diagnostics);
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

    /// Reads each point once, and reports what is wrong; gives the first on each network with each model.
    fn first_points(&self, diagnostics: &mut Diagnostics) -> Vec<Point> {
        let (mut known, mut firsts) = (SortedSet::new(), Vec::new());
        let (own, mut found) = (self.series.seed(), self.sources.clone());
        let mut walk = Walk::new(&self.series, &self.choices);
        for point in self.chains.iter().flat_map(|chain| &chain.points) {
            let seed = (point.seed != own).then_some(point.seed);
            let (experiment, other) = walk.at(point.values(), seed, &mut found);
            if !found.is_empty() {
                found.sorted().into_iter().for_each(|mistake| diagnostics.push(mistake.clone()));
                found = self.sources.clone();
            }
            let model = experiment.model.as_ref().map_or("", |model| model.entry.about.name);
            if other && diagnostics.is_empty() && known.insert((Networks::key(experiment), model)) {
                firsts.push(point.clone());
            }
        }
        firsts
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{level::Level, resolved};

    const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

    /// Axes of which sweeps are made: of every section, sound and not, that name sections that are there and others.
    const AXES: [&str; 22] = [
        "path = 'job.0.load'\nvalues = [0.1, 0.2, 'much', 2.0]",
        "path = 'job.0.message'\nvalues = ['64 B', '2 KiB', 3]",
        "paths = ['job.0.workload', 'model.vcs']\nvalues = [['uniform', 4], ['ring', 5], ['nothing', 0]]",
        "path = 'job'\nvalues = [[{workload = 'ring'}], [], 'text']",
        "path = 'job.1.load'\nvalues = [0.5, 0.6]",
        "path = 'routing.algorithm'\nvalues = ['minimal', 'valiant', 'other']",
        "path = 'routing'\nvalues = [{algorithm = 'minimal'}, {}, 4]",
        "path = 'model.kind'\nvalues = ['packet', 'delay', 'flow', 'congestion', 'hybrid', 'none']",
        "path = 'model.chunk'\nvalues = ['32 B', '64 B']",
        "path = 'model.cost'\nvalues = ['loggops', 'hops']",
        "path = 'fabric.groups'\nvalues = [5, 9, 0]",
        "path = 'fabric.link.local.vc_buffer'\nvalues = ['16 KiB', '0 B']",
        "path = 'fabric.link.local'\nvalues = [{bandwidth = '1 GB/s', latency = '5 ns', credit_delay = '5 ns'}, 1]",
        "path = 'fabric.topology'\nvalues = ['dragonfly', 'torus']",
        "path = 'router.preset'\nvalues = ['slingshot', 'none']",
        "path = 'router.arbiter'\nvalues = ['age', 'random', 7]",
        "path = 'faults.links'\nvalues = [1, 2]",
        "path = 'engine.scheduler'\nvalues = ['sequential', 'optimistic', 'never']",
        "path = 'engine.partitions'\nvalues = [1, 'auto', 0]",
        "path = 'output.window'\nvalues = ['1 us', '2 us', 'long']",
        "path = 'experiment.duration'\nvalues = ['1 us', '2 us', '0 s']",
        "path = 'portals.ranks_per_node'\nvalues = [1, 2]",
    ];

    /// A file with some of the axes.
    fn swept(text: &str, draw: &mut dyn FnMut(usize) -> usize) -> String {
        let mut text = format!("{text}\n[sweep]\nrepetitions = {}\n", 1 + draw(2));
        for number in 0..1 + draw(3) {
            text += &format!("[[sweep.axis]]\nname = 'a{number}'\n{}\n", AXES[draw(AXES.len())]);
        }
        text
    }

    /// A point as it is read alone and in a walk: what is known of it, and mistakes.
    fn compare(series: &Series, choices: &Choices, sources: &Diagnostics, file: &str) -> usize {
        let mut walk = Walk::new(series, choices);
        let (mut alone, mut walked) = (sources.clone(), sources.clone());
        let own = series.seed();
        let mut last = None;
        let chains = chains(&series.sweep, own).expect("few points");
        for point in chains.iter().flat_map(|chain| &chain.points) {
            let values: Vec<&Level> = point.values();
            let seed = (point.seed != own).then_some(point.seed);
            let (mut one, mut other) = (sources.clone(), sources.clone());
            let naive = series.at(choices, &values, seed, &mut one);
            let (experiment, changed) = walk.at(values, seed, &mut other);
            for (all, found) in [(&mut alone, &one), (&mut walked, &other)] {
                found.sorted().into_iter().for_each(|mistake| all.push(mistake.clone()));
            }
            let name = point.named(&[]);
            assert_eq!(alone, walked, "{file}: {name}");
            assert_eq!(resolved::json(&naive), resolved::json(experiment), "{file}: {name}");
            assert_eq!(naive.elsewhere, experiment.elsewhere, "{file}: {name}");
            let complete = |e: &Experiment| {
                let links = e.links.iter().map(|(_, link)| link.complete);
                links.chain(e.jobs.iter().map(|job| job.section.complete)).collect::<Vec<_>>()
            };
            assert_eq!(complete(&naive), complete(experiment), "{file}: {name}");
            let model = naive.model.as_ref().map(|model| model.entry.about.name);
            let key = Some((Networks::key(&naive), model));
            assert!(changed || key == last, "{file}: another network at {name}");
            last = key;
        }
        alone.len()
    }

    /// Points that are read one after another are what they are alone, mistakes included: in every example, along axes of every section.
    #[test]
    fn points_in_a_walk_are_what_they_are_alone() {
        let registry = Registry::standard();
        let choices = Choices::of(&registry);
        let mut state = 1_u64;
        let mut draw = move |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let files: Vec<_> =
            std::fs::read_dir(EXAMPLES).expect("examples").map(|e| e.expect("entry").path()).collect();
        let files = files.iter().filter(|path| path.extension().is_some_and(|e| e == "toml"));
        let texts: Vec<_> = files.map(|path| std::fs::read_to_string(path).expect("text")).collect();
        let (mut sound, mut wrong) = (0, 0);
        for round in 0..400 {
            let text = &texts[round % texts.len()];
            let given = text.contains("[sweep]") || text.contains("[[sweep.axis]]");
            let text = if given { text.clone() } else { swept(text, &mut draw) };
            let mut sources = Diagnostics::default();
            let series = series::read("x.toml", &text, &[], &mut sources).expect("a sweep");
            if !series.sound {
                continue;
            }
            let mistakes = compare(&series, &choices, &sources, &text);
            if mistakes == 0 { sound += 1 } else { wrong += 1 }
        }
        assert!(sound > 20 && wrong > 100, "{sound} sound, {wrong} with mistakes");
    }
}
