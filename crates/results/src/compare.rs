//! Two runs side by side: what differs, by how much, and whether that is within tolerances.
//!
//! Numbers of the summaries are compared by name; messages one by one, if both runs stored them, by their sources' numbers. Where
//! both runs number differently the k-th message from one terminal to another is the same in both.

use crate::{
    numbers::numbers,
    summary::Summary,
    table::{Column, Table},
};
use base::sorted::{SortedMap, SortedSet};
use serde::Serialize;

/// A number that both runs have.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Its name: the path in `summary.json`, or `messages.*` for what is found message by message.
    pub name: String,
    /// In the first run; none if only the second has it.
    pub a: Option<f64>,
    /// In the second run.
    pub b: Option<f64>,
    /// |a - b| / |a|: 0 if both are equal, none if that has no meaning.
    pub relative: Option<f64>,
    /// Greatest relative difference that is allowed; none if it is only reported.
    pub tolerance: Option<f64>,
    /// False if it is beyond its tolerance, or one run lacks it.
    pub within: bool,
}

/// What two runs took; written as a list of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(into = "(f64, f64, f64)")]
pub struct Seconds {
    /// Processor (or else elapsed) seconds of the first run.
    pub a: f64,
    /// The same of the second.
    pub b: f64,
    /// How many times as long the first took.
    pub ratio: f64,
}

impl From<Seconds> for (f64, f64, f64) {
    fn from(seconds: Seconds) -> Self {
        (seconds.a, seconds.b, seconds.ratio)
    }
}

/// A message, as both runs know it; written as a list of three numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "(u32, u32, u32)")]
pub struct MessageKey {
    /// Terminal that sends it.
    pub source: u32,
    /// Terminal that receives it.
    pub destination: u32,
    /// The source's number of it; its number among the messages of this pair, from 0, where the two runs number differently.
    pub number: u32,
}

impl From<MessageKey> for (u32, u32, u32) {
    fn from(key: MessageKey) -> Self {
        (key.source, key.destination, key.number)
    }
}

/// All that was compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Both happened alike, to the last picosecond.
    pub identical: bool,
    /// Every number that was compared, with how far both runs are apart.
    pub differences: Vec<Difference>,
    /// Message by message, if both runs stored their messages.
    pub messages: Option<Messages>,
    /// What both runs took, if both summaries say so.
    pub seconds: Option<Seconds>,
}

/// How the latencies of messages differ, relative to the first run's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Messages {
    /// Messages that both runs have.
    pub matched: u64,
    /// Messages that only the first has.
    pub only_a: u64,
    /// Messages that only the second has.
    pub only_b: u64,
    /// Mean of (b - a) / a: positive if the second is slower.
    pub mean_signed: f64,
    /// Mean of |b - a| / a.
    pub mean: f64,
    /// Median of the same.
    pub p50: f64,
    /// 95th percentile of the same.
    pub p95: f64,
    /// Greatest of the same.
    pub max: f64,
    /// The message with the greatest.
    pub worst: Option<MessageKey>,
}

/// Allowed relative differences.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tolerances {
    /// Of everything that is not named.
    pub all: f64,
    /// Of names, the first that fits: a whole name, or its beginning up to a dot.
    pub named: Vec<(String, f64)>,
}

impl Tolerances {
    fn of(&self, name: &str) -> f64 {
        let fits = |n: &str| name == n || name.strip_prefix(n).is_some_and(|rest| rest.starts_with('.'));
        self.named.iter().find(|(n, _)| fits(n)).map_or(self.all, |(_, t)| *t)
    }
}

impl Comparison {
    /// True if nothing is beyond its tolerance.
    #[must_use]
    pub fn within(&self) -> bool {
        self.differences.iter().all(|d| d.within)
    }
}

/// Names of the numbers that are compared, beside those of jobs.
const COMPARED: &[&str] = &[
    "simulated_ps",
    "bytes_delivered",
    "messages.delivered",
    "packets.delivered",
    "hops_mean",
    "throughput.accepted_fraction",
    "hybrid.predicted_share",
    "hybrid.error_estimate",
    "links.max_utilisation",
    "latency_ps.min",
    "latency_ps.mean",
    "latency_ps.p50",
    "latency_ps.p99",
    "latency_ps.max",
    "message_latency_ps.min",
    "message_latency_ps.mean",
    "message_latency_ps.p50",
    "message_latency_ps.p99",
    "message_latency_ps.max",
];

/// Numbers of a summary that are compared, by name: those, and how long each job took.
fn compared(summary: &Summary) -> SortedMap<String, f64> {
    let makespan = |name: &str| name.starts_with("jobs.") && name.ends_with(".makespan_ps");
    let wanted = |name: &str| COMPARED.contains(&name) || makespan(name);
    numbers(summary).into_iter().filter(|(name, _)| wanted(name)).collect()
}

/// Numbers that models define differently: they are reported and not judged, unless a tolerance names them.
const REPORTED: [&str; 5] = ["hops_mean", "packets", "latency_ps", "links", "hybrid"];

/// One of two runs that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// What the run says of itself as a whole.
    pub summary: &'a Summary,
    /// Its table of messages, if it has one.
    pub messages: Option<&'a Table>,
}

/// Compares two runs.
#[must_use]
pub fn compare(a: Side<'_>, b: Side<'_>, tolerances: &Tolerances) -> Comparison {
    let (left, right) = (compared(a.summary), compared(b.summary));
    let mut names: Vec<&String> = left.keys().chain(right.keys()).collect();
    names.sort();
    names.dedup();
    let mut differences: Vec<Difference> = names
        .into_iter()
        .map(|name| {
            let named = tolerances.named.iter().any(|(n, _)| name == n || name.starts_with(&format!("{n}.")));
            let reported = REPORTED.iter().any(|t| name == t || name.starts_with(&format!("{t}.")));
            let tolerance = (named || !reported).then(|| tolerances.of(name));
            difference(name, left.get(name).copied(), right.get(name).copied(), tolerance)
        })
        .collect();
    let messages = match (a.messages, b.messages) {
        (Some(a), Some(b)) => messages(a, b),
        _ => None,
    };
    if let Some(m) = &messages {
        let name = "messages.latency_error_mean";
        let tolerance = tolerances.of(name);
        let (relative, within) = (Some(m.mean), m.mean <= tolerance);
        differences.push(Difference {
            name: name.to_owned(),
            a: None,
            b: None,
            relative,
            tolerance: Some(tolerance),
            within,
        });
    }
    let seconds = |s: &Summary| s.performance.as_ref().map(|p| p.cpu_s.unwrap_or(p.wall_s));
    Comparison {
        identical: a.summary.fingerprint == b.summary.fingerprint,
        differences,
        messages,
        seconds: seconds(a.summary).zip(seconds(b.summary)).map(|(a, b)| Seconds {
            a,
            b,
            ratio: a / b.max(1e-9),
        }),
    }
}

fn difference(name: &str, a: Option<f64>, b: Option<f64>, tolerance: Option<f64>) -> Difference {
    let relative = a.zip(b).map(|(a, b)| {
        let off = (a - b).abs();
        if off == 0.0 { 0.0 } else { off / a.abs() }
    });
    let within = match (tolerance, relative) {
        (None, _) => true,
        (Some(tolerance), Some(relative)) => relative <= tolerance,
        // A job that ended in one run only is a difference; what only one of two models measures is none.
        (Some(_), None) => !name.starts_with("jobs."),
    };
    Difference {
        name: name.to_owned(),
        a,
        b,
        relative: relative.filter(|r| r.is_finite()),
        tolerance,
        within,
    }
}

/// A stored message of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Stored {
    number: u32,
    destination: u32,
    latency: u64,
}

/// Messages by source, in the order of its numbers.
fn stored(table: &Table) -> Option<SortedMap<u32, Vec<Stored>>> {
    let (
        Some(Column::U32(sources)),
        Some(Column::U32(numbers)),
        Some(Column::U32(destinations)),
        Some(Column::U64(latencies)),
    ) = (
        table.column("source"),
        table.column("number"),
        table.column("destination"),
        table.column("latency_ps"),
    )
    else {
        return None;
    };
    let mut all: SortedMap<u32, Vec<Stored>> = SortedMap::new();
    for i in 0..table.rows() {
        let message = Stored { number: numbers[i], destination: destinations[i], latency: latencies[i] };
        all.entry(sources[i]).or_default().push(message);
    }
    all.values_mut().for_each(|messages| messages.sort());
    Some(all)
}

/// Destinations by number.
fn destinations(messages: &[Stored]) -> SortedMap<u32, SortedSet<u32>> {
    let mut all: SortedMap<u32, SortedSet<u32>> = SortedMap::new();
    for m in messages {
        all.entry(m.number).or_default().insert(m.destination);
    }
    all
}

/// True if both runs number a source's messages alike: over all destinations or by pair, and mostly with the same destination for a number.
fn numbered_alike(a: &[Stored], b: &[Stored]) -> bool {
    let (a, b) = (destinations(a), destinations(b));
    let by_pair = |all: &SortedMap<u32, SortedSet<u32>>| all.values().any(|to| to.len() > 1);
    let both: Vec<bool> = a.iter().filter_map(|(number, to)| Some(!to.is_disjoint(b.get(number)?))).collect();
    by_pair(&a) == by_pair(&b) && 2 * both.iter().filter(|&&same| same).count() > both.len()
}

/// Latencies of a source's messages: by the source's number, or by number among those of the pair. Rails number by themselves, so a
/// number may come again; those count as further messages.
fn latencies(messages: &[Stored], by_number: bool) -> SortedMap<(u32, u32, u32), f64> {
    let mut counts: SortedMap<(u32, u32), u32> = SortedMap::new();
    let mut keyed = SortedMap::new();
    for m in messages {
        let number = if by_number { m.number } else { 0 };
        let count = counts.entry((m.destination, number)).or_default();
        let (number, again) = if by_number { (number, *count) } else { (*count, 0) };
        keyed.insert((m.destination, number, again), m.latency as f64);
        *count += 1;
    }
    keyed
}

fn messages(a: &Table, b: &Table) -> Option<Messages> {
    let (a, b) = (stored(a)?, stored(b)?);
    let mut errors: Vec<(f64, MessageKey)> = Vec::new();
    let mut signed = 0.0;
    for (&source, first) in &a {
        let Some(second) = b.get(&source) else { continue };
        let by_number = numbered_alike(first, second);
        let (first, second) = (latencies(first, by_number), latencies(second, by_number));
        for (key, &first) in &first {
            if let Some(&second) = second.get(key) {
                let error = (second - first) / first.max(1.0);
                signed += error;
                let (destination, number, _) = *key;
                errors.push((error.abs(), MessageKey { source, destination, number }));
            }
        }
    }
    let matched = errors.len() as u64;
    errors.sort_by(|x, y| x.0.total_cmp(&y.0).then(y.1.cmp(&x.1)));
    let mean = |sum: f64| if matched == 0 { 0.0 } else { sum / matched as f64 };
    let quantile = |q: f64| {
        let at = ((q * errors.len() as f64).ceil() as usize).clamp(1, errors.len().max(1)) - 1;
        errors.get(at).map_or(0.0, |e| e.0)
    };
    let count = |all: &SortedMap<u32, Vec<Stored>>| all.values().map(|m| m.len() as u64).sum::<u64>();
    Some(Messages {
        matched,
        only_a: count(&a) - matched,
        only_b: count(&b) - matched,
        mean_signed: mean(signed),
        mean: mean(errors.iter().map(|e| e.0).sum()),
        p50: quantile(0.5),
        p95: quantile(0.95),
        max: errors.last().map_or(0.0, |e| e.0),
        worst: errors.last().map(|e| e.1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Job, Verdict};
    use base::hash::Fingerprint;

    fn summary(makespan: u64) -> Summary {
        let mut s = Summary::new(Fingerprint::default(), Verdict::ok(), serde_json::Value::Null);
        s.simulated_ps = makespan;
        let name = "job-0".to_owned();
        s.jobs = vec![Job {
            name,
            ranks: 2,
            messages: None,
            makespan_ps: Some(makespan),
            compute_fraction: None,
            critical_path: None,
        }];
        s
    }

    fn table(rows: &[(u32, u32, u32, u64)]) -> Table {
        Table::new("messages")
            .with("source", Column::U32(rows.iter().map(|r| r.0).collect()))
            .with("number", Column::U32(rows.iter().map(|r| r.1).collect()))
            .with("destination", Column::U32(rows.iter().map(|r| r.2).collect()))
            .with("latency_ps", Column::U64(rows.iter().map(|r| r.3).collect()))
    }

    fn side<'a>(summary: &'a Summary, messages: Option<&'a Table>) -> Side<'a> {
        Side { summary, messages }
    }

    #[test]
    fn a_run_is_like_itself() {
        let (s, t) = (summary(100), table(&[(0, 0, 1, 50), (1, 0, 0, 70)]));
        let c = compare(side(&s, Some(&t)), side(&s, Some(&t)), &Tolerances::default());
        assert!(c.identical && c.within());
        let m = c.messages.unwrap();
        assert_eq!((m.matched, m.only_a, m.only_b, m.max), (2, 0, 0, 0.0));
    }

    #[test]
    fn tolerances_decide() {
        let (a, b) = (summary(100), summary(110));
        let with = |all, named: &[(&str, f64)]| {
            let named = named.iter().map(|(n, t)| ((*n).to_owned(), *t)).collect();
            compare(side(&a, None), side(&b, None), &Tolerances { all, named }).within()
        };
        assert!(!with(0.09, &[]));
        assert!(with(0.1, &[]));
        assert!(!with(0.1, &[("jobs", 0.01)]));
        assert!(with(0.0, &[("jobs", 0.2), ("simulated_ps", 0.2)]));
    }

    /// Messages are found by pair whatever their order: here the second source's numbers are swapped.
    #[test]
    fn messages_are_matched_by_pair() {
        let s = summary(100);
        let a = table(&[(0, 0, 1, 100), (1, 0, 0, 100), (1, 1, 2, 200), (0, 1, 1, 100)]);
        let b = table(&[(0, 0, 1, 110), (1, 1, 0, 100), (1, 0, 2, 100), (2, 0, 0, 5)]);
        let m = compare(side(&s, Some(&a)), side(&s, Some(&b)), &Tolerances::default()).messages.unwrap();
        assert_eq!((m.matched, m.only_a, m.only_b), (3, 1, 1));
        assert_eq!((m.worst, m.max), (Some(MessageKey { source: 1, destination: 2, number: 0 }), 0.5));
        assert!((m.mean - 0.2).abs() < 1e-12 && (m.mean_signed + 0.4 / 3.0).abs() < 1e-12);
        assert_eq!((m.p50, m.p95), (0.1, 0.5));
    }

    /// One of the runs lacks the first messages, as after a warm-up: the others are compared with themselves, whether sources number over all
    /// destinations or by pair. The planted fault is the count that was used: it takes each for an earlier one.
    #[test]
    fn messages_that_a_warm_up_leaves_out_shift_no_others() {
        let s = summary(100);
        let over_all: Vec<(u32, u32, u32, u64)> =
            (0..12).map(|n| (0, n, 1 + n % 3, 100 * u64::from(n + 1))).collect();
        let by_pair: Vec<(u32, u32, u32, u64)> =
            (0..12).map(|n| (0, n / 3, 1 + n % 3, 100 * u64::from(n + 1))).collect();
        for all in [over_all, by_pair] {
            let m = compare(
                side(&s, Some(&table(&all))),
                side(&s, Some(&table(&all[4..]))),
                &Tolerances::default(),
            );
            let m = m.messages.unwrap();
            assert_eq!((m.matched, m.only_a, m.only_b, m.max), (8, 4, 0, 0.0));
        }
    }

    /// Where one run numbers by pair and the other does not, the order within a pair says which message is which.
    #[test]
    fn runs_that_number_differently_are_matched_by_order() {
        let s = summary(100);
        let a = table(&[(0, 0, 1, 10), (0, 1, 2, 20), (0, 2, 1, 30), (0, 3, 2, 40)]);
        let b = table(&[(0, 0, 1, 10), (0, 0, 2, 20), (0, 1, 1, 30), (0, 1, 2, 40)]);
        let m = compare(side(&s, Some(&a)), side(&s, Some(&b)), &Tolerances::default()).messages.unwrap();
        assert_eq!((m.matched, m.only_a, m.only_b, m.max), (4, 0, 0, 0.0));
    }
}
