//! Programs of ranks for tests.

use base::rng::{Purpose, Stream};
use workload::program::{
    After, Op,
    list::{Rank, calc, recv, send},
};

/// A rank that does these one after another.
pub fn chain(ops: &[Op]) -> Rank {
    let mut rank = Rank::default();
    for &op in ops {
        rank.push(Op { after: After::Finish, ..op });
    }
    rank
}

/// Ranks that compute, for drawn times, and send to each other in an order without a deadlock.
pub fn in_order((ranks, messages): (u32, u32), seed: u64, time: fn(&mut Stream) -> u64) -> Vec<Rank> {
    let mut draw = Stream::new(seed, Purpose::Test, 0);
    let mut all = vec![Rank::default(); ranks as usize];
    for _ in 0..messages {
        let from = draw.below(u64::from(ranks)) as u32;
        let to = (from + 1 + draw.below(u64::from(ranks) - 1) as u32) % ranks;
        let bytes = draw.below(3000);
        for (rank, op) in [(from, send(to, bytes, 0)), (to, recv(from, bytes, 0))] {
            all[rank as usize].push(Op { after: After::Finish, ..op });
        }
        let who = draw.below(u64::from(ranks)) as usize;
        all[who].push(Op { after: After::Finish, ..calc(time(&mut draw)) });
    }
    all
}
