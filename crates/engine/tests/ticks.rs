//! What a director hears of the engine and may change of it, and rehearsals: nothing of it changes what is committed.

use base::{
    hash::mix64,
    time::{NEVER, Ps},
};
use engine::{
    agenda::Agenda,
    director::{Director, EngineCounts, Network, Pauses},
    domain::{Domain, Effects, Lane},
    executor::{Executor, Options, Stop, Threads},
    key::Class,
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
    seen: Table<u64>,
}

impl Cell {
    fn all() -> Vec<(Self, Vec<(Ps, u64)>)> {
        (0..CELLS).map(|me| (Self { me, seen: Table::new(1, me.into()) }, Vec::new())).collect()
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
            (drawn >> 32) as u32 % CELLS,
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
