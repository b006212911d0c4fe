//! Records of calls: their times and what they hold, by the signature of their function.

use super::{
    file::{Bytes, Index},
    signatures::{END, Signatures},
};
use crate::program::Damage;
use std::{ops::Range, sync::Arc};

/// Most numbers in the lists of a record, and most lists: more than there are ranks or requests. A byte of a packed file may be any number of them.
const MAX_LIST: u32 = 1 << 22;

const STATUSES: u8 = 3;
const CPU: u8 = 1 << 2;
const WALL: u8 = 1 << 3;
const THREAD: u8 = 1 << 6;
const COUNTERS: u8 = 1 << 7;

/// What a receive, or a probe, has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) source: i32,
    /// Nothing in old traces.
    pub(super) tag: Option<i32>,
}

/// A call of MPI with what was recorded of it.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Name of the function without MPI's prefix.
    pub(super) name: &'static str,
    /// Its number among the calls of the rank, from 1.
    pub(super) number: u32,
    pub(super) thread: u16,
    /// Picoseconds from some time to its start and to its end; nothing if none were recorded.
    pub(super) times: Option<(u64, u64)>,
    /// Single numbers in their order.
    pub(super) numbers: Vec<i64>,
    pub(super) statuses: Vec<Status>,
    lists: Vec<Range<usize>>,
    values: Vec<i64>,
}

impl Record {
    /// A list of numbers, counted among the lists of the record.
    pub(super) fn list(&self, n: usize) -> &[i64] {
        self.lists.get(n).map_or(&[], |range| &self.values[range.clone()])
    }
}

/// Reads the records of a rank.
pub(super) struct Records {
    index: Arc<Index>,
    signatures: Arc<Signatures>,
    bytes: Bytes,
    /// Second of the wall clock that the times of this file count from.
    pub(super) since: u32,
    record: Record,
}

impl Records {
    pub(super) fn new(index: Arc<Index>, signatures: Arc<Signatures>) -> Result<Self, Damage> {
        let mut bytes = Bytes::open(&index.file, index.body)?;
        // Two times that all seconds count from: of the processor and of the wall clock.
        let since = [bytes.u32()?, bytes.u32()?][1];
        Ok(Self { index, signatures, bytes, since, record: Record::default() })
    }

    /// The next call; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<&Record>, Damage> {
        if self.bytes.at > self.index.end {
            return Err(self.bytes.wrong("a record runs into what the index places behind the records"));
        }
        // Before there was an end, records ended behind MPI_Finalize.
        let finalized = self.record.name == "Finalize";
        if self.bytes.at + 2 > self.index.end {
            let cut =
                || self.bytes.wrong("the records end before MPI_Finalize and without a mark of their end");
            return if finalized { Ok(None) } else { Err(cut()) };
        }
        let function = self.bytes.u16()?;
        if function == END || (finalized && function == 0) {
            return Ok(None);
        }
        let Some((name, signature)) = self.signatures.of(function) else {
            return Err(self.bytes.wrong(format!("there is no function {function}")));
        };
        // Two records that old tracers wrote wrongly: one number in place of a list.
        let signature = match name {
            "Type_struct" if !self.index.since([0, 6, 9]) => "iAiHh",
            "Cart_get" if !self.index.since([0, 6, 8]) => "ihiAAi",
            _ => signature,
        };
        self.record.name = name;
        self.record.number = self.record.number.saturating_add(1);
        let mask = self.head()?;
        self.body(signature, mask)?;
        Ok(Some(&self.record))
    }

    /// Thread, times and counters. Returns what the record holds.
    fn head(&mut self) -> Result<u8, Damage> {
        let mask = self.bytes.u8()?;
        let bytes = &mut self.bytes;
        self.record.thread = if mask & THREAD != 0 { bytes.u16()? } else { 0 };
        self.record.times = None;
        for clock in [CPU, WALL] {
            if mask & clock != 0 {
                let mut time =
                    || Ok((u64::from(bytes.u16()?) * 1_000_000_000 + u64::from(bytes.u32()?)) * 1_000);
                // The wall clock's come last and are taken.
                self.record.times = Some((time()?, time()?));
            }
        }
        if mask & COUNTERS != 0 {
            let counters = self.bytes.u8()?;
            self.bytes.skip(16 * u64::from(counters))?;
        }
        Ok(mask)
    }

    fn body(&mut self, signature: &str, mask: u8) -> Result<(), Damage> {
        let Self { record, bytes, index, .. } = self;
        record.numbers.clear();
        record.statuses.clear();
        record.lists.clear();
        record.values.clear();
        let (mut me, mut root, mut conditional) = (None, None, false);
        for code in signature.bytes() {
            if code == b'?' {
                conditional = true;
                continue;
            }
            if std::mem::take(&mut conditional) && me != root {
                continue;
            }
            match code {
                b'b' => record.numbers.push(bytes.u8()?.into()),
                b'h' => record.numbers.push(bytes.u16()?.into()),
                b'q' => record.numbers.push(bytes.u64()? as i64),
                b'i' | b'r' | b'o' => {
                    let number = i64::from(bytes.u32()? as i32);
                    match code {
                        b'r' => me = Some(number),
                        b'o' => root = Some(number),
                        _ => {}
                    }
                    record.numbers.push(number);
                }
                b'A' | b'H' | b'B' => list(record, bytes, code)?,
                b'C' => text(bytes)?,
                b'M' => {
                    for _ in 0..length(bytes)? {
                        list(record, bytes, b'A')?;
                    }
                }
                b'N' => {
                    if record.name == "Init" && !index.since([0, 6, 2]) {
                        bytes.u32()?;
                    }
                    for _ in 0..length(bytes)? {
                        text(bytes)?;
                    }
                }
                b'O' => {
                    for _ in 0..length(bytes)? {
                        for _ in 0..length(bytes)? {
                            text(bytes)?;
                        }
                    }
                }
                _ if mask & STATUSES != 0 => statuses(record, bytes, index.since([0, 6, 3]))?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// How many things follow.
fn length(bytes: &mut Bytes) -> Result<u32, Damage> {
    let count = bytes.u32()?;
    // Old tracers wrote -1 for what is not there.
    if count == u32::MAX {
        return Ok(0);
    }
    if count > MAX_LIST { Err(bytes.wrong(format!("a list cannot have {count} entries"))) } else { Ok(count) }
}

/// Refuses a record whose lists have more entries together than one may have: a packed file of few bytes could hold any number.
fn bounded(entries: usize, bytes: &Bytes) -> Result<(), Damage> {
    if entries > MAX_LIST as usize { Err(bytes.wrong("the lists of a record are too long")) } else { Ok(()) }
}

fn list(record: &mut Record, bytes: &mut Bytes, code: u8) -> Result<(), Damage> {
    let start = record.values.len();
    for _ in 0..length(bytes)? {
        // What is not there is not held either: the list grows as it is read.
        record.values.push(match code {
            b'A' => i64::from(bytes.u32()? as i32),
            b'H' => bytes.u16()?.into(),
            _ => bytes.u8()?.into(),
        });
    }
    bounded(record.values.len(), bytes)?;
    record.lists.push(start..record.values.len());
    Ok(())
}

fn text(bytes: &mut Bytes) -> Result<(), Damage> {
    let len = length(bytes)?;
    bytes.skip(len.into())
}

fn statuses(record: &mut Record, bytes: &mut Bytes, tags: bool) -> Result<(), Damage> {
    for _ in 0..length(bytes)? {
        bytes.u32()?;
        let source = bytes.u32()? as i32;
        bytes.u16()?;
        let tag = if tags { Some(bytes.u32()? as i32) } else { None };
        record.statuses.push(Status { source, tag });
    }
    bounded(record.statuses.len(), bytes)
}
