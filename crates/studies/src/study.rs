//! A study as written: a paper's numbers, and the experiments that ours come from.
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
//! why_quick = "queues have not filled"       # in its place with --quick; why_smoke with --smoke
//! ```
//!
//! `why_smoke` and `why_quick` of `[study]` are for rows that have none of their own.
//!
//! With `form = "hybrid"` rows are hybrid runs beside high fidelity: see `hybrid.rs`; with `form = "estimate"` these tell how far they are off, see
//! `estimates.rs`. With `form = "curves"` a row is latency over load: see `curves.rs`.
//!
//! A row with `program = "rate.c"` compiles that Portals program and runs it on two ranks of the experiment's machine with its `arguments`, of which
//! `{count}` becomes the row's `count`, a tenth of it for --quick and a hundredth for --smoke: see `programs.rs`.

use crate::{
    asked::Form,
    files::{FILE, Files},
    programs::Program,
    store::file_name,
};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::{Kind, Param},
};
use model::section::Section;
use netloom::{
    Error,
    experiment::{
        reader::{self, OPTIONAL, Spec},
        tree::{self, Data, Entry, Node, Table},
    },
};

/// What rows of a study are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsAre {
    /// Runs of which numbers of the summary were published.
    Summaries,
    /// Hybrid runs beside high fidelity.
    Hybrid,
    /// Hybrid runs that are asked how far they are off.
    Estimates,
    /// Latency over load.
    Curves,
}

impl RowsAre {
    /// By name in the file, the default first.
    const NAMES: [&str; 4] = ["summary", "hybrid", "estimate", "curves"];

    fn named(name: &str) -> Self {
        match name {
            "hybrid" => Self::Hybrid,
            "estimate" => Self::Estimates,
            "curves" => Self::Curves,
            _ => Self::Summaries,
        }
    }
}

/// A study as written.
pub struct Study {
    /// Title of the paper.
    pub title: String,
    /// Where it was published.
    pub paper: String,
    /// What a row is.
    pub rows_are: RowsAre,
    /// Unit of a figure of ours over the published numbers, and what they are multiplied with; none if it is empty.
    pub beside: (String, f64),
    /// Least cases that know how far they are off, in the whole form, with `--quick` and with `--smoke`.
    least: [u32; 3],
    /// Seeds of the whole form beyond those of the rows, and the least of their cases; they are counted by themselves.
    pub more: (u32, u32),
    smoke: Vec<String>,
    quick: Vec<String>,
    /// Rows of its table.
    pub rows: Vec<Row>,
}

/// A row of the table: one experiment and what was published of it.
#[derive(Default)]
pub struct Row {
    /// Its name, as users write and read it.
    pub name: String,
    /// Experiment file beside `published.toml`.
    pub experiment: String,
    /// Overrides of the experiment, each `section.key=value`.
    pub set: Vec<String>,
    /// Overrides of its own for `--smoke` and `--quick`.
    pub(crate) shorter: [Vec<String>; 2],
    /// Published numbers by key.
    pub published: Vec<(String, f64)>,
    /// Why they differ.
    pub why: String,
    /// Why they differ with `--smoke` and `--quick`; as in the whole form if it is empty.
    pub(crate) why_shorter: [String; 2],
    /// Pictures to draw.
    pub figures: Vec<String>,
    /// Seeds of the full form.
    pub seeds: u32,
    /// A Portals program.
    pub program: Option<Program>,
}

impl Study {
    /// Overrides of the form that is asked for.
    #[must_use]
    pub fn shorter(&self, form: Form) -> &[String] {
        match form {
            Form::Smoke => &self.smoke,
            Form::Quick => &self.quick,
            Form::Whole | Form::Full => &[],
        }
    }

    /// Least cases that know how far they are off in the form that is asked for; 0 asks nothing.
    #[must_use]
    pub fn least(&self, form: Form) -> u32 {
        let [whole, quick, smoke] = self.least;
        match form {
            Form::Smoke => smoke,
            Form::Quick => quick,
            Form::Whole | Form::Full => whole,
        }
    }
}

impl Row {
    /// Why numbers differ in the form that is asked for.
    #[must_use]
    pub fn why(&self, form: Form) -> &str {
        let own = match form {
            Form::Smoke => &self.why_shorter[0],
            Form::Quick => &self.why_shorter[1],
            Form::Whole | Form::Full => &self.why,
        };
        if own.is_empty() { &self.why } else { own }
    }

    /// Overrides of its own of the form that is asked for.
    #[must_use]
    pub fn shorter(&self, form: Form) -> &[String] {
        match form {
            Form::Smoke => &self.shorter[0],
            Form::Quick => &self.shorter[1],
            Form::Whole | Form::Full => &[],
        }
    }
}

const STUDY: &[Param] = &[
    Param { name: "title", kind: Kind::Text, default: None, doc: "Title of the paper." },
    Param { name: "paper", kind: Kind::Text, default: OPTIONAL, doc: "Where it was published." },
    Param {
        name: "form",
        kind: Kind::Choice(&RowsAre::NAMES),
        default: Some("summary"),
        doc: "What a row is.",
    },
    Param {
        name: "beside",
        kind: Kind::Text,
        default: Some(""),
        doc: "Unit of a figure of ours over the published numbers.",
    },
    Param {
        name: "factor",
        kind: Kind::Real { min: 1e-12, max: 1e12 },
        default: Some("1.0"),
        doc: "What they are multiplied with in it.",
    },
    Param {
        name: "why_smoke",
        kind: Kind::Text,
        default: Some(""),
        doc: "Why numbers differ with --smoke, for rows that do not say.",
    },
    Param {
        name: "why_quick",
        kind: Kind::Text,
        default: Some(""),
        doc: "Why numbers differ with --quick, for rows that do not say.",
    },
    Param {
        name: "least",
        kind: CASES,
        default: Some("0"),
        doc: "Least cases that know how far they are off.",
    },
    Param {
        name: "more_seeds",
        kind: CASES,
        default: Some("0"),
        doc: "Seeds that the whole form counts by themselves.",
    },
    Param { name: "least_more", kind: CASES, default: Some("0"), doc: "Least of their cases." },
    Param { name: "least_quick", kind: CASES, default: Some("0"), doc: "The same with --quick." },
    Param { name: "least_smoke", kind: CASES, default: Some("0"), doc: "The same with --smoke." },
];

/// A number of cases.
const CASES: Kind = Kind::Int { min: 0, max: 10_000 };

const ROW: &[Param] = &[
    Param { name: "name", kind: Kind::Text, default: None, doc: "Name of the row." },
    Param { name: "experiment", kind: Kind::Text, default: None, doc: "Experiment file beside this one." },
    Param { name: "why", kind: Kind::Text, default: OPTIONAL, doc: "Why the numbers differ." },
    Param { name: "why_smoke", kind: Kind::Text, default: Some(""), doc: "Why they differ with --smoke." },
    Param { name: "why_quick", kind: Kind::Text, default: Some(""), doc: "Why they differ with --quick." },
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
        doc: "Random sizes that take the place of {bytes} in its arguments; 0: the arguments give one size.",
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

/// Reads a study.
///
/// # Errors
/// If it cannot be read, or has mistakes.
pub fn load(files: &Files) -> Result<Study, Error> {
    let text = files.text(FILE)?;
    let mut diagnostics = Diagnostics::default();
    let source = diagnostics.add_source(files.path(FILE).display().to_string(), text);
    let study = tree::parse(source, &mut diagnostics).and_then(|root| parse(&root, source, &mut diagnostics));
    match study {
        Some(study) if diagnostics.is_empty() => Ok(study),
        _ => Err(Error::experiment(diagnostics)),
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
    let for_all = ["why_smoke", "why_quick"].map(|key| section.values.text(key));
    for row in &mut rows {
        for (own, all) in row.why_shorter.iter_mut().zip(&for_all).filter(|(own, _)| own.is_empty()) {
            own.clone_from(all);
        }
    }
    Some(Study {
        title: section.values.text("title"),
        paper: section.values.text("paper"),
        rows_are: RowsAre::named(&section.values.text("form")),
        beside: (section.values.text("beside"), section.values.real("factor")),
        least: ["least", "least_quick", "least_smoke"].map(|key| section.values.u32(key)),
        more: (section.values.u32("more_seeds"), section.values.u32("least_more")),
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
    let spec = Spec { title, params: params.into(), also, elsewhere: &Vec::new, lenient: false };
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
    let why_shorter = ["why_smoke", "why_quick"].map(|key| values.text(key));
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
    Some(Row { name, experiment, set, shorter, published, why, why_shorter, figures, seeds, program })
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
    fn mistakes_in_a_study_are_reported_at_once() {
        let mut diagnostics = Diagnostics::default();
        let text = "[study]\nsmoke = 1\n[[row]]\nname = \"a\"\npublished = { x = true }\n[more]\n\
            [[row]]\nname = \"b c\"\nexperiment = \"b\"\npublished = {}\n[[row]]\nname = \"b, c\"\nexperiment = \"b\"\npublished = {}\n";
        let source = diagnostics.add_source("published.toml", text);
        let root = tree::parse(source, &mut diagnostics).unwrap();
        let _ = parse(&root, source, &mut diagnostics);
        let reported: Vec<&str> = diagnostics.sorted().iter().map(|d| d.message.as_str()).collect();
        assert_eq!(
            reported,
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
