//! Links whose buffers are full before the first credit is back.
//!
//! Credit-based flow control lets a virtual channel have `vc_buffer` bytes under way or buffered downstream. A chunk's buffer is known to be
//! free again after a *round*: the chunk on the wire, its latency, the router behind it, and the credit's way back. Buffers that hold less
//! than the link carries in a round slow it down: of every round they let through no more than they hold.
//!
//! Models without packets do not wait for credits. They say so with [`FLAG`] and [`line()`], and may count a [`Round`] in each message.
//! Not modelled here: messages that share a virtual channel, and what waits behind a full output.

use crate::setup::{LONGEST, LinkParams};
use base::{
    time::Ps,
    units::{print_bytes, print_time},
};
use fabric::graph::Fabric;

/// Bytes of a chunk where a model has none of its own, as in model `packet`.
pub const CHUNK: u64 = 64;

/// The flag of runs on such links.
pub const FLAG: &str = "no-credits";

/// How a link sends that waits for credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    link: LinkParams,
    /// Bytes of a chunk.
    chunk: u64,
    /// Chunks that the buffer of a virtual channel holds.
    slots: u64,
    /// From the end of what fills the buffer to the credit for its first chunk.
    pause: Ps,
}

impl Round {
    /// None if credits are back before the buffer is full, so that a message alone never waits for them.
    #[must_use]
    pub fn of(link: &LinkParams, router_delay: Ps, chunk: u64) -> Option<Self> {
        let chunk = chunk.max(1);
        let slots = (link.vc_buffer / chunk).max(1);
        let sent = |chunks: u64| time(link, chunks.saturating_mul(chunk));
        let back = [sent(1), link.latency, router_delay, link.credit_delay];
        let round = back.iter().fold(0, |sum: Ps, part| sum.saturating_add(*part));
        let pause = round.checked_sub(sent(slots)).filter(|pause| *pause > 0)?;
        Some(Self { link: *link, chunk, slots, pause })
    }

    /// What `passed` of a message's bytes take on the link, with all that the message waits for credits. Alone, its last byte is through after
    /// all of its bytes have passed.
    #[must_use]
    pub fn passing(&self, bytes: u64, passed: u64) -> Ps {
        debug_assert!(passed <= bytes, "a part of the message");
        let pauses = bytes.div_ceil(self.chunk).saturating_sub(1) / self.slots;
        time(&self.link, passed).saturating_add(pauses.saturating_mul(self.pause)).min(LONGEST)
    }

    /// Part of its bandwidth that one virtual channel keeps up.
    #[must_use]
    pub fn share(&self) -> f64 {
        let full = time(&self.link, self.slots * self.chunk) as f64;
        full / (full + self.pause as f64)
    }
}

/// What a verdict says of a network with such links; none if there are none. `counted` is what the model does about it.
#[must_use]
pub fn line(
    fabric: &Fabric,
    links: &[LinkParams],
    router_delay: Ps,
    chunk: u64,
    counted: &str,
) -> Option<String> {
    let used = |class: usize| fabric.ports().iter().any(|port| usize::from(port.class) == class);
    let slow = |(class, link): (usize, &LinkParams)| {
        let round = Round::of(link, router_delay, chunk).filter(|_| used(class))?;
        let (holds, percent) = (print_bytes(link.vc_buffer), round.share() * 100.0);
        let back = print_time(round.pause.saturating_add(time(link, round.slots * round.chunk)));
        let name = fabric.classes()[class];
        Some(format!(
            "a virtual channel of link.{name} holds {holds}, and credits are back after {back}: it keeps up {percent:.0} % of the bandwidth"
        ))
    };
    let slow: Vec<String> = links.iter().enumerate().filter_map(slow).collect();
    (!slow.is_empty()).then(|| format!("{}; {counted} (`vc_buffer`, `credit_delay`)", slow.join("; ")))
}

fn time(link: &LinkParams, bytes: u64) -> Ps {
    link.bandwidth.time_rounded(bytes).unwrap_or(LONGEST).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::link;

    /// 1 GB/s: a chunk of 64 bytes takes 64 ns.
    fn slow(vc_buffer: u64) -> LinkParams {
        link(1_000_000_000, 300_000, 500_000, vc_buffer)
    }

    #[test]
    fn a_buffer_for_a_round_needs_no_pause() {
        // 64 + 300 + 100 + 500 ns: 964 ns, in which 15.06 chunks are sent.
        assert_eq!(Round::of(&slow(16 * 64), 100_000, 64), None);
        let round = Round::of(&slow(15 * 64), 100_000, 64).unwrap();
        assert_eq!((round.slots, round.pause), (15, 4_000));
        assert_eq!(Round::of(&slow(15 * 64), 96_000, 64), None, "the credit is back just in time");
    }

    #[test]
    fn of_every_round_as_much_passes_as_the_buffer_holds() {
        let round = Round::of(&slow(4 * 64), 100_000, 64).unwrap();
        // Chunk by chunk: each starts when the one before it is sent and the one four before it gave its buffer back.
        let mut starts: Vec<Ps> = Vec::new();
        for n in 0..100 {
            let sent = starts.last().map_or(0, |last| last + 64_000);
            let free = if n < 4 { 0 } else { starts[n - 4] + 964_000 };
            starts.push(sent.max(free));
            let bytes = (n as u64 + 1) * 64;
            assert_eq!(round.passing(bytes, bytes), starts[n] + 64_000, "chunk {n}");
        }
        assert_eq!(round.passing(0, 0), 0);
        assert!((round.share() - 256.0 / 964.0).abs() < 1e-12);
    }
}
