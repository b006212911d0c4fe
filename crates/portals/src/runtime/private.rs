//! Names of private copies: a shared object says in its dynamic section which libraries it needs; there the names of copies take the places of the names of libraries.
//!
//! A copy's name is as long as the library's, so that nothing moves, and begins with "./": it is looked for where copies are made.

use base::index::RankId;

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

/// Contents with other names of needed libraries.
///
/// # Errors
/// If a library's name is too short for numbers of copies, or this is no shared object of this machine.
pub fn relabelled(bytes: &[u8], names: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let mut copy = bytes.to_vec();
    if let Some((short, _)) = names.iter().find(|n| n.0.len() < 8) {
        return Err(format!("`{short}` is too short a name for a private library: take one of 8 letters"));
    }
    if !names.is_empty() && relabel(&mut copy, names).is_none() {
        return Err("a private library or its program is no shared object".to_owned());
    }
    Ok(copy)
}

const NEEDED: usize = 1;
const STRINGS: usize = 5;
const LOAD: usize = 1;
const DYNAMIC: usize = 2;

fn number(bytes: &[u8], at: usize, size: usize) -> Option<usize> {
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
            found.push(Segment { offset: field(8)?, address: field(16)?, size: field(32)? });
        }
    }
    Some(found)
}

fn relabel(bytes: &mut [u8], names: &[(&str, &str)]) -> Option<()> {
    let all = segments(bytes, DYNAMIC)?;
    let &Segment { offset: dynamic, size, .. } = all.first()?;
    let mut rows = Vec::new();
    for at in (dynamic..dynamic.checked_add(size)?).step_by(16) {
        rows.push((number(bytes, at, 8)?, number(bytes, at + 8, 8)?));
    }
    let address = rows.iter().find(|r| r.0 == STRINGS)?.1;
    let loaded = segments(bytes, LOAD)?;
    let holds = |s: &&Segment| (s.address..s.address.saturating_add(s.size)).contains(&address);
    let segment = loaded.iter().find(holds)?;
    let strings = segment.offset.checked_add(address - segment.address)?;
    for (_, place) in rows.iter().filter(|r| r.0 == NEEDED) {
        let text = bytes.get_mut(strings.checked_add(*place)?..)?;
        let end = text.iter().position(|&b| b == 0)?;
        if let Some((_, new)) = names.iter().find(|n| n.0.as_bytes() == &text[..end]) {
            text[..end].copy_from_slice(new.as_bytes());
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
        assert!(relabelled(b"no ELF", &[("libcount.so", "./________5")]).is_err());
        assert!(relabelled(b"", &[("liba.so", "./____5")]).is_err());
        assert_eq!(relabelled(b"anything", &[]), Ok(b"anything".to_vec()));
    }
}
