//! Tables as bytes, as they lie in memory: for a run that is asked to leave and has no time to make files of them.
//!
//! Numbers are little-endian. What is read back is checked: a file whose hash fits may still be forged.

use crate::table::{Column, Table, TextColumn};
use std::io;

/// Where bytes go.
pub type Put<'a> = dyn FnMut(&[u8]) -> io::Result<()> + 'a;

/// Values that are turned into bytes at once.
const CHUNK: usize = 1 << 13;

/// Gives the bytes of tables.
///
/// # Errors
/// What `put` says.
pub fn write(tables: &[Table], put: &mut Put<'_>) -> io::Result<()> {
    count(tables.len(), put)?;
    for table in tables {
        text(table.name(), put)?;
        put(&[u8::from(table.is_internal())])?;
        count(table.columns().len(), put)?;
        for (name, column) in table.columns() {
            text(name, put)?;
            write_column(column, put)?;
        }
    }
    Ok(())
}

fn write_column(column: &Column, put: &mut Put<'_>) -> io::Result<()> {
    match column {
        Column::U64(v) => numbers(0, v, |x| x.to_le_bytes(), put),
        Column::I64(v) => numbers(1, v, |x| x.to_le_bytes(), put),
        Column::U32(v) => numbers(2, v, |x| x.to_le_bytes(), put),
        // One more than the number; 0 where there is none.
        Column::Maybe(v) => numbers(3, v, |x| x.map_or(0, |x| u64::from(x) + 1).to_le_bytes(), put),
        Column::F64(v) => numbers(4, v, |x| x.to_le_bytes(), put),
        Column::Text(texts) => {
            numbers(5, texts.codes(), |x| x.to_le_bytes(), put)?;
            count(texts.words().len(), put)?;
            texts.words().iter().try_for_each(|word| text(word, put))
        }
    }
}

fn numbers<T: Copy, const N: usize>(
    kind: u8,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
    put: &mut Put<'_>,
) -> io::Result<()> {
    put(&[kind])?;
    count(values.len(), put)?;
    let mut buffer = Vec::with_capacity(CHUNK * N);
    for part in values.chunks(CHUNK) {
        buffer.clear();
        part.iter().for_each(|&value| buffer.extend_from_slice(&bytes(value)));
        put(&buffer)?;
    }
    Ok(())
}

fn count(n: usize, put: &mut Put<'_>) -> io::Result<()> {
    put(&(n as u64).to_le_bytes())
}

fn text(words: &str, put: &mut Put<'_>) -> io::Result<()> {
    count(words.len(), put)?;
    put(words.as_bytes())
}

/// Tables of bytes that [`write()`] gave; none where the bytes are others, or more.
#[must_use]
pub fn read(mut bytes: &[u8]) -> Option<Vec<Table>> {
    let rest = &mut bytes;
    let mut tables = Vec::new();
    for _ in 0..take_count(rest)? {
        let name = take_text(rest)?;
        let internal = take::<1>(rest)?[0] != 0;
        let mut table = Table::named(name)?;
        for _ in 0..take_count(rest)? {
            let name = take_text(rest)?;
            table = table.try_with(name, read_column(rest)?).ok()?;
        }
        tables.push(if internal { table.internal() } else { table });
    }
    rest.is_empty().then_some(tables)
}

fn read_column(rest: &mut &[u8]) -> Option<Column> {
    Some(match take::<1>(rest)?[0] {
        0 => Column::U64(take_numbers(rest, u64::from_le_bytes)?),
        1 => Column::I64(take_numbers(rest, i64::from_le_bytes)?),
        2 => Column::U32(take_numbers(rest, u32::from_le_bytes)?),
        3 => {
            let all = take_numbers(rest, u64::from_le_bytes)?;
            let maybe = |x: u64| x.checked_sub(1).map(u32::try_from).transpose().ok();
            Column::Maybe(all.into_iter().map(maybe).collect::<Option<_>>()?)
        }
        4 => Column::F64(take_numbers(rest, f64::from_le_bytes)?),
        5 => {
            let codes = take_numbers(rest, u32::from_le_bytes)?;
            let words = (0..take_count(rest)?).map(|_| take_text(rest).map(str::to_owned));
            Column::Text(TextColumn::of(words.collect::<Option<_>>()?, codes)?)
        }
        _ => return None,
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

/// A count of things that have bytes each: there are never more of them than bytes.
fn take_count(rest: &mut &[u8]) -> Option<usize> {
    let n = usize::try_from(u64::from_le_bytes(take(rest)?)).ok()?;
    (n <= rest.len()).then_some(n)
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let length = take_count(rest)?;
    let (words, after) = rest.split_at_checked(length)?;
    *rest = after;
    std::str::from_utf8(words).ok()
}

fn take_numbers<T, const N: usize>(rest: &mut &[u8], number: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
    let length = take_count(rest)?.checked_mul(N)?;
    let (values, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(values.as_chunks().0.iter().map(|&value| number(value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::tests::sample;

    fn bytes(tables: &[Table]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |more: &[u8]| {
            bytes.extend_from_slice(more);
            Ok(())
        };
        write(tables, &mut put).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_comes_back() {
        for rows in [0, 1, 7, CHUNK + 3] {
            let tables = [sample(rows), Table::new("hidden").internal(), sample(2).internal()];
            assert_eq!(read(&bytes(&tables)).as_deref(), Some(&tables[..]), "{rows} rows");
        }
        assert_eq!(read(&bytes(&[])), Some(Vec::new()));
    }

    /// Neither cut nor changed bytes are a panic, or take memory that they do not fill.
    #[test]
    fn other_bytes_are_refused_or_other_tables() {
        let whole = bytes(&[sample(5)]);
        for end in 0..whole.len() {
            assert_eq!(read(&whole[..end]), None, "cut at {end}");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut forged = whole.clone();
                forged[at] ^= 1 << bit;
                if let Some(tables) = read(&forged) {
                    assert_ne!(bytes(&tables), whole, "byte {at}");
                }
            }
        }
        assert_eq!(read(&[&whole[..], &[0]].concat()), None, "more than tables");
    }
}
