//! Runs a setup and shows progress to whoever watches.

use crate::{console::Console, exit::Exit, failure::Failure, keeper::Keeper, prepare::Prepared};
use base::time::{Ps, display};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Finished, Progress, run::Watch};
use results::summary::State;
use std::time::Instant;

/// Simulates; the summary gets its resolved experiment.
///
/// # Errors
/// If a checker finds a violated invariant, or the setup cannot be simulated.
pub fn execute(prepared: &Prepared, console: &mut Console<'_>) -> Result<Finished, Failure> {
    execute_kept(prepared, console, None, None)
}

/// The same, saved by `keeper` and beginning with the state `resume`.
///
/// # Errors
/// Also if a signal ended the run, or the state is damaged.
pub fn execute_kept(
    prepared: &Prepared,
    console: &mut Console<'_>,
    mut keeper: Option<&mut Keeper>,
    resume: Option<&[u8]>,
) -> Result<Finished, Failure> {
    let bar = bar(console.err_terminal);
    let start = Instant::now();
    let every = keeper.as_ref().map_or(0, |k| k.every());
    let mut pause = |progress: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
        show(&bar, &progress, start);
        let Some(keeper) = &mut keeper else { return true };
        keeper.pause(&progress, save, |text| bar.suspend(|| console.remark(text)))
    };
    let finished = prepared.setup.watch(Watch { pause: &mut pause, every, resume });
    bar.finish_and_clear();
    if let Some(failure) = keeper.and_then(|k| k.interrupted("`netloom resume DIR` goes on")) {
        return Err(failure);
    }
    let mut finished = finished.map_err(|e| failure(&e))?;
    finished.summary.experiment = without_engine(&prepared.experiment);
    if let Some(used) = finished.summary.performance.as_ref().filter(|p| p.threads < prepared.threads) {
        let (asked, threads, parts) = (prepared.threads, used.threads, used.partitions);
        console.remark(&format!(
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

/// A run's failure with its exit code.
pub fn failure(error: &model::Failure) -> Failure {
    let exit = match error {
        model::Failure::Invariant(_) => Exit::Violated,
        model::Failure::Setup(_) => Exit::Experiment,
        model::Failure::Stopped(_) => Exit::Limit,
        model::Failure::Damaged => Exit::Input,
    };
    Failure::new(exit, error.to_string())
}

/// How a run with this verdict ends.
#[must_use]
pub fn exit_of(state: State) -> Exit {
    match state {
        State::Ok | State::NotStationary | State::Saturated => Exit::Done,
        State::Incomplete => Exit::Limit,
        State::Starved | State::Deadlock => Exit::Deadlock,
    }
}

/// A bar over virtual time; silent where nobody watches.
fn bar(terminal: bool) -> ProgressBar {
    let target = if terminal { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {eta} left");
    ProgressBar::with_draw_target(Some(0), target).with_style(style.expect("the template is valid"))
}

fn show(bar: &ProgressBar, progress: &Progress, start: Instant) {
    if bar.is_hidden() {
        return;
    }
    let seconds = start.elapsed().as_secs_f64().max(1e-3);
    let rate = progress.events as f64 / seconds / 1e6;
    bar.set_length(progress.end);
    bar.set_position(progress.now);
    bar.set_message(format!("{}  {rate:.1} M events/s", at(progress.now, progress.end)));
}

fn at(now: Ps, end: Ps) -> String {
    format!("{} of {}", display(now), display(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grave_verdicts_have_their_exit_codes() {
        assert_eq!(exit_of(State::Saturated), Exit::Done);
        assert_eq!(exit_of(State::Incomplete), Exit::Limit);
        assert_eq!(exit_of(State::Starved), Exit::Deadlock);
        assert_eq!(exit_of(State::Deadlock), Exit::Deadlock);
    }
}
