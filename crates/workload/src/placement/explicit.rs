//! Explicit placement: the terminal of every rank, written in the experiment or a file.

use super::PlacementContext;
use crate::text;
use base::{
    index::{Column, TerminalId},
    mistakes::{Mistakes, Others},
    param::{Kind, Param, Problem, Value, Values},
    registry::About,
};

pub(crate) const ABOUT: About = About {
    name: "explicit",
    summary: "the terminal of every rank from a list or a file",
    doc: "Either `terminals` lists the terminal of each rank, or `placement_file` names a file with one terminal a line, rank by rank; empty \
          lines and what follows a # are passed over. There must be at least as many terminals as ranks; the first ones are taken. No terminal may \
          come twice or be taken by an earlier job.",
    source: "MARS, section 2 (explicit placement)",
    params: &[
        Param {
            name: "terminals",
            kind: Kind::Ints { min: 0, max: u32::MAX as u64 },
            default: Some(""),
            doc: "terminal of each rank",
        },
        Param {
            name: FILE,
            kind: Kind::File,
            default: Some(""),
            doc: "file with the terminal of each rank, one a line",
        },
    ],
};

/// The key that names the file.
const FILE: &str = "placement_file";

/// Where the terminals are written.
#[derive(Clone, Copy)]
enum Written<'a> {
    List(&'a [u64]),
    /// Path and text of a file. Of the text nothing is kept but itself: its lines are read again for each use.
    File(&'a str, &'a str),
}

/// A terminal as written, and what a message shows of a file.
#[derive(Clone, Copy)]
struct Entry<'a> {
    /// None if the word is no number.
    terminal: Option<u64>,
    /// Number of the line, from 1.
    number: u64,
    line: &'a str,
    word: &'a str,
}

impl<'a> Written<'a> {
    /// The terminals of all ranks.
    fn entries(self) -> impl Iterator<Item = Entry<'a>> {
        let (list, text) = match self {
            Self::List(list) => (list, ""),
            Self::File(_, text) => (&[][..], text),
        };
        let lines = (1..).zip(text.lines()).map(|(number, line)| {
            let word = line.split('#').next().unwrap_or("").trim();
            Entry { terminal: word.parse().ok(), number, line, word }
        });
        let lines = lines.filter(|entry| !entry.word.is_empty());
        let listed = |&terminal| Entry { terminal: Some(terminal), number: 0, line: "", word: "" };
        list.iter().map(listed).chain(lines)
    }

    /// What is wrong with one of them.
    fn problem(self, entry: Entry<'_>, message: String) -> Problem {
        match self {
            Self::List(_) => Problem::new("terminals", message),
            Self::File(path, _) => text::at(path, FILE, entry.number, entry.line, entry.word, message),
        }
    }

    /// What is wrong with so many more.
    fn more(self, Others { count, message }: Others) -> Problem {
        let problem = match self {
            Self::List(_) => Problem::new("terminals", message),
            Self::File(path, _) => text::one(path, FILE, message),
        };
        problem.count(count)
    }

    /// How many there are.
    ///
    /// # Errors
    /// Words that are no numbers.
    fn count(self) -> Result<usize, Vec<Problem>> {
        let (mut count, mut mistakes) = (0, Mistakes::default());
        for entry in self.entries() {
            count += 1;
            if entry.terminal.is_none() {
                let message = || format!("`{}` is not the number of a terminal", entry.word);
                mistakes.push_with(|| self.problem(entry, message()));
            }
        }
        mistakes.done(|more| self.more(more)).map(|()| count)
    }
}

/// What may be on a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// A rank of an earlier job.
    Earlier,
    Nothing,
    /// A rank of this job.
    Rank,
}

pub(crate) fn build(
    context: &PlacementContext<'_>,
    values: &Values,
) -> Result<Vec<TerminalId>, Vec<Problem>> {
    places(context.ranks, context.fabric.terminals(), Some(context.free), values)
}

/// What is wrong with the list or file on a network of so many terminals, of which any may be free.
pub(crate) fn mistakes(ranks: u32, terminals: u32, values: &Values) -> Vec<Problem> {
    places(ranks, terminals, None, values).err().unwrap_or_default()
}

/// The terminals of the ranks on a network of so many, of which these are free; all of them if it is not known.
fn places(
    ranks: u32,
    terminals: u32,
    free: Option<&[TerminalId]>,
    values: &Values,
) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let text;
    let written = match (values.0.get("terminals"), values.0.get(FILE)) {
        (Some(Value::Ints(list)), None) => Written::List(list),
        (None, Some(Value::Text(path))) => {
            text = text::read(path, FILE)?;
            Written::File(path, &text)
        }
        (Some(_), Some(_)) => {
            return Err(vec![Problem::new(FILE, "`terminals` already says where the ranks are")]);
        }
        _ => {
            let message = "this placement needs `terminals` or `placement_file`";
            return Err(vec![Problem::new("placement", message).help("add `terminals = [0, 1, ..]`")]);
        }
    };
    let (count, ranks) = (written.count()?, ranks as usize);
    if count < ranks {
        let from = match written {
            Written::File(path, _) => format!(" in {path}"),
            Written::List(_) => String::new(),
        };
        let message = format!("{ranks} ranks need {ranks} terminals, {count} are given{from}");
        return Err(vec![Problem::new("ranks", message)]);
    }
    let others = if free.is_some() { On::Earlier } else { On::Nothing };
    let mut on = Column::filled(terminals as usize, others);
    free.into_iter().flatten().for_each(|&terminal| on[terminal] = On::Nothing);
    let (mut mistakes, mut placed) = (Mistakes::default(), Vec::with_capacity(ranks));
    for (rank, entry) in written.entries().take(ranks).enumerate() {
        let terminal = entry.terminal.unwrap_or(u64::MAX);
        let id = u32::try_from(terminal).ok().map(TerminalId::new);
        let known = id.and_then(|id| Some((id, *on.get(id)?)));
        if let Some((id, On::Nothing)) = known {
            on[id] = On::Rank;
            placed.push(id);
            continue;
        }
        mistakes.push_with(|| {
            let why = match known {
                Some((_, On::Rank)) => "has a rank already: one terminal holds one rank".to_owned(),
                Some(_) => "is taken by an earlier job".to_owned(),
                None => {
                    let last = terminals.saturating_sub(1);
                    format!("does not exist: the last one is {last}")
                }
            };
            written.problem(entry, format!("terminal {terminal} of rank {rank} {why}"))
        });
    }
    mistakes.done(|more| written.more(more)).map(|()| placed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::testing::{grid, place};

    fn listed(terminals: &[u64], ranks: u32) -> Result<Vec<u32>, Vec<Problem>> {
        let values = Values::default().with("terminals", Value::Ints(terminals.to_vec()));
        place(&grid("mesh", &[5, 4], 1), build, &values, ranks)
    }

    #[test]
    fn a_list_is_taken_as_it_stands() {
        assert_eq!(listed(&[7, 3, 19], 3).unwrap(), [7, 3, 19]);
        assert_eq!(listed(&[7, 3, 19], 2).unwrap(), [7, 3]);
        assert_eq!(listed(&[7, 3], 3).unwrap_err()[0].key, "ranks");
        assert!(listed(&[7, 7], 2).unwrap_err()[0].message.contains("has a rank already"));
        assert!(listed(&[20, 7], 2).unwrap_err()[0].message.contains("does not exist"));
        // The first are shown, and the others counted.
        let refused = listed(&[20; 50_000], 50_000).unwrap_err();
        assert_eq!((refused.len(), refused[100].message.as_str()), (101, "49900 more errors"));
    }

    #[test]
    fn a_file_tells_its_own_mistakes() {
        let path = std::env::temp_dir().join(format!("netloom-placement-{}", std::process::id()));
        let from = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let name = path.to_string_lossy().into_owned();
            let values = Values::default().with("placement_file", Value::Text(name));
            place(&grid("mesh", &[5, 4], 1), build, &values, 2)
        };
        assert_eq!(from("# ranks\n 4\n\n2 # the second\n").unwrap(), [4, 2]);
        let refused = from("4\n  two\n").unwrap_err();
        let input = refused[0].input.as_ref().unwrap();
        assert_eq!((input.line, input.start, input.end), (2, 2, 5));
        let refused = from("4\n4\n").unwrap_err();
        assert_eq!(refused[0].input.as_ref().unwrap().line, 2);
        let refused = from("99999999999999999999\n").unwrap_err();
        assert!(refused[0].message.contains("is not the number"), "{}", refused[0].message);
        let refused = from("# nobody\n").unwrap_err();
        assert!(refused[0].message.contains(path.to_str().unwrap()), "{}", refused[0].message);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(from_missing(&path)[0].input.as_ref().unwrap().line, 0);
    }

    fn from_missing(path: &std::path::Path) -> Vec<Problem> {
        let values =
            Values::default().with("placement_file", Value::Text(path.to_string_lossy().into_owned()));
        place(&grid("mesh", &[5, 4], 1), build, &values, 2).unwrap_err()
    }
}
