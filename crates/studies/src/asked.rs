//! What is asked of a study.

use netloom::{output::Program, saver::Signals};
use std::{path::PathBuf, sync::Arc};

/// How much of a study is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The shortest form, for tests.
    Smoke,
    /// Some minutes: with the study's overrides for `--quick`.
    Quick,
    /// As the study says.
    #[default]
    Whole,
    /// Whole applications, not only some of their iterations; hours.
    Full,
}

/// What is asked of a study.
pub struct Asked<'a> {
    /// How much of it.
    pub form: Form,
    /// Only rows whose name contains this; figures, and what is computed beside rows, are left out.
    pub row: Option<String>,
    /// Overrides in the experiments of the chosen rows, after all that the study sets.
    pub set: Vec<String>,
    /// Where figures and finished runs go.
    pub out: Option<PathBuf>,
    /// Runs at a time; `None`: one, and no study refuses that.
    pub threads: Option<u32>,
    /// Who asks, as it is reported in runs that are kept.
    pub program: Program,
    /// Requests to save and to leave, heeded from when this is called: only runs that are kept ask for them.
    pub heed: &'a dyn Fn() -> Arc<Signals>,
}
