//! From MPI calls to operations.
//!
//! Each rank's [`Cursor`] reads calls and appends operations, some dozens at a time. The calls of a rank make one *chain*:
//!
//! | call | operations | the chain goes on when |
//! | --- | --- | --- |
//! | compute | a computation | it has finished |
//! | send, receive, probe | one of that kind | it has finished |
//! | isend, irecv, start | one each | it has started: posting order is kept |
//! | sendrecv | the receive, then the send | both have finished |
//! | wait, waitall, test | a join after the requests' operations | it has finished |
//! | waitany, waitsome | a join after the requests seen complete; if the source does not say, after any one | it has finished |
//! | collective | the transfers of its rounds ([`super::collective`]) | all have finished |
//! | non-blocking collective | the same beside the chain, ended by a join for its request; a join in the chain | at once |
//! | one-sided | messages to targets, who serve them beside their chains (`WINDOWS.md`) | as there |
//! | making a communicator | an allreduce (dup, create) or allgather (split) of 8 bytes | all have finished |
//! | defining one that is there already | none | at once |
//!
//! A blocking collective appears round by round. A non-blocking one appears as a whole, so that it goes on whatever the chain waits for.
//!
//! **Matching.** Communicator c has the context 2c for messages and 2c + 1 for collectives, whose tag is the number of the call on
//! the communicator: transfers of different calls never meet. Communicators are numbered by reading all ranks' calls once
//! beforehand, unless the script says that none is made.
//!
//! Ranks that call different collectives on a communicator are found when they have come to their ends (`agreement.rs`).
//!
//! **Mistakes** of a source are reported with the call's position: waiting for a request that there is not, using a request again that is not
//! complete, ranks and roots out of range, unknown communicators, calls of which some ranks miss.
//! Requests still open when a rank ends are no mistake: the job ends when their transfers do.

mod agreement;
mod chain;
pub(in crate::program) mod comms;
mod cursor;
mod defined;
pub mod graph;
mod handles;
mod mismatch;
mod shared;
#[cfg(test)]
pub(in crate::program) mod tests;
mod windows;

pub use shared::Options;

use super::{
    Cursor, Damage, Program, Remark,
    mpi::{CollectiveKind, Counted, Script},
};
use agreement::{Agreement, MAKERS};
use base::{index::RankId, param::Unread};
use shared::Shared;
use std::sync::Arc;

/// Makes a program of a script.
///
/// # Errors
/// If the communicators that its ranks make do not fit together.
pub fn lower(script: Arc<dyn Script>, options: Options) -> Result<Arc<dyn Program>, Damage> {
    let comms = comms::resolve(script.as_ref())?;
    let windows = windows::resolve(script.as_ref(), &comms)?;
    let kinds = CollectiveKind::ALL.map(CollectiveKind::name);
    let collectives = kinds.into_iter().chain(MAKERS).map(str::to_owned).collect();
    Ok(Arc::new(Lowered {
        shared: Arc::new(Shared { script, options, comms, windows, agreement: Agreement::default() }),
        collectives,
    }))
}

struct Lowered {
    shared: Arc<Shared>,
    collectives: Vec<String>,
}

impl Program for Lowered {
    fn ranks(&self) -> u32 {
        self.shared.script.ranks()
    }

    fn open(&self, rank: RankId) -> Box<dyn Cursor> {
        Box::new(cursor::Lowering::new(&self.shared, rank, self.shared.script.open(rank)))
    }

    fn open_noted(&self, rank: RankId) -> Box<dyn Cursor> {
        Box::new(cursor::Lowering::new(&self.shared, rank, self.shared.script.open_marked(rank)))
    }

    fn describe(&self, rank: RankId, origin: u32) -> String {
        self.shared.script.describe(rank, origin)
    }

    fn collectives(&self) -> &[String] {
        &self.collectives
    }

    fn unread(&self) -> Vec<Unread> {
        self.shared.script.unread()
    }

    fn chained(&self) -> bool {
        self.shared.script.chained()
    }

    fn sent(&self, rank: RankId, most: u64) -> Option<Counted> {
        self.shared.script.sent(rank, most)
    }

    fn noted(&self) -> Vec<u64> {
        self.shared.agreement.noted_behind(self.shared.script.noted())
    }

    fn note(&self, noted: &[u64]) {
        self.shared.script.note(self.shared.agreement.note_behind(noted));
    }

    fn remarks(&self) -> Vec<Remark> {
        let dropped = self.shared.script.dropped().into_iter();
        let mismatch = mismatch::found(&self.shared);
        dropped.map(Remark::dropped).chain(mismatch.map(Remark::mismatch)).collect()
    }
}
