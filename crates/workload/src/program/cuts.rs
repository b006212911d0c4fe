//! Where a graph can be cut into batches without changing anything.
//!
//! After operation g a graph may be cut if every later operation depends on g, directly or by others that come after g: then nothing of the
//! rest can become executable before g has started, which is when the next batch is read. With edges that lead forward this holds
//! if each later operation has a predecessor that is not before g: one pass from the end finds all cuts. A rank
//! that is read in small batches touches little memory at a time.

/// Fewest operations of a batch.
const LEAST: usize = 8;

/// The end of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Number of operations up to here.
    pub ops: u32,
    /// Number of edges up to here.
    pub edges: u32,
}

/// The ends of all batches of a graph with `ops` operations and these edges (before, after). The last cut is the end; a graph that cannot be
/// cut has no other, and neither has one with edges that lead backward or are not in the order of the operations that wait.
#[must_use]
pub fn cuts(ops: usize, edges: impl Iterator<Item = (u32, u32)> + Clone) -> Box<[Cut]> {
    let count = edges.clone().count();
    let whole = Cut { ops: ops as u32, edges: count as u32 };
    let ordered =
        edges.clone().is_sorted_by_key(|e| e.1) && edges.clone().all(|(before, after)| before < after);
    if ops <= LEAST || !ordered {
        return Box::new([whole]);
    }
    let mut latest = vec![None; ops];
    for (before, after) in edges.clone() {
        let slot: &mut Option<u32> = &mut latest[after as usize];
        *slot = (*slot).max(Some(before));
    }
    // From the end: the earliest of what all later operations depend on at the latest.
    let (mut bound, mut gates) = (Some(u32::MAX), vec![false; ops]);
    for (op, (&last, gate)) in latest.iter().skip(1).zip(&mut gates).enumerate().rev() {
        bound = bound.min(last);
        *gate = bound.is_some_and(|b| b as usize >= op);
    }
    let (mut all, mut begun, mut edge) = (Vec::new(), 0, edges.peekable());
    let mut seen = 0;
    for (op, &gate) in gates.iter().enumerate() {
        while edge.next_if(|e| e.1 as usize <= op).is_some() {
            seen += 1;
        }
        if gate && op + 1 - begun >= LEAST && ops - op > LEAST {
            begun = op + 1;
            all.push(Cut { ops: begun as u32, edges: seen });
        }
    }
    all.push(whole);
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(ops: usize, edges: &[(u32, u32)]) -> Vec<u32> {
        cuts(ops, edges.iter().copied()).iter().map(|c| c.ops).collect()
    }

    #[test]
    fn chains_are_cut_and_what_hangs_loose_is_not() {
        let chain: Vec<(u32, u32)> = (1..40).map(|n| (n - 1, n)).collect();
        assert_eq!(ends(40, &chain), [8, 16, 24, 32, 40]);
        // The last operation waits for nothing: it may start at once.
        assert_eq!(ends(40, &chain[..38]), [40]);
        let mut backward = chain.clone();
        backward.push((39, 0));
        assert_eq!(ends(40, &backward), [40]);
        assert_eq!(ends(0, &[]), [0]);
    }

    proptest! {
        /// Each cut is behind an operation that all later ones need, by a search over all dependencies; batches hold every edge once.
        #[test]
        fn cuts_are_sound(ops in 9u32..60, pairs in prop::collection::vec((1u32..4, 0u32..60), 0..150)) {
            let mut edges: Vec<(u32, u32)> = pairs.iter().map(|&(back, after)| (after % ops, back))
                .filter(|&(after, back)| after >= back).map(|(after, back)| (after - back, after)).collect();
            edges.sort_by_key(|e| e.1);
            let cuts = cuts(ops as usize, edges.iter().copied());
            prop_assert_eq!(cuts.last().map(|c| (c.ops, c.edges as usize)), Some((ops, edges.len())));
            for cut in &cuts[..cuts.len() - 1] {
                let gate = cut.ops - 1;
                let mut needs = vec![false; ops as usize];
                needs[gate as usize] = true;
                for &(before, after) in &edges {
                    needs[after as usize] |= needs[before as usize] && after > gate;
                }
                prop_assert!(needs[gate as usize..].iter().all(|&n| n), "{:?} {:?}", cut, edges);
                prop_assert!(edges[..cut.edges as usize].iter().all(|e| e.1 < cut.ops));
                prop_assert!(edges[cut.edges as usize..].iter().all(|e| e.1 >= cut.ops));
            }
        }
    }
}
