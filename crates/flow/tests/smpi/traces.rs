//! Random time-independent traces, replayed by `smpirun -replay` and here.

use super::{BOUND, ends, folder, platform};
use base::rng::{Purpose, Stream};
use std::{fmt::Write as _, fs, path::Path, process::Command};

/// `smpirun` prints microseconds.
const PRINTED: f64 = 2e-6;

/// Sizes about the thresholds of SMPI's messages and selectors; none as well.
const SIZES: [u64; 12] = [0, 1, 8, 100, 1_000, 5_000, 20_000, 65_535, 65_536, 100_000, 300_000, 1_000_000];

/// A trace of some actions, each by several ranks.
struct Trace {
    random: Stream,
    ranks: u64,
    text: String,
}

impl Trace {
    fn new(seed: u64) -> Self {
        let random = Stream::new(seed, Purpose::Test, 0);
        let mut trace = Self { random, ranks: 0, text: String::new() };
        trace.ranks = [2, 3, 4, 5, 6, 8, 9, 12][trace.random.below(8) as usize];
        trace.all(|_| "init".to_owned());
        trace.all(|rank| format!("compute {}", 1000 * (1 + rank)));
        for tag in 0..1 + trace.random.below(9) {
            trace.step(tag);
        }
        trace.all(|_| "finalize".to_owned());
        trace
    }

    fn line(&mut self, rank: u64, action: &str) {
        writeln!(self.text, "{rank} {action}").expect("memory");
    }

    fn all(&mut self, action: impl Fn(u64) -> String) {
        (0..self.ranks).for_each(|rank| self.line(rank, &action(rank)));
    }

    /// Draws a rank, and another one.
    fn pair(&mut self) -> (u64, u64) {
        let one = self.random.below(self.ranks);
        (one, (one + 1 + self.random.below(self.ranks - 1)) % self.ranks)
    }

    fn step(&mut self, tag: u64) {
        let size = SIZES[self.random.below(12) as usize];
        let (block, root) = (size / 4, self.random.below(self.ranks));
        let (ranks, work) = (self.ranks, self.random.below(5_000_000));
        let counts: Vec<u64> = (0..ranks).map(|rank| (block + 37 * rank) % 200_000).collect();
        let list = counts.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        match self.random.below(16) {
            0 => self.all(|rank| format!("compute {}", work * (1 + rank % 3))),
            1 => {
                let (from, to) = self.pair();
                self.line(from, &format!("send {to} {tag} {size}"));
                self.line(to, &format!("recv {from} {tag} {size}"));
            }
            2 => self.asynchronous(tag, size, work),
            3 => self.halo(tag, size),
            4 => self.all(|_| "barrier".to_owned()),
            5 => self.all(|_| format!("bcast {size} {root}")),
            6 => self.all(|_| format!("reduce {size} {work} {root}")),
            7 => self.all(|_| format!("allreduce {size} {work}")),
            8 => self.all(|_| format!("alltoall {block} {block}")),
            9 => self.all(|_| format!("allgather {block} {block}")),
            10 => self.all(|_| format!("gather {block} {block} {root}")),
            11 => self.all(|_| format!("scatter {block} {block} {root}")),
            12 => self.all(|rank| format!("allgatherv {} {list}", counts[rank as usize])),
            // Of two ranks what stands in the line can be read in two ways.
            13 | 14 if ranks == 2 => {}
            13 => self.all(|rank| format!("gatherv {} {list} {root}", counts[rank as usize])),
            14 => self.all(|rank| format!("scatterv {list} {} {root}", counts[rank as usize])),
            _ => self.all(|_| format!("reducescatter {list} {work}")),
        }
    }

    /// A message whose ranks compute meanwhile.
    fn asynchronous(&mut self, tag: u64, size: u64, work: u64) {
        let (from, to) = self.pair();
        self.line(from, &format!("isend {to} {tag} {size}"));
        self.line(to, &format!("irecv {from} {tag} {size}"));
        for rank in [from, to] {
            self.line(rank, &format!("compute {work}"));
            self.line(rank, &format!("wait {from} {to} {tag}"));
        }
    }

    /// Everybody exchanges with both neighbours of a ring.
    fn halo(&mut self, tag: u64, size: u64) {
        for rank in 0..self.ranks {
            let (left, right) = ((rank + self.ranks - 1) % self.ranks, (rank + 1) % self.ranks);
            let (up, down) = (100 + 2 * tag, 101 + 2 * tag);
            for action in [
                format!("irecv {left} {up} {size}"),
                format!("irecv {right} {down} {size}"),
                format!("isend {right} {up} {size}"),
                format!("isend {left} {down} {size}"),
                "waitall".to_owned(),
            ] {
                self.line(rank, &action);
            }
        }
    }

    /// When it ends on SMPI; none where there is none.
    fn on_smpi(&self, made: &Path) -> Option<f64> {
        fs::write(made.join("trace.txt"), &self.text).expect("written");
        fs::write(made.join("list"), "trace.txt\n").expect("written");
        fs::write(made.join("platform.xml"), platform(12)).expect("written");
        let ran = Command::new("smpirun")
            .current_dir(made)
            .args([
                "-np",
                &self.ranks.to_string(),
                "-replay",
                "list",
                "-platform",
                "platform.xml",
                "-hostfile",
            ])
            .arg(folder().join("hosts"))
            .output()
            .ok()?;
        let said = String::from_utf8_lossy(&ran.stderr).into_owned() + &String::from_utf8_lossy(&ran.stdout);
        let (_, time) =
            said.rsplit_once("Simulation time ").unwrap_or_else(|| panic!("{said}\n{}", self.text));
        time.split_whitespace().next()?.parse().ok()
    }

    fn here(&self, library: &str) -> f64 {
        ends("trace.txt", &self.text, &platform(12), library, |_| {})
    }
}

/// Forty traces; with `NETLOOM_LONG=1` two thousand. Algorithms of another library are found out by some of them.
#[test]
fn random_traces_end_when_they_do_on_smpi() {
    let made = tempfile::tempdir().expect("a folder");
    let count = if std::env::var_os("NETLOOM_LONG").is_some() { 2_000 } else { 40 };
    let mut others = 0;
    for seed in 0..count {
        let trace = Trace::new(seed);
        let Some(expected) = trace.on_smpi(made.path()) else {
            eprintln!("SKIPPED: no smpirun here; no trace is compared");
            return;
        };
        let off = |library| (trace.here(library) - expected).abs();
        let bound = PRINTED.max(BOUND * expected);
        assert!(
            off("smpi") < bound,
            "seed {seed}: {} s, on SMPI {expected} s\n{}",
            trace.here("smpi"),
            trace.text
        );
        others += u32::from(seed < 40 && off("openmpi") > bound);
    }
    assert!(others > 10, "{others} of 40 traces tell libraries apart");
}
