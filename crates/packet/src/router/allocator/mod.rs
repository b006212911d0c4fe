//! Allocators: which requests of rows for columns are granted, at most one per row and per column. Each is a file.
//!
//! Rows are inputs of the switch, or input virtual channels; columns are outputs, or output virtual channels. An allocator is a pure function of
//! requests and of words that the caller keeps: what changes in them it lists ([`Matching::changes`]). Both sides have an arbiter for each
//! row and column; *turns* decide, a request's level before them.

mod islip;
mod lonely;
mod matching;
mod maximum;
mod pim;
mod separable;
#[cfg(test)]
mod tests;
mod wavefront;

use base::registry::{About, Registered};
pub use matching::{Allocate, Frame, Matching, Request};

/// An allocator as experiments name it.
#[derive(Clone, Copy)]
pub struct AllocatorEntry {
    /// Name and documentation.
    pub about: About,
    /// The function that allocates.
    pub allocate: Allocate,
    /// Whether it tries again with what is left: whether `iterations` says anything.
    pub iterates: bool,
    /// Whether a row's own order of its columns decides: heads then ask for escape channels behind adaptive ones. As in BookSim 2, where these alone look at `in_pri`.
    pub ranks: bool,
}

impl Registered for AllocatorEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

/// All of them; the first is the default.
pub const ALLOCATORS: &[AllocatorEntry] = &[
    AllocatorEntry { about: islip::ABOUT, allocate: islip::allocate, iterates: true, ranks: false },
    AllocatorEntry {
        about: separable::INPUT_FIRST,
        allocate: separable::input_first,
        iterates: true,
        ranks: true,
    },
    AllocatorEntry {
        about: separable::OUTPUT_FIRST,
        allocate: separable::output_first,
        iterates: true,
        ranks: true,
    },
    AllocatorEntry { about: pim::ABOUT, allocate: pim::allocate, iterates: true, ranks: false },
    AllocatorEntry { about: lonely::ABOUT, allocate: lonely::allocate, iterates: false, ranks: false },
    AllocatorEntry { about: wavefront::ABOUT, allocate: wavefront::allocate, iterates: false, ranks: true },
    AllocatorEntry { about: maximum::ABOUT, allocate: maximum::allocate, iterates: false, ranks: false },
];

/// Their names, in the order of the list.
pub const NAMES: [&str; ALLOCATORS.len()] = {
    let mut names = [""; ALLOCATORS.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = ALLOCATORS[n].about.name;
        n += 1;
    }
    names
};
