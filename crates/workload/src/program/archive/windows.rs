//! Windows of an archive: its records of one-sided communication become the calls of MPI that they came of.
//!
//! Most records say what was done and not which call did it, so the function that the rank is in decides: a synchronisation of a group is a post, a
//! start, a complete or a wait. Transfers outside of the epochs that MPI knows (of SHMEM, for example) are not used, and are noted.

use super::members::Group;
use crate::program::mpi::{CommRank, OneSided, TransferKind, WORLD, Window};
use base::sorted::{SortedMap, SortedSet};
use otf2::{Archive, EventKind};

/// Record types that stand for what is not used, as [`super::dropped::Dropped`] counts them.
const SYNCHRONISATION: u8 = 44;
const TRANSFER: u8 = 46;

/// OTF2's number of a lock that excludes others.
const EXCLUSIVE: u8 = 0;
/// OTF2's numbers of collectives that make or give back windows.
const HANDLES: std::ops::RangeInclusive<u8> = 17..=22;
/// OTF2's numbers of atomic operations that fetch, as MPI has them.
const COMPARE_AND_SWAP: u8 = 3;

/// What becomes of a record.
pub(super) enum Found {
    Call(OneSided),
    /// Nothing, as it stands for no call of its own.
    Nothing,
    /// Nothing, and it should: a record type that is noted.
    Unused(u8),
}

/// What is open on a window.
#[derive(Debug, Default)]
struct Open {
    fenced: bool,
    started: bool,
    locks: SortedSet<u32>,
    all: bool,
}

/// The windows of a rank.
#[derive(Debug, Default)]
pub(super) struct Windows {
    open: SortedMap<Window, Open>,
    /// Targets of transfers by window and number.
    targets: SortedMap<(Window, u64), u32>,
    /// Windows on which the function in hand has made its call.
    said: SortedSet<Window>,
}

/// The ranks of a window, if its communicator is one of several ranks.
fn group<'a>(archive: &Archive, groups: &'a SortedMap<u32, Group>, window: u32) -> Option<&'a Group> {
    let comm = archive.definitions.windows.get(&window)?.comm;
    groups.get(&comm).filter(|group| !matches!(group, Group::Alone))
}

/// Windows that are there from the start, on whose communicators this rank is.
pub(super) fn from_the_start(
    archive: &Archive,
    groups: &SortedMap<u32, Group>,
    rank: CommRank,
) -> Vec<OneSided> {
    let there = archive.definitions.windows.iter().filter(|(_, window)| !window.made);
    let create = |(&new, _): (&u32, _)| match group(archive, groups, new)? {
        Group::Some(comm, members) => {
            members.contains(&rank).then_some(OneSided::Create { comm: *comm, new })
        }
        _ => Some(OneSided::Create { comm: WORLD, new }),
    };
    there.filter_map(create).collect()
}

impl Windows {
    /// A function of MPI is entered: what is said once is said anew.
    pub(super) fn entered(&mut self) {
        self.said.clear();
    }

    /// A window is there from the start.
    pub(super) fn there(&mut self, window: Window) {
        self.open.insert(window, Open::default());
    }

    /// What a record says that stands in a function of this name.
    pub(super) fn record(
        &mut self,
        kind: EventKind,
        function: &str,
        archive: &Archive,
        groups: &SortedMap<u32, Group>,
    ) -> Found {
        match kind {
            EventKind::RmaWinCreate { win } => {
                let comm = match group(archive, groups, win) {
                    Some(Group::Some(comm, _)) => *comm,
                    Some(_) => WORLD,
                    None => return Found::Unused(SYNCHRONISATION),
                };
                if self.open.insert(win, Open::default()).is_some() {
                    return Found::Nothing;
                }
                Found::Call(OneSided::Create { comm, new: win })
            }
            EventKind::RmaWinDestroy { win } => match self.open.remove(&win) {
                Some(_) => Found::Call(OneSided::Free(win)),
                None => Found::Unused(SYNCHRONISATION),
            },
            EventKind::RmaCollectiveEnd { operation, .. } if HANDLES.contains(&operation) => Found::Nothing,
            EventKind::RmaCollectiveEnd { win, .. } => match self.open.get_mut(&win) {
                Some(open) if function == "MPI_Win_fence" => {
                    open.fenced = true;
                    Found::Call(OneSided::Fence(win))
                }
                _ => Found::Unused(SYNCHRONISATION),
            },
            EventKind::RmaGroupSync { win, group: ranks, .. } => {
                let synchronised = self.group_sync(win, ranks, function, archive, groups);
                synchronised.map_or(Found::Unused(SYNCHRONISATION), Found::Call)
            }
            EventKind::RmaRequestLock { win, remote, kind, .. }
            | EventKind::RmaAcquireLock { win, remote, kind, .. } => self.lock(win, remote, kind, function),
            EventKind::RmaReleaseLock { win, remote, .. } => self.unlock(win, remote, function),
            EventKind::RmaPut { win, remote, bytes, id } => {
                self.transfer(win, remote, TransferKind::Put, bytes, id)
            }
            EventKind::RmaGet { win, remote, bytes, id } => {
                self.transfer(win, remote, TransferKind::Get, bytes, id)
            }
            EventKind::RmaAtomic { win, remote, kind, sent, received, id } => {
                let (kind, bytes) = match (kind, received) {
                    (COMPARE_AND_SWAP, 1..) => (TransferKind::CompareAndSwap, received),
                    (_, 0) => (TransferKind::Accumulate, sent),
                    _ => (TransferKind::GetAccumulate, sent.max(received)),
                };
                self.transfer(win, remote, kind, bytes, id)
            }
            EventKind::RmaCompleteBlocking { win, id }
            | EventKind::RmaCompleteNonBlocking { win, id }
            | EventKind::RmaCompleteRemote { win, id } => self.complete(win, id, function),
            // One's own memory, and what only looks.
            EventKind::RmaSync { kind: 0, .. }
            | EventKind::RmaTest { .. }
            | EventKind::RmaCollectiveBegin => Found::Nothing,
            _ => Found::Unused(SYNCHRONISATION),
        }
    }

    fn group_sync(
        &mut self,
        window: Window,
        ranks: u32,
        function: &str,
        archive: &Archive,
        groups: &SortedMap<u32, Group>,
    ) -> Option<OneSided> {
        let open = self.open.get_mut(&window)?;
        let ranks = &archive.definitions.groups.get(&ranks)?.members;
        // Members are ranks of the world; a call names them as the window counts.
        let place = |&rank: &u64| {
            let rank = CommRank::new(u32::try_from(rank).ok()?);
            match group(archive, groups, window)? {
                Group::Some(_, members) => members.iter().position(|&m| m == rank).map(CommRank::from_index),
                _ => Some(rank),
            }
        };
        let ranks = ranks.iter().map(place).collect::<Option<_>>();
        Some(match function {
            "MPI_Win_post" => OneSided::Post(window, ranks?),
            "MPI_Win_start" => {
                open.started = true;
                OneSided::Start(window, ranks?)
            }
            "MPI_Win_complete" => {
                open.started = false;
                OneSided::Complete(window)
            }
            "MPI_Win_wait" | "MPI_Win_test" => OneSided::Wait(window),
            _ => return None,
        })
    }

    fn lock(&mut self, window: Window, remote: u32, kind: u8, function: &str) -> Found {
        let Some(open) = self.open.get_mut(&window) else { return Found::Unused(SYNCHRONISATION) };
        match function {
            _ if open.all || open.locks.contains(&remote) => Found::Nothing,
            "MPI_Win_lock_all" => {
                open.all = true;
                Found::Call(OneSided::LockAll(window))
            }
            _ => {
                open.locks.insert(remote);
                let peer = CommRank::new(remote);
                Found::Call(OneSided::Lock { window, peer, exclusive: kind == EXCLUSIVE })
            }
        }
    }

    fn unlock(&mut self, window: Window, remote: u32, function: &str) -> Found {
        let Some(open) = self.open.get_mut(&window) else { return Found::Unused(SYNCHRONISATION) };
        if function == "MPI_Win_unlock_all" {
            // A record for each rank stands for one call.
            return if std::mem::take(&mut open.all) {
                Found::Call(OneSided::UnlockAll(window))
            } else {
                Found::Nothing
            };
        }
        if open.locks.remove(&remote) {
            Found::Call(OneSided::Unlock(window, CommRank::new(remote)))
        } else {
            Found::Unused(SYNCHRONISATION)
        }
    }

    fn transfer(&mut self, window: Window, remote: u32, kind: TransferKind, bytes: u64, id: u64) -> Found {
        let within = |open: &&Open| open.fenced || open.started || open.all || open.locks.contains(&remote);
        if self.open.get(&window).filter(within).is_none() {
            return Found::Unused(TRANSFER);
        }
        if kind != TransferKind::Put {
            self.targets.insert((window, id), remote);
        }
        let peer = CommRank::new(remote);
        Found::Call(OneSided::Transfer { window, kind, peer, bytes, request: None })
    }

    /// A transfer has ended: in a flush, that is one; in a wait for a request, its answer is here.
    fn complete(&mut self, window: Window, id: u64, function: &str) -> Found {
        let remote = self.targets.remove(&(window, id));
        let Some(open) = self.open.get(&window) else { return Found::Nothing };
        let flush = function.strip_prefix("MPI_Win_flush");
        let waits = ["MPI_Wait", "MPI_Test"].iter().any(|wait| function.starts_with(wait));
        let held = |remote: &u32| open.all || open.locks.contains(remote);
        let peer = match flush {
            Some(kind) if kind.ends_with("_all") => None,
            Some(_) if open.locks.len() == 1 && !open.all => open.locks.first().copied(),
            _ => match remote.filter(held) {
                Some(remote) => Some(remote),
                None => return Found::Nothing,
            },
        };
        let first = waits || (flush.is_some() && self.said.insert(window));
        if !first {
            return Found::Nothing;
        }
        let local = waits || flush.is_some_and(|kind| kind.starts_with("_local"));
        Found::Call(OneSided::Flush { window, peer: peer.map(CommRank::new), local })
    }
}
