//! What is drawn.

use super::axis::Axis;

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Place on the horizontal axis.
    pub x: f64,
    /// Value, in the unit of the axis.
    pub y: f64,
    /// Ends of its error bar, if it has one.
    pub bar: Option<(f64, f64)>,
    /// Drawn hollow: a value that must not be trusted as the others are.
    pub hollow: bool,
}

/// A curve of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its number in [`Plot::names`].
    pub name: usize,
    /// Points, ascending in x.
    pub marks: Vec<Mark>,
}

/// One of several pictures with common axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Facet {
    /// What stands above it; empty for nothing.
    pub title: String,
    /// Its curves, each once.
    pub series: Vec<Series>,
}

/// How points are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Markers, joined by lines unless places have names.
    #[default]
    Markers,
    /// Lines alone: for curves of many points.
    Lines,
    /// Bars from zero, those of several series side by side.
    Bars,
}

/// A figure of panels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// How points are drawn.
    pub style: Style,
    /// What stands above the figure; empty for nothing.
    pub title: String,
    /// Horizontal axis of all panels.
    pub x: Axis,
    /// Vertical axis of all panels.
    pub y: Axis,
    /// Names of the series, for the legend.
    pub names: Vec<String>,
    /// What hollow marks mean, if there are any.
    pub hollow: String,
    /// The panels, row by row.
    pub facets: Vec<Facet>,
    /// Width in points, 1/72 inch.
    pub width: f64,
    /// Stretches of the horizontal axis that are shaded, from and to.
    pub shaded: Vec<(f64, f64)>,
}
