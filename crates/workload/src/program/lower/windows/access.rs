//! Operations of a rank's one-sided calls, and of what it does for those of others.

use super::{
    epochs::{Epochs, Leg, Service, TAGS, Word},
    resolve::Windows,
};
use crate::program::{
    After, Batch, Kind, Op,
    lower::chain::{Chain, blank},
    mpi::{CommRank, Mode, OneSided, PROC_NULL},
};
use base::{index::RankId, sorted::SortedMap};
use std::sync::Arc;

/// Tag of the message that goes from hand to hand with a lock.
const TOKEN: u32 = 1 << 31;
/// Tag of a message that nobody sends: who has not ended an epoch waits for it.
const NEVER: u32 = TOKEN + 1;

/// Where operations go.
pub(in crate::program::lower) struct Emit<'a> {
    /// The rank's calls, one after the other.
    pub(in crate::program::lower) chain: &'a mut Chain,
    pub(in crate::program::lower) next: &'a mut u64,
    pub(in crate::program::lower) batch: &'a mut Batch,
    /// Where the call stands.
    pub(in crate::program::lower) position: u32,
}

/// What is left to do of a call.
pub(in crate::program::lower) enum Then {
    /// All is done.
    Nothing,
    /// The request of the call ends with this operation; without one it is complete.
    Request(Option<u64>),
    /// All ranks of the window meet.
    Meet,
}

/// A window as one of its ranks sees it.
#[derive(Debug)]
pub(in crate::program::lower) struct Access {
    /// Its place among the windows of the job.
    index: usize,
    /// Number of its first communicator.
    id: u32,
    /// Own rank in the job.
    rank: RankId,
    members: Option<Arc<[RankId]>>,
    epochs: Epochs,
    /// The last operations of what it does for others behind the last fence.
    serving: Vec<u64>,
    /// The same of all locks.
    locked: Vec<u64>,
    /// The same of what it has posted.
    posted: Vec<u64>,
    /// Receives of answers that nobody has waited for, by target.
    answers: SortedMap<CommRank, Vec<u64>>,
    /// Others take turns in locking this rank.
    contended: bool,
    legs: Vec<Leg>,
}

impl Emit<'_> {
    fn join(&mut self) {
        self.chain.emit(self.next, self.batch, blank(Kind::Join, self.position), After::Finish);
    }
}

impl Access {
    /// The window that a rank's n-th call makes, on a communicator of these ranks; it is served from now on.
    pub(in crate::program::lower) fn new(
        windows: &Windows,
        rank: RankId,
        n: usize,
        members: Option<Arc<[RankId]>>,
        size: u32,
        emit: &mut Emit<'_>,
    ) -> Option<(Self, u32)> {
        let (index, id) = windows.made(rank, n)?;
        let mut access = Self {
            index,
            id,
            rank,
            members,
            epochs: Epochs::new(size),
            serving: Vec::new(),
            locked: Vec::new(),
            posted: Vec::new(),
            answers: SortedMap::new(),
            contended: windows.contended(index, rank),
            legs: Vec::new(),
        };
        let services = windows.passive(index, rank);
        if !services.is_empty() {
            emit.join();
            if access.contended {
                access.token(&mut emit.chain.clone(), emit, Kind::Send);
            }
            for (origin, list) in services {
                let last = access.serve(&mut emit.chain.clone(), emit, *origin, list);
                access.locked.extend(last);
            }
            // What comes last must be the rank's own: with it the next batch is read.
            emit.join();
        }
        Some((access, id))
    }

    fn member(&self, peer: CommRank) -> RankId {
        self.members.as_ref().map_or(peer.of_world(), |m| m[peer.index()])
    }

    /// What a transfer's messages match by: those to targets, answers, and what only separates epochs.
    fn message(&self, kind: Kind, peer: RankId, context: u32, tag: u32, amount: u64, origin: u32) -> Op {
        let context = 2 * self.id + context;
        Op { peer, context, tag, amount, mode: Mode::Buffered, ..blank(kind, origin) }
    }

    fn token(&self, chain: &mut Chain, emit: &mut Emit<'_>, kind: Kind) {
        let op = self.message(kind, self.rank, CONTROL, TOKEN, 0, emit.position);
        chain.emit(emit.next, emit.batch, op, After::Finish);
    }

    /// Takes the messages of an origin one after the other, and answers those that want it. Returns the last operation.
    fn serve(&self, chain: &mut Chain, emit: &mut Emit<'_>, origin: RankId, list: &[Service]) -> Option<u64> {
        let mut last = None;
        for &Service { tag, out, back, word } in list {
            let op = self.message(Kind::Recv, origin, REQUESTS, tag, out, emit.position);
            last = Some(chain.emit(emit.next, emit.batch, op, After::Finish));
            match word {
                Word::Take if self.contended => self.token(chain, emit, Kind::Recv),
                Word::Give if self.contended => self.token(chain, emit, Kind::Send),
                _ => {}
            }
            if let Some(back) = back {
                let op = self.message(Kind::Send, origin, ANSWERS, tag, back, emit.position);
                last = Some(chain.emit(emit.next, emit.batch, op, After::Finish));
            }
        }
        last
    }

    /// Makes operations of a call on the window.
    pub(in crate::program::lower) fn call(
        &mut self,
        call: &OneSided,
        windows: &Windows,
        emit: &mut Emit<'_>,
    ) -> Result<Then, String> {
        match call {
            OneSided::Create { .. } | OneSided::Transfer { peer: PROC_NULL, .. } => {
                return Ok(Then::Request(None));
            }
            OneSided::Free(_) => {
                self.free(emit);
                return Ok(Then::Meet);
            }
            OneSided::Fence(_) => {
                self.fence(windows, emit)?;
                return Ok(Then::Meet);
            }
            OneSided::Post(_, group) => self.post(group, windows, emit)?,
            OneSided::Start(_, group) => self.start(group, emit)?,
            OneSided::Complete(_) => self.complete(emit)?,
            OneSided::Wait(_) => {
                self.epochs.wait()?;
                self.posted.drain(..).for_each(|number| emit.chain.wait_for(number));
                emit.join();
            }
            _ => return self.passive(call, emit),
        }
        Ok(Then::Nothing)
    }

    /// Transfers, and what is done with locks.
    fn passive(&mut self, call: &OneSided, emit: &mut Emit<'_>) -> Result<Then, String> {
        let mut legs = std::mem::take(&mut self.legs);
        legs.clear();
        self.epochs.legs(call, emit.position, &mut legs)?;
        let mut last = None;
        for &Leg { peer, service: Service { tag, out, back, .. }, .. } in &legs {
            let to = self.member(peer);
            if let Some(back) = back {
                let op = self.message(Kind::Recv, to, ANSWERS, tag, back, emit.position);
                let number = emit.chain.emit(emit.next, emit.batch, op, After::Start);
                self.answers.entry(peer).or_default().push(number);
                last = Some(number);
            }
            let op = self.message(Kind::Send, to, REQUESTS, tag, out, emit.position);
            let sent = emit.chain.emit(emit.next, emit.batch, op, After::Finish);
            last = if back.is_some() { last } else { Some(sent) };
        }
        self.legs = legs;
        match *call {
            OneSided::Transfer { .. } => return Ok(Then::Request(last)),
            OneSided::Lock { peer, .. } | OneSided::Unlock(_, peer) => self.answered(Some(peer), emit),
            OneSided::Flush { peer, .. } => self.answered(peer, emit),
            OneSided::UnlockAll(_) => self.answered(None, emit),
            _ => {}
        }
        Ok(Then::Nothing)
    }

    /// The chain goes on when a target, or all, have answered.
    fn answered(&mut self, peer: Option<CommRank>, emit: &mut Emit<'_>) {
        let waited = match peer {
            Some(peer) => self.answers.remove(&peer).into_iter().collect(),
            None => std::mem::take(&mut self.answers).into_values().collect::<Vec<_>>(),
        };
        waited.into_iter().flatten().for_each(|number| emit.chain.wait_for(number));
        emit.join();
    }

    fn fence(&mut self, windows: &Windows, emit: &mut Emit<'_>) -> Result<(), String> {
        let fence = self.epochs.fence()?;
        self.serving.drain(..).for_each(|number| emit.chain.wait_for(number));
        self.answered(None, emit);
        let services = windows.fenced(self.index, self.rank, fence);
        for (origin, list) in services {
            let last = self.serve(&mut emit.chain.clone(), emit, *origin, list);
            self.serving.extend(last);
        }
        if !services.is_empty() {
            emit.join();
        }
        Ok(())
    }

    fn post(
        &mut self,
        group: &Arc<[CommRank]>,
        windows: &Windows,
        emit: &mut Emit<'_>,
    ) -> Result<(), String> {
        let members = self.epochs.post(group, emit.position)?.clone();
        for &(peer, nth) in &members {
            let op = self.message(Kind::Send, self.member(peer), CONTROL, 2 * nth, 0, emit.position);
            emit.chain.emit(emit.next, emit.batch, op, After::Finish);
        }
        emit.join();
        for (peer, nth) in members {
            let (origin, mut chain) = (self.member(peer), emit.chain.clone());
            self.serve(&mut chain, emit, origin, windows.active(self.index, self.rank, origin, nth));
            let op = self.message(Kind::Recv, origin, CONTROL, 2 * nth + 1, 0, emit.position);
            self.posted.push(chain.emit(emit.next, emit.batch, op, After::Finish));
        }
        emit.join();
        Ok(())
    }

    fn start(&mut self, group: &Arc<[CommRank]>, emit: &mut Emit<'_>) -> Result<(), String> {
        let mut posts = Vec::new();
        for (peer, nth) in self.epochs.start(group, emit.position)?.clone() {
            let op = self.message(Kind::Recv, self.member(peer), CONTROL, 2 * nth, 0, emit.position);
            posts.push(emit.chain.emit(emit.next, emit.batch, op, After::Start));
        }
        posts.into_iter().for_each(|number| emit.chain.wait_for(number));
        emit.join();
        Ok(())
    }

    fn complete(&mut self, emit: &mut Emit<'_>) -> Result<(), String> {
        for (peer, nth) in self.epochs.complete()? {
            let op = self.message(Kind::Send, self.member(peer), CONTROL, 2 * nth + 1, 0, emit.position);
            emit.chain.emit(emit.next, emit.batch, op, After::Finish);
        }
        self.answered(None, emit);
        Ok(())
    }

    fn free(&mut self, emit: &mut Emit<'_>) {
        const { assert!(TAGS < TOKEN, "tags of transfers are below those with a meaning") };
        self.serving.drain(..).for_each(|number| emit.chain.wait_for(number));
        self.answered(None, emit);
        self.put_away(emit);
    }

    /// The lock that goes from hand to hand is taken when nobody asks for it any more: others may still do, when this rank does not.
    fn put_away(&self, emit: &mut Emit<'_>) {
        if self.contended {
            let mut beside = emit.chain.clone();
            self.locked.iter().for_each(|&number| beside.wait_for(number));
            self.token(&mut beside, emit, Kind::Recv);
            emit.join();
        }
    }

    /// The rank's calls are over. An epoch that has not ended is waited for, so that the run says who did not end it.
    pub(in crate::program::lower) fn abandoned(&self, emit: &mut Emit<'_>) {
        if let Some((peer, position)) = self.epochs.open() {
            let op = self.message(Kind::Recv, self.member(peer), CONTROL, NEVER, 0, position);
            emit.chain.emit(emit.next, emit.batch, op, After::Finish);
        }
        self.put_away(emit);
    }
}

/// Contexts of a window, counted from twice its first communicator; the one between belongs to its fences.
const REQUESTS: u32 = 0;
const ANSWERS: u32 = 2;
const CONTROL: u32 = 3;
