//! `netloom sweep FILE --out DIR`: every point of an experiment's `[sweep]`.

use crate::{
    args::{Format, series::SweepArgs},
    console::Console,
    exit::{Exit, Outcome},
    program::PROGRAM,
    signals,
    terminal::Terminal,
};
use netloom::{
    Registry, RunOptions,
    sweep::{plan::plan, run},
};
use std::{sync::Arc, thread};

/// Runs what is not kept yet.
///
/// # Errors
/// If the sweep has mistakes, its directory cannot be used, or a signal ended it. A point that fails is listed.
pub fn sweep(args: &SweepArgs, console: &mut Console<'_>) -> Outcome {
    let plan = plan(&Registry::standard(), &args.input.input())?;
    let heeded = signals::heed();
    let processors = || thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    let asked = run::Asked {
        out: &args.out,
        threads: args.threads.unwrap_or_else(processors),
        shard: args.shard,
        again: &args.again,
        options: RunOptions { memory: args.memory_limit, checkers: args.check, ..RunOptions::default() },
        program: PROGRAM,
        signals: Arc::clone(&heeded.signals),
    };
    let outcome = run::run(&plan, &asked, &Terminal::new(console))?;
    match args.format {
        Format::Text => console.print(&outcome.text(&plan.names()))?,
        Format::Json => console.print_json(&outcome.object(&plan.names()))?,
    }
    Ok(if outcome.failed() { Exit::Experiment } else { Exit::Done })
}
