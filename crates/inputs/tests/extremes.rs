//! Results whose numbers are anything: a page is drawn and a comparison made of them, or they are refused in words. Sums and products of what a file says
//! must not stop the program.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use inputs::{Reader, Scratch};
use netloom::results::{
    parquet_out,
    table::{Column, Table},
};
use std::{
    fs::{self, File},
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// What each number is replaced by.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "-1",
    "1e300",
    "0.5",
];

/// Where numbers stand in a JSON text.
fn numbers(text: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut at, mut quoted) = (Vec::new(), 0, false);
    while at < text.len() {
        let end = at + text[at..].iter().take_while(|b| b"+-.0123456789eE".contains(b)).count();
        match text[at] {
            b'\\' => at += 1,
            b'"' => quoted = !quoted,
            b'-' | b'0'..=b'9' if !quoted => {
                found.push(at..end);
                at = end - 1;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads the files of a result, one of which is changed; the panic's words are printed where it happens.
fn survives(reader: &Reader, files: &[PathBuf], what: &dyn Fn() -> String) -> bool {
    let read = catch_unwind(AssertUnwindSafe(|| drop((reader.read)(files))));
    if read.is_err() {
        eprintln!("{}: {}", reader.name, what());
    }
    read.is_ok()
}

#[test]
fn any_number_of_a_result_may_be_anything() {
    let (mut broken, mut places) = (0, 0);
    for reader in [Reader::named("run"), Reader::named("sweep")] {
        let mut scratch = Scratch::new();
        let files = scratch.fill(&(reader.made)()[0]);
        assert!(survives(reader, &files, &|| "as it was written".to_owned()));
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "json")) {
            let text = fs::read(file).unwrap();
            for place in numbers(&text) {
                places += 1;
                for number in NUMBERS {
                    let changed = [&text[..place.start], number.as_bytes(), &text[place.end..]].concat();
                    fs::write(file, &changed).unwrap();
                    let before = String::from_utf8_lossy(&text[place.start.saturating_sub(60)..place.start]);
                    let what = || format!("{}: {number} after {before}", file.display());
                    broken += u32::from(!survives(reader, &files, &what));
                }
            }
            fs::write(file, &text).unwrap();
        }
    }
    assert!(places > 200, "{places} numbers");
    assert_eq!(broken, 0, "numbers that stop a reader");
}

/// A column with other values in the same rows.
fn changed(column: &Column, kind: usize) -> Column {
    let integer = [0, 1, u64::MAX, u64::MAX / 2, 1 << 32][kind];
    let float = [0.0, f64::NAN, f64::INFINITY, -1e300, f64::MIN_POSITIVE][kind];
    let rows = column.len();
    match column {
        Column::U64(_) => Column::U64(vec![integer; rows]),
        Column::I64(_) => Column::I64(vec![integer.cast_signed(); rows]),
        Column::U32(_) => Column::U32(vec![u32::try_from(integer).unwrap_or(u32::MAX); rows]),
        Column::Maybe(_) => Column::Maybe(vec![u32::try_from(integer).ok(); rows]),
        Column::F64(_) => Column::F64(vec![float; rows]),
        Column::Text(_) => Column::Text(std::iter::repeat_n("\u{202e}<", rows).collect()),
    }
}

fn replace(path: &Path, table: &Table) {
    parquet_out::write(table, &[], File::create(path).unwrap()).unwrap();
}

#[test]
fn any_column_of_a_table_may_be_anything() {
    let (mut broken, mut tables) = (0, 0);
    let reader = Reader::named("run");
    let mut scratch = Scratch::new();
    for made in (reader.made)() {
        let files = scratch.fill(&made);
        for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "parquet")) {
            let name = file.file_stem().unwrap().to_str().unwrap();
            let (table, _) = parquet_out::read(name, File::open(file).unwrap()).unwrap();
            tables += 1;
            // None, one column that lacks, then each with other values.
            replace(file, &Table::new(name));
            broken += u32::from(!survives(reader, &files, &|| format!("{name} without columns")));
            for (n, (column, _)) in table.columns().iter().enumerate() {
                for kind in 0..=5 {
                    let mut other = Table::new(name);
                    for (m, (name, values)) in table.columns().iter().enumerate() {
                        match (m == n, kind) {
                            (true, 5) => {}
                            (true, _) => other = other.with(name, changed(values, kind)),
                            _ => other = other.with(name, values.clone()),
                        }
                    }
                    replace(file, &other);
                    let what = || format!("{name}, column {column}, change {kind}");
                    broken += u32::from(!survives(reader, &files, &what));
                }
            }
        }
    }
    assert!(tables > 5, "{tables} tables");
    assert_eq!(broken, 0, "columns that stop a reader");
}
