//! Calls of a rank's records.

use super::{
    comms::Comms,
    file::Index,
    kinds::{FOREIGN, THREADS, UNOPENED, UNUSED},
    record::{Record, Status},
    windows::{Made, Windows},
};
use crate::program::{
    ANY_TAG, UNKNOWN_BYTES,
    mpi::{ANY_PEER, Call, CollectiveKind as K, CommRank, Envelope, Mode, PROC_NULL, Request},
    traces::{
        calls::{Found, Shape, own_count},
        notes::{Notes, RankNotes},
        requests::Requests,
        words::bytes,
    },
};
use base::index::RankId;
use std::{collections::VecDeque, sync::Arc};

/// Requests below this are none, or the null request.
const FIRST_REQUEST: i64 = 2;

/// Makes calls of a rank's records.
pub(super) struct Maker {
    index: Arc<Index>,
    rank: RankId,
    notes: Arc<Notes>,
    met: RankNotes,
    /// Calls that are made and not handed over.
    pub(super) ready: VecDeque<(Call, u32)>,
    /// Number of the present record.
    at: u32,
    /// When the last call was over.
    resumed: Option<u64>,
    /// When it began.
    begun: u64,
    requests: Requests<i64>,
    comms: Comms,
    windows: Windows,
}

type Outcome = Result<(), String>;

impl Maker {
    /// When the last call that was read was over.
    pub(super) fn resumed(&self) -> Option<u64> {
        self.resumed
    }

    /// When it began.
    pub(super) fn begun(&self) -> u64 {
        self.begun
    }

    pub(super) fn new(index: Arc<Index>, rank: RankId, ranks: u32, notes: Arc<Notes>) -> Self {
        Self {
            index,
            rank,
            notes,
            met: RankNotes::new(rank),
            ready: VecDeque::new(),
            at: 0,
            resumed: None,
            begun: 0,
            requests: Requests::new(),
            comms: Comms::new(rank, ranks),
            windows: Windows::default(),
        }
    }

    pub(super) fn record(&mut self, r: &Record) -> Outcome {
        self.at = r.number;
        if r.name.starts_with("Function_") {
            return Ok(());
        }
        if r.thread > 0 {
            self.met.met(THREADS, &self.notes);
        }
        if let Some((start, end)) = r.times {
            let time = self.resumed.map_or(0, |resumed| start.saturating_sub(resumed));
            if time > 0 {
                self.push(Call::Compute(time));
            }
            (self.begun, self.resumed) = (start, Some(end));
        }
        if let Some(kind) = UNUSED.iter().position(|&unused| unused == r.name) {
            self.met.met(kind as u64, &self.notes);
            return Ok(());
        }
        let index = &self.index;
        match self.windows.record(r, &mut self.comms, |count, kind| bytes_of(index, count, kind))? {
            Made::Other => {}
            Made::Nothing => return Ok(()),
            Made::Foreign => {
                self.met.met(FOREIGN, &self.notes);
                return Ok(());
            }
            Made::Call(call) => {
                self.push(Call::OneSided(call));
                return Ok(());
            }
        }
        if self.transfer(r)? || self.completion(r) || self.collective(r)? {
            return Ok(());
        }
        let made = self.comms.record(r)?;
        made.into_iter().for_each(|call| self.push(call));
        Ok(())
    }

    fn push(&mut self, call: Call) {
        self.ready.push_back((call, self.at));
    }

    fn comm(&mut self, handle: i64) -> Option<Found> {
        match self.comms.find(handle) {
            Found::Unknown => {
                self.met.met(FOREIGN, &self.notes);
                None
            }
            found => Some(found),
        }
    }

    /// Bytes of so many elements of a type.
    fn bytes(&self, count: i64, kind: i64) -> Result<u64, String> {
        bytes_of(&self.index, count, kind)
    }

    /// One end of a message, unless its communicator is not known.
    fn envelope(
        &self,
        comm: Found,
        peer: i64,
        tag: i64,
        bytes: u64,
        receives: bool,
    ) -> Result<Envelope, String> {
        let peer = match peer {
            // Nobody has whatever negative number MPI's library gave it.
            -1 if receives => ANY_PEER,
            n if n < 0 => PROC_NULL,
            0 if comm == Found::Alone => CommRank::in_world(self.rank),
            n => CommRank::new(n as u32),
        };
        let tag = match tag {
            -1 if receives => ANY_TAG,
            n => u32::try_from(n).map_err(|_| format!("{n} is no tag"))?,
        };
        Ok(Envelope { peer, tag, bytes, comm: comm.number() })
    }

    /// Begins a request. If one of this number is open it must have ended.
    fn open(&mut self, number: i64) -> Request {
        if let Some(ended) = self.requests.close(&number) {
            self.push(Call::Wait(ended));
        }
        self.requests.open(number)
    }

    /// Sends, receives and probes. False if it is none.
    fn transfer(&mut self, r: &Record) -> Result<bool, String> {
        let n = &r.numbers;
        match r.name {
            "Sendrecv" | "Sendrecv_replace" => return self.sendrecv(r).map(|()| true),
            "Probe" | "Iprobe" => {
                if r.name == "Iprobe" && n[3] == 0 {
                    return Ok(true);
                }
                if let Some(comm) = self.comm(n[2]) {
                    let (source, tag) = met(n[0], n[1], &r.statuses);
                    let envelope = self.envelope(comm, source, tag, UNKNOWN_BYTES, true)?;
                    self.push(Call::Probe(envelope));
                }
                return Ok(true);
            }
            _ => {}
        }
        let receives = matches!(r.name, "Recv" | "Irecv" | "Recv_init");
        let mode = match r.name {
            "Ssend" | "Issend" | "Ssend_init" => Mode::Synchronous,
            "Bsend" | "Ibsend" | "Rsend" | "Irsend" | "Bsend_init" | "Rsend_init" => Mode::Buffered,
            "Send" | "Isend" | "Send_init" | "Recv" | "Irecv" | "Recv_init" => Mode::Standard,
            _ => return Ok(false),
        };
        let Some(comm) = self.comm(n[4]) else { return Ok(true) };
        let (peer, tag) = if r.name == "Recv" { met(n[2], n[3], &r.statuses) } else { (n[2], n[3]) };
        let envelope = self.envelope(comm, peer, tag, self.bytes(n[0], n[1])?, receives)?;
        let call = match r.name {
            "Recv" => Call::Recv(envelope),
            "Irecv" => Call::Irecv(envelope, self.open(n[5])),
            "Recv_init" => Call::RecvInit(envelope, self.requests.keep(n[5])),
            name if name.ends_with("_init") => Call::SendInit(envelope, mode, self.requests.keep(n[5])),
            name if name.starts_with('I') => Call::Isend(envelope, mode, self.open(n[5])),
            _ => Call::Send(envelope, mode),
        };
        self.push(call);
        Ok(true)
    }

    fn sendrecv(&mut self, r: &Record) -> Outcome {
        let n = &r.numbers;
        let (comm, received) = if r.name == "Sendrecv" { (n[8], 4) } else { (n[6], 0) };
        let Some(comm) = self.comm(comm) else { return Ok(()) };
        let (source, tag) = if received == 4 { (n[6], n[7]) } else { (n[4], n[5]) };
        let (source, tag) = met(source, tag, &r.statuses);
        let sent = self.envelope(comm, n[2], n[3], self.bytes(n[0], n[1])?, false)?;
        let bytes = self.bytes(n[received], n[received + 1])?;
        let received = self.envelope(comm, source, tag, bytes, true)?;
        self.push(Call::SendRecv(sent, received));
        Ok(())
    }

    /// The request of a number that ends now; a persistent one may begin again.
    fn ended(&mut self, number: i64) -> Option<Request> {
        let ended = self.requests.close(&number).or_else(|| self.requests.kept(&number));
        if ended.is_none() && number >= FIRST_REQUEST {
            self.met.met(UNOPENED, &self.notes);
        }
        ended
    }

    /// Waits, tests and starts. False if it is none.
    fn completion(&mut self, r: &Record) -> bool {
        let n = &r.numbers;
        let all = r.list(0);
        // Those of a list at some places.
        let at = |places: &[i64]| -> Vec<i64> {
            places.iter().filter_map(|&i| all.get(usize::try_from(i).ok()?).copied()).collect()
        };
        let waits = r.name.starts_with("Wait");
        let completed = match r.name {
            "Wait" => vec![n[0]],
            "Test" => {
                if n[1] != 0 {
                    vec![n[0]]
                } else {
                    Vec::new()
                }
            }
            "Waitall" => all.to_vec(),
            "Testall" => {
                if n[1] != 0 {
                    all.to_vec()
                } else {
                    Vec::new()
                }
            }
            "Waitany" => at(&[n[1]]),
            "Testany" => {
                if n[2] != 0 {
                    at(&[n[1]])
                } else {
                    Vec::new()
                }
            }
            "Waitsome" | "Testsome" => at(r.list(1)),
            "Start" | "Startall" => {
                let numbers = if r.name == "Start" { &n[..1] } else { all };
                let kept: Vec<Request> =
                    numbers.iter().filter_map(|number| self.requests.kept(number)).collect();
                self.push(Call::Start(kept.into()));
                return true;
            }
            "Request_free" => {
                let freed = self.requests.close(&n[0]).or_else(|| self.requests.release(&n[0]));
                freed.into_iter().for_each(|request| self.push(Call::RequestFree(request)));
                return true;
            }
            _ => return false,
        };
        let requests: Vec<Request> = completed.into_iter().filter_map(|number| self.ended(number)).collect();
        if !requests.is_empty() {
            let requests = requests.into();
            self.push(if waits { Call::Waitall(requests) } else { Call::Test { completed: requests } });
        }
        true
    }

    /// Collectives. False if it is none.
    fn collective(&mut self, r: &Record) -> Result<bool, String> {
        let n = &r.numbers;
        let (kind, comm, root) = match r.name {
            "Barrier" => (K::Barrier, n[0], 0),
            "Bcast" => (K::Bcast, n[3], n[2]),
            "Reduce" => (K::Reduce, n[4], n[3]),
            "Allreduce" => (K::Allreduce, n[3], 0),
            "Scan" => (K::Scan, n[3], 0),
            "Exscan" => (K::Exscan, n[3], 0),
            "Gather" => (K::Gather, n[4], n[3]),
            "Scatter" => (K::Scatter, n[4], n[3]),
            "Allgather" => (K::Allgather, n[4], 0),
            "Alltoall" => (K::Alltoall, n[4], 0),
            "Gatherv" => (K::Gatherv, n[5], n[4]),
            "Scatterv" => (K::Scatterv, n[6], n[5]),
            "Allgatherv" => (K::Allgatherv, n[4], 0),
            "Alltoallv" => (K::Alltoallv, n[3], 0),
            "Alltoallw" => (K::Alltoallw, n[1], 0),
            "Reduce_scatter" => (K::ReduceScatter, n[3], 0),
            _ => return Ok(false),
        };
        let Some(comm) = self.comm(comm) else { return Ok(true) };
        if comm == Found::Alone {
            return Ok(true);
        }
        let root = u32::try_from(root).map_err(|_| format!("there is no root {root}"))?;
        let roots = n.first() == Some(&i64::from(root));
        let shape = |bytes| Shape::new(kind, comm.number(), bytes).root(root);
        let shape = match kind {
            K::Barrier => shape(0),
            K::Bcast | K::Reduce | K::Allreduce | K::Scan | K::Exscan => shape(self.bytes(n[0], n[1])?),
            // At the root what it keeps may be in place, and has no size then.
            K::Gather | K::Scatter if roots => shape(self.bytes(n[5], n[6])?),
            K::Gather | K::Scatter => shape(self.bytes(n[1], n[2])?),
            K::Allgather | K::Alltoall => shape(self.bytes(n[2], n[3])?),
            K::Gatherv if roots => shape(0).counts(self.counts(r.list(0), n[6])?),
            K::Scatterv if roots => shape(0).counts(self.counts(r.list(0), n[2])?),
            K::Gatherv | K::Scatterv => {
                let (count, of) = if kind == K::Gatherv { (n[2], n[3]) } else { (n[3], n[4]) };
                shape(0).counts(own_count(self.comms.ranks_of(n[1])?, n[0] as u32, self.bytes(count, of)?))
            }
            K::Allgatherv => shape(0).counts(self.counts(r.list(0), n[3])?),
            K::ReduceScatter => shape(0).counts(self.counts(r.list(0), n[1])?),
            K::Alltoallv => {
                let mut counts = self.counts(r.list(0), n[1])?;
                counts.extend(self.counts(r.list(2), n[2])?);
                shape(0).counts(counts)
            }
            _ => {
                let mut counts = Vec::new();
                for (elements, of) in [(0, 2), (3, 5)] {
                    for (&count, &of) in r.list(elements).iter().zip(r.list(of)) {
                        counts.push(self.bytes(count, of)?);
                    }
                }
                shape(0).counts(counts)
            }
        };
        self.push(shape.call());
        Ok(true)
    }

    fn counts(&self, elements: &[i64], kind: i64) -> Result<Vec<u64>, String> {
        elements.iter().map(|&count| self.bytes(count, kind)).collect()
    }
}

/// Bytes of so many elements of a type.
fn bytes_of(index: &Index, count: i64, kind: i64) -> Result<u64, String> {
    let count = u64::try_from(count).map_err(|_| format!("there cannot be {count} elements"))?;
    if count == 0 {
        return Ok(0);
    }
    let size = index.size(kind).ok_or_else(|| format!("the size of type {kind} is not in the file"))?;
    bytes(count, size)
}

/// Source and tag of a receive: if it left one open, what its status says.
fn met(source: i64, tag: i64, statuses: &[Status]) -> (i64, i64) {
    let Some(status) = statuses.first().filter(|status| status.source >= 0) else { return (source, tag) };
    let source = if source == -1 { status.source.into() } else { source };
    let tag = if tag == -1 { status.tag.filter(|&tag| tag >= 0).map_or(tag, i64::from) } else { tag };
    (source, tag)
}
