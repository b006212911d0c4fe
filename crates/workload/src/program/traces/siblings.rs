//! The files of all ranks, found by the name of one: its number is replaced by the others'.

use crate::program::{input::Input, place::Place};
use base::param::Problem;
use std::ops::Range;

/// The files of all ranks, in order: those whose names differ in the last number that can be 0. One file without others is a trace of one rank.
///
/// # Errors
/// If there is a file with a number beyond a gap.
pub(in crate::program) fn siblings(input: &Input<'_>) -> Result<Vec<Place>, Problem> {
    let place = input.place();
    let path = place.path();
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let numbers = numbers(&name);
    for at in numbers.iter().rev() {
        let (head, tail) = (&name[..at.start], &name[at.end..]);
        // A number may have zeros before it, so that all names have one length.
        for width in [at.len(), 1] {
            let path = |rank: usize| path.with_file_name(format!("{head}{rank:0width$}{tail}"));
            let files: Vec<Place> = (0..).map_while(|rank| place.other(&path(rank))).collect();
            if files.is_empty() {
                continue;
            }
            let rank = files.len();
            if beyond(&place, head, tail, rank as u64) {
                let message = format!("the file of rank {rank}, `{}`, is missing", path(rank).display());
                return Err(input.problem(message));
            }
            return Ok(files);
        }
    }
    Ok(vec![place])
}

/// True if the folder has a file between whose beginning and end stands a number from `next` on.
fn beyond(place: &Place, head: &str, tail: &str, next: u64) -> bool {
    place.any_beside(|name| {
        let number = name.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
        // A number of many digits is no rank: a date, say.
        number.is_some_and(|text| {
            text.len() <= 9
                && text.bytes().all(|b| b.is_ascii_digit())
                && text.parse().is_ok_and(|n: u64| n >= next)
        })
    })
}

/// Where numbers stand in a name.
fn numbers(name: &str) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for (at, _) in name.bytes().enumerate().filter(|(_, b)| b.is_ascii_digit()) {
        match all.last_mut().filter(|last| last.end == at) {
            Some(last) => last.end = at + 1,
            None => all.push(at..at + 1),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_a_number() {
        let folder = std::env::temp_dir().join(format!("netloom-siblings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        for name in ["a2-00.dat", "a2-01.dat", "a2-03.dat", "b-0.v3", "b-1.v3", "alone.txt", "c7"] {
            std::fs::write(path(name), "").unwrap();
        }
        let of = |name: &str| {
            let found = siblings(&Input::file(path(name)));
            found.map(|files| files.iter().map(|file| file.path().to_owned()).collect::<Vec<_>>())
        };
        // Whichever file is named: a rank is missing between others.
        for name in ["a2-00.dat", "a2-01.dat", "a2-03.dat"] {
            assert!(of(name).unwrap_err().message.contains("the file of rank 2, "));
        }
        assert_eq!(of("b-1.v3").unwrap(), [path("b-0.v3"), path("b-1.v3")]);
        assert_eq!(of("alone.txt").unwrap(), [path("alone.txt")]);
        assert_eq!(of("c7").unwrap(), [path("c7")]);
        std::fs::write(path("a2-02.dat"), "").unwrap();
        assert_eq!(of("a2-01.dat").unwrap(), ["0", "1", "2", "3"].map(|n| path(&format!("a2-0{n}.dat"))));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
