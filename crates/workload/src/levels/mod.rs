//! Patterns with levels: who sends to whom in the steps of a collective, without times (ORCS, TR-675, section 2.4).
//!
//! A level is a list of (sender, receiver) pairs that send at once; levels follow each other. A pattern is a pure function of
//! (ranks, level, draw). Where the paper and its program (ORCS 2.0) differ, both are here: see [`LevelPattern`].

mod neighbour;
mod pattern;
mod receivers;
#[cfg(test)]
mod tests;
pub mod workload;

pub use pattern::*;
pub use receivers::Receivers;

use base::index::RankId;

/// A message: sender and receiver.
pub type Pair = (RankId, RankId);

/// A message by the plain numbers that formulas give.
fn pair((from, to): (u32, u32)) -> Pair {
    (RankId::new(from), RankId::new(to))
}
