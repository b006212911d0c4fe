//! `netloom resume DIR`: go on with a run that left a checkpoint, to the results that it would have had.

use super::run::{conclude, print_summary, store};
use crate::{
    args::{Format, ResumeArgs},
    console::Console,
    exit::{Exit, Outcome},
    program::PROGRAM,
    signals,
    terminal::Terminal,
};
use netloom::{
    Error, ErrorKind, Registry, RunOptions,
    base::world::World,
    checkpoint::{self, Ended, Header},
    execute::execute_saved,
    output::{self, Begun, Target, inputs},
    prepare::prepare_text,
    saver::Saver,
    together::{agreed, all_ready},
};
use results::{claim::Claim, summary::Summary};
use std::{path::PathBuf, sync::Arc};

/// Goes on with a run.
///
/// # Errors
/// If there is no checkpoint that fits, or as `run`.
pub fn resume(args: &ResumeArgs, console: &mut Console<'_>, world: &World) -> Outcome {
    let given = checkpoint::directory_of(&args.dir);
    let dir = std::path::absolute(&given)
        .map_err(|e| Error::new(ErrorKind::Input, format!("cannot find `{}`: {e}", given.display())));
    let placed = world.is_alone().then(|| output::place(&given, &Terminal::new(console))).transpose()?;
    if let Some((summary, stored)) = placed.flatten() {
        return print_stored(summary, stored, args.format, console);
    }
    let load = |dir: PathBuf| {
        // Held to the end, by the process that writes.
        let target = Target { directory: &dir, force: true };
        let claim = world.is_first().then(|| target.claim(true, &Terminal::new(console))).transpose()?;
        let path = checkpoint::path_of(&dir)?;
        let (header, state) = checkpoint::load(&path, PROGRAM.build)?;
        Ok((checkpoint::ended(&dir, &header), (claim, dir, path), header, state))
    };
    let (ended, (claim, dir, path), header, state) = all_ready(world, dir.and_then(load))?;
    let heeded = signals::heed(true, claim.as_ref().map(Claim::traces).unwrap_or_default());
    if let Some((summary, stored)) = ended {
        console.remark("note: the run had ended before it was killed: this is what it stored");
        let _ = std::fs::remove_file(path);
        return print_stored(summary, stored, args.format, console);
    }
    if header.ended {
        let (ended, target) = (Ended::read(&state, &path)?, Target { directory: &dir, force: header.force });
        if world.is_first() {
            return store(&target, &header, ended, &heeded, args.format, console);
        }
        return print_summary(&ended.finished.summary, args.format, console);
    }
    let threads = args.threads.unwrap_or(header.threads);
    let options = RunOptions { ranks: world.ranks(), ..header.options(args.threads, args.memory_limit) };
    let input = header.input();
    let terminal = Terminal::new(console);
    let prepare = || {
        enter(&header)?;
        let text = header.file.1.clone();
        let prepared = prepare_text(&Registry::standard(), &input, text, &options, &terminal)?;
        checkpoint::same_inputs(&path, &header, &inputs(&prepared))?;
        Ok(prepared)
    };
    let prepared = agreed(world, PROGRAM.build, prepare())?;
    drop(terminal);
    let inputs = inputs(&prepared);
    let (force, started) = (header.force, header.started.clone());
    let header = Header { threads, ..header };
    let saver = Saver::new(path.clone(), header, prepared.intervals, Arc::clone(&heeded.signals));
    let mut saver = saver.over(&prepared.world);
    let finished = execute_saved(&prepared, &Terminal::new(console), Some(&mut saver), Some(&state));
    let damaged = model::Failure::Damaged.to_string();
    let finished = finished.map_err(|e| match e.to_string() == damaged {
        true => Error::new(ErrorKind::Input, format!("checkpoint `{}`: {damaged}", path.display())),
        false => e,
    })?;
    let target = Target { directory: &dir, force };
    conclude(&prepared, finished, Some((target, &heeded)), Begun { started, inputs }, args.format, console)
}

/// Prints a summary that was stored, as JSON as it is: numbers that are read and written again may end in another digit.
fn print_stored(summary: Summary, stored: String, format: Format, console: &mut Console<'_>) -> Outcome {
    if format == Format::Json {
        console.print(&stored)?;
        return Ok(Exit::from(summary.verdict.state));
    }
    print_summary(&summary, format, console)
}

/// Goes where the run began: names of files are meant from there.
fn enter(header: &Header) -> Result<(), Error> {
    let there = &header.directory;
    std::env::set_current_dir(there).map_err(|e| {
        let message = format!("the run began in `{}`, which cannot be entered: {e}", there.display());
        Error::new(ErrorKind::Input, message)
    })
}
