//! A chart of the page: its picture, the numbers that the script shows, and the table behind it.

use super::words::{escaped, table, three};
use crate::plot::{Plot, Style};
use base::visible::acts;
use serde_json::json;
use std::fmt::Write;

/// Most rows of a table behind a chart; of longer ones evenly spread ones are shown.
const MOST_ROWS: usize = 40;

/// The words around a picture of the page.
#[derive(Clone, Copy)]
pub struct Caption<'a> {
    /// The page's only one of this name.
    pub id: &'a str,
    /// What the picture shows.
    pub title: &'a str,
    /// A sentence or two on how to read it.
    pub note: &'a str,
}

/// A chart with the words around it.
pub struct Chart {
    /// The page's only one of this name.
    pub id: String,
    /// What it shows.
    pub title: String,
    /// A sentence or two on how to read it.
    pub note: String,
    /// The figure itself.
    pub plot: Plot,
}

/// JSON within an element `script`: nothing in it ends the element or begins a comment, and names turn no direction of reading.
pub fn data(value: &serde_json::Value) -> String {
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' => text += "\\u003c",
            '>' => text += "\\u003e",
            '&' => text += "\\u0026",
            c if acts(c) => text += "\\ufffd",
            c => text.push(c),
        }
    }
    // Of control characters serde_json writes the numbers.
    text.replace("\\u001b", "\\ufffd")
}

impl Chart {
    /// The chart as HTML.
    pub fn html(&self) -> String {
        let (svg, placed) = self.plot.inline(&self.id);
        let (id, title) = (&self.id, escaped(&self.title));
        let one = match self.plot.facets.len() {
            2.. => " wide",
            _ if self.plot.names.len() > 1 => "",
            _ => " one",
        };
        let mut text = format!("<figure class=\"chart{one}\" id=\"{id}\"><figcaption><h3>{title}</h3>");
        if !self.note.is_empty() {
            let _ = write!(text, "<p>{}</p>", escaped(&self.note));
        }
        let _ = write!(
            text,
            "</figcaption>\n<div class=\"picture\" role=\"group\" tabindex=\"0\" aria-label=\"{title}: arrow keys read its values\">\n{svg}</div>\n"
        );
        let points: Vec<_> = placed
            .iter()
            .map(|p| json!([p.series, round(p.at.0), round(p.at.1), self.x_of(p.value.0), three(p.value.1)]))
            .collect();
        let names: Vec<&str> = self.plot.names.iter().map(String::as_str).collect();
        let object = json!({
            "x": self.plot.x.label, "y": self.plot.y.label, "names": names, "points": points,
        });
        let _ = writeln!(text, "<script type=\"application/json\">{}</script>", data(&object));
        text + &self.numbers() + "</figure>\n"
    }

    fn x_of(&self, x: f64) -> String {
        let name = self.plot.x.names.get(x.round().max(0.0) as usize);
        name.cloned().unwrap_or_else(|| three(x))
    }

    /// The table behind the chart: for those who do not see it, and those who want the numbers.
    fn numbers(&self) -> String {
        let all = self.plot.facets.iter().flat_map(|facet| &facet.series);
        let rows: Vec<Vec<String>> = all
            .flat_map(|series| {
                let every = series.marks.len().div_ceil(MOST_ROWS).max(1);
                let last = series.marks.len().saturating_sub(1);
                let name = self.plot.names.get(series.name).cloned().unwrap_or_default();
                series.marks.iter().enumerate().filter(move |(n, _)| n % every == 0 || *n == last).map(
                    move |(_, m)| {
                        let name = if name.is_empty() { self.title.clone() } else { name.clone() };
                        vec![name, self.x_of(m.x), three(m.y)]
                    },
                )
            })
            .collect();
        let heads = ["series", self.plot.x.label.as_str(), self.plot.y.label.as_str()];
        let all: usize = self.plot.facets.iter().flat_map(|f| &f.series).map(|s| s.marks.len()).sum();
        let some = if rows.len() < all { format!(": {} of {all} points", rows.len()) } else { String::new() };
        let caption = format!("{}{some}", self.title);
        format!("<details><summary>Numbers</summary>{}</details>\n", table(&caption, &heads, &rows))
    }
}

fn round(x: f64) -> f64 {
    (x * 10.0).round() / 10.0
}

/// An empty figure as wide as the page's column.
pub fn wide(style: Style) -> Plot {
    Plot { style, width: 400.0, ..Plot::default() }
}
