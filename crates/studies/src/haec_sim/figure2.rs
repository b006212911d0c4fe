//! Figure 2: window times over 6 hops by loss and window size, sampled and fitted.
//!
//! Fits are kept as text in the output directory, if one is given, and taken from there when the study is run again.

use crate::line::Line;
use netloom::{Error, ErrorKind};
use report::{Curve, Lines, Point};
use resilience::{
    Parameters, Protocol,
    fit::{self, Axis, Fit, Grid, Points, Shape},
};
use serde_json::{Value as Json, json};
use std::{fs, path::Path, thread};

/// As the figure.
const HOPS: u32 = 6;
/// Window sizes, and those that are drawn.
const WINDOWS: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const DRAWN: [u32; 3] = [1, 5, 10];
/// The paper's mean relative error in percent; it does not say of which protocol.
const PUBLISHED: f64 = 0.248;

/// How closely to sample: losses from 0 to 5 %, samples to begin with, relative standard error to reach.
pub struct Effort {
    /// Steps of the loss.
    pub steps: u32,
    /// Samples of a point to begin with.
    pub samples: u64,
    /// Standard error relative to the mean.
    pub error: f64,
}

/// What comes of it.
pub struct Found {
    /// Rows of the study's table.
    pub lines: Vec<Line>,
    /// The numbers of all fits.
    pub fits: Json,
    /// A picture of each protocol with its file name.
    pub pictures: Vec<(String, Lines)>,
}

/// Samples and fits all three protocols.
///
/// # Errors
/// If fits cannot be kept or read.
pub fn run(effort: &Effort, out: Option<&Path>) -> Result<Found, Error> {
    let losses: Vec<f64> =
        (0..=effort.steps).map(|i| 0.05 * f64::from(i) / f64::from(effort.steps)).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (mut lines, mut all, mut pictures) = (Vec::new(), Vec::new(), Vec::new());
    for protocol in Protocol::PAPER {
        let parameters = Parameters::table2(protocol);
        let points = Points { axis: Axis::Windows, losses: &losses, windows: &WINDOWS };
        let spread = fit::Effort { samples: effort.samples, error: effort.error };
        let grid = Grid::sampled(&parameters, HOPS, points, spread, threads).map_err(|m| reported(&m))?;
        let mut fits = Vec::new();
        for shape in Shape::ALL {
            let fit = kept(out, &format!("fit-{}-{}.txt", protocol.name(), shape.name()), &grid, shape)?;
            let off = grid.off(&fit);
            let (key, why) = match shape {
                Shape::Biquartic => (
                    "mean relative error of 25 terms, %",
                    "the paper gives neither grid nor protocol; ncd is stepped, which no polynomial follows",
                ),
                Shape::Pieces => (
                    "mean relative error of pieces, %",
                    "ours: a polynomial of the loss for each window, anew at each step",
                ),
            };
            lines.push(Line {
                row: format!("figure 2: {HOPS} hops, {}", protocol.name()),
                key: key.to_owned(),
                published: (shape == Shape::Biquartic).then_some(PUBLISHED),
                ours: Some(100.0 * off.mean),
                why: format!(
                    "greatest {:.3} %; {} losses from 0 to 5 %, windows of 1 to 10, standard error up to {:.3} %; {why}",
                    100.0 * off.worst,
                    losses.len(),
                    100.0 * grid.error
                ),
            });
            all.push(json!({
                "protocol": protocol.name(),
                "fit": shape.name(),
                "hops": HOPS,
                "mean_relative_error": off.mean,
                "worst_relative_error": off.worst,
                "standard_error": grid.error,
            }));
            fits.push(fit);
        }
        pictures.push((format!("figure-2-{}.svg", protocol.name()), picture(&grid, &fits)));
    }
    Ok(Found { lines, fits: json!(all), pictures })
}

/// Sampled times of three windows by loss, and both fits.
fn picture(grid: &Grid, fits: &[Fit]) -> Lines {
    let mut curves = Vec::new();
    for window in DRAWN {
        let Some(column) = grid.windows.iter().position(|&w| w == window) else { continue };
        let at = |time: &dyn Fn(usize, f64) -> Option<f64>| {
            let point = |(i, &loss): (usize, &f64)| {
                time(i, loss).map(|ps| Point { x: 100.0 * loss, y: ps / 1e6, error: 0.0 })
            };
            grid.losses.iter().enumerate().filter_map(point).collect::<Vec<_>>()
        };
        let sampled = at(&|i, _| grid.times.get(i * grid.windows.len() + column).copied());
        curves.push(Curve { label: format!("sampled, s_w = {window}"), points: sampled });
        for (fit, name) in fits.iter().zip(["25 terms", "pieces"]) {
            let points = at(&|_, loss| fit.time(loss, window));
            curves.push(Curve { label: format!("{name}, s_w = {window}"), points });
        }
    }
    Lines {
        title: format!(
            "Figure 2: windows of s_w packets over {HOPS} hops, {}",
            grid.parameters.protocol.name()
        ),
        x: "loss of a link / %".to_owned(),
        y: "time until the packets are there / us".to_owned(),
        shaded: Vec::new(),
        curves,
    }
}

/// The fit of a file, or a new one, which is put there.
fn kept(out: Option<&Path>, name: &str, grid: &Grid, shape: Shape) -> Result<Fit, Error> {
    let Some(directory) = out else { return Fit::of(grid, shape).map_err(|m| reported(&m)) };
    let path = directory.join(name);
    if let Ok(text) = fs::read_to_string(&path) {
        let wrong = |m: String| Error::new(ErrorKind::Input, format!("`{}`: {m}", path.display()));
        return Fit::read(&text).map_err(wrong);
    }
    let fit = Fit::of(grid, shape).map_err(|m| reported(&m))?;
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, fit.text()));
    written.map_err(|e| Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display())))?;
    Ok(fit)
}

fn reported(message: &str) -> Error {
    super::scenarios::ours(message)
}
