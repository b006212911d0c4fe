//! Random valid MPI programs: every message must meet the receive that belongs to it, in whatever order ranks run and
//! however large eager messages may be.
//!
//! A program is a list of steps that all ranks follow in order, so that it cannot deadlock; requests are waited for at later
//! steps. A call's position is its step: sender and receiver of a message must come from the same step.

use super::execute::{Executor, Listed, Run};
use crate::program::{
    ANY_TAG,
    collective::{ALGORITHMS, Chooser, TABLES},
    lower::{Options, lower},
    mpi::{
        ANY_PEER, Call, Collective, CollectiveKind, CollectiveKind::*, Comm, CommRank, Envelope, Mode, WORLD,
    },
};
use base::rng::{Purpose, Stream};
use proptest::prelude::*;
use std::sync::Arc;

struct Writer {
    draw: Stream,
    ranks: Vec<Vec<(Call, u32)>>,
    /// Open requests by rank, and the next number.
    open: Vec<Vec<u32>>,
    next_request: u32,
    /// Handle and world ranks of the communicators.
    comms: Vec<(Comm, Vec<u32>)>,
    step: u32,
}

/// A script of `steps` steps on `size` ranks.
pub(in crate::program) fn program(seed: u64, size: u32, steps: u32) -> Listed {
    let mut writer = Writer {
        draw: Stream::new(seed, Purpose::Test, 1),
        ranks: vec![Vec::new(); size as usize],
        open: vec![Vec::new(); size as usize],
        next_request: 0,
        comms: vec![(WORLD, (0..size).collect())],
        step: 0,
    };
    for step in 0..steps {
        writer.step = step;
        match writer.draw.below(20) {
            0..9 => writer.transfer(),
            9..11 => writer.shift(),
            11..15 => writer.collective(),
            15..18 => writer.waits(),
            18 if writer.below(3) == 0 => writer.define(),
            18 => writer.split(),
            _ => (0..size).for_each(|r| writer.call(r, Call::Compute(u64::from(r)))),
        }
    }
    writer.step = steps;
    for rank in 0..size {
        let open = std::mem::take(&mut writer.open[rank as usize]);
        writer.call(rank, Call::Waitall(open.into()));
    }
    Listed { ranks: writer.ranks, makes_communicators: true }
}

impl Writer {
    fn below(&mut self, n: u32) -> u32 {
        self.draw.below(u64::from(n)) as u32
    }

    fn call(&mut self, rank: u32, call: Call) {
        self.ranks[rank as usize].push((call, self.step));
    }

    fn request(&mut self, rank: u32) -> u32 {
        self.next_request += 1;
        self.open[rank as usize].push(self.next_request);
        self.next_request
    }

    fn comm(&mut self) -> (Comm, Vec<u32>) {
        let index = self.below(self.comms.len() as u32);
        self.comms[index as usize].clone()
    }

    /// One message, with or without requests, sometimes received by wildcards (its tag is then its own).
    fn transfer(&mut self) {
        let (comm, members) = self.comm();
        let size = members.len() as u32;
        let (from, to) = (self.below(size), self.below(size));
        if from == to {
            return;
        }
        let alone = self.below(3) == 0;
        let tag = if alone { 100 + self.step } else { 1 + self.below(2) };
        let bytes = u64::from(self.below(200));
        let mode = [Mode::Standard, Mode::Synchronous, Mode::Buffered][self.below(3) as usize];
        let to_peer = Envelope { peer: CommRank::new(to), tag, bytes, comm };
        let wild = Envelope { peer: if alone { ANY_PEER } else { CommRank::new(from) }, tag, bytes, comm };
        let (sender, receiver) = (members[from as usize], members[to as usize]);
        match self.below(4) {
            0 => self.call(sender, Call::Send(to_peer, mode)),
            1 => {
                self.next_request += 1;
                let request = self.next_request;
                self.call(sender, Call::SendInit(to_peer, mode, request));
                self.call(sender, Call::Start([request].into()));
                self.open[sender as usize].push(request);
            }
            _ => {
                let request = self.request(sender);
                self.call(sender, Call::Isend(to_peer, mode, request));
            }
        }
        match self.below(4) {
            0 => self.call(receiver, Call::Recv(wild)),
            1 if alone => {
                self.call(receiver, Call::Probe(wild));
                self.call(receiver, Call::Recv(wild));
            }
            _ => {
                let request = self.request(receiver);
                self.call(receiver, Call::Irecv(wild, request));
            }
        }
    }

    /// Everybody of a communicator sends to the next.
    fn shift(&mut self) {
        let (comm, members) = self.comm();
        let size = members.len() as u32;
        let envelope = |peer| Envelope { peer: CommRank::new(peer % size), tag: 7, bytes: 150, comm };
        for me in 0..size {
            let from = Envelope {
                tag: if self.step.is_multiple_of(2) { ANY_TAG } else { 7 },
                ..envelope(me + size - 1)
            };
            let from = Envelope { tag: if self.ambiguous() { 7 } else { from.tag }, ..from };
            self.call(members[me as usize], Call::SendRecv(envelope(me + 1), from));
        }
    }

    /// True if a receive of any tag could meet a message of another step.
    fn ambiguous(&self) -> bool {
        self.open.iter().any(|open| !open.is_empty())
    }

    fn collective(&mut self) {
        let (comm, members) = self.comm();
        let size = members.len() as u32;
        let kind = CollectiveKind::ALL[self.below(CollectiveKind::ALL.len() as u32) as usize];
        let fitting: Vec<_> = ALGORITHMS.iter().filter(|a| a.kinds.contains(&kind)).collect();
        let name = fitting[self.below(fitting.len() as u32) as usize].about.name;
        let algorithm = (self.below(2) == 0).then_some(name);
        let (root, bytes) = (self.below(size), u64::from(self.below(300)));
        let nonblocking = self.below(3) == 0;
        let count = |from: u32, to: u32| u64::from((from + to) % 3) * bytes;
        for me in 0..size {
            let counts: Option<Vec<u64>> = match kind {
                Gatherv | Scatterv | Allgatherv | ReduceScatter => {
                    Some((0..size).map(|b| count(b, 0)).collect())
                }
                Alltoallv | Alltoallw => Some(
                    (0..size).map(|to| count(me, to)).chain((0..size).map(|from| count(from, me))).collect(),
                ),
                _ => None,
            };
            let ring = || [(me + size - 1) % size, (me + 1) % size].map(CommRank::new).into();
            let neighbours = matches!(kind, NeighborAllgather | NeighborAlltoall).then(ring);
            let request = nonblocking.then(|| self.request(members[me as usize]));
            let counts = counts.map(Into::into);
            let call = Collective {
                kind,
                comm,
                root: CommRank::new(root),
                bytes,
                counts,
                neighbours,
                request,
                algorithm,
            };
            self.call(members[me as usize], Call::Collective(call));
        }
    }

    /// Some ranks wait for some of their requests.
    fn waits(&mut self) {
        for rank in 0..self.ranks.len() as u32 {
            let mut some = Vec::new();
            for request in std::mem::take(&mut self.open[rank as usize]) {
                if self.below(2) == 0 {
                    some.push(request);
                } else {
                    self.open[rank as usize].push(request);
                }
            }
            let all = some.clone();
            match (some.as_slice(), self.below(3)) {
                ([], _) => {}
                (&[one], 0) => self.call(rank, Call::Wait(one)),
                (_, 1) => self.call(rank, Call::Test { completed: some.into() }),
                (&[first, ..], 2) => {
                    self.call(rank, Call::Waitany { requests: all.into(), completed: [].into() });
                    self.open[rank as usize].extend(&some[1..]);
                    assert_eq!(first, some[0]);
                }
                _ => self.call(rank, Call::Waitall(some.into())),
            }
        }
    }

    /// Ranks in any order that have a communicator already; others may say it, too.
    fn define(&mut self) {
        let (new, size) = (self.comms.len() as u32, self.ranks.len() as u32);
        let mut order: Vec<(u32, u32)> = (0..size).map(|rank| (self.below(1 << 20), rank)).collect();
        order.sort_unstable();
        order.truncate(1 + self.below(size) as usize);
        let group: Arc<[CommRank]> = order.iter().map(|&(_, rank)| CommRank::new(rank)).collect();
        for rank in 0..size {
            if group.contains(&CommRank::new(rank)) || self.below(2) == 0 {
                self.call(rank, Call::CommDefine { group: Arc::clone(&group), new });
            }
        }
        self.comms.push((new, order.into_iter().map(|(_, rank)| rank).collect()));
    }

    fn split(&mut self) {
        let (comm, members) = self.comm();
        let new = self.comms.len() as u32;
        let colors = 1 + self.below(3);
        let mut parts = vec![Vec::new(); colors as usize];
        for (me, &rank) in (0..).zip(&members) {
            let color = self.below(colors + 1);
            let key = i64::from(self.below(3)) - 1;
            let color = (color < colors).then_some(color);
            self.call(rank, Call::CommSplit { comm, color, key, new });
            if let Some(color) = color {
                parts[color as usize].push((key, me, rank));
            }
        }
        // Only the first colour's communicator is used, so that the handle means one thing.
        parts[0].sort_unstable();
        if !parts[0].is_empty() {
            self.comms.push((new, parts[0].iter().map(|&(_, _, rank)| rank).collect()));
        } else {
            self.comms.push((WORLD, (0..self.ranks.len() as u32).collect()));
        }
    }
}

/// By position: whether the call there returns only when all that it did is over.
fn steps_that_block(calls: &[(Call, u32)]) -> Vec<bool> {
    let mut blocking = vec![false; calls.last().map_or(0, |c| c.1 as usize + 1)];
    for (call, position) in calls {
        blocking[*position as usize] = match call {
            Call::Isend(..) | Call::Irecv(..) | Call::SendInit(..) | Call::Start(_) => false,
            Call::Collective(call) => call.request.is_none(),
            _ => true,
        };
    }
    blocking
}

fn check(run: &Run) -> Result<(), TestCaseError> {
    for m in &run.matches {
        prop_assert_eq!(m.send.origin, m.recv.origin, "{:?}", m);
        prop_assert_eq!(m.send.amount, m.recv.amount, "{:?}", m);
        prop_assert_eq!(m.send.collective, m.recv.collective);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_message_meets_its_receive(
        seed: u64,
        size in 1u32..12,
        eager in prop::sample::select(vec![0u64, 100, 1 << 20]),
        table in 0..TABLES.len(),
    ) {
        let script = Arc::new(program(seed, size, 40));
        let blocking: Vec<Vec<bool>> = script.ranks.iter().map(|calls| steps_that_block(calls)).collect();
        let options = Options { chooser: Chooser::new(&TABLES[table]), reduce_ps_per_byte: seed % 2 };
        let lowered = lower(script, options).map_err(|d| TestCaseError::fail(d.0))?;
        let run = Executor::new(&lowered, eager, seed).with_blocking(blocking).run().map_err(TestCaseError::fail)?;
        check(&run)?;
    }
}
