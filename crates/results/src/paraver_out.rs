//! The simulated trace of rank programs as a Paraver trace: `.prv` with states and messages, `.pcf` with their names, `.row` with those of ranks.
//!
//! Made from the tables that [`crate::otf2_out`] is made from. An application is a job, a task a rank with one thread on a processor of its own. Paraver
//! counts nanoseconds: each instant is rounded once, so states meet without a gap, and each may be off by 1 ns. Hops, transfer times and tags are
//! not in it. Source: the trace format of Paraver, version 3.1 (Barcelona Supercomputing Center).

use crate::{
    acts::{Act, Acts, acts},
    marks::Marks,
    table::{Table, codes},
};
use base::{sorted::SortedMap, visible};
use std::fmt::Write;

/// A line by time, kind, processor and order among those.
type Record = (u64, u32, usize, usize, String);

/// Type of events: a mark.
const MARKER: u32 = 1000;
/// Type of events: the user's function, as Extrae numbers it.
const REGION: u32 = 60_000_019;

/// State of a rank that computes, by Paraver's numbers: running.
const RUNNING: u32 = 1;
/// State of a rank that is in MPI: waiting for a message.
const WAITING: u32 = 3;

/// Names and colours of states, and that times are nanoseconds.
const NAMES: &str = "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\nLOOK_BACK           100\nSPEED               1\n\
    FLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\n\nDEFAULT_SEMANTIC\n\nTHREAD_FUNC          State As Is\n\n\n\
    STATES\n0    Idle\n1    Running\n3    Waiting a message\n\n\nSTATES_COLOR\n0    {117,195,255}\n1    {0,0,255}\n3    {255,0,0}\n";

/// The three files of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Paraver {
    /// Records in the order of time (`.prv`).
    trace: String,
    /// Names of states (`.pcf`).
    names: String,
    /// Names of ranks (`.row`).
    rows: String,
}

/// The files of a trace with their names; none if these are not the tables it is made of.
#[must_use]
pub fn files(operations: &Table, transfers: &Table, markers: Option<&Table>) -> Vec<(&'static str, String)> {
    let made = trace(operations, transfers, markers);
    made.map_or_else(Vec::new, |p| {
        vec![("paraver.prv", p.trace), ("paraver.pcf", p.names), ("paraver.row", p.rows)]
    })
}

/// A rank as Paraver counts: processor, application, task, all from 1, and its only thread.
#[derive(Clone, Copy)]
struct Place {
    processor: usize,
    application: usize,
    task: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}:1", self.processor, self.application, self.task)
    }
}

/// Picoseconds to the nearest nanosecond.
const fn nanoseconds(ps: u64) -> u64 {
    ps / 1000 + (ps % 1000 >= 500) as u64
}

/// Ranks of each job, by its code; places of them all.
fn places(all: &Acts) -> (SortedMap<u32, u32>, SortedMap<(u32, u32), Place>) {
    let mut ranks: SortedMap<u32, u32> = SortedMap::new();
    for &(job, rank) in all.keys() {
        let most = ranks.entry(job).or_default();
        *most = (*most).max(rank + 1);
    }
    let mut places = SortedMap::new();
    for (application, (&job, &count)) in (1..).zip(&ranks) {
        for rank in 0..count {
            let processor = places.len() + 1;
            places.insert((job, rank), Place { processor, application, task: rank + 1 });
        }
    }
    (ranks, places)
}

/// The trace; none if these are not the tables it is made of.
fn trace(operations: &Table, transfers: &Table, markers: Option<&Table>) -> Option<Paraver> {
    let marks = markers.and_then(|m| Marks::of(m, operations));
    let (all, jobs) = (acts(operations, transfers, marks.as_ref())?, operations.text_column("job")?);
    let (ranks, places) = places(&all);
    let end =
        all.values().filter_map(|list| list.last()).map(|&(time, _)| nanoseconds(time)).max().unwrap_or(0);
    // By time; at one time states before what is marked, and that before messages; then by rank.
    let mut records: Vec<Record> = Vec::new();
    for (place, list) in
        places.iter().map(|(key, place)| (place, all.get(key).map_or(&[][..], Vec::as_slice)))
    {
        for (from, to, state) in states(list, end) {
            records.push((from, 1, place.processor, 0, format!("1:{place}:{from}:{to}:{state}\n")));
        }
        if let Some(marks) = &marks {
            events(list, place, marks, &mut records);
        }
    }
    messages(transfers, &codes(transfers.text_column("job")?, jobs), &places, &mut records)?;
    records.sort();
    let mut text = header(end, &ranks);
    text.extend(records.into_iter().map(|(.., line)| line));
    let mut rows = format!("LEVEL CPU SIZE {}\n", places.len());
    for place in places.values() {
        let _ = writeln!(rows, "{}", place.processor);
    }
    let _ = writeln!(rows, "\nLEVEL NODE SIZE 1\nmachine\n\nLEVEL THREAD SIZE {}", places.len());
    for (job, rank) in places.keys() {
        let _ = writeln!(rows, "{} rank {rank}", visible::name(&jobs.words()[*job as usize]));
    }
    Some(Paraver {
        trace: text,
        names: NAMES.to_owned() + &marks.map_or_else(String::new, |m| types(&m)),
        rows,
    })
}

/// Date (none: two runs give the same bytes), length, one node with a processor for each rank, and the ranks of each application.
fn header(end: u64, ranks: &SortedMap<u32, u32>) -> String {
    let processors: u32 = ranks.values().sum();
    let mut text = format!("#Paraver (01/01/1970 at 00:00):{end}_ns:1({processors}):{}", ranks.len());
    for &count in ranks.values() {
        let tasks = vec!["1:1"; count as usize].join(",");
        let _ = write!(text, ":{count}({tasks})");
    }
    text + "\n"
}

/// What a rank does from 0 to the end: its states without a gap, in nanoseconds.
fn states(list: &[(u64, Act)], end: u64) -> Vec<(u64, u64, u32)> {
    let mut states: Vec<(u64, u64, u32)> = Vec::new();
    let (mut since, mut computing) = (0, 0u32);
    let mut close = |until: u64, since: &mut u64, state: u32| {
        debug_assert!(*since <= until, "acts are sorted");
        if *since < until {
            states.push((*since, until, state));
        }
        *since = until;
    };
    for &(time, act) in list {
        match act {
            Act::Compute => {
                if computing == 0 {
                    close(nanoseconds(time), &mut since, WAITING);
                }
                computing += 1;
            }
            Act::EndCompute => {
                computing = computing.saturating_sub(1);
                if computing == 0 {
                    close(nanoseconds(time), &mut since, RUNNING);
                }
            }
            Act::Send { .. } | Act::Receive { .. } | Act::Mark { .. } => {}
        }
    }
    close(end, &mut since, if computing > 0 { RUNNING } else { WAITING });
    states
}

/// Adds a record for each mark of a rank. The value of a region's end is that of the region around it, or 0.
fn events(list: &[(u64, Act)], place: &Place, marks: &Marks<'_>, records: &mut Vec<Record>) {
    let mut entered = Vec::new();
    for (order, &(time, act)) in list.iter().enumerate() {
        let Act::Mark { row } = act else { continue };
        let value = marks.name(row) + 1;
        let (kind, value) = match marks.kind(row) {
            "enter" => {
                entered.push(value);
                (REGION, value)
            }
            "leave" => {
                entered.pop();
                (REGION, entered.last().copied().unwrap_or(0))
            }
            _ => (MARKER, value),
        };
        let time = nanoseconds(time);
        records.push((time, 2, place.processor, order, format!("2:{place}:{time}:{kind}:{value}\n")));
    }
}

/// Names of what is marked.
fn types(marks: &Marks<'_>) -> String {
    let mut text = String::new();
    let kinds = [("mark", MARKER, "Marker", ""), ("enter", REGION, "User function", "0      End\n")];
    for (_, kind, name, none) in kinds.into_iter().filter(|k| marks.has(k.0)) {
        let _ = write!(text, "\n\nEVENT_TYPE\n0    {kind}    {name}\nVALUES\n{none}");
        for (value, name) in (1..).zip(marks.names()) {
            let _ = writeln!(text, "{value}      {}", visible::name(name));
        }
    }
    text
}

/// Adds a record for each message (of these jobs, by code), with the time at which it left and that at which it was there.
fn messages(
    transfers: &Table,
    jobs: &[u32],
    places: &SortedMap<(u32, u32), Place>,
    records: &mut Vec<Record>,
) -> Option<()> {
    let (from, to) = (transfers.u32_column("source")?, transfers.u32_column("destination")?);
    let (sent, arrived) = (transfers.u64_column("sent_ps")?, transfers.u64_column("arrived_ps")?);
    let sizes = transfers.u64_column("bytes")?;
    for (i, &job) in jobs.iter().enumerate() {
        let (source, destination) = (places.get(&(job, from[i]))?, places.get(&(job, to[i]))?);
        let (left, there) = (nanoseconds(sent[i]), nanoseconds(arrived[i]));
        let line = format!("3:{source}:{left}:{left}:{destination}:{there}:{there}:{}:0\n", sizes[i]);
        records.push((left, 3, source.processor, 0, line));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{otf2_out::transfers, table::Cell, timeline};

    /// Two ranks: computations, a message, and states that sum to the tables.
    fn tables() -> (Table, Table) {
        let mut done = timeline::operations();
        for (rank, start, end) in [(0, 0, 100_400), (1, 50_000, 70_600)] {
            let cells = [Cell::Text("a\u{1b}job"), Cell::U32(rank), Cell::U32(0), Cell::Text("calc")];
            done.push(&[&cells[..], &[Cell::U64(start), Cell::U64(end), Cell::U64(0)]].concat());
        }
        let mut sent = transfers(true);
        let cells = [Cell::Text("a\u{1b}job"), Cell::U32(0), Cell::U32(1), Cell::U32(1)];
        let times = [
            Cell::U64(100_400),
            Cell::U64(160_500),
            Cell::U64(60_100),
            Cell::U32(3),
            Cell::U64(8),
            Cell::U32(0),
        ];
        sent.push(&[&cells[..], &times].concat());
        (done, sent)
    }

    #[test]
    fn a_small_trace_is_written_as_paraver_reads_it() {
        let (done, sent) = tables();
        let made = trace(&done, &sent, None).unwrap();
        let expected = "#Paraver (01/01/1970 at 00:00):161_ns:1(2):1:2(1:1,1:1)\n\
            1:1:1:1:1:0:100:1\n1:2:1:2:1:0:50:3\n1:2:1:2:1:50:71:1\n1:2:1:2:1:71:161:3\n1:1:1:1:1:100:161:3\n\
            3:1:1:1:1:100:100:2:1:2:1:161:161:8:0\n";
        assert_eq!(made.trace, expected);
        let rows = "LEVEL CPU SIZE 2\n1\n2\n\nLEVEL NODE SIZE 1\nmachine\n\nLEVEL THREAD SIZE 2\na\\u001bjob rank 0\na\\u001bjob rank 1\n";
        assert_eq!(made.rows, rows);
        assert!(trace(&sent, &done, None).is_none());
    }

    /// States of a rank meet from 0 to the end, and running ones sum to what it computed, but for roundings.
    #[test]
    fn states_of_ranks_sum_to_the_tables() {
        let mut random = base::rng::Stream::new(9, base::rng::Purpose::Test, 0);
        for _ in 0..200 {
            let (mut time, mut computed, mut list) = (0, 0, Vec::new());
            for _ in 0..random.below(20) {
                let start = time + random.below(5_000);
                time = start + 1 + random.below(9_000);
                computed += time - start;
                list.extend([(start, Act::Compute), (time, Act::EndCompute)]);
            }
            let end = nanoseconds(time) + random.below(5);
            let states = states(&list, end);
            let met = states.windows(2).all(|pair| pair[0].1 == pair[1].0);
            assert!(met && states.iter().all(|s| s.0 < s.1), "{states:?}");
            assert_eq!(states.iter().map(|s| s.1 - s.0).sum::<u64>(), end);
            let running: u64 = states.iter().filter(|s| s.2 == RUNNING).map(|s| s.1 - s.0).sum();
            assert!(
                (running * 1000).abs_diff(computed) <= list.len() as u64 * 500,
                "{running} beside {computed}"
            );
        }
    }
}
