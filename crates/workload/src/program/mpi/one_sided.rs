//! One-sided communication: transfers to and from the memory of others, and what separates them.

use super::names::{Comm, CommRank, Request, Window};
use std::sync::Arc;

/// What a one-sided transfer does with the memory of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are MPI's")]
pub enum TransferKind {
    Put,
    Get,
    Accumulate,
    GetAccumulate,
    FetchAndOp,
    CompareAndSwap,
}

impl TransferKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] =
        [Self::Put, Self::Get, Self::Accumulate, Self::GetAccumulate, Self::FetchAndOp, Self::CompareAndSwap];

    /// MPI's name of the call.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Put => "MPI_Put",
            Self::Get => "MPI_Get",
            Self::Accumulate => "MPI_Accumulate",
            Self::GetAccumulate => "MPI_Get_accumulate",
            Self::FetchAndOp => "MPI_Fetch_and_op",
            Self::CompareAndSwap => "MPI_Compare_and_swap",
        }
    }

    /// How a user writes it: MPI's name without its prefix, in small letters.
    #[must_use]
    pub fn key(self) -> String {
        self.name()[4..].to_ascii_lowercase()
    }

    /// Bytes that go to the target for `bytes` of its memory; a swap sends what it compares with, too.
    #[must_use]
    pub const fn out(self, bytes: u64) -> u64 {
        match self {
            Self::Get => 0,
            Self::CompareAndSwap => bytes.saturating_mul(2),
            _ => bytes,
        }
    }

    /// Bytes that come back from the target; nothing if it does not answer.
    #[must_use]
    pub const fn back(self, bytes: u64) -> Option<u64> {
        match self {
            Self::Put | Self::Accumulate => None,
            _ => Some(bytes),
        }
    }
}

/// A call of one-sided communication. Peers and groups are counted within the communicator of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneSided {
    /// MPI_Win_create, MPI_Win_allocate and their kin; every rank of `comm` calls it.
    Create {
        /// Communicator whose ranks open their memory.
        comm: Comm,
        /// Number of the window, chosen by the script; it must not be in use.
        new: Window,
    },
    /// MPI_Win_free: all ranks of the window call it, and its number is free again.
    Free(Window),
    /// MPI_Put, MPI_Get and their kin; with a request MPI_Rput, MPI_Rget and so on.
    Transfer {
        /// The window whose memory it touches.
        window: Window,
        /// Which one of them it is.
        kind: TransferKind,
        /// Whose memory it touches; nothing happens for the null process.
        peer: CommRank,
        /// Bytes of that memory.
        bytes: u64,
        /// Opened by it: complete when the own buffer may be used.
        request: Option<Request>,
    },
    /// MPI_Win_fence: ends an epoch of all ranks and begins the next.
    Fence(Window),
    /// MPI_Win_post: opens the own memory to a group of ranks.
    Post(Window, Arc<[CommRank]>),
    /// MPI_Win_start: begins an epoch with a group of ranks that post.
    Start(Window, Arc<[CommRank]>),
    /// MPI_Win_complete: ends the epoch that MPI_Win_start began.
    Complete(Window),
    /// MPI_Win_wait: ends what MPI_Win_post opened, when all of the group have completed; MPI_Win_test that found so.
    Wait(Window),
    /// MPI_Win_lock of one rank's memory.
    Lock {
        /// The window that the lock belongs to.
        window: Window,
        /// Whose memory is locked.
        peer: CommRank,
        /// Nobody else may hold a lock of it meanwhile.
        exclusive: bool,
    },
    /// MPI_Win_unlock: returns when all transfers to this rank have ended there.
    Unlock(Window, CommRank),
    /// MPI_Win_lock_all: a shared lock of everybody's memory.
    LockAll(Window),
    /// MPI_Win_unlock_all: the end of the same.
    UnlockAll(Window),
    /// MPI_Win_flush and its kin.
    Flush {
        /// The window whose transfers end.
        window: Window,
        /// Those with this rank, or with all.
        peer: Option<CommRank>,
        /// They need only have ended here (MPI_Win_flush_local).
        local: bool,
    },
}

impl OneSided {
    /// The window that it is a call on; for the call that makes one, its new number.
    #[must_use]
    pub const fn window(&self) -> Window {
        match *self {
            Self::Create { new: window, .. }
            | Self::Free(window)
            | Self::Transfer { window, .. }
            | Self::Fence(window)
            | Self::Post(window, _)
            | Self::Start(window, _)
            | Self::Complete(window)
            | Self::Wait(window)
            | Self::Lock { window, .. }
            | Self::Unlock(window, _)
            | Self::LockAll(window)
            | Self::UnlockAll(window)
            | Self::Flush { window, .. } => window,
        }
    }

    /// MPI's name of the call, as far as this form tells calls apart.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Create { .. } => "MPI_Win_create",
            Self::Free(_) => "MPI_Win_free",
            Self::Transfer { kind, .. } => kind.name(),
            Self::Fence(_) => "MPI_Win_fence",
            Self::Post(..) => "MPI_Win_post",
            Self::Start(..) => "MPI_Win_start",
            Self::Complete(_) => "MPI_Win_complete",
            Self::Wait(_) => "MPI_Win_wait",
            Self::Lock { .. } => "MPI_Win_lock",
            Self::Unlock(..) => "MPI_Win_unlock",
            Self::LockAll(_) => "MPI_Win_lock_all",
            Self::UnlockAll(_) => "MPI_Win_unlock_all",
            Self::Flush { peer: Some(_), local: false, .. } => "MPI_Win_flush",
            Self::Flush { peer: None, local: false, .. } => "MPI_Win_flush_all",
            Self::Flush { peer: Some(_), local: true, .. } => "MPI_Win_flush_local",
            Self::Flush { peer: None, local: true, .. } => "MPI_Win_flush_local_all",
        }
    }
}
