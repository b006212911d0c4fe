//! What MPICH takes.

use super::{
    Task,
    table::{ANY, Decision, FULL, K, LINEAR_KINDS, Table, on, on_power},
};
use crate::program::mpi::CollectiveKind::*;
use base::registry::About;

pub(super) const TABLE: Table = Table {
    about: About {
        name: "mpich",
        summary: "MPICH's choice by ranks and bytes",
        doc: "The thresholds of MPICH 3 for commutative reductions, without its shared-memory and multi-level algorithms. Allgathers and \
              reduce-scatters go by the bytes of all blocks together. Windows of all-to-alls hold 32 transfers.",
        source: "Thakur, Rabenseifner, Gropp 2005; defaults of MPICH 3",
        params: &[],
    },
    measure,
    segments: true,
    sends_empty: false,
    decisions: DECISIONS,
};

fn measure(task: &Task) -> u64 {
    let blocks = if matches!(task.kind, Allgather | ReduceScatterBlock) { task.size } else { 1 };
    task.weight().saturating_mul(u64::from(blocks))
}

const DECISIONS: &[Decision] = &[
    on(&[Barrier], &[(ANY, &[(FULL, "dissemination")])]),
    on_power(
        &[Bcast],
        &[
            (8, &[(FULL, "binomial")]),
            (ANY, &[(12 * K, "binomial"), (512 * K, "scatter-doubling"), (FULL, "scatter-ring")]),
        ],
    ),
    on(&[Bcast], &[(8, &[(FULL, "binomial")]), (ANY, &[(12 * K, "binomial"), (FULL, "scatter-ring")])]),
    on(&[Reduce], &[(ANY, &[(2 * K + 1, "binomial"), (FULL, "rabenseifner")])]),
    on(&[Allreduce], &[(ANY, &[(2 * K + 1, "recursive-doubling"), (FULL, "rabenseifner")])]),
    on(&[Gather, Scatter], &[(ANY, &[(FULL, "binomial")])]),
    on_power(&[Allgather, Allgatherv], &[(ANY, &[(512 * K, "recursive-doubling"), (FULL, "ring")])]),
    on(&[Allgather, Allgatherv], &[(ANY, &[(80 * K, "bruck"), (FULL, "ring")])]),
    on(
        &[Alltoall],
        &[
            (8, &[(32 * K + 1, "linear-sync"), (FULL, "pairwise-xor")]),
            (ANY, &[(257, "bruck"), (32 * K + 1, "linear-sync"), (FULL, "pairwise-xor")]),
        ],
    ),
    on(&[Alltoallv, Alltoallw], &[(ANY, &[(FULL, "linear-sync")])]),
    on(&[ReduceScatter, ReduceScatterBlock], &[(ANY, &[(512 * K, "recursive-halving"), (FULL, "pairwise")])]),
    on(&[Scan, Exscan], &[(ANY, &[(FULL, "recursive-doubling")])]),
    on(LINEAR_KINDS, &[(ANY, &[(FULL, "linear")])]),
];
