//! What SimGrid's SMPI takes with its selector `ompi`, and calls within calls that it decides.

use super::{
    Algorithm, Sink, Task, Within, smpi,
    table::{ANY, Decision, FULL, K, LINEAR_KINDS, Line, M, Table, on},
};
use crate::program::mpi::CollectiveKind::*;
use base::registry::About;

pub(super) const TABLE: Table = Table {
    about: About {
        name: "smpi-ompi",
        summary: "SimGrid's SMPI, its selector `ompi`",
        doc: "What SMPI runs with `smpi/coll-selector:ompi`: Open MPI's fixed decisions with SMPI's own algorithms, pipelines and segments included. On model `flow`, \
              `preset = \"smpi\"` has SMPI's rules of messages. Calls that do not block, scans, `alltoallw` and the v-forms of gather and scatter are those of `smpi`. Not as in SMPI: \
              vectors are counted in bytes, where SMPI counts elements; rings of unequal blocks beyond 256 KiB are not cut; `smpi-ntsb` stands for the \
              split binary tree of bcast and `smpi-binary` for the in-order one of reduce (both from 256 ranks on); the set-up of node communicators before the first k-nomial \
              broadcast costs nothing; where SMPI's recursive halving leaves out an exchange since one of its halves is empty, both are sent. Pairwise exchanges of a number of ranks that is no \
              power of two, where SMPI ends, run as `pairwise` or `smpi-ring`.",
        source: "SimGrid, selector `ompi` (Open MPI 4.1, coll/tuned); compared with smpirun 3.32",
        params: &[],
    },
    measure,
    segments: true,
    sends_empty: true,
    decisions: DECISIONS,
};

fn measure(task: &Task) -> u64 {
    match task.kind {
        Allgatherv => task.weight() / u64::from(task.size),
        ReduceScatterBlock => task.weight().saturating_mul(u64::from(task.size)),
        _ => task.weight(),
    }
}

/// Runs calls within calls by this table.
pub(super) const WITHIN: Within = Within { rounds, round };

/// A call within a call, with the algorithm that the table takes for it.
fn chosen(mut task: Task) -> (Task, &'static Algorithm) {
    let choice = TABLE.choose(&task);
    (task.segment, task.radix) = (choice.segment, choice.radix);
    (task, choice.algorithm)
}

/// Number of rounds of a call within a call.
fn rounds(task: Task) -> u32 {
    let (task, algorithm) = chosen(task);
    if task.is_empty() { 0 } else { (algorithm.rounds)(&task) }
}

/// A round of a call within a call.
fn round(task: Task, round: u32, out: &mut dyn Sink) {
    let (task, algorithm) = chosen(task);
    (algorithm.round)(&task, round, out);
}

const DECISIONS: &[Decision] = &[
    smpi::BCAST_AT_ONCE,
    smpi::REDUCTIONS_AT_ONCE,
    smpi::ALLTOALL_AT_ONCE,
    on(&[Barrier], BARRIER),
    on(&[Bcast], BCAST),
    on(&[Reduce], REDUCE),
    on(&[Allreduce], ALLREDUCE),
    on(&[Gather], GATHER),
    on(&[Scatter], SCATTER),
    on(&[Allgather], ALLGATHER),
    on(&[Allgatherv], ALLGATHERV),
    on(&[ReduceScatter, ReduceScatterBlock], REDUCE_SCATTER),
    on(&[Alltoall], ALLTOALL),
    on(&[Alltoallv], ALLTOALLV),
    on(&[Scan, Exscan], &[(ANY, &[(FULL, "direct")])]),
    on(&[Alltoallw], &[(ANY, &[(FULL, "linear")])]),
    on(LINEAR_KINDS, &[(ANY, &[(FULL, "linear")])]),
];

const BARRIER: &[Line] = &[
    (4, &[(FULL, "recursive-doubling")]),
    (8, &[(FULL, "linear")]),
    (64, &[(FULL, "recursive-doubling")]),
    (256, &[(FULL, "dissemination")]),
    (512, &[(FULL, "smpi-tree")]),
    (1024, &[(FULL, "dissemination")]),
    (4096, &[(FULL, "smpi-tree")]),
    (ANY, &[(FULL, "dissemination")]),
];

const BCAST: &[Line] = &[
    (
        4,
        &[
            (32, "smpi-pipeline"),
            (256, "smpi-ntsb"),
            (512, "smpi-pipeline"),
            (K, "smpi-knomial"),
            (32 * K, "smpi-ntsl"),
            (128 * K, "smpi-ntsb"),
            (256 * K, "smpi-pipeline"),
            (512 * K, "smpi-ntsl"),
            (M, "binomial-serial"),
            (FULL, "smpi-ntsb"),
        ],
    ),
    (
        8,
        &[
            (64, "smpi-ntsb"),
            (128, "binomial-serial"),
            (2 * K, "smpi-ntsb"),
            (8 * K, "binomial-serial"),
            (M, "smpi-ntsl"),
            (FULL, "smpi-pipeline"),
        ],
    ),
    (
        16,
        &[
            (8, "smpi-knomial"),
            (64, "smpi-ntsb"),
            (4 * K, "smpi-knomial"),
            (16 * K, "smpi-ntsb"),
            (32 * K, "binomial-serial"),
            (FULL, "smpi-ntsl"),
        ],
    ),
    (32, &[(4 * K, "smpi-knomial"), (M, "binomial-serial"), (FULL, "smpi-scatter-rdb")]),
    (64, &[(2 * K, "binomial-serial"), (FULL, "smpi-knomial")]),
    (128, &[(FULL, "smpi-knomial")]),
    (
        256,
        &[
            (2, "binomial-serial"),
            (16 * K, "smpi-ntsb"),
            (32 * K, "smpi-ntsl"),
            (64 * K, "smpi-ntsb"),
            (FULL, "smpi-knomial"),
        ],
    ),
    (1024, &[(16 * K, "smpi-knomial"), (32 * K, "smpi-ntsb"), (FULL, "smpi-knomial")]),
    (2048, &[(512 * K, "smpi-knomial"), (FULL, "smpi-scatter-rdb")]),
    (4096, &[(256 * K, "smpi-knomial"), (FULL, "smpi-scatter-rdb")]),
    (
        ANY,
        &[
            (8 * K, "smpi-knomial"),
            (16 * K, "smpi-ntsb"),
            (256 * K, "smpi-knomial"),
            (FULL, "smpi-scatter-rdb"),
        ],
    ),
];

const REDUCE: &[Line] = &[
    (
        4,
        &[
            (8, "smpi-linear"),
            (16, "smpi-binary"),
            (32, "smpi-pipeline"),
            (256 * K, "smpi-linear"),
            (512 * K, "smpi-pipeline"),
            (M, "smpi-chain"),
            (FULL, "smpi-pipeline"),
        ],
    ),
    (
        8,
        &[
            (4 * K, "smpi-binary"),
            (64 * K, "smpi-chain"),
            (256 * K, "smpi-binomial"),
            (512 * K, "smpi-linear"),
            (M, "smpi-binomial"),
            (FULL, "smpi-linear"),
        ],
    ),
    (16, &[(8 * K, "smpi-binary"), (FULL, "smpi-binomial")]),
    (32, &[(4 * K, "smpi-binary"), (FULL, "smpi-binomial")]),
    (256, &[(FULL, "smpi-binomial")]),
    (512, &[(8 * K, "smpi-binomial"), (16 * K, "smpi-binary"), (FULL, "smpi-binomial")]),
    (2048, &[(FULL, "smpi-binomial")]),
    (
        4096,
        &[
            (512, "smpi-binomial"),
            (K, "smpi-binary"),
            (8 * K, "smpi-binomial"),
            (16 * K, "smpi-binary"),
            (FULL, "smpi-binomial"),
        ],
    ),
    (
        ANY,
        &[
            (16, "smpi-binomial"),
            (32, "smpi-binary"),
            (K, "smpi-binomial"),
            (2 * K, "smpi-binary"),
            (8 * K, "smpi-binomial"),
            (16 * K, "smpi-binary"),
            (FULL, "smpi-binomial"),
        ],
    ),
];

const ALLREDUCE: &[Line] = &[
    (
        4,
        &[
            (8, "smpi-lr"),
            (4 * K, "recursive-doubling"),
            (8 * K, "smpi-lr"),
            (16 * K, "recursive-doubling"),
            (256 * K, "smpi-lr"),
            (FULL, "rabenseifner"),
        ],
    ),
    (8, &[(16, "smpi-lr"), (8 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
    (16, &[(8 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
    (32, &[(64, "smpi-lr"), (4 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
    (64, &[(128, "smpi-lr"), (FULL, "rabenseifner")]),
    (128, &[(256 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
    (256, &[(128 * K, "smpi-redbcast"), (256 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
    (512, &[(4 * K, "smpi-redbcast"), (FULL, "rabenseifner")]),
    (2048, &[(2 * K, "smpi-redbcast"), (16 * K, "recursive-doubling"), (FULL, "rabenseifner")]),
    (
        4096,
        &[
            (2 * K, "smpi-redbcast"),
            (4 * K, "smpi-lr"),
            (16 * K, "recursive-doubling"),
            (FULL, "rabenseifner"),
        ],
    ),
    (
        ANY,
        &[
            (2 * K, "smpi-redbcast"),
            (16 * K, "smpi-lr"),
            (32 * K, "recursive-doubling"),
            (FULL, "rabenseifner"),
        ],
    ),
];

const GATHER: &[Line] = &[
    (
        4,
        &[
            (2, "smpi-linear-sync"),
            (4, "smpi-linear"),
            (32 * K, "smpi-binomial"),
            (64 * K, "smpi-linear"),
            (128 * K, "smpi-binomial"),
            (FULL, "smpi-linear-sync"),
        ],
    ),
    (
        8,
        &[
            (K, "smpi-binomial"),
            (8 * K, "smpi-linear"),
            (32 * K, "smpi-binomial"),
            (256 * K, "smpi-linear"),
            (FULL, "smpi-linear-sync"),
        ],
    ),
    (256, &[(FULL, "smpi-binomial")]),
    (512, &[(2 * K, "smpi-binomial"), (8 * K, "smpi-linear"), (FULL, "smpi-binomial")]),
    (ANY, &[(FULL, "smpi-binomial")]),
];

const SCATTER: &[Line] = &[
    (4, &[(2, "linear"), (128 * K, "smpi-linear"), (256 * K, "linear"), (FULL, "smpi-linear")]),
    (
        8,
        &[
            (2 * K, "smpi-binomial"),
            (4 * K, "smpi-linear"),
            (8 * K, "smpi-binomial"),
            (32 * K, "smpi-linear"),
            (M, "linear"),
            (FULL, "smpi-linear"),
        ],
    ),
    (16, &[(16 * K, "smpi-binomial"), (M, "linear"), (FULL, "smpi-linear")]),
    (32, &[(16 * K, "smpi-binomial"), (32 * K, "smpi-linear"), (FULL, "linear")]),
    (64, &[(512, "smpi-binomial"), (8 * K, "linear"), (16 * K, "smpi-binomial"), (FULL, "linear")]),
    (ANY, &[(512, "smpi-binomial"), (FULL, "linear")]),
];

const ALLGATHER: &[Line] = &[
    (3, &[(FULL, "smpi-ring")]),
    (32, &[(FULL, "smpi-rdb")]),
    (64, &[(K, "smpi-rdb"), (64 * K, "smpi-neighbour-exchange"), (FULL, "smpi-ring")]),
    (128, &[(512, "smpi-rdb"), (64 * K, "smpi-neighbour-exchange"), (FULL, "smpi-ring")]),
    (
        256,
        &[
            (512, "smpi-rdb"),
            (128 * K, "smpi-neighbour-exchange"),
            (512 * K, "smpi-ring"),
            (M, "smpi-neighbour-exchange"),
            (FULL, "smpi-ring"),
        ],
    ),
    (
        512,
        &[
            (32, "smpi-rdb"),
            (128, "bruck"),
            (K, "smpi-rdb"),
            (128 * K, "smpi-neighbour-exchange"),
            (512 * K, "smpi-ring"),
            (M, "smpi-neighbour-exchange"),
            (FULL, "smpi-ring"),
        ],
    ),
    (1024, &[(64, "smpi-rdb"), (256, "bruck"), (2 * K, "smpi-rdb"), (FULL, "smpi-neighbour-exchange")]),
    (
        2048,
        &[
            (4, "smpi-rdb"),
            (8, "bruck"),
            (16, "smpi-rdb"),
            (32, "bruck"),
            (256, "smpi-rdb"),
            (512, "bruck"),
            (4 * K, "smpi-rdb"),
            (FULL, "smpi-neighbour-exchange"),
        ],
    ),
    (
        4096,
        &[
            (32, "bruck"),
            (128, "smpi-rdb"),
            (512, "bruck"),
            (4 * K, "smpi-rdb"),
            (FULL, "smpi-neighbour-exchange"),
        ],
    ),
    (
        ANY,
        &[
            (2, "smpi-rdb"),
            (8, "bruck"),
            (16, "smpi-rdb"),
            (512, "bruck"),
            (4 * K, "smpi-rdb"),
            (FULL, "smpi-neighbour-exchange"),
        ],
    ),
];

const ALLGATHERV: &[Line] = &[
    (3, &[(2 * K, "ring"), (4 * K, "smpi-ring"), (8 * K, "ring"), (FULL, "smpi-ring")]),
    (
        8,
        &[
            (256, "smpi-gb"),
            (4 * K, "smpi-neighbour-exchange"),
            (8 * K, "ring"),
            (16 * K, "smpi-neighbour-exchange"),
            (256 * K, "bruck"),
            (FULL, "smpi-neighbour-exchange"),
        ],
    ),
    (16, &[(K, "smpi-gb"), (FULL, "bruck")]),
    (32, &[(128, "smpi-gb"), (256 * K, "bruck"), (FULL, "ring")]),
    (64, &[(256, "smpi-gb"), (8 * K, "bruck"), (FULL, "ring")]),
    (128, &[(256, "smpi-gb"), (4 * K, "bruck"), (FULL, "ring")]),
    (256, &[(K, "bruck"), (64 * K, "smpi-neighbour-exchange"), (FULL, "ring")]),
    (512, &[(K, "bruck"), (FULL, "ring")]),
    (
        1024,
        &[(512, "bruck"), (K, "smpi-gb"), (4 * K, "bruck"), (M, "smpi-neighbour-exchange"), (FULL, "ring")],
    ),
    (ANY, &[(4 * K, "bruck"), (FULL, "smpi-neighbour-exchange")]),
];

const REDUCE_SCATTER: &[Line] = &[
    (4, &[(64 * K, "smpi-ring"), (128 * K, "butterfly"), (FULL, "smpi-ring")]),
    (8, &[(8, "linear"), (256 * K, "recursive-halving"), (FULL, "smpi-ring")]),
    (32, &[(256 * K, "recursive-halving"), (FULL, "smpi-ring")]),
    (64, &[(64, "linear"), (2 * K, "recursive-halving"), (512 * K, "butterfly"), (FULL, "smpi-ring")]),
    (
        128,
        &[
            (256, "linear"),
            (512, "recursive-halving"),
            (2 * K, "butterfly"),
            (4 * K, "recursive-halving"),
            (FULL, "butterfly"),
        ],
    ),
    (256, &[(256, "linear"), (512, "recursive-halving"), (FULL, "butterfly")]),
    (512, &[(256, "linear"), (K, "recursive-halving"), (FULL, "butterfly")]),
    (
        1024,
        &[
            (512, "linear"),
            (2 * K, "recursive-halving"),
            (8 * K, "butterfly"),
            (16 * K, "recursive-halving"),
            (FULL, "butterfly"),
        ],
    ),
    (
        2048,
        &[
            (512, "linear"),
            (4 * K, "recursive-halving"),
            (16 * K, "butterfly"),
            (32 * K, "recursive-halving"),
            (FULL, "butterfly"),
        ],
    ),
    (4096, &[(512, "linear"), (4 * K, "recursive-halving"), (FULL, "butterfly")]),
    (ANY, &[(K, "linear"), (8 * K, "recursive-halving"), (FULL, "butterfly")]),
];

const ALLTOALL: &[Line] = &[
    (
        3,
        &[
            (2, "pairwise-xor"),
            (4, "linear"),
            (16, "pairwise-xor"),
            (64, "linear"),
            (256, "pairwise-xor"),
            (4 * K, "linear"),
            (32 * K, "pairwise-xor"),
            (M, "linear"),
            (FULL, "pairwise-xor"),
        ],
    ),
    (8, &[(512 * K, "linear"), (M, "pairwise-xor"), (FULL, "linear")]),
    (16, &[(FULL, "linear")]),
    (32, &[(4, "linear"), (512, "bruck"), (FULL, "linear")]),
    (64, &[(512, "bruck"), (FULL, "linear")]),
    (128, &[(K, "bruck"), (256 * K, "linear"), (FULL, "pairwise-xor")]),
    (256, &[(K, "bruck"), (256 * K, "linear"), (FULL, "pairwise-xor")]),
    (512, &[(K, "bruck"), (32 * K, "linear"), (FULL, "pairwise-xor")]),
    (1024, &[(512, "bruck"), (256 * K, "linear"), (FULL, "pairwise-xor")]),
    (2048, &[(512, "bruck"), (FULL, "linear")]),
    (4096, &[(K, "bruck"), (FULL, "linear")]),
    (ANY, &[(2 * K, "bruck"), (FULL, "linear")]),
];

const ALLTOALLV: &[Line] = &[
    (4, &[(FULL, "pairwise-xor")]),
    (64, &[(FULL, "linear")]),
    (128, &[(FULL, "pairwise-xor")]),
    (256, &[(FULL, "linear")]),
    (1024, &[(FULL, "pairwise-xor")]),
    (ANY, &[(FULL, "linear")]),
];
