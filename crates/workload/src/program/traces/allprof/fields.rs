//! The fields of a line.

use super::comms::Handle;
use crate::program::traces::words::{bytes, count};

/// Most fields of a call: those of an all-to-all with counts.
const MOST: usize = 24;

/// A line, cut at its colons.
pub(super) struct Fields<'a> {
    /// Name of the call.
    pub(super) name: &'a str,
    all: [&'a str; MOST],
    len: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn of(line: &'a str) -> Result<Self, String> {
        // The second version of the tracer writes who called behind the call.
        let line = line.split_once(" #").map_or(line, |(call, _)| call).trim_end();
        let mut fields = Self { name: "", all: [""; MOST], len: 0 };
        for field in line.split(':') {
            let place = fields.all.get_mut(fields.len).ok_or("there are too many fields")?;
            *place = field;
            fields.len += 1;
        }
        fields.name = fields.all[0];
        if !fields.name.starts_with("MPI_") || fields.len < 3 {
            return Err("this is no call with a start and an end".to_owned());
        }
        Ok(fields)
    }

    fn get(&self, n: usize) -> Result<&'a str, String> {
        // The last field is the end.
        if n + 1 < self.len { Ok(self.all[n]) } else { Err(format!("field {n} is missing")) }
    }

    fn wrong<T>(&self, n: usize) -> Result<T, String> {
        Err(format!("field {n} cannot be `{}`", self.all[n]))
    }

    /// When the call began and ended, in picoseconds of some clock; nothing where `-` stands.
    pub(super) fn times(&self) -> Result<(Option<u128>, Option<u128>), String> {
        let time = |n: usize| match self.all[n] {
            "-" => Ok(None),
            word => picoseconds(word).map(Some).ok_or_else(|| format!("the time cannot be `{word}`")),
        };
        Ok((time(1)?, time(self.len - 1)?))
    }

    pub(super) fn number(&self, n: usize) -> Result<u64, String> {
        self.get(n)?.parse().or_else(|_| self.wrong(n))
    }

    pub(super) fn whole(&self, n: usize) -> Result<i64, String> {
        self.get(n)?.parse().or_else(|_| self.wrong(n))
    }

    pub(super) fn root(&self, n: usize) -> Result<u32, String> {
        self.get(n)?.parse().or_else(|_| self.wrong(n))
    }

    /// Bytes of a type: a type is its number, its size and perhaps its extent.
    fn size(&self, n: usize) -> Result<u64, String> {
        let size = self.get(n)?.split(',').nth(1).and_then(count);
        size.map_or_else(|| self.wrong(n), Ok)
    }

    /// Bytes of as many elements as one field says, of the type of another.
    pub(super) fn bytes(&self, elements: usize, kind: usize) -> Result<u64, String> {
        bytes(self.number(elements)?, self.size(kind)?)
    }

    /// Bytes by rank of the counts in one field, of the type of another.
    pub(super) fn counts(&self, elements: usize, kind: usize, ranks: u32) -> Result<Vec<u64>, String> {
        let size = self.size(kind)?;
        let read = |word: &str| word.parse().ok();
        let counts: Option<Vec<u64>> = self.get(elements)?.split(',').map(read).collect();
        let counts = counts.filter(|c| c.len() == ranks as usize).map_or_else(|| self.wrong(elements), Ok)?;
        counts.into_iter().map(|count| bytes(count, size)).collect()
    }

    /// A communicator: its handle, the caller's rank in it, how many ranks it has.
    pub(super) fn comm(&self, n: usize) -> Result<Handle, String> {
        let mut parts = self.get(n)?.split(',');
        let mut part = || parts.next().and_then(|word| word.parse::<u64>().ok());
        match (part(), part(), part()) {
            (Some(handle), Some(rank), Some(size)) if rank < u32::MAX.into() && size < u32::MAX.into() => {
                Ok(Handle { handle, rank: rank as u32, size: size as u32 })
            }
            _ => self.wrong(n),
        }
    }
}

/// Picoseconds of a decimal number of microseconds: such clocks count from 1970, beyond what 64 bits hold.
fn picoseconds(word: &str) -> Option<u128> {
    let (whole, part) = word.split_once('.').unwrap_or((word, ""));
    let whole: u64 = whole.parse().ok()?;
    let part = part.get(..part.len().min(6))?;
    if !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let part = format!("{part:0<6}").parse::<u32>().ok()?;
    Some(u128::from(whole) * 1_000_000 + u128::from(part))
}
