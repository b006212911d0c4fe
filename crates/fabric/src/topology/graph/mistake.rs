//! Mistakes in files of networks, and where they stand.

use base::{
    mistakes::{Mistakes, Others},
    param::{Excerpt, Problem, Values},
};

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Number of the line, from 1; 0 if no single line is to blame.
    pub line: u64,
    /// First byte of the mistake in its line.
    pub start: usize,
    /// One past its last byte.
    pub end: usize,
    /// What is wrong.
    pub message: String,
    /// How many mistakes it stands for: more than one where others are counted only.
    pub count: usize,
}

/// A stretch of a line that a statement or a part of it stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::topology) struct Place {
    pub(in crate::topology) line: u64,
    pub(in crate::topology) start: usize,
    pub(in crate::topology) end: usize,
}

impl Place {
    pub(in crate::topology) fn mistake(self, message: impl Into<String>) -> Mistake {
        Mistake { line: self.line, start: self.start, end: self.end, message: message.into(), count: 1 }
    }
}

/// Those that are shown, and the number of the others.
///
/// # Errors
/// All of them, if there are any.
pub(in crate::topology) fn done(mistakes: Mistakes<Mistake>) -> Result<(), Vec<Mistake>> {
    mistakes.done(|Others { count, message }| Mistake { count, ..Place::default().mistake(message) })
}

/// Path and text of the file that `file` names.
pub(in crate::topology) fn read_text(values: &Values) -> Result<(String, String), Vec<Problem>> {
    let path = values.text("file");
    let whole = |message| {
        let excerpt = Excerpt { file: path.clone(), ..Excerpt::default() };
        vec![Problem::new("file", message).at(excerpt)]
    };
    let bytes =
        base::input::read(&path).map_err(|error| whole(format!("the file cannot be read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| whole("the file is not UTF-8 text".to_owned()))?;
    Ok((path, text))
}

/// Mistakes as problems with the lines that they are in.
pub(in crate::topology) fn problems_of(path: &str, text: &str, mistakes: Vec<Mistake>) -> Vec<Problem> {
    let lines: Vec<&str> = text.lines().collect();
    let reported = mistakes.into_iter().map(|m| {
        let line = m.line.checked_sub(1).and_then(|i| lines.get(i as usize)).copied().unwrap_or("");
        let excerpt = Excerpt {
            file: path.to_owned(),
            line: m.line,
            text: line.to_owned(),
            start: m.start,
            end: m.end,
        };
        Problem::new("file", m.message).at(excerpt).count(m.count)
    });
    reported.collect()
}
