//! Records of a file that is cut into chunks, read piece by piece: the file is open only while a piece is read.

use crate::{
    Error, Result,
    bytes::{Bytes, Order},
};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// Bytes read at once. A record that is longer makes the piece longer.
const PIECE: usize = 1 << 17;
/// Bytes of a chunk's head.
const HEAD: u64 = 18;

/// Reads the records of a file.
pub(crate) struct Chunks {
    path: PathBuf,
    chunk: u64,
    order: Order,
    /// A piece of the file, and the place of its first byte.
    piece: Vec<u8>,
    start: u64,
    /// Next byte in the piece.
    at: usize,
    length: u64,
    ended: bool,
}

impl Chunks {
    pub(crate) fn open(path: PathBuf, chunk: u64) -> Result<Self> {
        let file = File::open(&path).map_err(|e| Error::file(&path, e))?;
        let length = file.metadata().map_err(|e| Error::file(&path, e))?.len();
        Ok(Self {
            path,
            chunk,
            order: Order::Little,
            piece: Vec::new(),
            start: 0,
            at: 0,
            length,
            ended: false,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Place of the next byte in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// End of the chunk that the place is in, or of the file.
    fn end(&self) -> u64 {
        ((self.offset() / self.chunk + 1) * self.chunk).min(self.length)
    }

    /// Reads on, so that `need` bytes are there if the file has them, and more.
    fn load(&mut self, need: usize) -> Result<()> {
        let told = |e| Error::file(&self.path, e);
        let offset = self.offset();
        let want = (need.max(PIECE) as u64).min(self.length.saturating_sub(offset));
        let mut file = File::open(&self.path).map_err(told)?;
        file.seek(SeekFrom::Start(offset)).map_err(told)?;
        self.piece.clear();
        file.take(want).read_to_end(&mut self.piece).map_err(told)?;
        (self.start, self.at) = (offset, 0);
        if (self.piece.len() as u64) < want {
            return Err(Error::damaged(&self.path, offset, "the file has become shorter"));
        }
        Ok(())
    }

    /// Lets `read` read one record, which begins at the next byte and stays within the chunk; `None` at the end of the file.
    pub(crate) fn next<T>(&mut self, mut read: impl FnMut(&mut Bytes<'_>) -> Result<T>) -> Result<Option<T>> {
        loop {
            if self.ended {
                return Ok(None);
            }
            let offset = self.offset();
            if offset >= self.length {
                return Err(Error::damaged(
                    &self.path,
                    offset,
                    "the file ends without its end mark: it is cut off",
                ));
            }
            if offset.is_multiple_of(self.chunk) {
                self.head()?;
                continue;
            }
            let end = self.end();
            let mut room = (self.piece.len() - self.at).min((end - offset) as usize);
            if room == 0 {
                self.load(0)?;
                room = self.piece.len().min((end - offset) as usize);
            }
            match self.piece[self.at] {
                // The rest of the chunk is empty.
                0 | 1 => self.skip_to(end),
                2 => self.ended = true,
                _ => {
                    let whole = (end - offset) as usize;
                    let mut bytes =
                        Bytes::new(&self.path, offset, &self.piece[self.at..self.at + room], self.order);
                    match read(&mut bytes) {
                        Ok(value) => {
                            self.at += (bytes.offset() - offset) as usize;
                            return Ok(Some(value));
                        }
                        // It may be that the piece ended within the record.
                        Err(_) if room < whole => {
                            self.load((2 * room).max(PIECE).min(whole))?;
                            if self.piece.len().min(whole) <= room {
                                return Err(Error::damaged(&self.path, offset, "a record is cut off"));
                            }
                        }
                        Err(e) => return Err(e),
                    }
                }
            }
        }
    }

    fn skip_to(&mut self, place: u64) {
        let step = (place - self.start) as usize;
        if step <= self.piece.len() {
            self.at = step;
        } else {
            (self.start, self.at) = (place, 0);
            self.piece.clear();
        }
    }

    fn head(&mut self) -> Result<()> {
        let offset = self.offset();
        if self.piece.len() - self.at < HEAD as usize {
            self.load(0)?;
        }
        let wrong = |message: &str| Err(Error::damaged(&self.path, offset, message));
        let Some(head) = self.piece.get(self.at..self.at + HEAD as usize) else {
            return wrong("the head of a chunk is cut off");
        };
        if head[0] != 3 {
            return wrong("here should be the head of a chunk");
        }
        let Some(order) = Order::of(head[1]) else {
            return wrong("the byte order is neither `B` nor `#`");
        };
        self.order = order;
        self.at += HEAD as usize;
        Ok(())
    }
}
