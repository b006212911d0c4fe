//! Panels of bars over whole numbers, two in a row.

use crate::plot::{Axis, Facet, Mark, Plot, Series, Style};

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
    /// The figure, to be drawn.
    #[must_use]
    pub fn plot(&self) -> Plot {
        let most = self.panels.iter().flat_map(|p| &p.bars).map(|b| b.0).max().unwrap_or(0);
        let mark = |&(x, y): &(u32, f64)| Mark { x: f64::from(x), y, bar: None, hollow: false };
        let facet = |panel: &Panel| Facet {
            title: panel.title.clone(),
            series: vec![Series { name: 0, marks: panel.bars.iter().map(mark).collect() }],
        };
        let ends = (Some(-0.6), Some(f64::from(most) + 0.6));
        Plot {
            style: Style::Bars,
            title: self.title.clone(),
            x: Axis { label: self.x.clone(), min: ends.0, max: ends.1, ..Axis::default() },
            y: Axis { label: self.y.clone(), min: Some(0.0), ..Axis::default() },
            names: vec![String::new()],
            facets: self.panels.iter().map(facet).collect(),
            width: 440.0,
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
    fn every_panel_and_bar_is_drawn() {
        let panel = |title: &str| Panel { title: title.into(), bars: vec![(1, 3.0), (2, 5.0), (7, 1.0)] };
        let figure = Bars {
            title: "Paths".into(),
            x: "hops".into(),
            y: "messages".into(),
            panels: vec![panel("first"), panel("second"), panel("third")],
        };
        let svg = figure.svg();
        for word in ["Paths", "hops", "messages", "first", "second", "third"] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(svg.matches("fill=\"#0072b2\"").count(), 9, "three bars in each of three panels");
        assert_eq!(svg, figure.svg(), "the same bytes each time");
        assert!(Bars { panels: Vec::new(), ..figure }.svg().starts_with("<svg"));
    }
}
