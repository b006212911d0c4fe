//! Ping-pong: every rank pings another and waits for its answer, a closed loop.

use super::{
    mixed::{Mix, Mixed},
    uniform,
};
use crate::{
    traffic::{Message, Traffic},
    work::{JobContext, Work},
};
use base::{
    index::RankId,
    param::{Kind, Param, Problem, Values},
    registry::About,
    time::Ps,
};
use std::sync::Arc;

pub(crate) const ABOUT: About = About {
    name: "ping-pong",
    summary: "every rank pings a random other, and the next when it is answered (closed loop)",
    doc: "Every rank sends a ping to a random other rank at time 0. It answers each whole ping at once with a message of the same size, \
          and draws its next partner when its own ping is answered, until `count` pings are answered. Partners come from the rank's stream by the \
          number of the ping: they do not depend on time, model or scheduler. With `partners = \"fixed\"` rank i of the lower half and rank \
          i + floor(n/2) are a pair throughout, and the lower one alone pings; with odd n the last rank is idle.",
    source: "CODES, tutorial-synthetic-ping-pong; the paper's ping-pong (section 3.2, validation)",
    params: &[
        Param {
            name: "count",
            kind: Kind::Int { min: 1, max: u64::MAX },
            default: Some("100"),
            doc: "pings that each rank sends, or each of the lower half",
        },
        Param {
            name: "partners",
            kind: Kind::Choice(&["random", "fixed"]),
            default: Some("random"),
            doc: "whom a rank pings: another one each time, or always the same",
        },
    ],
};

/// Pairs for ever.
struct PingPong {
    half: u32,
    bytes: u64,
    count: u64,
}

impl PingPong {
    /// True for the half that pings.
    fn lower(&self, rank: RankId) -> bool {
        rank.number() < self.half
    }
}

impl Traffic for PingPong {
    fn message(&self, rank: RankId, index: u64, _previous: Ps) -> Option<Message> {
        let first = self.lower(rank) && index == 0;
        first.then(|| Message { time: 0, destination: rank.plus(self.half), bytes: self.bytes })
    }

    fn reply(&self, rank: RankId, source: RankId, index: u64) -> Option<(RankId, u64)> {
        let lower = self.lower(rank);
        let partners = if lower { source == rank.plus(self.half) } else { rank == source.plus(self.half) };
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
    if values.text("partners") == "random" {
        let mix = Mix { reply: Some(bytes), outstanding: 1, ..Mix::plain(bytes) };
        return Ok(Work::Traffic(Arc::new(Mixed::new(context, uniform::others(context), mix, count))));
    }
    Ok(Work::Traffic(Arc::new(PingPong { half, bytes, count })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, defaults};
    use base::{param::Value, sorted::SortedMap};
    use std::collections::VecDeque;

    /// Delivers messages one by one until none is left; returns how many each pair (source, destination) sent.
    fn play(ranks: u32, count: u64, bytes: u64) -> SortedMap<(u32, u32), u64> {
        let context = JobContext { message: bytes, ..context(ranks) };
        let fixed = Value::Text("fixed".to_owned());
        let values = defaults(&ABOUT).with("count", Value::Int(count)).with("partners", fixed);
        let traffic = build(&context, &values).unwrap().into_traffic().unwrap();
        let mut flying = VecDeque::new();
        for rank in RankId::first(ranks) {
            for index in 0.. {
                let Some(m) = traffic.message(rank, index, 0) else { break };
                assert_eq!((m.time, m.bytes), (0, bytes));
                flying.push_back((rank, m.destination));
            }
        }
        let mut delivered: SortedMap<(u32, u32), u64> = SortedMap::new();
        while let Some((source, destination)) = flying.pop_front() {
            let index = delivered.entry((source.number(), destination.number())).or_default();
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
            let expected: SortedMap<_, _> =
                (0..half).flat_map(|i| [((i, i + half), count), ((i + half, i), count)]).collect();
            assert_eq!(play(ranks, count, 64), expected, "{ranks} ranks, {count} pings");
        }
    }

    /// The next partner depends on the rank and the number of the ping alone; all others have the same chance.
    #[test]
    fn random_partners_come_by_number() {
        let values = defaults(&ABOUT).with("count", Value::Int(40_001));
        let traffic = build(&context(5), &values).unwrap().into_traffic().unwrap();
        assert!(traffic.requests() && traffic.closed_loop());
        let three = RankId::new(3);
        assert_eq!(traffic.message(three, 1, 0), None);
        assert_eq!(traffic.message(three, 0, 0).unwrap().time, 0);
        assert_eq!(traffic.reply(three, RankId::new(1), 17), Some((RankId::new(1), 1024)));
        let mut counts = vec![0; 5];
        (0..40_000).for_each(|n| counts[traffic.next_request(three, n).unwrap().0.index()] += 1);
        assert_eq!(traffic.next_request(three, 40_000), None);
        // 3 degrees of freedom, chance below 0.1 %.
        assert!(crate::testing::chi_square(&counts, &[1.0, 1.0, 1.0, 0.0, 1.0]) < 16.3, "{counts:?}");
    }

    #[test]
    fn empty_messages_are_allowed() {
        assert_eq!(play(2, 5, 0).values().sum::<u64>(), 10);
    }
}
