//! The wavefront allocator: diagonals of the matrix of requests, one after another.

use super::matching::{Frame, Matching};
use base::registry::About;

pub(super) const ABOUT: About = About {
    name: "wavefront",
    summary: "Diagonals of the request matrix, one after another",
    doc: "Requests on a diagonal of the matrix do not meet, so all of them are granted that are left; then comes the next diagonal. The matching is always maximal. The \
          first diagonal moves on by one with every allocation that had a choice. No arbiter is asked, and `iterations` is not.",
    source: "Tamir and Chi, Symmetric Crossbar Arbiters for VLSI Communication Switches, IEEE TPDS 1993; Dally and Towles, section 19.4.",
    params: &[],
};

pub(super) fn allocate(frame: &Frame, words: &[u64], matching: &mut Matching) {
    let word = frame.words() - 1;
    let square = u64::from(frame.rows.max(frame.columns));
    let first = words[word];
    debug_assert!(first < square, "there are so many diagonals");
    let mut order = std::mem::take(&mut matching.spare);
    order.clear();
    order.extend((0u64..).zip(&matching.requests).map(|(n, r)| {
        let diagonal = (u64::from(r.row) + u64::from(r.column) + square - first) % square;
        u64::from(r.level) << 60 | diagonal << 32 | n
    }));
    order.sort_unstable();
    // Along the diagonals, in their order: what is granted blocks its row and column for those behind.
    for &key in &order {
        let n = key as u32;
        if matching.is_open(&matching.requests[n as usize]) {
            matching.grant(n);
        }
    }
    matching.spare = order;
    matching.changes.push((word, if first + 1 == square { 0 } else { first + 1 }));
}
