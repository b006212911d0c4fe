//! Rank programs: what each rank of a job does, as a stream of operations with dependencies.
//!
//! One form serves every source (GOAL graphs, MPI traces, generators, live programs) and every model. An operation
//! computes, sends, receives, or only waits for others. It becomes *executable* when everything it depends on has
//! started or finished, as its edges say; what an operation costs, and when a transfer ends, is the model's business.
//!
//! **Timed view.** [`Program::open`] gives a rank's [`Cursor`], which appends operations batch by batch; operations are numbered
//! from 0 in the order in which they appear. A replaying model keeps the operations that are not yet finished and
//! asks for the next batch when the last operation it has has *started* (a receive starts when it is posted). So a stream
//! holds few operations at a time, while a graph comes as one batch. Going back is moving an index: operations once
//! read are kept until they are committed, and a cursor can be opened again.
//!
//! **Static view.** Which messages can be in the network at the same time follows from the same operations without any clock: a
//! message's level is one more than the deepest message that its send depends on.
//!
//! **Order.** Among operations of a rank that become executable together, sends come first, then receives, then computations and joins;
//! within a kind they keep the order of the edges that freed them (of their numbers, if several start at once). Receives of
//! one rank match in the order in which they start, messages of one pair in the order in which they were sent, as MPI demands.

use base::{index::RankId, param::Unread};
use serde::{Deserialize, Serialize};

pub mod archive;
pub mod census;
pub mod collective;
pub mod cuts;
mod damage;
pub mod file;
pub mod generate;
pub mod goal;
pub mod graph;
pub mod input;
pub mod list;
pub mod lower;
pub mod matrix;
pub mod mpi;
pub mod noise;
mod packed;
mod place;
pub mod ranks;
pub mod reshape;
mod tar;
pub mod traces;
pub mod untimed;

pub use damage::Damage;

/// Any rank of the communicator may be the source ([`mpi::ANY_PEER`]); files and labels know it by this number, too.
pub const ANY_SOURCE: u32 = mpi::ANY_PEER.number();
/// Any rank of the job may be the source ([`Op::peer`] of a receive).
pub const ANY_RANK: RankId = RankId::new(ANY_SOURCE);
/// Any tag matches ([`Op::tag`] of a receive); contexts must still agree.
pub const ANY_TAG: u32 = u32::MAX;
/// The size of a receive or probe whose source does not tell it: it takes a message of whatever size ([`Op::amount`], [`mpi::Envelope::bytes`]).
pub const UNKNOWN_BYTES: u64 = u64::MAX;

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// Sends [`Op::amount`] bytes to [`Op::peer`]. Starts when the processor takes it up; finishes when the buffer may be
    /// used again: at once for an eager message, when the receiver has matched it for a rendezvous message.
    Send,
    /// Receives from [`Op::peer`]. Starts when it is posted, finishes when the message is there.
    Recv,
    /// Computes for [`Op::amount`] picoseconds.
    Calc,
    /// Finishes as soon as it starts: a point where others meet. It takes no processor.
    Join,
    /// Like [`Kind::Join`], but one finished (or started) predecessor is enough: MPI's waitany and waitsome.
    JoinAny,
    /// Finishes when a message that a receive with the same peer, tag and context would match has arrived; takes nothing.
    Probe,
}

/// One operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Op {
    /// What it does.
    pub kind: Kind,
    /// Processor of the rank, from 0.
    pub cpu: u8,
    /// Network interface of the rank, from 0.
    pub nic: u8,
    /// What it depends on besides explicit [`Edge`]s.
    pub after: After,
    /// The other rank: destination of a send, source of a receive (or [`ANY_RANK`]).
    pub peer: RankId,
    /// Tag, or [`ANY_TAG`].
    pub tag: u32,
    /// Communicator's matching context: receives match sends of the same context alone. 0 is the world; collectives have contexts of
    /// their own.
    pub context: u32,
    /// How a send completes; nothing for others.
    pub mode: mpi::Mode,
    /// Bytes of a message, or picoseconds of a computation.
    pub amount: u64,
    /// Where it comes from, as the [`Program`] counts: a line of a file, a call of a trace; for diagnoses. Also says which
    /// call of the application it belongs to ([`Program::describe`]).
    pub origin: u32,
    /// 1 + index in [`Program::collectives`] if it is part of a collective, else 0: for statistics.
    pub collective: u16,
}

/// The implicit dependency on the operation just before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum After {
    /// The operation before does not hold it back: only explicit [`Edge`]s do.
    #[default]
    Nothing,
    /// The operation before must have started.
    Start,
    /// The operation before must have finished.
    Finish,
}

/// A dependency: `after` may not start before `before` has started or finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Number of the operation that comes first; it may have finished long ago.
    pub before: u64,
    /// Number of the operation that waits; in the same batch as the edge.
    pub after: u64,
    /// True if `before` need only have started.
    pub on_start: bool,
}

/// True if these operations follow each other: each waits at least for the start of the one before (but for a rank's `first`), and none probes, waits
/// for any of several, or receives from anybody or with any tag. Then at most one operation of the rank is executable and not started at
/// any time, and a message cannot free another one while it is.
#[must_use]
pub fn chained(ops: &[Op], first: bool) -> bool {
    let plain = |op: &Op| match op.kind {
        Kind::Recv => op.peer != ANY_RANK && op.tag != ANY_TAG,
        Kind::JoinAny | Kind::Probe => false,
        Kind::Send | Kind::Calc | Kind::Join => true,
    };
    ops.iter().all(plain) && ops.iter().skip(usize::from(first)).all(|op| op.after != After::Nothing)
}

/// Operations and edges that a cursor hands over together.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The next operations, in the order of their numbers.
    pub ops: Vec<Op>,
    /// Edges to operations of this batch, from this or earlier ones; in graphs, also from later ones of the batch. Their
    /// order is the order in which `before` frees them.
    pub edges: Vec<Edge>,
    /// What is said of the operations, for people who look at a time line; `None` if nobody asks.
    pub notes: Option<Notes>,
}

/// Which call of MPI each operation of a batch belongs to, and what is marked between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// MPI's name of the call, by operation; those behind the last belong to `current`.
    names: Vec<&'static str>,
    /// The call in hand.
    current: &'static str,
    /// Marks in their order, each with its place.
    pub marks: Vec<(mpi::Mark, Place)>,
}

/// A place between the operations of a rank: it is reached when all these have finished or started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Numbers of operations that must have finished.
    pub finished: Vec<u64>,
    /// Number of an operation that must have started.
    pub started: Option<u64>,
    /// Number of the next operation.
    pub next: u64,
}

impl Notes {
    /// A call begins, behind so many operations of the batch.
    pub(crate) fn begin(&mut self, name: &'static str, behind: usize) {
        self.names.resize(behind, self.current);
        self.current = name;
    }

    /// The call that operation `n` of the batch belongs to; nothing if the source knows no calls, or it is computation.
    #[must_use]
    pub fn call(&self, n: usize) -> &'static str {
        self.names.get(n).copied().unwrap_or(self.current)
    }
}

impl Batch {
    /// An empty batch whose cursor is asked for [`Notes`].
    #[must_use]
    pub fn noting() -> Self {
        Self { notes: Some(Notes::default()), ..Self::default() }
    }

    /// Empties it; memory is kept.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.edges.clear();
        if let Some(notes) = &mut self.notes {
            notes.names.clear();
            notes.marks.clear();
        }
    }
}

/// An operation that another one frees, by its number within the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed(u32);

impl Freed {
    /// `after` is below [`graph::MAX_OPS`] and is freed by the end, or already by the start.
    #[inline]
    #[must_use]
    pub fn new(after: u32, on_start: bool) -> Self {
        // Times two, plus one if the start is enough.
        Self(after << 1 | u32::from(on_start))
    }

    /// The operation that waits.
    #[inline]
    #[must_use]
    pub fn number(self) -> u32 {
        self.0 >> 1
    }

    /// True if the start of what it waits for is enough.
    #[inline]
    #[must_use]
    pub fn on_start(self) -> bool {
        self.0 & 1 == 1
    }
}

/// An operation of a graph with its place among the dependencies: what an [`Op`] of GOAL says, and no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Bytes of a message, or picoseconds of a computation.
    pub amount: u64,
    /// Destination of a send, source of a receive or [`ANY_RANK`].
    pub peer: RankId,
    /// Tag, or [`ANY_TAG`].
    pub tag: u32,
    /// Where it comes from, as [`graph::Positions`] count.
    pub origin: u32,
    /// Its first dependency among those of all ranks; the last one is before the first of the next operation.
    pub first: u32,
    /// Number of dependencies that lead to it.
    pub waits: u32,
    /// A send, a receive or a computation.
    pub kind: Kind,
    /// Processor of the rank, from 0.
    pub cpu: u8,
    /// Network interface of the rank, from 0.
    pub nic: u8,
    /// True if its start frees something.
    pub early: bool,
}

impl Step {
    /// A computation of no time, without dependencies.
    pub(crate) const NONE: Self = Self {
        amount: 0,
        peer: RankId::new(0),
        tag: 0,
        origin: 0,
        first: 0,
        waits: 0,
        kind: Kind::Calc,
        cpu: 0,
        nic: 0,
        early: false,
    };

    /// The same as programs of any kind have it.
    #[inline]
    #[must_use]
    pub fn op(&self) -> Op {
        let Self { amount, peer, tag, origin, kind, cpu, nic, .. } = *self;
        let (after, mode) = (After::Nothing, mpi::Mode::Standard);
        Op { kind, cpu, nic, after, peer, tag, context: 0, mode, amount, origin, collective: 0 }
    }
}

impl From<&Op> for Step {
    /// Of an operation that has no dependencies yet; what GOAL has no word for is left out.
    fn from(op: &Op) -> Self {
        let &Op { kind, cpu, nic, peer, tag, amount, origin, .. } = op;
        Self { amount, peer, tag, origin, kind, cpu, nic, ..Self::NONE }
    }
}

/// The tables of a [`graph::Graph`], to walk.
#[derive(Clone, Copy, Debug)]
pub struct Slices<'a> {
    /// The operations of all ranks, and behind them one that is none, for the end of the last one's dependencies.
    pub steps: &'a [Step],
    /// What operations free, by what comes first ([`Step::first`]).
    pub freed: &'a [Freed],
    /// The place of each rank's first operation, and one past the last.
    pub starts: &'a [u32],
}

/// Reads one rank's operations in order.
pub trait Cursor: Send {
    /// Appends the next operations to an empty batch, some dozens at a time; nothing when the rank has no more.
    ///
    /// # Errors
    /// If the source turns out to be damaged: what and where.
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage>;
}

/// Something about a source that its operations do not tell: it makes the results of a run doubtful, and travels with its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Flag of the verdict.
    pub flag: &'static str,
    /// What and where, for people.
    pub text: String,
    /// A run is none of the whole program for it: messages are not simulated, or its calls are none that can be made together.
    pub missing: bool,
}

impl Remark {
    /// Something in the source is not simulated.
    pub const DROPPED: &'static str = "input-dropped";
    /// Ranks call different collectives.
    pub const MISMATCH: &'static str = "mismatched-collectives";

    fn dropped(dropped: mpi::Dropped) -> Self {
        Self { flag: Self::DROPPED, text: dropped.text, missing: dropped.messages }
    }

    fn mismatch(text: String) -> Self {
        Self { flag: Self::MISMATCH, text, missing: true }
    }
}

/// What all ranks of a job do.
pub trait Program: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// A cursor at the rank's first operation.
    fn open(&self, rank: RankId) -> Box<dyn Cursor>;

    /// Processors per rank: one more than the largest [`Op::cpu`].
    fn cpus(&self) -> u8 {
        1
    }

    /// True if an operation may start before those that it waits for on other processors are over: the clock of its own processor alone counts, as in
    /// LogGOPSim. Programs in GOAL follow this rule under model `delay`.
    fn starts_in_past(&self) -> bool {
        false
    }

    /// Network interfaces per rank: one more than the largest [`Op::nic`].
    fn nics(&self) -> u8 {
        1
    }

    /// The same for a batch that asks for [`Notes`]: with what is marked between the operations, if the source marks anything.
    fn open_noted(&self, rank: RankId) -> Box<dyn Cursor> {
        self.open(rank)
    }

    /// For people: what [`Op::origin`] of a rank stands for, such as `MPI_Recv, trace.txt:17`.
    fn describe(&self, rank: RankId, origin: u32) -> String;

    /// Names of the collectives that occur, such as `MPI_Allreduce`.
    fn collectives(&self) -> &[String] {
        &[]
    }

    /// Size in bytes of the largest message of all ranks, if known beforehand and no send is synchronous. A model with a rendezvous protocol couples ranks more
    /// tightly if it is larger than the protocol's threshold, or unknown.
    fn largest_message(&self) -> Option<u64> {
        None
    }

    /// True if the operations of every rank are [`chained`], and that is known without reading them. A model may let such ranks run ahead.
    fn chained(&self) -> bool {
        false
    }

    /// Number of operations of all ranks, if known beforehand: for progress.
    fn total(&self) -> Option<u64> {
        None
    }

    /// Keys of its job that what it was read from has no use for, and why.
    fn unread(&self) -> Vec<Unread> {
        Vec::new()
    }

    /// What was found while ranks were read and belongs to the verdict of the run; asked for at its end.
    fn remarks(&self) -> Vec<Remark> {
        Vec::new()
    }

    /// What was noted so far of the ranks that were read, for another process that reads other ranks of the same program.
    fn noted(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Takes note of what another process noted, or this one.
    fn note(&self, _noted: &[u64]) {}

    /// The program's tables, if it is held in memory as a [`graph::Graph`]: a simulator may walk them instead of reading rank by rank.
    fn slices(&self) -> Option<Slices<'_>> {
        None
    }

    /// What a rank sends outside of collectives, by peer and size ascending, if known without reading its operations
    /// ([`matrix::sent`] reads them). See [`mpi::Script::sent`].
    fn sent(&self, _rank: RankId, _most: u64) -> Option<mpi::Counted> {
        None
    }
}
