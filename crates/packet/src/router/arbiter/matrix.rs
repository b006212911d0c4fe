//! Least recently served: what a matrix of priority bits does.

use super::place::Place;
use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "matrix",
    summary: "The least recently served",
    doc: "The one served the longest time ago wins; of those never served, the lowest number. A matrix of priority bits does this in hardware; here \
          each requester has the number of the allocation that served it last.",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks, section 18.5.",
    params: &[],
};

#[inline]
pub(super) fn turn(words: &[u64], requester: u32) -> u64 {
    words[requester as usize] << 20 | u64::from(requester)
}

#[inline]
pub(super) fn served(place: &Place, requester: u32, mut change: impl FnMut(usize, u64)) {
    debug_assert!(requester < place.requesters, "an arbiter knows its requesters");
    // Never served is before the first allocation, which has number 0.
    change(requester as usize, (place.step + 1) & ((1 << 40) - 1));
}
