//! Groups against groups as a board of squares: where there are too many lines to tell one from another.

use super::{graph::Graph, layout::Layout, layout::WIDTH};
use crate::plot::scene::number;
use base::sorted::SortedMap;
use std::fmt::Write;

/// Lines of a picture beyond which groups are shown as a board too.
const MANY_LINES: usize = 1200;

/// Most groups that a board has.
const MOST_GROUPS: usize = 64;

/// Room above the squares, for numbers and words.
const ABOVE: f64 = 64.0;

/// A board below a picture.
pub struct Board {
    /// What a group is called.
    pub noun: &'static str,
    groups: usize,
    /// Side of a square with its gap.
    step: f64,
    /// Upper left corner of the squares.
    corner: (f64, f64),
}

/// A square of the board.
pub struct Square {
    /// Its shape, as the attribute `d` of a path.
    pub path: String,
    /// The group that its links leave.
    pub from: usize,
    /// The group that they reach; the same for links within.
    pub to: usize,
    /// Its links, by place.
    pub wires: Vec<usize>,
}

impl Board {
    /// The board of a picture, if it needs one.
    pub fn of(graph: &Graph, layout: &Layout) -> Option<Self> {
        let (unit, noun) = layout.group?;
        let groups = graph.nodes.len().div_ceil(unit);
        if graph.lines.len() < MANY_LINES || !(2..=MOST_GROUPS).contains(&groups) {
            return None;
        }
        let step = (560.0 / groups as f64).min(18.0);
        let corner = ((WIDTH - step * groups as f64) / 2.0, layout.height + ABOVE);
        Some(Self { noun, groups, step, corner })
    }

    /// Height that it adds to the picture.
    pub fn height(&self) -> f64 {
        ABOVE + self.step * self.groups as f64 + 16.0
    }

    /// Its squares, row by row; pairs without a link have none.
    pub fn squares(&self, graph: &Graph, unit: usize) -> Vec<Square> {
        let mut pairs = SortedMap::<(usize, usize), Vec<usize>>::new();
        for line in &graph.lines {
            pairs.entry((line.from / unit, line.to / unit)).or_default().extend(&line.wires);
        }
        let side = number(self.step - 1.0);
        let square = |((from, to), wires): ((usize, usize), Vec<usize>)| {
            let (x, y) = (self.corner.0 + self.step * to as f64, self.corner.1 + self.step * from as f64);
            let path = format!("M{} {}h{side}v{side}h-{side}Z", number(x), number(y));
            Square { path, from, to, wires }
        };
        pairs.into_iter().map(square).collect()
    }

    /// Numbers of groups, and what rows and columns are; `attributes` of the words may depend on where they stand.
    pub fn words(&self, attributes: &dyn Fn(&str) -> String) -> String {
        let mut text = String::new();
        let (x, y) = self.corner;
        let every = self.groups.div_ceil(12);
        for group in (0..self.groups).step_by(every) {
            let middle = self.step * (group as f64 + 0.5);
            let (column, above) = (number(x + middle), number(y - 6.0));
            let (left, row) = (number(x - 7.0), number(y + middle + 4.0));
            let _ = write!(text, "<text x=\"{column}\" y=\"{above}\"{}>{group}</text>", attributes("middle"));
            let _ = writeln!(text, "<text x=\"{left}\" y=\"{row}\"{}>{group}</text>", attributes("end"));
        }
        let middle = self.step * self.groups as f64 / 2.0;
        let (column, above) = (number(x + middle), number(y - 26.0));
        let (left, row) = (number(x - 40.0), number(y + middle));
        let noun = self.noun;
        let _ = write!(text, "<text x=\"{column}\" y=\"{above}\"{}>to {noun}</text>", attributes("middle"));
        let _ = writeln!(
            text,
            "<text x=\"{left}\" y=\"{row}\" transform=\"rotate(-90 {left} {row})\"{}>from {noun}</text>",
            attributes("middle")
        );
        text
    }
}
