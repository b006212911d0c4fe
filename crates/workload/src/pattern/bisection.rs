//! Bisection traffic: every rank sends to the one half the machine away.

use super::{COUNT, Destinations, open_loop};
use crate::work::{JobContext, Work};
use base::{
    index::RankId,
    param::{Problem, Values},
    registry::About,
};

pub(crate) const ABOUT: About = About {
    name: "bisection",
    summary: "rank i to rank i + n/2 (mod n)",
    doc: "Rank i always sends to rank i + floor(n/2) (mod n). With linear placement all traffic crosses the middle of \
          the machine. An odd n makes the halves differ by one; the pattern stays a permutation.",
    source: "CODES, model-net-mpi-replay synthetic6",
    params: &[COUNT],
};

struct Bisection {
    ranks: u32,
}

impl Destinations for Bisection {
    fn destination(&self, rank: RankId, _index: u64) -> RankId {
        let (rank, half) = (rank.number(), self.ranks / 2);
        RankId::new(if rank < self.ranks - half { rank + half } else { rank - (self.ranks - half) })
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    context.need_two_ranks()?;
    open_loop(context, values, Bisection { ranks: context.ranks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_half_way_round() {
        let destinations = |ranks| -> Vec<u32> {
            RankId::first(ranks).map(|r| Bisection { ranks }.destination(r, 0).number()).collect()
        };
        assert_eq!(destinations(2), [1, 0]);
        assert_eq!(destinations(5), [2, 3, 4, 0, 1]);
        assert_eq!(destinations(6), [3, 4, 5, 0, 1, 2]);
    }

    #[test]
    fn the_largest_job_does_not_overflow() {
        let rule = Bisection { ranks: u32::MAX };
        assert_eq!(rule.destination(RankId::new(u32::MAX - 1), 0), RankId::new(u32::MAX / 2 - 1));
    }
}
