//! MPI calls: what traces and generators speak, before it becomes operations.
//!
//! A [`Script`] yields each rank's calls in program order. Requests and communicators are small numbers that the script
//! chooses, as an MPI program holds handles: a request number may be used again once its request is complete. Ranks in calls are
//! ranks of the communicator.

mod names;
mod one_sided;

pub use names::{ANY_PEER, Comm, CommRank, PROC_NULL, Request, WORLD, Window};
pub use one_sided::{OneSided, TransferKind};

use super::Damage;
use base::{index::RankId, param::Unread, time::Ps};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Completion semantics of a send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Eager up to the model's threshold, rendezvous beyond.
    #[default]
    Standard,
    /// Always rendezvous (MPI_Ssend).
    Synchronous,
    /// Never waits for the receiver (MPI_Bsend, MPI_Rsend).
    Buffered,
}

/// One end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The other rank; [`ANY_PEER`] for receives, or [`PROC_NULL`].
    pub peer: CommRank,
    /// Tag; [`super::ANY_TAG`] for receives.
    pub tag: u32,
    /// Payload (for receives: the size of the buffer or of the message, as far as the source says).
    pub bytes: u64,
    /// Communicator in which `peer` is counted; receives match sends of the same one alone.
    pub comm: Comm,
}

/// The collectives of MPI-3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are MPI's")]
pub enum CollectiveKind {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatter,
    ReduceScatterBlock,
    Scan,
    Exscan,
    NeighborAllgather,
    NeighborAlltoall,
}

impl CollectiveKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 19] = [
        Self::Barrier,
        Self::Bcast,
        Self::Gather,
        Self::Gatherv,
        Self::Scatter,
        Self::Scatterv,
        Self::Allgather,
        Self::Allgatherv,
        Self::Alltoall,
        Self::Alltoallv,
        Self::Alltoallw,
        Self::Reduce,
        Self::Allreduce,
        Self::ReduceScatter,
        Self::ReduceScatterBlock,
        Self::Scan,
        Self::Exscan,
        Self::NeighborAllgather,
        Self::NeighborAlltoall,
    ];

    /// MPI's name of its blocking form.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "MPI_Barrier",
            Self::Bcast => "MPI_Bcast",
            Self::Gather => "MPI_Gather",
            Self::Gatherv => "MPI_Gatherv",
            Self::Scatter => "MPI_Scatter",
            Self::Scatterv => "MPI_Scatterv",
            Self::Allgather => "MPI_Allgather",
            Self::Allgatherv => "MPI_Allgatherv",
            Self::Alltoall => "MPI_Alltoall",
            Self::Alltoallv => "MPI_Alltoallv",
            Self::Alltoallw => "MPI_Alltoallw",
            Self::Reduce => "MPI_Reduce",
            Self::Allreduce => "MPI_Allreduce",
            Self::ReduceScatter => "MPI_Reduce_scatter",
            Self::ReduceScatterBlock => "MPI_Reduce_scatter_block",
            Self::Scan => "MPI_Scan",
            Self::Exscan => "MPI_Exscan",
            Self::NeighborAllgather => "MPI_Neighbor_allgather",
            Self::NeighborAlltoall => "MPI_Neighbor_alltoall",
        }
    }

    /// MPI's name of its non-blocking form.
    #[must_use]
    pub const fn immediate_name(self) -> &'static str {
        match self {
            Self::Barrier => "MPI_Ibarrier",
            Self::Bcast => "MPI_Ibcast",
            Self::Gather => "MPI_Igather",
            Self::Gatherv => "MPI_Igatherv",
            Self::Scatter => "MPI_Iscatter",
            Self::Scatterv => "MPI_Iscatterv",
            Self::Allgather => "MPI_Iallgather",
            Self::Allgatherv => "MPI_Iallgatherv",
            Self::Alltoall => "MPI_Ialltoall",
            Self::Alltoallv => "MPI_Ialltoallv",
            Self::Alltoallw => "MPI_Ialltoallw",
            Self::Reduce => "MPI_Ireduce",
            Self::Allreduce => "MPI_Iallreduce",
            Self::ReduceScatter => "MPI_Ireduce_scatter",
            Self::ReduceScatterBlock => "MPI_Ireduce_scatter_block",
            Self::Scan => "MPI_Iscan",
            Self::Exscan => "MPI_Iexscan",
            Self::NeighborAllgather => "MPI_Ineighbor_allgather",
            Self::NeighborAlltoall => "MPI_Ineighbor_alltoall",
        }
    }

    /// True if its counts are what a rank sends to each, followed by what it receives from each.
    #[must_use]
    pub const fn has_two_lists(self) -> bool {
        matches!(self, Self::Alltoallv | Self::Alltoallw)
    }

    /// The key that a user writes, such as `reduce_scatter_block`: MPI's name without its prefix, in small letters.
    #[must_use]
    pub fn key(self) -> String {
        self.name()[4..].to_ascii_lowercase()
    }
}

/// A collective call of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Which one of its kind it is.
    pub kind: CollectiveKind,
    /// On which communicator.
    pub comm: Comm,
    /// The root of rooted ones, else 0.
    pub root: CommRank,
    /// Bytes: of the whole vector for bcast, reduce, allreduce, scan, exscan; of one rank's block for gather, scatter, allgather, alltoall,
    /// reduce_scatter_block and the neighbourhood ones.
    pub bytes: u64,
    /// Bytes by rank for the v-variants: what each contributes (gatherv, allgatherv) or gets (scatterv, reduce_scatter; for
    /// gatherv and scatterv needed at every rank); for alltoallv what this rank sends to each, followed by what it receives from each.
    pub counts: Option<Arc<[u64]>>,
    /// Neighbours for the neighbourhood ones.
    pub neighbours: Option<Arc<[CommRank]>>,
    /// Set for the non-blocking form.
    pub request: Option<Request>,
    /// Name of an algorithm, to override the job's choice (a live program's or generator's own); else the tables decide.
    pub algorithm: Option<&'static str>,
}

/// A marker: what the program's author wants to see on a time line. It takes no time and becomes no operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// What it says.
    pub name: Arc<str>,
    /// A number behind its name, such as that of an iteration.
    pub number: Option<i64>,
    /// Whether it is an instant, or an end of something that lasts.
    pub kind: MarkKind,
    /// How far into the computation that follows it stands, in picoseconds of that.
    pub into: Ps,
}

/// What a [`Mark`] marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// A single instant of the rank.
    Instant,
    /// A region of the program begins: a function, a phase.
    Enter,
    /// The region that began last ends.
    Leave,
}

impl MarkKind {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Instant => "mark",
            Self::Enter => "enter",
            Self::Leave => "leave",
        }
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        self.number.map_or(Ok(()), |number| write!(f, " {number}"))
    }
}

/// A call of an MPI program, or computation between two calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Time between calls.
    Compute(Ps),
    /// MPI_Send and its kin.
    Send(Envelope, Mode),
    /// MPI_Isend and its kin.
    Isend(Envelope, Mode, Request),
    /// MPI_Recv: returns when the message is there.
    Recv(Envelope),
    /// MPI_Irecv: posts the receive and opens the request, whose number must not be in use.
    Irecv(Envelope, Request),
    /// MPI_Sendrecv: what is sent, what is received.
    SendRecv(Envelope, Envelope),
    /// MPI_Send_init and its kin.
    SendInit(Envelope, Mode, Request),
    /// MPI_Recv_init: opens a persistent request, which posts a receive each time that [`Call::Start`] names it.
    RecvInit(Envelope, Request),
    /// MPI_Start and MPI_Startall.
    Start(Arc<[Request]>),
    /// MPI_Request_free: nobody will wait for it.
    RequestFree(Request),
    /// MPI_Wait: the request must be open; complete, its number is free again, unless it is persistent.
    Wait(Request),
    /// MPI_Waitall: all must be open; returns when all are complete, in whatever order.
    Waitall(Arc<[Request]>),
    /// MPI_Waitany and MPI_Waitsome: returns when one is complete. `completed` are those that the source saw complete (empty if it does not
    /// say: then the first of the list counts as complete afterwards).
    Waitany {
        /// All requests asked for.
        requests: Arc<[Request]>,
        /// Those that were complete.
        completed: Arc<[Request]>,
    },
    /// MPI_Test and its kin: those that the source saw complete are waited for, others are not.
    Test {
        /// Requests seen complete; none if the flag was false.
        completed: Arc<[Request]>,
    },
    /// MPI_Probe; MPI_Iprobe that found something.
    Probe(Envelope),
    /// Any of [`CollectiveKind`]; it does not block if it has a [`Collective::request`].
    Collective(Collective),
    /// MPI_Comm_dup; every rank of `comm` calls it.
    CommDup {
        /// Communicator that is copied: the copy has its ranks in its order.
        comm: Comm,
        /// Number of the copy on this rank, chosen by the script; never [`WORLD`].
        new: Comm,
    },
    /// MPI_Comm_split; every rank of `comm` calls it.
    CommSplit {
        /// Communicator that is split into one for each color.
        comm: Comm,
        /// `None` is MPI_UNDEFINED: this rank gets no communicator.
        color: Option<u32>,
        /// Orders the ranks, ties by rank.
        key: i64,
        /// Number of this rank's part, never [`WORLD`]; without a color it names nothing afterwards.
        new: Comm,
    },
    /// MPI_Comm_create and MPI_Comm_create_group: every rank of `comm` calls it with the same group.
    CommCreate {
        /// Communicator that `group` is taken from.
        comm: Comm,
        /// Ranks of `comm`, in the order of the new ranks.
        group: Arc<[CommRank]>,
        /// Number of the new communicator, never [`WORLD`]; on ranks outside `group` it names nothing afterwards.
        new: Comm,
    },
    /// No call: a communicator that is there already. It costs nothing, nobody waits, and its ranks alone say it. The n-th time that a rank says
    /// the same group is the n-th time of the others.
    CommDefine {
        /// Ranks of the world, in the order of the communicator's ranks.
        group: Arc<[CommRank]>,
        /// Number of the communicator, never [`WORLD`]; on ranks outside `group` it names nothing afterwards.
        new: Comm,
    },
    /// MPI_Comm_free: this rank may use its number for another one; [`WORLD`] cannot be freed.
    CommFree(Comm),
    /// Any call of one-sided communication.
    OneSided(OneSided),
    /// No call, but a place between calls; only where [`Script::open_marked`] reads.
    Mark(Mark),
}

impl Call {
    /// MPI's name of it, as far as this form tells calls apart; nothing of computations, definitions and marks, which are no calls.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Compute(_) | Self::Mark(_) | Self::CommDefine { .. } => "",
            Self::Send(_, Mode::Standard) => "MPI_Send",
            Self::Send(_, Mode::Synchronous) => "MPI_Ssend",
            Self::Send(_, Mode::Buffered) => "MPI_Bsend",
            Self::Isend(_, Mode::Standard, _) => "MPI_Isend",
            Self::Isend(_, Mode::Synchronous, _) => "MPI_Issend",
            Self::Isend(_, Mode::Buffered, _) => "MPI_Ibsend",
            Self::Recv(_) => "MPI_Recv",
            Self::Irecv(..) => "MPI_Irecv",
            Self::SendRecv(..) => "MPI_Sendrecv",
            Self::SendInit(_, Mode::Standard, _) => "MPI_Send_init",
            Self::SendInit(_, Mode::Synchronous, _) => "MPI_Ssend_init",
            Self::SendInit(_, Mode::Buffered, _) => "MPI_Bsend_init",
            Self::RecvInit(..) => "MPI_Recv_init",
            Self::Start(_) => "MPI_Start",
            Self::RequestFree(_) => "MPI_Request_free",
            Self::Wait(_) => "MPI_Wait",
            Self::Waitall(_) => "MPI_Waitall",
            Self::Waitany { .. } => "MPI_Waitany",
            Self::Test { .. } => "MPI_Test",
            Self::Probe(_) => "MPI_Probe",
            Self::Collective(Collective { kind, request: None, .. }) => kind.name(),
            Self::Collective(Collective { kind, request: Some(_), .. }) => kind.immediate_name(),
            Self::CommDup { .. } => "MPI_Comm_dup",
            Self::CommSplit { .. } => "MPI_Comm_split",
            Self::CommCreate { .. } => "MPI_Comm_create",
            Self::CommFree(_) => "MPI_Comm_free",
            Self::OneSided(call) => call.name(),
        }
    }
}

/// Something in a source that has become no call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// What and how often, for people.
    pub text: String,
    /// It sent or received: messages are missing.
    pub messages: bool,
}

/// Messages of one size that a rank sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sent {
    /// To which rank they go.
    pub peer: RankId,
    /// Payload of each.
    pub bytes: u64,
    /// How many of them there are.
    pub messages: u64,
}

/// Messages by peer and size ascending, or why they are not counted.
pub type Counted = Result<Vec<Sent>, Damage>;

/// Where calls come from. Calls carry a position for diagnoses, which [`Script::describe`] explains.
pub trait Script: Send + Sync {
    /// Number of ranks.
    fn ranks(&self) -> u32;

    /// A reader at the rank's first call.
    fn open(&self, rank: RankId) -> Box<dyn Calls>;

    /// The same with the program's [`Mark`]s among its calls, as far as the source has any. They change nothing, so who simulates does not ask for them.
    fn open_marked(&self, rank: RankId) -> Box<dyn Calls> {
        self.open(rank)
    }

    /// The same where each call says when it was recorded ([`Calls::recorded`]), as far as the source has times.
    fn open_recorded(&self, rank: RankId) -> Box<dyn Calls> {
        self.open(rank)
    }

    /// Keys of a job that it has no use for, and why; by itself those of traces whose computations are times.
    fn unread(&self) -> Vec<Unread> {
        Unread::all("job", &["unit", "speed"], "its trace has computations as times")
    }

    /// True if [`Script::open_marked`] has marks, of some rank.
    fn marks(&self) -> bool {
        false
    }

    /// True if a short source may have any number of calls, since it says how often some are repeated.
    fn has_loops(&self) -> bool {
        false
    }

    /// For people: where a rank's call stands, such as `trace.txt:17`.
    fn describe(&self, rank: RankId, position: u32) -> String;

    /// False if no call ever makes a communicator: the ranks' streams then need not be searched for them beforehand.
    fn makes_communicators(&self) -> bool {
        true
    }

    /// True if no rank probes, waits for any of several, receives from anybody or with any tag, or does a collective beside other things. Its operations
    /// then follow each other ([`super::chained`]).
    fn chained(&self) -> bool {
        false
    }

    /// What the rank's point-to-point calls send, by peer and size ascending, if the source knows without reading them all.
    /// Collectives are not in it. They are not counted if that takes more than `most` steps, or a number of them does not fit 64 bits.
    fn sent(&self, _rank: RankId, _most: u64) -> Option<Counted> {
        None
    }

    /// What [`Script::dropped`] is said from, as far as it was met while ranks were read: words, for a process that reads other ranks.
    fn noted(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Adds what [`Script::noted`] gave, here or elsewhere.
    fn note(&self, _noted: &[u64]) {}

    /// What of the source was met while it was read and has become no call.
    fn dropped(&self) -> Vec<Dropped> {
        Vec::new()
    }
}

/// When a call was recorded: picoseconds from an instant that is the same for all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When the program called.
    pub begin: Ps,
    /// When the call was over.
    pub end: Ps,
    /// When between the two the message left or arrived, or the request ended, if the source says.
    pub at: Option<Ps>,
}

/// Reads one rank's calls.
pub trait Calls: Send {
    /// The next call and its position; `None` at the end.
    ///
    /// # Errors
    /// If the source is damaged.
    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage>;

    /// The next call, its position, and how often it is made: repetitions that are all the same may be handed over as one. Who asks for this does so
    /// from the start on.
    ///
    /// # Errors
    /// If the source is damaged.
    fn counted(&mut self) -> Result<Option<(Call, u32, u64)>, Damage> {
        Ok(self.next()?.map(|(call, position)| (call, position, 1)))
    }

    /// When what was read last was recorded: picoseconds from an instant that is the same for all ranks. `None` if the source has no times, or none yet.
    fn time(&self) -> Option<Ps> {
        None
    }

    /// When the call that was handed over last was recorded, of readers that [`Script::open_recorded`] gave. `None` if the source has no times, and of
    /// computations and what the source does not date.
    fn recorded(&self) -> Option<Recorded> {
        None
    }

    /// The same without a copy, where the source keeps its calls; else the call is put into `held`.
    ///
    /// # Errors
    /// If the source is damaged.
    fn look<'a>(&'a mut self, held: &'a mut Option<Call>) -> Result<Option<(&'a Call, u32)>, Damage> {
        let next = self.next()?;
        Ok(next.map(|(call, position)| (&*held.insert(call), position)))
    }
}
