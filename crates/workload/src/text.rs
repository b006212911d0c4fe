//! Text files that keys of a job name.

use base::param::{Built, Excerpt, Problem};

/// A problem of the file as a whole.
pub(crate) fn whole(path: &str, key: &str, message: impl Into<String>) -> Vec<Problem> {
    vec![one(path, key, message)]
}

/// The same, as one of several.
pub(crate) fn one(path: &str, key: &str, message: impl Into<String>) -> Problem {
    Problem::new(key, message).at(Excerpt { file: path.to_owned(), ..Excerpt::default() })
}

/// A problem of some words of a line, whose number counts from 1; `word` is a part of `line`.
pub(crate) fn at(path: &str, key: &str, number: u64, line: &str, word: &str, message: String) -> Problem {
    let start = word.as_ptr().addr() - line.as_ptr().addr();
    let (file, end) = (path.to_owned(), start + word.len());
    Problem::new(key, message).at(Excerpt { file, line: number, text: line.to_owned(), start, end })
}

/// The whole text of a file.
///
/// # Errors
/// If it cannot be read, or is no UTF-8 text.
pub(crate) fn read(path: &str, key: &str) -> Built<String> {
    let bytes =
        base::input::read(path).map_err(|e| whole(path, key, format!("the file cannot be read: {e}")))?;
    String::from_utf8(bytes).map_err(|_| whole(path, key, "the file is not UTF-8 text"))
}
