//! Explicit placement: the terminal of every rank, written in the experiment or a file.

use super::PlacementContext;
use base::{
    index::TerminalId,
    param::{Excerpt, Kind, Param, Problem, Value, Values},
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
            name: "placement_file",
            kind: Kind::File,
            default: Some(""),
            doc: "file with the terminal of each rank, one a line",
        },
    ],
};

/// Where a terminal was written: for reporting errors.
enum Written {
    List,
    File(Excerpt),
}

pub(crate) fn build(
    context: &PlacementContext<'_>,
    values: &Values,
) -> Result<Vec<TerminalId>, Vec<Problem>> {
    let entries = match (values.0.get("terminals"), values.0.get("placement_file")) {
        (Some(Value::Ints(list)), None) => list.iter().map(|&t| (t, Written::List)).collect(),
        (None, Some(Value::Text(path))) => read(path)?,
        (Some(_), Some(_)) => {
            return Err(vec![Problem::new("placement_file", "`terminals` already says where the ranks are")]);
        }
        _ => {
            let message = "this placement needs `terminals` or `placement_file`";
            return Err(vec![Problem::new("placement", message).help("add `terminals = [0, 1, ..]`")]);
        }
    };
    let ranks = context.ranks as usize;
    if entries.len() < ranks {
        let from = match values.0.get("placement_file") {
            Some(Value::Text(path)) => format!(" in {path}"),
            _ => String::new(),
        };
        let message = format!("{ranks} ranks need {ranks} terminals, {} are given{from}", entries.len());
        return Err(vec![Problem::new("ranks", message)]);
    }
    let mut free = context.is_free();
    let mut problems = Vec::new();
    let mut placed: Vec<TerminalId> = Vec::with_capacity(ranks);
    for (rank, (terminal, written)) in entries.into_iter().take(ranks).enumerate() {
        let id = u32::try_from(terminal).ok().map(TerminalId::new).filter(|&t| free.get(t).is_some());
        let message = match id {
            Some(id) if free[id] => {
                free[id] = false;
                placed.push(id);
                continue;
            }
            Some(id) if placed.contains(&id) => {
                format!("terminal {terminal} of rank {rank} has a rank already: one terminal holds one rank")
            }
            Some(_) => format!("terminal {terminal} of rank {rank} is taken by an earlier job"),
            None => {
                let last = context.fabric.terminals().saturating_sub(1);
                format!("terminal {terminal} of rank {rank} does not exist: the last one is {last}")
            }
        };
        problems.push(match written {
            Written::List => Problem::new("terminals", message),
            Written::File(excerpt) => Problem::new("placement_file", message).at(excerpt),
        });
    }
    if problems.is_empty() { Ok(placed) } else { Err(problems) }
}

fn read(path: &str) -> Result<Vec<(u64, Written)>, Vec<Problem>> {
    let text = base::input::read(path)
        .and_then(|b| String::from_utf8(b).map_err(std::io::Error::other))
        .map_err(|e| {
            let excerpt = Excerpt { file: path.to_owned(), ..Excerpt::default() };
            vec![Problem::new("placement_file", format!("cannot read `{path}`: {e}")).at(excerpt)]
        })?;
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in text.lines().enumerate() {
        let word = line.split('#').next().unwrap_or("");
        let (start, word) = (word.len() - word.trim_start().len(), word.trim());
        if word.is_empty() {
            continue;
        }
        let (file, text) = (path.to_owned(), line.to_owned());
        let excerpt = Excerpt { file, line: number as u64 + 1, text, start, end: start + word.len() };
        match word.parse() {
            Ok(terminal) => entries.push((terminal, Written::File(excerpt))),
            Err(_) => problems.push(
                Problem::new("placement_file", format!("`{word}` is not the number of a terminal"))
                    .at(excerpt),
            ),
        }
    }
    if problems.is_empty() { Ok(entries) } else { Err(problems) }
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
