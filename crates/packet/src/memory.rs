//! Predicts the memory of a run before it starts.

use crate::{
    adapter::order::Held,
    alone,
    congestion_control::{
        CongestionControl,
        marks::Counts,
        sources::{Flow, Parcel, Source},
    },
    loads::MOST_NUMBERS,
    multicast::trees,
    network::counts_detours,
    router,
    rows::{Chunk, Flight, Packet, Port as PortRow, Terminal, Vc},
    setup::Setup,
    transport::config::Resilience,
};
use fabric::graph::Port;
use model::{memory::Prediction, setup::Until};

/// Predicts the memory that a run needs at most: all windows full, unless the traffic cannot fill them in the run's time.
///
/// A router with queues that no buffer bounds may hold all that terminals can send in the time of the run. If the workload ends the
/// run, what its queues hold beyond buffers is not counted.
///
/// Rows are counted at their sizes. Pools double when they grow, but what is not touched takes no memory.
#[must_use]
pub fn predict(setup: &Setup) -> Prediction {
    let fabric = &*setup.fabric;
    let (ports, terminals) = (fabric.ports().len() as u64, u64::from(fabric.terminals()));
    let lines = ports + terminals;
    let vcs = u64::from(setup.packet.vcs);
    let chunk = u64::from(setup.packet.chunk);
    let size = |n: u64, bytes: usize| n.saturating_mul(bytes as u64);
    let per_vc = |class: usize| setup.links[class].vc_buffer / chunk;
    let routers = fabric.ports().iter().map(|p| per_vc(usize::from(p.class)).saturating_mul(vcs));
    let buffers = routers.fold(terminals.saturating_mul(per_vc(0)), u64::saturating_add);
    let chunks = match setup.until {
        // Queues without bound may hold whatever was sent; how much a workload sends is not known here.
        Until::Time(_) if !setup.packet.router.rules.buffered => sendable(setup),
        _ => buffers.min(sendable(setup)),
    };
    // Buffers are seldom all full, so the room that pools have beyond what they hold is within them. Queues without bound grow to the end.
    let growth = if setup.packet.router.rules.buffered { 1 } else { 2 };
    let per_packet = u64::from(setup.packet.packet).div_ceil(chunk);
    let queued = terminals.saturating_mul(setup.links[0].vc_buffer / u64::from(setup.packet.packet) + 1);
    let mut parts = vec![
        ("graph", size(ports, size_of::<Port>()) + size(terminals, 24)),
        ("ports and VCs", size(lines, size_of::<PortRow<()>>()) + size(lines * vcs, size_of::<Vc<()>>())),
        ("routers", (router::registry::chosen(&setup.packet).bytes)(lines, vcs)),
        ("terminals", size(terminals, size_of::<Terminal>())),
        ("flights", size(lines * 16, size_of::<Flight>())),
        ("chunks", size(chunks, growth * size_of::<Chunk>())),
        (
            "packets",
            size(
                chunks.div_ceil(per_packet).saturating_add(queued.min(chunks)),
                growth * size_of::<Packet>(),
            ),
        ),
        ("fixed", 24 << 20),
    ];
    parts.extend(ranks::memory::parts(&setup.jobs, ranks::memory::Kept::Rows));
    parts.extend(model::memory::history(setup.scheduling).map(|bytes| ("history", bytes)));
    if let Some(rules) = setup.packet.pipeline.filter(|p| p.virtual_output_queues || p.output_queue.is_some())
    {
        parts.push(("queues of routers", router::pipelined::more_bytes(fabric, &rules, setup.packet.vcs)));
    }
    parts.extend(setup.hybrid.as_ref().map(|h| ("latencies by pair", latencies(setup, h.window))));
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
    parts.extend(setup.control.as_ref().map(|c| ("flows of terminals", flows(setup, terminals, lines, c))));
    let planted: u64 = setup.jobs.iter().map(trees::bytes).sum();
    parts.extend((planted > 0).then_some(("trees of multicasts", planted)));
    parts.extend(setup.adapter.map(|_| ("order of packets", order(setup, terminals, buffers))));
    parts.extend(
        setup.services.as_ref().map(|s| ("service classes", size(lines, 8 * (1 + 3 * s.names.len())))),
    );
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// Bytes of congestion control: all messages that terminals may have taken over, a flow for each pair that may have been notified, when that
/// was, and counts of outputs.
fn flows(setup: &Setup, terminals: u64, lines: u64, control: &CongestionControl) -> u64 {
    /// A flow and its entry in the map.
    const FLOW: u64 = size_of::<Flow>() as u64 + 24;
    /// When a pair was notified.
    const INTERVAL: u64 = 24;
    let messages = u64::from(control.messages).saturating_mul(size_of::<Parcel>() as u64 + FLOW);
    let pairs = if control.scheme.is_shared() {
        terminals
    } else {
        terminals.saturating_mul(terminals).min(sendable(setup))
    };
    let each = FLOW + if control.scheme.interval() > 0 { INTERVAL } else { 0 };
    let notified = if control.scheme.is_marking() { pairs.saturating_mul(each) } else { 0 };
    terminals
        .saturating_mul(size_of::<Source>() as u64 + messages)
        .saturating_add(notified)
        .saturating_add(lines * size_of::<Counts>() as u64)
}

/// Bytes of adapters: what each knows of every source that may send to it, what they hold, and queues of messages. A network whose buffers hold so many
/// chunks has packets on detours that others overtake; as many may be held, and no more than buffers take.
fn order(setup: &Setup, terminals: u64, buffers: u64) -> u64 {
    /// Both ends of a pair and their entries in maps.
    const PAIR: u64 = 56 + 40 + 24;
    let pairs = terminals.saturating_mul(terminals).min(sendable(setup));
    let packet = u64::from(setup.packet.packet);
    let network = buffers.min(sendable(setup)).saturating_mul(u64::from(setup.packet.chunk));
    let adapters = setup.adapter.filter(|a| a.resequencing).map_or(0, |a| a.buffer.saturating_mul(terminals));
    let held = (adapters.min(network) / packet).saturating_mul(size_of::<Held>() as u64);
    let queued = setup.adapter.and_then(|a| a.injection).map_or(0, |i| u64::from(i.messages));
    let each = queued * (size_of::<Parcel>() + size_of::<Flow>()) as u64 + size_of::<Source>() as u64;
    pairs.saturating_mul(PAIR).saturating_add(held).saturating_add(terminals.saturating_mul(each))
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
fn latencies(setup: &Setup, window: base::time::Ps) -> u64 {
    /// An entry of the map by pairs, one of the table.
    const PAIR: u64 = 72 + 16;
    let terminals = u64::from(setup.fabric.terminals());
    let packets =
        setup.links[0].bandwidth.bytes_per_s() * window as f64 / 1e12 / f64::from(setup.packet.packet);
    let packets = (packets * terminals as f64) as u64;
    terminals.saturating_mul(terminals).min(packets.max(1 << 20)).saturating_mul(PAIR)
}

/// Chunks that all terminals together can send in the run's time.
fn sendable(setup: &Setup) -> u64 {
    let Until::Time(end) = setup.until else { return u64::MAX };
    let rate = setup.links[0].bandwidth.bytes_per_s();
    let each = rate * end as f64 / 1e12 / f64::from(setup.packet.chunk) + 1.0;
    (each * f64::from(setup.fabric.terminals())) as u64
}
