//! Everything of the format, everything that can be wrong with it, and writing what was read.

use super::{Ranks, call, read, write};
use crate::program::{
    ANY_TAG, Damage, UNKNOWN_BYTES,
    input::Input,
    mpi::{
        ANY_PEER, Call, Calls, Collective, CollectiveKind, Comm, CommRank, Envelope, Mode, PROC_NULL,
        Request, Script, WORLD,
    },
};
use base::{
    index::RankId,
    param::Problem,
    sorted::SortedMap,
    time::{NS, US},
    units::MAX_BYTES,
};
use proptest::prelude::*;
use std::sync::Arc;

fn parse(text: &str) -> Result<Ranks, Vec<Problem>> {
    read(&Input::bytes("x.ranks", text.as_bytes()))
}

fn calls(script: &dyn Script, rank: u32) -> Vec<Call> {
    let mut reader = script.open(RankId::new(rank));
    std::iter::from_fn(|| reader.next().unwrap()).map(|(call, _)| call).collect()
}

fn message(peer: u32, tag: u32, bytes: u64) -> Envelope {
    Envelope { peer: CommRank::new(peer), tag, bytes, comm: WORLD }
}

#[test]
fn calls_that_were_not_recorded_are_reported() {
    let script = parse("ranks 2\nmissing 3 MPI_Put\nmissing 1 MPI_Win_fence\nall { barrier }\n").unwrap();
    let dropped: Vec<String> = script.dropped().into_iter().map(|d| d.text).collect();
    assert_eq!(
        dropped,
        ["3 calls of MPI_Put were not recorded", "1 calls of MPI_Win_fence were not recorded"]
    );
    for (text, part) in [("missing MPI_Put", "a number of calls"), ("missing 3", "the name of a call")] {
        let message = &parse(&format!("ranks 2\n{text}\n")).unwrap_err()[0].message;
        assert!(message.contains(part), "{message}");
    }
    assert!(parse("ranks 2\nall {\nmissing 3 MPI_Put\n}\n").is_err());
}

#[test]
fn blocks_loops_and_numbers() {
    let text = "ranks 8 # eight\n\nall {\n repeat 2 as i {\n  isend 1 KiB to (rank + 1) % size tag i ^ 5\n  \
        irecv (rank+1) B from (rank-1)%size tag any as left\n  waitall\n }\n}\n\
        rank 0-2, 7 { compute 1.5 us }\nrank 7, 7, 6 { repeat rank - 6 { send 8 B to 7-rank } }\n";
    let script = parse(text).unwrap();
    assert_eq!((script.ranks(), script.makes_communicators()), (8, false));
    // `left` is request 0, the first without name is 1.
    let round = |tag| {
        [
            Call::Isend(message(4, tag, 1024), Mode::Standard, 1),
            Call::Irecv(message(2, ANY_TAG, 4), 0),
            Call::Waitall(Arc::from([0, 1])),
        ]
    };
    assert_eq!(calls(&script, 3), [round(5), round(4)].concat());
    let zero = calls(&script, 0);
    assert_eq!(zero[1], Call::Irecv(message(7, ANY_TAG, 1), 0));
    assert_eq!(zero[6..], [Call::Compute(1_500 * NS)]);
    let seven = calls(&script, 7);
    assert_eq!(seven[6..], [Call::Compute(1_500 * NS), Call::Send(message(0, 0, 8), Mode::Standard)]);
    assert_eq!(calls(&script, 6).len(), 6);
    let mut reader = script.open(RankId::new(7));
    let lines: Vec<u32> = std::iter::from_fn(|| reader.next().unwrap()).map(|c| c.1).collect();
    assert_eq!(lines, [5, 6, 7, 5, 6, 7, 10, 11]);
    assert_eq!(script.describe(RankId::new(7), 11), "x.ranks:11");
}

#[test]
fn millions_of_ranks_are_no_matter() {
    let script =
        parse("ranks 50000000\nall { barrier }\nrank 3-49999999, 7 { barrier }\nrank 3 { compute 1 ns }")
            .unwrap();
    for (rank, count) in [(0, 1), (3, 3), (7, 2), (49_999_999, 2)] {
        assert_eq!(calls(&script, rank).len(), count);
    }
}

#[test]
fn numbers_follow_the_usual_rules() {
    for (expression, value) in [
        ("2 + 3 * 4", 14),
        ("(2 + 3) * 4", 20),
        ("10 - 4 - 3", 3),
        ("-1 + 6", 5),
        ("7 / 2", 3),
        ("(0-1) % 5", 4),
        ("1 << 2 + 1", 8),
        ("12 >> 1 ^ 1", 7),
        ("size - rank", 15),
        ("-(rank) + 2 * size", 31),
    ] {
        let script = parse(&format!("ranks 16\nrank 1 {{ send 1 B to 0 tag {expression} }}")).unwrap();
        assert_eq!(calls(&script, 1), [Call::Send(message(0, value, 1), Mode::Standard)], "{expression}");
    }
}

const ALL: &str = "ranks 2
all {
  compute 5 ns
  send 1 B to 1
  ssend 2 B to 1 tag 3
  bsend 3 B to null
  recv 4 B from any tag any
  isend 1 B to 1 as r0
  issend 1 B to 1 as r1
  ibsend 1 B to 1 as r2
  irecv 1 B from 0 as r3
  test
  test r0
  waitany r1 r2
  waitany r2 r3 done r3
  wait r2
  sendrecv 8 B to 1 recv 8 B from 0 tag 9
  send_init 1 B to 1 as r0
  ssend_init 1 B to 1 as r1
  bsend_init 1 B to 1 as r2
  recv_init 1 B from null as r3
  start r0 r3
  waitall r0 r3
  free r0
  probe 1 B from 0 tag 1
  dup world as c1
  split world color none key 0 as c2
  split c1 color 0 key -1 as c2
  create world group [0, 1] as c3
  define [1, 0] as c4
  free_comm c1
  barrier
  ibarrier comm c2 as r4
  bcast 1 KiB root 1
  gather 8 B root 0
  gatherv counts [8 B, 9 B] root 0
  scatter 8 B root 0
  scatterv counts [8 B x 2] root 0
  allgather 8 B
  allgatherv counts [8 B x 2]
  alltoall 8 B
  alltoallv sends [8 B, 9 B] receives [9 B, 8 B]
  alltoallw sends [8 B, 9 B] receives [9 B, 8 B]
  reduce 8 B root 0
  iallreduce 8 B comm c3 as r5
  reduce_scatter counts [8 B x 2]
  reduce_scatter_block 8 B
  scan 8 B
  exscan 8 B
  neighbor_allgather 8 B with [0, 1]
  ineighbor_alltoall 8 B with [1] as r6
  waitall r4 r5 r6
  waitall []
}
";

fn written(script: &dyn Script) -> String {
    let mut text = Vec::new();
    write(script, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn every_call_is_read_and_written() {
    let script = parse(ALL).unwrap_or_else(|p| panic!("{p:?}"));
    assert!(script.makes_communicators());
    let all = calls(&script, 1);
    assert_eq!(all.len(), 51);
    let again = written(&script);
    let body = ALL.split_once("{\n").unwrap().1;
    assert_eq!(again, format!("ranks 2\n\nrank 0 {{\n{body}\nrank 1 {{\n{body}"));
    assert_eq!(all[2], Call::Send(message(1, 3, 2), Mode::Synchronous));
    assert_eq!(all[3], Call::Send(message(PROC_NULL.number(), 0, 3), Mode::Buffered));
    assert_eq!(all[4], Call::Recv(message(ANY_PEER.number(), ANY_TAG, 4)));
    assert_eq!(all[12], Call::Waitany { requests: Arc::from([2, 3]), completed: Arc::from([3]) });
    assert_eq!(all[25], Call::CommSplit { comm: 1, color: Some(0), key: -1, new: 2 });
    assert_eq!(all[26], Call::CommCreate { comm: 0, group: Arc::from([0, 1].map(CommRank::new)), new: 3 });
    assert_eq!(all[27], Call::CommDefine { group: Arc::from([1, 0].map(CommRank::new)), new: 4 });
    let Call::Collective(v) = &all[39] else { panic!("{:?}", all[39]) };
    assert_eq!((v.kind, v.counts.as_deref()), (CollectiveKind::Alltoallv, Some(&[8, 9, 9, 8][..])));
    let Call::Collective(i) = &all[48] else { panic!("{:?}", all[48]) };
    assert_eq!((i.request, i.neighbours.as_deref()), (Some(6), Some(&[CommRank::new(1)][..])));
}

/// Traces may not know the size of what they wait for: what is written of that is read again.
#[test]
fn unknown_sizes_are_written_as_sizes_that_can_be_read() {
    let unknown = message(1, 3, UNKNOWN_BYTES);
    let mut text = "ranks 2\nrank 0 {\n".to_owned();
    for made in [Call::Recv(unknown), Call::Probe(unknown)] {
        call(&mut text, &made);
        text.push('\n');
    }
    let script = parse(&(text + "}\n")).unwrap_or_else(|p| panic!("{p:?}"));
    assert_eq!(calls(&script, 0), [Call::Recv(message(1, 3, MAX_BYTES)), Call::Probe(message(1, 3, 0))]);
}

/// What is reported of a line in a block of rank 0 of 4.
fn reported(line: &str) -> (u64, String, String) {
    let problems =
        parse(&format!("ranks 4\nrank 0 {{\nisend 1 B to 1 as left\n{line}\n}}\n")).err().unwrap_or_default();
    assert_eq!(problems.len(), 1, "{line}: {problems:?}");
    let at = problems[0].input.clone().unwrap();
    let said = format!("{} | {}", problems[0].message, problems[0].help.as_deref().unwrap_or(""));
    (at.line, said, at.text[at.start..at.end].to_owned())
}

#[test]
fn says_what_is_wrong_and_where() {
    for (line, message, mark) in [
        ("sned 8 B to 1", "`sned` is no statement | did you mean `send`?", "sned"),
        ("allreduc 8 B", "did you mean `allreduce`?", "allreduc"),
        ("send 8 to 1", "`8` has no unit, but a number of bytes needs one | write \"8 B\"", "8"),
        ("send 8 KB to 1", "`KB` is not a unit of data | did you mean `kB`?", "8 KB"),
        ("compute 3 B", "`B` measures a number of bytes, but a time is wanted here", "3 B"),
        ("compute (3) B", "`B` measures a number of bytes", "(3) B"),
        ("compute soon", "a time such as `10 ns` is wanted here, not `soon`", "soon"),
        ("send 8 B from 1", "`to` is wanted here, not `from`", "from"),
        ("send 8 B to any", "`any` is no number | there are rank, size", "any"),
        ("send 8 B to", "the line ends where a number is wanted", ""),
        ("send 8 B to 1 2", "the end of the line is wanted here, not `2`", "2"),
        ("wait lefd", "no request was called `lefd` | did you mean `left`?", "lefd"),
        ("barrier comm wrold", "a communicator is wanted here, not `wrold` | did you mean `world`?", "wrold"),
        ("gatherv counts [8 B x 3] root 0", "this list has 3 entries, but 4 are wanted", "counts"),
        ("bcast 8 B root 1.5", "a whole number is a whole number below 2^64", "1.5"),
        ("repeat 3 as rank { }", "`rank` has a meaning already", "rank"),
        ("dup world as world", "`world` is the communicator of all ranks", "world"),
        // Found by running the ranks: the whole line is shown.
        ("send 8 B to 4", "rank 0: there is no rank 4: the 4 ranks count from 0", "send 8 B to 4"),
        ("send 8 B to rank - 1", "rank 0: there is no rank -1", "send 8 B to rank - 1"),
        ("send 8 B to 1/rank", "rank 0: 1 divided by 0 has no meaning", "send 8 B to 1/rank"),
        ("send 8 B to 1 tag -5", "tags are 0 to 4294967294, this is -5", "send 8 B to 1 tag -5"),
        ("compute (rank-1) us", "a time cannot be negative (-1)", "compute (rank-1) us"),
        ("compute (1<<50) s", "a time is too large", "compute (1<<50) s"),
        ("isend 8 B to 2 as left", "the request `left` is still open: wait for it", "isend 8 B to 2 as left"),
        ("waitall left left", "there is no open request `left` here", "waitall left left"),
        ("start left", "`left` was not made by send_init or recv_init", "start left"),
        ("free_comm world", "the world cannot be freed", "free_comm world"),
        ("repeat rank - 1 { barrier }", "-1 times cannot be", "repeat rank - 1 { barrier }"),
        (
            "repeat 1000000000000 { repeat rank { barrier } }",
            "again and again without a call",
            "repeat 1000000000000 { repeat rank { barrier } }",
        ),
    ] {
        let (at, said, marked) = reported(line);
        assert!(said.contains(message), "{line:?}: {said:?}");
        assert_eq!((at, marked.as_str()), (4, mark), "{line:?}");
    }
    let (at, said, _) = reported("split world color none as half\nbarrier comm half");
    assert!(at == 5 && said.contains("this rank has no communicator `half` here"), "{said}");
}

#[test]
fn structure() {
    for (text, message) in [
        ("", "x.ranks: the number of ranks is missing | a program begins with `ranks N`"),
        ("ranks 0", "the number of ranks is 1 to"),
        ("all {\n}", "the number of ranks is not known yet"),
        ("ranks 2\nbarrier", "`barrier` stands outside of any block | open one with `all {`"),
        ("ranks 2\nrnak 0 {\n}", "did you mean `rank`?"),
        ("ranks 2\nall {\nbarrier", "the file ends within this | `}` is missing"),
        ("ranks 2\nall {\nbarrier\nrank 1 {\n}", "the block of line 2 is still open"),
        ("ranks 2\nrank 0-2 {\n}", "there is no rank 2: the 2 ranks count from 0"),
        ("ranks 2\n}", "nothing is open that this could close"),
        ("ranks 2\nranks 2", "given once"),
        ("ranks 2\nall\n{ }", "the line ends where `{` is wanted"),
    ] {
        let problems = parse(text).err().unwrap_or_else(|| panic!("{text:?} is read"));
        let said = format!("{} | {}", problems[0].message, problems[0].help.clone().unwrap_or_default());
        assert!(said.contains(message), "{text:?}: {said}");
    }
    assert!(read(&Input::bytes("x", b"ranks 2\n\xff")).is_err_and(|p| p[0].message.contains("UTF-8")));
    let deep = format!("ranks 1\nall {{ send 1 B to {}0{} }}", "(".repeat(9000), ")".repeat(9000));
    assert!(parse(&deep).is_err_and(|p| p[0].message.contains("too long")));
    let deep = format!("ranks 1\nall {{ {} {} }}", "repeat 2 {".repeat(9000), "}".repeat(9000));
    assert!(parse(&deep).is_err_and(|p| p[0].message.contains("nested too deeply")));
}

#[test]
fn what_the_check_at_load_does_not_reach_is_damage() {
    let script = parse("ranks 2\nrank 0 {\nrepeat 5000000 { barrier }\nsend 1 B to 2\n}").unwrap();
    let mut reader = script.open(RankId::new(0));
    let damage = loop {
        match reader.next() {
            Ok(call) => assert!(call.is_some(), "the mistake was not met"),
            Err(damage) => break damage,
        }
    };
    assert_eq!(damage, Damage("x.ranks:4: there is no rank 2: the 2 ranks count from 0".to_owned()));
}

/// Any calls, kept lawful by making and completing what they need.
struct Made(Vec<Vec<Call>>);

impl Script for Made {
    fn ranks(&self) -> u32 {
        self.0.len() as u32
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(MadeCalls(self.0[rank.index()].clone().into_iter()))
    }

    fn describe(&self, _: RankId, _: u32) -> String {
        String::new()
    }
}

struct MadeCalls(std::vec::IntoIter<Call>);

impl Calls for MadeCalls {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        Ok(self.0.next().map(|call| (call, 0)))
    }
}

fn some_calls() -> impl Strategy<Value = Vec<Call>> {
    let peer = prop_oneof![4 => (0u32..3).prop_map(CommRank::new), 1 => Just(PROC_NULL)];
    let mode = prop::sample::select(vec![Mode::Standard, Mode::Synchronous, Mode::Buffered]);
    let one = (0u32..7, peer, prop_oneof![Just(0), Just(ANY_TAG), 1u32..9999], 0u64..1 << 40, mode);
    prop::collection::vec(one, 0..12).prop_map(|seeds| {
        let mut made = vec![Call::CommDup { comm: WORLD, new: 7 }];
        let mut open = Vec::new();
        for (request, (which, peer, tag, bytes, mode)) in (100u32..).zip(seeds) {
            let comm: Comm = if bytes % 3 == 0 { 7 } else { WORLD };
            let recv = Envelope { peer, tag, bytes, comm };
            let send = Envelope { tag: if tag == ANY_TAG { 0 } else { tag }, ..recv };
            made.push(match which {
                0 => Call::Compute(bytes * US / 7),
                1 => Call::Isend(send, mode, request),
                2 => Call::Irecv(Envelope { peer: ANY_PEER, ..recv }, request),
                3 => Call::SendRecv(send, recv),
                4 => Call::Probe(recv),
                _ => Call::Collective(Collective {
                    kind: CollectiveKind::Allgatherv,
                    comm,
                    root: CommRank::new(0),
                    bytes: 0,
                    counts: Some(Arc::from([bytes, bytes, u64::from(tag)])),
                    neighbours: None,
                    request: Some(request),
                    algorithm: None,
                }),
            });
            if matches!(which, 1 | 2 | 5 | 6) {
                open.push(request);
            }
        }
        if !open.is_empty() {
            made.push(Call::Waitall(open.into()));
        }
        made
    })
}

/// Requests and communicators numbered in the order in which they appear in the text.
fn renumbered(script: &dyn Script) -> Vec<String> {
    let (mut requests, mut comms) = (SortedMap::<Request, usize>::new(), SortedMap::<Comm, usize>::new());
    let mut lines = Vec::new();
    for line in written(script).lines() {
        let word = |word: &str| {
            let bare = word.trim_end_matches(',');
            let number = || bare[1..].parse::<u32>().ok();
            match bare.as_bytes().first() {
                Some(b'r') if number().is_some() => {
                    let next = requests.len();
                    format!("r{}", requests.entry(number().unwrap_or(0)).or_insert(next))
                }
                Some(b'c') if number().is_some() => {
                    let next = comms.len();
                    format!("c{}", comms.entry(number().unwrap_or(0)).or_insert(next))
                }
                _ => word.to_owned(),
            }
        };
        lines.push(line.split(' ').map(word).collect::<Vec<_>>().join(" "));
    }
    lines
}

proptest! {
    #[test]
    fn what_is_written_is_read(ranks in prop::collection::vec(some_calls(), 3)) {
        let made = Made(ranks);
        let text = written(&made);
        let read = parse(&text).unwrap_or_else(|p| panic!("{p:?}\n{text}"));
        prop_assert_eq!(renumbered(&made), renumbered(&read));
        for rank in 0..3 {
            let numbers = |call: &Call| match call {
                Call::Compute(ps) => Some(*ps),
                Call::Collective(c) => c.counts.as_ref().map(|c| c[0]),
                _ => None,
            };
            let (before, after) = (calls(&made, rank), calls(&read, rank));
            prop_assert_eq!(before.iter().map(numbers).collect::<Vec<_>>(), after.iter().map(numbers).collect::<Vec<_>>());
        }
    }

    #[test]
    fn changed_texts(at in any::<prop::sample::Index>(), with in "\\PC{0,3}|[{}\n0-9a-z :%<-]{0,6}|repeat 9 \\{|rank|1e9", length in 0usize..8) {
        let mut text = ALL.to_owned();
        let start = at.index(text.len());
        text.replace_range(start..(start + length).min(text.len()), &with);
        match parse(&text) {
            Ok(script) => drop(written(&script)),
            Err(problems) => prop_assert!(!problems.is_empty()),
        }
    }
}
