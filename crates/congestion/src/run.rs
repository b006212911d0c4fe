//! Mappings over threads. A mapping is a pure function of seed and its number and what is summed are integers, so the result is the
//! same for any number of threads.

use super::{
    count::{Counter, Pair, PlanRank, Want},
    mapping,
    metrics::{Outcome, Part, Run, Totals, add},
    routes::Routes,
};
use base::{hash::mix64, index::RankId, threads::started, world::World};
use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    thread,
};
use workload::{
    levels::{self, LevelPattern, workload::draw},
    traffic::Traffic,
};

/// Who sends to whom.
#[derive(Clone)]
pub enum Sends {
    /// A pattern with levels.
    Levels(LevelPattern),
    /// A list of pairs, level by level, and its name.
    Pairs(String, Arc<[Vec<levels::Pair>]>),
    /// Any open-loop traffic: the k-th message of every rank, for the k-th mapping, is its one level.
    Traffic(Arc<dyn Traffic>),
}

/// A job: a pattern on some hosts.
#[derive(Clone)]
pub struct Task {
    /// Which ranks send to which, level by level.
    pub sends: Sends,
    /// Host of each rank, before shuffling.
    pub hosts: Vec<u32>,
    /// Ranks of the first that keep their hosts.
    pub fixed: u32,
    /// Ranks of the first, the fixed ones included, that are shuffled among themselves; 0 for none.
    pub part: u32,
    /// Shuffle hosts for each mapping.
    pub shuffle: bool,
    /// Only this level.
    pub level: Option<u32>,
}

/// What is to be counted.
#[derive(Clone)]
pub struct Plan {
    /// Jobs that send at the same time, level by level, on different hosts.
    pub tasks: Vec<Task>,
    /// Number of mappings of ranks that are counted.
    pub runs: u32,
    /// Seed of mappings and patterns.
    pub seed: u64,
    /// What is asked for.
    pub want: Want,
    /// Ranks, from the first, whose messages count for delays; `None` for all.
    pub watched: Option<u32>,
    /// Worker threads, at least 1.
    pub threads: u32,
}

impl Task {
    fn levels(&self) -> u32 {
        match &self.sends {
            Sends::Levels(pattern) => pattern.levels(self.hosts.len() as u32),
            Sends::Pairs(_, levels) => levels.len() as u32,
            Sends::Traffic(_) => 1,
        }
    }

    fn random(&self) -> bool {
        match &self.sends {
            Sends::Levels(pattern) => pattern.random(),
            Sends::Pairs(..) => false,
            Sends::Traffic(_) => true,
        }
    }

    fn pairs(&self, level: u32, seed: u64, job: u32, run: u32, out: &mut Vec<levels::Pair>) {
        let ranks = self.hosts.len() as u32;
        match &self.sends {
            Sends::Levels(pattern) => pattern.pairs(ranks, level, draw(seed, job, run), out),
            Sends::Pairs(_, levels) => out.extend_from_slice(&levels[level as usize]),
            Sends::Traffic(traffic) => out.extend(RankId::first(ranks).filter_map(|rank| {
                let to = traffic.message(rank, u64::from(run), 0)?.destination;
                Some((rank, to))
            })),
        }
    }
}

impl Plan {
    /// Levels to be counted, over all jobs; all of them are there, `level` of a task leaves out its others.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.tasks.iter().map(Task::levels).max().unwrap_or(0)
    }

    /// Ranks of all jobs.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.tasks.iter().map(|t| t.hosts.len() as u32).sum()
    }

    /// Pairs of a level of a mapping; ranks of later jobs are numbered on.
    pub fn pairs(&self, level: u32, run: u32, out: &mut Vec<Pair>) {
        let (mut base, mut own) = (0, Vec::new());
        for (job, task) in (0u32..).zip(&self.tasks) {
            if level < task.levels() && task.level.is_none_or(|only| only == level) {
                own.clear();
                task.pairs(level, self.seed, job, run, &mut own);
                debug_assert!(
                    own.iter().all(|p| p.0.index() < task.hosts.len() && p.1.index() < task.hosts.len()),
                    "pairs are of the job's ranks"
                );
                let on = |rank: RankId| PlanRank::new(base + rank.number());
                out.extend(own.iter().map(|&(from, to)| (on(from), on(to))));
            }
            base += task.hosts.len() as u32;
        }
    }

    /// Host of each rank in a mapping.
    pub fn hosts(&self, run: u32, out: &mut Vec<u32>) {
        out.clear();
        for (job, task) in (0u32..).zip(&self.tasks) {
            let begin = out.len();
            out.extend_from_slice(&task.hosts);
            if task.shuffle {
                mapping::shuffle(
                    &mut out[begin..],
                    task.fixed as usize,
                    task.part as usize,
                    self.seed,
                    job,
                    run,
                );
            }
        }
        debug_assert_eq!(out.len(), self.ranks() as usize, "every rank has a host");
    }

    /// True if all mappings are the same: nothing is drawn, and no two ranks can change their hosts.
    #[must_use]
    pub fn alike(&self) -> bool {
        let stays = |task: &Task| {
            let (ranks, fixed, part) = (task.hosts.len(), task.fixed as usize, task.part as usize);
            !task.shuffle || part.saturating_sub(fixed) < 2 && ranks.saturating_sub(fixed.max(part)) < 2
        };
        self.tasks.iter().all(|task| stays(task) && !task.random())
    }

    /// The levels of all mappings, if they are alike.
    fn common(&self) -> Option<Vec<Vec<Pair>>> {
        if self.tasks.iter().any(Task::random) {
            return None;
        }
        let level = |l| {
            let mut pairs = Vec::new();
            self.pairs(l, 0, &mut pairs);
            pairs
        };
        Some((0..self.levels()).map(level).collect())
    }

    fn name(&self) -> String {
        let name = |task: &Task| match &task.sends {
            Sends::Levels(pattern) => pattern.to_string(),
            Sends::Pairs(name, _) => name.clone(),
            Sends::Traffic(_) => "traffic".to_owned(),
        };
        self.tasks.iter().map(name).collect::<Vec<_>>().join(" + ")
    }
}

/// What the threads share.
struct Shared<'a, R> {
    routes: &'a R,
    plan: &'a Plan,
    common: Option<Vec<Vec<Pair>>>,
    /// The next mapping that nobody has, and where this rank's end.
    next: AtomicU32,
    end: u32,
    done: AtomicU32,
    stop: AtomicBool,
}

/// Counts all mappings. `progress` hears how many are done, now and then, and stops the work by returning false.
///
/// # Errors
/// The number of mappings done when `progress` stopped it.
pub fn simulate<R: Routes>(
    routes: &R,
    plan: &Plan,
    progress: &mut dyn FnMut(u32) -> bool,
) -> Result<Outcome, u32> {
    simulate_over(&World::ALONE, routes, plan, progress)
}

/// The same with the mappings shared out to ranks, each of which gets the whole outcome. All stop if one does.
///
/// # Errors
/// As [`simulate`]; the number is that of this rank.
pub fn simulate_over<R: Routes>(
    world: &World,
    routes: &R,
    plan: &Plan,
    progress: &mut dyn FnMut(u32) -> bool,
) -> Result<Outcome, u32> {
    let mine = world.share_of(world.rank(), plan.runs);
    let shared = Shared {
        routes,
        plan,
        common: plan.common(),
        next: AtomicU32::new(mine.start),
        end: mine.end,
        done: AtomicU32::new(0),
        stop: AtomicBool::new(false),
    };
    let others = plan.threads.clamp(1, (mine.end - mine.start).max(1)) - 1;
    let parts = thread::scope(|scope| {
        let shared = &shared;
        let threads = started(scope, others, || work(shared, &mut |_| true));
        let mut parts = vec![work(shared, progress)];
        for thread in threads {
            // A panic in a thread is a panic here.
            parts.push(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        parts
    });
    if world.most(shared.stop.load(Ordering::Relaxed).into()) > 0 {
        return Err(shared.done.load(Ordering::Relaxed));
    }
    let mut edges = Vec::new();
    let mut sums = Vec::new();
    for (part, run) in parts {
        if edges.is_empty() {
            edges = run.edges;
        } else {
            edges.iter_mut().zip(&run.edges).for_each(|(a, b): (&mut u64, _)| *a += b);
        }
        sums.push(part);
    }
    if !world.is_alone() {
        sums = exchanged(world, &sums);
        // Ranks without a mapping have no sums of links.
        edges = world.all(&edges).into_iter().fold(Vec::new(), |mut sum, of| {
            add(&mut sum, &of);
            sum
        });
    }
    if plan.want.edges && edges.is_empty() {
        edges = vec![0; routes.edges() as usize];
    }
    Ok(Outcome {
        pattern: plan.name(),
        ranks: plan.ranks(),
        runs: plan.runs,
        edges: routes.edges(),
        totals: Totals::of(sums, edges),
    })
}

/// The parts of all ranks, in their order.
fn exchanged(world: &World, mine: &[Part]) -> Vec<Part> {
    let mut words = Vec::new();
    mine.iter().for_each(|part| part.write(&mut words));
    let read = |words: Vec<u64>| {
        let (mut rest, mut parts) = (words.as_slice(), Vec::new());
        while !rest.is_empty() {
            parts.push(Part::read(&mut rest));
        }
        parts
    };
    world.all(&words).into_iter().flat_map(read).collect()
}

/// One thread's share: takes mappings until none is left.
fn work<R: Routes>(shared: &Shared<'_, R>, progress: &mut dyn FnMut(u32) -> bool) -> (Part, Run) {
    let plan = shared.plan;
    let (mut part, mut run) = (Part::default(), Run::default());
    let mut counter = Counter::new(shared.routes, plan.want);
    let (mut hosts, mut pairs) = (Vec::new(), Vec::new());
    let watched = plan.watched.unwrap_or(u32::MAX);
    while !shared.stop.load(Ordering::Relaxed) {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        if index >= shared.end {
            break;
        }
        plan.hosts(index, &mut hosts);
        run.next();
        counter.begin(hosts.len() as u32);
        for level in 0..plan.levels() {
            let draw = mix64(plan.seed ^ mix64(u64::from(index) << 32 | u64::from(level)));
            let pairs = match &shared.common {
                Some(levels) => &levels[level as usize],
                None => {
                    pairs.clear();
                    plan.pairs(level, index, &mut pairs);
                    &pairs
                }
            };
            counter.level(pairs, &hosts, watched, draw, &mut run);
        }
        part.add(index, &run);
        let done = shared.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !progress(done) {
            shared.stop.store(true, Ordering::Relaxed);
        }
    }
    (part, run)
}
