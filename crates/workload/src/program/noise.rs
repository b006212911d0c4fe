//! Noise: computations that do not take the time that was recorded.
//!
//! A program is wrapped, and each of its computations gets another length. What it depends on is not touched, so all models take it as it is.
//!
//! | model | a computation of A takes |
//! | --- | --- |
//! | jitter j | A (1 + x), x uniform from -j to j: drawn by rank and number of the operation |
//! | interruptions | A and the lengths of all interruptions that fall into it |
//!
//! Interruptions were measured on a processor and repeat. They are placed on the clock of a rank's own computing, which stands still while the rank waits
//! or communicates; each rank begins at a drawn place of the list. So with N(c) as the sum of all interruptions up to c, a computation from c to c + A takes
//! A + N(c + A) - N(c), however it is cut into pieces. Not modelled: interruptions of communication, and those that strike all ranks at once.
//!
//! Cost: one draw, and a search in the list, for each computation.

use super::{Batch, Cursor, Damage, Kind, Program, Remark, mpi::Counted};
use crate::text;
use base::{
    index::RankId,
    mistakes::Mistakes,
    param::{Built, Kind as ValueKind, Param, Unread, Value, Values},
    rng::{Purpose, Stream},
    time::Ps,
    units,
};
use std::sync::Arc;

/// Parts per billion in one.
const WHOLE: u64 = 1_000_000_000;
/// Most interruptions that are read.
const MOST: usize = 1 << 22;

/// Width of the jitter.
pub const NOISE: Param = Param {
    name: "noise",
    kind: ValueKind::Real { min: 0.0, max: 1.0 },
    default: Some(""),
    doc: "Programs: each computation takes its time by a random factor, uniform from 1 - `noise` to 1 + `noise`, by seed, rank and operation.",
};
/// File of interruptions.
pub const NOISE_FILE: Param = Param {
    name: "noise_file",
    kind: ValueKind::File,
    default: Some(""),
    doc: "Programs: measured interruptions of a processor, which lengthen computations. A line is `begin length`, both times with a unit or in nanoseconds; what follows a # is a \
          comment. The list repeats behind its last interruption. Each rank begins at a random place of it; its clock stands still while the rank does not compute.",
};

/// Interruptions on a clock of computing, repeating.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruptions {
    /// Computing before each, ascending, and the sum of the lengths up to it.
    at: Vec<(Ps, Ps)>,
    /// Computing in one round of the list.
    round: Ps,
}

impl Interruptions {
    /// Of beginnings and lengths, in the time that was measured. Fails with the index of an interruption that begins before the one before it has ended, or
    /// with none if no time is left for computing or all lengths together do not fit.
    fn new(list: &[(Ps, Ps)]) -> Result<Self, Option<usize>> {
        let (mut at, mut sum, mut end) = (Vec::with_capacity(list.len()), 0u64, 0u64);
        for (n, &(begin, length)) in list.iter().enumerate() {
            if begin < end {
                return Err(Some(n));
            }
            let before = begin - sum;
            end = begin.checked_add(length).ok_or(Some(n))?;
            sum = sum.checked_add(length).ok_or(Some(n))?;
            at.push((before, sum));
        }
        match at.last() {
            Some(&(round, _)) if round > 0 => Ok(Self { at, round }),
            _ => Err(None),
        }
    }

    /// Sum of all interruptions until a rank has computed for so long, from the list's beginning.
    fn until(&self, computed: u128) -> u128 {
        let (rounds, rest) = (computed / u128::from(self.round), (computed % u128::from(self.round)) as u64);
        let passed = self.at.partition_point(|&(at, _)| at <= rest);
        let within = passed.checked_sub(1).map_or(0, |n| self.at[n].1);
        let all = self.at.last().map_or(0, |a| a.1);
        rounds * u128::from(all) + u128::from(within)
    }

    /// Reads a file of interruptions. `path` and `key` name it in problems.
    ///
    /// # Errors
    /// Everything that is wrong with it, by line and word.
    pub fn read(content: &str, path: &str, key: &str) -> Built<Self> {
        let (mut list, mut lines, mut problems) = (Vec::new(), Vec::new(), Mistakes::default());
        for (number, full) in content.lines().enumerate() {
            let stated = full.split('#').next().unwrap_or("").trim();
            if stated.is_empty() {
                continue;
            }
            if list.len() == MOST {
                return Err(text::whole(path, key, format!("there are more than {MOST} interruptions")));
            }
            match interruption(stated) {
                Ok(pair) => {
                    list.push(pair);
                    lines.push((number, full, stated));
                }
                Err((word, message)) => {
                    problems.push(text::at(path, key, number as u64 + 1, full, word, message));
                }
            }
        }
        problems.done(|others| text::one(path, key, others.message).count(others.count))?;
        Self::new(&list).map_err(|wrong| match wrong {
            Some(n) => {
                let (number, full, stated) = lines[n];
                let message = "an interruption begins before the one before it has ended, or ends too late";
                vec![text::at(path, key, number as u64 + 1, full, stated, message.to_owned())]
            }
            None => text::whole(path, key, "the list leaves no time for computing: a line is `begin length`"),
        })
    }
}

/// Beginning and length of a line, or which of its words is wrong and why.
fn interruption(line: &str) -> Result<(Ps, Ps), (&str, String)> {
    let words: Vec<&str> = line.split([' ', '\t', ',']).filter(|word| !word.is_empty()).collect();
    let [begin, length] = words[..] else {
        // A line of commas has no words.
        let wrong = words.get(2).or(words.last()).copied().unwrap_or(line);
        return Err((wrong, "a line is `begin length`, as in `1000.5 2us`".to_owned()));
    };
    Ok((time(begin)?, time(length)?))
}

/// A time with a unit, or a number of nanoseconds.
fn time(word: &str) -> Result<Ps, (&str, String)> {
    match word.parse::<f64>() {
        Ok(ns) if (0.0..=1e15).contains(&ns) => Ok((ns * 1e3).round() as Ps),
        Ok(_) => Err((word, format!("`{word}` is no time from 0 to 10^15 ns"))),
        Err(_) => units::parse_time(word).map_err(|e| (word, e.message)),
    }
}

/// What makes the computations of a job differ from their recorded times.
#[derive(Clone, Debug)]
pub struct Noise {
    /// Largest share that jitter adds or takes away, in parts per billion.
    jitter: u64,
    interruptions: Option<Arc<Interruptions>>,
    /// Factor on every computation before all else, in parts per billion.
    factor: u64,
    seed: u64,
    job: u32,
}

impl Noise {
    /// What a job's keys ask for: nothing, if there are none. `factor` is the job's own on computations, in parts per billion; it comes before the noise.
    ///
    /// # Errors
    /// A file that cannot be read or has errors.
    pub fn read(values: &Values, factor: u64, seed: u64, job: u32) -> Built<Option<Self>> {
        let jitter = match values.0.get(NOISE.name) {
            Some(Value::Real(width)) => (width * WHOLE as f64).round() as u64,
            _ => 0,
        };
        let interruptions = match values.0.get(NOISE_FILE.name) {
            Some(Value::Text(path)) => {
                let content = text::read(path, NOISE_FILE.name)?;
                Some(Arc::new(Interruptions::read(&content, path, NOISE_FILE.name)?))
            }
            _ => None,
        };
        let some = jitter > 0 || interruptions.is_some();
        Ok(some.then_some(Self { jitter, interruptions, factor, seed, job }))
    }

    /// The same program with noise.
    #[must_use]
    pub fn on(self, program: Arc<dyn Program>) -> Arc<dyn Program> {
        Arc::new(Noisy { inner: program, noise: self })
    }

    fn owner(&self, rank: RankId) -> u64 {
        u64::from(self.job) << 32 | u64::from(rank.number())
    }

    /// How long a rank's n-th operation computes, and what it adds to the clock of the rank's computing.
    fn length(&self, amount: Ps, draws: &Stream, clock: &mut u128) -> Ps {
        let own = u128::from(amount) * u128::from(self.factor) + u128::from(WHOLE / 2);
        let mut own = u64::try_from(own / u128::from(WHOLE)).unwrap_or(u64::MAX);
        if self.jitter > 0 {
            let factor = WHOLE - self.jitter + draws.clone().below(2 * self.jitter + 1);
            let wide = u128::from(own) * u128::from(factor) + u128::from(WHOLE / 2);
            own = u64::try_from(wide / u128::from(WHOLE)).unwrap_or(u64::MAX);
        }
        let Some(interruptions) = &self.interruptions else { return own };
        let before = interruptions.until(*clock);
        *clock += u128::from(own);
        u64::try_from(interruptions.until(*clock) - before + u128::from(own)).unwrap_or(u64::MAX)
    }
}

/// A program with noise.
struct Noisy {
    inner: Arc<dyn Program>,
    noise: Noise,
}

impl Noisy {
    fn cursor(&self, rank: RankId, inner: Box<dyn Cursor>) -> Box<dyn Cursor> {
        let noise = self.noise.clone();
        let owner = noise.owner(rank);
        let mut place = Stream::new(noise.seed, Purpose::Noise, owner | 1 << 63);
        let clock = noise.interruptions.as_ref().map_or(0, |list| u128::from(place.below(list.round)));
        Box::new(NoisyCursor { inner, noise, owner, clock, next: 0 })
    }
}

struct NoisyCursor {
    inner: Box<dyn Cursor>,
    noise: Noise,
    owner: u64,
    /// What the rank has computed, from a drawn place of the list of interruptions.
    clock: u128,
    /// Number of the next operation.
    next: u64,
}

impl Cursor for NoisyCursor {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        let from = batch.ops.len();
        self.inner.fill(batch)?;
        let draws = Stream::new(self.noise.seed, Purpose::Noise, self.owner);
        for op in &mut batch.ops[from..] {
            if op.kind == Kind::Calc {
                let mut draws = draws;
                draws.counter = self.next;
                op.amount = self.noise.length(op.amount, &draws, &mut self.clock);
            }
            self.next += 1;
        }
        Ok(())
    }
}

impl Program for Noisy {
    fn ranks(&self) -> u32 {
        self.inner.ranks()
    }

    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        self.cursor(rank, self.inner.open(rank))
    }

    fn open_noted(&self, rank: RankId) -> Box<dyn Cursor> {
        self.cursor(rank, self.inner.open_noted(rank))
    }

    fn cpus(&self) -> u8 {
        self.inner.cpus()
    }

    fn starts_in_past(&self) -> bool {
        self.inner.starts_in_past()
    }

    fn nics(&self) -> u8 {
        self.inner.nics()
    }

    fn describe(&self, rank: RankId, origin: u32) -> String {
        self.inner.describe(rank, origin)
    }

    fn collectives(&self) -> &[String] {
        self.inner.collectives()
    }

    fn largest_message(&self) -> Option<u64> {
        self.inner.largest_message()
    }

    fn chained(&self) -> bool {
        self.inner.chained()
    }

    fn total(&self) -> Option<u64> {
        self.inner.total()
    }

    fn unread(&self) -> Vec<Unread> {
        self.inner.unread()
    }

    fn remarks(&self) -> Vec<Remark> {
        self.inner.remarks()
    }

    fn noted(&self) -> Vec<u64> {
        self.inner.noted()
    }

    fn note(&self, noted: &[u64]) {
        self.inner.note(noted);
    }

    fn sent(&self, rank: RankId, most: u64) -> Option<Counted> {
        self.inner.sent(rank, most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::goal;
    use crate::program::input::Input;
    use base::time::{NS, US};

    fn interruptions(text: &str) -> Interruptions {
        Interruptions::read(text, "noise.txt", "noise_file").unwrap()
    }

    fn noise(jitter: u64, interruptions: Option<Interruptions>) -> Noise {
        Noise { jitter, interruptions: interruptions.map(Arc::new), factor: WHOLE, seed: 3, job: 0 }
    }

    /// Lengths of the computations of each rank.
    fn lengths(program: &dyn Program) -> Vec<Vec<Ps>> {
        let of = |rank| {
            let (mut cursor, mut batch, mut all) = (program.open(rank), Batch::default(), Vec::new());
            loop {
                batch.clear();
                cursor.fill(&mut batch).unwrap();
                if batch.ops.is_empty() {
                    return all;
                }
                all.extend(batch.ops.iter().filter(|op| op.kind == Kind::Calc).map(|op| op.amount));
            }
        };
        RankId::first(program.ranks()).map(of).collect()
    }

    fn calcs(ranks: usize, each: &[u64]) -> Arc<dyn Program> {
        let body: String = each.iter().enumerate().map(|(n, t)| format!("l{n}: calc {t}\n")).collect();
        let ranks: Vec<String> = (0..ranks).map(|r| format!("rank {r} {{\n{body}}}\n")).collect();
        let text = format!("num_ranks {}\n{}", ranks.len(), ranks.concat());
        Arc::new(goal::read_text(&Input::bytes("x", text.as_bytes()), NS).unwrap())
    }

    #[test]
    fn interruptions_lengthen_by_what_falls_into_a_computation() {
        // After 10 and after 25 (35 - 10 before it) ns of computing; a round is 25 ns of computing.
        let list = interruptions("10 10 # the first\n\n35, 5\n");
        assert_eq!(list, Interruptions { at: vec![(10 * NS, 10 * NS), (25 * NS, 15 * NS)], round: 25 * NS });
        let naive = |computed: u64| -> u64 {
            (1..=computed)
                .map(|c| {
                    if c % 25 == 0 {
                        5
                    } else if c % 25 == 10 {
                        10
                    } else {
                        0
                    }
                })
                .sum()
        };
        for computed in 0..200 {
            // At a multiple of the round the last interruption of the round before and none of the next is passed.
            assert_eq!(list.until(u128::from(computed * NS)), u128::from(naive(computed) * NS), "{computed}");
        }
    }

    #[test]
    fn cuts_of_a_computation_change_nothing_of_its_sum() {
        let list = interruptions("1us 300ns\n1500 50.5\n4us 1ns\n");
        let noise = noise(0, Some(list));
        let sum = |each: &[u64]| {
            lengths(&*noise.clone().on(calcs(3, each))).iter().map(|l| l.iter().sum()).collect::<Vec<u64>>()
        };
        let whole = sum(&[50_000]);
        assert_eq!(whole, sum(&[1, 4_999, 20_000, 5_000, 20_000]));
        assert!(whole.iter().all(|&t| t > 50 * US), "{whole:?}");
    }

    #[test]
    fn jitter_stays_in_its_width_and_has_no_bias() {
        let program = noise(WHOLE / 10, None).on(calcs(50, &[1000; 40]));
        let all: Vec<Ps> = lengths(&*program).concat();
        assert!(all.iter().all(|&t| (900 * NS..=1100 * NS).contains(&t)), "{all:?}");
        let mean = all.iter().sum::<u64>() as f64 / all.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.01, "{mean}");
        assert!(all.iter().any(|&t| t < 910 * NS) && all.iter().any(|&t| t > 1090 * NS));
        assert_eq!(lengths(&*program).concat(), all);
    }

    #[test]
    fn errors_of_a_file_name_line_and_word() {
        let wrong = |text: &str| {
            let problems = Interruptions::read(text, "noise.txt", "noise_file").unwrap_err();
            problems
                .iter()
                .filter_map(|p| p.input.clone())
                .map(|e| (e.line, e.text[e.start..e.end].to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            wrong("1 2\nx 3\n4\n5 6 7\n8 -1\n"),
            [(2, "x".to_owned()), (3, "4".to_owned()), (4, "7".to_owned()), (5, "-1".to_owned())]
        );
        assert_eq!(wrong("10 5\n12 1\n"), [(2, "12 1".to_owned())]);
        assert_eq!(wrong(" ,, # none\n"), [(1, ",,".to_owned())]);
        assert_eq!(wrong("0 5\n"), [(0, String::new())]);
        assert_eq!(wrong(""), [(0, String::new())]);
    }
}
