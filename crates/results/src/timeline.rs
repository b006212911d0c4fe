//! A time line of rank programs in the trace-event format that Chromium's `about:tracing`, Perfetto and Speedscope read: a process per job, a thread per
//! rank, a bar per operation. Times are microseconds, as the format demands, with all picoseconds behind the point.

use crate::table::{Column, Table, TextColumn};
use std::fmt::Write;

/// The time line of an `operations` table (`job`, `rank`, `operation`, `kind`, `start_ps`, `end_ps`, `bytes`); `None` for another table.
#[must_use]
pub fn trace_events(table: &Table) -> Option<String> {
    let Columns { jobs, ranks, numbers, kinds, starts, ends, bytes } = Columns::of(table)?;
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (pid, name) in jobs.words().iter().enumerate() {
        let name = serde_json::to_string(name).unwrap_or_default();
        let _ = writeln!(
            text,
            "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":{name}}}}},"
        );
    }
    for (i, kind) in kinds.iter().enumerate() {
        let (pid, tid, number, size) = (jobs.codes()[i], ranks[i], numbers[i], bytes[i]);
        let (start, span) = (micros(starts[i]), micros(ends[i] - starts[i]));
        let end = if i + 1 == kinds.len() { "" } else { "," };
        let _ = writeln!(
            text,
            "{{\"ph\":\"X\",\"name\":\"{kind}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{start},\"dur\":{span},\
             \"args\":{{\"operation\":{number},\"bytes\":{size}}}}}{end}"
        );
    }
    text.push_str("]}\n");
    Some(text)
}

/// Picoseconds as microseconds, exactly.
fn micros(ps: u64) -> String {
    format!("{}.{:06}", ps / 1_000_000, ps % 1_000_000)
}

struct Columns<'a> {
    jobs: &'a TextColumn,
    ranks: &'a [u32],
    numbers: &'a [u32],
    kinds: &'a TextColumn,
    starts: &'a [u64],
    ends: &'a [u64],
    bytes: &'a [u64],
}

impl<'a> Columns<'a> {
    fn of(table: &'a Table) -> Option<Self> {
        let text = |name| match table.column(name) {
            Some(Column::Text(column)) => Some(column),
            _ => None,
        };
        let small = |name| match table.column(name) {
            Some(Column::U32(column)) => Some(column.as_slice()),
            _ => None,
        };
        let wide = |name| match table.column(name) {
            Some(Column::U64(column)) => Some(column.as_slice()),
            _ => None,
        };
        Some(Self {
            jobs: text("job")?,
            ranks: small("rank")?,
            numbers: small("operation")?,
            kinds: text("kind")?,
            starts: wide("start_ps")?,
            ends: wide("end_ps")?,
            bytes: wide("bytes")?,
        })
    }
}

/// An empty `operations` table: one row per operation, by job, rank and number.
#[must_use]
pub fn operations() -> Table {
    let (u32s, u64s) = (|| Column::U32(Vec::new()), || Column::U64(Vec::new()));
    let text = || Column::Text(TextColumn::default());
    Table::new("operations")
        .with("job", text())
        .with("rank", u32s())
        .with("operation", u32s())
        .with("kind", text())
        .with("start_ps", u64s())
        .with("end_ps", u64s())
        .with("bytes", u64s())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Cell;

    #[test]
    fn every_operation_is_a_bar_and_times_are_exact() {
        let mut table = operations();
        for (rank, start, end) in [(0, 0, 1_500_001), (1, 7, 7)] {
            table.push(&[
                Cell::Text("a \"job\""),
                Cell::U32(rank),
                Cell::U32(3),
                Cell::Text("send"),
                Cell::U64(start),
                Cell::U64(end),
                Cell::U64(64),
            ]);
        }
        let text = trace_events(&table).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let events = json["traceEvents"].as_array().cloned().unwrap_or_default();
        assert_eq!(events.len(), 3);
        assert_eq!(events[0]["args"]["name"], "a \"job\"");
        assert!(
            text.contains("\"ts\":0.000000,\"dur\":1.500001") && text.contains("\"ts\":0.000007"),
            "{text}"
        );
        assert_eq!(events[2]["tid"], 1);
        assert!(trace_events(&Table::new("pairs")).is_none());
    }
}
