//! Quantities by size of message, both axes logarithmic: curves of what was computed, circles for what others measured.

use crate::picture::{Root, SIZE, Wrong, colour, legend, picture};
use plotters::prelude::*;

/// A curve, or circles.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub label: String,
    /// Bytes and value, ascending in bytes; both above zero.
    pub points: Vec<(f64, f64)>,
    /// Circles that no line joins.
    pub circles: bool,
    /// Series of one colour belong together.
    pub colour: usize,
}

/// A figure of series.
#[derive(Clone, Debug, PartialEq)]
pub struct BySize {
    /// Title that stands above the picture.
    pub title: String,
    /// What the vertical axis shows, with its unit.
    pub y: String,
    /// Series; drawn in order, the first below.
    pub series: Vec<Series>,
}

/// A power of ten in bytes.
fn bytes(size: &f64) -> String {
    let (number, unit) = match *size {
        s if s >= 999_999.0 => (s / 1e6, "MB"),
        s if s >= 999.0 => (s / 1e3, "kB"),
        s => (s, "B"),
    };
    format!("{number:.0} {unit}")
}

/// A power of ten without more zeros than it needs.
fn plain(value: &f64) -> String {
    if *value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}

impl BySize {
    /// Draws it: a picture as SVG text.
    ///
    /// # Errors
    /// If the figure cannot be drawn, with the reason.
    pub fn svg(&self) -> Result<String, String> {
        picture(SIZE, |root| self.draw(root))
    }

    fn draw<'a>(&self, root: &Root<'a>) -> Result<(), Wrong<'a>> {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let right = points().map(|p| p.0).fold(10.0, f64::max);
        let least = points().map(|p| p.1).fold(f64::INFINITY, f64::min);
        let (bottom, top) = if least.is_finite() {
            (least, points().map(|p| p.1).fold(least, f64::max))
        } else {
            (1.0, 10.0)
        };
        let mut chart = ChartBuilder::on(root)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d((1.0..right * 1.3).log_scale(), (bottom / 1.5..top * 1.5).log_scale())?;
        let mut mesh = chart.configure_mesh();
        mesh.x_desc("size of message").y_desc(&self.y).light_line_style(WHITE);
        mesh.x_label_formatter(&bytes).y_label_formatter(&plain).draw()?;
        for series in &self.series {
            let colour = colour(series.colour);
            if series.circles {
                let circles = series.points.iter().map(|&p| Circle::new(p, 4, colour.stroke_width(1)));
                chart
                    .draw_series(circles)?
                    .label(&series.label)
                    .legend(move |(x, y)| Circle::new((x + 9, y), 4, colour.stroke_width(1)));
            } else {
                let line = PathElement::new(series.points.clone(), colour.stroke_width(2));
                chart.draw_series(std::iter::once(line))?.label(&series.label).legend(move |(x, y)| {
                    PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2))
                });
            }
        }
        legend(&mut chart, SeriesLabelPosition::UpperLeft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_and_circles_are_drawn_and_named() {
        let series = |label: &str, circles| Series {
            label: label.into(),
            points: vec![(1.0, 2.8), (4096.0, 3.6), (4_194_304.0, 400.0)],
            circles,
            colour: 0,
        };
        let figure = BySize {
            title: "Puts".into(),
            y: "microseconds".into(),
            series: vec![series("ours", false), series("theirs", true)],
        };
        let svg = figure.svg().expect("a figure");
        for word in ["Puts", "microseconds", "ours", "theirs", "1 kB", "100 kB", "<circle"] {
            assert!(svg.contains(word), "{word}");
        }
        let empty = BySize { series: Vec::new(), ..figure };
        assert!(empty.svg().is_ok());
    }
}
