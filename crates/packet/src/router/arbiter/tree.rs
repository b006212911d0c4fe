//! A tree of two levels: round robin among groups, and within each.

use super::{place::Place, round_robin};
use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "tree",
    summary: "Round robin among groups, and within each",
    doc: "Requesters form groups: the virtual channels of a port for virtual channel allocation, groups of about the square root of their number for the \
          switch. Groups take turns, and within a group its members do. A group with few requesters gets as much as one with many.",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks, section 18.3; BookSim 2.",
    params: &[],
};

/// Word 0 is that of the groups, the others are those of each.
#[inline]
pub(super) fn turn(words: &[u64], place: &Place, requester: u32) -> u64 {
    debug_assert!(place.group > 0 && requester < place.requesters, "everybody is in a group");
    let (group, member) = (requester / place.group, requester % place.group);
    let groups = place.requesters.div_ceil(place.group);
    // A group's turn outweighs any within it: groups have fewer than 2^20 members.
    round_robin::distance(words[0], groups, group) << 20
        | round_robin::distance(words[1 + group as usize], place.group, member)
}

#[inline]
pub(super) fn served(place: &Place, requester: u32, mut change: impl FnMut(usize, u64)) {
    let (group, member) = (requester / place.group, requester % place.group);
    let groups = place.requesters.div_ceil(place.group);
    round_robin::served(groups, group, |_, next| change(0, next));
    round_robin::served(place.group, member, |_, next| change(1 + group as usize, next));
}
