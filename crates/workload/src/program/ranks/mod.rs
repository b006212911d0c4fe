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
//! `missing N NAME` outside of blocks says what a recorder could not write.
//!
//! `docs/rank-programs.md` is the description for users. What is read becomes a [`Script`]: blocks and loops stay as they are
//! written, so a file with a million repetitions takes no more memory than one with two. [`write()`] writes any script.
//!
//! Every rank is run once at load, as long as that takes few calls, so that a wrong rank, request or communicator is reported with its line
//! before a simulation begins; whatever lies beyond is reported as [`Damage`] when it is met.

mod expression;
mod file;
mod fold;
mod lexer;
mod one_sided;
mod parse;
mod phrase;
mod run;
mod statement;
mod words;
mod write;

pub use parse::read;
pub(crate) use words::{collective_name, one_sided_name};
pub use write::{WriteError, call, write};

#[cfg(doc)]
use super::Damage;
use super::mpi::{Calls, Dropped, Script};
use base::index::RankId;
use file::File;
use statement::Statement;
use std::sync::Arc;

/// A program read from a file.
#[derive(Clone, Debug)]
pub struct Ranks(Arc<File>);

impl Script for Ranks {
    fn ranks(&self) -> u32 {
        self.0.ranks
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(run::Run::new(Arc::clone(&self.0), rank, false))
    }

    fn open_marked(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(run::Run::new(Arc::clone(&self.0), rank, true))
    }

    fn marks(&self) -> bool {
        self.0.marks
    }

    fn has_loops(&self) -> bool {
        let repeats = |statement: &Statement| matches!(statement, Statement::Repeat { .. });
        self.0.blocks.iter().flatten().any(repeats)
    }

    fn describe(&self, _: RankId, position: u32) -> String {
        format!("{}:{position}", self.0.name)
    }

    fn makes_communicators(&self) -> bool {
        self.0.makes_communicators
    }

    fn chained(&self) -> bool {
        self.0.chained
    }

    fn dropped(&self) -> Vec<Dropped> {
        let text = |(name, n): &(String, u64)| format!("{n} calls of {name} were not recorded");
        self.0.missing.iter().map(|missing| Dropped { text: text(missing), messages: true }).collect()
    }
}

#[cfg(test)]
mod tests;
