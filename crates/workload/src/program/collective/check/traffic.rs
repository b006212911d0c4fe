//! How many messages and bytes algorithms send: closed forms, and calls without data.

use super::*;

#[test]
fn calls_without_data_have_their_messages_if_the_library_sends_them() {
    for (kind, name, messages) in [
        (Bcast, "linear", 8),
        (Reduce, "binomial", 8),
        (Gatherv, "linear", 8),
        (Scatterv, "linear", 8),
        (Alltoallv, "linear", 72),
        (Allgatherv, "ring", 72),
        (ReduceScatter, "pairwise", 72),
    ] {
        let mut tasks = tasks(kind, 9, 0, 0, 0, 2);
        tasks.iter_mut().for_each(|task| task.sends_empty = true);
        let traffic = simulate(find(kind, name), tasks, EAGER).unwrap();
        assert_eq!(traffic, Traffic { messages, bytes: 0 }, "{name} {kind:?}");
    }
}

#[test]
fn nothing_moves_in_calls_without_data() {
    for algorithm in ALGORITHMS {
        for &kind in algorithm.kinds.iter().filter(|&&k| k != Barrier) {
            let traffic = simulate(algorithm, tasks(kind, 9, 0, 0, 0, 2), EAGER).unwrap();
            assert_eq!(traffic, Traffic::default(), "{} {kind:?}", algorithm.about.name);
        }
    }
}

#[test]
fn traffic_has_its_closed_forms() {
    let sent = |kind, name, size, bytes| {
        simulate(find(kind, name), tasks(kind, size, 0, bytes, 16, 2), EAGER).unwrap().bytes
    };
    for p in [2u32, 3, 6, 8, 16, 33] {
        let q = u64::from(p);
        let (n, b) = (96, 3);
        for name in ["linear", "binomial", "knomial", "binary", "chain"] {
            assert_eq!(sent(Bcast, name, p, n), (q - 1) * n, "{name}");
            assert_eq!(sent(Reduce, name, p, n), (q - 1) * n, "{name}");
        }
        assert_eq!(sent(Bcast, "binomial-serial", p, n), (q - 1) * n);
        assert_eq!(sent(Allreduce, "linear-bcast", p, n), 2 * (q - 1) * n);
        assert_eq!(sent(Allreduce, "direct", p, n), q * (q - 1) * n);
        assert_eq!(sent(Allgather, "direct", p, b), q * (q - 1) * b);
        assert_eq!(sent(ReduceScatterBlock, "direct", p, b), q * (q - 1) * b);
        assert_eq!(sent(Scan, "direct", p, n), q * (q - 1) / 2 * n);
        assert_eq!(sent(Allreduce, "ring", p, n), 2 * (q - 1) * n);
        assert_eq!(sent(Allreduce, "segmented-ring", p, n), 2 * (q - 1) * n);
        assert_eq!(sent(Allreduce, "reduce-bcast", p, n), 2 * (q - 1) * n);
        for name in ["ring", "bruck", "recursive-doubling", "neighbour-exchange"] {
            assert_eq!(sent(Allgather, name, p, b), q * (q - 1) * b, "{name} {p}");
        }
        for name in ["linear", "linear-sync", "pairwise", "pairwise-xor"] {
            assert_eq!(sent(Alltoall, name, p, b), q * (q - 1) * b, "{name}");
        }
        let offsets: u64 = (1..p).map(|w| u64::from(w.count_ones())).sum();
        assert_eq!(sent(Alltoall, "bruck", p, b), q * offsets * b);
        for name in ["ring", "pairwise"] {
            assert_eq!(sent(ReduceScatterBlock, name, p, b), q * (q - 1) * b, "{name}");
        }
        assert_eq!(sent(Gather, "linear", p, b), (q - 1) * b);
        assert_eq!(sent(Scan, "linear", p, n), (q - 1) * n);
        if p.is_power_of_two() {
            let log = u64::from(p.ilog2());
            assert_eq!(sent(Allreduce, "recursive-doubling", p, n), q * log * n);
            assert_eq!(sent(Allreduce, "rabenseifner", p, n), 2 * (q - 1) * n);
            assert_eq!(sent(Reduce, "rabenseifner", p, n), (q - 1) * n + log * n / 2);
            assert_eq!(sent(ReduceScatterBlock, "recursive-halving", p, b), q * (q - 1) * b);
            assert_eq!(sent(Gather, "binomial", p, b), q / 2 * log * b);
            assert_eq!(sent(Scatter, "binomial", p, b), q / 2 * log * b);
            assert_eq!(sent(Bcast, "scatter-ring", p, n), log * n / 2 + (q - 1) * n);
            assert_eq!(sent(Bcast, "scatter-doubling", p, n), log * n / 2 + (q - 1) * n);
        }
    }
}

#[test]
fn barriers_send_their_number_of_signals() {
    for p in [2u32, 3, 7, 8, 13, 64] {
        let signals =
            |name| simulate(find(Barrier, name), tasks(Barrier, p, 0, 0, 0, 2), EAGER).unwrap().messages;
        let q = u64::from(p);
        assert_eq!(signals("dissemination"), q * u64::from(p.next_power_of_two().ilog2()));
        assert_eq!(signals("linear"), 2 * (q - 1));
        assert_eq!(signals("tree"), 2 * (q - 1));
        let power = 1u64 << p.ilog2();
        assert_eq!(signals("recursive-doubling"), power * u64::from(p.ilog2()) + 2 * (q - power));
    }
}
