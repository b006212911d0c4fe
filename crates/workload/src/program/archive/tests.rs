use super::*;
use crate::program::mpi::CollectiveKind;
use base::units::MAX_BYTES;
use otf2::{Definitions, GroupType, Location, LocationGroup, Region, Writer, paradigm};

const NS: u64 = 1000;

/// Two ranks of a world, a communicator of rank 1 alone in a group, and functions by name.
fn written(functions: &[&str], ranks: &[Vec<(u64, EventKind)>]) -> (std::path::PathBuf, Arc<dyn Script>) {
    written_with(functions, ranks, |_| (), &[])
}

/// The same with more definitions and with markers.
fn written_with(
    functions: &[&str],
    ranks: &[Vec<(u64, EventKind)>],
    define: impl FnOnce(&mut Definitions),
    markers: &[otf2::Marker],
) -> (std::path::PathBuf, Arc<dyn Script>) {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("netloom-otf2-{}-{number}", std::process::id()));
    let writer = Writer::create(&directory, "test").unwrap();
    let mut d = Definitions::default();
    d.string("");
    for (n, name) in functions.iter().enumerate() {
        let paradigm = if name.starts_with("MPI_") { paradigm::MPI } else { paradigm::USER };
        // As EZTrace has it.
        let (name, paradigm) =
            name.strip_prefix("user ").map_or((*name, paradigm), |name| (name, paradigm::USER));
        let name = d.string(name);
        d.regions.insert(n as u32, Region { name, paradigm, role: 1 });
    }
    for (n, events) in ranks.iter().enumerate() {
        let mut location = writer.location(n as u64).unwrap();
        events.iter().for_each(|(time, kind)| location.write(*time, kind, &[]).unwrap());
        let events = location.finish().unwrap();
        d.location_groups.insert(n as u32, LocationGroup { name: 0, kind: 1, parent: None });
        d.locations.insert(n as u64, Location { name: 0, kind: 1, events, group: n as u32 });
    }
    let group = |kind, members: &[u64]| otf2::Group {
        name: 0,
        kind,
        paradigm: paradigm::MPI,
        members: members.to_vec(),
    };
    let all: Vec<u64> = (0..ranks.len() as u64).collect();
    d.groups.insert(0, group(GroupType::Locations, &all));
    d.groups.insert(1, group(GroupType::Ranks, &all));
    d.groups.insert(2, group(GroupType::Alone, &[]));
    d.comms.insert(5, otf2::Comm { name: 0, group: 1 });
    d.comms.insert(6, otf2::Comm { name: 0, group: 2 });
    define(&mut d);
    if !markers.is_empty() {
        writer.markers(markers).unwrap();
    }
    writer.finish(&d).unwrap();
    let anchor = directory.join("traces.otf2");
    let script = read(&Input::file(&anchor)).unwrap();
    (directory, script)
}

fn calls(script: &dyn Script, rank: u32) -> Vec<Call> {
    let mut reader = script.open(RankId::new(rank));
    std::iter::from_fn(|| reader.next().unwrap().map(|c| c.0)).collect()
}

fn envelope(peer: u32, tag: u32, bytes: u64) -> Envelope {
    Envelope { peer: CommRank::new(peer), tag, bytes, comm: WORLD }
}

#[test]
fn time_outside_of_mpi_is_computation_and_receives_find_their_envelopes() {
    use EventKind::{Enter, Irecv, IrecvRequest, Isend, IsendComplete, Leave, Recv, Send};
    let functions = ["main", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Ssend", "MPI_Recv"];
    let zero = vec![
        (100, Enter { region: 0 }),
        (150, Enter { region: 1 }),
        (151, IrecvRequest { request: 70 }),
        (155, Leave { region: 1 }),
        (160, Enter { region: 2 }),
        (160, Isend { receiver: 1, comm: 5, tag: 3, bytes: 99, request: 71 }),
        (170, Leave { region: 2 }),
        (170, Enter { region: 3 }),
        (900, Irecv { sender: 1, comm: 5, tag: 8, bytes: 1234, request: 70 }),
        (900, IsendComplete { request: 71 }),
        (901, Leave { region: 3 }),
        (1001, Leave { region: 0 }),
    ];
    let one = vec![
        (90, Enter { region: 4 }),
        (90, Send { receiver: 0, comm: 5, tag: 8, bytes: 1234 }),
        (95, Leave { region: 4 }),
        (96, Enter { region: 5 }),
        (99, Recv { sender: 0, comm: 5, tag: 3, bytes: 99 }),
        (99, Leave { region: 5 }),
    ];
    let (directory, script) = written(&functions, &[zero, one]);
    assert_eq!(
        calls(script.as_ref(), 0),
        [
            Call::Compute(50 * NS),
            Call::Irecv(envelope(1, 8, 1234), 0),
            Call::Compute(5 * NS),
            Call::Isend(envelope(1, 3, 99), Mode::Standard, 1),
            Call::Wait(0),
            Call::Wait(1),
        ]
    );
    assert_eq!(
        calls(script.as_ref(), 1),
        [
            Call::Send(envelope(0, 8, 1234), Mode::Synchronous),
            Call::Compute(NS),
            Call::Recv(envelope(0, 3, 99))
        ]
    );
    assert!(!script.makes_communicators() && script.chained());
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn collectives_and_sendrecv() {
    use EventKind::{CollectiveEnd, Enter, Leave, Recv, Send};
    let functions = ["MPI_Sendrecv", "MPI_Allreduce", "MPI_Gatherv"];
    let end = |operation, root, sent, received| CollectiveEnd { operation, comm: 5, root, sent, received };
    let rank = |me: u32, gathered: u64| {
        vec![
            (0, Enter { region: 0 }),
            (1, Send { receiver: 1 - me, comm: 5, tag: 0, bytes: 7 }),
            (9, Recv { sender: 1 - me, comm: 5, tag: 0, bytes: 7 }),
            (9, Leave { region: 0 }),
            (9, Enter { region: 1 }),
            (9, end(11, u32::MAX, 64, 64)),
            (9, CollectiveEnd { operation: 0, comm: 6, root: u32::MAX, sent: 0, received: 0 }),
            (9, Leave { region: 1 }),
            (9, Enter { region: 2 }),
            (9, end(3, 1, gathered, 30)),
            (9, Leave { region: 2 }),
        ]
    };
    let (directory, script) = written(&functions, &[rank(0, 10), rank(1, 20)]);
    let made = calls(script.as_ref(), 0);
    assert_eq!(
        made[..3],
        [Call::Isend(envelope(1, 0, 7), Mode::Standard, 0), Call::Recv(envelope(1, 0, 7)), Call::Wait(0)]
    );
    let collective = |call: &Call| match call {
        Call::Collective(c) => (c.kind, c.root.number(), c.bytes, c.counts.as_deref().map(<[u64]>::to_vec)),
        other => panic!("{other:?}"),
    };
    assert_eq!(collective(&made[3]), (CollectiveKind::Allreduce, 0, 64, None));
    assert_eq!(collective(&made[4]), (CollectiveKind::Gatherv, 1, 0, Some(vec![10, 20])));
    assert_eq!(made.len(), 5);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn what_is_missing_is_reported() {
    let none: Vec<(u64, EventKind)> = Vec::new();
    let (directory, _) = written(&["main"], &[none.clone(), none]);
    let anchor = directory.join("traces.otf2");
    std::fs::remove_file(directory.join("traces/1.evt")).unwrap();
    let problems = read(&Input::file(&anchor)).err().unwrap();
    assert!(problems[0].message.contains("1.evt"), "{}", problems[0].message);
    std::fs::remove_file(directory.join("traces.def")).unwrap();
    assert!(read(&Input::file(&anchor)).err().unwrap()[0].message.contains("traces.def"));
    std::fs::remove_dir_all(directory).unwrap();
}

/// More than other formats take: what is read can be written. Of a receive it may be unknown.
#[test]
fn impossible_numbers_of_bytes_are_reported() {
    use EventKind::{Irecv, IrecvRequest, Isend, Recv, Send};
    for bytes in [MAX_BYTES + 1, u64::MAX] {
        let receive = Recv { sender: 1, comm: 5, tag: 0, bytes };
        let records = [
            vec![Send { receiver: 1, comm: 5, tag: 0, bytes }],
            vec![Isend { receiver: 1, comm: 5, tag: 0, bytes, request: 1 }],
            vec![EventKind::CollectiveEnd { operation: 0, comm: 5, root: 0, sent: bytes, received: 0 }],
            vec![IrecvRequest { request: 1 }, Irecv { sender: 1, comm: 5, tag: 0, bytes, request: 1 }],
            vec![receive],
        ];
        for records in records {
            let known = bytes == u64::MAX && matches!(records.last(), Some(Recv { .. } | Irecv { .. }));
            let zero = records.into_iter().map(|record| (1, record)).collect();
            let (directory, script) = written(&["main"], &[zero, Vec::new()]);
            let mut open = script.open(RankId::new(0));
            let calls: Result<Vec<_>, _> = std::iter::from_fn(|| open.next().transpose()).collect();
            match calls {
                Err(damage) if !known => assert!(damage.0.contains("are possible"), "{}", damage.0),
                calls => assert!(known && calls.is_ok(), "{bytes}"),
            }
            std::fs::remove_dir_all(directory).unwrap();
        }
    }
}

#[test]
fn a_rank_that_a_communicator_does_not_have_is_reported() {
    use EventKind::{Irecv, IrecvRequest, Isend, Recv, Send};
    let events = [
        vec![(1, Send { receiver: 2, comm: 5, tag: 0, bytes: 7 })],
        vec![(1, Isend { receiver: 2, comm: 5, tag: 0, bytes: 7, request: 1 })],
        vec![(1, Recv { sender: u32::MAX, comm: 5, tag: 0, bytes: 7 })],
        vec![
            (1, IrecvRequest { request: 1 }),
            (1, Irecv { sender: 2, comm: 5, tag: 0, bytes: 7, request: 1 }),
        ],
    ];
    for zero in events {
        let (directory, script) = written(&["main"], &[zero, Vec::new()]);
        let error = script.open(RankId::new(0)).next().unwrap_err().0;
        assert!(
            error.contains("0.evt: ") && error.contains("is not among the 2 ranks of communicator 5"),
            "{error}"
        );
        std::fs::remove_dir_all(directory).unwrap();
    }
}

/// The bytes of a collective are reported by rank and call, so none may be left out.
#[test]
fn a_collective_that_was_not_posted_blocks() {
    use EventKind::CollectiveComplete;
    let operation = operation::GATHERV;
    let end = |sent, request| CollectiveComplete { operation, comm: 5, root: 0, sent, received: 0, request };
    let rank = |own: u64| vec![(1, end(10 + own, 1)), (2, end(20 + own, 2))];
    let (directory, script) = written(&["main"], &[rank(0), rank(1)]);
    let columns: Vec<_> = calls(script.as_ref(), 1)
        .into_iter()
        .filter_map(|call| match call {
            Call::Collective(c) => Some((c.request, c.counts.unwrap().to_vec())),
            _ => None,
        })
        .collect();
    assert_eq!(columns, [(None, vec![10, 11]), (None, vec![20, 21])]);
    std::fs::remove_dir_all(directory).unwrap();
}

/// What a non-blocking collective is, its completion says; two that end in another order than they began keep theirs.
#[test]
fn non_blocking_collectives_are_posted_and_waited_for() {
    use EventKind::{CollectiveComplete, CollectiveRequest, Enter, Leave};
    const GATHERV: u8 = operation::GATHERV;
    let end = |operation, root, bytes, request| CollectiveComplete {
        operation,
        comm: 5,
        root,
        sent: bytes,
        received: bytes,
        request,
    };
    let rank = |own: u64| {
        vec![
            (10, Enter { region: 0 }),
            (10, CollectiveRequest { request: 1 }),
            (11, CollectiveRequest { request: 2 }),
            (12, CollectiveRequest { request: 3 }),
            (12, Leave { region: 0 }),
            (20, Enter { region: 1 }),
            (30, end(GATHERV, 0, 100 + own, 3)),
            (30, end(GATHERV, 0, 10 + own, 2)),
            (30, end(operation::BARRIER, u32::MAX, 0, 1)),
            (30, Leave { region: 1 }),
        ]
    };
    let (directory, script) = written(&["MPI_Igatherv", "MPI_Waitall"], &[rank(0), rank(1)]);
    assert!(!script.chained(), "they go on beside other things");
    let calls = calls(script.as_ref(), 1);
    let gatherv = |request, counts: [u64; 2]| {
        Call::Collective(Collective {
            kind: CollectiveKind::Gatherv,
            comm: WORLD,
            root: CommRank::new(0),
            bytes: 0,
            counts: Some(Arc::from(counts)),
            neighbours: None,
            request: Some(request),
            algorithm: None,
        })
    };
    let expected = [
        Call::Collective(Collective {
            kind: CollectiveKind::Barrier,
            comm: WORLD,
            root: CommRank::new(0),
            bytes: 0,
            counts: None,
            neighbours: None,
            request: Some(0),
            algorithm: None,
        }),
        gatherv(1, [10, 11]),
        gatherv(2, [100, 101]),
        Call::Compute(8 * NS),
        Call::Wait(2),
        Call::Wait(1),
        Call::Wait(0),
    ];
    assert_eq!(calls, expected);
    std::fs::remove_dir_all(directory).unwrap();
}

/// Some tracers call MPI's functions the user's: their names say.
#[test]
fn functions_of_mpi_are_known_by_name() {
    use EventKind::{Enter, Leave, Send};
    let functions = ["user main", "user MPI_Send", "user MPIX_do"];
    let rank = vec![
        (0, Enter { region: 0 }),
        (10, Enter { region: 1 }),
        (10, Send { receiver: 1, comm: 5, tag: 0, bytes: 7 }),
        (90, Leave { region: 1 }),
        (90, Enter { region: 2 }),
        (95, Leave { region: 2 }),
        (95, Enter { region: 1 }),
        (95, Send { receiver: 1, comm: 5, tag: 0, bytes: 7 }),
        (99, Leave { region: 1 }),
    ];
    let (directory, script) = written(&functions, &[rank, Vec::new()]);
    let send = Call::Send(envelope(1, 0, 7), Mode::Standard);
    assert_eq!(
        calls(script.as_ref(), 0),
        [Call::Compute(10 * NS), send.clone(), Call::Compute(5 * NS), send]
    );
    std::fs::remove_dir_all(directory).unwrap();
}

/// A receive whose end is not reported cannot be done again; one that was cancelled need not.
#[test]
fn a_receive_without_its_end_is_reported() {
    use EventKind::{Cancelled, IrecvRequest};
    let posted = |request| (1, IrecvRequest { request });
    let (directory, script) =
        written(&["main"], &[vec![posted(3)], vec![posted(4), (2, Cancelled { request: 4 })]]);
    let error = script.open(RankId::new(0)).next().unwrap_err().0;
    assert!(error.contains("location 0, event 1: the receive") && error.contains("never ends"), "{error}");
    assert_eq!(calls(script.as_ref(), 1), [Call::Compute(NS)]);
    std::fs::remove_dir_all(directory).unwrap();
}

/// What is not simulated is told, and what says only how a program was measured is not.
#[test]
fn what_becomes_no_call_is_reported_once_it_is_met() {
    use EventKind::{CollectiveEnd, Enter, Leave, Other, RmaPut, RmaWaitChange};
    let functions = ["main", "MPI_Put", "MPI_Barrier"];
    let barrier =
        |comm| CollectiveEnd { operation: operation::BARRIER, comm, root: u32::MAX, sent: 0, received: 0 };
    let events = |extra: EventKind| {
        vec![
            (NS, Enter { region: 0 }),
            (2 * NS, Enter { region: 1 }),
            (3 * NS, extra),
            (4 * NS, Leave { region: 1 }),
            (5 * NS, Leave { region: 0 }),
        ]
    };
    for (extra, said) in [
        // On a window that is not defined, outside of any epoch.
        (RmaPut { win: 3, remote: 0, bytes: 8, id: 1 }, "one-sided transfers"),
        (Other(11), "switched off"),
        (RmaWaitChange { win: 3 }, "synchronisation of windows"),
        (barrier(77), "not defined over ranks"),
        // A metric, and a barrier of the world.
        (Other(31), ""),
        (barrier(5), ""),
    ] {
        let (directory, script) = written(&functions, &[events(extra), events(extra)]);
        assert_eq!(script.dropped(), [], "nothing is read yet");
        (0..2).for_each(|rank| _ = calls(script.as_ref(), rank));
        let dropped = script.dropped();
        match said {
            "" => assert_eq!(dropped, []),
            _ => assert!(dropped.len() == 1 && dropped[0].text.contains(said), "{said}: {dropped:?}"),
        }
        std::fs::remove_dir_all(directory).unwrap();
    }
}

/// Regions stand at their place within a computation, which stays one; who simulates does not see them.
#[test]
fn regions_of_the_user_are_marks_within_computations() {
    use EventKind::{CollectiveBegin, CollectiveEnd, Enter, Leave};
    let barrier = |at| {
        let end = CollectiveEnd { operation: 0, comm: 5, root: u32::MAX, sent: 0, received: 0 };
        [(at, Enter { region: 2 }), (at, CollectiveBegin), (at + 5, end), (at + 5, Leave { region: 2 })]
    };
    let mut events = vec![(100, Enter { region: 0 }), (130, Enter { region: 1 }), (170, Leave { region: 1 })];
    events.extend(barrier(200));
    events.extend([(205, Enter { region: 1 })]);
    events.extend(barrier(300));
    events.extend([(400, Leave { region: 1 }), (500, Leave { region: 0 })]);
    let (directory, script) = written(&["main", "solve", "MPI_Barrier"], &[events.clone(), events]);
    let plain = calls(script.as_ref(), 0);
    let mut reader = script.open_marked(RankId::new(0));
    let all: Vec<Call> = std::iter::from_fn(|| reader.next().unwrap().map(|c| c.0)).collect();
    let marks = |call: &Call| match call {
        Call::Mark(mark) => format!("{} {} {}", mark.kind.name(), mark.name, mark.into / NS),
        Call::Compute(time) => format!("compute {}", time / NS),
        _ => "call".to_owned(),
    };
    let expected = [
        "enter main 0",
        "enter solve 30",
        "leave solve 70",
        "compute 100",
        "call",
        "enter solve 0",
        "compute 95",
        "call",
        "leave solve 95",
        "leave main 195",
    ];
    assert_eq!(all.iter().map(marks).collect::<Vec<_>>(), expected);
    let without: Vec<Call> = all.into_iter().filter(|c| !matches!(c, Call::Mark(_))).collect();
    assert_eq!(plain, without);
    std::fs::remove_dir_all(directory).unwrap();
}

/// Each function of MPI says what its records mean; windows that no event makes are there from the start.
#[test]
fn records_of_windows_become_calls() {
    use EventKind::*;
    let functions = [
        "MPI_Win_create",
        "MPI_Win_fence",
        "MPI_Put",
        "MPI_Win_post",
        "MPI_Win_start",
        "MPI_Win_complete",
        "MPI_Win_wait",
        "MPI_Win_lock",
        "MPI_Get_accumulate",
        "MPI_Win_flush",
        "MPI_Win_unlock",
        "MPI_Win_lock_all",
        "MPI_Rget",
        "MPI_Wait",
        "MPI_Win_unlock_all",
        "MPI_Win_free",
    ];
    let end =
        |operation| RmaCollectiveEnd { operation, sync: 1, win: 2, root: u32::MAX, sent: 0, received: 0 };
    let rank = |me: u32| {
        let (win, remote) = (2, 1 - me);
        let sync = RmaGroupSync { sync: 1, win, group: 7 - me };
        let (lock, unlock) =
            (RmaRequestLock { win, remote: 0, lock: 0, kind: 0 }, RmaReleaseLock { win, remote: 0, lock: 0 });
        let shared = |remote| RmaAcquireLock { win: 3, remote, lock: 0, kind: 1 };
        let given = |remote| RmaReleaseLock { win: 3, remote, lock: 0 };
        let steps: Vec<(u32, Vec<EventKind>)> = vec![
            (0, vec![RmaCollectiveBegin, RmaWinCreate { win }, end(17)]),
            (1, vec![RmaCollectiveBegin, end(0)]),
            (2, vec![RmaPut { win, remote, bytes: 64, id: 1 }]),
            (1, vec![RmaCollectiveBegin, RmaCompleteRemote { win, id: 1 }, end(0)]),
            (3, vec![sync]),
            (4, vec![sync]),
            (2, vec![RmaPut { win, remote, bytes: 32, id: 2 }]),
            (5, vec![sync, RmaCompleteRemote { win, id: 2 }]),
            (6, vec![sync]),
            (7, vec![lock, RmaAcquireLock { win, remote: 0, lock: 0, kind: 0 }]),
            (8, vec![RmaAtomic { win, remote: 0, kind: 5, sent: 8, received: 8, id: 3 }]),
            (9, vec![RmaCompleteNonBlocking { win, id: 3 }, RmaCompleteRemote { win, id: 3 }]),
            (10, vec![unlock]),
            (11, vec![shared(0), shared(1)]),
            (12, vec![RmaGet { win: 3, remote, bytes: 16, id: 4 }]),
            (13, vec![RmaCompleteNonBlocking { win: 3, id: 4 }]),
            (14, vec![given(0), given(1)]),
            (15, vec![RmaCollectiveBegin, RmaWinDestroy { win }, end(18)]),
        ];
        let mut events = Vec::new();
        for (at, (region, kinds)) in (1..).zip(steps) {
            events.push((at, Enter { region }));
            events.extend(kinds.into_iter().map(|kind| (at, kind)));
            events.push((at, Leave { region }));
        }
        events
    };
    let define = |d: &mut Definitions| {
        let group = |rank: u64| otf2::Group {
            name: 0,
            kind: GroupType::Ranks,
            paradigm: paradigm::MPI,
            members: vec![rank],
        };
        d.groups.insert(6, group(0));
        d.groups.insert(7, group(1));
        d.windows.insert(2, otf2::Window { name: 0, comm: 5, made: true });
        d.windows.insert(3, otf2::Window { name: 0, comm: 5, made: false });
    };
    let (directory, script) = written_with(&functions, &[rank(0), rank(1)], define, &[]);
    let said = |rank| {
        let mut lines = Vec::new();
        for call in calls(script.as_ref(), rank).iter().filter(|call| !matches!(call, Call::Compute(_))) {
            let mut text = String::new();
            crate::program::ranks::call(&mut text, call);
            lines.push(text);
        }
        lines
    };
    assert_eq!(
        said(0),
        [
            "win_create world as w3",
            "win_create world as w2",
            "win_fence w2",
            "put 64 B to 1 win w2",
            "win_fence w2",
            "win_post w2 group [1]",
            "win_start w2 group [1]",
            "put 32 B to 1 win w2",
            "win_complete w2",
            "win_wait w2",
            "win_lock w2 0 exclusive",
            "get_accumulate 8 B to 0 win w2",
            "win_flush w2 0",
            "win_unlock w2 0",
            "win_lock_all w3",
            "get 16 B from 1 win w3",
            "win_flush_local w3 1",
            "win_unlock_all w3",
            "win_free w2",
        ]
    );
    assert_eq!(script.dropped(), []);
    let program =
        crate::program::lower::lower(Arc::clone(&script), crate::program::lower::Options::default()).unwrap();
    let census =
        crate::program::census::Census::of(&crate::program::file::Content::Program(program)).unwrap();
    assert_eq!(census.matching, crate::program::census::Matching::Exact);
    std::fs::remove_dir_all(directory).unwrap();
}

/// Markers of a rank's location are its marks, those of the trace are rank 0's; their places lie within computations.
#[test]
fn markers_are_marks() {
    use EventKind::{Enter, Leave};
    let events = vec![
        (100, Enter { region: 0 }),
        (200, Enter { region: 1 }),
        (300, Leave { region: 1 }),
        (400, Leave { region: 0 }),
    ];
    let marker = |time, scope, text: &str| otf2::Marker {
        time,
        duration: 0,
        group: "people".into(),
        category: "note".into(),
        severity: 1,
        scope,
        text: text.into(),
    };
    let markers = [
        marker(350, otf2::Scope::Location(0), "late"),
        marker(130, otf2::Scope::Global, "all"),
        marker(150, otf2::Scope::Location(1), "one"),
        marker(160, otf2::Scope::Other(4, 1), "a group"),
    ];
    let (directory, script) =
        written_with(&["main", "MPI_Send"], &[events.clone(), events], |_| (), &markers);
    let marks = |rank| {
        let mut reader = script.open_marked(RankId::new(rank));
        let all = std::iter::from_fn(|| reader.next().unwrap().map(|c| c.0));
        all.filter_map(|call| match call {
            Call::Mark(mark) if mark.kind == mpi::MarkKind::Instant => {
                Some((mark.name.to_string(), mark.into / NS))
            }
            _ => None,
        })
        .collect::<Vec<_>>()
    };
    assert!(script.marks());
    assert_eq!(marks(0), [("all".to_owned(), 30), ("late".to_owned(), 50)]);
    assert_eq!(marks(1), [("one".to_owned(), 50)]);
    std::fs::remove_dir_all(directory).unwrap();
}
