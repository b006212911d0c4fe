//! Stars: every place has links up and links down of its own, and all meet in the middle. With coordinates (Vivaldi) what lies between two places
//! also takes time.

use base::sorted::SortedMap;

/// Coordinates of a place in milliseconds: two in the plane, and its own height.
pub type Coordinates = [f64; 3];

/// Links of the places of a star. Places without any are the middle itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Star {
    /// Links from a point to the middle, in order, by their numbers in the platform.
    pub up: SortedMap<u32, Vec<u32>>,
    /// Links from the middle to a point, in order.
    pub down: SortedMap<u32, Vec<u32>>,
    /// True if places have coordinates: see [`Star::apart`].
    pub coordinates: bool,
}

impl Star {
    /// Appends the links between two points. None is crossed twice.
    pub fn route(&self, from: u32, to: u32, out: &mut Vec<u32>) {
        let begun = out.len();
        let both = [self.up.get(&from), self.down.get(&to)];
        for &link in both.into_iter().flatten().flatten() {
            if !out[begun..].contains(&link) {
                out.push(link);
            }
        }
    }

    /// Seconds between two places by their coordinates: the distance in the plane, and both heights.
    #[must_use]
    pub fn apart(a: Coordinates, b: Coordinates) -> f64 {
        let plane = (a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]);
        (plane.sqrt() + a[2].abs() + b[2].abs()) / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_crossed_once() {
        let both = |links: &[u32]| SortedMap::from([(1, links.to_vec())]);
        let star = Star { up: both(&[4, 5]), down: both(&[5, 4]), coordinates: false };
        let route = |from, to| {
            let mut out = vec![4];
            star.route(from, to, &mut out);
            out
        };
        assert_eq!(route(1, 1), [4, 4, 5]);
        assert_eq!((route(1, 7), route(7, 1), route(7, 8)), (vec![4, 4, 5], vec![4, 5, 4], vec![4]));
    }

    #[test]
    fn distances_are_in_the_plane_and_up_and_down() {
        let apart = Star::apart([0.0, 0.0, 1.0], [3.0, -4.0, -2.0]);
        assert!((apart - 0.008).abs() < 1e-15, "{apart}");
    }
}
