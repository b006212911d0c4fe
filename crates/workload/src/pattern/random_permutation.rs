//! Random permutation: every rank has one partner, drawn once or anew each so many bytes.
//!
//! A permutation is one random cycle through all ranks, so nobody is its own partner. The cycle is not stored: a keyed
//! bijection `p` (a Feistel network) puts the ranks in a random order, and rank x sends to p(p^-1(x) + 1). Any rank can
//! thus be any number of permutations ahead of the others without a lock or memory that grows.

use super::{COUNT, Destinations, mixed::SIZES, open_loop};
use crate::work::{JobContext, Work};
use base::{
    hash::mix64,
    index::{Column, RankId},
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
};

pub(crate) const ABOUT: About = About {
    name: "random-permutation",
    summary: "every rank to one random partner",
    doc: "Every rank sends to one partner and receives from one. The permutation is a random cycle through all ranks, so \
          none is its own partner (and for n > 2 no two exchange with each other). With `redraw_bytes` a rank moves on to \
          the next permutation of the same series whenever it has sent that many bytes, at a message boundary; a message \
          larger than that moves on each time.",
    source: "CODES, model-net-mpi-replay synthetic5 (perm-thresh); cycles as in Sattolo, 1986",
    params: &[
        Param {
            name: "redraw_bytes",
            kind: Kind::Bytes,
            default: Some("0 B"),
            doc: "bytes that a rank sends before the next permutation; 0: the first one throughout",
        },
        COUNT,
    ],
};

/// Rounds of the Feistel network; four would suffice for pseudo-randomness in theory, small domains need more.
const ROUNDS: u64 = 10;

pub(crate) struct RandomPermutation {
    ranks: u32,
    /// Side of the smallest square that holds all ranks.
    side: u64,
    /// Messages before a rank moves on.
    stay: u64,
    keys: Stream,
    /// The first permutation, which most jobs never leave.
    first: Column<RankId, RankId>,
}

impl RandomPermutation {
    /// What a round adds: it makes (left, right) to (right, left + shift(right)).
    fn shift(&self, key: u64, round: u64, half: u64) -> u64 {
        ((u128::from(mix64(key ^ (round << 32 | half))) * u128::from(self.side)) >> 64) as u64
    }

    /// `p`: a bijection of the square, walked until it lands on a rank.
    fn forward(&self, key: u64, mut x: u64) -> u64 {
        loop {
            let (mut left, mut right) = (x / self.side, x % self.side);
            for round in 0..ROUNDS {
                let sum = left + self.shift(key, round, right);
                (left, right) = (right, if sum < self.side { sum } else { sum - self.side });
            }
            x = left * self.side + right;
            if x < u64::from(self.ranks) {
                return x;
            }
        }
    }

    /// The inverse of `p`.
    fn backward(&self, key: u64, mut x: u64) -> u64 {
        loop {
            let (mut left, mut right) = (x / self.side, x % self.side);
            for round in (0..ROUNDS).rev() {
                let shift = self.shift(key, round, left);
                (left, right) = (if right < shift { right + self.side } else { right } - shift, left);
            }
            x = left * self.side + right;
            if x < u64::from(self.ranks) {
                return x;
            }
        }
    }

    /// The `x`-th rank in an order that the key decides: a permutation, all of them alike likely.
    pub(super) fn shuffled(&self, key: u64, x: u32) -> u32 {
        if self.ranks == 1 {
            return 0;
        }
        even_out(key, self.forward(key, u64::from(x))) as u32
    }

    /// Partner of `rank` in the permutation number `draw`.
    pub(crate) fn partner(&self, draw: u64, rank: RankId) -> RankId {
        let key = self.keys.at(draw).next_u64();
        let place = self.backward(key, even_out(key, u64::from(rank))) + 1;
        let next = if place == u64::from(self.ranks) { 0 } else { place };
        RankId::new(even_out(key, self.forward(key, next)) as u32)
    }

    /// The rank whose partner is `rank` in the permutation number `draw`.
    pub(crate) fn origin(&self, draw: u64, rank: RankId) -> RankId {
        let key = self.keys.at(draw).next_u64();
        let place = self.backward(key, even_out(key, u64::from(rank)));
        let before = place.checked_sub(1).unwrap_or(u64::from(self.ranks) - 1);
        RankId::new(even_out(key, self.forward(key, before)) as u32)
    }
}

impl Destinations for RandomPermutation {
    fn destination(&self, rank: RankId, index: u64) -> RankId {
        if index < self.stay { self.first[rank] } else { self.partner(index / self.stay, rank) }
    }
}

/// Swaps ranks 0 and 1 under half of the keys: rounds on a square of odd side are all even permutations.
fn even_out(key: u64, rank: u64) -> u64 {
    if rank < 2 && key >> 63 == 1 { 1 - rank } else { rank }
}

/// Orders of so many.
pub(super) fn orders(ranks: u32, keys: Stream) -> RandomPermutation {
    let side = u64::from(ranks - 1).isqrt() + 1;
    RandomPermutation { ranks, side, stay: u64::MAX, keys, first: Column::default() }
}

/// The series of permutations of a job, from its seed.
pub(crate) fn rule(context: &JobContext, redraw_bytes: u64) -> RandomPermutation {
    let side = (u64::from(context.ranks) - 1).isqrt() + 1;
    let stay =
        if redraw_bytes == 0 { u64::MAX } else { redraw_bytes.div_ceil(context.message.max(1)).max(1) };
    let keys = Stream::new(context.seed, Purpose::Setup, u64::from(context.job) << 32);
    let mut rule = RandomPermutation { ranks: context.ranks, side, stay, keys, first: Column::default() };
    rule.first = RankId::first(context.ranks).map(|rank| rule.partner(0, rank)).collect();
    rule
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    context.need_two_ranks()?;
    let redraw = values.int("redraw_bytes");
    if redraw > 0 && values.0.contains_key(SIZES.name) {
        let message = "bytes are counted in messages of one size, and this job has `sizes`";
        return Err(vec![Problem::new("redraw_bytes", message)]);
    }
    open_loop(context, values, rule(context, redraw))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{chi_square, context};
    use proptest::prelude::*;

    fn permutation(ranks: u32, seed: u64, epoch: u64) -> Vec<u32> {
        let rule = rule(&JobContext { seed, ..context(ranks) }, 1024);
        RankId::first(ranks).map(|r| rule.destination(r, epoch).number()).collect()
    }

    proptest! {
        #[test]
        fn is_one_cycle_through_all(ranks in 2u32..3000, seed: u64, epoch in 0u64..100) {
            let next = permutation(ranks, seed, epoch);
            let (mut at, mut length) = (0, 0);
            loop {
                at = next[at as usize];
                length += 1;
                if at == 0 || length > ranks {
                    break;
                }
            }
            prop_assert_eq!(length, ranks);
        }
    }

    #[test]
    fn stays_as_long_as_asked() {
        let rule = rule(&context(100), 8 << 20);
        let at = |k| -> Vec<RankId> { RankId::first(100).map(|r| rule.destination(r, k)).collect() };
        assert_eq!(at(0), at(8191));
        assert_ne!(at(8191), at(8192));
        assert_ne!(at(0), at(8192));
        let fixed = super::rule(&context(100), 0);
        assert!(RankId::first(100).all(|r| fixed.destination(r, 0) == fixed.destination(r, u64::MAX - 1)));
    }

    /// All (n-1)! cycles have the same chance; the bounds are those of 0.1 % for 1, 5 and 23 degrees of freedom.
    #[test]
    fn all_cycles_are_equally_likely() {
        for (ranks, cycles, bound) in [(3, 2, 10.8), (4, 6, 20.5), (5, 24, 49.8)] {
            let mut counts = base::sorted::SortedMap::new();
            for epoch in 0..1000 * cycles as u64 {
                *counts.entry(permutation(ranks, 3, epoch)).or_insert(0u64) += 1;
            }
            let counts: Vec<u64> = counts.into_values().collect();
            assert_eq!(counts.len(), cycles);
            assert!(chi_square(&counts, &vec![1.0; cycles]) < bound, "{counts:?}");
        }
    }

    /// Where two neighbours' partners lie relative to each other: 69 distances, chance below 0.1 %.
    #[test]
    fn partners_of_neighbours_are_unrelated() {
        let mut counts = [0u64; 72];
        let rule = rule(&context(72), 1024);
        for epoch in 0..35_000 {
            let [a, b] = [0, 1].map(|r| rule.destination(RankId::new(r), epoch).number());
            counts[((b + 72 - a) % 72) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        assert!(chi_square(&counts[2..71], &[1.0; 69]) < 112.3, "{counts:?}");
    }
}
