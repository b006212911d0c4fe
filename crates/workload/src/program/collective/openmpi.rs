//! What Open MPI takes.

use super::{
    Task,
    table::{ANY, Decision, FULL, K, LINEAR_KINDS, M, Table, on},
};
use crate::program::mpi::CollectiveKind::*;
use base::registry::About;

pub(super) const TABLE: Table = Table {
    about: About {
        name: "openmpi",
        summary: "Open MPI's choice by ranks and bytes",
        doc: "The fixed decisions of the component `tuned` of Open MPI 4.1 and 5 for commutative reductions; they use no segments. Allgathers and \
              `reduce_scatter_block` go by the bytes of one block (allgatherv: on average), `reduce_scatter` by all. Taken for others: \
              `binary` for the split binary tree (bcast) and the in-order binary tree (reduce), `recursive-halving` for recursive doubling \
              (reduce_scatter_block), `linear` for linear with synchronisation (alltoall; without a limit of requests they are the same), \
              `gather-bcast` with trees for the default allgatherv. Shared memory and topology-aware components are not modelled.",
        source: "Open MPI, coll/tuned, decisions by communicator and message size",
        params: &[],
    },
    measure,
    segments: false,
    sends_empty: false,
    decisions: DECISIONS,
};

fn measure(task: &Task) -> u64 {
    if task.kind == Allgatherv { task.weight() / u64::from(task.size) } else { task.weight() }
}

const DECISIONS: &[Decision] = &[
    on(
        &[Allreduce],
        &[
            (
                4,
                &[
                    (8, "ring"),
                    (4 * K, "recursive-doubling"),
                    (8 * K, "ring"),
                    (16 * K, "recursive-doubling"),
                    (64 * K, "ring"),
                    (256 * K, "segmented-ring"),
                    (FULL, "rabenseifner"),
                ],
            ),
            (8, &[(16, "ring"), (8 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
            (16, &[(8 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
            (32, &[(64, "segmented-ring"), (4 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
            (64, &[(128, "segmented-ring"), (FULL, "rabenseifner")]),
            (128, &[(256 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
            (256, &[(128 * K, "reduce-bcast"), (256 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
            (512, &[(4 * K, "reduce-bcast"), (FULL, "rabenseifner")]),
            (2048, &[(2 * K, "reduce-bcast"), (16 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
            (
                4096,
                &[
                    (2 * K, "reduce-bcast"),
                    (4 * K, "segmented-ring"),
                    (16 * K, "recursive-doubling"),
                    (FULL, "rabenseifner"),
                ],
            ),
            (
                ANY,
                &[
                    (2 * K, "reduce-bcast"),
                    (16 * K, "segmented-ring"),
                    (32 * K, "recursive-doubling"),
                    (FULL, "rabenseifner"),
                ],
            ),
        ],
    ),
    on(
        &[Alltoall],
        &[
            (3, &[(32 * K, "pairwise"), (256 * K, "linear"), (FULL, "pairwise")]),
            (8, &[(512 * K, "linear"), (M, "pairwise"), (FULL, "linear")]),
            (16, &[(FULL, "linear")]),
            (32, &[(4, "linear"), (512, "bruck"), (FULL, "linear")]),
            (64, &[(512, "bruck"), (FULL, "linear")]),
            (256, &[(K, "bruck"), (256 * K, "linear"), (FULL, "pairwise")]),
            (512, &[(K, "bruck"), (32 * K, "linear"), (FULL, "pairwise")]),
            (1024, &[(512, "bruck"), (256 * K, "linear"), (FULL, "pairwise")]),
            (2048, &[(512, "bruck"), (FULL, "linear")]),
            (4096, &[(K, "bruck"), (FULL, "linear")]),
            (ANY, &[(2 * K, "bruck"), (FULL, "linear")]),
        ],
    ),
    on(
        &[Alltoallv],
        &[
            (4, &[(FULL, "pairwise")]),
            (64, &[(FULL, "linear")]),
            (128, &[(FULL, "pairwise")]),
            (256, &[(FULL, "linear")]),
            (1024, &[(FULL, "pairwise")]),
            (ANY, &[(FULL, "linear")]),
        ],
    ),
    on(
        &[Barrier],
        &[
            (4, &[(FULL, "recursive-doubling")]),
            (8, &[(FULL, "linear")]),
            (64, &[(FULL, "recursive-doubling")]),
            (256, &[(FULL, "dissemination")]),
            (512, &[(FULL, "tree")]),
            (1024, &[(FULL, "dissemination")]),
            (4096, &[(FULL, "tree")]),
            (ANY, &[(FULL, "dissemination")]),
        ],
    ),
    on(
        &[Bcast],
        &[
            (
                4,
                &[
                    (32, "chain"),
                    (256, "binary"),
                    (512, "chain"),
                    (K, "knomial"),
                    (32 * K, "linear"),
                    (128 * K, "binary"),
                    (256 * K, "chain"),
                    (512 * K, "linear"),
                    (M, "binomial"),
                    (FULL, "binary"),
                ],
            ),
            (
                8,
                &[
                    (64, "binary"),
                    (128, "binomial"),
                    (2 * K, "binary"),
                    (8 * K, "binomial"),
                    (M, "linear"),
                    (FULL, "chain"),
                ],
            ),
            (
                16,
                &[
                    (8, "knomial"),
                    (64, "binary"),
                    (4 * K, "knomial"),
                    (16 * K, "binary"),
                    (32 * K, "binomial"),
                    (FULL, "linear"),
                ],
            ),
            (32, &[(4 * K, "knomial"), (M, "binomial"), (FULL, "scatter-doubling")]),
            (64, &[(2 * K, "binomial"), (FULL, "knomial")]),
            (128, &[(FULL, "knomial")]),
            (
                256,
                &[
                    (2, "binomial"),
                    (16 * K, "binary"),
                    (32 * K, "linear"),
                    (64 * K, "binary"),
                    (FULL, "knomial"),
                ],
            ),
            (1024, &[(16 * K, "knomial"), (32 * K, "binary"), (FULL, "knomial")]),
            (2048, &[(512 * K, "knomial"), (FULL, "scatter-doubling")]),
            (4096, &[(256 * K, "knomial"), (FULL, "scatter-doubling")]),
            (
                ANY,
                &[(8 * K, "knomial"), (16 * K, "binary"), (256 * K, "knomial"), (FULL, "scatter-doubling")],
            ),
        ],
    ),
    on(
        &[Reduce],
        &[
            (4, &[(8, "rabenseifner"), (16, "binary"), (32, "chain"), (256 * K, "linear"), (FULL, "chain")]),
            (
                8,
                &[
                    (4 * K, "binary"),
                    (64 * K, "chain"),
                    (256 * K, "binomial"),
                    (512 * K, "linear"),
                    (M, "binomial"),
                    (FULL, "linear"),
                ],
            ),
            (16, &[(8 * K, "binary"), (FULL, "binomial")]),
            (32, &[(4 * K, "binary"), (FULL, "binomial")]),
            (256, &[(FULL, "binomial")]),
            (512, &[(8 * K, "binomial"), (16 * K, "binary"), (FULL, "binomial")]),
            (2048, &[(FULL, "binomial")]),
            (
                4096,
                &[
                    (512, "binomial"),
                    (K, "binary"),
                    (8 * K, "binomial"),
                    (16 * K, "binary"),
                    (FULL, "binomial"),
                ],
            ),
            (
                ANY,
                &[
                    (16, "binomial"),
                    (32, "binary"),
                    (K, "binomial"),
                    (2 * K, "binary"),
                    (8 * K, "binomial"),
                    (16 * K, "binary"),
                    (FULL, "binomial"),
                ],
            ),
        ],
    ),
    on(
        &[ReduceScatter],
        &[
            (4, &[(64 * K, "ring"), (128 * K, "butterfly"), (FULL, "ring")]),
            (8, &[(8, "reduce-scatter"), (256 * K, "recursive-halving"), (FULL, "ring")]),
            (32, &[(256 * K, "recursive-halving"), (FULL, "ring")]),
            (
                64,
                &[
                    (64, "reduce-scatter"),
                    (2 * K, "recursive-halving"),
                    (512 * K, "butterfly"),
                    (FULL, "ring"),
                ],
            ),
            (
                128,
                &[
                    (256, "reduce-scatter"),
                    (512, "recursive-halving"),
                    (2 * K, "butterfly"),
                    (4 * K, "recursive-halving"),
                    (FULL, "butterfly"),
                ],
            ),
            (256, &[(256, "reduce-scatter"), (512, "recursive-halving"), (FULL, "butterfly")]),
            (512, &[(256, "reduce-scatter"), (K, "recursive-halving"), (FULL, "butterfly")]),
            (
                1024,
                &[
                    (512, "reduce-scatter"),
                    (2 * K, "recursive-halving"),
                    (8 * K, "butterfly"),
                    (16 * K, "recursive-halving"),
                    (FULL, "butterfly"),
                ],
            ),
            (
                2048,
                &[
                    (512, "reduce-scatter"),
                    (4 * K, "recursive-halving"),
                    (16 * K, "butterfly"),
                    (32 * K, "recursive-halving"),
                    (FULL, "butterfly"),
                ],
            ),
            (4096, &[(512, "reduce-scatter"), (4 * K, "recursive-halving"), (FULL, "butterfly")]),
            (ANY, &[(K, "reduce-scatter"), (8 * K, "recursive-halving"), (FULL, "butterfly")]),
        ],
    ),
    on(
        &[ReduceScatterBlock],
        &[
            (
                4,
                &[
                    (4, "recursive-halving"),
                    (8, "butterfly"),
                    (16, "recursive-halving"),
                    (128, "butterfly"),
                    (256, "recursive-halving"),
                    (4 * K, "butterfly"),
                    (8 * K, "recursive-halving"),
                    (128 * K, "butterfly"),
                    (FULL, "reduce-scatter"),
                ],
            ),
            (
                8,
                &[
                    (32, "recursive-halving"),
                    (256, "butterfly"),
                    (8 * K, "recursive-halving"),
                    (16 * K, "butterfly"),
                    (M, "recursive-halving"),
                    (FULL, "reduce-scatter"),
                ],
            ),
            (
                16,
                &[
                    (4, "reduce-scatter"),
                    (32, "recursive-halving"),
                    (128, "butterfly"),
                    (512 * K, "recursive-halving"),
                    (4 * M, "reduce-scatter"),
                    (FULL, "butterfly"),
                ],
            ),
            (
                32,
                &[
                    (32, "reduce-scatter"),
                    (512 * K, "recursive-halving"),
                    (2 * M, "reduce-scatter"),
                    (4 * M, "recursive-halving"),
                    (FULL, "butterfly"),
                ],
            ),
            (
                ANY,
                &[
                    (4, "recursive-halving"),
                    (16, "reduce-scatter"),
                    (64 * K, "butterfly"),
                    (256 * K, "reduce-scatter"),
                    (FULL, "butterfly"),
                ],
            ),
        ],
    ),
    on(
        &[Allgather],
        &[
            (3, &[(FULL, "ring")]),
            (32, &[(FULL, "recursive-doubling")]),
            (64, &[(K, "recursive-doubling"), (64 * K, "neighbour-exchange"), (FULL, "ring")]),
            (128, &[(512, "recursive-doubling"), (64 * K, "neighbour-exchange"), (FULL, "ring")]),
            (
                256,
                &[
                    (512, "recursive-doubling"),
                    (128 * K, "neighbour-exchange"),
                    (512 * K, "ring"),
                    (M, "neighbour-exchange"),
                    (FULL, "ring"),
                ],
            ),
            (
                512,
                &[
                    (32, "recursive-doubling"),
                    (128, "bruck"),
                    (K, "recursive-doubling"),
                    (128 * K, "neighbour-exchange"),
                    (512 * K, "ring"),
                    (M, "neighbour-exchange"),
                    (FULL, "ring"),
                ],
            ),
            (
                1024,
                &[
                    (64, "recursive-doubling"),
                    (256, "bruck"),
                    (2 * K, "recursive-doubling"),
                    (FULL, "neighbour-exchange"),
                ],
            ),
            (
                2048,
                &[
                    (4, "recursive-doubling"),
                    (8, "bruck"),
                    (16, "recursive-doubling"),
                    (32, "bruck"),
                    (256, "recursive-doubling"),
                    (512, "bruck"),
                    (4 * K, "recursive-doubling"),
                    (FULL, "neighbour-exchange"),
                ],
            ),
            (
                4096,
                &[
                    (32, "bruck"),
                    (128, "recursive-doubling"),
                    (512, "bruck"),
                    (4 * K, "recursive-doubling"),
                    (FULL, "neighbour-exchange"),
                ],
            ),
            (
                ANY,
                &[
                    (2, "recursive-doubling"),
                    (8, "bruck"),
                    (16, "recursive-doubling"),
                    (512, "bruck"),
                    (4 * K, "recursive-doubling"),
                    (FULL, "neighbour-exchange"),
                ],
            ),
        ],
    ),
    on(
        &[Allgatherv],
        &[
            (3, &[(FULL, "ring")]),
            (
                8,
                &[
                    (256, "gather-bcast"),
                    (4 * K, "neighbour-exchange"),
                    (8 * K, "ring"),
                    (16 * K, "neighbour-exchange"),
                    (256 * K, "bruck"),
                    (FULL, "neighbour-exchange"),
                ],
            ),
            (16, &[(K, "gather-bcast"), (FULL, "bruck")]),
            (32, &[(128, "gather-bcast"), (256 * K, "bruck"), (FULL, "ring")]),
            (64, &[(256, "gather-bcast"), (8 * K, "bruck"), (FULL, "ring")]),
            (128, &[(256, "gather-bcast"), (4 * K, "bruck"), (FULL, "ring")]),
            (256, &[(K, "bruck"), (64 * K, "neighbour-exchange"), (FULL, "ring")]),
            (512, &[(K, "bruck"), (FULL, "ring")]),
            (
                1024,
                &[
                    (512, "bruck"),
                    (K, "gather-bcast"),
                    (4 * K, "bruck"),
                    (M, "neighbour-exchange"),
                    (FULL, "ring"),
                ],
            ),
            (ANY, &[(4 * K, "bruck"), (FULL, "neighbour-exchange")]),
        ],
    ),
    on(
        &[Gather],
        &[
            (
                4,
                &[
                    (2, "linear-sync"),
                    (4, "linear"),
                    (32 * K, "binomial"),
                    (64 * K, "linear"),
                    (128 * K, "binomial"),
                    (FULL, "linear-sync"),
                ],
            ),
            (
                8,
                &[
                    (K, "binomial"),
                    (8 * K, "linear"),
                    (32 * K, "binomial"),
                    (256 * K, "linear"),
                    (FULL, "linear-sync"),
                ],
            ),
            (256, &[(FULL, "binomial")]),
            (512, &[(2 * K, "binomial"), (8 * K, "linear"), (FULL, "binomial")]),
            (ANY, &[(FULL, "binomial")]),
        ],
    ),
    on(
        &[Scatter],
        &[
            (4, &[(FULL, "linear")]),
            (8, &[(2 * K, "binomial"), (4 * K, "linear"), (8 * K, "binomial"), (FULL, "linear")]),
            (32, &[(16 * K, "binomial"), (FULL, "linear")]),
            (64, &[(512, "binomial"), (8 * K, "linear"), (16 * K, "binomial"), (FULL, "linear")]),
            (ANY, &[(512, "binomial"), (FULL, "linear")]),
        ],
    ),
    on(&[Alltoallw, Scan, Exscan], &[(ANY, &[(FULL, "linear")])]),
    on(LINEAR_KINDS, &[(ANY, &[(FULL, "linear")])]),
];
