//! A file line by line, and its mistakes.

use super::source::Source;
use base::{
    mistakes::Mistakes,
    param::{Excerpt, Problem},
};
use std::{
    borrow::Cow,
    io::{BufRead, Read},
};

/// Longest line that is read; other readers than DOT's have short ones.
const LONGEST: u64 = 1 << 20;
/// Mistakes beyond those that are shown after which reading on is of no use: the file is of another kind.
const MOST: usize = 1_000_000;
/// Bytes of a line that are shown.
const SHOWN: usize = 200;

/// A file being read.
pub(super) struct Lines {
    pub(super) name: String,
    pub(super) bytes: Box<dyn BufRead>,
    /// Number of the line last read, from 1.
    pub(super) number: u64,
    text: Vec<u8>,
    problems: Mistakes<Problem>,
}

impl Lines {
    pub(super) fn new(source: Source) -> Self {
        Self {
            name: source.name,
            bytes: source.bytes,
            number: 0,
            text: Vec::new(),
            problems: Mistakes::default(),
        }
    }

    /// Reads the next line without its end; false at the end of the file or after too many mistakes. What is not UTF-8 is
    /// replaced.
    pub(super) fn next(&mut self, line: &mut String) -> bool {
        if self.enough() {
            return false;
        }
        self.text.clear();
        let read = (&mut self.bytes).take(LONGEST).read_until(b'\n', &mut self.text);
        self.number += 1;
        line.clear();
        match read {
            Ok(0) => return false,
            Ok(n) if n as u64 == LONGEST => {
                self.mistake("", "this line is longer than 1 MiB");
                return false;
            }
            Ok(_) => {}
            Err(e) => {
                self.mistake("", format!("the file cannot be read on: {e}"));
                return false;
            }
        }
        line.push_str(&plain(&String::from_utf8_lossy(&self.text)));
        line.truncate(line.trim_end().len());
        true
    }

    /// Notes a mistake in the present line.
    pub(super) fn mistake(&mut self, line: &str, message: impl Into<String>) {
        self.at(self.number, line, message);
    }

    /// Notes a mistake in any line.
    pub(super) fn at(&mut self, number: u64, line: &str, message: impl Into<String>) {
        let name = &self.name;
        self.problems.push_with(|| {
            let text: String = line.chars().take(SHOWN).collect();
            let end = text.len();
            let excerpt = Excerpt { file: name.clone(), line: number, text, start: 0, end };
            Problem::new("file", message).at(excerpt)
        });
    }

    /// Notes a mistake of the whole file.
    pub(super) fn whole(&mut self, message: impl Into<String>) {
        self.problems.push(crate::subnet::whole(&self.name, message));
    }

    /// True once there are so many mistakes that reading on is pointless.
    pub(super) fn enough(&self) -> bool {
        self.problems.more() >= MOST
    }

    /// The mistakes, if there are any.
    pub(super) fn done(&mut self) -> Result<(), Vec<Problem>> {
        let end = if self.enough() { "; it was read no further" } else { "" };
        let problems = std::mem::take(&mut self.problems);
        problems.done(|others| crate::subnet::whole(&self.name, others.message + end).count(others.count))
    }
}

/// A line without the signs with which terminals colour and edit it, as logs of sessions have them, and without a byte order mark.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains(['\x1b', '\u{feff}']) {
        return Cow::Borrowed(line);
    }
    let (mut out, mut rest) = (String::with_capacity(line.len()), line.chars());
    while let Some(c) = rest.next() {
        match c {
            '\u{feff}' => {}
            // `ESC [ 0 1 m`: parameters, then a letter that ends them. `ESC ]` is a title, up to a bell.
            '\x1b' => match rest.next() {
                Some('[') => drop(rest.by_ref().find(|c| ('@'..='~').contains(c))),
                Some(']') => drop(rest.by_ref().find(|c| *c == '\x07')),
                _ => {}
            },
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Lines that are skipped, and the first of them.
#[derive(Default)]
pub(super) struct Skipped {
    lines: u32,
    first: (u64, String),
}

impl Skipped {
    /// Bytes of the first line that are told.
    const SHOWN: usize = 60;

    /// Counts a line.
    pub(super) fn count(&mut self, number: u64, text: &str) {
        if self.lines == 0 {
            let start: String = text.trim().chars().take(Self::SHOWN).collect();
            self.first = (number, start.escape_debug().to_string());
        }
        self.lines = self.lines.saturating_add(1);
    }

    /// What is reported of them; `what` says what lines were looked for.
    pub(super) fn note(&self, what: &str) -> Option<String> {
        let Self { lines, first: (number, text) } = self;
        (*lines > 0)
            .then(|| format!("{lines} lines skipped that are {what}, the first on line {number}: \"{text}\""))
    }
}

/// A hexadecimal number with or without `0x`.
pub(super) fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).ok()
}
