//! What an archive holds that no call of its ranks tells: noted as it is met, so that a run says so.

use crate::program::mpi;
use otf2::Archive;
use std::sync::atomic::{AtomicU64, Ordering};

/// Record types of what matters to communication and time, and whether messages are missing for them. Others say how a program was built and measured.
const NOT_SIMULATED: [(std::ops::RangeInclusive<u8>, &str, bool); 3] = [
    (11..=11, "the recording was switched off and on: what happened meanwhile is missing", false),
    (
        35..=45,
        "some synchronisation of windows is none of MPI's, or on communicators that are not read, and is not simulated",
        true,
    ),
    (46..=52, "one-sided transfers (puts, gets, atomics) outside of MPI's epochs are not simulated", true),
];

/// Bit of collectives on communicators that are not read.
const FOREIGN: u64 = 1 << 63;

/// Kinds of things that were met, a bit each. Ranks are read by several threads, and more than once.
#[derive(Debug, Default)]
pub(super) struct Dropped(AtomicU64);

impl Dropped {
    /// A record that becomes no call.
    #[inline]
    pub(super) fn met(&self, record: u8) {
        if let Some(kind) = NOT_SIMULATED.iter().position(|(records, ..)| records.contains(&record)) {
            self.0.fetch_or(1 << kind, Ordering::Relaxed);
        }
    }

    /// A collective of a communicator that is not one of MPI's ranks: between groups, for example.
    #[cold]
    pub(super) fn foreign_collective(&self) {
        self.0.fetch_or(FOREIGN, Ordering::Relaxed);
    }

    /// What was met, a bit each.
    pub(super) fn noted(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Adds what was met by somebody who read other ranks.
    pub(super) fn note(&self, met: u64) {
        self.0.fetch_or(met, Ordering::Relaxed);
    }

    /// In words; locations that are not ranks' are added.
    pub(super) fn lines(&self, archive: &Archive, ranks: &[u64]) -> Vec<mpi::Dropped> {
        let met = self.0.load(Ordering::Relaxed);
        let kinds = NOT_SIMULATED.iter().enumerate().filter(|(kind, _)| met >> kind & 1 == 1);
        let line = |text: String, messages| mpi::Dropped { text, messages };
        let mut lines: Vec<mpi::Dropped> =
            kinds.map(|(_, (_, what, messages))| line((*what).to_owned(), *messages)).collect();
        if met & FOREIGN != 0 {
            let text = "collectives of communicators that are not defined over ranks are left out";
            lines.push(line(text.to_owned(), true));
        }
        let locations = &archive.definitions.locations;
        let others = locations.iter().filter(|(number, l)| l.events > 0 && !ranks.contains(number)).count();
        if others > 0 {
            let text =
                format!("events of {others} locations that are no ranks, such as threads, are not read");
            lines.push(line(text, false));
        }
        lines
    }
}
