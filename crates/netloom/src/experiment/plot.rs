//! `[[plot]]`: figures of a sweep's points.

use super::{
    level::{Measure, suffix_of},
    reader::{self, OPTIONAL, Spec},
    sweep::{Axis, Condition, conditions, tables_of},
    tree::{Data, Table},
};
use base::{
    diag::{Diagnostic, Diagnostics, Place},
    param::{Kind, Param},
    registry::{About, nearest},
};
use model::section::Section;

const SCALES: Kind = Kind::Choice(&["linear", "logarithmic"]);

/// Tables `[[plot]]` of a file.
pub const PLOT: About = About {
    name: "plot",
    summary: "a figure of a sweep's points; one [[plot]] for each",
    doc: "`netloom plot DIR --out FIGURES` draws it as SVG and PDF. Every axis of the sweep must have its place: on `x`, as `series`, as \
          `panels`, or at the value that `only` names, as in `only = { traffic = \"uniform\" }` (which reads as [[sweep.skip]] does). \
          Repetitions are drawn as their mean with an error bar. Hollow marks are points whose state is not \"ok\": beyond saturation \
          latency depends on the length of the run. Series differ by colour, marker and dashes. The PDF names the font \
          Helvetica and does not hold it.",
    source: "colours: Okabe, Ito: Color Universal Design, 2008",
    params: &[
        Param {
            name: "name",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "Name of its files; figure-1, figure-2, .. if left out.",
        },
        Param { name: "title", kind: Kind::Text, default: OPTIONAL, doc: "What stands above the figure." },
        Param {
            name: "x",
            kind: Kind::Text,
            default: None,
            doc: "Horizontal: an axis of the sweep, or a number of the points as in `y`; then curves run along the axis that has no other place.",
        },
        Param {
            name: "y",
            kind: Kind::Text,
            default: None,
            doc: "Vertical: a number of the points, called as in points.csv and summary.json: \"latency_ps.mean\".",
        },
        Param {
            name: "series",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Axes whose values are curves of their own.",
        },
        Param {
            name: "panels",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "Axis whose values are panels side by side.",
        },
        Param {
            name: "error",
            kind: Kind::Choice(&["confidence", "range", "none"]),
            default: Some("confidence"),
            doc: "Error bars of repetitions: the 95 % confidence interval of the mean (Student's t), or least and greatest.",
        },
        Param {
            name: "states",
            kind: Kind::Texts,
            default: Some("[]"),
            doc: "Draw only points of these states, such as [\"ok\", \"not-stationary\"]; [] for all.",
        },
        Param {
            name: "x_label",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "Name of the horizontal axis; its unit is added.",
        },
        Param {
            name: "y_label",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "Name of the vertical axis; its unit is added.",
        },
        Param {
            name: "x_scale",
            kind: SCALES,
            default: Some("linear"),
            doc: "Equal distances or equal ratios.",
        },
        Param {
            name: "y_scale",
            kind: SCALES,
            default: Some("linear"),
            doc: "The same of the vertical axis.",
        },
        Param {
            name: "x_min",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "Least value shown, a number or a quantity in quotes (\"0.1\", \"5 us\"); if left out what the points need.",
        },
        Param {
            name: "x_max",
            kind: Kind::Text,
            default: OPTIONAL,
            doc: "Greatest value shown; points beyond it are cut off.",
        },
        Param { name: "y_min", kind: Kind::Text, default: OPTIONAL, doc: "The same of the vertical axis." },
        Param { name: "y_max", kind: Kind::Text, default: OPTIONAL, doc: "The same of the vertical axis." },
        Param {
            name: "width",
            kind: Kind::Choice(&["column", "page"]),
            default: Some("page"),
            doc: "Printed width: a column (3.5 in) or a page of two (7.16 in).",
        },
    ],
};

/// How values become bars of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bars {
    /// Interval of the mean.
    Confidence,
    /// Least and greatest.
    Range,
    /// No bars at all.
    None,
}

/// What one of the two directions shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Direction {
    /// Name of a number; of the horizontal direction also of an axis.
    pub of: String,
    /// Its label, if the file gives one.
    pub label: Option<String>,
    /// Equal ratios at equal distances.
    pub logarithmic: bool,
    /// Ends, if the file gives them.
    pub ends: [Option<Measure>; 2],
}

/// A checked `[[plot]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct PlotSpec {
    /// Name of its files.
    pub name: String,
    /// Title, or nothing.
    pub title: String,
    /// The horizontal direction.
    pub x: Direction,
    /// The vertical direction.
    pub y: Direction,
    /// The axis that curves run along.
    pub along: usize,
    /// Axes whose values are curves.
    pub series: Vec<usize>,
    /// The axis whose values are panels.
    pub panels: Option<usize>,
    /// What points must fit.
    pub only: Vec<Condition>,
    /// States of the points that are drawn; all if empty.
    pub states: Vec<String>,
    /// What error bars show.
    pub bars: Bars,
    /// A page wide instead of a column.
    pub page: bool,
}

/// Takes the figures out of a file's tree and reads them. Mistakes are reported.
pub fn take(root: &mut Table, axes: &[Axis], diagnostics: &mut Diagnostics) -> Vec<PlotSpec> {
    let Some(at) = root.entries.iter().position(|e| e.key == PLOT.name) else { return Vec::new() };
    let entry = root.entries.remove(at);
    let (mut plots, mut named): (Vec<PlotSpec>, _) = (Vec::new(), 0);
    for (table, home) in tables_of(&entry, PLOT.name, diagnostics) {
        let number = plots.len() + 1;
        plots.extend(read_plot(table, home, number, axes, &mut named, diagnostics));
        let [before @ .., last] = plots.as_slice() else { continue };
        if before.iter().any(|p| p.name == last.name) {
            let message = format!("two figures are called \"{}\"", last.name);
            diagnostics.push(Diagnostic::new(home, message).help("give each a `name` of its own"));
        }
    }
    plots
}

fn read_plot(
    table: &Table,
    home: Place,
    number: usize,
    axes: &[Axis],
    named: &mut usize,
    diagnostics: &mut Diagnostics,
) -> Option<PlotSpec> {
    let before = diagnostics.len();
    let params = PLOT.params.into();
    let spec = Spec { title: "[[plot]]", params, also: &["only"], elsewhere: &Vec::new, lenient: false };
    let section = reader::read(&spec, table, home, diagnostics);
    if !section.complete {
        return None;
    }
    let text = |key: &str| Some(section.values.text(key)).filter(|text| !text.is_empty());
    let name = text("name").unwrap_or_else(|| format!("figure-{number}"));
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) || name.starts_with('.') {
        let message = format!("\"{name}\" is no name for a file");
        diagnostics.push(Diagnostic::new(section.place("name"), message).help("letters, digits, - and _"));
    }
    let only = match table.get("only").map(|e| (&e.node.data, e.key_place)) {
        None => Vec::new(),
        Some((Data::Table(table), place)) => conditions(table, place, axes, named, diagnostics),
        Some((_, place)) => {
            let help = "write `only = { traffic = \"uniform\" }`";
            diagnostics.push(Diagnostic::new(place, "`only` must be a table of axes and values").help(help));
            Vec::new()
        }
    };
    let places = places(&section, &only, axes, diagnostics)?;
    let direction = |of: &str| direction(&section, of);
    for (key, end) in
        ["x_min", "x_max", "y_min", "y_max"].into_iter().filter_map(|key| Some((key, text(key)?)))
    {
        let refused = wrong_end(key, &end, &section.values.text(&key[..1]), axes);
        if let Some((why, help)) = refused {
            diagnostics.push(Diagnostic::new(section.place(key), why).help(help));
        }
    }
    let bars = match section.values.text("error").as_str() {
        "confidence" => Bars::Confidence,
        "range" => Bars::Range,
        _ => Bars::None,
    };
    (diagnostics.len() == before).then(|| PlotSpec {
        name,
        title: section.values.text("title"),
        x: direction("x"),
        y: direction("y"),
        along: places.along,
        series: places.series,
        panels: places.panels,
        only,
        states: section.values.texts("states"),
        bars,
        page: section.values.text("width") == "page",
    })
}

/// Why an end does not fit what its direction shows, an axis or a number of the points, and what to do.
fn wrong_end(key: &str, end: &str, of: &str, axes: &[Axis]) -> Option<(String, String)> {
    let is = |suffix: &str| match suffix {
        "_ps" => "a time",
        "_bytes" => "a number of bytes",
        "_bytes_per_s" => "a bandwidth",
        _ => "a plain number",
    };
    let measure = measured(end);
    if measure.number().is_none() {
        let help = "write \"5 us\", \"1 MiB\" or \"0.8\"";
        return Some((format!("`{key}`: `{end}` is neither number nor quantity"), help.to_owned()));
    }
    let axis = axes.iter().find(|axis| axis.name == of).and_then(|axis| axis.levels.first());
    let (wanted, given) =
        (axis.map_or_else(|| suffix_of(of), |level| level.measure.suffix()), measure.suffix());
    let why = || format!("`{key}`: `{end}` is {}, and `{of}` is {}", is(given), is(wanted));
    let help = || format!("write {}, or take `{key}` out", is(wanted));
    (!given.is_empty() && given != wanted).then(|| (why(), help()))
}

fn measured(text: &str) -> Measure {
    text.trim().parse().map_or_else(|_| Measure::of_text(text.trim()), Measure::Real)
}

fn direction(section: &Section, of: &str) -> Direction {
    let text = |key: &str| Some(section.values.text(&format!("{of}_{key}"))).filter(|text| !text.is_empty());
    Direction {
        of: section.values.text(of),
        label: text("label"),
        logarithmic: text("scale").as_deref() == Some("logarithmic"),
        ends: ["min", "max"].map(|end| text(end).map(|text| measured(&text))),
    }
}

/// Which axis stands where.
struct Places {
    along: usize,
    series: Vec<usize>,
    panels: Option<usize>,
}

/// Gives each axis its place; an axis without one would mix its values in a curve.
fn places(
    section: &Section,
    only: &[Condition],
    axes: &[Axis],
    diagnostics: &mut Diagnostics,
) -> Option<Places> {
    let names = || axes.iter().map(|axis| axis.name.as_str());
    let find = |name: &str| names().position(|known| known == name);
    let mut found = |key: &str, name: &str| {
        let at = find(name);
        if at.is_none() {
            let mut diagnostic = Diagnostic::new(section.place(key), format!("there is no axis `{name}`"))
                .label("unknown axis");
            if let Some(near) = nearest(name, names()).first() {
                diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
            }
            diagnostics
                .push(diagnostic.help(format!("the axes are {}", names().collect::<Vec<_>>().join(", "))));
        }
        at
    };
    let series: Vec<Option<usize>> =
        section.values.texts("series").iter().map(|name| found("series", name)).collect();
    let panels = Some(section.values.text("panels")).filter(|name| !name.is_empty());
    let panels = panels.map(|name| found("panels", &name));
    let series: Vec<usize> = series.into_iter().collect::<Option<_>>()?;
    let panels = match panels {
        Some(found) => Some(found?),
        None => None,
    };
    let x = find(&section.values.text("x"));
    let placed = |axis: usize| series.contains(&axis) || panels == Some(axis) || fixed(axis, only, axes);
    let free: Vec<usize> = (0..axes.len()).filter(|&axis| !placed(axis) && x != Some(axis)).collect();
    let along = match (x, free.as_slice()) {
        (Some(x), []) => x,
        (None, [along]) => *along,
        (_, free) => {
            let listed = free.iter().map(|&axis| axes[axis].name.as_str()).collect::<Vec<_>>().join("`, `");
            let (message, help) = if free.is_empty() {
                let x = section.values.text("x");
                (
                    format!("`{x}` is no axis, and none is left for curves to run along"),
                    "leave an axis without another place".to_owned(),
                )
            } else {
                let help =
                    "name each in `series` or `panels`, or fix it: `only = { AXIS = VALUE }`".to_owned();
                (format!("axis `{listed}` has no place in this figure: its points would be mixed"), help)
            };
            diagnostics.push(Diagnostic::new(section.home, message).help(help));
            return None;
        }
    };
    Some(Places { along, series, panels })
}

/// True if the conditions leave one value of an axis.
fn fixed(axis: usize, only: &[Condition], axes: &[Axis]) -> bool {
    let fits = |condition: &&Condition| condition.axis == axis;
    let mut all = only.iter().filter(fits).peekable();
    all.peek().is_some()
        && axes[axis].levels.iter().filter(|level| only.iter().filter(fits).all(|c| c.fits(level))).count()
            == 1
}
