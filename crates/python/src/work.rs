//! What the worker does: the journeys of `netloom run`, `netloom resume` and `netloom sweep`, in one process.

use crate::{attend::Board, program::PROGRAM};
use humantime::format_rfc3339;
use netloom::{
    Error, ErrorKind, Input, MemoryLimit, Prepared, Registry, RunOptions, Watcher,
    base::visible,
    checkpoint::{self, Ended, Header},
    ending,
    execute::execute_saved,
    input::read_file,
    model::Finished,
    output::{self, Begun, Target, inputs},
    prepare::prepare_text,
    saver::{Intervals, Saver},
    sweep::{plan::plan_of, run as series},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    thread,
    time::SystemTime,
};

/// How diagnostics call an experiment that is no file.
const NAME: &str = "experiment";

/// An experiment that is a file, or a text at hand.
pub enum Source {
    /// Its file; names of files in it are meant from there.
    File(PathBuf),
    /// Its text; names of files in it are meant from the current directory.
    Text(String),
}

/// What is asked of a run or a sweep.
pub struct Asked {
    /// Where the experiment comes from.
    pub source: Source,
    /// What overrides it, each as `job.0.load=0.5`.
    pub set: Vec<String>,
    /// Directory of the results.
    pub out: Option<PathBuf>,
    /// It may be replaced.
    pub force: bool,
    /// Threads of a run, or points of a sweep at a time.
    pub threads: Option<u32>,
    /// Run the checkers.
    pub checkers: bool,
    /// Memory that may be used; left out: what the machine has.
    pub memory: Option<MemoryLimit>,
}

impl Asked {
    /// The experiment's place and its text.
    fn read(&self) -> Result<(Input, String), Error> {
        let (file, text) = match &self.source {
            Source::File(file) => (file.clone(), read_file(file)?),
            Source::Text(text) => (PathBuf::from(NAME), text.clone()),
        };
        Ok((Input { file, set: self.set.clone() }, text))
    }

    fn options(&self) -> RunOptions {
        RunOptions {
            threads: self.threads.unwrap_or(1),
            memory: self.memory,
            checkers: self.checkers,
            page: self.out.is_some(),
            ..RunOptions::default()
        }
    }
}

/// What a run left: with a directory also what is reported beside it there.
pub enum Left {
    /// Without a directory.
    Finished(Box<Finished>),
    /// As it was stored.
    Stored(Arc<Ended>),
}

impl Left {
    /// The summary and the tables.
    pub fn finished(&self) -> &Finished {
        match self {
            Self::Finished(finished) => finished,
            Self::Stored(ended) => &ended.finished,
        }
    }
}

/// Runs an experiment, into a directory if one is asked for.
pub fn run(asked: &Asked, board: &Board) -> Result<Left, Error> {
    let target = asked.out.as_deref().map(|directory| Target { directory, force: asked.force });
    let claim = target.map(|target| target.claim(false, board)).transpose()?;
    let (input, text) = asked.read()?;
    let mut prepared = prepare_text(&Registry::standard(), &input, text, &asked.options(), board)?;
    if matches!(asked.source, Source::Text(_)) {
        // As standard input: it cannot be had again by a name, so no command repeats the run.
        prepared.input.file = PathBuf::from("-");
        "-".clone_into(&mut prepared.file.0);
    }
    prepared.notes().iter().for_each(|note| board.remark(note));
    let begun = Begun {
        started: format_rfc3339(SystemTime::now()).to_string(),
        inputs: if target.is_some() { inputs(&prepared) } else { Vec::new() },
    };
    let kept = target.filter(|_| prepared.model.saved);
    let saver =
        |target: Target<'_>| output::saver(&target, &PROGRAM, &prepared, &begun, Arc::clone(&board.signals));
    let mut saver = kept.map(saver).transpose()?;
    if target.is_none() && prepared.intervals != Intervals::default() {
        board.remark("note: checkpoints that [engine] asks for are written only with `out`");
    }
    board.saves.store(saver.is_some(), Ordering::Relaxed);
    let finished = execute_saved(&prepared, board, saver.as_mut(), None)?;
    let left = match target {
        Some(target) => Left::Stored(store(target, &prepared, begun, finished, board)?),
        None => Left::Finished(Box::new(finished)),
    };
    drop(claim);
    Ok(left)
}

fn store(
    target: Target<'_>,
    prepared: &Prepared,
    begun: Begun,
    finished: Finished,
    board: &Board,
) -> Result<Arc<Ended>, Error> {
    let end = format_rfc3339(SystemTime::now()).to_string();
    let header = output::header(&target, &PROGRAM, prepared, &begun);
    let manifest = output::manifest(&PROGRAM, prepared, &finished, begun, end);
    let ended = Arc::new(Ended { manifest, finished });
    match header {
        Ok(header) => written(target, &header, &ended, board)?,
        // Without a present directory nothing could go on from a checkpoint; results have their place.
        Err(_) => target.store(&ended.manifest, &ended.finished)?,
    }
    Ok(ended)
}

/// Writes results; asked to leave meanwhile, it keeps them in place of a checkpoint.
fn written(target: Target<'_>, header: &Header, ended: &Arc<Ended>, board: &Board) -> Result<(), Error> {
    board.saves.store(true, Ordering::Relaxed);
    board.phase(&format!("writing {}", visible::path(target.directory)));
    ending::store(&target, header, ended, &board.signals, board)
}

/// Goes on with a run that left a checkpoint, to the results that it would have had in its directory; puts results in place that could not be
/// written there.
pub fn resume(
    out: &Path,
    threads: Option<u32>,
    memory: Option<MemoryLimit>,
    board: &Board,
) -> Result<(), Error> {
    let out = &checkpoint::directory_of(out);
    let directory = std::path::absolute(out)
        .map_err(|e| Error::new(ErrorKind::Input, format!("cannot find `{}`: {e}", out.display())))?;
    if output::place(&directory, board)?.is_some() {
        return Ok(());
    }
    let claim = Target { directory: &directory, force: true }.claim(true, board)?;
    let path = checkpoint::path_of(&directory)?;
    let (header, state) = checkpoint::load(&path, PROGRAM.build)?;
    if checkpoint::ended(&directory, &header).is_some() {
        // Its results are there, and the checkpoint is of no more use.
        let _ = std::fs::remove_file(path);
        return Ok(());
    }
    if header.ended {
        let (target, ended) =
            (Target { directory: &directory, force: header.force }, Ended::read(&state, &path)?);
        return written(target, &header, &Arc::new(ended), board);
    }
    let threads = threads.unwrap_or(header.threads);
    let (options, input) = (header.options(Some(threads), memory), header.input());
    // The caller waits from here on: the process must be back where it was when the call returns.
    board.saves.store(true, Ordering::Relaxed);
    let away = Away::to(&header.directory)?;
    let prepared = prepare_text(&Registry::standard(), &input, header.file.1.clone(), &options, board)?;
    let inputs = inputs(&prepared);
    checkpoint::same_inputs(&path, &header, &inputs)?;
    let target = Target { directory: &directory, force: header.force };
    let begun = Begun { started: header.started.clone(), inputs };
    let header = Header { threads, ..header };
    let mut saver = Saver::new(path, header, prepared.intervals, Arc::clone(&board.signals));
    let finished = execute_saved(&prepared, board, Some(&mut saver), Some(&state))?;
    store(target, &prepared, begun, finished, board)?;
    drop((away, claim));
    Ok(())
}

/// The process is in another directory while this lives: names of files are meant from there.
struct Away(Option<PathBuf>);

impl Away {
    fn to(there: &Path) -> Result<Self, Error> {
        let here = std::env::current_dir().ok();
        if here.as_deref() == Some(there) {
            return Ok(Self(None));
        }
        std::env::set_current_dir(there).map_err(|e| {
            let message = format!("the run began in `{}`, which cannot be entered: {e}", there.display());
            Error::new(ErrorKind::Input, message)
        })?;
        Ok(Self(here))
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        if let Some(here) = self.0.take() {
            // If it is gone there is no way back.
            let _ = std::env::set_current_dir(here);
        }
    }
}

/// Runs the points of an experiment's `[sweep]` that its directory lacks; gives those that failed.
pub fn sweep(asked: &Asked, again: &[String], board: &Board) -> Result<Vec<(String, String, String)>, Error> {
    let (input, text) = asked.read()?;
    let plan = plan_of(&Registry::standard(), &input, text)?;
    let processors = || thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    let series = series::Asked {
        out: asked.out.as_deref().unwrap_or(Path::new("")),
        threads: asked.threads.unwrap_or_else(processors),
        shard: None,
        again,
        options: RunOptions { threads: 1, page: false, ..asked.options() },
        program: PROGRAM,
        signals: Arc::clone(&board.signals),
    };
    let outcome = series::run(&plan, &series, board)?;
    let names = plan.names();
    let failed = outcome.rows.iter().filter_map(|row| {
        let why = row.record.error.clone()?;
        Some((row.record.id.clone(), row.point.named(&names), why))
    });
    Ok(failed.collect())
}
