//! The bytes of a rank's file: numbers with the high byte first, and the index at its end.

use crate::program::{Damage, place::Place, traces::files};
use std::{
    io::{self, BufRead, ErrorKind, Read},
    sync::Arc,
};

/// First bytes of a file and of its index.
pub(super) const MAGIC: u64 = 0xffaa_dd44_554d_5049;

/// Bytes of MPI's own types by their numbers, for files that have no list.
const SIZES: [u32; 28] =
    [0, 0, 1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20];

/// Reads numbers and knows where.
pub(super) struct Bytes {
    name: Arc<str>,
    reader: Box<dyn BufRead + Send>,
    pub(super) at: u64,
}

impl Bytes {
    /// Reads a file, packed or not, from some byte on.
    pub(super) fn open(file: &Place, at: u64) -> Result<Self, Damage> {
        let name: Arc<str> = file.to_string().into();
        let reader = files::open_at(file, at).map_err(|e| Damage(format!("{name}: cannot be read: {e}")))?;
        Ok(Self { name, reader, at })
    }

    #[cold]
    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> Damage {
        Damage(format!("{}: byte {}: {what}", self.name, self.at))
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let mut bytes = [0; N];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => {
                self.at += N as u64;
                Ok(bytes)
            }
            Err(e) => Err(self.cut(&e)),
        }
    }

    #[cold]
    fn cut(&self, error: &io::Error) -> Damage {
        match error.kind() {
            ErrorKind::UnexpectedEof => self.wrong("the file ends within a record"),
            _ => self.wrong(format!("cannot be read: {error}")),
        }
    }

    pub(super) fn u8(&mut self) -> Result<u8, Damage> {
        self.array::<1>().map(|bytes| bytes[0])
    }

    pub(super) fn u16(&mut self) -> Result<u16, Damage> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Damage> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Damage> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn skip(&mut self, bytes: u64) -> Result<(), Damage> {
        let skipped = io::copy(&mut self.reader.by_ref().take(bytes), &mut io::sink());
        let skipped = skipped.map_err(|e| self.cut(&e))?;
        self.at += skipped;
        if skipped < bytes { Err(self.wrong("the file ends within a record")) } else { Ok(()) }
    }
}

/// What a rank's file says about itself.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) file: Place,
    /// Where the records are, from byte to byte.
    pub(super) body: u64,
    pub(super) end: u64,
    /// Of the tracer: old ones wrote some records otherwise.
    pub(super) version: [u8; 3],
    /// Bytes of types by their numbers.
    sizes: Vec<u32>,
}

impl Index {
    /// Reads the index of a file, and what it points to.
    pub(super) fn read(file: &Place) -> Result<Self, Damage> {
        let named = |e: io::Error| Damage(format!("{file}: cannot be read: {e}"));
        let len = length(file).map_err(named)?;
        if Bytes::open(file, 0)?.u64().ok() != Some(MAGIC) {
            return Err(Damage(format!("{file}: this is no file of DUMPI")));
        }
        let mut bytes = Bytes::open(file, len.saturating_sub(64))?;
        let mut words = [0; 8];
        for word in &mut words {
            *word = bytes.u64()?;
        }
        // The index grew at its front: sizes of types came last.
        let Some(start) = words[..4].iter().position(|&word| word == MAGIC) else {
            return Err(bytes.wrong("the index at the end is missing: the file is cut off"));
        };
        let (sizes, [header, body, footer]) =
            (if start == 0 { words[1] } else { 0 }, [words[4], words[5], words[6]]);
        let end = if footer > 0 { header.min(footer) } else { header };
        if body < 8 || end < body || header >= len || sizes >= len {
            return Err(bytes.wrong("the index points to where nothing can be"));
        }
        let mut bytes = Bytes::open(file, header)?;
        let version = [bytes.u8()?, bytes.u8()?, bytes.u8()?];
        let sizes = if sizes > 0 { read_sizes(file, sizes)? } else { SIZES.to_vec() };
        Ok(Self { file: file.clone(), body, end, version, sizes })
    }

    /// True if the tracer was of this version or later.
    pub(super) fn since(&self, version: [u8; 3]) -> bool {
        self.version >= version
    }

    /// Bytes of a type; none if it has no size in the file.
    pub(super) fn size(&self, kind: i64) -> Option<u64> {
        self.sizes.get(usize::try_from(kind).ok()?).map(|&bytes| bytes.into())
    }
}

fn read_sizes(file: &Place, at: u64) -> Result<Vec<u32>, Damage> {
    let mut bytes = Bytes::open(file, at)?;
    let count = bytes.u32()?;
    // Types have numbers of 16 bits.
    if count > 1 << 16 {
        return Err(bytes.wrong(format!("there cannot be sizes of {count} types")));
    }
    // Sizes that are not known are negative.
    (0..count).map(|_| bytes.u32().map(|size| if size > i32::MAX as u32 { 0 } else { size })).collect()
}

/// Bytes of a file, unpacked.
fn length(file: &Place) -> io::Result<u64> {
    if files::is_packed(file)? {
        return io::copy(&mut files::open(file)?, &mut io::sink());
    }
    file.len()
}
