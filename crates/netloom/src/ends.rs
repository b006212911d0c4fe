//! When a run ends: by what its file says, or by the windows of its series, of which there is a largest number.

use crate::experiment::sections::Experiment;
use base::time::Ps;
use model::setup::{MAX_WINDOWS, Until};

/// When the run ends: by what the file says, or by its windows.
pub fn until(experiment: &Experiment) -> Option<Until> {
    let until = experiment.general.until().filter(|_| experiment.experiment.complete)?;
    Some(last_window(experiment).map_or(until, ended_by))
}

/// Length of a window, where as many as a series holds are full before the limit of a run that its workload ends.
pub fn last_window(experiment: &Experiment) -> Option<Ps> {
    let Some(Until::WorkloadDone { limit }) = experiment.general.until() else { return None };
    let window = Some(&experiment.output).filter(|output| output.complete)?.values.time("window");
    (window > 0 && window.saturating_mul(MAX_WINDOWS) < limit).then_some(window)
}

/// The end of a run with as many windows of this length as there can be.
pub fn ended_by(window: Ps) -> Until {
    Until::WorkloadDone { limit: window * MAX_WINDOWS }
}
