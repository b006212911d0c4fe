//! The paper's tables: published numbers as `tables.toml` has them, ours beside them, and why they differ.

use super::{
    replay::{Replay, Run},
    scenarios::{APPLICATIONS, MAPPINGS, Net, Scenario, title},
};
use crate::{
    files::Files,
    line::{Line, number},
};
use base::diag::Diagnostics;
use netloom::{
    Error, ErrorKind,
    experiment::tree::{self, Data, Node, Table},
};
use resilience::{Protocol, means::Means};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// File of published numbers.
const FILE: &str = "tables.toml";
const EXACT: &str = "met to the last digit";

/// Why times differ.
struct Reason {
    /// Application or scenario.
    of: String,
    /// Greatest size of the row, in bytes; 0: all rows.
    high: f64,
    why: String,
}

/// What the paper prints.
pub struct Published {
    messages: Vec<(String, f64)>,
    hops: Vec<(String, f64)>,
    /// Table 1: run time in s, application and MPI shares in %.
    pub runs: Vec<Run>,
    /// Scenario, and rows of greatest size, DOR, PNC, NCD.
    times: Vec<(String, Vec<[f64; 4]>)>,
    reasons: Vec<Reason>,
}

/// A cell of Tables 3 to 6, in us.
pub struct Cell {
    table: usize,
    scenario: String,
    high: u64,
    protocol: Protocol,
    published: f64,
    model: Option<f64>,
    replayed: Option<f64>,
    why: String,
}

/// Messages, and Tables 7 and 8.
pub fn counted(published: &Published, all: &[Scenario], nets: &[Net]) -> Vec<Line> {
    let line = |row: String, key: &str, published: f64, ours: u64| Line {
        row,
        key: key.to_owned(),
        published: Some(published),
        ours: Some(ours as f64),
        why: EXACT.to_owned(),
    };
    let mut lines = Vec::new();
    for (name, number) in &published.messages {
        if let Some(s) = all.iter().find(|s| APPLICATIONS[s.application].0 == name) {
            lines.push(line(format!("{name}.D.4096"), "messages", *number, s.messages()));
        }
    }
    for (name, number) in &published.hops {
        if let Some(s) = all.iter().find(|s| title(s, nets) == *name) {
            let table = if nets[s.net].name == "mesh" { 7 } else { 8 };
            lines.push(line(
                format!("table {table}: {name}"),
                "hops of all messages",
                *number,
                s.total_hops(),
            ));
        }
    }
    lines
}

/// Table 1: shares of time, theirs recorded on Taurus, ours of the replays.
pub fn shares(published: &Published, all: &[Scenario], nets: &[Net], replays: &[Replay]) -> Vec<Line> {
    let mut lines = Vec::new();
    for (name, [run_s, application, mpi]) in &published.runs {
        for r in replays {
            let s = &all[r.scenario];
            if APPLICATIONS[s.application].0 != name || r.protocol != Protocol::Dor {
                continue;
            }
            let row = format!("table 1: {name}, on {} {}, dor", nets[s.net].name, MAPPINGS[s.mapping].0);
            let line = |key: &str, published: f64, ours: f64, why: &str| Line {
                row: row.clone(),
                key: key.to_owned(),
                published: Some(published),
                ours: Some(ours),
                why: why.to_owned(),
            };
            let whole = r.makespan as f64 / 1e12 / r.iterations as f64
                * super::replay::WHOLE_AND_WARM_UP[s.application] as f64;
            lines.push(line("run time s", *run_s, whole, "theirs on Taurus, where the trace was made; ours on the simulated machine with the same computation, from the iterations replayed"));
            lines.push(line(
                "exclusive application %",
                *application,
                100.0 * r.application,
                "the same computation in a run of another length",
            ));
            lines.push(line(
                "exclusive MPI %",
                *mpi,
                100.0 * (1.0 - r.application),
                "all that is not computation",
            ));
        }
    }
    lines
}

/// Tables 3 to 6: means over the messages of a class of sizes, by the model alone and replayed.
pub fn timed(
    published: &Published,
    all: &[Scenario],
    nets: &[Net],
    means: &[Means],
    replays: &[Replay],
) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (name, rows) in &published.times {
        let Some((index, s)) = all.iter().enumerate().find(|s| title(s.1, nets) == *name) else { continue };
        let mut low = 0;
        for &[high, times @ ..] in rows {
            let high = high as u64;
            let class = s.counts.iter().filter(|(k, _)| low < k.0 && k.0 <= high);
            for ((protocol, means), theirs) in Protocol::PAPER.into_iter().zip(means).zip(times) {
                let (sum, count) =
                    class.clone().fold((0u128, 0u128), |(sum, count), (&(bytes, hops), &n)| {
                        (sum + u128::from(means.delay(hops, bytes)) * u128::from(n), count + u128::from(n))
                    });
                let replay = replays.iter().find(|r| r.scenario == index && r.protocol == protocol);
                cells.push(Cell {
                    table: 3 + 2 * s.application + s.net,
                    scenario: name.clone(),
                    high,
                    protocol,
                    published: theirs,
                    model: (count > 0).then(|| sum as f64 / count as f64 / 1e6),
                    replayed: replay.and_then(|r| r.mean(low, high)).map(|m| m.1),
                    why: published.why([APPLICATIONS[s.application].0, name], high),
                });
            }
            low = high;
        }
    }
    cells
}

impl Published {
    /// Reasons for an application or one of its scenarios.
    fn why(&self, of: [&str; 2], high: u64) -> String {
        let fits = |r: &&Reason| of.contains(&r.of.as_str()) && (r.high == 0.0 || r.high as u64 == high);
        self.reasons.iter().filter(fits).map(|r| r.why.as_str()).collect::<Vec<_>>().join("; ")
    }
}

impl Cell {
    /// As rows of the study: model and replay.
    pub fn lines(&self) -> [Line; 2] {
        let line = |key: &str, ours| Line {
            row: format!(
                "table {}: {}, up to {} B, {}",
                self.table,
                self.scenario,
                self.high,
                self.protocol.name()
            ),
            key: key.to_owned(),
            published: Some(self.published),
            ours,
            why: self.why.clone(),
        };
        [line("transfer time us, model", self.model), line("send to receive us, replayed", self.replayed)]
    }
}

/// Tables 3 to 6 as text: of each protocol published, model, replayed; the reasons below.
pub fn text(cells: &[Cell]) -> String {
    let mut text = String::from(
        "\nTables 3 to 6, mean times of messages in us: published | of the model | replayed, from send to completed receive\n",
    );
    let mut reasons: Vec<String> = Vec::new();
    let mut scenario = "";
    for row in cells.chunks(Protocol::PAPER.len()) {
        let first = &row[0];
        if first.scenario != scenario {
            scenario = &first.scenario;
            let _ = write!(text, "\ntable {}: {scenario:24}", first.table);
            row.iter().for_each(|c| _ = write!(text, "{:^34}", c.protocol.name()));
            text.push('\n');
        }
        let at = reasons.iter().position(|r| *r == first.why).unwrap_or_else(|| {
            reasons.push(first.why.clone());
            reasons.len() - 1
        });
        let _ = write!(text, "  up to {:>6} B ({})            ", first.high, at + 1);
        for cell in row {
            let shown = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), number);
            let _ = write!(
                text,
                " {:>9} |{:>9} |{:>9}   ",
                number(cell.published),
                shown(cell.model),
                shown(cell.replayed)
            );
        }
        text.push('\n');
    }
    for (n, reason) in reasons.iter().enumerate() {
        let _ = write!(text, "\n({}) {reason}\n", n + 1);
    }
    text
}

/// Mappings by hops and makespan, as text.
pub fn mappings(all: &[Scenario], nets: &[Net], replays: &[Replay]) -> String {
    let mut text = format!(
        "\nMappings: {:22} {:>14} {:>6}  makespan in ms of the iterations replayed: dor, pnc, ncd\n",
        "", "hops", "most"
    );
    for (index, s) in all.iter().enumerate() {
        let most = s.counts.keys().map(|k| k.1).max().unwrap_or(0);
        let _ = write!(text, "  {:30} {:>14} {most:>6} ", title(s, nets), s.total_hops());
        let of = replays.iter().filter(|r| r.scenario == index);
        of.for_each(|r| _ = write!(text, " {:>9}", number(r.makespan as f64 / 1e9)));
        text.push('\n');
    }
    text
}

/// Replays as JSON.
pub fn object(all: &[Scenario], nets: &[Net], replays: &[Replay]) -> Json {
    let one = |r: &Replay| {
        let s = &all[r.scenario];
        json!({
            "scenario": title(s, nets),
            "mapping": MAPPINGS[s.mapping].1,
            "protocol": r.protocol.name(),
            "iterations": r.iterations,
            "total_hops": s.total_hops(),
            "makespan_ps": r.makespan,
            "exclusive_application": r.application,
        })
    };
    replays.iter().map(one).collect()
}

/// Reads published numbers.
///
/// # Errors
/// If they cannot be read.
pub fn load(files: &Files) -> Result<Published, Error> {
    let (path, text) = (files.path(FILE), files.text(FILE)?);
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source(path.display().to_string(), text);
    let root = tree::parse(source, &mut diagnostics);
    let Some(root) = root.filter(|_| diagnostics.is_empty()) else {
        return Err(Error::experiment(diagnostics));
    };
    let all = || {
        Some(Published {
            messages: numbers(&root, "messages")?,
            hops: numbers(&root, "hops")?,
            runs: runs(&root)?,
            times: times(&root)?,
            reasons: reasons(&root)?,
        })
    };
    all().ok_or_else(|| {
        let message = "messages, hops, runs, times or reasons are missing or not as they should be";
        Error::new(ErrorKind::Input, format!("`{}`: {message}", path.display()))
    })
}

fn number_of(data: &Data) -> Option<f64> {
    match data {
        Data::Real(x) => Some(*x),
        Data::Integer(n) => n.map(|n| n as f64),
        _ => None,
    }
}

fn row<const N: usize>(node: &Node) -> Option<[f64; N]> {
    match &node.data {
        Data::List(row) => {
            row.iter().map(|n| number_of(&n.data)).collect::<Option<Vec<_>>>()?.try_into().ok()
        }
        _ => None,
    }
}

fn numbers(root: &Table, key: &str) -> Option<Vec<(String, f64)>> {
    let Data::Table(table) = &root.get(key)?.node.data else { return None };
    table.entries.iter().map(|e| Some((e.key.clone(), number_of(&e.node.data)?))).collect()
}

fn runs(root: &Table) -> Option<Vec<(String, [f64; 3])>> {
    let Data::Table(table) = &root.get("runs")?.node.data else { return None };
    table.entries.iter().map(|e| Some((e.key.clone(), row(&e.node)?))).collect()
}

fn times(root: &Table) -> Option<Vec<(String, Vec<[f64; 4]>)>> {
    let Data::List(entries) = &root.get("times")?.node.data else { return None };
    let one = |entry: &Node| {
        let Data::Table(entry) = &entry.data else { return None };
        let (Data::Text(name), Data::List(rows)) =
            (&entry.get("scenario")?.node.data, &entry.get("rows")?.node.data)
        else {
            return None;
        };
        Some((name.clone(), rows.iter().map(row).collect::<Option<Vec<_>>>()?))
    };
    entries.iter().map(one).collect()
}

fn reasons(root: &Table) -> Option<Vec<Reason>> {
    let Data::List(entries) = &root.get("reasons")?.node.data else { return None };
    let one = |entry: &Node| {
        let Data::Table(entry) = &entry.data else { return None };
        let text = |key| entry.get(key).and_then(|e| e.node.data.text()).map(str::to_owned);
        let high = entry.get("bytes").map_or(Some(0.0), |e| number_of(&e.node.data))?;
        Some(Reason { of: text("of")?, high, why: text("why")? })
    };
    entries.iter().map(one).collect()
}
