//! Tables as CSV files (RFC 4180, lines end in LF): what builds without Parquet write.
//!
//! The first line names the columns. What would act on a terminal stands as `\u001b`, line ends within names included: a row is a line.
//! Floats are written in the fewest digits that give the same float back. Nothing reads these files here.

use crate::table::{Column, Table};
use base::visible;
use std::{
    borrow::Cow,
    io::{self, Write},
};

/// Writes a table.
///
/// # Errors
/// Whatever the sink refuses.
pub fn write<W: Write>(table: &Table, sink: W) -> io::Result<()> {
    let mut out = io::BufWriter::new(sink);
    let names: Vec<_> = table.columns().iter().map(|(name, _)| field(name)).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in 0..table.rows() {
        for (place, (_, column)) in table.columns().iter().enumerate() {
            if place > 0 {
                out.write_all(b",")?;
            }
            match column {
                Column::U64(v) => write!(out, "{}", v[row])?,
                Column::I64(v) => write!(out, "{}", v[row])?,
                Column::U32(v) => write!(out, "{}", v[row])?,
                Column::Maybe(v) => v[row].map_or(Ok(()), |x| write!(out, "{x}"))?,
                Column::F64(v) => write!(out, "{:?}", v[row])?,
                Column::Text(v) => out.write_all(field(&v.words()[v.codes()[row] as usize]).as_bytes())?,
            }
        }
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// A text as one field: in quotes if it needs them.
fn field(text: &str) -> Cow<'_, str> {
    let text = visible::name(text);
    if text.contains([',', '"']) { Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TextColumn;

    #[test]
    fn every_type_and_texts_that_need_quotes() {
        let texts: TextColumn = ["plain", "a,b", "say \"no\"\n\u{1b}"].into_iter().collect();
        let table = Table::new("t")
            .with("n", Column::U64(vec![0, u64::MAX, 7]))
            .with("d", Column::I64(vec![-1, 0, 1]))
            .with("u", Column::U32(vec![1, 2, 3]))
            .with("m", Column::Maybe(vec![Some(4), None, Some(0)]))
            .with("x", Column::F64(vec![0.1, 1e300, f64::NAN]))
            .with("text, with comma", Column::Text(texts));
        let mut out = Vec::new();
        write(&table, &mut out).unwrap();
        let reported = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = reported.lines().collect();
        assert_eq!(
            lines,
            [
                "n,d,u,m,x,\"text, with comma\"",
                "0,-1,1,4,0.1,plain",
                "18446744073709551615,0,2,,1e300,\"a,b\"",
                "7,1,3,0,NaN,\"say \"\"no\"\"\\u000a\\u001b\"",
            ]
        );
    }
}
