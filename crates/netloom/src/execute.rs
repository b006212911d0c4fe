//! Runs a setup.

use crate::{error::Error, keeper::Keeper, prepare::Prepared, watcher::Watcher};
use model::{Finished, Progress, run::Watch};

/// Simulates; the summary gets its resolved experiment.
///
/// # Errors
/// If a checker finds a violated invariant, or the setup cannot be simulated.
pub fn execute(prepared: &Prepared, watcher: &dyn Watcher) -> Result<Finished, Error> {
    execute_kept(prepared, watcher, None, None)
}

/// The same, saved by `keeper` and beginning with the state `resume`.
///
/// # Errors
/// Also if a signal ended the run, or the state is damaged.
pub fn execute_kept(
    prepared: &Prepared,
    watcher: &dyn Watcher,
    mut keeper: Option<&mut Keeper>,
    resume: Option<&[u8]>,
) -> Result<Finished, Error> {
    let every = keeper.as_ref().map_or(0, |k| k.every());
    let mut pause = |progress: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
        watcher.progress(&progress);
        let Some(keeper) = &mut keeper else { return true };
        keeper.pause(&progress, save, |error| watcher.remark(&format!("error: {error}")))
    };
    let finished = prepared.run.watch(Watch { pause: &mut pause, every, resume });
    watcher.ended();
    if let Some(failure) = keeper.and_then(|k| k.interrupted("`netloom resume DIR` goes on")) {
        return Err(failure);
    }
    let mut finished = finished.map_err(|e| Error::from(&e))?;
    finished.summary.experiment = without_engine(&prepared.experiment);
    if let Some(used) = finished.summary.performance.as_ref().filter(|p| p.threads < prepared.wishes.threads)
    {
        let (asked, threads, parts) = (prepared.wishes.threads, used.threads, used.partitions);
        watcher.remark(&format!(
            "note: {asked} threads were asked for and {threads} used: the run has {parts} partition(s), of which no two threads share one"
        ));
    }
    Ok(finished)
}

/// The experiment without its `[engine]`, which changes no result: results must be the same bytes for every engine. The engine is
/// told in the `performance` block, and the manifest holds the whole file.
fn without_engine(experiment: &serde_json::Value) -> serde_json::Value {
    let mut experiment = experiment.clone();
    if let Some(sections) = experiment.as_object_mut() {
        sections.shift_remove("engine");
    }
    experiment
}
