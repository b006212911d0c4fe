//! All to all: bursts in which every rank sends one message to every other at the same instant.

use super::{
    endless_if_zero,
    random_permutation::{RandomPermutation, orders},
};
use crate::{
    arrival::{Arrival, place},
    interval::Interval,
    traffic::{Message, Traffic},
    work::{JobContext, Work},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    rng::{Purpose, Stream},
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "all-to-all",
    summary: "bursts of one message to every other rank",
    doc: "In a burst a rank creates n-1 messages at the same instant, one to every other rank, in the order of ranks from \
          0; with `order = \"random\"` each burst of each rank has a random order of its own, as in CODES, where every message waits for a host \
          latency of its own. In rank order all sources begin with the same destination, and the mean latency is several times higher. Bursts arrive so that the n-1 messages together make the load: with constant arrival one each (n-1) * \
          message / (load * bandwidth). A run needs many of them: one that ends within the first two says how long a burst takes, and nothing \
          of what could be kept up; give it a longer `duration`, fewer ranks or smaller messages.",
    source: "CODES, model-net-mpi-replay synthetic3",
    params: &[
        Param {
            name: "bursts",
            kind: Kind::Int { min: 0, max: u64::MAX },
            default: Some("0"),
            doc: "bursts that each rank sends; 0: without end",
        },
        Param {
            name: "order",
            kind: Kind::Choice(&["rank", "random"]),
            default: Some("rank"),
            doc: "order of a burst's messages",
        },
    ],
};

struct AllToAll {
    arrival: Arc<dyn Arrival>,
    others: u32,
    bytes: u64,
    bursts: u64,
    offered: f64,
    /// Orders of the others, if they are random, and where their keys are drawn.
    orders: Option<(RandomPermutation, Stream)>,
    job: u32,
}

impl Traffic for AllToAll {
    fn message(&self, rank: RankId, index: u64, previous: Ps) -> Option<Message> {
        let burst = index / u64::from(self.others);
        let position = (index % u64::from(self.others)) as u32;
        if burst >= self.bursts {
            return None;
        }
        let time = if position == 0 { self.arrival.time(rank, burst, previous)? } else { previous };
        let position = match &self.orders {
            None => position,
            Some((orders, keys)) => {
                let key = place(*keys, self.job, rank, burst).next_u64();
                orders.shuffled(key, position)
            }
        };
        let destination = RankId::new(position + u32::from(position >= rank.number()));
        Some(Message { time, destination, bytes: self.bytes })
    }

    fn reply(&self, _rank: RankId, _source: RankId, _index: u64) -> Option<(RankId, u64)> {
        None
    }

    fn closed_loop(&self) -> bool {
        false
    }

    fn total(&self, ranks: u32) -> Option<u64> {
        (u64::from(ranks) * u64::from(self.others)).checked_mul(self.bursts)
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        Some(self.offered)
    }

    fn period(&self) -> Option<Interval> {
        self.arrival.period()
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    context.need_two_ranks()?;
    let (others, bytes) = (context.ranks - 1, context.message);
    let burst = bytes
        .checked_mul(u64::from(others))
        .ok_or_else(|| vec![Problem::new("message", "a burst of all messages exceeds 2^64 bytes")])?;
    let (arrival, offered) = context.arrivals(burst, 1)?;
    let bursts = endless_if_zero(values.int("bursts"));
    let keys = Stream::new(context.seed, Purpose::Destination, 0);
    let orders = (values.text("order") == "random").then(|| (orders(others, keys), keys));
    Ok(Work::Traffic(Arc::new(AllToAll {
        arrival,
        others,
        bytes,
        bursts,
        offered,
        orders,
        job: context.job,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, defaults};
    use base::param::Value;

    /// The 72-node case at full load: one burst of 71 messages each 33.855 us.
    #[test]
    fn covers_everyone_once_per_burst_at_one_instant() {
        let traffic = build(&context(72), &defaults(&ABOUT)).unwrap().into_traffic().unwrap();
        // The burst is the beat, not the message.
        assert_eq!(traffic.period().and_then(|p| p.times(1)), Some(33_855_438));
        for rank in [0, 35, 71].map(RankId::new) {
            let mut previous = 0;
            for burst in 0..50u64 {
                // 71 * 1024 B at 2 GiB/s = 71 * 5^12 / 2^9 ps.
                let due = (burst * 71 * 244_140_625 + 256) / 512;
                let mut seen = Vec::new();
                for k in 0..71 {
                    let m = traffic.message(rank, burst * 71 + k, previous).unwrap();
                    assert_eq!((m.time, m.bytes), (due, 1024));
                    seen.push(m.destination);
                    previous = m.time;
                }
                let others: Vec<RankId> = RankId::first(72).filter(|&d| d != rank).collect();
                assert_eq!(seen, others);
            }
        }
    }

    /// Each burst of each rank is an order of its own, and the first place is anybody's alike.
    #[test]
    fn random_orders_cover_everyone_and_differ() {
        let values = defaults(&ABOUT).with("order", Value::Text("random".to_owned()));
        let traffic = build(&context(10), &values).unwrap().into_traffic().unwrap();
        let burst = |rank: u32, burst: u64| -> Vec<u32> {
            let message = |k| traffic.message(RankId::new(rank), burst * 9 + k, 0).unwrap();
            (0..9).map(|k| message(k).destination.number()).collect()
        };
        let mut first = vec![0; 10];
        for n in 0..20_000 {
            let mut order = burst(4, n);
            first[order[0] as usize] += 1;
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
        }
        let weights: Vec<f64> = (0..10).map(|d| f64::from(u8::from(d != 4))).collect();
        // 8 degrees of freedom, chance below 0.1 %.
        assert!(crate::testing::chi_square(&first, &weights) < 26.2, "{first:?}");
        assert_ne!(burst(4, 0), burst(4, 1));
        assert_ne!(burst(0, 0), burst(9, 0));
        let two = build(&context(2), &values).unwrap().into_traffic().unwrap();
        assert_eq!(two.message(RankId::new(1), 5, 0).unwrap().destination, RankId::new(0));
    }

    #[test]
    fn ends_after_the_last_burst() {
        let traffic = build(&context(4), &defaults(&ABOUT).with("bursts", Value::Int(2)))
            .unwrap()
            .into_traffic()
            .unwrap();
        assert!(traffic.message(RankId::new(1), 5, 0).is_some());
        assert!(traffic.message(RankId::new(1), 6, 0).is_none());
    }

    #[test]
    fn too_large_a_burst_is_refused() {
        let c = JobContext { message: u64::MAX / 2, ..context(4) };
        assert_eq!(build(&c, &defaults(&ABOUT)).err().unwrap()[0].key, "message");
    }
}
