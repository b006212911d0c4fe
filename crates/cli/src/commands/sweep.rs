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
    base::world::World,
    sweep::{plan::plan, run},
    together::{all_ready, read_by_all},
};
use std::{sync::Arc, thread};

/// Runs what is not kept yet.
///
/// # Errors
/// If the sweep has mistakes, its directory cannot be used, or a signal ended it. A point that fails is listed.
pub fn sweep(args: &SweepArgs, console: &mut Console<'_>, world: &World) -> Outcome {
    let input = args.input.input();
    read_by_all(world, &input)?;
    let plan = all_ready(world, plan(&Registry::standard(), &input))?;
    let heeded = signals::heed(false, Default::default());
    let processors = || thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    let asked = run::Asked {
        out: &args.out,
        // Ranks of one machine share its processors.
        threads: args.threads.unwrap_or_else(|| if world.is_alone() { processors() } else { 1 }),
        shard: args.shard,
        again: &args.again,
        options: RunOptions { memory: args.memory_limit, checkers: args.check, ..RunOptions::default() },
        program: PROGRAM,
        signals: Arc::clone(&heeded.signals),
    };
    let Some(outcome) = run::run_over(world, &plan, &asked, &Terminal::new(console))? else {
        return Ok(Exit::Done);
    };
    match args.format {
        Format::Text => console.print(&outcome.text(&plan.names()))?,
        Format::Json => console.print_json(&outcome.object(&plan.names()))?,
    }
    Ok(if outcome.failed() { Exit::Experiment } else { Exit::Done })
}
