//! The words of a line of GOAL text.

use crate::program::input::Mistake;
use std::ops::Range;

/// What reading a part of a line gives.
pub(super) type Step<T> = Result<T, Mistake>;

/// Classes of bytes, one bit each: a look into a table is cheaper than comparisons.
const BLANK: u8 = 1;
const DIGIT: u8 = 2;
/// Begins a label or keyword.
const LETTER: u8 = 4;

/// The class of each byte.
const CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b' ' | b'\t' | b'\r' => BLANK,
            b'0'..=b'9' => DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => LETTER,
            _ => 0,
        };
        byte += 1;
    }
    classes
};

/// Digits that always fit 64 bits.
const FIT: usize = 19;

/// The words of a line.
pub(super) struct Words<'a> {
    /// The bytes of the line, without its end.
    pub(super) text: &'a [u8],
    /// What has been read of it.
    pub(super) at: usize,
    /// Number of the line in the file, from 1, for mistakes.
    pub(super) line: u64,
}

impl Words<'_> {
    /// The next byte that is not blank; 0 at the end, where a byte 0 would be seen as 1.
    pub(super) fn peek(&mut self) -> u8 {
        self.skip(BLANK);
        self.text.get(self.at).map_or(0, |&byte| byte.max(1))
    }

    /// Goes on behind all bytes of these classes.
    #[inline]
    fn skip(&mut self, classes: u8) {
        while let Some(&byte) = self.text.get(self.at)
            && CLASSES[usize::from(byte)] & classes != 0
        {
            self.at += 1;
        }
    }

    /// The mistake of something else standing here.
    pub(super) fn wanted(&self, what: &str) -> Mistake {
        let end = self.text.len();
        let message = if self.at >= end {
            format!("the line ends where {what} is wanted")
        } else {
            format!("{what} is wanted here")
        };
        let word = self.text[self.at.min(end)..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        Mistake::new(self.line, self.at..(self.at + word.max(1)), message)
    }

    /// A label or keyword.
    pub(super) fn word(&mut self, what: &str) -> Step<Range<usize>> {
        if CLASSES[usize::from(self.peek())] != LETTER {
            return Err(self.wanted(what));
        }
        let start = self.at;
        self.skip(LETTER | DIGIT);
        Ok(start..self.at)
    }

    /// Reads this keyword, a whole word; if something else stands here, `at` stays before it.
    pub(super) fn keyword(&mut self, keyword: &str) -> Step<()> {
        self.peek();
        let start = self.at;
        match self.word("") {
            Ok(word) if &self.text[word.clone()] == keyword.as_bytes() => Ok(()),
            _ => {
                self.at = start;
                Err(self.wanted(&format!("`{keyword}`")))
            }
        }
    }

    /// A number and where it stands.
    pub(super) fn number(&mut self, what: &str, max: u64) -> Step<(u64, Range<usize>)> {
        if !self.peek().is_ascii_digit() {
            return Err(self.wanted(what));
        }
        let start = self.at;
        self.skip(DIGIT);
        let span = start..self.at;
        let mut digits = self.text[span.clone()].iter().map(|digit| u64::from(digit - b'0'));
        let value = if span.len() <= FIT {
            Some(digits.fold(0, |value, digit| value * 10 + digit))
        } else {
            digits.try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(digit))
        };
        match value.filter(|&v| v <= max) {
            Some(value) => Ok((value, span)),
            None => Err(Mistake::new(self.line, span, format!("{what} is at most {max}"))),
        }
    }

    /// `-1`: left open.
    pub(super) fn minus_one(&mut self, what: &str) -> Step<Range<usize>> {
        let start = self.at;
        self.at += 1;
        match self.number(what, 1) {
            Ok((1, span)) if span.start == start + 1 => Ok(start..span.end),
            _ => {
                self.at = start;
                Err(self.wanted(&format!("{what} (or -1 for any)")))
            }
        }
    }

    /// Nothing more, but for a brace or a comment.
    pub(super) fn expect_end(&mut self) -> Step<()> {
        match self.peek() {
            0 | b'}' => Ok(()),
            b'/' if matches!(self.text.get(self.at + 1), Some(b'/' | b'*')) => Ok(()),
            _ => Err(self.wanted("the end of the line")),
        }
    }
}
