//! Arbiters: who of those that want one resource gets it. Each is a file; its state is a few words that the caller keeps.
//!
//! An arbiter gives every requester a *turn*: the least one wins. When somebody was served, it notes that in its words. Allocators build on
//! these two functions alone, so any arbiter goes with any allocator.

mod age;
mod fixed;
mod matrix;
mod place;
mod random;
mod round_robin;
mod tree;

use base::registry::{About, Registered};
pub use place::Place;

/// A kind of arbiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arbiter {
    /// The next one in a circle after the last served.
    RoundRobin,
    /// The least recently served.
    Matrix,
    /// Round robin among groups, and within them.
    Tree,
    /// The oldest packet.
    Age,
    /// By lot, drawn anew each time.
    Random,
    /// Always the lowest number.
    Fixed,
}

/// A kind of arbiter as experiments name it.
#[derive(Clone, Copy)]
pub struct ArbiterEntry {
    /// Name and documentation.
    pub about: About,
    /// What it is.
    pub arbiter: Arbiter,
}

impl Registered for ArbiterEntry {
    fn about(&self) -> &About {
        &self.about
    }
}

/// All of them; the first is the default.
pub const ARBITERS: &[ArbiterEntry] = &[
    ArbiterEntry { about: round_robin::ABOUT, arbiter: Arbiter::RoundRobin },
    ArbiterEntry { about: matrix::ABOUT, arbiter: Arbiter::Matrix },
    ArbiterEntry { about: tree::ABOUT, arbiter: Arbiter::Tree },
    ArbiterEntry { about: age::ABOUT, arbiter: Arbiter::Age },
    ArbiterEntry { about: random::ABOUT, arbiter: Arbiter::Random },
    ArbiterEntry { about: fixed::ABOUT, arbiter: Arbiter::Fixed },
];

/// Their names, in the order of the list.
pub const NAMES: [&str; ARBITERS.len()] = {
    let mut names = [""; ARBITERS.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = ARBITERS[n].about.name;
        n += 1;
    }
    names
};

/// Most requesters of an arbiter.
pub const MOST: u32 = 1 << 20;

impl Arbiter {
    /// Words that an arbiter of so many requesters keeps.
    #[must_use]
    pub const fn words(self, requesters: u32, group: u32) -> usize {
        match self {
            Self::RoundRobin => 1,
            Self::Matrix => requesters as usize,
            Self::Tree => 1 + requesters.div_ceil(group) as usize,
            Self::Age | Self::Random | Self::Fixed => 0,
        }
    }

    /// Turn of a requester, of whose packet `age` says when it began: below 2^60, and the least one wins.
    #[inline]
    #[must_use]
    pub fn turn(self, words: &[u64], place: &Place, requester: u32, age: u64) -> u64 {
        debug_assert!(requester < place.requesters, "an arbiter knows its requesters");
        match self {
            Self::RoundRobin => round_robin::turn(words, place.requesters, requester),
            Self::Matrix => matrix::turn(words, requester),
            Self::Tree => tree::turn(words, place, requester),
            Self::Age => age,
            Self::Random => random::turn(place, requester),
            Self::Fixed => u64::from(requester),
        }
    }

    /// Notes that a requester was served: says which of its words change to what.
    #[inline]
    pub fn served(self, place: &Place, requester: u32, change: impl FnMut(usize, u64)) {
        match self {
            Self::RoundRobin => round_robin::served(place.requesters, requester, change),
            Self::Matrix => matrix::served(place, requester, change),
            Self::Tree => tree::served(place, requester, change),
            Self::Age | Self::Random | Self::Fixed => {}
        }
    }
}
