#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]
//! Work per CPU second of the delay model: `cargo bench -p netloom-loggops --bench delay [-- FILTER] [-- runs=N]`.
//!
//! Prints a row per case: minimum, median and maximum of millions of operations per CPU second, and messages per CPU second of the median. The programs
//! are graphs as GOAL files have them, made before the clock starts; a `stream` is read while it runs. Times are measured, never asserted.
//!
//! `-- write=DIR` writes the graphs as binary GOAL instead, with an experiment for each, to be run by `netloom run` and by other simulators.

use base::{
    index::RankId,
    rng::{Purpose, Stream},
    time::NS,
};
use loggops::{DelayConfig, DelaySetup, Ties, run::plain, simulate};
use std::{
    error::Error,
    fs::{self, File},
    io::BufWriter,
    path::Path,
    sync::Arc,
};
use workload::program::{
    After, Batch, Cursor, Damage, Op, Program,
    goal::write_binary,
    graph::{Graph, Link, Part, Positions},
    list::{List, Rank, calc, recv, send},
};

/// In round k every rank sends to the one 2^k after it.
fn dissemination(ranks: u32, bytes: u64) -> Vec<Rank> {
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

/// In every step all ranks of a torus of n x n compute, then exchange with their four neighbours.
fn halo(n: u32, steps: u32, bytes: u64) -> Vec<Rank> {
    let one = |r: u32| {
        let (x, y) = (r % n, r / n);
        let row = |y: u32, x: u32| y * n + x;
        let neighbours =
            [row(y, (x + 1) % n), row(y, (x + n - 1) % n), row((y + 1) % n, x), row((y + n - 1) % n, x)];
        let (mut rank, mut before) = (Rank::default(), Vec::new());
        for _ in 0..steps {
            let work = rank.push(calc(1_000_000));
            before.drain(..).for_each(|b| rank.requires(work, b));
            for (tag, &to) in (0u32..).zip(&neighbours) {
                for op in [recv(to, bytes, tag ^ 1), send(to, bytes, tag)] {
                    let number = rank.push(op);
                    rank.requires(number, work);
                    before.push(number);
                }
            }
        }
        rank
    };
    (0..n * n).map(one).collect()
}

/// Everybody sends to everybody at once.
fn alltoall(ranks: u32, bytes: u64) -> Vec<Rank> {
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

/// Sweeps over n x n ranks from alternating corners, as LU: blocking receives from two neighbours, computation, sends to the two others.
struct Wavefront {
    n: u32,
    planes: u32,
}

struct Plane {
    n: u32,
    rank: u32,
    plane: u32,
    planes: u32,
}

impl Program for Wavefront {
    fn ranks(&self) -> u32 {
        self.n * self.n
    }
    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        Box::new(Plane { n: self.n, rank: rank.number(), plane: 0, planes: self.planes })
    }
    fn describe(&self, _: RankId, origin: u32) -> String {
        format!("plane {origin}")
    }
    fn chained(&self) -> bool {
        true
    }
    fn largest_message(&self) -> Option<u64> {
        Some(280)
    }
}

impl Cursor for Plane {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        let (n, r) = (self.n, self.rank);
        let (x, y) = (r % n, r / n);
        for _ in 0..8.min(self.planes - self.plane) {
            let mut put = |op: Op| batch.ops.push(Op { after: After::Finish, origin: self.plane, ..op });
            let west = [(x > 0, r.wrapping_sub(1)), (y > 0, r.wrapping_sub(n))];
            let east = [(x + 1 < n, r + 1), (y + 1 < n, r + n)];
            let upper = self.plane / 64 % 2 == 1;
            let (from, to) = if upper { (east, west) } else { (west, east) };
            from.into_iter().filter(|p| p.0).for_each(|p| put(recv(p.1, 280, 0)));
            put(calc(200_000));
            to.into_iter().filter(|p| p.0).for_each(|p| put(send(p.1, 280, 0)));
            self.plane += 1;
        }
        Ok(())
    }
}

/// The same planes as a graph.
fn planes(n: u32, planes: u32) -> Vec<Rank> {
    let one = |rank: u32| {
        let (mut all, mut batch) = (Rank::default(), Batch::default());
        let mut plane = Plane { n, rank, plane: 0, planes };
        while plane.plane < planes {
            plane.fill(&mut batch).expect("it is made, not read");
            for op in batch.ops.drain(..) {
                let number = all.push(Op { after: After::Nothing, ..op });
                if number > 0 {
                    all.requires(number, number - 1);
                }
            }
        }
        all
    };
    (0..n * n).map(one).collect()
}

/// In every step each rank sends to another one and receives from one, drawn anew, and computes; every operation waits for one to three of the twelve before it.
fn drawn(ranks: u32, steps: u32) -> Vec<Rank> {
    let mut stream = Stream::new(7, Purpose::Test, 0);
    let mut all = vec![Rank::default(); ranks as usize];
    let mut order: Vec<u32> = (0..ranks).collect();
    for step in 0..steps {
        for i in (1..order.len()).rev() {
            order.swap(i, stream.below(i as u64 + 1) as usize);
        }
        for (i, &rank) in order.iter().enumerate() {
            let (to, from) = (order[(i + 1) % order.len()], order[(i + order.len() - 1) % order.len()]);
            let ops = [send(to, 512, step), recv(from, 512, step), calc(1_000 * (100 + stream.below(4_900)))];
            for op in ops {
                let rank = &mut all[rank as usize];
                let number = rank.push(op);
                for _ in 0..(1 + stream.below(3)).min(number) {
                    rank.requires(number, number - 1 - stream.below(number.min(12)));
                }
            }
        }
    }
    all
}

/// The graph of these ranks, as a file of GOAL has it.
fn graph(ranks: Vec<Rank>, config: DelayConfig) -> DelaySetup {
    let part = |rank: Rank| {
        let edges = rank.edges.iter().map(|e| Link::new(e.before as u32, e.after as u32, e.on_start));
        Part { edges: edges.collect(), ops: rank.ops.into() }
    };
    let parts = ranks.into_iter().map(part).collect();
    plain(Arc::new(Graph::new("bench", Positions::Operations, parts)), config)
}

struct Case {
    name: &'static str,
    setup: fn() -> DelaySetup,
}

fn free() -> DelayConfig {
    DelayConfig { ties: Ties::Causes, ..DelayConfig::loggops() }
}

fn list(ranks: Vec<Rank>, config: DelayConfig) -> DelaySetup {
    plain(Arc::new(List::new(ranks)), config)
}

fn wavefront(config: DelayConfig) -> DelaySetup {
    plain(Arc::new(Wavefront { n: 64, planes: 512 }), config)
}

const CASES: &[Case] = &[
    Case {
        name: "dissemination-16384 queue",
        setup: || graph(dissemination(16_384, 1024), DelayConfig::loggops()),
    },
    Case { name: "dissemination-16384 causes", setup: || graph(dissemination(16_384, 1024), free()) },
    Case {
        name: "dissemination-16384 stream",
        setup: || list(dissemination(16_384, 1024), DelayConfig::loggops()),
    },
    Case {
        name: "dissemination-65536 queue",
        setup: || graph(dissemination(65_536, 1024), DelayConfig::loggops()),
    },
    Case { name: "dissemination-65536 causes", setup: || graph(dissemination(65_536, 1024), free()) },
    Case { name: "all-to-all-512 queue", setup: || graph(alltoall(512, 64), DelayConfig::loggops()) },
    Case { name: "all-to-all-512 causes", setup: || graph(alltoall(512, 64), free()) },
    Case { name: "halo-16384 queue", setup: || graph(halo(128, 8, 1000), DelayConfig::loggops()) },
    Case { name: "wavefront-4096 queue", setup: || graph(planes(64, 60), DelayConfig::loggops()) },
    Case { name: "wavefront-4096 causes", setup: || graph(planes(64, 60), free()) },
    Case { name: "random-graph-2048 queue", setup: || graph(drawn(2_048, 200), DelayConfig::loggops()) },
    Case { name: "random-graph-2048 causes", setup: || graph(drawn(2_048, 200), free()) },
    Case { name: "wavefront-4096 stream", setup: || wavefront(DelayConfig::loggops()) },
    Case { name: "wavefront-4096 pure", setup: || wavefront(DelayConfig::pure(1_500_000, 0, 0)) },
];

/// Writes the graph of a case and an experiment that runs it.
fn write(case: &Case, folder: &Path) -> Result<(), Box<dyn Error>> {
    let name = case.name.trim_end_matches(" queue");
    let program = (case.setup)().jobs.remove(0).program;
    let mut file = BufWriter::new(File::create(folder.join(format!("{name}.bin")))?);
    write_binary(&*program, NS, &mut file).map_err(|_| format!("{name} cannot be written"))?;
    let experiment = format!(
        "[experiment]\nuntil = \"workload-done\"\n\n[[job]]\nworkload = \"trace\"\nfile = \"{name}.bin\"\nunit = \"1 ns\"\n\n\
         [model]\nkind = \"delay\"\n"
    );
    Ok(fs::write(folder.join(format!("{name}.toml")), experiment)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let runs = args.iter().find_map(|a| a.strip_prefix("runs=")?.parse().ok()).unwrap_or(3);
    if let Some(folder) = args.iter().find_map(|a| a.strip_prefix("write=")) {
        return CASES
            .iter()
            .filter(|c| c.name.ends_with(" queue"))
            .try_for_each(|c| write(c, folder.as_ref()));
    }
    let filter = args.iter().find(|a| !a.starts_with("runs="));
    println!(
        "{:28} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8}",
        "case (Mop/s)", "min", "median", "max", "Mmsg/s", "events/op", "MiB"
    );
    for case in CASES.iter().filter(|c| filter.is_none_or(|f| c.name.contains(f.as_str()))) {
        let setup = (case.setup)();
        let mut rates: Vec<f64> = Vec::new();
        let (mut events, mut messages, mut memory) = (0.0, 0.0, 0.0);
        for _ in 0..runs {
            let finished = simulate(&setup, &mut |_| true).expect("the case can be simulated");
            assert!(finished.stuck.is_done(), "{:?}", finished.stuck);
            let p = finished.summary.performance.expect("every run is measured");
            let seconds = p.cpu_s.unwrap_or(p.wall_s);
            rates.push(finished.operations as f64 / 1e6 / seconds);
            events = p.events as f64 / finished.operations as f64;
            memory = p.peak_rss_bytes.unwrap_or(0) as f64 / 1048576.0;
            messages =
                finished.summary.messages.map_or(0.0, |m| m.delivered as f64) / finished.operations as f64;
        }
        rates.sort_by(f64::total_cmp);
        let median = rates[rates.len() / 2];
        println!(
            "{:28} {:8.2} {median:8.2} {:8.2} {:8.2} {events:9.2} {memory:8.0}",
            case.name,
            rates[0],
            rates[rates.len() - 1],
            median * messages,
        );
    }
    Ok(())
}
