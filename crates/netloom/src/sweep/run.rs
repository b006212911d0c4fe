//! Runs the points of a sweep that are not kept yet.

use super::{
    outcome::{Outcome, Row},
    plan::Plan,
    points::{Chain, Point, search},
    store::{FAILED, Record, Store},
    table,
};
use crate::{
    checkpoint::{self, Header},
    error::{Error, ErrorKind},
    execute::{execute, execute_saved},
    experiment::{
        level::{Level, Measure},
        resolved,
        sweep::Search,
        tree::Node,
    },
    memory::limit_in_bytes,
    networks::Networks,
    options::{MemoryLimit, RunOptions},
    output::Program,
    prepare::{Prepared, prepare_resolved},
    saver::{Intervals, Saver, Signals},
    side_by_side::{self, Crew, Heard},
    together::all_ready,
    watcher::Watcher,
};
use base::{sorted::SortedSet, world::World};
use model::Finished;
use results::{
    claim::{Claim, check_name},
    output::real,
    summary::State,
};
use std::{
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// How often a point is saved that has not ended.
const SAVED: Duration = Duration::from_secs(240);

/// What is asked of a sweep beside its file.
#[derive(Clone)]
pub struct Asked<'a> {
    /// Directory of the results.
    pub out: &'a Path,
    /// Points at a time; each runs in one thread.
    pub threads: u32,
    /// Only every n-th chain of points, from the i-th on: i of n, from 1.
    pub shard: Option<(u32, u32)>,
    /// States, or beginnings of ids, of points that are run again though they are kept.
    pub again: &'a [String],
    /// Memory and checkers.
    pub options: RunOptions,
    /// The program that runs.
    pub program: Program,
    /// What asks it to leave.
    pub signals: Arc<Signals>,
}

/// Runs what is not kept, and writes the tables once all points are there.
///
/// # Errors
/// If the directory cannot be used, or a signal ended it. A point that fails is a row of the outcome.
pub fn run(plan: &Plan, asked: &Asked<'_>, watcher: &dyn Watcher) -> Result<Outcome, Error> {
    // Shards share a directory; two whole sweeps would write each other's tables.
    let _claim = asked.shard.is_none().then(|| Claim::take(&real(asked.out))).transpose()?;
    check_name(asked.out)?;
    let store = Store::open(asked.out)?;
    store.tidy();
    let together = (asked.threads as usize).min(plan.chains.len()).max(1);
    let share = limit_in_bytes(asked.options.memory).filter(|_| together > 1);
    let memory = share.map(|bytes| MemoryLimit::Bytes(bytes / together as u64)).or(asked.options.memory);
    let crew = Runs {
        plan,
        asked,
        store: &store,
        networks: Networks::new(together + 1),
        options: RunOptions { threads: 1, memory, ..asked.options },
        watcher,
        done: AtomicU64::new(0),
    };
    let (mut rows, mut missing, mut said) = (Vec::new(), 0, SortedSet::new());
    let ran = side_by_side::run(plan.chains.len(), together, &crew, &mut |heard| {
        match heard {
            Heard::Remark(text) if said.insert(text.clone()) => watcher.remark(&text),
            Heard::Remark(_) => {}
            Heard::Result(Climbed { rows: mut more, whole }) => {
                missing += usize::from(!whole);
                rows.append(&mut more);
            }
        }
        Ok(())
    });
    watcher.ended();
    ran?;
    let outcome = Outcome {
        line: plan.line(),
        file: plan.file.0.clone(),
        rows,
        missing,
        directory: asked.out.to_owned(),
        searched: search(&plan.series.sweep).is_some(),
    };
    if missing == 0 {
        table::write(plan, &outcome, &store, &asked.program)?;
    }
    let others =
        outcome.rows.iter().filter(|row| row.kept && row.record.revision != asked.program.revision).count();
    if others > 0 {
        let message = format!("note: {others} points were kept by another revision of this program");
        watcher
            .remark(&format!("{message}; remove `{}` to run them anew", asked.out.join("points").display()));
    }
    Ok(outcome)
}

/// The same over several ranks that see the directory: each runs its share of the chains, then the first one gathers what all have kept.
///
/// # Errors
/// As [`run`]; all ranks end together.
pub fn run_over(
    world: &World,
    plan: &Plan,
    asked: &Asked<'_>,
    watcher: &dyn Watcher,
) -> Result<Option<Outcome>, Error> {
    if world.is_alone() {
        return run(plan, asked, watcher).map(Some);
    }
    let shard = Some((world.rank() + 1, world.ranks()));
    let mine = run(plan, &Asked { shard, ..asked.clone() }, watcher);
    let mine = all_ready(world, mine)?;
    let now = mine.rows.iter().filter(|row| !row.kept).map(|row| row.record.id.clone());
    let all = world.gather(now.collect::<Vec<_>>().join("\n").into_bytes());
    if !world.is_first() {
        return Ok(None);
    }
    // All is kept by now, so nothing is run; but it was not before.
    let mut outcome = run(plan, &Asked { again: &[], ..asked.clone() }, watcher)?;
    let now = all.iter().flat_map(|ids| ids.split(|&byte| byte == b'\n')).collect::<SortedSet<_>>();
    outcome.rows.iter_mut().for_each(|row| row.kept &= !now.contains(row.record.id.as_bytes()));
    Ok(Some(outcome))
}

/// What came of a chain of points.
struct Climbed {
    rows: Vec<Row>,
    /// False if points of it are another process's to run and are not there yet.
    whole: bool,
}

struct Runs<'a> {
    plan: &'a Plan,
    asked: &'a Asked<'a>,
    store: &'a Store,
    networks: Networks,
    options: RunOptions,
    watcher: &'a dyn Watcher,
    /// Chains that have ended.
    done: AtomicU64,
}

impl Crew<Climbed> for Runs<'_> {
    fn work(&self, number: usize, remark: &dyn Fn(String)) -> Result<Climbed, Error> {
        let mine = self.asked.shard.is_none_or(|(i, n)| number as u64 % u64::from(n) == u64::from(i) - 1);
        let one = |point: &Point| self.one(number, point, mine, remark);
        let climbed = climb(&self.plan.chains[number], search(&self.plan.series.sweep), &one)?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.watcher.points(done, self.plan.chains.len() as u64);
        Ok(climbed)
    }

    fn stop(&self) {
        self.asked.signals.request_leave();
    }
}

impl Runs<'_> {
    /// A point: kept, or run now; none if it is another process's to run.
    fn one(
        &self,
        chain: usize,
        point: &Point,
        mine: bool,
        remark: &dyn Fn(String),
    ) -> Result<Option<Row>, Error> {
        let (experiment, mistakes) = self.plan.read(point);
        let json = resolved::json(&experiment);
        let id = self.store.id(&self.asked.program, &json, self.options.checkers);
        let again = |record: &Record| {
            let names =
                |word: &str| word == record.state || (!word.is_empty() && record.id.starts_with(word));
            self.asked.again.iter().any(|word| names(word))
        };
        let row = |record, kept| Ok(Some(Row { chain, point: point.clone(), record, kept }));
        match self.store.load(&id) {
            Some(record) if !mine || !again(&record) => return row(record, true),
            _ if !mine => return Ok(None),
            _ => {}
        }
        if self.asked.signals.leave() {
            return Err(self.interrupted());
        }
        let noted = Noted { notes: Mutex::default(), signals: &self.asked.signals };
        let outcome = prepare_resolved(
            &experiment,
            self.plan.named_file(),
            &self.options,
            Some(&self.networks),
            &noted,
            mistakes,
        );
        let outcome = outcome.and_then(|prepared| self.simulate(&prepared, &id, &noted));
        noted.notes.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().for_each(remark);
        let outcome = match outcome {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(self.interrupted()),
            other => other,
        };
        // What the machine lacks now it may have at the next call.
        let passing =
            |error: &Error| matches!(error.kind(), ErrorKind::Limit | ErrorKind::Input | ErrorKind::Output);
        let passes = outcome.as_ref().is_err_and(passing);
        let outcome = outcome.map(|finished| finished.summary).map_err(|error| error.to_string());
        let record = Record::new(&id, &self.asked.program, outcome);
        if !passes {
            self.store.keep(&record)?;
        }
        row(record, false)
    }

    /// Runs a point, saved now and then, from where an earlier process left it.
    fn simulate(&self, prepared: &Prepared, id: &str, noted: &Noted<'_>) -> Result<Finished, Error> {
        if prepared.run.measure() != model::setup::Measure::default() {
            noted.remark("note: a sweep keeps summaries alone: the tables that [output] asks for are written by `netloom run --out`");
        }
        if !prepared.model.saved {
            return execute(prepared, noted);
        }
        let (path, build) = (self.store.checkpoint(id), self.asked.program.build);
        // What another build left is begun anew.
        let begun = if path.exists() { checkpoint::load(&path, build).ok() } else { None };
        let saver = || {
            let header = Header { build: build.to_owned(), threads: 1, ..Header::default() };
            let intervals = Intervals { virtual_time: 0, wall: SAVED };
            Saver::new(path.clone(), header, intervals, Arc::clone(&self.asked.signals))
        };
        let state = begun.as_ref().map(|(_, state)| state.as_slice());
        let mut finished = execute_saved(prepared, noted, Some(&mut saver()), state);
        if state.is_some() && finished.as_ref().is_err_and(|e| e.kind() == ErrorKind::Input) {
            finished = execute_saved(prepared, noted, Some(&mut saver()), None);
        }
        if finished.is_ok() {
            // The result is there; what would continue the run is of no more use.
            let _ = std::fs::remove_file(&path);
        }
        finished
    }

    fn interrupted(&self) -> Error {
        let message = format!("interrupted; points that ended are kept in `{}`", self.asked.out.display());
        Error::new(ErrorKind::Interrupted, message).with_help("the same command goes on")
    }
}

/// True if the network carried what it was offered.
fn is_carried(row: &Row) -> bool {
    row.record.summary.as_ref().is_some_and(|s| s.verdict.state < State::Saturated)
}

/// Runs the points of a chain: all, or up to saturation and then halves of the last step.
fn climb(
    chain: &Chain,
    search: Option<(usize, &Search)>,
    one: &dyn Fn(&Point) -> Result<Option<Row>, Error>,
) -> Result<Climbed, Error> {
    let mut rows: Vec<Row> = Vec::new();
    let mut whole = true;
    for point in &chain.points {
        let Some(row) = one(point)? else {
            whole = false;
            break;
        };
        let carried = is_carried(&row);
        rows.push(row);
        if search.is_some() && !carried {
            break;
        }
    }
    let Some((axis, search)) = search.filter(|_| whole) else { return Ok(Climbed { rows, whole }) };
    while let Some(point) = halfway(&rows, axis, search) {
        let Some(row) = one(&point)? else { return Ok(Climbed { rows, whole: false }) };
        rows.push(row);
        let number = |row: &Row| row.point.levels[axis].measure.number().unwrap_or(0.0);
        rows.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    Ok(Climbed { rows, whole })
}

/// The point between the last that was carried and the first that was not; none if they are close, or a run failed.
fn halfway(rows: &[Row], axis: usize, search: &Search) -> Option<Point> {
    let first = rows.iter().position(|row| !is_carried(row))?;
    let (low, high) = (rows.get(first.checked_sub(1)?)?, &rows[first]);
    if rows.iter().any(|row| row.record.state == FAILED) {
        return None;
    }
    let of = |row: &Row| -> Measure { row.point.levels[axis].measure.clone() };
    let (a, b) = (of(low).number()?, of(high).number()?);
    if b - a <= search.tolerance * b.abs() {
        return None;
    }
    let middle = search.range.middle(&of(low), &of(high))?;
    let mut point = low.point.clone();
    let place = point.levels[axis].nodes.first()?.place;
    point.levels[axis] = Level::new(vec![Node { place, data: middle.data() }], None);
    Some(point)
}

/// Keeps what a run remarks until it has ended; leaves when the sweep does, also a run that cannot be saved.
struct Noted<'a> {
    notes: Mutex<Vec<String>>,
    signals: &'a Signals,
}

impl Watcher for Noted<'_> {
    fn leaves(&self) -> bool {
        self.signals.leave()
    }

    fn remark(&self, text: &str) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }
}
