//! What the solver keeps of links and sharers.

use super::{routes::Block, wide::Wide};

/// Relative difference below which a level counts as found again.
// Six bits above the last digit of a double: room for sums whose terms came in another order.
pub(super) const SAME: f64 = 1.0 / (1u64 << 46) as f64;

/// The same where sums are wide, and a level is off by no more than its own rounding.
pub(super) const KEPT: f64 = 1.0 / (1u64 << 50) as f64;

/// A link's capacity is known to this part of it: less is not shared out again.
// Above what levels that were kept can be off: else two links that are full together would take their sharers from each other for ever.
pub(super) const GRAIN: f64 = 1.0 / (1u64 << 48) as f64;

/// A sum that has fallen below this part of what it was is summed again.
pub(super) const SMALL: f64 = 1.0 / 1024.0;

/// A level is the same if nobody computed it anew.
#[inline]
pub(super) fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

/// A level that is found again to within rounding keeps its bits.
#[inline]
pub(super) fn near(before: f64, now: f64, within: f64) -> bool {
    debug_assert!(now >= 0.0, "a level is no negative number");
    // Infinite before, finite now: the difference is infinite, so that no level is found again where there was none.
    now < f64::INFINITY && (before - now).abs() <= now * within
}

/// What a sharer takes of a link; nothing as long as nothing limits it.
#[inline]
pub(super) fn taken(rate: f64, level: f64) -> f64 {
    if level < f64::INFINITY { rate * level } else { 0.0 }
}

/// A sharer's place in a link's list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) sharer: u32,
    /// Which of the sharer's links this is.
    pub(super) entry: u32,
    /// What the sharer takes of the link per level: use * weight, times its count.
    pub(super) rate: f64,
}

/// What following a change looks at of a link, on one line of a cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Fill {
    pub(super) capacity: f64,
    /// Where it is full; infinite if it limits nobody.
    pub(super) level: f64,
    /// What those that it supports take of it per level.
    pub(super) own: Wide,
    /// What all other members take of it.
    pub(super) others: Wide,
    /// No other member has a greater level.
    pub(super) top: f64,
    /// So many of the first members are those that it supports.
    pub(super) supported: u32,
    /// It is to be looked at; those that it supports may have other levels than its own.
    pub(super) queued: bool,
    pub(super) forced: bool,
}

/// The rest of a link.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) members: Vec<Member>,
    /// All levels anew: its level before.
    pub(super) before: f64,
    /// It is in the list of links that somebody uses.
    pub(super) listed: bool,
    /// While a route is made: where it is in the route's list, if it is there at all.
    pub(super) place: u32,
    /// What all its sharers take per level; NaN if that must be summed again.
    pub(super) total: f64,
}

/// A link while all levels are found anew: what is left for open sharers, what they take per level, and their number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) left: f64,
    pub(super) open: f64,
    pub(super) opened: u32,
}

/// In place of a link that supports a sharer: its own cap, or nothing yet.
pub(super) const CAP: u32 = u32::MAX - 1;
pub(super) const NOBODY: u32 = u32::MAX;

#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Sharer {
    /// Where its links are.
    pub(super) block: Block,
    /// Number of flows; 0 if the row is free.
    pub(super) count: u32,
    pub(super) weight: f64,
    /// Level at its own cap.
    pub(super) cap: f64,
    pub(super) level: f64,
    /// Solution of all levels in which it got its own.
    pub(super) epoch: u64,
    /// Solution in which it was last listed as changed.
    pub(super) listed: u64,
    /// The link that limits it, [`CAP`] or [`NOBODY`].
    pub(super) support: u32,
    /// It is on none of its links, since it is alone there.
    pub(super) detached: bool,
}

/// What happens at a level: a link is full, or a sharer's support is reached. The bits of a level that is not negative are ordered as it
/// is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub(super) bits: u64,
    /// Link, or sharer with [`SHARER`].
    pub(super) row: u32,
}

/// Marks the steps of sharers.
// In the number's highest bit: of equal levels, links come before sharers, always in the same order.
pub(super) const SHARER: u32 = 1 << 31;

const _: () = assert!(size_of::<Fill>() == 64 && size_of::<Sharer>() == 64, "one line each");
