//! Contents of private copies. A shared object says in its dynamic section which libraries it needs; there the names of copies take the places of the names of
//! libraries. Who begins and ends it, and what is shared in a process, is changed there as well.
//!
//! A copy's name is as long as the library's, so that nothing moves, and begins with "./": it is looked for where copies are made.

use base::index::RankId;
use std::ops::Range;

/// Name of the copy of library `which` that a rank has.
#[must_use]
pub fn name(library: &str, which: usize, rank: RankId) -> String {
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
    debug_assert!(rank.number() < 1 << 20, "copies of one library differ by their ranks");
    let mut number = (which as u64) << 20 | u64::from(rank);
    let mut name = vec![b'_'; library.len().max(2)];
    name[..2].copy_from_slice(b"./");
    for place in name[2..].iter_mut().rev() {
        *place = digits[(number % 36) as usize];
        number /= 36;
        if number == 0 {
            break;
        }
    }
    String::from_utf8_lossy(&name).into_owned()
}

/// What a copy is made of: contents in which libraries have other names, initialisers wait for us, and no symbol is one for the whole process.
///
/// Functions that begin and end a shared object would be called by the loader, before our cells are bound and outside of the rank: their entries get tags that
/// it does not know (see [`deferred`]). Symbols that the C++ compiler marks as unique in a process (statics of inline functions and templates)
/// become ordinary ones, which each copy has for itself, unless `kept` says that a shared library defines them too. A program that can also be started is
/// loaded like any other.
///
/// # Errors
/// If a library's name is too short for numbers of copies, or this is no shared object of this machine.
pub fn prepared(
    bytes: &[u8],
    names: &[(&str, &str)],
    kept: impl Fn(&str) -> bool,
) -> Result<Vec<u8>, String> {
    let mut copy = bytes.to_vec();
    if let Some((short, _)) = names.iter().find(|n| n.0.len() < 8) {
        return Err(format!("`{short}` is too short a name for a private library: take one of 8 letters"));
    }
    if relabel(&mut copy, names).is_none() && !names.is_empty() {
        return Err("a private library or its program is no shared object".to_owned());
    }
    // What is no shared object the loader refuses in its own words.
    let _ = defer(&mut copy);
    let _ = share_nothing(&mut copy, kept);
    let _ = join(&mut copy);
    debug_assert_eq!(copy.len(), bytes.len(), "nothing moves in a copy");
    Ok(copy)
}

/// Added to the tags of entries that the loader is not to see.
const HIDDEN: usize = 0x6000_1000;
const INIT: usize = 12;
const FINI: usize = 13;
const INIT_ARRAY: usize = 25;
const FINI_ARRAY: usize = 26;
const INIT_ARRAY_SIZE: usize = 27;
const FINI_ARRAY_SIZE: usize = 28;
const FLAGS_1: usize = 0x6fff_fffb;
const PIE: u8 = 0x08;

fn rows(bytes: &[u8]) -> Option<Vec<(usize, usize, usize)>> {
    let all = segments(bytes, DYNAMIC)?;
    let &Segment { offset, size, .. } = all.first()?;
    (offset..offset.checked_add(size)?)
        .step_by(16)
        .map(|at| Some((at, number(bytes, at, 8)?, number(bytes, at + 8, 8)?)))
        .collect()
}

fn defer(bytes: &mut [u8]) -> Option<()> {
    for (at, tag, _) in rows(bytes)? {
        match tag {
            INIT | FINI | INIT_ARRAY | FINI_ARRAY | INIT_ARRAY_SIZE | FINI_ARRAY_SIZE => {
                bytes[at..at + 8].copy_from_slice(&((tag + HIDDEN) as u64).to_le_bytes());
            }
            FLAGS_1 => bytes[at + 11] &= !PIE,
            _ => {}
        }
    }
    Some(())
}

/// Functions that begin and end a shared object, by address from its base: one each, and ranges of arrays of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deferred {
    /// One that begins it.
    pub begin: Option<usize>,
    /// Others that do, after that.
    pub begins: Range<usize>,
    /// Those that end it, in the opposite order.
    pub ends: Range<usize>,
    /// One that ends it, after these.
    pub end: Option<usize>,
}

/// What [`prepared`] has hidden from the loader.
#[must_use]
pub fn deferred(copy: &[u8]) -> Deferred {
    let rows = rows(copy).unwrap_or_default();
    let value = |tag: usize| rows.iter().find(|r| r.1 == tag + HIDDEN).map(|r| r.2);
    let range = |place, size| {
        let start = value(place).unwrap_or(0);
        start..start.saturating_add(value(size).unwrap_or(0))
    };
    Deferred {
        begin: value(INIT),
        begins: range(INIT_ARRAY, INIT_ARRAY_SIZE),
        ends: range(FINI_ARRAY, FINI_ARRAY_SIZE),
        end: value(FINI),
    }
}

/// Names of libraries that a shared object needs.
#[must_use]
pub fn needed(bytes: &[u8]) -> Vec<String> {
    let read = || {
        let (rows, strings) = (rows(bytes)?, strings(bytes)?);
        let text = |place: usize| {
            Some(String::from_utf8_lossy(text(bytes, strings.checked_add(place)?)?).into_owned())
        };
        rows.iter().filter(|r| r.1 == NEEDED).map(|r| text(r.2)).collect::<Option<Vec<_>>>()
    };
    read().unwrap_or_default()
}

/// Address, bytes that are given, and bytes of a shared object's thread-local variables; none if it has no such.
#[must_use]
pub fn thread_locals(bytes: &[u8]) -> Option<(usize, usize, usize)> {
    const LOCALS: usize = 7;
    let &Segment { address, size, memory, .. } = segments(bytes, LOCALS)?.first()?;
    (memory > 0).then_some((address, size, memory))
}

/// Addresses of a shared object's globals, from its base.
#[must_use]
pub fn globals(bytes: &[u8]) -> Vec<Range<usize>> {
    let all = segments(bytes, LOAD).unwrap_or_default();
    all.iter().filter(|s| s.writable).map(|s| s.address..s.address.saturating_add(s.memory)).collect()
}

/// Bytes of address space that a copy takes.
#[must_use]
pub fn span(bytes: &[u8]) -> usize {
    let all = segments(bytes, LOAD).unwrap_or_default();
    all.iter().map(|s| s.address.saturating_add(s.memory)).max().unwrap_or(0)
}

/// True if thread-local variables of a copy have places of which there are few in a process, so that later copies may find none.
#[must_use]
pub fn has_fixed_locals(bytes: &[u8]) -> bool {
    const FLAGS: usize = 30;
    const STATIC_TLS: usize = 16;
    rows(bytes).unwrap_or_default().iter().any(|&(_, tag, value)| tag == FLAGS && value & STATIC_TLS != 0)
}

/// The text that begins at a place, without its zero.
fn text(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.get(..rest.iter().position(|&b| b == 0)?)
}

/// Code and constants get the same rights, so that they are one mapping where they adjoin: the system allows a process 65,530.
fn join(bytes: &mut [u8]) -> Option<()> {
    const READ_AND_EXECUTE: u8 = 5;
    for constant in segments(bytes, LOAD)?.into_iter().filter(|s| !s.writable) {
        bytes[constant.rights] |= READ_AND_EXECUTE;
    }
    Some(())
}

/// Symbols that are one in a process become ordinary ones.
fn share_nothing(bytes: &mut [u8], kept: impl Fn(&str) -> bool) -> Option<()> {
    const SYMBOLS: usize = 11;
    const UNIQUE: u8 = 10;
    const WEAK: u8 = 2;
    let strings = strings(bytes)?;
    let (table, size, count) = (number(bytes, 40, 8)?, number(bytes, 58, 2)?, number(bytes, 60, 2)?);
    for section in (0..count).map(|n| table.saturating_add(n * size)) {
        if number(bytes, section + 4, 4)? != SYMBOLS {
            continue;
        }
        let (offset, length) = (number(bytes, section + 24, 8)?, number(bytes, section + 32, 8)?);
        for symbol in (offset..offset.checked_add(length)?).step_by(24) {
            let (name, kind, place) =
                (number(bytes, symbol, 4)?, *bytes.get(symbol + 4)?, number(bytes, symbol + 6, 2)?);
            if kind >> 4 == UNIQUE && place != 0 {
                let name = String::from_utf8_lossy(text(bytes, strings.checked_add(name)?)?).into_owned();
                if !kept(&name) {
                    bytes[symbol + 4] = WEAK << 4 | kind & 15;
                }
            }
        }
    }
    Some(())
}

/// Where the texts of names begin in the file.
fn strings(bytes: &[u8]) -> Option<usize> {
    let address = rows(bytes)?.iter().find(|r| r.1 == STRINGS)?.2;
    let loaded = segments(bytes, LOAD)?;
    let holds = |s: &&Segment| (s.address..s.address.saturating_add(s.size)).contains(&address);
    let segment = loaded.iter().find(holds)?;
    segment.offset.checked_add(address - segment.address)
}

const NEEDED: usize = 1;
const STRINGS: usize = 5;
const LOAD: usize = 1;
const DYNAMIC: usize = 2;

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
    debug_assert!(size <= 8, "a field has 64 bits at most");
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0usize, |n, &b| n << 8 | usize::from(b)))
}

/// A segment of a shared object.
struct Segment {
    /// Where it lies in the file.
    offset: usize,
    /// Where it is loaded, from the object's base.
    address: usize,
    /// Its bytes in the file.
    size: usize,
    /// Its bytes in memory.
    memory: usize,
    /// It can be written.
    writable: bool,
    /// Place in the file of what may be done with it.
    rights: usize,
}

/// The segments of a kind.
fn segments(bytes: &[u8], kind: usize) -> Option<Vec<Segment>> {
    if bytes.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let (table, size, count) = (number(bytes, 32, 8)?, number(bytes, 54, 2)?, number(bytes, 56, 2)?);
    let mut found = Vec::new();
    for at in (0..count).map(|n| table.saturating_add(n * size)) {
        if number(bytes, at, 4)? == kind {
            let field = |offset| number(bytes, at.saturating_add(offset), 8);
            found.push(Segment {
                offset: field(8)?,
                address: field(16)?,
                size: field(32)?,
                memory: field(40)?,
                writable: number(bytes, at + 4, 4)? & 2 != 0,
                rights: at + 4,
            });
        }
    }
    Some(found)
}

fn relabel(bytes: &mut [u8], names: &[(&str, &str)]) -> Option<()> {
    let strings = strings(bytes)?;
    for (_, _, place) in rows(bytes)?.into_iter().filter(|r| r.1 == NEEDED) {
        let at = strings.checked_add(place)?;
        let old = text(bytes, at)?;
        if let Some((_, new)) = names.iter().find(|n| n.0.as_bytes() == old) {
            let end = at + old.len();
            debug_assert_eq!(new.len(), old.len(), "a copy's name is as long as the library's");
            bytes[at..end].copy_from_slice(new.as_bytes());
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_names_of_their_own_as_long_as_the_library() {
        assert_eq!(name("libcount.so", 0, RankId::new(5)), "./________5");
        assert_eq!(name("libcount.so", 1, RankId::new(0)), "./_____mh34");
        let none = |_: &str| false;
        assert!(prepared(b"no ELF", &[("libcount.so", "./________5")], none).is_err());
        assert!(prepared(b"", &[("liba.so", "./____5")], none).is_err());
        assert_eq!(prepared(b"anything", &[], none), Ok(b"anything".to_vec()));
    }
}
