//! What is known of a number of hops.

/// Means of windows over one number of hops, in ticks over [`Means::denominator`](super::means::Means::denominator), without injection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Full window, until it is acknowledged.
    pub gate: u128,
    /// Window of 1, 2, .. packets, until they are there.
    pub there: Vec<u128>,
}
