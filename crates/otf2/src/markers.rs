//! Markers: notes of people and tools on a time line, which lie beside the events (`NAME.marker`).

use crate::{
    Result,
    bytes::{Bytes, put_number, put_record, put_text},
    chunks::Chunks,
};
use std::{collections::BTreeMap, path::Path};

const DEFINITION: u8 = 5;
const MARKER: u8 = 6;

/// What a marker belongs to; the numbers are those of global definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The whole trace.
    Global,
    /// A thread, by its number.
    Location(u64),
    /// Anything else: its kind, as OTF2 numbers them, and its number.
    Other(u8, u64),
}

/// A note at a time, or on a span of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Ticks of the archive's clock at which it begins.
    pub time: u64,
    /// Ticks that it lasts, often none.
    pub duration: u64,
    /// Who made it, such as the name of a tool.
    pub group: String,
    /// Which kind of note of that group it is.
    pub category: String,
    /// How grave it is: 0 none, 1 low, 2 medium, 3 high.
    pub severity: u8,
    /// What it is said of.
    pub scope: Scope,
    /// What it says.
    pub text: String,
}

/// Reads all markers of an archive; none if it has no file of them.
pub(crate) fn read(path: &Path, chunk: u64) -> Result<Vec<Marker>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut kinds: BTreeMap<u32, (String, String, u8)> = BTreeMap::new();
    let (mut all, mut chunks) = (Vec::new(), Chunks::open(path.to_owned(), chunk)?);
    while let Some(()) = chunks.next(|bytes| {
        let kind = bytes.u8()?;
        let mut b = bytes.body()?;
        match kind {
            DEFINITION => _ = kinds.insert(b.number32()?, (b.text()?, b.text()?, b.u8()?)),
            MARKER => all.push(marker(&mut b, &kinds)?),
            _ => {}
        }
        Ok(())
    })? {}
    Ok(all)
}

fn marker(b: &mut Bytes<'_>, kinds: &BTreeMap<u32, (String, String, u8)>) -> Result<Marker> {
    let (time, duration, number) = (b.number()?, b.number()?, b.number32()?);
    let (kind, of) = (b.u8()?, b.number()?);
    let scope = match kind {
        0 => Scope::Global,
        1 => Scope::Location(of),
        kind => Scope::Other(kind, of),
    };
    let Some((group, category, severity)) = kinds.get(&number).cloned() else {
        return b.wrong(format!("a marker of kind {number}, which is not defined before it"));
    };
    Ok(Marker { time, duration, group, category, severity, scope, text: b.text()? })
}

/// The records of these markers; each group, category and severity is defined once, before its first.
pub(crate) fn records(markers: &[Marker]) -> Vec<Vec<u8>> {
    let mut kinds: BTreeMap<(&str, &str, u8), u64> = BTreeMap::new();
    let mut records = Vec::new();
    for m in markers {
        let next = kinds.len() as u64;
        let mut b = Vec::new();
        let number = *kinds.entry((&m.group, &m.category, m.severity)).or_insert_with(|| {
            put_number(&mut b, next);
            put_text(&mut b, &m.group);
            put_text(&mut b, &m.category);
            b.push(m.severity);
            next
        });
        if !b.is_empty() {
            let mut record = Vec::new();
            put_record(&mut record, DEFINITION, &b);
            records.push(record);
            b.clear();
        }
        [m.time, m.duration, number].iter().for_each(|&n| put_number(&mut b, n));
        let (kind, of) = match m.scope {
            Scope::Global => (0, None),
            Scope::Location(of) => (1, Some(of)),
            Scope::Other(kind, of) => (kind, Some(of)),
        };
        b.push(kind);
        match of {
            Some(of) => put_number(&mut b, of),
            None => b.push(0xff),
        }
        put_text(&mut b, &m.text);
        let mut record = Vec::new();
        put_record(&mut record, MARKER, &b);
        records.push(record);
    }
    records
}
