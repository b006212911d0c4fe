//! What is known beforehand of bandwidths.

use crate::fine_time::FineTime;

/// A link gets another bandwidth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkChange {
    /// From when on.
    pub at: FineTime,
    /// The link, by its number in the sharing.
    pub link: u32,
    /// Bytes per second from then on; zero for a link that is down.
    pub bandwidth: f64,
}
