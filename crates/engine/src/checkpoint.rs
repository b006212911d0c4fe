//! State as bytes: what a run needs to go on later, in another process and with another number of threads.
//!
//! A checkpoint is taken between two events. It holds every table of every partition, all pending events, what was measured so far and
//! the director's memory, and nothing that can be made anew from the experiment. It belongs to one build and one number of
//! partitions; who stores it says so beside it. Tables and alarms of a partition may hold numbers of its own rows, since they go back into
//! the same partition; messages and what was measured name things by numbers that are the same everywhere.

use crate::{
    domain::{Domain, Observer},
    executor::Executor,
    kept::{Damaged, Kept, put, take},
};

/// State of a run in a pause: of its partitions, then of its director.
pub fn state_of<D, O>(executor: &mut Executor<D, O>, director: &impl Kept) -> Vec<u8>
where
    D: Domain,
    O: Observer<D::Record> + Kept,
{
    let mut state = Vec::new();
    executor.save(&mut state);
    director.save(&mut state);
    state
}

/// Puts a new run into a state that [`state_of`] took of a run with the same partitions.
///
/// # Errors
/// If the bytes are not what was saved, or something is left over; then executor and director are worthless.
pub fn take_up<D, O>(
    mut state: &[u8],
    executor: &mut Executor<D, O>,
    director: &mut impl Kept,
) -> Result<(), Damaged>
where
    D: Domain,
    O: Observer<D::Record> + Kept,
{
    executor.load(&mut state)?;
    director.load(&mut state)?;
    if state.is_empty() { Ok(()) } else { Err(Damaged) }
}

impl<D, O> Executor<D, O>
where
    D: Domain,
    O: Observer<D::Record> + Kept,
{
    /// Appends the state of all partitions. Only in a pause or between runs. Over ranks all do it together, and the first alone gets it.
    pub fn save(&mut self, to: &mut Vec<u8>) {
        // Messages between partitions have no place of their own in a checkpoint: they must have been handed over.
        assert!(self.partitions.iter().all(|p| p.outbox.is_empty()), "only between two events");
        let mut mine = Vec::new();
        for part in &mut self.partitions {
            // Each with its length: a rank passes over those of others.
            let mut own = Vec::new();
            put(&part.events, &mut own);
            part.domain.visit_journals(&mut |table| table.save(&mut own));
            part.agenda.save(&mut own);
            part.observer.save(&mut own);
            put(&own.len(), &mut mine);
            mine.append(&mut own);
        }
        let over = self.ranks();
        put(&(self.now(), over.partitions), to);
        // Ranks have consecutive partitions, so their states follow each other in the order of partitions.
        over.world.gather(mine).into_iter().for_each(|mut part| to.append(&mut part));
    }

    /// Goes on from a state that was saved with the same partitions; this executor must be as new.
    ///
    /// # Errors
    /// If the bytes are not what was saved; then the executor is worthless.
    pub fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged> {
        let (now, partitions): (_, u32) = take(from)?;
        if self.ranks().partitions != partitions {
            return Err(Damaged);
        }
        self.go_on_from(now);
        let mine = self.ranks().mine();
        for number in 0..partitions {
            let length = take(from)?;
            let (mut own, rest) = from.split_at_checked(length).ok_or(Damaged)?;
            *from = rest;
            if mine.contains(&number) {
                self.load_part((number - mine.start) as usize, &mut own)?;
            }
        }
        Ok(())
    }

    /// Loads the state of one partition, which is all that is given.
    fn load_part(&mut self, index: usize, from: &mut &[u8]) -> Result<(), Damaged> {
        let part = &mut self.partitions[index];
        part.events = take(from)?;
        // The visitor cannot return early: after the first damage the rest is passed over.
        let mut sound = Ok(());
        part.domain.visit_journals(&mut |table| {
            if sound.is_ok() {
                sound = table.load(from);
            }
        });
        sound?;
        part.agenda.load(from)?;
        part.observer.load(from)?;
        if from.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}
