//! One-sided calls of a rank's records, and the numbers that the trace gives windows.

use super::{comms::Comms, record::Record};
use crate::program::{
    mpi::{CommRank, OneSided, PROC_NULL, TransferKind, Window},
    traces::calls::Found,
};
use base::sorted::SortedMap;
use std::sync::Arc;

/// How DUMPI writes an exclusive lock.
const EXCLUSIVE: i64 = 2;

/// What becomes of a record.
pub(super) enum Made {
    /// It is no call on a window.
    Other,
    /// Nothing happens for it.
    Nothing,
    /// A call on a window, or with a communicator, whose making was not seen.
    Foreign,
    Call(OneSided),
}

/// Windows of a rank: by their numbers in the trace, those that calls have and the trace's communicators.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: SortedMap<i64, (Window, i64)>,
    made: Window,
}

impl Windows {
    /// What a record says. `size` are the bytes of so many elements of a type.
    pub(super) fn record(
        &mut self,
        r: &Record,
        comms: &mut Comms,
        size: impl Fn(i64, i64) -> Result<u64, String>,
    ) -> Result<Made, String> {
        let n = &r.numbers;
        let handle = match r.name {
            "Win_create" => return Ok(self.create(n[3], n[4], comms)),
            "Accumulate" => n[7],
            "Put" | "Get" => n[6],
            "Win_lock" => n[3],
            "Win_post" | "Win_start" => n[2],
            "Win_fence" | "Win_unlock" => n[1],
            "Win_free" | "Win_complete" | "Win_wait" | "Win_test" | "Win_get_group" => n[0],
            _ => return Ok(Made::Other),
        };
        let Some(&(window, comm)) = self.open.get(&handle) else { return Ok(Made::Foreign) };
        let transfer = |kind| -> Result<OneSided, String> {
            let bytes = size(n[0], n[1])?;
            Ok(OneSided::Transfer { window, kind, peer: target(n[2]), bytes, request: None })
        };
        if r.name == "Win_get_group" {
            comms.group_of(comm, n[1]);
            return Ok(Made::Nothing);
        }
        let group = |handle: i64| -> Result<Arc<[CommRank]>, String> {
            comms.group_on(handle, comm).ok_or_else(|| {
                format!("the ranks of the group of MPI_{} cannot be known: it is not made of the window's communicator", r.name)
            })
        };
        Ok(Made::Call(match r.name {
            "Put" => transfer(TransferKind::Put)?,
            "Get" => transfer(TransferKind::Get)?,
            "Accumulate" => transfer(TransferKind::Accumulate)?,
            "Win_fence" => OneSided::Fence(window),
            "Win_post" => OneSided::Post(window, group(n[0])?),
            "Win_start" => OneSided::Start(window, group(n[0])?),
            "Win_complete" => OneSided::Complete(window),
            "Win_test" if n[1] == 0 => return Ok(Made::Nothing),
            "Win_wait" | "Win_test" => OneSided::Wait(window),
            "Win_lock" => OneSided::Lock { window, peer: target(n[1]), exclusive: n[0] == EXCLUSIVE },
            "Win_unlock" => OneSided::Unlock(window, target(n[0])),
            _ => {
                self.open.remove(&handle);
                OneSided::Free(window)
            }
        }))
    }

    fn create(&mut self, comm: i64, handle: i64, comms: &Comms) -> Made {
        let Found::Made(number) = comms.find(comm) else { return Made::Foreign };
        let new = self.made;
        self.made += 1;
        self.open.insert(handle, (new, comm));
        Made::Call(OneSided::Create { comm: number, new })
    }
}

/// Nobody has whatever negative number MPI's library gave it.
fn target(rank: i64) -> CommRank {
    u32::try_from(rank).map_or(PROC_NULL, CommRank::new)
}
