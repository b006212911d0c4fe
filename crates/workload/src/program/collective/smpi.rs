//! What SimGrid's SMPI takes if nobody says otherwise.

use super::{
    Task,
    table::{ANY, Decision, FULL, K, LINEAR_KINDS, Line, M, Table, at_once, on, on_those},
};
use crate::program::mpi::CollectiveKind::*;
use base::registry::About;

pub(super) const TABLE: Table = Table {
    about: About {
        name: "smpi",
        summary: "SimGrid's SMPI, its default selector",
        doc: "What SMPI 3.32 runs without `smpi/coll-selector`: linear algorithms, a binomial bcast whose sends wait for each other, no segments and no pipelines. \
              Calls that do not block run other algorithms than those that do. On model `flow`, `preset = \"smpi\"` has SMPI's rules of messages. Not as in SMPI: A non-blocking barrier \
              holds everybody back. Reduce-scatters of unequal blocks go by their bytes, where SMPI counts elements. All-to-alls for which SMPI \
              names `pair` run as `pairwise` where the number of ranks is no power of two; SMPI ends there. Its selector `ompi` is `smpi-ompi`; `mpich`, `mvapich2`, `impi` and `automatic` are not had.",
        source: "SimGrid 3.32, measured with smpirun",
        params: &[],
    },
    measure: Task::weight,
    segments: false,
    sends_empty: true,
    decisions: DECISIONS,
};

// Calls that do not block have no selector.
pub(super) const BCAST_AT_ONCE: Decision = at_once(&[Bcast], &[(ANY, &[(FULL, "linear")])]);
pub(super) const REDUCTIONS_AT_ONCE: Decision =
    at_once(&[Allreduce, ReduceScatter, ReduceScatterBlock], &[(ANY, &[(FULL, "direct")])]);
pub(super) const ALLTOALL_AT_ONCE: Decision = at_once(&[Alltoall], &[(ANY, &[(FULL, "linear")])]);

const DECISIONS: &[Decision] = &[
    BCAST_AT_ONCE,
    REDUCTIONS_AT_ONCE,
    ALLTOALL_AT_ONCE,
    on(&[Barrier], &[(ANY, &[(FULL, "linear")])]),
    on(&[Bcast], &[(ANY, &[(FULL, "binomial-serial")])]),
    on(&[Reduce, Gather, Scatter], &[(ANY, &[(FULL, "linear")])]),
    on(&[Allreduce], &[(ANY, &[(FULL, "linear-bcast")])]),
    on(&[Allgather, Allgatherv, Scan, Exscan], &[(ANY, &[(FULL, "direct")])]),
    on_those(&[ReduceScatter], has_unequal_blocks, UNEQUAL),
    on(&[ReduceScatter, ReduceScatterBlock], &[(ANY, &[(FULL, "linear")])]),
    on(&[Alltoall], ALLTOALL),
    on(&[Alltoallv, Alltoallw], &[(ANY, &[(FULL, "linear")])]),
    on(LINEAR_KINDS, &[(ANY, &[(FULL, "linear")])]),
];

/// Reduce-scatters of unequal blocks are MPICH's.
const UNEQUAL: &[Line] = &[(ANY, &[(512 * K + 1, "recursive-doubling"), (FULL, "pairwise")])];

/// True of counts that differ.
fn has_unequal_blocks(task: &Task) -> bool {
    task.counts.as_ref().is_some_and(|counts| counts.windows(2).any(|w| w[0] != w[1]))
}

const ALLTOALL: &[Line] = &[
    (3, &[(FULL, "linear")]),
    (8, &[(512 * K, "linear"), (M, "pairwise-xor"), (FULL, "linear")]),
    (16, &[(FULL, "linear")]),
    (32, &[(4, "linear"), (512, "bruck"), (FULL, "linear")]),
    (64, &[(512, "bruck"), (FULL, "linear")]),
    (256, &[(K, "bruck"), (256 * K, "linear"), (FULL, "pairwise-xor")]),
    (512, &[(K, "bruck"), (32 * K, "linear"), (FULL, "pairwise-xor")]),
    (1024, &[(512, "bruck"), (256 * K, "linear"), (FULL, "pairwise-xor")]),
    (2048, &[(512, "bruck"), (FULL, "linear")]),
    (4096, &[(K, "bruck"), (FULL, "linear")]),
    (ANY, &[(2 * K, "bruck"), (FULL, "linear")]),
];
