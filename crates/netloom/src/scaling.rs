//! What more processors could give a run: its beginning is played by one thread in the place of 2, 4, 8 and 16, and the critical path of their windows is
//! measured ([`Rehearsal`]).

use crate::prepare::Prepared;
use base::{
    threads::{Rehearsal, Threads},
    time::{Ps, display},
};
use model::{Failure, Finished, Progress, run::Watch, setup::Scheduling};
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

/// Numbers of threads that are rehearsed, the one that all are compared with first.
const THREADS: [u32; 5] = [1, 2, 4, 8, 16];

/// Events of the beginning that is played, about; the first half is not measured.
const EVENTS: u64 = 1 << 21;

/// The beginning is no longer than what one thread simulates in this time.
const PATIENCE: Duration = Duration::from_secs(4);

/// What a meeting of threads takes, in nanoseconds: measured between two threads, see `BENCHMARKS.md`.
const MEETING: u64 = 300;

/// What so many threads could gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Threads, each with one partition.
    pub threads: u32,
    /// What they would have done.
    pub rehearsal: Rehearsal,
    /// Most that can be gained over one thread: its events over those on the critical path.
    pub at_most: f64,
    /// The same with the meetings after all windows, where an event takes what it takes in one thread.
    pub with_meetings: f64,
    /// The same by measured times. They know what partitions cost; on a busy machine they are too long in single windows, which is what the path goes by.
    pub by_time: f64,
}

/// What several numbers of threads could gain.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// Virtual times between which was measured.
    pub span: (Ps, Ps),
    /// The same span in one thread.
    pub alone: Rehearsal,
    /// Several threads, as far as the network has partitions for them.
    pub rows: Vec<Row>,
}

/// Rehearses the beginning of a run; nothing if it is one partition, or too short to be halved.
///
/// # Errors
/// If the run fails in its beginning.
pub fn scaling(prepared: &Prepared) -> Result<Option<Scaling>, Failure> {
    let threads = THREADS.into_iter().filter(|&n| prepared.run.partitions(played_by(n)) == n);
    let threads: Vec<u32> = threads.collect();
    if threads.len() < 2 {
        return Ok(None);
    }
    let end = beginning(prepared)?;
    let mut span = (0, 0);
    let mut measured = Vec::new();
    for &threads in &threads {
        let Some(played) = rehearse(prepared, threads, end / 2)? else { return Ok(None) };
        span = played.span;
        measured.push((threads, played.rehearsal));
    }
    let (_, alone) = measured[0];
    let rows = measured[1..].iter().map(|&(threads, of)| row(threads, alone, of)).collect();
    Ok(Some(Scaling { span, alone, rows }))
}

fn row(threads: u32, alone: Rehearsal, of: Rehearsal) -> Row {
    let ratio = |all: u64, path: u64| all as f64 / path.max(1) as f64;
    // Time of the path, were all its events as dear as those of one thread.
    let path = of.critical_events as f64 * ratio(alone.time, alone.events);
    let meetings = of.windows.saturating_mul(MEETING) as f64;
    Row {
        threads,
        rehearsal: of,
        at_most: ratio(alone.events, of.critical_events),
        with_meetings: alone.time as f64 / (path + meetings).max(1.0),
        by_time: ratio(alone.time, of.critical_time),
    }
}

/// So many threads, a partition each, played by one.
fn played_by(threads: u32) -> Scheduling {
    let threads = Threads { count: threads, rehearse: true, ..Threads::ONE };
    Scheduling::Conservative { partitions: Some(threads.count), threads }
}

/// Virtual time at which enough events are over, or at which the run ends.
fn beginning(prepared: &Prepared) -> Result<Ps, Failure> {
    let (begun, mut reached) = (Instant::now(), 0);
    let mut pause = |at: Progress, _: &mut dyn FnMut() -> Vec<u8>| {
        reached = at.now;
        at.now == 0 || at.events < EVENTS && begun.elapsed() < PATIENCE
    };
    match prepared.run.watch(Watch { scheduling: Some(played_by(1)), ..Watch::new(&mut pause) }) {
        Ok(Finished { summary, .. }) => Ok(summary.simulated_ps / 3 * 2),
        Err(Failure::Stopped(_)) => Ok(reached),
        Err(failure) => Err(failure),
    }
}

/// What was measured of some threads, between two virtual times.
struct Played {
    span: (Ps, Ps),
    rehearsal: Rehearsal,
}

/// Plays so many threads through two spans of virtual time; gives what they did in the second one.
fn rehearse(prepared: &Prepared, threads: u32, every: Ps) -> Result<Option<Played>, Failure> {
    if every == 0 {
        return Ok(None);
    }
    let (mut from, mut done) = (None::<(Ps, Rehearsal)>, None);
    let mut pause = |at: Progress, _: &mut dyn FnMut() -> Vec<u8>| {
        let Some(rehearsal) = at.rehearsal else { return false };
        match &from {
            None if at.now >= every => from = Some((at.now, rehearsal)),
            Some((begin, before)) if at.now >= 2 * every => {
                done = Some(Played { span: (*begin, at.now), rehearsal: rehearsal.since(before) });
                return false;
            }
            _ => {}
        }
        true
    };
    let scheduling = Some(played_by(threads));
    match prepared.run.watch(Watch { every, scheduling, ..Watch::new(&mut pause) }) {
        Ok(_) | Err(Failure::Stopped(_)) => Ok(done),
        Err(failure) => Err(failure),
    }
}

impl Scaling {
    /// What it means, and a line for each number of threads.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let (from, to) = self.span;
        let head = format!(
            "from {} to {}: {} events, {:.3} s in one thread",
            display(from),
            display(to),
            self.alone.events,
            self.alone.time as f64 / 1e9
        );
        let row = |r: &Row| {
            let each = self.alone.events as f64 / r.rehearsal.windows.max(1) as f64;
            format!(
                "{:2} threads at most {:.2} times as fast, {:.2} with meetings of {:.1} us; {each:.0} events in a window",
                r.threads,
                r.at_most,
                r.with_meetings,
                MEETING as f64 / 1000.0
            )
        };
        std::iter::once(head).chain(self.rows.iter().map(row)).collect()
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Json {
        let counts = |of: &Rehearsal| {
            json!({
                "windows": of.windows, "events": of.events, "critical_events": of.critical_events,
                "time_s": of.time as f64 / 1e9, "critical_time_s": of.critical_time as f64 / 1e9,
            })
        };
        let row = |r: &Row| {
            let mut row = json!({
                "threads": r.threads, "speed_up_at_most": r.at_most, "speed_up_with_meetings": r.with_meetings,
                "speed_up_by_time": r.by_time,
            });
            row["rehearsal"] = counts(&r.rehearsal);
            row
        };
        json!({
            "from_ps": self.span.0, "to_ps": self.span.1, "meeting_ns": MEETING, "alone": counts(&self.alone),
            "threads": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        input::Input, options::RunOptions, prepare::prepare_text, registry::Registry, watcher::Silent,
    };

    fn prepared(text: &str, set: &[&str]) -> Prepared {
        let set = set.iter().map(|s| (*s).to_owned()).collect();
        let input = Input { file: "machine.toml".into(), set };
        let options = RunOptions::default();
        prepare_text(&Registry::standard(), &input, text.to_owned(), &options, &Silent).expect("it can run")
    }

    #[test]
    fn what_threads_could_gain_is_bounded_by_their_number_and_grows_with_lookahead() {
        let text = include_str!("../../../examples/dragonfly-72.toml");
        let near = ["experiment.duration=20 us", "experiment.warmup=0 s"];
        let long = ["terminal", "local", "global"].map(|l| {
            [format!("fabric.link.{l}.latency=200 ns"), format!("fabric.link.{l}.credit_delay=200 ns")]
        });
        let far: Vec<&str> = near.into_iter().chain(long.iter().flatten().map(String::as_str)).collect();
        let of = |set: &[&str]| scaling(&prepared(text, set)).expect("it runs").expect("it has partitions");
        let (near, far) = (of(&near), of(&far));
        assert_eq!(near.rows.iter().map(|r| r.threads).collect::<Vec<_>>(), [2, 4, 8, 16]);
        for row in near.rows.iter().chain(&far.rows) {
            let all = row.rehearsal.critical_events;
            assert!(row.rehearsal.events <= all * u64::from(row.threads), "{row:?}");
            assert!(row.with_meetings < row.at_most, "{row:?}");
            assert!(row.at_most >= 0.5 && row.at_most <= f64::from(row.threads) * 1.01, "{row:?}");
        }
        assert!(far.rows[1].at_most > near.rows[1].at_most, "{near:?} {far:?}");
        assert!(near.rows[0].rehearsal.windows > 10 * far.rows[0].rehearsal.windows, "{near:?} {far:?}");
    }

    #[test]
    fn one_cell_gains_nothing() {
        let text = include_str!("../../../examples/dragonfly-72.toml");
        let cell = prepared(text, &["routing.algorithm=ugal-g", "model.vcs=8"]);
        assert_eq!(scaling(&cell).expect("it is not even begun"), None);
    }
}
