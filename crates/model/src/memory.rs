//! Predicts the memory of a run before it starts.

use crate::{
    congestion::setup::CongestionSetup,
    packet::{
        rows::{Chunk, Flight, Packet, Port as PortRow, Terminal, Vc},
        transport::config::Resilience,
    },
    setup::{JobSetup, Setup, Until},
};
use fabric::graph::Port;

/// Bytes that a run needs, by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// All of it.
    pub bytes: u64,
    /// Name and bytes of each part, largest first.
    pub parts: Vec<(&'static str, u64)>,
}

/// Predicts the memory that a run needs at most: all windows full, unless the traffic cannot fill them in the run's time.
///
/// Rows are counted at their sizes; pools double when they grow, so their share is taken twice.
#[must_use]
pub fn predict(setup: &Setup) -> Prediction {
    let fabric = &*setup.fabric;
    let (ports, terminals) = (fabric.ports.len() as u64, u64::from(fabric.terminals()));
    let lines = ports + terminals;
    let vcs = u64::from(setup.packet.vcs);
    let chunk = u64::from(setup.packet.chunk);
    let size = |n: u64, bytes: usize| n.saturating_mul(bytes as u64);
    let per_vc = |class: usize| setup.links[class].vc_buffer / chunk;
    let routers = fabric.ports.iter().map(|p| per_vc(usize::from(p.class)).saturating_mul(vcs));
    let buffers = routers.fold(terminals.saturating_mul(per_vc(0)), u64::saturating_add);
    let chunks = buffers.min(sendable(setup));
    let per_packet = u64::from(setup.packet.packet).div_ceil(chunk);
    let queued = terminals.saturating_mul(setup.links[0].vc_buffer / u64::from(setup.packet.packet) + 1);
    let mut parts = vec![
        ("graph", size(ports, size_of::<Port>()) + size(terminals, 24)),
        ("ports and VCs", size(lines, size_of::<PortRow>()) + size(lines * vcs, size_of::<Vc>())),
        ("terminals", size(terminals, size_of::<Terminal>())),
        ("flights", size(lines * 16, size_of::<Flight>())),
        ("chunks", size(chunks, 2 * size_of::<Chunk>())),
        (
            "packets",
            size(chunks.div_ceil(per_packet).saturating_add(queued.min(chunks)), 2 * size_of::<Packet>()),
        ),
        ("fixed", 24 << 20),
    ];
    parts.extend(setup.hybrid.as_ref().map(|h| ("latencies by pair", latencies(setup, h.window))));
    parts.extend(setup.resilience.as_ref().map(|r| ("transport", transport(terminals, r))));
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
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

/// Predicts the memory of a run of rank programs without a network: all operations of programs that come as graphs, a few batches per
/// rank of those that stream.
#[must_use]
pub fn predict_ranks(jobs: &[JobSetup]) -> Prediction {
    /// Operations of a rank that streams, in memory at a time.
    const STREAMED: u64 = 256;
    let (mut ranks, mut operations) = (0u64, 0u64);
    for program in jobs.iter().filter_map(|j| j.work.program()) {
        let count = u64::from(program.ranks());
        ranks += count;
        operations = operations.saturating_add(program.total().unwrap_or(count * STREAMED));
    }
    let row = (size_of::<crate::rank::window::Row>() + 2 * 8) as u64;
    let mut parts =
        vec![("operations", operations.saturating_mul(2 * row)), ("ranks", ranks * 512), ("fixed", 24 << 20)];
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// Predicts the memory of static congestion: the graph once, counters, ways and sums of links for each thread.
#[must_use]
pub fn predict_static(setup: &CongestionSetup) -> Prediction {
    let links = setup.fabric.ports.len() as u64 + u64::from(setup.fabric.terminals());
    let ranks: u64 = setup.jobs.iter().map(|j| j.placement.len() as u64).sum();
    let threads = u64::from(crate::congestion::setup::threads());
    let runs = setup.jobs.iter().map(|j| u64::from(j.statics.runs)).max().unwrap_or(1);
    let mut parts = vec![
        ("graph", links * 2 * size_of::<Port>() as u64),
        ("counters", threads * links * 12),
        ("ways", threads * ranks * 2 * 64),
        ("mappings", runs * 64),
        ("fixed", 24 << 20),
    ];
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}

/// Predicts the memory of a run of flows: routes of all pairs that are used, flows, ranks. How many flows there are at a time is not known
/// beforehand; a hundred for each rank are taken, or the model's bound, and 256 partners for each rank.
#[must_use]
pub fn predict_flows(setup: &crate::flow::FlowSetup) -> Prediction {
    /// A route with its links, and what is known of its pair.
    const ROUTE: u64 = 320;
    /// A flow, its message, its place in a bundle and in the solver.
    const FLOW: u64 = 512;
    let ranks: u64 = setup.jobs.iter().map(|j| j.placement.len() as u64).sum();
    let links = setup.fabric.ports.len() as u64 + u64::from(setup.fabric.terminals());
    let flows = setup.config.max_flows.min(ranks.saturating_mul(100));
    let mut parts = predict_ranks(&setup.jobs).parts;
    parts.push(("links", links.saturating_mul(256)));
    parts.push(("routes", ranks.saturating_mul(ranks.min(256)).saturating_mul(ROUTE)));
    parts.push(("flows", flows.saturating_mul(FLOW)));
    parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    Prediction { bytes: parts.iter().fold(0, |sum, p| sum.saturating_add(p.1)), parts }
}
