//! A time line of rank programs in the trace-event format that Chromium's `about:tracing`, Perfetto and Speedscope read: a process per job, a thread per
//! rank, a bar per operation; the critical path of a job, if it is known, is a thread of its own. Times are microseconds, as the format demands, with all picoseconds behind the point.

use crate::table::{Column, Table, TextColumn};
use std::fmt::Write;

/// Thread of a critical path: no rank has this number.
const PATH: u32 = u32::MAX;

/// The time line of an `operations` table (`job`, `rank`, `operation`, `kind`, `start_ps`, `end_ps`, `bytes`), with the parts of a `critical_path`
/// table; `None` for another table.
#[must_use]
pub fn trace_events(table: &Table, path: Option<&Table>) -> Option<String> {
    let Columns { jobs, ranks, numbers, kinds, starts, ends, bytes } = Columns::of(table)?;
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (pid, name) in jobs.words().iter().enumerate() {
        let name = serde_json::to_string(name).unwrap_or_default();
        let _ = writeln!(
            text,
            "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{pid},\"args\":{{\"name\":{name}}}}},"
        );
    }
    if let Some(path) = path {
        mark(path, jobs.words(), &mut text);
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

/// Writes the parts of critical paths, each as a bar of its job's thread for it.
fn mark(path: &Table, jobs: &[String], text: &mut String) -> Option<()> {
    let Some(Column::Text(names)) = path.column("job") else { return None };
    let Some(Column::Text(parts)) = path.column("part") else { return None };
    let small = |name| match path.column(name) {
        Some(Column::U32(column)) => Some(column.as_slice()),
        _ => None,
    };
    let wide = |name| match path.column(name) {
        Some(Column::U64(column)) => Some(column.as_slice()),
        _ => None,
    };
    let (ranks, numbers, peers) = (small("rank")?, small("operation")?, small("peer")?);
    let (starts, ends) = (wide("start_ps")?, wide("end_ps")?);
    let mut reported = Vec::new();
    for (i, (job, part)) in names.iter().zip(parts.iter()).enumerate() {
        let Some(pid) = jobs.iter().position(|j| j == job) else { continue };
        if !reported.contains(&pid) {
            reported.push(pid);
            let _ = writeln!(
                text,
                "{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{pid},\"tid\":{PATH},\"args\":{{\"name\":\"critical path\"}}}},"
            );
        }
        let (start, span) = (micros(starts[i]), micros(ends[i] - starts[i]));
        let (rank, number, peer) = (ranks[i], numbers[i], peers[i]);
        let place =
            if part == "transfer" { format!("rank {rank} to {peer}") } else { format!("rank {rank}") };
        let _ = writeln!(
            text,
            "{{\"ph\":\"X\",\"name\":\"{part}, {place}\",\"cat\":\"critical\",\"pid\":{pid},\"tid\":{PATH},\"ts\":{start},\"dur\":{span},\
             \"args\":{{\"rank\":{rank},\"operation\":{number}}}}},"
        );
    }
    Some(())
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
        Some(Self {
            jobs: table.text_column("job")?,
            ranks: table.u32_column("rank")?,
            numbers: table.u32_column("operation")?,
            kinds: table.text_column("kind")?,
            starts: table.u64_column("start_ps")?,
            ends: table.u64_column("end_ps")?,
            bytes: table.u64_column("bytes")?,
        })
    }
}

/// An empty `operations` table: one row per operation, by job, rank and number.
#[must_use]
pub fn operations() -> Table {
    Table::new("operations")
        .with("job", Column::text())
        .with("rank", Column::u32s())
        .with("operation", Column::u32s())
        .with("kind", Column::text())
        .with("start_ps", Column::u64s())
        .with("end_ps", Column::u64s())
        .with("bytes", Column::u64s())
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
        let text = trace_events(&table, None).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let events = json["traceEvents"].as_array().cloned().unwrap_or_default();
        assert_eq!(events.len(), 3);
        assert_eq!(events[0]["args"]["name"], "a \"job\"");
        assert!(
            text.contains("\"ts\":0.000000,\"dur\":1.500001") && text.contains("\"ts\":0.000007"),
            "{text}"
        );
        assert_eq!(events[2]["tid"], 1);
        assert!(trace_events(&Table::new("pairs"), None).is_none());
        let text = |words: &[&str]| {
            let mut column = TextColumn::default();
            words.iter().for_each(|w| column.push(w));
            Column::Text(column)
        };
        let path = Table::new("critical_path")
            .with("job", text(&["a \"job\"", "a \"job\""]))
            .with("part", text(&["compute", "transfer"]))
            .with("rank", Column::U32(vec![0, 0]))
            .with("operation", Column::U32(vec![1, 2]))
            .with("peer", Column::U32(vec![0, 1]))
            .with("start_ps", Column::U64(vec![0, 5]))
            .with("end_ps", Column::U64(vec![5, 9]));
        let marked = trace_events(&table, Some(&path)).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_str(&marked).unwrap_or_default();
        let events = json["traceEvents"].as_array().cloned().unwrap_or_default();
        assert_eq!(events.len(), 6);
        assert_eq!(events[1]["args"]["name"], "critical path");
        assert_eq!((&events[3]["name"], &events[3]["dur"]), (&"transfer, rank 0 to 1".into(), &4e-6.into()));
    }
}
