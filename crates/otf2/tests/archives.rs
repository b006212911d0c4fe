//! Archives written and read back, and damaged ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use otf2::{
    Archive, Attribute, Comm, Definitions, Event, EventKind, Group, GroupType, Location, LocationGroup,
    Region, SystemTreeNode, Writer, paradigm, shares,
};
use proptest::prelude::*;
use std::{fs, path::Path};

fn definitions(ranks: u64, events: &[u64]) -> Definitions {
    let mut d = Definitions::default();
    d.clock.resolution = 1_000_000_000_000;
    d.string("");
    let (node, name, world) = (d.string("node"), d.string("thread"), d.string("MPI_COMM_WORLD"));
    let (send, main, hops) = (d.string("MPI_Send"), d.string("main"), d.string("hops"));
    d.nodes.insert(0, SystemTreeNode { name: node, class: node, parent: None });
    for r in 0..ranks {
        let rank = d.string(&format!("MPI Rank {r}"));
        d.location_groups.insert(r as u32, LocationGroup { name: rank, kind: 1, parent: Some(0) });
        d.locations.insert(r, Location { name, kind: 1, events: events[r as usize], group: r as u32 });
    }
    d.regions.insert(0, Region { name: send, paradigm: paradigm::MPI, role: 28 });
    d.regions.insert(1, Region { name: main, paradigm: paradigm::USER, role: 1 });
    let members: Vec<u64> = (0..ranks).collect();
    let group = |kind| Group { name: 0, kind, paradigm: paradigm::MPI, members: members.clone() };
    d.groups.insert(0, group(GroupType::Locations));
    d.groups.insert(1, group(GroupType::Ranks));
    d.comms.insert(0, Comm { name: world, group: 1 });
    d.attributes.insert(0, Attribute { name: hops, description: hops, kind: 4 });
    d
}

fn write(directory: &Path, all: &[Vec<Event>]) {
    let writer = Writer::create(directory, "test").unwrap();
    let mut counts = Vec::new();
    for (n, events) in all.iter().enumerate() {
        let mut location = writer.location(n as u64).unwrap();
        for e in events {
            let attributes: &[(u32, u64)] =
                if matches!(e.kind, EventKind::Send { .. }) { &[(0, e.time)] } else { &[] };
            location.write(e.time, &e.kind, attributes).unwrap();
        }
        counts.push(location.finish().unwrap());
    }
    writer.finish(&definitions(all.len() as u64, &counts)).unwrap();
}

fn event() -> impl Strategy<Value = EventKind> {
    let number = || prop_oneof![0..10u32, any::<u32>().prop_map(|n| n.min(u32::MAX - 1))];
    let size = || prop_oneof![0..10u64, 0..=u64::MAX - 1];
    prop_oneof![
        number().prop_map(|region| EventKind::Enter { region }),
        number().prop_map(|region| EventKind::Leave { region }),
        (number(), number(), number(), size()).prop_map(|(receiver, comm, tag, bytes)| EventKind::Send {
            receiver,
            comm,
            tag,
            bytes
        }),
        (number(), number(), number(), size(), size()).prop_map(|(receiver, comm, tag, bytes, request)| {
            EventKind::Isend { receiver, comm, tag, bytes, request }
        }),
        size().prop_map(|request| EventKind::IsendComplete { request }),
        size().prop_map(|request| EventKind::IrecvRequest { request }),
        (number(), number(), number(), size()).prop_map(|(sender, comm, tag, bytes)| EventKind::Recv {
            sender,
            comm,
            tag,
            bytes
        }),
        (number(), number(), number(), size(), size()).prop_map(|(sender, comm, tag, bytes, request)| {
            EventKind::Irecv { sender, comm, tag, bytes, request }
        }),
        Just(EventKind::CollectiveBegin),
        size().prop_map(|request| EventKind::CollectiveRequest { request }),
        (0..23u8, number(), number(), size(), size()).prop_map(|(operation, comm, root, bytes, request)| {
            EventKind::CollectiveComplete { operation, comm, root, sent: bytes, received: bytes / 2, request }
        }),
        (0..23u8, number(), number(), size(), size()).prop_map(|(operation, comm, root, sent, received)| {
            EventKind::CollectiveEnd { operation, comm, root, sent, received }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn what_is_written_comes_back(events in prop::collection::vec((0..1000u64, event()), 0..400)) {
        let mut time = 0;
        let events: Vec<Event> = events.into_iter().map(|(step, kind)| {
            time += step;
            Event { time, kind }
        }).collect();
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &[events.clone(), Vec::new()]);
        let archive = Archive::open(&directory.path().join("traces.otf2")).unwrap();
        prop_assert_eq!(&archive.definitions, &definitions(2, &[events.len() as u64, 0]));
        let read: Vec<Event> = archive.events(0).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(read, events);
        prop_assert_eq!(archive.events(1).unwrap().count(), 0);
    }
}

/// More than two chunks of a megabyte.
fn long(n: u64) -> Vec<Event> {
    let kind = |i: u64| match i % 3 {
        0 => EventKind::Enter { region: 1 },
        1 => EventKind::Send { receiver: 1, comm: 0, tag: (i % 1000) as u32, bytes: i * i },
        _ => EventKind::Leave { region: 1 },
    };
    (0..n).map(|i| Event { time: 10 * i, kind: kind(i) }).collect()
}

#[test]
fn long_streams_cross_chunks() {
    let directory = tempfile::tempdir().unwrap();
    let events = long(150_000);
    write(directory.path(), &[events.clone(), long(2)]);
    let path = directory.path().join("traces/0.evt");
    assert!(fs::metadata(&path).unwrap().len() > 2 << 20);
    let archive = Archive::open(&directory.path().join("traces.otf2")).unwrap();
    assert!(archive.events(0).unwrap().map(Result::unwrap).eq(events));
    // Heads of chunks count their events, without a gap.
    let bytes = fs::read(&path).unwrap();
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let mut next = 1;
    for chunk in (0..bytes.len()).step_by(1 << 20) {
        assert_eq!((bytes[chunk], word(chunk + 2)), (3, next));
        next = word(chunk + 10) + 1;
    }
    assert_eq!(next, 150_001);
}

#[test]
fn shares_are_exclusive_times() {
    let at = |time, kind| Event { time, kind };
    let (enter, leave) = (|region| EventKind::Enter { region }, |region| EventKind::Leave { region });
    let one = vec![at(0, enter(1)), at(30, enter(0)), at(40, leave(0)), at(100, leave(1))];
    let two = vec![at(10, enter(1)), at(20, enter(0)), at(50, leave(0)), at(60, leave(1))];
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &[one, two]);
    let s = shares(&Archive::open(&directory.path().join("traces.otf2")).unwrap()).unwrap();
    assert_eq!((s.total, s.mpi, s.run, s.events), (150, 40, 100, 8));
}

#[test]
fn damaged_archives_say_what_is_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let fresh = || write(path, &[long(500), long(5)]);
    let anchor = path.join("traces.otf2");
    let read_all = || -> otf2::Result<u64> {
        let archive = Archive::open(&anchor)?;
        let mut n = 0;
        for location in [0, 1] {
            for event in archive.events(location)? {
                event?;
                n += 1;
            }
        }
        Ok(n)
    };
    fresh();
    assert_eq!(read_all().unwrap(), 505);
    // Every file cut off anywhere.
    for name in ["traces.otf2", "traces.def", "traces/0.evt", "traces/1.def"] {
        fresh();
        let whole = fs::read(path.join(name)).unwrap();
        // The last byte behind the end mark, and what an anchor holds behind its identifier, are not needed.
        let needed = whole.len() - if name == "traces.otf2" { 11 } else { 1 };
        for length in (0..needed).step_by(needed.div_ceil(60)) {
            fs::write(path.join(name), &whole[..length]).unwrap();
            let error = read_all().expect_err(name).to_string();
            assert!(error.contains(Path::new(name).file_name().unwrap().to_str().unwrap()), "{error}");
        }
    }
    // A FIFO without a writer, a device without an end.
    for name in ["traces.otf2", "traces.def", "traces/0.evt", "traces/1.def"] {
        fresh();
        fs::remove_file(path.join(name)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path.join(name)).status().unwrap().success());
        assert!(read_all().unwrap_err().to_string().contains("not a regular file"));
        fs::remove_file(path.join(name)).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path.join(name)).unwrap();
        assert!(read_all().unwrap_err().to_string().contains("not a regular file"));
        fs::remove_file(path.join(name)).unwrap();
    }
    fresh();
    fs::remove_file(path.join("traces/1.evt")).unwrap();
    assert!(read_all().unwrap_err().to_string().contains("1.evt"));
    // Claims of gigabytes: a group, a mapping, a record.
    fresh();
    let mut local = fs::read(path.join("traces/0.def")).unwrap();
    local.truncate(18);
    local.extend_from_slice(&[5, 8, 3, 4, 255, 255, 255, 255, 0, 1, 2, 1]);
    fs::write(path.join("traces/0.def"), &local).unwrap();
    assert!(read_all().unwrap_err().to_string().contains("mapping"));
    local.truncate(18);
    local.extend_from_slice(&[5, 255, 0, 0, 0, 0, 1, 0, 0, 0, 2, 1]);
    fs::write(path.join("traces/0.def"), &local).unwrap();
    assert!(read_all().unwrap_err().to_string().contains("4294967296 bytes are needed"));
    local.truncate(18);
    local.extend_from_slice(&[5, 3, 3, 0, 9, 2, 1]);
    fs::write(path.join("traces/0.def"), &local).unwrap();
    assert!(read_all().unwrap_err().to_string().contains("unknown mode"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever bytes are changed, reading ends, with or without a mistake.
    #[test]
    fn changed_bytes_never_panic(changes in prop::collection::vec((0..4usize, any::<u16>(), any::<u8>()), 1..6)) {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), &[long(60), long(5)]);
        let names = ["traces.otf2", "traces.def", "traces/0.evt", "traces/0.def"];
        for (file, place, byte) in changes {
            let path = directory.path().join(names[file]);
            let mut bytes = fs::read(&path).unwrap();
            let at = place as usize % bytes.len();
            bytes[at] = byte;
            fs::write(&path, bytes).unwrap();
        }
        if let Ok(archive) = Archive::open(&directory.path().join("traces.otf2")) {
            for &location in archive.definitions.locations.keys().take(3) {
                if let Ok(events) = archive.events(location) {
                    prop_assert!(events.count() < 100_000);
                }
            }
            let _ = shares(&archive);
        }
    }
}

/// An archive of the official collection, unpacked beside this repository; `None`, said loudly, if it is not there.
fn foreign(packed: &str, anchor: &str) -> Option<(tempfile::TempDir, std::path::PathBuf)> {
    let data = std::env::var_os("NETLOOM_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), Into::into);
    let file = data.join("traces").join(packed);
    if !file.exists() {
        eprintln!("SKIPPED: {} is missing", file.display());
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let unpacked =
        std::process::Command::new("tar").arg("xzf").arg(&file).arg("-C").arg(directory.path()).status();
    assert!(unpacked.unwrap().success());
    let anchor = directory.path().join(anchor);
    Some((directory, anchor))
}

#[test]
fn archives_of_score_p_are_read() {
    let Some((_kept, anchor)) = foreign("tracer-stencil4d-otf2.tar.gz", "traces-32/traces.otf2") else {
        return;
    };
    let archive = Archive::open(&anchor).unwrap();
    let d = &archive.definitions;
    assert_eq!(
        (archive.anchor.texts[1].as_str(), d.ranks().len(), d.locations.len()),
        ("Score-P 3.0", 32, 32)
    );
    assert_eq!((d.text(d.regions[&33].name), d.regions[&33].paradigm), ("MPI_Init", paradigm::MPI));
    assert_eq!(d.text(d.comms[&0].name), "MPI_COMM_WORLD");
    let mut counts = [0; 4];
    for (&location, reported) in &d.locations {
        let events: Vec<Event> = archive.events(location).unwrap().map(Result::unwrap).collect();
        assert_eq!(events.len() as u64, reported.events);
        assert!(events.is_sorted_by_key(|e| e.time));
        for event in events {
            match event.kind {
                EventKind::Send { bytes, .. } => {
                    counts[0] += 1;
                    assert_eq!(bytes, 131_072);
                }
                EventKind::IrecvRequest { .. } => counts[1] += 1,
                EventKind::Irecv { .. } => counts[2] += 1,
                EventKind::CollectiveEnd { .. } => counts[3] += 1,
                _ => {}
            }
        }
    }
    assert_eq!(counts, [512, 512, 512, 96]);
    // The first event of rank 3, with its clock's offset.
    let first = archive.events(3).unwrap().next().unwrap().unwrap();
    assert_eq!((first.time, first.kind), (2_196_267_774_783_405, EventKind::Enter { region: 33 }));
}

/// Thousands of locations: no more than a few files are open at once, here counted by the system.
#[test]
fn thousands_of_locations_need_few_open_files() {
    let directory = tempfile::tempdir().unwrap();
    let all: Vec<Vec<Event>> = (0..4096).map(|n| long(3 + n % 5)).collect();
    write(directory.path(), &all);
    let archive = Archive::open(&directory.path().join("traces.otf2")).unwrap();
    assert_eq!(archive.definitions.locations.len(), 4096);
    // All locations are read at the same time, event by event.
    let mut streams: Vec<_> = (0..4096).map(|n| archive.events(n).unwrap()).collect();
    let mut count = 0;
    for _ in 0..7 {
        count += streams.iter_mut().filter_map(Iterator::next).map(Result::unwrap).count();
    }
    assert_eq!(count, all.iter().map(Vec::len).sum::<usize>());
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        let inside =
            |e: &fs::DirEntry| fs::read_link(e.path()).is_ok_and(|p| p.starts_with(directory.path()));
        assert_eq!(open.flatten().filter(inside).count(), 0, "files are closed between pieces");
    }
}

/// The distribution's otf2-print finds the same events, if it is installed.
#[test]
fn the_official_reader_accepts_what_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let collective = [
        EventKind::CollectiveRequest { request: 300 },
        EventKind::CollectiveComplete {
            operation: 11,
            comm: 0,
            root: u32::MAX,
            sent: 8,
            received: 800,
            request: 300,
        },
    ];
    let one = long(7).into_iter().chain(collective.into_iter().map(|kind| Event { time: 900, kind }));
    write(directory.path(), &[long(150_000), one.collect()]);
    let anchor = directory.path().join("traces.otf2");
    match std::process::Command::new("otf2-print").arg(&anchor).output() {
        Err(_) => eprintln!("SKIPPED: otf2-print is not installed"),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{text}");
            let count = |word: &str| text.lines().filter(|l| l.starts_with(word)).count();
            assert_eq!((count("ENTER"), count("MPI_SEND"), count("LEAVE")), (50_003, 50_002, 50_002));
            assert!(text.contains(
                "Receiver: 1 (\"thread\" <1>), Communicator: \"MPI_COMM_WORLD\" <0>, Tag: 1, Length: 1\n"
            ));
            assert!(text.contains("\"hops\" <0>; UINT64; 10"), "attributes");
            let line =
                |word: &str| text.lines().find(|l| l.starts_with(word)).unwrap_or_else(|| panic!("{word}"));
            assert!(line("NON_BLOCKING_COLLECTIVE_REQUEST").contains("Request: 300"));
            let complete = line("NON_BLOCKING_COLLECTIVE_COMPLETE");
            for part in ["ALLREDUCE", "MPI_COMM_WORLD", "Sent: 8", "Received: 800", "Request: 300"] {
                assert!(complete.contains(part), "{part}: {complete}");
            }
        }
    }
}
