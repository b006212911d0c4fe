//! What is measured: times by rank, messages by size, pair and collective, the fingerprint of all happenings.

use super::{
    critical::Busy,
    domain::{Act, Arrival, Context, Cut, Ended, Received, Record, Sending},
    energy::Windows,
    follow::Follower,
    slices::Sliced,
};
use base::{hash::Fingerprint, sorted::SortedMap, time::Ps};
use engine::domain::Observer as Observe;
use ranks::{
    critical::Part,
    roster::GlobalRank,
    sizes::{SentMessage, Sizes},
    tally::Collective,
    truncated::{self, Truncated},
};
use serde::{Deserialize, Serialize};
use std::{ops::Range, sync::Arc};

/// What to measure beyond the summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// A row per size of message: times from send to arrival and to the completed receive.
    pub messages: bool,
    /// A row per pair of ranks that exchange messages.
    pub pairs: bool,
    /// A row per operation: memory grows with the run.
    pub operations: bool,
    /// Length of windows of messages sent; 0 for none.
    pub window: Ps,
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
    /// Messages sent that stayed within the terminal, and their bytes.
    pub within: (u64, u64),
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

/// Measurements of one partition.
pub struct Observer {
    cx: Arc<Context>,
    measure: Measure,
    /// Number of the first host measured.
    first: GlobalRank,
    /// Sum over all operations done.
    pub fingerprint: Fingerprint,
    /// Times by host.
    pub ranks: Vec<RankTimes>,
    /// Messages sent by size and, on demand, by window.
    pub sizes: Sizes,
    /// Windows of messages, if their energy is asked for.
    pub windows: Option<Windows>,
    /// Sums by job and collective.
    pub collectives: SortedMap<(u32, u16), Collective>,
    /// Messages and bytes by source and destination host.
    pub pairs: SortedMap<(GlobalRank, GlobalRank), (u64, u64)>,
    /// Times of received messages by job and size.
    pub messages: SortedMap<(u32, u64), MessageTimes>,
    /// Messages that are longer than their receives.
    pub truncated: Truncated,
    /// What records say of each rank, if that is checked.
    pub follower: Option<Follower>,
    /// Operations that are over, for tables and the critical path; empty unless [`Observer::keeps_operations`].
    pub done: Vec<Ended>,
    /// What kept processors busy, for the critical path; with the operations.
    pub busy: Vec<Busy>,
    /// Which receive took which message, with the operations: sender and number of its send, number of the receive.
    pub taken: Vec<(GlobalRank, u32, u32)>,
}

engine::kept!(Observer: fingerprint, ranks, sizes, windows, collectives, pairs, messages, truncated, follower, done, busy, taken => cx, measure, first);

impl Observer {
    /// Nothing measured yet of `ranks`. `check`: every message is followed from its send to its receive.
    #[must_use]
    pub fn new(cx: Arc<Context>, ranks: Range<GlobalRank>, measure: Measure, check: bool) -> Self {
        Self {
            measure,
            first: ranks.start,
            fingerprint: Fingerprint::default(),
            ranks: vec![RankTimes::default(); ranks.end.index() - ranks.start.index()],
            sizes: Sizes::new(measure.window),
            windows: cx.energy.then(Windows::default),
            collectives: SortedMap::new(),
            pairs: SortedMap::new(),
            messages: SortedMap::new(),
            truncated: Truncated::default(),
            follower: check.then(|| Follower::new(ranks.start, ranks.end.index() - ranks.start.index())),
            done: Vec::new(),
            busy: Vec::new(),
            taken: Vec::new(),
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
        self.sizes.merge(other.sizes);
        if let (Some(windows), Some(others)) = (&mut self.windows, &other.windows) {
            windows.merge(others);
        }
        for (key, c) in other.collectives {
            let sum = self.collectives.entry(key).or_default();
            sum.operations += c.operations;
            sum.messages += c.messages;
            sum.bytes = sum.bytes.saturating_add(c.bytes);
            sum.busy = sum.busy.saturating_add(c.busy);
        }
        for (key, (messages, bytes)) in other.pairs {
            let sum = self.pairs.entry(key).or_default();
            *sum = (sum.0 + messages, sum.1.saturating_add(bytes));
        }
        for (key, times) in other.messages {
            self.messages.entry(key).or_default().merge(&times);
        }
        self.truncated.merge(other.truncated);
        if let (Some(mine), Some(theirs)) = (&mut self.follower, other.follower) {
            mine.merge(theirs);
        }
        self.done.extend(other.done);
        self.busy.extend(other.busy);
        self.taken.extend(other.taken);
    }

    fn times(&mut self, host: GlobalRank) -> &mut RankTimes {
        debug_assert!(host >= self.first, "a rank of this partition");
        &mut self.ranks[(host.number() - self.first.number()) as usize]
    }

    /// Hints that something of a host will be measured soon.
    #[inline]
    pub(super) fn prefetch(&self, host: GlobalRank) {
        let row = self.ranks.as_ptr().wrapping_add(host.index() - self.first.index());
        base::prefetch::prefetch(row);
        base::prefetch::prefetch(row.cast::<u8>().wrapping_add(size_of::<RankTimes>() - 1));
    }

    /// Time of a message in the network.
    fn delay(&self, from: GlobalRank, to: GlobalRank, bytes: u64) -> Ps {
        self.cx.delays.delay(self.cx.place(from).terminal, self.cx.place(to).terminal, bytes)
    }

    fn sending(&mut self, s: &Sending) {
        debug_assert!(s.start <= s.end && s.start <= s.arrival, "a message is there after it was sent");
        if let (Some(windows), Some(resilient)) = (&mut self.windows, &self.cx.config.resilient) {
            let hops = self.cx.delays.hops(self.cx.place(s.host).terminal, self.cx.place(s.to).terminal);
            let packets = resilient.parameters.packets(s.bytes).unwrap_or(1);
            windows.add(hops, packets, resilient.parameters.window.into());
        }
        let within = self.cx.describes_nodes && self.cx.within(s.host, s.to);
        let cx = &self.cx;
        let sent = || SentMessage { job: cx.place(s.host).job, time: s.end, within };
        self.sizes.record(s.bytes, s.collective > 0, sent);
        let rank = self.times(s.host);
        if within {
            rank.within = (rank.within.0 + 1, rank.within.1.saturating_add(s.bytes));
        }
        rank.overhead = rank.overhead.saturating_add(s.end - s.start);
        rank.transfer = rank.transfer.saturating_add(s.arrival - s.start);
        rank.sent += 1;
        // Where sums end, the verdict says so.
        rank.bytes = rank.bytes.saturating_add(s.bytes);
        if self.measure.pairs {
            let sum = self.pairs.entry((s.host, s.to)).or_default();
            *sum = (sum.0 + 1, sum.1.saturating_add(s.bytes));
        }
        if s.collective > 0 {
            let sum = self.collective(s.host, s.collective);
            sum.messages += 1;
            sum.bytes = sum.bytes.saturating_add(s.bytes);
            sum.busy = sum.busy.saturating_add(s.end - s.start);
        }
        if self.measure.operations {
            let Sending { host, number, to: peer, bytes, start, end, arrival: there, .. } = *s;
            self.busy.push(Busy { host, end, start, part: Part::Send, number, peer, bytes, there });
        }
    }

    fn arrival(&mut self, a: &Arrival) {
        debug_assert!(a.start <= a.end, "nothing ends before it begins");
        let rank = self.times(a.host);
        rank.overhead = rank.overhead.saturating_add(a.end - a.start);
        if self.measure.operations {
            let Arrival { host, from: peer, number, bytes, start, end } = *a;
            self.busy.push(Busy { host, end, start, part: Part::Receive, number, peer, bytes, there: end });
        }
    }

    /// How long a message took. When it was sent follows from when it was there and how long it was held back.
    fn received(&mut self, r: &Received) {
        debug_assert!(
            self.cx.cpus > 1 || (r.end >= r.arrival && r.end >= r.posted),
            "a receive is over when it was posted and its message is there"
        );
        // Where nodes are described these times are refused, so what stays takes none.
        let delay = if self.cx.stays(r.from, r.host) { 0 } else { self.delay(r.from, r.host, r.bytes) };
        let transfer = self.cx.config.overhead + delay + self.cx.landing(r.from, r.host, r.bytes) + r.held;
        let received = (r.end + transfer).saturating_sub(r.arrival);
        let one = MessageTimes {
            messages: 1,
            transfer: transfer.into(),
            received: received.into(),
            longest: received,
        };
        let job = self.cx.place(r.host).job;
        self.messages.entry((job, r.bytes)).or_default().merge(&one);
    }

    fn sliced(&mut self, s: &Sliced) {
        if self.measure.operations {
            let Sliced { host, number, start, end } = *s;
            let part = Part::Compute;
            self.busy.push(Busy { host, end, start, part, number, peer: host, bytes: 0, there: end });
        }
    }

    #[cold]
    fn truncates(&mut self, c: &Cut) {
        debug_assert!(c.bytes > c.room, "only messages that do not fit are cut");
        let (to, from) = (self.cx.place(c.host), self.cx.place(c.from));
        let Cut { number, bytes, room, .. } = *c;
        self.truncated.add(truncated::Cut { job: to.job, to: to.rank, number, from: from.rank, bytes, room });
    }

    fn collective(&mut self, host: GlobalRank, collective: u16) -> &mut Collective {
        let job = self.cx.place(host).job;
        self.collectives.entry((job, collective)).or_default()
    }

    fn ended(&mut self, e: &Ended) {
        debug_assert!(e.posted <= e.end && e.start <= e.end, "nothing ends before it begins");
        self.fingerprint.add(e.end, u64::from(e.host.number()), u64::from(e.number), e.bytes);
        let rank = self.times(e.host);
        rank.operations += 1;
        rank.last = rank.last.max(e.end);
        match e.act {
            Act::Calc => rank.compute = rank.compute.saturating_add(e.end - e.start),
            Act::Recv => {
                rank.received += 1;
                rank.received_bytes = rank.received_bytes.saturating_add(e.bytes);
            }
            _ => {}
        }
        if e.collective > 0 {
            let sum = self.collective(e.host, e.collective);
            sum.operations += 1;
            if e.act == Act::Calc {
                sum.busy = sum.busy.saturating_add(e.end - e.start);
            }
        }
        if self.measure.operations {
            if e.act == Act::Calc && !self.cx.cuts() {
                let Ended { host, number, start, end, peer, bytes, .. } = *e;
                self.busy.push(Busy {
                    host,
                    end,
                    start,
                    part: Part::Compute,
                    number,
                    peer,
                    bytes,
                    there: end,
                });
            }
            self.done.push(*e);
        }
    }
}

impl Observe<Record> for Observer {
    #[inline]
    fn commit(&mut self, record: &Record) {
        // The same once more, for the check; slices are of shared processors, of which a follower knows nothing.
        let follower = self.follower.as_mut();
        match record {
            Record::Ended(e) => {
                follower.into_iter().for_each(|f| f.ended(&self.cx, e));
                self.ended(e);
            }
            Record::Sending(s) => {
                follower.into_iter().for_each(|f| f.sending(&self.cx, s));
                self.sending(s);
            }
            Record::Arrival(a) => {
                follower.into_iter().for_each(|f| f.arrival(&self.cx, a));
                self.arrival(a);
            }
            Record::Received(r) => {
                follower.into_iter().for_each(|f| f.received(&self.cx, r));
                if self.measure.messages {
                    self.received(r);
                }
                if self.measure.operations {
                    self.taken.push((r.from, r.send, r.number));
                }
            }
            Record::Truncated(cut) => self.truncates(cut),
            Record::Sliced(s) => self.sliced(s),
        }
    }
}
