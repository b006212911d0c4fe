//! Writes MPI calls as a time-independent trace of SimGrid.
//!
//! Calls on communicators other than that of all ranks have no words there: their messages are written between ranks of the job, with tags above all
//! others, and their collectives as the messages of the algorithm that a library takes. So every message of the program is in the trace. What is
//! written otherwise than it was is counted.

use super::super::words::picoseconds;
use crate::program::{
    ANY_TAG, Damage, UNKNOWN_BYTES,
    collective::{Chooser, How, Piece, Sink, Task, Wait},
    lower::comms::{Communicators, Handles, resolve},
    mpi::{
        ANY_PEER, Call, Collective, CollectiveKind, CommRank, Envelope, Mode, OneSided, PROC_NULL, Request,
        Script,
    },
    ranks::WriteError,
};
use base::{
    index::RankId,
    sorted::SortedMap,
    time::{Ps, S},
};
use std::{collections::VecDeque, fmt::Write as _, io::Write, mem::take, sync::Arc};

/// SimGrid's numbers of any source and any tag.
const ANY: (i64, i64) = (-555, -444);

/// SimGrid's number of the type of a byte.
const BYTE: u8 = 6;

/// Stands for all collectives of a communicator where tags are kept.
const COLLECTIVES: u32 = u32::MAX;

/// Bytes that are written at a time.
const CHUNK: usize = 1 << 16;

/// Source, destination and tag: the name of a request.
type Name = (i64, i64, i64);

/// What was written otherwise than it was; all zero if the trace says exactly what the calls do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Losses {
    modes: u64,
    waits_for_any: u64,
    probes: u64,
    one_sided: u64,
    blocking: u64,
    expanded: u64,
    uniform: u64,
    order: u64,
    open_tags: u64,
    rounded: u64,
}

/// Writes the ranks of a script.
pub struct Writer<'a> {
    script: &'a dyn Script,
    chooser: Chooser,
    speed: f64,
    comms: Communicators,
    /// New tags by communicator and tag.
    tags: SortedMap<(u32, u32), u32>,
    losses: Losses,
}

impl<'a> Writer<'a> {
    /// A writer for a program whose ranks do `speed` operations a second. `chooser` has the algorithms of collectives on communicators.
    /// All calls are read once.
    ///
    /// # Errors
    /// If the calls cannot be read, or there are no tags left.
    pub fn new(script: &'a dyn Script, speed: f64, chooser: Chooser) -> Result<Self, Damage> {
        let comms = resolve(script)?;
        let (mut tags, mut largest) = (SortedMap::new(), 0);
        for rank in RankId::first(script.ranks()) {
            let (mut calls, mut handles) = (script.open(rank), Handles::new(rank));
            while let Some((call, _)) = calls.next()? {
                for end in ends(&call).into_iter().flatten().filter(|end| end.tag != ANY_TAG) {
                    match handles.id(end.comm)? {
                        0 => largest = largest.max(end.tag),
                        id => _ = tags.insert((id, end.tag), 0),
                    }
                }
                if let Some(collective) = collective_of(&call) {
                    let id = handles.id(collective.comm)?;
                    if id != 0 || collective.neighbours.is_some() {
                        tags.insert((id, COLLECTIVES), 0);
                    }
                }
                handles.follow(&call, rank, &comms);
            }
        }
        for tag in tags.values_mut() {
            largest = largest.checked_add(1).filter(|&t| t != ANY_TAG).ok_or_else(|| {
                Damage("there are no tags left for the messages of communicators".to_owned())
            })?;
            *tag = largest;
        }
        Ok(Self { script, chooser, speed, comms, tags, losses: Losses::default() })
    }

    /// Writes one rank.
    ///
    /// # Errors
    /// If its calls cannot be read or the lines not be written.
    pub fn rank(&mut self, rank: RankId, out: &mut dyn Write) -> Result<(), WriteError> {
        let script = self.script;
        let mut lines = Lines {
            writer: self,
            rank,
            handles: Handles::new(rank),
            text: format!("{rank} init\n"),
            requests: SortedMap::new(),
            open: SortedMap::new(),
            opened: 0,
        };
        let mut calls = script.open(rank);
        while let Some((call, position)) = calls.next().map_err(WriteError::Damage)? {
            lines.call(&call).map_err(|what| {
                WriteError::Damage(Damage(format!("{}: {what}", script.describe(rank, position))))
            })?;
            lines.handles.follow(&call, rank, &lines.writer.comms);
            if lines.text.len() > CHUNK {
                out.write_all(take(&mut lines.text).as_bytes()).map_err(WriteError::Io)?;
            }
        }
        let _ = writeln!(lines.text, "{rank} finalize");
        out.write_all(lines.text.as_bytes()).map_err(WriteError::Io)
    }

    /// One line for each kind of call that was written otherwise than it was.
    #[must_use]
    pub fn losses(&self) -> Vec<String> {
        let l = &self.losses;
        let reported = [
            (l.modes, "synchronous or buffered sends became ordinary ones"),
            (l.waits_for_any, "waits for any of several became waits for those that were complete"),
            (l.probes, "probes were left out"),
            (l.one_sided, "one-sided calls were left out: the format has none"),
            (l.blocking, "non-blocking collectives became blocking ones"),
            (l.expanded, "collectives on communicators or among neighbours became their messages"),
            (
                l.uniform,
                "collectives became the nearest ones that the format has (all-reduce, alltoallv, reducescatter)",
            ),
            (l.order, "waits are for an earlier request with the same ranks and tag"),
            (l.open_tags, "receives of any tag may now match messages of communicators"),
            (l.rounded, "long computations were rounded in their 16th digit"),
        ];
        reported.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect()
    }
}

/// The ends of a call's messages.
fn ends(call: &Call) -> [Option<Envelope>; 2] {
    match *call {
        Call::Send(e, _) | Call::Isend(e, ..) | Call::Recv(e) | Call::Irecv(e, _) => [Some(e), None],
        Call::SendInit(e, ..) | Call::RecvInit(e, _) => [Some(e), None],
        Call::SendRecv(s, r) => [Some(s), Some(r)],
        _ => [None, None],
    }
}

/// The collective of a call. Those that make communicators send what a replay gives them: 8 bytes for all.
fn collective_of(call: &Call) -> Option<Collective> {
    let (kind, comm) = match call {
        Call::Collective(collective) => return Some(collective.clone()),
        Call::CommDup { comm, .. } | Call::CommCreate { comm, .. } => (CollectiveKind::Allreduce, *comm),
        Call::CommSplit { comm, .. } => (CollectiveKind::Allgather, *comm),
        _ => return None,
    };
    let root = CommRank::new(0);
    Some(Collective {
        kind,
        comm,
        root,
        bytes: 8,
        counts: None,
        neighbours: None,
        request: None,
        algorithm: None,
    })
}

/// A request that a rank may wait for.
#[derive(Clone, Copy)]
enum Slot {
    /// It is in the trace under this name.
    Open(Name),
    /// Nothing is left to wait for.
    Done,
    /// A persistent one, and the name of what it has begun.
    Kept(Envelope, bool, Option<Name>),
}

/// The lines of one rank.
struct Lines<'w, 'a> {
    writer: &'w mut Writer<'a>,
    rank: RankId,
    handles: Handles,
    text: String,
    requests: SortedMap<Request, Slot>,
    /// Requests of each name in the order in which a reader ends them.
    open: SortedMap<Name, VecDeque<Request>>,
    /// Requests of all names.
    opened: usize,
}

type Done = Result<(), String>;

impl Lines<'_, '_> {
    fn line(&mut self, words: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.text, "{} {words}", self.rank);
    }

    fn call(&mut self, call: &Call) -> Done {
        match call {
            Call::Compute(time) => self.compute(*time),
            Call::Send(e, mode) => {
                self.mode(*mode);
                self.transfer("send", e, true)?;
            }
            Call::Recv(e) => _ = self.transfer("recv", e, false)?,
            Call::Isend(e, mode, request) => {
                self.mode(*mode);
                self.begin(*request, e, true)?;
            }
            Call::Irecv(e, request) => self.begin(*request, e, false)?,
            Call::SendRecv(sent, received) => self.both(sent, received)?,
            Call::SendInit(e, mode, request) => {
                self.mode(*mode);
                self.requests.insert(*request, Slot::Kept(*e, true, None));
            }
            Call::RecvInit(e, request) => {
                self.requests.insert(*request, Slot::Kept(*e, false, None));
            }
            Call::Start(list) => {
                for &request in list.iter() {
                    if let Some(&Slot::Kept(e, sends, None)) = self.requests.get(&request) {
                        let name = self.post(request, &e, sends)?;
                        self.requests.insert(request, Slot::Kept(e, sends, name));
                    }
                }
            }
            Call::RequestFree(request) => _ = self.requests.remove(request),
            Call::Wait(request) => self.wait(&[*request])?,
            Call::Waitall(list) => self.wait(list)?,
            Call::Test { completed } => self.wait(completed)?,
            Call::Waitany { requests, completed } => {
                self.writer.losses.waits_for_any += u64::from(requests.len() > 1);
                let all = if completed.is_empty() { &requests[..requests.len().min(1)] } else { completed };
                self.wait(all)?;
            }
            Call::Probe(_) => self.writer.losses.probes += 1,
            Call::CommDefine { .. } | Call::CommFree(_) | Call::Mark(_) => {}
            Call::OneSided(call) => {
                self.writer.losses.one_sided += 1;
                if let OneSided::Transfer { request: Some(request), .. } = call {
                    self.requests.insert(*request, Slot::Done);
                }
            }
            Call::Collective(_) | Call::CommDup { .. } | Call::CommSplit { .. } | Call::CommCreate { .. } => {
                if let Some(collective) = collective_of(call) {
                    self.collective(&collective)?;
                }
            }
        }
        Ok(())
    }

    fn mode(&mut self, mode: Mode) {
        self.writer.losses.modes += u64::from(mode != Mode::Standard);
    }

    fn compute(&mut self, time: Ps) {
        // Multiplied first: whole nanoseconds stay whole numbers.
        let flops = time as f64 * self.writer.speed / S as f64;
        self.writer.losses.rounded += u64::from(picoseconds(flops / self.writer.speed) != time);
        self.line(format_args!("compute {flops}"));
    }

    /// Partner and tag as the trace numbers them; `None` for the null process.
    fn route(&self, e: &Envelope) -> Result<Option<(i64, i64)>, String> {
        let id = self.handles.id(e.comm).map_err(|Damage(what)| what)?;
        let tag = match e.tag {
            ANY_TAG => ANY.1,
            tag => self.writer.tags.get(&(id, tag)).copied().unwrap_or(tag).into(),
        };
        Ok(match e.peer {
            PROC_NULL => None,
            ANY_PEER => Some((ANY.0, tag)),
            peer => Some((self.in_job(id, peer)?.number().into(), tag)),
        })
    }

    fn in_job(&self, id: u32, peer: CommRank) -> Result<RankId, String> {
        let members = self.writer.comms.members(id);
        let found = match &members {
            Some(members) => members.get(peer.index()).copied(),
            None => Some(peer.of_world()).filter(|r| r.number() < self.writer.script.ranks()),
        };
        found.ok_or_else(|| format!("rank {peer} is not among the ranks of its communicator"))
    }

    /// Writes a transfer: its name, unless it is with nobody.
    fn transfer(&mut self, action: &str, e: &Envelope, sends: bool) -> Result<Option<Name>, String> {
        let Some((partner, tag)) = self.route(e)? else { return Ok(None) };
        self.writer.losses.open_tags += u64::from(tag == ANY.1 && !self.writer.tags.is_empty());
        // A size that is not known is negative.
        if e.bytes == UNKNOWN_BYTES {
            self.line(format_args!("{action} {partner} {tag} -1"));
        } else {
            self.line(format_args!("{action} {partner} {tag} {}", e.bytes));
        }
        let me = i64::from(self.rank.number());
        Ok(Some(if sends { (me, partner, tag) } else { (partner, me, tag) }))
    }

    /// Writes a transfer that does not block and puts it behind others of its name.
    fn post(&mut self, request: Request, e: &Envelope, sends: bool) -> Result<Option<Name>, String> {
        let name = self.transfer(if sends { "isend" } else { "irecv" }, e, sends)?;
        if let Some(name) = name {
            self.open.entry(name).or_default().push_back(request);
            self.opened += 1;
        }
        Ok(name)
    }

    fn begin(&mut self, request: Request, e: &Envelope, sends: bool) -> Done {
        let name = self.post(request, e, sends)?;
        self.requests.insert(request, name.map_or(Slot::Done, Slot::Open));
        Ok(())
    }

    /// The format's own action has no tags.
    fn both(&mut self, sent: &Envelope, received: &Envelope) -> Done {
        if let (Some((to, 0)), Some((from, 0))) = (self.route(sent)?, self.route(received)?)
            && from >= 0
            && received.bytes != UNKNOWN_BYTES
        {
            self.line(format_args!("sendrecv {} {to} {} {from}", sent.bytes, received.bytes));
            return Ok(());
        }
        let received = self.transfer("irecv", received, false)?;
        let sent = self.transfer("isend", sent, true)?;
        for name in [sent, received].into_iter().flatten() {
            self.wait_for(name, None);
        }
        Ok(())
    }

    /// Waits for the oldest request of a name, which `request` should be.
    fn wait_for(&mut self, name: Name, request: Option<Request>) {
        let list = self.open.get(&name);
        let at = list.and_then(|list| list.iter().position(|&r| Some(r) == request));
        // The request of a call that waits at once stands behind all others of its name.
        let first = match request {
            Some(_) => at == Some(0),
            None => list.is_none_or(VecDeque::is_empty),
        };
        self.writer.losses.order += u64::from(!first);
        if let Some(list) = self.open.get_mut(&name) {
            self.opened -= usize::from(at.and_then(|at| list.remove(at)).is_some());
            if list.is_empty() {
                self.open.remove(&name);
            }
        }
        let (source, destination, tag) = name;
        self.line(format_args!("wait {source} {destination} {tag}"));
    }

    fn wait(&mut self, requests: &[Request]) -> Done {
        let mut names = Vec::with_capacity(requests.len());
        for &request in requests {
            match self.requests.get(&request).copied() {
                Some(Slot::Open(name)) => {
                    self.requests.remove(&request);
                    names.push((name, request));
                }
                Some(Slot::Done) => _ = self.requests.remove(&request),
                Some(Slot::Kept(e, sends, name)) => {
                    self.requests.insert(request, Slot::Kept(e, sends, None));
                    names.extend(name.map(|name| (name, request)));
                }
                None => return Err(format!("there is no open request {request}")),
            }
        }
        if names.len() > 1 && names.len() == self.opened {
            self.open.clear();
            self.opened = 0;
            self.line(format_args!("waitall"));
            return Ok(());
        }
        names.into_iter().for_each(|(name, request)| self.wait_for(name, Some(request)));
        Ok(())
    }

    fn collective(&mut self, c: &Collective) -> Done {
        if let Some(request) = c.request {
            self.writer.losses.blocking += 1;
            self.requests.insert(request, Slot::Done);
        }
        let (id, me) = self.handles.found(c.comm).map_err(|Damage(what)| what)?;
        if id != 0 || c.neighbours.is_some() {
            self.writer.losses.expanded += 1;
            return self.messages(c, id, me);
        }
        self.whole(c)
    }

    /// A collective of all ranks.
    fn whole(&mut self, c: &Collective) -> Done {
        use CollectiveKind as K;
        let (bytes, root) = (c.bytes, c.root);
        let ranks = self.writer.script.ranks() as usize;
        let counts = c.counts.as_deref().unwrap_or(&[]);
        let own = counts.get(self.rank.index()).copied().unwrap_or(0);
        match c.kind {
            K::Barrier => self.line(format_args!("barrier")),
            K::Bcast => self.line(format_args!("bcast {bytes} {root}")),
            K::Reduce => self.line(format_args!("reduce {bytes} 0 {root}")),
            K::Allreduce => self.line(format_args!("allreduce {bytes} 0")),
            K::Scan => self.line(format_args!("scan {bytes} 0")),
            K::Exscan => self.line(format_args!("exscan {bytes} 0")),
            K::Alltoall => self.line(format_args!("alltoall {bytes} {bytes}")),
            K::Allgather => self.line(format_args!("allgather {bytes} {bytes}")),
            K::Gather => self.line(format_args!("gather {bytes} {bytes} {root}")),
            K::Scatter => self.line(format_args!("scatter {bytes} {bytes} {root}")),
            // Types tell a reader of few ranks that these are the counts of all.
            K::Gatherv => self.line(format_args!("gatherv {own}{} {root} {BYTE} {BYTE}", Counts(counts))),
            K::Scatterv => self.line(format_args!("scatterv{} {own} {root} {BYTE} {BYTE}", Counts(counts))),
            K::Allgatherv => self.line(format_args!("allgatherv {own}{}", Counts(counts))),
            K::ReduceScatter => self.line(format_args!("reducescatter{} 0", Counts(counts))),
            K::ReduceScatterBlock => {
                self.writer.losses.uniform += 1;
                self.line(format_args!("reducescatter{} 0", Counts(&vec![bytes; ranks])));
            }
            K::Alltoallv | K::Alltoallw => {
                self.writer.losses.uniform += u64::from(c.kind == K::Alltoallw);
                let (sent, received) = counts.split_at(counts.len() / 2);
                let sum = |counts: &[u64]| counts.iter().fold(0, |sum: u64, &n| sum.saturating_add(n));
                let (out, back) = (sum(sent), sum(received));
                self.line(format_args!("alltoallv {out}{} {back}{}", Counts(sent), Counts(received)));
            }
            K::NeighborAllgather | K::NeighborAlltoall => {
                return self.messages(c, 0, CommRank::in_world(self.rank));
            }
        }
        Ok(())
    }

    /// A collective as the messages of its rounds.
    fn messages(&mut self, c: &Collective, id: u32, me: CommRank) -> Done {
        let size = self.writer.comms.members(id).map_or(self.writer.script.ranks(), |m| m.len() as u32);
        let mut task = Task::new(c, me, size)?;
        let algorithm = self.writer.chooser.choose(&mut task, c.algorithm)?;
        let tag = self.writer.tags.get(&(id, COLLECTIVES)).copied().unwrap_or(0);
        let rounds = if task.is_empty() { 0 } else { (algorithm.rounds)(&task) };
        let (mut posted, members) = (VecDeque::new(), self.writer.comms.members(id));
        for number in 0..rounds {
            let mut round =
                Round { task: &task, members: members.clone(), transfers: Vec::new(), wait: Wait::All };
            (algorithm.round)(&task, number, &mut round);
            let me = i64::from(self.rank.number());
            for (peer, bytes, sends) in round.transfers {
                let (peer, tag) = (i64::from(peer.number()), i64::from(tag));
                self.line(format_args!("{} {peer} {tag} {bytes}", if sends { "isend" } else { "irecv" }));
                posted.push_back(if sends { (me, peer, tag) } else { (peer, me, tag) });
            }
            match if number + 1 < rounds { round.wait } else { Wait::All } {
                Wait::All => posted.drain(..).for_each(|name| self.wait_for(name, None)),
                Wait::One(place) => {
                    let name = posted.remove(place).ok_or("a round waits for nothing")?;
                    self.wait_for(name, None);
                }
                Wait::None => {}
            }
        }
        Ok(())
    }
}

/// Counts with a space before each.
struct Counts<'a>(&'a [u64]);

impl std::fmt::Display for Counts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|count| write!(f, " {count}"))
    }
}

/// Transfers of a round: peer in the job, bytes, and whether it is sent.
struct Round<'a> {
    task: &'a Task,
    members: Option<Arc<[RankId]>>,
    transfers: Vec<(RankId, u64, bool)>,
    wait: Wait,
}

impl Round<'_> {
    fn add(&mut self, peer: CommRank, piece: Piece, sends: bool) {
        if peer != PROC_NULL {
            let peer = self.members.as_ref().map_or(peer.of_world(), |m| m[peer.index()]);
            self.transfers.push((peer, self.task.bytes_of(piece, sends), sends));
        }
    }
}

impl Sink for Round<'_> {
    fn recv(&mut self, peer: CommRank, piece: Piece, _: How) {
        self.add(peer, piece, false);
    }

    fn send(&mut self, peer: CommRank, piece: Piece) {
        self.add(peer, piece, true);
    }

    fn wait(&mut self, place: usize) {
        self.wait = Wait::One(place);
    }

    fn open(&mut self) {
        self.wait = Wait::None;
    }
}
