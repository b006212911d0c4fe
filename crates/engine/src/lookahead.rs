//! How far ahead of each other groups of partitions may run.

use base::time::{NEVER, Ps};

/// Shortest time from an event of one group to what may follow from it in another, directly or over others; on the diagonal, back in
/// the group itself over another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookahead {
    groups: usize,
    least: Vec<Ps>,
}

impl Lookahead {
    /// From the lookaheads between pairs of groups; `None` if nothing is ever sent. Costs the cube of the number of groups.
    ///
    /// # Panics
    /// If a lookahead is zero.
    pub fn new(groups: u32, local: impl Fn(u32, u32) -> Option<Ps>) -> Self {
        assert!(groups > 0, "somebody runs");
        let n = groups as usize;
        let mut least = vec![NEVER; n * n];
        for from in 0..groups {
            for to in (0..groups).filter(|&to| to != from) {
                let time = local(from, to).unwrap_or(NEVER);
                assert!(time > 0, "partitions need lookahead to run side by side");
                least[from as usize * n + to as usize] = time;
            }
        }
        // Shortest paths between all pairs (Floyd and Warshall): a message may cause another one that comes back sooner than any direct
        // one. The diagonal starts at never, so it ends as the shortest path around.
        for via in 0..n {
            for from in 0..n {
                for to in 0..n {
                    let around = least[from * n + via].saturating_add(least[via * n + to]);
                    let entry = &mut least[from * n + to];
                    *entry = around.min(*entry);
                }
            }
        }
        Self { groups: n, least }
    }

    /// Nothing that `to` does not know yet is due before this, if group i's next event is at `next[i]`.
    #[must_use]
    pub fn bound(&self, to: usize, next: &[Ps]) -> Ps {
        debug_assert_eq!(next.len(), self.groups, "every group tells its next event");
        let promises = next.iter().enumerate();
        promises.map(|(from, n)| n.saturating_add(self.least[from * self.groups + to])).min().unwrap_or(NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_over_others_counts() {
        // A line 0 - 1 - 2: 0 and 2 reach each other over 1 alone.
        let local = |a: u32, b: u32| match a.abs_diff(b) {
            1 => Some(10),
            _ => None,
        };
        let line = Lookahead::new(3, local);
        assert_eq!(line.bound(0, &[0, NEVER, NEVER]), 20, "its own messages come back");
        assert_eq!(line.bound(2, &[0, NEVER, NEVER]), 20);
        assert_eq!(line.bound(2, &[0, 15, NEVER]), 20);
        assert_eq!(line.bound(2, &[0, 5, NEVER]), 15);
        assert_eq!(Lookahead::new(2, |_, _| None).bound(0, &[1, 2]), NEVER);
    }
}
