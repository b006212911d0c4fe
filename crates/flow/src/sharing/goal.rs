//! Ends of the flows of a bundle, in the order in which they come.

use std::cmp::Ordering;

/// When a flow of a bundle is over, on the bundle's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) clock: f64,
    pub(super) order: u64,
    pub(super) flow: u32,
}

impl Ord for Goal {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.clock.total_cmp(&other.clock).then(self.order.cmp(&other.order))
    }
}

impl PartialOrd for Goal {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Goal {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Goal {}
