//! Curves over a common axis, with error bars, as SVG.

use crate::picture::{Root, SIZE, Wrong, colour, legend, picture};
use plotters::prelude::*;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Place on the vertical axis.
    pub y: f64,
    /// Half the length of its error bar; 0 for none.
    pub error: f64,
}

/// A curve: its name and its points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub label: String,
    /// Points, ascending in x.
    pub points: Vec<Point>,
}

/// A figure of curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Lines {
    /// Title that stands above the picture.
    pub title: String,
    /// What the horizontal axis shows, with its unit.
    pub x: String,
    /// What the vertical axis shows, with its unit.
    pub y: String,
    /// Curves; drawn in order, the first below and wider, so that it shows where others lie on it.
    pub curves: Vec<Curve>,
    /// Stretches of the horizontal axis that are shaded, from and to.
    pub shaded: Vec<(f64, f64)>,
}

impl Lines {
    /// Draws it: a picture as SVG text.
    ///
    /// # Errors
    /// If the figure cannot be drawn, with the reason.
    pub fn svg(&self) -> Result<String, String> {
        picture(SIZE, |root| self.draw(root))
    }

    fn draw<'a>(&self, root: &Root<'a>) -> Result<(), Wrong<'a>> {
        let points = || self.curves.iter().flat_map(|c| &c.points);
        let right = points().map(|p| p.x).fold(f64::MIN_POSITIVE, f64::max);
        let top = points().map(|p| p.y + p.error).fold(f64::MIN_POSITIVE, f64::max);
        let (ground, side) = root.split_horizontally(SIZE.0 - self.side());
        let mut chart = ChartBuilder::on(&ground)
            .caption(&self.title, ("sans-serif", 18))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(0.0..right, 0.0..top * 1.05)?;
        let bands = self.shaded.iter().filter(|(from, _)| *from < right).map(|&(from, to)| {
            Rectangle::new([(from, 0.0), (to.min(right), top * 1.05)], BLACK.mix(0.06).filled())
        });
        chart.draw_series(bands)?;
        chart.configure_mesh().x_desc(&self.x).y_desc(&self.y).light_line_style(WHITE).draw()?;
        for (n, curve) in self.curves.iter().enumerate() {
            let colour = colour(n);
            let width = width(n);
            let path: Vec<(f64, f64)> = curve.points.iter().map(|p| (p.x, p.y)).collect();
            let bars = curve.points.iter().filter(|p| p.error > 0.0);
            // Bars of several curves overlap: they must not hide the curves.
            let bars = bars.map(|p| {
                PathElement::new(vec![(p.x, p.y - p.error), (p.x, p.y + p.error)], colour.mix(0.35))
            });
            chart.draw_series(bars)?;
            chart
                .draw_series(std::iter::once(PathElement::new(path, colour.stroke_width(width))))?
                .label(&curve.label)
                .legend(move |(x, y)| {
                    PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(width))
                });
        }
        if self.side() == 0 { legend(&mut chart, SeriesLabelPosition::UpperLeft) } else { self.names(&side) }
    }

    /// Width of a column for the names of curves, which would hide some of many; 0 if they find room in a corner.
    fn side(&self) -> u32 {
        let longest = self.curves.iter().map(|c| c.label.chars().count()).max().unwrap_or(0);
        if self.curves.len() <= IN_CORNER { 0 } else { 40 + 7 * longest as u32 }
    }

    /// Names of the curves, each beside its line.
    fn names<'a>(&self, side: &Root<'a>) -> Result<(), Wrong<'a>> {
        for (n, curve) in self.curves.iter().enumerate() {
            let y = 60 + 20 * n as i32;
            side.draw(&PathElement::new(vec![(4, y), (22, y)], colour(n).stroke_width(width(n))))?;
            side.draw(&Text::new(curve.label.clone(), (28, y - 6), ("sans-serif", 12)))?;
        }
        Ok(())
    }
}

/// Most curves whose names stand in a corner of the picture.
const IN_CORNER: usize = 5;

/// Width of a curve's line: the first shows where others lie on it.
fn width(curve: usize) -> u32 {
    if curve == 0 { 4 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_curve_is_drawn_and_named() {
        let point = |x: f64| Point { x, y: x * x, error: x / 10.0 };
        let curve = |label: &str| Curve {
            label: label.into(),
            points: (0..5).map(|x| point(f64::from(x))).collect(),
        };
        let figure = Lines {
            title: "Squares".into(),
            x: "side".into(),
            y: "area".into(),
            curves: vec![curve("first"), curve("second")],
            shaded: vec![(1.0, 2.5)],
        };
        let svg = figure.svg().expect("a figure");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        for word in ["Squares", "side", "area", "first", "second"] {
            assert!(svg.contains(word), "{word}");
        }
        // The ground, a band, and the box of the legend with its border.
        assert_eq!(svg.matches("<rect").count(), 4);
        assert_eq!(svg, figure.svg().expect("a figure"), "the same bytes each time");
        let many = Lines { curves: (0..9).map(|n| curve(&format!("curve {n}"))).collect(), ..figure.clone() };
        let svg = many.svg().expect("a figure");
        assert!((0..9).all(|n| svg.contains(&format!("curve {n}"))));
        assert_eq!(svg.matches("<rect").count(), 2, "no box over the curves");
        let empty = Lines { curves: vec![Curve { label: "none".into(), points: Vec::new() }], ..figure };
        assert!(empty.svg().is_ok());
    }
}
