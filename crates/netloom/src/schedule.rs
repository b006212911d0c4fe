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
    let asked = experiment.scheduler;
    if asked.kind == SchedulerKind::Auto {
        // Memory is predicted for the last of them, which needs most.
        let last = candidates(experiment, options).pop();
        return last.unwrap_or(Scheduling::Sequential { partitions: 1 });
    }
    let count = options.threads;
    let kind = if asked.written || count == 1 { asked.kind } else { SchedulerKind::Conservative };
    let resumed = options.partitions.is_some();
    let alone = kind == SchedulerKind::Sequential && !resumed && options.ranks == 1;
    if alone && count > 1 {
        let message = format!("the sequential scheduler runs in one thread, and {count} are asked for");
        let help = "results do not depend on the scheduler: choose \"conservative\" or \"auto\"";
        let place = experiment.engine.place("scheduler");
        diagnostics.push(Diagnostic::new(place, message).label("one thread").help(help));
    }
    match kind {
        SchedulerKind::Optimistic => optimistic(experiment, options),
        _ if alone => sequential(experiment, options),
        _ => conservative(experiment, options),
    }
}

/// The schedulers among which a run that leaves the choice to the simulator has it, from the plainest on; none if it names one.
pub fn candidates(experiment: &Experiment, options: &RunOptions) -> Vec<Scheduling> {
    let (several, alone) = (options.threads > 1 || options.ranks > 1, options.ranks == 1);
    match experiment.scheduler.kind {
        SchedulerKind::Auto if !several => vec![sequential(experiment, options)],
        SchedulerKind::Auto => {
            let first = alone.then(|| sequential(experiment, options));
            let others = [conservative(experiment, options), optimistic(experiment, options)];
            first.into_iter().chain(others).collect()
        }
        _ => Vec::new(),
    }
}

/// Partitions that are asked for, with so many for each thread where several ranks need a number.
fn partitions(experiment: &Experiment, options: &RunOptions, each: u32) -> Option<u32> {
    // A run that is taken up again has the partitions of its state, and any number of threads.
    let asked = options.partitions.or(experiment.partitions);
    asked.or((options.ranks > 1).then_some(options.ranks * options.threads * each))
}

fn sequential(experiment: &Experiment, options: &RunOptions) -> Scheduling {
    Scheduling::Sequential { partitions: options.partitions.or(experiment.partitions).unwrap_or(1) }
}

fn conservative(experiment: &Experiment, options: &RunOptions) -> Scheduling {
    let (pin, spare) = (is_set(experiment, "pin"), is_set(experiment, "spare"));
    let partitions = partitions(experiment, options, 1);
    // Threads that share a processor wait for each other; partitions are for good, so as few are made.
    let idle = options.idle.filter(|_| spare && partitions.is_none());
    let count = idle.map_or(options.threads, |idle| options.threads.min(idle.max(1)));
    Scheduling::Conservative { partitions, threads: Threads { count, pin, spare, ..Threads::ONE } }
}

fn optimistic(experiment: &Experiment, options: &RunOptions) -> Scheduling {
    let engine = &experiment.engine;
    let whole = |key: &str| match engine.get(key) {
        Some(Value::Int(number)) => *number as usize,
        _ => unreachable!("`{key}` has a default"),
    };
    Scheduling::Optimistic {
        partitions: partitions(experiment, options, AHEAD_PER_THREAD),
        threads: Threads { count: options.threads, pin: is_set(experiment, "pin"), ..Threads::ONE },
        optimism: Optimism {
            bound: match engine.get("optimism") {
                Some(Value::Time(bound @ 1..)) => Some(*bound),
                _ => None,
            },
            batch: whole("batch"),
            history: whole("history"),
            ..Optimism::default()
        },
    }
}

fn is_set(experiment: &Experiment, key: &str) -> bool {
    matches!(experiment.engine.get(key), Some(Value::Bool(true)))
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
    let threads_meet = asked.kind == SchedulerKind::Conservative || options.threads > 1 && !asked.written;
    if experiment.engine.places.contains_key("spare") && !(threads_meet || asked.kind == SchedulerKind::Auto)
    {
        unread.push("`spare` of [engine] has no effect: only the conservative scheduler reads it".to_owned());
    }
    if matches!(asked.kind, SchedulerKind::Optimistic | SchedulerKind::Auto) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Registry, experiment};

    const TEXT: &str = include_str!("../../../examples/dragonfly-72.toml");

    /// Threads and partitions of a run with four threads on a machine with so many idle processors.
    fn counts(set: &[&str], idle: Option<u32>) -> (u32, Option<u32>) {
        let set = ["engine.scheduler=conservative"].iter().chain(set).map(|&s| s.to_owned());
        let options = RunOptions { threads: 4, idle, ..RunOptions::default() };
        let (set, mut wrong) = (set.collect::<Vec<_>>(), Diagnostics::default());
        let read = experiment::read(&Registry::standard(), "a.toml", TEXT, &set, &mut wrong);
        assert!(wrong.is_empty(), "the example is sound");
        match scheduling(&read.expect("it is TOML"), &options, &mut wrong) {
            Scheduling::Conservative { partitions, threads } => (threads.count, partitions),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn busy_processors_are_left_to_others() {
        for (idle, threads) in [(None, 4), (Some(1), 1), (Some(3), 3), (Some(64), 4), (Some(0), 1)] {
            assert_eq!(counts(&[], idle), (threads, None), "{idle:?}");
            assert_eq!(counts(&["engine.spare=false"], idle), (4, None), "{idle:?}: all are kept at work");
            assert_eq!(
                counts(&["engine.partitions=2"], idle),
                (4, Some(2)),
                "{idle:?}: partitions are asked for"
            );
        }
    }
}
