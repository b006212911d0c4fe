//! The simulated trace of rank programs as an OTF2 archive, in ticks of a picosecond (HAEC-SIM: its output).
//!
//! Made from the tables `operations` (what each rank computed and when), `transfers` (when each was sent and there, over how many links) and `order`. A rank is in the region
//! `compute` while it computes, else in `MPI`; sends stand where messages left, and receives where the program had them, with their transfer time and hops as
//! attributes. What programs mark are regions around these, instants regions without duration and markers. What did not block has requests (`messages.rs`).

use crate::{
    acts::{Act, alone},
    marks::Marks,
    messages::{FUNCTION, FUNCTIONS, Record, records},
    table::{Column, Table, TextColumn},
};
use base::{
    sorted::{SortedMap, SortedSet},
    visible,
};
use otf2::{
    Attribute, Comm, Definitions, EventKind, Group, GroupType, Location, LocationGroup, LocationWriter,
    Marker, Region, Scope, SystemTreeNode, Writer, paradigm,
};
use std::path::Path;

pub use crate::messages::{BUFFERED, STANDARD, SYNCHRONOUS};

/// An empty table of messages: when each was sent and there, over how many links if `hops` are known, and the number of the receive that took it at its
/// destination, if one did; by job, source and number of the send.
#[must_use]
pub fn transfers(hops: bool) -> Table {
    let (u32s, u64s) = (|| Column::U32(Vec::new()), || Column::U64(Vec::new()));
    let mut table = Table::new("transfers")
        .with("job", Column::Text(TextColumn::default()))
        .with("source", u32s())
        .with("destination", u32s())
        .with("operation", u32s())
        .with("sent_ps", u64s())
        .with("arrived_ps", u64s())
        .with("transfer_ps", u64s());
    if hops {
        table = table.with("hops", u32s());
    }
    table.with("bytes", u64s()).with("receive", Column::maybe())
}

/// An empty table of the order in which ranks began their operations and waited for their ends (`ends` is 1), with the times at which that stands in a trace, and
/// how sends complete ([`STANDARD`], [`SYNCHRONOUS`] or [`BUFFERED`]). It is made of the program, and no file: an archive is made of it.
#[must_use]
pub fn order() -> Table {
    Table::new("order")
        .with("job", Column::text())
        .with("rank", Column::u32s())
        .with("operation", Column::u32s())
        .with("ends", Column::u32s())
        .with("time_ps", Column::u64s())
        .with("mode", Column::u32s())
        .internal()
}

const COMPUTE: u32 = 0;
const MPI: u32 = 1;
/// The first region that a program marks.
const FIRST: u32 = FUNCTION + FUNCTIONS.len() as u32;

/// Writes the archive into a directory; nothing if these are not the tables it is made of. False then. Without `order` it has no messages.
///
/// # Errors
/// If it cannot be written.
pub fn write(
    directory: &Path,
    operations: &Table,
    transfers: &Table,
    order: Option<&Table>,
    markers: Option<&Table>,
) -> otf2::Result<bool> {
    let marks = markers.and_then(|m| Marks::of(m, operations));
    let (all, jobs) = (alone(operations, marks.as_ref()), operations.text_column("job"));
    let (Some(all), Some(jobs)) = (all, jobs) else { return Ok(false) };
    let said = match order.map(|order| records(order, transfers, jobs)) {
        Some(None) => return Ok(false),
        Some(Some(said)) => said,
        None => SortedMap::new(),
    };
    let acted = all.values().filter_map(|list| list.last()).map(|act| act.0);
    let last = said.values().filter_map(|list| list.last()).map(|record| record.time);
    let end = acted.chain(last).max().unwrap_or(0);
    let mut d = definitions();
    let functions: SortedSet<u32> = said.values().flatten().filter_map(|record| record.function).collect();
    for region in functions {
        let name = d.string(FUNCTIONS[(region - FUNCTION) as usize]);
        d.regions.insert(region, Region { name, paradigm: paradigm::MPI, role: 1 });
    }
    for (region, name) in (FIRST..).zip(marks.iter().flat_map(Marks::names)) {
        let name = d.string(&visible::name(name));
        d.regions.insert(region, Region { name, paradigm: paradigm::USER, role: 1 });
    }
    let writer = Writer::create(directory, "netloom")?;
    let noted = marks.as_ref().map_or_else(Vec::new, |marks| markers_of(marks, &all));
    if !noted.is_empty() {
        writer.markers(&noted)?;
    }
    let mut members: SortedMap<u32, Vec<u64>> = SortedMap::new();
    for (number, (&(job, rank), list)) in (0..).zip(&all) {
        let mut location = writer.location(number)?;
        let records = said.get(&(job, rank)).map_or(&[][..], Vec::as_slice);
        events(&mut location, list, records, marks.as_ref(), end)?;
        let events = location.finish()?;
        let name = d.string(&format!("{} rank {rank}", visible::name(&jobs.words()[job as usize])));
        d.location_groups.insert(number as u32, LocationGroup { name, kind: 1, parent: Some(0) });
        d.locations.insert(number, Location { name, kind: 1, events, group: number as u32 });
        members.entry(job).or_default().push(number);
    }
    let world = members.values().flatten().copied().collect();
    d.groups
        .insert(0, Group { name: 0, kind: GroupType::Locations, paradigm: paradigm::MPI, members: world });
    for (&job, ranks) in &members {
        let name = d.string(&visible::name(&jobs.words()[job as usize]));
        let ranks = ranks.clone();
        d.groups
            .insert(job + 1, Group { name, kind: GroupType::Ranks, paradigm: paradigm::MPI, members: ranks });
        d.comms.insert(job, Comm { name, group: job + 1 });
    }
    d.clock.length = end;
    writer.finish(&d)?;
    Ok(true)
}

/// Writes the events of a rank: what it computes and marks, and between these its messages.
fn events(
    location: &mut LocationWriter,
    list: &[(u64, Act)],
    records: &[Record],
    marks: Option<&Marks<'_>>,
    end: u64,
) -> otf2::Result<()> {
    let (mut computing, mut entered) = (0u32, Vec::new());
    location.write(0, &EventKind::Enter { region: MPI }, &[])?;
    let (mut acts, mut records) = (list.iter().peekable(), records.iter().peekable());
    loop {
        // What ends comes before what begins at the same time.
        let act = acts.peek().map(|&&(time, act)| (time, place(act)));
        let record = records.peek().map(|record| (record.time, if record.ends { 1 } else { 3 }));
        let first = match (act, record) {
            (None, None) => break,
            (Some(act), Some(record)) => act < record,
            (act, _) => act.is_some(),
        };
        if !first {
            if let Some(Record { time, kind, transfer, function, .. }) = records.next() {
                let state = if computing > 0 { COMPUTE } else { MPI };
                let mut put = |kind| location.write(*time, &kind, &[]);
                if let Some(region) = *function {
                    put(EventKind::Leave { region: state })?;
                    put(EventKind::Enter { region })?;
                }
                let (time_of, hops) = transfer.unwrap_or_default();
                let known = [(0, time_of), (1, hops.unwrap_or(0))];
                let count = usize::from(transfer.is_some()) + usize::from(hops.is_some());
                location.write(*time, kind, &known[..count])?;
                let mut put = |kind| location.write(*time, &kind, &[]);
                if let Some(region) = *function {
                    put(EventKind::Leave { region })?;
                    put(EventKind::Enter { region: state })?;
                }
            }
            continue;
        }
        let Some((time, act)) = acts.next() else { break };
        let mut put = |kind| location.write(*time, &kind, &[]);
        match *act {
            Act::Compute => {
                computing += 1;
                if computing == 1 {
                    put(EventKind::Leave { region: MPI })?;
                    put(EventKind::Enter { region: COMPUTE })?;
                }
            }
            Act::EndCompute => {
                computing = computing.saturating_sub(1);
                if computing == 0 {
                    put(EventKind::Leave { region: COMPUTE })?;
                    put(EventKind::Enter { region: MPI })?;
                }
            }
            Act::Mark { row } => {
                let state = if computing > 0 { COMPUTE } else { MPI };
                let kinds = marks.map_or_else(Vec::new, |m| marked(m, row, &mut entered));
                put(EventKind::Leave { region: state })?;
                kinds.into_iter().try_for_each(&mut put)?;
                put(EventKind::Enter { region: state })?;
            }
            // These are in the records.
            Act::Send { .. } | Act::Receive { .. } => {}
        }
    }
    for region in std::iter::once(MPI).chain(entered.into_iter().rev()) {
        location.write(end, &EventKind::Leave { region }, &[])?;
    }
    Ok(())
}

/// Where an act stands among all that is done at one time; ends of messages are at 1, and what begins at 3.
fn place(act: Act) -> u8 {
    match act {
        Act::EndCompute => 0,
        Act::Receive { .. } => 1,
        Act::Mark { .. } => 2,
        Act::Send { .. } => 3,
        Act::Compute => 4,
    }
}

/// The instants that programs mark, each at the location of its rank.
fn markers_of<T>(marks: &Marks<'_>, ranks: &SortedMap<(u32, u32), T>) -> Vec<Marker> {
    let locations: SortedMap<(u32, u32), u64> = ranks.keys().copied().zip(0..).collect();
    let instants = marks.places().enumerate().filter(|(row, _)| marks.kind(*row) == "mark");
    let marker = |(row, (place, time)): (usize, ((u32, u32), u64))| {
        let text = visible::name(&marks.names()[marks.name(row) as usize]).into_owned();
        let scope = Scope::Location(*locations.get(&place)?);
        let (group, category) = ("netloom".to_owned(), "mark".to_owned());
        Some(Marker { time, duration: 0, group, category, severity: 0, scope, text })
    };
    instants.filter_map(marker).collect()
}

/// What stands for a mark, between two events of the region that the rank is in: an instant is a region without duration.
fn marked(marks: &Marks<'_>, row: usize, entered: &mut Vec<u32>) -> Vec<EventKind> {
    let region = FIRST + marks.name(row);
    match marks.kind(row) {
        "enter" => {
            entered.push(region);
            vec![EventKind::Enter { region }]
        }
        "leave" => entered.pop().map(|region| EventKind::Leave { region }).into_iter().collect(),
        _ => vec![EventKind::Enter { region }, EventKind::Leave { region }],
    }
}

/// Those that do not depend on the run.
fn definitions() -> Definitions {
    let mut d = Definitions::default();
    d.clock.resolution = 1_000_000_000_000;
    d.string("");
    let (machine, compute, mpi) = (d.string("simulated machine"), d.string("compute"), d.string("MPI"));
    let (transfer, hops) = (d.string("transfer_ps"), d.string("hops"));
    d.nodes.insert(0, SystemTreeNode { name: machine, class: machine, parent: None });
    d.regions.insert(COMPUTE, Region { name: compute, paradigm: paradigm::USER, role: 1 });
    d.regions.insert(MPI, Region { name: mpi, paradigm: paradigm::MPI, role: 1 });
    d.attributes.insert(0, Attribute { name: transfer, description: transfer, kind: 4 });
    d.attributes.insert(1, Attribute { name: hops, description: hops, kind: 4 });
    d
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{table::Cell, timeline};
    use otf2::Archive;

    /// Rank 0 sends with its operation 1 and rank 1 receives with its operation 0; both block, until these times.
    fn blocking(job: &str, sent: u64, there: u64) -> Table {
        let mut order = order();
        for (rank, operation, ends, time) in
            [(0, 1, 0, sent), (0, 1, 1, sent), (1, 0, 0, 70), (1, 0, 1, there)]
        {
            let cells = [Cell::Text(job), Cell::U32(rank), Cell::U32(operation), Cell::U32(ends)];
            order.push(&[&cells[..], &[Cell::U64(time), Cell::U32(STANDARD)]].concat());
        }
        order
    }

    #[test]
    fn ranks_compute_and_messages_stand_where_they_left_and_arrived() {
        let mut done = timeline::operations();
        for (rank, start, end) in [(0, 0, 100), (1, 50, 70)] {
            let cells = [Cell::Text("job"), Cell::U32(rank), Cell::U32(0), Cell::Text("calc")];
            done.push(&[&cells[..], &[Cell::U64(start), Cell::U64(end), Cell::U64(0)]].concat());
        }
        let mut sent = transfers(true);
        let cells = [Cell::Text("job"), Cell::U32(0), Cell::U32(1), Cell::U32(1)];
        let times = [Cell::U64(100), Cell::U64(160), Cell::U64(60), Cell::U32(3), Cell::U64(8), Cell::U32(0)];
        sent.push(&[&cells[..], &times].concat());
        let taken = blocking("job", 100, 165);
        let directory = tempfile::tempdir().unwrap();
        assert!(write(directory.path(), &done, &sent, Some(&taken), None).unwrap());
        assert!(!write(directory.path(), &sent, &done, Some(&taken), None).unwrap());
        let archive = Archive::open(&directory.path().join("traces.otf2")).unwrap();
        let events =
            |n| archive.events(n).unwrap().map(|e| e.map(|e| (e.time, e.kind)).unwrap()).collect::<Vec<_>>();
        assert!(events(0).contains(&(100, EventKind::Send { receiver: 1, comm: 0, tag: 0, bytes: 8 })));
        assert!(events(1).contains(&(165, EventKind::Recv { sender: 0, comm: 0, tag: 0, bytes: 8 })));
        let shares = otf2::shares(&archive).unwrap();
        assert_eq!((shares.total, shares.total - shares.mpi), (330, 120));
    }

    /// Instants that a program marks lie beside the events, too, at the location of their rank; regions do not.
    #[test]
    fn instants_are_markers() {
        let mut done = timeline::operations();
        for rank in 0..2 {
            let cells = [Cell::Text("job"), Cell::U32(rank), Cell::U32(0), Cell::Text("calc")];
            done.push(&[&cells[..], &[Cell::U64(0), Cell::U64(100), Cell::U64(0)]].concat());
        }
        let mut marks = crate::marks::table();
        for (rank, kind, name, time) in
            [(1, "mark", "half", 50), (0, "enter", "solve", 10), (0, "leave", "solve", 90)]
        {
            let cells =
                [Cell::Text("job"), Cell::U32(rank), Cell::Text(kind), Cell::Text(name), Cell::U64(time)];
            marks.push(&cells);
        }
        let directory = tempfile::tempdir().unwrap();
        assert!(write(directory.path(), &done, &transfers(false), None, Some(&marks)).unwrap());
        let archive = Archive::open(&directory.path().join("traces.otf2")).unwrap();
        let [marker] = &archive.markers().unwrap()[..] else { panic!("one marker") };
        assert_eq!((marker.time, marker.scope, marker.text.as_str()), (50, Scope::Location(1), "half"));
    }

    /// Tables number their words by themselves: a job that sends nothing must not lend its number to one that does.
    #[test]
    fn messages_belong_to_the_job_that_sent_them() {
        let mut done = timeline::operations();
        for (job, rank) in [("silent", 0), ("sends", 0), ("sends", 1)] {
            let cells = [Cell::Text(job), Cell::U32(rank), Cell::U32(0), Cell::Text("calc")];
            done.push(&[&cells[..], &[Cell::U64(0), Cell::U64(10_000), Cell::U64(0)]].concat());
        }
        let mut sent = transfers(true);
        let cells = [Cell::Text("sends"), Cell::U32(0), Cell::U32(1), Cell::U32(1)];
        let times = [
            Cell::U64(10_000),
            Cell::U64(16_000),
            Cell::U64(6_000),
            Cell::U32(3),
            Cell::U64(8),
            Cell::U32(0),
        ];
        sent.push(&[&cells[..], &times].concat());
        let taken = blocking("sends", 10_000, 16_000);
        let directory = tempfile::tempdir().unwrap();
        assert!(write(directory.path(), &done, &sent, Some(&taken), None).unwrap());
        let archive = Archive::open(&directory.path().join("traces.otf2")).unwrap();
        let events = |n| archive.events(n).unwrap().map(|e| e.unwrap().kind).collect::<Vec<_>>();
        let sends = |n| events(n).iter().filter(|kind| matches!(kind, EventKind::Send { .. })).count();
        assert_eq!([0, 1, 2].map(sends), [0, 1, 0]);
        let paraver = crate::paraver_out::files(&done, &sent, None).swap_remove(0).1;
        assert!(
            paraver.contains(":2:1(1:1):2(1:1,1:1)\n")
                && paraver.ends_with("3:2:2:1:1:10:10:3:2:2:1:16:16:8:0\n"),
            "{paraver}"
        );
    }
}
