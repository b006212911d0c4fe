//! The page of one experiment on several models: the table, the figure, the reasons, and the runs' own numbers side by side.

use super::{
    chart::Chart,
    close, curves, head, overview,
    run::Finished,
    section,
    words::{escaped, table},
};
use crate::plot::Plot;
use std::fmt::Write;

/// A model with words about it.
#[derive(Clone, Debug)]
pub struct Words {
    /// Name of the model.
    pub model: String,
    /// The words, on one line.
    pub text: String,
}

/// An experiment on several models, as its page shows it.
#[derive(Clone, Debug)]
pub struct Compared<'a> {
    /// Name of the experiment.
    pub name: String,
    /// How many models carry it, and which one the others are compared with.
    pub head: String,
    /// Heads of the table's columns.
    pub heads: Vec<String>,
    /// A row for each model; a short one is filled up.
    pub rows: Vec<Vec<String>>,
    /// Why each model differs, or why it does not carry the experiment.
    pub reasons: Vec<Words>,
    /// Errors over processor time, if there are any.
    pub figure: Option<Plot>,
    /// Runs of the models that carry it, called as the models are.
    pub runs: Vec<Finished<'a>>,
    /// The command that repeats each of these runs.
    pub commands: Vec<Words>,
}

/// The page, as HTML.
#[must_use]
pub fn compared(all: &Compared<'_>) -> String {
    let mut text = head(&all.name);
    let name = escaped(&all.name);
    let _ = writeln!(text, "<header><h1><bdi>{name}</bdi> on every model</h1>");
    let _ = writeln!(text, "<p>{}</p>", escaped(&all.head));
    for run in &all.runs {
        text += &overview::verdict(run, true);
    }
    text += "</header>\n<main id=\"content\">\n";
    let heads: Vec<&str> = all.heads.iter().map(String::as_str).collect();
    let rows: Vec<Vec<String>> = all.rows.iter().map(|row| filled(row, heads.len())).collect();
    let mut models = table("Models, the dearest first", &heads, &rows);
    if let Some(plot) = &all.figure {
        let note = "Error against the dearest model, over the processor time that a model took. Further left is cheaper, nearer to zero is closer.";
        let (id, title) = ("errors".to_owned(), "Error and time of each model".to_owned());
        let plot = Plot { title: String::new(), ..plot.clone() };
        models += &Chart { id, title, note: note.to_owned(), plot }.html();
    }
    section(&mut text, "models", "Models", &models);
    section(&mut text, "reasons", "Why they differ", &definitions(&all.reasons));
    section(&mut text, "numbers", "Numbers", &overview::numbers(&all.runs));
    let charts: String = curves::latencies(&all.runs).iter().map(Chart::html).collect();
    section(&mut text, "latency", "Latency", &charts);
    let commands = all.commands.iter().fold(String::new(), |text, words| {
        let (model, command) = (escaped(&words.model), escaped(&words.text));
        text + &format!("<h3>{model}</h3>\n<pre class=\"command\">{command}</pre>\n")
    });
    let hint = "<p class=\"hint\">Each command repeats the run of a model. Times differ from run to run, all other numbers do not.</p>\n";
    let commands = if commands.is_empty() { String::new() } else { commands + hint };
    section(&mut text, "made", "How this was made", &commands);
    text + &close()
}

/// A row with a dash in each empty cell.
fn filled(row: &[String], cells: usize) -> Vec<String> {
    let dash = |cell: &String| if cell == "-" { "\u{2013}".to_owned() } else { cell.clone() };
    let mut row: Vec<String> = row.iter().map(dash).collect();
    row.resize(cells.max(row.len()), "\u{2013}".to_owned());
    row
}

fn definitions(all: &[Words]) -> String {
    all.iter().filter(|words| !words.text.is_empty()).fold(String::new(), |text, words| {
        text + &format!("<h3>{}</h3>\n<p>{}</p>\n", escaped(&words.model), escaped(&words.text))
    })
}
