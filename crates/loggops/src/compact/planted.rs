//! Faults planted in the state of a compact run, one at a time: `--check` finds all of them.

use super::{
    Compact, fits,
    order::Order,
    queue::{Entry, NOBODY, Queue},
    slot_shift,
    state::STARTED,
};
use crate::{
    alone::{
        Alone,
        planting::{is_found, is_sound},
    },
    config::{DelayConfig, Ties},
    observe::{Measure, Observer},
    planted::{RANKS, steps},
    run::{context, plain},
    setup::DelaySetup,
};
use base::index::RankId;
use engine::state::NIL;
use ranks::{matching::Label, operations::Stamp, roster::GlobalRank};
use std::sync::Arc;
use workload::program::{
    graph::{Graph, Link, Part, Positions},
    list::{recv, send},
};

type Run = Compact<'static, u64>;

fn run() -> Run {
    made(Ties::Queue, 3_000)
}

fn made<S: Order>(ties: Ties, eager: u64) -> Compact<'static, S> {
    let part = |rank: workload::program::list::Rank| {
        let edge = |e: &workload::program::Edge| Link::new(e.before as u32, e.after as u32, e.on_start);
        Part { ops: rank.ops.into(), edges: rank.edges.iter().map(edge).collect() }
    };
    let mut ranks = steps();
    // One message waits for its receive nearly all the time.
    ranks[0].push(send(1, 40, 9));
    let last = ranks[1].ops.len() as u64 - 1;
    let late = ranks[1].push(recv(0, 1 << 20, 9));
    ranks[1].requires(late, last);
    let graph = Graph::new("x", Positions::Operations, ranks.into_iter().map(part).collect());
    let config = DelayConfig { eager, ties, ..DelayConfig::loggops() };
    let setup = DelaySetup { check: true, ..plain(Arc::new(graph), config) };
    // The tables of a run borrow from it; a test may leave it in memory.
    let cx: &'static Arc<_> = Box::leak(Box::new(Arc::new(context(&setup).expect("the setup is sound"))));
    let ranks = GlobalRank::new(0)..GlobalRank::new(RANKS);
    let observer = Observer::new(Arc::clone(cx), ranks, Measure::default(), true);
    let tables = fits(cx).expect("a graph and a processor each");
    Compact::new(Arc::clone(cx), observer, tables)
}

/// A run whose state is stored and taken up again in every pause ends as one that goes on.
fn resumed<S: Order>(ties: Ties, eager: u64) {
    let (mut whole, mut run) = (made::<S>(ties, eager), made::<S>(ties, eager));
    while whole.go_on(1_000) {}
    let mut pauses = 0;
    while run.go_on(7) {
        let mut state = Vec::new();
        run.save(&mut state);
        run = made(ties, eager);
        let mut left = &state[..];
        assert!(run.load(&mut left).is_ok() && left.is_empty());
        pauses += 1;
    }
    assert!(pauses > 20 && run.stuck().is_done(), "{pauses}");
    assert_eq!((run.makespans(), run.events()), (whole.makespans(), whole.events()));
    assert_eq!(run.observed().fingerprint, whole.observed().fingerprint);
    assert!(made::<S>(ties, eager).load(&mut &[1u8, 2, 3][..]).is_err());
}

#[test]
fn a_run_of_graphs_can_be_resumed() {
    resumed::<u64>(Ties::Queue, 65_535);
    resumed::<u64>(Ties::Queue, 3_000);
    resumed::<Stamp>(Ties::Causes, 65_535);
}

/// Puts the queue together anew from what `edit` makes of its entries.
fn refile(run: &mut Run, edit: impl FnOnce(&mut Vec<Entry<u64>>) -> Option<()>) -> Option<()> {
    let mut entries: Vec<Entry<u64>> = run.queue.entries().copied().collect();
    edit(&mut entries)?;
    run.queue = Queue::reopened(slot_shift(&run.cx), run.queue.opened());
    entries.into_iter().for_each(|entry| run.queue.put(entry));
    Some(())
}

/// Changes a message that is on its way.
fn message(run: &mut Run, edit: impl FnOnce(&mut Entry<u64>)) -> Option<()> {
    refile(run, |all| all.iter_mut().find(|e| e.from != NOBODY).map(edit))
}

/// Changes what a host is to do.
fn filed(run: &mut Run, edit: impl FnOnce(&mut Entry<u64>)) -> Option<()> {
    let looks: Vec<u32> = run.state.hosts.iter().map(|h| h.looks).collect();
    refile(run, |all| {
        let valid = |e: &&mut Entry<u64>| e.from == NOBODY && looks[e.host as usize] == e.number;
        all.iter_mut().find(valid).map(edit)
    })
}

/// Changes the first host of which something is true.
fn host(
    run: &mut Run,
    is: impl Fn(&super::state::Host) -> bool,
    edit: impl FnOnce(&mut super::state::Host),
) -> Option<()> {
    run.state.hosts.iter_mut().find(|h| is(h)).map(edit)
}

/// A message that no receive has taken, as its row, with its label.
fn waiting(run: &Run) -> Option<(Label, u32)> {
    (0..RANKS).find_map(|host| run.state.matching.messages(host).next())
}

/// Changes what an operation waits for.
fn waits(run: &mut Run, is: impl Fn(u32) -> bool, edit: impl FnOnce(&mut u32)) -> Option<()> {
    run.state.waits.iter_mut().find(|w| is(**w)).map(edit)
}

/// A fault; nothing where it cannot be planted yet.
type Fault = (&'static str, fn(&mut Run) -> Option<()>);

const IN_MESSAGES: &[Fault] = &[
    ("a message loses a byte", |r| message(r, |m| m.bytes -= 1)),
    ("a message gains a byte", |r| message(r, |m| m.bytes += 1)),
    ("a message is for another rank", |r| message(r, |m| m.host = (m.host + 1) % RANKS)),
    ("a message is from another rank", |r| message(r, |m| m.from = (m.from + 1) % RANKS)),
    ("a message takes another's number", |r| message(r, |m| m.number += 5)),
    ("a message takes another tag", |r| message(r, |m| m.tag += 5)),
    ("a message is there sooner", |r| message(r, |m| m.time -= 1)),
    ("a message is there later", |r| message(r, |m| m.time += 1)),
    ("a sender that waits is forgotten", |r| {
        refile(r, |all| all.iter_mut().find(|e| e.from != NOBODY && e.send != NIL).map(|e| e.send = NIL))
    }),
    ("a message is lost", |r| {
        refile(r, |all| {
            let at = all.iter().position(|e| e.from != NOBODY)?;
            all.remove(at);
            Some(())
        })
    }),
    ("a message comes twice", |r| {
        refile(r, |all| all.iter().find(|e| e.from != NOBODY).copied().map(|e| all.push(e)))
    }),
    ("messages that wait for a processor are lost", |r| host(r, |h| h.ready != NIL, |h| h.ready = NIL)),
    ("a message that waits loses a byte", |r| {
        let (_, row) = waiting(r)?;
        r.state.messages.edit(row).bytes -= 1;
        Some(())
    }),
    ("a message that waits is lost", |r| {
        let (label, _) = waiting(r)?;
        r.state.matching.receive(label, 0).map(drop)
    }),
    ("a message that waits gives its row back", |r| {
        let (label, row) = waiting(r)?;
        r.state.matching.receive(label, 0)?;
        r.state.messages.give(row);
        Some(())
    }),
];

const IN_HOSTS: &[Fault] = &[
    ("a send is lost", |r| host(r, |h| !h.sends.is_empty(), |h| h.sends.head = NIL)),
    ("a computation is lost", |r| host(r, |h| !h.calcs.is_empty(), |h| h.calcs.head = NIL)),
    ("a receive is lost", |r| host(r, |h| !h.recvs.is_empty(), |h| h.recvs.head = NIL)),
    ("a send is queued as a computation", |r| {
        host(r, |h| !h.sends.is_empty() && h.calcs.is_empty(), |h| std::mem::swap(&mut h.sends, &mut h.calcs))
    }),
    ("a posted receive is lost", |r| {
        let (label, _) = (0..RANKS).find_map(|host| r.state.matching.receives(host).next())?;
        r.state.matching.arrive(label, 0).map(drop)
    }),
    ("a receive is posted otherwise", |r| {
        let (label, row) = (0..RANKS).find_map(|host| r.state.matching.receives(host).next())?;
        r.state.matching.arrive(label, 0)?;
        let source = RankId::new((label.source.number() + 1) % RANKS);
        r.state.matching.receive(Label { source, tag: 77, ..label }, row);
        Some(())
    }),
    ("an operation waits for one more", |r| waits(r, |w| w > 0 && w < STARTED, |w| *w += 1)),
    ("an operation waits for one less", |r| waits(r, |w| w > 1 && w < STARTED, |w| *w -= 1)),
    ("an operation is over again", |r| waits(r, |w| w == super::state::OVER, |w| *w = STARTED)),
    ("an operation is over too soon", |r| waits(r, |w| w == STARTED, |w| *w = super::state::OVER)),
    ("an operation waits for nothing and is not queued", |r| waits(r, |w| w == 1, |w| *w = 0)),
    ("a host is not asked any more", |r| filed(r, |e| e.number = e.number.wrapping_sub(1))),
    ("a host does something too soon", |r| filed(r, |e| e.time -= 1)),
    ("a host does something too late", |r| filed(r, |e| e.time += 1)),
    ("a host does something out of order", |r| filed(r, |e| e.stamp += 1)),
    ("a host has its turn twice", |r| {
        let looks: Vec<u32> = r.state.hosts.iter().map(|h| h.looks).collect();
        let valid = |e: &&Entry<u64>| e.from == NOBODY && looks[e.host as usize] == e.number;
        refile(r, |all| all.iter().find(valid).copied().map(|e| all.push(e)))
    }),
    ("receives are posted late", |r| host(r, |h| h.awake > 0, |h| h.awake = 0)),
    ("receives are posted by themselves", |r| host(r, |h| h.awake == 0, |h| h.awake = 1)),
    ("a clock goes back", |r| host(r, |h| h.free > 0, |h| h.free = 0)),
    ("an interface sends too soon", |r| {
        host(r, |h| h.send > h.free && !h.sends.is_empty(), |h| h.send = h.free)
    }),
];

#[test]
fn planted_faults_are_found() {
    is_sound(run());
    let faults = || IN_MESSAGES.iter().chain(IN_HOSTS);
    assert!(faults().count() >= 20);
    let missed: Vec<&str> = faults().filter(|f| !is_found(run(), f.1)).map(|f| f.0).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
