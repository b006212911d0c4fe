//! What a run left, for Python: texts, and tables as the bytes of Parquet files.

use crate::{failure, work::Left};
use netloom::{
    Error, ErrorKind,
    results::{
        parquet_out,
        text::{Style, render},
    },
};
use pyo3::{prelude::*, types::PyBytes};

/// A run that has ended.
#[pyclass(frozen, module = "netloom._netloom")]
pub struct Done {
    left: Left,
    notes: Vec<String>,
}

impl Done {
    /// Of what a run left, and the remarks made on its way.
    pub fn new(left: Left, notes: Vec<String>) -> Self {
        Self { left, notes }
    }
}

#[pymethods]
impl Done {
    /// The summary as JSON, as `summary.json` has it.
    #[getter]
    fn summary(&self) -> String {
        self.left.finished().summary.to_json()
    }

    /// The summary for people, as the program prints it.
    #[getter]
    fn text(&self) -> String {
        render(&self.left.finished().summary, Style::Plain)
    }

    /// What was remarked, a line each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// Names of the tables.
    #[getter]
    fn tables(&self) -> Vec<String> {
        self.left
            .finished()
            .tables
            .iter()
            .filter(|table| !table.is_internal())
            .map(|table| table.name().to_owned())
            .collect()
    }

    /// A table as a Parquet file.
    fn parquet<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyBytes>> {
        let table = self.left.finished().tables.iter().find(|table| table.name() == name);
        let written = py.detach(|| {
            let table = table.ok_or_else(|| format!("there is no table `{name}`"))?;
            let mut bytes = Vec::new();
            parquet_out::write(table, &[], &mut bytes).map_err(|e| format!("table `{name}`: {e}"))?;
            Ok(bytes)
        });
        let bytes = written
            .map_err(|message: String| failure::raise(py, &Error::new(ErrorKind::Internal, message)))?;
        Ok(PyBytes::new(py, &bytes))
    }
}
