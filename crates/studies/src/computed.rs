//! What some studies compute beside the experiments of their rows.

use crate::{asked::Asked, files::Files, line::Line};
use netloom::{Error, Watcher};
use serde_json::Value as Json;

/// Computes a study's results a second time.
pub type Verify = fn(&Asked<'_>, &dyn Watcher) -> Result<Verified, Error>;

/// A study that computes something besides.
pub struct Special {
    /// Name of the study.
    pub name: &'static str,
    /// Computes it from the study's files.
    pub compute: fn(&Files, &Asked<'_>, &dyn Watcher) -> Result<Computed, Error>,
    /// Computes the study's results a second time by an independent implementation, if there is one.
    pub verify: Option<Verify>,
}

/// What a study computes.
pub struct Computed {
    /// Rows of the table.
    pub lines: Vec<Line>,
    /// Rows that are reported with the others as JSON, and in `text` else.
    pub more: Vec<Line>,
    /// Further tables as text, for people.
    pub text: String,
    /// All counts as JSON, for programs.
    pub object: Json,
}

/// What a verification found.
pub struct Verified {
    /// The result as text, for people.
    pub text: String,
    /// The result as JSON, for programs.
    pub object: Json,
    /// Both implementations agree.
    pub agrees: bool,
}
