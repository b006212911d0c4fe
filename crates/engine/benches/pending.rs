//! The pending-event set by the hold model: pop the least event, push one a random span later.
//!
//! `cargo bench -p netloom-engine --bench pending`. Compares the timing wheel with a binary heap of the same entries.
#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use base::rng::{Purpose, Stream};
use engine::{
    key::Key,
    wheel::{Entry, Wheel},
};
use std::{cmp::Reverse, collections::BinaryHeap, hint::black_box, time::Instant};

const HOLDS: u64 = 4_000_000;

trait Pending {
    fn add(&mut self, entry: Entry);
    fn take(&mut self) -> Entry;
}

impl Pending for Wheel {
    fn add(&mut self, entry: Entry) {
        self.push(entry);
    }
    fn take(&mut self) -> Entry {
        self.pop().expect("the set never runs dry")
    }
}

impl Pending for BinaryHeap<Reverse<Entry>> {
    fn add(&mut self, entry: Entry) {
        self.push(Reverse(entry));
    }
    fn take(&mut self) -> Entry {
        self.pop().expect("the set never runs dry").0
    }
}

/// Nanoseconds per hold with `pending` events whose spans are even over `0..2 * mean` picoseconds.
fn hold(set: &mut impl Pending, pending: u64, mean: u64) -> f64 {
    let mut random = Stream::new(1, Purpose::Test, pending);
    let spans: Vec<u64> = (0..1 << 16).map(|_| random.below(2 * mean) + 1).collect();
    for i in 0..pending {
        set.add(Entry { key: Key::new(spans[i as usize & 0xffff], 1, i, 7), token: i as u32 });
    }
    let start = Instant::now();
    for i in 0..HOLDS {
        let entry = black_box(set.take());
        let time = entry.key.time + spans[i as usize & 0xffff];
        set.add(Entry { key: Key::new(time, 1, entry.key.identity, 7), token: entry.token });
    }
    start.elapsed().as_nanos() as f64 / HOLDS as f64
}

fn main() {
    println!("{:>10} {:>14} {:>14} {:>7}", "pending", "wheel ns/hold", "heap ns/hold", "ratio");
    for pending in [300, 5_000, 50_000, 500_000] {
        let mean = 160_000;
        let median = |run: &dyn Fn() -> f64| {
            let mut times: Vec<f64> = (0..5).map(|_| run()).collect();
            times.sort_by(f64::total_cmp);
            times[2]
        };
        let wheel = median(&|| hold(&mut Wheel::new(7), pending, mean));
        let heap = median(&|| hold(&mut BinaryHeap::new(), pending, mean));
        println!("{pending:>10} {wheel:>14.1} {heap:>14.1} {:>7.2}", heap / wheel);
    }
}
