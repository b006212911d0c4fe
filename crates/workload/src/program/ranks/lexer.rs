//! The tokens of a line.

use crate::program::input::Mistake;
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    /// Digits, a decimal point and an exponent.
    Number,
    /// A sign, or `<<` and `>>`.
    Sign,
    /// Anything in quotes, which are part of it; no quote and no escape stands within.
    Quoted,
    End,
}

/// The tokens of a line and how far they have been read.
pub(super) struct Tokens<'a> {
    pub(super) text: &'a str,
    pub(super) line: u64,
    tokens: Vec<(Kind, Range<usize>)>,
    at: usize,
}

pub(super) type Step<T> = Result<T, Mistake>;

impl<'a> Tokens<'a> {
    /// Splits a line up to its comment, which `#` begins.
    pub(super) fn new(text: &'a str, line: u64) -> Self {
        let mut tokens = Vec::new();
        let mut start = 0;
        while let Some(first) = text[start..].chars().next() {
            let rest = &text[start..];
            let while_true = |f: fn(char) -> bool| rest.find(|c| !f(c)).unwrap_or(rest.len());
            let (kind, length) = match first {
                '#' => break,
                c if c.is_whitespace() => {
                    start += c.len_utf8();
                    continue;
                }
                '0'..='9' => (Kind::Number, number(rest.as_bytes())),
                c if c.is_alphabetic() || c == '_' => {
                    (Kind::Word, while_true(|c| c.is_alphanumeric() || c == '_'))
                }
                _ if rest.starts_with("<<") || rest.starts_with(">>") => (Kind::Sign, 2),
                '"' if rest[1..].contains('"') => {
                    (Kind::Quoted, rest[1..].find('"').map_or(1, |end| end + 2))
                }
                c => (Kind::Sign, c.len_utf8()),
            };
            tokens.push((kind, start..start + length));
            start += length;
        }
        Self { text, line, tokens, at: 0 }
    }

    /// Kind and text of the next token; empty at the end.
    pub(super) fn peek(&self) -> (Kind, &'a str) {
        self.tokens.get(self.at).map_or((Kind::End, ""), |(kind, span)| (*kind, &self.text[span.clone()]))
    }

    /// True if the next token is this one.
    pub(super) fn is(&self, text: &str) -> bool {
        self.peek().1 == text
    }

    /// Where the next token stands.
    pub(super) fn span(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(self.text.len()..self.text.len(), |t| t.1.clone())
    }

    /// Goes on to the next token.
    pub(super) fn skip(&mut self) {
        self.at += 1;
    }

    /// Goes on if the next token is this one.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is = self.is(text);
        self.at += usize::from(is);
        is
    }

    /// This token must come.
    pub(super) fn expect(&mut self, text: &str) -> Step<()> {
        if self.take(text) { Ok(()) } else { Err(self.wanted(&format!("`{text}`"))) }
    }

    /// The next token, which must be a word.
    pub(super) fn word(&mut self, what: &str) -> Step<&'a str> {
        match self.peek() {
            (Kind::Word, word) => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.wanted(what)),
        }
    }

    /// What stands within the quotes of the next token, which must have some.
    pub(super) fn quoted(&mut self, what: &str) -> Step<&'a str> {
        match self.peek() {
            (Kind::Quoted, text) => {
                self.at += 1;
                Ok(&text[1..text.len() - 1])
            }
            _ => Err(self.wanted(what)),
        }
    }

    /// The mistake of something else standing here.
    pub(super) fn wanted(&self, what: &str) -> Mistake {
        let message = match self.peek() {
            (Kind::End, _) => format!("the line ends where {what} is wanted"),
            (_, text) => format!("{what} is wanted here, not `{text}`"),
        };
        self.mistake(message)
    }

    /// A mistake at the next token.
    pub(super) fn mistake(&self, message: impl Into<String>) -> Mistake {
        Mistake::new(self.line, self.span(), message)
    }

    /// The braces that are still to come.
    pub(super) fn braces(&self) -> impl Iterator<Item = &'a str> {
        let text = self.text;
        self.tokens
            .get(self.at..)
            .unwrap_or(&[])
            .iter()
            .map(|t| &text[t.1.clone()])
            .filter(|t| matches!(*t, "{" | "}"))
    }

    /// Where the token before the next one ended.
    pub(super) fn end(&self) -> usize {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).map_or(0, |t| t.1.end)
    }
}

fn number(text: &[u8]) -> usize {
    let digits =
        |from: usize| text.get(from..).unwrap_or(&[]).iter().take_while(|b| b.is_ascii_digit()).count();
    let mut end = digits(0);
    if text.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}
