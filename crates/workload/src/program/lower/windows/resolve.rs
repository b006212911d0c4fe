//! What each rank has to do for the one-sided calls of others, found by reading all ranks' calls once.

use super::epochs::{Epoch, Epochs, Leg, Service, Word};
use crate::program::{
    Damage,
    lower::comms::Communicators,
    mpi::{Call, Comm, CommRank, OneSided, PROC_NULL, Script, WORLD, Window},
};
use base::{
    index::{Column, RankId},
    sorted::{SortedMap, SortedSet},
};
use std::sync::Arc;

/// Services for several origins, each in the order of its calls.
pub(super) type Services = Vec<(RankId, Vec<Service>)>;

/// The windows of a job and what targets do on them.
#[derive(Debug, Default)]
pub(in crate::program::lower) struct Windows {
    /// Number of the first window's first communicator: each has two of its own, behind all others.
    first: u32,
    /// By rank: the window that its n-th call makes.
    made: Column<RankId, Vec<u32>>,
    windows: Vec<Served>,
}

/// What targets do on a window.
#[derive(Debug, Default)]
struct Served {
    /// By target and fence.
    fences: SortedMap<(RankId, u32), Services>,
    /// By target, origin and their epochs.
    active: SortedMap<(RankId, RankId, u32), Vec<Service>>,
    /// By target, for all of its locks.
    passive: SortedMap<RankId, Services>,
    /// By target: who locks it so that others may too, and who does not.
    locks: SortedMap<RankId, [SortedSet<RankId>; 2]>,
    /// Who locks everybody.
    all: SortedSet<RankId>,
    /// An exclusive lock, for a message about it.
    exclusive: SortedMap<RankId, (RankId, u32)>,
}

impl Windows {
    /// The window that a rank's n-th call makes, and its communicator's number.
    pub(super) fn made(&self, rank: RankId, n: usize) -> Option<(usize, u32)> {
        let window = *self.made.get(rank)?.get(n)?;
        Some((window as usize, self.first + 2 * window))
    }

    pub(super) fn fenced(&self, window: usize, target: RankId, fence: u32) -> &[(RankId, Vec<Service>)] {
        self.windows[window].fences.get(&(target, fence)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn active(&self, window: usize, target: RankId, origin: RankId, nth: u32) -> &[Service] {
        self.windows[window].active.get(&(target, origin, nth)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn passive(&self, window: usize, target: RankId) -> &[(RankId, Vec<Service>)] {
        self.windows[window].passive.get(&target).map_or(&[], Vec::as_slice)
    }

    /// True if several ranks lock this one exclusively, so that they must take turns.
    pub(super) fn contended(&self, window: usize, target: RankId) -> bool {
        self.windows[window].locks.get(&target).is_some_and(|[_, exclusive]| exclusive.len() > 1)
    }
}

/// Reads what is needed; nothing if no call makes a window.
///
/// # Errors
/// If the source is damaged, or what it does is not modelled.
pub(in crate::program::lower) fn resolve(
    script: &dyn Script,
    comms: &Communicators,
) -> Result<Windows, Damage> {
    if !comms.one_sided() {
        return Ok(Windows::default());
    }
    let ranks = script.ranks();
    let made = Column::filled(ranks as usize, Vec::new());
    let mut all = Windows { first: comms.count(), made, windows: Vec::new() };
    let mut numbers = SortedMap::new();
    for rank in RankId::first(ranks) {
        let mut reader = Reader {
            rank,
            comms,
            all: &mut all,
            numbers: &mut numbers,
            known: SortedMap::from([(WORLD, (0, CommRank::in_world(rank)))]),
            made: 0,
            windows: SortedMap::new(),
            calls: SortedMap::new(),
            legs: Vec::new(),
        };
        let mut calls = script.open(rank);
        while let Some((call, position)) = calls.next()? {
            reader.call(&call, position).map_err(|message| {
                let place = script.describe(rank, position);
                Damage(format!("{place}: rank {rank}: {message}"))
            })?;
        }
    }
    all.windows.iter().try_for_each(|window| window.one_kind_of_lock(script))?;
    Ok(all)
}

impl Served {
    /// Locks of both kinds on one target would have to wait for each other in an order that no message tells.
    fn one_kind_of_lock(&self, script: &dyn Script) -> Result<(), Damage> {
        for (&target, [shared, exclusive]) in &self.locks {
            let mut others = shared.iter().chain(&self.all);
            let alone = |other: &RankId| exclusive.len() == 1 && exclusive.contains(other);
            let Some(&(origin, position)) = self.exclusive.get(&target) else { continue };
            if let Some(other) = others.find(|other| !alone(other)) {
                let place = script.describe(origin, position);
                return Err(Damage(format!(
                    "{place}: rank {origin}: rank {target} of a window is locked exclusively here, and shared by rank {other}: \
                     locks of both kinds on one rank are not modelled"
                )));
            }
        }
        Ok(())
    }
}

/// An open window of a rank.
struct Open {
    index: usize,
    members: Option<Arc<[RankId]>>,
    epochs: Epochs,
}

/// Reads the calls of one rank.
struct Reader<'a> {
    rank: RankId,
    comms: &'a Communicators,
    all: &'a mut Windows,
    /// Windows by communicator and place among those made on it.
    numbers: &'a mut SortedMap<(u32, u32), u32>,
    known: SortedMap<Comm, (u32, CommRank)>,
    made: usize,
    windows: SortedMap<Window, Open>,
    /// Windows made so far on each communicator.
    calls: SortedMap<u32, u32>,
    legs: Vec<Leg>,
}

impl Reader<'_> {
    fn call(&mut self, call: &Call, position: u32) -> Result<(), String> {
        match *call {
            Call::CommDup { new, .. }
            | Call::CommSplit { new, .. }
            | Call::CommCreate { new, .. }
            | Call::CommDefine { new, .. } => {
                match self.comms.made(self.rank, self.made).flatten() {
                    Some(given) => _ = self.known.insert(new, given),
                    None => _ = self.known.remove(&new),
                }
                self.made += 1;
            }
            Call::CommFree(comm) => _ = self.known.remove(&comm),
            Call::OneSided(OneSided::Create { comm, new }) => return self.create(comm, new),
            Call::OneSided(ref call) => return self.one_sided(call, position),
            _ => {}
        }
        Ok(())
    }

    fn create(&mut self, comm: Comm, new: Window) -> Result<(), String> {
        let &(id, _) =
            self.known.get(&comm).ok_or_else(|| format!("communicator {comm} is not known here"))?;
        let before = self.calls.entry(id).or_default();
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry((id, *before)).or_insert(next);
        *before += 1;
        if number == next {
            self.all.windows.push(Served::default());
        }
        self.all.made[self.rank].push(number);
        let members = self.comms.members(id);
        let size = members.as_ref().map_or(self.all.made.len(), |m| m.len());
        let open = Open { index: number as usize, members, epochs: Epochs::new(size as u32) };
        if self.windows.insert(new, open).is_some() {
            return Err(format!("window {new} is made again, but it is not freed"));
        }
        Ok(())
    }

    fn one_sided(&mut self, call: &OneSided, position: u32) -> Result<(), String> {
        let window = call.window();
        let unknown = || format!("window {window} is not known here");
        if let OneSided::Free(_) = call {
            let open = self.windows.remove(&window).ok_or_else(unknown)?;
            let within = || "the window is freed within an epoch that has not ended".to_owned();
            return open.epochs.open().map_or(Ok(()), |_| Err(within()));
        }
        let Self { rank, windows, legs, all, .. } = self;
        let open = windows.get_mut(&window).ok_or_else(unknown)?;
        let served = &mut all.windows[open.index];
        match call {
            OneSided::Transfer { peer: PROC_NULL, .. } => return Ok(()),
            OneSided::Fence(_) => _ = open.epochs.fence()?,
            OneSided::Start(_, group) => _ = open.epochs.start(group, position)?,
            OneSided::Complete(_) => _ = open.epochs.complete()?,
            OneSided::Post(_, group) => _ = open.epochs.post(group, position)?,
            OneSided::Wait(_) => open.epochs.wait()?,
            OneSided::LockAll(_) => _ = served.all.insert(*rank),
            _ => {}
        }
        legs.clear();
        open.epochs.legs(call, position, legs)?;
        for leg in legs.iter() {
            let target = open.members.as_ref().map_or(leg.peer.of_world(), |m| m[leg.peer.index()]);
            served.file(*rank, target, leg);
            if let &OneSided::Lock { exclusive, .. } = call {
                served.locks.entry(target).or_default()[usize::from(exclusive)].insert(*rank);
                if exclusive {
                    served.exclusive.entry(target).or_insert((*rank, position));
                }
            }
        }
        Ok(())
    }
}

impl Served {
    fn file(&mut self, origin: RankId, target: RankId, leg: &Leg) {
        let list = match leg.epoch {
            Epoch::Active(nth) => self.active.entry((target, origin, nth)).or_default(),
            Epoch::Fence(fence) => of(self.fences.entry((target, fence)).or_default(), origin),
            Epoch::Passive => of(self.passive.entry(target).or_default(), origin),
        };
        debug_assert!(leg.service.word == Word::None || leg.epoch == Epoch::Passive, "locks are passive");
        list.push(leg.service);
    }
}

/// The services for an origin. Origins are read one after the other, so it is the last of the list or a new one.
fn of(services: &mut Services, origin: RankId) -> &mut Vec<Service> {
    if services.last().is_none_or(|last| last.0 != origin) {
        services.push((origin, Vec::new()));
    }
    let last = services.len() - 1;
    &mut services[last].1
}
