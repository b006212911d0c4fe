//! Mistakes of users, each with the place it was made at.
//!
//! A [`Diagnostics`] collects all mistakes of an input, so that they are reported at once, and owns the texts they point
//! into: a file, or an option of the command line that overrides one of its values. The library draws
//! them (`netloom::render`).

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// A text that mistakes can be made in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path of the file, or the option's name (`--set`).
    pub name: String,
    /// The whole text, or an excerpt. Copies share it.
    pub text: Arc<str>,
    /// Number of the text's first line: 1 unless it is an excerpt.
    pub first_line: u64,
}

/// A stretch of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Index in [`Diagnostics::sources`].
    pub source: usize,
    /// Position of the first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// One mistake, with its place if it has one and ways to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where; `None` if it concerns no single place.
    pub place: Option<Place>,
    /// What is wrong, on one line.
    pub message: String,
    /// Written under the caret.
    pub label: String,
    /// Further lines: ways to mend it.
    pub help: Vec<String>,
    /// True if the mistake is in an input file that the experiment names, not in the experiment itself.
    pub input: bool,
    /// How many mistakes it stands for: more than one where others are counted only.
    pub count: usize,
}

impl Diagnostic {
    /// A mistake at a place.
    pub fn new(place: impl Into<Option<Place>>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
            label: String::new(),
            help: Vec::new(),
            input: false,
            count: 1,
        }
    }

    /// Sets what is written under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Its rank among others: by place, none last.
    fn order(&self) -> (bool, Option<Place>) {
        (self.place.is_none(), self.place)
    }

    /// Adds a way to mend it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

/// All mistakes found so far and the texts they point into.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// The texts, in the order of [`Diagnostics::add_source`].
    pub sources: Vec<Source>,
    /// What a user is to know and is no mistake, a line each: keys without effect.
    pub notes: Vec<String>,
    /// The first by place, at least [`KEPT`] of them.
    items: Vec<Diagnostic>,
    /// All that were found, each once.
    count: usize,
    /// One of them is not in an input file.
    elsewhere: bool,
    /// Hashes of places and messages.
    seen: BTreeSet<u64>,
}

/// Mistakes whose words are kept: a file may have a million, and few are shown.
const KEPT: usize = 1 << 10;
const _: () = assert!(KEPT > SHOWN);

/// Mistakes that are shown; of more only the number is.
pub use crate::mistakes::SHOWN;

impl Diagnostics {
    /// Adds a text and returns its index.
    pub fn add_source(&mut self, name: impl Into<String>, text: impl Into<String>) -> usize {
        self.add_excerpt(name, text, 1)
    }

    /// Adds some lines of a text, the first of which is its line `first_line`, and returns the index.
    pub fn add_excerpt(
        &mut self,
        name: impl Into<String>,
        text: impl Into<String>,
        first_line: u64,
    ) -> usize {
        self.sources.push(Source { name: name.into(), text: text.into().into(), first_line });
        self.sources.len() - 1
    }

    /// True if there are mistakes and all of them are in input files.
    #[must_use]
    pub fn all_in_input(&self) -> bool {
        !self.is_empty() && !self.elsewhere
    }

    /// Adds a mistake. The same mistake at the same place is kept once.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        let mut hasher = DefaultHasher::new();
        (diagnostic.place, &diagnostic.message).hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return;
        }
        self.count = self.count.saturating_add(diagnostic.count);
        self.elsewhere |= !diagnostic.input;
        self.items.push(diagnostic);
        if self.items.len() >= 2 * KEPT {
            self.items.sort_by_key(Diagnostic::order);
            self.items.truncate(KEPT);
        }
    }

    /// True if nobody made a mistake.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of mistakes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// The mistakes by source and position, of very many the first; those without a place come last.
    #[must_use]
    pub fn sorted(&self) -> Vec<&Diagnostic> {
        let mut sorted: Vec<&Diagnostic> = self.items.iter().collect();
        sorted.sort_by_key(|d| d.order());
        sorted
    }

    /// The text that a place covers; empty if the place is not within its source.
    #[must_use]
    pub fn text(&self, place: Place) -> &str {
        self.sources.get(place.source).and_then(|s| s.text.get(place.start..place.end)).unwrap_or("")
    }
}

impl std::fmt::Display for Diagnostics {
    /// A line for each of the first [`SHOWN`], `file:line:column: message`, and one that counts the others.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (number, diagnostic) in self.sorted().into_iter().take(SHOWN).enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            let source = diagnostic.place.and_then(|p| Some((p, self.sources.get(p.source)?)));
            if let Some((place, source)) = source {
                let before = &source.text[..source.text.floor_char_boundary(place.start)];
                let line = source.first_line + before.matches('\n').count() as u64;
                let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
                write!(f, "{}:{line}:{column}: ", source.name)?;
            }
            f.write_str(&diagnostic.message)?;
        }
        if self.len() > SHOWN {
            write!(f, "\nand {} more", self.len() - SHOWN)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_by_position_and_without_repetition() {
        let mut all = Diagnostics::default();
        let file = all.add_source("a.toml", "x = 1\ny = 2\n");
        let option = all.add_source("--set", "x=2");
        let at = |source, start, end| Place { source, start, end };
        all.push(Diagnostic::new(None, "nowhere"));
        all.push(Diagnostic::new(at(option, 0, 1), "option"));
        all.push(Diagnostic::new(at(file, 6, 7), "second").label("here").help("mend"));
        all.push(Diagnostic::new(at(file, 0, 1), "first"));
        all.push(Diagnostic::new(at(file, 0, 1), "first"));
        assert_eq!(all.to_string(), "a.toml:1:1: first\na.toml:2:1: second\n--set:1:1: option\nnowhere");
        let messages: Vec<&str> = all.sorted().iter().map(|d| d.message.as_str()).collect();
        assert_eq!(messages, ["first", "second", "option", "nowhere"]);
        assert_eq!((all.len(), all.is_empty()), (4, false));
        assert_eq!(all.text(at(file, 6, 11)), "y = 2");
        assert_eq!(all.text(at(file, 6, 99)), "");
    }

    /// What stands for many counts as many, whatever it says; what says a number stands for itself.
    #[test]
    fn what_stands_for_many_counts_as_many() {
        let mut all = Diagnostics::default();
        all.push(Diagnostic::new(None, "a: 7 more errors"));
        assert_eq!(all.len(), 1);
        all.push(Diagnostic { count: 49_900, ..Diagnostic::new(None, "the rest") });
        assert_eq!(all.len(), 49_901);
        assert!(all.to_string().ends_with("the rest\nand 49801 more"), "{all}");
    }

    /// Of very many all are counted, and the first are kept, whatever the order in which they were found.
    #[test]
    fn of_very_many_the_first_are_kept() {
        let count = 10 * KEPT;
        let mut all = Diagnostics::default();
        let file = all.add_source("a.toml", "x\n".repeat(count));
        for n in (0..count).rev().chain(0..count) {
            let place = Place { source: file, start: 2 * n, end: 2 * n + 1 };
            all.push(Diagnostic::new(place, format!("{n}")));
        }
        assert_eq!(all.len(), count);
        let first: Vec<String> = all.sorted().iter().take(SHOWN).map(|d| d.message.clone()).collect();
        assert_eq!(first, (0..SHOWN).map(|n| n.to_string()).collect::<Vec<_>>());
        assert!(all.items.len() < 2 * KEPT, "{}", all.items.len());
    }
}
