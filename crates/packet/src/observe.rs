//! What is measured: counts, latencies and their parts, the fingerprint of all happenings, and the ledger of the checkers.

use super::{
    check::Ledger, config::RoutePer, effects::Record, network::Network, rows::Packet, surrogate::Predicted,
    transport::How,
};
use crate::hybrid::learn::{Learner, Seen};
use base::{
    hash::Fingerprint,
    time::{NEVER, Ps},
};
use engine::domain::Observer as Observe;
use model::setup::Measure;
use ranks::tally::Tally;
use results::{batch::Batches, histogram::LatencyHistogram, histogram::Moments, summary::LatencyParts};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// Sums of a window of the series.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Window {
    /// Packets handed over.
    pub created: u64,
    /// Latencies of packets delivered.
    pub latency: Moments,
    /// Payload delivered.
    pub bytes: u64,
}

/// A delivered packet or message, for tables on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Row {
    /// When it was complete.
    pub delivered: Ps,
    /// Source terminal.
    pub source: u32,
    /// The source's number of it.
    pub number: u32,
    /// Destination terminal.
    pub destination: u32,
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
    /// Operations finished.
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
    /// Data that told nothing new.
    pub duplicates: u64,
    /// Acknowledgements that arrived.
    pub acknowledged: u64,
    /// Messages that were not begun.
    pub too_long: u64,
}

impl Tallies {
    /// Packets lost.
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

    fn ended(&mut self, ack: bool, how: How) {
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

/// Measurements of one partition.
pub struct Observer {
    net: Arc<Network>,
    warmup: Ps,
    end: Ps,
    measure: Measure,
    /// Sum over all happenings.
    pub fingerprint: Fingerprint,
    /// Last happening.
    pub last: Ps,
    /// Packets handed over, and those that arrived, whole run: with a transport also acknowledgements, duplicates and what was tampered with.
    pub packets: (u64, u64),
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
    /// Packet latency.
    pub latency: LatencyHistogram,
    /// Message latency.
    pub message_latency: LatencyHistogram,
    /// Sums of the parts of packet latency, in the order of [`LatencyParts::NAMES`].
    pub parts: [u128; LatencyParts::COUNT],
    /// Packet latency by routers visited.
    pub by_hops: Vec<Moments>,
    /// Packet latency by time of delivery.
    pub batches: Batches,
    /// Series.
    pub windows: Vec<Window>,
    /// The window that was used last on each side, and its begin: happenings near in time mostly share one.
    present: [(usize, Ps); 2],
    /// Latency by pair of nodes.
    pub pairs: BTreeMap<(u32, u32), Moments>,
    /// Rows per packet.
    pub packet_rows: Vec<Row>,
    /// Rows per message.
    pub message_rows: Vec<Row>,
    /// What ranks of programs did.
    pub tally: Tally,
    /// Packets delivered from each source terminal.
    pub from_source: Vec<u32>,
    /// What became of a transport's packets.
    pub tallies: Tallies,
    /// Checkers, if switched on.
    pub ledger: Option<Ledger>,
    /// What predictors learn from, in hybrid runs.
    pub learner: Option<Box<Learner>>,
    /// The learner hears what is handed over to whom.
    queues: bool,
}

/// Whose window of the series.
#[derive(Clone, Copy)]
enum Side {
    Created,
    Delivered,
}

engine::kept!(Observer:
    fingerprint, last, packets, messages, jobs, programs, bytes, bytes_total, chunk_hops, latency, message_latency, parts, by_hops,
    batches, windows, pairs, packet_rows, message_rows, tally, from_source, tallies, ledger, learner
    => net, warmup, end, measure, present, queues);

impl Observer {
    /// Nothing measured yet.
    #[must_use]
    pub fn new(net: Arc<Network>, warmup: Ps, end: Ps, measure: Measure, check: bool) -> Self {
        // Chunks of one packet may be routed before and after a failure.
        let together = net.config.route_per == RoutePer::Packet && !net.routes.change();
        let in_order = together || net.config.router.rules.keeps_order;
        Self {
            warmup,
            end,
            measure,
            fingerprint: Fingerprint::default(),
            last: 0,
            packets: (0, 0),
            messages: 0,
            jobs: vec![(0, 0); net.work.len()],
            programs: vec![Operations::default(); net.work.len()],
            bytes: 0,
            bytes_total: 0,
            chunk_hops: 0,
            latency: LatencyHistogram::new(),
            message_latency: LatencyHistogram::new(),
            parts: [0; LatencyParts::COUNT],
            by_hops: Vec::new(),
            batches: Batches::default(),
            windows: Vec::new(),
            present: [(0, 0); 2],
            pairs: BTreeMap::new(),
            packet_rows: Vec::new(),
            message_rows: Vec::new(),
            tally: Tally::new(if net.work.iter().any(|w| w.program().is_some()) {
                net.fabric.terminals() as usize
            } else {
                0
            }),
            from_source: vec![0; net.fabric.terminals() as usize],
            tallies: Tallies::default(),
            ledger: check.then(|| Ledger::new(in_order)),
            learner: net.hybrid.as_ref().map(|_| Box::default()),
            queues: net.hybrid.as_ref().is_some_and(|h| h.queues),
            net,
        }
    }

    /// Adds what another partition measured.
    pub fn merge(&mut self, other: Self) {
        self.fingerprint.merge(other.fingerprint);
        self.last = self.last.max(other.last);
        self.packets.0 += other.packets.0;
        self.packets.1 += other.packets.1;
        self.messages += other.messages;
        for (a, b) in self.jobs.iter_mut().zip(other.jobs) {
            *a = (a.0 + b.0, a.1.max(b.1));
        }
        for (a, b) in self.programs.iter_mut().zip(other.programs) {
            a.operations += b.operations;
            a.busy += b.busy;
            a.last = a.last.max(b.last);
        }
        self.bytes += other.bytes;
        self.bytes_total += other.bytes_total;
        self.chunk_hops += other.chunk_hops;
        self.latency.merge(&other.latency);
        self.message_latency.merge(&other.message_latency);
        for (a, b) in self.parts.iter_mut().zip(other.parts) {
            *a += b;
        }
        merge_rows(&mut self.by_hops, &other.by_hops, Moments::merge);
        self.batches.merge(&other.batches);
        merge_rows(&mut self.windows, &other.windows, |a, b| {
            a.created += b.created;
            a.latency.merge(&b.latency);
            a.bytes += b.bytes;
        });
        for (pair, moments) in other.pairs {
            self.pairs.entry(pair).or_default().merge(&moments);
        }
        self.packet_rows.extend(other.packet_rows);
        self.message_rows.extend(other.message_rows);
        self.tally.merge(other.tally);
        for (a, b) in self.from_source.iter_mut().zip(other.from_source) {
            *a += b;
        }
        self.tallies.merge(&other.tallies);
        if let (Some(a), Some(b)) = (&mut self.ledger, other.ledger) {
            a.merge(b);
        }
        if let (Some(a), Some(b)) = (&mut self.learner, other.learner) {
            a.merge(&b);
        }
    }

    #[inline]
    fn window(&mut self, side: Side, time: Ps) -> Option<&mut Window> {
        if self.measure.window == 0 {
            return None;
        }
        let (index, begin) = self.present[side as usize];
        if time.wrapping_sub(begin) >= self.measure.window || index >= self.windows.len() {
            let index = (time / self.measure.window) as usize;
            self.present[side as usize] = (index, index as u64 * self.measure.window);
            if index >= self.windows.len() {
                self.windows.resize_with(index + 1, Window::default);
            }
        }
        Some(&mut self.windows[self.present[side as usize].0])
    }

    /// A packet was handed over.
    #[inline]
    fn created(&mut self, time: Ps, id: u64, bytes: u32, destination: u32) {
        self.fingerprint.add(time, 1 << 32, id, u64::from(bytes));
        self.packets.0 += 1;
        self.last = self.last.max(time);
        if let Some(window) = self.window(Side::Created, time) {
            window.created += 1;
        }
        if let (Some(learner), true) = (&mut self.learner, self.queues) {
            learner.offered(destination, self.net.link_time(u64::from(bytes)));
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.created(id);
        }
    }

    fn delivered(&mut self, time: Ps, p: &Packet) {
        let source = (p.id >> 32) as u32;
        self.fingerprint.add(time, 2 << 32 | u64::from(p.destination), p.id, u64::from(p.bytes));
        self.packets.1 += 1;
        self.from_source[source as usize] += 1;
        let payload = u64::from(p.bytes - self.net.head().min(p.bytes));
        self.bytes_total += payload;
        if time >= self.warmup {
            self.bytes += payload;
        }
        let latency = time - p.created;
        if let (Some(learner), Some(hybrid)) = (&mut self.learner, &self.net.hybrid) {
            learner.delivered(&hybrid.shape, source, p.destination, latency);
        }
        if let Some(window) = self.window(Side::Delivered, time) {
            window.latency.record(latency);
            window.bytes += payload;
        }
        if p.created < self.warmup {
            return;
        }
        for (sum, part) in self.parts.iter_mut().zip(parts(&self.net, p, latency)) {
            *sum += u128::from(part);
        }
        let hops = usize::from(p.hops);
        if hops >= self.by_hops.len() {
            self.by_hops.resize_with(hops + 1, Moments::default);
        }
        self.by_hops[hops].record(latency);
        self.sample(Row {
            delivered: time,
            source,
            number: p.id as u32,
            destination: p.destination,
            created: p.created,
            message_created: p.message_created,
            bytes: p.bytes,
            hops: p.hops,
        });
    }

    /// A packet of the measured part of the run, in all that asks for its latency.
    #[inline(always)]
    fn sample(&mut self, row: Row) {
        let latency = row.delivered - row.created;
        self.latency.record(latency);
        self.batches.record(row.delivered - self.warmup, latency);
        if self.measure.pairs {
            let pair = (self.net.fabric.node_of(row.source), self.net.fabric.node_of(row.destination));
            self.pairs.entry(pair).or_default().record(latency);
        }
        if self.measure.packets {
            self.packet_rows.push(row);
        }
    }

    /// A packet of a transport ended without counting as data.
    fn ended(&mut self, time: Ps, id: u64, ack: bool, how: How) {
        self.last = self.last.max(time);
        self.tallies.ended(ack, how);
        let (what, link) = match how {
            How::Lost { class } => (0, u64::from(class)),
            How::Tampered => (1, 0),
            How::Duplicate => (2, 0),
            How::Acknowledged => (3, 0),
            How::TooLong => return,
        };
        self.fingerprint.add(time, 7 << 32 | what << 8 | link, id, u64::from(ack));
        if !matches!(how, How::Lost { .. }) {
            self.packets.1 += 1;
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.ended(id);
        }
    }

    /// A message is complete.
    #[inline(always)]
    fn message(&mut self, time: Ps, created: Ps, (source, destination): (u32, u32), number: u32) {
        let what = 3 << 32 | u64::from(destination);
        self.fingerprint.add(time, what, u64::from(source), u64::from(number));
        self.messages += 1;
        if let (Some(ledger), true) = (&mut self.ledger, self.net.resilience.is_some()) {
            ledger.completed(source, destination, number);
        }
        let (job, _) = self.net.rank[destination as usize];
        if let Some(entry) = self.jobs.get_mut(job as usize) {
            *entry = (entry.0 + 1, entry.1.max(time));
        }
        self.tally.message(source, time - created);
        if created < self.warmup {
            return;
        }
        self.message_latency.record(time - created);
        if self.measure.messages {
            self.message_rows.push(Row {
                delivered: time,
                source,
                number,
                destination,
                created,
                message_created: created,
                bytes: 0,
                hops: 0,
            });
        }
    }

    /// A predicted packet that is a message has arrived. A stay of the surrogate does little else, so what it counts is in line here.
    #[inline]
    fn alone(&mut self, time: Ps, p: &Predicted) {
        self.predicted(time, p);
        self.message(time, p.message_created, (p.source(), p.destination), p.message);
    }

    /// A packet, or message, that was predicted has arrived.
    #[inline(always)]
    fn predicted(&mut self, time: Ps, p: &Predicted) {
        let (source, packets) = (p.source(), u64::from(p.packets));
        self.last = self.last.max(time);
        self.fingerprint.add(time, 5 << 32 | u64::from(p.destination), p.id, p.bytes);
        self.packets.1 += packets;
        self.from_source[source as usize] += p.packets;
        self.bytes_total += p.bytes;
        if time >= self.warmup {
            self.bytes += p.bytes;
        }
        if let Some(ledger) = &mut self.ledger {
            (0..packets).for_each(|n| ledger.predicted(p.id + n));
        }
        let latency = time - p.created;
        let single = p.packets == 1;
        if let Some(window) = self.window(Side::Delivered, time) {
            window.bytes += p.bytes;
            if single {
                window.latency.record(latency);
            }
        }
        if let Some(learner) = self.learner.as_mut().filter(|_| single) {
            learner.predicted.merge(Seen { count: 1, sum: u128::from(latency) });
        }
        if p.created < self.warmup || !single {
            return;
        }
        self.sample(Row {
            delivered: time,
            source,
            number: p.id as u32,
            destination: p.destination,
            created: p.created,
            message_created: p.message_created,
            bytes: p.bytes as u32,
            hops: 0,
        });
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

/// Splits a packet's latency; the parts sum to it exactly.
///
/// Source queue: from hand-over to the first chunk's start. Serialisation: the last chunk's on each link, and the earlier
/// chunks' on the terminal link. Router: pipeline delays. Wire: link latencies. Re-sequencing: from the last chunk's arrival to
/// the completing one's. Hop queue: the rest, all waiting in the network. The adapter's delay lies before a packet's
/// latency begins.
fn parts(net: &Network, p: &Packet, latency: Ps) -> [Ps; LatencyParts::COUNT] {
    let source_queue = p.start - p.created;
    let travel = p.last_arrival - p.start;
    let resequencing = latency - source_queue - travel;
    let router = (u64::from(p.hops) * net.config.router_delay).min(travel);
    let wire = (u64::from(p.wire) << net.part_shift).min(travel - router);
    let chunk = net.timings[net.injection() as usize].chunk.whole;
    let serialisation = ((u64::from(p.serialisation) << net.part_shift) + u64::from(p.chunks - 1) * chunk)
        .min(travel - router - wire);
    let hop_queue = travel - router - wire - serialisation;
    [source_queue, 0, hop_queue, serialisation, router, wire, resequencing]
}

impl Observe<Record> for Observer {
    #[inline]
    fn commit(&mut self, record: &Record) {
        match record {
            Record::Accepted { time, link, vc, id, index } => {
                let what = 1 << 40 | u64::from(*vc) << 32 | u64::from(*link);
                self.fingerprint.add(*time, what, *id, u64::from(*index));
                self.chunk_hops += 1;
                self.last = self.last.max(*time);
            }
            Record::Created { time, id, bytes, destination } => {
                self.created(*time, *id, *bytes, *destination)
            }
            Record::Delivered { time, packet } => {
                debug_assert!(self.end == NEVER || *time <= self.end);
                self.last = self.last.max(*time);
                self.delivered(*time, packet);
                if let Some(ledger) = &mut self.ledger {
                    ledger.delivered(packet);
                    if let Some(r) = &self.net.resilience {
                        ledger.counted(packet, r.protocol.codes());
                    }
                }
            }
            Record::Bypassed { time, id, bytes, packets, destination } => {
                self.fingerprint.add(*time, 6 << 32 | u64::from(*packets), *id, *bytes);
                self.packets.0 += u64::from(*packets);
                self.last = self.last.max(*time);
                if let Some(window) = self.window(Side::Created, *time) {
                    window.created += u64::from(*packets);
                }
                if let (Some(learner), true) = (&mut self.learner, self.queues) {
                    learner.offered(*destination, self.net.link_time(*bytes));
                }
                if let Some(ledger) = &mut self.ledger {
                    (0..u64::from(*packets)).for_each(|n| ledger.created(*id + n));
                }
            }
            Record::Sent { sort, bytes } => {
                self.fingerprint.add(0, 8 << 32 | *sort as u64, u64::from(*bytes), 0);
                self.tallies.sent[*sort as usize] += 1;
                self.tallies.sent_bytes[*sort as usize] += u64::from(*bytes);
            }
            Record::Ended { time, id, ack, how } => self.ended(*time, *id, *ack, *how),
            Record::Predicted { time, packet } => self.predicted(*time, packet),
            Record::Operation(f) => {
                let what = 4 << 40 | u64::from(f.terminal);
                self.fingerprint.add(f.time, what, u64::from(f.number), f.kind as u64);
                self.last = self.last.max(f.time);
                let (job, _) = self.net.rank[f.terminal as usize];
                let sums = &mut self.programs[job as usize];
                sums.operations += 1;
                sums.busy += u128::from(f.compute);
                sums.last = sums.last.max(f.time);
                self.tally.add(f, job, self.measure.operations);
            }
            Record::Message { time, created, source, destination, number } => {
                self.message(*time, *created, (*source, *destination), *number);
            }
            Record::Alone { time, packet } => self.alone(*time, packet),
            Record::Through { time, packet: p } => {
                self.created(p.created, p.id, p.bytes as u32, p.destination);
                self.alone(*time, p);
            }
        }
    }
}
