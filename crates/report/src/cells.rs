//! Square matrices as pictures side by side: the darker a cell, the more; colours follow the logarithm. SVG and PDF.

use crate::plot::{
    colours::{DARKER, FRAME, along},
    scene::{Anchor, Scene, Shape, Stroke, Text, width as text_width},
};

/// Side of a matrix, in points.
const SIDE: f64 = 250.0;
/// Space around matrices.
const MARGIN: f64 = 34.0;

/// A square matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Title that stands above it.
    pub title: String,
    /// Rows and columns.
    pub side: usize,
    /// Amounts, row by row; 0 for nothing.
    pub amounts: Vec<f64>,
}

/// A figure of matrices with a common scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// Title that stands above the picture.
    pub title: String,
    /// What columns are.
    pub x: String,
    /// What rows are.
    pub y: String,
    /// What amounts are, with their unit.
    pub what: String,
    /// Matrices, side by side.
    pub grids: Vec<Grid>,
}

impl Cells {
    /// Draws it as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        self.scene().svg()
    }

    /// Draws it as PDF.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        self.scene().pdf()
    }

    fn scene(&self) -> Scene {
        let words = |at, size, anchor, words: &str, upwards| {
            Shape::Text(Text { at, words: words.to_owned(), size, anchor, upwards })
        };
        let amounts = || self.grids.iter().flat_map(|grid| &grid.amounts).copied().filter(|a| *a > 0.0);
        let most = amounts().fold(0.0, f64::max);
        // The scale spans a factor of two at least, so that what is nearly the same looks so.
        let least = amounts().fold(most / 2.0, f64::min);
        let width = MARGIN + self.grids.len() as f64 * (SIDE + MARGIN);
        let (top, height) = (52.0, SIDE + 110.0);
        let mut shapes = vec![words((width / 2.0, 18.0), 11.0, Anchor::Middle, &self.title, false)];
        for (n, grid) in self.grids.iter().enumerate() {
            let left = MARGIN + n as f64 * (SIDE + MARGIN);
            let cell = SIDE / grid.side.max(1) as f64;
            let square =
                |x: f64, y: f64, side: f64| vec![(x, y), (x + side, y), (x + side, y + side), (x, y + side)];
            shapes.push(words((left + SIDE / 2.0, top - 8.0), 9.0, Anchor::Middle, &grid.title, false));
            for (at, amount) in grid.amounts.iter().enumerate().filter(|cell| *cell.1 > 0.0) {
                let share = if most > least { (amount / least).ln() / (most / least).ln() } else { 1.0 };
                let (row, column) = ((at / grid.side) as f64, (at % grid.side) as f64);
                let corners = square(left + column * cell, top + row * cell, cell);
                shapes.push(Shape::Area(corners, Some(along(&DARKER, share)), None));
            }
            let border = Stroke { colour: FRAME, width: 0.7, dash: &[] };
            shapes.push(Shape::Area(square(left, top, SIDE), None, Some(border)));
            let below = top + SIDE + 14.0;
            shapes.push(words((left + SIDE / 2.0, below), 9.0, Anchor::Middle, &self.x, false));
            let beside = (left - 8.0, top + SIDE / 2.0);
            shapes.push(words(beside, 9.0, Anchor::Middle, &self.y, true));
        }
        let (low, end) = (format!("{least:.0}"), format!("{most:.0} {}", self.what));
        let (hint, long) = ("logarithmic; white: nothing", |text: &str| text_width(text, 9.0));
        let (left, right) = (long(&low) + 6.0, long(&end) + 6.0);
        // Where both do not fit beside the scale, the hint stands below.
        let beside = long(&format!("{end}, {hint}")) + 6.0;
        // Fonts of viewers may be wider than ours.
        let fits = left + 120.0 + beside <= width - 50.0;
        let wide = left + 120.0 + if fits { beside } else { right };
        let (mut x, y) = ((width - wide) / 2.0 + left, height - 24.0);
        shapes.push(words((x - 6.0, y + 8.0), 9.0, Anchor::End, &low, false));
        for step in 0..20 {
            let corners = vec![(x, y), (x + 6.0, y), (x + 6.0, y + 9.0), (x, y + 9.0)];
            shapes.push(Shape::Area(corners, Some(along(&DARKER, f64::from(step) / 19.0)), None));
            x += 6.0;
        }
        let end = if fits { format!("{end}, {hint}") } else { end };
        shapes.push(words((x + 6.0, y + 8.0), 9.0, Anchor::Start, &end, false));
        if !fits {
            shapes.push(words((width / 2.0, y + 20.0), 9.0, Anchor::Middle, hint, false));
        }
        Scene { width, height, shapes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_amount_is_a_cell_and_nothing_is_none() {
        let grid = |title: &str| Grid { title: title.into(), side: 2, amounts: vec![0.0, 1.0, 100.0, 0.0] };
        let figure = Cells {
            title: "Traffic".into(),
            x: "to".into(),
            y: "from".into(),
            what: "B".into(),
            grids: vec![grid("first"), grid("second")],
        };
        let svg = figure.svg();
        for word in ["Traffic", "first", "second", "100 B"] {
            assert!(svg.contains(word), "{word}");
        }
        assert!(svg.contains(">100 B, logarithmic; white: nothing<"));
        // Alone it is too narrow for that in one line.
        let alone = Cells { grids: vec![grid("alone")], what: "bytes of messages".into(), ..figure.clone() };
        assert!(alone.svg().contains(">logarithmic; white: nothing<"));
        // Both ends of the scale, in two matrices and in the legend.
        assert_eq!(svg.matches("#d6dbe0").count(), 3);
        assert_eq!(svg.matches("#3a075c").count(), 3);
        assert!(!figure.pdf().is_empty());
        let empty = Cells { grids: vec![Grid { amounts: vec![0.0; 4], ..grid("none") }], ..figure };
        assert!(empty.svg().starts_with("<svg"));
    }
}
