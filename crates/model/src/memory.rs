//! What a run is predicted to need of memory.

use crate::setup::Scheduling;
use fabric::graph::Port;

/// Bytes that every run takes: the pages of the program that it uses, the experiment, results while they are written. How much of the program is resident is the
/// system's choice: tiny runs took 12 to 26 MiB, and up to 42 MiB of a program that is tested.
pub const FIXED: u64 = if cfg!(debug_assertions) { 42 << 20 } else { 30 << 20 };

/// What the allocator has beside what was asked for: ends of pages, and pieces that were given back between others. A part in so many.
pub const BESIDE: u64 = 16;

/// Bytes that a run needs, by part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// All of it.
    pub bytes: u64,
    /// Name and bytes of each part, largest first.
    pub parts: Vec<(&'static str, u64)>,
}

impl Prediction {
    /// Adds a part.
    pub fn add(&mut self, part: &'static str, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        self.parts.push((part, bytes));
        debug_assert!(self.parts.iter().all(|p| p.1 <= self.bytes), "no part is larger than all of it");
        self.parts.sort_by_key(|p| std::cmp::Reverse(p.1));
    }
}

/// Bytes of a network's graph: its ports, and where its terminals are.
#[must_use]
pub const fn graph(ports: u64, terminals: u64) -> u64 {
    ports.saturating_mul(size_of::<Port>() as u64).saturating_add(terminals.saturating_mul(24))
}

/// Bytes of what a scheduler that runs ahead keeps to take events back; `None` if it does not run ahead.
///
/// An event takes its row, the rows that it changed, the alarms and messages that it set and what it recorded. Windows end before a thread that has
/// all its history waits, so some events more are counted.
#[must_use]
pub fn history(scheduling: Scheduling) -> Option<u64> {
    /// An event of the dearest kind: a chunk that is delivered and recorded.
    const EVENT: u64 = 1 << 10;
    let optimism = scheduling.optimism()?;
    let events = 2 * (optimism.history as u64).max(optimism.batch as u64);
    Some(events.saturating_mul(EVENT).saturating_mul(u64::from(scheduling.threads().count)))
}

/// Bytes that it takes to write a table of so many rows, beside its columns: values of one at a time are encoded, and packed.
#[must_use]
pub const fn written(rows: u64) -> u64 {
    /// Values that are encoded at a time.
    const GROUP: u64 = 1 << 20;
    32 * if rows < GROUP { rows } else { GROUP }
}
