//! In how many partitions a setup runs: as many as are asked for, but in one where threads would meet more often than is worth while.
//!
//! Two partitions cost a run of one thread about 1.3 times what one does, since chunks and credits between them are messages. Where threads gain nothing
//! that is lost, and partitions are for good. So of small networks what a window holds is estimated first: the chunks that all terminals send while a
//! credit or a chunk is between two routers. What that cannot tell, runs find out ([`engine::executor`]).

use crate::{routes::Routes, setup::Setup};
use base::time::{NEVER, Ps};
use model::setup::{JobSetup, LinkParams, Scheduling};
use workload::work::Work;

/// Terminals of a network that is large enough for two threads whatever is sent: 1,056 gained at every load that was tried, 342 did not (`./bench.sh windows`).
const LARGE: u32 = 700;

/// Chunks in a window with which two threads are faster than one in a smaller network. A chunk is about four events. With 14 they took longer, with 34 less.
const LEAST_CHUNKS: f64 = 25.0;

/// Partitions that a setup will run in under a scheduler.
pub(crate) fn partitions(setup: &Setup, scheduling: Scheduling) -> u32 {
    // A routing that reads every router's queues makes the network one cell.
    let whole = Routes::new(setup).needs_published();
    let most = if whole { 1 } else { setup.fabric.routers_per_plane().max(1) };
    let free = matches!(scheduling, Scheduling::Conservative { partitions: None, threads } if threads.spare);
    let small = free && setup.fabric.terminals() < LARGE && chunks_per_window(setup) < LEAST_CHUNKS;
    if small { 1 } else { scheduling.partitions().clamp(1, most) }
}

/// Chunks that all terminals send in the shortest time in which routers hear from each other.
fn chunks_per_window(setup: &Setup) -> f64 {
    let between = setup.links.get(1..).filter(|links| !links.is_empty()).unwrap_or(&setup.links);
    let heard = |link: &LinkParams| {
        let chunk = link.bandwidth.time_rounded(u64::from(setup.packet.chunk)).unwrap_or(NEVER);
        link.credit_delay.min(link.latency.saturating_add(chunk))
    };
    let window: Ps = between.iter().map(heard).min().unwrap_or(0);
    setup.jobs.iter().map(|job| chunks_per_s(setup, job)).sum::<f64>() * window as f64 * 1e-12
}

/// Chunks that a job's terminals send in a second: what it offers, or as many as their links carry if it does not say.
fn chunks_per_s(setup: &Setup, job: &JobSetup) -> f64 {
    let carried = setup.links.first().map_or(0.0, |link| link.bandwidth.bytes_per_s());
    let offered = match &job.work {
        Work::Traffic(traffic) => {
            traffic.offered_bytes_per_s().map_or(carried, |offered| offered.min(carried))
        }
        Work::Program(_) => carried,
    };
    let chunk = job.message.unwrap_or(u64::MAX).clamp(1, u64::from(setup.packet.chunk));
    offered / chunk as f64 * job.nodes() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use base::threads::Threads;

    fn threads(count: u32, spare: bool, partitions: Option<u32>) -> Scheduling {
        Scheduling::Conservative { partitions, threads: Threads { count, spare, ..Threads::ONE } }
    }

    /// 72 terminals with a chunk of 64 B each in 29.8 ns, and credits that take 3.7 ns: nine in a window.
    #[test]
    fn windows_hold_what_terminals_send_in_them() {
        let mut setup = samples::dragonfly(72, "minimal", "constant", 1.0);
        for link in &mut setup.links {
            (link.latency, link.credit_delay) = (29_802, 3_725);
        }
        let chunk = setup.links[0].bandwidth.time_rounded(u64::from(setup.packet.chunk)).unwrap() as f64;
        let expected = 72.0 * 3_725.0 / chunk;
        let seen = chunks_per_window(&setup);
        assert!((seen / expected - 1.0).abs() < 0.01, "{seen} for {expected}");
        setup.links[2].credit_delay *= 10;
        assert!((chunks_per_window(&setup) - seen).abs() < 1e-9, "the shortest counts");
        setup.links[1].credit_delay *= 10;
        assert!((chunks_per_window(&setup) / seen - 10.0).abs() < 0.01);
    }

    #[test]
    fn small_networks_are_one_partition_unless_asked_otherwise() {
        let mut setup = samples::dragonfly(72, "minimal", "constant", 1.0);
        for (credit, several) in [(1_000, 1), (400_000, 4)] {
            setup.links.iter_mut().for_each(|link| (link.latency, link.credit_delay) = (400_000, credit));
            assert_eq!(partitions(&setup, threads(4, true, None)), several, "{credit}");
            assert_eq!(partitions(&setup, threads(4, false, None)), 4, "{credit}");
            assert_eq!(partitions(&setup, threads(4, true, Some(3))), 3, "{credit}");
        }
        // A hundredth of the load leaves a hundredth of the chunks.
        let quiet = samples::dragonfly(72, "minimal", "constant", 0.01);
        setup.jobs = quiet.jobs;
        assert_eq!(partitions(&setup, threads(4, true, None)), 1);
        let large = samples::dragonfly(1056, "minimal", "constant", 0.01);
        assert_eq!(partitions(&large, threads(4, true, None)), 4);
    }
}
