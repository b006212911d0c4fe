//! Panels of bars over whole numbers, two in a row, as SVG.

use crate::picture::{Root, Wrong, colour, picture};
use plotters::prelude::*;

/// Size of a panel.
const SIZE: (u32, u32) = (450, 300);

/// A panel: bars under a title.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title that stands above the picture.
    pub title: String,
    /// Places and heights of the bars.
    pub bars: Vec<(u32, f64)>,
}

/// A figure of panels, whose axes are alike from panel to panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    /// Title that stands above the picture.
    pub title: String,
    /// What the horizontal axis shows.
    pub x: String,
    /// What the vertical axis shows, with its unit.
    pub y: String,
    /// Panels, row by row.
    pub panels: Vec<Panel>,
}

impl Bars {
    /// Draws it: a picture as SVG text.
    ///
    /// # Errors
    /// If the figure cannot be drawn, with the reason.
    pub fn svg(&self) -> Result<String, String> {
        picture((2 * SIZE.0, 30 + self.rows() as u32 * SIZE.1), |root| self.draw(root))
    }

    fn rows(&self) -> usize {
        self.panels.len().div_ceil(2).max(1)
    }

    fn draw<'a>(&self, root: &Root<'a>) -> Result<(), Wrong<'a>> {
        let below = root.titled(&self.title, ("sans-serif", 18))?;
        let bars = || self.panels.iter().flat_map(|p| &p.bars);
        let right = f64::from(bars().map(|b| b.0).max().unwrap_or(0)) + 1.0;
        let top = bars().map(|b| b.1).fold(f64::MIN_POSITIVE, f64::max);
        for (panel, area) in self.panels.iter().zip(below.split_evenly((self.rows(), 2))) {
            let mut chart = ChartBuilder::on(&area)
                .caption(&panel.title, ("sans-serif", 15))
                .margin(8)
                .x_label_area_size(36)
                .y_label_area_size(64)
                .build_cartesian_2d(-0.5..right, 0.0..top * 1.05)?;
            chart
                .configure_mesh()
                .x_desc(&self.x)
                .y_desc(&self.y)
                .x_label_formatter(&|x| format!("{x:.0}"))
                .light_line_style(WHITE)
                .disable_x_mesh()
                .draw()?;
            chart.draw_series(panel.bars.iter().map(|&(x, y)| {
                let x = f64::from(x);
                Rectangle::new([(x - 0.4, 0.0), (x + 0.4, y)], colour(2).filled())
            }))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_panel_and_bar_is_drawn() {
        let panel = |title: &str| Panel { title: title.into(), bars: vec![(1, 3.0), (2, 5.0), (7, 1.0)] };
        let figure = Bars {
            title: "Ways".into(),
            x: "hops".into(),
            y: "messages".into(),
            panels: vec![panel("first"), panel("second"), panel("third")],
        };
        let svg = figure.svg().expect("a figure");
        for word in ["Ways", "hops", "messages", "first", "second", "third"] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(svg.matches("fill=\"#0072B2\"").count(), 9, "three bars in each of three panels");
        assert_eq!(svg, figure.svg().expect("a figure"), "the same bytes each time");
        assert!(Bars { panels: Vec::new(), ..figure }.svg().is_ok());
    }
}
