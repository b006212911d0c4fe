//! Parts and copies of random programs, executed without a clock: their messages must be those of the whole.

use super::{
    copies::copies,
    part::{Collectives, between, part},
};
use crate::program::{
    Damage,
    collective::{Chooser, TABLES},
    lower::{
        Options, lower,
        tests::{
            execute::{Executor, Listed, Match},
            random::program,
        },
    },
    mpi::{
        ANY_PEER, Call, Calls, Collective, CollectiveKind, CommRank, Envelope, Mode, OneSided, Script, WORLD,
    },
};
use base::{
    index::RankId,
    rng::{Purpose, Stream},
    time::{NS, Ps, US},
};
use proptest::prelude::*;
use std::sync::Arc;

fn executed(script: Arc<dyn Script>, seed: u64) -> Result<Vec<Match>, String> {
    let options = Options { chooser: Chooser::new(&TABLES[0]), reduce_ps_per_byte: 0 };
    let program = lower(script, options).map_err(|d| d.0)?;
    Ok(Executor::new(&program, 100, seed).run()?.matches)
}

/// What tells the messages between ranks apart: from, to, tag, step, bytes.
type Message = (usize, usize, u32, u32, u64);

fn messages(matches: &[Match]) -> Vec<Message> {
    let own = matches.iter().filter(|m| m.send.collective == 0);
    let mut all: Vec<Message> =
        own.map(|m| (m.from, m.to, m.send.tag, m.send.origin, m.send.amount)).collect();
    all.sort_unstable();
    all
}

/// Steps at which all ranks of a program together call a collective.
fn steps(script: &Listed) -> Vec<u32> {
    let calls = script.ranks[0].iter();
    calls.filter(|(call, _)| matches!(call, Call::Collective(c) if c.comm == WORLD)).map(|c| c.1).collect()
}

fn barrier() -> Call {
    Call::Collective(Collective {
        kind: CollectiveKind::Barrier,
        comm: WORLD,
        root: CommRank::new(0),
        bytes: 0,
        counts: None,
        neighbours: None,
        request: None,
        algorithm: None,
    })
}

proptest! {
    /// Sends and receives stand in the same step here, and waits anywhere behind: a part has the messages of its steps.
    #[test]
    fn a_part_has_the_messages_between_its_collectives(seed: u64, size in 2u32..9, after in 0u64..4, count in 0u64..4) {
        let script = program(seed, size, 40);
        // Communicators of all ranks that were split off count as well; only programs without them are asked here.
        let (steps, all) = (steps(&script), Arc::new(script));
        let span = Collectives { after, count: (count > 0).then_some(count) };
        let last = (after + count) as usize;
        match part(Arc::clone(&all) as Arc<dyn Script>, span) {
            Ok(cut) if steps.len() >= last => {
                let whole = messages(&executed(Arc::clone(&all) as Arc<dyn Script>, seed).unwrap());
                let from = after.checked_sub(1).map_or(0, |n| steps[n as usize] + 1);
                let to = if count > 0 { steps[last - 1] } else { u32::MAX };
                let found = messages(&executed(cut.script, seed).map_err(TestCaseError::fail)?);
                let asked: Vec<Message> = whole.into_iter().filter(|m| (from..=to).contains(&m.3)).collect();
                prop_assert_eq!(cut.crossing, [0, 0]);
                if !has_others_of_all(&all) {
                    prop_assert_eq!(found, asked);
                }
            }
            Ok(_) => prop_assert!(has_others_of_all(&all)),
            Err(damage) => prop_assert!(damage.0.contains("collectives of all ranks, not"), "{}", damage.0),
        }
    }

    /// Every rank of every copy has the messages of the rank that it follows, with ranks of its copy.
    #[test]
    fn copies_have_the_messages_of_the_whole(seed: u64, size in 1u32..7, count in 1u32..5) {
        let script = Arc::new(program(seed, size, 40));
        let whole = messages(&executed(Arc::clone(&script) as Arc<dyn Script>, seed).unwrap());
        let more = copies(script, count).unwrap();
        prop_assert_eq!(more.ranks(), size * count);
        let found = messages(&executed(more, seed).map_err(TestCaseError::fail)?);
        let shifted = |copy: u32| {
            let by = (copy * size) as usize;
            whole.iter().map(move |&(from, to, tag, step, bytes)| (from + by, to + by, tag, step, bytes))
        };
        let mut asked: Vec<Message> = (0..count).flat_map(shifted).collect();
        asked.sort_unstable();
        prop_assert_eq!(found, asked);
    }

    /// Messages that take off and land anywhere: those with both ends in the part are left, by a plain list of both ends in order.
    #[test]
    fn messages_across_the_ends_are_left_out_at_both(seed: u64, ranks in 2u32..6, epochs in 1u32..6, after in 0u32..4, count in 1u32..4) {
        prop_assume!(after + count <= epochs);
        let mut draw = Stream::new(seed, Purpose::Test, 5);
        let mut below = |n: u32| draw.below(u64::from(n)) as u32;
        // By rank and epoch: calls. An epoch ends with a barrier.
        let mut calls: Vec<Vec<Vec<Call>>> = vec![vec![Vec::new(); epochs as usize + 1]; ranks as usize];
        let (mut asked, mut request, mut crossing) = (Vec::new(), 0, [0, 0]);
        for (from, to) in (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let number = below(6) as usize;
            let mut ends = [0, 1].map(|_| (0..number).map(|_| below(epochs + 1)).collect::<Vec<u32>>());
            ends.iter_mut().for_each(|e| e.sort_unstable());
            for (k, (&sent, &posted)) in ends[0].iter().zip(&ends[1]).enumerate() {
                let envelope = |peer| Envelope { peer: CommRank::new(peer), tag: 1, bytes: k as u64, comm: WORLD };
                let done = sent.max(posted) as usize;
                for (rank, epoch, call) in [
                    (from, sent, Call::Isend(envelope(to), Mode::Standard, request)),
                    (to, posted, Call::Irecv(envelope(from), request)),
                ] {
                    calls[rank as usize][epoch as usize].push(call);
                    calls[rank as usize][done].push(Call::Wait(request));
                }
                request += 1;
                let inside = |epoch: u32| (after..after + count).contains(&epoch);
                if inside(sent) && inside(posted) {
                    asked.push((from as usize, to as usize, 1, k as u64));
                }
                for (cut, crossed) in [after, after + count].into_iter().zip(&mut crossing) {
                    *crossed += u64::from((sent < cut) != (posted < cut));
                }
            }
        }
        let joined = |epochs: Vec<Vec<Call>>| {
            let mut all: Vec<(Call, u32)> = Vec::new();
            for mut epoch in epochs {
                // What is waited for in the epoch in which it takes off or lands has to be there before.
                epoch.sort_by_key(|call| matches!(call, Call::Wait(_)));
                all.extend(epoch.into_iter().map(|call| (call, 0)));
                all.push((barrier(), 0));
            }
            all
        };
        let script = Listed { ranks: calls.into_iter().map(joined).collect(), makes_communicators: false };
        let span = Collectives { after: after.into(), count: Some(count.into()) };
        let cut = part(Arc::new(script), span).map_err(|d| TestCaseError::fail(d.0))?;
        prop_assert_eq!(cut.crossing, crossing);
        let found = messages(&executed(cut.script, seed).map_err(TestCaseError::fail)?);
        let found: Vec<(usize, usize, u32, u64)> = found.into_iter().map(|m| (m.0, m.1, m.2, m.4)).collect();
        asked.sort_unstable();
        prop_assert_eq!(found, asked);
    }
}

/// True if ranks split off or define another communicator that has all of them.
fn has_others_of_all(script: &Listed) -> bool {
    let all = script.ranks.len();
    let defines =
        |(call, _): &(Call, u32)| matches!(call, Call::CommDefine { group, .. } if group.len() == all);
    if script.ranks[0].iter().any(defines) {
        return true;
    }
    let mut made = script.ranks.iter().map(|calls| {
        calls
            .iter()
            .filter_map(|(call, step)| match call {
                Call::CommSplit { comm: WORLD, color, .. } => Some((*step, *color)),
                _ => None,
            })
            .collect::<Vec<_>>()
    });
    let first = made.next().unwrap_or_default();
    let rest: Vec<_> = made.collect();
    first
        .iter()
        .enumerate()
        .any(|(n, split)| split.1.is_some() && rest.iter().all(|other| other[n] == *split))
}

fn refused(ranks: Vec<Vec<Call>>, after: u64, count: u64) -> String {
    let ranks = ranks.into_iter().map(|calls| calls.into_iter().zip(0..).collect()).collect();
    let script = Listed { ranks, makes_communicators: true };
    part(Arc::new(script), Collectives { after, count: Some(count) }).err().map_or_else(String::new, |d| d.0)
}

#[test]
fn what_cannot_be_cut_is_refused_by_name() {
    let envelope = |peer| Envelope { peer, tag: 1, bytes: 8, comm: WORLD };
    let to_one = Call::Isend(envelope(CommRank::new(1)), Mode::Standard, 1);
    let from_any = Call::Irecv(envelope(ANY_PEER), 1);
    let wait = Call::Wait(1);
    let across = vec![
        vec![to_one.clone(), barrier(), wait.clone(), barrier()],
        vec![barrier(), from_any.clone(), wait.clone(), barrier()],
    ];
    assert!(refused(across, 1, 1).starts_with("rank 1 receives from any source"));
    let near =
        vec![vec![to_one, barrier(), wait.clone(), barrier()], vec![from_any, barrier(), wait, barrier()]];
    assert_eq!(refused(near.clone(), 1, 1), "");
    assert_eq!(refused(near, 1, 2), "rank 0 calls 2 collectives of all ranks, not 3");
    let other = Call::Collective(Collective {
        kind: CollectiveKind::Bcast,
        comm: WORLD,
        root: CommRank::new(0),
        bytes: 8,
        counts: None,
        neighbours: None,
        request: None,
        algorithm: None,
    });
    assert!(
        refused(vec![vec![barrier()], vec![other]], 0, 1)
            .contains("collective 1 of all ranks is MPI_Bcast here, but MPI_Barrier on rank 0")
    );
    let window = Call::OneSided(OneSided::Create { comm: WORLD, new: 1 });
    assert!(
        refused(vec![vec![window.clone(), barrier()]], 0, 1)
            .contains("MPI_Win_create: one-sided communication cannot be cut")
    );
    let calls = |call| Arc::new(Listed { ranks: vec![vec![(call, 0)]], makes_communicators: true });
    assert!(copies(calls(window), 2).err().unwrap().0.contains("cannot be extended"));
    assert!(copies(calls(barrier()), u32::MAX).err().unwrap().0.contains("no number of ranks"));
}

#[test]
fn a_collective_of_some_ranks_is_not_cut() {
    // Ranks 0 and 1 split off; rank 0 calls a barrier of both before the barrier of all, rank 1 behind it.
    let split = |color| Call::CommSplit { comm: WORLD, color, key: 0, new: 1 };
    let small = Call::Collective(Collective {
        comm: 1,
        ..match barrier() {
            Call::Collective(c) => c,
            _ => unreachable!(),
        }
    });
    let ranks = vec![
        vec![split(Some(0)), small.clone(), barrier(), barrier()],
        vec![split(Some(0)), barrier(), small, barrier()],
        vec![split(None), barrier(), barrier()],
    ];
    let said = refused(ranks, 1, 1);
    assert!(said.starts_with("an end of the part goes through a collective of communicator 1"), "{said}");
}

#[test]
fn copies_share_what_all_ranks_do() {
    let gather = |own: u64| {
        Call::Collective(Collective {
            kind: CollectiveKind::Allgatherv,
            comm: WORLD,
            root: CommRank::new(0),
            bytes: 0,
            counts: Some([3, own].into()),
            neighbours: None,
            request: None,
            algorithm: None,
        })
    };
    let ranks = vec![vec![(gather(5), 0)], vec![(gather(5), 0)]];
    let more = copies(Arc::new(Listed { ranks, makes_communicators: false }), 3).unwrap();
    let mut calls = more.open(RankId::new(4));
    let Some((Call::Collective(call), 0)) = calls.next().unwrap() else { panic!("a collective") };
    assert_eq!(call.counts.as_deref(), Some(&[3, 5, 3, 5, 3, 5][..]));
    assert_eq!(more.describe(RankId::new(4), 0), "trace.0:0, copy 2");
}

/// A script whose positions are its times, in nanoseconds, from an origin of 1 us.
struct Timed(Listed);

struct TimedCalls(Box<dyn Calls>, Option<Ps>);

impl Script for Timed {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }
    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(TimedCalls(self.0.open(rank), None))
    }
    fn describe(&self, rank: RankId, position: u32) -> String {
        self.0.describe(rank, position)
    }
}

impl Calls for TimedCalls {
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        let next = self.0.next()?;
        self.1 = next.as_ref().map(|(_, at)| US + u64::from(*at) * NS);
        Ok(next)
    }
    fn time(&self) -> Option<Ps> {
        self.1
    }
}

#[test]
fn spans_of_time_grow_to_collectives() {
    // Barriers at 10, 20, 30 on rank 0 and 5 later on rank 1; the first record is at 0.
    let rank = |late: u32| {
        let barriers = [10, 20, 30].map(|at| (barrier(), at + late));
        std::iter::once((Call::Compute(1), late)).chain(barriers).collect::<Vec<_>>()
    };
    let script = Timed(Listed { ranks: vec![rank(0), rank(5)], makes_communicators: false });
    let span =
        |from: u64, to: Option<u64>| between(&script, from * NS, to.map(|to| to * NS)).map_err(|d| d.0);
    let is = |after, count| Ok(Collectives { after, count });
    assert_eq!(span(15, None), is(1, None));
    assert_eq!(span(24, None), is(1, None), "rank 1 is at the second one later");
    assert_eq!(span(25, Some(25)), is(2, Some(1)));
    assert_eq!(span(0, Some(20)), is(0, Some(2)));
    assert_eq!(span(0, Some(21)), is(0, Some(3)));
    assert_eq!(span(15, Some(31)), is(1, None), "none begins later");
    assert_eq!(span(9, Some(99)), is(0, None), "all of it");
    let timeless = Listed { ranks: vec![rank(0)], makes_communicators: false };
    assert!(between(&timeless, 0, None).err().unwrap().0.contains("no recorded times"));
}
