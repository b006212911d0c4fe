//! Predicts the memory of a run before it starts.

mod channels;
mod least;
mod tables;

pub use least::least;

use crate::{
    adapter::order,
    alone,
    config::Injects,
    congestion_control::{
        CongestionControl,
        marks::Counts,
        sources::{Flow, Parcel, Source},
    },
    loads::MOST_NUMBERS,
    multicast::trees,
    network::counts_detours,
    router,
    rows::{Chunk, Flight, Packet, Port as PortRow, Post, Terminal, Vc},
    setup::Setup,
    transport::config::Resilience,
};
use base::{
    index::RouterId,
    time::{NEVER, Ps},
};
use fabric::graph::Peer;
use model::{
    memory::Prediction,
    setup::{JobSetup, Until},
};
use ranks::carrier::Ahead;
use ranks::memory::{
    open::{self, Open},
    sent::{Cut, Sent, sent},
};
use tables::size;
use workload::registry::Work;

/// Predicts the memory that a run needs at most: buffers that may be used are full, unless less is sent in the run's time.
///
/// What sources send is read from them ([`sent`]), where it does not hang on answers. Channels that the routing does not use stay empty. A router with queues that no
/// buffer bounds may hold all that is sent. If the workload ends the run and that is not known, or is a long program, what queues hold beyond buffers is not counted.
/// Not counted either: a checkpoint while it is written, and what checkers keep.
///
/// Rows are counted at their sizes. Pools double when they grow, but what is not touched takes no memory.
#[must_use]
pub fn predict(setup: &Setup) -> Prediction {
    let fabric = &*setup.fabric;
    let (ports, terminals) = (fabric.ports().len() as u64, u64::from(fabric.terminals()));
    let lines = ports + terminals;
    let vcs = u64::from(setup.packet.vcs);
    let open = open::of_jobs(&setup.jobs, cut(setup));
    let held = Held::of(setup, &open);
    // Buffers are seldom all full, so the room that pools have beyond what they hold is within them. Queues without bound grow to the end.
    let growth = if setup.packet.router.rules.buffered { 1 } else { 2 };
    let mut parts = vec![
        ("graph", model::memory::graph(ports, terminals)),
        ("ports and VCs", size(lines, size_of::<PortRow<()>>()) + size(lines * vcs, size_of::<Vc<()>>())),
        ("routers", (router::registry::chosen(&setup.packet).bytes)(lines, vcs)),
        ("terminals", size(terminals, size_of::<Terminal>())),
        ("flights", size(flights(setup, &held).min(held.chunks), size_of::<Flight>())),
        ("chunks", size(held.chunks, growth * size_of::<Chunk>())),
        ("packets", size(held.packets, growth * size_of::<Packet>())),
        ("messages", size(open.iter().map(|open| open.messages).sum(), size_of::<Post>() + POSTED)),
    ];
    parts.extend(ranks::memory::parts(&setup.jobs, ranks::memory::Kept::Rows, &|job| open[job].operations));
    parts.extend(model::memory::history(setup.scheduling).map(|bytes| ("history", bytes)));
    parts.extend(more(setup, lines, &held));
    parts.extend(tables::parts(setup, held.sent, held.chunks));
    parts.retain(|p| p.1 > 0);
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// Bytes of what a program's message has sent ahead, and of its places in the map, while it waits at its terminal.
const POSTED: usize = size_of::<Ahead>() + 32;

/// Bytes of a packet that bypasses the network: its message and place in the agenda, which double as they grow, and its row where it is held back. Copies of both are
/// made when the network is entered again, and when the run is closed.
const PAST: usize = 280;

/// Parts that only some runs have.
fn more(setup: &Setup, lines: u64, held: &Held) -> Vec<(&'static str, u64)> {
    let fabric = &*setup.fabric;
    let terminals = u64::from(fabric.terminals());
    let mut parts = Vec::new();
    let queues = (router::registry::chosen(&setup.packet).more_bytes)(setup);
    parts.extend((queues > 0).then_some(("queues of routers", queues)));
    parts.extend(setup.hybrid.as_ref().map(|h| ("latencies by pair", latencies(setup, h.window, held))));
    // Sources keep the pace that the network allowed, so about as many are under way as it held; twice as many where that was measured while buffers filled.
    let past = held.sent.map_or(u64::MAX, |sent| sent.packets).min(held.packets.saturating_mul(2));
    parts.extend(setup.hybrid.as_ref().map(|_| ("packets past the network", size(past, PAST))));
    parts.extend(setup.measure.loads.then(|| ("loads of links", size(MOST_NUMBERS, 8) + size(lines, 48))));
    let apart = u64::from(fabric.routers());
    parts.extend(counts_detours(setup).then(|| ("distances", size(apart * apart, 2))));
    // Each partition finds those of the messages that it receives.
    let observers = u64::from(setup.scheduling.partitions());
    let paths = apart.saturating_mul(apart).saturating_mul(alone::PAIR_BYTES);
    parts.extend(
        alone::is_measured(setup).then(|| ("paths of messages alone", paths.saturating_mul(observers))),
    );
    parts.extend(setup.resilience.as_ref().map(|r| ("transport", transport(terminals, r))));
    let control = setup.control.as_ref();
    parts.extend(control.map(|c| ("flows of terminals", flows(setup, terminals, lines, held, c))));
    let planted: u64 = setup.jobs.iter().map(trees::bytes).sum();
    parts.extend((planted > 0).then_some(("trees of multicasts", planted)));
    parts.extend(setup.adapter.map(|_| ("order of packets", in_order(setup, terminals, held))));
    parts.extend(
        setup.services.as_ref().map(|s| ("service classes", size(lines, 8 * (1 + 3 * s.names.len())))),
    );
    parts
}

/// What a network holds at a time, at most.
struct Held {
    /// Chunks in buffers that the routing uses.
    buffers: u64,
    /// What is sent in all, if sources say so.
    sent: Option<Sent>,
    /// Chunks that are in the network, or in its queues.
    chunks: u64,
    /// Their packets, those at terminals included.
    packets: u64,
}

impl Held {
    fn of(setup: &Setup, open: &[Open]) -> Self {
        let (fabric, links) = (&*setup.fabric, &setup.links);
        let (chunk, packet) = (u64::from(setup.packet.chunk), u64::from(setup.packet.packet));
        let terminals = u64::from(fabric.terminals());
        let per_vc = |class: usize| links[class].vc_buffer / chunk;
        let used = channels::used(setup);
        let count = |bits: u16| u64::from(bits.count_ones()).min(u64::from(setup.packet.vcs));
        let ports = fabric.ports().iter().map(|p| usize::from(p.class));
        let ports = ports.map(|class| per_vc(class).saturating_mul(count(used[class])));
        let buffers = ports.fold(terminals.saturating_mul(per_vc(0)), u64::saturating_add);
        let sent = all_sent(setup, &used);
        let chunks = match (setup.until, sent) {
            // Queues without bound may hold whatever was sent.
            (Until::Time(_), None) if !setup.packet.router.rules.buffered => sendable(setup),
            (Until::Time(_), Some(sent)) if !setup.packet.router.rules.buffered => sent.chunks,
            (_, Some(sent)) if !setup.packet.router.rules.buffered && !sent.long => sent.chunks,
            (_, Some(sent)) => buffers.min(sent.chunks),
            _ => buffers.min(sendable(setup)),
        };
        // A terminal cuts what its link's buffer takes, and a packet more.
        let queued = terminals.saturating_mul(links[0].vc_buffer / packet + 1);
        let packets = match sent {
            None => chunks.div_ceil(packet.div_ceil(chunk)).saturating_add(queued.min(chunks)),
            Some(sent) => {
                let share = sent.packets as f64 / sent.chunks.max(1) as f64;
                let many = (chunks as f64 * share).ceil() as u64;
                many.saturating_add(terminals.max(queued)).min(sent.packets)
            }
        };
        let (chunks, packets) = match under_way(setup, open) {
            Some(open) => (chunks.min(open.chunks), packets.min(open.packets)),
            None => (chunks, packets),
        };
        let copies = copies(setup, chunks);
        Self { buffers, sent, chunks: chunks.saturating_mul(copies), packets: packets.saturating_mul(copies) }
    }

    /// Pairs of terminals that may send to each other, at most.
    fn pairs(&self, setup: &Setup, terminals: u64) -> u64 {
        let all = terminals.saturating_mul(terminals);
        all.min(self.sent.map_or_else(|| sendable(setup), |sent| sent.messages))
    }
}

/// How many rows stand for a chunk where routers copy multicasts, at most. A buffer has a copy for each output; queues without bound hold all copies that links
/// had the time for.
fn copies(setup: &Setup, chunks: u64) -> u64 {
    let members = trees::most_members(&setup.jobs);
    let ports =
        RouterId::first(setup.fabric.routers()).map(|router| setup.fabric.ports_of(router).len() as u64);
    let each = members.min(ports.max().unwrap_or(0));
    let (Until::Time(until) | Until::WorkloadDone { limit: until }) = setup.until;
    if members == 0 || setup.packet.router.rules.buffered || until == NEVER {
        return each.max(1);
    }
    let over = |class: usize| {
        let bytes = setup.links[class].bandwidth.bytes_per_s() * until as f64 / 1e12;
        (bytes / f64::from(setup.packet.chunk)).ceil() as u64 + 1
    };
    let arrivals = setup.fabric.ports().iter().map(|port| over(usize::from(port.class)));
    let arrived =
        arrivals.fold(u64::from(setup.fabric.terminals()).saturating_mul(over(0)), u64::saturating_add);
    debug_assert!(each <= members, "a router copies for members alone");
    members.min(arrived.saturating_mul(each).div_ceil(chunks.max(1))).max(1)
}

/// What all jobs send in the run's time: no more than terminals' links take, nor links between routers on the channels that are used. `None` if a job does not say, or over a transport that sends again.
fn all_sent(setup: &Setup, used: &[u16]) -> Option<Sent> {
    if setup.resilience.is_some() {
        return None;
    }
    let (Until::Time(until) | Until::WorkloadDone { limit: until }) = setup.until;
    let cut = cut(setup);
    let far = |a, b| setup.fabric.router_at(a) != setup.fabric.router_at(b);
    let mut all = Sent::default();
    for job in &setup.jobs {
        all = all.and(taken(setup, sent(job, until, cut, &far)?, job.placement.len(), until));
    }
    if setup.hybrid.is_none() {
        let (near, crossed) = (all.chunks - all.far.min(all.chunks), crossings(setup, used, until));
        if crossed < all.far {
            all = all.times(near.saturating_add(crossed) as f64 / all.chunks as f64);
        }
    }
    Some(all)
}

/// What jobs have under way at a time where programs wait for each other, which may be little beside buffers. `None` if no job is a program, if traffic does not say what it sends, or over a transport
/// that sends again.
fn under_way(setup: &Setup, open: &[Open]) -> Option<Sent> {
    if setup.resilience.is_some() || setup.jobs.iter().all(|job| job.work.program().is_none()) {
        return None;
    }
    let (Until::Time(until) | Until::WorkloadDone { limit: until }) = setup.until;
    let of_job = |(job, open): (&JobSetup, &Open)| match &job.work {
        Work::Program(_) => Some(ahead(open)),
        Work::Traffic(_) => sent(job, until, cut(setup), &|_, _| true),
    };
    setup.jobs.iter().zip(open).map(of_job).try_fold(Sent::default(), |all, job| Some(all.and(job?)))
}

/// What a program has under way at a time: four times as much as if ranks kept step, since some run ahead of others.
fn ahead(open: &Open) -> Sent {
    const AHEAD: f64 = 4.0;
    Sent { packets: open.packets, chunks: open.chunks, ..Sent::default() }.times(AHEAD)
}

/// How messages are cut.
fn cut(setup: &Setup) -> Cut {
    let config = &setup.packet;
    Cut { packet: config.packet.into(), chunk: config.chunk.into(), eager: config.eager }
}

/// What links of so many nodes take over of what their job sends.
fn taken(setup: &Setup, sent: Sent, nodes: usize, until: Ps) -> Sent {
    let terminals = nodes as u64 * u64::from(setup.fabric.planes());
    let bytes = setup.links[0].bandwidth.bytes_per_s() * until as f64 / 1e12 * terminals as f64;
    // In a stay of the surrogate no buffers hold packets back.
    let turned = if setup.hybrid.is_some() { u64::MAX } else { injections(setup, until) };
    let turned = turned.saturating_mul(terminals) as f64 / sent.chunks.max(1) as f64;
    let over = (bytes / sent.bytes.max(1) as f64).min(turned);
    if over >= 1.0 {
        return sent;
    }
    // Each terminal is in the middle of a message, of which it cuts a packet at a time.
    let chunks = terminals * u64::from(setup.packet.packet.div_ceil(setup.packet.chunk));
    let one = Sent { messages: terminals, packets: terminals, chunks, far: chunks, ..Sent::default() };
    Sent { pairs: sent.pairs, ..sent.times(over).and(one) }
}

/// Chunks that all links between routers together can take over in that time: each holds a buffer behind the link until its credit is back, so that many short messages are
/// slower than the bandwidth says.
fn crossings(setup: &Setup, used: &[u16], until: Ps) -> u64 {
    let ports = setup.fabric.ports().iter().filter(|p| matches!(p.peer, Peer::Router { .. }));
    let each = ports
        .map(|port| turns(setup, usize::from(port.class), used[usize::from(port.class)].count_ones(), until));
    each.fold(0, u64::saturating_add)
}

/// Chunks that a terminal's link takes over in that time, by the same reason.
fn injections(setup: &Setup, until: Ps) -> u64 {
    let first = setup.packet.router.rules.injects == Injects::First;
    turns(setup, 0, if first { 1 } else { u32::MAX }, until)
}

/// Chunks that may cross a link of a class on so many channels.
fn turns(setup: &Setup, class: usize, channels: u32, until: Ps) -> u64 {
    let link = &setup.links[class];
    let slots = link.vc_buffer / u64::from(setup.packet.chunk);
    let turns = until / (link.latency + link.credit_delay).max(1) + 1;
    slots.saturating_mul(channels.min(setup.packet.vcs.into()).into()).saturating_mul(turns)
}

/// Chunks on all links at a time: as many as a wire holds, and those whose arrival was not looked at, which towards terminals are more.
fn flights(setup: &Setup, held: &Held) -> u64 {
    /// Chunks on a link whose arrivals need no event at once.
    const LATE: u64 = 16;
    let mean = held.sent.map(|sent| sent.bytes as f64 / sent.chunks.max(1) as f64);
    let chunk = mean.unwrap_or(1.0).clamp(1.0, setup.packet.chunk.into());
    let ports = setup.fabric.ports().iter().map(|port| match port.peer {
        Peer::Router { .. } => {
            let link = &setup.links[usize::from(port.class)];
            let on_wire = link.bandwidth.bytes_per_s() * link.latency as f64 / 1e12 / chunk;
            let slots =
                (link.vc_buffer / u64::from(setup.packet.chunk)).saturating_mul(setup.packet.vcs.into());
            (on_wire.ceil() as u64 + 4).min(slots.max(LATE))
        }
        _ => LATE,
    });
    ports.fold(u64::from(setup.fabric.terminals()) * LATE, u64::saturating_add)
}

/// Bytes of congestion control: all messages that terminals may have taken over, a flow for each pair that may have been notified, when that
/// was, and counts of outputs.
fn flows(setup: &Setup, terminals: u64, lines: u64, held: &Held, control: &CongestionControl) -> u64 {
    /// A flow and its entry in the map.
    const FLOW: u64 = size_of::<Flow>() as u64 + 24;
    /// When a pair was notified.
    const INTERVAL: u64 = 24;
    let messages = u64::from(control.messages).saturating_mul(size_of::<Parcel>() as u64 + FLOW);
    let pairs = if control.scheme.is_shared() { terminals } else { held.pairs(setup, terminals) };
    let each = FLOW + if control.scheme.interval() > 0 { INTERVAL } else { 0 };
    let notified = if control.scheme.is_marking() { pairs.saturating_mul(each) } else { 0 };
    terminals
        .saturating_mul(size_of::<Source>() as u64 + messages)
        .saturating_add(notified)
        .saturating_add(lines * size_of::<Counts>() as u64)
}

/// Bytes of adapters: what each knows of every source that may send to it, what they hold, and queues of messages. A network whose buffers hold so many
/// chunks has packets on detours that others overtake; as many may be held, and no more than buffers take.
fn in_order(setup: &Setup, terminals: u64, held: &Held) -> u64 {
    /// Both ends of a pair and their entries in maps.
    const PAIR: u64 = 56 + 40 + 24;
    let pairs = held.pairs(setup, terminals);
    let packet = u64::from(setup.packet.packet);
    let network = held.buffers.min(sendable(setup)).saturating_mul(u64::from(setup.packet.chunk));
    let adapters = setup.adapter.filter(|a| a.resequencing).map_or(0, |a| a.buffer.saturating_mul(terminals));
    let waiting = (adapters.min(network) / packet).saturating_mul(size_of::<order::Held>() as u64);
    let queued = setup.adapter.and_then(|a| a.injection).map_or(0, |i| u64::from(i.messages));
    let each = queued * (size_of::<Parcel>() + size_of::<Flow>()) as u64 + size_of::<Source>() as u64;
    pairs.saturating_mul(PAIR).saturating_add(waiting).saturating_add(terminals.saturating_mul(each))
}

/// Bytes of a transport: all messages under way that may be, at both ends, each with a window of packets and timers.
fn transport(terminals: u64, resilience: &Resilience) -> u64 {
    /// A message at its sender and its receiver, and their entries in maps.
    const MESSAGE: u64 = 80 + 2 * 40;
    /// A packet that waits, and its timer.
    const PACKET: u64 = 48 + 24;
    let each = MESSAGE + u64::from(resilience.window) * PACKET;
    terminals.saturating_mul(u64::from(resilience.messages)).saturating_mul(2 * each)
}

/// Bytes of what a hybrid run learns: an entry per pair that may send in the window, and the predictor's table.
fn latencies(setup: &Setup, window: Ps, held: &Held) -> u64 {
    /// An entry of the map by pairs, one of the table.
    const PAIR: u64 = 72 + 16;
    let terminals = u64::from(setup.fabric.terminals());
    let packets =
        setup.links[0].bandwidth.bytes_per_s() * window as f64 / 1e12 / f64::from(setup.packet.packet);
    let packets = (packets * terminals as f64) as u64;
    held.pairs(setup, terminals).min(packets.max(1 << 20)).saturating_mul(PAIR)
}

/// Chunks that all terminals together can send in the run's time.
fn sendable(setup: &Setup) -> u64 {
    let Until::Time(end) = setup.until else { return u64::MAX };
    let rate = setup.links[0].bandwidth.bytes_per_s();
    let each = rate * end as f64 / 1e12 / f64::from(setup.packet.chunk) + 1.0;
    (each * f64::from(setup.fabric.terminals())) as u64
}
