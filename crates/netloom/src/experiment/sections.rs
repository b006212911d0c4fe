//! From a tree to a resolved experiment: every name looked up in its registry, every value checked and every default
//! filled in.
//!
//! It builds nothing and touches no file, so it gives the same answer everywhere.

use super::{
    keys::{
        Choices, ENERGY, ENGINE, EXPERIMENT, FABRIC, FAULTS, JOB, LINK, MAX_PARTITIONS, OUTPUT, PORTALS,
        RESILIENCE, ROOT, SECTIONS,
    },
    reader::{self, Choice, Chosen, Section, Spec},
    tree::{Data, Entry, Node, Table},
};
use crate::models::{ModelEntry, ModelKind};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::{Param, Value},
    registry::{About, nearest},
    time::{Ps, S},
};
use fabric::registry::{RoutingEntry, Topology};
use packet::hybrid::{self, direct::DirectorEntry, predict::PredictorEntry};
use portals::nic;
use workload::registry::{ArrivalEntry, PlacementEntry, Takes, WorkloadEntry};

/// Virtual time after which a run `until` an event is given up, unless the file says otherwise.
const DEFAULT_LIMIT: Ps = S;

/// The same if all jobs are programs, which end by themselves: six days, near the longest time that runs can have.
const PROGRAM_LIMIT: Ps = 6 * 86_400 * S;

/// A job as written.
pub struct Job {
    /// All its keys.
    pub section: Section,
    /// Its pattern.
    pub workload: Option<&'static WorkloadEntry>,
    /// Its arrival process; meaningful for open-loop workloads only.
    pub arrival: Option<&'static ArrivalEntry>,
    /// Its placement.
    pub placement: Option<&'static PlacementEntry>,
}

/// `[hybrid]` as written.
pub struct Hybrid {
    /// All its keys.
    pub section: Section,
    /// Its predictor.
    pub predictor: Option<&'static PredictorEntry>,
    /// Its director.
    pub director: Option<&'static DirectorEntry>,
}

/// A resolved experiment. What a mistake left open is `None` or an incomplete [`Section`]; the mistake was told.
pub struct Experiment {
    /// `[experiment]`.
    pub experiment: Section,
    /// `[fabric]` without the links.
    pub fabric: Option<Chosen<Topology>>,
    /// Links by class, in the order of the topology's classes.
    pub links: Vec<(&'static str, Section)>,
    /// `[faults]`, if it is there.
    pub faults: Option<Section>,
    /// `[routing]`.
    pub routing: Option<Chosen<RoutingEntry>>,
    /// `[[job]]`.
    pub jobs: Vec<Job>,
    /// `[model]`.
    pub model: Option<Chosen<ModelEntry>>,
    /// `[hybrid]`, if it is there.
    pub hybrid: Option<Hybrid>,
    /// `[resilience]`, if it is there.
    pub resilience: Option<Section>,
    /// `[energy]`, if it is there.
    pub energy: Option<Section>,
    /// `[portals]`, if it is there: a machine for Portals programs instead of jobs.
    pub portals: Option<Section>,
    /// `[[portals.node]]`: keys of the section that some nodes have for themselves, with what they have in common with it.
    pub portals_nodes: Vec<Section>,
    /// `[engine]` without the partitions.
    pub engine: Section,
    /// Number of partitions; `None` for `"auto"`.
    pub partitions: Option<u32>,
    /// `[output]`.
    pub output: Section,
}

/// The network of an experiment and nothing else. What a mistake left open is `None` or an incomplete [`Section`].
pub struct FabricOnly {
    /// `[fabric]` without the links.
    pub fabric: Option<Chosen<Topology>>,
    /// `[faults]`, if it is there.
    pub faults: Option<Section>,
    /// `[routing]`, if it is there.
    pub routing: Option<Chosen<RoutingEntry>>,
    /// Seed of the run.
    pub seed: u64,
}

/// Checks `[fabric]` (its links may be missing), `[faults]` and the seed.
pub fn resolve_fabric(
    root: &Table,
    end: Place,
    choices: &Choices<'_>,
    diagnostics: &mut Diagnostics,
) -> FabricOnly {
    let fabric = part(root, "fabric", true, end, diagnostics);
    let faults = part(root, "faults", false, end, diagnostics);
    let routing = part(root, "routing", false, end, diagnostics);
    let seed = match root.get("experiment").map(|e| &e.node.data) {
        Some(Data::Table(table)) => {
            let seed = EXPERIMENT.params.iter().filter(|p| p.name == "seed").copied().collect();
            let spec =
                Spec { title: "[experiment]", params: seed, also: &[], elsewhere: Vec::new(), lenient: true };
            reader::read(&spec, table, end, diagnostics)
        }
        _ => plain(&EXPERIMENT, "[experiment]", &[], &Table::default(), end, diagnostics),
    };
    FabricOnly {
        fabric: fabric.and_then(|(table, home)| {
            chosen(&choices.topology, FABRIC.params, table, home, &["link"], diagnostics)
        }),
        faults: faults.map(|(table, home)| plain(&FAULTS, "[faults]", &[], table, home, diagnostics)),
        routing: routing
            .and_then(|(table, home)| chosen(&choices.routing, &[], table, home, &[], diagnostics)),
        seed: match seed.get("seed") {
            Some(Value::Int(seed)) => *seed,
            _ => 0,
        },
    }
}

/// Checks a tree; `end` is where missing sections are told, the end of the file.
pub fn resolve(root: &Table, end: Place, choices: &Choices<'_>, diagnostics: &mut Diagnostics) -> Experiment {
    for entry in &root.entries {
        if !ROOT.contains(&entry.key.as_str()) {
            diagnostics.push(unknown_section(entry));
        }
    }
    let empty = Table::default();
    let mut part = |name: &str, needed: bool| part(root, name, needed, end, diagnostics);
    let (experiment, e_home) = part("experiment", true).unwrap_or((&empty, end));
    let model = part("model", true);
    let needs = model.and_then(|(table, _)| choices.model_of(table)).map(|m| m.needs);
    let time = needs.is_none_or(|n| n.time);
    let fabric = part("fabric", needs.is_none_or(|n| n.fabric));
    let routing = part("routing", needs.is_none_or(|n| n.routing));
    let faults = part("faults", false);
    let kind = model.and_then(|(table, _)| choices.model_of(table)).map(|m| m.kind);
    let hybrid = part("hybrid", false);
    let hybrid = hybrid.or((kind == Some(ModelKind::Hybrid)).then_some((&empty, end)));
    let resilience = part("resilience", false);
    let energy = part("energy", false);
    let portals = part("portals", false);
    let (engine, g_home) = part("engine", false).unwrap_or((&empty, end));
    let (output, o_home) = part("output", false).unwrap_or((&empty, end));
    let present = root.get("experiment").is_some();
    let fabric = fabric.map(|(table, home)| read_fabric(table, home, (time, choices), diagnostics));
    let (fabric, links) = fabric.unwrap_or((None, Vec::new()));
    let mut experiment = Experiment {
        experiment: read_experiment(experiment, e_home, present && time, diagnostics),
        fabric,
        links,
        faults: faults.map(|(table, home)| plain(&FAULTS, "[faults]", &[], table, home, diagnostics)),
        routing: routing
            .and_then(|(table, home)| chosen(&choices.routing, &[], table, home, &[], diagnostics)),
        jobs: read_jobs(root, (end, portals.is_none()), (time, choices), diagnostics),
        resilience: resilience
            .map(|(table, home)| plain(&RESILIENCE, "[resilience]", &[], table, home, diagnostics)),
        energy: energy.map(|(table, home)| plain(&ENERGY, "[energy]", &[], table, home, diagnostics)),
        portals: portals
            .map(|(table, home)| plain(&PORTALS, "[portals]", &["node"], table, home, diagnostics)),
        portals_nodes: Vec::new(),
        model: model.and_then(|(table, home)| read_model(table, home, choices, diagnostics)),
        hybrid: hybrid.map(|(table, home)| read_hybrid(table, home, choices, diagnostics)),
        partitions: read_partitions(engine, diagnostics),
        engine: plain(&ENGINE, "[engine]", &["partitions"], engine, g_home, diagnostics),
        output: plain(&OUTPUT, "[output]", &[], output, o_home, diagnostics),
    };
    if let (Some(section), Some((table, _))) = (&experiment.portals, portals)
        && section.complete
    {
        experiment.portals_nodes = read_nodes(table, diagnostics);
    }
    let programs = experiment.jobs.iter().all(|j| j.workload.is_some_and(|w| w.takes == Takes::Program));
    let section = &mut experiment.experiment;
    if programs && section.values.0.contains_key("limit") && !section.places.contains_key("limit") {
        section.values.0.insert("limit".to_owned(), Value::Time(PROGRAM_LIMIT));
    }
    experiment
}

impl Choices<'_> {
    /// The model that `[model]` names; a wrong name is told elsewhere.
    fn model_of(&self, model: &Table) -> Option<&'static ModelEntry> {
        self.model.named(model.get(self.model.key)?.node.data.text()?)
    }
}

/// `[model]`. Keys of other models may be there as well and are left alone: an experiment changes its model by one word.
fn read_model(
    table: &Table,
    home: Place,
    choices: &Choices<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Chosen<ModelEntry>> {
    let keys = |entry: &'static ModelEntry| entry.about.params.iter().map(|p| p.name);
    let own: Vec<&str> = choices.model_of(table).into_iter().flat_map(keys).collect();
    let others = choices.model.entries.iter().copied().flat_map(keys).filter(|key| !own.contains(key));
    let also: Vec<&str> = others.collect();
    chosen(&choices.model, &[], table, home, &also, diagnostics)
}

/// `[hybrid]`: its own keys, those of the predictor and those of the director.
fn read_hybrid(table: &Table, home: Place, choices: &Choices<'_>, diagnostics: &mut Diagnostics) -> Hybrid {
    let predictor = choices.predictor.choose(table, home, diagnostics);
    let director = choices.director.choose(table, home, diagnostics);
    let mut params: Vec<Param> = hybrid::ABOUT.params.to_vec();
    params.extend(predictor.into_iter().flat_map(|p| p.about.params));
    params.extend(director.into_iter().flat_map(|d| d.about.params));
    let mut elsewhere = choices.predictor.elsewhere(predictor);
    elsewhere.extend(choices.director.elsewhere(director));
    let lenient = predictor.is_none() || director.is_none();
    let also = &["predictor", "director"];
    let spec = Spec { title: "[hybrid]", params, also, elsewhere, lenient };
    let mut section = reader::read(&spec, table, home, diagnostics);
    section.complete &= !lenient;
    Hybrid { section, predictor, director }
}

/// `[[portals.node]]`: each with what it leaves to `[portals]`.
fn read_nodes(portals: &Table, diagnostics: &mut Diagnostics) -> Vec<Section> {
    let Some(Entry { node: Node { data, place }, .. }) = portals.get("node") else { return Vec::new() };
    let Data::List(items) = data else {
        let diagnostic = Diagnostic::new(*place, "`node` must be a list of tables");
        diagnostics.push(diagnostic.help("write [[portals.node]] with two brackets"));
        return Vec::new();
    };
    let own = |key: &str| !nic::GLOBAL.contains(&key);
    let mut params: Vec<Param> = PORTALS.params.iter().filter(|p| own(p.name)).copied().collect();
    params.push(nic::NODES);
    let global = nic::GLOBAL.iter().map(|key| (*key, "[portals]".to_owned()));
    let spec =
        Spec { title: "[[portals.node]]", params, also: &[], elsewhere: global.collect(), lenient: false };
    let mut sections = Vec::new();
    for item in items {
        let Data::Table(table) = &item.data else {
            diagnostics.push(Diagnostic::new(item.place, "a node must be a table"));
            continue;
        };
        let common = portals.entries.iter().filter(|e| {
            PORTALS.params.iter().any(|p| p.name == e.key) && own(&e.key) && table.get(&e.key).is_none()
        });
        let mut table = table.clone();
        table.entries.extend(common.cloned());
        sections.push(reader::read(&spec, &table, item.place, diagnostics));
    }
    sections
}

/// The section that a wrong name most likely means.
fn nearest_section(name: &str) -> Option<&'static str> {
    nearest(name, ROOT.iter().copied()).first().copied().filter(|near| *near != name)
}

fn unknown_section(entry: &Entry) -> Diagnostic {
    let message = format!("an experiment has no section `{}`", entry.key);
    let mut diagnostic = Diagnostic::new(entry.key_place, message).label("unknown section");
    if let Some(near) = nearest_section(&entry.key) {
        diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
    } else if let Some(about) = SECTIONS.iter().find(|a| a.params.iter().any(|p| p.name == entry.key)) {
        diagnostic = diagnostic.help(format!("`{}` belongs to [{}]", entry.key, about.name));
    }
    diagnostic.help(format!("its sections are {}", ROOT.join(", ")))
}

/// A section's table and place; one that is needed and missing, or no table, is told.
fn part<'t>(
    root: &'t Table,
    name: &str,
    needed: bool,
    end: Place,
    diagnostics: &mut Diagnostics,
) -> Option<(&'t Table, Place)> {
    match root.get(name) {
        Some(Entry { node: Node { data: Data::Table(table), .. }, key_place, .. }) => {
            Some((table, *key_place))
        }
        Some(entry) => {
            let message = format!("`{name}` must be a section, not {}", entry.node.data.noun());
            let help = format!("write it as [{name}] with its keys below");
            diagnostics.push(Diagnostic::new(entry.key_place, message).help(help));
            None
        }
        // A misspelt section was told already.
        None if root.entries.iter().any(|e| nearest_section(&e.key) == Some(name)) => None,
        None if needed => {
            let message = format!("the section [{name}] is missing");
            let about = SECTIONS.iter().find(|a| a.name == name).map_or("", |a| a.summary);
            diagnostics.push(
                Diagnostic::new(end, message)
                    .label("expected before the end")
                    .help(format!("[{name}] holds: {about}")),
            );
            None
        }
        None => None,
    }
}

fn plain(
    about: &About,
    title: &str,
    also: &[&str],
    table: &Table,
    home: Place,
    diagnostics: &mut Diagnostics,
) -> Section {
    let params = about.params.to_vec();
    let spec = Spec { title, params, also, elsewhere: Vec::new(), lenient: false };
    reader::read(&spec, table, home, diagnostics)
}

/// A section whose keys belong to the strategy that one of them names, but for `common` ones.
fn chosen<E: base::registry::Registered>(
    choice: &Choice<'_, E>,
    common: &[Param],
    table: &Table,
    home: Place,
    also: &[&str],
    diagnostics: &mut Diagnostics,
) -> Option<Chosen<E>> {
    let entry = choice.choose(table, home, diagnostics)?;
    let keys: Vec<&str> = [choice.key].into_iter().chain(also.iter().copied()).collect();
    let spec = Spec {
        title: choice.title,
        params: entry.about().params.iter().chain(common).copied().collect(),
        also: &keys,
        elsewhere: choice.elsewhere(Some(entry)),
        lenient: false,
    };
    Some(Chosen { entry, section: reader::read(&spec, table, home, diagnostics) })
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

type Links = Vec<(&'static str, Section)>;

fn read_fabric(
    table: &Table,
    home: Place,
    (time, choices): (bool, &Choices<'_>),
    diagnostics: &mut Diagnostics,
) -> (Option<Chosen<Topology>>, Links) {
    let chosen = chosen(&choices.topology, FABRIC.params, table, home, &["link"], diagnostics);
    let Some(topology) = &chosen else { return (chosen, Vec::new()) };
    let classes = topology.entry.classes;
    let Some(link) = table.get("link") else {
        if !time || topology.entry.required == 0 {
            return (chosen, Vec::new());
        }
        let message = "[fabric] lacks `link`: the parameters of its links";
        let help = format!("add `link.CLASS = {{ .. }}` for each class: {}", classes.join(", "));
        diagnostics.push(Diagnostic::new(home, message).label("incomplete").help(help));
        return (chosen, Vec::new());
    };
    let Data::Table(given) = &link.node.data else {
        let message = format!("`link` must be a table, not {}", link.node.data.noun());
        let help = format!("write `link.CLASS = {{ .. }}` for each class: {}", classes.join(", "));
        diagnostics.push(Diagnostic::new(link.node.place, message).help(help));
        return (chosen, Vec::new());
    };
    let name = topology.entry.about.name;
    for entry in given.entries.iter().filter(|e| !classes.contains(&e.key.as_str())) {
        let message = format!("topology \"{name}\" has no link class `{}`", entry.key);
        let mut diagnostic = Diagnostic::new(entry.key_place, message).label("unknown class");
        if let Some(near) = nearest(&entry.key, classes.iter().copied()).first() {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        diagnostics.push(diagnostic.help(format!("its classes are {}", classes.join(", "))));
    }
    let link_home = link.key_place;
    let meant = |class: &str| {
        let unknown = given.entries.iter().filter(|e| !classes.contains(&e.key.as_str()));
        unknown
            .flat_map(|e| nearest(&e.key, classes.iter().copied()).first().copied())
            .any(|near| near == class)
    };
    let required = topology.entry.required;
    let mut links: Links = Vec::new();
    for (index, class) in classes.iter().enumerate() {
        let absent = given.get(class).is_none();
        if absent && (meant(class) || !time) {
            continue;
        }
        if absent && index >= required {
            // Like the last class that must be there.
            links.extend(
                required
                    .checked_sub(1)
                    .and_then(|last| links.get(last))
                    .cloned()
                    .map(|(_, section)| (*class, section)),
            );
        } else {
            links.extend(read_link(class, given, link_home, diagnostics));
        }
    }
    (chosen, links)
}

fn read_link(
    class: &'static str,
    given: &Table,
    link_home: Place,
    diagnostics: &mut Diagnostics,
) -> Option<(&'static str, Section)> {
    let title = format!("link.{class}");
    let Some(entry) = given.get(class) else {
        let message = format!("[fabric] lacks `{title}`");
        let keys: Vec<&str> = LINK.params.iter().map(|p| p.name).collect();
        let help = format!("every link class of the topology needs {}", keys.join(", "));
        diagnostics.push(Diagnostic::new(link_home, message).label("incomplete").help(help));
        return None;
    };
    let Data::Table(table) = &entry.node.data else {
        let message = format!("`{title}` must be a table, not {}", entry.node.data.noun());
        diagnostics.push(Diagnostic::new(entry.node.place, message));
        return None;
    };
    let mut section = plain(&LINK, &title, &[], table, entry.key_place, diagnostics);
    let zero = |key: &str, zero: Value| section.get(key) == Some(&zero);
    let mut refuse = |key: &str, message: &str, help: &str| {
        diagnostics.push(Diagnostic::new(section.place(key), message).help(help));
    };
    let mut complete = section.complete;
    if zero("credit_delay", Value::Time(0)) || zero("credit_delay", Value::Time(1)) {
        refuse("credit_delay", "`credit_delay` must be at least 2 ps", "a credit takes time to travel back");
        complete = false;
    }
    if zero("vc_buffer", Value::Int(0)) {
        refuse(
            "vc_buffer",
            "`vc_buffer` must hold something",
            "give every virtual channel at least one chunk",
        );
        complete = false;
    }
    section.complete = complete;
    Some((class, section))
}

fn read_jobs(
    root: &Table,
    (end, needed): (Place, bool),
    (time, choices): (bool, &Choices<'_>),
    diagnostics: &mut Diagnostics,
) -> Vec<Job> {
    let help = "add a [[job]] with `workload`, `message` and, for open-loop workloads, `load`";
    match root.get("job") {
        Some(Entry { node: Node { data: Data::List(items), .. }, key_place, .. }) => {
            if items.is_empty() {
                let diagnostic = Diagnostic::new(*key_place, "there is no job: nothing would be sent");
                diagnostics.push(diagnostic.help(help));
            }
            items
                .iter()
                .enumerate()
                .filter_map(|(i, item)| read_job(i, item, (time, choices), diagnostics))
                .collect()
        }
        Some(entry) => {
            let diagnostic = Diagnostic::new(entry.key_place, "`job` must be a list of jobs");
            diagnostics.push(diagnostic.help("write [[job]] with two brackets; each starts one more job"));
            Vec::new()
        }
        None if !needed || root.entries.iter().any(|e| nearest_section(&e.key) == Some("job")) => Vec::new(),
        None => {
            let diagnostic = Diagnostic::new(end, "the section [[job]] is missing");
            diagnostics.push(diagnostic.label("expected before the end").help(help));
            Vec::new()
        }
    }
}

fn read_job(
    index: usize,
    item: &Node,
    (time, choices): (bool, &Choices<'_>),
    diagnostics: &mut Diagnostics,
) -> Option<Job> {
    let Data::Table(table) = &item.data else {
        let message = format!("a job must be a table, not {}", item.data.noun());
        diagnostics.push(Diagnostic::new(item.place, message));
        return None;
    };
    let home = item.place;
    let workload = choices.workload.choose(table, home, diagnostics);
    let arrival = choices.arrival.choose(table, home, diagnostics);
    let placement = choices.placement.choose(table, home, diagnostics);
    let open = workload.is_none_or(|w| w.takes == Takes::Arrivals);
    let mut params: Vec<Param> = JOB.params.to_vec();
    params.extend(workload.into_iter().flat_map(|w| w.about.params));
    params.extend(arrival.filter(|_| open).into_iter().flat_map(|a| a.about.params));
    params.extend(placement.into_iter().flat_map(|p| p.about.params));
    let mut elsewhere = choices.workload.elsewhere(workload);
    elsewhere.extend(choices.arrival.elsewhere(arrival));
    elsewhere.extend(choices.placement.elsewhere(placement));
    let lenient = workload.is_none() || arrival.is_none() || placement.is_none();
    let also = &["workload", "arrival", "placement"];
    let spec = Spec { title: "[[job]]", params, also, elsewhere, lenient };
    let mut section = reader::read(&spec, table, home, diagnostics);
    let before = diagnostics.len();
    if let Some(workload) = workload {
        check_taken(workload, table, &mut section, time, diagnostics);
    }
    if section.get("name") == Some(&Value::Text(String::new())) {
        section.values.0.insert("name".to_owned(), Value::Text(format!("job-{index}")));
    }
    section.complete &= diagnostics.len() == before && !lenient;
    Some(Job { section, workload, arrival, placement })
}

/// A key, how to mend its absence (empty: it has a default), and who takes it.
type Shared = (&'static str, &'static str, fn(Takes) -> bool);

/// Keys that several workloads share, what they are, and who takes them.
const SHARED: [Shared; 7] = [
    ("message", "add `message = \"1 KiB\"`: the payload of a message", |t| {
        matches!(t, Takes::Arrivals | Takes::Message)
    }),
    ("load", "add `load = 0.5`: the offered fraction of the terminal link's bandwidth", |t| {
        t == Takes::Arrivals
    }),
    ("arrival", "", |t| t == Takes::Arrivals),
    ("compute", "", |t| t == Takes::Program),
    ("library", "", |t| t == Takes::Program),
    ("collectives", "", |t| t == Takes::Program),
    ("combine", "", |t| t == Takes::Program),
];

/// Open-loop workloads need a load, patterns a message size; what a workload does not take is refused.
fn check_taken(
    workload: &WorkloadEntry,
    table: &Table,
    section: &mut Section,
    time: bool,
    diagnostics: &mut Diagnostics,
) {
    let name = workload.about.name;
    for (key, add, takes) in SHARED {
        let own = workload.about.params.iter().any(|p| p.name == key);
        match (takes(workload.takes), table.get(key).is_some()) {
            (true, false) if !add.is_empty() && time => {
                let message = format!("[[job]] lacks `{key}`, which workload \"{name}\" needs");
                diagnostics.push(Diagnostic::new(section.home, message).label("incomplete").help(add));
            }
            (false, true) if !own => {
                let why = match workload.takes {
                    Takes::Program => "its messages follow from the program",
                    Takes::Nothing if key != "compute" => "its messages are told one by one",
                    Takes::Message if ["load", "arrival"].contains(&key) => {
                        "its messages follow from what it receives"
                    }
                    _ => "it is no program",
                };
                let message = format!("workload \"{name}\" takes no `{key}`: {why}");
                let help = format!("remove `{key}`");
                diagnostics.push(Diagnostic::new(section.place(key), message).help(help));
            }
            (false, false) if !own => drop(section.values.0.remove(key)),
            _ => {}
        }
    }
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
