//! Traces of MPI programs that other simulators' tools write: what they have in common, and a reader for each.
//!
//! A trace is one file per rank, or one for all (`files`); its ranks are read side by side, each through a small buffer, and a file is
//! open only while a piece of it is read. What a reader cannot use is counted (`notes`), so that a run says so.
//!
//! These readers yield MPI's calls ([`super::mpi::Script`]) and are called by [`super::file`], so they stand here and not in a crate of their own:
//! above this one they could not be among its formats, and below it they would not know what a call is.

pub(super) mod allprof;
mod calls;
pub(super) mod chakra;
pub(super) mod dumpi;
mod files;
mod notes;
mod requests;
mod siblings;
pub(super) mod ti;
mod words;

pub(super) use files::{Listed, listed};
pub(super) use siblings::siblings;
pub use ti::Writer as TiWriter;
pub use words::Scale;
