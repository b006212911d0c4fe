//! Faults planted in the state of LogGOPS runs on the engine, one at a time: `--check` finds all of them.

use crate::{
    claims,
    config::DelayConfig,
    domain::{DelayDomain, Message},
    observe::{Measure, Observer},
    run::{context, plain},
    setup::DelaySetup,
};
use base::{index::RankId, time::NEVER};
use engine::{
    executor::{Executor, Options},
    state::NIL,
};
use ranks::{matching::Label, roster::GlobalRank};
use std::sync::Arc;
use workload::program::list::{List, Rank, calc, recv, send};

pub(crate) const RANKS: u32 = 6;

/// Steps in which every rank sends to two others and receives from two; every third message is a rendezvous.
pub(crate) fn steps() -> Vec<Rank> {
    let one = |r: u32| {
        let mut rank = Rank::default();
        let mut last: Vec<u64> = Vec::new();
        for step in 0..30u32 {
            let bytes = u64::from(step % 3) * 2_000 + 100;
            let mut next = Vec::new();
            for d in [1, 2] {
                next.push(rank.push(send((r + d) % RANKS, bytes + u64::from(d), d)));
                next.push(rank.push(recv((r + RANKS - d) % RANKS, 1 << 20, d)));
            }
            let work = rank.push(calc(u64::from(1 + r) * 700_000));
            // Its messages are there before it asks for them.
            let late = rank.push(recv((r + RANKS - 1) % RANKS, 1 << 20, 3));
            rank.requires(late, work);
            next.extend([rank.push(send((r + 1) % RANKS, 50, 3)), work, late]);
            for (&after, &before) in next.iter().flat_map(|a| last.iter().map(move |b| (a, b))) {
                rank.requires(after, before);
            }
            last = next;
        }
        rank
    };
    (0..RANKS).map(one).collect()
}

type Run = Executor<DelayDomain, Observer>;

fn run() -> Run {
    let config = DelayConfig { eager: 3_000, ..DelayConfig::loggops() };
    let setup = DelaySetup { check: true, ..plain(Arc::new(List::new(steps())), config) };
    let cx = Arc::new(context(&setup).expect("the setup is sound"));
    assert!(cx.coupled && !cx.all_run_ahead());
    let ranks = GlobalRank::new(0)..GlobalRank::new(RANKS);
    let observer = Observer::new(Arc::clone(&cx), ranks, Measure::default(), true);
    Executor::new([(DelayDomain::new(cx, 0), observer)], Options { tie_seed: 1, wheel_shift: 8 })
}

fn verdict(run: &Run, dry: bool) -> Vec<String> {
    let part = &run.partitions[0];
    let follower = part.observer.follower.as_ref().expect("it is checked");
    follower.verdict(&claims::of(&[&part.domain], &[], dry))
}

/// A message on its way to a host, as its row.
fn under_way(d: &DelayDomain) -> Option<u32> {
    (0..d.count()).map(|host| d.hosts.get(host).inbox).find(|&row| row != NIL)
}

/// Changes a message that is on its way.
fn change(d: &mut DelayDomain, how: impl Fn(&mut Message)) -> Option<()> {
    let row = under_way(d)?;
    how(d.messages.edit(row));
    Some(())
}

/// A host with something in one of its queues.
fn host(d: &DelayDomain, is: impl Fn(&DelayDomain, u32) -> bool) -> Option<u32> {
    (0..d.count()).find(|&host| is(d, host))
}

/// A fault; nothing where it cannot be planted yet.
type Fault = (&'static str, fn(&mut DelayDomain) -> Option<()>);

const IN_MESSAGES: &[Fault] = &[
    ("a message loses a byte", |d| change(d, |m| m.bytes -= 1)),
    ("a message gains a byte", |d| change(d, |m| m.bytes += 1)),
    ("a message is for another rank", |d| change(d, |m| m.to = GlobalRank::new((m.to.number() + 1) % RANKS))),
    ("a message is from another rank", |d| {
        change(d, |m| m.from = RankId::new((m.from.number() + 1) % RANKS))
    }),
    ("a message takes another's number", |d| change(d, |m| m.number += 5)),
    ("a message takes another tag", |d| change(d, |m| m.tag += 5)),
    ("a message takes another context", |d| change(d, |m| m.context += 1)),
    ("a message is there sooner", |d| change(d, |m| m.arrival -= 1)),
    ("a message is there later", |d| change(d, |m| m.arrival += 1)),
    ("a message is lost", |d| {
        let host = host(d, |d, h| d.hosts.get(h).inbox != NIL)?;
        d.leave_inbox(host);
        Some(())
    }),
    ("all messages for a host are lost", |d| {
        let host = host(d, |d, h| d.hosts.get(h).inbox != NIL)?;
        d.hosts.edit(host).inbox = NIL;
        Some(())
    }),
    ("a message comes twice", |d| {
        let host = host(d, |d, h| d.hosts.get(h).inbox != NIL)?;
        let m = *d.messages.get(d.hosts.get(host).inbox);
        d.take_in(host, Message { next: NIL, child: NIL, ..m });
        Some(())
    }),
    ("messages that wait for a processor are lost", |d| {
        let host = host(d, |d, h| d.hosts.lane(h, 0, 0).ready != NIL)?;
        d.hosts.edit_lane(host, 0, 0).ready = NIL;
        Some(())
    }),
    ("a sender that waits is forgotten", |d| {
        let asks = |d: &DelayDomain, h| {
            let row = d.hosts.get(h).inbox;
            row != NIL && d.messages.get(row).send != NIL
        };
        let host = host(d, asks)?;
        let row = d.hosts.get(host).inbox;
        d.messages.edit(row).send = NIL;
        Some(())
    }),
];

const IN_RANKS: &[Fault] = &[
    ("a posted receive is lost", |d| {
        let host = host(d, |d, h| d.matching.receives(h).count() > 0)?;
        let (label, _) = d.matching.receives(host).next()?;
        d.matching.arrive(label, 0).map(drop)
    }),
    ("a receive is posted twice", |d| {
        let host = host(d, |d, h| d.matching.receives(h).count() > 0)?;
        let (label, row) = d.matching.receives(host).next()?;
        d.matching.receive(label, row);
        Some(())
    }),
    ("a receive is posted with another tag", |d| {
        let host = host(d, |d, h| d.matching.receives(h).count() > 0)?;
        let (label, row) = d.matching.receives(host).next()?;
        d.matching.arrive(label, 0)?;
        d.matching.receive(Label { tag: 77, ..label }, row);
        Some(())
    }),
    ("a computation is left out", |d| {
        let host = host(d, |d, h| !d.hosts.core(h, 0).calcs.is_empty())?;
        d.hosts.edit_core(host, 0).calcs.pop(d.window.pool()).map(drop)
    }),
    ("a send is left out", |d| {
        let host = host(d, |d, h| !d.hosts.lane(h, 0, 0).sends.is_empty())?;
        d.hosts.edit_lane(host, 0, 0).sends.pop(d.window.pool()).map(drop)
    }),
    ("a computation is to be done twice", |d| {
        let host =
            host(d, |d, h| !d.hosts.core(h, 0).calcs.is_empty() && d.hosts.core(h, 0).recvs.is_empty())?;
        let row = d.hosts.core(host, 0).calcs.head;
        d.hosts.edit_core(host, 0).recvs.push(d.window.rows(), row);
        Some(())
    }),
    ("a send is queued at another host", |d| {
        let from = host(d, |d, h| !d.hosts.lane(h, 0, 0).sends.is_empty())?;
        let row = d.hosts.edit_lane(from, 0, 0).sends.pop(d.window.pool())?;
        d.hosts.edit_lane((from + 1) % RANKS, 0, 0).sends.push(d.window.rows(), row);
        Some(())
    }),
    ("a processor is free too soon", |d| {
        let host = host(d, |d, h| d.hosts.core(h, 0).free > 0)?;
        d.hosts.edit_core(host, 0).free = 0;
        Some(())
    }),
    ("what a host does next is forgotten", |d| {
        let host = host(d, |d, h| d.hosts.get(h).alarm != NEVER)?;
        d.hosts.edit(host).looks += 1;
        Some(())
    }),
];

/// Plants a fault as soon as it can be planted; what is found at once, or at the end if nothing is. None if it never can be.
fn planted(fault: fn(&mut DelayDomain) -> Option<()>) -> Option<Vec<String>> {
    let (mut run, mut until) = (run(), 20_000_000);
    run.run_until(until, u64::MAX);
    while fault(&mut run.partitions[0].domain).is_none() {
        until += 100_000;
        if until > 500_000_000 {
            return None;
        }
        run.run_until(until, u64::MAX);
    }
    let found = verdict(&run, false);
    if found.is_empty() {
        run.run_until(NEVER, u64::MAX);
        return Some(verdict(&run, true));
    }
    Some(found)
}

#[test]
fn planted_faults_are_found() {
    let mut sound = run();
    for until in (0..400).map(|n| n * 500_000) {
        sound.run_until(until, u64::MAX);
        assert_eq!(verdict(&sound, false), Vec::<String>::new(), "at {until} ps");
    }
    sound.run_until(NEVER, u64::MAX);
    assert_eq!(verdict(&sound, true), Vec::<String>::new());
    let faults: Vec<&Fault> = IN_MESSAGES.iter().chain(IN_RANKS).collect();
    assert!(faults.len() >= 20, "{}", faults.len());
    let missed: Vec<&str> = faults
        .iter()
        .filter(|(_, fault)| planted(*fault).is_none_or(|found| found.is_empty()))
        .map(|(name, _)| *name)
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}
