//! Finished runs, read back to be compared.

use crate::error::{Error, ErrorKind};
pub use results::{
    compare::{Comparison, Side, Tolerances, compare},
    compared::text,
};
use results::{
    output::read_messages,
    summary::{SCHEMA, Summary},
    table::Table,
};
use std::path::Path;

/// Summary and, if it was stored, the table of messages of the run in an output directory; or of a `summary.json`.
///
/// # Errors
/// If it cannot be read.
pub fn load(path: &Path) -> Result<(Summary, Option<Table>), Error> {
    let directory = path.is_dir();
    let file = if directory { path.join("summary.json") } else { path.to_owned() };
    let unreadable = |e: &dyn std::fmt::Display| {
        let failure = Error::new(ErrorKind::Input, format!("cannot read `{}`: {e}", file.display()));
        failure.with_help("compare takes output directories of `netloom run --out`, or their summary.json")
    };
    let text = base::input::read_text(&file).map_err(|e| unreadable(&e))?;
    let summary = Summary::from_json(&text).map_err(|e| unreadable(&e))?;
    if summary.schema != SCHEMA {
        return Err(unreadable(&format!("its schema is {}, not {SCHEMA}", summary.schema)));
    }
    let messages = if directory { read_messages(path).map_err(|e| unreadable(&e))? } else { None };
    Ok((summary, messages))
}
