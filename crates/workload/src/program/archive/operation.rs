//! Numbers of OTF2's collectives, what they are to MPI, and what is special about some.

use crate::program::{
    UNKNOWN_BYTES,
    mpi::{Collective, CollectiveKind as K},
};
use base::units::MAX_BYTES;
use otf2::EventKind;
use std::sync::Arc;

pub const BARRIER: u8 = 0;
pub const BCAST: u8 = 1;
pub const GATHER: u8 = 2;
pub const GATHERV: u8 = 3;
pub const SCATTER: u8 = 4;
pub const SCATTERV: u8 = 5;
pub const ALLGATHER: u8 = 6;
pub const ALLGATHERV: u8 = 7;
pub const ALLTOALL: u8 = 8;
pub const ALLTOALLV: u8 = 9;
pub const ALLTOALLW: u8 = 10;
pub const ALLREDUCE: u8 = 11;
pub const REDUCE: u8 = 12;
pub const REDUCE_SCATTER: u8 = 13;
pub const SCAN: u8 = 14;
pub const EXSCAN: u8 = 15;
pub const REDUCE_SCATTER_BLOCK: u8 = 16;
/// A communicator or another handle is made.
pub const CREATE_HANDLE: u8 = 17;

/// True of the names of MPI's non-blocking collectives.
pub fn goes_on_beside(name: &str) -> bool {
    const KINDS: [&str; 12] = [
        "barrier",
        "bcast",
        "gather",
        "scatter",
        "allgather",
        "alltoall",
        "allreduce",
        "reduce",
        "scan",
        "exscan",
        "neighbor",
        "comm_dup",
    ];
    name.strip_prefix("MPI_I").is_some_and(|rest| KINDS.iter().any(|kind| rest.starts_with(kind)))
}

/// True if ranks may have different bytes in it, which algorithms must know of each other.
pub fn uneven(operation: u8) -> bool {
    matches!(operation, GATHERV | SCATTERV | ALLGATHERV | ALLTOALLV | ALLTOALLW | REDUCE_SCATTER)
}

/// The collective of a number and its bytes, where the calling rank of `size` sends and receives so many; none of handles ([`maker`]), and allocations.
pub fn kind(operation: u8, size: u64, sent: u64, received: u64) -> Option<(K, u64)> {
    let either = |first: u64, second: u64| if first > 0 { first } else { second };
    Some(match operation {
        BARRIER => (K::Barrier, 0),
        BCAST => (K::Bcast, either(received, sent / size)),
        GATHER => (K::Gather, either(sent, received / size)),
        SCATTER => (K::Scatter, either(received, sent / size)),
        ALLGATHER => (K::Allgather, received / size),
        ALLTOALL => (K::Alltoall, either(sent, received) / size),
        ALLREDUCE => (K::Allreduce, either(sent, received)),
        REDUCE => (K::Reduce, either(sent, received)),
        SCAN => (K::Scan, either(sent, received)),
        EXSCAN => (K::Exscan, either(sent, received)),
        REDUCE_SCATTER_BLOCK => (K::ReduceScatterBlock, either(received, sent / size)),
        GATHERV => (K::Gatherv, 0),
        SCATTERV => (K::Scatterv, 0),
        ALLGATHERV => (K::Allgatherv, 0),
        ALLTOALLV | ALLTOALLW => (K::Alltoallv, 0),
        REDUCE_SCATTER => (K::ReduceScatter, 0),
        _ => return None,
    })
}

/// What a function that makes a communicator or another handle costs: as much as a program's call of it (`lower`).
pub fn maker(function: &str) -> (K, u64) {
    (if function == "MPI_Comm_split" { K::Allgather } else { K::Allreduce }, 8)
}

/// Refuses a record of more bytes than a message can have. What is received may be unknown.
pub fn possible(kind: &EventKind) -> Result<(), String> {
    let bytes = match *kind {
        EventKind::Recv { bytes: UNKNOWN_BYTES, .. } | EventKind::Irecv { bytes: UNKNOWN_BYTES, .. } => 0,
        EventKind::Send { bytes, .. }
        | EventKind::Isend { bytes, .. }
        | EventKind::Recv { bytes, .. }
        | EventKind::Irecv { bytes, .. }
        | EventKind::RmaPut { bytes, .. }
        | EventKind::RmaGet { bytes, .. } => bytes,
        EventKind::CollectiveEnd { sent, received, .. }
        | EventKind::CollectiveComplete { sent, received, .. } => sent.max(received),
        _ => 0,
    };
    if bytes <= MAX_BYTES { Ok(()) } else { Err(format!("{bytes} bytes: at most {MAX_BYTES} are possible")) }
}

/// Bytes by rank of a collective in which they differ, from what each rank sends and receives.
pub fn counts(operation: u8, size: u64, me: u64, of: impl Fn(u64) -> (u64, u64)) -> Arc<[u64]> {
    match operation {
        GATHERV => (0..size).map(|r| of(r).0).collect(),
        ALLGATHERV => {
            let (sent, most) = ((0..size).map(|r| of(r).0), (0..size).map(|r| of(r).1).max().unwrap_or(0));
            // What a rank sends is reported once, or once for each that gets it.
            if sent.clone().map(u128::from).sum::<u128>() > most.into() {
                sent.map(|s| s / size).collect()
            } else {
                sent.collect()
            }
        }
        ALLTOALLV | ALLTOALLW => {
            let to = (0..size).map(|_| of(me).0 / size);
            to.chain((0..size).map(|r| of(r).0 / size)).collect()
        }
        _ => (0..size).map(|r| of(r).1).collect(),
    }
}

/// The inverse: number of a collective, its root if it has one, and what the calling rank of `size` sends and receives. None of those among neighbours.
pub fn of(c: &Collective, size: u64, me: u64) -> Option<(u8, Option<u32>, (u64, u64))> {
    let root = c.root.number();
    let (rooted, at_root) = (Some(root), me == u64::from(root));
    let (one, all) = (c.bytes, c.bytes.saturating_mul(size));
    let at = |bytes: u64| if at_root { bytes } else { 0 };
    let lists = c.counts.as_deref().unwrap_or(&[]);
    let own = lists.get(me as usize).copied().unwrap_or(0);
    let sum = |list: &[u64]| list.iter().fold(0u64, |sum, &bytes| sum.saturating_add(bytes));
    let (sends, receives) = lists.split_at(lists.len() / 2);
    Some(match c.kind {
        K::Barrier => (BARRIER, None, (0, 0)),
        K::Bcast => (BCAST, rooted, (at(all), one)),
        K::Gather => (GATHER, rooted, (one, at(all))),
        K::Scatter => (SCATTER, rooted, (at(all), one)),
        K::Allgather => (ALLGATHER, None, (one, all)),
        K::Alltoall => (ALLTOALL, None, (all, all)),
        K::Allreduce => (ALLREDUCE, None, (one, one)),
        K::Reduce => (REDUCE, rooted, (one, at(one))),
        K::Scan => (SCAN, None, (one, one)),
        K::Exscan => (EXSCAN, None, (one, one)),
        K::ReduceScatterBlock => (REDUCE_SCATTER_BLOCK, None, (all, one)),
        K::Gatherv => (GATHERV, rooted, (own, at(sum(lists)))),
        K::Scatterv => (SCATTERV, rooted, (at(sum(lists)), own)),
        K::Allgatherv => (ALLGATHERV, None, (own, sum(lists))),
        K::ReduceScatter => (REDUCE_SCATTER, None, (sum(lists), own)),
        K::Alltoallv => (ALLTOALLV, None, (sum(sends), sum(receives))),
        K::Alltoallw => (ALLTOALLW, None, (sum(sends), sum(receives))),
        K::NeighborAllgather | K::NeighborAlltoall => return None,
    })
}
