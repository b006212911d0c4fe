//! Tables of decisions: which algorithm an MPI library takes, by collective, ranks and bytes.

use super::{Task, choice::Choice};
use crate::program::mpi::CollectiveKind::{self, Gatherv, NeighborAllgather, NeighborAlltoall, Scatterv};
use base::registry::{About, Registered};

/// The decisions of one library.
pub struct Table {
    /// Name by which `library` chooses the table, and its documentation.
    pub about: About,
    /// Bytes that decide.
    pub(super) measure: fn(&Task) -> u64,
    /// False if its pipelines send everything as one segment, whatever the algorithms' own defaults are.
    pub(super) segments: bool,
    /// Calls without data have messages, of no bytes.
    pub(super) sends_empty: bool,
    /// The first that fits decides; the last ones fit everything.
    pub(super) decisions: &'static [Decision],
}

/// The decisions for some collectives.
pub(super) struct Decision {
    pub(super) kinds: &'static [CollectiveKind],
    /// The calls for which it holds.
    pub(super) of: fn(&Task) -> bool,
    /// Fewer ranks than; then fewer bytes than: algorithm. The first line that fits is taken in both; if none fits, the table's next
    /// decision for the collective is asked.
    pub(super) lines: &'static [Line],
}

/// Fewer ranks than; then fewer bytes than: algorithm.
pub(super) type Line = (u32, &'static [(u64, &'static str)]);

/// Any number of ranks.
pub(super) const ANY: u32 = u32::MAX;
/// Any number of bytes.
pub(super) const FULL: u64 = u64::MAX;
/// 1 KiB in bytes, for the thresholds of tables.
pub(super) const K: u64 = 1 << 10;
/// 1024 times 1024 bytes.
pub(super) const M: u64 = 1 << 20;

/// Decisions for all numbers of ranks.
pub(super) const fn on(kinds: &'static [CollectiveKind], lines: &'static [Line]) -> Decision {
    on_those(kinds, |_| true, lines)
}

/// Decisions for powers of two of ranks.
pub(super) const fn on_power(kinds: &'static [CollectiveKind], lines: &'static [Line]) -> Decision {
    on_those(kinds, |task| task.size.is_power_of_two(), lines)
}

/// One algorithm for calls that do not wait for their end.
pub(super) const fn at_once(kinds: &'static [CollectiveKind], lines: &'static [Line]) -> Decision {
    on_those(kinds, |task| !task.blocking, lines)
}

/// Decisions for some calls.
pub(super) const fn on_those(
    kinds: &'static [CollectiveKind],
    of: fn(&Task) -> bool,
    lines: &'static [Line],
) -> Decision {
    Decision { kinds, of, lines }
}

/// What is the same in all libraries.
pub(super) const LINEAR_KINDS: &[CollectiveKind] = &[Gatherv, Scatterv, NeighborAllgather, NeighborAlltoall];

impl Registered for Table {
    fn about(&self) -> &About {
        &self.about
    }
}

impl core::fmt::Debug for Table {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Table({})", self.about.name)
    }
}

impl Table {
    /// What the library takes for a call.
    #[must_use]
    pub fn choose(&self, task: &Task) -> Choice {
        let bytes = (self.measure)(task);
        let fits = |d: &&Decision| d.kinds.contains(&task.kind) && (d.of)(task);
        let named = |d: &Decision| {
            let (_, by_bytes) = d.lines.iter().find(|l| task.size < l.0)?;
            by_bytes.iter().find(|l| bytes < l.0 || l.0 == FULL).map(|l| l.1)
        };
        let name = self.decisions.iter().filter(fits).find_map(named);
        let name = name.expect("every table ends with decisions that fit everything");
        let choice = Choice::named(task.kind, name).expect("tables name registered algorithms");
        Choice { segment: if self.segments { choice.segment } else { 0 }, ..choice }
    }
}
