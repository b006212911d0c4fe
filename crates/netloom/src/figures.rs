//! Figures of a sweep: which points make which curves, with what units and error bars. `report` draws them.

use crate::{
    error::{Error, ErrorKind},
    experiment::{
        level::{Level, Measure, shown, suffix_of},
        plot::{Bars, Direction, PlotSpec},
        sweep::Axis as SweepAxis,
    },
    ours,
    sweep::{outcome::Row, store::FAILED},
};
use base::{
    registry::nearest,
    sorted::{SortedMap, SortedSet},
};
use report::plot::{Axis, Facet, Mark, Plot, Series, Ticks};
use results::{batch::student_t, numbers::numbers};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Width of a printed column and of a page of two, in points.
const WIDTHS: [f64; 2] = [252.0, 516.0];

/// A figure and what it leaves out.
pub struct Figure {
    /// Name of its files.
    pub name: String,
    /// What is drawn.
    pub plot: Plot,
    /// What is not, a line each.
    pub remarks: Vec<String>,
}

/// A point with the numbers of its two directions, in units of the table.
struct Sample<'a> {
    row: &'a Row,
    x: f64,
    y: f64,
}

/// Writes a figure as SVG and PDF into a directory, which is made if it is missing; figures of these names are replaced.
///
/// # Errors
/// If the system refuses, or a file of such a name is no figure of ours.
pub fn put(plot: &Plot, directory: &Path, name: &str) -> Result<Vec<PathBuf>, Error> {
    let mut written = Vec::new();
    let path = |form: &str| directory.join(format!("{name}.{form}"));
    ["svg", "pdf"].iter().try_for_each(|form| ours::may_replace(&path(form)))?;
    for (form, bytes) in [("svg", (plot.svg() + ours::COMMENT).into_bytes()), ("pdf", ours::pdf(plot.pdf()))]
    {
        let path = path(form);
        let put = fs::create_dir_all(directory).and_then(|()| fs::write(&path, bytes));
        put.map_err(|e| Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display())))?;
        written.push(path);
    }
    Ok(written)
}

/// A figure of points.
///
/// # Errors
/// If no point has a number that it shows.
pub fn figure(spec: &PlotSpec, axes: &[SweepAxis], rows: &[Row]) -> Result<Figure, Error> {
    let x_axis = axes.iter().position(|axis| axis.name == spec.x.of);
    let fits = |row: &&Row| {
        let state = &row.record.state;
        spec.only.iter().all(|c| c.fits(&row.point.levels[c.axis]))
            && (spec.states.is_empty() || spec.states.contains(state))
    };
    let chosen: Vec<&Row> = rows.iter().filter(fits).collect();
    let names: Vec<Level> = x_axis.map_or_else(Vec::new, |axis| names_of(axis, &chosen));
    let x = |row: &Row, all: &SortedMap<String, f64>| match x_axis {
        None => all.get(&spec.x.of).copied(),
        Some(axis) => {
            let level = &row.point.levels[axis];
            let place = || names.iter().position(|known| known.label == level.label).map(|n| n as f64);
            if names.is_empty() { level.measure.number() } else { place() }
        }
    };
    let mut known = SortedSet::new();
    let mut samples = Vec::new();
    for &row in &chosen {
        let all: SortedMap<String, f64> =
            row.record.summary.as_ref().map_or_else(Vec::new, numbers).into_iter().collect();
        known.extend(all.keys().cloned());
        if let (Some(x), Some(&y)) = (x(row, &all), all.get(&spec.y.of)) {
            samples.push(Sample { row, x, y });
        }
    }
    if samples.is_empty() {
        return Err(nothing(spec, x_axis, chosen.len(), &known));
    }
    let mut remarks = Vec::new();
    if samples.len() < chosen.len() {
        let failed = chosen.iter().filter(|row| row.record.state == FAILED).count();
        let less = chosen.len() - samples.len();
        remarks.push(format!(
            "figure {}: {less} points are left out: {failed} failed, others lack its numbers",
            spec.name
        ));
    }
    let plot = plot(spec, axes, x_axis, names, &samples);
    remarks.extend(beyond(spec, &plot));
    Ok(Figure { name: spec.name.clone(), plot, remarks })
}

/// Points that the ends of the axes leave out: a line for each end, with the curves and how many of their points.
fn beyond(spec: &PlotSpec, plot: &Plot) -> Vec<String> {
    let ends = [("x", &spec.x, &plot.x, 0), ("y", &spec.y, &plot.y, 1)].into_iter().flat_map(
        |(key, of, axis, n)| {
            let below = axis.min.map(|end| (format!("below `{key}_min"), &of.ends[0], end, n, -1.0));
            let above = axis.max.map(|end| (format!("above `{key}_max"), &of.ends[1], end, n, 1.0));
            below.into_iter().chain(above)
        },
    );
    let mut lines = Vec::new();
    for (place, end, limit, n, sign) in ends {
        let out = |mark: &&Mark| ([mark.x, mark.y][n] - limit) * sign > limit.abs() * 1e-9;
        let curves = plot.names.iter().enumerate().filter_map(|(number, name)| {
            let marks = || {
                let series = plot.facets.iter().flat_map(|f| &f.series).filter(move |s| s.name == number);
                series.flat_map(|s| &s.marks)
            };
            let (all, out) = (marks().count(), marks().filter(out).count());
            let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
            (out > 0).then(|| format!("{out} of {all} points{of}"))
        });
        let curves = curves.collect::<Vec<_>>().join(", ");
        if !curves.is_empty() {
            let end = end.as_ref().map_or_else(String::new, |end| shown(&end.data()));
            lines.push(format!("figure {}: not drawn, {place} = \"{end}\"`: {curves}", spec.name));
        }
    }
    lines
}

/// Names on the horizontal axis where its values are no numbers of one kind.
fn names_of(axis: usize, rows: &[&Row]) -> Vec<Level> {
    let levels = || rows.iter().map(|row| &row.point.levels[axis]);
    let Some(first) = levels().next() else { return Vec::new() };
    if levels().all(|level| level.measure.compares(&first.measure)) {
        return Vec::new();
    }
    distinct(levels())
}

fn distinct<'a>(levels: impl Iterator<Item = &'a Level>) -> Vec<Level> {
    let mut all: Vec<Level> = Vec::new();
    for level in levels {
        if all.iter().all(|known| known.label != level.label) {
            all.push(level.clone());
        }
    }
    all
}

fn nothing(spec: &PlotSpec, x_axis: Option<usize>, points: usize, known: &SortedSet<String>) -> Error {
    let missing = [&spec.y.of].into_iter().chain([&spec.x.of].into_iter().filter(|_| x_axis.is_none()));
    let message = match missing.into_iter().find(|name| !known.contains(*name)) {
        _ if points == 0 => format!("figure {}: no point fits its `only` and `states`", spec.name),
        Some(name) => format!("figure {}: no point has a number `{name}`", spec.name),
        None => format!("figure {}: no point has both of its numbers", spec.name),
    };
    let near = nearest(&spec.y.of, known.iter().map(String::as_str));
    let help = match near.first() {
        Some(near) => format!("did you mean `{near}`? points.csv names all numbers"),
        None => "points.csv names all numbers".to_owned(),
    };
    Error::new(ErrorKind::Experiment, message).with_help(help)
}

/// Points of one place of a curve, over all seeds.
#[derive(Default)]
struct Group {
    x: Vec<f64>,
    y: Vec<f64>,
    hollow: bool,
}

fn plot(
    spec: &PlotSpec,
    axes: &[SweepAxis],
    x_axis: Option<usize>,
    names: Vec<Level>,
    samples: &[Sample<'_>],
) -> Plot {
    let curve = |row: &Row| -> Vec<String> {
        spec.series.iter().map(|&a| row.point.levels[a].label.clone()).collect()
    };
    let panel = |row: &Row| spec.panels.map(|axis| row.point.levels[axis].label.clone()).unwrap_or_default();
    let place = |row: &Row| row.point.levels[spec.along].label.clone();
    let (mut curves, mut panels, mut places) = (Vec::new(), Vec::new(), Vec::new());
    let mut groups: SortedMap<(usize, usize, usize), Group> = SortedMap::new();
    let mut states = SortedSet::new();
    for sample in samples {
        let key = (
            number_of(&mut panels, panel(sample.row)),
            number_of(&mut curves, curve(sample.row)),
            number_of(&mut places, place(sample.row)),
        );
        let state = sample.row.record.summary.as_ref().map(|s| s.verdict.state);
        let group = groups.entry(key).or_default();
        group.x.push(sample.x);
        group.y.push(sample.y);
        if let Some(state) = state.filter(|s| s.name() != "ok") {
            group.hollow = true;
            states.insert(state);
        }
    }
    let x_unit = unit(
        x_axis.map_or(&spec.x.of, |axis| &axes[axis].name),
        &spec.x,
        x_axis.map(|axis| kind_of(axis, samples)),
        samples.iter().map(|s| s.x),
    );
    let y_unit = unit(&spec.y.of, &spec.y, None, samples.iter().map(|s| s.y));
    let mut facets: Vec<Facet> =
        panels.iter().map(|title| Facet { title: title.clone(), series: Vec::new() }).collect();
    for ((panel, curve, _), group) in &groups {
        let series = &mut facets[*panel].series;
        if series.last().is_none_or(|s: &Series| s.name != *curve) {
            series.push(Series { name: *curve, marks: Vec::new() });
        }
        let mark = mark(group, spec.bars, x_unit.factor, y_unit.factor);
        series.last_mut().expect("it was just made").marks.push(mark);
    }
    if x_axis.is_some() {
        let sort = |series: &mut Series| series.marks.sort_by(|a, b| a.x.total_cmp(&b.x));
        facets.iter_mut().flat_map(|facet| &mut facet.series).for_each(sort);
    }
    let states: Vec<&str> = states.into_iter().map(|s| s.name()).collect();
    Plot {
        title: spec.title.clone(),
        x: axis(&spec.x, &x_unit, names.into_iter().map(|level| level.label).collect()),
        y: axis(&spec.y, &y_unit, Vec::new()),
        names: curves.iter().map(|labels| labels.join(", ")).collect(),
        hollow: states.join(", "),
        facets,
        width: WIDTHS[usize::from(spec.page)],
        ..Plot::default()
    }
}

/// The number of a thing among those that were seen.
fn number_of<T: PartialEq>(known: &mut Vec<T>, thing: T) -> usize {
    known.iter().position(|other| *other == thing).unwrap_or_else(|| {
        known.push(thing);
        known.len() - 1
    })
}

/// The mean of some points, with its bar if there are several.
fn mark(group: &Group, bars: Bars, x_factor: f64, y_factor: f64) -> Mark {
    let count = group.y.len() as f64;
    let mean = |all: &[f64]| all.iter().sum::<f64>() / count;
    let (x, y) = (mean(&group.x), mean(&group.y));
    let ends = match bars {
        Bars::None => None,
        Bars::Range => {
            let ends = (group.y.iter().copied().reduce(f64::min), group.y.iter().copied().reduce(f64::max));
            ends.0.zip(ends.1)
        }
        Bars::Confidence => {
            let squares: f64 = group.y.iter().map(|v| (v - y) * (v - y)).sum();
            let half = student_t(group.y.len().saturating_sub(1)) * (squares / (count - 1.0) / count).sqrt();
            Some((y - half, y + half))
        }
    };
    let bar = ends.filter(|_| group.y.len() > 1).map(|(a, b)| (a * y_factor, b * y_factor));
    Mark { x: x * x_factor, y: y * y_factor, bar, hollow: group.hollow }
}

/// The kind of value of an axis: that of its first point.
fn kind_of(axis: usize, samples: &[Sample<'_>]) -> Measure {
    samples[0].row.point.levels[axis].measure.clone()
}

/// How the numbers of a direction are shown.
struct Unit {
    label: String,
    /// Empty for plain numbers.
    unit: &'static str,
    factor: f64,
    ticks: Ticks,
}

/// The unit in which numbers are read best.
fn unit(name: &str, direction: &Direction, kind: Option<Measure>, values: impl Iterator<Item = f64>) -> Unit {
    let end = direction.ends[1].as_ref().and_then(Measure::number);
    let most = end.unwrap_or_else(|| values.fold(0.0, |a, b| f64::max(a, b.abs())));
    let parts: Vec<&str> = name.split('.').collect();
    let among = |units: &[(f64, &'static str)]| -> (f64, &'static str) {
        units.iter().copied().rfind(|(size, _)| most >= *size).unwrap_or(units[0])
    };
    const TIMES: [(f64, &str); 5] = [(1.0, "ps"), (1e3, "ns"), (1e6, "\u{b5}s"), (1e9, "ms"), (1e12, "s")];
    const RATES: [(f64, &str); 5] =
        [(1.0, "B/s"), (1e3, "kB/s"), (1e6, "MB/s"), (1e9, "GB/s"), (1e12, "TB/s")];
    const BYTES: [(f64, &str); 5] = [
        (1.0, "B"),
        (1024.0, "KiB"),
        (1_048_576.0, "MiB"),
        (1_073_741_824.0, "GiB"),
        (1_099_511_627_776.0, "TiB"),
    ];
    let ((size, unit), ticks) = match kind {
        Some(Measure::Time(_)) => (among(&TIMES), Ticks::Decimal),
        Some(Measure::Bandwidth(_)) => (among(&RATES), Ticks::Decimal),
        Some(Measure::Bytes(_)) if direction.logarithmic => ((1.0, ""), Ticks::Bytes),
        Some(Measure::Bytes(_)) => (among(&BYTES), Ticks::Decimal),
        Some(_) => ((1.0, ""), Ticks::Decimal),
        None => match suffix_of(name) {
            "_ps" => (among(&TIMES), Ticks::Decimal),
            "_bytes_per_s" => (among(&RATES), Ticks::Decimal),
            "_bytes" => (among(&BYTES), Ticks::Decimal),
            _ => ((1.0, plain_unit(name)), Ticks::Decimal),
        },
    };
    Unit { label: direction.label.clone().unwrap_or_else(|| words(&parts)), unit, factor: 1.0 / size, ticks }
}

/// Units that stand in names and are not scaled.
fn plain_unit(name: &str) -> &'static str {
    let units = [
        ("_pj", "pJ"),
        ("_j", "J"),
        ("_w", "W"),
        ("accepted_fraction", "fraction of bandwidth"),
        ("offered_fraction", "fraction of bandwidth"),
    ];
    units.into_iter().find(|(suffix, _)| name.ends_with(suffix)).map_or("", |(_, unit)| unit)
}

/// A name in words, without its unit.
fn words(parts: &[&str]) -> String {
    const UNITS: [&str; 7] = ["_ps", "_bytes_per_s", "_bytes", "_fraction", "_pj", "_j", "_w"];
    let bare = |part: &&str| {
        let short = UNITS.iter().find_map(|unit| part.strip_suffix(unit)).unwrap_or(part);
        if short == "latency" { "packet latency".to_owned() } else { short.replace('_', " ") }
    };
    parts.iter().map(bare).collect::<Vec<_>>().join(", ")
}

fn axis(direction: &Direction, unit: &Unit, names: Vec<String>) -> Axis {
    let [min, max] = direction.ends.each_ref().map(|end| end.as_ref()?.number().map(|n| n * unit.factor));
    let label =
        if unit.unit.is_empty() { unit.label.clone() } else { format!("{} ({})", unit.label, unit.unit) };
    let ticks = if names.is_empty() { unit.ticks } else { Ticks::Named };
    Axis { label, logarithmic: direction.logarithmic, min, max, ticks, names }
}
