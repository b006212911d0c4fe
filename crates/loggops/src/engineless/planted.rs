//! Faults planted in the state of runs without the engine, one at a time: `--check` finds all of them.

use super::{
    Doing, Engineless, State,
    channels::{Channel, Holds, Node},
};
use crate::{
    alone::planting::{is_found, is_sound},
    config::DelayConfig,
    observe::{Measure, Observer},
    run::{context, plain},
    setup::DelaySetup,
};
use base::index::RankId;
use engine::state::NIL;
use ranks::roster::GlobalRank;
use std::sync::Arc;
use workload::program::{
    After, Op,
    list::{List, Rank, calc, recv, send},
};

const RANKS: u32 = 6;

/// Ranks in a ring that send two messages a step and wait for both of the neighbour's in the end of it; the slow ones are sent to faster than they
/// receive.
fn ring() -> Vec<Rank> {
    let one = |r: u32| {
        let (mut rank, after) = (Rank::default(), |op: Op, after| Op { after, ..op });
        for step in 0..60u32 {
            let bytes = u64::from(100 + step);
            let first = if step == 0 { After::Nothing } else { After::Finish };
            rank.push(after(send((r + 1) % RANKS, bytes, step % 2), first));
            rank.push(after(send((r + 1) % RANKS, 2 * bytes, step % 2), After::Finish));
            rank.push(after(calc(u64::from(1 + r) * 300_000), After::Finish));
            let early = rank.push(after(recv((r + RANKS - 1) % RANKS, 1 << 20, step % 2), After::Finish));
            let late = rank.push(after(recv((r + RANKS - 1) % RANKS, 1 << 20, step % 2), After::Start));
            rank.push(after(calc(100_000), After::Start));
            let last = rank.push(after(calc(1_000), After::Finish));
            rank.requires(last, early);
            rank.requires(last, late);
        }
        rank
    };
    (0..RANKS).map(one).collect()
}

fn run() -> Engineless {
    let setup = plain(Arc::new(List::new(ring())), DelayConfig::pure(2_000_000, 0, 1_000));
    let setup = DelaySetup { check: true, ..setup };
    let cx = Arc::new(context(&setup).expect("the setup is sound"));
    assert!(cx.all_run_ahead() && cx.overtaking);
    let ranks = GlobalRank::new(0)..GlobalRank::new(RANKS);
    let mut run = Engineless::new(Arc::clone(&cx), Observer::new(cx, ranks, Measure::default(), true));
    // Short horizons, so that ranks wait for them.
    run.state.span = 1 << 22;
    run.state.horizon = 1 << 22;
    run
}

/// A queue of messages, or of receives, with at least `n` in it: its rank, and the channel.
fn queue(s: &mut State, holds: Holds, n: usize) -> Option<(usize, &mut Channel)> {
    let State { ranks, nodes, .. } = s;
    ranks.iter_mut().enumerate().find_map(|(rank, r)| {
        let long = |c: &Channel| {
            let next = |&row: &u32| Some(nodes.rows[row as usize].next).filter(|&n| n != NIL);
            let length = std::iter::successors(Some(c.head).filter(|&h| h != NIL), next).count();
            c.holds == holds && length >= n
        };
        r.channels.places.iter_mut().find(|c| long(c)).map(|c| (rank, c))
    })
}

/// The first of a queue's rows.
fn first(s: &mut State, holds: Holds, n: usize) -> Option<&mut Node> {
    let head = queue(s, holds, n)?.1.head;
    Some(&mut s.nodes.rows[head as usize])
}

/// Takes the first of a queue off; its row.
fn lose(s: &mut State, holds: Holds, n: usize) -> Option<u32> {
    let head = queue(s, holds, n)?.1.head;
    let next = s.nodes.rows[head as usize].next;
    queue(s, holds, n)?.1.head = next;
    Some(head)
}

/// Puts another of the same at the end of a queue.
fn double(s: &mut State, holds: Holds) -> Option<()> {
    let (head, tail) = queue(s, holds, 1).map(|(_, c)| (c.head, c.tail))?;
    let node = Node { next: NIL, ..s.nodes.rows[head as usize] };
    s.nodes.rows.push(node);
    let row = s.nodes.rows.len() as u32 - 1;
    s.nodes.rows[tail as usize].next = row;
    queue(s, holds, 1)?.1.tail = row;
    Some(())
}

/// The first rank that is in this state.
fn rank(s: &mut State, is: impl Fn(&Doing) -> bool) -> Option<&mut super::Rank> {
    s.ranks.iter_mut().find(|r| is(&r.doing) && r.left() > 2 && r.at > 2)
}

/// A fault; nothing where it cannot be planted yet.
type Fault = (&'static str, fn(&mut State) -> Option<()>);

const IN_MESSAGES: &[Fault] = &[
    ("a message is lost", |s| lose(s, Holds::Messages, 2).map(drop)),
    ("a message is lost and its row given back", |s| {
        let row = lose(s, Holds::Messages, 2)?;
        s.nodes.free.push(row);
        Some(())
    }),
    ("a message waits twice", |s| double(s, Holds::Messages)),
    ("a message loses a byte", |s| first(s, Holds::Messages, 1).map(|f| f.waits.bytes -= 1)),
    ("a message gains a byte", |s| first(s, Holds::Messages, 1).map(|f| f.waits.bytes += 1)),
    ("a message takes another's number", |s| first(s, Holds::Messages, 1).map(|f| f.waits.number += 7)),
    ("a message is there sooner", |s| first(s, Holds::Messages, 1).map(|f| f.waits.time -= 1)),
    ("a message is there later", |s| first(s, Holds::Messages, 1).map(|f| f.waits.time += 1)),
    ("messages take another tag", |s| queue(s, Holds::Messages, 1).map(|f| f.1.label.tag += 5)),
    ("messages take another context", |s| queue(s, Holds::Messages, 1).map(|f| f.1.label.context += 1)),
    ("messages take another sender", |s| {
        let label = &mut queue(s, Holds::Messages, 1)?.1.label;
        label.source = RankId::new((label.source.number() + 1) % RANKS);
        Some(())
    }),
    ("two messages swap their places", |s| {
        let head = queue(s, Holds::Messages, 2)?.1.head as usize;
        let next = s.nodes.rows[head].next as usize;
        let waits = s.nodes.rows[head].waits;
        s.nodes.rows[head].waits = s.nodes.rows[next].waits;
        s.nodes.rows[next].waits = waits;
        Some(())
    }),
    ("a row in use is given back", |s| {
        let row = queue(s, Holds::Messages, 1)?.1.head;
        s.nodes.free.push(row);
        Some(())
    }),
];

const IN_RANKS: &[Fault] = &[
    ("a receive is lost", |s| lose(s, Holds::Receives, 1).map(drop)),
    ("a receive is posted twice", |s| double(s, Holds::Receives)),
    ("a receive takes another's number", |s| first(s, Holds::Receives, 1).map(|f| f.waits.number -= 1)),
    ("a receive is posted later", |s| first(s, Holds::Receives, 1).map(|f| f.waits.time += 1 << 40)),
    ("an operation is left out", |s| rank(s, |d| *d == Doing::Ready).map(|f| f.at += 1)),
    ("an operation is done again", |s| rank(s, |d| *d == Doing::Ready).map(|f| f.at -= 1)),
    ("a batch is numbered anew", |s| rank(s, |d| *d == Doing::Ready).map(|f| f.first += 1)),
    ("a clock goes back", |s| {
        let rank = rank(s, |d| *d == Doing::Ready)?;
        (rank.clock, rank.acted) = (0, 0);
        Some(())
    }),
    ("a rank acts in its future", |s| {
        let rank = rank(s, |d| *d == Doing::Ready)?;
        rank.acted = rank.clock + 1;
        Some(())
    }),
    ("a rank loses its turn", |s| s.queue.pop_front().map(drop)),
    ("a rank has its turn twice", |s| {
        let &rank = s.queue.front()?;
        s.queue.push_back(rank);
        Some(())
    }),
    ("a rank that waits for the horizon is forgotten", |s| s.later.pop().map(drop)),
    ("a rank goes on before its processor is free", |s| {
        let &(_, rank) = s.later.iter().find(|l| s.ranks[l.1.index()].clock > 0)?;
        s.later.retain(|l| l.1 != rank);
        s.later.push((0, rank));
        Some(())
    }),
    ("a rank that waits has its turn", |s| {
        let waits = |r: &super::Rank| matches!(r.doing, Doing::Waiting(_));
        let rank = s.ranks.iter().position(waits)?;
        s.queue.push_back(GlobalRank::from_index(rank));
        Some(())
    }),
    ("a rank waits for what is over", |s| {
        let rank = rank(s, |d| matches!(d, Doing::Waiting(_)))?;
        rank.doing = Doing::Waiting(0);
        Some(())
    }),
    ("a rank ends too soon", |s| {
        let rank = rank(s, |d| matches!(d, Doing::Waiting(_)))?;
        rank.doing = Doing::Over;
        Some(())
    }),
    ("an operation is not counted", |s| {
        s.done -= 1;
        Some(())
    }),
    ("an operation is counted twice", |s| {
        s.done += 1;
        Some(())
    }),
];

#[test]
fn planted_faults_are_found() {
    is_sound(run());
    let faults = || IN_MESSAGES.iter().chain(IN_RANKS);
    assert!(faults().count() >= 20);
    let found = |fault: &Fault| is_found(run(), |r| (fault.1)(&mut r.state));
    let missed: Vec<&str> = faults().filter(|f| !found(f)).map(|f| f.0).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
