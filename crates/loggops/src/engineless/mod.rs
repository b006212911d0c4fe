//! Ranks that run ahead, without the engine: the engineless form of `run_ahead.rs` for a run in one partition in which all ranks are of this kind.
//!
//! With pure delays, what a rank does next depends on the contents of its messages' queues alone (Kahn: The semantics of a simple language for parallel
//! programming, IFIP 1974), so any order of ranks gives one answer. Ranks that can go on wait in a list; each does some operations in its turn, until it waits
//! for a message. There is neither an event, nor a row for an operation: a rank is a program counter in a batch of operations, with
//!
//! - `clock`, when its processor is free; `acted`, when it last took something up; `before`, when the operation before began and ended;
//! - the few receives behind which it went on and that a later operation may wait for (`open`);
//! - queues of messages and receives by label (`channels.rs`).
//!
//! An operation's `ready` is the latest of what it waits for. It begins at `max(ready, clock)`; a join is over at `max(ready, acted)`. A receive is over at its
//! posting or at the arrival, whichever is later. Messages of one pair stay in order (see `DELAY.md`).
//!
//! **Memory.** A message that waits is a node of 32 bytes. So that none runs far ahead of those that receive its messages, ranks that reach `horizon` wait until
//! all have. The span of a horizon adapts: it doubles when little is done in one, and halves when many messages wait. It changes no result.
//!
//! **Cost.** O(1) for an operation; a lookup in a small table for each of a message's ends.

mod channels;
mod claims;
#[cfg(test)]
mod planted;
mod rank;

use super::{
    alone::Alone,
    claims::read_again,
    domain::{Act, Arrival, Context, Cut, Done, Ended, Partner, Received, Record, Sending},
    follow::Claims,
    observe::Observer,
};
use base::{
    sorted::SortedMap,
    time::{NEVER, Ps},
};
use channels::{Label, Nodes, Waits};
use engine::{
    domain::Observer as Observe,
    kept::{self, Damaged, Kept},
};
use model::setup::JobSetup;
use rank::{Doing, Rank};
use ranks::{
    instances,
    roster::GlobalRank,
    stuck::{self, Left, RankState, Stuck},
};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, sync::Arc};
use workload::program::{After, Kind, Op};

/// Operations in one turn of a rank: what its neighbours need soon, and enough to have its memory at hand.
const TURN: u32 = 64;

/// Lookaheads to the first horizon.
const SPAN: Ps = 64;

/// Operations of a rank between two horizons below which the span doubles, and messages that wait per rank above which it halves.
const LITTLE: u64 = 256;
const MANY: usize = 256;

/// What does not follow from the setup.
#[derive(Serialize, Deserialize)]
struct State {
    ranks: Vec<Rank>,
    nodes: Nodes,
    /// How long messages on their way are held back behind earlier ones, by sending host and number; kept if the context wants it.
    held: SortedMap<(GlobalRank, u32), Ps>,
    /// Ranks that can go on.
    queue: VecDeque<GlobalRank>,
    /// Ranks that wait for the horizon, and when they go on.
    later: Vec<(Ps, GlobalRank)>,
    /// No rank takes anything up at this time or after, for now.
    horizon: Ps,
    span: Ps,
    /// Operations done, and at the last horizon.
    done: u64,
    before: u64,
    cut: bool,
}

/// A run without the engine: ranks take turns, each as far as it can go.
pub struct Engineless {
    cx: Arc<Context>,
    /// What was measured on the run.
    pub observer: Observer,
    /// The first source that turned out to be damaged: host and message.
    pub damage: Option<(GlobalRank, String)>,
    state: State,
}

/// How a rank's turn goes on.
enum Then {
    GoOn,
    /// It waits, or is over.
    Stop,
}

impl Engineless {
    /// A run before anything has happened.
    pub fn new(cx: Arc<Context>, observer: Observer) -> Self {
        debug_assert!(
            cx.runs_ahead.iter().all(|&ahead| ahead) && cx.lookahead() > 0,
            "all ranks run ahead, and messages take time"
        );
        let ranks: Vec<Rank> = cx.places.iter().map(|p| Rank::new(cx.starts[p.job as usize])).collect();
        let span = cx.lookahead().saturating_mul(SPAN);
        // All ranks can go on at first, in the order of their numbers. Any other order would give the same results.
        let queue = (0..ranks.len()).map(GlobalRank::from_index).collect();
        let first = cx.starts.iter().copied().min().unwrap_or(0);
        let state = State {
            ranks,
            nodes: Nodes::default(),
            held: SortedMap::new(),
            queue,
            later: Vec::new(),
            horizon: first.saturating_add(span),
            span,
            done: 0,
            before: 0,
            cut: false,
        };
        Self { cx, observer, damage: None, state }
    }

    fn standing(&self, host: usize) -> RankState {
        let (place, r) = (self.cx.places[host], &self.state.ranks[host]);
        let mut waiting: Vec<u32> =
            r.channels.receives(&self.state.nodes).map(|(_, receive)| receive.number).collect();
        waiting.sort_unstable();
        let mut messages: Vec<(Label, Waits)> = r.channels.messages(&self.state.nodes).collect();
        messages.sort_unstable_by_key(|(label, m)| (m.time, label.source, m.number));
        let left = |(label, m): (Label, Waits)| Left {
            from: label.source,
            tag: label.tag,
            context: label.context,
            bytes: m.bytes,
        };
        RankState {
            job: place.job,
            rank: place.rank,
            ended: r.doing == Doing::Over && waiting.is_empty(),
            waiting,
            idle: if r.doing == Doing::Over { 0 } else { r.left() },
            messages: messages.into_iter().map(left).collect(),
        }
    }

    fn next_horizon(&mut self) {
        let s = &mut self.state;
        let done = s.done - s.before;
        s.before = s.done;
        // The span adapts to what was done in it. Its only effects are memory and how often the lists are gone through.
        if done < LITTLE * s.ranks.len() as u64 {
            s.span = s.span.saturating_mul(2).min(NEVER / 2);
        } else if s.nodes.used() > MANY * s.ranks.len() {
            s.span = (s.span / 2).max(self.cx.lookahead());
        }
        debug_assert!(s.queue.is_empty(), "a horizon moves when nobody can go on below it");
        // From the rank that is furthest behind: the next horizon lies above it, so at least one can go on.
        let least = s.later.iter().map(|l| l.0).min().unwrap_or(0);
        s.horizon = least.saturating_add(s.span);
        let (horizon, queue) = (s.horizon, &mut s.queue);
        s.later.retain(|&(at, rank)| {
            let waits = at >= horizon;
            if !waits {
                queue.push_back(rank);
            }
            waits
        });
    }

    /// A rank does what it can.
    fn turn(&mut self, host: GlobalRank) {
        debug_assert!(
            self.state.ranks[host.index()].doing == Doing::Ready,
            "a rank that has its turn can go on"
        );
        let mut left = TURN;
        loop {
            let r = &mut self.state.ranks[host.index()];
            let Some(&op) = r.batch.ops.get(r.at as usize) else {
                if !self.read(host) {
                    return;
                }
                continue;
            };
            if left == 0 {
                // Turns are bounded so that a rank that only sends does not fill its receivers' queues before they have had a turn.
                return self.state.queue.push_back(host);
            }
            left -= 1;
            if let Then::Stop = self.step(host, op) {
                return;
            }
        }
    }

    /// Reads the next batch of a rank; false if there is none.
    fn read(&mut self, host: GlobalRank) -> bool {
        let place = self.cx.place(host);
        let r = &mut self.state.ranks[host.index()];
        let more = r.read(self.cx.programs[place.job as usize].as_ref(), place.rank);
        let more = more.map_err(|d| d.0).and_then(|more| {
            if workload::program::chained(&r.batch.ops, r.first == 0) {
                return Ok(more);
            }
            Err("its operations do not follow each other, as it promised".to_owned())
        });
        if let Ok(true) = more {
            return true;
        }
        r.doing = Doing::Over;
        if let Err(message) = more {
            self.damage.get_or_insert((host, message));
        }
        false
    }

    /// Does the next operation of a rank, if it can.
    #[inline]
    fn step(&mut self, host: GlobalRank, op: Op) -> Then {
        let r = &mut self.state.ranks[host.index()];
        // It is not asked again at every turn: the receive that it waits for puts it back into the queue.
        if let Err(number) = ready(r, op.after) {
            r.doing = Doing::Waiting(number);
            return Then::Stop;
        }
        if op.kind == Kind::Join {
            // Joins take no processor time: they are over when the last of what they wait for is, or when the rank came to them.
            let end = r.ready.max(r.acted);
            let number = r.number();
            r.before = (end, end);
            r.advance();
            self.done(&op, Done { act: Act::Join, start: end, end }, host, number);
            return Then::GoOn;
        }
        let now = r.ready.max(r.clock);
        if now >= self.state.horizon || now >= self.cx.end {
            if now >= self.cx.end {
                r.doing = Doing::Cut;
                self.state.cut = true;
            } else {
                self.state.later.push((now, host));
            }
            return Then::Stop;
        }
        (r.clock, r.acted) = (now, now);
        match op.kind {
            Kind::Calc => {
                let job = self.cx.place(host).job;
                let end = now + JobSetup::computing(op.amount, self.cx.compute_ppb[job as usize]);
                let number = r.number();
                r.clock = end;
                r.before = (now, end);
                r.advance();
                self.done(&op, Done { act: Act::Calc, start: now, end }, host, number);
            }
            Kind::Send => self.send(host, &op, now),
            _ => self.receive(host, &op, now),
        }
        Then::GoOn
    }

    fn send(&mut self, host: GlobalRank, op: &Op, now: Ps) {
        let here = self.cx.place(host);
        let to = self.cx.host(here.job, op.peer);
        let delay = self.cx.delays.delay(here.terminal, self.cx.place(to).terminal, op.amount);
        let mut arrival = now + self.cx.config.overhead + delay;
        let r = &mut self.state.ranks[host.index()];
        let number = r.number();
        r.before = (now, now);
        r.advance();
        if self.cx.overtaking {
            let alone = arrival;
            debug_assert!(arrival >= now, "a message takes no negative time");
            // Messages of a pair stay in order: a short one waits behind a long one that was sent before.
            arrival = r.in_order(op.peer, alone);
            if self.cx.holds && arrival > alone {
                self.state.held.insert((host, number), arrival - alone);
            }
        }
        let bytes = op.amount;
        let sending = Done { act: Act::Send, start: now, end: now };
        let collective = op.collective;
        let taken_up = Sending { host, number, to, bytes, start: now, end: now, arrival, collective };
        self.observer.commit(&Record::Sending(taken_up));
        let with = Partner { peer: to, bytes };
        self.observer.commit(&Record::Ended(ended(sending, OpOf { host, number }, part(op), with)));
        self.state.done += 1;
        if arrival >= self.cx.end {
            self.state.cut = true;
            return;
        }
        if self.observer.keeps_operations() {
            let (start, end) = (arrival, arrival);
            self.observer.commit(&Record::Arrival(Arrival {
                host: to,
                from: host,
                number,
                bytes,
                start,
                end,
            }));
        }
        let label = Label { context: op.context, source: here.rank, tag: op.tag };
        let message = Waits { time: arrival, bytes, number };
        let State { ranks, nodes, .. } = &mut self.state;
        let receiver = &mut ranks[to.index()];
        let Some(receive) = receiver.channels.arrive(nodes, label, message) else { return };
        let at = receive.time.max(arrival);
        receiver.ended(receive.number, at);
        if receiver.doing == Doing::Waiting(receive.number) {
            receiver.doing = Doing::Ready;
            // Next, while its message is at hand; those whose turn is over come behind.
            self.state.queue.push_front(to);
        }
        // Of the receive, its posting, its room and its collective are kept; the rest is in the label.
        let (collective, room) = receive.asked();
        let call = part(&Op { collective, ..*op });
        let operation = OpOf { host: to, number: receive.number };
        let meeting = Meeting { sent: OpOf { host, number }, bytes, arrival, posted: receive.time, room };
        self.received(operation, call, meeting);
    }

    /// A message and its receive have met: the receive is over when both are there.
    fn received(&mut self, operation: OpOf, call: Call, m: Meeting) {
        let OpOf { host, number } = operation;
        let Meeting { sent, bytes, arrival, posted, room } = m;
        let (from, end) = (sent.host, posted.max(arrival));
        debug_assert!(arrival > 0, "a message took time");
        if bytes > room {
            self.observer.commit(&Record::Truncated(Cut { host, number, from, bytes, room }));
        }
        if self.cx.receipts {
            let held = self.held(sent);
            let send = sent.number;
            let receipt = Received { host, number, from, send, bytes, posted, arrival, end, held };
            self.observer.commit(&Record::Received(receipt));
        }
        let done = Done { act: Act::Recv, start: end, end };
        let receive = ended(done, operation, call, Partner { peer: from, bytes });
        self.observer.commit(&Record::Ended(Ended { posted, ..receive }));
        self.state.done += 1;
    }

    fn receive(&mut self, host: GlobalRank, op: &Op, now: Ps) {
        let State { ranks, nodes, .. } = &mut self.state;
        let r = &mut ranks[host.index()];
        let number = r.number();
        let label = Label { context: op.context, source: op.peer, tag: op.tag };
        let receive = Waits::receive(now, number, op);
        // The end is not known before the message is: NEVER makes whoever needs it wait.
        r.before = (now, NEVER);
        r.advance();
        if let Some(message) = r.channels.receive(nodes, label, receive) {
            r.before.1 = now.max(message.time);
            let sender = self.cx.host(self.cx.place(host).job, op.peer);
            let meeting = Meeting {
                sent: OpOf { host: sender, number: message.number },
                bytes: message.bytes,
                arrival: message.time,
                posted: now,
                room: op.amount,
            };
            self.received(OpOf { host, number }, part(op), meeting);
        }
    }

    /// How long the message of this send was held back, which is asked once.
    #[inline]
    fn held(&mut self, sent: OpOf) -> Ps {
        if self.cx.holds { self.state.held.remove(&(sent.host, sent.number)).unwrap_or(0) } else { 0 }
    }

    #[inline]
    fn done(&mut self, op: &Op, done: Done, host: GlobalRank, number: u32) {
        self.state.done += 1;
        self.observer.commit(&Record::Ended(ended(done, OpOf { host, number }, part(op), Partner::NONE)));
    }
}

impl Alone for Engineless {
    const WORK: u64 = 1 << 14;

    fn go_on(&mut self, turns: u64) -> bool {
        for _ in 0..turns {
            let Some(rank) = self.state.queue.pop_front() else {
                if self.state.later.is_empty() || self.damage.is_some() {
                    return false;
                }
                self.next_horizon();
                continue;
            };
            self.turn(rank);
        }
        self.damage.is_none()
    }

    fn now(&self) -> Ps {
        self.state.horizon.saturating_sub(self.state.span)
    }

    fn events(&self) -> u64 {
        self.state.done
    }

    fn was_cut(&self) -> bool {
        self.state.cut
    }

    fn makespans(&self) -> Vec<Ps> {
        self.state.ranks.iter().map(|r| r.clock).collect()
    }

    fn stuck(&self) -> Stuck {
        let cx = &self.cx;
        let ranks: Vec<RankState> = (0..cx.places.len()).map(|host| self.standing(host)).collect();
        // Operations are not kept: the few that are reported are read once more.
        let op = |host: usize, number: u32| read_again(cx, GlobalRank::from_index(host), number);
        Stuck::of(&ranks, &op, &|job, rank, op| stuck::place(&*cx.programs[job as usize], rank, op))
    }

    fn save(&mut self, to: &mut Vec<u8>) {
        kept::put(&self.state, to);
        self.observer.save(to);
    }

    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged> {
        self.state = kept::take(from)?;
        self.observer.load(from)?;
        if self.state.ranks.len() != self.cx.places.len() {
            return Err(Damaged);
        }
        for (rank, place) in self.state.ranks.iter_mut().zip(&self.cx.places) {
            let program = self.cx.programs[place.job as usize].as_ref();
            // Programs are pure: a batch is not saved, but read again to the same place.
            rank.reread(program, place.rank).map_err(|_| Damaged)?;
        }
        Ok(())
    }

    fn claims(&self) -> Claims {
        self.claim_all()
    }

    fn observed(&self) -> &Observer {
        &self.observer
    }

    fn observer(self) -> Observer {
        self.observer
    }

    fn damage(&self) -> Option<(GlobalRank, String)> {
        self.damage.clone()
    }
}

/// What is known when a message and its receive meet.
struct Meeting {
    /// The send of the message.
    sent: OpOf,
    bytes: u64,
    arrival: Ps,
    posted: Ps,
    /// Bytes that the receive has room for.
    room: u64,
}

/// An operation, by its host and number.
#[derive(Clone, Copy)]
struct OpOf {
    host: GlobalRank,
    number: u32,
}

/// A collective, and which call of it.
struct Call {
    collective: u16,
    instance: u64,
}

/// The collective that an operation belongs to, and which call.
#[inline]
fn part(op: &Op) -> Call {
    Call { collective: op.collective, instance: instances::of(op) }
}

#[inline]
fn ended(done: Done, op: OpOf, call: Call, with: Partner) -> Ended {
    let (Done { act, start, end }, OpOf { host, number }) = (done, op);
    let (Call { collective, instance }, Partner { peer, bytes }) = (call, with);
    Ended { host, number, act, start, end, peer, bytes, posted: start, collective, instance }
}

/// Finds out when the next operation of a rank can begin; else the number of the receive that it waits for.
#[inline]
fn ready(r: &mut Rank, after: After) -> Result<(), u32> {
    if !r.asked {
        let (start, end) = r.before;
        r.ready = match after {
            After::Finish if end == NEVER => return Err(r.number().wrapping_sub(1)),
            After::Finish => end,
            After::Start | After::Nothing => {
                if end > start {
                    r.leave_open();
                }
                start
            }
        };
        r.asked = true;
    }
    let number = u64::from(r.number());
    while let Some(edge) = r.batch.edges.get(r.edge as usize).filter(|e| e.after == number) {
        let end = if edge.on_start { 0 } else { r.end_of(edge.before as u32) };
        // What comes later waits for this one itself: a circle.
        if end == NEVER || edge.before >= number {
            return Err(edge.before as u32);
        }
        r.ready = r.ready.max(end);
        r.edge += 1;
    }
    Ok(())
}
