//! `[[job]]`: keys of its own, of models, and of workload, arrival and placement.

use super::{
    file::File,
    keys::{COPIES, Choices, EVERY},
    reader::{self, Spec},
    tree::{Data, Entry, Node, Table},
};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::{Param, Value},
    registry::About,
    sorted::SortedMap,
    units::MAX_TIME,
};
use model::section::Section;
use std::sync::Arc;
use workload::registry::{
    ArrivalEntry, BACKGROUND, BACKGROUND_EXCEPT, MIX, NOISE, NOISE_FILE, OUTSTANDING, PlacementEntry, REPLY,
    SIZE_DISTRIBUTION, SIZE_FILE, SIZE_WEIGHTS, SIZES, Takes, WorkloadEntry,
};

/// Jobs that copies may make, with those before them: some kilobytes each.
const MAX_JOBS: u64 = 1 << 14;

/// Jobs that a file may write one by one. Those behind are counted as one mistake: a few bytes of a file are not to take a kilobyte.
const MAX_WRITTEN: usize = 1 << 16;

/// A job as written, or one of its copies.
#[derive(Clone)]
pub struct Job {
    /// All its keys.
    pub section: Section,
    /// The pattern or program it runs; `None` after a mistake.
    pub workload: Option<&'static WorkloadEntry>,
    /// Its arrival process; meaningful for open-loop workloads only.
    pub arrival: Option<&'static ArrivalEntry>,
    /// How its ranks are put on terminals; `None` after a mistake.
    pub placement: Option<&'static PlacementEntry>,
    /// Payload of a message in bytes, if the file says it.
    pub message: Option<u64>,
    /// Ranks that share a terminal, if they do.
    pub sharing: Option<Sharing>,
}

/// How ranks of a job share terminals.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// Ranks of a terminal, at least 2.
    pub ranks: u32,
    /// The key that says so.
    pub key: &'static str,
}

impl Sharing {
    /// The first key of the models' that says so.
    fn of(section: &Section, choices: &Choices) -> Option<Self> {
        choices.sharing.iter().find_map(|&key| match section.get(key) {
            Some(&Value::Int(ranks @ 2..)) => Some(Self { ranks: u32::try_from(ranks).ok()?, key }),
            _ => None,
        })
    }
}

/// All jobs; there must be some if they are `needed`, with loads and sizes if the model has `time`. `keys` are those of the job before.
pub(super) fn read_jobs(
    file: &File<'_>,
    needed: bool,
    time: bool,
    keys: &mut Option<Keys>,
    diagnostics: &mut Diagnostics,
) -> Vec<Job> {
    let help = "add a [[job]] with `workload`, `message` and, for open-loop workloads, `load`";
    match file.root.get("job") {
        Some(Entry { node: Node { data: Data::List(items), .. }, key_place, .. }) => {
            if items.is_empty() {
                let diagnostic = Diagnostic::new(*key_place, "there is no job: nothing would be sent");
                diagnostics.push(diagnostic.help(help));
            }
            let mut jobs = Vec::new();
            if let Some(item) = items.get(MAX_WRITTEN) {
                let message = format!("there are {} jobs; a file has {MAX_WRITTEN} at most", items.len());
                diagnostics.push(Diagnostic::new(item.place, message).help("`copies` of a job makes many"));
            }
            for (i, item) in items.iter().take(MAX_WRITTEN).enumerate() {
                let job = read_job(i, item, time, file.choices, keys, diagnostics);
                if let Some(job) = job {
                    jobs.extend(copies(job, MAX_JOBS.saturating_sub(jobs.len() as u64), diagnostics));
                }
            }
            names_of_copies(&jobs, diagnostics);
            jobs
        }
        Some(entry) => {
            let diagnostic = Diagnostic::new(entry.key_place, "`job` must be a list of jobs");
            diagnostics.push(diagnostic.help("write [[job]] with two brackets; each starts one more job"));
            Vec::new()
        }
        None if !needed || file.is_misspelt("job") => Vec::new(),
        None => {
            let diagnostic = Diagnostic::new(file.end, "the section [[job]] is missing");
            diagnostics.push(diagnostic.label("expected before the end").help(help));
            Vec::new()
        }
    }
}

/// Keys that jobs with the same workload, arrival and placement have.
#[derive(Clone)]
pub(super) struct Keys {
    /// Names of these three.
    of: [Option<&'static str>; 3],
    params: Arc<[Param]>,
    /// Those of a job that is no copy any more.
    alone: Arc<[Param]>,
}

impl Keys {
    /// Those of such a job: the ones of the job before, if it is of the same kind.
    fn of(last: &mut Option<Self>, choices: &Choices, of: [Option<&'static About>; 3]) -> Self {
        let names = of.map(|about| about.map(|a| a.name));
        if let Some(last) = last.as_ref().filter(|last| last.of == names) {
            return last.clone();
        }
        let own = of.iter().flatten().flat_map(|about| about.params);
        let params: Arc<[Param]> = choices.job.iter().chain(own).copied().collect();
        let alone = params.iter().filter(|p| ![COPIES, EVERY].contains(&p.name)).copied().collect();
        last.insert(Self { of: names, params, alone }).clone()
    }
}

fn read_job(
    index: usize,
    item: &Node,
    time: bool,
    choices: &Choices,
    keys: &mut Option<Keys>,
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
    let open = workload.is_none_or(|w| w.takes.arrivals() || is_loaded_list(w, table)) && !is_closed(table);
    let of =
        [workload.map(|w| &w.about), arrival.filter(|_| open).map(|a| &a.about), placement.map(|p| &p.about)];
    let Keys { params, alone, .. } = Keys::of(keys, choices, of);
    let elsewhere = || {
        let mut elsewhere = choices.workload.elsewhere(workload);
        elsewhere.extend(choices.arrival.elsewhere(arrival));
        elsewhere.extend(choices.placement.elsewhere(placement));
        elsewhere
    };
    let lenient = workload.is_none() || arrival.is_none() || placement.is_none();
    let also = &["workload", "arrival", "placement"];
    let spec = Spec { title: "[[job]]", params, also, elsewhere: &elsewhere, lenient };
    let mut section = reader::read(&spec, table, home, diagnostics);
    section.params = alone;
    let before = diagnostics.len();
    if let Some(workload) = workload {
        check_taken(workload, table, &mut section, time, diagnostics);
    }
    if section.get("name") == Some(&Value::Text(String::new())) {
        section.values.0.insert("name".to_owned(), Value::Text(format!("job-{index}")));
    }
    section.complete &= diagnostics.len() == before && !lenient;
    let message = match section.get("message") {
        Some(Value::Int(bytes)) => Some(*bytes),
        _ => None,
    };
    Some(Job { sharing: Sharing::of(&section, choices), section, workload, arrival, placement, message })
}

/// The jobs that one stands for. They have no keys of copies any more: the resolved experiment tells every job, and reads back the same.
fn copies(mut job: Job, room: u64, diagnostics: &mut Diagnostics) -> Vec<Job> {
    let (count, every) = (job.section.values.0.remove(COPIES), job.section.values.0.remove(EVERY));
    let Some(Value::Int(count)) = count else {
        // A wrong number of copies was told already.
        if every.is_some() && !job.section.places.contains_key(COPIES) {
            let message = "`every` is the time between the starts of copies, and there are none";
            let help = "add `copies = 2`, or remove `every`";
            diagnostics.push(Diagnostic::new(job.section.place(EVERY), message).help(help));
            job.section.complete = false;
        }
        return vec![job];
    };
    if count > room {
        let message = format!("{count} copies make more than {MAX_JOBS} jobs, those before them included");
        let help = "ranks of one job are cheaper than jobs: give a job more ranks";
        diagnostics.push(Diagnostic::new(job.section.place(COPIES), message).help(help));
        job.section.complete = false;
        return vec![job];
    }
    let every = if let Some(Value::Time(every)) = every { every } else { 0 };
    let start = if let Some(Value::Time(start)) = job.section.get("start") { *start } else { 0 };
    let last = every.checked_mul(count - 1).and_then(|later| start.checked_add(later));
    if last.is_none_or(|last| last > MAX_TIME) {
        let message = format!("the last of {count} copies would start later than 2^62 ps, about 53 days");
        let help = "choose a shorter `every`, or fewer `copies`";
        diagnostics.push(Diagnostic::new(job.section.place(EVERY), message).help(help));
        job.section.complete = false;
        return vec![job];
    }
    let copy = |number: u64| {
        let mut copy = job.clone();
        let values = &mut copy.section.values.0;
        if let Some(Value::Text(name)) = values.get_mut("name") {
            *name = format!("{name}-{number}");
        }
        if let Some(Value::Time(start)) = values.get_mut("start") {
            *start += every * number;
        }
        copy
    };
    (0..count).map(copy).collect()
}

/// Copies have names that nobody wrote: they must not be those of other jobs, since results know jobs by name.
fn names_of_copies(jobs: &[Job], diagnostics: &mut Diagnostics) {
    let copied = |job: &Job| job.section.places.contains_key(COPIES);
    let mut known: SortedMap<&str, &Job> = SortedMap::new();
    for job in jobs {
        let Some(Value::Text(name)) = job.section.get("name") else { continue };
        let Some(other) = known.insert(name, job) else { continue };
        if copied(job) || copied(other) {
            let message = format!("two jobs are called \"{name}\", one of them a copy");
            let help =
                "copies are called by the job's name and their number: give one of the jobs another `name`";
            diagnostics.push(Diagnostic::new(job.section.place("name"), message).help(help));
        }
    }
}

/// The key that tells sizes in place of `message`, if there is one.
fn sizes(table: &Table) -> Option<&'static str> {
    [SIZES.name, SIZE_DISTRIBUTION.name, SIZE_FILE.name].into_iter().find(|key| table.get(key).is_some())
}

/// True if messages follow from replies: then nothing says when they arrive.
fn is_closed(table: &Table) -> bool {
    table.get(OUTSTANDING.name).is_some()
}

/// True if a list of messages is repeated at a load.
fn is_loaded_list(workload: &WorkloadEntry, table: &Table) -> bool {
    workload.takes == Takes::List && table.get("load").is_some()
}

/// A key that several workloads share.
#[derive(Clone, Copy)]
struct Shared {
    key: &'static str,
    /// How to mend its absence; empty: it has a default.
    add: &'static str,
    /// Who takes it.
    takes: fn(Takes) -> bool,
}

impl Shared {
    const fn new(key: &'static str, add: &'static str, takes: fn(Takes) -> bool) -> Self {
        Self { key, add, takes }
    }
}

/// Keys that several workloads share.
const SHARED: [Shared; 17] = [
    Shared::new("message", "add `message = \"1 KiB\"`: the payload of a message", |t| {
        t.arrivals() || t == Takes::Message
    }),
    Shared::new("load", "add `load = 0.5`: the offered fraction of the terminal link's bandwidth", |t| {
        t.arrivals() || t == Takes::List
    }),
    Shared::new("arrival", "", |t| t.arrivals() || t == Takes::List),
    Shared::new(SIZES.name, "", |t| t == Takes::Pattern),
    Shared::new(SIZE_WEIGHTS.name, "", |t| t == Takes::Pattern),
    Shared::new(SIZE_DISTRIBUTION.name, "", |t| t == Takes::Pattern),
    Shared::new(SIZE_FILE.name, "", |t| t == Takes::Pattern),
    Shared::new(BACKGROUND.name, "", |t| t == Takes::Pattern),
    Shared::new(BACKGROUND_EXCEPT.name, "", |t| t == Takes::Pattern),
    Shared::new(REPLY.name, "", |t| t == Takes::Pattern),
    Shared::new(OUTSTANDING.name, "", |t| t == Takes::Pattern),
    Shared::new("compute", "", |t| t == Takes::Program),
    Shared::new(NOISE.name, "", |t| t == Takes::Program),
    Shared::new(NOISE_FILE.name, "", |t| t == Takes::Program),
    Shared::new("library", "", |t| t == Takes::Program),
    Shared::new("collectives", "", |t| t == Takes::Program),
    Shared::new("combine", "", |t| t == Takes::Program),
];

/// Shared keys that a workload never takes.
pub fn refused(workload: &WorkloadEntry) -> impl Iterator<Item = &'static str> {
    let own = |key: &str| workload.about.params.iter().any(|p| p.name == key);
    SHARED.iter().filter(move |s| !(s.takes)(workload.takes) && !own(s.key)).map(|s| s.key)
}

/// Open-loop workloads need a load, patterns a message size; what a workload does not take is refused.
fn check_taken(
    workload: &WorkloadEntry,
    table: &Table,
    section: &mut Section,
    time: bool,
    diagnostics: &mut Diagnostics,
) {
    let name = workload.about.name;
    let (closed, sized) = (is_closed(table), workload.takes == Takes::Pattern && sizes(table).is_some());
    for Shared { key, add, takes } in SHARED {
        let own = || workload.about.params.iter().any(|p| p.name == key);
        let replaced = match key {
            "load" if workload.takes == Takes::List => false,
            "arrival" if workload.takes == Takes::List => !is_loaded_list(workload, table),
            "load" | "arrival" => closed,
            "message" => sized,
            _ => false,
        };
        match (takes(workload.takes) && !replaced, table.get(key).is_some()) {
            (true, false) if !add.is_empty() && time && workload.takes != Takes::List => {
                let message = format!("[[job]] lacks `{key}`, which workload \"{name}\" needs");
                diagnostics.push(Diagnostic::new(section.home, message).label("incomplete").help(add));
            }
            (false, true) if !own() => {
                let sizes_say = format!("`{}` gives its messages", sizes(table).unwrap_or_default());
                let why = match workload.takes {
                    _ if key == "message" && replaced => &sizes_say,
                    Takes::List if key == "arrival" => {
                        "its messages have times of their own, if it has no load"
                    }
                    _ if replaced => "with `outstanding` its messages follow from what it receives",
                    Takes::Arrivals | Takes::Message | Takes::List if MIX.iter().any(|p| p.name == key) => {
                        "its messages are of one kind"
                    }
                    Takes::Program => "its messages follow from the program",
                    Takes::List if !["compute", NOISE.name, NOISE_FILE.name].contains(&key) => {
                        "its messages are listed one by one"
                    }
                    Takes::Message if ["load", "arrival"].contains(&key) => {
                        "its messages follow from what it receives"
                    }
                    _ => "it is no program",
                };
                let message = format!("workload \"{name}\" takes no `{key}`: {why}");
                let help = format!("remove `{key}`");
                diagnostics.push(Diagnostic::new(section.place(key), message).help(help));
            }
            (false, false) if !own() => drop(section.values.0.remove(key)),
            _ => {}
        }
    }
}
