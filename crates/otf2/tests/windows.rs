//! Records of one-sided communication and markers: written and read back, and by the format's own tools where they are installed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use otf2::{
    Archive, Comm, Definitions, Event, EventKind, Group, GroupType, Location, LocationGroup, Marker, Scope,
    SystemTreeNode, Window, Writer, paradigm,
};
use std::{path::Path, process::Command};

/// All kinds of records.
fn records() -> Vec<EventKind> {
    let (win, remote, lock, id) = (0, 0, 7, 900);
    vec![
        EventKind::RmaCollectiveBegin,
        EventKind::RmaWinCreate { win },
        EventKind::RmaCollectiveEnd { operation: 17, sync: 2, win, root: u32::MAX, sent: 0, received: 0 },
        EventKind::RmaRequestLock { win, remote, lock, kind: 0 },
        EventKind::RmaAcquireLock { win, remote, lock, kind: 1 },
        EventKind::RmaTryLock { win, remote, lock, kind: 0 },
        EventKind::RmaPut { win, remote, bytes: 4096, id },
        EventKind::RmaGet { win, remote, bytes: 1 << 40, id: id + 1 },
        EventKind::RmaAtomic { win, remote, kind: 3, sent: 16, received: 8, id: id + 2 },
        EventKind::RmaCompleteBlocking { win, id },
        EventKind::RmaCompleteNonBlocking { win, id: id + 1 },
        EventKind::RmaTest { win, id: id + 2 },
        EventKind::RmaCompleteRemote { win, id: id + 2 },
        EventKind::RmaReleaseLock { win, remote, lock },
        EventKind::RmaGroupSync { sync: 1, win, group: 1 },
        EventKind::RmaSync { win, remote, kind: 0 },
        EventKind::RmaWaitChange { win },
        EventKind::RmaWinDestroy { win },
    ]
}

fn write(directory: &Path, kinds: &[EventKind], markers: &[Marker]) -> Vec<Event> {
    let events: Vec<Event> = kinds.iter().zip(100..).map(|(&kind, time)| Event { time, kind }).collect();
    let writer = Writer::create(directory, "test").unwrap();
    let mut location = writer.location(0).unwrap();
    events.iter().for_each(|e| location.write(e.time, &e.kind, &[]).unwrap());
    let count = location.finish().unwrap();
    let mut d = Definitions::default();
    d.clock.length = 1000;
    d.string("");
    let name = d.string("window");
    d.nodes.insert(0, SystemTreeNode { name, class: name, parent: None });
    d.location_groups.insert(0, LocationGroup { name, kind: 1, parent: Some(0) });
    d.locations.insert(0, Location { name, kind: 1, events: count, group: 0 });
    let group = |kind| Group { name: 0, kind, paradigm: paradigm::MPI, members: vec![0] };
    d.groups.insert(0, group(GroupType::Locations));
    d.groups.insert(1, group(GroupType::Ranks));
    d.comms.insert(0, Comm { name, group: 1 });
    d.windows.insert(0, Window { name, comm: 0, made: true });
    writer.markers(markers).unwrap();
    writer.finish(&d).unwrap();
    events
}

fn marker(time: u64, scope: Scope, text: &str) -> Marker {
    Marker {
        time,
        duration: time / 100,
        group: "people".into(),
        category: "note".into(),
        severity: 3,
        scope,
        text: text.into(),
    }
}

#[test]
fn windows_come_back_and_the_official_reader_finds_them() {
    let directory = tempfile::tempdir().unwrap();
    let events = write(directory.path(), &records(), &[]);
    let anchor = directory.path().join("traces.otf2");
    let archive = Archive::open(&anchor).unwrap();
    assert_eq!(archive.events(0).unwrap().map(Result::unwrap).collect::<Vec<_>>(), events);
    assert_eq!(archive.definitions.windows[&0], Window { name: 1, comm: 0, made: true });
    let Ok(output) = Command::new("otf2-print").arg(&anchor).output() else {
        return eprintln!("SKIPPED: otf2-print is not installed");
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    for (word, parts) in [
        ("RMA_WIN_CREATE", &["Window: \"window\" <0>"][..]),
        ("RMA_WIN_DESTROY", &["Window: \"window\" <0>"]),
        ("RMA_COLLECTIVE_BEGIN", &[]),
        ("RMA_COLLECTIVE_END", &["CREATE_HANDLE", "Root: NONE"]),
        ("RMA_GROUP_SYNC", &["Group: ", "<1>"]),
        ("RMA_REQUEST_LOCK", &["Lock: 7", "EXCLUSIVE"]),
        ("RMA_ACQUIRE_LOCK", &["Lock: 7", "SHARED"]),
        ("RMA_TRY_LOCK", &["Lock: 7", "EXCLUSIVE"]),
        ("RMA_RELEASE_LOCK", &["Lock: 7"]),
        ("RMA_SYNC", &["MEMORY"]),
        ("RMA_WAIT_CHANGE", &["<0>"]),
        ("RMA_PUT", &["Bytes: 4096", "Matching: 900"]),
        ("RMA_GET", &["Bytes: 1099511627776", "Matching: 901"]),
        ("RMA_ATOMIC", &["COMPARE_AND_SWAP", "Sent: 16", "Received: 8", "Matching: 902"]),
        ("RMA_OP_COMPLETE_BLOCKING", &["Matching: 900"]),
        ("RMA_OP_COMPLETE_NON_BLOCKING", &["Matching: 901"]),
        ("RMA_OP_TEST", &["Matching: 902"]),
        ("RMA_OP_COMPLETE_REMOTE", &["Matching: 902"]),
    ] {
        let starts = |line: &&str| line.split_whitespace().next() == Some(word);
        let line = text.lines().find(starts).unwrap_or_else(|| panic!("{word}: {text}"));
        parts.iter().for_each(|part| assert!(line.contains(part), "{part}: {line}"));
    }
}

#[test]
fn markers_come_back_and_the_official_reader_finds_them() {
    let directory = tempfile::tempdir().unwrap();
    let other =
        Marker { group: "tools".into(), severity: 0, ..marker(900, Scope::Other(5, 0), "a communicator") };
    let markers = [marker(200, Scope::Global, "everything"), marker(300, Scope::Location(0), "one"), other];
    write(directory.path(), &records(), &markers);
    let anchor = directory.path().join("traces.otf2");
    assert_eq!(Archive::open(&anchor).unwrap().markers().unwrap(), markers);
    if let Ok(output) = Command::new("otf2-marker").arg(&anchor).output() {
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        for line in [
            "MARKER_DEF  Group: \"people\", Category: \"note\", Severity: HIGH",
            "MARKER      Time: 200, Duration 2, Scope: GLOBAL, Text: \"everything\"",
            "MARKER      Time: 300, Duration 3, Scope: LOCATION:0, Text: \"one\"",
            "MARKER      Time: 900, Duration 9, Scope: COMM:0, Text: \"a communicator\"",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        // And the other way round.
        let add = ["--add", "people", "note", "400+5", "LOCATION:0", "late"];
        assert!(Command::new("otf2-marker").args(add).arg(&anchor).status().unwrap().success());
        let read = Archive::open(&anchor).unwrap().markers().unwrap();
        assert!(read.iter().any(|m| (m.time, m.duration, m.text.as_str()) == (400, 5, "late")), "{read:?}");
    } else {
        eprintln!("SKIPPED: otf2-marker is not installed");
    }
}

#[test]
fn damaged_markers_are_refused_and_none_are_no_file() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &records(), &[marker(1, Scope::Global, "x")]);
    let (anchor, file) = (directory.path().join("traces.otf2"), directory.path().join("traces.marker"));
    let whole = std::fs::read(&file).unwrap();
    for cut in 0..whole.len() {
        std::fs::write(&file, &whole[..cut]).unwrap();
        let read = Archive::open(&anchor).unwrap().markers();
        assert!(read.is_err() || cut >= whole.len() - 1, "{cut} of {} bytes", whole.len());
    }
    // A marker of a kind that is not defined.
    let mut undefined = whole[..18].to_vec();
    undefined.extend_from_slice(&whole[18 + 2 + usize::from(whole[19])..]);
    std::fs::write(&file, undefined).unwrap();
    let error = Archive::open(&anchor).unwrap().markers().unwrap_err().to_string();
    assert!(error.contains("traces.marker") && error.contains("not defined"), "{error}");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(Archive::open(&anchor).unwrap().markers().unwrap(), []);
}
