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

    /// Grouped bars as SVG: a group per value, a bar per curve.
    fn svg(&self) -> String {
        const COLOURS: [&str; 4] = ["#888888", "#1f77b4", "#d62728", "#2ca02c"];
        let rows = self.rows();
        let most = rows.iter().flat_map(|(_, s)| s.iter().copied()).fold(1.0, f64::max);
        let (width, height, left, bottom) = (900.0, 480.0, 70.0, 400.0);
        let slot = (width - left - 20.0) / rows.len().max(1) as f64;
        let bar = slot * 0.8 / self.curves.len().max(1) as f64;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"{left}\" y=\"24\" font-size=\"17\">{}</text>\n",
            self.title
        );
        for tick in 0..=5 {
            let (share, y) = (most * f64::from(tick) / 5.0, bottom - 330.0 * f64::from(tick) / 5.0);
            let _ = writeln!(
                out,
                "<path d=\"M{left} {y:.1} H{}\" stroke=\"#dddddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{share:.0} %</text>",
                width - 20.0,
                left - 6.0,
                y + 4.0
            );
        }
        for (i, (value, shares)) in rows.iter().enumerate() {
            let x = left + slot * i as f64;
            for (c, share) in shares.iter().enumerate() {
                let h = 330.0 * share / most;
                let _ = writeln!(
                    out,
                    "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{h:.1}\" fill=\"{}\"/>",
                    x + slot * 0.1 + bar * c as f64,
                    bottom - h,
                    bar,
                    COLOURS[c % COLOURS.len()]
                );
            }
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>",
                x + slot / 2.0,
                bottom + 18.0
            );
        }
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            (left + width) / 2.0,
            bottom + 42.0,
            self.x
        );
        for (c, (label, _)) in self.curves.iter().enumerate() {
            let x = left + 260.0 * c as f64;
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{label}</text>",
                height - 26.0,
                COLOURS[c % COLOURS.len()],
                x + 18.0,
                height - 15.0
            );
        }
        out + "</svg>\n"
    }
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
            std::fs::write(directory.join(format!("{}.svg", figure.name)), figure.svg()).map_err(failed)?;
        }
        Ok(())
    }
}
