//! `netloom resume DIR`: go on with a run that left a checkpoint, to the results that it would have had.

use super::run::{conclude, print_summary};
use crate::{
    args::{Format, ResumeArgs},
    console::Console,
    exit::{Exit, Outcome},
    program::PROGRAM,
    signals,
    terminal::Terminal,
};
use netloom::{
    Error, ErrorKind, Input, Registry, RunOptions,
    checkpoint::{self, Header},
    execute::execute_saved,
    output::{Begun, Target, inputs},
    prepare::prepare_text,
    saver::Saver,
};
use results::summary::Summary;
use std::{path::Path, sync::Arc};

/// Goes on with a run.
///
/// # Errors
/// If there is no checkpoint that fits, or as `run`.
pub fn resume(args: &ResumeArgs, console: &mut Console<'_>) -> Outcome {
    let dir = std::path::absolute(&args.dir)
        .map_err(|e| Error::new(ErrorKind::Input, format!("cannot find `{}`: {e}", args.dir.display())))?;
    let path = checkpoint::path_of(&dir)?;
    let (header, state) = checkpoint::load(&path, PROGRAM.build)?;
    if let Some((summary, stored)) = ended(&dir, &header) {
        console.remark("note: the run had ended before it was killed: this is what it stored");
        let _ = std::fs::remove_file(path);
        if args.format == Format::Json {
            // As it was stored: numbers that are read and written again may end in another digit.
            console.print(&stored)?;
            return Ok(Exit::from(summary.verdict.state));
        }
        return print_summary(&summary, args.format, console);
    }
    enter(&header)?;
    let threads = args.threads.unwrap_or(header.threads);
    let options = RunOptions {
        threads,
        partitions: Some(header.partitions),
        memory: args.memory_limit,
        checkers: header.checkers,
        machine: false,
    };
    let input = Input { file: header.file.0.clone(), set: header.set.clone() };
    let prepared = prepare_text(
        &Registry::standard(),
        &input,
        header.file.1.clone(),
        &options,
        &Terminal::new(console),
    )?;
    let inputs = inputs(&prepared);
    same_inputs(&path, &header, &inputs)?;
    let (force, started) = (header.force, header.started.clone());
    let heeded = signals::heed();
    let header = Header { threads, ..header };
    let mut saver = Saver::new(path, header, prepared.intervals, Arc::clone(&heeded.signals));
    let finished = execute_saved(&prepared, &Terminal::new(console), Some(&mut saver), Some(&state))?;
    let target = Target { directory: &dir, force };
    conclude(&prepared, &finished, (Some(target), Begun { started, inputs }), args.format, console)
}

/// The results of a run that was killed between storing them and taking its checkpoint away.
fn ended(dir: &Path, header: &Header) -> Option<(Summary, String)> {
    let read = |name: &str| std::fs::read_to_string(dir.join(name)).ok();
    let manifest: serde_json::Value = serde_json::from_str(&read("manifest.json")?).ok()?;
    if manifest["started"].as_str() != Some(&header.started) {
        return None;
    }
    let stored = read("summary.json")?;
    Some((serde_json::from_str(&stored).ok()?, stored))
}

/// Goes where the run began: names of files are meant from there.
fn enter(header: &Header) -> Result<(), Error> {
    let there = &header.directory;
    std::env::set_current_dir(there).map_err(|e| {
        let message = format!("the run began in `{}`, which cannot be entered: {e}", there.display());
        Error::new(ErrorKind::Input, message)
    })
}

/// Refuses files that are not what they were.
fn same_inputs(path: &Path, header: &Header, now: &[results::output::Input]) -> Result<(), Error> {
    let changed = header.inputs.iter().find(|then| !now.contains(then));
    let Some(changed) = changed else { return Ok(()) };
    let message = format!("`{}` has changed since checkpoint `{}` was written", changed.path, path.display());
    Err(Error::new(ErrorKind::Input, message)
        .with_help("put the old file back, or start anew with `netloom run --force`"))
}
