//! `scheduler = "auto"`: every scheduler is tried on the first events of the run, and the fastest simulates it.
//!
//! A trial is the run itself from where it begins, watched until it has handled enough events, and given up. What ends during its trial
//! has its results. Trials measure virtual time per second, which means the same for every scheduler; results depend on none of them.

use crate::prepare::Prepared;
use base::{time::display, world::World};
use model::{Failure, Finished, Progress, run::Watch, setup::Scheduling};
use results::summary::{Chosen, Trial};
use std::time::{Duration, Instant};

/// Events that are handled before anything is measured, and as many that are.
const EVENTS: u64 = 1 << 18;

/// A trial in one process ends after so much time, however few events that are.
const PATIENCE: Duration = Duration::from_millis(500);

/// A scheduler that needs threads must be so much faster than a plainer one, in percent: it takes processors from others.
const MARGIN: f64 = 5.0;

/// What came of the trials.
pub(crate) struct Choice {
    /// The scheduler that is to run it.
    pub scheduling: Scheduling,
    /// The reason, and what was measured.
    pub chosen: Chosen,
    /// What the run left, if it ended in a trial.
    pub finished: Option<Finished>,
}

/// What the run does in a pause: false ends it. See [`Watch::pause`].
pub(crate) type Pausing<'a> = dyn FnMut(Progress, &mut dyn FnMut() -> Vec<u8>) -> bool + 'a;

/// Tries the candidates of a run that goes on from `resume`; nothing if the experiment names its scheduler. Trials pause as the run does, so that
/// whoever ends it or wants it saved need not wait: a state belongs to no scheduler.
///
/// # Errors
/// If the run fails in a trial, or a pause ends it.
pub(crate) fn choose(
    prepared: &Prepared,
    resume: Option<&[u8]>,
    pausing: &mut Pausing<'_>,
) -> Result<Option<Choice>, Failure> {
    let candidates = &prepared.candidates;
    let only = |why: &str| {
        let chosen = Chosen { why: why.to_owned(), trials: Vec::new() };
        Ok(Some(Choice { scheduling: candidates[0], chosen, finished: None }))
    };
    if candidates.is_empty() {
        return Ok(None);
    }
    if candidates.len() == 1 {
        return only("one thread is all that was asked for");
    }
    if candidates.iter().all(|&c| prepared.run.partitions(c) == 1) {
        return only("this run is one partition, which no two threads can share");
    }
    let mut trials: Vec<Trial> = Vec::new();
    for &scheduling in candidates {
        match attempt(prepared, scheduling, resume, pausing)? {
            Attempt::Ended(finished) => {
                let why = format!("the run ended while the {} scheduler was on trial", scheduling.name());
                let chosen = Chosen { why, trials };
                return Ok(Some(Choice { scheduling, chosen, finished: Some(*finished) }));
            }
            Attempt::Measured(trial) => trials.push(trial),
        }
    }
    let best = best(&trials);
    let why = why(&trials, best);
    Ok(Some(Choice { scheduling: candidates[best], chosen: Chosen { why, trials }, finished: None }))
}

/// What came of a trial.
enum Attempt {
    Ended(Box<Finished>),
    Measured(Trial),
}

/// Runs under a scheduler for as long as measuring takes.
fn attempt(
    prepared: &Prepared,
    scheduling: Scheduling,
    resume: Option<&[u8]>,
    pausing: &mut Pausing<'_>,
) -> Result<Attempt, Failure> {
    let world = &prepared.world;
    let (mut begin, mut trial) = (None::<(Instant, Progress)>, None);
    let started = Instant::now();
    let mut first = None;
    let mut pause = |at: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
        if !pausing(at, save) {
            return false;
        }
        // The state that the run goes on from has events of its own.
        let before = *first.get_or_insert(if resume.is_some() { at.events } else { 0 });
        let Some((since, from)) = &begin else {
            // What is built and what caches must learn is not measured.
            if at.events - before >= EVENTS || patient(world, started.elapsed()) {
                begin = Some((Instant::now(), at));
            }
            return true;
        };
        let took = since.elapsed();
        if at.events - from.events < EVENTS && !patient(world, took) || at.now == from.now {
            return true;
        }
        trial = Some(measured(scheduling, from, &at, slowest(world, took)));
        false
    };
    let watch =
        Watch { resume, world: world.clone(), scheduling: Some(scheduling), ..Watch::new(&mut pause) };
    match prepared.run.watch(watch) {
        Ok(finished) => Ok(Attempt::Ended(Box::new(finished))),
        Err(Failure::Stopped(at)) => trial.map(Attempt::Measured).ok_or(Failure::Stopped(at)),
        Err(failure) => Err(failure),
    }
}

/// True if a trial has taken long enough. Ranks go by events, which all of them know alike.
fn patient(world: &World, took: Duration) -> bool {
    world.is_alone() && took >= PATIENCE
}

/// The time of the slowest rank, which all must ask for.
fn slowest(world: &World, took: Duration) -> f64 {
    world.most(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX)).max(1) as f64 / 1e9
}

fn measured(scheduling: Scheduling, from: &Progress, to: &Progress, wall_s: f64) -> Trial {
    let (events, windows) = (to.events - from.events, to.windows.saturating_sub(from.windows));
    Trial {
        scheduler: scheduling.name().to_owned(),
        partitions: to.partitions,
        lookahead_ps: to.lookahead,
        events_per_window: (windows > 0).then(|| events as f64 / windows as f64),
        events,
        wall_s,
        virtual_ps: to.now - from.now,
    }
}

/// Virtual picoseconds per second.
fn speed(trial: &Trial) -> f64 {
    trial.virtual_ps as f64 / trial.wall_s.max(1e-9)
}

/// The fastest; of two that are about as fast the plainer one, which comes first.
fn best(trials: &[Trial]) -> usize {
    let mut best = 0;
    for (index, trial) in trials.iter().enumerate() {
        if speed(trial) > speed(&trials[best]) * (1.0 + MARGIN / 100.0) {
            best = index;
        }
    }
    best
}

/// The reason in words: "conservative simulates 1.2 us a second, sequential 0.8 us; 2 partitions, lookahead 1.4 ns, 460 events per window".
fn why(trials: &[Trial], best: usize) -> String {
    let said = |trial: &Trial| {
        let [name, time] = [trial.scheduler.clone(), display(speed(trial) as u64)];
        let windows =
            trial.events_per_window.map_or(String::new(), |n| format!(", {n:.0} events per window"));
        let lookahead = trial.lookahead_ps.map_or(String::new(), |ps| format!(", lookahead {}", display(ps)));
        let parts = match trial.partitions {
            1 => String::new(),
            n => format!(" ({n} partitions{lookahead}{windows})"),
        };
        format!("{name} {time} of virtual time a second{parts}")
    };
    let others = trials.iter().enumerate().filter(|&(n, _)| n != best).map(|(_, t)| said(t));
    let all: Vec<String> = std::iter::once(said(&trials[best])).chain(others).collect();
    format!("on the first events: {}", all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        execute::execute, input::Input, options::RunOptions, prepare::prepare_text, registry::Registry,
        watcher::Silent,
    };

    /// A run of the small dragonfly that goes on for so long.
    fn prepared(duration: &str, scheduler: &str, (threads, ranks): (u32, u32)) -> Prepared {
        let text = include_str!("../../../examples/dragonfly-72.toml").to_owned();
        let set = [
            ("experiment.duration", duration),
            ("experiment.warmup", "0 s"),
            ("engine.scheduler", scheduler),
        ];
        let set = set.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let input = Input { file: "dragonfly-72.toml".into(), set };
        let options = RunOptions { threads, ranks, ..RunOptions::default() };
        prepare_text(&Registry::standard(), &input, text, &options, &Silent).expect("it can run")
    }

    fn chosen(finished: &Finished) -> Chosen {
        let performance = finished.summary.performance.as_ref().expect("it was watched");
        performance.chosen.clone().expect("the simulator chose")
    }

    #[test]
    fn results_do_not_depend_on_the_choice() {
        for (duration, trials) in [("3 us", 0), ("100 us", 3)] {
            let plain = execute(&prepared(duration, "sequential", (1, 1)), &Silent).expect("it runs");
            for threads in [1, 2] {
                let auto = execute(&prepared(duration, "auto", (threads, 1)), &Silent).expect("it runs");
                let chosen = chosen(&auto);
                assert_eq!(chosen.trials.len(), if threads == 1 { 0 } else { trials }, "{chosen:?}");
                assert!(!chosen.why.is_empty());
                let [a, b] = [&plain, &auto].map(|f| f.summary.without_performance());
                assert_eq!(a, b, "{chosen:?}");
                assert!(plain.tables == auto.tables, "{chosen:?}");
            }
        }
    }

    /// Ranks measure by their own clocks, and must choose alike.
    #[test]
    fn ranks_agree_on_a_choice() {
        let plain = execute(&prepared("120 us", "sequential", (1, 1)), &Silent).expect("it runs");
        let rank = |world| {
            let prepared = Prepared { world, ..prepared("120 us", "auto", (1, 2)) };
            let finished = execute(&prepared, &Silent).expect("it runs");
            assert_eq!(finished.summary.fingerprint, plain.summary.fingerprint);
            chosen(&finished)
        };
        let all: Vec<Chosen> = std::thread::scope(|scope| {
            let start = |world| {
                let rank = &rank;
                scope.spawn(move || rank(world))
            };
            let ranks: Vec<_> = World::of_threads(2).into_iter().map(start).collect();
            ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
        });
        assert_eq!(all[0].why, all[1].why);
        let names: Vec<&str> = all[0].trials.iter().map(|t| t.scheduler.as_str()).collect();
        assert_eq!(names, ["conservative", "optimistic"], "one thread cannot be chosen over ranks");
    }

    /// A signal in a trial ends the run, not the trial alone.
    #[test]
    fn a_pause_ends_a_run_on_trial() {
        let prepared = prepared("100 us", "auto", (2, 1));
        let mut pauses = 0;
        let ended = choose(&prepared, None, &mut |_, _| {
            pauses += 1;
            false
        });
        assert!(matches!(ended, Err(Failure::Stopped(_))) && pauses == 1, "{pauses} pauses");
    }

    fn trial(scheduler: &str, wall_s: f64) -> Trial {
        Trial {
            scheduler: scheduler.to_owned(),
            partitions: 2,
            lookahead_ps: Some(1_420),
            events_per_window: Some(46.0),
            events: EVENTS,
            wall_s,
            virtual_ps: 1_000_000,
        }
    }

    #[test]
    fn the_fastest_is_taken_and_the_plainer_of_equals() {
        let of = |times: [f64; 3]| {
            let names = ["sequential", "conservative", "optimistic"];
            let trials: Vec<Trial> = names.iter().zip(times).map(|(n, t)| trial(n, t)).collect();
            trials[best(&trials)].scheduler.clone()
        };
        assert_eq!(of([1.0, 0.6, 0.8]), "conservative");
        assert_eq!(of([1.0, 0.8, 0.6]), "optimistic");
        assert_eq!(of([1.0, 2.0, 3.0]), "sequential");
        assert_eq!(of([1.0, 0.97, 0.98]), "sequential", "a few percent are not worth a processor");
    }

    #[test]
    fn the_reason_names_what_was_measured() {
        let trials = [trial("sequential", 1.0), trial("conservative", 0.5)];
        let text = why(&trials, best(&trials));
        assert!(
            text.starts_with("on the first events: conservative 2.000 us of virtual time a second"),
            "{text}"
        );
        assert!(text.contains("lookahead 1.42") && text.contains("46 events per window"), "{text}");
    }
}
