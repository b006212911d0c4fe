//! Studies of form `curves`: latency over load beside another simulator's, and the load at which a network saturates.
//!
//! A row is a curve. Its `published` numbers are called `latency at 0.3` (mean latency of messages in ns at an offered load of `job.0.load=0.3`) and
//! `accepted at 0.6` (accepted load at an offered one beyond saturation). `stable` is the highest load at which the other simulator comes to rest. A latency is within
//! bounds if it is off by no more than 2 % below 80 % of that load, and by no more than 3 % up to 95 %; nothing is asked of it above, where a hundredth of
//! load is a tenth of latency. The accepted load is within bounds if it is off by no more than 3 %.

use crate::{files::Files, line::Line, study::Row};
use netloom::{Error, ErrorKind, RunOptions, Watcher, execute::execute};
use report::{
    Curve, Lines, Point,
    plot::{Axis, Facet, Plot},
};
use results::summary::State;

/// How numbers keep their bounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// Numbers of which a bound is asked.
    pub judged: u32,
    /// Those within it.
    pub within: u32,
}

/// What of a row was found.
pub struct Found {
    /// Its lines of the table.
    pub lines: Vec<Line>,
    /// How its numbers keep their bounds.
    pub bounds: Bounds,
    /// Its curve, if it has two points.
    pub picture: Option<(String, Lines)>,
}

/// What a published number is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Latency,
    Accepted,
}

/// A published number.
#[derive(Clone, Copy)]
struct Number {
    what: What,
    /// Offered load, a fraction in (0, 1].
    load: f64,
    published: f64,
}

/// Key of the highest load at which the other simulator comes to rest.
const STABLE: &str = "stable";

/// `latency at 0.3` as what it is and the load.
fn quantity(key: &str) -> Option<(What, f64)> {
    let (what, load) = key.split_once(" at ")?;
    let load = load.parse().ok().filter(|&load: &f64| load > 0.0 && load <= 1.0)?;
    match what {
        "latency" => Some((What::Latency, load)),
        "accepted" => Some((What::Accepted, load)),
        _ => None,
    }
}

/// How far a number may be off; `share` of the highest stable load.
fn bound(what: What, share: f64) -> Option<f64> {
    match what {
        What::Accepted => Some(0.03),
        What::Latency if share < 0.8 => Some(0.02),
        What::Latency if share <= 0.95 => Some(0.03),
        What::Latency => None,
    }
}

/// A curve, with all that overrides its experiment, as the mean over so many seeds.
///
/// # Errors
/// If a run fails, or a published number has another name.
pub fn run(
    row: &Row,
    set: &[String],
    seeds: u32,
    files: &Files,
    watcher: &dyn Watcher,
) -> Result<Found, Error> {
    let mut numbers = Vec::new();
    for (key, published) in row.published.iter().filter(|p| p.0 != STABLE) {
        let Some((what, load)) = quantity(key) else {
            let message = format!("row `{}` has a published number `{key}`", row.name);
            return Err(Error::new(ErrorKind::Experiment, message)
                .with_help("those of a curve are `stable`, `latency at LOAD` and `accepted at LOAD`, such as `latency at 0.3`"));
        };
        numbers.push(Number { what, load, published: *published });
    }
    let stable = row.published.iter().find(|p| p.0 == STABLE).map_or(1.0, |p| p.1);
    let mut found = Found { lines: Vec::new(), bounds: Bounds::default(), picture: None };
    let mut curves = [Vec::new(), Vec::new()];
    for number in numbers {
        let Number { what, load, published } = number;
        let (mut sum, mut state) = (0.0, State::Ok);
        for seed in 1..=seeds {
            let own = [format!("job.0.load={load}"), format!("experiment.seed={seed}")];
            let set = set.iter().cloned().chain(own).collect();
            let prepared = files.prepare(&row.experiment, set, &RunOptions::default(), watcher)?;
            let summary = execute(&prepared, watcher)?.summary;
            sum += match what {
                What::Latency => summary.message_latency_ps.map_or(f64::NAN, |l| l.mean / 1e3),
                What::Accepted => summary.throughput.map_or(f64::NAN, |t| t.accepted_fraction),
            };
            state = state.max(summary.verdict.state);
        }
        let ours = sum / f64::from(seeds);
        if what == What::Latency {
            curves[0].push(Point { x: load, y: published, error: 0.0 });
            curves[1].push(Point { x: load, y: ours, error: 0.0 });
        }
        let line = judged(row, number, load / stable, ours, state, &mut found.bounds);
        found.lines.push(line);
    }
    found.picture = picture(row, curves);
    Ok(found)
}

/// A line of the table, judged by its bound; `share` is its load as one of the highest stable one.
fn judged(row: &Row, number: Number, share: f64, ours: f64, state: State, bounds: &mut Bounds) -> Line {
    let Number { what, load, published } = number;
    let off = ours / published - 1.0;
    let mut why = format!("{:+.2} %", off * 100.0);
    match bound(what, share) {
        Some(most) => {
            let within = off.abs() <= most;
            bounds.judged += 1;
            bounds.within += u32::from(within);
            if !within {
                why += &format!(", beyond {:.0} %", most * 100.0);
                if !row.why.is_empty() {
                    why += &format!(": {}", row.why);
                }
            }
        }
        None => why += " (above 95 %)",
    }
    if what == What::Latency && state == State::Saturated {
        why += "; saturated";
    }
    let key = match what {
        What::Latency => format!("latency at {load} ({:.0} %)", share * 100.0),
        What::Accepted => format!("accepted at {load}"),
    };
    Line { row: row.name.clone(), key, published: Some(published), ours: Some(ours), why }
}

/// Both curves of a row, if they have points enough to be drawn.
fn picture(row: &Row, curves: [Vec<Point>; 2]) -> Option<(String, Lines)> {
    let [published, ours] = curves;
    if published.len() < 2 {
        return None;
    }
    let curve = |label: &str, points| Curve { label: label.to_owned(), points };
    let lines = Lines {
        title: row.name.clone(),
        shaded: Vec::new(),
        x: "offered load".to_owned(),
        y: "mean latency, ns".to_owned(),
        curves: vec![curve("published", published), curve("ours", ours)],
    };
    Some((crate::store::file_name(&row.name), lines))
}

/// All curves as panels of one figure.
#[must_use]
pub fn panels(pictures: &[(String, Lines)]) -> Plot {
    let facet = |(_, lines): &(String, Lines)| {
        let series = lines.plot().facets.into_iter().flat_map(|facet| facet.series).collect();
        Facet { title: lines.title.clone(), series }
    };
    let axes = &pictures[0].1;
    Plot {
        x: Axis { label: axes.x.clone(), min: Some(0.0), ..Axis::default() },
        y: Axis { label: axes.y.clone(), logarithmic: true, ..Axis::default() },
        names: axes.curves.iter().map(|curve| curve.label.clone()).collect(),
        facets: pictures.iter().map(facet).collect(),
        // Two panels in a row: names of curves are long.
        width: 449.0,
        ..Plot::default()
    }
}

/// The line below all rows.
#[must_use]
pub fn count(bounds: Bounds) -> Line {
    Line {
        row: "all".to_owned(),
        key: format!("within their bounds, of {}", bounds.judged),
        published: None,
        ours: Some(f64::from(bounds.within)),
        why: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_named_and_bounds_follow_the_load() {
        assert_eq!(quantity("latency at 0.3"), Some((What::Latency, 0.3)));
        assert_eq!(quantity("accepted at 1"), Some((What::Accepted, 1.0)));
        for key in ["latency", "latency at x", "latency at 0", "accepted at 1.1", "p99 at 0.3"] {
            assert_eq!(quantity(key), None, "{key}");
        }
        let bounds = [0.1, 0.79, 0.81, 0.95, 0.96].map(|share| bound(What::Latency, share));
        assert_eq!(bounds, [Some(0.02), Some(0.02), Some(0.03), Some(0.03), None]);
        assert_eq!(bound(What::Accepted, 1.2), Some(0.03));
    }
}
