//! `netloom swarm`: random small experiments under every scheduler, in pieces and whole, with the checkers on.

use crate::{
    args::{Format, SwarmArgs},
    console::Console,
    exit::{Exit, Outcome},
    terminal::bar,
};
use netloom::{Registry, swarm::Swarm};
use serde_json::json;

/// Runs a swarm.
///
/// # Errors
/// If two runs of one experiment differ, or a checker finds a fault.
pub fn swarm(args: &SwarmArgs, console: &mut Console<'_>) -> Outcome {
    let numbers: Vec<u64> = args.only.map_or_else(|| (0..args.count).collect(), |n| vec![n]);
    let template = "{bar:30} {pos} of {len} experiments  {eta} left";
    let bar = bar(console.shows_progress(), numbers.len() as u64, template);
    let swarm = Swarm {
        registry: Registry::standard(),
        seed: args.seed,
        model: args.model.clone(),
        wrong_lookahead: args.plant.is_some(),
    };
    let (mut runs, mut hops) = (0, 0);
    // What a run that fails prints is printed once, with the command that repeats it.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (mut outcome, mut printed) = (Ok(()), Vec::new());
    for number in numbers {
        let (text, prepared) = swarm.drawn(number)?;
        match args.format {
            Format::Text if args.print => console.print(&text)?,
            Format::Json if args.print => printed.push(text),
            _ => {}
        }
        match swarm.compare(number, prepared) {
            Ok(tally) => (runs, hops) = (runs + tally.runs, hops + tally.hops),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
        bar.inc(1);
    }
    std::panic::set_hook(hook);
    bar.finish_and_clear();
    outcome?;
    let count = args.only.map_or(args.count, |_| 1);
    let mut object = json!({"experiments": count, "runs": runs, "chunk_hops": hops, "equal": true});
    if args.print {
        object["printed"] = printed.into();
    }
    let text = format!("{count} experiments, {runs} runs, {hops} chunk-hops: all equal\n");
    console.answer(args.format, &text, &object)?;
    Ok(Exit::Done)
}
