//! Which partitions of a run this process has.

use base::world::World;
use std::ops::Range;

/// The ranks of a run, and how many partitions they have in all. Each rank has consecutive ones.
#[derive(Clone)]
pub struct Over {
    /// The ranks, seen from this one.
    pub world: World,
    /// Partitions of all ranks together, at least one for each.
    pub partitions: u32,
}

impl Over {
    /// Numbers of the partitions that rank `rank` has.
    #[must_use]
    pub fn of(&self, rank: u32) -> Range<u32> {
        self.world.share_of(rank, self.partitions)
    }

    /// Numbers of the partitions that this rank has.
    #[must_use]
    pub fn mine(&self) -> Range<u32> {
        self.of(self.world.rank())
    }

    /// The rank that has a partition.
    #[must_use]
    pub fn rank_of(&self, partition: u32) -> u32 {
        debug_assert!(partition < self.partitions, "there is such a partition");
        // Found by calculation and put right by one at most: shares differ by one.
        let ranks = self.world.ranks();
        let guess = u64::from(partition) * u64::from(ranks) / u64::from(self.partitions.max(1));
        let near = (guess as u32)..ranks.min(guess as u32 + 2);
        near.into_iter().find(|&rank| self.of(rank).contains(&partition)).unwrap_or(ranks - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partition_has_one_rank() {
        for ranks in 1..=7 {
            let world = World::of_threads(ranks).remove(0);
            for partitions in ranks..40 {
                let over = Over { world: world.clone(), partitions };
                let by_rank: Vec<u32> = (0..ranks).flat_map(|r| over.of(r).map(move |_| r)).collect();
                let found: Vec<u32> = (0..partitions).map(|p| over.rank_of(p)).collect();
                assert_eq!(found, by_rank);
            }
        }
    }
}
