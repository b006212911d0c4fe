//! Figures of a study: histograms of summaries' counts as bars, and a pattern under two models in one table.
//!
//! `figures.toml` beside a study's `published.toml`:
//!
//! ```toml
//! [[figure]]
//! name = "figure-3"                         # file name of the picture
//! title = "Figure 3: .."
//! x = "fraction of the peak bandwidth"
//! key = "congestion.hist_acc_band"          # counts by value in summary.json
//! experiment = "figure-3.toml"
//! curves = { "ours" = [] }                  # label and overrides of each curve
//! published = { "0.45" = 19 }               # counts that were published, if any
//! source = "who published them"
//! why = "why they differ"
//!
//! [beside]                                  # static congestion beside packets
//! title = ".."
//! experiment = "beside.toml"
//! patterns = ["bisect"]
//! why = ".."
//! ```

use crate::files::Files;
use base::diag::Diagnostics;
use netloom::{
    Error, ErrorKind, RunOptions, Watcher,
    execute::execute,
    experiment::tree::{self, Data, Table},
};
use report::plot::{Axis, Facet, Mark, Plot, Series, Style, Ticks};
use serde_json::{Value as Json, json};
use std::{fmt::Write as _, path::Path};

/// A curve: label and counts by value.
type Curve = (String, Vec<(String, f64)>);

/// A drawn figure.
pub struct Figure {
    name: String,
    title: String,
    x: String,
    why: String,
    curves: Vec<Curve>,
}

/// One pattern under two models.
struct Line {
    pattern: String,
    congestion: f64,
    packet: Option<f64>,
}

/// Static congestion beside packets: what is compared, and why it differs.
struct Beside {
    title: String,
    why: String,
    lines: Vec<Line>,
}

/// What a study shows beside its table.
#[derive(Default)]
pub struct Extras {
    figures: Vec<Figure>,
    beside: Option<Beside>,
}

fn text(table: &Table, key: &str) -> String {
    table.get(key).and_then(|e| e.node.data.text()).unwrap_or_default().to_owned()
}

fn texts(data: &Data) -> Vec<String> {
    match data {
        Data::List(items) => items.iter().filter_map(|i| i.data.text()).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// Runs what `figures.toml` asks for; `shorter` are the overrides of `--smoke` and `--quick`.
///
/// # Errors
/// If the file has mistakes or an experiment fails.
pub fn run(files: &Files, shorter: &[String], watcher: &dyn Watcher) -> Result<Extras, Error> {
    const FILE: &str = "figures.toml";
    if !files.has(FILE) {
        return Ok(Extras::default());
    }
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source(files.path(FILE).display().to_string(), files.text(FILE)?);
    let Some(root) = tree::parse(source, &mut diagnostics).filter(|_| diagnostics.is_empty()) else {
        return Err(Error::experiment(diagnostics));
    };
    let mut extras = Extras::default();
    if let Some(Data::List(items)) = root.get("figure").map(|e| &e.node.data) {
        for item in items {
            if let Data::Table(table) = &item.data {
                extras.figures.push(figure(table, files, shorter, watcher)?);
            }
        }
    }
    if let Some(Data::Table(table)) = root.get("beside").map(|e| &e.node.data) {
        let lines = beside(table, files, shorter, watcher)?;
        extras.beside = Some(Beside { title: text(table, "title"), why: text(table, "why"), lines });
    }
    Ok(extras)
}

/// The summary of an experiment with overrides.
fn summary(files: &Files, file: &str, set: Vec<String>, watcher: &dyn Watcher) -> Result<Json, Error> {
    let finished = execute(&files.prepare(file, set, &RunOptions::default(), watcher)?, watcher)?;
    Ok(serde_json::from_str(&finished.summary.to_json()).expect("a summary is JSON"))
}

/// Numbers of a table, by key.
fn numbers(data: &Data) -> Vec<(String, f64)> {
    let Data::Table(table) = data else { return Vec::new() };
    let number = |e: &tree::Entry| match e.node.data {
        Data::Integer(Some(n)) => Some((e.key.clone(), n as f64)),
        Data::Real(x) => Some((e.key.clone(), x)),
        _ => None,
    };
    table.entries.iter().filter_map(number).collect()
}

fn figure(table: &Table, files: &Files, shorter: &[String], watcher: &dyn Watcher) -> Result<Figure, Error> {
    let mut curves = Vec::new();
    if let Some(published) = table.get("published") {
        curves.push((text(table, "source"), numbers(&published.node.data)));
    }
    let file = text(table, "experiment");
    let key = text(table, "key");
    if let Some(Data::Table(of)) = table.get("curves").map(|e| &e.node.data) {
        for entry in &of.entries {
            let set = texts(&entry.node.data).into_iter().chain(shorter.iter().cloned()).collect();
            let summary = summary(files, &file, set, watcher)?;
            let counts = key.split('.').try_fold(&summary, |at, part| at.get(part));
            let Some(counts) = counts.and_then(Json::as_object) else {
                return Err(Error::new(
                    ErrorKind::Experiment,
                    format!("{}: the summary has no counts `{key}`", files.path(&file).display()),
                ));
            };
            let counts = counts.iter().filter_map(|(k, v)| Some((k.clone(), v.as_f64()?))).collect();
            curves.push((entry.key.clone(), counts));
        }
    }
    let [name, title, x, why] = ["name", "title", "x", "why"].map(|key| text(table, key));
    Ok(Figure { name, title, x, why, curves })
}

fn beside(
    table: &Table,
    files: &Files,
    shorter: &[String],
    watcher: &dyn Watcher,
) -> Result<Vec<Line>, Error> {
    let file = text(table, "experiment");
    let mut lines = Vec::new();
    for pattern in table.get("patterns").map(|e| texts(&e.node.data)).unwrap_or_default() {
        let of = |kind: &str| {
            let own = [format!("job.0.workload={pattern}"), format!("model.kind={kind}")];
            let shorter = shorter.iter().filter(|s| !s.starts_with("job.0.runs")).cloned();
            summary(files, &file, own.into_iter().chain(shorter).collect(), watcher)
        };
        let (still, moving) = (of("congestion")?, of("packet")?);
        let number = |json: &Json, path: &str| json.pointer(path).and_then(Json::as_f64);
        let offered = number(&moving, "/throughput/offered_fraction");
        let accepted = number(&moving, "/throughput/accepted_fraction");
        let packet = offered.zip(accepted).filter(|(o, _)| *o > 0.0).map(|(o, a)| a / o);
        let congestion = number(&still, "/congestion/bandwidth_fraction").unwrap_or(0.0);
        lines.push(Line { pattern, congestion, packet });
    }
    Ok(lines)
}

/// Widest bar of a picture in letters.
const BAR: f64 = 40.0;

impl Figure {
    /// All values, ascending, and each curve's share of its total in percent.
    fn rows(&self) -> Vec<(String, Vec<f64>)> {
        let mut values: Vec<&String> =
            self.curves.iter().flat_map(|(_, c)| c.iter().map(|(v, _)| v)).collect();
        values.sort_by(|a, b| a.parse::<f64>().unwrap_or(0.0).total_cmp(&b.parse().unwrap_or(0.0)));
        values.dedup();
        let share = |(_, counts): &Curve, value: &str| {
            let total: f64 = counts.iter().map(|(_, n)| n).sum();
            counts.iter().find(|(v, _)| v == value).map_or(0.0, |(_, n)| 100.0 * n / total.max(1.0))
        };
        values.iter().map(|v| ((*v).clone(), self.curves.iter().map(|c| share(c, v)).collect())).collect()
    }

    fn text(&self) -> String {
        let mut out = format!("\n{}\n{} (share of mappings in percent)\n", self.title, self.x);
        for (value, shares) in self.rows() {
            for ((label, _), share) in self.curves.iter().zip(shares) {
                let bar = "#".repeat((share / 100.0 * BAR * 2.0).round() as usize);
                let _ = writeln!(out, "  {value:>6}  {share:6.2}  {label:24} {bar}");
            }
        }
        let _ = writeln!(out, "  why they differ: {}", self.why);
        out
    }

    /// Bars: a place for each value, those without counts included, and a bar for each curve.
    fn plot(&self) -> Plot {
        let rows = self.rows();
        let (names, places) = places(&rows.iter().map(|(value, _)| value.as_str()).collect::<Vec<_>>());
        let mark = |place: usize, y: f64| Mark { x: place as f64, y, bar: None, hollow: false };
        let series = |name: usize| Series {
            name,
            marks: places.iter().zip(&rows).map(|(place, (_, shares))| mark(*place, shares[name])).collect(),
        };
        Plot {
            style: Style::Bars,
            title: self.title.clone(),
            x: Axis { label: self.x.clone(), ticks: Ticks::Named, names, ..Axis::default() },
            y: Axis { label: "share of mappings (%)".to_owned(), min: Some(0.0), ..Axis::default() },
            names: self.curves.iter().map(|(label, _)| label.clone()).collect(),
            facets: vec![Facet {
                title: String::new(),
                series: (0..self.curves.len()).map(series).collect(),
            }],
            width: 516.0,
            ..Plot::default()
        }
    }
}

/// Most places of a figure.
const MOST_PLACES: usize = 60;

/// Names of the places on the axis, and the place of each of these ascending values: numbers at equal distances have a place for each that is missing
/// between them.
fn places(values: &[&str]) -> (Vec<String>, Vec<usize>) {
    let as_they_are = || (values.iter().map(|v| (*v).to_owned()).collect(), (0..values.len()).collect());
    let numbers: Vec<f64> = values.iter().filter_map(|value| value.parse().ok()).collect();
    let step = numbers.windows(2).map(|w| w[1] - w[0]).fold(f64::INFINITY, f64::min);
    if numbers.len() < values.len() || !step.is_finite() || step <= 0.0 {
        return as_they_are();
    }
    let steps: Vec<f64> = numbers.iter().map(|number| (number - numbers[0]) / step).collect();
    let last = steps.last().map_or(0, |s| s.round() as usize);
    if steps.iter().any(|s| (s - s.round()).abs() > 0.01) || last >= MOST_PLACES {
        return as_they_are();
    }
    let decimals = values.iter().map(|v| v.split_once('.').map_or(0, |(_, d)| d.len())).max().unwrap_or(0);
    let names = (0..=last).map(|n| format!("{:.decimals$}", numbers[0] + step * n as f64)).collect();
    (names, steps.iter().map(|s| s.round() as usize).collect())
}

impl Extras {
    /// The figures and the comparison as text, for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out: String = self.figures.iter().map(Figure::text).collect();
        if let Some(Beside { title, why, lines }) = &self.beside {
            let _ = writeln!(out, "\n{title}\n  {:16} {:>10} {:>10}", "pattern", "static", "packet");
            for line in lines {
                let packet = line.packet.map_or_else(|| "absent".to_owned(), |p| format!("{p:.4}"));
                let _ = writeln!(out, "  {:16} {:>10.4} {packet:>10}", line.pattern, line.congestion);
            }
            let _ = writeln!(out, "  {why}");
        }
        out
    }

    /// The figures and the comparison as JSON, for programs.
    #[must_use]
    pub fn json(&self) -> Json {
        let figure = |f: &Figure| {
            let curves: serde_json::Map<String, Json> = f
                .curves
                .iter()
                .map(|(label, counts)| {
                    (label.clone(), counts.iter().map(|(v, n)| (v.clone(), json!(n))).collect())
                })
                .collect();
            json!({"name": f.name, "title": f.title, "x": f.x, "curves": curves, "why": f.why})
        };
        let beside = self.beside.as_ref().map(|Beside { title, why, lines }| {
            let rows: Vec<Json> = lines
                .iter()
                .map(|l| json!({"pattern": l.pattern, "congestion": l.congestion, "packet": l.packet}))
                .collect();
            json!({"title": title, "why": why, "rows": rows})
        });
        json!({"figures": self.figures.iter().map(figure).collect::<Vec<_>>(), "beside": beside})
    }

    /// Writes the pictures into a directory, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn draw(&self, directory: &Path) -> Result<(), Error> {
        let failed = |e: std::io::Error| {
            Error::new(ErrorKind::Output, format!("cannot write in `{}`: {e}", directory.display()))
        };
        std::fs::create_dir_all(directory).map_err(failed)?;
        for figure in &self.figures {
            let path = directory.join(format!("{}.svg", figure.name));
            std::fs::write(path, figure.plot().svg()).map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bin_is_left_out() {
        let all = |values: &[&str]| places(values);
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        assert_eq!(all(&["0.45", "0.55", "0.60"]), (names(&["0.45", "0.50", "0.55", "0.60"]), vec![0, 2, 3]));
        assert_eq!(all(&["9", "10", "12"]), (names(&["9", "10", "11", "12"]), vec![0, 1, 3]));
        assert_eq!(all(&["1", "2", "3.5"]), (names(&["1", "2", "3.5"]), vec![0, 1, 2]), "no equal steps");
        assert_eq!(all(&["few", "many"]), (names(&["few", "many"]), vec![0, 1]));
    }
}
