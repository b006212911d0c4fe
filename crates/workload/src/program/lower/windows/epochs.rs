//! What a rank has open on a window, and the messages that its calls send: the same for who reads them beforehand and who makes operations of them.

use crate::program::mpi::{CommRank, OneSided, TransferKind};
use base::sorted::{SortedMap, SortedSet};
use std::sync::Arc;

/// Tags stay below this; those above have a meaning of their own.
pub(super) const TAGS: u32 = 1 << 30;

/// What separates a transfer from others: when its target is ready for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epoch {
    /// Behind the n-th fence.
    Fence(u32),
    /// Within the n-th epoch that the two ranks agreed upon.
    Active(u32),
    /// From the making of the window on.
    Passive,
}

/// What a target does for a message before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Nothing else than taking it in.
    None,
    /// It waits until nobody else holds the lock.
    Take,
    /// It lets the next one have the lock.
    Give,
}

/// A message to a target, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Service {
    /// Names it among all messages of the origin on the window.
    pub(super) tag: u32,
    pub(super) out: u64,
    /// Bytes of the answer, if there is one.
    pub(super) back: Option<u64>,
    pub(super) word: Word,
}

/// A message with its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leg {
    pub(super) peer: CommRank,
    pub(super) epoch: Epoch,
    pub(super) service: Service,
}

/// An epoch with a group: for each member, how many such epochs the two had before.
type Group = Vec<(CommRank, u32)>;

/// What a rank has open on a window.
#[derive(Debug)]
pub(super) struct Epochs {
    size: u32,
    tag: u32,
    fences: u32,
    /// The first transfer behind the last fence: its target and where it stands.
    fenced: Option<(CommRank, u32)>,
    started: Option<(Group, u32)>,
    posted: Option<(Group, u32)>,
    starts: SortedMap<CommRank, u32>,
    posts: SortedMap<CommRank, u32>,
    /// By target: whether the lock is exclusive, and where it stands.
    locks: SortedMap<CommRank, (bool, u32)>,
    all: Option<u32>,
    /// Targets of transfers since they were last flushed.
    touched: SortedSet<CommRank>,
}

type Outcome = Result<(), String>;

impl Epochs {
    pub(super) fn new(size: u32) -> Self {
        Self {
            size,
            tag: 0,
            fences: 0,
            fenced: None,
            started: None,
            posted: None,
            starts: SortedMap::new(),
            posts: SortedMap::new(),
            locks: SortedMap::new(),
            all: None,
            touched: SortedSet::new(),
        }
    }

    /// The messages of a transfer, a lock, its end, or a flush; none of other calls.
    pub(super) fn legs(&mut self, call: &OneSided, position: u32, legs: &mut Vec<Leg>) -> Outcome {
        match *call {
            OneSided::Transfer { kind, peer, bytes, .. } => self.transfer(kind, peer, bytes, position, legs),
            OneSided::Lock { peer, exclusive, .. } => {
                self.member(peer)?;
                if self.all.is_some() || self.locks.insert(peer, (exclusive, position)).is_some() {
                    return Err(format!("rank {peer} of the window is locked already"));
                }
                let word = if exclusive { Word::Take } else { Word::None };
                self.round_trip(peer, word, legs)
            }
            OneSided::Unlock(_, peer) => {
                let lock = self.locks.remove(&peer);
                let (exclusive, _) =
                    lock.ok_or_else(|| format!("rank {peer} of the window is not locked"))?;
                self.touched.remove(&peer);
                self.round_trip(peer, if exclusive { Word::Give } else { Word::None }, legs)
            }
            OneSided::LockAll(_) => {
                if self.all.is_some() || !self.locks.is_empty() {
                    return Err("the window is locked already".to_owned());
                }
                self.all = Some(position);
                Ok(())
            }
            OneSided::UnlockAll(_) => {
                self.all.take().ok_or("MPI_Win_lock_all was not called before")?;
                self.flush(None, legs)
            }
            OneSided::Flush { peer, local, .. } => {
                let held = self.all.is_some()
                    || peer.map_or(!self.locks.is_empty(), |peer| self.locks.contains_key(&peer));
                if !held {
                    return Err("nothing is flushed outside of a lock".to_owned());
                }
                if local { Ok(()) } else { self.flush(peer, legs) }
            }
            _ => Ok(()),
        }
    }

    fn member(&self, peer: CommRank) -> Outcome {
        if peer.number() < self.size {
            return Ok(());
        }
        Err(format!("rank {peer} is not among the {} ranks of the window", self.size))
    }

    fn next_tag(&mut self) -> u32 {
        let tag = self.tag;
        self.tag = (tag + 1) % TAGS;
        tag
    }

    fn transfer(
        &mut self,
        kind: TransferKind,
        peer: CommRank,
        bytes: u64,
        position: u32,
        legs: &mut Vec<Leg>,
    ) -> Outcome {
        self.member(peer)?;
        let epoch = if self.all.is_some() || self.locks.contains_key(&peer) {
            self.touched.insert(peer);
            Epoch::Passive
        } else if let Some((group, _)) = &self.started {
            let member = group.iter().find(|g| g.0 == peer);
            let nth = member.ok_or_else(|| format!("rank {peer} is not in the group of MPI_Win_start"))?.1;
            Epoch::Active(nth)
        } else if let Some(fence) = self.fences.checked_sub(1) {
            self.fenced.get_or_insert((peer, position));
            Epoch::Fence(fence)
        } else {
            return Err("no epoch is open on the window: no fence, start or lock came before".to_owned());
        };
        let service =
            Service { tag: self.next_tag(), out: kind.out(bytes), back: kind.back(bytes), word: Word::None };
        legs.push(Leg { peer, epoch, service });
        Ok(())
    }

    /// A message without bytes that is answered by another one.
    fn round_trip(&mut self, peer: CommRank, word: Word, legs: &mut Vec<Leg>) -> Outcome {
        let service = Service { tag: self.next_tag(), out: 0, back: Some(0), word };
        legs.push(Leg { peer, epoch: Epoch::Passive, service });
        Ok(())
    }

    fn flush(&mut self, peer: Option<CommRank>, legs: &mut Vec<Leg>) -> Outcome {
        let all = match peer {
            Some(peer) => self.touched.take(&peer).into_iter().collect(),
            None => std::mem::take(&mut self.touched),
        };
        all.into_iter().try_for_each(|peer| self.round_trip(peer, Word::None, legs))
    }

    /// A fence: how many came before.
    pub(super) fn fence(&mut self) -> Result<u32, String> {
        if self.started.is_some() || self.posted.is_some() || !self.locks.is_empty() || self.all.is_some() {
            return Err("a fence stands within an epoch of another kind".to_owned());
        }
        self.fenced = None;
        self.fences = self.fences.checked_add(1).ok_or("there are too many fences")?;
        Ok(self.fences - 1)
    }

    pub(super) fn start(&mut self, group: &Arc<[CommRank]>, position: u32) -> Result<&Group, String> {
        if self.started.is_some() || self.fenced.is_some() {
            return Err("MPI_Win_start stands within another epoch".to_owned());
        }
        let members = counted(&mut self.starts, self.size, group)?;
        Ok(&self.started.insert((members, position)).0)
    }

    pub(super) fn complete(&mut self) -> Result<Group, String> {
        self.started.take().map(|s| s.0).ok_or_else(|| "MPI_Win_start was not called before".to_owned())
    }

    pub(super) fn post(&mut self, group: &Arc<[CommRank]>, position: u32) -> Result<&Group, String> {
        if self.posted.is_some() || self.fenced.is_some() {
            return Err("MPI_Win_post stands within another epoch".to_owned());
        }
        let members = counted(&mut self.posts, self.size, group)?;
        Ok(&self.posted.insert((members, position)).0)
    }

    pub(super) fn wait(&mut self) -> Outcome {
        self.posted.take().map(|_| ()).ok_or_else(|| "MPI_Win_post was not called before".to_owned())
    }

    /// An epoch that has not ended: a rank that it is open with, and where it began.
    pub(super) fn open(&self) -> Option<(CommRank, u32)> {
        let of_group = |group: &Option<(Group, u32)>| {
            group.as_ref().and_then(|(members, at)| Some((members.first()?.0, *at)))
        };
        let lock = self.locks.iter().next().map(|(&peer, &(_, at))| (peer, at));
        let all = self.all.map(|at| (self.touched.first().copied().unwrap_or(CommRank::new(0)), at));
        let open = [self.fenced, of_group(&self.started), of_group(&self.posted), lock, all];
        open.into_iter().flatten().next()
    }
}

/// The members of a group, each with its number of epochs before, which grows.
fn counted(
    before: &mut SortedMap<CommRank, u32>,
    size: u32,
    group: &Arc<[CommRank]>,
) -> Result<Group, String> {
    let mut members = Group::with_capacity(group.len());
    let mut seen = SortedSet::new();
    for &peer in group.iter() {
        if peer.number() >= size {
            return Err(format!("rank {peer} is not among the {size} ranks of the window"));
        }
        if !seen.insert(peer) {
            return Err(format!("rank {peer} stands twice in a group"));
        }
        let count = before.entry(peer).or_default();
        members.push((peer, *count));
        *count = (*count + 1) % (TAGS / 2);
    }
    Ok(members)
}
