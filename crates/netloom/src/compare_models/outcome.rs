//! What came of a comparison of models.

use super::{
    measures::{Measure, Values, error, finished, measures, seconds},
    ran::Ran,
    variant::Variant,
};
use crate::input::Input;

/// A model with what came of it.
#[derive(Clone)]
pub struct Row {
    /// The experiment for it.
    pub variant: Variant,
    /// What the run left, or why there is none.
    pub outcome: Result<Box<Ran>, String>,
}

impl Row {
    /// The model's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.variant.model.about.name
    }
}

/// An experiment on every model.
#[derive(Clone)]
pub struct ModelComparison {
    /// The file and the overrides of the user.
    pub input: Input,
    /// All models, the dearest first.
    pub rows: Vec<Row>,
    /// What is compared, with the values of the models that carried it, in the order of rows.
    pub measures: Vec<(Measure, Values)>,
}

impl ModelComparison {
    pub(super) fn new(input: &Input, rows: Vec<Row>) -> Self {
        let runs: Vec<&Ran> = rows.iter().filter_map(|row| row.outcome.as_deref().ok()).collect();
        let measures = measures(&runs);
        Self { input: input.clone(), rows, measures }
    }

    /// Models that carried the experiment; the first is what errors are relative to.
    pub fn carried(&self) -> impl Iterator<Item = (&Row, &Ran)> {
        self.rows.iter().filter_map(|row| Some((row, row.outcome.as_deref().ok()?)))
    }

    /// True if there are at least two runs to compare.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.carried().count() > 1
    }

    /// The error of a run in a measure, both by number; none if either run lacks it or did not finish.
    #[must_use]
    pub fn error(&self, run: usize, measure: usize) -> Option<f64> {
        let values = &self.measures[measure].1;
        let both =
            [0, run].iter().all(|&n| self.carried().nth(n).is_some_and(|(_, ran)| finished(&ran.summary)));
        error(values[run]?, values[0]?).filter(|_| both)
    }

    /// How many times less a run cost than the reference.
    #[must_use]
    pub fn faster(&self, run: usize) -> Option<f64> {
        let of = |n: usize| self.carried().nth(n).and_then(|(_, ran)| seconds(&ran.summary));
        // A clock may tell nothing of the shortest runs.
        Some(of(0)?.max(1e-6) / of(run)?.max(1e-6))
    }

    /// Name of the experiment.
    #[must_use]
    pub fn name(&self) -> String {
        let name =
            self.carried().next().and_then(|(_, r)| r.summary.experiment["experiment"]["name"].as_str());
        name.map_or_else(|| self.input.file.display().to_string(), str::to_owned)
    }
}
