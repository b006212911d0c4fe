//! Text traces of liballprof: one file for each rank, a line for each call of MPI, `NAME:START:ARGUMENTS:END` with times in microseconds.
//!
//! **Computation** is the time between the end of one call that communicates and the start of the next, as schedgen takes it: calls that do not
//! communicate, and tests, belong to it. **Requests** are the addresses of their handles. A test does not say what it found, so a request
//! whose handle is used for another one is waited for just before that. **Communicators** are handles with the caller's rank and the number of ranks; the call that
//! made one does not say its handle. So a handle that is met first stands for the oldest communicator that was made and fits (`comms.rs`).

use super::{
    calls::{Found, Shape, own_count},
    files::{Listed, RankLines, Ranks},
    notes::{Notes, RankNotes},
    requests::Requests,
    siblings::siblings,
    words::wrong,
};
use crate::program::{
    ANY_TAG, Damage, UNKNOWN_BYTES,
    input::Input,
    mpi::{
        ANY_PEER, Call, Calls, CollectiveKind, CommRank, Dropped, Envelope, Mode, PROC_NULL, Recorded,
        Request, Script,
    },
};
use base::{index::RankId, param::Built, time::Ps, units::MAX_TIME};
use comms::{Comms, Handle};
use fields::Fields;
use names::{UNUSED, is_local};
use std::{collections::VecDeque, sync::Arc};

mod comms;
mod fields;
mod names;
#[cfg(test)]
mod tests;

/// Kinds of [`Notes`] beside the places in [`UNUSED`].
const UNOPENED: u64 = 100;
const GUESSED: u64 = 101;
const FOREIGN: u64 = 102;
const OTHER: u64 = 103;

/// True if a text begins like such a trace: with comments and a call.
pub(in crate::program) fn begins(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let line = text.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
    line.starts_with("MPI_") && line.split(':').count() >= 3
}

/// Reads a trace: a list of files, or the name of one of them.
///
/// # Errors
/// If the file of a rank is missing.
pub(in crate::program) fn read(input: &Input<'_>, listed: Option<Listed>) -> Built<Arc<dyn Script>> {
    let paths = match listed {
        Some(listed) => listed.paths,
        None => siblings(input).map_err(|problem| vec![problem])?,
    };
    let ranks = Arc::new(Ranks::each(input, paths)?);
    // Communicators are first made of the one of all ranks, so that rank 0 shows whether there are any.
    let mut lines = RankLines::new(&ranks, RankId::new(0));
    let (mut makes, mut origin) = (false, None);
    while let Some((_, line)) = lines.next_line().map_err(|Damage(m)| vec![input.problem(m)])? {
        if let Some(time) = origin.is_none().then(|| Fields::of(line).ok()?.times().ok()?.0).flatten() {
            origin = Some(time);
        }
        makes |= ["MPI_Comm_dup:", "MPI_Comm_split:", "MPI_Cart_create:"]
            .iter()
            .any(|name| line.starts_with(name));
    }
    Ok(Arc::new(Allprof { ranks, makes, origin: origin.unwrap_or(0), notes: Arc::default() }))
}

struct Allprof {
    ranks: Arc<Ranks>,
    makes: bool,
    /// When rank 0 began, in picoseconds since 1970 or as the tracer's clock counts.
    origin: u128,
    notes: Arc<Notes>,
}

impl Script for Allprof {
    fn ranks(&self) -> u32 {
        self.ranks.len()
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        let maker = Maker {
            ranks: Arc::clone(&self.ranks),
            makes: self.makes,
            origin: self.origin,
            rank,
            notes: Arc::clone(&self.notes),
            met: RankNotes::new(rank),
            ready: VecDeque::new(),
            at: 0,
            resumed: None,
            begun: 0,
            requests: Requests::new(),
            comms: Comms::new(self.ranks.len()),
        };
        Box::new(Reader { lines: RankLines::new(&self.ranks, rank), maker })
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        format!("{}:{position}", self.ranks.name(rank))
    }

    fn makes_communicators(&self) -> bool {
        self.makes
    }

    fn noted(&self) -> Vec<u64> {
        self.notes.words()
    }

    fn note(&self, noted: &[u64]) {
        self.notes.add(noted);
    }

    fn dropped(&self) -> Vec<Dropped> {
        let text = |kind: u64, n: u64| match kind {
            UNOPENED => format!(
                "{n} waits name handles of requests that are not open, while others are: handles that were copied cannot be followed"
            ),
            GUESSED => format!(
                "{n} communicators are taken in the order in which they were made, since the trace does not say which handle is whose"
            ),
            FOREIGN => format!("{n} calls on communicators whose making is not replayed are left out"),
            OTHER => format!("{n} calls of functions that are not known are left out"),
            _ => format!("{n} calls of MPI_{} are left out", UNUSED.get(kind as usize).unwrap_or(&"")),
        };
        let dropped =
            |(kind, n)| Dropped { text: text(kind, n), messages: !matches!(kind, UNOPENED | GUESSED) };
        self.notes.totals().into_iter().map(dropped).collect()
    }
}

struct Reader {
    lines: RankLines,
    maker: Maker,
}

impl Calls for Reader {
    fn time(&self) -> Option<Ps> {
        self.maker.resumed.and_then(|time| self.maker.common(time))
    }

    fn recorded(&self) -> Option<Recorded> {
        let (begin, end) = (self.maker.common(self.maker.begun)?, self.time()?);
        Some(Recorded { begin, end: end.max(begin), at: None })
    }

    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        loop {
            if let Some(call) = self.maker.ready.pop_front() {
                return Ok(Some(call));
            }
            let Some((number, line)) = self.lines.next_line()? else { return Ok(None) };
            self.maker.at = number;
            self.maker.line(line)?;
        }
    }
}

/// Makes calls of a rank's lines.
struct Maker {
    ranks: Arc<Ranks>,
    /// Communicators are made.
    makes: bool,
    origin: u128,
    rank: RankId,
    notes: Arc<Notes>,
    met: RankNotes,
    /// Calls that are made and not handed over.
    ready: VecDeque<(Call, u32)>,
    /// Number of the present line.
    at: u64,
    /// When the rank went on computing; nothing before the first call.
    resumed: Option<u128>,
    /// When the last call began.
    begun: u128,
    /// By the addresses of their handles.
    requests: Requests<u64>,
    comms: Comms,
}

/// What a line has become.
enum Done {
    /// A call that communicates: it ends computation.
    Call,
    /// It belongs to computation.
    Nothing,
}

/// Picoseconds that a rank may begin before rank 0 does: the clocks of machines differ.
const BEFORE: u128 = 3_600_000_000_000_000;

impl Maker {
    /// A time in picoseconds since an hour before rank 0 began; since 1970 it is too long for 64 bits.
    fn common(&self, time: u128) -> Option<Ps> {
        Ps::try_from((time + BEFORE).saturating_sub(self.origin)).ok()
    }

    fn line(&mut self, line: &str) -> Result<(), Damage> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let made = self.ready.len();
        let refused = |what: String| wrong(&self.ranks.name(self.rank), self.at, what);
        let fields = Fields::of(line).map_err(refused)?;
        let (start, end) = fields.times().map_err(refused)?;
        let done = self.call(&fields).map_err(|what| {
            wrong(&self.ranks.name(self.rank), self.at, format!("{}: {what}", fields.name))
        })?;
        let since = match (self.resumed, start, end) {
            (None, ..) => None,
            (Some(since), Some(start), _) => Some(start.saturating_sub(since)),
            (Some(_), None, _) => None,
        };
        if let Done::Nothing = done {
            // The first call begins the time of the rank, whatever it is.
            self.resumed = self.resumed.or(end);
            return Ok(());
        }
        if let Some(time) = since.filter(|&time| time > 0) {
            let short = Ps::try_from(time).ok().filter(|&time| time <= MAX_TIME);
            let time = short.ok_or_else(|| {
                let what = format!("a computation of {time} ps is too long");
                wrong(&self.ranks.name(self.rank), self.at, what)
            })?;
            self.ready.insert(made, (Call::Compute(time), self.position()));
        }
        self.resumed = end.or(self.resumed);
        self.begun = start.or(self.resumed).unwrap_or(0);
        Ok(())
    }

    fn position(&self) -> u32 {
        u32::try_from(self.at).unwrap_or(u32::MAX)
    }

    fn push(&mut self, call: Call) {
        self.ready.push_back((call, self.position()));
    }

    fn drop_it(&mut self, kind: u64) {
        self.met.met(kind, &self.notes);
    }

    fn call(&mut self, f: &Fields<'_>) -> Result<Done, String> {
        match f.name {
            "MPI_Send" | "MPI_Recv" | "MPI_Isend" | "MPI_Irecv" | "MPI_Ssend" | "MPI_Issend"
            | "MPI_Bsend" | "MPI_Ibsend" | "MPI_Rsend" | "MPI_Irsend" | "MPI_Send_init"
            | "MPI_Ssend_init" | "MPI_Bsend_init" | "MPI_Rsend_init" | "MPI_Recv_init" => self.transfer(f),
            "MPI_Sendrecv" | "MPI_Sendrecv_replace" => self.sendrecv(f),
            "MPI_Probe" => {
                if let Some((comm, mpich)) = self.comm(f, 4)? {
                    let (peer, tag) = (peer(f.whole(2)?, true, mpich)?, tag(f.whole(3)?, true)?);
                    let peer = self.peer(comm, peer);
                    self.push(Call::Probe(Envelope { peer, tag, bytes: UNKNOWN_BYTES, comm: comm.number() }));
                }
                Ok(Done::Call)
            }
            "MPI_Wait" | "MPI_Waitall" | "MPI_Waitany" | "MPI_Waitsome" | "MPI_Start" | "MPI_Startall"
            | "MPI_Request_free" => self.completion(f),
            "MPI_Comm_dup" | "MPI_Comm_split" | "MPI_Cart_create" => self.make(f),
            "MPI_Finalize" => Ok(Done::Call),
            _ => self.collective(f),
        }
    }

    /// The communicator in a field, and whether its handle is one of MPICH's; none if it cannot be known.
    fn comm(&mut self, f: &Fields<'_>, field: usize) -> Result<Option<(Found, bool)>, String> {
        let handle: Handle = f.comm(field)?;
        let ranks = self.ranks.len();
        if handle.size > ranks {
            return Err(format!(
                "the communicator has {} ranks, but there are files of {ranks}",
                handle.size
            ));
        }
        if handle.rank >= handle.size {
            return Err(format!("rank {} is not among the {} of the communicator", handle.rank, handle.size));
        }
        let (found, guessed) = self.comms.find(handle);
        if guessed {
            self.drop_it(GUESSED);
        }
        if found == Found::Unknown {
            self.drop_it(FOREIGN);
            return Ok(None);
        }
        Ok(Some((found, handle.is_mpich())))
    }

    /// A rank of the communicator of a call: in one of the caller alone, the caller itself.
    fn peer(&self, comm: Found, peer: CommRank) -> CommRank {
        if comm == Found::Alone && peer.number() == 0 { CommRank::in_world(self.rank) } else { peer }
    }

    /// Begins a request. If its handle has an open one, a test must have ended that.
    fn open(&mut self, handle: u64) -> Request {
        if let Some(ended) = self.requests.close(&handle) {
            self.push(Call::Wait(ended));
        }
        self.requests.open(handle)
    }

    fn transfer(&mut self, f: &Fields<'_>) -> Result<Done, String> {
        let Some((comm, mpich)) = self.comm(f, 7)? else { return Ok(Done::Call) };
        let receives = matches!(f.name, "MPI_Recv" | "MPI_Irecv" | "MPI_Recv_init");
        let (peer, tag) = (peer(f.whole(5)?, receives, mpich)?, tag(f.whole(6)?, receives)?);
        let peer = self.peer(comm, peer);
        let envelope = Envelope { peer, tag, bytes: f.bytes(3, 4)?, comm: comm.number() };
        let mode = match f.name {
            "MPI_Ssend" | "MPI_Issend" | "MPI_Ssend_init" => Mode::Synchronous,
            "MPI_Bsend" | "MPI_Ibsend" | "MPI_Rsend" | "MPI_Irsend" | "MPI_Bsend_init" | "MPI_Rsend_init" => {
                Mode::Buffered
            }
            _ => Mode::Standard,
        };
        let call = match f.name {
            "MPI_Recv" => Call::Recv(envelope),
            "MPI_Irecv" => Call::Irecv(envelope, self.open(f.number(8)?)),
            "MPI_Recv_init" => Call::RecvInit(envelope, self.requests.keep(f.number(8)?)),
            name if name.ends_with("_init") => {
                Call::SendInit(envelope, mode, self.requests.keep(f.number(8)?))
            }
            name if name.starts_with("MPI_I") => Call::Isend(envelope, mode, self.open(f.number(8)?)),
            _ => Call::Send(envelope, mode),
        };
        self.push(call);
        Ok(Done::Call)
    }

    fn sendrecv(&mut self, f: &Fields<'_>) -> Result<Done, String> {
        let replaces = f.name == "MPI_Sendrecv_replace";
        let Some((comm, mpich)) = self.comm(f, if replaces { 9 } else { 12 })? else { return Ok(Done::Call) };
        let number = comm.number();
        let end = |place: usize, size: (usize, usize), receives: bool| {
            let (peer, tag) = (peer(f.whole(place)?, receives, mpich)?, tag(f.whole(place + 1)?, receives)?);
            let bytes = f.bytes(size.0, size.1)?;
            Ok::<_, String>(Envelope { peer: self.peer(comm, peer), tag, bytes, comm: number })
        };
        let sent = end(5, (3, 4), false)?;
        let received = if replaces { end(7, (3, 4), true)? } else { end(10, (8, 9), true)? };
        self.push(Call::SendRecv(sent, received));
        Ok(Done::Call)
    }

    fn completion(&mut self, f: &Fields<'_>) -> Result<Done, String> {
        let (count, first) = match f.name {
            "MPI_Wait" | "MPI_Start" | "MPI_Request_free" => (1, f.number(2)?),
            _ => (f.number(2)?, f.number(3)?),
        };
        let open = self.requests.at_addresses(first, count);
        match f.name {
            "MPI_Start" | "MPI_Startall" => {
                let kept: Vec<Request> = open.iter().filter_map(|name| self.requests.kept(name)).collect();
                self.push(Call::Start(kept.into()));
            }
            "MPI_Request_free" => {
                for name in open {
                    let freed = self.requests.close(&name).or_else(|| self.requests.release(&name));
                    freed.into_iter().for_each(|request| self.push(Call::RequestFree(request)));
                }
            }
            _ if open.is_empty() => {
                // Null requests may be waited for. While nothing is open they cannot be anything else.
                if count > 0 && !self.requests.none_is_open() {
                    self.drop_it(UNOPENED);
                }
            }
            "MPI_Waitany" | "MPI_Waitsome" => {
                let requests: Vec<Request> =
                    open.iter().filter_map(|name| self.requests.look(name)).collect();
                self.push(Call::Waitany { requests: requests.into(), completed: [].into() });
                // Which one it was is not recorded: the first counts as complete.
                self.requests.close(&open[0]);
            }
            _ => {
                let end = |name: &u64| self.requests.close(name).or_else(|| self.requests.kept(name));
                let requests: Vec<Request> = open.iter().filter_map(end).collect();
                self.push(Call::Waitall(requests.into()));
            }
        }
        Ok(Done::Call)
    }

    fn make(&mut self, f: &Fields<'_>) -> Result<Done, String> {
        if !self.makes {
            return Err("rank 0 makes no communicator".to_owned());
        }
        let Some((comm, _)) = self.comm(f, 2)? else { return Ok(Done::Call) };
        let (parent, Some(size)) = (comm.number(), self.comms.size(comm)) else { return Ok(Done::Call) };
        match f.name {
            "MPI_Comm_split" => {
                // Undefined colors are negative.
                let color = u32::try_from(f.whole(3)?).ok();
                let new = self.comms.make(None, color.is_some());
                self.push(Call::CommSplit { comm: parent, color, key: f.whole(4)?, new });
            }
            _ => {
                let new = self.comms.make(Some(size), true);
                self.push(Call::CommDup { comm: parent, new });
            }
        }
        Ok(Done::Call)
    }

    /// A call that is not replayed: computation, or counted because it communicates, as what is not known may.
    fn other(&mut self, name: &str) -> Done {
        if is_local(name) {
            return Done::Nothing;
        }
        self.drop_it(UNUSED.iter().position(|&unused| unused == name).map_or(OTHER, |kind| kind as u64));
        Done::Call
    }

    fn collective(&mut self, f: &Fields<'_>) -> Result<Done, String> {
        use CollectiveKind as K;
        // A call with an I has the arguments of the one without, and a request behind the communicator.
        let begun = f.name.strip_prefix("MPI_I").and_then(|rest| Some((rest, rest.as_bytes().first()?)));
        let (name, posted) = match begun {
            Some((rest, first)) if first.is_ascii_lowercase() => (rest, true),
            _ => (f.name.strip_prefix("MPI_").unwrap_or(f.name), false),
        };
        let kinds = [
            ("barrier", K::Barrier, 2),
            ("bcast", K::Bcast, 6),
            ("reduce", K::Reduce, 8),
            ("allreduce", K::Allreduce, 7),
            ("scan", K::Scan, 7),
            ("exscan", K::Exscan, 7),
            ("gather", K::Gather, 9),
            ("scatter", K::Scatter, 9),
            ("allgather", K::Allgather, 8),
            ("alltoall", K::Alltoall, 8),
            ("gatherv", K::Gatherv, 12),
            ("scatterv", K::Scatterv, 12),
            ("allgatherv", K::Allgatherv, 11),
            ("alltoallv", K::Alltoallv, 14),
            ("reduce_scatter", K::ReduceScatter, 8),
        ];
        let Some(&(_, kind, at)) = kinds.iter().find(|(known, ..)| name.eq_ignore_ascii_case(known)) else {
            return Ok(self.other(f.name.strip_prefix("MPI_").unwrap_or(f.name)));
        };
        let Some((comm, _)) = self.comm(f, at)? else { return Ok(Done::Call) };
        let Handle { rank: me, size, .. } = f.comm(at)?;
        let shape = |bytes| Shape::new(kind, comm.number(), bytes);
        let mut shape = match kind {
            K::Barrier => shape(0),
            K::Bcast => shape(f.bytes(3, 4)?).root(f.root(5)?),
            K::Reduce => shape(f.bytes(4, 5)?).root(f.root(7)?),
            K::Allreduce | K::Scan | K::Exscan => shape(f.bytes(4, 5)?),
            K::Gather => {
                let root = f.root(8)?;
                // What the root sends to itself may be in place, and has no size then.
                shape(if me == root { f.bytes(6, 7)? } else { f.bytes(3, 4)? }).root(root)
            }
            K::Scatter => {
                let root = f.root(8)?;
                shape(if me == root { f.bytes(3, 4)? } else { f.bytes(6, 7)? }).root(root)
            }
            K::Allgather | K::Alltoall => shape(f.bytes(6, 7)?),
            K::Allgatherv => shape(0).counts(f.counts(7, 10, size)?),
            K::ReduceScatter => shape(0).counts(f.counts(5, 6, size)?),
            K::Alltoallv => {
                let mut counts = f.counts(4, 7, size)?;
                counts.extend(f.counts(10, 13, size)?);
                shape(0).counts(counts)
            }
            _ => {
                let root = f.root(11)?;
                let gathers = kind == K::Gatherv;
                let counts = match (me == root, gathers) {
                    (true, true) => f.counts(7, 10, size)?,
                    (true, false) => f.counts(4, 7, size)?,
                    (false, true) => own_count(size, me, f.bytes(3, 4)?),
                    (false, false) => own_count(size, me, f.bytes(9, 10)?),
                };
                shape(0).root(root).counts(counts)
            }
        };
        if comm == Found::Alone {
            return Ok(Done::Call);
        }
        if posted {
            shape.request = Some(self.open(f.number(at + 1)?));
        }
        self.push(shape.call());
        Ok(Done::Call)
    }
}

/// The numbers of nobody and anybody differ between Open MPI (-2 and -1) and MPICH (-1 and -2).
fn peer(number: i64, receives: bool, mpich: bool) -> Result<CommRank, String> {
    let (null, any) = if mpich { (-1, -2) } else { (-2, -1) };
    match number {
        n if n == null => Ok(PROC_NULL),
        n if n == any && receives => Ok(ANY_PEER),
        n => match u32::try_from(n) {
            Ok(rank) if rank < PROC_NULL.number() => Ok(CommRank::new(rank)),
            _ => Err(format!("there is no rank {n}")),
        },
    }
}

fn tag(number: i64, receives: bool) -> Result<u32, String> {
    match number {
        -1 if receives => Ok(ANY_TAG),
        n => u32::try_from(n).ok().filter(|&t| t != ANY_TAG).ok_or_else(|| format!("{n} is no tag")),
    }
}
