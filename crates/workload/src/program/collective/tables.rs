//! The decision tables that a user can name.

use super::{
    Task, mpich, openmpi, smpi, smpi_ompi,
    table::{ANY, FULL, LINEAR_KINDS, Table, on},
};
use crate::program::mpi::CollectiveKind::*;
use base::registry::About;

/// The decision tables, the default first.
pub const TABLES: &[Table] = &[SIMPLE, openmpi::TABLE, mpich::TABLE, smpi::TABLE, smpi_ompi::TABLE];

const SIMPLE: Table = Table {
    about: About {
        name: "simple",
        summary: "one algorithm each",
        doc: "The same algorithm for every size: trees for rooted collectives, recursive doubling for reductions to all and scans, rings \
              for allgathers, everything at once for all-to-alls.",
        source: "our choice",
        params: &[],
    },
    measure: Task::weight,
    segments: true,
    sends_empty: false,
    decisions: &[
        on(&[Barrier], &[(ANY, &[(FULL, "dissemination")])]),
        on(&[Bcast, Reduce, Gather, Scatter], &[(ANY, &[(FULL, "binomial")])]),
        on(&[Allreduce, Scan, Exscan], &[(ANY, &[(FULL, "recursive-doubling")])]),
        on(&[Allgather, Allgatherv], &[(ANY, &[(FULL, "ring")])]),
        on(&[ReduceScatter, ReduceScatterBlock], &[(ANY, &[(FULL, "recursive-halving")])]),
        on(&[Alltoall, Alltoallv, Alltoallw], &[(ANY, &[(FULL, "linear")])]),
        on(LINEAR_KINDS, &[(ANY, &[(FULL, "linear")])]),
    ],
};

#[cfg(test)]
mod tests {
    use super::{
        super::table::{K, M},
        *,
    };
    use crate::program::mpi::{CollectiveKind, CommRank};
    use crate::program::{collective::ALGORITHMS, mpi::Collective};
    use base::registry::find;

    fn task(kind: CollectiveKind, size: u32, bytes: u64) -> Task {
        let counts = match kind {
            Gatherv | Scatterv | Allgatherv | ReduceScatter => Some(vec![bytes; size as usize].into()),
            Alltoallv | Alltoallw => Some(vec![bytes; 2 * size as usize].into()),
            _ => None,
        };
        let neighbours = matches!(kind, NeighborAllgather | NeighborAlltoall).then(|| [].into());
        let (comm, root, request, algorithm) = (0, CommRank::new(0), None, None);
        let call = Collective { kind, comm, root, bytes, counts, neighbours, request, algorithm };
        Task::new(&call, root, size).unwrap()
    }

    fn chosen(table: &str, kind: CollectiveKind, size: u32, bytes: u64) -> &'static str {
        find(TABLES, table).unwrap().choose(&task(kind, size, bytes)).algorithm.about.name
    }

    #[test]
    fn every_table_decides_every_call_and_names_what_exists() {
        for table in TABLES {
            for decision in table.decisions {
                assert!(decision.lines.is_sorted_by_key(|l| l.0));
                for (_, by_bytes) in decision.lines {
                    assert!(by_bytes.is_sorted_by(|a, b| a.0 < b.0));
                    for (name, kind) in by_bytes.iter().flat_map(|l| decision.kinds.iter().map(|k| (l.1, k)))
                    {
                        let known = ALGORITHMS.iter().any(|a| a.about.name == name && a.kinds.contains(kind));
                        assert!(known, "{}: {name} for {kind:?}", table.about.name);
                    }
                }
            }
            for kind in CollectiveKind::ALL {
                for size in [1, 2, 3, 8, 31, 100, 300, 700, 1500, 3000, 5000] {
                    for bytes in [0, 1, 1000, 1 << 20, u64::MAX] {
                        assert!(table.choose(&task(kind, size, bytes)).algorithm.kinds.contains(&kind));
                    }
                }
            }
        }
    }

    #[test]
    fn mpich_decides_as_published() {
        let mpich = |kind, size, bytes| chosen("mpich", kind, size, bytes);
        assert_eq!(mpich(Bcast, 64, 12 * K - 1), "binomial");
        assert_eq!(mpich(Bcast, 7, M), "binomial");
        assert_eq!(mpich(Bcast, 64, 12 * K), "scatter-doubling");
        assert_eq!(mpich(Bcast, 63, 12 * K), "scatter-ring");
        assert_eq!(mpich(Bcast, 64, 512 * K), "scatter-ring");
        assert_eq!(mpich(Allreduce, 64, 2 * K), "recursive-doubling");
        assert_eq!(mpich(Allreduce, 64, 2 * K + 1), "rabenseifner");
        assert_eq!(mpich(Reduce, 5, 2 * K + 1), "rabenseifner");
        assert_eq!(mpich(Allgather, 64, 8 * K - 1), "recursive-doubling");
        assert_eq!(mpich(Allgather, 64, 8 * K), "ring");
        assert_eq!(mpich(Allgather, 80, K - 1), "bruck");
        assert_eq!(mpich(Allgather, 80, K), "ring");
        assert_eq!(mpich(Alltoall, 8, 256), "bruck");
        assert_eq!(mpich(Alltoall, 7, 256), "linear-sync");
        assert_eq!(mpich(Alltoall, 8, 32 * K + 1), "pairwise-xor");
        assert_eq!(mpich(ReduceScatterBlock, 8, 64 * K), "pairwise");
    }

    #[test]
    fn smpi_decides_by_whether_a_call_waits() {
        let smpi = |kind, size, bytes| chosen("smpi", kind, size, bytes);
        let at_once = |kind| {
            let task = Task { blocking: false, ..task(kind, 16, M) };
            find(TABLES, "smpi").unwrap().choose(&task).algorithm.about.name
        };
        assert_eq!((smpi(Bcast, 16, M), at_once(Bcast)), ("binomial-serial", "linear"));
        assert_eq!((smpi(Allreduce, 16, M), at_once(Allreduce)), ("linear-bcast", "direct"));
        assert_eq!((smpi(ReduceScatter, 16, 8), at_once(ReduceScatter)), ("linear", "direct"));
        assert_eq!((smpi(Scan, 16, M), at_once(Scan)), ("direct", "direct"));
        assert_eq!((smpi(Alltoall, 16, 511), smpi(Alltoall, 16, 512)), ("bruck", "linear"));
        assert_eq!((smpi(Alltoall, 4, M - 1), smpi(Alltoall, 4, M)), ("pairwise-xor", "linear"));
        assert_eq!((smpi(Alltoall, 15, 4), smpi(Alltoall, 64, 256 * K)), ("linear", "pairwise-xor"));
    }

    #[test]
    fn open_mpi_decides_as_published() {
        let openmpi = |kind, size, bytes| chosen("openmpi", kind, size, bytes);
        assert_eq!(openmpi(Allreduce, 15, 8 * K - 1), "recursive-doubling");
        assert_eq!(openmpi(Allreduce, 15, 8 * K), "rabenseifner");
        assert_eq!(openmpi(Allreduce, 31, 63), "segmented-ring");
        assert_eq!(openmpi(Allreduce, 100, 256 * K - 1), "recursive-doubling");
        assert_eq!(openmpi(Allreduce, 200, 128 * K - 1), "reduce-bcast");
        assert_eq!(openmpi(Allreduce, 1024, 2 * K - 1), "reduce-bcast");
        assert_eq!(openmpi(Bcast, 20, M), "scatter-doubling");
        assert_eq!(openmpi(Bcast, 20, M - 1), "binomial");
        assert_eq!(openmpi(Barrier, 128, 0), "dissemination");
        assert_eq!(openmpi(Alltoall, 2000, 511), "bruck");
        assert_eq!(openmpi(Allgather, 2, 100), "ring");
        assert_eq!(openmpi(Allgatherv, 100, 4 * K), "ring");
        assert_eq!(openmpi(Allgatherv, 100, 4 * K - 1), "bruck");
        assert_eq!(openmpi(ReduceScatter, 64, 8), "butterfly");
    }
}
