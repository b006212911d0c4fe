//! What came of a sweep, in words and for programs.

use super::{
    points::Point,
    store::{FAILED, Record},
};
use base::{
    sorted::SortedMap,
    visible::{name, path},
};
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// Most points that are listed one by one.
const LISTED: usize = 20;

/// A point with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Number of its chain: points that differ only along an axis that was climbed have one.
    pub chain: usize,
    /// Which point it is.
    pub point: Point,
    /// What came of it.
    pub record: Record,
    /// It was there before.
    pub kept: bool,
}

/// What came of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was to be run, in a line.
    pub line: String,
    /// Name of the file.
    pub file: String,
    /// The points that are there, in order.
    pub rows: Vec<Row>,
    /// Chains whose points other processes have yet to run.
    pub missing: usize,
    /// Directory of the results.
    pub directory: PathBuf,
    /// True if saturation was looked for along an axis: a table says where it begins.
    pub searched: bool,
}

impl Outcome {
    /// True if a point could not be run.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.rows.iter().any(|row| row.record.state == FAILED)
    }

    fn states(&self) -> SortedMap<&str, usize> {
        let mut states = SortedMap::new();
        self.rows.iter().for_each(|row| *states.entry(row.record.state.as_str()).or_default() += 1);
        states
    }

    fn of_state(&self, state: &str) -> Vec<&Row> {
        self.rows.iter().filter(|row| row.record.state == state).collect()
    }

    /// The outcome for people.
    #[must_use]
    pub fn text(&self, names: &[&str]) -> String {
        let kept = self.rows.iter().filter(|row| row.kept).count();
        let states: Vec<String> = self.states().iter().map(|(state, n)| format!("{n} {state}")).collect();
        let mut text = format!("sweep       {}\nplanned     {}\n", name(&self.file), self.line);
        text += &format!("done        {} run now, {kept} kept from before\n", self.rows.len() - kept);
        text += &format!("states      {}\n", states.join(", "));
        let [tables, saturation] =
            ["points.csv", "saturation.csv"].map(|name| path(&self.directory.join(name)));
        text += &match self.missing {
            0 if self.searched => {
                format!("table       {tables}\nsaturation  {saturation}\n")
            }
            0 => format!("table       {tables}\n"),
            n => format!("missing     {n} points of other shards; the table is written when all are there\n"),
        };
        for state in self.states().keys().filter(|state| **state != "ok") {
            let rows = self.of_state(state);
            text += &format!("\n{state} (`--again {state}` runs them again)\n");
            for row in rows.iter().take(LISTED) {
                let why = row.record.error.as_ref().map_or_else(String::new, |e| format!(": {e}"));
                text += &format!("  {}  {}{why}\n", row.record.id, row.point.named(names));
            }
            if rows.len() > LISTED {
                text += &format!("  and {} more\n", rows.len() - LISTED);
            }
        }
        text
    }

    /// For programs: every point.
    #[must_use]
    pub fn object(&self, names: &[&str]) -> Json {
        let points: Json = self.rows.iter().map(|row| object(row, names)).collect();
        json!({"file": self.file, "states": self.states(), "missing": self.missing, "points": points})
    }
}

/// A point as `sweep.json` has it.
pub(super) fn object(row: &Row, names: &[&str]) -> Json {
    let values: serde_json::Map<String, Json> = names
        .iter()
        .zip(&row.point.levels)
        .map(|(name, level)| ((*name).to_owned(), json!(level.label)))
        .collect();
    json!({"id": row.record.id, "values": values, "seed": row.point.seed, "state": row.record.state})
}
