//! Packed files: what is unpacked stays within a multiple of what it is unpacked from.
//!
//! A few kilobytes can unpack to gigabytes of the same line, which take minutes to read. Text that somebody recorded has a tenth to a fiftieth of its size
//! when packed, so that [`RATIO`] leaves room for the most regular; and [`FREE`] bytes are never asked about.

use std::{
    io::{self, BufRead, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Bytes that any file may unpack to.
pub const FREE: u64 = 64 << 20;

/// Bytes that a byte may unpack to on the average of a larger file.
pub const RATIO: u64 = 200;

/// Counts the bytes that are taken from a reader.
pub struct Counted<R> {
    inner: R,
    taken: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    /// Of which no byte was taken, and where the count is found.
    pub fn new(inner: R) -> (Self, Arc<AtomicU64>) {
        let taken = Arc::new(AtomicU64::new(0));
        (Self { inner, taken: Arc::clone(&taken) }, taken)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.taken.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.taken.fetch_add(bytes as u64, Ordering::Relaxed);
        self.inner.consume(bytes);
    }
}

/// A reader of what is unpacked, which fails where that is too much for what was taken.
pub struct Bounded<R> {
    unpacking: R,
    taken: Arc<AtomicU64>,
    unpacked: u64,
    program: &'static str,
}

impl<R> Bounded<R> {
    /// What `unpacking` makes of the bytes that `taken` counts; `program` unpacks by hand.
    pub fn new(unpacking: R, taken: Arc<AtomicU64>, program: &'static str) -> Self {
        Self { unpacking, taken, unpacked: 0, program }
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.unpacking.read(buffer)?;
        self.unpacked += read as u64;
        let most = self.taken.load(Ordering::Relaxed).saturating_mul(RATIO).max(FREE);
        if self.unpacked > most {
            let message = format!(
                "it unpacks to more than {} MiB and more than {RATIO} times its size; if that is meant, unpack it by `{}` and name what comes out",
                FREE >> 20,
                self.program
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `unpacked` bytes that `packed` bytes were taken for.
    fn read(packed: u64, unpacked: u64) -> io::Result<u64> {
        let (mut from, taken) = Counted::new(io::BufReader::new(io::repeat(1).take(packed)));
        io::copy(&mut from, &mut io::sink())?;
        io::copy(&mut Bounded::new(io::repeat(2).take(unpacked), taken, "gzip -d"), &mut io::sink())
    }

    #[test]
    fn what_is_unpacked_is_bounded_by_what_was_taken() {
        assert_eq!(read(1, FREE).unwrap(), FREE);
        assert!(read(1, FREE + 1).unwrap_err().to_string().contains("gzip -d"));
        let large = FREE / RATIO + 1000;
        assert_eq!(read(large, large * RATIO).unwrap(), large * RATIO);
        assert_eq!(read(large, large * RATIO + 1).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
