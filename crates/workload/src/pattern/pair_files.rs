//! Lists of messages in files: lines of words, tables with a header (CSV), and htsim's connection matrices.

use crate::text;
use base::{index::RankId, mistakes::Mistakes, param::Problem, sorted::SortedMap, time::Ps, units};

/// The key that names the file.
pub(super) const KEY: &str = "file";

/// Most messages read from a file: blank lines, comments and headers do not count.
const MAX_LINES: usize = 1 << 26;

/// A message as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub time: Ps,
    pub source: RankId,
    pub destination: RankId,
    pub bytes: u64,
    /// The most that it may flow at, in bytes per second.
    pub rate: f64,
}

/// The ranks that a file may name: by number, or by the name of the host that they are on.
#[derive(Clone, Copy)]
pub(super) struct Ranks<'a> {
    /// How many there are.
    pub count: u32,
    /// Their numbers by their hosts' names, where these have any.
    pub names: &'a SortedMap<String, u32>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `start source destination bytes [rate]`.
    Lines,
    /// Columns named by the first line.
    Csv,
    /// `source->destination id n start ps size bytes`.
    Htsim,
}

impl Format {
    /// Names, as the key takes them.
    pub const NAMES: &[&str] = &["lines", "csv", "htsim"];

    pub fn named(name: &str) -> Self {
        match name {
            "csv" => Self::Csv,
            "htsim" => Self::Htsim,
            _ => Self::Lines,
        }
    }
}

/// A mistake: the word, and what is wrong with it.
type Wrong<'a> = (&'a str, String);

/// The columns that a table can have, in the order of [`Format::Lines`].
const COLUMNS: [&str; 5] = ["start", "source", "destination", "bytes", "rate"];

/// What the lines before say.
#[derive(Default)]
struct Header {
    /// Place in the row of each of [`COLUMNS`].
    columns: Option<[Option<usize>; 5]>,
    /// Rows that a connection matrix promises.
    connections: Option<u64>,
}

/// All messages of a file, in its order.
///
/// # Errors
/// Its mistakes, each with its line and word.
pub(super) fn read(
    content: &str,
    format: Format,
    ranks: Ranks<'_>,
    path: &str,
) -> Result<Vec<Row>, Vec<Problem>> {
    let (mut rows, mut problems, mut header) = (Vec::new(), Mistakes::default(), Header::default());
    for (number, full) in content.lines().enumerate() {
        let content = full.split('#').next().unwrap_or("");
        if content.trim().is_empty() {
            continue;
        }
        let read = match format {
            Format::Lines => words(&content.split_whitespace().collect::<Vec<_>>(), ranks).map(Some),
            Format::Csv => cells(content, ranks, &mut header),
            Format::Htsim => connection(content, ranks, &mut header),
        };
        match read {
            Ok(None) => {}
            Ok(Some(row)) if rows.len() < MAX_LINES => rows.push(row),
            Ok(_) => {
                return Err(vec![Problem::new(KEY, format!("there are more than {MAX_LINES} messages"))]);
            }
            Err((word, message)) => {
                problems.push_with(|| text::at(path, KEY, number as u64 + 1, full, word, message));
            }
        }
    }
    let whole = |message| text::one(path, KEY, message);
    if let Some(promised) = header.connections.filter(|&n| problems.is_empty() && n != rows.len() as u64) {
        let message = format!("the file promises {promised} connections and has {}", rows.len());
        problems.push(whole(message));
    }
    problems.done(|others| whole(others.message).count(others.count)).map(|()| rows)
}

/// What a line says, or which of its words is wrong and why.
fn words<'a>(words: &[&'a str], ranks: Ranks<'_>) -> Result<Row, Wrong<'a>> {
    let [start, source, destination, bytes, ref rest @ ..] = *words else {
        let last = words.last().copied().unwrap_or("");
        return Err((last, "a line is `start source destination bytes [rate]`".to_owned()));
    };
    if let Some(more) = rest.get(1) {
        return Err((more, "a line is `start source destination bytes [rate]`".to_owned()));
    }
    let rate = match rest.first() {
        None => f64::INFINITY,
        Some(word) => match word.parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate.is_finite() => rate,
            Ok(_) => return Err((word, "a rate must be above zero".to_owned())),
            Err(_) => units::parse_bandwidth(word).map_err(|e| (*word, e.message))?.bytes_per_s(),
        },
    };
    Ok(Row {
        time: time(start).map_err(|e| (start, e))?,
        source: rank(source, ranks)?,
        destination: rank(destination, ranks)?,
        bytes: size(bytes)?,
        rate,
    })
}

fn rank<'a>(word: &'a str, Ranks { count, names }: Ranks<'_>) -> Result<RankId, Wrong<'a>> {
    match word.parse::<u32>() {
        Ok(rank) if rank < count => Ok(RankId::new(rank)),
        Ok(rank) => Err((word, format!("there is no rank {rank}: the job has {count}, from 0"))),
        Err(_) if names.is_empty() => Err((word, format!("`{word}` is not the number of a rank"))),
        Err(_) => match names.get(word) {
            Some(&rank) => Ok(RankId::new(rank)),
            None => Err((
                word,
                format!("`{word}` is neither the number of a rank nor the name of a host with one"),
            )),
        },
    }
}

fn size(word: &str) -> Result<u64, Wrong<'_>> {
    word.parse::<u64>().or_else(|_| units::parse_bytes(word)).map_err(|e| (word, e.message))
}

fn time(word: &str) -> Result<Ps, String> {
    match word.parse::<f64>() {
        Ok(seconds) if (0.0..=576_000.0).contains(&seconds) => Ok((seconds * 1e12).round() as Ps),
        Ok(_) => Err("a start must be from 0 to 576000 s".to_owned()),
        Err(_) => units::parse_time(word).map_err(|e| e.message),
    }
}

/// A row of a table, or its header.
fn cells<'a>(line: &'a str, ranks: Ranks<'_>, header: &mut Header) -> Result<Option<Row>, Wrong<'a>> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let Some(columns) = header.columns else {
        let mut columns = [None; 5];
        for (at, cell) in cells.iter().enumerate() {
            let Some(column) = COLUMNS.iter().position(|c| c.eq_ignore_ascii_case(cell)) else {
                return Err((cell, format!("there is no column `{cell}`: {}", COLUMNS.join(", "))));
            };
            if columns[column].replace(at).is_some() {
                return Err((cell, format!("column `{cell}` is there twice")));
            }
        }
        if let Some(missing) = (1..4).find(|&c| columns[c].is_none()) {
            return Err((
                line,
                format!("the first line names the columns, and `{}` is missing", COLUMNS[missing]),
            ));
        }
        header.columns = Some(columns);
        return Ok(None);
    };
    let width = columns.iter().flatten().count();
    if cells.len() != width {
        return Err((line, format!("this line has {} cells, the first has {width}", cells.len())));
    }
    let cell = |column: usize| columns[column].map(|at| cells[at]);
    let mut row =
        vec![cell(0).unwrap_or("0"), cell(1).unwrap_or(""), cell(2).unwrap_or(""), cell(3).unwrap_or("")];
    row.extend(cell(4).filter(|rate| !rate.is_empty()));
    words(&row, ranks).map(Some)
}

/// A line of a connection matrix. Times are picoseconds, and sizes bytes.
fn connection<'a>(line: &'a str, ranks: Ranks<'_>, header: &mut Header) -> Result<Option<Row>, Wrong<'a>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |word: &'a str| word.parse::<u64>().map_err(|_| (word, format!("`{word}` is not a number")));
    let Some((source, destination)) = words[0].split_once("->") else {
        match words[..] {
            ["Nodes", n] if number(n)? > u64::from(ranks.count) => {
                return Err((n, format!("the file has {n} nodes, the job {} ranks", ranks.count)));
            }
            ["Nodes", _] => {}
            ["Connections", n] => header.connections = Some(number(n)?),
            ["Triggers", n] if number(n)? == 0 => {}
            ["Triggers", ..] | ["trigger", ..] => return Err((words[0], TRIGGER.to_owned())),
            _ => {
                return Err((
                    words[0],
                    "a connection is `source->destination id N start PS size BYTES`".to_owned(),
                ));
            }
        }
        return Ok(None);
    };
    let (mut start, mut bytes) = (0, None);
    let mut rest = words[1..].iter();
    while let Some(&key) = rest.next() {
        let Some(&value) = rest.next() else { return Err((key, format!("`{key}` has no value"))) };
        match key {
            "start" => start = number(value)?,
            "size" => bytes = Some(number(value)?),
            "id" => drop(number(value)?),
            "trigger" | "send_done_trigger" | "recv_done_trigger" => return Err((key, TRIGGER.to_owned())),
            _ => return Err((key, format!("`{key}` is not simulated: start, size and id are"))),
        }
    }
    let bytes = bytes.ok_or_else(|| (words[0], "this connection has no `size`".to_owned()))?;
    let (source, destination) = (rank(source, ranks)?, rank(destination, ranks)?);
    Ok(Some(Row { time: start, source, destination, bytes, rate: f64::INFINITY }))
}

/// Why triggers are refused.
const TRIGGER: &str = "a trigger starts a flow when another ends; here flows have times alone (programs depend on each other: `workload = \"trace\"`)";

#[cfg(test)]
mod tests {
    use super::*;

    /// A message: start, source, destination, bytes.
    type Read = (Ps, u32, u32, u64);

    fn rows(text: &str, format: Format) -> Result<Vec<Read>, Vec<(u64, String)>> {
        let place =
            |p: Problem| p.input.map(|e| (e.line, e.text[e.start..e.end].to_owned())).unwrap_or_default();
        let rows = read(text, format, Ranks { count: 4, names: &hosts() }, "p")
            .map_err(|all| all.into_iter().map(place).collect::<Vec<_>>())?;
        Ok(rows.iter().map(|r| (r.time, r.source.number(), r.destination.number(), r.bytes)).collect())
    }

    /// Rank 0 is on node-b.
    fn hosts() -> SortedMap<String, u32> {
        [("node-b", 0), ("node-a", 3)].map(|(name, rank)| (name.to_owned(), rank)).into()
    }

    #[test]
    fn hosts_have_names() {
        assert_eq!(
            rows("0s node-a node-b 8\n0s 1 node-a 9\n", Format::Lines),
            Ok(vec![(0, 3, 0, 8), (0, 1, 3, 9)])
        );
        assert_eq!(rows("source,destination,bytes\nnode-b,2,8\n", Format::Csv), Ok(vec![(0, 0, 2, 8)]));
        assert_eq!(rows("0s node-c 0 8\n", Format::Lines).unwrap_err(), [(1, "node-c".to_owned())]);
        let none = Ranks { count: 4, names: &SortedMap::new() };
        let refused = read("0s node-a 0 8\n", Format::Lines, none, "p").unwrap_err();
        assert!(refused[0].message.contains("is not the number of a rank"), "{refused:?}");
    }

    #[test]
    fn tables_have_columns_in_any_order() {
        let text = "# a comment\nbytes, destination, source, start\n1000,1,0,2us\n64KiB,0,3,0.5\n";
        assert_eq!(
            rows(text, Format::Csv),
            Ok(vec![(2_000_000, 0, 1, 1000), (500_000_000_000, 3, 0, 65_536)])
        );
        assert_eq!(rows("source,destination,bytes\n0,1,8\n", Format::Csv), Ok(vec![(0, 0, 1, 8)]));
        let wrong = "source,destination,bytes,rate\n0,1,8,\n0,9,8,\n0,1\n0,1,x,\n0,1,8,0\n";
        let found = rows(wrong, Format::Csv).unwrap_err();
        assert_eq!(found, [(3, "9"), (4, "0,1"), (5, "x"), (6, "0")].map(|(n, w)| (n, w.to_owned())));
        assert_eq!(rows("source,bytes\n", Format::Csv).unwrap_err()[0].0, 1);
        assert_eq!(rows("source,from\n", Format::Csv).unwrap_err(), [(1, "from".to_owned())]);
    }

    #[test]
    fn connection_matrices_are_read_and_triggers_refused() {
        let text = "Nodes 4\nConnections 2\n0->3 id 1 start 0 size 2000000\n1->2 id 2 start 1500 size 4096\n";
        assert_eq!(rows(text, Format::Htsim), Ok(vec![(0, 0, 3, 2_000_000), (1500, 1, 2, 4096)]));
        let of = |line: &str| rows(line, Format::Htsim).unwrap_err()[0].1.clone();
        assert_eq!(of("Nodes 5\n"), "5");
        assert_eq!(of("0->1 id 1 trigger 3 size 9\n"), "trigger");
        assert_eq!(of("Triggers 2\n"), "Triggers");
        assert_eq!(of("0->4 size 9\n"), "4");
        assert_eq!(of("0->1 start 9\n"), "0->1");
        assert_eq!(of("0->1 size 9 prio 2\n"), "prio");
        assert_eq!(of("flows\n"), "flows");
        assert_eq!(of("Connections 2\n0->1 size 9\n"), "");
    }
}
