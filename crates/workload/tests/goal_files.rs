//! GOAL files that other tools wrote. They are not part of this repository: `NETLOOM_DATA` names the directory that holds
//! `traces/`, by default `../shared/data` beside it. Without them these tests say so and pass.

use base::{index::RankId, time::NS};
use std::{
    io::Write,
    path::{Path, PathBuf},
};
use workload::program::{ANY_TAG, Batch, Kind, Program, goal, graph::Graph, input::Input};

fn foreign(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("NETLOOM_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let path = data.join("traces").join(name);
    if path.exists() {
        return Some(path);
    }
    // Written past the test harness, which would hide it.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {} does not exist; set NETLOOM_DATA", path.display());
    None
}

fn read(path: &Path) -> Graph {
    goal::read_text(&Input::file(path), NS).unwrap_or_else(|problems| panic!("{problems:?}"))
}

#[test]
fn a_binomial_tree_of_32_ranks() {
    let Some(path) = foreign("loggopsim-binary_tree_32.goal.gz") else { return };
    let graph = read(&path);
    assert_eq!((graph.ranks(), graph.cpus(), graph.nics()), (32, 1, 1));
    let (mut sends, mut depth) = (0, vec![0u32; 32]);
    for rank in 0..32u32 {
        let mut batch = Batch::default();
        graph.open(RankId::new(rank)).fill(&mut batch).expect("it is in memory");
        for op in &batch.ops {
            match op.kind {
                Kind::Send => {
                    sends += 1;
                    assert_eq!(op.peer.number() & rank, rank, "a child has one bit more");
                    assert_eq!((op.peer.number() ^ rank).count_ones(), 1);
                    depth[op.peer.index()] = depth[rank as usize] + 1;
                }
                kind => assert_eq!(kind, Kind::Recv),
            }
            assert_eq!((op.amount, op.tag), (1, 0));
        }
        assert_eq!(batch.edges.len(), batch.ops.len().saturating_sub(1) * usize::from(rank > 0));
    }
    assert_eq!(sends, 31);
    for (rank, depth) in depth.iter().enumerate() {
        assert_eq!(*depth, rank.count_ones());
    }
}

#[test]
fn sweep3d_on_four_ranks() {
    let Some(path) = foreign("sweep3d-2x2-schedgen.goal.gz") else { return };
    let graph = read(&path);
    assert_eq!(graph.ranks(), 4);
    let mut balance = [[0i64; 4]; 4];
    let mut bytes = [0u64; 2];
    for id in (0..4).map(RankId::new) {
        for op in &graph.part(id).ops {
            let (rank, peer) = (id.index(), op.peer.index());
            match op.kind {
                Kind::Send => {
                    (balance[rank][peer], bytes[0]) = (balance[rank][peer] + 1, bytes[0] + op.amount)
                }
                Kind::Recv => {
                    (balance[peer][rank], bytes[1]) = (balance[peer][rank] - 1, bytes[1] + op.amount)
                }
                _ => {}
            }
            assert_ne!(op.tag, ANY_TAG);
        }
    }
    assert_eq!(balance, [[0; 4]; 4], "each message is sent and received");
    assert_eq!(bytes[0], bytes[1]);
    let operations = graph.total().expect("it is in memory");
    assert!(graph.bytes() as u64 <= 60 * operations, "{} bytes for {operations} operations", graph.bytes());
}
