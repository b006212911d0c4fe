//! Figure 2: window times over 6 hops by loss and window size, sampled and fitted.
//!
//! Fits are kept as text in the output directory, if one is given, and taken from there when the study is run again.

use super::super::study::Line;
use crate::{exit::Exit, failure::Failure};
use model::resilient::{
    Parameters, Protocol,
    fit::{Fit, Grid, Shape},
};
use serde_json::{Value as Json, json};
use std::{fs, path::Path, thread};

/// As the figure.
const HOPS: u32 = 6;
/// Window sizes.
const WINDOWS: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/// The paper's mean relative error in percent; it does not tell of which protocol.
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

/// Samples and fits all three protocols.
///
/// # Errors
/// If fits cannot be kept or read.
pub fn run(effort: &Effort, out: Option<&Path>) -> Result<(Vec<Line>, Json), Failure> {
    let losses: Vec<f64> =
        (0..=effort.steps).map(|i| 0.05 * f64::from(i) / f64::from(effort.steps)).collect();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (mut lines, mut all) = (Vec::new(), Vec::new());
    for protocol in Protocol::PAPER {
        let parameters = Parameters::table2(protocol);
        let spread = (effort.samples, effort.error);
        let grid =
            Grid::sampled(&parameters, HOPS, (&losses, &WINDOWS), spread, threads).map_err(|m| told(&m))?;
        for (shape, name) in [(Shape::Biquartic, "biquartic"), (Shape::Pieces, "pieces")] {
            let fit = kept(out, &format!("fit-{}-{name}.txt", protocol.name()), &grid, shape)?;
            let off = grid.off(&fit);
            if shape == Shape::Biquartic {
                lines.push(Line {
                    row: format!("figure 2: {HOPS} hops, {}", protocol.name()),
                    key: "mean relative error of 25 terms, %".to_owned(),
                    published: Some(PUBLISHED),
                    ours: Some(100.0 * off.mean),
                    why: format!(
                        "grid of {} losses from 0 to 5 % and windows of 1 to 10, standard error up to {:.3} %; the paper tells neither grid nor protocol; ncd is stepped",
                        losses.len(),
                        100.0 * grid.error
                    ),
                });
            }
            all.push(json!({
                "protocol": protocol.name(),
                "fit": name,
                "hops": HOPS,
                "mean_relative_error": off.mean,
                "worst_relative_error": off.worst,
                "standard_error": grid.error,
            }));
        }
    }
    Ok((lines, json!(all)))
}

/// The fit of a file, or a new one, which is put there.
fn kept(out: Option<&Path>, name: &str, grid: &Grid, shape: Shape) -> Result<Fit, Failure> {
    let Some(directory) = out else { return Fit::of(grid, shape).map_err(|m| told(&m)) };
    let path = directory.join(name);
    if let Ok(text) = fs::read_to_string(&path) {
        let wrong = |m: String| Failure::new(Exit::Input, format!("`{}`: {m}", path.display()));
        return Fit::read(&text).map_err(wrong);
    }
    let fit = Fit::of(grid, shape).map_err(|m| told(&m))?;
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, fit.text()));
    written.map_err(|e| Failure::new(Exit::Output, format!("cannot write `{}`: {e}", path.display())))?;
    Ok(fit)
}

fn told(message: &str) -> Failure {
    super::scenarios::ours(message)
}
