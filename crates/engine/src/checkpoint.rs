//! State as bytes: what a run needs to go on later, in another process and with another number of threads.
//!
//! A checkpoint is taken between two events. It holds every table of every partition, all pending events, what was measured so far and
//! the director's memory, and nothing that can be made anew from the experiment. It belongs to one build and one number of
//! partitions; who stores it says so beside it.

use crate::{
    domain::{Domain, Observer},
    executor::Executor,
};
use serde::{Serialize, de::DeserializeOwned};

/// The bytes are not what was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Can be saved, and loaded into its like.
pub trait Kept {
    /// Appends the state.
    fn save(&self, to: &mut Vec<u8>);

    /// Replaces the state by what was saved, which is taken from the front.
    ///
    /// # Errors
    /// If the bytes are not what was saved; then the state is worthless.
    fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged>;
}

/// No memory.
impl Kept for () {
    fn save(&self, _: &mut Vec<u8>) {}
    fn load(&mut self, _: &mut &[u8]) -> Result<(), Damaged> {
        Ok(())
    }
}

/// Appends a value.
///
/// # Panics
/// If the value's serialisation fails, which plain data cannot.
pub fn put<T: Serialize + ?Sized>(value: &T, to: &mut Vec<u8>) {
    postcard::to_io(value, to).expect("plain data can be written to memory");
}

/// Takes a value from the front.
///
/// # Errors
/// If there is no such value.
pub fn take<T: DeserializeOwned>(from: &mut &[u8]) -> Result<T, Damaged> {
    let (value, rest) = postcard::take_from_bytes(from).map_err(|_| Damaged)?;
    *from = rest;
    Ok(value)
}

/// Implements [`Kept`] by fields. All fields must be named, those that are made anew after `=>`: a field that is added later and
/// forgotten here does not compile.
#[macro_export]
macro_rules! kept {
    ($type:ty: $($field:ident),* $(=> $($anew:ident),*)?) => {
        impl $crate::checkpoint::Kept for $type {
            fn save(&self, to: &mut Vec<u8>) {
                let Self { $($field,)* $($($anew: _,)*)? } = self;
                $($crate::checkpoint::put($field, to);)*
            }
            fn load(&mut self, from: &mut &[u8]) -> Result<(), $crate::checkpoint::Damaged> {
                $(self.$field = $crate::checkpoint::take(from)?;)*
                Ok(())
            }
        }
    };
}

impl<D, O> Executor<D, O>
where
    D: Domain,
    O: Observer<D::Record> + Kept,
{
    /// Appends the state of all partitions. Only in a pause or between runs.
    pub fn save(&mut self, to: &mut Vec<u8>) {
        put(&(self.now(), self.partitions.len()), to);
        for part in &mut self.partitions {
            put(&part.events, to);
            part.domain.tables(&mut |table| table.save(to));
            part.agenda.save(to);
            part.observer.save(to);
        }
    }

    /// Goes on from a state that was saved with the same partitions; this executor must be as new.
    ///
    /// # Errors
    /// If the bytes are not what was saved; then the executor is worthless.
    pub fn load(&mut self, from: &mut &[u8]) -> Result<(), Damaged> {
        let (now, partitions) = take(from)?;
        if self.partitions.len() != partitions {
            return Err(Damaged);
        }
        self.go_on_from(now);
        for part in &mut self.partitions {
            part.events = take(from)?;
            let mut sound = Ok(());
            part.domain.tables(&mut |table| {
                if sound.is_ok() {
                    sound = table.load(from);
                }
            });
            sound?;
            part.agenda.load(from)?;
            part.observer.load(from)?;
        }
        Ok(())
    }
}
