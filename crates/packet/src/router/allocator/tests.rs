//! Allocators against what defines them, found by brute force.

use super::{ALLOCATORS, AllocatorEntry, Frame, Matching, Request};
use crate::router::arbiter::{ARBITERS, Arbiter};
use base::{hash::mix64, registry::find};

/// An allocator with its words, as a router keeps it.
struct Kept {
    entry: &'static AllocatorEntry,
    frame: Frame,
    words: Vec<u64>,
    matching: Matching,
}

impl Kept {
    fn new(name: &str, arbiter: Arbiter, rows: u32, columns: u32, iterations: u32) -> Self {
        let entry = find(ALLOCATORS, name).expect("a registered allocator");
        let frame = Frame {
            rows,
            columns,
            row_group: 2,
            column_group: 3,
            arbiter,
            iterations,
            memories: 1,
            name: 99,
            step: 0,
        };
        let matching = Matching::new(rows as usize, columns as usize);
        Self { entry, frame, words: vec![0; frame.words()], matching }
    }

    /// Allocates once; pairs that were granted.
    fn allocate(&mut self, requests: &[Request]) -> Vec<Request> {
        self.matching.requests.clear();
        self.matching.requests.extend_from_slice(requests);
        self.matching.allocate(self.entry.allocate, &self.frame, &self.words);
        for &(word, value) in &self.matching.changes {
            self.words[word] = value;
        }
        self.frame.step += 1;
        self.matching.grants.iter().map(|&n| self.matching.requests[n as usize]).collect()
    }
}

/// A matrix of requests of some density, by a number; levels up to `levels`.
fn matrix(seed: u64, rows: u32, columns: u32, density: u64, levels: u64) -> Vec<Request> {
    let mut all = Vec::new();
    for row in 0..rows {
        for column in 0..columns {
            let draw = mix64(mix64(seed) ^ u64::from(row * 64 + column));
            if draw % 100 < density {
                let (level, age) = ((draw >> 20) % levels, draw >> 30 & 0xffff);
                all.push(Request { row, column, level: level as u8, age, label: 0, memory: 0 });
            }
        }
    }
    all
}

fn full(ports: u32) -> Vec<Request> {
    matrix(1, ports, ports, 100, 1)
}

/// The most requests that can be granted together, by trying all: columns taken are bits.
fn most(requests: &[Request], rows: u32) -> usize {
    fn from(requests: &[Request], row: u32, rows: u32, taken: u32) -> usize {
        if row == rows {
            return 0;
        }
        let own = requests.iter().filter(|r| r.row == row && taken >> r.column & 1 == 0);
        let with = own.map(|r| 1 + from(requests, row + 1, rows, taken | 1 << r.column)).max();
        with.unwrap_or(0).max(from(requests, row + 1, rows, taken))
    }
    from(requests, 0, rows, 0)
}

fn is_maximal(requests: &[Request], grants: &[Request]) -> bool {
    requests.iter().all(|r| grants.iter().any(|g| g.row == r.row || g.column == r.column))
}

/// Random cases: seed, size, requests.
fn cases(levels: u64) -> impl Iterator<Item = (u64, (u32, u32), Vec<Request>)> {
    (0..400).map(move |seed| {
        let size = (1 + (mix64(seed) % 7) as u32, 1 + (mix64(seed + 1000) % 7) as u32);
        (seed, size, matrix(seed, size.0, size.1, 10 + mix64(seed) % 90, levels))
    })
}

#[test]
fn grants_are_matchings_of_requests() {
    for entry in ALLOCATORS {
        for arbiter in ARBITERS {
            for (seed, size, requests) in cases(3) {
                let mut kept =
                    Kept::new(entry.about.name, arbiter.arbiter, size.0, size.1, 1 + seed as u32 % 3);
                for _ in 0..3 {
                    let grants = kept.allocate(&requests);
                    let what = format!("{} {} case {seed}", entry.about.name, arbiter.about.name);
                    let mut seen = (0u32, 0u32);
                    for g in &grants {
                        assert!(requests.contains(g), "{what}: nobody asked");
                        let bits = (1 << g.row, 1 << g.column);
                        assert_eq!((seen.0 & bits.0, seen.1 & bits.1), (0, 0), "{what}: granted twice");
                        seen = (seen.0 | bits.0, seen.1 | bits.1);
                    }
                    assert_eq!(grants.is_empty(), requests.is_empty(), "{what}: somebody is served");
                }
            }
        }
    }
}

#[test]
fn with_enough_iterations_matchings_are_maximal() {
    for name in
        ["islip", "pim", "separable-input-first", "separable-output-first", "wavefront", "maximum-size"]
    {
        for arbiter in ARBITERS {
            for (seed, size, requests) in cases(1) {
                let mut kept = Kept::new(name, arbiter.arbiter, size.0, size.1, size.0.max(size.1));
                let grants = kept.allocate(&requests);
                assert!(is_maximal(&requests, &grants), "{name} {} case {seed}", arbiter.about.name);
            }
        }
    }
}

#[test]
fn maximum_size_is_the_maximum() {
    for (seed, size, requests) in cases(1) {
        let mut kept = Kept::new("maximum-size", Arbiter::RoundRobin, size.0, size.1, 1);
        for _ in 0..4 {
            assert_eq!(kept.allocate(&requests).len(), most(&requests, size.0), "case {seed}");
        }
    }
}

/// Requests of a higher level are served as if there were no others.
#[test]
fn levels_come_first() {
    for (seed, size, requests) in cases(2) {
        let high: Vec<Request> = requests.iter().copied().filter(|r| r.level == 0).collect();
        for name in ["wavefront", "maximum-size"] {
            let grants = Kept::new(name, Arbiter::RoundRobin, size.0, size.1, 1).allocate(&requests);
            let served: Vec<Request> = grants.iter().copied().filter(|g| g.level == 0).collect();
            if name == "wavefront" {
                assert!(is_maximal(&high, &served), "case {seed}");
            } else {
                // Rows of higher levels that were matched stay so, though perhaps to columns of lower ones.
                assert!(
                    grants.iter().filter(|g| high.iter().any(|r| r.row == g.row)).count()
                        >= most(&high, size.0),
                    "case {seed}"
                );
                assert_eq!(grants.len(), most(&requests, size.0), "case {seed}");
            }
        }
        // Who chooses first chooses something urgent if there is any.
        for name in ["islip", "separable-input-first", "separable-output-first", "pim"] {
            let rows = name == "separable-input-first";
            let grants = Kept::new(name, Arbiter::RoundRobin, size.0, size.1, 1).allocate(&requests);
            for g in grants.iter().filter(|g| g.level == 1) {
                let missed = high.iter().find(|r| if rows { r.row == g.row } else { r.column == g.column });
                assert_eq!(missed, None, "{name} case {seed}: {g:?}");
            }
        }
    }
}

/// Whoever is alone in wanting some column is served.
#[test]
fn lonely_outputs_are_served() {
    for (seed, size, requests) in cases(1) {
        let grants = Kept::new("loa", Arbiter::RoundRobin, size.0, size.1, 1).allocate(&requests);
        for r in &requests {
            if requests.iter().filter(|o| o.column == r.column).count() == 1 {
                assert!(grants.iter().any(|g| g.row == r.row), "case {seed}: {r:?}");
            }
        }
    }
}

/// With a full matrix the pointers of iSLIP drift apart: after a while one iteration matches everybody, and everybody is served once in N.
#[test]
fn pointers_of_islip_drift_apart() {
    for ports in [4, 16, 32] {
        let mut kept = Kept::new("islip", Arbiter::RoundRobin, ports, ports, 1);
        let requests = full(ports);
        assert_eq!(kept.allocate(&requests).len(), 1, "all point at the first");
        (0..ports * 2).for_each(|_| drop(kept.allocate(&requests)));
        let mut served = vec![0; (ports * ports) as usize];
        for _ in 0..ports {
            let grants = kept.allocate(&requests);
            assert_eq!(grants.len(), ports as usize);
            grants.iter().for_each(|g| served[(g.row * ports + g.column) as usize] += 1);
        }
        assert!(served.iter().all(|&n| n == 1), "{ports} ports: {served:?}");
    }
}

/// One iteration of PIM matches 1 - (1 - 1/N)^N of a full matrix, and leaves at most a quarter of the requests on average.
#[test]
fn pim_matches_what_chance_does() {
    for ports in [2u32, 4, 16, 32] {
        let mut kept = Kept::new("pim", Arbiter::RoundRobin, ports, ports, 1);
        let requests = full(ports);
        let rounds = 4000;
        let mut left = 0;
        let mut granted = 0;
        for _ in 0..rounds {
            let grants = kept.allocate(&requests);
            granted += grants.len();
            let open = ports as usize - grants.len();
            left += open * open;
        }
        let n = f64::from(ports);
        let (mean, expected) = (granted as f64 / f64::from(rounds), n * (1.0 - (1.0 - 1.0 / n).powf(n)));
        assert!((mean / expected - 1.0).abs() < 0.01, "{ports} ports: {mean}, {expected} expected");
        let left = left as f64 / f64::from(rounds) / (n * n);
        assert!(left <= 0.26, "{ports} ports: {left} of the requests are left");
    }
}

/// The wavefront is fair to a full matrix: each pair once in N allocations.
#[test]
fn the_wavefront_turns() {
    let requests = full(5);
    let mut kept = Kept::new("wavefront", Arbiter::RoundRobin, 5, 5, 1);
    let mut served = [0; 25];
    for _ in 0..5 {
        let grants = kept.allocate(&requests);
        assert_eq!(grants.len(), 5);
        grants.iter().for_each(|g| served[(g.row * 5 + g.column) as usize] += 1);
    }
    assert_eq!(served, [1; 25]);
}

/// Who of eight rows gets the one column, over many allocations.
fn winners(arbiter: Arbiter, rounds: usize, ages: impl Fn(usize, u32) -> u64) -> Vec<u32> {
    let mut kept = Kept::new("separable-input-first", arbiter, 8, 1, 1);
    let asked = |round| (0..8).map(move |row| (round, row));
    (0..rounds)
        .map(|round| {
            let requests: Vec<Request> = asked(round)
                .map(|(n, row)| Request { row, column: 0, level: 0, age: ages(n, row), label: 0, memory: 0 })
                .collect();
            kept.allocate(&requests)[0].row
        })
        .collect()
}

#[test]
fn arbiters_serve_as_they_say() {
    let same = |_: usize, _: u32| 5;
    assert_eq!(winners(Arbiter::RoundRobin, 10, same), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]);
    assert_eq!(winners(Arbiter::Matrix, 10, same), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]);
    assert_eq!(winners(Arbiter::Tree, 8, same), [0, 2, 4, 6, 1, 3, 5, 7], "groups of two take turns");
    assert_eq!(winners(Arbiter::Fixed, 4, same), [0; 4]);
    assert_eq!(winners(Arbiter::Age, 4, |n, row| u64::from((row + 5) % 8) + n as u64), [3; 4]);
    let drawn = winners(Arbiter::Random, 8000, same);
    for row in 0..8 {
        let share = drawn.iter().filter(|&&w| w == row).count();
        assert!((900..1100).contains(&share), "row {row} won {share} of 8,000");
    }
}

/// After a break, the matrix knows who waited longest; round robin only who was last.
#[test]
fn the_least_recently_served_wins() {
    let of = |rows: &[u32]| -> Vec<Request> {
        rows.iter().map(|&row| Request { row, column: 0, level: 0, age: 0, label: 0, memory: 0 }).collect()
    };
    for (arbiter, expected) in [(Arbiter::Matrix, 1), (Arbiter::RoundRobin, 2)] {
        let mut kept = Kept::new("separable-input-first", arbiter, 4, 1, 1);
        for row in [3, 0, 2, 1, 2, 0, 3, 1] {
            assert_eq!(kept.allocate(&of(&[row])).len(), 1);
        }
        kept.allocate(&of(&[2]));
        kept.allocate(&of(&[0]));
        kept.allocate(&of(&[3]));
        kept.allocate(&of(&[1]));
        let next = kept.allocate(&of(&[0, 2]))[0].row;
        assert_eq!(next, if arbiter == Arbiter::Matrix { 2 } else { expected });
    }
}
