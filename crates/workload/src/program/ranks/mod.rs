//! Rank programs as people write them: MPI calls in a small text format, file names `*.ranks`.
//!
//! ```text
//! ranks 16
//!
//! all {                                       # every rank; blocks that name a rank follow each other
//!   repeat 10 as i {
//!     irecv 1 KiB from (rank-1) % size tag i as left
//!     isend 1 KiB to (rank+1) % size tag i
//!     compute 20 us
//!     waitall                                 # all that are open
//!     allreduce 8 B
//!   }
//! }
//!
//! rank 0-3, 7 {
//!   barrier comm world
//! }
//! ```
//!
//! `docs/rank-programs.md` is the description for users. What is read becomes a [`Script`]: blocks and loops stay as they are
//! written, so a file with a million repetitions takes no more memory than one with two. [`write()`] writes any script.
//!
//! Every rank is run once at load, as long as that takes few calls, so that a wrong rank, request or communicator is told with its line
//! before a simulation begins; whatever lies beyond is told as [`Damage`] when it is met.

mod expression;
mod lexer;
mod parse;
mod phrase;
mod run;
mod statement;
mod write;

pub use parse::read;
pub use write::{WriteError, call, write};

use super::{
    Damage,
    mpi::{Calls, CollectiveKind, Script},
};
use statement::Statement;
use std::sync::Arc;

/// A file that has been read.
#[derive(Debug)]
struct File {
    name: String,
    ranks: u32,
    blocks: Vec<Vec<Statement>>,
    chosen: Chosen,
    /// Names of requests and communicators, by number; the first communicator is the world.
    requests: Vec<String>,
    comms: Vec<String>,
    makes_communicators: bool,
    chained: bool,
}

/// Which blocks are for which ranks. Stretches of ranks take no memory by rank, since a short file may speak of millions.
#[derive(Debug, Default)]
struct Chosen {
    /// Rank and block, sorted.
    single: Vec<(u32, u32)>,
    /// Block, its first and its last rank.
    stretches: Vec<(u32, u32, u32)>,
}

impl Chosen {
    /// Longest stretch that is kept rank by rank.
    const SHORT: u32 = 64;

    fn add(&mut self, block: u32, from: u32, to: u32) {
        if to.saturating_sub(from) < Self::SHORT {
            self.single.extend((from..=to).map(|rank| (rank, block)));
        } else {
            self.stretches.push((block, from, to));
        }
    }

    /// The blocks of a rank, in their order, each once.
    fn of(&self, rank: u32) -> Vec<u32> {
        let start = self.single.partition_point(|s| s.0 < rank);
        let single = self.single[start..].iter().take_while(|s| s.0 == rank).map(|s| s.1);
        let long = self.stretches.iter().filter(|s| (s.1..=s.2).contains(&rank)).map(|s| s.0);
        let mut blocks: Vec<u32> = single.chain(long).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
}

/// A program read from a file.
#[derive(Clone, Debug)]
pub struct Ranks(Arc<File>);

impl Script for Ranks {
    fn ranks(&self) -> u32 {
        self.0.ranks
    }

    fn open(&self, rank: u32) -> Box<dyn Calls> {
        Box::new(run::Run::new(Arc::clone(&self.0), rank))
    }

    fn describe(&self, _: u32, position: u32) -> String {
        format!("{}:{position}", self.0.name)
    }

    fn makes_communicators(&self) -> bool {
        self.0.makes_communicators
    }

    fn chained(&self) -> bool {
        self.0.chained
    }
}

/// What went wrong while a rank was run, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    line: u32,
    message: String,
}

impl Fault {
    fn damage(&self, file: &File) -> Damage {
        Damage(format!("{}:{}: {}", file.name, self.line, self.message))
    }
}

/// How a collective is written, and what it takes.
struct Word {
    word: &'static str,
    kind: CollectiveKind,
    root: bool,
    size: bool,
    counts: bool,
    neighbours: bool,
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
const COLLECTIVES: &[Word] = &[
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

/// True if the counts of a collective are what a rank sends to each, followed by what it receives from each.
fn two_lists(kind: CollectiveKind) -> bool {
    matches!(kind, CollectiveKind::Alltoallv | CollectiveKind::Alltoallw)
}

#[cfg(test)]
mod tests;
