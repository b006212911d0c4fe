//! Runs one rank: statements become calls.

use super::{
    expression::{Expression, Scope},
    file::{Fault, File},
    fold::Folds,
    statement::{self, Call, Collective, End, OnWindow, Statement, rank, tag},
};
use crate::program::{
    Damage,
    mpi::{self, Calls, Comm, CommRank, Envelope, Mark, MarkKind, OneSided, Request, WORLD},
};
use base::{index::RankId, sorted::SortedMap};
use std::{cell::Cell, sync::Arc};

/// Repetitions of a loop in a row that make no call before that counts as a fault.
const MAX_IDLE: u32 = 1_000_000;

/// A rank on its way through its blocks.
pub(super) struct Run {
    file: Arc<File>,
    rank: RankId,
    /// Blocks of the rank.
    blocks: Vec<u32>,
    /// Marks are handed over.
    marks: bool,
    /// Regions that are entered and not left, if marks are handed over.
    entered: u32,
    /// Where it is: the block, then the statement in the block and in each loop that is open.
    block: usize,
    places: Vec<usize>,
    /// Repetitions of each open loop that are done, and how many there are.
    loops: Vec<i64>,
    counts: Vec<i64>,
    requests: SortedMap<Request, State>,
    /// Number for the next request without name.
    anonymous: Request,
    comms: Vec<bool>,
    windows: Vec<bool>,
    /// Variables of loops that calls asked for.
    asked: Cell<u64>,
    /// Open loops whose further repetitions may be handed over as one; `None` if each is.
    folds: Option<Folds<Kept>>,
}

/// A request that exists.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    persistent: bool,
    active: bool,
}

/// What a repetition leaves to the next.
type Kept = (SortedMap<Request, State>, Vec<bool>, Vec<bool>, u32);

/// What comes next.
enum Next<'a> {
    Call(u32, &'a Call),
    End,
}

impl Run {
    pub(super) fn new(file: Arc<File>, rank: RankId, marks: bool) -> Self {
        let mut comms = vec![false; file.comms.len()];
        comms[WORLD as usize] = true;
        let anonymous = file.requests.len() as u32;
        let blocks = file.chosen.of(rank);
        let windows = vec![false; file.windows.len()];
        Self {
            file,
            rank,
            blocks,
            marks,
            entered: 0,
            block: 0,
            places: vec![0],
            loops: Vec::new(),
            counts: Vec::new(),
            requests: SortedMap::new(),
            anonymous,
            comms,
            windows,
            asked: Cell::new(0),
            folds: None,
        }
    }

    fn kept(&self) -> Kept {
        (self.requests.clone(), self.comms.clone(), self.windows.clone(), self.entered)
    }

    /// The next call and its line.
    pub(super) fn step(&mut self) -> Result<Option<(mpi::Call, u32)>, Fault> {
        let file = Arc::clone(&self.file);
        match self.advance(&file)? {
            Next::End => Ok(None),
            Next::Call(line, call) => {
                let made = self.make(call).map_err(|message| Fault { line, message })?;
                Ok(Some((made, line)))
            }
        }
    }

    fn scope(&self) -> Scope<'_> {
        Scope { rank: self.rank, size: self.file.ranks, loops: &self.loops, asked: &self.asked }
    }

    /// Goes to the next call, through loops and blocks.
    fn advance<'a>(&mut self, file: &'a File) -> Result<Next<'a>, Fault> {
        let mut idle = 0;
        loop {
            let Some(&block) = self.blocks.get(self.block) else { return Ok(Next::End) };
            let mut body = file.blocks[block as usize].as_slice();
            let mut line = 0;
            let (last, outer) = self.places.split_last().expect("there is always a place");
            for &place in outer {
                let Statement::Repeat { body: inner, line: at, .. } = &body[place] else {
                    return Ok(Next::End);
                };
                (body, line) = (inner, *at);
            }
            match body.get(*last) {
                Some(Statement::Call(_, Call::Mark(..))) if !self.marks => self.next_place(),
                Some(Statement::Call(line, call)) => {
                    self.next_place();
                    return Ok(Next::Call(*line, call));
                }
                Some(Statement::Repeat { line, count, .. }) => {
                    let count = self.count(count).map_err(|message| Fault { line: *line, message })?;
                    if count > 0 {
                        if let Some(mut folds) = self.folds.take() {
                            folds.open(&self.asked, self.kept());
                            self.folds = Some(folds);
                        }
                        self.loops.push(0);
                        self.counts.push(count);
                        self.places.push(0);
                    } else {
                        self.next_place();
                    }
                }
                None if self.loops.is_empty() => {
                    self.block += 1;
                    self.places[0] = 0;
                }
                None => {
                    idle += 1;
                    if idle > MAX_IDLE {
                        return Err(Fault {
                            line,
                            message: "this repeats again and again without a call".to_owned(),
                        });
                    }
                    self.end_of_loop();
                }
            }
        }
    }

    fn next_place(&mut self) {
        if let Some(place) = self.places.last_mut() {
            *place += 1;
        }
    }

    fn end_of_loop(&mut self) {
        let depth = self.loops.len() - 1;
        self.loops[depth] += 1;
        let left = self.counts[depth] - self.loops[depth];
        if let Some(mut folds) = self.folds.take() {
            let kept = (left > 1 && folds.looks()).then(|| self.kept());
            if kept.is_some_and(|kept| folds.repeats(&self.asked, kept, left.unsigned_abs())) {
                self.loops[depth] = self.counts[depth] - 1;
            }
            if left == 0 {
                folds.close();
            }
            self.folds = Some(folds);
        }
        if self.loops[depth] < self.counts[depth] {
            self.places[depth + 1] = 0;
        } else {
            self.loops.pop();
            self.counts.pop();
            self.places.pop();
            self.next_place();
        }
    }

    fn count(&self, count: &Expression) -> Result<i64, String> {
        let count = count.value(&self.scope())?;
        if count < 0 { Err(format!("{count} times cannot be")) } else { Ok(count) }
    }

    fn make(&mut self, call: &Call) -> Result<mpi::Call, String> {
        Ok(match call {
            Call::Compute(time) => mpi::Call::Compute(time.time(&self.scope())?),
            Call::Send(end, mode) => mpi::Call::Send(self.envelope(end)?, *mode),
            Call::Recv(end) => mpi::Call::Recv(self.envelope(end)?),
            Call::Isend(end, mode, name) => {
                let envelope = self.envelope(end)?;
                mpi::Call::Isend(envelope, *mode, self.open(*name)?)
            }
            Call::Irecv(end, name) => {
                let envelope = self.envelope(end)?;
                mpi::Call::Irecv(envelope, self.open(*name)?)
            }
            Call::SendRecv(send, recv) => mpi::Call::SendRecv(self.envelope(send)?, self.envelope(recv)?),
            Call::SendInit(end, mode, name) => {
                let envelope = self.envelope(end)?;
                self.insert(*name, State { persistent: true, active: false })?;
                mpi::Call::SendInit(envelope, *mode, *name)
            }
            Call::RecvInit(end, name) => {
                let envelope = self.envelope(end)?;
                self.insert(*name, State { persistent: true, active: false })?;
                mpi::Call::RecvInit(envelope, *name)
            }
            Call::Start(names) => {
                for name in names.iter() {
                    self.start(*name)?;
                }
                mpi::Call::Start(Arc::clone(names))
            }
            Call::Free(name) => {
                self.requests.remove(name).ok_or_else(|| self.unknown(*name))?;
                mpi::Call::RequestFree(*name)
            }
            Call::Wait(name) => {
                self.complete(*name)?;
                mpi::Call::Wait(*name)
            }
            Call::Waitall(names) => {
                let names = names.clone().unwrap_or_else(|| {
                    self.requests.iter().filter(|(_, state)| state.active).map(|(name, _)| *name).collect()
                });
                self.complete_all(&names)?;
                mpi::Call::Waitall(names)
            }
            Call::Waitany(all, done) => {
                for name in all.iter() {
                    self.requests.get(name).ok_or_else(|| self.unknown(*name))?;
                }
                if let Some(stranger) = done.iter().find(|name| !all.contains(name)) {
                    return Err(format!("`{}` is done, but was not waited for", self.name(*stranger)));
                }
                self.complete_all(if done.is_empty() { &all[..1] } else { done })?;
                mpi::Call::Waitany { requests: Arc::clone(all), completed: Arc::clone(done) }
            }
            Call::Test(done) => {
                self.complete_all(done)?;
                mpi::Call::Test { completed: Arc::clone(done) }
            }
            Call::Probe(end) => mpi::Call::Probe(self.envelope(end)?),
            Call::Collective(collective) => mpi::Call::Collective(self.collective(collective)?),
            Call::Mark(kind, name, number) => {
                let number = number.as_ref().map(|n| n.value(&self.scope())).transpose()?;
                self.entered = match kind {
                    MarkKind::Instant => self.entered,
                    MarkKind::Enter => self.entered.saturating_add(1),
                    MarkKind::Leave => self.entered.checked_sub(1).ok_or("no region is entered here")?,
                };
                mpi::Call::Mark(Mark { name: Arc::clone(name), number, kind: *kind, into: 0 })
            }
            Call::Window(comm, new) => {
                let comm = self.comm(*comm)?;
                if std::mem::replace(&mut self.windows[*new as usize], true) {
                    return Err(format!(
                        "the window `{}` is not freed yet",
                        self.file.windows[*new as usize]
                    ));
                }
                mpi::Call::OneSided(OneSided::Create { comm, new: *new })
            }
            Call::OnWindow(on) => mpi::Call::OneSided(self.one_sided(on)?),
            Call::Dup(..)
            | Call::Split { .. }
            | Call::Create { .. }
            | Call::Define { .. }
            | Call::FreeComm(_) => self.communicator(call)?,
        })
    }

    fn communicator(&mut self, call: &Call) -> Result<mpi::Call, String> {
        match call {
            Call::Dup(comm, new) => {
                self.comm(*comm)?;
                self.comms[*new as usize] = true;
                Ok(mpi::Call::CommDup { comm: *comm, new: *new })
            }
            Call::Split { comm, color, key, new } => {
                self.comm(*comm)?;
                let scope = self.scope();
                let color = color.as_ref().map(|c| c.value(&scope)).transpose()?;
                let color = color.map(|c| u32::try_from(c).map_err(|_| format!("{c} cannot be a color")));
                let (color, key) = (color.transpose()?, key.value(&scope)?);
                self.comms[*new as usize] = color.is_some();
                Ok(mpi::Call::CommSplit { comm: *comm, color, key, new: *new })
            }
            Call::Create { comm, group, new } => {
                self.comm(*comm)?;
                let group = group.ranks(&self.scope())?;
                // Ranks of the world are known to be in the group or not; others are believed.
                self.comms[*new as usize] = *comm != WORLD || group.contains(&CommRank::in_world(self.rank));
                Ok(mpi::Call::CommCreate { comm: *comm, group, new: *new })
            }
            Call::Define { group, new } => {
                let group = group.ranks(&self.scope())?;
                self.comms[*new as usize] = group.contains(&CommRank::in_world(self.rank));
                Ok(mpi::Call::CommDefine { group, new: *new })
            }
            Call::FreeComm(comm) if *comm == WORLD => Err("the world cannot be freed".to_owned()),
            Call::FreeComm(comm) => {
                self.comm(*comm)?;
                self.comms[*comm as usize] = false;
                Ok(mpi::Call::CommFree(*comm))
            }
            _ => Err("no call of communicators".to_owned()),
        }
    }

    fn one_sided(&mut self, on: &OnWindow) -> Result<OneSided, String> {
        let window = on.window as usize;
        if !self.windows[window] {
            return Err(format!("this rank has no window `{}` here", self.file.windows[window]));
        }
        let call = on.call(&self.scope())?;
        match call {
            OneSided::Free(_) => self.windows[window] = false,
            OneSided::Transfer { request: Some(request), .. } => _ = self.open(Some(request))?,
            _ => {}
        }
        Ok(call)
    }

    fn collective(&mut self, written: &Collective) -> Result<mpi::Collective, String> {
        let comm = self.comm(written.comm)?;
        let scope = self.scope();
        let root =
            written.root.as_ref().map_or(Ok(CommRank::new(0)), |root| rank(root.value(&scope)?, &scope))?;
        let bytes = written.bytes.as_ref().map_or(Ok(0), |bytes| bytes.bytes(&scope))?;
        let counts = written.counts.as_ref().map(|counts| counts.values(&scope)).transpose()?;
        let neighbours = written.neighbours.as_ref().map(|group| group.ranks(&scope)).transpose()?;
        let request = written.request.map(|name| self.open(name)).transpose()?;
        Ok(mpi::Collective {
            kind: written.kind,
            comm,
            root,
            bytes,
            counts,
            neighbours,
            request,
            algorithm: None,
        })
    }

    fn envelope(&self, end: &End) -> Result<Envelope, String> {
        let statement::End { peer, tag: written, bytes, comm } = end;
        let scope = self.scope();
        Ok(Envelope {
            peer: peer.value(&scope)?,
            tag: tag(written.as_ref(), &scope)?,
            bytes: bytes.bytes(&scope)?,
            comm: self.comm(*comm)?,
        })
    }

    fn comm(&self, comm: Comm) -> Result<Comm, String> {
        if self.comms[comm as usize] {
            return Ok(comm);
        }
        Err(format!("this rank has no communicator `{}` here", self.file.comms[comm as usize]))
    }

    fn name(&self, request: Request) -> String {
        self.file.requests.get(request as usize).cloned().unwrap_or_default()
    }

    fn unknown(&self, request: Request) -> String {
        format!("there is no open request `{}` here", self.name(request))
    }

    fn insert(&mut self, request: Request, state: State) -> Result<Request, String> {
        match self.requests.insert(request, state) {
            None => Ok(request),
            Some(_) => Err(format!(
                "the request `{}` is still open: wait for it or free it first",
                self.name(request)
            )),
        }
    }

    fn open(&mut self, name: Option<Request>) -> Result<Request, String> {
        let request = match name {
            Some(name) => name,
            None => {
                // Numbers are used again as soon as no request without name is open.
                let first = self.file.requests.len() as u32;
                if self.requests.range(first..).next().is_none() {
                    self.anonymous = first;
                }
                self.anonymous =
                    self.anonymous.checked_add(1).ok_or("there are too many requests without name")?;
                self.anonymous - 1
            }
        };
        self.insert(request, State { persistent: false, active: true })
    }

    fn start(&mut self, request: Request) -> Result<(), String> {
        match self.requests.get_mut(&request) {
            Some(state) if state.persistent && !state.active => {
                state.active = true;
                Ok(())
            }
            Some(state) if state.persistent => Err(format!("`{}` was started already", self.name(request))),
            _ => Err(format!("`{}` was not made by send_init or recv_init", self.name(request))),
        }
    }

    fn complete(&mut self, request: Request) -> Result<(), String> {
        match self.requests.get_mut(&request) {
            Some(state) if state.persistent => {
                state.active = false;
                Ok(())
            }
            Some(_) => {
                self.requests.remove(&request);
                Ok(())
            }
            None => Err(self.unknown(request)),
        }
    }

    fn complete_all(&mut self, requests: &[Request]) -> Result<(), String> {
        requests.iter().try_for_each(|&request| self.complete(request))
    }
}

impl Calls for Run {
    fn next(&mut self) -> Result<Option<(mpi::Call, u32)>, Damage> {
        self.step().map_err(|fault| fault.damage(&self.file))
    }

    fn counted(&mut self) -> Result<Option<(mpi::Call, u32, u64)>, Damage> {
        if self.folds.is_none() {
            debug_assert!(self.loops.is_empty(), "readers are asked for counts from their starts on");
            self.folds = Some(Folds::default());
        }
        let made = self.next()?;
        let times = self.folds.as_mut().map_or(1, Folds::called);
        Ok(made.map(|(call, position)| (call, position, times)))
    }
}
