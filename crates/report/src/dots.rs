//! Values of several series by row on a logarithmic axis, with error bars, as SVG.

use crate::picture::{Root, SIZE, Wrong, colour, legend, picture};
use plotters::prelude::*;

/// A value with the ends of its error bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The value, where its sign is drawn.
    pub middle: f64,
    /// Lower end of the error bar.
    pub low: f64,
    /// Upper end of the error bar.
    pub high: f64,
}

/// Values of one kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub label: String,
    /// By row, where there is one.
    pub values: Vec<Option<Value>>,
    /// Drawn as rings, for what others published.
    pub hollow: bool,
}

/// A figure of values by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Dots {
    /// Title that stands above the picture.
    pub title: String,
    /// What the axis shows, with its unit.
    pub y: String,
    /// Names of rows.
    pub rows: Vec<String>,
    /// Series, side by side within a row.
    pub series: Vec<Series>,
    /// Values below this are drawn at it.
    pub least: f64,
}

impl Dots {
    /// Draws it: a picture as SVG text.
    ///
    /// # Errors
    /// If the figure cannot be drawn, with the reason.
    pub fn svg(&self) -> Result<String, String> {
        picture(SIZE, |root| self.draw(root))
    }

    fn draw<'a>(&self, root: &Root<'a>) -> Result<(), Wrong<'a>> {
        let values = || self.series.iter().flat_map(|s| s.values.iter().flatten());
        let top = values().map(|v| v.high).fold(self.least * 10.0, f64::max) * 1.5;
        let rows = self.rows.len() as f64;
        let mut chart = ChartBuilder::on(root)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .margin_right(24)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(0.0..rows.max(1.0), (self.least * 0.8..top).log_scale())?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(0)
            .y_desc(&self.y)
            .y_label_formatter(&|y| format!("{y}"))
            .light_line_style(WHITE)
            .draw()?;
        for (n, name) in self.rows.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(n as f64 + 0.5, self.least * 0.8));
            let style = ("sans-serif", 12).into_font().into_text_style(root);
            // Two lines, broken at the middle comma, so that neighbours do not touch.
            let (first, second) = halves(name);
            for (line, text) in [first, second].into_iter().enumerate() {
                let width = root.estimate_text_size(text, &style)?.0 as i32;
                root.draw_text(text, &style, (x - width / 2, y + 8 + 15 * line as i32))?;
            }
        }
        let step = 0.7 / self.series.len().max(1) as f64;
        for (n, series) in self.series.iter().enumerate() {
            let colour = colour(n);
            let style = if series.hollow { colour.stroke_width(2) } else { colour.filled() };
            let place = |row: usize| row as f64 + 0.15 + step * (n as f64 + 0.5);
            let seen = || series.values.iter().enumerate().filter_map(|(row, v)| Some((place(row), (*v)?)));
            chart.draw_series(seen().map(|(x, v)| {
                PathElement::new(
                    vec![(x, v.low.max(self.least)), (x, v.high.max(self.least))],
                    colour.stroke_width(2),
                )
            }))?;
            chart
                .draw_series(seen().map(|(x, v)| Circle::new((x, v.middle.max(self.least)), 4, style)))?
                .label(&series.label)
                .legend(move |(x, y)| Circle::new((x + 9, y), 4, style));
        }
        legend(&mut chart, SeriesLabelPosition::LowerLeft)
    }
}

/// A name in two lines.
fn halves(name: &str) -> (&str, &str) {
    let commas: Vec<usize> = name.match_indices(", ").map(|m| m.0).collect();
    let middle = commas.into_iter().min_by_key(|&at| at.abs_diff(name.len() / 2));
    middle.map_or((name, ""), |at| (&name[..=at], &name[at + 2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_and_series_is_drawn() {
        let value = |middle: f64| Some(Value { middle, low: middle / 2.0, high: middle * 2.0 });
        let series = |label: &str, hollow| Series {
            label: label.into(),
            values: vec![value(3.0), None, value(0.0)],
            hollow,
        };
        let figure = Dots {
            title: "Errors".into(),
            y: "percent".into(),
            rows: ["one, two, three", "four", "five, six"].map(str::to_owned).to_vec(),
            series: vec![series("ours", false), series("theirs", true)],
            least: 0.01,
        };
        let svg = figure.svg().unwrap_or_default();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for word in ["Errors", "percent", "one, two,", "three", "four", "ours", "theirs"] {
            assert!(svg.contains(word), "{word}");
        }
        // Two dots and a mark in the legend for each series.
        assert_eq!(svg.matches("<circle").count(), 6);
        assert_eq!(halves("a, bc"), ("a,", "bc"));
    }
}
