//! A comparison of models as files: a table, a figure of errors over processor time, and the page that shows both.

use super::{
    measures::seconds,
    outcome::{ModelComparison, Row},
    ran::Ran,
};
use crate::{
    error::{Error, ErrorKind},
    figures,
    input::Input,
    ours::{COMMENT, FileSet, MARK},
    output::command,
};
use report::{
    page::{Compared, Finished, Words, compared},
    plot::{Axis, Facet, Mark, Plot, Series},
};
use results::{
    output::Manifest,
    summary::State,
    table::{Column, Table},
};
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Name of table and figure.
const NAME: &str = "models";

/// Name of the page, as that of a run.
const PAGE: &str = "report.html";

/// All files of a comparison.
pub const FILES: FileSet = FileSet {
    names: &["models.csv", "models.parquet", "models.svg", "models.pdf", PAGE],
    known_by: PAGE,
    mark: MARK,
};

/// Width of a figure of one panel, and of more.
const WIDTHS: [f64; 2] = [300.0, 516.0];

impl ModelComparison {
    /// Writes the table (`models.csv`, and `models.parquet` where it can be), the figure (`models.svg`, `models.pdf`, if there is an error to show) and the page
    /// (`report.html`) into a directory, which is made if it is missing. Files of these names are replaced: who asks
    /// [`FILES`] before a run replaces nobody's.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn write(&self, directory: &Path) -> Result<Vec<PathBuf>, Error> {
        let page = self.page() + COMMENT;
        let mut written = vec![put(directory, PAGE, &|mut file: File| file.write_all(page.as_bytes()))?];
        let table = self.table_of_models();
        let csv = |file| results::csv_out::write(&table, file);
        written.push(put(directory, "models.csv", &csv)?);
        #[cfg(feature = "parquet")]
        {
            let parquet = |file| results::parquet_out::write(&table, &[], file).map_err(io::Error::other);
            written.push(put(directory, "models.parquet", &parquet)?);
        }
        if let Some(plot) = self.figure() {
            written.extend(figures::put(&plot, directory, NAME)?);
        }
        Ok(written)
    }

    /// The page: table, figure and reasons, and the runs' numbers side by side.
    #[must_use]
    pub fn page(&self) -> String {
        let manifest = Manifest::default();
        let runs = self.carried().map(|(row, ran)| Finished {
            name: row.name(),
            summary: &ran.summary,
            manifest: &manifest,
            tables: &[],
        });
        let commands = self.carried().map(|(row, _)| {
            let set = self.input.set.iter().chain(&row.variant.set).cloned().collect();
            let file = self.input.file.clone();
            Words { model: row.name().to_owned(), text: command(&Input { file, set }) }
        });
        let mut rows = self.lines();
        let heads = rows.remove(0);
        let reasons = self.paragraphs().into_iter();
        compared(&Compared {
            name: self.name(),
            head: self.head(),
            heads,
            rows,
            reasons: reasons.map(|(model, text)| Words { model: model.to_owned(), text }).collect(),
            figure: self.figure(),
            runs: runs.collect(),
            // Without a file there is nothing that a command could name.
            commands: commands.filter(|words| !words.text.is_empty()).collect(),
        })
    }

    /// A row for each model, those that do not carry the experiment last. What a model does not have is no number.
    #[must_use]
    pub fn table_of_models(&self) -> Table {
        let without: Vec<&Row> = self.rows.iter().filter(|row| row.outcome.is_err()).collect();
        let runs: Vec<_> = self.carried().collect();
        let text = |of: &mut dyn FnMut(&Row) -> String| {
            let all: Vec<String> =
                runs.iter().map(|(row, _)| *row).chain(without.iter().copied()).map(of).collect();
            Column::Text(all.iter().map(String::as_str).collect())
        };
        let numbers = |of: &dyn Fn(usize) -> Option<f64>| {
            let all = (0..self.rows.len()).map(|n| if n < runs.len() { of(n) } else { None });
            Column::F64(all.map(|x| x.unwrap_or(f64::NAN)).collect())
        };
        let state = |row: &Row| match &row.outcome {
            Ok(ran) => ran.summary.verdict.state.name().to_owned(),
            Err(_) => "not-carried".to_owned(),
        };
        let flags = |row: &Row| {
            row.outcome.as_ref().map_or_else(|_| String::new(), |ran| ran.summary.verdict.flags.join(" "))
        };
        let mut table = Table::new(NAME)
            .with("model", text(&mut |row| row.name().to_owned()))
            .with("state", text(&mut |row| state(row)))
            .with("flags", text(&mut |row| flags(row)));
        for (n, (measure, values)) in self.measures.iter().enumerate() {
            table = table.with(&measure.name, numbers(&|run| values[run]));
            table = table.with(&format!("error.{}", measure.name), numbers(&|run| self.error(run, n)));
        }
        table = table
            .with("cpu_s", numbers(&|run| seconds(&runs[run].1.summary)))
            .with("faster", numbers(&|run| self.faster(run)));
        let reason = |row: &Row| row.outcome.as_ref().err().cloned().unwrap_or_default();
        table.with("reason", text(&mut |row| reason(row)))
    }

    /// Errors over processor time, a panel for each measure; none if no model has an error.
    #[must_use]
    pub fn figure(&self) -> Option<Plot> {
        let runs: Vec<_> = self.carried().collect();
        let facets: Vec<Facet> = (0..self.measures.len())
            .filter(|&n| self.measures[n].0.shown)
            .map(|n| Facet { title: self.measures[n].0.title.clone(), series: self.series(n) })
            .filter(|facet| facet.series.len() > 1)
            .collect();
        let reference = runs.first().filter(|_| !facets.is_empty())?.0.name();
        let axis = |label: String, logarithmic| Axis { label, logarithmic, ..Axis::default() };
        let hollow = runs.iter().any(|(_, ran)| ran.summary.verdict.state != State::Ok);
        Some(Plot {
            title: self.name(),
            x: axis("processor time (s)".to_owned(), true),
            y: axis(format!("error against {reference} (%)"), false),
            names: runs.iter().map(|(row, _)| row.name().to_owned()).collect(),
            hollow: if hollow { "state other than ok".to_owned() } else { String::new() },
            width: WIDTHS[usize::from(facets.len() > 1)],
            facets,
            ..Plot::default()
        })
    }

    /// A point for each model that has an error.
    fn series(&self, measure: usize) -> Vec<Series> {
        let point = |(run, ran): (usize, &Ran)| {
            let (x, error) = (seconds(&ran.summary)?.max(1e-6), self.error(run, measure)?);
            let hollow = ran.summary.verdict.state != State::Ok;
            Some(Series { name: run, marks: vec![Mark { x, y: error * 100.0, bar: None, hollow }] })
        };
        self.carried().map(|(_, ran)| ran).enumerate().filter_map(point).collect()
    }
}

/// Writes one file.
pub(crate) fn put(
    directory: &Path,
    name: &str,
    write: &dyn Fn(File) -> io::Result<()>,
) -> Result<PathBuf, Error> {
    let path = directory.join(name);
    let put = fs::create_dir_all(directory).and_then(|()| File::create(&path)).and_then(write);
    put.map_err(|e| Error::new(ErrorKind::Output, format!("cannot write `{}`: {e}", path.display())))?;
    Ok(path)
}
