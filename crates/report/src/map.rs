//! A network with what its links carried: nodes in rows, links coloured and as thick as they are loaded. SVG (names by pointing) and PDF.

use crate::plot::{
    colours::{Colour, DARKER, FRAME, along},
    scene::{Anchor, Place, Scene, Shape, Stroke, Text},
};

/// Width of the picture, in points.
const WIDTH: f64 = 720.0;
/// Distance of two rows.
const ROW: f64 = 100.0;
/// Space on each side of the drawing.
const MARGIN: f64 = 18.0;
/// ORCS' colours: green, yellow, red.
const GREEN_TO_RED: &[Colour] = &[[0, 220, 0], [255, 220, 0], [255, 0, 0]];

/// Colours of links, from unused to most used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// Grey, yellow, red, violet: ever darker, so that colour-blind eyes and grey prints tell them apart.
    #[default]
    Safe,
    /// Green, yellow, red, as ORCS draws them.
    GreenToRed,
}

impl Palette {
    /// The colour of a share from 0 to 1.
    #[must_use]
    pub fn colour(self, share: f64) -> [u8; 3] {
        match self {
            Self::Safe => along(&DARKER, share),
            Self::GreenToRed => along(GREEN_TO_RED, share),
        }
    }
}

/// A node of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Shown by pointing.
    pub name: String,
    /// Row, counted from below.
    pub row: u32,
    /// Drawn small and grey.
    pub is_host: bool,
}

/// A directed link of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Nodes that it leads from and to, by place.
    pub ends: (usize, usize),
    /// What it carried, as a share of the most that one carried.
    pub share: f64,
    /// Its number among those between the same nodes, so that they lie beside each other.
    pub beside: u32,
    /// Shown by pointing.
    pub name: String,
}

/// A network to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Words above the drawing.
    pub title: String,
    /// Places in a row follow their order.
    pub nodes: Vec<Node>,
    /// Drawn from the least to the most used.
    pub links: Vec<Link>,
    /// What the ends of the scale mean: unused, most used.
    pub scale: (String, String),
    /// Colours of links.
    pub palette: Palette,
}

impl Map {
    /// The map as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        self.scene().svg()
    }

    /// The map as PDF.
    #[must_use]
    pub fn pdf(&self) -> Vec<u8> {
        self.scene().pdf()
    }

    fn scene(&self) -> Scene {
        let most = self.nodes.iter().map(|n| n.row).max().unwrap_or(0);
        let height = 2.0 * MARGIN + 50.0 + f64::from(most) * ROW;
        let words = |at, size, anchor, words: &str| {
            Shape::Text(Text { at, words: words.to_owned(), size, anchor, upwards: false })
        };
        let mut shapes = vec![words((MARGIN, 16.0), 10.0, Anchor::Start, &self.title)];
        let places = self.places(most);
        let mut drawn: Vec<&Link> = self.links.iter().collect();
        drawn.sort_by(|a, b| a.share.total_cmp(&b.share));
        for link in drawn {
            shapes.push(self.link(link, &places));
        }
        for (node, &(x, y)) in self.nodes.iter().zip(&places) {
            let (fill, half) = if node.is_host { ([221, 221, 221], 1.8) } else { ([255, 255, 255], 3.2) };
            let corners =
                vec![(x - half, y - half), (x + half, y - half), (x + half, y + half), (x - half, y + half)];
            let border = Stroke { colour: FRAME, width: 0.5, dash: &[] };
            let area = Shape::Area(corners, Some(fill), Some(border));
            shapes.push(Shape::Named(node.name.clone(), Box::new(area)));
        }
        self.legend(height - 14.0, &mut shapes);
        Scene { width: WIDTH, height, shapes }
    }

    /// Where nodes stand: each row is divided among its nodes.
    fn places(&self, most: u32) -> Vec<Place> {
        let mut count = vec![0u32; most as usize + 1];
        let mut order = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            order.push(count[node.row as usize]);
            count[node.row as usize] += 1;
        }
        let place = |(node, &at): (&Node, &u32)| {
            let step = (WIDTH - 2.0 * MARGIN) / f64::from(count[node.row as usize].max(1));
            (MARGIN + (f64::from(at) + 0.5) * step, MARGIN + 14.0 + f64::from(most - node.row) * ROW)
        };
        self.nodes.iter().zip(&order).map(place).collect()
    }

    /// A link to the right of its direction; between nodes of one row it bows upwards.
    fn link(&self, link: &Link, places: &[Place]) -> Shape {
        let ((ax, ay), (bx, by)) = (places[link.ends.0], places[link.ends.1]);
        let length = (bx - ax).hypot(by - ay).max(1.0);
        let off = 0.9 + 1.8 * f64::from(link.beside);
        let (dx, dy) = (-(by - ay) / length * off, (bx - ax) / length * off);
        let bow = self.nodes[link.ends.0].row == self.nodes[link.ends.1].row;
        let steps = if bow { 12 } else { 1 };
        let line = (0..=steps).map(|n| {
            let part = f64::from(n) / f64::from(steps);
            // A parabola through both ends, 14 points above the middle.
            let up = if bow { 56.0 * part * (1.0 - part) } else { 0.0 };
            (ax + part * (bx - ax) + dx, ay + part * (by - ay) + dy - up)
        });
        let stroke =
            Stroke { colour: self.palette.colour(link.share), width: 0.3 + 1.1 * link.share, dash: &[] };
        Shape::Named(link.name.clone(), Box::new(Shape::Line(line.collect(), stroke)))
    }

    /// The scale of colours with its ends.
    fn legend(&self, y: f64, shapes: &mut Vec<Shape>) {
        let words = |x, anchor, words: &str| {
            Shape::Text(Text { at: (x, y), words: words.to_owned(), size: 8.0, anchor, upwards: false })
        };
        let (left, step) = (MARGIN + 90.0, 8.0);
        for n in 0..16 {
            let (x, share) = (left + step * f64::from(n), f64::from(n) / 15.0);
            let corners = vec![(x, y - 7.0), (x + step, y - 7.0), (x + step, y), (x, y)];
            shapes.push(Shape::Area(corners, Some(self.palette.colour(share)), None));
        }
        shapes.push(words(left - 5.0, Anchor::End, &self.scale.0));
        shapes.push(words(left + 16.0 * step + 5.0, Anchor::Start, &self.scale.1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn safe_colours_get_darker_all_the_way() {
        let light = |share| {
            let [r, g, b] = Palette::Safe.colour(share).map(f64::from);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        assert!((0..100).all(|n| light(f64::from(n) / 100.0) > light(f64::from(n + 1) / 100.0)));
        assert_eq!(Palette::GreenToRed.colour(0.0), [0, 220, 0]);
        assert_eq!(Palette::GreenToRed.colour(2.0), [255, 0, 0]);
    }

    #[test]
    fn links_and_nodes_carry_their_names_and_nothing_leaves_the_page() {
        let node = |name: &str, row, is_host| Node { name: name.to_owned(), row, is_host };
        let link = |ends, share, name: &str| Link { ends, share, beside: 0, name: name.to_owned() };
        let map = Map {
            title: "a < b".to_owned(),
            nodes: vec![node("h", 0, true), node("s<1>", 1, false), node("s2", 1, false)],
            links: vec![link((0, 1), 1.0, "h to s"), link((1, 2), 0.5, "across"), link((2, 1), 0.0, "back")],
            scale: ("unused".to_owned(), "most".to_owned()),
            palette: Palette::Safe,
        };
        let svg = map.svg();
        for part in ["a &lt; b", "<title>h to s</title>", "<title>s&lt;1&gt;</title>", "#3a075c", "unused"] {
            assert!(svg.contains(part), "{part} is in {svg}");
        }
        let scene = map.scene();
        let within = |&(x, y): &Place| (0.0..=scene.width).contains(&x) && (0.0..=scene.height).contains(&y);
        for shape in &scene.shapes {
            let shape = if let Shape::Named(_, shape) = shape { shape } else { shape };
            if let Shape::Line(places, _) | Shape::Area(places, ..) = shape {
                assert!(places.iter().all(within), "{shape:?}");
            }
        }
        assert!(map.pdf().starts_with(b"%PDF"));
    }
}
