//! What is measured, added up: plain data, which partitions' observers keep and the end of a run merges.

use super::{
    adapter::report::AdapterSums, congestion_control::by_job::JobSums, ledger::Ledger,
    services::sums::ServiceSums, transport::How,
};
use base::{hash::Fingerprint, index::TerminalId, paged::Paged, sorted::SortedMap, time::Ps};
use ranks::tally::Tally;
use results::{
    batch::Batches, histogram::LatencyHistogram, histogram::Moments, slow_down::SlowDowns,
    summary::LatencyParts,
};
use serde::{Deserialize, Serialize};

/// Sums of a window of the series.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SeriesWindow {
    /// Packets handed over.
    pub created: u64,
    /// Latencies of packets delivered.
    pub latency: Moments,
    /// Payload of delivered packets in bytes.
    pub bytes: u64,
    /// Packets delivered that visited more routers than lie on a shortest path.
    pub detoured: u64,
}

/// A delivered packet or message, for tables on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Row {
    /// When it was complete.
    pub delivered: Ps,
    /// Number of the terminal that it comes from.
    pub source: TerminalId,
    /// The source's number of it.
    pub number: u32,
    /// Number of the terminal that it is for.
    pub destination: TerminalId,
    /// When it was handed over (packet) or created (message).
    pub created: Ps,
    /// When its message was created.
    pub message_created: Ps,
    /// Payload; 0 in message rows.
    pub bytes: u32,
    /// Routers visited; 0 in message rows.
    pub hops: u16,
}

/// What the ranks of a job did.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Operations {
    /// Operations of ranks that are over.
    pub operations: u64,
    /// Time spent computing, over all ranks.
    pub busy: u128,
    /// When the last operation was finished.
    pub last: Ps,
}

/// What became of the packets of a transport.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Tallies {
    /// Packets handed over: first, redundant, again, acknowledgements.
    pub sent: [u64; 4],
    /// Bytes of them, heads included.
    pub sent_bytes: [u64; 4],
    /// Lost, by link class: data and acknowledgements.
    pub lost: Vec<[u64; 2]>,
    /// Tampered with: data and acknowledgements.
    pub tampered: [u64; 2],
    /// Data that brought nothing new.
    pub duplicates: u64,
    /// Acknowledgements that arrived.
    pub acknowledged: u64,
    /// Messages that were not begun.
    pub too_long: u64,
}

impl Tallies {
    /// Packets that links have lost.
    #[must_use]
    pub fn all_lost(&self) -> u64 {
        self.lost.iter().flatten().sum()
    }

    fn merge(&mut self, other: &Self) {
        let add = |a: &mut u64, b: &u64| *a += b;
        self.sent.iter_mut().zip(&other.sent).for_each(|(a, b)| add(a, b));
        self.sent_bytes.iter_mut().zip(&other.sent_bytes).for_each(|(a, b)| add(a, b));
        merge_rows(&mut self.lost, &other.lost, |a, b| a.iter_mut().zip(b).for_each(|(a, b)| add(a, b)));
        self.tampered.iter_mut().zip(&other.tampered).for_each(|(a, b)| add(a, b));
        self.duplicates += other.duplicates;
        self.acknowledged += other.acknowledged;
        self.too_long += other.too_long;
    }

    /// A packet ended in some way.
    pub(super) fn ended(&mut self, ack: bool, how: How) {
        let column = usize::from(ack);
        match how {
            How::Lost { class } => {
                let class = usize::from(class);
                if class >= self.lost.len() {
                    self.lost.resize(class + 1, [0; 2]);
                }
                self.lost[class][column] += 1;
            }
            How::Tampered => self.tampered[column] += 1,
            How::Duplicate => self.duplicates += 1,
            How::Acknowledged => self.acknowledged += 1,
            How::TooLong => self.too_long += 1,
        }
    }
}

/// Begin of the second half of the measured time of a run that ends at `end` at the latest.
#[must_use]
pub fn half_of(warmup: Ps, end: Ps) -> Ps {
    warmup + (end - warmup.min(end)) / 2
}

/// Terminals that something was heard of: a bit each, where there are any.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heard(Paged<u64>);

impl Heard {
    /// Something was heard of a terminal.
    #[inline]
    pub fn add(&mut self, terminal: TerminalId) {
        *self.0.edit(terminal.number() / 64) |= 1 << (terminal.number() % 64);
    }

    /// True if something was heard of a terminal.
    #[must_use]
    pub fn has(&self, terminal: TerminalId) -> bool {
        self.0.get(terminal.number() / 64).is_some_and(|word| word >> (terminal.number() % 64) & 1 == 1)
    }

    /// True if nothing was heard of anybody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, &word)| word == 0)
    }

    fn merge(&mut self, other: &Self) {
        self.0.merge(&other.0, |a, b| *a |= b);
    }
}

/// Slow-downs of messages, and what is known of those that are on their way.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SlowSums {
    /// Of messages that arrived.
    pub sums: SlowDowns,
    /// Payload that arrived of messages of several packets, by source, destination and number.
    pub open: SortedMap<(TerminalId, TerminalId, u32), u64>,
}

/// Sums of one partition, or of several.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Sum over all happenings.
    pub fingerprint: Fingerprint,
    /// Virtual time of the last thing that happened.
    pub last: Ps,
    /// Packets handed over, and those that arrived, whole run: with a transport also acknowledgements, duplicates and what was tampered with.
    pub packets: (u64, u64),
    /// Of each packet that arrived, how many its message has, summed.
    pub of_messages: u64,
    /// Messages delivered, whole run, and by job.
    pub messages: u64,
    /// Messages delivered by job, and when the last one was.
    pub jobs: Vec<(u64, Ps)>,
    /// Operations of programs, by job.
    pub programs: Vec<Operations>,
    /// Payload delivered after the warm-up.
    pub bytes: u64,
    /// Payload delivered, whole run.
    pub bytes_total: u64,
    /// Chunks accepted by routers, whole run.
    pub chunk_hops: u64,
    /// Latencies of packets, from hand-over to delivery.
    pub latency: LatencyHistogram,
    /// Latencies of messages, from creation to the last byte.
    pub message_latency: LatencyHistogram,
    /// The same over what each would have taken alone, if that is measured.
    pub slow_down: Option<SlowSums>,
    /// Sums of the parts of packet latency, in the order of [`LatencyParts::NAMES`].
    pub parts: [u128; LatencyParts::COUNT],
    /// Packet latency by routers visited.
    pub by_hops: Vec<Moments>,
    /// Packet latency by time of delivery.
    pub batches: Batches,
    /// Sums by window of the series, the n-th from n times its length on; empty without a series.
    pub windows: Vec<SeriesWindow>,
    /// Latency by pair of nodes.
    pub pairs: SortedMap<(TerminalId, TerminalId), (Moments, u64)>,
    /// Rows per packet.
    pub packet_rows: Vec<Row>,
    /// Rows per message.
    pub message_rows: Vec<Row>,
    /// What ranks of programs did.
    pub tally: Tally,
    /// Source terminals of packets that were delivered in the second half of a run that ends at a time.
    pub heard: Heard,
    /// Sums by service class; empty without classes.
    pub services: Vec<ServiceSums>,
    /// What became of a transport's packets.
    pub tallies: Tallies,
    /// What jobs got, with congestion control; empty without.
    pub controlled: Vec<JobSums>,
    /// What adapters did.
    pub adapter: AdapterSums,
    /// Checkers, if switched on.
    pub ledger: Option<Ledger>,
}

impl Measured {
    /// Nothing measured yet, of so many jobs and service classes.
    #[must_use]
    pub fn new(jobs: usize, classes: usize, ledger: Option<Ledger>) -> Self {
        Self {
            fingerprint: Fingerprint::default(),
            last: 0,
            packets: (0, 0),
            of_messages: 0,
            messages: 0,
            jobs: vec![(0, 0); jobs],
            programs: vec![Operations::default(); jobs],
            bytes: 0,
            bytes_total: 0,
            chunk_hops: 0,
            latency: LatencyHistogram::new(),
            message_latency: LatencyHistogram::new(),
            slow_down: None,
            parts: [0; LatencyParts::COUNT],
            by_hops: Vec::new(),
            batches: Batches::default(),
            windows: Vec::new(),
            pairs: SortedMap::new(),
            packet_rows: Vec::new(),
            message_rows: Vec::new(),
            tally: Tally::default(),
            heard: Heard::default(),
            services: vec![ServiceSums::new(); classes],
            tallies: Tallies::default(),
            controlled: Vec::new(),
            adapter: AdapterSums::default(),
            ledger,
        }
    }

    /// Adds what another partition measured.
    pub fn merge(&mut self, other: Self) {
        self.fingerprint.merge(other.fingerprint);
        self.last = self.last.max(other.last);
        self.packets.0 += other.packets.0;
        self.packets.1 += other.packets.1;
        self.of_messages += other.of_messages;
        self.messages += other.messages;
        for (a, b) in self.jobs.iter_mut().zip(other.jobs) {
            *a = (a.0 + b.0, a.1.max(b.1));
        }
        for (a, b) in self.programs.iter_mut().zip(other.programs) {
            a.operations += b.operations;
            a.busy += b.busy;
            a.last = a.last.max(b.last);
        }
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.bytes_total = self.bytes_total.saturating_add(other.bytes_total);
        self.chunk_hops += other.chunk_hops;
        self.latency.merge(&other.latency);
        self.message_latency.merge(&other.message_latency);
        if let (Some(a), Some(b)) = (&mut self.slow_down, other.slow_down) {
            a.sums.merge(&b.sums);
            a.open.extend(b.open);
        }
        for (a, b) in self.parts.iter_mut().zip(other.parts) {
            *a += b;
        }
        merge_rows(&mut self.by_hops, &other.by_hops, Moments::merge);
        self.batches.merge(&other.batches);
        merge_rows(&mut self.windows, &other.windows, |a, b| {
            a.created += b.created;
            a.latency.merge(&b.latency);
            a.bytes = a.bytes.saturating_add(b.bytes);
            a.detoured += b.detoured;
        });
        for (pair, (moments, bytes)) in other.pairs {
            let sum = self.pairs.entry(pair).or_default();
            sum.0.merge(&moments);
            sum.1 += bytes;
        }
        self.packet_rows.extend(other.packet_rows);
        self.message_rows.extend(other.message_rows);
        self.tally.merge(other.tally);
        self.heard.merge(&other.heard);
        self.services.iter_mut().zip(&other.services).for_each(|(a, b)| a.merge(b));
        self.tallies.merge(&other.tallies);
        self.controlled.iter_mut().zip(&other.controlled).for_each(|(a, b)| a.merge(b));
        self.adapter.merge(&other.adapter);
        if let (Some(a), Some(b)) = (&mut self.ledger, other.ledger) {
            a.merge(b);
        }
    }
}

fn merge_rows<T: Default>(into: &mut Vec<T>, from: &[T], merge: impl Fn(&mut T, &T)) {
    if into.len() < from.len() {
        into.resize_with(from.len(), T::default);
    }
    for (a, b) in into.iter_mut().zip(from) {
        merge(a, b);
    }
}
