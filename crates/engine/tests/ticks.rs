//! What a director hears of the engine and may change of it, and rehearsals: nothing of it changes what is committed.

use base::{
    hash::mix64,
    time::{NEVER, Ps},
    world::World,
};
use engine::{
    agenda::Agenda,
    director::{Director, EngineCounts, Network, Pauses},
    domain::{Domain, Effects, Lane},
    executor::{Executor, Options, Stop, Threads},
    key::Class,
    over::Over,
    state::{Journal, Table},
    warp::Optimism,
};

const CELLS: u32 = 12;
const LOOKAHEAD: Ps = 100;
const END: Ps = 60_000;
const OPTIONS: Options = Options { tie_seed: 5, wheel_shift: 5 };

/// Cells that hand balls on to each other, each in a partition of its own; which one is next depends on what a cell has seen.
#[derive(Clone, PartialEq)]
struct Cell {
    me: u32,
    /// How many there are.
    of: u32,
    seen: Table<u64>,
}

impl Cell {
    fn all() -> Vec<(Self, Vec<(Ps, u64)>)> {
        Self::some(CELLS)
    }

    fn some(of: u32) -> Vec<(Self, Vec<(Ps, u64)>)> {
        (0..of).map(|me| (Self { me, of, seen: Table::new(1, me.into()) }, Vec::new())).collect()
    }
}

impl Domain for Cell {
    type Message = u64;
    type Record = (Ps, u64);

    fn start(&mut self, effects: &mut impl Effects<Self>) {
        effects.wake(u64::from(1 + self.me), Class::Ordinary, self.me.into(), 0);
    }

    fn wake(&mut self, _: u32, effects: &mut impl Effects<Self>) {
        self.receive(&u64::from(self.me), effects);
    }

    fn receive(&mut self, ball: &u64, effects: &mut impl Effects<Self>) {
        let seen = self.seen.edit(0);
        *seen = mix64(*seen ^ *ball);
        let (drawn, now) = (*seen, effects.now());
        effects.record((now, drawn));
        let at = now + LOOKAHEAD + drawn % 500;
        effects.send(
            (drawn >> 32) as u32 % self.of,
            Lane::Network,
            at,
            Class::Ordinary,
            mix64(*ball ^ now),
            *ball,
        );
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.seen);
    }

    fn lookahead(&self, _: u32) -> Option<Ps> {
        Some(LOOKAHEAD)
    }
}

/// Ticks every thousand picoseconds, hears what the engine did, and says another optimism each time.
#[derive(Default)]
struct Tuner(Vec<EngineCounts>);

impl Director<Cell, Vec<(Ps, u64)>> for Tuner {
    type Summary = ();
    type Order = ();
    fn next_tick(&self, now: Ps) -> Ps {
        (now / 1000 + 1) * 1000
    }
    fn summarise(&self, _: Ps, _: &Cell, _: &mut Vec<(Ps, u64)>, _: &Agenda<u64>) {}
    fn merge(&self, (): (), (): ()) {}
    fn decide(&mut self, _: Ps, (): (), _: bool) -> Option<(Network, ())> {
        Some((Network::Keep, ()))
    }
    fn apply(&self, (): &(), _: &mut Cell, _: &mut impl Effects<Cell>) {}
    fn engine(&mut self, counts: &EngineCounts, running: Option<&Optimism>) -> Option<Optimism> {
        self.0.push(*counts);
        let drawn = mix64(counts.now);
        let (batch, history) = (1 + drawn as usize % 200, 1 + (drawn >> 20) as usize % 300);
        let bound = [None, Some(50), Some(2_000)][(drawn >> 40) as usize % 3];
        running.map(|&before| Optimism { bound, batch, history, ..before })
    }
}

type Committed = Vec<Vec<(Ps, u64)>>;

fn directed(mut executor: Executor<Cell, Vec<(Ps, u64)>>) -> (Committed, Vec<EngineCounts>, u64) {
    let mut tuner = Tuner::default();
    assert_eq!(executor.run_directed(END, &mut tuner, Pauses::NONE, |_, _| true), Stop::End);
    let events = executor.events();
    (executor.partitions.into_iter().map(|p| p.observer).collect(), tuner.0, events)
}

#[test]
fn a_director_may_change_how_far_partitions_run_ahead() {
    let (plain, counts, events) = directed(Executor::new(Cell::all(), OPTIONS));
    assert!(events > 2_000 && counts.iter().all(|c| c.handled == 0), "nothing is taken back in one thread");
    for count in [1, 2, 4] {
        let threads = Threads { count, ..Threads::ONE };
        let ahead = Executor::optimistic(Cell::all(), OPTIONS, threads, Optimism::default());
        let (same, counts, _) = directed(ahead);
        assert_eq!(same, plain, "{count} threads");
        assert_eq!(counts.len() as u64, END / 1000, "a row for each tick, and one for the end");
        let last = counts.last().expect("there are ticks");
        assert_eq!((last.now, last.events, last.handled - last.rolled_back), (END, events, events));
        assert!(counts.windows(2).all(|c| c[0].now + 1000 == c[1].now && c[0].events <= c[1].events));
        assert!(last.windows > 0 && last.peak_history_bytes > 0, "{last:?}");
    }
}

#[test]
fn a_rehearsal_commits_the_same_and_finds_the_critical_path() {
    let (plain, _, events) = directed(Executor::new(Cell::all(), OPTIONS));
    for count in [1, 2, 5, CELLS] {
        let threads = Threads { count, rehearse: true, ..Threads::ONE };
        let mut executor = Executor::with_threads(Cell::all(), OPTIONS, threads);
        assert_eq!(executor.run_until(END, NEVER), Stop::End);
        let played = executor.rehearsal().expect("it is one");
        let same: Committed = executor.partitions.into_iter().map(|p| p.observer).collect();
        assert_eq!(same, plain, "{count} threads");
        assert_eq!(played.events, events);
        // Somebody has the average or more, and nobody more than all.
        let least = events.div_ceil(count.into());
        assert!((least..=events).contains(&played.critical_events), "{played:?}");
        assert!(played.critical_time <= played.time, "{played:?}");
        match count {
            1 => assert_eq!((played.windows, played.critical_events), (1, events)),
            // A window is at least one lookahead long, and every one has an event.
            _ => assert!(played.windows <= END / LOOKAHEAD && played.windows <= events, "{played:?}"),
        }
    }
}

/// Throws a ball from every third cell to one that is far from it, at each tick.
struct Thrower;

impl Director<Cell, Vec<(Ps, u64)>> for Thrower {
    type Summary = ();
    type Order = ();
    fn next_tick(&self, now: Ps) -> Ps {
        (now / 7000 + 1) * 7000
    }
    fn summarise(&self, _: Ps, _: &Cell, _: &mut Vec<(Ps, u64)>, _: &Agenda<u64>) {}
    fn merge(&self, (): (), (): ()) {}
    fn decide(&mut self, _: Ps, (): (), _: bool) -> Option<(Network, ())> {
        Some((Network::Keep, ()))
    }
    fn apply(&self, (): &(), cell: &mut Cell, effects: &mut impl Effects<Cell>) {
        if cell.me.is_multiple_of(3) {
            let (to, at) = ((cell.me + 5) % CELLS, effects.now() + LOOKAHEAD);
            effects.send(to, Lane::Network, at, Class::Ordinary, mix64(at ^ u64::from(to)), at);
        }
    }
}

/// What a director's orders send reaches partitions of other ranks as it does those of its own.
#[test]
fn orders_send_to_other_ranks() {
    let mut alone = Executor::new(Cell::all(), OPTIONS);
    assert_eq!(alone.run_directed(END, &mut Thrower, Pauses::NONE, |_, _| true), Stop::End);
    let plain: Committed = alone.partitions.into_iter().map(|p| p.observer).collect();
    let rank = |world| {
        let over = Over { world, partitions: CELLS };
        let mine = over.mine();
        let parts = Cell::all().into_iter().skip(mine.start as usize).take(mine.len());
        let mut run = Executor::over(over, parts, OPTIONS, Threads::ONE);
        assert_eq!(run.run_directed(END, &mut Thrower, Pauses::NONE, |_, _| true), Stop::End);
        run.partitions.into_iter().map(|p| p.observer).collect::<Committed>()
    };
    for ranks in [2, 3, CELLS] {
        let same: Committed = std::thread::scope(|scope| {
            let ends = World::of_threads(ranks).into_iter();
            let started: Vec<_> = ends.map(|world| scope.spawn(move || rank(world))).collect();
            started.into_iter().flat_map(|rank| rank.join().expect("no rank fails")).collect()
        });
        assert_eq!(same, plain, "{ranks} ranks");
    }
}

/// An event that is due just where a run ends is left to the next run, however many threads there are.
#[test]
fn an_event_at_the_end_is_left() {
    for count in [1, 2, 4] {
        let threads = Threads { count, ..Threads::ONE };
        let guarded = Executor::with_threads(Cell::all(), OPTIONS, threads);
        let ahead = Executor::optimistic(Cell::all(), OPTIONS, threads, Optimism::default());
        for mut run in [guarded, ahead] {
            assert_eq!(run.run_until(1, NEVER), Stop::End);
            assert_eq!((run.events(), run.now(), run.next_time()), (0, 1, 1), "{count} threads");
            assert_eq!(run.run_until(2, NEVER), Stop::End);
            assert_eq!((run.events(), run.now(), run.next_time()), (1, 2, 2), "{count} threads");
        }
    }
}

/// Stepping handles the same events at the same times as a run, one at a time, and none that is due later than asked.
#[test]
fn steps_are_a_run_in_pieces() {
    let mut whole = Executor::new(Cell::some(1), OPTIONS);
    assert_eq!(whole.run_until(END, NEVER), Stop::End);
    let mut stepped = Executor::new(Cell::some(1), OPTIONS);
    let mut times = Vec::new();
    while stepped.step(END - 1) {
        times.push(stepped.now());
    }
    assert_eq!(stepped.partitions[0].observer, whole.partitions[0].observer);
    assert_eq!((times.len() as u64, stepped.events()), (whole.events(), whole.events()));
    let recorded: Vec<Ps> = whole.partitions[0].observer.iter().map(|record| record.0).collect();
    assert_eq!(times, recorded);
    let next = stepped.next_time();
    assert!(next >= END && !stepped.step(next - 1));
    stepped.skip_to(next - 1);
    assert_eq!((stepped.now(), stepped.events()), (next - 1, whole.events()));
    assert!(stepped.step(next) && stepped.now() == next);
}
