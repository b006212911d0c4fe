//! Lays a figure out and draws it.

use super::{
    axis::{Scale, Ticks},
    colours::{self, COLOURS, Colour},
    figure::{Facet, Mark, Plot, Series, Style},
    scene::{Anchor, Place, Scene, Shape, Stroke, Text, width},
};

/// Sizes of fonts: titles and labels, numbers and legend.
const LARGE: f64 = 8.5;
const SMALL: f64 = 7.5;

/// Distance between things.
const GAP: f64 = 6.0;

const DASHES: [&[f32]; 8] = [
    &[],
    &[5.0, 2.0],
    &[1.5, 1.5],
    &[6.0, 2.0, 1.5, 2.0],
    &[8.0, 3.0],
    &[3.0, 3.0],
    &[6.0, 1.5, 1.5, 1.5, 1.5, 1.5],
    &[1.0, 3.0],
];

const GRID: Stroke = Stroke { colour: colours::GRID, width: 0.4, dash: &[] };
const FRAME: Stroke = Stroke { colour: colours::FRAME, width: 0.6, dash: &[] };

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq)]
struct Look {
    colour: Colour,
    /// Lengths of dashes and gaps, in points; empty for a whole line.
    dash: &'static [f32],
    /// Kind of its markers, below 8.
    marker: usize,
}

/// The look of the series of a number. All three parts differ among eight; no two of 64 are alike.
fn look(number: usize) -> Look {
    let round = number / COLOURS.len();
    Look { colour: COLOURS[number % 8], dash: DASHES[(number + round) % 8], marker: (number + 3 * round) % 8 }
}

/// Corners of a marker around a place.
fn marker(kind: usize, (x, y): Place, size: f64) -> Vec<Place> {
    let corners = |count: u32, turn: f64, size: f64| {
        let at = |n: u32| {
            let angle = turn + f64::from(n) / f64::from(count) * std::f64::consts::TAU;
            (x + size * angle.sin(), y - size * angle.cos())
        };
        (0..count).map(at).collect::<Vec<_>>()
    };
    let half = std::f64::consts::PI;
    match kind {
        0 => corners(16, 0.0, size),
        1 => corners(4, half / 4.0, size * 1.2),
        2 => corners(3, 0.0, size * 1.25),
        3 => corners(4, 0.0, size * 1.25),
        4 => corners(3, half, size * 1.25),
        5 => corners(5, 0.0, size * 1.1),
        6 => corners(3, half / 2.0, size * 1.25),
        _ => corners(3, -half / 2.0, size * 1.25),
    }
}

/// Where things are.
struct Layout {
    columns: usize,
    /// Left and upper end of the first panel.
    origin: Place,
    /// Size of a panel's frame.
    panel: Place,
    /// From panel to panel.
    step: Place,
}

fn text(at: Place, words: &str, size: f64, anchor: Anchor) -> Shape {
    Shape::Text(Text { at, words: words.to_owned(), size, anchor, upwards: false })
}

/// A point that was drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// Number of its series in [`Plot::names`].
    pub series: usize,
    /// Where it is, in the units of the drawing.
    pub at: (f64, f64),
    /// Its numbers, in the units of the axes.
    pub value: (f64, f64),
}

impl Plot {
    /// Draws it as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        scene(self).0.svg()
    }

    /// Draws it as a part of a page: colours and ground are those of the page. Also says where its points are.
    #[must_use]
    pub fn inline(&self, name: &str) -> (String, Vec<Placed>) {
        let (scene, placed) = scene(self);
        (scene.inline(name), placed)
    }

    /// Draws it as PDF; the font Helvetica is not embedded.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        scene(self).0.pdf()
    }
}

/// Lays a figure out.
fn scene(plot: &Plot) -> (Scene, Vec<Placed>) {
    let marks = || plot.facets.iter().flat_map(|f| &f.series).flat_map(|s| &s.marks);
    let columns = ((plot.width / 150.0) as usize).clamp(1, plot.facets.len().clamp(1, 4));
    let rows = plot.facets.len().div_ceil(columns).max(1);
    let x = Scale::over(&plot.x, marks().map(|m| m.x), if columns > 2 { 4 } else { 5 });
    let ends = |m: &Mark| [m.y, m.bar.map_or(m.y, |b| b.0), m.bar.map_or(m.y, |b| b.1)];
    let y = Scale::over(&plot.y, marks().flat_map(ends), 5);
    let mut shapes = Vec::new();
    let mut top = GAP;
    if !plot.title.is_empty() {
        top += LARGE;
        shapes.push(text((plot.width / 2.0, top), &plot.title, LARGE, Anchor::Middle));
        top += GAP;
    }
    top = legend(plot, top, &mut shapes);
    let numbers = y.marks.iter().map(|m| width(&m.1, SMALL)).fold(0.0, f64::max);
    let left = GAP + LARGE + GAP + numbers + 5.0;
    let titled = plot.facets.iter().any(|f| !f.title.is_empty());
    let above = if titled { LARGE + 4.0 } else { 0.0 };
    let lines = x.marks.iter().map(|m| m.1.split('\n').count()).max().unwrap_or(1);
    let below = 5.0 + SMALL + (SMALL + 1.0) * (lines - 1) as f64;
    // Half of the last number stands beyond the frame, and half of the next panel's first before its own.
    let half = |mark: Option<&(f64, String)>| mark.map_or(0.0, |m| width(&m.1, SMALL) / 2.0);
    let overhang = half(x.marks.last()).max(GAP);
    let across = half(x.marks.last()) + half(x.marks.first()) + GAP;
    let wide = (plot.width - left - overhang - across * (columns - 1) as f64) / columns as f64;
    let high = (wide * if columns == 1 { 0.62 } else { 0.8 }).max(90.0);
    // Numbers stand below the lowest panels; one of them may be above an empty place.
    let numbered = if plot.facets.len().is_multiple_of(columns) { 0.0 } else { below };
    let step = (wide + across, high + above + GAP + numbered);
    let layout = Layout { columns, origin: (left, top + above), panel: (wide, high), step };
    let mut placed = Vec::new();
    for number in 0..plot.facets.len() {
        panel(plot, number, &layout, &x, &y, &mut shapes, &mut placed);
    }
    let bottom = layout.origin.1 + (rows - 1) as f64 * step.1 + high;
    let middle = (left + (plot.width - overhang)) / 2.0;
    let base = bottom + below + 5.0 + LARGE;
    // A long label gets smaller letters rather than lose its ends.
    let fitting = |label: &str, room: f64| LARGE * (room / width(label, LARGE).max(1.0)).min(1.0);
    let x_size = fitting(&plot.x.label, 2.0 * (plot.width - middle).min(middle));
    shapes.push(text((middle, base), &plot.x.label, x_size, Anchor::Middle));
    let centre = (layout.origin.1 + bottom) / 2.0;
    shapes.push(Shape::Text(Text {
        at: (GAP + LARGE * 0.8, centre),
        words: plot.y.label.clone(),
        size: fitting(&plot.y.label, 2.0 * centre.min(base + GAP - centre)),
        anchor: Anchor::Middle,
        upwards: true,
    }));
    (Scene { width: plot.width, height: base + GAP, shapes }, placed)
}

/// Names of the series in rows above the panels; returns where these begin.
fn legend(plot: &Plot, top: f64, shapes: &mut Vec<Shape>) -> f64 {
    const LINE: f64 = 20.0;
    let hollow = [plot.hollow.as_str()].into_iter().filter(|words| !words.is_empty());
    let names: Vec<&str> = plot.names.iter().map(String::as_str).filter(|_| plot.names.len() > 1).collect();
    let entries: Vec<(Option<usize>, &str)> = names
        .iter()
        .enumerate()
        .map(|(n, name)| (Some(n), *name))
        .chain(hollow.map(|words| (None, words)))
        .collect();
    if entries.is_empty() {
        return top;
    }
    let long = |entry: &(Option<usize>, &str)| LINE + 4.0 + width(entry.1, SMALL) + 10.0;
    let mut rows: Vec<Vec<(Option<usize>, &str)>> = vec![Vec::new()];
    let mut filled = 0.0;
    for entry in entries {
        if filled + long(&entry) > plot.width - 2.0 * GAP && filled > 0.0 {
            rows.push(Vec::new());
            filled = 0.0;
        }
        filled += long(&entry);
        rows.last_mut().expect("there is one").push(entry);
    }
    let mut y = top;
    for row in rows {
        let mut x = (plot.width - row.iter().map(long).sum::<f64>() + 10.0) / 2.0;
        let line = y + SMALL * 0.65;
        for entry in row {
            let plain = Look { colour: FRAME.colour, dash: &[], marker: 0 };
            let Look { colour, dash, marker } = entry.0.map_or(plain, look);
            let bars = plot.style == Style::Bars && entry.0.is_some();
            if bars {
                shapes.push(block((x + 4.0, line - 3.0), (x + LINE - 2.0, line + 3.0), colour));
            } else if entry.0.is_some() {
                let stroke = Stroke { colour, width: 1.1, dash };
                shapes.push(Shape::Line(vec![(x, line), (x + LINE, line)], stroke));
            }
            if plot.style == Style::Markers || entry.0.is_none() {
                shapes.push(mark(marker, (x + LINE / 2.0, line), colour, entry.0.is_none()));
            }
            shapes.push(text((x + LINE + 4.0, y + SMALL), entry.1, SMALL, Anchor::Start));
            x += long(&entry);
        }
        y += SMALL + 4.0;
    }
    y + 3.0
}

fn mark(kind: usize, at: Place, colour: Colour, hollow: bool) -> Shape {
    let border = Stroke { colour, width: 0.8, dash: &[] };
    Shape::Area(marker(kind, at, 2.3), Some(if hollow { [255; 3] } else { colour }), Some(border))
}

/// Draws a facet in its place, and keeps where its points are.
fn panel(
    plot: &Plot,
    number: usize,
    layout: &Layout,
    x: &Scale,
    y: &Scale,
    shapes: &mut Vec<Shape>,
    placed: &mut Vec<Placed>,
) {
    let facet = &plot.facets[number];
    let (column, row) = (number % layout.columns, number / layout.columns);
    let (left, top) =
        (layout.origin.0 + column as f64 * layout.step.0, layout.origin.1 + row as f64 * layout.step.1);
    let (wide, high) = layout.panel;
    let place = |a: f64, b: f64| -> Place { (left + x.at(a) * wide, top + (1.0 - y.at(b)) * high) };
    let lowest = number + layout.columns >= plot.facets.len();
    for (from, to) in plot.shaded.iter().filter(|(from, to)| *from < x.high && *to > x.low) {
        let (from, to) = (place(from.max(x.low), y.low), place(to.min(x.high), y.high));
        shapes.push(block((from.0, to.1), (to.0, from.1), colours::SHADE));
    }
    for (value, words) in &x.marks {
        let at = place(*value, y.low).0;
        if plot.x.ticks != Ticks::Named {
            shapes.push(Shape::Line(vec![(at, top), (at, top + high)], GRID));
        }
        shapes.push(Shape::Line(vec![(at, top + high), (at, top + high + 2.5)], FRAME));
        let lines = words.split('\n').enumerate().filter(|_| lowest);
        shapes.extend(lines.map(|(n, words)| {
            let below = 4.0 + SMALL + (SMALL + 1.0) * n as f64;
            text((at, top + high + below), words, SMALL, Anchor::Middle)
        }));
    }
    for (value, words) in &y.marks {
        let at = place(x.low, *value).1;
        shapes.push(Shape::Line(vec![(left, at), (left + wide, at)], GRID));
        shapes.push(Shape::Line(vec![(left - 2.5, at), (left, at)], FRAME));
        if column == 0 {
            shapes.push(text((left - 4.5, at + SMALL * 0.35), words, SMALL, Anchor::End));
        }
    }
    shapes.push(Shape::Clip(Some([left, top, wide, high])));
    match plot.style {
        Style::Bars => bars(plot, facet, x, y, &place, shapes),
        style => {
            for series in &facet.series {
                let apart = style == Style::Markers && plot.x.ticks == Ticks::Named;
                curve(series, apart, &place, shapes);
            }
        }
    }
    shapes.push(Shape::Clip(None));
    let corners = vec![(left, top), (left + wide, top), (left + wide, top + high), (left, top + high)];
    shapes.push(Shape::Area(corners, None, Some(FRAME)));
    // Markers last, and whole also on the frame.
    for series in &facet.series {
        let Look { colour, marker: kind, .. } = look(series.name);
        for one in series.marks.iter().filter(|m| x.holds(m.x) && y.holds(m.y)) {
            if plot.style == Style::Markers {
                shapes.push(mark(kind, place(one.x, one.y), colour, one.hollow));
            }
            placed.push(Placed { series: series.name, at: place(one.x, one.y), value: (one.x, one.y) });
        }
    }
    if !facet.title.is_empty() {
        shapes.push(text((left + wide / 2.0, top - 4.0), &facet.title, LARGE, Anchor::Middle));
    }
}

/// A filled rectangle.
fn block((left, top): Place, (right, bottom): Place, colour: Colour) -> Shape {
    Shape::Area(vec![(left, top), (right, top), (right, bottom), (left, bottom)], Some(colour), None)
}

/// Bars from zero, or from the lower end where zero is not shown.
fn bars(
    plot: &Plot,
    facet: &Facet,
    x: &Scale,
    y: &Scale,
    place: &dyn Fn(f64, f64) -> Place,
    shapes: &mut Vec<Shape>,
) {
    // A slot is as wide as the least distance between two bars of a series, in all panels.
    let steps = plot
        .facets
        .iter()
        .flat_map(|facet| &facet.series)
        .flat_map(|s| s.marks.windows(2))
        .map(|w| place(w[1].x, 0.0).0 - place(w[0].x, 0.0).0);
    let least = steps.filter(|d| *d > 0.0).fold(f64::INFINITY, f64::min);
    let whole = place(x.high, 0.0).0 - place(x.low, 0.0).0;
    let slot = least.min(whole / 2.0) * 0.84;
    let each = slot / facet.series.len().max(1) as f64;
    let from = y.low.max(0.0_f64.min(y.high));
    for (n, series) in facet.series.iter().enumerate() {
        let colour = look(series.name).colour;
        for one in &series.marks {
            let (at, top) = place(one.x, one.y);
            let left = at - slot / 2.0 + n as f64 * each;
            let bottom = place(one.x, from).1;
            shapes.push(block((left, top.min(bottom)), (left + each * 0.94, top.max(bottom)), colour));
        }
    }
}

fn curve(series: &Series, apart: bool, place: &dyn Fn(f64, f64) -> Place, shapes: &mut Vec<Shape>) {
    let Look { colour, dash, .. } = look(series.name);
    let line: Vec<Place> = series.marks.iter().map(|m| place(m.x, m.y)).collect();
    if line.len() > 1 && !apart {
        shapes.push(Shape::Line(line, Stroke { colour, width: 1.1, dash }));
    }
    for one in &series.marks {
        let Some((low, high)) = one.bar.filter(|(low, high)| low < high) else { continue };
        let stroke = Stroke { colour, width: 0.7, dash: &[] };
        let ((x, a), (_, b)) = (place(one.x, low), place(one.x, high));
        for ends in [[(x, a), (x, b)], [(x - 2.0, a), (x + 2.0, a)], [(x - 2.0, b), (x + 2.0, b)]] {
            shapes.push(Shape::Line(ends.to_vec(), stroke));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::axis::Axis;

    fn plot() -> Plot {
        let mark = |x: f64, y: f64| Mark { x, y, bar: Some((y - 1.0, y + 1.0)), hollow: x > 2.5 };
        let series = |name: usize| Series {
            name,
            marks: (0..4).map(|x| mark(f64::from(x), f64::from(x) * (1.0 + name as f64))).collect(),
        };
        let facet = |title: &str| Facet { title: title.to_owned(), series: (0..3).map(series).collect() };
        Plot {
            title: "Squares & <others>".to_owned(),
            x: Axis { label: "side (m)".to_owned(), ..Axis::default() },
            y: Axis { label: "area (m2)".to_owned(), ..Axis::default() },
            names: ["first", "second", "third"].map(str::to_owned).to_vec(),
            hollow: "saturated".to_owned(),
            facets: vec![facet("left"), facet("right")],
            width: 516.0,
            ..Plot::default()
        }
    }

    #[test]
    fn all_is_drawn_and_the_same_each_time() {
        let svg = plot().svg();
        for word in [
            "Squares &amp; &lt;others&gt;",
            "side (m)",
            "area (m2)",
            "first",
            "third",
            "left",
            "right",
            "saturated",
        ] {
            assert!(svg.contains(&format!(">{word}<")), "{word}");
        }
        // Three curves with four error bars of three strokes in each of two panels; three in the legend.
        assert_eq!(svg.matches("stroke-width=\"1.1\"").count(), 9);
        assert_eq!(svg.matches("stroke-width=\"0.7\"").count(), 72);
        // A hollow mark on each curve, and one in the legend.
        assert_eq!(svg.matches("Z\" fill=\"#ffffff\"").count(), 7);
        assert_eq!(svg, plot().svg());
        assert_eq!(plot().pdf(), plot().pdf());
        let empty = Plot { facets: Vec::new(), names: Vec::new(), ..plot() };
        assert!(empty.svg().ends_with("</svg>\n"));
    }

    #[test]
    fn no_two_of_many_series_look_alike() {
        let looks: Vec<_> = (0..64).map(look).collect();
        for (n, a) in looks.iter().enumerate() {
            assert!(looks[n + 1..].iter().all(|b| a != b), "{n}");
        }
        for (a, b) in
            looks[..8].iter().enumerate().flat_map(|(n, a)| looks[n + 1..8].iter().map(move |b| (a, b)))
        {
            assert!(a.colour != b.colour && a.dash != b.dash && a.marker != b.marker);
        }
    }
}
