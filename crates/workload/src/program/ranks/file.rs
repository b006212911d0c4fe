//! A file of rank programs after reading: blocks, who runs them, and what can go wrong while one runs.

use super::statement::Statement;
use crate::program::Damage;

use base::index::RankId;
/// A file that has been read.
#[derive(Debug)]
pub(super) struct File {
    pub(super) name: String,
    pub(super) ranks: u32,
    pub(super) blocks: Vec<Vec<Statement>>,
    pub(super) chosen: Chosen,
    /// Names of requests and communicators, by number; the first communicator is the world.
    pub(super) requests: Vec<String>,
    pub(super) comms: Vec<String>,
    /// Names of windows, by number.
    pub(super) windows: Vec<String>,
    /// Calls that a recorder met and could not write, by their names, and how often.
    pub(super) missing: Vec<(String, u64)>,
    pub(super) makes_communicators: bool,
    /// Something is marked.
    pub(super) marks: bool,
    pub(super) chained: bool,
}

/// Which blocks are for which ranks. Stretches of ranks take no memory by rank, since a short file may speak of millions.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// Rank and block, sorted.
    pub(super) single: Vec<(RankId, u32)>,
    /// Block, its first and its last rank.
    stretches: Vec<(u32, RankId, RankId)>,
}

impl Chosen {
    /// Longest stretch that is kept rank by rank.
    const SHORT: u32 = 64;

    pub(super) fn add(&mut self, block: u32, from: RankId, to: RankId) {
        if to.number().saturating_sub(from.number()) < Self::SHORT {
            let all = (from.number()..=to.number()).map(RankId::new);
            self.single.extend(all.map(|rank| (rank, block)));
        } else {
            self.stretches.push((block, from, to));
        }
    }

    /// The blocks of a rank, in their order, each once.
    pub(super) fn of(&self, rank: RankId) -> Vec<u32> {
        let start = self.single.partition_point(|s| s.0 < rank);
        let single = self.single[start..].iter().take_while(|s| s.0 == rank).map(|s| s.1);
        let long = self.stretches.iter().filter(|s| (s.1..=s.2).contains(&rank)).map(|s| s.0);
        let mut blocks: Vec<u32> = single.chain(long).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
}

/// What went wrong while a rank was run, and on which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: u32,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn damage(&self, file: &File) -> Damage {
        Damage(format!("{}:{}: {}", file.name, self.line, self.message))
    }
}
