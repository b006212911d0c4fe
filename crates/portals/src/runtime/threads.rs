//! What is known of ranks and their threads, and of the start-up service: plain data that the [`World`](super::world::World) holds.

use base::{index::RankId, time::Ps};
use corosensei::Yielder;
use std::{collections::BTreeMap, ffi::c_void, ops::Range};

/// How a rank ended, or that it has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has not.
    Running,
    /// It returned from `main` or called `exit`.
    Exited(i32),
    /// It was ended by a signal; at an address, for faults.
    Signal(i32, Option<u64>),
}

/// What a thread begins with.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// `main` of a rank.
    Main(usize),
    /// A function with its argument.
    Thread(usize, usize),
    /// The end of its rank, at a time.
    Alarm(u32, Ps),
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Nothing: it runs, may run, or is over.
    No,
    /// A time, and nothing of its rank.
    Time,
    /// Something of its rank.
    Rank(Reason),
}

/// Why a thread waits: for the report of a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The call that it waits in.
    pub call: &'static str,
    /// What it waits for there: a handle, an address, a thread, or how much of it there is.
    pub what: u64,
    /// How much it waits for, where a call has such a number.
    pub goal: u64,
}

impl Reason {
    /// A call that waits for something without a number to reach.
    #[must_use]
    pub fn of(call: &'static str, what: u64) -> Self {
        Self { call, what, goal: 0 }
    }
}

/// A thread that waits at a condition of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConditionWait {
    /// Rank of the thread and the condition.
    pub rank: RankId,
    /// Address of the condition.
    pub condition: usize,
    /// The thread, by its number.
    pub thread: u32,
}

/// A thread of a rank.
pub struct Thread {
    /// The rank within its job.
    pub rank: RankId,
    /// What it waits for.
    pub waiting: Waiting,
    /// It waits until a time at most.
    pub timed: bool,
    /// What it looked for in vain.
    pub looks: Looks,
    /// Counts how often it waited: what wakes it names one.
    pub ticket: u32,
    /// What it begins with.
    pub entry: Entry,
    /// Its `errno`, while it does not run.
    pub errno: i32,
    /// Gives the processor up; null before it first ran.
    pub yielder: *const Yielder<(), ()>,
    /// What it returned, once it is over.
    pub result: Option<usize>,
}

/// A rank, beside its threads and its interfaces.
pub struct Rank {
    /// How it ended.
    pub status: Status,
    /// Looks that found nothing, in a row.
    pub misses: u32,
    /// Functions to be called at its end, with an argument.
    pub hooks: Vec<(usize, usize)>,
    /// Calls of `alarm` so far: the alarm of the last one alone may ring.
    pub alarm: u32,
    /// It has polled memory.
    pub polls: bool,
    /// Addresses of its program's code.
    pub code: Range<usize>,
    /// Its output and error.
    pub files: [*mut c_void; 2],
}

/// Looks of a thread that found nothing, in a row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    /// The call of the last one.
    pub call: &'static str,
    /// How many of them, the last one included; 0 before the first.
    pub number: u64,
    /// What had been done by then: see `World::active`.
    pub done: u64,
}

/// The start-up service: what ranks put, and the barrier.
#[derive(Default)]
pub struct Pmi {
    /// Values by key.
    pub pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Ranks that are at the barrier.
    pub here: u32,
    /// Barriers that all ranks have come to so far.
    pub round: u64,
}
