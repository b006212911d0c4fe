//! One rank's calls, turned into operations as they are asked for.

use super::{
    agreement::{Agreed, MAKERS, Watched},
    chain::{Chain, Posted, Round, blank},
    handles::Handles,
    shared::Shared,
    windows::{Access, Emit, Then},
};
use crate::program::{
    ANY_RANK, ANY_TAG, After, Batch, Cursor, Damage, Kind, Op,
    collective::{Algorithm, Task, Wait},
    mpi::{
        ANY_PEER, Call, Calls, Collective, CollectiveKind, Comm, CommRank, Envelope, Mode, OneSided,
        PROC_NULL, Request, WORLD, Window,
    },
};
use base::{index::RankId, units::MAX_TIME};
use std::{collections::VecDeque, sync::Arc};

/// Operations after which a batch is handed over.
const BATCH: usize = 64;

/// Largest tag of a collective, so that none is [`ANY_TAG`].
const TAGS: u32 = 1 << 31;

/// A communicator as one of its ranks sees it.
#[derive(Debug)]
struct Member {
    /// Number of the communicator in the job.
    id: u32,
    /// Own rank in it.
    me: CommRank,
    size: u32,
    /// Ranks of the job; `None` if they have the same numbers.
    members: Option<Arc<[RankId]>>,
    /// Collective calls so far.
    sequence: u32,
    /// All of them as one number, see [`Agreed::after`].
    called: u64,
}

/// An open request, under the number that the script gave it.
#[derive(Debug)]
enum Slot {
    /// Of a call that needs waiting for at most once.
    Once(State),
    /// Of a persistent send or receive.
    Persistent(Box<Persistent>),
}

/// A persistent request.
#[derive(Debug)]
struct Persistent {
    envelope: Envelope,
    /// Of a send; `None` for a receive.
    mode: Option<Mode>,
    state: State,
}

/// What a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Persistent and not started.
    Idle,
    /// Complete without any operation.
    Done,
    /// An operation's end.
    Op(u64),
}

/// A collective call on its way.
pub(super) struct Running {
    task: Task,
    algorithm: &'static Algorithm,
    rounds: u32,
    round: u32,
    members: Option<Arc<[RankId]>>,
    pattern: Op,
    posted: VecDeque<Posted>,
}

/// A rank's calls and what they become.
pub(super) struct Lowering {
    calls: Box<dyn Calls>,
    /// The call in hand, if its source does not keep it.
    held: Option<Call>,
    maker: Maker,
}

/// Makes operations of calls.
struct Maker {
    shared: Arc<Shared>,
    rank: RankId,
    /// Number of the next operation.
    next: u64,
    chain: Chain,
    requests: Handles<Slot>,
    comms: Handles<Member>,
    /// Windows, each with the communicator of its fences.
    windows: Handles<(Access, Member)>,
    /// Calls so far that make windows.
    opened: usize,
    /// Position of the last call that was read.
    last: u32,
    /// There are no more calls.
    over: bool,
    /// Calls so far that make communicators.
    made: usize,
    running: Option<Running>,
    /// Collectives are kept for a comparison.
    watched: Option<Watched>,
}

impl Slot {
    fn persistent(envelope: Envelope, mode: Option<Mode>) -> Self {
        Self::Persistent(Box::new(Persistent { envelope, mode, state: State::Idle }))
    }
}

type Outcome = Result<(), String>;

/// Calls in a row that do nothing, such as sends to nobody, before those of a source with loops count as a fault.
const MAX_IDLE: u32 = 1 << 24;

impl Cursor for Lowering {
    fn fill(&mut self, batch: &mut Batch) -> Result<(), Damage> {
        let Self { calls, held, maker } = self;
        let mut idle = 0;
        while batch.ops.len() < BATCH {
            if let Some(running) = &mut maker.running {
                let reduce = maker.shared.options.reduce_ps_per_byte;
                if !running.step(&mut maker.chain, &mut maker.next, batch, reduce) {
                    maker.running = None;
                }
                continue;
            }
            // Calls are looked at where they are: moving them would cost as much as all the rest.
            match calls.look(held) {
                Ok(Some((call, position))) => {
                    idle = if batch.ops.is_empty() { idle + 1 } else { 0 };
                    if idle > MAX_IDLE && maker.shared.script.has_loops() {
                        return Err(
                            maker.damage(position, "this is repeated again and again and does nothing")
                        );
                    }
                    if let Some(notes) = &mut batch.notes {
                        match call {
                            Call::Mark(mark) => {
                                notes.marks.push((mark.clone(), maker.chain.place(maker.next)))
                            }
                            _ => notes.begin(call.name(), batch.ops.len()),
                        }
                    }
                    if let Err(message) = maker.call(call, position, batch) {
                        return Err(maker.damage(position, &message));
                    }
                }
                Ok(None) => {
                    maker.ended(batch);
                    break;
                }
                Err(damage) => return Err(damage),
            }
        }
        Ok(())
    }
}

impl Lowering {
    pub(super) fn new(shared: &Arc<Shared>, rank: RankId, calls: Box<dyn Calls>) -> Self {
        let mut comms = Handles::new();
        let size = shared.script.ranks();
        comms.insert(
            WORLD,
            Member { id: 0, me: CommRank::in_world(rank), size, members: None, sequence: 0, called: 0 },
        );
        let maker = Maker {
            shared: Arc::clone(shared),
            rank,
            next: 0,
            chain: Chain::default(),
            requests: Handles::new(),
            comms,
            windows: Handles::new(),
            opened: 0,
            last: 0,
            over: false,
            made: 0,
            running: None,
            watched: None,
        };
        Self { calls, held: None, maker }
    }

    /// Reads a rank's collectives on a communicator once more.
    pub(super) fn watching(shared: &Arc<Shared>, rank: RankId, comm: u32) -> Self {
        let mut again = Self::new(shared, rank, shared.script.open(rank));
        again.maker.watched = Some(Watched { comm, calls: VecDeque::new() });
        again
    }

    /// The next of them that was read.
    pub(super) fn watched(&mut self) -> Option<Agreed> {
        self.maker.watched.as_mut()?.calls.pop_front()
    }
}

impl Maker {
    /// There are no more calls.
    #[cold]
    fn ended(&mut self, batch: &mut Batch) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        for member in self.comms.values().chain(self.windows.values().map(|(_, member)| member)) {
            self.shared.agreement.called(member.id, self.rank, member.called);
        }
        for (access, _) in self.windows.values() {
            let Self { chain, next, last: position, .. } = self;
            access.abandoned(&mut Emit { chain, next, batch, position: *position });
        }
    }

    #[cold]
    fn damage(&self, position: u32, message: &str) -> Damage {
        let place = self.shared.script.describe(self.rank, position);
        Damage(format!("{place}: rank {}: {message}", self.rank))
    }

    #[inline]
    fn call(&mut self, call: &Call, position: u32, batch: &mut Batch) -> Outcome {
        self.last = position;
        match *call {
            // A clock of a trace may have jumped.
            Call::Compute(amount) if amount > MAX_TIME => {
                return Err("this computation is longer than 2^62 ps, about 53 days".to_owned());
            }
            Call::Compute(amount) => {
                let op = Op { amount, ..blank(Kind::Calc, position) };
                self.chain.emit(&mut self.next, batch, op, After::Finish);
            }
            Call::Send(ref to, mode) => {
                self.post(to, Some(mode), position, batch, After::Finish)?;
            }
            Call::Recv(ref from) => {
                self.post(from, None, position, batch, After::Finish)?;
            }
            Call::Isend(ref to, mode, request) => {
                let state = self.post(to, Some(mode), position, batch, After::Start)?;
                self.open_request(request, Slot::Once(state))?;
            }
            Call::Irecv(ref from, request) => {
                let state = self.post(from, None, position, batch, After::Start)?;
                self.open_request(request, Slot::Once(state))?;
            }
            Call::Wait(request) => self.wait(&[request], position, batch)?,
            Call::Waitall(ref requests) => self.wait(requests, position, batch)?,
            Call::SendRecv(ref to, ref from) => {
                let received = self.post(from, None, position, batch, After::Start)?;
                self.post(to, Some(Mode::Standard), position, batch, After::Finish)?;
                if let State::Op(number) = received {
                    self.chain.wait_for(number);
                }
            }
            _ => self.rarer(call, position, batch)?,
        }
        Ok(())
    }

    #[inline(never)]
    fn rarer(&mut self, call: &Call, position: u32, batch: &mut Batch) -> Outcome {
        match *call {
            Call::SendInit(to, mode, request) => self.open_request(request, Slot::persistent(to, Some(mode))),
            Call::RecvInit(from, request) => self.open_request(request, Slot::persistent(from, None)),
            Call::Start(ref requests) => requests.iter().try_for_each(|&r| self.start(r, position, batch)),
            Call::RequestFree(request) => {
                self.requests.remove(request).map(drop).ok_or_else(|| unknown_request(request))
            }
            Call::Waitany { ref requests, ref completed } if completed.is_empty() => {
                self.wait_any(requests, position, batch)
            }
            Call::Waitany { ref completed, .. } => self.wait(completed, position, batch),
            Call::Test { ref completed } if completed.is_empty() => Ok(()),
            Call::Test { ref completed } => self.wait(completed, position, batch),
            Call::Probe(ref from) => {
                if let Some((peer, context)) = self.route(from, true)? {
                    let op = Op { peer, context, tag: from.tag, ..blank(Kind::Probe, position) };
                    self.chain.emit(&mut self.next, batch, op, After::Finish);
                }
                Ok(())
            }
            Call::Collective(ref call) => self.collective(call, None, position, batch),
            Call::CommDup { comm, new } => self.make(comm, new, 0, position, batch),
            Call::CommSplit { comm, new, .. } => self.make(comm, new, 1, position, batch),
            Call::CommCreate { comm, new, .. } => self.make(comm, new, 2, position, batch),
            Call::CommDefine { new, .. } => self.made(new),
            Call::CommFree(WORLD) => Err("the world communicator cannot be freed".to_owned()),
            Call::CommFree(comm) => {
                let freed = self.comms.remove(comm).ok_or_else(|| unknown_comm(comm))?;
                self.shared.agreement.called(freed.id, self.rank, freed.called);
                Ok(())
            }
            Call::OneSided(OneSided::Create { comm, new }) => self.window(comm, new, position, batch),
            Call::OneSided(ref call) => self.one_sided(call, position, batch),
            Call::Mark(_) => Ok(()),
            _ => unreachable!("the frequent calls are handled before"),
        }
    }

    /// Rank in the job and context of an envelope; `None` for the null process.
    #[inline]
    fn route(&self, envelope: &Envelope, receiving: bool) -> Result<Option<(RankId, u32)>, String> {
        let peer = envelope.peer;
        let comm = self.comms.get(envelope.comm).ok_or_else(|| unknown_comm(envelope.comm))?;
        if peer.number() < comm.size && (receiving || envelope.tag != ANY_TAG) {
            let peer = comm.members.as_ref().map_or(peer.of_world(), |m| m[peer.index()]);
            return Ok(Some((peer, 2 * comm.id)));
        }
        match peer {
            PROC_NULL => Ok(None),
            ANY_PEER if receiving => Ok(Some((ANY_RANK, 2 * comm.id))),
            _ if peer.number() < comm.size => Err("a send cannot have any tag".to_owned()),
            _ => Err(format!("rank {peer} is not among the {} ranks of its communicator", comm.size)),
        }
    }

    /// Appends a send (with a mode) or a receive.
    #[inline]
    fn post(
        &mut self,
        envelope: &Envelope,
        mode: Option<Mode>,
        origin: u32,
        batch: &mut Batch,
        then: After,
    ) -> Result<State, String> {
        let Some((peer, context)) = self.route(envelope, mode.is_none())? else { return Ok(State::Done) };
        let kind = if mode.is_some() { Kind::Send } else { Kind::Recv };
        let (tag, amount, mode) = (envelope.tag, envelope.bytes, mode.unwrap_or_default());
        let op = Op { peer, tag, context, mode, amount, ..blank(kind, origin) };
        Ok(State::Op(self.chain.emit(&mut self.next, batch, op, then)))
    }

    #[inline]
    fn open_request(&mut self, request: Request, slot: Slot) -> Outcome {
        match self.requests.insert(request, slot) {
            None => Ok(()),
            Some(_) => Err(format!("request {request} is used again, but nothing has waited for it")),
        }
    }

    fn start(&mut self, request: Request, position: u32, batch: &mut Batch) -> Outcome {
        let (envelope, mode) = match self.requests.get_mut(request) {
            Some(Slot::Persistent(p)) if p.state == State::Idle => (p.envelope, p.mode),
            Some(Slot::Persistent(_)) => return Err(format!("request {request} is started twice")),
            Some(Slot::Once(_)) => return Err(format!("request {request} is not persistent")),
            None => return Err(unknown_request(request)),
        };
        let started = self.post(&envelope, mode, position, batch, After::Start)?;
        if let Some(Slot::Persistent(p)) = self.requests.get_mut(request) {
            p.state = started;
        }
        Ok(())
    }

    /// A request is complete: takes it, or makes it ready to be started again. Returns what it waited for.
    #[inline]
    fn complete(&mut self, request: Request) -> Result<State, String> {
        match self.requests.get_mut(request) {
            Some(Slot::Persistent(p)) => Ok(std::mem::replace(&mut p.state, State::Idle)),
            Some(Slot::Once(state)) => {
                let state = *state;
                self.requests.remove(request);
                Ok(state)
            }
            None => Err(unknown_request(request)),
        }
    }

    fn wait(&mut self, requests: &[Request], position: u32, batch: &mut Batch) -> Outcome {
        for &request in requests {
            if let State::Op(number) = self.complete(request)? {
                self.chain.wait_for(number);
            }
        }
        self.chain.emit(&mut self.next, batch, blank(Kind::Join, position), After::Finish);
        Ok(())
    }

    /// Waits for any of the requests that are open. Those that are not are passed over, as MPI does.
    fn wait_any(&mut self, requests: &[Request], position: u32, batch: &mut Batch) -> Outcome {
        let state = |slot: &Slot| match slot {
            Slot::Once(state) => *state,
            Slot::Persistent(p) => p.state,
        };
        let open: Vec<(Request, State)> = requests
            .iter()
            .filter_map(|&r| Some((r, state(self.requests.get(r)?))))
            .filter(|&(_, s)| s != State::Idle)
            .collect();
        let Some(&(first, _)) = open.first() else { return self.wait(&[], position, batch) };
        self.complete(first)?;
        if open.iter().all(|&(_, s)| s != State::Done) {
            let mut any = Chain::default();
            let numbers = open.iter().filter_map(|&(_, s)| if let State::Op(n) = s { Some(n) } else { None });
            numbers.for_each(|n| any.wait_for(n));
            let any = any.emit(&mut self.next, batch, blank(Kind::JoinAny, position), After::Finish);
            self.chain.wait_for(any);
        }
        self.wait(&[], position, batch)
    }

    fn collective(
        &mut self,
        call: &Collective,
        maker: Option<u16>,
        position: u32,
        batch: &mut Batch,
    ) -> Outcome {
        let comm = self.comms.get_mut(call.comm).ok_or_else(|| unknown_comm(call.comm))?;
        let mut running = begun(&self.shared, comm, &mut self.watched, call, maker, position)?;
        let (rounds, pattern) = (running.rounds, running.pattern);
        let Some(request) = call.request else {
            self.running = Some(running);
            return Ok(());
        };
        let mut state = State::Done;
        if rounds > 0 {
            let mut beside = self.chain.clone();
            while running.step(&mut beside, &mut self.next, batch, self.shared.options.reduce_ps_per_byte) {}
            state = State::Op(beside.emit(&mut self.next, batch, pattern, After::Finish));
            self.chain.emit(&mut self.next, batch, pattern, After::Finish);
        }
        self.open_request(request, Slot::Once(state))
    }

    /// A call that makes a window: what the rank does for others begins, and all tell each other where their memory is.
    fn window(&mut self, comm: Comm, new: Window, position: u32, batch: &mut Batch) -> Outcome {
        let of = self.comms.get(comm).ok_or_else(|| unknown_comm(comm))?;
        let (me, size, members) = (of.me, of.size, of.members.clone());
        let mut emit = Emit { chain: &mut self.chain, next: &mut self.next, batch, position };
        let (windows, rank, opened) = (&self.shared.windows, self.rank, self.opened);
        let made = Access::new(windows, rank, opened, members.clone(), size, &mut emit);
        let (access, id) = made.ok_or("the script says that it makes no windows, but this call does")?;
        self.opened += 1;
        let member = Member { id, me, size, members, sequence: 0, called: 0 };
        self.windows.insert(new, (access, member));
        self.collective(&plain(CollectiveKind::Allgather, comm, ADDRESS), Some(MADE), position, batch)
    }

    /// Any other call on a window.
    fn one_sided(&mut self, call: &OneSided, position: u32, batch: &mut Batch) -> Outcome {
        let window = call.window();
        let (access, member) =
            self.windows.get_mut(window).ok_or_else(|| format!("window {window} is not known here"))?;
        let mut emit = Emit { chain: &mut self.chain, next: &mut self.next, batch, position };
        match (access.call(call, &self.shared.windows, &mut emit)?, call) {
            (Then::Request(number), &OneSided::Transfer { request: Some(request), .. }) => {
                self.open_request(request, Slot::Once(number.map_or(State::Done, State::Op)))?;
            }
            (Then::Meet, _) => {
                let maker = if matches!(call, OneSided::Free(_)) { FREED } else { FENCED };
                let barrier = plain(CollectiveKind::Barrier, WORLD, 0);
                let met = begun(&self.shared, member, &mut self.watched, &barrier, Some(maker), position)?;
                self.running = Some(met);
            }
            _ => {}
        }
        if let OneSided::Free(_) = call
            && let Some((_, freed)) = self.windows.remove(window)
        {
            self.shared.agreement.called(freed.id, self.rank, freed.called);
        }
        Ok(())
    }

    /// A call that makes a communicator: a small collective, then it exists.
    fn make(&mut self, comm: Comm, new: Comm, maker: u16, position: u32, batch: &mut Batch) -> Outcome {
        let kind = if maker == 1 { CollectiveKind::Allgather } else { CollectiveKind::Allreduce };
        debug_assert!(usize::from(maker) < MAKERS.len());
        self.collective(&plain(kind, comm, 8), Some(maker), position, batch)?;
        self.made(new)
    }

    /// The next of the communicators that were found beforehand has this handle.
    fn made(&mut self, new: Comm) -> Outcome {
        let made = self.shared.comms.made(self.rank, self.made);
        self.made += 1;
        let Some((id, me)) =
            made.ok_or("the script says that it makes no communicators, but this call does")?
        else {
            self.comms.remove(new);
            return Ok(());
        };
        let members = self.shared.comms.members(id);
        let size = members.as_ref().map_or(self.shared.script.ranks(), |m| m.len() as u32);
        let member = Member { id, me, size, members, sequence: 0, called: 0 };
        if let Some(before) = self.comms.insert(new, member) {
            self.shared.agreement.called(before.id, self.rank, before.called);
        }
        Ok(())
    }
}

/// Numbers of calls among the [`MAKERS`].
const MADE: u16 = 3;
const FENCED: u16 = 4;
const FREED: u16 = 5;
/// Bytes that tell others where memory is: its address and its size.
const ADDRESS: u64 = 16;

/// A collective without a root, counts and a request.
fn plain(kind: CollectiveKind, comm: Comm, bytes: u64) -> Collective {
    let root = CommRank::new(0);
    Collective { kind, comm, root, bytes, counts: None, neighbours: None, request: None, algorithm: None }
}

/// A collective call before its first round. `maker` is its number among the [`MAKERS`], if it is one of these.
fn begun(
    shared: &Shared,
    comm: &mut Member,
    watched: &mut Option<Watched>,
    call: &Collective,
    maker: Option<u16>,
    position: u32,
) -> Result<Running, String> {
    let agreed = Agreed::new(call, maker, position);
    comm.called = agreed.after(comm.called);
    if let Some(watched) = watched.as_mut().filter(|w| w.comm == comm.id) {
        watched.calls.push_back(agreed);
    }
    let mut task = Task::new(call, comm.me, comm.size)?;
    let algorithm = shared.options.chooser.choose(&mut task, call.algorithm)?;
    let tag = comm.sequence % TAGS;
    comm.sequence = comm.sequence.wrapping_add(1);
    let collective = 1 + maker.map_or(call.kind as u16, |maker| CollectiveKind::ALL.len() as u16 + maker);
    let pattern = Op { context: 2 * comm.id + 1, tag, collective, ..blank(Kind::Join, position) };
    Ok(Running::new(task, algorithm, comm.members.clone(), pattern))
}

impl Running {
    /// A call before its first round; transfers have the context, tag and origin of `pattern`.
    pub(super) fn new(
        task: Task,
        algorithm: &'static Algorithm,
        members: Option<Arc<[RankId]>>,
        pattern: Op,
    ) -> Self {
        let rounds = if task.is_empty() { 0 } else { (algorithm.rounds)(&task) };
        Self { task, algorithm, rounds, round: 0, members, pattern, posted: VecDeque::new() }
    }

    /// Appends a round; false if there is none left. Combining takes `reduce` picoseconds a byte.
    pub(super) fn step(&mut self, chain: &mut Chain, next: &mut u64, batch: &mut Batch, reduce: u64) -> bool {
        if self.round >= self.rounds {
            return false;
        }
        let mut round = Round {
            task: &self.task,
            members: self.members.as_deref(),
            pattern: self.pattern,
            chain,
            next,
            batch,
            posted: &mut self.posted,
            wait: Wait::All,
        };
        (self.algorithm.round)(&self.task, self.round, &mut round);
        let wait = round.wait;
        self.round += 1;
        let wait = if self.round < self.rounds { wait } else { Wait::All };
        let combine = chain.wait_for_posted(&mut self.posted, wait);
        let amount = combine.saturating_mul(reduce);
        if amount > 0 {
            let op = Op { kind: Kind::Calc, amount, ..self.pattern };
            chain.emit(next, batch, op, After::Finish);
        }
        true
    }
}

#[cold]
fn unknown_request(request: Request) -> String {
    format!("there is no open request {request}")
}

#[cold]
fn unknown_comm(comm: Comm) -> String {
    format!("communicator {comm} is not known here")
}
