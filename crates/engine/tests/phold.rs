//! PHOLD (Fujimoto 1990) on every executor: the standard workload of parallel discrete-event simulation, with zero-delay
//! children inside a cell, early events and both lanes.

use base::{
    hash::{Fingerprint, mix64},
    rng::{Purpose, Stream},
    time::{NEVER, Ps},
    world::World,
};
use engine::{
    agenda::Agenda,
    director::{Director, Network, Pauses},
    domain::{Domain, Effects, Lane, Observer},
    executor::{Executor, Options, Stop, Threads},
    kept::{Kept, put, take},
    key::Class,
    over::Over,
    state::{Journal, Table},
    undo_check::{run_with_rollbacks, run_with_undo},
    warp::{Fault, Optimism, Speculation},
};
use serde::{Deserialize, Serialize};

const LPS: u32 = 64;
const LOOKAHEAD: Ps = 100;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Job {
    lp: u32,
    id: u64,
    hops: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct State {
    sum: u64,
    seen: u64,
}

/// LPs `first .. first + states.len()`; each is a cell.
#[derive(Clone, PartialEq)]
struct Phold {
    partitions: u32,
    first: u32,
    states: Table<State>,
    /// A planted fault: one job is a picosecond late at one hop.
    late: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Seen {
    time: Ps,
    lp: u32,
    id: u64,
    sum: u64,
}

#[derive(Default)]
struct Print(Fingerprint, u64);

impl Kept for Print {
    fn save(&self, to: &mut Vec<u8>) {
        put(&(self.0, self.1), to);
    }
    fn load(&mut self, from: &mut &[u8]) -> Result<(), engine::kept::Damaged> {
        (self.0, self.1) = take(from)?;
        Ok(())
    }
}

impl Observer<Seen> for Print {
    fn commit(&mut self, r: &Seen) {
        self.0.add(r.time, u64::from(r.lp), r.id, r.sum);
        self.1 += 1;
    }
}

fn owner(lp: u32, partitions: u32) -> u32 {
    lp * partitions / LPS
}

/// Least delay between two cells: far ones are further apart in time, so that partitions promise different lookaheads.
fn apart(a: u32, b: u32) -> Ps {
    LOOKAHEAD * u64::from(1 + a.abs_diff(b) / 16)
}

impl Phold {
    fn all(partitions: u32, late: bool) -> Vec<(Phold, Print)> {
        (0..partitions)
            .map(|p| {
                let mine: Vec<u32> = (0..LPS).filter(|&l| owner(l, partitions) == p).collect();
                let states = Table::new(mine.len(), State { sum: 0, seen: 0 });
                (Phold { partitions, first: mine[0], states, late }, Print::default())
            })
            .collect()
    }
}

impl Domain for Phold {
    type Message = Job;
    type Record = Seen;

    fn start(&mut self, effects: &mut impl Effects<Self>) {
        let me = owner(self.first, self.partitions);
        for lp in self.first..self.first + self.states.len() as u32 {
            for k in 0..4u64 {
                let id = u64::from(lp) * 4 + k;
                // All start in phase: ties everywhere.
                effects.send(me, Lane::Network, 10, Class::Ordinary, id, Job { lp, id, hops: 0 });
            }
        }
    }

    fn wake(&mut self, token: u32, effects: &mut impl Effects<Self>) {
        let now = effects.now();
        let state = self.states.edit(token);
        state.sum = mix64(state.sum ^ now);
    }

    fn receive(&mut self, job: &Job, effects: &mut impl Effects<Self>) {
        let local = job.lp - self.first;
        let state = self.states.edit(local);
        state.seen += 1;
        state.sum = mix64(state.sum ^ job.id);
        let record =
            Seen { time: effects.now() + effects.suspended(), lp: job.lp, id: job.id, sum: state.sum };
        effects.record(record);
        let mut random = Stream::new(1, Purpose::Test, job.id).at(job.hops * 4);
        let me = owner(job.lp, self.partitions);
        let next = Job { hops: job.hops + 1, ..*job };
        let now = effects.now();
        match random.below(8) {
            0 => effects.send(me, Lane::Network, now, Class::Ordinary, job.id, next),
            1 => {
                effects.wake(now + 50, Class::Early, job.id, local);
                effects.send(me, Lane::Network, now + 50, Class::Ordinary, job.id, next);
            }
            _ => {
                let lp = random.below(u64::from(LPS)) as u32;
                // Few distinct delays, so that many events tie.
                let fault = u64::from(self.late && job.id == 77 && job.hops > 9);
                let delay = apart(job.lp, lp) * (1 + random.below(3)) + fault;
                let to = owner(lp, self.partitions);
                effects.send(to, Lane::Network, now + delay, Class::Ordinary, job.id, Job { lp, ..next });
            }
        }
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.states);
    }

    fn lookahead(&self, to: u32) -> Option<Ps> {
        let mine = self.first..self.first + self.states.len() as u32;
        let theirs = || (0..LPS).filter(|&lp| owner(lp, self.partitions) == to);
        mine.flat_map(|a| theirs().map(move |b| apart(a, b))).min()
    }
}

const OPTIONS: Options = Options { tie_seed: 3, wheel_shift: 4 };

fn run(partitions: u32, late: bool, options: Options, end: Ps) -> (Fingerprint, u64, u64) {
    let mut executor = Executor::new(Phold::all(partitions, late), options);
    assert_eq!(executor.run_until(end, u64::MAX), Stop::End);
    summary(&executor)
}

fn summary(executor: &Executor<Phold, Print>) -> (Fingerprint, u64, u64) {
    let mut total = (Fingerprint::default(), 0, 0);
    for p in &executor.partitions {
        total.0.merge(p.observer.0);
        total.1 += p.observer.1;
        total.2 = p.domain.states.rows().iter().fold(total.2, |a: u64, s| a.wrapping_add(s.seen));
    }
    total
}

#[test]
fn one_answer_for_every_partitioning() {
    let one = run(1, false, OPTIONS, 100_000);
    assert!(one.1 > 50_000, "{} jobs", one.1);
    for partitions in [2, 3, 7, 64] {
        assert_eq!(run(partitions, false, OPTIONS, 100_000), one);
    }
    assert_eq!(run(1, false, Options { wheel_shift: 9, ..OPTIONS }, 100_000), one);
}

fn threaded(partitions: u32, count: u32, end: Ps) -> Executor<Phold, Print> {
    let threads = Threads { count, pin: count == 2, ..Threads::ONE };
    let mut executor = Executor::with_threads(Phold::all(partitions, false), OPTIONS, threads);
    assert_eq!(executor.run_until(end, u64::MAX), Stop::End);
    executor
}

#[test]
fn one_answer_for_every_number_of_threads() {
    let one = run(1, false, OPTIONS, 100_000);
    for (partitions, threads) in [(1, 4), (2, 2), (7, 3), (64, 4), (64, 2)] {
        let executor = threaded(partitions, threads, 100_000);
        assert_eq!(summary(&executor), one, "{partitions} partitions, {threads} threads");
        assert_eq!(executor.threads(), threads.min(partitions));
        assert!(executor.windows() > 100 || threads > partitions, "{} windows", executor.windows());
        // The same where one thread may do the work, whichever does.
        let spared = Threads { count: threads, spare: true, ..Threads::ONE };
        let mut spared = Executor::with_threads(Phold::all(partitions, false), OPTIONS, spared);
        assert_eq!((spared.run_until(100_000, u64::MAX), summary(&spared)), (Stop::End, one));
    }
}

#[test]
fn threads_stop_at_budgets_and_ticks() {
    let threads = Threads { count: 3, ..Threads::ONE };
    let mut executor = Executor::with_threads(Phold::all(7, false), OPTIONS, threads);
    let (mut stops, mut time) = (0, 0);
    while executor.run_until(20_000, 2000) == Stop::Budget {
        assert!(executor.now() > time && executor.now() == executor.next_time(), "the time of what is next");
        time = executor.now();
        stops += 1;
    }
    assert!(stops > 3);
    assert_eq!(summary(&executor), run(1, false, OPTIONS, 20_000));
    let mut director = Pause(vec![(5_000, Network::Suspend), (8_000, Network::Resume)], 0);
    let mut executor = Executor::with_threads(Phold::all(16, false), OPTIONS, threads);
    executor.run_directed(13_000, &mut director, Pauses::after(3000), |_, _| true);
    let mut alone = Pause(vec![(5_000, Network::Suspend), (8_000, Network::Resume)], 0);
    let mut one = Executor::new(Phold::all(1, false), OPTIONS);
    one.run_directed(13_000, &mut alone, Pauses::NONE, |_, _| true);
    assert_eq!((summary(&executor), director.1), (summary(&one), alone.1));
}

fn warped(partitions: u32, count: u32, end: Ps, optimism: Optimism) -> (Executor<Phold, Print>, Speculation) {
    let threads = Threads { count, ..Threads::ONE };
    let mut executor = Executor::optimistic(Phold::all(partitions, false), OPTIONS, threads, optimism);
    assert_eq!(executor.run_until(end, u64::MAX), Stop::End);
    let speculation = executor.speculation().expect("it runs ahead");
    (executor, speculation)
}

#[test]
fn running_ahead_gives_the_same_answer() {
    let one = run(1, false, OPTIONS, 100_000);
    for (partitions, threads) in [(1, 1), (2, 2), (7, 3), (64, 4), (64, 2), (16, 1)] {
        for bound in [None, Some(50), Some(700), Some(20_000)] {
            let optimism = Optimism { bound, ..Optimism::default() };
            let (executor, speculation) = warped(partitions, threads, 100_000, optimism);
            assert_eq!(
                summary(&executor),
                one,
                "{partitions} partitions, {threads} threads, {speculation:?}"
            );
            let events: u64 = executor.partitions.iter().map(|p| p.events).sum();
            assert_eq!(speculation.committed, events);
            assert_eq!(speculation.handled, speculation.committed + speculation.rolled_back);
            assert!(threads == 1 || bound != Some(20_000) || speculation.rollbacks > 0, "{speculation:?}");
        }
    }
}

/// Events taken back without need, history that is too short, tiny rounds: slower, and the same.
#[test]
fn forced_rollbacks_change_nothing() {
    let one = run(1, false, OPTIONS, 20_000);
    for stumble in [1, 2, 7, 100] {
        for (partitions, threads) in [(1, 1), (7, 3), (16, 1)] {
            let optimism = Optimism { stumble, ..Optimism::default() };
            let (executor, speculation) = warped(partitions, threads, 20_000, optimism);
            assert_eq!(summary(&executor), one, "{stumble}: {speculation:?}");
            assert!(stumble > 2 || speculation.efficiency() < 0.6, "{stumble}: {speculation:?}");
        }
    }
    for (batch, history) in [(1, 1), (3, 10), (5000, 20)] {
        let optimism = Optimism { batch, history, bound: Some(50_000), ..Optimism::default() };
        let (executor, speculation) = warped(7, 3, 20_000, optimism);
        assert_eq!(summary(&executor), one, "{speculation:?}");
    }
}

/// Pauses, ticks and a suspended network: what is open at a tick is committed or taken back.
#[test]
fn running_ahead_stops_at_budgets_and_ticks() {
    let threads = Threads { count: 3, ..Threads::ONE };
    let optimism = Optimism { bound: Some(5_000), batch: 50, ..Optimism::default() };
    let mut executor = Executor::optimistic(Phold::all(7, false), OPTIONS, threads, optimism);
    let mut stops = 0;
    while executor.run_until(20_000, 1000) == Stop::Budget {
        stops += 1;
    }
    assert!(stops > 3);
    assert_eq!(summary(&executor), run(1, false, OPTIONS, 20_000));
    let mut director = Pause(vec![(5_000, Network::Suspend), (8_000, Network::Resume)], 0);
    let mut executor = Executor::optimistic(Phold::all(16, false), OPTIONS, threads, optimism);
    executor.run_directed(13_000, &mut director, Pauses::after(3000), |_, _| true);
    let mut alone = Pause(vec![(5_000, Network::Suspend), (8_000, Network::Resume)], 0);
    let mut one = Executor::new(Phold::all(1, false), OPTIONS);
    one.run_directed(13_000, &mut alone, Pauses::NONE, |_, _| true);
    assert_eq!((summary(&executor), director.1), (summary(&one), alone.1));
}

/// The three classic faults of Time Warp, planted: each shows, as another answer or as a panic.
#[test]
fn planted_faults_of_running_ahead_are_found() {
    let one = run(1, false, OPTIONS, 20_000);
    for fault in [Fault::LostUndo, Fault::EarlyCommit(500), Fault::BlindToMail] {
        let caught = std::panic::catch_unwind(|| {
            let optimism =
                Optimism { bound: Some(5_000), batch: 2000, fault: Some(fault), ..Optimism::default() };
            summary(&warped(7, 3, 20_000, optimism).0)
        });
        assert!(caught.is_err() || caught.is_ok_and(|answer| answer != one), "{fault:?} was not found");
    }
}

/// A domain that promises more than it keeps is found out, in one thread and in several.
#[test]
fn a_broken_promise_is_caught() {
    for count in [1, 2] {
        let run = move || {
            let parts = Phold::all(2, false).into_iter().map(|(phold, print)| (Boastful(phold), print));
            let threads = Threads { count, ..Threads::ONE };
            Executor::with_threads(parts, OPTIONS, threads).run_until(10_000, u64::MAX)
        };
        let panic = std::panic::catch_unwind(run).unwrap_err();
        let text = panic.downcast_ref::<String>().map_or("a scoped thread panicked", String::as_str);
        assert!(text.contains("lookahead was broken") || text.contains("scoped thread"), "{text}");
    }
}

/// Promises a picosecond too much.
struct Boastful(Phold);

impl Domain for Boastful {
    type Message = Job;
    type Record = Seen;
    fn start(&mut self, effects: &mut impl Effects<Self>) {
        self.0.start(effects);
    }
    fn wake(&mut self, token: u32, effects: &mut impl Effects<Self>) {
        self.0.wake(token, effects);
    }
    fn receive(&mut self, job: &Job, effects: &mut impl Effects<Self>) {
        self.0.receive(job, effects);
    }
    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        self.0.visit_journals(visit);
    }
    fn lookahead(&self, _: u32) -> Option<Ps> {
        Some(LOOKAHEAD + 1)
    }
}

#[test]
fn a_picosecond_and_a_swapped_tie_change_the_fingerprint() {
    let one = run(1, false, OPTIONS, 20_000);
    assert_ne!(run(1, true, OPTIONS, 20_000).0, one.0);
    assert_ne!(run(1, false, Options { tie_seed: 4, ..OPTIONS }, 20_000).0, one.0);
}

#[test]
fn every_event_can_be_undone() {
    let mut print = Print::default();
    let (phold, _) = Phold::all(1, false).remove(0);
    let (_, events) = run_with_undo(phold, &mut print, OPTIONS.tie_seed, 5_000);
    assert!(events > 5_000);
    assert_eq!(print.0, run(1, false, OPTIONS, 5_000).0);
}

/// Rollbacks of many events, with cancelled sends and a forgotten past, change nothing.
#[test]
fn rollbacks_leave_no_trace() {
    for (depth, seed) in [(2, 1), (13, 2), (100, 3)] {
        let mut print = Print::default();
        let (phold, _) = Phold::all(1, false).remove(0);
        let (_, events) = run_with_rollbacks(phold, &mut print, OPTIONS.tie_seed, 5_000, depth, seed);
        assert!(events > 5_000);
        assert_eq!(print.0, run(1, false, OPTIONS, 5_000).0, "depth {depth}");
    }
}

/// Suspends at 5,000 for 3,000 ps; remembers what it saw.
struct Pause(Vec<(Ps, Network)>, u64);

impl Kept for Pause {
    fn save(&self, to: &mut Vec<u8>) {
        put(&(self.0.len(), self.1), to);
    }
    fn load(&mut self, from: &mut &[u8]) -> Result<(), engine::kept::Damaged> {
        let (left, seen): (usize, u64) = take(from)?;
        self.0.drain(..self.0.len() - left);
        self.1 = seen;
        Ok(())
    }
}

impl Director<Phold, Print> for Pause {
    type Summary = u64;
    type Order = ();
    fn next_tick(&self, _: Ps) -> Ps {
        self.0.first().map_or(NEVER, |t| t.0)
    }
    fn summarise(&self, _: Ps, domain: &Phold, _: &mut Print, _: &Agenda<Job>) -> u64 {
        domain.states.rows().iter().map(|s| s.seen).sum()
    }
    fn merge(&self, left: u64, right: u64) -> u64 {
        left + right
    }
    fn decide(&mut self, _: Ps, summary: u64, _: bool) -> Option<(Network, ())> {
        self.1 = self.1.wrapping_mul(31).wrapping_add(summary);
        Some((self.0.remove(0).1, ()))
    }
    fn apply(&self, (): &(), _: &mut Phold, _: &mut impl Effects<Phold>) {}
}

#[test]
fn suspension_shifts_the_network_and_changes_nothing_else() {
    let direct = |partitions, end| {
        let mut director = Pause(vec![(5_000, Network::Suspend), (8_000, Network::Resume)], 0);
        let mut executor = Executor::new(Phold::all(partitions, false), OPTIONS);
        assert_eq!(executor.run_directed(end, &mut director, Pauses::NONE, |_, _| true), Stop::End);
        (summary(&executor), director.1)
    };
    let (paused, seen) = direct(1, 13_000);
    let plain = run(1, false, OPTIONS, 10_000);
    assert_eq!((paused.1, paused.2), (plain.1, plain.2), "same jobs, three thousand picoseconds later");
    assert_ne!(paused.0, plain.0, "times moved");
    assert_eq!(direct(64, 13_000), (paused, seen));
}

/// A run may stop in the middle of a suspension and go on.
#[test]
fn a_suspension_outlives_a_stop() {
    let mut director = Pause(vec![(5_000, Network::Suspend), (8_000, Network::Resume)], 0);
    let mut executor = Executor::new(Phold::all(2, false), OPTIONS);
    executor.run_directed(6_000, &mut director, Pauses::NONE, |_, _| true);
    executor.run_directed(13_000, &mut director, Pauses::NONE, |_, _| true);
    assert_eq!(summary(&executor).1, run(1, false, OPTIONS, 10_000).1);
}

#[test]
fn a_budget_stops_and_continues() {
    let mut executor = Executor::new(Phold::all(1, false), OPTIONS);
    let mut stops = 0;
    while executor.run_until(20_000, 1000) == Stop::Budget {
        stops += 1;
    }
    assert!(stops > 10);
    assert_eq!(summary(&executor), run(1, false, OPTIONS, 20_000));
    let mut executor = Executor::new(Phold::all(4, false), OPTIONS);
    assert_eq!(executor.run_until(20_000, 1000), Stop::Budget, "also with several partitions");
}

/// Stopped in every pause, saved, and continued each time in a new executor with another number of threads: the uninterrupted run.
#[test]
fn a_run_continues_from_its_checkpoint() {
    let ticks = || Pause(vec![(5_000, Network::Suspend), (8_000, Network::Resume)], 0);
    let build =
        |count| Executor::with_threads(Phold::all(7, false), OPTIONS, Threads { count, ..Threads::ONE });
    let mut whole = (build(1), ticks());
    whole.0.run_directed(20_000, &mut whole.1, Pauses::NONE, |_, _| true);
    for pauses in
        [Pauses::after(700), Pauses { budget: u64::MAX, every: 1_000 }, Pauses { budget: 900, every: 777 }]
    {
        let (mut run, mut director) = (build(2), ticks());
        let mut stops = 0;
        while run.run_directed(20_000, &mut director, pauses, |_, _| false) == Stop::Budget {
            let mut bytes = Vec::new();
            run.save(&mut bytes);
            director.save(&mut bytes);
            stops += 1;
            (run, director) = (build(1 + stops % 3), ticks());
            let mut from = bytes.as_slice();
            run.load(&mut from).unwrap();
            director.load(&mut from).unwrap();
            assert!(from.is_empty());
        }
        assert!(stops > 15, "{stops} stops");
        assert_eq!((summary(&run), director.1), (summary(&whole.0), whole.1.1), "{pauses:?}");
    }
}

/// Whatever is cut off or changed, loading fails with a reason or goes on with something else, and never panics.
#[test]
fn damaged_states_are_refused() {
    let mut executor = Executor::new(Phold::all(2, false), OPTIONS);
    executor.run_until(1_000, u64::MAX);
    let mut bytes = Vec::new();
    executor.save(&mut bytes);
    for length in 0..bytes.len() {
        let mut other = Executor::new(Phold::all(2, false), OPTIONS);
        assert!(other.load(&mut &bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }
    let mut three = Executor::new(Phold::all(3, false), OPTIONS);
    assert!(three.load(&mut bytes.as_slice()).is_err());
}

/// Runs so many ranks as threads of this process: `work` gets the executor of its own partitions. Gives what each rank's gave.
fn in_ranks<T: Send>(
    ranks: u32,
    partitions: u32,
    (count, optimism): (u32, Option<Optimism>),
    work: impl Fn(Executor<Phold, Print>) -> T + Sync,
) -> Vec<T> {
    let rank = |world| {
        let over = Over { world, partitions };
        let mine = over.mine();
        let parts = Phold::all(partitions, false).into_iter().skip(mine.start as usize).take(mine.len());
        let threads = Threads { count, ..Threads::ONE };
        work(match optimism {
            None => Executor::over(over, parts, OPTIONS, threads),
            Some(optimism) => Executor::optimistic_over(over, parts, OPTIONS, threads, optimism),
        })
    };
    std::thread::scope(|scope| {
        let rank = &rank;
        let ends = World::of_threads(ranks).into_iter();
        let started: Vec<_> = ends.map(|world| scope.spawn(move || rank(world))).collect();
        started.into_iter().map(|rank| rank.join().expect("no rank fails")).collect()
    })
}

fn total(of_ranks: impl IntoIterator<Item = (Fingerprint, u64, u64)>) -> (Fingerprint, u64, u64) {
    of_ranks.into_iter().fold((Fingerprint::default(), 0, 0), |mut total, rank| {
        total.0.merge(rank.0);
        (total.0, total.1 + rank.1, total.2.wrapping_add(rank.2))
    })
}

/// Ranks, threads and schedulers in every combination, with ticks, a suspended network and pauses on the way.
#[test]
fn one_answer_for_every_number_of_ranks() {
    let ticks = || Pause(vec![(5_000, Network::Suspend), (8_000, Network::Resume)], 0);
    let mut one = Executor::new(Phold::all(1, false), OPTIONS);
    let mut alone = ticks();
    one.run_directed(20_000, &mut alone, Pauses::NONE, |_, _| true);
    let stumbling = Optimism { bound: Some(5_000), batch: 50, stumble: 7, ..Optimism::default() };
    for optimism in [None, Some(Optimism::default()), Some(stumbling)] {
        for (ranks, partitions, threads) in [(2, 2, 1), (3, 7, 1), (2, 9, 2), (3, 64, 3), (5, 5, 4)] {
            let answers = in_ranks(ranks, partitions, (threads, optimism), |mut run| {
                let mut director = ticks();
                let stop = run.run_directed(20_000, &mut director, Pauses::after(3_000), |_, _| true);
                (summary(&run), director.1, stop, run.threads())
            });
            let all = total(answers.iter().map(|a| a.0));
            assert_eq!(all, summary(&one), "{ranks} ranks, {partitions} partitions, {threads} threads");
            assert!(answers.iter().all(|a| (a.1, a.2) == (alone.1, Stop::End)), "all decided alike");
            assert!(answers.iter().all(|a| a.3 == threads.min(partitions / ranks)));
        }
    }
}

/// Saved by one number of ranks, taken up by another.
#[test]
fn a_run_continues_over_other_ranks() {
    let whole = run(1, false, OPTIONS, 20_000);
    let saved = in_ranks(3, 7, (1, None), |mut run| {
        assert_eq!(run.run_until(9_000, u64::MAX), Stop::End);
        let mut bytes = Vec::new();
        run.save(&mut bytes);
        bytes
    });
    for (ranks, optimism) in [(1, None), (2, None), (7, None), (2, Some(Optimism::default()))] {
        let answers = in_ranks(ranks, 7, (1, optimism), |mut run| {
            run.load(&mut saved[0].as_slice()).unwrap();
            run.run_until(20_000, u64::MAX);
            summary(&run)
        });
        assert_eq!(total(answers), whole, "{ranks} ranks");
    }
}

/// A rank whose handler fails takes the others down: nobody waits for it.
#[test]
fn a_rank_that_fails_ends_all() {
    let failed = std::panic::catch_unwind(|| {
        in_ranks(3, 3, (1, None), |mut run| {
            let fails = run.ranks().world.rank() == 1;
            run.run_directed(20_000, &mut (), Pauses::after(2_000), |_, ()| !fails || panic!("planted"))
        })
    });
    assert!(failed.is_err());
}
