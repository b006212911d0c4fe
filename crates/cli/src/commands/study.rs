//! `netloom study NAME`: a paper's numbers, ours beside them, and why they differ.
//!
//! A study is a directory with experiment files and a `published.toml`:
//!
//! ```toml
//! [study]
//! title = "Zombie packets"
//! paper = "reference"
//! smoke = ["experiment.duration=10 us"]     # overrides for --smoke
//! quick = ["experiment.duration=100 us"]    # overrides for --quick
//!
//! [[row]]
//! name = "72 nodes, minimal"
//! experiment = "dragonfly-72.toml"          # beside this file
//! set = ["job.0.load=0.5"]                  # overrides of this row
//! published = { "latency_ps.mean" = 1.5e6 } # keys of summary.json
//! why = "the paper's buffer sizes are not given"
//! ```
//!
//! With `form = "hybrid"` rows are hybrid runs beside high fidelity: see `study_hybrid.rs`.
//!
//! A row with `program = "rate.c"` compiles that Portals program and runs it on two ranks of the experiment's machine with its `arguments`, of which
//! `{count}` becomes the row's `count`, a tenth of it for --quick and a hundredth for --smoke: see `study_programs.rs`.

use super::{
    haec_sim,
    study_figures::{self, Extras},
    study_hybrid::{self, Case},
    study_programs::{self, Curves, Program},
    study_store::{Store, file_name},
};
use crate::{
    args::{Format, Input, StudyArgs},
    console::Console,
    execute::execute,
    exit::Exit,
    experiment::{
        reader::{self, OPTIONAL, Section, Spec},
        tree::{self, Data, Entry, Node, Table},
    },
    failure::{Failure, Outcome},
    prepare::{Wishes, prepare, read_file},
};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::{Kind, Param},
    registry::nearest,
};
use serde_json::{Value as Json, json};
use std::path::Path;

/// File that makes a directory a study.
const FILE: &str = "published.toml";

/// A study as written.
struct Study {
    title: String,
    paper: String,
    hybrid: bool,
    smoke: Vec<String>,
    quick: Vec<String>,
    rows: Vec<Row>,
}

/// A row of the table: one experiment and what was published of it.
pub struct Row {
    /// Its name.
    pub name: String,
    /// Experiment file beside `published.toml`.
    pub experiment: String,
    /// Overrides.
    pub set: Vec<String>,
    /// Overrides of its own for `--smoke` and `--quick`.
    shorter: [Vec<String>; 2],
    /// Published numbers by key.
    pub published: Vec<(String, f64)>,
    /// Why they differ.
    pub why: String,
    /// Pictures to draw.
    pub figures: Vec<String>,
    /// Seeds of the full form.
    pub seeds: u32,
    /// A Portals program.
    program: Option<Program>,
}

/// One number of the table.
pub struct Line {
    /// Name of the row.
    pub row: String,
    /// What it is.
    pub key: String,
    /// What was published, if anything.
    pub published: Option<f64>,
    /// What was found.
    pub ours: Option<f64>,
    /// Why they differ.
    pub why: String,
}

/// Lists the studies, or runs one.
///
/// # Errors
/// If there is no such study, it has mistakes, or one of its experiments fails.
pub fn study(args: &StudyArgs, console: &mut Console<'_>) -> Outcome {
    let names = names(&args.studies);
    let Some(name) = &args.name else {
        return list(&names, args, console);
    };
    if !names.contains(name) {
        let mut help = match nearest(name, names.iter().map(String::as_str)).first() {
            Some(near) => format!("did you mean `{near}`? "),
            None => String::new(),
        };
        let directory = args.studies.display();
        help += &match names.is_empty() {
            true => format!("`{directory}` holds no study"),
            false => format!("`{directory}` holds {}", names.join(", ")),
        };
        return Err(Failure::new(Exit::Usage, format!("there is no study `{name}`")).with_help(help));
    }
    let directory = args.studies.join(name);
    let study = load(&directory.join(FILE))?;
    if args.verify {
        if name != haec_sim::NAME {
            let message = format!("study `{name}` has no verification");
            return Err(Failure::new(Exit::Usage, message).with_help("`haec-sim` has one"));
        }
        return haec_sim::verify(args, console);
    }
    is_there(&study, args)?;
    if args.threads.is_some() && !study.hybrid {
        let message = format!("study `{name}` runs one experiment at a time");
        return Err(Failure::new(Exit::Usage, message).with_help("leave --threads out"));
    }
    let mut curves = Curves::default();
    let mut lines = if study.hybrid {
        hybrid(&study, &directory, args, console)?
    } else {
        run(&study, &directory, (args, &mut curves), console)?
    };
    let mut computed = None;
    if name == haec_sim::NAME && args.row.is_none() {
        let mut all = haec_sim::run(&directory, args, console)?;
        lines.append(&mut all.lines);
        computed = Some(all);
    }
    let extras = match args.row {
        None => study_figures::run(&directory, shorter(&study, args), console)?,
        Some(_) => Extras::default(),
    };
    if let Some(out) = &args.out {
        extras.draw(out)?;
        curves.draw(out)?;
    }
    match args.format {
        Format::Text => {
            let more = computed.map_or_else(String::new, |c| c.text);
            console.print(&(text(&study, &lines) + &extras.text() + &more))?;
        }
        Format::Json => {
            if let Some(computed) = &mut computed {
                lines.append(&mut computed.more);
            }
            let mut object = object(name, &study, &lines);
            object["extras"] = extras.json();
            object["curves"] = curves.json();
            if let Some(computed) = computed {
                object["computed"] = computed.object;
            }
            console.print_json(&object)?;
        }
    }
    Ok(Exit::Done)
}

/// Names of the studies in a directory, sorted; none if it cannot be read.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let found = entries.flatten().filter(|e| e.path().join(FILE).is_file());
    let mut names: Vec<String> = found.filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn list(names: &[String], args: &StudyArgs, console: &mut Console<'_>) -> Outcome {
    match args.format {
        Format::Json => console.print_json(&json!({"studies": names}))?,
        Format::Text if names.is_empty() => {
            console.remark(&format!("there are no studies in `{}`", args.studies.display()));
        }
        Format::Text => console.print(&(names.join("\n") + "\n"))?,
    }
    Ok(Exit::Done)
}

/// Overrides of the form that is asked for.
fn shorter<'a>(study: &'a Study, args: &StudyArgs) -> &'a [String] {
    match (args.smoke, args.quick) {
        (true, _) => &study.smoke,
        (_, true) => &study.quick,
        _ => &[],
    }
}

fn is_wanted(row: &Row, args: &StudyArgs) -> bool {
    args.row.as_ref().is_none_or(|part| row.name.contains(part.as_str()))
}

/// Refuses a choice of rows in which there is none.
fn is_there(study: &Study, args: &StudyArgs) -> Result<(), Failure> {
    let Some(part) = args.row.as_deref().filter(|_| !study.rows.iter().any(|row| is_wanted(row, args)))
    else {
        return Ok(());
    };
    let names = || study.rows.iter().map(|row| row.name.as_str());
    let near = nearest(part, names());
    let shown = if near.is_empty() { names().take(8).collect() } else { near };
    let help = match shown.as_slice() {
        [] => "all that it tells is computed beside rows: leave `--row` out".to_owned(),
        shown => format!("rows are such as `{}`", shown.join("`, `")),
    };
    Err(Failure::new(Exit::Usage, format!("no row of the study has `{part}` in its name")).with_help(help))
}

/// A row of a hybrid study in the form that is asked for.
fn case<'a>(study: &Study, row: &'a Row, directory: &Path, args: &StudyArgs) -> Case<'a> {
    let own = match (args.smoke, args.quick) {
        (true, _) => row.shorter[0].as_slice(),
        (_, true) => row.shorter[1].as_slice(),
        _ => &[],
    };
    let set = row.set.iter().chain(shorter(study, args)).chain(own).chain(&args.set).cloned().collect();
    let seeds = if args.smoke || args.quick { 1 } else { row.seeds };
    Case { row, input: Input { file: directory.join(&row.experiment), set }, seeds }
}

/// Runs the rows of a hybrid study, each told when it is done, and draws their pictures.
fn hybrid(
    study: &Study,
    directory: &Path,
    args: &StudyArgs,
    console: &mut Console<'_>,
) -> Result<Vec<Line>, Failure> {
    let cases: Vec<Case<'_>> = study
        .rows
        .iter()
        .filter(|row| is_wanted(row, args))
        .map(|row| case(study, row, directory, args))
        .collect();
    let (mut lines, mut all, store) = (Vec::new(), Vec::new(), Store::new(args.out.as_deref()));
    study_hybrid::run(
        &cases,
        args.threads.unwrap_or(1),
        &store,
        console,
        &mut |case, found, pictures, console| {
            if let Some(out) = &args.out {
                study_hybrid::draw(out, &pictures)?;
            }
            let told = study_hybrid::lines(case.row, &found);
            console.remark(&format!("row {}: {}", case.row.name, study_hybrid::told(&told)));
            lines.extend(told);
            all.push(found);
            Ok(())
        },
    )?;
    if let Some(out) = &args.out {
        let rows: Vec<_> = cases.iter().map(|case| case.row).zip(all).collect();
        study_hybrid::write(out, "table-3-mape", study_hybrid::table(&study.title, &rows).svg())?;
    }
    Ok(lines)
}

fn run(
    study: &Study,
    directory: &Path,
    (args, curves): (&StudyArgs, &mut Curves),
    console: &mut Console<'_>,
) -> Result<Vec<Line>, Failure> {
    let shorter = shorter(study, args);
    let mut lines = Vec::new();
    for row in study.rows.iter().filter(|row| is_wanted(row, args)) {
        let set = row.set.iter().chain(shorter).chain(&args.set).cloned().collect();
        let input = Input { file: directory.join(&row.experiment), set };
        let summary: Json = match &row.program {
            Some(program) => study_programs::run(program, directory, &input, (args, curves), console)?,
            None => {
                let finished = execute(&prepare(&input, &Wishes::default(), console)?, console)?;
                serde_json::from_str(&finished.summary.to_json()).expect("a summary is JSON")
            }
        };
        for (key, published) in &row.published {
            let ours = find(&summary, key).and_then(Json::as_f64);
            if let (Some(program), "simulated_us", Some(bytes)) =
                (&row.program, key.as_str(), summary["bytes"].as_f64())
            {
                curves.publish(program, bytes, *published);
            }
            let (row, key, why) = (row.name.clone(), key.clone(), row.why.clone());
            lines.push(Line { row, key, published: Some(*published), ours, why });
        }
    }
    Ok(lines)
}

/// The value at a path of keys and list positions joined by dots.
fn find<'a>(summary: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(summary, |at, part| match part.parse::<usize>() {
        Ok(index) if at.is_array() => at.get(index),
        _ => at.get(part),
    })
}

fn text(study: &Study, lines: &[Line]) -> String {
    let head = ["row", "quantity", "published", "ours", "why they differ"].map(str::to_owned);
    let mut cells = vec![head];
    for line in lines {
        let ours = line.ours.map_or_else(|| "absent".to_owned(), number);
        let published = line.published.map_or_else(|| "-".to_owned(), number);
        cells.push([line.row.clone(), line.key.clone(), published, ours, line.why.clone()]);
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    let mut text = format!("{}\n{}\n\n", study.title, study.paper);
    for [row, key, published, ours, why] in &cells {
        let [a, b, c, d] = widths;
        let line = format!("{row:a$}  {key:b$}  {published:>c$}  {ours:>d$}  {why}");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Six significant digits.
pub fn number(x: f64) -> String {
    let places = if x == 0.0 { 0 } else { (5.0 - x.abs().log10().floor()).clamp(0.0, 9.0) as usize };
    let text = format!("{x:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn object(name: &str, study: &Study, lines: &[Line]) -> Json {
    let rows: Json = lines
        .iter()
        .map(|l| json!({"row": l.row, "key": l.key, "published": l.published, "ours": l.ours, "why": l.why}))
        .collect();
    json!({"study": name, "title": study.title, "paper": study.paper, "rows": rows})
}

const STUDY: &[Param] = &[
    Param { name: "title", kind: Kind::Text, default: None, doc: "Title of the paper." },
    Param { name: "paper", kind: Kind::Text, default: OPTIONAL, doc: "Where it was published." },
    Param {
        name: "form",
        kind: Kind::Choice(&["summary", "hybrid"]),
        default: Some("summary"),
        doc: "What a row is.",
    },
];

const ROW: &[Param] = &[
    Param { name: "name", kind: Kind::Text, default: None, doc: "Name of the row." },
    Param { name: "experiment", kind: Kind::Text, default: None, doc: "Experiment file beside this one." },
    Param { name: "why", kind: Kind::Text, default: OPTIONAL, doc: "Why the numbers differ." },
    Param { name: "program", kind: Kind::Text, default: Some(""), doc: "Portals program beside this file." },
    Param {
        name: "count",
        kind: Kind::Int { min: 1, max: 1 << 40 },
        default: Some("10000"),
        doc: "Its count.",
    },
    Param {
        name: "sizes",
        kind: Kind::Int { min: 0, max: 10_000 },
        default: Some("0"),
        doc: "Random sizes that take the place of {bytes} in its arguments; 0: the arguments tell one size.",
    },
    Param {
        name: "figure",
        kind: Kind::Text,
        default: Some(""),
        doc: "Title of the figure that its times belong to.",
    },
    Param { name: "curve", kind: Kind::Text, default: Some(""), doc: "Label of their curve there." },
    Param {
        name: "seeds",
        kind: Kind::Int { min: 1, max: 100 },
        default: Some("1"),
        doc: "Seeds of the full form.",
    },
];

fn load(path: &Path) -> Result<Study, Failure> {
    let text = read_file(path)?;
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source(path.display().to_string(), text);
    let study = tree::parse(source, &mut diagnostics).and_then(|root| parse(&root, source, &mut diagnostics));
    match study {
        Some(study) if diagnostics.is_empty() => Ok(study),
        _ => Err(Failure::Experiment(Box::new(diagnostics))),
    }
}

fn parse(root: &Table, source: usize, diagnostics: &mut Diagnostics) -> Option<Study> {
    for entry in root.entries.iter().filter(|e| e.key != "study" && e.key != "row") {
        let message = format!("a study has no section `{}`", entry.key);
        diagnostics.push(Diagnostic::new(entry.key_place, message).help("its sections are study, row"));
    }
    let start = Place { source, start: 0, end: 0 };
    let Some(Entry { node: Node { data: Data::Table(head), .. }, key_place, .. }) = root.get("study") else {
        diagnostics.push(Diagnostic::new(start, "the section [study] is missing"));
        return None;
    };
    let section = section("[study]", STUDY, &["smoke", "quick"], head, *key_place, diagnostics);
    let mut rows = Vec::new();
    match root.get("row").map(|e| &e.node) {
        Some(Node { data: Data::List(items), .. }) => {
            for item in items {
                let Some(row) = row(item, diagnostics) else { continue };
                if let Some(other) = rows.iter().find(|r: &&Row| file_name(&r.name) == file_name(&row.name)) {
                    let message = format!("a row is named as `{}`", other.name);
                    let help = "runs are kept under the letters and digits of their rows' names";
                    diagnostics.push(Diagnostic::new(item.place, message).help(help));
                }
                rows.push(row);
            }
        }
        Some(other) => diagnostics.push(Diagnostic::new(other.place, "write each row as [[row]]")),
        None => {}
    }
    let (smoke, quick) = (texts(head, "smoke", diagnostics), texts(head, "quick", diagnostics));
    if !section.complete {
        return None;
    }
    Some(Study {
        title: section.values.text("title"),
        paper: section.values.text("paper"),
        hybrid: section.values.text("form") == "hybrid",
        smoke,
        quick,
        rows,
    })
}

fn section(
    title: &str,
    params: &[Param],
    also: &[&str],
    table: &Table,
    home: Place,
    diagnostics: &mut Diagnostics,
) -> Section {
    let spec = Spec { title, params: params.to_vec(), also, elsewhere: Vec::new(), lenient: false };
    reader::read(&spec, table, home, diagnostics)
}

fn row(item: &Node, diagnostics: &mut Diagnostics) -> Option<Row> {
    let Data::Table(table) = &item.data else {
        diagnostics.push(Diagnostic::new(item.place, "a row must be a table"));
        return None;
    };
    let section = section(
        "[[row]]",
        ROW,
        &["set", "published", "figures", "smoke", "quick", "arguments"],
        table,
        item.place,
        diagnostics,
    );
    let mut published = Vec::new();
    match table.get("published").map(|e| &e.node) {
        Some(Node { data: Data::Table(numbers), .. }) => {
            for entry in &numbers.entries {
                match entry.node.data {
                    Data::Real(x) => published.push((entry.key.clone(), x)),
                    Data::Integer(Some(n)) => published.push((entry.key.clone(), n as f64)),
                    _ => diagnostics
                        .push(Diagnostic::new(entry.node.place, "a published value must be a number")),
                }
            }
        }
        Some(other) => {
            diagnostics.push(Diagnostic::new(other.place, "`published` must be a table of numbers"))
        }
        None => diagnostics.push(Diagnostic::new(item.place, "[[row]] lacks `published`")),
    }
    let set = texts(table, "set", diagnostics);
    let shorter = ["smoke", "quick"].map(|key| texts(table, key, diagnostics));
    let figures = texts(table, "figures", diagnostics);
    let values = section.complete.then_some(section.values)?;
    let (name, experiment, why) = (values.text("name"), values.text("experiment"), values.text("why"));
    let seeds = values.u32("seeds");
    let arguments = texts(table, "arguments", diagnostics);
    let source = values.text("program");
    let program = (!source.is_empty()).then(|| Program {
        source,
        arguments,
        count: values.int("count"),
        sizes: values.int("sizes"),
        place: (values.text("figure"), values.text("curve")),
    });
    Some(Row { name, experiment, set, shorter, published, why, figures, seeds, program })
}

/// A list of texts; empty if the key is left out.
fn texts(table: &Table, key: &str, diagnostics: &mut Diagnostics) -> Vec<String> {
    let Some(entry) = table.get(key) else { return Vec::new() };
    let items = match &entry.node.data {
        Data::List(items) => items.as_slice(),
        _ => {
            let message = format!("`{key}` must be a list of overrides such as [\"job.0.load=0.5\"]");
            diagnostics.push(Diagnostic::new(entry.node.place, message));
            &[]
        }
    };
    let mut texts = Vec::new();
    for item in items {
        match &item.data {
            Data::Text(text) => texts.push(text.clone()),
            other => {
                let message = format!("an override is text in quotes, not {}", other.noun());
                diagnostics.push(Diagnostic::new(item.place, message));
            }
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits() {
        assert_eq!(
            [0.0, 1.5e6, 0.25, 666_244.0, 1e-3, 12.345_678_9].map(number),
            ["0", "1500000", "0.25", "666244", "0.001", "12.3457"]
        );
    }

    #[test]
    fn mistakes_in_a_study_are_told_at_once() {
        let mut diagnostics = Diagnostics::default();
        let text = "[study]\nsmoke = 1\n[[row]]\nname = \"a\"\npublished = { x = true }\n[more]\n\
            [[row]]\nname = \"b c\"\nexperiment = \"b\"\npublished = {}\n[[row]]\nname = \"b, c\"\nexperiment = \"b\"\npublished = {}\n";
        let source = diagnostics.add_source("published.toml", text);
        let root = tree::parse(source, &mut diagnostics).unwrap();
        let _ = parse(&root, source, &mut diagnostics);
        let told: Vec<&str> = diagnostics.sorted().iter().map(|d| d.message.as_str()).collect();
        assert_eq!(
            told,
            [
                "[study] lacks `title`",
                "`smoke` must be a list of overrides such as [\"job.0.load=0.5\"]",
                "[[row]] lacks `experiment`",
                "a published value must be a number",
                "a study has no section `more`",
                "a row is named as `b c`",
            ]
        );
    }
}
