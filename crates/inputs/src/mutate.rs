//! Changes of inputs, drawn from a seed: what a stranger, a full disk or a bad copy makes of a file.

use base::rng::{Purpose, Stream};

/// Longest input that is made.
const LONGEST: usize = 1 << 18;

/// Numbers at the ends of their types and formats, as text.
const EXTREMES: &[&str] = &[
    "0",
    "-1",
    "1",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999",
    "1e308",
    "1e-308",
    "1e999",
    "-0.0",
    "nan",
    "inf",
    "0x",
    "",
];

/// One after another.
pub struct Mutator<'a> {
    corpus: &'a [Vec<u8>],
    stream: Stream,
}

impl<'a> Mutator<'a> {
    /// Changes of these inputs; the same number always gives the same one.
    #[must_use]
    pub fn new(corpus: &'a [Vec<u8>], number: u64) -> Self {
        assert!(!corpus.is_empty(), "there must be something to change");
        Self { corpus, stream: Stream::new(number, Purpose::Test, 0) }
    }

    fn below(&mut self, n: usize) -> usize {
        self.stream.below(n.max(1) as u64) as usize
    }

    /// An input with one to four changes.
    pub fn draw(&mut self) -> Vec<u8> {
        let which = self.below(self.corpus.len());
        let mut bytes = self.corpus[which].clone();
        for _ in 0..1 + self.below(4) {
            self.change(&mut bytes);
            bytes.truncate(LONGEST);
        }
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        let length = 1 + self.below(16);
        let end = (at + length).min(bytes.len());
        match self.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => {
                bytes[at] = [0, 0xff, 0x7f, 0x80, b'\n', b' ', b'"', b'-'][self.below(8)]
            }
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => self.repeat(bytes, at, end),
            5 => self.splice(bytes, at),
            6 => self.number(bytes, at),
            7 => self.word(bytes, at),
            _ => {
                let noise: Vec<u8> = (0..length).map(|_| self.below(256) as u8).collect();
                bytes.splice(at..at, noise);
            }
        }
    }

    /// A stretch, or a line, up to a few hundred times.
    fn repeat(&mut self, bytes: &mut Vec<u8>, at: usize, end: usize) {
        let line = self.below(2) == 0;
        let start =
            if line { bytes[..at].iter().rposition(|&b| b == b'\n').map_or(0, |n| n + 1) } else { at };
        let end = if line {
            bytes[at..].iter().position(|&b| b == b'\n').map_or(bytes.len(), |n| at + n + 1)
        } else {
            end
        };
        let times = 1usize << self.below(9);
        let piece = bytes[start..end].repeat(times.min(LONGEST / (end - start).max(1)));
        bytes.splice(start..start, piece);
    }

    /// A stretch of another input.
    fn splice(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let which = self.below(self.corpus.len());
        let other = &self.corpus[which];
        let from = self.below(other.len() + 1);
        let to = from + self.below(other.len() - from + 1);
        let end = at + self.below((bytes.len() - at).min(to - from) + 1);
        bytes.splice(at..end, self.corpus[which][from..to].iter().copied());
    }

    /// Another number in place of the next one, in digits.
    fn number(&mut self, bytes: &mut Vec<u8>, at: usize) {
        let Some(start) = bytes[at..].iter().position(u8::is_ascii_digit).map(|n| at + n) else { return };
        let end = bytes[start..].iter().position(|b| !b.is_ascii_digit()).map_or(bytes.len(), |n| start + n);
        let extreme = EXTREMES[self.below(EXTREMES.len())];
        bytes.splice(start..end, extreme.bytes());
    }

    /// Another number of 2, 4 or 8 bytes, at an end of its type, in either order of bytes.
    fn word(&mut self, bytes: &mut [u8], at: usize) {
        let width = [2, 4, 8][self.below(3)];
        let Some(place) = bytes.get_mut(at..at + width) else { return };
        let number: u64 = [0, 1, u64::MAX, u64::MAX >> 1, 1 << 31, 1 << 40, 0x7fff_ffff, 4096][self.below(8)];
        let number = number.to_le_bytes();
        place.copy_from_slice(&number[..width]);
        if self.below(2) == 0 {
            place.reverse();
        }
    }
}
