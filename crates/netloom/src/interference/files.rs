//! Interference as files: a table, and the object for programs.

use super::{
    object::SCHEMA,
    outcome::{Interference, Row},
    taken::Taken,
};
use crate::{compare_models::files::put, error::Error, ours::FileSet};
use results::table::{Column, Table};
use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
};

/// Name of the files.
const NAME: &str = "interference";

/// All of them; the object begins with its schema.
pub const FILES: FileSet = FileSet {
    names: &["interference.json", "interference.csv", "interference.parquet"],
    known_by: "interference.json",
    mark: SCHEMA,
};

impl Interference {
    /// Writes the table (`interference.csv`, and `interference.parquet` where it can be) and the object (`interference.json`) into a directory, which is made
    /// if it is missing. Files of these names are replaced: who asks [`FILES`] before a run replaces nobody's.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, directory: &Path) -> Result<Vec<PathBuf>, Error> {
        let text = format!("{:#}\n", self.object());
        let text = base::visible::screen(&text);
        let json = |mut file: File| file.write_all(text.as_bytes());
        let mut written = vec![put(directory, "interference.json", &json)?];
        let table = self.table();
        let csv = |file| results::csv_out::write(&table, file);
        written.push(put(directory, "interference.csv", &csv)?);
        #[cfg(feature = "parquet")]
        {
            let parquet =
                |file| results::parquet_out::write(&table, &[], file).map_err(std::io::Error::other);
            written.push(put(directory, "interference.parquet", &parquet)?);
        }
        Ok(written)
    }

    /// A row for each job, in the order of the experiment. What a job does not have is no number.
    #[must_use]
    pub fn table(&self) -> Table {
        let text = |of: &dyn Fn(&Row) -> String| {
            let all: Vec<String> = self.rows.iter().map(of).collect();
            Column::Text(all.iter().map(String::as_str).collect())
        };
        let numbers = |of: &dyn Fn(&Row) -> Option<f64>| {
            Column::F64(self.rows.iter().map(|row| of(row).unwrap_or(f64::NAN)).collect())
        };
        let mut table = Table::new(NAME)
            .with("job", text(&|row| row.name.clone()))
            .with("ranks", Column::U32(self.rows.iter().map(|row| row.ranks).collect()))
            .with("state_alone", text(&|row| row.summary.verdict.state.name().to_owned()))
            .with("by", text(&|row| row.slow_down.map_or("", |(by, _)| by.name()).to_owned()))
            .with("slow_down", numbers(&|row| row.slow_down.map(|(_, ratio)| ratio)));
        for (name, of) in QUANTITIES {
            table = table
                .with(&format!("together.{name}"), numbers(&|row| of(&row.together)))
                .with(&format!("alone.{name}"), numbers(&|row| of(&row.alone)));
        }
        table
    }
}

/// A number of a job in a run.
type Quantity = (&'static str, fn(&Taken) -> Option<f64>);

const QUANTITIES: [Quantity; 5] = [
    ("makespan_ps", |t| t.makespan_ps.map(|m| m as f64)),
    ("latency_mean_ps", |t| t.latency.map(|l| l.mean_ps)),
    ("latency_p99_ps", |t| t.latency.map(|l| l.p99_ps as f64)),
    ("messages_per_s", |t| t.messages_per_s),
    ("bytes_per_s", |t| t.bytes_per_s),
];
