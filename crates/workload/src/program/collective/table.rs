//! Tables of decisions: which algorithm an MPI library takes, by collective, ranks and bytes.

use super::{Choice, Task};
use crate::program::mpi::CollectiveKind::{self, *};
use base::registry::{About, Registered};

/// The decisions of one library.
pub struct Table {
    /// Name, documentation.
    pub about: About,
    /// The first rule that fits decides. For every collective some rule fits every call.
    rules: &'static [Rule],
}

/// One line of a table.
struct Rule {
    kinds: &'static [CollectiveKind],
    /// Fewer ranks than this.
    ranks: u32,
    /// Fewer bytes than this: of the vector; of all blocks together for allgather(v) and `reduce_scatter`(`_block`); of one
    /// block otherwise.
    bytes: u64,
    /// Only a power of two of ranks.
    power: bool,
    name: &'static str,
    /// Segment in bytes and radix or window, if not the algorithm's own.
    tuned: Option<(u64, u32)>,
}

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
        let total = matches!(task.kind, Allgather | ReduceScatterBlock);
        let bytes = task.weight().saturating_mul(if total { u64::from(task.size) } else { 1 });
        let fits = |r: &&Rule| {
            r.kinds.contains(&task.kind)
                && task.size < r.ranks
                && (bytes < r.bytes || r.bytes == FULL)
                && (!r.power || task.size.is_power_of_two())
        };
        let rule = self.rules.iter().find(fits).expect("every table ends with rules that fit everything");
        let mut choice = Choice::named(task.kind, rule.name).expect("tables name registered algorithms");
        if let Some((segment, radix)) = rule.tuned {
            (choice.segment, choice.radix) = (segment, radix);
        }
        choice
    }
}

const ANY: u32 = u32::MAX;
const FULL: u64 = u64::MAX;

/// A rule without further conditions.
const fn rule(kinds: &'static [CollectiveKind], ranks: u32, bytes: u64, name: &'static str) -> Rule {
    Rule { kinds, ranks, bytes, power: false, name, tuned: None }
}

/// The decision tables, the default first.
pub const TABLES: &[Table] = &[Table {
    about: About {
        name: "simple",
        summary: "one algorithm each",
        doc: "The same algorithm for every size: trees for rooted collectives, recursive doubling for reductions to all, rings for \
              allgathers, everything at once for all-to-alls.",
        source: "our choice",
        params: &[],
    },
    rules: &[
        rule(&[Barrier], ANY, FULL, "dissemination"),
        rule(&[Bcast, Reduce, Gather, Scatter], ANY, FULL, "binomial"),
        rule(&[Allreduce, Scan, Exscan], ANY, FULL, "recursive-doubling"),
        rule(&[Allgather, Allgatherv], ANY, FULL, "ring"),
        rule(&[ReduceScatter, ReduceScatterBlock], ANY, FULL, "recursive-halving"),
        rule(&[Gatherv, Scatterv, Alltoall, Alltoallv, Alltoallw], ANY, FULL, "linear"),
        rule(&[NeighborAllgather, NeighborAlltoall], ANY, FULL, "linear"),
    ],
}];
