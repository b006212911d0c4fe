//! Ping-pong: pairs of ranks that answer each other, a closed loop.

use crate::{
    traffic::{Message, Traffic},
    work::{JobContext, Work},
};
use base::{
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "ping-pong",
    summary: "pairs of ranks answer each other (closed loop)",
    doc: "Rank i of the lower half and rank i + floor(n/2) are a pair; with odd n the last rank is idle. The lower one sends \
          a ping at time 0; the upper one answers each whole ping at once with a message of the same size; the lower one \
          sends the next ping when the answer is whole, until `count` pings are answered.",
    source: "CODES, tutorial-synthetic-ping-pong",
    params: &[Param {
        name: "count",
        kind: Kind::Int { min: 1, max: u64::MAX },
        default: Some("100"),
        doc: "pings that each rank of the lower half sends",
    }],
};

struct PingPong {
    half: u32,
    bytes: u64,
    count: u64,
}

impl Traffic for PingPong {
    fn message(&self, rank: u32, index: u64, _previous: Ps) -> Option<Message> {
        let first = rank < self.half && index == 0;
        first.then(|| Message { time: 0, destination: rank + self.half, bytes: self.bytes })
    }

    fn reply(&self, rank: u32, source: u32, index: u64) -> Option<(u32, u64)> {
        let lower = rank < self.half;
        let partners = if lower { source == rank + self.half } else { rank == source + self.half };
        let sent = if lower { index + 1 } else { index };
        (partners && sent < self.count).then_some((source, self.bytes))
    }

    fn closed_loop(&self) -> bool {
        true
    }

    fn offered_bytes_per_s(&self) -> Option<f64> {
        None
    }
}

pub(crate) fn build(context: &JobContext, values: &Values) -> Result<Work, Vec<Problem>> {
    context.need_two_ranks()?;
    let (half, bytes, count) = (context.ranks / 2, context.message, values.int("count"));
    Ok(Work::Traffic(Arc::new(PingPong { half, bytes, count })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, defaults};
    use base::param::Value;
    use std::collections::{BTreeMap, VecDeque};

    /// Delivers messages one by one until none is left; returns how many each pair (source, destination) sent.
    fn play(ranks: u32, count: u64, bytes: u64) -> BTreeMap<(u32, u32), u64> {
        let context = JobContext { message: bytes, ..context(ranks) };
        let traffic = build(&context, &defaults(&ABOUT).with("count", Value::Int(count)))
            .unwrap()
            .into_traffic()
            .unwrap();
        let mut flying = VecDeque::new();
        for rank in 0..ranks {
            for index in 0.. {
                let Some(m) = traffic.message(rank, index, 0) else { break };
                assert_eq!((m.time, m.bytes), (0, bytes));
                flying.push_back((rank, m.destination));
            }
        }
        let mut delivered: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        while let Some((source, destination)) = flying.pop_front() {
            let index = delivered.entry((source, destination)).or_default();
            if let Some((to, size)) = traffic.reply(destination, source, *index) {
                assert_eq!(size, bytes);
                flying.push_back((destination, to));
            }
            *index += 1;
        }
        delivered
    }

    #[test]
    fn every_ping_is_answered() {
        for (ranks, count) in [(2, 1), (2, 100), (7, 3), (8, 10)] {
            let half = ranks / 2;
            let expected: BTreeMap<_, _> =
                (0..half).flat_map(|i| [((i, i + half), count), ((i + half, i), count)]).collect();
            assert_eq!(play(ranks, count, 64), expected, "{ranks} ranks, {count} pings");
        }
    }

    #[test]
    fn empty_messages_are_allowed() {
        assert_eq!(play(2, 5, 0).values().sum::<u64>(), 10);
    }
}
