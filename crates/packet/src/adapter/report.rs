//! What adapters did: sums, and the block of the summary.

use super::config::Adapter;
use base::time::Ps;
use results::summary::{Adapter as Block, Resequencing};
use serde::{Deserialize, Serialize};

/// Sums over packets that were created after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdapterSums {
    /// Packets that arrived after one that was sent later.
    pub overtaken: u64,
    /// Packets that were held.
    pub held: u64,
    /// How often a pair stopped waiting for what was missing.
    pub gaps: u64,
    /// Held packets that were handed on, how long they were held together, and the longest.
    pub released: u64,
    /// Time that they were held, added up.
    pub waited: u128,
    /// The longest of these times.
    pub longest: Ps,
    /// Most packets in the buffer of one adapter.
    pub packets: u32,
    /// Most payload in the buffer of one adapter.
    pub bytes: u64,
}

impl AdapterSums {
    /// An adapter holds so much. Counted from the start of the run: what is there after the warm-up may have come before.
    pub fn room(&mut self, packets: u32, bytes: u64) {
        self.packets = self.packets.max(packets);
        self.bytes = self.bytes.max(bytes);
    }

    /// A packet was held so long.
    pub fn released(&mut self, waited: Ps) {
        self.released += 1;
        self.waited += u128::from(waited);
        self.longest = self.longest.max(waited);
    }

    /// Adds what another partition measured.
    pub fn merge(&mut self, other: &Self) {
        self.overtaken += other.overtaken;
        self.held += other.held;
        self.gaps += other.gaps;
        self.released += other.released;
        self.waited += other.waited;
        self.longest = self.longest.max(other.longest);
        self.packets = self.packets.max(other.packets);
        self.bytes = self.bytes.max(other.bytes);
    }
}

/// The block of the summary; `packets` were delivered after the warm-up.
#[must_use]
pub fn block(adapter: &Adapter, sums: &AdapterSums, packets: u64) -> Block {
    let arrived = packets + sums.held - sums.released;
    let share = |n: u64| (arrived > 0).then(|| n as f64 / arrived as f64);
    let resequencing = adapter.resequencing.then(|| Resequencing {
        held: sums.held,
        held_fraction: share(sums.held),
        held_mean_ps: (sums.released > 0).then(|| sums.waited as f64 / sums.released as f64),
        held_max_ps: (sums.released > 0).then_some(sums.longest),
        added_mean_ps: (packets > 0).then(|| sums.waited as f64 / packets as f64),
        buffer_max_packets: sums.packets.into(),
        buffer_max_bytes: sums.bytes,
        gaps_given_up: sums.gaps,
    });
    Block { overtaken: sums.overtaken, overtaken_fraction: share(sums.overtaken), resequencing }
}
