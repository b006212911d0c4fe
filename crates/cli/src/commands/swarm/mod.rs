//! `netloom swarm`: random small experiments under every scheduler, in pieces and whole, with the checkers on. All must give the same
//! bytes; the first that does not is told with the command that repeats it.

mod draw;

use crate::{
    args::{Input, MemoryLimit, SwarmArgs},
    console::Console,
    exit::Exit,
    failure::{Failure, Outcome},
    prepare::{Prepared, Wishes, prepare_text},
};
use base::time::{Ps, US};
use draw::Dice;
use engine::executor::Threads;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::{Finished, Progress, run::Watch, setup::Scheduling};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drafts of an experiment before its number is given up.
const DRAFTS: u64 = 4000;

/// Runs a swarm.
///
/// # Errors
/// If two runs of one experiment differ, or a checker finds a fault.
pub fn swarm(args: &SwarmArgs, console: &mut Console<'_>) -> Outcome {
    let numbers: Vec<u64> = args.only.map_or_else(|| (0..args.count).collect(), |n| vec![n]);
    let target = if console.err_terminal {
        ProgressDrawTarget::stderr_with_hz(5)
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} experiments  {eta} left");
    let bar = ProgressBar::with_draw_target(Some(numbers.len() as u64), target)
        .with_style(style.expect("the template is valid"));
    let (mut runs, mut hops) = (0, 0);
    // What a run that fails prints is told once, with the command that repeats it.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut outcome = Ok(());
    for number in numbers {
        let (text, prepared) = drawn(args, number)?;
        if args.print {
            console.print(&text)?;
        }
        outcome = compare(args, number, prepared, &mut runs, &mut hops);
        if outcome.is_err() {
            break;
        }
        bar.inc(1);
    }
    std::panic::set_hook(hook);
    bar.finish_and_clear();
    outcome?;
    let count = args.only.map_or(args.count, |_| 1);
    console.print(&format!("{count} experiments, {runs} runs, {hops} chunk-hops: all equal\n"))?;
    Ok(Exit::Done)
}

/// The experiment with this number: the first draft that may run.
fn drawn(args: &SwarmArgs, number: u64) -> Result<(String, Prepared), Failure> {
    let seed = args.seed;
    let kind = args.model.as_ref().map(|kind| format!("kind = \"{kind}\""));
    let input = Input { file: format!("swarm-{seed}-{number}.toml").into(), set: Vec::new() };
    let wishes = Wishes { checkers: true, memory: Some(MemoryLimit::Bytes(1 << 30)), ..Wishes::default() };
    for draft in 0..DRAFTS {
        let text = draw::experiment(&mut Dice::new(seed, number, draft));
        if kind.as_ref().is_some_and(|kind| !text.contains(kind)) {
            continue;
        }
        if let Ok(prepared) = prepare_text(&input, text.clone(), &wishes, false) {
            return Ok((text, prepared));
        }
    }
    Err(Failure::new(
        Exit::Internal,
        format!("experiment {number} of seed {seed}: {DRAFTS} drafts were refused"),
    ))
}

/// How an experiment is run.
#[derive(Clone, Copy, Debug)]
struct Way {
    scheduling: Scheduling,
    /// Stopped, saved and taken up again at multiples of this time; 0 for not at all.
    pieces: Ps,
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let threads = self.scheduling.threads().count;
        write!(
            f,
            "{}, {} partitions, {threads} threads",
            self.scheduling.name(),
            self.scheduling.partitions()
        )?;
        if self.pieces > 0 { write!(f, ", saved every {} ps", self.pieces) } else { Ok(()) }
    }
}

fn ways(dice: &mut Dice, stretch: Ps) -> Vec<Way> {
    let conservative = |partitions, count| Scheduling::Conservative {
        partitions: Some(partitions),
        threads: Threads { count, stretch, ..Threads::ONE },
    };
    let mut many = || 2 + dice.below(63) as u32;
    let (a, b, c, d) = (many(), many(), many(), many());
    let pieces = US * (1 + dice.below(9));
    vec![
        Way { scheduling: Scheduling::Sequential { partitions: a }, pieces: 0 },
        Way { scheduling: conservative(2, 2), pieces: 0 },
        Way { scheduling: conservative(b, 3), pieces: 0 },
        Way { scheduling: conservative(c, 4), pieces: 0 },
        Way { scheduling: Scheduling::Sequential { partitions: 1 }, pieces },
        Way { scheduling: conservative(d, 2), pieces },
    ]
}

/// Runs one experiment in all ways.
fn compare(
    args: &SwarmArgs,
    number: u64,
    mut prepared: Prepared,
    runs: &mut u64,
    hops: &mut u64,
) -> Result<(), Failure> {
    let repeat = |what: String| {
        let model = args.model.as_ref().map_or_else(String::new, |kind| format!(" --model {kind}"));
        let help = format!(
            "netloom swarm --seed {}{model} --only {number} repeats it, --print shows the experiment",
            args.seed
        );
        Failure::new(Exit::Violated, format!("experiment {number} of seed {}: {what}", args.seed))
            .with_help(help)
    };
    let mut dice = Dice::new(args.seed, number, DRAFTS);
    let whole = Way { scheduling: Scheduling::Sequential { partitions: 1 }, pieces: 0 };
    let one = result(&mut prepared, whole).map_err(|e| repeat(format!("{whole}: {e}")))?;
    *runs += 1;
    *hops += one.summary.performance.as_ref().and_then(|p| p.chunk_hops).unwrap_or(0);
    let (summary, tables) = (one.summary.without_performance().to_json(), one.tables);
    for way in ways(&mut dice, args.plant.map_or(0, |_| US)) {
        let other = result(&mut prepared, way).map_err(|e| repeat(format!("{way}: {e}")))?;
        *runs += 1;
        if other.summary.without_performance().to_json() != summary {
            return Err(repeat(format!("{way}: another summary than in one partition")));
        }
        if let Some((table, _)) = tables.iter().zip(&other.tables).find(|(a, b)| a != b) {
            return Err(repeat(format!("{way}: another table `{}` than in one partition", table.name())));
        }
    }
    Ok(())
}

/// Runs an experiment in one way; a panic is a failure.
fn result(prepared: &mut Prepared, way: Way) -> Result<Finished, String> {
    let run = AssertUnwindSafe(|| pieces(prepared, way));
    match catch_unwind(run) {
        Ok(done) => done.map_err(|e| e.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panicked: {}", text.unwrap_or("in a thread")))
        }
    }
}

fn pieces(prepared: &mut Prepared, way: Way) -> Result<Finished, model::Failure> {
    let mut state: Option<Vec<u8>> = None;
    let mut scheduling = way.scheduling;
    loop {
        prepared.setup.schedule(scheduling);
        let mut saved = None;
        let mut pause = |_: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
            saved = (way.pieces > 0).then(&mut *save);
            way.pieces == 0
        };
        let done =
            prepared.setup.watch(Watch { pause: &mut pause, every: way.pieces, resume: state.as_deref() });
        if !matches!(done, Err(model::Failure::Stopped(_))) {
            return done;
        }
        state = saved;
        if let Scheduling::Conservative { threads, .. } = &mut scheduling {
            threads.count = 1 + threads.count % 4;
        }
    }
}
