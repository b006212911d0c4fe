//! What is known beforehand of links.

use crate::fine_time::FineTime;
pub use fabric::platform::Change;

/// A link changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkChange {
    /// From when on.
    pub at: FineTime,
    /// The link, by its number in the sharing.
    pub link: u32,
    /// What it has from then on.
    pub what: Change,
    /// After so many seconds it happens again, if it does; above zero.
    pub every: Option<f64>,
}

impl LinkChange {
    /// A bandwidth in bytes per second that changes once.
    #[must_use]
    pub fn bandwidth(at: FineTime, link: u32, bandwidth: f64) -> Self {
        Self { at, link, what: Change::Bandwidth(bandwidth), every: None }
    }
}
