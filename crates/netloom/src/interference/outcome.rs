//! What came of it: each job together with the others, and alone.

use super::taken::Taken;
use crate::{compare_models::measures::finished, input::Input};
use results::summary::Summary;

/// What a slow-down is the ratio of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slowed {
    /// Time from the job's start to its last operation.
    Makespan,
    /// Mean latency of its messages.
    Latency,
}

impl Slowed {
    /// Its name in tables and JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Makespan => "makespan_ps",
            Self::Latency => "latency_mean_ps",
        }
    }
}

/// A job together with the others, and alone.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the job.
    pub name: String,
    /// Number of its ranks.
    pub ranks: u32,
    /// What it took with all jobs at work.
    pub together: Taken,
    /// What it took alone in its place.
    pub alone: Taken,
    /// The run that it had for itself.
    pub summary: Summary,
    /// How many times longer it took together than alone, and what took so long; none if it has no such time, or one of the runs did not finish.
    pub slow_down: Option<(Slowed, f64)>,
}

/// How much the jobs of an experiment slow each other down.
#[derive(Clone, Debug)]
pub struct Interference {
    /// The file and the overrides of the user.
    pub input: Input,
    /// Name of the model.
    pub model: &'static str,
    /// The run with all jobs at work.
    pub together: Summary,
    /// The jobs, in the order of the experiment.
    pub rows: Vec<Row>,
}

impl Interference {
    /// Name of the experiment.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.together.experiment["experiment"]["name"].as_str();
        name.map_or_else(|| self.input.file.display().to_string(), str::to_owned)
    }
}

impl Row {
    pub(super) fn new(
        name: String,
        ranks: u32,
        all: &Summary,
        together: Taken,
        summary: Summary,
        alone: Taken,
    ) -> Self {
        let both = finished(all) && finished(&summary);
        let slow_down = slow_down(&together, &alone).filter(|_| both);
        Self { name, ranks, together, alone, summary, slow_down }
    }
}

/// By makespans where both runs have one, else by mean latencies.
fn slow_down(together: &Taken, alone: &Taken) -> Option<(Slowed, f64)> {
    let makespans = together.makespan_ps.zip(alone.makespan_ps);
    let latencies = together.latency.zip(alone.latency);
    let times = makespans.map(|(t, a)| (Slowed::Makespan, t as f64, a as f64));
    let (by, together, alone) = times.or(latencies.map(|(t, a)| (Slowed::Latency, t.mean_ps, a.mean_ps)))?;
    (alone > 0.0).then(|| (by, together / alone))
}
