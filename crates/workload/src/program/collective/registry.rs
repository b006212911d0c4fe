//! The algorithms that a user can name. Adding one is one function (or file) and one line here.

use super::{
    Sink, Task, allgather as ag, allreduce as ar, alltoall as a2a, barrier, bcast, direct, gather, neighbour,
    reduce, reduce_scatter as rs, scan, smpi_bcast, smpi_blocks, smpi_reduce,
};
use crate::program::mpi::CollectiveKind::{self, *};
use base::registry::{About, Registered};

/// One way to do some collectives.
pub struct Algorithm {
    /// Name (unique among the algorithms of a collective), documentation.
    pub about: About,
    /// The collectives that it does.
    pub kinds: &'static [CollectiveKind],
    /// Number of rounds of a rank; only for tasks that are not [`Task::is_empty`].
    pub rounds: fn(&Task) -> u32,
    /// What a rank does in a round.
    pub round: fn(&Task, u32, &mut dyn Sink),
    /// Segment size if nobody says otherwise; 0 is none. As in its parameters.
    pub segment: u64,
    /// Radix of a k-nomial tree or window of outstanding transfers, if nobody says otherwise. As in its parameters.
    pub radix: u32,
}

impl Registered for Algorithm {
    fn about(&self) -> &About {
        &self.about
    }
}

impl core::fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Algorithm({})", self.about.name)
    }
}

const fn entry(
    about: About,
    kinds: &'static [CollectiveKind],
    rounds: fn(&Task) -> u32,
    round: fn(&Task, u32, &mut dyn Sink),
) -> Algorithm {
    Algorithm { about, kinds, rounds, round, segment: 0, radix: 2 }
}

const fn tuned(algorithm: Algorithm, segment: u64, radix: u32) -> Algorithm {
    Algorithm { segment, radix, ..algorithm }
}

const ALLGATHERS: &[CollectiveKind] = &[Allgather, Allgatherv];
const REDUCE_SCATTERS: &[CollectiveKind] = &[ReduceScatter, ReduceScatterBlock];
const ALLTOALLS: &[CollectiveKind] = &[Alltoall, Alltoallv, Alltoallw];
const DIRECT: &[CollectiveKind] =
    &[Allgather, Allgatherv, Allreduce, ReduceScatter, ReduceScatterBlock, Scan, Exscan];
const NEIGHBOURS: &[CollectiveKind] = &[NeighborAllgather, NeighborAlltoall];

/// All algorithms. Their names are unique by collective.
pub const ALGORITHMS: &[Algorithm] = &[
    entry(barrier::DISSEMINATION, &[Barrier], barrier::dissemination_rounds, barrier::dissemination),
    entry(barrier::LINEAR, &[Barrier], barrier::linear_rounds, barrier::linear),
    entry(barrier::DOUBLING, &[Barrier], barrier::doubling_rounds, barrier::doubling),
    entry(barrier::TREE, &[Barrier], barrier::tree_rounds, barrier::tree),
    entry(smpi_blocks::TREE, &[Barrier], smpi_blocks::tree_rounds, smpi_blocks::tree),
    entry(bcast::LINEAR, &[Bcast], bcast::linear_rounds, bcast::linear),
    entry(bcast::BINOMIAL_ABOUT, &[Bcast], bcast::binomial_rounds, bcast::binomial),
    entry(bcast::SERIAL, &[Bcast], bcast::serial_rounds, bcast::serial),
    tuned(entry(bcast::KNOMIAL, &[Bcast], bcast::knomial_rounds, bcast::knomial), 0, 4),
    tuned(entry(bcast::BINARY, &[Bcast], bcast::binary_rounds, bcast::binary), 32 << 10, 2),
    tuned(entry(bcast::CHAIN, &[Bcast], bcast::chain_rounds, bcast::chain), 128 << 10, 2),
    entry(bcast::SCATTER_DOUBLING, &[Bcast], bcast::scatter_doubling_rounds, bcast::scatter_doubling),
    entry(bcast::SCATTER_RING, &[Bcast], bcast::scatter_ring_rounds, bcast::scatter_ring),
    tuned(
        entry(smpi_bcast::NTSL, &[Bcast], smpi_bcast::ntsl_rounds, smpi_bcast::ntsl),
        smpi_bcast::SEGMENT,
        2,
    ),
    tuned(
        entry(smpi_bcast::NTSB, &[Bcast], smpi_bcast::ntsb_rounds, smpi_bcast::ntsb),
        smpi_bcast::SEGMENT,
        2,
    ),
    entry(smpi_bcast::PIPELINE, &[Bcast], smpi_bcast::pipeline_rounds, smpi_bcast::pipeline),
    tuned(entry(smpi_bcast::KNOMIAL, &[Bcast], smpi_bcast::knomial_rounds, smpi_bcast::knomial), 0, 4),
    entry(smpi_bcast::SCATTER_RDB, &[Bcast], smpi_bcast::scatter_rdb_rounds, smpi_bcast::scatter_rdb),
    entry(reduce::LINEAR, &[Reduce], reduce::linear_rounds, reduce::linear),
    entry(reduce::BINOMIAL_ABOUT, &[Reduce], reduce::binomial_rounds, reduce::binomial),
    tuned(entry(reduce::KNOMIAL, &[Reduce], reduce::knomial_rounds, reduce::knomial), 0, 4),
    tuned(entry(reduce::BINARY, &[Reduce], reduce::binary_rounds, reduce::binary), 32 << 10, 2),
    tuned(entry(reduce::CHAIN, &[Reduce], reduce::chain_rounds, reduce::chain), 64 << 10, 2),
    entry(reduce::RABENSEIFNER, &[Reduce], reduce::rabenseifner_rounds, reduce::rabenseifner),
    entry(smpi_reduce::PIPELINE, &[Reduce], smpi_reduce::pipeline_rounds, smpi_reduce::pipeline),
    tuned(entry(smpi_reduce::CHAIN, &[Reduce], smpi_reduce::chain_rounds, smpi_reduce::chain), 64 << 10, 2),
    tuned(
        entry(smpi_reduce::BINARY, &[Reduce], smpi_reduce::binary_rounds, smpi_reduce::binary),
        32 << 10,
        2,
    ),
    entry(smpi_reduce::BINOMIAL_ABOUT, &[Reduce], smpi_reduce::binomial_rounds, smpi_reduce::binomial),
    entry(ar::REDUCE_BCAST, &[Allreduce], ar::reduce_bcast_rounds, ar::reduce_bcast),
    entry(ar::LINEAR_BCAST, &[Allreduce], ar::linear_bcast_rounds, ar::linear_bcast),
    entry(ar::DOUBLING, &[Allreduce], ar::doubling_rounds, ar::doubling),
    entry(ar::RING, &[Allreduce], ar::ring_rounds, ar::ring),
    tuned(entry(ar::SEGMENTED_RING, &[Allreduce], ar::segmented_ring_rounds, ar::segmented_ring), 1 << 20, 2),
    entry(ar::RABENSEIFNER, &[Allreduce], ar::rabenseifner_rounds, ar::rabenseifner),
    entry(smpi_reduce::REDBCAST, &[Allreduce], smpi_reduce::redbcast_rounds, smpi_reduce::redbcast),
    entry(smpi_reduce::LR, &[Allreduce], smpi_reduce::lr_rounds, smpi_reduce::lr),
    entry(gather::LINEAR, &[Gather, Gatherv], gather::linear_rounds, gather::linear_gather),
    entry(gather::BINOMIAL_ABOUT, &[Gather], gather::binomial_rounds, gather::binomial_gather),
    entry(gather::SYNC, &[Gather], gather::sync_rounds, gather::sync),
    entry(smpi_blocks::BINOMIAL_ABOUT, &[Gather], smpi_blocks::gather_rounds, smpi_blocks::gather),
    entry(smpi_blocks::SYNC, &[Gather], smpi_blocks::sync_rounds, smpi_blocks::sync),
    entry(gather::LINEAR, &[Scatter, Scatterv], gather::linear_rounds, gather::linear_scatter),
    entry(gather::BINOMIAL_ABOUT, &[Scatter], gather::binomial_rounds, gather::binomial_scatter),
    entry(smpi_blocks::BINOMIAL_ABOUT, &[Scatter], smpi_blocks::scatter_rounds, smpi_blocks::scatter),
    entry(ag::RING, ALLGATHERS, ag::ring_rounds, ag::ring),
    entry(ag::BRUCK, ALLGATHERS, ag::bruck_rounds, ag::bruck),
    entry(ag::DOUBLING, ALLGATHERS, ag::doubling_rounds, ag::doubling),
    entry(ag::NEIGHBOUR, ALLGATHERS, ag::neighbour_rounds, ag::neighbour),
    entry(ag::GATHER_BCAST, ALLGATHERS, ag::gather_bcast_rounds, ag::gather_bcast),
    entry(smpi_blocks::RING, ALLGATHERS, smpi_blocks::ring_rounds, smpi_blocks::ring),
    entry(smpi_blocks::RDB, ALLGATHERS, smpi_blocks::rdb_rounds, smpi_blocks::rdb),
    entry(smpi_blocks::EXCHANGE, ALLGATHERS, smpi_blocks::exchange_rounds, smpi_blocks::exchange),
    entry(smpi_blocks::GB, ALLGATHERS, smpi_blocks::gb_rounds, smpi_blocks::gb),
    entry(a2a::LINEAR, ALLTOALLS, a2a::linear_rounds, a2a::linear),
    tuned(entry(a2a::SYNC, ALLTOALLS, a2a::sync_rounds, a2a::sync), 0, 32),
    entry(a2a::PAIRWISE, ALLTOALLS, a2a::pairwise_rounds, a2a::pairwise),
    entry(a2a::EXCHANGE, ALLTOALLS, a2a::pairwise_rounds, a2a::exchange),
    entry(a2a::BRUCK, &[Alltoall], a2a::bruck_rounds, a2a::bruck),
    entry(rs::HALVING, REDUCE_SCATTERS, rs::halving_rounds, rs::halving),
    entry(rs::BUTTERFLY, REDUCE_SCATTERS, rs::butterfly_rounds, rs::butterfly),
    entry(rs::DOUBLING, REDUCE_SCATTERS, rs::doubling_rounds, rs::doubling),
    entry(rs::RING, REDUCE_SCATTERS, rs::steps, rs::ring),
    entry(rs::PAIRWISE, REDUCE_SCATTERS, rs::steps, rs::pairwise),
    entry(rs::REDUCE_SCATTER, REDUCE_SCATTERS, rs::reduce_scatter_rounds, rs::reduce_scatter),
    entry(rs::LINEAR, REDUCE_SCATTERS, rs::linear_rounds, rs::linear),
    entry(smpi_reduce::RING, REDUCE_SCATTERS, smpi_reduce::ring_rounds, smpi_reduce::ring),
    entry(scan::LINEAR, &[Scan, Exscan], scan::linear_rounds, scan::linear),
    entry(scan::DOUBLING, &[Scan, Exscan], scan::doubling_rounds, scan::doubling),
    entry(smpi_blocks::LINEAR, &[Reduce, Gather, Scatter], smpi_blocks::linear_rounds, smpi_blocks::linear),
    entry(direct::DIRECT, DIRECT, direct::rounds, direct::direct),
    entry(neighbour::LINEAR, NEIGHBOURS, neighbour::rounds, neighbour::linear),
];
