//! From a tree to a resolved experiment: every name looked up in its registry, every value checked and every default
//! filled in.
//!
//! It builds nothing and touches no file, so it gives the same answer everywhere.

use super::{
    buffers,
    file::{File, chosen, plain},
    jobs::{Job, Keys, read_jobs},
    keys::{Choices, ENGINE, EXPERIMENT, FAULTS, MAX_PARTITIONS, OUTPUT, PORTALS},
    network::{Links, rails_of, read_fabric},
    own::{keys_of_model, read_model, read_own},
    plot::PLOT,
    portals::read_nodes,
    sweep::SWEEP,
    tree::{Data, Table},
};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::{Unread, Value},
    time::{Ps, S},
};
use fabric::registry::{RoutingEntry, Topology};
use model::{
    ModelEntry,
    section::{Chosen, Listed, OwnSection, Section},
    setup::Until,
};
use workload::registry::Takes;

/// Virtual time after which a run `until` an event is given up, unless the file says otherwise.
const DEFAULT_LIMIT: Ps = S;

/// The same if all jobs are programs, which end by themselves: six days, near the longest time that runs can have.
const PROGRAM_LIMIT: Ps = 6 * 86_400 * S;

/// A resolved experiment. What a mistake left open is `None` or an incomplete [`Section`]; the mistake was reported.
pub struct Experiment {
    /// `[experiment]` as written.
    pub experiment: Section,
    /// What it says.
    pub general: General,
    /// `[fabric]` without the links.
    pub fabric: Option<Chosen<Topology>>,
    /// Rails of the network: links of a node, each to a plane of its own. 1 without a network, or after a mistake.
    pub rails: u64,
    /// Links by class, in the order of the topology's classes.
    pub links: Links,
    /// `[faults]`, if it is there.
    pub faults: Option<Section>,
    /// `[routing]` and the entry that it names; `None` if there is none.
    pub routing: Option<Chosen<RoutingEntry>>,
    /// One for each `[[job]]`, in the order of the file.
    pub jobs: Vec<Job>,
    /// `[model]` and the entry that it names.
    pub model: Option<Chosen<ModelEntry>>,
    /// What keys of `[model]` chose from lists, by key.
    pub choices: Vec<(&'static str, &'static dyn Listed)>,
    /// Sections that models declare, as far as they are there.
    pub own: Vec<OwnSection>,
    /// `[portals]`, if it is there: a machine for Portals programs instead of jobs.
    pub portals: Option<Section>,
    /// `[[portals.node]]`: keys of the section that some nodes have for themselves, with what they have in common with it.
    pub portals_nodes: Vec<Section>,
    /// `[engine]` without the partitions.
    pub engine: Section,
    /// The scheduler that `[engine]` asks for.
    pub scheduler: Scheduler,
    /// Number of partitions; `None` for `"auto"`.
    pub partitions: Option<u32>,
    /// `[output]`, with defaults where the file says nothing.
    pub output: Section,
    /// Keys of models other than the one that is named, which the file has.
    pub elsewhere: Vec<Unread>,
    /// Where `[sweep]` stands, if it is there: then this is no single run.
    pub series: Option<Place>,
    /// True if `[[plot]]` is there, which draws points of a sweep.
    pub plots: bool,
}

/// A scheduler, and whether the file asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// The one that the file names, or else the default; after a mistake the conservative one, which takes any number of threads.
    pub kind: SchedulerKind,
    /// True if the file names it.
    pub written: bool,
}

/// The kinds of schedulers that `[engine]` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerKind {
    /// All events in one thread, in their order.
    Sequential,
    /// Partitions side by side, as far as lookahead allows.
    Conservative,
    /// Partitions ahead of what is certain.
    Optimistic,
    /// Whichever proves the fastest on the first events of the run.
    Auto,
}

impl Scheduler {
    fn of(engine: &Section) -> Self {
        let kind = match engine.get("scheduler") {
            Some(Value::Text(name)) if name == "sequential" => SchedulerKind::Sequential,
            Some(Value::Text(name)) if name == "optimistic" => SchedulerKind::Optimistic,
            Some(Value::Text(name)) if name == "auto" => SchedulerKind::Auto,
            _ => SchedulerKind::Conservative,
        };
        Self { kind, written: engine.places.contains_key("scheduler") }
    }
}

/// Values of `[experiment]`, as far as they are sound.
#[derive(Clone, Copy, Debug, Default)]
pub struct General {
    /// Seed of every random stream.
    pub seed: u64,
    /// Time at which the run ends.
    pub duration: Option<Ps>,
    /// Time at which it is given up.
    pub limit: Option<Ps>,
    /// What is created before it does not count.
    pub warmup: Ps,
}

impl General {
    fn of(section: &Section) -> Self {
        let time = |key: &str| match section.get(key) {
            Some(Value::Time(time)) => Some(*time),
            _ => None,
        };
        let seed = match section.get("seed") {
            Some(Value::Int(seed)) => *seed,
            _ => 0,
        };
        Self { seed, duration: time("duration"), limit: time("limit"), warmup: time("warmup").unwrap_or(0) }
    }

    /// Nothing happens at or after this time.
    #[must_use]
    pub fn end(&self) -> Option<Ps> {
        self.duration.or(self.limit)
    }

    /// What ends the run; none if the file does not say.
    #[must_use]
    pub fn until(&self) -> Option<Until> {
        self.duration.map(Until::Time).or(self.limit.map(|limit| Until::WorkloadDone { limit }))
    }
}

/// Sections that changed since an experiment was read.
#[derive(Clone, Copy, Debug)]
pub enum Changed<'a> {
    /// Any of them, or nothing was read before.
    All,
    /// Only the sections of these names.
    Only(&'a [&'a str]),
}

impl Changed<'_> {
    /// True if one of these changed.
    #[must_use]
    pub fn any(self, names: &[&str]) -> bool {
        match self {
            Self::All => true,
            Self::Only(changed) => changed.iter().any(|name| names.contains(name)),
        }
    }
}

impl Experiment {
    /// One of which nothing was read.
    fn unread(home: Place) -> Self {
        let values = base::param::Values::default();
        let none = Section {
            params: [].into(),
            values,
            places: base::sorted::SortedMap::new(),
            home,
            complete: false,
        };
        Self {
            experiment: none.clone(),
            general: General::default(),
            fabric: None,
            rails: 1,
            links: Vec::new(),
            faults: None,
            routing: None,
            jobs: Vec::new(),
            model: None,
            choices: Vec::new(),
            own: Vec::new(),
            portals: None,
            portals_nodes: Vec::new(),
            scheduler: Scheduler::of(&none),
            engine: none.clone(),
            partitions: None,
            output: none,
            elsewhere: Vec::new(),
            series: None,
            plots: false,
        }
    }
}

/// Checks a tree; `end` is where missing sections are reported, the end of the file.
pub fn resolve(root: &Table, end: Place, choices: &Choices, diagnostics: &mut Diagnostics) -> Experiment {
    let mut experiment = Experiment::unread(end);
    renew(&mut experiment, Changed::All, &File { root, end, choices }, &mut None, diagnostics);
    experiment
}

/// Reads again what depends on sections that changed. No section may have come or gone. `keys` are those of the job that was read last.
pub(super) fn renew(
    of: &mut Experiment,
    changed: Changed<'_>,
    file: &File<'_>,
    keys: &mut Option<Keys>,
    diagnostics: &mut Diagnostics,
) {
    let File { root, end, choices } = *file;
    // The model decides what the other sections must have.
    let changed = if changed.any(&["model"]) { Changed::All } else { changed };
    file.refuse_unknown(diagnostics);
    let empty = Table::default();
    let (experiment, e_home) = file.part("experiment", true, diagnostics).unwrap_or((&empty, end));
    let model = file.part("model", true, diagnostics);
    let named = model.and_then(|(table, _)| choices.model_of(table));
    let time = named.is_none_or(|m| m.needs.time);
    let fabric = file.part("fabric", named.is_none_or(|m| m.needs.fabric), diagnostics);
    let routing = file.part("routing", named.is_none_or(|m| m.needs.routing), diagnostics);
    let faults = file.part("faults", false, diagnostics);
    let portals = file.part("portals", false, diagnostics);
    let engine = file.part("engine", false, diagnostics).unwrap_or((&empty, end));
    let output = file.part("output", false, diagnostics).unwrap_or((&empty, end));
    let own = choices.sections.iter().any(|s| changed.any(&[s.entry.about.name]));
    // Buffers of links follow from sections of models, so that links are read with them.
    let links = own || changed.any(&["fabric"]);
    if links {
        let fabric = fabric.map(|(table, home)| read_fabric(table, home, time, choices, diagnostics));
        (of.fabric, of.links) = fabric.unwrap_or((None, Vec::new()));
        of.rails = rails_of(of.fabric.as_ref());
    }
    let mut times = changed.any(&["experiment"]);
    let read_times = |of: &mut Experiment, diagnostics: &mut Diagnostics| {
        let needed = time && root.get("experiment").is_some();
        of.experiment = read_experiment(experiment, e_home, needed, diagnostics);
    };
    if times {
        read_times(of, diagnostics);
    }
    if changed.any(&["job", "portals"]) {
        let before = are_programs(&of.jobs);
        of.jobs = read_jobs(file, portals.is_none(), time, keys, diagnostics);
        if !times && before != are_programs(&of.jobs) {
            times = true;
            read_times(of, diagnostics);
        }
    }
    if times {
        give_programs_time(&mut of.experiment, &of.jobs);
        of.general = General::of(&of.experiment);
    }
    if changed.any(&["portals"]) {
        read_portals(of, portals, diagnostics);
    }
    if changed.any(&["model"]) {
        let model = model.and_then(|(table, home)| read_model(table, home, choices, diagnostics)).unzip();
        (of.model, of.choices) = (model.0, model.1.unwrap_or_default());
    }
    if changed.any(&["model", "job"]) {
        of.elsewhere = elsewhere(root, named, choices);
    }
    if own {
        of.own = read_own(file, named, diagnostics);
    }
    if links {
        buffers::fill(&mut of.links, of.model.as_ref(), &of.own, diagnostics);
    }
    read_rest(of, changed, &Rest { faults, routing, engine, output }, choices, diagnostics);
    of.series = root.get(SWEEP.name).map(|entry| entry.key_place);
    of.plots = root.get(PLOT.name).is_some();
}

/// Sections on which no other one depends.
struct Rest<'a> {
    faults: Option<(&'a Table, Place)>,
    routing: Option<(&'a Table, Place)>,
    engine: (&'a Table, Place),
    output: (&'a Table, Place),
}

fn read_rest(
    of: &mut Experiment,
    changed: Changed<'_>,
    rest: &Rest<'_>,
    choices: &Choices,
    diagnostics: &mut Diagnostics,
) {
    let (engine, home) = rest.engine;
    if changed.any(&["engine"]) {
        of.engine = plain(&ENGINE, "[engine]", &["partitions"], engine, home, diagnostics);
        of.scheduler = Scheduler::of(&of.engine);
    }
    if changed.any(&["faults"]) {
        of.faults =
            rest.faults.map(|(table, home)| plain(&FAULTS, "[faults]", &[], table, home, diagnostics));
    }
    if changed.any(&["routing"]) {
        let read = |(table, home)| chosen(&choices.routing, &[], table, home, &[], diagnostics);
        of.routing = rest.routing.and_then(read);
    }
    if changed.any(&["engine"]) {
        of.partitions = read_partitions(engine, diagnostics);
    }
    if changed.any(&["output"]) {
        of.output = plain(&OUTPUT, "[output]", &[], rest.output.0, rest.output.1, diagnostics);
    }
}

fn read_portals(of: &mut Experiment, portals: Option<(&Table, Place)>, diagnostics: &mut Diagnostics) {
    of.portals =
        portals.map(|(table, home)| plain(&PORTALS, "[portals]", &["node"], table, home, diagnostics));
    of.portals_nodes = match (&of.portals, portals) {
        (Some(section), Some((table, _))) if section.complete => read_nodes(table, diagnostics),
        _ => Vec::new(),
    };
}

/// Keys of other models that the file has, in `[model]` and in jobs.
fn elsewhere(root: &Table, named: Option<&ModelEntry>, choices: &Choices) -> Vec<Unread> {
    let Some(named) = named else { return Vec::new() };
    let tables = |section: &str| match root.get(section).map(|entry| &entry.node.data) {
        Some(Data::Table(table)) => vec![table],
        Some(Data::List(items)) => items.iter().filter_map(|item| item.data.table()).collect(),
        _ => Vec::new(),
    };
    let of_jobs = |model: &ModelEntry| model.job_keys.params.iter().map(|p| p.name).collect::<Vec<_>>();
    let mut all = Vec::new();
    // Few of the keys that are there may be another's.
    let foreign = |section: &str, own: &[&str]| -> Vec<&str> {
        let keys = tables(section).into_iter().flat_map(|table| &table.entries).map(|e| e.key.as_str());
        keys.filter(|key| *key != choices.model.key && !own.contains(key)).collect()
    };
    let present = [
        ("model", foreign("model", &keys_of_model(named, choices))),
        ("job", foreign("job", &of_jobs(named))),
    ];
    for model in choices.model.entries.iter().filter(|m| m.about.name != named.about.name) {
        for (section, present) in present.iter().filter(|(_, present)| !present.is_empty()) {
            let theirs = if *section == "job" { of_jobs(model) } else { keys_of_model(model, choices) };
            let known =
                |key: &&'static str| all.iter().any(|u: &Unread| (u.section, u.key) == (*section, *key));
            let keys = theirs.into_iter().filter(|key| present.contains(key));
            let found: Vec<&'static str> = keys.filter(|key| !known(key)).collect();
            if !found.is_empty() {
                let own = named.about.name;
                let why = match *section {
                    "job" => format!(
                        "jobs of model \"{own}\" have no such key, those of \"{}\" do",
                        model.about.name
                    ),
                    _ => format!("model \"{own}\" has no such key"),
                };
                all.extend(Unread::all(section, &found, why));
            }
        }
    }
    all
}

/// True if all jobs are programs.
fn are_programs(jobs: &[Job]) -> bool {
    jobs.iter().all(|j| j.workload.is_some_and(|w| w.takes == Takes::Program))
}

/// Programs end by themselves: a limit that the file does not set is a long one.
fn give_programs_time(section: &mut Section, jobs: &[Job]) {
    if are_programs(jobs) && section.values.0.contains_key("limit") && !section.places.contains_key("limit") {
        section.values.0.insert("limit".to_owned(), Value::Time(PROGRAM_LIMIT));
    }
}

impl Choices {
    /// The model that `[model]` names; a wrong name is reported elsewhere.
    fn model_of(&self, model: &Table) -> Option<&'static ModelEntry> {
        self.model.named(model.get(self.model.key)?.node.data.text()?)
    }
}

fn read_experiment(table: &Table, home: Place, present: bool, diagnostics: &mut Diagnostics) -> Section {
    let mut section = plain(&EXPERIMENT, "[experiment]", &[], table, home, diagnostics);
    let before = diagnostics.len();
    let time = |key: &str| match section.get(key) {
        Some(Value::Time(t)) => Some(*t),
        _ => None,
    };
    let given = |key: &str| table.get(key).is_some();
    match (given("duration"), given("until")) {
        (true, true) => {
            let diagnostic =
                Diagnostic::new(section.place("until"), "`duration` and `until` exclude each other");
            diagnostics.push(diagnostic.help("keep one; with `until`, `limit` bounds the run"));
        }
        (false, false) if present => {
            let diagnostic =
                Diagnostic::new(home, "[experiment] does not say when the run ends").label("incomplete");
            diagnostics.push(diagnostic.help("add `duration = \"1 ms\"` or `until = \"workload-done\"`"));
        }
        _ => {}
    }
    if given("limit") && !given("until") {
        let diagnostic = Diagnostic::new(section.place("limit"), "`limit` bounds a run that ends by `until`");
        diagnostics.push(diagnostic.help("without `until`, `duration` ends the run"));
    }
    for key in ["duration", "limit"] {
        if time(key) == Some(0) {
            diagnostics.push(Diagnostic::new(section.place(key), format!("`{key}` must be above zero")));
        }
    }
    if let (Some(warmup), Some(end)) = (time("warmup"), time("duration").or(time("limit")))
        && end > 0
        && warmup >= end
    {
        let message = "`warmup` leaves nothing to measure: it must be shorter than the run";
        diagnostics.push(Diagnostic::new(section.place("warmup"), message));
    }
    if given("until") && !given("limit") {
        section.values.0.insert("limit".to_owned(), Value::Time(DEFAULT_LIMIT));
    }
    section.complete &= diagnostics.len() == before;
    section
}

fn read_partitions(table: &Table, diagnostics: &mut Diagnostics) -> Option<u32> {
    let entry = table.get("partitions")?;
    match &entry.node.data {
        Data::Text(text) if text == "auto" => None,
        Data::Integer(Some(n)) if (1..=i128::from(MAX_PARTITIONS)).contains(n) => u32::try_from(*n).ok(),
        _ => {
            let message = format!("`partitions` must be \"auto\" or an integer from 1 to {MAX_PARTITIONS}");
            diagnostics.push(Diagnostic::new(entry.node.place, message));
            None
        }
    }
}
