//! What a run needs at least: what does not fit is refused before its network is built.

use super::tables::size;
use crate::{
    router,
    rows::{Chunk, Packet, Port as PortRow, Terminal, Vc},
};
use base::{registry::find, time::Ps};
use model::{
    entry::Known,
    setup::{JobSetup, LinkParams, Until},
};
use ranks::memory::{
    open::open,
    sent::{Cut, sent},
};

/// What a run takes on a network of these sizes, whatever its routing: the graph, empty rows, ranks, and what certainly counts as full ([`super::predict`]): buffers of
/// terminals' links, unless jobs send less.
#[must_use]
pub fn least(known: &Known<'_>) -> u64 {
    let (sizes, vcs) = (known.sizes, known.values.int("vcs"));
    let lines = sizes.ports.saturating_add(sizes.terminals);
    let entry = |name: &str| find(router::registry::ROUTERS, name).map(|entry| (entry.bytes)(lines, vcs));
    // With section [router] a router is a pipelined one, whatever its name. One from outside may take nothing.
    let routers = entry(&known.values.text("router")).min(entry(router::registry::PIPELINED));
    let (chunks, packets) = held(known).unwrap_or((0, 0));
    let parts = [
        model::memory::graph(sizes.ports, sizes.terminals),
        size(lines, size_of::<PortRow<()>>()),
        size(lines.saturating_mul(vcs), size_of::<Vc<()>>()),
        routers.unwrap_or(0),
        size(sizes.terminals, size_of::<Terminal>()),
        ranks::memory::least(known.jobs),
        size(chunks, size_of::<Chunk>()),
        size(packets, size_of::<Packet>()),
    ];
    parts.into_iter().fold(0, u64::saturating_add)
}

/// Chunks and packets in buffers of terminals' links, at least; none without jobs and links.
fn held(known: &Known<'_>) -> Option<(u64, u64)> {
    /// Of so many terminals one is certainly found that another reaches, whose router's buffer then counts, too.
    const MANY: u64 = 1 << 10;
    let (Until::Time(until) | Until::WorkloadDone { limit: until }) = known.until?;
    let terminal = known.links.first()?;
    let chunk = known.values.int("chunk").max(1);
    let sides = 1 + u64::from(known.sizes.terminals >= MANY);
    let buffers = (terminal.vc_buffer / chunk).saturating_mul(sides).saturating_mul(known.sizes.terminals);
    let chunks = buffers.min(sendable(known, terminal, until));
    Some((chunks, chunks / known.values.int("packet").div_ceil(chunk).max(1)))
}

/// Chunks that jobs can send, and links between routers take, at least.
fn sendable(known: &Known<'_>, terminal: &LinkParams, until: Ps) -> u64 {
    let [packet, chunk, eager] =
        ["packet", "chunk", ranks::params::EAGER.name].map(|key| known.values.int(key));
    let cut = Cut { packet: packet.max(1), chunk: chunk.max(1), eager };
    let carried = terminal.bandwidth.bytes_per_s() * until as f64 / 1e12;
    let turns = |link: &LinkParams| {
        (until / (link.latency + link.credit_delay).max(1)).saturating_mul(link.vc_buffer / cut.chunk)
    };
    let of_job = |job: &JobSetup| {
        let ranks = job.placement.len() as f64;
        let most = ranks * (carried / cut.chunk as f64).floor();
        // No more than is predicted of a program, however long it is.
        let most =
            job.work.program().map_or(most, |p| most.min(super::ahead(&open(&**p, cut)).chunks as f64));
        // What answers decide counts as what links carry.
        let Some(sent) = sent(job, until, cut, &|_, _| false) else { return most };
        let share = (ranks * carried / sent.bytes.max(1) as f64).min(1.0);
        (sent.chunks as f64 * share).min(ranks * turns(terminal) as f64).min(most)
    };
    let all: f64 = known.jobs.iter().map(of_job).sum();
    let all = all.min(known.sizes.terminals as f64 * (carried / cut.chunk as f64).floor());
    debug_assert!(all >= 0.0, "nobody sends less than nothing");
    let crossed = known.links.iter().skip(1).map(turns).min().unwrap_or(u64::MAX);
    (all as u64).min(crossed.saturating_mul(known.sizes.ends))
}
