//! What an arbiter knows besides its words.

/// An arbiter's place: what it knows besides its words.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Requesters there are.
    pub requesters: u32,
    /// Neighbours that form a group (trees).
    pub group: u32,
    /// A name of its own in the network, the seed in it (lots).
    pub name: u64,
    /// Number of the allocation, ascending.
    pub step: u64,
}
