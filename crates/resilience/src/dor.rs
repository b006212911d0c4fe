//! `DOR_r`: windows of packets, every one acknowledged, and sent again when its timer ends.

use super::{
    gf256::MAX_GENERATION,
    parameters::{Delays, Tick, Timeout},
    path::{Line, Path},
};
use base::rng::Stream;

/// How a window or generation went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When the receiver had processed the last packet it needed.
    pub there: Tick,
    /// When the sender had processed the acknowledgement that lets the next window start.
    pub gate: Tick,
    /// Packets that the sender sent, repetitions included.
    pub sent: u64,
}

const NEVER: Tick = Tick::MAX;

/// Sends a window of `count` packets from `start` on.
pub fn window(
    delays: &Delays,
    timeout: Timeout,
    path: &Path,
    line: &mut Line,
    stream: &mut Stream,
    start: Tick,
    count: usize,
) -> Ended {
    let hops = path.hops() as u64;
    let back = delays.back(hops);
    let mut there = [NEVER; MAX_GENERATION];
    let mut acknowledged = [NEVER; MAX_GENERATION];
    // When each packet is to be sent (again); those that need not have `NEVER`.
    let mut due = [NEVER; MAX_GENERATION];
    due[..count].fill(start);
    let (mut sender, mut sent, mut again) = (start, 0, [false; MAX_GENERATION]);
    // The earliest packet that is due, the first of several.
    while let Some((packet, at)) = (0..count).map(|i| (i, due[i])).min_by_key(|&(i, at)| (at, i)) {
        if at == NEVER {
            break;
        }
        due[packet] = NEVER;
        if acknowledged[packet] <= at {
            continue;
        }
        sender = sender.max(at) + delays.send;
        sent += 1;
        let stop = path.forth(stream);
        if let Some(done) = line.carry(delays, sender, stop, |_| {}) {
            there[packet] = there[packet].min(done);
            if path.back(stream) {
                acknowledged[packet] = acknowledged[packet].min(done + back);
            }
        }
        let counted = if again[packet] && timeout == Timeout::Packet { 1 } else { count as u64 };
        again[packet] = true;
        let timer = sender + delays.timeout(hops, counted);
        if acknowledged[packet] > timer {
            due[packet] = timer;
        }
    }
    debug_assert!((0..count).all(|i| there[i] < acknowledged[i]), "an acknowledgement follows its packet");
    let last = |times: &[Tick]| times.iter().copied().max().unwrap_or(start);
    Ended { there: last(&there[..count]), gate: last(&acknowledged[..count]), sent }
}
