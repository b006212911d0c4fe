//! Where dots are drawn, by topology: groups on a circle, grids as planes, trees by levels, all else by forces.

use super::{force, graph::Graph, layers};
use crate::plot::scene::width;
use libm::{cos, sin};
use serde_json::Value as Json;
use std::f64::consts::TAU;

/// Width of the picture.
pub const WIDTH: f64 = 1000.0;

/// Room around the dots.
const MARGIN: f64 = 34.0;

/// Words in the picture.
#[derive(Clone, Debug)]
pub struct Label {
    /// Centre of the words along the picture.
    pub x: f64,
    /// Their base line, from the top.
    pub y: f64,
    /// What is written.
    pub words: String,
}

/// Places of dots, and what is written beside them.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Height of the picture.
    pub height: f64,
    /// Where each dot is.
    pub at: Vec<(f64, f64)>,
    /// Words of groups, levels or planes.
    pub labels: Vec<Label>,
    /// Distance of neighbours on a grid: longer lines are bent, so that they do not hide behind others. 0 if there is no grid.
    pub grid: f64,
    /// Says in a sentence how dots are arranged.
    pub how: String,
    /// Dots that stand together and what such a group is called, if there are groups.
    pub group: Option<(usize, &'static str)>,
}

/// Topologies that are drawn in a way of their own, and the keys of their sections that it needs.
pub const READ: &[(&str, &[&str])] = &[
    ("dragonfly", &["routers_per_group"]),
    ("cray-dragonfly", &["rows", "columns"]),
    ("dragonfly-plus", &["leaves_per_group", "spines_per_group"]),
    ("hierarchical", &["boards_per_rack", "switches_per_board"]),
    ("slim-fly", &["q"]),
    ("mesh", &["dims"]),
    ("torus", &["dims"]),
    ("hyperx", &["dims"]),
    ("hypercube", &["dimensions"]),
    ("flattened-butterfly", &["k", "n"]),
    ("haec-box", &["columns", "rows", "boards"]),
];

/// A topology of [`READ`] and the values of its keys.
fn read(fabric: &Json) -> Option<(&str, Vec<&Json>)> {
    let name = fabric["topology"].as_str()?;
    let keys = READ.iter().find(|(topology, _)| *topology == name)?.1;
    Some((name, keys.iter().map(|key| &fabric[*key]).collect()))
}

/// A number of routers that a section gives: no larger than routers are counted, since it may be anybody's.
fn number(value: &Json) -> Option<usize> {
    value.as_u64().and_then(|n| u32::try_from(n).ok()).map(|n| n as usize)
}

/// Routers that stand together, and what they are called: a group or rack.
fn group(fabric: &Json) -> Option<(usize, &'static str)> {
    let (name, values) = read(fabric)?;
    let of = |n: usize| number(values[n]).unwrap_or(1).max(1);
    match name {
        "dragonfly" => Some((of(0), "group")),
        "cray-dragonfly" => Some((of(0) * of(1), "group")),
        "dragonfly-plus" => Some((of(0) + of(1), "group")),
        "hierarchical" => Some((of(0) * of(1), "rack")),
        "slim-fly" => Some((of(0), "column")),
        _ => None,
    }
}

/// Routers that stand together; 1 if the topology has no groups.
pub fn unit(fabric: &Json) -> usize {
    group(fabric).map_or(1, |group| group.0)
}

/// Sizes of the dimensions of a grid of `count` routers, the fastest first.
fn dimensions(fabric: &Json, count: usize) -> Option<Vec<usize>> {
    let (name, values) = read(fabric)?;
    // A grid of two in each of 32 dimensions has as many routers as there can be.
    let equal = |size: usize, dimensions: usize| (dimensions <= 32).then(|| vec![size; dimensions]);
    let sizes: Vec<usize> = match name {
        "mesh" | "torus" | "hyperx" => values[0].as_array()?.iter().map(number).collect(),
        "hypercube" => equal(2, number(values[0])?),
        "flattened-butterfly" => equal(number(values[0])?, number(values[1])?.checked_sub(1)?),
        "haec-box" => values.into_iter().map(number).collect(),
        _ => None,
    }?;
    let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    (product == Some(count) && count > 0).then_some(sizes)
}

/// Places all dots; `fabric` is the section of the resolved experiment.
pub fn layout(graph: &Graph, fabric: &Json) -> Layout {
    let count = graph.nodes.len();
    let neighbours = graph.neighbours();
    let topology = fabric["topology"].as_str().unwrap_or("");
    if let Some((unit, noun)) = group(fabric).filter(|g| graph.each == 1 && g.0 > 1 && count > g.0) {
        return groups(count, unit, noun);
    }
    if let Some(dims) = dimensions(fabric, count).filter(|_| graph.each == 1)
        && !(dims.len() == 1 && topology == "torus")
    {
        return grid(&dims);
    }
    if let Some(level) = layers::levels(graph, &neighbours).filter(|_| graph.each == 1) {
        let regular = ["fat-tree", "xgft"].contains(&topology);
        return rows(&layers::ordered(&level, &neighbours, !regular), count);
    }
    let sparse = graph.lines.len() < 12 * count;
    let by_force = (8..=force::MOST).contains(&count) && sparse && topology != "torus" && graph.each == 1;
    let at = if by_force { force::places(&neighbours) } else { force::circle(count) };
    let how = if by_force {
        "Routers stand near those they are linked to."
    } else {
        "Dots stand on a circle in the order of their numbers, the first at the top."
    };
    let height = if count < 4 { 260.0 } else { 760.0 };
    let inner = height - 2.0 * MARGIN;
    let left = (WIDTH - inner) / 2.0;
    Layout {
        height,
        at: at.into_iter().map(|(x, y)| (left + x * inner, MARGIN + y * inner)).collect(),
        how: how.to_owned(),
        ..Layout::default()
    }
}

/// Groups on a circle, the routers of each on a small one.
fn groups(count: usize, unit: usize, noun: &'static str) -> Layout {
    let groups = count.div_ceil(unit);
    let height = 860.0;
    let outer = height / 2.0 - MARGIN - 16.0;
    // Neighbouring circles nearly touch.
    let chord = sin(TAU / 2.0 / groups.max(2) as f64);
    let small = (outer * chord / (1.0 + chord) * 0.82).min(outer * 0.45);
    let ring = outer - small;
    let (x, y) = (WIDTH / 2.0, height / 2.0);
    let mut layout = Layout {
        height,
        how: format!("Each small circle is a {noun}, in the order of their numbers from the top, clockwise."),
        group: Some((unit, noun)),
        ..Layout::default()
    };
    for n in 0..count {
        let group = (n / unit) as f64 / groups as f64 * TAU;
        let (gx, gy) = (x + ring * sin(group), y - ring * cos(group));
        let own = (n % unit) as f64 / unit as f64 * TAU + group;
        layout.at.push((gx + small * sin(own), gy - small * cos(own)));
    }
    for g in (0..groups).filter(|_| groups <= 64) {
        let angle = g as f64 / groups as f64 * TAU;
        let words = if groups <= 20 { format!("{noun} {g}") } else { g.to_string() };
        // Beside the circle the middle of the words is half of them further out.
        let far = outer + 22.0;
        let px = x + far * sin(angle) + width(&words, 13.0) / 2.0 * sin(angle);
        layout.labels.push(Label { x: px, y: y - far * cos(angle) + 4.0, words });
    }
    layout
}

/// Planes of the first two dimensions; further ones lay planes side by side, in turn across and down.
fn grid(dims: &[usize]) -> Layout {
    let of = |d: usize| dims.get(d).copied().unwrap_or(1).max(1);
    // Columns and rows of planes; the third dimension alone is broken into rows of planes.
    let planes: usize = dims.iter().skip(2).product();
    let across = match dims.len() {
        0..=2 => 1,
        3 if planes * of(0) <= 32 => planes,
        3 => (1..=planes).find(|n| n * n >= planes).unwrap_or(1),
        _ => dims.iter().skip(2).step_by(2).product(),
    };
    let down = planes.div_ceil(across);
    let gap = if planes > 1 { 0.9 } else { 0.0 };
    let (wide, high) = (across as f64 * (of(0) as f64 + gap) - gap, down as f64 * (of(1) as f64 + gap) - gap);
    // Each plane stands lower than that to its left, so that lines between planes do not hide those within.
    let lower = if dims.len() == 3 { 1.37 } else { 0.0 };
    let high = high + lower * across.saturating_sub(1) as f64;
    let step = ((WIDTH - 2.0 * MARGIN) / wide).min(900.0 / high).min(110.0);
    let left = (WIDTH - (wide - 1.0) * step) / 2.0;
    let count: usize = dims.iter().product();
    let top = MARGIN + 14.0;
    let height = (high - 1.0) * step + 2.0 * top;
    let mut layout = Layout { height, grid: step, ..Layout::default() };
    for n in 0..count {
        let (x, y, mut rest) = (n % of(0), n / of(0) % of(1), n / (of(0) * of(1)));
        let (mut column, mut row) = (rest % across, rest / across);
        if dims.len() > 3 {
            (column, row) = (0, 0);
            let (mut a, mut b) = (1, 1);
            for d in 2..dims.len() {
                let (digit, own) = (rest % of(d), if d % 2 == 0 { &mut a } else { &mut b });
                *(if d % 2 == 0 { &mut column } else { &mut row }) += digit * *own;
                *own *= of(d);
                rest /= of(d);
            }
        }
        let px = left + (column as f64 * (of(0) as f64 + gap) + x as f64) * step;
        let py = top + (row as f64 * (of(1) as f64 + gap) + y as f64) * step + column as f64 * lower * step;
        layout.at.push((px, py));
        if dims.len() == 3 && (x, y) == (0, 0) {
            let words = format!("plane {}", n / (of(0) * of(1)));
            layout.labels.push(Label {
                x: px + (of(0) - 1) as f64 * step / 2.0,
                y: py - 0.35 * step.min(50.0) - 6.0,
                words,
            });
        }
    }
    layout.how = match dims.len() {
        1 => "Routers stand in a row in the order of their numbers.".to_owned(),
        2 => "Routers stand on their grid, the first at the upper left; bent lines join those that are no neighbours on it.".to_owned(),
        _ => "Each plane holds the first two dimensions; further ones lead from plane to plane on bent lines.".to_owned(),
    };
    layout
}

/// Levels of a tree, that of the terminals below.
fn rows(rows: &[Vec<usize>], count: usize) -> Layout {
    let step = if rows.len() > 1 { (560.0 / (rows.len() - 1) as f64).clamp(120.0, 260.0) } else { 0.0 };
    let height = step * (rows.len().saturating_sub(1)) as f64 + 2.0 * MARGIN + 24.0;
    let mut layout = Layout {
        height,
        at: vec![(0.0, 0.0); count],
        how: "Routers with terminals stand below, above them those that are one link away from these, and so on.".to_owned(),
        ..Layout::default()
    };
    for (level, row) in rows.iter().enumerate() {
        let y = height - MARGIN - 8.0 - level as f64 * step;
        for (n, &node) in row.iter().enumerate() {
            let inner = WIDTH - 2.0 * MARGIN - 60.0;
            layout.at[node] = (MARGIN + 60.0 + (n as f64 + 0.5) / row.len() as f64 * inner, y);
        }
        layout.labels.push(Label { x: MARGIN + 18.0, y: y + 4.0, words: format!("level {level}") });
    }
    layout
}

#[cfg(test)]
mod tests {
    use super::{super::graph::Wires, *};
    use serde_json::json;

    #[test]
    fn grids_have_a_place_for_each_router() {
        for dims in [vec![4], vec![8, 8], vec![4, 4, 4], vec![2, 2, 2, 2], vec![3, 2, 2, 2, 2]] {
            let count: usize = dims.iter().product();
            let layout = grid(&dims);
            assert_eq!(layout.at.len(), count);
            for (n, a) in layout.at.iter().enumerate() {
                assert!(a.0 > 0.0 && a.0 < WIDTH && a.1 > 0.0 && a.1 < layout.height, "{dims:?}: {a:?}");
                let far = |b: &(f64, f64)| (a.0 - b.0).hypot(a.1 - b.1);
                assert!(layout.at[..n].iter().all(|b| far(b) > 4.0), "{dims:?}: two at {a:?}");
            }
        }
        let cube = json!({"topology": "hypercube", "dimensions": 3});
        assert_eq!(dimensions(&cube, 8), Some(vec![2, 2, 2]));
        assert_eq!(dimensions(&cube, 9), None);
        assert_eq!(unit(&json!({"topology": "dragonfly", "routers_per_group": 4})), 4);
    }

    /// The section comes out of a file that anybody may have written.
    #[test]
    fn whatever_a_section_says_there_is_a_place_for_each_router() {
        let numbers =
            [json!(0), json!(1), json!(2), json!(6), json!(1u64 << 32), json!(u64::MAX), json!(1.5)];
        let lists =
            [json!(null), json!([]), json!([6]), json!([3, 2]), json!([1u64 << 63, 2, 3]), json!([0, 7])];
        for (topology, keys) in READ {
            for first in numbers.iter().chain(&lists) {
                for other in numbers.iter().chain(&lists) {
                    let mut fabric = json!({ "topology": topology });
                    for (n, key) in keys.iter().enumerate() {
                        fabric[*key] = if n == 0 { first.clone() } else { other.clone() };
                    }
                    for routers in [0, 1, 6] {
                        let wires = Wires { routers, ..Wires::default() };
                        let graph = Graph::of(&wires, unit(&fabric));
                        let at = layout(&graph, &fabric).at;
                        assert_eq!(at.len(), graph.nodes.len(), "{fabric}, {routers} routers");
                    }
                }
            }
        }
    }
}
