//! Tables as CSV files (RFC 4180, lines end in LF): what builds without Parquet write.
//!
//! The first line names the columns. What would act on a terminal stands as `\u001b`, line ends within names included: a row is a line.
//! Floats are written in the fewest digits that give the same float back. Of texts that a spreadsheet would take for formulas each has a
//! single quote before it, as OWASP advises (<https://owasp.org/www-community/attacks/CSV_Injection>); so have those that begin with one. The
//! Python package takes it off again. Nothing reads these files here.

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

/// How formulas of spreadsheets begin, full-width signs included, and the quote that keeps a text from being one.
const BEGINNINGS: [char; 9] = ['=', '+', '-', '@', '\'', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// True of a text that would be taken for a formula, or that begins as one that is kept from it. Numbers are none.
fn is_formula(text: &str) -> bool {
    text.starts_with(BEGINNINGS) && !text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// A text as one field: no formula, and in quotes if it needs them.
fn field(text: &str) -> Cow<'_, str> {
    let mut text = visible::name(text);
    if is_formula(&text) {
        text.to_mut().insert(0, '\'');
    }
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

    #[test]
    fn a_text_is_no_formula_and_a_number_stays() {
        let guarded = ["=1+1", "+a", "-a", "@sum", "'a", "'=1", "=\"a\",b", "-1-1", "\u{ff1d}1", "-"];
        for text in guarded {
            let plain = if text.contains('"') { "\"'=\"\"a\"\",b\"".to_owned() } else { format!("'{text}") };
            assert_eq!(field(text), plain);
        }
        for text in ["-1", "+2.5", "-1e-3", "a=1", "", "1-1"] {
            assert_eq!(field(text), text);
        }
        assert_eq!(field("\t=1"), "\\u0009=1");
        assert_eq!(field("\r=1"), "\\u000d=1");
    }
}
