//! What is measured: times by rank, messages by size, pair and collective, the fingerprint of all happenings.

use super::{
    critical::{Busy, Part},
    domain::{Act, Context, Record},
    energy::Windows,
};
use base::{hash::Fingerprint, time::Ps};
use engine::domain::Observer as Observe;
use ranks::{
    messages::{Messages, Seen},
    tally::Collective,
    truncated::{Cut, Truncated},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// What to measure beyond the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// A row per size of message: times from send to arrival and to the completed receive.
    pub messages: bool,
    /// A row per pair of ranks that exchange messages.
    pub pairs: bool,
    /// A row per operation: memory grows with the run.
    pub operations: bool,
}

/// Sums of a rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTimes {
    /// Processor time of computations.
    pub compute: Ps,
    /// Processor time of messages.
    pub overhead: Ps,
    /// Time that the messages it sent are under way, added up.
    pub transfer: Ps,
    /// End of its last operation.
    pub last: Ps,
    /// Operations of ranks that are over.
    pub operations: u64,
    /// Messages that were sent, arrived or not.
    pub sent: u64,
    /// Payload of the messages sent, in bytes.
    pub bytes: u64,
    /// Messages that have arrived as a whole.
    pub received: u64,
    /// Payload of the messages received, in bytes.
    pub received_bytes: u64,
}

/// Times of received messages of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageTimes {
    /// How many of them there are.
    pub messages: u64,
    /// From each send until the message was there, summed.
    pub transfer: u128,
    /// From each send until its receive was over, summed: waiting for a late receiver included.
    pub received: u128,
    /// The longest of the latter.
    pub longest: Ps,
}

impl MessageTimes {
    fn merge(&mut self, other: &Self) {
        self.messages += other.messages;
        self.transfer += other.transfer;
        self.received += other.received;
        self.longest = self.longest.max(other.longest);
    }
}

/// An operation that was done, for tables on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Done {
    /// Host.
    pub host: u32,
    /// Its number.
    pub number: u32,
    /// What it is.
    pub act: Act,
    /// When it was taken up.
    pub start: Ps,
    /// When it was over.
    pub end: Ps,
    /// Host at the other end.
    pub peer: u32,
    /// Bytes of the message.
    pub bytes: u64,
    /// When a receive was posted; the start of others.
    pub posted: Ps,
    /// 1 + index of its collective, or 0.
    pub collective: u16,
    /// Its collective call, see [`ranks::instances::of`].
    pub instance: u64,
}

/// Measurements of one partition.
pub struct Observer {
    cx: Arc<Context>,
    measure: Measure,
    /// Number of the first host measured.
    first: u32,
    /// Sum over all operations done.
    pub fingerprint: Fingerprint,
    /// Times by host.
    pub ranks: Vec<RankTimes>,
    /// Messages sent by size: number in `[2^(n-1), 2^n)`, empty ones first.
    pub sizes: Vec<u64>,
    /// Windows of messages, if their energy is asked for.
    pub windows: Option<Windows>,
    /// Sums by job and collective.
    pub collectives: BTreeMap<(u32, u16), Collective>,
    /// Messages and bytes by source and destination host.
    pub pairs: BTreeMap<(u32, u32), (u64, u64)>,
    /// Times of received messages by job and size.
    pub messages: BTreeMap<(u32, u64), MessageTimes>,
    /// Messages that are longer than their receives.
    pub truncated: Truncated,
    /// Which messages were sent and received, if that is checked.
    pub messages_seen: Option<Messages>,
    /// Operations done.
    pub done: Vec<Done>,
    /// What kept processors busy, for the critical path; with the operations.
    pub busy: Vec<Busy>,
}

engine::kept!(Observer: fingerprint, ranks, sizes, windows, collectives, pairs, messages, truncated, messages_seen, done, busy => cx, measure, first);

impl Observer {
    /// Nothing measured yet of the hosts from `first` to `last`.
    #[must_use]
    pub fn new(cx: Arc<Context>, (first, last): (u32, u32), (measure, check): (Measure, bool)) -> Self {
        Self {
            measure,
            first,
            fingerprint: Fingerprint::default(),
            ranks: vec![RankTimes::default(); (last - first) as usize],
            sizes: vec![0; 65],
            windows: cx.energy.then(Windows::default),
            collectives: BTreeMap::new(),
            pairs: BTreeMap::new(),
            messages: BTreeMap::new(),
            truncated: Truncated::default(),
            messages_seen: check.then(Messages::default),
            done: Vec::new(),
            busy: Vec::new(),
            cx,
        }
    }

    /// True if every operation is kept, and what kept processors busy.
    #[must_use]
    pub fn keeps_operations(&self) -> bool {
        self.measure.operations
    }

    /// Operations done so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.ranks.iter().map(|r| r.operations).sum()
    }

    /// Adds what the partition of the next hosts measured.
    pub fn merge(&mut self, other: Self) {
        self.fingerprint.merge(other.fingerprint);
        self.ranks.extend(other.ranks);
        for (a, b) in self.sizes.iter_mut().zip(other.sizes) {
            *a += b;
        }
        if let (Some(windows), Some(others)) = (&mut self.windows, &other.windows) {
            windows.merge(others);
        }
        for (key, c) in other.collectives {
            let sum = self.collectives.entry(key).or_default();
            sum.operations += c.operations;
            sum.messages += c.messages;
            sum.bytes += c.bytes;
            sum.busy += c.busy;
        }
        for (key, (messages, bytes)) in other.pairs {
            let sum = self.pairs.entry(key).or_default();
            *sum = (sum.0 + messages, sum.1 + bytes);
        }
        for (key, times) in other.messages {
            self.messages.entry(key).or_default().merge(&times);
        }
        self.truncated.merge(other.truncated);
        if let (Some(mine), Some(theirs)) = (&mut self.messages_seen, other.messages_seen) {
            mine.merge(theirs);
        }
        self.done.extend(other.done);
        self.busy.extend(other.busy);
    }

    /// A message was sent, or received. Where interfaces take messages in, the receiver does not know when it was there first.
    #[cold]
    fn seen(&mut self, r: &Record) {
        let Some(messages) = &mut self.messages_seen else { return };
        let sent = r.act == Act::Sending;
        let (from, to) = if sent { (r.host, r.peer) } else { (r.peer, r.host) };
        let at = |host: u32| self.cx.places[host as usize].terminal;
        let time = if self.cx.landing { 0 } else { r.there };
        let message = Seen { from, to, number: 0, bytes: r.bytes, time };
        if sent {
            let least = self.cx.config.overhead + self.cx.delays.delay(at(from), at(to), r.bytes);
            messages.sent(message);
            messages.not_before(&message, r.there, r.start.saturating_add(least));
        } else {
            // Of several processors each has a clock of its own, and what it does may lie before what another one did to cause it.
            let earliest = if self.cx.cpus == 1 { r.there.max(r.posted) } else { 0 };
            messages.arrived(message, r.end, earliest);
        }
    }

    fn sending(&mut self, r: &Record) {
        if let (Some(windows), Some(resilient)) = (&mut self.windows, &self.cx.config.resilient) {
            let at = |host: u32| self.cx.places[host as usize].terminal;
            let hops = self.cx.delays.hops(at(r.host), at(r.peer));
            let packets = resilient.parameters.packets(r.bytes).unwrap_or(1);
            windows.add(hops, packets, resilient.parameters.window.into());
        }
        self.sizes[(u64::BITS - r.bytes.leading_zeros()) as usize] += 1;
        let rank = &mut self.ranks[(r.host - self.first) as usize];
        rank.overhead += r.end - r.start;
        rank.transfer += r.there - r.start;
        rank.sent += 1;
        rank.bytes += r.bytes;
        if self.measure.pairs {
            let sum = self.pairs.entry((r.host, r.peer)).or_default();
            *sum = (sum.0 + 1, sum.1 + r.bytes);
        }
        if r.collective > 0 {
            let sum = self.collective(r);
            sum.messages += 1;
            sum.bytes += r.bytes;
            sum.busy += r.end - r.start;
        }
    }

    /// A receive is over: how long its message took. When it was sent follows from when it was there and how long it was held back.
    fn received(&mut self, r: &Record) {
        let (cx, to) = (&self.cx, self.cx.places[r.host as usize]);
        let delay = cx.delays.delay(cx.places[r.peer as usize].terminal, to.terminal, r.bytes);
        let transfer = cx.config.overhead + delay + cx.landing(r.peer, r.host, r.bytes) + r.held;
        let received = (r.end + transfer).saturating_sub(r.there);
        let one = MessageTimes {
            messages: 1,
            transfer: transfer.into(),
            received: received.into(),
            longest: received,
        };
        self.messages.entry((to.job, r.bytes)).or_default().merge(&one);
    }

    #[cold]
    fn truncates(&mut self, r: &Record) {
        let (to, from) = (self.cx.places[r.host as usize], self.cx.places[r.peer as usize]);
        let Record { number, bytes, room, .. } = *r;
        self.truncated.add(Cut { job: to.job, to: to.rank, number, from: from.rank, bytes, room });
    }

    fn busy(&mut self, r: &Record) {
        let part = match r.act {
            Act::Calc => Part::Compute,
            Act::Sending => Part::Send,
            Act::Arrival => Part::Receive,
            _ => return,
        };
        let Record { host, number, start, end, peer, bytes, .. } = *r;
        self.busy.push(Busy { host, end, start, part, number, peer, bytes });
    }

    fn collective(&mut self, r: &Record) -> &mut Collective {
        let job = self.cx.places[r.host as usize].job;
        self.collectives.entry((job, r.collective)).or_default()
    }

    fn done(&mut self, r: &Record) {
        self.fingerprint.add(r.end, u64::from(r.host), u64::from(r.number), r.bytes);
        let rank = &mut self.ranks[(r.host - self.first) as usize];
        rank.operations += 1;
        rank.last = rank.last.max(r.end);
        match r.act {
            Act::Calc => rank.compute += r.end - r.start,
            Act::Recv => {
                rank.received += 1;
                rank.received_bytes += r.bytes;
                if r.bytes > r.room {
                    self.truncates(r);
                }
                if self.measure.messages {
                    self.received(r);
                }
            }
            _ => {}
        }
        if r.collective > 0 {
            let sum = self.collective(r);
            sum.operations += 1;
            if r.act == Act::Calc {
                sum.busy += r.end - r.start;
            }
        }
        if self.measure.operations {
            let Record { act, host, number, start, end, peer, bytes, posted, collective, instance, .. } = *r;
            self.done.push(Done { host, number, act, start, end, peer, bytes, posted, collective, instance });
        }
    }
}

impl Observe<Record> for Observer {
    #[inline]
    fn commit(&mut self, r: &Record) {
        if self.measure.operations {
            self.busy(r);
        }
        if self.messages_seen.is_some() && matches!(r.act, Act::Sending | Act::Recv) {
            self.seen(r);
        }
        match r.act {
            Act::Sending => self.sending(r),
            Act::Arrival => self.ranks[(r.host - self.first) as usize].overhead += r.end - r.start,
            Act::Calc | Act::Send | Act::Recv | Act::Join | Act::Probe => self.done(r),
        }
    }
}
