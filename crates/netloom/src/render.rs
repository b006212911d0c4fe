//! Draws diagnostics with their line, a caret, the reason and ways to mend them.

use crate::error::Error;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use base::{
    diag::{Diagnostic, Diagnostics, SHOWN, Source},
    visible::name,
};
use std::fmt;

/// Longest line of a source that is drawn; of longer ones only the position is reported.
const MAX_LINE: usize = 2_000;

/// Why something failed, as the program prints it.
#[must_use]
pub fn failure(error: &Error, colour: bool) -> String {
    match error {
        Error::Experiment(diagnostics) => render(diagnostics, colour),
        Error::Message { .. } => format!("error: {error}\n"),
    }
}

/// As the program prints it: a `main` that returns an error shows this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Each begins a line of its own, after whatever stands before.
            Self::Experiment(diagnostics) => write!(f, "\n{}", render(diagnostics, false).trim_end()),
            Self::Message { .. } => write!(f, "{self}"),
        }
    }
}

/// All mistakes as text, sorted by position, with a closing count; `colour` adds terminal colours.
#[must_use]
pub fn render(diagnostics: &Diagnostics, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for diagnostic in diagnostics.sorted().into_iter().take(SHOWN) {
        text += &one(diagnostics, diagnostic, &renderer);
        text += "\n\n";
    }
    let count = diagnostics.len();
    let first = if count > SHOWN { format!("; the first {SHOWN} are shown") } else { String::new() };
    text + &format!("{count} {} found{first}\n", if count == 1 { "error" } else { "errors" })
}

fn one(all: &Diagnostics, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let mut group = Group::with_title(Level::ERROR.primary_title(shown(&diagnostic.message)));
    // Line 0 is the file as a whole.
    let drawn = position(all, diagnostic).filter(|at| at.line > 0);
    if let Some((Position { source, line, column }, place)) = drawn.zip(diagnostic.place) {
        let start = floor(&source.text, place.start);
        let end = ceil(&source.text, place.end.max(start));
        let line_start = source.text[..start].rfind('\n').map_or(0, |i| i + 1);
        let line_end = source.text[start..].find('\n').map_or(source.text.len(), |i| start + i);
        if line_end - line_start <= MAX_LINE {
            let span = start - line_start..end.min(line_end).max(start) - line_start;
            let mark = AnnotationKind::Primary.span(span);
            let mark = if diagnostic.label.is_empty() { mark } else { mark.label(shown(&diagnostic.label)) };
            let snippet = Snippet::source(&source.text[line_start..line_end])
                .path(name(&source.name))
                .line_start(line)
                .annotation(mark);
            group = group.element(snippet);
        } else {
            group = group.element(Level::NOTE.message(format!("at {}:{line}:{column}", name(&source.name))));
        }
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(shown(help)));
    }
    renderer.render(&[group])
}

/// Longest words of a mistake that are drawn whole.
const MAX_WORDS: usize = 1_200;

/// Words of a mistake on one line. They may repeat what a file holds: of very long ones the middle is left out.
fn shown(words: &str) -> String {
    if words.len() <= MAX_WORDS {
        return name(words).into_owned();
    }
    let (start, end) = (floor(words, MAX_WORDS / 2), ceil(words, words.len() - MAX_WORDS / 4));
    name(&format!("{} .. {}", &words[..start], &words[end..])).into_owned()
}

/// Where a mistake is, for people: lines and columns count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position<'a> {
    /// The text that holds it.
    pub source: &'a Source,
    /// Number of the line.
    pub line: usize,
    /// Number of the column.
    pub column: usize,
}

/// Where a mistake is; `None` if it concerns no single place.
#[must_use]
pub fn position<'a>(all: &'a Diagnostics, diagnostic: &Diagnostic) -> Option<Position<'a>> {
    let place = diagnostic.place?;
    let source = all.sources.get(place.source)?;
    let before = &source.text[..floor(&source.text, place.start)];
    let lines = before.matches('\n').count() as u64;
    let line = (source.first_line + lines) as usize;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    Some(Position { source, line, column })
}

fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}

fn ceil(text: &str, at: usize) -> usize {
    text.ceil_char_boundary(at.min(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::diag::Place;

    #[test]
    fn file_line_caret_reason_and_help() {
        let mut all = Diagnostics::default();
        let source = all.add_source("x.toml", "[a]\nlatency = 30\n");
        let place = Place { source, start: 14, end: 16 };
        all.push(Diagnostic::new(place, "no unit").label("a time").help("write \"30 ns\""));
        let drawn = [
            "error: no unit",
            " --> x.toml:2:11",
            "  |",
            "2 | latency = 30",
            "  |           ^^ a time",
            "  |",
            "  = help: write \"30 ns\"",
            "",
            "1 error found",
            "",
        ];
        assert_eq!(render(&all, false), drawn.join("\n"));
        let at = position(&all, all.sorted()[0]).expect("it has a place");
        assert_eq!((at.line, at.column), (2, 11));
    }

    #[test]
    fn words_are_on_one_line_and_not_too_long() {
        let mut all = Diagnostics::default();
        let source = all.add_source("x\n.toml", "[a]\n");
        let place = Place { source, start: 0, end: 1 };
        let long = format!("not `{}` here", "\u{e9}[".repeat(30_000));
        all.push(Diagnostic::new(place, long.as_str()).label(long.as_str()).help("a\nb"));
        let text = render(&all, false);
        assert!(text.lines().all(|line| line.len() < 2 * MAX_WORDS), "{}", text.len());
        assert!(text.contains("` here") && text.contains(" .. ") && text.contains(r"x\u000a.toml"), "{text}");
        assert!(text.contains(r"help: a\u000ab"), "{text}");
        assert_eq!(shown(&"x".repeat(MAX_WORDS)), "x".repeat(MAX_WORDS));
    }

    #[test]
    fn places_at_odd_positions_do_not_harm() {
        let mut all = Diagnostics::default();
        let source = all.add_source("x.toml", "\u{e9}\u{e9}\r\n\u{1f600}");
        for start in 0..9 {
            for end in 0..9 {
                all.push(Diagnostic::new(Place { source, start, end }, "odd").label("here"));
            }
        }
        all.push(Diagnostic::new(Place { source: 7, start: 0, end: 1 }, "no source"));
        all.add_source("y.toml", "x".repeat(5_000));
        all.push(Diagnostic::new(Place { source: 1, start: 4_000, end: 4_001 }, "long line"));
        let text = render(&all, false);
        assert!(text.contains("at y.toml:1:4001") && text.contains("no source"));
    }
}
