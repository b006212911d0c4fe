//! Quantities by size of message, both axes logarithmic: curves of what was computed, hollow marks for what others measured.

use crate::plot::{Axis, Facet, Mark, Plot, Series as Points, Ticks};

/// A curve, or marks that no line joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is of: curves and marks of one label look alike.
    pub label: String,
    /// Bytes and value, ascending in bytes; both above zero.
    pub points: Vec<(f64, f64)>,
    /// What others measured: hollow marks that no line joins.
    pub measured: bool,
}

/// A figure of series.
#[derive(Clone, Debug, PartialEq)]
pub struct BySize {
    /// Title that stands above the picture.
    pub title: String,
    /// What the vertical axis shows, with its unit.
    pub y: String,
    /// Who measured, for the legend.
    pub measured: String,
    /// Series; drawn in order, the first below.
    pub series: Vec<Series>,
}

impl BySize {
    /// The figure, to be drawn.
    #[must_use]
    pub fn plot(&self) -> Plot {
        let mut names: Vec<String> = Vec::new();
        for series in &self.series {
            if !names.contains(&series.label) {
                names.push(series.label.clone());
            }
        }
        let mut all = Vec::new();
        for series in &self.series {
            let name = names.iter().position(|label| *label == series.label).unwrap_or(0);
            let mark = |&(x, y): &(f64, f64)| Mark { x, y, bar: None, hollow: series.measured };
            let marks: Vec<Mark> = series.points.iter().map(mark).collect();
            if series.measured {
                // A series of one point has no line.
                all.extend(marks.into_iter().map(|mark| Points { name, marks: vec![mark] }));
            } else {
                all.push(Points { name, marks });
            }
        }
        let measured = self.series.iter().any(|series| series.measured);
        let label = "size of message".to_owned();
        Plot {
            title: self.title.clone(),
            x: Axis { label, logarithmic: true, ticks: Ticks::Bytes, ..Axis::default() },
            y: Axis { label: self.y.clone(), logarithmic: true, ..Axis::default() },
            names,
            hollow: if measured { self.measured.clone() } else { String::new() },
            facets: vec![Facet { title: String::new(), series: all }],
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_and_marks_are_drawn_and_named() {
        let series = |label: &str, measured| Series {
            label: label.into(),
            points: vec![(1.0, 2.8), (4096.0, 3.6), (4_194_304.0, 400.0)],
            measured,
        };
        let figure = BySize {
            title: "Puts".into(),
            y: "microseconds".into(),
            measured: "theirs".into(),
            series: vec![series("put", false), series("put", true), series("get", false)],
        };
        let svg = figure.svg();
        for word in ["Puts", "microseconds", "put", "get", "theirs"] {
            assert!(svg.contains(&format!(">{word}<")), "{word}");
        }
        let plot = figure.plot();
        assert_eq!(
            (plot.names.len(), plot.facets[0].series.len()),
            (2, 5),
            "three measured points are alone"
        );
        assert!(BySize { series: Vec::new(), ..figure }.svg().starts_with("<svg"));
    }
}
