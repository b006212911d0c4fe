//! LogGOPS on graphs without the engine, for a run in one partition whose hosts have one processor and one interface each.
//!
//! The rules and the order are those of the machine on the engine (`step.rs`, `drive.rs`), and so is every result; what differs is what is kept. A
//! program that is a [graph](workload::program::graph) in memory is walked as it lies there: an operation is 32 bytes of the graph and a count of what it still waits for.
//! Only what can be taken up, or waits for a message, has a node besides. Nothing is undone here, so nothing is noted for that.
//!
//! One queue holds messages by arrival, and for each host what it does next. A message is not filed at its host: when its time comes it is taken in
//! if processor and interface are free, else it waits in the host's heap by stamp. This is the order in which a queue gives them into which whatever is
//! blocked is put back. After a step the host goes on at once if what it does next comes before everything else.
//!
//! **Receives** cost nothing and act on nobody, unless a message waits for them or their start frees something. Others have no event: they are
//! posted when their host next does something, before that.

mod claims;
mod order;
#[cfg(test)]
mod planted;
mod queue;
mod state;
mod step;
mod tables;

use super::{
    alone::{self, Alone},
    config::Cost,
    domain::Context,
    finish::DelayFinished,
    follow::Claims,
    observe::Observer,
    setup::DelaySetup,
};
use base::{index::RankId, prefetch::prefetch, time::Ps};
use engine::{
    kept::{self, Damaged, Kept},
    state::{NIL, Pool},
};
use model::{failure::Failure, performance::Clock, run::Watch};
use order::Order;
use queue::{Entry, NOBODY, Queue};
use ranks::{
    matching::Matching,
    operations::Stamp,
    roster::GlobalRank,
    stuck::{self, Left, RankState, Stuck},
};
use state::{Host, Message, Next, OVER, STARTED, State};
use std::sync::Arc;
pub(super) use tables::Tables;

/// How many entries ahead of its turn each stage of [`Compact::prepare`] is called.
const AHEAD: [usize; 3] = [12, 8, 4];

/// A run without the engine: hosts by time and stamp.
struct Compact<'a, S> {
    cx: Arc<Context>,
    /// What was measured on the run.
    observer: Observer,
    tables: Tables<'a>,
    /// Latency of every message, if all have the same.
    latency: Option<Ps>,
    state: State<S>,
    queue: Queue<S>,
    /// Operations that the present step frees, with their hosts; empty between steps.
    freed: Vec<(u32, u32)>,
    /// The host whose send the present step ended, if any.
    released: u32,
}

/// The operations of all hosts if a run is of this kind.
pub(super) fn fits(cx: &Context) -> Option<Tables<'_>> {
    let one = cx.filed && cx.cpus == 1 && cx.nics == 1 && cx.nodes.is_none();
    let plain = one && cx.config.cost == Cost::LogGops && cx.config.resilient.is_none();
    if plain && !cx.landing && !cx.overtaking { Tables::new(cx) } else { None }
}

/// A slot of the queue is so much shorter than it takes a message to arrive that little of what happens in it falls due in it, and long enough to hold
/// many entries, so that what later ones need can be touched early.
fn slot_shift(cx: &Context) -> u32 {
    (cx.lookahead() / 4).max(1).ilog2().min(40)
}

/// Simulates such a run from its start to the results.
pub(super) fn run(
    setup: &DelaySetup,
    cx: &Arc<Context>,
    tables: Tables<'_>,
    observer: Observer,
    clock: &Clock,
    watch: Watch<'_>,
) -> Result<DelayFinished, Failure> {
    let context = Arc::clone(cx);
    if cx.coupled {
        alone::run(setup, cx, Compact::<u64>::new(context, observer, tables), clock, watch)
    } else {
        alone::run(setup, cx, Compact::<Stamp>::new(context, observer, tables), clock, watch)
    }
}

impl<'a, S: Order> Compact<'a, S> {
    /// A run before anything has happened.
    fn new(cx: Arc<Context>, observer: Observer, tables: Tables<'a>) -> Self {
        debug_assert!(cx.lookahead() > 0, "messages take time");
        let hosts: Vec<Host> = cx.places.iter().map(|p| Host::new(cx.starts[p.job as usize])).collect();
        let mut waits = Vec::with_capacity(tables.ops());
        for host in 0..hosts.len() as u32 {
            waits.extend(tables.of(host).map(|op| tables.step(host, op).waits));
        }
        let state = State {
            matching: Matching::new(hosts.len() as u32),
            hosts,
            waits,
            nodes: Pool::default(),
            messages: Pool::default(),
            created: 0,
            steps: 0,
            cut: false,
        };
        let latency = (cx.config.hop_latency == 0).then(|| cx.delays.least());
        let queue = Queue::new(slot_shift(&cx));
        let mut run =
            Self { cx, observer, tables, latency, state, queue, freed: Vec::new(), released: NOBODY };
        for host in 0..run.state.hosts.len() as u32 {
            let ops = run.tables.of(host);
            let now = run.state.hosts[host as usize].free;
            run.freed.extend(ops.filter(|&op| run.state.waits[op as usize] == 0).map(|op| (host, op)));
            run.create(now, S::default());
            run.file(host);
        }
        run
    }

    /// Everything of a slot, in order.
    fn slot(&mut self, entries: &[Entry<S>]) {
        let end = (self.queue.now(), S::default());
        for (n, entry) in entries.iter().enumerate() {
            for (stage, ahead) in AHEAD.into_iter().enumerate() {
                if let Some(later) = entries.get(n + ahead) {
                    self.prepare(stage, later);
                }
            }
            while self.queue.first().is_some_and(|first| first.key() < entry.key())
                && let Some(first) = self.queue.pop()
            {
                self.turn(&first, entry.key());
            }
            self.turn(entry, entries.get(n + 1).map_or(end, Entry::key));
        }
        while let Some(first) = self.queue.pop() {
            self.turn(&first, end);
        }
    }

    /// Takes an entry up, unless it is void, and what its host does then before `bound` and all that fell due.
    #[inline]
    fn turn(&mut self, entry: &Entry<S>, bound: (Ps, S)) {
        let host = entry.host;
        if entry.from == NOBODY {
            if self.state.hosts[host as usize].looks != entry.number {
                return;
            }
            let Some(next) = self.next(host) else { return };
            debug_assert!(
                (next.time, next.stamp) == entry.key(),
                "an entry that is not void says what comes next"
            );
            self.step(host, &next);
        } else if !self.comes(entry) {
            return;
        }
        while let Some(next) = self.look(host) {
            let key = (next.time, next.stamp);
            if key >= bound || self.queue.first().is_some_and(|first| first.key() < key) {
                return self.put(host, &next);
            }
            self.step(host, &next);
        }
    }

    /// What a host does next; what it was found to do before is void.
    #[inline]
    fn look(&mut self, host: u32) -> Option<Next<S>> {
        if self.released != NOBODY {
            let released = std::mem::replace(&mut self.released, NOBODY);
            if released != host {
                self.file(released);
            }
        }
        let h = &mut self.state.hosts[host as usize];
        h.looks = h.looks.wrapping_add(1);
        let next = self.next(host)?;
        if next.time >= self.cx.end {
            self.state.cut = true;
            return None;
        }
        Some(next)
    }

    fn file(&mut self, host: u32) {
        if let Some(next) = self.look(host) {
            self.put(host, &next);
        }
    }

    #[inline]
    fn put(&mut self, host: u32, next: &Next<S>) {
        let number = self.state.hosts[host as usize].looks;
        let (time, stamp) = (next.time, next.stamp);
        self.queue.put(Entry { time, stamp, bytes: 0, host, from: NOBODY, tag: 0, number, send: 0 });
    }

    /// Nothing is to come: posts the receives that were left because they act on nobody.
    fn post_rest(&mut self) {
        for host in 0..self.state.hosts.len() as u32 {
            self.post_until(host, (self.cx.end, S::default()));
            self.state.cut |= !self.state.hosts[host as usize].recvs.is_empty();
        }
    }

    /// Touches what a later entry's turn will need.
    #[inline]
    fn prepare(&self, stage: usize, entry: &Entry<S>) {
        let s = &self.state;
        let host = entry.host;
        match stage {
            0 => {
                prefetch(s.hosts.as_ptr().wrapping_add(host as usize));
                s.matching.prefetch(host);
                self.observer.prefetch(GlobalRank::new(host));
            }
            1 => {
                let h = &s.hosts[host as usize];
                for head in [h.sends.head, h.calcs.head, h.recvs.head] {
                    s.nodes.prefetch(head);
                }
                s.matching.prefetch_oldest(host);
            }
            _ => {
                let h = &s.hosts[host as usize];
                let posted = s.matching.first_posted(host);
                for head in [h.sends.head, h.calcs.head, h.recvs.head, posted.unwrap_or(NIL)] {
                    if head != NIL {
                        let op = s.nodes.get(head).op;
                        self.tables.prefetch(op);
                        self.tables.prefetch_freed(op);
                        prefetch(s.waits.as_ptr().wrapping_add(op as usize));
                    }
                }
            }
        }
    }
}

impl<S: Order> Alone for Compact<'_, S> {
    const WORK: u64 = 1 << 16;

    fn go_on(&mut self, work: u64) -> bool {
        let until = self.state.steps + work;
        while self.state.steps < until {
            let Some(entries) = self.queue.open() else {
                self.post_rest();
                return false;
            };
            self.slot(&entries);
            self.queue.close(entries);
        }
        true
    }

    fn now(&self) -> Ps {
        self.queue.now()
    }

    fn events(&self) -> u64 {
        self.state.steps
    }

    fn was_cut(&self) -> bool {
        self.state.cut
    }

    fn makespans(&self) -> Vec<Ps> {
        self.state.hosts.iter().map(|h| h.free).collect()
    }

    fn stuck(&self) -> Stuck {
        let ranks: Vec<RankState> =
            (0..self.state.hosts.len() as u32).map(|host| self.standing(host)).collect();
        let op = |host: usize, number: u32| {
            let host = host as u32;
            let ops = self.tables.of(host);
            Some(self.tables.step(host, ops.start + number).op())
        };
        Stuck::of(&ranks, &op, &|job, rank, op| stuck::place(&*self.cx.programs[job as usize], rank, op))
    }

    fn save(&mut self, to: &mut Vec<u8>) {
        let State { hosts, waits, nodes, messages, matching, created, steps, cut } = &mut self.state;
        kept::put(&(&*hosts, &*waits), to);
        kept::put(&(*created, *steps, *cut), to);
        nodes.save(to);
        messages.save(to);
        matching.visit_journals(&mut |table| table.save(to));
        let entries: Vec<Entry<S>> = self.queue.entries().copied().collect();
        kept::put(&(self.queue.opened(), entries), to);
        self.observer.save(to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged> {
        let ops = self.state.waits.len();
        let State { hosts, waits, nodes, messages, matching, created, steps, cut } = &mut self.state;
        (*hosts, *waits) = kept::take(from)?;
        (*created, *steps, *cut) = kept::take(from)?;
        nodes.load(from)?;
        messages.load(from)?;
        let mut sound = Ok(());
        matching.visit_journals(&mut |table| sound = sound.and_then(|()| table.load(from)));
        sound?;
        let (opened, entries): (u64, Vec<Entry<S>>) = kept::take(from)?;
        self.queue = Queue::reopened(slot_shift(&self.cx), opened);
        entries.into_iter().for_each(|entry| self.queue.put(entry));
        self.observer.load(from)?;
        let fits = self.state.hosts.len() == self.cx.places.len() && self.state.waits.len() == ops;
        if fits { Ok(()) } else { Err(Damaged) }
    }

    fn claims(&self) -> Claims {
        self.claim_all()
    }

    fn observer(self) -> Observer {
        self.observer
    }

    fn observed(&self) -> &Observer {
        &self.observer
    }
}

impl<S: Order> Compact<'_, S> {
    /// Where a host stands when nothing is to come any more.
    fn standing(&self, host: u32) -> RankState {
        let (s, place) = (&self.state, self.cx.place(GlobalRank::new(host)));
        let ops = self.tables.of(host);
        let waits = &s.waits[ops.start as usize..ops.end as usize];
        let mut messages: Vec<_> = s.matching.messages(host).map(|(_, row)| s.messages.get(row)).collect();
        messages.sort_by_key(|m| (m.arrival, m.from, m.number));
        let left =
            |m: &Message<S>| Left { from: RankId::new(m.from), tag: m.tag, context: 0, bytes: m.bytes };
        let of = |state: u32| (0u32..).zip(waits).filter(move |w| *w.1 == state).map(|w| w.0);
        let waiting: Vec<u32> = of(STARTED).collect();
        let over = of(OVER).count();
        RankState {
            job: place.job,
            rank: place.rank,
            ended: over == waits.len(),
            idle: (waits.len() - over - waiting.len()) as u64,
            waiting,
            messages: messages.into_iter().map(left).collect(),
        }
    }
}
