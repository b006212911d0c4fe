//! The files of all ranks, found by the name of one: its number is replaced by the others'.

use crate::program::input::Input;
use base::param::Problem;
use std::{
    ops::Range,
    path::{Path, PathBuf},
};

/// The files of all ranks, in order: those whose names differ in the last number that can be 0. One file without others is a trace of one rank.
///
/// # Errors
/// If the file's own number is beyond a gap.
pub(super) fn siblings(input: &Input<'_>, path: &Path) -> Result<Vec<PathBuf>, Problem> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let numbers = numbers(&name);
    for place in numbers.iter().rev() {
        // A number may have zeros before it, so that all names have one length.
        for width in [place.len(), 1] {
            let file = |rank: u32| {
                path.with_file_name(format!("{}{rank:0width$}{}", &name[..place.start], &name[place.end..]))
            };
            if !file(0).is_file() {
                continue;
            }
            let files: Vec<PathBuf> = (0..).map(file).take_while(|f| f.is_file()).collect();
            let own = name[place.clone()].parse::<usize>().unwrap_or(usize::MAX);
            if own >= files.len() {
                let next = file(files.len() as u32);
                let message = format!("the file of rank {}, `{}`, is missing", files.len(), next.display());
                return Err(input.problem(message));
            }
            return Ok(files);
        }
    }
    Ok(vec![path.to_owned()])
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
        let of = |name: &str| siblings(&Input::file(path(name)), &path(name));
        assert_eq!(of("a2-01.dat").unwrap(), [path("a2-00.dat"), path("a2-01.dat")]);
        assert_eq!(of("b-1.v3").unwrap(), [path("b-0.v3"), path("b-1.v3")]);
        assert_eq!(of("alone.txt").unwrap(), [path("alone.txt")]);
        assert_eq!(of("c7").unwrap(), [path("c7")]);
        assert!(of("a2-03.dat").unwrap_err().message.contains("the file of rank 2, "));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
