//! Round robin.

use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "round-robin",
    summary: "The next one in a circle after the last served",
    doc: "The requester after the last served comes first, the others follow in a circle. Who asks always is served once in as many turns as others \
          ask.",
    source: "Dally and Towles, Principles and Practices of Interconnection Networks, section 18.4.",
    params: &[],
};

/// How far a requester is from the one whose turn it is, in a circle of `among`.
#[inline]
pub(super) fn distance(first: u64, among: u32, requester: u32) -> u64 {
    let (first, requester) = (first, u64::from(requester));
    debug_assert!(first < u64::from(among) && requester < u64::from(among), "both are in the circle");
    if requester >= first { requester - first } else { requester + u64::from(among) - first }
}

#[inline]
pub(super) fn turn(words: &[u64], among: u32, requester: u32) -> u64 {
    distance(words[0], among, requester)
}

#[inline]
pub(super) fn served(among: u32, requester: u32, mut change: impl FnMut(usize, u64)) {
    debug_assert!(requester < among, "who was served is in the circle");
    // The one after the last served is kept, so that a fresh word means requester 0.
    change(0, u64::from(if requester + 1 == among { 0 } else { requester + 1 }));
}
