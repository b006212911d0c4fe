//! OTF2 archives as programs: what Score-P and other tracers recorded of an MPI run becomes its calls again.
//!
//! **Ranks** are the locations of MPI's world. **Computation** is the time of a rank outside of MPI functions, by the archive's clock with the location's
//! offsets; what a call took when it was traced is dropped, since the model decides that. **Transfers** come with the peers and tags that
//! were met, so wildcards are resolved. A receive's envelope is known only when it is complete: a second reader of the same events runs
//! ahead to find it. Waiting for any of several requests becomes waiting for those that were complete. **Communicators** other than the
//! world are there from the start and cost nothing; what makes one costs what a program's call does, where it is recorded. **Collectives** carry the bytes of the calling rank; for those with different bytes by rank all ranks are
//! read once. What a non-blocking collective is, its completion says: it is found as a receive's envelope is. Events are streamed twice, so memory stays
//! small. **Windows** become one-sided calls (`windows.rs`). Not read: threads' own locations, communicators between groups.

use super::{
    Damage,
    input::Input,
    mpi::{self, Call, Calls, Collective, CommRank, Envelope, Mode, Recorded, Request, Script, WORLD},
};
use ahead::{Ahead, Completion, End, damage};
use base::{
    index::{Column, RankId},
    param::Built,
    sorted::{SortedMap, SortedSet},
};
use dropped::Dropped;
use held::Held;
use marks::Marks;
use members::{Group, by_rank, defined, functions, groups, ranks};
use operation::{goes_on_beside, uneven};
use otf2::{Archive, EventKind, Events};
use std::{
    collections::VecDeque,
    path::Path,
    sync::{Arc, OnceLock},
};
use windows::{Found, Windows, from_the_start};

pub use write::write;

/// What each rank of a communicator sent and received in its collectives with different bytes by rank, in order.
type Uneven = SortedMap<u32, Vec<SortedMap<CommRank, (u64, u64)>>>;

/// An archive, and who is who in it.
struct Trace {
    archive: Archive,
    /// Location of each rank.
    ranks: Column<RankId, u64>,
    groups: SortedMap<u32, Group>,
    /// What each rank says of its communicators before all else.
    defined: Column<RankId, Vec<Call>>,
    /// Regions that are MPI's functions.
    functions: SortedSet<u32>,
    uneven: OnceLock<Result<Uneven, Damage>>,
    dropped: Dropped,
    /// Markers by rank, in the order of time.
    markers: SortedMap<RankId, Vec<(u64, String)>>,
}

/// Reads an archive by its anchor file.
///
/// # Errors
/// If anchor, definitions or a location's files are missing or damaged, or no rank is reported.
pub fn read(input: &Input<'_>) -> Built<Arc<dyn Script>> {
    let reported = |message: String| vec![input.problem(message)];
    let archive = Archive::open(Path::new(input.name())).map_err(|e| reported(e.to_string()))?;
    let ranks = ranks(&archive);
    if ranks.is_empty() {
        return Err(reported("the archive has no MPI ranks".to_owned()));
    }
    for &location in &ranks {
        archive.events(location).map_err(|e| reported(e.to_string()))?;
    }
    let groups = groups(&archive, &ranks);
    let (functions, defined) = (functions(&archive), defined(&groups, ranks.len()));
    let markers = archive.markers().map_err(|e| reported(e.to_string()))?;
    let markers = by_rank(&archive, &ranks, markers);
    Ok(Arc::new(Otf2(Arc::new(Trace {
        archive,
        ranks: ranks.into(),
        groups,
        defined,
        functions,
        uneven: OnceLock::new(),
        dropped: Dropped::default(),
        markers,
    }))))
}

struct Otf2(Arc<Trace>);

impl Script for Otf2 {
    fn ranks(&self) -> u32 {
        self.0.ranks.len() as u32
    }

    fn open(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(Reader::new(Arc::clone(&self.0), rank))
    }

    fn open_marked(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(Reader { marks: Some(Marks::default()), ..Reader::new(Arc::clone(&self.0), rank) })
    }

    fn open_recorded(&self, rank: RankId) -> Box<dyn Calls> {
        Box::new(Reader { held: Some(Held::default()), ..Reader::new(Arc::clone(&self.0), rank) })
    }

    fn marks(&self) -> bool {
        let regions = self.0.archive.definitions.regions.keys();
        !self.0.markers.is_empty() || regions.into_iter().any(|&region| !self.0.is_mpi(region))
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        let file = self.0.archive.events_path(self.0.ranks[rank]);
        format!("{}: {}", file.display(), self.0.describe(rank, position))
    }

    fn noted(&self) -> Vec<u64> {
        vec![self.0.dropped.noted()]
    }

    fn note(&self, noted: &[u64]) {
        noted.iter().for_each(|&met| self.0.dropped.note(met));
    }

    fn dropped(&self) -> Vec<mpi::Dropped> {
        self.0.dropped.lines(&self.0.archive, self.0.ranks.cells())
    }

    fn makes_communicators(&self) -> bool {
        // Who reads the calls for communicators finds the windows, too.
        let windows = !self.0.archive.definitions.windows.is_empty();
        windows || self.0.groups.values().any(|g| matches!(g, Group::Some(..)))
    }

    fn chained(&self) -> bool {
        // Non-blocking collectives go on beside other things.
        let windows = !self.0.archive.definitions.windows.is_empty();
        !windows && !self.0.functions.iter().any(|&region| goes_on_beside(self.0.region(region)))
    }
}

impl Trace {
    fn is_mpi(&self, region: u32) -> bool {
        self.functions.contains(&region)
    }

    fn region(&self, region: u32) -> &str {
        let d = &self.archive.definitions;
        d.regions.get(&region).map_or("", |r| d.text(r.name))
    }

    /// Size of a communicator, and the caller's rank in it.
    fn size(&self, comm: u32, rank: RankId) -> (u64, CommRank) {
        let some = self.groups.get(&comm).and_then(|group| group.size(rank));
        some.unwrap_or((self.ranks.len() as u64, CommRank::in_world(rank)))
    }

    fn describe(&self, rank: RankId, position: u32) -> String {
        format!("location {}, event {position}", self.ranks[rank])
    }

    fn uneven(&self) -> Result<&Uneven, Damage> {
        let read = || {
            let mut all = Uneven::new();
            for (rank, &location) in self.ranks.iter() {
                // By the event at which each was called.
                let (mut called, mut posted) = (SortedMap::new(), SortedMap::new());
                for (at, event) in self.archive.events(location).map_err(|e| damage(&e))?.enumerate() {
                    match event.map_err(|e| damage(&e))?.kind {
                        EventKind::CollectiveRequest { request } => _ = posted.insert(request, at),
                        EventKind::CollectiveEnd { operation, comm, sent, received, .. }
                            if uneven(operation) =>
                        {
                            called.insert(at, (comm, (sent, received)));
                        }
                        EventKind::CollectiveComplete {
                            operation, comm, sent, received, request, ..
                        } if uneven(operation) => {
                            called.insert(posted.remove(&request).unwrap_or(at), (comm, (sent, received)));
                        }
                        _ => {}
                    }
                }
                let mut counts: SortedMap<u32, usize> = SortedMap::new();
                for (comm, bytes) in called.into_values() {
                    let count = counts.entry(comm).or_default();
                    let list = all.entry(comm).or_default();
                    if list.len() <= *count {
                        list.push(SortedMap::new());
                    }
                    list[*count].insert(self.size(comm, rank).1, bytes);
                    *count += 1;
                }
            }
            Ok(all)
        };
        self.uneven.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

/// Reads a rank's calls.
struct Reader {
    trace: Arc<Trace>,
    rank: RankId,
    events: Option<Events>,
    ahead: Option<Ahead>,
    /// Calls that are read and not handed over.
    ready: VecDeque<(Call, u32)>,
    position: u32,
    /// When the rank went on computing, in picoseconds.
    resumed: Option<u64>,
    /// When the last event was, in picoseconds.
    now: Option<u64>,
    /// MPI functions that are entered and not left, and the mode of sends in the outermost.
    depth: u32,
    mode: Mode,
    /// The outermost of them.
    function: u32,
    windows: Windows,
    /// In a function that sends and receives at once.
    both: bool,
    sends: Vec<Request>,
    requests: SortedMap<u64, Request>,
    free: Vec<Request>,
    made: Request,
    /// Collectives with different bytes by rank so far, by communicator.
    uneven: SortedMap<u32, usize>,
    /// Regions of the user's functions and markers, if they are asked for.
    marks: Option<Marks>,
    /// Markers of the rank so far.
    noted: usize,
    /// When calls were recorded, if it is asked for. They are handed over when their function is left: only then it is known when they were over.
    held: Option<Held>,
}

impl Reader {
    fn new(trace: Arc<Trace>, rank: RankId) -> Self {
        let mut ready: VecDeque<(Call, u32)> = trace.defined[rank].iter().map(|c| (c.clone(), 0)).collect();
        let mut windows = Windows::default();
        for call in from_the_start(&trace.archive, &trace.groups, CommRank::in_world(rank)) {
            windows.there(call.window());
            ready.push_back((Call::OneSided(call), 0));
        }
        Self {
            ready,
            trace,
            rank,
            events: None,
            ahead: None,
            position: 0,
            resumed: None,
            now: None,
            depth: 0,
            mode: Mode::Standard,
            function: 0,
            windows,
            both: false,
            sends: Vec::new(),
            requests: SortedMap::new(),
            free: Vec::new(),
            made: 0,
            uneven: SortedMap::new(),
            marks: None,
            noted: 0,
            held: None,
        }
    }

    fn push(&mut self, call: Call) {
        self.ready.push_back((call, self.position));
        if let Some(held) = &mut self.held {
            held.push(self.now.unwrap_or(0));
        }
    }

    /// The next call that waits, unless its function is still to be left.
    fn taken(&mut self) -> Option<(Call, u32)> {
        let Some(held) = &mut self.held else { return self.ready.pop_front() };
        let taken = if self.depth > 0 { None } else { self.ready.pop_front() };
        if taken.is_some() {
            held.take(self.ready.len(), self.resumed);
        }
        taken
    }

    /// Computation up to now, if no MPI function is entered.
    fn compute(&mut self, now: u64) {
        let since = self.resumed.replace(now).unwrap_or(now);
        self.mark();
        if self.depth == 0 && now > since {
            self.push(Call::Compute(now - since));
        }
    }

    /// Hands marks over that wait; false if there are none.
    fn mark(&mut self) -> bool {
        let before = self.ready.len();
        let marks = self.marks.iter_mut().flat_map(Marks::take);
        self.ready.extend(marks.map(|mark| (Call::Mark(mark), self.position)));
        self.ready.len() > before
    }

    /// Markers up to now.
    fn markers(&mut self, now: u64) {
        let (Some(marks), Some(all)) = (&mut self.marks, self.trace.markers.get(&self.rank)) else { return };
        while let Some((time, text)) = all.get(self.noted).filter(|m| m.0 <= now) {
            let since = *self.resumed.get_or_insert(*time);
            marks.noted(text, if self.depth == 0 { time.saturating_sub(since) } else { 0 });
            self.noted += 1;
        }
    }

    /// The user enters or leaves a region.
    fn region(&mut self, time: u64, region: u32, kind: mpi::MarkKind) {
        let since = *self.resumed.get_or_insert(time);
        if let Some(marks) = &mut self.marks {
            let into = if self.depth == 0 { time.saturating_sub(since) } else { 0 };
            marks.met(region, self.trace.region(region), kind, into);
        }
    }

    fn request(&mut self) -> Request {
        self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        })
    }

    fn wait(&mut self, id: u64) -> bool {
        let Some(request) = self.requests.remove(&id) else { return false };
        self.push(Call::Wait(request));
        self.free.push(request);
        true
    }

    #[cold]
    fn not_recorded(&self) -> Damage {
        let place = self.trace.describe(self.rank, self.position);
        Damage(format!(
            "{place}: the receive that is posted here never ends in the archive, so it is not known what it received: some tracers leave \
             out what MPI_Waitall completes"
        ))
    }

    fn envelope(&self, peer: u32, comm: u32, tag: u32, bytes: u64) -> Result<Envelope, Damage> {
        let wrong = |what| Err(self.wrong(what));
        let (number, size) = match self.trace.groups.get(&comm) {
            Some(Group::World) => (WORLD, self.trace.ranks.len()),
            Some(Group::Alone) => {
                return Ok(Envelope { peer: CommRank::in_world(self.rank), tag, bytes, comm: WORLD });
            }
            Some(Group::Some(number, members)) => (*number, members.len()),
            None => return wrong(format!("communicator {comm} is not defined, or not one of MPI's ranks")),
        };
        if peer as usize >= size {
            return wrong(format!("rank {peer} is not among the {size} ranks of communicator {comm}"));
        }
        Ok(Envelope { peer: CommRank::new(peer), tag, bytes, comm: number })
    }

    fn event(&mut self, time: u64, kind: EventKind) -> Result<(), Damage> {
        match kind {
            EventKind::Enter { region } if self.trace.is_mpi(region) => {
                self.compute(time);
                if self.depth == 0 {
                    let name = self.trace.region(region);
                    self.mode = match name {
                        "MPI_Ssend" | "MPI_Issend" => Mode::Synchronous,
                        "MPI_Bsend" | "MPI_Ibsend" | "MPI_Rsend" | "MPI_Irsend" => Mode::Buffered,
                        _ => Mode::Standard,
                    };
                    self.both = name.starts_with("MPI_Sendrecv");
                    self.function = region;
                    if let Some(held) = &mut self.held {
                        held.entered = time;
                    }
                    self.windows.entered();
                }
                self.depth += 1;
            }
            EventKind::Leave { region } if self.trace.is_mpi(region) && self.depth > 0 => {
                self.depth -= 1;
                self.resumed = Some(time);
                if self.depth == 0 {
                    self.both = false;
                    for request in std::mem::take(&mut self.sends) {
                        self.push(Call::Wait(request));
                        self.free.push(request);
                    }
                }
            }
            EventKind::Other(record) => {
                self.trace.dropped.met(record);
                self.resumed.get_or_insert(time);
            }
            EventKind::Enter { region } => self.region(time, region, mpi::MarkKind::Enter),
            EventKind::Leave { region } if !self.trace.is_mpi(region) => {
                self.region(time, region, mpi::MarkKind::Leave);
            }
            EventKind::Leave { .. } | EventKind::CollectiveBegin => _ = self.resumed.get_or_insert(time),
            _ => {
                self.compute(time);
                self.transfer(kind)?;
            }
        }
        Ok(())
    }

    /// What has to do with windows.
    fn one_sided(&mut self, kind: EventKind) {
        let trace = Arc::clone(&self.trace);
        let function = if self.depth > 0 { trace.region(self.function) } else { "" };
        match self.windows.record(kind, function, &trace.archive, &trace.groups) {
            Found::Call(call) => self.push(Call::OneSided(call)),
            Found::Nothing => {}
            Found::Unused(record) => trace.dropped.met(record),
        }
    }

    fn transfer(&mut self, kind: EventKind) -> Result<(), Damage> {
        operation::possible(&kind).map_err(|what| self.wrong(what))?;
        match kind {
            EventKind::Send { receiver, comm, tag, bytes } => {
                let envelope = self.envelope(receiver, comm, tag, bytes)?;
                if self.both {
                    let request = self.request();
                    self.sends.push(request);
                    self.push(Call::Isend(envelope, self.mode, request));
                } else {
                    self.push(Call::Send(envelope, self.mode));
                }
            }
            EventKind::Isend { receiver, comm, tag, bytes, request } => {
                let (envelope, number) = (self.envelope(receiver, comm, tag, bytes)?, self.request());
                self.requests.insert(request, number);
                self.push(Call::Isend(envelope, self.mode, number));
            }
            EventKind::IrecvRequest { request } => {
                let reported = match self.completion(request)? {
                    End::Is(Completion::Receive(sender, comm, tag, bytes)) => {
                        Some((sender, comm, tag, bytes))
                    }
                    End::Is(_) | End::Cancelled => None,
                    End::NotRecorded => return Err(self.not_recorded()),
                };
                if let Some((sender, comm, tag, bytes)) = reported {
                    let (envelope, number) = (self.envelope(sender, comm, tag, bytes)?, self.request());
                    self.requests.insert(request, number);
                    self.push(Call::Irecv(envelope, number));
                }
            }
            EventKind::CollectiveRequest { request } => {
                if let End::Is(Completion::Collective(op, comm, root, (sent, received))) =
                    self.completion(request)?
                {
                    let number = self.request();
                    if self.collective(op, comm, root, sent, received, Some(number))? {
                        self.requests.insert(request, number);
                    } else {
                        self.free.push(number);
                    }
                }
            }
            EventKind::IsendComplete { request } => _ = self.wait(request),
            EventKind::Irecv { request, .. } | EventKind::CollectiveComplete { request, .. }
                if self.wait(request) => {}
            // Some tracers do not say when a receive is posted, or a collective.
            EventKind::Irecv { sender, comm, tag, bytes, .. }
            | EventKind::Recv { sender, comm, tag, bytes } => {
                let envelope = self.envelope(sender, comm, tag, bytes)?;
                self.push(Call::Recv(envelope));
            }
            EventKind::CollectiveComplete { operation, comm, root, sent, received, .. }
            | EventKind::CollectiveEnd { operation, comm, root, sent, received } => {
                self.collective(operation, comm, root, sent, received, None)?;
            }
            of_windows => self.one_sided(of_windows),
        }
        Ok(())
    }

    /// The present record is wrong.
    fn wrong(&self, what: String) -> Damage {
        Damage(format!("{}: {what}", self.trace.describe(self.rank, self.position)))
    }

    fn completion(&mut self, request: u64) -> Result<End, Damage> {
        if self.ahead.is_none() {
            let location = self.trace.ranks[self.rank];
            let mut events = self.trace.archive.events(location).map_err(|e| damage(&e))?;
            // It begins behind the present event, which is a posting.
            for event in events.by_ref().take(self.position as usize) {
                event.map_err(|e| damage(&e))?;
            }
            self.ahead = Some(Ahead { events: Some(events), passed: SortedMap::new() });
        }
        self.ahead.as_mut().map_or(Ok(End::NotRecorded), |ahead| ahead.completion(request))
    }

    /// A collective, with a request if it does not block. False if there is nothing to do.
    fn collective(
        &mut self,
        op: u8,
        comm: u32,
        root: u32,
        sent: u64,
        received: u64,
        request: Option<Request>,
    ) -> Result<bool, Damage> {
        let number = match self.trace.groups.get(&comm) {
            Some(Group::Alone) => return Ok(false),
            Some(Group::Some(number, _)) => *number,
            Some(Group::World) => WORLD,
            None => {
                self.trace.dropped.foreign_collective();
                return Ok(false);
            }
        };
        let size = self.trace.size(comm, self.rank).0.max(1);
        let found = match op {
            operation::CREATE_HANDLE => Some(operation::maker(self.trace.region(self.function))),
            _ => operation::kind(op, size, sent, received),
        };
        let Some((kind, bytes)) = found else { return Ok(false) };
        let counts = if uneven(op) { Some(self.counts(op, comm, size)?) } else { None };
        let root = CommRank::new(if root == u32::MAX { 0 } else { root });
        self.push(Call::Collective(Collective {
            kind,
            comm: number,
            root,
            bytes,
            counts,
            neighbours: None,
            request,
            algorithm: None,
        }));
        Ok(true)
    }

    /// Bytes by rank of a collective in which they differ. An archive says what each rank sends and receives in all: an all-to-all is taken
    /// to send the same to each.
    fn counts(&mut self, op: u8, comm: u32, size: u64) -> Result<Arc<[u64]>, Damage> {
        let at = self.uneven.entry(comm).or_default();
        let which = *at;
        *at += 1;
        let trace = Arc::clone(&self.trace);
        let none = SortedMap::new();
        let all = trace.uneven()?.get(&comm).and_then(|list| list.get(which)).unwrap_or(&none);
        let of = |rank: u64| all.get(&CommRank::new(rank as u32)).copied().unwrap_or((0, 0));
        let me = u64::from(trace.size(comm, self.rank).1);
        Ok(operation::counts(op, size, me, of))
    }
}

impl Calls for Reader {
    fn time(&self) -> Option<base::time::Ps> {
        self.now
    }

    fn recorded(&self) -> Option<Recorded> {
        self.held.as_ref().and_then(|held| held.given)
    }

    fn next(&mut self) -> Result<Option<(Call, u32)>, Damage> {
        loop {
            if let Some(call) = self.taken() {
                return Ok(Some(call));
            }
            if self.events.is_none() {
                let location = self.trace.ranks[self.rank];
                self.events = Some(self.trace.archive.events(location).map_err(|e| damage(&e))?);
            }
            let Some(event) = self.events.as_mut().and_then(Iterator::next) else {
                self.markers(u64::MAX);
                if self.mark() {
                    continue;
                }
                return Ok(None);
            };
            let event = event.map_err(|e| damage(&e))?;
            self.position = self.position.saturating_add(1);
            let time = self.trace.archive.definitions.clock.picoseconds(event.time);
            self.now = Some(time);
            self.markers(time);
            if let Err(Damage(message)) = self.event(time, event.kind) {
                let file = self.events.as_ref().map(|events| events.path().display().to_string());
                return Err(Damage(format!("{}: {message}", file.unwrap_or_default())));
            }
        }
    }
}

mod ahead;
mod dropped;
mod held;
mod marks;
mod members;
mod operation;
#[cfg(test)]
mod tests;
mod windows;
mod write;
