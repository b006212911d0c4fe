//! Pairs: messages one by one, from a file.

use crate::{
    traffic::{Message, Traffic},
    work::{JobContext, Work},
};
use base::{
    param::{Excerpt, Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
    units,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "pairs",
    summary: "messages from a file: when, from whom, to whom, how many bytes",
    doc: "A line of the file is `start source destination bytes`, separated by blanks: the time with its unit (`0 s`, written without blank: `0s`, `12.5us`; a plain number is in seconds), two \
          ranks, and bytes (`1000`, `64KiB`). A fifth word is the most that the message may flow at (`1e9` in bytes/s, or `1GB/s`); only model `flow` \
          heeds it. What follows a # is a comment. Lines may stand in any order; a rank sends messages of the same time in the order of lines. \
          A message to its own rank is allowed in model `flow` only. A source that cannot keep up sends late, in order.",
    source: "own format",
    params: &[Param { name: "file", kind: Kind::File, default: None, doc: "the messages" }],
};

/// Most lines.
const MAX_LINES: usize = 1 << 26;
/// Mistakes that are reported.
const MAX_MISTAKES: usize = 100;

/// A message as written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    time: Ps,
    source: u32,
    destination: u32,
    bytes: u64,
    rate: f64,
}

struct Pairs {
    /// By source, then time, then line.
    rows: Vec<Row>,
    /// First row of each rank, and one past the last.
    first: Vec<usize>,
}

impl Pairs {
    fn row(&self, rank: u32, index: u64) -> Option<&Row> {
        let (from, to) = (self.first[rank as usize], self.first[rank as usize + 1]);
        let at = usize::try_from(index).ok().and_then(|i| from.checked_add(i))?;
        self.rows.get(at).filter(|_| at < to)
    }
}

impl Traffic for Pairs {
    fn message(&self, rank: u32, index: u64, _previous: Ps) -> Option<Message> {
        let row = self.row(rank, index)?;
        Some(Message { time: row.time, destination: row.destination, bytes: row.bytes })
    }

    fn rate(&self, rank: u32, index: u64) -> Option<f64> {
        self.row(rank, index).map(|r| r.rate).filter(|r| r.is_finite())
    }

    fn reply(&self, _rank: u32, _source: u32, _index: u64) -> Option<(u32, u64)> {
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

    fn to_itself(&self) -> Option<u32> {
        self.rows.iter().find(|r| r.source == r.destination).map(|r| r.source)
    }
}

/// What a line says, or which of its words is wrong and why.
fn line(words: &[&str], ranks: u32) -> Result<Row, (usize, String)> {
    if !(4..=5).contains(&words.len()) {
        let message = "a line is `start source destination bytes [rate]`".to_owned();
        return Err((words.len().min(5).saturating_sub(1), message));
    }
    let rank = |n: usize| match words[n].parse::<u32>() {
        Ok(rank) if rank < ranks => Ok(rank),
        Ok(rank) => Err((n, format!("there is no rank {rank}: the job has {ranks}, from 0"))),
        Err(_) => Err((n, format!("`{}` is not the number of a rank", words[n]))),
    };
    let bytes = match words[3].parse::<u64>() {
        Ok(bytes) => bytes,
        Err(_) => units::parse_bytes(words[3]).map_err(|e| (3, e.message))?,
    };
    let rate = match words.get(4) {
        None => f64::INFINITY,
        Some(word) => match word.parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate.is_finite() => rate,
            Ok(_) => return Err((4, "a rate must be above zero".to_owned())),
            Err(_) => units::parse_bandwidth(word).map_err(|e| (4, e.message))?.bytes_per_s(),
        },
    };
    Ok(Row {
        time: time(words[0]).map_err(|e| (0, e))?,
        source: rank(1)?,
        destination: rank(2)?,
        bytes,
        rate,
    })
}

fn time(word: &str) -> Result<Ps, String> {
    match word.parse::<f64>() {
        Ok(seconds) if (0.0..=576_000.0).contains(&seconds) => Ok((seconds * 1e12).round() as Ps),
        Ok(_) => Err("a start must be from 0 to 576000 s".to_owned()),
        Err(_) => units::parse_time(word).map_err(|e| e.message),
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    let path = values.text("file");
    let whole = |message: String| {
        vec![Problem::new("file", message).at(Excerpt { file: path.clone(), ..Excerpt::default() })]
    };
    let bytes = base::input::read(&path).map_err(|e| whole(format!("the file cannot be read: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|_| whole("the file is not UTF-8 text".to_owned()))?;
    parse(&text, context.ranks, &path).map(|pairs| Work::Traffic(Arc::new(pairs)))
}

fn parse(text: &str, ranks: u32, path: &str) -> Result<Pairs, Vec<Problem>> {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for (number, full) in text.lines().enumerate() {
        let content = full.split('#').next().unwrap_or("");
        let words: Vec<&str> = content.split_whitespace().collect();
        if words.is_empty() {
            continue;
        }
        match line(&words, ranks) {
            Ok(row) if rows.len() < MAX_LINES => rows.push(row),
            Ok(_) => {
                return Err(vec![Problem::new("file", format!("there are more than {MAX_LINES} messages"))]);
            }
            Err((word, message)) if problems.len() < MAX_MISTAKES => {
                let start = words[word].as_ptr().addr() - full.as_ptr().addr();
                let end = start + words[word].len();
                let (file, text, line) = (path.to_owned(), full.to_owned(), number as u64 + 1);
                problems.push(Problem::new("file", message).at(Excerpt { file, line, text, start, end }));
            }
            Err(_) => {}
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    rows.sort_by_key(|r: &Row| (r.source, r.time));
    let first = (0..=ranks).map(|rank| rows.partition_point(|r| r.source < rank)).collect();
    Ok(Pairs { rows, first })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_by_source_and_time() {
        let text =
            "# start from to bytes\n2us 1 0 10\n1us 1 2 64KiB 1GB/s # late\n\n0.5 0 1 0\n1us 1 0 7 5e8\n";
        let pairs = parse(text, 3, "p").unwrap();
        let of = |rank, index| pairs.message(rank, index, 0).map(|m| (m.time, m.destination, m.bytes));
        assert_eq!(of(0, 0), Some((500_000_000_000, 1, 0)));
        assert_eq!(
            [of(1, 0), of(1, 1), of(1, 2)],
            [Some((1_000_000, 2, 65_536)), Some((1_000_000, 0, 7)), Some((2_000_000, 0, 10))]
        );
        assert_eq!((of(0, 1), of(1, 3), of(2, 0)), (None, None, None));
        assert_eq!((pairs.rate(1, 0), pairs.rate(1, 1), pairs.rate(1, 2)), (Some(1e9), Some(5e8), None));
        assert_eq!((pairs.largest(), pairs.to_itself()), (Some(65_536), None));
    }

    #[test]
    fn mistakes_are_reported_with_their_words() {
        let text = "0s 0 1 10\n0s 0 9 10\nsoon 0 1 10\n0s 0 1\n0s 0 1 ten\n0s 0 1 1 -5\n";
        let problems = parse(text, 3, "p").err().unwrap();
        let reported: Vec<(u64, &str)> = problems
            .iter()
            .map(|p| p.input.as_ref().unwrap())
            .map(|e| (e.line, &e.text[e.start..e.end]))
            .collect();
        assert_eq!(reported, [(2, "9"), (3, "soon"), (4, "1"), (5, "ten"), (6, "-5")]);
    }
}
