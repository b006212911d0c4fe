//! The words for collectives and one-sided calls.

use crate::program::mpi::{CollectiveKind, OneSided};

/// How a collective is written, and what it takes.
pub(super) struct Word {
    pub(super) word: &'static str,
    pub(super) kind: CollectiveKind,
    pub(super) root: bool,
    pub(super) size: bool,
    pub(super) counts: bool,
    pub(super) neighbours: bool,
}

const fn word(word: &'static str, kind: CollectiveKind, takes: &str) -> Word {
    let (mut root, mut size, mut counts, mut neighbours) = (false, false, false, false);
    let (takes, mut i) = (takes.as_bytes(), 0);
    while i < takes.len() {
        match takes[i] {
            b'r' => root = true,
            b's' => size = true,
            b'c' => counts = true,
            _ => neighbours = true,
        }
        i += 1;
    }
    Word { word, kind, root, size, counts, neighbours }
}

/// All collectives; the non-blocking form has an `i` before it. Takes: root, size, counts, neighbours.
pub(super) const COLLECTIVES: &[Word] = &[
    word("barrier", CollectiveKind::Barrier, ""),
    word("bcast", CollectiveKind::Bcast, "sr"),
    word("gather", CollectiveKind::Gather, "sr"),
    word("gatherv", CollectiveKind::Gatherv, "cr"),
    word("scatter", CollectiveKind::Scatter, "sr"),
    word("scatterv", CollectiveKind::Scatterv, "cr"),
    word("allgather", CollectiveKind::Allgather, "s"),
    word("allgatherv", CollectiveKind::Allgatherv, "c"),
    word("alltoall", CollectiveKind::Alltoall, "s"),
    word("alltoallv", CollectiveKind::Alltoallv, "c"),
    word("alltoallw", CollectiveKind::Alltoallw, "c"),
    word("reduce", CollectiveKind::Reduce, "sr"),
    word("allreduce", CollectiveKind::Allreduce, "s"),
    word("reduce_scatter", CollectiveKind::ReduceScatter, "c"),
    word("reduce_scatter_block", CollectiveKind::ReduceScatterBlock, "s"),
    word("scan", CollectiveKind::Scan, "s"),
    word("exscan", CollectiveKind::Exscan, "s"),
    word("neighbor_allgather", CollectiveKind::NeighborAllgather, "sn"),
    word("neighbor_alltoall", CollectiveKind::NeighborAlltoall, "sn"),
];

/// How a collective is written in the format.
pub(crate) fn collective_name(kind: CollectiveKind) -> &'static str {
    COLLECTIVES.iter().find(|c| c.kind == kind).map_or("", |c| c.word)
}

/// Words that begin a one-sided call.
pub(super) const ONE_SIDED: [&str; 21] = [
    "put",
    "get",
    "accumulate",
    "get_accumulate",
    "fetch_and_op",
    "compare_and_swap",
    "win_create",
    "win_free",
    "win_fence",
    "win_post",
    "win_start",
    "win_complete",
    "win_wait",
    "win_lock",
    "win_unlock",
    "win_lock_all",
    "win_unlock_all",
    "win_flush",
    "win_flush_all",
    "win_flush_local",
    "win_flush_local_all",
];

/// How a one-sided call is written in the format: its first word.
pub(crate) fn one_sided_name(call: &OneSided) -> &'static str {
    let name = call.name();
    ONE_SIDED.into_iter().find(|word| name[4..].eq_ignore_ascii_case(word)).unwrap_or(name)
}
