//! Studies of form `estimate`: hybrid runs beside high fidelity, and whether they know how far they are off.
//!
//! Per row and seed two runs of the same traffic: model `packet`, and the row's hybrid. A case is *covered* if the mean latencies differ by no more
//! than the hybrid's own `hybrid.error_estimate`; a run that predicted nothing has none and must not differ at all.

use crate::{asked::Form, files::Files, line::Line, study::Row};
use netloom::{Error, RunOptions, Watcher, execute::execute};
use results::summary::Summary;

/// What of a row was found.
pub struct Found {
    /// Its lines of the table: what the runs say of themselves stands where other studies have what was published.
    pub lines: Vec<Line>,
    /// Cases, and how many of them are covered.
    pub covered: (u32, u32),
}

/// A row, with all that overrides its experiment.
///
/// # Errors
/// If a run fails.
pub fn run(
    row: &Row,
    set: &[String],
    form: Form,
    files: &Files,
    watcher: &dyn Watcher,
) -> Result<Found, Error> {
    let seeds = if matches!(form, Form::Smoke | Form::Quick) { 1 } else { row.seeds };
    let mut found = Found { lines: Vec::new(), covered: (0, 0) };
    for seed in 1..=seeds {
        let one = |own: &[&str]| -> Result<Summary, Error> {
            let own = own.iter().map(|&s| s.to_owned()).chain([format!("experiment.seed={seed}")]);
            let set = set.iter().cloned().chain(own).collect();
            let prepared = files.prepare(&row.experiment, set, &RunOptions::default(), watcher)?;
            Ok(execute(&prepared, watcher)?.summary)
        };
        let (plain, hybrid) = (one(&["model.kind=packet"])?, one(&[])?);
        let estimate = hybrid.hybrid.as_ref().and_then(|h| h.error_estimate);
        let off = plain.latency_ps.zip(hybrid.latency_ps).map(|(p, h)| (h.mean - p.mean).abs() / p.mean);
        let covered = off.is_some_and(|off| off <= estimate.unwrap_or(0.0));
        let share = hybrid.hybrid.as_ref().map_or(0.0, |h| h.predicted_share * 100.0);
        let flags = hybrid.verdict.flags.join(", ");
        let what = if covered { "covered" } else { "NOT covered" };
        found.lines.push(Line {
            row: row.name.clone(),
            key: format!("error, seed {seed}"),
            published: estimate.map(|e| e * 100.0),
            ours: off.map(|e| e * 100.0),
            why: format!("{what}; {share:.0} % of the time predicted {flags}").trim_end().to_owned(),
        });
        found.covered.0 += 1;
        found.covered.1 += u32::from(covered);
    }
    Ok(found)
}

/// The line below all rows.
#[must_use]
pub fn count((cases, covered): (u32, u32)) -> Line {
    Line {
        row: "all".to_owned(),
        key: format!("covered of {cases}"),
        published: None,
        ours: Some(f64::from(covered)),
        why: String::new(),
    }
}
