//! Rows of a study that run Portals programs: at one size, or at many random ones for a curve and what a million operations cost.
//!
//! With `sizes = 100` a row's program runs once for each of so many sizes, which take the place of `{bytes}` in its arguments: 1 B to 4 MiB, drawn once
//! and for all so that their logarithms are spread evenly. `figure` and `curve` say where the points go: rows of one size belong to curves too, and
//! what was published of them is drawn as circles. `{count}` becomes the row's count, `{seconds}` 5: a tenth of both for --quick, a hundredth for
//! --smoke, which also look at fewer sizes.

use crate::{asked::Form, files::Files};
use base::rng::{Purpose, Stream};
use netloom::{Error, ErrorKind, Watcher};
use report::{BySize, sizes::Series};
use serde_json::{Value as Json, json};
use std::{fs, path::Path, time::Duration};

/// A program of a row.
pub struct Program {
    /// Its source, beside the study's file.
    pub source: String,
    /// Arguments of the command line, `{bytes}` and the like not yet replaced.
    pub arguments: Vec<String>,
    /// Operations of each run.
    pub count: u64,
    /// Sizes, if not one.
    pub sizes: u64,
    /// Title of the figure that its points belong to, and label of the curve there; empty if to none.
    pub place: (String, String),
}

/// Points of all curves of a study.
#[derive(Default)]
pub struct Curves(Vec<Curve>);

struct Curve {
    figure: String,
    label: String,
    circles: bool,
    points: Vec<(f64, f64)>,
}

/// Largest size that is drawn.
const MOST: f64 = (4 << 20) as f64;

/// So many sizes, ascending; of fewer each is one of the more.
fn sizes(count: u64) -> Vec<u64> {
    let mut random = Stream::new(1, Purpose::Setup, 0);
    let mut all: Vec<u64> = (0..count).map(|_| MOST.powf(random.unit_open()).round() as u64).collect();
    all.sort_unstable();
    all
}

/// Runs a row's program: `simulated_us`, the mean of what it prints before "us each", and `host_s_per_million`, time of this machine for a
/// million operations.
///
/// # Errors
/// If it cannot be compiled or run, or prints no time.
pub fn run(
    program: &Program,
    files: &Files,
    experiment: &str,
    set: Vec<String>,
    form: Form,
    curves: &mut Curves,
    watcher: &dyn Watcher,
) -> Result<Json, Error> {
    // Shorter forms look at fewer sizes and operations of each.
    let (part, fewer) = match form {
        Form::Smoke => (100, 20),
        Form::Quick => (10, 4),
        Form::Whole | Form::Full => (1, 1),
    };
    let count = (program.count / part).max(1);
    let drawn = match program.sizes {
        0 => vec![0],
        n => sizes((n / fewer).max(1)),
    };
    let (mut points, mut seconds, mut operations) = (Vec::new(), 0.0, 0.0);
    for bytes in drawn {
        let words = program.arguments.iter();
        let arguments: Vec<String> = words
            .map(|a| a.replace("{count}", &count.to_string()).replace("{bytes}", &bytes.to_string()))
            .map(|a| a.replace("{seconds}", &(5.0 / part as f64).to_string()))
            .collect();
        let (text, took) = output_of(program, &arguments, files, experiment, &set, watcher)?;
        let number = |before: &str| {
            let word = text.split(before).next().and_then(|t| t.rsplit(' ').next());
            word.and_then(|w| w.parse::<f64>().ok()).ok_or_else(|| {
                let message = format!(
                    "`{}` prints no number before \"{before}\": {text}",
                    files.path(&program.source).display()
                );
                Error::new(ErrorKind::Program, message)
            })
        };
        points.push((number(" B,")?, number(" us each")?));
        operations += number(" operations")?;
        seconds += took.as_secs_f64();
    }
    let mean = points.iter().map(|p| p.1).sum::<f64>() / points.len() as f64;
    curves.add(program, false, &points);
    Ok(json!({"simulated_us": mean, "host_s_per_million": seconds * 1e6 / operations, "bytes": points[0].0}))
}

/// What a program prints, and how long it ran on this machine.
#[cfg(all(feature = "portals", target_os = "linux", target_arch = "x86_64"))]
fn output_of(
    program: &Program,
    arguments: &[String],
    files: &Files,
    experiment: &str,
    set: &[String],
    watcher: &dyn Watcher,
) -> Result<(String, Duration), Error> {
    use netloom::{
        Input, Registry, RunOptions,
        prepare::machine_of_text,
        programs::{self, Source},
    };
    let text = files.text(&program.source)?;
    let path = files.path(&program.source);
    let source = if files.are_own() { Source::Text(&text) } else { Source::File(&path) };
    let input = Input { file: files.path(experiment), set: set.to_vec() };
    let machine = machine_of_text(
        &Registry::standard(),
        &input,
        &files.text(experiment)?,
        2,
        &RunOptions::default(),
        watcher,
    )?;
    programs::output_of(&source, arguments, machine)
}

/// This build has no Portals programs.
#[cfg(not(all(feature = "portals", target_os = "linux", target_arch = "x86_64")))]
fn output_of(
    program: &Program,
    _: &[String],
    files: &Files,
    _: &str,
    _: &[String],
    _: &dyn Watcher,
) -> Result<(String, Duration), Error> {
    let path = files.path(&program.source);
    let message = format!("`{}` is a Portals program, and this build runs none", path.display());
    Err(Error::new(ErrorKind::Experiment, message)
        .with_help("build with the feature `portals`, on Linux on x86-64"))
}

impl Curves {
    fn add(&mut self, program: &Program, circles: bool, points: &[(f64, f64)]) {
        let (figure, label) = program.place.clone();
        if figure.is_empty() {
            return;
        }
        let curve =
            self.0.iter_mut().find(|c| (&c.figure, &c.label, c.circles) == (&figure, &label, circles));
        match curve {
            Some(curve) => curve.points.extend_from_slice(points),
            None => self.0.push(Curve { figure, label, circles, points: points.to_vec() }),
        }
    }

    /// A published time of an operation.
    pub fn publish(&mut self, program: &Program, bytes: f64, us: f64) {
        self.add(program, true, &[(bytes, us)]);
    }

    /// Draws each figure into a file, named by its title up to the colon.
    ///
    /// # Errors
    /// If one cannot be drawn or written.
    pub fn draw(&self, directory: &Path) -> Result<(), Error> {
        let mut titles: Vec<&str> = self.0.iter().map(|c| c.figure.as_str()).collect();
        titles.dedup();
        for title in titles {
            let curves: Vec<&Curve> = self.0.iter().filter(|c| c.figure == title).collect();
            let series = curves.iter().map(|c| {
                let mut points = c.points.clone();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                Series { label: c.label.clone(), points, measured: c.circles }
            });
            let y = "simulated microseconds per operation".to_owned();
            let measured = "S4BXI 4.2.0".to_owned();
            let figure = BySize { title: title.to_owned(), y, measured, series: series.collect() };
            let name = title.split(':').next().unwrap_or(title).to_lowercase().replace(' ', "-");
            let path = directory.join(format!("{name}.svg"));
            fs::create_dir_all(directory).and_then(|()| fs::write(&path, figure.svg())).map_err(|e| {
                Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display()))
            })?;
        }
        Ok(())
    }

    /// All curves as JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        let curves = self.0.iter().map(|c| {
            json!({"figure": c.figure, "curve": c.label, "published": c.circles, "bytes_and_us": c.points})
        });
        curves.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_spread_over_all_magnitudes_and_always_the_same() {
        let all = sizes(100);
        assert_eq!(all, sizes(100));
        assert!(all[0] >= 1 && *all.last().expect("there are some") <= 4 << 20);
        let small = all.iter().filter(|&&s| s < 2048).count();
        assert!((35..=65).contains(&small), "{small} of 100 below the middle");
    }
}
