//! Fitted transfer times: a polynomial or a table in place of samples (HAEC-SIM, section 5.2).
//!
//! **Biquartic**, as in the paper: for one protocol and number of hops, the time of a window is a sum of 25 terms a(i, j) x^i y^j, i and j from 0 to 4, of loss p
//! and window size `s_w`, both scaled to -1..1, by least squares. **Pieces**, ours: for each whole window size a polynomial of degree 4 in the loss, anew
//! between the losses at which `NCD_r`'s first round grows by a packet, where the time jumps. A fit is stored as text and used again; outside of what
//! it was made from it says so, and nothing is extrapolated.
//!
//! Least squares by Householder's QR in a fixed order: the same bits everywhere.

use super::{
    monte_carlo::{Point, sample},
    parameters::{Parameters, Protocol, power},
    path::Path,
};
use base::hash::mix64;
use std::fmt::Write as _;

/// Terms of a polynomial along one axis.
const TERMS: usize = 5;

/// Where mean times are sampled: at every pair of a loss and a window.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// What `windows` are: windows of the protocol, or packets of a message.
    pub axis: Axis,
    /// Shares of packets that a hop loses, from 0 to 1.
    pub losses: &'a [f64],
    /// Packets at each point, as `axis` says.
    pub windows: &'a [u32],
}

/// How long a mean is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Samples at first.
    pub samples: u64,
    /// Relative standard error at which sampling ends, at most 1,024 times as many samples later.
    pub error: f64,
}

/// Sampled mean times: those of one protocol and number of hops.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Protocol and everything but loss and window.
    pub parameters: Parameters,
    /// Number of hops.
    pub hops: u32,
    /// Probabilities that a link loses a packet, ascending.
    pub losses: Vec<f64>,
    /// Window sizes, ascending.
    pub windows: Vec<u32>,
    /// Mean time in ps of a window until its packets are there, without injection, loss by loss.
    pub times: Vec<f64>,
    /// The same until it is acknowledged.
    pub gates: Vec<f64>,
    /// Greatest standard error relative to its mean.
    pub error: f64,
}

/// A point of a grid with the time that was sampled there.
struct Sampled {
    loss: f64,
    window: u32,
    /// Mean over the samples, in picoseconds.
    time: f64,
}

/// What the second axis of a grid is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Size of the window, `s_w`; each is full.
    Windows,
    /// Packets of a window that is not full, as the last of a message may be; `s_w` is that of the parameters.
    Packets,
}

/// How times are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One polynomial of 25 terms.
    Biquartic,
    /// Polynomials of the loss by window size, between jumps.
    Pieces,
}

impl Shape {
    /// Both shapes, the paper's first.
    pub const ALL: [Self; 2] = [Self::Biquartic, Self::Pieces];

    /// Its name: `biquartic` or `pieces`.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self == Self::Biquartic { "biquartic" } else { "pieces" }
    }
}

/// A part of a fit: losses `from` (within) to `to` (beyond), windows `first` to `last`.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    from: f64,
    to: f64,
    first: u32,
    last: u32,
    coefficients: Vec<f64>,
}

/// A fit of one protocol over one number of hops.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    protocol: Protocol,
    /// Number of hops.
    pub hops: u32,
    pieces: Vec<Piece>,
}

/// How far a fit is off, relative to the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Off {
    /// Mean over the grid.
    pub mean: f64,
    /// Greatest over the grid.
    pub worst: f64,
}

impl Grid {
    /// Samples every point, `samples` times each and more often until its standard error is at most `error` of its mean, at most 1,024 times as often.
    ///
    /// # Errors
    /// Parameters that do not go together.
    pub fn sampled(
        parameters: &Parameters,
        hops: u32,
        points: Points<'_>,
        effort: Effort,
        threads: usize,
    ) -> Result<Self, String> {
        let Points { axis, losses, windows } = points;
        let Effort { samples, error } = effort;
        assert!(samples > 0 && error > 0.0, "a mean has samples, and an error that can be reached");
        let (mut times, mut gates, mut worst) = (Vec::new(), Vec::new(), 0.0f64);
        for (i, &loss) in losses.iter().enumerate() {
            for &window in windows {
                let size = if axis == Axis::Windows { window } else { parameters.window };
                let p = Parameters { loss, window: size, ..*parameters };
                let (path, delays) = (Path::uniform(hops, loss, p.tamper)?, p.delays()?);
                let seed = mix64(u64::from(hops) << 40 | (i as u64) << 20 | u64::from(window));
                let point = Point { parameters: &p, path: &path, packets: window.into(), seed };
                let (mut count, most) = (samples, 1024 * samples);
                loop {
                    let found = sample(&point, count, threads)?;
                    let time = found.time;
                    let mean = time.mean() - delays.injection as f64;
                    let relative = time.standard_error() / mean;
                    if relative <= error || count >= most {
                        worst = worst.max(relative);
                        times.push(mean / delays.scale as f64);
                        let gate = found.acknowledged.mean() - delays.injection as f64;
                        gates.push(gate / delays.scale as f64);
                        break;
                    }
                    // As many as it should take, and some.
                    let factor = (1.05 * relative / error * relative / error).clamp(1.5, 1024.0);
                    count = ((count as f64 * factor) as u64).min(most);
                }
            }
        }
        let (losses, windows) = (losses.to_vec(), windows.to_vec());
        Ok(Self { parameters: *parameters, hops, losses, windows, times, gates, error: worst })
    }

    /// The same grid with the times until windows are acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> Self {
        Self { times: self.gates.clone(), ..self.clone() }
    }

    fn points(&self) -> impl Iterator<Item = Sampled> + '_ {
        let places = self.losses.iter().flat_map(|&p| self.windows.iter().map(move |&w| (p, w)));
        places.zip(&self.times).map(|((loss, window), &time)| Sampled { loss, window, time })
    }

    /// How far a fit is off on this grid; points that it does not cover count as wholly off.
    #[must_use]
    pub fn off(&self, fit: &Fit) -> Off {
        let off = |s: Sampled| fit.time(s.loss, s.window).map_or(1.0, |ours| (ours / s.time - 1.0).abs());
        let all = self.points().map(off);
        let (mut sum, mut worst) = (0.0, 0.0f64);
        all.for_each(|off| (sum, worst) = (sum + off, worst.max(off)));
        Off { mean: sum / self.times.len() as f64, worst }
    }
}

impl Fit {
    /// Fits a grid.
    ///
    /// # Errors
    /// If the grid has too few points.
    pub fn of(grid: &Grid, shape: Shape) -> Result<Self, String> {
        let (Some(&low), Some(&high)) = (grid.losses.first(), grid.losses.last()) else {
            return Err("a fit needs losses".to_owned());
        };
        let (Some(&first), Some(&last)) = (grid.windows.first(), grid.windows.last()) else {
            return Err("a fit needs window sizes".to_owned());
        };
        let beyond = f64::from_bits(high.to_bits() + 1);
        let mut pieces = Vec::new();
        match shape {
            Shape::Biquartic if grid.losses.len() < TERMS || grid.windows.len() < TERMS => {
                return Err(format!("25 terms need {TERMS} losses and window sizes at least"));
            }
            Shape::Biquartic => pieces.push(piece(grid, low, beyond, first, last)?),
            Shape::Pieces => {
                for &window in &grid.windows {
                    let mut from = low;
                    for to in jumps(grid, window).into_iter().chain([beyond]) {
                        pieces.push(piece(grid, from, to, window, window)?);
                        from = to;
                    }
                }
            }
        }
        Ok(Self { protocol: grid.parameters.protocol, hops: grid.hops, pieces })
    }

    /// The time in ps of a window of so many packets until they are there, without injection; `None` outside of what was fitted.
    #[must_use]
    pub fn time(&self, loss: f64, window: u32) -> Option<f64> {
        let covers = |p: &&Piece| p.from <= loss && loss < p.to && p.first <= window && window <= p.last;
        let piece = self.pieces.iter().find(covers)?;
        let row = row(piece, loss, window);
        Some(row.iter().zip(&piece.coefficients).map(|(x, a)| x * a).sum())
    }

    /// As text: a line for each piece; numbers come back bit by bit.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{} {}\n", self.protocol.name(), self.hops);
        for p in &self.pieces {
            let _ = write!(text, "{:?} {:?} {} {}", p.from, p.to, p.first, p.last);
            p.coefficients.iter().for_each(|a| _ = write!(text, " {a:?}"));
            text.push('\n');
        }
        text
    }

    /// Reads what [`Fit::text`] wrote.
    ///
    /// # Errors
    /// The line that cannot be read.
    pub fn read(text: &str) -> Result<Self, String> {
        let wrong = |line: &str| format!("cannot read `{line}`");
        let mut lines = text.lines();
        let head = lines.next().unwrap_or("");
        let (name, hops) = head.split_once(' ').ok_or_else(|| wrong(head))?;
        let protocol = Protocol::of(name).ok_or_else(|| wrong(head))?;
        let mut fit = Self { protocol, hops: hops.parse().map_err(|_| wrong(head))?, pieces: Vec::new() };
        for line in lines {
            let numbers: Result<Vec<f64>, _> = line.split(' ').map(str::parse).collect();
            let numbers = numbers.map_err(|_| wrong(line))?;
            let [from, to, first, last, coefficients @ ..] = numbers.as_slice() else {
                return Err(wrong(line));
            };
            let whole = numbers.iter().all(|n| n.is_finite());
            if !whole || from >= to || first > last || *first < 0.0 {
                return Err(wrong(line));
            }
            let (first, last) = (*first as u32, *last as u32);
            let terms = if first == last { TERMS } else { TERMS * TERMS };
            if coefficients.len() > terms || coefficients.is_empty() {
                return Err(wrong(line));
            }
            fit.pieces.push(Piece { from: *from, to: *to, first, last, coefficients: coefficients.to_vec() });
        }
        Ok(fit)
    }
}

/// Losses within the grid at which `NCD_r`'s first round grows.
fn jumps(grid: &Grid, window: u32) -> Vec<f64> {
    let Parameters { protocol: Protocol::Ncd, tamper, .. } = grid.parameters else { return Vec::new() };
    let round =
        |loss: f64| (f64::from(window) / power((1.0 - loss) * (1.0 - tamper), grid.hops.into())).ceil();
    let mut all = Vec::new();
    for pair in grid.losses.windows(2) {
        let after = round(pair[1]);
        if round(pair[0]) >= after {
            continue;
        }
        // The least loss with the later point's round.
        let (mut low, mut high) = (pair[0], pair[1]);
        for _ in 0..64 {
            let middle = f64::midpoint(low, high);
            if round(middle) < after {
                low = middle;
            } else {
                high = middle;
            }
        }
        all.push(high);
    }
    all
}

/// Fits what of a grid lies in a range; a range with few losses gets a polynomial of lower degree.
fn piece(grid: &Grid, from: f64, to: f64, first: u32, last: u32) -> Result<Piece, String> {
    let inside = |s: &Sampled| from <= s.loss && s.loss < to && first <= s.window && s.window <= last;
    let points: Vec<Sampled> = grid.points().filter(inside).collect();
    let terms = if first == last { TERMS.min(points.len()) } else { TERMS * TERMS };
    if points.len() < terms || terms == 0 {
        return Err(format!("{} points are too few for {terms} terms", points.len()));
    }
    let mut piece = Piece { from, to, first, last, coefficients: vec![0.0; terms] };
    // Relative errors count.
    let scaled = |s: &Sampled| row(&piece, s.loss, s.window).into_iter().map(|x| x / s.time).collect();
    let rows = points.iter().map(scaled).collect();
    piece.coefficients = least_squares(rows, vec![1.0; points.len()]);
    Ok(piece)
}

/// The terms of a piece's polynomial at a point.
fn row(piece: &Piece, loss: f64, window: u32) -> Vec<f64> {
    let scaled =
        |x: f64, low: f64, high: f64| if high > low { (2.0 * x - low - high) / (high - low) } else { 0.0 };
    let x = scaled(loss, piece.from, piece.to);
    if piece.first == piece.last {
        return (0..piece.coefficients.len() as u64).map(|i| power(x, i)).collect();
    }
    let y = scaled(f64::from(window), f64::from(piece.first), f64::from(piece.last));
    (0..TERMS as u64).flat_map(|i| (0..TERMS as u64).map(move |j| power(x, i) * power(y, j))).collect()
}

/// Solves a x = b in the sense of least squares, a by rows, at least as many as columns: Householder's reflections.
fn least_squares(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let (m, n) = (a.len(), a.first().map_or(0, Vec::len));
    debug_assert!(m >= n && b.len() == m, "there are at least as many rows as columns");
    for k in 0..n {
        let norm = (k..m).map(|i| a[i][k] * a[i][k]).sum::<f64>().sqrt();
        if norm <= 0.0 {
            continue;
        }
        let alpha = if a[k][k] > 0.0 { -norm } else { norm };
        let mut v: Vec<f64> = (k..m).map(|i| a[i][k]).collect();
        v[0] -= alpha;
        let length: f64 = v.iter().map(|x| x * x).sum();
        if length <= 0.0 {
            continue;
        }
        let dots: Vec<f64> = (k..n).map(|j| v.iter().zip(&a[k..]).map(|(x, row)| x * row[j]).sum()).collect();
        for (x, row) in v.iter().zip(&mut a[k..]) {
            row[k..].iter_mut().zip(&dots).for_each(|(entry, dot)| *entry -= 2.0 * dot / length * x);
        }
        let dot: f64 = v.iter().enumerate().map(|(i, x)| x * b[k + i]).sum();
        v.iter().enumerate().for_each(|(i, x)| b[k + i] -= 2.0 * dot / length * x);
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| a[k][j] * x[j]).sum();
        // A column without weight takes no part.
        x[k] = if a[k][k].abs() > 1e-300 { (b[k] - rest) / a[k][k] } else { 0.0 };
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid whose times are a polynomial of the degree that is fitted.
    fn made(protocol: Protocol, losses: &[f64], windows: &[u32], time: impl Fn(f64, u32) -> f64) -> Grid {
        let times =
            losses.iter().flat_map(|&p| windows.iter().map(move |&w| (p, w))).map(|(p, w)| time(p, w));
        Grid {
            parameters: Parameters::table2(protocol),
            hops: 6,
            losses: losses.to_vec(),
            windows: windows.to_vec(),
            times: times.collect(),
            gates: Vec::new(),
            error: 0.0,
        }
    }

    fn losses() -> Vec<f64> {
        (0..=10).map(|i| f64::from(i) * 0.005).collect()
    }

    #[test]
    fn polynomials_are_found_again() {
        let time = |p: f64, w: u32| {
            let w = f64::from(w);
            1e7 + 3e8 * p * w - 4e9 * p * p + 5e3 * power(w, 4) + 1e12 * power(p, 4) * w * w
        };
        let grid = made(Protocol::Dor, &losses(), &[1, 2, 3, 4, 5, 6, 7, 8], time);
        for shape in [Shape::Biquartic, Shape::Pieces] {
            let fit = Fit::of(&grid, shape).unwrap();
            assert!(grid.off(&fit).worst < 1e-9, "{shape:?}: {:?}", grid.off(&fit));
            let between = fit.time(0.0123, 6).unwrap();
            assert!((between / time(0.0123, 6) - 1.0).abs() < 1e-9);
            assert_eq!(Fit::read(&fit.text()).unwrap(), fit);
        }
    }

    /// Times of a grid begin where the packets are handed over: without injection, and without loss exactly those of the closed form.
    #[test]
    fn times_of_a_grid_are_without_injection() {
        let parameters = Parameters { loss: 0.0, ..Parameters::table2(Protocol::Dor) };
        let points = Points { axis: Axis::Windows, losses: &[0.0], windows: &[1, 4] };
        let grid = Grid::sampled(&parameters, 3, points, Effort { samples: 2, error: 1.0 }, 1).unwrap();
        let delays = parameters.delays().unwrap();
        for (at, window) in [1, 4].into_iter().enumerate() {
            let time = (delays.lossless(3, window, window) - delays.injection) as f64 / delays.scale as f64;
            let gate = time + delays.back(3) as f64 / delays.scale as f64;
            assert!((grid.times[at] / time - 1.0).abs() < 1e-12, "{window}: {} not {time}", grid.times[at]);
            assert!((grid.gates[at] / gate - 1.0).abs() < 1e-12, "{window}: {} not {gate}", grid.gates[at]);
        }
    }

    /// The error falls with the square root of the samples, so a grid has about as many as its error needs.
    #[test]
    fn no_more_is_sampled_than_the_error_needs() {
        let parameters = Parameters::table2(Protocol::Dor);
        let points = Points { axis: Axis::Windows, losses: &[0.05], windows: &[5] };
        let error = |samples, error| {
            Grid::sampled(&parameters, 6, points, Effort { samples, error }, 2).unwrap().error
        };
        let first = error(200, 1.0);
        let (asked, reached) = (first / 4.0, error(200, first / 4.0));
        assert!(reached <= asked && reached > 0.7 * asked, "{first}: {reached} of {asked}");
    }

    /// Loss and window are scaled to -1..1, which is what stored coefficients stand for.
    #[test]
    fn variables_are_scaled_to_one() {
        let piece =
            |first, last, terms| Piece { from: 0.25, to: 0.75, first, last, coefficients: vec![0.0; terms] };
        let line = piece(3, 3, TERMS);
        for (loss, x) in [(0.25, -1.0), (0.5, 0.0), (0.625, 0.5), (0.75, 1.0)] {
            let powers: Vec<f64> = (0..5).map(|i| f64::powi(x, i)).collect();
            assert_eq!(row(&line, loss, 3), powers, "{loss}");
            for (window, y) in [(2, -1.0), (4, 0.0), (6, 1.0)] {
                let terms = powers.iter().flat_map(|x| (0..5).map(move |j| x * f64::powi(y, j)));
                assert_eq!(row(&piece(2, 6, 25), loss, window), terms.collect::<Vec<_>>(), "{loss} {window}");
            }
        }
    }

    /// A column that lies along an axis but for a billionth: to mirror it to the near side of the axis would lose all digits.
    #[test]
    fn least_squares_keeps_its_digits() {
        for sign in [1.0, -1.0] {
            let a = vec![vec![sign, 1.0], vec![1e-9, 2e-9], vec![0.0, 0.0]];
            let x = least_squares(a, vec![sign + 1.0, 3e-9, 0.0]);
            assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-6), "{sign}: {x:?}");
        }
    }

    #[test]
    fn nothing_is_extrapolated() {
        let grid = made(Protocol::Pnc, &losses(), &[2, 3, 4, 5, 6], |p, w| 1e6 * (1.0 + p) * f64::from(w));
        let fit = Fit::of(&grid, Shape::Biquartic).unwrap();
        assert!(fit.time(0.05, 6).is_some() && fit.time(0.0, 2).is_some());
        for (loss, window) in [(0.050_01, 4), (-0.001, 4), (0.01, 1), (0.01, 7)] {
            assert_eq!(fit.time(loss, window), None);
        }
        assert!(Fit::of(&made(Protocol::Pnc, &losses(), &[1], |_, _| 1.0), Shape::Biquartic).is_err());
        assert!(Fit::read("dor six\n").is_err() && Fit::read("dor 6\n0 1 1 1\n").is_err());
        assert!(Fit::read("dor 6\n0 1 1 1 5e6\n").is_ok());
        for damaged in
            ["0 1 1 1 inf", "NaN 1 1 1 5e6", "1 1 1 1 5e6", "0 inf 1 1 5e6", "0 1 2 1 5e6", "0 1 -1 1 5e6"]
        {
            assert!(Fit::read(&format!("dor 6\n{damaged}\n")).is_err(), "{damaged}");
        }
    }

    /// The surface of `NCD_r` is stepped: pieces follow it, the polynomial does not.
    #[test]
    fn pieces_follow_jumps() {
        let parameters = Parameters::table2(Protocol::Ncd);
        let points = Points { axis: Axis::Windows, losses: &losses(), windows: &[3, 4, 5, 6, 7] };
        let effort = Effort { samples: 2_000, error: 1.0 };
        let grid = Grid::sampled(&parameters, 6, points, effort, 2).unwrap();
        let off = |shape| grid.off(&Fit::of(&grid, shape).unwrap());
        let (smooth, pieces) = (off(Shape::Biquartic), off(Shape::Pieces));
        assert!(pieces.mean < 0.003 && pieces.mean < smooth.mean / 3.0, "{smooth:?} {pieces:?}");
    }
}
