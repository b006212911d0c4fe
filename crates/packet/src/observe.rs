//! What is measured: counts, latencies and their parts, the fingerprint of all happenings, and the ledger of the checkers.

use super::{
    alone::Alone,
    config::RoutePer,
    congestion_control::by_job::JobSums,
    effects::Record,
    hybrid::predicted::Predicted,
    ledger::Ledger,
    measured::{Measured, Row, SeriesWindow, SlowSums, half_of},
    network::Network,
    rows::{Packet, REPLY_NUMBER},
    services::report::class_of,
    transport::How,
};
use crate::hybrid::{
    learn::{Learner, Seen},
    size::SizeClass,
    sketch::Sketch,
};
use crate::{identity::PacketId, places::Ends};
use base::{
    index::TerminalId,
    sorted::SortedMap,
    time::{NEVER, Ps},
};
use engine::domain::Observer as Observe;
use model::setup::Measure;
use results::{histogram::Moments, slow_down::SlowDowns, summary::LatencyParts};
use std::sync::Arc;
use workload::registry::Work;

/// Measurements of one partition.
pub struct Observer {
    net: Arc<Network>,
    warmup: Ps,
    end: Ps,
    measure: Measure,
    /// Second half of the measured time, see [`Measured::heard`].
    half: Ps,
    /// What the packet that is delivered next is a part of, see [`Record::Of`]. Of the present event alone.
    part: Part,
    /// The window that was used last on each side, and its begin: happenings near in time mostly share one.
    present: [(usize, Ps); 2],
    /// What was measured.
    pub sums: Measured,
    /// What predictors learn from, in hybrid runs.
    pub learner: Option<Box<Learner>>,
    /// What messages would take alone, if slow-downs are measured.
    alone: Option<Box<Alone>>,
    /// Samples are asked for by pair, packet or service class, by job under congestion control, or of slow-downs.
    extra: bool,
    /// The learner hears what is handed over to whom.
    queues: bool,
    /// The learner keeps a sketch of it.
    sketches: bool,
}

/// Message of a packet.
#[derive(Clone, Copy, Default)]
struct Part {
    created: Ps,
    number: u32,
    packets: u32,
    /// Terminal that it arrived at.
    terminal: TerminalId,
}

/// What a terminal handed over: so many packets of a message.
#[derive(Clone, Copy)]
struct Handed {
    time: Ps,
    source: TerminalId,
    destination: TerminalId,
    /// Bytes of these packets.
    bytes: u64,
    /// Packets of their message.
    of: u32,
    packets: u32,
}

/// Whose window of the series.
#[derive(Clone, Copy)]
enum Side {
    Created,
    Delivered,
}

engine::kept!(Observer: sums, learner => net, warmup, end, measure, half, part, present, queues, sketches, extra, alone);

impl Observer {
    /// The same where packets of a pair keep their order by themselves, if `ordered`: what is checked then also looks at it.
    #[must_use]
    pub fn in_turn(mut self, ordered: bool) -> Self {
        if ordered {
            self.sums.ledger = self.sums.ledger.take().map(|ledger| ledger.with_turns(true));
        }
        self
    }

    /// Nothing measured yet.
    #[must_use]
    pub fn new(net: Arc<Network>, warmup: Ps, end: Ps, measure: Measure, check: bool) -> Self {
        // Chunks of one packet may be routed before and after a failure.
        let together = net.config.route_per == RoutePer::Packet && !net.routes.change();
        let in_order = together || net.config.router.rules.keeps_order;
        let turns = net.adapter.is_some_and(|a| a.resequencing && a.buffer == u64::MAX);
        let ledger = check.then(|| Ledger::new(in_order).with_turns(turns));
        let sketches = net.hybrid.as_ref().is_some_and(|h| h.sketches);
        let learner = || {
            let sketch = if sketches { Sketch::new(net.fabric.terminals()) } else { Sketch::default() };
            Box::new(Learner::new(sketch))
        };
        let programs = net.work.iter().any(|w| w.program().is_some());
        let classes = net.services.as_ref().map_or(0, |s| s.names.len());
        let slow = || {
            let sums = SlowDowns::new(net.work.iter().map(Work::size_ranges));
            SlowSums { sums, open: SortedMap::new() }
        };
        Self {
            warmup,
            end,
            measure,
            half: half_of(net.steady_from(warmup, end), end),
            part: Part::default(),
            present: [(0, 0); 2],
            sums: Measured {
                tally: ranks::tally::Tally::new(programs, measure.window),
                slow_down: measure.slow_down.then(slow),
                controlled: vec![JobSums::default(); if net.control.is_some() { net.work.len() } else { 0 }],
                ..Measured::new(net.work.len(), classes, ledger)
            },
            learner: net.hybrid.as_ref().map(|_| learner()),
            sketches,
            queues: net.hybrid.as_ref().is_some_and(|h| h.queues),
            extra: measure.pairs
                || measure.packets
                || measure.slow_down
                || classes > 0
                || net.control.is_some(),
            alone: measure.slow_down.then(|| Box::new(Alone::new(Arc::clone(&net)))),
            net,
        }
    }

    /// A packet of a source was delivered.
    #[inline]
    fn hear(&mut self, time: Ps, source: TerminalId) {
        if time >= self.half {
            self.sums.heard.add(source);
        }
    }

    #[inline]
    fn window(&mut self, side: Side, time: Ps) -> Option<&mut SeriesWindow> {
        if self.measure.window == 0 {
            return None;
        }
        let (index, begin) = self.present[side as usize];
        if time.wrapping_sub(begin) >= self.measure.window || index >= self.sums.windows.len() {
            let index = (time / self.measure.window) as usize;
            self.present[side as usize] = (index, index as u64 * self.measure.window);
            if index >= self.sums.windows.len() {
                self.sums.windows.resize_with(index + 1, SeriesWindow::default);
            }
        }
        Some(&mut self.sums.windows[self.present[side as usize].0])
    }

    /// One for a packet of the measured part of the run, created then.
    fn counts(&self, created: Ps) -> u64 {
        u64::from(created >= self.warmup)
    }

    /// A packet was handed over.
    #[inline]
    fn created(&mut self, time: Ps, id: PacketId, bytes: u32, destination: TerminalId, packets: u32) {
        self.sums.fingerprint.add(time, 1 << 32, id.key(), u64::from(bytes));
        self.sums.packets.0 += 1;
        self.sums.last = self.sums.last.max(time);
        if let Some(window) = self.window(Side::Created, time) {
            window.created += 1;
        }
        let source = id.source();
        self.handed_over(Handed { time, source, destination, bytes: bytes.into(), of: packets, packets: 1 });
        if let Some(ledger) = &mut self.sums.ledger {
            ledger.handed_over(id, bytes, destination);
        }
    }

    /// Those hear of it that look at what is handed over.
    #[inline]
    fn handed_over(&mut self, handed: Handed) {
        let Handed { time, source, destination, bytes, of, packets } = handed;
        let Some(learner) = &mut self.learner else { return };
        if self.queues {
            learner.offered(destination, self.net.link_time(bytes));
        }
        if self.sketches {
            let size = SizeClass::of(bytes, of, self.net.config.packet);
            learner.sketch.add(size, source, destination, u64::from(packets));
            learner.sketch.meet(destination, time / self.net.packet_pace, u64::from(packets));
        }
    }

    /// A packet is complete; what it was a part of is reported.
    fn arrived(&mut self, time: Ps, packet: &Packet) {
        debug_assert!(self.end == NEVER || time <= self.end, "nothing happens after the end");
        self.sums.last = self.sums.last.max(time);
        self.delivered(time, packet);
        if let Some(ledger) = &mut self.sums.ledger {
            ledger.delivered(packet, self.part.terminal);
            if let Some(r) = &self.net.resilience {
                ledger.counted(packet, r.protocol.codes());
            }
        }
    }

    fn delivered(&mut self, time: Ps, p: &Packet) {
        debug_assert!(
            time >= p.last_arrival && p.chunks > 0,
            "a packet is delivered when its last chunk is there"
        );
        let source = p.source();
        self.sums.fingerprint.add(time, 2 << 32 | u64::from(p.destination), p.id.key(), u64::from(p.bytes));
        self.sums.packets.1 += 1;
        self.sums.of_messages += u64::from(p.message_packets);
        self.hear(time, source);
        let payload = u64::from(p.bytes - self.net.head().min(p.bytes));
        self.sums.bytes_total += payload;
        if time >= self.warmup {
            self.sums.bytes += payload;
        }
        if self.extra {
            self.deliver_more(p, source, time, payload);
        }
        let latency = time - p.created;
        if let (Some(learner), Some(hybrid)) = (&mut self.learner, &self.net.hybrid) {
            let size = SizeClass::of(u64::from(p.bytes), p.message_packets, self.net.config.packet);
            learner.delivered(&hybrid.shape, size, time / hybrid.batch, source, p.destination, latency);
        }
        if self.measure.window > 0 {
            let detoured = self.net.is_detoured(source, p.destination, p.hops);
            if let Some(window) = self.window(Side::Delivered, time) {
                window.latency.record(latency);
                window.bytes += payload;
                window.detoured += u64::from(detoured);
            }
        }
        if p.created < self.warmup {
            return;
        }
        for (sum, part) in self.sums.parts.iter_mut().zip(parts(&self.net, p, latency)) {
            *sum += u128::from(part);
        }
        let hops = usize::from(p.hops);
        if hops >= self.sums.by_hops.len() {
            self.sums.by_hops.resize_with(hops + 1, Moments::default);
        }
        self.sums.by_hops[hops].record(latency);
        self.sample(Row {
            delivered: time,
            source,
            number: p.id.number(),
            destination: p.destination,
            created: p.created,
            message_created: p.message_created,
            bytes: p.bytes,
            hops: p.hops,
        });
    }

    /// What few runs ask of a delivered packet: bytes of its class, and what its job got.
    #[inline(never)]
    fn deliver_more(&mut self, p: &Packet, source: TerminalId, time: Ps, payload: u64) {
        if time >= self.warmup
            && let Some(sums) = self.sums.services.get_mut(class_of(&self.net, source))
        {
            sums.bytes += payload;
        }
        if let Some(slow) = &mut self.sums.slow_down {
            *slow.open.entry((source, p.destination, p.message)).or_default() += payload;
        }
        if let Some(job) = self.controlled(p.destination) {
            self.sums.controlled[job].packet(time, p.created, payload, self.warmup);
        }
    }

    /// Job of a terminal, if what jobs get is kept apart.
    fn controlled(&self, terminal: TerminalId) -> Option<usize> {
        Some(self.net.rank[terminal].0 as usize).filter(|&job| job < self.sums.controlled.len())
    }

    /// A packet of the measured part of the run, in all that asks for its latency.
    #[inline(always)]
    fn sample(&mut self, row: Row) {
        let latency = row.delivered - row.created;
        self.sums.latency.record(latency);
        self.sums.batches.record(row.delivered - self.warmup, latency);
        if self.extra {
            self.sample_more(row, latency);
        }
    }

    /// What few runs ask for.
    #[inline(never)]
    fn sample_more(&mut self, row: Row, latency: Ps) {
        if self.measure.pairs {
            let pair = (self.net.fabric.node_of(row.source), self.net.fabric.node_of(row.destination));
            let (moments, bytes) = self.sums.pairs.entry(pair).or_default();
            moments.record(latency);
            *bytes += u64::from(row.bytes - self.net.head().min(row.bytes));
        }
        if self.measure.packets {
            self.sums.packet_rows.push(row);
        }
        if let Some(sums) = self.sums.services.get_mut(class_of(&self.net, row.source)) {
            sums.latency.record(latency);
        }
    }

    /// A packet of a transport ended without counting as data.
    fn ended(&mut self, time: Ps, id: PacketId, ack: bool, how: How) {
        self.sums.last = self.sums.last.max(time);
        self.sums.tallies.ended(ack, how);
        let (what, link) = match how {
            How::Lost { class } => (0, u64::from(class)),
            How::Tampered => (1, 0),
            How::Duplicate => (2, 0),
            How::Acknowledged => (3, 0),
            How::TooLong => return,
        };
        self.sums.fingerprint.add(time, 7 << 32 | what << 8 | link, id.key(), u64::from(ack));
        if !matches!(how, How::Lost { .. }) {
            self.sums.packets.1 += 1;
        }
        if let Some(ledger) = &mut self.sums.ledger {
            ledger.ended(id);
        }
    }

    /// A message is complete.
    #[inline(always)]
    fn message(&mut self, time: Ps, created: Ps, ends: Ends, number: u32) {
        debug_assert!(time >= created, "a message arrives after it is sent");
        let Ends { source, destination } = ends;
        let what = 3 << 32 | u64::from(destination);
        self.sums.fingerprint.add(time, what, u64::from(source), u64::from(number));
        self.sums.messages += 1;
        if let (Some(ledger), true) = (&mut self.sums.ledger, self.net.resilience.is_some()) {
            ledger.completed(source, destination, number);
        }
        let (job, _) = self.net.rank[destination];
        if let Some(entry) = self.sums.jobs.get_mut(job as usize) {
            *entry = (entry.0 + 1, entry.1.max(time));
        }
        self.sums.tally.message(source, time - created);
        if let Some(sums) = self.sums.controlled.get_mut(job as usize) {
            sums.message(time, created, self.warmup);
        }
        if self.extra {
            self.slow_down(time, created, ends, number);
        }
        if created < self.warmup {
            return;
        }
        self.sums.message_latency.record(time - created);
        if self.measure.messages {
            self.sums.message_rows.push(Row {
                delivered: time,
                source,
                number: number & !REPLY_NUMBER,
                destination,
                created,
                message_created: created,
                bytes: 0,
                hops: 0,
            });
        }
    }

    /// The slow-down of a message of a pattern that is complete.
    #[inline(never)]
    fn slow_down(&mut self, time: Ps, created: Ps, ends: Ends, number: u32) {
        let Ends { source, destination } = ends;
        let (Some(slow), Some(alone)) = (&mut self.sums.slow_down, &mut self.alone) else { return };
        let bytes = slow.open.remove(&(source, destination, number)).unwrap_or(0);
        let job = self.net.rank[source].0 as usize;
        if created < self.warmup || self.net.work.get(job).is_none_or(|work| work.traffic().is_none()) {
            return;
        }
        if let Some(alone) = alone.time(source, destination, bytes) {
            slow.sums.record(job, bytes, time - created, alone);
        }
    }

    /// A predicted packet that is a message has arrived. A stay of the surrogate does little else, so what it counts is in line here.
    #[inline]
    fn alone(&mut self, time: Ps, p: &Predicted) {
        self.predicted(time, p);
        let ends = Ends { source: p.source(), destination: p.destination };
        self.message(time, p.message_created, ends, p.message);
    }

    /// A packet, or message, that was predicted has arrived.
    #[inline(always)]
    fn predicted(&mut self, time: Ps, p: &Predicted) {
        let (source, packets) = (p.source(), u64::from(p.packets));
        debug_assert!(packets > 0 && time >= p.created, "something arrives, after it was sent");
        self.sums.last = self.sums.last.max(time);
        self.sums.fingerprint.add(time, 5 << 32 | u64::from(p.destination), p.id.key(), p.bytes);
        self.sums.packets.1 += packets;
        self.hear(time, source);
        self.sums.bytes_total = self.sums.bytes_total.saturating_add(p.bytes);
        if time >= self.warmup {
            self.sums.bytes = self.sums.bytes.saturating_add(p.bytes);
        }
        if let Some(ledger) = &mut self.sums.ledger {
            ledger.predicted(p.id, p.bytes, p.packets, p.destination);
        }
        let latency = time - p.created;
        let single = p.packets == 1;
        if let Some(window) = self.window(Side::Delivered, time) {
            window.bytes = window.bytes.saturating_add(p.bytes);
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
            number: p.id.number(),
            destination: p.destination,
            created: p.created,
            message_created: p.message_created,
            bytes: p.bytes as u32,
            hops: 0,
        });
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
    debug_assert!(source_queue + travel <= latency, "the parts of a latency are within it");
    let resequencing = latency - source_queue - travel;
    // As links have it: the least, where some cross a clocked router sooner than others.
    let of_router = net.timings[0].delay - net.timings[0].latency;
    let router = (u64::from(p.hops) * of_router).min(travel);
    let wire = (u64::from(p.wire) << net.part_shift).min(travel - router);
    let chunk = net.timings[usize::from(net.injection())].chunk.whole;
    let serialisation = ((u64::from(p.serialisation) << net.part_shift) + u64::from(p.chunks - 1) * chunk)
        .min(travel - router - wire);
    let hop_queue = travel - router - wire - serialisation;
    [source_queue, 0, hop_queue, serialisation, router, wire, resequencing]
}

impl Observe<Record> for Observer {
    // In line where a chunk is accepted, so that no record is made of it: nearly all records are of this kind. The others are made elsewhere.
    #[inline(always)]
    fn commit(&mut self, record: &Record) {
        if let Record::Accepted { time, link, vc, id, index } = record {
            let what = 1 << 40 | u64::from(*vc) << 32 | u64::from(*link);
            self.sums.fingerprint.add(*time, what, id.key(), u64::from(*index));
            self.sums.chunk_hops += 1;
            self.sums.last = self.sums.last.max(*time);
        } else {
            self.commit_other(record);
        }
    }
}

impl Observer {
    /// Takes note of what is no acceptance.
    #[inline(never)]
    fn commit_other(&mut self, record: &Record) {
        match record {
            Record::Accepted { .. } => unreachable!("acceptances are counted where they are reported"),
            Record::Created { time, id, bytes, destination, packets } => {
                self.created(*time, *id, *bytes, *destination, *packets);
            }
            Record::Of { created, number, packets, terminal } => {
                self.part =
                    Part { created: *created, number: *number, packets: *packets, terminal: *terminal };
            }
            Record::Delivered { .. } => {
                let Some((time, mut packet)) = record.delivered() else { return };
                packet.message_created = self.part.created;
                (packet.message, packet.message_packets) = (self.part.number, self.part.packets);
                self.arrived(time, &packet);
            }
            Record::Bypassed { time, id, bytes, packets, destination } => {
                self.sums.fingerprint.add(*time, 6 << 32 | u64::from(*packets), id.key(), *bytes);
                self.sums.packets.0 += u64::from(*packets);
                self.sums.last = self.sums.last.max(*time);
                if let Some(window) = self.window(Side::Created, *time) {
                    window.created += u64::from(*packets);
                }
                self.handed_over(Handed {
                    time: *time,
                    source: id.source(),
                    destination: *destination,
                    bytes: *bytes,
                    of: *packets,
                    packets: *packets,
                });
                if let Some(ledger) = &mut self.sums.ledger {
                    ledger.bypassed(*id, *bytes, *packets, *destination);
                }
            }
            Record::Sent { sort, bytes } => {
                self.sums.fingerprint.add(0, 8 << 32 | *sort as u64, u64::from(*bytes), 0);
                self.sums.tallies.sent[*sort as usize] += 1;
                self.sums.tallies.sent_bytes[*sort as usize] += u64::from(*bytes);
            }
            Record::Ended { time, id, ack, how } => self.ended(*time, *id, *ack, *how),
            Record::Notified { time, source, destination, rate, level } => {
                let what = u64::from(*rate) << 32 | u64::from(*level);
                let ends = u64::from(*source) << 32 | u64::from(*destination);
                self.sums.fingerprint.add(*time, 9 << 32, ends, what);
                if let Some(job) = self.controlled(*source) {
                    self.sums.controlled[job].notifications += 1;
                }
            }
            Record::Overtaken { created } => self.sums.adapter.overtaken += self.counts(*created),
            Record::Held { created, packets, bytes } => {
                self.sums.adapter.held += self.counts(*created);
                self.sums.adapter.room(*packets, *bytes);
            }
            Record::Released { created, waited } => {
                if *created >= self.warmup {
                    self.sums.adapter.released(*waited);
                }
            }
            Record::Gap { created } => self.sums.adapter.gaps += self.counts(*created),
            Record::Predicted { time, packet } => self.predicted(*time, packet),
            Record::Met(met) => self.sums.tally.met.push(*met),
            Record::Operation { .. } => {
                let Some(f) = record.finished() else { return };
                let what = 4 << 40 | u64::from(f.slot) << 44 | u64::from(f.terminal);
                self.sums.fingerprint.add(f.time, what, u64::from(f.number), f.kind as u64);
                self.sums.last = self.sums.last.max(f.time);
                let (job, first) = self.net.rank[f.terminal];
                let sums = &mut self.sums.programs[job as usize];
                sums.operations += 1;
                sums.busy += u128::from(f.compute());
                sums.last = sums.last.max(f.time);
                let rank = self.net.roster.number(job, first).plus(u32::from(f.slot));
                self.sums.tally.add(&f, job, rank, self.measure.operations);
            }
            Record::Message { time, created, source, destination, number } => {
                let ends = Ends { source: *source, destination: *destination };
                self.message(*time, *created, ends, *number);
            }
            Record::Alone { time, packet } => self.alone(*time, packet),
            Record::Through { time, packet: p } => {
                self.created(p.created, p.id, p.bytes as u32, p.destination, p.message_packets);
                self.alone(*time, p);
            }
        }
    }
}
