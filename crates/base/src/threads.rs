//! How many threads a run may use.

use crate::time::Ps;

/// Threads that run partitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// How many; no more are used than there are partitions.
    pub count: u32,
    /// Bind each to a processor of its own.
    pub pin: bool,
    /// A planted fault: windows reach so much further than lookahead allows. 0 but to see that tests find it.
    pub stretch: Ps,
}

impl Threads {
    /// The calling thread alone.
    pub const ONE: Self = Self { count: 1, pin: false, stretch: 0 };
}
