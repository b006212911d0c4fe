//! Input files of rank programs: read from the start as often as needed, packed by gzip or zstd or not; and the mistakes found in them.
//!
//! Readers stream. They note a mistake by its line number and columns; only when a file turns out to be wrong is it read a second
//! time for the text of those lines ([`Mistakes::problems`]).

use super::{
    packed::{is_packed, unpack},
    place::Place,
};
use base::{
    mistakes::{SHOWN, more_errors},
    param::{Excerpt, Problem},
};
use std::{
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
};

/// Key of the experiment that names the file; mistakes in the file are reported under it.
pub const KEY: &str = "file";

/// Longest line of a text file. Longer ones are no text written by or for people.
pub const MAX_LINE: u64 = 1 << 20;

/// Mistakes after which reading on is of no use: the file is of another kind.
const MAX_MISTAKES: usize = 1_000_000;

/// Most bytes of a line that are kept to be shown.
const MAX_SHOWN: usize = 4_000;

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 18;

/// A file, or bytes in its place, that can be read from the start more than once.
pub struct Input<'a> {
    name: String,
    content: Content<'a>,
}

enum Content<'a> {
    At(Place),
    Bytes(&'a [u8]),
}

impl<'a> Input<'a> {
    /// A file, which need not exist.
    #[must_use]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::at(Place::File(path.into()))
    }

    /// A file at a place, which need not exist.
    pub(super) fn at(place: Place) -> Self {
        Self { name: place.to_string(), content: Content::At(place) }
    }

    /// Bytes in memory under a name that messages show.
    #[must_use]
    pub fn bytes(name: &str, bytes: &'a [u8]) -> Self {
        Self { name: name.to_owned(), content: Content::Bytes(bytes) }
    }

    /// The path or name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its place; that of a file of its name, if it is bytes in memory.
    pub(super) fn place(&self) -> Place {
        match &self.content {
            Content::At(place) => place.clone(),
            Content::Bytes(_) => Place::File(self.name.clone().into()),
        }
    }

    /// True if it is bytes in memory, which have no others beside them.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.content, Content::Bytes(_))
    }

    /// Starts reading at the first byte, unpacked.
    ///
    /// # Errors
    /// If the file is missing or unreadable.
    pub fn open(&self) -> io::Result<Box<dyn BufRead + Send + 'a>> {
        unpack(match &self.content {
            Content::At(Place::File(path)) => {
                Box::new(BufReader::with_capacity(BUFFER, base::input::open(path)?))
            }
            Content::At(place) => place.open_at(0)?,
            Content::Bytes(bytes) => Box::new(*bytes),
        })
    }

    /// Where it is, if it can be read from the middle: not if it is packed or bytes in memory.
    pub(super) fn plain(&self) -> io::Result<Option<&Place>> {
        let Content::At(place) = &self.content else { return Ok(None) };
        Ok((!is_packed(&place.head(4)?)).then_some(place))
    }

    /// The first bytes, at most `n`.
    ///
    /// # Errors
    /// If the file is missing or unreadable.
    pub fn head(&self, n: u64) -> io::Result<Vec<u8>> {
        let mut head = Vec::new();
        self.open()?.take(n).read_to_end(&mut head)?;
        Ok(head)
    }

    /// A problem with the file as a whole. A message that begins with the file's name does not get it once more.
    pub fn problem(&self, message: impl Into<String>) -> Problem {
        let (excerpt, message) = (Excerpt { file: self.name.clone(), ..Excerpt::default() }, message.into());
        let named = message.strip_prefix(&self.name).is_some_and(|rest| rest.starts_with([':', ',']));
        let message = if named { message } else { format!("{}: {message}", self.name) };
        Problem::new(KEY, message).at(excerpt)
    }

    /// The problem of a file that cannot be read (on). Of a folder it says which file to name.
    #[must_use]
    pub fn unreadable(&self, error: &io::Error) -> Problem {
        let problem = self.problem(format!("cannot be read: {error}"));
        let Content::At(Place::File(path)) = &self.content else { return problem };
        let Ok(entries) = path.read_dir() else { return problem };
        let anchor = |path: &PathBuf| path.extension().is_some_and(|end| end == "otf2") && path.is_file();
        let anchor = entries.flatten().map(|entry| entry.path()).filter(anchor).min();
        problem.help(anchor.map_or_else(
            || "this is a folder: name a file in it".to_owned(),
            |anchor| {
                format!("this is the folder of an OTF2 archive: name its anchor file, `{}`", anchor.display())
            },
        ))
    }
}

/// Reads lines without their ends.
pub struct Lines<'a> {
    reader: Box<dyn BufRead + Send + 'a>,
    line: Vec<u8>,
    number: u64,
    /// Bytes that a line may have.
    longest: u64,
}

impl<'a> Lines<'a> {
    /// Lines of a file, from its start, each at most [`MAX_LINE`] long.
    ///
    /// # Errors
    /// If it is missing or unreadable.
    pub fn new(input: &Input<'a>) -> io::Result<Self> {
        Ok(Self::of(input.open()?, MAX_LINE))
    }

    /// Lines of what a reader gives, each at most `longest` bytes long.
    pub(super) fn of(reader: Box<dyn BufRead + Send + 'a>, longest: u64) -> Self {
        Self { reader, line: Vec::new(), number: 0, longest }
    }

    /// The number, from 1, and the bytes of the next line; `None` at the end of the file. A byte order mark is no part of the first line.
    ///
    /// # Errors
    /// If the file cannot be read on, or the line is too long.
    pub fn next_line(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.line.clear();
        let read = self.reader.by_ref().take(self.longest + 1).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read as u64 > self.longest {
            let message =
                format!("line {} is longer than {} bytes: this is no text", self.number, self.longest);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let mut line = self.line.as_slice();
        if self.number == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        line = line.strip_suffix(b"\n").unwrap_or(line);
        Ok(Some((self.number, line.strip_suffix(b"\r").unwrap_or(line))))
    }
}

/// A mistake in a line of a text file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Number of the line, from 1; 0 if the file as a whole is meant.
    pub line: u64,
    /// Bytes of the line that are wrong.
    pub span: std::ops::Range<usize>,
    /// What is wrong.
    pub message: String,
    /// How to mend it.
    pub help: Option<String>,
}

impl Mistake {
    /// A mistake at some bytes of a line.
    pub fn new(line: u64, span: std::ops::Range<usize>, message: impl Into<String>) -> Self {
        Self { line, span, message: message.into(), help: None }
    }

    /// Adds a way to mend it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The mistakes found in a file so far: as many as are shown, and how many more there are.
#[derive(Debug, Default)]
pub struct Mistakes(base::mistakes::Mistakes<Mistake>);

impl Mistakes {
    /// Adds a mistake; if as many are there as are shown, it is counted only.
    pub fn push(&mut self, mistake: Mistake) {
        self.0.push(mistake);
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if there are so many that reading on is of no use.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.more() >= MAX_MISTAKES - SHOWN
    }

    /// The mistakes as problems in the order of their lines, with the text of those lines, for which the file is read again.
    #[must_use]
    pub fn problems(self, input: &Input<'_>) -> Vec<Problem> {
        let full = self.is_full();
        let (mut shown, more) = self.0.into_parts();
        shown.sort_by_key(|m| (m.line, m.span.start));
        let mut lines = Lines::new(input).ok();
        let mut current = (0, String::new());
        let mut problems = Vec::with_capacity(shown.len() + 1);
        for mistake in shown {
            while let Some(reader) = lines.as_mut().filter(|_| current.0 < mistake.line) {
                match reader.next_line() {
                    Ok(Some((number, text))) if number == mistake.line => {
                        let shown = &text[..text.len().min(MAX_SHOWN)];
                        current = (number, String::from_utf8_lossy(shown).into_owned());
                    }
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => lines = None,
                }
            }
            let text = if current.0 == mistake.line { current.1.clone() } else { String::new() };
            let end = mistake.span.end.min(text.len());
            let start = mistake.span.start.min(end);
            let file = input.name().to_owned();
            let mut problem = Problem::new(KEY, mistake.message);
            if mistake.line == 0 {
                problem.message = format!("{file}: {}", problem.message);
            }
            problem.help = mistake.help;
            problems.push(problem.at(Excerpt { file, line: mistake.line, text, start, end }));
        }
        if more > 0 {
            let end = if full { "; it was read no further" } else { "" };
            problems.push(input.problem(more_errors(more) + end).count(more));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    #[test]
    fn packed_and_plain_files_read_the_same() {
        let text = b"\xef\xbb\xbfone\r\ntwo\n\nlast";
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text).unwrap();
        let packed = packer.finish().unwrap();
        for bytes in [text.as_slice(), &packed] {
            let input = Input::bytes("x", bytes);
            let mut lines = Lines::new(&input).unwrap();
            for (number, line) in [(1, "one"), (2, "two"), (3, ""), (4, "last")] {
                assert_eq!(lines.next_line().unwrap(), Some((number, line.as_bytes())));
            }
            assert_eq!(lines.next_line().unwrap(), None);
            assert_eq!(input.head(6).unwrap(), &text[..6]);
        }
        let input = Input::bytes("x", &packed[..packed.len() - 9]);
        let mut lines = Lines::new(&input).unwrap();
        assert!(
            std::iter::from_fn(|| lines.next_line().map(|l| l.map(|_| ())).transpose()).any(|l| l.is_err())
        );
    }

    /// A file of a few kilobytes that unpacks to gigabytes is refused; one that says as much in other words is read.
    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let mut packer = GzEncoder::new(Vec::new(), Compression::best());
        (0..80).for_each(|_| packer.write_all(&b"compute 1 us\n".repeat(1 << 20 >> 3)).unwrap());
        let gzip = packer.finish().unwrap();
        // Blocks of one byte that is repeated 128 KiB, by hand: nothing here packs by zstd.
        let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0x38];
        let block = |last: u32| ((1_u32 << 17) << 3 | 1 << 1 | last).to_le_bytes();
        for number in 0..700 {
            zstd.extend(&block(u32::from(number == 699))[..3]);
            zstd.push(b'\n');
        }
        for (packed, program) in [(&gzip, "gzip -d"), (&zstd, "zstd -d")] {
            assert!(packed.len() < 600_000);
            let input = Input::bytes("x", packed);
            let read = io::copy(&mut input.open().unwrap(), &mut io::sink());
            let said = read.expect_err("it is refused").to_string();
            assert!(said.contains("unpacks to more than 64 MiB") && said.contains(program), "{said}");
        }
        let mut state = 1_u32;
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        let mut size = 0;
        for _ in 0..72 {
            let mut text = Vec::new();
            while text.len() < 1 << 20 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                writeln!(text, "isend {} B to (rank + 1) % size as request", state >> 16).unwrap();
            }
            size += text.len() as u64;
            packer.write_all(&text).unwrap();
        }
        let packed = packer.finish().unwrap();
        let read = io::copy(&mut Input::bytes("x", &packed).open().unwrap(), &mut io::sink()).unwrap();
        assert!(read == size && size > base::packed::FREE, "{read} of {size}");
    }

    #[test]
    fn endless_lines_are_refused() {
        let bytes = vec![b'x'; MAX_LINE as usize + 1];
        assert!(Lines::new(&Input::bytes("x", &bytes)).unwrap().next_line().is_err());
    }

    #[test]
    fn mistakes_show_their_lines() {
        let mut mistakes = Mistakes::default();
        mistakes.push(Mistake::new(3, 0..9, "third"));
        mistakes.push(Mistake::new(1, 2..4, "first").help("mend"));
        mistakes.push(Mistake::new(0, 0..0, "all"));
        mistakes.push(Mistake::new(9, 0..1, "beyond"));
        for _ in 0..1_000 {
            mistakes.push(Mistake::new(1, 5..6, "again"));
        }
        assert!(!mistakes.is_full());
        let mut problems = mistakes.problems(&Input::bytes("f", b"line one\nline two\nabc"));
        assert_eq!(problems.pop().unwrap().message, "f: 904 more errors");
        assert_eq!(problems.len(), SHOWN);
        assert_eq!(problems[0].message, "f: all");
        let excerpt = problems[1].input.clone().unwrap();
        assert_eq!((excerpt.line, excerpt.text.as_str(), excerpt.start, excerpt.end), (1, "line one", 2, 4));
        assert_eq!(problems[1].help.as_deref(), Some("mend"));
        let last = problems[SHOWN - 2].input.clone().unwrap();
        assert_eq!((last.line, last.text.as_str(), last.end), (3, "abc", 3));
        assert_eq!(problems[SHOWN - 1].input.clone().unwrap().text, "");
    }
}
