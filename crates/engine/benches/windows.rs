//! What it costs threads to meet: partitions that wake once in each window and send nothing.
//!
//! `cargo bench -p netloom-engine --bench windows`. A window of the conservative scheduler holds one event per thread, so its time
//! less that of an event in one thread is the cost of meeting: announcing, waiting, reading, finding the next bound.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use base::time::Ps;
use engine::{
    domain::{Domain, Effects, Observer},
    executor::{Executor, Options, Threads},
    key::Class,
    state::Journal,
};
use std::time::Instant;

const STEP: Ps = 1000;
const WINDOWS: u64 = 300_000;
const RUNS: usize = 15;

/// Wakes every [`STEP`] and promises others as much.
struct Ticker {
    me: u64,
}

impl Domain for Ticker {
    type Message = u64;
    type Record = ();

    fn start(&mut self, effects: &mut impl Effects<Self>) {
        effects.wake(STEP, Class::Ordinary, self.me, 0);
    }

    fn wake(&mut self, token: u32, effects: &mut impl Effects<Self>) {
        effects.wake(effects.now() + STEP, Class::Ordinary, self.me, token);
    }

    fn receive(&mut self, _: &u64, _: &mut impl Effects<Self>) {}

    fn visit_journals(&mut self, _: &mut dyn FnMut(&mut dyn Journal)) {}

    fn lookahead(&self, _: u32) -> Option<Ps> {
        Some(STEP)
    }
}

struct Nothing;

impl Observer<()> for Nothing {
    fn commit(&mut self, (): &()) {}
}

/// Nanoseconds per step of `parts` tickers, in as many threads or in one, and windows.
fn run(parts: u64, threads: Threads) -> (f64, u64) {
    let domains = (0..parts).map(|me| (Ticker { me }, Nothing));
    let mut executor = Executor::with_threads(domains, Options { tie_seed: 1, wheel_shift: 10 }, threads);
    let start = Instant::now();
    executor.run_until(WINDOWS * STEP, u64::MAX);
    (start.elapsed().as_nanos() as f64 / WINDOWS as f64, executor.windows())
}

/// Least and median of several runs.
fn spread(mut measure: impl FnMut() -> f64) -> (f64, f64) {
    let mut times: Vec<f64> = (0..RUNS).map(|_| measure()).collect();
    times.sort_by(f64::total_cmp);
    (times[0], times[RUNS / 2])
}

fn main() {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let (event, _) = spread_of(1, Threads::ONE);
    println!("an event in one thread: {event:.0} ns");
    println!(
        "{:>8} {:>7} {:>26} {:>26}",
        "threads", "pinned", "window, ns (min / median)", "meeting, ns (min / median)"
    );
    for count in (2..=cores.min(16)).filter(|n| n.is_power_of_two() || *n == cores) {
        for pin in [false, true] {
            let (least, median) = spread_of(count, Threads { count: count as u32, pin, ..Threads::ONE });
            println!(
                "{count:>8} {pin:>7} {least:>17.0} / {median:>6.0} {:>17.0} / {:>6.0}",
                least - event,
                median - event
            );
        }
    }
}

fn spread_of(parts: u64, threads: Threads) -> (f64, f64) {
    spread(|| {
        let (time, windows) = run(parts, threads);
        assert!(threads.count == 1 || windows >= WINDOWS - 1, "a window per step");
        time
    })
}
