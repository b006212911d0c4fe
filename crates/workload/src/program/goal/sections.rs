//! The bytes of a binary, piece by piece: from a stream as long as pieces follow each other, else from memory.

use std::io::{self, BufRead, Read};

/// A file that is read by pieces. What cannot be read counts as absent, and [`Sections::error`] says why.
pub(super) struct Sections<'a> {
    reader: Box<dyn BufRead + Send + 'a>,
    /// Bytes of the file before `piece`.
    before: u64,
    /// The last piece; if all is kept, the rest of the file.
    piece: Vec<u8>,
    kept: bool,
    /// Why nothing more could be read.
    pub error: Option<io::Error>,
}

impl<'a> Sections<'a> {
    /// Of a file from its start.
    pub fn new(reader: Box<dyn BufRead + Send + 'a>) -> Self {
        Self { reader, before: 0, piece: Vec::new(), kept: false, error: None }
    }

    /// The next bytes; fewer if the file ends.
    pub fn take(&mut self, bytes: usize) -> &[u8] {
        debug_assert!(!self.kept, "the rest is in memory");
        self.before += self.piece.len() as u64;
        self.piece.clear();
        // Memory grows with what is there, whatever was asked for.
        if let Err(e) = self.reader.by_ref().take(bytes as u64).read_to_end(&mut self.piece) {
            self.error = Some(e);
        }
        &self.piece
    }

    /// From here on pieces may be asked for in any order.
    pub fn keep(&mut self) {
        self.take(usize::MAX);
        self.kept = true;
    }

    /// Reads on to the end, where a packed file says whether it is sound.
    pub fn rest(&mut self) {
        if let Err(e) = io::copy(&mut self.reader, &mut io::sink()) {
            self.error = Some(e);
        }
    }

    /// Bytes by their places in the file; all places are behind those before, unless the rest is kept.
    ///
    /// # Errors
    /// If the file ends before: its size.
    pub fn between(&mut self, from: u64, to: u64) -> Result<&[u8], u64> {
        debug_assert!(from <= to, "a piece has a length");
        if self.kept {
            let size = self.before + self.piece.len() as u64;
            let place = |at: u64| usize::try_from(at.checked_sub(self.before)?).ok();
            let piece = place(from).zip(place(to)).and_then(|(from, to)| self.piece.get(from..to));
            return piece.ok_or(size);
        }
        let at = self.before + self.piece.len() as u64;
        let Some(gap) = from.checked_sub(at) else { return Err(at) };
        self.before = at;
        self.piece.clear();
        match io::copy(&mut self.reader.by_ref().take(gap), &mut io::sink()) {
            Ok(skipped) => self.before += skipped,
            Err(e) => self.error = Some(e),
        }
        if self.before < from {
            return Err(self.before);
        }
        let length = to - from;
        let read = self.take(usize::try_from(length).unwrap_or(usize::MAX)).len() as u64;
        if read < length { Err(from + read) } else { Ok(&self.piece) }
    }
}
