//! Places of dots by forces: linked dots attract, all repel (Fruchterman and Reingold, *Graph drawing by force-directed placement*, 1991). Begins
//! with a circle in the order of numbers, so that the same graph always gets the same places.

use libm::{cos, sin};

/// Most dots that are placed by forces; the work grows with their square.
pub const MOST: usize = 400;

/// Places within the unit square.
pub fn places(neighbours: &[Vec<usize>]) -> Vec<(f64, f64)> {
    let count = neighbours.len();
    let mut at = circle(count);
    if !(4..=MOST).contains(&count) {
        return at;
    }
    let rounds = 300;
    let ideal = 1.0 / (count as f64).sqrt();
    for round in 0..rounds {
        let mut moves = vec![(0.0, 0.0); count];
        for a in 0..count {
            for b in a + 1..count {
                let (dx, dy) = (at[a].0 - at[b].0, at[a].1 - at[b].1);
                let square = (dx * dx + dy * dy).max(1e-9);
                let push = ideal * ideal / square;
                moves[a] = (moves[a].0 + dx * push, moves[a].1 + dy * push);
                moves[b] = (moves[b].0 - dx * push, moves[b].1 - dy * push);
            }
            for &b in neighbours[a].iter().filter(|b| **b > a) {
                let (dx, dy) = (at[a].0 - at[b].0, at[a].1 - at[b].1);
                let pull = (dx * dx + dy * dy).sqrt() / ideal;
                moves[a] = (moves[a].0 - dx * pull, moves[a].1 - dy * pull);
                moves[b] = (moves[b].0 + dx * pull, moves[b].1 + dy * pull);
            }
        }
        // What may move less and less comes to rest.
        let most = 0.1 * (1.0 - f64::from(round) / f64::from(rounds));
        for (place, (dx, dy)) in at.iter_mut().zip(moves) {
            let long = (dx * dx + dy * dy).sqrt().max(1e-12);
            let step = long.min(most) / long;
            *place = (place.0 + dx * step, place.1 + dy * step);
        }
    }
    stretched(&at)
}

/// Places on a circle, the first at the top.
pub fn circle(count: usize) -> Vec<(f64, f64)> {
    let angle = |n: usize| n as f64 / count.max(1) as f64 * std::f64::consts::TAU;
    (0..count).map(|n| (0.5 + 0.5 * sin(angle(n)), 0.5 - 0.5 * cos(angle(n)))).collect()
}

/// The same places filling the unit square.
pub fn stretched(at: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let (low, high) =
            at.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
        (low, (high - low).max(1e-9))
    };
    let ((x, w), (y, h)) = (ends(|p| p.0), ends(|p| p.1));
    at.iter().map(|p| ((p.0 - x) / w, (p.1 - y) / h)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_stays_a_ring_and_linked_dots_are_near() {
        let ring: Vec<Vec<usize>> = (0..20).map(|n| vec![(n + 19) % 20, (n + 1) % 20]).collect();
        let at = places(&ring);
        let far = |a: usize, b: usize| (at[a].0 - at[b].0).hypot(at[a].1 - at[b].1);
        for n in 0..20 {
            assert!(far(n, (n + 1) % 20) < far(n, (n + 10) % 20) / 2.0, "{n}");
        }
        assert_eq!(at, places(&ring));
    }
}
