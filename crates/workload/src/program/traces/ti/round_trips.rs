//! What is written as a time-independent trace and read again sends the same messages and computes for the same times.

use super::*;
use crate::program::{
    Batch, Kind, Program,
    census::{Census, Matching},
    collective::{Chooser, TABLES},
    file::Content,
    lower::{Options, lower},
};

const MIXED: &str = "ranks 6
all {
  compute 1234567 ps
  irecv 100 B from (rank + 5) % size tag 3 as a
  isend 100 B to (rank + 1) % size tag 3 as b
  waitany a b done b
  wait a
  sendrecv 7 B to (rank + 1) % size tag 9 recv 7 B from (rank + 5) % size tag 9
  sendrecv 8 B to (rank + 1) % size recv 8 B from (rank + 5) % size
  send_init 64 B to (rank + 2) % size tag 4 as s
  recv_init 64 B from (rank + 4) % size tag 4 as r
  repeat 3 {
    start r s
    compute 3 us
    waitall
  }
  free s
  free r
  send 5 B to null
  barrier
  bcast 96 B root 2
  reduce 40 B root 1
  allreduce 8 KiB
  gather 3 B root 4
  gatherv counts [1 B, 2 B, 3 B, 4 B, 5 B, 6 B] root 1
  scatterv counts [1 B, 2 B, 3 B, 4 B, 5 B, 6 B] root 1
  allgatherv counts [1 B, 2 B, 3 B, 4 B, 5 B, 6 B]
  reduce_scatter counts [8 B x 6]
  reduce_scatter_block 16 B
  alltoallv sends [(rank) B x 6] receives [0 B, 1 B, 2 B, 3 B, 4 B, 5 B]
  scan 8 B
  iallreduce 8 B as c
  wait c
  dup world as d
  split world color rank % 2 key (0 - rank) as h
  allreduce 24 B comm h
  bcast 1 KiB root 1 comm h
  barrier comm d
  isend 11 B to (rank + 1) % size tag 3 comm d as x
  recv 11 B from any tag 3 comm d
  wait x
  neighbor_allgather 12 B with [(rank + 1) % size, (rank + 5) % size]
  free_comm h
}
";

fn script(text: &str, scale: Scale) -> Arc<dyn Script> {
    match Content::read(&Input::bytes("x", text.as_bytes()), scale) {
        Ok((_, Content::Script(script))) => script,
        Ok(_) => panic!("no calls"),
        Err(problems) => panic!("{problems:?}"),
    }
}

fn written(script: &dyn Script, speed: f64) -> (String, Vec<String>) {
    let chooser = Chooser::new(TABLES.iter().find(|t| t.about.name == "openmpi").expect("the table"));
    let mut writer = Writer::new(script, speed, chooser).expect("sound calls");
    let mut text = Vec::new();
    for rank in RankId::first(script.ranks()) {
        writer.rank(rank, &mut text).expect("memory");
    }
    (String::from_utf8(text).expect("text"), writer.losses())
}

/// Receivers and sizes of all that a rank sends, sorted.
fn sent(program: &dyn Program, rank: RankId) -> Vec<(RankId, u64)> {
    let (mut cursor, mut batch, mut sent) = (program.open(rank), Batch::default(), Vec::new());
    loop {
        batch.clear();
        cursor.fill(&mut batch).expect("it can be read");
        if batch.ops.is_empty() {
            sent.sort_unstable();
            return sent;
        }
        sent.extend(batch.ops.iter().filter(|op| op.kind == Kind::Send).map(|op| (op.peer, op.amount)));
    }
}

type Whole = (Vec<Vec<(RankId, u64)>>, Vec<u64>, Matching);

fn whole(script: Arc<dyn Script>) -> Whole {
    let ranks = script.ranks();
    let program = lower(script, Options::default()).expect("sound calls");
    let census = Census::of(&Content::Program(Arc::clone(&program))).expect("it can be read");
    (RankId::first(ranks).map(|rank| sent(&*program, rank)).collect(), census.compute, census.matching)
}

#[test]
fn what_is_read_back_sends_the_same() {
    for speed in [1e9, 3.7e10] {
        let scale = Scale { speed, ..Scale::DEFAULT };
        let before = script(MIXED, scale);
        let (text, losses) = written(&*before, speed);
        let after = script(&text, scale);
        let (before, after) = (whole(before), whole(after));
        assert_eq!(before.0, after.0, "{text}");
        assert_eq!(before.1, after.1);
        assert!(matches!(after.2, Matching::Exact | Matching::Open), "{:?}", after.2);
        let expected = [
            "6 waits for any of several became waits for those that were complete",
            "6 non-blocking collectives became blocking ones",
            "24 collectives on communicators or among neighbours became their messages",
        ];
        assert_eq!(losses[..3], expected);
        assert_eq!(losses.len(), 4, "{losses:?}");
    }
}

#[test]
fn requests_have_the_names_that_a_reader_looks_for() {
    let text = "ranks 2\nrank 0 {\nirecv 8 B from any tag any as a\nirecv 8 B from 1 tag 2 as b\nirecv 8 B from 1 tag 2 as c\n\
                compute 1 ns\nwait c\nwaitall b a\nisend 8 B to 1 tag 1 as f\nfree f\nprobe 8 B from 1\nrecv 8 B from 1\nssend 1 B to 1 tag 5\n}\n\
                rank 1 {\nsend 8 B to 0 tag 2\nsend 8 B to 0 tag 2\nsend 8 B to 0 tag 2\nrecv 8 B from 0 tag 1\nsend 8 B to 0\nrecv 1 B from 0 tag 5\n}\n";
    let (written, losses) = written(&*script(text, Scale::DEFAULT), 1e9);
    let first: Vec<&str> = written.lines().filter_map(|line| line.strip_prefix("0 ")).collect();
    let expected = [
        "init",
        "irecv -555 -444 8",
        "irecv 1 2 8",
        "irecv 1 2 8",
        "compute 1",
        "wait 1 0 2",
        "waitall",
        "isend 1 1 8",
        "recv 1 0 8",
        "send 1 5 1",
        "finalize",
    ];
    assert_eq!(first, expected);
    assert_eq!(
        losses,
        [
            "1 synchronous or buffered sends became ordinary ones",
            "1 probes were left out",
            "1 waits are for an earlier request with the same ranks and tag"
        ]
    );
}
