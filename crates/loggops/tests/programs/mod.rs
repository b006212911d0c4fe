//! Rank programs for tests: collectives as graphs, stencils, random graphs.

use base::rng::{Purpose, Stream};
use workload::program::{
    ANY_SOURCE, After, Kind, Op,
    list::{Rank, calc, recv, send},
};

/// In round k every rank sends to the one 2^k after it.
pub fn dissemination(ranks: u32, bytes: u64) -> Vec<Rank> {
    let one = |r: u32| {
        let mut rank = Rank::default();
        let mut last = None;
        for (round, d) in
            std::iter::successors(Some(1), |d| Some(d * 2)).take_while(|&d| d < ranks).enumerate()
        {
            let to = rank.push(send((r + d) % ranks, bytes, round as u32));
            let from = rank.push(recv((r + ranks - d) % ranks, bytes, round as u32));
            if let Some(before) = last {
                rank.requires(to, before);
                rank.requires(from, before);
            }
            last = Some(from);
        }
        rank
    };
    (0..ranks).map(one).collect()
}

/// Binomial tree from rank 0.
pub fn binomial(ranks: u32, bytes: u64) -> Vec<Rank> {
    let one = |r: u32| {
        let mut rank = Rank::default();
        let mut d = (r + 1).next_power_of_two();
        if d == r + 1 && r > 0 {
            // The largest power of two that is not above r.
            d = if r.is_power_of_two() { r * 2 } else { d };
        }
        let first = (r > 0).then(|| rank.push(recv(r - d / 2, bytes, 0)));
        while r + d < ranks {
            let to = rank.push(send(r + d, bytes, 0));
            if let Some(first) = first {
                rank.requires(to, first);
            }
            d *= 2;
        }
        rank
    };
    (0..ranks).map(one).collect()
}

/// Everybody sends to everybody at once.
pub fn alltoall(ranks: u32, bytes: u64) -> Vec<Rank> {
    let one = |r: u32| {
        let mut rank = Rank::default();
        for d in 1..ranks {
            rank.push(send((r + d) % ranks, bytes, 0));
        }
        for d in 1..ranks {
            rank.push(recv((r + d) % ranks, bytes, 0));
        }
        rank
    };
    (0..ranks).map(one).collect()
}

/// Everybody sends to rank 0 (or rank 0 to everybody).
pub fn star(ranks: u32, bytes: u64, inward: bool) -> Vec<Rank> {
    let mut all = vec![Rank::default(); ranks as usize];
    for r in 1..ranks {
        let (from, to) = if inward { (r, 0) } else { (0, r) };
        all[from as usize].push(send(to, bytes, 0));
        all[to as usize].push(recv(from, bytes, 0));
    }
    all
}

/// Steps of sending to the right, receiving from the left and computing.
pub fn ring(ranks: u32, bytes: u64, steps: u32) -> Vec<Rank> {
    let one = |r: u32| {
        let mut rank = Rank::default();
        let mut last = None;
        for step in 0..steps {
            let to = rank.push(send((r + 1) % ranks, bytes, step));
            let from = rank.push(recv((r + ranks - 1) % ranks, bytes, step));
            let work = rank.push(calc(500_000));
            if let Some(before) = last {
                rank.requires(to, before);
                rank.requires(from, before);
            }
            rank.requires(work, from);
            rank.requires(work, to);
            last = Some(work);
        }
        rank
    };
    (0..ranks).map(one).collect()
}

/// Planes that sweep over n x n ranks from one corner: blocking receives from west and north, blocking sends east and south.
pub fn wavefront(n: u32, bytes: u64, planes: u32) -> Vec<Rank> {
    let one = |r: u32| {
        let (x, y) = (r % n, r / n);
        let mut rank = Rank::default();
        let mut chain = |op: Op| {
            let next = rank.push(op);
            if next > 0 {
                rank.requires(next, next - 1);
            }
        };
        for plane in 0..planes {
            let around = [
                (x > 0, recv(r.wrapping_sub(1), bytes, plane)),
                (y > 0, recv(r.wrapping_sub(n), bytes, plane)),
            ];
            let onward = [(x + 1 < n, send(r + 1, bytes, plane)), (y + 1 < n, send(r + n, bytes, plane))];
            around.into_iter().filter(|a| a.0).for_each(|a| chain(a.1));
            chain(calc(700_000));
            onward.into_iter().filter(|a| a.0).for_each(|a| chain(a.1));
        }
        rank
    };
    (0..n * n).map(one).collect()
}

/// Exchange with four neighbours on a torus, then computation.
pub fn stencil(n: u32, bytes: u64, steps: u32) -> Vec<Rank> {
    let one = |r: u32| {
        let (x, y) = (r % n, r / n);
        let around =
            [(x + 1) % n + y * n, (x + n - 1) % n + y * n, x + (y + 1) % n * n, x + (y + n - 1) % n * n];
        let mut rank = Rank::default();
        let mut last = None;
        for step in 0..steps {
            let mut all = Vec::new();
            for (d, &peer) in around.iter().enumerate() {
                all.push(rank.push(recv(peer, bytes, step * 4 + (d as u32 ^ 1))));
            }
            for (d, &peer) in around.iter().enumerate() {
                all.push(rank.push(send(peer, bytes, step * 4 + d as u32)));
            }
            let work = rank.push(calc(3_000_000));
            for op in all {
                if let Some(before) = last {
                    rank.requires(op, before);
                }
                rank.requires(work, op);
            }
            last = Some(work);
        }
        rank
    };
    (0..n * n).map(one).collect()
}

/// A random program whose dependencies can be met (wildcards may still leave receives alone). `kind`: 1 and 3 with rendezvous, 2 and 3 with several processors and
/// interfaces.
pub fn random(seed: u64, kind: u32) -> Vec<Rank> {
    let mut r = Stream::new(seed, Purpose::Test, u64::from(kind));
    let mut draw = move |n: u64| r.below(n);
    let p = 2 + draw(12);
    let mut ranks = vec![Rank::default(); p as usize];
    let (cpus, nics) = if kind >= 2 { (1 + draw(3), 1 + draw(3)) } else { (1, 1) };
    let sizes: [u64; 4] = if kind % 2 == 1 { [1, 1024, 70_000, 100_000] } else { [1, 8, 500, 1024] };
    let (wild, regular, edges) = (draw(4) == 0, draw(2) == 0, draw(3));
    for _ in 0..5 + draw(60) {
        let (a, b) = (draw(p) as usize, draw(p) as usize);
        let size = draw(4) as usize;
        let tag = size as u32 * 3 + draw(2) as u32;
        let mut new = Vec::new();
        if a == b {
            new.push((a, calc(1000 * if regular { [0, 1000, 1500, 4000][size] } else { draw(20_000) })));
        } else {
            let from = if wild && draw(3) == 0 { ANY_SOURCE } else { a as u32 };
            new.extend([(a, send(b as u32, sizes[size], tag)), (b, recv(from, sizes[size], tag))]);
        }
        for (r, op) in new {
            let n = ranks[r].push(Op { cpu: draw(cpus) as u8, nic: draw(nics) as u8, ..op });
            for _ in 0..draw(edges + 1).min(n) {
                let before = if draw(2) == 0 { n - 1 } else { draw(n) };
                if draw(4) == 0 { ranks[r].follows(n, before) } else { ranks[r].requires(n, before) }
            }
        }
    }
    ranks
}

/// Ranks whose operations follow each other: computations, blocking and non-blocking transfers, waits for all. `mark`, a join with one predecessor, is
/// put somewhere into each.
pub fn chains(seed: u64, mark: Kind) -> Vec<Rank> {
    let mut r = Stream::new(seed, Purpose::Test, 77);
    let mut draw = move |n: u64| r.below(n);
    let p = 2 + draw(7);
    let mut ranks = vec![Rank::default(); p as usize];
    let mut then = vec![After::Nothing; p as usize];
    let mut open = vec![Vec::new(); p as usize];
    let steps = 5 + draw(80);
    let marks: Vec<u64> = (0..p).map(|_| draw(steps)).collect();
    for step in 0..steps {
        for at in (0..p as usize).filter(|&a| marks[a] == step) {
            ranks[at].push(Op { kind: mark, after: then[at], ..calc(0) });
            then[at] = After::Finish;
        }
        let (a, b) = (draw(p) as usize, draw(p) as usize);
        let tag = draw(2) as u32;
        if draw(4) == 0 {
            let join = ranks[a].push(Op { kind: Kind::Join, after: then[a], ..calc(0) });
            for before in open[a].drain(..) {
                ranks[a].requires(join, before);
            }
            then[a] = After::Finish;
        } else if draw(3) == 0 {
            ranks[a].push(Op { after: then[a], ..calc(100_000 * draw(40)) });
            then[a] = After::Finish;
        } else {
            ranks[a].push(Op { after: then[a], ..send(b as u32, draw(5_000), tag) });
            then[a] = if draw(2) == 0 { After::Start } else { After::Finish };
            let number = ranks[b].push(Op { after: then[b], ..recv(a as u32, 5_000, tag) });
            then[b] = if draw(2) == 0 { After::Start } else { After::Finish };
            if then[b] == After::Start {
                open[b].push(number);
            }
        }
    }
    ranks
}

/// Small cases with the longest makespan that LogGOPSim prints: name, program, parameter set, nanoseconds.
pub fn known() -> Vec<(&'static str, Vec<Rank>, usize, u64)> {
    vec![
        ("alltoall", alltoall(16, 1024), 0, 174_570),
        ("alltoall", alltoall(16, 1024), 1, 103_026),
        ("alltoall", alltoall(16, 1024), 2, 30_345),
        ("star in", star(24, 500, true), 0, 107_362),
        ("star in", star(24, 500, true), 1, 107_831),
        ("star in", star(24, 500, true), 2, 12_477),
        ("star out", star(24, 100_000, false), 0, 13_827_362),
        ("star out", star(24, 100_000, false), 1, 6_973_331),
        ("star out", star(24, 100_000, false), 2, 2_300_977),
        ("ring", ring(7, 100_000, 10), 0, 6_059_940),
        ("ring", ring(7, 100_000, 10), 1, 4_028_960),
        ("ring", ring(7, 100_000, 10), 2, 1_014_990),
        ("wavefront", wavefront(5, 280, 12), 0, 273_124),
        ("wavefront", wavefront(5, 280, 12), 1, 193_638),
        ("wavefront", wavefront(5, 280, 12), 2, 39_871),
        ("stencil", stencil(4, 2000, 6), 0, 437_856),
        ("stencil", stencil(4, 2000, 6), 1, 339_528),
        ("stencil", stencil(4, 2000, 6), 2, 89_976),
        ("dissemination", dissemination(64, 70_000), 0, 2_552_964),
        ("dissemination", dissemination(64, 70_000), 1, 1_694_376),
        ("dissemination", dissemination(64, 70_000), 2, 425_994),
        ("random, rendezvous and processors", random(12, 3), 0, 3_877_234),
        ("random, rendezvous and processors", random(12, 3), 1, 2_100_161),
        ("random, rendezvous and processors", random(12, 3), 2, 644_039),
        ("random, processors", random(5, 2), 0, 32_036),
        ("random, processors", random(5, 2), 1, 31_232),
        ("random, processors", random(5, 2), 2, 20_379),
        ("random", random(1, 0), 0, 68_408),
        ("random", random(1, 0), 1, 65_449),
        ("random", random(1, 0), 2, 24_758),
        ("binomial", binomial(1024, 1), 0, 55_000),
    ]
}
