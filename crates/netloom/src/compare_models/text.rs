//! A comparison of models for people: a table, and a paragraph for each model.

use super::{
    measures::seconds,
    outcome::{ModelComparison, Row},
    reasons::reasons,
    variant::Variant,
};
use crate::explained::wrap;
use base::visible;
use std::fmt::Write;

impl ModelComparison {
    /// The table with one line per model, then why they differ.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.head();
        text += "\n\n";
        text += &aligned(&self.lines());
        for (name, sentences) in self.paragraphs() {
            let _ = write!(text, "\n{name}\n{}", indented(&sentences));
        }
        text
    }

    /// How many models carry it, and what errors are against.
    #[must_use]
    pub fn head(&self) -> String {
        let (all, runs) = (self.rows.len(), self.carried().count());
        let carry = if runs == 1 { "carries" } else { "carry" };
        let mut text = format!("{}: {runs} of {all} models {carry} it", visible::name(&self.name()));
        if let Some((reference, _)) = self.carried().next().filter(|_| runs > 1) {
            let _ = write!(text, "; errors are against {}", reference.name());
        }
        text
    }

    /// Each model with why it differs, or is not carried.
    #[must_use]
    pub fn paragraphs(&self) -> Vec<(&'static str, String)> {
        let mut run = 0;
        let mut of = |row: &Row| {
            let mut sentences = match &row.outcome {
                Ok(_) => reasons(self, run),
                Err(reason) => vec![format!("Not carried: {reason}.")],
            };
            run += usize::from(row.outcome.is_ok());
            sentences.extend(changes(row));
            (row.name(), sentences.join(" "))
        };
        self.rows.iter().map(&mut of).collect()
    }

    /// Cells of the table, its heads first; lines of models that do not carry it are short.
    #[must_use]
    pub fn lines(&self) -> Vec<Vec<String>> {
        let shown: Vec<usize> = (0..self.measures.len()).filter(|&n| self.measures[n].0.shown).collect();
        let mut lines = vec![vec!["model".to_owned(), "state".to_owned()]];
        lines[0].extend(
            shown
                .iter()
                .flat_map(|&n| [visible::name(&self.measures[n].0.title).into_owned(), "error".to_owned()]),
        );
        lines[0].extend(["time".to_owned(), "faster".to_owned()]);
        for (run, (row, ran)) in self.carried().enumerate() {
            let mut line = vec![row.name().to_owned(), ran.summary.verdict.state.name().to_owned()];
            for &n in &shown {
                let (measure, values) = &self.measures[n];
                line.push(values[run].map_or_else(none, |value| measure.print(value)));
                line.push(self.error(run, n).filter(|_| run > 0).map_or_else(none, signed));
            }
            line.push(seconds(&ran.summary).map_or_else(none, time));
            line.push(self.faster(run).filter(|_| run > 0).map_or_else(none, times));
            lines.push(line);
        }
        let without = self.rows.iter().filter(|row| row.outcome.is_err());
        lines.extend(without.map(|row| vec![row.name().to_owned(), "not carried".to_owned()]));
        lines
    }
}

/// What was changed of the file beside its model.
fn changes(row: &Row) -> Vec<String> {
    let Variant { left_out, .. } = &row.variant;
    if row.outcome.is_err() {
        return Vec::new();
    }
    let keys: Vec<&str> = left_out.iter().filter_map(|text| text.strip_prefix("[model] ")).collect();
    let sections = left_out.iter().filter(|text| !text.starts_with("[model] "));
    let sections: Vec<&str> = sections.map(String::as_str).collect();
    let of = |what: &str, all: &[&str]| (!all.is_empty()).then(|| format!("{what}: {}.", all.join(", ")));
    let all = [of("Keys of [model] that it does not read", &keys), of("Sections left out", &sections)];
    all.into_iter().flatten().collect()
}

/// In lines, in which no number stands without its per cent.
fn indented(text: &str) -> String {
    wrap(&text.replace(" %", "\u{1}%"), 2).replace('\u{1}', " ")
}

fn none() -> String {
    "-".to_owned()
}

fn signed(error: f64) -> String {
    let percent = error * 100.0;
    // No sign where nothing is left after rounding.
    let percent = if percent.abs() < 0.005 { 0.0 } else { percent };
    if percent == 0.0 { "0.00 %".to_owned() } else { format!("{percent:+.2} %") }
}

fn times(faster: f64) -> String {
    let digits = if faster < 10.0 { 1 } else { 0 };
    format!("{faster:.digits$} x")
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 0.001 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Columns in two spaces' distance: the first two to the left, numbers to the right.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let wide = |column: usize| lines.iter().filter_map(|l| l.get(column)).map(|c| c.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| wide(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in lines {
        let mut row = String::new();
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let _ = if column < 2 { write!(row, "{cell:width$}  ") } else { write!(row, "{cell:>width$}  ") };
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([signed(-0.12345), signed(0.00001), signed(0.5)], ["-12.35 %", "0.00 %", "+50.00 %"]);
        assert_eq!([times(3.21), times(321.0)], ["3.2 x", "321 x"]);
        assert_eq!([time(0.000321), time(0.00321), time(3.217)], ["321 us", "3.2 ms", "3.22 s"]);
    }

    #[test]
    fn columns_are_aligned() {
        let lines =
            [vec!["a".to_owned(), "ok".to_owned(), "1".to_owned()], vec!["bcd".to_owned(), "no".to_owned()]];
        assert_eq!(aligned(&lines), "a    ok  1\nbcd  no\n");
    }
}
