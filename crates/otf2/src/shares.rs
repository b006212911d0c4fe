//! Where time goes: exclusive time in MPI and outside of it, summed over the ranks.

use crate::{Archive, EventKind, Result, paradigm};

/// Times in ticks, summed over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// From each rank's first to its last event.
    pub total: u128,
    /// Within MPI functions.
    pub mpi: u128,
    /// From the first to the last event of all.
    pub run: u64,
    /// Number of events.
    pub events: u64,
}

/// Adds up the times of the ranks (of all locations if no group of MPI ranks is defined).
///
/// # Errors
/// If events cannot be read.
pub fn shares(archive: &Archive) -> Result<Shares> {
    let known = archive.definitions.ranks();
    let all: Vec<u64> = if known.is_empty() {
        archive.definitions.locations.keys().copied().collect()
    } else {
        known.to_vec()
    };
    let is_mpi =
        |region: u32| archive.definitions.regions.get(&region).is_some_and(|r| r.paradigm == paradigm::MPI);
    let (mut sum, mut first_of_all, mut last_of_all) = (Shares::default(), u64::MAX, 0);
    for location in all {
        let (mut first, mut last, mut entered, mut depth) = (None, 0, 0, 0u32);
        for event in archive.events(location)? {
            let event = event?;
            sum.events += 1;
            first.get_or_insert(event.time);
            last = event.time;
            match event.kind {
                EventKind::Enter { region } if is_mpi(region) => {
                    if depth == 0 {
                        entered = event.time;
                    }
                    depth += 1;
                }
                EventKind::Leave { region } if is_mpi(region) && depth > 0 => {
                    depth -= 1;
                    if depth == 0 {
                        sum.mpi += u128::from(event.time.saturating_sub(entered));
                    }
                }
                _ => {}
            }
        }
        if let Some(first) = first {
            sum.total += u128::from(last.saturating_sub(first));
            first_of_all = first_of_all.min(first);
            last_of_all = last_of_all.max(last);
        }
    }
    sum.run = last_of_all.saturating_sub(first_of_all);
    Ok(sum)
}
