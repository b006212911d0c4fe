//! Scenarios of another simulator as experiments, and how far the times of model `flow` are off.
//!
//! A scenario (see [`flow::scenarios`]) becomes a directory with `platform.json`, `pairs.txt` and an experiment for every set of rules
//! that has completion times. They are run as any experiment is.

use crate::{
    error::{Error, ErrorKind},
    execute::execute,
    input::Input,
    options::RunOptions,
    prepare::prepare,
    registry::Registry,
    watcher::Watcher,
};
use base::sorted::SortedMap;
use fabric::platform::Event;
use flow::{
    scenarios::{self, Scenario},
    sharing::Policy,
};
use results::table::{Column, Table};
use serde_json::{Value as Json, json};
use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// Reads a file of scenarios.
pub use flow::scenarios::read;

/// Relative difference that is allowed where acknowledgements take no bandwidth, and where they do: the reference itself works with a precision of 1e-5
/// of a link's bandwidth, which shows there.
const TOLERANCES: (f64, f64) = (1e-9, 5e-4);

/// Starts are rounded to picoseconds.
const ROUNDING_S: f64 = 0.5e-12;

/// One experiment's outcome.
pub struct Line {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of its rules.
    pub rules: String,
    /// Number of flows that were compared.
    pub flows: usize,
    /// Greatest relative difference, and the flow that has it.
    pub worst: (f64, usize),
    /// Relative difference that is allowed.
    pub tolerance: f64,
    /// No flow is beyond it.
    pub within: bool,
}

/// What is done with scenarios.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Only these rules.
    pub rules: Option<String>,
    /// Write the experiments and run nothing.
    pub no_run: bool,
}

/// Writes scenarios as experiments into a directory and runs them.
///
/// # Errors
/// If experiments cannot be written, or one of them fails.
pub fn run_all(
    all: &[Scenario],
    directory: &Path,
    wanted: &Wanted,
    watcher: &dyn Watcher,
) -> Result<Vec<Line>, Error> {
    results::claim::check_name(directory)?;
    let mut lines = Vec::new();
    for scenario in all {
        let written = write(scenario, directory)?;
        for (rules, path) in &written.experiments {
            if wanted.rules.as_ref().is_some_and(|r| r != rules) {
                continue;
            }
            if let (false, Some((_, times))) =
                (wanted.no_run, scenario.completion.iter().find(|(name, _)| name == rules))
            {
                lines.push(run(scenario, &written, rules, path, times, watcher)?);
            }
        }
    }
    Ok(lines)
}

/// A scenario as experiment files.
struct Written {
    /// Rules and file of each experiment.
    experiments: Vec<(String, PathBuf)>,
    /// Source terminal of each flow, and its number there.
    place: Vec<(u32, u32)>,
}

fn save(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text)
        .map_err(|e| Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display())))
}

/// Hosts and routes of a scenario. Flows of a pair that take different paths get hosts of their own.
#[derive(Default)]
struct Hosts {
    names: Vec<String>,
    numbers: SortedMap<String, u32>,
    routes: SortedMap<(u32, u32), Vec<u32>>,
}

impl Hosts {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(&n) = self.numbers.get(name) {
            return n;
        }
        let n = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), n);
        n
    }

    /// Ends of a flow, with both of its ways.
    fn place(&mut self, source: &str, destination: &str, forth: &[u32], back: &[u32]) -> (u32, u32) {
        let from = self.number(source);
        for alias in 1.. {
            let name = if alias == 1 { destination.to_owned() } else { format!("{destination}#{alias}") };
            let to = self.number(&name);
            let free = |key, path: &[u32]| self.routes.get(&key).is_none_or(|r| r == path);
            if from != to && free((from, to), forth) && free((to, from), back) {
                self.routes.insert((from, to), forth.to_vec());
                self.routes.insert((to, from), back.to_vec());
                return (from, to);
            }
        }
        unreachable!("an alias that is new has no routes")
    }
}

fn write(scenario: &Scenario, directory: &Path) -> Result<Written, Error> {
    let directory = directory.join(file_name(&scenario.name));
    fs::create_dir_all(&directory)
        .map_err(|e| Error::new(ErrorKind::Output, format!("cannot make `{}`: {e}", directory.display())))?;
    let mut hosts = Hosts::default();
    let ends: Vec<(u32, u32)> = scenario
        .flows
        .iter()
        .map(|f| hosts.place(&f.source, &f.destination, &f.route, &scenario.back(f)))
        .collect();
    save(&directory.join("platform.json"), &format!("{}\n", platform(scenario, &hosts)))?;
    let mut pairs = String::from("# start in s, source, destination, bytes, most in bytes/s\n");
    for (flow, (from, to)) in scenario.flows.iter().zip(&ends) {
        let rate = flow.rate.map_or(String::new(), |r| format!(" {r:?}"));
        let _ = writeln!(pairs, "{:?} {from} {to} {}{rate}", flow.start, flow.bytes);
    }
    save(&directory.join("pairs.txt"), &pairs)?;
    let mut order: Vec<usize> = (0..ends.len()).collect();
    let start = |n: usize| (scenario.flows[n].start * 1e12).round() as u64;
    order.sort_by_key(|&n| (ends[n].0, start(n)));
    let mut place = vec![(0, 0); ends.len()];
    let mut count: SortedMap<u32, u32> = SortedMap::new();
    for n in order {
        let number = count.entry(ends[n].0).or_default();
        place[n] = (ends[n].0, *number);
        *number += 1;
    }
    let mut experiments = Vec::new();
    for (rules, _) in &scenario.completion {
        let path = directory.join(format!("{}.toml", file_name(rules)));
        save(&path, &experiment(&scenario.name, rules)?)?;
        experiments.push((rules.clone(), path));
    }
    Ok(Written { experiments, place })
}

/// A name as part of a path.
fn file_name(name: &str) -> String {
    let good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let name: String = name.chars().map(|c| if good(c) { c } else { '_' }).collect();
    if name.chars().all(|c| c == '.') { "_".repeat(name.len().max(1)) } else { name }
}

fn platform(scenario: &Scenario, hosts: &Hosts) -> String {
    let links: Vec<Json> = scenario
        .links
        .iter()
        .enumerate()
        .map(|(n, l)| {
            let sharing = if l.policy == Policy::FatPipe { "fat-pipe" } else { "shared" };
            json!({"name": format!("{n}:{}", l.name), "bandwidth_bytes_per_s": l.bandwidth, "latency_s": l.latency, "sharing": sharing})
        })
        .collect();
    let name = |l: u32| links[l as usize]["name"].clone();
    let routes = hosts.routes.iter().map(|(&(from, to), path)| {
        let links: Vec<Json> = path.iter().map(|&l| name(l)).collect();
        json!({"from": hosts.names[from as usize], "to": hosts.names[to as usize], "links": links})
    });
    let routes: Vec<Json> = routes.collect();
    let event =
        |e: &Event| json!({"time_s": e.time, "link": name(e.link), "bandwidth_bytes_per_s": e.bandwidth});
    let events: Vec<Json> = scenario.events.iter().map(event).collect();
    let list = |rows: &[Json]| rows.iter().map(|r| format!("\n    {r}")).collect::<Vec<_>>().join(",");
    format!(
        "{{\n  \"format\": \"netloom-platform\",\n  \"version\": 1,\n  \"hosts\": {},\n  \"links\": [{}\n  ],\n  \"routes\": [{}\n  ],\n  \"events\": [{}\n  ]\n}}",
        json!(hosts.names),
        list(&links),
        list(&routes),
        list(&events)
    )
}

fn experiment(scenario: &str, rules: &str) -> Result<String, Error> {
    let (stem, cross) = match rules.strip_suffix("_nocross") {
        Some(stem) => (stem, false),
        None => (rules.strip_suffix("_default").unwrap_or(rules), true),
    };
    let preset = match stem {
        "plain" => "max-min",
        "maxmin" => "maxmin",
        "CM02" => "cm02",
        "LV08" => "lv08",
        "SMPI" => "smpi",
        _ => {
            let known = "plain, maxmin, CM02, LV08, SMPI, with _default or _nocross";
            let message = format!("scenario `{scenario}`: there are no rules `{rules}`");
            return Err(Error::new(ErrorKind::Input, message).with_help(known));
        }
    };
    let name = json!(format!("{scenario} {rules}"));
    Ok(format!(
        "[experiment]\nname = {name}\nuntil = \"workload-done\"\nlimit = \"500000 s\"\n\n[fabric]\ntopology = \"platform\"\nfile = \"platform.json\"\n\n\
         [[job]]\nworkload = \"pairs\"\nfile = \"pairs.txt\"\n\n[model]\nkind = \"flow\"\npreset = \"{preset}\"\ncross_traffic = {cross}\n\n[output]\nmessages = true\n"
    ))
}

fn run(
    scenario: &Scenario,
    written: &Written,
    rules: &str,
    path: &Path,
    times: &[f64],
    watcher: &dyn Watcher,
) -> Result<Line, Error> {
    let input = Input { file: path.to_owned(), set: Vec::new() };
    let finished =
        execute(&prepare(&Registry::standard(), &input, &RunOptions::default(), watcher)?, watcher)?;
    let ends = ends(&finished.tables).unwrap_or_default();
    let cross = scenarios::rules(rules).is_some_and(|r| r.cross > 0.0);
    let tolerance = if cross { TOLERANCES.1 } else { TOLERANCES.0 };
    let (mut worst, mut within) = ((0.0, 0), true);
    for (n, (theirs, place)) in times.iter().zip(&written.place).enumerate() {
        let ours = ends.get(place).map_or(f64::INFINITY, |ps| ps / 1e12);
        let off = (ours - theirs).abs();
        let relative = if *theirs > 0.0 { off / theirs } else { off };
        within &= off <= tolerance * theirs + ROUNDING_S;
        // A flow that never ends is off by more than any other.
        if relative > worst.0 || !relative.is_finite() {
            worst = (relative, n);
        }
    }
    Ok(Line {
        scenario: scenario.name.clone(),
        rules: rules.to_owned(),
        flows: times.len(),
        worst,
        tolerance,
        within,
    })
}

/// When each message was whole, in picoseconds, by source and number.
fn ends(tables: &[Table]) -> Option<SortedMap<(u32, u32), f64>> {
    let table = tables.iter().find(|t| t.name() == "messages")?;
    let (Column::U32(sources), Column::U32(numbers), Column::F64(times)) =
        (table.column("source")?, table.column("number")?, table.column("delivered_exact_ps")?)
    else {
        return None;
    };
    Some(sources.iter().zip(numbers).zip(times).map(|((s, n), t)| ((*s, *n), *t)).collect())
}
