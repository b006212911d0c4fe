//! Which thread runs which partition: neighbours in number stay together, and the dearest thread is as cheap as can be.

/// Where a partition is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Home {
    /// The group (a thread of some rank, counted over all ranks) that runs it.
    pub group: u32,
    /// Its place among the group's members.
    pub member: u32,
}

/// Splits partitions of these costs into `groups` runs of consecutive ones so that the dearest run is as cheap as possible; gives
/// the group of each. Every group gets a partition; there must be as many as groups.
#[must_use]
pub fn split(costs: &[u64], groups: u32) -> Vec<u32> {
    assert!(groups > 0 && costs.len() >= groups as usize, "every group gets a partition");
    // Whether all fit below a cost is monotonic in it, and filling greedily decides it: so the least such cost is found by halving.
    let (mut low, mut high) = (costs.iter().copied().max().unwrap_or(0), costs.iter().sum());
    while low < high {
        let middle = low + (high - low) / 2;
        if fill(costs, groups, middle).is_some() { high = middle } else { low = middle + 1 }
    }
    fill(costs, groups, low).unwrap_or_else(|| vec![0; costs.len()])
}

/// Fills one group after the other up to `most`; `None` if the groups do not suffice.
fn fill(costs: &[u64], groups: u32, most: u64) -> Option<Vec<u32>> {
    let (mut group, mut sum) = (0, 0);
    let mut of = Vec::with_capacity(costs.len());
    for (index, &cost) in costs.iter().enumerate() {
        // What is left must suffice for a partition in every later group.
        let forced = (costs.len() - index) as u32 + group + 1 == groups;
        if index > 0 && (sum + cost > most || forced) {
            group += 1;
            sum = 0;
        }
        sum += cost;
        of.push(group);
    }
    (group < groups && sum <= most).then_some(of)
}

/// True if the dearest group becomes a twentieth cheaper: moving a partition costs its caches.
#[must_use]
pub fn worth_moving(costs: &[u64], present: &[u32], better: &[u32]) -> bool {
    assert!(costs.len() == present.len() && costs.len() == better.len(), "all partitions are dealt");
    let dearest = |of: &[u32]| {
        let mut sums = vec![0; of.iter().map(|&g| g as usize + 1).max().unwrap_or(0)];
        of.iter().zip(costs).for_each(|(&g, c)| sums[g as usize] += c);
        sums.into_iter().max().unwrap_or(0)
    };
    dearest(better) < dearest(present) / 20 * 19
}

/// Where each partition is, if it belongs to this group.
pub(crate) fn homes(groups: &[u32]) -> Vec<Home> {
    let mut sizes = vec![0; groups.iter().map(|&g| g as usize + 1).max().unwrap_or(0)];
    let home = |&group: &u32| {
        let size = &mut sizes[group as usize];
        *size += 1;
        Home { group, member: *size - 1 }
    };
    groups.iter().map(home).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::rng::{Purpose, Stream};

    #[test]
    fn runs_are_as_even_as_can_be() {
        assert_eq!(split(&[1, 1, 1, 1], 2), [0, 0, 1, 1]);
        assert_eq!(split(&[9, 1, 1, 1], 2), [0, 1, 1, 1]);
        assert_eq!(split(&[1, 1, 1, 9, 1], 3), [0, 0, 0, 1, 2]);
        assert_eq!(split(&[5, 5, 5], 3), [0, 1, 2]);
        assert_eq!(split(&[1], 1), [0]);
    }

    /// Against trying every way to cut.
    #[test]
    fn no_cut_is_better() {
        let mut random = Stream::new(1, Purpose::Test, 0);
        for _ in 0..300 {
            let costs: Vec<u64> = (0..6).map(|_| 1 + random.below(20)).collect();
            let sums = |of: &[u32]| {
                let mut sums = [0; 3];
                of.iter().zip(&costs).for_each(|(&g, c)| sums[g as usize] += c);
                sums
            };
            let found = split(&costs, 3);
            assert!(sums(&found).iter().all(|&s| s > 0), "no thread is without work");
            let dearest = |of: &[u32]| sums(of).into_iter().max().unwrap();
            let all = (1..5).flat_map(|a| (a + 1..6).map(move |b| (a, b)));
            let cut = |(a, b): (usize, usize)| -> Vec<u32> {
                (0..6).map(|i| u32::from(i >= a) + u32::from(i >= b)).collect()
            };
            assert_eq!(Some(dearest(&found)), all.map(cut).map(|of| dearest(&of)).min());
        }
    }

    #[test]
    fn small_gains_move_nothing() {
        assert!(!worth_moving(&[100, 99], &[0, 1], &[0, 1]));
        assert!(worth_moving(&[10, 10, 1], &[0, 0, 1], &[0, 1, 1]));
    }
}
