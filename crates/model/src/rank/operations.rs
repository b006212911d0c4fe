//! The table of operations that ranks finished, for models whose ranks live on terminals.

use crate::setup::JobSetup;
use base::time::Ps;
use results::{
    table::{Cell, Table},
    timeline,
};
use serde::{Deserialize, Serialize};
use workload::program::Kind;

/// An operation that a rank finished, for tables on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Done {
    /// Terminal of the rank.
    pub terminal: u32,
    /// Its number in the rank.
    pub number: u32,
    /// When it became executable.
    pub start: Ps,
    /// When it was finished.
    pub end: Ps,
    /// Bytes of its message; 0 if it has none.
    pub bytes: u64,
    /// What it is.
    pub kind: Kind,
}

/// One row per operation, by job, rank and number; `place` gives job and rank of each terminal. An operation starts when nothing keeps it
/// from being taken up.
#[must_use]
pub fn table(done: &[Done], jobs: &[JobSetup], place: &[(u32, u32)]) -> Table {
    let mut done = done.to_vec();
    done.sort_unstable_by_key(|d| (place[d.terminal as usize], d.number));
    let mut table = timeline::operations();
    for d in &done {
        let (job, rank) = place[d.terminal as usize];
        let name = match d.kind {
            Kind::Send => "send",
            Kind::Recv => "recv",
            Kind::Calc => "calc",
            Kind::Join | Kind::JoinAny => "join",
            Kind::Probe => "probe",
        };
        table.push(&[
            Cell::Text(&jobs[job as usize].name),
            Cell::U32(rank),
            Cell::U32(d.number),
            Cell::Text(name),
            Cell::U64(d.start),
            Cell::U64(d.end),
            Cell::U64(d.bytes),
        ]);
    }
    table
}
