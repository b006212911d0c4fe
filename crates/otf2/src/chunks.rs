//! Records of a file that is cut into chunks, read piece by piece: the file is open only while a piece is read.

use crate::{
    Error, Result,
    bytes::{Bytes, Order},
};
use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
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
    /// End of the present chunk in the file, or of the file; 0 before the first.
    end: u64,
    length: u64,
    ended: bool,
}

impl Chunks {
    pub(crate) fn open(path: PathBuf, chunk: u64) -> Result<Self> {
        let about = fs::metadata(&path).map_err(|e| Error::file(&path, e))?;
        // A FIFO would keep us for ever, and a device has no end.
        if !about.is_file() {
            return Err(Error::file(&path, io::Error::other("it is not a regular file")));
        }
        let length = about.len();
        Ok(Self {
            path,
            chunk,
            order: Order::Little,
            piece: Vec::new(),
            start: 0,
            at: 0,
            end: 0,
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

    /// Reads on, so that `need` bytes are there if the file has them, and more.
    fn load(&mut self, need: usize) -> Result<()> {
        let reported = |e| Error::file(&self.path, e);
        let offset = self.offset();
        let want = (need.max(PIECE) as u64).min(self.length.saturating_sub(offset));
        let mut file = File::open(&self.path).map_err(reported)?;
        file.seek(SeekFrom::Start(offset)).map_err(reported)?;
        self.piece.clear();
        file.take(want).read_to_end(&mut self.piece).map_err(reported)?;
        (self.start, self.at) = (offset, 0);
        if (self.piece.len() as u64) < want {
            return Err(Error::damaged(&self.path, offset, "the file has become shorter"));
        }
        Ok(())
    }

    /// Lets `read` read one record, which begins at the next byte and stays within the chunk; `None` at the end of the file.
    #[inline]
    pub(crate) fn next<T>(&mut self, mut read: impl FnMut(&mut Bytes<'_>) -> Result<T>) -> Result<Option<T>> {
        loop {
            let left = self.end.saturating_sub(self.offset());
            let room = (self.piece.len() - self.at).min(usize::try_from(left).unwrap_or(usize::MAX));
            let kind = if room > 0 { self.piece[self.at] } else { 0 };
            match kind {
                3.. if !self.ended => {
                    let piece = &self.piece[self.at..self.at + room];
                    let mut bytes = Bytes::new(&self.path, self.offset(), piece, self.order);
                    match read(&mut bytes) {
                        Ok(value) => {
                            self.at += room - bytes.left();
                            return Ok(Some(value));
                        }
                        // It may be that the piece ended within the record.
                        Err(_) if (room as u64) < left => self.longer(room, left)?,
                        Err(e) => return Err(e),
                    }
                }
                _ if !self.turn()? => return Ok(None),
                _ => {}
            }
        }
    }

    /// What comes between records: the end of the file (false then), of a chunk, of what was read.
    #[cold]
    fn turn(&mut self) -> Result<bool> {
        let offset = self.offset();
        if self.ended {
            return Ok(false);
        }
        if offset >= self.length {
            let message = "the file ends without its end mark: it is cut off";
            return Err(Error::damaged(&self.path, offset, message));
        }
        if offset >= self.end {
            self.head()?;
            return Ok(true);
        }
        match self.piece.get(self.at) {
            None => self.load(0)?,
            // The rest of the chunk is empty.
            Some(0 | 1) => self.skip_to(self.end),
            Some(_) => self.ended = true,
        }
        Ok(!self.ended)
    }

    /// Reads on where a record did not fit what was there.
    #[cold]
    fn longer(&mut self, room: usize, left: u64) -> Result<()> {
        let (offset, whole) = (self.offset(), usize::try_from(left).unwrap_or(usize::MAX));
        self.load((2 * room).max(PIECE).min(whole))?;
        if self.piece.len().min(whole) <= room {
            return Err(Error::damaged(&self.path, offset, "a record is cut off"));
        }
        Ok(())
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
        self.end = ((offset / self.chunk + 1) * self.chunk).min(self.length);
        self.at += HEAD as usize;
        Ok(())
    }
}
