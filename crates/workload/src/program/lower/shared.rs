//! What all ranks of a program made of calls have in common.

use super::{agreement::Agreement, comms::Communicators, windows::Windows};
use crate::program::{
    collective::{Chooser, TABLES},
    mpi::Script,
};
use std::sync::Arc;

/// How calls become operations.
#[derive(Clone, Debug)]
pub struct Options {
    /// The algorithms of collectives.
    pub chooser: Chooser,
    /// Picoseconds that combining one received byte costs in reductions; 0 is free.
    pub reduce_ps_per_byte: u64,
}

impl Default for Options {
    /// As Open MPI chooses; combining is free.
    fn default() -> Self {
        let table = TABLES.iter().find(|t| t.about.name == "openmpi").unwrap_or(&TABLES[0]);
        Self { chooser: Chooser::new(table), reduce_ps_per_byte: 0 }
    }
}

/// What all cursors of a program need.
pub(super) struct Shared {
    pub(super) script: Arc<dyn Script>,
    pub(super) options: Options,
    pub(super) comms: Communicators,
    /// What ranks do for the one-sided calls of others.
    pub(super) windows: Windows,
    /// Whether ranks agree on their collectives.
    pub(super) agreement: Agreement,
}
