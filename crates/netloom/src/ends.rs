//! When a run ends: by what its file says, or by the windows of its series, of which there is a largest number.

use crate::experiment::sections::Experiment;
use base::time::Ps;
use model::setup::{MAX_WINDOWS, Until};

/// When the run ends: by what the file says, or with as many windows as there can be.
pub fn until(experiment: &Experiment) -> Option<Until> {
    let until = experiment.general.until().filter(|_| experiment.experiment.complete)?;
    Some(last_window(experiment).map_or(until, |window| Until::WorkloadDone { limit: window * MAX_WINDOWS }))
}

/// Length of a window, where as many as a series holds are full before the limit of a run that its workload ends.
pub fn last_window(experiment: &Experiment) -> Option<Ps> {
    let Some(Until::WorkloadDone { limit }) = experiment.general.until() else { return None };
    let window = Some(&experiment.output).filter(|output| output.complete)?.values.time("window");
    (window > 0 && window.saturating_mul(MAX_WINDOWS) < limit).then_some(window)
}
