//! A swarm: random small experiments under every scheduler, in pieces and whole, with the checkers on. All must give the same
//! bytes; the first that does not is reported with the command that repeats it.

mod draw;

use crate::{
    error::{Error, ErrorKind},
    input::Input,
    options::{MemoryLimit, RunOptions},
    prepare::{Prepared, prepare_text},
    registry::Registry,
    watcher::Silent,
};
use base::{
    threads::{Optimism, Threads},
    time::{Ps, US},
    world::World,
};
use draw::Dice;
use model::{Finished, Progress, Run, run::Watch, setup::Scheduling};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drafts of an experiment before its number is given up.
const ATTEMPTS: u64 = 4000;

/// A swarm: experiments numbered from 0.
#[derive(Clone, Default)]
pub struct Swarm {
    /// What experiments are drawn from.
    pub registry: Registry,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Draw only experiments of this model.
    pub model: Option<String>,
    /// A fault to find: threads run a microsecond further than their lookahead allows.
    pub wrong_lookahead: bool,
}

/// What was run of an experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Runs of the experiment, one per schedule.
    pub runs: u64,
    /// Chunk-hops of one of them.
    pub hops: u64,
}

impl Swarm {
    /// The experiment with this number: the first draft that may run; its text too.
    ///
    /// # Errors
    /// If all drafts are refused.
    pub fn drawn(&self, number: u64) -> Result<(String, Prepared), Error> {
        let seed = self.seed;
        let kind = self.model.as_ref().map(|kind| format!("kind = \"{kind}\""));
        let input = Input { file: format!("swarm-{seed}-{number}.toml").into(), set: Vec::new() };
        let options =
            RunOptions { checkers: true, memory: Some(MemoryLimit::Bytes(1 << 30)), ..RunOptions::default() };
        for attempt in 0..ATTEMPTS {
            let text = draw::experiment(&self.registry, &mut Dice::new(seed, number, attempt));
            if kind.as_ref().is_some_and(|kind| !text.contains(kind)) {
                continue;
            }
            if let Ok(prepared) = prepare_text(&self.registry, &input, text.clone(), &options, &Silent) {
                return Ok((text, prepared));
            }
        }
        Err(Error::new(
            ErrorKind::Internal,
            format!("experiment {number} of seed {seed}: {ATTEMPTS} drafts were refused"),
        ))
    }

    /// Runs one experiment under all schedules. A panic of one is caught; what it prints is up to the hook for panics.
    ///
    /// # Errors
    /// If two runs differ, or a checker finds a fault.
    pub fn compare(&self, number: u64, mut prepared: Prepared) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let repeat = |what: String| {
            let model = self.model.as_ref().map_or_else(String::new, |kind| format!(" --model {kind}"));
            let help = format!(
                "netloom swarm --seed {}{model} --only {number} repeats it, --print shows the experiment",
                self.seed
            );
            Error::new(ErrorKind::Violated, format!("experiment {number} of seed {}: {what}", self.seed))
                .with_help(help)
        };
        let mut dice = Dice::new(self.seed, number, ATTEMPTS);
        let whole = Schedule::new(Scheduling::Sequential { partitions: 1 });
        let one = result(&mut prepared, whole).map_err(|e| repeat(format!("{whole}: {e}")))?;
        tally.runs += 1;
        tally.hops += one.summary.performance.as_ref().and_then(|p| p.chunk_hops).unwrap_or(0);
        let (summary, tables) = (one.summary.without_performance().to_json(), one.tables);
        for schedule in schedules(&mut dice, if self.wrong_lookahead { US } else { 0 }) {
            let other = result(&mut prepared, schedule).map_err(|e| repeat(format!("{schedule}: {e}")))?;
            tally.runs += 1;
            if other.summary.without_performance().to_json() != summary {
                return Err(repeat(format!("{schedule}: another summary than in one partition")));
            }
            if let Some((table, _)) = tables.iter().zip(&other.tables).find(|(a, b)| a != b) {
                return Err(repeat(format!(
                    "{schedule}: another table `{}` than in one partition",
                    table.name()
                )));
            }
        }
        Ok(tally)
    }
}

/// How an experiment is run.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    scheduling: Scheduling,
    /// Stopped, saved and taken up again at multiples of this time; 0 for not at all.
    pieces: Ps,
    /// Ranks, which are threads of this process.
    ranks: u32,
}

impl Schedule {
    fn new(scheduling: Scheduling) -> Self {
        Self { scheduling, pieces: 0, ranks: 1 }
    }
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let threads = self.scheduling.threads().count;
        write!(
            f,
            "{}, {} partitions, {threads} threads, {} ranks",
            self.scheduling.name(),
            self.scheduling.partitions(),
            self.ranks
        )?;
        if self.pieces > 0 { write!(f, ", saved every {} ps", self.pieces) } else { Ok(()) }
    }
}

fn schedules(dice: &mut Dice, stretch: Ps) -> Vec<Schedule> {
    let conservative = |partitions, count| Scheduling::Conservative {
        partitions: Some(partitions),
        threads: Threads { count, stretch, ..Threads::ONE },
    };
    let optimistic = |partitions, count, stumble| Scheduling::Optimistic {
        partitions: Some(partitions),
        threads: Threads { count, ..Threads::ONE },
        optimism: Optimism { stumble, ..Optimism::default() },
    };
    let mut many = || 2 + dice.below(63) as u32;
    let (a, b, c, d) = (many(), many(), many(), many());
    let pieces = US * (1 + dice.below(9));
    let sequential = |partitions| Scheduling::Sequential { partitions };
    let all = [
        (sequential(a), 0, 1),
        (conservative(2, 2), 0, 1),
        (conservative(b, 3), 0, 1),
        (conservative(c, 4), 0, 2),
        (sequential(1), pieces, 1),
        (conservative(d, 2), pieces, 3),
        (optimistic(c, 2, 0), 0, 2),
        (optimistic(a, 3, 1 + u64::from(b)), pieces, 1),
    ];
    all.map(|(scheduling, pieces, ranks)| Schedule { scheduling, pieces, ranks }).into()
}

/// Runs an experiment under one schedule; a panic is a failure.
fn result(prepared: &mut Prepared, schedule: Schedule) -> Result<Finished, String> {
    let run = AssertUnwindSafe(|| pieces(prepared, schedule));
    match catch_unwind(run) {
        Ok(done) => done.map_err(|e| e.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("panicked: {}", text.unwrap_or("in a thread")))
        }
    }
}

fn pieces(prepared: &mut Prepared, schedule: Schedule) -> Result<Finished, model::Failure> {
    let mut state: Option<Vec<u8>> = None;
    let (mut scheduling, mut ranks) = (schedule.scheduling, schedule.ranks);
    loop {
        prepared.run.schedule(scheduling);
        let most = prepared.run.most_ranks();
        let (done, saved) = piece(&*prepared.run, schedule.pieces, ranks.min(most), state.as_deref());
        if !matches!(done, Err(model::Failure::Stopped(_))) {
            return done;
        }
        state = saved;
        if let Scheduling::Conservative { threads, .. } | Scheduling::Optimistic { threads, .. } =
            &mut scheduling
        {
            threads.count = 1 + threads.count % 4;
        }
        // One fewer than before, then all again: another number of ranks takes a state up than saved it.
        ranks = if ranks > 1 { ranks - 1 } else { schedule.ranks };
    }
}

/// Runs to the next pause, if there are any; gives what the first rank gave, and the state.
fn piece(
    run: &dyn Run,
    every: Ps,
    ranks: u32,
    resume: Option<&[u8]>,
) -> (Result<Finished, model::Failure>, Option<Vec<u8>>) {
    let rank = |world: World| {
        let mut saved = None;
        let mut pause = |_: Progress, save: &mut dyn FnMut() -> Vec<u8>| {
            saved = (every > 0).then(&mut *save);
            every == 0
        };
        let done = run.watch(Watch { every, resume, world, ..Watch::new(&mut pause) });
        (done, saved)
    };
    let mut worlds = World::of_threads(ranks.max(1)).into_iter();
    let first = worlds.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let rank = &rank;
        // A rank that panics makes the others panic when they wait for it, so that none is left.
        worlds.for_each(|world| drop(scope.spawn(move || rank(world))));
        rank(first)
    })
}
