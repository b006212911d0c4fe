//! The simulator: everything is looked at again after each happening, until nothing moves.

use super::{BACKWARD, Program, world_rank};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque},
};
use workload::program::mpi::{Call, CommRank, OneSided, Request, Window};

/// What the simulator can be made to do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Exclusive locks exclude nobody.
    Together,
    /// A fence does not wait for what comes in.
    Careless,
    /// The end of an epoch with a group does not wait for answers.
    Hasty,
    /// A flush asks nobody.
    Unflushed,
    /// Answers are given in the middle of a computation.
    Helpful,
    /// Peers are taken for ranks of the world.
    Misread,
}

impl Fault {
    pub const ALL: [Self; 6] =
        [Self::Together, Self::Careless, Self::Hasty, Self::Unflushed, Self::Helpful, Self::Misread];
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// Of a meeting: place, its number there, round.
    Signal(u32, u32, u32),
    Request(Window, u32),
    Answer(Window, u32),
    Post(Window, u32),
    Complete(Window, u32),
    /// The lock of a rank's window, free.
    Token(Window),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Wake(u32),
    Comes(u32, u32, Key),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Epoch {
    Fence(u32),
    Group(u32),
    Lock,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lock {
    Nothing,
    Take,
    Give,
}

/// What an origin wants of its target.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    number: u32,
    back: Option<u64>,
    lock: Lock,
}

/// Who serves an origin: the requests of an epoch one after the other.
#[derive(Default)]
struct Agent {
    wanted: VecDeque<Wanted>,
    /// How far it has come with the first one.
    stage: u8,
    done: u32,
}

/// Window, target, origin, epoch.
type AgentAt = (Window, u32, u32, Epoch);

#[derive(Default)]
struct Rank {
    at: usize,
    /// How far it has come with the call in hand.
    stage: u32,
    busy: u64,
    ends: Vec<u64>,
    met: BTreeMap<u32, u32>,
    numbers: BTreeMap<Window, u32>,
    fences: u32,
    group: Vec<(u32, u32)>,
    posted: Vec<(u32, u32)>,
    starts: BTreeMap<u32, u32>,
    posts: BTreeMap<u32, u32>,
    locked: BTreeSet<(Window, u32)>,
    all: bool,
    touched: BTreeSet<(Window, u32)>,
    /// Answers that are awaited: window, target, number.
    awaited: BTreeSet<(Window, u32, u32)>,
    requests: BTreeMap<Request, Option<(Window, u32, u32)>>,
}

pub struct Naive<'a> {
    program: &'a Program,
    latency: u64,
    byte: u64,
    fault: Option<Fault>,
    now: u64,
    agenda: BinaryHeap<Reverse<(u64, u64, Happens)>>,
    happened: u64,
    latest: BTreeMap<(u32, u32), u64>,
    here: BTreeSet<(u32, u32, Key)>,
    ranks: Vec<Rank>,
    agents: BTreeMap<AgentAt, Agent>,
    queues: BTreeMap<(Window, u32), VecDeque<AgentAt>>,
    /// Which of two things at one instant comes first, where no rule tells: 0 and 1 stand for one and the other, others for draws.
    order: u64,
}

impl<'a> Naive<'a> {
    pub fn new(program: &'a Program, latency: u64, byte: u64, fault: Option<Fault>, order: u64) -> Self {
        let ranks = program.calls.iter().map(|_| Rank::default()).collect();
        Self {
            program,
            latency,
            byte,
            fault,
            now: 0,
            agenda: BinaryHeap::new(),
            happened: 0,
            latest: BTreeMap::new(),
            here: BTreeSet::new(),
            ranks,
            agents: BTreeMap::new(),
            queues: BTreeMap::new(),
            order,
        }
    }

    fn size(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn world(&self, window: Window, peer: CommRank) -> u32 {
        let peer = peer.number();
        if self.fault == Some(Fault::Misread) { peer } else { world_rank(window, peer, self.size()) }
    }

    /// True if the other of two things at one instant comes first now.
    fn turned(&mut self) -> bool {
        if self.order > 1 {
            // Xorshift: it never comes to 0, and draws are its upper bits.
            self.order ^= self.order << 13;
            self.order ^= self.order >> 7;
            self.order ^= self.order << 17;
            return self.order >> 63 == 1;
        }
        self.order == 1
    }

    fn happens(&mut self, at: u64, what: Happens) {
        self.happened += 1;
        let order = if self.turned() { u64::MAX - self.happened } else { self.happened };
        self.agenda.push(Reverse((at, order, what)));
    }

    fn send(&mut self, from: u32, to: u32, key: Key, bytes: u64) {
        let latest = self.latest.entry((from, to)).or_default();
        *latest = (*latest).max(self.now + self.latency + self.byte * bytes);
        let at = *latest;
        self.happens(at, Happens::Comes(to, from, key));
    }

    fn something(&mut self) -> bool {
        let size = self.size();
        match self.turned() {
            true => (0..size).rev().any(|rank| self.call(rank)) || self.agents(),
            false => self.agents() || (0..size).any(|rank| self.call(rank)),
        }
    }

    /// By rank, when each of its computations ends.
    pub fn run(mut self) -> Vec<Vec<u64>> {
        loop {
            // What comes at an instant is there before anybody begins something at it.
            let now = self.now;
            if self.agenda.peek().is_none_or(|Reverse((at, ..))| *at > now) {
                while self.something() {}
            }
            let Some(Reverse((at, _, what))) = self.agenda.pop() else { break };
            self.now = at;
            match what {
                Happens::Comes(to, from, key) => {
                    assert!(self.here.insert((to, from, key)), "{key:?} twice");
                }
                Happens::Wake(rank) => self.ranks[rank as usize].ends.push(at),
            }
        }
        self.ranks.into_iter().map(|rank| rank.ends).collect()
    }

    /// True if the locks of a rank have to take turns.
    fn contended(&self, window: Window, target: u32) -> bool {
        let lockers = &self.program.lockers;
        let turns = |(&(w, peer), who): (&(Window, u32), &Vec<u32>)| {
            w == window && world_rank(w, peer, self.size()) == target && who.len() > 1
        };
        self.fault != Some(Fault::Together) && lockers.iter().any(turns)
    }

    /// One thing that some agent can do.
    fn agents(&mut self) -> bool {
        let mut all: Vec<AgentAt> = self.agents.keys().copied().collect();
        if self.turned() {
            all.reverse();
        }
        all.into_iter().any(|at| self.serve(at))
    }

    fn serve(&mut self, at: AgentAt) -> bool {
        let (window, target, origin, epoch) = at;
        let agent = &self.agents[&at];
        let Some(&wanted) = agent.wanted.front() else { return false };
        let (stage, turns) = (agent.stage, self.contended(window, target));
        let free = self.ranks[target as usize].busy <= self.now || self.fault == Some(Fault::Helpful);
        match stage {
            0 => {
                let open = match epoch {
                    Epoch::Fence(n) => self.ranks[target as usize].fences > n,
                    _ => true,
                };
                if !open || !self.here.contains(&(target, origin, Key::Request(window, wanted.number))) {
                    return false;
                }
                if wanted.lock == Lock::Take && turns {
                    self.queues.entry((window, target)).or_default().push_back(at);
                }
            }
            1 if wanted.lock == Lock::Take && turns => {
                let first = self.queues[&(window, target)].front() == Some(&at);
                if !first || !self.here.remove(&(target, target, Key::Token(window))) {
                    return false;
                }
                self.queues.get_mut(&(window, target)).expect("a queue").pop_front();
            }
            1 if wanted.lock == Lock::Give && turns => {
                if !free {
                    return false;
                }
                self.send(target, target, Key::Token(window), 0);
            }
            1 => {}
            _ => {
                if let Some(back) = wanted.back {
                    if !free {
                        return false;
                    }
                    self.send(target, origin, Key::Answer(window, wanted.number), back);
                }
            }
        }
        let agent = self.agents.get_mut(&at).expect("an agent");
        agent.stage += 1;
        if agent.stage == 3 {
            agent.stage = 0;
            agent.done += 1;
            agent.wanted.pop_front();
        }
        true
    }

    /// One thing that the call in hand of a rank can do.
    fn call(&mut self, rank: u32) -> bool {
        let r = &mut self.ranks[rank as usize];
        if r.busy > self.now {
            return false;
        }
        let Some(call) = self.program.calls[rank as usize].get(r.at).cloned() else { return false };
        let done = match call {
            Call::Compute(time) => {
                r.busy = self.now + time;
                self.happens(self.now + time, Happens::Wake(rank));
                true
            }
            Call::CommSplit { .. } => self.meet(rank, 100, None, Some(8)),
            Call::Wait(request) => {
                let awaited = r.requests[&request];
                awaited.is_none_or(|(window, peer, number)| self.answered(rank, window, peer, number))
            }
            Call::OneSided(call) => self.one_sided(rank, &call),
            other => panic!("{other:?} is not in these programs"),
        };
        if done {
            let r = &mut self.ranks[rank as usize];
            r.at += 1;
            r.stage = 0;
        }
        done
    }

    /// True if a rank looks at the call in hand for the first time.
    fn first(&mut self, rank: u32) -> bool {
        std::mem::replace(&mut self.ranks[rank as usize].stage, 1) == 0
    }

    /// Rounds of a meeting of all: a ring of blocks, or signals at distances of 1, 2, 4. True at its end.
    fn meet(&mut self, rank: u32, place: u32, window: Option<Window>, block: Option<u64>) -> bool {
        let size = self.size();
        let here = |rank: u32| window.map_or(rank, |window| world_rank(window, rank, size));
        let me = here(rank);
        loop {
            let r = &mut self.ranks[rank as usize];
            let round = r.stage / 2;
            let distance = if block.is_some() { 1 } else { 1 << round };
            if (block.is_some() && round + 1 >= size) || (block.is_none() && distance >= size) {
                *r.met.entry(place).or_default() += 1;
                return true;
            }
            let key = Key::Signal(place, r.met.get(&place).copied().unwrap_or(0), round);
            if r.stage.is_multiple_of(2) {
                r.stage += 1;
                self.send(rank, here((me + distance) % size), key, block.unwrap_or(0));
            } else if self.here.remove(&(rank, here((me + size - distance) % size), key)) {
                r.stage += 1;
            } else {
                return false;
            }
        }
    }

    fn answered(&self, rank: u32, window: Window, peer: u32, number: u32) -> bool {
        self.here.contains(&(rank, peer, Key::Answer(window, number)))
    }

    /// True if nothing of a target, or of all, is awaited.
    fn quiet(&self, rank: u32, window: Window, peer: Option<u32>) -> bool {
        let awaited = self.ranks[rank as usize].awaited.iter();
        let mut of = awaited.filter(|a| a.0 == window && peer.is_none_or(|peer| peer == a.1));
        of.all(|&(window, peer, number)| self.answered(rank, window, peer, number))
    }

    /// A request of some bytes, and what it asks back.
    fn ask(&mut self, at: AgentAt, out: u64, back: Option<u64>, lock: Lock) {
        let (window, target, origin, _) = at;
        let r = &mut self.ranks[origin as usize];
        let number = r.numbers.get(&window).map_or(0, |last| last + 1);
        r.numbers.insert(window, number);
        if back.is_some() {
            r.awaited.insert((window, target, number));
        }
        self.agents.entry(at).or_default().wanted.push_back(Wanted { number, back, lock });
        self.send(origin, target, Key::Request(window, number), out);
    }

    /// Asks those that were touched, or one of them, whether all is there.
    fn flush(&mut self, rank: u32, window: Window, peer: Option<u32>) {
        let r = &mut self.ranks[rank as usize];
        let some = |t: &(Window, u32)| t.0 == window && peer.is_none_or(|peer| peer == t.1);
        let asked: Vec<(Window, u32)> = r.touched.iter().copied().filter(some).collect();
        for touched in asked {
            self.ranks[rank as usize].touched.remove(&touched);
            if self.fault != Some(Fault::Unflushed) {
                self.ask((window, touched.1, rank, Epoch::Lock), 0, Some(0), Lock::Nothing);
            }
        }
    }

    /// True if the call is at its end.
    fn one_sided(&mut self, rank: u32, call: &OneSided) -> bool {
        let window = call.window();
        let begins = self.ranks[rank as usize].stage == 0;
        match call {
            OneSided::Create { comm, .. } => {
                let there = self.here.contains(&(rank, rank, Key::Token(window)));
                if begins && !there && self.contended(window, rank) {
                    self.send(rank, rank, Key::Token(window), 0);
                }
                let order = (*comm == BACKWARD).then_some(window);
                self.meet(rank, 100 + comm, order, Some(16))
            }
            OneSided::Transfer { kind, peer, bytes, request, .. } => {
                let peer = self.world(window, *peer);
                let r = &mut self.ranks[rank as usize];
                let epoch = if r.all || r.locked.contains(&(window, peer)) {
                    r.touched.insert((window, peer));
                    Epoch::Lock
                } else if let Some(member) = r.group.iter().find(|g| g.0 == peer) {
                    Epoch::Group(member.1)
                } else {
                    Epoch::Fence(r.fences - 1)
                };
                let back = kind.back(*bytes);
                self.ask((window, peer, rank, epoch), kind.out(*bytes), back, Lock::Nothing);
                let r = &mut self.ranks[rank as usize];
                if let Some(request) = request {
                    r.requests.insert(*request, back.map(|_| (window, peer, r.numbers[&window])));
                }
                true
            }
            OneSided::Fence(_) => self.fence(rank, window),
            OneSided::Free(_) => {
                (!begins || self.quiet(rank, window, None)) && self.meet(rank, window, Some(window), None)
            }
            OneSided::Lock { peer, exclusive, .. } => {
                let peer = self.world(window, *peer);
                if self.first(rank) {
                    self.ranks[rank as usize].locked.insert((window, peer));
                    let lock = if *exclusive { Lock::Take } else { Lock::Nothing };
                    self.ask((window, peer, rank, Epoch::Lock), 0, Some(0), lock);
                }
                self.quiet(rank, window, Some(peer))
            }
            OneSided::Unlock(_, peer) => {
                let peer = self.world(window, *peer);
                if self.first(rank) {
                    self.ranks[rank as usize].locked.remove(&(window, peer));
                    self.ranks[rank as usize].touched.remove(&(window, peer));
                    self.ask((window, peer, rank, Epoch::Lock), 0, Some(0), Lock::Give);
                }
                self.quiet(rank, window, Some(peer))
            }
            OneSided::LockAll(_) => {
                self.ranks[rank as usize].all = true;
                true
            }
            OneSided::UnlockAll(_) | OneSided::Flush { .. } => {
                let (peer, local) = match call {
                    OneSided::Flush { peer, local, .. } => (peer.map(|p| self.world(window, p)), *local),
                    _ => (None, false),
                };
                if self.first(rank) {
                    self.ranks[rank as usize].all &= !matches!(call, OneSided::UnlockAll(_));
                    if !local {
                        self.flush(rank, window, peer);
                    }
                }
                self.quiet(rank, window, peer)
            }
            _ => self.group(rank, window, call),
        }
    }

    fn fence(&mut self, rank: u32, window: Window) -> bool {
        let r = &self.ranks[rank as usize];
        if r.stage == 0 {
            let before = r.fences.wrapping_sub(1);
            let served = |(at, agent): (&AgentAt, &Agent)| {
                if (at.0, at.1, at.3) == (window, rank, Epoch::Fence(before)) { agent.done } else { 0 }
            };
            let incoming = self.program.incoming.get(&(window, before, rank)).copied().unwrap_or(0);
            let all = self.agents.iter().map(served).sum::<u32>() == incoming;
            if !(all || self.fault == Some(Fault::Careless)) || !self.quiet(rank, window, None) {
                return false;
            }
            self.ranks[rank as usize].fences += 1;
        }
        // A rank that is alone meets nobody.
        self.meet(rank, window, Some(window), None)
    }

    fn group(&mut self, rank: u32, window: Window, call: &OneSided) -> bool {
        match call {
            OneSided::Post(_, group) => {
                for peer in group.iter().map(|p| p.number()) {
                    let r = &mut self.ranks[rank as usize];
                    let nth = r.posts.entry(peer).or_default();
                    r.posted.push((peer, *nth));
                    let key = Key::Post(window, *nth);
                    *nth += 1;
                    self.send(rank, peer, key, 0);
                }
                true
            }
            OneSided::Start(_, group) => {
                let begins = self.first(rank);
                let r = &mut self.ranks[rank as usize];
                if begins {
                    for peer in group.iter().map(|p| p.number()) {
                        let nth = r.starts.entry(peer).or_default();
                        r.group.push((peer, *nth));
                        *nth += 1;
                    }
                }
                r.group.iter().all(|&(peer, nth)| self.here.contains(&(rank, peer, Key::Post(window, nth))))
            }
            OneSided::Complete(_) => {
                if self.first(rank) {
                    for (peer, nth) in std::mem::take(&mut self.ranks[rank as usize].group) {
                        self.send(rank, peer, Key::Complete(window, nth), 0);
                    }
                }
                self.fault == Some(Fault::Hasty) || self.quiet(rank, window, None)
            }
            _ => {
                let served = |&(peer, nth): &(u32, u32)| {
                    let agent = self.agents.get(&(window, rank, peer, Epoch::Group(nth)));
                    agent.is_none_or(|agent| agent.wanted.is_empty())
                        && self.here.contains(&(rank, peer, Key::Complete(window, nth)))
                };
                if !self.ranks[rank as usize].posted.iter().all(served) {
                    return false;
                }
                self.ranks[rank as usize].posted.clear();
                true
            }
        }
    }
}
