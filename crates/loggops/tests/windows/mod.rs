//! Random programs with windows, and a naive simulator of them.

mod naive;

pub use naive::{Fault, Naive};

use base::{
    rng::{Purpose, Stream},
    sorted::SortedMap,
};
use std::sync::Arc;
use workload::program::mpi::{Call, Comm, CommRank, OneSided, Request, TransferKind, WORLD, Window};

/// A communicator of all ranks in the opposite order.
pub const BACKWARD: Comm = 1;
/// Windows: with fences and groups, with exclusive locks on the communicator of the opposite order, with shared locks.
const FENCED: Window = 0;
const EXCLUSIVE: Window = 1;
const SHARED: Window = 2;

/// A random program.
#[derive(Debug, Default)]
pub struct Program {
    pub calls: Vec<Vec<Call>>,
    /// Transfers to a rank behind a fence, by window, fence and rank.
    pub incoming: SortedMap<(Window, u32, u32), u32>,
    /// Who locks a rank exclusively, by window and rank.
    pub lockers: SortedMap<(Window, u32), Vec<u32>>,
}

struct Writer {
    draw: Stream,
    size: u32,
    program: Program,
    requests: Request,
    fences: u32,
}

/// The rank of all that has this number on the communicator of a window; the same both ways.
pub fn world_rank(window: Window, rank: u32, size: u32) -> u32 {
    if window == EXCLUSIVE { size - 1 - rank } else { rank }
}

pub fn program(seed: u64) -> Program {
    let mut draw = Stream::new(seed, Purpose::Test, 7);
    let size = 1 + draw.below(5) as u32;
    let program = Program { calls: vec![Vec::new(); size as usize], ..Program::default() };
    let mut w = Writer { draw, size, program, requests: 0, fences: 0 };
    for rank in 0..size {
        w.compute(rank);
        let key = -i64::from(rank);
        w.call(rank, Call::CommSplit { comm: WORLD, color: Some(0), key, new: BACKWARD });
        for (comm, new) in [(WORLD, FENCED), (BACKWARD, EXCLUSIVE), (WORLD, SHARED)] {
            w.on(rank, OneSided::Create { comm, new });
            w.compute(rank);
        }
    }
    for _ in 0..2 {
        match w.draw.below(4) {
            0 => w.fences(),
            1 => w.groups(),
            2 => (0..size).for_each(|rank| w.exclusive(rank)),
            _ => (0..size).for_each(|rank| w.shared(rank)),
        }
    }
    for rank in 0..size {
        for window in [EXCLUSIVE, FENCED, SHARED] {
            w.on(rank, OneSided::Free(window));
            w.compute(rank);
        }
    }
    w.program
}

impl Writer {
    fn below(&mut self, n: u32) -> u32 {
        self.draw.below(u64::from(n)) as u32
    }

    fn call(&mut self, rank: u32, call: Call) {
        self.program.calls[rank as usize].push(call);
    }

    fn on(&mut self, rank: u32, call: OneSided) {
        self.call(rank, Call::OneSided(call));
    }

    fn compute(&mut self, rank: u32) {
        let time = 1 + self.draw.below(9_000_000);
        self.call(rank, Call::Compute(time));
    }

    /// A few transfers to one of these, computations between them; some have a request that is waited for at once or later.
    fn transfers(&mut self, rank: u32, window: Window, peers: &[u32], fence: Option<u32>) {
        let mut open = Vec::new();
        for _ in 0..self.below(4) {
            let peer = peers[self.below(peers.len() as u32) as usize];
            let kind = TransferKind::ALL[self.below(6) as usize];
            let bytes = u64::from(self.below(20_000));
            self.requests += 1;
            let request = (self.below(3) == 0).then_some(self.requests);
            open.extend(request);
            self.on(rank, OneSided::Transfer { window, kind, peer: CommRank::new(peer), bytes, request });
            if let Some(fence) = fence {
                *self.program.incoming.entry((window, fence, peer)).or_default() += 1;
            }
            if self.below(2) == 0 {
                self.compute(rank);
            }
            if self.below(2) == 0 && !open.is_empty() {
                let request = open.remove(0);
                self.call(rank, Call::Wait(request));
            }
        }
        open.into_iter().for_each(|request| self.call(rank, Call::Wait(request)));
    }

    fn fences(&mut self) {
        let all: Vec<u32> = (0..self.size).collect();
        for rank in 0..self.size {
            self.on(rank, OneSided::Fence(FENCED));
            self.transfers(rank, FENCED, &all, Some(self.fences));
            self.on(rank, OneSided::Fence(FENCED));
            self.compute(rank);
        }
        self.fences += 2;
    }

    fn groups(&mut self) {
        let size = self.size;
        let grants: Vec<Vec<bool>> =
            (0..size).map(|_| (0..size).map(|_| self.below(2) == 0).collect()).collect();
        for rank in 0..size {
            let some =
                |of: &dyn Fn(usize) -> bool| -> Vec<u32> { (0..size).filter(|&r| of(r as usize)).collect() };
            let origins = some(&|r| grants[rank as usize][r]);
            let targets = some(&|r| grants[r][rank as usize]);
            let group =
                |ranks: &[u32]| -> Arc<[CommRank]> { ranks.iter().map(|&r| CommRank::new(r)).collect() };
            self.compute(rank);
            self.on(rank, OneSided::Post(FENCED, group(&origins)));
            if !targets.is_empty() {
                self.on(rank, OneSided::Start(FENCED, group(&targets)));
                self.compute(rank);
                self.transfers(rank, FENCED, &targets, None);
                self.on(rank, OneSided::Complete(FENCED));
                self.compute(rank);
            }
            self.on(rank, OneSided::Wait(FENCED));
            self.compute(rank);
        }
    }

    fn exclusive(&mut self, rank: u32) {
        for _ in 0..self.below(3) {
            let peer = self.below(self.size);
            let lockers = self.program.lockers.entry((EXCLUSIVE, peer)).or_default();
            if !lockers.contains(&rank) {
                lockers.push(rank);
            }
            self.on(rank, OneSided::Lock { window: EXCLUSIVE, peer: CommRank::new(peer), exclusive: true });
            self.locked(rank, EXCLUSIVE, &[peer], Some(peer));
            self.on(rank, OneSided::Unlock(EXCLUSIVE, CommRank::new(peer)));
            self.compute(rank);
        }
    }

    /// Transfers, some of them flushed.
    fn locked(&mut self, rank: u32, window: Window, peers: &[u32], one: Option<u32>) {
        for _ in 0..1 + self.below(2) {
            self.transfers(rank, window, peers, None);
            let (flushed, local) = (self.below(3) > 0, self.below(3) == 0);
            let peer = if self.below(2) == 0 { one.map(CommRank::new) } else { None };
            if flushed {
                self.on(rank, OneSided::Flush { window, peer, local });
                self.compute(rank);
            }
        }
    }

    fn shared(&mut self, rank: u32) {
        if self.below(2) == 0 {
            let all: Vec<u32> = (0..self.size).collect();
            self.on(rank, OneSided::LockAll(SHARED));
            self.locked(rank, SHARED, &all, None);
            self.on(rank, OneSided::UnlockAll(SHARED));
        } else {
            let peer = self.below(self.size);
            self.on(rank, OneSided::Lock { window: SHARED, peer: CommRank::new(peer), exclusive: false });
            self.locked(rank, SHARED, &[peer], Some(peer));
            self.on(rank, OneSided::Unlock(SHARED, CommRank::new(peer)));
        }
        self.compute(rank);
    }
}
