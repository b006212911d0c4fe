//! What is kept of ends and beginnings that act late.

use crate::fine_time::FineTime;

/// How late ends and beginnings may act, and how late they did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delays {
    /// Part of an age, or of the time alone, that may pass now; zero for none.
    pub accuracy: f64,
    /// The same while few links are taken by divided flows, and while many are.
    pub(super) by_width: [f64; 2],
    /// Links that divided flows may take before they are many.
    pub(super) most: u64,
    /// Links of the routes of all divided bundles, each counted as often as it is on one.
    pub(super) links: u64,
    /// When shares are found next, if something waits for it, and since when it does.
    pub(super) due: Option<(FineTime, FineTime)>,
    /// The longest that something waited, in seconds.
    pub longest: f64,
    /// Ends and beginnings, and solutions for them.
    pub happened: u64,
    /// Number of solutions.
    pub solutions: u64,
}
