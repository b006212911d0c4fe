//! `[engine]`: which scheduler, in how many threads, and when a run is saved.

use crate::{
    experiment::sections::{Experiment, SchedulerKind},
    options::RunOptions,
    saver::Intervals,
};
use base::threads::{Optimism, Threads};
use base::{
    diag::{Diagnostic, Diagnostics},
    param::Value,
    time::S,
};
use model::setup::{AHEAD_PER_THREAD, Scheduling};
use std::time::Duration;

/// The scheduler that the experiment names; several threads choose the conservative one, and several ranks do so in place of the sequential one.
pub fn scheduling(
    experiment: &Experiment,
    options: &RunOptions,
    diagnostics: &mut Diagnostics,
) -> Scheduling {
    let (engine, count) = (&experiment.engine, options.threads);
    let pin = matches!(engine.get("pin"), Some(Value::Bool(true)));
    let whole = |key: &str| match engine.get(key) {
        Some(Value::Int(number)) => *number as usize,
        _ => unreachable!("`{key}` has a default"),
    };
    let asked = experiment.scheduler;
    let kind = if asked.written || count == 1 { asked.kind } else { SchedulerKind::Conservative };
    // A run that is taken up again has the partitions of its state, and any number of threads.
    let (partitions, resumed) = (options.partitions.or(experiment.partitions), options.partitions.is_some());
    let each = if kind == SchedulerKind::Optimistic { AHEAD_PER_THREAD } else { 1 };
    let partitions = partitions.or((options.ranks > 1).then_some(options.ranks * count * each));
    match kind {
        SchedulerKind::Optimistic => Scheduling::Optimistic {
            partitions,
            threads: Threads { count, pin, ..Threads::ONE },
            optimism: Optimism {
                bound: match engine.get("optimism") {
                    Some(Value::Time(bound @ 1..)) => Some(*bound),
                    _ => None,
                },
                batch: whole("batch"),
                history: whole("history"),
                ..Optimism::default()
            },
        },
        kind if kind == SchedulerKind::Conservative || resumed || options.ranks > 1 => {
            Scheduling::Conservative {
                partitions,
                // Whoever binds threads to processors wants them all at work.
                threads: Threads { count, pin, spare: !pin, ..Threads::ONE },
            }
        }
        _ => {
            if count > 1 {
                let message =
                    format!("the sequential scheduler runs in one thread, and {count} are asked for");
                let help = "results do not depend on the scheduler: choose \"conservative\"";
                let place = engine.place("scheduler");
                diagnostics.push(Diagnostic::new(place, message).label("one thread").help(help));
            }
            Scheduling::Sequential { partitions: experiment.partitions.unwrap_or(1) }
        }
    }
}

/// When the run is saved, and what `[engine]` says that the scheduler does not read.
pub fn read(
    experiment: &Experiment,
    options: &RunOptions,
    diagnostics: &mut Diagnostics,
) -> (Intervals, Vec<String>) {
    (intervals(experiment, diagnostics), unread(experiment, options))
}

fn unread(experiment: &Experiment, options: &RunOptions) -> Vec<String> {
    let engine = &experiment.engine;
    let mut unread = Vec::new();
    let asked = experiment.scheduler;
    if asked.kind == SchedulerKind::Sequential && options.ranks > 1 && asked.written {
        unread.push(format!(
            "over {} ranks the conservative scheduler runs, not the sequential one of [engine]",
            options.ranks
        ));
    }
    if asked.kind == SchedulerKind::Optimistic {
        return unread;
    }
    let written = ["optimism", "batch", "history"].into_iter().filter(|&key| engine.places.contains_key(key));
    unread.extend(
        written
            .map(|key| format!("`{key}` of [engine] has no effect: only the optimistic scheduler reads it")),
    );
    unread
}

fn intervals(experiment: &Experiment, diagnostics: &mut Diagnostics) -> Intervals {
    let engine = &experiment.engine;
    let of = |key: &str| match engine.get(key) {
        Some(Value::Time(time)) => *time,
        _ => 0,
    };
    let wall = of("checkpoint_wall");
    if (1..S / 100).contains(&wall) {
        let message = "a checkpoint every few milliseconds leaves no time for the run";
        let place = engine.place("checkpoint_wall");
        diagnostics.push(Diagnostic::new(place, message).label("at least 10 ms"));
    }
    Intervals { virtual_time: of("checkpoint"), wall: Duration::from_nanos(wall / 1000) }
}
