//! `netloom study haec-sim --verify`: every message of the 24 scenarios through two implementations.
//!
//! The first is Netloom's: the generators' operations, placements, distances and the delays of model `delay`. The second is
//! [`super::second`]. They are given the same means of windows. Ranks are dealt in blocks; with `--out` each finished block is written down, and
//! a run that is started again skips what is done.

use super::{
    scenarios::{self, NODES, Net, ours},
    second::{self, Application, Sends, Times},
};
use base::index::{RankId, TerminalId};
use fabric::metrics::Hops;
use netloom::{Error, ErrorKind};
use resilience::{Parameters, Protocol, means::Means};
use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    thread,
};
use workload::program::{Batch, Kind, Program};

/// Ranks of a block.
const BLOCK: u32 = 32;
/// Longest way in a mesh of 16 x 16 x 16.
const MOST_HOPS: u32 = 45;
/// File of finished blocks in the output directory.
const FILE: &str = "verified.txt";

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Messages, each counted once per scenario.
    pub messages: u64,
    /// Messages whose times differ, or that only one implementation sends.
    pub deviations: u64,
    /// Greatest difference in picoseconds.
    pub worst_ps: u64,
}

impl Verified {
    fn merge(&mut self, other: Self) {
        self.messages += other.messages;
        self.deviations += other.deviations;
        self.worst_ps = self.worst_ps.max(other.worst_ps);
    }
}

/// Delays of the three protocols.
pub fn means(samples: u64) -> Result<Vec<Means>, Error> {
    let one = |p: Protocol| Means::new(&Parameters::table2(p), MOST_HOPS, samples, 1).map_err(|m| ours(&m));
    Protocol::PAPER.into_iter().map(one).collect()
}

/// The means of windows as text, for hops that occur.
fn text(means: &[Means], hops: &std::collections::BTreeSet<u32>) -> String {
    let mut text = format!("unit {}\n", means[0].denominator() * means[0].scale());
    for (protocol, means) in Protocol::PAPER.into_iter().zip(means) {
        for &h in hops {
            let hop = means.hop(h);
            text += &format!("{} {h} {}", protocol.name(), hop.gate);
            hop.there.iter().for_each(|sum| text += &format!(" {sum}"));
            text.push('\n');
        }
    }
    text
}

/// A scenario of an application in both implementations.
struct Pair<'a> {
    /// Distances as the first knows them.
    distances: &'a Hops,
    /// Node of each rank in the first.
    first: Vec<TerminalId>,
    /// Node of each rank in the second.
    second: Vec<u32>,
    /// A torus; else a mesh.
    torus: bool,
}

/// Ready to compare.
pub struct Verification<'a> {
    programs: [std::sync::Arc<dyn Program>; 2],
    pairs: [Vec<Pair<'a>>; 2],
    means: &'a [Means],
    times: Times,
    /// Picoseconds that are added to the first's time of every message of this size: to see that it is found.
    pub planted: Option<(u64, u64)>,
}

impl<'a> Verification<'a> {
    /// Builds programs and mappings twice.
    ///
    /// # Errors
    /// None that a user could make.
    pub fn new(nets: &'a [Net], means: &'a [Means]) -> Result<Self, Error> {
        let programs = [scenarios::program(0)?, scenarios::program(1)?];
        let mut pairs = [Vec::new(), Vec::new()];
        let mut occurring = std::collections::BTreeSet::new();
        for (a, application) in [Application::Lu, Application::Bt].into_iter().enumerate() {
            for (n, net) in nets.iter().enumerate() {
                for mapping in 0..2 {
                    let s = scenarios::scenario(a, programs[a].as_ref(), n, net, mapping, 0)?;
                    occurring.extend(s.counts.keys().map(|k| k.1).filter(|&h| h > 0));
                    let torus = net.name == "torus";
                    let second = second::mapping(application, mapping == 1, torus);
                    pairs[a].push(Pair { distances: &net.hops, first: s.placed, second, torus });
                }
            }
        }
        let times = Times::read(&text(means, &occurring)).map_err(|m| ours(&m))?;
        Ok(Self { programs, pairs, means, times, planted: None })
    }

    /// Compares all that a rank sends, over all scenarios.
    ///
    /// # Errors
    /// If a program turns out to be damaged.
    pub fn rank(&self, application: usize, rank: u32) -> Result<Verified, Error> {
        let which = [Application::Lu, Application::Bt][application];
        let (mut second, mut all) = (Sends::of(which, rank), Verified::default());
        let (mut cursor, mut batch) = (self.programs[application].open(RankId::new(rank)), Batch::default());
        let scenarios = self.pairs[application].len() as u64 * self.means.len() as u64;
        loop {
            batch.clear();
            cursor.fill(&mut batch).map_err(|damage| ours(&damage.0))?;
            if batch.ops.is_empty() {
                break;
            }
            for op in batch.ops.iter().filter(|op| op.kind == Kind::Send) {
                all.messages += scenarios;
                if second.next() == Some((op.peer.number(), op.amount)) {
                    self.message(application, rank, op.peer.number(), op.amount, &mut all);
                } else {
                    all.deviations += scenarios;
                }
            }
        }
        let missing = second.count() as u64 * scenarios;
        all.messages += missing;
        all.deviations += missing;
        Ok(all)
    }

    fn message(&self, application: usize, rank: u32, peer: u32, bytes: u64, all: &mut Verified) {
        for Pair { distances, first, second, torus } in &self.pairs[application] {
            let hops = distances.between(first[rank as usize], first[peer as usize]);
            let again = second::hops(second[rank as usize], second[peer as usize], *torus);
            for (protocol, means) in self.means.iter().enumerate() {
                let mut ours = means.delay(hops, bytes);
                if let Some((size, more)) = self.planted.filter(|p| p.0 == bytes) {
                    debug_assert_eq!(size, bytes);
                    ours += more;
                }
                let theirs = self.times.time(protocol, again, bytes).unwrap_or(u64::MAX);
                if ours != theirs {
                    all.deviations += 1;
                    all.worst_ps = all.worst_ps.max(ours.abs_diff(theirs));
                }
            }
        }
    }

    /// Compares the ranks that leave `first` when divided by `every` (0 and 1: all) of both applications, in blocks over all processors. `progress` hears
    /// after each block how many of how many are done, and ends the run by returning false.
    ///
    /// # Errors
    /// If finished blocks cannot be read or written.
    pub fn run(
        &self,
        first: u32,
        every: u32,
        out: Option<&Path>,
        progress: &(dyn Fn(u32, u32) -> bool + Sync),
    ) -> Result<Verified, Error> {
        let key = format!(
            "netloom haec-sim verification: samples {}, every {every} from {first}",
            self.means[0].denominator()
        );
        let done = out.map_or_else(|| Ok(BTreeMap::new()), |dir| read(&dir.join(FILE), &key))?;
        let file = out.map(|dir| open(dir, &key, &done)).transpose()?.map(Mutex::new);
        let mut all = Verified::default();
        done.values().for_each(|v| all.merge(*v));
        let blocks = NODES / BLOCK;
        let (next, finished) = (AtomicU32::new(0), AtomicU32::new(done.len() as u32));
        let work = || -> Result<Verified, Error> {
            let mut mine = Verified::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= 2 * blocks {
                    return Ok(mine);
                }
                if done.contains_key(&number) {
                    continue;
                }
                let (application, begin) = ((number / blocks) as usize, number % blocks * BLOCK);
                let mut block = Verified::default();
                for rank in (begin..begin + BLOCK).filter(|r| r % every == first) {
                    block.merge(self.rank(application, rank)?);
                }
                if let Some(file) = &file {
                    let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    file.write_all(line(number, &block).as_bytes())
                        .and_then(|()| file.flush())
                        .map_err(|e| unwritable(&e))?;
                }
                mine.merge(block);
                if !progress(finished.fetch_add(1, Ordering::Relaxed) + 1, 2 * blocks) {
                    next.store(2 * blocks, Ordering::Relaxed);
                }
            }
        };
        let others = thread::available_parallelism().map_or(1, usize::from) - 1;
        thread::scope(|scope| {
            let handles: Vec<_> = (0..others).map(|_| scope.spawn(work)).collect();
            all.merge(work()?);
            for handle in handles {
                all.merge(handle.join().map_err(|_| ours("a thread panicked"))??);
            }
            Ok(all)
        })
    }
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Output, format!("cannot keep what is verified: {error}"))
}

/// The file, written anew with what is done, to be written on: a torn line is gone.
fn open(dir: &Path, key: &str, done: &BTreeMap<u32, Verified>) -> Result<fs::File, Error> {
    fs::create_dir_all(dir).map_err(|e| unwritable(&e))?;
    let path: PathBuf = dir.join(FILE);
    let mut text = format!("{key}\n");
    done.iter().for_each(|(&number, v)| text += &line(number, v));
    fs::write(&path, text).map_err(|e| unwritable(&e))?;
    fs::OpenOptions::new().append(true).open(path).map_err(|e| unwritable(&e))
}

fn line(number: u32, v: &Verified) -> String {
    format!("{number} {} {} {}\n", v.messages, v.deviations, v.worst_ps)
}

/// Finished blocks of a run with the same key. The last line may be torn: it is then done again.
fn read(path: &Path, key: &str) -> Result<BTreeMap<u32, Verified>, Error> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(e) => return Err(Error::new(ErrorKind::Input, format!("cannot read `{}`: {e}", path.display()))),
    };
    let mut lines = text.split_inclusive('\n');
    if lines.next().map(str::trim_end) != Some(key) {
        let message = format!("`{}` is of another verification", path.display());
        return Err(
            Error::new(ErrorKind::Usage, message).with_help("choose another directory, or remove the file")
        );
    }
    let whole = lines.filter(|line| line.ends_with('\n'));
    let parsed = whole.filter_map(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|w| w.parse().ok()).collect();
        match numbers.as_slice() {
            &[number, messages, deviations, worst_ps] => {
                Some((number as u32, Verified { messages, deviations, worst_ps }))
            }
            _ => None,
        }
    });
    Ok(parsed.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_implementation_knows_the_standard_library_alone() {
        let source = include_str!("second.rs");
        let uses: Vec<&str> = source.lines().filter(|l| l.trim_start().starts_with("use ")).collect();
        assert_eq!(uses, ["use std::collections::{BTreeMap, VecDeque};"]);
        for other in ["crate::", "super::", "base::", "model::", "workload::", "fabric::"] {
            assert!(!source.contains(other), "{other}");
        }
    }

    /// A sample of ranks: no deviation; and one planted picosecond is found in every message that has it.
    #[test]
    fn both_implementations_agree_and_a_picosecond_is_found() {
        let (nets, means) = (scenarios::nets().unwrap(), means(64).unwrap());
        let mut verification = Verification::new(&nets, &means).unwrap();
        let lu = verification.rank(0, 2047).unwrap();
        assert_eq!((lu.deviations, lu.worst_ps), (0, 0));
        assert_eq!(lu.messages % 12, 0);
        let bt = verification.rank(1, 77).unwrap();
        // 251 steps with 6 x 63 messages, 252 exchanges with 6 partners, 12 scenarios.
        assert_eq!((bt.messages, bt.deviations), (12 * (251 * 378 + 252 * 6), 0));
        verification.planted = Some((1960, 1));
        let bt = verification.rank(1, 77).unwrap();
        assert_eq!((bt.deviations, bt.worst_ps), (12 * 251 * 3 * 63, 1));
    }

    /// A run that ends early, its last line torn, and goes on finds what a run in one piece finds, a planted picosecond included.
    #[test]
    fn a_run_that_was_killed_goes_on() {
        let (nets, means) = (scenarios::nets().unwrap(), means(16).unwrap());
        let mut verification = Verification::new(&nets, &means).unwrap();
        verification.planted = Some((3264, 1));
        // Rank 1 of both applications.
        let whole = verification.run(1, NODES, None, &|_, _| true).unwrap();
        // Of LU it lies in column 0 and sends one line of 3,264 B.
        assert_eq!((whole.deviations, whole.worst_ps), (12, 1));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let part = verification.run(1, NODES, Some(directory.path()), &|done, _| done < 1).unwrap();
        assert!(part.messages < whole.messages);
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("200 1");
        fs::write(&path, text).unwrap();
        let (count, lines) = (AtomicU32::new(0), fs::read_to_string(&path).unwrap().lines().count() as u32);
        let resumed = verification.run(1, NODES, Some(directory.path()), &|_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            true
        });
        assert_eq!(resumed.unwrap(), whole);
        assert_eq!(count.load(Ordering::Relaxed) + lines - 2, 2 * NODES / BLOCK);
        // All is done: nothing is computed again.
        assert_eq!(
            verification.run(1, NODES, Some(directory.path()), &|_, _| panic!("again")).unwrap(),
            whole
        );
    }

    #[test]
    fn a_run_goes_on_where_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE);
        let key = "key";
        assert!(read(&path, key).unwrap().is_empty());
        fs::write(&path, "key\n3 120 0 0\n4 60 2 1\n5 7").unwrap();
        let done = read(&path, key).unwrap();
        assert_eq!(done.keys().copied().collect::<Vec<_>>(), [3, 4]);
        assert_eq!(done[&4], Verified { messages: 60, deviations: 2, worst_ps: 1 });
        drop(open(directory.path(), key, &done).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "key\n3 120 0 0\n4 60 2 1\n");
        assert!(read(&path, "other").is_err());
    }
}
