//! The communicators of a job, found by reading all ranks' calls once.
//!
//! Ranks are advanced from one call that makes a communicator to the next, each as soon as all members of the parent are at
//! it. Those that are there already need no such meeting: the n-th definition of a group is the same at all its ranks. What comes out is a number for every communicator, the same for all its members, and its ranks.

use super::defined::Defined;
use crate::program::{
    Damage,
    mpi::{Call, Comm, CommRank, Script, WORLD},
};
use base::{
    index::{Column, RankId},
    sorted::SortedMap,
};
use std::sync::Arc;

/// Communicators of a job and where each rank gets them.
#[derive(Debug)]
pub(in crate::program) struct Communicators {
    /// Ranks of the job in each, `None` for those of the world in its order.
    members: Vec<Option<Arc<[RankId]>>>,
    /// By rank and call that makes one: number and own rank in it, unless the rank is not in it.
    made: Column<RankId, Vec<Option<(u32, CommRank)>>>,
    /// A call of one-sided communication was read.
    one_sided: bool,
    ranks: usize,
}

impl Communicators {
    /// What a rank's n-th call got; the outer `None` if the calls were not read.
    pub(in crate::program) fn made(&self, rank: RankId, n: usize) -> Option<Option<(u32, CommRank)>> {
        self.made.get(rank)?.get(n).copied()
    }

    /// Number of communicators, the world among them.
    pub(in crate::program) fn count(&self) -> u32 {
        self.members.len() as u32
    }

    /// Number of ranks of the job.
    pub(in crate::program) fn ranks(&self) -> usize {
        self.ranks
    }

    /// True if a call of one-sided communication was read.
    pub(in crate::program) fn one_sided(&self) -> bool {
        self.one_sided
    }

    /// Ranks of the job, `None` if they have the same numbers.
    pub(in crate::program) fn members(&self, id: u32) -> Option<Arc<[RankId]>> {
        self.members[id as usize].clone()
    }
}

/// The communicators of a rank by its own numbers.
pub(in crate::program) struct Handles {
    known: SortedMap<Comm, (u32, CommRank)>,
    made: usize,
}

impl Handles {
    pub(in crate::program) fn new(rank: RankId) -> Self {
        Self { known: SortedMap::from([(WORLD, (0, CommRank::in_world(rank)))]), made: 0 }
    }

    pub(in crate::program) fn found(&self, comm: Comm) -> Result<(u32, CommRank), Damage> {
        let found = self.known.get(&comm).copied();
        found.ok_or_else(|| Damage(format!("communicator {comm} is not known here")))
    }

    pub(in crate::program) fn id(&self, comm: Comm) -> Result<u32, Damage> {
        self.found(comm).map(|(id, _)| id)
    }

    /// Takes note of a call that makes or frees a communicator.
    pub(in crate::program) fn follow(&mut self, call: &Call, rank: RankId, comms: &Communicators) {
        let new = match *call {
            Call::CommDup { new, .. }
            | Call::CommSplit { new, .. }
            | Call::CommCreate { new, .. }
            | Call::CommDefine { new, .. } => new,
            Call::CommFree(comm) => {
                self.known.remove(&comm);
                return;
            }
            _ => return,
        };
        match comms.made(rank, self.made).flatten() {
            Some(given) => _ = self.known.insert(new, given),
            None => _ = self.known.remove(&new),
        }
        self.made += 1;
    }
}

/// Reads what is needed.
///
/// # Errors
/// If the source is damaged, or ranks do not agree.
pub(in crate::program) fn resolve(script: &dyn Script) -> Result<Communicators, Damage> {
    let ranks = script.ranks();
    let mut comms = Communicators {
        members: vec![None],
        made: Column::default(),
        one_sided: false,
        ranks: ranks as usize,
    };
    if !script.makes_communicators() {
        return Ok(comms);
    }
    comms.made = Column::filled(ranks as usize, Vec::new());
    let mut walk =
        Walk { script, at: Column::default(), waiting: vec![Vec::new()], defined: Defined::default(), comms };
    let mut groups = Groups::default();
    for rank in RankId::first(ranks) {
        let known = SortedMap::from([(WORLD, (0, CommRank::in_world(rank)))]);
        let calls = makers(script, rank, &mut groups, &mut walk.comms.one_sided)?;
        walk.at.push(Rank { calls, next: 0, known, named: SortedMap::new() });
    }
    let mut ready: Vec<RankId> = RankId::first(ranks).rev().collect();
    while let Some(rank) = ready.pop() {
        walk.advance(rank, &mut ready)?;
    }
    walk.finish()
}

/// Who calls: own rank in the communicator, and in the job.
type Caller = (CommRank, RankId);

struct Walk<'a> {
    script: &'a dyn Script,
    at: Column<RankId, Rank>,
    /// By communicator: own rank in it and rank of the job of those that have reached a call on it.
    waiting: Vec<Vec<Caller>>,
    /// Those that are there already.
    defined: Defined,
    comms: Communicators,
}

struct Rank {
    calls: Vec<(Maker, u32)>,
    next: usize,
    /// Number and own rank in each communicator by handle.
    known: SortedMap<Comm, (u32, CommRank)>,
    /// Communicators that it has defined so far, by place of their group.
    named: SortedMap<usize, usize>,
}

enum Maker {
    Make(Comm, Comm, What),
    Define(Arc<[CommRank]>, Comm),
    Free(Comm),
}

#[derive(Clone, PartialEq, Eq)]
enum What {
    Dup,
    Split(Option<u32>, i64),
    Create(Arc<[CommRank]>),
}

/// Ranks of a group.
type Group = Arc<[CommRank]>;

/// Groups that calls name, each kept once by its first rank and size: all ranks may name the same in a loop.
#[derive(Default)]
struct Groups(SortedMap<(Option<CommRank>, usize), Vec<Group>>);

impl Groups {
    /// The same group as it is kept.
    fn kept(&mut self, group: Group) -> Group {
        let alike = self.0.entry((group.first().copied(), group.len())).or_default();
        if let Some(same) = alike.iter().find(|known| Arc::ptr_eq(known, &group) || **known == group) {
            return Arc::clone(same);
        }
        alike.push(Arc::clone(&group));
        group
    }
}

/// The calls of a rank that matter here, with their positions. Whether one of them is one-sided is noted, too.
fn makers(
    script: &dyn Script,
    rank: RankId,
    groups: &mut Groups,
    one_sided: &mut bool,
) -> Result<Vec<(Maker, u32)>, Damage> {
    let (mut calls, mut found) = (script.open(rank), Vec::new());
    while let Some((call, position)) = calls.next()? {
        let maker = match call {
            Call::CommDup { comm, new } => Maker::Make(comm, new, What::Dup),
            Call::CommSplit { comm, color, key, new } => Maker::Make(comm, new, What::Split(color, key)),
            Call::CommCreate { comm, group, new } => Maker::Make(comm, new, What::Create(groups.kept(group))),
            Call::CommDefine { group, new } => Maker::Define(groups.kept(group), new),
            Call::CommFree(comm) => Maker::Free(comm),
            Call::OneSided(_) => {
                *one_sided = true;
                continue;
            }
            _ => continue,
        };
        found.push((maker, position));
    }
    Ok(found)
}

impl Walk<'_> {
    fn damage(&self, rank: RankId, message: &str) -> Damage {
        let at = &self.at[rank];
        let position = at.calls.get(at.next).map_or(0, |&(_, position)| position);
        Damage(format!("{}: rank {rank}: {message}", self.script.describe(rank, position)))
    }

    /// Takes a rank to its next call that makes a communicator; if it is the last to come there, the call is done.
    fn advance(&mut self, rank: RankId, ready: &mut Vec<RankId>) -> Result<(), Damage> {
        loop {
            let at = &mut self.at[rank];
            match at.calls.get(at.next) {
                Some((Maker::Free(comm), _)) => _ = at.known.remove(comm),
                Some((Maker::Define(group, new), _)) => {
                    let (group, new) = (Arc::clone(group), *new);
                    self.define(rank, &group, new)?;
                }
                _ => break,
            }
            self.at[rank].next += 1;
        }
        let at = &self.at[rank];
        let Some((Maker::Make(comm, new, _), _)) = at.calls.get(at.next) else { return Ok(()) };
        let Some(&(id, me)) = at.known.get(comm) else {
            let message = format!("communicator {comm} is not known here");
            return Err(self.damage(rank, &message));
        };
        if *new == WORLD {
            return Err(self.damage(rank, "the world communicator cannot be replaced"));
        }
        self.waiting[id as usize].push((me, rank));
        let size = self.comms.members[id as usize].as_ref().map_or(self.at.len(), |m| m.len());
        if self.waiting[id as usize].len() < size {
            return Ok(());
        }
        let mut callers = std::mem::take(&mut self.waiting[id as usize]);
        callers.sort_unstable();
        self.make(id, &callers)?;
        ready.extend(callers.iter().rev().map(|&(_, rank)| rank));
        Ok(())
    }

    /// A rank names a communicator that is there already; nothing is done for it.
    fn define(&mut self, rank: RankId, group: &Arc<[CommRank]>, new: Comm) -> Result<(), Damage> {
        if new == WORLD {
            return Err(self.damage(rank, "the world communicator cannot be replaced"));
        }
        let (place, is_new) = self.defined.place(group);
        if is_new {
            self.valid(group, self.at.len(), rank)?;
        }
        let me = CommRank::in_world(rank);
        // Most groups of all ranks are in their order.
        let own = Some(rank.index()).filter(|&at| group.get(at) == Some(&me));
        let own = own.or_else(|| group.iter().position(|&r| r == me)).map(CommRank::from_index);
        let Some(own) = own else {
            self.at[rank].known.remove(&new);
            self.comms.made[rank].push(None);
            return Ok(());
        };
        let named = self.at[rank].named.entry(place).or_default();
        *named += 1;
        let next = self.comms.members.len() as u32;
        let id = self.defined.named(place, *named - 1, next);
        if id == next {
            self.comms.members.push(Some(group.iter().map(|r| r.of_world()).collect()));
            self.waiting.push(Vec::new());
        }
        self.at[rank].known.insert(new, (id, own));
        self.comms.made[rank].push(Some((id, own)));
        Ok(())
    }

    fn what(&self, rank: RankId) -> (Comm, &What) {
        let at = &self.at[rank];
        match &at.calls[at.next].0 {
            Maker::Make(_, new, what) => (*new, what),
            Maker::Free(_) | Maker::Define(..) => unreachable!("ranks wait at calls that make communicators"),
        }
    }

    /// All members, in order, are at the same call.
    fn make(&mut self, parent: u32, callers: &[Caller]) -> Result<(), Damage> {
        let (_, first) = self.what(callers[0].1);
        let first = first.clone();
        let groups: Vec<Vec<CommRank>> = match &first {
            What::Dup => vec![callers.iter().map(|&(me, _)| me).collect()],
            What::Create(group) => vec![self.created(group, callers)?],
            What::Split(..) => self.split(callers)?,
        };
        for &(_, rank) in callers {
            let (_, what) = self.what(rank);
            let same = match (&first, what) {
                (What::Split(..), What::Split(..)) => true,
                (first, what) => first == what,
            };
            if !same {
                let message =
                    format!("rank {} of the same communicator makes another call here", callers[0].1);
                return Err(self.damage(rank, &message));
            }
        }
        let mut given: Vec<Option<(u32, CommRank)>> = vec![None; callers.len()];
        for group in groups {
            let id = self.comms.members.len() as u32;
            for (new, &old) in (0..).zip(&group) {
                given[old.index()] = Some((id, CommRank::new(new)));
            }
            let members = match (&first, &self.comms.members[parent as usize]) {
                (What::Dup, same) => same.clone(),
                _ => Some(group.iter().map(|&old| callers[old.index()].1).collect()),
            };
            self.comms.members.push(members);
            self.waiting.push(Vec::new());
        }
        for (&(_, rank), given) in callers.iter().zip(given) {
            let (new, _) = self.what(rank);
            self.comms.made[rank].push(given);
            let at = &mut self.at[rank];
            match given {
                Some(given) => at.known.insert(new, given),
                None => at.known.remove(&new),
            };
            at.next += 1;
        }
        Ok(())
    }

    /// Ranks of the parent in the group of a `CommCreate`.
    fn created(&self, group: &[CommRank], callers: &[Caller]) -> Result<Vec<CommRank>, Damage> {
        self.valid(group, callers.len(), callers[0].1)?;
        Ok(group.to_vec())
    }

    /// Refuses a group of a communicator of so many ranks that has others, or one twice.
    fn valid(&self, group: &[CommRank], size: usize, rank: RankId) -> Result<(), Damage> {
        let mut sorted = group.to_vec();
        sorted.sort_unstable();
        if sorted.last().is_some_and(|&last| last.index() >= size) {
            return Err(self.damage(rank, "the group has ranks that the communicator has not"));
        }
        if sorted.windows(2).any(|w| w[0] == w[1]) {
            return Err(self.damage(rank, "the group has a rank twice"));
        }
        Ok(())
    }

    /// Ranks of the parent by colour, each in the order of keys.
    fn split(&self, callers: &[Caller]) -> Result<Vec<Vec<CommRank>>, Damage> {
        let mut order = Vec::new();
        for &(me, rank) in callers {
            match self.what(rank).1 {
                What::Split(Some(color), key) => order.push((*color, *key, me)),
                What::Split(None, _) => {}
                _ => return Err(self.damage(rank, "other ranks of the same communicator split it here")),
            }
        }
        order.sort_unstable();
        let by_color = order.chunk_by(|a, b| a.0 == b.0);
        Ok(by_color.map(|ranks| ranks.iter().map(|&(_, _, me)| me).collect()).collect())
    }

    /// All ranks must have come to their ends.
    fn finish(self) -> Result<Communicators, Damage> {
        for (rank, at) in self.at.iter() {
            if let Some((Maker::Make(comm, ..), _)) = at.calls.get(at.next) {
                let id = at.known.get(comm).map_or(0, |&(id, _)| id as usize);
                let size = self.comms.members[id].as_ref().map_or(self.at.len(), |m| m.len());
                let message = format!(
                    "only {} of {size} ranks of communicator {comm} make this call",
                    self.waiting[id].len()
                );
                return Err(self.damage(rank, &message));
            }
        }
        if let Some((group, named)) = self.defined.missing() {
            let first = group.first().map_or(RankId::new(0), |first| first.of_world());
            return Err(Damage(format!(
                "only {named} of the {} ranks of a communicator define it; rank {first} is its first",
                group.len()
            )));
        }
        Ok(self.comms)
    }
}
