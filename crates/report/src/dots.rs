//! Values of several series by row on a logarithmic axis, with error bars.

use crate::plot::{Axis, Facet, Mark, Plot, Series as Points, Ticks};

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
    /// Drawn hollow, for what others published.
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
    /// Values below this are drawn at it; the axis says so.
    pub least: f64,
}

impl Dots {
    /// The figure, to be drawn.
    #[must_use]
    pub fn plot(&self) -> Plot {
        let count = self.series.len().max(1) as f64;
        let at = |y: f64| y.max(self.least);
        let points = |(name, series): (usize, &Series)| {
            let shift = 0.7 * ((name as f64 + 0.5) / count - 0.5);
            let mark = |(row, value): (usize, &Option<Value>)| {
                let Value { middle, low, high } = (*value)?;
                let (x, bar) = (row as f64 + shift, Some((at(low), at(high))));
                Some(Mark { x, y: at(middle), bar, hollow: series.hollow })
            };
            Points { name, marks: series.values.iter().enumerate().filter_map(mark).collect() }
        };
        let values = || self.series.iter().flat_map(|s| s.values.iter().flatten());
        let below = values().any(|value| value.low < self.least);
        let least = if self.least < 1e-4 { format!("{:e}", self.least) } else { self.least.to_string() };
        let note = if below { format!(" (less than {least} at {least})") } else { String::new() };
        let hollow = self.series.iter().any(|series| series.hollow);
        // A letter of the axis is some 3.7 points wide.
        let letters = (440.0 / 3.7 / self.rows.len().max(1) as f64).clamp(8.0, 40.0) as usize;
        let top = values().map(|value| value.high).fold(self.least * 10.0, f64::max) * 1.5;
        Plot {
            title: self.title.clone(),
            x: Axis {
                ticks: Ticks::Named,
                names: self.rows.iter().map(|row| wrapped(row, letters)).collect(),
                ..Axis::default()
            },
            y: Axis {
                label: format!("{}{note}", self.y),
                logarithmic: true,
                min: Some(self.least * 0.8),
                max: Some(top),
                ..Axis::default()
            },
            names: self.series.iter().map(|series| series.label.clone()).collect(),
            hollow: if hollow { "published".to_owned() } else { String::new() },
            facets: vec![Facet {
                title: String::new(),
                series: self.series.iter().enumerate().map(points).collect(),
            }],
            width: 516.0,
            ..Plot::default()
        }
    }

    /// Draws it as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        self.plot().svg()
    }
}

/// A name in lines of at most so many letters, where words allow it, so that neighbours do not touch.
fn wrapped(name: &str, letters: usize) -> String {
    let mut text = String::new();
    let mut long = 0;
    for word in name.split(' ') {
        let own = word.chars().count();
        let fits = long + 1 + own <= letters;
        text += if text.is_empty() {
            ""
        } else if fits {
            " "
        } else {
            "\n"
        };
        text += word;
        long = if fits { long + 1 + own } else { own };
    }
    text
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
        let svg = figure.svg();
        for word in [
            "Errors",
            "percent (less than 0.01 at 0.01)",
            "one, two, three",
            "four",
            "ours",
            "theirs",
            "published",
        ] {
            assert!(svg.contains(&format!(">{word}<")), "{word}");
        }
        assert!(Dots { least: 1e-13, ..figure.clone() }.svg().contains("percent (less than 1e-13 at 1e-13)"));
        assert_eq!(wrapped("8,448, one global link per pair", 14), "8,448, one\nglobal link\nper pair");
        assert_eq!(wrapped("alone", 3), "alone");
        assert_eq!(figure.plot().facets[0].series[0].marks.len(), 2);
    }
}
