//! What is known of ranks and their threads, and of the start-up service: plain data that the [`World`](super::world::World) holds.

use super::{locals::Locals, own::Own};
use base::{index::RankId, sorted::SortedMap, time::Ps};
use corosensei::Yielder;
use std::{ffi::c_void, ops::Range};

/// How a rank ended, or that it has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has not.
    Running,
    /// It returned from `main` or called `exit`.
    Exited(i32),
    /// It was ended by a signal; at an address, for faults.
    Signal(i32, Option<u64>),
    /// It was ended since that rank ended the job.
    Stopped(u32),
}

/// What a thread begins with.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// `main` of a rank.
    Main(usize),
    /// A function with its argument.
    Thread(usize, usize),
    /// A signal of its rank at a time, and at intervals if they are above 0, as long as no later alarm is set.
    Alarm {
        /// Which of the rank's alarms it is.
        number: u32,
        /// When it rings.
        at: Ps,
        /// Time from one to the next.
        every: Ps,
    },
    /// A timer of its rank, by number.
    Timer(usize),
    /// A signal that another rank sent.
    Signal(i32),
}

/// In place of a call, for a thread that polls memory at an address.
pub const POLL: &str = "a loop that polls memory";

/// A barrier of a rank's threads.
#[derive(Clone, Copy, Debug)]
pub struct Barrier {
    /// Threads that it is for.
    pub count: u32,
    /// Threads that are there.
    pub here: u32,
    /// Times that all have come.
    pub round: u64,
}

/// A function to be called at the end.
#[derive(Clone, Copy, Debug)]
pub enum Hook {
    /// With an argument.
    Argument(usize, usize),
    /// With the status and an argument.
    Status(usize, usize),
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

/// A thread that waits for a word of memory to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FutexWait {
    /// The thread, by its number.
    pub thread: u32,
    /// Address of the word.
    pub address: usize,
    /// Which ones of those that wait it is: who wakes may name some by a bit that they have in common.
    pub bits: u32,
}

/// A thread of a rank.
pub struct Thread {
    /// The rank within its job.
    pub rank: RankId,
    /// What it waits for.
    pub waiting: Waiting,
    /// The lock that it wants and has not got; 0 for none.
    pub wants: usize,
    /// It waits until a time at most.
    pub timed: bool,
    /// It waits in a loop that polls memory, and whether it will look again at a time that is set.
    pub polls: Option<bool>,
    /// What it looked for in vain.
    pub looks: Looks,
    /// Times in a row that it made many calls which took no time.
    pub rounds: u32,
    /// Counts how often it waited: what wakes it names one.
    pub ticket: u32,
    /// What it begins with.
    pub entry: Entry,
    /// Its `errno`, while it does not run.
    pub errno: i32,
    /// Functions to be called when it ends.
    pub hooks: Vec<Hook>,
    /// What it keeps under keys.
    pub values: SortedMap<u32, usize>,
    /// Gives the processor up; null before it first ran.
    pub yielder: *const Yielder<(), ()>,
    /// What it returned, once it is over.
    pub result: Option<usize>,
}

/// A wait that a record has as a time, or may have to: see `World::idles`.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// When it began.
    pub since: Ps,
    /// When it ends at the latest.
    pub until: Option<Ps>,
    /// It is a sleep that the program called for.
    pub called: bool,
}

/// A rank, beside its threads and its interfaces.
pub struct Rank {
    /// How it ended.
    pub status: Status,
    /// Looks that found nothing, in a row.
    pub misses: u32,
    /// Functions to be called at its end.
    pub hooks: Vec<Hook>,
    /// Functions that begin its copies, until they were called.
    pub begins: Vec<usize>,
    /// Its copies' own functions to be called then, after the others.
    pub ends: Vec<usize>,
    /// Alarms so far, of which the last one alone may ring, and when it does; 0 if there is none.
    pub alarm: (u32, Ps),
    /// What its first thread waits for, if a run is recorded.
    pub idle: Option<Idle>,
    /// It has polled memory.
    pub polls: bool,
    /// Its threads that wait in loops that poll memory.
    pub pollers: u32,
    /// Addresses of its program's code.
    pub code: Range<usize>,
    /// Its input, output and error.
    pub files: [*mut c_void; 3],
    /// What it has for itself in the C library.
    pub own: Box<Own>,
    /// Thread-local variables of its copies.
    pub locals: Locals,
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

/// A key of the start-up service and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The start-up service: what ranks put, and the barrier.
#[derive(Default)]
pub struct Pmi {
    /// Keys and values, by the hash of the key.
    pub pairs: SortedMap<u64, Vec<Pair>>,
    /// Ranks that are at the barrier.
    pub here: u32,
    /// Barriers that all ranks have come to so far.
    pub round: u64,
}
