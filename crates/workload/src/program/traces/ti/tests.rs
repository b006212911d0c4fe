use super::*;
use crate::program::{census::Census, file::Content, file::Format, ranks};

fn content(text: &str) -> Content {
    let scale = Scale { speed: 2e9, ..Scale::DEFAULT };
    let (format, content) = Content::read(&Input::bytes("x", text.as_bytes()), scale).unwrap();
    assert_eq!(format, Format::Ti);
    content
}

/// The calls of a rank as `.ranks` writes them, and what was dropped.
fn calls(text: &str, rank: u32) -> Result<(Vec<String>, Vec<String>), String> {
    let Content::Script(script) = content(text) else { panic!("a trace holds calls") };
    let (mut reader, mut all) = (script.open(RankId::new(rank)), Vec::new());
    while let Some((call, _)) = reader.next().map_err(|d| d.0)? {
        let mut line = String::new();
        ranks::call(&mut line, &call);
        all.push(line);
    }
    Ok((all, script.dropped().into_iter().map(|d| d.text).collect()))
}

fn of_one(lines: &[&str]) -> Vec<String> {
    let text: String = lines.iter().map(|line| format!("0 {line}\n")).collect();
    let (calls, dropped) = calls(&(text + "1 init\n"), 0).unwrap();
    assert_eq!(dropped, [""; 0]);
    calls
}

#[test]
fn transfers_and_waits_find_each_other() {
    let new = of_one(&["init", "isend 1 7 1e3", "irecv 1 8 1e3 4", "wait 1 0 8", "wait 0 1 7", "sleep 1e-6"]);
    assert_eq!(
        new,
        [
            "isend 1000 B to 1 tag 7 as r0",
            "irecv 8000 B from 1 tag 8 as r1",
            "wait r1",
            "wait r0",
            "compute 1 us"
        ]
    );
    let old = of_one(&["init", "Isend 1 1e3", "Irecv 1 5 1", "send 1 4", "wait", "wait", "compute 4"]);
    assert_eq!(
        old,
        [
            "isend 1000 B to 1 as r0",
            "irecv 20 B from 1 as r1",
            "send 4 B to 1",
            "wait r1",
            "wait r0",
            "compute 2 ns"
        ]
    );
    let any = of_one(&["init", "irecv -555 -444 8", "wait 1 0 3", "recv -666 0 8", "recv 1 2 -1"]);
    assert_eq!(any[..2], ["irecv 8 B from any tag any as r0", "wait r0"]);
    assert_eq!(any[2], "recv 8 B from null");
    assert_eq!(any[3], "recv 4194304 TiB from 1 tag 2");
    let both = of_one(&["init 1", "sendRecv 2 1 3 1 1 2"]);
    assert_eq!(both, ["sendrecv 8 B to 1 recv 3 B from 1"]);
}

#[test]
fn a_request_that_no_wait_ends_ended_at_its_last_test() {
    let lines = [
        "init",
        "irecv 1 0 8",
        "test 1 0 0",
        "compute 4",
        "test 1 0 0",
        "irecv 1 1 8",
        "test 1 0 1",
        "wait 1 0 1",
    ];
    assert_eq!(
        of_one(&lines),
        ["irecv 8 B from 1 as r0", "compute 2 ns", "test r0", "irecv 8 B from 1 tag 1 as r0", "wait r0"]
    );
}

#[test]
fn collectives_have_their_bytes() {
    let all = of_one(&[
        "init 1",
        "barrier",
        "bcast 3",
        "bcast 3 1 1",
        "reduce 3 4 1 5",
        "allReduce 3 4",
        "alltoall 3 3 6 6",
        "gather 3 0 1 1 1",
        "scatter 0 3 1 1 1",
        "allgather 3 3 2 2",
        "scan 3 0 6",
        "exscan 3 0 6",
    ]);
    assert_eq!(
        all,
        [
            "barrier",
            "bcast 24 B root 0",
            "bcast 12 B root 1",
            "reduce 12 B root 1",
            "compute 2 ns",
            "allreduce 24 B",
            "compute 2 ns",
            "alltoall 3 B",
            "gather 12 B root 1",
            "scatter 12 B root 1",
            "allgather 3 B",
            "scan 3 B",
            "exscan 3 B"
        ]
    );
    let uneven = of_one(&[
        "init",
        "alltoallv 9 1 2 9 3 4",
        "allgatherv 5 5 6",
        "allgatherv 5 5 6 1 1",
        "allgatherv 5 5 6 1 1 0 5",
        "gatherv 5 5 6 0",
        "scatterv 5 6 5 0",
        "reducescatter 5 6 4 1",
    ]);
    assert_eq!(
        uneven,
        [
            "alltoallv sends [1 B, 2 B] receives [3 B, 4 B]",
            "allgatherv counts [5 B, 6 B]",
            "allgatherv counts [20 B, 24 B]",
            "allgatherv counts [20 B, 24 B]",
            "gatherv counts [5 B, 6 B] root 0",
            "scatterv counts [5 B, 6 B] root 0",
            "reduce_scatter counts [20 B, 24 B]",
            "compute 2 ns"
        ]
    );
}

/// The tracer writes counts at the root alone.
#[test]
fn a_rank_that_is_no_root_knows_its_own_count() {
    let text = "0 init\n0 gatherv 5 1 6 6\n0 scatterv 5 1 6 6\n1 init\n2 init\n3 init\n4 init\n";
    assert_eq!(
        calls(text, 0).unwrap().0,
        ["gatherv counts [5 B, 0 B x 4] root 1", "scatterv counts [5 B, 0 B x 4] root 1"]
    );
}

/// Of two or three ranks a line of a rank that is no root is as long as one with the counts of all.
#[test]
fn counts_of_few_ranks_differ_from_a_root_and_types() {
    let of = |ranks: usize, line: &str| {
        let (rank, _) = line.split_once(' ').unwrap();
        let init: String = (0..ranks).map(|rank| format!("{rank} init\n")).collect();
        let (calls, dropped) = calls(&format!("{init}{line}\n"), rank.parse().unwrap()).unwrap();
        assert_eq!(calls.len(), 1);
        (calls[0].clone(), dropped.len())
    };
    for (ranks, line, call) in [
        (2, "1 gatherv 5 0 1 1", "gatherv counts [0 B, 20 B] root 0"),
        (2, "0 gatherv 5 1 6 6", "gatherv counts [5 B, 0 B] root 1"),
        (2, "1 gatherv 6 5 6 0", "gatherv counts [0 B, 6 B] root 0"),
        (2, "0 gatherv 5 5 6", "gatherv counts [5 B, 6 B] root 0"),
        (2, "0 gatherv 5 5 6 0 1 1", "gatherv counts [20 B, 24 B] root 0"),
        (3, "1 gatherv 5 0 1 1", "gatherv counts [0 B, 20 B, 0 B] root 0"),
        (3, "0 gatherv 5 5 6 7", "gatherv counts [5 B, 6 B, 7 B] root 0"),
        (3, "0 gatherv 5 5 6 7 0", "gatherv counts [5 B, 6 B, 7 B] root 0"),
        (2, "1 scatterv 5 0 1 1", "scatterv counts [0 B, 20 B] root 0"),
        (2, "0 scatterv 5 6 5 0", "scatterv counts [5 B, 6 B] root 0"),
        (2, "0 scatterv 5 6 5 0 1 1", "scatterv counts [20 B, 24 B] root 0"),
        (3, "1 scatterv 5 0 1 1", "scatterv counts [0 B, 20 B, 0 B] root 0"),
        (3, "0 scatterv 5 6 7 5", "scatterv counts [5 B, 6 B, 7 B] root 0"),
    ] {
        assert_eq!(of(ranks, line), (call.to_owned(), 0), "{line}");
    }
    // Both can be: what the tracer writes is taken, and counted.
    assert_eq!(of(2, "1 gatherv 1 0 1 1"), ("gatherv counts [0 B, 4 B] root 0".to_owned(), 1));
    assert_eq!(of(3, "1 gatherv 1 0 1 1"), ("gatherv counts [0 B, 4 B, 0 B] root 0".to_owned(), 1));
    assert_eq!(of(2, "1 scatterv 5 0 0 1"), ("scatterv counts [0 B, 20 B] root 0".to_owned(), 1));
}

/// A wait names what a receive from anybody got, also where the lines are read ahead for the results of tests.
#[test]
fn requests_from_anybody_end_by_waits_and_not_by_tests() {
    let lines =
        ["init", "irecv -555 -444 8", "test 1 0 3", "compute 4", "wait 1 0 3", "irecv 1 3 8", "wait 1 0 3"];
    let expected = [
        "irecv 8 B from any tag any as r0",
        "compute 2 ns",
        "wait r0",
        "irecv 8 B from 1 tag 3 as r0",
        "wait r0",
    ];
    assert_eq!(of_one(&lines), expected);
    let lines = ["init", "irecv -1 -1 8", "test 1 0 3", "compute 4"];
    assert_eq!(of_one(&lines), ["irecv 8 B from any tag any as r0", "test r0", "compute 2 ns"]);
}

#[test]
fn messages_that_could_have_a_type_are_counted() {
    let dropped = |lines: &str| calls(&format!("0 init\n1 init\n{lines}"), 0).unwrap().1;
    assert!(
        dropped("0 send 1 1024 6\n0 send 1 24 6\n")[0]
            .starts_with("2 messages are taken to have a tag and a size")
    );
    // A size that is no type, or any other line that tells, decides for all.
    for decides in ["0 send 1 0 1e6\n", "1 recv 0 1 1000 6\n", "1 recv 0 1\n", "1 wait 0 1 5\n"] {
        assert_eq!(dropped(&format!("{decides}0 send 1 1024 6\n")), [""; 0], "{decides}");
    }
}

#[test]
fn what_has_no_effect_is_counted() {
    let text = "0 init\n0 comm_size 2\n0 comm_split 0 1\n0 location a 3\n0 wait 0 1 5\n0 finalize\n1 init\n1 comm_split 1 1\n";
    let (first, dropped) = calls(text, 0).unwrap();
    assert_eq!((first.len(), dropped.len()), (0, 2));
    assert!(dropped[0].starts_with("1 calls that split") && dropped[1].starts_with("1 waits"), "{dropped:?}");
}

#[test]
fn damage_names_its_line() {
    let refused = |line: &str| calls(&format!("0 init\n\n0 {line}\n1 init\n"), 0).unwrap_err();
    for (line, part) in [
        ("send", "x:3: send: the partner is missing"),
        ("send 1 0 -4", "x:3: send: the size cannot be `-4`"),
        ("send 1 0 4 99", "there is no type `99`"),
        ("send -3 0 4", "there is no rank -3"),
        ("send 1 -4 4", "-4 is no tag"),
        ("recv 99999999999 0 4", "there is no rank"),
        ("compute x", "the operations cannot be `x`"),
        ("compute -1", "the operations cannot be"),
        ("alltoallv 3 1 1 3 1", "the count of rank 1 is missing"),
        ("gather 1 1 x", "the root cannot be `x`"),
        ("dance", "dance: this action is not known"),
        ("wait 1", "the destination is missing"),
        ("send 1 0 4611686018427387905", "4611686018427387905 elements of 1 B are too large"),
        ("bcast 1e18 0 54", "1000000000000000000 elements of 32 B are too large"),
        ("sendrecv 1 1 1e19 1", "elements of 1 B are too large"),
        ("alltoallv 0 1e19 0 0 0 0", "elements of 1 B are too large"),
        ("gatherv 1e19 0 6 6", "elements of 1 B are too large"),
        ("compute 1e300", "is too long"),
        ("sleep 5e6", "a computation of 5000000 s is too long"),
        ("", "an action is missing"),
    ] {
        assert!(refused(line).contains(part), "{line}: {}", refused(line));
    }
}

#[test]
fn changed_bytes_never_panic() {
    let text = "0 init\n0 isend 1 0 1e6 6\n0 test 0 1 0\n0 wait 0 1 0\n0 allgatherv 5 5 6 1 1 0 5\n1 init\n1 recv 0 0 1e6\n1 compute 1e9\n\
                1 allgatherv 5 5 6\n";
    let bytes = text.as_bytes();
    for at in 0..bytes.len() {
        for change in [0, b' ', b'9', b'-', b'e', 0xff] {
            let mut changed = bytes.to_vec();
            changed[at] = change;
            let read = Content::read(&Input::bytes("x", &changed), Scale::DEFAULT);
            // Whatever it holds, it is counted or refused.
            let _ = read.map(|(_, content)| Census::of(&content));
            let _ = Content::read(&Input::bytes("x", &bytes[..at]), Scale::DEFAULT)
                .map(|(_, content)| Census::of(&content));
        }
    }
}

/// Files of ranks are found by the name of any; files that only look like it are traces of their own.
#[test]
fn files_of_ranks_are_found_by_the_name_of_one() {
    let folder = std::env::temp_dir().join(format!("netloom-ti-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let read = |name: &str| {
        let read = Content::read(&Input::file(folder.join(name)), Scale::DEFAULT);
        read.map(|(_, content)| content.ranks()).map_err(|problems| {
            let problem = &problems[0];
            (problem.message.clone(), problem.help.clone().unwrap_or_default())
        })
    };
    for rank in 0..3 {
        write(&format!("t-{rank}.txt"), &format!("# by rank\n{rank} init\n{rank} barrier\n"));
        write(&format!("own-{rank}.txt"), "0 init\n0 compute 5\n");
        write(&format!("all-{rank}.txt"), "0 init\n1 init\n0 send 1 0 8\n1 recv 0 0 8\n");
    }
    for (name, ranks) in [("t", 3), ("own", 1), ("all", 2)] {
        for rank in 0..3 {
            assert_eq!(read(&format!("{name}-{rank}.txt")), Ok(ranks), "{name} {rank}");
        }
    }
    write("list", "t-0.txt\nt-1.txt\n");
    assert_eq!(read("list"), Ok(2));
    std::fs::remove_file(folder.join("t-1.txt")).unwrap();
    for name in ["t-0.txt", "t-2.txt"] {
        let (message, help) = read(name).unwrap_err();
        assert!(message.contains("the file of rank 1, ") && help.contains("a list file"), "{message} {help}");
    }
    write("last.txt", "5 init\n");
    let (message, help) = read("last.txt").unwrap_err();
    assert!(message.ends_with("last.txt: rank 0 has no line, but a later one has"), "{message}");
    assert!(help.contains("a list file"), "{help}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn an_unknown_action_is_named_with_its_line() {
    let refused = |text: &str| {
        let problems = Content::read(&Input::bytes("x", text.as_bytes()), Scale::DEFAULT).err().unwrap();
        problems[0].message.clone()
    };
    assert!(
        refused("# a\n\n0 begin 3\n0 barrier\n")
            .contains("line 3 begins with a rank, but `begin` is no action")
    );
    assert!(!refused("0 17 3\n").contains("no action") && !refused("a begin\n").contains("no action"));
}

#[test]
fn a_wait_for_nothing_is_a_wait() {
    assert_eq!(of_one(&["init", "waitall", "barrier"]), ["waitall []", "barrier"]);
}
