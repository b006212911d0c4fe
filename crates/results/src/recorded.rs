//! A recorded trace as tables of what each rank computed and when, and of its messages: what the time lines of other programs are made of.
//!
//! Made from an OTF2 archive. A rank computes while it is in no function of MPI. A message is found at both ends by its order: messages of two
//! ranks with one tag on one communicator arrive in the order in which they left, as MPI demands. Those of collectives are not in a trace.

use crate::{
    otf2_out::transfers,
    table::{Cell, Table},
    timeline,
};
use base::sorted::SortedMap;
use otf2::{Archive, EventKind, paradigm};
use std::{collections::VecDeque, path::Path};

/// What was found of a trace.
pub struct Found {
    /// A table `operations` with the computations of each rank.
    pub operations: Table,
    /// A table `transfers` with the messages that were found at both ends.
    pub transfers: Table,
    /// Messages of which one end is missing.
    pub unmatched: u64,
}

/// Sender, receiver, communicator and tag of messages.
type Key = (u32, u32, u32, u32);

/// Times and sizes of the messages of a key.
type Ends = SortedMap<Key, VecDeque<(u64, u64)>>;

/// Reads an archive by its anchor file; `job` is what its ranks are called.
///
/// # Errors
/// If it is missing or damaged.
pub fn tables(anchor: &Path, job: &str) -> otf2::Result<Found> {
    let archive = Archive::open(anchor)?;
    let d = &archive.definitions;
    let (mut operations, mut sent, mut received) = (timeline::operations(), Ends::new(), Ends::new());
    let ranks = d.ranks().to_vec();
    // The rank of the job of a rank of a communicator.
    let members =
        |comm: u32| d.comms.get(&comm).and_then(|comm| d.groups.get(&comm.group)).map(|group| &group.members);
    let of =
        |comm: u32, rank: u32| members(comm).and_then(|m| m.get(rank as usize)).map_or(rank, |&m| m as u32);
    let is_mpi = |region: &u32| d.regions.get(region).is_some_and(|r| r.paradigm == paradigm::MPI);
    for (rank, &location) in (0..).zip(&ranks) {
        let (mut depth, mut since, mut number) = (0u32, 0, 0u32);
        // Receives that are posted need no record: the one that ends them says all.
        for event in archive.events(location)? {
            let event = event?;
            let time = d.clock.picoseconds(event.time);
            match event.kind {
                EventKind::Enter { region } if is_mpi(&region) => {
                    if depth == 0 && time > since {
                        let cells = [Cell::Text(job), Cell::U32(rank), Cell::U32(number), Cell::Text("calc")];
                        let times = [Cell::U64(since), Cell::U64(time), Cell::U64(0)];
                        operations.push(&[&cells[..], &times].concat());
                        number += 1;
                    }
                    depth += 1;
                }
                EventKind::Leave { region } if is_mpi(&region) => {
                    depth = depth.saturating_sub(1);
                    since = time;
                }
                EventKind::Send { receiver, comm, tag, bytes }
                | EventKind::Isend { receiver, comm, tag, bytes, .. } => {
                    let key = (rank, of(comm, receiver), comm, tag);
                    sent.entry(key).or_default().push_back((time, bytes));
                }
                EventKind::Recv { sender, comm, tag, bytes }
                | EventKind::Irecv { sender, comm, tag, bytes, .. } => {
                    let key = (of(comm, sender), rank, comm, tag);
                    received.entry(key).or_default().push_back((time, bytes));
                }
                _ => {}
            }
        }
        if number == 0 {
            // A rank that computes nothing is a rank.
            let cells = [Cell::Text(job), Cell::U32(rank), Cell::U32(0), Cell::Text("join")];
            operations.push(&[&cells[..], &[Cell::U64(since), Cell::U64(since), Cell::U64(0)]].concat());
        }
    }
    let (mut found, mut unmatched) = (transfers(false), 0);
    for (key, list) in &sent {
        let none = VecDeque::new();
        let there = received.get(key).unwrap_or(&none);
        for (n, (&(left, bytes), arrived)) in (0..).zip(list.iter().zip(there)) {
            let cells = [Cell::Text(job), Cell::U32(key.0), Cell::U32(key.1), Cell::U32(n)];
            // Clocks of two machines may differ by more than a message takes.
            let arrived = arrived.0.max(left);
            let times = [
                Cell::U64(left),
                Cell::U64(arrived),
                Cell::U64(arrived - left),
                Cell::U64(bytes),
                Cell::Missing,
            ];
            found.push(&[&cells[..], &times].concat());
        }
        unmatched += list.len().abs_diff(there.len()) as u64;
    }
    let alone = received.iter().filter(|(key, _)| !sent.contains_key(*key));
    unmatched += alone.map(|(_, list)| list.len() as u64).sum::<u64>();
    Ok(Found { operations, transfers: found, unmatched })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paraver_out;
    use otf2::{Comm, Definitions, Group, GroupType, Location, LocationGroup, Region, Writer};

    /// Two ranks, counted the other way round in a communicator of their own, and a message without its end.
    #[test]
    fn computations_and_messages_stand_where_they_were_recorded() {
        use EventKind::{Enter, Irecv, Isend, Leave, Send};
        let directory = tempfile::tempdir().unwrap();
        let writer = Writer::create(directory.path(), "test").unwrap();
        let mut d = Definitions::default();
        d.clock.offset = 1_000;
        let (empty, mpi) = (d.string(""), d.string("MPI_Any"));
        d.regions.insert(0, Region { name: mpi, paradigm: paradigm::MPI, role: 1 });
        let (enter, leave) = (Enter { region: 0 }, Leave { region: 0 });
        let zero = [
            (1_000, enter),
            (1_000, Isend { receiver: 0, comm: 1, tag: 3, bytes: 8, request: 0 }),
            (1_010, leave),
            (1_060, enter),
            (1_061, Send { receiver: 1, comm: 0, tag: 3, bytes: 9 }),
            (1_070, leave),
        ];
        let one = [
            (1_020, enter),
            (1_090, Irecv { sender: 1, comm: 1, tag: 3, bytes: 8, request: 5 }),
            (1_100, leave),
        ];
        for (number, events) in [(0, &zero[..]), (1, &one[..])] {
            let mut location = writer.location(number).unwrap();
            events.iter().for_each(|(time, kind)| location.write(*time, kind, &[]).unwrap());
            let events = location.finish().unwrap();
            d.location_groups.insert(number as u32, LocationGroup { name: empty, kind: 1, parent: None });
            d.locations.insert(number, Location { name: empty, kind: 1, events, group: number as u32 });
        }
        let kinds = [
            (GroupType::Locations, vec![0, 1]),
            (GroupType::Ranks, vec![0, 1]),
            (GroupType::Ranks, vec![1, 0]),
        ];
        for (number, (kind, members)) in (0..).zip(kinds) {
            d.groups.insert(number, Group { name: empty, kind, paradigm: paradigm::MPI, members });
        }
        d.comms.insert(0, Comm { name: empty, group: 1 });
        d.comms.insert(1, Comm { name: empty, group: 2 });
        writer.finish(&d).unwrap();
        let found = tables(&directory.path().join("traces.otf2"), "job").unwrap();
        assert_eq!((found.unmatched, found.transfers.rows()), (1, 1));
        let trace = paraver_out::files(&found.operations, &found.transfers, None).swap_remove(0).1;
        let records: Vec<&str> = trace.lines().skip(1).collect();
        assert_eq!(
            records,
            [
                "1:1:1:1:1:0:10:3",
                "1:2:1:2:1:0:20:1",
                "3:1:1:1:1:0:0:2:1:2:1:90:90:8:0",
                "1:1:1:1:1:10:60:1",
                "1:2:1:2:1:20:90:3",
                "1:1:1:1:1:60:90:3"
            ]
        );
    }
}
