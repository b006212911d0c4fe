//! What the solver keeps of links and sharers.

use super::wide::Wide;

/// Relative difference below which a level counts as found again.
// Six bits above the last digit of a double: room for sums whose terms came in another order.
pub(super) const SAME: f64 = 1.0 / (1u64 << 46) as f64;

/// A sum that has fallen below this part of what it was is summed again.
pub(super) const SMALL: f64 = 1.0 / 1024.0;

/// A level is the same if nobody computed it anew.
#[inline]
pub(super) fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits()
}

/// A level that is found again to within rounding keeps its bits.
pub(super) fn near(before: f64, now: f64) -> bool {
    debug_assert!(now >= 0.0, "a level is no negative number");
    // Infinite before, finite now: the difference is infinite, so that no level is found again where there was none.
    now < f64::INFINITY && (before - now).abs() <= now * SAME
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

#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) capacity: f64,
    /// Where it is full; infinite if it limits nobody.
    pub(super) level: f64,
    pub(super) members: Vec<Member>,
    /// So many of the first members are those that it supports.
    pub(super) supported: u32,
    /// What all other members take of it.
    pub(super) others: Wide,
    /// What those that it supports take of it per level.
    pub(super) own: Wide,
    /// No other member has a greater level.
    pub(super) top: f64,
    /// It is to be looked at; those that it supports may have other levels than its own.
    pub(super) queued: bool,
    pub(super) forced: bool,
    /// All levels anew: its level before.
    pub(super) before: f64,
    /// It is in the list of links that somebody uses.
    pub(super) listed: bool,
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

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) link: u32,
    // Kept on both sides, here and in the member's `entry`, so that neither list is searched when a sharer leaves.
    /// Place in the link's list.
    pub(super) slot: u32,
    /// Use of the link per unit of share.
    pub(super) usage: f64,
    /// What the sharer takes of the link per level, as in the link's list.
    pub(super) rate: f64,
}

/// In place of a link that supports a sharer: its own cap, or nothing yet.
pub(super) const CAP: u32 = u32::MAX - 1;
pub(super) const NOBODY: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Sharer {
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
