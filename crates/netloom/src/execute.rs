//! Runs a setup.

use crate::{
    choice::{self, Choice},
    error::{Error, ErrorKind},
    experiment::{resolved::as_written, sections::SchedulerKind},
    prepare::Prepared,
    saver::Saver,
    together::share_notes,
    watcher::Watcher,
};
use base::{
    threads::{Threads, startable},
    time::{Ps, display},
    units::print_time,
};
use engine::warp::quietly;
use model::{
    Failure, Finished, Progress,
    run::Watch,
    setup::{JobSetup, LIMIT_FIRST, MAX_WINDOWS, Scheduling},
};
use results::summary::{Performance, State, Verdict};
use std::panic::{AssertUnwindSafe, catch_unwind};
use workload::program::Remark;

/// Simulates; the summary gets its resolved experiment.
///
/// # Errors
/// If a checker finds a violated invariant, or the setup cannot be simulated.
pub fn execute(prepared: &Prepared, watcher: &dyn Watcher) -> Result<Finished, Error> {
    execute_saved(prepared, watcher, None, None)
}

/// The same, saved by `saver` and beginning with the state `resume`.
///
/// # Errors
/// Also if a signal or the watcher ended the run ([`ErrorKind::Interrupted`]), or the state is damaged.
pub fn execute_saved(
    prepared: &Prepared,
    watcher: &dyn Watcher,
    mut saver: Option<&mut Saver>,
    resume: Option<&[u8]>,
) -> Result<Finished, Error> {
    let every = saver.as_ref().map_or(0, |k| k.every());
    let world = prepared.world.clone();
    let mut left = None;
    let mut pause = |progress: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
        watcher.progress(&progress);
        let remark = |error: &Error| watcher.remark(&format!("error: {error}"));
        let stays = saver.as_mut().is_none_or(|saver| saver.pause(&progress, save, remark));
        left = (stays && world.is_alone() && watcher.leaves()).then_some(progress.now);
        stays && left.is_none()
    };
    watcher.phase("simulating");
    // Of several processes none may go on without the others: there a failure ends the program, and MPI all.
    let alone = world.is_alone();
    let chosen = saved(resume.is_some() && alone, || choice::choose(prepared, resume, &mut pause));
    let finished = chosen.and_then(|choice| {
        let (scheduling, chosen, ended) = choice.map_or((None, None, None), |choice| {
            let Choice { scheduling, chosen, finished } = choice;
            watcher.remark(&format!("note: scheduler \"auto\": {}", chosen.why));
            (Some(scheduling), Some(chosen), finished.map(Ok))
        });
        let run = || {
            prepared.run.watch(Watch { pause: &mut pause, every, resume, world: world.clone(), scheduling })
        };
        let mut finished = ended.unwrap_or_else(|| saved(resume.is_some() && alone, run))?;
        if let Some(performance) = &mut finished.summary.performance {
            performance.chosen = chosen;
        }
        Ok(finished)
    });
    watcher.ended();
    if let Some(failure) = saver.and_then(|k| k.interrupted("`netloom resume DIR` goes on")) {
        return Err(failure);
    }
    if let Some(now) = left {
        let message = format!("interrupted at {} of virtual time", display(now));
        return Err(Error::new(ErrorKind::Interrupted, message));
    }
    let mut finished = finished.map_err(|e| Error::from(&e))?;
    finished.summary.experiment = without_engine(&as_written(&prepared.experiment, &prepared.input.file));
    windows(prepared.last_window, &mut finished.summary.verdict);
    share_notes(&prepared.world, prepared.run.jobs());
    remark(prepared.run.jobs(), &mut finished.summary.verdict);
    let ahead = finished.summary.performance.as_ref().is_some_and(|p| p.speculation.is_some());
    if prepared.scheduler == SchedulerKind::Optimistic && !ahead {
        let model = prepared.model.about.name;
        watcher.remark(&format!(
            "note: the optimistic scheduler was asked for and not used: this run of model \"{model}\" has nothing to run ahead of"
        ));
    }
    let spared = |p: &&Performance| p.threads < prepared.options.threads && p.chosen.is_none();
    if let Some(used) = finished.summary.performance.as_ref().filter(spared) {
        let (asked, threads, parts) = (prepared.options.threads, used.threads, used.partitions);
        let why = if threads < asked.min(parts) && startable(asked.min(parts)) <= threads {
            "the system lets this process have no more".to_owned()
        } else if parts >= asked {
            "they would meet so often that one alone was faster for most of the run".to_owned()
        } else if let Some(idle) = prepared.options.idle.filter(|&idle| idle == parts) {
            format!("other work leaves {idle} processor(s); with `spare = false` of [engine] all work")
        } else if prepared.run.partitions(apart(asked)) > parts {
            "in so small a network they would meet more often than pays; with `spare = false` of [engine] all work".to_owned()
        } else {
            format!("the run has {parts} partition(s), of which no two threads share one")
        };
        watcher.remark(&format!("note: {asked} threads were asked for and {threads} used: {why}"));
    }
    Ok(finished)
}

/// So many partitions, whether they pay or not.
fn apart(partitions: u32) -> Scheduling {
    let threads = Threads { count: partitions, ..Threads::ONE };
    Scheduling::Conservative { partitions: Some(partitions), threads }
}

/// Runs what goes on from a saved state. Its hash tells damage and not intent: a state that no run leaves may lead handlers to where they fail, and that
/// is a fault of the file. Not caught is a failure in one of several threads, and a state that keeps a handler busy.
fn saved<T>(caught: bool, run: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    if !caught {
        return run();
    }
    quietly(|| catch_unwind(AssertUnwindSafe(run))).unwrap_or(Err(Failure::Damaged))
}

/// Where windows of this length ended the run, the verdict says so.
fn windows(last: Option<Ps>, verdict: &mut Verdict) {
    let ended = verdict.detail.iter().any(|fact| fact.contains(LIMIT_FIRST));
    if let Some(window) = last.filter(|_| ended) {
        let fact = format!(
            "a series holds at most {MAX_WINDOWS} windows of {}: the run ends there",
            print_time(window)
        );
        verdict.detail.push(fact);
    }
}

/// What the sources of programs turned out to be, which no model knows. A run is not whole either if messages were left that nobody received.
fn remark(jobs: &[JobSetup], verdict: &mut Verdict) {
    if verdict.flags.iter().any(|flag| flag == "unreceived-messages") {
        verdict.state = verdict.state.max(State::Incomplete);
    }
    for job in jobs {
        for Remark { flag, text, missing } in job.work.program().map_or_else(Vec::new, |p| p.remarks()) {
            verdict.flag(flag);
            // What was not simulated, or cannot be, is missing in every number.
            verdict.state = verdict.state.max(if missing { State::Incomplete } else { State::Ok });
            verdict.detail.push(format!("job `{}`: {text}", job.name));
        }
    }
}

/// The experiment without its `[engine]`, which changes no result: results must be the same bytes for every engine. The engine is
/// reported in the `performance` block, and the manifest holds the whole file.
#[must_use]
pub fn without_engine(experiment: &serde_json::Value) -> serde_json::Value {
    let mut experiment = experiment.clone();
    if let Some(sections) = experiment.as_object_mut() {
        sections.shift_remove("engine");
    }
    experiment
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Experiment, Silent, samples::TEXT, watcher::Watcher};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Leaves a run that goes on for half a million events; a sound one has some thousand.
    struct Impatient(AtomicU32);

    impl Watcher for Impatient {
        fn leaves(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 1
        }
    }

    /// A state whose hash fits and that no run leaves is refused, or leads to an end; it never ends the program.
    #[test]
    fn forged_states_are_refused_or_gone_on_with() {
        let prepared = Experiment::from_text(TEXT).prepare(&Silent).unwrap_or_else(|e| panic!("{e}"));
        let mut state = Vec::new();
        let mut pause = |_: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
            state = save();
            false
        };
        assert!(prepared.run.watch(Watch { every: 300_000, ..Watch::new(&mut pause) }).is_err());
        assert!(execute_saved(&prepared, &Silent, None, Some(&state)).is_ok());
        let mut refused = 0;
        for place in 0..state.len().min(4_000) {
            let mut forged = state.clone();
            forged[place] ^= 0x40;
            let end = execute_saved(&prepared, &Impatient(AtomicU32::new(0)), None, Some(&forged));
            refused += u32::from(end.is_err_and(|e| e.kind() == ErrorKind::Input));
        }
        assert!(refused > 10, "{refused} refused of {} bytes", state.len());
    }

    /// Twelve messages of 2^62 bytes: no sum of 64 bits holds them.
    #[test]
    fn sums_of_bytes_that_do_not_fit_are_said() {
        let text = TEXT
            .replace(
                r#"workload = "uniform", message = "512 B", load = 0.3"#,
                r#"workload = "collective", operation = "alltoall", vector = "4611686018427387904 B""#,
            )
            .replace(r#"kind = "packet", packet = "512 B", chunk = "64 B""#, r#"kind = "delay""#)
            .replace(r#"duration = "4 us""#, r#"until = "workload-done""#);
        let prepared = Experiment::from_text(text).prepare(&Silent).unwrap_or_else(|e| panic!("{e}"));
        let finished = execute(&prepared, &Silent).unwrap_or_else(|e| panic!("{e}"));
        let flags = finished.summary.verdict.flags;
        assert!(flags.iter().any(|flag| flag == "clipped-sums"), "{flags:?}");
    }
}
