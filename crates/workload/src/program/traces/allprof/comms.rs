//! Which communicator a handle stands for.

use crate::program::{
    mpi::{Comm, WORLD},
    traces::calls::Found,
};
use base::sorted::SortedMap;

/// A communicator as a call names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Handle {
    pub(super) handle: u64,
    /// The caller's rank in it.
    pub(super) rank: u32,
    /// How many ranks it has.
    pub(super) size: u32,
}

impl Handle {
    /// True if MPICH made it: its handles are small integers in which certain bits say that they are communicators.
    pub(super) fn is_mpich(self) -> bool {
        matches!(self.handle as u32 >> 26, 0x11 | 0x21 | 0x31) && matches!(self.handle >> 32, 0 | 0xffff_ffff)
    }
}

/// The communicators of a rank.
#[derive(Debug)]
pub(super) struct Comms {
    ranks: u32,
    known: SortedMap<u64, (Found, u32)>,
    /// Made, but not met yet; with their size where that is known.
    unmet: Vec<(Comm, Option<u32>)>,
    /// Sizes of those that were met, and of the world.
    sizes: SortedMap<Comm, u32>,
    made: Comm,
}

impl Comms {
    pub(super) fn new(ranks: u32) -> Self {
        let sizes = SortedMap::from([(WORLD, ranks)]);
        Self { ranks, known: SortedMap::new(), unmet: Vec::new(), sizes, made: 0 }
    }

    /// A communicator is made; the caller is in it or not.
    pub(super) fn make(&mut self, size: Option<u32>, member: bool) -> Comm {
        self.made += 1;
        if member {
            self.unmet.push((self.made, size));
        }
        self.made
    }

    /// Ranks of a communicator, if it has several.
    pub(super) fn size(&self, comm: Found) -> Option<u32> {
        match comm {
            Found::Made(number) => self.sizes.get(&number).copied(),
            Found::Alone | Found::Unknown => None,
        }
    }

    /// What a handle stands for; true if others might be meant as well.
    pub(super) fn find(&mut self, handle: Handle) -> (Found, bool) {
        // A handle may be used again for another communicator, which mostly has another size.
        if let Some(&(found, size)) = self.known.get(&handle.handle)
            && size == handle.size
        {
            return (found, false);
        }
        // A rank may have another number in it than its file: some tracers number files otherwise.
        let all = handle.size == self.ranks;
        // The one of all ranks is met first, and a second time by the handle of another language.
        let world = all && !self.known.values().any(|&(found, _)| found == Found::Made(WORLD));
        let fits = |&(_, size): &(Comm, Option<u32>)| size.is_none_or(|size| size == handle.size);
        let several = self.unmet.iter().filter(|made| fits(made)).count() > 1;
        let (found, guessed) = match self.unmet.iter().position(fits).filter(|_| !world) {
            Some(place) => (Found::Made(self.unmet.remove(place).0), several),
            None if all => (Found::Made(WORLD), false),
            None if handle.size == 1 => (Found::Alone, false),
            None => (Found::Unknown, false),
        };
        if let Found::Made(number) = found {
            self.sizes.insert(number, handle.size);
        }
        self.known.insert(handle.handle, (found, handle.size));
        (found, guessed)
    }
}
