//! Handlers that fail in states that never were: a job that is met twice at the same hop. Ahead of what is certain that happens, and is taken back.

use base::{
    hash::{Fingerprint, mix64},
    time::Ps,
};
use engine::{
    domain::{Domain, Effects, Lane, Observer},
    executor::{Executor, Options, Stop, Threads},
    key::Class,
    state::{Journal, Table},
    warp::{Optimism, Speculation},
};
use serde::{Deserialize, Serialize};

const LPS: u32 = 24;
const JOBS: u32 = 48;
const LOOKAHEAD: Ps = 20;
const OPTIONS: Options = Options { tie_seed: 5, wheel_shift: 4 };

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Job {
    lp: u32,
    id: u32,
    hops: u32,
}

/// A partition. Where a job goes next depends on all jobs that its LP has seen, so one that comes late sends others elsewhere.
struct Strict {
    first: u32,
    partitions: u32,
    /// What each LP has seen.
    sums: Table<u64>,
    /// The hop at which each job was met here last.
    hops: Table<u32>,
    /// No table: what the present event has in hand. Empty between events.
    hand: Vec<u32>,
    /// A planted fault: what a failed event had in hand stays there.
    keeps: bool,
}

#[derive(Default)]
struct Print(Fingerprint, u64);

impl Observer<(Ps, u32, u64)> for Print {
    fn commit(&mut self, &(time, lp, sum): &(Ps, u32, u64)) {
        self.0.add(time, u64::from(lp), 0, sum);
        self.1 += 1;
    }
}

/// Every fourth job is no part of the network.
fn lane(id: u32) -> Lane {
    if id.is_multiple_of(4) { Lane::Steady } else { Lane::Network }
}

fn owner(lp: u32, partitions: u32) -> u32 {
    lp * partitions / LPS
}

impl Domain for Strict {
    type Message = Job;
    type Record = (Ps, u32, u64);

    fn start(&mut self, effects: &mut impl Effects<Self>) {
        let me = owner(self.first, self.partitions);
        for id in 0..JOBS {
            let lp = id % LPS;
            if (self.first..self.first + self.sums.len() as u32).contains(&lp) {
                let job = Job { lp, id, hops: 1 };
                effects.send(me, lane(id), 10, Class::Ordinary, u64::from(id), job);
            }
        }
    }

    fn wake(&mut self, token: u32, _: &mut impl Effects<Self>) {
        let sum = self.sums.edit(token);
        *sum = mix64(*sum);
    }

    fn receive(&mut self, job: &Job, effects: &mut impl Effects<Self>) {
        assert!(self.hand.is_empty(), "the event before left something in hand");
        self.hand.push(job.id);
        let last = std::mem::replace(self.hops.edit(job.id), job.hops);
        assert!(last < job.hops, "job {} was here at hop {last}, and comes at {}", job.id, job.hops);
        let local = job.lp - self.first;
        let sum = self.sums.edit(local);
        *sum = mix64(*sum ^ u64::from(job.id));
        let drawn = *sum;
        effects.record((effects.now(), job.lp, drawn));
        let (now, id, lane) = (effects.now(), u64::from(job.id), lane(job.id));
        if drawn.is_multiple_of(3) {
            effects.wake(now + 7, Class::Early, id, local);
        }
        let next = Job { lp: (drawn % u64::from(LPS)) as u32, hops: job.hops + 1, ..*job };
        let delay = LOOKAHEAD * (1 + drawn % 5) + drawn % 3;
        effects.send(owner(next.lp, self.partitions), lane, now + delay, Class::Ordinary, id, next);
        self.hand.clear();
    }

    fn abandon(&mut self) {
        if !self.keeps {
            self.hand.clear();
        }
    }

    fn visit_journals(&mut self, visit: &mut dyn FnMut(&mut dyn Journal)) {
        visit(&mut self.sums);
        visit(&mut self.hops);
    }

    fn lookahead(&self, _: u32) -> Option<Ps> {
        Some(LOOKAHEAD)
    }
}

fn parts(partitions: u32, keeps: bool) -> Vec<(Strict, Print)> {
    let part = |p| {
        let mine: Vec<u32> = (0..LPS).filter(|&lp| owner(lp, partitions) == p).collect();
        let (sums, hops) = (Table::new(mine.len(), 0), Table::new(JOBS as usize, 0));
        (Strict { first: mine[0], partitions, sums, hops, hand: Vec::new(), keeps }, Print::default())
    };
    (0..partitions).map(part).collect()
}

fn summary(executor: &Executor<Strict, Print>) -> (Fingerprint, u64) {
    let mut total = (Fingerprint::default(), 0);
    for p in &executor.partitions {
        total.0.merge(p.observer.0);
        total.1 += p.observer.1;
    }
    total
}

fn ahead(partitions: u32, count: u32, keeps: bool) -> ((Fingerprint, u64), Speculation) {
    let threads = Threads { count, ..Threads::ONE };
    let optimism = Optimism { bound: Some(20_000), batch: 500, ..Optimism::default() };
    let mut executor = Executor::optimistic(parts(partitions, keeps), OPTIONS, threads, optimism);
    assert_eq!(executor.run_until(50_000, u64::MAX), Stop::End);
    (summary(&executor), executor.speculation().expect("it runs ahead"))
}

#[test]
fn failures_in_wrong_states_are_taken_back() {
    let mut one = Executor::new(parts(1, false), OPTIONS);
    assert_eq!(one.run_until(50_000, u64::MAX), Stop::End);
    let one = summary(&one);
    assert!(one.1 > 20_000, "{} jobs", one.1);
    let mut failures = 0;
    for (partitions, threads) in [(2, 2), (6, 2), (12, 4), (24, 3)] {
        let (answer, speculation) = ahead(partitions, threads, false);
        assert_eq!(answer, one, "{partitions} partitions, {threads} threads: {speculation:?}");
        failures += speculation.failures;
    }
    assert!(failures > 0, "no handler met a state that never was: the test shows nothing");
}

/// What a failed event leaves beside its tables spoils those after it.
#[test]
fn what_is_not_abandoned_is_found() {
    let caught = std::panic::catch_unwind(|| (0..20).map(|_| ahead(12, 4, true).1.failures).sum::<u64>());
    assert!(caught.is_err(), "{} failures, and none was heard", caught.unwrap_or_default());
}
