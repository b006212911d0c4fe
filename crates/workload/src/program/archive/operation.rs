//! Numbers of OTF2's collectives, and what is special about some.

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
