//! A time line of rank programs in the trace-event format that Perfetto, Chromium's `about:tracing` and Speedscope read.
//!
//! A process is a job, a thread a rank, a bar an operation. Bars of a thread follow each other: what goes on beside others (requests, other processors) stands
//! on further threads of its rank, "rank 3, requests 1" and so on; regions that a program marks on "rank 3, regions", its instants on the first. An arrow leads from each send to the receive that took its message. The critical path of a job, if it is
//! known, is a thread of its own. Times are microseconds, as the format demands, with all picoseconds behind the point.
//!
//! Readers count nanoseconds and cut what is behind them. Bars are therefore pairs of events, `B` and `E`, and no `X` with a duration: cutting keeps the order of instants, whereas
//! a start and a duration that are cut apart may reach into the next bar, which is then dropped. Where instants are the same, the order in the file counts.

use crate::{
    marks::Marks,
    table::{Column, Table, TextColumn, codes},
};
use base::sorted::{SortedMap, SortedSet};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    fmt::Write,
    ops::Range,
};

/// What a time line shows beside operations, by table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// `transfers`: an arrow for each message.
    pub transfers: Option<&'a Table>,
    /// `critical_path`: a bar for each part.
    pub path: Option<&'a Table>,
    /// `markers`: an instant, or an end of a bar, for each.
    pub markers: Option<&'a Table>,
}

/// The time line of an `operations` table (`job`, `rank`, `operation`, `kind`, `start_ps`, `end_ps`, `bytes`, and what of `call`, `peer` and `tag` it has) with what
/// stands beside it; `None` for another table.
#[must_use]
pub fn trace_events(table: &Table, Beside { transfers, path, markers }: Beside<'_>) -> Option<String> {
    let columns = Columns::of(table)?;
    let parts = path.and_then(Parts::of);
    let marks = markers.and_then(|m| Marks::of(m, table));
    let mut marked: SortedMap<(u32, u32), Vec<(usize, u64)>> = SortedMap::new();
    for (row, (rank, time)) in marks.iter().flat_map(Marks::places).enumerate() {
        marked.entry(rank).or_default().push((row, time));
    }
    let mut order: Vec<usize> = (0..table.rows()).collect();
    order.sort_by_key(|&i| columns.key(i));
    let arrows = transfers.and_then(|t| arrows(t, &columns, &order)).unwrap_or_default();
    let mut line = Line::default();
    for (pid, name) in (1..).zip(columns.jobs.words()) {
        line.named("process_name", pid, None, name);
    }
    if let Some(parts) = &parts {
        parts.draw(columns.jobs.words(), &mut line);
    }
    for of_rank in order.chunk_by(|&a, &b| columns.rank(a) == columns.rank(b)) {
        let marked = marked.get(&columns.rank(of_rank[0])).map_or(&[][..], Vec::as_slice);
        let marked = marks.as_ref().map(|marks| (marks, marked));
        rank(of_rank, &columns, &arrows, marked, &mut line);
    }
    Some(line.written(&columns, parts.as_ref(), marks.as_ref()))
}

/// What is to be written.
#[derive(Default)]
struct Line {
    /// Names of processes and threads.
    names: String,
    /// Process of each thread. A thread's number is one more than its place, so it occurs once in the file, whatever its process, and is not 0, which some readers
    /// take for an idle processor.
    threads: Vec<u32>,
    /// What happens, thread by thread, and in each by time.
    happenings: Vec<Happening>,
}

/// Something that happens on a thread.
#[derive(Clone, Copy)]
struct Happening {
    at: u64,
    thread: usize,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// The bar of an operation begins, by row.
    Begin(usize),
    /// The bar of a part of a critical path begins, by row.
    Part(usize),
    /// The arrow of a message begins.
    Sent(usize),
    /// The arrow of a message ends.
    Received(usize),
    /// An instant is marked, by row.
    Mark(usize),
    /// The bar of a region begins, by row of the mark.
    Region(usize),
    /// The bar ends.
    End,
}

impl Line {
    /// Names a process, or one of its threads.
    fn named(&mut self, what: &str, pid: u32, tid: Option<usize>, name: &str) {
        let name = serde_json::to_string(name).unwrap_or_default();
        let tid = tid.map_or_else(String::new, |tid| format!("\"tid\":{tid},"));
        let _ = writeln!(
            self.names,
            "{{\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{pid},{tid}\"args\":{{\"name\":{name}}}}},"
        );
    }

    /// A new thread of a process, below those that it has.
    fn thread(&mut self, pid: u32, name: &str) -> usize {
        self.threads.push(pid);
        let tid = self.threads.len();
        self.named("thread_name", pid, Some(tid), name);
        let _ = writeln!(
            self.names,
            "{{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"sort_index\":{tid}}}}},"
        );
        tid - 1
    }

    fn happens(&mut self, thread: usize, at: u64, what: What) {
        self.happenings.push(Happening { at, thread, what });
    }

    /// All of it, by time: where a reader cuts instants to the same, an arrow still begins before it ends.
    fn written(
        mut self,
        columns: &Columns<'_>,
        parts: Option<&Parts<'_>>,
        marks: Option<&Marks<'_>>,
    ) -> String {
        self.happenings.sort_by_key(|h| h.at);
        let mut text = format!("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}", self.names);
        let mut sent = SortedSet::new();
        for instant in self.happenings.chunk_by(|a, b| a.at == b.at) {
            for happening in causal(instant, &mut sent) {
                self.write(happening, columns, parts, marks, &mut text);
            }
        }
        // The format has no comma behind the last event.
        text.truncate(text.trim_end_matches(",\n").len());
        text.push_str("\n]}\n");
        text
    }

    fn write(
        &self,
        h: Happening,
        columns: &Columns<'_>,
        parts: Option<&Parts<'_>>,
        marks: Option<&Marks<'_>>,
        text: &mut String,
    ) {
        let phase = match h.what {
            What::Begin(_) | What::Part(_) | What::Region(_) => "B",
            What::Mark(_) => "i",
            What::Sent(_) => "s",
            What::Received(_) => "f",
            What::End => "E",
        };
        let (pid, tid, at) = (self.threads[h.thread], h.thread + 1, micros(h.at));
        let _ = write!(text, "{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{at}");
        let _ = match h.what {
            What::Begin(i) => {
                let name = serde_json::to_string(columns.name(i)).unwrap_or_default();
                write!(text, ",\"name\":{name},\"args\":{{{}}}", columns.said(i))
            }
            What::Part(i) => {
                let (name, said) = parts.map(|p| p.said(i)).unwrap_or_default();
                write!(text, ",\"name\":\"{name}\",\"cat\":\"critical\",\"args\":{{{said}}}")
            }
            What::Mark(i) | What::Region(i) => {
                let name = marks.map(|m| m.names()[m.name(i) as usize].as_str()).unwrap_or_default();
                let name = serde_json::to_string(name).unwrap_or_default();
                let scope = if phase == "i" { ",\"s\":\"t\"" } else { "" };
                write!(text, ",\"name\":{name},\"cat\":\"marker\"{scope}")
            }
            What::Sent(id) => write!(text, ",\"id\":{id},\"name\":\"message\",\"cat\":\"message\""),
            What::Received(id) => {
                write!(text, ",\"bp\":\"e\",\"id\":{id},\"name\":\"message\",\"cat\":\"message\"")
            }
            What::End => Ok(()),
        };
        text.push_str("},\n");
    }
}

/// What happens at an instant, in an order in which arrows begin before they end; threads keep theirs, but for bars without length. A copy within a node may take no
/// time. `sent` has the messages whose arrows have begun and not ended.
fn causal(instant: &[Happening], sent: &mut SortedSet<usize>) -> Vec<Happening> {
    let mut done = Vec::with_capacity(instant.len());
    let mut left: SortedMap<usize, VecDeque<Happening>> = SortedMap::new();
    instant.iter().for_each(|h| left.entry(h.thread).or_default().push_back(*h));
    // How many bars without length others may stand before: none, unless nothing goes on.
    let mut most = 0;
    while !left.is_empty() {
        let before = done.len();
        for queue in left.values_mut() {
            while let Some(next) = ready(queue, sent, most) {
                done.extend(queue.drain(next));
                if std::mem::take(&mut most) > 0 {
                    break;
                }
            }
        }
        left.retain(|_, queue| !queue.is_empty());
        if done.len() > before {
            continue;
        }
        if most == usize::MAX {
            debug_assert!(false, "messages are sent before they are received");
            done.extend(left.values().flatten());
            break;
        }
        // Few are looked at first: at an instant of many messages all of them seldom have to be.
        most = if most == 0 { MOST_PASSED } else { usize::MAX };
    }
    done
}

/// Bars without length of a thread that another one may be put before, at first.
const MOST_PASSED: usize = 64;

/// What may go on in a queue: its front, or a bar without length behind at most so many others, if the arrows that end there have begun. Those that begin are
/// noted, those that end taken out.
fn ready(queue: &VecDeque<Happening>, sent: &mut SortedSet<usize>, most: usize) -> Option<Range<usize>> {
    let mut at = 0;
    for _ in 0..=most {
        let (length, is_whole) = bar(queue, at)?;
        let mut then = SortedSet::new();
        let arrived = queue.range(at..at + length).all(|h| match h.what {
            What::Sent(message) => then.insert(message),
            What::Received(message) => then.remove(&message) || sent.contains(&message),
            _ => true,
        });
        if arrived {
            for happening in queue.range(at..at + length) {
                match happening.what {
                    What::Sent(message) => _ = sent.insert(message),
                    What::Received(message) => _ = sent.remove(&message),
                    _ => {}
                }
            }
            return Some(at..at + length);
        }
        if !is_whole {
            return None;
        }
        at += length;
    }
    None
}

/// How many happenings from here on are a bar without length; else one, and no such bar. `None` at the end.
fn bar(queue: &VecDeque<Happening>, at: usize) -> Option<(usize, bool)> {
    let mut depth = 0;
    for (length, happening) in (1..).zip(queue.range(at.min(queue.len())..)) {
        match happening.what {
            What::Begin(_) | What::Part(_) | What::Region(_) => depth += 1,
            What::End => depth -= 1,
            _ => {}
        }
        if depth <= 0 {
            return Some((length, length > 1));
        }
    }
    (at < queue.len()).then_some((1, false))
}

/// Ends of arrows with their times, by the row of the operation that they are in.
type Arrows = SortedMap<usize, Vec<(u64, What)>>;

/// What a rank marks: rows of the table with their times.
type Marked<'a> = (&'a Marks<'a>, &'a [(usize, u64)]);

/// The ends of the arrow of each message, by the row of the operation. A message whose send or receive is not over has none.
fn arrows(transfers: &Table, columns: &Columns<'_>, order: &[usize]) -> Option<Arrows> {
    let codes = codes(transfers.text_column("job")?, columns.jobs);
    let (from, to) = (transfers.u32_column("source")?, transfers.u32_column("destination")?);
    let (sends, receives) = (transfers.u32_column("operation")?, transfers.column("receive")?);
    let (sent, arrived) = (transfers.u64_column("sent_ps")?, transfers.u64_column("arrived_ps")?);
    let Column::Maybe(receives) = receives else { return None };
    let find = |key| order.binary_search_by_key(&key, |&i| columns.key(i)).ok().map(|at| order[at]);
    let mut tips = Arrows::new();
    for (message, &job) in codes.iter().enumerate() {
        let Some(receive) = receives[message] else { continue };
        let both = (find((job, from[message], sends[message])), find((job, to[message], receive)));
        let (Some(send), Some(receive)) = both else { continue };
        // An arrow binds to the bar that is open: a message that was there before its receive began waited for it.
        let within = |row: usize, at: u64| at.clamp(columns.starts[row], columns.ends[row]);
        tips.entry(send).or_default().push((within(send, sent[message]), What::Sent(message)));
        tips.entry(receive).or_default().push((within(receive, arrived[message]), What::Received(message)));
    }
    Some(tips)
}

/// Draws the threads of a rank, whose operations are given by number.
fn rank(
    of_rank: &[usize],
    columns: &Columns<'_>,
    arrows: &Arrows,
    marked: Option<Marked<'_>>,
    line: &mut Line,
) {
    let (job, rank) = columns.rank(of_rank[0]);
    for (n, lane) in lanes(of_rank, columns).iter().enumerate() {
        let marked = marked.filter(|(_, rows)| n == 0 && !rows.is_empty());
        if lane.is_empty() && marked.is_none() {
            continue;
        }
        let name = if n == 0 { format!("rank {rank}") } else { format!("rank {rank}, requests {n}") };
        let thread = line.thread(job + 1, &name);
        for &i in lane {
            line.happens(thread, columns.starts[i], What::Begin(i));
            arrows.get(&i).into_iter().flatten().for_each(|&(at, tip)| line.happens(thread, at, tip));
            line.happens(thread, columns.ends[i], What::End);
        }
        if let Some((marks, rows)) = marked {
            let end = of_rank.iter().map(|&i| columns.ends[i]).max().unwrap_or(0);
            mark(marks, rows, end, thread, &format!("{name}, regions"), line);
        }
    }
}

/// Draws what a rank marks: instants on its first thread, regions on one of their own. Those that are open at its `end` end there.
fn mark(marks: &Marks<'_>, rows: &[(usize, u64)], end: u64, first: usize, name: &str, line: &mut Line) {
    let (mut own, mut open, mut end) = (None, 0, end);
    for &(row, time) in rows {
        end = end.max(time);
        match (marks.kind(row), own) {
            ("mark", _) => line.happens(first, time, What::Mark(row)),
            ("enter", _) => {
                let pid = line.threads[first];
                let thread = *own.get_or_insert_with(|| line.thread(pid, name));
                line.happens(thread, time, What::Region(row));
                open += 1;
            }
            (_, Some(thread)) if open > 0 => {
                line.happens(thread, time, What::End);
                open -= 1;
            }
            _ => {}
        }
    }
    for thread in std::iter::repeat_n(own, open).flatten() {
        line.happens(thread, end, What::End);
    }
}

/// Operations of a rank by thread, so that those of a thread follow each other. The first has computations, and what no other operation begins
/// beside; the others have what goes on beside it, each the first that is free.
fn lanes(of_rank: &[usize], columns: &Columns<'_>) -> Vec<Vec<usize>> {
    let mut order = of_rank.to_vec();
    order.sort_by_key(|&i| (columns.starts[i], columns.numbers[i]));
    let mut lanes = vec![Vec::new()];
    let mut main = 0;
    // Other threads: those in use, by the time at which they are free, and those that are free.
    let (mut used, mut free) = (BinaryHeap::new(), BinaryHeap::new());
    for (at, &i) in order.iter().enumerate() {
        let (start, end) = (columns.starts[i], columns.ends[i]);
        let alone = order.get(at + 1).is_none_or(|&next| columns.starts[next] >= end);
        if main <= start && (alone || columns.kinds.words()[columns.kinds.codes()[i] as usize] == "calc") {
            main = end;
            lanes[0].push(i);
            continue;
        }
        while let Some(&Reverse((until, lane))) = used.peek()
            && until <= start
        {
            used.pop();
            free.push(Reverse(lane));
        }
        let lane = free.pop().map_or(lanes.len(), |Reverse(lane)| lane);
        if lane == lanes.len() {
            lanes.push(Vec::new());
        }
        lanes[lane].push(i);
        used.push(Reverse((end, lane)));
    }
    lanes
}

/// Parts of critical paths.
struct Parts<'a> {
    jobs: &'a TextColumn,
    parts: &'a TextColumn,
    ranks: &'a [u32],
    numbers: &'a [u32],
    peers: &'a [u32],
    starts: &'a [u64],
    ends: &'a [u64],
}

impl<'a> Parts<'a> {
    fn of(table: &'a Table) -> Option<Self> {
        Some(Self {
            jobs: table.text_column("job")?,
            parts: table.text_column("part")?,
            ranks: table.u32_column("rank")?,
            numbers: table.u32_column("operation")?,
            peers: table.u32_column("peer")?,
            starts: table.u64_column("start_ps")?,
            ends: table.u64_column("end_ps")?,
        })
    }

    /// Draws them, each as a bar of its job's thread for it.
    fn draw(&self, jobs: &[String], line: &mut Line) {
        let mut threads: SortedMap<usize, usize> = SortedMap::new();
        for (i, job) in self.jobs.iter().enumerate() {
            let Some(at) = jobs.iter().position(|j| j == job) else { continue };
            let thread = *threads.entry(at).or_insert_with(|| line.thread(at as u32 + 1, "critical path"));
            line.happens(thread, self.starts[i], What::Part(i));
            line.happens(thread, self.ends[i], What::End);
        }
    }

    /// What a part is called, and what is said of it, as members of an object.
    fn said(&self, i: usize) -> (String, String) {
        let (rank, number, peer) = (self.ranks[i], self.numbers[i], self.peers[i]);
        let part = &self.parts.words()[self.parts.codes()[i] as usize];
        let to = if part == "transfer" { format!(" to {peer}") } else { String::new() };
        (format!("{part}, rank {rank}{to}"), format!("\"rank\":{rank},\"operation\":{number}"))
    }
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
    calls: Option<&'a TextColumn>,
    peers: Option<&'a [Option<u32>]>,
    tags: Option<&'a [Option<u32>]>,
}

impl<'a> Columns<'a> {
    fn of(table: &'a Table) -> Option<Self> {
        let maybe = |name| match table.column(name) {
            Some(Column::Maybe(column)) => Some(column.as_slice()),
            _ => None,
        };
        Some(Self {
            jobs: table.text_column("job")?,
            ranks: table.u32_column("rank")?,
            numbers: table.u32_column("operation")?,
            kinds: table.text_column("kind")?,
            starts: table.u64_column("start_ps")?,
            ends: table.u64_column("end_ps")?,
            bytes: table.u64_column("bytes")?,
            calls: table.text_column("call"),
            peers: maybe("peer"),
            tags: maybe("tag"),
        })
    }

    /// Job and rank of a row.
    fn rank(&self, i: usize) -> (u32, u32) {
        (self.jobs.codes()[i], self.ranks[i])
    }

    /// Job, rank and number of a row.
    fn key(&self, i: usize) -> (u32, u32, u32) {
        (self.jobs.codes()[i], self.ranks[i], self.numbers[i])
    }

    /// What a bar is called: the call of MPI, if there is one.
    fn name(&self, i: usize) -> &str {
        let word = |column: &'a TextColumn| column.words()[column.codes()[i] as usize].as_str();
        self.calls.map(word).filter(|call| !call.is_empty()).unwrap_or_else(|| word(self.kinds))
    }

    /// What is said of a bar, as members of an object.
    fn said(&self, i: usize) -> String {
        let kind = &self.kinds.words()[self.kinds.codes()[i] as usize];
        let mut said = format!("\"operation\":{},\"kind\":\"{kind}\"", self.numbers[i]);
        if matches!(kind.as_str(), "send" | "recv") {
            let _ = write!(said, ",\"bytes\":{}", self.bytes[i]);
        }
        for (name, column) in [("peer", self.peers), ("tag", self.tags)] {
            if let Some(value) = column.and_then(|c| c[i]) {
                let _ = write!(said, ",\"{name}\":{value}");
            }
        }
        said
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
mod tests;
