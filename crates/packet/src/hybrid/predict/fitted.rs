//! A linear fit on features of a pair: distance, load of the source, load of the destination.
//!
//! Weighted least squares over the pairs that were seen, by normal equations of four unknowns on centred features, solved by elimination in a fixed
//! order: one answer on every machine. Four numbers stand for the whole table, so pairs that were never seen are predicted as well
//! as others.

use super::{Grid, Predictor, PredictorEntry, Recipe, fits};
use crate::hybrid::learn::{Learned, Shape};
use base::{index::TerminalId, registry::About, time::Ps};
use std::sync::Arc;

/// The predictor `fitted`.
pub const ENTRY: PredictorEntry = PredictorEntry {
    about: About {
        name: "fitted",
        summary: "a linear fit of latency on distance and loads",
        doc: "latency = a + b * routers on a shortest path + c * packets sent by the source + d * packets received by the destination, all within the \
              window; weighted least squares over the pairs that were seen. Feature without spread: left out. Never below the latency of \
              an empty network.",
        source: "",
        params: &[],
    },
    build: |_| Ok(Arc::new(Fitted)),
};

/// Features of a pair, the constant left out.
const FEATURES: usize = 3;

struct Fitted;

impl Recipe for Fitted {
    fn train(&self, learned: &Learned, shape: &Arc<Shape>, classes: usize) -> Arc<dyn Predictor> {
        let line = Line::fit(learned, shape);
        // Where a table of all pairs fits, a prediction is one read.
        if fits(shape, classes) {
            let grid = Grid::dense(shape, |s, d| line.at(s, d));
            return Arc::new(Table(grid));
        }
        Arc::new(line)
    }
}

struct Table(Grid);

impl Predictor for Table {
    fn latency(&self, source: TerminalId, destination: TerminalId, _: Option<u32>) -> Ps {
        self.0.get(source, destination)
    }
}

/// Packets that each node sent and received in the window.
pub(crate) fn loads(learned: &Learned, nodes: u32) -> (Vec<f64>, Vec<f64>) {
    let (mut sent, mut received) = (vec![0.0; nodes as usize], vec![0.0; nodes as usize]);
    for (&(source, destination), seen) in &learned.pairs {
        sent[source.index()] += seen.count as f64;
        received[destination.index()] += seen.count as f64;
    }
    (sent, received)
}

struct Line {
    centre: [f64; FEATURES],
    mean: f64,
    slopes: [f64; FEATURES],
    sent: Vec<f64>,
    received: Vec<f64>,
    shape: Arc<Shape>,
}

impl Line {
    fn fit(learned: &Learned, shape: &Arc<Shape>) -> Self {
        let (sent, received) = loads(learned, shape.terminals);
        let mut line =
            Self { centre: [0.0; 3], mean: 0.0, slopes: [0.0; 3], sent, received, shape: Arc::clone(shape) };
        let weight: f64 = learned.pairs.values().map(|s| s.count as f64).sum();
        if weight < 1.0 {
            return line;
        }
        for (&(s, d), seen) in &learned.pairs {
            let share = seen.count as f64 / weight;
            line.features(s, d).iter().zip(&mut line.centre).for_each(|(x, c)| *c += x * share);
            // Features are centred first: distance is a few, loads are thousands, and their products with the constant would drown the rest.
            line.mean += seen.sum as f64 / weight;
        }
        let (mut a, mut b) = ([[0.0; FEATURES]; FEATURES], [0.0; FEATURES]);
        for (&(s, d), seen) in &learned.pairs {
            let share = seen.count as f64 / weight;
            let x = line.centred(s, d);
            let y = seen.sum as f64 / seen.count as f64 - line.mean;
            for i in 0..FEATURES {
                for j in 0..FEATURES {
                    a[i][j] += share * x[i] * x[j];
                }
                b[i] += share * x[i] * y;
            }
        }
        // Pairs come sorted, so these sums have one order and one result.
        line.slopes = solve(a, b);
        line
    }

    fn features(&self, s: TerminalId, d: TerminalId) -> [f64; FEATURES] {
        [f64::from(self.shape.routers(s, d)), self.sent[s.index()], self.received[d.index()]]
    }

    fn centred(&self, s: TerminalId, d: TerminalId) -> [f64; FEATURES] {
        let x = self.features(s, d);
        std::array::from_fn(|i| x[i] - self.centre[i])
    }

    fn at(&self, s: TerminalId, d: TerminalId) -> Ps {
        let x = self.centred(s, d);
        let y = x.iter().zip(self.slopes).fold(self.mean, |y, (x, slope)| y + x * slope);
        // A line may lead below what is possible where few pairs were seen.
        (y.max(0.0).round() as Ps).max(self.shape.floor(s, d))
    }
}

impl Predictor for Line {
    fn latency(&self, source: TerminalId, destination: TerminalId, _: Option<u32>) -> Ps {
        self.at(source, destination)
    }
}

/// Solves a symmetric positive system; an unknown without (new) spread is 0.
fn solve(mut a: [[f64; FEATURES]; FEATURES], mut b: [f64; FEATURES]) -> [f64; FEATURES] {
    let scale: [f64; FEATURES] = std::array::from_fn(|i| a[i][i]);
    let mut used = [false; FEATURES];
    for i in 0..FEATURES {
        // Nothing is left of this feature beside those before it: on a machine with one distance, or with equal loads. Its slope would be noise.
        if a[i][i] <= 1e-9 * scale[i] || scale[i] <= 0.0 {
            continue;
        }
        used[i] = true;
        for j in 0..FEATURES {
            if j != i {
                let factor = a[j][i] / a[i][i];
                let row = a[i];
                a[j].iter_mut().zip(row).for_each(|(x, y)| *x -= factor * y);
                b[j] -= factor * b[i];
            }
        }
    }
    std::array::from_fn(|i| if used[i] { b[i] / a[i][i] } else { 0.0 })
}
