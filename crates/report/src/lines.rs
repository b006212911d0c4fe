//! Curves over a common axis, with error bars.

use crate::plot::{Axis, Facet, Mark, Plot, Series, Style};

/// Most points of a curve whose points have markers.
const MARKED: usize = 40;

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
    /// Curves; drawn in order, the first below.
    pub curves: Vec<Curve>,
    /// Stretches of the horizontal axis that are shaded, from and to.
    pub shaded: Vec<(f64, f64)>,
}

impl Lines {
    /// The figure, to be drawn.
    #[must_use]
    pub fn plot(&self) -> Plot {
        let mark = |p: &Point| {
            let bar = (p.error > 0.0).then_some((p.y - p.error, p.y + p.error));
            Mark { x: p.x, y: p.y, bar, hollow: false }
        };
        let series =
            |(name, curve): (usize, &Curve)| Series { name, marks: curve.points.iter().map(mark).collect() };
        let facet =
            Facet { title: String::new(), series: self.curves.iter().enumerate().map(series).collect() };
        let marked = self.curves.iter().all(|curve| curve.points.len() <= MARKED);
        let most = self.curves.iter().flat_map(|c| &c.points).map(|p| p.x).reduce(f64::max);
        Plot {
            style: if marked { Style::Markers } else { Style::Lines },
            title: self.title.clone(),
            x: Axis {
                label: self.x.clone(),
                min: Some(0.0),
                max: most.filter(|x| *x > 0.0),
                ..Axis::default()
            },
            y: Axis { label: self.y.clone(), min: Some(0.0), ..Axis::default() },
            names: self.curves.iter().map(|curve| curve.label.clone()).collect(),
            facets: vec![facet],
            width: 516.0,
            shaded: self.shaded.clone(),
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
            shaded: vec![(1.0, 2.5), (3.5, 9.0)],
        };
        let svg = figure.svg();
        for word in ["Squares", "side", "area", "first", "second"] {
            assert!(svg.contains(&format!(">{word}<")), "{word}");
        }
        assert_eq!(svg.matches("fill=\"#efefef\"").count(), 2, "two bands");
        assert_eq!(svg, figure.svg(), "the same bytes each time");
        let many = Lines { curves: (0..9).map(|n| curve(&format!("curve {n}"))).collect(), ..figure.clone() };
        let svg = many.svg();
        assert!((0..9).all(|n| svg.contains(&format!("curve {n}"))));
        let empty = Lines { curves: vec![Curve { label: "none".into(), points: Vec::new() }], ..figure };
        assert!(empty.svg().starts_with("<svg"));
    }
}
