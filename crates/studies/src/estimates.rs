//! Studies of form `estimate`: hybrid runs beside high fidelity, and whether they know how far they are off.
//!
//! Per row and seed two runs of the same traffic: model `packet`, and the row's hybrid. A case is *covered* if the mean latencies differ by no more
//! than the hybrid's own `hybrid.error_estimate`; a run that predicted nothing has none and must not differ at all.

use crate::{files::Files, line::Line, study::Row};
use netloom::{Error, RunOptions, Watcher, execute::execute};
use results::summary::Summary;
use std::ops::RangeInclusive;

/// What of a row was found.
pub struct Found {
    /// Its lines of the table: what the runs say of themselves stands where other studies have what was published.
    pub lines: Vec<Line>,
    /// What its runs came to.
    pub cases: Cases,
}

/// How many runs know how far they are off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cases {
    /// Runs that predicted something.
    pub predicted: u32,
    /// Those of them whose estimate covers their error.
    pub covered: u32,
    /// Runs that predicted nothing and do not differ at all.
    pub same: u32,
    /// Runs that predicted nothing and differ all the same: faults.
    pub differ: u32,
}

impl Cases {
    /// Adds other cases.
    pub fn add(&mut self, other: Self) {
        self.predicted += other.predicted;
        self.covered += other.covered;
        self.same += other.same;
        self.differ += other.differ;
    }
}

/// A row, with all that overrides its experiment.
///
/// # Errors
/// If a run fails.
pub fn run(
    row: &Row,
    set: &[String],
    seeds: RangeInclusive<u32>,
    files: &Files,
    watcher: &dyn Watcher,
) -> Result<Found, Error> {
    let mut found = Found { lines: Vec::new(), cases: Cases::default() };
    for seed in seeds {
        let one = |own: &[&str]| -> Result<Summary, Error> {
            let own = own.iter().map(|&s| s.to_owned()).chain([format!("experiment.seed={seed}")]);
            let set = set.iter().cloned().chain(own).collect();
            let prepared = files.prepare(&row.experiment, set, &RunOptions::default(), watcher)?;
            Ok(execute(&prepared, watcher)?.summary)
        };
        let (plain, hybrid) = (one(&["model.kind=packet"])?, one(&[])?);
        let estimate = hybrid.hybrid.as_ref().and_then(|h| h.error_estimate);
        let off = plain.latency_ps.zip(hybrid.latency_ps).map(|(p, h)| (h.mean - p.mean).abs() / p.mean);
        let within = off.is_some_and(|off| off <= estimate.unwrap_or(0.0));
        let share = hybrid.hybrid.as_ref().and_then(|h| h.predicted_share).unwrap_or(0.0) * 100.0;
        let flags = hybrid.verdict.flags.join(", ");
        let Cases { predicted, covered, same, differ } = &mut found.cases;
        let (what, count) = match (estimate.is_some(), within) {
            (true, true) => ("covered", covered),
            (true, false) => ("NOT covered", &mut 0),
            (false, true) => ("the same", same),
            (false, false) => ("DIFFERS", differ),
        };
        *count += 1;
        *predicted += u32::from(estimate.is_some());
        found.lines.push(Line {
            row: row.name.clone(),
            key: format!("error, seed {seed}"),
            published: estimate.map(|e| e * 100.0),
            ours: off.map(|e| e * 100.0),
            why: format!("{what}; {share:.0} % of the time predicted {flags}").trim_end().to_owned(),
        });
    }
    Ok(found)
}

/// The lines below all rows, whose cases are `of` these.
#[must_use]
pub fn count(of: &str, cases: Cases) -> Vec<Line> {
    let Cases { predicted, covered, same, differ } = cases;
    let line = |key: String, ours: u32| Line {
        row: of.to_owned(),
        key,
        published: None,
        ours: Some(f64::from(ours)),
        why: String::new(),
    };
    let mut lines = vec![line(format!("covered of {predicted} that predicted"), covered)];
    if same + differ > 0 {
        lines.push(line(format!("the same of {} that did not", same + differ), same));
    }
    lines
}

/// Whether at least so many cases know how far they are off, and none differs that predicted nothing; with a line if something is asked.
#[must_use]
pub fn judge(of: &str, cases: Cases, least: u32) -> (Option<Line>, bool) {
    let known = cases.covered + cases.same;
    let holds = known >= least && cases.differ == 0;
    let line = Line {
        row: of.to_owned(),
        key: format!("covered or the same, at least {least}"),
        published: None,
        ours: Some(f64::from(known)),
        why: if holds { "holds" } else { "DOES NOT HOLD" }.to_owned(),
    };
    ((least > 0).then_some(line), holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_covered_cases_do_not_hold() {
        let cases = |covered, same, differ| Cases { predicted: 40, covered, same, differ };
        let holds = |cases, least| judge("all", cases, least).1;
        assert!(holds(cases(38, 0, 0), 38) && holds(cases(37, 1, 0), 38));
        assert!(!holds(cases(37, 0, 0), 38), "one too few");
        assert!(
            !holds(cases(40, 0, 1), 38) && !holds(cases(0, 0, 1), 0),
            "what predicts nothing cannot differ"
        );
        assert!(judge("all", cases(0, 0, 0), 0).0.is_none());
        assert_eq!(judge("all", cases(37, 0, 0), 38).0.map(|l| l.why).as_deref(), Some("DOES NOT HOLD"));
    }
}
