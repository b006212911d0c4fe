//! `netloom run FILE`: simulate, print the summary, write the output directory.

use crate::{
    args::{Format, RunArgs},
    console::Console,
    exit::{Exit, Outcome},
    program::PROGRAM,
    signals,
    terminal::Terminal,
};
use humantime::format_rfc3339;
use model::{Finished, setup::Measure};
use netloom::{
    Prepared, Registry, RunOptions,
    base::world::World,
    checkpoint::{Ended, Header},
    ending, estimate,
    execute::execute_saved,
    idle_processors,
    output::{self, Begun, Target, inputs},
    prepare,
    saver::Intervals,
    together::{agreed, all_ready, read_by_all},
    watcher::Watcher,
};
use results::{
    summary::Summary,
    text::{Style, render},
};
use std::{sync::Arc, time::SystemTime};

/// Runs an experiment.
///
/// # Errors
/// If it cannot be read, run or stored. A deadlock or an ended limit is a result with its own exit status.
pub fn run(args: &RunArgs, console: &mut Console<'_>, world: &World) -> Outcome {
    let target = args.out.as_deref().map(|directory| Target { directory, force: args.force });
    let options = RunOptions {
        threads: args.threads,
        idle: if args.threads > 1 { idle_processors() } else { None },
        ranks: world.ranks(),
        memory: args.memory_limit,
        checkers: args.check,
        page: target.is_some(),
        messages: args.estimate_error.is_some(),
        ..RunOptions::default()
    };
    let writes = target.as_ref().filter(|_| world.is_first());
    let input = args.input.input();
    read_by_all(world, &input)?;
    let claim = all_ready(world, writes.map(|t| t.claim(false, &Terminal::new(console))).transpose())?;
    let heeded = target.map(|_| signals::heed(true, claim.as_ref().map(|c| c.traces()).unwrap_or_default()));
    let prepared = prepare(&Registry::standard(), &input, &options, &Terminal::new(console));
    let prepared = agreed(world, PROGRAM.build, prepared)?;
    estimate::refuse(args.estimate_error, &prepared)?;
    prepared.notes().iter().for_each(|note| console.remark(note));
    let started = format_rfc3339(SystemTime::now()).to_string();
    let begun = Begun { started, inputs: if target.is_some() { inputs(&prepared) } else { Vec::new() } };
    let kept = target.filter(|_| prepared.model.saved);
    let saver = |(target, heeded): (Target<'_>, &signals::Heeded)| {
        output::saver(&target, &PROGRAM, &prepared, &begun, Arc::clone(&heeded.signals))
    };
    let mut saver = kept.zip(heeded.as_ref()).map(saver).transpose()?;
    if target.is_none() && prepared.intervals != Intervals::default() {
        console.remark("note: checkpoints that [engine] asks for are written only with --out");
    }
    let finished = execute_saved(&prepared, &Terminal::new(console), saver.as_mut(), None)?;
    let registry = Registry::standard();
    let finished =
        estimate::add(args.estimate_error, &registry, &prepared, finished, &Terminal::new(console))?;
    let target = target.zip(heeded.as_ref());
    let outcome = conclude(&prepared, finished, target, begun, args.format, console);
    drop(claim);
    outcome
}

/// Stores what a run left and prints its summary.
///
/// # Errors
/// If it cannot be stored or printed.
pub fn conclude(
    prepared: &Prepared,
    finished: Finished,
    target: Option<(Target<'_>, &signals::Heeded)>,
    begun: Begun,
    format: Format,
    console: &mut Console<'_>,
) -> Outcome {
    if let Some((target, heeded)) = target.filter(|_| prepared.world.is_first()) {
        let end = format_rfc3339(SystemTime::now()).to_string();
        let header = output::header(&target, &PROGRAM, prepared, &begun);
        let manifest = output::manifest(&PROGRAM, prepared, &finished, begun, end);
        let Ok(header) = header else {
            // Without a present directory nothing could go on from a checkpoint; results have their place.
            let stored = target.store(&manifest, &finished);
            return stored.and(print_summary(&finished.summary, format, console));
        };
        return store(&target, &header, Ended { manifest, finished }, heeded, format, console);
    } else if estimate::measure(prepared) != Measure::default()
        || finished.summary.experiment["output"]["csv"] == true
    {
        console.remark("note: the tables that [output] asks for are written only with --out");
    }
    print_summary(&finished.summary, format, console)
}

/// Stores what a run left, heeding signals, and prints its summary: what was simulated is shown, whatever became of the files.
///
/// # Errors
/// If it cannot be stored or printed.
pub fn store(
    target: &Target<'_>,
    header: &Header,
    ended: Ended,
    heeded: &signals::Heeded,
    format: Format,
    console: &mut Console<'_>,
) -> Outcome {
    let ended = Arc::new(ended);
    let terminal = Terminal::new(console);
    terminal.phase(&format!("writing {}", base::visible::path(target.directory)));
    let stored = ending::store(target, header, &ended, &heeded.signals, &terminal);
    drop(terminal);
    stored.and(print_summary(&ended.finished.summary, format, console))
}

/// Prints a summary; its verdict is the exit status.
///
/// # Errors
/// If it cannot be printed.
pub fn print_summary(summary: &Summary, format: Format, console: &mut Console<'_>) -> Outcome {
    let style = if console.has_colour(console.out_terminal) { Style::Ansi } else { Style::Plain };
    match format {
        Format::Text => console.print(&render(summary, style))?,
        Format::Json => console.print(&summary.to_json())?,
    }
    Ok(Exit::from(summary.verdict.state))
}
