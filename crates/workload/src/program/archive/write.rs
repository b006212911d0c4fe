//! Writes recorded calls as an archive, with the times at which they were recorded.
//!
//! A rank is in a function of MPI from the beginning of a call to its end, else in none, so that what lies between is its computation, as a reader takes
//! it. Where functions that became no call took time, it is in a region `MPI`. A send stands where its call began and a receive where the one that waited for it
//! was over, unless the source says when they happened.

use super::operation;
use crate::program::{
    ANY_TAG, Damage, UNKNOWN_BYTES,
    lower::comms::{Communicators, Handles, resolve},
    mpi::{ANY_PEER, Call, Calls, Collective, Envelope, Mode, PROC_NULL, Recorded, Request, Script},
    ranks::WriteError,
};
use base::{
    index::RankId,
    sorted::SortedMap,
    time::{Ps, S},
};
use otf2::{
    Comm, Definitions, EventKind, Group, GroupType, Location, LocationGroup, LocationWriter, Region,
    SystemTreeNode, paradigm,
};
use std::{io, path::Path};

/// What was written otherwise than it was; all zero if the archive says exactly what the calls do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Losses {
    nobody: u64,
    probes: u64,
    waits_for_any: u64,
    modes: u64,
    sums: u64,
    unfinished: u64,
}

/// Writes an archive into a folder: `traces.otf2` and what belongs to it. One line for each kind of call that was written otherwise than it was.
///
/// # Errors
/// If calls cannot be read or have no recorded times, an archive has no words for one, or it cannot be written.
pub fn write(script: &dyn Script, folder: &Path) -> Result<Vec<String>, WriteError> {
    let comms = resolve(script).map_err(WriteError::Damage)?;
    if comms.one_sided() {
        return Err(refused("one-sided communication is not written to an archive"));
    }
    let writer = otf2::Writer::create(folder, "netloom").map_err(io_error)?;
    let (mut d, mut losses, mut span) = (Definitions::default(), Losses::default(), (Ps::MAX, 0));
    d.clock.resolution = S;
    let empty = d.string("");
    let machine = d.string("machine");
    d.nodes.insert(0, SystemTreeNode { name: machine, class: machine, parent: None });
    let mut regions = SortedMap::new();
    for rank in RankId::first(script.ranks()) {
        let mut location = Rank {
            out: writer.location(rank.into()).map_err(io_error)?,
            comms: &comms,
            rank,
            handles: Handles::new(rank),
            regions: &mut regions,
            requests: SortedMap::new(),
            made: 0,
            open: None,
            computed: 0,
            end: None,
            clock: 0,
            first: None,
            losses: &mut losses,
        };
        location.calls(script)?;
        span = (span.0.min(location.first.unwrap_or(Ps::MAX)), span.1.max(location.clock));
        let events = location.out.finish().map_err(io_error)?;
        let name = d.string(&format!("rank {rank}"));
        let group = rank.number();
        d.location_groups.insert(group, LocationGroup { name, kind: 1, parent: Some(0) });
        d.locations.insert(rank.into(), Location { name, kind: 1, events, group });
    }
    for (name, number) in regions {
        let name = d.string(name);
        d.regions.insert(number, Region { name, paradigm: paradigm::MPI, role: 1 });
    }
    let world = (0..u64::from(script.ranks())).collect::<Vec<u64>>();
    for id in 0..comms.count() {
        let some = comms.members(id).map(|members| members.iter().map(|&rank| rank.into()).collect());
        let members = some.unwrap_or_else(|| world.clone());
        let group = Group { name: empty, kind: GroupType::Ranks, paradigm: paradigm::MPI, members };
        d.groups.insert(id + 1, group);
        d.comms.insert(id, Comm { name: empty, group: id + 1 });
    }
    let all = Group { name: empty, kind: GroupType::Locations, paradigm: paradigm::MPI, members: world };
    d.groups.insert(0, all);
    d.clock.offset = if span.0 == Ps::MAX { 0 } else { span.0 };
    d.clock.length = span.1.saturating_sub(d.clock.offset);
    writer.finish(&d).map_err(io_error)?;
    Ok(losses.lines())
}

fn io_error(error: otf2::Error) -> WriteError {
    WriteError::Io(io::Error::other(error.to_string()))
}

fn refused(what: impl Into<String>) -> WriteError {
    WriteError::Damage(Damage(what.into()))
}

impl Losses {
    fn lines(self) -> Vec<String> {
        let reported = [
            (self.nobody, "messages to or from nobody were left out"),
            (self.probes, "probes were left out"),
            (self.waits_for_any, "waits for any of several became waits for those that were complete"),
            (self.modes, "persistent sends that were synchronous or buffered became ordinary ones"),
            (
                self.sums,
                "calls of all-to-all with counts have what a rank sends and receives in all: a reader takes it to be the same for each",
            ),
            (self.unfinished, "receives and collectives that nobody waited for are over at the end"),
        ];
        let lines = reported.into_iter().filter(|(count, _)| *count > 0);
        lines.map(|(count, what)| format!("{what}: {count}")).collect()
    }
}

/// A request that a rank may wait for.
enum Slot {
    /// Nothing is left to wait for.
    Done,
    Send(u64),
    Receive(u64, Envelope, u32),
    /// With the event that ends it.
    Collective(EventKind),
    /// A persistent one, and what it has begun.
    Kept(Envelope, Option<Mode>, Option<Box<Slot>>),
}

/// Writes the events of one rank.
struct Rank<'a> {
    out: LocationWriter,
    comms: &'a Communicators,
    rank: RankId,
    handles: Handles,
    /// Numbers of regions by name.
    regions: &'a mut SortedMap<&'static str, u32>,
    requests: SortedMap<Request, Slot>,
    /// Requests of the archive so far.
    made: u64,
    /// The function that is entered: its region, the position and the time of its calls.
    open: Option<(u32, u32, Recorded)>,
    /// Computation since the last function was left.
    computed: Ps,
    /// When that was.
    end: Option<Ps>,
    /// Time of the last event.
    clock: Ps,
    first: Option<Ps>,
    losses: &'a mut Losses,
}

impl Rank<'_> {
    fn calls(&mut self, script: &dyn Script) -> Result<(), WriteError> {
        let mut calls: Box<dyn Calls> = script.open_recorded(self.rank);
        while let Some((call, position)) = calls.next().map_err(WriteError::Damage)? {
            if let Call::Compute(time) = call {
                self.close()?;
                self.computed = self.computed.saturating_add(time);
                continue;
            }
            let rank = self.rank;
            let at = |what: &str| refused(format!("{}: {what}", script.describe(rank, position)));
            match calls.recorded() {
                Some(recorded) => self.enter(&call, position, recorded)?,
                // Communicators that are there from the start.
                None if makes(&call) => {}
                None => return Err(at("the call has no recorded time")),
            }
            if let Err(what) = self.call(&call, calls.recorded())? {
                return Err(at(what));
            }
            self.handles.follow(&call, self.rank, self.comms);
        }
        self.finish()
    }

    fn put(&mut self, time: Ps, kind: &EventKind) -> Result<(), WriteError> {
        self.clock = self.clock.max(time);
        self.first.get_or_insert(self.clock);
        self.out.write(self.clock, kind, &[]).map_err(io_error)
    }

    fn region(&mut self, name: &'static str) -> u32 {
        let next = self.regions.len() as u32;
        *self.regions.entry(name).or_insert(next)
    }

    /// Enters the function of a call, unless it is the same as that of the one before.
    fn enter(&mut self, call: &Call, position: u32, recorded: Recorded) -> Result<(), WriteError> {
        if let Some((_, before, of)) = self.open {
            let span = |r: Recorded| (r.begin, r.end);
            if before == position || (span(of) == span(recorded) && recorded.begin < recorded.end) {
                return Ok(());
            }
        }
        self.close()?;
        let begin = self.rest(recorded.begin)?;
        let region = self.region(call.name());
        self.open = Some((region, position, recorded));
        self.put(begin, &EventKind::Enter { region })
    }

    /// Time between two calls that is no computation, from where that ends on. When the second call begins: not before computation ends.
    fn rest(&mut self, until: Ps) -> Result<Ps, WriteError> {
        let computed = std::mem::take(&mut self.computed);
        let Some(end) = self.end else {
            if computed > 0 {
                // A reader counts from the first event on.
                let (region, begin) = (self.region("MPI"), until.saturating_sub(computed));
                self.put(begin, &EventKind::Enter { region })?;
                self.put(begin, &EventKind::Leave { region })?;
            }
            return Ok(until);
        };
        let from = end.saturating_add(computed);
        if from < until {
            let region = self.region("MPI");
            self.put(from, &EventKind::Enter { region })?;
            self.put(until, &EventKind::Leave { region })?;
        }
        Ok(until.max(from))
    }

    /// Leaves the function that is entered.
    fn close(&mut self) -> Result<(), WriteError> {
        if let Some((region, _, recorded)) = self.open.take() {
            self.put(recorded.end, &EventKind::Leave { region })?;
            self.end = Some(self.clock);
        }
        Ok(())
    }

    /// Ends with the computation that nothing follows.
    fn finish(&mut self) -> Result<(), WriteError> {
        for slot in std::mem::take(&mut self.requests).into_values() {
            let slot = match slot {
                Slot::Kept(_, _, Some(begun)) => *begun,
                slot => slot,
            };
            // A send that nobody waits for needs no end; of a receive the end says what was received.
            if matches!(slot, Slot::Receive(..) | Slot::Collective(_)) {
                self.losses.unfinished += 1;
                self.over(slot, self.clock)?;
            }
        }
        self.close()?;
        let computed = std::mem::take(&mut self.computed);
        if let Some(end) = self.end.filter(|_| computed > 0) {
            let region = self.region("MPI_Finalize");
            self.put(end.saturating_add(computed), &EventKind::Enter { region })?;
            self.put(self.clock, &EventKind::Leave { region })?;
        }
        Ok(())
    }

    fn request(&mut self) -> u64 {
        self.made += 1;
        self.made - 1
    }

    /// The events of a call; the inner error is what an archive has no words for.
    fn call(
        &mut self,
        call: &Call,
        recorded: Option<Recorded>,
    ) -> Result<Result<(), &'static str>, WriteError> {
        let Some(Recorded { begin, end, at }) = recorded else { return Ok(Ok(())) };
        let (early, late) = (at.unwrap_or(begin), at.unwrap_or(end));
        match call {
            Call::Send(to, _) => {
                if let Some((receiver, comm)) = self.peer(to) {
                    self.put(early, &EventKind::Send { receiver, comm, tag: to.tag, bytes: to.bytes })?;
                }
            }
            Call::Recv(from) => return self.received(from, late),
            Call::SendRecv(to, from) => {
                if let Some((receiver, comm)) = self.peer(to) {
                    self.put(early, &EventKind::Send { receiver, comm, tag: to.tag, bytes: to.bytes })?;
                }
                return self.received(from, late);
            }
            Call::Isend(to, _, request) => {
                let slot = self.isend(to, early)?;
                self.requests.insert(*request, slot);
            }
            Call::Irecv(from, request) => match self.irecv(from, early)? {
                Ok(slot) => _ = self.requests.insert(*request, slot),
                Err(what) => return Ok(Err(what)),
            },
            Call::SendInit(to, mode, request) => {
                self.losses.modes += u64::from(*mode != Mode::Standard);
                self.requests.insert(*request, Slot::Kept(*to, Some(*mode), None));
            }
            Call::RecvInit(from, request) => {
                self.requests.insert(*request, Slot::Kept(*from, None, None));
            }
            Call::Start(requests) => {
                for request in &**requests {
                    let Some(Slot::Kept(envelope, mode, _)) = self.requests.remove(request) else { continue };
                    let begun = match mode {
                        Some(_) => self.isend(&envelope, early)?,
                        None => match self.irecv(&envelope, early)? {
                            Ok(slot) => slot,
                            Err(what) => return Ok(Err(what)),
                        },
                    };
                    self.requests.insert(*request, Slot::Kept(envelope, mode, Some(Box::new(begun))));
                }
            }
            Call::Wait(request) => self.end_of(&[*request], late)?,
            Call::Waitall(requests) => self.end_of(requests, late)?,
            Call::Test { completed } => self.end_of(completed, late)?,
            Call::Waitany { requests, completed } => {
                self.losses.waits_for_any += 1;
                let first = requests.get(..1).unwrap_or(&[]);
                self.end_of(if completed.is_empty() { first } else { completed }, late)?;
            }
            Call::Collective(c) => return self.collective(c, begin, late),
            Call::CommDup { comm, .. } | Call::CommSplit { comm, .. } | Call::CommCreate { comm, .. } => {
                let Ok(comm) = self.handles.id(*comm) else {
                    return Ok(Err("the communicator is not known"));
                };
                let (operation, root) = (operation::CREATE_HANDLE, u32::MAX);
                self.put(begin, &EventKind::CollectiveBegin)?;
                self.put(late, &EventKind::CollectiveEnd { operation, comm, root, sent: 0, received: 0 })?;
            }
            Call::Probe(_) => self.losses.probes += 1,
            Call::OneSided(_) => return Ok(Err("one-sided communication is not written to an archive")),
            // A receive that is given up still has its message: it is over at the end.
            Call::RequestFree(_) => {}
            _ => {}
        }
        Ok(Ok(()))
    }

    /// The rank and the communicator of an envelope; none if it is nobody.
    fn peer(&mut self, envelope: &Envelope) -> Option<(u32, u32)> {
        if envelope.peer == PROC_NULL {
            self.losses.nobody += 1;
            return None;
        }
        Some((envelope.peer.number(), self.handles.id(envelope.comm).ok()?))
    }

    fn isend(&mut self, to: &Envelope, at: Ps) -> Result<Slot, WriteError> {
        let Some((receiver, comm)) = self.peer(to) else { return Ok(Slot::Done) };
        let request = self.request();
        self.put(at, &EventKind::Isend { receiver, comm, tag: to.tag, bytes: to.bytes, request })?;
        Ok(Slot::Send(request))
    }

    fn irecv(&mut self, from: &Envelope, at: Ps) -> Result<Result<Slot, &'static str>, WriteError> {
        if let Err(what) = known(from) {
            return Ok(Err(what));
        }
        let Some((_, comm)) = self.peer(from) else { return Ok(Ok(Slot::Done)) };
        let request = self.request();
        self.put(at, &EventKind::IrecvRequest { request })?;
        Ok(Ok(Slot::Receive(request, *from, comm)))
    }

    fn received(&mut self, from: &Envelope, at: Ps) -> Result<Result<(), &'static str>, WriteError> {
        if let Err(what) = known(from) {
            return Ok(Err(what));
        }
        if let Some((sender, comm)) = self.peer(from) {
            self.put(at, &EventKind::Recv { sender, comm, tag: from.tag, bytes: from.bytes })?;
        }
        Ok(Ok(()))
    }

    fn collective(
        &mut self,
        c: &Collective,
        begin: Ps,
        late: Ps,
    ) -> Result<Result<(), &'static str>, WriteError> {
        let Ok((comm, me)) = self.handles.found(c.comm) else {
            return Ok(Err("the communicator is not known"));
        };
        let size = self.comms.members(comm).map_or(self.comms.ranks(), |members| members.len()) as u64;
        let Some((operation, root, (sent, received))) = operation::of(c, size, me.number().into()) else {
            return Ok(Err("an archive has no collectives among neighbours"));
        };
        if c.kind.has_two_lists() {
            let uneven = |list: &[u64]| list.iter().any(|bytes| *bytes != list[0]);
            let lists = c.counts.as_deref().unwrap_or(&[]);
            self.losses.sums += u64::from(uneven(lists));
        }
        let root = root.unwrap_or(u32::MAX);
        match c.request {
            None => {
                self.put(begin, &EventKind::CollectiveBegin)?;
                self.put(late, &EventKind::CollectiveEnd { operation, comm, root, sent, received })?;
            }
            Some(number) => {
                let request = self.request();
                let end = EventKind::CollectiveComplete { operation, comm, root, sent, received, request };
                self.put(begin, &EventKind::CollectiveRequest { request })?;
                self.requests.insert(number, Slot::Collective(end));
            }
        }
        Ok(Ok(()))
    }

    /// Requests are over.
    fn end_of(&mut self, requests: &[Request], at: Ps) -> Result<(), WriteError> {
        for request in requests {
            match self.requests.remove(request) {
                Some(Slot::Kept(envelope, mode, begun)) => {
                    self.requests.insert(*request, Slot::Kept(envelope, mode, None));
                    if let Some(begun) = begun {
                        self.over(*begun, at)?;
                    }
                }
                Some(slot) => self.over(slot, at)?,
                None => {}
            }
        }
        Ok(())
    }

    fn over(&mut self, slot: Slot, at: Ps) -> Result<(), WriteError> {
        match slot {
            Slot::Send(request) => self.put(at, &EventKind::IsendComplete { request }),
            Slot::Receive(request, from, comm) => {
                let (sender, tag, bytes) = (from.peer.number(), from.tag, from.bytes);
                self.put(at, &EventKind::Irecv { sender, comm, tag, bytes, request })
            }
            Slot::Collective(end) => self.put(at, &end),
            Slot::Done | Slot::Kept(..) => Ok(()),
        }
    }
}

/// True of calls that make or free a communicator.
fn makes(call: &Call) -> bool {
    matches!(
        call,
        Call::CommDup { .. }
            | Call::CommSplit { .. }
            | Call::CommCreate { .. }
            | Call::CommDefine { .. }
            | Call::CommFree(_)
    )
}

/// An archive says of each receive who sent what.
fn known(from: &Envelope) -> Result<(), &'static str> {
    match from {
        Envelope { peer, .. } if *peer == PROC_NULL => Ok(()),
        Envelope { peer, .. } if *peer == ANY_PEER => {
            Err("the trace does not say from whom this was received, and an archive must")
        }
        Envelope { tag, .. } if *tag == ANY_TAG => {
            Err("the trace does not say with which tag this was received, and an archive must")
        }
        Envelope { bytes, .. } if *bytes == UNKNOWN_BYTES => {
            Err("the trace does not say how much was received, and an archive must")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
