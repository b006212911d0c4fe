//! Single calls: which operations they become, and how mistakes are reported.

use super::execute::{Executor, Listed, Run};
use crate::program::{
    ANY_TAG, After, Batch, Damage, Kind, Op, Program,
    collective::{Chooser, TABLES},
    lower::{Options, lower},
    mpi::{ANY_PEER, Call, Collective, CollectiveKind, CommRank, Envelope, Mode, PROC_NULL, WORLD},
};
use base::index::RankId;
use std::sync::Arc;

pub(super) fn options() -> Options {
    Options { chooser: Chooser::new(&TABLES[0]), reduce_ps_per_byte: 0 }
}

/// A program of these calls; a call's position is its place in the list.
pub(super) fn program(ranks: Vec<Vec<Call>>) -> Result<Arc<dyn Program>, Damage> {
    let number = |calls: Vec<Call>| calls.into_iter().zip(0..).collect();
    let ranks = ranks.into_iter().map(number).collect();
    lower(Arc::new(Listed { ranks, makes_communicators: true }), options())
}

fn message(peer: u32) -> Envelope {
    Envelope { peer: CommRank::new(peer), tag: 5, bytes: 100, comm: WORLD }
}

fn send(peer: u32) -> Call {
    Call::Send(message(peer), Mode::Standard)
}

fn isend(peer: u32, request: u32) -> Call {
    Call::Isend(message(peer), Mode::Standard, request)
}

fn collective(kind: CollectiveKind, bytes: u64) -> Collective {
    let (counts, neighbours) = (None, None);
    Collective {
        kind,
        comm: WORLD,
        root: CommRank::new(0),
        bytes,
        counts,
        neighbours,
        request: None,
        algorithm: None,
    }
}

/// All operations of a rank, in one batch.
fn ops(program: &Arc<dyn Program>, rank: u32) -> Batch {
    let (mut all, mut batch, mut cursor) =
        (Batch::default(), Batch::default(), program.open(RankId::new(rank)));
    loop {
        batch.clear();
        cursor.fill(&mut batch).unwrap();
        if batch.ops.is_empty() {
            return all;
        }
        all.ops.append(&mut batch.ops);
        all.edges.append(&mut batch.edges);
    }
}

/// Kind and what it depends on: the operation before as `s` (started) or `f` (finished), others as numbers, `s` if started.
fn shape(batch: &Batch) -> String {
    let one = |(n, op): (u64, &Op)| {
        let kind = match op.kind {
            Kind::Send => "send",
            Kind::Recv => "recv",
            Kind::Calc => "calc",
            Kind::Join => "join",
            Kind::JoinAny => "any",
            Kind::Probe => "probe",
        };
        let after = match op.after {
            After::Nothing => "",
            After::Start => ":s",
            After::Finish => ":f",
        };
        let edges = batch.edges.iter().filter(|e| e.after == n);
        let edges: String =
            edges.map(|e| format!("+{}{}", e.before, if e.on_start { "s" } else { "" })).collect();
        format!("{kind}{after}{edges}")
    };
    (0..).zip(&batch.ops).map(one).collect::<Vec<_>>().join(" ")
}

fn shape_of(calls: Vec<Call>) -> String {
    shape(&ops(&program(vec![calls, vec![], vec![]]).unwrap(), 0))
}

fn damage(calls: Vec<Call>) -> String {
    let program = program(vec![calls, vec![], vec![]]).unwrap();
    let (mut batch, mut cursor) = (Batch::default(), program.open(RankId::new(0)));
    loop {
        batch.clear();
        if let Err(damage) = cursor.fill(&mut batch) {
            return damage.0;
        }
        assert!(!batch.ops.is_empty(), "no mistake was told");
    }
}

fn run(ranks: Vec<Vec<Call>>, eager: u64) -> Result<Run, String> {
    Executor::new(&program(ranks).map_err(|d| d.0)?, eager, 1).run()
}

#[test]
fn blocking_calls_follow_each_others_ends() {
    let calls = vec![Call::Compute(7), send(1), Call::Recv(message(1)), Call::Probe(message(2)), send(2)];
    assert_eq!(shape_of(calls), "calc send:f recv:f probe:f send:f");
}

/// A trace whose clock jumped: every format that can be written holds 2^62 ps at most.
#[test]
fn computations_end_in_time() {
    assert!(damage(vec![Call::Compute((1 << 62) + 1)]).contains("longer than 2^62 ps"));
    assert_eq!(shape_of(vec![Call::Compute(1 << 62)]), "calc");
}

#[test]
fn requests_keep_posting_order_and_waits_are_joins() {
    let calls = vec![
        isend(1, 0),
        Call::Irecv(message(1), 1),
        Call::Compute(1),
        Call::Wait(0),
        Call::Wait(1),
        send(1),
    ];
    assert_eq!(shape_of(calls), "send recv:s calc:s join:f+0 join:f+1 send:f");
    let calls = vec![isend(1, 0), Call::Irecv(message(1), 1), Call::Waitall([0, 1].into()), send(1)];
    assert_eq!(shape_of(calls), "send recv:s join:f+0 send:f");
    let calls = vec![send(1), Call::SendRecv(message(1), message(2)), Call::Compute(1)];
    assert_eq!(shape_of(calls), "send recv:f send:s calc:f+1");
}

#[test]
fn a_request_number_may_be_used_again_after_its_wait() {
    let calls =
        vec![isend(1, 9), Call::Wait(9), isend(1, 9), Call::Wait(9), isend(1, 1 << 20), Call::Wait(1 << 20)];
    assert_eq!(shape_of(calls), "send join:f send:f join:f send:f join:f");
}

#[test]
fn the_null_process_moves_nothing() {
    let calls = vec![
        send(PROC_NULL.number()),
        Call::Recv(message(PROC_NULL.number())),
        Call::Probe(message(PROC_NULL.number())),
        Call::SendRecv(message(PROC_NULL.number()), message(1)),
        isend(PROC_NULL.number(), 0),
        Call::Wait(0),
    ];
    assert_eq!(shape_of(calls), "recv join:f");
}

#[test]
fn waitany_needs_one_or_those_that_the_source_saw() {
    let requests: Arc<[u32]> = [0, 1].into();
    let any = |completed: &[u32]| Call::Waitany { requests: requests.clone(), completed: completed.into() };
    let start = vec![isend(1, 0), isend(2, 1)];
    let unknown = [start.clone(), vec![any(&[]), any(&[]), any(&[]), Call::Compute(1)]].concat();
    assert_eq!(shape_of(unknown), "send send:s any+0+1 join+1s+2 any+1 join+3+4 join:f calc:f");
    let columns = [start.clone(), vec![any(&[1]), Call::Wait(0)]].concat();
    assert_eq!(shape_of(columns), "send send:s join:f join:f+0");
    let test = |completed: &[u32]| Call::Test { completed: completed.into() };
    let tested = [start, vec![test(&[]), test(&[0]), Call::Wait(1)]].concat();
    assert_eq!(shape_of(tested), "send send:s join:s+0 join:f+1");
}

#[test]
fn persistent_requests_start_many_times() {
    let start = || Call::Start([3, 4].into());
    let calls = vec![
        Call::SendInit(message(1), Mode::Synchronous, 3),
        Call::RecvInit(message(1), 4),
        start(),
        Call::Waitall([3, 4].into()),
        start(),
        Call::Waitall([3, 4].into()),
        Call::Wait(3),
        Call::RequestFree(3),
    ];
    let batch = ops(&program(vec![calls, vec![]]).unwrap(), 0);
    assert_eq!(shape(&batch), "send recv:s join:f+0 send:f recv:s join:f+3 join:f");
    assert_eq!(batch.ops[0].mode, Mode::Synchronous);
}

#[test]
fn modes_decide_who_waits() {
    let crossing = |mode| {
        let rank = |peer| vec![Call::Send(message(peer), mode), Call::Recv(message(peer))];
        vec![rank(1), rank(0)]
    };
    assert!(run(crossing(Mode::Standard), 100).is_ok());
    assert!(run(crossing(Mode::Standard), 99).unwrap_err().contains("stuck"));
    assert!(run(crossing(Mode::Synchronous), 100).is_err());
    assert!(run(crossing(Mode::Buffered), 0).is_ok());
}

#[test]
fn a_nonblocking_collective_goes_on_beside_the_chain() {
    let ibarrier =
        Call::Collective(Collective { request: Some(0), ..collective(CollectiveKind::Barrier, 0) });
    let calls = vec![Call::Compute(1), ibarrier.clone(), send(1), Call::Wait(0)];
    let program = program(vec![calls, vec![], vec![], vec![]]).unwrap();
    assert_eq!(
        shape(&ops(&program, 0)),
        "calc recv:f send:s recv:f+1 send:s join:f+3 join+0 send:f join:f+5"
    );
    // Rank 1 enters only when it has the message, which rank 0 sends after it has entered.
    let first = vec![ibarrier.clone(), send(1), Call::Wait(0)];
    let second = vec![Call::Recv(message(0)), ibarrier, Call::Wait(0)];
    assert!(run(vec![first, second], 0).is_ok());
}

#[test]
fn a_large_collective_comes_in_small_batches() {
    let alltoall = Call::Collective(collective(CollectiveKind::Alltoall, 10));
    let ranks = 300;
    let run = run(vec![vec![alltoall.clone(), alltoall]; ranks], 100).unwrap();
    assert_eq!(run.matches.len(), 2 * ranks * (ranks - 1));
    assert!(run.largest_batch <= 128, "{}", run.largest_batch);
}

#[test]
fn reductions_cost_time_if_asked_to() {
    let calls = vec![(Call::Collective(collective(CollectiveKind::Allreduce, 100)), 0)];
    let script = Arc::new(Listed { ranks: vec![calls; 2], makes_communicators: false });
    let program = lower(script, Options { reduce_ps_per_byte: 3, ..options() }).unwrap();
    let batch = ops(&program, 0);
    assert_eq!(shape(&batch), "recv send:s calc:f+0");
    assert_eq!(batch.ops[2].amount, 300);
    assert_eq!(program.collectives()[usize::from(batch.ops[2].collective) - 1], "MPI_Allreduce");
}

#[test]
fn communicators_translate_ranks_and_keep_messages_apart() {
    // Ranks 0..6 split into even and odd, in reverse order: rank 0 of the evens is 4, of the odds 5.
    let rank = |r: u32| {
        let key = -i64::from(r);
        let split = Call::CommSplit { comm: WORLD, color: (r != 3).then_some(r % 2), key, new: 7 };
        let within = |peer| Envelope { comm: 7, ..message(peer) };
        let mut calls = vec![split];
        match r {
            4 => calls.push(Call::Send(within(2), Mode::Standard)),
            0 => calls.push(Call::Recv(Envelope { peer: ANY_PEER, tag: ANY_TAG, ..within(0) })),
            5 => calls.push(Call::Send(within(1), Mode::Standard)),
            1 => calls.push(Call::Recv(within(0))),
            _ => {}
        }
        if r != 3 {
            let bcast = collective(CollectiveKind::Bcast, 10);
            calls.push(Call::Collective(Collective { comm: 7, ..bcast }));
            calls.push(Call::CommFree(7));
        }
        calls
    };
    let run = run((0..6).map(rank).collect(), 0).unwrap();
    let mut sent: Vec<_> = run.matches.iter().filter(|m| m.send.tag == 5).map(|m| (m.from, m.to)).collect();
    sent.sort_unstable();
    assert_eq!(sent, [(4, 0), (5, 1)]);
    let bcasts = run.matches.iter().filter(|m| m.send.amount == 10);
    let mut bcasts: Vec<_> = bcasts.map(|m| (m.from, m.to)).collect();
    bcasts.sort_unstable();
    assert_eq!(bcasts, [(4, 0), (4, 2), (5, 1)]);
}

#[test]
fn created_and_duplicated_communicators_work_too() {
    let rank = |r: u32| {
        let group: Arc<[CommRank]> = [3, 1].map(CommRank::new).into();
        let dup = Call::CommDup { comm: WORLD, new: 1 };
        let mut calls = vec![dup, Call::CommCreate { comm: 1, group, new: 2 }];
        if r % 2 == 1 {
            let barrier = collective(CollectiveKind::Barrier, 0);
            calls.push(Call::CommDup { comm: 2, new: 3 });
            calls.push(Call::Collective(Collective { comm: 3, ..barrier }));
        }
        let scan = collective(CollectiveKind::Scan, 11);
        calls.push(Call::Collective(Collective { comm: 1, ..scan }));
        calls
    };
    let run = run((0..4).map(rank).collect(), 1000).unwrap();
    let contexts: base::sorted::SortedSet<u32> = run.matches.iter().map(|m| m.send.context).collect();
    assert_eq!(contexts.len(), 4, "world, its copy, the pair, its copy: {contexts:?}");
}

/// Ranks say what is there: no operation, and each definition of a group is a communicator of its own.
#[test]
fn communicators_that_are_there_cost_nothing() {
    let define = |group: [u32; 2], new| Call::CommDefine { group: group.map(CommRank::new).into(), new };
    let to = |comm, peer| Envelope { comm, ..message(peer) };
    let ranks = vec![
        vec![define([2, 0], 1), define([2, 0], 2), Call::Send(to(1, 0), Mode::Standard)],
        vec![define([2, 0], 1)],
        vec![define([2, 0], 7), define([2, 0], 9), Call::Recv(to(7, 1))],
    ];
    let done = run(ranks.clone(), 0).unwrap();
    assert_eq!(done.matches.iter().map(|m| (m.from, m.to)).collect::<Vec<_>>(), [(0, 2)]);
    let program = program(ranks).unwrap();
    assert_eq!([0, 1, 2].map(|rank| ops(&program, rank).ops.len()), [1, 0, 1]);
}

#[test]
fn mistakes_are_reported_with_their_place() {
    let columns = |calls| damage(calls);
    assert_eq!(columns(vec![Call::Wait(3)]), "trace.0:0: rank 0: there is no open request 3");
    let message_0 = "trace.0:1: rank 0: request 2 is used again, but nothing has waited for it";
    assert_eq!(columns(vec![isend(1, 2), isend(1, 2)]), message_0);
    assert_eq!(
        columns(vec![send(3)]),
        "trace.0:0: rank 0: rank 3 is not among the 3 ranks of its communicator"
    );
    let foreign = Call::Recv(Envelope { comm: 4, ..message(1) });
    assert_eq!(columns(vec![foreign]), "trace.0:0: rank 0: communicator 4 is not known here");
    let wild = Call::Send(Envelope { tag: ANY_TAG, ..message(1) }, Mode::Standard);
    assert_eq!(columns(vec![wild]), "trace.0:0: rank 0: a send cannot have any tag");
    assert!(columns(vec![send(ANY_PEER.number())]).contains("is not among"));
    let init = Call::SendInit(message(1), Mode::Standard, 0);
    let start = || Call::Start([0].into());
    assert!(columns(vec![init, start(), start()]).ends_with("request 0 is started twice"));
    assert!(columns(vec![isend(1, 0), start()]).ends_with("request 0 is not persistent"));
    assert!(columns(vec![Call::RequestFree(0)]).ends_with("there is no open request 0"));
    assert!(columns(vec![Call::CommFree(WORLD)]).ends_with("cannot be freed"));
    let mut bad = collective(CollectiveKind::Bcast, 1);
    bad.root = CommRank::new(8);
    assert!(columns(vec![Call::Collective(bad)]).contains("root 8"));
}

#[test]
fn ranks_that_miss_a_communicator_call_are_reported() {
    let dup = |comm| Call::CommDup { comm, new: 1 };
    let columns = |ranks| program(ranks).err().unwrap().0;
    let missing = columns(vec![vec![send(1), dup(WORLD)], vec![]]);
    assert_eq!(missing, "trace.0:1: rank 0: only 1 of 2 ranks of communicator 0 make this call");
    let split = Call::CommSplit { comm: WORLD, color: None, key: 0, new: 1 };
    assert!(columns(vec![vec![dup(WORLD)], vec![split]]).contains("another call"));
    assert!(columns(vec![vec![dup(5)], vec![dup(5)]]).contains("communicator 5 is not known"));
    let create = |group: [u32; 2]| {
        let group = group.map(CommRank::new).into();
        Call::CommCreate { comm: WORLD, group, new: 1 }
    };
    assert!(columns(vec![vec![create([0, 0])]; 2]).contains("twice"));
    assert!(columns(vec![vec![create([0, 2])]; 2]).contains("has not"));
    let define = |group: [u32; 2]| Call::CommDefine { group: group.map(CommRank::new).into(), new: 1 };
    assert!(columns(vec![vec![define([0, 0])]; 2]).contains("twice"));
    assert!(columns(vec![vec![define([0, 2])]; 2]).contains("has not"));
    assert!(columns(vec![vec![define([0, 1])], vec![]]).contains("only 1 of the 2 ranks"));
    let undeclared = Listed { ranks: vec![vec![(dup(WORLD), 0)]], makes_communicators: false };
    let program = lower(Arc::new(undeclared), options()).unwrap();
    let error = program.open(RankId::new(0)).fill(&mut Batch::default()).unwrap_err();
    assert!(error.0.contains("makes no communicators"), "{}", error.0);
}

/// What a program remarks once all its ranks are read.
fn remarks(ranks: Vec<Vec<Call>>) -> Vec<String> {
    let count = ranks.len() as u32;
    let program = program(ranks).expect("it is a program");
    (0..count).for_each(|rank| _ = ops(&program, rank));
    program.remarks().into_iter().map(|r| format!("{}: {}", r.flag, r.text)).collect()
}

#[test]
fn ranks_agree_on_their_collectives_or_it_is_reported_where_they_part() {
    use CollectiveKind::{Allreduce, Barrier, Bcast, Gatherv};
    let call = |kind, bytes| Call::Collective(collective(kind, bytes));
    let rooted = |root| {
        let root = CommRank::new(root);
        Call::Collective(Collective { root, ..collective(Bcast, 8) })
    };
    let uneven = |bytes| {
        let counts = Some([bytes, 4].into());
        Call::Collective(Collective { counts, ..collective(Gatherv, bytes) })
    };
    let on = |comm| Call::Collective(Collective { comm, ..collective(Allreduce, 8) });
    let dup = |new| Call::CommDup { comm: WORLD, new };
    for (ranks, said) in [
        ([vec![call(Barrier, 0), call(Bcast, 8)], vec![call(Barrier, 0), call(Bcast, 8)]], None),
        // Bytes by rank may differ, and what is not on the same communicator has no order.
        ([vec![uneven(4)], vec![uneven(9)]], None),
        ([vec![dup(1), on(1), on(WORLD)], vec![dup(4), on(WORLD), on(4)]], None),
        ([vec![call(Barrier, 0)], vec![call(Allreduce, 0)]], Some("collective 1 ")),
        ([vec![call(Barrier, 0), call(Bcast, 8)], vec![call(Barrier, 0), call(Bcast, 9)]], Some("and 9 B")),
        ([vec![rooted(0)], vec![rooted(1)]], Some("with root 1")),
        ([vec![call(Barrier, 0)], vec![]], Some("rank 1 calls no more")),
        // After its communicator is gone, too.
        ([vec![dup(1), on(1), Call::CommFree(1)], vec![dup(1), Call::CommFree(1)]], Some("calls no more")),
    ] {
        let found = remarks(ranks.to_vec());
        match said {
            None => assert_eq!(found, Vec::<String>::new()),
            Some(words) => {
                assert_eq!(found.len(), 1, "{found:?}");
                assert!(
                    found[0].starts_with("mismatched-collectives") && found[0].contains(words),
                    "{found:?}"
                );
            }
        }
    }
}
