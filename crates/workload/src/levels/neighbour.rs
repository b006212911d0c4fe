//! The nearest-neighbour pattern: from left to right every rank is peered with the next ranks that have a free place and are no
//! neighbours yet.

use super::{Pair, pair};

/// Appends the pairs for `count` neighbours (at most n - 1).
pub(super) fn pairs(n: u32, count: u32, out: &mut Vec<Pair>) {
    let count = count.min(n - 1) as usize;
    let mut peers: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
    // Ranks below are full: no search needs to look at them.
    let mut full = 0;
    for i in 0..n as usize {
        full = full.max(i + 1);
        let mut k = full;
        while peers[i].len() < count && k < n as usize {
            if peers[k].len() < count && !peers[k].contains(&(i as u32)) {
                peers[i].push(k as u32);
                peers[k].push(i as u32);
            }
            if k == full && peers[k].len() == count {
                full += 1;
            }
            k += 1;
        }
    }
    out.extend((0u32..).zip(&peers).flat_map(|(i, to)| to.iter().map(move |&k| pair((i, k)))));
}
