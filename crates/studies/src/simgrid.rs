//! SimGrid's scenarios of flows: completion times that were recorded with it, and how far those of model `flow` are off.

use crate::{
    asked::Asked,
    computed::{Computed, Special},
    files::Files,
    hybrid,
    line::Line,
};
use base::scratch::Scratch;
use netloom::{
    Error, ErrorKind, Watcher,
    scenarios::{self, Wanted},
};
use report::{Dots, Value, dots::Series};
use serde_json::json;

/// The study of recorded completion times.
pub const SPECIAL: Special = Special { name: "simgrid", compute, verify: None };

/// Differences below this are drawn at it: the last digits of times.
const LEAST: f64 = 1e-13;

fn compute(files: &Files, asked: &Asked<'_>, watcher: &dyn Watcher) -> Result<Computed, Error> {
    let folder = Scratch::new("simgrid").map_err(|e| {
        let folder = std::env::temp_dir();
        Error::new(ErrorKind::Output, format!("cannot write in `{}`: {e}", folder.display()))
    })?;
    let read = scenarios::read(&files.text("scenarios.json")?);
    let all = read.map_err(|e| Error::new(ErrorKind::Input, format!("scenarios.json: {e}")))?;
    let found = scenarios::run_all(&all, folder.path(), &Wanted::default(), watcher);
    drop(folder);
    let found = found?;
    if let Some(out) = &asked.out {
        hybrid::write(out, "completion-times", &figure(&found).svg())?;
    }
    let line = |l: &scenarios::Line| Line {
        row: l.scenario.clone(),
        key: format!("{}: largest difference", l.rules),
        published: None,
        ours: Some(l.worst.0),
        why: format!("{:.1e} of the time, {:.0e} allowed", l.worst.0, l.tolerance),
    };
    let within = found.iter().filter(|l| l.within).count();
    let text = format!("{within} of {} within what is allowed\n", found.len());
    let object = json!({"within": within, "of": found.len()});
    Ok(Computed { lines: found.iter().map(line).collect(), more: Vec::new(), text, object })
}

/// Differences by scenario and rules.
fn figure(found: &[scenarios::Line]) -> Dots {
    let distinct = |of: fn(&scenarios::Line) -> &String| {
        let mut all: Vec<&String> = Vec::new();
        for line in found {
            if !all.contains(&of(line)) {
                all.push(of(line));
            }
        }
        all
    };
    let (rows, rules) = (distinct(|l| &l.scenario), distinct(|l| &l.rules));
    let value = |row: &String, rule: &String| {
        let off = found.iter().find(|l| &l.scenario == row && &l.rules == rule)?.worst.0;
        Some(Value { middle: off, low: off, high: off })
    };
    let series = |rule: &&String| Series {
        label: (*rule).clone(),
        values: rows.iter().map(|row| value(row, rule)).collect(),
        hollow: false,
    };
    Dots {
        title: "Completion times of flows beside SimGrid 3.32".to_owned(),
        y: "largest relative difference".to_owned(),
        rows: rows.iter().map(|row| row.replace('_', " ")).collect(),
        series: rules.iter().map(series).collect(),
        least: LEAST,
    }
}
