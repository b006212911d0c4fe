//! A file of a cluster, opened.

use crate::subnet::whole;
use base::{
    memory::Watched,
    packed::{Bounded, Counted},
    param::Problem,
};
use std::io::{BufRead, BufReader, Read};

/// A file to be read: a name for messages and its bytes.
pub struct Source {
    /// Path, or `-`.
    pub name: String,
    /// The bytes, unpacked.
    pub bytes: Box<dyn BufRead>,
}

impl Source {
    /// Opens a file, packed by gzip or not; `-` is standard input.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &str) -> Result<Self, Vec<Problem>> {
        let failed = |e: std::io::Error| vec![whole(path, format!("the file cannot be read: {e}"))];
        let raw: Box<dyn Read> = if path == "-" {
            Box::new(std::io::stdin())
        } else {
            let file = base::input::open(path).map_err(failed)?;
            if file.metadata().is_ok_and(|m| m.is_dir()) {
                return Err(vec![whole(path, "it is a directory")]);
            }
            Box::new(file)
        };
        let mut raw = BufReader::with_capacity(1 << 16, raw);
        let packed = raw.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]);
        let bytes: Box<dyn BufRead> = if packed {
            let (raw, taken) = Counted::new(raw);
            let unpacked = Bounded::new(flate2::bufread::MultiGzDecoder::new(raw), taken, "gzip -d");
            Box::new(Watched(BufReader::with_capacity(1 << 16, unpacked)))
        } else {
            Box::new(Watched(raw))
        };
        Ok(Self { name: path.to_owned(), bytes })
    }

    /// Bytes in memory.
    #[must_use]
    pub fn memory(name: &str, bytes: &[u8]) -> Self {
        Self { name: name.to_owned(), bytes: Box::new(std::io::Cursor::new(bytes.to_vec())) }
    }
}
