//! Pairs: messages one by one, from a file, at its times or over and over at a load.

use super::{
    endless_if_zero,
    pair_files::{self, Format, KEY, Ranks, Row},
};
use crate::{
    arrival::Arrival,
    text,
    traffic::{LeftOut, Message, Traffic},
    work::{JobContext, Work},
};
use base::{
    index::{Column, RankId},
    param::{Kind, Param, Problem, Values},
    registry::About,
    sorted::SortedMap,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "pairs",
    summary: "messages from a file: when, from whom, to whom, how many bytes",
    doc: "A line of the file is `start source destination bytes`, separated by blanks: the time with its unit (`0 s`, written without blank: `0s`, `12.5us`; a plain number is in seconds), two \
          ranks (by number or, on platforms and imported clusters, by the name of their host), and bytes (`1000`, `64KiB`). A fifth word is the most that the message may flow at (`1e9` in bytes/s, or `1GB/s`); only model `flow` \
          heeds it. What follows a # is a comment. Lines may stand in any order; a rank sends messages of the same time in the order of lines. \
          `format = \"csv\"` reads a table whose first line names the columns source, destination, bytes and, if they are there, start and rate. \
          `format = \"htsim\"` reads a connection matrix (`0->4 id 1 start 0 size 2000000`, times in ps); its triggers are refused. \
          With a `load` every rank goes through its lines over and over, in their order, as the arrival process says; a start must then be 0. \
          A message to its own rank goes through its router and back. A source that cannot keep up sends late, in order.",
    source: "own format; htsim, connection_matrix.cpp",
    params: &[
        Param { name: "file", kind: Kind::File, default: None, doc: "the messages" },
        Param {
            name: "format",
            kind: Kind::Choice(Format::NAMES),
            default: Some("lines"),
            doc: "how the file is written",
        },
        Param {
            name: "repeat",
            kind: Kind::Int { min: 0, max: u64::MAX },
            default: Some("0"),
            doc: "with a load: how often a rank goes through its lines; 0: without end",
        },
    ],
};

struct Pairs {
    /// By source, then time, then line.
    rows: Vec<Row>,
    /// First row of each rank, and one past the last.
    first: Vec<usize>,
}

impl Pairs {
    fn of(&self, rank: RankId) -> &[Row] {
        &self.rows[self.first[rank.index()]..self.first[rank.index() + 1]]
    }

    fn row(&self, rank: RankId, index: u64) -> Option<&Row> {
        self.of(rank).get(usize::try_from(index).ok()?)
    }
}

impl Traffic for Pairs {
    fn message(&self, rank: RankId, index: u64, _previous: Ps) -> Option<Message> {
        let row = self.row(rank, index)?;
        Some(Message { time: row.time, destination: row.destination, bytes: row.bytes })
    }

    fn rate(&self, rank: RankId, index: u64) -> Option<f64> {
        self.row(rank, index).map(|r| r.rate).filter(|r| r.is_finite())
    }

    fn left_out(&self, after: Ps) -> LeftOut {
        let late = self.rows.iter().filter(|r| r.time > after).count() as u64;
        LeftOut { late, rated: rated(&self.rows) }
    }

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        None
    }

    fn largest(&self) -> Option<u64> {
        self.rows.iter().map(|r| r.bytes).max()
    }

    fn to_itself(&self) -> Option<RankId> {
        self.rows.iter().find(|r| r.source == r.destination).map(|r| r.source)
    }
}

/// Messages that have a rate of their own.
fn rated(rows: &[Row]) -> u64 {
    rows.iter().filter(|r| r.rate.is_finite()).count() as u64
}

/// The same lines over and over.
struct Repeated {
    pairs: Pairs,
    /// When each rank's messages are created; none for those that send nothing.
    arrivals: Column<RankId, Option<Arc<dyn Arrival>>>,
    repeat: u64,
    offered: f64,
}

impl Repeated {
    fn row(&self, rank: RankId, index: u64) -> Option<&Row> {
        let rows = self.pairs.of(rank);
        let length = rows.len() as u64;
        if length == 0 || index / length >= self.repeat {
            return None;
        }
        rows.get((index % length) as usize)
    }
}

impl Traffic for Repeated {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        let row = self.row(rank, index)?;
        let time = self.arrivals[rank].as_ref()?.time(rank, index, previous)?;
        Some(Message { time, destination: row.destination, bytes: row.bytes })
    }

    fn rate(&self, rank: RankId, index: u64) -> Option<f64> {
        self.row(rank, index).map(|r| r.rate).filter(|r| r.is_finite())
    }

    fn left_out(&self, _after: Ps) -> LeftOut {
        LeftOut { late: 0, rated: rated(&self.pairs.rows) }
    }

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        Some(self.offered)
    }

    fn largest(&self) -> Option<u64> {
        self.pairs.largest()
    }

    fn to_itself(&self) -> Option<RankId> {
        self.pairs.to_itself()
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    let path = values.text(KEY);
    let text = text::read(&path, KEY)?;
    let format = Format::named(&values.text("format"));
    let ranks = Ranks { count: context.ranks, names: &context.names };
    let pairs = sorted(pair_files::read(&text, format, ranks, &path)?, context.ranks);
    let repeat = values.int("repeat");
    if context.arrival.is_some() {
        return Ok(Work::Traffic(Arc::new(repeated(context, pairs, repeat, &path)?)));
    }
    if repeat > 0 {
        let problem = Problem::new("repeat", "messages at times of their own are sent once");
        return Err(vec![problem.help("add a `load`, or remove `repeat`")]);
    }
    Ok(Work::Traffic(Arc::new(pairs)))
}

fn sorted(mut rows: Vec<Row>, ranks: u32) -> Pairs {
    rows.sort_by_key(|r: &Row| (r.source, r.time));
    let first = (0..=ranks).map(|rank| rows.partition_point(|r| r.source.number() < rank)).collect();
    Pairs { rows, first }
}

/// The lines as a pattern under a load.
fn repeated(context: &JobContext, pairs: Pairs, repeat: u64, path: &str) -> Result<Repeated, Vec<Problem>> {
    if let Some(row) = pairs.rows.iter().find(|r| r.time > 0) {
        let message = format!(
            "a message of rank {} in {path} has a start, and the job a load: which says when?",
            row.source
        );
        return Err(vec![Problem::new("load", message).help("remove `load`, or let all starts be 0")]);
    }
    let mut known: SortedMap<(u64, u64), Arc<dyn Arrival>> = SortedMap::new();
    let (mut arrivals, mut senders, mut peak) = (Column::default(), 0u32, 0.0);
    for rank in RankId::first(context.ranks) {
        let rows = pairs.of(rank);
        let sum = rows.iter().try_fold(0u64, |sum, row| sum.checked_add(row.bytes));
        let sum =
            sum.ok_or_else(|| vec![Problem::new("file", format!("rank {rank} sends more than 2^64 bytes"))])?;
        if rows.is_empty() {
            arrivals.push(None);
            continue;
        }
        senders += 1;
        let key = (sum, rows.len() as u64);
        let arrival = match known.get(&key) {
            Some(arrival) => Arc::clone(arrival),
            None => {
                let (arrival, offered) = context.arrivals(sum, rows.len() as u64)?;
                peak = offered;
                known.insert(key, Arc::clone(&arrival));
                arrival
            }
        };
        arrivals.push(Some(arrival));
    }
    let offered = peak * f64::from(senders) / f64::from(context.ranks);
    Ok(Repeated { pairs, arrivals, repeat: endless_if_zero(repeat), offered })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::context;

    fn numbered(count: u32, names: &SortedMap<String, u32>) -> Ranks<'_> {
        Ranks { count, names }
    }

    fn of(text: &str, ranks: u32) -> Pairs {
        sorted(pair_files::read(text, Format::Lines, numbered(ranks, &SortedMap::new()), "p").unwrap(), ranks)
    }

    #[test]
    fn lines_are_sorted_by_source_and_time() {
        let text =
            "# start from to bytes\n2us 1 0 10\n1us 1 2 64KiB 1GB/s # late\n\n0.5 0 1 0\n1us 1 0 7 5e8\n";
        let pairs = of(text, 3);
        let of = |rank, index| {
            let message = pairs.message(RankId::new(rank), index, 0);
            message.map(|m| (m.time, m.destination.number(), m.bytes))
        };
        assert_eq!(of(0, 0), Some((500_000_000_000, 1, 0)));
        assert_eq!(
            [of(1, 0), of(1, 1), of(1, 2)],
            [Some((1_000_000, 2, 65_536)), Some((1_000_000, 0, 7)), Some((2_000_000, 0, 10))]
        );
        assert_eq!((of(0, 1), of(1, 3), of(2, 0)), (None, None, None));
        assert_eq!(
            (pairs.rate(RankId::new(1), 0), pairs.rate(RankId::new(1), 1), pairs.rate(RankId::new(1), 2)),
            (Some(1e9), Some(5e8), None)
        );
        assert_eq!((pairs.largest(), pairs.to_itself()), (Some(65_536), None));
    }

    #[test]
    fn mistakes_are_reported_with_their_words() {
        let text = "0s 0 1 10\n0s 0 9 10\nsoon 0 1 10\n0s 0 1\n0s 0 1 ten\n0s 0 1 1 -5\n";
        let problems =
            pair_files::read(text, Format::Lines, numbered(3, &SortedMap::new()), "p").err().unwrap();
        let reported: Vec<(u64, &str)> = problems
            .iter()
            .map(|p| p.input.as_ref().unwrap())
            .map(|e| (e.line, &e.text[e.start..e.end]))
            .collect();
        assert_eq!(reported, [(2, "9"), (3, "soon"), (4, "1"), (5, "ten"), (6, "-5")]);
    }

    /// Rank 0 has rows of 1000 and 3000 B, so at full load one each 2000 B; rank 2 one of 500 B.
    #[test]
    fn a_load_goes_through_the_list_again_and_again() {
        let pairs = of("0 0 1 1000\n0 0 2 3000\n0 2 0 500\n", 4);
        let again = repeated(&context(4), pairs, 3, "p").unwrap();
        let (mut previous, mut seen) = (0, Vec::new());
        for index in 0..6 {
            let m = again.message(RankId::new(0), index, previous).unwrap();
            previous = m.time;
            seen.push((m.time, m.destination.number(), m.bytes));
        }
        let at = |k: u64| (k as f64 * 2000.0 / f64::from(1u32 << 31) * 1e12).round() as u64;
        assert_eq!(seen[..3], [(0, 1, 1000), (at(1), 2, 3000), (at(2), 1, 1000)]);
        assert_eq!(again.message(RankId::new(0), 6, previous), None);
        assert_eq!(
            (again.message(RankId::new(1), 0, 0), again.message(RankId::new(2), 2, 0).is_some()),
            (None, true)
        );
        assert_eq!(again.offered_bytes_per_s(), Some(f64::from(1u32 << 31) / 2.0));
        let timed = repeated(&context(4), of("1us 0 1 10\n", 4), 0, "p").err().unwrap();
        assert_eq!(timed[0].key, "load");
    }
}
