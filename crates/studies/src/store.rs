//! Runs of a hybrid study, and where finished ones are kept.
//!
//! With an output directory each run is stored when it ends, in `runs/NAME-HASH.json`. The hash is that of everything the run depends on:
//! the version of the program, the resolved experiment (without `[hybrid]` in high fidelity), the order of simultaneous events, the width of the windows. A
//! study that is started again, after a crash or with more seeds, takes what is there and runs the rest. A file that cannot be read is run anew. Each
//! file says which revision of the program ran it; the study says so if that was another one.
//! Seconds are those of the machine that ran it.
//!
//! A run that takes long is saved beside, in `NAME-HASH.checkpoint`, every few minutes and when a signal ends the study; there the same
//! command goes on, if it is the same program, not only the same revision. The seconds that it had cost are added up.

use crate::totals::Totals;
use base::{sorted::SortedMap, time::Ps};
use model::{Finished, Progress, performance::thread_time, run::Watch};
use netloom::{
    Error, ErrorKind, Prepared,
    checkpoint::{self, Header},
    output::Program,
    saver::{Intervals, Saver, Signals},
};
use results::{
    summary::Phase,
    table::{Column, Table},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

/// How often a run is saved that has not ended.
const SAVED: Duration = Duration::from_secs(240);

/// Windows of a run: packets, their latencies' sum and sum of squares (us), bytes in buffers.
pub type Windows = SortedMap<Ps, [f64; 4]>;

/// What is kept of one run that has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The series of the run, by window.
    pub windows: Windows,
    /// What it cost in all.
    pub cost: Cost,
    /// Stretches of a hybrid run.
    pub phases: Vec<Phase>,
    /// What it had cost by the end of each window.
    pub passed: Vec<(Ps, Cost)>,
    /// What it came to in all; nothing in a run that was kept before this was counted.
    #[serde(default)]
    pub totals: Option<Totals>,
    /// Revision of the program that ran it.
    #[serde(default)]
    pub revision: String,
}

/// Seconds, elapsed and of the processor (elapsed ones too where the system does not say).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Elapsed time in seconds.
    pub wall: f64,
    /// Of the processor.
    pub cpu: f64,
}

impl Run {
    /// Stretches in the surrogate.
    pub fn stays(&self) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(|p| p.is_surrogate())
    }

    /// Processor seconds at an instant of virtual time, in proportion between two windows' ends.
    pub fn at(&self, time: Ps) -> f64 {
        let mut before = (0, 0.0);
        for &(end, cost) in &self.passed {
            if end >= time {
                let part = (time - before.0) as f64 / (end - before.0).max(1) as f64;
                return before.1 + part * (cost.cpu - before.1);
            }
            before = (end, cost.cpu);
        }
        self.cost.cpu
    }
}

/// Where finished runs are kept.
pub struct Store {
    kept: Option<(PathBuf, Arc<Signals>)>,
    stopped: AtomicBool,
    program: Program,
}

impl Store {
    /// Below the output directory, heeding signals from now on; without one nothing is kept. The program is the one that runs.
    #[must_use]
    pub fn new(out: Option<&Path>, heed: &dyn Fn() -> Arc<Signals>, program: Program) -> Self {
        let kept = out.map(|out| (out.join("runs"), heed()));
        Self { kept, stopped: AtomicBool::new(false), program }
    }

    /// True if another revision of the program ran it.
    pub fn is_others(&self, run: &Run) -> bool {
        run.revision != self.program.revision
    }

    /// Ends runs that are under way in other threads, as a signal would; those that are not kept are lost.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        if let Some((_, signals)) = &self.kept {
            signals.request_leave();
        }
    }

    /// Whether another run may begin.
    ///
    /// # Errors
    /// If a signal, or [`Store::stop`], asked to leave.
    pub fn goes_on(&self) -> Result<(), Error> {
        let interrupted = |message: String| Err(Error::new(ErrorKind::Interrupted, message));
        match &self.kept {
            Some((directory, signals)) if signals.leave() => {
                let message = format!("interrupted; runs that ended are kept in `{}`", directory.display());
                interrupted(message).map_err(|e| e.with_help("the same command goes on"))
            }
            None if self.stopped.load(Ordering::Relaxed) => interrupted("interrupted".to_owned()),
            _ => Ok(()),
        }
    }

    /// The run of an experiment, from the store if it is there; `ties` says how simultaneous events are ordered, `every` how wide windows are.
    /// What is to be said of runs that had not ended goes to `remark`.
    ///
    /// # Errors
    /// If the run fails, cannot be stored or is interrupted.
    pub fn run(
        &self,
        name: &str,
        prepared: &mut Prepared,
        ties: u64,
        every: Ps,
        remark: &dyn Fn(String),
    ) -> Result<Run, Error> {
        prepared.run.reorder(ties);
        self.goes_on()?;
        let Some((directory, signals)) = &self.kept else {
            let mut keep = |_: &Progress, _: &mut dyn FnMut() -> Begun| self.goes_on().is_ok();
            let run = simulate(prepared, every, None, &mut keep).map_err(|e| Error::from(&e));
            return self.goes_on().and(run).map(|run| self.signed(run));
        };
        let unwritable = |e: std::io::Error| {
            Error::new(ErrorKind::Output, format!("cannot write in `{}`: {e}", directory.display()))
        };
        let path =
            directory.join(format!("{}-{}.json", file_name(name), key(&self.program, prepared, ties, every)));
        let saved = path.with_extension("checkpoint");
        let known: Option<Run> =
            std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        if let Some(run) = known {
            let _ = std::fs::remove_file(saved);
            return Ok(run);
        }
        std::fs::create_dir_all(directory).map_err(unwritable)?;
        let run = self.signed(go_on(&self.program, prepared, &saved, every, signals, remark)?);
        // Whoever stops the program meanwhile leaves no half file under that name.
        let part = path.with_extension(format!("part-{}", std::process::id()));
        std::fs::write(&part, serde_json::to_vec(&run).expect("keys are strings or integers"))
            .map_err(unwritable)?;
        std::fs::rename(&part, &path).map_err(unwritable)?;
        // The result is there; what would continue the run is of no more use.
        let _ = std::fs::remove_file(saved);
        Ok(run)
    }
}

impl Store {
    /// Says who ran it.
    fn signed(&self, run: Run) -> Run {
        Run { revision: self.program.revision.to_owned(), ..run }
    }
}

/// Simulates, saved at `path`, and goes on from there if this program left something. What another one left, or what is damaged, is begun anew.
fn go_on(
    program: &Program,
    prepared: &Prepared,
    path: &Path,
    every: Ps,
    signals: &Arc<Signals>,
    remark: &dyn Fn(String),
) -> Result<Run, Error> {
    if !prepared.model.saved {
        return simulate(prepared, every, None, &mut |_, _| true).map_err(|e| Error::from(&e));
    }
    let anew = |why: &str| remark(format!("`{}` {why}: that run was begun anew", path.display()));
    let begun = match begun(program, path) {
        Ok(begun) => begun,
        Err(why) => {
            anew(&why);
            None
        }
    };
    let header = header(program, file_of_program());
    let mut saver =
        Saver::new(path.to_owned(), header, Intervals { virtual_time: 0, wall: SAVED }, Arc::clone(signals));
    let mut keep = |at: &Progress, save: &mut dyn FnMut() -> Begun| {
        saver.pause(at, || save().bytes(), |error| remark(format!("error: {error}")))
    };
    let resumed = begun.is_some();
    let mut run = simulate(prepared, every, begun, &mut keep);
    if resumed && matches!(run, Err(model::Failure::Damaged)) {
        anew("holds no state of this experiment");
        run = simulate(prepared, every, None, &mut keep);
    }
    let interrupted = saver.interrupted("the same command goes on");
    interrupted.map_or_else(|| run.map_err(|e| Error::from(&e)), Err)
}

/// A run as far as it was saved.
#[derive(Debug, Default, PartialEq)]
struct Begun {
    cost: Cost,
    passed: Vec<(Ps, Cost)>,
    state: Vec<u8>,
}

impl Begun {
    /// Costs as JSON with their length before them, then the state.
    fn bytes(&self) -> Vec<u8> {
        let costs = serde_json::to_vec(&(self.cost, &self.passed)).expect("keys are strings");
        [&(costs.len() as u64).to_le_bytes()[..], &costs, &self.state].concat()
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (costs, state) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let (cost, passed) = serde_json::from_slice(costs).ok()?;
        Some(Self { cost, passed, state: state.to_vec() })
    }
}

/// Length and date of this program's file: revisions do not tell programs apart whose sources were changed since. Nothing if the system does not tell.
fn file_of_program() -> Option<String> {
    let file = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let date = file.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(format!("{} B of {} ns", file.len(), date.as_nanos()))
}

/// What a study's checkpoint says beside the state: its name is a hash of all that the run depends on, so only the program is asked for.
fn header(program: &Program, file: Option<String>) -> Header {
    let set = file.into_iter().collect();
    Header { build: program.build.to_owned(), set, threads: 1, ..Header::default() }
}

/// What this program left at `path`, if there is something, or why it is of no use.
fn begun(program: &Program, path: &Path) -> Result<Option<Begun>, String> {
    if !path.exists() {
        return Ok(None);
    }
    let (header, bytes) =
        checkpoint::load(path, program.build).map_err(|_| "is damaged or was written by another build")?;
    if file_of_program().is_none_or(|file| header.set != [file]) {
        return Err("was written by another build".to_owned());
    }
    Begun::of(&bytes).map(Some).ok_or_else(|| "is damaged".to_owned())
}

/// Letters, digits and hyphens.
pub fn file_name(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// Hash of all that a run depends on.
fn key(program: &Program, prepared: &Prepared, ties: u64, every: Ps) -> String {
    let mut experiment = prepared.experiment.clone();
    if experiment["model"]["kind"] == "packet"
        && let Some(sections) = experiment.as_object_mut()
    {
        sections.remove("hybrid");
    }
    let all = json!([program.version, experiment, ties, every]);
    blake3::hash(all.to_string().as_bytes()).to_hex()[..16].to_owned()
}

/// Runs an experiment, or what is left of it. In each pause `keep` may ask for what was `begun`, and stops the run by returning false.
fn simulate(
    prepared: &Prepared,
    every: Ps,
    begun: Option<Begun>,
    keep: &mut dyn FnMut(&Progress, &mut dyn FnMut() -> Begun) -> bool,
) -> Result<Run, model::Failure> {
    let (start, before) = (Instant::now(), thread_time());
    let (spent, mut passed, state) =
        begun.map_or_else(Default::default, |b| (b.cost, b.passed, Some(b.state)));
    let cost = || {
        let wall = start.elapsed().as_secs_f64();
        let cpu = thread_time().zip(before).map_or(wall, |(now, then)| now - then);
        Cost { wall: spent.wall + wall, cpu: spent.cpu + cpu }
    };
    let mut pause = |at: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
        if at.now.is_multiple_of(every) && passed.last().is_none_or(|p| p.0 < at.now) {
            passed.push((at.now, cost()));
        }
        keep(&at, &mut || Begun { cost: cost(), passed: passed.clone(), state: save() })
    };
    let finished = prepared.run.watch(Watch { every, resume: state.as_deref(), ..Watch::new(&mut pause) });
    let cost = cost();
    let Finished { summary, tables } = finished?;
    let windows = tables.iter().find(|t| t.name() == "series").map(windows).unwrap_or_default();
    let totals = Some(Totals::of(&summary, prepared));
    let phases = summary.hybrid.map_or_else(Vec::new, |h| h.phases);
    Ok(Run { windows, cost, phases, passed, totals, revision: String::new() })
}

/// The series by window.
fn windows(series: &Table) -> Windows {
    let mut all = Windows::new();
    let (Some(Column::U64(times)), Some(Column::Text(names)), Some(Column::F64(values))) =
        (series.column("time_ps"), series.column("quantity"), series.column("value"))
    else {
        return all;
    };
    for ((&time, name), &value) in times.iter().zip(names.iter()).zip(values) {
        let row = all.entry(time).or_default();
        match name {
            "packets_delivered" => row[0] = value,
            "latency_sum_ps" => row[1] = value / 1e6,
            "latency_squares_ps2" => row[2] = value / 1e12,
            "buffered_bytes" | "queued_bytes" => row[3] += value,
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use netloom::{Input, Registry, RunOptions, Silent, prepare::prepare_text};
    use std::cell::RefCell;

    fn silent(_: String) {}

    const TEXT: &str = "[experiment]\nname = \"a\"\nduration = \"3 us\"\n[fabric]\ntopology = \"single-switch\"\nterminals = 4\n\
        link.terminal = { bandwidth = \"2 GiB/s\", latency = \"10 ns\", credit_delay = \"1 ns\", vc_buffer = \"8 KiB\" }\n\
        [routing]\nalgorithm = \"minimal\"\n[[job]]\nworkload = \"uniform\"\nmessage = \"256 B\"\nload = 0.5\n\
        [model]\nkind = \"packet\"\n[hybrid]\ndirector = \"times\"\nswitch = [\"1 us\", \"2 us\"]\nwindow = \"1 us\"\n[output]\nwindow = \"1 us\"\n";

    const PROGRAM: Program = Program { build: "1 (2)", version: "1", revision: "2" };

    fn store(out: Option<&Path>) -> Store {
        Store::new(out, &Arc::default, PROGRAM)
    }

    fn prepared(set: &[&str]) -> Prepared {
        let set = set.iter().map(|s| (*s).to_owned()).collect();
        let input = Input { file: "a.toml".into(), set };
        prepare_text(&Registry::standard(), &input, TEXT.to_owned(), &RunOptions::default(), &Silent)
            .unwrap_or_else(|_| panic!("it may run"))
    }

    #[test]
    fn finished_runs_are_not_run_again() {
        let out = tempfile::tempdir().unwrap();
        let store = store(Some(out.path()));
        let files = || std::fs::read_dir(out.path().join("runs")).unwrap().count();
        let first = store
            .run("Row 1, a", &mut prepared(&[]), 0, 1_000_000, &silent)
            .unwrap_or_else(|_| panic!("it runs"));
        assert_eq!((first.windows.len() >= 3, first.passed.len() >= 2, files()), (true, true, 1));
        // What was stored comes back, seconds included; a mark in the file shows that it was read.
        let path = std::fs::read_dir(out.path().join("runs")).unwrap().next().unwrap().unwrap().path();
        assert!(path.file_name().unwrap().to_str().unwrap().starts_with("Row-1-a-"));
        let marked = Run { cost: Cost { wall: 77.0, cpu: 78.0 }, ..first.clone() };
        std::fs::write(&path, serde_json::to_vec(&marked).unwrap()).unwrap();
        let again = |set: &[&str], ties| {
            store
                .run("Row 1, a", &mut prepared(set), ties, 1_000_000, &silent)
                .unwrap_or_else(|_| panic!("it runs"))
        };
        let read = |run: &Run| run.cost.wall > 76.0;
        assert!(read(&again(&[], 0)));
        assert!(read(&again(&["hybrid.window=0.5 us"], 0)), "high fidelity does not look at [hybrid]");
        assert_eq!(files(), 1);
        // Other inputs are other runs.
        let others: [(&[&str], u64); 4] = [
            (&["experiment.seed=9"], 0),
            (&[], 1),
            (&["model.kind=hybrid"], 0),
            (&["model.kind=hybrid", "hybrid.window=0.5 us"], 0),
        ];
        for (n, (set, ties)) in others.into_iter().enumerate() {
            assert!(!read(&again(set, ties)), "{set:?}");
            assert_eq!(files(), n + 2);
        }
        // A damaged file is run anew and replaced.
        std::fs::write(&path, "{").unwrap();
        assert_eq!(again(&[], 0).windows, first.windows);
        assert_eq!(again(&[], 0).windows, first.windows);
        assert_eq!(files(), 5);
        assert!(!store.is_others(&first) && !store.is_others(&again(&[], 0)));
        let old = Run { revision: "0".to_owned(), ..first.clone() };
        std::fs::write(&path, serde_json::to_vec(&old).unwrap()).unwrap();
        assert!(store.is_others(&again(&[], 0)));
    }

    /// A run that was stopped in any pause ends as if it had not been; what it had cost is added.
    #[test]
    fn unfinished_runs_go_on() {
        let out = tempfile::tempdir().unwrap();
        let store = store(Some(out.path()));
        let set = ["model.kind=hybrid"];
        let remarks: RefCell<Vec<String>> = RefCell::default();
        let run = |store: &Store| {
            let remark = |text| remarks.borrow_mut().push(text);
            let run = store.run("a", &mut prepared(&set), 0, 1_000_000, &remark);
            run.unwrap_or_else(|_| panic!("it runs"))
        };
        let whole = run(&Store::new(None, &Arc::default, PROGRAM));
        let key = key(&PROGRAM, &prepared(&set), 0, 1_000_000);
        let [result, saved] = ["json", "checkpoint"].map(|e| out.path().join(format!("runs/a-{key}.{e}")));
        for stop in [1_000_000, 2_000_000] {
            let mut begun = None;
            let mut keep = |at: &Progress, save: &mut dyn FnMut() -> Begun| {
                let go_on = at.now < stop;
                if !go_on {
                    begun = Some(Begun { cost: Cost { wall: 100.0, cpu: 90.0 }, ..save() });
                }
                go_on
            };
            assert!(simulate(&prepared(&set), 1_000_000, None, &mut keep).is_err());
            let begun = begun.unwrap();
            assert_eq!(Begun::of(&begun.bytes()).as_ref(), Some(&begun));
            let header = header(&PROGRAM, file_of_program());
            checkpoint::store(&saved, &header, &begun.bytes()).unwrap_or_else(|_| panic!("it is stored"));
            let rest = run(&store);
            assert!(rest.windows == whole.windows && rest.cost.wall >= 100.0 && rest.cost.cpu >= 90.0);
            let times = |run: &Run| run.passed.iter().map(|p| p.0).collect::<Vec<_>>();
            assert_eq!(times(&rest), times(&whole));
            let ends = |run: &Run| run.phases.iter().map(|p| (p.end_ps, p.packets)).collect::<Vec<_>>();
            assert_eq!(ends(&rest), ends(&whole));
            assert!(result.exists() && !saved.exists());
            let cost = |run: &Run| run.phases.iter().map(|p| p.wall_s).sum::<f64>();
            assert!(cost(&rest) > 0.0 && remarks.borrow().is_empty());
            std::fs::remove_file(&result).unwrap();
            // Another build's or program's is begun anew, and so is what holds no state, or nothing whole.
            let other = Begun { state: vec![7; 40], ..Begun::default() };
            for (header, bytes) in [
                (Header { build: "another".to_owned(), ..header.clone() }, begun.bytes()),
                (Header { set: vec!["another".to_owned()], ..header.clone() }, begun.bytes()),
                (header.clone(), other.bytes()),
                (header.clone(), vec![1, 2, 3]),
            ] {
                checkpoint::store(&saved, &header, &bytes).unwrap_or_else(|_| panic!("it is stored"));
                let anew = run(&store);
                assert!(anew.windows == whole.windows && anew.cost.wall < 100.0);
                assert!(remarks.take()[0].ends_with("that run was begun anew"));
                std::fs::remove_file(&result).unwrap();
            }
        }
        // What a run left that had ended goes away.
        run(&store);
        std::fs::write(&saved, "left").unwrap();
        run(&store);
        assert!(!saved.exists());
        assert!(Begun::of(&[9, 0, 0, 0, 0, 0, 0, 0, 1]).is_none() && Begun::of(&[1]).is_none());
    }

    #[test]
    fn costs_between_windows_are_in_proportion() {
        let cost = |cpu| Cost { wall: 0.0, cpu };
        let passed = vec![(10, cost(1.0)), (20, cost(3.0))];
        let run = Run {
            windows: Windows::new(),
            cost: cost(9.0),
            phases: Vec::new(),
            passed,
            totals: None,
            revision: String::new(),
        };
        let tenths = [0, 5, 10, 15, 20, 25].map(|t| (run.at(t) * 10.0).round() as u64);
        assert_eq!(tenths, [0, 5, 10, 20, 30, 90]);
    }
}
